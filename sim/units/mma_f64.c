/* See mma_f64.h. */
#include "mma_f64.h"

#include "num_f64.h"

uint64_t mma_f64_dot(const uint64_t *a, const uint64_t *b, uint32_t k, uint64_t c,
                     enum num_round round) {
    uint64_t sum = c;
    for (uint32_t i = 0; i < k; i++) {
        if (num_f64_is_nan(b[i]))
            sum = num_f64_quiet(b[i]);
        else
            sum = num_f64_fma(a[i], b[i], sum, round);
    }
    return sum;
}
