/* Iterations to time. See calibrate.h. SPDX-License-Identifier: MIT */
#include "calibrate.h"

#include "statistics.h"

enum { LONG_US = 10000, MOST_TIMES = 256, ROUNDS = 3 };

/* One load's time in the middle of a row: what a row takes beyond a short one, so that its start counts for nothing. */
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

uint32_t calibrate(calibrate_run *run, void *state, double us)
{
    run(state, 0, MOST_TIMES); /* awake, and the clocks up */
    double none = each(run, state, 0, us), some = none;
    uint32_t iterations = 64;
    if (none >= us) return 0;
    /* Long enough for the slope to show. */
    while (iterations < UINT32_C(1) << 26 && (some = each(run, state, iterations, us)) < none + us / 2.0)
        iterations *= some - none < us / 16.0 ? 8 : 2;
    double result = (us - none) * iterations / (some - none);
    for (int i = 0; i < 2; i++) {
        double is = each(run, state, (uint32_t)result, us);
        if (is > none * 1.01) result *= (us - none) / (is - none);
    }
    return result < 0.0 ? 0 : result > 4e9 ? UINT32_C(4000000000) : (uint32_t)(result + 0.5);
}
