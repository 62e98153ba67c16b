/* A statement against the rows that its mnemonic fits: the first that takes its operands is its
 * form; where none does, the one that took most of them says why. */
#include <stdio.h>
#include <string.h>

#include "ptx_fit.h"
#include "ptx_syntax.h"

static void report_misfit(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                          const struct ptx_misfit *misfit, const struct isa_pattern *pattern,
                          struct ptx_place place) {
    const struct isa_row *row = isa_row(pattern->form);
    char note[300];
    snprintf(note, sizeof note, "expected: %s %s; manual: %s", mnemonic->text,
             row->operands[0] ? row->operands : "without operands", row->manual);
    if (misfit->where != NULL)
        place = ptx_raw_place(misfit->where);
    ptx_error(p, place, note, "'%s': %s", mnemonic->text, misfit->what);
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
    const struct isa_pattern *nearest = NULL;
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
        if (nearest == NULL || misfit.depth > deepest.depth) {
            deepest = misfit;
            nearest = pattern;
        }
    }
    report_misfit(p, mnemonic, &deepest, nearest, place);
    return false;
}
