#ifndef SILTWIN_PTX_PLACE_H
#define SILTWIN_PTX_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Finding one's way in PTX text that parses, for those who put text into it. */

/* A character of a name: letters, digits, _ $ %. */
bool ptx_is_name(char c);
/* Length of the blanks and comments that `text` begins with. */
size_t ptx_gap(const char *text, size_t length);
/* Where the instruction at `offset` begins: at its guard, when it has one. */
size_t ptx_guard_at(const char *text, size_t offset);

#endif
