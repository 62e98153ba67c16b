/* Generators and launches that the families share. */
#include <string.h>

#include "buffer.h"
#include "conform.h"
#include "launch.h"
#include "module.h"
#include "strbuf.h"

struct conform_random conform_random_of(const struct conform_batch *batch, const char *family,
                                        uint32_t index) {
    uint64_t key = hash_bytes(batch->seed, family, strlen(family));
    return (struct conform_random){
        .key = hash_mix64(hash_mix64(key ^ batch->number) + index),
    };
}

const struct conform_family *conform_find(const char *name) {
    for (const struct conform_family *family = conform_families; family->name != NULL; family++)
        if (strcmp(family->name, name) == 0)
            return family;
    return NULL;
}

static bool launch_loaded(const struct driver *driver, const struct module *module,
                          const struct conform_launch *launch, const struct buffer *buffers,
                          struct host_error *error) {
    CUfunction function = module_function(module, launch->entry, error);
    CUdeviceptr addresses[CONFORM_BUFFERS];
    uint32_t offsets[CONFORM_BUFFERS];
    if (function == NULL)
        return false;
    for (unsigned i = 0; i < launch->buffer_count; i++) {
        addresses[i] = buffers[i].address;
        offsets[i] = 8 * i;
    }
    struct launch_desc desc = {.function = function,
                               .grid = {launch->grid, 1, 1},
                               .block = {launch->block, 1, 1},
                               .dynamic_smem_bytes = launch->dynamic_smem_bytes,
                               .params = addresses,
                               .params_bytes = 8 * launch->buffer_count,
                               .param_offsets = offsets,
                               .param_count = launch->buffer_count};
    return launch_kernel(driver, &desc, error) == CUDA_SUCCESS &&
           launch_wait(driver, NULL, 60, error) == LAUNCH_DONE;
}

bool conform_load(const struct driver *driver, const char *ptx, struct module *module,
                  struct host_error *error) {
    static const char hopper[] = ".target sm_90a", blackwell[] = ".target sm_100a";
    const char *target = strstr(ptx, hopper);
    int major = 0;
    driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    if (major != 10 || target == NULL)
        return module_load(driver, ptx, module, error);
    struct strbuf text = {0};
    strbuf_append(&text, ptx, (size_t)(target - ptx));
    strbuf_puts(&text, blackwell);
    strbuf_puts(&text, target + sizeof hopper - 1);
    const bool loaded = module_load(driver, strbuf_text(&text), module, error);
    strbuf_free(&text);
    return loaded;
}

bool conform_run_launch(const struct driver *driver, const struct conform_launch *launch,
                        struct host_error *error) {
    struct buffer buffers[CONFORM_BUFFERS] = {0};
    struct module module = {0};
    bool good = conform_load(driver, launch->ptx, &module, error);
    for (unsigned i = 0; good && i < launch->buffer_count; i++) {
        size_t bytes = launch->buffers[i].bytes;
        good = buffer_alloc(driver, bytes, &buffers[i], error) &&
               (launch->buffers[i].from
                    ? buffer_upload(&buffers[i], 0, launch->buffers[i].from, bytes, error)
                    : buffer_fill(&buffers[i], 0, bytes, launch->buffers[i].fill, 1, error));
    }
    good = good && launch_loaded(driver, &module, launch, buffers, error);
    for (unsigned i = 0; good && i < launch->buffer_count; i++)
        if (launch->buffers[i].to != NULL)
            good = buffer_download(&buffers[i], 0, launch->buffers[i].to, launch->buffers[i].bytes,
                                   error);
    for (unsigned i = 0; i < launch->buffer_count; i++)
        buffer_free(&buffers[i]);
    module_unload(&module);
    return good;
}

/* An element's mask in every element of a word. */
static uint32_t repeated(uint64_t mask, unsigned bits) {
    uint32_t word = 0;
    for (unsigned at = 0; at < 32; at += bits)
        word |= (uint32_t)(mask << at);
    return word;
}

/* Exponent fields, before they are put in place. */
static void exponents(struct conform_random *random, unsigned style, unsigned bits, uint32_t *keep,
                      uint32_t *set) {
    uint32_t all = (1u << bits) - 1, bias = all >> 1;
    switch (style) {
    case 0: /* anything */
        *keep = all;
        *set = 0;
        break;
    case 1: /* near 1 */
        *keep = 3;
        *set = bias & ~3u;
        break;
    case 2: /* some bits anywhere */
        *keep = (uint32_t)conform_next(random) & (uint32_t)conform_next(random) & all;
        *set = (uint32_t)conform_next(random) & all & ~*keep & ~1u;
        break;
    case 3: /* subnormal and zero */ *keep = *set = 0; break;
    case 4: /* the largest */
        *keep = 1;
        *set = all - 3;
        break;
    default: /* one exponent, so that sums cancel */
        *keep = 0;
        *set = bias;
        break;
    }
}

static uint32_t special(struct conform_random *random, struct conform_format format) {
    uint32_t exponent = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    uint32_t mantissa = (1u << format.mantissa_bits) - 1;
    switch (conform_below(random, 5)) {
    case 0: return exponent;                   /* Inf, or a large number */
    case 1: return exponent | mantissa;        /* NaN */
    case 2: return 1;                          /* the smallest */
    case 3: return 1u << format.mantissa_bits; /* the smallest normal */
    default: return 0;
    }
}

struct conform_masks conform_masks_of(struct conform_random *random, struct conform_format format) {
    uint32_t all = format.bits == 32 ? UINT32_MAX : (1u << format.bits) - 1, keep, set;
    if (format.exponent_bits == 0) {
        keep = conform_below(random, 2) ? all : (uint32_t)conform_next(random) & all;
        set = conform_below(random, 2) ? 0 : (uint32_t)conform_next(random) & all & ~keep;
        return (struct conform_masks){
            .keep = {repeated(keep, format.bits), repeated(keep, format.bits)},
            .set = {repeated(set, format.bits), repeated(set, format.bits)}};
    }
    uint32_t mantissa = (1u << format.mantissa_bits) - 1, sign = 1u << (format.bits - 1);
    exponents(random, conform_below(random, 8), format.exponent_bits, &keep, &set);
    if (conform_below(random, 4) == 0)
        mantissa &= (uint32_t)conform_next(random) & (uint32_t)conform_next(random);
    keep = keep << format.mantissa_bits | mantissa | sign;
    set <<= format.mantissa_bits;
    struct conform_masks masks = {
        .keep = {repeated(keep, format.bits), repeated(keep, format.bits)},
        .set = {repeated(set, format.bits), repeated(set, format.bits)},
    };
    if (conform_below(random, 4) == 0) { /* now and then a special word */
        masks.rare = UINT32_C(0x1f) << conform_below(random, 3);
        masks.keep[1] = repeated(sign, format.bits);
        masks.set[1] = repeated(special(random, format), format.bits);
    }
    return masks;
}

void conform_pair_of(struct conform_random *random, struct conform_format format, uint32_t keep[2],
                     uint32_t set[2]) {
    for (unsigned i = 0; i < 2; i++) {
        keep[i] = UINT32_MAX;
        set[i] = 0;
        if (format.exponent_bits == 0 || (format.bits == 64 && i == 0))
            continue;
        struct conform_masks masks = conform_masks_of(
            random, format.bits == 64 ? (struct conform_format){32, 11, 20} : format);
        keep[i] = masks.keep[0];
        set[i] = masks.set[0];
    }
}

void conform_fill(uint32_t seed, const uint32_t keep[2], const uint32_t set[2], uint8_t *bytes,
                  size_t size) {
    for (uint32_t i = 0; i < size / 4; i++) {
        uint32_t word = (uint32_t)hash_mix64((uint64_t)seed << 32 | i);
        word = (word & keep[i % 2]) | set[i % 2];
        memcpy(bytes + 4 * (size_t)i, &word, 4);
    }
}

void conform_put_fill(struct strbuf *out, unsigned rows) {
    strbuf_puts(out, "  shl.b32 %fa, %t, 4;\n  add.u32 %fa, %fa, %sm;\n"
                     "  shl.b32 %fc, %t, 2;\n  add.u32 %fc, %fc, %seed;\n"
                     "  mov.u32 %fi, 0;\nCONFORM_FILL:\n");
    for (unsigned w = 0; w < 4; w++)
        strbuf_printf(out,
                      "  add.u32 %%fg, %%fc, %u;\n  mul.lo.u32 %%fg, %%fg, 0x9e3779b1;\n"
                      "  shr.u32 %%fh, %%fg, 15;\n  xor.b32 %%fg, %%fg, %%fh;\n"
                      "  mul.lo.u32 %%fg, %%fg, 0x85ebca77;\n  shr.u32 %%fh, %%fg, 13;\n"
                      "  xor.b32 %%fg, %%fg, %%fh;\n  and.b32 %%fg, %%fg, %%k%u;\n"
                      "  or.b32 %%fv%u, %%fg, %%s%u;\n",
                      w, w % 2, w, w % 2);
    strbuf_printf(out,
                  "  st.shared.v4.b32 [%%fa], {%%fv0, %%fv1, %%fv2, %%fv3};\n"
                  "  add.u32 %%fa, %%fa, 2048;\n  add.u32 %%fc, %%fc, 512;\n"
                  "  add.u32 %%fi, %%fi, 1;\n  setp.lt.u32 %%fp, %%fi, %u;\n"
                  "  @%%fp bra CONFORM_FILL;\n",
                  rows);
}
