/* The walk of a tensor copy: which bytes of global memory go with which bytes of shared memory, one
 * row after the other. A row is the inner elements of the box, the channels of a pixel, or one
 * position of an interleaved map.
 *
 *   tile:   x[d] = coordinate[d] + index[d] * element stride[d], index[d] < ceil(box[d] /
 * stride[d]) im2col: x = pixel + offsets; the pixel goes from the start along W by W's element
 * stride; beyond the end of the bounding box it goes back to the lower corner and H, D, N take
 * their step global = base + sum x[d] * stride[d],  in bounds: 0 <= x[d] < dim[d], all d shared =
 * swizzle(address + row * pitch + byte of the row)
 *
 * Without interleave dimension 0 has no element stride (H200 observation 48), of an im2col map
 * dimension 0 is C and the last N. Pitch: a row's own bytes, or the swizzle's span (observations 3,
 * 27). Stores write whole 16-byte chunks at the inner edge (55).
 *
 * Interleave 16B and 32B: dimension 0 counts positions of 16 or 32 bytes whatever the element type,
 * and has an element stride; dimension rank-2 holds the channel slices, of which a copy takes one
 * whatever its box or channels say; the dimensions before it are W, H, D of an im2col map.
 * Positions lie side by side under every swizzle.
 *
 * PTX manual, "Tensors" and cp.async.bulk.tensor; what an H200 did: the families tma_, interleave_
 * and im2col_ of traces/silicon/observations.md. Not modelled: im2col stores, im2col::w, gather4
 * and scatter4; FLIP_8B, stores of the padded packed types; in how many pieces a copy completes
 * (here: one). */
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
        [TMA_FAULT_RANK] = "the instruction has another number of dimensions than its tensor map",
        [TMA_FAULT_MODE] =
            "an im2col tensor map goes with an im2col instruction, a tiled one with a tile one",
        [TMA_FAULT_OUTSIDE] = "an im2col copy must start inside the bounding box of its tensor map",
        [TMA_FAULT_IM2COL_STORE] = "the bounding box of an im2col store reaches out of the tensor",
        [TMA_UNKNOWN_FLIP_8B] =
            "not modelled: SWIZZLE_128B_ATOM_32B_FLIP_8B, which lines it flips is not known",
        [TMA_UNKNOWN_PACKED_STORE] =
            "not modelled: stores of the 16U4_ALIGN16B and 16U6_ALIGN16B types",
    };
    return text[outcome];
}

static bool is_interleaved(const struct tmap *map) {
    return map->interleave != TMAP_INTERLEAVE_NONE;
}

static enum tma_outcome check_writes(const struct tmap *map, const struct tma_request *request) {
    for (uint32_t d = 0; d < map->rank; d++) {
        if (request->coords[d] < 0)
            return TMA_FAULT_NEGATIVE_COORDINATE;
    }
    if (tmap_is_padded(map->type))
        return TMA_UNKNOWN_PACKED_STORE;
    if (request->kind != TMA_REDUCE)
        return TMA_OK;
    return tma_reduce_runs(request->reduce_op, map->type) ? TMA_OK : TMA_FAULT_REDUCE_TYPE;
}

/* Packed and padded types start on a multiple of 128 elements, all others on 16 bytes. */
static bool inner_start_is_aligned(const struct tmap *map, int32_t coord) {
    if (is_interleaved(map))
        return true; /* every position is a multiple of 16 bytes */
    int64_t bits = (int64_t)coord * tmap_element_bits(map->type);
    return tmap_is_padded(map->type) ? coord % 128 == 0 : bits % (8 * CHUNK_BYTES) == 0;
}

/* The dimension that is W in an im2col map. */
static uint32_t first_spatial(const struct tmap *map) {
    return is_interleaved(map) ? 0 : 1;
}

/* The last position of the bounding box along a spatial dimension. */
static int64_t box_end(const struct tmap *map, uint32_t spatial) {
    return (int64_t)map->dim_elems[first_spatial(map) + spatial] - 1 + map->upper_corner[spatial];
}

/* A store writes through no box that reaches out of the tensor. */
static bool box_is_inside(const struct tmap *map) {
    bool inside = true;
    for (uint32_t i = 0; i + 2 < map->rank; i++)
        inside = inside && map->lower_corner[i] >= 0 && map->upper_corner[i] <= 0;
    return inside;
}

static bool starts_in_box(const struct tmap *map, const struct tma_request *request) {
    const int32_t *start = request->coords + first_spatial(map);
    bool inside = true;
    for (uint32_t i = 0; i + 2 < map->rank; i++)
        inside = inside && start[i] >= map->lower_corner[i] && start[i] <= box_end(map, i);
    return inside;
}

/* Alignment comes last: where something else is wrong too, silicon ends with that (faults in
 * traces/silicon/observations.md). */
static enum tma_outcome check_alignment(const struct tma_request *request) {
    bool aligned = request->shared_address % SHARED_ALIGN_BYTES == 0;
    return request->kind == TMA_PREFETCH || aligned ? TMA_OK : TMA_FAULT_SHARED_ALIGNMENT;
}

static enum tma_outcome check(const struct tmap *map, const struct tma_request *request) {
    if (request->rank != map->rank)
        return TMA_FAULT_RANK;
    if (request->mode != map->mode)
        return TMA_FAULT_MODE;
    bool writes = request->kind == TMA_STORE || request->kind == TMA_REDUCE;
    if (map->mode == TMAP_IM2COL && writes && !box_is_inside(map))
        return TMA_FAULT_IM2COL_STORE;
    if (map->mode == TMAP_IM2COL && !starts_in_box(map, request))
        return TMA_FAULT_OUTSIDE;
    if (!swizzle_is_known((enum swizzle_mode)map->swizzle))
        return TMA_UNKNOWN_FLIP_8B;
    if (!inner_start_is_aligned(map, request->coords[0]))
        return TMA_FAULT_INNER_COORDINATE;
    return writes ? check_writes(map, request) : TMA_OK;
}

/* How many positions a copy takes along a dimension. */
static uint32_t count_along(const struct tmap *map, uint32_t d) {
    if (is_interleaved(map) && d == map->rank - 2)
        return 1;
    return (map->box_elems[d] + map->element_stride[d] - 1) / map->element_stride[d];
}

static void begin_box(struct tma_walk *walk) {
    for (uint32_t d = walk->first; d < walk->map.rank; d++) {
        walk->count[d] = count_along(&walk->map, d);
        walk->row_count *= walk->count[d];
    }
}

/* The offsets as they travel in one word: 16, 8 or 5 bits each. In 5 dimensions the word is their
 * sum, and what is too large for its field spills into the next. */
static void take_offsets(struct tma_walk *walk) {
    uint16_t *offsets = walk->request.offsets;
    if (walk->map.rank == 4) {
        offsets[0] &= 0xff;
        offsets[1] &= 0xff;
    } else if (walk->map.rank == 5) {
        uint32_t word = offsets[0] + 32u * offsets[1] + 1024u * offsets[2];
        for (uint32_t i = 0; i < TMAP_SPATIAL_MAX; i++)
            offsets[i] = word >> 5 * i & 31;
    }
}

static void begin_pixels(struct tma_walk *walk) {
    take_offsets(walk);
    walk->row_count = walk->map.pixels;
    for (uint32_t d = walk->first; d < walk->map.rank; d++)
        walk->pixel[d] = walk->request.coords[d];
}

/* Bytes of a row in global memory: one position of an interleaved map, else the inner elements. */
static uint32_t row_bytes(const struct tmap *map) {
    if (is_interleaved(map))
        return map->interleave == TMAP_INTERLEAVE_16B ? 16 : 32;
    uint32_t inner = map->mode == TMAP_IM2COL ? map->channels : map->box_elems[0];
    return inner * tmap_element_bits(map->type) / 8;
}

enum tma_outcome tma_begin(struct tma_walk *walk, const struct tmap *map,
                           const struct tma_request *request) {
    enum tma_outcome outcome = check(map, request);
    if (outcome == TMA_OK)
        outcome = check_alignment(request);
    if (outcome != TMA_OK)
        return outcome;
    uint32_t bits = tmap_element_bits(map->type);
    *walk = (struct tma_walk){.map = *map,
                              .request = *request,
                              .row_count = 1,
                              .row_bytes = row_bytes(map),
                              .first = first_spatial(map)};
    walk->map.stride_bytes[0] = walk->row_bytes; /* of an interleaved map */
    walk->chunk_payload_bytes = tmap_is_padded(map->type) ? CHUNK_BYTES * bits / 8 : CHUNK_BYTES;
    if (map->mode == TMAP_IM2COL)
        begin_pixels(walk);
    else
        begin_box(walk);
    walk->box_bytes = walk->row_count * walk->row_bytes;
    uint32_t shared_row_bytes = walk->row_bytes / walk->chunk_payload_bytes * CHUNK_BYTES;
    uint32_t span = swizzle_rule((enum swizzle_mode)map->swizzle)->span_bytes;
    bool spread = map->swizzle != SWIZZLE_NONE && !is_interleaved(map) && shared_row_bytes < span;
    walk->pitch_bytes = spread ? span : shared_row_bytes;
    return TMA_OK;
}

/* The part of the row that is inside the inner extent. `inside`: the other dimensions are. */
static void find_valid(const struct tma_walk *walk, bool inside, struct tma_step *step) {
    uint32_t bits = tmap_element_bits(walk->map.type);
    int64_t start_bytes = (int64_t)walk->request.coords[0] * bits / 8;
    int64_t extent_bytes = (int64_t)(walk->map.dim_elems[0] * bits / 8);
    int64_t first = start_bytes < 0 ? -start_bytes : 0;
    int64_t end = extent_bytes - start_bytes;
    if (end > (int64_t)walk->row_bytes)
        end = walk->row_bytes;
    step->valid_offset = 0;
    step->valid_bytes = inside && is_interleaved(&walk->map) ? walk->row_bytes : 0;
    if (!inside || is_interleaved(&walk->map) || first >= end)
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
    if (walk->pitch_bytes == bytes && !is_interleaved(&walk->map))
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

/* Position of the next row along dimension d. */
static int64_t position(const struct tma_walk *walk, uint32_t d) {
    const struct tmap *map = &walk->map;
    uint32_t spatial = d - walk->first;
    if (map->mode == TMAP_TILED)
        return walk->request.coords[d] + (int64_t)walk->index[d] * map->element_stride[d];
    return walk->pixel[d] + (spatial + 2 < map->rank ? walk->request.offsets[spatial] : 0);
}

/* From one pixel of the bounding box to the next: along W, then H, D and N. */
static void next_pixel(struct tma_walk *walk) {
    const struct tmap *map = &walk->map;
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        int64_t *at = &walk->pixel[walk->first + i];
        *at += map->element_stride[walk->first + i];
        if (*at <= box_end(map, i))
            return;
        *at = map->lower_corner[i];
    }
    walk->pixel[map->rank - 1] += map->element_stride[map->rank - 1];
}

static void next_index(struct tma_walk *walk) {
    for (uint32_t d = walk->first; d < walk->map.rank && ++walk->index[d] == walk->count[d]; d++)
        walk->index[d] = 0;
}

bool tma_next(struct tma_walk *walk, struct tma_step *step) {
    if (walk->row == walk->row_count)
        return false;
    const struct tmap *map = &walk->map;
    bool inside = true;
    step->global_address = map->global_address;
    for (uint32_t d = walk->first; d < map->rank; d++) {
        int64_t x = position(walk, d);
        inside = inside && x >= 0 && (uint64_t)x < map->dim_elems[d];
        step->global_address += (uint64_t)x * map->stride_bytes[d];
    }
    step->shared_address = walk->request.shared_address + walk->row * walk->pitch_bytes;
    find_valid(walk, inside, step);
    find_shared_range(walk, step);
    walk->row++;
    if (map->mode == TMAP_IM2COL)
        next_pixel(walk);
    else
        next_index(walk);
    return true;
}
