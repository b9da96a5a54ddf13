/* SPDX-License-Identifier: MIT */
/* After NVIDIA's simpleVulkanMMAP: CUDA allocates by its virtual memory management, Vulkan takes
 * the memory, and draws what a Monte-Carlo estimate of pi makes. */
#define TEST_GROUP "mmap."
#include "foreign.h"

/* CUDA's memory with an address there, and a VkBuffer on it. */
typedef struct both {
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
} both;

static void make_both(app *a, uint64_t size, both *b)
{
    const VkBufferCreateInfo info =
        app_buffer_info(size, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    VkMemoryRequirements needs;

    VK(vkCreateBuffer(a->device, &info, NULL, &b->buffer));
    vkGetBufferMemoryRequirements(a->device, b->buffer, &needs);
    b->size = size;
    ad.size = needs.size;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    CULV(culv_vmm_allocation_create(a->culvert, &ad, &b->allocation));
    rd.size = ad.size;
    CULV(culv_vmm_range_create(a->culvert, &rd, &b->range));
    CULV(culv_vmm_map(b->range, 0, b->allocation, NULL, 0));
    CULV(culv_vk_buffer_bind_vmm(a->vk, b->buffer, b->allocation, 0, &b->memory));
}

static void destroy_both(app *a, both *b)
{
    vkDestroyBuffer(a->device, b->buffer, NULL);
    vkFreeMemory(a->device, b->memory, NULL);
    CULV(culv_vmm_unmap(b->range, 0, culv_vmm_range_size(b->range), NULL));
    CULV(culv_vmm_range_destroy(&b->range));
    culv_vmm_allocation_destroy(&b->allocation); /* none, if the program gave it up before */
}

static void read_both(app *a, const both *b, const app_host *host, const app_sync *sync)
{
    VkCommandBuffer commands = app_begin(a);

    app_transfer_buffer(a, commands, b->buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC);
    app_record_read(commands, b->buffer, 0, host, 0, b->size);
    app_transfer_buffer(a, commands, b->buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC);
    app_run(a, commands, sync);
}

#define POINTS 102401u /* 819,208 bytes */

/* How many of the points lie in the circle; fails where a point is not what it should be. */
static unsigned check_points(const float *points, const unsigned char *inside, uint32_t seed)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t h = i * 2654435761u + seed;

        h ^= h >> 16;
        h *= 0x7feb352du;
        const uint32_t g = h * 1664525u + 1013904223u;
        const float x = (float)(h >> 8) * (1.0f / 16777216.0f);
        const float y = (float)(g >> 8) * (1.0f / 16777216.0f);
        const unsigned char in = x * x + y * y < 1.0f ? 1 : 0;

        if (points[2 * i] < x || points[2 * i] > x || points[2 * i + 1] < y ||
            points[2 * i + 1] > y || inside[i] != in)
            FAIL("seed %u: point %u is (%.9g, %.9g) and %u, not (%.9g, %.9g) and %u",
                 (unsigned)seed, (unsigned)i, (double)points[2 * i], (double)points[2 * i + 1],
                 inside[i], (double)x, (double)y, in);
        count += in;
    }
    return count;
}

APP_CASE(pi, .smoke = true)
{
    both points, inside;
    app_host host_points, host_inside;
    culv_shared_semaphore *sync;
    unsigned in = 0;
    const unsigned rounds = 5;

    if (!a->caps.vmm_posix_fd) {
        app_close(a);
        SKIP("this device exports no virtual memory");
    }
    make_both(a, POINTS * 2 * sizeof(float), &points);
    make_both(a, POINTS, &inside);
    app_host_create(a, points.size, &host_points);
    app_host_create(a, inside.size, &host_inside);
    CULV(culv_vk_semaphore_create(a->vk, NULL, &sync));

    for (uint32_t n = 0; n < rounds; n++) {
        const app_sync first = {.wait = culv_vk_semaphore_handle(sync), .wait_value = 2 * n + 1};
        const app_sync second = {.signal = culv_vk_semaphore_handle(sync),
                                 .signal_value = 2 * n + 2};
        CUdeviceptr to = culv_vmm_range_pointer(points.range);
        CUdeviceptr flags = culv_vmm_range_pointer(inside.range);
        uint32_t count = POINTS, seed = 1000 + n;
        void *arguments[] = {&to, &flags, &count, &seed};

        CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a->stream, 2 * n));
        app_launch(a, "foreign_points", POINTS, 1, arguments);
        CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(sync), a->stream, 2 * n + 1));
        read_both(a, &points, &host_points, &first);
        read_both(a, &inside, &host_inside, &second);
        in += check_points((const float *)(const void *)host_points.data, host_inside.data, seed);
        if (n == 1) /* both sides keep the memory without it */
            culv_vmm_allocation_destroy(&points.allocation);
    }
    const double estimate = 4.0 * in / ((double)POINTS * rounds);
    if (!(estimate > 3.12 && estimate < 3.16)) FAIL("pi is %f", estimate);

    CU(a->cu->cuStreamSynchronize(a->stream));
    culv_shared_semaphore_destroy(&sync, NULL);
    app_host_destroy(a, &host_points);
    app_host_destroy(a, &host_inside);
    destroy_both(a, &points);
    destroy_both(a, &inside);
}
