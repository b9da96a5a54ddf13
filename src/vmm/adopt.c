/* SPDX-License-Identifier: MIT */
/* Adopting: whose chunks lie behind a range of addresses. */
#include "vmm/share.h"

#include "core/memory.h"

/* Chunks --------------------------------------------------------------------------------------- */

static void forget(culvi_adopted_chunk *chunk)
{
    culvi_vmm_allocation_give_up(&chunk->allocation); /* and with it its reference on the device */
    culvi_free(chunk);
}

void culvi_adopted_chunk_unref(culvi_adopted_chunk *chunk)
{
    culv_device *device = chunk->device;
    culvi_mutex_lock(&device->lock);
    const bool last = --chunk->refs == 0;
    if (last) culvi_tree_remove(&device->adopted, &chunk->node);
    culvi_mutex_unlock(&device->lock);
    if (last) forget(chunk);
}

/* A reference to the chunk of this memory at this address; NULL: it is not known. The caller holds
 * the lock. */
static culvi_adopted_chunk *find(culv_device *device, CUdeviceptr base,
                                 CUmemGenericAllocationHandle handle)
{
    culvi_adopted_chunk *chunk = CULVI_TREE_OBJECT(culvi_tree_find(&device->adopted, base, handle),
                                                   culvi_adopted_chunk, node);
    if (chunk != NULL) chunk->refs++;
    return chunk;
}

static culv_result check_chunk(const culv_device *device, CUdeviceptr at,
                               const culv_vmm_allocation *allocation)
{
    const culv_handle_type type = (culv_handle_type)CULVI_HANDLE_OPAQUE;
    CULVI_REFUSE_IF(allocation->usage & CULV_VMM_USAGE_TILE_POOL, &device->voice, NULL,
                    CULV_REASON_USAGE, "culv_vmm_adopt: the memory at %#" PRIx64 " is a tile pool",
                    (uint64_t)at);
    if (allocation->handle_types & (1u << type)) return CULV_OK;
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "culv_vmm_adopt: the memory at %#" PRIx64
        " is of cuMemCreate, but was not made to be exported. Whoever allocates it sets CUmemAllocationProp::requestedHandleTypes to CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR (on Windows CU_MEM_HANDLE_TYPE_WIN32)",
        (uint64_t)at);
}

/* What is mapped at an address. The handle is a new reference. */
typedef struct mapped {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr base;
    size_t size;
} mapped;

/* Runs in the device's context. */
static CUresult look(culv_device *device, CUdeviceptr at, mapped *out, const char **call)
{
    memset(out, 0, sizeof *out);
    *call = "cuMemRetainAllocationHandle";
    CUresult r =
        CULVI_CU(device, cuMemRetainAllocationHandle, (&out->handle, (void *)(uintptr_t)at));
    if (r != CUDA_SUCCESS) return r;
    /* Not cuMemGetAddressRange: it knows no memory that the context's GPU may not access
     * (CUDA_ERROR_NOT_FOUND on two H200s, 580.159.04). */
    *call = "cuPointerGetAttributes";
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                        CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void *values[] = {&out->base, &out->size};
    r = CULVI_CU(device, cuPointerGetAttributes, (2, attributes, values, at));
    if (r != CUDA_SUCCESS) culvi_vmm_release_handle(device, out->handle);
    return r;
}

/* What is mapped at an address of CUDA's. */
typedef enum kind_there {
    NOTHING,
    OF_VMM, /* memory of cuMemCreate */
    OF_POOL,
    OF_HOST, /* page-locked */
    OF_OTHER /* of a context: cudaMalloc's, or imported */
} kind_there;

/* *size: the bytes of the mapping. In the device's context. */
static kind_there ask_address(const culv_device *device, CUdeviceptr address, size_t *size)
{
    uint32_t type = 0;
    CUcontext context = NULL;
    CUmemoryPool pool = NULL;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void *values[] = {&type, &context, &pool, size};
    CUresult r = CULVI_CU(device, cuPointerGetAttributes, (4, attributes, values, address));
    if (r != CUDA_SUCCESS || type == 0) return NOTHING;
    /* Memory of cuMemCreate's is no context's and no pool's (measured). */
    if (pool != NULL) return OF_POOL;
    if (context == NULL) return OF_VMM;
    return type == CU_MEMORYTYPE_HOST ? OF_HOST : OF_OTHER;
}

/* The driver gave no handle of what is mapped there. `gone` says what that means when nothing of
 * cuMemCreate's is. */
static culv_result refuse(culv_device *device, CUdeviceptr at, const char *call, CUresult code,
                          const char *gone)
{
    size_t size = 0;
    const kind_there there = ask_address(device, at, &size);
    if (code != CUDA_ERROR_INVALID_VALUE || there == OF_VMM)
        return culvi_fail_cuda(device, NULL, code, call, CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked what is mapped at %#" PRIx64,
                               (uint64_t)at);
    if (gone != NULL || there == NOTHING)
        return culvi_fail_native(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
                                 CULV_NATIVE_CUDA, code, call, "%s %#" PRIx64 "%s",
                                 gone != NULL
                                     ? "culv_vmm_check_adopted: the chunk at"
                                     : "culv_vmm_adopt: nothing of this device is mapped at",
                                 (uint64_t)at, gone != NULL ? gone : "");
    return culvi_fail_native(
        &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_CUDA,
        code, call,
        "culv_vmm_adopt: %#" PRIx64
        " lies in %zu bytes of %s, which CUDA does not export. PyTorch: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts, or take culv_torch_malloc for a torch.cuda.MemPool. Others: allocate with culv_vector or cuMemCreate, or copy into a buffer of Culvert's",
        (uint64_t)at, size,
        there == OF_POOL                     ? "a pool (cudaMallocAsync)"
        : there == OF_HOST                   ? "page-locked host memory"
        : culvi_memory_is_import(device, at) ? "memory that a graphics API exported"
                                             : "cudaMalloc");
}

/* Makes an object of what is mapped there, and takes its handle, whatever the result is. */
static culv_result make_allocation(culv_device *device, const mapped *there,
                                   culv_vmm_allocation **out)
{
    culv_vmm_allocation *allocation = NULL;
    CUmemAllocationProp prop;
    culv_result result = CULV_OK;
    memset(&prop, 0, sizeof prop);
    CUresult r = CULVI_CU(device, cuMemGetAllocationPropertiesFromHandle, (&prop, there->handle));
    if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(
            device, NULL, r, "cuMemGetAllocationPropertiesFromHandle", CULV_REASON_DRIVER_REFUSED,
            "the driver could not be asked what is mapped at %#" PRIx64, (uint64_t)there->base);
    else if (prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
             prop.location.id != device->ordinal)
        result = culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                            "culv_vmm_adopt: the allocation at %#" PRIx64
                            " lies on CUDA device %d; this device is %d '%s'",
                            (uint64_t)there->base, prop.location.id, (int)device->ordinal,
                            device->caps.name);
    else if ((allocation = culvi_vmm_allocation_new(device, NULL)) == NULL)
        result = CULV_ERROR_OUT_OF_MEMORY;
    CULVI_TRY_OR(result, culvi_vmm_release_handle(device, there->handle));
    allocation->handle = there->handle;
    culvi_vmm_allocation_describe(allocation, &prop);
    allocation->requested = allocation->size = there->size;
    culvi_vmm_allocation_made(allocation);
    result = culvi_vmm_least_granularity(device, allocation->kind, allocation->numa_node,
                                         &allocation->granularity);
    if (result == CULV_OK) result = check_chunk(device, there->base, allocation);
    CULVI_TRY_OR(result, culv_vmm_allocation_destroy(&allocation));
    *out = allocation;
    return CULV_OK;
}

static culv_result make_chunk(culv_device *device, const mapped *there, culvi_adopted_chunk **out)
{
    culv_vmm_allocation *allocation = NULL;
    CULVI_TRY(make_allocation(device, there, &allocation));
    culvi_adopted_chunk *chunk = culvi_alloc_for(&device->voice, NULL, sizeof *chunk);
    if (chunk == NULL) {
        culv_vmm_allocation_destroy(&allocation);
        return CULV_ERROR_OUT_OF_MEMORY;
    }
    chunk->device = device;
    chunk->refs = 1;
    chunk->base = there->base;
    chunk->size = there->size;
    chunk->allocation = allocation;
    allocation->owner_destroy_call = "culv_vmm_adopted_destroy";
    culvi_mutex_lock(&device->lock);
    *out = find(device, there->base, there->handle);
    if (*out == NULL) {
        chunk->id = ++device->adopted_ever;
        culvi_tree_add(&device->adopted, &chunk->node, there->base, there->handle);
        *out = chunk;
    }
    culvi_mutex_unlock(&device->lock);
    if (*out != chunk) forget(chunk); /* another thread was first */
    return CULV_OK;
}

static culv_result chunk_at(culv_device *device, CUdeviceptr at, culvi_adopted_chunk **out)
{
    culvi_scope scope;
    mapped there;
    const char *call = NULL;
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    const CUresult r = look(device, at, &there, &call);
    if (r != CUDA_SUCCESS) {
        result = refuse(device, at, call, r, NULL);
    } else {
        CULVI_LOCKED(&device->lock, *out = find(device, there.base, there.handle));
        if (*out != NULL)
            culvi_vmm_release_handle(device, there.handle);
        else
            result = make_chunk(device, &there, out);
    }
    culvi_leave(device, &scope);
    return result;
}

/* Ranges --------------------------------------------------------------------------------------- */

static culv_result append(culv_vmm_adopted *adopted, culvi_adopted_chunk *chunk)
{
    if (adopted->count == adopted->capacity) {
        const size_t capacity = adopted->capacity != 0 ? adopted->capacity * 2 : 4;
        culvi_adopted_chunk **more = culvi_alloc(capacity * sizeof(culvi_adopted_chunk *));
        if (more == NULL) return culvi_fail_host_memory(&adopted->device->voice, NULL);
        if (adopted->count > 0)
            memcpy(more, adopted->chunks, adopted->count * sizeof(culvi_adopted_chunk *));
        culvi_free(adopted->chunks);
        adopted->chunks = more;
        adopted->capacity = capacity;
    }
    adopted->chunks[adopted->count++] = chunk;
    return CULV_OK;
}

static void free_adopted(culv_vmm_adopted *adopted)
{
    culv_device *device = adopted->device;
    for (size_t i = 0; i < adopted->count; i++)
        culvi_adopted_chunk_unref(adopted->chunks[i]);
    culvi_free(adopted->chunks);
    culvi_free(adopted);
    culvi_device_unref(device);
}

culv_result culv_vmm_adopt(culv_device *device, CUdeviceptr pointer, uint64_t size,
                           culv_vmm_adopted **out)
{
    CULVI_REQUIRE_WITH(device, &device->voice, out);
    if (pointer == 0) return culvi_fail_null(&device->voice, __func__, "pointer");
    CULVI_REFUSE_IF(size == 0 || pointer > UINT64_MAX - size, &device->voice, NULL,
                    CULV_REASON_SIZE,
                    "culv_vmm_adopt: the range has %" PRIu64 " bytes from %#" PRIx64 " on", size,
                    (uint64_t)pointer);
    culv_result result = culvi_vmm_check_device(device, "culv_vmm_adopt");
    if (result != CULV_OK) return result;
    CULVI_NEW(culv_vmm_adopted, adopted, &device->voice, NULL);
    adopted->device = device;
    adopted->size = size;
    culvi_device_ref(device);
    CUdeviceptr at = pointer;
    while (result == CULV_OK && at < pointer + size) {
        culvi_adopted_chunk *chunk = NULL;
        result = chunk_at(device, at, &chunk);
        if (result != CULV_OK) break;
        result = append(adopted, chunk);
        if (result != CULV_OK) {
            culvi_adopted_chunk_unref(chunk);
            break;
        }
        if (adopted->count == 1) adopted->offset = pointer - chunk->base;
        at = chunk->base + chunk->size;
    }
    CULVI_TRY_OR(result, free_adopted(adopted));
    culvi_log_object(&device->voice, "made", "adopted range", NULL, size);
    *out = adopted;
    return CULV_OK;
}

void culv_vmm_adopted_destroy(culv_vmm_adopted **adopted)
{
    CULVI_TAKE(culv_vmm_adopted, mine, adopted);
    culvi_log_object(&mine->device->voice, "destroyed", "adopted range", NULL, mine->size);
    free_adopted(mine);
}

culv_result culv_vmm_check_adopted(const culv_vmm_adopted *adopted)
{
    culvi_scope scope;
    CULVI_REQUIRE(NULL, adopted);
    culv_device *device = adopted->device;
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    for (size_t i = 0; i < adopted->count && result == CULV_OK; i++) {
        const culvi_adopted_chunk *chunk = adopted->chunks[i];
        mapped there;
        const char *call = NULL;
        const CUresult r = look(device, chunk->base, &there, &call);
        if (r != CUDA_SUCCESS) {
            result = refuse(
                device, chunk->base, call, r,
                " was unmapped since it was adopted; destroy the range and its views, and adopt it anew");
            break;
        }
        culvi_vmm_release_handle(device, there.handle);
        if (there.handle != chunk->allocation->handle || there.base != chunk->base)
            result = culvi_fail(
                &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
                "culv_vmm_check_adopted: the chunk of %" PRIu64 " bytes at %#" PRIx64
                " was replaced by other memory since it was adopted; destroy the range and its views, and adopt it anew",
                chunk->size, (uint64_t)chunk->base);
    }
    culvi_leave(device, &scope);
    return result;
}

CULVI_GETTER(uint64_t, culv_vmm_adopted_size, culv_vmm_adopted, self->size, 0)

culv_result culv_vmm_adopted_get_parts(const culv_vmm_adopted *adopted, culv_part *parts,
                                       size_t capacity, size_t *count)
{
    CULVI_REQUIRE_WITH(adopted, &adopted->device->voice, count);
    if (capacity > 0) CULVI_REQUIRE(&adopted->device->voice, parts);
    uint64_t done = 0;
    for (size_t i = 0; i < adopted->count && i < capacity; done += parts[i++].size) {
        const culvi_adopted_chunk *chunk = adopted->chunks[i];
        const uint64_t inner = i == 0 ? adopted->offset : 0, there = chunk->size - inner;
        const uint64_t rest = adopted->size - done;
        parts[i] = (culv_part){.id = chunk->id,
                               .offset = done,
                               .size = there < rest ? there : rest,
                               .inner_offset = inner,
                               .allocation = chunk->allocation};
    }
    *count = adopted->count;
    return CULV_OK;
}
