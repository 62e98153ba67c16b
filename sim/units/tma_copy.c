/* Moving the bytes of one step of a tensor copy; see tma.c for the walk.
 *
 *   load:   global row, or fill where out of bounds -> rounded to tf32 -> chunks, swizzled
 *   store:  chunks, swizzled back -> global row
 *
 * A row is handled in 16-byte chunks; within one 128-byte line of shared memory all chunks have
 * their address exclusive-or'ed with the same value. */
#include "tma.h"

#include <string.h>

#include "bits.h"

enum {
    CHUNK_BYTES = 16,
    LINE_BYTES = 128,
    ROW_BYTES_MAX = TMAP_BOX_DIM_MAX * 32, /* a row of 32-byte interleaved positions */
    FILL_NAN = 0x7ff7,                     /* in every 16-bit half, H200 observation 28 */
};

/* The tf32 of an f32 word as a load makes it: nearest even, from the 13 low bits; no NaN but one
 * (observation 29; ties: traces/silicon/observations.md). */
static uint32_t tf32_word(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    if ((word & 0x7f800000) == 0x7f800000)
        return word;
    return (word + 0xfff + (word >> 13 & 1)) & 0xffffe000;
}

static void round_to_tf32(uint8_t *row, uint32_t bytes) {
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, row + i, 4);
        word = tf32_word(word);
        memcpy(row + i, &word, 4);
    }
}

static void fill(uint8_t *bytes, uint32_t size_bytes, uint32_t mode) {
    if (mode == TMAP_FILL_ZERO) {
        memset(bytes, 0, size_bytes);
        return;
    }
    for (uint32_t i = 0; i < size_bytes; i += 2) {
        bytes[i] = FILL_NAN & 0xff;
        bytes[i + 1] = FILL_NAN >> 8;
    }
}

/* The part of a row that lies in one 128-byte line: its chunks at `address` + 0, 16, ... have their
 * address exclusive-or'ed with `flip`. */
struct line {
    uint32_t address, flip, chunk_count;
};

static struct line line_at(const struct swizzle_rule *rule, uint32_t address, uint32_t chunks) {
    uint32_t in_line = (LINE_BYTES - address % LINE_BYTES) / CHUNK_BYTES;
    return (struct line){.address = address,
                         .flip = (address >> rule->shift) & rule->mask,
                         .chunk_count = chunks < in_line ? chunks : in_line};
}

static void scatter(const struct tma_walk *walk, uint32_t address, uint8_t *shared,
                    const uint8_t *row) {
    const struct swizzle_rule *rule = swizzle_rule((enum swizzle_mode)walk->map.swizzle);
    uint32_t payload = walk->chunk_payload_bytes;
    for (uint32_t left = walk->row_bytes / payload; left > 0;) {
        struct line line = line_at(rule, address, left);
        for (uint32_t i = 0; i < line.chunk_count; i++, row += payload) {
            uint8_t *to = shared + ((line.address + i * CHUNK_BYTES) ^ line.flip);
            if (payload == CHUNK_BYTES)
                memcpy(to, row, CHUNK_BYTES);
            else
                memcpy(to, row, payload);
        }
        address += line.chunk_count * CHUNK_BYTES;
        left -= line.chunk_count;
    }
}

static void gather(const struct tma_walk *walk, uint32_t address, const uint8_t *shared,
                   uint8_t *row, uint32_t bytes) {
    const struct swizzle_rule *rule = swizzle_rule((enum swizzle_mode)walk->map.swizzle);
    for (uint32_t left = bytes / CHUNK_BYTES; left > 0;) {
        struct line line = line_at(rule, address, left);
        for (uint32_t i = 0; i < line.chunk_count; i++, row += CHUNK_BYTES)
            memcpy(row, shared + ((line.address + i * CHUNK_BYTES) ^ line.flip), CHUNK_BYTES);
        address += line.chunk_count * CHUNK_BYTES;
        left -= line.chunk_count;
    }
}

void tma_step_load(const struct tma_walk *walk, const struct tma_step *step, uint8_t *shared,
                   const uint8_t *global) {
    bool rounds = walk->map.type == TMAP_TFLOAT32 || walk->map.type == TMAP_TFLOAT32_FTZ;
    if (step->valid_bytes == walk->row_bytes && !rounds) {
        if (walk->map.swizzle == SWIZZLE_NONE && walk->chunk_payload_bytes == CHUNK_BYTES)
            memcpy(shared + step->shared_address, global, walk->row_bytes);
        else
            scatter(walk, step->shared_address, shared, global);
        return;
    }
    uint8_t row[ROW_BYTES_MAX];
    uint32_t end = step->valid_offset + step->valid_bytes;
    fill(row, step->valid_offset, walk->map.fill);
    if (step->valid_bytes > 0)
        memcpy(row + step->valid_offset, global, step->valid_bytes);
    if (rounds)
        round_to_tf32(row + step->valid_offset, step->valid_bytes);
    fill(row + end, walk->row_bytes - end, walk->map.fill);
    scatter(walk, step->shared_address, shared, row);
}

void tma_step_store(const struct tma_walk *walk, const struct tma_step *step, const uint8_t *shared,
                    uint8_t *global) {
    if (walk->map.swizzle == SWIZZLE_NONE)
        memcpy(global, shared + step->shared_address, step->valid_bytes);
    else
        gather(walk, step->shared_address, shared, global, step->valid_bytes);
}

void tma_step_reduce(const struct tma_walk *walk, const struct tma_step *step,
                     const uint8_t *shared, uint8_t *global) {
    uint8_t row[ROW_BYTES_MAX];
    gather(walk, step->shared_address, shared, row, step->valid_bytes);
    tma_reduce(walk->request.reduce_op, (enum tmap_type)walk->map.type, global, row,
               step->valid_bytes);
}
