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

/* What there is of a device: images and buffers that may be shared, and memory that is shared, or
 * dedicated. */
enum of { IMAGE, BUFFER, SHARED_MEMORY, DEDICATED_MEMORY };

typedef struct record {
    struct record *link;
    VkDevice device;
    uint64_t handle;
    enum of of;
    int kind; /* of shared memory: 1 if it is an image's */
} record;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record *buckets[256];

static record **place(VkDevice device, enum of of, uint64_t handle)
{
    record **link = &buckets[(handle >> 4 ^ handle >> 12) % 256];
    while (*link && ((*link)->device != device || (*link)->handle != handle || (*link)->of != of))
        link = &(*link)->link;
    return link;
}

/* False: there was one, whose place it takes, or there is no memory, and then it is as if it were
 * not so. */
static bool add(VkDevice device, enum of of, uint64_t handle, int kind)
{
    record *made = calloc(1, sizeof(*made));
    if (!made) return false;
    *made = (record){.device = device, .handle = handle, .of = of, .kind = kind};
    pthread_mutex_lock(&lock);
    record **link = place(device, of, handle), *before = *link;
    made->link = before ? before->link : NULL;
    *link = made;
    pthread_mutex_unlock(&lock);
    free(before);
    return !before;
}

/* False: there is none. */
static bool drop(VkDevice device, enum of of, uint64_t handle)
{
    pthread_mutex_lock(&lock);
    record **link = place(device, of, handle), *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}

static bool find(VkDevice device, enum of of, uint64_t handle, int *kind)
{
    pthread_mutex_lock(&lock);
    const record *found = *place(device, of, handle);
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
        add(device->handle, IMAGE, (uint64_t)(uintptr_t)image, kind_of(info));
    soft_vk_view_image_made(device, info, image);
}

void soft_vk_image_gone(const soft_vk_device *device, VkImage image)
{
    drop(device->handle, IMAGE, (uint64_t)(uintptr_t)image);
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
    add(device->handle, SHARED_MEMORY, (uint64_t)(uintptr_t)memory,
        dedicated && dedicated->image != VK_NULL_HANDLE);
}

void soft_vk_memory_gone(const soft_vk_device *device, VkDeviceMemory memory)
{
    drop(device->handle, SHARED_MEMORY, (uint64_t)(uintptr_t)memory);
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
    if (!find(device->handle, IMAGE, (uint64_t)(uintptr_t)image, &kind) ||
        !find(device->handle, SHARED_MEMORY, (uint64_t)(uintptr_t)memory, &dedicated))
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

static bool is_shared(const VkBufferCreateInfo *info)
{
    const VkExternalMemoryBufferCreateInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    return shared && (shared->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

void soft_vk_buffer_made(const soft_vk_device *device, const VkBufferCreateInfo *info,
                         VkBuffer buffer)
{
    if (is_shared(info)) add(device->handle, BUFFER, (uint64_t)(uintptr_t)buffer, 0);
}

void soft_vk_buffer_gone(const soft_vk_device *device, VkBuffer buffer)
{
    drop(device->handle, BUFFER, (uint64_t)(uintptr_t)buffer);
}

void soft_vk_dedicated_made(const soft_vk_device *device, const VkMemoryAllocateInfo *info,
                            VkDeviceMemory memory)
{
    const VkMemoryDedicatedAllocateInfo *dedicated =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    if (!dedicated || (dedicated->buffer == VK_NULL_HANDLE && dedicated->image == VK_NULL_HANDLE))
        return;
    if (add(device->handle, DEDICATED_MEMORY, (uint64_t)(uintptr_t)memory, 0))
        atomic_fetch_add(&soft_vk_dedicated, 1);
}

void soft_vk_dedicated_gone(const soft_vk_device *device, VkDeviceMemory memory)
{
    if (drop(device->handle, DEDICATED_MEMORY, (uint64_t)(uintptr_t)memory))
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
    int kind;
    if (device->soft && find(device->handle, BUFFER, (uint64_t)(uintptr_t)buffer, &kind))
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
