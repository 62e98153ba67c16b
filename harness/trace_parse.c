/* Reads a trace: statements are checked and evaluated in one pass, in the order of the text; a
 * `repeat` reads its body once a turn. */
#include "trace_parse.h"

#include <string.h>

#include "commands.h"
#include "trace_statement.h"

enum { MAX_INCLUDE_DEPTH = 16, MAX_REPEAT_DEPTH = 16 };

static const struct {
    const char *name, *target;
} devices[] = {{"b200", "sm_100a"}, {"h200", "sm_90a"}, {"h100", "sm_90a"}};

void *trace_grow(struct trace_reader *r, void *items, uint32_t count, uint32_t *capacity,
                 size_t item_bytes) {
    if (count < *capacity)
        return items;
    const uint32_t wanted = *capacity ? 2 * *capacity : 8;
    void *grown = arena_array(&r->trace->arena, wanted, item_bytes);
    if (!grown) {
        scan_fail(r, "no memory left");
        return NULL;
    }
    if (count)
        memcpy(grown, items, count * item_bytes);
    *capacity = wanted;
    return grown;
}

bool trace_add_step(struct trace_reader *r, enum trace_step_kind kind, uint32_t index) {
    if (r->trace->steps.count >= TRACE_MAX_STEPS)
        return scan_fail(r, "the trace has more than %d steps", TRACE_MAX_STEPS);
    struct trace_step *step = TRACE_ADD(r, r->trace->steps);
    if (!step)
        return false;
    *step = (struct trace_step){kind, index};
    return true;
}

int64_t trace_find_buffer(const struct trace *trace, const char *name) {
    for (uint32_t i = 0; i < trace->buffers.count; i++)
        if (!strcmp(trace->buffers.items[i].name, name))
            return i;
    return -1;
}

int64_t trace_find_map(const struct trace *trace, const char *name) {
    for (uint32_t i = 0; i < trace->maps.count; i++)
        if (!strcmp(trace->maps.items[i].name, name))
            return i;
    return -1;
}

int64_t trace_find_module(const struct trace *trace, const char *name) {
    for (uint32_t i = 0; i < trace->modules.count; i++)
        if (!strcmp(trace->modules.items[i].name, name))
            return i;
    return -1;
}

bool trace_new_name(struct trace_reader *r, const char *what, const char **name) {
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_name(r, what, name))
        return false;
    const struct trace *trace = r->trace;
    if (trace_find_buffer(trace, *name) < 0 && trace_find_map(trace, *name) < 0 &&
        trace_find_module(trace, *name) < 0 && !scan_const(trace, *name, strlen(*name)))
        return true;
    return scan_fail_at(r, &place, EXIT_USAGE, "the name '%s' is taken", *name);
}

static bool set_device(struct trace_reader *r, const char *name) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!strcmp(devices[i].name, name)) {
            r->trace->device = devices[i].name;
            r->trace->target = devices[i].target;
            return true;
        }
    return false;
}

static bool statement_siltwin(struct trace_reader *r, const struct trace_place *place) {
    (void)place;
    int64_t version;
    if (!scan_int(r, &version))
        return false;
    return version == 1 || scan_fail(r, "language version %lld is not known; this siltwin reads 1",
                                     (long long)version);
}

static bool statement_device(struct trace_reader *r, const struct trace_place *place) {
    const char *name;
    if (!scan_name(r, "a device (b200, h200, h100)", &name))
        return false;
    if (r->trace->modules.count)
        return scan_fail_at(r, place, EXIT_USAGE, "device must come before the first module");
    const char *kept = r->trace->device;
    if (!set_device(r, name))
        return scan_fail_at(r, place, EXIT_USAGE,
                            "expected a device (b200, h200, h100), found '%s'", name);
    return !r->options->device || set_device(r, kept);
}

static bool statement_const(struct trace_reader *r, const struct trace_place *place) {
    (void)place;
    do {
        const char *name;
        int64_t value;
        if (!trace_new_name(r, "a constant's name", &name) || !scan_need(r, "=") ||
            !scan_int(r, &value))
            return false;
        struct trace_const *c = TRACE_ADD(r, r->trace->consts);
        if (!c)
            return false;
        *c = (struct trace_const){.name = name, .value = value};
        for (size_t i = 0; i < r->options->override_count; i++)
            if (!strcmp(r->options->overrides[i].name, name)) {
                c->value = r->options->overrides[i].value;
                c->overridden = true;
            }
    } while (!scan_at_end(r));
    return true;
}

static bool read_file(struct trace_reader *r, const struct file_entry *file, bool main);

static bool statement_include(struct trace_reader *r, const struct trace_place *place) {
    const char *path;
    struct strbuf why = {0};
    if (!scan_word(r, "a file name", &path) || !scan_end(r))
        return false;
    if (r->include_depth == MAX_INCLUDE_DEPTH)
        return scan_fail_at(r, place, EXIT_USAGE, "includes are nested more than %d deep",
                            MAX_INCLUDE_DEPTH);
    const struct file_entry *file = file_set_open(r->files, r->file, path, &why);
    if (!file) {
        scan_fail_at(r, place, EXIT_USAGE, "%s", strbuf_text(&why));
        strbuf_free(&why);
        return false;
    }
    const struct trace_reader outer = *r;
    r->include_depth++;
    if (!read_file(r, file, false))
        return false;
    r->include_depth--;
    r->file = outer.file;
    r->text = outer.text;
    r->at = outer.at;
    r->line = outer.line;
    r->line_start = outer.line_start;
    return true;
}

static bool statement_sync(struct trace_reader *r, const struct trace_place *place) {
    (void)place;
    return trace_add_step(r, STEP_SYNC, 0);
}

static bool statement_repeat(struct trace_reader *r, const struct trace_place *place);

static const struct statement {
    const char *word;
    bool in_repeat;
    bool (*read)(struct trace_reader *r, const struct trace_place *place);
} statements[] = {
    {"siltwin", false, statement_siltwin}, {"device", false, statement_device},
    {"const", false, statement_const},     {"include", false, statement_include},
    {"module", false, statement_module},   {"global", false, statement_global},
    {"buffer", false, statement_buffer},   {"tensormap", false, statement_tensormap},
    {"launch", true, statement_launch},    {"copy", true, statement_copy},
    {"fill", true, statement_fill},        {"sync", true, statement_sync},
    {"repeat", true, statement_repeat},    {"expect", true, statement_expect},
    {"probe", false, statement_probe},
};

static bool read_statement(struct trace_reader *r) {
    const struct trace_place place = scan_place(r);
    const char *word;
    if (!scan_name(r, "a statement", &word))
        return false;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const struct statement *s = &statements[i];
        if (strcmp(s->word, word))
            continue;
        if (r->repeat_depth && !s->in_repeat)
            return scan_fail_at(r, &place, EXIT_USAGE, "'%s' cannot stand inside repeat", word);
        return s->read(r, &place) && scan_end(r);
    }
    return scan_fail_at(r, &place, EXIT_USAGE, "expected a statement, found '%s'", word);
}

/* Reads statements up to the `}` that ends the body. */
static bool read_body(struct trace_reader *r) {
    for (;;) {
        if (!scan_next_line(r))
            return scan_expected(r, "'}' at the end of repeat");
        if (scan_take(r, "}"))
            return true;
        if (!read_statement(r))
            return false;
    }
}

/* A body that runs no time is still checked; what it added is taken back. */
static bool read_body_dry(struct trace_reader *r) {
    struct trace *t = r->trace;
    const uint32_t counts[] = {t->launches.count, t->copies.count, t->fills.count,
                               t->expects.count,  t->fails.count,  t->steps.count};
    if (!read_body(r))
        return false;
    t->launches.count = counts[0];
    t->copies.count = counts[1];
    t->fills.count = counts[2];
    t->expects.count = counts[3];
    t->fails.count = counts[4];
    t->steps.count = counts[5];
    return true;
}

static bool statement_repeat(struct trace_reader *r, const struct trace_place *place) {
    const char *name;
    int64_t times;
    if (!trace_new_name(r, "the name of the counter", &name) ||
        !scan_int_in(r, "the number of turns", 0, TRACE_MAX_STEPS, &times) || !scan_need(r, "{"))
        return false;
    if (r->repeat_depth == MAX_REPEAT_DEPTH)
        return scan_fail_at(r, place, EXIT_USAGE, "repeats are nested more than %d deep",
                            MAX_REPEAT_DEPTH);
    struct trace_const *counter = TRACE_ADD(r, r->trace->consts);
    if (!counter)
        return false;
    const uint32_t index = r->trace->consts.count - 1;
    const size_t at = r->at, line_start = r->line_start;
    const unsigned line = r->line;
    r->repeat_depth++;
    for (int64_t turn = 0; turn < times || !turn; turn++) {
        r->trace->consts.items[index] = (struct trace_const){.name = name, .value = turn};
        r->at = at;
        r->line = line;
        r->line_start = line_start;
        if (++r->iterations > TRACE_MAX_STEPS)
            return scan_fail_at(r, place, EXIT_USAGE, "the repeats turn more than %d times",
                                TRACE_MAX_STEPS);
        if (!(times ? read_body(r) : read_body_dry(r)))
            return false;
    }
    r->repeat_depth--;
    r->trace->consts.count = index;
    return true;
}

static bool read_file(struct trace_reader *r, const struct file_entry *file, bool main) {
    r->file = file;
    r->text = (const char *)file->bytes;
    r->at = r->line_start = 0;
    r->line = 1;
    if (!scan_next_line(r))
        return !main || scan_expected(r, "'siltwin 1' as the first statement");
    if (main && !scan_peek_word(r, "siltwin"))
        return scan_expected(r, "'siltwin 1' as the first statement");
    do {
        if (!read_statement(r))
            return false;
    } while (scan_next_line(r));
    return true;
}

static bool check_overrides(struct trace_reader *r) {
    for (size_t i = 0; i < r->options->override_count; i++) {
        const char *name = r->options->overrides[i].name;
        const struct trace_const *c = scan_const(r->trace, name, strlen(name));
        if (!c || !c->overridden) {
            const struct trace_place none = {r->trace->main, 0, 0};
            return scan_fail_at(r, &none, EXIT_USAGE,
                                "the trace has no constant '%s' for '%s=' to set", name, name);
        }
    }
    return true;
}

static bool check_fails(struct trace_reader *r) {
    for (uint32_t i = 0; i < r->trace->fails.count; i++) {
        const struct trace_fails *fails = &r->trace->fails.items[i];
        if (fails->launch > r->trace->launches.count)
            return scan_fail_at(r, &fails->place, EXIT_USAGE,
                                "launch %u does not exist; the trace has %u", fails->launch,
                                r->trace->launches.count);
    }
    return true;
}

bool trace_parse(struct trace *trace, struct file_set *files, const struct file_entry *main,
                 const struct trace_options *options, struct trace_error *error) {
    *trace = (struct trace){.main = main};
    *error = (struct trace_error){0};
    struct trace_reader r = {.trace = trace,
                             .files = files,
                             .options = options,
                             .error = error,
                             .file = main,
                             .text = (const char *)main->bytes,
                             .line = 1};
    set_device(&r, "b200");
    if (options->device && !set_device(&r, options->device)) {
        const struct trace_place none = {main, 0, 0};
        return scan_fail_at(&r, &none, EXIT_USAGE,
                            "there is no device '%s'; b200, h200 and h100 are", options->device);
    }
    return read_file(&r, main, true) && check_overrides(&r) && check_fails(&r) &&
           trace_apply_probes(&r);
}

void trace_free(struct trace *trace) {
    arena_free(&trace->arena);
}
