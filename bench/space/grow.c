/* SPDX-License-Identifier: MIT */
/* What culv_vector_grow() takes in a loop of frames, for a vector in a space and for a plain one,
 * with memory that a thread commits ahead. */
#include "space.h"

#include <culvert/vector.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { CALLS = 2000, TWIN_CALLS = 300, QUICK_CALLS = 50, PERIOD_NS = 200000, ROUNDS = 3 };

static const double goal_us = 5.0;

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_queue(void *context)
{
    (void)context;
    pthread_mutex_lock(&queue_mutex);
}

static void unlock_queue(void *context)
{
    (void)context;
    pthread_mutex_unlock(&queue_mutex);
}

static void sleep_until(double ns)
{
    struct timespec at = {.tv_sec = (time_t)(ns * 1e-9)};
    at.tv_nsec = (long)(ns - (double)at.tv_sec * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

typedef struct grow_run {
    double *us;
    size_t calls, num;
    uint64_t step, ahead, misses, commits;
} grow_run;

static void run(space_bench *b, grow_run *g, bool in_space)
{
    rig *r = &b->bench.rig;
    culv_vk_space *space = NULL;
    culv_vector *vector = NULL;
    const uint64_t most = 2 * g->calls * g->step + 4 * g->ahead;
    culv_vector_desc desc = culv_vector_desc_init();
    desc.no_move = 1;
    desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    desc.reserve = most / SPACE_MIB(2) * SPACE_MIB(2) + SPACE_MIB(2);
    desc.min_chunk = g->ahead / 2;
    desc.commit_ahead = g->ahead;
    desc.size = g->step;
    if (in_space) {
        culv_vk_space_desc d = culv_vk_space_desc_init();
        d.size = desc.reserve;
        d.queue = b->queue;
        d.lock_queue = lock_queue;
        d.unlock_queue = unlock_queue;
        CULV_OK_OR_EXIT(culv_vk_space_create(r->attached, &d, &space));
        desc.space = culv_vk_space_base(space);
    }
    CULV_OK_OR_EXIT(culv_vector_create(r->device, &desc, &vector));
    double next = bench_now() + 20e6; /* so that the thread has had its first turn */
    uint64_t size = 0;
    for (size_t i = 0; i < g->calls; i++) {
        sleep_until(next);
        next += PERIOD_NS;
        size += g->step;
        const double begun = bench_now();
        CULV_OK_OR_EXIT(culv_vector_grow(vector, size));
        g->us[g->num++] = (bench_now() - begun) * 1e-3;
    }
    uint32_t word = 0;
    RIG_CU(
        r->cu->MemsetD32Async(culv_vector_pointer(vector) + size - 4, 0x51ed270bu, 1, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    if (in_space) {
        const raw_vk_buffer buffer = {.buffer = culv_vk_space_handle(space),
                                      .size = culv_vk_space_size(space)};
        const uint64_t at = culv_vector_pointer(vector) - culv_vk_space_pointer(space);
        pthread_mutex_lock(&queue_mutex);
        raw_vk_read(&r->vk, &buffer, at + size - 4, &word, sizeof word);
        pthread_mutex_unlock(&queue_mutex);
        REQUIRE_EQ(word, 0x51ed270bu);
        bench_checked(&b->bench);
    }
    culv_vector_stats stats = culv_vector_stats_init();
    CULV_OK_OR_EXIT(culv_vector_get_stats(vector, &stats));
    g->misses += stats.ahead_misses;
    g->commits += stats.ahead_commits;
    culv_vector_destroy(&vector);
    culv_vk_space_destroy(&space);
}

void section_grow(space_bench *b)
{
    static const char *const names[2] = {"plain vector", "vector in a space"};
    const bool software = b->bench.rig.caps.is_software != 0;
    const size_t calls = b->bench.quick ? QUICK_CALLS : software ? TWIN_CALLS : CALLS;
    const size_t rounds = b->bench.quick ? 1 : ROUNDS;
    grow_run runs[2];
    for (size_t i = 0; i < 2; i++) {
        runs[i] = (grow_run){.us = calloc(calls * rounds, sizeof(double)),
                             .calls = calls,
                             .step = software || b->bench.quick ? 65536 : SPACE_MIB(1),
                             .ahead = software || b->bench.quick ? SPACE_MIB(8) : SPACE_MIB(64)};
        REQUIRE(runs[i].us != NULL);
    }
    for (size_t round = 0; round < rounds; round++) {
        const size_t first = random_below(&b->bench.random, 2);
        for (size_t i = 0; i < 2; i++)
            run(b, &runs[(first + i) % 2], (first + i) % 2 == 1);
    }
    for (size_t i = 0; i < 2; i++) {
        const grow_run *g = &runs[i];
        space_add_fact(b, names[i], "grow call, median", statistics_quantile(g->us, g->num, 0.5),
                       "us", 0.0);
        space_add_fact(b, names[i], "grow call, 99th percentile",
                       statistics_quantile(g->us, g->num, 0.99), "us", goal_us);
        space_add_fact(b, names[i], "grow call, longest", statistics_quantile(g->us, g->num, 1.0),
                       "us", 0.0);
        space_add_fact(b, names[i], "calls that had to commit themselves", (double)g->misses, "",
                       0.0);
        space_add_fact(b, names[i], "chunks that the thread committed", (double)g->commits, "",
                       0.0);
        free(g->us);
    }
}
