#ifndef SILTWIN_NUM_APPROX_H
#define SILTWIN_NUM_APPROX_H

#include <stdbool.h>
#include <stdint.h>

/* The approximate functions of PTX. Silicon's f32 results come from tables that are not known; here
 * each is the true value rounded once, inside the scaling that ptxas puts around the hardware
 * function (scalar.md section 6). How far an H200 is from that over all 2^32 operands of the .ftz
 * form, normal operands and results: rcp and sqrt 1 ulp (13 and 17 % of the results differ), rsqrt
 * 2 (22 %), ex2 2 (9 %), lg2 2 outside (0.5, 2) and 2^-22 inside, tanh below 1024 ulp, within the
 * manual's 2^-11. The half forms and rsqrt.approx.f64 give an H200's very words. The same bits on
 * every host: made of additions, multiplications and divisions only. */

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
