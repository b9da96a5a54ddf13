/* SPDX-License-Identifier: MIT */
/* samples/ipc_python/culvert_ipc.py, a client that was written from docs/ipc-protocol.md: it reads
 * what this library offers, and is a consumer of its rings. ipc_peer.py has its half of each
 * case. */
#define TEST_GROUP "python."
#include "ipc_stage.h"

#include <unistd.h>

enum { SLOTS = 3, FRAMES = 24 };

static const uint32_t sizes[] = {1, 4097, 819200};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* ipc_peer.py computes the same. */
static unsigned char byte_of(uint32_t i, uint32_t frame)
{
    return (unsigned char)(i * 7 + (i >> 8) + frame * 13);
}

/* The other program --------------------------------------------------------------------------- */

static const char *played; /* the case */

static void peer(ipc_child *parent, const char *name)
{
    /* Its words come and go where this process's would. */
    if (dup2(parent->told, STDIN_FILENO) < 0 || dup2(parent->tell, STDOUT_FILENO) < 0) _exit(1);
    execl(CULVERT_PYTHON, CULVERT_PYTHON, "-B", CULVERT_IPC_PEER, played, name, (char *)NULL);
    _exit(TEST_SKIPPED); /* there is no Python here */
}

static void play(ipc_child *child, const char *scenario, char name[CULV_IPC_NAME_SIZE])
{
    played = scenario;
    ipc_fork(child, peer, ipc_name(name, scenario));
}

/* A ring of `size` bytes a slot --------------------------------------------------------------- */

typedef struct stage {
    vmm_stage s;
    CUstream stream;
    culv_ipc_server *server;
    culv_ring *ring;
    culv_vmm_range *range;
    culv_vmm_allocation *memory[SLOTS];
    unsigned char *frames[FRAMES]; /* the stream reads them until it is waited for */
    uint32_t size, made;
} stage;

static void offer_slot(stage *t, uint32_t slot)
{
    culv_ipc_info info = culv_ipc_info_init();
    t->memory[slot] = vmm_allocation(&t->s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    LIB_OK(culv_vmm_map(t->range, slot * VMM_BLOCK, t->memory[slot], NULL, 0));
    info.size = t->size;
    if (t->ring != NULL)
        LIB_OK(culv_ipc_ring_offer(t->ring, slot, 0, &info, culv_ipc_from_vmm(t->memory[slot])));
}

static void stage_open(stage *t, const char *name, uint32_t size, bool ring)
{
    memset(t, 0, sizeof *t);
    vmm_stage_open(&t->s);
    if (!t->s.w.cu->software) SKIP("a CPU can read the twin's memory alone");
    t->size = size;
    t->stream = lib_stream(&t->s.w);
    t->server = ipc_server(t->s.w.device, name);
    t->range = vmm_range(&t->s, SLOTS);
    if (ring) {
        culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
        d.name = "frames";
        d.num_slots = SLOTS;
        LIB_OK(culv_ipc_ring_create(t->server, &d, &t->ring));
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        offer_slot(t, i);
}

static void stage_close(stage *t)
{
    culv_ring_destroy(&t->ring, NULL);
    culv_ipc_server_destroy(&t->server);
    lib_finish(&t->s.w, t->stream);
    lib_stream_destroy(&t->s.w, t->stream);
    lib_settle(&t->s.w);
    LIB_OK(culv_vmm_unmap(t->range, 0, culv_vmm_range_size(t->range), NULL));
    LIB_OK(culv_vmm_range_destroy(&t->range));
    for (uint32_t i = 0; i < SLOTS; i++)
        culv_vmm_allocation_destroy(&t->memory[i]);
    for (uint32_t i = 0; i < FRAMES; i++)
        free(t->frames[i]);
    vmm_stage_close(&t->s);
}

/* The bytes of a frame at `slot`, by the stream. */
static void write_slot(stage *t, uint32_t slot, uint32_t frame, uint32_t size)
{
    unsigned char *data = malloc(size);
    REQUIRE(data != NULL && t->made < FRAMES);
    t->frames[t->made++] = data;
    for (uint32_t i = 0; i < size; i++)
        data[i] = byte_of(i, frame);
    LIB_CU_OK(&t->s.w,
              t->s.w.cu->MemcpyHtoDAsync(vmm_address(t->range, slot), data, size, t->stream));
}

static void produce(stage *t)
{
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(t->ring, CULV_RING_PRODUCER, t->stream, IPC_FAR, &f));
    write_slot(t, f.slot, (uint32_t)f.number, t->size);
    LIB_OK(culv_ring_release_on(t->ring, CULV_RING_PRODUCER, t->stream, &f));
}

/* Cases ---------------------------------------------------------------------------------------- */

TEST(objects, .own = true, .smoke = true)
{
    static const char *const names[SIZES] = {"one", "odd", "many"};
    char name[CULV_IPC_NAME_SIZE];
    ipc_child child;
    stage t;
    play(&child, "objects", name);
    stage_open(&t, name, 0, false);
    for (uint32_t i = 0; i < SIZES; i++) {
        culv_ipc_info info = culv_ipc_info_named(names[i]);
        info.size = sizes[i];
        strcpy(info.text, "words for the other side");
        LIB_OK(culv_ipc_offer(t.server, &info, culv_ipc_from_vmm(t.memory[i])));
        write_slot(&t, i, i, sizes[i]);
    }
    lib_finish(&t.s.w, t.stream);
    ipc_say(&child, 'g');
    ipc_join_serving(&child, t.server);
    REQUIRE_EQ(culv_ipc_server_clients(t.server), 0);
    stage_close(&t);
    ipc_forget(&child);
}

/* Every frame in FIFO, the last one in MAILBOX; then the consumer leaves, and the client stays. In
 * FIFO it holds a frame for long: the producer is told, and goes on as soon as it is given back. */
static void frames(const char *scenario, uint32_t size)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_child child;
    stage t;
    play(&child, scenario, name);
    stage_open(&t, name, size, true);
    ipc_say(&child, 'g');
    ipc_hear_serving(&child, 'j', t.server); /* it has joined */
    REQUIRE_EQ(culv_ipc_ring_consumers(t.ring, NULL, 0), 1);
    for (uint32_t i = 0; i < FRAMES; i++) {
        culv_ring_frame f;
        if (i == SLOTS && strcmp(scenario, "fifo") == 0) {
            ipc_hear_serving(&child, 'h', t.server); /* it holds frame 0 */
            LIB_ERROR(culv_ring_acquire_on(t.ring, CULV_RING_PRODUCER, t.stream, 0, &f), TIMEOUT,
                      RING_FULL);
            ipc_say(&child, 'r');
        }
        produce(&t);
    }
    ipc_hear_serving(&child, 'l', t.server); /* it has left */
    ipc_serve(t.server);
    REQUIRE_EQ(culv_ipc_ring_consumers(t.ring, NULL, 0), 0);
    REQUIRE_EQ(culv_ipc_server_clients(t.server), 1);
    ipc_say(&child, 'e');
    ipc_join_serving(&child, t.server);
    stage_close(&t);
    ipc_forget(&child);
}

TEST(fifo, .own = true)
{
    for (uint32_t i = 0; i < SIZES; i++)
        frames("fifo", sizes[i]);
}

TEST(mailbox, .own = true)
{
    for (uint32_t i = 0; i < SIZES; i++)
        frames("mailbox", sizes[i]);
}

/* The producer turns it away, and it is told that the ring runs on. */
TEST(dropped, .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_child child;
    stage t;
    play(&child, "dropped", name);
    stage_open(&t, name, 4097, true);
    ipc_say(&child, 'g');
    ipc_hear_serving(&child, 'j', t.server);
    produce(&t);
    ipc_hear_serving(&child, 'h', t.server);
    LIB_OK(culv_ipc_ring_drop(t.ring, 0));
    ipc_say(&child, 'd');
    ipc_join_serving(&child, t.server);
    REQUIRE_EQ(culv_ipc_ring_consumers(t.ring, NULL, 0), 0);
    stage_close(&t);
    ipc_forget(&child);
}

static void producing(ipc_child *parent, const char *name)
{
    stage t;
    stage_open(&t, name, 4097, true);
    ipc_say(parent, 'g');
    while (culv_ipc_ring_consumers(t.ring, NULL, 0) == 0)
        LIB_OK(culv_ipc_server_poll(t.server, UINT64_C(2000000), NULL));
    produce(&t);
    for (;;) /* until it is killed */
        LIB_OK(culv_ipc_server_poll(t.server, IPC_FAR, NULL));
}

/* The producer is killed while the consumer holds a frame. */
TEST(orphan, .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_child child, producer;
    play(&child, "orphan", name);
    ipc_fork(&producer, producing, name);
    ipc_hear(&producer, 'g');
    ipc_say(&child, 'g');
    ipc_hear(&child, 'h');
    ipc_kill(&producer);
    ipc_say(&child, 'k');
    ipc_join(&child);
    ipc_forget(&child);
    ipc_forget(&producer);
}
