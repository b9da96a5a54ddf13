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

#include "harness.h"

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

/* Name without cu, version for cuGetProcAddress. Required in every driver that the tests run on. */
#define RAW_CUDA_REQUIRED(X)                                                                       \
    X(Init, 2000)                                                                                  \
    X(DriverGetVersion, 2020)                                                                      \
    X(GetErrorName, 6000)                                                                          \
    X(GetErrorString, 6000)                                                                        \
    X(DeviceGet, 2000)                                                                             \
    X(DeviceGetCount, 2000)                                                                        \
    X(DeviceGetName, 2000)                                                                         \
    X(DeviceGetUuid, 11040)                                                                        \
    X(DeviceGetAttribute, 2000)                                                                    \
    X(DevicePrimaryCtxRetain, 7000)                                                                \
    X(DevicePrimaryCtxRelease, 11000)                                                              \
    X(CtxSetCurrent, 4000)                                                                         \
    X(CtxGetCurrent, 4000)                                                                         \
    X(CtxPushCurrent, 4000)                                                                        \
    X(CtxPopCurrent, 4000)                                                                         \
    X(CtxSynchronize, 2000)                                                                        \
    X(StreamCreate, 2000)                                                                          \
    X(StreamDestroy, 4000)                                                                         \
    X(StreamSynchronize, 2000)                                                                     \
    X(StreamQuery, 2000)                                                                           \
    X(StreamWaitEvent, 3020)                                                                       \
    X(StreamWaitValue64, 11070)                                                                    \
    X(StreamWriteValue64, 11070)                                                                   \
    X(EventCreate, 2000)                                                                           \
    X(EventRecord, 2000)                                                                           \
    X(EventQuery, 2000)                                                                            \
    X(EventSynchronize, 2000)                                                                      \
    X(EventDestroy, 4000)                                                                          \
    X(LaunchHostFunc, 10000)                                                                       \
    X(MemAlloc, 3020)                                                                              \
    X(MemFree, 3020)                                                                               \
    X(MemcpyHtoD, 3020)                                                                            \
    X(MemcpyHtoDAsync, 3020)                                                                       \
    X(MemcpyDtoH, 3020)                                                                            \
    X(MemcpyDtoHAsync, 3020)                                                                       \
    X(MemcpyDtoDAsync, 3020)                                                                       \
    X(MemsetD32Async, 3020)                                                                        \
    X(Memcpy2D, 3020)                                                                              \
    X(Memcpy2DAsync, 3020)                                                                         \
    X(Memcpy3D, 3020)                                                                              \
    X(Memcpy3DAsync, 3020)                                                                         \
    X(Array3DCreate, 3020)                                                                         \
    X(Array3DGetDescriptor, 3020)                                                                  \
    X(ArrayDestroy, 2000)                                                                          \
    X(MipmappedArrayCreate, 5000)                                                                  \
    X(MipmappedArrayGetLevel, 5000)                                                                \
    X(MipmappedArrayDestroy, 5000)                                                                 \
    X(SurfObjectCreate, 5000)                                                                      \
    X(SurfObjectDestroy, 5000)                                                                     \
    X(SurfObjectGetResourceDesc, 5000)                                                             \
    X(TexObjectCreate, 5000)                                                                       \
    X(TexObjectDestroy, 5000)                                                                      \
    X(TexObjectGetResourceDesc, 5000)                                                              \
    X(TexObjectGetTextureDesc, 5000)                                                               \
    X(MemHostAlloc, 2020)                                                                          \
    X(MemFreeHost, 2000)                                                                           \
    X(MemHostRegister, 6050)                                                                       \
    X(MemHostUnregister, 4000)                                                                     \
    X(MemHostGetDevicePointer, 3020)                                                               \
    X(MemcpyPeer, 4000)                                                                            \
    X(MemcpyPeerAsync, 4000)                                                                       \
    X(Memcpy3DPeer, 4000)                                                                          \
    X(Memcpy3DPeerAsync, 4000)                                                                     \
    X(CtxEnablePeerAccess, 4000)                                                                   \
    X(CtxDisablePeerAccess, 4000)                                                                  \
    X(ImportExternalMemory, 10000)                                                                 \
    X(ExternalMemoryGetMappedBuffer, 10000)                                                        \
    X(ExternalMemoryGetMappedMipmappedArray, 10000)                                                \
    X(DestroyExternalMemory, 10000)                                                                \
    X(ImportExternalSemaphore, 10000)                                                              \
    X(SignalExternalSemaphoresAsync, 10000)                                                        \
    X(WaitExternalSemaphoresAsync, 10000)                                                          \
    X(DestroyExternalSemaphore, 10000)                                                             \
    X(ModuleLoad, 2000)                                                                            \
    X(ModuleUnload, 2000)                                                                          \
    X(ModuleGetFunction, 2000)                                                                     \
    X(LaunchKernel, 4000)

/* NULL where the driver has none of them. */
#define RAW_CUDA_OPTIONAL(X)                                                                       \
    X(FuncGetAttribute, 2020)                                                                      \
    X(FuncSetAttribute, 9000)                                                                      \
    X(LaunchKernelEx, 11060)                                                                       \
    X(GraphKernelNodeGetAttribute, 11000)                                                          \
    X(GraphKernelNodeSetAttribute, 11000)                                                          \
    X(IpcGetMemHandle, 4010)                                                                       \
    X(IpcOpenMemHandle, 11000)                                                                     \
    X(IpcCloseMemHandle, 4010)                                                                     \
    X(IpcGetEventHandle, 4010)                                                                     \
    X(IpcOpenEventHandle, 4010)                                                                    \
    X(MemAllocManaged, 6000)                                                                       \
    X(FlushGPUDirectRDMAWrites, 11030)                                                             \
    X(CtxGetFlags, 7000)                                                                           \
    X(DeviceGetDefaultMemPool, 11020)                                                              \
    X(DeviceGetMemPool, 11020)                                                                     \
    X(DeviceSetMemPool, 11020)                                                                     \
    X(MemAllocAsync, 11020)                                                                        \
    X(MemAllocFromPoolAsync, 11020)                                                                \
    X(MemFreeAsync, 11020)                                                                         \
    X(MemPoolCreate, 11020)                                                                        \
    X(MemPoolDestroy, 11020)                                                                       \
    X(MemPoolGetAttribute, 11020)                                                                  \
    X(MemPoolSetAttribute, 11020)                                                                  \
    X(MemPoolExportToShareableHandle, 11020)                                                       \
    X(MemPoolImportFromShareableHandle, 11020)                                                     \
    X(MemPoolExportPointer, 11020)                                                                 \
    X(MemPoolImportPointer, 11020)                                                                 \
    X(MemMapArrayAsync, 11010)                                                                     \
    X(ArrayGetSparseProperties, 11010)                                                             \
    X(MipmappedArrayGetSparseProperties, 11010)                                                    \
    X(ArrayCreate, 3020)                                                                           \
    X(ArrayGetDescriptor, 3020)                                                                    \
    X(TexObjectGetResourceViewDesc, 5000)                                                          \
    X(MulticastCreate, 12010)                                                                      \
    X(MulticastAddDevice, 12010)                                                                   \
    X(MulticastBindMem, 12010)                                                                     \
    X(MulticastBindAddr, 12010)                                                                    \
    X(MulticastUnbind, 12010)                                                                      \
    X(MulticastGetGranularity, 12010)                                                              \
    X(StreamGetId, 12000)                                                                          \
    X(MemHostGetFlags, 2030)                                                                       \
    X(GraphInstantiateWithFlags, 11040)                                                            \
    X(ModuleGetGlobal, 3020)                                                                       \
    X(ModuleLoadDataEx, 2010)                                                                      \
    X(LibraryLoadData, 12000)                                                                      \
    X(LibraryUnload, 12000)                                                                        \
    X(LibraryGetKernel, 12000)                                                                     \
    X(LibraryGetModule, 12000)                                                                     \
    X(KernelGetFunction, 12000)                                                                    \
    X(KernelSetAttribute, 12000)                                                                   \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                             \
    X(OccupancyMaxPotentialBlockSize, 6050)                                                        \
    X(OccupancyAvailableDynamicSMemPerBlock, 10020)                                                \
    X(LaunchCooperativeKernel, 9000)                                                               \
    X(DeviceGetLuid, 10000)                                                                        \
    X(ArrayGetPlane, 11020)                                                                        \
    X(DeviceGetP2PAttribute, 8000)                                                                 \
    X(DeviceCanAccessPeer, 4000)                                                                   \
    X(CtxCreate, 3020)                                                                             \
    X(CtxGetId, 12000)                                                                             \
    X(DevicePrimaryCtxReset, 11000)                                                                \
    X(DevicePrimaryCtxGetState, 7000)                                                              \
    X(CtxDestroy, 4000)                                                                            \
    X(CtxGetLimit, 3010)                                                                           \
    X(CtxSetLimit, 3010)                                                                           \
    X(CtxRecordEvent, 12050)                                                                       \
    X(PointerGetAttribute, 4000)                                                                   \
    X(PointerSetAttribute, 6000)                                                                   \
    X(MemGetHandleForAddressRange, 11070)                                                          \
    X(MemGetAllocationGranularity, 10020)                                                          \
    X(MemAddressReserve, 10020)                                                                    \
    X(MemAddressFree, 10020)                                                                       \
    X(MemCreate, 10020)                                                                            \
    X(MemRelease, 10020)                                                                           \
    X(MemMap, 10020)                                                                               \
    X(MemUnmap, 10020)                                                                             \
    X(MemSetAccess, 10020)                                                                         \
    X(MemExportToShareableHandle, 10020)                                                           \
    X(MemImportFromShareableHandle, 10020)                                                         \
    X(MemGetAccess, 10020)                                                                         \
    X(MemGetAllocationPropertiesFromHandle, 10020)                                                 \
    X(MemRetainAllocationHandle, 11000)                                                            \
    X(MemGetAddressRange, 3020)                                                                    \
    X(MemGetInfo, 3020)                                                                            \
    X(StreamBeginCapture, 10010)                                                                   \
    X(StreamEndCapture, 10000)                                                                     \
    X(ThreadExchangeStreamCaptureMode, 10010)                                                      \
    X(GraphInstantiateWithParams, 12000)                                                           \
    X(GraphLaunch, 10000)                                                                          \
    X(GraphExecDestroy, 10000)                                                                     \
    X(GraphDestroy, 10000)                                                                         \
    X(GraphCreate, 10000)                                                                          \
    X(GraphAddExternalSemaphoresSignalNode, 11020)                                                 \
    X(StreamIsCapturing, 10000)                                                                    \
    X(StreamGetCaptureInfo, 11030)                                                                 \
    X(StreamCreateWithPriority, 5050)                                                              \
    X(CtxGetStreamPriorityRange, 5050)                                                             \
    X(StreamGetPriority, 5050)                                                                     \
    X(GraphClone, 10000)                                                                           \
    X(GraphGetNodes, 10000)                                                                        \
    X(GraphGetEdges, 10000)                                                                        \
    X(GraphNodeGetType, 10000)                                                                     \
    X(GraphAddDependencies, 10000)                                                                 \
    X(GraphAddEmptyNode, 10000)                                                                    \
    X(GraphAddKernelNode, 12000)                                                                   \
    X(GraphKernelNodeGetParams, 12000)                                                             \
    X(GraphKernelNodeSetParams, 12000)                                                             \
    X(GraphExecKernelNodeSetParams, 12000)                                                         \
    X(GraphAddHostNode, 10000)                                                                     \
    X(GraphAddMemsetNode, 10000)                                                                   \
    X(GraphAddMemcpyNode, 10000)                                                                   \
    X(GraphMemcpyNodeGetParams, 10000)                                                             \
    X(GraphMemsetNodeGetParams, 10000)                                                             \
    X(FuncGetModule, 11000)                                                                        \
    X(FuncGetName, 12030)                                                                          \
    X(FuncLoad, 12040)                                                                             \
    X(PointerGetAttributes, 7000)                                                                  \
    X(GraphExecMemcpyNodeSetParams, 10020)                                                         \
    X(GraphExternalSemaphoresSignalNodeGetParams, 11020)                                           \
    X(GraphExternalSemaphoresSignalNodeSetParams, 11020)                                           \
    X(GraphExecExternalSemaphoresSignalNodeSetParams, 11020)                                       \
    X(GraphExternalSemaphoresWaitNodeGetParams, 11020)                                             \
    X(GraphExecExternalSemaphoresWaitNodeSetParams, 11020)                                         \
    X(GraphExecUpdate, 12000)                                                                      \
    X(GraphNodeSetEnabled, 11060)                                                                  \
    X(GraphUpload, 11010)                                                                          \
    X(UserObjectCreate, 11030)                                                                     \
    X(UserObjectRelease, 11030)                                                                    \
    X(GraphRetainUserObject, 11030)                                                                \
    X(GraphDestroyNode, 10000)                                                                     \
    X(GraphAddNode, 12030)                                                                         \
    X(StreamBeginCaptureToGraph, 12030)                                                            \
    X(GraphConditionalHandleCreate, 12030)                                                         \
    X(GraphAddExternalSemaphoresWaitNode, 11020)                                                   \
    X(GLGetDevices, 6050)                                                                          \
    X(GraphicsGLRegisterBuffer, 3000)                                                              \
    X(GraphicsGLRegisterImage, 3000)                                                               \
    X(GraphicsUnregisterResource, 3000)                                                            \
    X(GraphicsResourceSetMapFlags, 6050)                                                           \
    X(GraphicsMapResources, 3000)                                                                  \
    X(GraphicsUnmapResources, 3000)                                                                \
    X(GraphicsResourceGetMappedPointer, 3020)                                                      \
    X(GraphicsResourceGetMappedMipmappedArray, 5000)                                               \
    X(GraphicsSubResourceGetMappedArray, 3000)

/* Controls of the twin (soft/shared/control.h), NULL on NVIDIA's driver. */
#define RAW_CUDA_SOFT(X)                                                                           \
    X(void, Counts, (struct culv_soft_counts * out))                                               \
    X(void, FailAt, (uint64_t n, int error))                                                       \
    X(const char *, FailedCall, (void))                                                            \
    X(int, Delay, (const char *call, unsigned ms))                                                 \
    X(void, Before, (uint64_t n, void (*hook)(void *user, const char *call), void *user))          \
    X(void, PlayVersion, (int version))                                                            \
    X(void, PlayName, (const char *name))                                                          \
    X(void, BarPeers, (int bar))                                                                   \
    X(void, SpoilPeers, (int spoil))                                                               \
    X(void, PlayAttribute, (int attribute, int value))                                             \
    X(int, PlayManaged, (uint64_t address))                                                        \
    X(void, PlayDmaBufPcie, (int answer))                                                          \
    X(void, PlayDmaBufImport, (int takes))                                                         \
    X(void, PlayFabric, (int has_channel))                                                         \
    X(int, DmaBufRange, (int fd, struct culv_soft_dma_buf *out))                                   \
    X(void, RdmaCounts, (struct culv_soft_rdma_counts * out))                                      \
    X(void, PlayLuid, (int device, const uint8_t luid[8], unsigned node_mask))                     \
    X(int, BinaryCreate, (const uint8_t device_uuid[16], int *fd))                                 \
    X(int, BinarySignal, (int fd))                                                                 \
    X(int, BinaryWait, (int fd, unsigned timeout_ms))                                              \
    X(int, BinaryLose, (int fd))

struct culv_soft_counts;
struct culv_soft_dma_buf;
struct culv_soft_rdma_counts;

typedef struct raw_cuda {
    void *library;
    bool software; /* the twin, posing as libcuda.so.1 or under its own name */
    int driver_version;
    int device_count;
#define RAW_CUDA_FIELD(name, version) PFN_cu##name##_v##version name;
    RAW_CUDA_REQUIRED(RAW_CUDA_FIELD)
    RAW_CUDA_OPTIONAL(RAW_CUDA_FIELD)
#undef RAW_CUDA_FIELD
    PFN_cuDeviceGetUuid_v9020 DeviceGetUuid_v1;
    raw_cuda_logs_register_fn LogsRegisterCallback;
    raw_cuda_logs_unregister_fn LogsUnregisterCallback;
    PFN_cuGetProcAddress_v12000 GetProcAddress;
#define RAW_CUDA_FIELD(result, name, args) result(*Soft##name) args;
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

/* Made, or the case ends; given back by test_settle(). */
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

#endif
