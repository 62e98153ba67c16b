#ifndef SILTWIN_WORD_ARGS_H
#define SILTWIN_WORD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments of commands that take words and numbers. Each function says on stderr what it found and
 * what was expected, and then returns false. */

/* A whole number, decimal or 0x..., from `min` to `max`. `what` names it: "--lbo". */
bool word_args_number(const char *what, const char *text, uint64_t min, uint64_t max,
                      uint64_t *value);

/* One of `count` words, upper or lower case alike; gives its index. */
bool word_args_choice(const char *what, const char *text, const char *const *words, size_t count,
                      size_t *index);

#endif
