/* SPDX-License-Identifier: MIT */
/* Images that CUDA misreads, as measured on an H200: LINEAR ones, and of the depth formats all but
 * D32_SFLOAT where the memory is not dedicated to them. Where one is bound, the memory is labeled
 * (shared/labels.h). */
#include "labels.h"
#include "soft_vk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RIGHT, WRONG, WRONG_UNLESS_DEDICATED };

/* Of an image that may be shared, or of memory that is. */
typedef struct record {
    struct record *link;
    VkDevice device;
    uint64_t handle;
    bool memory;
    int kind; /* of memory: 1 if it is dedicated */
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

static void add(VkDevice device, uint64_t handle, bool memory, int kind)
{
    record *made = calloc(1, sizeof(*made));
    if (!made) return; /* then it is never misread */
    *made = (record){.device = device, .handle = handle, .memory = memory, .kind = kind};
    pthread_mutex_lock(&lock);
    record **link = place(device, handle, memory);
    made->link = *link ? (*link)->link : NULL;
    free(*link);
    *link = made;
    pthread_mutex_unlock(&lock);
}

static void drop(VkDevice device, uint64_t handle, bool memory)
{
    pthread_mutex_lock(&lock);
    record **link = place(device, handle, memory), *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&lock);
    free(found);
}

/* False: there is none. */
static bool find(VkDevice device, uint64_t handle, bool memory, int *kind)
{
    pthread_mutex_lock(&lock);
    const record *found = *place(device, handle, memory);
    if (found) *kind = found->kind;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

static int kind_of(const VkImageCreateInfo *info)
{
    if (info->tiling == VK_IMAGE_TILING_LINEAR) return WRONG;
    switch (info->format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_S8_UINT:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT: return WRONG_UNLESS_DEDICATED;
    default: return RIGHT;
    }
}

void soft_vk_image_made(const soft_vk_device *device, const VkImageCreateInfo *info, VkImage image)
{
    const VkExternalMemoryImageCreateInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    if (shared && shared->handleTypes)
        add(device->handle, (uint64_t)(uintptr_t)image, false, kind_of(info));
    soft_vk_view_image_made(device, info, image);
}

void soft_vk_image_gone(const soft_vk_device *device, VkImage image)
{
    drop(device->handle, (uint64_t)(uintptr_t)image, false);
    soft_vk_dma_buf_image_gone(device, image);
    soft_vk_view_image_gone(device, image);
}

/* The file behind such memory; -1: there is none. */
static int file_of(const soft_vk_device *device, VkDeviceMemory memory)
{
    int fd = -1;
    const VkMemoryGetFdInfoKHR which = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                        .memory = memory,
                                        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    return device->next.GetMemoryFdKHR &&
                   device->next.GetMemoryFdKHR(device->handle, &which, &fd) == VK_SUCCESS
               ? fd
               : -1;
}

/* Without a label another GPU's context takes it in no way. */
static void write_memory_label(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                               const VkMemoryDedicatedAllocateInfo *dedicated,
                               VkDeviceMemory memory)
{
    culv_soft_memory_label label = {.size = info->allocationSize};
    const int fd = file_of(device, memory);
    if (fd < 0) return;
    memcpy(label.magic, CULV_SOFT_MEMORY_LABEL_MAGIC, sizeof(label.magic));
    if (dedicated && dedicated->buffer != VK_NULL_HANDLE) label.kind = CULV_SOFT_MEMORY_OF_BUFFER;
    if (dedicated && dedicated->image != VK_NULL_HANDLE) label.kind = CULV_SOFT_MEMORY_OF_IMAGE;
    ssize_t put = pwrite(fd, &label, sizeof(label), CULV_SOFT_MEMORY_LABEL_AT);
    (void)put;
    close(fd);
}

void soft_vk_memory_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                         VkDeviceMemory memory)
{
    const VkExportMemoryAllocateInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    if (!shared || !(shared->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)) return;
    write_memory_label(device, info, dedicated, memory);
    add(device->handle, (uint64_t)(uintptr_t)memory, true,
        dedicated && dedicated->image != VK_NULL_HANDLE);
}

void soft_vk_memory_gone(const soft_vk_device *device, VkDeviceMemory memory)
{
    drop(device->handle, (uint64_t)(uintptr_t)memory, true);
}

/* What was said of another image at this place goes in any case. */
static void write_label(int fd, VkDeviceSize offset, bool wrong)
{
    culv_soft_image_label label;
    if (pread(fd, &label, sizeof(label), CULV_SOFT_IMAGE_LABEL_AT) != (ssize_t)sizeof(label))
        return;
    if (memcmp(label.magic, CULV_SOFT_IMAGE_LABEL_MAGIC, sizeof(label.magic)) != 0 ||
        label.count > CULV_SOFT_IMAGE_LABELS)
        memset(&label, 0, sizeof(label));
    if (label.count == 0 && !wrong) return;
    memcpy(label.magic, CULV_SOFT_IMAGE_LABEL_MAGIC, sizeof(label.magic));
    for (uint64_t i = label.count; i-- > 0;)
        if (label.offsets[i] == offset) label.offsets[i] = label.offsets[--label.count];
    if (wrong && label.count < CULV_SOFT_IMAGE_LABELS) label.offsets[label.count++] = offset;
    ssize_t put = pwrite(fd, &label, sizeof(label), CULV_SOFT_IMAGE_LABEL_AT);
    (void)put;
}

static void bound(const soft_vk_device *device, VkImage image, VkDeviceMemory memory,
                  VkDeviceSize offset)
{
    int kind = RIGHT, dedicated = 0;
    soft_vk_view_image_bound(device, image, memory, offset);
    if (!find(device->handle, (uint64_t)(uintptr_t)image, false, &kind) ||
        !find(device->handle, (uint64_t)(uintptr_t)memory, true, &dedicated))
        return;
    const int fd = file_of(device, memory);
    if (fd < 0) return;
    write_label(fd, offset, kind == WRONG || (kind == WRONG_UNLESS_DEDICATED && !dedicated));
    close(fd);
}

VkResult soft_vk_BindImageMemory(soft_vk_device *device, VkDevice handle, VkImage image,
                                 VkDeviceMemory memory, VkDeviceSize offset)
{
    if (soft_vk_dma_buf_bind(device, image, memory)) return VK_SUCCESS;
    VkResult result = device->next.BindImageMemory(handle, image, memory, offset);
    if (result == VK_SUCCESS) bound(device, image, memory, offset);
    return result;
}

/* Planes that are bound one by one are images of plain formats to CUDA. */
static void all_bound(const soft_vk_device *device, uint32_t count,
                      const VkBindImageMemoryInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        bound(device, infos[i].image, infos[i].memory, infos[i].memoryOffset);
}

VkResult soft_vk_BindImageMemory2(soft_vk_device *device, VkDevice handle, uint32_t count,
                                  const VkBindImageMemoryInfo *infos)
{
    VkResult result = device->next.BindImageMemory2(handle, count, infos);
    if (result == VK_SUCCESS) all_bound(device, count, infos);
    return result;
}

/* What NVIDIA's driver says of dedicated memory, and what programs make of it. Measured on an H200:
 * a buffer that may be exported prefers a dedicated allocation, and random access to buffers of
 * GiBs in other memory is six times as slow. lavapipe has but one kind; the layer says the same as
 * that driver, and counts which kind was chosen. */

/* A buffer that may be shared, or memory that is dedicated. */
typedef struct dedicated_record {
    struct dedicated_record *link;
    VkDevice device;
    uint64_t handle;
    bool memory;
} dedicated_record;

static pthread_mutex_t dedicated_lock = PTHREAD_MUTEX_INITIALIZER;
static dedicated_record *dedicated_buckets[256];

static dedicated_record **dedicated_place(VkDevice device, uint64_t handle, bool memory)
{
    dedicated_record **link = &dedicated_buckets[(handle >> 4 ^ handle >> 12) % 256];
    while (*link &&
           ((*link)->device != device || (*link)->handle != handle || (*link)->memory != memory))
        link = &(*link)->link;
    return link;
}

/* False: no memory for it, and then it is as if it were not so. */
static bool dedicated_add(VkDevice device, uint64_t handle, bool memory)
{
    dedicated_record *made = calloc(1, sizeof(*made));
    if (!made) return false;
    *made = (dedicated_record){.device = device, .handle = handle, .memory = memory};
    pthread_mutex_lock(&dedicated_lock);
    dedicated_record **link = dedicated_place(device, handle, memory);
    bool is_new = *link == NULL;
    if (is_new) *link = made;
    pthread_mutex_unlock(&dedicated_lock);
    if (!is_new) free(made);
    return is_new;
}

static bool dedicated_drop(VkDevice device, uint64_t handle, bool memory)
{
    pthread_mutex_lock(&dedicated_lock);
    dedicated_record **link = dedicated_place(device, handle, memory), *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&dedicated_lock);
    free(found);
    return found != NULL;
}

static bool dedicated_has(VkDevice device, uint64_t handle, bool memory)
{
    pthread_mutex_lock(&dedicated_lock);
    const bool found = *dedicated_place(device, handle, memory) != NULL;
    pthread_mutex_unlock(&dedicated_lock);
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
    if (is_shared(info)) (void)dedicated_add(device->handle, (uint64_t)(uintptr_t)buffer, false);
}

void soft_vk_buffer_gone(const soft_vk_device *device, VkBuffer buffer)
{
    (void)dedicated_drop(device->handle, (uint64_t)(uintptr_t)buffer, false);
}

void soft_vk_dedicated_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                            VkDeviceMemory memory)
{
    const VkMemoryDedicatedAllocateInfo *dedicated =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    if (!dedicated || (dedicated->buffer == VK_NULL_HANDLE && dedicated->image == VK_NULL_HANDLE))
        return;
    if (dedicated_add(device->handle, (uint64_t)(uintptr_t)memory, true))
        atomic_fetch_add(&soft_vk_dedicated, 1);
}

void soft_vk_dedicated_gone(const soft_vk_device *device, VkDeviceMemory memory)
{
    if (dedicated_drop(device->handle, (uint64_t)(uintptr_t)memory, true))
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
    if (device->soft && dedicated_has(device->handle, (uint64_t)(uintptr_t)buffer, false))
        prefer(out);
}

void VKAPI_CALL soft_vk_planned_requirements(VkDevice handle,
                                             const VkDeviceBufferMemoryRequirements *info,
                                             VkMemoryRequirements2 *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    device->next.GetDeviceBufferMemoryRequirements(handle, info, out);
    if (device->soft && is_shared(info->pCreateInfo)) prefer(out);
}
