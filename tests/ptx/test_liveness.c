#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "liveness.h"
#include "ptx.h"

struct function {
    struct arena arena;
    struct ir_module *module;
    const struct ir_func *func;
    struct reg_slots slots;
};

static void load(struct function *f, const char *body) {
    struct strbuf text = {0}, log = {0};
    strbuf_printf(&text, ".version 9.0\n.target sm_90a\n.entry k {\n%s\n}\n", body);
    struct ptx_source source = {"live.ptx", text.text, text.length};
    *f = (struct function){0};
    cr_assert_eq(ptx_parse(&f->arena, &source, &f->module, &log), STATUS_OK, "%s",
                 strbuf_text(&log));
    f->func = &f->module->funcs[0];
    cr_assert(liveness_slots(&f->arena, f->func, &f->slots));
    strbuf_free(&text);
    strbuf_free(&log);
}

static uint32_t unit(const struct function *f, const char *name) {
    for (uint32_t i = 0; i < f->func->reg_count; i++)
        if (strcmp(f->func->regs[i].name, name) == 0)
            return f->slots.unit[i];
    cr_assert_fail("no register %s", name);
    return 0;
}

Test(liveness, a_chain_needs_two_units) {
    struct function f;
    load(&f, ".reg .b32 a, b, c, d, unused;\n"
             "mov.b32 a, 1; add.u32 b, a, 1; add.u32 c, b, 1; add.u32 d, c, 1;");
    cr_expect_eq(f.slots.unit_count, 2);
    cr_expect_eq(unit(&f, "a"), unit(&f, "c"));
    cr_expect_neq(unit(&f, "a"), unit(&f, "b"));
    cr_expect_eq(unit(&f, "unused"), REG_NO_SLOT);
    cr_expect_eq(f.slots.max_live_units, 2);
    arena_free(&f.arena);
}

Test(liveness, a_destination_never_takes_the_place_of_a_source) {
    struct function f;
    load(&f, ".reg .b32 a, b; .reg .b64 w;\n"
             "mov.b32 a, 1; mov.b32 b, 2; mov.b64 w, {a, b}; mov.b64 {b, a}, w;");
    uint32_t w = unit(&f, "w");
    cr_expect_eq(w % 2, 0);
    cr_expect(unit(&f, "a") / 2 != w / 2 && unit(&f, "b") / 2 != w / 2);
    arena_free(&f.arena);
}

Test(liveness, predicates_are_counted_apart) {
    struct function f;
    load(&f, ".reg .pred p, q; .reg .b32 a;\n"
             "mov.b32 a, 1; mov.pred p, 1; mov.pred q, p; @q mov.b32 a, 2; add.u32 a, a, a;");
    cr_expect_eq(f.slots.pred_count, 2);
    cr_expect_eq(f.slots.unit_count, 1);
    arena_free(&f.arena);
}

Test(liveness, a_value_needed_around_a_loop_keeps_its_place) {
    struct function f;
    load(&f, ".reg .b32 k, i, t, u; .reg .pred p;\n"
             "mov.b32 k, 9; mov.b32 i, 0;\n"
             "L: add.u32 t, i, k; add.u32 u, t, 1; mov.b32 i, u;\n"
             "@p bra L; add.u32 t, k, k;");
    cr_expect_neq(unit(&f, "k"), unit(&f, "t"));
    cr_expect_neq(unit(&f, "k"), unit(&f, "u"));
    cr_expect_neq(unit(&f, "i"), unit(&f, "t"));
    arena_free(&f.arena);
}

Test(liveness, the_arms_of_a_branch_may_share) {
    struct function f;
    load(&f, ".reg .b32 a, x, y; .reg .pred p;\n"
             "mov.b32 a, 1; mov.pred p, 1; @p bra E;\n"
             "mov.b32 x, 1; add.u32 a, x, 1; bra D;\n"
             "E: mov.b32 y, 2; add.u32 a, y, 1;\n"
             "D: add.u32 a, a, a;");
    cr_expect_eq(unit(&f, "x"), unit(&f, "y"));
    cr_expect_neq(unit(&f, "x"), unit(&f, "a"));
    arena_free(&f.arena);
}

Test(liveness, a_guarded_write_keeps_the_old_value_alive) {
    struct function f;
    load(&f, ".reg .b32 a, b, c; .reg .pred p;\n"
             "mov.pred p, 1; mov.b32 b, 1; add.u32 c, b, b; @p mov.b32 a, 3; add.u32 b, a, a;");
    cr_expect_neq(unit(&f, "a"),
                  unit(&f, "c")); /* a may be read unwritten: its own from the start */
    cr_expect_neq(unit(&f, "a"), unit(&f, "b"));
    arena_free(&f.arena);
}

Test(liveness, wide_registers_are_aligned) {
    struct function f;
    load(&f, ".reg .b32 a, b, c; .reg .b64 d; .reg .b128 x; .reg .b16 h;\n"
             "mov.b16 h, 1; mov.b32 a, 1; mov.b64 d, 2; mov.b128 x, {d, d}; mov.b32 b, a;\n"
             "mov.b64 {b, c}, d; mov.b128 {d, d}, x; mov.b16 h, h;");
    cr_expect_eq(unit(&f, "d") % 2, 0);
    cr_expect_eq(unit(&f, "x") % 4, 0);
    cr_expect_leq(f.slots.unit_count, 12);
    arena_free(&f.arena);
}

/* A random program of arithmetic and forward and backward branches, run twice: with a place for
 * each register, and with the places that liveness gives. A register that is read unwritten must
 * still hold the zero of the start. Both runs must compute the same. */
enum { REGS = 24, INSNS = 80, STEPS = 400 };

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void make_program(struct strbuf *out, uint64_t seed) {
    uint64_t s = seed;
    strbuf_printf(out, ".reg .b32 r<%d>; .reg .pred p;\n", REGS);
    for (unsigned i = 0; i < INSNS; i++) {
        strbuf_printf(out, "L%u: ", i);
        uint32_t kind = next_random(&s) % 10, a = next_random(&s) % REGS,
                 b = next_random(&s) % REGS, c = next_random(&s) % REGS;
        uint32_t near = i + next_random(&s) % 10, to = kind == 9 && near > 6 ? near - 6 : near + 1;
        if (kind < 4 || i < 8)
            strbuf_printf(out, "add.u32 r%u, r%u, r%u;\n", a, b, c);
        else if (kind < 8)
            strbuf_printf(out, "mov.u32 r%u, %u;\n", a, next_random(&s) % 1000);
        else
            strbuf_printf(out, "@p bra L%u;\n", to < INSNS ? to : INSNS - 1);
    }
}

static uint32_t read_operand(const struct ir_operand *o, const uint32_t *store,
                             const uint32_t *place) {
    return o->kind == IR_IMM ? (uint32_t)o->imm : store[place[o->index]];
}

static uint64_t run(const struct ir_func *func, uint32_t *store, const uint32_t *place,
                    uint64_t decisions) {
    uint64_t digest = 0;
    uint32_t at = 0;
    for (unsigned step = 0; step < STEPS && at < func->insn_count; step++) {
        const struct ir_insn *insn = &func->insns[at++];
        if (insn->form == ISA_bra) {
            if (next_random(&decisions) & 1)
                at = (uint32_t)insn->operands[0].index;
            continue;
        }
        uint32_t value = read_operand(&insn->operands[1], store, place);
        if (insn->operand_count > 2)
            value += read_operand(&insn->operands[2], store, place);
        store[place[insn->operands[0].index]] = value;
        digest = digest * 31 + value;
    }
    return digest;
}

Test(liveness, random_programs_compute_the_same) {
    unsigned shared = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct function f;
        struct strbuf body = {0};
        make_program(&body, seed);
        load(&f, body.text);
        uint32_t own[REGS + 1], store[64], packed[64];
        for (uint32_t i = 0; i < f.func->reg_count; i++)
            own[i] = i;
        for (uint64_t d = 1; d <= 5; d++) {
            memset(store, 0, sizeof store);
            memset(packed, 0, sizeof packed);
            cr_assert_eq(run(f.func, store, own, d), run(f.func, packed, f.slots.unit, d),
                         "seed %u", (unsigned)seed);
        }
        shared += f.slots.unit_count < REGS;
        strbuf_free(&body);
        arena_free(&f.arena);
    }
    printf("%u of 300 programs need fewer than %d places\n", shared, REGS);
    cr_assert_gt(shared, 0);
}

/* A register that is to be looked at anywhere shares with nobody, used or not. */
Test(liveness, kept_registers_have_their_storage_alone) {
    struct function f;
    load(&f, ".reg .b32 a, b, c, d, unused; .reg .pred p, q;\n"
             "mov.b32 a, 1; setp.eq.u32 p, a, 1; add.u32 b, a, 1; setp.eq.u32 q, b, 1;\n"
             "add.u32 c, b, 1; add.u32 d, c, 1; add.u32 d, d, 1;");
    cr_expect_eq(unit(&f, "a"), unit(&f, "c"), "c may have what a had");
    bool *kept = calloc(f.func->reg_count, sizeof *kept);
    for (uint32_t i = 0; i < f.func->reg_count; i++)
        kept[i] = strchr("aup", f.func->regs[i].name[0]) != NULL;
    cr_assert(liveness_slots_keeping(&f.arena, f.func, kept, &f.slots));
    for (uint32_t i = 0; i < f.func->reg_count; i++)
        for (uint32_t k = 0; k < f.func->reg_count; k++) {
            const bool both_predicates =
                f.func->regs[i].name[0] >= 'p' && f.func->regs[k].name[0] >= 'p' &&
                f.func->regs[i].name[0] < 'u' && f.func->regs[k].name[0] < 'u';
            const bool both_words = strchr("abcdu", f.func->regs[i].name[0]) &&
                                    strchr("abcdu", f.func->regs[k].name[0]);
            if (i != k && kept[i] && (both_predicates || both_words))
                cr_expect_neq(f.slots.unit[i], f.slots.unit[k], "%s and %s", f.func->regs[i].name,
                              f.func->regs[k].name);
        }
    cr_expect_neq(unit(&f, "unused"), REG_NO_SLOT);
    free(kept);
    arena_free(&f.arena);
}

Test(liveness, compiler_sized_functions_take_milliseconds) {
    struct strbuf body = {0};
    enum { COUNT = 18000 };
    strbuf_printf(&body, ".reg .b32 r<31000>; .reg .pred p;\nmov.b32 r0, 1;\n");
    for (unsigned i = 1; i < COUNT; i++) {
        strbuf_printf(&body, "add.u32 r%u, r%u, r%u;\n", i, i - 1, i > 40 ? i - 40 : 0);
        if (i % 12 == 0)
            strbuf_printf(&body, "@p bra B%u;\nB%u:\n", i, i);
    }
    struct function f;
    load(&f, body.text);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    struct reg_slots slots;
    cr_assert(liveness_slots(&f.arena, f.func, &slots));
    clock_gettime(CLOCK_MONOTONIC, &after);
    double ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
                (double)(after.tv_nsec - before.tv_nsec) * 1e-6;
    printf("%d instructions, 31000 registers: %u units, %.1f ms\n", COUNT, slots.unit_count, ms);
    cr_expect_eq(slots.unit_count, 41); /* a value is needed for 40 instructions */
    cr_expect_lt(ms, 2000);
    strbuf_free(&body);
    arena_free(&f.arena);
}
