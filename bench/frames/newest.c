/* SPDX-License-Identifier: MIT */
/* The mailbox: solver and renderer run free, each in a thread of its own with two frames in flight;
 * the renderer draws the newest frame there is, the solver writes over what nobody reads. Each
 * one's rate alone, beside the other without a ring (what the GPU leaves it), and beside it with
 * the ring. */
#include "sections.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { DEPTH = 6, IN_FLIGHT = 2, FENCES = IN_FLIGHT + 1, NUMBERS = 1 << 22 };

typedef enum coupling { ALONE, UNCOUPLED, MAILBOX } coupling;

typedef struct mailbox {
    frames_bench *b;
    workload w;
    coupling coupling;
    double seconds;
    double solver_period_us, renderer_period_us; /* 0: as fast as it goes */
    culv_vk_ring *ring;
    uint32_t base;
    atomic_bool stop;
    /* What came of it. */
    uint64_t solved, drawn;
    double solver_seconds, renderer_seconds;
} mailbox;

/* The next time that a side with a period begins. */
static void pace(double *next, double period_us)
{
    if (period_us == 0.0) return;
    *next += period_us * 1e3;
    double now = bench_now();
    if (*next < now) *next = now; /* what is lost is not caught up */
    struct timespec until = {(time_t)(*next * 1e-9), 0};
    until.tv_nsec = (long)(*next - (double)until.tv_sec * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *solve(void *state)
{
    mailbox *m = state;
    frames_bench *b = m->b;
    const rig *r = &b->bench.rig;
    const raw_cuda *cu = r->cu;
    CUevent events[FENCES];
    RIG_CU(cu->CtxSetCurrent(r->context));
    for (int i = 0; i < FENCES; i++)
        RIG_CU(cu->EventCreate(&events[i], CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
    double begun = bench_now(), next = begun;
    uint64_t n = 0;
    for (; !atomic_load(&m->stop); n++) {
        culv_ring_frame frame = {.number = n};
        if (n >= IN_FLIGHT) RIG_CU(cu->EventSynchronize(events[(n - IN_FLIGHT) % FENCES]));
        if (m->coupling == MAILBOX)
            CULV_OK_OR_EXIT(culv_ring_acquire_on(culv_vk_ring_core(m->ring), CULV_RING_PRODUCER,
                                                 r->stream, CULV_RING_FOREVER, &frame));
        solver_launch(&b->solver, r->stream,
                      solver_job_of(&b->solver, b->pointers[frame.slot], m->w.bytes,
                                    m->base + (uint32_t)frame.number, m->w.solver_iterations,
                                    SOLVER_NO_LOG));
        if (m->coupling == MAILBOX)
            CULV_OK_OR_EXIT(culv_ring_release_on(culv_vk_ring_core(m->ring), CULV_RING_PRODUCER,
                                                 r->stream, &frame));
        RIG_CU(cu->EventRecord(events[n % FENCES], r->stream));
        pace(&next, m->solver_period_us);
    }
    RIG_CU(cu->StreamSynchronize(r->stream));
    m->solver_seconds = (bench_now() - begun) * 1e-9;
    m->solved = n;
    for (int i = 0; i < FENCES; i++)
        RIG_CU(cu->EventDestroy(events[i]));
    RIG_CU(cu->CtxSetCurrent(NULL));
    return NULL;
}

static void draw_once(mailbox *m, uint32_t index, VkFence fence, uint64_t *last)
{
    frames_bench *b = m->b;
    VkQueue queue = b->bench.rig.vk.queues[0].queue;
    culv_vk_ring_frame frame = {.num_waits = 0};
    renderer_job job = {.frame = index,
                        .slot = DEPTH - 1,
                        .buffer = b->buffers[DEPTH - 1],
                        .iterations = m->w.renderer_iterations,
                        .untimed = true};
    if (m->coupling == MAILBOX) {
        CULV_OK_OR_EXIT(culv_vk_ring_acquire(m->ring, CULV_RING_FOREVER, &frame));
        /* Never an older one, and the same one only where the ring says so. */
        REQUIRE(m->drawn == 0 || frame.frame.number > *last ||
                (frame.frame.repeated != 0 && frame.frame.number == *last));
        *last = frame.frame.number;
        job.slot = frame.frame.slot;
        job.number = m->base + (uint32_t)frame.frame.number;
        job.acquire = &frame.acquire;
        job.release = &frame.release;
    }
    VkCommandBuffer commands = renderer_record(&b->renderer, &job);
    if (m->coupling == MAILBOX) {
        CULV_OK_OR_EXIT(culv_vk_ring_submit(m->ring, queue, commands, fence, &frame));
        return;
    }
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    VK_OK(vkQueueSubmit(queue, 1, &info, fence));
}

static void draw(mailbox *m)
{
    VkDevice device = m->b->bench.rig.vk.device;
    VkFence fences[FENCES];
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    for (int i = 0; i < FENCES; i++)
        VK_OK(vkCreateFence(device, &info, NULL, &fences[i]));
    uint64_t n = 0, last = 0;
    double begun = bench_now(), next = begun;
    while (bench_now() - begun < m->seconds * 1e9) {
        if (n >= IN_FLIGHT) {
            VkFence *oldest = &fences[(n - IN_FLIGHT) % FENCES];
            VK_OK(vkWaitForFences(device, 1, oldest, VK_TRUE, UINT64_MAX));
            VK_OK(vkResetFences(device, 1, oldest));
        }
        m->drawn = n;
        draw_once(m, (uint32_t)(n % FENCES), fences[n % FENCES], &last);
        n++;
        pace(&next, m->renderer_period_us);
    }
    VK_OK(vkQueueWaitIdle(m->b->bench.rig.vk.queues[0].queue));
    m->renderer_seconds = (bench_now() - begun) * 1e-9;
    m->drawn = n;
    for (int i = 0; i < FENCES; i++)
        vkDestroyFence(device, fences[i], NULL);
}

static void check(mailbox *m, uint64_t *skipped)
{
    renderer_verdict v = renderer_judge(&m->b->renderer);
    culv_ring_stats stats = culv_ring_stats_init();
    CULV_OK_OR_EXIT(culv_ring_drain(culv_vk_ring_core(m->ring), CULV_RING_FOREVER, 0));
    CULV_OK_OR_EXIT(culv_ring_get_stats(culv_vk_ring_core(m->ring), &stats));
    REQUIRE_EQ(v.frames, m->drawn);
    REQUIRE_EQ(v.wrong, 0);
    REQUIRE_EQ(stats.produced, m->solved);
    *skipped = stats.skipped;
}

static void make_ring(mailbox *m)
{
    const rig *r = &m->b->bench.rig;
    culv_ring_settings settings = culv_ring_settings_init();
    culv_vk_ring_resource slots = {.buffers = m->b->slots,
                                   .use = CULV_VK_USE_STORAGE_READ,
                                   .stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.queue_family = 0;
    settings.policy = CULV_RING_MAILBOX;
    desc.max_depth = DEPTH;
    desc.settings = &settings;
    desc.resources = &slots;
    desc.num_resources = 1;
    CULV_OK_OR_EXIT(culv_vk_ring_create(r->attached, r->vk.queues[0].queue, &desc, &m->ring));
}

/* Rates of both sides, frames a second. */
static void run_pair(mailbox *m, coupling how, bool with_solver, bool with_renderer,
                     double rates[2], uint64_t *skipped)
{
    pthread_t thread;
    m->coupling = how;
    m->base = m->b->next_number;
    m->b->next_number += NUMBERS;
    m->solved = m->drawn = 0;
    atomic_store(&m->stop, false);
    exits_watch(60, "the mailbox");
    if (how == MAILBOX) make_ring(m);
    if (with_solver) REQUIRE(pthread_create(&thread, NULL, solve, m) == 0);
    if (with_renderer) {
        draw(m);
    } else {
        struct timespec time = {(time_t)m->seconds,
                                (long)((m->seconds - (double)(time_t)m->seconds) * 1e9)};
        nanosleep(&time, NULL);
    }
    atomic_store(&m->stop, true);
    if (with_solver) REQUIRE(pthread_join(thread, NULL) == 0);
    if (with_solver) rates[0] = (double)m->solved / m->solver_seconds;
    if (with_renderer) rates[1] = (double)m->drawn / m->renderer_seconds;
    if (how != MAILBOX) return;
    check(m, skipped);
    culv_vk_ring_destroy(&m->ring);
}

static void compare(frames_bench *b, results *all, mailbox *m, const char *name)
{
    double alone[2], uncoupled[2], rates[2];
    uint64_t skipped = 0;
    run_pair(m, ALONE, true, false, alone, NULL);
    run_pair(m, ALONE, false, true, alone, NULL);
    run_pair(m, UNCOUPLED, true, true, uncoupled, NULL);
    run_pair(m, MAILBOX, true, true, rates, &skipped);
    mailbox_result solving = {.side = "solver",
                              .alone = alone[0],
                              .uncoupled = uncoupled[0],
                              .rate = rates[0],
                              .frames = m->solved};
    mailbox_result drawing = {.side = "renderer",
                              .alone = alone[1],
                              .uncoupled = uncoupled[1],
                              .rate = rates[1],
                              .frames = m->drawn,
                              .skipped = skipped};
    snprintf(solving.name, sizeof solving.name, "%s", name);
    snprintf(drawing.name, sizeof drawing.name, "%s", name);
    results_add_mailbox(all, b, &solving);
    results_add_mailbox(all, b, &drawing);
}

void section_newest(frames_bench *b, const options *o, results *all)
{
    const workload w = options_workload(o);
    const double slow = 10.0;
    if (!frames_slots(b, DEPTH, w.bytes)) {
        bench_left_out(&b->bench, "no room for its frames");
        return;
    }
    if (b->bench.text != NULL)
        fprintf(
            b->bench.text,
            "\nnewest: frames a second. Uncoupled: both run beside each other, without a ring.\n");
    mailbox m = {.b = b, .seconds = o->quick ? 0.15 : 0.7, .w = w};
    exits_watch(120, "calibrating the loads");
    frames_calibrate(b, &m.w, false);
    m.solver_period_us = slow * w.renderer_us;
    compare(b, all, &m, "the solver has a period ten times as long");
    m.solver_period_us = 0.0;
    m.renderer_period_us = slow * w.solver_us;
    compare(b, all, &m, "the renderer has a period ten times as long");
    if (o->quick) return;
    m.renderer_period_us = 0.0;
    m.w.solver_us = slow * w.renderer_us;
    frames_calibrate(b, &m.w, false);
    compare(b, all, &m, "the solver's kernel takes ten times as long");
    m.w.solver_us = w.solver_us;
    m.w.renderer_us = slow * w.solver_us;
    frames_calibrate(b, &m.w, false);
    compare(b, all, &m, "the renderer's draw takes ten times as long");
}
