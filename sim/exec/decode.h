#ifndef SILTWIN_DECODE_H
#define SILTWIN_DECODE_H

#include "image.h"
#include "isa_match.h"

/* Making a kernel image: what decode.c and decode_operand.c share. The public part is struct decode
 * in warp.h, which selectors see; it stands first here. */
struct decoder {
    struct decode base;
    struct exec_kernel *kernel;
    struct xfunc *func; /* the one being decoded */
    const uint64_t
        *symbol_addresses;    /* of the module's .global (guest) and .const (bank) symbols */
    int32_t *func_of_module;  /* image function of a module function, -1 */
    uint32_t *shared_address; /* of each module symbol, 0 for none */
    uint32_t *param_offset;   /* of each .param symbol, in the block or in a lane's area */
    uint32_t *local_address;  /* of each .local symbol, from the frame's first local byte */
    uint32_t *reg_offset;     /* of the function's registers in its frame */
    uint8_t *reg_bits;
    bool *symbol_used;
    /* The constant area as far as it is made, and an index of it by hash. */
    uint8_t *constants;
    uint32_t constant_bytes, constant_capacity;
    struct constant_key *keys;
    uint32_t key_count, key_capacity;
    uint32_t local_capacity;
    uint32_t max_live_units; /* of all functions */
    uint32_t frame_bytes;
    const struct decode_kept *kept;
    struct arena scratch;          /* of this decoding */
    struct isa_pattern **patterns; /* by form, compiled when first met */
    bool no_memory;
};

/* Fills x->ops from x->ir->operands. */
void decode_operands(struct decoder *d, struct xinsn *x);
/* Offset in the constant area of 32 lanes of that value. */
uint32_t decode_constant(struct decoder *d, uint64_t value, unsigned bits);

/* Names of registers that get storage of their own. */
struct decode_kept {
    const char *const *names;
    uint32_t count;
};

/* Decodes the entry `func_index` of the module. NULL with an error logged. */
struct exec_kernel *decode_kernel(struct arena *arena, const struct ir_module *module,
                                  int32_t func_index, const uint64_t *symbol_addresses, uint16_t sm,
                                  const struct decode_kept *kept, struct strbuf *log,
                                  enum status *status);

/* The selector of each form, from isa.def. */
extern exec_select *const op_table[ISA_COUNT];
/* Runs when control reaches the end of a function. */
exec_fn op_fall_off;
/* Stands where the text of a function without a body would be; x->data is its struct ir_func. */
exec_fn op_undefined;

#endif
