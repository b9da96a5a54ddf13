/* SPDX-License-Identifier: MIT */
/* Contexts of CUDA in graphics (CIG): recognized, made, and what is refused in them. */
#ifndef CULVI_CUDA_CIG_H_
#define CULVI_CUDA_CIG_H_

#include "cuda/device.h"

/* Notes whether the device's context is one. */
culv_result culvi_cig_note(culv_device *device);
/* CULV_OK, or why `what` cannot be had in a CIG context. `instead` is what to do. */
culv_result culvi_cig_refuse(const culv_device *device, const char *label, const char *what,
                             const char *instead);
/* Makes one from what the graphics API gave, on the device's GPU. It is not current afterwards. */
culv_result culvi_cig_make(const culv_device *device, const char *label,
                           CUdevice_attribute attribute, CUcigDataType type, void *data,
                           CUcontext *out);
void culvi_cig_unmake(culv_device *device, CUcontext context);

#endif
