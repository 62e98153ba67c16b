#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "decode.h"

/* A loaded module: its text as IR, its variables in device memory, an image for each entry. */

struct exec_module {
    struct arena arena;
    struct global_memory *memory;
    struct ir_module *ir;
    uint64_t *addresses; /* of each symbol: guest address of .global, place in the bank of .const */
    uint64_t *starts;    /* of the allocations of .global variables, 0 for none */
    uint64_t const_bank, const_bank_bytes; /* guest address of the bank */
    const struct exec_kernel **kernels;
    uint32_t kernel_count;
    uint16_t sm;
};

static bool is_variable(const struct ir_symbol *symbol, enum ptx_space space) {
    return symbol->space == space && !symbol->is_extern && symbol->size_bytes > 0;
}

/* Each .global variable is an allocation of its own, so that an access past its end is found; all
 * .const variables share a bank. PTX variables start as zero. */
static enum status place_variables(struct exec_module *module) {
    uint64_t bank = 0;
    for (uint32_t i = 0; i < module->ir->symbol_count; i++) {
        const struct ir_symbol *symbol = &module->ir->symbols[i];
        uint64_t align = symbol->align_bytes > 0 ? symbol->align_bytes : 1;
        if (is_variable(symbol, SPACE_CONST)) {
            bank = bits_align_up(bank, align);
            module->addresses[i] = bank;
            bank += symbol->size_bytes;
        } else if (is_variable(symbol, SPACE_GLOBAL)) {
            uint64_t slack = align > GLOBAL_ALIGN_BYTES ? align - GLOBAL_ALIGN_BYTES : 0;
            uint64_t start = global_memory_alloc(module->memory, symbol->size_bytes + slack);
            if (start == 0)
                return STATUS_NO_MEMORY;
            module->starts[i] = start;
            module->addresses[i] = bits_align_up(start, align);
            memset(global_memory_host(module->memory, start, symbol->size_bytes + slack), 0,
                   symbol->size_bytes + slack);
        }
    }
    if (bank == 0)
        return STATUS_OK;
    module->const_bank = global_memory_alloc(module->memory, bank);
    if (module->const_bank == 0)
        return STATUS_NO_MEMORY;
    module->const_bank_bytes = bank;
    memset(global_memory_host(module->memory, module->const_bank, bank), 0, bank);
    return STATUS_OK;
}

/* Guest address where the variable's bytes are. */
static uint64_t guest_address(const struct exec_module *module, uint32_t index) {
    uint64_t address = module->addresses[index];
    return module->ir->symbols[index].space == SPACE_CONST ? module->const_bank + address : address;
}

/* The value that a name in an initialiser stands for. */
static uint64_t relocation_value(const struct exec_module *module, const struct ir_relocation *r) {
    if (r->symbol < 0)
        return CODE_WINDOW + (uint64_t)r->func * CODE_STEP_BYTES + (uint64_t)r->addend_bytes;
    uint64_t value = module->addresses[r->symbol] + (uint64_t)r->addend_bytes;
    if (r->generic && module->ir->symbols[r->symbol].space == SPACE_CONST)
        value += CONST_WINDOW;
    return value;
}

static void initialise_variables(struct exec_module *module) {
    for (uint32_t i = 0; i < module->ir->symbol_count; i++) {
        const struct ir_symbol *symbol = &module->ir->symbols[i];
        if (!is_variable(symbol, SPACE_CONST) && !is_variable(symbol, SPACE_GLOBAL))
            continue;
        uint8_t *bytes =
            global_memory_host(module->memory, guest_address(module, i), symbol->size_bytes);
        if (symbol->init != NULL)
            memcpy(bytes, symbol->init, symbol->size_bytes);
        unsigned width = ptx_type_bits(symbol->type) == 32 ? 4 : 8;
        for (uint32_t r = 0; r < symbol->relocation_count; r++) {
            uint64_t value = relocation_value(module, &symbol->relocations[r]);
            if (symbol->relocations[r].offset_bytes + width <= symbol->size_bytes)
                memcpy(bytes + symbol->relocations[r].offset_bytes, &value, width);
        }
    }
}

static struct exec_kernel *decode_entry(const struct exec_module *module, struct arena *arena,
                                        uint32_t index, const struct decode_kept *kept,
                                        struct strbuf *log, enum status *status) {
    struct exec_kernel *kernel = decode_kernel(arena, module->ir, (int32_t)index, module->addresses,
                                               module->sm, kept, log, status);
    if (kernel == NULL)
        return NULL;
    kernel->info.const_bytes = (uint32_t)module->const_bank_bytes;
    kernel->const_bank_bytes = (uint32_t)module->const_bank_bytes;
    if (module->const_bank_bytes > 0)
        kernel->const_bank =
            global_memory_host(module->memory, module->const_bank, module->const_bank_bytes);
    return kernel;
}

static enum status decode_entries(struct exec_module *module, struct strbuf *log) {
    static const struct decode_kept none = {NULL, 0};
    enum status worst = STATUS_OK;
    module->kernels = arena_array(&module->arena, module->ir->func_count, sizeof *module->kernels);
    if (module->kernels == NULL)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < module->ir->func_count; i++) {
        if (!module->ir->funcs[i].is_entry || !module->ir->funcs[i].is_defined)
            continue;
        enum status status;
        const struct exec_kernel *kernel =
            decode_entry(module, &module->arena, i, &none, log, &status);
        if (kernel == NULL)
            worst = status;
        else
            module->kernels[module->kernel_count++] = kernel;
    }
    return worst;
}

const struct exec_kernel *exec_kernel_keeping(const struct exec_module *module,
                                              const struct exec_kernel *kernel,
                                              const char *const *names, uint32_t count,
                                              struct arena *arena) {
    const struct decode_kept kept = {names, count};
    const int32_t index = ir_find_func(module->ir, kernel->info.name);
    struct strbuf log = {0};
    enum status status;
    const struct exec_kernel *again =
        decode_entry(module, arena, (uint32_t)index, &kept, &log, &status);
    strbuf_free(&log);
    return again;
}

/* Nothing is linked in: a variable that is only declared has no place. */
static bool all_resolved(const struct ir_module *ir, struct strbuf *log) {
    bool good = true;
    for (uint32_t i = 0; i < ir->symbol_count; i++) {
        const struct ir_symbol *symbol = &ir->symbols[i];
        if (!symbol->is_extern || (symbol->space != SPACE_GLOBAL && symbol->space != SPACE_CONST))
            continue;
        strbuf_printf(log, "%s:%u:%u: error: unresolved extern variable '%s'\n", ir->file,
                      symbol->line, symbol->column, symbol->name);
        ptx_print_line(ir, symbol->line, symbol->column, log);
        good = false;
    }
    return good;
}

static enum status load(struct exec_module *module, const struct exec_device *device,
                        const struct ptx_source *source, struct strbuf *log) {
    enum status status = ptx_parse(&module->arena, source, &module->ir, log);
    if (status != STATUS_OK)
        return status;
    if (!all_resolved(module->ir, log))
        return STATUS_SYNTAX;
    uint32_t count = module->ir->symbol_count;
    module->addresses = arena_array(&module->arena, count, sizeof *module->addresses);
    module->starts = arena_array(&module->arena, count, sizeof *module->starts);
    if (module->addresses == NULL || module->starts == NULL)
        return STATUS_NO_MEMORY;
    status = place_variables(module);
    if (status != STATUS_OK)
        return status;
    initialise_variables(module);
    module->sm = device->sm;
    return decode_entries(module, log);
}

enum status exec_module_load(struct global_memory *memory, const struct exec_device *device,
                             const struct ptx_source *source, struct exec_module **module,
                             struct strbuf *log) {
    struct exec_module *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL)
        return STATUS_NO_MEMORY;
    loaded->memory = memory;
    enum status status = load(loaded, device, source, log);
    if (status != STATUS_OK) {
        exec_module_unload(loaded);
        return status;
    }
    *module = loaded;
    return STATUS_OK;
}

void exec_module_unload(struct exec_module *module) {
    if (module == NULL)
        return;
    for (uint32_t i = 0; module->starts != NULL && i < module->ir->symbol_count; i++)
        if (module->starts[i] != 0)
            global_memory_free(module->memory, module->starts[i]);
    if (module->const_bank != 0)
        global_memory_free(module->memory, module->const_bank);
    arena_free(&module->arena);
    free(module);
}

const struct ir_module *exec_module_ir(const struct exec_module *module) {
    return module->ir;
}

const struct exec_kernel *exec_module_kernel(const struct exec_module *module, const char *name) {
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i]->info.name, name) == 0)
            return module->kernels[i];
    return NULL;
}

const struct exec_kernel *exec_module_kernel_at(const struct exec_module *module, uint32_t index) {
    return index < module->kernel_count ? module->kernels[index] : NULL;
}

bool exec_module_global(const struct exec_module *module, const char *name, uint64_t *address,
                        uint64_t *size_bytes) {
    for (uint32_t i = 0; i < module->ir->symbol_count; i++) {
        const struct ir_symbol *symbol = &module->ir->symbols[i];
        if ((!is_variable(symbol, SPACE_CONST) && !is_variable(symbol, SPACE_GLOBAL)) ||
            symbol->func >= 0 || strcmp(symbol->name, name) != 0)
            continue;
        *address = guest_address(module, i);
        *size_bytes = symbol->size_bytes;
        return true;
    }
    return false;
}

const struct exec_kernel_info *exec_kernel_info(const struct exec_kernel *kernel) {
    return &kernel->info;
}
