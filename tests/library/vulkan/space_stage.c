/* SPDX-License-Identifier: MIT */
/* See space_stage.h. */
#include "space_stage.h"

typedef struct link_constants {
    uint64_t here, there;
    uint32_t count, seed;
} link_constants;

typedef struct chase_constants {
    uint64_t first, found;
} chase_constants;

/* Vulkan --------------------------------------------------------------------------------------- */

static VkPipeline make_pipeline(const space_stage *t, const char *name)
{
    VkDevice device = t->s.w.vk.device;
    char relative[128], path[TEST_PATH_MAX];
    static uint32_t words[4096];
    VkShaderModule module = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    snprintf(relative, sizeof relative, "share/culvert/library_%s.comp.spv", name);
    FILE *file = fopen(test_path(path, relative), "rb");
    REQUIRE(file != NULL);
    const size_t size = fread(words, 1, sizeof words, file);
    fclose(file);
    REQUIRE(size > 0 && size < sizeof words);
    const VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = words};
    VK_OK(vkCreateShaderModule(device, &code, NULL, &module));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = t->layout};
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(device, module, NULL);
    return pipeline;
}

void space_open(space_stage *t)
{
    lib_world *w = &t->s.w;
    memset(t, 0, sizeof *t);
    lib_open_vulkan_for_one_address(w);
    lib_open_culvert(w);
    vmm_stage_begin(&t->s);
    if (culv_vk_check_space(w->attachment, NULL, NULL) != CULV_OK) {
        if (w->cu->software) FAIL("%s", culv_last_error_message());
        SKIP("%s", culv_last_error_message());
    }
    space_begin(t);
}

void space_begin(space_stage *t)
{
    const lib_world *w = &t->s.w;
    const VkPushConstantRange constants = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(link_constants)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &constants};
    VK_OK(vkCreatePipelineLayout(w->vk.device, &layout, NULL, &t->layout));
    t->link = make_pipeline(t, "space_link");
    t->chase = make_pipeline(t, "space_chase");
    /* Before anything is held: a driver that loads lazily would hold up the rest, too. */
    static const char *const kernels[] = {"library_write", "library_add", "library_link",
                                          "library_chase"};
    CUcontext before = lib_enter(w);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        (void)raw_cuda_function(w->cu, t->s.module, kernels[i]);
    lib_leave(w, before);
}

void space_end(space_stage *t)
{
    VkDevice device = t->s.w.vk.device;
    raw_vk_idle(&t->s.w.vk);
    vkDestroyPipeline(device, t->link, NULL);
    vkDestroyPipeline(device, t->chase, NULL);
    vkDestroyPipelineLayout(device, t->layout, NULL);
}

void space_close(space_stage *t)
{
    space_end(t);
    vmm_stage_close(&t->s);
}

VkQueue space_queue(const space_stage *t)
{
    const raw_vk *vk = &t->s.w.vk;
    uint32_t i = 0;
    while (i < vk->queue_count && !(vk->queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        i++;
    REQUIRE(i < vk->queue_count);
    return vk->queues[i].queue;
}

static void run(space_stage *t, VkPipeline pipeline, const void *constants, uint32_t size,
                uint32_t groups, VkCommandBuffer commands)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdPushConstants(commands, t->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, size, constants);
    vkCmdDispatch(commands, groups, 1, 1);
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                         1, &barrier, 0, NULL, 0, NULL);
}

/* Spaces --------------------------------------------------------------------------------------- */

culv_vk_space_desc space_desc(const space_stage *t, uint64_t size)
{
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = size;
    d.queue = space_queue(t);
    d.label = "trees";
    return d;
}

culv_vk_space *space_make(const space_stage *t, uint64_t size)
{
    const culv_vk_space_desc d = space_desc(t, size);
    culv_vk_space *space = NULL;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    return space;
}

culv_vk_space_info space_info(culv_vk_space *space)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_space_get_info(space, &info));
    return info;
}

raw_vk_buffer space_raw(culv_vk_space *space)
{
    const culv_vk_space_info info = space_info(space);
    return (raw_vk_buffer){.buffer = info.buffer, .size = info.size};
}

void space_require_same(space_stage *t, culv_vk_space *space, uint64_t offset, uint64_t size,
                        uint32_t seed)
{
    const raw_vk_buffer buffer = space_raw(space);
    const CUdeviceptr at = culv_vk_space_pointer(space) + offset;
    uint32_t *words = malloc((size_t)size);
    REQUIRE(words != NULL);
    vmm_stage_kernel(&t->s, "library_write", at, size, seed);
    raw_vk_read(&t->s.w.vk, &buffer, offset, words, size);
    REQUIRE_WORDS(words, (size_t)(size / 4), seed);
    raw_vk_fill(&t->s.w.vk, &buffer, offset, size, seed ^ 0x5a5a5a5au, NULL);
    vmm_stage_cuda_read(&t->s, at, size, words);
    for (size_t i = 0; i < size / 4; i++)
        REQUIRE_EQ(words[i], seed ^ 0x5a5a5a5au);
    free(words);
}

/* Lists ---------------------------------------------------------------------------------------- */

void space_link(space_stage *t, space_side side, CUdeviceptr here, CUdeviceptr there,
                uint32_t count, uint32_t seed)
{
    if (side == SPACE_VULKAN) {
        const link_constants c = {here, there, count, seed};
        VkCommandBuffer commands = raw_vk_begin(&t->s.w.vk, 0);
        run(t, t->link, &c, sizeof c, (count + 63) / 64, commands);
        raw_vk_submit(&t->s.w.vk, commands, NULL);
        return;
    }
    const raw_cuda *cu = t->s.w.cu;
    unsigned long long a = here, b = there;
    void *params[] = {&a, &b, &count, &seed};
    LIB_CU_OK(&t->s.w,
              cu->LaunchKernel(raw_cuda_function(cu, t->s.module, "library_link"),
                               (count + 255) / 256, 1, 1, 256, 1, 1, 0, t->s.stream, params, NULL));
    lib_finish(&t->s.w, t->s.stream);
}

void space_record_chase(space_stage *t, VkCommandBuffer commands, CUdeviceptr first,
                        CUdeviceptr found)
{
    const chase_constants c = {first, found};
    run(t, t->chase, &c, sizeof c, 1, commands);
}

void space_launch_chase(space_stage *t, CUstream stream, CUdeviceptr first, CUdeviceptr found)
{
    const raw_cuda *cu = t->s.w.cu;
    unsigned long long from = first;
    void *params[] = {&from, &found};
    LIB_CU_OK(&t->s.w, cu->LaunchKernel(raw_cuda_function(cu, t->s.module, "library_chase"), 1, 1,
                                        1, 1, 1, 1, 0, stream, params, NULL));
}

void space_require_found(space_stage *t, CUdeviceptr found, uint32_t count, uint32_t seed)
{
    uint32_t words[2] = {0, 0}, mixed = 0;
    for (uint32_t i = 0; i < count; i++)
        mixed = mixed * 31u + lib_word(i, seed);
    vmm_stage_cuda_read(&t->s, found, sizeof words, words);
    REQUIRE_EQ(words[0], count);
    REQUIRE_EQ(words[1], mixed);
}

void space_require_list(space_stage *t, space_side side, CUdeviceptr first, CUdeviceptr found,
                        uint32_t count, uint32_t seed)
{
    if (side == SPACE_VULKAN) {
        VkCommandBuffer commands = raw_vk_begin(&t->s.w.vk, 0);
        space_record_chase(t, commands, first, found);
        raw_vk_submit(&t->s.w.vk, commands, NULL);
    } else {
        space_launch_chase(t, t->s.stream, first, found);
        lib_finish(&t->s.w, t->s.stream);
    }
    space_require_found(t, found, count, seed);
}

/* Gates ---------------------------------------------------------------------------------------- */

void space_gate_begin(space_stage *t, space_gate *gate)
{
    gate->timeline = raw_vk_timeline(&t->s.w.vk, 0, true);
    gate->semaphore = lib_import_timeline(&t->s.w, gate->timeline);
    gate->stream = lib_stream(&t->s.w);
    LIB_OK(culv_semaphore_wait(gate->semaphore, gate->stream, 1));
}

void space_gate_open(space_stage *t, space_gate *gate)
{
    raw_vk_timeline_signal(&t->s.w.vk, gate->timeline, 1);
    lib_finish(&t->s.w, gate->stream);
}

void space_gate_end(space_stage *t, space_gate *gate)
{
    lib_finish(&t->s.w, gate->stream);
    lib_stream_destroy(&t->s.w, gate->stream);
    culv_semaphore_destroy(&gate->semaphore, NULL);
    raw_vk_timeline_destroy(&t->s.w.vk, gate->timeline);
}
