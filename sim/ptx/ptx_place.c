#include "ptx_place.h"

#include <ctype.h>
#include <string.h>

bool ptx_is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

size_t ptx_gap(const char *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        if (isspace((unsigned char)text[at])) {
            at++;
        } else if (at + 1 < length && text[at] == '/' && text[at + 1] == '/') {
            const char *newline = memchr(text + at, '\n', length - at);
            at = newline ? (size_t)(newline - text) : length;
        } else if (at + 1 < length && text[at] == '/' && text[at + 1] == '*') {
            const char *close = memmem(text + at + 2, length - at - 2, "*/", 2);
            at = close ? (size_t)(close - text) + 2 : length;
        } else {
            break;
        }
    }
    return at;
}

size_t ptx_guard_at(const char *text, size_t offset) {
    size_t at = offset;
    while (at > 0 && isspace((unsigned char)text[at - 1]))
        at--;
    const size_t end = at;
    while (at > 0 && ptx_is_name(text[at - 1]))
        at--;
    if (at == end)
        return offset;
    while (at > 0 && (text[at - 1] == '!' || text[at - 1] == ' '))
        at--;
    return at > 0 && text[at - 1] == '@' ? at - 1 : offset;
}
