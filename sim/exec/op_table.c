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
