/* Tensor maps through the driver API: the rules are the tmap unit's and are tested there; here the
 * pointers, the order of the arguments, and that each broken rule is named. */
#include "libcuda.h"
#include "tmap.h"

static CUresult encode(const struct libcuda *cu, CUtensorMap *map, cuuint64_t stride,
                       CUtensorMapSwizzle swizzle) {
    const cuuint64_t dims[] = {256, 1024};
    const cuuint32_t box[] = {64, 8}, element_strides[] = {1, 1};
    return cu->cuTensorMapEncodeTiled(
        map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)0x10000, dims, &stride, box,
        element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

Test(tensormap, arguments_arrive) {
    struct libcuda cu = libcuda_start("h200");
    CUtensorMap map;
    struct tmap decoded;
    struct tmap_finding finding;
    cr_assert_eq(encode(&cu, &map, 512, CU_TENSOR_MAP_SWIZZLE_128B), 0);
    cr_assert(tmap_decode((const uint8_t *)map.opaque, TMAP_SM_90, &decoded, &finding));
    cr_assert_eq(decoded.global_address, 0x10000);
    cr_assert_eq(decoded.type, TMAP_BFLOAT16);
    cr_assert_eq(decoded.dim_elems[0], 256);
    cr_assert_eq(decoded.dim_elems[1], 1024);
    cr_assert_eq(decoded.stride_bytes[1], 512);
    cr_assert_eq(decoded.box_elems[0], 64);
    cr_assert_eq(decoded.box_elems[1], 8);
    cr_assert_eq(decoded.swizzle, 3);
    cr_assert_eq(cu.cuTensorMapReplaceAddress(&map, (void *)0x20000), 0);
    cr_assert(tmap_decode((const uint8_t *)map.opaque, TMAP_SM_90, &decoded, &finding));
    cr_assert_eq(decoded.global_address, 0x20000);
    cr_assert_eq(cu.cuTensorMapReplaceAddress(&map, (void *)0x20001), 1);
    cr_assert_eq(cu.cuTensorMapReplaceAddress(NULL, (void *)0x20000), 1);
}

Test(tensormap, im2col_arguments_arrive) {
    struct libcuda cu = libcuda_start("h200");
    const cuuint64_t dims[] = {64, 14, 9, 64}, strides[] = {128, 1792, 16128};
    const cuuint32_t element_strides[] = {1, 2, 3, 1};
    const int lower[] = {-1, -2}, upper[] = {0, 1};
    CUtensorMap map;
    struct tmap decoded;
    struct tmap_finding finding;
#define ENCODE(rank, lower, upper, channels)                                                       \
    cu.cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, (void *)0x10000, dims, \
                               strides, lower, upper, channels, 100, element_strides,              \
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,          \
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    cr_assert_eq(ENCODE(4, lower, upper, 64), 0);
    cr_assert(tmap_decode((const uint8_t *)map.opaque, TMAP_SM_90, &decoded, &finding));
    cr_assert_eq(decoded.mode, TMAP_IM2COL);
    cr_assert_eq(decoded.dim_elems[3], 64);
    cr_assert_eq(decoded.stride_bytes[3], 16128);
    cr_assert_eq(decoded.element_stride[2], 3);
    cr_assert_eq(decoded.lower_corner[0], -1);
    cr_assert_eq(decoded.lower_corner[1], -2);
    cr_assert_eq(decoded.upper_corner[1], 1);
    cr_assert_eq(decoded.channels, 64);
    cr_assert_eq(decoded.pixels, 100);
    cr_assert_eq(cu.cuTensorMapReplaceAddress(&map, (void *)0x20000), 0);
    cr_assert_eq(ENCODE(4, lower, upper, 65), 1);
    cr_assert_eq(ENCODE(4, NULL, upper, 64), 1);
    cr_assert_eq(ENCODE(4, lower, NULL, 64), 1);
    cr_assert_eq(ENCODE(4000000000u, lower, upper, 64), 1);
#undef ENCODE
}

Test(tensormap, the_model_decides_about_blackwell_modes) {
    CUtensorMap map;
    struct libcuda h200 = libcuda_start("h200");
    cr_assert_eq(encode(&h200, &map, 512, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B), 1);
}

Test(tensormap, b200_takes_them) {
    CUtensorMap map;
    struct libcuda b200 = libcuda_start("b200");
    cr_assert_eq(encode(&b200, &map, 512, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B), 0);
}

Test(tensormap, the_broken_rule_is_named) {
    struct libcuda cu = libcuda_start("h200");
    struct libcuda_lines lines = {0};
    CUtensorMap map;
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(encode(&cu, &map, 520, CU_TENSOR_MAP_SWIZZLE_128B), 1);
    cr_assert_not_null(strstr(lines.text, "cuTensorMapEncodeTiled: globalStrides[0] = 520"), "%s",
                       lines.text);
}

Test(tensormap, pointers_and_context) {
    struct libcuda cu = libcuda_load("h200");
    struct libcuda_lines lines = {0};
    struct {
        CUtensorMap map;
        char more[64];
    } room;
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(encode(&cu, &room.map, 512, CU_TENSOR_MAP_SWIZZLE_128B), 3);
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(encode(&cu, &room.map, 512, CU_TENSOR_MAP_SWIZZLE_128B), 201);
    CUcontext context;
    cr_assert_eq(cu.cuCtxCreate_v2(&context, 0, 0), 0);
    cr_assert_eq(encode(&cu, NULL, 512, CU_TENSOR_MAP_SWIZZLE_128B), 1);
    cr_assert_eq(encode(&cu, (CUtensorMap *)((char *)&room + 16), 512, CU_TENSOR_MAP_SWIZZLE_128B),
                 1);
    cr_assert_not_null(strstr(lines.text, "64-byte aligned"));
    const cuuint32_t box[] = {64};
    cr_assert_eq(cu.cuTensorMapEncodeTiled(&room.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 1,
                                           (void *)0x10000, NULL, NULL, box, box, 0, 0, 0, 0),
                 1);
    const cuuint64_t dims[] = {256};
    const cuuint32_t one[] = {1};
    cr_assert_eq(cu.cuTensorMapEncodeTiled(&room.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 1,
                                           (void *)0x10000, dims, NULL, box, one, 0, 0, 0, 0),
                 0);
    cr_assert_eq(cu.cuTensorMapEncodeTiled(&room.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4000000000u,
                                           (void *)0x10000, dims, dims, box, one, 0, 0, 0, 0),
                 1);
}
