/* SPDX-License-Identifier: MIT */
/* Programs with one mistake each: a dispatch has a shared buffer by each way in which a descriptor
 * comes into a set, and nothing orders it before CUDA's write. */
#include "seeds.h"

typedef enum way { WRITTEN, COPIED, BY_TEMPLATE, PUSHED, PUSHED_BY_TEMPLATE, DYNAMIC } way;

/* layout(binding = 3) buffer B { uint a; }; void main() {}: what a shader does with what is bound,
 * the checker does not ask. At MEMBER and VARIABLE are decorations. */
enum { MEMBER = 24, VARIABLE = 43, RESTRICT = 19, NON_WRITABLE = 24 };
static uint32_t shader[] = {
    0x07230203, 0x00010000, 0,          9,        0,          0x00020011, 1,          0x0003000e,
    0,          1,          0x0005000f, 5,        1,          0x6e69616d, 0,          0x00060010,
    1,          17,         1,          1,        1,          0x00040048, 2,          0,
    RESTRICT,   0x00050048, 2,          0,        35,         0,          0x00030047, 2,
    3,          0x00040047, 3,          34,       0,          0x00040047, 3,          33,
    3,          0x00030047, 3,          RESTRICT, 0x00020013, 4,          0x00030021, 5,
    4,          0x00040015, 6,          32,       0,          0x0003001e, 2,          6,
    0x00040020, 7,          2,          2,        0x0004003b, 7,          3,          2,
    0x00050036, 4,          1,          0,        5,          0x000200f8, 8,          0x000100fd,
    0x00010038};

static VkDescriptorSet make_set(VkDescriptorSetLayout layout, VkDescriptorType type)
{
    VkDescriptorPool sets;
    VkDescriptorSet set;
    const VkDescriptorPoolSize size = {type, 1};
    const VkDescriptorPoolCreateInfo p = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .maxSets = 1,
                                          .poolSizeCount = 1,
                                          .pPoolSizes = &size};
    VK(vkCreateDescriptorPool(device, &p, NULL, &sets));
    const VkDescriptorSetAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = sets,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &layout};
    VK(vkAllocateDescriptorSets(device, &a, &set));
    return set;
}

static bool reads;

static void dispatch_by(way w, uint32_t offset, bool waits)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkDescriptorSetLayout layout;
    VkPipelineLayout pipelines;
    VkShaderModule module;
    VkPipeline pipeline;
    const bool pushes = w == PUSHED || w == PUSHED_BY_TEMPLATE;
    const VkDescriptorType type = w == DYNAMIC ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                               : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    const VkDescriptorSetLayoutBinding binding = {3, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo l = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = pushes ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = 1,
        .pBindings = &binding};
    VK(vkCreateDescriptorSetLayout(device, &l, NULL, &layout));
    const VkPipelineLayoutCreateInfo pl = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &layout};
    VK(vkCreatePipelineLayout(device, &pl, NULL, &pipelines));
    const VkShaderModuleCreateInfo sm = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = sizeof shader,
                                         .pCode = shader};
    VK(vkCreateShaderModule(device, &sm, NULL, &module));
    const VkComputePipelineCreateInfo cp = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = pipelines};
    VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &cp, NULL, &pipeline));
    const VkDescriptorUpdateTemplateEntry entry = {3, 0, 1, type, 8, 0};
    const VkDescriptorUpdateTemplateCreateInfo u = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1,
        .pDescriptorUpdateEntries = &entry,
        .templateType = pushes ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                               : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
        .descriptorSetLayout = layout,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
        .pipelineLayout = pipelines};
    VkDescriptorUpdateTemplate update = VK_NULL_HANDLE;
    if (w == BY_TEMPLATE || w == PUSHED_BY_TEMPLATE)
        VK(vkCreateDescriptorUpdateTemplate(device, &u, NULL, &update));

    VkDescriptorSet set = pushes ? VK_NULL_HANDLE : make_set(layout, type);
    VkDescriptorSet first = w == COPIED ? make_set(layout, type) : set;
    const struct {
        uint64_t other;
        VkDescriptorBufferInfo buffer;
    } data = {0, {s.buffer, 0, 4096}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = first,
                                        .dstBinding = 3,
                                        .descriptorCount = 1,
                                        .descriptorType = type,
                                        .pBufferInfo = &data.buffer};
    const VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                      .srcSet = first,
                                      .srcBinding = 3,
                                      .dstSet = set,
                                      .dstBinding = 3,
                                      .descriptorCount = 1};
    if (w == BY_TEMPLATE) vkUpdateDescriptorSetWithTemplate(device, set, update, &data);
    if (w == WRITTEN || w == COPIED || w == DYNAMIC)
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    if (w == COPIED) vkUpdateDescriptorSets(device, 0, NULL, 1, &copy);

    VkCommandBuffer commands = begin();
    const VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_COMPUTE;
    vkCmdBindPipeline(commands, point, pipeline);
    if (w == PUSHED) vkCmdPushDescriptorSetKHR(commands, point, pipelines, 0, 1, &write);
    if (w == PUSHED_BY_TEMPLATE)
        vkCmdPushDescriptorSetWithTemplateKHR(commands, update, pipelines, 0, &data);
    if (!pushes)
        vkCmdBindDescriptorSets(commands, point, pipelines, 0, 1, &set, w == DYNAMIC, &offset);
    vkCmdDispatch(commands, 1, 1, 1);
    if (also.waits_at != 0) { /* CUDA's turn comes first, and the dispatch waits for it */
        CU(cu.cuMemsetD8Async(s.pointer, 1, 4096, streams[0]));
        CU(cuda_signals(&t, 1, 0));
        end_and_submit(commands, &t, 1, 0);
        all_done();
        return;
    }
    if (reads) { /* and nothing is ordered */
        CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, 4096, streams[0]));
        end_and_submit(commands, &t, 0, 0);
        all_done();
        return;
    }
    end_and_submit(commands, &t, 0, 1);
    if (waits) cuda_waits(&t, 1, 0);
    CU(cu.cuMemsetD8Async(s.pointer, 1, 4096, streams[0]));
    all_done();
}

/* CUDA reads, and so does the shader, by each way to say so; the wrong one might write, and is not
 * judged. */
static void read_only(uint32_t at, bool wrong)
{
    if (!wrong) shader[at] = NON_WRITABLE;
    reads = true;
    dispatch_by(WRITTEN, 0, false);
}

static void set_read_only(bool wrong)
{
    read_only(MEMBER, wrong);
}

static void set_read_only_variable(bool wrong)
{
    read_only(VARIABLE, wrong);
}

/* The stage of the wait is another command's. */
static void set_wait_stage(bool wrong)
{
    also.waits_at = wrong ? VK_PIPELINE_STAGE_TRANSFER_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    dispatch_by(WRITTEN, 0, true);
}

static void set_written(bool wrong)
{
    dispatch_by(WRITTEN, 0, !wrong);
}

static void set_copied(bool wrong)
{
    dispatch_by(COPIED, 0, !wrong);
}

static void set_by_template(bool wrong)
{
    dispatch_by(BY_TEMPLATE, 0, !wrong);
}

static void set_pushed(bool wrong)
{
    dispatch_by(PUSHED, 0, !wrong);
}

static void set_pushed_by_template(bool wrong)
{
    dispatch_by(PUSHED_BY_TEMPLATE, 0, !wrong);
}

/* The right one uses what is behind CUDA's bytes. */
static void set_dynamic(bool wrong)
{
    dispatch_by(DYNAMIC, wrong ? 0 : 4096, false);
}

const seed seeds_sets[] = {
    {"set_written", "write-after-read", set_written},
    {"set_copied", "write-after-read", set_copied},
    {"set_by_template", "write-after-read", set_by_template},
    {"set_pushed", "write-after-read", set_pushed},
    {"set_pushed_by_template", "write-after-read", set_pushed_by_template},
    {"set_dynamic", "write-after-read", set_dynamic},
    {"set_read_only", "missed/read-after-write", set_read_only},
    {"set_read_only_variable", "missed/read-after-write", set_read_only_variable},
    {"set_wait_stage", "read-after-write", set_wait_stage},
};
const size_t num_seeds_sets = sizeof seeds_sets / sizeof *seeds_sets;
