#ifndef SILTWIN_NUM_CVT_H
#define SILTWIN_NUM_CVT_H

#include <stdbool.h>
#include <stdint.h>

#include "num_round.h"
#include "num_wide.h"

/* The conversions of `cvt` on one value (manual, "Data Movement and Conversion Instructions: cvt").
 * NaN words are those of silicon (tests/oracle/scalar). */
struct num_cvt {
    enum num_type to;
    enum num_type from;
    enum num_round round;
    bool integral;  /* .rni .rzi .rmi .rpi: the value becomes an integer by `round` */
    bool ftz;       /* f32 subnormals count as zero, on either side */
    bool sat;       /* integers: clamp to the range; floats: [0, 1], NaN to +0 */
    bool relu;      /* negative to +0 */
    bool satfinite; /* overflow to the greatest finite number */
};

/* The low bits of `word` are a value of how->from; the result is the value of how->to, extended to
 * 64 bits by that type's own signedness. */
uint64_t num_cvt(const struct num_cvt *how, uint64_t word);

/* cvt.rna.tf32.f32 as ptxas builds it from integer instructions: a NaN may become infinity. */
uint32_t num_cvt_rna_tf32(uint32_t word, bool satfinite);

/* ue8m0, a power of two: up (.rp) or down (.rz), the sign is ignored. Manual and the host functions
 * of cuda_fp8.hpp; not run on silicon. */
uint8_t num_ue8m0_from_f32(uint32_t word, bool up, bool satfinite);
uint8_t num_ue8m0_from_bf16(uint16_t word, bool up, bool satfinite);
uint16_t num_ue8m0_to_bf16(uint8_t word);

/* The value of an e4m3, e5m2, e2m3, e3m2 or e2m1 word as f16: exact; NaN gives 7fff. */
uint16_t num_cvt_small_to_f16(enum num_type from, uint8_t word);

#endif
