#ifndef SILTWIN_PARALLEL_H
#define SILTWIN_PARALLEL_H

#include <stdint.h>

/* Calls work(context, i) once for every i below `count`, on all processors of this process, in any
 * order. Returns when all are done. */
void parallel_for(uint64_t count, void (*work)(void *context, uint64_t index), void *context);

/* A function of reference answers is compiled once per x86-64 level and chosen when the program
 * starts; its result never depends on the choice. The plain version alone under AddressSanitizer,
 * whose set-up runs after the choice. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#define REFERENCE_CLONES                                                                           \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REFERENCE_CLONES
#endif

#endif
