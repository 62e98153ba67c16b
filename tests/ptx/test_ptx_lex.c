#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "ptx_lex.h"

static void start(struct ptx_lexer *lexer, struct arena *arena, const char *text) {
    *lexer = (struct ptx_lexer){.at = text,
                                .end = text + strlen(text),
                                .line_start = text,
                                .line = 1,
                                .names = {.scratch = arena, .keep = arena}};
}

static struct ptx_token only(const char *text) {
    struct arena arena = {0};
    struct ptx_lexer lexer;
    struct ptx_token token, end;
    start(&lexer, &arena, text);
    ptx_lex(&lexer, &token);
    ptx_lex(&lexer, &end);
    if (token.kind != TOKEN_BAD)
        cr_expect_eq(end.kind, TOKEN_END, "'%s' is more than one token", text);
    arena_free(&arena);
    return token;
}

Test(ptx_lex, integers) {
    static const struct {
        const char *text;
        uint64_t value;
        bool is_unsigned;
    } cases[] = {
        {"12", 12, false},
        {"0", 0, false},
        {"0x1F", 31, false},
        {"0X1f", 31, false},
        {"017", 15, false},
        {"0b101", 5, false},
        {"5U", 5, true},
        {"0x1FU", 31, true},
        {"0xFFFFFFFFFFFFFFFF", UINT64_MAX, true},
        {"9223372036854775807", INT64_MAX, false},
        {"18446744073709551615", UINT64_MAX, true},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ptx_token t = only(cases[i].text);
        cr_expect_eq(t.kind, TOKEN_INT, "%s", cases[i].text);
        cr_expect_eq(t.bits, cases[i].value, "%s: %" PRIu64, cases[i].text, t.bits);
        cr_expect_eq(t.is_unsigned, cases[i].is_unsigned, "%s", cases[i].text);
    }
}

Test(ptx_lex, floating_point) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1.5", 1.5}, {".5", 0.5}, {"1.", 1.0},     {"1e-3", 1e-3},
                 {"1E2", 100}, {"0.", 0},   {"2.5e+1", 25.0}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ptx_token t = only(cases[i].text);
        cr_expect_eq(t.kind, TOKEN_FLOAT, "%s", cases[i].text);
        cr_expect_eq(bits_from_f64(t.number), bits_from_f64(cases[i].value), "%s", cases[i].text);
    }
    cr_expect_eq(only("0f3F800000").kind, TOKEN_F32_BITS);
    cr_expect_eq(only("0F3f800000").bits, 0x3f800000);
    cr_expect_eq(only("0d3ff0000000000000").kind, TOKEN_F64_BITS);
    cr_expect_eq(only("0D3ff0000000000000").bits, UINT64_C(0x3ff0000000000000));
}

Test(ptx_lex, what_is_no_number) {
    static const char *const texts[] = {"0f3f80",
                                        "0f3f8000000",
                                        "0d3ff",
                                        "0x",
                                        "09",
                                        "12ab",
                                        "0b2",
                                        "1.5f",
                                        "0x10000000000000000",
                                        "99999999999999999999"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_eq(only(texts[i]).kind, TOKEN_BAD, "%s", texts[i]);
}

Test(ptx_lex, names) {
    static const char *const names[] = {"a", "a_b$1", "%r12", "$L__BB0_1", "_x", "__", "%_", "$0"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_eq(only(names[i]).kind, TOKEN_NAME, "%s", names[i]);
    cr_expect_eq(only("%").kind, '%');
    cr_expect_eq(only("_").kind, '_');
    cr_expect_eq(only("$").kind, TOKEN_BAD);
    cr_expect_eq(only(".reg").kind, TOKEN_WORD);
    cr_expect_eq(only("\"a \\\" b\"").kind, TOKEN_STRING);
    cr_expect_eq(only("\"open").kind, TOKEN_BAD);
}

Test(ptx_lex, every_character_is_a_token_or_an_error) {
    for (int ch = 1; ch < 256; ch++) {
        char text[2] = {(char)ch, 0};
        struct arena arena = {0};
        struct ptx_lexer lexer;
        struct ptx_token token = {0};
        start(&lexer, &arena, text);
        ptx_lex(&lexer, &token);
        bool blank = ch == ' ' || (ch >= '\t' && ch <= '\r');
        cr_expect_eq(token.kind == TOKEN_END, blank, "character %d", ch);
        cr_expect_eq(lexer.at, text + 1, "character %d", ch);
        arena_free(&arena);
    }
}

Test(ptx_lex, places_and_comments) {
    struct arena arena = {0};
    struct ptx_lexer lexer;
    struct ptx_token token;
    start(&lexer, &arena, "a // x\r\n/* b\n * /* */ c\n\t<= /* open");
    ptx_lex(&lexer, &token);
    cr_expect(token.line == 1 && token.column == 1);
    ptx_lex(&lexer, &token);
    cr_expect(token.line == 3 && token.column == 10 && token.kind == TOKEN_NAME);
    ptx_lex(&lexer, &token);
    cr_expect(token.line == 4 && token.column == 2 && token.kind == TOKEN_LESS_EQUAL);
    ptx_lex(&lexer, &token);
    cr_expect_eq(token.kind, TOKEN_END);
    arena_free(&arena);
}

Test(ptx_lex, one_name_for_one_text) {
    struct arena arena = {0};
    struct ptx_names names = {.scratch = &arena, .keep = &arena};
    struct ptx_name *first[5000];
    char text[64];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 5000; i++) {
            int length = snprintf(text, sizeof text, "%%a_name_that_is_long_%u", i);
            struct ptx_name *name = ptx_names_intern(&names, text, (uint32_t)length);
            cr_assert_not_null(name);
            if (round == 0)
                first[i] = name;
            cr_assert_eq(first[i], name);
            cr_assert_str_eq(name->text, text);
        }
    }
    cr_expect_eq(names.count, 5000);
    arena_free(&arena);
}
