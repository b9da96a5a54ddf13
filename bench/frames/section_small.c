/* SPDX-License-Identifier: MIT */
/* Why many small kernels in a command buffer cost what they cost. Each cause by itself: launches by
 * VK_NVX_binary_import and dispatches of a shader that does the same, with each kind of barrier
 * between them and with none, on the queue for graphics and on one for compute alone, few blocks
 * and many, one launch and many; beside them CUDA's streams and graphs. */
#include "sections.h"

#include <culvert/cuda_api.h>
#include <culvert/vulkan_graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 256, /* of a block, as in count.comp */
    BATCH = 8,     /* launches between two barriers of BATCHES */
    PASSES = 3,    /* through all ways, in another order each time */
    RUNS = 20,     /* of a way in a pass */
    WARM = 2,
    QUERIES = 2,
    MOST_SAMPLES = PASSES * RUNS
};

typedef enum by {
    BY_STREAM,
    BY_GRAPH,
    BY_KERNELS,
    BY_RECORDED_GRAPH, /* culv_vk_record_graph() */
    BY_DISPATCHES,
    BY_NOTHING, /* the barriers alone */
    NUM_BY
} by;

static const char *const by_names[NUM_BY] = {
    [BY_STREAM] = "stream",     [BY_GRAPH] = "graph",
    [BY_KERNELS] = "kernels",   [BY_RECORDED_GRAPH] = "recorded graph",
    [BY_DISPATCHES] = "shader", [BY_NOTHING] = "barriers alone"};

/* What stands between two launches. */
typedef enum between {
    NONE,             /* each launch has words of its own */
    EXECUTION,        /* ALL_COMMANDS, no memory */
    EXECUTION_NARROW, /* COMPUTE_SHADER, no memory */
    BUFFER,           /* ALL_COMMANDS, of the words */
    BUFFER_NARROW,    /* COMPUTE_SHADER, storage, of the words */
    MEMORY_NARROW,    /* COMPUTE_SHADER, storage */
    MEMORY,           /* what culv_vk_kernel_get_barrier2() gives */
    BATCHES,          /* MEMORY after each eighth launch; these eight have words of their own */
    NUM_BETWEEN
} between;

static const char *const between_names[NUM_BETWEEN] = {[NONE] = "none",
                                                       [EXECUTION] = "execution",
                                                       [EXECUTION_NARROW] =
                                                           "execution, compute stage",
                                                       [BUFFER] = "buffer",
                                                       [BUFFER_NARROW] = "buffer, compute stage",
                                                       [MEMORY_NARROW] = "memory, compute stage",
                                                       [MEMORY] = "memory",
                                                       [BATCHES] = "memory, every 8th"};

typedef struct way {
    by by;
    between between;
    bool compute; /* the family without graphics */
    bool secondary;
} way;

typedef struct cell {
    uint32_t launches, blocks;
} cell;

enum { MOST_WAYS = 64 };

/* What Vulkan's work runs on. */
typedef struct small_queue {
    bool there, timed;
    uint32_t family;
    raw_vk_buffer words;
    VkDeviceAddress address;
    VkCommandPool pool;
    VkCommandBuffer primary, secondary;
} small_queue;

typedef struct small_state {
    frames_bench *b;
    const culv_cuda_api *cu;
    size_t bytes; /* of the words, in each memory */
    CUdeviceptr cuda;
    CUfunction count;
    CUevent begins, ends;
    CUgraph graph;
    CUgraphExec exec;
    small_queue queues[2]; /* for graphics; for compute alone */
    VkQueryPool queries;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint32_t *seen;
    size_t num_ways;
    way ways[MOST_WAYS];
    size_t num_samples[MOST_WAYS];
    double us[MOST_WAYS][MOST_SAMPLES], gpu[MOST_WAYS][MOST_SAMPLES];
    uint64_t wrong[MOST_WAYS];
} small_state;

static const uint32_t add = 1;

/* Which words a launch counts in --------------------------------------------------------------- */

static uint32_t words_of(const cell *c)
{
    return c->blocks * THREADS;
}

/* Sets of words that the launches of a frame count in. */
static uint32_t sets_of(const way *w, const cell *c)
{
    const uint32_t most = w->between == NONE      ? c->launches
                          : w->between == BATCHES ? (uint32_t)BATCH
                                                  : 1u;
    return most < c->launches ? most : c->launches;
}

static uint64_t offset_of(const way *w, const cell *c, uint32_t launch)
{
    return (uint64_t)(launch % sets_of(w, c)) * words_of(c) * sizeof(uint32_t);
}

static bool has_words(const way *w)
{
    return w->by != BY_NOTHING;
}

static bool is_cuda(const way *w)
{
    return w->by == BY_STREAM || w->by == BY_GRAPH;
}

/* Launches ------------------------------------------------------------------------------------- */

static void record_kernel(const small_state *s, const small_queue *q, VkCommandBuffer commands,
                          const way *w, const cell *c, uint32_t launch)
{
    const VkDeviceAddress at = q->address + offset_of(w, c, launch);
    const uint32_t words = words_of(c);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(at), CULV_CALL_ARG(words),
                                         CULV_CALL_ARG(add)};
    culv_kernel_call call = culv_kernel_call_init(s->b->queue_solver.count);
    call.grid[0] = c->blocks;
    call.block[0] = THREADS;
    call.args = args;
    call.num_args = sizeof args / sizeof args[0];
    CULV_OK_OR_EXIT(
        culv_vk_kernel_call_record(s->b->queue_solver.kernels, &call, commands, q->family));
}

typedef struct push_constants {
    VkDeviceAddress counts;
    uint32_t words, add;
} push_constants;

static void record_dispatch(const small_state *s, const small_queue *q, VkCommandBuffer commands,
                            const way *w, const cell *c, uint32_t launch)
{
    const push_constants push = {q->address + offset_of(w, c, launch), words_of(c), add};
    vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, c->blocks, 1, 1);
}

static void record_barrier(const small_queue *q, VkCommandBuffer commands, between what)
{
    const bool narrow = what == EXECUTION_NARROW || what == BUFFER_NARROW || what == MEMORY_NARROW;
    const bool of_buffer = what == BUFFER || what == BUFFER_NARROW;
    VkMemoryBarrier2 memory;
    CULV_OK_OR_EXIT(culv_vk_kernel_get_barrier2(&memory));
    if (narrow) {
        memory.srcStageMask = memory.dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        memory.srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
        memory.dstAccessMask =
            VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    }
    if (what == EXECUTION || what == EXECUTION_NARROW)
        memory.srcAccessMask = memory.dstAccessMask = 0;
    const VkBufferMemoryBarrier2 buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                           .srcStageMask = memory.srcStageMask,
                                           .srcAccessMask = memory.srcAccessMask,
                                           .dstStageMask = memory.dstStageMask,
                                           .dstAccessMask = memory.dstAccessMask,
                                           .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .buffer = q->words.buffer,
                                           .size = VK_WHOLE_SIZE};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = of_buffer ? 0 : 1,
                                   .pMemoryBarriers = &memory,
                                   .bufferMemoryBarrierCount = of_buffer ? 1 : 0,
                                   .pBufferMemoryBarriers = &buffer};
    vkCmdPipelineBarrier2(commands, &info);
}

static bool barrier_before(const way *w, uint32_t launch)
{
    if (launch == 0 || w->between == NONE) return false;
    return w->between != BATCHES || launch % BATCH == 0;
}

static void record_graph(const small_state *s, const small_queue *q, VkCommandBuffer commands)
{
    const culv_vk_graph_memory memory = {
        .pointer = s->cuda, .size = s->bytes, .address = q->address, .buffer = q->words.buffer};
    culv_vk_kernels *kernels = s->b->queue_solver.kernels;
    culv_vk_graph_desc desc = culv_vk_graph_desc_init();
    desc.kernels = &kernels;
    desc.num_kernels = 1;
    desc.memory = &memory;
    desc.num_memory = 1;
    CULV_OK_OR_EXIT(
        culv_vk_record_graph(s->b->bench.rig.attached, s->graph, &desc, commands, q->family));
}

static void record_work(const small_state *s, const small_queue *q, VkCommandBuffer commands,
                        const way *w, const cell *c)
{
    if (w->by == BY_RECORDED_GRAPH) {
        record_graph(s, q, commands);
        return;
    }
    if (w->by == BY_DISPATCHES)
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    for (uint32_t i = 0; i < c->launches; i++) {
        if (barrier_before(w, i)) record_barrier(q, commands, w->between);
        if (w->by == BY_KERNELS) record_kernel(s, q, commands, w, c, i);
        if (w->by == BY_DISPATCHES) record_dispatch(s, q, commands, w, c, i);
    }
}

/* What ran before is over and seen, and then the clock is read. */
static void record(const small_state *s, const small_queue *q, const way *w, const cell *c)
{
    const VkCommandBufferInheritanceInfo inherits = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .pInheritanceInfo = &inherits};
    if (w->secondary) {
        VK_OK(vkBeginCommandBuffer(q->secondary, &begin));
        record_work(s, q, q->secondary, w, c);
        VK_OK(vkEndCommandBuffer(q->secondary));
    }
    VK_OK(vkBeginCommandBuffer(q->primary, &begin));
    if (q->timed) vkCmdResetQueryPool(q->primary, s->queries, 0, QUERIES);
    record_barrier(q, q->primary, MEMORY);
    if (q->timed)
        vkCmdWriteTimestamp2(q->primary, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, s->queries, 0);
    if (w->secondary)
        vkCmdExecuteCommands(q->primary, 1, &q->secondary);
    else
        record_work(s, q, q->primary, w, c);
    if (q->timed)
        vkCmdWriteTimestamp2(q->primary, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, s->queries, 1);
    VK_OK(vkEndCommandBuffer(q->primary));
}

/* Graphs: a chain, or nodes without edges. */
static void make_graph(small_state *s, const way *w, const cell *c)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS instantiate = {0};
    CUgraphNode last = NULL;
    uint32_t words = words_of(c), more = add;
    RIG_CU(s->cu->cuGraphCreate(&s->graph, 0));
    for (uint32_t i = 0; i < c->launches; i++) {
        CUdeviceptr at = s->cuda + offset_of(w, c, i);
        void *params[] = {&at, &words, &more};
        const CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = s->count,
                                                 .gridDimX = c->blocks,
                                                 .gridDimY = 1,
                                                 .gridDimZ = 1,
                                                 .blockDimX = THREADS,
                                                 .blockDimY = 1,
                                                 .blockDimZ = 1,
                                                 .kernelParams = params};
        RIG_CU(s->cu->cuGraphAddKernelNode(&last, s->graph, &last,
                                           i == 0 || w->between == NONE ? 0 : 1, &node));
    }
    RIG_CU(s->cu->cuGraphInstantiateWithParams(&s->exec, s->graph, &instantiate));
}

/* Runs ----------------------------------------------------------------------------------------- */

static void launch_all(const small_state *s, const way *w, const cell *c)
{
    CUstream stream = s->b->bench.rig.stream;
    uint32_t words = words_of(c), more = add;
    if (w->by == BY_GRAPH) {
        RIG_CU(s->cu->cuGraphLaunch(s->exec, stream));
        return;
    }
    for (uint32_t i = 0; i < c->launches; i++) {
        CUdeviceptr at = s->cuda + offset_of(w, c, i);
        void *params[] = {&at, &words, &more};
        RIG_CU(s->cu->cuLaunchKernel(s->count, c->blocks, 1, 1, THREADS, 1, 1, 0, stream, params,
                                     NULL));
    }
}

/* Microseconds as the host sees them, and as the GPU does. */
static void run_cuda(const small_state *s, const way *w, const cell *c, double *us, double *gpu)
{
    CUstream stream = s->b->bench.rig.stream;
    float ms = 0;
    const double begun = bench_now();
    RIG_CU(s->cu->cuEventRecord(s->begins, stream));
    launch_all(s, w, c);
    RIG_CU(s->cu->cuEventRecord(s->ends, stream));
    RIG_CU(s->cu->cuStreamSynchronize(stream));
    *us = (bench_now() - begun) * 1e-3;
    RIG_CU(s->cu->cuEventElapsedTime(&ms, s->begins, s->ends));
    *gpu = (double)ms * 1e3;
}

static void run_vulkan(const small_state *s, const small_queue *q, double *us, double *gpu)
{
    const raw_vk *vk = &s->b->bench.rig.vk;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &q->primary};
    uint64_t ticks[QUERIES] = {0, 0};
    const double begun = bench_now();
    VK_OK(vkQueueSubmit(vk->queues[q->family].queue, 1, &info, VK_NULL_HANDLE));
    VK_OK(vkQueueWaitIdle(vk->queues[q->family].queue));
    *us = (bench_now() - begun) * 1e-3;
    if (q->timed)
        VK_OK(vkGetQueryPoolResults(vk->device, s->queries, 0, QUERIES, sizeof ticks, ticks,
                                    sizeof ticks[0], VK_QUERY_RESULT_64_BIT));
    *gpu = (double)(ticks[1] - ticks[0]) * (double)vk->properties.limits.timestampPeriod * 1e-3;
}

/* Words that have not counted each launch of each run, of those that are to count. */
static uint64_t look(small_state *s, const small_queue *q, const way *w, const cell *c,
                     uint32_t runs)
{
    raw_vk *vk = &s->b->bench.rig.vk;
    const uint32_t sets = sets_of(w, c), expected = runs * c->launches / sets;
    const size_t words = (size_t)sets * words_of(c);
    uint64_t wrong = 0;
    if (is_cuda(w)) {
        RIG_CU(s->cu->cuMemcpyDtoH(s->seen, s->cuda, words * sizeof(uint32_t)));
    } else {
        raw_vk_buffer staging;
        raw_vk_buffer_create(vk, words * sizeof(uint32_t), RAW_VK_HOST, &staging);
        raw_vk_copy(vk, &q->words, 0, &staging, 0, words * sizeof(uint32_t),
                    &(raw_vk_job){.queue = q->family});
        memcpy(s->seen, staging.mapped, words * sizeof(uint32_t));
        raw_vk_buffer_destroy(vk, &staging);
    }
    for (size_t i = 0; i < words; i++)
        wrong += s->seen[i] != expected;
    return wrong;
}

static void clear(small_state *s, const small_queue *q, const way *w)
{
    rig *r = &s->b->bench.rig;
    if (is_cuda(w)) {
        RIG_CU(r->cu->MemsetD32Async(s->cuda, 0, s->bytes / sizeof(uint32_t), r->stream));
        RIG_CU(r->cu->StreamSynchronize(r->stream));
    } else {
        raw_vk_fill(&r->vk, &q->words, 0, s->bytes, 0, &(raw_vk_job){.queue = q->family});
    }
}

/* No text says at which stage a kernel runs, nor that a buffer's barrier is for its addresses.
 * Behind other barriers than Culvert's a launch may miss what was written: that is told. */
static bool must_be_right(const way *w)
{
    const bool narrow = w->between == MEMORY_NARROW || w->between == BUFFER_NARROW;
    return is_cuda(w) || w->by == BY_RECORDED_GRAPH || w->between == NONE || w->between == MEMORY ||
           w->between == BATCHES || (w->by == BY_DISPATCHES && (w->between == BUFFER || narrow));
}

static void measure(small_state *s, size_t which, const cell *c, uint32_t runs)
{
    const way *w = &s->ways[which];
    const small_queue *q = &s->queues[w->compute];
    const bool graphed = w->by == BY_GRAPH || w->by == BY_RECORDED_GRAPH;
    clear(s, q, w);
    if (graphed) make_graph(s, w, c);
    if (!is_cuda(w)) record(s, q, w, c);
    for (uint32_t i = 0; i < WARM + runs; i++) {
        double us, gpu;
        if (is_cuda(w))
            run_cuda(s, w, c, &us, &gpu);
        else
            run_vulkan(s, q, &us, &gpu);
        if (i < WARM) continue;
        const size_t at = s->num_samples[which]++;
        s->us[which][at] = us;
        s->gpu[which][at] = gpu;
    }
    if (graphed) {
        RIG_CU(s->cu->cuGraphExecDestroy(s->exec));
        RIG_CU(s->cu->cuGraphDestroy(s->graph));
    }
    if (!has_words(w)) return;
    const uint64_t wrong = look(s, q, w, c, WARM + runs);
    if (wrong != 0 && must_be_right(w))
        FAIL("%s, %s: %llu of %u words have not counted each launch", by_names[w->by],
             between_names[w->between], (unsigned long long)wrong, sets_of(w, c) * words_of(c));
    s->wrong[which] += wrong;
}

/* Results -------------------------------------------------------------------------------------- */

static void print(FILE *out, const small_result *r)
{
    char name[96];
    snprintf(name, sizeof name, "%s, %s%s", r->by, r->between, r->secondary ? ", secondary" : "");
    fprintf(out, "  %-44s %-9s %9.1f (%8.1f .. %8.1f)", name, r->queue, r->us.median, r->us.p10,
            r->us.p90);
    if (r->gpu.n != 0) fprintf(out, " %9.2f %9.3f", r->gpu.median, r->gpu.median / r->launches);
    if (r->wrong != 0) fprintf(out, "   %llu words wrong", (unsigned long long)r->wrong);
    fputc('\n', out);
    fflush(out);
}

static void keep(small_state *s, size_t which, const cell *c, results *all)
{
    const way *w = &s->ways[which];
    REQUIRE(all->num_small < SMALL_MAX);
    small_result *r = &all->small[all->num_small++];
    *r = (small_result){.by = by_names[w->by],
                        .between = between_names[w->between],
                        .queue = is_cuda(w)   ? "CUDA"
                                 : w->compute ? "compute"
                                              : "graphics",
                        .secondary = w->secondary,
                        .launches = c->launches,
                        .blocks = c->blocks,
                        .wrong = s->wrong[which],
                        .us = statistics_spread(s->us[which], s->num_samples[which])};
    if (is_cuda(w) || s->queues[w->compute].timed)
        r->gpu = statistics_spread(s->gpu[which], s->num_samples[which]);
    if (s->b->bench.text != NULL) print(s->b->bench.text, r);
}

static void measure_cell(small_state *s, const cell *c, uint32_t passes, uint32_t runs,
                         results *all)
{
    size_t order[MOST_WAYS];
    char what[64];
    snprintf(what, sizeof what, "%u launch%s of %u blocks", c->launches,
             c->launches == 1 ? "" : "es", c->blocks);
    exits_watch(180, what);
    memset(s->num_samples, 0, sizeof s->num_samples);
    memset(s->wrong, 0, sizeof s->wrong);
    for (size_t i = 0; i < s->num_ways; i++)
        order[i] = i;
    for (uint32_t pass = 0; pass < passes; pass++) {
        for (size_t i = s->num_ways; i > 1; i--) {
            const size_t other = random_below(&s->b->bench.random, i), swapped = order[i - 1];
            order[i - 1] = order[other];
            order[other] = swapped;
        }
        for (size_t i = 0; i < s->num_ways; i++)
            measure(s, order[i], c, runs);
    }
    if (s->b->bench.text != NULL)
        fprintf(s->b->bench.text, "\nsmall kernels: %s\n  %-44s %-9s %9s %24s %9s %9s\n", what, "",
                "queue", "us", "(10 % .. 90 %)", "GPU us", "a launch");
    for (size_t i = 0; i < s->num_ways; i++)
        keep(s, i, c, all);
}

/* All of it ------------------------------------------------------------------------------------ */

static void add_way(small_state *s, way w)
{
    REQUIRE(s->num_ways < MOST_WAYS);
    s->ways[s->num_ways++] = w;
}

static void add_ways(small_state *s)
{
    add_way(s, (way){.by = BY_STREAM, .between = MEMORY});
    add_way(s, (way){.by = BY_GRAPH, .between = MEMORY});
    add_way(s, (way){.by = BY_GRAPH, .between = NONE});
    for (int compute = 0; compute < 2; compute++) {
        if (!s->queues[compute].there) continue;
        const bool alone = compute != 0;
        for (int i = 0; i < NUM_BETWEEN; i++)
            add_way(s, (way){.by = BY_KERNELS, .between = (between)i, .compute = alone});
        for (int i = 0; i < NUM_BETWEEN; i++)
            add_way(s, (way){.by = BY_DISPATCHES, .between = (between)i, .compute = alone});
        add_way(s, (way){.by = BY_KERNELS, .between = MEMORY, .compute = alone, .secondary = true});
        add_way(s, (way){.by = BY_RECORDED_GRAPH, .between = MEMORY, .compute = alone});
        add_way(s, (way){.by = BY_RECORDED_GRAPH, .between = NONE, .compute = alone});
        add_way(s, (way){.by = BY_NOTHING, .between = MEMORY, .compute = alone});
        add_way(s, (way){.by = BY_NOTHING, .between = MEMORY_NARROW, .compute = alone});
    }
}

static void open_queue(small_state *s, small_queue *q, uint32_t family)
{
    rig *r = &s->b->bench.rig;
    if (family == UINT32_MAX) return;
    *q = (small_queue){
        .there = true, .family = family, .timed = device_timestamp_bits(&r->vk, family) != 0};
    raw_vk_buffer_create(&r->vk, s->bytes, RAW_VK_ADDRESS, &q->words);
    q->address = raw_vk_buffer_address(&r->vk, &q->words);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = family};
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &q->pool));
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = q->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, &q->primary));
    info.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, &q->secondary));
}

static void open_pipeline(small_state *s)
{
    VkDevice device = s->b->bench.rig.vk.device;
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push_constants)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &s->layout));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = renderer_load_shader(&s->b->renderer, "count.comp"),
                  .pName = "main"},
        .layout = s->layout};
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &s->pipeline));
    vkDestroyShaderModule(device, info.stage.module, NULL);
}

static void open_state(small_state *s)
{
    rig *r = &s->b->bench.rig;
    s->cu = CULV_CUDA(r->device);
    s->count = raw_cuda_function(r->cu, s->b->solver.module, "frames_count");
    s->seen = malloc(s->bytes);
    REQUIRE(s->seen != NULL);
    RIG_CU(r->cu->MemAlloc(&s->cuda, s->bytes));
    RIG_CU(s->cu->cuEventCreate(&s->begins, 0));
    RIG_CU(s->cu->cuEventCreate(&s->ends, 0));
    open_queue(s, &s->queues[0], 0);
    open_queue(s, &s->queues[1],
               device_family(&r->vk, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT));
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = QUERIES};
    VK_OK(vkCreateQueryPool(r->vk.device, &queries, NULL, &s->queries));
    open_pipeline(s);
    add_ways(s);
}

static void close_state(small_state *s)
{
    rig *r = &s->b->bench.rig;
    vkDestroyPipeline(r->vk.device, s->pipeline, NULL);
    vkDestroyPipelineLayout(r->vk.device, s->layout, NULL);
    vkDestroyQueryPool(r->vk.device, s->queries, NULL);
    for (size_t i = 0; i < 2; i++) {
        if (!s->queues[i].there) continue;
        vkDestroyCommandPool(r->vk.device, s->queues[i].pool, NULL);
        raw_vk_buffer_destroy(&r->vk, &s->queues[i].words);
    }
    RIG_CU(s->cu->cuEventDestroy(s->ends));
    RIG_CU(s->cu->cuEventDestroy(s->begins));
    RIG_CU(r->cu->MemFree(s->cuda));
    free(s->seen);
}

static bool has_cuda(const culv_cuda_api *cu)
{
    return cu->cuGraphCreate != NULL && cu->cuGraphAddKernelNode != NULL &&
           cu->cuGraphInstantiateWithParams != NULL && cu->cuGraphLaunch != NULL &&
           cu->cuGraphExecDestroy != NULL && cu->cuGraphDestroy != NULL &&
           cu->cuEventElapsedTime != NULL;
}

void section_small(frames_bench *b, const options *o, results *all)
{
    static const cell cells[] = {{1, 64}, {16, 64}, {64, 64}, {256, 64}, {64, 1}, {64, 1024}},
                      quick[] = {{1, 2}, {16, 2}};
    static small_state s;
    const bool few = o->quick || b->bench.rig.caps.is_software;
    const cell *each = few ? quick : cells;
    const size_t count = few ? sizeof quick / sizeof quick[0] : sizeof cells / sizeof cells[0];
    memset(&s, 0, sizeof s);
    s.b = b;
    if (!b->queue_solver.there) {
        bench_left_out(&b->bench, "the device has no VK_NVX_binary_import");
        return;
    }
    if (!has_cuda(CULV_CUDA(b->bench.rig.device))) {
        bench_left_out(&b->bench, "CUDA's driver has no graphs of kernels");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = (size_t)each[i].launches * words_of(&each[i]) * sizeof(uint32_t);
        if (s.bytes < bytes) s.bytes = bytes;
    }
    open_state(&s);
    for (size_t i = 0; i < count; i++)
        measure_cell(&s, &each[i], few ? 1 : PASSES, few ? 2 : RUNS, all);
    close_state(&s);
}
