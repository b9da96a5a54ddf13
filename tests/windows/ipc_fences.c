/* SPDX-License-Identifier: MIT */
/* Rings between processes, from CUDA to CUDA, and such whose timelines are a graphics API's: fences
 * of Direct3D 12 and 11, and Vulkan's timelines. The side that makes them submits their values to a
 * queue of its own, which a CUDA stream plays with semaphores that the library knows nothing of. */
#include "ipc_scene.h"

enum { FRAMES = 12, SLOT_WORDS = 3907, FENCES = CULV_SOFT_SHARE_SEMAPHORE };

typedef struct fence_row {
    culv_handle_type type;
    uint32_t share;
    bool producers; /* the producer makes them for each consumer; else the consumer brings them */
} fence_row;
static const fence_row rows[] = {
    {CULV_HANDLE_D3D12_FENCE, FENCES + 4, false},
    {CULV_HANDLE_D3D12_FENCE, FENCES + 4, true},
    {CULV_HANDLE_D3D11_FENCE, FENCES + 5, false},
    {CULV_HANDLE_D3D11_FENCE, FENCES + 5, true},
    {CULV_HANDLE_OPAQUE_WIN32, FENCES + 10, false},
    {CULV_HANDLE_OPAQUE_WIN32, FENCES + 10, true},
    {CULV_HANDLE_NONE, 0, false}, /* CUDA on both sides */
};
enum { DYING = 3 /* the first ones */, CUDA = sizeof rows / sizeof rows[0] - 1 };

/* The row is a part of the server's name: the other process knows it by that. */
static const fence_row *row_of(const char *name)
{
    return &rows[strrchr(name, '.')[1] - '0'];
}

/* Two timelines, and a graphics API's queue that uses them. */
typedef struct queue {
    const ipc_scene *scene;
    CUstream stream; /* signals for who has died */
    culv_handle ready_handle, done_handle;
    culv_semaphore *ready, *done;
    unsigned made, dropped, called;
    uint64_t value; /* of the last call */
} queue;

static void queue_open(queue *q, const ipc_scene *s, const fence_row *row)
{
    memset(q, 0, sizeof *q);
    q->scene = s;
    CU_OK(s->cu->cuStreamCreate(&q->stream, CU_STREAM_NON_BLOCKING));
    if (row->type == CULV_HANDLE_NONE) return;
    q->ready_handle = culv_handle_win32(row->type, scene_share(NULL, row->share, false, 0));
    q->done_handle = culv_handle_win32(row->type, scene_share(NULL, row->share, false, 0));
    q->ready = scene_timeline(s->device, q->ready_handle, 0);
    q->done = scene_timeline(s->device, q->done_handle, 0);
}

static void queue_close(queue *q)
{
    culv_semaphore_destroy(&q->ready, NULL);
    culv_semaphore_destroy(&q->done, NULL);
    if (q->ready_handle.value.win32 != NULL) culv_handle_close(&q->ready_handle);
    if (q->done_handle.value.win32 != NULL) culv_handle_close(&q->done_handle);
    CU_OK(q->scene->cu->cuStreamDestroy(q->stream));
}

static culv_result signal_ready(void *context, uint64_t value)
{
    queue *q = context;
    q->called++;
    q->value = value;
    return culv_semaphore_signal(q->ready, q->stream, value);
}

static culv_ipc_timelines lend(queue *q, const fence_row *row)
{
    culv_ipc_timelines t = culv_ipc_timelines_init();
    t.ready = q->ready_handle;
    t.done = q->done_handle;
    if (row->type == CULV_HANDLE_D3D12_FENCE) { /* which a host signals: ID3D12Fence::Signal */
        t.signal = signal_ready;
        t.context = q;
    }
    return t;
}

/* The producer's side -------------------------------------------------------------------------- */

typedef struct maker {
    queue queue;
    const fence_row *row;
} maker;

static culv_result make(void *context, uint32_t consumer, culv_ipc_timelines *out)
{
    maker *m = context;
    REQUIRE(consumer == 0);
    m->queue.made++;
    *out = lend(&m->queue, m->row);
    return CULV_OK;
}

static void drop(void *context, uint32_t consumer)
{
    maker *m = context;
    REQUIRE(consumer == 0);
    m->queue.dropped++;
}

typedef struct producer {
    ipc_scene scene;
    maker maker;
    culv_ipc_server *server;
    culv_ring *ring;
    culv_buffer *slots[SCENE_SLOTS];
} producer;

static const wchar_t section[] = L"Local\\culvert ipc fences";

static void producer_open(producer *p, const char *name)
{
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    memset(p, 0, sizeof *p);
    ipc_open(&p->scene);
    p->maker.row = row_of(name);
    queue_open(&p->maker.queue, &p->scene, p->maker.row);
    if (p->maker.row->producers) {
        d.make = make;
        d.drop = drop;
        d.context = &p->maker;
    }
    p->server = ipc_server(&p->scene, name);
    p->ring = ipc_ring(&p->scene, p->server, &d, section, p->slots);
}

static void producer_close(producer *p)
{
    culv_ring_destroy(&p->ring, NULL);
    culv_ipc_server_destroy(&p->server);
    ipc_leave_ring(p->slots);
    REQUIRE(p->maker.queue.made == p->maker.row->producers);
    REQUIRE(p->maker.queue.dropped == p->maker.queue.made);
    queue_close(&p->maker.queue);
    REQUIRE(!scene_name_lives(section));
    ipc_close(&p->scene);
}

/* The slot that comes next, without its data, by who produces: CUDA's stream, or the queue. */
static culv_result next_frame(const producer *p, uint64_t timeout, culv_ring_frame *f)
{
    return p->maker.row->producers
               ? culv_ring_acquire(p->ring, CULV_RING_PRODUCER, timeout, f)
               : culv_ring_acquire_on(p->ring, CULV_RING_PRODUCER, p->scene.stream, timeout, f);
}

static culv_result let_go(const producer *p, culv_ring_frame *f)
{
    return p->maker.row->producers
               ? culv_ring_release(p->ring, CULV_RING_PRODUCER, f)
               : culv_ring_release_on(p->ring, CULV_RING_PRODUCER, p->scene.stream, f);
}

static void produce(producer *p, uint32_t number)
{
    const bool by_cuda = !p->maker.row->producers; /* with the consumer's timelines */
    const ipc_scene *s = &p->scene;
    culv_ring_frame f;
    if (!by_cuda && number == 0)
        REFUSES(culv_ring_acquire_on(p->ring, CULV_RING_PRODUCER, s->stream, 0, &f), INVALID,
                RING_SIDE);
    OK(next_frame(p, SCENE_FAR, &f));
    REQUIRE(f.number == number && (by_cuda || f.wait_value == 0));
    ipc_write(s, culv_buffer_pointer(p->slots[f.slot]), SLOT_WORDS, number);
    OK(let_go(p, &f));
    if (by_cuda) return;
    REQUIRE(f.signal_value == number + 1);
    OK(culv_semaphore_signal(p->maker.queue.ready, s->stream, f.signal_value));
}

/* The consumer's side -------------------------------------------------------------------------- */

typedef struct reader {
    ipc_scene scene;
    queue queue;
    const fence_row *row;
    culv_ipc_client *client;
    culv_ring *side;
    culv_buffer *slots[SCENE_SLOTS];
} reader;

static void reader_open(reader *r, const char *name)
{
    memset(r, 0, sizeof *r);
    ipc_open(&r->scene);
    r->row = row_of(name);
    r->client = ipc_client(&r->scene, name);
    queue_open(&r->queue, &r->scene, r->row);
    const culv_ipc_timelines t = lend(&r->queue, r->row);
    const bool lends = !r->row->producers && r->row->type != CULV_HANDLE_NONE;
    culv_ipc_timelines made = culv_ipc_timelines_init();
    r->side = ipc_join_ring(r->client, lends ? &t : NULL, &made, r->slots);
    if (!r->row->producers) {
        REQUIRE(made.ready.type == CULV_HANDLE_NONE);
        return;
    }
    /* What the producer made, for a queue of this process's. */
    REQUIRE(made.ready.type == r->row->type && made.done.type == r->row->type);
    culv_semaphore_destroy(&r->queue.ready, NULL);
    culv_semaphore_destroy(&r->queue.done, NULL);
    r->queue.ready = scene_timeline(r->scene.device, made.ready, 0);
    r->queue.done = scene_timeline(r->scene.device, made.done, 0);
}

static void reader_close(reader *r)
{
    culv_ring_destroy(&r->side, NULL);
    culv_ipc_client_destroy(&r->client);
    ipc_leave_ring(r->slots);
    queue_close(&r->queue);
    ipc_close(&r->scene);
}

/* By a stream, or by the queue; the producer's timelines by both in turn. */
static bool by_stream(const reader *r, uint64_t number)
{
    return r->row->type == CULV_HANDLE_NONE || (r->row->producers && number % 2 == 0);
}

/* Acquires a frame and has it waited for. */
static culv_ring_frame take(reader *r, uint32_t number)
{
    culv_ring_frame f;
    if (by_stream(r, number)) {
        OK(culv_ring_acquire_on(r->side, CULV_RING_CONSUMER, r->scene.stream, SCENE_FAR, &f));
    } else {
        OK(culv_ring_acquire(r->side, CULV_RING_CONSUMER, SCENE_FAR, &f));
        OK(culv_semaphore_wait(r->queue.ready, r->scene.stream, f.wait_value));
    }
    REQUIRE(f.number == number && (r->row->type == CULV_HANDLE_NONE || f.wait_value == number + 1));
    return f;
}

static void give(reader *r, culv_ring_frame *f)
{
    if (by_stream(r, f->number)) {
        OK(culv_ring_release_on(r->side, CULV_RING_CONSUMER, r->scene.stream, f));
        return;
    }
    OK(culv_ring_release(r->side, CULV_RING_CONSUMER, f));
    OK(culv_semaphore_signal(r->queue.done, r->scene.stream, f->signal_value));
}

/* The cases ------------------------------------------------------------------------------------ */

ROLE(read_frames)
{
    reader r;
    culv_ring_frame f;
    reader_open(&r, name);
    ipc_say(name, 'j');
    for (uint32_t i = 0; i < FRAMES; i++) {
        f = take(&r, i);
        ipc_require(&r.scene, culv_buffer_pointer(r.slots[f.slot]), SLOT_WORDS, i);
        give(&r, &f);
    }
    if (r.row->type == CULV_HANDLE_NONE) { /* the server goes before this side */
        ipc_say(name, 'r');
        REFUSES(culv_ring_acquire_on(r.side, CULV_RING_CONSUMER, r.scene.stream, SCENE_FAR, &f),
                ASYNC, RING_STOPPED);
        REQUIRE(!culv_ipc_ring_connected(r.side));
    }
    CU_OK(r.scene.cu->cuStreamSynchronize(r.scene.stream));
    reader_close(&r);
}

static const char *name_of(char out[CULV_IPC_NAME_SIZE], const char *what, size_t row)
{
    char word[32];
    snprintf(word, sizeof word, "%s.%u", what, (unsigned)row);
    return ipc_name(out, word);
}

static void run_ring(size_t row)
{
    producer p;
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    producer_open(&p, name_of(name, "ring", row));
    const HANDLE child = ipc_start("read_frames", name);
    ipc_hear(name, 'j', p.server);
    for (uint32_t i = 0; i < FRAMES; i++)
        produce(&p, i);
    if (row == CUDA) {
        ipc_hear(name, 'r', p.server);
        CU_OK(p.scene.cu->cuStreamSynchronize(p.scene.stream));
        culv_ipc_server_destroy(&p.server);
        ipc_join(child, NULL);
        REFUSES(next_frame(&p, 0, &f), ASYNC, RING_STOPPED);
    } else {
        ipc_join(child, p.server);
        while (culv_ipc_ring_consumers(p.ring, NULL, 0) > 0)
            OK(culv_ipc_server_poll(p.server, SCENE_FAR, NULL));
        CU_OK(p.scene.cu->cuStreamSynchronize(p.scene.stream));
    }
    producer_close(&p);
}

TEST_AS(ring, run_ring(CUDA))

TEST(fences)
{
    for (size_t row = 0; row < CUDA; row++)
        run_ring(row);
}

static void CUDA_CB hang(void *unused)
{
    Sleep(INFINITE);
}

/* It releases a frame, and its queue, or its stream, never gets there. */
ROLE(write_and_hang)
{
    producer p;
    culv_ring_frame f;
    producer_open(&p, name);
    while (culv_ipc_ring_consumers(p.ring, NULL, 0) == 0)
        OK(culv_ipc_server_poll(p.server, SCENE_FAR, NULL));
    ipc_hear(name, 's', p.server); /* it has its slots */
    if (!p.maker.row->producers) CU_OK(p.scene.cu->cuLaunchHostFunc(p.scene.stream, hang, NULL));
    OK(next_frame(&p, SCENE_FAR, &f));
    OK(let_go(&p, &f));
    ipc_say(name, 'h');
    for (;;)
        OK(culv_ipc_server_poll(p.server, SCENE_FAR, NULL));
}

/* What consumers that die leave is library-ipc.ring's. */
TEST(writer_dies, .title = "fences_writer_dies")
{
    for (size_t row = 0; row < DYING; row++) {
        reader r;
        HANDLE child;
        char name[CULV_IPC_NAME_SIZE];
        name_of(name, "dead-writer", row);
        child = ipc_start("write_and_hang", name);
        reader_open(&r, name);
        const ipc_scene *s = &r.scene;
        ipc_say(name, 's');
        ipc_hear(name, 'h', NULL);
        (void)take(&r, 0);
        REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
        ipc_kill(child);
        while (culv_ipc_ring_connected(r.side))
            Sleep(1);
        CU_OK(s->cu->cuStreamSynchronize(s->stream)); /* it hangs unless it was moved on */
        const bool called = row == 0;                 /* else CUDA signals */
        REQUIRE(r.queue.called == called && r.queue.value == called);
        reader_close(&r);
    }
}

/* What is no pair of timelines: the producer's, of which the consumer is told, or the consumer's
 * own, which it refuses by itself. */
static const struct {
    culv_handle_type ready, done;
    bool named, of_consumers;
    culv_reason reason; /* 0: the type */
} odd[] = {
    {CULV_HANDLE_D3D12_FENCE, CULV_HANDLE_OPAQUE_WIN32, false, true, 0},
    {CULV_HANDLE_D3D12_FENCE, CULV_HANDLE_D3D11_FENCE, false, false, 0},
    {CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_NONE, false, false, 0},
    {CULV_HANDLE_NONE, CULV_HANDLE_NONE, false, false, 0},
    {CULV_HANDLE_D3D12_HEAP, CULV_HANDLE_D3D12_HEAP, false, true, 0},
    {CULV_HANDLE_D3D11_KEYED_MUTEX, CULV_HANDLE_D3D11_KEYED_MUTEX, false, false, 0},
    {CULV_HANDLE_OPAQUE_WIN32_KMT, CULV_HANDLE_OPAQUE_WIN32_KMT, false, false, 0},
    {CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_OPAQUE_WIN32, true, false, 0},
    {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_OPAQUE_FD, false, false, 0},
    /* A fence that says to be another thing: the producer's driver refuses it. */
    {CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_OPAQUE_WIN32, false, true, CULV_REASON_HANDLE_REFUSED},
    {CULV_HANDLE_D3D11_FENCE, CULV_HANDLE_D3D11_FENCE, false, true, CULV_REASON_HANDLE_REFUSED},
};
enum { ODD = sizeof odd / sizeof odd[0], ODD_OF_PRODUCERS = 9 };

static culv_handle odd_handle(culv_handle_type type, bool named)
{
    static HANDLE fence;
    if (fence == NULL) fence = scene_share(NULL, FENCES + 4, false, 0);
    return named                           ? culv_handle_opaque_win32_named(L"Local\\some name")
           : type == CULV_HANDLE_OPAQUE_FD ? culv_handle_opaque_fd(0)
           : type == CULV_HANDLE_NONE      ? (culv_handle){.type = CULV_HANDLE_NONE}
                                           : culv_handle_win32(type, fence);
}

typedef struct odd_maker {
    int made, dropped;
} odd_maker;

static culv_result make_odd(void *context, uint32_t consumer, culv_ipc_timelines *out)
{
    odd_maker *m = context;
    REQUIRE(m->made < ODD_OF_PRODUCERS);
    out->ready = odd_handle(odd[m->made].ready, odd[m->made].named);
    out->done = odd_handle(odd[m->made++].done, false);
    return CULV_OK;
}

static void drop_odd(void *context, uint32_t consumer)
{
    ((odd_maker *)context)->dropped++;
}

IPC_CASE(refused, .title = "fences_refused")
{
    for (int own = 0; own < 2; own++) {
        culv_buffer *slots[SCENE_SLOTS];
        culv_ring *side = NULL;
        char name[CULV_IPC_NAME_SIZE];
        odd_maker m = {0, 0};
        culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
        culv_ipc_consumer_desc join = culv_ipc_consumer_desc_init();
        culv_ipc_timelines t = culv_ipc_timelines_init();
        if (!own) {
            d.make = make_odd;
            d.drop = drop_odd;
            d.context = &m;
        }
        ipc_answerer a = {.server = ipc_server(s, name_of(name, "odd", (size_t)own))};
        culv_ring *ring = ipc_ring(s, a.server, &d, NULL, slots);
        ipc_answer(&a);
        culv_ipc_client *client = ipc_client(s, name);
        join.ring = "frames";
        if (own) join.timelines = &t;
        for (int i = 0; i < (own ? ODD : ODD_OF_PRODUCERS); i++) {
            if (own && !odd[i].of_consumers) continue;
            t.ready = odd_handle(odd[i].ready, odd[i].named);
            t.done = odd_handle(odd[i].done, false);
            REFUSES_AS(culv_ipc_ring_join(client, &join, SCENE_FAR, &side),
                       odd[i].reason != 0 ? CULV_ERROR_DRIVER : CULV_ERROR_INVALID,
                       odd[i].reason != 0 ? odd[i].reason : CULV_REASON_HANDLE_TYPE, "");
            REQUIRE(side == NULL);
        }
        culv_ipc_client_destroy(&client);
        ipc_stop_answering(&a);
        REQUIRE(m.made == (own ? 0 : ODD_OF_PRODUCERS) && m.dropped == m.made);
        REQUIRE(culv_ipc_ring_consumers(ring, NULL, 0) == 0);
        culv_ring_destroy(&ring, NULL);
        culv_ipc_server_destroy(&a.server);
        ipc_leave_ring(slots);
    }
}
