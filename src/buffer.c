/* culv_buffer: ranges of an import's one mapping. SPDX-License-Identifier: MIT */
#include "object.h"

#include <inttypes.h>

/* Maps the whole import, once. The caller holds the lock. */
static culv_result map_whole(culv_memory *memory)
{
    culv_device *device = memory->device;
    culvi_scope scope;
    if (memory->base != 0) return CULV_OK;
    culv_result result = culvi_enter(device, &scope, memory->label);
    if (result != CULV_OK) return result;
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC d = {0};
    d.size = memory->size;
    CUresult r = CULVI_CU(device, cuExternalMemoryGetMappedBuffer, (&memory->base, memory->external, &d));
    if (r != CUDA_SUCCESS) {
        memory->base = 0;
        result = culvi_fail_cuda(
            device, memory->label, r, "cuExternalMemoryGetMappedBuffer",
            r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_SIZE : CULV_REASON_DRIVER_REFUSED,
            "the import of %" PRIu64 " bytes could not be mapped; if the allocation is smaller "
            "than that, state VkMemoryAllocateInfo::allocationSize when importing",
            memory->size);
    } else {
        device->counts.mappings++;
    }
    culvi_leave(device, &scope);
    return result;
}

culv_result culv_buffer_map(culv_memory *memory, const culv_buffer_desc *desc, culv_buffer **out)
{
    culv_buffer_desc d;
    if (memory == NULL || out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_buffer_map: %s is NULL", memory == NULL ? "memory" : "out");
    culv_device *device = memory->device;
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_buffer_desc");
    if (result != CULV_OK) return result;
    const char *label = d.label != NULL ? d.label : memory->label;
    if (d.offset >= memory->size || d.size > memory->size - d.offset)
        return culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "the range of %" PRIu64 " bytes at offset %" PRIu64
                          " leaves the allocation, which has %" PRIu64
                          " bytes; the offset is the memoryOffset of vkBindBufferMemory",
                          d.size, d.offset, memory->size);
    culv_buffer *buffer = culvi_alloc(sizeof *buffer);
    if (buffer == NULL) return culvi_fail_host_memory(&device->voice, label);
    culvi_mutex_lock(&device->lock);
    result = map_whole(memory);
    if (result != CULV_OK) {
        culvi_mutex_unlock(&device->lock);
        culvi_free(buffer);
        return result;
    }
    memory->refs++;
    memory->buffers++;
    device->counts.buffers++;
    buffer->memory = memory;
    buffer->size = d.size != 0 ? d.size : memory->size - d.offset;
    buffer->pointer = memory->base + d.offset;
    culvi_label_set(buffer->label, label);
    culvi_mutex_unlock(&device->lock);
    culvi_device_ref(device);
    *out = buffer;
    return CULV_OK;
}

static bool release_buffer(culv_device *device, culvi_retired *self, bool last_try)
{
    culv_buffer *buffer = CULVI_CONTAINER(self, culv_buffer, retired);
    culv_memory *memory = buffer->memory;
    (void)device;
    memory->buffers--;
    memory->refs--;
    culvi_free(buffer);
    culvi_memory_settle(memory, true, last_try);
    return true;
}

void culvi_buffer_give_up(culv_buffer *buffer, bool has_last_use, CUstream last_use)
{
    culv_device *device = buffer->memory->device;
    buffer->retired.release = release_buffer;
    culvi_mutex_lock(&device->lock);
    device->counts.buffers--;
    culvi_retire(device, &buffer->retired, has_last_use, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

static void unmap(culv_buffer **buffer, const char *call, bool has_last_use, CUstream last_use)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_buffer *mine = *buffer;
    if (culvi_refuse_owned(mine->memory->device, mine->label, mine->owned, call, "culv_vk_buffer_destroy"))
        return;
    *buffer = NULL;
    culvi_buffer_give_up(mine, has_last_use, last_use);
}

void culv_buffer_unmap(culv_buffer **buffer)
{
    unmap(buffer, "culv_buffer_unmap", false, NULL);
}

void culv_buffer_unmap_after(culv_buffer **buffer, CUstream last_use)
{
    unmap(buffer, "culv_buffer_unmap_after", true, last_use);
}

CUdeviceptr culv_buffer_pointer(const culv_buffer *buffer)
{
    return buffer != NULL ? buffer->pointer : 0;
}

uint64_t culv_buffer_size(const culv_buffer *buffer)
{
    return buffer != NULL ? buffer->size : 0;
}
