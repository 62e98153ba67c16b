/* Questions about a parsed module and its instructions that have one answer for every reader. */
#include "ir.h"

#include <string.h>

int32_t ir_find_func(const struct ir_module *module, const char *name) {
    for (uint32_t i = 0; i < module->func_count; i++)
        if (strcmp(module->funcs[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

int32_t ir_find_symbol(const struct ir_module *module, const char *name) {
    for (uint32_t i = 0; i < module->symbol_count; i++)
        if (module->symbols[i].func < 0 && strcmp(module->symbols[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

enum ptx_space ir_qual_space(enum ptx_qual qual) {
    switch (qual) {
    case QUAL_GLOBAL: return SPACE_GLOBAL;
    case QUAL_CONST: return SPACE_CONST;
    case QUAL_SHARED:
    case QUAL_SHARED_CTA: return SPACE_SHARED;
    case QUAL_SHARED_CLUSTER: return SPACE_SHARED_CLUSTER;
    case QUAL_LOCAL: return SPACE_LOCAL;
    case QUAL_PARAM:
    case QUAL_PARAM_ENTRY:
    case QUAL_PARAM_FUNC: return SPACE_PARAM;
    default: return SPACE_GENERIC;
    }
}

enum ptx_space ir_space(const struct ir_insn *insn, unsigned nth) {
    for (unsigned i = 0; i < insn->qual_count; i++) {
        enum ptx_space space = ir_qual_space((enum ptx_qual)insn->quals[i]);
        if (space != SPACE_GENERIC && nth-- == 0)
            return space;
    }
    return SPACE_GENERIC;
}

unsigned ir_vector_count(const struct ir_insn *insn) {
    for (unsigned i = 0; i < insn->qual_count; i++) {
        if (insn->quals[i] == QUAL_V2)
            return 2;
        if (insn->quals[i] == QUAL_V4)
            return 4;
        if (insn->quals[i] == QUAL_V8)
            return 8;
    }
    return 1;
}
