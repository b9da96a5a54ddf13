/* SPDX-License-Identifier: MIT */
/* culv_ring, one thread: the order of slots, values, how far the GPU is behind. Then two
 * threads, and random calls against a model. */
#include "fake_ring.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The order of slots and values, which go on from where the counters are. Without functions of the
 * host's it is all there is. */
static void order(ring_stage *s, bool bare)
{
    const culv_ring_timeline none = {.name = "frames"};
    const uint64_t ready = 1000, done = 7;
    s->desc.ready_value = ready;
    s->desc.done_value = done;
    fake_set(&s->line[P], ready);
    fake_set(&s->line[C], done);
    if (bare) s->desc.ready = s->desc.done = none;
    stage_make(s, NULL);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    for (uint32_t i = 0; i < 3; i++) {
        f = stage_turn(s, P);
        REQUIRE_FRAME(f, i, i, 0, 1, 1); /* nobody used the slot yet */
        REQUIRE_EQ(f.signal_value, ready + i + 1);
    }
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_FULL);
    f = stage_acquire(s, C);
    REQUIRE_FRAME(f, 0, 0, ready + 1, 1, 1);
    culv_ring_frame other = f;
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &other), TIMEOUT, RING_FULL);
    REQUIRE_EQ(other.number, f.number); /* written only on success */
    stage_release(s, C, &f);
    REQUIRE_EQ(f.signal_value, done + 1);
    f = stage_turn(s, C);
    REQUIRE_FRAME(f, 1, 1, ready + 2, 1, 1);
    /* Slots come back in the order in which they were given back, each with what its reader
     * signals; more of them than are remembered. */
    for (uint64_t i = 0; i < 1000; i++) {
        f = stage_turn(s, P);
        REQUIRE_FRAME(f, i % 3, i + 3, done + i + 1, 1, 1);
        f = stage_turn(s, C);
        REQUIRE_FRAME(f, (i + 2) % 3, i + 2, ready + i + 3, 1, 1);
        REQUIRE_EQ(f.skipped, 0);
        REQUIRE_EQ(f.repeated, 0);
    }
    culv_ring_stats stats = stage_stats(s);
    REQUIRE_EQ(stats.produced, 1003);
    REQUIRE_EQ(stats.consumed, 1002);
    REQUIRE_EQ(stats.ready_signaled, ready + 1003);
    REQUIRE_EQ(stats.done_signaled, done + 1002);
    REQUIRE_EQ(stats.skipped + stats.producer_waits + stats.consumer_waits + stats.frame_time, 0);
    REQUIRE_EQ(stats.depth, 3);
    REQUIRE_EQ(stats.burst, 1);
}

RING_CASE(ordered, 3, .smoke = true)
{
    order(s, false);
    stage_reopen(s, 3);
    order(s, true);
}

/* A program of one thread that flushes every frame gets every slot. */
RING_CASE(flush_each, 4)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = 2;
    stage_make(s, &settings);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t value = 0;
        culv_ring_frame f = stage_acquire(s, P); /* a cancel takes nothing of that away */
        LIB_OK(culv_ring_cancel(s->ring, P, &f));
        REQUIRE_FRAME(stage_turn(s, P), i, i, 0, 1,
                      i == 3); /* of the last slot, the burst is one */
        LIB_OK(culv_ring_flush(s->ring, P, &value));
        REQUIRE_EQ(value, i < 3 ? i + 1 : 0);
        if (value != 0) fake_signal(&s->line[P], value);
    }
}

/* What the consumer kept of MAILBOX is a slot of FIFO's: its producer gets bursts of all slots,
 * though the consumer has nothing to come for. */
TEST(kept_slot_in_burst)
{
    ring_stage s;
    culv_ring_settings newest = culv_ring_settings_init(), all = culv_ring_settings_init();
    newest.policy = CULV_RING_MAILBOX;
    all.burst = 3;
    stage_open(&s, 3);
    stage_make(&s, &newest);
    stage_turns(&s, "PC");
    LIB_OK(culv_ring_configure(s.ring, &all));
    for (uint64_t i = 1; i < 4; i++)
        REQUIRE_EQ(stage_turn(&s, P).number, i);
    for (uint64_t i = 1; i < 4; i++)
        REQUIRE_EQ(stage_turn(&s, C).number, i);
    /* Not while it is read again. */
    LIB_OK(culv_ring_configure(s.ring, &newest));
    stage_turns(&s, "PC");
    culv_ring_frame again = stage_acquire(&s, C), f;
    REQUIRE_EQ(again.repeated, 1);
    LIB_OK(culv_ring_configure(s.ring, &all));
    LIB_ERROR(culv_ring_acquire(s.ring, P, 0, &f), TIMEOUT, RING_FULL);
    stage_release(&s, C, &again);
    for (uint64_t i = 5; i < 8; i++)
        REQUIRE_EQ(stage_turn(&s, P).number, i);
    for (uint64_t i = 5; i < 8; i++)
        REQUIRE_EQ(stage_turn(&s, C).number, i);
    /* Nor where it is the one slot that max_latency begins with. */
    LIB_OK(culv_ring_configure(s.ring, &newest));
    do {
        stage_turns(&s, "P");
        f = stage_turn(&s, C);
    } while (f.slot != 0);
    all = culv_ring_settings_init();
    all.max_latency = MS;
    LIB_OK(culv_ring_configure(s.ring, &all));
    REQUIRE_FRAME(stage_turn(&s, P), 0, f.number + 1, f.signal_value, 1, 1);
    stage_close(&s);
}

/* A GPU that reaches what is waited for, and no more. */
static culv_result crawl(void *context, uint64_t value, uint64_t timeout)
{
    if (timeout == 0) return CULV_ERROR_TIMEOUT;
    fake_signal(context, value);
    return CULV_OK;
}

/* The lead: how far the GPU may be behind. */
RING_CASE(lead, 4)
{
    s->desc.done.wait = crawl;
    culv_ring_settings settings = culv_ring_settings_init();
    settings.max_frames_in_flight = 3;
    stage_make(s, &settings);
    culv_ring_frame f;
    stage_turns(s, "PcPcPcPc"); /* the host is far ahead: nothing of `done` is reached */
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    fake_signal(&s->line[C], 1);
    stage_turns(s, "Pc");
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    fake_signal(&s->line[C], 5);
    uint64_t reads = s->line[C].reads, others = s->line[P].reads; /* those of the messages */
    stage_turns(s, "PcPcPc");
    REQUIRE_EQ(s->line[C].reads, reads + 1); /* what is known is not asked for again */
    REQUIRE_EQ(s->line[P].reads, others);
    REQUIRE_EQ(s->line[P].waits, 0);
    /* Bursts count their frames. */
    settings.burst = 2;
    settings.max_frames_in_flight = 4;
    fake_signal(&s->line[C], 8);
    LIB_OK(culv_ring_configure(s->ring, &settings));
    stage_turns(s, "PPccPPccPPcc");
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    /* Twice the depth where nothing is set; half of those that are on their way are waited for. */
    fake_signal(&s->line[C], 11);
    settings = culv_ring_settings_init();
    LIB_OK(culv_ring_configure(s->ring, &settings));
    stage_turns(s, "PcPcPcPcPcPcPcPcPc");
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE);
    LIB_OK(culv_ring_acquire(s->ring, P, TEST_FAR_MS * (uint64_t)MS, &f));
    REQUIRE_EQ(fake_counter(&s->line[C]), 16);
}

#undef TEST_GROUP
#define TEST_GROUP "newest."
/* culv_ring, MAILBOX: who gets which slot. */

static void open_newest(ring_stage *s, uint32_t depth)
{
    culv_ring_settings settings = culv_ring_settings_init();
    settings.policy = CULV_RING_MAILBOX;
    settings.burst = 4; /* of FIFO: bursts are 1 here */
    if (depth < 4) settings.burst = depth;
    stage_open(s, depth);
    stage_make(s, &settings);
    REQUIRE_EQ(stage_stats(s).burst, 1);
}

#define RING_NEWEST_CASE(name, ...)                                                                \
    TEST_ON_(ring_stage, s, open_newest(s, TEST_FIRST(__VA_ARGS__)), stage_close(s), name,         \
             TEST_REST(__VA_ARGS__))

/* The first frame is taken before it is done: the GPU waits for it. */
RING_NEWEST_CASE(first_frame, 4)
{
    stage_turns(s, "pp");
    REQUIRE_FRAME(stage_acquire(s, C), 0, 0, 1, 1, 1); /* the one that is done first */
}

/* The newest frame that is done stays for the consumer: the producer waits for its own work rather
 * than to write over it. */
RING_NEWEST_CASE(own_work, 3)
{
    culv_ring_frame f = stage_turns(s, "PCPp"); /* 0 is the consumer's, 1 done, 2 being written */
    REQUIRE_EQ(f.slot, 2);
    const uint64_t value = f.signal_value;
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), TIMEOUT, RING_LATE,
              "the producer is late: 'ready' has not reached 3 within 0 ms; it is at 2 of 3; "
              "the producer released with 3, but that signal has not run yet; was it submitted?");
    fake_signal(&s->line[P], value);
    REQUIRE_EQ(stage_acquire(s, P).slot, 1);
    REQUIRE_EQ(stage_turn(s, C).number, 2);
}

/* A consumer whose GPU is slow: its slots are not waited for while there are others. */
RING_NEWEST_CASE(slow_reader, 4)
{
    const uint64_t first = stage_turns(s, "Pc").signal_value;
    REQUIRE_EQ(stage_turns(s, "Pc").slot, 1); /* slot 0 comes free, but is still read */
    for (int i = 0; i < 20; i++) {
        culv_ring_frame p = stage_turn(s, P);
        REQUIRE(p.slot == 2 || p.slot == 3);
        REQUIRE_EQ(p.wait_value, 0);
    }
    fake_signal(&s->line[C], first);
    REQUIRE_FRAME(stage_turn(s, P), 0, 22, first, 1, 1);
}

#undef TEST_GROUP
#define TEST_GROUP "errors."
/* culv_ring: what is refused, and with which words. */

RING_CASE(create_refuses, 4, .title = "errors.create")
{
    culv_ring *out;
#define REFUSES(...)                                                                               \
    LIB_REFUSES(out, culv_ring_create(s->device, &s->desc, &out), INVALID, __VA_ARGS__)
    LIB_REFUSES(out, culv_ring_create(NULL, &s->desc, &out), INVALID, NULL_ARGUMENT);
    s->desc.label = "frames";
    SPOILT(s->desc, s->desc.max_depth = CULV_RING_MAX_DEPTH + 1, {
        REFUSES(VALUE);
        REQUIRE_EQ_STR(culv_last_error_message(),
                       "'frames': culv_ring_desc.max_depth is 65; a ring has 1 to 64 slots");
    });
    s->desc.label = NULL;
    culv_ring_settings t = culv_ring_settings_init();
    s->desc.settings = &t;
#define ROW(change, ...) SPOILT(t, change, REFUSES(__VA_ARGS__))
    const culv_ring_desc good = s->desc;
    s->desc.ready.value = NULL;
    ROW(t.policy = CULV_RING_MAILBOX, VALUE,
        "the policy MAILBOX needs culv_ring_desc.ready.value, which is NULL");
    ROW(t.max_latency = 1000, VALUE, "max_latency needs culv_ring_desc.ready.value, which is NULL");
    s->desc = good;
    s->desc.done.wait = NULL;
    ROW(t.max_latency = 1000, VALUE, "max_latency needs culv_ring_desc.done.wait, which is NULL");
    ROW(t.max_frames_in_flight = 1, VALUE, "a lead needs culv_ring_desc.done.wait, which is NULL");
#undef ROW
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
    culv_ring_settings t = culv_ring_settings_init();
    t.depth = 3;
    LIB_INVALID(culv_ring_configure(s.ring, &t), VALUE,
                "culv_ring_settings.depth is 3; the ring was made with 2 slots");
    REQUIRE_EQ(stage_stats(&s).depth, 2); /* as it was */
    LIB_INVALID(culv_ring_acquire(s.ring, (culv_ring_side)2, 0, &f), VALUE,
                "'frames': culv_ring_acquire: side is 2; "
                "it is CULV_RING_PRODUCER (0) or CULV_RING_CONSUMER (1)");
    LIB_INVALID(culv_ring_acquire_on(s.ring, P, NULL, 0, &f), NULL_ARGUMENT,
                "'frames': culv_ring_acquire_on: 'done' has no CUDA half");
    LIB_INVALID(culv_ring_release_on(s.ring, P, NULL, &f), NULL_ARGUMENT);
    LIB_INVALID(culv_ring_flush_on(s.ring, C, NULL), NULL_ARGUMENT);

    /* Release without acquire; acquire twice; another frame. */
    LIB_INVALID(culv_ring_release(s.ring, P, &f), RING_ORDER,
                "'frames': culv_ring_release: this side holds no frame; acquire one first");
    REQUIRE_EQ(f.number, 77);
    stage_turns(&s, "P");
    f = stage_acquire(&s, P);
    before = f;
    LIB_INVALID(
        culv_ring_acquire(s.ring, P, 0, &f), RING_ORDER,
        "'frames': culv_ring_acquire: this side holds frame 1 (slot 1); release or cancel it first "
        "(in Vulkan culv_vk_ring_submit() releases it)");
    REQUIRE_EQ_BYTES(&f, &before, sizeof f);
    LIB_INVALID(culv_ring_flush(s.ring, P, &value), RING_ORDER);
    REQUIRE_EQ(value, 55);
    culv_ring_frame other = f;
    other.slot = 0;
    LIB_INVALID(
        culv_ring_release(s.ring, P, &other), RING_ORDER,
        "'frames': culv_ring_release: frame 1 in slot 0 is not the one that this side holds, 1 in slot 1");
    LIB_ERROR(culv_ring_drain(s.ring, 0, 0), BUSY, RING_ORDER,
              "'frames': culv_ring_drain: sides still have frames; the producer: it holds "
              "frame 1 in slot 1. Release or cancel what is held, or force the ring");
    stage_release(&s, P, &f);
    stage_close(&s);
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
    stage_turns(s, "P");
    LIB_ERROR(
        culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY,
        "'frames': the producer is late: within 0 ms it handed no frame over; "
        "it has to signal 'cuda' with 1 and it has released 1 of a burst of 2 (culv_ring_flush() hands them over); "
        "nobody has signaled yet");
    stage_turns(s, "PPPC");
    f = stage_acquire(s, C);
    culv_ring_frame p;
    LIB_ERROR(
        culv_ring_acquire(s->ring, P, 1500, &p), TIMEOUT, RING_FULL,
        "'frames': the consumer is late: within 1500 ns it gave no slot back (0 of 4 free, a burst takes 2); "
        "it has to signal 'vulkan' with 1 and it holds frame 1 in slot 1; "
        "the last to signal was the producer: 'cuda' with 2");
    stage_release(s, C, &f);
    REQUIRE_EQ(stage_stats(s).producer_waits, 1);
    REQUIRE_EQ(stage_stats(s).consumer_waits, 1); /* one of them with a time to wait */
}

#undef TEST_GROUP
#define TEST_GROUP "stop."
/* culv_ring: late work, draining, forcing, lost devices. */

RING_CASE(drained, 4)
{
    stage_make(s, NULL);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
    stage_turns(s, "PPC");
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
    REQUIRE_EQ(s->line[P].signals + s->line[C].signals, 0);
    /* What is ready stays so, also with force where none was needed. */
    LIB_OK(culv_ring_drain(s->ring, CULV_RING_FOREVER, 1));
    REQUIRE_FRAME(stage_turn(s, C), 1, 1, 2, 1, 1);
    stage_turns(s, "p");
    LIB_ERROR(culv_ring_drain(s->ring, 2 * MS, 0), TIMEOUT, RING_LATE,
              "the producer is late: 'ready' has not reached 3 within 2 ms; it is at 2 of 3; "
              "the producer released with 3, but that signal has not run yet; was it submitted?");
    fake_signal(&s->line[P], 3);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
}

/* Who is late: the side whose own work does not end, not the one that waits for it. */
TEST(who_is_late)
{
    for (int reads = 0; reads < 2;
         reads++) { /* with counters, and without: then they are found by waiting */
        ring_stage s;
        stage_open(&s, 2);
        s.desc.label = "frames";
        if (reads == 0) s.desc.ready.value = s.desc.done.value = NULL;
        stage_make(&s, NULL);
        stage_turns(&s, "PCpcp"); /* ready 2 is never submitted, and done 2 comes after it */
        LIB_ERROR(
            culv_ring_drain(s.ring, MS, 0), TIMEOUT, RING_LATE,
            "'frames': the producer is late: 'ready' has not reached 3 within 1 ms; "
            "it is at 1 of 3; the producer released with 3, but that signal has not run yet; was it submitted?");
        stage_reopen(&s, 1);
        s.desc.label = "frames";
        if (reads == 0) s.desc.ready.value = s.desc.done.value = NULL;
        stage_make(&s, NULL);
        stage_turns(&s, "Pcpc"); /* done 1 is never submitted, and ready 2 comes after it */
        LIB_ERROR(
            culv_ring_drain(s.ring, MS, 0), TIMEOUT, RING_LATE,
            "'frames': the consumer is late: 'ready' has not reached 2 within 1 ms; "
            "it is at 1 of 2, since the producer's work waits for 'done' to reach 1, which is at 0 of 2; "
            "the consumer released with 2, but that signal has not run yet; was it submitted?");
        /* The other order of the same: an acquire that waits for `done`. */
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        LIB_OK(culv_ring_configure(s.ring, &t));
        culv_ring_frame f;
        LIB_ERROR(
            culv_ring_acquire(s.ring, P, MS, &f), TIMEOUT, RING_LATE,
            "'frames': the consumer is late: 'done' has not reached 1 within 1 ms; "
            "it is at 0 of 2; the consumer released with 2, but that signal has not run yet; was it submitted?");
        REQUIRE_EQ(stage_stats(&s).producer_waits, 1);
        stage_close(&s);
    }
}

/* A consumer that vanished after it promised: its timeline is forced, and the ring goes on. */
RING_CASE(forced_consumer, 2)
{
    stage_make(s, NULL);
    stage_turns(s, "pcpcpcpc");
    fake_signal(&s->line[P], 2); /* what waits for nothing is done; the rest waits for `done` */
    LIB_ERROR(culv_ring_drain(s->ring, 5 * MS, 0), TIMEOUT, RING_LATE, "the consumer is late");
    culv_ring_frame held = stage_acquire(s, P);
    LIB_ERROR(culv_ring_drain(s->ring, 0, 0), BUSY, RING_ORDER);
    s->line[C].follower = &s->line[P]; /* the producer's GPU goes on by itself */
    LIB_OK(culv_ring_drain(s->ring, 100 * MS, 1));
    s->line[C].follower = NULL;
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(s->line[P].signals, 0);
    REQUIRE_EQ(fake_counter(&s->line[C]), 4);
    REQUIRE_EQ(fake_counter(&s->line[P]), 4);
    LIB_INVALID(culv_ring_release(s->ring, P, &held), RING_ORDER);
    /* From empty slots on: nothing to wait for, values and numbers go on. */
    REQUIRE_FRAME(stage_turn(s, P), 0, 4, 0, 1, 1);
    REQUIRE_FRAME(stage_turn(s, P), 1, 5, 0, 1, 1);
    REQUIRE_FRAME(stage_turn(s, C), 0, 4, 5, 1, 1);
    REQUIRE_FRAME(stage_turn(s, C), 1, 5, 6, 1, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 6);
    LIB_OK(culv_ring_drain(s->ring, 0, 0));
}

/* Where the host cannot signal, that is said; MAILBOX is forced like the other. */
RING_CASE(no_force, 4)
{
    s->desc.ready.signal = NULL;
    culv_ring_settings t = culv_ring_settings_init();
    t.policy = CULV_RING_MAILBOX;
    stage_make(s, &t);
    stage_turns(s, "p");
    LIB_ERROR(
        culv_ring_drain(s->ring, MS, 1), UNSUPPORTED, NO_FORCE,
        "the producer is late: 'ready' is at 0 of 1, and the host cannot signal it (culv_ring_timeline.signal is NULL)");
    fake_signal(&s->line[P], 1);
    stage_turns(s, "cc");
    LIB_OK(culv_ring_drain(s->ring, MS, 1));
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 2);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s->ring, C, 0, &f), TIMEOUT, RING_EMPTY); /* kept no more */
    REQUIRE_FRAME(stage_turn(s, P), 0, 1, 0, 1, 1);
    stage_reopen(s, 2);
    s->desc.done.wait = NULL;
    stage_make(s, NULL);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 0), VALUE);
}

RING_CASE(device_lost, 2)
{
    s->desc.label = "frames";
    culv_ring_settings t = culv_ring_settings_init();
    t.max_frames_in_flight = 1;
    stage_make(s, &t);
    stage_turns(s, "PcPc");
    culv_ring_frame f;
    uint64_t value;
    fake_lose(&s->line[C]);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), ASYNC, DEVICE_LOST);
    for (int side = 0; side < 2; side++) {
        LIB_ERROR(culv_ring_acquire(s->ring, (culv_ring_side)side, 0, &f), ASYNC, RING_STOPPED,
                  "'frames': the ring is stopped: at 'done', the device is lost; "
                  "what is left is culv_ring_drain() and culv_ring_destroy()");
        LIB_ERROR(culv_ring_release(s->ring, (culv_ring_side)side, &f), ASYNC, RING_STOPPED);
        LIB_ERROR(culv_ring_flush(s->ring, (culv_ring_side)side, &value), ASYNC, RING_STOPPED);
    }
    /* Who waits for the lost side is let go, and the ring stays stopped. */
    LIB_ERROR(culv_ring_drain(s->ring, 0, 0), ASYNC, DEVICE_LOST);
    REQUIRE_EQ(s->line[C].signals, 0);
    LIB_OK(culv_ring_drain(s->ring, 0, 1));
    REQUIRE_EQ(s->line[C].signals, 1);
    REQUIRE_EQ(fake_counter(&s->line[C]), 2);
    REQUIRE_EQ(s->line[P].signals, 0);
    LIB_ERROR(culv_ring_acquire(s->ring, P, 0, &f), ASYNC, RING_STOPPED);
    (void)stage_stats(s);
}

/* A side whose submission failed holds its frame again, also when the other side has its slot by
 * now, until a drain by force; within a burst nothing was handed over. model.* releases it once
 * more. */
RING_CASE(submission_failed, 2)
{
    culv_ring_frame f, got;
    stage_make(s, NULL);
    f = stage_acquire(s, P);
    LIB_INVALID(culv_ring_submit_failed(s->ring, P, &f), RING_ORDER); /* it was not released */
    LIB_OK(culv_ring_release(s->ring, P, &f));
    LIB_OK(culv_ring_submit_failed(s->ring, P, &f));
    got = stage_acquire(s, C);
    REQUIRE_EQ(got.wait_value, 1);
    LIB_OK(culv_ring_cancel(s->ring, C, &got));
    stage_release(s, P, &f);
    stage_turns(s, "P");
    LIB_INVALID(culv_ring_submit_failed(s->ring, P, &f), RING_ORDER,
                "is not the last one that this side released");
    f = stage_acquire(s, C);
    LIB_OK(culv_ring_release(s->ring, C, &f));
    LIB_OK(culv_ring_submit_failed(s->ring, C, &f));
    LIB_OK(culv_ring_drain(s->ring, MS, 1));
    REQUIRE_EQ(fake_counter(&s->line[C]), 1);
    REQUIRE_EQ(stage_turn(s, P).number, 2);
    stage_reopen(s, 4);
    culv_ring_settings t = culv_ring_settings_init();
    t.burst = 2;
    stage_make(s, &t);
    for (int side = 0; side < 2; side++) {
        const culv_ring_side me = (culv_ring_side)side;
        f = stage_acquire(s, me);
        LIB_OK(culv_ring_release(s->ring, me, &f));
        LIB_OK(culv_ring_submit_failed(s->ring, me, &f));
        LIB_OK(culv_ring_cancel(s->ring, me, &f)); /* the burst begins anew */
        REQUIRE_FRAME(stage_turn(s, me), 0, 0, side, 1, 0);
        REQUIRE_EQ(stage_turn(s, me).signal_value, 1);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "threads."
/* culv_ring, two threads: waiting without polling, waking, one thread a side; and any calls of both
 * sides, against a model. */

/* A thread in culv_ring_acquire(). */
typedef struct waiter {
    culv_ring *ring;
    culv_ring_side side;
    uint64_t timeout;
    pthread_t thread;
    atomic_int id; /* of the thread, once it runs */
    culv_result result;
    culv_ring_frame frame;
    culv_error error;
} waiter;

static void *wait_in_acquire(void *user)
{
    waiter *w = user;
    atomic_store(&w->id, (int)syscall(SYS_gettid));
    w->error = culv_error_init();
    w->result = culv_ring_acquire(w->ring, w->side, w->timeout, &w->frame);
    culv_last_error(&w->error);
    return NULL;
}

static uint64_t waits(const ring_stage *s, culv_ring_side side)
{
    culv_ring_stats stats = stage_stats(s);
    return side == P ? stats.producer_waits : stats.consumer_waits;
}

/* It waits by then. */
static void waiter_start(waiter *w, ring_stage *s, culv_ring_side side, uint64_t timeout)
{
    *w = (waiter){.ring = s->ring, .side = side, .timeout = timeout};
    uint64_t before = waits(s, side);
    REQUIRE_EQ(pthread_create(&w->thread, NULL, wait_in_acquire, w), 0);
    while (waits(s, side) == before)
        lib_sleep_ms(1);
}

static void waiter_end(waiter *w, culv_result result, culv_reason reason)
{
    REQUIRE_EQ(pthread_join(w->thread, NULL), 0);
    REQUIRE_EQ(w->result, result);
    if (result != CULV_OK) REQUIRE_EQ(w->error.reason, reason);
}

RING_CASE(wakes, 4)
{
    waiter w;
    culv_ring_frame f;
    culv_ring_settings t = culv_ring_settings_init();
    t.depth = 1;
    stage_make(s, &t);
    waiter_start(&w, s, C, CULV_RING_FOREVER);
    /* Waiting takes no processor time: the thread sleeps, and does not wake in between. */
    REQUIRE(test_asleep(0, atomic_load(&w.id), 100));
    stage_turns(s, "P"); /* a release */
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    f = w.frame;
    waiter_start(&w, s, P, 60000 * (uint64_t)MS);
    stage_release(s, C, &f);
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    stage_release(s, P, &w.frame);
    waiter_start(&w, s, P, CULV_RING_FOREVER);
    t.depth = 2; /* a slot more */
    LIB_OK(culv_ring_configure(s->ring, &t));
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
    REQUIRE_EQ(w.frame.slot, 1);
    stage_release(s, P, &w.frame);
    waiter_start(&w, s, P, CULV_RING_FOREVER);
    /* A second thread on the same side, and whoever waits for both. */
    LIB_INVALID(culv_ring_acquire(s->ring, P, 0, &f), RING_SIDE,
                "culv_ring_acquire: another thread is in a call of the producer; "
                "only one thread at a time may use a side");
    LIB_INVALID(culv_ring_release(s->ring, P, &f), RING_SIDE);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 1), RING_SIDE);
    culv_ring_destroy(&s->ring, NULL);
    waiter_end(&w, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
    REQUIRE(strstr(w.error.message, "the ring is stopped: it is being destroyed") != NULL);
    stage_reopen(s, 2);
    stage_make(s, NULL);
    waiter_start(&w, s, C, CULV_RING_FOREVER);
    LIB_INVALID(culv_ring_drain(s->ring, 0, 1), RING_SIDE);
    stage_turns(s, "P");
    waiter_end(&w, CULV_OK, CULV_REASON_NONE);
}

/* Timeouts that no clock gets to: of a side that waits for the other one, and of one that waits for
 * GPU work. */
TEST(huge_timeouts)
{
    static const uint64_t rows[] = {UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 1000000000,
                                    (uint64_t)INT64_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ring_stage s;
        waiter w;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        stage_make(&s, &t);
        waiter_start(&w, &s, C, rows[i]);
        lib_sleep_ms(5);
        stage_turns(&s, "P");
        waiter_end(&w, CULV_OK, CULV_REASON_NONE);
        LIB_OK(culv_ring_release(s.ring, C, &w.frame));
        stage_turns(&s, "P");
        culv_ring_frame f = stage_acquire(&s, C);
        LIB_OK(culv_ring_release(s.ring, C, &f));
        waiter_start(&w, &s, P, rows[i]);
        lib_sleep_ms(5);
        fake_signal(&s.line[C], 1);
        waiter_end(&w, CULV_OK, CULV_REASON_NONE);
        stage_close(&s);
    }
}

static void *wait_and_end(void *user)
{
    wait_in_acquire(user);
    pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits leaves the ring to others: with what it got, and to be
 * destroyed. It waits for the other side, for GPU work, or until its time is up, which the log
 * tells. */
TEST(cancelled)
{
    enum { SIDE, WORK, TIME };
    REQUIRE(setenv("CULVERT_LOG", "error", 1) == 0); /* writing to a file is a cancellation point */
    for (int way = SIDE; way <= TIME; way++) {
        ring_stage s;
        void *end = NULL;
        stage_open(&s, 3);
        culv_ring_settings t = culv_ring_settings_init();
        t.max_frames_in_flight = 1;
        stage_make(&s, &t);
        const culv_ring_side side = way == WORK ? P : C;
        for (int i = 0; way == WORK && i < 2; i++) {
            stage_turns(&s, "P");
            culv_ring_frame f = stage_acquire(&s, C);
            LIB_OK(culv_ring_release(s.ring, C, &f));
        }
        waiter w = {
            .ring = s.ring, .side = side, .timeout = (way == TIME ? 200 : 60000) * (uint64_t)MS};
        const uint64_t before = waits(&s, side);
        REQUIRE_EQ(pthread_create(&w.thread, NULL, wait_and_end, &w), 0);
        while (waits(&s, side) == before)
            lib_sleep_ms(1);
        REQUIRE_EQ(pthread_cancel(w.thread), 0);
        lib_sleep_ms(20);
        if (way == WORK) fake_signal(&s.line[C], 1);
        if (way == SIDE) stage_turns(&s, "P");
        REQUIRE_EQ(pthread_join(w.thread, &end), 0);
        REQUIRE(end == PTHREAD_CANCELED);
        REQUIRE_EQ(w.result, way == TIME ? CULV_ERROR_TIMEOUT : CULV_OK);
        if (way != TIME) stage_release(&s, side, &w.frame);
        if (way == WORK) fake_signal(&s.line[C], 2);
        for (int i = 0; i < 5; i++) { /* both sides go on */
            if (way != WORK || i > 0) stage_turns(&s, "P");
            culv_ring_frame f = stage_acquire(&s, C);
            stage_release(&s, C, &f);
        }
        culv_ring_destroy(&s.ring, NULL);
        stage_close(&s);
    }
}

static void *wait_in_drain(void *user)
{
    waiter *w = user;
    w->error = culv_error_init();
    w->result = culv_ring_drain(w->ring, w->timeout, 0);
    culv_last_error(&w->error);
    return NULL;
}

/* culv_ring_stop() lets go of a drain, too; the back-ends' rings.stopped has whoever waits in an
 * acquire. */
TEST(stopped)
{
    static const uint64_t timeouts[] = {CULV_RING_FOREVER, 600000 * (uint64_t)MS};
    for (int i = 0; i < 2; i++) {
        ring_stage s;
        stage_open(&s, 3);
        stage_make(&s, NULL);
        stage_turns(&s, "Pc");
        waiter w = {.ring = s.ring, .timeout = timeouts[i]};
        REQUIRE_EQ(pthread_create(&w.thread, NULL, wait_in_drain, &w), 0);
        while (fake_waits(&s.line[C]) == 0)
            lib_sleep_ms(1);
        LIB_OK(culv_ring_stop(s.ring));
        waiter_end(&w, CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
        REQUIRE(strstr(w.error.message, "culv_ring_stop() was called") != NULL);
        stage_close(&s);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "model."
/* culv_ring against a model: random calls of both sides, and two queues that work off what is
 * submitted whenever chance has it. A slot holds the number of the frame that was written last; a
 * reader must find its own. */

enum { MODEL_SLOTS = 6, MODEL_JOBS = 4096 };

typedef struct model_job {
    uint64_t wait, signal, number;
    uint32_t slot;
    bool work;
} model_job;

typedef struct model {
    ring_stage s;
    uint64_t seed;
    culv_ring_settings settings;
    bool was_newest, was_ordered; /* policies since the start */
    model_job jobs[2][MODEL_JOBS];
    uint64_t pushed[2], run[2];
    uint64_t counter[2], promised[2];
    uint64_t content[MODEL_SLOTS]; /* number + 1; 0: nothing yet */
    /* Number + 1 of the newest frame that is released, and whose job ran */
    uint64_t written;
    culv_ring_frame held[2];
    bool holds[2];
    uint64_t produced, consumed, next;
    uint64_t lost;    /* frames, by a drain with force, before the next one of the consumer's */
    uint32_t open[2]; /* released frames of an open burst */
} model;

static uint32_t chance(model *m, uint32_t below)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % below;
}

static void push(model *m, int side, const model_job *job)
{
    if (job->signal != 0) {
        REQUIRE_EQ(job->signal, m->promised[side] + 1); /* one by one */
        m->promised[side]++;
    }
    REQUIRE(job->wait <= m->promised[1 - side]);
    REQUIRE(m->pushed[side] - m->run[side] < MODEL_JOBS);
    m->jobs[side][m->pushed[side]++ % MODEL_JOBS] = *job;
}

/* The queue's next job, when it may run. */
static bool step(model *m, int side)
{
    if (m->run[side] == m->pushed[side]) return false;
    const model_job *job = &m->jobs[side][m->run[side] % MODEL_JOBS];
    if (job->wait > m->counter[1 - side]) return false;
    m->run[side]++;
    if (job->work && side == P) m->content[job->slot] = job->number + 1;
    if (job->work && side == C) REQUIRE_EQ(m->content[job->slot], job->number + 1);
    if (job->signal == 0) return true;
    m->counter[side] = job->signal;
    fake_signal(&m->s.line[side], job->signal);
    if (side == P) m->written = job->work ? job->number + 1 : m->written;
    return true;
}

static void acquire(model *m, int side)
{
    culv_ring_frame f;
    culv_result result = culv_ring_acquire(m->s.ring, (culv_ring_side)side, 0, &f);
    if (m->holds[side]) {
        REQUIRE_EQ(result, CULV_ERROR_INVALID);
        return;
    }
    if (result != CULV_OK) {
        const culv_error e = lib_last_error();
        REQUIRE_EQ(result, CULV_ERROR_TIMEOUT);
        if (!m->was_ordered) REQUIRE(e.reason != CULV_REASON_RING_FULL);
        return;
    }
    REQUIRE(f.slot < MODEL_SLOTS);
    REQUIRE(!m->holds[1 - side] || m->held[1 - side].slot != f.slot);
    REQUIRE_EQ(f.burst_begins, m->open[side] == 0);
    REQUIRE(f.burst_begins || f.wait_value == 0);
    if (side == P) {
        REQUIRE_EQ(f.number, m->produced);
    } else if (f.repeated) {
        REQUIRE(m->was_newest && f.number + 1 == m->next);
    } else {
        REQUIRE_EQ(f.skipped, f.number - m->next);
        REQUIRE(m->was_newest || f.skipped == m->lost);
        REQUIRE(f.wait_value != 0 || !f.burst_begins);
    }
    /* MAILBOX: no frame that is done is newer. */
    if (side == C && !m->was_ordered) REQUIRE(f.number + 1 >= m->written);
    m->held[side] = f;
    m->holds[side] = true;
}

/* The submission of what was released failed; it is released once more, with the same value. */
static void fail(model *m, culv_ring_side me, culv_ring_frame *f)
{
    const uint64_t signal = f->signal_value;
    uint64_t value;
    culv_ring *ring = m->s.ring;
    culv_ring_frame other = *f;
    LIB_OK(culv_ring_submit_failed(ring, me, f));
    LIB_INVALID(culv_ring_submit_failed(ring, me, f), RING_ORDER); /* once */
    LIB_INVALID(culv_ring_acquire(ring, me, 0, &other), RING_ORDER,
                signal != 0 ? "whose submission failed; release it once more" : "holds frame");
    if (signal != 0) LIB_INVALID(culv_ring_cancel(ring, me, f), RING_ORDER);
    LIB_INVALID(culv_ring_flush(ring, me, &value), RING_ORDER);
    LIB_ERROR(culv_ring_drain(ring, 0, 0), BUSY, RING_ORDER);
    other.number++;
    LIB_INVALID(culv_ring_release(ring, me, &other), RING_ORDER);
    f->signal_value = 0;
    LIB_OK(culv_ring_release(ring, me, f));
    REQUIRE_EQ(f->signal_value, signal);
}

static void release(model *m, int side)
{
    culv_ring_frame f = m->held[side];
    culv_result result = culv_ring_release(m->s.ring, (culv_ring_side)side, &f);
    REQUIRE_EQ(result, m->holds[side] ? CULV_OK : CULV_ERROR_INVALID);
    if (result != CULV_OK) return;
    if (chance(m, 64) == 0) fail(m, (culv_ring_side)side, &f);
    REQUIRE_EQ(f.signal_value != 0, f.burst_ends);
    m->holds[side] = false;
    m->open[side] = f.burst_ends ? 0 : m->open[side] + 1;
    if (side == P) m->produced++;
    if (side == C && !f.repeated) m->consumed++;
    if (side == C && !f.repeated) m->lost = 0;
    if (side == C) m->next = f.number + 1;
    push(m, side,
         &(model_job){.wait = f.wait_value,
                      .signal = f.signal_value,
                      .number = f.number,
                      .slot = f.slot,
                      .work = true});
}

static void cancel(model *m, int side)
{
    culv_ring_frame f = m->held[side];
    culv_result result = culv_ring_cancel(m->s.ring, (culv_ring_side)side, &f);
    REQUIRE_EQ(result, m->holds[side] ? CULV_OK : CULV_ERROR_INVALID);
    m->holds[side] = false;
}

static void model_flush(model *m, int side)
{
    uint64_t value = 0;
    culv_result result = culv_ring_flush(m->s.ring, (culv_ring_side)side, &value);
    REQUIRE_EQ(result, m->holds[side] ? CULV_ERROR_INVALID : CULV_OK);
    if (result != CULV_OK) return;
    REQUIRE_EQ(value != 0, m->open[side] > 0);
    m->open[side] = 0;
    if (value != 0) push(m, side, &(model_job){.signal = value});
}

static void configure(model *m, int policies)
{
    culv_ring_settings t = culv_ring_settings_init();
    t.policy = policies == 2 ? (culv_ring_policy)chance(m, 2) : (culv_ring_policy)policies;
    t.depth = 1 + chance(m, MODEL_SLOTS);
    if (t.policy == CULV_RING_MAILBOX && t.depth < 3) t.depth = 3;
    t.burst = 1 + chance(m, t.depth);
    t.max_frames_in_flight = chance(m, 4);
    LIB_OK(culv_ring_configure(m->s.ring, &t));
    m->settings = t;
    m->was_newest = m->was_newest || t.policy == CULV_RING_MAILBOX;
    m->was_ordered = m->was_ordered || t.policy == CULV_RING_FIFO;
}

static void drain(model *m)
{
    culv_result result = culv_ring_drain(m->s.ring, 0, 0);
    bool busy = m->holds[P] || m->holds[C] || m->open[P] > 0 || m->open[C] > 0;
    bool done = m->counter[P] == m->promised[P] && m->counter[C] == m->promised[C];
    REQUIRE_EQ(result, busy ? CULV_ERROR_BUSY : done ? CULV_OK : CULV_ERROR_TIMEOUT);
}

/* By force: what the sides held, and what was ready beside that, is nobody's any more, and each
 * frame was consumed or is counted as skipped. Slots that a smaller depth put aside stay there. */
static void force(model *m)
{
    const bool spoils = m->holds[P] || m->holds[C] || m->open[P] > 0 || m->open[C] > 0;
    while (step(m, P) || step(m, C)) {
    }
    LIB_OK(culv_ring_drain(m->s.ring, 0, 1));
    if (!spoils) return;
    const culv_ring_stats stats = stage_stats(&m->s);
    REQUIRE_EQ(stats.produced, m->produced);
    REQUIRE_EQ(stats.consumed, m->consumed);
    REQUIRE_EQ(stats.skipped, m->produced - m->consumed);
    m->lost = m->produced - m->next;
    for (int side = 0; side < 2; side++) {
        m->holds[side] = false;
        m->open[side] = 0;
    }
}

/* The slots are all there, and nothing waits for ever. */
static void end(model *m)
{
    for (int side = 0; side < 2; side++) {
        if (m->holds[side]) release(m, side);
        model_flush(m, side);
    }
    while (step(m, P) || step(m, C)) {
    }
    for (int side = 0; side < 2; side++) {
        REQUIRE_EQ(m->run[side], m->pushed[side]);
        REQUIRE_EQ(m->counter[side], m->promised[side]);
    }
    drain(m);
    culv_ring_stats stats = stage_stats(&m->s);
    REQUIRE_EQ(stats.produced, m->produced);
    REQUIRE_EQ(stats.consumed, m->consumed);
    /* Read what is left, then fill the whole ring. */
    culv_ring_settings t = culv_ring_settings_init();
    LIB_OK(culv_ring_configure(m->s.ring, &t));
    culv_ring_frame f;
    while (culv_ring_acquire(m->s.ring, C, 0, &f) == CULV_OK) {
        m->held[C] = f;
        m->holds[C] = true;
        release(m, C);
        while (step(m, C)) {
        }
    }
    for (uint32_t i = 0; i < MODEL_SLOTS; i++) {
        LIB_OK(culv_ring_acquire(m->s.ring, P, 0, &f));
        LIB_OK(culv_ring_release(m->s.ring, P, &f));
    }
    LIB_ERROR(culv_ring_acquire(m->s.ring, P, 0, &f), TIMEOUT, RING_FULL);
    stats = stage_stats(&m->s);
    REQUIRE_EQ(stats.produced, stats.consumed + stats.skipped + MODEL_SLOTS);
}

static void check(int policies, uint64_t seed, uint32_t steps)
{
    static model m;
    memset(&m, 0, sizeof m);
    m.seed = seed;
    stage_open(&m.s, MODEL_SLOTS);
    culv_ring_settings first = culv_ring_settings_init();
    first.policy = policies == 1 ? CULV_RING_MAILBOX : CULV_RING_FIFO;
    m.was_newest = policies == 1;
    m.was_ordered = policies != 1;
    stage_make(&m.s, &first);
    /* Now and then one of the four is in a hurry. */
    uint32_t weight[4] = {1, 1, 1, 1};
    for (uint32_t i = 0; i < steps; i++) {
        if (i % 64 == 0)
            for (int k = 0; k < 4; k++)
                weight[k] = 1 + chance(&m, 8);
        uint32_t pick = chance(&m, weight[0] + weight[1] + weight[2] + weight[3]);
        int who = 0;
        while (pick >= weight[who])
            pick -= weight[who++];
        if (who >= 2) {
            (void)step(&m, who - 2);
            continue;
        }
        uint32_t what = chance(&m, 100);
        if (what < 2)
            cancel(&m, who);
        else if (what < 4)
            model_flush(&m, who);
        else if (what < 5)
            configure(&m, policies);
        else if (what < 6)
            (chance(&m, 8) == 0 ? force : drain)(&m);
        else if (what < 8)
            (m.holds[who] ? acquire : release)(&m, who);
        else
            (m.holds[who] ? release : acquire)(&m, who);
    }
    REQUIRE(m.produced > steps / 50 && m.consumed > steps / 200);
    end(&m);
    stage_close(&m.s);
}

static void checks(int policies)
{
    uint64_t seed = strtoull(test_option("seed", "1"), NULL, 10);
    for (uint64_t i = 0; i < 10; i++)
        check(policies, seed + i, 10000);
}

TEST_AS(model_ordered, checks(0), .title = "model.ordered")
TEST_AS(newest, checks(1))
TEST_AS(both, checks(2))
