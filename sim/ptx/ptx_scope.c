/* Blocks: what is declared in one is in force until its end and hides what is outside. A label may
 * be used before it is defined, and a branch reaches labels of its own and of enclosing blocks; so
 * the uses of a block are resolved at its end, and those that find nothing pass to the block around
 * it (PTX manual: identifiers; labels have the scope of their block). */
#include "ptx_parser.h"

bool ptx_scope_push(struct ptx_parser *p) {
    if (p->depth + 1 >= PTX_MAX_DEPTH) {
        ptx_error(p, ptx_here(p), NULL, "blocks are nested more than %d deep", PTX_MAX_DEPTH - 2);
        return false;
    }
    p->depth++;
    p->scopes[p->depth] = (struct ptx_scope){.line = p->token.line, .column = p->token.column};
    return true;
}

static bool resolve(struct ptx_parser *p, struct ptx_label_use *use) {
    const struct ptx_label *label = use->name->label;
    if (label == NULL || label->depth != p->depth)
        return false;
    if (label->is_list != use->wants_list)
        ptx_error(p, (struct ptx_place){use->line, use->column, use->name->length}, NULL,
                  use->wants_list ? "'%s' is a label of an instruction, not of a list of targets"
                                  : "'%s' names a list of targets, not an instruction",
                  use->name->text);
    *use->target = label->index;
    return true;
}

/* The function's own scope is at depth 2: the module is 0, its parameters are 1. */
static void resolve_uses(struct ptx_parser *p) {
    struct ptx_scope *scope = &p->scopes[p->depth];
    struct ptx_label_use *use = scope->uses, *next;
    for (; use != NULL; use = next) {
        next = use->next;
        if (resolve(p, use))
            continue;
        if (p->depth > 1) {
            use->next = p->scopes[p->depth - 1].uses;
            p->scopes[p->depth - 1].uses = use;
        } else {
            ptx_error(p, (struct ptx_place){use->line, use->column, use->name->length},
                      "a branch reaches labels of its own block and of those around it",
                      "label '%s' is not defined here", use->name->text);
        }
    }
    scope->uses = NULL;
}

bool ptx_scope_pop(struct ptx_parser *p) {
    struct ptx_scope *scope = &p->scopes[p->depth];
    resolve_uses(p);
    for (struct ptx_label *label = scope->labels; label != NULL; label = label->scope_next)
        label->name->label = label->outer;
    for (struct ptx_decl *decl = scope->decls; decl != NULL; decl = decl->scope_next) {
        /* a function is declared from inside its own head, so it may hide what is closed here */
        struct ptx_decl **link = &decl->name->decl;
        while (*link != decl)
            link = &(*link)->outer;
        *link = decl->outer;
    }
    *scope = (struct ptx_scope){0};
    p->depth--;
    return true;
}

struct ptx_decl *ptx_declare(struct ptx_parser *p, struct ptx_name *name, enum ptx_decl_kind kind,
                             int32_t index, struct ptx_place place) {
    struct ptx_scope *scope = &p->scopes[p->depth];
    if (name->decl != NULL && name->decl->depth == p->depth) {
        ptx_error(p, place, NULL, "'%s' is declared twice in this block", name->text);
        return NULL;
    }
    struct ptx_decl *decl = arena_alloc(&p->scratch, sizeof *decl, _Alignof(struct ptx_decl));
    if (decl == NULL) {
        ptx_no_memory(p);
        return NULL;
    }
    *decl = (struct ptx_decl){.kind = (uint8_t)kind,
                              .depth = p->depth,
                              .index = index,
                              .name = name,
                              .outer = name->decl,
                              .scope_next = scope->decls};
    scope->decls = decl;
    name->decl = decl;
    return decl;
}

bool ptx_define_label(struct ptx_parser *p, struct ptx_name *name, bool is_list, int32_t index,
                      struct ptx_place place) {
    struct ptx_scope *scope = &p->scopes[p->depth];
    if (name->label != NULL && name->label->depth == p->depth) {
        ptx_error(p, place, NULL, "label '%s' is defined twice in this block", name->text);
        return false;
    }
    struct ptx_label *label = arena_alloc(&p->scratch, sizeof *label, _Alignof(struct ptx_label));
    if (label == NULL)
        return ptx_no_memory(p);
    *label = (struct ptx_label){.name = name,
                                .depth = p->depth,
                                .is_list = is_list,
                                .index = index,
                                .outer = name->label,
                                .scope_next = scope->labels};
    scope->labels = label;
    name->label = label;
    return true;
}

bool ptx_use_label(struct ptx_parser *p, struct ptx_name *name, bool wants_list, int32_t *target,
                   struct ptx_place place) {
    struct ptx_scope *scope = &p->scopes[p->depth];
    struct ptx_label_use *use =
        arena_alloc(&p->scratch, sizeof *use, _Alignof(struct ptx_label_use));
    if (use == NULL)
        return ptx_no_memory(p);
    *use = (struct ptx_label_use){.name = name,
                                  .target = target,
                                  .wants_list = wants_list,
                                  .line = place.line,
                                  .column = place.column,
                                  .next = scope->uses};
    scope->uses = use;
    return true;
}
