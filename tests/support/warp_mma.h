#ifndef SILTWIN_WARP_MMA_H
#define SILTWIN_WARP_MMA_H

#include <stddef.h>
#include <stdint.h>

/* mma.sync and wmma.mma on raw registers: the cases of tests/oracle/warp/hw-H200-warp-mma.csv.gz
 * (its README says how inputs are made). A case is one warp instruction. */

enum warp_mma_operand { WARP_MMA_A, WARP_MMA_B, WARP_MMA_C, WARP_MMA_D };

struct warp_mma_form {
    char mnemonic[96];
    unsigned registers[4]; /* by warp_mma_operand; 64-bit ones for f64 */
    char type[4][8];
};

/* Fills in the types from the mnemonic: D, A, B, C, or D and C for f16 multiplicands. */
void warp_mma_types(struct warp_mma_form *form);
/* 4, or 8 for f64. */
size_t warp_mma_word_bytes(const struct warp_mma_form *form, enum warp_mma_operand operand);
/* Register `reg` of `lane` in case `row`. */
uint64_t warp_mma_input(const struct warp_mma_form *form, enum warp_mma_operand operand,
                        uint32_t row, uint32_t reg, uint32_t lane);

/* Runs `count` cases on the simulated device of capability `sm`. in[0..2] are A, B, C: words
 * [case][register][lane]; so is `out`, which gets D. */
void warp_mma_run(unsigned sm, const struct warp_mma_form *form, size_t count,
                  const void *const in[3], void *out);

#endif
