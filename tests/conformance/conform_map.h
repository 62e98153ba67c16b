#ifndef SILTWIN_CONFORM_MAP_H
#define SILTWIN_CONFORM_MAP_H

#include "conform.h"
#include "tensormap.h"

/* Random tensor maps for copies that are legal. */
enum { CONFORM_TYPES = 13 };

/* Bytes of an element of a CUtensorMapDataType. */
uint32_t conform_element_bytes(uint32_t type);

/* A map whose tensor fits `tensor_bytes` (address 0: an offset to add to the buffer) and whose box
 * takes at most `shared_bytes`. No interleave. */
struct tensormap_desc conform_map_of(struct conform_random *random, uint32_t tensor_bytes,
                                     uint32_t shared_bytes);

/* Bytes that a copy of the box completes. */
uint32_t conform_box_bytes(const struct tensormap_desc *desc);

/* A start coordinate along `dimension`, below 0 only if `negative`. */
int32_t conform_coordinate(struct conform_random *random, const struct tensormap_desc *desc,
                           unsigned dimension, bool negative);

/* ", box -1,0 to 2,1, 64 channels, 12 pixels, offsets 1,0" */
void conform_im2col_print(const struct tensormap_desc *desc, const struct tensormap_im2col *im2col,
                          const uint16_t *offsets, char *text, size_t size);

/* "type 9 rank 2 swizzle 3 ..." */
void conform_map_print(const struct tensormap_desc *desc, const int32_t *coords, char *text,
                       size_t size);

#endif
