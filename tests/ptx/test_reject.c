#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* tests/reject/X.ptx: text that must be refused. Its head comment holds one or more lines
 *     // expect: 12:5: error: part of the message
 * and every error of the text must be expected. */

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    cr_assert_eq(fread(text, 1, *length, file), *length);
    text[*length] = 0;
    fclose(file);
    return text;
}

static unsigned count(const char *text, const char *part) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

/* Whether a message of the log stands at that place and holds the text. */
static bool has_message(const char *log, const char *place, const char *text) {
    for (const char *at = log; (at = strstr(at, place)) != NULL; at++) {
        char line[1000];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (strstr(line + strlen(place), text) != NULL)
            return true;
    }
    return false;
}

static void check(const char *name) {
    char path[600], wanted[400], place[400];
    size_t length;
    snprintf(path, sizeof path, "%s/tests/reject/%s", SILTWIN_ROOT, name);
    char *text = read_file(path, &length);
    struct arena arena = {0};
    struct strbuf log = {0};
    struct ir_module *module = NULL;
    struct ptx_source source = {name, text, length};
    enum status status = ptx_parse(&arena, &source, &module, &log);
    const char *printed = strbuf_text(&log);
    cr_expect(status == STATUS_SYNTAX || status == STATUS_UNSUPPORTED, "%s is accepted", name);
    cr_expect_null(module);
    unsigned expected = 0;
    for (const char *at = text; (at = strstr(at, "// expect: ")) != NULL; expected++) {
        at += strlen("// expect: ");
        const char *text_at = strstr(at, " error: ") + strlen(" error: ");
        snprintf(place, sizeof place, "%s:%.*s", name, (int)(text_at - at), at);
        snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(text_at, "\n"), text_at);
        cr_expect(has_message(printed, place, wanted), "wanted %s%s\ngot\n%s", place, wanted,
                  printed);
    }
    cr_expect_gt(expected, 0, "%s expects nothing", name);
    snprintf(place, sizeof place, "%s:", name);
    cr_expect_eq(count(printed, place), expected, "%s: other errors\n%s", name, printed);
    strbuf_free(&log);
    arena_free(&arena);
    free(text);
}

Test(reject, every_program_is_refused_as_it_says) {
    char path[500];
    snprintf(path, sizeof path, "%s/tests/reject", SILTWIN_ROOT);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    unsigned programs = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ptx") != 0)
            continue;
        check(entry->d_name);
        programs++;
    }
    closedir(folder);
    printf("%u programs refused\n", programs);
    cr_expect_geq(programs, 60);
}
