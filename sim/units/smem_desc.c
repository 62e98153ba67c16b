/* The shared-memory matrix descriptor, bit by bit (enc(x) = x / 16 in 14 bits):
 *
 *   bits    sm_90                     sm_100
 *   13:0    enc(start address)        same
 *   29:16   enc(LBO)                  same (an absolute address where bit 52 is 1, sm_103a)
 *   45:32   enc(SBO)                  same
 *   48:46   0                         0b001
 *   51:49   matrix base offset        same
 *   52      0                         LBO mode, 0 relative
 *   63:61   swizzle in 63:62, 61 = 0  swizzle: none 0, 128B_ATOM_32B 1, 128B 2, 64B 4, 32B 6
 *   others  0                         0
 *
 * Seen as three bits, the sm_90 codes (none 0, 128B 1, 64B 2, 32B 3 in 63:62) are those of sm_100.
 * Manual: wgmma "Matrix descriptor format", tcgen05 "Shared memory descriptor" (PTX ISA 9.0);
 * oracle umma_desc_sm100, gmma_desc_sm90. Not modelled: the absolute LBO of sm_103a. */
#include "smem_desc.h"

#include <assert.h>
#include <stddef.h>

#include "bits.h"

enum { FIELD_BITS = 14, UNIT_SHIFT = 4, ADDRESS_BITS = FIELD_BITS + UNIT_SHIFT };
enum { START_BIT = 0, LBO_BIT = 16, SBO_BIT = 32, CONSTANT_BIT = 46, BASE_OFFSET_BIT = 49 };
enum { LBO_MODE_BIT = 52, SWIZZLE_BIT = 61 };
enum { SM100_CONSTANT = 1 };

enum { NO_MODE = -1 };
static const signed char mode_of_code[8] = {
    SWIZZLE_NONE, SWIZZLE_128B_ATOM_32B, SWIZZLE_128B, NO_MODE, SWIZZLE_64B,
    NO_MODE,      SWIZZLE_32B,           NO_MODE,
};

static const char *const error_texts[SMEM_DESC_ERROR_COUNT] = {
    [SMEM_DESC_OK] = "the descriptor is well formed",
    [SMEM_DESC_RESERVED_BITS] = "bits that must be zero are set",
    [SMEM_DESC_CONSTANT] = "bits 48:46 must be 0b001 in a tcgen05 descriptor",
    [SMEM_DESC_SWIZZLE_CODE] =
        ("swizzle codes 3, 5 and 7 (bits 63:61) are invalid; valid are 0 none, "
         "1 128B_ATOM_32B, 2 128B, 4 64B, 6 32B"),
    [SMEM_DESC_LBO_ABSOLUTE] = "bit 52 (absolute leading dimension address) exists on sm_103a only",
    [SMEM_DESC_NOT_16_BYTES] = "start address, LBO and SBO must be multiples of 16 bytes",
    [SMEM_DESC_TOO_FAR] = "start address, LBO and SBO must be below 2^18 bytes",
    [SMEM_DESC_BASE_OFFSET] = "the matrix base offset must be 0..7",
    [SMEM_DESC_SWIZZLE_NOT_HERE] = "the swizzle mode has no code in this architecture's descriptor",
};

static uint32_t field_bytes(uint64_t word, unsigned bit) {
    return (uint32_t)bits_get(word, bit, FIELD_BITS) << UNIT_SHIFT;
}

enum smem_desc_error smem_desc_decode(enum smem_desc_arch arch, uint64_t word,
                                      struct smem_desc *desc) {
    int mode = mode_of_code[bits_get(word, SWIZZLE_BIT, 3)];
    *desc = (struct smem_desc){
        .start_bytes = field_bytes(word, START_BIT),
        .lbo_bytes = field_bytes(word, LBO_BIT),
        .sbo_bytes = field_bytes(word, SBO_BIT),
        .base_offset = (uint8_t)bits_get(word, BASE_OFFSET_BIT, 3),
        .swizzle = mode == NO_MODE ? SWIZZLE_NONE : (enum swizzle_mode)mode,
    };
    uint64_t reserved = bits_get(word, 14, 2) | bits_get(word, 30, 2) | bits_get(word, 53, 8);
    if (arch == SMEM_DESC_SM90)
        reserved |= bits_get(word, CONSTANT_BIT, 3) | bits_get(word, LBO_MODE_BIT, 1) |
                    bits_get(word, SWIZZLE_BIT, 1);
    else if (bits_get(word, CONSTANT_BIT, 3) != SM100_CONSTANT)
        return SMEM_DESC_CONSTANT;
    if (reserved != 0)
        return SMEM_DESC_RESERVED_BITS;
    if (mode == NO_MODE)
        return SMEM_DESC_SWIZZLE_CODE;
    if (bits_get(word, LBO_MODE_BIT, 1) != 0)
        return SMEM_DESC_LBO_ABSOLUTE;
    return SMEM_DESC_OK;
}

static int code_of_mode(enum smem_desc_arch arch, enum swizzle_mode mode) {
    for (int code = 0; code < 8; code += arch == SMEM_DESC_SM90 ? 2 : 1)
        if (mode_of_code[code] == (int)mode)
            return code;
    return -1;
}

enum smem_desc_error smem_desc_encode(enum smem_desc_arch arch, const struct smem_desc *desc,
                                      uint64_t *word) {
    uint32_t all = desc->start_bytes | desc->lbo_bytes | desc->sbo_bytes;
    int code = code_of_mode(arch, desc->swizzle);
    if ((all & ((1u << UNIT_SHIFT) - 1)) != 0)
        return SMEM_DESC_NOT_16_BYTES;
    if (all >> ADDRESS_BITS != 0)
        return SMEM_DESC_TOO_FAR;
    if (desc->base_offset > 7)
        return SMEM_DESC_BASE_OFFSET;
    if (code < 0)
        return SMEM_DESC_SWIZZLE_NOT_HERE;
    uint64_t out = 0;
    out = bits_set(out, START_BIT, FIELD_BITS, desc->start_bytes >> UNIT_SHIFT);
    out = bits_set(out, LBO_BIT, FIELD_BITS, desc->lbo_bytes >> UNIT_SHIFT);
    out = bits_set(out, SBO_BIT, FIELD_BITS, desc->sbo_bytes >> UNIT_SHIFT);
    out = bits_set(out, CONSTANT_BIT, 3, arch == SMEM_DESC_SM100 ? SM100_CONSTANT : 0);
    out = bits_set(out, BASE_OFFSET_BIT, 3, desc->base_offset);
    *word = bits_set(out, SWIZZLE_BIT, 3, (uint64_t)code);
    return SMEM_DESC_OK;
}

const char *smem_desc_error_text(enum smem_desc_error error) {
    assert((unsigned)error < SMEM_DESC_ERROR_COUNT);
    return error_texts[error];
}
