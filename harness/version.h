#ifndef SILTWIN_VERSION_H
#define SILTWIN_VERSION_H

/* The version of the command, kept in records. */
#define SILTWIN_VERSION "0.1"

#endif
