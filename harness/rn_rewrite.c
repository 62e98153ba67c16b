/* Puts .rn on unrounded floating-point add, sub and mul. Only the mnemonic matters: a word add, sub
 * or mul that begins a dotted word (so not the .add of red or atom), whose last modifier is a
 * floating-point type and that has neither a rounding nor .lo, .hi, .wide, .cc. */
#include "rn_rewrite.h"

#include <stdbool.h>
#include <string.h>

#include "ptx_place.h"

static size_t skip_string(const char *text, size_t length) {
    size_t at = 1;
    while (at < length && text[at] != '"')
        at += text[at] == '\\' && at + 1 < length ? 2 : 1;
    return at < length ? at + 1 : length;
}

static size_t word_length(const char *text, size_t length) {
    size_t at = 0;
    while (at < length && ptx_is_name(text[at]))
        at++;
    return at;
}

static bool one_of(const char *word, size_t length, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == length && !memcmp(*words, word, length))
            return true;
    return false;
}

/* Whether the modifiers behind the opcode name a floating-point type and no rounding. */
static bool is_unrounded_float(const char *text, size_t length) {
    static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2",
                                        "f32", "f32x2", "f64",  NULL};
    static const char *const roundings[] = {"rn", "rz", "rm", "rp", "rna", NULL};
    bool is_float = false;
    size_t at = 0;
    for (;;) {
        const size_t gap = ptx_gap(text + at, length - at);
        if (at + gap >= length || text[at + gap] != '.')
            return is_float;
        at += gap + 1;
        at += ptx_gap(text + at, length - at);
        const size_t word = word_length(text + at, length - at);
        if (!word || one_of(text + at, word, roundings))
            return false;
        is_float = is_float || one_of(text + at, word, types);
        at += word;
    }
}

size_t rn_rewrite(const char *text, size_t length, struct strbuf *out) {
    static const char *const opcodes[] = {"add", "sub", "mul", NULL};
    size_t at = 0, copied = 0, changed = 0;
    bool after_dot = false;
    while (at < length) {
        const size_t gap = ptx_gap(text + at, length - at);
        if (gap) {
            at += gap;
            continue;
        }
        if (text[at] == '"') {
            at += skip_string(text + at, length - at);
            after_dot = false;
            continue;
        }
        const size_t word = word_length(text + at, length - at);
        if (!word) {
            after_dot = text[at++] == '.';
            continue;
        }
        if (!after_dot && one_of(text + at, word, opcodes) &&
            is_unrounded_float(text + at + word, length - at - word)) {
            strbuf_append(out, text + copied, at + word - copied);
            strbuf_puts(out, ".rn");
            copied = at + word;
            changed++;
        }
        at += word;
        after_dot = false;
    }
    strbuf_append(out, text + copied, length - copied);
    return changed;
}
