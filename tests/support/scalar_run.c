/* See scalar_run.h. */
#include "scalar_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scalar_ptx.h"
#include "sim_run.h"

enum { BLOCK = 128, SHOWN_PER_FORM = 3 };

_Static_assert(sizeof(struct scalar_row) == SCALAR_ROW_BYTES, "rows are uploaded as they are");

static void run_form(struct sim_run *sim, const struct scalar_form *form,
                     const struct scalar_run *run) {
    size_t bytes = form->row_count * sizeof(struct scalar_row);
    struct scalar_row *rows = malloc(bytes);
    if (rows == NULL) {
        fprintf(stderr, "no memory\n");
        exit(99);
    }
    memcpy(rows, form->rows, bytes);
    for (size_t i = 0; i < form->row_count; i++)
        rows[i].out = ~form->rows[i].out;
    uint64_t address = sim_run_buffer(sim, rows, bytes);
    char kernel[16];
    snprintf(kernel, sizeof kernel, "f%u", form->id);
    const uint64_t params[] = {address, form->row_count};
    const struct sim_run_launch launch = {
        .kernel = kernel,
        .grid = (uint32_t)((form->row_count + BLOCK - 1) / BLOCK),
        .block = BLOCK,
        .params = params,
        .param_count = 2,
    };
    sim_run_ok(sim, &launch);
    memcpy(rows, sim_run_host(sim, address, bytes), bytes);
    for (size_t i = 0; i < form->row_count; i++)
        run->judge(run->ctx, form, &form->rows[i], rows[i].out);
    free(rows);
}

size_t scalar_run(const struct scalar_oracle *oracle, const struct scalar_run *run) {
    struct strbuf text = {0};
    scalar_ptx_head(&text);
    for (size_t i = 0; i < oracle->form_count; i++)
        if (run->wanted(&oracle->forms[i]))
            scalar_ptx_kernel(&oracle->forms[i], &text);
    struct sim_run sim = sim_run_open(90, strbuf_text(&text));
    size_t rows = 0;
    for (size_t i = 0; i < oracle->form_count; i++) {
        if (!run->wanted(&oracle->forms[i]))
            continue;
        run_form(&sim, &oracle->forms[i], run);
        rows += oracle->forms[i].row_count;
    }
    sim_run_close(&sim);
    strbuf_free(&text);
    return rows;
}

void scalar_judge_exact(void *ctx, const struct scalar_form *form, const struct scalar_row *row,
                        uint64_t got) {
    struct scalar_exact *exact = ctx;
    if (got == row->out)
        return;
    exact->wrong++;
    exact->wrong_here = exact->form == form ? exact->wrong_here + 1 : 1;
    exact->form = form;
    if (exact->wrong_here <= SHOWN_PER_FORM)
        fprintf(stderr,
                "%s a %" PRIx64 " b %" PRIx64 " c %" PRIx64 " e %" PRIx64 ": %" PRIx64
                ", the H200 says %" PRIx64 "\n",
                form->ptx, row->in[0], row->in[1], row->in[2], row->in[3], got, row->out);
}
