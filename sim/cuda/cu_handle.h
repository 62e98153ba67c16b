#ifndef SILTWIN_CU_HANDLE_H
#define SILTWIN_CU_HANDLE_H

#include <stdint.h>

/* Handles of the driver API. A handle is no pointer but the number of a slot and the slot's
 * generation, so that any value a program passes in, freed handles included, is looked up safely.
 */

enum cu_kind {
    CU_KIND_NONE,
    CU_KIND_CONTEXT,
    CU_KIND_MODULE,
    CU_KIND_FUNCTION,
    CU_KIND_LIBRARY,
    CU_KIND_KERNEL,
    CU_KIND_STREAM,
    CU_KIND_EVENT,
    CU_KIND_LINK,
};

struct cu_slot {
    void *object;
    uint32_t generation;
    uint32_t next_free; /* index + 1 */
    enum cu_kind kind;
};

/* A zeroed struct is an empty table. */
struct cu_handles {
    struct cu_slot *slots;
    uint32_t count, capacity;
    uint32_t first_free; /* index + 1, 0: none */
};

/* A new handle for `object`; NULL without memory. Never one of the small numbers that the API gives
 * a meaning (CU_STREAM_LEGACY ...). */
void *cu_handle_new(struct cu_handles *handles, enum cu_kind kind, void *object);
/* The object behind a handle of that kind; NULL for anything else. */
void *cu_handle_get(const struct cu_handles *handles, enum cu_kind kind, const void *handle);
/* Whether this value ever was a handle: it is one, or one that was freed. */
int cu_handle_known(const struct cu_handles *handles, const void *handle);
/* Forgets a handle; one that does not exist is ignored. */
void cu_handle_free(struct cu_handles *handles, const void *handle);

#endif
