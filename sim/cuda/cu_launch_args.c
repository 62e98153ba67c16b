/* The two forms of kernel arguments, and the attributes of a launch. */
#include <string.h>

#include "cu_launch.h"

/* One pointer per parameter, each to the parameter's value. */
static CUresult from_pointers(const struct exec_kernel_info *info, void **params, uint8_t *block) {
    for (uint32_t i = 0; i < info->param_count; i++) {
        if (!params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(block + info->params[i].offset_bytes, params[i], info->params[i].size_bytes);
    }
    return CUDA_SUCCESS;
}

/* The whole block, and its size. A block shorter than the parameters is taken, a longer one refused
 * with 701 (H200); what is missing of a short one reads 0 here. */
static CUresult from_packed(const struct exec_kernel_info *info, void **extra, uint8_t *block) {
    const void *bytes = NULL;
    const size_t *size = NULL;
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!bytes || !size || *size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (*size > info->param_bytes) {
        cu_log("launch of %s refused: a parameter block of %zu bytes, the kernel has %u",
               info->name, *size, info->param_bytes);
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    memcpy(block, bytes, *size);
    return CUDA_SUCCESS;
}

CUresult cu_launch_params(const struct cu_launch *launch, uint8_t *block) {
    const struct exec_kernel_info *info = exec_kernel_info(launch->function->kernel);
    memset(block, 0, info->param_bytes);
    if (launch->params && launch->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (launch->extra && (info->param_count > 0 || launch->extra[0] != CU_LAUNCH_PARAM_END))
        return from_packed(info, launch->extra, block);
    if (info->param_count == 0)
        return CUDA_SUCCESS;
    return launch->params ? from_pointers(info, launch->params, block) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult read_attribute(struct cu_launch *launch, const CUlaunchAttribute *attribute) {
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        launch->cluster[0] = attribute->value.clusterDim.x;
        launch->cluster[1] = attribute->value.clusterDim.y;
        launch->cluster[2] = attribute->value.clusterDim.z;
        launch->explicit_cluster = true;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch->cooperative = attribute->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        /* Both structs begin with the event. */
        launch->events[attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT] =
            attribute->value.programmaticEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return CUDA_SUCCESS; /* about speed, order or placement: the result is the same without */
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return cu_unsupported("cuLaunchKernelEx: device-updatable kernel nodes are not modelled");
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cu_launch_attributes(struct cu_launch *launch, const CUlaunchAttribute *attributes,
                              unsigned count) {
    if (count > 0 && !attributes)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        CUresult code = read_attribute(launch, &attributes[i]);
        if (code != CUDA_SUCCESS)
            return code;
    }
    return CUDA_SUCCESS;
}
