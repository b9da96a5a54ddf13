/* SPDX-License-Identifier: MIT */
/* Iterations to time. See calibrate.h. */
#include "calibrate.h"

#include "statistics.h"

enum { LONG_US = 10000, MOST_TIMES = 256, ROUNDS = 3, STEPS = 12, MOST_ITERATIONS = 1 << 26 };

#define CLOSE 0.01

/* One load's time in the middle of a row: what a row takes beyond a short one, so that its start
 * counts for nothing. */
static double each(calibrate_run *run, void *state, uint32_t iterations, double expected_us)
{
    double wanted = LONG_US / (expected_us > 1.0 ? expected_us : 1.0);
    uint32_t times = wanted < 8.0 ? 8 : wanted > MOST_TIMES ? MOST_TIMES : (uint32_t)wanted;
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double begun = run(state, iterations, 2);
        us[i] = (run(state, iterations, times) - begun) / (times - 2);
    }
    double median = statistics_spread(us, ROUNDS).median;
    return median > 0.01 ? median : 0.01;
}

/* A load may take as long with few iterations as with none: the search narrows two ends, by a
 * straight line between them and by halves in turn. */
uint32_t calibrate(calibrate_run *run, void *state, double us)
{
    run(state, 0, MOST_TIMES); /* awake, and the clocks up */
    uint32_t low = 0, high = 64, best;
    double low_us = each(run, state, 0, us), high_us;
    if (low_us >= us) return 0;
    while ((high_us = each(run, state, high, us)) < us && high < MOST_ITERATIONS) {
        uint32_t times = high_us - low_us < us / 16.0 ? 8 : 2;
        low = high;
        low_us = high_us;
        high *= times;
    }
    best = high_us - us < us - low_us ? high : low;
    double off = high_us - us < us - low_us ? high_us - us : us - low_us;
    for (int i = 0; i < STEPS && off > us * CLOSE && high - low > 1 && high_us > us; i++) {
        double part = i % 2 == 0 ? (us - low_us) / (high_us - low_us) : 0.5;
        uint32_t between = low + 1 + (uint32_t)(part * (double)(high - low - 2) + 0.5);
        double is = each(run, state, between, us);
        if (is < us) {
            low = between;
            low_us = is;
        } else {
            high = between;
            high_us = is;
        }
        if (is - us >= off || us - is >= off) continue;
        off = is < us ? us - is : is - us;
        best = between;
    }
    return best;
}
