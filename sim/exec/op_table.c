#include "decode.h"

/* Which selector decodes which form: the `sem` column of isa.def. */

#define ISA(id, opcode, quals, types, operands, since, manual, sem, evidence) exec_select op_##sem;
#include "isa.def"
#undef ISA

exec_select *const op_table[ISA_COUNT] = {
    [ISA_NONE] = NULL,
#define ISA(id, opcode, quals, types, operands, since, manual, sem, evidence) [ISA_##id] = op_##sem,
#include "isa.def"
#undef ISA
};

/* Forms of the table that are PTX but not modelled. The checker refuses them by name; this selector
 * stands in the table for them. */
exec_fn *op_unsupported(struct decode *d, struct xinsn *x) {
    return decode_unsupported(d, x, "%s", isa_row((enum isa_form)x->ir->form)->opcode);
}
