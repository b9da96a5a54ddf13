/* SPDX-License-Identifier: MIT */
/* Contexts of CUDA in graphics (CIG): recognized, and what is refused in them. */
#ifndef CULVI_CUDA_CIG_H_
#define CULVI_CUDA_CIG_H_

#include "cuda/device.h"

/* Notes whether the device's context is one. */
culv_result culvi_cig_note(culv_device *device);
/* CULV_OK, or why `what` cannot be had in a CIG context. `instead` is what to do. */
culv_result culvi_cig_refuse(const culv_device *device, const char *label, const char *what,
                             const char *instead);

#endif
