/* SPDX-License-Identifier: MIT */
/* The user's compute shader. See work.h. Its buffers are found in the SPIR-V itself. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SPIR-V specification, 2.3 and 3: the words that are needed here. */
enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEADER = 5,
    OP_ENTRY_POINT = 15,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    MODEL_COMPUTE = 5,
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_BINDING = 33,
    DECORATION_SET = 34,
    CLASS_CONSTANT = 0, /* images and samplers */
    CLASS_UNIFORM = 2,
    CLASS_STORAGE_BUFFER = 12,
    UNIFORM_BYTES = 65536,
    MOST_VARIABLES = 64
};

typedef struct variable {
    uint32_t id, binding, set;
    bool bound;
} variable;

typedef struct module {
    uint32_t *words;
    size_t count;
    variable variables[MOST_VARIABLES];
    size_t num_variables;
    bool old_buffers; /* storage buffers are those of the class Uniform with BufferBlock */
} module;

static void read_module(module *m, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) FAIL("--shader: %s cannot be read", path);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    REQUIRE(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
    m->count = (size_t)size / sizeof(uint32_t);
    m->words = malloc((size_t)size + 1);
    REQUIRE(m->words != NULL && fread(m->words, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    if (m->count <= SPIRV_HEADER || (size_t)size % sizeof(uint32_t) != 0 ||
        m->words[0] != SPIRV_MAGIC)
        FAIL("--shader: %s is no SPIR-V", path);
}

static variable *variable_of(module *m, uint32_t id)
{
    for (size_t i = 0; i < m->num_variables; i++)
        if (m->variables[i].id == id) return &m->variables[i];
    if (m->num_variables == MOST_VARIABLES) FAIL("--shader: more than %d bindings", MOST_VARIABLES);
    m->variables[m->num_variables] = (variable){.id = id};
    return &m->variables[m->num_variables++];
}

static void add_binding(work_shader *s, module *m, uint32_t id, uint32_t class)
{
    const variable *v = variable_of(m, id);
    if (!v->bound) return;
    if (class == CLASS_CONSTANT)
        FAIL("--shader: %s: binding %u is an image or a sampler, and only buffers are bound here",
             s->path, v->binding);
    if (v->set != 0)
        FAIL("--shader: %s has a binding of set %u, and only set 0 is bound here", s->path, v->set);
    if (s->num_bindings == WORK_BINDINGS)
        FAIL("--shader: %s has more than %d bindings", s->path, (int)WORK_BINDINGS);
    for (size_t i = 0; i < s->num_bindings; i++)
        if (s->bindings[i].binding == v->binding) return; /* two views of one buffer */
    s->bindings[s->num_bindings++] =
        (work_binding){.binding = v->binding, .uniform = class == CLASS_UNIFORM && !m->old_buffers};
}

/* Decorations come before variables. */
static void walk(work_shader *s, module *m)
{
    for (size_t at = SPIRV_HEADER; at < m->count;) {
        const uint32_t *w = &m->words[at], op = w[0] & 0xffff, length = w[0] >> 16;
        if (length == 0 || at + length > m->count) FAIL("--shader: %s is cut off", s->path);
        at += length;
        if (op == OP_ENTRY_POINT && length > 3 && w[1] == MODEL_COMPUTE && s->entry[0] == '\0') {
            size_t most = (length - 3) * sizeof(uint32_t);
            if (most > sizeof s->entry - 1) most = sizeof s->entry - 1;
            memcpy(s->entry, &w[3], most);
        }
        if (op == OP_DECORATE && length > 2 && w[2] == DECORATION_BUFFER_BLOCK)
            m->old_buffers = true;
        if (op == OP_DECORATE && length > 3 && w[2] == DECORATION_BINDING) {
            variable *v = variable_of(m, w[1]);
            v->binding = w[3];
            v->bound = true;
        }
        if (op == OP_DECORATE && length > 3 && w[2] == DECORATION_SET)
            variable_of(m, w[1])->set = w[3];
        if (op == OP_VARIABLE && length > 3 &&
            (w[3] == CLASS_CONSTANT || w[3] == CLASS_UNIFORM || w[3] == CLASS_STORAGE_BUFFER))
            add_binding(s, m, w[2], w[3]);
    }
    if (s->entry[0] == '\0') FAIL("--shader: %s has no compute shader", s->path);
}

static void choose_frame(work_shader *s)
{
    bool found = s->frame_binding < 0;
    for (size_t i = 0; i < s->num_bindings; i++)
        found |= s->bindings[i].binding == s->frame_binding && !s->bindings[i].uniform;
    if (!found)
        FAIL("--frame-binding: %s has no storage buffer %lld", s->path,
             (long long)s->frame_binding);
    if (s->frame_binding >= 0) return;
    for (size_t i = 0; i < s->num_bindings; i++)
        if (!s->bindings[i].uniform &&
            (s->frame_binding < 0 || s->bindings[i].binding < s->frame_binding))
            s->frame_binding = s->bindings[i].binding;
}

static VkDescriptorType type_of(const work_binding *b)
{
    return b->uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static void open_sets(work_shader *s)
{
    VkDevice device = s->rig->vk.device;
    VkDescriptorSetLayoutBinding bindings[WORK_BINDINGS];
    VkDescriptorSetLayout layouts[CULV_RING_MAX_DEPTH];
    for (size_t i = 0; i < s->num_bindings; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = s->bindings[i].binding,
                                                     .descriptorType = type_of(&s->bindings[i]),
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = (uint32_t)s->num_bindings,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(device, &set, NULL, &s->set_layout));
    const uint32_t most = CULV_RING_MAX_DEPTH * WORK_BINDINGS;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, most},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, most}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = CULV_RING_MAX_DEPTH,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(device, &pool, NULL, &s->pool));
    for (size_t i = 0; i < CULV_RING_MAX_DEPTH; i++)
        layouts[i] = s->set_layout;
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = s->pool,
                                              .descriptorSetCount = CULV_RING_MAX_DEPTH,
                                              .pSetLayouts = layouts};
    VK_OK(vkAllocateDescriptorSets(device, &sets, s->sets));
}

static void open_pipeline(work_shader *s, const module *m)
{
    VkDevice device = s->rig->vk.device;
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, WORK_PUSH};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &s->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = m->count * sizeof(uint32_t),
                                           .pCode = m->words};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = s->entry}};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &s->layout));
    VK_OK(vkCreateShaderModule(device, &code, NULL, &info.stage.module));
    info.layout = s->layout;
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &s->pipeline));
    vkDestroyShaderModule(device, info.stage.module, NULL);
}

/* Zeroed. */
static void open_buffer(work_binding *b, rig *r, uint64_t bytes)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_buffer_create(r->attached, &desc, &b->buffer));
    RIG_CU(r->cu->MemsetD32Async(culv_shared_buffer_pointer(b->buffer), 0,
                                 (size_t)bytes / sizeof(uint32_t), r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}

void work_shader_open(work_shader *s, rig *r, uint64_t bytes)
{
    static module m;
    m = (module){.words = NULL};
    s->rig = r;
    s->bytes = bytes;
    read_module(&m, s->path);
    walk(s, &m);
    choose_frame(s);
    for (size_t i = 0; i < s->num_bindings; i++) {
        work_binding *b = &s->bindings[i];
        if (b->binding != s->frame_binding) open_buffer(b, r, b->uniform ? UNIFORM_BYTES : bytes);
    }
    open_sets(s);
    open_pipeline(s, &m);
    free(m.words);
}

void work_shader_close(work_shader *s)
{
    VkDevice device = s->rig->vk.device;
    vkDestroyPipeline(device, s->pipeline, NULL);
    vkDestroyPipelineLayout(device, s->layout, NULL);
    vkDestroyDescriptorPool(device, s->pool, NULL);
    vkDestroyDescriptorSetLayout(device, s->set_layout, NULL);
    for (size_t i = 0; i < s->num_bindings; i++)
        culv_shared_buffer_destroy(&s->bindings[i].buffer);
}

void work_shader_bind(work_shader *s, const VkBuffer *slots, uint32_t count, VkDeviceSize bytes)
{
    for (uint32_t slot = 0; slot < count; slot++)
        for (size_t i = 0; i < s->num_bindings; i++) {
            const work_binding *b = &s->bindings[i];
            const bool frame = b->binding == s->frame_binding;
            const VkDescriptorBufferInfo info = {frame ? slots[slot]
                                                       : culv_vk_buffer_handle(b->buffer),
                                                 0, frame ? bytes : VK_WHOLE_SIZE};
            const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                                .dstSet = s->sets[slot],
                                                .dstBinding = b->binding,
                                                .descriptorCount = 1,
                                                .descriptorType = type_of(b),
                                                .pBufferInfo = &info};
            vkUpdateDescriptorSets(s->rig->vk.device, 1, &write, 0, NULL);
        }
}

void work_shader_record(const work_shader *s, VkCommandBuffer commands, uint32_t slot)
{
    static const uint8_t zero[WORK_PUSH];
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->layout, 0, 1,
                            &s->sets[slot], 0, NULL);
    vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof zero, zero);
    vkCmdDispatch(commands, s->groups[0], s->groups[1], s->groups[2]);
}
