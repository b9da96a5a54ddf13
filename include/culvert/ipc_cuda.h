/* SPDX-License-Identifier: MIT */
/* Culvert: objects that CUDA itself can share with other processes: memory of cuMemAlloc, events,
 * and memory pools with their allocations.
 *
 * Programs that allocate by cuMemAlloc or cuMemAllocAsync can offer that memory as it is. In new
 * programs prefer VMM memory (culv_ipc_offer_vmm()): it lives until its last user is done, and
 * graphics APIs can import it. Keep the objects of this header until the other processes have
 * closed them. CUDA does not say what happens otherwise, or if the exporter dies. */
#ifndef CULV_IPC_CUDA_H_
#define CULV_IPC_CUDA_H_

#include "ipc.h"
#include "mem_pool.h"

CULV_EXTERN_C_BEGIN

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUevent_st *CUevent;

/** Opaque: memory of another process's cuMemAlloc, opened in this one. */
typedef struct culv_ipc_cuda_memory culv_ipc_cuda_memory;

/** Bytes of which address and size of CULV_IPC_CUDA_MEMORY must be multiples: CUDA cuts smaller
 * allocations out of such blocks. */
#define CULV_IPC_CUDA_BLOCK UINT64_C(2097152)

/** Offers a whole allocation of cuMemAlloc, whose address and size must be multiples of
 * CULV_IPC_CUDA_BLOCK: CUDA shares whole blocks, so with a smaller allocation the other process
 * would get the rest of the block too. Reads these fields of `info`: name, text, size, element_*.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE: not memory of cuMemAlloc, or
 * not whole blocks of it: the message says what to do; DEVICE_MISMATCH), UNSUPPORTED
 * (DRIVER_TOO_OLD), BUSY (IPC_NAME), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the memory stays yours. Free it when the other processes have closed it.
 * Threads: one at a time.
 * Source: cuda.h, cuIpcGetMemHandle. */
CULV_EXPORT culv_result culv_ipc_offer_cuda_memory(culv_ipc_server *server, CUdeviceptr pointer,
                                                   const culv_ipc_info *info);

/** Offers an event of the server's device, made with CU_EVENT_INTERPROCESS and
 * CU_EVENT_DISABLE_TIMING. Reads the name and the text of `info`. A wait in another process waits
 * for the record that was submitted last before it.
 * Errors: as culv_ipc_offer_cuda_memory(); INVALID (NOT_EXPORTABLE: not made with those flags).
 * Ownership: the event stays yours. Destroy it when the other processes are done with it.
 * Threads: one at a time.
 * Source: cuda.h, cuIpcGetEventHandle. */
CULV_EXPORT culv_result culv_ipc_offer_event(culv_ipc_server *server, CUevent event,
                                             const culv_ipc_info *info);

/** Offers a memory pool that was made for OPAQUE_FD. Reads the name and the text of `info`.
 * Errors: as culv_mem_pool_export_dup(); BUSY (IPC_NAME).
 * Ownership: the pool stays yours. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer_pool(culv_ipc_server *server, culv_mem_pool *pool,
                                            const culv_ipc_info *info);

/** Offers an allocation of a pool that is offered. Reads these fields of `info`: name, text, size,
 * element_*. If there are several pools, name the pool in the text.
 * Errors: as culv_mem_pool_export_pointer(); BUSY (IPC_NAME), INVALID (VALUE).
 * Ownership: the memory stays yours. Free it when the other processes have freed theirs.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer_pool_memory(culv_ipc_server *server, culv_mem_pool *pool,
                                                   CUdeviceptr pointer, const culv_ipc_info *info);

/** Opens received memory of cuMemAlloc in the context of the client's device. Two opens of the same
 * memory have the same address.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the object is of another kind, or the client has no
 * device), UNSUPPORTED (DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED: CUDA does not open memory of the
 * same process or freed memory), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_ipc_cuda_memory_close() before its owner frees it.
 * Threads: any.
 * Source: cuda.h, cuIpcOpenMemHandle. */
CULV_EXPORT culv_result culv_ipc_import_cuda_memory(const culv_ipc_object *object,
                                                    culv_ipc_cuda_memory **out);

/** Returns the memory's address in this process. 0 for NULL.
 * Ownership: the memory's. Threads: any. */
CULV_EXPORT CUdeviceptr culv_ipc_cuda_memory_pointer(const culv_ipc_cuda_memory *memory);

/** Returns the memory's size in bytes, as its owner stated it. 0 for NULL. Threads: any. */
CULV_EXPORT uint64_t culv_ipc_cuda_memory_size(const culv_ipc_cuda_memory *memory);

/** Closes the memory. The GPU's work with it should be done.
 * Threads: any, ordered with other calls on this object.
 * Source: cuda.h, cuIpcCloseMemHandle. */
CULV_EXPORT void culv_ipc_cuda_memory_close(culv_ipc_cuda_memory **memory);

/** Opens a received event in the context of the client's device, for cuStreamWaitEvent,
 * cuEventRecord and cuEventQuery.
 * Errors: as culv_ipc_import_cuda_memory().
 * Ownership: *out is yours, for cuEventDestroy. Threads: any.
 * Source: cuda.h, cuIpcOpenEventHandle. */
CULV_EXPORT culv_result culv_ipc_import_event(const culv_ipc_object *object, CUevent *out);

/** Imports a received pool on the client's device.
 * Errors: as culv_mem_pool_import_borrow(); INVALID (VALUE: the object is of another kind, or the
 * client has no device).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_pool(const culv_ipc_object *object, culv_mem_pool **out);

/** Imports a received allocation of a pool that was imported.
 * Errors: as culv_mem_pool_import_pointer(); INVALID (VALUE: the object is of another kind).
 * Ownership: *out is yours, for culv_mem_pool_free() before its owner frees it. Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object,
                                                    culv_mem_pool *pool, CUdeviceptr *out);

/** Offers VMM memory by its fabric handle: the client gets 64 bytes and no file descriptor. Reads
 * these fields of `info`: name, text, size, element_*. If culv_vmm_allocation_info::handle_types
 * lacks the bit of CULV_HANDLE_FABRIC, use culv_ipc_offer_vmm().
 * Errors: as culv_vmm_export_fabric(); INVALID (STRUCT_SIZE, VALUE), BUSY (IPC_NAME), UNSUPPORTED
 * (NOT_BUILT: on Windows).
 * Ownership: the allocation stays yours. Keep it until the clients have imported it.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer_vmm_fabric(culv_ipc_server *server,
                                                  culv_vmm_allocation *allocation,
                                                  const culv_ipc_info *info);

/** Imports received memory of culv_ipc_offer_vmm_fabric(), on the client's device.
 * Errors: as culv_vmm_import_fabric(); INVALID (VALUE: the object is of another kind, or the client
 * has no device).
 * Ownership: *out is yours, for culv_vmm_allocation_destroy(). Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_vmm_fabric(const culv_ipc_object *object,
                                                   culv_vmm_allocation **out);

/** Offers a memory pool by its fabric handle: the client gets 64 bytes and no file descriptor.
 * Offer its allocations by culv_ipc_offer_pool_memory(). Reads the name and the text of `info`. If
 * culv_mem_pool_handle_types() lacks the bit of CULV_HANDLE_FABRIC, use culv_ipc_offer_pool().
 * Errors: as culv_mem_pool_export_fabric(); INVALID (STRUCT_SIZE, VALUE), BUSY (IPC_NAME).
 * Ownership: the pool stays yours. Keep it until the clients have imported it.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer_pool_fabric(culv_ipc_server *server, culv_mem_pool *pool,
                                                   const culv_ipc_info *info);

/** Imports a received pool of culv_ipc_offer_pool_fabric(), on the client's device.
 * Errors: as culv_mem_pool_import_fabric(); INVALID (VALUE: the object is of another kind, or the
 * client has no device).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_pool_fabric(const culv_ipc_object *object,
                                                    culv_mem_pool **out);

CULV_EXTERN_C_END

#endif
