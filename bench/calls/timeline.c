/* SPDX-License-Identifier: MIT */
/* Timeline semaphores: signal, wait, both as a frame does them, and importing. The GPU's queue is
 * drained after each turn, outside of its times, so that what is timed is the call and not the room
 * in the queue. */
#include "calls.h"

enum { CALLS = 32 };

typedef struct timeline_state {
    bench *b;
    rig_timeline timeline;
    bool control; /* the raw calls on both sides, each with an import of its own */
    uint64_t reached;
} timeline_state;

static CUexternalSemaphore raw_of(const timeline_state *s, bench_side side)
{
    return s->timeline.raw[s->control && side == BENCH_CULVERT];
}

static bool is_culvert(const timeline_state *s, bench_side side)
{
    return side == BENCH_CULVERT && !s->control;
}

static void drain(timeline_state *s)
{
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    s->reached = s->timeline.value;
}

static void signal_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->timeline.value;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            CULV_OK_OR_EXIT(culv_semaphore_signal(semaphore, stream, ++value));
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            RIG_CU(raw_signal(cu, semaphore, ++value, stream));
    }
    ns[0] = bench_now() - begun;
    s->timeline.value = value;
    drain(s);
}

/* For a value that was reached long ago: the call's cost, not the waiting. */
static void wait_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->reached;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            CULV_OK_OR_EXIT(culv_semaphore_wait(semaphore, stream, value));
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++)
            RIG_CU(raw_wait(cu, semaphore, value, stream));
    }
    ns[0] = bench_now() - begun;
    drain(s);
}

/* As frames do: wait for what was signaled before, signal the next. */
static void frame_turn(void *state, bench_side side, double ns[])
{
    timeline_state *s = state;
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    uint64_t value = s->timeline.value;
    double begun;
    if (is_culvert(s, side)) {
        culv_semaphore *semaphore = s->timeline.culvert;
        begun = bench_now();
        for (int i = 0; i < CALLS; i++) {
            CULV_OK_OR_EXIT(culv_semaphore_wait(semaphore, stream, value));
            CULV_OK_OR_EXIT(culv_semaphore_signal(semaphore, stream, ++value));
        }
    } else {
        CUexternalSemaphore semaphore = raw_of(s, side);
        begun = bench_now();
        for (int i = 0; i < CALLS; i++) {
            RIG_CU(raw_wait(cu, semaphore, value, stream));
            RIG_CU(raw_signal(cu, semaphore, ++value, stream));
        }
    }
    ns[0] = bench_now() - begun;
    s->timeline.value = value;
    drain(s);
}

/* A wait holds the stream until Vulkan's host signals; a signal arrives at Vulkan. */
static void check(timeline_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    uint64_t awaited = s->timeline.value + 1, signaled = s->timeline.value + 2;
    s->timeline.value = signaled;
    if (is_culvert(s, side)) {
        CULV_OK_OR_EXIT(culv_semaphore_wait(s->timeline.culvert, r->stream, awaited));
        CULV_OK_OR_EXIT(culv_semaphore_signal(s->timeline.culvert, r->stream, signaled));
    } else {
        RIG_CU(raw_wait(r->cu, raw_of(s, side), awaited, r->stream));
        RIG_CU(raw_signal(r->cu, raw_of(s, side), signaled, r->stream));
    }
    raw_cuda_require(__FILE__, __LINE__, "a stream that waits", r->cu->StreamQuery(r->stream),
                     CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&r->vk, s->timeline.vk, awaited);
    REQUIRE(raw_vk_timeline_wait(&r->vk, s->timeline.vk, signaled, 10000));
    drain(s);
    bench_checked(s->b);
}

static void compare(timeline_state *s, const char *name, bench_turn turn, double goal)
{
    bench_series series;
    bench_begin(s->b, &series,
                (bench_setup){.kind = s->control ? BENCH_CONTROL : BENCH_PAIR,
                              .turn = turn,
                              .state = s,
                              .num_phases = 1,
                              .calls = CALLS});
    bench_row(s->b, &series, (bench_row_desc){.name = name, .phases = 1, .goal = goal});
    bench_end(&series);
}

void measure_timeline(bench *b)
{
    for (int control = 0; control < 2; control++) {
        timeline_state s = {.b = b, .control = control != 0};
        rig_timeline_open(&b->rig, &s.timeline);
        bench_variant(b, "%s", control ? "control" : "");
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
        compare(&s, "signal + wait", frame_turn, control ? 0.0 : GOAL_SIGNAL_WAIT);
        if (!control) {
            compare(&s, "signal", signal_turn, 0.0);
            compare(&s, "wait", wait_turn, 0.0);
        }
        REQUIRE_EQ(raw_vk_timeline_value(&b->rig.vk, s.timeline.vk), s.timeline.value);
        check(&s, BENCH_CULVERT);
        check(&s, BENCH_RAW);
        rig_timeline_close(&b->rig, &s.timeline);
    }
}
