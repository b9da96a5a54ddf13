/* SPDX-License-Identifier: MIT */
/* culv_ring: what is refused, and with which words. */
#define TEST_GROUP "errors."
#include "fake_ring.h"

RING_CASE(create_refuses, 4, .title = "errors.create")
{
    culv_ring *out;
#define REFUSES(...)                                                                               \
    LIB_REFUSES(out, culv_ring_create(s->device, &s->desc, &out), INVALID, __VA_ARGS__)
    LIB_REFUSES(out, culv_ring_create(NULL, &s->desc, &out), INVALID, NULL_ARGUMENT);
    culv_ring_desc good = s->desc;
    s->desc.struct_size = 0;
    REFUSES(STRUCT_SIZE);
    s->desc = good;
    s->desc.max_depth = 0;
    REFUSES(VALUE);
    s->desc.max_depth = CULV_RING_MAX_DEPTH + 1;
    s->desc.label = "frames";
    REFUSES(VALUE);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'frames': culv_ring_desc.max_depth is 65; a ring has 1 to 64 slots");
    s->desc = good;
    culv_ring_settings t = culv_ring_settings_init();
    s->desc.settings = &t;
    t.struct_size = 3;
    REFUSES(STRUCT_SIZE);
    t = culv_ring_settings_init();
    t.policy = (culv_ring_policy)7;
    REFUSES(VALUE, "culv_ring_settings.policy is 7");
    t = culv_ring_settings_init();
    t.depth = 5;
    REFUSES(VALUE, "culv_ring_settings.depth is 5; the ring was made with 4 slots");
    t.depth = 2;
    t.burst = 3;
    REFUSES(
        VALUE,
        "culv_ring_settings.burst is 3; a burst has at most as many frames as there are slots, 2");
    t.burst = 1;
    t.policy = CULV_RING_MAILBOX;
    REFUSES(VALUE, "culv_ring_settings.depth is 2; MAILBOX needs 3");
    t.depth = 3;
    s->desc.ready.value = NULL;
    REFUSES(VALUE, "the policy MAILBOX needs culv_ring_desc.ready.value, which is NULL");
    t.policy = CULV_RING_FIFO;
    t.check_counters = 1;
    REFUSES(VALUE, "check_counters needs culv_ring_desc.ready.value, which is NULL");
    t.check_counters = 0;
    t.max_latency = 1000;
    REFUSES(VALUE);
    s->desc = good;
    s->desc.settings = &t;
    s->desc.done.wait = NULL;
    REFUSES(VALUE, "max_latency needs culv_ring_desc.done.wait, which is NULL");
    t.max_latency = 0;
    t.max_frames_in_flight = 1;
    REFUSES(VALUE, "a lead needs culv_ring_desc.done.wait, which is NULL");
}

RING_CASE(configure_refuses, 4, .title = "errors.configure")
{
    s->desc.done.wait = NULL;
    stage_make(s, NULL);
    culv_ring_settings t = culv_ring_settings_init();
    t.max_frames_in_flight = 2;
    LIB_INVALID(culv_ring_configure(s->ring, &t), VALUE);
    t.max_frames_in_flight = 0;
    t.depth = 9;
    LIB_INVALID(culv_ring_configure(s->ring, &t), VALUE);
    REQUIRE_EQ(stage_stats(s).depth, 4); /* as it was */
}

TEST(misuse)
{
    ring_stage s;
    stage_open(&s, 2);
    s.desc.label = "frames";
    stage_make(&s, NULL);
    culv_ring_frame f = {.slot = 1, .number = 77}, before;
    uint64_t value = 55;
    culv_ring_stats stats = culv_ring_stats_init();
    stats.struct_size = 1;
    LIB_INVALID(culv_ring_get_stats(s.ring, &stats), STRUCT_SIZE);
    LIB_INVALID(culv_ring_acquire(s.ring, (culv_ring_side)2, 0, &f), VALUE);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'frames': culv_ring_acquire: side is 2; "
                   "it is CULV_RING_PRODUCER (0) or CULV_RING_CONSUMER (1)");
    LIB_INVALID(culv_ring_acquire_on(s.ring, P, NULL, 0, &f), NULL_ARGUMENT,
                "'frames': culv_ring_acquire_on: 'done' has no CUDA half");
    LIB_INVALID(culv_ring_release_on(s.ring, P, NULL, &f), NULL_ARGUMENT);
    LIB_INVALID(culv_ring_flush_on(s.ring, C, NULL), NULL_ARGUMENT);

    /* Release without acquire; acquire twice; another frame. */
    LIB_INVALID(culv_ring_release(s.ring, P, &f), RING_ORDER);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'frames': culv_ring_release: this side holds no frame; acquire one first");
    REQUIRE_EQ(f.number, 77);
    LIB_INVALID(culv_ring_cancel(s.ring, C, &f), RING_ORDER);
    (void)stage_turn(&s, P);
    f = stage_acquire(&s, P);
    before = f;
    LIB_INVALID(culv_ring_acquire(s.ring, P, 0, &f), RING_ORDER);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "'frames': culv_ring_acquire: this side holds frame 1 (slot 1); release or cancel it first "
        "(in Vulkan culv_vk_ring_submit() releases it)");
    REQUIRE_EQ_BYTES(&f, &before, sizeof f);
    LIB_INVALID(culv_ring_flush(s.ring, P, &value), RING_ORDER);
    REQUIRE_EQ(value, 55);
    culv_ring_frame other = f;
    other.slot = 0;
    LIB_INVALID(culv_ring_release(s.ring, P, &other), RING_ORDER);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "'frames': culv_ring_release: frame 1 in slot 0 is not the one that this side holds, 1 in slot 1");
    LIB_INVALID(culv_ring_release(s.ring, C, &f), RING_ORDER);
    LIB_ERROR(culv_ring_drain(s.ring, 0, 0), BUSY, RING_ORDER);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'frames': culv_ring_drain: sides still have frames; the producer: it holds "
                   "frame 1 in slot 1. Release or cancel what is held, or force the ring");
    stage_release(&s, P, &f);
    LIB_INVALID(culv_ring_release(s.ring, P, &f), RING_ORDER); /* twice */
    REQUIRE_EQ(stage_turn(&s, C).number, 0);
    REQUIRE_EQ(stage_turn(&s, C).number, 1);
    stage_close(&s);
    culv_ring_destroy(&s.ring, NULL);
    culv_ring_destroy(NULL, NULL);
}

/* The other side's host is late. */
RING_CASE(late_hosts, 4)
{
    s->desc.label = "frames";
    s->desc.ready.name = "cuda";
    s->desc.done.name = "vulkan";
    culv_ring_settings t = culv_ring_settings_init();
    t.burst = 2;
    stage_make(s, &t);
    culv_ring_frame f;
    double start = test_now_us();
    LIB_ERROR(culv_ring_acquire(s->ring, C, 20 * MS, &f), TIMEOUT, RING_EMPTY);
    REQUIRE(test_now_us() - start >= 20000);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'frames': the producer is late: within 20 ms it handed no frame over; "
                   "it has to signal 'cuda' with 1 and it holds no frame; nobody has signaled yet");
    (void)stage_turn(s, P);
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "'frames': the producer is late: within 0 ms it handed no frame over; "
        "it has to signal 'cuda' with 1 and it has released 1 of a burst of 2 (culv_ring_flush() hands them over); "
        "nobody has signaled yet");
    for (int i = 0; i < 3; i++)
        (void)stage_turn(s, P);
    (void)stage_turn(s, C);
    f = stage_acquire(s, C);
    culv_ring_frame p;
    LIB_ERROR(culv_ring_acquire(s->ring, P, 1500, &p), TIMEOUT, RING_FULL);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "'frames': the consumer is late: within 1500 ns it gave no slot back (0 of 4 free, a burst takes 2); "
        "it has to signal 'vulkan' with 1 and it holds frame 1 in slot 1; "
        "the last to signal was the producer: 'cuda' with 2");
    stage_release(s, C, &f);
    REQUIRE_EQ(stage_stats(s).producer_waits, 1);
    REQUIRE_EQ(stage_stats(s).consumer_waits, 1); /* one of them with a time to wait */
}

/* A value that nobody of the ring signaled. */
RING_CASE(counters_checked, 2, .title = "errors.counters")
{
    culv_ring_settings t = culv_ring_settings_init();
    t.check_counters = 1;
    stage_make(s, &t);
    culv_ring_frame f;
    uint64_t reads = s->line[C].reads;
    (void)stage_turn(s, P);
    (void)stage_turn(s, C);
    REQUIRE_EQ(s->line[C].reads, reads + 1);
    REQUIRE_EQ(s->line[P].reads, 1);
    f = stage_acquire(s, P);
    fake_signal(&s->line[P], 2); /* submitted before its release: it is foreseeable */
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    LIB_OK(culv_ring_cancel(s->ring, P, &f));
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), ASYNC, TIMELINE_CHANGED);
    REQUIRE_EQ_STR(
        culv_last_error_message(),
        "'ready' is at 2, but 1 is the last value that the ring handed out: somebody else signaled it");
    fake_set(&s->line[C], 0);
    (void)culv_ring_acquire(s->ring, P, 0, &f);
    fake_set(&s->line[C], 1);
    t.check_counters = 0;
    LIB_OK(culv_ring_configure(s->ring, &t));
    stage_close(s);

    stage_open(s, 2);
    t.check_counters = 1;
    stage_make(s, &t);
    for (int i = 0; i < 3; i++) {
        (void)stage_turn(s, P);
        (void)stage_turn(s, C);
    }
    fake_set(&s->line[C], 1);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), ASYNC, TIMELINE_CHANGED);
    REQUIRE_EQ_STR(culv_last_error_message(),
                   "'done' is at 1 and was at 2 before: somebody set it back");
    fake_set(&s->line[C], 3);
    (void)stage_turn(s, P); /* the error stops nothing */
}
