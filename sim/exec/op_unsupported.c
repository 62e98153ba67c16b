/* Forms of the table that are PTX but not modelled. The checker refuses them by name; this selector
 * stands in the table for them. */
#include "warp.h"

exec_select op_unsupported;
exec_fn *op_unsupported(struct decode *d, struct xinsn *x) {
    return decode_unsupported(d, x, "%s: this form is not modelled",
                              isa_row((enum isa_form)x->ir->form)->opcode);
}
