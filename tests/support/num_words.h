#ifndef SILTWIN_NUM_WORDS_H
#define SILTWIN_NUM_WORDS_H

#include <stdint.h>

#include "hash.h"

/* The i-th operand word of a test: mostly edges (zeros, subnormals, powers of two and their
 * neighbours, infinities, NaNs), else random, for a format of `bits` bits with `mantissa` ones. */
static inline uint64_t num_test_word(uint64_t i, unsigned bits, unsigned mantissa) {
    uint64_t r = hash_mix64(i), kind = r % 8;
    uint64_t word = hash_mix64(r);
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    uint64_t low = (UINT64_C(1) << mantissa) - 1;
    if (kind < 3) /* a power of two, or next to one */
        word = (word & ~low) + (hash_mix64(word) % 5) - 2;
    else if (kind == 3) /* subnormals, zeros and near them */
        word &= (UINT64_C(1) << (bits - 1)) | (low << 1 | 1);
    else if (kind == 4) /* few bits set */
        word &= hash_mix64(word) & hash_mix64(word + 1);
    return word & mask;
}

#endif
