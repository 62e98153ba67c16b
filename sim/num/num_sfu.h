#ifndef SILTWIN_NUM_SFU_H
#define SILTWIN_NUM_SFU_H

#include <stdint.h>

/* The special function unit on f32 words, as an H200 computes: what rcp, rsqrt, sqrt, ex2 and lg2
 * with .approx.ftz give. Subnormal operands count as zero, subnormal results become zero, NaN gives
 * 7fffffff. */
uint32_t num_sfu_rcp(uint32_t x);
uint32_t num_sfu_rsqrt(uint32_t x);
uint32_t num_sfu_sqrt(uint32_t x);
uint32_t num_sfu_ex2(uint32_t x);
uint32_t num_sfu_lg2(uint32_t x);
uint32_t num_sfu_sin(uint32_t turns);
uint32_t num_sfu_cos(uint32_t turns);
uint32_t num_sfu_tanh(uint32_t x); /* subnormals pass through */

/* rcp and rsqrt with .approx.ftz.f64: upper word of the operand to upper word of the result, whose
 * lower word is zero. NaN gives 7fffffff. */
uint32_t num_sfu_rcp_f64(uint32_t upper);
uint32_t num_sfu_rsqrt_f64(uint32_t upper);

#endif
