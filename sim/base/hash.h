#ifndef SILTWIN_HASH_H
#define SILTWIN_HASH_H

#include <stddef.h>
#include <stdint.h>

/* One step of the splitmix64 generator as a pure function: a well mixed word of any word. It fills
 * what a GPU leaves undefined with a seeded pattern. */
static inline uint64_t hash_mix64(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 64-bit digest of `size` bytes, chained: pass the digest of what came before as `seed`, 0 first.
 * Not cryptographic. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size);

#endif
