/* SPDX-License-Identifier: MIT */
/* Whether Vulkan's timestamps and CUDA's global timer are one clock. Each is read between two
 * readings of the host's monotonic clock, again and again: the narrowest bounds hold. */
#include "frames.h"

#include <math.h>

enum { TRIES = 40 };

/* How far a clock is ahead of the host's, at least and at most. */
typedef struct bounds {
    double low, high;
} bounds;

static void narrow(bounds *b, double clock, double after, double before)
{
    b->low = fmax(b->low, clock - before);
    b->high = fmin(b->high, clock - after);
}

clocks clocks_compare(frames_bench *b)
{
    /* Differences to the first reading, since the clocks have more digits than a double. */
    double after, before, host = bench_now();
    uint64_t cuda_base = solver_clock(&b->solver, &after, &before);
    bounds cuda = {-INFINITY, INFINITY}, vulkan = {-INFINITY, INFINITY};
    if (device_timestamp_bits(&b->bench.rig.vk, 0) == 0) return (clocks){.known = false};
    for (int i = 0; i < TRIES; i++) {
        uint64_t now = solver_clock(&b->solver, &after, &before);
        narrow(&cuda, (double)(int64_t)(now - cuda_base), after - host, before - host);
        uint64_t ticks = renderer_clock(&b->renderer, b->device.calibrated, &after, &before);
        narrow(&vulkan, (double)(int64_t)(ticks - cuda_base), after - host, before - host);
    }
    bounds ahead = {vulkan.low - cuda.high, vulkan.high - cuda.low};
    clocks c = {.known = ahead.low <= ahead.high, .error = (ahead.high - ahead.low) / 2.0};
    c.same = c.known && ahead.low <= 0.0 && ahead.high >= 0.0;
    c.offset = c.same ? 0.0 : (ahead.low + ahead.high) / 2.0;
    return c;
}
