#ifndef SILTWIN_MBARRIER_H
#define SILTWIN_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

/* State of one mbarrier object. A zeroed struct is no object: the location was never initialised,
 * or was invalidated. */
struct mbarrier {
    uint64_t phase;    /* phases completed since init; hardware shows only its lowest bit */
    uint32_t expected; /* arrivals that the next phase waits for; 0 when all were dropped */
    uint32_t pending;  /* arrivals that this phase still waits for */
    int32_t tx_count;  /* bytes that this phase still waits for; negative: they came early */
    bool live;         /* there is an object here */
};

enum {
    MBARRIER_COUNT_MAX = (1 << 20) - 1, /* arrival counts, H200 observation 25 */
    MBARRIER_TX_MAX = (1 << 20) - 1,    /* bytes, H200 observation 24 */
    MBARRIER_BYTES = 8,                 /* size and alignment of the object in shared memory */
};

/* What an operation did. Everything after MBARRIER_PHASE_COMPLETED is a fault, and then the state
 * is as before. */
enum mbarrier_outcome {
    MBARRIER_OK,
    MBARRIER_PHASE_COMPLETED,
    MBARRIER_FAULT_NOT_INITIALISED, /* H200 observation 37 */
    MBARRIER_FAULT_COUNT_RANGE,     /* more than 2^20-1 arrivals at once */
    MBARRIER_FAULT_ABOVE_PENDING,   /* more arrivals than the phase waits for; observation 19 */
    MBARRIER_FAULT_TX_RANGE,        /* tx-count outside +-(2^20-1); observation 24 */
    MBARRIER_OUTCOMES,
};

static inline bool mbarrier_is_fault(enum mbarrier_outcome outcome) {
    return outcome > MBARRIER_PHASE_COMPLETED;
}

/* One sentence for a message, without a final full stop. */
const char *mbarrier_outcome_text(enum mbarrier_outcome outcome);

/* mbarrier.init and mbarrier.inval. Any count does: its lowest 20 bits are what is waited for, and
 * 0 or more than 2^20 begins in a phase of parity 1 (conform_fault, group mbarrier). inval takes
 * the object away and gives the eight bytes that the location then holds (H200 observation 33). */
enum mbarrier_outcome mbarrier_init(struct mbarrier *object, uint32_t count);
enum mbarrier_outcome mbarrier_inval(struct mbarrier *object, uint64_t *word);

/* Arrivals. `count` is 1 for forms without a count operand. `bytes` of the expect_tx forms. On an
 * H200 the .noComplete forms complete a phase like any other, and dropping the last expected
 * arrival is no fault: the next arrive then is one (tests/isa/mbarrier_limits.ptx). */
enum mbarrier_outcome mbarrier_arrive(struct mbarrier *object, uint32_t count);
enum mbarrier_outcome mbarrier_arrive_expect_tx(struct mbarrier *object, uint32_t bytes);
enum mbarrier_outcome mbarrier_arrive_drop(struct mbarrier *object, uint32_t count);
enum mbarrier_outcome mbarrier_arrive_drop_expect_tx(struct mbarrier *object, uint32_t bytes);

/* Bytes owed and bytes delivered, by the instructions or by a copy. Both are followed by the
 * completion check (observation 16). More bytes than owed are no fault, also when all arrivals are
 * in: the tx-count goes below zero (tests/isa/mbarrier_limits.ptx; 249 loads of oracle
 * tma/hw-H200-load that expected too few bytes left the phase open and ended well). Not modelled:
 * that a copy completes in pieces, of which one may happen to reach zero. */
enum mbarrier_outcome mbarrier_expect_tx(struct mbarrier *object, uint32_t bytes);
enum mbarrier_outcome mbarrier_complete_tx(struct mbarrier *object, uint32_t bytes);
/* Issue of cp.async.mbarrier.arrive without .noinc: one more arrival in this phase, which the
 * completion of the copies then makes with mbarrier_arrive(object, 1). The .noinc form does nothing
 * at issue. */
enum mbarrier_outcome mbarrier_track(struct mbarrier *object);

/* Waits. The parity form asks whether the phase of that parity (its lowest bit counts) has
 * completed, the other whether the phase has completed in which the token was made. */
bool mbarrier_test_parity(const struct mbarrier *object, uint32_t parity);
bool mbarrier_test_token(const struct mbarrier *object, uint64_t token);

/* The state as the 64-bit word that inval leaves behind (observation 33). */
uint64_t mbarrier_word(const struct mbarrier *object);

/* Token of an arrival that finds `object` so: ask before the operation. `operand` is the count that
 * the instruction spells out, the bytes of its expect_tx, else 0 (observations 12, 26, 52). */
uint64_t mbarrier_token(const struct mbarrier *object, uint32_t operand);

/* Fields of a token or word, for mbarrier.pending_count and for messages. */
uint32_t mbarrier_token_pending(uint64_t token);
uint32_t mbarrier_token_parity(uint64_t token);

/* The state that a word names, `phase` 0 or 1. False when the word is no state that
 * mbarrier_word can give. */
bool mbarrier_from_word(uint64_t word, struct mbarrier *object);

#endif
