#ifndef SILTWIN_OPERAND_GATHER_H
#define SILTWIN_OPERAND_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "async.h"
#include "canonical.h"
#include "cta.h"
#include "smem_desc.h"

/* An operand of wgmma or tcgen05.mma that a matrix descriptor names in shared memory. */
struct gather_operand {
    enum smem_desc_arch arch;
    uint64_t desc;
    const char *name; /* "A" or "B", for messages */
    bool transposed;  /* MN-major */
    enum canonical_element element;
    uint32_t rows, k;   /* elements */
    uint32_t row_bytes; /* of a row in `out` */
};

/* Plain rows of elements (canonical_gather) at `out`. False with a fault recorded: a descriptor
 * that is none (715; what silicon does is not known), or one that reaches past the CTA's shared
 * memory (700). */
bool operand_gather(struct cta *cta, const struct async_op *op,
                    const struct gather_operand *operand, uint8_t *out);

#endif
