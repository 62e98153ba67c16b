/* What the families of tensor copies share: programs, buffers, the launch. conform_tile.c and
 * conform_im2col.c make their cases.
 *
 * A CTA is a case. A load's results are the code of the encode, 12 KiB of shared memory (EE where
 * nothing landed) and whether the expected bytes completed the barrier's phase; a store's are the
 * code and the 16 KiB of global memory that its tensor lies in. Maps lie in global memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "conform_families.h"
#include "conform_tma.h"
#include "launch.h"
#include "module.h"
#include "strbuf.h"

enum {
    CASES = CONFORM_TMA_CASES,
    SHARED_BYTES = 12288,
    LOAD_RESULT_BYTES = CONFORM_TMA_LOAD_BYTES, /* the dump and a word; 12304 in the program */
};

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
    ".visible .entry k(.param .u64 p_maps, .param .u64 p_cases, .param .u64 p_data, .param .u64 "
    "p_out)\n{\n" CONFORM_FILL_REGISTERS
    "  .reg .pred p, q, done;\n  .reg .b32 tid, i, sa, tiles, rank, op, c<5>, expect, r<4>, v<4>;\n"
    "  .reg .b16 h<4>;\n"
    "  .reg .b64 map, case, data, out, d0;\n  .shared .align 8 .b64 bar;\n"
    "  ld.param.u64 map, [p_maps];\n  ld.param.u64 case, [p_cases];\n"
    "  ld.param.u64 data, [p_data];\n  ld.param.u64 out, [p_out];\n"
    "  mov.u32 tid, %tid.x;\n  mov.u32 i, %ctaid.x;\n"
    "  mad.wide.u32 map, i, 128, map;\n  mad.wide.u32 case, i, 64, case;\n"
    "  ld.global.v4.u32 {rank, c0, c1, c2}, [case];\n"
    "  ld.global.v4.u32 {c3, c4, sa, expect}, [case+16];\n"
    "  ld.global.v4.u32 {%seed, op, %k0, %k1}, [case+32];\n  ld.global.v2.u32 {%s0, %s1}, "
    "[case+48];\n"
    "  ld.global.v4.u16 {h0, h1, h2, h3}, [case+56];\n"
    "  setp.eq.u32 p, rank, 0;\n  @p bra END;\n"
    "  mov.u32 tiles, tile;\n  add.u32 sa, sa, tiles;\n  mov.u32 %sm, tiles;\n  mov.u32 %t, tid;\n"
    "  shl.b32 r1, tid, 4;\n  add.u32 r1, r1, tiles;\n";

static const char *const coords_text[] = {"{c0}", "{c0,c1}", "{c0,c1,c2}", "{c0,c1,c2,c3}",
                                          "{c0,c1,c2,c3,c4}"};

static const char *const offsets_text[] = {"", "", "{h0}", "{h0,h1}", "{h0,h1,h2}"};

static char *load_program(bool im2col) {
    struct strbuf out = {0};
    strbuf_puts(&out, head);
    strbuf_puts(&out, "  mad.wide.u32 out, i, 12304, out;\n  mov.u32 r0, 0xeeeeeeee;\n"
                      "  mov.u32 i, 0;\nFILL:\n  st.shared.v4.b32 [r1], {r0, r0, r0, r0};\n"
                      "  add.u32 r1, r1, 2048;\n  add.u32 i, i, 1;\n  setp.lt.u32 p, i, 6;\n"
                      "  @p bra FILL;\n  setp.ne.u32 p, tid, 0;\n  @p bra READY;\n"
                      "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
                      "READY:\n  fence.proxy.async;\n  bar.sync 0;\n  mov.u32 r3, 0;\n"
                      "  @p bra LOADED;\n"
                      "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], expect;\n");
    for (unsigned rank = im2col ? 3 : 1; rank <= 5; rank++)
        strbuf_printf(&out,
                      "  setp.ne.u32 q, rank, %u;\n  @q bra NOT%u;\n"
                      "  cp.async.bulk.tensor.%ud.shared::cluster.global.%s.mbarrier::complete_tx"
                      "::bytes [sa], [map, %s], [bar]%s%s;\nNOT%u:\n",
                      rank, rank, rank, im2col ? "im2col" : "tile", coords_text[rank - 1],
                      im2col ? ", " : "", im2col ? offsets_text[rank - 1] : "", rank);
    strbuf_puts(&out, "  mov.u32 i, 0;\nWAIT:\n"
                      "  mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;\n"
                      "  selp.u32 r3, 1, 0, done;\n  @done bra LOADED;\n  add.u32 i, i, 1;\n"
                      "  setp.lt.u32 done, i, 1000000;\n  @done bra WAIT;\nLOADED:\n  bar.sync 0;\n"
                      "  mov.u32 i, 0;\n  mad.wide.u32 d0, tid, 16, out;\n"
                      "  shl.b32 r1, tid, 4;\n  add.u32 r1, r1, tiles;\nDUMP:\n"
                      "  ld.shared.v4.b32 {v0, v1, v2, v3}, [r1];\n"
                      "  st.global.v4.b32 [d0], {v0, v1, v2, v3};\n"
                      "  add.u32 r1, r1, 2048;\n  add.u64 d0, d0, 2048;\n  add.u32 i, i, 1;\n"
                      "  setp.lt.u32 done, i, 6;\n  @done bra DUMP;\n"
                      "  @!p st.global.u32 [out+12288], r3;\nEND:\n  ret;\n}\n");
    return out.text;
}

static const char *const op_names[CONFORM_STORE_OPS] = {"add", "min", "max", "inc",  "dec",
                                                        "and", "or",  "xor", "store"};

static char *store_program(bool im2col) {
    struct strbuf out = {0};
    strbuf_puts(&out, head);
    conform_put_fill(&out, SHARED_BYTES / 2048);
    strbuf_puts(&out, "  fence.proxy.async;\n  bar.sync 0;\n"
                      "  setp.ne.u32 p, %t, 0;\n  @p bra END;\n");
    for (unsigned op = 0; op < CONFORM_STORE_OPS; op++)
        for (unsigned rank = im2col ? 3 : 1; rank <= 5; rank++) {
            bool store = op == CONFORM_STORE;
            strbuf_printf(&out,
                          "  setp.ne.u32 p, rank, %u;\n  setp.ne.or.u32 p, op, %u, p;\n"
                          "  @p bra NOT%u_%u;\n"
                          "  cp%s.async.bulk.tensor.%ud.global.shared::cta%s%s.%s.bulk_group "
                          "[map, %s], [sa];\nNOT%u_%u:\n",
                          rank, op, op, rank, store ? "" : ".reduce", rank, store ? "" : ".",
                          store ? "" : op_names[op], im2col ? "im2col_no_offs" : "tile",
                          coords_text[rank - 1], op, rank);
        }
    strbuf_puts(&out, "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n"
                      "END:\n  ret;\n}\n");
    return out.text;
}

struct tma_job {
    struct buffer maps, cases, data, out;
    struct module module;
    CUtensorMap map[CASES];
    struct conform_tma_row row[CASES];
    CUresult encode[CASES];
};

static void encode_all(struct conform_batch *batch, const struct conform_tma *family,
                       struct tma_job *job) {
    for (uint32_t i = 0; i < CASES; i++) {
        struct conform_tma_case made = family->make(batch, i);
        made.desc.address +=
            job->data.address + (family->stores ? (CUdeviceptr)i * CONFORM_TMA_STORE_BYTES : 0);
        job->row[i] = made.row;
        job->encode[i] = family->im2col ? tensormap_encode_im2col(batch->driver, &made.desc,
                                                                  &made.im2col, &job->map[i])
                                        : tensormap_encode(batch->driver, &made.desc, &job->map[i]);
        if (job->encode[i] != CUDA_SUCCESS)
            job->row[i].rank = 0;
    }
}

static void fill_data(const struct conform_batch *batch, bool stores, const struct tma_job *job,
                      uint8_t *data, size_t bytes) {
    static const uint32_t all[2] = {UINT32_MAX, UINT32_MAX}, none[2] = {0, 0};
    if (!stores)
        conform_fill((uint32_t)batch->number, all, none, data, bytes);
    for (uint32_t i = 0; stores && i < CASES; i++)
        conform_fill(job->row[i].seed, job->row[i].keep, job->row[i].set,
                     data + (size_t)i * CONFORM_TMA_STORE_BYTES, CONFORM_TMA_STORE_BYTES);
}

static bool start(struct conform_batch *batch, const struct conform_tma *family,
                  struct tma_job *job, struct host_error *error) {
    const struct driver *driver = batch->driver;
    const size_t data_bytes =
        family->stores ? (size_t)CASES * CONFORM_TMA_STORE_BYTES : CONFORM_TMA_GLOBAL_BYTES;
    uint8_t *data = malloc(data_bytes);
    char *text = family->stores ? store_program(family->im2col) : load_program(family->im2col);
    bool good = data != NULL && text != NULL && conform_load(driver, text, &job->module, error) &&
                buffer_alloc(driver, sizeof job->map, &job->maps, error) &&
                buffer_alloc(driver, sizeof job->row, &job->cases, error) &&
                buffer_alloc(driver, data_bytes, &job->data, error) &&
                buffer_alloc(driver, (size_t)CASES * LOAD_RESULT_BYTES, &job->out, error);
    if (good) {
        encode_all(batch, family, job);
        fill_data(batch, family->stores, job, data, data_bytes);
    }
    good = good && buffer_upload(&job->maps, 0, job->map, sizeof job->map, error) &&
           buffer_upload(&job->cases, 0, job->row, sizeof job->row, error) &&
           buffer_upload(&job->data, 0, data, data_bytes, error) &&
           buffer_fill(&job->out, 0, job->out.bytes, 0, 1, error);
    free(data);
    free(text);
    return good;
}

static bool launch(struct conform_batch *batch, struct tma_job *job, struct host_error *error) {
    static const uint32_t offsets[4] = {0, 8, 16, 24};
    const CUdeviceptr params[4] = {job->maps.address, job->cases.address, job->data.address,
                                   job->out.address};
    struct launch_desc desc = {.function = module_function(&job->module, "k", error),
                               .grid = {CASES, 1, 1},
                               .block = {128, 1, 1},
                               .dynamic_smem_bytes = SHARED_BYTES,
                               .params = params,
                               .params_bytes = sizeof params,
                               .param_offsets = offsets,
                               .param_count = 4};
    return desc.function != NULL && launch_kernel(batch->driver, &desc, error) == CUDA_SUCCESS &&
           launch_wait(batch->driver, NULL, 60, error) == LAUNCH_DONE;
}

bool conform_tma_run(struct conform_batch *batch, const struct conform_tma *family,
                     struct host_error *error) {
    bool store = family->stores;
    struct tma_job *job = aligned_alloc(64, (sizeof *job + 63) / 64 * 64); /* a map's alignment */
    if (job == NULL) {
        result_message(error, "no memory left");
        return false;
    }
    memset(job, 0, sizeof *job);
    batch->case_bytes = store ? CONFORM_TMA_STORE_BYTES : LOAD_RESULT_BYTES;
    bool good = start(batch, family, job, error) && launch(batch, job, error) &&
                buffer_download(store ? &job->data : &job->out, 0, batch->results,
                                CASES * batch->case_bytes, error);
    for (uint32_t i = 0; good && i < CASES; i++) /* the code goes into the last word */
        if (job->encode[i] != CUDA_SUCCESS)
            memcpy(batch->results + (i + 1) * batch->case_bytes - 4, &job->encode[i], 4);
    buffer_free(&job->maps);
    buffer_free(&job->cases);
    buffer_free(&job->data);
    buffer_free(&job->out);
    module_unload(&job->module);
    free(job);
    return good;
}

void conform_tma_describe(const struct conform_batch *batch, const struct conform_tma *family,
                          uint32_t index, char *text, size_t size) {
    struct conform_tma_case made = family->make(batch, index);
    int at = snprintf(text, size, "%s +%x, ", family->stores ? op_names[made.row.op] : "load",
                      made.row.shared_offset);
    conform_map_print(&made.desc, made.row.coords, text + at, size - (size_t)at);
    if (family->im2col) {
        at = (int)strlen(text);
        conform_im2col_print(&made.desc, &made.im2col, made.row.offsets, text + at,
                             size - (size_t)at);
    }
}
