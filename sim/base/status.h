#ifndef SILTWIN_STATUS_H
#define SILTWIN_STATUS_H

/* How a library call in sim/ ended. The text that goes with a failure (place, what was found, what
 * was expected) is written to a strbuf by whoever finds it; this is only its kind. A fault of a
 * running kernel has its own type, exec's struct fault. */
enum status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* an argument or input breaks a documented rule */
    STATUS_SYNTAX,      /* text that the grammar refuses */
    STATUS_UNSUPPORTED, /* legal, but not modelled: said by name, never guessed */
    STATUS_NO_MEMORY,   /* the host ran out of memory, or a stated limit was reached */
    STATUS_NOT_FOUND,   /* a name that is looked up does not exist */
    STATUS_IO,          /* a file could not be read or written */
};

#endif
