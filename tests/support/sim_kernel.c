#include "sim_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *what, const struct strbuf *log) {
    fprintf(stderr, "%s\n%s\n", what, strbuf_text(log));
    abort();
}

struct sim *sim_load(const char *text, uint16_t sm) {
    struct sim *sim = calloc(1, sizeof *sim);
    sim->device = (struct exec_device){
        .sm = sm, .sm_count = 4, .smem_per_block_bytes = 232448, .clock_khz = 1000000};
    sim->memory = global_memory_create(UINT64_C(1) << 34, 1);
    struct ptx_source source = {"test.ptx", text, strlen(text)};
    if (exec_module_load(sim->memory, &sim->device, &source, &sim->module, &sim->log) != STATUS_OK)
        stop("the module does not load", &sim->log);
    sim->launch = (struct exec_launch){
        .kernel = exec_module_kernel_at(sim->module, 0),
        .device = &sim->device,
        .memory = sim->memory,
        .grid = {1, 1, 1},
        .block = {1, 1, 1},
        .cluster = {1, 1, 1},
        .params = sim->params,
        .policy = POLICY_EAGER,
        .pattern_seed = 7,
        .jobs = 1,
    };
    return sim;
}

struct sim *sim_load_body(const char *body) {
    struct strbuf text = {0};
    strbuf_printf(&text, ".version 9.0\n.target sm_90a\n.address_size 64\n%s", body);
    struct sim *sim = sim_load(strbuf_text(&text), 90);
    strbuf_free(&text);
    return sim;
}

struct sim *sim_load_simple(const char *body) {
    struct strbuf text = {0};
    strbuf_puts(&text, ".visible .entry k(.param .u64 out) {\n"
                       "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<8>; .reg .f32 %f<8>;\n"
                       "  ld.param.u64 %rd1, [out];\n"
                       "  mov.u32 %r1, %tid.x;\n"
                       "  mov.u32 %r2, %ctaid.x;\n\n");
    strbuf_puts(&text, body);
    strbuf_puts(&text, "}\n");
    struct sim *sim = sim_load_body(strbuf_text(&text));
    strbuf_free(&text);
    return sim;
}

void sim_free(struct sim *sim) {
    exec_module_unload(sim->module);
    global_memory_destroy(sim->memory);
    strbuf_free(&sim->report);
    strbuf_free(&sim->log);
    free(sim);
}

uint64_t sim_buffer(struct sim *sim, uint32_t words) {
    uint64_t address = global_memory_alloc(sim->memory, words * UINT64_C(4));
    memset(sim_words(sim, address), 0, words * sizeof(uint32_t));
    return address;
}

uint32_t *sim_words(struct sim *sim, uint64_t address) {
    return (uint32_t *)(void *)global_memory_host(sim->memory, address, 4);
}

static void add_arg(struct sim *sim, const void *value, uint32_t bytes) {
    sim->param_bytes = (sim->param_bytes + bytes - 1) / bytes * bytes;
    memcpy((uint8_t *)sim->params + sim->param_bytes, value, bytes);
    sim->param_bytes += bytes;
}

void sim_arg32(struct sim *sim, uint32_t value) {
    add_arg(sim, &value, 4);
}

void sim_arg64(struct sim *sim, uint64_t value) {
    add_arg(sim, &value, 8);
}

enum status sim_run(struct sim *sim, uint32_t blocks, uint32_t threads) {
    sim->launch.grid[0] = blocks;
    sim->launch.block[0] = threads;
    strbuf_clear(&sim->report);
    return exec_run(&sim->launch, &sim->fault, &sim->report);
}

uint32_t *sim_run_simple(struct sim *sim, uint32_t words, uint32_t blocks, uint32_t threads) {
    uint64_t out = sim_buffer(sim, words);
    sim->param_bytes = 0;
    sim_arg64(sim, out);
    if (sim_run(sim, blocks, threads) != STATUS_OK)
        stop("the launch does not end well", &sim->report);
    return sim_words(sim, out);
}
