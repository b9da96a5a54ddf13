/* SPDX-License-Identifier: MIT */
/* Schemes by turns. See trial.h. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

enum { QUICK_ROUNDS = 1, TWIN_ROUNDS = 3, WATCH = 90 }; /* s, for a round */

static double *sample(const trial *t, size_t subject, size_t phase, size_t round)
{
    return &t->us[(subject * t->setup.phases + phase) * TRIAL_ROUNDS + round];
}

static void run_round(memory_bench *b, trial *t, bool keep)
{
    const trial_setup *s = &t->setup;
    size_t order[TRIAL_SUBJECTS];
    exits_watch(WATCH, b->bench.measurement);
    for (size_t i = 0; i < s->subjects; i++)
        order[i] = i;
    for (size_t i = s->subjects; i > 1; i--) {
        size_t j = random_below(&b->bench.random, i), swapped = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swapped;
    }
    for (size_t i = 0; i < s->subjects; i++) {
        size_t subject = order[i];
        double ns[TRIAL_PHASES] = {0};
        bool runs = s->every[subject] == 0 || t->rounds % s->every[subject] == 0;
        b->seed++;
        if (runs) s->turn(s->state, subject, ns);
        for (size_t phase = 0; keep && phase < s->phases; phase++)
            *sample(t, subject, phase, t->rounds) = runs ? ns[phase] * 1e-3 : -1.0;
    }
    t->rounds += keep;
}

void trial_run(memory_bench *b, trial *out, trial_setup setup)
{
    REQUIRE(setup.subjects > 0 && setup.subjects <= TRIAL_SUBJECTS && setup.phases <= TRIAL_PHASES);
    *out = (trial){.setup = setup};
    out->us = calloc(setup.subjects * setup.phases * TRIAL_ROUNDS, sizeof(double));
    REQUIRE(out->us != NULL);
    bool software = b->bench.rig.caps.is_software != 0;
    size_t least = b->bench.quick ? QUICK_ROUNDS : software ? TWIN_ROUNDS : setup.least;
    double end = 0.0; /* on the twin more rounds tell no more */
    run_round(b, out, false);
    if (!b->bench.quick && !software) end = bench_now() + setup.seconds * 1e9;
    while (out->rounds < TRIAL_ROUNDS && (out->rounds < least || bench_now() < end))
        run_round(b, out, true);
}

void trial_end(trial *t)
{
    free(t->us);
    memset(t, 0, sizeof *t);
}

/* Of the rounds in which both ran; `other` may be the same. */
static size_t collect(const trial *t, size_t subject, size_t other, size_t from, size_t to,
                      double out[])
{
    size_t n = 0;
    for (size_t round = 0; round < t->rounds; round++) {
        if (*sample(t, subject, from, round) < 0.0 || *sample(t, other, from, round) < 0.0)
            continue;
        out[n] = 0.0;
        for (size_t phase = from; phase <= to; phase++)
            out[n] += *sample(t, subject, phase, round);
        n++;
    }
    REQUIRE(n > 0);
    return n;
}

spread trial_spread(const trial *t, size_t subject, size_t from, size_t to)
{
    double us[TRIAL_ROUNDS];
    size_t n = collect(t, subject, subject, from, to, us);
    return statistics_spread(us, n);
}

double trial_most(const trial *t, size_t subject, size_t phase)
{
    double us[TRIAL_ROUNDS], most = 0.0;
    size_t n = collect(t, subject, subject, phase, phase, us);
    for (size_t i = 0; i < n; i++)
        if (us[i] > most) most = us[i];
    return most;
}

interval trial_ratio(memory_bench *b, const trial *t, size_t subject, size_t over, size_t from,
                     size_t to)
{
    double mine[TRIAL_ROUNDS], others[TRIAL_ROUNDS];
    size_t n = collect(t, subject, over, from, to, mine);
    (void)collect(t, over, subject, from, to, others);
    return statistics_compare(mine, others, n, &b->bench.random).ratio;
}
