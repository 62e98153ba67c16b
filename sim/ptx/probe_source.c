/* What kinds of values an instruction brings in about which machines may disagree. Nothing here
 * looks at more than one instruction. */
#include "probe_source.h"

#include <string.h>

#include "isa.h"

/* ---- words ---- */

static const struct {
    const char *word, *text;
    enum probe_why_when when;
} whys[] = {
    {"", "", PROBE_WHY_NEVER},
#define PROBE_WHY(name, word, text, when) {word, text, PROBE_WHY_##when},
#include "probe_why.def"
#undef PROBE_WHY
};

const char *probe_why_word(enum probe_why why) {
    return whys[why].word;
}

const char *probe_why_text(enum probe_why why) {
    return whys[why].text;
}

enum probe_why_when probe_why_when(enum probe_why why) {
    return whys[why].when;
}

/* ---- what an instruction is ---- */

static const char *opcode_of(const struct ir_insn *insn) {
    return isa_row((enum isa_form)insn->form)->opcode;
}

static bool first_word_is(const struct ir_insn *insn, const char *word) {
    const char *opcode = opcode_of(insn);
    const size_t length = strlen(word);
    return !strncmp(opcode, word, length) && (opcode[length] == '.' || opcode[length] == '\0');
}

static bool first_word_in(const struct ir_insn *insn, const char *const *words) {
    for (; *words; words++)
        if (first_word_is(insn, *words))
            return true;
    return false;
}

static bool is_access(const struct ir_insn *insn) {
    static const char *const words[] = {"ld", "ldu", "st", "red", "atom", NULL};
    return first_word_in(insn, words);
}

bool probe_source_meets_global(const struct ir_insn *insn) {
    const enum ptx_space space = ir_space(insn, 0);
    return is_access(insn) && (space == SPACE_GLOBAL || space == SPACE_GENERIC);
}

bool probe_source_meets_others(const struct ir_insn *insn) {
    static const char *const words[] = {"ldmatrix", "stmatrix",
                                        "redux",    "shfl",
                                        "vote",     "match",
                                        "mma",      "wgmma",
                                        "wmma",     "call",
                                        "tcgen05",  "bar",
                                        "cp",       "movmatrix",
                                        "barrier",  "mbarrier",
                                        "multimem", "tex",
                                        "suld",     "sust",
                                        "tld4",     "clusterlaunchcontrol",
                                        NULL};
    const enum ptx_space space = ir_space(insn, 0);
    if (is_access(insn))
        return space != SPACE_GLOBAL && space != SPACE_PARAM && space != SPACE_CONST;
    return first_word_in(insn, words);
}

bool probe_source_leaves(const struct ir_insn *insn) {
    return insn->form == ISA_bra || insn->form == ISA_brx_idx || insn->form == ISA_ret ||
           insn->form == ISA_exit || insn->form == ISA_trap;
}

bool probe_source_between_ctas(const struct ir_insn *insn) {
    static const char *const words[] = {"atom", "red",  "multimem", "clusterlaunchcontrol",
                                        "mapa", "call", NULL};
    const enum ptx_space space = ir_space(insn, 0);
    const bool elsewhere = space == SPACE_GENERIC || space == SPACE_GLOBAL;
    const bool strong = ir_has(insn, QUAL_ACQUIRE) || ir_has(insn, QUAL_VOLATILE) ||
                        ir_has(insn, QUAL_RELAXED) || ir_has(insn, QUAL_CV);
    if (first_word_in(insn, words) || !strncmp(opcode_of(insn), "barrier.cluster", 15) ||
        !strncmp(opcode_of(insn), "cp.reduce", 9) || space == SPACE_SHARED_CLUSTER)
        return true;
    return first_word_is(insn, "ld") && elsewhere && strong;
}

static enum probe_why special_register(int32_t sreg) {
    switch (sreg) {
    case SREG_CLOCK:
    case SREG_CLOCK_HI:
    case SREG_CLOCK64:
    case SREG_GLOBALTIMER:
    case SREG_GLOBALTIMER_LO:
    case SREG_GLOBALTIMER_HI: return PROBE_WHY_CLOCK;
    case SREG_SMID:
    case SREG_NSMID:
    case SREG_WARPID:
    case SREG_NWARPID:
    case SREG_GRIDID:
    case SREG_CURRENT_GRAPH_EXEC: return PROBE_WHY_ID;
    default: break;
    }
    if (sreg >= SREG_PM0 && sreg <= SREG_PM7_64)
        return PROBE_WHY_CLOCK;
    return sreg >= SREG_ENVREG0 && sreg <= SREG_ENVREG31 ? PROBE_WHY_ID : PROBE_WHY_NONE;
}

/* Why machines may disagree about its results, apart from what it reads in registers. */
enum probe_why probe_source_own(const struct ir_insn *insn) {
    if (first_word_is(insn, "elect"))
        return PROBE_WHY_ELECTED;
    if (first_word_is(insn, "activemask"))
        return PROBE_WHY_ACTIVE;
    if (first_word_is(insn, "atom"))
        return PROBE_WHY_ATOMIC;
    if (first_word_is(insn, "clusterlaunchcontrol"))
        return PROBE_WHY_LAUNCH_CONTROL;
    if (first_word_is(insn, "createpolicy"))
        return PROBE_WHY_OPAQUE;
    if (!strncmp(opcode_of(insn), "mbarrier.arrive", 15) ||
        insn->form == ISA_mbarrier_pending_count)
        return PROBE_WHY_TOKEN;
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (insn->operands[i].kind == IR_SREG && special_register(insn->operands[i].index))
            return special_register(insn->operands[i].index);
    return PROBE_WHY_NONE;
}

/* What ptxas may fuse: no rounding is written, or none counts (packed f32). A product that is
 * saturated cannot be part of a sum. */
bool probe_source_fusible(const struct ir_insn *insn, bool product) {
    static const char *const sums[] = {"add", "sub", NULL};
    if (product ? !first_word_is(insn, "mul") : !first_word_in(insn, sums))
        return false;
    if (insn->type_count != 1)
        return false;
    const enum ptx_type type = (enum ptx_type)insn->types[0];
    const enum ptx_type_class class = ptx_type_class(type);
    const bool packed_float = type == PTX_F16X2 || type == PTX_BF16X2 || type == PTX_F32X2;
    if ((class != PTX_CLASS_FLOAT && !packed_float) || (product && ir_has(insn, QUAL_SAT)))
        return false;
    if (ir_has(insn, QUAL_RZ) || ir_has(insn, QUAL_RM) || ir_has(insn, QUAL_RP))
        return false;
    return type == PTX_F32X2 || !ir_has(insn, QUAL_RN);
}

bool probe_source_approximate(const struct ir_insn *insn) {
    return ir_has(insn, QUAL_APPROX) || (first_word_is(insn, "div") && ir_has(insn, QUAL_FULL));
}
