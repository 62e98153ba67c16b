/* The statements that declare: module, global, buffer with its generators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "npy.h"
#include "ptx.h"
#include "rn_rewrite.h"
#include "trace_statement.h"

enum { MAX_LISTED_ELEMS = 65536 };

static bool fail_with(struct trace_reader *r, const struct trace_place *place, int exit_status,
                      struct strbuf *why) {
    scan_fail_at(r, place, exit_status, "%s", strbuf_text(why));
    strbuf_free(why);
    return false;
}

static const struct file_entry *open_file(struct trace_reader *r, const struct trace_place *place,
                                          const char *path) {
    struct strbuf why = {0};
    const struct file_entry *file = file_set_open(r->files, r->file, path, &why);
    if (!file)
        fail_with(r, place, EXIT_USAGE, &why);
    strbuf_free(&why);
    return file;
}

/* The loaded text: with .rn put in unless asked for as written. */
static bool load_text(struct trace_reader *r, struct trace_module *module) {
    module->loaded = (const char *)module->file->bytes;
    module->loaded_bytes = module->file->size;
    if (r->options->as_written)
        return true;
    struct strbuf text = {0};
    if (rn_rewrite(module->loaded, module->loaded_bytes, &text)) {
        module->loaded = arena_strndup(&r->trace->arena, strbuf_text(&text), text.length);
        module->loaded_bytes = text.length;
    }
    const bool ok = !text.truncated && module->loaded;
    strbuf_free(&text);
    return ok || scan_fail(r, "no memory left");
}

/* The PTX text's own errors carry their places; they follow the statement's error. */
static bool parse_ptx(struct trace_reader *r, const struct trace_place *place,
                      struct trace_module *module) {
    const struct ptx_source source = {module->file->shown, module->loaded, module->loaded_bytes};
    struct ir_module *ir = NULL;
    struct strbuf log = {0};
    const enum status status = ptx_parse(&r->trace->arena, &source, &ir, &log);
    module->ir = ir;
    if (status == STATUS_OK) {
        strbuf_free(&log);
        return true;
    }
    struct strbuf why = {0};
    strbuf_printf(&why, "module %s is not loaded:\n%s", module->name, strbuf_text(&log));
    strbuf_free(&log);
    return fail_with(r, place, status == STATUS_UNSUPPORTED ? EXIT_NO_VERDICT : EXIT_USAGE, &why);
}

static bool is_target(const char *text, size_t length) {
    return length > 3 && !memcmp(text, "sm_", 3);
}

/* PATH, or TARGET=PATH once for each target: *path becomes the one for this device. */
static bool scan_module_paths(struct trace_reader *r, const char **path) {
    *path = NULL;
    bool any = false;
    while (!scan_at_end(r)) {
        const char *word;
        if (!scan_word(r, "a PTX file", &word))
            return false;
        const char *equals = strchr(word, '=');
        if (!equals && any)
            return scan_fail(r, "expected TARGET=PATH for each file when there are several");
        if (equals && !is_target(word, (size_t)(equals - word)))
            return scan_fail(r, "expected a target such as sm_100a before '=', found '%.*s'",
                             (int)(equals - word), word);
        if (!equals)
            *path = word;
        else if (strlen(r->trace->target) == (size_t)(equals - word) &&
                 !memcmp(word, r->trace->target, (size_t)(equals - word)))
            *path = equals + 1;
        any = true;
    }
    return any || scan_expected(r, "a PTX file, or TARGET=FILE ...");
}

/* sm_90a runs on sm_90 alone, sm_90 and family code on what is not older. */
static bool runs_on(const struct ir_module *ir, const char *target) {
    const unsigned device = (unsigned)strtoul(target + 3, NULL, 10);
    if (ir->target_suffix == 'a')
        return ir->target == device;
    if (ir->target_suffix == 'f')
        return ir->target <= device && ir->target / 10u == device / 10u;
    return ir->target <= device;
}

bool statement_module(struct trace_reader *r, const struct trace_place *place) {
    const char *name, *path;
    if (!trace_new_name(r, "the module's name", &name) || !scan_module_paths(r, &path))
        return false;
    if (!path)
        return scan_fail_at(r, place, EXIT_MACHINE, "module %s has no file for %s (%s)", name,
                            r->trace->device, r->trace->target);
    struct trace_module module = {.name = name, .place = *place};
    module.file = open_file(r, place, path);
    if (!module.file || !load_text(r, &module) || !parse_ptx(r, place, &module))
        return false;
    if (!runs_on(module.ir, r->trace->target)) {
        const char suffix[2] = {module.ir->target_suffix, '\0'};
        const char *range = suffix[0] == 'a'   ? ""
                            : suffix[0] == 'f' ? " or a later one of its family"
                                               : " or a later one";
        return scan_fail_at(
            r, place, EXIT_MACHINE,
            "module %s is for sm_%u%s: it needs a GPU of compute capability %u.%u%s; "
            "the device %s is %s",
            name, module.ir->target, suffix, module.ir->target / 10u, module.ir->target % 10u,
            range, r->trace->device, r->trace->target);
    }
    struct trace_module *added = TRACE_ADD(r, r->trace->modules);
    if (!added)
        return false;
    *added = module;
    return true;
}

/* `file PATH`: the bytes of a .npy's data, or of any other file. */
static bool scan_global_file(struct trace_reader *r, const struct trace_place *place,
                             struct trace_image *value) {
    const char *path;
    if (!scan_word(r, "a file name", &path))
        return false;
    const struct file_entry *file = open_file(r, place, path);
    if (!file)
        return false;
    struct npy npy;
    struct strbuf why = {0};
    const uint8_t *bytes = file->bytes;
    value->size = file->size;
    if (file->size >= 6 && !memcmp(file->bytes, "\x93NUMPY", 6)) {
        if (npy_parse(file->bytes, file->size, &npy, &why) != STATUS_OK)
            return fail_with(r, place, EXIT_USAGE, &why);
        bytes = npy.data;
        value->size = (size_t)npy.elems * npy.item_bytes;
    }
    value->bytes = arena_alloc(&r->trace->arena, value->size, 16);
    if (!value->bytes)
        return scan_fail(r, "no memory left");
    memcpy(value->bytes, bytes, value->size);
    return true;
}

bool statement_global(struct trace_reader *r, const struct trace_place *place) {
    const char *name, *symbol;
    struct trace_image value = {0};
    scan_blanks(r);
    const struct trace_place name_place = scan_place(r);
    if (!scan_name(r, "MODULE.SYMBOL", &name))
        return false;
    const int64_t module = trace_find_module(r->trace, name);
    if (module < 0)
        return scan_fail_at(r, &name_place, EXIT_USAGE, "there is no module '%s'", name);
    if (!scan_need(r, ".") || !scan_name(r, "a symbol of the module", &symbol) ||
        !scan_need(r, "="))
        return false;
    const int64_t index = trace_global_index(r, &name_place, (uint32_t)module, symbol);
    if (index < 0 || !(scan_take_word(r, "file") ? scan_global_file(r, place, &value)
                                                 : scan_value(r, "the global's value", 0, &value)))
        return false;
    struct trace_global *global = &r->trace->globals.items[index];
    if (value.size > global->size)
        return scan_fail_at(r, place, EXIT_USAGE, "%s.%s has %llu bytes, the value has %zu", name,
                            symbol, (unsigned long long)global->size, value.size);
    global->value = value;
    return true;
}

static bool scan_bounds(struct trace_reader *r, bool integers, struct trace_generator *g) {
    if (!scan_need(r, "("))
        return false;
    if (integers) {
        if (!scan_int(r, &g->int_low) || !scan_need(r, ",") || !scan_int(r, &g->int_high))
            return false;
        if (g->int_low > g->int_high || (uint64_t)g->int_high - (uint64_t)g->int_low >= UINT32_MAX)
            return scan_fail(r, "expected ints(low,high) with low <= high < low + 2^32 - 1");
    } else {
        if (!scan_float(r, &g->low) || !scan_need(r, ",") || !scan_float(r, &g->high))
            return false;
        if (!(g->low <= g->high) || !isfinite(g->high - g->low))
            return scan_fail(r, "expected uniform(low,high) with finite low <= high");
    }
    return scan_need(r, ")");
}

static bool scan_npy(struct trace_reader *r, const struct trace_buffer *buffer,
                     struct trace_generator *g) {
    const char *path;
    struct npy npy;
    struct strbuf why = {0};
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "a .npy file", &path))
        return false;
    g->file = open_file(r, &place, path);
    if (!g->file)
        return false;
    if (npy_parse(g->file->bytes, g->file->size, &npy, &why) != STATUS_OK)
        return fail_with(r, &place, EXIT_USAGE, &why);
    if (!npy_holds(&npy, buffer->type))
        return scan_fail_at(r, &place, EXIT_USAGE, "the file holds %c%zu, the buffer is %s",
                            npy.kind, npy.item_bytes, elem_info(buffer->type)->name);
    bool same = npy.rank == buffer->rank;
    for (unsigned i = 0; same && i < npy.rank; i++)
        same = npy.dims[i] == buffer->dims[i];
    if (!same)
        return scan_fail_at(r, &place, EXIT_USAGE, "the file's shape is not the buffer's");
    g->elems = npy.data;
    return true;
}

/* Small integers and u8... types have no fractions: uniform is for floating-point elements. */
static bool check_generator(struct trace_reader *r, const struct trace_buffer *buffer,
                            const struct trace_generator *g) {
    const struct elem_info *info = elem_info(buffer->type);
    uint8_t scratch[8];
    if (g->kind == INIT_UNIFORM && info->kind != ELEM_KIND_FLOAT)
        return scan_fail(r, "uniform fills floating-point buffers; ints(low,high) fills %s",
                         info->name);
    if (g->kind == INIT_INTS && (!elem_from_int(buffer->type, g->int_low, scratch) ||
                                 !elem_from_int(buffer->type, g->int_high, scratch)))
        return scan_fail(r, "%lld to %lld do not fit in %s", (long long)g->int_low,
                         (long long)g->int_high, info->name);
    if (g->kind == INIT_IOTA && (buffer->elems > INT64_MAX ||
                                 !elem_from_int(buffer->type, (int64_t)buffer->elems - 1, scratch)))
        return scan_fail(r, "iota up to %llu does not fit in %s",
                         (unsigned long long)buffer->elems - 1, info->name);
    return true;
}

bool scan_generator(struct trace_reader *r, const struct trace_buffer *buffer,
                    struct trace_generator *g, bool *found) {
    static const struct {
        const char *word;
        enum trace_init kind;
    } words[] = {{"zeros", INIT_ZEROS},     {"poison", INIT_POISON}, {"iota", INIT_IOTA},
                 {"uniform", INIT_UNIFORM}, {"ints", INIT_INTS},     {"file", INIT_FILE}};
    *found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!scan_take_word(r, words[i].word))
            continue;
        *found = true;
        g->kind = words[i].kind;
        if (elem_info(buffer->type)->kind == ELEM_KIND_OBJECT && g->kind > INIT_ZEROS)
            return scan_fail(r, "a %s buffer takes = values, zeros or poison",
                             elem_info(buffer->type)->name);
        if ((g->kind == INIT_UNIFORM || g->kind == INIT_INTS) &&
            !scan_bounds(r, g->kind == INIT_INTS, g))
            return false;
        if (g->kind == INIT_FILE && !scan_npy(r, buffer, g))
            return false;
        return check_generator(r, buffer, g);
    }
    return true;
}

/* One element behind `=`. */
static bool scan_listed(struct trace_reader *r, const struct trace_buffer *buffer,
                        struct trace_image *image, uint64_t index) {
    const size_t size = elem_info(buffer->type)->size_bytes;
    uint8_t *bytes = image->bytes + index * size;
    struct trace_image value;
    if (elem_info(buffer->type)->kind != ELEM_KIND_OBJECT)
        return !scan_at_end(r) ? scan_elem(r, buffer->type, bytes)
                               : scan_expected(r, "the next element");
    if (!scan_value(r, buffer->type == ELEM_PTR ? "an address (&NAME)" : "a tensor map", size,
                    &value))
        return false;
    memcpy(bytes, value.bytes, size);
    for (size_t i = 0; i < value.hole_count; i++) {
        struct trace_hole *hole = &image->holes[image->hole_count++];
        *hole = value.holes[i];
        hole->at_bytes += index * size;
    }
    return true;
}

static bool scan_list(struct trace_reader *r, const struct trace_buffer *buffer,
                      struct trace_generator *g) {
    const struct elem_info *info = elem_info(buffer->type);
    if (buffer->elems > MAX_LISTED_ELEMS)
        return scan_fail(r, "more than %d elements cannot be listed", MAX_LISTED_ELEMS);
    g->kind = INIT_IMAGE;
    g->image.size = (size_t)buffer->elems * info->size_bytes;
    g->image.bytes = arena_alloc(&r->trace->arena, g->image.size, 16);
    g->image.holes =
        arena_array(&r->trace->arena, info->kind == ELEM_KIND_OBJECT ? (size_t)buffer->elems : 0,
                    sizeof *g->image.holes);
    if (!g->image.bytes || !g->image.holes)
        return scan_fail(r, "no memory left");
    for (uint64_t i = 0; i < buffer->elems; i++) {
        if (!scan_listed(r, buffer, &g->image, i))
            return false;
        scan_take(r, ",");
    }
    return true;
}

/* Row-major strides, then the bytes from the first element to past the last. */
static bool finish_shape(struct trace_reader *r, const struct trace_place *place,
                         struct trace_buffer *b, bool strided) {
    uint64_t last = 0, tight = 1;
    b->elems = 1;
    for (unsigned i = b->rank; i-- > 0;) {
        if (!strided)
            b->strides[i] = tight;
        uint64_t reach;
        if (__builtin_mul_overflow(b->elems, b->dims[i], &b->elems) ||
            __builtin_mul_overflow(b->dims[i] - 1, b->strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return scan_fail_at(r, place, EXIT_USAGE, "the buffer is larger than any memory");
        tight = b->elems;
    }
    if (last >= (UINT64_C(1) << 44) || b->elems >= (UINT64_C(1) << 44))
        return scan_fail_at(r, place, EXIT_USAGE, "the buffer is larger than any memory");
    b->span_bytes = (last + 1) * elem_info(b->type)->size_bytes;
    return true;
}

static bool scan_buffer_option(struct trace_reader *r, struct trace_buffer *b, bool *initialised) {
    int64_t value;
    bool found;
    if (scan_take_word(r, "align")) {
        if (!scan_int_in(r, "the alignment", 1, 1 << 30, &value))
            return false;
        b->align = (uint64_t)value;
        return !(value & (value - 1)) || scan_fail(r, "the alignment must be a power of two");
    }
    if (scan_take_word(r, "offset") || scan_peek_word(r, "guard")) {
        const bool guard = scan_take_word(r, "guard");
        if (!scan_int_in(r, guard ? "the guard" : "the offset", 0, 1 << 30, &value))
            return false;
        *(guard ? &b->guard : &b->offset) = (uint64_t)value;
        return true;
    }
    if (scan_take_word(r, "seed")) {
        if (!scan_int(r, &value))
            return false;
        b->init.seed = (uint64_t)value;
        return true;
    }
    if (*initialised)
        return scan_expected(r, "align, offset, guard, seed or the end of the statement");
    *initialised = true;
    if (scan_take(r, "="))
        return scan_list(r, b, &b->init);
    if (!scan_generator(r, b, &b->init, &found))
        return false;
    return found || scan_expected(r, "a generator (uniform, ints, zeros, iota, poison, file, = "
                                     "values), align, offset, guard or seed");
}

bool statement_buffer(struct trace_reader *r, const struct trace_place *place) {
    struct trace_buffer b = {.place = *place, .align = 256};
    const char *type;
    unsigned stride_count;
    if (!trace_new_name(r, "the buffer's name", &b.name))
        return false;
    scan_blanks(r);
    const struct trace_place type_place = scan_place(r);
    if (!scan_name(r, "an element type", &type))
        return false;
    b.type = elem_find(type, strlen(type));
    if (b.type == ELEM_COUNT)
        return scan_fail_at(r, &type_place, EXIT_USAGE,
                            "expected an element type (bf16, f32, u8, ptr ...), found '%s'", type);
    if (!scan_brackets(r, "a dimension", 1, INT64_C(1) << 40, TRACE_MAX_RANK, b.dims, &b.rank))
        return false;
    const bool strided = scan_take_word(r, "strides");
    if (strided && !scan_brackets(r, "a stride", 0, INT64_C(1) << 40, TRACE_MAX_RANK, b.strides,
                                  &stride_count))
        return false;
    if (strided && stride_count != b.rank)
        return scan_fail(r, "expected %u strides, one a dimension, found %u", b.rank, stride_count);
    if (!finish_shape(r, place, &b, strided))
        return false;
    bool initialised = false;
    while (!scan_at_end(r))
        if (!scan_buffer_option(r, &b, &initialised))
            return false;
    struct trace_buffer *added = TRACE_ADD(r, r->trace->buffers);
    if (!added)
        return false;
    *added = b;
    return true;
}
