#ifndef SILTWIN_BITS_H
#define SILTWIN_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bit fields of descriptor words, and moves between values and bytes without aliasing or alignment
 * trouble. Bit 0 is the lowest. */

static inline uint64_t bits_mask(unsigned width) {
    return width >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
}

/* Field of `width` bits that starts at bit `lo`. */
static inline uint64_t bits_get(uint64_t word, unsigned lo, unsigned width) {
    return (word >> lo) & bits_mask(width);
}

/* `word` with that field replaced by the low bits of `value`. */
static inline uint64_t bits_set(uint64_t word, unsigned lo, unsigned width, uint64_t value) {
    uint64_t mask = bits_mask(width) << lo;
    return (word & ~mask) | ((value << lo) & mask);
}

/* `value`, a two's complement number of `width` (1..64) bits, widened. */
static inline int64_t bits_sign_extend(uint64_t value, unsigned width) {
    uint64_t sign = UINT64_C(1) << (width - 1);
    value &= bits_mask(width);
    return (int64_t)((value ^ sign) - sign);
}

static inline uint32_t bits_from_f32(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static inline float bits_to_f32(uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint64_t bits_from_f64(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static inline double bits_to_f64(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline bool bits_is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* `value` rounded up to a multiple of `align`, a power of two. */
static inline uint64_t bits_align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

#endif
