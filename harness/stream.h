#ifndef SILTWIN_STREAM_H
#define SILTWIN_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_rewrite.h"
#include "strbuf.h"

/* The events of a launch, as the chunks STRM and EVNT of a record have them (record.h):
 *
 *   STRM   JSON: launch; sim (true: of [sim] probes); block (threads of a CTA); objects: names;
 * places: of each probed instruction its probe, kind, module, file, entry, line, column, text,
 * words, and values: name, type, offset (of its word in bytes) or bits (a constant), role, output,
 * key, and what may be different about it: why, from, from_line, approx (probe_rewrite.h; words of
 *          probe_why.def); given: the sources whose values the kernel hands to global memory, to
 *          others, and that decide its branches; silent: no CTA of it can wait for another
 *   EVNT   events by CTA, thread and program order: u32 CTA | u32 thread | u32 place | u32 visit |
 *          u32 flags | u32 words | words * u64
 *   TIME   of a stream of [sim] probes, the order of what happened (timeline.h)
 *
 * An address that points into something known is (object + 1) << 48 | offset. So is any other
 * 64-bit integer that points there, of the first STREAM_MAX_POINTERS values: its bit in flags,
 * STREAM_POINTER << index, says so. */

enum {
    STREAM_OPEN = 1,      /* a poll that had not succeeded when the thread was seen last */
    STREAM_UNORDERED = 2, /* memory that was written with no order between that and the probe */
    STREAM_POINTER = 1 << 8,
    STREAM_MAX_POINTERS = 22
};
enum { STREAM_EVENT_HEAD_BYTES = 24, STREAM_MAX_VALUES = 1 << 15 };
enum stream_role { STREAM_PLAIN, STREAM_ADDRESS, STREAM_BYTES };

struct stream_value {
    const char *name;
    uint8_t type; /* enum ptx_type */
    enum stream_role role;
    bool constant, output, key;
    uint8_t why;        /* enum probe_why: machines may disagree about it, 0: not */
    uint32_t from;      /* bits 1 << enum probe_why: what it may be computed from */
    uint32_t from_line; /* of one of these, 0: none */
    const char *approx; /* the approximate instruction whose result it is, NULL: of none */
    uint64_t bits;
    uint32_t offset_bytes;
};

struct stream_place {
    const char *probe, *kind, *module, *file, *entry, *text;
    uint32_t line, column, words;
    uint32_t first_byte, bytes, unit_bytes, first_lane, lanes; /* of memory probes */
    bool tmem; /* such a one whose units are lanes of Tensor Memory, from these: */
    uint32_t tmem_lane, tmem_column;
    bool spin; /* its visits are time, and its events not compared: diff_spin.h says so */
    struct stream_value *values;
    uint32_t value_count, key_count;
};

struct stream_event {
    uint32_t cta, thread, place, visit, flags;
    const uint64_t *words;
};

struct stream {
    const json_t *json;
    uint32_t launch, block;
    struct stream_place *places;
    uint32_t place_count;
    struct stream_event *events;
    size_t event_count;
    struct probe_given given;
    bool silent; /* no CTA can wait for another */
    bool sim, overflow;
};

/* Reads what a record has. False with a reason: the chunks are damaged. Strings belong to `json`,
 * words to `bytes`, which must be aligned to 8. `stream` is to be freed either way. */
bool stream_read(const json_t *json, const uint8_t *bytes, size_t size, struct stream *stream,
                 const char **why);
void stream_free(struct stream *stream);

/* A value of an event; constants have theirs without one. */
uint64_t stream_word(const struct stream_value *value, const struct stream_event *event);
/* Offset of a STREAM_BYTES value from the beginning of what the probe reads (first_byte counts). */
uint32_t stream_value_byte(const struct stream_place *place, const struct stream_event *event,
                           uint32_t index);
/* Whether the value was read: of a short range of memory some lanes of the warp have no part. */
bool stream_value_read(const struct stream_place *place, const struct stream_event *event,
                       uint32_t index);
/* "parity", or for memory "smem[0x120]", "tmem[lane 3][col 64]". */
void stream_value_name(const struct stream_place *place, const struct stream_event *event,
                       uint32_t index, struct strbuf *out);
/* Object of value `index` when it is a pointer into something known, else NULL; and the offset. */
const char *stream_pointer(const struct stream *stream, const struct stream_event *event,
                           uint32_t index, int64_t *offset_bytes);
/* "0x4000 (16384)", "&A+512", "0x3f800000 (1)": value `index` of the event's place. */
void stream_value_text(const struct stream *stream, const struct stream_event *event,
                       uint32_t index, struct strbuf *out);
/* "cta 0 warp 1 lane 3 E mm:88 visit 2 mbarrier.try_wait...: done=1 addr=0x10400 parity=0";
 * `lanes` with more than one bit names the mask instead. */
void stream_event_text(const struct stream *stream, const struct stream_event *event,
                       uint32_t lanes, struct strbuf *out);

#endif
