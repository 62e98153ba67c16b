/* Buffers lie at the same addresses in every run, or where a record had them; addresses of shared
 * and local memory are recorded as offsets in their windows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "workdir.h"

static struct workdir dir;

static const char kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p) {\n"
    "  .reg .b64 %a, %s, %q, %l; .reg .b32 %lo, %hi; .shared .align 16 .b8 sm[64];\n"
    "  .local .align 8 .b8 loc[16];\n"
    "  ld.param.u64 %a, [p]; mov.b64 {%lo, %hi}, %a;\n"
    "  mov.u64 %s, sm; cvta.shared.u64 %s, %s; mov.u64 %l, loc; cvta.local.u64 %l, %l;\n"
    "  shr.u64 %q, %a, 4; st.local.u32 [loc], %lo;\n"
    "HERE: st.global.u64 [%a], %q;\n  ret;\n}\n";

static void start(void) {
    workdir_make(&dir);
    workdir_write(&dir, "k.ptx", kernel);
    workdir_write(&dir, "k.trace",
                  "siltwin 1\ndevice h200\nmodule m k.ptx\nconst N=1\nbuffer B u64 [N] zeros\n"
                  "buffer A u64 [2] zeros\nlaunch m.k grid 1 block 32 args &A\n"
                  "probe R regs %a %lo %hi %q %s %l at HERE lane 0\n");
}

static void stop(void) {
    workdir_remove(&dir);
}

TestSuite(addresses, .init = start, .fini = stop);

#define RUN(status, arguments)                                                                     \
    cr_assert_eq(workdir_siltwin(&dir, arguments), status, "%s: %s%s", arguments, dir.output,      \
                 dir.errors)

Test(addresses, parts_of_an_address_are_the_same_in_every_run) {
    RUN(0, "run k.trace -o a.rec");
    cr_assert(strstr(dir.output, "the buffers are the same"), "%s", dir.output);
    RUN(0, "run k.trace --quiet -o b.rec");
    RUN(0, "diff a.rec b.rec");
    RUN(0, "show a.rec --events");
    cr_assert(strstr(dir.output, "%a=&A+0 %lo=0x8000000 (134217728) %hi=0x7e80 (32384)"), "%s",
              dir.output);
    cr_assert(strstr(dir.output, "%s=&generic shared+1024 %l=&generic local+0"), "%s", dir.output);
}

/* A larger B moves A; --addresses puts it back, and so does running the record again. */
Test(addresses, those_of_a_record_are_taken) {
    RUN(0, "run k.trace N=20000000 --quiet -o far.rec");
    RUN(0, "run k.trace --quiet -o near.rec");
    RUN(1, "diff far.rec near.rec");
    cr_assert(strstr(dir.output, "%lo"), "%s", dir.output);
    RUN(0, "run k.trace --quiet --addresses far.rec -o again.rec");
    RUN(0, "show again.rec --events");
    cr_assert(!strstr(dir.output, "%lo=0x8000000 "), "%s", dir.output);
    RUN(0, "run again.rec --quiet -o twice.rec");
    RUN(0, "diff again.rec twice.rec");
    RUN(0, "diff k.trace --against again.rec");
    RUN(2, "run k.trace --quiet --addresses k.ptx");
    cr_assert(strstr(dir.errors, "--addresses: 'k.ptx': not a record"), "%s", dir.errors);
}
