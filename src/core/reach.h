/* SPDX-License-Identifier: MIT */
/* Whether a device's kernels reach another GPU's memory. */
#ifndef CULVI_CORE_REACH_H_
#define CULVI_CORE_REACH_H_

#include "cuda/device.h"

/* *owner is the ordinal of the device with this UUID; -1: the driver shows none. */
culv_result culvi_reach_ask(const culv_device *device, const culv_uuid *uuid, const char *label,
                            int *owner, bool *reaches);

#endif
