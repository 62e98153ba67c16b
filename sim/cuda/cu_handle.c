/* Handle table: slot index and generation packed into a pointer-sized number.
 *
 *   63            36 35             4 3    0
 *   +--------------+-----------------+------+
 *   |  generation  |    index + 1    |  0   |
 *   +--------------+-----------------+------+
 *
 * The generation grows when a slot is freed, so an old handle of a reused slot finds nothing. */
#include "cu_handle.h"

#include <stdlib.h>

enum { INDEX_SHIFT = 4, GENERATION_SHIFT = 36, FIRST_CAPACITY = 64 };

static void *pack(uint32_t index, uint32_t generation) {
    return (void *)(uintptr_t)(((uint64_t)generation << GENERATION_SHIFT) |
                               ((uint64_t)(index + 1) << INDEX_SHIFT));
}

/* Slot of a handle that exists, NULL for any other number. */
static struct cu_slot *find(const struct cu_handles *handles, const void *handle) {
    uint64_t word = (uint64_t)(uintptr_t)handle;
    uint64_t index = (word >> INDEX_SHIFT) & UINT32_MAX;
    if (index == 0 || index > handles->count)
        return NULL;
    struct cu_slot *slot = &handles->slots[index - 1];
    if (slot->kind == CU_KIND_NONE || pack((uint32_t)index - 1, slot->generation) != handle)
        return NULL;
    return slot;
}

static int grow(struct cu_handles *handles) {
    uint32_t capacity = handles->capacity ? 2 * handles->capacity : FIRST_CAPACITY;
    struct cu_slot *slots = realloc(handles->slots, capacity * sizeof *slots);
    if (!slots)
        return 0;
    handles->slots = slots;
    handles->capacity = capacity;
    return 1;
}

void *cu_handle_new(struct cu_handles *handles, enum cu_kind kind, void *object) {
    uint32_t index;
    if (handles->first_free) {
        index = handles->first_free - 1;
        handles->first_free = handles->slots[index].next_free;
    } else {
        if (handles->count == handles->capacity && !grow(handles))
            return NULL;
        index = handles->count++;
        handles->slots[index] = (struct cu_slot){.generation = 1};
    }
    struct cu_slot *slot = &handles->slots[index];
    slot->kind = kind;
    slot->object = object;
    return pack(index, slot->generation);
}

void *cu_handle_get(const struct cu_handles *handles, enum cu_kind kind, const void *handle) {
    const struct cu_slot *slot = find(handles, handle);
    return slot && slot->kind == kind ? slot->object : NULL;
}

int cu_handle_known(const struct cu_handles *handles, const void *handle) {
    uint64_t word = (uint64_t)(uintptr_t)handle;
    uint64_t index = (word >> INDEX_SHIFT) & UINT32_MAX, generation = word >> GENERATION_SHIFT;
    return index > 0 && index <= handles->count && word % (1 << INDEX_SHIFT) == 0 &&
           generation > 0 && generation <= handles->slots[index - 1].generation;
}

void cu_handle_free(struct cu_handles *handles, const void *handle) {
    struct cu_slot *slot = find(handles, handle);
    if (!slot)
        return;
    uint32_t index = (uint32_t)(slot - handles->slots);
    slot->object = NULL;
    slot->kind = CU_KIND_NONE;
    slot->generation = (slot->generation + 1) & ((UINT32_C(1) << (64 - GENERATION_SHIFT)) - 1);
    slot->next_free = handles->first_free;
    handles->first_free = index + 1;
}
