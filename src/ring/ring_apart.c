/* SPDX-License-Identifier: MIT */
/* The core of a ring whose other side is in another process. It has no slots and no timelines: its
 * owner has, and says what this side holds. What may be refused for that is refused here. */
#include "ring/ring.h"

culv_result culvi_ring_create_apart(culv_device *device, uint32_t slots, const char *label,
                                    const culvi_ring_owner *owner, culv_ring **out)
{
    culv_ring_desc d = culv_ring_desc_init();
    culv_ring_settings s = culv_ring_settings_init();
    d.max_depth = s.depth = slots;
    s.burst = 1;
    d.label = label;
    culv_result result = culvi_ring_create_core(device, &d, &s, out);
    if (result == CULV_OK) (*out)->owner = owner;
    return result;
}

culv_result culvi_ring_check_runs(const culv_ring *ring, const char *call)
{
    if (!culvi_ring_is_ended(ring)) return CULV_OK;
    return culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_ASYNC,
                      CULV_REASON_RING_STOPPED, "%s: this side was stopped by culv_ring_stop()",
                      call);
}

culv_result culvi_ring_check_idle(const culv_ring *ring, const culvi_ring_hold *hold,
                                  culv_result class, const char *call)
{
    if (!hold->held) return CULV_OK;
    return culvi_fail(culvi_ring_voice(ring), ring->label, class, CULV_REASON_RING_ORDER,
                      "%s: frame %" PRIu64 " is held; release or cancel it first", call,
                      hold->number);
}

culv_result culvi_ring_check_hold(const culv_ring *ring, const culvi_ring_hold *hold,
                                  const culv_ring_frame *frame, const char *call)
{
    if (!hold->held)
        return culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID,
                          CULV_REASON_RING_ORDER, "%s: no frame is held; an acquire gets one",
                          call);
    if (frame->number == hold->number && frame->slot == hold->slot) return CULV_OK;
    return culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID,
                      CULV_REASON_RING_ORDER,
                      "%s: frame %" PRIu64 " in slot %" PRIu32 " is not the one that is held", call,
                      frame->number, frame->slot);
}

culv_result culvi_ring_check_cancel(const culv_ring *ring, const culvi_ring_hold *hold,
                                    const culv_ring_frame *frame, const char *call)
{
    culv_result result = culvi_ring_check_hold(ring, hold, frame, call);
    if (result != CULV_OK || !hold->signaled) return result;
    return culvi_fail(culvi_ring_voice(ring), ring->label, CULV_ERROR_INVALID,
                      CULV_REASON_RING_ORDER,
                      "%s: a release of frame %" PRIu64 " failed after a stream was told to signal "
                      "it; release it again",
                      call, hold->number);
}
