/* The mini-language of isa.def. A row's four strings are compiled into groups and items when the
 * first mnemonic of a module needs the row; matching then works on word numbers. */
#include "isa_match.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at;
};

static bool take(struct cursor *c, char expected) {
    if (*c->at != expected)
        return false;
    c->at++;
    return true;
}

static bool take_text(struct cursor *c, const char *text) {
    size_t length = strlen(text);
    if (strncmp(c->at, text, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool is_word_char(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_';
}

/* Length of a word: letters, digits, _ and inner "::". */
static unsigned word_length(const char *at) {
    const char *start = at;
    for (;;) {
        if (is_word_char(*at))
            at++;
        else if (at > start && at[0] == ':' && at[1] == ':' && is_word_char(at[2]))
            at += 2;
        else
            return (unsigned)(at - start);
    }
}

static const char *compile_group(struct cursor *c, struct arena *arena, struct isa_group *group) {
    uint16_t words[64];
    unsigned count = 0;
    group->optional = take(c, '{');
    group->is_space = true;
    do {
        unsigned length = word_length(c->at);
        enum ptx_qual qual = ptx_qual_find(c->at, length);
        if (qual == PTX_QUAL_NONE)
            return "a word of the quals is not in qual.def";
        if (count == sizeof words / sizeof words[0])
            return "too many words in a group";
        words[count++] = (uint16_t)qual;
        group->is_space &= ir_qual_space(qual) != SPACE_GENERIC;
        c->at += length;
    } while (take(c, '|'));
    if (group->optional && !take(c, '}'))
        return "a group of quals has no closing brace";
    uint16_t *copy = arena_array(arena, count, sizeof words[0]);
    if (copy == NULL)
        return "no memory";
    memcpy(copy, words, count * sizeof words[0]);
    group->words = copy;
    group->word_count = (uint8_t)count;
    return NULL;
}

static const char *compile_quals(struct arena *arena, const char *text, struct isa_pattern *out) {
    struct cursor c = {text};
    while (*c.at != 0) {
        if (take(&c, ' '))
            continue;
        if (out->group_count == ISA_MAX_GROUPS)
            return "too many groups of quals";
        const char *wrong = compile_group(&c, arena, &out->groups[out->group_count++]);
        if (wrong != NULL)
            return wrong;
        if (*c.at != 0 && *c.at != ' ')
            return "groups of quals are separated by blanks";
    }
    return NULL;
}

#define BIT(type) (UINT64_C(1) << PTX_##type)
_Static_assert(PTX_TYPE_COUNT <= 64, "types fit a mask");

static uint64_t class_mask(const char *word, unsigned length) {
    static const struct {
        const char *name;
        uint64_t mask;
    } classes[] = {
        {"int16", BIT(U16) | BIT(S16)},
        {"int32", BIT(U32) | BIT(S32)},
        {"int64", BIT(U64) | BIT(S64)},
        {"int", BIT(U16) | BIT(S16) | BIT(U32) | BIT(S32) | BIT(U64) | BIT(S64)},
        {"bits", BIT(B16) | BIT(B32) | BIT(B64)},
        {"any", BIT(B8) | BIT(B16) | BIT(B32) | BIT(B64) | BIT(U8) | BIT(U16) | BIT(U32) |
                    BIT(U64) | BIT(S8) | BIT(S16) | BIT(S32) | BIT(S64) | BIT(F32) | BIT(F64)},
    };
    for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strlen(classes[i].name) == length && memcmp(classes[i].name, word, length) == 0)
            return classes[i].mask;
    return 0;
}

static const char *compile_type_group(struct cursor *c, struct isa_type_group *group) {
    group->same_as = -1;
    group->optional = take(c, '{');
    if (take_text(c, "=T")) {
        group->same_as = (int8_t)(*c->at++ - '0');
        if (group->same_as < 0 || group->same_as >= IR_MAX_TYPES)
            return "bad =Tn";
        return group->optional && !take(c, '}') ? "a type group has no closing brace" : NULL;
    }
    do {
        bool is_class = take(c, '@');
        unsigned length = word_length(c->at);
        enum ptx_type type = ptx_type_find(c->at, length);
        uint64_t mask = is_class                ? class_mask(c->at, length)
                        : type == PTX_TYPE_NONE ? 0
                                                : UINT64_C(1) << type;
        if (mask == 0)
            return "a word of the types is not in type.def";
        group->mask |= mask;
        c->at += length;
    } while (take(c, '|'));
    return group->optional && !take(c, '}') ? "a type group has no closing brace" : NULL;
}

static const char *compile_types(const char *text, struct isa_pattern *out) {
    struct cursor c = {text};
    while (*c.at != 0) {
        if (take(&c, ' '))
            continue;
        if (out->type_group_count == IR_MAX_TYPES)
            return "too many type groups";
        const char *wrong = compile_type_group(&c, &out->type_groups[out->type_group_count++]);
        if (wrong != NULL)
            return wrong;
        if (*c.at != 0 && *c.at != ' ')
            return "type groups are separated by blanks";
    }
    return NULL;
}

/* "(4|8)", "(0..15)", "(24..256%8)", "(%16)"; the opening parenthesis is taken. */
static const char *compile_value_rule(struct cursor *c, struct isa_item *item) {
    item->value_rule = take(c, '%') ? ISA_VALUE_MULTIPLE : ISA_VALUE_SET;
    for (;;) {
        char *end;
        long long value = strtoll(c->at, &end, 0);
        if (end == c->at || item->value_count == ISA_MAX_VALUES)
            return "bad list of values";
        item->values[item->value_count++] = value;
        c->at = end;
        if (take_text(c, ".."))
            item->value_rule = ISA_VALUE_RANGE;
        else if (!take(c, '|') && !(item->value_rule == ISA_VALUE_RANGE && take(c, '%')))
            break;
    }
    return take(c, ')') ? NULL : "a list of values has no closing parenthesis";
}

static const char *compile_suffixes(struct cursor *c, struct isa_item *item) {
    for (;;) {
        if (take(c, '!')) {
            item->register_only = true;
        } else if (take(c, '#')) {
            item->immediate_only = true;
        } else if (take(c, '+')) {
            item->wider_ok = true;
        } else if (take_text(c, "|pred")) {
            item->pair = ISA_PAIR_REQUIRED;
        } else if (take_text(c, "{|pred}")) {
            item->pair = ISA_PAIR_OPTIONAL;
        } else if (take(c, '(')) {
            const char *wrong = compile_value_rule(c, item);
            if (wrong != NULL)
                return wrong;
        } else {
            return NULL;
        }
    }
}

static const char *compile_type_ref(struct cursor *c, struct isa_item *item) {
    item->negatable = take(c, '!');
    item->type_group = -1;
    if ((c->at[0] == 'T' || c->at[0] == 'W') && c->at[1] >= '0' && c->at[1] < '0' + IR_MAX_TYPES) {
        item->twice = c->at[0] == 'W';
        item->type_group = (int8_t)(c->at[1] - '0');
        c->at += 2;
    } else {
        unsigned length = word_length(c->at);
        item->fixed_type = (uint8_t)ptx_type_find(c->at, length);
        if (item->fixed_type == PTX_TYPE_NONE)
            return "an operand's type is not in type.def";
        c->at += length;
    }
    return compile_suffixes(c, item);
}

static void compile_list_prefix(struct cursor *c, struct isa_item *item) {
    if (take_text(c, "v:")) {
        item->list = ISA_LIST_VECTOR;
    } else if (take_text(c, "l:")) {
        item->list = ISA_LIST_ANY;
    } else if (take_text(c, "p:")) {
        item->list = ISA_LIST_PACK;
    } else if ((c->at[0] == 'l' || c->at[0] == 'x') && c->at[1] >= '0' && c->at[1] <= '9') {
        char *end;
        long count = strtol(c->at + 1, &end, 10);
        if (*end != ':' || count < 1 || count > 255)
            return;
        item->list = c->at[0] == 'l' ? ISA_LIST_COUNT : ISA_LIST_TIMES;
        item->list_count = (uint8_t)count;
        c->at = end + 1;
    }
}

static const char *compile_spec(struct cursor *c, struct isa_item *item) {
    static const struct {
        const char *word;
        enum isa_item_kind kind;
    } kinds[] = {{"label", ISA_ITEM_LABEL},
                 {"list", ISA_ITEM_LIST},
                 {"func", ISA_ITEM_FUNC},
                 {"args", ISA_ITEM_ARGS}};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (take_text(c, kinds[i].word)) {
            item->kind = (uint8_t)kinds[i].kind;
            return NULL;
        }
    }
    compile_list_prefix(c, item);
    bool all = take_text(c, "src:");
    item->special_ok = all || take_text(c, "sreg:");
    item->symbol_ok = all || take_text(c, "sym");
    if (item->symbol_ok && !all && !take(c, ':')) {
        item->type_group = 0;
        return NULL;
    }
    return compile_type_ref(c, item);
}

static const char *compile_address(struct cursor *c, struct isa_item *item, uint8_t *of_quals) {
    static const struct {
        const char *word;
        uint8_t space;
    } spaces[] = {
        {"shared::cluster", SPACE_SHARED_CLUSTER},
        {"shared::cta", SPACE_SHARED},
        {"shared", SPACE_SHARED},
        {"global", SPACE_GLOBAL},
        {"generic", SPACE_GENERIC},
        {"const", SPACE_CONST},
        {"local", SPACE_LOCAL},
        {"param", SPACE_PARAM},
        {"tmem", ISA_SPACE_TMEM},
    };
    item->kind = ISA_ITEM_ADDRESS;
    item->name = c->at;
    while (is_word_char(*c->at))
        c->at++;
    item->name_length = (uint8_t)(c->at - item->name);
    if (take(c, ']')) {
        item->space = ISA_SPACE_OF_QUALS;
        item->space_index = (*of_quals)++;
        return NULL;
    }
    if (!take(c, ':'))
        return "bad address item";
    if (take_text(c, "tensor]")) {
        item->kind = ISA_ITEM_TENSOR;
        item->space = SPACE_GENERIC;
        return NULL;
    }
    for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (take_text(c, spaces[i].word)) {
            item->space = spaces[i].space;
            return take(c, ']') ? NULL : "an address item has no closing bracket";
        }
    }
    return "unknown space of an address item";
}

static const char *compile_item(struct cursor *c, struct isa_item *item, uint8_t *of_quals) {
    item->type_group = -1;
    item->output = take(c, '=');
    item->sink_ok = item->output && take(c, '?');
    item->async = item->output && take(c, '+');
    const char *wrong;
    if (take(c, '[')) {
        wrong = compile_address(c, item, of_quals);
    } else {
        item->name = c->at;
        while (is_word_char(*c->at))
            c->at++;
        item->name_length = (uint8_t)(c->at - item->name);
        if (item->name_length == 0 || !take(c, ':'))
            return "an operand item needs name:spec";
        item->sink_only = item->output && item->name_length == 1 && item->name[0] == '_';
        item->sink_ok |= item->sink_only;
        wrong = compile_spec(c, item);
    }
    if (wrong == NULL && take(c, '@')) {
        unsigned length = word_length(c->at);
        item->only_with = (uint16_t)ptx_qual_find(c->at, length);
        if (item->only_with == PTX_QUAL_NONE)
            return "the word behind @ is not in qual.def";
        c->at += length;
    }
    return wrong;
}

static const char *compile_operands(const char *text, struct isa_pattern *out) {
    struct cursor c = {text};
    bool in_braces = false;
    uint8_t of_quals = 0;
    while (*c.at != 0) {
        if (take(&c, ' ') || take(&c, ','))
            continue;
        if (!in_braces && take(&c, '{')) {
            in_braces = true;
            continue;
        }
        if (in_braces && take(&c, '}')) {
            in_braces = false;
            continue;
        }
        if (out->item_count == ISA_MAX_ITEMS)
            return "too many operand items";
        struct isa_item *item = &out->items[out->item_count++];
        item->optional = in_braces;
        const char *wrong = compile_item(&c, item, &of_quals);
        if (wrong != NULL)
            return wrong;
        if (item->type_group >= 0 && item->type_group >= out->type_group_count)
            return "an operand names a type group that is not there";
        if (item->only_with != 0 && !item->optional)
            return "@ needs braces";
        out->required_count += !item->optional;
        out->has_args |= item->kind == ISA_ITEM_ARGS;
        if (*c.at != 0 && *c.at != ',' && *c.at != '}' && *c.at != '{')
            return "unexpected text behind an operand item";
    }
    return in_braces ? "operands have no closing brace" : NULL;
}

static const char *compile_since(const char *text, struct isa_pattern *out) {
    char *end;
    long major = strtol(text, &end, 10);
    if (*end != '.')
        return "since needs major.minor";
    long minor = strtol(end + 1, &end, 10);
    out->since_version = (uint16_t)(major * 10 + minor);
    while (*end == ' ')
        end++;
    if (*end == 0)
        return NULL;
    if (strncmp(end, "sm_", 3) != 0)
        return "since: the target is not sm_NN";
    out->since_target = (uint16_t)strtol(end + 3, &end, 10);
    out->since_exact = *end == 'a';
    end += out->since_exact;
    return *end == 0 ? NULL : "unexpected text behind since";
}

/* ld, ldu, st and cvt take registers that are wider than the type (PTX manual, operand size
 * exceeding instruction-type size). */
static bool takes_wider_registers(const char *opcode) {
    static const char *const words[] = {"ld", "ldu", "st", "cvt"};
    size_t length = strcspn(opcode, ".");
    if (strncmp(opcode, "st.async", 8) == 0 || strncmp(opcode, "cvt.pack", 8) == 0)
        return false;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], opcode, length) == 0)
            return true;
    return false;
}

const char *isa_compile(struct arena *arena, enum isa_form form, struct isa_pattern *pattern) {
    const struct isa_row *row = isa_row(form);
    *pattern = (struct isa_pattern){.form = form};
    pattern->unsupported = strcmp(row->sem, "unsupported") == 0;
    pattern->takes_all = strcmp(row->quals, "*") == 0;
    if (pattern->takes_all)
        return pattern->unsupported ? NULL
                                    : "only a form that is not modelled takes all qualifiers";
    const char *wrong = compile_quals(arena, row->quals, pattern);
    if (wrong == NULL)
        wrong = compile_types(row->types, pattern);
    if (wrong == NULL)
        wrong = compile_operands(row->operands, pattern);
    if (wrong == NULL)
        wrong = compile_since(row->since, pattern);
    if (takes_wider_registers(row->opcode))
        for (unsigned i = 0; i < pattern->item_count; i++)
            pattern->items[i].wider_ok |= pattern->items[i].type_group >= 0;
    return wrong;
}

static bool group_has(const struct isa_group *group, uint16_t qual) {
    for (unsigned i = 0; i < group->word_count; i++)
        if (group->words[i] == qual)
            return true;
    return false;
}

struct qual_search {
    const struct isa_pattern *pattern;
    const struct isa_words *words;
    unsigned deepest;       /* most words that found a place */
    unsigned missing_group; /* of an arrangement of all words */
    bool all_placed;
};

/* Words that count by their order: state spaces, and the layouts of A and B. */
enum ordered { ORDERED_SPACE, ORDERED_LAYOUT, ORDERED_KINDS, UNORDERED = ORDERED_KINDS };

static enum ordered order_of(uint16_t qual) {
    if (ir_qual_space((enum ptx_qual)qual) != SPACE_GENERIC)
        return ORDERED_SPACE;
    return qual == QUAL_ROW || qual == QUAL_COL ? ORDERED_LAYOUT : UNORDERED;
}

/* Gives word `at` and all behind it a group each. `filled` has a bit per group; from[kind] is the
 * first group that an ordered word of that kind may take. */
static bool place_quals(struct qual_search *s, unsigned at, unsigned filled,
                        const unsigned from[ORDERED_KINDS]) {
    const struct isa_pattern *pattern = s->pattern;
    if (at > s->deepest)
        s->deepest = at;
    if (at == s->words->qual_count) {
        for (unsigned g = 0; g < pattern->group_count; g++) {
            if (!pattern->groups[g].optional && !(filled >> g & 1)) {
                s->all_placed = true;
                s->missing_group = g;
                return false;
            }
        }
        return true;
    }
    uint16_t qual = s->words->quals[at];
    enum ordered order = order_of(qual);
    for (unsigned g = 0; g < pattern->group_count; g++) {
        const struct isa_group *group = &pattern->groups[g];
        if ((filled >> g & 1) || !group_has(group, qual) || (order != UNORDERED && g < from[order]))
            continue;
        unsigned next[ORDERED_KINDS] = {from[ORDERED_SPACE], from[ORDERED_LAYOUT]};
        if (order != UNORDERED)
            next[order] = g + 1;
        if (place_quals(s, at + 1, filled | 1u << g, next))
            return true;
    }
    return false;
}

static bool place_types(const struct isa_pattern *pattern, const struct isa_words *words,
                        unsigned at, unsigned g, uint8_t by_group[IR_MAX_TYPES]) {
    if (g == pattern->type_group_count)
        return at == words->type_count;
    const struct isa_type_group *group = &pattern->type_groups[g];
    if (at < words->type_count) {
        uint8_t type = words->types[at];
        bool fits =
            group->same_as >= 0 ? by_group[group->same_as] == type : (group->mask >> type & 1) != 0;
        by_group[g] = type;
        if (fits && place_types(pattern, words, at + 1, g + 1, by_group))
            return true;
    }
    by_group[g] = PTX_TYPE_NONE;
    return group->optional && place_types(pattern, words, at, g + 1, by_group);
}

enum isa_mismatch isa_match(const struct isa_pattern *pattern, const struct isa_words *words,
                            uint8_t by_group[IR_MAX_TYPES], unsigned *where) {
    struct qual_search search = {.pattern = pattern, .words = words};
    memset(by_group, 0, IR_MAX_TYPES);
    if (!place_quals(&search, 0, 0, (const unsigned[ORDERED_KINDS]){0})) {
        *where = search.all_placed ? search.missing_group : search.deepest;
        if (!search.all_placed)
            return ISA_BAD_QUAL;
        return place_types(pattern, words, 0, 0, by_group) ? ISA_MISSING_QUAL : ISA_MISSING_BOTH;
    }
    return place_types(pattern, words, 0, 0, by_group) ? ISA_MATCHES : ISA_BAD_TYPES;
}
