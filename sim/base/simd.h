#ifndef SILTWIN_SIMD_H
#define SILTWIN_SIMD_H

/* Vector code is chosen at run time: a function marked SIMD_CLONES is compiled once per vector
 * width and the loader takes the widest that the processor has. On other processors, and under
 * the address and thread sanitizers (whose set-up runs after the loader has chosen), there is the
 * plain version alone. Levels, not processors: "arch=skylake-avx512" would be taken on that very
 * model only, and "avx2" has no fused multiply-add. The bits of the result never depend on the
 * choice: no contraction, no reassociation. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES
#endif

#endif
