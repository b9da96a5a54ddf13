/* SPDX-License-Identifier: MIT */
/* Several timelines by one call: four, as a program has whose frame hands over to two others and
 * back. */
#include "calls.h"

enum { BATCH = 4, CALLS = 16 };

typedef struct batch_state {
    bench *b;
    rig_timeline timelines[BATCH];
    uint64_t value; /* of all of them */
} batch_state;

static void culvert_calls(batch_state *s, unsigned calls, double at[3])
{
    CUstream stream = s->b->rig.stream;
    culv_semaphore_point points[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        points[i].semaphore = s->timelines[i].culvert;
    at[0] = bench_now();
    for (unsigned call = 0; call < calls; call++) {
        for (unsigned i = 0; i < BATCH; i++)
            points[i].value = s->value;
        CULV_OK_OR_EXIT(culv_semaphore_wait_batch(points, BATCH, stream));
    }
    at[1] = bench_now();
    for (unsigned call = 0; call < calls; call++) {
        s->value++;
        for (unsigned i = 0; i < BATCH; i++)
            points[i].value = s->value;
        CULV_OK_OR_EXIT(culv_semaphore_signal_batch(points, BATCH, stream));
    }
    at[2] = bench_now();
}

static void raw_calls(batch_state *s, unsigned calls, double at[3])
{
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    CUexternalSemaphore semaphores[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        semaphores[i] = s->timelines[i].raw[0];
    at[0] = bench_now();
    for (unsigned call = 0; call < calls; call++) {
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params[BATCH] = {0};
        for (unsigned i = 0; i < BATCH; i++)
            params[i].params.fence.value = s->value;
        RIG_CU(cu->WaitExternalSemaphoresAsync(semaphores, params, BATCH, stream));
    }
    at[1] = bench_now();
    for (unsigned call = 0; call < calls; call++) {
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params[BATCH] = {0};
        s->value++;
        for (unsigned i = 0; i < BATCH; i++)
            params[i].params.fence.value = s->value;
        RIG_CU(cu->SignalExternalSemaphoresAsync(semaphores, params, BATCH, stream));
    }
    at[2] = bench_now();
}

static void turn(void *state, bench_side side, double ns[])
{
    batch_state *s = state;
    double at[3];
    (side == BENCH_CULVERT ? culvert_calls : raw_calls)(s, CALLS, at);
    ns[0] = at[1] - at[0];
    ns[1] = at[2] - at[1];
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
}

/* All of them arrive at Vulkan. */
static void check(batch_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    double at[3];
    (side == BENCH_CULVERT ? culvert_calls : raw_calls)(s, 1, at);
    for (unsigned i = 0; i < BATCH; i++)
        REQUIRE(raw_vk_timeline_wait(&r->vk, s->timelines[i].vk, s->value, 10000));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    bench_checked(s->b);
}

void measure_batch(bench *b)
{
    batch_state s = {.b = b};
    bench_series series;
    for (unsigned i = 0; i < BATCH; i++)
        rig_timeline_open(&b->rig, &s.timelines[i]);
    bench_variant(b, "%s", "");
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    bench_begin(b, &series,
                (bench_setup){.turn = turn, .state = &s, .num_phases = 2, .calls = CALLS});
    bench_row(
        b, &series,
        (bench_row_desc){.name = "signal 4 + wait for 4", .phases = 3, .goal = GOAL_SIGNAL_WAIT});
    bench_row(b, &series, (bench_row_desc){.name = "signal 4", .phases = 2});
    bench_row(b, &series, (bench_row_desc){.name = "wait for 4", .phases = 1});
    bench_end(&series);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    for (unsigned i = 0; i < BATCH; i++)
        rig_timeline_close(&b->rig, &s.timelines[i]);
}
