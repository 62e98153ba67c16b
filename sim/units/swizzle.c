/* Shared-memory swizzles. Bits of the absolute shared-memory byte address (c: chunk bits that
 * change, l: line bits that are xored into them; the l bits themselves stay):
 *
 *   bit            9  8  7 | 6  5  4 | 3..0
 *   32B                  l |       c |          unit 16 bytes, pattern  256
 *   64B               l  l |    c  c |          unit 16 bytes, pattern  512
 *   128B           l  l  l | c  c  c |          unit 16 bytes, pattern 1024
 *   128B_ATOM_32B     l  l | c  c    |          unit 32 bytes, pattern  512
 *   128B_ATOM_64B        l | c       |          unit 64 bytes, pattern  256
 *
 * Manual: tensors, "Swizzling modes" (PTX ISA 9.0). Not modelled: 128B_ATOM_32B_FLIP_8B, whose
 * choice of flipped lines is in no source, and 96B (sm_103a). */
#include "swizzle.h"

#include <assert.h>
#include <stddef.h>

static const struct swizzle_rule rules[SWIZZLE_MODE_COUNT] = {
    [SWIZZLE_NONE] = {0, 0x00, 16, 16, 16},
    [SWIZZLE_32B] = {3, 0x10, 32, 16, 256},
    [SWIZZLE_64B] = {3, 0x30, 64, 16, 512},
    [SWIZZLE_128B] = {3, 0x70, 128, 16, 1024},
    [SWIZZLE_128B_ATOM_32B] = {2, 0x60, 128, 32, 512},
    [SWIZZLE_128B_ATOM_64B] = {1, 0x40, 128, 64, 256},
};

static const char *const names[SWIZZLE_MODE_COUNT] = {
    [SWIZZLE_NONE] = "NONE",
    [SWIZZLE_32B] = "32B",
    [SWIZZLE_64B] = "64B",
    [SWIZZLE_128B] = "128B",
    [SWIZZLE_128B_ATOM_32B] = "128B_ATOM_32B",
    [SWIZZLE_128B_ATOM_32B_FLIP_8B] = "128B_ATOM_32B_FLIP_8B",
    [SWIZZLE_128B_ATOM_64B] = "128B_ATOM_64B",
};

bool swizzle_is_known(enum swizzle_mode mode) {
    return (unsigned)mode < SWIZZLE_MODE_COUNT && mode != SWIZZLE_128B_ATOM_32B_FLIP_8B;
}

const struct swizzle_rule *swizzle_rule(enum swizzle_mode mode) {
    assert(swizzle_is_known(mode));
    return &rules[mode];
}

const char *swizzle_name(enum swizzle_mode mode) {
    assert((unsigned)mode < SWIZZLE_MODE_COUNT);
    return names[mode];
}
