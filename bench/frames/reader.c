/* SPDX-License-Identifier: MIT */
/* See reader.h. */
#include "reader.h"

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
