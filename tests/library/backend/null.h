/* SPDX-License-Identifier: MIT */
/* A graphics API that is none, to show what a back-end adds: its memory is a VMM allocation of the
 * CUDA driver's, its timeline a page that only the software twin imports. No Vulkan in it. */
#ifndef CULVERT_TESTS_NULL_H_
#define CULVERT_TESTS_NULL_H_

#include "backend.h"
#include "graphics/pair.h"
#include "raw_cuda.h"

/* The "native" device. */
typedef struct null_native {
    const raw_cuda *cu;
    CUdevice ordinal;
    CUcontext context;
    CUuuid uuid;
    size_t granularity;
    uint8_t uuid_xor;     /* spoils what it tells */
    bool exports_nothing; /* as if it had been made without */
    bool copies_nothing;  /* as an API whose table has no copies */
} null_native;

void null_native_open(null_native *native);
void null_native_close(null_native *native);

/* "Native" memory, with an address for the native side's own reads and writes. */
typedef struct null_memory {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t size;
} null_memory;

CUresult null_memory_create(const null_native *native, uint64_t size, null_memory *out,
                            const char **call);
void null_memory_destroy(const null_native *native, null_memory *memory);
void null_memory_write(const null_native *native, const null_memory *memory, const void *data,
                       size_t size);
void null_memory_read(const null_native *native, const null_memory *memory, void *data,
                      size_t size);

/* "Native" timelines: 0, or an errno. */
typedef struct null_timeline null_timeline;
int null_timeline_create(const null_native *native, uint64_t value, null_timeline **out);
void null_timeline_destroy(null_timeline *timeline);
int null_timeline_fd(const null_timeline *timeline); /* a new one; -1: errno says why */
int null_timeline_value(const null_timeline *timeline, uint64_t *out);
int null_timeline_signal(null_timeline *timeline, uint64_t value);
/* ETIMEDOUT, which is positive, when it took longer. */
int null_timeline_wait(null_timeline *timeline, uint64_t value, uint64_t timeout_ns);

/* The public calls, as an API's header would have them. */
typedef struct null_device null_device;

culv_result null_device_open(null_native *native, culv_device **out);
culv_result null_attach(culv_device *device, null_native *native, uint32_t fallback,
                        null_device **out);
void null_detach(null_device **device);
culv_result null_memory_import(null_device *device, const null_memory *memory, uint64_t size,
                               bool shared, culv_memory **out);
culv_result null_semaphore_import(null_device *device, null_timeline *timeline,
                                  culv_semaphore **out);
culv_result null_buffer_create(null_device *device, uint64_t size, uint32_t fallback,
                               culv_shared_buffer **out);
/* On the HOST path with the copy to or from the pages. */
void null_buffer_write(const culv_shared_buffer *buffer, const void *data, size_t size);
void null_buffer_read(const culv_shared_buffer *buffer, void *data, size_t size);
culv_result null_image_create(null_device *device, const culv_image_desc *desc, uint32_t fallback,
                              culv_shared_image **out);
culv_result null_semaphore_create(null_device *device, uint64_t value, uint32_t fallback,
                                  culv_shared_semaphore **out);
null_timeline *null_semaphore_timeline(const culv_shared_semaphore *semaphore);

/* Its rings, as the table of back-ends has them. */
culv_result null_ring_create(void *attachment, const backend_ring *d, culv_ring **out);
culv_result null_ring_release(culv_ring *ring, culv_ring_frame *frame, uint32_t seed);
bool null_lose(void *attachment, bool told);

#endif
