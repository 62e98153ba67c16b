/* A statement against the rows that its mnemonic fits: the first that takes its operands is its
 * form; where none does, the one that took most of them says why. */
#include <stdio.h>
#include <string.h>

#include "ptx_fit.h"
#include "ptx_syntax.h"

/* One operand as the manual would write it: d, [a], d|p, {d, ...}, [map, {...}]. */
static void describe_item(const struct isa_item *item, struct strbuf *out) {
    const char *open = "", *close = "";
    if (item->kind == ISA_ITEM_ADDRESS) {
        open = "[";
        close = "]";
    } else if (item->kind == ISA_ITEM_TENSOR) {
        open = "[";
        close = ", {coordinates}]";
    } else if (item->kind == ISA_ITEM_ARGS) {
        open = "(";
        close = ", ...)";
    } else if (item->list != ISA_LIST_NONE && item->list != ISA_LIST_VECTOR) {
        open = "{";
        close = ", ...}";
    } else if (item->pair != ISA_PAIR_NONE) {
        close = item->pair == ISA_PAIR_REQUIRED ? "|p" : "{|p}";
    }
    strbuf_printf(out, "%s%.*s%s", open, item->name_length, item->name, close);
}

static void describe_operands(const struct isa_pattern *pattern, struct strbuf *out) {
    for (unsigned i = 0; i < pattern->item_count; i++) {
        const struct isa_item *item = &pattern->items[i];
        bool leads = i == 0 && item->optional;
        bool follows = i > 0 && !(i == 1 && pattern->items[0].optional);
        strbuf_puts(out, i == 0 ? (leads ? " {" : " ") : "");
        strbuf_puts(out, i > 0 && item->optional ? "{" : "");
        strbuf_puts(out, follows ? ", " : "");
        describe_item(item, out);
        strbuf_puts(out, leads ? ", }" : item->optional ? "}" : "");
    }
    strbuf_puts(out, pattern->item_count == 0 ? " without operands" : "");
}

static void report_misfit(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                          const struct ptx_misfit *misfit, const struct isa_pattern *pattern,
                          struct ptx_place place) {
    struct strbuf note = {0};
    strbuf_printf(&note, "expected: %s", mnemonic->text);
    describe_operands(pattern, &note);
    strbuf_printf(&note, "; manual: %s", isa_row(pattern->form)->manual);
    if (misfit->where != NULL)
        place = ptx_raw_place(misfit->where);
    ptx_error(p, place, strbuf_text(&note), "'%s': %s", mnemonic->text, misfit->what);
    strbuf_free(&note);
}

static bool is_unsupported(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                           const struct isa_pattern *pattern, struct ptx_place place) {
    if (!pattern->unsupported)
        return false;
    char note[200];
    snprintf(note, sizeof note, "manual: %s", isa_row(pattern->form)->manual);
    place.length = (uint32_t)strlen(mnemonic->text);
    ptx_error_status(p, STATUS_UNSUPPORTED, place, note, "instruction '%s'", mnemonic->text);
    return true;
}

bool ptx_check_insn(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                    struct ptx_place place, struct ir_insn *insn) {
    struct ptx_misfit deepest = {0};
    const struct isa_pattern *nearest = mnemonic->matches[0].pattern; /* there is one at least */
    for (uint32_t i = 0; i < mnemonic->match_count; i++) {
        const struct isa_pattern *pattern = mnemonic->matches[i].pattern;
        struct ptx_misfit misfit = {0};
        struct ptx_fit f = {p, mnemonic, &mnemonic->matches[i], &misfit};
        int8_t chosen[ISA_MAX_ITEMS];
        if (ptx_fit(&f, chosen)) {
            if (is_unsupported(p, mnemonic, pattern, place) || !ptx_build_insn(&f, chosen, insn))
                return false;
            return !pattern->has_args || ptx_check_call(p, insn, place);
        }
        if (i == 0 || misfit.depth > deepest.depth) {
            deepest = misfit;
            nearest = pattern;
        }
    }
    report_misfit(p, mnemonic, &deepest, nearest, place);
    return false;
}
