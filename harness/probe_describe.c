/* The description of a stream: of each probed instruction where it stands, its text, the values
 * that are recorded. */
#include <inttypes.h>
#include <string.h>

#include "probe_events.h"
#include "probe_flow.h"

static json_t *sources_json(uint32_t set) {
    json_t *list = json_array();
    for (int why = 1; why < PROBE_WHY_COUNT; why++)
        if (set >> why & 1)
            json_array_append_new(list, json_string(probe_why_word((enum probe_why)why)));
    return list;
}

static json_t *value_json(const struct probe_value *value, const char *buffer) {
    json_t *json =
        json_pack("{s:s, s:s}", "name", buffer && value->role == PROBE_BYTES ? buffer : value->name,
                  "type", ptx_type_text((enum ptx_type)value->type));
    if (value->constant)
        json_object_set_new(json, "bits", json_sprintf("0x%" PRIx64, value->bits));
    else
        json_object_set_new(json, "offset", json_integer(value->offset_bytes));
    if (value->role == PROBE_ADDRESS || value->role == PROBE_MAP)
        json_object_set_new(json, "role", json_string("address"));
    if (value->role == PROBE_BYTES)
        json_object_set_new(json, "role", json_string("bytes"));
    if (value->output)
        json_object_set_new(json, "output", json_true());
    if (value->key)
        json_object_set_new(json, "key", json_true());
    if (value->why)
        json_object_set_new(json, "why", json_string(probe_why_word((enum probe_why)value->why)));
    if (value->from)
        json_object_set_new(json, "from", sources_json(value->from));
    if (value->from_line)
        json_object_set_new(json, "from_line", json_integer(value->from_line));
    if (value->approx)
        json_object_set_new(json, "approx", json_string(value->approx));
    return json;
}

void probe_insn_text(const struct ir_module *ir, const struct ir_insn *insn, struct strbuf *out) {
    enum { LIST_BYTES = 40, TEXT_BYTES = 200 };
    const char *at = ir->text, *end = ir->text + ir->text_length;
    for (uint32_t line = 1; line < insn->line && at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    bool blank = false;
    size_t list = 0; /* where a list in braces began, 0: in none */
    at = insn->column - 1 < end - at ? at + insn->column - 1 : end;
    for (; at < end && *at != ';' && out->length < TEXT_BYTES; at++) {
        const bool comment = *at == '/' && at + 1 < end && at[1] == '/';
        while (comment && at + 1 < end && at[1] != '\n')
            at++;
        if (comment || *at == ' ' || *at == '\n' || *at == '\t') {
            blank = true;
            continue;
        }
        const bool cut = list && out->length - list > LIST_BYTES;
        if (cut && *at != '}')
            continue;
        if (cut)
            strbuf_puts(out, "...");
        else if (blank)
            strbuf_puts(out, " ");
        blank = false;
        strbuf_append(out, at, 1);
        list = *at == '{' ? out->length : *at == '}' ? 0 : list;
    }
}

static json_t *text_json(const struct ir_module *ir, const struct ir_insn *insn) {
    struct strbuf text = {0};
    probe_insn_text(ir, insn, &text);
    json_t *json = json_string(strbuf_text(&text));
    strbuf_free(&text);
    return json ? json : json_string("");
}

static json_t *place_json(const struct probe_layout *layout, const struct probe_site *site) {
    static const char *const kinds[] = {"event", "regs", "smem", "global", "tmem"};
    const struct ir_func *func = &layout->plan->ir->funcs[site->func];
    const struct ir_insn *insn = &func->insns[site->insn];
    const struct trace_probe *probe = &layout->trace->probes.items[site->probe];
    const struct probe_spec *spec = &probe->spec;
    const char *buffer = spec->kind == PROBE_GLOBAL
                             ? layout->trace->buffers.items[probe->buffer].name
                         : spec->kind == PROBE_SHARED ? "smem"
                         : spec->unit_bytes           ? "tmem"
                                            : NULL; /* the values have names of their own */
    json_t *values = json_array();
    for (uint32_t i = 0; i < site->value_count; i++)
        json_array_append_new(values, value_json(&site->values[i], buffer));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:i, s:o}", "probe", probe->name, "kind",
        kinds[spec->kind], "module", layout->trace->modules.items[layout->launch->module].name,
        "file", layout->trace->modules.items[layout->launch->module].file->name, "entry",
        func->name, "line", (int)insn->line, "column", (int)insn->column, "text",
        text_json(layout->plan->ir, insn), "words",
        (int)((site->slot_bytes - PROBE_SLOT_HEAD_BYTES) / 8), "values", values);
    if (spec->unit_bytes) {
        json_object_set_new(
            json, "first_byte",
            json_integer((json_int_t)(spec->begin_bytes + probe->global_offset_bytes)));
        json_object_set_new(json, "bytes", json_integer(spec->end_bytes - spec->begin_bytes));
        json_object_set_new(json, "unit_bytes", json_integer(spec->unit_bytes));
        json_object_set_new(json, "first_lane", json_integer(spec->first_lane));
        json_object_set_new(json, "lanes", json_integer(spec->lanes));
    }
    if (spec->unit_bytes && spec->tmem_columns) {
        json_object_set_new(json, "tmem_lane", json_integer(spec->tmem_lane));
        json_object_set_new(json, "tmem_column", json_integer(spec->tmem_column));
    }
    return json;
}

static struct probe_given all_given(const struct probe_layout *layout) {
    struct probe_given all = {0};
    for (uint32_t f = 0; f < layout->plan->ir->func_count; f++)
        if (f == layout->func || !layout->plan->ir->funcs[f].is_entry) {
            const struct probe_given *given = &layout->plan->given[f];
            all.global |= given->global;
            all.others |= given->others;
            all.branches |= given->branches;
            all.between_ctas = all.between_ctas || given->between_ctas;
        }
    return all;
}

json_t *probe_describe(const struct probe_events *e) {
    const struct probe_layout *layout = &e->part->layout;
    json_t *places = json_array();
    for (uint32_t i = 0; i < layout->plan->site_count; i++)
        json_array_append_new(places, place_json(layout, &layout->plan->sites[i]));
    const struct probe_given given = all_given(layout);
    json_t *given_json =
        json_pack("{s:o, s:o, s:o}", "global", sources_json(given.global), "others",
                  sources_json(given.others), "branches", sources_json(given.branches));
    json_t *json =
        json_pack("{s:i, s:i, s:O, s:o, s:o, s:b, s:b}", "launch", (int)layout->launch->number,
                  "block", (int)layout->threads, "objects", e->objects, "places", places, "given",
                  given_json, "silent", !given.between_ctas, "overflow", e->threads_lost > 0);
    if (e->sim)
        json_object_set_new(json, "sim", json_true());
    return json;
}
