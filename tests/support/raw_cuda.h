/* SPDX-License-Identifier: MIT */
/* The CUDA driver as the tests call it: plain cu* entry points, NVIDIA's or the twin's, opened at
 * run time.
 *
 * const raw_cuda *cu = raw_cuda_open();         // skips the case where there is no driver, see
 *                                               --driver
 * CUcontext context = raw_cuda_context(cu, 0);  // primary context of device 0, current on this
 *                                               thread
 * CU_OK(cu->MemAlloc(&p, size)); */
#ifndef CULVERT_TESTS_RAW_CUDA_H_
#define CULVERT_TESTS_RAW_CUDA_H_

#include "control.h"
#include "harness.h"
#include "raw_cuda_calls.h"

#include <cuda.h>
#include <cudaTypedefs.h>

/* Not in cudaTypedefs.h of CUDA 12.8 (or of any version). */
typedef CUresult(CUDAAPI *PFN_cuCtxRecordEvent_v12050)(CUcontext context, CUevent event);
typedef void(CUDA_CB *raw_cuda_log_fn)(void *data, int level, char *message, size_t length);
typedef CUresult(CUDAAPI *raw_cuda_logs_register_fn)(raw_cuda_log_fn fn, void *data, void **out);
typedef CUresult(CUDAAPI *raw_cuda_logs_unregister_fn)(void *callback);

/* cudaGLTypedefs.h has these, for whoever has OpenGL's headers: GLuint and GLenum are unsigned. */
typedef CUresult(CUDAAPI *PFN_cuGraphicsGLRegisterBuffer_v3000)(CUgraphicsResource *resource,
                                                                unsigned buffer, unsigned flags);
typedef CUresult(CUDAAPI *PFN_cuGraphicsGLRegisterImage_v3000)(CUgraphicsResource *resource,
                                                               unsigned image, unsigned target,
                                                               unsigned flags);
typedef CUresult(CUDAAPI *PFN_cuGLGetDevices_v6050)(unsigned *count, CUdevice *devices,
                                                    unsigned capacity, int list);

typedef struct raw_cuda {
    void *library;
    bool software; /* the twin, posing as libcuda.so.1 or under its own name */
    int driver_version;
    int device_count;
#define RAW_CUDA_FIELD(name, version) PFN_cu##name##_v##version name;
    /* NULL where the driver has none of them: what CUDA 12.0 has, every driver has that has
     * cuGetProcAddress_v2. */
    RAW_CUDA_CALLS(RAW_CUDA_FIELD)
#undef RAW_CUDA_FIELD
    PFN_cuDeviceGetUuid_v9020 DeviceGetUuid_v1;
    PFN_cuStreamBeginCaptureToGraph_v12030 StreamBeginCaptureToGraph;
    raw_cuda_logs_register_fn LogsRegisterCallback;
    raw_cuda_logs_unregister_fn LogsUnregisterCallback;
    PFN_cuGetProcAddress_v12000 GetProcAddress;
    /* Controls of the twin (control.h), NULL on NVIDIA's driver. */
#define RAW_CUDA_FIELD(name) __typeof__(&culvSoft##name) Soft##name;
    RAW_CUDA_SOFT(RAW_CUDA_FIELD)
#undef RAW_CUDA_FIELD
} raw_cuda;

/* Before raw_cuda_open(): the twin is to have two devices. How many NVIDIA's driver has, it has. */
void raw_cuda_two_devices(void);

/* Before raw_cuda_open(), in an "own" case: it calls `look` before cuInit, with the entry points of
 * a driver that it may not take in the end. */
void raw_cuda_before_init(void (*look)(const raw_cuda *cu));

/* The driver that --driver asks for, initialized, with at least one device. One a process. */
const raw_cuda *raw_cuda_open(void);
/* The device's primary context, retained and made current. Release it with
 * DevicePrimaryCtxRelease. */
CUcontext raw_cuda_context(const raw_cuda *cu, CUdevice device);
/* "CUDA_ERROR_..." of a result, the number in words where the driver does not know it. */
const char *raw_cuda_result_name(CUresult result);
/* Loads share/culvert/NAME.fatbin, for the twin NAME.soft.so. */
CUmodule raw_cuda_load(const raw_cuda *cu, const char *name);
CUfunction raw_cuda_function(const raw_cuda *cu, CUmodule module, const char *kernel);

/* cuMemcpyHtoD that is over when it returns: alone it stages pageable memory and may return while
 * the copy is still on its way in the legacy stream (CUDA Driver API, "API synchronization
 * behavior"), for which neither non-blocking streams nor Vulkan wait. */
CUresult raw_cuda_upload(const raw_cuda *cu, CUdeviceptr to, const void *from, size_t size);

/* Imports of opaque fds; the fd belongs to the driver after success. */
CUresult raw_cuda_import_memory(const raw_cuda *cu, int fd, uint64_t size, bool dedicated,
                                CUexternalMemory *out);
CUresult raw_cuda_map_buffer(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                             uint64_t size, CUdeviceptr *out);
CUresult raw_cuda_import_timeline(const raw_cuda *cu, int fd, CUexternalSemaphore *out);
CUresult raw_cuda_import_binary(const raw_cuda *cu, int fd, CUexternalSemaphore *out);
/* value: a timeline's; 0 for a binary semaphore. */
CUresult raw_cuda_signal(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                         CUstream stream);
CUresult raw_cuda_wait(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                       CUstream stream);

/* Of a node in an executable graph, for later launches. */
CUresult raw_cuda_set_signal(const raw_cuda *cu, CUgraphExec exec, CUgraphNode node,
                             CUexternalSemaphore semaphore, uint64_t value);
CUresult raw_cuda_set_wait(const raw_cuda *cu, CUgraphExec exec, CUgraphNode node,
                           CUexternalSemaphore semaphore, uint64_t value);

/* Of device memory; `handle_types` is a CUmemAllocationHandleType. */
CUmemAllocationProp raw_cuda_memory_prop(CUdevice device, unsigned handle_types);
CUmemPoolProps raw_cuda_pool_props(CUdevice device, unsigned handle_types);
CUmemAccessDesc raw_cuda_access(CUdevice device, CUmemAccess_flags flags);

/* The call of this name and version, of which raw_cuda has none; skips where the driver has none.
 * `function` points to a pointer to it. */
void raw_cuda_find(const raw_cuda *cu, const char *name, int version, void *function);

/* A function whose `made` is made by the driver's `call`, or the case ends, and given back by its
 * `end` in test_settle(). */
#define RAW_CUDA_MAKES(type, name, end, call, ...)                                                 \
    static void end_of_##name(const void *of, void *thing)                                         \
    {                                                                                              \
        CU_OK(((const raw_cuda *)of)->end(*(type *)thing));                                        \
    }                                                                                              \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        type made = 0;                                                                             \
        CU_OK(call);                                                                               \
        test_later(end_of_##name, cu, &made, sizeof made);                                         \
        return made;                                                                               \
    }

CUdeviceptr raw_cuda_memory(const raw_cuda *cu, size_t size);
CUstream raw_cuda_stream(const raw_cuda *cu); /* one that does not block */
/* Adds a node whose body runs if a condition holds, as it does at first. Returns the body. */
CUgraph raw_cuda_conditional(const raw_cuda *cu, CUcontext context, CUgraph graph,
                             CUgraphNode *node);
CUevent raw_cuda_event(const raw_cuda *cu, unsigned flags);
CUmodule raw_cuda_module(const raw_cuda *cu, const char *name);
CUarray raw_cuda_array(const raw_cuda *cu, const CUDA_ARRAY3D_DESCRIPTOR *desc);
CUmipmappedArray raw_cuda_mipmap(const raw_cuda *cu, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                                 unsigned levels);
CUexternalMemory raw_cuda_imported(const raw_cuda *cu, int fd, uint64_t size, bool dedicated);
CUdeviceptr raw_cuda_mapped(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                            uint64_t size);

/* On the twin: requires that no object, mapping or fd is left. Nothing to ask on NVIDIA's
 * driver. */
void raw_cuda_require_empty(const raw_cuda *cu);

/* Checkpoints of the process under test: the twin's by itself, on a GPU by a child of the suite's
 * (raw_checkpoint_agent()), since NVIDIA's driver was measured from outside. */
typedef struct raw_checkpoint {
    CUresult lock, checkpoint, restore, unlock; /* all of them are called */
    CUprocessState locked, checkpointed, last;
} raw_checkpoint;

/* Lock, checkpoint, restore, unlock. Skips the case where the driver has no checkpoints. */
raw_checkpoint raw_checkpoint_run(const raw_cuda *cu, const char *agent);
void raw_checkpoint_agent(void);

/* A stage's end: no context is current, the device's is released, and nothing is left. */
void raw_cuda_leave(const raw_cuda *cu, CUdevice device);

void raw_cuda_require(const char *file, int line, const char *text, CUresult actual,
                      CUresult expected);

#define CU_OK(call)         raw_cuda_require(__FILE__, __LINE__, #call, (call), CUDA_SUCCESS)
#define CU_IS(call, result) raw_cuda_require(__FILE__, __LINE__, #call, (call), (result))
/* A driver's call in the context of `s`, which has a `cu` and a `context`. */
#define CU_OK_IN(s, call)                                                                          \
    do {                                                                                           \
        CUcontext before_;                                                                         \
        CU_OK((s)->cu->CtxPushCurrent((s)->context));                                              \
        CU_OK(call);                                                                               \
        CU_OK((s)->cu->CtxPopCurrent(&before_));                                                   \
    } while (0)

#endif
