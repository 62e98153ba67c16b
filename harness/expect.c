/* Checks what a trace expects of a buffer. */
#include "expect.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "reference.h"

void difference_add(struct difference *d, const struct trace_buffer *buffer, uint64_t index) {
    uint64_t coords[TRACE_MAX_RANK];
    buffer_image_coordinates(buffer, index, coords);
    if (!d->count)
        d->first = index;
    for (unsigned i = 0; i < buffer->rank; i++) {
        if (!d->count || coords[i] < d->low[i])
            d->low[i] = coords[i];
        if (!d->count || coords[i] > d->high[i])
            d->high[i] = coords[i];
    }
    d->count++;
}

void difference_place(const struct trace_buffer *buffer, uint64_t index, struct strbuf *out) {
    uint64_t coords[TRACE_MAX_RANK];
    buffer_image_coordinates(buffer, index, coords);
    strbuf_puts(out, buffer->name);
    for (unsigned i = 0; i < buffer->rank; i++)
        strbuf_printf(out, "[%" PRIu64 "]", coords[i]);
}

void difference_extent(const struct difference *d, const struct trace_buffer *buffer,
                       struct strbuf *out) {
    strbuf_printf(out, "%" PRIu64 " of %" PRIu64 " elements differ", d->count, buffer->elems);
    if (d->count < 2)
        return;
    strbuf_printf(out, ", all within %s", buffer->name);
    for (unsigned i = 0; i < buffer->rank; i++)
        if (d->low[i] == d->high[i])
            strbuf_printf(out, "[%" PRIu64 "]", d->low[i]);
        else
            strbuf_printf(out, "[%" PRIu64 "..%" PRIu64 "]", d->low[i], d->high[i]);
}

/* What the elements should be: words of the buffer's type, or numbers. One of the two is set. */
struct wanted {
    uint8_t *words; /* tight */
    double *numbers;
};

static struct reference_matrix matrix(const struct trace_buffer *b, const uint8_t *span) {
    return (struct reference_matrix){span,       b->type,       b->dims[0],
                                     b->dims[1], b->strides[0], b->strides[1]};
}

static enum status from_reference(enum reference_status status, struct strbuf *text) {
    if (status == REFERENCE_OK)
        return STATUS_OK;
    if (status == REFERENCE_NO_MEMORY)
        return STATUS_NO_MEMORY;
    strbuf_puts(text, "the exact product of these inputs needs more than 53 bits, or they hold NaN "
                      "or Inf: use small whole numbers, or 'within N ulp'");
    return STATUS_UNSUPPORTED;
}

/* Rounds numbers to words of the type, once. */
static bool round_numbers(const struct trace_buffer *c, const double *numbers, uint8_t *words) {
    const size_t size = elem_info(c->type)->size_bytes;
    for (uint64_t i = 0; i < c->elems; i++)
        if (!elem_from_double(c->type, numbers[i], words + i * size))
            return false;
    return true;
}

static enum status want_matmul(const struct trace *trace, const struct trace_expect *e,
                               const struct expect_spans *spans, struct wanted *wanted,
                               struct strbuf *text) {
    const struct trace_buffer *c = &trace->buffers.items[e->buffer];
    const struct reference_matrix a = matrix(&trace->buffers.items[e->a], spans->a);
    const struct reference_matrix b = matrix(&trace->buffers.items[e->b], spans->b);
    const bool exact = e->compare == COMPARE_EXACT;
    wanted->numbers = malloc(c->elems * sizeof *wanted->numbers);
    if (!wanted->numbers)
        return STATUS_NO_MEMORY;
    const enum status status =
        from_reference(exact ? reference_matmul_exact(&a, &b, wanted->numbers)
                             : reference_matmul_f64(&a, &b, wanted->numbers),
                       text);
    if (status != STATUS_OK || !exact)
        return status;
    wanted->words = malloc(c->elems * elem_info(c->type)->size_bytes);
    if (!wanted->words)
        return STATUS_NO_MEMORY;
    if (!round_numbers(c, wanted->numbers, wanted->words)) {
        strbuf_printf(text, "the product does not fit in %s", elem_info(c->type)->name);
        return STATUS_UNSUPPORTED;
    }
    free(wanted->numbers);
    wanted->numbers = NULL;
    return STATUS_OK;
}

/* The references that give f32 words, rounded once to the result's type. */
static enum status want_matmul_f32(const struct trace *trace, const struct trace_expect *e,
                                   const struct expect_spans *spans, struct wanted *wanted) {
    const struct trace_buffer *c = &trace->buffers.items[e->buffer];
    const struct reference_matrix a = matrix(&trace->buffers.items[e->a], spans->a);
    const struct reference_matrix b = matrix(&trace->buffers.items[e->b], spans->b);
    const size_t size = elem_info(c->type)->size_bytes;
    uint32_t *f32 = malloc(c->elems * sizeof *f32);
    wanted->words = malloc(c->elems * size);
    enum reference_status done = REFERENCE_NO_MEMORY;
    if (f32 && wanted->words)
        done = e->reference == REF_MATMUL_NT_TC
                   ? reference_matmul_tc(&a, &b, strcmp(trace->device, "b200") != 0, f32)
                   : reference_matmul_fma(&a, &b, f32);
    const bool ok = done == REFERENCE_OK;
    for (uint64_t i = 0; ok && i < c->elems; i++) {
        if (c->type == ELEM_F32)
            memcpy(wanted->words + i * size, &f32[i], size);
        else
            elem_from_double(c->type, elem_to_double(ELEM_F32, &f32[i]), wanted->words + i * size);
    }
    free(f32);
    return ok ? STATUS_OK : STATUS_NO_MEMORY;
}

/* The buffer's shape without strides. */
static struct trace_buffer tight(const struct trace_buffer *b) {
    struct trace_buffer t = *b;
    uint64_t stride = 1;
    for (unsigned i = t.rank; i-- > 0; stride *= t.dims[i])
        t.strides[i] = stride;
    t.span_bytes = t.elems * elem_info(t.type)->size_bytes;
    return t;
}

static enum status want_copy(const struct trace *trace, const struct trace_expect *e,
                             const struct expect_spans *spans, struct wanted *wanted) {
    const struct trace_buffer shape = tight(&trace->buffers.items[e->buffer]);
    const size_t size = elem_info(shape.type)->size_bytes;
    wanted->words = malloc(shape.span_bytes);
    if (!wanted->words)
        return STATUS_NO_MEMORY;
    if (e->reference == REF_GENERATOR) {
        buffer_image_fill(&shape, &e->generator, wanted->words);
        return STATUS_OK;
    }
    const struct trace_buffer *other = &trace->buffers.items[e->a];
    for (uint64_t i = 0; i < shape.elems; i++)
        memcpy(wanted->words + i * size, spans->a + buffer_image_offset(other, i), size);
    return STATUS_OK;
}

/* Numbers of the words, where the comparison is of numbers. */
static enum status want_numbers(const struct trace_buffer *c, struct wanted *wanted) {
    const size_t size = elem_info(c->type)->size_bytes;
    wanted->numbers = malloc(c->elems * sizeof *wanted->numbers);
    if (!wanted->numbers)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < c->elems; i++)
        wanted->numbers[i] = elem_to_double(c->type, wanted->words + i * size);
    return STATUS_OK;
}

static double allowed(const struct trace_expect *e, enum elem_type type, double reference) {
    const double magnitude = fabs(reference);
    if (e->compare == COMPARE_ULP)
        return e->ulps * elem_ulp(type, magnitude > 0.25 ? magnitude : 0.25);
    return e->absolute + e->relative * magnitude;
}

static bool close_enough(const struct trace_expect *e, enum elem_type type, double got,
                         double reference) {
    if (isnan(got) || isnan(reference))
        return isnan(got) && isnan(reference);
    return got == reference || fabs(got - reference) <= allowed(e, type, reference);
}

static void print_wrong(const struct trace_buffer *c, const struct trace_expect *e,
                        const struct wanted *wanted, const uint8_t *got, uint64_t index,
                        struct strbuf *text) {
    const size_t size = elem_info(c->type)->size_bytes;
    char got_text[ELEM_TEXT_BYTES], want_text[ELEM_TEXT_BYTES];
    elem_text(c->type, got, got_text);
    difference_place(c, index, text);
    strbuf_printf(text, " is %s", got_text);
    if (e->reference == REF_FINITE) {
        strbuf_puts(text, ", expected a finite number; ");
        return;
    }
    if (wanted->words) {
        elem_text(c->type, wanted->words + index * size, want_text);
    } else {
        uint8_t rounded[8] = {0};
        elem_from_double(c->type, wanted->numbers[index], rounded);
        elem_text(c->type, rounded, want_text);
    }
    strbuf_printf(text, ", expected %s", want_text);
    if (wanted->numbers) {
        const double reference = wanted->numbers[index];
        strbuf_printf(text, " (%.17g; off by %.3g, allowed %.3g)", reference,
                      fabs(elem_to_double(c->type, got) - reference),
                      allowed(e, c->type, reference));
    }
    strbuf_puts(text, "; ");
}

static void compare(const struct trace_buffer *c, const struct trace_expect *e,
                    const struct wanted *wanted, const uint8_t *span, struct difference *d,
                    struct strbuf *text) {
    const size_t size = elem_info(c->type)->size_bytes;
    for (uint64_t i = 0; i < c->elems; i++) {
        const uint8_t *got = span + buffer_image_offset(c, i);
        bool ok;
        if (e->reference == REF_FINITE)
            ok = isfinite(elem_to_double(c->type, got));
        else if (wanted->numbers)
            ok = close_enough(e, c->type, elem_to_double(c->type, got), wanted->numbers[i]);
        else
            ok = !memcmp(got, wanted->words + i * size, size);
        if (ok)
            continue;
        if (!d->count)
            print_wrong(c, e, wanted, got, i, text);
        difference_add(d, c, i);
    }
    if (d->count)
        difference_extent(d, c, text);
}

enum status expect_check(const struct trace *trace, const struct trace_expect *e,
                         const struct expect_spans *spans, struct difference *d,
                         struct strbuf *text) {
    const struct trace_buffer *c = &trace->buffers.items[e->buffer];
    struct wanted wanted = {0};
    enum status status = STATUS_OK;
    *d = (struct difference){0};
    if (e->reference == REF_MATMUL_NT)
        status = want_matmul(trace, e, spans, &wanted, text);
    else if (e->reference == REF_MATMUL_NT_TC || e->reference == REF_MATMUL_NT_FMA)
        status = want_matmul_f32(trace, e, spans, &wanted);
    else if (e->reference != REF_FINITE)
        status = want_copy(trace, e, spans, &wanted);
    const bool numbers = e->compare == COMPARE_ULP || e->compare == COMPARE_TOLERANCE;
    if (status == STATUS_OK && numbers && wanted.words)
        status = want_numbers(c, &wanted);
    if (status == STATUS_OK)
        compare(c, e, &wanted, spans->buffer, d, text);
    if (status == STATUS_NO_MEMORY)
        strbuf_puts(text, "no memory for the reference answer");
    free(wanted.words);
    free(wanted.numbers);
    return status;
}

static void print_generator(const struct trace_generator *g, struct strbuf *out) {
    switch (g->kind) {
    case INIT_POISON: strbuf_puts(out, "poison"); return;
    case INIT_ZEROS: strbuf_puts(out, "zeros"); return;
    case INIT_IOTA: strbuf_puts(out, "iota"); return;
    case INIT_UNIFORM:
        strbuf_printf(out, "uniform(%.17g,%.17g) seed %" PRIu64, g->low, g->high, g->seed);
        return;
    case INIT_INTS:
        strbuf_printf(out, "ints(%" PRId64 ",%" PRId64 ") seed %" PRIu64, g->int_low, g->int_high,
                      g->seed);
        return;
    case INIT_FILE: strbuf_printf(out, "file %s", g->file->name); return;
    case INIT_IMAGE: strbuf_puts(out, "= values"); return;
    }
}

void expect_print(const struct trace *trace, const struct trace_expect *e, struct strbuf *out) {
    const struct trace_buffer *buffers = trace->buffers.items;
    strbuf_puts(out, buffers[e->buffer].name);
    switch (e->reference) {
    case REF_FINITE: strbuf_puts(out, " finite"); return;
    case REF_BUFFER: strbuf_printf(out, " == %s", buffers[e->a].name); break;
    case REF_GENERATOR:
        strbuf_puts(out, " == ");
        print_generator(&e->generator, out);
        break;
    case REF_MATMUL_NT:
    case REF_MATMUL_NT_TC:
    case REF_MATMUL_NT_FMA:
        strbuf_printf(out, " == matmul_nt%s(%s, %s)",
                      e->reference == REF_MATMUL_NT      ? ""
                      : e->reference == REF_MATMUL_NT_TC ? "_tc"
                                                         : "_fma",
                      buffers[e->a].name, buffers[e->b].name);
        break;
    }
    switch (e->compare) {
    case COMPARE_BITS: strbuf_puts(out, " bits"); break;
    case COMPARE_EXACT: strbuf_puts(out, " exact"); break;
    case COMPARE_ULP: strbuf_printf(out, " within %g ulp", e->ulps); break;
    case COMPARE_TOLERANCE: strbuf_printf(out, " abs %g rel %g", e->absolute, e->relative); break;
    }
}
