#ifndef SILTWIN_TRACE_STATEMENT_H
#define SILTWIN_TRACE_STATEMENT_H

#include "trace_scan.h"

/* The statements of the trace language, one function each: the cursor stands behind the statement's
 * word, `place` is that word's. They add to the trace what they say. Inside the trace reader only.
 */

bool statement_module(struct trace_reader *r, const struct trace_place *place);
bool statement_global(struct trace_reader *r, const struct trace_place *place);
bool statement_buffer(struct trace_reader *r, const struct trace_place *place);
bool statement_tensormap(struct trace_reader *r, const struct trace_place *place);
bool statement_launch(struct trace_reader *r, const struct trace_place *place);
bool statement_copy(struct trace_reader *r, const struct trace_place *place);
bool statement_fill(struct trace_reader *r, const struct trace_place *place);
bool statement_expect(struct trace_reader *r, const struct trace_place *place);
bool statement_probe(struct trace_reader *r, const struct trace_place *place);
/* After the last statement: finds the probes' instructions and puts their code into the modules. */
bool trace_apply_probes(struct trace_reader *r);

/* `items` with room for one more, in the trace's arena; NULL with the error set. */
void *trace_grow(struct trace_reader *r, void *items, uint32_t count, uint32_t *capacity,
                 size_t item_bytes);
/* A pointer to a new, zeroed last item of a TRACE_LIST, NULL with the error set. */
#define TRACE_ADD(r, list)                                                                         \
    (((list).items =                                                                               \
          trace_grow(r, (list).items, (list).count, &(list).capacity, sizeof *(list).items))       \
         ? &(list).items[(list).count++]                                                           \
         : NULL)
bool trace_add_step(struct trace_reader *r, enum trace_step_kind kind, uint32_t index);

/* Index by name, -1 when there is none. */
int64_t trace_find_buffer(const struct trace *trace, const char *name);
int64_t trace_find_map(const struct trace *trace, const char *name);
int64_t trace_find_module(const struct trace *trace, const char *name);
/* Index of MODULE.SYMBOL among the trace's globals, added when new; -1 with the error set. */
int64_t trace_global_index(struct trace_reader *r, const struct trace_place *place, uint32_t module,
                           const char *symbol);
/* A name that no object of the trace has yet. */
bool trace_new_name(struct trace_reader *r, const char *what, const char **name);
/* The name of a buffer. */
bool scan_buffer(struct trace_reader *r, uint32_t *index);

/* `[&]NAME[i][j]+bytes` or `[&]MODULE.SYMBOL+bytes`; NAME is a buffer or a tensor map. */
bool scan_address(struct trace_reader *r, struct trace_address *address);
/* One element of `type` in words of the trace: a number or an integer expression. */
bool scan_elem(struct trace_reader *r, enum elem_type type, uint8_t *bytes);
/* The value of a parameter of `size` bytes (0: any size, the value must say its own): an integer,
 * TYPE(number), TYPE{number,...}, &address, a tensor map, struct(size){offset:value ...}. */
bool scan_value(struct trace_reader *r, const char *what, size_t size, struct trace_image *image);
/* [a][b]... or {a,b,...}: 1 to `max` integers in low..high. */
bool scan_brackets(struct trace_reader *r, const char *what, int64_t low, int64_t high,
                   unsigned max, uint64_t *values, unsigned *count);
bool scan_braces(struct trace_reader *r, const char *what, int64_t low, int64_t high, unsigned max,
                 uint64_t *values, unsigned *count);
/* A CUresult that is an error, by number or by name. */
bool scan_result(struct trace_reader *r, int *code);
/* A generator's word and arguments, when one comes next: *found says whether. */
bool scan_generator(struct trace_reader *r, const struct trace_buffer *buffer,
                    struct trace_generator *generator, bool *found);

#endif
