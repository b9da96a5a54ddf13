/* SPDX-License-Identifier: MIT */
/* The host waits for a timeline, whichever side signals it. */
#include "graphics/host_wait.h"

#include "base/platform.h"

/* A nap is a sixteenth of the time that has passed, so that the wait ends about so much late. */
enum { SHARE = 16 };
static const uint64_t LEAST_NAP_NS = 20000, MOST_NAP_NS = 1000000, SLICE_NS = 10000000;

/* Sleeps; nobody wakes it. False: the system has nothing to sleep with. */
static bool nap(uint64_t ns)
{
    culvi_mutex lock;
    culvi_condition condition;
    if (!culvi_mutex_init(&lock)) return false;
    if (!culvi_condition_init(&condition)) {
        culvi_mutex_destroy(&lock);
        return false;
    }
    culvi_mutex_lock(&lock);
    culvi_condition_wait(&condition, &lock, culvi_now() + ns);
    culvi_mutex_unlock(&lock);
    culvi_condition_destroy(&condition);
    culvi_mutex_destroy(&lock);
    return true;
}

/* Looks at the counter again and again. */
static int look(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                uint64_t timeout_ns, const char **call)
{
    const uint64_t began = culvi_now();
    *call = graphics->api->words->read_call;
    for (;;) {
        uint64_t counter = 0;
        const int code = graphics->api->timeline_value(graphics, semaphore, &counter);
        if (code != 0) return code;
        if (counter >= value) return 0;
        const uint64_t since = culvi_now() - began;
        if (since >= timeout_ns) return 1;
        uint64_t ns = since / SHARE;
        if (ns < LEAST_NAP_NS) ns = LEAST_NAP_NS;
        if (ns > MOST_NAP_NS) ns = MOST_NAP_NS;
        if (ns > timeout_ns - since) ns = timeout_ns - since;
        if (nap(ns)) continue;
        *call = graphics->api->words->wait_call;
        return graphics->api->timeline_wait(graphics, semaphore, value, timeout_ns - since);
    }
}

int culvi_graphics_wait(const culvi_graphics *graphics, const culvi_semaphore_pair *pair,
                        uint64_t value, uint64_t timeout_ns, const char **call)
{
    const uint64_t began = culvi_now();
    for (;;) {
        const uint64_t since = culvi_now() - began;
        const uint64_t left = since < timeout_ns ? timeout_ns - since : 0;
        /* CUDA has been told to signal it. */
        if (culv_semaphore_sharing(pair->cuda) == CULV_SHARING_SHARED &&
            culvi_semaphore_last(pair->cuda) >= value)
            return look(graphics, pair->native, value, left, call);
        *call = graphics->api->words->wait_call;
        const int code = graphics->api->timeline_wait(graphics, pair->native, value,
                                                      left < SLICE_NS ? left : SLICE_NS);
        if (code <= 0 || left <= SLICE_NS) return code;
    }
}
