/* A buffer that doubles. See the header for what happens without memory. */
#include "strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool strbuf_reserve(struct strbuf *buf, size_t extra) {
    if (extra >= SIZE_MAX / 4 || buf->length >= SIZE_MAX / 4)
        return false;
    size_t need = buf->length + extra + 1;
    if (need <= buf->capacity)
        return true;
    size_t capacity = buf->capacity < 128 ? 128 : buf->capacity * 2;
    if (capacity < need)
        capacity = need;
    char *text = realloc(buf->text, capacity);
    if (text == NULL)
        return false;
    buf->text = text;
    buf->capacity = capacity;
    return true;
}

void strbuf_append(struct strbuf *buf, const char *bytes, size_t length) {
    if (!strbuf_reserve(buf, length)) {
        buf->truncated = true;
        return;
    }
    if (length > 0)
        memcpy(buf->text + buf->length, bytes, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text) {
    strbuf_append(buf, text, strlen(text));
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0 || !strbuf_reserve(buf, (size_t)length)) {
        buf->truncated = true;
    } else {
        vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(buf, format, args);
    va_end(args);
}

const char *strbuf_text(const struct strbuf *buf) {
    return buf->text == NULL ? "" : buf->text;
}

void strbuf_clear(struct strbuf *buf) {
    buf->length = 0;
    buf->truncated = false;
    if (buf->text != NULL)
        buf->text[0] = '\0';
}

void strbuf_free(struct strbuf *buf) {
    free(buf->text);
    *buf = (struct strbuf){0};
}
