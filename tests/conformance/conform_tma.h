#ifndef SILTWIN_CONFORM_TMA_H
#define SILTWIN_CONFORM_TMA_H

#include "conform_families.h"
#include "conform_map.h"

/* Families of tensor copies: what differs is how a case is made. */
enum {
    CONFORM_TMA_BOX_BYTES = 11264,      /* of shared memory, a kilobyte for the offset */
    CONFORM_TMA_GLOBAL_BYTES = 4 << 20, /* that the loads of a batch read */
    CONFORM_STORE_OPS = 9,
    CONFORM_STORE = CONFORM_STORE_OPS - 1, /* the others are add min max inc dec and or xor */
};

/* A case as the kernels read it. */
struct conform_tma_row {
    uint32_t rank; /* 0: the map could not be encoded */
    int32_t coords[5];
    uint32_t shared_offset, expect_bytes, seed, op;
    uint32_t keep[2], set[2]; /* of even and odd words of shared memory */
    uint16_t offsets[4];      /* im2col loads */
};
_Static_assert(sizeof(struct conform_tma_row) == 64, "the kernels read it by offsets");

/* `desc.address` is the offset from the start of the batch's memory, of a store from its own 16
 * KiB. */
struct conform_tma_case {
    struct tensormap_desc desc;
    struct tensormap_im2col im2col;
    struct conform_tma_row row;
};

struct conform_tma {
    bool stores, im2col;
    struct conform_tma_case (*make)(const struct conform_batch *batch, uint32_t index);
};

bool conform_tma_run(struct conform_batch *batch, const struct conform_tma *family,
                     struct host_error *error);
void conform_tma_describe(const struct conform_batch *batch, const struct conform_tma *family,
                          uint32_t index, char *text, size_t size);

/* Defines conform_NAME_run and conform_NAME_describe. */
#define CONFORM_TMA_FAMILY(name, stores_, im2col_, make_)                                          \
    static const struct conform_tma family_##name = {stores_, im2col_, make_};                     \
    bool conform_##name##_run(struct conform_batch *batch, struct host_error *error) {             \
        return conform_tma_run(batch, &family_##name, error);                                      \
    }                                                                                              \
    void conform_##name##_describe(const struct conform_batch *batch, uint32_t index, char *text,  \
                                   size_t size) {                                                  \
        conform_tma_describe(batch, &family_##name, index, text, size);                            \
    }

/* Parts of making a case: where in shared memory and with which operation (a reduction that the
 * type has, or a plain store); and, at the end, the contents. */
void conform_tma_begin(struct conform_random *random, struct conform_tma_case *made);
void conform_tma_contents(struct conform_random *random, struct conform_tma_case *made);

#endif
