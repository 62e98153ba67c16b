/* Machine code and spills, read from what a compiler gives; any bytes are safe. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_size.h"

enum { NAMES_AT = 64, HEADERS_AT = 128, IMAGE_BYTES = HEADERS_AT + 3 * 64 };

static void put(uint8_t *at, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* An image with sections "", .text.kern and .text.k. */
static void make_image(uint8_t *image) {
    static const char names[] = "\0.text.kern\0.text.k";
    memset(image, 0, IMAGE_BYTES);
    memcpy(image, "\177ELF\2\1", 6);
    put(image + 0x28, HEADERS_AT, 8);
    put(image + 0x3a, 64, 2);
    put(image + 0x3c, 3, 2);
    memcpy(image + NAMES_AT, names, sizeof names);
    put(image + HEADERS_AT + 0x18, NAMES_AT, 8);
    put(image + HEADERS_AT + 64, 1, 4);
    put(image + HEADERS_AT + 64 + 0x20, 1024, 8);
    put(image + HEADERS_AT + 128, 12, 4);
    put(image + HEADERS_AT + 128 + 0x20, 640, 8);
}

Test(code_size, sections_of_an_image) {
    uint8_t image[IMAGE_BYTES];
    uint64_t bytes = 0;
    make_image(image);
    cr_expect(code_size_of_image(image, sizeof image, "k", &bytes));
    cr_expect_eq(bytes, 640);
    cr_expect(code_size_of_image(image, sizeof image, "kern", &bytes));
    cr_expect_eq(bytes, 1024);
    cr_expect_not(code_size_of_image(image, sizeof image, "ker", &bytes));
    cr_expect_not(code_size_of_image(".version 8.0\n", 13, "k", &bytes));
}

/* Cut short, and with any byte changed, it is read without a fault. */
Test(code_size, damaged_images) {
    uint8_t image[IMAGE_BYTES];
    uint64_t bytes;
    make_image(image);
    for (size_t cut = 0; cut < sizeof image; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, image, cut);
        cr_expect_not(code_size_of_image(copy, cut, "kern", &bytes) && cut < HEADERS_AT);
        free(copy);
    }
    for (size_t at = 0; at < sizeof image; at++)
        for (unsigned value = 0; value < 256; value += 85) {
            uint8_t *copy = malloc(sizeof image);
            memcpy(copy, image, sizeof image);
            copy[at] = (uint8_t)value;
            code_size_of_image(copy, sizeof image, "kern", &bytes);
            free(copy);
        }
}

Test(code_size, spills_of_a_log) {
    static const char log[] =
        "ptxas info    : Compiling entry function 'kern' for 'sm_90a'\n"
        "ptxas info    : Function properties for kern\n"
        "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Function properties for 'k'\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n";
    struct code_size size = {0};
    cr_expect(code_size_spills(log, "kern", &size));
    cr_expect_eq(size.spill_store_bytes, 12);
    cr_expect_eq(size.spill_load_bytes, 20);
    cr_expect(code_size_spills(log, "k", &size));
    cr_expect_eq(size.spill_store_bytes, 0);
    cr_expect_eq(size.spill_load_bytes, 4);
    cr_expect_not(code_size_spills(log, "ke", &size));
    cr_expect_not(code_size_spills("", "k", &size));
    cr_expect_not(code_size_spills("Function properties for k\n", "k", &size));
}

/* The simulator makes no machine code, and says nothing of spills. */
Test(code_size, of_the_simulator) {
    struct driver driver;
    struct host_error error = {0};
    struct code_size size;
    CUcontext context;
    cr_assert(driver_open(&driver, SILTWIN_BUILD "/sim/libcuda.so.1", &error));
    cr_assert_eq(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    code_size_measure(
        &driver, ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k() { ret; }\n",
        "k", &size);
    cr_expect_not(size.has_code);
    cr_expect_not(size.has_spills);
    driver_close(&driver);
}

/* A real image, where ptxas is installed. */
Test(code_size, of_ptxas) {
    static const char command[] =
        "d=$(mktemp -d) && printf '.version 8.0\\n.target sm_90a\\n.address_size 64\\n"
        ".visible .entry some_kernel() { ret; }\\n' >$d/k.ptx && "
        "/usr/local/cuda/bin/ptxas -arch=sm_90a -o $d/k.cubin $d/k.ptx && cat $d/k.cubin; rm -r $d";
    if (access("/usr/local/cuda/bin/ptxas", X_OK)) {
        printf("skipped: no ptxas\n");
        return;
    }
    FILE *pipe = popen(command, "r");
    static uint8_t image[1 << 20];
    const size_t bytes = fread(image, 1, sizeof image, pipe);
    cr_assert_eq(pclose(pipe), 0);
    uint64_t code = 0;
    cr_expect(code_size_of_image(image, bytes, "some_kernel", &code), "%zu bytes", bytes);
    cr_expect(code > 0 && code % 128 == 0, "%llu", (unsigned long long)code);
}
