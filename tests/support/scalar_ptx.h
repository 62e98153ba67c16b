#ifndef SILTWIN_SCALAR_PTX_H
#define SILTWIN_SCALAR_PTX_H

#include "scalar_forms.h"
#include "strbuf.h"

/* Oracle forms as PTX: one kernel a form, operands from memory, one thread a row. */

enum { SCALAR_ROW_BYTES = 8 * (SCALAR_OPERANDS_MAX + 1) };

/* Appends entry `f<id>` (.param .u64 rows, .param .u64 count): thread i reads the operands of row i
 * at rows + i * SCALAR_ROW_BYTES, 8 bytes each (struct scalar_row), and stores the result as 8
 * bytes behind them. 8-bit types ride in 16-bit registers, predicates become 0 or 1. */
void scalar_ptx_kernel(const struct scalar_form *form, struct strbuf *out);

/* .version, .target and .address_size for an H200. */
void scalar_ptx_head(struct strbuf *out);

#endif
