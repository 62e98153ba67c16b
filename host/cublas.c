/* cuBLAS through four of its functions, looked up by name: nothing is linked with it.
 *
 * cuBLAS counts columns first, so C[m][n] = A B^T of rows is C^T = B A^T of columns: the operands
 * change places and B is the one that is transposed. */
#include "cublas.h"

#include <string.h>

enum { OP_N = 0, OP_T = 1, COMPUTE_32F = 68, DEFAULT_ALGORITHM = -1 };

static bool find(const struct cublas *cublas, const char *name, void *function, size_t size,
                 struct host_error *error) {
    void *found = driver_library_symbol(cublas->library, name);
    memcpy(function, &found, size);
    if (found == NULL)
        result_message(error, "libcublas lacks %s", name);
    return found != NULL;
}

bool cublas_open(struct cublas *cublas, const char *path, struct host_error *error) {
    int (*create)(void **) = NULL, (*get_version)(void *, int *) = NULL;
    memset(cublas, 0, sizeof *cublas);
    cublas->library = driver_library_open(path ? path : "libcublas.so.13");
    if (cublas->library == NULL && path == NULL)
        cublas->library = driver_library_open("libcublas.so.12");
    if (cublas->library == NULL) {
        result_message(error, "%s cannot be loaded", path ? path : "libcublas.so.13 or .12");
        return false;
    }
    if (find(cublas, "cublasCreate_v2", &create, sizeof create, error) &&
        find(cublas, "cublasGetVersion_v2", &get_version, sizeof get_version, error) &&
        find(cublas, "cublasDestroy_v2", &cublas->destroy, sizeof cublas->destroy, error) &&
        find(cublas, "cublasGemmEx", &cublas->gemm_ex, sizeof cublas->gemm_ex, error)) {
        const int status = create(&cublas->handle);
        if (status == 0 && get_version(cublas->handle, &cublas->version) == 0)
            return true;
        result_message(error, "cublasCreate failed: status %d", status);
    }
    cublas_close(cublas);
    return false;
}

bool cublas_start(const struct cublas *cublas, const struct cublas_matmul *matmul,
                  struct host_error *error) {
    const float one = 1, zero = 0;
    const void *a = (const void *)(uintptr_t)matmul->a, *b = (const void *)(uintptr_t)matmul->b;
    const int status =
        cublas->gemm_ex(cublas->handle, OP_T, OP_N, (int)matmul->n, (int)matmul->m, (int)matmul->k,
                        &one, b, (int)matmul->ab_type, (int)matmul->ldb, a, (int)matmul->ab_type,
                        (int)matmul->lda, &zero, (void *)(uintptr_t)matmul->c, (int)matmul->c_type,
                        (int)matmul->ldc, COMPUTE_32F, DEFAULT_ALGORITHM);
    if (status != 0)
        result_message(error, "cublasGemmEx failed: status %d", status);
    return status == 0;
}

void cublas_close(struct cublas *cublas) {
    if (cublas->handle != NULL)
        cublas->destroy(cublas->handle);
    driver_library_close(cublas->library);
    memset(cublas, 0, sizeof *cublas);
}
