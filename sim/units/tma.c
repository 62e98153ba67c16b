/* The walk of a tensor copy in tile mode: which bytes of global memory go with which bytes of
 * shared memory, one box row after the other.
 *
 *   box index i, start coordinate c, element stride e:   x[d] = c[d] + i[d] * e[d]
 *   global = base + x[0] * element + sum x[d] * stride[d],   in bounds: 0 <= x[d] < dim[d], all d
 *   shared = swizzle(address + row * pitch + i[0] * element),   row counts i[1], i[2], ...
 *
 * Element strides: dimension 0 has none without interleave (H200 observation 48), the others take
 * ceil(box / e) positions (49). Pitch: a row's own bytes, or the swizzle's span (observations 3,
 * 27). Stores write whole 16-byte chunks at the inner edge (55).
 *
 * Interleave 16B and 32B, as the 283 loads of oracle tma/hw-H200-load show it: dimension 0 counts
 * positions of 16 or 32 bytes whatever the element type, and dimension rank-2 (the channel slices)
 * always gives one position, whatever its box says.
 *
 * PTX manual, "Tensors" and cp.async.bulk.tensor. Not modelled: im2col, gather4 and scatter4;
 * FLIP_8B, stores of the padded packed types, stores of interleaved maps, interleave with a swizzle
 * or element stride [0] that no row of the data has, an instruction of another rank than its map;
 * in how many pieces a copy completes (here: one). */
#include "tma.h"

enum { SHARED_ALIGN_BYTES = 128, CHUNK_BYTES = 16 };

const char *tma_outcome_text(enum tma_outcome outcome) {
    static const char *const text[TMA_OUTCOMES] = {
        [TMA_OK] = "ok",
        [TMA_FAULT_SHARED_ALIGNMENT] =
            "the shared address of a tensor copy must be a multiple of 128",
        [TMA_FAULT_INNER_COORDINATE] =
            "the innermost start coordinate must lie on a multiple of 16 bytes",
        [TMA_FAULT_NEGATIVE_COORDINATE] =
            "a tensor store or reduction takes no negative start coordinate",
        [TMA_FAULT_REDUCE_TYPE] =
            "this reduction does not exist for the element type of the tensor map",
        [TMA_UNKNOWN_RANK] = "not modelled: an instruction of another rank than its tensor map",
        [TMA_UNKNOWN_FLIP_8B] = "not modelled: SWIZZLE_128B_ATOM_32B_FLIP_8B, no source says which "
                                "lines have their halves exchanged",
        [TMA_UNKNOWN_INTERLEAVE] =
            "not modelled: this use of an interleaved tensor map (loads with 16B and no swizzle or "
            "32B and SWIZZLE_32B, element stride 1 in dimension 0, are)",
        [TMA_UNKNOWN_PACKED_STORE] =
            "not modelled: stores of the 16U4_ALIGN16B and 16U6_ALIGN16B types",
        [TMA_UNKNOWN_REDUCE_ARITHMETIC] =
            "not modelled: the rounding of this reduction for the element type of the tensor map",
    };
    return text[outcome];
}

static enum tma_outcome check_writes(const struct tmap *map, const struct tma_request *request) {
    for (uint32_t d = 0; d < map->rank; d++) {
        if (request->coords[d] < 0)
            return TMA_FAULT_NEGATIVE_COORDINATE;
    }
    if (tmap_is_padded(map->type))
        return TMA_UNKNOWN_PACKED_STORE;
    if (map->interleave != TMAP_INTERLEAVE_NONE)
        return TMA_UNKNOWN_INTERLEAVE;
    if (request->kind != TMA_REDUCE)
        return TMA_OK;
    if (!tma_reduce_runs(request->reduce_op, map->type))
        return TMA_FAULT_REDUCE_TYPE;
    return tma_reduce_is_known(request->reduce_op, map->type) ? TMA_OK
                                                              : TMA_UNKNOWN_REDUCE_ARITHMETIC;
}

static enum tma_outcome check_interleave(const struct tmap *map) {
    uint32_t swizzle =
        map->interleave == TMAP_INTERLEAVE_16B ? (uint32_t)SWIZZLE_NONE : (uint32_t)SWIZZLE_32B;
    return map->swizzle == swizzle && map->element_stride[0] == 1 ? TMA_OK : TMA_UNKNOWN_INTERLEAVE;
}

/* Packed and padded types start on a multiple of 128 elements, all others on 16 bytes. */
static bool inner_start_is_aligned(const struct tmap *map, int32_t coord) {
    if (map->interleave != TMAP_INTERLEAVE_NONE)
        return true; /* every position is a multiple of 16 bytes */
    int64_t bits = (int64_t)coord * tmap_element_bits(map->type);
    return tmap_is_padded(map->type) ? coord % 128 == 0 : bits % (8 * CHUNK_BYTES) == 0;
}

static enum tma_outcome check(const struct tmap *map, const struct tma_request *request) {
    if (request->rank != map->rank)
        return TMA_UNKNOWN_RANK;
    if (!swizzle_is_known((enum swizzle_mode)map->swizzle))
        return TMA_UNKNOWN_FLIP_8B;
    if (request->kind != TMA_PREFETCH && request->shared_address % SHARED_ALIGN_BYTES != 0)
        return TMA_FAULT_SHARED_ALIGNMENT;
    if (!inner_start_is_aligned(map, request->coords[0]))
        return TMA_FAULT_INNER_COORDINATE;
    if (request->kind == TMA_STORE || request->kind == TMA_REDUCE)
        return check_writes(map, request);
    return map->interleave == TMAP_INTERLEAVE_NONE ? TMA_OK : check_interleave(map);
}

static uint32_t interleave_bytes(const struct tmap *map) {
    return map->interleave == TMAP_INTERLEAVE_16B ? 16 : 32;
}

enum tma_outcome tma_begin(struct tma_walk *walk, const struct tmap *map,
                           const struct tma_request *request) {
    enum tma_outcome outcome = check(map, request);
    if (outcome != TMA_OK)
        return outcome;
    bool interleaved = map->interleave != TMAP_INTERLEAVE_NONE;
    uint32_t bits = tmap_element_bits(map->type);
    *walk = (struct tma_walk){.map = *map, .request = *request, .row_count = 1};
    walk->position_bits = interleaved ? 8 * interleave_bytes(map) : bits;
    walk->chunk_payload_bytes = tmap_is_padded(map->type) ? CHUNK_BYTES * bits / 8 : CHUNK_BYTES;
    walk->row_bytes = map->box_elems[0] * walk->position_bits / 8;
    for (uint32_t d = 1; d < map->rank; d++) {
        walk->count[d] = (map->box_elems[d] + map->element_stride[d] - 1) / map->element_stride[d];
        if (interleaved && d == map->rank - 2)
            walk->count[d] = 1;
        walk->row_count *= walk->count[d];
    }
    walk->box_bytes = walk->row_count * walk->row_bytes;
    uint32_t shared_row_bytes = walk->row_bytes / walk->chunk_payload_bytes * CHUNK_BYTES;
    uint32_t span = swizzle_rule((enum swizzle_mode)map->swizzle)->span_bytes;
    bool spread = map->swizzle != SWIZZLE_NONE && shared_row_bytes < span;
    walk->pitch_bytes = spread ? span : shared_row_bytes;
    return TMA_OK;
}

/* The part of the row that is inside the inner extent. `inside`: the other dimensions are. */
static void find_valid(const struct tma_walk *walk, bool inside, struct tma_step *step) {
    int64_t start_bytes = (int64_t)walk->request.coords[0] * walk->position_bits / 8;
    int64_t extent_bytes = (int64_t)(walk->map.dim_elems[0] * walk->position_bits / 8);
    int64_t first = start_bytes < 0 ? -start_bytes : 0;
    int64_t end = extent_bytes - start_bytes;
    if (end > (int64_t)walk->row_bytes)
        end = walk->row_bytes;
    step->valid_offset = 0;
    step->valid_bytes = 0;
    if (!inside || first >= end)
        return;
    if (walk->request.kind == TMA_STORE || walk->request.kind == TMA_REDUCE)
        end = (end + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    step->valid_offset = (uint32_t)first;
    step->valid_bytes = (uint32_t)(end - first);
    step->global_address += (uint64_t)(start_bytes + first);
}

/* Smallest range of shared memory that holds the row's chunks. */
static void find_shared_range(const struct tma_walk *walk, struct tma_step *step) {
    uint32_t bytes = walk->row_bytes / walk->chunk_payload_bytes * CHUNK_BYTES;
    step->shared_first = step->shared_address;
    step->shared_end = step->shared_address + bytes;
    if (walk->pitch_bytes == bytes)
        return; /* the swizzle permutes chunks inside the row's own lines */
    const struct swizzle_rule *rule = swizzle_rule((enum swizzle_mode)walk->map.swizzle);
    step->shared_first = UINT32_MAX;
    step->shared_end = 0;
    for (uint32_t offset = 0; offset < bytes; offset += CHUNK_BYTES) {
        uint32_t at = swizzle_apply(rule, step->shared_address + offset);
        if (at < step->shared_first)
            step->shared_first = at;
        if (at + CHUNK_BYTES > step->shared_end)
            step->shared_end = at + CHUNK_BYTES;
    }
}

bool tma_next(struct tma_walk *walk, struct tma_step *step) {
    if (walk->row == walk->row_count)
        return false;
    const struct tmap *map = &walk->map;
    bool inside = true;
    step->global_address = map->global_address;
    for (uint32_t d = 1; d < map->rank; d++) {
        int64_t x = walk->request.coords[d] + (int64_t)walk->index[d] * map->element_stride[d];
        inside = inside && x >= 0 && (uint64_t)x < map->dim_elems[d];
        step->global_address += (uint64_t)x * map->stride_bytes[d];
    }
    step->shared_address = walk->request.shared_address + walk->row * walk->pitch_bytes;
    find_valid(walk, inside, step);
    find_shared_range(walk, step);
    walk->row++;
    for (uint32_t d = 1; d < map->rank && ++walk->index[d] == walk->count[d]; d++)
        walk->index[d] = 0;
    return true;
}
