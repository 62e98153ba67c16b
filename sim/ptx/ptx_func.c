/* .entry and .func: formals, directives between the parameter list and the body, prototypes. */
#include <string.h>

#include "bits.h"
#include "ptx_syntax.h"

enum { MAX_ENTRY_PARAM_BYTES = 32764, MAX_FORMALS = 4096 };

static bool parse_formals(struct ptx_parser *p, bool of_entry, bool is_result,
                          struct ir_formal **formals, uint32_t *count) {
    struct ir_formal *list = NULL;
    uint32_t capacity = 0;
    *count = 0;
    if (!ptx_expect(p, '(', "'('"))
        return false;
    while (p->token.kind != ')') {
        list = ptx_grow(p, list, *count, &capacity, sizeof *list);
        if (list == NULL || !ptx_parse_formal(p, of_entry, is_result, &list[*count]))
            return false;
        ++*count;
        if (p->token.kind != ')' && !ptx_expect(p, ',', "',' or ')'"))
            return false;
    }
    ptx_next(p);
    *formals = ptx_keep(p, list, *count, sizeof *list);
    return *formals != NULL;
}

/* Offsets in the parameter block: in order, each at its alignment. */
static bool place_params(struct ptx_parser *p, struct ir_func *func) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < func->param_count; i++) {
        struct ir_symbol *symbol = &p->module->symbols[func->params[i].index];
        at = bits_align_up(at, symbol->align_bytes);
        symbol->offset_bytes = at;
        at += symbol->size_bytes;
        if (at > MAX_ENTRY_PARAM_BYTES) {
            ptx_error(p, (struct ptx_place){symbol->line, symbol->column, 1}, NULL,
                      "the parameters of an entry exceed %d bytes", MAX_ENTRY_PARAM_BYTES);
            return false;
        }
    }
    func->param_bytes = (uint32_t)at;
    return true;
}

static bool parse_dims(struct ptx_parser *p, uint32_t dims[3]) {
    dims[0] = dims[1] = dims[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        struct ptx_place place = ptx_here(p);
        uint64_t value;
        if (!ptx_parse_count(p, UINT32_MAX, "a number of threads or CTAs", &value))
            return false;
        if (value == 0) {
            ptx_error(p, place, NULL, "a number of threads or CTAs must not be zero");
            return false;
        }
        dims[i] = (uint32_t)value;
        if (!ptx_take(p, ','))
            break;
    }
    return true;
}

static bool parse_number(struct ptx_parser *p, uint32_t *number) {
    uint64_t value;
    if (!ptx_parse_count(p, UINT32_MAX, "the value", &value))
        return false;
    *number = (uint32_t)value;
    return true;
}

/* One directive; *known is false when the token is none. */
static bool parse_func_directive(struct ptx_parser *p, struct ir_directives *d, bool *known) {
    uint32_t ignored;
    *known = true;
    if (ptx_take_word(p, ".maxntid"))
        return parse_dims(p, d->maxntid);
    if (ptx_take_word(p, ".reqntid"))
        return parse_dims(p, d->reqntid);
    if (ptx_take_word(p, ".reqnctapercluster"))
        return parse_dims(p, d->reqnctapercluster);
    if (ptx_take_word(p, ".maxnreg"))
        return parse_number(p, &d->maxnreg);
    if (ptx_take_word(p, ".minnctapersm"))
        return parse_number(p, &d->minnctapersm);
    if (ptx_take_word(p, ".maxclusterrank"))
        return parse_number(p, &d->maxclusterrank);
    if (ptx_take_word(p, ".explicitcluster")) {
        d->explicitcluster = true;
        return true;
    }
    if (ptx_take_word(p, ".blocksareclusters")) {
        d->blocksareclusters = true;
        return true;
    }
    if (ptx_take_word(p, ".noreturn")) {
        d->noreturn = true;
        return true;
    }
    if (ptx_take_word(p, ".abi_preserve") || ptx_take_word(p, ".abi_preserve_control"))
        return parse_number(p, &ignored);
    if (ptx_take_word(p, ".pragma"))
        return ptx_parse_pragma(p);
    *known = false;
    return true;
}

/* What excludes or needs each other (ptxas 13.0). */
static bool check_directives(struct ptx_parser *p, const struct ir_directives *d, bool is_entry,
                             struct ptx_place place) {
    static const char note[] =
        "manual: performance-tuning-directives, cluster-dimension-directives";
    bool launch = d->maxntid[0] || d->reqntid[0] || d->reqnctapercluster[0] || d->maxnreg ||
                  d->minnctapersm || d->maxclusterrank || d->explicitcluster ||
                  d->blocksareclusters;
    const char *wrong = NULL;
    if (!is_entry && launch)
        wrong = "a launch directive stands on a .func";
    else if (is_entry && d->noreturn)
        wrong = ".noreturn stands on an .entry";
    else if (d->maxntid[0] && d->reqntid[0])
        wrong = ".maxntid and .reqntid exclude each other";
    else if (d->reqnctapercluster[0] && d->maxclusterrank)
        wrong = ".reqnctapercluster and .maxclusterrank exclude each other";
    else if (d->blocksareclusters && !(d->reqntid[0] && d->reqnctapercluster[0]))
        wrong = ".blocksareclusters needs .reqntid and .reqnctapercluster";
    if (wrong == NULL)
        return true;
    ptx_error(p, place, note, "%s", wrong);
    return false;
}

static bool parse_directives(struct ptx_parser *p, struct ir_func *func) {
    struct ptx_place place = ptx_here(p);
    bool known = true;
    while (known)
        if (!parse_func_directive(p, &func->directives, &known))
            return false;
    return check_directives(p, &func->directives, func->is_entry, place);
}

static bool same_formals(const struct ir_module *module, const struct ir_func *a,
                         const struct ir_formal *fa, uint32_t count_a, const struct ir_func *b,
                         const struct ir_formal *fb, uint32_t count_b) {
    if (count_a != count_b)
        return false;
    for (uint32_t i = 0; i < count_a; i++) {
        if (fa[i].in_register != fb[i].in_register)
            return false;
        if (fa[i].in_register) {
            if (ptx_type_bits((enum ptx_type)a->regs[fa[i].index].type) !=
                ptx_type_bits((enum ptx_type)b->regs[fb[i].index].type))
                return false;
        } else if (module->symbols[fa[i].index].size_bytes !=
                   module->symbols[fb[i].index].size_bytes) {
            return false;
        }
    }
    return true;
}

/* The index of the function in the module: that of its prototype, or a new one. */
static bool enter_func(struct ptx_parser *p, struct ptx_name *name, struct ptx_place place) {
    struct ir_module *module = p->module;
    const struct ptx_decl *decl = name->decl;
    if (decl != NULL && decl->depth == 0 && decl->kind == DECL_FUNC &&
        !module->funcs[decl->index].is_defined &&
        module->funcs[decl->index].is_entry == p->func.is_entry) {
        p->func_index = decl->index;
        return true;
    }
    uint32_t depth = p->depth;
    p->depth = 0; /* a function belongs to the module whatever is open around its head */
    bool declared = ptx_declare(p, name, DECL_FUNC, (int32_t)module->func_count, place) != NULL;
    p->depth = depth;
    if (!declared)
        return false;
    module->funcs =
        ptx_grow(p, module->funcs, module->func_count, &p->func_capacity, sizeof *module->funcs);
    if (module->funcs == NULL) {
        module->func_count = 0;
        return false;
    }
    p->func_index = (int32_t)module->func_count++;
    module->funcs[p->func_index] = (struct ir_func){.name = name->text};
    return true;
}

static bool check_prototype(struct ptx_parser *p, struct ptx_place place) {
    const struct ir_func *old = &p->module->funcs[p->func_index];
    if (old->line == 0 || (same_formals(p->module, old, old->params, old->param_count, &p->func,
                                        p->func.params, p->func.param_count) &&
                           same_formals(p->module, old, old->results, old->result_count, &p->func,
                                        p->func.results, p->func.result_count)))
        return true;
    ptx_error(p, place, NULL,
              "'%s' has other parameters or results than its declaration in line %u", p->func.name,
              old->line);
    return false;
}

/* Symbols of the head were added before the function had an index. */
static void own_symbols(struct ptx_parser *p, uint32_t first) {
    for (uint32_t i = first; i < p->module->symbol_count; i++)
        p->module->symbols[i].func = p->func_index;
}

static bool parse_head(struct ptx_parser *p, bool is_extern, struct ptx_place *place) {
    struct ir_func *func = &p->func;
    uint32_t first_symbol = p->module->symbol_count;
    if (!func->is_entry && p->token.kind == '(' &&
        !parse_formals(p, false, true, &func->results, &func->result_count))
        return false;
    *place = ptx_here(p);
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, "a function name");
    struct ptx_name *name = p->token.name;
    func->name = name->text;
    func->line = place->line;
    func->column = place->column;
    if (!enter_func(p, name, *place))
        return false;
    ptx_next(p);
    if (p->token.kind == '(' &&
        !parse_formals(p, func->is_entry, false, &func->params, &func->param_count))
        return false;
    own_symbols(p, first_symbol);
    if (func->is_entry && !place_params(p, func))
        return false;
    if (!check_prototype(p, *place) || !parse_directives(p, func))
        return false;
    if (is_extern && p->token.kind != ';')
        return ptx_expected(p, "';' behind an .extern declaration");
    return true;
}

/* What is known before the body: so that the function can call itself. */
static bool publish(struct ptx_parser *p) {
    enum { MAX_MODULE_REGS = 1 << 23 };
    struct ir_func *func = &p->func;
    struct ir_func *out = &p->module->funcs[p->func_index];
    *out = *func;
    out->regs = ptx_keep(p, func->regs, func->reg_count, sizeof *func->regs);
    out->insns = ptx_keep(p, func->insns, func->insn_count, sizeof *func->insns);
    out->lists = ptx_keep(p, func->lists, func->list_count, sizeof *func->lists);
    p->total_regs += func->reg_count;
    if (p->total_regs > MAX_MODULE_REGS) {
        ptx_error_status(p, STATUS_UNSUPPORTED, (struct ptx_place){func->line, func->column, 1},
                         NULL, "a module with more than %d registers", MAX_MODULE_REGS);
        return false;
    }
    return out->regs != NULL && out->insns != NULL && out->lists != NULL;
}

static bool parse_definition(struct ptx_parser *p, bool is_extern) {
    struct ptx_place place;
    if (!parse_head(p, is_extern, &place))
        return false;
    if (p->token.kind == ';') {
        ptx_next(p);
        return publish(p);
    }
    if (p->token.kind != '{')
        return ptx_expected(p, "a directive of a function, '{' or ';'");
    p->func.is_defined = true;
    return publish(p) && ptx_parse_body(p) && publish(p);
}

bool ptx_parse_func(struct ptx_parser *p, bool is_entry, bool is_extern, bool is_visible) {
    /* the arrays of the last function are filled again: what it holds was copied */
    p->func = (struct ir_func){.is_entry = is_entry,
                               .is_visible = is_visible,
                               .regs = p->func.regs,
                               .insns = p->func.insns,
                               .lists = p->func.lists};
    p->shared_bytes = 0;
    p->loc_file = -1;
    p->loc_line = 0;
    if (!ptx_scope_push(p))
        return false;
    bool ok = parse_definition(p, is_extern);
    while (p->depth > 0)
        ptx_scope_pop(p);
    p->func_index = -1;
    return ok;
}
