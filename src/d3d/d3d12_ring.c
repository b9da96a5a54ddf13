/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Direct3D 12: its slots, its fences, its submissions. */
#include "d3d/d3d12_core.h"
/* after it */
#include "culvert/d3d12.h"
#include "graphics/graphics_ring.h"

_Static_assert(CULV_D3D12_RING_MAX_RESOURCES == CULVI_RING_RESOURCES, "as many as a slot has");

/* For src/graphics ----------------------------------------------------------------------------- */

static culv_result make_object(culvi_graphics_ring *ring, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    const culv_d3d12_ring_resource *from = description;
    culv_d3d_device *d3d = culvi_d3d_of(ring->graphics);
    culv_shared_image *image = from->images != NULL ? from->images[slot] : NULL;
    culv_shared_buffer *buffer = from->buffers != NULL ? from->buffers[slot] : NULL;
    if (from->image != NULL) CULVI_TRY(culv_d3d_image_create(d3d, from->image, &image));
    if (from->buffer != NULL) CULVI_TRY(culv_d3d_buffer_create(d3d, from->buffer, &buffer));
    *out = image != NULL ? &image->pair : buffer != NULL ? &buffer->pair : NULL;
    return CULV_OK;
}

static ID3D12Fence *fence_of(const culvi_graphics_ring *ring, culv_ring_side side)
{
    return culvi_d3d_object(ring->timelines[side].pair->native);
}

static culv_result check_type(const culvi_graphics_ring *ring, ID3D12CommandQueue *queue,
                              ID3D12CommandList *list)
{
    const D3D12_COMMAND_LIST_TYPE type = culvi_d3d12_queue_desc(queue).Type;
    const D3D12_COMMAND_LIST_TYPE found = ID3D12CommandList_GetType(list);
    if (found == type) return CULV_OK;
    return culvi_fail(
        &ring->graphics->device->voice, ring->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "a command list of the D3D12_COMMAND_LIST_TYPE %d is for another queue: this one is of type %d",
        (int)found, (int)type);
}

static culv_result submit(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal)
{
    const culv_d3d_device *d3d = culvi_d3d_of(ring->graphics);
    ID3D12CommandQueue *queue = work->queue;
    ID3D12CommandList *lists[CULV_RING_MAX_DEPTH];
    for (uint32_t i = 0; i < count; i++) {
        lists[i] = ring->pending[i];
        CULVI_TRY(check_type(ring, queue, lists[i]));
    }
    HRESULT hr = S_OK;
    if (wait != 0)
        hr = ID3D12CommandQueue_Wait(queue, fence_of(ring, culvi_graphics_ring_cuda_side(ring)),
                                     wait);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, ring->label, hr, "ID3D12CommandQueue::Wait",
                              "the queue was not told to wait for a ring's frame");
    if (count > 0) ID3D12CommandQueue_ExecuteCommandLists(queue, count, lists);
    if (signal != 0) hr = ID3D12CommandQueue_Signal(queue, fence_of(ring, ring->side), signal);
    if (FAILED(hr))
        return culvi_d3d_fail(
            d3d, ring->label, hr, "ID3D12CommandQueue::Signal",
            "the command lists of a ring's frames were submitted, but not their signal");
    return CULV_OK;
}

static culv_result destroy(void *context, const CUstream *last_use, const char *call)
{
    culvi_graphics_ring *ring = context;
    culvi_graphics *graphics = ring->graphics;
    (void)call;
    culvi_graphics_ring_unmake(ring, last_use);
    culvi_free(ring);
    culvi_graphics_unref(graphics);
    return CULV_OK;
}

static const culvi_graphics_ring_api ring_api = {
    .desc = "culv_d3d12_ring_desc",
    .attachment = "culv_d3d_device",
    .ring = {.create_call = "culv_d3d12_ring_create",
             .submit_call = "culv_d3d12_ring_submit",
             .acquire = culvi_graphics_ring_acquire,
             .release = culvi_graphics_ring_release,
             .flush = culvi_graphics_ring_flush,
             .objects = culvi_graphics_ring_objects,
             .destroy = destroy},
    .make_object = make_object,
    .submit = submit,
};

/* Creation ------------------------------------------------------------------------------------- */

static culv_result make_resource(culvi_graphics_ring *ring, const culv_d3d12_ring_resource *from,
                                 uint32_t i)
{
    const int kinds = (from->image != NULL) + (from->buffer != NULL) + (from->images != NULL) +
                      (from->buffers != NULL);
    CULVI_REFUSE_IF(kinds != 1, &ring->graphics->device->voice, ring->label, CULV_REASON_VALUE,
                    "culv_d3d12_ring_desc.resources[%" PRIu32
                    "] must have exactly one of image, buffer, images, buffers",
                    i);
    return culvi_graphics_ring_make_resource(ring, from,
                                             from->image != NULL || from->images != NULL,
                                             from->image != NULL || from->buffer != NULL);
}

culv_result culv_d3d12_ring_create(culv_d3d_device *d3d, const culv_d3d12_ring_desc *desc,
                                   culv_ring **out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, desc, out);
    CULVI_TRY(culvi_d3d_check_api(d3d, &culvi_d3d12, __func__));
    CULVI_READ(d3d->voice, culv_d3d12_ring_desc, d, desc);
    CULVI_TRY(culvi_graphics_ring_check(&ring_api, &d3d->base, d.label, d.max_depth, d.side,
                                        d.resources, d.num_resources));
    CULVI_NEW(culvi_graphics_ring, ring, d3d->voice, d.label);
    culvi_graphics_ring_init(ring, &ring_api, &d3d->base, d.max_depth, d.side, d.label);
    culv_result result = culvi_graphics_ring_set_waits(ring, d.waits);
    if (result == CULV_OK) result = culvi_graphics_ring_make_timelines(ring, 0);
    for (uint32_t i = 0; i < d.num_resources && result == CULV_OK; i++)
        result = make_resource(ring, &d.resources[i], i);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(ring, d.settings);
    CULVI_TRY_OR(result, (culvi_graphics_ring_unmake(ring, NULL), culvi_free(ring)));
    culvi_graphics_ref(&d3d->base);
    *out = ring->core;
    return CULV_OK;
}

/* What it is made of --------------------------------------------------------------------------- */

ID3D12Fence *culv_d3d12_ring_fence(const culv_ring *ring, culv_ring_side side)
{
    const culvi_graphics_ring *mine = culvi_ring_of_api(ring, &ring_api.ring, NULL);
    if (mine == NULL || (uint32_t)side > CULV_RING_CONSUMER) return NULL;
    return fence_of(mine, side);
}

/* Direct3D's turn ------------------------------------------------------------------------------ */

culv_result culv_d3d12_ring_submit(culv_ring *ring, ID3D12CommandQueue *queue,
                                   ID3D12CommandList *list, culv_ring_frame *frame)
{
    culvi_graphics_ring *mine = culvi_ring_of_api(ring, &ring_api.ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE3(&ring->device->voice, queue, list, frame);
    CULVI_TRY(check_type(mine, queue, list)); /* also of one that is kept */
    const culvi_graphics_work work = {.queue = queue, .commands = list};
    return culvi_graphics_ring_submit(mine, &work, frame, __func__);
}
