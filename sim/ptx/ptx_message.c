/* Messages: "file:line:column: error: text", the PTX line, a caret, and a note. */
#include <stdio.h>
#include <string.h>

#include "ptx_parser.h"

static const char *line_start(const struct ir_module *module, unsigned line) {
    const char *at = module->text, *end = module->text + module->text_length;
    for (unsigned n = 1; n < line && at < end; n++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next == NULL ? end : next + 1;
    }
    return at;
}

static void print_marked_line(const struct ir_module *module, struct ptx_place place,
                              struct strbuf *out) {
    const char *start = line_start(module, place.line);
    const char *end = module->text + module->text_length;
    const char *stop = memchr(start, '\n', (size_t)(end - start));
    size_t length = (size_t)((stop == NULL ? end : stop) - start);
    if (length > 0 && start[length - 1] == '\r')
        length--;
    enum { MOST = 400, WINDOW = 160, NEAR = 100 };
    if (length > MOST && place.column > NEAR && place.column <= length) {
        /* A line with the code of probes: what the message is about, without what is before it. */
        const size_t rest = length - (place.column - 1);
        strbuf_puts(out, "    ...");
        strbuf_append(out, start + place.column - 1, rest > WINDOW ? WINDOW : rest);
        strbuf_puts(out, rest > WINDOW ? "...\n       ^\n" : "\n       ^\n");
        return;
    }
    strbuf_puts(out, "    ");
    strbuf_append(out, start, length > MOST ? MOST : length);
    strbuf_puts(out, length > MOST ? "...\n" : "\n");
    if (place.column == 0 || place.column > MOST)
        return;
    strbuf_puts(out, "    ");
    for (unsigned i = 0; i + 1 < place.column; i++)
        strbuf_puts(out, i < length && start[i] == '\t' ? "\t" : " ");
    strbuf_puts(out, "^");
    for (unsigned i = 1; i < place.length && place.column - 1 + i < length; i++)
        strbuf_puts(out, "~");
    strbuf_puts(out, "\n");
}

void ptx_print_line(const struct ir_module *module, unsigned line, unsigned column,
                    struct strbuf *out) {
    print_marked_line(module, (struct ptx_place){line, column, 1}, out);
}

struct ptx_place ptx_here(const struct ptx_parser *p) {
    return (struct ptx_place){p->token.line, p->token.column, p->token.length};
}

/* Wrong text outweighs what is only not modelled; nothing outweighs missing memory. */
static void set_status(struct ptx_parser *p, enum status status) {
    if (p->status == STATUS_OK || status == STATUS_NO_MEMORY ||
        (p->status == STATUS_UNSUPPORTED && status == STATUS_SYNTAX))
        p->status = status;
}

static void report(struct ptx_parser *p, enum status status, struct ptx_place place,
                   const char *note, const char *format, va_list args) {
    set_status(p, status);
    p->error_count++;
    if (p->error_count > PTX_MAX_ERRORS)
        return;
    strbuf_printf(p->log, "%s:%u:%u: error: ", p->module->file, place.line, place.column);
    if (status == STATUS_UNSUPPORTED)
        strbuf_puts(p->log, "not modelled: ");
    strbuf_vprintf(p->log, format, args);
    strbuf_puts(p->log, "\n");
    print_marked_line(p->module, place, p->log);
    if (note != NULL)
        strbuf_printf(p->log, "  %s\n", note);
    if (p->error_count == PTX_MAX_ERRORS)
        strbuf_printf(p->log, "%s: more errors follow, not shown\n", p->module->file);
}

void ptx_error(struct ptx_parser *p, struct ptx_place place, const char *note, const char *format,
               ...) {
    va_list args;
    va_start(args, format);
    report(p, STATUS_SYNTAX, place, note, format, args);
    va_end(args);
}

void ptx_error_status(struct ptx_parser *p, enum status status, struct ptx_place place,
                      const char *note, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(p, status, place, note, format, args);
    va_end(args);
}

bool ptx_no_memory(struct ptx_parser *p) {
    if (p->status != STATUS_NO_MEMORY) {
        strbuf_printf(p->log, "%s: error: no memory\n", p->module->file);
        p->status = STATUS_NO_MEMORY;
    }
    return false;
}

void ptx_describe_token(const struct ptx_parser *p, char *buffer, size_t size) {
    const struct ptx_token *token = &p->token;
    if (token->kind == TOKEN_END)
        snprintf(buffer, size, "the end of the text");
    else
        snprintf(buffer, size, "'%.*s'", token->length > 40 ? 40 : (int)token->length,
                 token->start);
}

bool ptx_expected(struct ptx_parser *p, const char *what) {
    char found[64];
    if (p->token.kind == TOKEN_BAD) {
        if (p->lexer.no_memory)
            return ptx_no_memory(p);
        ptx_error(p, ptx_here(p), NULL, "%s", p->token.problem);
        return false;
    }
    ptx_describe_token(p, found, sizeof found);
    ptx_error(p, ptx_here(p), NULL, "expected %s, found %s", what, found);
    return false;
}
