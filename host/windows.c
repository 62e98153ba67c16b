/* The generic windows of a device, as a kernel sees them. */
#include "windows.h"

#include "buffer.h"
#include "launch.h"
#include "module.h"

/* The oldest target of the devices that siltwin is for: newer ones compile it too. */
static const char text[] = ".version 7.8\n"
                           ".target sm_90\n"
                           ".address_size 64\n"
                           ".visible .entry windows(.param .u64 to)\n"
                           "{\n"
                           "    .reg .b64 %to, %shared, %local;\n"
                           "    ld.param.u64 %to, [to];\n"
                           "    mov.b64 %shared, 0;\n"
                           "    cvta.shared.u64 %shared, %shared;\n"
                           "    mov.b64 %local, 0;\n"
                           "    cvta.local.u64 %local, %local;\n"
                           "    st.global.u64 [%to], %shared;\n"
                           "    st.global.u64 [%to+8], %local;\n"
                           "    ret;\n"
                           "}\n";

static bool ask(const struct driver *driver, const struct module *module, struct windows *windows,
                struct host_error *error) {
    struct buffer words;
    if (!buffer_alloc(driver, sizeof *windows, &words, error))
        return false;
    const uint64_t to = words.address;
    const struct launch_desc launch = {.function = module_function(module, "windows", error),
                                       .grid = {1, 1, 1},
                                       .block = {1, 1, 1},
                                       .params = &to,
                                       .params_bytes = sizeof to};
    const bool ok = launch.function && launch_kernel(driver, &launch, error) == CUDA_SUCCESS &&
                    RESULT_CHECK(error, driver, cuCtxSynchronize, ()) &&
                    buffer_download(&words, 0, windows, sizeof *windows, error);
    buffer_free(&words);
    return ok;
}

bool windows_read(const struct driver *driver, struct windows *windows, struct host_error *error) {
    struct module module = {0};
    const bool ok =
        module_load(driver, text, &module, error) && ask(driver, &module, windows, error);
    module_unload(&module);
    return ok;
}
