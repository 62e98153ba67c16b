#ifndef SILTWIN_SWIZZLE_H
#define SILTWIN_SWIZZLE_H

#include <stdbool.h>
#include <stdint.h>

/* The shared-memory swizzles: each is an exclusive-or of some address bits into lower ones, taken
 * from the absolute byte address in the CTA's shared memory (H200 observations 1, 2), never from
 * the offset inside a tile. Values are those of CUtensorMapSwizzle. */
enum swizzle_mode {
    SWIZZLE_NONE,
    SWIZZLE_32B,
    SWIZZLE_64B,
    SWIZZLE_128B,
    SWIZZLE_128B_ATOM_32B,         /* sm_100 */
    SWIZZLE_128B_ATOM_32B_FLIP_8B, /* sm_100, tensor copies only; rule not known, see below */
    SWIZZLE_128B_ATOM_64B,         /* sm_100 */
    SWIZZLE_MODE_COUNT,
};

/* address ^= (address >> shift) & mask. */
struct swizzle_rule {
    uint32_t shift;
    uint32_t mask;
    uint32_t span_bytes; /* width of the pattern's line: a tile row of this many bytes fills it */
    uint32_t unit_bytes; /* smallest piece that moves as a whole */
    uint32_t pattern_bytes; /* the pattern repeats after this many bytes */
};

/* False for SWIZZLE_128B_ATOM_32B_FLIP_8B: no source says which 128-byte lines have their 8-byte
 * halves exchanged. Callers refuse it by name. */
bool swizzle_is_known(enum swizzle_mode mode);

/* The rule of a mode that swizzle_is_known. Manual: "Swizzling modes" of tensors; oracle
 * swizzle.csv (all but ATOM_64B, which is the manual's table alone). */
const struct swizzle_rule *swizzle_rule(enum swizzle_mode mode);

static inline uint32_t swizzle_apply(const struct swizzle_rule *rule, uint32_t address_bytes) {
    return address_bytes ^ ((address_bytes >> rule->shift) & rule->mask);
}

/* Where the byte that a program places at `address_bytes` really is; its own inverse. */
static inline uint32_t swizzle_address(enum swizzle_mode mode, uint32_t address_bytes) {
    return swizzle_apply(swizzle_rule(mode), address_bytes);
}

/* "128B_ATOM_32B": the driver's name without its CU_TENSOR_MAP_SWIZZLE_ prefix. */
const char *swizzle_name(enum swizzle_mode mode);

#endif
