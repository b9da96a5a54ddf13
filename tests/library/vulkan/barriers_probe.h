/* SPDX-License-Identifier: MIT */
/* Uses of buffers and images as Vulkan programs have them, recorded between an acquire and a
 * release so that synchronization validation has something to hold the barriers against: shaders
 * that read and write, draws, attachments, copies. */
#ifndef CULVERT_TESTS_BARRIERS_PROBE_H_
#define CULVERT_TESTS_BARRIERS_PROBE_H_

#include "library.h"
#include "raw_vulkan_image.h"

enum {
    PROBE_DIMENSIONS = 3,
    PROBE_IMAGE_BINDINGS = 3,
    PROBE_BUFFER_BINDINGS = 5,
    PROBE_PASSES = 32,
    PROBE_BUFFER_BYTES = 4096,
};

/* A render pass with one attachment, and its pipeline where a use draws. */
typedef struct probe_pass {
    VkFormat format;
    culv_vk_use use;
    VkRenderPass pass;
    VkPipeline pipeline;
} probe_pass;

typedef struct probe {
    raw_vk *vk;
    VkSampler sampler;
    VkDescriptorPool pool;
    VkDescriptorSetLayout image_set_layout, graphics_set_layout, buffer_set_layout;
    VkPipelineLayout image_layout, graphics_layout, buffer_layout;
    VkDescriptorSet image_set, graphics_set, buffer_set;
    VkPipeline image_pipelines[PROBE_DIMENSIONS], buffer_pipeline;
    VkShaderModule vertex, sampled, input;
    raw_vk_image own[PROBE_DIMENSIONS]; /* bound where the subject is not; in GENERAL */
    VkImageView own_views[PROBE_DIMENSIONS];
    VkBuffer buffer; /* zeros, then the arguments of a draw; bound where the subject is not */
    VkDeviceMemory memory;
    VkBufferView buffer_view;
    raw_vk_buffer copies;
    uint32_t pass_count;
    probe_pass passes[PROBE_PASSES];
    /* Of the use that was recorded last. */
    VkImageView view, aspect_view;
    VkBufferView texels;
    VkFramebuffer framebuffer;
} probe;

void probe_open(probe *p, raw_vk *vk);
void probe_close(probe *p);
/* What buffers are created with for all uses of them. */
VkBufferUsageFlags probe_buffer_usage(void);

/* Whether a queue and an image have the use, as far as this file knows how to record it. */
bool probe_buffer_has(const probe *p, uint32_t queue, culv_vk_use use);
bool probe_image_has(const probe *p, uint32_t queue, const raw_vk_image *image, culv_vk_use use);
/* Records the use: of the buffer's first words, of the first level and layer of the range. Once the
 * work is done, probe_forget() gives up what it took. */
void probe_buffer_use(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use);
void probe_image_use(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                     const VkImageSubresourceRange *range, culv_vk_use use);
void probe_forget(probe *p);

VkImageAspectFlags probe_aspects(VkFormat format);

#endif
