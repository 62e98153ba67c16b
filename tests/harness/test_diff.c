/* Wrong kernels against a record of the right one that an H200 made: with every instruction probed,
 * diff names the wrong line; without probes it names how the result is out of order. So it does for
 * wrong simulators: records edited to what one with another rounding, fragment map, parity or
 * swizzle would give. And the command's own cases: records without a difference, against a record,
 * no GPU, what a machine does not repeat.
 *
 * data/diff_events.rec, diff_plain.rec and diff_smem.rec (H200, driver 580.159.04, 2026-11-30) hold
 * their trace and kernel; another GPU's are made with `siltwin run data/diff_X.rec --on gpu -o
 * NEW`.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "commands.h"
#include "diff.h"
#include "stream.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(diff, .init = make_folder, .fini = remove_folder);

enum { TEXT_BYTES = 1 << 18 };

static const char *in_folder(const char *name) {
    return workdir_file(&dir, name);
}

static char *kernel; /* the right one's text */
static char good[128];

static void read_kernel(void) {
    kernel = calloc(1, TEXT_BYTES);
    FILE *file = fopen(SILTWIN_ROOT "/device/sm_90a/matmul_4_tma_store.ptx", "rb");
    cr_assert(file);
    cr_assert_lt(fread(kernel, 1, TEXT_BYTES - 1, file), TEXT_BYTES - 1);
    fclose(file);
    snprintf(good, sizeof good, "%s", in_folder("good.rec"));
}

/* The trace and the kernel of a committed record, which is then the right side. */
static void take_record(const char *name) {
    struct record record;
    struct strbuf error = {0};
    snprintf(good, sizeof good, SILTWIN_ROOT "/tests/harness/data/%s", name);
    cr_assert_eq(record_load(good, &record, &error), STATUS_OK, "%s", strbuf_text(&error));
    for (size_t i = 0; i < record.file_count; i++) {
        workdir_write(&dir, record.files[i].name, (const char *)record.files[i].bytes);
        if (!strcmp(record.files[i].name, "k.ptx"))
            kernel = strdup((const char *)record.files[i].bytes);
    }
    cr_assert(kernel);
    record_free(&record);
}

/* The kernel with the first (all: every) `from` replaced; the line of the first. */
static unsigned write_kernel(const char *from, const char *to, bool all) {
    char *out = calloc(1, 2 * TEXT_BYTES), *at = kernel;
    unsigned line = 0;
    for (char *hit; *from && (hit = strstr(at, from)); at = hit + strlen(from)) {
        strncat(out, at, (size_t)(hit - at));
        strcat(out, to);
        if (!line) {
            line = 1;
            for (char *p = kernel; p < hit; p++)
                line += *p == '\n';
        }
        if (!all) {
            at = hit + strlen(from);
            break;
        }
    }
    cr_assert(line || !*from, "the kernel has no `%s`", from);
    strcat(out, at);
    workdir_write(&dir, "k.ptx", out);
    free(out);
    return line;
}

static void write_trace(const char *probes) {
    char trace[2048];
    snprintf(
        trace, sizeof trace,
        "siltwin 1\ndevice h200\nconst M=64 N=64 K=128\nmodule mm k.ptx\n"
        "buffer A bf16 [M][K] uniform(-1,1) seed 1\nbuffer B bf16 [N][K] uniform(-1,1) seed 2\n"
        "buffer C bf16 [M][N] poison\n"
        "tensormap TA of A box [64][64] swizzle 128B\n"
        "tensormap TB of B box [64][64] swizzle 128B\n"
        "tensormap TC of C box [64][64] swizzle 128B\n%s\n"
        "launch mm.matmul_4_n64 grid 1 block 128 smem 24*1024+1024 args TA TB TC K\n",
        probes);
    workdir_write(&dir, "k.trace", trace);
}

/* The findings are looked at, not the document. */
static void compare_quietly(struct diff *d) {
    fflush(stdout);
    const int output = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
    cr_assert(output >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0);
    diff_records(d);
    fflush(stdout);
    cr_assert_geq(dup2(output, STDOUT_FILENO), 0);
    close(output);
    close(nowhere);
}

static int siltwin(const char *const *words, char **out) {
    return command_run(words, out);
}

static void record(const char *name) {
    char *out;
    const int status = siltwin(
        (const char *const[]){"run", in_folder("k.trace"), "--quiet", "-o", in_folder(name), NULL},
        &out);
    cr_assert(status == 0 || status == 1, "exit %d\n%s", status, out);
    free(out);
}

static int diff(char **out) {
    return siltwin((const char *const[]){"diff", good, in_folder("bad.rec"), NULL}, out);
}

#define LOAD "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
static const struct {
    const char *from, *to, *text; /* what the report says beside the line */
    int lines_before;             /* the operand's line is so many behind the instruction's */
} wrong[] = {
    {"[%tma_bar], 16384;", "[%tma_bar], 16400;", "bytes: 0x4000 (16384) in ", 0},
    {"[%tma_bar], 16384;", "[%tma_bar], 16368;", "0x3ff0 (16368) in ", 0},
    {"[%tma_bar], 1;", "[%tma_bar], 2;", "count: 0x1 in ", 0},
    {"mov.u32 %phase, 0;", "mov.u32 %phase, 1;", "", 0},
    {"add.u64 %desc_a_k, %desc_a, 2;", "add.u64 %desc_a_k, %desc_a, 4;", "", 0},
    {"add.u64 %desc_b_k, %desc_b, 6;", "add.u64 %desc_b_k, %desc_b, 2;", "", 0},
    {"or.b64 %desc_a, %desc_a, 0x4000004000010000;", "or.b64 %desc_a, %desc_a, 0x8000004000010000;",
     "", 0},
    {"add.u32 %smem_b, %smem, 8192;", "add.u32 %smem_b, %smem, 8320;", "b: 0x2000 (8192)", 0},
    {"shl.b32 %row_a, %row_a, 6;", "shl.b32 %row_a, %row_a, 5;", "", 0},
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;", "mov.b32 %scratch, %scratch;", "comes to", 0},
    {"cvt.rn.bf16x2.f32 %b0, %d1, %d0;", "cvt.rn.bf16x2.f32 %b0, %d0, %d1;", "a: 0x", 0},
    {"cvt.rn.bf16x2.f32 %b0, %d1, %d0;", "cvt.rz.bf16x2.f32 %b0, %d1, %d0;", "d: 0x", 0},
    {"[%st_at], {%b0, %b1, %b2, %b3};", "[%st_at], {%b1, %b0, %b2, %b3};", "stmatrix", 0},
    {"xor.b32 %st_at, %panel_chunk, 32;", "xor.b32 %st_at, %panel_chunk, 64;", "b: 0x20 (32)", 0},
    {"{%col, %row_a}]", "{%st_at, %row_a}]", "c0: 0x0 (0) in ", 0},
    {LOAD "[%smem], [%map_a,", LOAD "[%smem], [%map_b,", "&param map_a+0 in ", 0},
    {LOAD "[%smem], [%map_a, {%x, %row_a}]", LOAD "[%smem], [%map_a, {%row_a, %x}]", "c0: 0x40", 0},
    {"%desc_a, %desc_b, %accumulate, 1, 1, 0, 0;", "%desc_a, %desc_b, %accumulate, 1, -1, 0, 0;",
     "sb: 0x1", 5},
    {"setp.eq.u32 %accumulate, 0, 0;", "setp.ne.u32 %accumulate, 0, 0;", "p: 0x1 in ", 0},
    {"setp.ne.u32 %more, %left, 0;", "setp.ne.u32 %more, %left, 1;", "", 0},
    {"bar.sync 0;", "", "comes to", 0},
    {"add.u32 %x, %x, 64;", "add.u32 %x, %x, 32;", "b: 0x40 (64) in ", 0},
    {"and.b32 %scratch, %lane, 15;", "and.b32 %scratch, %lane, 7;", "", 0},
    {"shr.u32 %panel_chunk, %lane, 4;", "shr.u32 %panel_chunk, %lane, 3;", "", 0},
};

Test(diff, wrong_kernels_are_found_at_their_line) {
    take_record("diff_events.rec");
    const size_t count = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < count; i++) {
        char *out, place[64];
        const unsigned line = write_kernel(wrong[i].from, wrong[i].to, false);
        record("bad.rec");
        const int status = diff(&out);
        snprintf(place, sizeof place, "\n  k.ptx:%u:", line - (unsigned)wrong[i].lines_before);
        cr_expect_eq(status, 1, "%s", wrong[i].to);
        cr_expect(strstr(out, "first difference: launch 1, cta 0"), "%s\n%s", wrong[i].to, out);
        cr_expect(strstr(out, place), "%s: not%s\n%s", wrong[i].to, place, out);
        cr_expect(strstr(out, wrong[i].text), "%s: no \"%s\"\n%s", wrong[i].to, wrong[i].text, out);
        free(out);
    }
    printf("%zu wrong kernels found at their line\n", count);
}

static const struct {
    const char *from, *to, *name;
    bool all;
} moved[] = {
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;", "",
     "another swizzle mode: 128B on one side, none on the other", false},
    {"and.b32 %scratch, %panel_row, 7;", "and.b32 %scratch, %panel_row, 3;",
     "another swizzle mode: 64B against 128B", false},
    {"and.b32 %scratch, %panel_row, 7;", "and.b32 %scratch, %panel_row, 1;",
     "another swizzle mode: 32B against 128B", false},
    {"stmatrix.sync.aligned.m8n8.x4.shared", "stmatrix.sync.aligned.m8n8.x4.trans.shared",
     "transposed within tiles of 8 x 8", true},
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;",
     "xor.b32 %panel_chunk, %panel_chunk, %scratch; xor.b32 %panel_chunk, %panel_chunk, 1;",
     "chunks of 16 bytes exchanged: chunk c is chunk c ^ 1", false},
    {"shl.b32 %panel_row, %panel_row, 7;",
     "xor.b32 %panel_row, %panel_row, 8; shl.b32 %panel_row, %panel_row, 7;",
     "rows exchanged: row r is row r ^ 8", false},
    {"[%map_c, {%col, %row_a}]", "[%map_c, {%col, 8}]", "rows shifted: row r is row r - 8", false},
    {"[%map_c, {%col, %row_a}]", "[%map_c, {16, %row_a}]",
     "columns shifted: column c is column c - 16", false},
};

Test(diff, rearrangements_have_their_name_and_line) {
    take_record("diff_plain.rec");
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        char *out, place[64];
        const unsigned line = write_kernel(moved[i].from, moved[i].to, moved[i].all);
        record("bad.rec");
        snprintf(place, sizeof place, "decided at k.ptx:%u: ", line);
        cr_expect_eq(diff(&out), 1);
        cr_expect(strstr(out, moved[i].name), "%s: not %s\n%s", moved[i].to, moved[i].name, out);
        cr_expect(strstr(out, place), "%s: not %s\n%s", moved[i].to, place, out);
        free(out);
    }
}

/* The tile of A under another mode of its tensor map: the probe's bytes say so, and the trace's
 * line. */
Test(diff, shared_memory_in_another_swizzle_mode) {
    char *out;
    take_record("diff_smem.rec");
    const char *const words[] = {"diff", in_folder("k.trace"), "--against", good, NULL};
    cr_assert_eq(siltwin(words, &out), 0, "%s", out);
    cr_assert(strstr(out, "equal: 3 buffers, 64 events"), "%s", out);
    free(out);
    write_trace(
        "probe S smem 0..8192 at mm:98 warp 1\ntensormap TN of A box [64][64] swizzle none");
    char *trace = workdir_read(&dir, "k.trace");
    memcpy(strstr(trace, "args TA") + 5, "TN", 2);
    workdir_write(&dir, "k.trace", trace);
    free(trace);
    cr_assert_eq(siltwin(words, &out), 1, "%s", out);
    cr_assert(strstr(out, "another swizzle mode: 128B on one side, none on the other"), "%s", out);
    cr_assert(strstr(out, "smem[0x200]: 0x"), "%s", out);
    free(out);
}

/* ---- wrong simulators ---- */

/* A record's events and buffer C, to be edited as another simulator would have left them. */
struct edited {
    struct record record;
    struct stream events;
    uint16_t c[64][64];
};

static uint64_t *word(const struct stream_event *event, const struct stream_value *value) {
    return (uint64_t *)(uintptr_t)&event->words[value->offset_bytes / 8];
}

/* The value of that name at the event's place, where the instruction begins with `opcode`. */
static uint64_t *find_value(const struct edited *e, const struct stream_event *event,
                            const char *opcode, const char *name) {
    const struct stream_place *place = &e->events.places[event->place];
    for (uint32_t i = 0; i < place->value_count; i++)
        if (!strncmp(place->text, opcode, strlen(opcode)) && !strcmp(place->values[i].name, name) &&
            !place->values[i].constant)
            return word(event, &place->values[i]);
    return NULL;
}

/* bf16 toward zero instead of to nearest. */
static void other_rounding(struct edited *e) {
    for (size_t i = 0; i < e->events.event_count; i++) {
        const struct stream_event *event = &e->events.events[i];
        uint64_t *d = find_value(e, event, "cvt.rn.bf16x2.f32", "d");
        if (d)
            *d = (*find_value(e, event, "cvt.rn.bf16x2.f32", "a") & 0xffff0000) |
                 *find_value(e, event, "cvt.rn.bf16x2.f32", "b") >> 16;
    }
}

/* Accumulators in the lane before their own. */
static void other_fragment_map(struct edited *e) {
    uint16_t c[64][64];
    for (size_t i = 0; i < e->events.event_count; i++) {
        const struct stream_event *event = &e->events.events[i];
        if (!find_value(e, event, "cvt.rn.bf16x2.f32", "d") || event->thread % 32 != 0)
            continue;
        /* The 32 lanes' events of this place and visit. */
        uint64_t *lanes[32] = {0}, first = 0;
        for (size_t k = 0; k < e->events.event_count; k++) {
            const struct stream_event *x = &e->events.events[k];
            if (x->place == event->place && x->visit == event->visit && x->cta == event->cta &&
                x->thread / 32 == event->thread / 32)
                lanes[x->thread % 32] = find_value(e, x, "cvt.rn.bf16x2.f32", "d");
        }
        first = *lanes[0];
        for (int lane = 0; lane < 31; lane++)
            *lanes[lane] = *lanes[lane + 1];
        *lanes[31] = first;
    }
    for (int r = 0; r < 64; r++)
        for (int col = 0; col < 64; col++) {
            const int lane = (r % 8 * 4 + col / 2 % 4 + 1) % 32;
            c[r][col] = e->c[r / 8 * 8 + lane / 4][col / 8 * 8 + lane % 4 * 2 + col % 2];
        }
    memcpy(e->c, c, sizeof c);
}

/* test_wait and try_wait of the other parity. */
static void other_parity(struct edited *e) {
    for (size_t i = 0; i < e->events.event_count; i++) {
        uint64_t *done = find_value(e, &e->events.events[i], "mbarrier.try_wait", "done");
        if (done)
            *done ^= 1;
    }
}

/* shl that counts one too far. */
static void other_shift(struct edited *e) {
    for (size_t i = 0; i < e->events.event_count; i++) {
        uint64_t *d = find_value(e, &e->events.events[i], "shl.b32", "d");
        if (d)
            *d = (uint32_t)(*d << 1);
    }
}

/* A tensor store without the map's swizzle. */
static void other_swizzle(struct edited *e) {
    uint16_t c[64][64];
    for (int r = 0; r < 64; r++)
        for (int col = 0; col < 64; col++)
            c[r][col] = e->c[r][col ^ (r % 8 * 8)];
    memcpy(e->c, c, sizeof c);
}

/* stmatrix that transposes. */
static void other_matrix(struct edited *e) {
    uint16_t c[64][64];
    for (int r = 0; r < 64; r++)
        for (int col = 0; col < 64; col++)
            c[r][col] = e->c[r / 8 * 8 + col % 8][col / 8 * 8 + r % 8];
    memcpy(e->c, c, sizeof c);
}

/* A tensor store that begins two rows late. */
static void other_coordinate(struct edited *e) {
    uint16_t c[64][64];
    memset(c, 0xff, sizeof c);
    memcpy(c[2], e->c[0], sizeof c - 2 * sizeof c[0]);
    memcpy(e->c, c, sizeof c);
}

/* The sum of products with its last bit wrong in one element. */
static void other_sum(struct edited *e) {
    e->c[17][5] ^= 1;
}

static const struct {
    const char *name;
    void (*edit)(struct edited *e);
    const char *line, *arrangement, *text; /* line: a text of the kernel that stands there */
} simulators[] = {
    {"rounding", other_rounding, "cvt.rn.bf16x2.f32 %b0, %d1, %d0;", NULL, "\n    d: 0x"},
    {"fragment map", other_fragment_map, "cvt.rn.bf16x2.f32 %b0, %d1, %d0;",
     "lanes moved: what lane l holds is lane (l + 1) % 32's", "\n    d: 0x"},
    {"parity", other_parity, "mbarrier.try_wait.parity", NULL, "\n    done: 0x1 in "},
    {"shift", other_shift, "shl.b32 %panel_row, %warp, 4;", NULL,
     "\n    d: 0x10 (16) in silicon, 0x20 (32) in sim"},
    {"swizzle", other_swizzle, NULL, "another swizzle mode: 128B on one side, none on the other",
     ""},
    {"stmatrix", other_matrix, NULL, "transposed within tiles of 8 x 8", ""},
    {"coordinate", other_coordinate, NULL, "rows shifted: row r is row r - 2", ""},
    {"sum", other_sum, NULL, NULL, "first difference at C[17][5]: 0x"},
};

static struct record_buffer *buffer_c(struct record *record) {
    for (size_t i = 0; i < record->buffer_count; i++)
        if (!strcmp(record->buffers[i].name, "C"))
            return &record->buffers[i];
    return NULL;
}

static unsigned line_of(const char *text) {
    const char *hit = strstr(kernel, text);
    unsigned line = 1;
    cr_assert(hit, "%s", text);
    for (const char *p = kernel; p < hit; p++)
        line += *p == '\n';
    return line;
}

Test(diff, wrong_simulators_are_found) {
    struct record right = {0};
    struct strbuf error = {0};
    take_record("diff_events.rec");
    cr_assert_eq(record_load(good, &right, &error), STATUS_OK);
    const size_t count = sizeof simulators / sizeof *simulators;
    for (size_t i = 0; i < count; i++) {
        struct edited *e = calloc(1, sizeof *e);
        const char *why, *text, *arrangement = NULL;
        cr_assert_eq(record_load(good, &e->record, &error), STATUS_OK);
        const struct record_stream *stored = &e->record.streams[0];
        cr_assert(stream_read(stored->json, stored->bytes, stored->size, &e->events, &why));
        memcpy(e->c, buffer_c(&e->record)->bytes, sizeof e->c);
        simulators[i].edit(e);
        memcpy(buffer_c(&e->record)->bytes, e->c, sizeof e->c);
        struct diff d = {.a = &right,
                         .b = &e->record,
                         .a_name = "silicon",
                         .b_name = "sim",
                         .json = true,
                         .findings = json_array()};
        compare_quietly(&d);
        cr_expect_eq(d.status, EXIT_DIFFERENT, "%s", simulators[i].name);
        text = json_string_value(json_object_get(json_array_get(d.findings, 0), "text"));
        for (size_t k = 0; k < json_array_size(d.findings); k++) {
            const json_t *finding = json_array_get(d.findings, k);
            if (json_object_get(finding, "arrangement"))
                arrangement = json_string_value(json_object_get(finding, "arrangement"));
        }
        if (simulators[i].line) {
            char place[64];
            snprintf(place, sizeof place, "\n  k.ptx:%u:", line_of(simulators[i].line));
            cr_expect(text && strstr(text, place), "%s: not%s\n%s", simulators[i].name, place,
                      text);
        }
        cr_expect(text && strstr(text, simulators[i].text), "%s: %s", simulators[i].name, text);
        if (simulators[i].arrangement)
            cr_expect(arrangement && !strcmp(arrangement, simulators[i].arrangement), "%s: %s",
                      simulators[i].name, arrangement ? arrangement : "no arrangement");
        json_decref(d.findings);
        stream_free(&e->events);
        record_free(&e->record);
        free(e);
    }
    record_free(&right);
    printf("%zu wrong simulators found\n", count);
}

/* ---- the command ---- */

/* The committed record is an H200's: every event is the simulator's, but for the turns that its
 * waiting loops took. */
Test(diff, silicon_saw_the_same) {
    char *out;
    take_record("diff_events.rec");
    cr_assert_eq(siltwin((const char *const[]){"show", good, "--events", NULL}, &out), 0);
    cr_assert(strstr(out, " bra WAIT_TMA"), "no loop of polls turned");
    free(out);
    cr_assert_eq(
        siltwin((const char *const[]){"diff", in_folder("k.trace"), "--against", good, NULL}, &out),
        0, "%s", out);
    cr_assert(strstr(out, "equal: 3 buffers, 14988 events"), "%s", out);
    free(out);
    cr_assert_eq(siltwin((const char *const[]){"show", good, NULL}, &out), 0);
    cr_assert(strstr(out, "on             gpu") && strstr(out, "NVIDIA H200"), "%s", out);
    free(out);
}

Test(diff, what_the_command_answers) {
    char *out;
    read_kernel();
    write_trace("probe E event of mbarrier.* cp.async.bulk*");
    write_kernel("", "", false);
    record("good.rec");
    record("bad.rec");
    cr_assert_eq(diff(&out), 0, "%s", out);
    cr_assert(strstr(out, "equal: 3 buffers, "), "%s", out);
    free(out);
    /* One side without events: nothing is said about them. */
    write_trace("");
    record("bad.rec");
    cr_assert_eq(diff(&out), 4, "%s", out);
    cr_assert(strstr(out, "only one of the records has the events"), "%s", out);
    free(out);
    const char *trace = in_folder("k.trace");
    cr_assert_eq(siltwin((const char *const[]){"diff", trace, "--repeat", "0", NULL}, &out), 2);
    free(out);
    cr_assert_eq(
        siltwin((const char *const[]){"diff", trace, "--against", "/nowhere.rec", NULL}, &out), 2);
    free(out);
    cr_assert_eq(siltwin((const char *const[]){"diff", trace, "nonsense", "more", NULL}, &out), 2);
    free(out);
    if (access("/dev/nvidia0", F_OK)) {
        cr_assert_eq(siltwin((const char *const[]){"diff", trace, NULL}, &out), 3, "%s", out);
        cr_assert(strstr(out, "no GPU"), "%s", out);
        free(out);
    }
}

/* What the machine of one side does not repeat is no difference: of events and of buffers. */
Test(diff, unstable_values_are_no_difference) {
    struct record a = {0}, b = {0}, again[2] = {0};
    struct strbuf error = {0};
    read_kernel();
    write_trace("probe E event of cvt.rn.bf16x2.f32 keep 8");
    write_kernel("", "", false);
    record("good.rec");
    write_kernel("add.u64 %desc_a_k, %desc_a, 2;", "add.u64 %desc_a_k, %desc_a, 4;", false);
    record("bad.rec");
    cr_assert_eq(record_load(in_folder("good.rec"), &a, &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("bad.rec"), &b, &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("bad.rec"), &again[0], &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("good.rec"), &again[1], &error), STATUS_OK);
    for (size_t count = 1; count <= 2; count++) {
        struct diff d = {.a = &a,
                         .b = &b,
                         .again = again,
                         .again_count = count,
                         .a_name = "sim",
                         .b_name = "gpu",
                         .json = true,
                         .findings = json_array()};
        diff_streams(&d);
        /* One repetition agrees with b: it differs from a. The second does not. */
        cr_expect_eq(d.status, count == 1 ? EXIT_DIFFERENT : EXIT_AS_EXPECTED);
        cr_expect_eq(json_array_size(d.findings), 2 - count);
        cr_expect(count == 1 ? d.counts.of_class[DIFF_UNSTABLE] == 0
                             : d.counts.of_class[DIFF_UNSTABLE] > 0);
        if (count == 2) {
            compare_quietly(&d); /* with the buffers */
            cr_expect_eq(d.status, EXIT_AS_EXPECTED);
        }
        diff_free(&d);
        json_decref(d.findings);
    }
    record_free(&a);
    record_free(&b);
    record_free(&again[0]);
    record_free(&again[1]);
}

/* Clocks differ between runs that take another number of steps: that is allowed. */
Test(diff, clocks_may_differ) {
    static const char text[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        ".reg .pred %%p; .reg .b32 %%c, %%n; mov.u32 %%n, %u; L: sub.u32 %%n, %%n, 1; "
        "setp.ne.u32 %%p, %%n, 0; @%%p bra L;\nmov.u32 %%c, %%clock;\nret; }\n";
    char ptx[512], *out;
    read_kernel();
    workdir_write(&dir, "c.trace",
                  "siltwin 1\ndevice h200\nmodule m c.ptx\nprobe R regs %c at m:7\n"
                  "probe E event of mov.u32 at m:6\nlaunch m.k grid 1 block 32\n");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(ptx, sizeof ptx, text, 1 + 5000 * i);
        workdir_write(&dir, "c.ptx", ptx);
        cr_assert_eq(siltwin((const char *const[]){"run", in_folder("c.trace"), "--quiet", "-o",
                                                   in_folder(i ? "bad.rec" : "good.rec"), NULL},
                             &out),
                     0, "%s", out);
        free(out);
    }
    cr_assert_eq(diff(&out), 0, "%s", out);
    cr_assert(
        strstr(out, "64 events\nlegal: 64 values about which machines may disagree (clock 64)"),
        "%s", out);
    free(out);
}
