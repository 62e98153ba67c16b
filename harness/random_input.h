#ifndef SILTWIN_RANDOM_INPUT_H
#define SILTWIN_RANDOM_INPUT_H

#include <stdint.h>

/* The counter-based generator of trace inputs, as traces/README.md defines it: element `index` of a
 * buffer depends on the seed and the index alone, so any program can make the same data in any
 * order. */

/* splitmix64's step of a word. */
static inline uint64_t random_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The 64 random bits of element `index`. */
static inline uint64_t random_bits(uint64_t seed, uint64_t index) {
    return random_mix(random_mix(seed) + index);
}

/* In [low, high): low + (high - low) * u with u the top 53 bits times 2^-53, in double. */
static inline double random_uniform(uint64_t bits, double low, double high) {
    return low + (high - low) * ((double)(bits >> 11) * 0x1p-53);
}

/* In low..high, both included; high - low below 2^32. */
static inline int64_t random_int(uint64_t bits, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)(high - low) + 1;
    return low + (int64_t)(((bits >> 32) * span) >> 32);
}

#endif
