/* Family tensormap: what cuTensorMapEncodeTiled returns for random parameters, legal ones and ones
 * with up to three fields changed to something near a limit, and the 128 bytes that it writes,
 * their first word (the address) apart. */
#include <string.h>

#include "buffer.h"
#include "conform_families.h"
#include "conform_map.h"

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

static void change(struct conform_random *random, struct tensormap_desc *desc) {
    unsigned i = conform_below(random, 5);
    switch (conform_below(random, 11)) {
    case 0: desc->type = (CUtensorMapDataType)conform_below(random, 16); break;
    case 1: desc->rank = conform_below(random, 7); break;
    case 2: desc->address += conform_below(random, 40); break;
    case 3: desc->dim[i] = edge(random); break;
    case 4: desc->stride_bytes[i % 4] = edge(random); break;
    case 5: desc->box[i] = (cuuint32_t)edge(random) % 300; break;
    case 6: desc->element_stride[i] = conform_below(random, 12); break;
    case 7: desc->interleave = (CUtensorMapInterleave)conform_below(random, 4); break;
    case 8: desc->swizzle = (CUtensorMapSwizzle)conform_below(random, 5); break;
    case 9: desc->l2_promotion = (CUtensorMapL2promotion)conform_below(random, 5); break;
    default: desc->oob_fill = (CUtensorMapFloatOOBfill)conform_below(random, 3); break;
    }
}

static struct tensormap_desc make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "tensormap", index);
    struct tensormap_desc desc = conform_map_of(&random, 4 << 20, 1 << 15);
    /* What lies behind the rank is given too: a changed rank shall find something. */
    for (unsigned i = desc.rank; i < 5; i++) {
        desc.dim[i] = 1 + conform_below(&random, 5);
        desc.box[i] = desc.element_stride[i] = 1;
        desc.stride_bytes[i - 1] = i == 1 ? 1024 : desc.stride_bytes[i - 2] * 2;
    }
    for (uint32_t changes = conform_below(&random, 4); changes > 0; changes--)
        change(&random, &desc);
    return desc;
}

bool conform_tensormap_run(struct conform_batch *batch, struct host_error *error) {
    struct buffer buffer;
    if (!buffer_alloc(batch->driver, 1 << 20, &buffer, error))
        return false;
    for (uint32_t i = 0; i < CASES; i++) {
        struct tensormap_desc desc = make_case(batch, i);
        CUtensorMap map = {0};
        uint8_t *result = batch->results + CONFORM_TENSORMAP_BYTES * (size_t)i;
        desc.address += buffer.address;
        CUresult code = tensormap_encode(batch->driver, &desc, &map);
        memcpy(result, &code, 4);
        if (code == CUDA_SUCCESS)
            memcpy(result + 8, (const char *)map.opaque + 8, CONFORM_TENSORMAP_BYTES - 8);
    }
    buffer_free(&buffer);
    return true;
}

void conform_tensormap_describe(const struct conform_batch *batch, uint32_t index, char *text,
                                size_t size) {
    struct tensormap_desc desc = make_case(batch, index);
    conform_map_print(&desc, NULL, text, size);
}
