#ifndef SILTWIN_PTX_WORDS_H
#define SILTWIN_PTX_WORDS_H

#include <stdint.h>

/* The closed sets of words: types, qualifiers, special registers, state spaces. Each list is an
 * X-macro file; the enums here and the name tables in ptx_words.c are made from it. */

enum ptx_type {
    PTX_TYPE_NONE,
#define PTX_TYPE(name, text, bits, class) PTX_##name,
#include "type.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT
};

enum ptx_type_class {
    PTX_CLASS_NONE,
    PTX_CLASS_PRED,
    PTX_CLASS_BITS,
    PTX_CLASS_UINT,
    PTX_CLASS_SINT,
    PTX_CLASS_FLOAT,
    PTX_CLASS_PACKED,
    PTX_CLASS_NARROW,
};

enum ptx_qual {
    PTX_QUAL_NONE,
#define PTX_QUAL(name, text) QUAL_##name,
#include "qual.def"
#undef PTX_QUAL
    PTX_QUAL_COUNT
};

enum ptx_sreg {
#define PTX_SREG(name, text, components, type) SREG_##name,
#include "sreg.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};

/* Where a variable lives, or which memory an access names. */
enum ptx_space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_CONST,
    SPACE_SHARED,         /* .shared and .shared::cta */
    SPACE_SHARED_CLUSTER, /* .shared::cluster */
    SPACE_LOCAL,
    SPACE_PARAM, /* entry parameters, or the argument areas of calls */
    SPACE_REG,
};

/* Bits of a type's value in a register; 0 for PTX_TYPE_NONE. */
unsigned ptx_type_bits(enum ptx_type type);
enum ptx_type_class ptx_type_class(enum ptx_type type);
/* "f16x2", without the dot. */
const char *ptx_type_text(enum ptx_type type);
const char *ptx_qual_text(enum ptx_qual qual);
const char *ptx_sreg_text(enum ptx_sreg sreg);
unsigned ptx_sreg_components(enum ptx_sreg sreg);
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg);
const char *ptx_space_text(enum ptx_space space);

/* Look-ups of a word of `length` bytes without its dot (or %); 0 / -1 when there is none. */
enum ptx_type ptx_type_find(const char *word, unsigned length);
enum ptx_qual ptx_qual_find(const char *word, unsigned length);
int ptx_sreg_find(const char *word, unsigned length);

#endif
