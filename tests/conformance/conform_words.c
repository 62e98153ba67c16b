/* See conform_words.h. */
#include "conform_words.h"

enum { NIBBLES = 8 };

void conform_put_word(struct strbuf *out, unsigned salt, const char *name, unsigned index) {
    strbuf_printf(out,
                  "  xor.b32 %%w, %%h, %u;\n  mul.lo.u32 %%w, %%w, 0x9e3779b1;\n"
                  "  shr.u32 %%g, %%w, 15;\n  xor.b32 %%w, %%w, %%g;\n"
                  "  mul.lo.u32 %%w, %%w, 0x85ebca77;\n"
                  "  shr.u32 %%g, %%w, 11;\n  xor.b32 %%w, %%w, %%g;\n"
                  "  shr.u32 %%g, %%h, %u;\n  and.b32 %%g, %%g, %%m4;\n"
                  "  setp.eq.u32 %%q, %%g, 0;\n  selp.b32 %%g, %%m1, %%m0, %%q;\n"
                  "  and.b32 %%w, %%w, %%g;\n  selp.b32 %%g, %%m3, %%m2, %%q;\n"
                  "  or.b32 %%w, %%w, %%g;\n  mov.b32 %%%s%u, %%w;\n",
                  salt * 0x1003f, salt % 13, name, index);
}

void conform_put_masks(struct strbuf *out, unsigned word) {
    for (unsigned i = 0; i < CONFORM_MASK_WORDS; i++)
        strbuf_printf(out, "  ld.global.u32 %%m%u, [%%row+%u];\n", i, 4 * (word + i));
}

void conform_mask_words(uint32_t words[CONFORM_MASK_WORDS], struct conform_masks masks) {
    words[0] = masks.keep[0];
    words[1] = masks.keep[1];
    words[2] = masks.set[0];
    words[3] = masks.set[1];
    words[4] = masks.rare;
}

void conform_put_metadata(struct strbuf *out, unsigned table) {
    strbuf_printf(out, "  ld.global.u32 %%g, [%%row+%u];\n  mov.u32 %%e, 0;\n", 4 * table);
    for (unsigned i = 0; i < NIBBLES; i++)
        strbuf_printf(out,
                      "  bfe.u32 %%w, %%h, %u, 3;\n  shl.b32 %%w, %%w, 2;\n"
                      "  bfe.u32 %%w, %%g, %%w, 4;\n  bfi.b32 %%e, %%w, %%e, %u, 4;\n",
                      3 * i, 4 * i);
}

uint32_t conform_metadata_table(struct conform_random *random, bool legal, bool pairs) {
    static const uint8_t of_four[NIBBLES] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe, 0x4, 0xe};
    uint32_t word = 0;
    if (!legal)
        return (uint32_t)conform_next(random);
    for (unsigned i = 0; i < NIBBLES; i++)
        word |= (uint32_t)of_four[pairs ? 6 + i % 2 : i] << (4 * i);
    return word;
}
