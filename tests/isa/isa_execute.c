/* One program through one driver: load, launch, wait, read back, compare. */
#include "isa_execute.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "launch.h"
#include "module.h"
#include "siltwin_sim.h"
#include "tensormap.h"

enum { TIMEOUT_SECONDS = 30 };

static size_t param_bytes(const struct isa_param *param) {
    const struct isa_values *values = param->kind == ISA_OUT ? &param->after : &param->before;
    return param->kind == ISA_MAP ? sizeof(CUtensorMap)
                                  : values->count * isa_elem_bytes(param->elem);
}

static bool encode_map(const struct driver *driver, const struct isa_map *map,
                       const struct buffer *of, uint8_t *bytes, struct host_error *error) {
    struct tensormap_desc desc = {
        .type = (CUtensorMapDataType)map->type,
        .rank = map->rank,
        .address = of->address,
        .swizzle = (CUtensorMapSwizzle)map->swizzle,
    };
    for (unsigned i = 0; i < map->rank; i++) {
        desc.dim[i] = map->dim[i];
        desc.box[i] = map->box[i];
        desc.element_stride[i] = 1;
        if (i + 1 < map->rank)
            desc.stride_bytes[i] = map->stride_bytes[i];
    }
    struct tensormap_im2col im2col = {.channels = map->channels, .pixels = map->pixels};
    memcpy(im2col.lower_corner, map->lower, sizeof map->lower);
    memcpy(im2col.upper_corner, map->upper, sizeof map->upper);
    CUtensorMap encoded;
    CUresult code = map->channels == 0 ? tensormap_encode(driver, &desc, &encoded)
                                       : tensormap_encode_im2col(driver, &desc, &im2col, &encoded);
    memcpy(bytes, &encoded, sizeof encoded);
    return result_check(
        error, map->channels == 0 ? "cuTensorMapEncodeTiled" : "cuTensorMapEncodeIm2col", code);
}

/* Allocates parameter `index` and writes what it starts with. */
static bool fill(const struct driver *driver, const struct isa_program *program, unsigned index,
                 struct buffer *buffers, struct host_error *error) {
    const struct isa_param *from = &program->params[index];
    size_t bytes = param_bytes(from);
    uint8_t *image = malloc(bytes);
    if (image == NULL) {
        result_message(error, "no memory");
        return false;
    }
    memset(image, ISA_UNSET_BYTE, bytes);
    unsigned width = isa_elem_bytes(from->elem);
    for (size_t i = 0; i < from->before.count; i++)
        memcpy(image + i * width, &from->before.bits[i], width);
    bool ok = from->kind != ISA_MAP ||
              encode_map(driver, &from->map, &buffers[from->map.of], image, error);
    ok = ok && buffer_alloc(driver, bytes, &buffers[index], error) &&
         buffer_upload(&buffers[index], 0, image, bytes, error);
    free(image);
    return ok;
}

static bool read_back(const struct isa_program *program, const struct buffer *buffers,
                      struct isa_outcome *outcome, struct host_error *error) {
    for (unsigned i = 0; i < program->param_count; i++) {
        const struct isa_param *from = &program->params[i];
        if (from->kind != ISA_OUT && from->kind != ISA_INOUT)
            continue;
        struct isa_values *after = &outcome->after[i];
        size_t width = isa_elem_bytes(from->elem), count = from->after.count;
        uint8_t *image = malloc(count * width);
        after->bits = calloc(count, sizeof *after->bits);
        if (image == NULL || after->bits == NULL) {
            free(image);
            result_message(error, "no memory");
            return false;
        }
        bool ok = buffer_download(&buffers[i], 0, image, count * width, error);
        for (size_t k = 0; k < count; k++)
            memcpy(&after->bits[k], image + k * width, width);
        after->count = count;
        free(image);
        if (!ok)
            return false;
    }
    return true;
}

/* A simulator's own account of a failure. */
static void add_report(const struct driver *driver, struct isa_outcome *outcome) {
    void *found = driver_extension(driver, "siltwinSimLastReport");
    siltwin_sim_last_report *last = NULL;
    memcpy(&last, &found, sizeof last);
    size_t used = strlen(outcome->text);
    if (last != NULL)
        snprintf(outcome->text + used, sizeof outcome->text - used, "\n%s", last());
}

struct param_block {
    uint8_t bytes[8 * ISA_PARAMS_MAX];
    size_t size;
};

/* Each at its natural alignment, as a kernel declares them. */
static void pack_params(const struct isa_program *program, const struct buffer *buffers,
                        struct param_block *block) {
    *block = (struct param_block){0};
    for (unsigned i = 0; i < program->param_count; i++) {
        const struct isa_param *param = &program->params[i];
        bool value = param->kind == ISA_ARG;
        size_t width = value ? isa_elem_bytes(param->elem) : sizeof(CUdeviceptr);
        block->size = (block->size + width - 1) / width * width;
        memcpy(block->bytes + block->size,
               value ? &param->before.bits[0] : (const uint64_t *)&buffers[i].address, width);
        block->size += width;
    }
}

static bool launch(const struct driver *driver, const struct isa_program *program,
                   const struct module *module, const struct buffer *buffers,
                   struct isa_outcome *outcome, struct host_error *error) {
    CUfunction function = module_function(module, program->entry, error);
    if (function == NULL)
        return false;
    struct param_block params;
    pack_params(program, buffers, &params);
    struct launch_desc desc = {
        .function = function,
        .grid = {program->grid[0], program->grid[1], program->grid[2]},
        .block = {program->block[0], program->block[1], program->block[2]},
        .dynamic_smem_bytes = program->smem_bytes,
        .params = params.bytes,
        .params_bytes = params.size,
    };
    outcome->result = launch_kernel(driver, &desc, error);
    if (outcome->result != CUDA_SUCCESS)
        return true;
    enum launch_wait end = launch_wait(driver, NULL, TIMEOUT_SECONDS, error);
    /* A GPU may tell of a fault after the stream has run empty. */
    if (end == LAUNCH_DONE && !RESULT_CHECK(error, driver, cuCtxSynchronize, ()))
        end = LAUNCH_FAILED;
    if (end == LAUNCH_DONE)
        return read_back(program, buffers, outcome, error);
    outcome->result = end == LAUNCH_FAILED ? error->code : CUDA_ERROR_LAUNCH_TIMEOUT;
    outcome->context_lost = true;
    return true;
}

bool isa_execute(const struct driver *driver, const struct isa_program *program,
                 struct isa_outcome *outcome) {
    *outcome = (struct isa_outcome){0};
    struct host_error error = {0};
    struct module module = {0};
    struct buffer buffers[ISA_PARAMS_MAX] = {0};
    bool ok = module_load(driver, program->text, &module, &error);
    if (!ok)
        snprintf(outcome->text, sizeof outcome->text, "%s\n", module.log ? module.log : "");
    for (unsigned i = 0; ok && i < program->param_count; i++)
        ok = program->params[i].kind == ISA_ARG || fill(driver, program, i, buffers, &error);
    ok = ok && launch(driver, program, &module, buffers, outcome, &error);
    if (!ok || outcome->result != CUDA_SUCCESS) {
        size_t used = strlen(outcome->text);
        snprintf(outcome->text + used, sizeof outcome->text - used, "%s", error.text);
        add_report(driver, outcome);
    }
    if (!outcome->context_lost) {
        for (unsigned i = 0; i < program->param_count; i++)
            buffer_free(&buffers[i]);
        module_unload(&module);
    }
    return ok;
}

void isa_outcome_free(struct isa_outcome *outcome) {
    for (unsigned i = 0; i < ISA_PARAMS_MAX; i++)
        isa_values_free(&outcome->after[i]);
}

/* Distance of two words of one sign in units of the last place. */
static bool close_enough(uint64_t a, uint64_t b, unsigned ulps) {
    return (a > b ? a - b : b - a) <= ulps;
}

bool isa_judge(const struct isa_program *program, const struct isa_outcome *outcome, char *text,
               size_t text_bytes) {
    if ((int)outcome->result != program->fails) {
        snprintf(text, text_bytes, "the launch ended with %d, %d was expected\n%s",
                 (int)outcome->result, program->fails, outcome->text);
        return false;
    }
    for (unsigned i = 0; outcome->result == CUDA_SUCCESS && i < program->param_count; i++) {
        const struct isa_param *param = &program->params[i];
        for (size_t k = 0; k < outcome->after[i].count; k++) {
            uint64_t is = outcome->after[i].bits[k], must = param->after.bits[k];
            if (param->after.any[k] || close_enough(is, must, param->ulps))
                continue;
            snprintf(
                text, text_bytes, "parameter %u, %s element %zu is 0x%llx, 0x%llx was expected", i,
                isa_elem_name(param->elem), k, (unsigned long long)is, (unsigned long long)must);
            return false;
        }
    }
    return true;
}
