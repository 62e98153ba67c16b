/* The instruction table as rows of strings. */
#include "isa.h"

static const struct isa_row rows[] = {
    {"", "", "", "", "", "", "", "", ""},
#define ISA(id, opcode, quals, types, operands, since, manual, sem, evidence)                      \
    {#id, opcode, quals, types, operands, since, manual, #sem, evidence},
#include "isa.def"
#undef ISA
};

const struct isa_row *isa_row(enum isa_form form) {
    return &rows[form];
}
