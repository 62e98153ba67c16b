/* The linker: one PTX text in, the same text out as the image. Programs that compile this way hand
 * the image to cuModuleLoadData, which takes it. Linking several texts is not modelled. */
#include <stdlib.h>
#include <string.h>

#include "cu_functions.h"
#include "cu_image.h"
#include "cu_module.h"

struct link_state {
    CUlinkState handle;
    char *text; /* NULL before the first input */
    struct cu_jit jit;
};

static struct link_state *find(CUlinkState handle) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_LINK, handle);
}

CUresult do_cuLinkCreate_v2(unsigned int option_count, CUjit_option *options, void **values,
                            CUlinkState *handle) {
    struct cu_jit jit;
    CUresult code = cu_jit_read(&jit, option_count, options, values);
    if (code != CUDA_SUCCESS || !handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct link_state *state = calloc(1, sizeof *state);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->handle = cu_handle_new(&cu_root()->handles, CU_KIND_LINK, state);
    if (!state->handle) {
        free(state);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    state->jit = jit;
    *handle = state->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t bytes,
                             const char *name, unsigned int option_count, CUjit_option *options,
                             void **values) {
    struct link_state *state = find(handle);
    struct cu_jit ignored;
    (void)name;
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || bytes == 0 || cu_jit_read(&ignored, option_count, options, values) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_JIT_INPUT_PTX)
        return cu_unsupported("cuLinkAddData: input type %d is not modelled, only PTX text",
                              (int)type);
    if (state->text)
        return cu_unsupported("cuLinkAddData: linking several PTX texts is not modelled");
    state->text = strndup(data, bytes);
    if (!state->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct strbuf log = {0};
    CUresult code = cu_image_check(state->text, cu_root()->model, &log);
    cu_jit_write(&state->jit, code != CUDA_SUCCESS, strbuf_text(&log), 0);
    strbuf_free(&log);
    return code;
}

CUresult do_cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path,
                             unsigned int option_count, CUjit_option *options, void **values) {
    if (!find(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult code = CUDA_SUCCESS;
    char *text = cu_read_file(path, &code);
    if (text)
        code = do_cuLinkAddData_v2(handle, type, text, strlen(text) + 1, path, option_count,
                                   options, values);
    free(text);
    return code;
}

CUresult do_cuLinkComplete(CUlinkState handle, void **image, size_t *bytes) {
    struct link_state *state = find(handle);
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!image || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!state->text)
        return CUDA_ERROR_INVALID_IMAGE;
    *image = state->text; /* the state's own, until it is destroyed */
    *bytes = strlen(state->text) + 1;
    return CUDA_SUCCESS;
}

static void link_free(struct link_state *state) {
    cu_handle_free(&cu_root()->handles, state->handle);
    free(state->text);
    free(state);
}

CUresult do_cuLinkDestroy(CUlinkState handle) {
    struct link_state *state = find(handle);
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    link_free(state);
    return CUDA_SUCCESS;
}

void cu_link_free_all(void) {
    const struct cu_handles *handles = &cu_root()->handles;
    for (uint32_t i = 0; i < handles->count; i++)
        if (handles->slots[i].kind == CU_KIND_LINK)
            link_free(handles->slots[i].object);
}
