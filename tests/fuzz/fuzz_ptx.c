/* Fuzz target: bytes as PTX text through parser, checker, liveness and printer. */
#include <stdlib.h>

#include "fuzz_replay.h"
#include "liveness.h"
#include "ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every function that parsed gets storage, and its first instructions are printed. */
static void use_module(struct arena *arena, const struct ir_module *module) {
    enum { PRINTED = 50 };
    struct strbuf text = {0};
    for (uint32_t i = 0; i < module->func_count; i++) {
        const struct ir_func *func = &module->funcs[i];
        struct reg_slots slots;
        if (!liveness_slots(arena, func, &slots))
            continue;
        for (uint32_t k = 0; k < func->insn_count && k < PRINTED; k++)
            ptx_print_insn(module, func, &func->insns[k], &text);
        for (uint32_t reg = 0; reg < func->reg_count; reg++)
            if (slots.unit[reg] != REG_NO_SLOT && func->regs[reg].type != PTX_PRED &&
                slots.unit[reg] >= slots.unit_count)
                abort(); /* storage lies inside the file */
    }
    strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena = {0};
    struct strbuf log = {0};
    struct ir_module *module = NULL;
    struct ptx_source source = {"fuzz.ptx", size ? (const char *)data : "", size};
    enum status status = ptx_parse(&arena, &source, &module, &log);
    if ((status == STATUS_OK) != (module != NULL) || (status != STATUS_OK && log.length == 0))
        abort(); /* a refusal says why */
    if (module != NULL)
        use_module(&arena, module);
    strbuf_free(&log);
    arena_free(&arena);
    return 0;
}

#ifndef SILTWIN_LIBFUZZER
int main(int argc, char **argv) {
    return fuzz_replay(argc, argv, LLVMFuzzerTestOneInput);
}
#endif
