/* SPDX-License-Identifier: MIT */
/* ripple's staged path: the same work without interop, for comparison. CUDA and Vulkan have memory
 * of their own; a frame is copied down to pinned host memory and up again, each copy beside the
 * simulation and the drawing of other frames, and the host tells the one when the other is done. Of
 * Culvert it takes only the device.
 *
 *   stream   | steps 1 | fill 1 | steps 2 ...        fill f waits for down f - n, n buffers
 *   copies             |        down 1        |      down f waits (on the host) for up f - n
 *   copied                                    1      signaled by a host function behind down
 *   queue for copies                          |   up 1   |           up f waits for draw f - n too
 *   ready                                                1
 *   queue for drawing                                    | draw 1 ... */
#include <stdlib.h>

#include "../common/report.h"
#include "exchange.h"
#include "staging.h"

/* What a host function is told. */
typedef struct signal_request {
    VkDevice device;
    VkSemaphore semaphore;
    uint64_t value;
} signal_request;

typedef struct staged_buffer {
    staging staging; /* cells, then rows of the tint */
    CUarray tint;    /* CUDA's */
    vulkan_buffer vulkan_cells;
    vulkan_image vulkan_tint;
    VkCommandBuffer up;
    CUevent filled, copied_down, told; /* told: the host function has returned */
    signal_request copied;
} staged_buffer;

typedef struct staged {
    CUstream copies;
    VkSemaphore copied;
    VkCommandPool command_pool;
    staged_buffer buffers[EXCHANGE_MAX_BUFFERS];
} staged;

/* Recorded once: it is the same in every frame. */
static bool record_up(exchange *e, staged_buffer *b)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (!vk_ok(vkBeginCommandBuffer(b->up, &begin), "vkBeginCommandBuffer")) return false;
    /* A submission makes visible what the host wrote before it; this was written after it. */
    VkMemoryBarrier2 written = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &written};
    vkCmdPipelineBarrier2(b->up, &dependency);
    VkBufferCopy cells = {.size = e->cells_size};
    vkCmdCopyBuffer(b->up, b->staging.buffer, b->vulkan_cells.buffer, 1, &cells);
    /* Semaphores order this and the drawing; the layouts are the barriers' whole work. */
    vulkan_use before = {VK_PIPELINE_STAGE_2_COPY_BIT, 0, VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_use copying = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                          VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    vulkan_use drawing = {VK_PIPELINE_STAGE_2_NONE, 0, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkBufferImageCopy tint = {.bufferOffset = e->cells_size,
                              .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {e->grid.width, e->grid.height, 1}};
    vulkan_image_barrier(b->up, b->vulkan_tint.image, VK_IMAGE_ASPECT_COLOR_BIT, before, copying);
    vkCmdCopyBufferToImage(b->up, b->staging.buffer, b->vulkan_tint.image, copying.layout, 1,
                           &tint);
    vulkan_image_barrier(b->up, b->vulkan_tint.image, VK_IMAGE_ASPECT_COLOR_BIT, copying, drawing);
    return vk_ok(vkEndCommandBuffer(b->up), "vkEndCommandBuffer");
}

static bool create_cuda_side(exchange *e, staged_buffer *b, exchange_buffer *both)
{
    const culv_cuda_api *cu = e->cu;
    CUDA_ARRAY3D_DESCRIPTOR texels = {.Width = e->grid.width,
                                      .Height = e->grid.height,
                                      .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                      .NumChannels = 4,
                                      .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    if (!cuda_ok(cu, cu->cuMemAlloc(&both->cuda_cells, (size_t)e->cells_size), "cuMemAlloc") ||
        !cuda_ok(cu, cu->cuArray3DCreate(&b->tint, &texels), "cuArray3DCreate"))
        return false;
    CUDA_RESOURCE_DESC surface = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = b->tint};
    return cuda_ok(cu, cu->cuSurfObjectCreate(&both->cuda_tint, &surface), "cuSurfObjectCreate") &&
           cuda_ok(cu, cu->cuEventCreate(&b->filled, CU_EVENT_DISABLE_TIMING), "cuEventCreate") &&
           cuda_ok(cu, cu->cuEventCreate(&b->copied_down, CU_EVENT_DISABLE_TIMING),
                   "cuEventCreate") &&
           cuda_ok(cu, cu->cuEventCreate(&b->told, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

static bool create_vulkan_side(exchange *e, staged_buffer *b, exchange_buffer *both)
{
    const vulkan_setup *v = e->vulkan;
    if (!vulkan_buffer_create(v, e->cells_size,
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              false, &b->vulkan_cells) ||
        !vulkan_image_create(v, EXCHANGE_TINT_FORMAT, e->grid, VK_SAMPLE_COUNT_1_BIT,
                             VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                             VK_IMAGE_ASPECT_COLOR_BIT, &b->vulkan_tint))
        return false;
    both->cells = b->vulkan_cells.buffer;
    both->tint = b->vulkan_tint.image;
    return true;
}

static bool create_buffer(exchange *e, staged *s, uint32_t i)
{
    const vulkan_setup *v = e->vulkan;
    staged_buffer *b = &s->buffers[i];
    if (!staging_create(v, e->cu, e->cells_size + e->tint_size, &b->staging) ||
        !create_cuda_side(e, b, &e->buffers[i]) || !create_vulkan_side(e, b, &e->buffers[i]))
        return false;
    b->copied = (signal_request){.device = v->device, .semaphore = s->copied};
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = s->command_pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    return vk_ok(vkAllocateCommandBuffers(v->device, &info, &b->up), "vkAllocateCommandBuffers") &&
           record_up(e, b);
}

static bool create(exchange *e)
{
    const vulkan_setup *v = e->vulkan;
    staged *s = e->own = calloc(1, sizeof *s);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = v->transfer_family};
    if (!s ||
        !cuda_ok(e->cu, e->cu->cuStreamCreate(&s->copies, CU_STREAM_NON_BLOCKING),
                 "cuStreamCreate") ||
        !vulkan_timeline_create(v, &s->copied) || !vulkan_timeline_create(v, &e->ready) ||
        !vulkan_timeline_create(v, &e->drawn) ||
        !vk_ok(vkCreateCommandPool(v->device, &pool, NULL, &s->command_pool),
               "vkCreateCommandPool"))
        return false;
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        if (!create_buffer(e, s, i)) return false;
    }
    e->transfer_bytes = 2 * (e->cells_size + e->tint_size);
    return true;
}

static void destroy(exchange *e)
{
    const vulkan_setup *v = e->vulkan;
    const culv_cuda_api *cu = e->cu;
    staged *s = e->own;
    if (!s) return;
    if (s->copies) (void)cu->cuStreamSynchronize(s->copies);
    (void)vkDeviceWaitIdle(v->device);
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        staged_buffer *b = &s->buffers[i];
        if (b->filled) (void)cu->cuEventDestroy(b->filled);
        if (b->copied_down) (void)cu->cuEventDestroy(b->copied_down);
        if (b->told) (void)cu->cuEventDestroy(b->told);
        if (e->buffers[i].cuda_tint) (void)cu->cuSurfObjectDestroy(e->buffers[i].cuda_tint);
        if (b->tint) (void)cu->cuArrayDestroy(b->tint);
        if (e->buffers[i].cuda_cells) (void)cu->cuMemFree(e->buffers[i].cuda_cells);
        staging_destroy(v, cu, &b->staging);
        vulkan_buffer_destroy(v, &b->vulkan_cells);
        vulkan_image_destroy(v, &b->vulkan_tint);
    }
    vkDestroyCommandPool(v->device, s->command_pool, NULL);
    vkDestroySemaphore(v->device, s->copied, NULL);
    vkDestroySemaphore(v->device, e->ready, NULL);
    vkDestroySemaphore(v->device, e->drawn, NULL);
    if (s->copies) (void)cu->cuStreamDestroy(s->copies);
    free(s);
}

static staged_buffer *own_buffer(const exchange *e, uint64_t frame)
{
    staged *s = e->own;
    return &s->buffers[frame % e->num_buffers];
}

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    if (frame < e->num_buffers) return true;
    return cuda_ok(e->cu, e->cu->cuStreamWaitEvent(stream, own_buffer(e, frame)->copied_down, 0),
                   "cuStreamWaitEvent");
}

static void CUDA_CB signal_from_host(void *user)
{
    const signal_request *request = user;
    VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                    .semaphore = request->semaphore,
                                    .value = request->value};
    /* Nobody else can let the queues go on. */
    if (!vk_ok(vkSignalSemaphore(request->device, &signal), "vkSignalSemaphore"))
        _Exit(EXIT_FAILURE);
}

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    const culv_cuda_api *cu = e->cu;
    const staged *s = e->own;
    staged_buffer *b = own_buffer(e, frame);
    if (!cuda_ok(cu, cu->cuEventRecord(b->filled, stream), "cuEventRecord") ||
        !cuda_ok(cu, cu->cuStreamWaitEvent(s->copies, b->filled, 0), "cuStreamWaitEvent"))
        return false;
    /* CUDA cannot wait for Vulkan: the host does, for a copy that began before the GPU's present
     * frame. The event comes before the copy anyway; without it vkSignalSemaphore may still be
     * returning in its thread, where validation layers before 1.3.296 block themselves for ten
     * seconds (Vulkan-ValidationLayers pull 8519). */
    if (frame >= e->num_buffers) {
        if (!cuda_ok(cu, cu->cuEventSynchronize(b->told), "cuEventSynchronize")) return false;
        uint64_t up_before = frame - e->num_buffers + 1;
        VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &e->ready,
                                    .pValues = &up_before};
        if (!vk_ok(vkWaitSemaphores(e->vulkan->device, &wait, UINT64_MAX), "vkWaitSemaphores"))
            return false;
    }
    CUDA_MEMCPY2D tint = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = b->tint,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = (char *)b->staging.host + e->cells_size,
                          .dstPitch = 4u * (size_t)e->grid.width,
                          .WidthInBytes = 4u * (size_t)e->grid.width,
                          .Height = e->grid.height};
    b->copied.value = frame + 1;
    return cuda_ok(cu,
                   cu->cuMemcpyDtoHAsync(b->staging.host, exchange_buffer_of(e, frame)->cuda_cells,
                                         (size_t)e->cells_size, s->copies),
                   "cuMemcpyDtoHAsync") &&
           cuda_ok(cu, cu->cuMemcpy2DAsync(&tint, s->copies), "cuMemcpy2DAsync") &&
           cuda_ok(cu, cu->cuEventRecord(b->copied_down, s->copies), "cuEventRecord") &&
           cuda_ok(cu, cu->cuLaunchHostFunc(s->copies, signal_from_host, &b->copied),
                   "cuLaunchHostFunc") &&
           cuda_ok(cu, cu->cuEventRecord(b->told, s->copies), "cuEventRecord");
}

static bool begin_drawing(exchange *e, uint64_t frame)
{
    const staged *s = e->own;
    VkSemaphoreSubmitInfo waits[2] = {
        vulkan_submit_point(s->copied, frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)};
    uint32_t num_waits = 1;
    if (frame >= e->num_buffers) {
        waits[num_waits++] = vulkan_submit_point(e->drawn, frame - e->num_buffers + 1,
                                                 VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    }
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(e->ready, frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = own_buffer(e, frame)->up};
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .waitSemaphoreInfoCount = num_waits,
                          .pWaitSemaphoreInfos = waits,
                          .commandBufferInfoCount = 1,
                          .pCommandBufferInfos = &commands,
                          .signalSemaphoreInfoCount = 1,
                          .pSignalSemaphoreInfos = &signal};
    return vk_ok(vkQueueSubmit2(e->vulkan->transfer_queue, 1, &info, VK_NULL_HANDLE),
                 "vkQueueSubmit2");
}

/* The host's signal of `copied` counts as submitted once it is made. */
static bool before_present(exchange *e, uint64_t frame)
{
    return cuda_ok(e->cu, e->cu->cuEventSynchronize(own_buffer(e, frame)->told),
                   "cuEventSynchronize");
}

static void unblock(exchange *e, uint64_t end)
{
    const staged *s = e->own;
    if (!s || !s->copies) return;
    (void)e->cu->cuStreamSynchronize(s->copies); /* it waits for nothing of Vulkan's */
    vulkan_signal_up_to(e->vulkan, s->copied, end + 1);
}

const exchange_path path_staged = {.name = "staged",
                                   .create = create,
                                   .destroy = destroy,
                                   .cuda_acquire = cuda_acquire,
                                   .cuda_release = cuda_release,
                                   .begin_drawing = begin_drawing,
                                   .before_present = before_present,
                                   .unblock = unblock};
