/* Two f32 in a 64-bit register (f32x2) and f32 arithmetic with f16 or bf16 operands, both of sm_100
 * (manual, "Floating Point Instructions" and "Mixed Precision Floating Point Instructions"). Each
 * f32 rounds as in op_float.c. What silicon does differently is said in the README: ptxas 13.0
 * fuses f32x2 mul and add even with .rn. */
#include "float_lanes.h"
#include "num_f32.h"
#include "num_ftz.h"
#include "num_half.h"

/* `one` names an expression of x, y (z): words of one half. */
#define PAIR(low, high) ((uint64_t)(low) | (uint64_t)(high) << 32)
#define LOW(word)       ((uint32_t)(word))
#define HIGH(word)      ((uint32_t)((word) >> 32))

#define ADD(x, y) (mods.ftz ? num_f32_add_ftz(x, y, mods.round) : num_f32_add(x, y, mods.round))
#define SUB(x, y) (mods.ftz ? num_f32_sub_ftz(x, y, mods.round) : num_f32_sub(x, y, mods.round))
#define MUL(x, y) (mods.ftz ? num_f32_mul_ftz(x, y, mods.round) : num_f32_mul(x, y, mods.round))
#define FMA(x, y, z)                                                                               \
    (mods.ftz ? num_f32_fma_ftz(x, y, z, mods.round) : num_f32_fma(x, y, z, mods.round))
#define X2(OP)  PAIR(OP(LOW(a), LOW(b)), OP(HIGH(a), HIGH(b)))
#define RN2(fn) PAIR(fn(LOW(a), LOW(b), NUM_RN), fn(HIGH(a), HIGH(b), NUM_RN))

LANE_OP2(add_x2_rn, uint64_t, u64, uint64_t, u64, RN2(num_f32_add))
LANE_OP2(sub_x2_rn, uint64_t, u64, uint64_t, u64, RN2(num_f32_sub))
LANE_OP2(mul_x2_rn, uint64_t, u64, uint64_t, u64, RN2(num_f32_mul))
LANE_OP3(fma_x2_rn, uint64_t, u64, uint64_t, u64,
         PAIR(num_f32_fma(LOW(a), LOW(b), LOW(c), NUM_RN),
              num_f32_fma(HIGH(a), HIGH(b), HIGH(c), NUM_RN)))
MODS_OP2(add_x2_general, uint64_t, u64, X2(ADD))
MODS_OP2(sub_x2_general, uint64_t, u64, X2(SUB))
MODS_OP2(mul_x2_general, uint64_t, u64, X2(MUL))
MODS_OP3(fma_x2_general, uint64_t, u64,
         PAIR(FMA(LOW(a), LOW(b), LOW(c)), FMA(HIGH(a), HIGH(b), HIGH(c))))

#define X2_SELECT(op)                                                                              \
    static exec_fn *const op##_x2_fns[4] = {op##_x2_rn, op##_x2_general};                          \
    ROUND_SELECT(op##_f32x2, op##_x2_fns, op##_x2_general)
X2_SELECT(add)
X2_SELECT(sub)
X2_SELECT(mul)
X2_SELECT(fma)

/* d = a op c and d = a * b + c with a and b widened exactly; c and d are f32. */
static inline uint32_t widened(uint32_t half, bool bf16) {
    return bf16 ? num_bf16_to_f32((uint16_t)half) : num_f16_to_f32((uint16_t)half);
}
#define SAT_IF(value) (mods.sat ? num_f32_saturate(value) : (value))
#define MIXED_BF16    (x->ir->types[1] == PTX_BF16)
MODS_OP2(add_mixed_any, uint32_t, u32, SAT_IF(num_f32_add(widened(a, MIXED_BF16), b, mods.round)))
MODS_OP2(sub_mixed_any, uint32_t, u32, SAT_IF(num_f32_sub(widened(a, MIXED_BF16), b, mods.round)))
MODS_OP3(fma_mixed_any, uint32_t, u32,
         SAT_IF(num_f32_fma(widened(a, MIXED_BF16), widened(b, MIXED_BF16), c, mods.round)))
MODS_SELECT(add_mixed, add_mixed_any)
MODS_SELECT(sub_mixed, sub_mixed_any)
MODS_SELECT(fma_mixed, fma_mixed_any)
