/* Reads and prints event streams; the format is in stream.h. */
#include "stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "elem.h"
#include "probe_flow.h"
#include "ptx_words.h"

static uint32_t number(const json_t *json, const char *key) {
    return (uint32_t)json_integer_value(json_object_get(json, key));
}

static const char *string(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static enum probe_why why_of(const char *word) {
    int why = PROBE_WHY_COUNT - 1;
    while (why > 0 && strcmp(probe_why_word((enum probe_why)why), word) != 0)
        why--;
    return (enum probe_why)why;
}

/* A list of words as a set. */
static uint32_t set_of(const json_t *json, const char *key) {
    const json_t *list = json_object_get(json, key);
    uint32_t set = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        set |= word ? 1u << why_of(word) & ~1u : 0;
    }
    return set;
}

static bool read_value(const json_t *json, uint32_t words, struct stream_value *value) {
    const char *type = string(json, "type"), *role = string(json, "role");
    const char *bits = json_string_value(json_object_get(json, "bits"));
    *value = (struct stream_value){.name = string(json, "name"),
                                   .type = (uint8_t)ptx_type_find(type, (unsigned)strlen(type)),
                                   .role = !strcmp(role, "address") ? STREAM_ADDRESS
                                           : !strcmp(role, "bytes") ? STREAM_BYTES
                                                                    : STREAM_PLAIN,
                                   .constant = bits,
                                   .output = json_is_true(json_object_get(json, "output")),
                                   .key = json_is_true(json_object_get(json, "key")),
                                   .why = (uint8_t)why_of(string(json, "why")),
                                   .from = set_of(json, "from"),
                                   .from_line = number(json, "from_line"),
                                   .approx = json_string_value(json_object_get(json, "approx")),
                                   .offset_bytes = number(json, "offset")};
    if (bits)
        value->bits = strtoull(bits, NULL, 16);
    return bits || (value->offset_bytes % 4 == 0 && value->offset_bytes / 8 < words);
}

static bool read_place(const json_t *json, struct stream_place *place) {
    const json_t *values = json_object_get(json, "values");
    *place = (struct stream_place){.probe = string(json, "probe"),
                                   .kind = string(json, "kind"),
                                   .module = string(json, "module"),
                                   .file = string(json, "file"),
                                   .entry = string(json, "entry"),
                                   .text = string(json, "text"),
                                   .line = number(json, "line"),
                                   .column = number(json, "column"),
                                   .words = number(json, "words"),
                                   .first_byte = number(json, "first_byte"),
                                   .bytes = number(json, "bytes"),
                                   .unit_bytes = number(json, "unit_bytes"),
                                   .first_lane = number(json, "first_lane"),
                                   .lanes = number(json, "lanes"),
                                   .tmem = json_object_get(json, "tmem_lane"),
                                   .tmem_lane = number(json, "tmem_lane"),
                                   .tmem_column = number(json, "tmem_column")};
    const size_t count = json_array_size(values);
    if (count > STREAM_MAX_VALUES || place->words > STREAM_MAX_VALUES)
        return false;
    place->values = calloc(count + 1, sizeof *place->values);
    for (size_t i = 0; place->values && i < count; i++) {
        if (!read_value(json_array_get(values, i), place->words, &place->values[i]))
            return false;
        place->key_count += place->values[i].key;
        place->value_count++;
    }
    return place->values;
}

static bool read_events(struct stream *s, const uint8_t *bytes, size_t size) {
    size_t capacity = 0;
    for (size_t at = 0; at < size;) {
        uint32_t head[6];
        if (size - at < sizeof head)
            return false;
        memcpy(head, bytes + at, sizeof head);
        at += sizeof head;
        if (head[2] >= s->place_count || head[5] != s->places[head[2]].words ||
            head[5] > (size - at) / 8)
            return false;
        if (s->event_count == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            struct stream_event *grown = realloc(s->events, capacity * sizeof *grown);
            if (!grown)
                return false;
            s->events = grown;
        }
        s->events[s->event_count++] =
            (struct stream_event){head[0], head[1], head[2],
                                  head[3], head[4], (const uint64_t *)(const void *)(bytes + at)};
        at += 8 * (size_t)head[5];
    }
    return true;
}

bool stream_read(const json_t *json, const uint8_t *bytes, size_t size, struct stream *s,
                 const char **why) {
    const json_t *places = json_object_get(json, "places");
    const json_t *given = json_object_get(json, "given");
    *s = (struct stream){.json = json,
                         .launch = number(json, "launch"),
                         .block = number(json, "block"),
                         .given = {.global = set_of(given, "global"),
                                   .others = set_of(given, "others"),
                                   .branches = set_of(given, "branches")},
                         .silent = json_is_true(json_object_get(json, "silent")),
                         .sim = json_is_true(json_object_get(json, "sim")),
                         .overflow = json_is_true(json_object_get(json, "overflow"))};
    *why = "a stream's description is wrong";
    const size_t count = json_array_size(places);
    if (count > STREAM_MAX_VALUES)
        return false;
    s->places = calloc(count + 1, sizeof *s->places);
    for (size_t i = 0; s->places && i < count; i++) {
        s->place_count++;
        if (!read_place(json_array_get(places, i), &s->places[i]))
            return false;
    }
    if (!s->places)
        return false;
    *why = "a stream's events are wrong";
    return read_events(s, bytes, size);
}

void stream_free(struct stream *s) {
    for (uint32_t i = 0; i < s->place_count; i++)
        free(s->places[i].values);
    free(s->places);
    free(s->events);
    *s = (struct stream){0};
}

uint64_t stream_word(const struct stream_value *value, const struct stream_event *event) {
    uint32_t half;
    if (value->constant)
        return value->bits;
    if (value->role != STREAM_BYTES)
        return event->words[value->offset_bytes / 8];
    memcpy(&half, (const uint8_t *)event->words + value->offset_bytes, sizeof half);
    return half;
}

uint32_t stream_value_byte(const struct stream_place *place, const struct stream_event *event,
                           uint32_t index) {
    const uint32_t unit = place->unit_bytes, at = place->values[index].offset_bytes;
    const uint32_t lane = event->thread % 32 - place->first_lane;
    return place->first_byte + (at / unit * place->lanes + lane) * unit + at % unit;
}

bool stream_value_read(const struct stream_place *place, const struct stream_event *event,
                       uint32_t index) {
    return place->values[index].role != STREAM_BYTES || !place->unit_bytes || place->tmem ||
           stream_value_byte(place, event, index) < place->first_byte + place->bytes;
}

void stream_value_name(const struct stream_place *place, const struct stream_event *event,
                       uint32_t index, struct strbuf *out) {
    const struct stream_value *value = &place->values[index];
    strbuf_puts(out, value->name);
    if (value->role == STREAM_BYTES && place->unit_bytes && place->tmem) {
        const uint32_t at = stream_value_byte(place, event, index);
        strbuf_printf(out, "[lane %u][col %u]", place->tmem_lane + at / place->unit_bytes,
                      place->tmem_column + at % place->unit_bytes / 4);
        return;
    }
    if (value->role == STREAM_BYTES && place->unit_bytes)
        strbuf_printf(out, "[0x%x]", stream_value_byte(place, event, index));
}

static void float_text(enum ptx_type type, uint64_t word, struct strbuf *out) {
    const char *name = ptx_type_text(type);
    const enum elem_type elem = elem_find(name, strlen(name));
    if (elem != ELEM_COUNT)
        strbuf_printf(out, " (%.9g)", elem_to_double(elem, &word));
}

const char *stream_pointer(const struct stream *s, const struct stream_event *event, uint32_t index,
                           int64_t *offset_bytes) {
    const struct stream_value *value = &s->places[event->place].values[index];
    const uint64_t word = stream_word(value, event);
    const bool marked = index < STREAM_MAX_POINTERS && event->flags >> 8 >> index & 1;
    if (!(word >> 48) || (value->role != STREAM_ADDRESS && !marked))
        return NULL;
    const char *name = json_string_value(
        json_array_get(json_object_get(s->json, "objects"), (size_t)(word >> 48) - 1));
    *offset_bytes = (int64_t)(word << 16) >> 16;
    return name ? name : "?";
}

void stream_value_text(const struct stream *s, const struct stream_event *event, uint32_t index,
                       struct strbuf *out) {
    const struct stream_value *value = &s->places[event->place].values[index];
    const uint64_t word = stream_word(value, event);
    const enum ptx_type type = (enum ptx_type)value->type;
    const unsigned bits = ptx_type_bits(type);
    int64_t offset;
    const char *object = stream_pointer(s, event, index, &offset);
    if (object) {
        strbuf_printf(out, "&%s%+" PRId64, object, offset);
        return;
    }
    strbuf_printf(out, "0x%" PRIx64, word);
    if (value->role == STREAM_ADDRESS || value->role == STREAM_BYTES || bits > 64)
        return;
    if (ptx_type_class(type) == PTX_CLASS_FLOAT)
        float_text(type, word, out);
    else if (ptx_type_class(type) == PTX_CLASS_SINT)
        strbuf_printf(out, " (%" PRId64 ")", (int64_t)(word << (64 - bits)) >> (64 - bits));
    else if (ptx_type_class(type) != PTX_CLASS_PACKED && word > 9)
        strbuf_printf(out, " (%" PRIu64 ")", word);
}

void stream_event_text(const struct stream *s, const struct stream_event *event, uint32_t lanes,
                       struct strbuf *out) {
    const struct stream_place *place = &s->places[event->place];
    strbuf_printf(out, "cta %u warp %u ", event->cta, event->thread / 32);
    if (lanes & (lanes - 1))
        strbuf_printf(out, "lanes 0x%08x", lanes);
    else
        strbuf_printf(out, "lane %u", event->thread % 32);
    strbuf_printf(out, " %s %s:%u visit %u %s%s:", place->probe, place->module, place->line,
                  event->visit, place->text, event->flags & STREAM_OPEN ? " (still waiting)" : "");
    for (uint32_t i = 0; i < place->value_count; i++) {
        if (!stream_value_read(place, event, i))
            continue;
        strbuf_puts(out, " ");
        stream_value_name(place, event, i, out);
        strbuf_puts(out, "=");
        stream_value_text(s, event, i, out);
    }
}
