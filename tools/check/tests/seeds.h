/* SPDX-License-Identifier: MIT */
/* What the small programs of culvert-check's tests are made of. */
#ifndef SEEDS_H
#define SEEDS_H

#include <volk.h>

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition), exit(1)))
#define VK(call) MUST((call) == VK_SUCCESS)
#define CU(call) MUST((call) == CUDA_SUCCESS)

#define CALLS(X)                                                                                   \
    X(cuInit, cuInit)                                                                              \
    X(cuDeviceGetCount, cuDeviceGetCount)                                                          \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                         \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuCtxSynchronize, cuCtxSynchronize)                                                          \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuStreamWaitEvent, cuStreamWaitEvent)                                                        \
    X(cuEventCreate, cuEventCreate)                                                                \
    X(cuEventRecord, cuEventRecord)                                                                \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                                                       \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                                                         \
    X(cuEventSynchronize, cuEventSynchronize)                                                      \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile)                                                \
    X(cuLibraryGetKernel, cuLibraryGetKernel)                                                      \
    X(cuMemsetD8, cuMemsetD8_v2)                                                                   \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                               \
    X(cuMemcpy2D, cuMemcpy2D_v2)                                                                   \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2)                                                         \
    X(cuGraphCreate, cuGraphCreate)                                                                \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode)                                                  \
    X(cuGraphInstantiate, cuGraphInstantiateWithFlags)                                             \
    X(cuGraphLaunch, cuGraphLaunch)                                                                \
    X(cuGraphGetNodes, cuGraphGetNodes)                                                            \
    X(cuGraphNodeGetType, cuGraphNodeGetType)                                                      \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2)                                               \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2)                           \
    X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams)                                      \
    X(cuGraphExecUpdate, cuGraphExecUpdate_v2)                                                     \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams,                                              \
      cuGraphExecExternalSemaphoresWaitNodeSetParams)                                              \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams,                                            \
      cuGraphExecExternalSemaphoresSignalNodeSetParams)                                            \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async)                                                        \
    X(cuSurfObjectCreate, cuSurfObjectCreate)                                                      \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2)                                               \
    X(cuStreamEndCapture, cuStreamEndCapture)                                                      \
    X(cuMemAllocHost, cuMemAllocHost_v2)                                                           \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemsetD8Async, cuMemsetD8Async)                                                            \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                     \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2)                                                         \
    X(cuMemCreate, cuMemCreate)                                                                    \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle)                                  \
    X(cuMemAddressReserve, cuMemAddressReserve)                                                    \
    X(cuMemMap, cuMemMap)                                                                          \
    X(cuMemUnmap, cuMemUnmap)                                                                      \
    X(cuMemSetAccess, cuMemSetAccess)                                                              \
    X(cuModuleLoad, cuModuleLoad)                                                                  \
    X(cuModuleGetFunction, cuModuleGetFunction)                                                    \
    X(cuLaunchKernel, cuLaunchKernel)                                                              \
    X(cuImportExternalMemory, cuImportExternalMemory)                                              \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)                            \
    X(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray)            \
    X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel)                                          \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory)                                            \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore)                                        \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync)                            \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync)                                \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore)
struct calls {
#define MEMBER(name, symbol) __typeof__(&symbol) name;
    CALLS(MEMBER)
};
extern struct calls cu;

enum { SIZE = 100003, WIDTH = 61, HEIGHT = 37 };
#define TIMELINE CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD

typedef struct shared {
    VkBuffer buffer;
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    CUexternalMemory import;
    CUdeviceptr pointer;
    CUarray array;
} shared;

typedef struct timeline {
    VkSemaphore vulkan;
    CUexternalSemaphore cuda;
} timeline;

typedef struct seed {
    const char *name;
    const char *finding;
    void (*run)(bool wrong);
} seed;

extern const seed seeds_held[];
extern const size_t num_seeds_held;
extern const seed seeds_graphs[];
extern const size_t num_seeds_graphs;
extern const seed seeds_held2[];
extern const size_t num_seeds_held2;
void held2_peer(const char *does, const char *socket);
extern const seed seeds_sets[];
extern const size_t num_seeds_sets;

extern VkInstance instance;
extern VkPhysicalDevice physical;
extern VkDevice device;
extern VkQueue queue;
extern VkCommandPool pool;
extern CUcontext contexts[2]; /* of the Vulkan device, and of another one */
extern CUstream streams[2];
extern unsigned char *bytes; /* SIZE, not pageable */
extern const char *kernels;  /* their directory */

/* The kernels for the driver that runs. */
void kernels_file(char *path, size_t size);
CUfunction function_of(const char *kernel);

/* What vulkan_writes() does besides. */
extern struct also {
    VkBuffer copies_to;                /* it copies to this one, and does not write */
    const VkCuLaunchInfoNVX *launches; /* it runs this, and does not write */
    bool acquires, releases;
    bool kernels;                  /* before open_all(): command buffers may have CUDA's kernels */
    bool presents;                 /* before open_all(): show() needs an X server */
    VkPipelineStageFlags waits_at; /* of each submission; 0: all commands */
} also;

void find_calls(void);
void open_all(void);
shared make_buffer(bool dedicated);
int memory_fd(const shared *s);
CUresult import_memory(CUexternalMemory *out, int fd, unsigned long long size, unsigned flags);
CUresult map(CUdeviceptr *out, CUexternalMemory import, unsigned long long offset,
             unsigned long long size);
shared share_buffer(void);
VkImage make_image(uint32_t levels, VkImageUsageFlags usage);
shared share_image(void);
shared share_allocation(int *fd);
timeline make_timeline(int *fd);
timeline make_timeline_at(uint64_t initial, int *fd);
CUresult import_semaphore(CUexternalSemaphore *out, int fd, CUexternalSemaphoreHandleType type);
timeline share_timeline(void);
CUresult cuda_signals(const timeline *t, uint64_t value, int stream);
void cuda_waits(const timeline *t, uint64_t value, int stream);
void cuda_reads(const shared *s);
void cuda_writes(const shared *s);
void cuda_adds(const shared *s);
void vulkan_takes(const shared *s, const timeline *t, uint64_t after);
void show(const timeline *t, uint64_t after, uint64_t signal);
VkCommandBuffer begin(void);
void end_and_submit(VkCommandBuffer commands, const timeline *t, uint64_t after, uint64_t signal);
void change_layout(VkCommandBuffer commands, const shared *s, VkImageLayout from, VkImageLayout to,
                   int transfer);
void copy_picture(VkCommandBuffer commands, const shared *s, VkImageLayout layout, VkBuffer to);
void cuda_paints(const shared *s);
VkSemaphore make_binary(void);
void binary_waits(void);
void vulkan_writes(const shared *s, const timeline *t, uint64_t after, uint64_t signal);
void all_done(void);

#endif
