#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "decode_kinds.h"
#include "hash.h"

/* The field's meaning; the field must exist. */
static const char *meaning(const struct decode_report *report, const char *name) {
    for (size_t i = 0; i < report->field_count; i++)
        if (strcmp(report->fields[i].name, name) == 0)
            return report->fields[i].meaning;
    cr_assert_fail("no field %s", name);
    return "";
}

static bool says(const struct decode_report *report, const char *part) {
    for (size_t i = 0; i < report->line_count; i++)
        if (strstr(report->lines[i], part) != NULL)
            return true;
    return false;
}

static struct decode_smem_desc_options for_arch(enum smem_desc_arch arch, int major) {
    return (struct decode_smem_desc_options){.arch = arch,
                                             .arch_reason = "test",
                                             .major = major,
                                             .element = CANONICAL_16BIT,
                                             .element_name = "16-bit"};
}

Test(decode, smem_desc) {
    struct decode_report report = {0};
    struct decode_smem_desc_options options = for_arch(SMEM_DESC_SM100, CANONICAL_K);
    decode_smem_desc(&report, 0x4000404000010002, &options);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(report.value, "0x4000404000010002");
    cr_assert_eq(strncmp(meaning(&report, "start address"), "32 (0x20)", 9), 0);
    cr_assert_eq(strncmp(meaning(&report, "SBO"), "1024 bytes", 10), 0);
    cr_assert_not_null(strstr(meaning(&report, "swizzle"), "bits 6:4 are xored with bits 9:7"));
    cr_assert(says(&report, "atoms of 8 rows x 128 B (1024 B)"));
    cr_assert(says(&report, "field + 2"));
    cr_assert(says(&report, "32 B past the pattern's boundary"));
    cr_assert(says(&report, "row 1: its first 32 bytes are at 0xb0 and 0xa0"));
    cr_assert(!says(&report, "MN-major"));
    decode_free(&report);
}

Test(decode, smem_desc_problems) {
    struct decode_report report = {0};
    struct decode_smem_desc_options options = for_arch(SMEM_DESC_SM100, -1);
    decode_smem_desc(&report, 0x4000004000010000, &options);
    cr_assert_eq(report.problem_count, 1);
    cr_assert_str_eq(report.problems[0], smem_desc_error_text(SMEM_DESC_CONSTANT));
    decode_free(&report);
    report = (struct decode_report){0};
    options = for_arch(SMEM_DESC_SM100, CANONICAL_K); /* 128B_ATOM_32B is MN-major only */
    decode_smem_desc(&report, 0x2000404000010000, &options);
    cr_assert_eq(report.problem_count, 1);
    cr_assert_str_eq(report.problems[0], canonical_error_text(CANONICAL_K_ATOM_32B));
    decode_free(&report);
    report = (struct decode_report){0};
    options = for_arch(SMEM_DESC_SM90, -1);
    decode_smem_desc(&report, 0x4000004000010000, &options);
    cr_assert_eq(report.problem_count, 0);
    cr_assert(says(&report, "K-major") && says(&report, "MN-major"));
    decode_free(&report);
}

Test(decode, idesc) {
    struct decode_report report = {0};
    decode_idesc(&report, 0x04100490, INSTR_DESC_KIND_COUNT);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "A type"), "bf16");
    cr_assert_str_eq(meaning(&report, "M / 16"), "M = 64 rows of D");
    cr_assert(says(&report, "D (64 x 64, f32) (+)= A (64 x 16, bf16) * B (16 x 64, bf16)"));
    cr_assert(says(&report, "cta_group::1  yes") && says(&report, "layout F"));
    cr_assert(says(&report, "no: M must be 128 or 256 with cta_group::2"));
    cr_assert(says(&report, "well formed for f8f6f4"));
    decode_free(&report);
    report = (struct decode_report){0};
    decode_idesc(&report, 0x08200490, INSTR_DESC_TF32);
    cr_assert_eq(report.problem_count, 1);
    cr_assert_str_eq(report.problems[0], instr_desc_error_text(INSTR_DESC_A_TYPE));
    decode_free(&report);
    report = (struct decode_report){0};
    decode_idesc(&report, 0x02020490, INSTR_DESC_F16); /* M 32, N 8 */
    cr_assert_eq(report.problem_count, 1);
    decode_free(&report);
    report = (struct decode_report){0};
    decode_idesc(&report, 0x08A00480, INSTR_DESC_MXF4);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "scale type"), "ue8m0");
    decode_free(&report);
}

/* Tokens of H200 observations 12 and 26, the word of observation 33. */
Test(decode, token) {
    struct decode_report report = {0};
    decode_token(&report, 0xffffe80000000000);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_not_null(strstr(meaning(&report, "phase parity"), "parity 1"));
    cr_assert_eq(strncmp(meaning(&report, "-pending"), "3 arrivals", 10), 0);
    cr_assert_not_null(strstr(meaning(&report, "-tx-count"), "no bytes were owed"));
    decode_free(&report);
    report = (struct decode_report){0};
    decode_token(&report, 0x7ffffbfd00000000); /* 5136 bytes owed gave 3fd */
    cr_assert_str_eq(meaning(&report, "-tx-count"), "4097 to 6144 bytes were owed");
    decode_free(&report);
    report = (struct decode_report){0};
    decode_mbarrier_word(&report, 0x7fffebfe001ffff6);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "-pending"), "3 arrivals are missing in this phase");
    cr_assert_str_eq(meaning(&report, "-tx-count"), "4096 bytes are missing in this phase");
    cr_assert_str_eq(meaning(&report, "-expected"), "5 arrivals a phase");
    decode_free(&report);
    report = (struct decode_report){0};
    decode_mbarrier_word(&report, 0x1);
    cr_assert_eq(report.problem_count, 1);
    decode_free(&report);
}

/* Any word is explained or refused, and refused exactly when the unit refuses it. */
Test(decode, random_words) {
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t word = hash_mix64(i);
        if (i % 2 == 0) /* near a good descriptor */
            word = 0x4000404000010000 ^ (word & hash_mix64(~i) & hash_mix64(i << 32));
        struct decode_report report = {0};
        struct decode_smem_desc_options options =
            for_arch(i % 4 < 2 ? SMEM_DESC_SM100 : SMEM_DESC_SM90, -1);
        struct smem_desc desc;
        decode_smem_desc(&report, word, &options);
        cr_assert_eq(report.problem_count == 0,
                     smem_desc_decode(options.arch, word, &desc) == SMEM_DESC_OK);
        decode_free(&report);
        report = (struct decode_report){0};
        enum instr_desc_kind kind = (enum instr_desc_kind)(i % (INSTR_DESC_KIND_COUNT + 1));
        decode_idesc(&report, (uint32_t)word, kind);
        cr_assert_gt(report.field_count, 10);
        decode_free(&report);
        report = (struct decode_report){0};
        decode_token(&report, word);
        decode_free(&report);
        report = (struct decode_report){0};
        decode_mbarrier_word(&report, word);
        decode_free(&report);
    }
}

static const struct tmap map_of_a_tile = {
    .global_address = 0x7f0000000000,
    .type = TMAP_BFLOAT16,
    .rank = 2,
    .dim_elems = {1024, 256},
    .stride_bytes = {0, 2048},
    .box_elems = {64, 64},
    .element_stride = {1, 1},
    .swizzle = SWIZZLE_128B,
};

Test(decode, tensormap) {
    struct decode_report report = {0};
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(&map_of_a_tile, image);
    decode_tensormap(&report, image, TMAP_SM_100);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "element type"), "BFLOAT16, 16 bits");
    cr_assert_str_eq(meaning(&report, "dimension 1"), "256 elements, 2048 bytes apart");
    cr_assert_str_eq(meaning(&report, "box"), "64 x 64 elements, innermost first");
    cr_assert(says(&report, "One copy moves 64 rows of 128 B, 128 B apart"));
    cr_assert(says(&report, "counts 8192 bytes"));
    cr_assert(says(&report, "SBO 1024"));
    decode_free(&report);
    report = (struct decode_report){0};
    memset(image, 0, sizeof image);
    decode_tensormap(&report, image, TMAP_SM_100);
    cr_assert_eq(report.problem_count, 1);
    decode_free(&report);
}

/* An im2col map that an H200's driver wrote, and the same with interleave, where W is dimension 0.
 */
Test(decode, tensormap_im2col) {
    uint64_t words[16] = {0x700000010060, 0x30007a431,        0x6c00000009, 0,      0x200000005,
                          0x10000000b,    0x0700000b00000000, 0x9b02fdfeff, 0x1380, 0x100};
    struct decode_report report = {0};
    uint8_t image[TMAP_IMAGE_BYTES];
    memcpy(image, words, sizeof image);
    decode_tensormap(&report, image, TMAP_SM_90);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "element type"), "TFLOAT32_FTZ, 32 bits");
    cr_assert_str_eq(meaning(&report, "bounding box along W"), "-1 to -1");
    cr_assert_str_eq(meaning(&report, "bounding box along H"), "-2 to 13");
    cr_assert_str_eq(meaning(&report, "im2col copy"), "8 channels of 156 pixels");
    cr_assert(says(&report, "One copy moves 156 rows of 32 B, 32 B apart"));
    decode_free(&report);
    report = (struct decode_report){0};
    words[1] |= 1 << 11; /* interleave 16B */
    memcpy(image, words, sizeof image);
    decode_tensormap(&report, image, TMAP_SM_90);
    cr_assert_eq(report.problem_count, 0);
    cr_assert_str_eq(meaning(&report, "bounding box along W"), "-1 to 2");
    cr_assert(says(&report, "One copy moves 156 rows of 16 B, 16 B apart"));
    decode_free(&report);
}

/* A good map with some bits flipped: explained or refused, never more. */
Test(decode, random_tensormaps) {
    size_t refused = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        struct decode_report report = {0};
        uint8_t image[TMAP_IMAGE_BYTES];
        tmap_encode(&map_of_a_tile, image);
        for (uint64_t flip = 0; flip <= i % 3; flip++) {
            uint64_t bit = hash_mix64(3 * i + flip) % 512;
            image[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        decode_tensormap(&report, image, i % 2 == 0 ? TMAP_SM_100 : TMAP_SM_90);
        cr_assert_eq(report.problem_count == 0, report.field_count > 0);
        refused += report.problem_count;
        decode_free(&report);
    }
    cr_assert(refused > 100 && refused < 19900, "%zu refused", refused);
}

/* Runs `siltwin decode` with the words of one line. */
static int decode_line_of(const char *line) {
    char copy[1024], *argv[16];
    int argc = 0;
    cr_assert_lt(strlen(line), sizeof copy);
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return cmd_decode(argc, argv);
}

Test(decode, exit_status) {
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"decode --help", EXIT_AS_EXPECTED},
        {"decode smem-desc 0x4000404000010000", EXIT_AS_EXPECTED},
        {"decode smem-desc 0x4000404000010000 --arch sm_100a --major mn --element 8", 0},
        {"decode idesc 136316048", EXIT_AS_EXPECTED},
        {"decode token 0x7fffe80000000000", EXIT_AS_EXPECTED},
        {"decode token --word 0x7fffebfe001ffff6", EXIT_AS_EXPECTED},
        {"decode smem-desc 0x4000404000010000 --arch sm_90", EXIT_DIFFERENT},
        {"decode idesc 0xffffffff", EXIT_DIFFERENT},
        {"decode", EXIT_USAGE},
        {"decode smem-desc", EXIT_USAGE},
        {"decode smem-desc 1 2", EXIT_USAGE},
        {"decode smem 1", EXIT_USAGE},
        {"decode smem-desc 12x", EXIT_USAGE},
        {"decode smem-desc -1", EXIT_USAGE},
        {"decode smem-desc 0x10000000000000000", EXIT_USAGE},
        {"decode idesc 0x100000000", EXIT_USAGE},
        {"decode idesc 1 --kind f17", EXIT_USAGE},
        {"decode idesc 1 --kind", EXIT_USAGE},
        {"decode idesc 1 --arch sm_90", EXIT_USAGE},
        {"decode token 1 --frob", EXIT_USAGE},
        {"decode smem-desc 1 --word", EXIT_USAGE},
        {"decode smem-desc 1 --major Q", EXIT_USAGE},
        {"decode tensormap 00ff", EXIT_USAGE},
        {"decode tensormap @/does/not/exist", EXIT_USAGE},
        {"decode tensormap @/dev/null", EXIT_USAGE},
        {"decode tensormap @/dev/zero", EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_eq(decode_line_of(rows[i].line), rows[i].status, "%s", rows[i].line);
}

/* The three ways to give a tensor map name the same 128 bytes. */
Test(decode, tensormap_arguments) {
    uint8_t image[TMAP_IMAGE_BYTES];
    char bytes[2 * TMAP_IMAGE_BYTES + 1], words[16 * 18], line[600];
    tmap_encode(&map_of_a_tile, image);
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        snprintf(bytes + 2 * i, 3, "%02x", image[i]);
    snprintf(line, sizeof line, "decode tensormap %s --arch sm_90", bytes);
    cr_assert_eq(decode_line_of(line), EXIT_AS_EXPECTED);
    size_t length = 0;
    for (size_t i = 0; i < 16; i++) {
        uint64_t word;
        memcpy(&word, image + 8 * i, 8);
        length += (size_t)snprintf(words + length, sizeof words - length, "%s%llx", i ? "," : "",
                                   (unsigned long long)word);
    }
    snprintf(line, sizeof line, "decode tensormap %s", words);
    cr_assert_eq(decode_line_of(line), EXIT_AS_EXPECTED);
    snprintf(line, sizeof line, "decode tensormap %s,0", words);
    cr_assert_eq(decode_line_of(line), EXIT_USAGE);
    char path[] = "/tmp/siltwin-map-XXXXXX";
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, image, sizeof image) == sizeof image);
    close(file);
    snprintf(line, sizeof line, "decode tensormap @%s", path);
    int status = decode_line_of(line);
    remove(path);
    cr_assert_eq(status, EXIT_AS_EXPECTED);
}

Test(decode, json, .init = cr_redirect_stdout) {
    cr_assert_eq(decode_line_of("decode smem-desc 0x4000404000010000 --json"), EXIT_AS_EXPECTED);
    fflush(stdout);
    json_error_t error;
    json_t *root = json_loadf(cr_get_redirected_stdout(), JSON_DISABLE_EOF_CHECK, &error);
    cr_assert_not_null(root, "%s", error.text);
    cr_assert_str_eq(json_string_value(json_object_get(root, "schema")), "siltwin.decode/1");
    cr_assert_str_eq(json_string_value(json_object_get(root, "value")), "0x4000404000010000");
    cr_assert(json_is_true(json_object_get(root, "legal")));
    json_t *field = json_array_get(json_object_get(root, "fields"), 2);
    cr_assert_str_eq(json_string_value(json_object_get(field, "name")), "SBO");
    cr_assert_str_eq(json_string_value(json_object_get(field, "bits")), "45:32");
    cr_assert_str_eq(json_string_value(json_object_get(field, "raw")), "0x40");
    json_decref(root);
}
