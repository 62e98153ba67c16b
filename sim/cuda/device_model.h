#ifndef SILTWIN_DEVICE_MODEL_H
#define SILTWIN_DEVICE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec.h"

/* The GPUs that can stand behind device 0. A value that is not known of a model is absent, never
 * guessed. */
struct device_value {
    int attribute, value;
};

struct device_model {
    const char *name;      /* "b200": what SILTWIN_DEVICE says */
    const char *full_name; /* cuDeviceGetName */
    const struct device_value *values;
    size_t value_count;
    uint64_t memory_bytes; /* cuDeviceTotalMem; 0: not known */
    struct exec_device exec;
};

/* The model of that name, NULL for none. */
const struct device_model *device_model_find(const char *name);

/* False when the attribute is not known of this model. */
bool device_model_value(const struct device_model *model, int attribute, int *value);

/* A value that every model has (the tests check which); 0 for any other. */
uint32_t device_model_limit(const struct device_model *model, int attribute);

/* "MULTIPROCESSOR_COUNT" for 16; NULL for a number that is no attribute. */
const char *device_attribute_name(int attribute);

#endif
