/* OpenBLAS sgemm, the yardstick: `bench_blas N THREADS` prints seconds of the fastest of a few runs
 * of C[N][N] = A[N][N] * B[N][N]^T and the kernel set that OpenBLAS took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cblas.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    const int n = atoi(argv[1]);
    const size_t elems = (size_t)n * (size_t)n;
    float *a = malloc(elems * 4), *b = malloc(elems * 4), *c = malloc(elems * 4);
    if (n <= 0 || a == NULL || b == NULL || c == NULL)
        return 2;
    for (size_t i = 0; i < elems; i++) {
        a[i] = (float)rand() / (float)RAND_MAX - 0.5f;
        b[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    }
    openblas_set_num_threads(atoi(argv[2]));
    double best = 1e30;
    for (int run = 0; run < 4; run++) {
        double start = now_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, a, n, b, n, 0, c, n);
        double took = now_s() - start;
        best = took < best ? took : best;
    }
    printf("%.6f %s\n", best, openblas_get_corename());
    return 0;
}
