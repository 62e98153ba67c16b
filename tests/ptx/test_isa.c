#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa_match.h"

/* The instruction table tests itself. */

static struct isa_pattern *compile_all(struct arena *arena) {
    struct isa_pattern *patterns = calloc(ISA_COUNT, sizeof *patterns);
    for (unsigned form = 1; form < ISA_COUNT; form++) {
        const char *wrong = isa_compile(arena, (enum isa_form)form, &patterns[form]);
        cr_assert_null(wrong, "row %s: %s", isa_row((enum isa_form)form)->id, wrong);
    }
    return patterns;
}

Test(isa, every_row_is_well_formed) {
    struct arena arena = {0};
    free(compile_all(&arena));
    for (unsigned form = 1; form < ISA_COUNT; form++) {
        const struct isa_row *row = isa_row((enum isa_form)form);
        cr_expect(strncmp(row->evidence, "hw:sm_", 6) == 0 || strcmp(row->evidence, "ptxas") == 0 ||
                      strcmp(row->evidence, "manual") == 0,
                  "row %s: evidence '%s'", row->id, row->evidence);
        cr_expect_gt(strlen(row->manual), 3, "row %s has no manual anchor", row->id);
    }
    printf("%d rows\n", ISA_COUNT - 1);
    arena_free(&arena);
}

Test(isa, only_an_h200_gave_hardware_evidence) {
    for (unsigned form = 1; form < ISA_COUNT; form++) {
        const struct isa_row *row = isa_row((enum isa_form)form);
        bool is_hw = strncmp(row->evidence, "hw:", 3) == 0;
        cr_expect(!is_hw || strcmp(row->evidence, "hw:sm_90a") == 0, "row %s", row->id);
        cr_expect(!is_hw || (strstr(row->since, "sm_100") == NULL &&
                             strncmp(row->opcode, "tcgen05", 7) != 0),
                  "row %s cannot have run on an H200", row->id);
    }
}

/* Whether one set of words can belong to both: every group that must be filled in one row has a
 * word that the other row can take, and there is an arrangement. Exact by search over the words of
 * the rows' groups: each row's choices are tried on the other. */
struct choice {
    const struct isa_pattern *a, *b;
    struct isa_words words;
    unsigned long tries;
    bool found;
};

static bool pairs_agree(const struct isa_item *a, const struct isa_item *b) {
    bool pair_a = a->pair == ISA_PAIR_REQUIRED, pair_b = b->pair == ISA_PAIR_REQUIRED;
    bool none_a = a->pair == ISA_PAIR_NONE, none_b = b->pair == ISA_PAIR_NONE;
    return !(pair_a && none_b) && !(pair_b && none_a);
}

/* May some operand fit both items? Types, list shapes and registers against immediates decide. */
static bool items_overlap(const struct choice *c, const struct isa_item *a,
                          const struct isa_item *b, const uint8_t types_a[IR_MAX_TYPES],
                          const uint8_t types_b[IR_MAX_TYPES]) {
    if (a->kind != b->kind || !pairs_agree(a, b))
        return false;
    if (a->kind != ISA_ITEM_VALUE)
        return true;
    if (a->sink_only != b->sink_only)
        return a->sink_only ? b->sink_ok : a->sink_ok;
    if ((a->immediate_only && (b->register_only || b->output)) ||
        (b->immediate_only && (a->register_only || a->output)))
        return false;
    bool vector = false;
    for (unsigned i = 0; i < c->words.qual_count; i++)
        vector |= c->words.quals[i] == QUAL_V2 || c->words.quals[i] == QUAL_V4 ||
                  c->words.quals[i] == QUAL_V8;
    bool list_a = a->list == ISA_LIST_VECTOR ? vector : a->list != ISA_LIST_NONE;
    bool list_b = b->list == ISA_LIST_VECTOR ? vector : b->list != ISA_LIST_NONE;
    if (list_a != list_b)
        return false;
    if (a->list == ISA_LIST_COUNT && b->list == ISA_LIST_COUNT && a->list_count != b->list_count)
        return false;
    enum ptx_type ta = (enum ptx_type)(a->type_group < 0 ? a->fixed_type : types_a[a->type_group]);
    enum ptx_type tb = (enum ptx_type)(b->type_group < 0 ? b->fixed_type : types_b[b->type_group]);
    unsigned bits_a = ptx_type_bits(ta) * (a->twice ? 2 : 1);
    unsigned bits_b = ptx_type_bits(tb) * (b->twice ? 2 : 1);
    if (a->list == ISA_LIST_PACK || b->list == ISA_LIST_PACK || a->wider_ok || b->wider_ok)
        return true;
    return bits_a == bits_b && (ta == PTX_PRED) == (tb == PTX_PRED);
}

static bool present(const struct choice *c, const struct isa_item *item) {
    if (item->only_with == 0)
        return true;
    for (unsigned i = 0; i < c->words.qual_count; i++)
        if (c->words.quals[i] == item->only_with)
            return true;
    return false;
}

static bool must(const struct choice *c, const struct isa_item *item) {
    return !item->optional || (item->only_with != 0 && present(c, item));
}

static bool operands_overlap(const struct choice *c, unsigned i, unsigned j,
                             const uint8_t types_a[IR_MAX_TYPES],
                             const uint8_t types_b[IR_MAX_TYPES]) {
    const struct isa_item *a = i < c->a->item_count ? &c->a->items[i] : NULL;
    const struct isa_item *b = j < c->b->item_count ? &c->b->items[j] : NULL;
    if (a == NULL && b == NULL)
        return true;
    if (a != NULL && !must(c, a) && operands_overlap(c, i + 1, j, types_a, types_b))
        return true;
    if (b != NULL && !must(c, b) && operands_overlap(c, i, j + 1, types_a, types_b))
        return true;
    return a != NULL && b != NULL && present(c, a) && present(c, b) &&
           items_overlap(c, a, b, types_a, types_b) &&
           operands_overlap(c, i + 1, j + 1, types_a, types_b);
}

/* Tries the types of row a in all combinations. */
static void try_types(struct choice *c, unsigned g) {
    uint8_t types_a[IR_MAX_TYPES], types_b[IR_MAX_TYPES];
    unsigned where;
    if (c->found)
        return;
    if (g == c->a->type_group_count) {
        c->tries++;
        c->found = isa_match(c->a, &c->words, types_a, &where) == ISA_MATCHES &&
                   isa_match(c->b, &c->words, types_b, &where) == ISA_MATCHES &&
                   operands_overlap(c, 0, 0, types_a, types_b);
        return;
    }
    const struct isa_type_group *group = &c->a->type_groups[g];
    if (group->optional)
        try_types(c, g + 1);
    for (unsigned type = 1; type < PTX_TYPE_COUNT && !c->found; type++) {
        bool fits = group->same_as >= 0 ? true : group->mask >> type & 1;
        if (!fits)
            continue;
        c->words.types[c->words.type_count++] = (uint8_t)type;
        try_types(c, g + 1);
        c->words.type_count--;
    }
}

static bool group_has(const struct isa_group *group, uint16_t qual) {
    for (unsigned i = 0; i < group->word_count; i++)
        if (group->words[i] == qual)
            return true;
    return false;
}

static bool row_has(const struct isa_pattern *pattern, uint16_t qual) {
    for (unsigned g = 0; g < pattern->group_count; g++)
        if (group_has(&pattern->groups[g], qual))
            return true;
    return false;
}

/* A word of an optional group matters only where row b needs it, or where operands depend on it. */
static bool matters(const struct choice *c, uint16_t qual) {
    if (qual == QUAL_V2 || qual == QUAL_V4 || qual == QUAL_V8)
        return true;
    for (unsigned g = 0; g < c->b->group_count; g++)
        if (!c->b->groups[g].optional && group_has(&c->b->groups[g], qual))
            return true;
    for (unsigned i = 0; i < c->a->item_count; i++)
        if (c->a->items[i].only_with == qual)
            return true;
    for (unsigned i = 0; i < c->b->item_count; i++)
        if (c->b->items[i].only_with == qual)
            return true;
    return false;
}

/* Tries the qualifiers of row a that row b knows too. */
static void try_quals(struct choice *c, unsigned g) {
    if (c->found)
        return;
    if (g == c->a->group_count) {
        uint8_t types[IR_MAX_TYPES];
        unsigned where;
        enum isa_mismatch without_types = isa_match(c->b, &c->words, types, &where);
        if (without_types == ISA_MATCHES || without_types == ISA_BAD_TYPES)
            try_types(c, 0);
        return;
    }
    const struct isa_group *group = &c->a->groups[g];
    if (group->optional)
        try_quals(c, g + 1);
    for (unsigned i = 0; i < group->word_count && !c->found; i++) {
        if (!row_has(c->b, group->words[i]) || c->words.qual_count == IR_MAX_QUALS ||
            (group->optional && !matters(c, group->words[i])))
            continue;
        c->words.quals[c->words.qual_count++] = group->words[i];
        try_quals(c, g + 1);
        c->words.qual_count--;
    }
}

Test(isa, no_two_rows_accept_the_same_text) {
    struct arena arena = {0};
    struct isa_pattern *patterns = compile_all(&arena);
    unsigned pairs = 0;
    for (unsigned i = 1; i < ISA_COUNT; i++) {
        for (unsigned j = i + 1; j < ISA_COUNT; j++) {
            const struct isa_row *a = isa_row((enum isa_form)i), *b = isa_row((enum isa_form)j);
            cr_expect_str_neq(a->id, b->id);
            if (strcmp(a->opcode, b->opcode) != 0)
                continue;
            struct choice c = {.a = &patterns[i], .b = &patterns[j]};
            try_quals(&c, 0);
            cr_expect(!c.found, "rows %s and %s both take the same text", a->id, b->id);
            pairs++;
        }
    }
    printf("%u pairs of rows with one opcode\n", pairs);
    free(patterns);
    arena_free(&arena);
}

/* Every qualifier word is used by some row. */
Test(isa, every_qualifier_has_a_row) {
    struct arena arena = {0};
    struct isa_pattern *patterns = compile_all(&arena);
    unsigned unused = 0;
    for (unsigned qual = 1; qual < PTX_QUAL_COUNT; qual++) {
        bool used = false;
        const char *text = ptx_qual_text((enum ptx_qual)qual);
        for (unsigned form = 1; form < ISA_COUNT && !used; form++) {
            const char *opcode = isa_row((enum isa_form)form)->opcode;
            const char *at = strstr(opcode, text);
            used = row_has(&patterns[form], (uint16_t)qual) || at != NULL;
        }
        if (!used) {
            printf(" .%s", text);
            unused++;
        }
    }
    printf("\n%u qualifier words no row takes (known, so that they are told from misspelt ones)\n",
           unused);
    cr_expect_lt(unused, PTX_QUAL_COUNT / 4);
    free(patterns);
    arena_free(&arena);
}
