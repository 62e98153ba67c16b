/* What a tool reads of a hang and of a fault: the fields of the finding in the document of --json.
 * Runs the built siltwin. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(hang_fields, .init = make_folder, .fini = remove_folder);

static int siltwin(const char *arguments) {
    return workdir_siltwin(&dir, arguments);
}

static void write_trace(const char *body, const char *more) {
    char text[2048];
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90a\n.address_size 64\n.file 1 \"k.cu\"\n"
             ".shared .align 8 .b64 full[2];\n.visible .entry k() {\n"
             ".reg .pred %%p; .reg .b32 %%t;\n%s\nret; }\n",
             body);
    workdir_write(&dir, "h.ptx", text);
    snprintf(text, sizeof text,
             "siltwin 1\ndevice h200\nmodule m h.ptx\nlaunch m.k grid 2 block 64\n%s", more);
    workdir_write(&dir, "h.trace", text);
}

/* The only finding of a run. */
static json_t *finding(int status) {
    cr_assert_eq(siltwin("run h.trace --json"), status, "%s%s", dir.output, dir.errors);
    json_t *document = json_loads(dir.output, 0, NULL);
    cr_assert(document, "%s", dir.output);
    cr_assert_eq(json_array_size(json_object_get(document, "findings")), 1, "%s", dir.output);
    json_t *found = json_incref(json_array_get(json_object_get(document, "findings"), 0));
    json_decref(document);
    return found;
}

static const char *word(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "(none)";
}

static long number(const json_t *json, const char *key) {
    cr_assert(json_is_integer(json_object_get(json, key)), "%s in\n%s", key, dir.output);
    return (long)json_integer_value(json_object_get(json, key));
}

static const char hanging[] = "mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0;\n"            /* 8 */
                              "@%p mbarrier.init.shared.b64 [full+8], 3; bar.sync 0;\n" /* 9 */
                              "@%p mbarrier.arrive.expect_tx.shared.b64 _, [full+8], 96;\n"
                              ".loc 1 41 0\n"
                              "L: mbarrier.try_wait.parity.shared.b64 %p, [full+8], 0;\n" /* 12 */
                              "@!%p bra L;\n";

Test(hang_fields, a_wait_for_an_mbarrier) {
    write_trace(hanging, "");
    json_t *f = finding(1);
    const json_t *numbers = json_object_get(f, "numbers");
    cr_expect_str_eq(word(f, "rule"), "launch.hang");
    cr_expect_str_eq(word(f, "level"), "error");
    cr_expect_str_eq(word(f, "ptx"), "h.ptx:12:4");
    cr_expect_str_eq(word(f, "src"), "k.cu:41");
    cr_expect_eq(number(f, "launch"), 1);
    cr_expect_eq(json_array_size(json_object_get(f, "cta")), 3);
    cr_expect_eq(number(f, "warp"), 0);
    cr_expect_str_eq(word(f, "lanes"), "0xffffffff");
    cr_expect_str_eq(word(f, "object"), "mbarrier full+8 (0x408)");
    cr_expect_str_eq(word(f, "scope"), "cta");
    cr_expect_eq(number(numbers, "phase"), 0);
    cr_expect_eq(number(numbers, "parity"), 0);
    cr_expect_eq(number(numbers, "pending_arrivals"), 2);
    cr_expect_eq(number(numbers, "expected_arrivals"), 3);
    cr_expect_eq(number(numbers, "pending_bytes"), 96);
    json_decref(f);
}

/* The first that stands still waits for the others of its CTA. */
Test(hang_fields, a_wait_at_a_barrier) {
    write_trace("mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n" /* 8 */
                "@%p bar.sync 3, 64;\n"                         /* 9 */
                "@!%p bar.sync 4, 64;\n",
                "");
    json_t *f = finding(1);
    cr_expect_str_eq(word(f, "ptx"), "h.ptx:9:5");
    cr_expect_str_eq(word(f, "object"), "barrier 3");
    cr_expect_str_eq(word(f, "scope"), "cta");
    cr_expect_str_eq(word(f, "src"), "(none)");
    cr_expect_not(json_object_get(f, "numbers"));
    json_decref(f);
}

Test(hang_fields, a_fault_has_its_source_too) {
    write_trace(".loc 1 7 0\ntrap;", "");
    json_t *f = finding(1);
    cr_expect_str_eq(word(f, "rule"), "launch.fault");
    cr_expect_str_eq(word(f, "ptx"), "h.ptx:9:1");
    cr_expect_str_eq(word(f, "src"), "k.cu:7");
    cr_expect_not(json_object_get(f, "object"));
    json_decref(f);
}

/* A trace may expect a hang at its line. */
Test(hang_fields, a_hang_that_is_expected) {
    write_trace(hanging, "expect launch 1 fails 702 at m:12\n");
    cr_assert_eq(siltwin("run h.trace"), 0, "%s", dir.errors);
    write_trace(hanging, "expect launch 1 fails 702 at m:13\n");
    cr_assert_eq(siltwin("run h.trace"), 1);
}
