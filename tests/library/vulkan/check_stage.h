/* SPDX-License-Identifier: MIT */
/* What the suites of the gate share: a Vulkan loader that counts what is asked of resources and can
 * answer otherwise, and the proof that what the gate says is what happens. */
#ifndef CULVERT_TESTS_LIBRARY_CHECK_STAGE_H_
#define CULVERT_TESTS_LIBRARY_CHECK_STAGE_H_

#include "library.h"

/* Calls counted, and what is answered instead of the driver's answers where a field is not 0. */
typedef struct check_spying {
    unsigned sharing; /* vkGetPhysicalDeviceImageFormatProperties2, ...ExternalBufferProperties */
    unsigned needs;   /* vkGetDevice...MemoryRequirements, either name */
    unsigned others;  /* memory types, queue families, properties */
    bool without_core, without_khr; /* the device lacks those names of `needs` */
    /* Needs of 0 bytes, as Mesa answers of what it could not make */
    bool tells_nothing;
    bool requires_dedicated, prefers_dedicated;
    uint32_t max_side, max_layers;
    VkDeviceSize max_resource_size, max_buffer_size, heap_size;
    uint32_t families;
    bool compatible_with_dma_buf;
    /* No image with one of these can be exported; without sharing it can */
    VkImageUsageFlags refused_usage;
    VkResult refusal;                      /* with which; 0: VK_ERROR_FORMAT_NOT_SUPPORTED */
    VkResult create_result;                /* of vkCreateImage */
    bool saw_list, saw_stencil, saw_video; /* in the chain of the last question about an image */
    bool saw_external;                     /* in the chain of the last requirements */
} check_spying;

extern check_spying check_spy;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL check_loader(VkInstance instance, const char *name);
/* A second attachment, by that loader. */
culv_vk_device *check_attach(const lib_world *w, uint32_t api_version);

/* One level, one layer, OPTIMAL, exclusive, 2D, transfers and sampling. */
VkImageCreateInfo check_image_info(VkFormat format, uint32_t width, uint32_t height);
VkBufferCreateInfo check_buffer_info(VkDeviceSize size);

/* Asks the gate, then makes the resource (what is PITCHED by Vulkan alone): both must say the same,
 * and the resource must be what was told of it. Nothing is left. desc may be NULL; label is
 * ignored. */
culv_result check_image_agrees(const lib_world *w, const VkImageCreateInfo *info,
                               const culv_vk_check_desc *desc, culv_vk_sharing_info *out);
culv_result check_buffer_agrees(const lib_world *w, const VkBufferCreateInfo *info,
                                const culv_vk_check_desc *desc, culv_vk_sharing_info *out);
/* Two answers are the same, field by field. */
void check_require_equal(const culv_vk_sharing_info *a, const culv_vk_sharing_info *b);
/* A refusal by both, with the class, the reason and a few words. */
void check_refused(const char *file, int line, culv_result actual, culv_result result,
                   culv_reason reason, const char *const *words, size_t count);
#define CHECK_REFUSED(call, class, why, ...)                                                       \
    check_refused(__FILE__, __LINE__, (call), CULV_ERROR_##class, CULV_REASON_##why,               \
                  (const char *const[]){__VA_ARGS__},                                              \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#endif
