/* SPDX-License-Identifier: MIT */
/* What NVIDIA's driver says of dedicated memory, and what programs make of it. Measured on an H200:
 * a buffer that may be exported prefers a dedicated allocation, and random access to buffers of
 * GiBs in other memory is six times as slow. lavapipe has but one kind; the layer says the same as
 * that driver, and counts which kind was chosen. */
#include <stdlib.h>

#include "soft_vk.h"

/* A buffer that may be shared, or memory that is dedicated. */
typedef struct record {
    struct record *link;
    VkDevice device;
    uint64_t handle;
    bool memory;
} record;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record *buckets[256];

static record **place(VkDevice device, uint64_t handle, bool memory)
{
    record **link = &buckets[(handle >> 4 ^ handle >> 12) % 256];
    while (*link &&
           ((*link)->device != device || (*link)->handle != handle || (*link)->memory != memory))
        link = &(*link)->link;
    return link;
}

/* False: no memory for it, and then it is as if it were not so. */
static bool add(VkDevice device, uint64_t handle, bool memory)
{
    record *made = calloc(1, sizeof(*made));
    if (!made) return false;
    *made = (record){.device = device, .handle = handle, .memory = memory};
    pthread_mutex_lock(&lock);
    record **link = place(device, handle, memory);
    bool is_new = *link == NULL;
    if (is_new) *link = made;
    pthread_mutex_unlock(&lock);
    if (!is_new) free(made);
    return is_new;
}

static bool drop(VkDevice device, uint64_t handle, bool memory)
{
    pthread_mutex_lock(&lock);
    record **link = place(device, handle, memory), *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}

static bool has(VkDevice device, uint64_t handle, bool memory)
{
    pthread_mutex_lock(&lock);
    const bool found = *place(device, handle, memory) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static bool is_shared(const VkBufferCreateInfo *info)
{
    const VkExternalMemoryBufferCreateInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    return shared && (shared->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

void soft_vk_buffer_made(const soft_vk_device *device, const VkBufferCreateInfo *info,
                         VkBuffer buffer)
{
    if (is_shared(info)) (void)add(device->handle, (uint64_t)(uintptr_t)buffer, false);
}

void soft_vk_buffer_gone(const soft_vk_device *device, VkBuffer buffer)
{
    (void)drop(device->handle, (uint64_t)(uintptr_t)buffer, false);
}

void soft_vk_dedicated_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                            VkDeviceMemory memory)
{
    const VkMemoryDedicatedAllocateInfo *dedicated =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    if (!dedicated || (dedicated->buffer == VK_NULL_HANDLE && dedicated->image == VK_NULL_HANDLE))
        return;
    if (add(device->handle, (uint64_t)(uintptr_t)memory, true))
        atomic_fetch_add(&soft_vk_dedicated, 1);
}

void soft_vk_dedicated_gone(const soft_vk_device *device, VkDeviceMemory memory)
{
    if (drop(device->handle, (uint64_t)(uintptr_t)memory, true))
        atomic_fetch_sub(&soft_vk_dedicated, 1);
}

static void prefer(VkMemoryRequirements2 *out)
{
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS)
            ((VkMemoryDedicatedRequirements *)(void *)s)->prefersDedicatedAllocation = VK_TRUE;
}

void soft_vk_prefer_dedicated(const soft_vk_device *device, VkBuffer buffer,
                              VkMemoryRequirements2 *out)
{
    if (device->soft && has(device->handle, (uint64_t)(uintptr_t)buffer, false)) prefer(out);
}

void VKAPI_CALL soft_vk_planned_requirements(VkDevice handle,
                                             const VkDeviceBufferMemoryRequirements *info,
                                             VkMemoryRequirements2 *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    device->next.GetDeviceBufferMemoryRequirements(handle, info, out);
    if (device->soft && is_shared(info->pCreateInfo)) prefer(out);
}
