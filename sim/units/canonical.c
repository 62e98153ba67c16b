/* Canonical layouts of matrix operands in shared memory. W = line of the swizzle mode in bytes
 * (32, 64, 128), G = 8 lines, 4 for 128B_ATOM_32B.
 *
 *   major mode      run (contiguous)  next run  line to line  lines a group  next group
 *   K     none      16 bytes of k     LBO       16            8 mn           SBO
 *   K     swizzled  W bytes of k      LBO       W             8 mn           SBO
 *   MN    none      16 bytes of mn    SBO       16            8 k            LBO
 *   MN    swizzled  W bytes of mn     LBO       W             G k            SBO
 *
 * LBO and SBO change places between the two MN rows. The sum of these is the address that the
 * mode's xor acts on; the matrix base offset moves only the bits that select the xor. Manual:
 * tcgen05 "Canonical layouts", wgmma "Strides" (PTX ISA 9.0); oracle README section 2; H200
 * observation 51. A next run of K-major is there for a B of sparse wgmma only, whose 64 bytes of k
 * are more than W = 32 (traces/silicon/observations.md). Not modelled: absolute LBO (sm_103a). */
#include "canonical.h"

#include <assert.h>
#include <string.h>

#include "bits.h"

enum { CHUNK_BYTES = 16, BASE_OFFSET_UNIT = 128 };

static const char *const error_texts[CANONICAL_ERROR_COUNT] = {
    [CANONICAL_OK] = "the layout is legal",
    [CANONICAL_K_ATOM_32B] = "128B_ATOM_32B is a swizzle of MN-major operands; this one is K-major",
    [CANONICAL_MN_ATOM_32B_ELEMENT] = "128B_ATOM_32B is for 32-bit elements only",
    [CANONICAL_MN_32BIT_MODE] = "MN-major operands of 32-bit elements need swizzle 128B_ATOM_32B",
    [CANONICAL_MN_PACKED_4BIT] = "packed 4-bit operands (mxf4, mxf4nvf4) are K-major only",
    [CANONICAL_BASE_OFFSET_ATOM_32B] =
        "how a matrix base offset acts with 128B_ATOM_32B is not known",
    [CANONICAL_SWIZZLE_MODE] = "no matrix descriptor can name this swizzle mode",
    [CANONICAL_OUTSIDE] = "the operand reaches outside the CTA's shared memory",
};

const char *canonical_error_text(enum canonical_error error) {
    assert((unsigned)error < CANONICAL_ERROR_COUNT);
    return error_texts[error];
}

static enum canonical_error refuse_layout(const struct smem_desc *desc, enum canonical_major major,
                                          enum canonical_element element) {
    if (desc->swizzle > SWIZZLE_128B_ATOM_32B)
        return CANONICAL_SWIZZLE_MODE;
    if (major == CANONICAL_MN && element == CANONICAL_4BIT)
        return CANONICAL_MN_PACKED_4BIT;
    if (desc->swizzle == SWIZZLE_128B_ATOM_32B && major == CANONICAL_K)
        return CANONICAL_K_ATOM_32B;
    if (desc->swizzle == SWIZZLE_128B_ATOM_32B && desc->base_offset != 0)
        return CANONICAL_BASE_OFFSET_ATOM_32B;
    return CANONICAL_OK;
}

enum canonical_error canonical_prepare(const struct smem_desc *desc, enum canonical_major major,
                                       enum canonical_element element, struct canonical *layout) {
    enum canonical_error error = refuse_layout(desc, major, element);
    if (error != CANONICAL_OK)
        return error;
    const struct swizzle_rule *rule = swizzle_rule(desc->swizzle);
    bool swizzled = desc->swizzle != SWIZZLE_NONE,
         atom_32b = desc->swizzle == SWIZZLE_128B_ATOM_32B;
    *layout = (struct canonical){
        .major = major,
        .element = element,
        .start_bytes = desc->start_bytes,
        .run_shift = 4,
        .group_shift = atom_32b ? 2 : 3,
        .line_bytes = rule->span_bytes,
        .base_offset_bytes = desc->base_offset * (uint32_t)BASE_OFFSET_UNIT,
        .xor_shift = rule->shift,
        .xor_mask = rule->mask,
    };
    for (uint32_t bytes = CHUNK_BYTES; bytes < rule->span_bytes; bytes *= 2)
        layout->run_shift++;
    if (major == CANONICAL_K) {
        layout->run_stride_bytes = desc->lbo_bytes;
        layout->group_stride_bytes = desc->sbo_bytes;
    } else {
        layout->run_stride_bytes = swizzled ? desc->lbo_bytes : desc->sbo_bytes;
        layout->group_stride_bytes = swizzled ? desc->sbo_bytes : desc->lbo_bytes;
        if (atom_32b != (element == CANONICAL_32BIT))
            return atom_32b ? CANONICAL_MN_ATOM_32B_ELEMENT : CANONICAL_MN_32BIT_MODE;
    }
    return CANONICAL_OK;
}

/* Bits from the beginning of a line to its element `index`. */
static uint32_t element_bit(enum canonical_element element, uint32_t index) {
    switch (element) {
    case CANONICAL_8BIT: return index * 8;
    case CANONICAL_16BIT: return index * 16;
    case CANONICAL_32BIT: return index * 32;
    case CANONICAL_4BIT: return index * 4;
    case CANONICAL_4BIT_IN_16B: return index / 16 * 128 + index % 16 * 4;
    case CANONICAL_6BIT_IN_16B: return index / 16 * 128 + index % 16 * 6;
    }
    assert(false && "an element storage that does not exist");
    return 0;
}

struct canonical_place canonical_place(const struct canonical *layout, uint32_t mn, uint32_t k) {
    bool k_major = layout->major == CANONICAL_K;
    uint32_t bit = element_bit(layout->element, k_major ? k : mn);
    return (struct canonical_place){
        .address_bytes = canonical_byte_address(layout, k_major ? mn : k, bit / 8),
        .bit = bit % 8,
    };
}

uint32_t canonical_line_bytes(enum canonical_element element, uint32_t count) {
    if (element == CANONICAL_4BIT_IN_16B || element == CANONICAL_6BIT_IN_16B)
        return (count + 15) / 16 * CHUNK_BYTES;
    return (element_bit(element, count) + 7) / 8;
}

uint32_t canonical_gathered_bytes(enum canonical_element element) {
    if (element == CANONICAL_4BIT)
        return 0;
    return element == CANONICAL_32BIT ? 4 : element == CANONICAL_16BIT ? 2 : 1;
}

/* The chunk as the tensor core takes it: containers become one element a byte. */
static void expand_chunk(enum canonical_element element, const uint8_t *chunk,
                         uint8_t out[CHUNK_BYTES]) {
    if (element == CANONICAL_4BIT_IN_16B) {
        for (uint32_t i = 0; i < 16; i++)
            out[i] = (uint8_t)((chunk[i / 2] >> (i % 2 * 4)) & 0xf);
    } else if (element == CANONICAL_6BIT_IN_16B) {
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t pair = (uint32_t)(chunk[i * 6 / 8] | chunk[i * 6 / 8 + 1] << 8);
            out[i] = (uint8_t)((pair >> (i * 6 % 8)) & 0x3f);
        }
    } else {
        memcpy(out, chunk, CHUNK_BYTES);
    }
}

/* Spreads one chunk of an MN-major line (fixed k) down `count` rows of `out`. */
static void scatter_chunk(const uint8_t *chunk, uint32_t element_bytes, uint32_t count,
                          uint8_t *out, size_t row_bytes) {
    switch (element_bytes) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            out[i * row_bytes] = chunk[i];
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + i * row_bytes, chunk + i * 2, 2);
        break;
    default:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + i * row_bytes, chunk + i * 4, 4);
        break;
    }
}

/* The 16 bytes at a shared address, NULL when they are not all in the memory. */
static inline const uint8_t *chunk_at(const struct canonical_memory *memory, uint32_t address) {
    uint32_t offset = address - memory->base_bytes;
    bool inside = address >= memory->base_bytes && memory->size_bytes >= CHUNK_BYTES &&
                  offset <= memory->size_bytes - CHUNK_BYTES;
    return inside ? memory->bytes + offset : NULL;
}

/* K-major operands of whole chunks that are stored as they are: nearly all there are. */
static enum canonical_error gather_plain(const struct canonical *layout,
                                         const struct canonical_memory *memory, uint32_t mn_count,
                                         uint32_t chunks, uint8_t *out, size_t row_bytes,
                                         uint32_t *outside_bytes) {
    /* Copies, since `out` may alias anything that is only pointed to. */
    const struct canonical own_layout = *layout;
    const struct canonical_memory own_memory = *memory;
    for (uint32_t mn = 0; mn < mn_count; mn++) {
        for (uint32_t c = 0; c < chunks; c++) {
            uint32_t address = canonical_chunk_address(&own_layout, mn, c);
            const uint8_t *chunk = chunk_at(&own_memory, address);
            if (chunk == NULL) {
                *outside_bytes = address;
                return CANONICAL_OUTSIDE;
            }
            memcpy(out + mn * row_bytes + c * CHUNK_BYTES, chunk, CHUNK_BYTES);
        }
    }
    return CANONICAL_OK;
}

enum canonical_error canonical_gather(const struct canonical *layout,
                                      const struct canonical_memory *memory, uint32_t mn_count,
                                      uint32_t k_count, uint8_t *out, size_t row_bytes,
                                      uint32_t *outside_bytes) {
    bool k_major = layout->major == CANONICAL_K;
    uint32_t lines = k_major ? mn_count : k_count;
    uint32_t line_bytes = canonical_line_bytes(layout->element, k_major ? k_count : mn_count);
    uint32_t element_bytes = canonical_gathered_bytes(layout->element);
    if (k_major && line_bytes % CHUNK_BYTES == 0 && layout->element < CANONICAL_4BIT_IN_16B)
        return gather_plain(layout, memory, mn_count, line_bytes / CHUNK_BYTES, out, row_bytes,
                            outside_bytes);
    for (uint32_t line = 0; line < lines; line++) {
        for (uint32_t byte = 0; byte < line_bytes; byte += CHUNK_BYTES) {
            uint32_t address = canonical_byte_address(layout, line, byte);
            const uint8_t *stored = chunk_at(memory, address);
            uint8_t chunk[CHUNK_BYTES];
            if (stored == NULL) {
                *outside_bytes = address;
                return CANONICAL_OUTSIDE;
            }
            expand_chunk(layout->element, stored, chunk);
            if (k_major) {
                uint32_t rest = line_bytes - byte;
                memcpy(out + line * row_bytes + byte, chunk,
                       rest < CHUNK_BYTES ? rest : CHUNK_BYTES);
            } else {
                uint32_t first = byte / element_bytes, rest = mn_count - first;
                uint32_t per_chunk = CHUNK_BYTES / element_bytes;
                scatter_chunk(chunk, element_bytes, rest < per_chunk ? rest : per_chunk,
                              out + first * row_bytes + line * element_bytes, row_bytes);
            }
        }
    }
    return CANONICAL_OK;
}
