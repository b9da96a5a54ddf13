/* culv_memory: imports, and when they go. SPDX-License-Identifier: MIT */
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

void culvi_memory_settle(culv_memory *memory, bool entered, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->waiting || (entered && settle(memory, last_try))) return;
    memory->waiting = true;
    memory->retired.event = NULL;
    memory->retired.release = release_memory;
    culvi_keep(device, &memory->retired);
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_memory *memory = object;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {0};
    d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    d.handle.fd = duplicate->value.fd;
    d.size = memory->size;
    d.flags = memory->dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
    return CULVI_CU(device, cuImportExternalMemory, (&memory->external, &d));
}

static void describe(const void *object, culvi_text *text)
{
    const culv_memory *memory = object;
    culvi_text_add(text,
                   "it must be an OPAQUE_FD of a VkDeviceMemory of this very GPU, of %" PRIu64
                   " bytes, allocated %s",
                   memory->size, memory->dedicated ? "for one resource (dedicated)" : "as dedicated says");
}

static culv_result check_desc(const culv_device *device, const culvi_import *import,
                              const culv_memory_desc *desc)
{
    if (desc->size == 0)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_memory_desc.size is 0; it is the whole allocation's size in bytes "
                          "(VkMemoryAllocateInfo::allocationSize)");
    culv_result result = culvi_import_check(device, import, &desc->exporter);
    if (result != CULV_OK) return result;
    uint64_t limit = culvi_handle_size_limit(&desc->handle);
    if (desc->size > limit)
        return culvi_fail(&device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_memory_desc.size is %" PRIu64 " bytes, but at most %" PRIu64
                          " are behind file "
                          "descriptor %d; pass VkMemoryAllocateInfo::allocationSize",
                          desc->size, limit, desc->handle.value.fd);
    return CULV_OK;
}

static culv_result import_memory(culv_device *device, const culv_memory_desc *desc, bool take,
                                 culv_memory **out)
{
    culv_memory_desc d;
    if (device == NULL || desc == NULL || out == NULL)
        return culvi_fail(device != NULL ? &device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_memory_import_%s: %s is NULL",
                          take ? "take" : "borrow",
                          device == NULL ? "device"
                          : desc == NULL ? "desc"
                                         : "out");
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_memory_desc");
    if (result != CULV_OK) return result;
    culvi_import import = {.what = "memory",
                           .call = "cuImportExternalMemory",
                           .handle = &d.handle,
                           .label = d.label,
                           .count = &device->counts.memories,
                           .take = take,
                           .give = give,
                           .describe = describe};
    result = check_desc(device, &import, &d);
    if (result != CULV_OK) return result;
    culv_memory *memory = culvi_alloc(sizeof *memory);
    if (memory == NULL) return culvi_fail_host_memory(&device->voice, d.label);
    memory->device = device;
    memory->size = d.size;
    memory->dedicated = d.dedicated != 0;
    memory->refs = 1;
    culvi_label_set(memory->label, d.label);
    result = culvi_import_run(device, &import, memory);
    if (result != CULV_OK) {
        culvi_free(memory);
        return result;
    }
    *out = memory;
    return CULV_OK;
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
    /* With buffers or images alive there is nothing to do yet; without, no mapping is left that GPU work could use. */
    if (mine->refs == 0) {
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        culvi_memory_settle(mine, entered || device->lost, false);
        if (entered) culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

uint64_t culv_memory_size(const culv_memory *memory)
{
    return memory != NULL ? memory->size : 0;
}
