/* The statements copy, fill and expect. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "reference.h"
#include "result.h"
#include "trace_statement.h"

static uint64_t address_room(const struct trace *trace, const struct trace_address *address) {
    if (address->object == OBJECT_BUFFER)
        return trace->buffers.items[address->index].span_bytes;
    if (address->object == OBJECT_GLOBAL)
        return trace->globals.items[address->index].size;
    return 128;
}

static bool scan_copy_output(struct trace_reader *r, struct trace_copy *copy) {
    const char *path;
    struct strbuf why = {0};
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "a .npy file to write", &path))
        return false;
    if (copy->from.object != OBJECT_BUFFER || copy->from.offset_bytes)
        return scan_fail_at(r, &place, EXIT_USAGE, "a file takes a whole buffer");
    const enum elem_type type = r->trace->buffers.items[copy->from.index].type;
    if (type >= ELEM_PTR)
        return scan_fail_at(r, &place, EXIT_USAGE, "a %s buffer has no .npy type",
                            elem_info(type)->name);
    /* A record's run has no folder to write to: it checks everything else. */
    copy->output_path = r->files->sealed ? "" : file_set_output_path(r->files, r->file, path, &why);
    if (!copy->output_path)
        scan_fail_at(r, &place, EXIT_USAGE, "%s", strbuf_text(&why));
    strbuf_free(&why);
    return copy->output_path != NULL;
}

bool statement_copy(struct trace_reader *r, const struct trace_place *place) {
    struct trace_copy copy = {.place = *place};
    int64_t bytes;
    if (!scan_address(r, &copy.from) || !scan_need(r, "->"))
        return false;
    if (scan_take_word(r, "file")) {
        if (!scan_copy_output(r, &copy))
            return false;
    } else {
        if (!scan_address(r, &copy.to))
            return false;
        const uint64_t from = address_room(r->trace, &copy.from);
        const uint64_t to = address_room(r->trace, &copy.to);
        copy.size = from;
        if (scan_take_word(r, "bytes")) {
            if (!scan_int_in(r, "the bytes to copy", 0, INT64_C(1) << 44, &bytes))
                return false;
            copy.size = (uint64_t)bytes;
        } else if (from != to || copy.from.offset_bytes || copy.to.offset_bytes) {
            return scan_fail_at(r, place, EXIT_USAGE,
                                "the two have %llu and %llu bytes; say how many: bytes N",
                                (unsigned long long)from, (unsigned long long)to);
        }
    }
    struct trace_copy *added = TRACE_ADD(r, r->trace->copies);
    if (!added)
        return false;
    *added = copy;
    return trace_add_step(r, STEP_COPY, r->trace->copies.count - 1);
}

bool statement_fill(struct trace_reader *r, const struct trace_place *place) {
    struct trace_fill fill = {.place = *place};
    const char *type_name;
    uint8_t bytes[8] = {0};
    if (!scan_buffer(r, &fill.buffer))
        return false;
    scan_blanks(r);
    const struct trace_place type_place = scan_place(r);
    if (!scan_name(r, "the type of the fill value", &type_name))
        return false;
    const enum elem_type type = elem_find(type_name, strlen(type_name));
    if (type >= ELEM_PTR || elem_info(type)->size_bytes > 4)
        return scan_fail_at(r, &type_place, EXIT_USAGE,
                            "expected a type of 1, 2 or 4 bytes, found '%s'", type_name);
    if (!scan_elem(r, type, bytes))
        return false;
    fill.word_bytes = (unsigned)elem_info(type)->size_bytes;
    fill.word = elem_bits(type, bytes);
    const struct trace_buffer *buffer = &r->trace->buffers.items[fill.buffer];
    if (buffer->span_bytes % fill.word_bytes)
        return scan_fail_at(r, place, EXIT_USAGE, "buffer %s has %llu bytes, no multiple of %u",
                            buffer->name, (unsigned long long)buffer->span_bytes, fill.word_bytes);
    struct trace_fill *added = TRACE_ADD(r, r->trace->fills);
    if (!added)
        return false;
    *added = fill;
    return trace_add_step(r, STEP_FILL, r->trace->fills.count - 1);
}

bool scan_result(struct trace_reader *r, int *code) {
    const char *word;
    char *end;
    CUresult named;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "an error's name or number", &word))
        return false;
    const long number = strtol(word, &end, 10);
    if (end != word && !*end && number > 0 && number < 100000) {
        *code = (int)number;
        return true;
    }
    if (!result_from_name(word, &named) || named == CUDA_SUCCESS)
        return scan_fail_at(r, &place, EXIT_USAGE,
                            "expected an error such as 715 or ILLEGAL_INSTRUCTION, found '%s'",
                            word);
    *code = (int)named;
    return true;
}

/* launch N fails CODE [at MODULE:LINE] */
static bool scan_fails(struct trace_reader *r, const struct trace_place *place) {
    struct trace_fails fails = {.place = *place};
    int64_t value;
    const char *name;
    if (!scan_int_in(r, "the launch", 1, TRACE_MAX_STEPS, &value))
        return false;
    fails.launch = (uint32_t)value;
    if (!scan_take_word(r, "fails"))
        return scan_expected(r, "'fails'");
    if (!scan_result(r, &fails.code))
        return false;
    if (scan_take_word(r, "at")) {
        scan_blanks(r);
        const struct trace_place module_place = scan_place(r);
        if (!scan_name(r, "MODULE:LINE", &name))
            return false;
        const int64_t module = trace_find_module(r->trace, name);
        if (module < 0)
            return scan_fail_at(r, &module_place, EXIT_USAGE, "there is no module '%s'", name);
        if (!scan_need(r, ":") || !scan_int_in(r, "the line", 1, INT32_MAX, &value))
            return false;
        fails.has_line = true;
        fails.module = (uint32_t)module;
        fails.line = (uint32_t)value;
    }
    struct trace_fails *added = TRACE_ADD(r, r->trace->fails);
    if (!added)
        return false;
    *added = fails;
    return true;
}

static bool check_matmul(struct trace_reader *r, const struct trace_place *place,
                         const struct trace_expect *e) {
    const struct trace_buffer *c = &r->trace->buffers.items[e->buffer];
    const struct trace_buffer *a = &r->trace->buffers.items[e->a];
    const struct trace_buffer *b = &r->trace->buffers.items[e->b];
    if (a->rank != 2 || b->rank != 2 || c->rank != 2 || a->dims[1] != b->dims[1] ||
        c->dims[0] != a->dims[0] || c->dims[1] != b->dims[0])
        return scan_fail_at(r, place, EXIT_USAGE,
                            "matmul_nt needs A [M][K], B [N][K] and the result [M][N]");
    if (a->type >= ELEM_PTR || b->type >= ELEM_PTR || c->type >= ELEM_PTR)
        return scan_fail_at(r, place, EXIT_USAGE, "matmul_nt needs buffers of numbers");
    if (e->reference == REF_MATMUL_NT)
        return true;
    if (e->reference == REF_MATMUL_NT_FMA)
        return (c->type == ELEM_BF16 || c->type == ELEM_F16 || c->type == ELEM_F32) ||
               scan_fail_at(r, place, EXIT_USAGE, "matmul_nt_fma needs a bf16, f16 or f32 result");
    const unsigned terms = a->type == b->type ? reference_tc_terms(a->type) : 0;
    const bool output = c->type == ELEM_BF16 || c->type == ELEM_F16 || c->type == ELEM_F32;
    if (!terms || !output || a->dims[1] % terms)
        return scan_fail_at(r, place, EXIT_USAGE,
                            "matmul_nt_tc needs A and B of one type (bf16, f16, tf32, e4m3 or "
                            "e5m2), a bf16, f16 or f32 result and K a multiple of 32 bytes");
    return true;
}

static bool scan_matmul(struct trace_reader *r, const struct trace_place *place,
                        struct trace_expect *e) {
    return scan_need(r, "(") && scan_buffer(r, &e->a) && scan_need(r, ",") &&
           scan_buffer(r, &e->b) && scan_need(r, ")") && check_matmul(r, place, e);
}

static bool check_same(struct trace_reader *r, const struct trace_place *place,
                       const struct trace_expect *e) {
    const struct trace_buffer *x = &r->trace->buffers.items[e->buffer];
    const struct trace_buffer *y = &r->trace->buffers.items[e->a];
    bool same = x->type == y->type && x->rank == y->rank;
    for (unsigned i = 0; same && i < x->rank; i++)
        same = x->dims[i] == y->dims[i];
    return same || scan_fail_at(r, place, EXIT_USAGE, "%s and %s differ in type or dimensions",
                                x->name, y->name);
}

static bool scan_reference(struct trace_reader *r, const struct trace_place *place,
                           struct trace_expect *e) {
    struct trace_buffer *buffer = &r->trace->buffers.items[e->buffer];
    bool found;
    if (scan_take_word(r, "matmul_nt")) {
        e->reference = REF_MATMUL_NT;
        return scan_matmul(r, place, e);
    }
    if (scan_take_word(r, "matmul_nt_tc")) {
        e->reference = REF_MATMUL_NT_TC;
        return scan_matmul(r, place, e);
    }
    if (scan_take_word(r, "matmul_nt_fma")) {
        e->reference = REF_MATMUL_NT_FMA;
        return scan_matmul(r, place, e);
    }
    e->reference = REF_GENERATOR;
    if (!scan_generator(r, buffer, &e->generator, &found))
        return false;
    if (found) {
        int64_t seed;
        if (!scan_take_word(r, "seed"))
            return true;
        if (!scan_int(r, &seed))
            return false;
        e->generator.seed = (uint64_t)seed;
        return true;
    }
    e->reference = REF_BUFFER;
    scan_blanks(r);
    const char c = r->text[r->at];
    if (scan_at_end(r) || c == '(')
        return scan_expected(r, "matmul_nt(A, B), matmul_nt_tc(A, B), matmul_nt_fma(A, B), file "
                                "PATH, a generator or a buffer");
    return scan_buffer(r, &e->a) && check_same(r, place, e);
}

/* within N ulp | exact | bits | abs A [rel R] | rel R */
static bool scan_compare(struct trace_reader *r, struct trace_expect *e) {
    const bool is_float =
        elem_info(r->trace->buffers.items[e->buffer].type)->kind == ELEM_KIND_FLOAT;
    if (scan_take_word(r, "within")) {
        e->compare = COMPARE_ULP;
        if (!is_float)
            return scan_fail(r,
                             "an ulp is of floating-point elements; exact or bits compare these");
        if (!scan_float(r, &e->ulps) || !(e->ulps >= 0))
            return scan_expected(r, "a number of ulps");
        return scan_take_word(r, "ulp") || scan_expected(r, "'ulp'");
    }
    if (scan_take_word(r, "exact")) {
        e->compare = e->reference == REF_MATMUL_NT ? COMPARE_EXACT : COMPARE_BITS;
        return true;
    }
    if (scan_peek_word(r, "abs") || scan_peek_word(r, "rel")) {
        e->compare = COMPARE_TOLERANCE;
        if (scan_take_word(r, "abs") && (!scan_float(r, &e->absolute) || !(e->absolute >= 0)))
            return scan_expected(r, "a number that is not negative");
        if (scan_take_word(r, "rel") && (!scan_float(r, &e->relative) || !(e->relative >= 0)))
            return scan_expected(r, "a number that is not negative");
        return true;
    }
    const bool bits = scan_take_word(r, "bits");
    e->compare = COMPARE_BITS;
    if (e->reference != REF_MATMUL_NT)
        return true;
    if (bits) {
        e->compare = COMPARE_EXACT; /* the exact product, rounded once */
        return true;
    }
    return scan_expected(r, "within N ulp, exact, bits, abs X or rel X");
}

bool statement_expect(struct trace_reader *r, const struct trace_place *place) {
    struct trace_expect e = {.place = *place};
    if (scan_take_word(r, "launch"))
        return scan_fails(r, place);
    if (!scan_buffer(r, &e.buffer))
        return false;
    const enum elem_type type = r->trace->buffers.items[e.buffer].type;
    if (scan_take_word(r, "finite")) {
        e.reference = REF_FINITE;
        if (elem_info(type)->kind != ELEM_KIND_FLOAT)
            return scan_fail(r, "finite is a question for floating-point elements");
    } else if (!scan_take(r, "==")) {
        return scan_expected(r, "'==' or 'finite'");
    } else if (!scan_reference(r, place, &e) || !scan_compare(r, &e)) {
        return false;
    }
    struct trace_expect *added = TRACE_ADD(r, r->trace->expects);
    if (!added)
        return false;
    *added = e;
    return trace_add_step(r, STEP_EXPECT, r->trace->expects.count - 1);
}
