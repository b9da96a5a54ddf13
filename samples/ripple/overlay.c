/* SPDX-License-Identifier: MIT */
/* ripple's overlay. */
#include "overlay.h"

#include <string.h>

#include "../common/report.h"
#include "font.h"

static bool upload_font(overlay *o)
{
    if (!vulkan_buffer_create(o->vulkan, sizeof(uint32_t) * FONT_NUM_GLYPHS * FONT_GLYPH_HEIGHT,
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, true, &o->font))
        return false;
    uint32_t *rows = o->font.mapped;
    for (uint32_t glyph = 0; glyph < FONT_NUM_GLYPHS; glyph++) {
        for (uint32_t row = 0; row < FONT_GLYPH_HEIGHT; row++)
            rows[glyph * FONT_GLYPH_HEIGHT + row] = font_rows[glyph][row];
    }
    return true;
}

static bool create_descriptors(overlay *o)
{
    VkDevice device = o->vulkan->device;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    if (!vk_ok(vkCreateDescriptorPool(device, &pool, NULL, &o->pool), "vkCreateDescriptorPool"))
        return false;
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = o->pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &o->set_layout};
    if (!vk_ok(vkAllocateDescriptorSets(device, &info, &o->set), "vkAllocateDescriptorSets"))
        return false;
    VkDescriptorBufferInfo buffers[] = {{o->items.buffer, 0, VK_WHOLE_SIZE},
                                        {o->font.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = o->set,
                                  .descriptorCount = 2,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = buffers};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    return true;
}

static bool create_layout(overlay *o)
{
    VkDevice device = o->vulkan->device;
    VkDescriptorSetLayoutBinding bindings[2];
    for (uint32_t i = 0; i < 2; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT};
    }
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 2,
                                           .pBindings = bindings};
    if (!vk_ok(vkCreateDescriptorSetLayout(device, &set, NULL, &o->set_layout),
               "vkCreateDescriptorSetLayout"))
        return false;
    VkPushConstantRange constants = {VK_SHADER_STAGE_VERTEX_BIT, 0, 2 * sizeof(float)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &o->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    return vk_ok(vkCreatePipelineLayout(device, &layout, NULL, &o->layout),
                 "vkCreatePipelineLayout");
}

bool overlay_create(overlay *o, const vulkan_setup *v, VkFormat color_format)
{
    memset(o, 0, sizeof *o);
    o->vulkan = v;
    pipeline_desc desc = {.vertex = "ripple_overlay.vert.spv",
                          .fragment = "ripple_overlay.frag.spv",
                          .color_format = color_format,
                          .samples = VK_SAMPLE_COUNT_1_BIT,
                          .blend = PIPELINE_ALPHA};
    if (!create_layout(o)) return false;
    desc.layout = o->layout;
    return pipeline_create(v, &desc, &o->pipeline) && upload_font(o) &&
           vulkan_buffer_create(v, OVERLAY_MAX_SLOTS * sizeof o->list,
                                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, true, &o->items) &&
           create_descriptors(o);
}

void overlay_destroy(overlay *o)
{
    if (!o->vulkan) return;
    VkDevice device = o->vulkan->device;
    vkDestroyDescriptorPool(device, o->pool, NULL);
    vulkan_buffer_destroy(o->vulkan, &o->items);
    vulkan_buffer_destroy(o->vulkan, &o->font);
    vkDestroyPipeline(device, o->pipeline, NULL);
    vkDestroyPipelineLayout(device, o->layout, NULL);
    vkDestroyDescriptorSetLayout(device, o->set_layout, NULL);
    memset(o, 0, sizeof *o);
}

void overlay_clear(overlay *o)
{
    o->num_items = 0;
}

static void add(overlay *o, overlay_item item)
{
    if (o->num_items < OVERLAY_MAX_ITEMS) o->list[o->num_items++] = item;
}

void overlay_fill(overlay *o, int x, int y, int width, int height, uint32_t color)
{
    add(o, (overlay_item){x, y, width, height, color, 0});
}

int overlay_text_width(int scale, size_t length)
{
    return (int)length * scale * (int)(FONT_GLYPH_WIDTH + 1u);
}

int overlay_line_height(int scale)
{
    return scale * (int)(FONT_GLYPH_HEIGHT + 2u);
}

void overlay_text(overlay *o, int x, int y, int scale, uint32_t color, const char *text)
{
    for (; *text; text++, x += overlay_text_width(scale, 1)) {
        unsigned char c = (unsigned char)*text;
        uint32_t glyph = c < FONT_FIRST_GLYPH || c >= FONT_FIRST_GLYPH + FONT_NUM_GLYPHS
                             ? '?' - FONT_FIRST_GLYPH
                             : c - FONT_FIRST_GLYPH;
        if (c == ' ') continue;
        add(o, (overlay_item){x, y, scale * (int)FONT_GLYPH_WIDTH, scale * (int)FONT_GLYPH_HEIGHT,
                              color, glyph + 1});
    }
}

void overlay_record(overlay *o, VkCommandBuffer commands, uint32_t slot, VkExtent2D extent)
{
    uint32_t first = slot * OVERLAY_MAX_ITEMS;
    memcpy((overlay_item *)o->items.mapped + first, o->list, o->num_items * sizeof o->list[0]);
    VkViewport viewport = {0, 0, (float)extent.width, (float)extent.height, 0, 1};
    VkRect2D area = {{0, 0}, extent};
    const float size[] = {(float)extent.width, (float)extent.height};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &area);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, o->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, o->layout, 0, 1, &o->set, 0,
                            NULL);
    vkCmdPushConstants(commands, o->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof size, size);
    vkCmdDraw(commands, 6, o->num_items, 0, first);
}
