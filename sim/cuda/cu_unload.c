/* The end of the library: everything that hangs below the root is given back when the program ends
 * or unloads the library. Calls after that return CUDA_ERROR_DEINITIALIZED. */
#include <stdlib.h>

#include "cu_context.h"
#include "cu_memory.h"
#include "cu_module.h"

__attribute__((destructor)) static void cu_unload(void) {
    struct cu_root *root = cu_root();
    /* A thread that is still in a call keeps its world; the process is about to end. */
    if (pthread_mutex_trylock(&root->lock) != 0)
        return;
    root->ended = true;
    while (root->libraries)
        cu_module_free(root->libraries);
    for (struct cu_context *context = root->contexts, *next; context; context = next) {
        next = context->next;
        if (context->active)
            cu_context_end(context);
    }
    free(root->primary);
    cu_link_free_all();
    cu_allocations_destroy();
    global_memory_destroy(root->memory);
    float_sums_destroy(root->float_sums);
    free(root->handles.slots);
    strbuf_free(&root->last.report);
    root->contexts = root->primary = NULL;
    root->memory = NULL;
    root->float_sums = NULL;
    root->handles = (struct cu_handles){0};
    pthread_mutex_unlock(&root->lock);
}
