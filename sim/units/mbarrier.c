/* The mbarrier object: counts arrivals and bytes of one phase after the other.
 *
 *   word   63      62........43   42   41........21   20........1   0
 *          phase   -pending       0    -tx_count      -expected     0      (after mbarrier.inval)
 *          parity
 *   token  63      62........43   42   41.....32      31.................0
 *          parity  -pending       0    top of -tx     operand of the instruction
 *
 * A phase completes when pending and tx_count are both 0 after an arrival, an expect_tx or a
 * complete_tx; then phase += 1 and pending = expected, in one step. The live state is apart from
 * the eight bytes in shared memory that name it (H200 observation 11): the caller keeps it.
 *
 * PTX manual, "Parallel Synchronization and Communication Instructions: mbarrier"; tests
 * reproduce oracle/mbarrier. Not modelled: memory ordering (the executor's), suspension of
 * try_wait. An expect_tx operand of more than 2^20-1 is a fault. */
#include "mbarrier.h"

#include "bits.h"

enum {
    WORD_PARITY_BIT = 63,
    WORD_PENDING_BIT = 43,
    WORD_TX_BIT = 21,
    WORD_EXPECTED_BIT = 1,
    WORD_COUNT_BITS = 20,
    WORD_TX_BITS = 21,
};
_Static_assert(MBARRIER_COUNT_MAX < 1 << WORD_COUNT_BITS, "counts fit their fields");
_Static_assert(MBARRIER_TX_MAX < 1 << (WORD_TX_BITS - 1), "tx-count fits its field");

const char *mbarrier_outcome_text(enum mbarrier_outcome outcome) {
    static const char *const text[MBARRIER_OUTCOMES] = {
        [MBARRIER_OK] = "ok",
        [MBARRIER_PHASE_COMPLETED] = "the phase completed",
        [MBARRIER_FAULT_NOT_INITIALISED] =
            "no mbarrier object here: it was never initialised, or was invalidated",
        [MBARRIER_FAULT_COUNT_RANGE] = "the arrival count must be at most 1048575",
        [MBARRIER_FAULT_ABOVE_PENDING] = "more arrivals than the phase still waits for",
        [MBARRIER_FAULT_TX_RANGE] = "the tx-count leaves its range of -1048575..1048575 bytes",
    };
    return text[outcome];
}

enum mbarrier_outcome mbarrier_init(struct mbarrier *object, uint32_t count) {
    /* 2^20 minus the count, 21 bits of it at bit 43 and 31 at bit 1: what is no count flips the
     * parity and owes bytes (tests/isa/mbarrier_counts.ptx). */
    uint32_t negated = (UINT32_C(1) << WORD_COUNT_BITS) - count;
    mbarrier_from_word((uint64_t)negated << WORD_PENDING_BIT | (uint32_t)(negated << 1), object);
    object->live = true;
    return MBARRIER_OK;
}

enum mbarrier_outcome mbarrier_inval(struct mbarrier *object, uint64_t *word) {
    if (!object->live)
        return MBARRIER_FAULT_NOT_INITIALISED;
    *word = mbarrier_word(object);
    *object = (struct mbarrier){0};
    return MBARRIER_OK;
}

/* What an operation adds to and takes from the state. */
struct change {
    uint32_t arrivals;
    uint32_t drops;
    uint32_t expect_bytes;
    uint32_t complete_bytes;
};

/* The rules that all operations share; *next is the state without the completion check. */
static enum mbarrier_outcome change_state(const struct mbarrier *object, const struct change *c,
                                          struct mbarrier *next) {
    if (!object->live)
        return MBARRIER_FAULT_NOT_INITIALISED;
    if (c->arrivals > object->pending || c->drops > object->expected)
        return MBARRIER_FAULT_ABOVE_PENDING;
    if (c->expect_bytes > MBARRIER_TX_MAX || c->complete_bytes > MBARRIER_TX_MAX)
        return MBARRIER_FAULT_TX_RANGE;
    int32_t tx = object->tx_count + (int32_t)c->expect_bytes - (int32_t)c->complete_bytes;
    if (tx > MBARRIER_TX_MAX || tx < -MBARRIER_TX_MAX)
        return MBARRIER_FAULT_TX_RANGE;
    *next = *object;
    next->pending -= c->arrivals;
    next->expected -= c->drops;
    next->tx_count = tx;
    return MBARRIER_OK;
}

static enum mbarrier_outcome apply(struct mbarrier *object, struct change c) {
    struct mbarrier next;
    enum mbarrier_outcome outcome = change_state(object, &c, &next);
    if (mbarrier_is_fault(outcome))
        return outcome;
    if (next.pending == 0 && next.tx_count == 0) {
        next.phase++;
        next.pending = next.expected;
        outcome = MBARRIER_PHASE_COMPLETED;
    }
    *object = next;
    return outcome;
}

static bool count_in_range(uint32_t count) {
    return count <= MBARRIER_COUNT_MAX;
}

enum mbarrier_outcome mbarrier_arrive(struct mbarrier *object, uint32_t count) {
    if (!count_in_range(count))
        return MBARRIER_FAULT_COUNT_RANGE;
    return apply(object, (struct change){.arrivals = count});
}

enum mbarrier_outcome mbarrier_arrive_expect_tx(struct mbarrier *object, uint32_t bytes) {
    return apply(object, (struct change){.arrivals = 1, .expect_bytes = bytes});
}

enum mbarrier_outcome mbarrier_arrive_drop(struct mbarrier *object, uint32_t count) {
    if (!count_in_range(count))
        return MBARRIER_FAULT_COUNT_RANGE;
    return apply(object, (struct change){.arrivals = count, .drops = count});
}

enum mbarrier_outcome mbarrier_arrive_drop_expect_tx(struct mbarrier *object, uint32_t bytes) {
    return apply(object, (struct change){.arrivals = 1, .drops = 1, .expect_bytes = bytes});
}

enum mbarrier_outcome mbarrier_expect_tx(struct mbarrier *object, uint32_t bytes) {
    return apply(object, (struct change){.expect_bytes = bytes});
}

enum mbarrier_outcome mbarrier_complete_tx(struct mbarrier *object, uint32_t bytes) {
    return apply(object, (struct change){.complete_bytes = bytes});
}

enum mbarrier_outcome mbarrier_track(struct mbarrier *object) {
    if (!object->live)
        return MBARRIER_FAULT_NOT_INITIALISED;
    if (object->pending == MBARRIER_COUNT_MAX)
        return MBARRIER_FAULT_COUNT_RANGE;
    object->pending++;
    return MBARRIER_OK;
}

bool mbarrier_test_parity(const struct mbarrier *object, uint32_t parity) {
    return ((object->phase ^ parity) & 1) != 0;
}

bool mbarrier_test_token(const struct mbarrier *object, uint64_t token) {
    return mbarrier_test_parity(object, mbarrier_token_parity(token));
}

uint64_t mbarrier_word(const struct mbarrier *object) {
    uint64_t word = object->phase << WORD_PARITY_BIT;
    word = bits_set(word, WORD_PENDING_BIT, WORD_COUNT_BITS, -(uint64_t)object->pending);
    word = bits_set(word, WORD_TX_BIT, WORD_TX_BITS, (uint64_t)-object->tx_count);
    return bits_set(word, WORD_EXPECTED_BIT, WORD_COUNT_BITS, -(uint64_t)object->expected);
}

uint64_t mbarrier_token(const struct mbarrier *object, uint32_t operand) {
    return bits_set(mbarrier_word(object), 0, 32, operand);
}

uint32_t mbarrier_token_pending(uint64_t token) {
    return (uint32_t)bits_get(-bits_get(token, WORD_PENDING_BIT, WORD_COUNT_BITS), 0,
                              WORD_COUNT_BITS);
}

uint32_t mbarrier_token_parity(uint64_t token) {
    return (uint32_t)(token >> WORD_PARITY_BIT);
}

bool mbarrier_from_word(uint64_t word, struct mbarrier *object) {
    uint64_t expected = -bits_get(word, WORD_EXPECTED_BIT, WORD_COUNT_BITS);
    *object = (struct mbarrier){
        .phase = mbarrier_token_parity(word),
        .expected = (uint32_t)bits_get(expected, 0, WORD_COUNT_BITS),
        .pending = mbarrier_token_pending(word),
        .live = expected != 0,
        .tx_count =
            -(int32_t)bits_sign_extend(bits_get(word, WORD_TX_BIT, WORD_TX_BITS), WORD_TX_BITS),
    };
    return object->live && object->tx_count <= MBARRIER_TX_MAX && mbarrier_word(object) == word;
}
