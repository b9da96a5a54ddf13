/* SPDX-License-Identifier: MIT */
/* A ring between processes: every byte of every frame, by counters and by Vulkan's timelines, with
 * consumers that come, go and die. */
#include "ipc_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    ipc_slots_open(&p->slots, &s, name, SLOTS, WORDS);
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
    while (culv_ipc_ring_consumers(p->slots.ring) != count) {
        LIB_OK(culv_ipc_server_poll(p->slots.server, UINT64_C(2000000), NULL));
        if (test_now_us() > until)
            FAIL("%u consumers, not %u", culv_ipc_ring_consumers(p->slots.ring), count);
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
    culv_ipc_consumer *side;
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
    LIB_OK(culv_ipc_consumer_join(c->client, &d, IPC_FAR, &c->side));
    culv_ipc_timelines none = culv_ipc_timelines_init(); /* they are counters */
    LIB_ERROR(culv_ipc_consumer_get_timelines(c->side, &none), CULV_ERROR_INVALID,
              CULV_REASON_VALUE);
    uint32_t parts = 0;
    REQUIRE_EQ(culv_ipc_consumer_slots(c->side, &parts), SLOTS);
    REQUIRE_EQ(parts, 1);
    c->range = vmm_range(&c->s, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_ipc_object *object = NULL;
        culv_vmm_allocation *memory = NULL;
        LIB_OK(culv_ipc_consumer_receive(c->side, i, 0, IPC_FAR, &object));
        LIB_OK(culv_ipc_import_vmm(object, &memory));
        LIB_OK(culv_vmm_map(c->range, i * VMM_BLOCK, memory, NULL, 0));
        culv_vmm_allocation_destroy(&memory);
        culv_ipc_object_destroy(&object);
    }
}

static void consumer_close(consumer *c)
{
    if (c->stream != NULL) lib_finish(&c->s.w, c->stream);
    culv_ipc_consumer_destroy(&c->side);
    culv_ipc_client_destroy(&c->client);
    lib_settle(&c->s.w);
    LIB_OK(culv_vmm_unmap(c->range, 0, culv_vmm_range_size(c->range)));
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
    culv_ipc_frame f;
    LIB_OK(culv_ipc_consumer_acquire_on(c->side, c->stream, IPC_FAR, &f));
    CUcontext before = lib_enter(&c->s.w);
    CU_OK(c->s.w.cu->MemcpyDtoHAsync(words, culv_vmm_range_pointer(c->range) + f.slot * VMM_BLOCK,
                                     sizeof words, c->stream));
    lib_leave(&c->s.w, before);
    LIB_OK(culv_ipc_consumer_release_on(c->side, c->stream, &f));
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

static void every(void)
{
    run_with(read_every, NULL);
}

static void other_gpu(void)
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

static void newest(void)
{
    run_with(read_newest, NULL);
}

static void both(void)
{
    run_with(read_every, read_newest);
}

/* Consumers that are killed: while they hold a frame, while the producer's stream waits for them,
 * and while they wait. The producer goes on, and a consumer that comes late gets every frame. */
static void die_holding(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ipc_frame f;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    (void)consume(&c);
    LIB_OK(culv_ipc_consumer_acquire_on(c.side, c.stream, IPC_FAR, &f));
    ipc_say(parent, 'h');
    pause();
}

/* It gives the slot back, and its stream never signals. */
static void die_unsignaled(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ipc_frame f;
    vmm_gate gate;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    vmm_gate_begin(&c.s, &gate);
    for (int i = 0; i < SLOTS; i++) {
        LIB_OK(culv_ipc_consumer_acquire_on(c.side, gate.stream, IPC_FAR, &f));
        LIB_OK(culv_ipc_consumer_release_on(c.side, gate.stream, &f));
    }
    ipc_say(parent, 'h');
    pause();
}

static void die_waiting(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ipc_frame f;
    consumer_open(&c, name, CULV_RING_FIFO);
    ipc_say(parent, 'j');
    for (int i = 0; i < SLOTS; i++)
        (void)consume(&c);
    ipc_say(parent, 'h');
    LIB_OK(culv_ipc_consumer_acquire_on(c.side, c.stream, IPC_FAR, &f));
    pause();
}

static void deaths(void)
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
            /* In the second role these streams wait for what never comes. */
            culv_ipc_frame f;
            if (roles[i] != die_holding) {
                produce(&p, words);
            } else {
                /* One is free again: the child has read the first frame. */
                produce(&p, words);
                LIB_ERROR(culv_ipc_ring_acquire_on(p.slots.ring, p.stream, 1000, &f),
                          CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL);
                LIB_SAYS("has not given back");
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

/* The producer dies: before its GPU has signaled what the consumer's stream waits for. */
static void die_producing(ipc_child *parent, const char *name)
{
    producer p;
    culv_ipc_frame f;
    vmm_gate gate;
    producer_open(&p, name, false);
    wait_for_consumers(&p, 1);
    const vmm_stage s = {.w = p.w};
    vmm_gate_begin(&s, &gate);
    LIB_OK(culv_ipc_ring_acquire_on(p.slots.ring, gate.stream, IPC_FAR, &f));
    LIB_OK(culv_ipc_ring_release_on(p.slots.ring, gate.stream, &f));
    ipc_say(parent, 'p');
    for (;;)
        LIB_OK(culv_ipc_server_poll(p.slots.server, CULV_IPC_FOREVER, NULL));
}

static void producer_dies(void)
{
    ipc_child child;
    consumer c;
    culv_ipc_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, die_producing, ipc_name(name, "dies"));
    consumer_open(&c, name, CULV_RING_FIFO);
    LIB_OK(culv_ipc_consumer_acquire_on(c.side, c.stream, IPC_FAR, &f));
    LIB_OK(culv_ipc_consumer_release_on(c.side, c.stream, &f));
    ipc_hear(&child, 'p');
    REQUIRE_EQ(lib_query(&c.s.w, c.stream), CUDA_ERROR_NOT_READY);
    REQUIRE(culv_ipc_consumer_connected(c.side));
    ipc_kill(&child);
    REQUIRE(!culv_ipc_consumer_connected(c.side));
    lib_finish(&c.s.w, c.stream); /* it hangs unless the timeline was moved on */
    LIB_ERROR(culv_ipc_consumer_acquire_on(c.side, c.stream, IPC_FAR, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
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

static void stream_gone(void)
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
    culv_ipc_consumer *side = NULL;
    culv_ipc_frame f;
    vmm_stage_open(&s);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    LIB_OK(culv_ipc_consumer_join(client, &d, IPC_FAR, &side));
    ipc_say(parent, 'j');
    LIB_ERROR(culv_ipc_consumer_acquire(side, IPC_FAR, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    culv_ipc_consumer_destroy(&side);
    culv_ipc_client_destroy(&client);
    vmm_stage_close(&s);
}

static void server_first(void)
{
    ipc_child child;
    vmm_stage s;
    ipc_slots slots;
    culv_ipc_ring *second = NULL;
    culv_ipc_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, outlive, ipc_name(name, "server-first"));
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    ipc_slots_open(&slots, &s, name, 2, WORDS);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "second";
    d.slots = 1;
    LIB_OK(culv_ipc_ring_create(slots.server, &d, &second));
    ipc_hear_serving(&child, 'j', slots.server);
    LIB_OK(culv_ipc_ring_acquire(slots.ring, 0, &f)); /* it goes while a frame is held */
    culv_ipc_server_destroy(&slots.server);
    ipc_join(&child);
    const culv_ipc_info info = culv_ipc_info_init();
    REQUIRE_EQ(culv_ipc_ring_consumers(slots.ring), 0);
    LIB_ERROR(culv_ipc_ring_release(slots.ring, &f), CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
    LIB_SAYS("the ring's server was destroyed");
    LIB_ERROR(culv_ipc_ring_acquire(slots.ring, IPC_FAR, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_release_on(slots.ring, stream, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_acquire_on(slots.ring, stream, IPC_FAR, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_drop(slots.ring, 0), CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
    LIB_ERROR(culv_ipc_ring_offer_vmm(slots.ring, 0, 0, slots.memory[0], &info), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    culv_ipc_ring_destroy(&second);
    ipc_slots_close(&slots, &s.w);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s); /* it counts files and objects */
    ipc_forget(&child);
}

const test_case ipc_ring_cases[] = {
    {.name = "ring.every", .run = every, .own = true, .smoke = true},
    {.name = "ring.other_gpu", .run = other_gpu, .own = true},
    {.name = "ring.newest", .run = newest, .own = true},
    {.name = "ring.both", .run = both, .own = true},
    {.name = "ring.deaths", .run = deaths, .own = true},
    {.name = "ring.stream_gone", .run = stream_gone, .own = true},
    {.name = "ring.server_first", .run = server_first, .own = true},
    {.name = "ring.producer_dies", .run = producer_dies, .own = true},
    {.name = NULL},
};
