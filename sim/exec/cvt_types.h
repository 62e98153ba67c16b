#ifndef SILTWIN_CVT_TYPES_H
#define SILTWIN_CVT_TYPES_H

#include "num_cvt.h"
#include "warp.h"

/* What the two files of cvt share. */

/* The number format of a PTX type; of one element for a packed type. */
enum num_type cvt_num_type(enum ptx_type type);

/* A cvt's types and modifiers as num_cvt takes them. */
struct num_cvt cvt_how(const struct ir_insn *insn);

/* A copy that lives as long as the module; NULL without memory. */
const struct num_cvt *cvt_keep(struct decode *d, const struct num_cvt *how);

#endif
