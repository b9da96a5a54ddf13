/* SPDX-License-Identifier: MIT */
/* The solver. See solver.h. */
#include "solver.h"
#include "measure.h"
#include "renderer.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAVES = 16, SHORT_WAVES = 64 }; /* of blocks */

const char *const solver_work_names[SOLVER_WORKS] = {
    [SOLVER_ARITHMETIC] = "arithmetic",
    [SOLVER_BLOCKS] = "blocks",
    [SOLVER_SHORT_BLOCKS] = "short blocks",
    [SOLVER_SMALL] = "small",
    [SOLVER_MEMORY] = "memory",
};

void solver_choose(solver *s, solver_work work)
{
    s->work = work;
    s->kernel = work == SOLVER_MEMORY ? SOLVER_WALK : SOLVER_SOLVE;
    s->blocks = work == SOLVER_ARITHMETIC     ? s->wave
                : work == SOLVER_BLOCKS       ? s->wave * WAVES
                : work == SOLVER_SHORT_BLOCKS ? s->wave * SHORT_WAVES
                                              : s->processors;
    s->logged = s->blocks < s->wave ? s->blocks : s->wave;
}

void solver_open(solver *s, const rig *r, uint32_t num_times)
{
    int processors = 0;
    *s = (solver){.cu = r->cu, .stream = r->stream, .num_times = num_times};
    s->module = raw_cuda_load(r->cu, "bench_frames");
    s->kernels[SOLVER_SOLVE] = raw_cuda_function(r->cu, s->module, "frames_solve");
    s->kernels[SOLVER_WALK] = raw_cuda_function(r->cu, s->module, "frames_walk");
    s->now = raw_cuda_function(r->cu, s->module, "frames_now");
    RIG_CU(r->cu->DeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                     r->ordinal));
    REQUIRE(processors > 0);
    /* As many threads as the processors hold: 2048 each. The twin's are a CPU's. */
    s->processors = (unsigned)processors;
    s->wave = s->processors * (r->cu->software ? 1u : 2048u / SOLVER_THREADS);
    solver_choose(s, SOLVER_ARITHMETIC);
    size_t bytes = (size_t)num_times * s->wave * 2 * sizeof(uint64_t);
    RIG_CU(r->cu->MemAlloc(&s->log, bytes));
    s->times = malloc(bytes);
    REQUIRE(s->times != NULL);
}

void solver_close(solver *s)
{
    free(s->times);
    RIG_CU(s->cu->MemFree(s->log));
    RIG_CU(s->cu->ModuleUnload(s->module));
}

typedef struct solver_trial {
    const solver *solver;
    CUdeviceptr frame;
    uint64_t bytes;
} solver_trial;

static double measure(void *state, uint32_t iterations, uint32_t times)
{
    const solver_trial *t = state;
    RIG_CU(t->solver->cu->StreamSynchronize(t->solver->stream));
    double begun = bench_now();
    for (uint32_t i = 0; i < times; i++)
        solver_launch(t->solver, t->solver->stream,
                      solver_job_of(t->solver, t->frame, t->bytes, 1, iterations, SOLVER_NO_LOG));
    RIG_CU(t->solver->cu->StreamSynchronize(t->solver->stream));
    return (bench_now() - begun) * 1e-3;
}

uint32_t solver_calibrate(const solver *s, CUdeviceptr frame, uint64_t bytes, double us)
{
    solver_trial trial = {s, frame, bytes};
    return calibrate(measure, &trial, us);
}

void solver_fetch(solver *s, CUdeviceptr log, uint32_t frames)
{
    REQUIRE(frames <= s->num_times);
    RIG_CU(s->cu->MemcpyDtoH(s->times, log, (size_t)frames * s->wave * 2 * sizeof(uint64_t)));
}

solver_time solver_time_of(const solver *s, uint32_t frame)
{
    const uint64_t *t = s->times + (size_t)frame * s->wave * 2;
    solver_time all = {t[0], t[1]};
    for (unsigned b = 1; b < s->logged; b++) {
        if (t[2 * b] < all.begun) all.begun = t[2 * b];
        if (t[2 * b + 1] > all.ended) all.ended = t[2 * b + 1];
    }
    return all;
}

uint64_t solver_clock(const solver *s, double *after, double *before)
{
    uint64_t now = 0;
    CUdeviceptr to = s->log;
    void *params[] = {&to};
    RIG_CU(s->cu->StreamSynchronize(s->stream));
    *after = bench_now();
    RIG_CU(s->cu->LaunchKernel(s->now, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL));
    RIG_CU(s->cu->StreamSynchronize(s->stream));
    *before = bench_now();
    RIG_CU(s->cu->MemcpyDtoH(&now, to, sizeof now));
    return now;
}

/* The solver in a queue of Vulkan. */

static const char *const names[SOLVER_KERNELS] = {"frames_solve", "frames_walk"};

static const char *module_path(const rig *r, char path[TEST_PATH_MAX])
{
    return test_path(path, r->cu->software ? "share/culvert/bench_frames.soft.so"
                                           : "share/culvert/bench_frames.fatbin");
}

static void open_raw(queue_solver *q)
{
    const rig *r = q->rig;
    char path[TEST_PATH_MAX];
    FILE *file = fopen(module_path(r, path), "rb");
    if (file == NULL) FAIL("%s is missing", path);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    REQUIRE(size > 0 && fseek(file, 0, SEEK_SET) == 0);
    void *image = malloc((size_t)size);
    REQUIRE(image != NULL && fread(image, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    const VkCuModuleCreateInfoNVX module = {.sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX,
                                            .dataSize = (size_t)size,
                                            .pData = image};
    VK_OK(vkCreateCuModuleNVX(r->vk.device, &module, NULL, &q->raw_module));
    free(image);
    VkCuFunctionCreateInfoNVX function = {.sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX,
                                          .module = q->raw_module};
    for (int i = 0; i < SOLVER_KERNELS; i++) {
        function.pName = names[i];
        VK_OK(vkCreateCuFunctionNVX(r->vk.device, &function, NULL, &q->raw_kernels[i]));
    }
    q->raw_launch =
        (PFN_vkCmdCuLaunchKernelNVX)vkGetDeviceProcAddr(r->vk.device, "vkCmdCuLaunchKernelNVX");
    REQUIRE(q->raw_launch != NULL);
}

static void open_culvert(queue_solver *q)
{
    const rig *r = q->rig;
    char path[TEST_PATH_MAX];
    CULV_OK_OR_EXIT(
        culv_kernels_load(r->device, test_path(path, "share/culvert"), "bench_frames", &q->loaded));
    for (int i = 0; i < SOLVER_KERNELS; i++)
        CULV_OK_OR_EXIT(culv_kernels_get(q->loaded, names[i], &q->kernels_of[i]));
    CULV_OK_OR_EXIT(culv_vk_kernels_create(r->attached, q->loaded, &q->kernels));
}

static size_t log_bytes(const solver *s)
{
    return (size_t)s->wave * 2 * sizeof(uint64_t);
}

static void open_log(queue_solver *q)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = q->solver->num_times * log_bytes(q->solver),
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_buffer_create(q->rig->attached, &desc, &q->log));
    q->log_address = culv_vk_buffer_address(q->log);
}

static void open_commands(queue_solver *q)
{
    const raw_vk *vk = &q->rig->vk;
    q->family = device_family(vk, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    if (q->family == UINT32_MAX) q->family = 0;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = q->family};
    VK_OK(vkCreateCommandPool(vk->device, &pool, NULL, &q->pool));
    q->commands = calloc(q->solver->num_times, sizeof(VkCommandBuffer));
    REQUIRE(q->commands != NULL);
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = q->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = q->solver->num_times};
    VK_OK(vkAllocateCommandBuffers(vk->device, &info, q->commands));
}

void queue_solver_open(queue_solver *q, rig *r, const solver *s)
{
    *q = (queue_solver){.there = true, .rig = r, .solver = s};
    open_raw(q);
    open_culvert(q);
    open_log(q);
    open_commands(q);
}

void queue_solver_close(queue_solver *q)
{
    if (!q->there) return;
    VkDevice device = q->rig->vk.device;
    vkDestroyCommandPool(device, q->pool, NULL);
    free(q->commands);
    culv_shared_buffer_destroy(&q->log, NULL);
    culv_vk_kernels_destroy(&q->kernels);
    culv_kernels_unload(&q->loaded);
    for (int i = 0; i < SOLVER_KERNELS; i++)
        vkDestroyCuFunctionNVX(device, q->raw_kernels[i], NULL);
    vkDestroyCuModuleNVX(device, q->raw_module, NULL);
    *q = (queue_solver){.there = false};
}

void queue_solver_record(const queue_solver *q, VkCommandBuffer commands, uint32_t family,
                         const solver_job *job)
{
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(job->frame),  CULV_CALL_ARG(job->vectors),
                                         CULV_CALL_ARG(job->number), CULV_CALL_ARG(job->iterations),
                                         CULV_CALL_ARG(job->log),    CULV_CALL_ARG(job->logged)};
    culv_kernel_call call = culv_kernel_call_init(q->kernels_of[q->solver->kernel]);
    call.grid[0] = q->solver->blocks;
    call.block[0] = SOLVER_THREADS;
    call.args = args;
    call.num_args = sizeof args / sizeof args[0];
    CULV_OK_OR_EXIT(culv_vk_kernel_call_record(q->kernels, &call, commands, family));
}

void queue_solver_record_raw(const queue_solver *q, VkCommandBuffer commands, const solver_job *job)
{
    const void *params[] = {&job->frame,      &job->vectors, &job->number,
                            &job->iterations, &job->log,     &job->logged};
    const VkCuLaunchInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                    .function = q->raw_kernels[q->solver->kernel],
                                    .gridDimX = q->solver->blocks,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = SOLVER_THREADS,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .paramCount = sizeof params / sizeof params[0],
                                    .pParams = params};
    q->raw_launch(commands, &info);
}

VkDeviceAddress queue_solver_log_of(const queue_solver *q, uint32_t frame)
{
    return frame == SOLVER_NO_LOG ? 0 : q->log_address + frame * log_bytes(q->solver);
}

CUdeviceptr queue_solver_log(const queue_solver *q)
{
    return culv_shared_buffer_pointer(q->log);
}

void queue_solver_release_log(const queue_solver *q, uint32_t family)
{
    queue_solver_release(q, q->log, family);
}

void queue_solver_release(const queue_solver *q, const culv_shared_buffer *buffer, uint32_t family)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    transfer.buffer = culv_vk_buffer_handle(buffer);
    transfer.queue_family = family;
    transfer.use = CULV_VK_USE_STORAGE;
    transfer.stage = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    transfer.access = VK_ACCESS_2_MEMORY_WRITE_BIT;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    VkCommandBuffer commands = raw_vk_begin(&q->rig->vk, family);
    vkCmdPipelineBarrier2(commands, &info);
    raw_vk_submit(&q->rig->vk, commands, &(raw_vk_job){.queue = family});
}

/* The solver as a consumer. */

void reader_open(reader *r, rig *gpu, const solver *s, const queue_solver *q)
{
    *r = (reader){.rig = gpu, .solver = s, .queue = q};
    r->kernel = raw_cuda_function(gpu->cu, s->module, "frames_read");
    RIG_CU(gpu->cu->MemAlloc(&r->verdict, sizeof(reader_verdict)));
    (void)reader_judge(r);
    if (!q->there) return;
    CULV_OK_OR_EXIT(culv_kernels_get(q->loaded, "frames_read", &r->queue_kernel));
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = sizeof(reader_verdict),
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_buffer_create(gpu->attached, &desc, &r->queue_verdict));
}

void reader_close(reader *r)
{
    culv_shared_buffer_destroy(&r->queue_verdict, NULL);
    RIG_CU(r->rig->cu->MemFree(r->verdict));
}

void reader_launch(const reader *r, CUstream stream, solver_job job)
{
    CUdeviceptr verdict = r->verdict;
    void *params[SOLVER_PARAMS + 1];
    solver_params(&job, params);
    params[SOLVER_PARAMS] = &verdict;
    RIG_CU(r->rig->cu->LaunchKernel(r->kernel, r->solver->blocks, 1, 1, SOLVER_THREADS, 1, 1, 0,
                                    stream, params, NULL));
}

void reader_record(const reader *r, VkCommandBuffer commands, uint32_t family,
                   const solver_job *job)
{
    const VkDeviceAddress verdict = culv_vk_buffer_address(r->queue_verdict);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(job->frame),  CULV_CALL_ARG(job->vectors),
                                         CULV_CALL_ARG(job->number), CULV_CALL_ARG(job->iterations),
                                         CULV_CALL_ARG(job->log),    CULV_CALL_ARG(job->logged),
                                         CULV_CALL_ARG(verdict)};
    culv_kernel_call call = culv_kernel_call_init(r->queue_kernel);
    call.grid[0] = r->solver->blocks;
    call.block[0] = SOLVER_THREADS;
    call.args = args;
    call.num_args = sizeof args / sizeof args[0];
    CULV_OK_OR_EXIT(culv_vk_kernel_call_record(r->queue->kernels, &call, commands, family));
}

void reader_record_begin(const reader *r, VkCommandBuffer commands)
{
    VkMemoryBarrier2 memory;
    CULV_OK_OR_EXIT(culv_vk_kernel_get_barrier2(&memory));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &memory};
    vkCmdFillBuffer(commands, culv_vk_buffer_handle(r->queue_verdict), 0, sizeof(reader_verdict),
                    0);
    vkCmdPipelineBarrier2(commands, &info);
}

static reader_verdict take(reader *r, CUdeviceptr from)
{
    reader_verdict v;
    RIG_CU(r->rig->cu->MemcpyDtoH(&v, from, sizeof v));
    return v;
}

reader_verdict reader_judge(reader *r)
{
    const reader_verdict v = take(r, r->verdict);
    RIG_CU(r->rig->cu->MemsetD32Async(r->verdict, 0, sizeof v / sizeof(uint32_t), r->rig->stream));
    RIG_CU(r->rig->cu->StreamSynchronize(r->rig->stream));
    return v;
}

reader_verdict reader_judge_queue(reader *r, uint32_t family)
{
    queue_solver_release(r->queue, r->queue_verdict, family);
    return take(r, culv_shared_buffer_pointer(r->queue_verdict));
}

/* Iterations to time. */

enum { LONG_US = 10000, MOST_TIMES = 256, ROUNDS = 3, STEPS = 12, MOST_ITERATIONS = 1 << 26 };

#define CLOSE 0.01

/* One load's time in the middle of a row: what a row takes beyond a short one, so that its start
 * counts for nothing. */
static double each(calibrate_run *run, void *state, uint32_t iterations, double expected_us)
{
    double wanted = LONG_US / (expected_us > 1.0 ? expected_us : 1.0);
    uint32_t times = wanted < 8.0 ? 8 : wanted > MOST_TIMES ? MOST_TIMES : (uint32_t)wanted;
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double begun = run(state, iterations, 2);
        us[i] = (run(state, iterations, times) - begun) / (times - 2);
    }
    double median = statistics_spread(us, ROUNDS).median;
    return median > 0.01 ? median : 0.01;
}

/* A load may take as long with few iterations as with none: the search narrows two ends, by a
 * straight line between them and by halves in turn. */
uint32_t calibrate(calibrate_run *run, void *state, double us)
{
    run(state, 0, MOST_TIMES); /* awake, and the clocks up */
    uint32_t low = 0, high = 64, best;
    double low_us = each(run, state, 0, us), high_us;
    if (low_us >= us) return 0;
    while ((high_us = each(run, state, high, us)) < us && high < MOST_ITERATIONS) {
        uint32_t times = high_us - low_us < us / 16.0 ? 8 : 2;
        low = high;
        low_us = high_us;
        high *= times;
    }
    best = high_us - us < us - low_us ? high : low;
    double off = high_us - us < us - low_us ? high_us - us : us - low_us;
    for (int i = 0; i < STEPS && off > us * CLOSE && high - low > 1 && high_us > us; i++) {
        double part = i % 2 == 0 ? (us - low_us) / (high_us - low_us) : 0.5;
        uint32_t between = low + 1 + (uint32_t)(part * (double)(high - low - 2) + 0.5);
        double is = each(run, state, between, us);
        if (is < us) {
            low = between;
            low_us = is;
        } else {
            high = between;
            high_us = is;
        }
        if (is - us >= off || us - is >= off) continue;
        off = is < us ? us - is : is - us;
        best = between;
    }
    return best;
}
