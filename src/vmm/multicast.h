/* SPDX-License-Identifier: MIT */
/* Multicast objects: what is known of one. */
#ifndef CULVI_MULTICAST_H_
#define CULVI_MULTICAST_H_

#include "culvert/multicast.h"
#include "vmm/allocation.h"

enum { CULVI_MULTICAST_MEMBERS = 64 }; /* GPUs of one process */

/* What a device has bound where; CUDA wants it unbound by the very same values. */
typedef struct culvi_binding {
    struct culvi_binding *next;
    CUdevice device;
    uint64_t offset;
    uint64_t size;
} culvi_binding;

struct culv_multicast {
    culv_device *device; /* whose context the calls are made in; the allocation keeps it */
    /* Around the object's handle; `missing` is how many devices it waits for */
    culv_vmm_allocation *allocation;
    uint64_t granularity; /* the least */
    uint32_t num_devices;
    char label[64];
    culvi_mutex lock; /* guards what follows, and is held across the driver's calls */
    CUdevice members[CULVI_MULTICAST_MEMBERS];
    uint32_t num_members;
    culvi_binding *bindings;
};

/* Refuses a device without multicast, or a driver without its calls. */
culv_result culvi_multicast_check_device(const culv_device *device, const char *label);
/* culvi_fail_cuda(), with words of its own for what the system has not set up. */
culv_result culvi_multicast_fail(const culv_device *device, const char *label, CUresult r,
                                 const char *call, const char *what);
bool culvi_multicast_has(const culv_multicast *multicast, CUdevice device);
/* Unbinds all, quietly. In the device's context. */
void culvi_multicast_unbind_all(culv_multicast *multicast);

#endif
