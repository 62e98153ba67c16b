/* Values in a trace: addresses, numbers of a type, structs, tensor maps by value, and the bracketed
 * lists of sizes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "trace_statement.h"

enum { MAX_STRUCT_BYTES = 32764, MAX_LIST = 65536 }; /* the most parameter bytes of a kernel */

int64_t trace_global_index(struct trace_reader *r, const struct trace_place *place, uint32_t module,
                           const char *symbol) {
    struct trace *trace = r->trace;
    for (uint32_t i = 0; i < trace->globals.count; i++)
        if (trace->globals.items[i].module == module &&
            !strcmp(trace->globals.items[i].symbol, symbol))
            return i;
    const struct ir_module *ir = trace->modules.items[module].ir;
    const int32_t index = ir_find_symbol(ir, symbol);
    const struct ir_symbol *found = index < 0 ? NULL : &ir->symbols[index];
    if (!found || (found->space != SPACE_GLOBAL && found->space != SPACE_CONST)) {
        scan_fail_at(r, place, EXIT_USAGE, "module %s has no .global or .const symbol '%s'",
                     trace->modules.items[module].name, symbol);
        return -1;
    }
    struct trace_global *global = TRACE_ADD(r, trace->globals);
    if (!global)
        return -1;
    *global = (struct trace_global){
        .symbol = symbol, .module = module, .size = found->size_bytes, .place = *place};
    return trace->globals.count - 1;
}

bool scan_buffer(struct trace_reader *r, uint32_t *index) {
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    const char *name;
    if (!scan_name(r, "a buffer", &name))
        return false;
    const int64_t found = trace_find_buffer(r->trace, name);
    if (found < 0)
        return scan_fail_at(r, &place, EXIT_USAGE, "there is no buffer '%s'", name);
    *index = (uint32_t)found;
    return true;
}

/* [i][j] behind a buffer: its first element there. */
static bool scan_indices(struct trace_reader *r, const struct trace_buffer *buffer,
                         int64_t *offset_bytes) {
    const int64_t size = (int64_t)elem_info(buffer->type)->size_bytes;
    for (unsigned i = 0; scan_take(r, "["); i++) {
        int64_t index, bytes;
        if (i == buffer->rank)
            return scan_fail(r, "buffer %s has only %u dimensions", buffer->name, buffer->rank);
        if (!scan_int_in(r, "the index", 0, (int64_t)buffer->dims[i], &index) || !scan_need(r, "]"))
            return false;
        if (__builtin_mul_overflow(index, (int64_t)buffer->strides[i] * size, &bytes) ||
            __builtin_add_overflow(*offset_bytes, bytes, offset_bytes))
            return scan_fail(r, "the address does not fit in 64 bits");
    }
    return true;
}

static bool scan_object(struct trace_reader *r, struct trace_address *address) {
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    const char *name, *symbol;
    if (!scan_name(r, "a buffer, a tensor map or MODULE.SYMBOL", &name))
        return false;
    const int64_t buffer = trace_find_buffer(r->trace, name);
    if (buffer >= 0) {
        *address = (struct trace_address){OBJECT_BUFFER, (uint32_t)buffer, 0};
        return scan_indices(r, &r->trace->buffers.items[buffer], &address->offset_bytes);
    }
    const int64_t map = trace_find_map(r->trace, name);
    if (map >= 0) {
        *address = (struct trace_address){OBJECT_MAP, (uint32_t)map, 0};
        return true;
    }
    const int64_t module = trace_find_module(r->trace, name);
    if (module < 0)
        return scan_fail_at(r, &place, EXIT_USAGE, "there is no buffer, tensor map or module '%s'",
                            name);
    if (!scan_need(r, ".") || !scan_name(r, "a symbol of the module", &symbol))
        return false;
    const int64_t global = trace_global_index(r, &place, (uint32_t)module, symbol);
    *address = (struct trace_address){OBJECT_GLOBAL, (uint32_t)global, 0};
    return global >= 0;
}

bool scan_address(struct trace_reader *r, struct trace_address *address) {
    int64_t more;
    scan_take(r, "&");
    if (!scan_object(r, address))
        return false;
    scan_blanks(r);
    const char sign = r->text[r->at];
    if (sign != '+' && (sign != '-' || r->text[r->at + 1] == '>'))
        return true;
    if (sign == '+')
        r->at++;
    if (!scan_int(r, &more))
        return false;
    if (__builtin_add_overflow(address->offset_bytes, more, &address->offset_bytes))
        return scan_fail(r, "the address does not fit in 64 bits");
    return true;
}

/* A floating-point literal that ends where a value ends; the cursor stays when there is none. */
static bool try_float(struct trace_reader *r, double *value) {
    scan_blanks(r);
    char *end;
    const char *start = r->text + r->at;
    if (strspn(start, "+-.0123456789infINFnaNA") == 0)
        return false;
    *value = strtod(start, &end);
    if (end == start || !strchr("),}# \t\r\n", *end))
        return false;
    const char *blank = end + strspn(end, " \t");
    const bool next_value = *blank == '-' && blank > end && blank[1] != ' ';
    if (*blank && strchr("+-*/<=?", *blank) && !next_value)
        return false;
    r->at += (size_t)(end - start);
    return true;
}

static bool store_int(uint8_t *bytes, size_t size, int64_t value) {
    const unsigned bits = (unsigned)(8 * size);
    if (size < 8 && (value < -(INT64_C(1) << (bits - 1)) || value >= INT64_C(1) << bits))
        return false;
    memcpy(bytes, &value, size);
    return true;
}

/* A hexadecimal number of 64 bits whose highest bit is set: expressions are signed and have no
 * such. */
static bool try_high_word(struct trace_reader *r, uint8_t *bytes) {
    enum { PREFIX = 2, DIGITS = 16 };
    const char *text = r->text + r->at;
    if (text[0] != '0' || text[1] != 'x' ||
        strspn(text + PREFIX, "0123456789abcdefABCDEF") != DIGITS)
        return false;
    const uint64_t word = strtoull(text, NULL, 16);
    if (word >> 63 == 0)
        return false;
    memcpy(bytes, &word, sizeof word);
    r->at += PREFIX + DIGITS;
    return true;
}

bool scan_elem(struct trace_reader *r, enum elem_type type, uint8_t *bytes) {
    const struct elem_info *info = elem_info(type);
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    double number;
    int64_t value;
    if (info->kind == ELEM_KIND_UNSIGNED && info->size_bytes == 8 && try_high_word(r, bytes))
        return true;
    if (info->kind == ELEM_KIND_FLOAT && try_float(r, &number))
        return elem_from_double(type, number, bytes);
    if (!scan_int(r, &value))
        return false;
    const bool raw = info->name[0] == 'b' && info->kind == ELEM_KIND_UNSIGNED;
    if (raw ? store_int(bytes, info->size_bytes, value) : elem_from_int(type, value, bytes))
        return true;
    return scan_fail_at(r, &place, EXIT_USAGE, "%lld does not fit in %s", (long long)value,
                        info->name);
}

static bool new_image(struct trace_reader *r, size_t size, size_t holes,
                      struct trace_image *image) {
    image->size = size;
    image->bytes = arena_alloc(&r->trace->arena, size, 16);
    image->holes = arena_array(&r->trace->arena, holes, sizeof *image->holes);
    image->hole_count = 0;
    return (image->bytes && image->holes) || scan_fail(r, "no memory left");
}

static bool check_size(struct trace_reader *r, const struct trace_place *place, const char *what,
                       size_t size, size_t found) {
    if (size == 0 || size == found)
        return true;
    return scan_fail_at(r, place, EXIT_USAGE, "%s has %zu bytes, this value has %zu", what, size,
                        found);
}

static bool scan_address_value(struct trace_reader *r, const struct trace_place *place,
                               const char *what, size_t size, struct trace_image *image) {
    struct trace_address address;
    if (!scan_address(r, &address) || !check_size(r, place, what, size, 8) ||
        !new_image(r, 8, 1, image))
        return false;
    image->holes[image->hole_count++] = (struct trace_hole){.address = address};
    return true;
}

/* TYPE(number) and TYPE{number, ...}; the cursor stands on the bracket. */
static bool scan_typed(struct trace_reader *r, const struct trace_place *place, const char *what,
                       size_t size, enum elem_type type, struct trace_image *image) {
    const size_t elem_bytes = elem_info(type)->size_bytes;
    struct strbuf bytes = {0};
    uint8_t elem[8];
    bool ok = true;
    const bool list = scan_take(r, "{");
    if (!list)
        ok = scan_need(r, "(");
    do {
        ok = ok && scan_elem(r, type, elem);
        if (ok)
            strbuf_append(&bytes, (const char *)elem, elem_bytes);
    } while (ok && list && bytes.length < MAX_LIST * 8u && scan_take(r, ","));
    ok = ok && scan_need(r, list ? "}" : ")") && check_size(r, place, what, size, bytes.length) &&
         new_image(r, bytes.length, 0, image);
    if (ok)
        memcpy(image->bytes, bytes.text, bytes.length);
    strbuf_free(&bytes);
    return ok;
}

/* offset:value of a struct, copied into `image`. */
static bool scan_field(struct trace_reader *r, struct trace_image *image) {
    int64_t offset;
    struct trace_image field;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_int_in(r, "the offset", 0, (int64_t)image->size - 1, &offset) || !scan_need(r, ":") ||
        !scan_value(r, "the field", 0, &field))
        return false;
    if (field.size > image->size - (size_t)offset)
        return scan_fail_at(r, &place, EXIT_USAGE,
                            "the field of %zu bytes at %lld reaches past the struct's %zu bytes",
                            field.size, (long long)offset, image->size);
    memcpy(image->bytes + offset, field.bytes, field.size);
    struct trace_hole *holes =
        arena_array(&r->trace->arena, image->hole_count + field.hole_count, sizeof *holes);
    if (!holes)
        return scan_fail(r, "no memory left");
    for (size_t i = 0; i < image->hole_count; i++)
        holes[i] = image->holes[i];
    for (size_t i = 0; i < field.hole_count; i++) {
        holes[image->hole_count + i] = field.holes[i];
        holes[image->hole_count + i].at_bytes += (size_t)offset;
    }
    image->holes = holes;
    image->hole_count += field.hole_count;
    return true;
}

/* struct(SIZE){OFFSET:VALUE ...}; bytes between the fields are zero. */
static bool scan_struct(struct trace_reader *r, const struct trace_place *place, const char *what,
                        size_t size, struct trace_image *image) {
    int64_t bytes;
    if (++r->expression_depth > 8)
        return scan_fail(r, "structs are nested too deeply");
    if (!scan_need(r, "(") || !scan_int_in(r, "the struct's size", 1, MAX_STRUCT_BYTES, &bytes) ||
        !scan_need(r, ")") || !check_size(r, place, what, size, (size_t)bytes) ||
        !scan_need(r, "{") || !new_image(r, (size_t)bytes, 0, image))
        return false;
    while (!scan_take(r, "}")) {
        if (!scan_field(r, image))
            return false;
        scan_take(r, ",");
    }
    r->expression_depth--;
    return true;
}

static bool scan_map_value(struct trace_reader *r, const struct trace_place *place,
                           const char *what, size_t size, uint32_t map, struct trace_image *image) {
    if (!check_size(r, place, what, size, 128) || !new_image(r, 128, 1, image))
        return false;
    image->holes[image->hole_count++] =
        (struct trace_hole){.by_value = true, .address = {OBJECT_MAP, map, 0}};
    return true;
}

/* An integer takes the parameter's size. */
static bool scan_plain_int(struct trace_reader *r, const struct trace_place *place,
                           const char *what, size_t size, struct trace_image *image) {
    int64_t value;
    const char *text = r->text + r->at;
    if (text[strspn(text, "+-0123456789")] == '.')
        return scan_fail_at(r, place, EXIT_USAGE, "a floating-point value says its type: f32(1.5)");
    if (!scan_int(r, &value))
        return false;
    if (size == 0)
        return scan_fail_at(r, place, EXIT_USAGE, "%s says its type: i32(%lld)", what,
                            (long long)value);
    if (size > 8 || (size & (size - 1)))
        return scan_fail_at(r, place, EXIT_USAGE, "%s has %zu bytes, an integer cannot fill it",
                            what, size);
    if (!new_image(r, size, 0, image))
        return false;
    return store_int(image->bytes, size, value) ||
           scan_fail_at(r, place, EXIT_USAGE, "%lld does not fit in the %zu bytes of %s",
                        (long long)value, size, what);
}

bool scan_value(struct trace_reader *r, const char *what, size_t size, struct trace_image *image) {
    *image = (struct trace_image){0};
    if (scan_at_end(r))
        return scan_expected(r, what);
    const struct trace_place place = scan_place(r);
    const char *text = r->text + r->at;
    if (*text == '&')
        return scan_address_value(r, &place, what, size, image);
    if (scan_take_word(r, "struct"))
        return scan_struct(r, &place, what, size, image);
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_$");
    const enum elem_type type = elem_find(text, length);
    if (type < ELEM_PTR && (text[length] == '(' || text[length] == '{')) {
        r->at += length;
        return scan_typed(r, &place, what, size, type, image);
    }
    for (uint32_t i = 0; i < r->trace->maps.count; i++)
        if (scan_take_word(r, r->trace->maps.items[i].name))
            return scan_map_value(r, &place, what, size, i, image);
    for (uint32_t i = 0; i < r->trace->buffers.count; i++)
        if (scan_peek_word(r, r->trace->buffers.items[i].name))
            return scan_fail(r, "'%s' is a buffer; its address is &%s",
                             r->trace->buffers.items[i].name, r->trace->buffers.items[i].name);
    return scan_plain_int(r, &place, what, size, image);
}

bool scan_brackets(struct trace_reader *r, const char *what, int64_t low, int64_t high,
                   unsigned max, uint64_t *values, unsigned *count) {
    *count = 0;
    do {
        int64_t value;
        if (*count == max)
            return scan_fail(r, "more than %u values for %s", max, what);
        if (!scan_need(r, "[") || !scan_int_in(r, what, low, high, &value) || !scan_need(r, "]"))
            return false;
        values[(*count)++] = (uint64_t)value;
        scan_blanks(r);
    } while (r->text[r->at] == '[');
    return true;
}

bool scan_braces(struct trace_reader *r, const char *what, int64_t low, int64_t high, unsigned max,
                 uint64_t *values, unsigned *count) {
    *count = 0;
    if (!scan_need(r, "{"))
        return false;
    if (scan_take(r, "}"))
        return true;
    do {
        int64_t value;
        if (*count == max)
            return scan_fail(r, "more than %u values for %s", max, what);
        if (!scan_int_in(r, what, low, high, &value))
            return false;
        values[(*count)++] = (uint64_t)value;
    } while (scan_take(r, ","));
    return scan_need(r, "}");
}
