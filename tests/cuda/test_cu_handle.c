#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "cu_handle.h"

Test(cu_handle, kinds_and_strangers) {
    struct cu_handles handles = {0};
    int object = 1;
    void *stream = cu_handle_new(&handles, CU_KIND_STREAM, &object);
    cr_assert_gt((uintptr_t)stream, 2); /* 0, 1 and 2 are the default streams */
    cr_assert_eq(cu_handle_get(&handles, CU_KIND_STREAM, stream), &object);
    cr_assert_null(cu_handle_get(&handles, CU_KIND_EVENT, stream));
    for (uintptr_t word = 0; word < 4096; word++)
        if ((void *)word != stream)
            cr_assert_null(cu_handle_get(&handles, CU_KIND_STREAM, (void *)word));
    cr_assert_null(cu_handle_get(&handles, CU_KIND_STREAM, &object));
    cr_assert(cu_handle_known(&handles, stream));
    cr_assert_not(cu_handle_known(&handles, (void *)(uintptr_t)16)); /* generation 0 */
    cr_assert_null(cu_handle_get(&handles, CU_KIND_STREAM, (void *)UINTPTR_MAX));
    free(handles.slots);
}

Test(cu_handle, a_freed_handle_stays_dead) {
    struct cu_handles handles = {0};
    int objects[2];
    void *old = cu_handle_new(&handles, CU_KIND_EVENT, &objects[0]);
    for (int i = 0; i < 1000; i++) {
        cu_handle_free(&handles, old);
        cu_handle_free(&handles, old);
        void *young = cu_handle_new(&handles, CU_KIND_EVENT, &objects[1]);
        cr_assert_neq(young, old);
        cr_assert_null(cu_handle_get(&handles, CU_KIND_EVENT, old));
        cr_assert(cu_handle_known(&handles, old) && cu_handle_known(&handles, young));
        cr_assert_eq(cu_handle_get(&handles, CU_KIND_EVENT, young), &objects[1]);
        old = young;
    }
    cr_assert_eq(handles.count, 1); /* one slot served them all */
    free(handles.slots);
}

Test(cu_handle, many_at_once) {
    enum { COUNT = 5000 };
    struct cu_handles handles = {0};
    static void *handle[COUNT];
    static int object[COUNT];
    for (int i = 0; i < COUNT; i++)
        handle[i] = cu_handle_new(&handles, CU_KIND_FUNCTION, &object[i]);
    for (int i = 0; i < COUNT; i += 2)
        cu_handle_free(&handles, handle[i]);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(cu_handle_get(&handles, CU_KIND_FUNCTION, handle[i]),
                     i % 2 ? &object[i] : NULL);
    free(handles.slots);
}
