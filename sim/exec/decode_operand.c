#include "decode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* Operands of decoded instructions: registers become places in the frame, immediates and the
 * addresses of symbols become constants (32 equal lanes), so that an operation reads all of them
 * alike. */

struct constant_key {
    uint64_t value;
    uint32_t bits, offset_bytes;
};

/* The compiled row of a form. NULL without memory. */
static const struct isa_pattern *pattern_of(struct decoder *d, enum isa_form form) {
    if (d->patterns == NULL)
        d->patterns = arena_array(&d->scratch, ISA_COUNT, sizeof(struct isa_pattern *));
    if (d->patterns == NULL)
        return NULL;
    if (d->patterns[form] == NULL) {
        struct isa_pattern *pattern = arena_array(&d->scratch, 1, sizeof *pattern);
        if (pattern == NULL || isa_compile(&d->scratch, form, pattern) != NULL)
            return NULL;
        d->patterns[form] = pattern;
    }
    return d->patterns[form];
}

/* Width of the operand as its row says, 0 when the row names no type. */
static unsigned operand_bits(const struct isa_item *item, const uint8_t by_group[IR_MAX_TYPES]) {
    enum ptx_type type = item->type_group >= 0 ? by_group[item->type_group] : item->fixed_type;
    return ptx_type_bits(type) * (item->twice ? 2 : 1);
}

static bool grow_keys(struct decoder *d) {
    uint32_t capacity = d->key_capacity == 0 ? 256 : d->key_capacity * 2;
    struct constant_key *keys = calloc(capacity, sizeof *keys);
    if (keys == NULL)
        return false;
    for (uint32_t i = 0; i < d->key_capacity; i++)
        if (d->keys[i].bits != 0) {
            uint64_t at = hash_mix64(d->keys[i].value + d->keys[i].bits);
            while (keys[at & (capacity - 1)].bits != 0)
                at++;
            keys[at & (capacity - 1)] = d->keys[i];
        }
    free(d->keys);
    d->keys = keys;
    d->key_capacity = capacity;
    return true;
}

static bool grow_constants(struct decoder *d, uint32_t bytes) {
    if (d->constant_bytes + bytes <= d->constant_capacity)
        return true;
    uint32_t capacity = d->constant_capacity * 2 + bytes + 4096;
    uint8_t *constants = realloc(d->constants, capacity);
    if (constants == NULL)
        return false;
    d->constants = constants;
    d->constant_capacity = capacity;
    return true;
}

static void write_lanes(uint8_t *at, uint64_t value, unsigned bits) {
    uint32_t low = (uint32_t)value;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (bits > 32)
            memcpy(at + lane * 8, &value, 8);
        else
            memcpy(at + lane * 4, &low, 4);
    }
}

uint32_t decode_constant(struct decoder *d, uint64_t value, unsigned bits) {
    if (bits == 1)
        value = value != 0 ? LANES_ALL : 0;
    else if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    uint32_t bytes = bits == 128 ? 512 : bits > 32 ? 256 : 128;
    if ((d->key_count * 2 >= d->key_capacity && !grow_keys(d)) || !grow_constants(d, bytes)) {
        d->no_memory = true;
        return 0;
    }
    uint64_t at = hash_mix64(value + bits);
    for (; d->keys[at & (d->key_capacity - 1)].bits != 0; at++) {
        const struct constant_key *key = &d->keys[at & (d->key_capacity - 1)];
        if (key->value == value && key->bits == bits)
            return key->offset_bytes;
    }
    uint32_t offset = d->constant_bytes;
    d->keys[at & (d->key_capacity - 1)] = (struct constant_key){value, bits, offset};
    d->key_count++;
    write_lanes(d->constants + offset, value, bits);
    if (bits == 128)
        write_lanes(d->constants + offset + 256, (int64_t)value < 0 ? ~UINT64_C(0) : 0, 64);
    d->constant_bytes += bytes;
    return offset;
}

static void set_constant(struct decoder *d, struct xop *op, uint64_t value, unsigned bits) {
    op->kind = XOP_VALUE;
    op->base = 1;
    op->bits = (uint8_t)bits;
    op->is_immediate = true;
    op->imm = (int64_t)value;
    op->offset_bytes = decode_constant(d, value, bits);
}

/* The address of a local variable differs from frame to frame: it is a hidden register. */
static void set_local(struct decoder *d, struct xop *op, uint32_t address, unsigned bits) {
    struct xfunc *func = d->func;
    bool narrow = bits <= 32;
    for (uint32_t i = 0; i < func->local_count; i++)
        if (func->locals[i].address == address && func->locals[i].narrow == narrow) {
            op->offset_bytes = func->locals[i].slot_offset_bytes;
            return;
        }
    if (func->local_count == d->local_capacity) {
        uint32_t capacity = d->local_capacity * 2 + 8;
        struct xlocal *locals = arena_array(d->base.arena, capacity, sizeof *locals);
        if (locals == NULL) {
            d->no_memory = true;
            return;
        }
        if (func->local_count > 0)
            memcpy(locals, func->locals, func->local_count * sizeof *locals);
        func->locals = locals;
        d->local_capacity = capacity;
    }
    func->locals[func->local_count++] = (struct xlocal){d->frame_bytes, address, narrow};
    op->offset_bytes = d->frame_bytes;
    d->frame_bytes += narrow ? 128 : 256;
}

static void set_symbol(struct decoder *d, struct xop *op, const struct ir_operand *from,
                       unsigned bits) {
    const struct ir_symbol *symbol = &d->base.module->symbols[from->index];
    uint64_t addend = (uint64_t)from->imm;
    switch ((enum ptx_space)symbol->space) {
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER:
        set_constant(d, op, d->shared_address[from->index] + addend, bits ? bits : 32);
        return;
    case SPACE_PARAM:
        set_constant(d, op, d->param_offset[from->index] + addend, bits ? bits : 32);
        return;
    case SPACE_LOCAL:
        op->kind = XOP_VALUE;
        op->bits = (uint8_t)(bits ? bits : 32);
        set_local(d, op, d->local_address[from->index] + (uint32_t)addend, op->bits);
        return;
    default:
        set_constant(d, op, d->symbol_addresses[from->index] + addend, bits ? bits : 64);
        return;
    }
}

static void decode_operand(struct decoder *d, struct xop *op, const struct ir_operand *from,
                           unsigned bits);

/* Elements: `first_bits` is the width of an immediate at the start, `rest_bits` of the others. */
static void decode_elems(struct decoder *d, struct xop *op, const struct ir_operand *from,
                         unsigned first_bits, unsigned rest_bits) {
    unsigned count = from->kind == IR_ADDRESS ? 1 : from->kind == IR_PAIR ? 2 : from->elem_count;
    struct xop *elems = arena_array(d->base.arena, count, sizeof *elems);
    op->elem_count = (uint16_t)count;
    op->elems = elems;
    if (elems == NULL) {
        d->no_memory = true;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        decode_operand(d, &elems[i], &from->elems[i], i == 0 ? first_bits : rest_bits);
}

static void decode_register(struct decoder *d, struct xop *op, const struct ir_operand *from) {
    op->kind = XOP_VALUE;
    op->bits = d->reg_bits[from->index];
    op->offset_bytes = d->reg_offset[from->index];
    op->negated = from->negated;
}

/* `bits`: width of an immediate or symbol in this place, 0 when the place does not say. */
static void decode_operand(struct decoder *d, struct xop *op, const struct ir_operand *from,
                           unsigned bits) {
    op->component = from->component;
    op->imm = from->imm;
    switch ((enum ir_operand_kind)from->kind) {
    case IR_NONE: op->kind = XOP_NONE; return;
    case IR_SINK: op->kind = XOP_SINK; return;
    case IR_REG: decode_register(d, op, from); return;
    case IR_IMM: set_constant(d, op, (uint64_t)from->imm, bits ? bits : 64); return;
    case IR_SYMBOL: set_symbol(d, op, from, bits); return;
    case IR_SREG:
        op->kind = XOP_SREG;
        op->imm = from->index;
        return;
    case IR_FUNC:
        set_constant(d, op, CODE_WINDOW + (uint64_t)from->index * CODE_STEP_BYTES,
                     bits ? bits : 64);
        op->kind = XOP_FUNC;
        op->imm = d->func_of_module[from->index];
        return;
    case IR_ADDRESS:
        op->kind = XOP_ADDRESS;
        decode_elems(d, op, from, 0, 0);
        return;
    case IR_TENSOR:
        op->kind = XOP_TENSOR;
        decode_elems(d, op, from, 64, 32);
        return;
    case IR_VECTOR:
        op->kind = XOP_VECTOR;
        decode_elems(d, op, from, bits, bits);
        return;
    case IR_PAIR:
        op->kind = XOP_PAIR;
        decode_elems(d, op, from, bits, 1);
        return;
    case IR_LABEL:
    case IR_LIST:
        op->kind = from->kind == IR_LABEL ? XOP_LABEL : XOP_LIST;
        op->imm = from->index;
        return;
    }
}

void decode_operands(struct decoder *d, struct xinsn *x) {
    const struct ir_insn *insn = x->ir;
    struct xop *ops = arena_array(d->base.arena, insn->operand_count, sizeof *ops);
    const struct isa_pattern *pattern = pattern_of(d, insn->form);
    x->ops = ops;
    if (ops == NULL || pattern == NULL) {
        d->no_memory = true;
        return;
    }
    struct isa_words words = {.qual_count = insn->qual_count, .type_count = insn->type_count};
    memcpy(words.quals, insn->quals, sizeof words.quals);
    memcpy(words.types, insn->types, sizeof words.types);
    uint8_t by_group[IR_MAX_TYPES] = {0};
    unsigned where;
    isa_match(pattern, &words, by_group, &where);
    for (unsigned i = 0; i < insn->operand_count; i++) {
        const struct ir_operand *from = &insn->operands[i];
        unsigned bits = operand_bits(&pattern->items[i], by_group);
        if (pattern->items[i].list == ISA_LIST_PACK && from->elem_count > 0)
            bits /= from->elem_count;
        decode_operand(d, &ops[i], from, bits);
    }
}
