#ifndef SILTWIN_CUBLAS_H
#define SILTWIN_CUBLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

/* The machine's cuBLAS, loaded where it is present: what a matrix product is compared with. Works
 * in the current context, on its default stream. */
struct cublas {
    void *library, *handle;
    int version; /* 10000 * major + 100 * minor + patch, as cublasGetVersion gives it */
    int (*destroy)(void *handle);
    int (*gemm_ex)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                   const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                   const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
};

enum cublas_type { CUBLAS_R_32F = 0, CUBLAS_R_16F = 2, CUBLAS_R_16BF = 14 };

/* C[m][n] = A[m][k] * B[n][k]^T, row by row, summed in f32; `ld` are elements from row to row. */
struct cublas_matmul {
    uint32_t m, n, k, lda, ldb, ldc;
    enum cublas_type ab_type, c_type;
    CUdeviceptr a, b, c;
};

/* `path` NULL: libcublas.so.13, then .12. False: `error` says what is missing. */
bool cublas_open(struct cublas *cublas, const char *path, struct host_error *error);
/* Starts the product and does not wait. */
bool cublas_start(const struct cublas *cublas, const struct cublas_matmul *matmul,
                  struct host_error *error);
/* A zeroed struct is fine. */
void cublas_close(struct cublas *cublas);

#endif
