/* SPDX-License-Identifier: MIT */
/* ripple's render targets. */
#include "targets.h"

#include <string.h>

static const vulkan_use drawing = {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                   VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |
                                       VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};

bool targets_create(targets *t, const vulkan_setup *v, const pipelines *p, VkExtent2D extent)
{
    memset(t, 0, sizeof *t);
    t->extent = extent;
    bool multisampled = p->samples != VK_SAMPLE_COUNT_1_BIT;
    VkImageUsageFlags color = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    VkImageUsageFlags final = color | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (!vulkan_image_create(v, PIPELINES_COLOR_FORMAT, extent, p->samples,
                             multisampled ? color : final, VK_IMAGE_ASPECT_COLOR_BIT, &t->color) ||
        !vulkan_image_create(v, p->depth_format, extent, p->samples,
                             VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_IMAGE_ASPECT_DEPTH_BIT,
                             &t->depth))
        return false;
    return !multisampled ||
           vulkan_image_create(v, PIPELINES_COLOR_FORMAT, extent, VK_SAMPLE_COUNT_1_BIT, final,
                               VK_IMAGE_ASPECT_COLOR_BIT, &t->resolved);
}

void targets_destroy(targets *t, const vulkan_setup *v)
{
    vulkan_image_destroy(v, &t->color);
    vulkan_image_destroy(v, &t->resolved);
    vulkan_image_destroy(v, &t->depth);
}

VkImage targets_final(const targets *t)
{
    return t->resolved.image ? t->resolved.image : t->color.image;
}

/* The targets are shared by all frames: a frame's writes come after the previous frame's reads and
 * writes. */
static void prepare(const targets *t, VkCommandBuffer commands)
{
    vulkan_use before = {drawing.stage | VK_PIPELINE_STAGE_2_COPY_BIT, drawing.access,
                         VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_image_barrier(commands, t->color.image, VK_IMAGE_ASPECT_COLOR_BIT, before, drawing);
    if (t->resolved.image)
        vulkan_image_barrier(commands, t->resolved.image, VK_IMAGE_ASPECT_COLOR_BIT, before,
                             drawing);
    vulkan_use tests = {VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |
                            VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
                        VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT |
                            VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT,
                        VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_use depth = tests;
    depth.layout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    vulkan_image_barrier(commands, t->depth.image, VK_IMAGE_ASPECT_DEPTH_BIT, tests, depth);
}

void targets_begin(const targets *t, VkCommandBuffer commands)
{
    prepare(t, commands);
    bool multisampled = t->resolved.view != VK_NULL_HANDLE;
    VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = t->color.view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .resolveMode = multisampled ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
        .resolveImageView = t->resolved.view,
        .resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = multisampled ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = {.color = {.float32 = {0.02f, 0.03f, 0.04f, 1.0f}}}};
    VkRenderingAttachmentInfo depth = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = t->depth.view,
                                       .imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                       .clearValue = {.depthStencil = {1.0f, 0}}};
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .renderArea = {{0, 0}, t->extent},
                                 .layerCount = 1,
                                 .colorAttachmentCount = 1,
                                 .pColorAttachments = &color,
                                 .pDepthAttachment = &depth};
    vkCmdBeginRendering(commands, &rendering);
}

void targets_end(VkCommandBuffer commands)
{
    vkCmdEndRendering(commands);
}

void targets_finish(const targets *t, VkCommandBuffer commands)
{
    vulkan_use copying = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                          VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    vulkan_image_barrier(commands, targets_final(t), VK_IMAGE_ASPECT_COLOR_BIT, drawing, copying);
}
