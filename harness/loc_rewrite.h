#ifndef SILTWIN_LOC_REWRITE_H
#define SILTWIN_LOC_REWRITE_H

#include <stddef.h>

#include "ir.h"
#include "strbuf.h"

/* Appends the PTX text to `out` with a .loc of its own line and column before every instruction,
 * and a .file that names `file`, so that debuggers and profilers of a GPU show PTX lines. Lines
 * stay where they are. A text that has .file directives already is appended unchanged: it has
 * better ones. Returns how many .loc were added. `ir` is the checked module of that very text. */
size_t loc_rewrite(const struct ir_module *ir, const char *text, size_t length, const char *file,
                   struct strbuf *out);

#endif
