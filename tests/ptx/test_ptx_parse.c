#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ptx.h"

struct parsed {
    struct arena arena;
    struct strbuf log;
    struct ir_module *module;
    enum status status;
};

static void parse(struct parsed *r, const char *text) {
    struct ptx_source source = {"test.ptx", text, strlen(text)};
    *r = (struct parsed){0};
    r->status = ptx_parse(&r->arena, &source, &r->module, &r->log);
}

static void release(struct parsed *r) {
    arena_free(&r->arena);
    strbuf_free(&r->log);
}

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

/* Parses HEAD and `text`, which must be right. */
static const struct ir_module *accept(struct parsed *r, const char *text) {
    struct strbuf all = {0};
    strbuf_printf(&all, "%s%s", HEAD, text);
    parse(r, all.text);
    strbuf_free(&all);
    cr_assert_eq(r->status, STATUS_OK, "%s", strbuf_text(&r->log));
    return r->module;
}

/* The only instructions of the only function. */
static const struct ir_insn *body(struct parsed *r, const char *statements) {
    struct strbuf all = {0};
    strbuf_printf(
        &all,
        ".shared .align 16 .b8 sm[64];\n"
        ".entry k(.param .u64 gp)\n{ .reg .pred p, q; .reg .b32 r<8>; .reg .b64 d<4>; .reg "
        ".f32 f<4>; .reg .b16 h<4>;\n%s\n}",
        statements);
    const struct ir_module *module = accept(r, all.text);
    strbuf_free(&all);
    return module->funcs[0].insns;
}

Test(ptx_parse, module_head_is_recorded) {
    struct parsed r;
    const struct ir_module *m = accept(&r, "");
    cr_expect_eq(m->version, 90);
    cr_expect_eq(m->target, 90);
    cr_expect_eq(m->target_suffix, 'a');
    release(&r);
}

Test(ptx_parse, entry_parameters_have_natural_offsets) {
    struct parsed r;
    const struct ir_module *m =
        accept(&r, ".visible .entry k(.param .u8 a, .param .u32 b, .param .align 64 .b8 c[128],\n"
                   " .param .u64 .ptr .global .align 16 e) { ret; }");
    static const uint64_t offsets[] = {0, 4, 64, 192}, sizes[] = {1, 4, 128, 8};
    const struct ir_func *k = &m->funcs[ir_find_func(m, "k")];
    cr_assert_eq(k->param_count, 4);
    cr_expect_eq(k->param_bytes, 200);
    cr_expect(k->is_entry && k->is_visible && k->is_defined);
    for (unsigned i = 0; i < 4; i++) {
        const struct ir_symbol *s = &m->symbols[k->params[i].index];
        cr_expect_eq(s->offset_bytes, offsets[i]);
        cr_expect_eq(s->size_bytes, sizes[i]);
        cr_expect_eq(s->space, SPACE_PARAM);
        cr_expect_eq(s->is_pointer, i == 3);
    }
    release(&r);
}

Test(ptx_parse, launch_directives) {
    struct parsed r;
    const struct ir_module *m =
        accept(&r, ".entry k .reqntid 32, 2 .reqnctapercluster 2 .explicitcluster .maxnreg 40 "
                   ".minnctapersm 2 .pragma \"nounroll\"; { }");
    const struct ir_directives *d = &m->funcs[0].directives;
    cr_expect(d->reqntid[0] == 32 && d->reqntid[1] == 2 && d->reqntid[2] == 1);
    cr_expect(d->reqnctapercluster[0] == 2 && d->explicitcluster);
    cr_expect(d->maxnreg == 40 && d->minnctapersm == 2 && d->maxntid[0] == 0);
    cr_expect_eq(m->funcs[0].insn_count, 0);
    release(&r);
}

Test(ptx_parse, initialisers) {
    struct parsed r;
    const struct ir_module *m = accept(
        &r, ".global .u32 x = 7;\n.const .f32 c[2][3] = {{1.0, 2.0}, {0f3f800000}};\n"
            ".global .align 8 .u64 t[4] = {5, x, generic(x)+8};\n.global .b8 s[] = {1, 2, 3};\n"
            ".global .s16 n = -2; .global .b8 z[8];");
    static const uint32_t floats[] = {0x3f800000, 0x40000000, 0, 0x3f800000, 0, 0};
    const struct ir_symbol *c = &m->symbols[ir_find_symbol(m, "c")];
    cr_assert_eq(c->size_bytes, sizeof floats);
    cr_expect_eq(memcmp(c->init, floats, sizeof floats), 0);
    const struct ir_symbol *t = &m->symbols[ir_find_symbol(m, "t")];
    cr_assert_eq(t->relocation_count, 2);
    cr_expect(t->relocations[0].offset_bytes == 8 && !t->relocations[0].generic);
    cr_expect(t->relocations[1].offset_bytes == 16 && t->relocations[1].generic);
    cr_expect(t->relocations[1].addend_bytes == 8 &&
              t->relocations[1].symbol == ir_find_symbol(m, "x"));
    cr_expect_eq(t->init[0], 5);
    const struct ir_symbol *s = &m->symbols[ir_find_symbol(m, "s")];
    cr_expect(s->size_bytes == 3 && s->init[2] == 3);
    const struct ir_symbol *n = &m->symbols[ir_find_symbol(m, "n")];
    cr_expect(n->init[0] == 0xfe && n->init[1] == 0xff);
    cr_expect_null(m->symbols[ir_find_symbol(m, "z")].init);
    release(&r);
}

Test(ptx_parse, immediates_become_bits_of_the_type) {
    struct parsed r;
    const struct ir_insn *i =
        body(&r, "mov.u32 r0, 0x1FFFFFFFF; mov.b16 h0, -1; mov.f32 f0, -1.5; mov.f32 f1, "
                 "0d3ff0000000000000; mov.b32 r1, 0f3f800000; mov.pred p, 1; mov.u64 d0, "
                 "0xFFFFFFFFFFFFFFFF; mov.u32 r2, WARP_SZ*4; mov.u32 r3, (5>3)&&(2<1); mov.u32 r4, "
                 "1?2:3; mov.u32 r5, 017|0b101; mov.s32 r6, -7/2; mov.u64 d1, (.u64)-1>>60;");
    static const int64_t expected[] = {0xffffffff, 0xffff,     0xbfc00000, 0x3f800000, 0x3f800000,
                                       1,          -1,         128,        0,          2,
                                       15,         0xfffffffd, 15};
    for (unsigned k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        cr_expect_eq(i[k].operands[1].kind, IR_IMM);
        cr_expect_eq(i[k].operands[1].imm, expected[k], "%u: %llx", k,
                     (unsigned long long)i[k].operands[1].imm);
    }
    release(&r);
}

Test(ptx_parse, labels_belong_to_blocks) {
    struct parsed r;
    const struct ir_insn *i = body(&r, "L: { bra L; { L: bra L; bra M; } L: } M: @!p bra L; E:");
    cr_expect_eq(i[0].operands[0].index, 3); /* the block's own L, defined later */
    cr_expect_eq(i[1].operands[0].index, 1);
    cr_expect_eq(i[2].operands[0].index, 3);
    cr_expect_eq(i[3].operands[0].index, 0);
    cr_expect(i[3].guard >= 0 && i[3].guard_negated);
    release(&r);
}

Test(ptx_parse, registers_of_inner_blocks_hide_outer_ones) {
    struct parsed r;
    const struct ir_insn *i = body(&r, "{ .reg .b32 r0; mov.b32 r0, 1; } mov.b32 r0, 2;");
    const struct ir_func *k = &r.module->funcs[0];
    cr_expect_neq(i[0].operands[0].index, i[1].operands[0].index);
    cr_expect_str_eq(k->regs[i[0].operands[0].index].name, "r0");
    release(&r);
}

Test(ptx_parse, vectors_packs_and_special_registers) {
    struct parsed r;
    const struct ir_insn *i = body(
        &r, "mov.b64 d0, {r0, r1}; mov.b64 {r2, _}, d0; .reg .v4 .b32 v; mov.v4.u32 v, %ctaid; "
            "mov.b32 r0, v.y; mov.u32 r1, %tid.z; mov.u32 r1, sm+16;");
    cr_expect_eq(i[0].operands[1].kind, IR_VECTOR);
    cr_expect_eq(i[1].operands[0].elems[1].kind, IR_SINK);
    cr_expect_eq(i[2].operands[0].elem_count, 4);
    cr_expect(i[2].operands[1].kind == IR_SREG && i[2].operands[1].component == 4);
    cr_expect_eq(i[3].operands[1].index, i[2].operands[0].elems[1].index);
    cr_expect(i[4].operands[1].index == SREG_TID && i[4].operands[1].component == 2);
    cr_expect(i[5].operands[1].kind == IR_SYMBOL && i[5].operands[1].imm == 16);
    release(&r);
}

Test(ptx_parse, calls) {
    struct parsed r;
    const struct ir_module *m = accept(
        &r, ".func (.param .b32 o) f(.param .b32 a, .reg .u32 b);\n"
            ".entry k() { .reg .b32 r; .reg .b64 fp; .param .b32 x, y; call.uni (x), f, (y, r);\n"
            " mov.u64 fp, f; pr: .callprototype (.param .b32 _) _ (.param .b32 _, .reg .u32 _);\n"
            " call (x), fp, (y, 3), pr; ret; }\n"
            ".func (.param .b32 o) f(.param .b32 a, .reg .u32 b) { .reg .b32 t; ret; }");
    const struct ir_func *f = &m->funcs[ir_find_func(m, "f")], *k = &m->funcs[ir_find_func(m, "k")];
    cr_assert_eq(m->func_count, 2);
    cr_expect(f->is_defined && f->param_count == 2 && f->params[1].in_register);
    cr_expect_eq(k->insns[0].operands[1].kind, IR_FUNC);
    cr_expect_eq(k->insns[0].operands[2].elem_count, 2);
    cr_expect_eq(k->insns[2].operands[1].kind, IR_REG);
    cr_assert_eq(k->insns[2].operands[3].kind, IR_LIST);
    const struct ir_list *list = &k->lists[k->insns[2].operands[3].index];
    cr_expect(list->param_count == 2 && list->param_bytes[1] == 4 && list->result_bytes[0] == 4);
    release(&r);
}

Test(ptx_parse, branch_and_call_targets) {
    struct parsed r;
    const struct ir_module *m =
        accept(&r, ".func f { ret; } .func g { ret; }\n.entry k { .reg .b32 i; .reg .b64 p;\n"
                   "t: .branchtargets A, B, A; A: brx.idx.uni i, t; B: mov.u64 p, g;\n"
                   "c: .calltargets f, g; call p, c; }");
    const struct ir_func *k = &m->funcs[ir_find_func(m, "k")];
    cr_assert_eq(k->list_count, 2);
    cr_assert_eq(k->lists[0].count, 3);
    cr_expect(k->lists[0].targets[0] == 0 && k->lists[0].targets[1] == 1);
    cr_expect_eq(k->lists[1].targets[1], ir_find_func(m, "g"));
    cr_expect_eq(k->insns[0].operands[1].kind, IR_LIST);
    release(&r);
}

Test(ptx_parse, source_lines_follow_the_instructions) {
    struct parsed r;
    const struct ir_module *m = accept(
        &r, ".entry k { ret; .loc 3 41 0\n ret;\n .loc 3 42 7, function_name $n+4, inlined_at "
            "1 2 3\n ret; }\n.file 3 \"a.py\", 12, 34\n.section .debug_str { .b8 0 }");
    const struct ir_insn *i = m->funcs[0].insns;
    cr_expect_eq(i[0].loc_file, -1);
    cr_expect_eq(i[1].loc_line, 41);
    cr_expect_eq(i[2].loc_line, 42);
    cr_expect_str_eq(m->files[i[1].loc_file], "a.py");
    cr_expect(i[2].line == 7 && i[2].column == 2);
    release(&r);
}

Test(ptx_parse, alias_shares_the_body) {
    struct parsed r;
    const struct ir_module *m =
        accept(&r, ".func a; .func b { ret; }\n.visible .func a;\n.alias a, b;");
    const struct ir_func *a = &m->funcs[ir_find_func(m, "a")];
    cr_expect(a->is_defined && a->insn_count == 1);
    cr_expect_str_eq(a->name, "a");
    release(&r);
}

Test(ptx_parse, layout_of_the_text_is_free) {
    struct parsed r;
    const struct ir_insn *i = body(&r, "mov\n .b32 /* a */ r0 ,\r\n r1 ; mov.b32 r1,r2;// c\n");
    cr_expect_eq(i[0].types[0], PTX_B32);
    cr_expect_eq(i[1].form, ISA_mov);
    release(&r);
}

Test(ptx_parse, all_errors_are_reported) {
    struct parsed r;
    parse(&r, HEAD ".entry k { .reg .b32 a;\n mov.b32 a, b;\n mov.b32 {a, 1\n, c;\n mvo.b32 a, a;\n"
                   " bra X; }\n.entry k { }");
    cr_expect_eq(r.status, STATUS_SYNTAX);
    cr_expect_null(r.module);
    const char *log = strbuf_text(&r.log);
    cr_expect(strstr(log, "test.ptx:5:13: error: ") != NULL, "%s", log);
    cr_expect(strstr(log, "test.ptx:8:2: error: ") != NULL, "%s", log);
    cr_expect(strstr(log, "did you mean 'mov'?") != NULL, "%s", log);
    cr_expect(strstr(log, "test.ptx:9:6: error: ") != NULL, "%s", log);
    cr_expect(strstr(log, "test.ptx:10:8: error: ") != NULL, "%s", log);
    release(&r);
}

Test(ptx_parse, what_is_not_modelled_is_said) {
    struct parsed r;
    parse(&r, HEAD ".entry k { vadd.s32.s32.s32 a, b, c; }");
    cr_expect_eq(r.status, STATUS_UNSUPPORTED);
    cr_expect(strstr(strbuf_text(&r.log), "not modelled: instruction 'vadd.s32.s32.s32'") != NULL);
    release(&r);
}
