/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: Vulkan's slots and timelines, barriers, the first hand-over of
 * images, submissions, and copies of a slot's resource. */
#include "culvert/vulkan_ring.h"
#include "graphics/graphics_ring.h"
#include "vulkan/vk_resource.h"

typedef struct culvi_vk_ring {
    culvi_graphics_ring base;
    culv_vk_device *vk; /* base.graphics: a reference */
    uint32_t queue_family;
    VkPipelineStageFlags2 wait_stage;
    /* Of each slot by culv_vk_direction, in arrays that all slots share. */
    VkDependencyInfo barriers[CULV_RING_MAX_DEPTH][2];
    VkImageMemoryBarrier2 *image_barriers;   /* acquires of all slots, then releases */
    VkBufferMemoryBarrier2 *buffer_barriers; /* the same */
} culvi_vk_ring;

/* Barriers ------------------------------------------------------------------------------------- */

/* The barriers around a use of a slot's object in the ring's queue, by culv_vk_direction. */
typedef struct turn {
    bool is_image; /* one of the two */
    VkImageMemoryBarrier2 image[2];
    VkBufferMemoryBarrier2 buffer[2];
} turn;

static culv_result turn_of(const culvi_vk_ring *ring, const culvi_pair *object,
                           const culv_vk_ring_resource *use, turn *out)
{
    const uint32_t family = culvi_vk_native_family(&object->native, ring->queue_family);
    out->is_image = object->native.is_image;
    for (culv_vk_direction way = CULV_VK_ACQUIRE; way <= CULV_VK_RELEASE; way++) {
        culv_vk_image_transfer i = culv_vk_image_transfer_init();
        culv_vk_buffer_transfer b = culv_vk_buffer_transfer_init();
        i.image = (VkImage)object->native.object;
        b.buffer = (VkBuffer)object->native.object;
        i.queue_family = b.queue_family = family;
        i.use = b.use = use->use;
        i.stage = b.stage = use->stage;
        i.access = b.access = use->access;
        i.layout = use->layout;
        if (out->is_image) i.format = (VkFormat)object->image->desc.format;
        CULVI_TRY(out->is_image ? culv_vk_image_get_barrier2(&i, way, &out->image[way])
                                : culv_vk_buffer_get_barrier2(&b, way, &out->buffer[way]));
    }
    return CULV_OK;
}

/* In the form of Vulkan 1.0. */
static void record_barrier(const culvi_vk_ring *ring, VkCommandBuffer commands, const turn *t,
                           culv_vk_direction way)
{
    const PFN_vkCmdPipelineBarrier call = ring->vk->table.vkCmdPipelineBarrier;
    if (t->is_image) {
        const culv_vk_image_barrier i = culv_vk_old_image_barrier(&t->image[way]);
        call(commands, i.src_stage, i.dst_stage, 0, 0, NULL, 0, NULL, 1, &i.barrier);
    } else {
        const culv_vk_buffer_barrier b = culv_vk_old_buffer_barrier(&t->buffer[way]);
        call(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 1, &b.barrier, 0, NULL);
    }
}

static culv_result make_barriers(culvi_vk_ring *ring, const culv_vk_ring_desc *d)
{
    const culvi_graphics_ring *base = &ring->base;
    uint32_t num_images = base->num_images, num_buffers = base->num_resources - num_images;
    size_t images = (size_t)base->depth * num_images, buffers = (size_t)base->depth * num_buffers;
    VkImageMemoryBarrier2 *image = ring->image_barriers =
        culvi_alloc((2 * images + 1) * sizeof *image);
    VkBufferMemoryBarrier2 *buffer = ring->buffer_barriers =
        culvi_alloc((2 * buffers + 1) * sizeof *buffer);
    if (image == NULL || buffer == NULL)
        return culvi_fail_host_memory(ring->vk->voice, base->label);
    for (uint32_t slot = 0; slot < base->depth; slot++) {
        for (culv_vk_direction way = CULV_VK_ACQUIRE; way <= CULV_VK_RELEASE; way++)
            ring->barriers[slot][way] = (VkDependencyInfo){
                CULVI_STYPE(DEPENDENCY_INFO), .bufferMemoryBarrierCount = num_buffers,
                .pBufferMemoryBarriers = num_buffers > 0 ? buffer + (size_t)way * buffers : NULL,
                .imageMemoryBarrierCount = num_images,
                .pImageMemoryBarriers = num_images > 0 ? image + (size_t)way * images : NULL};
        for (uint32_t i = 0; i < base->num_resources; i++) {
            turn t;
            CULVI_TRY(turn_of(ring, base->resources[i].objects[slot], &d->resources[i], &t));
            if (t.is_image) {
                image[images] = t.image[CULV_VK_RELEASE];
                *image++ = t.image[CULV_VK_ACQUIRE];
            } else {
                buffer[buffers] = t.buffer[CULV_VK_RELEASE];
                *buffer++ = t.buffer[CULV_VK_ACQUIRE];
            }
        }
    }
    return CULV_OK;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result make_resource(culvi_vk_ring *ring, const culv_vk_ring_resource *from, uint32_t i)
{
    const bool own = from->own_images != NULL || from->own_buffers != NULL;
    int kinds = (from->image != NULL) + (from->buffer != NULL) + (from->images != NULL) +
                (from->buffers != NULL) + (from->own_images != NULL) + (from->own_buffers != NULL);
    CULVI_REFUSE_IF(
        kinds != 1, ring->vk->voice, ring->base.label, CULV_REASON_VALUE,
        "culv_vk_ring_desc.resources[%" PRIu32
        "] must have exactly one of image, buffer, images, buffers, own_images, own_buffers",
        i);
    return culvi_graphics_ring_make_resource(
        &ring->base, from, from->image != NULL || from->images != NULL || from->own_images != NULL,
        from->image != NULL || from->buffer != NULL || own);
}

static culv_result record_hand_over(const culvi_vk_ring *ring, VkCommandBuffer commands)
{
    const culv_vk_ring_resource any = {.use = CULV_VK_USE_ANY};
    for (uint32_t i = 0; i < ring->base.num_resources; i++)
        for (uint32_t slot = 0; ring->base.resources[i].is_image && slot < ring->base.depth;
             slot++) {
            turn t;
            CULVI_TRY(turn_of(ring, ring->base.resources[i].objects[slot], &any, &t));
            t.image[CULV_VK_RELEASE].oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
            record_barrier(ring, commands, &t, CULV_VK_RELEASE);
        }
    return CULV_OK;
}

/* All images from UNDEFINED to GENERAL and VK_QUEUE_FAMILY_EXTERNAL, which every later acquire
 * begins with. */
static culv_result hand_over(culvi_vk_ring *ring, VkQueue queue)
{
    const culv_vk_device *vk = ring->vk;
    VkDevice device = vk->vk_device;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    culv_result result = CULV_OK;
    VkResult r = VK_SUCCESS;
    const char *call = NULL;
    const VkCommandPoolCreateInfo pool_info = {CULVI_STYPE(COMMAND_POOL_CREATE_INFO),
                                               .queueFamilyIndex = ring->queue_family};
    const VkFenceCreateInfo fence_info = {CULVI_STYPE(FENCE_CREATE_INFO)};
    CULVI_VK_MAKE(r, call, vk, vkCreateCommandPool, (device, &pool_info, vk->callbacks, &pool),
                  pool);
    CULVI_VK_MAKE(r, call, vk, vkCreateFence, (device, &fence_info, vk->callbacks, &fence), fence);
    const VkCommandBufferAllocateInfo commands_info = {
        CULVI_STYPE(COMMAND_BUFFER_ALLOCATE_INFO), .commandPool = pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {CULVI_STYPE(COMMAND_BUFFER_BEGIN_INFO),
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    CULVI_VK_NEXT(r, call, vk, vkAllocateCommandBuffers, (device, &commands_info, &commands));
    CULVI_VK_NEXT(r, call, vk, vkBeginCommandBuffer, (commands, &begin));
    if (r == VK_SUCCESS) result = record_hand_over(ring, commands);
    if (result == CULV_OK) {
        const VkSubmitInfo submit = {CULVI_STYPE(SUBMIT_INFO), .commandBufferCount = 1,
                                     .pCommandBuffers = &commands};
        CULVI_VK_NEXT(r, call, vk, vkEndCommandBuffer, (commands));
        CULVI_VK_NEXT(r, call, vk, vkQueueSubmit, (queue, 1, &submit, fence));
        if (r == VK_SUCCESS) {
            call = "vkWaitForFences";
            r = culvi_vk_wait_for_fence(vk, fence);
        }
    }
    if (r != VK_SUCCESS)
        result = culvi_vk_failed(vk, ring->base.label, r, call,
                                 "the ring's images could not be handed to CUDA");
    if (fence != VK_NULL_HANDLE) CULVI_VK_DO(vk, vkDestroyFence, (device, fence, vk->callbacks));
    if (pool != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyCommandPool, (device, pool, vk->callbacks));
    return result;
}

/* For src/graphics ----------------------------------------------------------------------------- */

/* An object around both halves of the caller's, which it does not own. */
static culv_result borrow(culvi_graphics_ring *ring, const culvi_pair *halves, uint32_t slot,
                          culvi_pair **out)
{
    const culv_device *device = ring->graphics->device;
    const uint32_t last = ring->num_resources - 1;
    const bool is_image = halves->native.is_image;
    CULVI_REFUSE_IF(halves->native.object == 0 || (halves->buffer == NULL && halves->image == NULL),
                    &device->voice, ring->label, CULV_REASON_NULL_ARGUMENT,
                    "culv_vk_ring_desc.resources[%" PRIu32 "].own_%s[%" PRIu32 "].%s is NULL", last,
                    is_image ? "images" : "buffers", slot,
                    halves->native.object != 0 ? "cuda"
                    : is_image                 ? "image"
                                               : "buffer");
    CULVI_REFUSE_IF((is_image ? halves->image->memory->device : halves->buffer->memory->device) !=
                        device,
                    &device->voice, ring->label, CULV_REASON_DEVICE_MISMATCH,
                    "culv_vk_ring_desc.resources[%" PRIu32 "].own_%s[%" PRIu32
                    "].cuda is of another culv_device than the ring",
                    last, is_image ? "images" : "buffers", slot);
    CULVI_NEW(culvi_pair, made, &device->voice, ring->label);
    *made = *halves;
    made->graphics = ring->graphics;
    made->borrowed = true;
    culvi_pair_made(made);
    *out = made;
    return CULV_OK;
}

static culv_result make_object(culvi_graphics_ring *ring, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    const culv_vk_ring_resource *from = description;
    culv_vk_device *vk = culvi_vk_of(ring->graphics);
    culv_shared_image *image = from->images != NULL ? from->images[slot] : NULL;
    culv_shared_buffer *buffer = from->buffers != NULL ? from->buffers[slot] : NULL;
    culvi_pair halves = {.graphics = NULL};
    if (from->own_images != NULL) {
        const culv_vk_own_image *own = &from->own_images[slot];
        halves.image = own->cuda;
        halves.native =
            (culvi_native){.is_image = true,
                           .object = (uint64_t)own->image,
                           .usage = own->usage,
                           .concurrent = own->sharing_mode == VK_SHARING_MODE_CONCURRENT};
        return borrow(ring, &halves, slot, out);
    }
    if (from->own_buffers != NULL) {
        const culv_vk_own_buffer *own = &from->own_buffers[slot];
        halves.buffer = own->cuda;
        halves.native =
            (culvi_native){.object = (uint64_t)own->buffer,
                           .usage = own->usage,
                           .concurrent = own->sharing_mode == VK_SHARING_MODE_CONCURRENT};
        return borrow(ring, &halves, slot, out);
    }
    if (from->image != NULL) CULVI_TRY(culv_vk_image_create(vk, from->image, &image));
    if (from->buffer != NULL) CULVI_TRY(culv_vk_buffer_create(vk, from->buffer, &buffer));
    *out = image != NULL ? &image->pair : buffer != NULL ? &buffer->pair : NULL;
    return CULV_OK;
}

static VkSemaphoreSubmitInfo point(const culvi_vk_ring *ring, culv_ring_side side, uint64_t value,
                                   VkPipelineStageFlags2 stage)
{
    return (VkSemaphoreSubmitInfo){CULVI_STYPE(SEMAPHORE_SUBMIT_INFO),
                                   .semaphore =
                                       (VkSemaphore)ring->base.timelines[side].pair->native,
                                   .value = value, .stageMask = stage};
}

static culv_result submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait_value, uint64_t value)
{
    const culvi_vk_ring *ring = (const culvi_vk_ring *)base;
    VkCommandBufferSubmitInfo commands[CULV_RING_MAX_DEPTH];
    for (uint32_t i = 0; i < count; i++)
        commands[i] = (VkCommandBufferSubmitInfo){CULVI_STYPE(COMMAND_BUFFER_SUBMIT_INFO),
                                                  .commandBuffer = base->pending[i]};
    const VkSemaphoreSubmitInfo wait =
        point(ring, culvi_graphics_ring_cuda_side(base), wait_value, ring->wait_stage);
    const VkSemaphoreSubmitInfo signal =
        point(ring, base->side, value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    const VkSubmitInfo2 info = {
        CULVI_STYPE(SUBMIT_INFO_2),      .waitSemaphoreInfoCount = wait_value != 0,
        .pWaitSemaphoreInfos = &wait,    .commandBufferInfoCount = count,
        .pCommandBufferInfos = commands, .signalSemaphoreInfoCount = value != 0,
        .pSignalSemaphoreInfos = &signal};
    VkResult r = ring->vk->table.vkQueueSubmit2(work->queue, 1, &info, (VkFence)work->fence);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(ring->vk->voice, base->label, r, "vkQueueSubmit2",
                         CULV_REASON_DRIVER_REFUSED,
                         "the submission of %" PRIu32 " command buffers%s", count,
                         r == VK_ERROR_DEVICE_LOST
                             ? " (the ring stops, and CUDA goes on: destroy what is the VkDevice's)"
                             : "");
}

static culv_result destroy(void *context, const CUstream *last_use, const char *call);

static const culvi_graphics_ring_api ring_api = {
    .desc = "culv_vk_ring_desc",
    .attachment = "culv_vk_device",
    .ring = {.create_call = "culv_vk_ring_create",
             .submit_call = "culv_vk_ring_submit",
             .acquire = culvi_graphics_ring_acquire,
             .release = culvi_graphics_ring_release,
             .flush = culvi_graphics_ring_flush,
             .objects = culvi_graphics_ring_objects,
             .destroy = destroy},
    .make_object = make_object,
    .submit = submit,
};
/* NULL: it is another API's, which is refused by the name `call`, or silently without one. */
static culvi_vk_ring *ring_of(const culv_ring *ring, const char *call)
{
    return culvi_ring_of_api(ring, &ring_api.ring, call);
}

_Static_assert(CULV_VK_RING_MAX_RESOURCES == CULVI_RING_RESOURCES, "as many as a slot has");

/* Creation ------------------------------------------------------------------------------------- */

static culv_result check_desc(const culv_vk_device *vk, VkQueue queue, const culv_vk_ring_desc *d)
{
    CULVI_TRY(culvi_graphics_ring_check(&ring_api, &vk->base, d->label, d->max_depth, d->side,
                                        d->resources, d->num_resources));
    CULVI_REFUSE_IF(queue == VK_NULL_HANDLE, vk->voice, d->label, CULV_REASON_NULL_ARGUMENT,
                    "culv_vk_ring_create: queue is NULL");
    CULVI_REFUSE_IF(
        d->queue_family == CULV_VK_QUEUE_FAMILY_UNSET, vk->voice, d->label, CULV_REASON_VALUE,
        "culv_vk_ring_desc.queue_family is not set; pass the index of the family of `queue`");
    CULVI_REFUSE_IF(d->queue_family >= vk->queue_families, vk->voice, d->label, CULV_REASON_VALUE,
                    "culv_vk_ring_desc.queue_family is %" PRIu32 ", but '%s' has %" PRIu32
                    " queue families",
                    d->queue_family, vk->base.name, vk->queue_families);
    return CULV_OK;
}

/* What there is of it. */
static void unmake(culvi_vk_ring *ring, const CUstream *last_use)
{
    culvi_graphics_ring_unmake(&ring->base, last_use);
    culvi_free(ring->image_barriers);
    culvi_free(ring->buffer_barriers);
    culvi_free(ring);
}

/* Where a slot's memory may be copied, its timelines may be relayed. A descriptor that cannot be
 * read is refused when its objects are made. */
static uint32_t fallbacks(const culvi_voice *voice, const culv_vk_ring_desc *d)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < d->num_resources; i++) {
        const culv_vk_ring_resource *r = &d->resources[i];
        culv_vk_image_create_desc image;
        culv_vk_buffer_create_desc buffer;
        if (r->image != NULL && culvi_desc_read(voice, &image, sizeof image, r->image,
                                                "culv_vk_image_create_desc") == CULV_OK)
            all |= image.fallback;
        if (r->buffer != NULL && culvi_desc_read(voice, &buffer, sizeof buffer, r->buffer,
                                                 "culv_vk_buffer_create_desc") == CULV_OK)
            all |= buffer.fallback;
    }
    return all;
}

culv_result culv_vk_ring_create(culv_vk_device *vk, VkQueue queue, const culv_vk_ring_desc *desc,
                                culv_ring **out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_ring_desc, d, desc);
    CULVI_TRY(check_desc(vk, queue, &d));
    CULVI_NEW(culvi_vk_ring, ring, vk->voice, d.label);
    culvi_graphics_ring_init(&ring->base, &ring_api, &vk->base, d.max_depth, d.side, d.label);
    ring->vk = vk;
    ring->queue_family = d.queue_family;
    ring->wait_stage = d.wait_stage != 0 ? d.wait_stage : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    culv_result result = culvi_graphics_ring_set_waits(&ring->base, d.waits);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_timelines(&ring->base, fallbacks(vk->voice, &d));
    for (uint32_t i = 0; i < d.num_resources && result == CULV_OK; i++)
        result = make_resource(ring, &d.resources[i], i);
    if (result == CULV_OK) result = make_barriers(ring, &d);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, d.settings);
    if (result == CULV_OK && ring->base.num_images > 0) result = hand_over(ring, queue);
    CULVI_TRY_OR(result, unmake(ring, NULL));
    culvi_graphics_ref(&vk->base);
    *out = ring->base.core;
    return CULV_OK;
}

static culv_result destroy(void *context, const CUstream *last_use, const char *call)
{
    culvi_vk_ring *ring = context;
    culv_vk_device *vk = ring->vk;
    (void)call;
    unmake(ring, last_use);
    culvi_graphics_unref(&vk->base);
    return CULV_OK;
}

/* What it is made of --------------------------------------------------------------------------- */

const VkDependencyInfo *culv_vk_ring_barriers(const culv_ring *ring, uint32_t slot,
                                              culv_vk_direction direction)
{
    const culvi_vk_ring *mine = ring_of(ring, NULL);
    if (mine == NULL || slot >= mine->base.depth || (uint32_t)direction > CULV_VK_RELEASE)
        return NULL;
    return &mine->barriers[slot][direction];
}

VkSemaphore culv_vk_ring_semaphore(const culv_ring *ring, culv_ring_side side)
{
    const culvi_vk_ring *mine = ring_of(ring, NULL);
    if (mine == NULL || (uint32_t)side > CULV_RING_CONSUMER) return VK_NULL_HANDLE;
    return (VkSemaphore)mine->base.timelines[side].pair->native;
}

/* Submissions ---------------------------------------------------------------------------------- */

culv_result culv_vk_ring_get_points(const culv_ring *ring, const culv_ring_frame *frame,
                                    VkSemaphoreSubmitInfo *wait, VkSemaphoreSubmitInfo *signal)
{
    const culvi_vk_ring *mine = ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE3(&ring->device->voice, frame, wait, signal);
    *wait = point(mine, culvi_graphics_ring_cuda_side(&mine->base), frame->wait_value,
                  mine->wait_stage);
    *signal =
        point(mine, mine->base.side, frame->signal_value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    return CULV_OK;
}

culv_result culv_vk_ring_submit_failed(culv_ring *ring, culv_ring_frame *frame, VkResult result)
{
    static const char call[] = "culv_vk_ring_submit_failed";
    culvi_vk_ring *mine = ring_of(ring, call);
    if (mine == NULL) return CULV_ERROR_INVALID;
    const culvi_voice *voice = &ring->device->voice;
    CULVI_REQUIRE(voice, frame);
    CULVI_REFUSE_IF(result >= VK_SUCCESS, voice, mine->base.label, CULV_REASON_VALUE,
                    "%s: result is %s (%d), which is no failure", call,
                    culvi_vk_result_name(result), (int)result);
    if (result != VK_ERROR_DEVICE_LOST)
        return culvi_graphics_ring_submit_failed(&mine->base, frame, call);
    culvi_graphics_lose(&mine->vk->base);
    return culvi_fail_vk(
        voice, mine->base.label, result, "vkQueueSubmit2", CULV_REASON_DRIVER_REFUSED,
        "a frame was not submitted; the ring stops, and CUDA goes on: destroy what is the VkDevice's");
}

culv_result culv_vk_ring_submit(culv_ring *ring, VkQueue queue, VkCommandBuffer commands,
                                VkFence fence, culv_ring_frame *frame)
{
    culvi_vk_ring *mine = ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE3(&ring->device->voice, queue, commands, frame);
    CULVI_UNSUPPORTED_IF(
        mine->vk->table.vkQueueSubmit2 == NULL, &ring->device->voice, mine->base.label,
        CULV_REASON_EXTENSION_MISSING,
        "%s: the VkDevice has no vkQueueSubmit2 (Vulkan 1.3 or VK_KHR_synchronization2, and the feature synchronization2); submit the frame's semaphores yourself",
        __func__);
    const culvi_graphics_work work = {queue, commands, (uint64_t)fence};
    return culvi_graphics_ring_submit(&mine->base, &work, frame, __func__);
}

/* Copies of a slot's resource into a buffer of the program's ----------------------------------- */

/* What was copied is there for the host that waits for the submission; no barrier between queue
 * families may say so (VUID-vkCmdPipelineBarrier-srcStageMask-09633). */
static void show_to_host(const culvi_vk_table *table, VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {CULVI_STYPE(MEMORY_BARRIER),
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    table->vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static culv_result check_copy(const culvi_vk_ring *ring, const culvi_pair *from,
                              VkDeviceSize offset, VkDeviceSize size, uint64_t *bytes)
{
    const culv_image_desc *d = from->image != NULL ? &from->image->desc : NULL;
    const culvi_format *row = from->image != NULL ? from->image->row : NULL;
    const culvi_voice *voice = ring->vk->voice;
    CULVI_UNSUPPORTED_IF(
        row != NULL && (row->planes > 1 || (row->aspects & (row->aspects - 1)) != 0), voice,
        ring->base.label, CULV_REASON_FORMAT,
        "culv_vk_ring_record_copy: an image with several planes or aspects is not one copy; record one for each");
    *bytes = row != NULL
                 ? culvi_image_least_size(row, d->width, d->height, d->depth, d->array_layers, 1)
                 : culv_buffer_size(from->buffer);
    /* The bit is the same of images. */
    CULVI_REFUSE_IF(
        !(from->native.usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT), voice, ring->base.label,
        CULV_REASON_USAGE,
        "culv_vk_ring_record_copy: the slot's resource was made without the usage TRANSFER_SRC");
    CULVI_REFUSE_IF(size < *bytes, voice, ring->base.label, CULV_REASON_RANGE,
                    "culv_vk_ring_record_copy: size is %" PRIu64
                    ", but the slot's resource has %" PRIu64 " bytes to copy",
                    (uint64_t)size, *bytes);
    /* VUID-vkCmdCopyImageToBuffer-dstImage-07975 and -07737; 4 is for queues that only copy, and
     * for depth. */
    CULVI_REFUSE_IF(row != NULL && (offset % row->block_bytes != 0 || offset % 4 != 0), voice,
                    ring->base.label, CULV_REASON_RANGE,
                    "culv_vk_ring_record_copy: offset is %" PRIu64
                    "; it must be a multiple of 4 and of the %u bytes of a texel or block",
                    (uint64_t)offset, (unsigned)row->block_bytes);
    return CULV_OK;
}

/* On CUDA's turn the slot's stage has what is to be copied. */
static culv_result upload(const culvi_vk_ring *ring, const culvi_pair *from,
                          VkCommandBuffer commands)
{
    if (ring->base.side != CULV_RING_CONSUMER) return CULV_OK;
    return from->native.is_image
               ? culv_vk_image_record_copy((const culv_shared_image *)from, CULV_COPY_UPLOAD,
                                           commands, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)
               : culv_vk_buffer_record_copy((const culv_shared_buffer *)from, CULV_COPY_UPLOAD,
                                            commands);
}

culv_result culv_vk_ring_record_copy(const culv_ring *ring, VkCommandBuffer commands, uint32_t slot,
                                     uint32_t resource, VkBuffer to, VkDeviceSize offset,
                                     VkDeviceSize size)
{
    const culvi_vk_ring *mine = ring_of(ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE2(&ring->device->voice, commands, to);
    const culvi_graphics_ring *base = &mine->base;
    CULVI_REFUSE_IF(slot >= base->depth || resource >= base->num_resources, &ring->device->voice,
                    base->label, CULV_REASON_RANGE,
                    "culv_vk_ring_record_copy: slot %" PRIu32 " and resource %" PRIu32
                    " of a ring that has %" PRIu32 " and %" PRIu32,
                    slot, resource, base->depth, base->num_resources);
    const culv_vk_ring_resource source = {.use = CULV_VK_USE_TRANSFER_SRC};
    const culvi_pair *from = base->resources[resource].objects[slot];
    const culvi_vk_table *table = &mine->vk->table;
    VkBufferCopy region = {.dstOffset = offset};
    turn t;
    CULVI_TRY(check_copy(mine, from, offset, size, &region.size));
    CULVI_TRY(turn_of(mine, from, &source, &t));
    record_barrier(mine, commands, &t, CULV_VK_ACQUIRE);
    CULVI_TRY(upload(mine, from, commands));
    if (t.is_image) {
        const culv_image_desc *d = &from->image->desc;
        const VkBufferImageCopy texels = {
            .bufferOffset = offset,
            .imageSubresource = {from->image->row->aspects, 0, 0, d->array_layers},
            .imageExtent = {d->width, d->height, d->depth}};
        table->vkCmdCopyImageToBuffer(commands, (VkImage)from->native.object,
                                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &texels);
    } else {
        table->vkCmdCopyBuffer(commands, (VkBuffer)from->native.object, to, 1, &region);
    }
    record_barrier(mine, commands, &t, CULV_VK_RELEASE);
    show_to_host(table, commands);
    return CULV_OK;
}
