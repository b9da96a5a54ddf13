/* SPDX-License-Identifier: MIT */
/* Samples: pipelines from SPIR-V files in share/culvert; those of graphics are for dynamic
 * rendering. */
#ifndef CULVERT_SAMPLES_VULKAN_PIPELINE_H_
#define CULVERT_SAMPLES_VULKAN_PIPELINE_H_

#include "vulkan_setup.h"

/* One color attachment; viewport and scissor are dynamic; vertices are pulled by their index. */
typedef struct pipeline_desc {
    const char *vertex, *fragment; /* names of files in share/culvert */
    VkPipelineLayout layout;
    VkFormat color_format, depth_format; /* no depth: VK_FORMAT_UNDEFINED */
    VkSampleCountFlagBits samples;
} pipeline_desc;

/* False, with a message, on failure. */
bool pipeline_create(const vulkan_setup *v, const pipeline_desc *desc, VkPipeline *out);
bool pipeline_create_compute(const vulkan_setup *v, const char *shader, VkPipelineLayout layout,
                             VkPipeline *out);

#endif
