/* SPDX-License-Identifier: MIT */
/* A vector of CUDA's that grows while Vulkan reads it. */
#define TEST_GROUP "vector."
#include "foreign.h"

#include <stdlib.h>

#define MAX_PARTS 64

/* Copies what the view shows of the first `size` bytes. */
static VkCommandBuffer record_all(app *a, const culv_vector_view *view, uint64_t size,
                                  const app_host *host)
{
    culv_part parts[MAX_PARTS];
    VkCommandBuffer commands = app_begin(a);
    uint64_t end = 0;
    size_t count;

    CULV(culv_vector_view_get_parts(view, parts, MAX_PARTS, &count));
    REQUIRE(count <= MAX_PARTS);
    for (size_t i = 0; i < count; i++) {
        const uint64_t left = size > parts[i].offset ? size - parts[i].offset : 0;
        const uint64_t bytes = left < parts[i].size ? left : parts[i].size;

        REQUIRE_EQ(parts[i].offset, end);
        end += parts[i].size;
        if (bytes == 0) continue;
        app_transfer_buffer(a, commands, (VkBuffer)parts[i].buffer, CULV_VK_ACQUIRE,
                            CULV_VK_USE_TRANSFER_SRC);
        app_record_read(commands, (VkBuffer)parts[i].buffer, 0, host, parts[i].offset, bytes);
        app_transfer_buffer(a, commands, (VkBuffer)parts[i].buffer, CULV_VK_RELEASE,
                            CULV_VK_USE_TRANSFER_SRC);
    }
    REQUIRE(end >= size);
    return commands;
}

/* In chunks of the granularity, some of them committed ahead. */
TEST(grows, .smoke = true)
{
    const uint64_t table[] = {1, 4097, 819200, 819201, (2u << 20) + 1, 5000011, (9u << 20) + 3};
    const size_t steps = sizeof table / sizeof *table;
    culv_vector_desc d = culv_vector_desc_init();
    culv_vmm_allocation_desc chunk = culv_vmm_allocation_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    culv_vector *vector;
    culv_vector_view *view;
    culv_shared_semaphore *sync;
    app_host hosts[2];
    uint64_t size = 0;
    app a;

    app_open(&a);
    if (!a.caps.vmm_posix_fd) {
        app_close(&a);
        SKIP("this device exports no virtual memory");
    }
    d.handle_types = chunk.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.commit_ahead = 4u << 20;
    CULV(culv_vmm_get_granularity(a.culvert, &chunk, &d.max_chunk));
    vd.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    CULV(culv_vector_create(a.culvert, &d, &vector));
    CULV(culv_vk_vector_view_create(a.vk, vector, &vd, &view));
    CULV(culv_vk_semaphore_create(a.vk, NULL, &sync));
    for (int i = 0; i < 2; i++)
        app_host_create(&a, table[steps - 1], &hosts[i]);

    const VkSemaphore timeline = culv_vk_semaphore_handle(sync);
    for (size_t n = 0; n < steps; n++) {
        const uint64_t before = size, turn = 3 * n;
        VkCommandBuffer old = NULL;
        VkFence old_fence = NULL;

        /* Vulkan is to read what there is, once CUDA lets it. */
        if (before > 0) {
            old = record_all(&a, view, before, &hosts[0]);
            old_fence = app_submit(&a, old, &(app_sync){timeline, turn + 1, timeline, turn + 2});
        }
        /* Meanwhile the vector grows, and CUDA writes what is new. */
        size = table[n];
        CULV(culv_vector_grow(vector, size));
        REQUIRE_EQ(culv_vector_size(vector), size);
        app_fill(&a, culv_vector_pointer(vector) + before, before, size - before, 9);
        const culv_semaphore_point ready = {culv_shared_semaphore_cuda(sync), turn + 1};
        CULV(culv_semaphore_signal_batch(&ready, 1, a.stream));
        /* What is committed ahead may raise the vector's generation at any moment. */
        const uint64_t there = culv_vector_generation(vector);
        CULV(culv_vector_view_update(view));
        REQUIRE(culv_vector_view_generation(view) >= there);
        REQUIRE(culv_vector_view_generation(view) <= culv_vector_generation(vector));
        if (old) {
            app_finish(&a, old, old_fence);
            app_require_bytes("what it had", hosts[0].data, 0, before, 9);
        }
        app_run(&a, record_all(&a, view, size, &hosts[1]),
                &(app_sync){timeline, old ? turn + 2 : turn + 1, timeline, turn + 3});
        app_require_bytes("what it has", hosts[1].data, 0, size, 9);
        CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a.stream, turn + 3));
    }

    CU(a.cu->cuStreamSynchronize(a.stream));
    for (int i = 0; i < 2; i++)
        app_host_destroy(&a, &hosts[i]);
    culv_shared_semaphore_destroy(&sync, NULL);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    app_close(&a);
}

static void moved(void *context, culv_vector *vector, CUdeviceptr before, CUdeviceptr now)
{
    unsigned *moves = context;

    (void)vector;
    REQUIRE(before != now);
    ++*moves;
}

/* An address space of one granule: the vector must find other addresses. Old ones show the same
 * bytes until they are retired. */
TEST(moves)
{
    culv_vector_desc d = culv_vector_desc_init();
    const uint64_t first = 819201, second = (40u << 20) + 1;
    unsigned char *copy = malloc(first);
    culv_vector_stats stats = culv_vector_stats_init();
    unsigned count = 0;
    culv_vector *vector, *neighbour;
    CUdeviceptr old;
    app a;

    REQUIRE(copy);
    app_open(&a);
    if (!a.caps.vmm) {
        app_close(&a);
        SKIP("this device has no virtual memory");
    }
    d.size = first;
    d.reserve = first;
    d.moved = moved;
    d.moved_context = &count;
    CULV(culv_vector_create(a.culvert, &d, &vector));
    d.moved = NULL;
    CULV(culv_vector_create(a.culvert, &d, &neighbour));
    old = culv_vector_pointer(vector);
    app_fill(&a, old, 0, first, 3);
    CULV(culv_vector_grow(vector, second));
    CULV(culv_vector_get_stats(vector, &stats));
    REQUIRE_EQ(stats.moves, count);
    REQUIRE_EQ(stats.retiring, count);
    REQUIRE_EQ(old != culv_vector_pointer(vector), count > 0);

    for (int i = 0; i < 2; i++) {
        CU(a.cu->cuMemcpyDtoHAsync(copy, i == 0 ? old : culv_vector_pointer(vector), first,
                                   a.stream));
        CU(a.cu->cuStreamSynchronize(a.stream));
        app_require_bytes(i == 0 ? "at the old address" : "at the new one", copy, 0, first, 3);
    }
    if (count > 0) CULV(culv_vector_retire(vector, old, a.stream));
    free(copy);
    culv_vector_destroy(&neighbour, NULL);
    culv_vector_destroy(&vector, NULL);
    app_close(&a);
}
