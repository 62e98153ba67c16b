/* The head comment of a program of tests/isa: one statement a line, ended by the first line that is
 * no comment. See README.md for the words. */
#include "isa_program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bytes;
} ELEMS[ISA_ELEM_COUNT] = {{"u8", 1},  {"u16", 2}, {"u32", 4}, {"u64", 8}, {"s8", 1},
                           {"s16", 2}, {"s32", 4}, {"s64", 8}, {"f32", 4}, {"f64", 8}};

static const char *const MAP_TYPES[] = {"u8",  "u16", "u32", "s32",  "u64", "s64",
                                        "f16", "f32", "f64", "bf16", NULL};

unsigned isa_elem_bytes(enum isa_elem elem) {
    return ELEMS[elem].bytes;
}

const char *isa_elem_name(enum isa_elem elem) {
    return ELEMS[elem].name;
}

static bool append(struct isa_values *values, uint64_t bits, bool any) {
    if ((values->count & (values->count - 1)) == 0) {
        size_t room = values->count ? 2 * values->count : 1;
        uint64_t *more_bits = realloc(values->bits, room * sizeof *more_bits);
        if (more_bits != NULL)
            values->bits = more_bits;
        bool *more_any = realloc(values->any, room * sizeof *more_any);
        if (more_any != NULL)
            values->any = more_any;
        if (more_bits == NULL || more_any == NULL)
            return false;
    }
    values->bits[values->count] = bits;
    values->any[values->count++] = any;
    return true;
}

void isa_values_free(struct isa_values *values) {
    free(values->bits);
    free(values->any);
    *values = (struct isa_values){0};
}

/* One number; 0x... gives the bits of a floating-point element too. */
static bool parse_number(const char *word, char **end, enum isa_elem elem, uint64_t *bits) {
    bool hex = strncmp(word, "0x", 2) == 0;
    if ((elem == ISA_F32 || elem == ISA_F64) && !hex) {
        double number = strtod(word, end);
        float narrow = (float)number;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        memcpy(bits, &number, sizeof *bits);
        if (elem == ISA_F32)
            *bits = narrow_bits;
        return *end != word;
    }
    *bits = word[0] == '-' ? (uint64_t)strtoll(word, end, 0) : strtoull(word, end, hex ? 16 : 10);
    if (ELEMS[elem].bytes < 8)
        *bits &= (UINT64_C(1) << 8 * ELEMS[elem].bytes) - 1;
    return *end != word;
}

/* FIRST..LAST and FIRST..LAST/STEP, of integers. */
static bool parse_range(struct isa_values *values, uint64_t first, char *rest, char **end) {
    uint64_t last = strtoull(rest, end, 0), step = 1;
    if (*end == rest)
        return false;
    if (**end == '/') {
        rest = *end + 1;
        step = strtoull(rest, end, 0);
    }
    if (step == 0 || last < first || (last - first) / step > 65536)
        return false;
    for (uint64_t value = first; value <= last; value += step)
        if (!append(values, value, false))
            return false;
    return true;
}

static bool parse_value(struct isa_values *values, enum isa_elem elem, const char *word) {
    uint64_t bits = 0, times = 1;
    char *end = (char *)word + 1;
    bool any = word[0] == '?';
    if (!any && !parse_number(word, &end, elem, &bits))
        return false;
    if (!any && strncmp(end, "..", 2) == 0)
        return parse_range(values, bits, end + 2, &end) && *end == '\0';
    if (*end == '*') {
        const char *count = end + 1;
        times = strtoull(count, &end, 0);
        if (end == count || times > 65536)
            return false;
    }
    for (uint64_t i = 0; i < times; i++)
        if (!append(values, bits, any))
            return false;
    return *end == '\0';
}

bool isa_values_parse(struct isa_values *values, enum isa_elem elem, const char *words) {
    char word[64];
    for (const char *p = words + strspn(words, " "); *p != '\0'; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        if (length >= sizeof word)
            return false;
        memcpy(word, p, length);
        word[length] = '\0';
        if (!parse_value(values, elem, word))
            return false;
        p += length;
    }
    return true;
}

/* Takes the next word off *rest. */
static char *next_word(char **rest) {
    char *word = *rest + strspn(*rest, " ");
    size_t length = strcspn(word, " ");
    *rest = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

static const char *read_sizes(unsigned sizes[3], char *rest) {
    for (unsigned i = 0; i < 3; i++) {
        char *word = next_word(&rest), *end;
        sizes[i] = *word ? (unsigned)strtoul(word, &end, 10) : 1;
        if (sizes[i] == 0 || (*word && *end))
            return "one to three sizes are expected";
    }
    return NULL;
}

/* TYPE, and TYPE~N for a bound of N units in the last place. */
static const char *read_elem(struct isa_param *param, char **rest) {
    char *word = next_word(rest), *bound = strchr(word, '~');
    if (bound != NULL) {
        *bound = '\0';
        param->ulps = (unsigned)strtoul(bound + 1, NULL, 10);
    }
    for (param->elem = 0; param->elem < ISA_ELEM_COUNT; param->elem++)
        if (strcmp(word, ELEMS[param->elem].name) == 0)
            return NULL;
    return "a type is expected: u8 u16 u32 u64 s8 s16 s32 s64 f32 f64";
}

static const char *read_data(struct isa_param *param, char *rest) {
    const char *trouble = read_elem(param, &rest);
    if (trouble != NULL)
        return trouble;
    char *arrow = strstr(rest, "->");
    if (param->kind == ISA_INOUT && arrow == NULL)
        return "values before, ->, values after";
    if (param->kind == ISA_INOUT)
        *arrow = '\0';
    struct isa_values *first = param->kind == ISA_OUT ? &param->after : &param->before;
    if (!isa_values_parse(first, param->elem, rest) || first->count == 0)
        return "values are expected: V, V*TIMES, FIRST..LAST, FIRST..LAST/STEP, ?";
    if (param->kind == ISA_INOUT && (!isa_values_parse(&param->after, param->elem, arrow + 2) ||
                                     param->after.count != first->count))
        return "as many values behind -> as before it";
    return NULL;
}

/* Puts a number into the list that the word before it names; false where there is no room. */
static bool put_in_map(struct isa_map *map, const char *list, const char *word,
                       unsigned counts[5]) {
    enum { STRIDE, BOX, LOWER, UPPER };
    long long value = strtoll(word, NULL, 0);
    if (strcmp(list, "dim") == 0 && map->rank < 5)
        map->dim[map->rank++] = (uint64_t)value;
    else if (strcmp(list, "stride") == 0 && counts[STRIDE] < 4)
        map->stride_bytes[counts[STRIDE]++] = (uint64_t)value;
    else if (strcmp(list, "box") == 0 && counts[BOX] < 5)
        map->box[counts[BOX]++] = (uint32_t)value;
    else if (strcmp(list, "lower") == 0 && counts[LOWER] < 3)
        map->lower[counts[LOWER]++] = (int)value;
    else if (strcmp(list, "upper") == 0 && counts[UPPER] < 3)
        map->upper[counts[UPPER]++] = (int)value;
    else if (strcmp(list, "channels") == 0)
        map->channels = (uint32_t)value;
    else if (strcmp(list, "pixels") == 0)
        map->pixels = (uint32_t)value;
    else if (strcmp(list, "swizzle") == 0)
        map->swizzle = (unsigned)value;
    else if (strcmp(list, "of") == 0)
        map->of = (unsigned)value;
    else
        return false;
    return true;
}

/* TYPE dim D.. stride S.. box B.. swizzle 0..3 of BUFFER: numbers go to the list of the last word.
 * lower L.. upper U.. channels C pixels P in place of the box: an im2col map. */
static const char *read_map(struct isa_map *map, char *rest) {
    const char *type = next_word(&rest);
    while (MAP_TYPES[map->type] != NULL && strcmp(MAP_TYPES[map->type], type) != 0)
        map->type++;
    if (MAP_TYPES[map->type] == NULL)
        return "a type of tensor map elements is expected";
    unsigned counts[5] = {0};
    const char *list = "";
    for (char *word = next_word(&rest); *word; word = next_word(&rest)) {
        if (isalpha((unsigned char)word[0]))
            list = word;
        else if (!put_in_map(map, list, word, counts))
            return "a tensor map has dim, stride, box, swizzle, of; or lower, upper, channels, "
                   "pixels for the box";
    }
    bool good = map->channels == 0
                    ? map->rank == counts[1]
                    : counts[1] == 0 && map->rank == counts[2] + 2 && counts[3] == counts[2];
    return good && map->rank == counts[0] + 1 ? NULL : "dim, stride and box or corners disagree";
}

static const char *read_param(struct isa_program *program, enum isa_param_kind kind, char *rest) {
    if (program->param_count == ISA_PARAMS_MAX)
        return "too many parameters";
    struct isa_param *param = &program->params[program->param_count++];
    param->kind = kind;
    return kind == ISA_MAP ? read_map(&param->map, rest) : read_data(param, rest);
}

static const char *read_rows(struct isa_program *program, const char *rest) {
    if (program->text_rows != NULL)
        return "rows stands twice";
    char *words = program->text_rows = strdup(rest);
    if (words == NULL)
        return "no memory";
    for (char *word = next_word(&words); *word; word = next_word(&words)) {
        if (program->row_count == ISA_ROWS_MAX)
            return "too many rows";
        program->rows[program->row_count++] = word;
    }
    return NULL;
}

static const char *read_statement(struct isa_program *program, char *line) {
    char *rest = line;
    const char *word = next_word(&rest);
    if (strcmp(word, "grid:") == 0)
        return read_sizes(program->grid, rest);
    if (strcmp(word, "block:") == 0)
        return read_sizes(program->block, rest);
    if (strcmp(word, "smem:") == 0)
        return sscanf(rest, "%u", &program->smem_bytes) == 1 ? NULL : "bytes are expected";
    if (strcmp(word, "fails:") == 0)
        return sscanf(rest, "%d", &program->fails) == 1 ? NULL : "a CUresult is expected";
    if (strcmp(word, "rows:") == 0)
        return read_rows(program, rest);
    static const char *const KINDS[] = {"in:", "out:", "inout:", "map:", "arg:"};
    for (unsigned kind = 0; kind < sizeof KINDS / sizeof KINDS[0]; kind++)
        if (strcmp(word, KINDS[kind]) == 0)
            return read_param(program, (enum isa_param_kind)kind, rest);
    return word[0] == '#' ? NULL : "unknown word";
}

/* One statement, with the "// +:" lines behind it. Returns what follows. */
static char *take_statement(char *text, char *line, size_t room, unsigned *lines) {
    static const char MORE[] = "// +:";
    size_t used = 0;
    bool more = false;
    do {
        text += more ? sizeof MORE - 1 : 2;
        size_t length = strcspn(text, "\n");
        size_t part = length < room - used - 1 ? length : room - used - 1;
        memcpy(line + used, text, part);
        used += part;
        text += length + (text[length] == '\n');
        ++*lines;
        more = strncmp(text, MORE, sizeof MORE - 1) == 0;
    } while (more);
    line[used] = '\0';
    return text;
}

static const char *read_head(struct isa_program *program, unsigned *at) {
    enum { LINE_BYTES = 65536 };
    char *line = malloc(LINE_BYTES);
    const char *trouble = line == NULL ? "no memory" : NULL;
    unsigned next = 1;
    for (char *p = program->text; trouble == NULL && strncmp(p, "//", 2) == 0;) {
        *at = next;
        p = take_statement(p, line, LINE_BYTES, &next);
        trouble = read_statement(program, line);
    }
    free(line);
    for (unsigned i = 0; trouble == NULL && i < program->param_count; i++)
        if (program->params[i].kind == ISA_MAP &&
            (program->params[i].map.of >= i ||
             program->params[program->params[i].map.of].kind == ISA_MAP))
            trouble = "a tensor map is of a parameter before it";
    return trouble;
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 1);
    if (text != NULL)
        text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

bool isa_program_read(const char *path, struct isa_program *program, char *error,
                      size_t error_bytes) {
    *program = (struct isa_program){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    const char *base = strrchr(path, '/');
    snprintf(program->name, sizeof program->name, "%s", base ? base + 1 : path);
    char *ending = strrchr(program->name, '.');
    if (ending != NULL)
        *ending = '\0';
    program->text = read_file(path);
    if (program->text == NULL) {
        snprintf(error, error_bytes, "%s: cannot be read", path);
        return false;
    }
    unsigned line = 1;
    const char *trouble = read_head(program, &line);
    const char *entry = strstr(program->text, ".entry ");
    if (entry != NULL)
        sscanf(entry + 7, " %63[A-Za-z0-9_$]", program->entry);
    const char *target = strstr(program->text, ".target sm_");
    char suffix = 0;
    if (target != NULL)
        sscanf(target, ".target sm_%u%c", &program->sm, &suffix);
    program->exactly_sm = suffix == 'a';
    if (trouble == NULL && program->entry[0] == '\0')
        trouble = "no .entry";
    if (trouble == NULL && program->sm != 90 && program->sm != 100)
        trouble = "its .target is neither sm_90 nor sm_100";
    if (trouble != NULL)
        snprintf(error, error_bytes, "%s:%u: %s", path, line, trouble);
    return trouble == NULL;
}

void isa_program_free(struct isa_program *program) {
    for (unsigned i = 0; i < program->param_count; i++) {
        isa_values_free(&program->params[i].before);
        isa_values_free(&program->params[i].after);
    }
    free(program->text_rows);
    free(program->text);
    *program = (struct isa_program){0};
}
