#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* Every statement that was given to ptxas 13.0 (ptxas_forms.txt), parsed in the kernel it was
 * assembled in, for sm_90a and sm_100a. The parser must accept what ptxas accepts and refuse what
 * it refuses, except for the lines of ptxas_forms_exceptions.txt, each of which gives its reason
 * and must still be needed. A form that the parser refuses as not modelled is counted apart. */

static const char kernel_head[] =
    ".address_size 64\n"
    ".extern .shared .align 1024 .b8 dsm[];\n"
    ".visible .entry k(.param .align 64 .b8 tmap[128], .param .u64 gp, .param .u32 n)\n"
    ".reqntid 128\n{\n"
    ".reg .pred p, q, pd;\n.reg .b16 h<16>;\n.reg .b32 r<300>, sa, sb, ra;\n.reg .f32 f<300>;\n"
    ".reg .b64 d<32>, g, gen, st, tm, pol, desca, descb;\n.reg .f64 fd<8>;\n.reg .b128 x<4>;\n"
    ".shared .align 1024 .b8 sm[2048];\n.shared .align 8 .b64 bar;\n";

static enum status judge(const char *target, const char *statement, struct strbuf *log) {
    struct strbuf text = {0};
    struct arena arena = {0};
    struct ir_module *module = NULL;
    size_t length = strlen(statement);
    char last = statement[length - 1];
    bool closed = last == ':' || last == ';' || (last == '}' && statement[0] == '{');
    strbuf_printf(&text, ".version 9.0\n.target %s\n%s%s%s\nret;\n}\n", target, kernel_head,
                  statement, closed ? "" : ";");
    struct ptx_source source = {"form.ptx", text.text, text.length};
    enum status status = ptx_parse(&arena, &source, &module, log);
    strbuf_free(&text);
    arena_free(&arena);
    return status;
}

struct exception {
    char target[8];
    char statement[1200];
    char reason[300];
    bool needed;
};

struct tally {
    struct exception *exceptions;
    size_t exception_count;
    unsigned agree, not_modelled, excepted, disagree;
    struct {
        char opcode[40];
        unsigned count;
    } families[60]; /* that are not modelled, with their forms */
    unsigned family_count;
};

/* Counts a form under the first two words of its mnemonic. */
static void count_family(struct tally *t, const char *statement) {
    char opcode[40];
    size_t length = strcspn(statement, " ");
    const char *dot = memchr(statement, '.', length);
    if (dot != NULL)
        length = (size_t)(dot - statement) + 1 + strcspn(dot + 1, ". ");
    snprintf(opcode, sizeof opcode, "%.*s", (int)length, statement);
    unsigned i = 0;
    while (i < t->family_count && strcmp(t->families[i].opcode, opcode) != 0)
        i++;
    cr_assert_lt(i, 60);
    if (i == t->family_count)
        strcpy(t->families[t->family_count++].opcode, opcode);
    t->families[i].count++;
}

static FILE *open_data(const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%s/tests/ptx/%s", SILTWIN_ROOT, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    return file;
}

/* Lines "target | statement | reason". */
static void load_exceptions(struct tally *t) {
    char line[2000];
    FILE *file = open_data("ptxas_forms_exceptions.txt");
    t->exceptions = calloc(400, sizeof *t->exceptions);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        struct exception *e = &t->exceptions[t->exception_count++];
        cr_assert_leq(t->exception_count, 400);
        char *first = strstr(line, " | "), *last = strstr(first + 3, " | ");
        cr_assert(first != NULL && last != NULL, "%s", line);
        snprintf(e->target, sizeof e->target, "%.*s", (int)(first - line), line);
        snprintf(e->statement, sizeof e->statement, "%.*s", (int)(last - first - 3), first + 3);
        snprintf(e->reason, sizeof e->reason, "%.*s", (int)strcspn(last + 3, "\n"), last + 3);
        cr_assert_gt(strlen(e->reason), 10, "an exception without a reason: %s", line);
    }
    fclose(file);
}

static struct exception *find_exception(struct tally *t, const char *target,
                                        const char *statement) {
    for (size_t i = 0; i < t->exception_count; i++)
        if (strcmp(t->exceptions[i].target, target) == 0 &&
            strcmp(t->exceptions[i].statement, statement) == 0)
            return &t->exceptions[i];
    return NULL;
}

static void check(struct tally *t, char verdict, const char *target, const char *statement) {
    struct strbuf log = {0};
    if (verdict == '-')
        return;
    enum status status = judge(target, statement, &log);
    bool accepted = status == STATUS_OK;
    struct exception *e = find_exception(t, target, statement);
    if (status == STATUS_UNSUPPORTED && verdict == 'Y') {
        t->not_modelled++;
        count_family(t, statement);
    } else if (accepted == (verdict == 'Y')) {
        t->agree++;
    } else if (e != NULL) {
        e->needed = true;
        t->excepted++;
    } else {
        t->disagree++;
        printf("%s ptxas %c: %s\n%s\n", target, verdict, statement, strbuf_text(&log));
    }
    strbuf_free(&log);
}

static void check_file(struct tally *t) {
    char line[2000];
    FILE *file = open_data("ptxas_forms.txt");
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0)
            continue;
        check(t, line[0], "sm_90a", line + 3);
        check(t, line[1], "sm_100a", line + 3);
    }
    fclose(file);
}

/* {ld, st} x shapes x counts x {plain, packed}: all assemble for sm_100a. Returns the forms. */
static unsigned check_tmem_moves(struct tally *t) {
    static const struct {
        const char *shape;
        unsigned most, regs;
    } shapes[] = {{"32x32b", 128, 1},
                  {"16x64b", 128, 1},
                  {"16x32bx2", 128, 1},
                  {"16x128b", 64, 2},
                  {"16x256b", 32, 4}};
    unsigned forms = 0;
    for (unsigned kind = 0; kind < 4; kind++)
        for (unsigned s = 0; s < 5; s++)
            for (unsigned n = 1; n <= shapes[s].most; n *= 2, forms++) {
                bool store = kind & 1;
                struct strbuf regs = {0}, text = {0};
                for (unsigned i = 0; i < n * shapes[s].regs; i++)
                    strbuf_printf(&regs, "%sr%u", i == 0 ? "{" : ",", i + 1);
                strbuf_puts(&regs, "}");
                const char *split = s == 2 ? ", 16" : "";
                strbuf_printf(&text, "tcgen05.%s.sync.aligned.%s.x%u%s.b32 ", store ? "st" : "ld",
                              shapes[s].shape, n,
                              kind < 2 ? ""
                              : store  ? ".unpack::16b"
                                       : ".pack::16b");
                if (store)
                    strbuf_printf(&text, "[r0]%s, %s", split, regs.text);
                else
                    strbuf_printf(&text, "%s, [r0]%s", regs.text, split);
                check(t, 'Y', "sm_100a", text.text);
                strbuf_free(&regs);
                strbuf_free(&text);
            }
    return forms;
}

Test(ptxas_forms, agree_with_ptxas) {
    struct tally t = {0};
    load_exceptions(&t);
    check_file(&t);
    cr_expect_eq(check_tmem_moves(&t), 148);
    for (size_t i = 0; i < t.exception_count; i++)
        cr_expect(t.exceptions[i].needed, "no longer needed: %s | %s", t.exceptions[i].target,
                  t.exceptions[i].statement);
    printf("ptxas forms: %u agree, %u not modelled, %u excepted, %u disagree\n", t.agree,
           t.not_modelled, t.excepted, t.disagree);
    printf("not modelled:");
    for (unsigned i = 0; i < t.family_count; i++)
        printf(" %s %u", t.families[i].opcode, t.families[i].count);
    printf("\n");
    cr_expect_eq(t.disagree, 0);
    free(t.exceptions);
}
