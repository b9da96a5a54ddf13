/* SPDX-License-Identifier: MIT */
/* What a culv_vector_grow() takes in a loop of frames, with memory that is committed ahead and
 * without. */
#include "growable.h"
#include "sections.h"

#include <errno.h>
#include <stdlib.h>

enum { AHEAD, FAR_AHEAD, WITHOUT, SUBJECTS };
enum { CALLS = 2000, TWIN_CALLS = 400, QUICK_CALLS = 100, ROUNDS = 3, PERIOD_NS = 200000 };

static const double least_us = 5.0;

typedef struct ahead_state {
    memory_bench *b;
    size_t calls, num[SUBJECTS];
    uint64_t step, ahead[SUBJECTS]; /* bytes */
    double *us[SUBJECTS];           /* of the calls of all rounds */
    uint64_t misses[SUBJECTS], commits[SUBJECTS];
} ahead_state;

static void sleep_until(double ns)
{
    struct timespec at = {.tv_sec = (time_t)(ns * 1e-9)};
    at.tv_nsec = (long)(ns - (double)at.tv_sec * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static void run(ahead_state *s, size_t subject, bool keep)
{
    memory_bench *b = s->b;
    culv_vector_desc desc = culv_vector_desc_init();
    uint64_t size = 0, limit = s->calls * s->step;
    desc.reserve = 2 * limit + 2 * s->ahead[FAR_AHEAD];
    desc.min_chunk = s->ahead[subject == FAR_AHEAD ? FAR_AHEAD : AHEAD] / 2;
    desc.commit_ahead = s->ahead[subject];
    desc.size = s->step;
    culv_vector *vector = growable_vector(b, &desc);
    b->seed++;
    double next = bench_now() + 20e6; /* so that the thread has had its first turn */
    for (size_t i = 0; i < s->calls; i++) {
        sleep_until(next);
        next += PERIOD_NS;
        size += s->step;
        double begun = bench_now();
        CULV_OK_OR_EXIT(culv_vector_grow(vector, size));
        double took = bench_now() - begun;
        if (keep) s->us[subject][s->num[subject]++] = took * 1e-3;
    }
    memory_fill(b, culv_vector_pointer(vector), 0, size);
    memory_check(b, culv_vector_pointer(vector), 0, size, "a loop of frames");
    culv_vector_stats stats = culv_vector_stats_init();
    CULV_OK_OR_EXIT(culv_vector_get_stats(vector, &stats));
    REQUIRE_EQ(stats.moves, 0);
    if (keep) {
        s->misses[subject] += stats.ahead_misses;
        s->commits[subject] += stats.ahead_commits;
    }
    culv_vector_destroy(&vector);
}

static void report(ahead_state *s, size_t subject)
{
    memory_bench *b = s->b;
    char variant[40] = "nothing ahead", bytes[RESULTS_BYTES];
    if (subject != WITHOUT)
        snprintf(variant, sizeof variant, "%s ahead", results_bytes(bytes, s->ahead[subject]));
    result *r = results_add(&b->results, &b->bench, "culv_vector", variant, "grow call");
    r->bytes = s->step;
    r->count = s->calls;
    r->us = statistics_spread(s->us[subject], s->num[subject]);
    r->p99 = statistics_quantile(s->us[subject], s->num[subject], 0.99);
    r->most = statistics_quantile(s->us[subject], s->num[subject], 1.0);
    if (subject != WITHOUT) {
        r->goal_us = least_us;
        if (results_judged(&b->bench)) r->met = r->p99 < least_us ? "yes" : "no";
    }
    results_print(&b->bench, r);
    if (subject == WITHOUT) return;
    results_add_fact(&b->results, &b->bench, "culv_vector", variant,
                     "grow calls that had to commit themselves", (double)s->misses[subject], "",
                     NULL);
    results_add_fact(&b->results, &b->bench, "culv_vector", variant,
                     "chunks that the thread committed", (double)s->commits[subject], "", NULL);
}

void section_ahead(memory_bench *b, const options *o)
{
    ahead_state s = {.b = b};
    bool software = b->bench.rig.caps.is_software != 0;
    size_t rounds = b->bench.quick ? 1 : ROUNDS;
    (void)o;
    s.calls = b->bench.quick ? QUICK_CALLS : software ? TWIN_CALLS : CALLS;
    /* 1 MiB a call, or what the calls fit in. */
    s.step = MEMORY_MIB(1);
    while (s.step > 4096 &&
           s.calls * s.step > (software || b->bench.quick ? b->limit : 2 * b->limit))
        s.step /= 2;
    s.ahead[AHEAD] = 64 * s.step > 4 * b->granularity ? 64 * s.step : 4 * b->granularity;
    s.ahead[FAR_AHEAD] = 4 * s.ahead[AHEAD];
    for (size_t i = 0; i < SUBJECTS; i++) {
        s.us[i] = calloc(s.calls * rounds, sizeof(double));
        REQUIRE(s.us[i] != NULL);
    }
    results_heading(&b->bench, "a call each 200 us");
    for (size_t round = 0; round <= rounds; round++) {
        size_t first = random_below(&b->bench.random, SUBJECTS);
        if (round == 0 && b->bench.quick) continue;
        for (size_t i = 0; i < SUBJECTS; i++)
            run(&s, (first + i) % SUBJECTS, round > 0);
    }
    for (size_t i = 0; i < SUBJECTS; i++) {
        report(&s, i);
        free(s.us[i]);
    }
}
