/* Machine code from the driver's linker: cuLinkComplete gives an ELF image with one section of code
 * a kernel, and ptxas, asked to be verbose, says what it spilled. */
#include "code_size.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOG_BYTES = 64 * 1024 };

static uint64_t number(const uint8_t *bytes, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* The nth section header; NULL when it does not lie in the image. */
static const uint8_t *section(const uint8_t *elf, size_t bytes, uint64_t index) {
    enum { HEADER_BYTES = 64 };
    const uint64_t table = number(elf + 0x28, 8), each = number(elf + 0x3a, 2);
    if (index >= number(elf + 0x3c, 2) || each < HEADER_BYTES || table > bytes ||
        (bytes - table) / each <= index)
        return NULL;
    return elf + table + index * each;
}

bool code_size_of_image(const void *image, size_t bytes, const char *entry, uint64_t *code_bytes) {
    const uint8_t *elf = image, *header;
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    if (bytes < 64 || memcmp(elf, magic, sizeof magic) != 0)
        return false;
    const uint8_t *names = section(elf, bytes, number(elf + 0x3e, 2));
    const uint64_t names_at = names ? number(names + 0x18, 8) : bytes;
    if (names_at >= bytes)
        return false;
    for (uint64_t i = 0; (header = section(elf, bytes, i)); i++) {
        const uint64_t at = number(header, 4);
        const size_t left = at < bytes - names_at ? (size_t)(bytes - names_at - at) : 0;
        const char *name = (const char *)elf + names_at + at;
        const size_t length = strlen(entry);
        if (left > 6 + length && !memcmp(name, ".text.", 6) && !memcmp(name + 6, entry, length) &&
            name[6 + length] == '\0') {
            *code_bytes = number(header + 0x20, 8);
            return true;
        }
    }
    return false;
}

/* The number that stands before `words`, from `at` on. */
static bool number_before(const char *at, const char *words, uint64_t *value) {
    const char *end = strstr(at, words);
    while (end && end > at && isspace((unsigned char)end[-1]))
        end--;
    const char *begin = end;
    while (begin && begin > at && isdigit((unsigned char)begin[-1]))
        begin--;
    if (!end || begin == end)
        return false;
    *value = strtoull(begin, NULL, 10);
    return true;
}

bool code_size_spills(const char *log, const char *entry, struct code_size *size) {
    static const char words[] = "Function properties for ";
    const size_t length = strlen(entry);
    for (const char *at = log; (at = strstr(at, words)); at++) {
        const char *name = at + strlen(words);
        name += *name == '\'';
        if (strncmp(name, entry, length) != 0 || isalnum((unsigned char)name[length]) ||
            name[length] == '_' || name[length] == '$')
            continue;
        size->has_spills = number_before(name, "bytes spill stores", &size->spill_store_bytes) &&
                           number_before(name, "bytes spill loads", &size->spill_load_bytes);
        return size->has_spills;
    }
    return false;
}

/* The text with something at its end that no text had before: of what a driver finds in its cache
 * the compiler says nothing. */
static char *unique(const char *text) {
    const size_t bytes = strlen(text) + 64;
    char *copy = malloc(bytes);
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (copy)
        snprintf(copy, bytes, "%s\n// %lld.%09ld\n", text, (long long)now.tv_sec, now.tv_nsec);
    return copy;
}

void code_size_measure(const struct driver *driver, const char *text, const char *entry,
                       struct code_size *size) {
    *size = (struct code_size){0};
    char *input = unique(text);
    char *info = calloc(1, LOG_BYTES);
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_LOG_VERBOSE};
    void *values[] = {info, (void *)(uintptr_t)LOG_BYTES, (void *)(uintptr_t)1};
    CUlinkState state = NULL;
    void *image = NULL;
    size_t bytes = 0;
    if (!input || !info || !driver->cuLinkCreate || !driver->cuLinkAddData ||
        !driver->cuLinkComplete || !driver->cuLinkDestroy ||
        driver->cuLinkCreate(3, options, values, &state) != CUDA_SUCCESS) {
        free(input);
        free(info);
        return;
    }
    if (driver->cuLinkAddData(state, CU_JIT_INPUT_PTX, input, strlen(input) + 1, "kernel", 0, NULL,
                              NULL) == CUDA_SUCCESS &&
        driver->cuLinkComplete(state, &image, &bytes) == CUDA_SUCCESS) {
        info[LOG_BYTES - 1] = '\0';
        size->has_code = code_size_of_image(image, bytes, entry, &size->code_bytes);
        code_size_spills(info, entry, size);
    }
    driver->cuLinkDestroy(state);
    free(input);
    free(info);
}
