/* SPDX-License-Identifier: MIT */
/* A ring between processes: every byte of every frame, by counters and by Vulkan's timelines, with
 * consumers that come, go and die. */
#define TEST_GROUP "ring."
#include "ipc_raw.h"

#include "ipc/ipc_line.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 4,
    FRAMES = 60,
    WORDS = 4097 /* odd */
};

/* The producer --------------------------------------------------------------------------------- */

typedef struct producer {
    lib_world w;
    ipc_slots slots;
    CUstream stream;
    culv_device *quiet; /* where the producer's own has a log */
} producer;

static culv_log hears; /* of the producer's device */
static uint64_t limit; /* culv_ipc_ring_desc.late_limit */
static uint32_t ring_slots = SLOTS;

static void producer_open(producer *p, const char *name, bool vulkan)
{
    memset(p, 0, sizeof *p);
    if (vulkan) {
        lib_open(&p->w);
    } else {
        vmm_stage s;
        vmm_stage_open(&s);
        p->w = s.w;
        p->w.fds = s.fds;
    }
    if (hears.fn != NULL) {
        culv_device_desc d = culv_device_desc_init();
        d.driver = p->w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
        d.log = hears;
        p->quiet = p->w.device;
        LIB_OK(culv_device_open_by_ordinal(0, &d, &p->w.device));
    }
    const vmm_stage s = {.w = p->w};
    p->stream = lib_stream(&p->w);
    ipc_slots_open_limited(&p->slots, &s, name, ring_slots, WORDS, limit);
}

static void producer_close(producer *p, bool vulkan)
{
    if (p->stream != NULL) lib_finish(&p->w, p->stream);
    ipc_slots_close(&p->slots, &p->w);
    if (p->stream != NULL) lib_stream_destroy(&p->w, p->stream);
    if (p->quiet != NULL) {
        culv_device_close(&p->w.device);
        p->w.device = p->quiet;
    }
    if (vulkan) {
        lib_close(&p->w);
    } else {
        vmm_stage s = {.w = p->w, .fds = p->w.fds};
        vmm_stage_close(&s);
    }
}

static void wait_for_consumers(producer *p, uint32_t count)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (culv_ipc_ring_consumers(p->slots.ring, NULL, 0) != count) {
        LIB_OK(culv_ipc_server_poll(p->slots.server, UINT64_C(2000000), NULL));
        if (test_now_us() > until)
            FAIL("%u consumers, not %u", culv_ipc_ring_consumers(p->slots.ring, NULL, 0), count);
    }
}

static void produce(producer *p, uint32_t words[FRAMES][WORDS])
{
    ipc_slots_produce(&p->slots, &p->w, p->stream, words[0], FRAMES);
}

/* A consumer ----------------------------------------------------------------------------------- */

typedef struct consumer {
    vmm_stage s;
    culv_ipc_client *client;
    culv_ring *side;
    CUstream stream;
    culv_vmm_range *range;
} consumer;

/* `gpu` is 0, the producer's, or 1: the stage's two devices change places. */
static void consumer_open_on(consumer *c, const char *name, culv_ring_policy policy, int gpu)
{
    memset(c, 0, sizeof *c);
    if (gpu == 0) {
        vmm_stage_open(&c->s);
    } else {
        vmm_stage_open_two(&c->s);
        culv_device *first = c->s.w.device;
        c->s.w.device = c->s.other;
        c->s.other = first;
        c->s.w.context = culv_device_context(c->s.w.device);
    }
    c->stream = lib_stream(&c->s.w);
    c->client = ipc_client(c->s.w.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    d.policy = policy;
    culv_ipc_timelines none = culv_ipc_timelines_init(); /* they are counters */
    d.made = &none;
    LIB_OK(culv_ipc_ring_join(c->client, &d, IPC_FAR, &c->side));
    REQUIRE(none.ready.type == CULV_HANDLE_NONE && none.done.type == CULV_HANDLE_NONE);
    culv_ring_stats stats = culv_ring_stats_init();
    LIB_OK(culv_ring_get_stats(c->side, &stats));
    REQUIRE_EQ(stats.depth, ring_slots);
    REQUIRE(culv_ring_pointer(c->side, 0, 0) == 0 &&
            culv_ring_semaphore(c->side, CULV_RING_PRODUCER) == NULL);
    c->range = vmm_range(&c->s, ring_slots);
    for (uint32_t i = 0; i < ring_slots; i++) {
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, c->side, i, 0, IPC_FAR);
        NEW(OWN(culv_vmm_allocation), memory, culv_ipc_import_vmm, object);
        LIB_OK(culv_vmm_map(c->range, i * VMM_BLOCK, memory, NULL, 0));
    }
}

static void consumer_close(consumer *c)
{
    if (c->stream != NULL) lib_finish(&c->s.w, c->stream);
    culv_ring_destroy(&c->side, NULL);
    culv_ipc_client_destroy(&c->client);
    lib_settle(&c->s.w);
    LIB_OK(culv_vmm_unmap(c->range, 0, culv_vmm_range_size(c->range), NULL));
    LIB_OK(culv_vmm_range_destroy(&c->range));
    if (c->stream != NULL) lib_stream_destroy(&c->s.w, c->stream);
    vmm_stage_close(&c->s);
}

static void consumer_open(consumer *c, const char *name, culv_ring_policy policy)
{
    consumer_open_on(c, name, policy, 0);
}

/* The number of the frame that was read. */
static uint64_t consume(consumer *c)
{
    static uint32_t words[WORDS];
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(c->side, CULV_RING_CONSUMER, c->stream, IPC_FAR, &f));
    LIB_CU_OK(&c->s.w, c->s.w.cu->MemcpyDtoHAsync(
                           words, culv_vmm_range_pointer(c->range) + f.slot * VMM_BLOCK,
                           sizeof words, c->stream));
    LIB_OK(culv_ring_release_on(c->side, CULV_RING_CONSUMER, c->stream, &f));
    lib_finish(&c->s.w, c->stream);
    REQUIRE_WORDS(words, WORDS, (uint32_t)f.number);
    return f.number;
}

/* Cases ---------------------------------------------------------------------------------------- */

static void read_every(ipc_child *parent, const char *name)
{
    consumer c;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < FRAMES; i++)
        REQUIRE_EQ(consume(&c), i);
    ipc_say(parent, 'd');
    consumer_close(&c);
}

/* On another GPU than the producer's, and what it writes there is read here. */
static void read_on_other_gpu(ipc_child *parent, const char *name)
{
    consumer c;
    ipc_hear(parent, 'g');
    consumer_open_on(&c, name, CULV_RING_FIFO, 1);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < FRAMES; i++)
        REQUIRE_EQ(consume(&c), i);
    ipc_write(&c.s.w, c.stream, culv_vmm_range_pointer(c.range), WORDS, 77);
    lib_finish(&c.s.w, c.stream);
    ipc_say(parent, 'd');
    consumer_close(&c);
}

static void read_newest(ipc_child *parent, const char *name)
{
    consumer c;
    uint64_t last = 0, now = 0;
    consumer_open(&c, name, CULV_RING_MAILBOX);
    ipc_say(parent, 'j');
    while (now < FRAMES - 1) {
        now = consume(&c);
        REQUIRE(now >= last);
        last = now;
    }
    ipc_say(parent, 'd');
    consumer_close(&c);
}

static uint32_t words[FRAMES][WORDS];

static void run_with(ipc_role first, ipc_role second)
{
    ipc_child child[2];
    producer p;
    char name[CULV_IPC_NAME_SIZE];
    const uint32_t count = second != NULL ? 2 : 1;
    ipc_name(name, "ring");
    ipc_fork(&child[0], first, name);
    if (second != NULL) ipc_fork(&child[1], second, name);
    producer_open(&p, name, false);
    for (uint32_t i = 0; i < count; i++)
        ipc_hear_serving(&child[i], 'j', p.slots.server);
    for (int i = 0; i < FRAMES; i++)
        produce(&p, words);
    for (uint32_t i = 0; i < count; i++)
        ipc_hear_serving(&child[i], 'd', p.slots.server);
    for (uint32_t i = 0; i < count; i++)
        ipc_join_serving(&child[i], p.slots.server);
    wait_for_consumers(&p, 0);
    producer_close(&p, false);
}

TEST_AS(every, run_with(read_every, NULL), .own = true, .smoke = true)

TEST(other_gpu, .own = true)
{
    ipc_child child;
    producer p;
    char name[CULV_IPC_NAME_SIZE];
    int reaches = 0;
    raw_cuda_two_devices();
    ipc_fork(&child, read_on_other_gpu, ipc_name(name, "other-gpu"));
    producer_open(&p, name, false);
    if (p.w.cu->device_count > 1) CU_OK(p.w.cu->DeviceCanAccessPeer(&reaches, 1, 0));
    if (!reaches) {
        ipc_kill(&child);
        producer_close(&p, false);
        SKIP("one CUDA device only, or no peers");
    }
    ipc_say(&child, 'g');
    ipc_hear_serving(&child, 'j', p.slots.server);
    for (int i = 0; i < FRAMES; i++)
        produce(&p, words);
    ipc_hear_serving(&child, 'd', p.slots.server);
    lib_finish(&p.w, p.stream);
    ipc_require(&p.w, p.stream, culv_vmm_range_pointer(p.slots.range), WORDS, 77);
    ipc_join_serving(&child, p.slots.server);
    wait_for_consumers(&p, 0);
    producer_close(&p, false);
}

TEST_AS(newest, run_with(read_newest, NULL), .own = true)
TEST_AS(both, run_with(read_every, read_newest), .own = true)

/* Consumers that are killed: while they hold a frame, while the producer's stream waits for them,
 * and while they wait. The producer goes on, and a consumer that comes late gets every frame. */
static void die_holding(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    (void)consume(&c);
    LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
    ipc_say(parent, 'h');
    pause();
}

/* It gives the slots back, and its stream never signals. */
static void die_unsignaled(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f;
    vmm_gate gate;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    vmm_gate_begin(&c.s, &gate);
    for (int i = 0; i < SLOTS; i++) {
        LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, gate.stream, IPC_FAR, &f));
        LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, gate.stream, &f));
    }
    ipc_say(parent, 'h');
    pause();
}

static void die_waiting(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    for (int i = 0; i < SLOTS; i++)
        (void)consume(&c);
    ipc_say(parent, 'h');
    LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
    pause();
}

TEST(deaths, .own = true)
{
    static const ipc_role roles[] = {die_holding, die_unsignaled, die_waiting};
    enum { DEATHS = sizeof roles / sizeof roles[0] };
    ipc_child child[DEATHS], last;
    producer p;
    char name[DEATHS + 1][CULV_IPC_NAME_SIZE];
    for (size_t i = 0; i < DEATHS; i++)
        ipc_fork(&child[i], roles[i], ipc_name(name[i], (const char[]){'d', (char)('0' + i), 0}));
    ipc_fork(&last, read_every, ipc_name(name[DEATHS], "last"));
    for (size_t i = 0; i <= DEATHS; i++) {
        producer_open(&p, name[i], false);
        if (i < DEATHS) {
            ipc_hear_serving(&child[i], 'j', p.slots.server);
            for (int k = 0; k < SLOTS; k++)
                produce(&p, words);
            ipc_hear_serving(&child[i], 'h', p.slots.server);
            lib_finish(&p.w, p.stream);
            culv_ring_frame f;
            /* In the first role one is free again: the child has read the first frame. */
            if (roles[i] != die_unsignaled) produce(&p, words);
            if (roles[i] != die_waiting) {
                LIB_ERROR(
                    culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER, p.stream, 1000, &f),
                    TIMEOUT, RING_FULL,
                    roles[i] == die_holding ? "has not given back" : "the GPU of the");
            }
            ipc_kill(&child[i]);
            wait_for_consumers(&p, 0);
            for (int k = 0; k < 2 * SLOTS; k++)
                produce(&p, words);
        } else {
            ipc_hear_serving(&last, 'j', p.slots.server);
            for (int k = 0; k < FRAMES; k++)
                produce(&p, words);
            ipc_hear_serving(&last, 'd', p.slots.server);
            ipc_join_serving(&last, p.slots.server);
        }
        producer_close(&p, false);
    }
}

static enum { ALL, DROPPED, UNWRITTEN } left; /* and the last one not yet written */

/* The solver ends in order, and its process too, before anybody has read its last frames. */
static void end_in_order(ipc_child *parent, const char *name)
{
    producer p;
    producer_open(&p, name, false);
    ipc_hear_serving(parent, 'j', p.slots.server);
    wait_for_consumers(&p, 1);
    for (uint32_t i = left == UNWRITTEN; i < ring_slots; i++)
        produce(&p, words);
    if (left == UNWRITTEN) {
        vmm_gate gate;
        culv_ring_frame f;
        const vmm_stage s = {.w = p.w};
        lib_finish(&p.w, p.stream);
        vmm_gate_begin(&s, &gate);
        LIB_OK(culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, IPC_FAR, &f));
        LIB_OK(culv_ring_release_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, &f));
        culv_ring_destroy(&p.slots.ring, NULL);
        culv_ipc_server_destroy(&p.slots.server);
        ipc_say(parent, 'e');
        ipc_hear(parent, 'o');
        vmm_gate_open(&s, &gate);
        vmm_gate_end(&s, &gate);
    }
    if (left == DROPPED) {
        culv_ipc_consumer_info info;
        size_t count = 0;
        count = culv_ipc_ring_consumers(p.slots.ring, &info, 1);
        REQUIRE_EQ(count, 1);
        LIB_OK(culv_ipc_ring_drop(p.slots.ring, info.number));
    }
    producer_close(&p, false);
}

/* The GPU is at work on the frame: draining waits for it, and does not take the ring for dead. */
static void drain_the_last(consumer *c, uint64_t number)
{
    culv_ring *core = c->side;
    culv_ring_frame f;
    vmm_gate gate;
    vmm_gate_begin(&c->s, &gate);
    LIB_OK(culv_ring_acquire_on(core, CULV_RING_CONSUMER, gate.stream, IPC_FAR, &f));
    REQUIRE_EQ(f.number, number);
    LIB_OK(culv_ring_release_on(core, CULV_RING_CONSUMER, gate.stream, &f));
    LIB_ERROR(culv_ring_drain(core, 1000, 0), TIMEOUT, RING_LATE);
    vmm_gate_open(&c->s, &gate);
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    vmm_gate_end(&c->s, &gate);
}

static void read_what_is_left(culv_ring_policy policy, const char *word)
{
    ipc_child child;
    consumer c;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, end_in_order, ipc_name(name, word));
    consumer_open(&c, name, policy);
    ipc_say(&child, 'j');
    left == UNWRITTEN ? ipc_hear(&child, 'e') : ipc_join(&child);
    REQUIRE(!culv_ipc_ring_connected(c.side));
    uint64_t next = policy == CULV_RING_FIFO ? 0 : ring_slots - 1;
    for (; next + 1 < ring_slots && left != DROPPED; next++)
        REQUIRE_EQ(consume(&c), next);
    if (left == ALL) drain_the_last(&c, next);
    for (int i = 0; i < 2; i++)
        LIB_FAILS(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f),
                  CULV_ERROR_ASYNC,
                  left == DROPPED ? CULV_REASON_IPC_DROPPED : CULV_REASON_RING_STOPPED);
    if (left == UNWRITTEN) ipc_say(&child, 'o');
    if (left == UNWRITTEN) ipc_join(&child);
    consumer_close(&c);
}

TEST_AS(every_is_left, read_what_is_left(CULV_RING_FIFO, "left0"), .title = "ring.left.every",
        .own = true)
TEST_AS(newest_is_left, read_what_is_left(CULV_RING_MAILBOX, "left1"), .title = "ring.left.newest",
        .own = true)
/* Who was dropped before has no claim on them. */
TEST(nothing_is_left, .title = "ring.left.dropped", .own = true)
{
    left = DROPPED;
    read_what_is_left(CULV_RING_FIFO, "left2");
}

TEST(unwritten_is_not_left, .title = "ring.left.unwritten", .own = true)
{
    left = UNWRITTEN;
    read_what_is_left(CULV_RING_FIFO, "left3");
}

/* The producer dies: before its GPU has signaled what the consumer's stream waits for. */
static void die_producing(ipc_child *parent, const char *name)
{
    producer p;
    culv_ring_frame f;
    vmm_gate gate;
    producer_open(&p, name, false);
    wait_for_consumers(&p, 1);
    const vmm_stage s = {.w = p.w};
    vmm_gate_begin(&s, &gate);
    LIB_OK(culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, IPC_FAR, &f));
    LIB_OK(culv_ring_release_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, &f));
    ipc_say(parent, 'p');
    for (;;)
        LIB_OK(culv_ipc_server_poll(p.slots.server, CULV_IPC_FOREVER, NULL));
}

TEST(producer_dies, .own = true)
{
    ipc_child child;
    consumer c;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, die_producing, ipc_name(name, "dies"));
    consumer_open(&c, name, CULV_RING_FIFO);
    LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
    LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, c.stream, &f));
    ipc_hear(&child, 'p');
    REQUIRE_EQ(lib_query(&c.s.w, c.stream), CUDA_ERROR_NOT_READY);
    REQUIRE(culv_ipc_ring_connected(c.side));
    ipc_kill(&child);
    REQUIRE(!culv_ipc_ring_connected(c.side));
    lib_finish(&c.s.w, c.stream); /* it hangs unless the timeline was moved on */
    LIB_ERROR(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f), ASYNC,
              RING_STOPPED);
    consumer_close(&c);
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
    (void)level;
    if (g->handle[0] == 0 || strstr(message, g->handle) == NULL) return;
    printf("%s\n", message);
    g->seen += strncmp(message, "cuStream", 8) == 0 || strncmp(message, "cuEvent", 7) == 0;
}

static void bury(const lib_world *w, CUstream *stream, ghost *g)
{
    lib_finish(w, *stream);
    lib_stream_destroy(w, *stream);
    snprintf(g->handle, sizeof g->handle, "%p", (void *)*stream);
    *stream = NULL;
}

static void leave_without_stream(ipc_child *parent, const char *name)
{
    consumer c;
    ghost unheard;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    (void)consume(&c);
    bury(&c.s.w, &c.stream, &unheard);
    ipc_say(parent, 'd');
    ipc_hear(parent, 'g');
    consumer_close(&c);
}

TEST(stream_gone, .own = true)
{
    ipc_child child;
    producer p;
    ghost g = {.handle = ""};
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, leave_without_stream, ipc_name(name, "gone"));
    hears = (culv_log){look_for, &g, CULV_LOG_DEBUG};
    producer_open(&p, name, false);
    ipc_hear_serving(&child, 'j', p.slots.server);
    produce(&p, words);
    ipc_hear_serving(&child, 'd', p.slots.server);
    bury(&p.w, &p.stream, &g);
    ipc_say(&child, 'g');
    ipc_join_serving(&child, p.slots.server);
    wait_for_consumers(&p, 0);
    (void)culv_device_collect(p.w.device);
    REQUIRE_EQ(g.seen, 0);
    producer_close(&p, false);
    REQUIRE_EQ(g.seen, 0);
}

/* The server goes before its rings ------------------------------------------------------------- */

static void outlive(ipc_child *parent, const char *name)
{
    vmm_stage s;
    culv_ring_frame f;
    vmm_stage_open(&s);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    NEW(culv_ring, side, culv_ipc_ring_join, client, &d, IPC_FAR);
    ipc_say(parent, 'j');
    CUstream stream = lib_case_stream(&s.w);
    LIB_ERROR(culv_ring_acquire_on(side, CULV_RING_CONSUMER, stream, IPC_FAR, &f), ASYNC,
              RING_STOPPED);
    LIB_OK(culv_ring_destroy(&side, NULL));
    culv_ipc_client_destroy(&client);
    vmm_stage_close(&s);
}

TEST(server_first, .own = true)
{
    ipc_child child;
    vmm_stage s;
    ipc_slots slots;
    culv_ring *second = NULL;
    culv_ipc_object *object = NULL;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, outlive, ipc_name(name, "server-first"));
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    ipc_slots_open(&slots, &s, name, 2, WORDS);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "second";
    d.num_slots = 1;
    culv_ipc_info part = culv_ipc_info_init();
    part.element_size = 4;
    part.element_count = 4;
    for (int again = 0; again < 2; again++) { /* the memory of its slots goes with a ring */
        culv_ring_destroy(&second, NULL);
        LIB_OK(culv_ipc_ring_create(slots.server, &d, &second));
        LIB_OK(culv_ipc_ring_offer(second, 0, 0, &part, culv_ipc_from_vmm(slots.memory[again])));
    }
    ipc_hear_serving(&child, 'j', slots.server);
    /* it goes while a frame is held */
    LIB_OK(culv_ring_acquire_on(slots.ring, CULV_RING_PRODUCER, stream, 0, &f));
    culv_ipc_server_destroy(&slots.server);
    ipc_join(&child);
    const culv_ipc_info info = culv_ipc_info_init();
    REQUIRE_EQ(culv_ipc_ring_consumers(slots.ring, NULL, 0), 0);
    LIB_ERROR(culv_ring_release_on(slots.ring, CULV_RING_PRODUCER, stream, &f), ASYNC, RING_STOPPED,
              "the ring's server was destroyed; culv_ring_destroy() the ring");
    LIB_ERROR(culv_ring_acquire_on(slots.ring, CULV_RING_PRODUCER, stream, IPC_FAR, &f), ASYNC,
              RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_drop(slots.ring, 0), ASYNC, RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_offer(slots.ring, 0, 0, &info, culv_ipc_from_vmm(slots.memory[0])),
              ASYNC, RING_STOPPED);
    LIB_REFUSES(object, culv_ipc_ring_receive(second, 0, 0, 0, &object), INVALID, VALUE,
                "the ring is not one of culv_ipc_ring_join()");
    REQUIRE(!culv_ipc_ring_connected(second));
    LIB_OK(culv_ring_destroy(&second, NULL));
    ipc_slots_close(&slots, &s.w);
    LIB_OK(culv_device_suspend(s.w.device, NULL)); /* nothing of a ring is in its way */
    LIB_OK(culv_device_resume(s.w.device, NULL));
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s); /* it counts files and objects */
    ipc_forget(&child);
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
static void give_up(ipc_child *parent, const char *name)
{
    enum { FEW = 16 };
    vmm_stage s;
    culv_ring *side = POISON(culv_ring);
    culv_ring_frame f;
    int fds[FEW];
    size_t count = 1;
    vmm_stage_open(&s);
    CUstream stream = lib_case_stream(&s.w);
    culv_ipc_client *client = ipc_client(s.w.device, name);
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
    LIB_OK(join_in(client, IPC_FAR, &side));
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < 3 * SLOTS; i++) {
        LIB_OK(culv_ring_acquire_on(side, CULV_RING_CONSUMER, stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        LIB_OK(culv_ring_release_on(side, CULV_RING_CONSUMER, stream, &f));
    }
    lib_finish(&s.w, stream);
    ipc_say(parent, 'd');
    ipc_hear(parent, '3'); /* it does not answer now */
    fill(client);
    culv_ring_destroy(&side, NULL);
    ipc_say(parent, 'l');
    ipc_hear(parent, '4');
    culv_ipc_client_destroy(&client);
    vmm_stage_close(&s);
}

TEST(given_up, .own = true)
{
    ipc_child child;
    producer p;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, give_up, ipc_name(name, "given-up"));
    producer_open(&p, name, false);
    ipc_hear_serving(&child, 'c', p.slots.server);
    ipc_say(&child, '1');
    ipc_hear(&child, '2');
    ipc_say(&child, '2');
    ipc_hear_serving(&child, 'j', p.slots.server);
    REQUIRE_EQ(culv_ipc_ring_consumers(p.slots.ring, NULL, 0), 1);
    for (int i = 0; i < 3 * SLOTS; i++)
        produce(&p, words);
    ipc_hear_serving(&child, 'd', p.slots.server);
    ipc_say(&child, '3');
    ipc_hear(&child, 'l');
    REQUIRE_EQ(culv_ipc_ring_consumers(p.slots.ring, NULL, 0), 0); /* before its message is read */
    for (int i = 0; i < 2 * SLOTS; i++)
        produce(&p, words);
    ipc_say(&child, '4');
    ipc_join_serving(&child, p.slots.server);
    producer_close(&p, false);
}

/* Who does not keep up ------------------------------------------------------------------------- */

static enum misdeed { HOLDS, BUSY, READS_NOT, LIES } misdeed;
static culv_ring_policy misdeed_policy;

/* The third of three holds a frame, or gives it back while its GPU is not done, or reads none. */
static void misbehave(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f;
    vmm_gate gate;
    consumer_open(&c, name, misdeed_policy);
    ipc_say(parent, 'j');
    if (misdeed == BUSY) vmm_gate_begin(&c.s, &gate);
    CUstream stream = misdeed == BUSY ? gate.stream : c.stream;
    if (misdeed != READS_NOT)
        LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, stream, IPC_FAR, &f));
    if (misdeed == BUSY) LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, stream, &f));
    ipc_say(parent, 'h');
    ipc_hear(parent, 'e');
    if (misdeed_policy == CULV_RING_FIFO) {
        if (misdeed == HOLDS) LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, stream, &f));
        LIB_ERROR(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, stream, IPC_FAR, &f), ASYNC,
                  IPC_DROPPED, "and runs on");
    } else if (misdeed == BUSY) {
        /* It has one slot at a time. */
        LIB_ERROR(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, stream, 1000000, &f), TIMEOUT,
                  RING_LATE, "this side's GPU has not reached value 1");
    } else if (misdeed == HOLDS) {
        LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, stream, &f));
    }
    if (misdeed == BUSY) {
        vmm_gate_open(&c.s, &gate);
        vmm_gate_end(&c.s, &gate);
    }
    if (misdeed_policy == CULV_RING_MAILBOX) REQUIRE_EQ(consume(&c), FRAMES - 1);
    ipc_say(parent, 'd');
    consumer_close(&c);
}

static culvi_ipc_message wait_for_answer(int fd, int fds[CULVI_IPC_FDS])
{
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    culvi_ipc_message m;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    REQUIRE_EQ(poll(&p, 1, (int)TEST_FAR_MS), 1);
    const culvi_ipc_io io = culvi_ipc_receive(fd, true, &m, fds, &why);
    if (io != CULVI_IPC_DONE) FAIL("no answer: %d %s", (int)io, text);
    return m;
}

/* A consumer of the newest frame, in whose page nothing is true: what it holds and has given back
 * goes back and forth, and jumps beyond what there is. It tells the next lie after a frame more, so
 * that a producer who waits for the end of one waits for ever; or at once. */
static void lie(ipc_child *parent, const char *name)
{
    int fds[CULVI_IPC_FDS];
    socklen_t length;
    const struct sockaddr_un a = raw_address(name, &length);
    const int fd = raw_socket();
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (connect(fd, (const struct sockaddr *)&a, length) != 0) { /* it is not there yet */
        if (test_now_us() > until) FAIL("no server '%s'", name);
        lib_sleep_ms(1);
    }
    culvi_ipc_message m = raw_message(CULVI_IPC_HELLO);
    REQUIRE(raw_send_message(fd, &m, NULL));
    REQUIRE_EQ(wait_for_answer(fd, fds).type, CULVI_IPC_HELLO);
    m = raw_message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    m.join.policy = CULV_RING_MAILBOX;
    REQUIRE(raw_send_message(fd, &m, NULL));
    m = wait_for_answer(fd, fds);
    REQUIRE(m.type == CULVI_IPC_JOIN && m.fds == 2);
    const culvi_ipc_ring_page *ring = mmap(NULL, CULVI_IPC_PAGE, PROT_READ, MAP_SHARED, fds[0], 0);
    culvi_ipc_consumer_page *page =
        mmap(NULL, CULVI_IPC_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    REQUIRE(ring != MAP_FAILED && page != MAP_FAILED);
    atomic_store(&page->state, (uint32_t)CULVI_IPC_LIVES);
    ipc_say(parent, 'j');
    ipc_say(parent, 'h');
    bool ends = false;
    for (uint32_t i = 0; !ends; i++) {
        const uint32_t slot = i % ring_slots;
        const uint64_t head = atomic_load(&ring->head);
        const uint64_t lies[] = {0,
                                 atomic_load(&ring->frames[slot]),
                                 head + 1,
                                 head / 2,
                                 head + lib_word(i, 1),
                                 UINT64_MAX - lib_word(i, 2),
                                 UINT64_MAX};
        enum { LIES_COUNT = sizeof lies / sizeof lies[0] };
        atomic_store(&page->next, lies[lib_word(i, 3) % LIES_COUNT]);
        atomic_store(&page->hold, lies[lib_word(i, 4) % LIES_COUNT]);
        atomic_store(&page->last[slot], lies[lib_word(i, 5) % LIES_COUNT]);
        atomic_store(&page->done, lies[lib_word(i, 6) % LIES_COUNT]);
        atomic_store(&page->waits, lib_word(i, 7) % 2);
        if (i % 64 != 0) continue;
        while (!ends && atomic_load(&ring->head) == head)
            ends = ipc_heard(parent, 'e');
    }
    REQUIRE_EQ(atomic_load(&page->dropped), 0);
    ipc_say(parent, 'd');
    munmap((void *)page, CULVI_IPC_PAGE);
    munmap((void *)(uintptr_t)ring, CULVI_IPC_PAGE);
    culvi_ipc_close_fds(fds, 2);
    close(fd);
}

/* What the producer tells of the consumers can be: one of them lies. */
static void require_told(const producer *p, uint64_t frames)
{
    culv_ipc_consumer_info info[4];
    size_t count = 0;
    count = culv_ipc_ring_consumers(p->slots.ring, info, 4);
    for (size_t i = 0; i < count; i++)
        REQUIRE(info[i].behind <= frames && info[i].lag <= CULV_IPC_LAG_PRODUCER);
}

/* Drops the third one if it is late, which it is for ever. */
static bool drop_third(producer *p, const ipc_child *third)
{
    static const culv_ipc_lag lags[] = {CULV_IPC_LAG_HOST, CULV_IPC_LAG_GPU, CULV_IPC_LAG_HOST};
    culv_ipc_consumer_info info[4];
    size_t count = 0;
    lib_finish(&p->w, p->stream);
    count = culv_ipc_ring_consumers(p->slots.ring, info, 4);
    REQUIRE_EQ(count, 3);
    for (size_t i = 0; i < count; i++) {
        if (info[i].pid != third->pid || info[i].late == 0) continue;
        REQUIRE(info[i].policy == CULV_RING_FIFO && info[i].lag == lags[misdeed]);
        REQUIRE_EQ(info[i].behind, ring_slots);
        LIB_OK(culv_ipc_ring_drop(p->slots.ring, info[i].number));
        return true;
    }
    return false;
}

static void go_on_past(enum misdeed what, culv_ring_policy policy)
{
    const ipc_role roles[] = {read_every, read_newest, what == LIES ? lie : misbehave};
    ipc_child child[3];
    producer p;
    char name[CULV_IPC_NAME_SIZE];
    const char word[] = {'p', (char)('0' + what), (char)('0' + policy), 0};
    bool dropped = false;
    misdeed = what;
    misdeed_policy = policy;
    /* Two, and one for each consumer of the newest frame. */
    ring_slots = policy == CULV_RING_MAILBOX ? 4 : 3;
    ipc_name(name, word);
    for (int i = 0; i < 3; i++)
        ipc_fork(&child[i], roles[i], name);
    producer_open(&p, name, false);
    for (int i = 0; i < 3; i++)
        ipc_hear_serving(&child[i], 'j', p.slots.server);
    for (int i = 0; i < FRAMES; i++) {
        culv_ring_frame f;
        const double until = test_now_us() + TEST_FAR_MS * 1000.0;
        for (;;) {
            const culv_result result = culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER,
                                                            p.stream, UINT64_C(2000000), &f);
            if (result == CULV_OK) break;
            REQUIRE_EQ(result, CULV_ERROR_TIMEOUT);
            if (policy == CULV_RING_FIFO && !dropped) dropped = drop_third(&p, &child[2]);
            if (test_now_us() > until) FAIL("frame %d has no slot", i);
        }
        require_told(&p, (uint64_t)i);
        ipc_slots_write(&p.slots, &p.w, p.stream, words[0], FRAMES, &f);
        if (i == 0) ipc_hear_serving(&child[2], 'h', p.slots.server);
    }
    REQUIRE_EQ(dropped, policy == CULV_RING_FIFO);
    for (int i = 0; i < 2; i++)
        ipc_hear_serving(&child[i], 'd', p.slots.server);
    lib_finish(&p.w, p.stream);
    ipc_say(&child[2], 'e');
    ipc_hear_serving(&child[2], 'd', p.slots.server);
    for (int i = 0; i < 3; i++)
        ipc_join_serving(&child[i], p.slots.server);
    wait_for_consumers(&p, 0);
    producer_close(&p, false);
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
TEST_AS(newest_lies, go_on_past(LIES, CULV_RING_MAILBOX), .title = "ring.past_newest.lies",
        .own = true)

/* A producer of the bound `nanoseconds`, and a consumer that reads nothing. */
static void open_late(producer *p, ipc_child *child, const char *word, uint64_t nanoseconds)
{
    char name[CULV_IPC_NAME_SIZE];
    misdeed = READS_NOT;
    misdeed_policy = CULV_RING_FIFO;
    ipc_fork(child, misbehave, ipc_name(name, word));
    limit = nanoseconds;
    producer_open(p, name, false);
    ipc_hear_serving(child, 'j', p->slots.server);
    ipc_hear(child, 'h');
}

static void count_late(void *user, culv_log_level level, const char *message)
{
    (void)level;
    *(unsigned *)user += strstr(message, "has no slot") != NULL;
}

/* The log has a line once, however often the producer asks. */
TEST(late_log, .own = true)
{
    ipc_child child;
    producer p;
    culv_ring_frame f;
    unsigned lines = 0;
    hears = (culv_log){count_late, &lines, CULV_LOG_DEBUG};
    open_late(&p, &child, "late-log", UINT64_C(1) << 40);
    for (int i = 0; i < SLOTS; i++)
        produce(&p, words);
    lib_finish(&p.w, p.stream);
    for (int i = 0; i < 20; i++)
        LIB_ERROR(culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER, p.stream, 0, &f), TIMEOUT,
                  RING_FULL);
    REQUIRE_EQ(lines, 1);
    ipc_kill(&child);
    wait_for_consumers(&p, 0);
    producer_close(&p, false);
}

/* The bound drops who is late, and that one is told. */
TEST(late_limit, .own = true)
{
    ipc_child child;
    producer p;
    open_late(&p, &child, "late-limit", 1);
    for (int i = 0; i < 2 * SLOTS; i++)
        produce(&p, words);
    REQUIRE_EQ(culv_ipc_ring_consumers(p.slots.ring, NULL, 0), 0);
    ipc_say(&child, 'e');
    ipc_hear(&child, 'd');
    ipc_join_serving(&child, p.slots.server);
    producer_close(&p, false);
}

/* A consumer leaves while its stream waits for a producer that lives and never signals. */
static void hold_ready(ipc_child *parent, const char *name)
{
    producer p;
    culv_ring_frame f;
    vmm_gate gate;
    producer_open(&p, name, false);
    wait_for_consumers(&p, 1);
    const vmm_stage s = {.w = p.w};
    vmm_gate_begin(&s, &gate);
    LIB_OK(culv_ring_acquire_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, IPC_FAR, &f));
    LIB_OK(culv_ring_release_on(p.slots.ring, CULV_RING_PRODUCER, gate.stream, &f));
    ipc_say(parent, 'p');
    for (;;)
        LIB_OK(culv_ipc_server_poll(p.slots.server, CULV_IPC_FOREVER, NULL));
}

TEST(leave_waiting, .own = true)
{
    enum { RELEASES = 1, CLIENT_FIRST = 2 };
    ipc_child child;
    consumer c;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_child children[4];
    for (int how = 0; how < 4; how++)
        ipc_fork(&children[how], hold_ready,
                 ipc_name(name, (const char[]){'l', (char)('0' + how), 0}));
    for (int how = 0; how < 4; how++) {
        child = children[how];
        consumer_open(&c, ipc_name(name, (const char[]){'l', (char)('0' + how), 0}),
                      CULV_RING_FIFO);
        ipc_hear(&child, 'p');
        LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
        if (how & RELEASES) LIB_OK(culv_ring_release_on(c.side, CULV_RING_CONSUMER, c.stream, &f));
        REQUIRE_EQ(lib_query(&c.s.w, c.stream), CUDA_ERROR_NOT_READY);
        if (how & CLIENT_FIRST)
            culv_ipc_client_destroy(&c.client);
        else
            culv_ring_destroy(&c.side, NULL);
        lib_finish(&c.s.w, c.stream); /* it hangs unless the timeline was moved on */
        consumer_close(&c);
        ipc_kill(&child);
    }
}

/* CUDA's side of a ring between processes has every ring's calls ------------------------------- */

static void refuse_others_calls(culv_ring *core, culv_ring_side side)
{
    const culv_ring_side far = side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    const culv_ring_settings settings = culv_ring_settings_init();
    culv_ring_frame f = {.number = 0};
    uint64_t value = 0;
    LIB_ERROR(culv_ring_acquire(core, side, 0, &f), INVALID, RING_SIDE, "culv_ring_acquire_on()");
    LIB_ERROR(culv_ring_release(core, side, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_flush(core, side, &value), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_acquire(core, far, 0, &f), INVALID, RING_SIDE,
              "of this ring is in another process");
    LIB_ERROR(culv_ring_acquire_on(core, far, NULL, 0, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_release(core, far, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_release_on(core, far, NULL, &f), INVALID, RING_SIDE);
    LIB_ERROR(culv_ring_flush(core, far, &value), INVALID, RING_SIDE);
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

static void consume_by_core(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f, other;
    culv_ring_stats stats = culv_ring_stats_init();
    consumer_open(&c, name, CULV_RING_FIFO);
    culv_ring *core = c.side;
    refuse_others_calls(core, CULV_RING_CONSUMER);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < FRAMES; i++) {
        LIB_OK(culv_ring_acquire_on(core, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        REQUIRE_EQ(f.wait_value, i + 1);
        other = f;
        other.number++;
        LIB_ERROR(culv_ring_release_on(core, CULV_RING_CONSUMER, c.stream, &other), INVALID,
                  RING_ORDER, "is not the one that is held");
        LIB_ERROR(culv_ring_flush_on(core, CULV_RING_CONSUMER, c.stream), INVALID, RING_ORDER);
        LIB_ERROR(culv_ring_drain(core, 0, 0), BUSY, RING_ORDER);
        LIB_OK(culv_ring_cancel(core, CULV_RING_CONSUMER, &f)); /* it comes again */
        REQUIRE_EQ(consume(&c), i);
        LIB_OK(culv_ring_flush_on(core, CULV_RING_CONSUMER, c.stream));
    }
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    LIB_OK(culv_ring_get_stats(core, &stats));
    REQUIRE_EQ(stats.consumed, FRAMES);
    REQUIRE_EQ(stats.depth, SLOTS);
    stop_a_sleeper(core, CULV_RING_CONSUMER, c.stream);
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    ipc_say(parent, 'd');
    ipc_hear(parent, 'e');
    consumer_close(&c);
}

TEST(by_core, .title = "ring.core", .own = true)
{
    ipc_child child;
    producer p;
    culv_ring_frame f, other;
    culv_ring_stats stats = culv_ring_stats_init();
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, consume_by_core, ipc_name(name, "core"));
    producer_open(&p, name, false);
    culv_ring *core = p.slots.ring;
    refuse_others_calls(core, CULV_RING_PRODUCER);
    ipc_hear_serving(&child, 'j', p.slots.server);
    for (uint64_t i = 0; i < FRAMES; i++) {
        LIB_OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, p.stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        other = f;
        other.slot++;
        LIB_ERROR(culv_ring_cancel(core, CULV_RING_PRODUCER, &other), INVALID, RING_ORDER);
        LIB_ERROR(culv_ring_drain(core, 0, 0), BUSY, RING_ORDER);
        LIB_OK(culv_ring_cancel(core, CULV_RING_PRODUCER, &f)); /* it never was */
        produce(&p, words);
    }
    ipc_hear_serving(&child, 'd', p.slots.server);
    LIB_OK(culv_ring_drain(core, IPC_FAR, 0));
    LIB_OK(culv_ring_get_stats(core, &stats));
    REQUIRE_EQ(stats.produced, FRAMES);
    for (int i = 0; i < SLOTS; i++) /* the consumer takes no more */
        produce(&p, words);
    stop_a_sleeper(core, CULV_RING_PRODUCER, p.stream);
    ipc_say(&child, 'e');
    ipc_join_serving(&child, p.slots.server);
    wait_for_consumers(&p, 0);
    producer_close(&p, false);
}
