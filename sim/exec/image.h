#ifndef SILTWIN_IMAGE_H
#define SILTWIN_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec.h"
#include "warp.h"

/* A kernel image: an entry and every function it can reach, decoded. Shared variables have
 * addresses in it, registers have places in a frame. Read only once it is made. */

/* A parameter or result of a function. */
struct xformal {
    bool in_register;
    uint8_t bits;          /* of the register */
    uint32_t offset_bytes; /* of the register in the frame, or in a lane's parameter area */
    uint32_t size_bytes;   /* of a .param variable */
};

/* Address of a local variable: a value in each frame, because it moves with the stack. */
struct xlocal {
    uint32_t slot_offset_bytes; /* in the frame: uint64_t[32], or uint32_t[32] when `narrow` */
    uint32_t address;           /* from the frame's first local byte */
    bool narrow;
};

/* A frame of a function: registers, then 32 parameter areas (one a lane) for its formals and the
 * .param variables of its calls. */
struct xfunc {
    const struct ir_func *ir;
    int32_t module_index;
    struct xinsn *insns; /* one more than ir->insn_count: falling off the end */
    uint32_t register_bytes, frame_bytes, param_offset_bytes, param_lane_bytes;
    uint32_t local_bytes; /* a lane */
    struct xformal *params, *results;
    struct xlocal *locals;
    uint32_t local_count;
    uint8_t *reg_bits; /* widths of the registers; 0: no instruction names it */
    uint32_t *reg_offset;
};

/* Shared variable of the image. */
struct xshared {
    int32_t symbol;
    uint32_t address;
};

struct exec_kernel {
    struct exec_kernel_info info;
    const struct ir_module *module;
    struct xfunc *funcs; /* [0] is the entry */
    uint32_t func_count;
    const uint8_t *constants;  /* 32 equal lanes for each immediate and symbol address */
    const uint8_t *const_bank; /* host bytes of the module's .const variables */
    uint32_t const_bank_bytes;
    struct xshared *shared;
    uint32_t shared_count;
    uint32_t dynamic_base; /* where dynamic shared memory starts */
    bool uses_tmem;        /* has tcgen05 instructions */
    bool communicates;     /* may pass values between CTAs: they run on one host thread */
};

/* Address of a function: what mov gives and an indirect call takes. */
#define CODE_WINDOW UINT64_C(0x00007d0800000000)
enum { CODE_STEP_BYTES = 256, FRAME_ALIGN_BYTES = 64 };

/* The image's function at a code address, NULL for none. */
const struct xfunc *image_func_at(const struct exec_kernel *kernel, uint64_t address);

/* Appends "symbol+offset" of a shared address, or the bare address, to `out`. */
void image_print_shared(const struct exec_kernel *kernel, uint32_t address, struct strbuf *out);

#endif
