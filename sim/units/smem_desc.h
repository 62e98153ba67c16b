#ifndef SILTWIN_SMEM_DESC_H
#define SILTWIN_SMEM_DESC_H

#include <stdbool.h>
#include <stdint.h>

#include "swizzle.h"

/* The 64-bit shared-memory matrix descriptor of wgmma (sm_90) and of tcgen05.mma and tcgen05.cp
 * (sm_100). What its fields mean for the layout is canonical.h. */
enum smem_desc_arch { SMEM_DESC_SM90, SMEM_DESC_SM100 };

/* Decoded. Start and strides are bytes, multiples of 16 below 2^18. */
struct smem_desc {
    uint32_t start_bytes; /* shared address in the CTA's own window: rank bits do not fit */
    uint32_t lbo_bytes;   /* leading dimension byte offset */
    uint32_t sbo_bytes;   /* stride dimension byte offset */
    uint8_t base_offset;  /* 0..7, in 128-byte lines */
    enum swizzle_mode swizzle;
};

enum smem_desc_error {
    SMEM_DESC_OK,
    SMEM_DESC_RESERVED_BITS,    /* bits that must be zero are set */
    SMEM_DESC_CONSTANT,         /* sm_100: bits 48:46 are not 0b001 */
    SMEM_DESC_SWIZZLE_CODE,     /* sm_100: code 3, 5 or 7 */
    SMEM_DESC_LBO_ABSOLUTE,     /* bit 52 set: sm_103a only */
    SMEM_DESC_NOT_16_BYTES,     /* encode: start or stride is not a multiple of 16 */
    SMEM_DESC_TOO_FAR,          /* encode: start or stride does not fit 18 bits */
    SMEM_DESC_BASE_OFFSET,      /* encode: base offset above 7 */
    SMEM_DESC_SWIZZLE_NOT_HERE, /* encode: the mode has no code on this architecture */
    SMEM_DESC_ERROR_COUNT,
};

/* Splits a descriptor. Every field is filled as far as it can be read even when an error comes
 * back (swizzle NONE for an invalid code), so that a report can show it. What the chip does with a
 * bad constant or reserved bits is not known: callers report, they do not go on.
 * Manual: tcgen05 "Shared memory descriptor", wgmma "Matrix descriptor format". */
enum smem_desc_error smem_desc_decode(enum smem_desc_arch arch, uint64_t word,
                                      struct smem_desc *desc);

/* The inverse; `*word` is written only on SMEM_DESC_OK. */
enum smem_desc_error smem_desc_encode(enum smem_desc_arch arch, const struct smem_desc *desc,
                                      uint64_t *word);

/* One sentence that says what the rule is. */
const char *smem_desc_error_text(enum smem_desc_error error);

#endif
