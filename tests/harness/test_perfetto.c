/* Timelines: that the document is one, that time goes on in it, that slices of a track do not
 * overlap, that each flow begins and ends within a slice. Runs the built siltwin. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "perfetto.h"
#include "perfetto_chart.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(perfetto, .init = make_folder, .fini = remove_folder);

static int siltwin(const char *arguments) {
    return workdir_siltwin(&dir, arguments);
}

#define CHECK(status, wanted, text, where)                                                         \
    cr_assert_eq(status, wanted, "status not %d\n%s%s", wanted, dir.output, dir.errors);           \
    cr_assert(strstr(where, text), "no \"%s\" in\n%s%s", text, dir.output, dir.errors)

/* ---- what any timeline must keep to ---- */

static json_int_t number(const json_t *event, const char *key) {
    const json_t *value = json_object_get(event, key);
    cr_assert(json_is_integer(value), "%s", key);
    return json_integer_value(value);
}

static const char *word(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    cr_assert(text, "%s", key);
    return text;
}

/* The name of a process (tid 0) or thread. */
static const char *name_of(const json_t *events, json_int_t pid, json_int_t tid) {
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        const char *what = word(event, "name");
        if (!strcmp(word(event, "ph"), "M") &&
            !strcmp(what, tid ? "thread_name" : "process_name") && number(event, "pid") == pid &&
            number(event, "tid") == tid)
            return word(json_object_get(event, "args"), "name");
    }
    cr_assert_fail("process %d thread %d has no name", (int)pid, (int)tid);
    return "";
}

/* The slice of that track at `ts`; there is exactly one. */
static const json_t *slice_at(const json_t *events, const json_t *flow) {
    const json_int_t ts = number(flow, "ts");
    const json_t *found = NULL;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        if (strcmp(word(event, "ph"), "X") != 0 || number(event, "pid") != number(flow, "pid") ||
            number(event, "tid") != number(flow, "tid") || number(event, "ts") > ts ||
            number(event, "ts") + number(event, "dur") <= ts)
            continue;
        cr_assert_not(found, "two slices of a track at %d", (int)ts);
        found = event;
    }
    cr_assert(found, "a flow outside every slice at %d", (int)ts);
    return found;
}

static const json_t *other_end(const json_t *events, const json_t *flow, const char *phase) {
    const json_t *found = NULL;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        if (strcmp(word(event, "ph"), phase) != 0 || number(event, "id") != number(flow, "id"))
            continue;
        cr_assert_not(found, "flow %d has two", (int)number(flow, "id"));
        found = event;
    }
    cr_assert(found, "flow %d has no %s", (int)number(flow, "id"), phase);
    return found;
}

struct counts {
    unsigned slices, flows, issues, signals, waits, counted, open;
};

/* From what to what a flow leads. */
static void count_flow(const json_t *events, const json_t *flow, struct counts *counts) {
    const json_t *end = other_end(events, flow, "f");
    cr_assert_str_eq(word(end, "bp"), "e");
    cr_assert_leq(number(flow, "ts"), number(end, "ts"));
    const char *from = word(slice_at(events, flow), "cat"),
               *to = word(slice_at(events, end), "cat");
    counts->flows++;
    counts->issues += !strcmp(from, "warp") && !strcmp(to, "operation");
    counts->signals += !strcmp(from, "operation") && !strcmp(to, "mbarrier");
    counts->waits += !strcmp(from, "mbarrier") && !strcmp(to, "warp");
    counts->counted += !strcmp(from, "operation") && !strcmp(to, "warp");
}

static struct counts check_document(const json_t *document) {
    const json_t *events = json_object_get(document, "traceEvents");
    struct counts counts = {0};
    json_int_t last = 0;
    size_t i, k;
    json_t *event, *other;
    cr_assert(json_is_array(events) && json_array_size(events));
    json_array_foreach(events, i, event) {
        const char *phase = word(event, "ph");
        if (!strcmp(phase, "M"))
            continue;
        cr_assert_geq(number(event, "ts"), last, "time goes back");
        last = number(event, "ts");
        if (!strcmp(phase, "s"))
            count_flow(events, event, &counts);
        if (!strcmp(phase, "f"))
            other_end(events, event, "s");
        if (strcmp(phase, "X") != 0)
            continue;
        counts.slices++;
        counts.open += strstr(word(event, "name"), " (still waiting)") ||
                       strstr(word(event, "name"), " (not complete)");
        cr_assert_gt(number(event, "dur"), 0);
        name_of(events, number(event, "pid"), number(event, "tid"));
        name_of(events, number(event, "pid"), 0);
        json_array_foreach(events, k, other) {
            if (k <= i || strcmp(word(other, "ph"), "X") != 0 ||
                number(other, "pid") != number(event, "pid") ||
                number(other, "tid") != number(event, "tid"))
                continue;
            cr_assert_geq(number(other, "ts"), number(event, "ts") + number(event, "dur"),
                          "slices of a track overlap");
            break;
        }
    }
    return counts;
}

/* The timeline of a record, parsed and checked. */
static json_t *timeline_of(const char *record, struct counts *counts) {
    char arguments[128];
    json_error_t error;
    snprintf(arguments, sizeof arguments, "show %s --perfetto", record);
    cr_assert_eq(siltwin(arguments), 0, "%s", dir.errors);
    json_t *document = json_loads(dir.output, 0, &error);
    cr_assert(document, "%s at %d", error.text, error.position);
    *counts = check_document(document);
    return document;
}

static bool has_track(const json_t *document, const char *name) {
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(document, "traceEvents"), i, event) {
        if (!strcmp(word(event, "name"), "thread_name") &&
            !strcmp(word(json_object_get(event, "args"), "name"), name))
            return true;
    }
    return false;
}

/* ---- records ---- */

static void write_ladder(const char *device, const char *probes) {
    char trace[4096];
    snprintf(trace, sizeof trace,
             "siltwin 1\ndevice %s\nmodule mm sm_100a=%s/device/sm_100a/matmul_4_tma_store.ptx "
             "sm_90a=%s/device/sm_90a/matmul_4_tma_store.ptx\n"
             "buffer A bf16 [64][192] uniform(-1,1) seed 1\n"
             "buffer B bf16 [64][192] uniform(-1,1) seed 2\n"
             "buffer C bf16 [64][64] poison\ntensormap TA of A box [64][64] swizzle 128B\n"
             "tensormap TB of B box [64][64] swizzle 128B\n"
             "tensormap TC of C box [64][64] swizzle 128B\n%s\n"
             "launch mm.matmul_4_n64 grid 1 block 128 smem 24*1024+24 args TA TB TC 192\n"
             "expect C == matmul_nt(A, B) within 1 ulp\n",
             device, SILTWIN_ROOT, SILTWIN_ROOT, probes);
    workdir_write(&dir, "t.trace", trace);
}

static void record_ladder(const char *device, const char *policy, const char *probes) {
    char arguments[256];
    write_ladder(device, probes);
    snprintf(arguments, sizeof arguments,
             "run t.trace -o t.rec --quiet --policy %s --allow-path " SILTWIN_ROOT, policy);
    cr_assert_eq(siltwin(arguments), 0, "%s", dir.errors);
}

Test(perfetto, a_matrix_product_on_both_chips) {
    static const char *const policies[] = {"eager", "lazy", "random:5"};
    for (int p = 0; p < 3; p++) {
        struct counts c;
        record_ladder("b200", policies[p],
                      "probe E event of mbarrier.* cp.async.bulk* tcgen05.* [sim]");
        json_t *document = timeline_of("t.rec", &c);
        /* Three tiles of K: two loads, four MMAs, a commit each; one store, which reads and writes
         * apart unless all is done at once. */
        cr_expect_eq(c.issues, p == 0 ? 3 * 7 + 1 : 3 * 7 + 2, "%s: %u", policies[p], c.issues);
        cr_expect_eq(c.signals, 3 * 3, "%s: %u", policies[p], c.signals);
        cr_expect_eq(c.waits, 3 * 2 * 4, "four warps wait for both barriers: %u", c.waits);
        cr_expect_geq(c.counted, 1, "wait_group gets the store");
        cr_expect(has_track(document, "warp 0") && has_track(document, "warp 3"));
        cr_expect(has_track(document, "TMA loads") && has_track(document, "TMA stores"));
        cr_expect(has_track(document, "tensor core") && has_track(document, "tensor core commits"));
        cr_expect(strstr(dir.output, "\"mbarrier 0x"));
        cr_expect(strstr(dir.output, "axis: the simulator's steps (1 step shown as 1 us)"));
        cr_expect(json_object_get(json_object_get(document, "otherData"), "steps"));
        json_decref(document);

        record_ladder("h200", policies[p],
                      "probe E event of mbarrier.* cp.async.bulk* wgmma.* [sim]");
        document = timeline_of("t.rec", &c);
        cr_expect(has_track(document, "tensor core"));
        cr_expect_geq(c.counted, 4, "wgmma.wait_group gets its products: %u", c.counted);
        cr_expect_geq(c.waits, 3 * 4);
        json_decref(document);
    }
}

/* A record whose kernel wrote down what it saw has no order of everything. */
Test(perfetto, without_a_clock_the_axis_is_the_order_of_visits) {
    struct counts c;
    record_ladder("h200", "eager", "probe E event of mbarrier.* wgmma.*");
    json_t *document = timeline_of("t.rec", &c);
    cr_expect_gt(c.slices, 0);
    cr_expect_eq(c.flows, 0);
    cr_expect(strstr(dir.output, "axis: each thread's order of visits, no clock"));
    cr_expect(json_object_get(json_object_get(document, "otherData"), "order_of_visits"));
    cr_expect_not(json_object_get(json_object_get(document, "otherData"), "steps"));
    json_decref(document);
    /* Both sorts of probes: each is a process with its own axis. */
    record_ladder("h200", "eager",
                  "probe E event of mbarrier.*\nprobe F event of mbarrier.* wgmma.* [sim]");
    document = timeline_of("t.rec", &c);
    const json_t *events = json_object_get(document, "traceEvents");
    cr_expect(strstr(name_of(events, 1, 0), "order of visits"));
    cr_expect(strstr(name_of(events, 2, 0), "simulator's steps"));
    json_decref(document);
}

Test(perfetto, a_hang_is_drawn_to_its_end) {
    struct counts c;
    workdir_write(&dir, "h.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".shared .align 8 .b64 bar;\n.visible .entry k() { .reg .pred %p;\n"
                  "mbarrier.init.shared.b64 [bar], 2; bar.sync 0;\n"
                  "L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n"
                  "@!%p bra L; ret; }\n");
    workdir_write(&dir, "h.trace",
                  "siltwin 1\ndevice h200\nmodule m h.ptx\n"
                  "probe E event of mbarrier.* bar.sync [sim]\nlaunch m.k grid 1 block 32\n");
    cr_assert_eq(siltwin("run h.trace -o h.rec"), 1);
    json_t *document = timeline_of("h.rec", &c);
    cr_expect_geq(c.open, 2, "the wait and the phase: %u", c.open);
    cr_expect(strstr(dir.output, "mbarrier.try_wait.parity.shared.b64 (still waiting)"));
    cr_expect(strstr(dir.output, "phase 0 (not complete)"));
    json_decref(document);
}

/* Whatever a trace calls things: quotes, backslashes, newlines, control characters. */
Test(perfetto, names_stay_text) {
    struct record record = {.head = json_object()};
    struct strbuf text = {0}, error = {0};
    json_t *stream = json_pack(
        "{s:i, s:i, s:[{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:i, s:[{s:s, s:s, s:s}]}]}",
        "launch", 1, "block", 1, "places", "probe", "E\"", "kind", "event", "module", "m\\", "file",
        "a\"\n\\.ptx", "entry", "k", "line", 1, "column", 1, "text", "mov\"\x01 %r", "words", 0,
        "values", "name", "d\"", "type", "u32", "bits", "0x1");
    const uint32_t events[] = {0, 0, 0, 0, 0, 0};
    struct record_stream stored = {
        .json = stream, .bytes = (uint8_t *)(uintptr_t)events, .size = sizeof events};
    record.streams = &stored;
    record.stream_count = 1;
    cr_assert(stream);
    cr_assert(perfetto_write(&record, &text, &error), "%s", strbuf_text(&error));
    json_t *document = json_loads(strbuf_text(&text), 0, NULL);
    cr_assert(document, "%s", strbuf_text(&text));
    const struct counts c = check_document(document);
    cr_expect_eq(c.slices, 1);
    cr_expect(strstr(strbuf_text(&text), "\"probe\":\"E\\\"\""), "%s", strbuf_text(&text));
    json_decref(document);
    /* A timeline that is none. */
    uint8_t rows[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    stored.time = rows;
    stored.time_size = sizeof rows;
    strbuf_clear(&text);
    cr_expect_not(perfetto_write(&record, &text, &error));
    cr_expect(strstr(strbuf_text(&error), "a stream's timeline is wrong"));
    json_decref(stream);
    json_decref(record.head);
    strbuf_free(&text);
    strbuf_free(&error);
}

Test(perfetto, files_and_what_is_missing) {
    struct counts c;
    record_ladder("h200", "eager", "probe E event of mbarrier.* [sim]");
    json_t *document = timeline_of("t.rec", &c);
    cr_assert_eq(siltwin("show t.rec --perfetto -o t.json"), 0, "%s", dir.errors);
    cr_assert_str_eq(dir.output, "");
    char path[256];
    snprintf(path, sizeof path, "%s/t.json", dir.path);
    json_t *written = json_load_file(path, 0, NULL);
    cr_assert(json_equal(written, document));
    json_decref(written);
    json_decref(document);
    CHECK(siltwin("show t.rec --perfetto -o nowhere/t.json"), 2, "nowhere/t.json", dir.errors);
    CHECK(siltwin("show t.rec -o t.json"), 2, "-o is for the timeline", dir.errors);
    record_ladder("h200", "eager", "");
    CHECK(siltwin("show t.rec --perfetto"), 2, "no events to show: add a probe", dir.errors);
    cr_assert_str_eq(dir.output, "");
}

/* ---- parts ---- */

Test(perfetto_chart, slices_that_overlap_get_tracks_side_by_side) {
    struct stream stream = {0};
    struct chart chart = {.stream = &stream};
    static const uint64_t spans[][2] = {{0, 10}, {2, 4}, {3, 6}, {4, 5}, {10, 11}, {5, 12}};
    for (size_t i = 0; i < 6; i++)
        chart_add(&chart, &(struct chart_slice){.begin = spans[i][0], .end = spans[i][1]});
    chart_add(&chart, &(struct chart_slice){.begin = 0, .end = 20, .number = 1});
    chart_place(&chart);
    cr_assert_not(chart.no_memory);
    static const uint32_t tracks[] = {0, 1, 2, 1, 0, 1, 3};
    for (size_t i = 0; i < 7; i++)
        cr_expect_eq(chart.slices[i].track, tracks[i], "slice %zu: %u", i, chart.slices[i].track);
    cr_expect_eq(chart.track_count, 4);
    chart_free(&chart);
}

Test(perfetto_chart, units_by_instruction) {
    static const char *const rows[][2] = {
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
         "TMA loads"},
        {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", "TMA stores"},
        {"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add", "TMA reductions"},
        {"cp.async.bulk.global.shared::cta.bulk_group", "bulk stores"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "bulk loads"},
        {"cp.async.ca.shared.global", "cp.async"},
        {"tcgen05.mma.cta_group::1.kind::f16", "tensor core"},
        {"tcgen05.commit.cta_group::1", "tensor core commits"},
        {"tcgen05.st.sync.aligned", "Tensor Memory"},
        {"wgmma.mma_async.sync.aligned", "tensor core"},
        {"st.async.weak", "other operations"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_str_eq(chart_unit_name(chart_unit(rows[i][0])), rows[i][1], "%s", rows[i][0]);
}
