/* .npy files: what numpy writes is read, what is written is read back, and no damage to a header
 * does more than give an error. */
#include "npy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct strbuf make(int version, const char *dict, size_t data_bytes) {
    struct strbuf out = {0};
    const size_t length = strlen(dict);
    const char head[12] = {'\x93',
                           'N',
                           'U',
                           'M',
                           'P',
                           'Y',
                           (char)version,
                           0,
                           (char)(length & 0xff),
                           (char)(length >> 8),
                           0,
                           0};
    strbuf_append(&out, head, version == 1 ? 10 : 12);
    strbuf_puts(&out, dict);
    for (size_t i = 0; i < data_bytes; i++)
        strbuf_append(&out, "\1", 1);
    return out;
}

static enum status parse(const struct strbuf *bytes, struct npy *npy, struct strbuf *error) {
    /* A heap copy of exactly this size, so that the sanitizer sees a read past it. */
    uint8_t *copy = malloc(bytes->length ? bytes->length : 1);
    if (bytes->length)
        memcpy(copy, bytes->text, bytes->length);
    const enum status status = npy_parse(copy, bytes->length, npy, error);
    free(copy);
    return status;
}

Test(npy, reads_all_versions) {
    for (int version = 1; version <= 3; version++) {
        struct npy npy;
        struct strbuf error = {0};
        struct strbuf file =
            make(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 48);
        cr_assert_eq(parse(&file, &npy, &error), STATUS_OK, "%s", strbuf_text(&error));
        cr_assert_eq(npy.rank, 2);
        cr_assert_eq(npy.dims[0], 3);
        cr_assert_eq(npy.dims[1], 4);
        cr_assert_eq(npy.elems, 12);
        cr_assert(npy_holds(&npy, ELEM_F32));
        cr_assert(npy_holds(&npy, ELEM_B32));
        cr_assert_not(npy_holds(&npy, ELEM_U32));
        cr_assert_not(npy_holds(&npy, ELEM_BF16));
        strbuf_free(&file);
    }
}

Test(npy, refuses_with_a_reason) {
    static const struct {
        const char *dict;
        size_t data_bytes;
        const char *reason;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 11, "wants 3 elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 13, "wants 3 elements"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", 12, "Fortran"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", 12, "big endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", 24, "'<c8'"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (3,), }", 9, "'<f3'"},
        {"{'descr': '<f4', 'shape': (3,), }", 12, "the keys descr"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, }", 12, "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", 12, "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 12,
         "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,2), }", 12,
         "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4,
         "more than 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", 12, "the end"},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': (3,)", 12, "not"},
        {"{'other': 1}", 0, "keys"},
        {"[]", 0, "a dict"},
        {"", 0, "a dict"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct npy npy;
        struct strbuf error = {0};
        struct strbuf file = make(1, cases[i].dict, cases[i].data_bytes);
        cr_assert_neq(parse(&file, &npy, &error), STATUS_OK, "%s", cases[i].dict);
        cr_assert(strstr(strbuf_text(&error), cases[i].reason), "%s: %s", cases[i].dict,
                  strbuf_text(&error));
        strbuf_free(&file);
        strbuf_free(&error);
    }
}

/* Every prefix and every single changed byte of a good file. */
Test(npy, damage_is_an_error_or_another_array) {
    struct strbuf file =
        make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", 48);
    size_t refused = 0;
    for (size_t length = 0; length < file.length; length++) {
        struct npy npy;
        struct strbuf error = {0};
        struct strbuf cut = {file.text, length, 0, false};
        cr_assert_neq(parse(&cut, &npy, &error), STATUS_OK, "%zu bytes", length);
        strbuf_free(&error);
    }
    for (size_t at = 0; at + 48 < file.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct npy npy;
            struct strbuf error = {0};
            file.text[at] ^= (char)(1 << bit);
            const enum status status = parse(&file, &npy, &error);
            cr_assert(status == STATUS_OK ? npy.elems * npy.item_bytes == 48 : error.length > 0);
            refused += status != STATUS_OK;
            file.text[at] ^= (char)(1 << bit);
            strbuf_free(&error);
        }
    cr_assert_gt(refused, 400);
    strbuf_free(&file);
}

Test(npy, writes_what_it_reads) {
    static const enum elem_type types[] = {ELEM_U8,   ELEM_S16,  ELEM_B32, ELEM_S64, ELEM_F16,
                                           ELEM_BF16, ELEM_E4M3, ELEM_F32, ELEM_F64, ELEM_TF32};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (unsigned rank = 1; rank <= NPY_MAX_RANK; rank++) {
            uint64_t dims[NPY_MAX_RANK], elems = 1;
            for (unsigned i = 0; i < rank; i++)
                elems *= dims[i] = 1 + i % 3;
            struct strbuf file = {0}, error = {0};
            npy_write_header(&file, types[t], rank, dims);
            cr_assert_eq(file.length % 64, 0);
            for (uint64_t i = 0; i < elems * elem_info(types[t])->size_bytes; i++)
                strbuf_append(&file, "x", 1);
            struct npy npy;
            cr_assert_eq(npy_parse((uint8_t *)file.text, file.length, &npy, &error), STATUS_OK,
                         "%s", strbuf_text(&error));
            cr_assert_eq(npy.rank, rank);
            cr_assert_eq(npy.elems, elems);
            cr_assert(npy_holds(&npy, types[t]), "%s", elem_info(types[t])->name);
            strbuf_free(&file);
        }
}
