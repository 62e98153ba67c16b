/* The probe statement: what is recorded, where, and how much of it. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "stream.h"
#include "trace_statement.h"

enum { DEFAULT_KEEP = 64, MAX_KEEP = 1 << 20 };

static const char *const clauses[] = {"at",   "in",   "cta",  "warp", "lane", "when",
                                      "skip", "keep", "last", "by",   "key"};

static bool at_clause(struct trace_reader *r) {
    scan_blanks(r);
    if (scan_at_end(r) || r->text[r->at] == '[')
        return true;
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++)
        if (scan_peek_word(r, clauses[i]))
            return true;
    return false;
}

/* A register: %name. */
static bool scan_register(struct trace_reader *r, const char **name) {
    const char *word;
    scan_blanks(r);
    const size_t start = r->at;
    if (r->text[start] != '%')
        return scan_expected(r, "a register (%name)");
    r->at++;
    if (!scan_name(r, "a register (%name)", &word))
        return false;
    *name = arena_strndup(&r->trace->arena, r->text + start, r->at - start);
    return *name || scan_fail(r, "no memory left");
}

/* A..B with both ends, or A alone. */
static bool scan_span(struct trace_reader *r, const char *what, int64_t high, uint32_t *first,
                      uint32_t *last, bool *given) {
    int64_t a, b;
    if (!scan_int_in(r, what, 0, high, &a))
        return false;
    b = a;
    if (scan_take(r, "..") && !scan_int_in(r, what, a, high, &b))
        return false;
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    *given = true;
    return true;
}

static bool scan_event(struct trace_reader *r, struct trace_probe *probe) {
    if (!scan_take_word(r, "of"))
        return scan_expected(r, "of and the instructions (mbarrier.* cp.async.bulk*)");
    while (!at_clause(r)) {
        if (probe->pattern_count == TRACE_MAX_PATTERNS)
            return scan_fail(r, "more than %d instructions", TRACE_MAX_PATTERNS);
        if (!scan_word(r, "an instruction", &probe->patterns[probe->pattern_count++]))
            return false;
    }
    return probe->pattern_count || scan_expected(r, "an instruction (mbarrier.* cp.async.bulk*)");
}

static bool scan_registers(struct trace_reader *r, struct probe_spec *spec) {
    do {
        if (spec->reg_count == PROBE_MAX_REGS)
            return scan_fail(r, "more than %d registers", PROBE_MAX_REGS);
        if (!scan_register(r, &spec->regs[spec->reg_count++]))
            return false;
    } while (!at_clause(r));
    return true;
}

/* Bytes first..end-1 are moved 16 at a time, or 4. */
static bool set_bytes(struct trace_reader *r, struct probe_spec *spec, int64_t first, int64_t end) {
    if (first % 4 || end % 4 || end <= first || end - first > PROBE_SIM_MAX_BYTES)
        return scan_fail(
            r, "expected whole groups of 4 bytes, at most %d of them, the end not included",
            PROBE_MAX_MEMORY_BYTES);
    spec->begin_bytes = (uint32_t)first;
    spec->end_bytes = (uint32_t)end;
    spec->unit_bytes = first % 16 || end % 16 ? 4 : 16;
    return true;
}

static bool scan_shared(struct trace_reader *r, struct probe_spec *spec) {
    int64_t first, end;
    return scan_int_in(r, "the first byte", 0, 1 << 20, &first) && scan_need(r, "..") &&
           scan_int_in(r, "the byte behind the last", 0, 1 << 20, &end) &&
           set_bytes(r, spec, first, end);
}

/* BUFFER[i]...[first..end] */
static bool scan_elements(struct trace_reader *r, struct trace_probe *probe) {
    if (!scan_buffer(r, &probe->buffer))
        return false;
    const struct trace_buffer *b = &r->trace->buffers.items[probe->buffer];
    const uint64_t size = elem_info(b->type)->size_bytes;
    uint64_t at = 0;
    int64_t first = 0, end = 0;
    for (unsigned i = 0; i < b->rank; i++) {
        const int64_t high = (int64_t)b->dims[i];
        if (!scan_need(r, "[") || !scan_int_in(r, "an index", 0, high - 1, &first))
            return false;
        end = first + 1;
        if (i + 1 == b->rank && scan_take(r, "..") &&
            !scan_int_in(r, "the index behind the last", first + 1, high, &end))
            return false;
        if (!scan_need(r, "]"))
            return false;
        at += (uint64_t)first * b->strides[i];
    }
    if (b->strides[b->rank - 1] != 1)
        return scan_fail(r, "the elements of %s are not neighbours", b->name);
    const uint64_t bytes = (uint64_t)(end - first) * size,
                   misaligned = (b->offset + at * size) % 16;
    if ((at * size) % 4 || b->offset % 4)
        return scan_fail(r, "the first element does not lie at a multiple of 4 bytes");
    probe->global_offset_bytes = at * size;
    if (!set_bytes(r, &probe->spec, 0, (int64_t)bytes))
        return false;
    if (misaligned || b->align < 16)
        probe->spec.unit_bytes = 4;
    return true;
}

/* lanes A..B cols A..B, both ends included. */
static bool scan_tmem(struct trace_reader *r, struct probe_spec *spec) {
    uint32_t lane, column;
    bool given;
    if (!scan_take_word(r, "lanes") ||
        !scan_span(r, "a lane", 127, &spec->tmem_lane, &lane, &given))
        return scan_expected(r, "lanes A..B cols A..B");
    if (!scan_take_word(r, "cols") ||
        !scan_span(r, "a column", 511, &spec->tmem_column, &column, &given))
        return scan_expected(r, "cols A..B");
    spec->tmem_lanes = lane - spec->tmem_lane + 1;
    spec->tmem_columns = column - spec->tmem_column + 1;
    return true;
}

static bool scan_kind(struct trace_reader *r, struct trace_probe *probe) {
    if (scan_take_word(r, "event")) {
        probe->spec.kind = PROBE_EVENT;
        return scan_event(r, probe);
    }
    if (scan_take_word(r, "regs")) {
        probe->spec.kind = PROBE_REGS;
        return scan_registers(r, &probe->spec);
    }
    if (scan_take_word(r, "smem")) {
        probe->spec.kind = PROBE_SHARED;
        return scan_shared(r, &probe->spec);
    }
    if (scan_take_word(r, "global")) {
        probe->spec.kind = PROBE_GLOBAL;
        return scan_elements(r, probe);
    }
    if (scan_take_word(r, "tmem")) {
        probe->spec.kind = PROBE_TMEM;
        return scan_tmem(r, &probe->spec);
    }
    return scan_expected(r, "event, regs, smem, global or tmem");
}

/* MODULE:LINE, LABEL, LABEL#N or FILE:LINE of a .loc. */
static bool scan_at(struct trace_reader *r, struct trace_probe *probe) {
    const char *word;
    char *end;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, "a place (MODULE:LINE, LABEL#N, FILE:LINE)", &word))
        return false;
    const char *colon = strrchr(word, ':'), *hash = strrchr(word, '#');
    const char *sign = colon ? colon : hash;
    probe->at.name =
        arena_strndup(&r->trace->arena, word, sign ? (size_t)(sign - word) : strlen(word));
    probe->at.kind = colon ? PLACE_SOURCE : PLACE_LABEL;
    probe->at.number = 1;
    if (!probe->at.name)
        return scan_fail(r, "no memory left");
    if (sign) {
        probe->at.number = (uint32_t)strtoul(sign + 1, &end, 10);
        if (end == sign + 1 || *end || !probe->at.number)
            return scan_fail_at(r, &place, EXIT_USAGE,
                                "expected a place (MODULE:LINE, LABEL#N, FILE:LINE), found '%s'",
                                word);
    }
    if (colon && trace_find_module(r->trace, probe->at.name) >= 0)
        probe->at.kind = PLACE_LINE;
    return true;
}

static bool scan_when(struct trace_reader *r, struct probe_spec *spec) {
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    static const enum probe_compare compares[] = {PROBE_EQ, PROBE_NE, PROBE_LE,
                                                  PROBE_GE, PROBE_LT, PROBE_GT};
    if (!scan_register(r, &spec->when_reg))
        return false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (scan_take(r, signs[i])) {
            spec->when_compare = compares[i];
            return scan_int_in(r, "the value", INT32_MIN, UINT32_MAX, &spec->when_value);
        }
    return scan_expected(r, "== != < <= > or >=");
}

static bool scan_count(struct trace_reader *r, const char *what, int64_t low, uint32_t *count) {
    int64_t value;
    if (!scan_int_in(r, what, low, MAX_KEEP, &value))
        return false;
    *count = (uint32_t)value;
    return true;
}

static bool scan_keys(struct trace_reader *r, struct probe_spec *spec) {
    do {
        if (spec->key_count == PROBE_MAX_KEYS)
            return scan_fail(r, "more than %d registers make a key", PROBE_MAX_KEYS);
        if (!scan_register(r, &spec->keys[spec->key_count++]))
            return false;
    } while (!at_clause(r));
    return true;
}

static bool scan_clause(struct trace_reader *r, struct trace_probe *probe) {
    struct probe_spec *spec = &probe->spec;
    scan_take_word(r, "by");
    if (scan_take_word(r, "at"))
        return scan_at(r, probe);
    if (scan_take_word(r, "in")) {
        const char *name;
        if (!scan_name(r, "a module", &name))
            return false;
        probe->module = trace_find_module(r->trace, name);
        return probe->module >= 0 || scan_fail(r, "there is no module '%s'", name);
    }
    if (scan_take_word(r, "cta"))
        return scan_span(r, "a CTA", UINT32_MAX - 1, &probe->cta[0], &probe->cta[1],
                         &probe->has_cta);
    if (scan_take_word(r, "warp"))
        return scan_span(r, "a warp", 31, &probe->warp[0], &probe->warp[1], &probe->has_warp);
    if (scan_take_word(r, "lane"))
        return scan_span(r, "a lane", 31, &probe->lane[0], &probe->lane[1], &probe->has_lane);
    if (scan_take_word(r, "when"))
        return scan_when(r, spec);
    if (scan_take_word(r, "key"))
        return scan_keys(r, spec);
    if (scan_take_word(r, "skip"))
        return scan_count(r, "the hits left out", 0, &spec->skip);
    if (scan_peek_word(r, "keep") || scan_peek_word(r, "last")) {
        if (probe->bounded)
            return scan_fail(r, "one of keep and last is enough");
        spec->last = scan_take_word(r, "last");
        probe->bounded = spec->last || scan_take_word(r, "keep");
        return scan_count(r, "the hits kept", 1, &spec->keep);
    }
    if (scan_take(r, "[sim]"))
        return spec->sim = true;
    return scan_expected(r,
                         "at, in, cta, warp, lane, when, key, skip, keep, last, [sim] or the end");
}

/* Bounds that hold for what a kernel writes down itself, and for what a record can hold. */
static bool check_bounds(struct trace_reader *r, const struct trace_probe *probe) {
    const struct probe_spec *spec = &probe->spec;
    const uint32_t bytes = spec->end_bytes - spec->begin_bytes,
                   turn = spec->unit_bytes * spec->lanes;
    if (!spec->sim && spec->tmem_columns > PROBE_MAX_COLUMNS)
        return scan_fail(r, "more than %d columns", PROBE_MAX_COLUMNS);
    if (!spec->sim && bytes > PROBE_MAX_MEMORY_BYTES)
        return scan_fail(r, "more than %d bytes", PROBE_MAX_MEMORY_BYTES);
    if (turn && (bytes + turn - 1) / turn * (spec->unit_bytes / 4) > STREAM_MAX_VALUES)
        return scan_fail(r, "more than %d bytes for one lane: let more lanes read",
                         4 * STREAM_MAX_VALUES);
    return true;
}

/* On the simulator a warp reads Tensor Memory as it reads other memory. */
static void set_sim_tmem(struct probe_spec *spec) {
    spec->unit_bytes = 4 * spec->tmem_columns;
    spec->end_bytes = spec->unit_bytes * spec->tmem_lanes;
}

bool statement_probe(struct trace_reader *r, const struct trace_place *place) {
    struct trace_probe probe = {.place = *place, .module = -1, .spec.keep = DEFAULT_KEEP};
    if (!scan_name(r, "the probe's name", &probe.name))
        return false;
    for (uint32_t i = 0; i < r->trace->probes.count; i++)
        if (!strcmp(r->trace->probes.items[i].name, probe.name))
            return scan_fail_at(r, place, EXIT_USAGE, "the name '%s' is taken", probe.name);
    if (!scan_kind(r, &probe))
        return false;
    while (!scan_at_end(r))
        if (!scan_clause(r, &probe))
            return false;
    if (probe.spec.kind != PROBE_EVENT && !probe.at.kind)
        return scan_expected(r, "at and a place");
    const bool sim_tmem = probe.spec.kind == PROBE_TMEM && probe.spec.sim;
    const bool memory =
        probe.spec.kind == PROBE_SHARED || probe.spec.kind == PROBE_GLOBAL || sim_tmem;
    if (memory && !probe.has_warp)
        probe.has_warp = true; /* warp 0 */
    if (memory && probe.warp[0] != probe.warp[1])
        return scan_fail_at(r, place, EXIT_USAGE, "one warp reads memory, not several");
    if (!probe.has_lane)
        probe.lane[1] = 31;
    /* Any CTA may come by what the key names. */
    if (probe.spec.key_count && !probe.has_cta) {
        probe.has_cta = true;
        probe.cta[1] = UINT32_MAX - 1;
    }
    probe.spec.first_lane = probe.lane[0];
    probe.spec.lanes = probe.lane[1] - probe.lane[0] + 1;
    if (sim_tmem)
        set_sim_tmem(&probe.spec);
    if (!check_bounds(r, &probe))
        return false;
    if (r->trace->probes.count == PROBE_MAX_PROBES)
        return scan_fail_at(r, place, EXIT_USAGE, "more than %d probes", PROBE_MAX_PROBES);
    struct trace_probe *added = TRACE_ADD(r, r->trace->probes);
    if (!added)
        return false;
    *added = probe;
    return true;
}
