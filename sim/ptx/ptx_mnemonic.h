#ifndef SILTWIN_PTX_MNEMONIC_H
#define SILTWIN_PTX_MNEMONIC_H

#include "isa_match.h"
#include "status.h"

/* Mnemonics, and the rows of the instruction table that they fit. */

struct ptx_parser;

/* A mnemonic that fits one or several rows, or an error. */
struct ptx_match {
    const struct isa_pattern *pattern;
    uint8_t by_group[IR_MAX_TYPES];
};

struct ptx_mnemonic {
    const char *text;
    struct isa_words words;
    struct ptx_match *matches;
    uint32_t match_count;
    bool has_args;
    const char *error, *note; /* error: why no row takes it */
    enum status status;
    uint32_t error_offset, error_length; /* in the mnemonic's text */
};

/* Finds the rows of each opcode. */
bool ptx_index_rows(struct ptx_parser *p);
/* Scans the mnemonic whose first word is the current token; the current token is the one behind it
 * afterwards. NULL without memory. */
struct ptx_mnemonic *ptx_parse_mnemonic(struct ptx_parser *p);

#endif
