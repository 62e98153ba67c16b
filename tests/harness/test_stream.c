/* Event streams: every value prints as what it is; damaged chunks are refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

static const char description[] =
    "{\"launch\":2,\"block\":64,\"objects\":[\"A\",\"param map\"],\"places\":["
    "{\"probe\":\"E\",\"kind\":\"event\",\"module\":\"m\",\"file\":\"k.ptx\",\"entry\":\"k\","
    "\"line\":7,\"column\":3,\"text\":\"st.x\",\"words\":4,\"values\":["
    "{\"name\":\"a\",\"type\":\"b64\",\"role\":\"address\",\"offset\":0},"
    "{\"name\":\"f\",\"type\":\"f32\",\"offset\":8},"
    "{\"name\":\"s\",\"type\":\"s32\",\"offset\":16},"
    "{\"name\":\"x\",\"type\":\"b64\",\"offset\":24},"
    "{\"name\":\"n\",\"type\":\"u32\",\"bits\":\"0x10\"}]},"
    "{\"probe\":\"S\",\"kind\":\"smem\",\"module\":\"m\",\"file\":\"k.ptx\",\"entry\":\"k\","
    "\"line\":8,\"column\":3,\"text\":\"ret\",\"words\":1,\"first_byte\":64,\"bytes\":64,"
    "\"unit_bytes\":4,\"first_lane\":2,\"lanes\":8,\"values\":["
    "{\"name\":\"smem\",\"type\":\"b32\",\"role\":\"bytes\",\"offset\":0},"
    "{\"name\":\"smem\",\"type\":\"b32\",\"role\":\"bytes\",\"offset\":4}]}]}";

struct events {
    uint32_t head[6];
    uint64_t words[4];
    uint32_t second[6];
    uint32_t halves[2];
};

static const struct events good = {
    /* Lane 3 of warp 1; value 3 is a pointer too. */
    .head = {5, 35, 0, 1, STREAM_OPEN | STREAM_POINTER << 3, 4},
    .words = {UINT64_C(1) << 48 | 512, 0x3fc00000, 0xfffffffe, UINT64_C(2) << 48 | 0xffffffffffff},
    .second = {5, 36, 1, 0, 0, 1},
    .halves = {0x11, 0x22},
};

static bool read(const json_t *json, const struct events *events, size_t size,
                 struct stream *stream) {
    const char *why;
    return stream_read(json, (const uint8_t *)events, size, stream, &why);
}

Test(stream, values_print_as_what_they_are) {
    json_t *json = json_loads(description, 0, NULL);
    struct strbuf text = {0};
    struct stream s;
    cr_assert(json);
    cr_assert(read(json, &good, sizeof good, &s));
    cr_assert_eq(s.launch, 2);
    cr_assert_eq(s.event_count, 2);
    stream_event_text(&s, &s.events[0], 0, &text);
    cr_assert_str_eq(strbuf_text(&text),
                     "cta 5 warp 1 lane 3 E m:7 visit 1 st.x (still waiting): a=&A+512 "
                     "f=0x3fc00000 (1.5) s=0xfffffffe (-2) x=&param map-1 n=0x10 (16)");
    strbuf_clear(&text);
    stream_event_text(&s, &s.events[1], 0xf0, &text);
    /* Lane 4 is the third of 8 lanes: 64 + 2 * 4, and a turn of 32 bytes later. */
    cr_assert_str_eq(strbuf_text(&text), "cta 5 warp 1 lanes 0x000000f0 S m:8 visit 0 ret: "
                                         "smem[0x48]=0x11 smem[0x68]=0x22");
    stream_free(&s);
    strbuf_free(&text);
    json_decref(json);
}

Test(stream, damaged_events_are_refused) {
    json_t *json = json_loads(description, 0, NULL);
    struct stream s;
    for (size_t size = 0; size <= sizeof good; size++) {
        const bool whole =
            size == 0 || size == sizeof good || size == offsetof(struct events, second);
        cr_expect_eq(read(json, &good, size, &s), whole, "%zu bytes", size);
        stream_free(&s);
    }
    struct events bad = good;
    bad.head[2] = 2; /* no such place */
    cr_expect_not(read(json, &bad, sizeof bad, &s));
    stream_free(&s);
    bad = good;
    bad.second[5] = UINT32_MAX; /* words */
    cr_expect_not(read(json, &bad, sizeof bad, &s));
    stream_free(&s);
    json_decref(json);
}

Test(stream, damaged_descriptions_are_refused) {
    static const char *const bad[] = {
        "{\"places\":[{\"words\":1,\"values\":[{\"name\":\"a\",\"type\":\"b64\",\"offset\":8}]}]}",
        "{\"places\":[{\"words\":1,\"values\":[{\"name\":\"a\",\"type\":\"b64\",\"offset\":3}]}]}",
        "{\"places\":[{\"words\":99999999,\"values\":[]}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *json = json_loads(bad[i], 0, NULL);
        struct stream s;
        cr_assert(json);
        cr_expect_not(read(json, &good, 0, &s), "%s", bad[i]);
        stream_free(&s);
        json_decref(json);
    }
    json_t *none = json_object();
    struct stream s;
    cr_expect(read(none, &good, 0, &s));
    cr_expect_eq(s.place_count, 0);
    stream_free(&s);
    json_decref(none);
}
