/* How fast the tensor core arithmetic is, one thread: `name value unit` lines. The tile is that of
 * one tcgen05.mma, 128x256 and 32 bytes of K, chained over many instructions with fresh operands,
 * so accumulators grow as in a matmul; preparing the operands is timed too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mma.h"
#include "mma_tile.h"

enum { M = 128, N = 256, STEPS = 16, REPEATS = 40 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(void) {
    return 2.0 * rand() / RAND_MAX - 1;
}

/* Uniform in (-1,1) by cutting the fraction; the exponents are what matters here. */
static uint32_t element(enum mma_type type) {
    float value = (float)uniform();
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    int exponent = (int)(word >> 23 & 0xff) - 127;
    switch (type) {
    case MMA_TYPE_TF32: return word;
    case MMA_TYPE_BF16: return word >> 16;
    case MMA_TYPE_F16:
        return (word >> 16 & 0x8000) | (exponent < -14 ? 0 : (uint32_t)(exponent + 15) << 10) |
               (word >> 13 & 0x3ff);
    case MMA_TYPE_E4M3:
        return (word >> 24 & 0x80) | (exponent < -6 ? 0 : (uint32_t)(exponent + 7) << 3) |
               (word >> 20 & 7);
    default: return word >> 24;
    }
}

struct bench {
    enum mma_kind kind;
    enum mma_type type;
    enum mma_acc acc;
    const char *name;
};

static char *operands(enum mma_type type, uint32_t rows) {
    uint32_t k = mma_type_k(type), width = mma_type_bytes(type);
    char *bytes = malloc((size_t)STEPS * rows * k * width);
    for (size_t i = 0; i < (size_t)STEPS * rows * k; i++) {
        uint32_t word = element(type);
        memcpy(bytes + i * width, &word, width);
    }
    return bytes;
}

static void measure(const struct mma_engine *engine, const struct bench *bench, int repeats) {
    uint32_t k = mma_type_k(bench->type);
    char *a_bytes = operands(bench->type, M), *b_bytes = operands(bench->type, N);
    void *a_storage = aligned_alloc(MMA_STORAGE_ALIGN, mma_operand_bytes(M, k));
    void *b_storage = aligned_alloc(MMA_STORAGE_ALIGN, mma_operand_bytes(N, k));
    uint32_t *d = calloc(M * N, sizeof *d), *rows[M];
    for (uint32_t i = 0; i < M; i++)
        rows[i] = d + i * N;
    struct mma_operand a, b;
    struct mma_operand_desc desc = {.type = bench->type, .k = k, .row_stride_bytes = 32};
    double prepare_s = 0, tile_s = 0, best_prepare_s = 1e9, best_tile_s = 1e9;
    for (int i = 0; i < repeats * STEPS; i++) {
        double start = now_s();
        desc.role = MMA_ROLE_A;
        desc.rows = M;
        desc.elements = a_bytes + (size_t)(i % STEPS) * M * 32;
        mma_operand_prepare(engine, &a, &desc, a_storage);
        desc.role = MMA_ROLE_B;
        desc.rows = N;
        desc.elements = b_bytes + (size_t)(i % STEPS) * N * 32;
        mma_operand_prepare(engine, &b, &desc, b_storage);
        double middle = now_s();
        mma_tile(&(struct mma_tile){
            .arith = mma_arith_find(bench->kind, bench->type, bench->type, bench->acc),
            .a = &a,
            .b = &b,
            .row_count = M,
            .d_rows = rows,
            .c_rows = i % (4 * STEPS) == 0 ? NULL : (const uint32_t *const *)rows});
        tile_s += now_s() - middle;
        prepare_s += middle - start;
        if (i % STEPS == STEPS - 1) {
            best_tile_s = tile_s < best_tile_s ? tile_s : best_tile_s;
            best_prepare_s = prepare_s < best_prepare_s ? prepare_s : best_prepare_s;
            tile_s = prepare_s = 0;
        }
    }
    double mac = (double)STEPS * M * N * k;
    printf("mma_tile_%s_%s %.3f Gmac/s\n", mma_engine_name(engine), bench->name,
           mac / best_tile_s / 1e9);
    printf("mma_tile_%s_%s_prepare_over_tile %.3f ratio\n", mma_engine_name(engine), bench->name,
           best_prepare_s / best_tile_s);
    free(a_bytes);
    free(b_bytes);
    free(a_storage);
    free(b_storage);
    free(d);
}

int main(void) {
    static const struct bench benches[] = {
        {MMA_TCGEN05_F16, MMA_TYPE_BF16, MMA_ACC_F32, "bf16"},
        {MMA_TCGEN05_F16, MMA_TYPE_F16, MMA_ACC_F32, "f16"},
        {MMA_TCGEN05_F16, MMA_TYPE_F16, MMA_ACC_F16, "f16_acc_f16"},
        {MMA_TCGEN05_TF32, MMA_TYPE_TF32, MMA_ACC_F32, "tf32"},
        {MMA_TCGEN05_F8F6F4, MMA_TYPE_E4M3, MMA_ACC_F32, "e4m3"},
        {MMA_WGMMA_F8, MMA_TYPE_E4M3, MMA_ACC_F32, "wgmma_e4m3"},
        {MMA_TCGEN05_I8, MMA_TYPE_S8, MMA_ACC_S32, "s8"},
    };
    const struct mma_engine *engine;
    for (unsigned e = 0; (engine = mma_engine_at(e)) != NULL; e++)
        for (size_t i = 0; mma_engine_usable(engine) && i < sizeof benches / sizeof benches[0]; i++)
            measure(engine, &benches[i], e == 0 ? 1 : REPEATS);
    return 0;
}
