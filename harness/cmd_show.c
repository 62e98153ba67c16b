/* siltwin show RECORD: what a record holds, as text. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "commands.h"
#include "message.h"
#include "out_file.h"
#include "perfetto.h"
#include "record_buffer.h"
#include "stream.h"

enum {
    OPT_DIGEST = 256,
    OPT_BUFFER,
    OPT_HEX,
    OPT_FILE,
    OPT_JSON,
    OPT_EVENTS,
    OPT_PERFETTO,
    OPT_HELP
};
enum { TILE_ROWS = 16, TILE_COLUMNS = 8 };

static const char help[] =
    "usage: siltwin show RECORD [options]\n\n"
    "  --digest                 only the digest: equal when two runs gave the same\n"
    "  --buffer NAME[R..R][C..C]  elements of a buffer; without ranges its first tile\n"
    "  --hex                    raw words instead of values\n"
    "  --file NAME              a file that the record holds (the trace, PTX as written), or the\n"
    "                           text of module NAME as it was loaded\n"
    "  --events                 every event that probes saw, by CTA, thread and program order\n"
    "  --perfetto               those events as a timeline (Chrome JSON) for ui.perfetto.dev\n"
    "  -o FILE                  writes the timeline there instead of to stdout\n"
    "  --json                   one JSON document on stdout\n";

struct show {
    const char *path, *buffer, *file;
    const char *out;
    bool digest, hex, json, events, perfetto;
    struct record record;
};

static void print_json_line(const char *name, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    printf("%-14s %s\n", name, text ? text : "");
    free(text);
}

static void print_object(const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (json_is_string(value))
            printf("%-14s %s\n", key, json_string_value(value));
        else
            print_json_line(key, value);
    }
}

static void print_launches(const struct record *record) {
    size_t i;
    json_t *launch, *expect;
    json_array_foreach(json_object_get(record->results, "launches"), i, launch) {
        const char *entry = json_string_value(json_object_get(launch, "entry"));
        const char *result = json_string_value(json_object_get(launch, "result_name"));
        char *grid = json_dumps(json_object_get(launch, "grid"), JSON_COMPACT);
        printf("launch %-7zu %s grid %s: %s\n", i + 1, entry ? entry : "?", grid ? grid : "?",
               result ? result : "?");
        free(grid);
    }
    json_array_foreach(json_object_get(record->results, "expectations"), i, expect) {
        const char *text = json_string_value(json_object_get(expect, "expect"));
        printf("expect         %s: %s\n", text ? text : "?",
               json_is_true(json_object_get(expect, "holds")) ? "holds" : "does not hold");
    }
}

static void print_buffers(const struct record *record) {
    for (size_t i = 0; i < record->buffer_count; i++) {
        const struct record_buffer *b = &record->buffers[i];
        printf("buffer         %s %s ", b->name, elem_info(b->type)->name);
        for (unsigned d = 0; d < b->rank; d++)
            printf("[%" PRIu64 "]", b->dims[d]);
        printf(": %s\n", b->state);
    }
}

/* The events of a launch; `all`: each on a line, else how many there are. */
static bool print_stream(const struct record_stream *stored, bool all) {
    struct stream stream;
    const char *why;
    const bool ok = stream_read(stored->json, stored->bytes, stored->size, &stream, &why);
    if (!ok)
        message_error("not a whole record: %s", why);
    else if (!all)
        printf("events         launch %u: %zu at %u places%s%s\n", stream.launch,
               stream.event_count, stream.place_count, stream.sim ? " of [sim] probes" : "",
               stream.overflow ? ", overflowed" : "");
    for (size_t i = 0; ok && all && i < stream.event_count; i++) {
        struct strbuf text = {0};
        const struct stream_place *place = &stream.places[stream.events[i].place];
        if (place->value_count && !stream_value_read(place, &stream.events[i], 0))
            continue; /* a lane without a part of the memory */
        stream_event_text(&stream, &stream.events[i], 0, &text);
        printf("launch %u %s\n", stream.launch, strbuf_text(&text));
        strbuf_free(&text);
    }
    stream_free(&stream);
    return ok;
}

static int print_streams(const struct record *record, bool all) {
    for (size_t i = 0; i < record->stream_count; i++)
        if (!print_stream(&record->streams[i], all))
            return EXIT_USAGE;
    return EXIT_AS_EXPECTED;
}

static int show_summary(const struct show *s) {
    const struct record *record = &s->record;
    print_object(record->head);
    print_object(record->trace);
    for (size_t i = 0; i < record->file_count; i++)
        printf("file           %s (%zu bytes)\n", record->files[i].name, record->files[i].size);
    for (size_t i = 0; i < record->loaded_count; i++)
        printf("loaded         %s (%zu bytes)\n", record->loaded[i].name, record->loaded[i].size);
    print_launches(record);
    const int status = print_streams(record, false);
    print_buffers(record);
    printf("digest         0x%016" PRIx64 "\n", record->digest);
    return status;
}

static int show_json(const struct show *s) {
    json_t *buffers = json_array(), *files = json_array();
    for (size_t i = 0; i < s->record.buffer_count; i++)
        json_array_append(buffers, s->record.buffers[i].json);
    for (size_t i = 0; i < s->record.file_count; i++)
        json_array_append_new(files, json_string(s->record.files[i].name));
    json_t *json = json_pack("{s:s, s:O, s:O, s:O, s:o, s:o}", "schema", "siltwin.show/1", "head",
                             s->record.head, "trace", s->record.trace, "results", s->record.results,
                             "buffers", buffers, "files", files);
    json_object_set_new(json, "digest", json_sprintf("0x%016" PRIx64, s->record.digest));
    message_document(json);
    return EXIT_AS_EXPECTED;
}

static int show_file(const struct show *s) {
    for (size_t i = 0; i < s->record.file_count + s->record.loaded_count; i++) {
        const struct record_file *file = i < s->record.file_count
                                             ? &s->record.files[i]
                                             : &s->record.loaded[i - s->record.file_count];
        if (strcmp(file->name, s->file))
            continue;
        fwrite(file->bytes, 1, file->size, stdout);
        return EXIT_AS_EXPECTED;
    }
    message_error("the record holds no file or module '%s'", s->file);
    return EXIT_USAGE;
}

/* Ranges of coordinates behind the buffer's name: [3], [0..15]; both ends are shown. */
static bool parse_ranges(const char *text, const struct record_buffer *b, uint64_t *low,
                         uint64_t *high) {
    for (unsigned i = 0; i < b->rank; i++) {
        const bool inner = i + 2 >= b->rank;
        const uint64_t tile = i + 1 == b->rank ? TILE_COLUMNS : TILE_ROWS;
        low[i] = 0;
        high[i] = !inner ? 0 : (b->dims[i] < tile ? b->dims[i] : tile) - 1;
        if (!*text)
            continue;
        char *end;
        if (*text++ != '[')
            return false;
        low[i] = high[i] = strtoull(text, &end, 10);
        if (end == text)
            return false;
        text = end;
        if (text[0] == '.' && text[1] == '.') {
            high[i] = strtoull(text + 2, &end, 10);
            if (end == text + 2)
                return false;
            text = end;
        }
        if (*text++ != ']' || low[i] > high[i] || high[i] >= b->dims[i])
            return false;
    }
    return !*text;
}

static void print_element(const struct show *s, const struct trace_buffer *shape,
                          const uint8_t *bytes) {
    const struct elem_info *info = elem_info(shape->type);
    if (s->hex || info->kind == ELEM_KIND_OBJECT)
        printf(" %0*" PRIx64, (int)(2 * (info->size_bytes < 8 ? info->size_bytes : 8)),
               elem_bits(shape->type, bytes));
    else if (info->kind == ELEM_KIND_UNSIGNED)
        printf(" %10" PRIu64, elem_bits(shape->type, bytes));
    else
        printf(" %10.5g", elem_to_double(shape->type, bytes));
}

/* Row by row of the last dimension. */
static void print_tile(const struct show *s, const struct trace_buffer *shape, const uint8_t *span,
                       const uint64_t *low, const uint64_t *high) {
    uint64_t at[TRACE_MAX_RANK];
    memcpy(at, low, shape->rank * sizeof *at);
    const unsigned last = shape->rank - 1;
    for (;;) {
        printf("%s", shape->name);
        for (unsigned i = 0; i < last; i++)
            printf("[%" PRIu64 "]", at[i]);
        printf("[%" PRIu64 "..%" PRIu64 "]:", low[last], high[last]);
        for (at[last] = low[last]; at[last] <= high[last]; at[last]++) {
            uint64_t offset = 0;
            for (unsigned i = 0; i <= last; i++)
                offset += at[i] * shape->strides[i];
            print_element(s, shape, span + offset * elem_info(shape->type)->size_bytes);
        }
        fputc('\n', stdout);
        unsigned i = last;
        while (i > 0 && at[i - 1] == high[i - 1]) {
            at[i - 1] = low[i - 1];
            i--;
        }
        if (i == 0)
            return;
        at[i - 1]++;
    }
}

static int show_buffer(const struct show *s) {
    uint64_t low[TRACE_MAX_RANK], high[TRACE_MAX_RANK];
    const size_t length = strcspn(s->buffer, "[");
    for (size_t i = 0; i < s->record.buffer_count; i++) {
        const struct record_buffer *b = &s->record.buffers[i];
        if (strlen(b->name) != length || memcmp(b->name, s->buffer, length))
            continue;
        if (!parse_ranges(s->buffer + length, b, low, high)) {
            message_error("expected a range such as [0..15] within each of the %u dimensions of %s",
                          b->rank, b->name);
            return EXIT_USAGE;
        }
        struct strbuf error = {0};
        const struct trace_buffer shape = record_buffer_shape(b);
        uint8_t *span = record_buffer_span(b, &error);
        if (span)
            print_tile(s, &shape, span, low, high);
        else
            message_error("%s", strbuf_text(&error));
        strbuf_free(&error);
        const bool ok = span;
        free(span);
        return ok ? EXIT_AS_EXPECTED : EXIT_NO_VERDICT;
    }
    message_error("the record has no buffer '%.*s'", (int)length, s->buffer);
    return EXIT_USAGE;
}

static int show_perfetto(const struct show *s) {
    struct strbuf text = {0}, error = {0};
    struct out_file file;
    bool ok = perfetto_write(&s->record, &text, &error);
    if (ok && !s->out)
        fwrite(text.text, 1, text.length, stdout);
    else if (ok && (ok = out_file_begin(&file, s->out, &error))) {
        out_file_write(&file, text.text, text.length);
        ok = out_file_end(&file, true, &error);
    }
    if (!ok)
        message_error("%s", strbuf_text(&error));
    strbuf_free(&text);
    strbuf_free(&error);
    return ok ? EXIT_AS_EXPECTED : EXIT_USAGE;
}

static int show(struct show *s) {
    struct strbuf error = {0};
    int status = EXIT_USAGE;
    if (record_load(s->path, &s->record, &error) != STATUS_OK) {
        message_error("%s", strbuf_text(&error));
    } else if (s->digest) {
        printf("0x%016" PRIx64 "\n", s->record.digest);
        status = EXIT_AS_EXPECTED;
    } else if (s->events) {
        status = print_streams(&s->record, true);
        if (!s->record.stream_count)
            message_note("the record has no events: its trace has no probes");
    } else if (s->perfetto) {
        status = show_perfetto(s);
    } else if (s->buffer) {
        status = show_buffer(s);
    } else if (s->file) {
        status = show_file(s);
    } else {
        status = s->json ? show_json(s) : show_summary(s);
    }
    strbuf_free(&error);
    record_free(&s->record);
    return status;
}

int cmd_show(int argc, char **argv) {
    static const struct option options[] = {{"digest", no_argument, NULL, OPT_DIGEST},
                                            {"buffer", required_argument, NULL, OPT_BUFFER},
                                            {"hex", no_argument, NULL, OPT_HEX},
                                            {"file", required_argument, NULL, OPT_FILE},
                                            {"events", no_argument, NULL, OPT_EVENTS},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"perfetto", no_argument, NULL, OPT_PERFETTO},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    struct show s = {0};
    int option;
    while ((option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1)
        switch (option) {
        case OPT_DIGEST: s.digest = true; break;
        case OPT_BUFFER: s.buffer = optarg; break;
        case OPT_HEX: s.hex = true; break;
        case OPT_EVENTS: s.events = true; break;
        case OPT_PERFETTO: s.perfetto = true; break;
        case 'o': s.out = optarg; break;
        case OPT_FILE: s.file = optarg; break;
        case OPT_JSON: s.json = true; break;
        case OPT_HELP:
        case 'h': fputs(help, stdout); return EXIT_AS_EXPECTED;
        default: message_option(option, argv); return EXIT_USAGE;
        }
    if (argc - optind != 1) {
        message_error("show expects one record");
        return EXIT_USAGE;
    }
    if (s.out && !s.perfetto) {
        message_error("-o is for the timeline of --perfetto");
        return EXIT_USAGE;
    }
    s.path = argv[optind];
    return show(&s);
}
