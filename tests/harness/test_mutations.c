/* One-line mistakes in the kernels of the ladder, each run by the siltwin command under three
 * completion policies. At least one of the runs must end with exit status 1 and a message that
 * names the PTX line or the wrong elements' place; none may crash, loop or go on for ever, and the
 * whole of them must not all pass. */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

enum { TEXT_BYTES = 1 << 18 };

struct edit {
    const char *from, *to;
};
struct mutation {
    const char *name;
    const char *kernel; /* "matmul_3_swizzle" */
    struct edit edit[2];
    const char *message; /* extended regular expression that one failing run must show */
};

#define EXPECT_TX "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tma_bar], 16384;"
#define COMMIT                                                                                     \
    "    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mma_bar];\n"
#define LOAD_A                                                                                     \
    "    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%smem], "   \
    "[%map_a, {%x, %row_a}], [%tma_bar];"
#define LOAD_A_FROM(at)                                                                            \
    "    add.u32 %scratch, %smem, " at ";\n    cp.async.bulk.tensor.2d.shared::cta.global.tile."   \
    "mbarrier::complete_tx::bytes [%scratch], [%map_a, {%x, %row_a}], [%tma_bar];"
#define DEALLOC "    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 512;\n"
/* A failed expectation names coordinates like C[3][17]; a fault or hang names FILE.ptx:LINE. */
#define WRONG_C  "C\\[[0-9]+\\]\\[[0-9]+\\]"
#define PTX_LINE "\\.ptx:[0-9]+"

static const struct mutation mutations[] = {
    {"16 bytes too many expected",
     "matmul_3_swizzle",
     {{EXPECT_TX, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tma_bar], 16400;"}},
     PTX_LINE},
    {"16 bytes too few expected",
     "matmul_3_swizzle",
     {{EXPECT_TX, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%tma_bar], 16368;"}},
     PTX_LINE},
    {"wrong parity",
     "matmul_3_swizzle",
     {{"mov.u32 %phase, 0;", "mov.u32 %phase, 1;"}},
     WRONG_C "|" PTX_LINE},
    {"missing commit", "matmul_2_tma_mma", {{COMMIT, ""}}, PTX_LINE},
    {"missing arrival",
     "matmul_4_tma_store",
     {{EXPECT_TX, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tma_bar], 16384;"}},
     PTX_LINE},
    {"swizzle mode of A's descriptor is not the map's",
     "matmul_3_swizzle",
     {{"or.b64 %desc_a, %desc_a, 0x4000404000010000;",
       "or.b64 %desc_a, %desc_a, 0x8000404000010000;"}},
     WRONG_C},
    {"LBO and SBO exchanged",
     "matmul_2_tma_mma",
     {{"0x0000400800400000", "0x0000404000080000"}},
     PTX_LINE},
    {"K step of A wrong",
     "matmul_3_swizzle",
     {{"add.u64 %desc_a_k, %desc_a, 2;", "add.u64 %desc_a_k, %desc_a, 4;"}},
     WRONG_C},
    {"TMA destination off by 128 bytes",
     "matmul_3_swizzle",
     {{LOAD_A, LOAD_A_FROM("128")}},
     WRONG_C},
    {"misaligned TMA destination", "matmul_3_swizzle", {{LOAD_A, LOAD_A_FROM("64")}}, PTX_LINE},
    {"wrong M in the instruction descriptor",
     "matmul_3_swizzle",
     {{"0x04100490, %accumulate", "0x08100490, %accumulate"}},
     WRONG_C "|" PTX_LINE},
    {"wrong N in the instruction descriptor",
     "matmul_4_tma_store",
     {{"0x04100490, %accumulate", "0x04080490, %accumulate"}},
     WRONG_C},
    {"accumulate flag always 0",
     "matmul_3_swizzle",
     {{"setp.eq.u32 %accumulate, 0, 0;", "setp.ne.u32 %accumulate, 0, 0;"}},
     WRONG_C},
    {"the other 16 lanes read",
     "matmul_2_tma_mma",
     {{"add.u32 %tmem_mine, %tmem, %tmem_mine;",
       "add.u32 %tmem_mine, %tmem, %tmem_mine; add.u32 %tmem_mine, %tmem_mine, 0x100000;"}},
     WRONG_C},
    {"tcgen05.ld before the last MMA is waited for",
     "matmul_3_swizzle",
     {{"WAIT_MMA:\n", "    setp.eq.u32 %more, %left, 1;\n    @%more bra NO_WAIT;\nWAIT_MMA:\n"},
      {"    xor.b32 %phase, %phase, 1;", "NO_WAIT:\n    xor.b32 %phase, %phase, 1;"}},
     WRONG_C "|" PTX_LINE},
    {"no wait before the next TMA into the same tile",
     "matmul_3_swizzle",
     {{"WAIT_MMA:\n", "    setp.ne.u32 %more, %left, 1;\n    @%more bra NO_WAIT;\nWAIT_MMA:\n"},
      {"    xor.b32 %phase, %phase, 1;", "NO_WAIT:\n    xor.b32 %phase, %phase, 1;"}},
     WRONG_C "|" PTX_LINE},
    {"dealloc of the wrong address",
     "matmul_3_swizzle",
     {{DEALLOC, "    add.u32 %tmem, %tmem, 32;\n" DEALLOC}},
     PTX_LINE},
    {"no dealloc", "matmul_4_tma_store", {{DEALLOC, ""}}, "721|Tensor Memory"},
    {"stmatrix without the swizzle",
     "matmul_4_tma_store",
     {{"xor.b32 %panel_chunk, %panel_chunk, %scratch;", ""}},
     WRONG_C},
    {"rows of A where rows of B belong",
     "matmul_3_swizzle",
     {{"[%map_b, {%x, %row_b}]", "[%map_b, {%x, %row_a}]"}},
     WRONG_C},
};
enum { MUTATION_COUNT = sizeof mutations / sizeof mutations[0] };
static const char *const policies[] = {"eager", "lazy", "random:1"};

static char *read_file(const char *path) {
    char *text = calloc(1, TEXT_BYTES);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t length = fread(text, 1, TEXT_BYTES - 1, file);
    cr_assert_lt(length, TEXT_BYTES - 1);
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

/* Every occurrence; there must be one. */
static char *replace(char *text, const struct edit *edit, const char *name) {
    char *out = calloc(1, TEXT_BYTES);
    size_t used = 0, from = strlen(edit->from), found = 0;
    for (const char *p = text; *p != '\0';) {
        if (strncmp(p, edit->from, from) == 0) {
            used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%s", edit->to);
            p += from;
            found++;
        } else {
            out[used++] = *p++;
        }
        cr_assert_lt(used, TEXT_BYTES - 1);
    }
    cr_assert_gt(found, 0, "%s: the kernel has no `%s`", name, edit->from);
    free(text);
    return out;
}

static void make_files(const struct mutation *m, const char *folder) {
    char path[1024], ptx_name[64];
    snprintf(path, sizeof path, "%s/device/sm_100a/%s.ptx", SILTWIN_ROOT, m->kernel);
    char *ptx = read_file(path);
    for (size_t i = 0; i < 2 && m->edit[i].from != NULL; i++)
        ptx = replace(ptx, &m->edit[i], m->name);
    snprintf(path, sizeof path, "%s/kernel.ptx", folder);
    write_file(path, ptx);
    snprintf(path, sizeof path, "%s/traces/%s_64x64.trace", SILTWIN_ROOT, m->kernel);
    snprintf(ptx_name, sizeof ptx_name, "../device/sm_100a/%s.ptx", m->kernel);
    char *trace = replace(read_file(path), &(struct edit){ptx_name, "kernel.ptx"}, m->name);
    snprintf(path, sizeof path, "%s/kernel.trace", folder);
    write_file(path, trace);
    free(ptx);
    free(trace);
}

/* Exit status of `siltwin run`, output in `text`. */
static int run(const char *folder, const char *policy, char *text) {
    char trace[1024], *output;
    snprintf(trace, sizeof trace, "%s/kernel.trace", folder);
    int status = command_run(
        (const char *const[]){"run", trace, "--policy", policy, "--quiet", NULL}, &output);
    snprintf(text, TEXT_BYTES, "%s", output);
    free(output);
    return status;
}

static void check(const struct mutation *m) {
    char folder[] = "/tmp/siltwin-mutation-XXXXXX";
    char *text = calloc(1, TEXT_BYTES);
    regex_t message;
    bool named = false;
    unsigned failed = 0;
    cr_assert_eq(regcomp(&message, m->message, REG_EXTENDED), 0);
    cr_assert_not_null(mkdtemp(folder));
    make_files(m, folder);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        int status = run(folder, policies[i], text);
        cr_assert(status == 0 || status == 1, "%s under %s: exit %d\n%s", m->name, policies[i],
                  status, text);
        failed += status == 1;
        named |= status == 1 && regexec(&message, text, 0, NULL, 0) == 0;
    }
    cr_assert_gt(failed, 0, "%s passes under every policy", m->name);
    cr_assert(named, "%s: no message says %s; the last was:\n%s", m->name, m->message, text);
    regfree(&message);
    free(text);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

Test(mutations, first_half) {
    for (size_t i = 0; i < MUTATION_COUNT / 2; i++)
        check(&mutations[i]);
}
Test(mutations, second_half) {
    for (size_t i = MUTATION_COUNT / 2; i < MUTATION_COUNT; i++)
        check(&mutations[i]);
    printf("%d mutations of the ladder found out\n", MUTATION_COUNT);
}
