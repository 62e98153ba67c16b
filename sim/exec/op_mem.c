/* Loads and stores, and the hints that go with them (manual, "Data Movement and Conversion
 * Instructions"). Most accesses of a warp fall into one buffer: then the lanes' offsets are checked
 * together and the words are moved in a vector loop. Everything else goes lane by lane. Cache words
 * and orders change nothing here: a warp's accesses happen at once and in order. */
#include <string.h>

#include "lane.h"
#include "mem_access.h"

enum { POLL_STEPS = 64 }; /* what a strong read counts against the time slice */

typedef uint16_t __attribute__((may_alias)) word16;
typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;

static uint64_t read_value(const uint8_t *at, unsigned bytes, bool is_signed) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    if (is_signed && bytes < 8)
        value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    return value;
}

static void load_lane(struct warp *w, const struct mem_access *m, unsigned lane,
                      const uint8_t *at) {
    for (unsigned i = 0; i < m->elem_count; i++, at += m->elem_bytes) {
        const struct xop *d = mem_elem(m, i);
        if (d->kind != XOP_VALUE)
            continue;
        if (m->elem_bytes == 16) {
            memcpy(&xop_u64(w, d)[lane], at, 8);
            memcpy(&xop_u64(w, d)[WARP_LANES + lane], at + 8, 8);
        } else {
            xop_set_lane(w, d, lane, read_value(at, m->elem_bytes, m->is_signed));
        }
    }
}

static enum step load_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct mem_access *m = x->data;
    uint8_t *host[WARP_LANES];
    if (!mem_resolve(w, x, m, mask, ACCESS_READ, host))
        return STEP_FAULT;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        load_lane(w, m, lane, host[lane]);
    }
    if (m->polls)
        w->sched->slice_cost += POLL_STEPS;
    return STEP_NEXT;
}

static void store_lane(struct warp *w, const struct mem_access *m, unsigned lane, uint8_t *at) {
    for (unsigned i = 0; i < m->elem_count; i++, at += m->elem_bytes) {
        const struct xop *b = mem_elem(m, i);
        uint64_t value = xop_lane(w, b, lane);
        if (m->elem_bytes == 16) {
            memcpy(at, &value, 8);
            memcpy(at + 8, &xop_u64(w, b)[WARP_LANES + lane], 8);
        } else {
            memcpy(at, &value, m->elem_bytes);
        }
    }
}

static enum step store_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct mem_access *m = x->data;
    uint8_t *host[WARP_LANES];
    if (!mem_resolve(w, x, m, mask, ACCESS_WRITE, host))
        return STEP_FAULT;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        store_lane(w, m, lane, host[lane]);
    }
    if (m->space != SPACE_LOCAL && m->space != SPACE_PARAM)
        warp_progress(w);
    return STEP_NEXT;
}

/* Offsets of the lanes from a host address, all inside one piece of memory and aligned. */
struct lanes_at {
    uint8_t *host;
    uint64_t offset[WARP_LANES];
    bool same; /* all lanes name the same place */
    bool run;  /* lane after lane, without gaps */
};

/* Checks the lanes' offsets: address minus `start` for 32- or 64-bit addresses (`type`). False when
 * a lane is outside or not aligned. The memory starts at a multiple of every alignment, so offsets
 * tell. */
#define CHECK_OFFSETS(type, base, start, limit)                                                    \
    type outside_ = 0, low_ = 0, differ_ = 0, gap_ = 0;                                            \
    if (mask == LANES_ALL) {                                                                       \
        type first_ = (type)((base)[0] - (start));                                                 \
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {                                       \
            type offset_ = (type)((base)[lane] - (start));                                         \
            at->offset[lane] = offset_;                                                            \
            outside_ |= offset_ > (limit) ? 1 : 0;                                                 \
            low_ |= offset_;                                                                       \
            differ_ |= offset_ ^ first_;                                                           \
            gap_ |= offset_ ^ (first_ + (type)(lane * bytes));                                     \
        }                                                                                          \
    } else {                                                                                       \
        differ_ = gap_ = 1;                                                                        \
        for (uint32_t left = mask; left != 0; left &= left - 1) {                                  \
            unsigned lane = (unsigned)__builtin_ctz(left);                                         \
            type offset_ = (type)((base)[lane] - (start));                                         \
            at->offset[lane] = offset_;                                                            \
            outside_ |= offset_ > (limit) ? 1 : 0;                                                 \
            low_ |= offset_;                                                                       \
        }                                                                                          \
    }                                                                                              \
    at->same = differ_ == 0;                                                                       \
    at->run = gap_ == 0;                                                                           \
    return outside_ == 0 && (low_ & (bytes - 1)) == 0;

static inline __attribute__((always_inline)) bool
offsets_in_range(const struct warp *w, const struct mem_access *m, const struct global_range *range,
                 uint32_t mask, unsigned bytes, struct lanes_at *at) {
    if (range->size_bytes < bytes)
        return false;
    const uint64_t *base = xop_u64(w, &m->address->elems[0]);
    uint64_t start = range->address - (uint64_t)m->address->imm;
    uint64_t limit = range->size_bytes - bytes;
    at->host = range->host;
    CHECK_OFFSETS(uint64_t, base, start, limit)
}

static inline __attribute__((always_inline)) bool find_global(struct warp *w, const struct xinsn *x,
                                                              const struct mem_access *m,
                                                              uint32_t mask, unsigned bytes,
                                                              struct lanes_at *at) {
    if (w->cta->state->observer != NULL)
        return false;
    /* An instruction mostly stays in one buffer; each has a place in a small cache. */
    const struct global_range **cached = &w->sched->ranges[(uintptr_t)x / sizeof *x % RANGES_KEPT];
    if (*cached != NULL && offsets_in_range(w, m, *cached, mask, bytes, at))
        return true;
    uint64_t first = warp_address(w, m->address, SPACE_GLOBAL, (unsigned)__builtin_ctz(mask));
    const struct global_range *range = global_memory_find(w->cta->memory, first);
    if (range == NULL || range == *cached)
        return false;
    *cached = range;
    return offsets_in_range(w, m, range, mask, bytes, at);
}

static inline __attribute__((always_inline)) bool find_shared(struct warp *w, const struct xinsn *x,
                                                              const struct mem_access *m,
                                                              uint32_t mask, unsigned bytes,
                                                              struct lanes_at *at) {
    (void)x;
    const struct xop *op = &m->address->elems[0];
    if (w->cta->state->observer != NULL || op->bits != 32)
        return false;
    const uint32_t *base = xop_u32(w, op);
    uint32_t start = 0 - (uint32_t)m->address->imm, limit = w->cta->shared_end - bytes;
    at->host = w->cta->shared;
    CHECK_OFFSETS(uint32_t, base, start, limit)
}

/* Elements of `word`, `count` a lane, into registers of type `reg`. */
#define LOAD_WORDS(name, find, word, reg, accessor, shift, count)                                  \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct mem_access *m = x->data;                                                      \
        struct lanes_at at;                                                                        \
        if (!find(w, x, m, mask, (1u << (shift)) * (count), &at))                                  \
            return load_any(w, x, mask);                                                           \
        const word *host = (const word *)(const void *)at.host;                                    \
        for (unsigned i = 0; i < (count); i++) {                                                   \
            reg *d = (reg *)(void *)accessor(w, mem_elem(m, i));                                   \
            const word *first = host + (at.offset[0] >> (shift)) + i;                              \
            if (mask != LANES_ALL) {                                                               \
                for (uint32_t left = mask; left != 0; left &= left - 1) {                          \
                    unsigned lane = (unsigned)__builtin_ctz(left);                                 \
                    d[lane] = host[(at.offset[lane] >> (shift)) + i];                              \
                }                                                                                  \
            } else if (at.same) {                                                                  \
                reg value = first[0];                                                              \
                for (unsigned lane = 0; lane < WARP_LANES; lane++)                                 \
                    d[lane] = value;                                                               \
            } else if (at.run) {                                                                   \
                LANE_IVDEP for (unsigned lane = 0; lane < WARP_LANES; lane++) d[lane] =            \
                    first[lane * (count)];                                                         \
            } else {                                                                               \
                for (unsigned lane = 0; lane < WARP_LANES; lane++)                                 \
                    d[lane] = host[(at.offset[lane] >> (shift)) + i];                              \
            }                                                                                      \
        }                                                                                          \
        return STEP_NEXT;                                                                          \
    }

#define STORE_WORDS(name, find, word, reg, accessor, shift, count)                                 \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct mem_access *m = x->data;                                                      \
        struct lanes_at at;                                                                        \
        if (!find(w, x, m, mask, (1u << (shift)) * (count), &at))                                  \
            return store_any(w, x, mask);                                                          \
        word *host = (word *)(void *)at.host;                                                      \
        if (at.run && (count) == 1) {                                                              \
            const reg *b = (const reg *)(const void *)accessor(w, m->value);                       \
            word *first = host + (at.offset[0] >> (shift));                                        \
            LANE_IVDEP for (unsigned lane = 0; lane < WARP_LANES; lane++) first[lane] =            \
                (word)b[lane];                                                                     \
            warp_progress(w);                                                                      \
            return STEP_NEXT;                                                                      \
        }                                                                                          \
        for (uint32_t left = mask; left != 0; left &= left - 1) {                                  \
            unsigned lane = (unsigned)__builtin_ctz(left);                                         \
            for (unsigned i = 0; i < (count); i++) {                                               \
                const reg *b = (const reg *)(const void *)accessor(w, mem_elem(m, i));             \
                host[(at.offset[lane] >> (shift)) + i] = (word)b[lane];                            \
            }                                                                                      \
        }                                                                                          \
        warp_progress(w);                                                                          \
        return STEP_NEXT;                                                                          \
    }

LOAD_WORDS(load_global_16, find_global, word16, uint32_t, xop_u32, 1, 1)
LOAD_WORDS(load_global_32, find_global, word32, word32, xop_u32, 2, 1)
LOAD_WORDS(load_global_32x2, find_global, word32, word32, xop_u32, 2, 2)
LOAD_WORDS(load_global_32x4, find_global, word32, word32, xop_u32, 2, 4)
LOAD_WORDS(load_global_64, find_global, word64, word64, xop_u64, 3, 1)
LOAD_WORDS(load_global_64x2, find_global, word64, word64, xop_u64, 3, 2)
LOAD_WORDS(load_shared_16, find_shared, word16, uint32_t, xop_u32, 1, 1)
LOAD_WORDS(load_shared_32, find_shared, word32, word32, xop_u32, 2, 1)
LOAD_WORDS(load_shared_32x2, find_shared, word32, word32, xop_u32, 2, 2)
LOAD_WORDS(load_shared_32x4, find_shared, word32, word32, xop_u32, 2, 4)
LOAD_WORDS(load_shared_64, find_shared, word64, word64, xop_u64, 3, 1)
LOAD_WORDS(load_shared_64x2, find_shared, word64, word64, xop_u64, 3, 2)
STORE_WORDS(store_global_16, find_global, word16, uint32_t, xop_u32, 1, 1)
STORE_WORDS(store_global_32, find_global, word32, word32, xop_u32, 2, 1)
STORE_WORDS(store_global_32x2, find_global, word32, word32, xop_u32, 2, 2)
STORE_WORDS(store_global_32x4, find_global, word32, word32, xop_u32, 2, 4)
STORE_WORDS(store_global_64, find_global, word64, word64, xop_u64, 3, 1)
STORE_WORDS(store_global_64x2, find_global, word64, word64, xop_u64, 3, 2)
STORE_WORDS(store_shared_16, find_shared, word16, uint32_t, xop_u32, 1, 1)
STORE_WORDS(store_shared_32, find_shared, word32, word32, xop_u32, 2, 1)
STORE_WORDS(store_shared_32x2, find_shared, word32, word32, xop_u32, 2, 2)
STORE_WORDS(store_shared_32x4, find_shared, word32, word32, xop_u32, 2, 4)
STORE_WORDS(store_shared_64, find_shared, word64, word64, xop_u64, 3, 1)
STORE_WORDS(store_shared_64x2, find_shared, word64, word64, xop_u64, 3, 2)

/* A kernel parameter at a fixed place: the same word for all lanes. */
static enum step load_kernel_param(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct mem_access *m = x->data;
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint64_t address = warp_address(w, m->address, SPACE_PARAM, first);
    const uint8_t *at =
        warp_memory(w, x, first, SPACE_PARAM, address, m->total_bytes, m->total_bytes);
    if (at == NULL)
        return STEP_FAULT;
    for (uint32_t left = mask; left != 0; left &= left - 1)
        load_lane(w, m, (unsigned)__builtin_ctz(left), at);
    return STEP_NEXT;
}

/* Whether every element is a register of exactly the element's width. */
static bool is_plain(const struct mem_access *m) {
    for (unsigned i = 0; i < m->elem_count; i++)
        if (mem_elem(m, i)->kind != XOP_VALUE || mem_elem(m, i)->bits != m->elem_bytes * 8)
            return false;
    return true;
}

/* The fast ways of a space: 16 bits, 32 bits (1, 2, 4 of them), 64 bits (1, 2). */
struct fast {
    exec_fn *b16, *b32[3], *b64[2];
};

static exec_fn *pick_fast(const struct mem_access *m, const struct fast by_space[2]) {
    if ((m->space != SPACE_GLOBAL && m->space != SPACE_SHARED) || !is_plain(m))
        return NULL;
    const struct fast *fast = &by_space[m->space == SPACE_SHARED];
    if (m->elem_bytes == 2 && m->elem_count == 1 && !m->is_signed)
        return fast->b16;
    if (m->elem_bytes == 4 && m->elem_count <= 4)
        return fast->b32[m->elem_count / 2];
    if (m->elem_bytes == 8 && m->elem_count <= 2)
        return fast->b64[m->elem_count / 2];
    return NULL;
}

exec_select op_ld;
exec_fn *op_ld(struct decode *d, struct xinsn *x) {
    static const struct fast fast[2] = {
        {load_global_16,
         {load_global_32, load_global_32x2, load_global_32x4},
         {load_global_64, load_global_64x2}},
        {load_shared_16,
         {load_shared_32, load_shared_32x2, load_shared_32x4},
         {load_shared_64, load_shared_64x2}},
    };
    const struct mem_access *m = mem_prepare(d, x, 1, 0);
    x->data = m;
    if (m == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    const struct xop *base = &m->address->elems[0];
    if (m->space == SPACE_PARAM && !m->in_frame && base->is_immediate)
        return load_kernel_param;
    exec_fn *run = m->polls ? NULL : pick_fast(m, fast);
    return run != NULL ? run : load_any;
}

exec_select op_st;
exec_fn *op_st(struct decode *d, struct xinsn *x) {
    static const struct fast fast[2] = {
        {store_global_16,
         {store_global_32, store_global_32x2, store_global_32x4},
         {store_global_64, store_global_64x2}},
        {store_shared_16,
         {store_shared_32, store_shared_32x2, store_shared_32x4},
         {store_shared_64, store_shared_64x2}},
    };
    const struct mem_access *m = mem_prepare(d, x, 0, 1);
    x->data = m;
    if (m == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    exec_fn *run = pick_fast(m, fast);
    return run != NULL ? run : store_any;
}

/* st.bulk: zeros. Size and address are multiples of 8. */
static enum step store_bulk(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_space space = ir_space(x->ir, 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t size = xop_lane(w, &x->ops[1], lane), in_space;
        uint64_t address = warp_address(w, &x->ops[0], space, lane);
        if (size % 8 != 0 || size > UINT32_MAX)
            return warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
                              "st.bulk of %llu bytes, not a multiple of 8",
                              (unsigned long long)size);
        enum ptx_space where =
            space == SPACE_GENERIC ? warp_generic(w, address, &in_space) : SPACE_SHARED;
        if (where != SPACE_SHARED)
            return warp_fault(w, x, FAULT_ADDRESS_SPACE, UINT32_C(1) << lane,
                              "st.bulk outside shared memory");
        uint8_t *at = warp_memory(w, x, lane, space, address, (unsigned)size, 8);
        if (at == NULL)
            return STEP_FAULT;
        memset(at, 0, size);
    }
    warp_progress(w);
    return STEP_NEXT;
}

exec_select op_st_bulk;
exec_fn *op_st_bulk(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return store_bulk;
}

/* discard may give away the old values: keeping them is one of the things it may do. Its address
 * must be mapped, where a prefetch or a priority may name anything. */
static enum step discard(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_space space = ir_space(x->ir, 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (warp_memory(w, x, lane, space, warp_address(w, &x->ops[0], space, lane), 1, 1) == NULL)
            return STEP_FAULT;
    }
    return STEP_NEXT;
}

exec_select op_discard;
exec_fn *op_discard(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return discard;
}

/* Prefetches and priorities move no values. */
static enum step hint(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)w, (void)x, (void)mask;
    return STEP_NEXT;
}

exec_select op_hint;
exec_fn *op_hint(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return hint;
}
