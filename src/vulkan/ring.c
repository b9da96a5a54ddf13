/* Rings between CUDA and Vulkan: made, given up, and a side's turn. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_ring.h"

#include <inttypes.h>

/* Timelines, as the ring's core asks for them ---------------------------------------------------------------------- */

static culv_result timeline_value(void *context, uint64_t *out)
{
    const culv_vk_semaphore *s = context;
    VkResult r = culvi_vk_timeline_read(culvi_vk_of(s->pair.graphics), (VkSemaphore)s->pair.native, out);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&s->pair.graphics->device->voice, NULL, r, "vkGetSemaphoreCounterValue",
                         CULV_REASON_DRIVER_REFUSED, "a ring's timeline could not be read");
}

static culv_result timeline_wait(void *context, uint64_t value, uint64_t timeout)
{
    const culv_vk_semaphore *s = context;
    VkResult r =
        culvi_vk_timeline_wait(culvi_vk_of(s->pair.graphics), (VkSemaphore)s->pair.native, value, timeout);
    if (r == VK_SUCCESS) return CULV_OK;
    if (r == VK_TIMEOUT)
        return culvi_fail(&s->pair.graphics->device->voice, NULL, CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE,
                          "a ring's timeline has not reached %" PRIu64 " in %" PRIu64 " ns", value, timeout);
    return culvi_fail_vk(&s->pair.graphics->device->voice, NULL, r, "vkWaitSemaphores",
                         CULV_REASON_DRIVER_REFUSED,
                         "a ring's timeline could not be waited for (value %" PRIu64 ")", value);
}

static culv_result timeline_signal(void *context, uint64_t value)
{
    const culv_vk_semaphore *s = context;
    VkResult r = culvi_vk_timeline_signal(culvi_vk_of(s->pair.graphics), (VkSemaphore)s->pair.native, value);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&s->pair.graphics->device->voice, NULL, r, "vkSignalSemaphore",
                         CULV_REASON_DRIVER_REFUSED,
                         "a ring's timeline could not be signalled (value %" PRIu64 ")", value);
}

static culv_ring_timeline core_timeline(culv_vk_semaphore *semaphore, const char *name)
{
    return (culv_ring_timeline){.semaphore = semaphore->pair.cuda,
                                .value = timeline_value,
                                .wait = timeline_wait,
                                .signal = timeline_signal,
                                .context = semaphore,
                                .name = name};
}

/* Barriers --------------------------------------------------------------------------------------------------------- */

static culv_result image_barriers(const culv_vk_ring *ring, const culv_vk_ring_resource *r,
                                  const culv_vk_image *image, VkImageMemoryBarrier2 *acquire,
                                  VkImageMemoryBarrier2 *release)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.image = culv_vk_image_handle(image);
    t.format = (VkFormat)culv_image_format(culv_vk_image_cuda(image));
    t.queue_family = ring->queue_family;
    t.use = r->use;
    t.stage = r->stage;
    t.access = r->access;
    t.layout = r->layout;
    culv_result result = culv_vk_image_acquire_barrier2(&t, acquire);
    return result == CULV_OK ? culv_vk_image_release_barrier2(&t, release) : result;
}

static culv_result buffer_barriers(const culv_vk_ring *ring, const culv_vk_ring_resource *r,
                                   const culv_vk_buffer *buffer, VkBufferMemoryBarrier2 *acquire,
                                   VkBufferMemoryBarrier2 *release)
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    t.buffer = culv_vk_buffer_handle(buffer);
    t.queue_family = ring->queue_family;
    t.use = r->use;
    t.stage = r->stage;
    t.access = r->access;
    culv_result result = culv_vk_buffer_acquire_barrier2(&t, acquire);
    return result == CULV_OK ? culv_vk_buffer_release_barrier2(&t, release) : result;
}

static VkDependencyInfo dependency(const VkImageMemoryBarrier2 *images, uint32_t num_images,
                                   const VkBufferMemoryBarrier2 *buffers, uint32_t num_buffers)
{
    return (VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                              .bufferMemoryBarrierCount = num_buffers,
                              .pBufferMemoryBarriers = num_buffers > 0 ? buffers : NULL,
                              .imageMemoryBarrierCount = num_images,
                              .pImageMemoryBarriers = num_images > 0 ? images : NULL};
}

static culv_result make_barriers(culv_vk_ring *ring, const culv_vk_ring_desc *d)
{
    uint32_t num_buffers = ring->num_resources - ring->num_images;
    size_t images = (size_t)ring->depth * ring->num_images, buffers = (size_t)ring->depth * num_buffers;
    ring->image_barriers = images > 0 ? culvi_alloc(2 * images * sizeof *ring->image_barriers) : NULL;
    ring->buffer_barriers = buffers > 0 ? culvi_alloc(2 * buffers * sizeof *ring->buffer_barriers) : NULL;
    if ((images > 0 && ring->image_barriers == NULL) || (buffers > 0 && ring->buffer_barriers == NULL))
        return culvi_fail_host_memory(&ring->vk->base.device->voice, ring->label);
    for (uint32_t slot = 0; slot < ring->depth; slot++) {
        VkImageMemoryBarrier2 *image = images > 0 ? ring->image_barriers + slot * ring->num_images : NULL;
        VkBufferMemoryBarrier2 *buffer = buffers > 0 ? ring->buffer_barriers + slot * num_buffers : NULL;
        culvi_vk_ring_slot *s = &ring->slots[slot];
        s->acquire = dependency(image, ring->num_images, buffer, num_buffers);
        s->release = dependency(image != NULL ? image + images : NULL, ring->num_images,
                                buffer != NULL ? buffer + buffers : NULL, num_buffers);
        for (uint32_t i = 0; i < ring->num_resources; i++) {
            const culvi_vk_ring_resource *r = &ring->resources[i];
            culv_result result;
            if (r->images != NULL) {
                result = image_barriers(ring, &d->resources[i], r->images[slot], image, image + images);
                image++;
            } else {
                result = buffer_barriers(ring, &d->resources[i], r->buffers[slot], buffer, buffer + buffers);
                buffer++;
            }
            if (result != CULV_OK) return result;
        }
    }
    return CULV_OK;
}

/* Making ----------------------------------------------------------------------------------------------------------- */

static culv_result refuse_resource(const culv_vk_ring *ring, uint32_t i, culv_reason reason, const char *text)
{
    return culvi_fail(&ring->vk->base.device->voice, ring->label, CULV_ERROR_INVALID, reason,
                      "culv_vk_ring_desc.resources[%" PRIu32 "] %s", i, text);
}

static culv_result make_resource(culv_vk_ring *ring, const culv_vk_ring_resource *from, uint32_t i)
{
    culvi_vk_ring_resource *r = &ring->resources[i];
    int kinds =
        (from->image != NULL) + (from->buffer != NULL) + (from->images != NULL) + (from->buffers != NULL);
    bool images = from->image != NULL || from->images != NULL;
    if (kinds != 1)
        return refuse_resource(ring, i, CULV_REASON_VALUE,
                               "has not exactly one of image, buffer, images, buffers");
    r->made = from->image != NULL || from->buffer != NULL;
    if (images)
        r->images = culvi_alloc(ring->depth * sizeof *r->images);
    else
        r->buffers = culvi_alloc(ring->depth * sizeof *r->buffers);
    if (images ? r->images == NULL : r->buffers == NULL)
        return culvi_fail_host_memory(&ring->vk->base.device->voice, ring->label);
    if (images) ring->num_images++;
    for (uint32_t slot = 0; slot < ring->depth; slot++) {
        culv_result result = CULV_OK;
        if (from->image != NULL) result = culv_vk_image_create(ring->vk, from->image, &r->images[slot]);
        if (from->buffer != NULL) result = culv_vk_buffer_create(ring->vk, from->buffer, &r->buffers[slot]);
        if (from->images != NULL) r->images[slot] = from->images[slot];
        if (from->buffers != NULL) r->buffers[slot] = from->buffers[slot];
        if (result != CULV_OK) return result;
        if (images ? r->images[slot] == NULL : r->buffers[slot] == NULL)
            return refuse_resource(ring, i, CULV_REASON_NULL_ARGUMENT,
                                   "has a NULL among its max_depth objects");
        if ((images ? r->images[slot]->pair.graphics : r->buffers[slot]->pair.graphics) != &ring->vk->base)
            return refuse_resource(ring, i, CULV_REASON_DEVICE_MISMATCH,
                                   "is of another culv_vk than the ring");
    }
    return CULV_OK;
}

static culv_result record_hand_over(culv_vk_ring *ring, VkCommandBuffer commands)
{
    const culvi_vk_device *table = &ring->vk->table;
    for (uint32_t i = 0; i < ring->num_resources; i++)
        for (uint32_t slot = 0; ring->resources[i].images != NULL && slot < ring->depth; slot++) {
            const culv_vk_image *image = ring->resources[i].images[slot];
            culv_vk_image_transfer t = culv_vk_image_transfer_init();
            culv_vk_image_barrier b;
            t.image = culv_vk_image_handle(image);
            t.format = (VkFormat)culv_image_format(culv_vk_image_cuda(image));
            t.queue_family = ring->queue_family;
            t.discard = VK_TRUE;
            culv_result result = culv_vk_image_release_barrier(&t, &b);
            if (result != CULV_OK) return result;
            table->vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1,
                                        &b.barrier);
        }
    return CULV_OK;
}

static culv_result fail_hand_over(const culv_vk_ring *ring, VkResult r, const char *call)
{
    return culvi_fail_vk(&ring->vk->base.device->voice, ring->label, r, call, CULV_REASON_DRIVER_REFUSED,
                         "the ring's images could not be handed to CUDA");
}

/* All images from UNDEFINED to GENERAL and VK_QUEUE_FAMILY_EXTERNAL, which every later acquire begins with. */
static culv_result hand_over(culv_vk_ring *ring, VkQueue queue)
{
    const culvi_vk_device *table = &ring->vk->table;
    VkDevice device = ring->vk->vk_device;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    culv_result result = CULV_OK;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = ring->queue_family};
    VkResult r = table->vkCreateCommandPool(device, &pool_info, NULL, &pool);
    if (r != VK_SUCCESS) return fail_hand_over(ring, r, "vkCreateCommandPool");
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    r = table->vkCreateFence(device, &fence_info, NULL, &fence);
    if (r != VK_SUCCESS) {
        result = fail_hand_over(ring, r, "vkCreateFence");
        goto destroy_pool;
    }
    const VkCommandBufferAllocateInfo commands_info = {.sType =
                                                           VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                       .commandPool = pool,
                                                       .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                       .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const char *call = "vkAllocateCommandBuffers";
    r = table->vkAllocateCommandBuffers(device, &commands_info, &commands);
    if (r == VK_SUCCESS) {
        call = "vkBeginCommandBuffer";
        r = table->vkBeginCommandBuffer(commands, &begin);
    }
    if (r == VK_SUCCESS) {
        result = record_hand_over(ring, commands);
        if (result != CULV_OK) goto destroy_fence;
        call = "vkEndCommandBuffer";
        r = table->vkEndCommandBuffer(commands);
    }
    if (r == VK_SUCCESS) {
        const VkSubmitInfo submit = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
        call = "vkQueueSubmit";
        r = table->vkQueueSubmit(queue, 1, &submit, fence);
    }
    if (r == VK_SUCCESS) {
        call = "vkWaitForFences";
        r = table->vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
        /* What is destroyed next may still run, unless the device is lost, which it stays. */
        if (r != VK_SUCCESS) r = table->vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
    }
    if (r != VK_SUCCESS) result = fail_hand_over(ring, r, call);

destroy_fence:
    table->vkDestroyFence(device, fence, NULL);
destroy_pool:
    table->vkDestroyCommandPool(device, pool, NULL);
    return result;
}

static culv_result check_desc(const culv_vk *vk, VkQueue queue, const culv_vk_ring_desc *d)
{
    const culvi_voice *voice = &vk->base.device->voice;
    if (d->max_depth == 0 || d->max_depth > CULV_RING_MAX_DEPTH)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_ring_desc.max_depth is %" PRIu32 "; it is 1 to %d", d->max_depth,
                          CULV_RING_MAX_DEPTH);
    if ((uint32_t)d->side > CULV_RING_CONSUMER)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_ring_desc.side is %u, which is no culv_ring_side", (unsigned)d->side);
    if (d->num_resources > CULV_VK_RING_MAX_RESOURCES)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_ring_desc.num_resources is %" PRIu32 "; a slot has %d at most",
                          d->num_resources, CULV_VK_RING_MAX_RESOURCES);
    if ((d->num_resources > 0 && d->resources == NULL) || queue == VK_NULL_HANDLE)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_ring_create: %s is NULL",
                          queue == VK_NULL_HANDLE ? "queue" : "culv_vk_ring_desc.resources");
    if (d->queue_family >= vk->queue_families)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_ring_desc.queue_family is %" PRIu32 ", but '%s' has %" PRIu32
                          " queue families",
                          d->queue_family, vk->base.name, vk->queue_families);
    return culvi_vk_check_host_timelines(vk, d->label);
}

/* What there is of it, in any order that it was made in. */
static void unmake(culv_vk_ring *ring)
{
    culv_ring_destroy(&ring->core);
    for (uint32_t i = 0; i < ring->num_resources; i++) {
        culvi_vk_ring_resource *r = &ring->resources[i];
        for (uint32_t slot = 0; r->made && slot < ring->depth; slot++) {
            if (r->images != NULL) culv_vk_image_destroy(&r->images[slot]);
            if (r->buffers != NULL) culv_vk_buffer_destroy(&r->buffers[slot]);
        }
        culvi_free(r->images);
        culvi_free(r->buffers);
    }
    for (int side = 0; side < 2; side++)
        culv_vk_semaphore_destroy(&ring->timelines[side]);
    culvi_free(ring->image_barriers);
    culvi_free(ring->buffer_barriers);
    culvi_free(ring);
}

static culv_result make_core(culv_vk_ring *ring, const culv_vk_ring_desc *d)
{
    culv_ring_desc core = culv_ring_desc_init();
    core.max_depth = d->max_depth;
    core.settings = d->settings;
    core.ready = core_timeline(ring->timelines[CULV_RING_PRODUCER], "ready");
    core.done = core_timeline(ring->timelines[CULV_RING_CONSUMER], "done");
    core.label = d->label;
    return culv_ring_create(ring->vk->base.device, &core, &ring->core);
}

/* Where a slot's memory may be copied, its timelines may be relayed. A descriptor that cannot be read is refused when its
 * objects are made. */
static uint32_t fallbacks(const culvi_voice *voice, const culv_vk_ring_desc *d)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < d->num_resources; i++) {
        const culv_vk_ring_resource *r = &d->resources[i];
        culv_vk_image_create_desc image;
        culv_vk_buffer_create_desc buffer;
        if (r->image != NULL &&
            culvi_desc_read(voice, &image, sizeof image, r->image, "culv_vk_image_create_desc") == CULV_OK)
            all |= image.fallback;
        if (r->buffer != NULL && culvi_desc_read(voice, &buffer, sizeof buffer, r->buffer,
                                                 "culv_vk_buffer_create_desc") == CULV_OK)
            all |= buffer.fallback;
    }
    return all;
}

culv_result culv_vk_ring_create(culv_vk *vk, VkQueue queue, const culv_vk_ring_desc *desc, culv_vk_ring **out)
{
    culv_vk_ring_desc d;
    if (vk == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->base.device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_ring_create: %s is NULL",
                          vk == NULL     ? "vk"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &vk->base.device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_ring_desc");
    if (result == CULV_OK) result = check_desc(vk, queue, &d);
    if (result != CULV_OK) return result;
    culv_vk_ring *ring = culvi_alloc(sizeof *ring);
    if (ring == NULL) return culvi_fail_host_memory(voice, d.label);
    ring->vk = vk;
    ring->side = d.side;
    ring->queue_family = d.queue_family;
    ring->wait_stage = d.wait_stage != 0 ? d.wait_stage : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    ring->depth = d.max_depth;
    culvi_label_set(ring->label, d.label);
    culv_vk_semaphore_create_desc timeline = culv_vk_semaphore_create_desc_init();
    timeline.label = d.label;
    timeline.fallback = fallbacks(voice, &d);
    for (int side = 0; side < 2 && result == CULV_OK; side++)
        result = culv_vk_semaphore_create(vk, &timeline, &ring->timelines[side]);
    for (uint32_t i = 0; i < d.num_resources && result == CULV_OK; i++) {
        ring->num_resources = i + 1;
        result = make_resource(ring, &d.resources[i], i);
    }
    if (result == CULV_OK) result = make_barriers(ring, &d);
    if (result == CULV_OK) result = make_core(ring, &d);
    if (result == CULV_OK && ring->num_images > 0) result = hand_over(ring, queue);
    if (result != CULV_OK) {
        unmake(ring);
        return result;
    }
    culvi_graphics_ref(&vk->base);
    *out = ring;
    return CULV_OK;
}

void culv_vk_ring_destroy(culv_vk_ring **ring)
{
    if (ring == NULL || *ring == NULL) return;
    culv_vk *vk = (*ring)->vk;
    unmake(*ring);
    *ring = NULL;
    culvi_graphics_unref(&vk->base);
}

/* What it is made of ------------------------------------------------------------------------------------------------ */

culv_ring *culv_vk_ring_core(const culv_vk_ring *ring)
{
    return ring != NULL ? ring->core : NULL;
}

culv_vk_image *culv_vk_ring_image(const culv_vk_ring *ring, uint32_t slot, uint32_t resource)
{
    if (ring == NULL || slot >= ring->depth || resource >= ring->num_resources) return NULL;
    return ring->resources[resource].images != NULL ? ring->resources[resource].images[slot] : NULL;
}

culv_vk_buffer *culv_vk_ring_buffer(const culv_vk_ring *ring, uint32_t slot, uint32_t resource)
{
    if (ring == NULL || slot >= ring->depth || resource >= ring->num_resources) return NULL;
    return ring->resources[resource].buffers != NULL ? ring->resources[resource].buffers[slot] : NULL;
}

VkSemaphore culv_vk_ring_semaphore(const culv_vk_ring *ring, culv_ring_side side)
{
    if (ring == NULL || (uint32_t)side > CULV_RING_CONSUMER) return VK_NULL_HANDLE;
    return (VkSemaphore)ring->timelines[side]->pair.native;
}
