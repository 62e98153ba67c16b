#ifndef SILTWIN_CONFORM_WORDS_H
#define SILTWIN_CONFORM_WORDS_H

#include "conform.h"
#include "strbuf.h"

/* PTX that makes words of values inside a kernel. Registers: %h the random word, %g and %w scratch,
 * %q a scratch predicate, %m0..%m4 the masks (struct conform_masks in its order). */

/* %h becomes well mixed bits of itself. */
#define CONFORM_MIX                                                                                \
    "  shr.u32 %g, %h, 16;\n  xor.b32 %h, %h, %g;\n"                                               \
    "  mul.lo.u32 %h, %h, 0x7feb352d;\n  shr.u32 %g, %h, 15;\n"                                    \
    "  xor.b32 %h, %h, %g;\n  mul.lo.u32 %h, %h, 0x846ca68b;\n"                                    \
    "  shr.u32 %g, %h, 16;\n  xor.b32 %h, %h, %g;\n"

enum { CONFORM_MASK_WORDS = 5 };

/* One word from %h, the `salt`th, by the masks, to register %NAMEindex. */
void conform_put_word(struct strbuf *out, unsigned salt, const char *name, unsigned index);
/* Loads the masks from `word`th 32-bit word behind %row. */
void conform_put_masks(struct strbuf *out, unsigned word);
/* The masks as the words that conform_put_masks loads. */
void conform_mask_words(uint32_t words[CONFORM_MASK_WORDS], struct conform_masks masks);

/* Metadata of a sparse instruction: %e gets eight nibbles, each one of the eight of the word
 * `table`th behind %row, chosen by %h. */
void conform_put_metadata(struct strbuf *out, unsigned table);
/* Such a word: legal nibbles (of pairs for 1:2 sparsity), or any. */
uint32_t conform_metadata_table(struct conform_random *random, bool legal, bool pairs);

#endif
