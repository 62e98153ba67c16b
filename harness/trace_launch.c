/* The launch statement. Arguments are checked against the entry's parameters: count, size,
 * alignment of tensor maps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "trace_statement.h"

static bool at_clause(struct trace_reader *r) {
    static const char *const words[] = {"grid", "block", "cluster", "smem",
                                        "args", "attr",  "timeout"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (scan_peek_word(r, words[i]))
            return true;
    return false;
}

/* x [y [z]]; what is not given is 1. */
static bool scan_xyz(struct trace_reader *r, const char *what, uint32_t *xyz) {
    int64_t value;
    xyz[0] = xyz[1] = xyz[2] = 1;
    for (int i = 0; i < 3; i++) {
        if (i && (scan_at_end(r) || at_clause(r)))
            return true;
        if (!scan_int_in(r, what, 0, UINT32_MAX, &value))
            return false;
        xyz[i] = (uint32_t)value;
    }
    return true;
}

static bool scan_entry(struct trace_reader *r, struct trace_launch *launch) {
    const char *name, *entry;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_name(r, "MODULE.ENTRY", &name))
        return false;
    const int64_t module = trace_find_module(r->trace, name);
    if (module < 0)
        return scan_fail_at(r, &place, EXIT_USAGE, "there is no module '%s'", name);
    if (!scan_need(r, ".") || !scan_name(r, "an entry of the module", &entry))
        return false;
    launch->module = (uint32_t)module;
    const struct ir_module *ir = r->trace->modules.items[module].ir;
    const int32_t index = ir_find_func(ir, entry);
    if (index < 0 || !ir->funcs[index].is_entry)
        return scan_fail_at(r, &place, EXIT_USAGE, "module %s has no entry '%s'", name, entry);
    launch->entry = &ir->funcs[index];
    return true;
}

static bool scan_packed(struct trace_reader *r, struct trace_launch *launch) {
    const char *path;
    struct strbuf why = {0};
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "a file with the packed parameters", &path))
        return false;
    const struct file_entry *file = file_set_open(r->files, r->file, path, &why);
    if (!file)
        scan_fail_at(r, &place, EXIT_USAGE, "%s", strbuf_text(&why));
    strbuf_free(&why);
    if (!file)
        return false;
    if (file->size != launch->entry->param_bytes)
        return scan_fail_at(r, &place, EXIT_USAGE,
                            "the file has %zu bytes, the parameters of %s have %u", file->size,
                            launch->entry->name, launch->entry->param_bytes);
    launch->packed = true;
    launch->arg_count = 1;
    launch->args = arena_array(&r->trace->arena, 1, sizeof *launch->args);
    uint8_t *bytes = arena_alloc(&r->trace->arena, file->size, 16);
    if (!launch->args || !bytes)
        return scan_fail(r, "no memory left");
    memcpy(bytes, file->bytes, file->size);
    launch->args[0] = (struct trace_image){.bytes = bytes, .size = file->size};
    return true;
}

/* A tensor map must lie at a multiple of 64 bytes. */
static bool check_map_alignment(struct trace_reader *r, const struct trace_place *place,
                                const char *name, const struct ir_symbol *param,
                                const struct trace_image *image) {
    for (size_t i = 0; i < image->hole_count; i++)
        if (image->holes[i].by_value && (param->align_bytes % 64 || image->holes[i].at_bytes % 64))
            return scan_fail_at(
                r, place, EXIT_USAGE,
                "a tensor map lies at a multiple of 64 bytes; parameter %s is aligned "
                "to %u",
                name, param->align_bytes);
    return true;
}

static bool scan_args(struct trace_reader *r, struct trace_launch *launch) {
    const struct ir_func *entry = launch->entry;
    if (scan_take_word(r, "packed"))
        return scan_packed(r, launch);
    const struct ir_module *ir = r->trace->modules.items[launch->module].ir;
    launch->args = arena_array(&r->trace->arena, entry->param_count, sizeof *launch->args);
    if (!launch->args)
        return scan_fail(r, "no memory left");
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *param = &ir->symbols[entry->params[i].index];
        char what[160];
        snprintf(what, sizeof what, "argument %u of %u (%.80s, %llu bytes)", i + 1,
                 entry->param_count, param->name, (unsigned long long)param->size_bytes);
        scan_blanks(r);
        const struct trace_place place = scan_place(r);
        if (at_clause(r))
            return scan_expected(r, what);
        if (!scan_value(r, what, param->size_bytes, &launch->args[i]) ||
            !check_map_alignment(r, &place, param->name, param, &launch->args[i]))
            return false;
    }
    launch->arg_count = entry->param_count;
    if (scan_at_end(r) || at_clause(r))
        return true;
    char what[160];
    snprintf(what, sizeof what, "the end: %.80s takes %u arguments", entry->name,
             entry->param_count);
    return scan_expected(r, what);
}

static bool scan_attr(struct trace_reader *r, struct trace_launch *launch) {
    int64_t value;
    if (scan_take_word(r, "cooperative")) {
        launch->attrs |= ATTR_COOPERATIVE;
        return true;
    }
    if (scan_take_word(r, "programmatic_stream_serialization")) {
        launch->attrs |= ATTR_PROGRAMMATIC;
        return true;
    }
    if (!scan_take_word(r, "priority"))
        return scan_expected(
            r, "an attribute (cooperative, programmatic_stream_serialization, priority=N)");
    if (!scan_need(r, "=") || !scan_int_in(r, "the priority", INT32_MIN, INT32_MAX, &value))
        return false;
    launch->priority = (int32_t)value;
    return true;
}

/* 10s, 500ms, 2m */
static bool scan_timeout(struct trace_reader *r, struct trace_launch *launch) {
    const char *word;
    char *unit;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "a time such as 10s", &word))
        return false;
    const double value = strtod(word, &unit);
    const double scale = !strcmp(unit, "s")    ? 1
                         : !strcmp(unit, "ms") ? 1e-3
                         : !strcmp(unit, "m")  ? 60
                                               : 0;
    launch->timeout_s = value * scale;
    return (launch->timeout_s > 0 && launch->timeout_s < 1e9) ||
           scan_fail_at(r, &place, EXIT_USAGE,
                        "expected a time such as 10s, 500ms or 2m, found '%s'", word);
}

static bool scan_clause(struct trace_reader *r, struct trace_launch *launch, bool *grid,
                        bool *block, bool *args) {
    int64_t value;
    if (scan_take_word(r, "grid"))
        return *grid = true, scan_xyz(r, "the grid", launch->grid);
    if (scan_take_word(r, "block"))
        return *block = true, scan_xyz(r, "the block", launch->block);
    if (scan_take_word(r, "cluster"))
        return scan_xyz(r, "the cluster", launch->cluster);
    if (scan_take_word(r, "args"))
        return *args = true, scan_args(r, launch);
    if (scan_take_word(r, "attr"))
        return scan_attr(r, launch);
    if (scan_take_word(r, "timeout"))
        return scan_timeout(r, launch);
    if (!scan_take_word(r, "smem"))
        return scan_expected(r, "grid, block, cluster, smem, args, attr or timeout");
    if (!scan_int_in(r, "the dynamic shared memory", 0, UINT32_MAX, &value))
        return false;
    launch->smem_bytes = (uint32_t)value;
    return true;
}

bool statement_launch(struct trace_reader *r, const struct trace_place *place) {
    struct trace_launch launch = {.place = *place};
    bool grid = false, block = false, args = false;
    if (!scan_entry(r, &launch))
        return false;
    while (!scan_at_end(r))
        if (!scan_clause(r, &launch, &grid, &block, &args))
            return false;
    if (!grid || !block)
        return scan_expected(r, grid ? "block" : "grid");
    if (!args && launch.entry->param_count)
        return scan_fail(r, "expected args: %s takes %u arguments", launch.entry->name,
                         launch.entry->param_count);
    struct trace_launch *added = TRACE_ADD(r, r->trace->launches);
    if (!added)
        return false;
    launch.number = r->trace->launches.count;
    *added = launch;
    return trace_add_step(r, STEP_LAUNCH, launch.number - 1);
}
