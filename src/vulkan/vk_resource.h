/* SPDX-License-Identifier: MIT */
/* A buffer or an image with memory of its own, on Vulkan's side. */
#ifndef CULVI_VK_RESOURCE_H_
#define CULVI_VK_RESOURCE_H_

#include "graphics/pair.h"
#include "vulkan/vk.h"

static inline culv_vk_device *culvi_vk_of(const culvi_graphics *graphics)
{
    return (culv_vk_device *)graphics; /* its first member */
}

/* The queue family that a barrier of it names, for a queue of `family`. */
static inline uint32_t culvi_vk_native_family(const culvi_native *native, uint32_t family)
{
    return native->concurrent ? VK_QUEUE_FAMILY_IGNORED : family;
}

/* What the table of culvi_vk_api has (graphics/graphics.h). */
culv_result culvi_vk_plan_native(culvi_graphics *graphics, culvi_plan *plan);
culv_result culvi_vk_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
void culvi_vk_unmake(culvi_graphics *graphics, const culvi_native *native);
culv_result culvi_vk_stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                           culvi_native *out);
culv_result culvi_vk_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                    bool exportable, uint64_t *out);
void culvi_vk_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore);

/* Timelines on the host (semaphore.c). Of a VkDevice that lacks them only the first three may be
 * called. */
bool culvi_vk_reads_timelines(const culv_vk_device *vk);
culv_result culvi_vk_refuse_timelines(const culv_vk_device *vk, const char *label);
culv_result culvi_vk_check_host_timelines(const culv_vk_device *vk, const char *label);
int culvi_vk_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
int culvi_vk_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                           uint64_t timeout_ns);
int culvi_vk_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);

/* Pages of the host's. */
typedef struct culvi_vk_pages {
    void *start; /* NULL: Culvert's own are still to be made */
    VkDeviceSize size;
    void *block; /* of Culvert's own: for culvi_free() */
} culvi_vk_pages;

/* What to make. */
typedef struct culvi_vk_plan {
    const char *label;
    const VkBufferCreateInfo *buffer; /* one of the two */
    const VkImageCreateInfo *image;
    /* The types for which it is exportable; 0: not exportable */
    VkExternalMemoryHandleTypeFlags handle_types;
    bool dedicated;    /* whatever Vulkan says of the resource */
    bool compressible; /* a buffer: not dedicated unless it must be */
    VkMemoryPropertyFlags memory_properties;
    /* NULL, or its memory: a buffer's. Those made here are the caller's, after an error too. */
    culvi_vk_pages *pages;
} culvi_vk_plan;

/* Creates, allocates and binds: all or nothing. */
culv_result culvi_vk_resource_create(culv_vk_device *vk, const culvi_vk_plan *plan,
                                     culvi_native *out);

/* host.c: pages of the host's. */
/* Chooses as culvi_vk_memory_type() does, but 0 selects memory that the CPU reaches without
 * flushing, cached if possible. */
culv_result culvi_vk_host_memory_type(const culv_vk_device *vk, const char *label,
                                      uint32_t type_bits, VkMemoryPropertyFlags wanted,
                                      uint32_t *out);
/* Whether CUDA does not see what the CPU writes to memory of Vulkan's with these properties,
 * because it keeps what it has read in the GPU's cache; and the warning of it, or NULL. */
static inline bool culvi_vk_is_stale(VkMemoryPropertyFlags properties)
{
    return (properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0 &&
           (properties & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) == 0;
}
const char *culvi_vk_stale_warning(VkMemoryPropertyFlags properties);
/* Vulkan's memory of a plan with pages. */
culv_result culvi_vk_host_allocate(culv_vk_device *vk, const culvi_vk_plan *plan,
                                   const culvi_vk_needs *needs, culvi_native *made);
/* culv_vk_buffer_create_desc::host_memory: both halves. `pair` is all zero. */
culv_result culvi_vk_buffer_share_host(culv_vk_device *vk, const culv_vk_buffer_create_desc *desc,
                                       culvi_pair *pair);

#endif
