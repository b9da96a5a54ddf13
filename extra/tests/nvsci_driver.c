/* SPDX-License-Identifier: MIT */
/* A libcuda.so.1 that takes NvSci's objects, as drivers of DRIVE and Jetson do: the software twin
 * behind it does the work. An object's memory is registered host memory to the twin; a fence is a
 * host function in its stream. */
#include "played_nvsci.h"

#include "twin_driver.h"

#include <sched.h>
#include <stdatomic.h>

EXPORTED extern nvsci_driver culvNvsciDriver;
nvsci_driver culvNvsciDriver;

typedef struct memory {
    played_buffer *object;
    void *mapped;
} memory;
static memory *last; /* one at a time is enough */

static CUresult answer(void)
{
    const CUresult r = (CUresult)culvNvsciDriver.answer;
    culvNvsciDriver.answer = 0;
    return r;
}

static CUresult CUDAAPI import_memory(CUexternalMemory *out,
                                      const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    if (culvNvsciDriver.answer != 0) return answer();
    played_buffer *object = (played_buffer *)(uintptr_t)desc->handle.nvSciBufObject;
    if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF || object == NULL ||
        object->magic != PLAYED_BUFFER || desc->size != object->size)
        return CUDA_ERROR_INVALID_VALUE;
    memory *m = calloc(1, sizeof *m);
    if (m == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    m->object = object;
    last = m;
    culvNvsciDriver.memories++;
    culvNvsciDriver.perm = object->perm;
    *out = (CUexternalMemory)(void *)m;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI destroy_memory(CUexternalMemory handle)
{
    memory *m = (memory *)(void *)handle;
    if (m->mapped != NULL || m->object->magic != PLAYED_BUFFER) abort(); /* in this order */
    if (m == last) last = NULL;
    free(m);
    culvNvsciDriver.memories--;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI map_buffer(CUdeviceptr *out, CUexternalMemory handle,
                                   const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    TWIN(PFN_cuMemHostRegister_v6050, "cuMemHostRegister", 6050);
    memory *m = (memory *)(void *)handle;
    if (desc->offset != 0 || desc->size > m->object->size) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = real(m->object->memory, (size_t)desc->size, CU_MEMHOSTREGISTER_DEVICEMAP);
    if (r != CUDA_SUCCESS) return r;
    m->mapped = m->object->memory;
    culvNvsciDriver.mappings++;
    *out = (CUdeviceptr)(uintptr_t)m->mapped;
    return CUDA_SUCCESS;
}

static CUresult free_others(CUdeviceptr pointer)
{
    TWIN(PFN_cuMemFree_v3020, "cuMemFree", 3020);
    return real(pointer);
}

static CUresult CUDAAPI free_memory(CUdeviceptr pointer)
{
    TWIN(PFN_cuMemHostUnregister_v4000, "cuMemHostUnregister", 4000);
    if (last == NULL || (CUdeviceptr)(uintptr_t)last->mapped != pointer)
        return free_others(pointer);
    last->mapped = NULL;
    culvNvsciDriver.mappings--;
    return real((void *)(uintptr_t)pointer);
}

static CUresult CUDAAPI map_arrays(CUmipmappedArray *out, CUexternalMemory handle,
                                   const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    TWIN(PFN_cuMipmappedArrayCreate_v5000, "cuMipmappedArrayCreate", 5000);
    (void)handle;
    culvNvsciDriver.levels = desc->numLevels;
    if (desc->numLevels != 1) return CUDA_ERROR_INVALID_VALUE;
    return real(out, &desc->arrayDesc, 1);
}

static CUresult CUDAAPI import_semaphore(CUexternalSemaphore *out,
                                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    if (culvNvsciDriver.answer != 0) return answer();
    played_sync *sync = (played_sync *)(uintptr_t)desc->handle.nvSciSyncObj;
    if (desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC || sync == NULL ||
        sync->magic != PLAYED_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    culvNvsciDriver.semaphores++;
    *out = (CUexternalSemaphore)(void *)sync;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI destroy_semaphore(CUexternalSemaphore semaphore)
{
    (void)semaphore;
    culvNvsciDriver.semaphores--;
    return CUDA_SUCCESS;
}

static void CUDA_CB set_fence(void *user)
{
    played_fence *f = user;
    atomic_store(&f->sync->now, f->value);
    free(f);
}

static void CUDA_CB await_fence(void *user)
{
    played_fence *f = user;
    while (atomic_load(&f->sync->now) < f->value)
        sched_yield();
    free(f);
}

static CUresult enqueue(const played_fence *fence, CUhostFn what, CUstream stream)
{
    TWIN(PFN_cuLaunchHostFunc_v10000, "cuLaunchHostFunc", 10000);
    played_fence *copy = malloc(sizeof *copy);
    if (copy == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *fence;
    CUresult r = real(stream, what, copy);
    if (r != CUDA_SUCCESS) free(copy);
    return r;
}

static CUresult CUDAAPI signals(const CUexternalSemaphore *semaphores,
                                const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params, unsigned count,
                                CUstream stream)
{
    played_fence *fence = params->params.nvSciSync.fence;
    played_sync *sync = (played_sync *)(void *)semaphores[0];
    if (count != 1 || fence == NULL) return CUDA_ERROR_INVALID_VALUE;
    culvNvsciDriver.signal_flags = params->flags;
    *fence = (played_fence){sync, ++sync->next};
    return enqueue(fence, set_fence, stream);
}

static CUresult CUDAAPI waits(const CUexternalSemaphore *semaphores,
                              const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count,
                              CUstream stream)
{
    const played_fence *fence = params->params.nvSciSync.fence;
    if (count != 1 || fence == NULL || fence->sync != (played_sync *)(void *)semaphores[0])
        return CUDA_ERROR_INVALID_VALUE;
    culvNvsciDriver.wait_flags = params->flags;
    return enqueue(fence, await_fence, stream);
}

static CUresult CUDAAPI sync_attributes(void *list, CUdevice device, int flags)
{
    played_list *l = list;
    if (l->magic != PLAYED_LIST) return CUDA_ERROR_INVALID_VALUE;
    l->roles = flags;
    l->device = device;
    return CUDA_SUCCESS;
}

EXPORTED CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **out, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult *status)
{
    PFN_cuImportExternalMemory_v10000 my_import_memory = import_memory;
    PFN_cuDestroyExternalMemory_v10000 my_destroy_memory = destroy_memory;
    PFN_cuExternalMemoryGetMappedBuffer_v10000 my_map_buffer = map_buffer;
    PFN_cuExternalMemoryGetMappedMipmappedArray_v10000 my_map_arrays = map_arrays;
    PFN_cuMemFree_v3020 my_free = free_memory;
    PFN_cuImportExternalSemaphore_v10000 my_import_semaphore = import_semaphore;
    PFN_cuDestroyExternalSemaphore_v10000 my_destroy_semaphore = destroy_semaphore;
    PFN_cuSignalExternalSemaphoresAsync_v10000 my_signals = signals;
    PFN_cuWaitExternalSemaphoresAsync_v10000 my_waits = waits;
    PFN_cuDeviceGetNvSciSyncAttributes_v10020 my_attributes = sync_attributes;
    const own_function own[] = {{"cuImportExternalMemory", &my_import_memory},
                                {"cuDestroyExternalMemory", &my_destroy_memory},
                                {"cuExternalMemoryGetMappedBuffer", &my_map_buffer},
                                {"cuExternalMemoryGetMappedMipmappedArray", &my_map_arrays},
                                {"cuMemFree", &my_free},
                                {"cuImportExternalSemaphore", &my_import_semaphore},
                                {"cuDestroyExternalSemaphore", &my_destroy_semaphore},
                                {"cuSignalExternalSemaphoresAsync", &my_signals},
                                {"cuWaitExternalSemaphoresAsync", &my_waits},
                                {"cuDeviceGetNvSciSyncAttributes", &my_attributes}};
    return find_function(own, sizeof own / sizeof own[0], name, out, version, flags, status);
}
