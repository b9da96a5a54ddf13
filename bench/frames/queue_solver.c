/* SPDX-License-Identifier: MIT */
/* See queue_solver.h. */
#include "queue_solver.h"

#include "device.h"

#include <stdio.h>
#include <stdlib.h>

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
