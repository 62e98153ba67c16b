/* The module level: directives in the order of their text, and the helpers on the token stream.
 * Every error is reported where it is found; then parsing goes on behind the next ';'. */

#include <string.h>

#include "ptx_syntax.h"

void ptx_next(struct ptx_parser *p) {
    ptx_lex(&p->lexer, &p->token);
}

bool ptx_take(struct ptx_parser *p, int kind) {
    if (p->token.kind != kind)
        return false;
    ptx_next(p);
    return true;
}

bool ptx_expect(struct ptx_parser *p, int kind, const char *what) {
    return ptx_take(p, kind) || ptx_expected(p, what);
}

bool ptx_at_word(const struct ptx_parser *p, const char *word) {
    return (p->token.kind == TOKEN_WORD || p->token.kind == TOKEN_NAME) &&
           strlen(word) == p->token.length && memcmp(word, p->token.start, p->token.length) == 0;
}

bool ptx_take_word(struct ptx_parser *p, const char *word) {
    if (!ptx_at_word(p, word))
        return false;
    ptx_next(p);
    return true;
}

void ptx_recover(struct ptx_parser *p) {
    int braces = p->brace_depth;
    p->brace_depth = 0;
    for (; p->token.kind != TOKEN_END; ptx_next(p)) {
        if (p->token.kind == ';') {
            ptx_next(p);
            return;
        }
        if (p->token.kind == '{')
            braces++;
        if (p->token.kind == '}' && braces-- <= 0)
            return;
    }
}

void *ptx_grow(struct ptx_parser *p, void *items, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity)
        return items;
    uint32_t grown = *capacity == 0 ? 16 : *capacity * 2;
    char *copy = grown > *capacity ? arena_array(&p->scratch, grown, size) : NULL;
    if (copy == NULL) {
        ptx_no_memory(p);
        return NULL;
    }
    if (count > 0)
        memcpy(copy, items, count * size);
    *capacity = grown;
    return copy;
}

void *ptx_keep(struct ptx_parser *p, const void *items, uint32_t count, size_t size) {
    void *copy = arena_array(p->arena, count, size);
    if (copy == NULL)
        ptx_no_memory(p);
    else if (count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

bool ptx_parse_pragma(struct ptx_parser *p) {
    do {
        if (!ptx_expect(p, TOKEN_STRING, "a string"))
            return false;
    } while (ptx_take(p, ','));
    return ptx_expect(p, ';', "';'");
}

/* Index of a .file number in module->files; a .loc may come before its .file. */
static bool file_index(struct ptx_parser *p, uint64_t number, int32_t *index) {
    struct ir_module *module = p->module;
    for (uint32_t i = module->file_count; i-- > 0;) {
        if (p->file_entries[i].number == number) {
            *index = (int32_t)i;
            return true;
        }
    }
    struct ptx_file_entry *entries =
        ptx_grow(p, p->file_entries, module->file_count, &p->file_capacity, sizeof *entries);
    if (entries == NULL)
        return false;
    p->file_entries = entries;
    *index = (int32_t)module->file_count++;
    entries[*index] = (struct ptx_file_entry){.number = number, .name = ""};
    return true;
}

bool ptx_parse_file(struct ptx_parser *p) {
    uint64_t number, ignored;
    int32_t index;
    if (!ptx_parse_count(p, INT32_MAX, "a file number", &number))
        return false;
    if (p->token.kind != TOKEN_STRING)
        return ptx_expected(p, "a file name in quotes");
    const char *name = arena_strndup(p->arena, p->token.start, p->token.length);
    if (name == NULL)
        return ptx_no_memory(p);
    if (!file_index(p, number, &index))
        return false;
    p->file_entries[index].name = name;
    ptx_next(p);
    if (!ptx_take(p, ','))
        return true;
    return ptx_parse_count(p, UINT64_MAX, "a time stamp", &ignored) && ptx_expect(p, ',', "','") &&
           ptx_parse_count(p, UINT64_MAX, "a file size", &ignored);
}

/* .loc file line column {, function_name label{+offset}, inlined_at file line column} */
bool ptx_parse_loc(struct ptx_parser *p) {
    uint64_t file, line, column;
    if (!ptx_parse_count(p, INT32_MAX, "a file number", &file) ||
        !ptx_parse_count(p, UINT32_MAX, "a line", &line) ||
        !ptx_parse_count(p, UINT32_MAX, "a column", &column) || !file_index(p, file, &p->loc_file))
        return false;
    p->loc_line = (uint32_t)line;
    if (!ptx_take(p, ','))
        return true;
    if (!ptx_take_word(p, "function_name"))
        return ptx_expected(p, "function_name");
    if (!ptx_expect(p, TOKEN_NAME, "a label"))
        return false;
    if (ptx_take(p, '+') && !ptx_parse_count(p, UINT64_MAX, "an offset", &column))
        return false;
    if (!ptx_expect(p, ',', "','"))
        return false;
    if (!ptx_take_word(p, "inlined_at"))
        return ptx_expected(p, "inlined_at");
    return ptx_parse_count(p, INT32_MAX, "a file number", &file) &&
           ptx_parse_count(p, UINT32_MAX, "a line", &line) &&
           ptx_parse_count(p, UINT32_MAX, "a column", &column);
}

/* .section name { ... }: debug information, nothing that runs. */
static bool skip_section(struct ptx_parser *p) {
    p->has_debug = true;
    while (p->token.kind != '{' && p->token.kind != TOKEN_END)
        ptx_next(p);
    if (!ptx_expect(p, '{', "'{'"))
        return false;
    while (p->token.kind != '}' && p->token.kind != TOKEN_END)
        ptx_next(p);
    return ptx_expect(p, '}', "'}'");
}

static bool parse_address_size(struct ptx_parser *p) {
    struct ptx_place place = ptx_here(p);
    int64_t bits;
    if (!ptx_parse_integer(p, &bits))
        return false;
    if (bits == 64)
        return true;
    ptx_error(p, place, "manual: ptx-module-directives-address-size",
              ".address_size must be 64 on this target");
    return false;
}

static int32_t find_func(const struct ptx_token *token) {
    const struct ptx_decl *decl = token->kind == TOKEN_NAME ? token->name->decl : NULL;
    return decl != NULL && decl->kind == DECL_FUNC ? decl->index : -1;
}

/* .alias a, b; a is declared by a prototype and gets the body of b. */
static bool parse_alias(struct ptx_parser *p) {
    struct ptx_alias *alias = arena_alloc(&p->scratch, sizeof *alias, _Alignof(struct ptx_alias));
    if (alias == NULL)
        return ptx_no_memory(p);
    alias->alias = find_func(&p->token);
    if (alias->alias < 0)
        return ptx_expected(p, "the name of a declared function");
    ptx_next(p);
    if (!ptx_expect(p, ',', "','"))
        return false;
    alias->aliasee = find_func(&p->token);
    if (alias->aliasee < 0 || alias->aliasee == alias->alias)
        return ptx_expected(p, "the name of another declared function");
    alias->next = p->aliases;
    p->aliases = alias;
    ptx_next(p);
    return ptx_expect(p, ';', "';'");
}

static bool parse_linked(struct ptx_parser *p) {
    static const struct {
        const char *word;
        enum ptx_linkage linkage;
    } words[] = {{".extern", LINK_EXTERN},
                 {".visible", LINK_VISIBLE},
                 {".weak", LINK_WEAK},
                 {".common", LINK_COMMON}};
    enum ptx_linkage linkage = LINK_NONE;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ptx_take_word(p, words[i].word))
            linkage = words[i].linkage;
    struct ptx_place place = ptx_here(p);
    bool entry = ptx_take_word(p, ".entry");
    if (entry || ptx_take_word(p, ".func")) {
        if (linkage == LINK_COMMON || (entry && linkage == LINK_EXTERN)) {
            ptx_error(p, place, NULL, "this linkage does not fit a function");
            return false;
        }
        return ptx_parse_func(p, entry, linkage == LINK_EXTERN,
                              entry || linkage == LINK_VISIBLE || linkage == LINK_WEAK);
    }
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {{".global", SPACE_GLOBAL}, {".const", SPACE_CONST}, {".shared", SPACE_SHARED}};
    for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (ptx_take_word(p, spaces[i].word))
            return ptx_parse_variable(p, spaces[i].space, linkage);
    return ptx_expected(p, "a directive of a module, such as .entry, .func, .global or .shared");
}

static bool parse_texture(struct ptx_parser *p) {
    ptx_error_status(p, STATUS_UNSUPPORTED, ptx_here(p),
                     "manual: texture-sampler-and-surface-types", "'%.*s'", (int)p->token.length,
                     p->token.start);
    return false;
}

static bool parse_directive(struct ptx_parser *p) {
    if (ptx_take_word(p, ".version"))
        return ptx_parse_version(p);
    if (ptx_take_word(p, ".target"))
        return ptx_parse_target(p);
    if (ptx_take_word(p, ".address_size"))
        return parse_address_size(p);
    if (ptx_take_word(p, ".file"))
        return ptx_parse_file(p);
    if (ptx_take_word(p, ".loc"))
        return ptx_parse_loc(p);
    if (ptx_take_word(p, ".section"))
        return skip_section(p);
    if (ptx_take_word(p, ".pragma"))
        return ptx_parse_pragma(p);
    if (ptx_take_word(p, ".alias"))
        return parse_alias(p);
    if (ptx_at_word(p, ".texref") || ptx_at_word(p, ".samplerref") || ptx_at_word(p, ".surfref"))
        return parse_texture(p);
    return parse_linked(p);
}

/* Behind an error at module level: up to the next directive that can start a definition. */
static void recover_module(struct ptx_parser *p) {
    static const char *const starts[] = {".visible", ".entry",  ".func",    ".weak",
                                         ".extern",  ".target", ".global",  ".const",
                                         ".shared",  ".file",   ".section", ".address_size"};
    unsigned line = p->token.line;
    int braces = p->brace_depth;
    p->brace_depth = 0;
    for (; p->token.kind != TOKEN_END; ptx_next(p)) {
        braces += p->token.kind == '{';
        if (p->token.kind == ';' && braces == 0) {
            ptx_next(p);
            return;
        }
        if (p->token.kind == '}' && --braces <= 0) {
            ptx_next(p);
            ptx_take(p, ';');
            return;
        }
        for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++)
            if (p->token.line > line && ptx_at_word(p, starts[i]))
                return;
    }
}

/* A module starts with .version, then .target. */
static bool parse_head(struct ptx_parser *p) {
    if (!ptx_at_word(p, ".version"))
        return ptx_expected(p, ".version as the first directive");
    if (!parse_directive(p))
        recover_module(p);
    if (!ptx_at_word(p, ".target"))
        return ptx_expected(p, ".target behind .version");
    if (!parse_directive(p))
        recover_module(p);
    return true;
}

static void finish_aliases(struct ptx_parser *p) {
    struct ir_module *module = p->module;
    for (struct ptx_alias *a = p->aliases; a != NULL; a = a->next) {
        struct ir_func *func = &module->funcs[a->alias];
        const char *name = func->name;
        bool is_visible = func->is_visible;
        *func = module->funcs[a->aliasee];
        func->name = name;
        func->is_visible = is_visible;
    }
}

/* What every device offers without a definition (PTX manual: the functions that nvcc's text calls).
 */
static bool is_system_call(const char *name) {
    static const char *const names[] = {
        "vprintf",           "malloc", "free", "__assertfail", "cudaGetParameterBufferV2",
        "cudaLaunchDeviceV2"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void check_func_uses(struct ptx_parser *p) {
    for (const struct ptx_func_use *use = p->func_uses; use != NULL; use = use->next) {
        const struct ir_func *func = &p->module->funcs[use->func];
        if (!func->is_defined && !is_system_call(func->name))
            ptx_error(p, use->place, NULL, "function '%s' is called but not defined", func->name);
    }
}

static bool finish_module(struct ptx_parser *p) {
    struct ir_module *module = p->module;
    module->symbols = ptx_keep(p, module->symbols, module->symbol_count, sizeof *module->symbols);
    module->funcs = ptx_keep(p, module->funcs, module->func_count, sizeof *module->funcs);
    if (module->symbols == NULL || module->funcs == NULL)
        return false;
    finish_aliases(p);
    check_func_uses(p);
    module->files = arena_array(p->arena, module->file_count, sizeof *module->files);
    if (module->files == NULL)
        return ptx_no_memory(p);
    for (uint32_t i = 0; i < module->file_count; i++)
        module->files[i] = p->file_entries[i].name;
    if (p->wants_debug && !p->has_debug)
        ptx_error(p, (struct ptx_place){1, 1, 1}, "manual: ptx-module-directives-target",
                  ".target debug needs a .section with DWARF data");
    return p->status == STATUS_OK;
}

/* Everything must be ASCII, comments too. */
static bool check_characters(struct ptx_parser *p) {
    const struct ir_module *module = p->module;
    uint32_t line = 1;
    const char *line_start = module->text;
    unsigned char seen = 0;
    for (size_t i = 0; i < module->text_length; i++)
        seen |= (unsigned char)module->text[i];
    bool has_zero = memchr(module->text, 0, module->text_length) != NULL;
    for (size_t i = 0; (seen & 0x80 || has_zero) && i < module->text_length; i++) {
        unsigned char ch = (unsigned char)module->text[i];
        if (ch >= 0x80 || ch == 0) {
            ptx_error(p, (struct ptx_place){line, (uint32_t)(module->text + i - line_start) + 1, 1},
                      "PTX text is ASCII, in comments too", "byte 0x%02x", ch);
            return false;
        }
        if (ch == '\n') {
            line++;
            line_start = module->text + i + 1;
        }
    }
    return true;
}

static void parse_module(struct ptx_parser *p) {
    ptx_next(p);
    if (!parse_head(p))
        return;
    while (p->token.kind != TOKEN_END && p->status != STATUS_NO_MEMORY &&
           p->error_count < PTX_MAX_ERRORS) {
        if (!parse_directive(p))
            recover_module(p);
    }
    finish_module(p);
}

static enum status parse_text(struct ptx_parser *p) {
    struct arena *scratch = &p->scratch;
    p->func_index = -1;
    p->loc_file = -1;
    p->mnemonics = (struct ptx_names){.scratch = scratch, .keep = scratch};
    p->opcodes = (struct ptx_names){.scratch = scratch, .keep = scratch};
    p->lexer = (struct ptx_lexer){.at = p->module->text,
                                  .end = p->module->text + p->module->text_length,
                                  .line_start = p->module->text,
                                  .line = 1,
                                  .names = {.scratch = scratch, .keep = p->arena}};
    if (ptx_index_rows(p) && check_characters(p))
        parse_module(p);
    return p->status;
}

enum status ptx_parse(struct arena *arena, const struct ptx_source *source,
                      struct ir_module **module, struct strbuf *log) {
    size_t length = source->length;
    while (length > 0 && source->text[length - 1] == 0)
        length--; /* a driver's image carries its closing zero */
    struct arena parser_arena = {0};
    struct ptx_parser *p = arena_alloc(&parser_arena, sizeof *p, _Alignof(struct ptx_parser));
    struct ir_module *built = arena_alloc(arena, sizeof *built, _Alignof(struct ir_module));
    char *text = arena_strndup(arena, source->text, length);
    char *file = arena_strdup(arena, source->file);
    enum status status = STATUS_NO_MEMORY;
    if (p != NULL && built != NULL && text != NULL && file != NULL) {
        *built = (struct ir_module){.file = file, .text = text, .text_length = length};
        p->arena = arena;
        p->log = log;
        p->module = built;
        status = parse_text(p);
        if (status == STATUS_OK)
            *module = built;
        arena_free(&p->scratch);
    }
    arena_free(&parser_arena);
    return status;
}
