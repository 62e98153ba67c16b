#ifndef SILTWIN_CANONICAL_H
#define SILTWIN_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smem_desc.h"

/* Where an element of a matrix operand lies in shared memory: the canonical layouts of wgmma and
 * tcgen05.mma. A matrix has rows mn (m of operand A, n of operand B) and depth k.
 *   major K  (transpose bit 0): consecutive k are adjacent; a line is one mn, bytes run along k.
 *   major MN (transpose bit 1): consecutive mn are adjacent; a line is one k, bytes run along mn.
 */
enum canonical_major { CANONICAL_K, CANONICAL_MN };

/* How elements are stored. The two containers give 16 elements 16 bytes: the packed data first,
 * then a gap (8 bytes for 4-bit, 4 bytes for 6-bit elements), as TMA types 16U4_ALIGN16B and
 * 16U6_ALIGN16B write it and the f8f6f4 kinds read it. */
enum canonical_element {
    CANONICAL_8BIT,
    CANONICAL_16BIT,
    CANONICAL_32BIT,
    CANONICAL_4BIT,        /* two per byte, low nibble first: mxf4, mxf4nvf4 */
    CANONICAL_4BIT_IN_16B, /* container */
    CANONICAL_6BIT_IN_16B, /* container */
};

/* A prepared layout: all address work is integer arithmetic on this.
 *   p = start + (byte / run)*run_stride + byte % run + (line / group)*group_stride
 *             + (line % group)*line_bytes
 *   address = p ^ (((p - base_offset_bytes) >> xor_shift) & xor_mask) */
struct canonical {
    enum canonical_major major;
    enum canonical_element element;
    uint32_t start_bytes;
    uint32_t run_shift; /* log2 of bytes that are contiguous along the major direction */
    uint32_t run_stride_bytes;
    uint32_t group_shift; /* log2 of lines that are line_bytes apart */
    uint32_t group_stride_bytes;
    uint32_t line_bytes;
    uint32_t base_offset_bytes;
    uint32_t xor_shift;
    uint32_t xor_mask;
};

enum canonical_error {
    CANONICAL_OK,
    CANONICAL_K_ATOM_32B,           /* 128B_ATOM_32B exists for MN-major operands only */
    CANONICAL_MN_ATOM_32B_ELEMENT,  /* ... of 32-bit elements only */
    CANONICAL_MN_32BIT_MODE,        /* MN-major 32-bit elements need 128B_ATOM_32B */
    CANONICAL_MN_PACKED_4BIT,       /* packed 4-bit operands are K-major only */
    CANONICAL_BASE_OFFSET_ATOM_32B, /* not known how the base offset acts there */
    CANONICAL_SWIZZLE_MODE,         /* a mode that no descriptor can name */
    CANONICAL_OUTSIDE,              /* gather: bytes outside the given shared memory */
    CANONICAL_ERROR_COUNT,
};

/* Lays out an operand. CANONICAL_MN_ATOM_32B_ELEMENT and CANONICAL_MN_32BIT_MODE are rules of the
 * tensor core, not of the address arithmetic: `*layout` is filled with them too. With every other
 * error it is not. Manual: tcgen05 and wgmma "Canonical layouts"; oracle umma_canonical_*; the base
 * offset by H200 observation 51 (sm_90; taken to be the same on sm_100). */
enum canonical_error canonical_prepare(const struct smem_desc *desc, enum canonical_major major,
                                       enum canonical_element element, struct canonical *layout);

const char *canonical_error_text(enum canonical_error error);

/* Shared address of byte `byte` of line `line` (see enum canonical_major). 16-byte chunks stay
 * whole: the address of a multiple of 16 is that of the whole chunk. */
static inline uint32_t canonical_byte_address(const struct canonical *layout, uint32_t line,
                                              uint32_t byte) {
    uint32_t run = byte >> layout->run_shift, group = line >> layout->group_shift;
    uint32_t p = layout->start_bytes + run * layout->run_stride_bytes +
                 (byte - (run << layout->run_shift)) + group * layout->group_stride_bytes +
                 (line - (group << layout->group_shift)) * layout->line_bytes;
    return p ^ (((p - layout->base_offset_bytes) >> layout->xor_shift) & layout->xor_mask);
}

/* Shared address of the 16-byte chunk `chunk` of line `line`. */
static inline uint32_t canonical_chunk_address(const struct canonical *layout, uint32_t line,
                                               uint32_t chunk) {
    return canonical_byte_address(layout, line, chunk * 16);
}

/* Place of element (mn, k): byte address of its lowest bit and, for elements that do not begin on a
 * byte, how many bits above that byte's lowest it begins (a 6-bit element may span two bytes). */
struct canonical_place {
    uint32_t address_bytes;
    uint32_t bit;
};
struct canonical_place canonical_place(const struct canonical *layout, uint32_t mn, uint32_t k);

/* Bytes that `count` elements take along the major direction, gaps of containers included. */
uint32_t canonical_line_bytes(enum canonical_element element, uint32_t count);
/* Bytes of one element in what canonical_gather writes: 1, 2 or 4 (packed 4-bit: 0, two a byte). */
uint32_t canonical_gathered_bytes(enum canonical_element element);

/* Shared memory of one CTA: byte i has shared address base + i. */
struct canonical_memory {
    const uint8_t *bytes;
    uint32_t base_bytes;
    uint32_t size_bytes;
};

/* Copies an operand of `mn_count` rows and `k_count` elements to `out` as plain rows, whatever the
 * major: row mn begins at out + mn*row_bytes and holds its k_count elements in order, 8-, 16- and
 * 32-bit as they are, containers expanded to one element a byte (value in the low bits, zeros
 * above), packed 4-bit still packed. K-major counts are whole 16-byte chunks along k, MN-major
 * along mn (else the last chunk is read whole and cut). `*outside_bytes` gets the address of the
 * first chunk that is not in the memory when CANONICAL_OUTSIDE comes back. */
enum canonical_error canonical_gather(const struct canonical *layout,
                                      const struct canonical_memory *memory, uint32_t mn_count,
                                      uint32_t k_count, uint8_t *out, size_t row_bytes,
                                      uint32_t *outside_bytes);

#endif
