/* SPDX-License-Identifier: MIT */
/* MAILBOX: which slot a side of a culv_ring gets when the newest frame wins. Bursts are 1.
 *
 * The producer must leave alone what the consumer reads (its burst's slot, or the kept one) and the
 * newest frame whose GPU work is done, or a consumer that asks seldom would find none but frames
 * that are still being written. So it takes a free slot whose reader's GPU work is done, else the
 * oldest frame that a newer one, done as well, has made useless. Where there is neither, it waits
 * on the host for its own GPU work, which is what keeps it from queueing frames without end; for
 * the consumer's GPU work never, unless it has so many frames in flight that no two slots are
 * left. */
#include "ring/ring.h"

void culvi_ring_release_kept(culv_ring *ring)
{
    if (!ring->keeps) return;
    ring->keeps = false;
    culvi_ring_push(&ring->free, ring->kept);
    culvi_ring_wake(ring);
}

static bool use(culvi_ring_party *me, uint32_t slot, uint64_t wait, bool again)
{
    me->slots[0] = (uint8_t)slot;
    me->length = 1;
    me->wait = wait;
    me->again = again;
    me->flushed = false;
    return true;
}

static bool lacks(culvi_ring_need *need, culvi_ring_lack lack, culv_ring_side side, uint64_t value)
{
    need->lack = lack;
    need->side = side;
    need->value = need->further = value;
    return false;
}

/* The oldest frame that waits is not the consumer's any more. Its writer has waited for the reader
 * before. */
static uint32_t drop_oldest(culv_ring *ring)
{
    uint32_t slot = culvi_ring_pop(&ring->ready);
    ring->slots[slot].done = 0;
    ring->skipped++;
    return slot;
}

static bool begin_producer(culv_ring *ring, culvi_ring_need *need)
{
    culvi_ring_party *me = &ring->side[CULV_RING_PRODUCER];
    const culvi_ring_party *done = &ring->side[CULV_RING_CONSUMER];
    culvi_ring_apply_depth(ring);
    uint32_t least = 0; /* of the free ones, the first whose reader will be done */
    for (uint32_t i = 1; i < ring->free.count; i++)
        if (ring->slots[culvi_ring_peek(&ring->free, i)].done <
            ring->slots[culvi_ring_peek(&ring->free, least)].done)
            least = i;
    uint64_t wait =
        ring->free.count > 0 ? ring->slots[culvi_ring_peek(&ring->free, least)].done : UINT64_MAX;
    if (wait <= done->known) return use(me, culvi_ring_remove(&ring->free, least), wait, false);
    if (ring->free.count > 0 && !need->asked[CULV_RING_CONSUMER])
        return lacks(need, CULVI_RING_COUNTER, CULV_RING_CONSUMER, 0);
    if (ring->ready.count >= 2) {
        uint64_t newer = ring->slots[culvi_ring_peek(&ring->ready, 1)].ready;
        if (newer <= me->known) return use(me, drop_oldest(ring), 0, false);
        if (!need->asked[CULV_RING_PRODUCER])
            return lacks(need, CULVI_RING_COUNTER, CULV_RING_PRODUCER, 0);
        if (me->api.wait != NULL) return lacks(need, CULVI_RING_REACHED, CULV_RING_PRODUCER, newer);
        if (ring->free.count == 0) return use(me, drop_oldest(ring), 0, false);
    }
    if (ring->free.count > 0) return use(me, culvi_ring_remove(&ring->free, least), wait, false);
    return lacks(need, CULVI_RING_OTHER_SIDE, CULV_RING_CONSUMER, 0);
}

static bool begin_consumer(culv_ring *ring, culvi_ring_need *need)
{
    culvi_ring_party *me = &ring->side[CULV_RING_CONSUMER];
    const culvi_ring_party *written = &ring->side[CULV_RING_PRODUCER];
    uint64_t pace = culvi_ring_pace(ring);
    if (pace > me->known) return lacks(need, CULVI_RING_REACHED, CULV_RING_CONSUMER, pace);
    uint32_t count = ring->ready.count,
             found = count; /* one more than the newest that is done; 0: none */
    while (found > 0 &&
           ring->slots[culvi_ring_peek(&ring->ready, found - 1)].ready > written->known)
        found--;
    if (found < count && !need->asked[CULV_RING_PRODUCER])
        return lacks(need, CULVI_RING_COUNTER, CULV_RING_PRODUCER, 0);
    if (found == 0 && ring->keeps) return use(me, ring->kept, 0, true);
    if (count == 0) return lacks(need, CULVI_RING_OTHER_SIDE, CULV_RING_PRODUCER, 0);
    culvi_ring_release_kept(ring);
    for (; found > 1; found--) /* the first one of all is the oldest: it will be done first */
        culvi_ring_push(&ring->free, drop_oldest(ring));
    uint32_t slot = culvi_ring_pop(&ring->ready);
    culvi_ring_wake(ring);
    return use(me, slot, ring->slots[slot].ready, false);
}

bool culvi_ring_begin_mailbox(culv_ring *ring, culv_ring_side side, culvi_ring_need *need)
{
    return side == CULV_RING_PRODUCER ? begin_producer(ring, need) : begin_consumer(ring, need);
}
