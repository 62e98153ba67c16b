#ifndef SILTWIN_ISA_PROGRAM_H
#define SILTWIN_ISA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One program of tests/isa: PTX text whose head comment says how to launch it, what its parameters
 * point to and what must be there afterwards. README.md describes the format. */
enum { ISA_PARAMS_MAX = 16, ISA_ROWS_MAX = 64, ISA_UNSET_BYTE = 0xEE };

enum isa_elem {
    ISA_U8,
    ISA_U16,
    ISA_U32,
    ISA_U64,
    ISA_S8,
    ISA_S16,
    ISA_S32,
    ISA_S64,
    ISA_F32,
    ISA_F64,
    ISA_ELEM_COUNT
};

/* `count` elements as bits; those that may be anything have any[i] set. */
struct isa_values {
    size_t count;
    uint64_t *bits;
    bool *any;
};

/* A tensor map over the buffer of parameter `of`; dimension 0 is the innermost. With channels it is
 * an im2col map and has no box. */
struct isa_map {
    unsigned type, rank, swizzle, of;
    uint64_t dim[5], stride_bytes[4];
    uint32_t box[5];
    int lower[3], upper[3];
    uint32_t channels, pixels;
};

enum isa_param_kind { ISA_IN, ISA_OUT, ISA_INOUT, ISA_MAP, ISA_ARG };

/* A parameter of 64 bits that points to a buffer or to a tensor map in global memory, or (ISA_ARG)
 * before.bits[0] itself, of its element's size. */
struct isa_param {
    enum isa_param_kind kind;
    enum isa_elem elem;
    unsigned ulps; /* the words may be this far from the expected ones; 0: exact */
    struct isa_values before, after;
    struct isa_map map;
};

struct isa_program {
    char *text;
    char name[64];  /* of the file, without folder and ending */
    char entry[64]; /* its kernel */
    unsigned grid[3], block[3], smem_bytes;
    unsigned sm;     /* 90 or 100: of its .target */
    bool exactly_sm; /* an a-target: runs on that compute capability only */
    int fails;       /* CUresult that the launch must end with; 0: it succeeds */
    struct isa_param params[ISA_PARAMS_MAX];
    unsigned param_count;
    char *rows[ISA_ROWS_MAX]; /* words inside `text_rows` */
    unsigned row_count;
    char *text_rows;
};

/* Reads the file at `path`. False with a sentence ("FILE:LINE: ...") in `error`. Give a program
 * back in either case. */
bool isa_program_read(const char *path, struct isa_program *program, char *error,
                      size_t error_bytes);
void isa_program_free(struct isa_program *program);

unsigned isa_elem_bytes(enum isa_elem elem);
const char *isa_elem_name(enum isa_elem elem);

/* Appends the values that `words` (blank-separated) stand for. False when a word is none. */
bool isa_values_parse(struct isa_values *values, enum isa_elem elem, const char *words);
void isa_values_free(struct isa_values *values);

#endif
