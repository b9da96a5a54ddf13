/* SPDX-License-Identifier: MIT */
/* Programs with one mistake each, which somebody wrote who had not read the checker: after public
 * threads, and in forms that its author may not have thought of. What is right in them is legal in
 * ways that a checker may take for wrong. */
#include "seeds.h"

#include <fcntl.h>
#include <pthread.h>

static unsigned char pageable[SIZE];

/* ---- what they share ---- */

/* The order by a fence alone: a submission of nothing signals it after all before it. */
static void wait_fence(void)
{
    VkFence fence;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK(vkCreateFence(device, &info, NULL, &fence));
    VK(vkQueueSubmit(queue, 0, NULL, fence));
    VK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(device, fence, NULL);
}

static VkSemaphoreSubmitInfo point(const timeline *t, uint64_t value)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = t->vulkan,
                                   .value = value,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

/* With vkQueueSubmit2: commands, or NULL, and then a signal. */
static void submit2(VkCommandBuffer commands, const timeline *t, uint64_t value)
{
    const VkCommandBufferSubmitInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                         .commandBuffer = commands};
    const VkSemaphoreSubmitInfo signal = point(t, value);
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = commands != VK_NULL_HANDLE,
                                .pCommandBufferInfos = &c,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signal};
    if (commands != VK_NULL_HANDLE) VK(vkEndCommandBuffer(commands));
    VK(vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE));
}

static void host_signals(const timeline *t, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = t->vulkan, .value = value};
    (void)vkSignalSemaphore(device, &info);
}

/* Vulkan reads all of it, and copies it to a buffer that nobody else knows. */
static void vulkan_reads(const shared *s)
{
    also.copies_to = make_buffer(false).buffer;
    vulkan_writes(s, NULL, 0, 0);
    also.copies_to = VK_NULL_HANDLE;
}

static void run_in_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, run, argument) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

/* Some lines of it as a plane. */
static CUDA_MEMCPY2D plane(CUdeviceptr from)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.srcPitch = 1024;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = 300;
    copy.WidthInBytes = 300;
    copy.Height = 7;
    return copy;
}

/* ---- descriptors ---- */

typedef struct thread_import {
    shared s;
    int fd;
} thread_import;

static void *import_here(void *argument)
{
    thread_import *t = argument;
    CU(cu.cuCtxSetCurrent(contexts[0]));
    CU(import_memory(&t->s.import, t->fd, t->s.allocated, 0));
    return NULL;
}

/* A loader thread imports; the thread that exported cleans up its number. */
static void held_thread_imports(bool wrong)
{
    thread_import t = {.s = make_buffer(false)};
    t.fd = memory_fd(&t.s);
    if (wrong) {
        run_in_thread(import_here, &t);
        (void)close(t.fd);
    } else { /* A second descriptor is the thread's own. */
        const int mine = memory_fd(&t.s);
        run_in_thread(import_here, &t);
        (void)close(mine);
    }
}

static void held_duplicate_imported(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s), copy = fcntl(fd, F_DUPFD_CLOEXEC, 40);
    CU(import_memory(&s.import, copy, s.allocated, 0));
    if (!wrong) (void)close(fd);
}

/* Memory is exported in each frame, and imported in the first. */
static void held_export_each_frame(bool wrong)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    for (int frame = 1; frame < 4; frame++) {
        const int fd = memory_fd(&s);
        if (!wrong) (void)close(fd);
    }
}

/* An import that fails takes nothing: here it has no context. */
static void held_failed_import(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s);
    CU(cu.cuCtxSetCurrent(NULL));
    MUST(import_memory(&s.import, fd, s.allocated, 0) != CUDA_SUCCESS);
    CU(cu.cuCtxSetCurrent(contexts[0]));
    if (!wrong) (void)close(fd);
}

/* A descriptor of a semaphore goes back into Vulkan. */
static void held_semaphore_home(bool wrong)
{
    int fd = -1, other = -1;
    timeline t = make_timeline(&fd), same = make_timeline(&other);
    const VkImportSemaphoreFdInfoKHR from = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = same.vulkan,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fd};
    (void)t;
    (void)close(other);
    VK(vkImportSemaphoreFdKHR(device, &from));
    if (wrong) (void)close(fd);
}

/* ---- sizes, offsets, dedication ---- */

/* The first import is right, a second one asks the buffer for the size. */
static void held_second_import(bool wrong)
{
    shared s = share_buffer();
    CUexternalMemory again;
    (void)import_memory(&again, memory_fd(&s), wrong ? SIZE : s.allocated, 0);
}

static void held_offset_at_end(bool wrong)
{
    shared s = make_buffer(false);
    CUdeviceptr pointer;
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    (void)map(&pointer, s.import, 4096, s.allocated - 4096 + (wrong ? 64 : 0));
}

/* CUDA is told ten times the height of the image. */
static void held_taller_image(bool wrong)
{
    shared s = share_image();
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc;
    CUmipmappedArray mipmaps;
    memset(&desc, 0, sizeof desc);
    desc.arrayDesc.Width = WIDTH;
    desc.arrayDesc.Height = wrong ? 10 * HEIGHT : HEIGHT;
    desc.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.arrayDesc.NumChannels = 4;
    desc.numLevels = 1;
    (void)cu.cuExternalMemoryGetMappedMipmappedArray(&mipmaps, s.import, &desc);
}

/* The image's memory is imported a second time, without the flag. */
static void held_image_flag(bool wrong)
{
    shared s = share_image();
    CUexternalMemory again;
    (void)import_memory(&again, memory_fd(&s), s.allocated,
                        wrong ? 0 : CUDA_EXTERNAL_MEMORY_DEDICATED);
}

static void held_semaphore_as_memory(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    CUexternalMemory memory;
    const bool taken = wrong ? import_memory(&memory, fd, SIZE, 0) == CUDA_SUCCESS
                             : import_semaphore(&t.cuda, fd, TIMELINE) == CUDA_SUCCESS;
    if (!taken) (void)close(fd);
}

/* ---- another GPU ---- */

static void *import_there(void *argument)
{
    thread_import *t = argument;
    CU(cu.cuCtxPushCurrent(contexts[1]));
    if (import_memory(&t->s.import, t->fd, t->s.allocated, 0) != CUDA_SUCCESS) (void)close(t->fd);
    CU(cu.cuCtxPopCurrent(NULL));
    return NULL;
}

/* A thread of its own has the context of its own. */
static void held_other_gpu_thread(bool wrong)
{
    thread_import t = {.s = make_buffer(false)};
    t.fd = memory_fd(&t.s);
    run_in_thread(wrong ? import_there : import_here, &t);
}

/* The import is right, and the stream is another GPU's. */
static void held_other_gpu_stream(bool wrong)
{
    timeline t = share_timeline();
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p;
    CUstream there;
    memset(&p, 0, sizeof p);
    p.params.fence.value = 1;
    CU(cu.cuCtxSetCurrent(contexts[1]));
    CU(cu.cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    if (!wrong) CU(cu.cuCtxSetCurrent(contexts[0]));
    (void)cu.cuSignalExternalSemaphoresAsync(&t.cuda, &p, 1, wrong ? there : streams[0]);
}

/* ---- values ---- */

static void held_host_counts(bool wrong)
{
    timeline t = share_timeline();
    host_signals(&t, 5);
    (void)cuda_signals(&t, wrong ? 5 : 6, 0);
    all_done();
}

/* A counter starts anew, and the semaphore does not. */
static void held_counter_restarts(bool wrong)
{
    timeline t = share_timeline();
    submit2(VK_NULL_HANDLE, &t, 23);
    cuda_waits(&t, 23, 1);
    CU(cu.cuStreamSynchronize(streams[1]));
    submit2(VK_NULL_HANDLE, &t, wrong ? 1 : 24);
}

/* The queue waits for CUDA, which signals nothing; the host waits for a fence. */
static void hangs_held_fence(bool wrong)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 1, 0);
    if (!wrong) CU(cuda_signals(&t, 1, 1));
    wait_fence();
}

/* The host itself signals, after the wait was issued. */
static void hangs_held_host(bool wrong)
{
    timeline t = share_timeline();
    cuda_waits(&t, 3, 0);
    host_signals(&t, wrong ? 2 : 3);
    (void)cu.cuCtxSynchronize();
}

/* A copy to pageable memory is asynchronous by its name alone. The host never signals. */
static void hangs_held_pageable(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_waits(&t, 1, 0);
    if (!wrong) host_signals(&t, 1);
    CU(cu.cuMemcpyDtoHAsync(pageable, s.pointer, SIZE, streams[0]));
    if (wrong) host_signals(&t, 1);
    all_done();
}

/* The same with a call that says that it waits, in another stream than the wait. */
static void hangs_held_copy(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    memset(&p, 0, sizeof p);
    p.params.fence.value = 2;
    vulkan_writes(NULL, &t, 0, wrong ? 1 : 2);
    CU(cu.cuWaitExternalSemaphoresAsync(&t.cuda, &p, 1, CU_STREAM_LEGACY));
    CU(cu.cuMemcpyDtoH(pageable, s.pointer, 99));
    all_done();
}

/* Each waits for the other in the first frame. */
static void hangs_held_first_frame(bool wrong)
{
    timeline drawn = share_timeline(), made = share_timeline();
    for (uint64_t frame = 1; frame <= 2; frame++) {
        if (wrong || frame > 1) cuda_waits(&drawn, wrong ? frame : frame - 1, 0);
        CU(cuda_signals(&made, frame, 0));
        vulkan_writes(NULL, &made, frame, 0);
        submit2(VK_NULL_HANDLE, &drawn, frame);
    }
    VK(vkDeviceWaitIdle(device));
}

/* ---- order ---- */

static void held_graph(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEMSET_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    p.dst = s.pointer;
    p.elementSize = 1;
    p.width = SIZE;
    p.height = 1;
    CU(cu.cuGraphCreate(&graph, 0));
    CU(cu.cuGraphAddMemsetNode(&node, graph, NULL, 0, &p, contexts[0]));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuGraphLaunch(exec, streams[0]));
    all_done();
}

static void held_captured(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphExec exec;
    CU(cu.cuStreamBeginCapture(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cu.cuMemsetD8Async(s.pointer, 7, SIZE, streams[1]));
    CU(cu.cuStreamEndCapture(streams[1], &graph));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    /* While it is captured it does nothing. */
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuGraphLaunch(exec, streams[0]));
    all_done();
}

/* The host has waited for a fence, and that is enough. */
static void held_copy2d(bool wrong)
{
    shared s = share_buffer();
    const CUDA_MEMCPY2D copy = plane(s.pointer + 333);
    vulkan_writes(&s, NULL, 0, 0);
    if (!wrong) wait_fence();
    CU(cu.cuMemcpy2D(&copy));
    all_done();
}

static void held_copy3d(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUevent event;
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = s.pointer;
    copy.srcPitch = 500;
    copy.srcHeight = 20;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = 100;
    copy.dstHeight = 11;
    copy.WidthInBytes = 100;
    copy.Height = 11;
    copy.Depth = 3;
    CU(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, 1);
    if (!wrong) CU(cu.cuEventRecord(event, streams[1]));
    if (!wrong) CU(cu.cuStreamWaitEvent(streams[0], event, 0));
    CU(cu.cuMemcpy3DAsync(&copy, streams[0]));
    all_done();
}

/* The third slice is the copy's, the first one Vulkan's. */
static void held_slice(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = s.pointer;
    copy.srcPitch = 500;
    copy.srcHeight = 20;
    copy.srcZ = wrong ? 1 : 2;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = 100;
    copy.dstHeight = 11;
    copy.WidthInBytes = 100;
    copy.Height = 11;
    copy.Depth = 1;
    vkCmdFillBuffer(commands, s.buffer, 0, 15000, 3);
    submit2(commands, &t, 1);
    CU(cu.cuMemcpy3DAsync(&copy, streams[0]));
    all_done();
}

/* After a copy to pageable memory the host knows that it is done. */
static void held_pageable(bool wrong)
{
    shared s = share_buffer();
    CU(cu.cuMemcpyDtoHAsync(wrong ? bytes : pageable, s.pointer, SIZE, streams[0]));
    vulkan_writes(&s, NULL, 0, 0);
    all_done();
}

/* Of a plane the last line meets what Vulkan writes. */
static void held_last_line(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    const CUDA_MEMCPY2D copy = plane(s.pointer);
    VkCommandBuffer commands = begin();
    vkCmdFillBuffer(commands, s.buffer, 6 * 1024 + (wrong ? 296 : 300), 400, 3);
    submit2(commands, &t, 1);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    all_done();
}

static void held_sync_memset(bool wrong)
{
    shared s = share_buffer();
    vulkan_reads(&s);
    if (!wrong) VK(vkQueueWaitIdle(queue));
    CU(cu.cuMemsetD8(s.pointer + 5, 1, 77));
    all_done();
}

/* The default stream orders blocking streams, and no others. */
static void held_default_stream(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    CUstream blocking;
    memset(&p, 0, sizeof p);
    p.params.fence.value = 1;
    CU(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    vulkan_writes(&s, &t, 0, 1);
    CU(cu.cuWaitExternalSemaphoresAsync(&t.cuda, &p, 1, CU_STREAM_LEGACY));
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, wrong ? streams[0] : blocking));
    all_done();
}

/* Each thread's default stream is another one. */
static void *wait_here(void *argument)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    const timeline *t = argument;
    memset(&p, 0, sizeof p);
    p.params.fence.value = 1;
    CU(cu.cuCtxSetCurrent(contexts[0]));
    CU(cu.cuWaitExternalSemaphoresAsync(&t->cuda, &p, 1, CU_STREAM_PER_THREAD));
    return NULL;
}

static void held_thread_stream(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (wrong)
        run_in_thread(wait_here, &t);
    else
        (void)wait_here(&t);
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, CU_STREAM_PER_THREAD));
    all_done();
}

/* Vulkan, stream 0 and stream 1 in a row, by two semaphores. */
static void held_two_hops(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline(), on = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (wrong) CU(cuda_signals(&on, 1, 0));
    cuda_waits(&t, 1, 0);
    if (!wrong) CU(cuda_signals(&on, 1, 0));
    cuda_waits(&on, 1, 1);
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, streams[1]));
    all_done();
}

/* What a new timeline has already. */
static void held_waits_for_nothing(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, wrong ? 0 : 1, 0);
    cuda_reads(&s);
    all_done();
}

/* The host passes the order on, before or after it has it. */
static void held_host_passes_on(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_waits(&t, 1, 0);
    cuda_writes(&s);
    vulkan_writes(&s, NULL, 0, 0);
    if (!wrong) wait_fence();
    host_signals(&t, 1);
    all_done();
}

/* The host asks for the value until it is there. */
static void held_polls(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    uint64_t value = 0;
    vulkan_writes(&s, &t, 0, 7);
    while (!wrong && value < 7)
        VK(vkGetSemaphoreCounterValue(device, t.vulkan, &value));
    cuda_reads(&s);
    all_done();
}

/* Neighbours in one memory need no order. */
static void held_neighbours(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    vkCmdFillBuffer(commands, s.buffer, 1000, 2000, 1);
    submit2(commands, &t, 1);
    CU(cu.cuMemsetD8Async(s.pointer + (wrong ? 2999 : 3000), 2, 500, streams[0]));
    CU(cu.cuMemsetD8Async(s.pointer + 10, 2, 990, streams[1]));
    all_done();
}

/* Two batches of one submission; a signal covers all that came before it. */
static void held_batches(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    vkCmdFillBuffer(commands, s.buffer, 0, VK_WHOLE_SIZE, 1);
    VK(vkEndCommandBuffer(commands));
    const VkCommandBufferSubmitInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                         .commandBuffer = commands};
    const VkSemaphoreSubmitInfo signal = point(&t, 1);
    const VkSubmitInfo2 work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &c};
    const VkSubmitInfo2 tells = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                 .signalSemaphoreInfoCount = 1,
                                 .pSignalSemaphoreInfos = &signal};
    const VkSubmitInfo2 batches[] = {wrong ? tells : work, wrong ? work : tells};
    VK(vkQueueSubmit2(queue, 2, batches, VK_NULL_HANDLE));
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

/* The host waits for an event of before the work. */
static void held_old_event(bool wrong)
{
    shared s = share_buffer();
    CUevent event;
    CU(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (wrong) CU(cu.cuEventRecord(event, streams[0]));
    cuda_reads(&s);
    if (!wrong) CU(cu.cuEventRecord(event, streams[0]));
    CU(cu.cuEventSynchronize(event));
    vulkan_writes(&s, NULL, 0, 0);
    all_done();
}

/* A ring of two: the writer of a slot waits for the reader of this slot, or of the one before. */
static void held_ring(bool wrong)
{
    shared slots[2] = {share_buffer(), share_buffer()};
    timeline made = share_timeline(), drawn = share_timeline();
    const VkBuffer picture = make_buffer(false).buffer;
    for (uint64_t frame = 1; frame <= 6; frame++) {
        const shared *s = &slots[frame % 2];
        const uint64_t free = wrong ? 3 : 2;
        if (frame > free) cuda_waits(&drawn, frame - free, 0);
        cuda_writes(s);
        CU(cuda_signals(&made, frame, 0));
        also.copies_to = picture;
        vulkan_writes(s, &made, frame, 0);
        also.copies_to = VK_NULL_HANDLE;
        submit2(VK_NULL_HANDLE, &drawn, frame);
    }
    all_done();
}

/* One memory at two addresses. */
static void held_alias(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUexternalMemory again;
    CUdeviceptr other;
    CU(import_memory(&again, memory_fd(&s), s.allocated, 0));
    CU(map(&other, again, 0, s.allocated));
    CU(cu.cuMemsetD8Async(other, 1, SIZE, streams[1]));
    if (!wrong) CU(cuda_signals(&t, 1, 1));
    vulkan_writes(&s, &t, wrong ? 0 : 1, 0);
    all_done();
}

/* A second import of the semaphore signals what the first one waits for. */
static void held_semaphore_twice(bool wrong)
{
    shared s = share_buffer();
    int fd = -1;
    timeline t = share_timeline(), same = t;
    const VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = t.vulkan,
                                         .handleType =
                                             VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VK(vkGetSemaphoreFdKHR(device, &get, &fd));
    CU(import_semaphore(&same.cuda, fd, TIMELINE));
    if (wrong) CU(cuda_signals(&same, 1, 1));
    CU(cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[1]));
    if (!wrong) CU(cuda_signals(&same, 1, 1));
    cuda_waits(&t, 1, 0);
    CU(cuda_signals(&t, 2, 0));
    vulkan_writes(&s, &t, 2, 0);
    all_done();
}

/* The buffer lies in the memory from some byte on. */
static void held_bound_behind(bool wrong)
{
    enum { BEHIND = 65536 };
    shared s = share_buffer();
    VkBuffer small;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = 4000,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VK(vkCreateBuffer(device, &b, NULL, &small));
    VK(vkBindBufferMemory(device, small, s.memory, BEHIND));
    shared part = {.buffer = small};
    vulkan_writes(&part, NULL, 0, 0);
    CU(cu.cuMemsetD8Async(s.pointer, 1, BEHIND + wrong, streams[0]));
    CU(cu.cuMemsetD8Async(s.pointer + BEHIND + 4000, 1, 100, streams[1]));
    all_done();
}

/* The host waits for two values, or for one of two. */
static void held_host_waits_any(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline(), other = share_timeline();
    const VkSemaphore both[] = {other.vulkan, t.vulkan};
    const uint64_t values[] = {1, 2};
    /* Of the wrong one either semaphore ends the wait: it proves nothing of the other. */
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .flags = wrong ? VK_SEMAPHORE_WAIT_ANY_BIT : 0,
                                      .semaphoreCount = 2,
                                      .pSemaphores = both,
                                      .pValues = values};
    host_signals(&other, 1);
    vulkan_writes(&s, &t, 1, 2);
    if (!wrong) host_signals(&t, 1);
    VK(vkWaitSemaphores(device, &info, UINT64_MAX));
    cuda_reads(&s);
    if (wrong) host_signals(&t, 1); /* the write comes after the read, and hits it */
    all_done();
}

static void held_array(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.srcPitch = WIDTH * 4;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = s.array;
    copy.WidthInBytes = WIDTH * 4;
    copy.Height = HEIGHT;
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 1);
    CU(cu.cuMemcpy2DAsync(&copy, streams[1]));
    all_done();
}

/* ---- ownership ---- */

static void held_release2(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    const VkBufferMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .srcQueueFamilyIndex = wrong ? VK_QUEUE_FAMILY_IGNORED : 0,
        .dstQueueFamilyIndex = wrong ? VK_QUEUE_FAMILY_IGNORED : VK_QUEUE_FAMILY_EXTERNAL,
        .buffer = s.buffer,
        .size = VK_WHOLE_SIZE};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    vkCmdFillBuffer(commands, s.buffer, 0, VK_WHOLE_SIZE, 9);
    vkCmdPipelineBarrier2(commands, &dependency);
    submit2(commands, &t, 1);
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

/* ---- lifetimes ---- */

/* Vulkan's memory may go first: CUDA holds it, too. */
static void held_memory_freed_first(bool wrong)
{
    shared s = share_buffer();
    vkDestroyBuffer(device, s.buffer, NULL);
    vkFreeMemory(device, s.memory, NULL);
    cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[wrong]));
    if (!wrong) CU(cu.cuMemFree(s.pointer)); /* it would wait */
    CU(cu.cuDestroyExternalMemory(s.import));
    all_done();
}

static void held_wrong_stream(bool wrong)
{
    timeline t = share_timeline();
    CUevent event;
    CU(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    CU(cu.cuEventRecord(event, streams[wrong]));
    CU(cu.cuEventSynchronize(event));
    CU(cu.cuDestroyExternalSemaphore(t.cuda));
    all_done();
}

static void held_copy_after(bool wrong)
{
    shared s = share_buffer();
    const CUDA_MEMCPY2D copy = plane(s.pointer + 4096);
    if (!wrong) CU(cu.cuMemcpy2D(&copy));
    CU(cu.cuMemFree(s.pointer));
    CU(cu.cuDestroyExternalMemory(s.import));
    if (wrong) (void)cu.cuMemcpy2D(&copy);
}

/* A copy of the array outlives the import. */
static void held_array_after(bool wrong)
{
    shared s = share_image();
    CUDA_MEMCPY2D copy = plane(0);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = s.array;
    copy.WidthInBytes = WIDTH * 4;
    if (!wrong) CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalMemory(s.import));
    if (wrong) (void)cu.cuMemcpy2DAsync(&copy, streams[0]);
    (void)cu.cuStreamSynchronize(streams[0]);
}

/* The whole device may go first. */
static void held_device_first(bool wrong)
{
    shared s = share_buffer();
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyBuffer(device, s.buffer, NULL);
    vkFreeMemory(device, s.memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuMemFree(s.pointer));
    CU(cu.cuDestroyExternalMemory(s.import));
    if (wrong) (void)cu.cuMemsetD8(s.pointer, 0, SIZE);
}

const seed seeds_held[] = {
    {"held_thread_imports", "fd-closed-after-import", held_thread_imports},
    {"held_duplicate_imported", "fd-leaked", held_duplicate_imported},
    {"held_export_each_frame", "fd-leaked", held_export_each_frame},
    {"held_failed_import", "fd-leaked", held_failed_import},
    {"held_semaphore_home", "fd-closed-after-import", held_semaphore_home},
    {"held_second_import", "size", held_second_import},
    {"held_offset_at_end", "range", held_offset_at_end},
    {"held_taller_image", "range", held_taller_image},
    {"held_image_flag", "dedicated", held_image_flag},
    {"held_semaphore_as_memory", "handle-type", held_semaphore_as_memory},
    {"held_other_gpu_thread", "other-gpu", held_other_gpu_thread},
    {"held_other_gpu_stream", "other-gpu", held_other_gpu_stream},
    {"held_host_counts", "no-rise", held_host_counts},
    {"held_counter_restarts", "no-rise", held_counter_restarts},
    {"hangs_held_fence", "endless-wait", hangs_held_fence},
    {"hangs_held_host", "endless-wait", hangs_held_host},
    {"hangs_held_pageable", "endless-wait", hangs_held_pageable},
    {"hangs_held_copy", "endless-wait", hangs_held_copy},
    {"hangs_held_first_frame", "endless-wait", hangs_held_first_frame},
    /* What the page says that the checker cannot see. */
    {"held_graph", "write-after-write", held_graph},
    {"held_captured", "write-after-write", held_captured},
    {"held_copy2d", "read-after-write", held_copy2d},
    {"held_copy3d", "read-after-write", held_copy3d},
    {"held_slice", "read-after-write", held_slice},
    {"held_pageable", "write-after-read", held_pageable},
    {"held_last_line", "read-after-write", held_last_line},
    {"held_sync_memset", "write-after-read", held_sync_memset},
    {"held_default_stream", "read-after-write", held_default_stream},
    {"held_thread_stream", "read-after-write", held_thread_stream},
    {"held_two_hops", "read-after-write", held_two_hops},
    {"held_waits_for_nothing", "read-after-write", held_waits_for_nothing},
    {"held_host_passes_on", "write-after-write", held_host_passes_on},
    {"held_polls", "read-after-write", held_polls},
    {"held_neighbours", "write-after-write", held_neighbours},
    {"held_batches", "read-after-write", held_batches},
    {"held_old_event", "write-after-read", held_old_event},
    {"held_ring", "write-after-read", held_ring},
    {"held_alias", "write-after-write", held_alias},
    {"held_semaphore_twice", "write-after-write", held_semaphore_twice},
    {"held_bound_behind", "write-after-write", held_bound_behind},
    {"held_host_waits_any", "write-after-read", held_host_waits_any},
    {"held_array", "write-after-write", held_array},
    {"held_release2", "no-release", held_release2},
    {"held_memory_freed_first", "memory-in-use", held_memory_freed_first},
    {"held_wrong_stream", "semaphore-in-use", held_wrong_stream},
    {"held_copy_after", "used-after-import", held_copy_after},
    {"held_array_after", "used-after-import", held_array_after},
    {"held_device_first", "used-after-import", held_device_first},
};
const size_t num_seeds_held = sizeof seeds_held / sizeof *seeds_held;
