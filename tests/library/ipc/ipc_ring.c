/* SPDX-License-Identifier: MIT */
/* A ring between processes: every byte of every frame, by counters and by Vulkan's timelines, with
 * consumers that come, go and die. */
#define TEST_GROUP "ring."
#include "ipc_stage.h"

#include "ipc/ipc_line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4, WORDS = 4097 /* odd */ };

static uint32_t ring_slots = SLOTS;

static void hear_all(ipc_child *child, int count, char word, culv_ipc_server *server)
{
    for (int i = 0; i < count; i++)
        ipc_hear_serving(&child[i], word, server);
}

static culv_result acquire(const ipc_end *e, culv_ring_side side, CUstream stream,
                           culv_ring_frame *f)
{
    return culv_ring_acquire_on(e->ring, side, stream, IPC_FAR, f);
}

/* A frame's turn in a stream of the case's own. */
static void turn_in(const ipc_end *e, culv_ring_side side, CUstream stream)
{
    culv_ring_frame f;
    LIB_OK(acquire(e, side, stream, &f));
    LIB_OK(culv_ring_release_on(e->ring, side, stream, &f));
}

/* On another GPU than the producer's, and what it writes there is read here. */
static void read_on_other_gpu(ipc_child *parent, const char *name)
{
    ipc_end e;
    ipc_hear(parent, 'g');
    ipc_end_connect(&e, parent, name, 1);
    ipc_ring_join(&e, CULV_RING_FIFO);
    for (uint64_t i = 0; i < IPC_FRAMES; i++)
        REQUIRE_EQ(ipc_ring_consume(&e), i);
    ipc_write(&e.s.w, e.stream, vmm_address(e.range, 0), WORDS, 77);
    ipc_say(parent, 'd');
    ipc_end_close(&e);
}

IPC_ROLE(read_newest)
{
    uint64_t last = 0, now = 0;
    ipc_ring_join(e, CULV_RING_MAILBOX);
    while (now < IPC_FRAMES - 1) {
        now = ipc_ring_consume(e);
        REQUIRE(now >= last);
        last = now;
    }
    ipc_say(&e->other, 'd');
}

TEST(other_gpu, .own = true)
{
    ipc_end p;
    int reaches = 0;
    raw_cuda_two_devices();
    ipc_end_serve(&p, read_on_other_gpu, "other-gpu", false);
    ipc_ring_offer(&p, SLOTS, WORDS, 0);
    if (p.s.w.cu->device_count > 1) CU_OK(p.s.w.cu->DeviceCanAccessPeer(&reaches, 1, 0));
    if (!reaches) {
        ipc_kill(&p.other);
        ipc_end_close(&p);
        SKIP("one CUDA device only, or no peers");
    }
    ipc_say(&p.other, 'g');
    ipc_hear_serving(&p.other, 'j', p.server);
    ipc_ring_produce(&p, IPC_FRAMES);
    ipc_hear_serving(&p.other, 'd', p.server);
    lib_finish(&p.s.w, p.stream);
    ipc_require(&p.s.w, p.stream, vmm_address(p.range, 0), WORDS, 77);
    ipc_end_join(&p);
    ipc_ring_wait_consumers(&p, 0);
    ipc_end_close(&p);
}

TEST(both, .own = true, .smoke = true)
{
    ipc_child child[2];
    ipc_end p;
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "ring");
    ipc_fork(&child[0], ipc_read_every, name);
    ipc_fork(&child[1], read_newest, name);
    ipc_end_serve(&p, NULL, name, false);
    ipc_ring_offer(&p, SLOTS, WORDS, 0);
    hear_all(child, 2, 'j', p.server);
    ipc_ring_produce(&p, IPC_FRAMES);
    hear_all(child, 2, 'd', p.server);
    for (int i = 0; i < 2; i++)
        ipc_join_serving(&child[i], p.server);
    ipc_ring_wait_consumers(&p, 0);
    ipc_end_close(&p);
}

static enum rest { ALL, DROPPED, UNWRITTEN } left; /* and the last one not yet written */

/* The solver ends in order, and its process too, before anybody has read its last frames. */
static void end_in_order(ipc_child *parent, const char *name)
{
    ipc_end p;
    ipc_end_serve(&p, NULL, name, false);
    ipc_ring_offer(&p, SLOTS, WORDS, 0);
    ipc_hear_serving(parent, 'j', p.server);
    ipc_ring_wait_consumers(&p, 1);
    ipc_ring_produce(&p, left == UNWRITTEN ? SLOTS - 1 : SLOTS);
    if (left == UNWRITTEN) {
        vmm_gate gate;
        lib_finish(&p.s.w, p.stream);
        vmm_gate_begin(&p.s, &gate);
        turn_in(&p, CULV_RING_PRODUCER, gate.stream);
        culv_ring_destroy(&p.ring, NULL);
        culv_ipc_server_destroy(&p.server);
        ipc_say(parent, 'e');
        ipc_hear(parent, 'o');
        vmm_gate_end(&p.s, &gate);
    }
    if (left == DROPPED) {
        culv_ipc_consumer_info info;
        REQUIRE_EQ(culv_ipc_ring_consumers(p.ring, &info, 1), 1);
        LIB_OK(culv_ipc_ring_drop(p.ring, info.number));
    }
    ipc_end_close(&p);
}

/* The GPU is at work on the frame: draining waits for it, and does not take the ring for dead. */
static void drain_the_last(const ipc_end *e, uint64_t number)
{
    culv_ring_frame f;
    vmm_gate gate;
    vmm_gate_begin(&e->s, &gate);
    LIB_OK(acquire(e, CULV_RING_CONSUMER, gate.stream, &f));
    REQUIRE_EQ(f.number, number);
    LIB_OK(culv_ring_release_on(e->ring, CULV_RING_CONSUMER, gate.stream, &f));
    LIB_ERROR(culv_ring_drain(e->ring, 1000, 0), TIMEOUT, RING_LATE);
    vmm_gate_open(&e->s, &gate);
    LIB_OK(culv_ring_drain(e->ring, IPC_FAR, 0));
    vmm_gate_end(&e->s, &gate);
}

/* Who was dropped before has no claim on them. */
static void read_what_is_left(culv_ring_policy policy, enum rest what)
{
    ipc_child child;
    ipc_end e;
    culv_ring_frame f;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    culv_ipc_client *none = POISON(culv_ipc_client);
    char name[CULV_IPC_NAME_SIZE];
    left = what;
    ipc_fork(&child, end_in_order, ipc_name(name, "left"));
    ipc_end_connect(&e, &child, name, 0);
    ipc_ring_join(&e, policy);
    REQUIRE(culv_ipc_client_connected(e.client));
    REQUIRE_EQ(culv_ipc_client_server_pid(e.client), child.pid);
    left == UNWRITTEN ? ipc_hear(&child, 'e') : ipc_join(&child);
    REQUIRE(!culv_ipc_ring_connected(e.ring) && !culv_ipc_client_connected(e.client));
    uint64_t next = policy == CULV_RING_FIFO ? 0 : SLOTS - 1;
    for (; next + 1 < SLOTS && left != DROPPED; next++)
        REQUIRE_EQ(ipc_ring_consume(&e), next);
    if (left == ALL) drain_the_last(&e, next);
    for (int i = 0; i < 2; i++)
        LIB_FAILS(acquire(&e, CULV_RING_CONSUMER, e.stream, &f), CULV_ERROR_ASYNC,
                  left == DROPPED ? CULV_REASON_IPC_DROPPED : CULV_REASON_RING_STOPPED);
    d.name = name;
    LIB_ERROR(culv_ipc_client_connect(NULL, &d, 1000000, &none), TIMEOUT, IPC_NAME);
    if (left == UNWRITTEN) ipc_say(&child, 'o');
    if (left == UNWRITTEN) ipc_join(&child);
    ipc_end_close(&e);
}

TEST_AS(every_is_left, read_what_is_left(CULV_RING_FIFO, ALL), .title = "ring.left.every",
        .own = true)
TEST_AS(newest_is_left, read_what_is_left(CULV_RING_MAILBOX, ALL), .title = "ring.left.newest",
        .own = true)
TEST_AS(nothing_is_left, read_what_is_left(CULV_RING_FIFO, DROPPED), .title = "ring.left.dropped",
        .own = true)
TEST_AS(unwritten_is_not_left, read_what_is_left(CULV_RING_FIFO, UNWRITTEN),
        .title = "ring.left.unwritten", .own = true)

/* A producer that hands a frame over which its GPU never writes. */
static void produce_for_ever(ipc_child *parent, const char *name)
{
    ipc_end p;
    vmm_gate gate;
    ipc_hear(parent, 'g');
    ipc_end_serve(&p, NULL, name, false);
    ipc_ring_offer(&p, SLOTS, WORDS, 0);
    ipc_ring_wait_consumers(&p, 1);
    vmm_gate_begin(&p.s, &gate);
    turn_in(&p, CULV_RING_PRODUCER, gate.stream);
    ipc_say(parent, 'p');
    for (;;)
        LIB_OK(culv_ipc_server_poll(p.server, CULV_IPC_FOREVER, NULL));
}

/* Streams that are destroyed before their side leaves: a real driver may crash on such a handle, so
 * none must see it. */
typedef struct ghost {
    char handle[32]; /* "": not gone yet */
    unsigned seen;
} ghost;

static void look_for(void *user, culv_log_level level, const char *message)
{
    ghost *g = user;
    if (g->handle[0] == 0 || strstr(message, g->handle) == NULL) return;
    printf("%s\n", message);
    g->seen += strncmp(message, "cuStream", 8) == 0 || strncmp(message, "cuEvent", 7) == 0;
}

static void bury(ipc_end *e, ghost *g)
{
    lib_finish(&e->s.w, e->stream);
    lib_stream_destroy(&e->s.w, e->stream);
    snprintf(g->handle, sizeof g->handle, "%p", (void *)e->stream);
    e->stream = NULL;
}

IPC_ROLE(leave_without_stream)
{
    ghost unheard;
    ipc_ring_join(e, CULV_RING_FIFO);
    (void)ipc_ring_consume(e);
    bury(e, &unheard);
    ipc_say(&e->other, 'd');
    ipc_hear(&e->other, 'g');
}

TEST(stream_gone, .own = true)
{
    ipc_end p;
    ghost g = {.handle = ""};
    ipc_log = (culv_log){look_for, &g, CULV_LOG_DEBUG};
    ipc_end_serve(&p, leave_without_stream, "gone", false);
    ipc_ring_offer(&p, SLOTS, WORDS, 0);
    ipc_hear_serving(&p.other, 'j', p.server);
    ipc_ring_produce(&p, 1);
    ipc_hear_serving(&p.other, 'd', p.server);
    bury(&p, &g);
    ipc_say(&p.other, 'g');
    ipc_end_join(&p);
    ipc_ring_wait_consumers(&p, 0);
    (void)culv_device_collect(p.s.w.device);
    REQUIRE_EQ(g.seen, 0);
    ipc_end_close(&p);
    REQUIRE_EQ(g.seen, 0);
}

/* The server goes before its rings ------------------------------------------------------------- */

IPC_ROLE(outlive)
{
    culv_ring_frame f;
    ipc_ring_join(e, CULV_RING_FIFO);
    LIB_ERROR(acquire(e, CULV_RING_CONSUMER, e->stream, &f), ASYNC, RING_STOPPED);
}

IPC_CASE(server_first, outlive)
{
    culv_ring *second = NULL;
    culv_ipc_object *object = NULL;
    culv_ring_frame f;
    ipc_ring_offer(e, 2, WORDS, 0);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "second";
    d.num_slots = 1;
    culv_ipc_info part = culv_ipc_info_init();
    part.element_size = 4;
    part.element_count = 4;
    for (int again = 0; again < 2; again++) { /* the memory of its slots goes with a ring */
        culv_ring_destroy(&second, NULL);
        LIB_OK(culv_ipc_ring_create(e->server, &d, &second));
        LIB_OK(culv_ipc_ring_offer(second, 0, 0, &part, culv_ipc_from_vmm(e->memory[again])));
    }
    ipc_hear_serving(&e->other, 'j', e->server);
    /* it goes while a frame is held */
    LIB_OK(culv_ring_acquire_on(e->ring, CULV_RING_PRODUCER, e->stream, 0, &f));
    culv_ipc_server_destroy(&e->server);
    ipc_join(&e->other);
    const culv_ipc_info info = culv_ipc_info_init();
    REQUIRE_EQ(culv_ipc_ring_consumers(e->ring, NULL, 0), 0);
    LIB_ERROR(culv_ring_release_on(e->ring, CULV_RING_PRODUCER, e->stream, &f), ASYNC, RING_STOPPED,
              "the ring's server was destroyed; culv_ring_destroy() the ring");
    LIB_ERROR(acquire(e, CULV_RING_PRODUCER, e->stream, &f), ASYNC, RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_drop(e->ring, 0), ASYNC, RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_offer(e->ring, 0, 0, &info, culv_ipc_from_vmm(e->memory[0])), ASYNC,
              RING_STOPPED);
    LIB_REFUSES(object, culv_ipc_ring_receive(second, 0, 0, 0, &object), INVALID, VALUE,
                "the ring is not one of culv_ipc_ring_join()");
    REQUIRE(!culv_ipc_ring_connected(second));
    LIB_OK(culv_ring_destroy(&second, NULL));
    ipc_ring_close(e);
    LIB_OK(culv_device_suspend(e->s.w.device, NULL)); /* nothing of a ring is in its way */
    LIB_OK(culv_device_resume(e->s.w.device, NULL));
}

/* Joins that are given up ---------------------------------------------------------------------- */

static culv_result join_in(culv_ipc_client *client, uint64_t timeout, culv_ring **out)
{
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    return culv_ipc_ring_join(client, &d, timeout, out);
}

/* Asks until the socket is full, so that no other message has room. */
static void fill(culv_ipc_client *client)
{
    culv_ipc_object *object = NULL;
    do
        REQUIRE(culv_ipc_client_receive(client, "nothing", 0, &object) != CULV_OK);
    while (strstr(culv_last_error_message(), "has not read earlier questions") == NULL);
}

/* Each time a consumer would be left that nobody has: the answer comes too late, it cannot be
 * taken, or what takes the join back does not fit into the socket. */
IPC_ROLE(give_up)
{
    enum { FEW = 16 };
    culv_ring *side = POISON(culv_ring);
    culv_ring_frame f;
    int fds[FEW];
    size_t count = 1;
    ipc_child *parent = &e->other;
    culv_ipc_client *client = e->client;
    ipc_say(parent, 'c');
    ipc_hear(parent, '1'); /* it does not answer now */
    LIB_ERROR(join_in(client, 1000, &side), TIMEOUT, IPC_GONE);
    fill(client);
    LIB_ERROR(join_in(client, 1000, &side), TIMEOUT, IPC_GONE);
    ipc_say(parent, '2');
    ipc_hear(parent, '2'); /* it answers again */
    /* All answers are read first, so that this one is what lacks descriptors. */
    culv_ipc_info info = culv_ipc_info_init();
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (culv_ipc_client_get_offer(client, 0, IPC_FAR, &info, NULL) != CULV_OK) {
        LIB_SAYS("has not read earlier questions");
        if (test_now_us() > until) FAIL("the socket stays full");
        lib_sleep_ms(1);
    }
    struct rlimit usual, few;
    REQUIRE_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    REQUIRE((fds[0] = dup(0)) >= 0);
    few.rlim_cur = (rlim_t)fds[0] + 1;
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < FEW && (fds[count] = dup(0)) >= 0)
        count++;
    LIB_ERROR(join_in(client, IPC_FAR, &side), INVALID, OS);
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    while (count > 0)
        close(fds[--count]);
    REQUIRE(side == POISON(culv_ring));
    LIB_OK(join_in(client, IPC_FAR, &e->ring));
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < 3 * SLOTS; i++) {
        LIB_OK(acquire(e, CULV_RING_CONSUMER, e->stream, &f));
        REQUIRE_EQ(f.number, i);
        LIB_OK(culv_ring_release_on(e->ring, CULV_RING_CONSUMER, e->stream, &f));
    }
    lib_finish(&e->s.w, e->stream);
    ipc_say(parent, 'd');
    ipc_hear(parent, '3'); /* it does not answer now */
    fill(client);
    culv_ring_destroy(&e->ring, NULL);
    ipc_say(parent, 'l');
    ipc_hear(parent, '4');
}

IPC_CASE(given_up, give_up)
{
    ipc_ring_offer(e, SLOTS, WORDS, 0);
    ipc_hear_serving(&e->other, 'c', e->server);
    ipc_say(&e->other, '1');
    ipc_hear(&e->other, '2');
    ipc_say(&e->other, '2');
    ipc_hear_serving(&e->other, 'j', e->server);
    REQUIRE_EQ(culv_ipc_ring_consumers(e->ring, NULL, 0), 1);
    ipc_ring_produce(e, 3 * SLOTS);
    ipc_hear_serving(&e->other, 'd', e->server);
    ipc_say(&e->other, '3');
    ipc_hear(&e->other, 'l');
    REQUIRE_EQ(culv_ipc_ring_consumers(e->ring, NULL, 0), 0); /* before its message is read */
    ipc_ring_produce(e, 2 * SLOTS);
    ipc_say(&e->other, '4');
}

/* Who does not keep up ------------------------------------------------------------------------- */

static enum misdeed { HOLDS, BUSY, READS_NOT } misdeed;
static culv_ring_policy misdeed_policy;

/* The third of three holds a frame, or gives it back while its GPU is not done, or reads none. */
IPC_ROLE(misbehave)
{
    culv_ring_frame f;
    vmm_gate gate;
    ipc_ring_join(e, misdeed_policy);
    if (misdeed == BUSY) vmm_gate_begin(&e->s, &gate);
    CUstream stream = misdeed == BUSY ? gate.stream : e->stream;
    if (misdeed != READS_NOT) LIB_OK(acquire(e, CULV_RING_CONSUMER, stream, &f));
    if (misdeed == BUSY) LIB_OK(culv_ring_release_on(e->ring, CULV_RING_CONSUMER, stream, &f));
    ipc_say(&e->other, 'h');
    ipc_hear(&e->other, 'e');
    if (misdeed == HOLDS) LIB_OK(culv_ring_release_on(e->ring, CULV_RING_CONSUMER, stream, &f));
    if (misdeed_policy == CULV_RING_FIFO)
        LIB_ERROR(acquire(e, CULV_RING_CONSUMER, stream, &f), ASYNC, IPC_DROPPED, "and runs on");
    else if (misdeed == BUSY) /* it has one slot at a time */
        LIB_ERROR(culv_ring_acquire_on(e->ring, CULV_RING_CONSUMER, stream, 1000000, &f), TIMEOUT,
                  RING_LATE, "this side's GPU has not reached value 1");
    if (misdeed == BUSY) vmm_gate_end(&e->s, &gate);
    if (misdeed_policy == CULV_RING_MAILBOX) REQUIRE_EQ(ipc_ring_consume(e), IPC_FRAMES - 1);
    ipc_say(&e->other, 'd');
}

/* Drops the third one if it is late, which it is for ever. */
static bool drop_third(const ipc_end *p, const ipc_child *third)
{
    static const culv_ipc_lag lags[] = {CULV_IPC_LAG_HOST, CULV_IPC_LAG_GPU, CULV_IPC_LAG_HOST};
    culv_ipc_consumer_info info[4];
    lib_finish(&p->s.w, p->stream);
    REQUIRE_EQ(culv_ipc_ring_consumers(p->ring, info, 4), 3);
    for (size_t i = 0; i < 3; i++) {
        if (info[i].pid != third->pid || info[i].late == 0) continue;
        REQUIRE(info[i].policy == CULV_RING_FIFO && info[i].lag == lags[misdeed]);
        REQUIRE_EQ(info[i].behind, ring_slots);
        LIB_OK(culv_ipc_ring_drop(p->ring, info[i].number));
        return true;
    }
    return false;
}

static void go_on_past(enum misdeed what, culv_ring_policy policy)
{
    const ipc_role roles[] = {ipc_read_every, read_newest, misbehave};
    ipc_child child[3];
    ipc_end p;
    char name[CULV_IPC_NAME_SIZE];
    bool dropped = false;
    misdeed = what;
    misdeed_policy = policy;
    /* Two, and one for each consumer of the newest frame. */
    ring_slots = policy == CULV_RING_MAILBOX ? 4 : 3;
    ipc_name(name, "past");
    for (int i = 0; i < 3; i++)
        ipc_fork(&child[i], roles[i], name);
    ipc_end_serve(&p, NULL, name, false);
    ipc_ring_offer(&p, ring_slots, WORDS, 0);
    hear_all(child, 3, 'j', p.server);
    for (int i = 0; i < IPC_FRAMES; i++) {
        culv_ring_frame f;
        const double until = test_now_us() + TEST_FAR_MS * 1000.0;
        for (;;) {
            const culv_result result =
                culv_ring_acquire_on(p.ring, CULV_RING_PRODUCER, p.stream, UINT64_C(2000000), &f);
            if (result == CULV_OK) break;
            REQUIRE_EQ(result, CULV_ERROR_TIMEOUT);
            if (policy == CULV_RING_FIFO && !dropped) dropped = drop_third(&p, &child[2]);
            if (test_now_us() > until) FAIL("frame %d has no slot", i);
        }
        ipc_ring_write(&p, &f);
        if (i == 0) ipc_hear_serving(&child[2], 'h', p.server);
    }
    REQUIRE_EQ(dropped, policy == CULV_RING_FIFO);
    hear_all(child, 2, 'd', p.server);
    lib_finish(&p.s.w, p.stream);
    ipc_say(&child[2], 'e');
    ipc_hear_serving(&child[2], 'd', p.server);
    for (int i = 0; i < 3; i++)
        ipc_join_serving(&child[i], p.server);
    ipc_ring_wait_consumers(&p, 0);
    ipc_end_close(&p);
}

TEST_AS(every_holds, go_on_past(HOLDS, CULV_RING_FIFO), .title = "ring.past_every.holds",
        .own = true)
TEST_AS(every_busy, go_on_past(BUSY, CULV_RING_FIFO), .title = "ring.past_every.busy", .own = true)
TEST_AS(every_reads_not, go_on_past(READS_NOT, CULV_RING_FIFO),
        .title = "ring.past_every.reads_not", .own = true)
TEST_AS(newest_holds, go_on_past(HOLDS, CULV_RING_MAILBOX), .title = "ring.past_newest.holds",
        .own = true)
TEST_AS(newest_busy, go_on_past(BUSY, CULV_RING_MAILBOX), .title = "ring.past_newest.busy",
        .own = true)
TEST_AS(newest_reads_not, go_on_past(READS_NOT, CULV_RING_MAILBOX),
        .title = "ring.past_newest.reads_not", .own = true)
/* The bound drops who is late, and that one is told. */
TEST(late_limit, .own = true)
{
    ipc_end p;
    misdeed = READS_NOT;
    misdeed_policy = CULV_RING_FIFO;
    ipc_end_serve(&p, misbehave, "late-limit", false);
    ipc_ring_offer(&p, SLOTS, WORDS, 1);
    ipc_hear_serving(&p.other, 'j', p.server);
    ipc_hear(&p.other, 'h');
    ipc_ring_produce(&p, 2 * SLOTS);
    REQUIRE_EQ(culv_ipc_ring_consumers(p.ring, NULL, 0), 0);
    ipc_say(&p.other, 'e');
    ipc_hear(&p.other, 'd');
    ipc_end_close(&p);
}

/* A consumer leaves while its stream waits for a producer that lives and never signals. Then that
 * is killed, and the next one takes its name. */
TEST(leave_waiting, .own = true)
{
    enum { RELEASES = 1, CLIENT_FIRST = 2, WAYS = 4 };
    ipc_end e;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_child child[WAYS];
    for (int how = 0; how < WAYS; how++)
        ipc_fork(&child[how], produce_for_ever, ipc_name(name, "leave"));
    for (int how = 0; how < WAYS; how++) {
        ipc_say(&child[how], 'g');
        ipc_end_connect(&e, &child[how], name, 0);
        REQUIRE_EQ(culv_ipc_client_server_pid(e.client), child[how].pid);
        ipc_ring_join(&e, CULV_RING_FIFO);
        ipc_hear(&child[how], 'p');
        LIB_OK(acquire(&e, CULV_RING_CONSUMER, e.stream, &f));
        if (how & RELEASES) LIB_OK(culv_ring_release_on(e.ring, CULV_RING_CONSUMER, e.stream, &f));
        REQUIRE_EQ(lib_query(&e.s.w, e.stream), CUDA_ERROR_NOT_READY);
        if (how & CLIENT_FIRST)
            culv_ipc_client_destroy(&e.client);
        else
            culv_ring_destroy(&e.ring, NULL);
        lib_finish(&e.s.w, e.stream); /* it hangs unless the timeline was moved on */
        ipc_end_close(&e);
        ipc_kill(&child[how]);
    }
}

/* CUDA's side of a ring between processes has every ring's calls ------------------------------- */

static void refuse_others_calls(culv_ring *core, culv_ring_side side)
{
    const culv_ring_side far = side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    const culv_ring_settings settings = culv_ring_settings_init();
    culv_ring_frame f = {.number = 0};
    LIB_ERROR(culv_ring_acquire(core, side, 0, &f), INVALID, RING_SIDE, "culv_ring_acquire_on()");
    LIB_ERROR(culv_ring_release(core, side, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_flush(core, side, &f.signal_value), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_acquire(core, far, 0, &f), INVALID, RING_SIDE,
              "of this ring is in another process");
    LIB_ERROR(culv_ring_acquire_on(core, far, NULL, 0, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_release(core, far, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_release_on(core, far, NULL, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_flush(core, far, &f.signal_value), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_cancel(core, far, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_submit_failed(core, side, &f), INVALID, RING_ORDER);
    LIB_ERROR(culv_ring_configure(core, &settings), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_acquire(core, (culv_ring_side)2, 0, &f), INVALID, VALUE);
    LIB_ERROR(culv_ring_acquire_on(core, (culv_ring_side)2, NULL, 0, &f), INVALID, VALUE);
    LIB_ERROR(culv_ring_release_on(core, (culv_ring_side)2, NULL, &f), INVALID, VALUE);
    LIB_ERROR(culv_ring_cancel(core, (culv_ring_side)2, &f), INVALID, VALUE);
    LIB_ERROR(culv_ring_release_on(core, side, NULL, &f), INVALID, RING_ORDER);
    LIB_ERROR(culv_ring_cancel(core, side, &f), INVALID, RING_ORDER);
    REQUIRE(culv_ring_semaphore(core, side) == NULL);
}

typedef struct sleeper {
    culv_ring *core;
    culv_ring_side side;
    CUstream stream;
    culv_error error;
    atomic_bool over;
} sleeper;

static void *sleep_in_acquire(void *context)
{
    sleeper *s = context;
    culv_ring_frame f;
    s->error = culv_error_init();
    if (culv_ring_acquire_on(s->core, s->side, s->stream, CULV_RING_FOREVER, &f) != CULV_OK)
        culv_last_error(&s->error);
    atomic_store(&s->over, true);
    return NULL;
}

/* Another thread's acquire, which has nothing to take, ends by culv_ring_stop(). */
static void stop_a_sleeper(culv_ring *core, culv_ring_side side, CUstream stream)
{
    sleeper s = {.core = core, .side = side, .stream = stream};
    culv_ring_frame f;
    pthread_t thread;
    REQUIRE_EQ(pthread_create(&thread, NULL, sleep_in_acquire, &s), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    REQUIRE(!atomic_load(&s.over));
    LIB_OK(culv_ring_stop(core));
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    REQUIRE_EQ(s.error.result, CULV_ERROR_ASYNC);
    REQUIRE_EQ(s.error.reason, CULV_REASON_RING_STOPPED);
    LIB_ERROR(culv_ring_acquire_on(core, side, stream, 0, &f), ASYNC, RING_STOPPED);
    LIB_ERROR(culv_ring_flush_on(core, side, stream), ASYNC, RING_STOPPED);
}

IPC_ROLE(consume_by_core)
{
    culv_ring_frame f, other;
    culv_ring_stats stats = culv_ring_stats_init();
    ipc_ring_join(e, CULV_RING_FIFO);
    culv_ring *core = e->ring;
    refuse_others_calls(core, CULV_RING_CONSUMER);
    for (uint64_t i = 0; i < IPC_FRAMES; i++) {
        LIB_OK(acquire(e, CULV_RING_CONSUMER, e->stream, &f));
        REQUIRE_EQ(f.number, i);
        REQUIRE_EQ(f.wait_value, i + 1);
        other = f;
        other.number++;
        LIB_ERROR(culv_ring_release_on(core, CULV_RING_CONSUMER, e->stream, &other), INVALID,
                  RING_ORDER, "is not the one that is held");
        LIB_ERROR(acquire(e, CULV_RING_CONSUMER, e->stream, &other), INVALID, RING_ORDER);
        LIB_ERROR(culv_ring_flush_on(core, CULV_RING_CONSUMER, e->stream), INVALID, RING_ORDER);
        LIB_ERROR(culv_ring_drain(core, 0, 0), BUSY, RING_ORDER);
        LIB_OK(culv_ring_cancel(core, CULV_RING_CONSUMER, &f)); /* it comes again */
        REQUIRE_EQ(ipc_ring_consume(e), i);
        LIB_OK(culv_ring_flush_on(core, CULV_RING_CONSUMER, e->stream));
    }
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    LIB_OK(culv_ring_get_stats(core, &stats));
    REQUIRE_EQ(stats.consumed, IPC_FRAMES);
    REQUIRE_EQ(stats.depth, SLOTS);
    stop_a_sleeper(core, CULV_RING_CONSUMER, e->stream);
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    ipc_say(&e->other, 'd');
    ipc_hear(&e->other, 'e');
}

IPC_CASE(core, consume_by_core)
{
    culv_ring_frame f, other;
    culv_ring_stats stats = culv_ring_stats_init();
    ipc_ring_offer(e, SLOTS, WORDS, 0);
    culv_ring *ring = e->ring;
    refuse_others_calls(ring, CULV_RING_PRODUCER);
    ipc_hear_serving(&e->other, 'j', e->server);
    for (uint64_t i = 0; i < IPC_FRAMES; i++) {
        LIB_OK(acquire(e, CULV_RING_PRODUCER, e->stream, &f));
        REQUIRE_EQ(f.number, i);
        other = f;
        other.slot++;
        LIB_ERROR(culv_ring_cancel(ring, CULV_RING_PRODUCER, &other), INVALID, RING_ORDER);
        LIB_ERROR(culv_ring_drain(ring, 0, 0), BUSY, RING_ORDER);
        LIB_OK(culv_ring_cancel(ring, CULV_RING_PRODUCER, &f)); /* it never was */
        ipc_ring_produce(e, 1);
    }
    ipc_hear_serving(&e->other, 'd', e->server);
    LIB_OK(culv_ring_drain(ring, IPC_FAR, 0));
    LIB_OK(culv_ring_get_stats(ring, &stats));
    REQUIRE_EQ(stats.produced, IPC_FRAMES);
    ipc_ring_produce(e, SLOTS); /* the consumer takes no more */
    stop_a_sleeper(ring, CULV_RING_PRODUCER, e->stream);
    ipc_say(&e->other, 'e');
    ipc_end_join(e);
    ipc_ring_wait_consumers(e, 0);
}
