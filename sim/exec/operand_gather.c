/* See operand_gather.h. */
#include "operand_gather.h"

static bool bad_descriptor(struct cta *cta, const struct async_op *op,
                           const struct gather_operand *operand, const char *why) {
    return cta_fault(cta, op, FAULT_ILLEGAL_INSTRUCTION, "matrix descriptor 0x%016llx of %s: %s",
                     (unsigned long long)operand->desc, operand->name, why);
}

bool operand_gather(struct cta *cta, const struct async_op *op,
                    const struct gather_operand *operand, uint8_t *out) {
    struct smem_desc desc;
    struct canonical layout;
    uint32_t outside = 0;
    /* wgmma looks at the fields alone (conform_fault, group wgmma). */
    const uint64_t fields = UINT64_C(0xc00e3fff3fff3fff);
    uint64_t word = operand->arch == SMEM_DESC_SM90 ? operand->desc & fields : operand->desc;
    enum smem_desc_error error = smem_desc_decode(operand->arch, word, &desc);
    if (error != SMEM_DESC_OK)
        return bad_descriptor(cta, op, operand, smem_desc_error_text(error));
    enum canonical_error wrong = canonical_prepare(
        &desc, operand->transposed ? CANONICAL_MN : CANONICAL_K, operand->element, &layout);
    if (wrong == CANONICAL_OK) {
        struct canonical_memory memory = {cta->shared, 0, cta->shared_end};
        wrong = canonical_gather(&layout, &memory, operand->rows, operand->k, out,
                                 operand->row_bytes, &outside);
    }
    if (wrong == CANONICAL_OUTSIDE)
        return cta_fault(cta, op, FAULT_ILLEGAL_ADDRESS,
                         "descriptor 0x%016llx makes %s reach shared address 0x%x, past the CTA's "
                         "shared memory (which ends at 0x%x)",
                         (unsigned long long)operand->desc, operand->name, outside,
                         cta->shared_end);
    return wrong == CANONICAL_OK || bad_descriptor(cta, op, operand, canonical_error_text(wrong));
}
