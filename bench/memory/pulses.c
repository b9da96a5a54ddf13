/* SPDX-License-Identifier: MIT */
/* A row of short kernels. See pulses.h. */
#include "pulses.h"

#include "../frames/calibrate.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

enum { QUICK_ITERATIONS = 2000 };

static void launch(const pulses *p, CUstream stream, uint32_t number, uint32_t iterations)
{
    CUdeviceptr times = p->times;
    void *params[] = {&times, &number, &iterations};
    RIG_CU(p->b->bench.rig.cu->LaunchKernel(p->b->kernels.pulse, 1, 1, 1, 1, 1, 1, 0, stream,
                                            params, NULL));
}

static double measure(void *state, uint32_t iterations, uint32_t times)
{
    const pulses *p = state;
    const rig *r = &p->b->bench.rig;
    RIG_CU(r->cu->StreamSynchronize(r->other_stream));
    double begun = bench_now();
    for (uint32_t i = 0; i < times; i++)
        launch(p, r->other_stream, 0, iterations);
    RIG_CU(r->cu->StreamSynchronize(r->other_stream));
    return (bench_now() - begun) * 1e-3;
}

void pulses_open(pulses *p, memory_bench *b, uint32_t count)
{
    *p = (pulses){.b = b, .count = count};
    p->times = raw_alloc(b, (uint64_t)count * 2 * sizeof(uint64_t));
    p->log = calloc(count, 2 * sizeof(uint64_t));
    REQUIRE(p->log != NULL);
    for (size_t i = 0; i < 2; i++)
        RIG_CU(b->bench.rig.cu->EventCreate(&p->done[i], CU_EVENT_DISABLE_TIMING));
    p->iterations = b->bench.quick ? QUICK_ITERATIONS : calibrate(measure, p, PULSES_US);
}

void pulses_close(pulses *p)
{
    for (size_t i = 0; i < 2; i++)
        RIG_CU(p->b->bench.rig.cu->EventDestroy(p->done[i]));
    raw_free(p->b, p->times);
    free(p->log);
}

static void *run(void *state)
{
    pulses *p = state;
    const rig *r = &p->b->bench.rig;
    RIG_CU(r->cu->CtxSetCurrent(r->context));
    for (uint32_t i = 0; i < p->count; i++) {
        launch(p, r->other_stream, i, p->iterations);
        atomic_store_explicit(&p->launched, i + 1, memory_order_release);
        if (i % PULSES_BATCH != PULSES_BATCH - 1) continue;
        uint32_t batch = i / PULSES_BATCH;
        RIG_CU(r->cu->EventRecord(p->done[batch % 2], r->other_stream));
        if (batch > 0) RIG_CU(r->cu->EventSynchronize(p->done[(batch - 1) % 2]));
    }
    RIG_CU(r->cu->StreamSynchronize(r->other_stream));
    return NULL;
}

void pulses_begin(pulses *p)
{
    const rig *r = &p->b->bench.rig;
    RIG_CU(r->cu->MemsetD32Async(p->times, 0, (size_t)p->count * 4, r->other_stream));
    RIG_CU(r->cu->StreamSynchronize(r->other_stream));
    atomic_store(&p->launched, 0);
    REQUIRE_EQ(pthread_create(&p->thread, NULL, run, p), 0);
    while (atomic_load_explicit(&p->launched, memory_order_acquire) < p->count / 3)
        sched_yield();
}

void pulses_end(pulses *p, double *all, double *longest_gap)
{
    const int64_t blurred = 2000; /* the timer's own steps, which are a microsecond on some GPUs */
    REQUIRE_EQ(pthread_join(p->thread, NULL), 0);
    RIG_CU(
        p->b->bench.rig.cu->MemcpyDtoH(p->log, p->times, (size_t)p->count * 2 * sizeof(uint64_t)));
    *longest_gap = 0.0;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint64_t *t = p->log + 2 * (size_t)i;
        if (t[0] == 0 || t[1] < t[0]) FAIL("kernel %" PRIu32 " of the other stream did not run", i);
        if (i == 0) continue;
        int64_t gap = (int64_t)(t[0] - t[-1]);
        if (gap < -blurred)
            FAIL("kernel %" PRIu32 " began before the one in front of it had ended", i);
        /* The first ones wake everything up. */
        if (i > p->count / 10 && (double)gap > *longest_gap) *longest_gap = (double)gap;
    }
    *all = (double)(p->log[2 * (size_t)p->count - 1] - p->log[0]);
}
