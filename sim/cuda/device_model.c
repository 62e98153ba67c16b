/* Device models: tables of attribute values and nothing else.
 *
 *   h200   every attribute as its driver gave it (device_h200.def)
 *   h100   what documentation says (device_limits.def)
 *   b200   likewise
 *
 * Not modelled: time. The clock of h100 and b200 is not known; their launches count with 1 GHz,
 * which only %globaltimer and %clock of a kernel can see. */
#include "device_model.h"

#include <string.h>

#include "cuda_abi.h"

static const struct device_value h200_values[] = {
#define MODEL_VALUE(number, value) {number, value},
#include "device_h200.def"
#undef MODEL_VALUE
};

static const struct device_value h100_values[] = {
#define DEVICE_LIMIT(attribute, h100, b200) {CU_DEVICE_ATTRIBUTE_##attribute, h100},
#include "device_limits.def"
#undef DEVICE_LIMIT
};

static const struct device_value b200_values[] = {
#define DEVICE_LIMIT(attribute, h100, b200) {CU_DEVICE_ATTRIBUTE_##attribute, b200},
#include "device_limits.def"
#undef DEVICE_LIMIT
};

#define VALUES(table) .values = table, .value_count = sizeof table / sizeof table[0]

static const struct device_model models[] = {
    {.name = "b200",
     .full_name = "siltwin B200",
     VALUES(b200_values),
     .exec = {.sm = 100, .sm_count = 148, .smem_per_block_bytes = 232448, .clock_khz = 1000000}},
    {.name = "h200",
     .full_name = "siltwin H200",
     VALUES(h200_values),
     .memory_bytes = UINT64_C(150109880320),
     .exec = {.sm = 90, .sm_count = 132, .smem_per_block_bytes = 232448, .clock_khz = 1980000}},
    {.name = "h100",
     .full_name = "siltwin H100",
     VALUES(h100_values),
     .exec = {.sm = 90, .sm_count = 132, .smem_per_block_bytes = 232448, .clock_khz = 1000000}},
};

static const struct {
    int attribute;
    const char *name;
} attribute_names[] = {
#define CU_ATTRIBUTE(name, number) {number, #name},
#include "device_attributes.def"
#undef CU_ATTRIBUTE
};

const struct device_model *device_model_find(const char *name) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

bool device_model_value(const struct device_model *model, int attribute, int *value) {
    for (size_t i = 0; i < model->value_count; i++) {
        if (model->values[i].attribute == attribute) {
            *value = model->values[i].value;
            return true;
        }
    }
    return false;
}

uint32_t device_model_limit(const struct device_model *model, int attribute) {
    int value = 0;
    return device_model_value(model, attribute, &value) && value > 0 ? (uint32_t)value : 0;
}

const char *device_attribute_name(int attribute) {
    for (size_t i = 0; i < sizeof attribute_names / sizeof attribute_names[0]; i++)
        if (attribute_names[i].attribute == attribute)
            return attribute_names[i].name;
    return NULL;
}
