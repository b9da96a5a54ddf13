/* SPDX-License-Identifier: MIT */
/* A native device that is lost: its rings stop, and streams of CUDA that wait for it go on. */
#include "graphics/graphics_ring.h"

#include "core/semaphore.h"

/* A destroy waits so long for native work that its caller says is over. */
static const uint64_t GRACE_NS = 1000000000;

void culvi_graphics_lose(culvi_graphics *graphics)
{
    culv_device *device = graphics->device;
    culv_error error = culv_error_init();
    culv_last_error(&error);
    if (!atomic_exchange(&graphics->lost, true))
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "the %s device '%s' is lost: its rings stop, and CUDA waits for it no more",
                  graphics->api->words->name, graphics->name);
    culvi_mutex_lock(&device->rings_lock);
    for (culvi_graphics_ring *ring = graphics->rings; ring != NULL; ring = ring->next) {
        culvi_mutex_lock(&ring->core->lock);
        culvi_ring_end(ring->core, "its %s device is lost", graphics->api->words->name);
        culvi_mutex_unlock(&ring->core->lock);
    }
    culvi_mutex_unlock(&device->rings_lock);
    culvi_semaphores_unblock(device, graphics->id, true);
    (void)culv_last_error_set(&error);
}

void culvi_graphics_let_go(culvi_graphics *graphics)
{
    if (atomic_load(&graphics->lost))
        culvi_semaphores_unblock(graphics->device, graphics->id, false);
}

void culvi_graphics_add_ring(culvi_graphics_ring *ring)
{
    culvi_graphics *graphics = ring->graphics;
    culvi_mutex_lock(&graphics->device->rings_lock);
    ring->next = graphics->rings;
    graphics->rings = ring;
    culvi_mutex_unlock(&graphics->device->rings_lock);
}

void culvi_graphics_remove_ring(culvi_graphics_ring *ring)
{
    culvi_graphics *graphics = ring->graphics;
    culvi_mutex_lock(&graphics->device->rings_lock);
    culvi_graphics_ring **link = &graphics->rings;
    while (*link != NULL && *link != ring)
        link = &(*link)->next;
    if (*link != NULL) *link = ring->next;
    culvi_mutex_unlock(&graphics->device->rings_lock);
}

/* What CUDA waits for and the counter has not reached; 0: nothing, or nobody can tell. */
static uint64_t missing(const culvi_semaphore_pair *pair, int *code)
{
    const uint64_t owed = culvi_semaphore_owed(pair->cuda);
    uint64_t counter = 0;
    *code = 0;
    if (owed == 0 || pair->cuda->waits.counter == NULL) return 0;
    *code = pair->graphics->api->timeline_value(pair->graphics, pair->native, &counter);
    return *code == 0 && counter >= owed ? 0 : owed;
}

static void notice_loss(culvi_semaphore_pair *pair)
{
    int code = 0;
    if (!atomic_load(&pair->graphics->lost) && missing(pair, &code) != 0 && code == 0)
        code = pair->graphics->api->timeline_wait(pair->graphics, pair->native,
                                                  culvi_semaphore_owed(pair->cuda), 0);
    if (code < 0)
        culvi_graphics_lose(pair->graphics);
    else
        culvi_graphics_let_go(pair->graphics);
}

static culv_result signal_in_place(culvi_semaphore_pair *pair, uint64_t value, uint64_t grace_ns)
{
    const culvi_graphics *graphics = pair->graphics;
    culv_device *device = graphics->device;
    if (value == 0) return CULV_OK;
    int code = graphics->api->timeline_wait(graphics, pair->native, value, grace_ns);
    if (code == 0) return CULV_OK;
    culvi_log(
        &device->voice, CULV_LOG_WARNING,
        "CUDA waits for %s to reach %" PRIu64
        ", which nobody has signaled or will: it is signaled here, and the frames that were in flight are not valid",
        culvi_named("semaphore", pair->cuda->label).text, value);
    uint64_t counter = 0;
    if (code > 0 && graphics->api->timeline_signal(graphics, pair->native, value) == 0 &&
        graphics->api->timeline_value(graphics, pair->native, &counter) == 0 && counter >= value)
        return CULV_OK;
    return culvi_semaphore_unblock(pair->cuda, value);
}

void culvi_semaphore_pair_settle(culvi_semaphore_pair *pair)
{
    culvi_thread_state()->attempts++; /* the end of an object has no error to report */
    int code;
    notice_loss(pair);
    (void)signal_in_place(pair, missing(pair, &code), GRACE_NS);
    culvi_thread_state()->attempts--;
}

culv_result culvi_semaphore_pair_give_up(culvi_semaphore_pair *pair)
{
    /* Also if CUDA signals more behind its wait. */
    notice_loss(pair);
    return signal_in_place(pair,
                           atomic_load_explicit(&pair->cuda->waits.value, memory_order_relaxed), 0);
}

culv_result culvi_graphics_notice(culvi_graphics *graphics, culv_result result)
{
    if (result == CULV_ERROR_ASYNC &&
        culvi_thread_state()->error.reason != CULV_REASON_RING_STOPPED)
        culvi_graphics_lose(graphics);
    return result;
}
