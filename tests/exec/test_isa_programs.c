#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "launch.h"
#include "support.h"

/* Runs every program of tests/isa; its README.md describes the lines at their head. */

enum { MAX_BYTES = 1 << 16, MAX_PARAMS = 32 };

struct values {
    uint8_t bytes[MAX_BYTES];
    uint8_t compared[MAX_BYTES]; /* 0: a `?` */
    size_t size;
    unsigned width;
    char type;
};

struct param {
    enum { PARAM_OUT, PARAM_IN, PARAM_INOUT, PARAM_ARG } kind;
    struct values given, wanted;
    uint64_t address;
};

struct program {
    const char *name;
    char *text;
    uint32_t grid[3], block[3], smem;
    uint16_t sm;
    char fault[128];
    struct param *params[MAX_PARAMS];
    unsigned param_count;
};

static void bad_line(const struct program *p, const char *line) {
    fprintf(stderr, "%s: bad line: %s\n", p->name, line);
    abort();
}

static void add_value(const struct program *p, struct values *v, const char *word) {
    char *end = NULL;
    double number = v->type == 'f' ? strtod(word, &end) : 0;
    uint64_t bits = 0;
    if (strcmp(word, "?") == 0) {
        end = (char *)(uintptr_t)word + 1;
    } else if (v->type == 'f' && v->width == 4) {
        float narrow = (float)number;
        memcpy(&bits, &narrow, 4);
    } else if (v->type == 'f') {
        memcpy(&bits, &number, 8);
    } else if (word[0] == '-') {
        bits = (uint64_t)strtoll(word, &end, 0);
    } else {
        bits = strtoull(word, &end, 0);
    }
    unsigned long count = *end == '*' ? strtoul(end + 1, &end, 10) : 1;
    if (*end != 0 || end == word || v->size + count * v->width > MAX_BYTES)
        bad_line(p, word);
    for (; count > 0; count--, v->size += v->width) {
        memcpy(v->bytes + v->size, &bits, v->width);
        memset(v->compared + v->size, strcmp(word, "?") != 0, v->width);
    }
}

static void set_type(const struct program *p, struct values *v, const char *word) {
    v->type = word[0];
    v->width = (unsigned)atoi(word + 1) / 8;
    if (strchr("usf", v->type) == NULL || v->width == 0 || v->width > 8)
        bad_line(p, word);
}

/* Values of the line behind its type; -> changes from given to wanted ones. */
static void add_values(const struct program *p, struct param *param, bool typed, char *text) {
    struct values *v = param->kind == PARAM_OUT ? &param->wanted : &param->given;
    char *save = NULL;
    for (char *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (strcmp(word, "->") == 0) {
            v = &param->wanted;
        } else if (!typed) {
            set_type(p, &param->given, word);
            set_type(p, &param->wanted, word);
            typed = true;
        } else {
            add_value(p, v, word);
        }
    }
}

static void read_line(struct program *p, char *line) {
    static const char *const kinds[] = {"out:", "in:", "inout:", "arg:"};
    char *text = line + 2 + strspn(line + 2, " ");
    unsigned a = 1, b = 1, c = 1;
    for (unsigned kind = 0; kind < 4; kind++)
        if (strncmp(text, kinds[kind], strlen(kinds[kind])) == 0) {
            struct param *param = calloc(1, sizeof *param);
            param->kind = kind;
            p->params[p->param_count++] = param;
            add_values(p, param, false, text + strlen(kinds[kind]));
            return;
        }
    if (strncmp(text, "+:", 2) == 0 && p->param_count > 0)
        add_values(p, p->params[p->param_count - 1], true, text + 2);
    else if (sscanf(text, "block: %u %u %u", &a, &b, &c) > 0)
        memcpy(p->block, (uint32_t[]){a, b, c}, sizeof p->block);
    else if (sscanf(text, "grid: %u %u %u", &a, &b, &c) > 0)
        memcpy(p->grid, (uint32_t[]){a, b, c}, sizeof p->grid);
    else if (sscanf(text, "smem: %u", &a) == 1)
        p->smem = a;
    else if (sscanf(text, "sm: %u", &a) == 1)
        p->sm = (uint16_t)a;
    else if (sscanf(text, "fault: %127[^\n]", p->fault) != 1)
        bad_line(p, line);
}

static struct program *read_program(const char *path, const char *name) {
    struct program *p = calloc(1, sizeof *p);
    p->name = name;
    for (int i = 0; i < 3; i++)
        p->grid[i] = p->block[i] = 1;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    p->text = calloc(1, MAX_BYTES);
    size_t length = fread(p->text, 1, MAX_BYTES - 1, file);
    fclose(file);
    p->sm = strstr(p->text, ".target sm_100") != NULL ? 100 : 90;
    cr_assert_lt(length, MAX_BYTES - 1);
    for (const char *at = p->text; strncmp(at, "//", 2) == 0; at = strchr(at, '\n') + 1) {
        char line[4096];
        cr_assert_lt(strcspn(at, "\n"), sizeof line);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        read_line(p, line);
    }
    return p;
}

static void free_program(struct program *p) {
    for (unsigned i = 0; i < p->param_count; i++)
        free(p->params[i]);
    free(p->text);
    free(p);
}

/* Buffers and the parameter block. */
static void make_params(const struct program *p, const struct exec_kernel_info *info,
                        struct global_memory *memory, uint8_t *block) {
    cr_assert_eq(info->param_count, p->param_count, "%s: %u parameters, %u lines", p->name,
                 info->param_count, p->param_count);
    for (unsigned i = 0; i < p->param_count; i++) {
        struct param *param = p->params[i];
        const struct exec_param *slot = &info->params[i];
        if (param->kind == PARAM_ARG) {
            memcpy(block + slot->offset_bytes, param->given.bytes,
                   param->given.size < slot->size_bytes ? param->given.size : slot->size_bytes);
            continue;
        }
        size_t size =
            param->given.size > param->wanted.size ? param->given.size : param->wanted.size;
        param->address = global_memory_alloc(memory, size);
        memcpy(global_memory_host(memory, param->address, size), param->given.bytes, size);
        memcpy(block + slot->offset_bytes, &param->address, 8);
    }
}

static void check_outputs(const struct program *p, const struct global_memory *memory,
                          const char *policy) {
    for (unsigned i = 0; i < p->param_count; i++) {
        const struct param *param = p->params[i];
        const struct values *want = &param->wanted;
        for (size_t at = 0; at < want->size; at += want->width) {
            const uint8_t *found = global_memory_host(memory, param->address + at, want->width);
            uint64_t a = 0, b = 0;
            memcpy(&a, found, want->width);
            memcpy(&b, want->bytes + at, want->width);
            cr_expect(!want->compared[at] || a == b,
                      "%s (%s): parameter %u, value %zu: 0x%llx, expected 0x%llx", p->name, policy,
                      i, at / want->width, (unsigned long long)a, (unsigned long long)b);
        }
    }
}

static void run_policy(struct program *p, enum completion_policy policy, const char *policy_name,
                       bool seen[ISA_COUNT]) {
    struct exec_device device = {p->sm, 4, 232448, 1000000};
    struct global_memory *memory = global_memory_create(UINT64_C(1) << 32, 3);
    struct ptx_source source = {p->name, p->text, strlen(p->text)};
    struct exec_module *module = NULL;
    struct strbuf log = {0}, report = {0};
    enum status status = exec_module_load(memory, &device, &source, &module, &log);
    cr_expect_eq(status, STATUS_OK, "%s: %s", p->name, strbuf_text(&log));
    if (status == STATUS_OK) {
        const struct ir_module *ir = exec_module_ir(module);
        for (uint32_t f = 0; f < ir->func_count; f++)
            for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++)
                seen[ir->funcs[f].insns[i].form] = true;
        const struct exec_kernel *kernel = exec_module_kernel_at(module, 0);
        uint8_t block[MAX_PARAMS * 8] = {0};
        struct fault fault;
        make_params(p, exec_kernel_info(kernel), memory, block);
        struct exec_launch launch = {.kernel = kernel,
                                     .device = &device,
                                     .memory = memory,
                                     .cluster = {1, 1, 1},
                                     .dynamic_smem_bytes = p->smem,
                                     .params = block,
                                     .policy = policy,
                                     .policy_seed = 5,
                                     .pattern_seed = 11,
                                     .jobs = 1};
        memcpy(launch.grid, p->grid, sizeof launch.grid);
        memcpy(launch.block, p->block, sizeof launch.block);
        exec_run(&launch, &fault, &report);
        const char *text = fault_text(fault.kind);
        if (p->fault[0] == 0)
            cr_expect_eq(fault.kind, FAULT_NONE, "%s (%s): %s", p->name, policy_name,
                         strbuf_text(&report));
        else
            cr_expect(strncmp(text, p->fault, strlen(p->fault)) == 0, "%s (%s): %s, expected %s",
                      p->name, policy_name, text, p->fault);
        check_outputs(p, memory, policy_name);
    }
    exec_module_unload(module);
    global_memory_destroy(memory);
    strbuf_free(&log);
    strbuf_free(&report);
}

static int ends_with_ptx(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ptx") == 0;
}

Test(isa_programs, all_run) {
    static bool seen[ISA_COUNT];
    struct dirent **entries;
    int count = scandir(SILTWIN_ROOT "/tests/isa", &entries, ends_with_ptx, alphasort);
    cr_assert_gt(count, 0);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/isa/%s", SILTWIN_ROOT, entries[i]->d_name);
        struct program *p = read_program(path, entries[i]->d_name);
        run_policy(p, POLICY_EAGER, "eager", seen);
        run_policy(p, POLICY_LAZY, "lazy", seen);
        run_policy(p, POLICY_RANDOM, "random", seen);
        free_program(p);
        free(entries[i]);
    }
    free(entries);
    size_t rows = 0;
    for (unsigned form = 1; form < ISA_COUNT; form++)
        rows += seen[form];
    report_rows("tests/isa programs", (size_t)count);
    printf("%zu of %d rows of isa.def are in a program\n", rows, ISA_COUNT - 1);
}
