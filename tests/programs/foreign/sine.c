/* SPDX-License-Identifier: MIT */
/* After NVIDIA's simpleVulkan: Vulkan owns a vertex buffer, CUDA writes a wave into it every frame,
 * and semaphores order the two. */
#define TEST_GROUP "sine."
#include "foreign.h"

#include <math.h>
#include <stdlib.h>

#define POINTS (APP_WIDTH * APP_HEIGHT)
#define BYTES  (POINTS * 4 * sizeof(float))
#define FRAMES 7

typedef struct vertices {
    VkBuffer buffer;
    VkDeviceMemory memory;
    culv_buffer *shared;
    app_host hosts[FRAMES]; /* what Vulkan read of each frame */
} vertices;

/* The program's own buffer in memory of its own; Culvert imports the memory and maps the buffer. */
static void make_vertices(app *a, vertices *v)
{
    const VkBufferCreateInfo info = app_buffer_info(BYTES, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                                                               VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    culv_vk_memory_desc import = culv_vk_memory_desc_init();
    culv_buffer_desc range = culv_buffer_desc_init();
    VkMemoryRequirements needs;
    culv_memory *memory;

    CULV(culv_vk_check_buffer(a->vk, &info, NULL, &how));
    VK(vkCreateBuffer(a->device, &info, NULL, &v->buffer));
    vkGetBufferMemoryRequirements(a->device, v->buffer, &needs);

    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = v->buffer};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = how.dedicated_required ? &dedicated : NULL,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &exported,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            app_memory_type(a, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    VK(vkAllocateMemory(a->device, &allocation, NULL, &v->memory));
    VK(vkBindBufferMemory(a->device, v->buffer, v->memory, 0));

    import.memory = v->memory;
    import.allocation_size = needs.size;
    import.dedicated = how.dedicated_required;
    import.buffer = v->buffer;
    CULV(culv_vk_memory_import(a->vk, &import, &memory));
    range.size = BYTES;
    CULV(culv_buffer_map(memory, &range, &v->shared));
    culv_memory_destroy(&memory); /* the mapping keeps what it needs */
    for (unsigned n = 0; n < FRAMES; n++)
        app_host_create(a, BYTES, &v->hosts[n]);
}

static void destroy_vertices(app *a, vertices *v)
{
    culv_buffer_unmap(&v->shared, NULL);
    vkDestroyBuffer(a->device, v->buffer, NULL);
    vkFreeMemory(a->device, v->memory, NULL);
    for (unsigned n = 0; n < FRAMES; n++)
        app_host_destroy(a, &v->hosts[n]);
}

static void simulate(app *a, const vertices *v, float time)
{
    CUdeviceptr points = culv_buffer_pointer(v->shared);
    int width = (int)APP_WIDTH, height = (int)APP_HEIGHT;
    void *arguments[] = {&points, &width, &height, &time};

    app_launch(a, "foreign_sine", APP_WIDTH, APP_HEIGHT, arguments);
}

/* What a renderer does with the frame: takes the buffer, reads it as vertices, gives it back. */
static VkCommandBuffer record_frame(app *a, const vertices *v, unsigned n)
{
    VkCommandBuffer commands = app_begin(a);

    app_transfer_buffer(a, commands, v->buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC);
    app_record_read(commands, v->buffer, 0, &v->hosts[n], 0, BYTES);
    app_transfer_buffer(a, commands, v->buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC);
    return commands;
}

static float time_of(unsigned frame)
{
    return 0.125f * (float)frame + 0.3f;
}

static void check_frame(const vertices *v, unsigned n)
{
    const float *points = (const float *)(const void *)v->hosts[n].data;
    const float time = time_of(n);

    for (unsigned y = 0; y < APP_HEIGHT; y++)
        for (unsigned x = 0; x < APP_WIDTH; x++) {
            const float *p = points + 4 * ((size_t)y * APP_WIDTH + x);
            const float u = (float)x / (float)APP_WIDTH * 2.0f - 1.0f;
            const float w = (float)y / (float)APP_HEIGHT * 2.0f - 1.0f;
            const float height = sinf(u * 4.0f + time) * cosf(w * 4.0f + time) * 0.5f;

            if (p[0] < u || p[0] > u || p[2] < w || p[2] > w || p[3] < 1.0f || p[3] > 1.0f)
                FAIL("frame %u: point (%u, %u) is at (%f, %f, %f, %f)", n, x, y, (double)p[0],
                     (double)p[1], (double)p[2], (double)p[3]);
            if (!(fabsf(p[1] - height) < 1e-5f))
                FAIL("frame %u: point (%u, %u) has the height %.9g, not %.9g", n, x, y,
                     (double)p[1], (double)height);
        }
}

/* Waits for all frames, and checks them. */
static void finish_frames(app *a, const vertices *v, const VkCommandBuffer *commands,
                          const VkFence *fences)
{
    for (unsigned n = 0; n < FRAMES; n++) {
        app_finish(a, commands[n], fences[n]);
        check_frame(v, n);
    }
    CU(a->cu->cuStreamSynchronize(a->stream));
}

/* One timeline for both directions, as in the README. The host waits for no frame. */
APP_CASE(timeline, .smoke = true)
{
    vertices v;
    culv_shared_semaphore *sync;
    VkCommandBuffer commands[FRAMES];
    VkFence fences[FRAMES];

    make_vertices(a, &v);
    CULV(culv_vk_semaphore_create(a->vk, NULL, &sync));
    for (unsigned n = 0; n < FRAMES; n++) {
        const app_sync order = {.wait = culv_vk_semaphore_handle(sync),
                                .wait_value = 2 * n + 1,
                                .signal = culv_vk_semaphore_handle(sync),
                                .signal_value = 2 * n + 2};

        commands[n] = record_frame(a, &v, n);
        /* Either side may be submitted first. */
        if (n % 2 == 1) fences[n] = app_submit(a, commands[n], &order);
        CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a->stream, 2 * n));
        simulate(a, &v, time_of(n));
        CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(sync), a->stream, 2 * n + 1));
        if (n % 2 == 0) fences[n] = app_submit(a, commands[n], &order);
    }
    finish_frames(a, &v, commands, fences);
    culv_shared_semaphore_destroy(&sync, NULL);
    destroy_vertices(a, &v);
}

/* A binary semaphore for each direction, whose other halves Culvert is told. */
APP_CASE(binary)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    culv_shared_semaphore *simulated, *drawn;
    VkCommandBuffer commands[FRAMES];
    VkFence fences[FRAMES];
    vertices v;

    if (!a->candidate.binary_opaque_fd_export) {
        app_close(a);
        SKIP("this Vulkan device exports no binary semaphores");
    }
    make_vertices(a, &v);
    d.type = CULV_SEMAPHORE_BINARY;
    CULV(culv_vk_semaphore_create(a->vk, &d, &simulated));
    CULV(culv_vk_semaphore_create(a->vk, &d, &drawn));
    for (unsigned n = 0; n < FRAMES; n++) {
        const bool last = n + 1 == FRAMES; /* nobody would wait for its signal */
        const app_sync order = {.wait = culv_vk_semaphore_handle(simulated),
                                .signal = last ? VK_NULL_HANDLE : culv_vk_semaphore_handle(drawn)};

        commands[n] = record_frame(a, &v, n);
        if (n > 0) CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(drawn), a->stream, 0));
        simulate(a, &v, time_of(n));
        CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(simulated), a->stream, 0));
        fences[n] = app_submit(a, commands[n], &order);
        CULV(culv_semaphore_mark_waited(culv_shared_semaphore_cuda(simulated)));
        if (!last) CULV(culv_semaphore_mark_signaled(culv_shared_semaphore_cuda(drawn)));
    }
    finish_frames(a, &v, commands, fences);
    culv_shared_semaphore_destroy(&simulated, NULL);
    culv_shared_semaphore_destroy(&drawn, NULL);
    destroy_vertices(a, &v);
}
