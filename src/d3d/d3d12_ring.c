/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Direct3D 12: its slots, its fences, its submissions. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"
#include "culvert/d3d12_ring.h"
#include "d3d/d3d12_resource.h"
#include "graphics/graphics_ring.h"

#include <inttypes.h>

struct culv_d3d12_ring {
    culvi_graphics_ring base;
    culv_d3d12_device *d3d12; /* base.graphics: a reference */
};
_Static_assert(CULV_D3D12_RING_MAX_RESOURCES == CULVI_RING_RESOURCES, "as many as a slot has");

/* For src/graphics ----------------------------------------------------------------------------- */

static culv_result make_object(culvi_graphics_ring *ring, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    const culv_d3d12_ring_resource *from = description;
    culv_d3d12_device *d3d12 = culvi_d3d12_of(ring->graphics);
    culv_shared_image *image = from->images != NULL ? from->images[slot] : NULL;
    culv_shared_buffer *buffer = from->buffers != NULL ? from->buffers[slot] : NULL;
    culv_result result = CULV_OK;
    if (from->image != NULL) result = culv_d3d12_image_create(d3d12, from->image, &image);
    if (from->buffer != NULL) result = culv_d3d12_buffer_create(d3d12, from->buffer, &buffer);
    if (result == CULV_OK)
        *out = image != NULL ? &image->pair : buffer != NULL ? &buffer->pair : NULL;
    return result;
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
    return culvi_fail(&ring->graphics->device->voice, ring->label, CULV_ERROR_INVALID,
                      CULV_REASON_VALUE,
                      "a command list of the D3D12_COMMAND_LIST_TYPE %d is for another queue: this "
                      "one is of type %d",
                      (int)found, (int)type);
}

static culv_result submit(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal)
{
    const culv_d3d12_device *d3d12 = culvi_d3d12_of(ring->graphics);
    ID3D12CommandQueue *queue = work->queue;
    ID3D12CommandList *lists[CULV_RING_MAX_DEPTH];
    for (uint32_t i = 0; i < count; i++) {
        lists[i] = ring->pending[i];
        culv_result result = check_type(ring, queue, lists[i]);
        if (result != CULV_OK) return result;
    }
    HRESULT hr = S_OK;
    if (wait != 0)
        hr = ID3D12CommandQueue_Wait(queue, fence_of(ring, culvi_graphics_ring_cuda_side(ring)),
                                     wait);
    if (FAILED(hr))
        return culvi_fail_d3d12(d3d12, ring->label, hr, "ID3D12CommandQueue::Wait",
                                "the queue was not told to wait for a ring's frame");
    if (count > 0) ID3D12CommandQueue_ExecuteCommandLists(queue, count, lists);
    if (signal != 0) hr = ID3D12CommandQueue_Signal(queue, fence_of(ring, ring->side), signal);
    if (FAILED(hr))
        return culvi_fail_d3d12(d3d12, ring->label, hr, "ID3D12CommandQueue::Signal",
                                "the command lists of a ring's frames were submitted, but not "
                                "their signal");
    return CULV_OK;
}

static const culvi_graphics_ring_api ring_api = {
    .desc = "culv_d3d12_ring_desc",
    .attachment = "culv_d3d12_device",
    .destroy_call = "culv_d3d12_ring_destroy",
    .acquire_call = "culv_d3d12_ring_acquire",
    .submit_call = "culv_d3d12_ring_submit",
    .flush_call = "culv_d3d12_ring_flush",
    .make_object = make_object,
    .submit = submit,
};

/* Creation ------------------------------------------------------------------------------------- */

static culv_result make_resource(culv_d3d12_ring *ring, const culv_d3d12_ring_resource *from,
                                 uint32_t i)
{
    const int kinds = (from->image != NULL) + (from->buffer != NULL) + (from->images != NULL) +
                      (from->buffers != NULL);
    if (kinds != 1)
        return culvi_fail(culvi_d3d12_voice(ring->d3d12), ring->base.label, CULV_ERROR_INVALID,
                          CULV_REASON_VALUE,
                          "culv_d3d12_ring_desc.resources[%" PRIu32 "] must have exactly one of "
                          "image, buffer, images, buffers",
                          i);
    return culvi_graphics_ring_make_resource(&ring->base, from,
                                             from->image != NULL || from->images != NULL,
                                             from->image != NULL || from->buffer != NULL);
}

culv_result culv_d3d12_ring_create(culv_d3d12_device *d3d12, const culv_d3d12_ring_desc *desc,
                                   culv_d3d12_ring **out)
{
    culv_d3d12_ring_desc d;
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, ring_api.desc);
    if (result == CULV_OK)
        result = culvi_graphics_ring_check(&ring_api, &d3d12->base, d.label, d.max_depth, d.side,
                                           d.num_resources);
    if (result != CULV_OK) return result;
    if (d.num_resources > 0 && d.resources == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_d3d12_ring_desc.resources is NULL");
    culv_d3d12_ring *ring = culvi_alloc(sizeof *ring);
    if (ring == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_graphics_ring_init(&ring->base, &ring_api, &d3d12->base, d.max_depth, d.side, d.label);
    ring->d3d12 = d3d12;
    result = culvi_graphics_ring_set_waits(&ring->base, d.waits);
    if (result == CULV_OK) result = culvi_graphics_ring_make_timelines(&ring->base, 0);
    for (uint32_t i = 0; i < d.num_resources && result == CULV_OK; i++)
        result = make_resource(ring, &d.resources[i], i);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, d.settings);
    if (result != CULV_OK) {
        culvi_graphics_ring_unmake(&ring->base);
        culvi_free(ring);
        return result;
    }
    culvi_graphics_ref(&d3d12->base);
    *out = ring;
    return CULV_OK;
}

static void destroy(culv_d3d12_ring **ring, bool has_last_use, CUstream last_use)
{
    if (ring == NULL || *ring == NULL) return;
    culv_d3d12_ring *mine = *ring;
    culv_d3d12_device *d3d12 = mine->d3d12;
    *ring = NULL;
    culvi_graphics_ring_unmake_after(&mine->base, has_last_use, last_use);
    culvi_free(mine);
    culvi_graphics_unref(&d3d12->base);
}

void culv_d3d12_ring_destroy(culv_d3d12_ring **ring)
{
    destroy(ring, false, NULL);
}

void culv_d3d12_ring_destroy_after(culv_d3d12_ring **ring, CUstream last_use)
{
    destroy(ring, true, last_use);
}

/* What it is made of --------------------------------------------------------------------------- */

culv_ring *culv_d3d12_ring_core(const culv_d3d12_ring *ring)
{
    return ring != NULL ? ring->base.core : NULL;
}

culv_shared_image *culv_d3d12_ring_image(const culv_d3d12_ring *ring, uint32_t slot,
                                         uint32_t resource)
{
    if (ring == NULL) return NULL;
    return (culv_shared_image *)culvi_graphics_ring_object(&ring->base, slot, resource, true);
}

culv_shared_buffer *culv_d3d12_ring_buffer(const culv_d3d12_ring *ring, uint32_t slot,
                                           uint32_t resource)
{
    if (ring == NULL) return NULL;
    return (culv_shared_buffer *)culvi_graphics_ring_object(&ring->base, slot, resource, false);
}

ID3D12Fence *culv_d3d12_ring_fence(const culv_d3d12_ring *ring, culv_ring_side side)
{
    if (ring == NULL || (uint32_t)side > CULV_RING_CONSUMER) return NULL;
    return fence_of(&ring->base, side);
}

/* Direct3D's turn ------------------------------------------------------------------------------ */

culv_result culv_d3d12_ring_acquire(culv_d3d12_ring *ring, uint64_t timeout, culv_ring_frame *out)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(culvi_d3d12_voice(ring->d3d12), out);
    return culvi_graphics_ring_acquire(&ring->base, timeout, out, __func__);
}

culv_result culv_d3d12_ring_release(culv_d3d12_ring *ring, culv_ring_frame *frame)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(culvi_d3d12_voice(ring->d3d12), frame);
    return culvi_graphics_ring_release(&ring->base, frame, __func__);
}

culv_result culv_d3d12_ring_submit(culv_d3d12_ring *ring, ID3D12CommandQueue *queue,
                                   ID3D12CommandList *list, culv_ring_frame *frame)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE3(culvi_d3d12_voice(ring->d3d12), queue, list, frame);
    culv_result result = check_type(&ring->base, queue, list); /* also of one that is kept */
    if (result != CULV_OK) return result;
    const culvi_graphics_work work = {.queue = queue, .commands = list};
    return culvi_graphics_ring_submit(&ring->base, &work, frame, __func__);
}

culv_result culv_d3d12_ring_flush(culv_d3d12_ring *ring, ID3D12CommandQueue *queue)
{
    CULVI_REQUIRE(NULL, ring);
    CULVI_REQUIRE(culvi_d3d12_voice(ring->d3d12), queue);
    const culvi_graphics_work work = {.queue = queue};
    return culvi_graphics_ring_flush(&ring->base, &work, __func__);
}
