/* SPDX-License-Identifier: MIT */
/* The same by culv_ring: every frame in order, at a fixed depth and burst or at those that the ring
 * chooses. */
#include "schemes.h"

static void make(run *r, culv_ring **out)
{
    const rig *gpu = &r->b->bench.rig;
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = r->c->burst;
    settings.max_latency = r->c->max_latency;
    if (r->c->automatic) settings.way = CULV_RING_WAY_AUTO;
    if (r->c->tuning.solver_late) settings.cuda_waits = CULV_RING_WAITS_SIGNAL_FIRST;
    culv_vk_ring_resource slots = {.buffers = r->b->slots,
                                   .use = CULV_VK_USE_STORAGE_READ,
                                   .stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.queue_family = 0;
    desc.max_depth = r->c->depth;
    desc.settings = &settings;
    desc.resources = &slots;
    desc.num_resources = 1;
    if (r->c->tuning.renderer_late) desc.waits = CULV_RING_WAITS_SIGNAL_FIRST;
    CULV_OK_OR_EXIT(culv_vk_ring_create(gpu->attached, gpu->vk.queues[0].queue, &desc, out));
}

static void order(const run *r, CUstream stream, CUstream other, CUevent event)
{
    const rig *gpu = &r->b->bench.rig;
    if (r->c->tuning.streams == BY_CULVERT) {
        CULV_OK_OR_EXIT(culv_stream_wait_stream(gpu->device, stream, other));
    } else {
        RIG_CU(gpu->cu->EventRecord(event, other));
        RIG_CU(gpu->cu->StreamWaitEvent(stream, event, 0));
    }
}

/* A frame; returns whether a burst ended with it. */
static bool produce(run *r, uint32_t *produced)
{
    const ring_run *own = r->own;
    culv_ring *ring = own->ring;
    CUstream stream = r->b->bench.rig.stream;
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(
        culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, CULV_RING_FOREVER, &frame));
    if (own->second != NULL) order(r, own->second, stream, own->events[0]);
    run_launch(r, own->second != NULL ? own->second : stream, frame.slot, *produced);
    if (own->second != NULL) order(r, stream, own->second, own->events[1]);
    CULV_OK_OR_EXIT(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
    ++*produced;
    return frame.burst_ends != 0;
}

static bool is_recorded(const run *r)
{
    return !config_chooses(r->c) && r->c->frames <= r->b->renderer.num_frames;
}

static void ring_prepare(run *r)
{
    static ring_run own; /* one run at a time */
    own = (ring_run){.ring = NULL};
    make(r, &own.ring);
    if (r->c->tuning.streams != ONE_STREAM) {
        const raw_cuda *cu = r->b->bench.rig.cu;
        RIG_CU(cu->StreamCreate(&own.second, CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 2; i++)
            RIG_CU(cu->EventCreate(&own.events[i], CU_EVENT_DISABLE_TIMING));
    }
    r->own = &own;
    if (is_recorded(r)) run_record(r);
}

/* Where the ring chooses the slots, or there are more frames than command buffers, they are
 * recorded when the slot is known: the one of so many frames before is done, since the ring lets
 * nobody go so far ahead. */
static VkCommandBuffer commands_of(run *r, const culv_ring *ring, const culv_ring_frame *frame,
                                   uint32_t n)
{
    uint32_t recorded = r->b->renderer.num_frames;
    if (!config_chooses(r->c)) REQUIRE_EQ(frame->slot, n % r->c->depth);
    if (is_recorded(r)) return r->commands[n];
    if (n != 0 && n % recorded == 0) {
        raw_vk_idle(&r->b->bench.rig.vk); /* validation does not see that */
        run_tell(r, n);
    }
    return renderer_record(
        &r->b->renderer,
        &(renderer_job){.frame = n % recorded,
                        .untimed = n >= recorded,
                        .slot = frame->slot,
                        .number = r->base + n,
                        .iterations = r->w->renderer_iterations,
                        .acquire = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_ACQUIRE),
                        .release = culv_vk_ring_barriers(ring, frame->slot, CULV_VK_RELEASE)});
}

static void consume(run *r, culv_ring *ring, uint32_t n)
{
    culv_ring_frame frame;
    CULV_OK_OR_EXIT(culv_ring_acquire(ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &frame));
    CULV_OK_OR_EXIT(culv_vk_ring_submit(ring, r->b->bench.rig.vk.queues[0].queue,
                                        commands_of(r, ring, &frame, n), VK_NULL_HANDLE, &frame));
}

/* One thread for both sides: a burst of the one, a burst of the other. Where the renderer's turn
 * waits on the host, it is a burst behind, so that the solver has work meanwhile. */
static void ring_go(run *r)
{
    const ring_run *own = r->own;
    culv_ring *ring = own->ring;
    const rig *gpu = &r->b->bench.rig;
    uint32_t produced = 0, consumed = 0;
    const uint32_t behind =
        r->c->tuning.renderer_late && r->c->depth >= 2 * r->c->burst ? r->c->burst : 0;
    bool settling = r->c->settle != 0;
    while (produced < r->c->frames) {
        bool ended = false;
        if (settling && produced >= r->c->settle) {
            CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
            run_begins(r, produced);
            settling = false;
        }
        while (!ended && produced < r->c->frames)
            ended = produce(r, &produced);
        if (!ended) CULV_OK_OR_EXIT(culv_ring_flush_on(ring, CULV_RING_PRODUCER, gpu->stream));
        while (consumed + (produced < r->c->frames ? behind : 0) < produced)
            consume(r, ring, consumed++);
        /* The renderer's burst may be longer than the solver's while the ring changes its mind. */
        if (config_chooses(r->c) || !ended)
            CULV_OK_OR_EXIT(culv_ring_flush(ring, CULV_RING_CONSUMER, NULL));
    }
    run_issued(r);
    CULV_OK_OR_EXIT(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
}

void ring_finish(run *r)
{
    ring_run *own = r->own;
    culv_ring_stats stats = culv_ring_stats_init();
    CULV_OK_OR_EXIT(culv_ring_get_stats(own->ring, &stats));
    r->chosen = (ring_choice){.depth = stats.depth,
                              .burst = stats.burst,
                              .on_host = stats.cuda_waits == CULV_RING_WAITS_SIGNAL_FIRST,
                              .tries = stats.tries != 0};
    REQUIRE_EQ(stats.produced, r->c->frames);
    REQUIRE_EQ(stats.consumed, r->c->frames);
    REQUIRE_EQ(stats.skipped, 0);
    culv_ring_destroy(&own->ring, NULL);
    if (own->second == NULL) return;
    for (int i = 0; i < 2; i++)
        RIG_CU(r->b->bench.rig.cu->EventDestroy(own->events[i]));
    RIG_CU(r->b->bench.rig.cu->StreamDestroy(own->second));
}

const scheme scheme_ring = {.name = "culv_ring",
                            .prepare = ring_prepare,
                            .go = ring_go,
                            .finish = ring_finish,
                            .endless = true};
