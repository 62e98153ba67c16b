/* Opens traces and records alike. */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "message.h"

static bool add_override(struct input *input, const char *name, int64_t value) {
    const size_t bytes = (input->override_count + 1) * sizeof *input->overrides;
    struct trace_override *grown = realloc(input->overrides, bytes);
    if (grown)
        input->overrides = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy) {
        message_error("no memory left");
        return false;
    }
    grown[input->override_count++] = (struct trace_override){copy, value};
    return true;
}

bool input_override(struct input *input, const char *text) {
    const char *equals = strchr(text, '=');
    char *end;
    errno = 0;
    const long long value = equals ? strtoll(equals + 1, &end, 0) : 0;
    if (!equals || equals == text || end == equals + 1 || *end || errno) {
        message_error("expected NAME=VALUE with a whole number, found '%s'", text);
        return false;
    }
    char *name = strndup(text, (size_t)(equals - text));
    const bool ok = name && add_override(input, name, value);
    free(name);
    return ok;
}

static bool take_record(struct input *input) {
    const struct record *record = &input->record;
    const char *main = json_string_value(json_object_get(record->trace, "main"));
    const char *name;
    json_t *value;
    for (size_t i = 0; i < record->file_count; i++) {
        const struct record_file *file = &record->files[i];
        struct file_entry *entry = file_set_add(&input->files, file->name,
                                                file->bytes ? (void *)file->bytes : "", file->size);
        if (entry && main && !strcmp(file->name, main))
            input->main = entry;
    }
    if (!input->main) {
        message_error("the record does not hold its trace");
        return false;
    }
    json_object_foreach(json_object_get(record->trace, "overrides"), name, value) {
        if (!json_is_integer(value) || !add_override(input, name, json_integer_value(value)))
            return false;
    }
    input->options.device = json_string_value(json_object_get(record->trace, "device"));
    input->options.as_written = json_is_true(json_object_get(record->trace, "as_written"));
    return true;
}

bool input_open(struct input *input, const char *path) {
    struct strbuf error = {0};
    uint8_t *bytes = NULL;
    size_t size;
    *input = (struct input){0};
    bool ok = file_read(path, &bytes, &size, &error) == STATUS_OK;
    if (ok && size >= 8 && !memcmp(bytes, "SILTWIN\x1a", 8)) {
        input->is_record = true;
        file_set_init_sealed(&input->files);
        struct strbuf why = {0};
        ok = record_parse(bytes, size, &input->record, &why) == STATUS_OK;
        if (!ok)
            strbuf_printf(&error, "'%s': %s", path, strbuf_text(&why));
        strbuf_free(&why);
    } else if (ok) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        file_set_init(&input->files, path);
        input->main = message_is_text(name) ? file_set_add(&input->files, name, bytes, size) : NULL;
        ok = input->main;
        if (!message_is_text(name))
            strbuf_printf(&error, "'%s': a file's name must be UTF-8, for records have it as text",
                          path);
    }
    free(bytes);
    if (!ok)
        message_error("%s", error.length ? strbuf_text(&error) : "no memory left");
    strbuf_free(&error);
    return ok && (!input->is_record || take_record(input));
}

bool input_parse(struct input *input, struct trace_error *error) {
    input->options.overrides = input->overrides;
    input->options.override_count = input->override_count;
    if (trace_parse(&input->trace, &input->files, input->main, &input->options, error))
        return true;
    if (error->place.line)
        message_error_at(&(struct message_place){error->place.file->shown, error->place.line,
                                                 error->place.column, error->source_line},
                         error->text);
    else
        message_error("%s", error->text);
    return false;
}

void input_free(struct input *input) {
    trace_free(&input->trace);
    file_set_free(&input->files);
    record_free(&input->record);
    for (size_t i = 0; i < input->override_count; i++)
        free(input->overrides[i].name);
    free(input->overrides);
}
