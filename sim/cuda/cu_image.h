#ifndef SILTWIN_CU_IMAGE_H
#define SILTWIN_CU_IMAGE_H

#include "cuda_abi.h"
#include "device_model.h"
#include "strbuf.h"

/* First look at what a program wants to load, before any parsing: CUDA_SUCCESS when it is PTX text
 * of a version and target that the device takes, else the real driver's code with a line in `log`.
 */
CUresult cu_image_check(const char *image, const struct device_model *model, struct strbuf *log);

#endif
