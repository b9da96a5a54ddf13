/* SPDX-License-Identifier: MIT */
/* Suspended devices. */
#ifndef CULVI_CORE_SUSPEND_H_
#define CULVI_CORE_SUSPEND_H_

#include "cuda/device.h"

/* An attachment is gone: what it exported cannot be exported again. Takes the lock. */
void culvi_sources_forget(culv_device *device, const void *context);

#endif
