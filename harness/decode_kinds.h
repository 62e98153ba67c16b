#ifndef SILTWIN_DECODE_KINDS_H
#define SILTWIN_DECODE_KINDS_H

#include <stdint.h>

#include "canonical.h"
#include "decode_report.h"
#include "instr_desc.h"
#include "smem_desc.h"
#include "tmap.h"

/* The kinds of values that `siltwin decode` explains. Each fills a zeroed report; what is wrong
 * with the value goes into its problems. */

/* Which instruction reads a shared-memory descriptor, where the user knows it. */
struct decode_smem_desc_options {
    enum smem_desc_arch arch;
    const char *arch_reason; /* why this architecture, for the report */
    int major;               /* an enum canonical_major, -1: explain both */
    enum canonical_element element;
    const char *element_name; /* "16-bit" */
};
void decode_smem_desc(struct decode_report *report, uint64_t word,
                      const struct decode_smem_desc_options *options);

/* `kind` INSTR_DESC_KIND_COUNT: not said; the first kind that accepts the word is taken and the
 * others named. */
void decode_idesc(struct decode_report *report, uint32_t word, enum instr_desc_kind kind);

void decode_tensormap(struct decode_report *report, const uint8_t image[TMAP_IMAGE_BYTES],
                      enum tmap_arch arch);

/* The value that mbarrier.arrive returns, or the word that mbarrier.inval leaves in memory. */
void decode_token(struct decode_report *report, uint64_t token);
void decode_mbarrier_word(struct decode_report *report, uint64_t word);

#endif
