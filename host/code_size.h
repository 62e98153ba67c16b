#ifndef SILTWIN_CODE_SIZE_H
#define SILTWIN_CODE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/* What a driver's compiler makes of a kernel: machine code and spills. */
struct code_size {
    bool has_code, has_spills; /* what the driver told */
    uint64_t code_bytes;       /* machine code */
    uint64_t spill_store_bytes, spill_load_bytes;
};

/* Compiles zero-terminated PTX text (in the current context, apart from any module) and measures
 * entry `entry`. A driver that has no linker, or makes no machine code, leaves has_... false. */
void code_size_measure(const struct driver *driver, const char *text, const char *entry,
                       struct code_size *size);

/* The parts of it, for any bytes. Section .text.ENTRY of a 64-bit little-endian ELF image: false
 * when there is none. */
bool code_size_of_image(const void *image, size_t bytes, const char *entry, uint64_t *code_bytes);
/* "... Function properties for ENTRY ... 8 bytes spill stores, 16 bytes spill loads". */
bool code_size_spills(const char *log, const char *entry, struct code_size *size);

#endif
