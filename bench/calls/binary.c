/* SPDX-License-Identifier: MIT */
/* Binary semaphores, where Vulkan exports them: CUDA to Vulkan to CUDA as round_trip.c does it by
 * timelines, on each kind of queue that tells something. */
#include "calls.h"

enum { TRIPS = 16 };

/* One VkSemaphore a direction, imported by Culvert and by the raw calls. */
typedef struct binary {
    VkSemaphore vk;
    culv_semaphore *culvert;
    CUexternalSemaphore raw;
} binary;

typedef struct binary_state {
    bench *b;
    uint32_t queue;
    binary there, back;
} binary_state;

static void open_binary(rig *r, binary *out)
{
    out->vk = raw_vk_binary(&r->vk, true);
    culv_vk_semaphore_desc desc = culv_vk_semaphore_desc_init();
    desc.semaphore = out->vk;
    desc.type = CULV_SEMAPHORE_BINARY;
    CULV_OK_OR_EXIT(culv_vk_semaphore_import(r->attached, &desc, &out->culvert));
    RIG_CU(raw_cuda_import_binary(r->cu, raw_vk_semaphore_fd(&r->vk, out->vk), &out->raw));
}

static void close_binary(rig *r, binary *b)
{
    culv_semaphore_destroy(&b->culvert);
    RIG_CU(r->cu->DestroyExternalSemaphore(b->raw));
    raw_vk_semaphore_destroy(&r->vk, b->vk);
}

static void trips(binary_state *s, bench_side side, unsigned count)
{
    const rig *r = &s->b->rig;
    VkQueue queue = r->vk.queues[s->queue].queue;
    for (unsigned i = 0; i < count; i++) {
        if (side == BENCH_CULVERT) {
            CULV_OK_OR_EXIT(culv_semaphore_signal(s->there.culvert, r->stream, 0));
            VK_OK(submit(queue, VK_NULL_HANDLE, s->there.vk, 0, s->back.vk, 0));
            CULV_OK_OR_EXIT(culv_semaphore_mark_waited(s->there.culvert));
            CULV_OK_OR_EXIT(culv_semaphore_mark_signaled(s->back.culvert));
            CULV_OK_OR_EXIT(culv_semaphore_wait(s->back.culvert, r->stream, 0));
        } else {
            RIG_CU(raw_signal(r->cu, s->there.raw, 0, r->stream));
            VK_OK(submit(queue, VK_NULL_HANDLE, s->there.vk, 0, s->back.vk, 0));
            RIG_CU(raw_wait(r->cu, s->back.raw, 0, r->stream));
        }
    }
}

static void turn(void *state, bench_side side, double ns[])
{
    binary_state *s = state;
    double begun = bench_now();
    trips(s, side, TRIPS);
    ns[0] = bench_now() - begun;
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    ns[1] = bench_now() - begun;
}

/* The stream gets past both semaphores, and then Vulkan's queue is idle. */
static void check(binary_state *s, bench_side side)
{
    const rig *r = &s->b->rig;
    trips(s, side, 2);
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    VK_OK(vkQueueWaitIdle(r->vk.queues[s->queue].queue));
    bench_checked(s->b);
}

static bool exportable(const rig *r)
{
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(r->vk.physical, &info, &properties);
    return (properties.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) !=
           0;
}

void measure_binary(bench *b)
{
    binary_state s = {.b = b};
    if (!exportable(&b->rig)) {
        bench_left_out(b, "this Vulkan driver exports no binary semaphore as an opaque fd");
        return;
    }
    open_binary(&b->rig, &s.there);
    open_binary(&b->rig, &s.back);
    for (s.queue = 0; s.queue < b->rig.vk.queue_count && s.queue < 2; s.queue++) {
        bench_series series;
        bench_variant(b, "queue family %u, empty", (unsigned)s.queue);
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
        bench_begin(b, &series,
                    (bench_setup){.turn = turn, .state = &s, .num_phases = 2, .calls = TRIPS});
        bench_row(b, &series, (bench_row_desc){.name = "CUDA -> Vulkan -> CUDA", .phases = 2});
        bench_row(b, &series, (bench_row_desc){.name = "the calls of it, on the CPU", .phases = 1});
        bench_end(&series);
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
    }
    close_binary(&b->rig, &s.back);
    close_binary(&b->rig, &s.there);
}
