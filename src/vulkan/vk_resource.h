/* A buffer or an image with memory of its own, on Vulkan's side. SPDX-License-Identifier: MIT */
#ifndef CULVI_VK_RESOURCE_H_
#define CULVI_VK_RESOURCE_H_

#include "core/staging.h"
#include "vulkan/vk.h"

typedef struct culvi_vk_resource {
    VkBuffer buffer; /* one of the two */
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize size; /* bytes of the memory */
    VkFlags usage;     /* it was made with */
    bool dedicated;
    VkDeviceSize plane_offsets[CULVI_PLANES]; /* of a DISJOINT image: where each plane is bound */
} culvi_vk_resource;

/* Pinned memory of a fallback, on Vulkan's side. */
typedef struct culvi_vk_stage {
    VkBuffer buffer;
    VkDeviceMemory memory; /* of Culvert's pages; Vulkan's own goes with the staging */
} culvi_vk_stage;

struct culv_vk_buffer {
    culv_vk *vk;
    culvi_vk_resource resource;
    culv_memory *import; /* or CUDA's own memory */
    culv_buffer *cuda;
    culvi_vk_stage stage;
};

struct culv_vk_image {
    culv_vk *vk;
    culvi_vk_resource resource;
    culv_memory *import; /* or what stands for CUDA's own memory */
    culv_image *cuda;
    culvi_vk_stage stage;
};

struct culv_vk_semaphore {
    culv_vk *vk;
    VkSemaphore semaphore;
    culv_semaphore *cuda;
};

/* Without any fallback: all or nothing of what the descriptor says. The object has its `vk` already. */
culv_result culvi_vk_buffer_share(culv_vk_buffer *buffer, const culv_vk_buffer_create_desc *desc);
culv_result culvi_vk_image_share(culv_vk_image *image, const culv_vk_image_create_desc *desc);
culv_result culvi_vk_semaphore_share(culv_vk_semaphore *semaphore, const culv_vk_semaphore_create_desc *desc);
/* A VkSemaphore, exportable or not. */
culv_result culvi_vk_semaphore_make(culv_vk *vk, const culv_vk_semaphore_create_desc *desc, bool exportable,
                                    VkSemaphore *out);
/* Timelines on the host (timeline.c). Of a VkDevice that lacks them only the first three may be called. */
bool culvi_vk_reads_timelines(const culv_vk *vk);
culv_result culvi_vk_refuse_timelines(const culv_vk *vk, const char *label, culv_result result);
culv_result culvi_vk_check_host_timelines(const culv_vk *vk, const char *label);
VkResult culvi_vk_timeline_read(const culv_vk *vk, VkSemaphore semaphore, uint64_t *out);
VkResult culvi_vk_timeline_wait(const culv_vk *vk, VkSemaphore semaphore, uint64_t value, uint64_t timeout);
VkResult culvi_vk_timeline_signal(const culv_vk *vk, VkSemaphore semaphore, uint64_t value);
bool culvi_vk_semaphore_reached(const culv_vk *vk, VkSemaphore semaphore, uint64_t value);

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
    VkExternalMemoryHandleTypeFlags handle_types; /* for which it is exportable; 0: not exportable */
    bool dedicated;                               /* whatever Vulkan says of the resource */
    VkMemoryPropertyFlags memory_properties;
    culvi_vk_pages
        *pages; /* NULL, or its memory: a buffer's. Those made here are the caller's, after an error too. */
} culvi_vk_plan;

/* Creates, allocates and binds: all or nothing. */
culv_result culvi_vk_resource_create(culv_vk *vk, const culvi_vk_plan *plan, culvi_vk_resource *out);
void culvi_vk_resource_destroy(culv_vk *vk, const culvi_vk_resource *resource);

/* host.c: pages of the host's. */
/* As culvi_vk_memory_type(), but 0 is what the processor reaches without flushing, cached where it can be. */
culv_result culvi_vk_host_memory_type(const culv_vk *vk, const char *label, uint32_t type_bits,
                                      VkMemoryPropertyFlags wanted, uint32_t *out);
/* Vulkan's memory of a plan with pages. */
culv_result culvi_vk_host_allocate(culv_vk *vk, const culvi_vk_plan *plan, const culvi_vk_needs *needs,
                                   culvi_vk_resource *made);
/* culv_vk_buffer_create_desc::host. */
culv_result culvi_vk_buffer_share_host(culv_vk_buffer *buffer, const culv_vk_buffer_create_desc *desc);

#endif
