#ifndef SILTWIN_SCALAR_FORMS_H
#define SILTWIN_SCALAR_FORMS_H

#include <stddef.h>
#include <stdint.h>

/* The oracle of scalar instructions: tests/oracle/scalar/forms.csv and the rows of
 * hw-H200-scalar.csv.gz, read whole. Any trouble ends the test program with a message. */
enum { SCALAR_OPERANDS_MAX = 4 };

struct scalar_row {
    uint64_t in[SCALAR_OPERANDS_MAX]; /* {a} {b} {c} {e}; 0 where the form has fewer */
    uint64_t out;                     /* {d} */
};

struct scalar_form {
    unsigned id;
    char family[16]; /* int carry f32 f64 half cvt cvt8 cmp approx */
    char ptx[128];   /* one or more statements with places {a} {b} {c} {e} {d} */
    char result[12]; /* type of {d}: u32, f16x2, pred ... */
    char operand[SCALAR_OPERANDS_MAX][12];
    size_t operand_count;
    const struct scalar_row *rows;
    size_t row_count;
};

struct scalar_oracle {
    struct scalar_form *forms;
    size_t form_count;
    struct scalar_row *rows; /* of all forms, in their order */
    size_t row_count;
};

/* The forms alone, from the file at `path`. */
void scalar_forms_read(struct scalar_oracle *oracle, const char *path);
struct scalar_oracle scalar_oracle_open(void);
void scalar_oracle_close(struct scalar_oracle *oracle);

/* Width in bits of a register of such a type; predicates count as 1. */
unsigned scalar_type_bits(const char *type);

#endif
