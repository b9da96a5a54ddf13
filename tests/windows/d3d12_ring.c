/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Direct3D 12: what only they refuse, and each call that fails once.
 * backend-d3d12.exe has what all back-ends' rings promise. */
#include "scene12.h"

#include <culvert/d3d12_ring.h>

#include <string.h>

enum { BYTES = 4096 };

D12_CASE(ring_refused)
{
    const D3D12_RESOURCE_DESC what = scene_buffer_desc(BYTES);
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    culv_d3d_image_create_desc image = culv_d3d_image_create_desc_init();
    culv_d3d12_ring_resource resources[2] = {{.buffer = &buffer}, {.buffer = &buffer}};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    culv_ring_frame frame;
    buffer.size = BYTES;
    image.resource_desc = &what;
    REFUSES(culv_d3d12_ring_create(s->d3d12, NULL, &ring), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.max_depth = 2;
    desc.num_resources = 2;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.resources = resources;
    resources[1].image = &image;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    resources[1].buffer = NULL; /* an image that is a buffer: after two buffers were made */
    REQUIRE(culv_d3d12_ring_create(s->d3d12, &desc, &ring) != CULV_OK);
    resources[1] = resources[0];
    desc.waits = (culv_ring_waits)7;
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.waits = CULV_RING_WAITS_DEFAULT;
    REQUIRE(ring == NULL && scene_driver_objects() == 0);
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    REQUIRE(culv_ring_shared_buffer(ring, 1, 1) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, CULV_RING_PRODUCER) != NULL);
    REQUIRE(culv_d3d12_ring_fence(ring, (culv_ring_side)2) == NULL);
    REFUSES(culv_d3d12_ring_submit(ring, s->queue, NULL, &frame), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    OK(culv_ring_flush(ring, CULV_RING_CONSUMER, NULL)); /* nothing is kept */
    REFUSES(culv_d3d_device_lost(NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    culv_ring_destroy(&ring, NULL);
}

static bool owned(const char *says)
{
    const bool is = scene_reason_is(CULV_REASON_OWNED) && strstr(culv_last_error_message(), says);
    printf("  OWNED: %s\n", culv_last_error_message());
    return is;
}

/* What the ring owns goes with it: giving up an image is refused, and nothing happens. */
D12_CASE(ring_parts)
{
    const D3D12_RESOURCE_DESC what = scene_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                        DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1);
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    const culv_d3d12_ring_resource resource = {.image = &image_desc};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    image_desc.resource_desc = &what;
    desc.max_depth = 2;
    desc.resources = &resource;
    desc.num_resources = 1;
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    for (uint32_t slot = 0; slot < 2; slot++) {
        culv_shared_image *image = culv_ring_shared_image(ring, slot, 0), *const i = image;
        culv_shared_image_destroy(&image, NULL);
        REQUIRE(image == i && owned("culv_shared_image_destroy: it is a part of another object"));
        culv_shared_image_destroy(&image, &s->stream);
        REQUIRE(image == i && owned("culv_ring_destroy()"));
    }
    culv_ring_destroy(&ring, NULL);
    REQUIRE(scene_driver_objects() == 0);
}

/* Two frames in one buffer; a list that the queue does not take. */
D12_CASE(ring_mistakes)
{
    const D3D12_COMMAND_QUEUE_DESC copies = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    culv_d3d_buffer_create_desc buffer_desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffers[3] = {NULL, NULL, NULL};
    culv_d3d12_ring_resource resource = {.buffers = buffers};
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    culv_ring *ring = NULL;
    ID3D12CommandQueue *queue = NULL;
    culv_ring_frame frame;
    buffer_desc.size = BYTES;
    desc.max_depth = 3;
    desc.resources = &resource;
    desc.num_resources = 1;
    desc.side = CULV_RING_PRODUCER;
    OK(culv_d3d_buffer_create(s->d3d12, &buffer_desc, &buffers[0]));
    OK(culv_d3d_buffer_create(s->d3d12, &buffer_desc, &buffers[1]));
    buffers[2] = buffers[0];
    REFUSES(culv_d3d12_ring_create(s->d3d12, &desc, &ring), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.max_depth = 2;
    OK(culv_d3d12_ring_create(s->d3d12, &desc, &ring));
    HR_OK(ID3D12Device_CreateCommandQueue(s->device, &copies, &IID_ID3D12CommandQueue,
                                          (void **)&queue));
    OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, 0, &frame));
    REFUSES(culv_d3d12_ring_submit(ring, queue, (ID3D12CommandList *)s->list, &frame),
            CULV_ERROR_INVALID, CULV_REASON_VALUE);
    OK(culv_d3d12_ring_submit(ring, s->queue, (ID3D12CommandList *)s->list, &frame));
    ID3D12CommandQueue_Release(queue);
    OK(culv_ring_drain(ring, SCENE_FAR_MS * UINT64_C(1000000), 0));
    culv_ring_destroy(&ring, NULL);
    culv_shared_buffer_destroy(&buffers[0], NULL);
    culv_shared_buffer_destroy(&buffers[1], NULL);
}
