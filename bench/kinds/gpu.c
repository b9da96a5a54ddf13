/* SPDX-License-Identifier: MIT */
/* The same work on both sides, timed by the GPU's own clock. See kinds.h. */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = 256, MOST_REPEATS = 64, MOST_TURNS = 16 };

/* Push constants of kinds_buffer.comp. */
typedef struct buffer_constants {
    VkDeviceAddress vectors, words, wrong;
    uint32_t num_vectors, mask, noise, addend, seed, reads;
} buffer_constants;

static VkShaderModule load_shader(const kinds *k, const char *name)
{
    char relative[64], path[TEST_PATH_MAX];
    snprintf(relative, sizeof relative, "share/culvert/bench_%s.comp.spv", name);
    FILE *file = fopen(test_path(path, relative), "rb");
    if (file == NULL) FAIL("%s is missing", path);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    REQUIRE(size > 0 && size % 4 == 0 && fseek(file, 0, SEEK_SET) == 0);
    uint32_t *code = malloc((size_t)size);
    REQUIRE(code != NULL && fread(code, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = (size_t)size,
                                           .pCode = code};
    VkShaderModule module = VK_NULL_HANDLE;
    VK_OK(vkCreateShaderModule(k->bench.rig.vk.device, &info, NULL, &module));
    free(code);
    return module;
}

static VkPipelineLayout make_layout(const kinds *k, uint32_t size)
{
    const VkPushConstantRange constants = {VK_SHADER_STAGE_COMPUTE_BIT, 0, size};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &constants};
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VK_OK(vkCreatePipelineLayout(k->bench.rig.vk.device, &info, NULL, &layout));
    return layout;
}

/* A pipeline for each work, from one shader. */
static void make_pipelines(kinds *k)
{
    const VkDevice device = k->bench.rig.vk.device;
    const VkShaderModule module = load_shader(k, "kinds_buffer");
    for (uint32_t work = 0; work < KINDS_WORKS; work++) {
        const VkSpecializationMapEntry entry = {0, 0, sizeof work};
        const VkSpecializationInfo special = {1, &entry, sizeof work, &work};
        const VkComputePipelineCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = module,
                      .pName = "main",
                      .pSpecializationInfo = &special},
            .layout = k->layout};
        VK_OK(
            vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &k->pipelines[work]));
    }
    vkDestroyShaderModule(device, module, NULL);
}

static void open_counter(kinds *k)
{
    raw_vk *vk = &k->bench.rig.vk;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = sizeof(uint32_t),
                                     .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryRequirements needs;
    uint32_t type = 0;
    VK_OK(vkCreateBuffer(vk->device, &info, NULL, &k->vk_wrong.buffer));
    vkGetBufferMemoryRequirements(vk->device, k->vk_wrong.buffer, &needs);
    while (type < vk->memory.memoryTypeCount &&
           ((needs.memoryTypeBits >> type & 1) == 0 ||
            (vk->memory.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    REQUIRE(type < vk->memory.memoryTypeCount);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = type};
    VK_OK(vkAllocateMemory(vk->device, &memory, NULL, &k->vk_wrong.memory));
    VK_OK(vkBindBufferMemory(vk->device, k->vk_wrong.buffer, k->vk_wrong.memory, 0));
    VK_OK(vkMapMemory(vk->device, k->vk_wrong.memory, 0, VK_WHOLE_SIZE, 0, &k->vk_wrong.mapped));
    const VkBufferDeviceAddressInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = k->vk_wrong.buffer};
    k->wrong_address = vkGetBufferDeviceAddress(vk->device, &address);
}

void kinds_open(kinds *k)
{
    static const char *const names[KINDS_WORKS] = {"kinds_fill", "kinds_add", "kinds_random"};
    const rig *r = &k->bench.rig;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *elapsed = NULL;
    RIG_CU(r->cu->GetProcAddress("cuEventElapsedTime", &elapsed, 2000, CU_GET_PROC_ADDRESS_DEFAULT,
                                 &found));
    REQUIRE(elapsed != NULL);
    memcpy(&k->elapsed, &elapsed, sizeof elapsed);
    k->module = raw_cuda_load(r->cu, "bench_kinds");
    for (size_t i = 0; i < KINDS_WORKS; i++)
        k->kernels[i] = raw_cuda_function(r->cu, k->module, names[i]);
    RIG_CU(r->cu->EventCreate(&k->begin, CU_EVENT_DEFAULT));
    RIG_CU(r->cu->EventCreate(&k->end, CU_EVENT_DEFAULT));
    RIG_CU(r->cu->MemAlloc(&k->wrong, sizeof(uint32_t)));
    open_counter(k);
    k->layout = make_layout(k, sizeof(buffer_constants));
    make_pipelines(k);
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = 2};
    VK_OK(vkCreateQueryPool(r->vk.device, &queries, NULL, &k->queries));
}

void kinds_close(kinds *k)
{
    const rig *r = &k->bench.rig;
    const VkDevice device = r->vk.device;
    vkDestroyQueryPool(device, k->queries, NULL);
    for (size_t i = 0; i < KINDS_WORKS; i++)
        vkDestroyPipeline(device, k->pipelines[i], NULL);
    vkDestroyPipelineLayout(device, k->layout, NULL);
    vkDestroyBuffer(device, k->vk_wrong.buffer, NULL);
    vkFreeMemory(device, k->vk_wrong.memory, NULL);
    RIG_CU(r->cu->MemFree(k->wrong));
    RIG_CU(r->cu->EventDestroy(k->begin));
    RIG_CU(r->cu->EventDestroy(k->end));
    RIG_CU(r->cu->ModuleUnload(k->module));
}

/* Launches ------------------------------------------------------------------------------------- */

static void launch(kinds *k, kinds_job *job, int work)
{
    const rig *r = &k->bench.rig;
    uint32_t vectors = (uint32_t)(job->bytes / 16), mask = (uint32_t)(job->bytes / 4 - 1);
    uint32_t seed = k->seed++;
    CUdeviceptr wrong = k->wrong;
    void *fill[] = {&job->pointer, &vectors, &job->noise};
    void *add[] = {&job->pointer, &vectors};
    void *random[] = {&job->pointer, &mask, &job->noise, &job->passes, &seed, &k->reads, &wrong};
    void **const params[] = {fill, add, random};
    RIG_CU(r->cu->LaunchKernel(k->kernels[work], k->threads / GROUP, 1, 1, GROUP, 1, 1, 0,
                               r->stream, params[work], NULL));
}

static void record(kinds *k, VkCommandBuffer commands, const kinds_job *job, int work)
{
    const buffer_constants buffer = {.vectors = job->address,
                                     .words = job->address,
                                     .wrong = k->wrong_address,
                                     .num_vectors = (uint32_t)(job->bytes / 16),
                                     .mask = (uint32_t)(job->bytes / 4 - 1),
                                     .noise = job->noise,
                                     .addend = job->passes,
                                     .seed = k->seed++,
                                     .reads = k->reads};
    const VkMemoryBarrier2 all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                  .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                  .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                  .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                  .dstAccessMask =
                                      VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
    const VkDependencyInfo between = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                      .memoryBarrierCount = 1,
                                      .pMemoryBarriers = &all};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipelines[work]);
    vkCmdPushConstants(commands, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof buffer, &buffer);
    vkCmdDispatch(commands, k->threads / GROUP, 1, 1);
    vkCmdPipelineBarrier2(commands, &between);
}

/* Nanoseconds of `times`, one after another. */
static double by_cuda(kinds *k, kinds_job *job, int work, unsigned times)
{
    const rig *r = &k->bench.rig;
    float ms = 0.0f;
    RIG_CU(r->cu->EventRecord(k->begin, r->stream));
    for (unsigned i = 0; i < times; i++)
        launch(k, job, work);
    RIG_CU(r->cu->EventRecord(k->end, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    RIG_CU(k->elapsed(&ms, k->begin, k->end));
    return 1e6 * (double)ms;
}

static double by_vulkan(kinds *k, kinds_job *job, int work, unsigned times)
{
    raw_vk *vk = &k->bench.rig.vk;
    uint64_t ticks[2] = {0};
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdResetQueryPool(commands, k->queries, 0, 2);
    vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, k->queries, 0);
    for (unsigned i = 0; i < times; i++)
        record(k, commands, job, work);
    vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, k->queries, 1);
    raw_vk_submit(vk, commands, NULL);
    VK_OK(vkGetQueryPoolResults(vk->device, k->queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    return (double)(ticks[1] - ticks[0]) * (double)vk->properties.limits.timestampPeriod;
}

static void forget_wrong(kinds *k)
{
    const uint32_t zero = 0;
    RIG_CU(k->bench.rig.cu->MemsetD32Async(k->wrong, 0, 1, k->bench.rig.stream));
    memcpy(k->vk_wrong.mapped, &zero, sizeof zero);
}

/* What either side counted since. */
static uint32_t count_wrong(const kinds *k, kinds_side side)
{
    uint32_t wrong = 0;
    if (side == KINDS_CUDA)
        RIG_CU(k->bench.rig.cu->MemcpyDtoH(&wrong, k->wrong, sizeof wrong));
    else
        memcpy(&wrong, k->vk_wrong.mapped, sizeof wrong);
    return wrong;
}

static void require_right(kinds *k, const kinds_job *job, kinds_side side, int work, uint64_t words)
{
    const char *who = side == KINDS_CUDA ? "CUDA" : "Vulkan";
    const bool reads = work == KINDS_RANDOM;
    const uint32_t wrong = count_wrong(k, side);
    if (wrong != 0)
        FAIL("%u words that %s read in %llu bytes of %s are wrong", wrong, who,
             (unsigned long long)job->bytes, k->bench.variant);
    if (reads) k->checked += words;
}

static double run(kinds *k, kinds_job *job, kinds_side side, int work, unsigned times)
{
    forget_wrong(k);
    const double ns =
        side == KINDS_CUDA ? by_cuda(k, job, work, times) : by_vulkan(k, job, work, times);
    if (work == KINDS_FILL) job->passes = 0;
    if (work == KINDS_ADD) job->passes += times;
    require_right(k, job, side, work, times * (uint64_t)k->threads * k->reads);
    return ns;
}

void kinds_do(kinds *k, kinds_job *job, kinds_side side, int work)
{
    (void)run(k, job, side, work, 1);
}

void kinds_try_check(kinds *k, const kinds_job *job, kinds_side side)
{
    kinds_job other = *job;
    other.passes++; /* so that every word is another one */
    forget_wrong(k);
    (void)(side == KINDS_CUDA ? by_cuda(k, &other, KINDS_RANDOM, 1)
                              : by_vulkan(k, &other, KINDS_RANDOM, 1));
    REQUIRE_EQ(count_wrong(k, side), k->threads * k->reads);
}

spread kinds_measure(kinds *k, kinds_job *job, kinds_side side, int work, double amount)
{
    double rates[MOST_TURNS];
    const double once = run(k, job, side, work, 1);
    double times = once > 0.0 ? k->least_ns / once + 1.0 : 1.0;
    if (times > MOST_REPEATS) times = MOST_REPEATS;
    REQUIRE(k->turns <= MOST_TURNS);
    for (unsigned i = 0; i < k->turns; i++) {
        const double ns = run(k, job, side, work, (unsigned)times);
        /* A clock so coarse says nothing. */
        rates[i] = ns > 0.0 ? amount * (double)(unsigned)times / ns : 0.0;
    }
    return statistics_spread(rates, k->turns);
}
