/* Puts the code of probes into a PTX text. Before a probed instruction stands
 *     { declarations; who observes; copies of what it reads;
 * and behind it
 *     copies of what it wrote; the slot's words; the cursor }
 * all on the instruction's own line. What a function needs once (where each probe keeps this
 * thread's words) stands behind its opening brace. */
#include "probe_rewrite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_place.h"

struct insertion {
    size_t offset;
    int64_t order; /* at one offset: ends of blocks, innermost first, then beginnings */
    struct strbuf text;
};

struct rewriter {
    const struct probe_plan *plan;
    const char *text;
    size_t length;
    size_t *lines; /* offsets of the beginnings of lines */
    size_t line_count;
    struct insertion *insertions;
    uint32_t count;
};

static size_t skip_gap(const struct rewriter *r, size_t at) {
    return at < r->length ? at + ptx_gap(r->text + at, r->length - at) : at;
}

/* Offset behind the first `sign` at or after `at` that is in no comment and no string. */
static size_t behind(const struct rewriter *r, size_t at, char sign) {
    while (at < r->length) {
        at = skip_gap(r, at);
        if (at >= r->length)
            break;
        if (r->text[at] == sign)
            return at + 1;
        if (r->text[at] == '"')
            for (at++; at < r->length && r->text[at] != '"'; at++)
                at += r->text[at] == '\\';
        at++;
    }
    return r->length;
}

static size_t offset_of(const struct rewriter *r, uint32_t line, uint32_t column) {
    return line && line <= r->line_count ? r->lines[line - 1] + column - 1 : r->length;
}

static struct strbuf *insert(struct rewriter *r, size_t offset, bool ends_block) {
    struct insertion *i = &r->insertions[r->count];
    const int64_t order = ++r->count;
    *i = (struct insertion){.offset = offset, .order = ends_block ? -order : order};
    return &i->text;
}

/* ---- a site ---- */

/* strbuf_printf with the probe's own register names: $x is %swP_x. */
__attribute__((format(printf, 3, 4))) static void emit(struct strbuf *out, uint32_t probe,
                                                       const char *format, ...) {
    struct strbuf own = {0};
    va_list args;
    for (; *format; format++)
        if (*format == '$')
            strbuf_printf(&own, "%%%%sw%u_", probe);
        else
            strbuf_append(&own, format, 1);
    va_start(args, format);
    strbuf_vprintf(out, strbuf_text(&own), args);
    va_end(args);
    out->truncated = out->truncated || own.truncated;
    strbuf_free(&own);
}

/* The 64-bit register %swP_vN gets what a register holds. */
static void copy_register(struct strbuf *out, uint32_t probe, uint32_t value, const char *name,
                          unsigned bits) {
    if (bits == 1)
        emit(out, probe, " selp.b64 $v%u, 1, 0, %s;", value, name);
    else if (bits == 8)
        emit(out, probe, " cvt.u64.u8 $v%u, %s;", value, name);
    else if (bits == 16)
        emit(out, probe, " mov.b16 $h, %s; cvt.u64.u16 $v%u, $h;", name, value);
    else if (bits == 32)
        emit(out, probe, " mov.b32 $t, %s; cvt.u64.u32 $v%u, $t;", name, value);
    else if (bits == 64)
        emit(out, probe, " mov.b64 $v%u, %s;", value, name);
    else
        emit(out, probe, " mov.b128 {$v%u, $v%u}, %s;", value, value + 1, name);
}

static void copy_address(struct strbuf *out, const struct probe_plan *plan,
                         const struct probe_site *site, uint32_t value) {
    const struct ir_func *func = &plan->ir->funcs[site->func];
    const struct ir_operand *op = site->values[value].operand, *base = &op->elems[0];
    int64_t imm = op->kind == IR_TENSOR ? 0 : op->imm;
    if (base->kind == IR_REG) {
        const struct ir_reg *reg = &func->regs[base->index];
        copy_register(out, site->probe, value, reg->name, ptx_type_bits((enum ptx_type)reg->type));
    } else {
        const struct ir_symbol *symbol = &plan->ir->symbols[base->index];
        emit(out, site->probe, " mov.b64 $v%u, %s;", value, symbol->name);
        if (symbol->space == SPACE_PARAM)
            emit(out, site->probe, " cvta.param.u64 $v%u, $v%u;", value, value);
        imm += base->imm;
    }
    if (imm)
        emit(out, site->probe, " add.s64 $v%u, $v%u, %" PRId64 ";", value, value, imm);
}

static void copy_values(struct strbuf *out, const struct probe_plan *plan,
                        const struct probe_site *site, bool output) {
    const struct ir_func *func = &plan->ir->funcs[site->func];
    for (uint32_t i = 0; i < site->value_count; i++) {
        const struct probe_value *value = &site->values[i];
        if (value->constant || value->role == PROBE_BYTES || value->output != output)
            continue;
        if (value->operand->kind != IR_REG) {
            copy_address(out, plan, site, i);
            continue;
        }
        const struct ir_reg *reg = &func->regs[value->operand->index];
        const unsigned bits = ptx_type_bits((enum ptx_type)reg->type);
        copy_register(out, site->probe, i, reg->name, bits);
        i += bits == 128;
    }
}

/* Clears %swP_g where `when` does not hold. */
static void add_when(struct strbuf *out, const struct probe_plan *plan,
                     const struct probe_site *site) {
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const struct probe_spec *spec = &plan->specs[site->probe];
    const struct ir_func *func = &plan->ir->funcs[site->func];
    const uint32_t line = func->insns[site->insn].line, p = site->probe;
    if (!spec->when_reg)
        return;
    uint32_t i = func->reg_count - 1;
    while (i > 0 && (func->regs[i].line > line || strcmp(func->regs[i].name, spec->when_reg)))
        i--;
    const enum ptx_type type = (enum ptx_type)func->regs[i].type;
    const unsigned bits = ptx_type_bits(type);
    if (bits == 1)
        emit(out, p, " selp.u32 $t, 1, 0, %s; setp.%s.and.u32 $g, $t, %" PRId64 ", $g;",
             spec->when_reg, compares[spec->when_compare], spec->when_value);
    else
        emit(out, p, " setp.%s.and.%c%u $g, %s, %" PRId64 ", $g;", compares[spec->when_compare],
             ptx_type_class(type) == PTX_CLASS_SINT || spec->when_value < 0 ? 's' : 'u',
             bits < 16 ? 16 : bits, spec->when_reg, spec->when_value);
}

/* What stands before the instruction. */
static void add_head(struct strbuf *out, const struct probe_plan *plan,
                     const struct probe_site *site) {
    const struct ir_func *func = &plan->ir->funcs[site->func];
    const struct ir_insn *insn = &func->insns[site->insn];
    const uint32_t p = site->probe;
    emit(out, p,
         "{ .reg .pred $g, $k, $m; .reg .b16 $h; .reg .b32 $t, $n, $q, $b<4>; .reg .b64 $a, $w, "
         "$v<%u>; setp.ne.s64 $g, $base, 0;",
         site->value_count + 1);
    if ((plan->specs[p].kind == PROBE_EVENT || site->poll) && insn->guard >= 0) {
        const char *guard = func->regs[insn->guard].name;
        if (insn->guard_negated)
            emit(out, p, " not.pred $k, %s; and.pred $g, $g, $k;", guard);
        else
            emit(out, p, " and.pred $g, $g, %s;", guard);
    }
    if (plan->specs[p].kind == PROBE_TMEM)
        emit(out, p,
             " shl.b32 $t, %%sw_quarter, 5; add.u32 $t, $t, %%sw_lane; sub.u32 $t, $t, %u;"
             " setp.lt.and.u32 $g, $t, %u, $g;",
             plan->specs[p].tmem_lane, plan->specs[p].tmem_lanes);
    add_when(out, plan, site);
    copy_values(out, plan, site, false);
    strbuf_puts(out, " ");
}

/* Bytes of memory into the slot at %swP_a. */
static void store_memory(struct strbuf *out, const struct probe_plan *plan,
                         const struct probe_site *site) {
    const struct probe_spec *spec = &plan->specs[site->probe];
    const uint32_t p = site->probe, unit = spec->unit_bytes, turn = unit * spec->lanes;
    const uint32_t bytes = spec->end_bytes - spec->begin_bytes;
    const bool shared = spec->kind == PROBE_SHARED;
    emit(out, p, " mov.u32 $t, %%sw_lane; sub.u32 $t, $t, %u; mul.lo.u32 $t, $t, %u;",
         spec->first_lane, unit);
    if (shared)
        emit(out, p, " mov.b64 $v0, %s;", probe_first_shared(plan->ir, site->func)->name);
    else
        emit(out, p, " @$k ld.global.b64 $v0, [%%sw_buf+%u];",
             PROBE_HEAD_AT + PROBE_HEAD_BYTES * p + 64);
    emit(out, p, " mad.wide.u32 $v0, $t, 1, $v0;");
    for (uint32_t at = 0, slot = 0; at < bytes; at += turn, slot += unit) {
        emit(out, p, " setp.lt.and.u32 $m, $t, %u, $k;", bytes - at);
        if (unit == 16)
            emit(out, p,
                 " @$m ld.%s.v4.b32 {$b0, $b1, $b2, $b3}, [$v0+%u]; @$m st.global.v4.b32 [$a+%u], "
                 "{$b0, $b1, $b2, $b3};",
                 shared ? "shared" : "global", spec->begin_bytes + at,
                 site->offset_bytes + PROBE_SITE_HEAD_BYTES + PROBE_SLOT_HEAD_BYTES + slot);
        else
            emit(out, p, " @$m ld.%s.b32 $b0, [$v0+%u]; @$m st.global.b32 [$a+%u], $b0;",
                 shared ? "shared" : "global", spec->begin_bytes + at,
                 site->offset_bytes + PROBE_SITE_HEAD_BYTES + PROBE_SLOT_HEAD_BYTES + slot);
    }
}

/* Columns of Tensor Memory, by the whole warp, then into the slot. */
static void store_tmem(struct strbuf *out, const struct probe_plan *plan,
                       const struct probe_site *site) {
    const struct probe_spec *spec = &plan->specs[site->probe];
    const uint32_t p = site->probe;
    emit(out, p, " .reg .b32 $c<%u>; shl.b32 $t, %%sw_quarter, 21;", spec->tmem_columns);
    for (uint32_t at = 0, count; at < spec->tmem_columns; at += count) {
        for (count = 128; count > spec->tmem_columns - at;)
            count /= 2;
        emit(out, p, " add.u32 $b0, $t, %u; tcgen05.ld.sync.aligned.32x32b.x%u.b32 {",
             spec->tmem_column + at, count);
        for (uint32_t i = 0; i < count; i++)
            emit(out, p, "%s$c%u", i ? ", " : "", at + i);
        emit(out, p, "}, [$b0];");
    }
    strbuf_puts(out, " tcgen05.wait::ld.sync.aligned;");
    for (uint32_t i = 0; i < spec->tmem_columns; i++)
        emit(out, p, " @$k st.global.b32 [$a+%u], $c%u;",
             site->offset_bytes + PROBE_SITE_HEAD_BYTES + PROBE_SLOT_HEAD_BYTES + 4 * i, i);
}

static void store_values(struct strbuf *out, const struct probe_site *site) {
    const uint32_t p = site->probe;
    for (uint32_t i = 0; i < site->value_count; i++)
        if (!site->values[i].constant && site->values[i].role != PROBE_BYTES)
            emit(out, p, " @$k st.global.b64 [$a+%u], $v%u;",
                 site->offset_bytes + PROBE_SITE_HEAD_BYTES + PROBE_SLOT_HEAD_BYTES +
                     site->values[i].offset_bytes,
                 i);
}

/* Name of the predicate that a poll sets. */
static const char *outcome(const struct probe_plan *plan, const struct probe_site *site) {
    const struct ir_func *func = &plan->ir->funcs[site->func];
    return func->regs[func->insns[site->insn].operands[0].index].name;
}

/* A spin writes once: a failed poll that is there already is not written again, so that a machine
 * which looks for progress does not take the words of a probe for it. */
static void skip_same(struct strbuf *out, const struct probe_plan *plan,
                      const struct probe_site *site) {
    const uint32_t p = site->probe, slot = site->offset_bytes + PROBE_SITE_HEAD_BYTES;
    emit(out, p,
         " mov.b32 $t, 0; mov.b64 $w, 0; @$k ld.global.b32 $t, [$a+%u];"
         " setp.ne.or.s32 $m, $t, $q, %s;",
         slot, outcome(plan, site));
    for (uint32_t i = 0; i < site->value_count; i++)
        if (!site->values[i].constant && !site->values[i].output)
            emit(out, p, " @$k ld.global.b64 $w, [$a+%u]; setp.ne.or.s64 $m, $w, $v%u, $m;",
                 slot + PROBE_SLOT_HEAD_BYTES + site->values[i].offset_bytes, i);
    emit(out, p, " and.pred $k, $k, $m;");
}

/* The cursors: of a failed poll they stay, so that the next one overwrites it. */
static void advance(struct strbuf *out, const struct probe_plan *plan,
                    const struct probe_site *site) {
    const uint32_t p = site->probe;
    const struct probe_spec *spec = &plan->specs[p];
    /* Counting ends one hit behind the last that is kept: an overflow is known by then, and a loop
     * that never ends does not write for ever. */
    if (!spec->last)
        emit(out, p, " setp.le.and.u32 $g, $n, %u, $g;", spec->skip + spec->keep);
    if (site->poll)
        emit(out, p, " and.pred $g, $g, %s; and.pred $k, $k, $g;", outcome(plan, site));
    emit(
        out, p,
        " add.u32 $n, $n, 1; @$g st.global.b32 [$base+%u], $n; @$k st.global.b32 [%%sw_seq], $q; }",
        site->offset_bytes);
}

/* What stands behind the instruction. */
static void add_tail(struct strbuf *out, const struct probe_plan *plan,
                     const struct probe_site *site) {
    const struct probe_spec *spec = &plan->specs[site->probe];
    const uint32_t p = site->probe, at = site->offset_bytes;
    copy_values(out, plan, site, true);
    emit(out, p, " mov.b32 $n, 0; @$g ld.global.b32 $n, [$base+%u]; sub.u32 $t, $n, %u;", at,
         spec->skip);
    if (spec->last)
        emit(out, p, " setp.ge.and.u32 $k, $n, %u, $g; rem.u32 $t, $t, %u;", spec->skip,
             spec->keep);
    else
        emit(out, p, " setp.lt.and.u32 $k, $t, %u, $g;", spec->keep);
    emit(out, p,
         " mad.wide.u32 $a, $t, %u, $base; mov.b32 $q, 0; @$k ld.global.b32 $q, [%%sw_seq]; "
         "add.u32 $q, $q, 1;",
         site->slot_bytes);
    if (site->poll)
        skip_same(out, plan, site);
    emit(out, p, " @$k st.global.v2.b32 [$a+%u], {$q, $n};", at + PROBE_SITE_HEAD_BYTES);
    if (spec->kind == PROBE_SHARED || spec->kind == PROBE_GLOBAL)
        store_memory(out, plan, site);
    else if (spec->kind == PROBE_TMEM)
        store_tmem(out, plan, site);
    store_values(out, site);
    advance(out, plan, site);
}

static void add_site(struct rewriter *r, const struct probe_site *site) {
    const struct ir_insn *insn = &r->plan->ir->funcs[site->func].insns[site->insn];
    const size_t at = offset_of(r, insn->line, insn->column);
    struct strbuf *head = insert(r, ptx_guard_at(r->text, at), false);
    add_head(head, r->plan, site);
    if (site->before) {
        add_tail(head, r->plan, site);
        strbuf_puts(head, " ");
    } else {
        add_tail(insert(r, behind(r, at, ';'), true), r->plan, site);
    }
}

/* ---- a function ---- */

static void add_linear(struct strbuf *out) {
    strbuf_puts(out, " mov.u32 %sw_x, %tid.z; mov.u32 %sw_n, %ntid.y; mov.u32 %sw_y, %tid.y;"
                     " mad.lo.u32 %sw_t, %sw_x, %sw_n, %sw_y; mov.u32 %sw_n, %ntid.x;"
                     " mov.u32 %sw_x, %tid.x; mad.lo.u32 %sw_t, %sw_t, %sw_n, %sw_x;"
                     " and.b32 %sw_lane, %sw_t, 31; shr.u32 %sw_quarter, %sw_t, 5;"
                     " and.b32 %sw_quarter, %sw_quarter, 3;"
                     " mov.u32 %sw_x, %ctaid.x; mov.u32 %sw_y, %ctaid.y; mov.u32 %sw_z, %ctaid.z;"
                     " mov.u32 %sw_n, %nctaid.y; mad.lo.u32 %sw_c, %sw_z, %sw_n, %sw_y;"
                     " mov.u32 %sw_n, %nctaid.x; mad.lo.u32 %sw_c, %sw_c, %sw_n, %sw_x;");
    strbuf_puts(out, " mov.b32 %sw_u, 0; mov.b32 %sw_n, 0; mov.b64 %sw_b, 0;"
                     " @%sw_ok ld.global.b32 %sw_u, [%sw_buf+8]; sub.u32 %sw_c, %sw_c, %sw_u;"
                     " @%sw_ok ld.global.b32 %sw_n, [%sw_buf+12];"
                     " setp.lt.and.u32 %sw_p, %sw_c, %sw_n, %sw_ok;"
                     " @%sw_ok ld.global.b32 %sw_n, [%sw_buf+16];"
                     " mad.lo.u32 %sw_c, %sw_c, %sw_n, %sw_t;"
                     " @%sw_ok ld.global.b64 %sw_b, [%sw_buf]; add.s64 %sw_b, %sw_b, %sw_buf;"
                     " mad.wide.u32 %sw_b, %sw_c, 4, %sw_b; selp.b64 %sw_seq, %sw_b, 0, %sw_p;");
}

/* Loads a word of a probe's head. */
static void head_word(struct strbuf *out, const char *reg, uint32_t probe, uint32_t offset) {
    strbuf_printf(out, " @%%sw_ok ld.global.b32 %%sw_%s, [%%sw_buf+%u];", reg,
                  PROBE_HEAD_AT + PROBE_HEAD_BYTES * probe + offset);
}

static void add_base(struct strbuf *out, uint32_t probe) {
    static const char *const axes[] = {"x", "y", "z"};
    strbuf_puts(out, " and.pred %sw_p, %sw_ok, %sw_ok;");
    for (uint32_t i = 0; i < 3; i++) {
        head_word(out, "u", probe, 16 + 4 * i);
        strbuf_printf(out, " setp.lt.and.u32 %%sw_p, %%sw_%s, %%sw_u, %%sw_p;", axes[i]);
    }
    head_word(out, "u", probe, 28);
    strbuf_puts(out, " mad.lo.u32 %sw_c, %sw_y, %sw_u, %sw_x;");
    head_word(out, "u", probe, 32);
    strbuf_puts(out, " mad.lo.u32 %sw_c, %sw_z, %sw_u, %sw_c;");
    head_word(out, "u", probe, 36);
    head_word(out, "n", probe, 40);
    strbuf_puts(out, " sub.u32 %sw_c, %sw_c, %sw_u; setp.lt.and.u32 %sw_p, %sw_c, %sw_n, %sw_p;"
                     " shr.u32 %sw_w, %sw_t, 5;");
    head_word(out, "u", probe, 44);
    head_word(out, "n", probe, 48);
    strbuf_puts(out, " sub.u32 %sw_w, %sw_w, %sw_u; setp.lt.and.u32 %sw_p, %sw_w, %sw_n, %sw_p;"
                     " mad.lo.u32 %sw_c, %sw_c, %sw_n, %sw_w;");
    head_word(out, "u", probe, 52);
    head_word(out, "n", probe, 56);
    strbuf_puts(out, " sub.u32 %sw_w, %sw_lane, %sw_u; setp.lt.and.u32 %sw_p, %sw_w, %sw_n, %sw_p;"
                     " mad.lo.u32 %sw_c, %sw_c, %sw_n, %sw_w;");
    head_word(out, "u", probe, 8);
    emit(out, probe,
         " @%%sw_ok ld.global.b64 %%sw_b, [%%sw_buf+%u]; add.s64 %%sw_b, %%sw_b, %%sw_buf; "
         "mad.wide.u32 %%sw_b, %%sw_c, %%sw_u, %%sw_b; selp.b64 $base, %%sw_b, 0, %%sw_p;",
         PROBE_HEAD_AT + PROBE_HEAD_BYTES * probe);
}

static bool observed(const struct probe_plan *plan, uint32_t func, uint32_t probe) {
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (plan->sites[i].func == func && plan->sites[i].probe == probe)
            return true;
    return false;
}

/* What a function does once. */
static void add_prologue(struct rewriter *r, uint32_t index) {
    const struct ir_func *func = &r->plan->ir->funcs[index];
    const size_t at = behind(r, offset_of(r, func->line, func->column), '{');
    struct strbuf *out = insert(r, at, false);
    strbuf_puts(out, " .reg .b64 %sw_buf, %sw_seq; .reg .b32 %sw_lane, %sw_quarter;");
    for (uint32_t p = 0; p < r->plan->spec_count; p++)
        if (observed(r->plan, index, p))
            emit(out, p, " .reg .b64 $base;");
    strbuf_puts(out, " { .reg .pred %sw_ok, %sw_p; .reg .b32 %sw_x, %sw_y, %sw_z, %sw_t, %sw_n,"
                     " %sw_c, %sw_u, %sw_w; .reg .b64 %sw_b;"
                     " ld.global.b64 %sw_buf, [" PROBE_SYMBOL "];"
                     " setp.ne.s64 %sw_ok, %sw_buf, 0;");
    add_linear(out);
    for (uint32_t p = 0; p < r->plan->spec_count; p++) {
        if (!observed(r->plan, index, p))
            continue;
        add_base(out, p);
        const struct ir_symbol *param;
        for (uint32_t n = 0; (param = probe_map_param(r->plan->ir, func, n)); n++)
            emit(out, p,
                 " mov.b64 %%sw_b, %s; cvta.param.u64 %%sw_b, %%sw_b; @%%sw_p st.global.b64 "
                 "[$base+%u], %%sw_b;",
                 param->name, 8 * n);
    }
    strbuf_puts(out, " }");
}

/* ---- the text ---- */

static size_t skip_word(const struct rewriter *r, size_t at) {
    while (at < r->length && (ptx_is_name(r->text[at]) || r->text[at] == '.'))
        at++;
    return at;
}

/* Where declarations may begin: behind .address_size, or behind .target. */
static size_t declarations(const struct rewriter *r) {
    size_t at = 0, found = 0;
    for (;;) {
        at = skip_gap(r, at);
        const size_t end = skip_word(r, at);
        const char *word = r->text + at;
        const size_t length = end - at;
        if (length == 13 && !memcmp(word, ".address_size", 13)) {
            at = skip_gap(r, end);
            return skip_word(r, at);
        }
        if (length == 7 && !memcmp(word, ".target", 7)) {
            at = end;
            do {
                at = skip_gap(r, at + (r->text[at] == ','));
                found = at = skip_word(r, at);
                at = skip_gap(r, at);
            } while (at < r->length && r->text[at] == ',');
            at = found;
            continue;
        }
        if (length == 8 && !memcmp(word, ".version", 8)) {
            at = skip_word(r, skip_gap(r, end));
            continue;
        }
        return found;
    }
}

static int by_offset(const void *a, const void *b) {
    const struct insertion *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool set_up(struct rewriter *r) {
    size_t lines = 1;
    for (size_t i = 0; i < r->length; i++)
        lines += r->text[i] == '\n';
    r->lines = malloc(lines * sizeof *r->lines);
    r->insertions = malloc((2 * (size_t)r->plan->site_count + r->plan->ir->func_count + 1) *
                           sizeof *r->insertions);
    if (!r->lines || !r->insertions)
        return false;
    for (size_t i = 0; i < r->length; i++)
        if (i == 0 || r->text[i - 1] == '\n')
            r->lines[r->line_count++] = i;
    return true;
}

static void put_together(struct rewriter *r, struct strbuf *out) {
    size_t at = 0;
    qsort(r->insertions, r->count, sizeof *r->insertions, by_offset);
    for (uint32_t i = 0; i < r->count; i++) {
        struct insertion *insertion = &r->insertions[i];
        strbuf_append(out, r->text + at, insertion->offset - at);
        strbuf_append(out, strbuf_text(&insertion->text), insertion->text.length);
        at = insertion->offset;
        out->truncated = out->truncated || insertion->text.truncated;
        strbuf_free(&insertion->text);
    }
    strbuf_append(out, r->text + at, r->length - at);
}

enum status probe_rewrite(const struct probe_plan *plan, const char *text, size_t length,
                          struct strbuf *out) {
    struct rewriter r = {.plan = plan, .text = text, .length = length};
    if (memmem(text, length, "%sw_", 4) || memmem(text, length, PROBE_SYMBOL, strlen(PROBE_SYMBOL)))
        return STATUS_INVALID;
    if (!set_up(&r)) {
        free(r.lines);
        free(r.insertions);
        return STATUS_NO_MEMORY;
    }
    strbuf_puts(insert(&r, declarations(&r), false),
                " .visible .global .align 8 .b64 " PROBE_SYMBOL ";");
    for (uint32_t f = 0; f < plan->ir->func_count; f++) {
        bool any = false;
        for (uint32_t i = 0; i < plan->site_count && !any; i++)
            any = plan->sites[i].func == f;
        if (any)
            add_prologue(&r, f);
    }
    for (uint32_t i = 0; i < plan->site_count; i++)
        add_site(&r, &plan->sites[i]);
    put_together(&r, out);
    free(r.lines);
    free(r.insertions);
    return out->truncated ? STATUS_NO_MEMORY : STATUS_OK;
}
