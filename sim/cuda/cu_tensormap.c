/* Tensor maps: arguments of the driver API to the tmap unit, which knows every rule. Each rule that
 * the arguments break is named in the log. */
#include <string.h>

#include "cu_functions.h"
#include "cu_root.h"
#include "tmap.h"

static enum tmap_arch arch(void) {
    return cu_root()->model->exec.sm >= 100 ? TMAP_SM_100 : TMAP_SM_90;
}

/* The legal value for each part of a call that is no rule of the unit: pointers. */
static const char *bad_pointer(const CUtensorMap *map, cuuint32_t rank, const cuuint64_t *dims,
                               const cuuint64_t *stride_bytes, const cuuint32_t *box,
                               const cuuint32_t *element_strides) {
    if (!map || (uintptr_t)map % TMAP_IMAGE_ALIGN_BYTES != 0)
        return "tensorMap must be a 64-byte aligned address";
    if (!dims)
        return "globalDim is NULL";
    if (!stride_bytes && rank > 1)
        return "globalStrides is NULL";
    if (!box)
        return "boxDim is NULL";
    return element_strides ? NULL : "elementStrides is NULL";
}

/* CUDA_SUCCESS, or the code for what the unit found, every finding logged. */
static CUresult judge(const char *call, const struct tmap *tmap) {
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    size_t count = tmap_check(tmap, arch(), findings);
    for (size_t i = 0; i < count; i++) {
        struct strbuf text = {0};
        tmap_describe(&text, &findings[i]);
        cu_log("%s: %s", call, strbuf_text(&text));
        strbuf_free(&text);
    }
    return count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult do_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                   void *address, const cuuint64_t *dims,
                                   const cuuint64_t *stride_bytes, const cuuint32_t *box,
                                   const cuuint32_t *element_strides,
                                   CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion l2_promotion,
                                   CUtensorMapFloatOOBfill oob_fill) {
    const char *wrong = bad_pointer(map, rank, dims, stride_bytes, box, element_strides);
    if (wrong) {
        cu_log("cuTensorMapEncodeTiled: %s", wrong);
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct tmap tmap = {
        .global_address = (uint64_t)(uintptr_t)address,
        .type = (uint32_t)type,
        .rank = rank,
        .interleave = (uint32_t)interleave,
        .swizzle = (uint32_t)swizzle,
        .l2_promotion = (uint32_t)l2_promotion,
        .fill = (uint32_t)oob_fill,
    };
    /* Of a rank that cannot be, nothing else is looked at. */
    for (cuuint32_t i = 0; i < rank && rank <= TMAP_RANK_MAX; i++) {
        tmap.dim_elems[i] = dims[i];
        tmap.stride_bytes[i] = i > 0 ? stride_bytes[i - 1] : 0;
        tmap.box_elems[i] = box[i];
        tmap.element_stride[i] = element_strides[i];
    }
    CUresult code = judge("cuTensorMapEncodeTiled", &tmap);
    if (code == CUDA_SUCCESS) {
        uint8_t image[TMAP_IMAGE_BYTES];
        tmap_encode(&tmap, image);
        memcpy(map->opaque, image, sizeof image);
    }
    return code;
}

CUresult do_cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
    if (!map || (uintptr_t)map % TMAP_IMAGE_ALIGN_BYTES != 0)
        return CUDA_ERROR_INVALID_VALUE;
    uint8_t image[TMAP_IMAGE_BYTES];
    struct tmap_finding finding = {0};
    memcpy(image, map->opaque, sizeof image);
    if (!tmap_replace_address(image, arch(), (uint64_t)(uintptr_t)address, &finding)) {
        struct strbuf text = {0};
        tmap_describe(&text, &finding);
        cu_log("cuTensorMapReplaceAddress: %s", strbuf_text(&text));
        strbuf_free(&text);
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(map->opaque, image, sizeof image);
    return CUDA_SUCCESS;
}
