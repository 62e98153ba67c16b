/* `siltwin decode token`: what mbarrier.arrive returned, and with --word the eight bytes that
 * mbarrier.inval leaves behind. Bits as an H200 shows them (observations 12, 26, 33, 52). */
#include <inttypes.h>

#include "bits.h"
#include "decode_kinds.h"
#include "mbarrier.h"

enum { TOKEN_TX_BIT = 32, TOKEN_TX_BITS = 10, TOKEN_TX_UNIT = 2048 };

void decode_token(struct decode_report *report, uint64_t token) {
    uint32_t parity = mbarrier_token_parity(token), pending = mbarrier_token_pending(token);
    uint64_t tx = bits_get(token, TOKEN_TX_BIT, TOKEN_TX_BITS);
    int64_t owed = -bits_sign_extend(tx, TOKEN_TX_BITS) * TOKEN_TX_UNIT;
    report->kind = "token";
    report->title = "mbarrier arrive token: the state before the instruction";
    report->value = decode_format(report, "0x%016" PRIx64, token);
    decode_field(report, 63, 63, "phase parity", bits_get(token, 63, 1),
                 "the arrival counted for a phase of parity %u", parity);
    decode_field(report, 62, 43, "-pending", bits_get(token, 43, 20),
                 "%u arrivals were missing, this one included", pending);
    decode_field(report, 42, 42, "zero", bits_get(token, 42, 1), "always 0");
    if (tx == 0)
        decode_field(report, 41, 32, "-tx-count", tx,
                     "no bytes were owed (or up to %d had come early)", TOKEN_TX_UNIT - 1);
    else if (owed > 0)
        decode_field(report, 41, 32, "-tx-count", tx, "%" PRId64 " to %" PRId64 " bytes were owed",
                     owed - TOKEN_TX_UNIT + 1, owed);
    else
        decode_field(report, 41, 32, "-tx-count", tx,
                     "%" PRId64 " to %" PRId64 " bytes had come before they were expected", -owed,
                     -owed + TOKEN_TX_UNIT - 1);
    decode_field(report, 31, 0, "operand", bits_get(token, 0, 32),
                 "%" PRIu64 ": the instruction's own count, or the bytes of its expect_tx; else 0",
                 bits_get(token, 0, 32));
    decode_line(
        report,
        "mbarrier.test_wait and try_wait with this token are true once that phase (parity %u) "
        "has completed.",
        parity);
    if (bits_get(token, 42, 1) != 0)
        decode_problem(report, "bit 42 is 1; no token that a GPU gave has it set");
    if (pending == 0)
        decode_problem(report, "0 arrivals missing: no arrival can have been made then");
}

void decode_mbarrier_word(struct decode_report *report, uint64_t word) {
    struct mbarrier state;
    int64_t tx = -bits_sign_extend(bits_get(word, 21, 21), 21);
    report->kind = "token";
    report->title = "mbarrier state word, as mbarrier.inval leaves it in memory";
    report->value = decode_format(report, "0x%016" PRIx64, word);
    decode_field(report, 63, 63, "phase parity", bits_get(word, 63, 1),
                 "the current phase has parity "
                 "%" PRIu64 "; a wait on parity %" PRIu64 " is true",
                 bits_get(word, 63, 1), 1 - bits_get(word, 63, 1));
    decode_field(report, 62, 43, "-pending", bits_get(word, 43, 20),
                 "%" PRId64 " arrivals are missing in this phase",
                 -bits_sign_extend(bits_get(word, 43, 20), 20) & 0xfffff);
    decode_field(report, 42, 42, "zero", bits_get(word, 42, 1), "always 0");
    if (tx >= 0)
        decode_field(report, 41, 21, "-tx-count", bits_get(word, 21, 21),
                     "%" PRId64 " bytes are missing in this phase", tx);
    else
        decode_field(report, 41, 21, "-tx-count", bits_get(word, 21, 21),
                     "%" PRId64 " bytes came before they were expected", -tx);
    decode_field(report, 20, 1, "-expected", bits_get(word, 1, 20), "%" PRId64 " arrivals a phase",
                 -bits_sign_extend(bits_get(word, 1, 20), 20) & 0xfffff);
    decode_field(report, 0, 0, "zero", bits_get(word, 0, 1), "always 0");
    if (!mbarrier_from_word(word, &state))
        decode_problem(report, "no state of an mbarrier has this word");
}
