/* A digest over bytes, eight at a time, each word mixed into the running value by hash_mix64. The
 * length is mixed in at the end, so that trailing zero bytes count. Words are read little-endian,
 * so the digest of a record is the same on every host. */
#include "hash.h"

static uint64_t load_le(const unsigned char *p, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    uint64_t digest = seed;
    size_t left = size;
    for (; left >= 8; left -= 8, p += 8)
        digest = hash_mix64(digest ^ load_le(p, 8));
    if (left > 0)
        digest = hash_mix64(digest ^ load_le(p, left));
    return hash_mix64(digest ^ (uint64_t)size);
}
