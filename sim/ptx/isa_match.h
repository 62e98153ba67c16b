#ifndef SILTWIN_ISA_MATCH_H
#define SILTWIN_ISA_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "ir.h"
#include "isa.h"

/* The strings of a row in compiled form, and the match of a mnemonic's words against them. */

enum { ISA_MAX_GROUPS = 16, ISA_MAX_ITEMS = 12, ISA_MAX_VALUES = 8 };

struct isa_group {
    const uint16_t *words; /* enum ptx_qual */
    uint8_t word_count;
    bool optional;
    bool is_space; /* all its words are state spaces: order counts */
};

struct isa_type_group {
    uint64_t mask;  /* bit n: enum ptx_type n */
    int8_t same_as; /* group whose type it repeats, or -1 */
    bool optional;
};

enum isa_item_kind {
    ISA_ITEM_VALUE,
    ISA_ITEM_ADDRESS,
    ISA_ITEM_TENSOR,
    ISA_ITEM_LABEL,
    ISA_ITEM_LIST,
    ISA_ITEM_FUNC,
    ISA_ITEM_ARGS,
};

enum isa_list_kind {
    ISA_LIST_NONE,
    ISA_LIST_VECTOR, /* .vN */
    ISA_LIST_ANY,
    ISA_LIST_COUNT, /* exactly list_count */
    ISA_LIST_TIMES, /* list_count times .xN */
    ISA_LIST_PACK,
};

enum isa_pair_kind { ISA_PAIR_NONE, ISA_PAIR_OPTIONAL, ISA_PAIR_REQUIRED };

enum isa_value_rule { ISA_VALUE_FREE, ISA_VALUE_SET, ISA_VALUE_RANGE, ISA_VALUE_MULTIPLE };

enum { ISA_SPACE_OF_QUALS = 100, ISA_SPACE_TMEM = 101 };

struct isa_item {
    uint8_t kind; /* enum isa_item_kind */
    bool output, sink_ok, sink_only, optional;
    bool async; /* =+: read too, and written at any time later */
    bool register_only, immediate_only, wider_ok, negatable, special_ok, symbol_ok;
    uint8_t list, list_count; /* enum isa_list_kind */
    uint8_t pair;             /* enum isa_pair_kind */
    int8_t type_group;        /* T0..T3, or -1: fixed_type */
    bool twice;               /* W0 */
    uint8_t fixed_type;       /* enum ptx_type */
    uint8_t space;            /* enum ptx_space, or ISA_SPACE_... */
    uint8_t space_index;      /* among the items of ISA_SPACE_OF_QUALS */
    uint16_t only_with;       /* enum ptx_qual, 0: no condition */
    uint8_t value_rule;       /* enum isa_value_rule */
    uint8_t value_count;
    int64_t values[ISA_MAX_VALUES];
    const char *name; /* of name_length bytes */
    uint8_t name_length;
};

struct isa_pattern {
    enum isa_form form;
    struct isa_group groups[ISA_MAX_GROUPS];
    uint8_t group_count;
    struct isa_type_group type_groups[IR_MAX_TYPES];
    uint8_t type_group_count;
    struct isa_item items[ISA_MAX_ITEMS];
    uint8_t item_count, required_count;
    bool unsupported, has_args;
    bool takes_all;         /* quals "*": every text of the opcode, all of it unsupported */
    uint16_t since_version; /* 78 for 7.8 */
    uint16_t since_target;
    bool since_exact; /* an a-target: exactly that chip */
};

/* Compiles the strings of a row. NULL on success, else what is wrong with the row (a constant
 * text), or "no memory". */
const char *isa_compile(struct arena *arena, enum isa_form form, struct isa_pattern *pattern);

/* The words of a mnemonic behind its opcode. */
struct isa_words {
    uint16_t quals[IR_MAX_QUALS];
    uint8_t qual_count;
    uint8_t types[IR_MAX_TYPES];
    uint8_t type_count;
};

/* From far to near. */
enum isa_mismatch {
    ISA_MATCHES,
    ISA_BAD_QUAL,     /* a qualifier has no place */
    ISA_MISSING_BOTH, /* one is missing, and the types do not fit */
    ISA_BAD_TYPES,
    ISA_MISSING_QUAL,
};

/* Whether the words are those of the row. On success by_group[g] is the type of type group g
 * (PTX_TYPE_NONE for one left out). On ISA_BAD_QUAL *where is the index of the qualifier that has
 * no place, on ISA_MISSING_... that of the group that stays empty. */
enum isa_mismatch isa_match(const struct isa_pattern *pattern, const struct isa_words *words,
                            uint8_t by_group[IR_MAX_TYPES], unsigned *where);

#endif
