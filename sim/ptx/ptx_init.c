/* Initialisers: lists in braces, one level per dimension or flat, shorter lists filled with zeros;
 * integers, floating-point numbers, and addresses of variables and functions with an offset,
 * generic or in their own space (PTX manual: variables, initializers). */
#include <string.h>

#include "ptx_syntax.h"

static const uint64_t MAX_INITIALISED_BYTES = UINT64_C(1) << 28;

struct filler {
    struct ptx_parser *p;
    struct ir_symbol *symbol;
    unsigned element_bytes;
    uint8_t *bytes; /* grows for an open array, else has the symbol's size */
    uint64_t capacity_bytes;
    bool open;
    uint64_t end_bytes; /* behind the last element that was given */
    uint32_t relocation_capacity;
};

static bool reserve(struct filler *f, uint64_t offset_bytes, struct ptx_place place) {
    uint64_t need = offset_bytes + f->element_bytes;
    if (need > f->end_bytes)
        f->end_bytes = need;
    if (need <= f->capacity_bytes)
        return true;
    if (!f->open || need > MAX_INITIALISED_BYTES) {
        ptx_error(f->p, place, NULL, "more initial values than the variable holds");
        return false;
    }
    uint64_t capacity = need < 64                      ? 64
                        : need > f->capacity_bytes * 2 ? need
                                                       : f->capacity_bytes * 2;
    uint8_t *grown = arena_alloc(f->p->arena, capacity, 16);
    if (grown == NULL)
        return ptx_no_memory(f->p);
    if (f->bytes != NULL)
        memcpy(grown, f->bytes, f->capacity_bytes);
    f->bytes = grown;
    f->capacity_bytes = capacity;
    return true;
}

/* name, name+offset, generic(name), generic(name)+offset */
static bool fill_address(struct filler *f, uint64_t offset_bytes) {
    struct ptx_parser *p = f->p;
    struct ptx_place place = ptx_here(p);
    struct ir_relocation r = {.offset_bytes = offset_bytes, .symbol = -1, .func = -1};
    if (ptx_at_word(p, "generic") && p->token.name->decl == NULL) {
        ptx_next(p);
        r.generic = true;
        if (!ptx_expect(p, '(', "'('"))
            return false;
    }
    const struct ptx_decl *decl = p->token.kind == TOKEN_NAME ? p->token.name->decl : NULL;
    if (decl == NULL || (decl->kind != DECL_SYMBOL && decl->kind != DECL_FUNC))
        return ptx_expected(p, "a constant or the name of a variable or function");
    if (decl->kind == DECL_SYMBOL)
        r.symbol = decl->index;
    else
        r.func = decl->index;
    ptx_next(p);
    if (r.generic && !ptx_expect(p, ')', "')'"))
        return false;
    if (ptx_take(p, '+') && !ptx_parse_integer(p, &r.addend_bytes))
        return false;
    if (f->element_bytes != 8 && f->element_bytes != 4) {
        ptx_error(p, place, NULL, "an address needs an element of 4 or 8 bytes");
        return false;
    }
    struct ir_relocation *list = ptx_grow(p, f->symbol->relocations, f->symbol->relocation_count,
                                          &f->relocation_capacity, sizeof *list);
    if (list == NULL)
        return false;
    f->symbol->relocations = list;
    list[f->symbol->relocation_count++] = r;
    return reserve(f, offset_bytes, place);
}

static bool fill_value(struct filler *f, uint64_t offset_bytes) {
    struct ptx_parser *p = f->p;
    struct ptx_place place = ptx_here(p);
    if (p->token.kind == TOKEN_STRING) {
        ptx_error(p, place, NULL, "a string cannot initialise a variable");
        return false;
    }
    if (p->token.kind == TOKEN_NAME && !ptx_at_word(p, "WARP_SZ"))
        return fill_address(f, offset_bytes);
    struct ptx_constant c;
    uint64_t bits;
    if (!ptx_parse_constant(p, &c))
        return false;
    if (p->token.kind == '(') {
        ptx_error(p, place, NULL, "a masked address cannot initialise a variable");
        return false;
    }
    const char *wrong = ptx_constant_bits(&c, (enum ptx_type)f->symbol->type, &bits);
    if (wrong != NULL) {
        ptx_error(p, place, NULL, "%s", wrong);
        return false;
    }
    if (!reserve(f, offset_bytes, place))
        return false;
    for (unsigned i = 0; i < f->element_bytes; i++)
        f->bytes[offset_bytes + i] = (uint8_t)(bits >> (8 * i));
    return true;
}

/* Bytes of one element of dimension `level`. */
static uint64_t stride_bytes(const struct filler *f, const uint64_t *dims, unsigned dim_count,
                             unsigned level) {
    uint64_t bytes = f->element_bytes;
    for (unsigned i = level + 1; i < dim_count; i++)
        bytes *= dims[i];
    return bytes;
}

/* A list for dimension `level`; the opening brace is current. Values without inner braces fill the
 * innermost elements in order. */
static bool fill_list(struct filler *f, const uint64_t *dims, unsigned dim_count, unsigned level,
                      uint64_t offset_bytes, bool open) {
    struct ptx_parser *p = f->p;
    uint64_t stride = stride_bytes(f, dims, dim_count, level);
    uint64_t limit = offset_bytes + (open ? MAX_INITIALISED_BYTES : stride * dims[level]);
    uint64_t at = offset_bytes;
    if (stride == 0)
        return ptx_expected(p, "an array whose inner sizes are not zero");
    p->brace_depth++;
    ptx_next(p);
    while (p->token.kind != '}') {
        struct ptx_place place = ptx_here(p);
        bool nested = p->token.kind == '{';
        if (nested && (level + 1 >= dim_count || (at - offset_bytes) % stride != 0)) {
            ptx_error(p, place, NULL, "a list in braces has no place here");
            return false;
        }
        if (at >= limit) {
            ptx_error(p, place, NULL, "more initial values than the variable holds");
            return false;
        }
        if (nested ? !fill_list(f, dims, dim_count, level + 1, at, false) : !fill_value(f, at))
            return false;
        at += nested ? stride : f->element_bytes;
        if (p->token.kind != '}' && !ptx_expect(p, ',', "',' or '}'"))
            return false;
    }
    p->brace_depth--;
    ptx_next(p);
    return true;
}

bool ptx_parse_initialiser(struct ptx_parser *p, struct ir_symbol *symbol, const uint64_t *dims,
                           unsigned dim_count, bool open) {
    struct filler f = {.p = p,
                       .symbol = symbol,
                       .element_bytes = ptx_type_bits((enum ptx_type)symbol->type) / 8,
                       .open = open};
    struct ptx_place place = ptx_here(p);
    if (symbol->size_bytes > MAX_INITIALISED_BYTES || f.element_bytes > 8) {
        ptx_error_status(p, STATUS_UNSUPPORTED, place, NULL,
                         "an initialiser of this size or element type");
        return false;
    }
    if (!open) {
        f.bytes = arena_alloc(p->arena, symbol->size_bytes, 16);
        f.capacity_bytes = symbol->size_bytes;
        if (f.bytes == NULL)
            return ptx_no_memory(p);
    }
    uint64_t vector_dim = symbol->size_bytes / f.element_bytes;
    bool scalar = dim_count == 0;
    bool ok = p->token.kind == '{'
                  ? fill_list(&f, scalar ? &vector_dim : dims, scalar ? 1 : dim_count, 0, 0, open)
              : scalar ? fill_value(&f, 0)
                       : ptx_expected(p, "'{' and the initial values of the array");
    if (!ok)
        return false;
    if (open) {
        uint64_t stride = stride_bytes(&f, dims, dim_count, 0);
        symbol->size_bytes = (f.end_bytes + stride - 1) / stride * stride;
        if (symbol->size_bytes > 0 && symbol->size_bytes > f.capacity_bytes &&
            !reserve(&f, symbol->size_bytes - f.element_bytes, place))
            return false;
    }
    symbol->init = f.bytes;
    symbol->relocations =
        ptx_keep(p, symbol->relocations, symbol->relocation_count, sizeof *symbol->relocations);
    return symbol->relocations != NULL;
}
