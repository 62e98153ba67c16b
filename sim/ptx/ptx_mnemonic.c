/* Mnemonics: the text from the opcode to the last qualifier. A module uses few distinct ones, so
 * each is matched against the table once and kept under its text. */
#include <stdio.h>
#include <string.h>

#include "ptx_syntax.h"

enum { MAX_MNEMONIC = 512, MAX_WORDS = 40 };

static const struct {
    const char *word, *manual;
} opcodes[] = {
#define OPCODE(word, manual) {word, manual},
#include "opcode.def"
#undef OPCODE
};

enum { OPCODE_COUNT = sizeof opcodes / sizeof opcodes[0] };

struct span {
    uint32_t offset, length;
};

/* The words of a mnemonic; word 0 is the opcode's first. */
struct words {
    const char *text;
    uint32_t length;
    struct span at[MAX_WORDS];
    unsigned count;
};

bool ptx_index_rows(struct ptx_parser *p) {
    p->next_row = arena_array(&p->scratch, ISA_COUNT, sizeof *p->next_row);
    p->patterns = arena_array(&p->scratch, ISA_COUNT, sizeof *p->patterns);
    if (p->next_row == NULL || p->patterns == NULL)
        return ptx_no_memory(p);
    for (unsigned form = ISA_COUNT; form-- > 1;) {
        const char *opcode = isa_row((enum isa_form)form)->opcode;
        struct ptx_name *name = ptx_names_intern(&p->opcodes, opcode, (uint32_t)strlen(opcode));
        if (name == NULL)
            return ptx_no_memory(p);
        p->next_row[form] = name->row_list;
        name->row_list = form;
    }
    return true;
}

static const char *word_end(const char *at) {
    for (;;) {
        if (ptx_lex_is_name_char(*at))
            at++;
        else if (at[0] == ':' && at[1] == ':' && ptx_lex_is_name_char(at[2]))
            at += 2;
        else
            return at;
    }
}

/* The mnemonic's text from its first word (the current token) on: in the source where it stands in
 * one piece, else (blanks before a dot) put together in `buffer`. */
static const char *scan(struct ptx_parser *p, char buffer[MAX_MNEMONIC], uint32_t *length) {
    const char *start = p->token.start;
    const char *at = word_end(start);
    while (at[0] == '.' && ptx_lex_is_name_char(at[1]))
        at = word_end(at + 1);
    p->lexer.at = at;
    *length = (uint32_t)(at - start);
    const char *next = ptx_lex_peek(&p->lexer);
    if (next[0] != '.' || !ptx_lex_is_name_char(next[1]) || *length >= MAX_MNEMONIC)
        return start;
    memcpy(buffer, start, *length);
    while (next[0] == '.' && ptx_lex_is_name_char(next[1])) {
        at = word_end(next + 1);
        uint32_t more = (uint32_t)(at - next);
        if (*length + more >= MAX_MNEMONIC)
            break;
        memcpy(buffer + *length, next, more);
        *length += more;
        p->lexer.at = at;
        next = ptx_lex_peek(&p->lexer);
    }
    return buffer;
}

static bool split(struct words *w, const char *text, uint32_t length) {
    *w = (struct words){.text = text, .length = length};
    uint32_t start = 0;
    for (uint32_t i = 0; i <= length; i++) {
        if (i < length && text[i] != '.')
            continue;
        if (w->count == MAX_WORDS)
            return false;
        w->at[w->count++] = (struct span){start, i - start};
        start = i + 1;
    }
    return true;
}

static void fail(struct ptx_parser *p, struct ptx_mnemonic *m, enum status status,
                 struct span where, const char *error, const char *note) {
    m->status = status;
    m->error = arena_strdup(&p->scratch, error);
    m->note = note == NULL ? NULL : arena_strdup(&p->scratch, note);
    m->error_offset = where.offset;
    m->error_length = where.length;
    if (m->error == NULL)
        m->error = "no memory";
}

static const char *opcode_word(unsigned index) {
    return opcodes[index].word;
}

static const char *qual_word(unsigned index) {
    return ptx_qual_text((enum ptx_qual)index);
}

static void not_modelled(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w,
                         const char *manual) {
    char error[MAX_MNEMONIC + 64], note[200];
    snprintf(error, sizeof error, "instruction '%.*s'", (int)w->length, w->text);
    snprintf(note, sizeof note, "manual: %s", manual);
    fail(p, m, STATUS_UNSUPPORTED, (struct span){0, w->length}, error, note);
}

static void unknown_opcode(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w) {
    const char *word = w->text;
    unsigned length = w->at[0].length;
    char error[MAX_MNEMONIC + 64], note[200];
    for (unsigned i = 0; i < OPCODE_COUNT; i++) {
        if (strlen(opcodes[i].word) != length || memcmp(opcodes[i].word, word, length) != 0)
            continue;
        not_modelled(p, m, w, opcodes[i].manual);
        return;
    }
    const char *near = ptx_nearest(word, length, opcode_word, OPCODE_COUNT);
    snprintf(error, sizeof error, "unknown instruction '%.*s'", (int)length, word);
    if (near != NULL)
        snprintf(note, sizeof note, "did you mean '%s'?", near);
    fail(p, m, STATUS_SYNTAX, w->at[0], error, near != NULL ? note : NULL);
}

/* Rows of the longest opcode that begins the mnemonic; *used is its number of words. */
static unsigned find_rows(struct ptx_parser *p, const struct words *w, unsigned *used) {
    for (*used = w->count; *used > 0; --*used) {
        const struct span *last = &w->at[*used - 1];
        const struct ptx_name *name =
            ptx_names_intern(&p->opcodes, w->text, last->offset + last->length);
        if (name != NULL && name->row_list != 0)
            return name->row_list;
    }
    return 0;
}

static bool classify_words(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w,
                           unsigned first) {
    char error[MAX_MNEMONIC + 64], note[200];
    for (unsigned i = first; i < w->count; i++) {
        const char *word = w->text + w->at[i].offset;
        unsigned length = w->at[i].length;
        enum ptx_type type = ptx_type_find(word, length);
        enum ptx_qual qual = ptx_qual_find(word, length);
        if (type != PTX_TYPE_NONE && m->words.type_count < IR_MAX_TYPES) {
            m->words.types[m->words.type_count++] = (uint8_t)type;
        } else if (qual != PTX_QUAL_NONE && m->words.qual_count < IR_MAX_QUALS) {
            m->words.quals[m->words.qual_count++] = (uint16_t)qual;
        } else if (type != PTX_TYPE_NONE || qual != PTX_QUAL_NONE) {
            snprintf(error, sizeof error, "too many modifiers in '%.*s'", (int)w->length, w->text);
            fail(p, m, STATUS_SYNTAX, w->at[i], error, NULL);
            return false;
        } else {
            const char *near = ptx_nearest(word, length, qual_word, PTX_QUAL_COUNT);
            snprintf(error, sizeof error, "unknown modifier '.%.*s'", (int)length, word);
            if (near != NULL)
                snprintf(note, sizeof note, "did you mean '.%s'?", near);
            fail(p, m, STATUS_SYNTAX, w->at[i], error, near != NULL ? note : NULL);
            return false;
        }
    }
    return true;
}

static const struct isa_pattern *row_pattern(struct ptx_parser *p, unsigned form) {
    if (p->patterns[form] != NULL)
        return p->patterns[form];
    struct isa_pattern *pattern =
        arena_alloc(&p->scratch, sizeof *pattern, _Alignof(struct isa_pattern));
    if (pattern == NULL) {
        ptx_no_memory(p);
        return NULL;
    }
    const char *wrong = isa_compile(&p->scratch, (enum isa_form)form, pattern);
    if (wrong != NULL) {
        ptx_error_status(p, STATUS_INVALID, ptx_here(p), wrong, "row %s of the instruction table",
                         isa_row((enum isa_form)form)->id);
        return NULL;
    }
    p->patterns[form] = pattern;
    return pattern;
}

/* The closest miss among the rows of an opcode. */
struct miss {
    enum isa_mismatch kind;
    const struct isa_pattern *pattern;
    unsigned where;
};

static void group_text(const struct isa_group *group, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < group->word_count && used + 1 < size; i++) {
        int n = snprintf(text + used, size - used, "%s.%s", i == 0 ? "" : " or ",
                         ptx_qual_text((enum ptx_qual)group->words[i]));
        used += n < 0 ? 0 : (size_t)n;
    }
}

static struct span word_of_qual(const struct words *w, const struct ptx_mnemonic *m, unsigned first,
                                unsigned index) {
    for (unsigned i = first; i < w->count && index < m->words.qual_count; i++) {
        enum ptx_qual qual = ptx_qual_find(w->text + w->at[i].offset, w->at[i].length);
        enum ptx_type type = ptx_type_find(w->text + w->at[i].offset, w->at[i].length);
        if (type == PTX_TYPE_NONE && qual == m->words.quals[index])
            return w->at[i];
    }
    return (struct span){0, w->length};
}

static void explain(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w,
                    unsigned first, const struct miss *miss) {
    const struct isa_row *row = isa_row(miss->pattern->form);
    char error[MAX_MNEMONIC + 300], note[400], words[240];
    snprintf(note, sizeof note, "expected: %s%s%s%s%s; manual: %s", row->opcode,
             row->quals[0] ? " modifiers: " : "", row->quals, row->types[0] ? " types: " : "",
             row->types, row->manual);
    struct span where = {0, w->length};
    switch (miss->kind) {
    case ISA_BAD_QUAL:
        where = word_of_qual(w, m, first, miss->where);
        snprintf(error, sizeof error, "modifier '.%s' has no place in '%.*s'",
                 ptx_qual_text((enum ptx_qual)m->words.quals[miss->where]), (int)w->length,
                 w->text);
        break;
    case ISA_MISSING_BOTH:
    case ISA_MISSING_QUAL:
        group_text(&miss->pattern->groups[miss->where], words, sizeof words);
        snprintf(error, sizeof error, "'%.*s' needs a modifier: %s", (int)w->length, w->text,
                 words);
        break;
    default:
        snprintf(error, sizeof error,
                 m->words.type_count == 0 ? "'%.*s' needs a type"
                                          : "'%.*s' does not take this type",
                 (int)w->length, w->text);
        break;
    }
    fail(p, m, STATUS_SYNTAX, where, error, note);
}

static void explain_target(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w,
                           const struct isa_pattern *pattern) {
    const struct isa_row *row = isa_row(pattern->form);
    char error[MAX_MNEMONIC + 200], note[200];
    const struct ir_module *module = p->module;
    snprintf(error, sizeof error, "'%.*s' needs PTX %s; this module is PTX %d.%d sm_%d%.1s",
             (int)w->length, w->text, row->since, module->version / 10, module->version % 10,
             module->target, &module->target_suffix);
    snprintf(note, sizeof note, "row %s; manual: %s", row->id, row->manual);
    fail(p, m, STATUS_SYNTAX, (struct span){0, w->length}, error, note);
}

/* A better miss placed more words; a row that lacks only a modifier or a type is better still. */
static bool is_closer(const struct miss *a, const struct miss *b) {
    if (b->pattern == NULL || a->kind != b->kind)
        return b->pattern == NULL || a->kind > b->kind;
    return a->kind == ISA_BAD_QUAL && a->where > b->where;
}

static bool add_match(struct ptx_parser *p, struct ptx_mnemonic *m,
                      const struct isa_pattern *pattern, const uint8_t by_group[IR_MAX_TYPES],
                      uint32_t *capacity) {
    m->matches = ptx_grow(p, m->matches, m->match_count, capacity, sizeof *m->matches);
    if (m->matches == NULL)
        return false;
    struct ptx_match *match = &m->matches[m->match_count++];
    match->pattern = pattern;
    memcpy(match->by_group, by_group, IR_MAX_TYPES);
    m->has_args |= pattern->has_args;
    return true;
}

static bool match_rows(struct ptx_parser *p, struct ptx_mnemonic *m, const struct words *w,
                       unsigned form, unsigned first) {
    struct miss closest = {0};
    const struct isa_pattern *unsupported = NULL, *wrong_target = NULL;
    uint32_t capacity = 0;
    for (; form != 0; form = p->next_row[form]) {
        struct miss miss = {.pattern = row_pattern(p, form)};
        uint8_t by_group[IR_MAX_TYPES];
        if (miss.pattern == NULL)
            return false;
        miss.kind = isa_match(miss.pattern, &m->words, by_group, &miss.where);
        if (miss.kind != ISA_MATCHES) {
            if (is_closer(&miss, &closest))
                closest = miss;
        } else if (!ptx_target_allows(p->module, miss.pattern)) {
            wrong_target = miss.pattern;
        } else if (!add_match(p, m, miss.pattern, by_group, &capacity)) {
            return false;
        } else if (miss.pattern->unsupported) {
            unsupported = miss.pattern;
        }
    }
    if (m->match_count > 0 || unsupported != NULL)
        return true;
    if (wrong_target != NULL)
        explain_target(p, m, w, wrong_target);
    else
        explain(p, m, w, first, &closest);
    return true;
}

static bool resolve(struct ptx_parser *p, struct ptx_mnemonic *m, const char *text,
                    uint32_t length) {
    struct words w;
    unsigned used;
    if (!split(&w, text, length)) {
        fail(p, m, STATUS_SYNTAX, (struct span){0, length}, "too many modifiers", NULL);
        return true;
    }
    unsigned form = find_rows(p, &w, &used);
    if (form == 0) {
        unknown_opcode(p, m, &w);
        return true;
    }
    const struct isa_pattern *pattern = row_pattern(p, form);
    if (pattern == NULL)
        return false;
    if (pattern->takes_all) {
        not_modelled(p, m, &w, isa_row((enum isa_form)form)->manual);
        return true;
    }
    return !classify_words(p, m, &w, used) || match_rows(p, m, &w, form, used);
}

struct ptx_mnemonic *ptx_parse_mnemonic(struct ptx_parser *p) {
    char buffer[MAX_MNEMONIC];
    uint32_t length;
    const char *text = scan(p, buffer, &length);
    struct ptx_name *name = ptx_names_intern(&p->mnemonics, text, length);
    if (name == NULL)
        return NULL;
    struct ptx_mnemonic *m = name->mnemonic;
    if (m == NULL) {
        m = arena_alloc(&p->scratch, sizeof *m, _Alignof(struct ptx_mnemonic));
        if (m == NULL)
            return NULL;
        m->text = name->text;
        if (length >= MAX_MNEMONIC)
            fail(p, m, STATUS_SYNTAX, (struct span){0, 1}, "the instruction's name is too long",
                 NULL);
        else if (!resolve(p, m, name->text, length))
            return NULL;
        name->mnemonic = m;
    }
    ptx_next(p);
    return m;
}
