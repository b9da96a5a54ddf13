/* SPDX-License-Identifier: MIT */
/* The measurements of culvert-bench-calls. Each runs both sides, checks what they did on the other
 * API's side, and adds its rows. The raw sides are what one would write by hand: the context
 * current, parameters on the stack, each result looked at. */
#ifndef CULVERT_BENCH_CALLS_H_
#define CULVERT_BENCH_CALLS_H_

#include "measure.h"

/* The goals that are judged: Culvert over raw. */
#define GOAL_SIGNAL_WAIT 1.02
#define GOAL_IMPORT_MAP  1.03

void measure_buffer(bench *b);
void measure_image(bench *b);
void measure_timeline(bench *b);
void measure_submit(bench *b);

/* Culvert's part of `frames` frames, with every allocation in the process counted. */
report_frames count_frames(bench *b, uint64_t frames);

/* Inline, as in a loop written by hand. */
static inline CUresult raw_signal(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                                  CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {0};
    params.params.fence.value = value;
    return cu->SignalExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

static inline CUresult raw_wait(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                                CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {0};
    params.params.fence.value = value;
    return cu->WaitExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

/* What both sides of a comparison submit: empty, or one command buffer; waiting for and signaling
 * a timeline. */
static inline VkResult submit(VkQueue queue, VkCommandBuffer commands, VkSemaphore wait,
                              uint64_t wait_value, VkSemaphore signal, uint64_t signal_value)
{
    const VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = wait,
                                         .value = wait_value,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = signal,
                                           .value = signal_value,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &waits,
                                .commandBufferInfoCount = commands != VK_NULL_HANDLE ? 1 : 0,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signals};
    return vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE);
}

/* A barrier that hands a whole buffer over, between transfers on this queue family and CUDA: by
 * Culvert, or as one would write it. */
typedef enum handover { TO_VULKAN, TO_CUDA } handover;
void record_transfer_barrier(VkCommandBuffer commands, bench_side side, handover way,
                             VkBuffer buffer, uint32_t queue_family);

#endif
