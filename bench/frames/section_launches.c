/* SPDX-License-Identifier: MIT */
/* Many small kernels in a frame, each after the one before: on a stream, as a graph, in a command
 * buffer that was recorded once, and in one that is recorded anew; the host waits for each frame.
 * Besides, what recording a launch costs on the CPU, and that Culvert allocates nothing for it. */
#include "sections.h"

#include "allocations.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 16384, THREADS = 256, FRAMES = 4, MOST_LAUNCHES = 512, COUNTED = 4096 };

#define GOAL_RECORD 1.03

typedef enum way { STREAM, GRAPH, RECORDED_ONCE, RECORDED_ANEW, RECORDING, NUM_WAYS } way;

/* Name without cu, version for cuGetProcAddress. */
#define GRAPH_CALLS(X)                                                                             \
    X(GraphCreate, 10000)                                                                          \
    X(GraphAddKernelNode, 12000)                                                                   \
    X(GraphInstantiateWithParams, 12000)                                                           \
    X(GraphLaunch, 10000)                                                                          \
    X(GraphExecDestroy, 10000)                                                                     \
    X(GraphDestroy, 10000)

typedef struct launches_state {
    frames_bench *b;
    way way;
    uint32_t launches; /* a frame's */
    CUfunction count;
    CUdeviceptr cuda; /* what kernels on the stream count in */
    raw_vk_buffer vk; /* ... and kernels in the queue */
    VkDeviceAddress address;
    uint32_t counted[2]; /* launches so far, of either */
    VkCommandPool pool;
    VkCommandBuffer once[BENCH_SIDES], anew;
    bool has_graphs;
#define GRAPH_FIELD(name, version) PFN_cu##name##_v##version name;
    GRAPH_CALLS(GRAPH_FIELD)
#undef GRAPH_FIELD
    CUgraph graph;
    CUgraphExec exec;
} launches_state;

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static const uint32_t words = WORDS, add = 1;

/* One launch by either way and side ------------------------------------------------------------ */

static culv_kernel_call call_of(const launches_state *s, const culv_kernel_call_arg *args)
{
    culv_kernel_call call = culv_kernel_call_init(s->b->queue_solver.count);
    call.grid[0] = WORDS / THREADS;
    call.block[0] = THREADS;
    call.args = args;
    call.num_args = 3;
    return call;
}

static void launch(const launches_state *s, bench_side side)
{
    const rig *r = &s->b->bench.rig;
    CUdeviceptr cuda = s->cuda;
    if (side == BENCH_CULVERT) {
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(cuda, s->address),
                                             CULV_CALL_ARG(words), CULV_CALL_ARG(add)};
        const culv_kernel_call call = call_of(s, args);
        CULV_OK_OR_EXIT(culv_kernel_call_launch(&call, r->stream));
        return;
    }
    uint32_t count = words, more = add;
    void *params[] = {&cuda, &count, &more};
    RIG_CU(r->cu->LaunchKernel(s->count, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, r->stream, params,
                               NULL));
}

static inline void record(const launches_state *s, VkCommandBuffer commands, bench_side side)
{
    const queue_solver *q = &s->b->queue_solver;
    if (side == BENCH_CULVERT) {
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(s->cuda, s->address),
                                             CULV_CALL_ARG(words), CULV_CALL_ARG(add)};
        const culv_kernel_call call = call_of(s, args);
        CULV_OK_OR_EXIT(culv_vk_kernel_call_record(q->kernels, &call, commands, 0));
        return;
    }
    const void *params[] = {&s->address, &words, &add};
    const VkCuLaunchInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                    .function = q->raw_count,
                                    .gridDimX = WORDS / THREADS,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = THREADS,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .paramCount = sizeof params / sizeof params[0],
                                    .pParams = params};
    q->raw_launch(commands, &info);
}

static void record_barrier(VkCommandBuffer commands, bench_side side)
{
    VkMemoryBarrier2 memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
    if (side == BENCH_CULVERT) CULV_OK_OR_EXIT(culv_vk_kernel_get_barrier2(&memory));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &memory};
    vkCmdPipelineBarrier2(commands, &info);
}

static void record_frame(const launches_state *s, VkCommandBuffer commands, bench_side side)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    for (uint32_t i = 0; i < s->launches; i++) {
        record_barrier(commands, side);
        record(s, commands, side);
    }
    VK_OK(vkEndCommandBuffer(commands));
}

/* Graphs: the raw calls alone ------------------------------------------------------------------ */

static bool find(const raw_cuda *cu, const char *name, int version, void *out)
{
    CUdriverProcAddressQueryResult ignored;
    void *found = NULL;
    bool there =
        cu->GetProcAddress(name, &found, version, 0, &ignored) == CUDA_SUCCESS && found != NULL;
    memcpy(out, &found, sizeof found);
    return there;
}

static void find_graphs(launches_state *s)
{
    const raw_cuda *cu = s->b->bench.rig.cu;
    s->has_graphs = true;
#define GRAPH_FIND(name, version) s->has_graphs &= find(cu, "cu" #name, version, &s->name);
    GRAPH_CALLS(GRAPH_FIND)
#undef GRAPH_FIND
}

static void make_graph(launches_state *s)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS instantiate = {0};
    CUgraphNode last = NULL;
    uint32_t count = words, more = add;
    void *params[] = {&s->cuda, &count, &more};
    const CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = s->count,
                                             .gridDimX = WORDS / THREADS,
                                             .gridDimY = 1,
                                             .gridDimZ = 1,
                                             .blockDimX = THREADS,
                                             .blockDimY = 1,
                                             .blockDimZ = 1,
                                             .kernelParams = params};
    RIG_CU(s->GraphCreate(&s->graph, 0));
    for (uint32_t i = 0; i < s->launches; i++)
        RIG_CU(s->GraphAddKernelNode(&last, s->graph, &last, i == 0 ? 0 : 1, &node));
    RIG_CU(s->GraphInstantiateWithParams(&s->exec, s->graph, &instantiate));
}

static void destroy_graph(launches_state *s)
{
    RIG_CU(s->GraphExecDestroy(s->exec));
    RIG_CU(s->GraphDestroy(s->graph));
}

/* Turns ---------------------------------------------------------------------------------------- */

static void submit_and_wait(const launches_state *s, VkCommandBuffer commands)
{
    VkQueue queue = s->b->bench.rig.vk.queues[0].queue;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    VK_OK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    VK_OK(vkQueueWaitIdle(queue));
}

static void frame(launches_state *s, bench_side side)
{
    const rig *r = &s->b->bench.rig;
    bool cuda = s->way == STREAM || s->way == GRAPH;
    if (s->way == STREAM) {
        for (uint32_t i = 0; i < s->launches; i++)
            launch(s, side);
    } else if (s->way == GRAPH) {
        RIG_CU(s->GraphLaunch(s->exec, r->stream));
    } else if (s->way == RECORDED_ANEW) {
        record_frame(s, s->anew, side);
        submit_and_wait(s, s->anew);
    } else {
        submit_and_wait(s, s->once[side]);
    }
    if (cuda) RIG_CU(r->cu->StreamSynchronize(r->stream));
    s->counted[cuda ? 0 : 1] += s->launches;
}

/* Launches that are never submitted. */
static void recording(launches_state *s, bench_side side, double *ns)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkBeginCommandBuffer(s->anew, &begin));
    double begun = cpu_ns();
    for (uint32_t i = 0; i < s->launches; i++)
        record(s, s->anew, side);
    *ns = cpu_ns() - begun;
    VK_OK(vkEndCommandBuffer(s->anew));
    VK_OK(vkResetCommandBuffer(s->anew, 0));
}

static void turn(void *state, bench_side side, double ns[])
{
    launches_state *s = state;
    if (s->way == RECORDING) {
        recording(s, side, &ns[0]);
        return;
    }
    double begun = bench_now();
    for (int i = 0; i < FRAMES; i++)
        frame(s, side);
    ns[0] = bench_now() - begun;
}

/* Every word has counted every launch. */
static void check(launches_state *s)
{
    static uint32_t got[2][WORDS];
    rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->MemcpyDtoH(got[0], s->cuda, sizeof got[0]));
    raw_vk_read(&r->vk, &s->vk, 0, got[1], sizeof got[1]);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(got[side][i], s->counted[side]);
    bench_checked(&s->b->bench);
}

static void compare(launches_state *s, way w)
{
    static const bench_row_desc rows[NUM_WAYS] = {
        [STREAM] = {.name = "stream"},
        [GRAPH] = {.name = "graph"},
        [RECORDED_ONCE] = {.name = "recorded once"},
        [RECORDED_ANEW] = {.name = "recorded anew"},
        [RECORDING] = {.name = "recording a launch", .goal = GOAL_RECORD}};
    bench *b = &s->b->bench;
    bench_series series;
    bench_row_desc row = rows[w];
    row.phases = 1;
    s->way = w;
    bench_begin(b, &series,
                (bench_setup){.kind = w == GRAPH ? BENCH_SCALE : BENCH_PAIR,
                              .turn = turn,
                              .state = s,
                              .num_phases = 1,
                              .calls = w == RECORDING ? s->launches : FRAMES});
    bench_row(b, &series, row);
    bench_end(&series);
}

/* Making a function allocates: the counter sees what it is to see. */
static void count_allocations(launches_state *s)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const queue_solver *q = &s->b->queue_solver;
    const rig *r = &s->b->bench.rig;
    culv_vk_kernels *kernels = NULL;
    if (!allocations_can_be_counted()) return;
    CULV_OK_OR_EXIT(culv_vk_kernels_create(r->attached, q->loaded, &kernels));
    allocations_begin();
    CULV_OK_OR_EXIT(culv_vk_kernels_prepare(kernels, q->count));
    uint64_t control = allocations_end().culvert;
    culv_vk_kernels_destroy(&kernels);
    if (control == 0) FAIL("no allocation of Culvert's was seen: the counter is blind");
    VK_OK(vkBeginCommandBuffer(s->anew, &begin));
    allocations_begin();
    for (int i = 0; i < COUNTED; i++)
        record(s, s->anew, BENCH_CULVERT);
    uint64_t counted = allocations_end().culvert;
    VK_OK(vkEndCommandBuffer(s->anew));
    VK_OK(vkResetCommandBuffer(s->anew, 0));
    if (counted != 0)
        FAIL("Culvert allocated %llu times while %d launches were recorded",
             (unsigned long long)counted, COUNTED);
    if (s->b->bench.text != NULL)
        fprintf(s->b->bench.text, "  %d launches were recorded; Culvert allocated nothing\n",
                COUNTED);
}

static void open_state(launches_state *s)
{
    rig *r = &s->b->bench.rig;
    VkCommandBuffer made[BENCH_SIDES + 1];
    const size_t bytes = WORDS * sizeof(uint32_t);
    s->count = raw_cuda_function(r->cu, s->b->solver.module, "frames_count");
    RIG_CU(r->cu->MemAlloc(&s->cuda, bytes));
    RIG_CU(r->cu->MemsetD32Async(s->cuda, 0, WORDS, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    raw_vk_buffer_create(&r->vk, bytes, RAW_VK_ADDRESS, &s->vk);
    raw_vk_fill(&r->vk, &s->vk, 0, bytes, 0, NULL);
    s->address = raw_vk_buffer_address(&r->vk, &s->vk);
    find_graphs(s);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = 0};
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &s->pool));
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = s->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = BENCH_SIDES + 1};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &info, made));
    memcpy(s->once, made, sizeof s->once);
    s->anew = made[BENCH_SIDES];
}

static void close_state(launches_state *s)
{
    rig *r = &s->b->bench.rig;
    vkDestroyCommandPool(r->vk.device, s->pool, NULL);
    raw_vk_buffer_destroy(&r->vk, &s->vk);
    RIG_CU(r->cu->MemFree(s->cuda));
}

void section_launches(frames_bench *b, const options *o, results *all)
{
    static const uint32_t counts[] = {1, 4, 16, 64, 256, MOST_LAUNCHES};
    launches_state s = {.b = b};
    (void)all;
    if (!b->queue_solver.there) {
        bench_left_out(&b->bench, "the device has no VK_NVX_binary_import");
        return;
    }
    exits_watch(180, "many small kernels");
    open_state(&s);
    if (b->bench.text != NULL)
        fprintf(b->bench.text, "\n%-26s %30s %30s %10s   %s\n", "", "Culvert", "raw calls", "added",
                "ratio (95 % interval)");
    for (size_t i = 0; i < (o->quick ? 2 : sizeof counts / sizeof counts[0]); i++) {
        if (b->bench.rig.caps.is_software && counts[i] > 64) break; /* minutes on a CPU */
        s.launches = counts[i];
        bench_variant(&b->bench, "%u launches", (unsigned)s.launches);
        record_frame(&s, s.once[BENCH_CULVERT], BENCH_CULVERT);
        record_frame(&s, s.once[BENCH_RAW], BENCH_RAW);
        if (s.has_graphs) make_graph(&s);
        for (way w = STREAM; w < RECORDING; w++)
            if (w != GRAPH || s.has_graphs) compare(&s, w);
        if (s.has_graphs) destroy_graph(&s);
        check(&s);
    }
    s.launches = o->quick ? 16 : MOST_LAUNCHES;
    bench_variant(&b->bench, "%s", "CPU");
    compare(&s, RECORDING);
    check(&s);
    count_allocations(&s);
    close_state(&s);
}
