/* mbarrier instructions (manual, "Parallel Synchronization and Communication Instructions:
 * mbarrier"). The object's rules are units/mbarrier; here are operands, lanes and waiting. Lanes of
 * one instruction take their turn from lane 0 up. Scope and order words have nothing to add: memory
 * here is sequentially consistent. */
#include <string.h>

#include "copy_operands.h"

enum verb {
    VERB_EXPECT_TX,
    VERB_COMPLETE_TX,
    VERB_ARRIVE,
    VERB_ARRIVE_EXPECT_TX,
    VERB_ARRIVE_DROP,
    VERB_ARRIVE_DROP_EXPECT_TX,
};

static enum mbarrier_outcome apply_verb(enum verb verb, struct mbarrier *object, uint32_t count) {
    switch (verb) {
    case VERB_EXPECT_TX: return mbarrier_expect_tx(object, count);
    case VERB_COMPLETE_TX: return mbarrier_complete_tx(object, count);
    case VERB_ARRIVE: return mbarrier_arrive(object, count);
    case VERB_ARRIVE_EXPECT_TX: return mbarrier_arrive_expect_tx(object, count);
    case VERB_ARRIVE_DROP: return mbarrier_arrive_drop(object, count);
    case VERB_ARRIVE_DROP_EXPECT_TX: return mbarrier_arrive_drop_expect_tx(object, count);
    }
    return MBARRIER_FAULT_NOT_INITIALISED;
}

/* What the selector found out; xinsn.data. */
struct barrier_insn {
    enum verb verb;
    enum ptx_space space;
    uint8_t address_op, value_op; /* indices of operands */
    bool has_state;               /* operand 0 takes the token */
};

static bool verb_has_bytes(enum verb verb) {
    return verb == VERB_EXPECT_TX || verb == VERB_COMPLETE_TX || verb == VERB_ARRIVE_EXPECT_TX ||
           verb == VERB_ARRIVE_DROP_EXPECT_TX;
}

/* The live object at `address`, or *none, which is zeroed. */
static struct mbarrier *object_at(struct warp *w, uint32_t address, struct mbarrier *none) {
    struct mbarrier *object = cta_mbarrier(w->cta, address, false);
    *none = (struct mbarrier){0};
    return object != NULL ? object : none;
}

static enum step verb_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct barrier_insn *how = x->data;
    const struct xop *value = &x->ops[how->value_op];
    bool written = value->kind != XOP_NONE;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address;
        struct mbarrier none;
        if (!copy_mbarrier_address(w, x, &x->ops[how->address_op], how->space, lane, &address))
            return STEP_FAULT;
        struct mbarrier *object = object_at(w, address, &none);
        uint32_t operand = written ? (uint32_t)xop_lane(w, value, lane) : 0;
        uint64_t token = mbarrier_token(object, operand), phase = object->phase;
        enum mbarrier_outcome outcome =
            apply_verb(how->verb, object, written || verb_has_bytes(how->verb) ? operand : 1);
        if (mbarrier_is_fault(outcome))
            return copy_mbarrier_fault(w, x, lane, address, object, outcome);
        if (how->has_state && x->ops[0].kind == XOP_VALUE)
            xop_set_lane(w, &x->ops[0], lane, token);
        cta_mbarrier_changed(w->cta, address, phase, w, x, lane, NULL);
    }
    warp_progress(w);
    return STEP_NEXT;
}

static exec_fn *select_barrier(struct decode *d, struct xinsn *x, enum verb verb, exec_fn *fn) {
    struct barrier_insn *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct barrier_insn));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    bool has_state = verb >= VERB_ARRIVE;
    *how = (struct barrier_insn){.verb = verb,
                                 .space = ir_space(x->ir, 0),
                                 .address_op = has_state,
                                 .value_op = (uint8_t)(has_state + 1),
                                 .has_state = has_state};
    x->data = how;
    return fn;
}

#define SELECT_VERB(name, verb)                                                                    \
    exec_select op_mbarrier_##name;                                                                \
    exec_fn *op_mbarrier_##name(struct decode *d, struct xinsn *x) {                               \
        return select_barrier(d, x, verb, verb_fn);                                                \
    }
SELECT_VERB(expect_tx, VERB_EXPECT_TX)
SELECT_VERB(complete_tx, VERB_COMPLETE_TX)
SELECT_VERB(arrive, VERB_ARRIVE)
SELECT_VERB(arrive_expect_tx, VERB_ARRIVE_EXPECT_TX)
SELECT_VERB(arrive_no_complete, VERB_ARRIVE)
SELECT_VERB(arrive_drop, VERB_ARRIVE_DROP)
SELECT_VERB(arrive_drop_expect_tx, VERB_ARRIVE_DROP_EXPECT_TX)
SELECT_VERB(arrive_drop_no_complete, VERB_ARRIVE_DROP)

static enum step init_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct barrier_insn *how = x->data;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address;
        if (!copy_mbarrier_address(w, x, &x->ops[0], how->space, lane, &address))
            return STEP_FAULT;
        struct mbarrier *object = cta_mbarrier(w->cta, address, true);
        if (object == NULL)
            return warp_fault(w, x, FAULT_NO_MEMORY, mask, "no host memory for an mbarrier");
        enum mbarrier_outcome outcome =
            mbarrier_init(object, (uint32_t)xop_lane(w, &x->ops[1], lane));
        if (mbarrier_is_fault(outcome))
            return copy_mbarrier_fault(w, x, lane, address, object, outcome);
        cta_mbarrier_changed(w->cta, address, 0, w, x, lane, NULL);
    }
    warp_progress(w);
    return STEP_NEXT;
}

/* The state becomes readable in the object's eight bytes (H200 observation 33). */
static enum step inval_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct barrier_insn *how = x->data;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address;
        struct mbarrier none;
        uint64_t word;
        if (!copy_mbarrier_address(w, x, &x->ops[0], how->space, lane, &address))
            return STEP_FAULT;
        struct mbarrier *object = object_at(w, address, &none);
        enum mbarrier_outcome outcome = mbarrier_inval(object, &word);
        if (mbarrier_is_fault(outcome))
            return copy_mbarrier_fault(w, x, lane, address, object, outcome);
        memcpy(w->cta->shared + address, &word, sizeof word);
    }
    warp_progress(w);
    return STEP_NEXT;
}

exec_select op_mbarrier_init, op_mbarrier_inval;
exec_fn *op_mbarrier_init(struct decode *d, struct xinsn *x) {
    return select_barrier(d, x, VERB_EXPECT_TX, init_fn);
}
exec_fn *op_mbarrier_inval(struct decode *d, struct xinsn *x) {
    return select_barrier(d, x, VERB_EXPECT_TX, inval_fn);
}

/* test_wait and try_wait: operands done, [object], parity or token, time. */
struct wait_insn {
    enum ptx_space space;
    bool by_token, may_block;
};

/* Asks for one lane. False with a fault recorded. */
static bool test_lane(struct warp *w, const struct xinsn *x, unsigned lane, uint32_t *address,
                      bool *done) {
    const struct wait_insn *how = x->data;
    struct mbarrier none;
    if (!copy_mbarrier_address(w, x, &x->ops[1], how->space, lane, address))
        return false;
    struct mbarrier *object = object_at(w, *address, &none);
    if (!object->live) {
        copy_mbarrier_fault(w, x, lane, *address, object, MBARRIER_FAULT_NOT_INITIALISED);
        return false;
    }
    uint64_t asked = xop_lane(w, &x->ops[2], lane);
    *done = how->by_token ? mbarrier_test_token(object, asked)
                          : mbarrier_test_parity(object, (uint32_t)asked);
    return true;
}

static enum step wait_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct wait_insn *how = x->data;
    uint32_t passed = 0, first_address = 0;
    unsigned first_lane = (unsigned)__builtin_ctz(mask);
    bool same_object = true;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address;
        bool done;
        if (!test_lane(w, x, lane, &address, &done))
            return STEP_FAULT;
        passed |= (uint32_t)done << lane;
        first_address = lane == first_lane ? address : first_address;
        same_object = same_object && address == first_address;
    }
    if (passed == 0 && how->may_block && same_object && !w->wait_expired) {
        uint64_t asked = xop_lane(w, &x->ops[2], first_lane);
        w->wait = (struct wait){.kind = WAIT_MBARRIER,
                                .address = first_address,
                                .by_token = how->by_token,
                                .parity = how->by_token ? mbarrier_token_parity(asked)
                                                        : (uint32_t)asked & 1};
        return STEP_WAIT;
    }
    xop_set_pred(w, &x->ops[0], mask, passed);
    return passed == 0 ? STEP_YIELD : STEP_NEXT;
}

static exec_fn *select_wait(struct decode *d, struct xinsn *x, bool by_token, bool may_block) {
    struct wait_insn *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct wait_insn));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    *how = (struct wait_insn){
        .space = ir_space(x->ir, 0), .by_token = by_token, .may_block = may_block};
    x->data = how;
    return wait_fn;
}

#define SELECT_WAIT(name, by_token, may_block)                                                     \
    exec_select op_mbarrier_##name;                                                                \
    exec_fn *op_mbarrier_##name(struct decode *d, struct xinsn *x) {                               \
        return select_wait(d, x, by_token, may_block);                                             \
    }
SELECT_WAIT(test_wait, true, false)
SELECT_WAIT(test_wait_parity, false, false)
SELECT_WAIT(try_wait, true, true)
SELECT_WAIT(try_wait_parity, false, true)

static enum step pending_count_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        xop_set_lane(w, &x->ops[0], lane, mbarrier_token_pending(xop_lane(w, &x->ops[1], lane)));
    }
    return STEP_NEXT;
}
exec_select op_mbarrier_pending_count;
exec_fn *op_mbarrier_pending_count(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return pending_count_fn;
}
