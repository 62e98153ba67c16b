/* How fast the front end is: the ladder's kernels, copied under new names until the text is large
 * enough, parsed and checked. Prints a `name value unit` line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx.h"

enum { COPIES = 120, NAME_EXTRA = 16 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        exit(2);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    if (text == NULL || fread(text, 1, *length, file) != *length)
        exit(2);
    text[*length] = '\0';
    fclose(file);
    return text;
}

/* The module's head once, then its entries again and again, each with a number behind its name. */
static char *many(const char *text, size_t length, size_t *out_length) {
    const char *body = strstr(text, ".visible .entry");
    char *out = malloc((length + NAME_EXTRA) * COPIES + length);
    if (body == NULL || out == NULL)
        exit(2);
    size_t used = (size_t)(body - text);
    memcpy(out, text, used);
    for (int copy = 0; copy < COPIES; copy++)
        for (const char *p = body; *p != '\0';) {
            size_t name =
                strncmp(p, ".visible .entry ", 16) == 0 ? 16 + strcspn(p + 16, "( \n") : 0;
            if (name > 0) {
                memcpy(out + used, p, name);
                used += name;
                used += (size_t)sprintf(out + used, "_%d", copy);
                p += name;
            } else {
                out[used++] = *p++;
            }
        }
    *out_length = used;
    return out;
}

int main(void) {
    size_t length, total = 0;
    char *text = read_file(SILTWIN_ROOT "/device/sm_100a/matmul_4_tma_store.ptx", &length);
    char *big = many(text, length, &total);
    double best = 1e30;
    for (int run = 0; run < 5; run++) {
        struct arena arena = {0};
        struct strbuf log = {0};
        struct ir_module *module;
        struct ptx_source source = {"bench.ptx", big, total};
        double start = now_s();
        enum status status = ptx_parse(&arena, &source, &module, &log);
        double took = now_s() - start;
        if (status != STATUS_OK) {
            fprintf(stderr, "%s\n", strbuf_text(&log));
            return 1;
        }
        best = took < best ? took : best;
        arena_free(&arena);
        strbuf_free(&log);
    }
    printf("ptx_parse %.1f MB/s\n", (double)total / 1e6 / best);
    free(big);
    free(text);
    return 0;
}
