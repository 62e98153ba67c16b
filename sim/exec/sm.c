#include <stdlib.h>

#include "grid.h"

/* Tensor Memory of the SMs of a set: each serves ctas_per_sm slots. */
struct sm {
    struct tmem tmem;
    struct tmem_allocator allocator;
};

bool set_create_sms(struct cta_set *set) {
    if (!set->run->kernel->uses_tmem)
        return true;
    uint32_t per_sm = set->run->ctas_per_sm;
    set->sms = calloc((set->slot_count + per_sm - 1) / per_sm, sizeof *set->sms);
    return set->sms != NULL;
}

void set_destroy_sms(struct cta_set *set) {
    free(set->sms);
}

void set_give_tmem(struct cta_set *set, uint32_t slot, uint64_t cta_index) {
    if (set->sms == NULL)
        return;
    const struct run *run = set->run;
    struct cta *cta = &set->slots[slot];
    struct sm *sm = &set->sms[slot / run->ctas_per_sm];
    cta->tmem = &sm->tmem;
    cta->tmem_allocator = &sm->allocator;
    cta->tmem_cta = (struct tmem_cta){.cta = slot % run->ctas_per_sm};
    /* What an earlier CTA left must not help: new garbage whenever the SM is free. */
    if (sm->allocator.count == 0)
        tmem_fill_undefined(&sm->tmem, run->launch->pattern_seed ^ cta_index);
}

bool cta_finish_tmem(struct cta *cta) {
    if (cta->tmem == NULL)
        return true;
    uint32_t left = tmem_cta_exit(cta->tmem_allocator, &cta->tmem_cta);
    if (left == 0)
        return true;
    return cta_fault(cta, NULL, FAULT_TENSOR_MEMORY_LEAK,
                     "the CTA ended with %u columns of Tensor Memory not deallocated", left);
}
