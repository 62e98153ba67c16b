#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa_match.h"
#include "liveness.h"
#include "ptx.h"

/* Every kernel of the tree: which registers are live is worked out again, one instruction at a time
 * and without blocks, and no two that are live or named together may share storage. */

enum { MOST_NAMED = 300 };

struct insn_regs {
    uint16_t read_count, written_count;
    int32_t read[MOST_NAMED], written[MOST_NAMED];
};

struct naive {
    const struct ir_func *func;
    struct insn_regs *regs; /* by instruction */
    uint8_t *live;          /* [instruction][register], live before it */
};

static void collect(const struct ir_operand *o, bool is_output, struct insn_regs *regs) {
    bool address = o->kind == IR_ADDRESS || o->kind == IR_TENSOR;
    if (o->kind == IR_REG && is_output)
        regs->written[regs->written_count++] = o->index;
    else if (o->kind == IR_REG)
        regs->read[regs->read_count++] = o->index;
    cr_assert_lt(regs->read_count + regs->written_count, MOST_NAMED);
    for (unsigned i = 0; i < o->elem_count; i++)
        collect(&o->elems[i], is_output && !address, regs);
}

static void collect_all(struct naive *n) {
    for (uint32_t i = 0; i < n->func->insn_count; i++) {
        const struct ir_insn *insn = &n->func->insns[i];
        struct arena arena = {0};
        struct isa_pattern pattern;
        cr_assert_null(isa_compile(&arena, (enum isa_form)insn->form, &pattern));
        if (insn->guard >= 0)
            n->regs[i].read[n->regs[i].read_count++] = insn->guard;
        for (unsigned k = 0; k < insn->operand_count; k++) {
            collect(&insn->operands[k], pattern.items[k].output, &n->regs[i]);
            if (pattern.items[k].async)
                collect(&insn->operands[k], false, &n->regs[i]);
        }
        arena_free(&arena);
    }
}

/* Adds what is live before `target` to `live`. */
static void merge(const struct naive *n, uint32_t target, uint8_t *live) {
    for (uint32_t r = 0; target < n->func->insn_count && r < n->func->reg_count; r++)
        live[r] |= n->live[(size_t)target * n->func->reg_count + r];
}

static void live_after(const struct naive *n, uint32_t i, uint8_t *live) {
    const struct ir_insn *insn = &n->func->insns[i];
    bool ends = insn->form == ISA_ret || insn->form == ISA_exit || insn->form == ISA_trap;
    bool branches = insn->form == ISA_bra || insn->form == ISA_brx_idx;
    memset(live, 0, n->func->reg_count);
    if (insn->guard >= 0 || !(ends || branches))
        merge(n, i + 1, live);
    if (insn->form == ISA_bra)
        merge(n, (uint32_t)insn->operands[0].index, live);
    if (insn->form == ISA_brx_idx) {
        const struct ir_list *list = &n->func->lists[insn->operands[1].index];
        for (uint32_t k = 0; k < list->count; k++)
            merge(n, (uint32_t)list->targets[k], live);
    }
}

static void solve(struct naive *n, uint8_t *live) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = n->func->insn_count; i-- > 0;) {
            uint8_t *before = n->live + (size_t)i * n->func->reg_count;
            live_after(n, i, live);
            for (unsigned k = 0; k < n->regs[i].written_count; k++)
                live[n->regs[i].written[k]] = n->func->insns[i].guard >= 0;
            for (unsigned k = 0; k < n->regs[i].read_count; k++)
                live[n->regs[i].read[k]] = 1;
            changed |= memcmp(before, live, n->func->reg_count) != 0;
            memcpy(before, live, n->func->reg_count);
        }
    }
}

/* The registers that are live around or named by instruction `i` have storage of their own. */
static void check_insn(const struct naive *n, uint32_t i, const struct reg_slots *slots,
                       uint8_t *live, uint32_t *owner) {
    uint32_t places = slots->unit_count + slots->pred_count;
    live_after(n, i, live);
    merge(n, i, live);
    for (unsigned k = 0; k < n->regs[i].written_count; k++)
        live[n->regs[i].written[k]] = 1;
    memset(owner, 0, (places + 1) * sizeof *owner);
    for (uint32_t r = 0; r < n->func->reg_count; r++) {
        if (!live[r])
            continue;
        bool pred = n->func->regs[r].type == PTX_PRED;
        unsigned bits = ptx_type_bits((enum ptx_type)n->func->regs[r].type);
        uint32_t first = pred ? slots->unit_count + slots->unit[r] : slots->unit[r];
        for (uint32_t u = first; u < first + (bits <= 32 ? 1 : bits / 32); u++) {
            cr_assert(u < places && (pred || u < slots->unit_count), "outside");
            cr_assert_eq(owner[u], 0, "%s, line %u: '%s' and '%s' share storage", n->func->name,
                         n->func->insns[i].line, n->func->regs[r].name,
                         n->func->regs[owner[u] - 1].name);
            owner[u] = r + 1;
        }
    }
}

static uint32_t check_func(struct arena *arena, const struct ir_func *func) {
    struct reg_slots slots;
    cr_assert(liveness_slots(arena, func, &slots));
    struct naive n = {.func = func,
                      .regs = calloc(func->insn_count + 1u, sizeof *n.regs),
                      .live = calloc((size_t)func->insn_count + 1, func->reg_count + 1u)};
    uint8_t *live = calloc(func->reg_count + 1u, 1);
    uint32_t *owner = calloc(slots.unit_count + slots.pred_count + 1u, sizeof *owner);
    collect_all(&n);
    solve(&n, live);
    for (uint32_t i = 0; i < func->insn_count; i++)
        check_insn(&n, i, &slots, live, owner);
    free(n.regs);
    free(n.live);
    free(live);
    free(owner);
    return func->insn_count;
}

static uint32_t check_file(const char *path) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *text = calloc(1, MOST);
    size_t length = fread(text, 1, MOST, file);
    fclose(file);
    struct arena arena = {0};
    struct strbuf log = {0};
    struct ir_module *module = NULL;
    struct ptx_source source = {path, text, length};
    cr_assert_eq(ptx_parse(&arena, &source, &module, &log), STATUS_OK, "%s", strbuf_text(&log));
    uint32_t insns = 0;
    for (uint32_t i = 0; i < module->func_count; i++)
        insns += check_func(&arena, &module->funcs[i]);
    arena_free(&arena);
    strbuf_free(&log);
    free(text);
    return insns;
}

Test(liveness_files, no_two_live_registers_share) {
    static const char *const folders[] = {"device/sm_100a", "device/sm_90a", "tests/isa",
                                          "tests/fuzz/corpus_ptx"};
    uint32_t insns = 0, programs = 0;
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[800];
        snprintf(path, sizeof path, "%s/%s", SILTWIN_ROOT, folders[i]);
        DIR *folder = opendir(path);
        cr_assert_not_null(folder, "%s", path);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            const char *dot = strrchr(entry->d_name, '.');
            if (dot == NULL || strcmp(dot, ".ptx") != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s/%s", SILTWIN_ROOT, folders[i], entry->d_name);
            insns += check_file(path);
            programs++;
        }
        closedir(folder);
    }
    printf("%u instructions of %u programs\n", insns, programs);
    cr_expect_geq(programs, 100);
}
