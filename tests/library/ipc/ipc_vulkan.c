/* SPDX-License-Identifier: MIT */
/* A ring whose producer is Vulkan: it makes two timelines for each consumer. The consumers are
 * CUDA or Vulkan, in other processes; one of them dies. */
#define TEST_GROUP "ring."
#include "ipc_stage.h"

#include <unistd.h>

enum { SLOTS = 3, FRAMES = 40, WORDS = 12347, MOST = 4 };

/* A consumer ----------------------------------------------------------------------------------- */

typedef struct consumer {
    vmm_stage s;
    culv_ipc_client *client;
    culv_ring *side;
    CUstream stream;
    culv_buffer *slots[SLOTS];
} consumer;

static void consumer_open(consumer *c, const char *name)
{
    memset(c, 0, sizeof *c);
    vmm_stage_open(&c->s);
    c->stream = lib_stream(&c->s.w);
    c->client = ipc_client(c->s.w.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    LIB_OK(culv_ipc_ring_join(c->client, &d, IPC_FAR, &c->side));
    for (uint32_t i = 0; i < SLOTS; i++) {
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, c->side, i, 0, IPC_FAR);
        REQUIRE_EQ(ipc_info_of(object).kind, CULV_IPC_BUFFER);
        LIB_OK(culv_ipc_import_buffer(object, &c->slots[i]));
    }
}

static void consume(consumer *c, uint64_t number)
{
    static uint32_t words[WORDS];
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(c->side, CULV_RING_CONSUMER, c->stream, IPC_FAR, &f));
    REQUIRE_EQ(f.number, number);
    LIB_CU_OK(&c->s.w, c->s.w.cu->MemcpyDtoHAsync(words, culv_buffer_pointer(c->slots[f.slot]),
                                                  sizeof words, c->stream));
    LIB_OK(culv_ring_release_on(c->side, CULV_RING_CONSUMER, c->stream, &f));
    lib_finish(&c->s.w, c->stream);
    REQUIRE_WORDS(words, WORDS, (uint32_t)number);
}

static void read_every(ipc_child *parent, const char *name)
{
    consumer c;
    consumer_open(&c, name);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < FRAMES; i++)
        consume(&c, i);
    ipc_say(parent, 'd');
    culv_ring_destroy(&c.side, NULL);
    culv_ipc_client_destroy(&c.client);
    for (uint32_t i = 0; i < SLOTS; i++)
        culv_buffer_unmap(&c.slots[i], NULL);
    lib_settle(&c.s.w);
    lib_stream_destroy(&c.s.w, c.stream);
    vmm_stage_close(&c.s);
}

static VkSemaphore import_timeline(raw_vk *vk, const culv_handle *handle)
{
    culv_handle mine;
    LIB_OK(culv_handle_dup(handle, &mine));
    return raw_vk_timeline_import(vk, mine.value.fd);
}

/* Vulkan on this side, too: the producer's timelines in a queue of this process's. */
static void read_in_vulkan(ipc_child *parent, const char *name)
{
    lib_world w;
    raw_vk_buffer slots[SLOTS], host, like;
    culv_ipc_timelines t = culv_ipc_timelines_init(), bad = {.struct_size = 0};
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    lib_open(&w);
    culv_ipc_client *client = ipc_client(w.device, name);
    d.ring = "frames";
    culv_ring *side = NULL;
    d.made = &bad;
    LIB_ERROR(culv_ipc_ring_join(client, &d, IPC_FAR, &side), INVALID, STRUCT_SIZE);
    d.made = &t;
    LIB_OK(culv_ipc_ring_join(client, &d, IPC_FAR, &side));
    REQUIRE(t.ready.type == CULV_HANDLE_OPAQUE_FD && t.done.type == CULV_HANDLE_OPAQUE_FD);
    REQUIRE(t.signal == NULL && t.context == NULL);
    const VkSemaphore ready = import_timeline(&w.vk, &t.ready),
                      done = import_timeline(&w.vk, &t.done);
    raw_vk_buffer_create(&w.vk, WORDS * 4, RAW_VK_HOST, &host);
    raw_vk_buffer_create(&w.vk, WORDS * 4, RAW_VK_EXPORT, &like);
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_handle handle;
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, side, i, 0, IPC_FAR);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE(info.allocation_size == like.allocation_size && info.offset == like.offset);
        LIB_OK(culv_ipc_object_get_handle(object, &handle));
        LIB_OK(culv_handle_dup(&handle, &handle));
        raw_vk_buffer_import(&w.vk, handle.value.fd, &like, &slots[i]);
    }
    ipc_say(parent, 'j');
    for (uint32_t i = 0; i < FRAMES; i++) {
        culv_ring_frame f;
        raw_vk_job job;
        memset(&job, 0, sizeof job);
        LIB_OK(culv_ring_acquire(side, CULV_RING_CONSUMER, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        job.wait = ready;
        job.wait_value = f.wait_value;
        LIB_OK(culv_ring_release(side, CULV_RING_CONSUMER, &f));
        job.signal = done;
        job.signal_value = f.signal_value;
        raw_vk_copy(&w.vk, &slots[f.slot], 0, &host, 0, WORDS * 4, &job);
        raw_vk_idle(&w.vk);
        REQUIRE_WORDS((const uint32_t *)host.mapped, WORDS, i);
    }
    ipc_say(parent, 'd');
    culv_ring_destroy(&side, NULL);
    culv_ipc_client_destroy(&client);
    for (uint32_t i = 0; i < SLOTS; i++)
        raw_vk_buffer_destroy(&w.vk, &slots[i]);
    raw_vk_buffer_destroy(&w.vk, &like);
    raw_vk_buffer_destroy(&w.vk, &host);
    raw_vk_timeline_destroy(&w.vk, ready);
    raw_vk_timeline_destroy(&w.vk, done);
    lib_settle(&w);
    lib_close(&w);
}

/* It ends with a frame in its hands, and the producer's queue must not wait for it. */
static void die(ipc_child *parent, const char *name)
{
    consumer c;
    culv_ring_frame f;
    consumer_open(&c, name);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < 2; i++)
        consume(&c, i);
    LIB_OK(culv_ring_acquire_on(c.side, CULV_RING_CONSUMER, c.stream, IPC_FAR, &f));
    ipc_say(parent, 'h');
    pause();
}

/* The producer --------------------------------------------------------------------------------- */

typedef struct lines {
    lib_world *w;
    VkSemaphore ready[MOST], done[MOST];
    culv_handle handles[2 * MOST];
    uint32_t made, dropped;
} lines;

static culv_result make(void *context, uint32_t number, culv_ipc_timelines *out)
{
    lines *l = context;
    REQUIRE(number < MOST);
    l->ready[number] = raw_vk_timeline(&l->w->vk, 0, true);
    l->done[number] = raw_vk_timeline(&l->w->vk, 0, true);
    culv_handle *h = &l->handles[2 * number];
    h[0] = culv_handle_opaque_fd(raw_vk_timeline_fd(&l->w->vk, l->ready[number]));
    h[1] = culv_handle_opaque_fd(raw_vk_timeline_fd(&l->w->vk, l->done[number]));
    out->ready = h[0];
    out->done = h[1];
    l->made++;
    return CULV_OK;
}

static void drop(void *context, uint32_t number)
{
    lines *l = context;
    culv_handle_close(&l->handles[2 * number]);
    culv_handle_close(&l->handles[2 * number + 1]);
    raw_vk_idle(&l->w->vk);
    raw_vk_timeline_destroy(&l->w->vk, l->ready[number]);
    raw_vk_timeline_destroy(&l->w->vk, l->done[number]);
    l->ready[number] = l->done[number] = VK_NULL_HANDLE;
    l->dropped++;
}

static void produce(lib_world *w, culv_ring *ring, const lines *l, const raw_vk_buffer *host,
                    const raw_vk_buffer slots[SLOTS])
{
    culv_ring_frame f;
    raw_vk_job job;
    memset(&job, 0, sizeof job);
    LIB_OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, IPC_FAR, &f));
    REQUIRE_EQ(f.wait_value, 0);
    if (f.number == 0) {
        LIB_ERROR(culv_ring_release_on(ring, CULV_RING_PRODUCER, NULL, &f), INVALID, RING_SIDE,
                  "culv_ipc_ring_desc.make");
        LIB_OK(culv_ring_cancel(ring, CULV_RING_PRODUCER, &f)); /* it never was */
        LIB_OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, IPC_FAR, &f));
    }
    for (uint32_t i = 0; i < WORDS; i++)
        ((uint32_t *)host->mapped)[i] = lib_word(i, (uint32_t)f.number);
    const uint32_t slot = f.slot;
    LIB_OK(culv_ring_release(ring, CULV_RING_PRODUCER, &f));
    REQUIRE_EQ(f.signal_value, f.number + 1);
    for (int i = 0; i < MOST; i++) {
        if (l->ready[i] == VK_NULL_HANDLE) continue;
        job.signal = l->ready[i];
        job.signal_value = f.signal_value;
    }
    raw_vk_copy(&w->vk, host, 0, &slots[slot], 0, WORDS * 4, &job);
}

static void run(ipc_role role, const char *word, bool dies)
{
    ipc_child child;
    lib_world w;
    raw_vk_buffer slots[SLOTS], host;
    lines l = {.w = &w};
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, role, ipc_name(name, word));
    lib_open(&w);
    culv_ipc_server *server = ipc_server(w.device, name);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "frames";
    d.num_slots = SLOTS;
    d.max_consumers = MOST;
    d.make = make;
    d.drop = drop;
    d.context = &l;
    NEW(culv_ring, ring, culv_ipc_ring_create, server, &d);
    raw_vk_buffer_create(&w.vk, WORDS * 4, RAW_VK_HOST, &host);
    for (uint32_t i = 0; i < SLOTS; i++) {
        raw_vk_buffer_create(&w.vk, WORDS * 4, RAW_VK_EXPORT, &slots[i]);
        culv_handle handle = culv_handle_opaque_fd(raw_vk_buffer_fd(&w.vk, &slots[i]));
        culv_ipc_info info = culv_ipc_info_init();
        info.kind = CULV_IPC_BUFFER;
        info.allocation_size = slots[i].allocation_size;
        info.offset = slots[i].offset;
        info.size = slots[i].size;
        LIB_OK(culv_ipc_ring_offer(ring, i, 0, &info, culv_ipc_from_handle(&handle)));
        culv_handle_close(&handle);
    }
    ipc_hear_serving(&child, 'j', server);
    REQUIRE_EQ(l.made, 1);
    if (dies) {
        for (int i = 0; i < SLOTS; i++)
            produce(&w, ring, &l, &host, slots);
        ipc_hear_serving(&child, 'h', server);
        ipc_kill(&child);
    } else {
        for (int i = 0; i < FRAMES; i++)
            produce(&w, ring, &l, &host, slots);
        ipc_hear_serving(&child, 'd', server);
        ipc_join_serving(&child, server);
    }
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    /* A consumer that has left no longer counts at once; a poll gives its timelines back. */
    while (culv_ipc_ring_consumers(ring, NULL, 0) > 0 || l.dropped == 0) {
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
        if (test_now_us() > until) FAIL("the consumer is still there");
    }
    REQUIRE_EQ(l.dropped, 1);
    for (int i = 0; i < 2 * SLOTS; i++) /* nobody looks, and nothing is waited for */
        produce(&w, ring, &l, &host, slots);
    culv_ring_destroy(&ring, NULL);
    culv_ipc_server_destroy(&server);
    lib_settle(&w);
    for (uint32_t i = 0; i < SLOTS; i++)
        raw_vk_buffer_destroy(&w.vk, &slots[i]);
    raw_vk_buffer_destroy(&w.vk, &host);
    lib_close(&w);
}

TEST_AS(from_vulkan, run(read_every, "from-vulkan", false), .own = true)

TEST_AS(vulkan_to_vulkan, run(read_in_vulkan, "vulkan-to-vulkan", false), .own = true)
TEST_AS(from_vulkan_dies, run(die, "from-vulkan-dies", true), .own = true)
