#ifndef SILTWIN_MODULE_H
#define SILTWIN_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "driver.h"

/* A module loaded from PTX text, and what its compiler said. */
struct module {
    const struct driver *driver;
    CUmodule handle;
    char *log; /* the JIT's text: errors first, then its information; "" when it said nothing */
};

/* Loads zero-terminated PTX text into the current context. On failure `error` names the result and
 * `module->log` still holds the whole log, for the caller to print; give it back with
 * module_unload in either case. */
bool module_load(const struct driver *driver, const char *text, struct module *module,
                 struct host_error *error);

/* The kernel of that name; NULL with `error` when the module has none. */
CUfunction module_function(const struct module *module, const char *name, struct host_error *error);

/* Address and size of a .global or .const symbol. */
bool module_global(const struct module *module, const char *name, CUdeviceptr *address,
                   size_t *bytes, struct host_error *error);

/* Unloads and frees; a zeroed or failed module is fine. */
void module_unload(struct module *module);

#endif
