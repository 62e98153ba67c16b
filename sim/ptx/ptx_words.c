/* The name tables of the closed word lists, and look-ups in them. A look-up happens once per
 * distinct mnemonic of a module, so it walks the list; lengths are compared before texts. */
#include "ptx_words.h"

#include <string.h>

struct word {
    const char *text;
    uint8_t length;
};

#define WORD(text)                                                                                 \
    { text, sizeof(text) - 1 }

static const struct word type_words[] = {
    WORD(""),
#define PTX_TYPE(name, text, bits, class) WORD(text),
#include "type.def"
#undef PTX_TYPE
};

static const uint16_t type_bits[] = {
    0,
#define PTX_TYPE(name, text, bits, class) bits,
#include "type.def"
#undef PTX_TYPE
};

static const uint8_t type_classes[] = {
    PTX_CLASS_NONE,
#define PTX_TYPE(name, text, bits, class) PTX_CLASS_##class,
#include "type.def"
#undef PTX_TYPE
};

static const struct word qual_words[] = {
    WORD(""),
#define PTX_QUAL(name, text) WORD(text),
#include "qual.def"
#undef PTX_QUAL
};

static const struct word sreg_words[] = {
#define PTX_SREG(name, text, components, type) WORD(text),
#include "sreg.def"
#undef PTX_SREG
};

static const struct {
    uint8_t components, type;
} sreg_facts[] = {
#define PTX_SREG(name, text, components, type) {components, PTX_##type},
#include "sreg.def"
#undef PTX_SREG
};

static int find(const struct word *words, int first, int count, const char *word, unsigned length) {
    for (int i = first; i < count; i++)
        if (words[i].length == length && memcmp(words[i].text, word, length) == 0)
            return i;
    return -1;
}

unsigned ptx_type_bits(enum ptx_type type) {
    return type_bits[type];
}

enum ptx_type_class ptx_type_class(enum ptx_type type) {
    return (enum ptx_type_class)type_classes[type];
}

const char *ptx_type_text(enum ptx_type type) {
    return type_words[type].text;
}

const char *ptx_qual_text(enum ptx_qual qual) {
    return qual_words[qual].text;
}

const char *ptx_sreg_text(enum ptx_sreg sreg) {
    return sreg_words[sreg].text;
}

unsigned ptx_sreg_components(enum ptx_sreg sreg) {
    return sreg_facts[sreg].components;
}

enum ptx_type ptx_sreg_type(enum ptx_sreg sreg) {
    return (enum ptx_type)sreg_facts[sreg].type;
}

const char *ptx_space_text(enum ptx_space space) {
    static const char *const texts[] = {
        [SPACE_GENERIC] = "generic",
        [SPACE_GLOBAL] = "global",
        [SPACE_CONST] = "const",
        [SPACE_SHARED] = "shared",
        [SPACE_SHARED_CLUSTER] = "shared::cluster",
        [SPACE_LOCAL] = "local",
        [SPACE_PARAM] = "param",
        [SPACE_REG] = "reg",
    };
    return texts[space];
}

enum ptx_type ptx_type_find(const char *word, unsigned length) {
    int i = find(type_words, 1, PTX_TYPE_COUNT, word, length);
    return i < 0 ? PTX_TYPE_NONE : (enum ptx_type)i;
}

enum ptx_qual ptx_qual_find(const char *word, unsigned length) {
    int i = find(qual_words, 1, PTX_QUAL_COUNT, word, length);
    return i < 0 ? PTX_QUAL_NONE : (enum ptx_qual)i;
}

int ptx_sreg_find(const char *word, unsigned length) {
    return find(sreg_words, 0, PTX_SREG_COUNT, word, length);
}
