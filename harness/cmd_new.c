/* siltwin new K.ptx: a trace to start from. What the PTX text does not say is marked with ?. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "file_set.h"
#include "message.h"
#include "ptx.h"

enum { OPT_HELP = 256 };

static const char help[] =
    "usage: siltwin new K.ptx\n\n"
    "Writes a trace for the kernels of a PTX file to stdout: their parameters, block and cluster\n"
    "sizes as far as the text gives them. Every ? is for you to fill in.\n";

static bool is_map(const struct ir_symbol *param) {
    return param->size_bytes == 128 && param->align_bytes % 64 == 0;
}

/* Pointers are declared as 64-bit words; a word may as well be a number. */
static bool is_word64(const struct ir_symbol *param) {
    return param->size_bytes == 8;
}

static void print_params(const struct ir_module *ir, const struct ir_func *entry) {
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *param = &ir->symbols[entry->params[i].index];
        printf("#   %-24s .%s, %" PRIu64 " bytes at %" PRIu64 ", aligned to %u%s\n", param->name,
               ptx_type_text((enum ptx_type)param->type), param->size_bytes, param->offset_bytes,
               param->align_bytes,
               is_map(param)      ? ": a tensor map"
               : is_word64(param) ? ": a pointer or a 64-bit number"
                                  : "");
    }
}

/* Buffers and maps that the parameters may need, numbered over all entries. */
static void print_objects(const struct ir_module *ir, const struct ir_func *entry,
                          const char *prefix) {
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *param = &ir->symbols[entry->params[i].index];
        if (is_map(param))
            printf("tensormap %s_T%u of ? box [?] swizzle ?\n", prefix, i);
        else if (is_word64(param))
            printf("buffer    %s_P%u ? [?] ?\n", prefix, i);
    }
}

static uint64_t static_shared(const struct ir_module *ir, const struct ir_func *entry,
                              bool *dynamic) {
    uint64_t bytes = 0;
    *dynamic = false;
    for (uint32_t i = 0; i < ir->symbol_count; i++) {
        const struct ir_symbol *s = &ir->symbols[i];
        if (s->space != SPACE_SHARED || (s->func >= 0 && &ir->funcs[s->func] != entry))
            continue;
        if (s->is_extern)
            *dynamic = true;
        else
            bytes += s->size_bytes;
    }
    return bytes;
}

static void print_block(const struct ir_directives *d) {
    if (d->reqntid[0])
        printf("  block %u %u %u", d->reqntid[0], d->reqntid[1] ? d->reqntid[1] : 1,
               d->reqntid[2] ? d->reqntid[2] : 1);
    else
        printf("  block ?");
    if (d->reqnctapercluster[0])
        printf("  cluster %u %u %u", d->reqnctapercluster[0],
               d->reqnctapercluster[1] ? d->reqnctapercluster[1] : 1,
               d->reqnctapercluster[2] ? d->reqnctapercluster[2] : 1);
    else if (d->explicitcluster)
        printf("  cluster ?");
}

static void print_entry(const struct ir_module *ir, const struct ir_func *entry) {
    bool dynamic;
    const uint64_t shared = static_shared(ir, entry, &dynamic);
    printf("\n# %s, line %u: %u parameters in %u bytes", entry->name, entry->line,
           entry->param_count, entry->param_bytes);
    if (entry->directives.maxntid[0])
        printf("; .maxntid %u %u %u", entry->directives.maxntid[0], entry->directives.maxntid[1],
               entry->directives.maxntid[2]);
    printf("; %" PRIu64 " bytes of static shared memory%s\n", shared,
           dynamic ? ", and dynamic shared memory" : "");
    print_params(ir, entry);
    print_objects(ir, entry, entry->name);
    printf("launch    k.%s  grid ?", entry->name);
    print_block(&entry->directives);
    if (dynamic)
        printf("  smem ?");
    if (entry->param_count)
        printf("  args");
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *param = &ir->symbols[entry->params[i].index];
        if (is_map(param))
            printf(" %s_T%u", entry->name, i);
        else if (is_word64(param))
            printf(" &%s_P%u", entry->name, i);
        else
            printf(" ?");
    }
    printf("\nexpect    ? == ?\n");
}

static void print_trace(const struct ir_module *ir, const char *path) {
    char target[16];
    snprintf(target, sizeof target, "sm_%u", ir->target);
    if (ir->target_suffix)
        snprintf(target, sizeof target, "sm_%u%c", ir->target, ir->target_suffix);
    printf("# Every ? is to be filled in; the trace language is described in traces/README.md.\n"
           "siltwin   1\n"
           "device    %s\n"
           "module    k %s\n",
           ir->target >= 100 ? "b200" : "h200", path);
    printf("# .target %s, .version %u.%u\n", target, ir->version / 10u, ir->version % 10u);
    for (uint32_t i = 0; i < ir->symbol_count; i++) {
        const struct ir_symbol *s = &ir->symbols[i];
        if (s->func < 0 && (s->space == SPACE_GLOBAL || s->space == SPACE_CONST) && !s->init)
            printf("global    k.%s = ?   # %" PRIu64 " bytes\n", s->name, s->size_bytes);
    }
    for (uint32_t i = 0; i < ir->func_count; i++)
        if (ir->funcs[i].is_entry)
            print_entry(ir, &ir->funcs[i]);
}

static int make(const char *path) {
    struct strbuf error = {0}, log = {0};
    struct arena arena = {0};
    struct ir_module *ir = NULL;
    uint8_t *bytes = NULL;
    size_t size;
    int status = EXIT_USAGE;
    if (file_read(path, &bytes, &size, &error) != STATUS_OK) {
        message_error("%s", strbuf_text(&error));
        strbuf_free(&error);
        return status;
    }
    const struct ptx_source source = {path, (const char *)bytes, size};
    const enum status parsed = ptx_parse(&arena, &source, &ir, &log);
    if (parsed == STATUS_OK) {
        print_trace(ir, path);
        status = EXIT_AS_EXPECTED;
    } else {
        message_text(strbuf_text(&log));
        if (parsed == STATUS_UNSUPPORTED)
            status = EXIT_NO_VERDICT;
    }
    strbuf_free(&error);
    strbuf_free(&log);
    arena_free(&arena);
    free(bytes);
    return status;
}

int cmd_new(int argc, char **argv) {
    static const struct option options[] = {{"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option != OPT_HELP && option != 'h') {
            message_option(option, argv);
            return EXIT_USAGE;
        }
        fputs(help, stdout);
        return EXIT_AS_EXPECTED;
    }
    if (argc - optind != 1) {
        message_error("new expects one PTX file");
        return EXIT_USAGE;
    }
    return make(argv[optind]);
}
