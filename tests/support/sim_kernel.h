#ifndef SILTWIN_SIM_KERNEL_H
#define SILTWIN_SIM_KERNEL_H

#include "exec.h"

/* A PTX module loaded into a fresh device, for tests of the executor. Trouble that the test did not
 * ask for ends it with a message. */
struct sim {
    struct exec_device device;
    struct global_memory *memory;
    struct exec_module *module;
    struct exec_launch launch; /* what sim_run launches; grid and block are 1 at first */
    struct fault fault;        /* of the last sim_run */
    struct strbuf report;
    struct strbuf log;
    uint64_t params[64]; /* sim_arg puts them here */
    uint32_t param_bytes;
};

/* Loads `text`, whose first kernel is then the one to launch. `sm`: 90 or 100. */
struct sim *sim_load(const char *text, uint16_t sm);
/* The same with ".version 9.0 .target sm_90a .address_size 64" in front of `body`. */
struct sim *sim_load_body(const char *body);
/* A kernel k(.param .u64 out) with registers %r<20>, %rd<10>, %p<8>, %f<8>, where %rd1 is the
 * parameter, %r1 %tid.x and %r2 %ctaid.x, and then `body` from line 10 on. */
struct sim *sim_load_simple(const char *body);
void sim_free(struct sim *sim);

/* A buffer of `words` words of 32 bits, all zero. */
uint64_t sim_buffer(struct sim *sim, uint32_t words);
uint32_t *sim_words(struct sim *sim, uint64_t address);
/* Appends an argument of 4 or 8 bytes at its alignment. */
void sim_arg32(struct sim *sim, uint32_t value);
void sim_arg64(struct sim *sim, uint64_t value);

/* Runs sim->launch on `blocks` blocks of `threads` threads. */
enum status sim_run(struct sim *sim, uint32_t blocks, uint32_t threads);
/* The same with a buffer of `words` words as the only argument; expects that all ends well, and
 * gives the buffer. */
uint32_t *sim_run_simple(struct sim *sim, uint32_t words, uint32_t blocks, uint32_t threads);

#endif
