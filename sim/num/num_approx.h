#ifndef SILTWIN_NUM_APPROX_H
#define SILTWIN_NUM_APPROX_H

#include <stdbool.h>
#include <stdint.h>

/* The approximate functions of PTX, bit for bit as an H200: the special function unit (num_sfu.h)
 * inside the scaling that ptxas puts around it (scalar.md section 6). */

/* f32, .ftz or not (sin and cos: alike). */
uint32_t num_approx_rcp(uint32_t x, bool ftz);
uint32_t num_approx_sqrt(uint32_t x, bool ftz);
uint32_t num_approx_rsqrt(uint32_t x, bool ftz);
uint32_t num_approx_ex2(uint32_t x, bool ftz);
uint32_t num_approx_lg2(uint32_t x, bool ftz);
uint32_t num_approx_sin(uint32_t x);
uint32_t num_approx_cos(uint32_t x);
uint32_t num_approx_tanh(uint32_t x);
uint32_t num_approx_div(uint32_t a, uint32_t b, bool ftz);
uint32_t num_approx_div_full(uint32_t a, uint32_t b, bool ftz);

/* f64: .approx.ftz reads the upper word and gives an upper word; rsqrt.approx.f64 is a full result.
 */
uint64_t num_approx_rcp_f64(uint64_t x);
uint64_t num_approx_rsqrt_ftz_f64(uint64_t x);
uint64_t num_approx_rsqrt_f64(uint64_t x);

uint16_t num_approx_ex2_f16(uint16_t x);
uint16_t num_approx_tanh_f16(uint16_t x);
uint16_t num_approx_ex2_bf16(uint16_t x); /* .ftz */
uint16_t num_approx_tanh_bf16(uint16_t x);

#endif
