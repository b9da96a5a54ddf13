/* culv_memory and culv_buffer: imports, and ranges of their one mapping. SPDX-License-Identifier: MIT */
#include "culvert/memory.h"

#include "object.h"

#include <inttypes.h>

/* Frees the mapping once no buffer needs it, then the import once nobody holds it, then the object. The
 * caller holds the lock and has entered the context. False: the driver refused, try again. */
static bool settle(culv_memory *memory, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->buffers == 0 && memory->base != 0) {
        CUresult r = CULVI_RELEASE(device, cuMemFree, (memory->base));
        if (!culvi_release_done(device, "cuMemFree", r, last_try)) return false;
        memory->base = 0;
        device->counts.mappings--;
    }
    if (memory->refs > 0) return true;
    CUresult r = CULVI_RELEASE(device, cuDestroyExternalMemory, (memory->external));
    if (!culvi_release_done(device, "cuDestroyExternalMemory", r, last_try)) return false;
    device->counts.memories--;
    culvi_free(memory);
    return true;
}

static bool release_memory(culv_device *device, culvi_retired *self, bool last_try)
{
    culv_memory *memory = CULVI_CONTAINER(self, culv_memory, retired);
    (void)device;
    memory->waiting = false;
    if (settle(memory, last_try)) return true;
    memory->waiting = true;
    return false;
}

/* Settles now, or leaves it to a later call. Without a context it can only be left. */
static void settle_or_wait(culv_memory *memory, bool entered, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->waiting || (entered && settle(memory, last_try))) return;
    memory->waiting = true;
    memory->retired.event = NULL;
    memory->retired.release = release_memory;
    culvi_keep(device, &memory->retired);
}

static culv_result import_duplicate(culv_device *device, const culv_memory_desc *desc,
                                    CUexternalMemory *external)
{
    culvi_duplicate duplicate;
    int os_error = 0;
    if (!culvi_handle_duplicate(&desc->handle, &duplicate, &os_error))
        return culvi_fail_native(
            &device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_API_OS, os_error, "fcntl",
            "the file descriptor %d could not be duplicated (errno %d); is the process out of "
            "descriptors?",
            desc->handle.value.fd, os_error);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {0};
    d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    d.handle.fd = duplicate.handle.value.fd;
    d.size = desc->size;
    d.flags = desc->dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
    CUresult r = CULVI_CU(device, cuImportExternalMemory, (external, &d));
    if (r == CUDA_SUCCESS) return CULV_OK;
    culvi_handle_close_refused(&duplicate, &desc->handle);
    return culvi_fail_cuda(
        device, desc->label, r, "cuImportExternalMemory", CULV_REASON_HANDLE_REFUSED,
        "memory of %" PRIu64 " bytes (handle.value.fd %d, %s) could not be imported; it must be an "
        "OPAQUE_FD of a VkDeviceMemory of this very GPU",
        desc->size, desc->handle.value.fd, desc->dedicated ? "dedicated" : "not dedicated");
}

static culv_result check_desc(culv_device *device, const culv_memory_desc *desc)
{
    culv_reason reason = CULV_REASON_NONE;
    char text[256];
    if (desc->size == 0)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_memory_desc.size is 0; it is the whole allocation's size in bytes "
                          "(VkMemoryAllocateInfo::allocationSize)");
    if (!culvi_handle_check(&desc->handle, &reason, text, sizeof text))
        return culvi_fail(&device->voice, desc->label, culvi_handle_class(&desc->handle, reason), reason,
                          "culv_memory_desc.handle: %s", text);
    uint64_t limit = culvi_handle_size_limit(&desc->handle);
    if (desc->size > limit)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_memory_desc.size is %" PRIu64 " bytes, but at most %" PRIu64
                          " are behind file "
                          "descriptor %d; pass VkMemoryAllocateInfo::allocationSize",
                          desc->size, limit, desc->handle.value.fd);
    return culvi_check_exporter(device, desc->label, &desc->exporter, "memory");
}

static culv_result import_memory(culv_device *device, const culv_memory_desc *desc, bool take,
                                 culv_memory **out)
{
    culv_memory_desc d;
    culvi_scope scope;
    if (device == NULL || desc == NULL || out == NULL)
        return culvi_fail(device != NULL ? &device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_memory_import_%s: %s is NULL",
                          take ? "take" : "borrow",
                          device == NULL ? "device"
                          : desc == NULL ? "desc"
                                         : "out");
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_memory_desc");
    if (result == CULV_OK) result = check_desc(device, &d);
    if (result != CULV_OK) return result;
    culv_memory *memory = culvi_alloc(sizeof *memory);
    if (memory == NULL)
        return culvi_fail(&device->voice, d.label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                          "out of host memory");
    memory->device = device;
    memory->size = d.size;
    memory->dedicated = d.dedicated != 0;
    memory->refs = 1;
    culvi_label_set(memory->label, d.label);
    culvi_mutex_lock(&device->lock);
    result = culvi_enter(device, &scope, d.label);
    if (result != CULV_OK) goto unlock;
    result = import_duplicate(device, &d, &memory->external);
    culvi_leave(device, &scope);
    if (result != CULV_OK) goto unlock;
    device->counts.memories++;
    culvi_mutex_unlock(&device->lock);
    culvi_device_ref(device);
    if (take) culvi_handle_close(&d.handle);
    *out = memory;
    return CULV_OK;

unlock:
    culvi_mutex_unlock(&device->lock);
    culvi_free(memory);
    return result;
}

culv_result culv_memory_import_take(culv_device *device, const culv_memory_desc *desc, culv_memory **out)
{
    return import_memory(device, desc, true, out);
}

culv_result culv_memory_import_borrow(culv_device *device, const culv_memory_desc *desc, culv_memory **out)
{
    return import_memory(device, desc, false, out);
}

void culv_memory_destroy(culv_memory **memory)
{
    if (memory == NULL || *memory == NULL) return;
    culv_memory *mine = *memory;
    culv_device *device = mine->device;
    culvi_scope scope;
    *memory = NULL;
    culvi_mutex_lock(&device->lock);
    mine->refs--;
    /* With buffers alive there is nothing to do yet; without, no mapping is left that GPU work could use. */
    if (mine->refs == 0) {
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        settle_or_wait(mine, entered || device->lost, false);
        if (entered) culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

uint64_t culv_memory_size(const culv_memory *memory)
{
    return memory != NULL ? memory->size : 0;
}

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
    if (buffer == NULL)
        return culvi_fail(&device->voice, label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                          "out of host memory");
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
    buffer->offset = d.offset;
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
    settle_or_wait(memory, true, last_try);
    return true;
}

static void give_up(culv_buffer **buffer, bool has_last_use, CUstream last_use)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_buffer *mine = *buffer;
    culv_device *device = mine->memory->device;
    *buffer = NULL;
    mine->retired.release = release_buffer;
    culvi_mutex_lock(&device->lock);
    device->counts.buffers--;
    culvi_retire(device, &mine->retired, has_last_use, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

void culv_buffer_unmap(culv_buffer **buffer)
{
    give_up(buffer, false, NULL);
}

void culv_buffer_unmap_after(culv_buffer **buffer, CUstream last_use)
{
    give_up(buffer, true, last_use);
}

CUdeviceptr culv_buffer_pointer(const culv_buffer *buffer)
{
    return buffer != NULL ? buffer->pointer : 0;
}

uint64_t culv_buffer_size(const culv_buffer *buffer)
{
    return buffer != NULL ? buffer->size : 0;
}
