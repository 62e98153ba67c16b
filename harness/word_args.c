/* Words and numbers of a command line. See word_args.h. */
#include "word_args.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "message.h"
#include "strbuf.h"

bool word_args_number(const char *what, const char *text, uint64_t min, uint64_t max,
                      uint64_t *value) {
    char *end = NULL;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    errno = 0;
    unsigned long long number = strtoull(text, &end, hex ? 16 : 10);
    bool is_number = isdigit((unsigned char)text[0]) && *end == '\0';
    if (is_number && errno == 0 && number >= min && number <= max) {
        *value = number;
        return true;
    }
    if (max > UINT32_MAX)
        message_error("%s is '%s'; expected a number (decimal or 0x...) of at most 64 bits", what,
                      text);
    else
        message_error("%s is '%s'; expected a number (decimal or 0x...) from %" PRIu64
                      " to %" PRIu64 " (0x%" PRIx64 ")",
                      what, text, min, max, max);
    return false;
}

bool word_args_choice(const char *what, const char *text, const char *const *words, size_t count,
                      size_t *index) {
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *index = i;
            return true;
        }
    struct strbuf list = {0};
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&list, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    message_error("%s is '%s'; expected %s", what, text, strbuf_text(&list));
    strbuf_free(&list);
    return false;
}
