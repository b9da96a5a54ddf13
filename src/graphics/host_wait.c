/* SPDX-License-Identifier: MIT */
/* The host waits for a timeline, whichever side signals it. */
#include "core/semaphore.h"
#include "graphics/pair.h"

#include <limits.h>

/* A nap is a sixteenth of the time that has passed, so that the wait ends about so much late. */
enum { SHARE = 16, NO_SLEEP = INT_MAX };
static const uint64_t LEAST_NAP_NS = 20000, MOST_NAP_NS = 1000000, SLICE_NS = 100000000;

static uint64_t nap_after(uint64_t since, uint64_t left)
{
    uint64_t ns = since / SHARE;
    if (ns < LEAST_NAP_NS) ns = LEAST_NAP_NS;
    if (ns > MOST_NAP_NS) ns = MOST_NAP_NS;
    return ns < left ? ns : left;
}

/* Looks at the counter again and again. */
static int look(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                uint64_t timeout_ns)
{
    culvi_mutex lock;
    culvi_condition time; /* nobody wakes who waits for it */
    const uint64_t began = culvi_now();
    int code = 1;
    if (!culvi_condition_init(&time)) return NO_SLEEP;
    culvi_mutex_init(&lock);
    culvi_mutex_lock(&lock);
    for (;;) {
        uint64_t counter = 0;
        code = graphics->api->timeline_value(graphics, semaphore, &counter);
        if (code != 0 || counter >= value) break;
        const uint64_t since = culvi_now() - began;
        code = 1; /* time is up */
        if (since >= timeout_ns) break;
        culvi_condition_wait(&time, &lock, culvi_now() + nap_after(since, timeout_ns - since));
    }
    culvi_mutex_unlock(&lock);
    culvi_condition_destroy(&time);
    culvi_mutex_destroy(&lock);
    return code;
}

int culvi_graphics_wait(const culvi_graphics *graphics, const culvi_semaphore_pair *pair,
                        uint64_t value, uint64_t timeout_ns, const char **call)
{
    const uint64_t began = culvi_now();
    for (;;) {
        const uint64_t since = culvi_now() - began;
        const uint64_t left = since < timeout_ns ? timeout_ns - since : 0;
        if (CULVI_NAPS_ARE_SHORT && graphics->api->waits_late &&
            culv_semaphore_sharing(pair->cuda) == CULV_SHARING_SHARED &&
            culvi_semaphore_is_to_signal(pair->cuda, value)) {
            *call = graphics->api->words->read_call;
            const int code = look(graphics, pair->native, value, left);
            if (code != NO_SLEEP) return code;
        }
        *call = graphics->api->words->wait_call;
        const int code = graphics->api->timeline_wait(graphics, pair->native, value,
                                                      left < SLICE_NS ? left : SLICE_NS);
        if (code <= 0 || left <= SLICE_NS) return code;
    }
}
