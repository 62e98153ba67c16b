#ifndef SILTWIN_NUM_ROUND_H
#define SILTWIN_NUM_ROUND_H

/* Inlined whatever its size: the loops over lanes are vector loops only then, and only then does a
 * clone for a processor level use that level's instructions. */
#define NUM_INLINE static inline __attribute__((always_inline))

/* Rounding of an exact result, as the PTX modifiers say it (manual, "Floating Point Instructions").
 */
enum num_round {
    NUM_RN, /* to the nearest, ties to even */
    NUM_RZ, /* toward zero */
    NUM_RM, /* toward minus infinity */
    NUM_RP, /* toward plus infinity */
};

#endif
