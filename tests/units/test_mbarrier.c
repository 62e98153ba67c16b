#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mbarrier.h"
#include "support.h"

/* One step of an oracle sequence. */
struct step {
    char name[24];
    uint32_t operand;
};

static enum mbarrier_outcome apply_step(struct mbarrier *b, struct step s, uint64_t *token) {
    *token = 0;
    if (strcmp(s.name, "init") == 0)
        return mbarrier_init(b, s.operand);
    if (strcmp(s.name, "expect_tx") == 0)
        return mbarrier_expect_tx(b, s.operand);
    if (strcmp(s.name, "complete_tx") == 0)
        return mbarrier_complete_tx(b, s.operand);
    *token = mbarrier_token(b, s.operand);
    if (strcmp(s.name, "arrive") == 0)
        return mbarrier_arrive(b, 1);
    if (strcmp(s.name, "arrive_count") == 0)
        return mbarrier_arrive(b, s.operand);
    if (strcmp(s.name, "arrive_expect_tx") == 0)
        return mbarrier_arrive_expect_tx(b, s.operand);
    cr_assert_str_eq(s.name, "arrive_drop");
    return mbarrier_arrive_drop(b, 1);
}

/* Checks one row; the three fields are lists with an entry per step. Returns the steps. */
static size_t check_sequence(const char *ops, const char *tokens, const char *parity,
                             uint64_t final_word) {
    struct mbarrier b = {0};
    struct step s;
    size_t steps = 0;
    int used = 0;
    for (; sscanf(ops, " %23[^:]:%" SCNu32 "%n", s.name, &s.operand, &used) == 2; ops += used) {
        char *end = NULL;
        uint64_t token, want_token = strtoull(tokens, &end, 16);
        cr_assert(end != tokens);
        tokens = end;
        cr_assert(!mbarrier_is_fault(apply_step(&b, s, &token)));
        cr_assert_eq(token, want_token, "step %zu (%s): token %" PRIx64 ", silicon %" PRIx64, steps,
                     s.name, token, want_token);
        int want = parity[steps] - '0';
        int got = mbarrier_test_parity(&b, 0) | mbarrier_test_parity(&b, 1) << 1;
        cr_assert_eq(got, want, "step %zu (%s): parities %d, silicon %d", steps, s.name, got, want);
        steps++;
    }
    cr_assert_eq(*ops, '\0');
    cr_assert_eq(parity[steps], '\0');
    struct mbarrier from_word;
    cr_assert(mbarrier_from_word(mbarrier_word(&b), &from_word));
    cr_assert_eq(from_word.pending, b.pending);
    cr_assert_eq(from_word.expected, b.expected);
    cr_assert_eq(from_word.tx_count, b.tx_count);
    uint64_t word;
    cr_assert_eq(mbarrier_inval(&b, &word), MBARRIER_OK);
    cr_assert_eq(word, final_word);
    return steps;
}

Test(mbarrier, all_silicon_sequences) {
    struct csv *csv = csv_open("mbarrier/hw-H200-sequences.csv.gz");
    size_t ops = csv_column(csv, "ops"), tokens = csv_column(csv, "tokens");
    size_t parity = csv_column(csv, "parity"), word = csv_column(csv, "state_after_inval");
    size_t steps = 0, rows = 0;
    for (; csv_next(csv); rows++)
        steps += check_sequence(csv_text(csv, ops), csv_text(csv, tokens), csv_text(csv, parity),
                                csv_hex(csv, word));
    cr_assert_eq(rows, csv_rows(csv));
    cr_assert_eq(rows, 6000);
    cr_assert_eq(steps, 39791 + 6000, "39,791 steps after the inits");
    csv_close(csv);
    report_rows("mbarrier/hw-H200-sequences.csv.gz", rows);
}

static struct mbarrier fresh(uint32_t count) {
    struct mbarrier b = {0};
    cr_assert_eq(mbarrier_init(&b, count), MBARRIER_OK);
    return b;
}

Test(mbarrier, observation_12_tokens_of_plain_arrivals) {
    static const uint64_t want[] = {0x7fffe80000000000, 0x7ffff00000000000, 0x7ffff80000000000,
                                    0xffffe80000000000, 0xfffff00000000000};
    struct mbarrier b = fresh(3);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(mbarrier_token(&b, 0), want[i]);
        cr_assert_eq(mbarrier_arrive(&b, 1), i == 2 ? MBARRIER_PHASE_COMPLETED : MBARRIER_OK);
    }
}

Test(mbarrier, observation_13_drop) {
    struct mbarrier b = fresh(4);
    cr_assert_eq(mbarrier_token(&b, 0), 0x7fffe00000000000);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_token(&b, 0), 0x7fffe80000000000);
    cr_assert_eq(mbarrier_arrive(&b, 3), MBARRIER_PHASE_COMPLETED);
    cr_assert_eq(b.pending, 3);
}

Test(mbarrier, observations_16_17_22_expect_completes) {
    struct mbarrier b = fresh(1);
    cr_assert_eq(mbarrier_complete_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_OK);
    cr_assert(!mbarrier_test_parity(&b, 0));
    cr_assert_eq(mbarrier_expect_tx(&b, 64), MBARRIER_PHASE_COMPLETED);

    b = fresh(2);
    cr_assert_eq(mbarrier_complete_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive_expect_tx(&b, 64), MBARRIER_PHASE_COMPLETED);

    b = fresh(1);
    cr_assert_eq(mbarrier_expect_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_complete_tx(&b, 128), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_expect_tx(&b, 64), MBARRIER_PHASE_COMPLETED);
}

Test(mbarrier, observation_18_count_one) {
    struct mbarrier b = fresh(1);
    static const uint64_t want[] = {0x7ffff80000000000, 0xfffff80000000000, 0x7ffff80000000000};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(mbarrier_token(&b, 0), want[i]);
        cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_PHASE_COMPLETED);
    }
    cr_assert_eq(b.phase, 3);
}

Test(mbarrier, observations_19_24_37_faults_leave_the_state) {
    struct mbarrier b = fresh(2), before = b;
    cr_assert_eq(mbarrier_arrive(&b, 3), MBARRIER_FAULT_ABOVE_PENDING);
    cr_assert_eq(memcmp(&b, &before, sizeof b), 0);

    b = fresh(1);
    cr_assert_eq(mbarrier_arrive_expect_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_FAULT_ABOVE_PENDING);
    cr_assert_eq(mbarrier_complete_tx(&b, 64), MBARRIER_PHASE_COMPLETED);

    b = fresh(1);
    cr_assert_eq(mbarrier_expect_tx(&b, 1048575), MBARRIER_OK);
    cr_assert_eq(mbarrier_expect_tx(&b, 16), MBARRIER_FAULT_TX_RANGE);
    cr_assert_eq(mbarrier_expect_tx(&b, 0xfffffff0), MBARRIER_FAULT_TX_RANGE);

    struct mbarrier none = {0};
    uint64_t word;
    cr_assert_eq(mbarrier_arrive(&none, 1), MBARRIER_FAULT_NOT_INITIALISED);
    cr_assert_eq(mbarrier_complete_tx(&none, 16), MBARRIER_FAULT_NOT_INITIALISED);
    cr_assert_eq(mbarrier_inval(&none, &word), MBARRIER_FAULT_NOT_INITIALISED);
    cr_assert_eq(mbarrier_track(&none), MBARRIER_FAULT_NOT_INITIALISED);
}

/* Counts that the manual forbids, as an H200 took them (conform_fault, group mbarrier). */
Test(mbarrier, counts_out_of_range) {
    struct mbarrier b;
    uint64_t word;
    cr_assert_eq(mbarrier_init(&b, 0), MBARRIER_OK);
    cr_assert(mbarrier_test_parity(&b, 0) && !mbarrier_test_parity(&b, 1));
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_FAULT_ABOVE_PENDING, "observation 37");
    cr_assert_eq(mbarrier_inval(&b, &word), MBARRIER_OK);
    cr_assert_eq(word, UINT64_C(1) << 63 | UINT64_C(1) << 21, "a byte less is owed");

    cr_assert_eq(mbarrier_init(&b, 1048576), MBARRIER_OK);
    cr_assert(!mbarrier_test_parity(&b, 0) && mbarrier_test_parity(&b, 1));
    cr_assert_eq(b.pending, 0);
    cr_assert_eq(mbarrier_init(&b, 1048577), MBARRIER_OK);
    cr_assert(mbarrier_test_parity(&b, 0) && b.pending == 1);
    cr_assert_eq(mbarrier_init(&b, 1523723041), MBARRIER_OK);
    cr_assert(mbarrier_test_parity(&b, 0));

    cr_assert_eq(mbarrier_init(&b, 2), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 0), MBARRIER_OK, "nobody arrives");
    cr_assert_eq(b.pending, 2);
    cr_assert_eq(mbarrier_arrive(&b, 1048576), MBARRIER_FAULT_COUNT_RANGE);
}

Test(mbarrier, observation_21_drop_then_single_arrivals) {
    struct mbarrier b = fresh(2);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_PHASE_COMPLETED);
}

Test(mbarrier, observation_25_largest_count) {
    struct mbarrier b = fresh(1048575);
    cr_assert_eq(mbarrier_arrive(&b, 1048574), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_PHASE_COMPLETED);
}

Test(mbarrier, observation_26_token_shows_owed_bytes) {
    static const struct {
        uint32_t owed_bytes;
        uint64_t field;
    } rows[] = {{16, 0x3ff}, {1040, 0x3ff}, {5136, 0x3fd}, {70672, 0x3dd}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mbarrier b = fresh(2);
        cr_assert_eq(mbarrier_expect_tx(&b, rows[i].owed_bytes), MBARRIER_OK);
        cr_assert_eq(mbarrier_token(&b, 5) >> 32 & 0x3ff, rows[i].field);
        cr_assert_eq(mbarrier_token(&b, 5) & 0xffffffff, 5);
    }
    struct mbarrier b = fresh(2);
    cr_assert_eq(mbarrier_complete_tx(&b, 2047), MBARRIER_OK);
    cr_assert_eq(mbarrier_token(&b, 0) >> 32 & 0x3ff, 0);
}

Test(mbarrier, observation_33_words) {
    struct mbarrier b = fresh(5);
    cr_assert_eq(mbarrier_word(&b), 0x7fffd800001ffff6);
    cr_assert_eq(mbarrier_arrive(&b, 2), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffe800001ffff6);
    cr_assert_eq(mbarrier_expect_tx(&b, 4096), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffebfe001ffff6);
    cr_assert_eq(mbarrier_complete_tx(&b, 1024), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffebfe801ffff6);
    b = fresh(5);
    cr_assert_eq(mbarrier_complete_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffd800081ffff6);
    b = fresh(1);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_PHASE_COMPLETED);
    cr_assert_eq(mbarrier_word(&b), 0xfffff800001ffffe);
    b = fresh(7);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffd800001ffff6);
    b = fresh(9);
    cr_assert_eq(mbarrier_expect_tx(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x7fffbbffffffffee);
    struct mbarrier other;
    cr_assert(!mbarrier_from_word(0, &other));
    cr_assert(!mbarrier_from_word(0x7fffbbffffffffef, &other));
}

Test(mbarrier, tracked_copies) {
    struct mbarrier b = fresh(3);
    uint64_t token = mbarrier_token(&b, 2);
    cr_assert_eq(mbarrier_token_pending(token), 3);
    cr_assert_eq(mbarrier_arrive(&b, 2), MBARRIER_OK);
    cr_assert_eq(b.pending, 1);
    cr_assert(!mbarrier_test_token(&b, token));
    cr_assert_eq(mbarrier_track(&b), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_OK, "the thread's own arrival");
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_PHASE_COMPLETED, "the copies' arrival");
    cr_assert(mbarrier_test_token(&b, token));

    b = fresh(3);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive_drop_expect_tx(&b, 32), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_complete_tx(&b, 32), MBARRIER_PHASE_COMPLETED);
    cr_assert_eq(b.expected, 1);
    b = fresh(MBARRIER_COUNT_MAX);
    cr_assert_eq(mbarrier_track(&b), MBARRIER_FAULT_COUNT_RANGE);
}

/* What an H200 leaves after inval, tests/isa/mbarrier_limits.ptx. */
Test(mbarrier, too_many_bytes_are_no_fault) {
    struct mbarrier b = fresh(1);
    cr_assert_eq(mbarrier_arrive_expect_tx(&b, 64), MBARRIER_OK);
    cr_assert_eq(mbarrier_complete_tx(&b, 128), MBARRIER_OK);
    cr_assert_eq(mbarrier_word(&b), 0x81ffffe);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_FAULT_ABOVE_PENDING);
    cr_assert_eq(mbarrier_expect_tx(&b, 64), MBARRIER_PHASE_COMPLETED);
    cr_assert_eq(mbarrier_word(&b), 0xfffff800001ffffe);
}

Test(mbarrier, dropping_the_last_arrival_is_no_fault) {
    struct mbarrier b = fresh(2);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_OK);
    cr_assert_eq(mbarrier_arrive_drop(&b, 1), MBARRIER_PHASE_COMPLETED);
    cr_assert_eq(mbarrier_word(&b), 0x8000000000000000);
    cr_assert_eq(mbarrier_arrive(&b, 1), MBARRIER_FAULT_ABOVE_PENDING);
    cr_assert_eq(mbarrier_expect_tx(&b, 16), MBARRIER_OK);
    cr_assert_eq(mbarrier_complete_tx(&b, 16), MBARRIER_PHASE_COMPLETED);
    uint64_t word;
    cr_assert_eq(mbarrier_inval(&b, &word), MBARRIER_OK);
    cr_assert_eq(word, 0);
}

Test(mbarrier, every_outcome_has_a_text) {
    for (int i = 0; i < MBARRIER_OUTCOMES; i++)
        cr_assert(strlen(mbarrier_outcome_text((enum mbarrier_outcome)i)) > 1);
}
