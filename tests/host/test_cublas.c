#include <criterion/criterion.h>
#include <string.h>

#include "cublas.h"

/* What cublasGemmEx is documented to do, for f32: columns first, op(A) op(B). */
static int calls;
static int gemm(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algorithm) {
    const float *x = a, *y = b;
    float *z = c;
    (void)handle;
    calls++;
    if (a_type != 0 || b_type != 0 || c_type != 0 || compute != 68 || algorithm != -1)
        return 7;
    for (int col = 0; col < n; col++)
        for (int row = 0; row < m; row++) {
            float sum = 0;
            for (int i = 0; i < k; i++)
                sum += (op_a ? x[i + row * lda] : x[row + i * lda]) *
                       (op_b ? y[col + i * ldb] : y[i + col * ldb]);
            z[row + col * ldc] =
                *(const float *)alpha * sum + *(const float *)beta * z[row + col * ldc];
        }
    return 0;
}

/* C = A B^T of rows with strides of their own. */
Test(cublas, operands_change_places) {
    enum { M = 3, N = 5, K = 4, LDA = 6, LDB = 7, LDC = 9 };
    float a[M * LDA], b[N * LDB], c[M * LDC];
    struct host_error error = {0};
    struct cublas cublas = {.gemm_ex = gemm};
    for (int i = 0; i < M * LDA; i++)
        a[i] = (float)(i * 7 % 11);
    for (int i = 0; i < N * LDB; i++)
        b[i] = (float)(i * 5 % 13);
    for (int i = 0; i < M * LDC; i++)
        c[i] = -1;
    struct cublas_matmul matmul = {.m = M,
                                   .n = N,
                                   .k = K,
                                   .lda = LDA,
                                   .ldb = LDB,
                                   .ldc = LDC,
                                   .a = (CUdeviceptr)(uintptr_t)a,
                                   .b = (CUdeviceptr)(uintptr_t)b,
                                   .c = (CUdeviceptr)(uintptr_t)c};
    cr_assert(cublas_start(&cublas, &matmul, &error), "%s", error.text);
    cr_assert_eq(calls, 1);
    for (int row = 0; row < M; row++)
        for (int col = 0; col < LDC; col++) {
            float want = col < N ? 0 : -1;
            for (int i = 0; i < K && col < N; i++)
                want += a[row * LDA + i] * b[col * LDB + i];
            cr_assert_eq(c[row * LDC + col], want, "%d %d", row, col);
        }
    matmul.ab_type = CUBLAS_R_16BF;
    cr_assert_not(cublas_start(&cublas, &matmul, &error));
    cr_assert_str_eq(error.text, "cublasGemmEx failed: status 7");
}

Test(cublas, says_what_is_missing) {
    struct cublas cublas;
    struct host_error error = {0};
    cr_assert_not(cublas_open(&cublas, "/nowhere/libcublas.so", &error));
    cr_assert_str_eq(error.text, "/nowhere/libcublas.so cannot be loaded");
    cr_assert_not(cublas_open(&cublas, SILTWIN_BUILD "/sim/libcuda.so.1", &error));
    cr_assert_str_eq(error.text, "libcublas lacks cublasCreate_v2");
    cr_assert_null(cublas.library);
    cublas_close(&cublas);
}
