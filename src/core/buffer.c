/* SPDX-License-Identifier: MIT */
/* culv_buffer: ranges of an import's one mapping. */
#include "core/memory.h"

#include "core/staging.h"

/* Registered or not, the pages are unregistered with the memory. In the device's context. */
static culv_result register_pages(culv_device *device, culv_memory *memory)
{
    const char *call = "cuMemHostRegister";
    CUresult r = CUDA_SUCCESS;
    if (!memory->registered) {
        r = CULVI_CU(device, cuMemHostRegister,
                     (memory->host, (size_t)memory->size,
                      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
        memory->registered = r == CUDA_SUCCESS;
        device->counts.mappings += memory->registered;
    }
    if (r == CUDA_SUCCESS) {
        r = CULVI_CU_AS(call, device, cuMemHostGetDevicePointer, (&memory->base, memory->host, 0));
        if (r == CUDA_SUCCESS) return CULV_OK;
        memory->base = 0;
    }
    return culvi_fail_cuda(
        device, memory->label, r, call, CULV_REASON_DRIVER_REFUSED,
        "%" PRIu64 " bytes of host memory at %p could not be pinned for CUDA%s", memory->size,
        memory->host,
        r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
            ? "; CUDA has pinned them already (cuMemHostRegister, cuMemHostAlloc or another buffer): unregister them first, or use other memory"
            : "");
}

culv_result culvi_memory_map(culv_memory *memory)
{
    culv_device *device = memory->device;
    culvi_scope scope;
    if (memory->base != 0 && !culvi_lost(device)) return CULV_OK;
    culv_result result = culvi_enter(device, &scope, memory->label);
    if (result != CULV_OK) return result;
    if (memory->host != NULL || memory->way == CULVI_MEMORY_PLACED) {
        result = memory->host != NULL ? register_pages(device, memory) : culvi_memory_place(memory);
        culvi_leave(device, &scope);
        return result;
    }
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC d = {0};
    d.size = memory->size;
    CUresult r = memory->own ? CULVI_CU(device, cuMemAlloc, (&memory->base, memory->size))
                             : CULVI_CU(device, cuExternalMemoryGetMappedBuffer,
                                        (&memory->base, memory->external, &d));
    if (r == CUDA_SUCCESS && memory->own) {
        device->counts.allocations++;
    } else if (r == CUDA_SUCCESS) {
        device->counts.mappings++;
        culvi_tree_add(&device->mapped, &memory->mapped, memory->base, 0);
    } else {
        memory->base = 0;
    }
    if (r != CUDA_SUCCESS && memory->own)
        result = culvi_fail_cuda(device, memory->label, r, "cuMemAlloc", CULV_REASON_DRIVER_REFUSED,
                                 "%" PRIu64 " bytes of device memory could not be allocated",
                                 memory->size);
    else if (r == CUDA_ERROR_OUT_OF_MEMORY)
        result = culvi_fail_cuda(
            device, memory->label, r, "cuExternalMemoryGetMappedBuffer", CULV_REASON_DRIVER_REFUSED,
            "the import of %" PRIu64 " bytes could not be mapped", memory->size);
    else if (r != CUDA_SUCCESS)
        result = culvi_fail_cuda(
            device, memory->label, r, "cuExternalMemoryGetMappedBuffer",
            r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
            "the import of %" PRIu64
            " bytes could not be mapped; if the allocation is smaller, pass its own size (%s) when importing",
            memory->size, memory->words->size);
    culvi_leave(device, &scope);
    return result;
}

culv_result culvi_buffer_range(culv_memory *memory, uint64_t offset, uint64_t size,
                               const char *label, bool is_tensor, culv_buffer **out)
{
    culv_device *device = memory->device;
    CULVI_NEW(culv_buffer, buffer, &device->voice, label);
    culvi_mutex_lock(&device->lock);
    CULVI_TRY_OR(device->suspended ? culvi_fail_suspended(device, label) : culvi_memory_map(memory),
                 culvi_mutex_unlock(&device->lock);
                 culvi_free(buffer));
    memory->refs++;
    if (!is_tensor) memory->holders++;
    memory->buffers++;
    device->counts.buffers++;
    buffer->memory = memory;
    buffer->size = size;
    buffer->pointer = memory->base + offset;
    buffer->is_tensor = is_tensor;
    CULVI_LIST_ADD(memory->first_buffer, buffer);
    culvi_label_set(buffer->label, label);
    culvi_mutex_unlock(&device->lock);
    culvi_device_ref(device);
    culvi_made(device, &buffer->deferred, "buffer", buffer->label, buffer->size);
    *out = buffer;
    return CULV_OK;
}

/* Nobody knows which of the three numbers is wrong, so each is named by its field. */
static culv_result refuse_range(const culv_memory *memory, const culv_buffer_desc *d,
                                const char *label)
{
    const culvi_words *words = memory->words;
    return culvi_fail(
        &memory->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
        "culv_buffer_desc.offset is %" PRIu64 " and its size %" PRIu64
        ", which leaves the memory of %" PRIu64
        " bytes (%s.%s); offset is where the buffer was bound (%s), size is the buffer's, and the memory's is that of the whole allocation (%s)",
        d->offset, d->size, memory->size, words->memory_desc, words->memory_size,
        words->buffer_offset, words->size);
}

culv_result culv_buffer_map(culv_memory *memory, const culv_buffer_desc *desc, culv_buffer **out)
{
    CULVI_REQUIRE2(NULL, memory, out);
    culv_device *device = memory->device;
    CULVI_READ(&device->voice, culv_buffer_desc, d, desc);
    const char *label = d.label != NULL ? d.label : memory->label;
    if (d.offset >= memory->size || d.size > memory->size - d.offset)
        return refuse_range(memory, &d, label);
    return culvi_buffer_range(memory, d.offset, d.size != 0 ? d.size : memory->size - d.offset,
                              label, false, out);
}

static bool release_buffer(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_buffer *buffer = CULVI_CONTAINER(self, culv_buffer, deferred);
    culv_memory *memory = buffer->memory;
    if (buffer->staging != NULL &&
        !culvi_staging_release(device, memory, &buffer->staging, last_try))
        return false;
    CULVI_LIST_REMOVE(buffer);
    memory->buffers--;
    memory->refs--;
    culvi_free(buffer);
    culvi_memory_release_unused(memory, true, last_try);
    return true;
}

void culvi_buffer_release_or_defer(culv_buffer *buffer, const CUstream *last_use)
{
    culv_device *device = buffer->memory->device;
    buffer->deferred.release = release_buffer;
    culvi_mutex_lock(&device->lock);
    device->counts.buffers--;
    if (!buffer->is_tensor) culvi_memory_drop_holder(buffer->memory);
    culvi_release_or_defer(device, &buffer->deferred, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

culv_result culv_buffer_unmap(culv_buffer **buffer, const CUstream *last_use)
{
    if (buffer == NULL || *buffer == NULL) return CULV_OK;
    culv_buffer *mine = *buffer;
    if (culvi_refuse_owned(mine->memory->device, mine->label, CULVI_CUDA_HALF,
                           mine->owner_destroy_call, __func__))
        return CULV_ERROR_INVALID;
    *buffer = NULL;
    culvi_buffer_release_or_defer(mine, last_use);
    return CULV_OK;
}

CULVI_GETTER(CUdeviceptr, culv_buffer_pointer, culv_buffer, self->pointer, 0)
CULVI_GETTER(uint64_t, culv_buffer_size, culv_buffer, self->size, 0)
CULVI_GETTER(culv_memory_kind, culv_buffer_memory_kind, culv_buffer, self->memory->kind,
             CULV_MEMORY_KIND_UNKNOWN)
