/* Sets a trace's objects up on a machine.
 *
 *   allocation of a buffer:  | slack to `align` | guard | offset | span | guard |
 *                                                       ^ a multiple of align
 */
#include "run_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "buffer_image.h"
#include "commands.h"
#include "hash.h"
#include "loc_rewrite.h"

static bool problem(struct run_problem *p, const struct trace_place *place, int exit_status,
                    const char *text) {
    p->place = place;
    p->exit_status = exit_status;
    strbuf_puts(&p->text, text);
    return false;
}

static bool host_problem(struct run_problem *p, const struct trace_place *place,
                         const struct host_error *error) {
    int exit_status = EXIT_DIFFERENT;
    if (error->code == CUDA_ERROR_OUT_OF_MEMORY)
        exit_status = EXIT_MACHINE;
    else if (error->code == CUDA_ERROR_NOT_SUPPORTED)
        exit_status = EXIT_NO_VERDICT;
    return problem(p, place, exit_status, error->text);
}

/* Loads one module; a GPU gets it with line information, unless it was asked for as written. */
static bool load_module(struct run_memory *m, uint32_t index, struct host_error *error) {
    const struct trace_module *module = &m->trace->modules.items[index];
    struct strbuf text = {0};
    m->machine->set_module_name(module->file->shown);
    if (m->machine->line_info)
        loc_rewrite(module->ir, module->loaded, module->loaded_bytes, module->file->shown, &text);
    const bool ok = module_load(&m->machine->driver, text.length ? text.text : module->loaded,
                                &m->modules[index], error);
    strbuf_free(&text);
    return ok;
}

/* Text that the driver refuses is wrong input; a driver or GPU that cannot take it lacks something.
 * The lines of its log are the PTX's own: rewriting keeps each instruction on its line. */
static bool module_problem(struct run_problem *p, const struct trace_module *module,
                           const char *log, const struct host_error *error) {
    int exit_status = EXIT_USAGE;
    const char *hint = "";
    if (error->code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
        exit_status = EXIT_MACHINE;
        hint = "; a newer driver is needed for the .version of this PTX";
    } else if (error->code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
               error->code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ||
               error->code == CUDA_ERROR_JIT_COMPILATION_DISABLED ||
               error->code == CUDA_ERROR_OUT_OF_MEMORY) {
        exit_status = EXIT_MACHINE;
    } else if (error->code == CUDA_ERROR_NOT_SUPPORTED) {
        exit_status = EXIT_NO_VERDICT;
    }
    strbuf_printf(&p->text, "module %s (%s) is not loaded: %s%s", module->name, module->file->shown,
                  error->text, hint);
    size_t length = log ? strlen(log) : 0;
    while (length && log[length - 1] == '\n')
        length--;
    if (length)
        strbuf_printf(&p->text, "\n%.*s", (int)length, log);
    return problem(p, &module->place, exit_status, "");
}

static bool load_modules(struct run_memory *m, struct run_problem *p) {
    for (uint32_t i = 0; i < m->trace->modules.count; i++) {
        const struct trace_module *module = &m->trace->modules.items[i];
        struct host_error error = {0};
        if (!load_module(m, i, &error))
            return module_problem(p, module, m->modules[i].log, &error);
    }
    return true;
}

static bool find_globals(struct run_memory *m, struct run_problem *p) {
    for (uint32_t i = 0; i < m->trace->globals.count; i++) {
        const struct trace_global *global = &m->trace->globals.items[i];
        struct host_error error = {0};
        size_t bytes;
        if (!module_global(&m->modules[global->module], global->symbol, &m->globals[i], &bytes,
                           &error))
            return host_problem(p, &global->place, &error);
    }
    return true;
}

/* The first address of a trace's buffers, apart from what drivers and the simulator choose
 * themselves, and the grid they lie on. */
#define BUFFERS_FIRST      UINT64_C(0x00007e8000000000)
#define BUFFERS_GRID_BYTES ((uint64_t)BUFFER_RESERVE_BYTES)

static uint64_t wanted_address(const json_t *addresses, const char *name, uint64_t otherwise) {
    const char *text = json_string_value(json_object_get(addresses, name));
    const uint64_t address = text ? strtoull(text, NULL, 16) : 0;
    return address ? address : otherwise;
}

json_t *run_memory_addresses(const struct run_memory *m) {
    json_t *addresses = json_object();
    for (uint32_t i = 0; m->buffers && i < m->trace->buffers.count; i++)
        json_object_set_new(addresses, m->trace->buffers.items[i].name,
                            json_sprintf("0x%016llx", m->buffers[i].memory.address));
    return addresses;
}

static bool allocate(struct run_memory *m, const json_t *addresses, struct run_problem *p) {
    uint64_t next = BUFFERS_FIRST;
    for (uint32_t i = 0; i < m->trace->buffers.count; i++) {
        const struct trace_buffer *b = &m->trace->buffers.items[i];
        struct run_buffer *run = &m->buffers[i];
        struct host_error error = {0};
        const uint64_t bytes = b->align + 2 * b->guard + b->offset + b->span_bytes;
        const uint64_t wanted = wanted_address(addresses, b->name, next);
        if (!machine_alloc_at(m->machine, wanted, bytes, &run->memory, &error)) {
            strbuf_printf(&p->text, "buffer %s needs %" PRIu64 " bytes: ", b->name, bytes);
            return host_problem(p, &b->place, &error);
        }
        next += bits_align_up(bytes, BUFFERS_GRID_BYTES) + BUFFERS_GRID_BYTES;
        const uint64_t base = run->memory.address + b->guard;
        const uint64_t aligned = (base + b->align - 1) & ~(b->align - 1);
        run->span_at = aligned + b->offset - run->memory.address;
    }
    return true;
}

CUdeviceptr run_memory_address(const struct run_memory *m, const struct trace_address *address) {
    uint64_t base = 0;
    if (address->object == OBJECT_BUFFER)
        base = m->buffers[address->index].memory.address + m->buffers[address->index].span_at;
    else if (address->object == OBJECT_GLOBAL)
        base = m->globals[address->index];
    else if (address->object == OBJECT_MAP)
        base = m->maps[address->index].memory.address;
    return base + (uint64_t)address->offset_bytes;
}

void run_memory_resolve(const struct run_memory *m, const struct trace_image *image,
                        uint8_t *bytes) {
    memcpy(bytes, image->bytes, image->size);
    for (size_t i = 0; i < image->hole_count; i++) {
        const struct trace_hole *hole = &image->holes[i];
        const CUdeviceptr address = run_memory_address(m, &hole->address);
        if (hole->by_value)
            memcpy(bytes + hole->at_bytes, &m->maps[hole->address.index].map, sizeof(CUtensorMap));
        else
            memcpy(bytes + hole->at_bytes, &address, sizeof address);
    }
}

static CUresult encode(struct run_memory *m, const struct trace_map *map, CUtensorMap *out) {
    struct tensormap_desc desc = {
        .type = (CUtensorMapDataType)map->type,
        .rank = map->rank,
        .address = run_memory_address(m, &map->address),
        .interleave = (CUtensorMapInterleave)map->interleave,
        .swizzle = (CUtensorMapSwizzle)map->swizzle,
        .l2_promotion = (CUtensorMapL2promotion)map->l2,
        .oob_fill = (CUtensorMapFloatOOBfill)map->oob,
    };
    for (unsigned i = 0; i < 5; i++) {
        desc.dim[i] = map->dims[i];
        desc.box[i] = map->box[i];
        desc.element_stride[i] = map->estrides[i];
        if (i < 4)
            desc.stride_bytes[i] = map->stride_bytes[i];
    }
    if (!map->im2col)
        return tensormap_encode(&m->machine->driver, &desc, out);
    struct tensormap_im2col im2col = {.channels = map->channels, .pixels = map->pixels};
    for (unsigned i = 0; i < 3; i++) {
        im2col.lower_corner[i] = (int)map->lower[i];
        im2col.upper_corner[i] = (int)map->upper[i];
    }
    return tensormap_encode_im2col(&m->machine->driver, &desc, &im2col, out);
}

static bool judge_encoding(struct run_memory *m, const struct trace_map *map, CUresult code,
                           struct run_problem *p) {
    const char *name = result_name(code);
    if ((int)code == map->fails) {
        machine_log_clear(m->machine);
        return true;
    }
    strbuf_printf(&p->text, "tensor map %s: cuTensorMapEncode%s gives %s (%d)", map->name,
                  map->im2col ? "Im2col" : "Tiled", name ? name : "an unknown result", (int)code);
    if (map->fails)
        strbuf_printf(&p->text, ", expected %s (%d)",
                      result_name((CUresult)map->fails) ? result_name((CUresult)map->fails) : "?",
                      map->fails);
    if (m->machine->log.length)
        strbuf_printf(&p->text, "\n%s", strbuf_text(&m->machine->log));
    return problem(p, &map->place,
                   code == CUDA_ERROR_NOT_SUPPORTED ? EXIT_NO_VERDICT : EXIT_DIFFERENT, "");
}

static bool encode_maps(struct run_memory *m, struct run_problem *p) {
    for (uint32_t i = 0; i < m->trace->maps.count; i++) {
        const struct trace_map *map = &m->trace->maps.items[i];
        struct run_map *run = &m->maps[i];
        struct host_error error = {0};
        machine_log_clear(m->machine);
        if (!judge_encoding(m, map, encode(m, map, &run->map), p))
            return false;
        if (map->fails)
            continue;
        run->encoded = true;
        if (!buffer_alloc(&m->machine->driver, sizeof run->map, &run->memory, &error) ||
            !buffer_upload(&run->memory, 0, &run->map, sizeof run->map, &error))
            return host_problem(p, &map->place, &error);
    }
    return true;
}

static bool upload_guards(const struct trace_buffer *b, const struct run_buffer *run,
                          struct host_error *error) {
    if (!b->guard)
        return true;
    uint8_t *guard = malloc(b->guard);
    if (!guard) {
        result_message(error, "no memory left");
        return false;
    }
    buffer_image_guard(guard, b->guard);
    const bool ok =
        buffer_upload(&run->memory, run->span_at - b->guard, guard, b->guard, error) &&
        buffer_upload(&run->memory, run->span_at + b->span_bytes, guard, b->guard, error);
    free(guard);
    return ok;
}

static bool fill_buffer(struct run_memory *m, uint32_t index, struct host_error *error) {
    const struct trace_buffer *b = &m->trace->buffers.items[index];
    struct run_buffer *run = &m->buffers[index];
    struct trace_generator generator = b->init;
    uint8_t *span = malloc(b->span_bytes), *resolved = NULL;
    if (generator.kind == INIT_IMAGE)
        resolved = malloc(generator.image.size);
    bool ok = span && (resolved || generator.kind != INIT_IMAGE);
    if (!ok)
        result_message(error, "no memory for buffer %s", b->name);
    if (ok && resolved) {
        run_memory_resolve(m, &generator.image, resolved);
        generator.image.bytes = resolved;
    }
    if (ok) {
        buffer_image_fill(b, &generator, span);
        run->initial_hash = hash_bytes(0, span, b->span_bytes);
        ok = buffer_upload(&run->memory, run->span_at, span, b->span_bytes, error) &&
             upload_guards(b, run, error);
    }
    free(span);
    free(resolved);
    return ok;
}

static bool fill_all(struct run_memory *m, struct run_problem *p) {
    struct host_error error = {0};
    for (uint32_t i = 0; i < m->trace->buffers.count; i++)
        if (!fill_buffer(m, i, &error))
            return host_problem(p, &m->trace->buffers.items[i].place, &error);
    for (uint32_t i = 0; i < m->trace->globals.count; i++) {
        const struct trace_global *global = &m->trace->globals.items[i];
        if (!global->value.size)
            continue;
        uint8_t *bytes = malloc(global->value.size);
        if (!bytes)
            return problem(p, &global->place, EXIT_MACHINE, "no memory left");
        run_memory_resolve(m, &global->value, bytes);
        const bool ok = RESULT_CHECK(&error, &m->machine->driver, cuMemcpyHtoD,
                                     (m->globals[i], bytes, global->value.size));
        free(bytes);
        if (!ok)
            return host_problem(p, &global->place, &error);
    }
    return true;
}

static void *array(uint32_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

bool run_memory_setup(struct run_memory *m, struct machine *machine, const struct trace *trace,
                      const json_t *addresses, struct run_problem *p) {
    *m = (struct run_memory){.machine = machine, .trace = trace};
    m->modules = array(trace->modules.count, sizeof *m->modules);
    m->globals = array(trace->globals.count, sizeof *m->globals);
    m->buffers = array(trace->buffers.count, sizeof *m->buffers);
    m->maps = aligned_alloc(64, (trace->maps.count + 1) * sizeof *m->maps);
    if (m->maps)
        memset(m->maps, 0, (trace->maps.count + 1) * sizeof *m->maps);
    if (!m->modules || !m->globals || !m->buffers || !m->maps)
        return problem(p, NULL, EXIT_MACHINE, "no memory left");
    return load_modules(m, p) && find_globals(m, p) && allocate(m, addresses, p) &&
           encode_maps(m, p) && fill_all(m, p);
}

void run_memory_free(struct run_memory *m) {
    for (uint32_t i = 0; m->maps && i < m->trace->maps.count; i++)
        buffer_free(&m->maps[i].memory);
    for (uint32_t i = 0; m->buffers && i < m->trace->buffers.count; i++)
        buffer_free(&m->buffers[i].memory);
    for (uint32_t i = 0; m->modules && i < m->trace->modules.count; i++)
        module_unload(&m->modules[i]);
    free(m->modules);
    free(m->globals);
    free(m->buffers);
    free(m->maps);
    *m = (struct run_memory){0};
}

uint8_t *run_memory_download(const struct run_memory *m, uint32_t index, struct host_error *error) {
    const struct run_buffer *run = &m->buffers[index];
    const uint64_t bytes = m->trace->buffers.items[index].span_bytes;
    uint8_t *span = malloc(bytes);
    if (!span) {
        result_message(error, "no memory for buffer %s", m->trace->buffers.items[index].name);
        return NULL;
    }
    if (buffer_download(&run->memory, run->span_at, span, bytes, error))
        return span;
    free(span);
    return NULL;
}

bool run_memory_guard_intact(const struct run_memory *m, uint32_t index, int64_t *at) {
    const struct trace_buffer *b = &m->trace->buffers.items[index];
    const struct run_buffer *run = &m->buffers[index];
    struct host_error error = {0};
    if (!b->guard)
        return true;
    uint8_t *want = malloc(b->guard), *got = malloc(b->guard);
    bool intact = true;
    if (want)
        buffer_image_guard(want, b->guard);
    for (int side = 0; side < 2 && intact && want && got; side++) {
        const uint64_t offset = side ? run->span_at + b->span_bytes : run->span_at - b->guard;
        if (!buffer_download(&run->memory, offset, got, b->guard, &error))
            break; /* the context is gone: said where it was lost */
        for (uint64_t i = 0; i < b->guard && intact; i++)
            if (got[i] != want[i]) {
                intact = false;
                *at = (int64_t)(offset + i) - (int64_t)run->span_at;
            }
    }
    free(want);
    free(got);
    return intact;
}
