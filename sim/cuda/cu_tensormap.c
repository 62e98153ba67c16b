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
                               const cuuint64_t *stride_bytes, const cuuint32_t *element_strides) {
    if (!map || (uintptr_t)map % TMAP_IMAGE_ALIGN_BYTES != 0)
        return "tensorMap must be a 64-byte aligned address";
    if (!dims)
        return "globalDim is NULL";
    if (!stride_bytes && rank > 1)
        return "globalStrides is NULL";
    return element_strides ? NULL : "elementStrides is NULL";
}

static CUresult refuse(const char *call, const char *why) {
    cu_log("%s: %s", call, why);
    return CUDA_ERROR_INVALID_VALUE;
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

/* Takes the arguments that both kinds of map have. Of a rank that cannot be, no array is looked at.
 */
static void take_dims(struct tmap *tmap, const cuuint64_t *dims, const cuuint64_t *stride_bytes,
                      const cuuint32_t *element_strides) {
    for (cuuint32_t i = 0; i < tmap->rank && tmap->rank <= TMAP_RANK_MAX; i++) {
        tmap->dim_elems[i] = dims[i];
        tmap->stride_bytes[i] = i > 0 ? stride_bytes[i - 1] : 0;
        tmap->element_stride[i] = element_strides[i];
    }
}

/* Judges and, where nothing is wrong, writes the map. */
static CUresult encode(const char *call, const struct tmap *tmap, CUtensorMap *map) {
    CUresult code = judge(call, tmap);
    if (code == CUDA_SUCCESS) {
        uint8_t image[TMAP_IMAGE_BYTES];
        tmap_encode(tmap, image);
        memcpy(map->opaque, image, sizeof image);
    }
    return code;
}

CUresult do_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                   void *address, const cuuint64_t *dims,
                                   const cuuint64_t *stride_bytes, const cuuint32_t *box,
                                   const cuuint32_t *element_strides,
                                   CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion l2_promotion,
                                   CUtensorMapFloatOOBfill oob_fill) {
    static const char call[] = "cuTensorMapEncodeTiled";
    const char *wrong = bad_pointer(map, rank, dims, stride_bytes, element_strides);
    if (wrong || !box)
        return refuse(call, wrong ? wrong : "boxDim is NULL");
    struct tmap tmap = {
        .mode = TMAP_TILED,
        .global_address = (uint64_t)(uintptr_t)address,
        .type = (uint32_t)type,
        .rank = rank,
        .interleave = (uint32_t)interleave,
        .swizzle = (uint32_t)swizzle,
        .l2_promotion = (uint32_t)l2_promotion,
        .fill = (uint32_t)oob_fill,
    };
    take_dims(&tmap, dims, stride_bytes, element_strides);
    for (cuuint32_t i = 0; i < rank && rank <= TMAP_RANK_MAX; i++)
        tmap.box_elems[i] = box[i];
    return encode(call, &tmap, map);
}

CUresult do_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                    void *address, const cuuint64_t *dims,
                                    const cuuint64_t *stride_bytes, const int *lower_corner,
                                    const int *upper_corner, cuuint32_t channels, cuuint32_t pixels,
                                    const cuuint32_t *element_strides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion l2_promotion,
                                    CUtensorMapFloatOOBfill oob_fill) {
    static const char call[] = "cuTensorMapEncodeIm2col";
    const char *wrong = bad_pointer(map, rank, dims, stride_bytes, element_strides);
    if (wrong || !lower_corner || !upper_corner)
        return refuse(call, wrong           ? wrong
                            : !lower_corner ? "pixelBoxLowerCorner is NULL"
                                            : "pixelBoxUpperCorner is NULL");
    struct tmap tmap = {
        .mode = TMAP_IM2COL,
        .global_address = (uint64_t)(uintptr_t)address,
        .type = (uint32_t)type,
        .rank = rank,
        .interleave = (uint32_t)interleave,
        .swizzle = (uint32_t)swizzle,
        .l2_promotion = (uint32_t)l2_promotion,
        .fill = (uint32_t)oob_fill,
        .channels = channels,
        .pixels = pixels,
    };
    take_dims(&tmap, dims, stride_bytes, element_strides);
    for (cuuint32_t i = 0; i + 2 < rank && rank <= TMAP_RANK_MAX; i++) {
        tmap.lower_corner[i] = lower_corner[i];
        tmap.upper_corner[i] = upper_corner[i];
    }
    return encode(call, &tmap, map);
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
