#ifndef SILTWIN_STRBUF_H
#define SILTWIN_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Text that grows. A zeroed struct is empty. When the host has no memory left the text is cut and
 * `truncated` is set; nothing fails. `text` is NULL while empty: use strbuf_text to print. */
struct strbuf {
    char *text;
    size_t length;
    size_t capacity;
    bool truncated;
};

void strbuf_printf(struct strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void strbuf_append(struct strbuf *buf, const char *bytes, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
/* The text, "" when empty. Valid until the next change. */
const char *strbuf_text(const struct strbuf *buf);
void strbuf_clear(struct strbuf *buf);
void strbuf_free(struct strbuf *buf);

#endif
