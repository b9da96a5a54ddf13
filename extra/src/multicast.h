/* SPDX-License-Identifier: MIT */
/* Multicast objects: what is known about one. */
#ifndef CULVI_X_MULTICAST_H_
#define CULVI_X_MULTICAST_H_

#include "culvert/extra/multicast.h"

#include "inside.h"

#include <stdatomic.h>

enum { CULVI_MULTICAST_MEMBERS = 64 }; /* GPUs of one process */

/* What a device has bound where; CUDA requires the same values for unbinding. */
typedef struct culvi_binding {
    struct culvi_binding *next;
    CUdevice device;
    uint64_t offset;
    uint64_t size;
} culvi_binding;

struct culv_multicast {
    culv_device *device; /* the calls are made in its context; the allocation keeps it */
    culv_vmm_allocation *allocation; /* holds the object's handle */
    culv_vmm_allocation_info info;   /* of that */
    atomic_uint missing;             /* devices that it waits for */
    uint64_t granularity;            /* the minimum */
    uint32_t num_devices;
    char label[64];
    culvi_x_mutex lock; /* guards the fields below, and is held across the driver's calls */
    culv_device_caps members[CULVI_MULTICAST_MEMBERS];
    uint32_t num_members;
    culvi_binding *bindings;
};

/* As culvi_x_result(), with its own messages for what is not set up on the system. */
culv_result culvi_multicast_result(culv_device *device, const char *label, CUresult r,
                                   const char *call, const char *what);
/* Whether both are served by one driver. */
bool culvi_multicast_same_driver(culv_device *a, culv_device *b);
/* Unbinds everything and reports no error. `entered`: in the device's context; otherwise it is
 * lost, and what is bound goes with the object. */
void culvi_multicast_unbind_all(culv_multicast *multicast, bool entered);

#endif
