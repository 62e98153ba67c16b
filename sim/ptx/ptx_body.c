/* The body of a function: declarations, blocks, labels, target lists, and instructions. */
#include <string.h>

#include "ptx_syntax.h"

static bool parse_list_entry(struct ptx_parser *p, bool labels, int32_t *target) {
    struct ptx_place place = ptx_here(p);
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, labels ? "a label" : "a function name");
    struct ptx_name *name = p->token.name;
    if (!labels) {
        if (name->decl == NULL || name->decl->kind != DECL_FUNC)
            return ptx_expected(p, "the name of a declared function");
        *target = name->decl->index;
        ptx_next(p);
        return true;
    }
    ptx_next(p);
    return ptx_use_label(p, name, false, target, place);
}

/* .branchtargets a, b; .calltargets f, g;  The entries get fixed places first: label uses point at
 * them. */
static bool parse_targets(struct ptx_parser *p, bool labels, struct ir_list *list) {
    enum { CHUNK = 64, MAX_TARGETS = 1 << 16 };
    uint32_t capacity = 0, count = 0;
    struct ptx_lexer lexer = p->lexer;
    struct ptx_token token = p->token;
    for (; p->token.kind != ';' && p->token.kind != TOKEN_END; ptx_next(p))
        capacity += p->token.kind == ',';
    p->lexer.at = lexer.at;
    p->lexer.line = lexer.line;
    p->lexer.line_start = lexer.line_start;
    p->token = token;
    list->targets = arena_array(p->arena, capacity + 1u, sizeof *list->targets);
    if (list->targets == NULL)
        return ptx_no_memory(p);
    do {
        if (!parse_list_entry(p, labels, &list->targets[count++]))
            return false;
    } while (ptx_take(p, ','));
    list->count = count;
    return ptx_expect(p, ';', "',' or ';'");
}

static bool formal_bytes(struct ptx_parser *p, const struct ir_formal *formals, uint32_t count,
                         uint32_t **bytes) {
    *bytes = arena_array(p->arena, count, sizeof **bytes);
    if (*bytes == NULL)
        return ptx_no_memory(p);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size =
            formals[i].in_register
                ? (ptx_type_bits((enum ptx_type)p->func.regs[formals[i].index].type) + 7) / 8
                : p->module->symbols[formals[i].index].size_bytes;
        (*bytes)[i] = (uint32_t)size;
    }
    return true;
}

static bool parse_prototype_formals(struct ptx_parser *p, bool is_result, uint32_t **bytes,
                                    uint32_t *count) {
    struct ir_formal *formals = NULL;
    uint32_t capacity = 0;
    *count = 0;
    if (!ptx_expect(p, '(', "'('"))
        return false;
    while (p->token.kind != ')') {
        formals = ptx_grow(p, formals, *count, &capacity, sizeof *formals);
        if (formals == NULL || !ptx_parse_formal(p, false, is_result, &formals[*count]))
            return false;
        ++*count;
        if (p->token.kind != ')' && !ptx_expect(p, ',', "',' or ')'"))
            return false;
    }
    ptx_next(p);
    return formal_bytes(p, formals, *count, bytes);
}

/* .callprototype (results) _ (params) {.noreturn} {.abi_preserve n}; */
static bool parse_prototype(struct ptx_parser *p, struct ir_list *list) {
    uint64_t ignored;
    if (!ptx_scope_push(p))
        return false;
    bool ok = (p->token.kind != '(' ||
               parse_prototype_formals(p, true, &list->result_bytes, &list->result_count)) &&
              (ptx_take(p, '_') || ptx_expect(p, TOKEN_NAME, "'_'")) &&
              (p->token.kind != '(' ||
               parse_prototype_formals(p, false, &list->param_bytes, &list->param_count));
    ptx_scope_pop(p);
    while (ok && p->token.kind == TOKEN_WORD) {
        if (ptx_take_word(p, ".noreturn"))
            continue;
        if (!ptx_take_word(p, ".abi_preserve") && !ptx_take_word(p, ".abi_preserve_control"))
            return ptx_expected(p, "';'");
        ok = ptx_parse_count(p, UINT32_MAX, "a number of registers", &ignored);
    }
    return ok && ptx_expect(p, ';', "';'");
}

/* A label is in front of a list directive. */
static bool parse_list(struct ptx_parser *p, struct ptx_name *name, struct ptx_place place) {
    struct ir_func *func = &p->func;
    func->lists =
        ptx_grow(p, func->lists, func->list_count, &p->list_capacity, sizeof *func->lists);
    if (func->lists == NULL) {
        func->list_count = 0;
        return false;
    }
    struct ir_list list = {.name = name->text};
    int32_t index = (int32_t)func->list_count++;
    func->lists[index] = list;
    if (!ptx_define_label(p, name, true, index, place))
        return false;
    bool ok;
    if (ptx_take_word(p, ".branchtargets"))
        ok = parse_targets(p, true, &list);
    else if (ptx_take_word(p, ".calltargets"))
        ok = parse_targets(p, false, &list);
    else
        ok = ptx_take_word(p, ".callprototype") && parse_prototype(p, &list);
    func->lists[index] = list;
    return ok;
}

static bool is_list_directive(const struct ptx_parser *p) {
    return ptx_at_word(p, ".branchtargets") || ptx_at_word(p, ".calltargets") ||
           ptx_at_word(p, ".callprototype");
}

/* The current token is a name and ':' follows. */
static bool parse_label(struct ptx_parser *p) {
    struct ptx_place place = ptx_here(p);
    struct ptx_name *name = p->token.name;
    ptx_next(p);
    ptx_next(p);
    if (is_list_directive(p))
        return parse_list(p, name, place);
    return ptx_define_label(p, name, false, (int32_t)p->func.insn_count, place);
}

static bool parse_guard(struct ptx_parser *p, struct ir_insn *insn) {
    ptx_next(p);
    insn->guard_negated = ptx_take(p, '!');
    const struct ptx_decl *decl = p->token.kind == TOKEN_NAME ? p->token.name->decl : NULL;
    if (decl == NULL || decl->kind != DECL_REG || p->func.regs[decl->index].type != PTX_PRED)
        return ptx_expected(p, "a predicate register behind '@'");
    insn->guard = decl->index;
    ptx_next(p);
    if (p->token.kind == TOKEN_NAME)
        return true;
    ptx_expected(p, "an instruction behind the guard");
    return p->token.kind == '{';
}

static bool parse_operands(struct ptx_parser *p, bool call) {
    p->raw_count = 0;
    p->operand_count = 0;
    if (p->token.kind == ';')
        return true;
    do {
        if (p->operand_count == PTX_MAX_OPERANDS) {
            ptx_error(p, ptx_here(p), NULL, "an instruction has more than %d operands",
                      PTX_MAX_OPERANDS);
            return false;
        }
        if (!ptx_parse_operand(p, call, &p->operands[p->operand_count++]))
            return false;
    } while (ptx_take(p, ','));
    return p->token.kind == ';' || ptx_expected(p, "',' or ';'");
}

static bool parse_insn(struct ptx_parser *p) {
    struct ir_func *func = &p->func;
    struct ir_insn insn = {.guard = -1, .loc_file = p->loc_file, .loc_line = p->loc_line};
    if (p->token.kind == '@' && !parse_guard(p, &insn))
        return false;
    if (p->token.kind == '{')
        return true; /* reported; the block is parsed as one without a guard */
    struct ptx_place place = ptx_here(p);
    insn.line = place.line;
    insn.column = place.column;
    const struct ptx_mnemonic *mnemonic = ptx_parse_mnemonic(p);
    if (mnemonic == NULL)
        return ptx_no_memory(p);
    if (mnemonic->error != NULL) {
        place.column += mnemonic->error_offset;
        place.length = mnemonic->error_length;
        ptx_error_status(p, mnemonic->status, place, mnemonic->note, "%s", mnemonic->error);
        return false;
    }
    if (!parse_operands(p, mnemonic->has_args))
        return false;
    func->insns =
        ptx_grow(p, func->insns, func->insn_count, &p->insn_capacity, sizeof *func->insns);
    if (func->insns == NULL) {
        func->insn_count = 0;
        return false;
    }
    if (!ptx_check_insn(p, mnemonic, place, &insn)) {
        ptx_next(p);
        return true; /* reported; the statement is complete */
    }
    func->insns[func->insn_count++] = insn;
    ptx_next(p);
    return true;
}

static bool parse_word_statement(struct ptx_parser *p) {
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {{".local", SPACE_LOCAL},
                  {".shared", SPACE_SHARED},
                  {".param", SPACE_PARAM},
                  {".global", SPACE_GLOBAL},
                  {".const", SPACE_CONST}};
    if (ptx_take_word(p, ".reg"))
        return ptx_parse_reg(p);
    if (ptx_take_word(p, ".loc"))
        return ptx_parse_loc(p);
    if (ptx_take_word(p, ".file"))
        return ptx_parse_file(p);
    if (ptx_take_word(p, ".pragma"))
        return ptx_parse_pragma(p);
    bool is_extern = ptx_take_word(p, ".extern");
    for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (ptx_take_word(p, spaces[i].word))
            return ptx_parse_variable(p, spaces[i].space, is_extern ? LINK_EXTERN : LINK_NONE);
    return ptx_expected(p, "a directive of a function body");
}

static bool parse_statement(struct ptx_parser *p) {
    switch (p->token.kind) {
    case TOKEN_WORD: return parse_word_statement(p);
    case '@': return parse_insn(p);
    case ';':
        ptx_error(p, ptx_here(p), NULL, "an empty statement");
        ptx_next(p);
        return true;
    case TOKEN_NAME: {
        const char *next = ptx_lex_peek(&p->lexer);
        return next[0] == ':' && next[1] != ':' ? parse_label(p) : parse_insn(p);
    }
    default: return ptx_expected(p, "an instruction, a label, a directive or '}'");
    }
}

/* The current token is the opening brace. Ends behind the closing one. */
bool ptx_parse_body(struct ptx_parser *p) {
    uint32_t outside = p->depth;
    if (!ptx_scope_push(p))
        return false;
    ptx_next(p);
    while (p->depth > outside) {
        if (p->status == STATUS_NO_MEMORY || p->error_count >= PTX_MAX_ERRORS)
            return false;
        if (p->token.kind == TOKEN_END)
            return ptx_expected(p, "'}'");
        if (p->token.kind == '{') {
            if (!ptx_scope_push(p))
                return false;
            ptx_next(p);
        } else if (p->token.kind == '}') {
            ptx_scope_pop(p);
            ptx_next(p);
        } else if (!parse_statement(p)) {
            ptx_recover(p);
        }
    }
    return true;
}
