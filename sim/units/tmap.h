#ifndef SILTWIN_TMAP_H
#define SILTWIN_TMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strbuf.h"
#include "swizzle.h"

/* Element types, CUtensorMapDataType. */
enum tmap_type {
    TMAP_UINT8,
    TMAP_UINT16,
    TMAP_UINT32,
    TMAP_INT32,
    TMAP_UINT64,
    TMAP_INT64,
    TMAP_FLOAT16,
    TMAP_FLOAT32,
    TMAP_FLOAT64,
    TMAP_BFLOAT16,
    TMAP_FLOAT32_FTZ,
    TMAP_TFLOAT32,
    TMAP_TFLOAT32_FTZ,
    TMAP_16U4_ALIGN8B,  /* sm_100 */
    TMAP_16U4_ALIGN16B, /* sm_100 */
    TMAP_16U6_ALIGN16B, /* sm_100 */
    TMAP_TYPES,
};

enum tmap_mode { TMAP_TILED, TMAP_IM2COL };
enum tmap_interleave { TMAP_INTERLEAVE_NONE, TMAP_INTERLEAVE_16B, TMAP_INTERLEAVE_32B };
enum tmap_fill { TMAP_FILL_ZERO, TMAP_FILL_NAN }; /* NAN_REQUEST_ZERO_FMA */
enum tmap_arch { TMAP_SM_90, TMAP_SM_100 };

enum {
    TMAP_RANK_MAX = 5,
    TMAP_SPATIAL_MAX = 3, /* W, H, D of an im2col map */
    TMAP_PIXELS_MAX = 1024,
    TMAP_IMAGE_BYTES = 128,
    TMAP_IMAGE_ALIGN_BYTES = 64,
    TMAP_BOX_DIM_MAX = 256,
    TMAP_ELEMENT_STRIDE_MAX = 8,
    TMAP_L2_PROMOTION_MAX = 3,
    TMAP_FINDINGS_MAX = 32,
    /* Bytes of box / element stride elements along each dimension, the quotient cut: an H200 takes
     * 233472, the shared memory of an SM, and refuses 233856 (traces/silicon/observations.md). */
    TMAP_BOX_BYTES_MAX = 233472,
};

/* A tensor map in clear. Index 0 is the innermost dimension; entries from `rank` on are not looked
 * at. All fields hold what the caller of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col gave,
 * legal or not. */
struct tmap {
    uint64_t global_address;
    uint32_t mode; /* enum tmap_mode */
    uint32_t type; /* enum tmap_type */
    uint32_t rank;
    uint64_t dim_elems[TMAP_RANK_MAX];
    uint64_t stride_bytes[TMAP_RANK_MAX]; /* of dimension i; [0] is not used */
    uint32_t box_elems[TMAP_RANK_MAX];    /* tiled */
    uint32_t element_stride[TMAP_RANK_MAX];
    uint32_t interleave;   /* enum tmap_interleave */
    uint32_t swizzle;      /* enum swizzle_mode */
    uint32_t l2_promotion; /* 0..3: none, 64B, 128B, 256B; no effect here */
    uint32_t fill;         /* enum tmap_fill */
    /* im2col: the bounding box of the rank-2 spatial dimensions, W first, reaches from lower_corner
     * to dim - 1 + upper_corner; a copy moves channels x pixels. */
    int32_t lower_corner[TMAP_SPATIAL_MAX];
    int32_t upper_corner[TMAP_SPATIAL_MAX];
    uint32_t channels;
    uint32_t pixels;
};

/* A rule that a map breaks. */
struct tmap_finding {
    const char *rule; /* "globalStrides": the argument, as the driver API names it */
    const char *text; /* what the rule is */
    int dimension;    /* index into the argument, -1 where it has none */
    uint64_t value;   /* what was given */
    bool is_signed;   /* `value` is a negative number's two's complement where it is one */
};

/* All rules that `map` breaks on `arch`, in the order of the arguments, at most TMAP_FINDINGS_MAX;
 * returns how many. No finding: the driver accepts the map. Any: it returns
 * CUDA_ERROR_INVALID_VALUE. Source: reference of cuTensorMapEncodeTiled, corrected by the 12,000
 * results in oracle tma/hw-H200-encode. */
size_t tmap_check(const struct tmap *map, enum tmap_arch arch,
                  struct tmap_finding findings[TMAP_FINDINGS_MAX]);

/* One line of text: "globalStrides[1] = 20: must be a multiple of 16". */
void tmap_describe(struct strbuf *out, const struct tmap_finding *finding);

/* Writes the 128 bytes of a map that passes tmap_check. */
void tmap_encode(const struct tmap *map, uint8_t image[TMAP_IMAGE_BYTES]);

/* Reads any 128 bytes. False, with a finding, when they break a rule of `arch`; bits of no field
 * may be anything, as on an H200. */
bool tmap_decode(const uint8_t image[TMAP_IMAGE_BYTES], enum tmap_arch arch, struct tmap *map,
                 struct tmap_finding *finding);

/* cuTensorMapReplaceAddress on a map that decodes. */
bool tmap_replace_address(uint8_t image[TMAP_IMAGE_BYTES], enum tmap_arch arch, uint64_t address,
                          struct tmap_finding *finding);

/* Fields of tensormap.replace, PTX manual "tensormap.replace". */
enum tmap_field {
    TMAP_FIELD_GLOBAL_ADDRESS,
    TMAP_FIELD_RANK, /* value is rank - 1 */
    TMAP_FIELD_BOX_DIM,
    TMAP_FIELD_GLOBAL_DIM,
    TMAP_FIELD_GLOBAL_STRIDE, /* ordinal i is the stride of dimension i + 1 */
    TMAP_FIELD_ELEMENT_STRIDE,
    TMAP_FIELD_ELEMTYPE, /* PTX's own numbering, not the driver's */
    TMAP_FIELD_INTERLEAVE_LAYOUT,
    TMAP_FIELD_SWIZZLE_MODE,
    TMAP_FIELD_SWIZZLE_ATOMICITY,
    TMAP_FIELD_FILL_MODE,
    TMAP_FIELDS,
};

/* Changes one field of any 128 bytes. `ordinal` counts for the fields with one entry a dimension.
 * Rules between fields are not looked at: a map may break them between two replacements, and is
 * checked when it is used. False, with a finding, when the value does not fit its field: an H200
 * cuts it without a word (observation 42), which no program can mean. */
bool tmap_replace_field(uint8_t image[TMAP_IMAGE_BYTES], enum tmap_field field, uint32_t ordinal,
                        uint64_t value, struct tmap_finding *finding);

/* Bits of one element in global memory: 8, 16, 32, 64, or 4 and 6 for the packed types. */
uint32_t tmap_element_bits(uint32_t type);
/* "BFLOAT16": the driver's name without its CU_TENSOR_MAP_DATA_TYPE_ prefix. */
const char *tmap_type_name(uint32_t type);
/* The packed types whose elements take 16 bytes per 16 in shared memory. */
bool tmap_is_padded(uint32_t type);

#endif
