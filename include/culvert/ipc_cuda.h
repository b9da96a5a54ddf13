/* SPDX-License-Identifier: MIT */
/* Culvert: objects that CUDA itself can share with other processes: memory of cuMemAlloc, events,
 * and memory pools with their allocations.
 *
 * Programs that allocate by cuMemAlloc or cuMemAllocAsync can offer that memory as it is. In new
 * programs prefer VMM memory (culv_ipc_from_vmm()): it lives until its last user is done, and
 * graphics APIs can import it. Keep the objects of this header until the other processes have
 * closed them. CUDA does not say what happens otherwise, or if the exporter dies. */
#ifndef CULV_IPC_CUDA_H_
#define CULV_IPC_CUDA_H_

#include "ipc.h"
#include "mem_pool.h"

CULV_EXTERN_C_BEGIN

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUevent_st *CUevent;

/** Bytes of which address and size of CULV_IPC_CUDA_MEMORY must be multiples: CUDA cuts smaller
 * allocations out of such blocks. */
#define CULV_IPC_CUDA_BLOCK UINT64_C(2097152)

/** Returns a whole allocation of cuMemAlloc as a source for culv_ipc_offer(). Its address and size
 * must be multiples of CULV_IPC_CUDA_BLOCK: CUDA shares whole blocks, so with a smaller allocation
 * the other process would get the rest of the block too. The call reads these fields of
 * culv_ipc_info: name, text, size, element_*. It refuses other memory (NOT_EXPORTABLE: the message
 * says what to do; DEVICE_MISMATCH), and drivers without IPC (DRIVER_TOO_OLD).
 * Ownership: the memory stays yours. Free it when the other processes have unmapped it
 * (culv_ipc_import_buffer()). Threads: any.
 * Source: cuda.h, cuIpcGetMemHandle. */
CULV_INLINE culv_ipc_source culv_ipc_from_cuda_memory(CUdeviceptr pointer)
{
    culv_ipc_source s = {CULV_IPC_CUDA_MEMORY, NULL, 0};
    s.pointer = pointer;
    return s;
}

/** Returns an event of the server's device as a source. It must be made with CU_EVENT_INTERPROCESS
 * and CU_EVENT_DISABLE_TIMING (else NOT_EXPORTABLE). The call reads the name and the text of
 * culv_ipc_info. A wait in another process waits for the record that was submitted last before it.
 * Ownership: the event stays yours. Destroy it when the other processes are done with it.
 * Threads: any.
 * Source: cuda.h, cuIpcGetEventHandle. */
CULV_INLINE culv_ipc_source culv_ipc_from_event(CUevent event)
{
    culv_ipc_source s = {CULV_IPC_EVENT, NULL, 0};
    s.object = event;
    return s;
}

/** Returns a memory pool as a source, by an OPAQUE_FD or a fabric handle of it
 * (culv_pool_export_dup() of culvert-extra, cuMemPoolExportToShareableHandle). A client gets a
 * fabric handle as 64 bytes. The call reads the name and the text of culv_ipc_info, and refuses
 * other handles (HANDLE_TYPE).
 * Ownership: the handle stays yours; you may close it after the offer. Keep the pool until the
 * clients have imported it (culv_ipc_import_pool()). Threads: any. */
CULV_INLINE culv_ipc_source culv_ipc_from_pool(const culv_handle *handle)
{
    culv_ipc_source s = {CULV_IPC_POOL, NULL, 0};
    s.object = handle;
    return s;
}

/** Returns an allocation of a pool that is offered as a source: its address here, and what was
 * exported of it (culv_pool_export_pointer() of culvert-extra, cuMemPoolExportPointer). The call
 * reads these fields of culv_ipc_info: name, text, size, element_*. If there are several pools,
 * name the pool in the text.
 * Ownership: the memory stays yours. Free it when the other processes have freed theirs. `exported`
 * is read during the offer. Threads: any. */
CULV_INLINE culv_ipc_source culv_ipc_from_pool_memory(CUdeviceptr pointer,
                                                      const culv_mem_pool_pointer *exported)
{
    culv_ipc_source s = {CULV_IPC_POOL_MEMORY, NULL, 0};
    s.object = exported;
    s.pointer = pointer;
    return s;
}

/** Returns VMM memory as a source that goes by its fabric handle: the client gets 64 bytes and no
 * file descriptor. If culv_vmm_allocation_info::handle_types lacks the bit of CULV_HANDLE_FABRIC,
 * use culv_ipc_from_vmm(). The call has the errors of culv_vmm_export_dup().
 * Ownership: the allocation stays yours. Keep it until the clients have imported it
 * (culv_ipc_import_vmm()). Threads: any. */
CULV_INLINE culv_ipc_source culv_ipc_from_vmm_fabric(culv_vmm_allocation *allocation)
{
    culv_ipc_source s = {CULV_IPC_VMM_FABRIC, NULL, 0};
    s.object = allocation;
    return s;
}

/** Opens a received event in the context of the client's device, for cuStreamWaitEvent,
 * cuEventRecord and cuEventQuery.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the object is of another kind, or the client has no
 * device; DEVICE_MISMATCH: this process does not see its GPU), UNSUPPORTED (DRIVER_TOO_OLD), DRIVER
 * (HANDLE_REFUSED: CUDA does not open events of the same process or destroyed ones), ASYNC.
 * Ownership: *out is yours, for cuEventDestroy. Threads: any.
 * Source: cuda.h, cuIpcOpenEventHandle. */
CULV_EXPORT culv_result culv_ipc_import_event(const culv_ipc_object *object, CUevent *out);

/** Imports a received pool on the client's device, also by a fabric handle.
 * Errors: as culv_mem_pool_import(); INVALID (VALUE: the
 * object is of another kind, or the client has no device).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_pool(const culv_ipc_object *object, culv_mem_pool **out);

/** Imports a received allocation of a pool that was imported.
 * Errors: as culv_mem_pool_import_pointer(); INVALID (VALUE: the object is of another kind).
 * Ownership: *out is yours, for cuMemFreeAsync before its owner frees it. Threads: any. */
CULV_EXPORT culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object,
                                                    culv_mem_pool *pool, CUdeviceptr *out);

CULV_EXTERN_C_END

#endif
