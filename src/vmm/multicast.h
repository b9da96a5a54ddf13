/* SPDX-License-Identifier: MIT */
/* Multicast objects: what is known about one. */
#ifndef CULVI_MULTICAST_H_
#define CULVI_MULTICAST_H_

#include "culvert/multicast.h"
#include "vmm/allocation.h"

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
    /* Holds the object's handle; `missing` is how many devices it waits for */
    culv_vmm_allocation *allocation;
    uint64_t granularity; /* the minimum */
    uint32_t num_devices;
    char label[64];
    culvi_mutex lock; /* guards the fields below, and is held across the driver's calls */
    CUdevice members[CULVI_MULTICAST_MEMBERS];
    uint32_t num_members;
    culvi_binding *bindings;
};

/* culvi_fail_cuda(), with its own messages for what is not set up on the system. */
culv_result culvi_multicast_fail(const culv_device *device, const char *label, CUresult r,
                                 const char *call, const char *what);
bool culvi_multicast_has(const culv_multicast *multicast, CUdevice device);
/* Unbinds everything and reports no error. Call it in the device's context. */
void culvi_multicast_unbind_all(culv_multicast *multicast);

#endif
