#ifndef SILTWIN_NPY_H
#define SILTWIN_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elem.h"
#include "status.h"
#include "strbuf.h"

/* Arrays of numpy's .npy format, versions 1 to 3, C order, little endian. numpy has no bf16 or fp8:
 * those travel as raw words (u2, u1 or V2, V1). */

enum { NPY_MAX_RANK = 8 };

struct npy {
    char kind; /* numpy's letter: f, i, u, V or b */
    size_t item_bytes;
    unsigned rank;
    uint64_t dims[NPY_MAX_RANK]; /* outermost first */
    uint64_t elems;
    const uint8_t *data; /* elems * item_bytes bytes inside the input */
};

/* Reads the header of `size` bytes. STATUS_SYNTAX or STATUS_UNSUPPORTED with a text in `error`. */
enum status npy_parse(const uint8_t *bytes, size_t size, struct npy *npy, struct strbuf *error);

/* Whether the array's items can be elements of that type. */
bool npy_holds(const struct npy *npy, enum elem_type type);

/* Appends magic, version and header of an array of `type`; the data follows it as it is. */
void npy_write_header(struct strbuf *out, enum elem_type type, unsigned rank, const uint64_t *dims);

#endif
