#include <criterion/criterion.h>
#include <stdint.h>

#include "arena.h"

Test(arena, aligns_and_zeroes) {
    struct arena arena = {0};
    for (size_t align = 1; align <= 4096; align *= 2) {
        unsigned char *p = arena_alloc(&arena, 100, align);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % align, 0);
        for (int i = 0; i < 100; i++)
            cr_assert_eq(p[i], 0);
        p[99] = 0xff;
    }
    arena_free(&arena);
    cr_assert_null(arena.blocks);
}

Test(arena, refuses_what_cannot_be) {
    struct arena arena = {0};
    cr_assert_null(arena_array(&arena, SIZE_MAX / 2, 4));
    cr_assert_null(arena_alloc(&arena, SIZE_MAX - 4, 16));
    arena_free(&arena);
}
