/* SPDX-License-Identifier: MIT */
/* What the twin's own cases share. */
#ifndef CULVERT_TESTS_TWIN_H_
#define CULVERT_TESTS_TWIN_H_

#include "raw_cuda.h"
#include "raw_vulkan.h"

#include "control.h"
#include "pages.h"

/* A local function pointer NAME: cuNAME, looked up as version V. */
#define PROC(driver, name, v)                                                                      \
    PFN_cu##name##_v##v name;                                                                      \
    twin_proc((driver), "cu" #name, v, &name)

void twin_proc(const raw_cuda *cu, const char *name, int version, void *function);

/* The twin with a context, and one stream. */
typedef struct twin {
    const raw_cuda *cu;
    CUcontext context;
    CUstream stream;
} twin;
twin twin_begin(unsigned stream_flags);
/* Destroys all that, and requires that nothing is left in the driver. */
void twin_finish(twin *t);
#define TWIN_CASE(name, ...)                                                                       \
    TEST_ON_(twin, t, *t = twin_begin(TEST_FIRST(__VA_ARGS__)), twin_finish(t), name,              \
             TEST_REST(__VA_ARGS__))

culv_soft_counts twin_counts(const raw_cuda *cu);

/* Vulkan's device of the twin's first one, besides what the options ask for. */
void twin_vulkan_open(raw_vk *vk, raw_vk_options options);

/* Threads of this process; and waits until there are no more than so many. One that was joined may
 * be listed for a moment. */
size_t twin_threads(void);
void twin_require_threads(size_t most);
/* The case `child` says this in one line, and nothing more about CULVERT_SOFT_FAIL_AT, when that is
 * set. NULL: no failure that did not come. */
void twin_child_says(const char *child, const char *fail_at, const char *text);

/* A gate that a stream waits at (a host function) until it is opened. */
typedef struct twin_gate twin_gate;
twin_gate *twin_gate_new(void);
void CUDA_CB twin_gate_wait(void *gate);
void twin_gate_open(twin_gate *gate);
void twin_gate_free(twin_gate *gate);

/* A timeline as the Vulkan layer exports one, for device 0; the fd is the caller's. */
int twin_timeline_fd(const raw_cuda *cu, culv_soft_timeline **page);
void twin_timeline_set(culv_soft_timeline *page, uint64_t value);
/* Waits for a value; false when it did not come in so many milliseconds. */
bool twin_timeline_reaches(culv_soft_timeline *page, uint64_t value, unsigned milliseconds);
/* A file as lavapipe exports one, with `size` bytes of payload (and Mesa's 40 spare ones). */
int twin_memory_fd(uint64_t size, unsigned char **payload);
bool twin_fd_open(int fd);

/* Virtual memory: of a device, made or the case ends, and read and written by a device. */
enum { TWIN_GRANULE = 2 << 20 };
CUmemGenericAllocationHandle twin_memory(const raw_cuda *cu, CUdevice device, size_t size,
                                         CUmemAllocationHandleType types);
CUresult twin_allow(const raw_cuda *cu, CUdevice device, CUdeviceptr pointer, size_t size);

#endif
