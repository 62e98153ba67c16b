#ifndef SILTWIN_FLOAT_SUMS_H
#define SILTWIN_FLOAT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Floating-point sums that launches make in global memory with atom, red and reducing bulk copies:
 * of every element how many numbers were added, and the sum of their magnitudes (with what stood
 * there first). From both follows how far two orders of adding can be apart. */
struct float_sums;

struct float_sums *float_sums_create(void);
void float_sums_destroy(struct float_sums *sums);
/* One launch, on one host thread (kernels with such sums run on one); every event is handed on. */
struct float_sums_launch {
    struct float_sums *sums;
    struct observer next; /* kinds 0: none */
    void *next_worker;
};
/* Fills in the observer; `launch` lives as long as the launch. Without memory sums are missing:
 * float_sums_complete is false then. */
void float_sums_observe(struct float_sums_launch *launch, struct observer *observer);
bool float_sums_complete(const struct float_sums *sums);

/* One element. */
struct float_sum {
    uint64_t address;
    enum event_float type;
    uint32_t count;   /* numbers added */
    double magnitude; /* sum of their absolute values; Inf when one is Inf or NaN */
};
typedef void float_sums_each(void *ctx, const struct float_sum *sum);
/* The elements that begin in [address, address + bytes), in order of address. */
void float_sums_visit(const struct float_sums *sums, uint64_t address, uint64_t bytes,
                      float_sums_each *each, void *ctx);

#endif
