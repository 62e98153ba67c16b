#ifndef SILTWIN_TOOL_PATH_H
#define SILTWIN_TOOL_PATH_H

#include <stdbool.h>

/* Where a machine keeps what siltwin uses but does not need. */

enum { TOOL_PATH_BYTES = 4096 };

/* ptxas: PATH, then the toolkit's usual folder. False: there is none. */
bool tool_path_ptxas(char path[TOOL_PATH_BYTES]);
/* libcublas, version 13 before 12: LD_LIBRARY_PATH, the toolkit's folder, the system's. */
bool tool_path_cublas(char path[TOOL_PATH_BYTES]);

#endif
