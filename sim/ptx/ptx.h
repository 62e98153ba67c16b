#ifndef SILTWIN_PTX_H
#define SILTWIN_PTX_H

#include <stddef.h>

#include "arena.h"
#include "ir.h"
#include "status.h"
#include "strbuf.h"

/* The front end: text to checked module. */

struct ptx_source {
    const char *file; /* name for messages */
    const char *text; /* need not end in a zero byte */
    size_t length;
};

/* Lexes, parses, resolves and checks `source`. All errors of the text are appended to `log`, each
 * as "file:line:column: error: ..." with the PTX line, a caret, what was expected, and the manual's
 * anchor; *module is set only on STATUS_OK. STATUS_SYNTAX for anything wrong with the text,
 * STATUS_UNSUPPORTED when the text is PTX that the simulator does not model (named in the log),
 * STATUS_NO_MEMORY. */
enum status ptx_parse(struct arena *arena, const struct ptx_source *source,
                      struct ir_module **module, struct strbuf *log);

/* Appends line `line` of the module's text, and a caret under `column`, to `out`. */
void ptx_print_line(const struct ir_module *module, unsigned line, unsigned column,
                    struct strbuf *out);

/* Appends the instruction as PTX text, as it was understood. */
void ptx_print_insn(const struct ir_module *module, const struct ir_func *func,
                    const struct ir_insn *insn, struct strbuf *out);

#endif
