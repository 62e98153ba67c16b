/* Family im2col_map: what cuTensorMapEncodeIm2col returns for random parameters, legal ones and
 * ones with up to three fields changed to something near a limit, and the 128 bytes that it writes,
 * their first word (the address) apart. */
#include <string.h>

#include "buffer.h"
#include "conform_im2col.h"

enum { CASES = CONFORM_TENSORMAP_CASES };

static uint64_t edge(struct conform_random *random) {
    uint64_t power = UINT64_C(1) << conform_below(random, 44);
    switch (conform_below(random, 4)) {
    case 0: return conform_below(random, 300);
    case 1: return power + conform_below(random, 33) - 16;
    case 2: return 16 * (uint64_t)conform_below(random, 1 << 16);
    default: return power;
    }
}

/* Near a limit of the corners in some number of dimensions, or anywhere. */
static int corner(struct conform_random *random) {
    static const int limits[] = {-32769, -32768, 32767, 32768, -129, -128, 127, 128,
                                 -17,    -16,    15,    16,    -1,   0,    1,   40000};
    if (conform_below(random, 2))
        return limits[conform_below(random, 16)];
    return (int)conform_below(random, 280) - 140;
}

static void change_corners(struct conform_random *random, struct conform_tma_case *made) {
    struct tensormap_im2col *im2col = &made->im2col;
    unsigned i = conform_below(random, 3);
    switch (conform_below(random, 4)) {
    case 0: im2col->lower_corner[i] = corner(random); break;
    case 1: im2col->upper_corner[i] = corner(random); break;
    case 2:
        im2col->lower_corner[i] = corner(random);
        im2col->upper_corner[i] = corner(random);
        break;
    default: /* a box of about no pixel */
        im2col->lower_corner[i] = (int)made->desc.dim[i + 1] - 1 + im2col->upper_corner[i] - 2 +
                                  (int)conform_below(random, 5);
    }
}

static void change_columns(struct conform_random *random, struct conform_tma_case *made) {
    uint32_t any = (uint32_t)edge(random);
    switch (conform_below(random, 4)) {
    case 0: made->im2col.channels = any % 600; break;
    case 1: made->im2col.channels = 16 * conform_below(random, 20); break;
    case 2: made->im2col.pixels = any % 1200; break;
    default: made->im2col.pixels = conform_below(random, 1100);
    }
}

static void change(struct conform_random *random, struct conform_tma_case *made) {
    struct tensormap_desc *desc = &made->desc;
    unsigned i = conform_below(random, 5);
    switch (conform_below(random, 15)) {
    case 0: desc->type = (CUtensorMapDataType)conform_below(random, 17); break;
    case 1: desc->rank = conform_below(random, 7); break;
    case 2: desc->address += conform_below(random, 40); break;
    case 3: desc->dim[i] = edge(random); break;
    case 4: desc->stride_bytes[i % 4] = edge(random); break;
    case 5: desc->element_stride[i] = conform_below(random, 12); break;
    case 6: desc->interleave = (CUtensorMapInterleave)conform_below(random, 4); break;
    case 7: desc->swizzle = (CUtensorMapSwizzle)conform_below(random, 8); break;
    case 8: desc->l2_promotion = (CUtensorMapL2promotion)conform_below(random, 5); break;
    case 9: desc->oob_fill = (CUtensorMapFloatOOBfill)conform_below(random, 3); break;
    case 10:
    case 11: change_columns(random, made); break;
    default: change_corners(random, made);
    }
}

static struct conform_tma_case make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "im2col_map", index);
    uint32_t shared_bytes = conform_below(&random, 4) ? 1 << 14 : 1 << 18;
    struct conform_tma_case made = conform_im2col_map_of(&random, 4 << 20, shared_bytes);
    struct tensormap_desc *desc = &made.desc;
    /* What lies behind the rank is given too: a changed rank shall find something. */
    for (unsigned i = desc->rank; i < 5; i++) {
        desc->dim[i] = 1 + conform_below(&random, 5);
        desc->element_stride[i] = 1;
        desc->stride_bytes[i - 1] = desc->stride_bytes[i - 2] * 2;
    }
    for (uint32_t changes = conform_below(&random, 4); changes > 0; changes--)
        change(&random, &made);
    return made;
}

bool conform_im2col_map_run(struct conform_batch *batch, struct host_error *error) {
    struct buffer buffer;
    if (!buffer_alloc(batch->driver, 1 << 20, &buffer, error))
        return false;
    for (uint32_t i = 0; i < CASES; i++) {
        struct conform_tma_case made = make_case(batch, i);
        CUtensorMap map = {0};
        uint8_t *result = batch->results + CONFORM_TENSORMAP_BYTES * (size_t)i;
        made.desc.address += buffer.address;
        CUresult code = tensormap_encode_im2col(batch->driver, &made.desc, &made.im2col, &map);
        memcpy(result, &code, 4);
        if (code == CUDA_SUCCESS)
            memcpy(result + 8, (const char *)map.opaque + 8, CONFORM_TENSORMAP_BYTES - 8);
    }
    buffer_free(&buffer);
    return true;
}

void conform_im2col_map_describe(const struct conform_batch *batch, uint32_t index, char *text,
                                 size_t size) {
    struct conform_tma_case made = make_case(batch, index);
    conform_map_print(&made.desc, NULL, text, size);
    size_t at = strlen(text);
    conform_im2col_print(&made.desc, &made.im2col, NULL, text + at, size - at);
}
