#ifndef SILTWIN_CONFORM_H
#define SILTWIN_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "hash.h"

/* Conformance: random cases as PTX programs that run unchanged on the simulator and on a GPU.
 *
 * A family makes its cases from a seed, `batch_cases` of them a batch; a batch is what runs
 * together. Case i of batch b depends on (family, seed, b, i) alone, so any batch can be run again.
 */

/* Generator: a counter and what it counts for. */
struct conform_random {
    uint64_t key, counter;
};

static inline uint64_t conform_next(struct conform_random *random) {
    return hash_mix64(random->key ^ hash_mix64(random->counter++));
}

/* 0..count-1. */
static inline uint32_t conform_below(struct conform_random *random, uint32_t count) {
    return (uint32_t)(((conform_next(random) >> 32) * count) >> 32);
}

/* What runs: a batch on a machine. The family writes `case_bytes` of results for each case. */
struct conform_batch {
    const struct driver *driver;
    const char *forms_path; /* tests/oracle/scalar/forms.csv */
    uint64_t seed, number;
    size_t case_bytes; /* set by the family, at most its own case_bytes */
    uint8_t *results;  /* batch_cases * case_bytes, zero before the run */
};

/* The generator of a case, or of the whole batch (index = UINT32_MAX). */
struct conform_random conform_random_of(const struct conform_batch *batch, const char *family,
                                        uint32_t index);

struct conform_family {
    const char *name;
    uint32_t batch_cases; /* a multiple of CONFORM_BLOCK */
    size_t case_bytes;
    bool (*run)(struct conform_batch *batch, struct host_error *error);
    /* One line about a case, for whoever looks into a difference. */
    void (*describe)(const struct conform_batch *batch, uint32_t index, char *text, size_t size);
};

enum { CONFORM_BLOCK = 64 }; /* cases under one hash of a record */

/* All families; the last has no name. */
extern const struct conform_family conform_families[];
const struct conform_family *conform_find(const char *name);

/* Helpers of the families: one program, its buffers, one launch. */
enum { CONFORM_BUFFERS = 4 };

struct conform_launch {
    const char *ptx, *entry;
    unsigned grid, block, dynamic_smem_bytes;
    /* The parameters: addresses of these buffers. */
    struct {
        const void *from; /* NULL: filled with `fill` */
        void *to;         /* NULL: not read back */
        size_t bytes;
        uint8_t fill;
    } buffers[CONFORM_BUFFERS];
    unsigned buffer_count;
};

/* Loads a program. The families' programs are written for sm_90a; a Blackwell GPU gets them under
 * its own target's name. */
struct module;
bool conform_load(const struct driver *driver, const char *ptx, struct module *module,
                  struct host_error *error);

/* Loads, launches, waits and reads back. */
bool conform_run_launch(const struct driver *driver, const struct conform_launch *launch,
                        struct host_error *error);

/* Bits of values of a format, made so that both usual and extreme ones come: a word is
 * (random & keep[s]) | set[s], where s is 1 when (other random bits & rare) is 0. */
struct conform_masks {
    uint32_t keep[2], set[2], rare;
};
struct conform_format {
    unsigned bits, exponent_bits, mantissa_bits; /* no exponent: an integer */
};
struct conform_masks conform_masks_of(struct conform_random *random, struct conform_format format);

/* The same for pairs of words, `bits` up to 64 (integers and unknown formats: any words), and words
 * of memory made so. */
void conform_pair_of(struct conform_random *random, struct conform_format format, uint32_t keep[2],
                     uint32_t set[2]);
void conform_fill(uint32_t seed, const uint32_t keep[2], const uint32_t set[2], uint8_t *bytes,
                  size_t size);

/* PTX that fills `rows` * 2048 bytes of shared memory
 * from [%sm] on by 128 threads %t with words of %seed masked by %k0, %k1 and set by %s0, %s1.
 * CONFORM_FILL_REGISTERS declares what it uses. */
#define CONFORM_FILL_REGISTERS                                                                     \
    "  .reg .pred %fp;\n  .reg .b32 %fa, %fc, %fg, %fh, %fi, %fv<4>, %k<2>, %s<2>, %sm, %seed, "   \
    "%t;\n"
struct strbuf;
void conform_put_fill(struct strbuf *out, unsigned rows);

#endif
