/* SPDX-License-Identifier: MIT */
/* Peers that lie: clients that attack a server, and servers that attack a client. After each attack
 * the victim works, and has no file, mapping or thread more than before. */
#define TEST_GROUP "attacks."
#include "ipc_stage.h"

#include "ipc/ipc_ring_side.h"
#include "ipc/posix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Attacks on a server -------------------------------------------------------------------------- */

static void closes(hostile *t, int fd)
{
    ipc_serve(t->server);
    REQUIRE(raw_closed(fd));
    close(fd);
}

/* Sends bytes after a greeting: the connection must be closed. */
static void bytes_close(hostile *t, const void *bytes, size_t size, const int *fds, size_t count)
{
    const int fd = hostile_greeted(t);
    while (!raw_send(fd, bytes, size, fds, count)) {
        REQUIRE_EQ(errno, EPERM); /* no descriptors come in while many wait to be closed */
        ipc_serve(t->server);
        lib_sleep_ms(1);
    }
    closes(t, fd);
}

static void message_closes(hostile *t, const culvi_ipc_message *m, const int *fds, size_t count)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_encode(m, bytes);
    bytes_close(t, bytes, sizeof bytes, fds, count);
}

/* A message that is refused by an answer; the connection stays. */
static void refused(hostile *t, const culvi_ipc_message *m, const int *fds, culv_reason reason)
{
    const int fd = hostile_greeted(t);
    REQUIRE(raw_send_message(fd, m, fds));
    ipc_serve(t->server);
    const culvi_ipc_message answer = raw_answer(fd);
    REQUIRE_EQ(answer.type, CULVI_IPC_ERROR);
    REQUIRE_EQ(answer.reason, reason);
    REQUIRE_EQ(answer.sequence, m->sequence);
    REQUIRE(answer.text[0] != 0);
    close(fd);
}

/* Bytes that are no message: rubbish, none, a byte with descriptors (a packet without bytes carries
 * none), one too few, one too many, far too many. */
static void no_messages(hostile *t)
{
    static unsigned char bytes[100000];
    const culvi_ipc_message m = raw_message(CULVI_IPC_LIST);
    for (uint32_t i = 0; i < CULVI_IPC_BYTES; i++)
        bytes[i] = (unsigned char)lib_word(i, 7);
    bytes_close(t, bytes, CULVI_IPC_BYTES, NULL, 0);
    bytes_close(t, "", 0, NULL, 0);
    bytes_close(t, "x", 1, t->pipe, 2);
    memset(bytes, 0, CULVI_IPC_BYTES);
    bytes[0] = 0x43;
    bytes_close(t, bytes, CULVI_IPC_BYTES - 1, NULL, 0);
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, CULVI_IPC_BYTES + 1, NULL, 0);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
/* Descriptors that were not asked for, whether they are announced or not, and too many of them. */
static void unasked_fds(hostile *t)
{
    culvi_ipc_message m = raw_message(CULVI_IPC_LIST);
    int fds[253];
    for (size_t i = 0; i < 253; i++)
        fds[i] = t->pipe[i % 2];
    message_closes(t, &m, fds, 2);
    message_closes(t, &m, fds, 253);
    message_closes(t, &m, fds, CULVI_IPC_FDS + 1);
    m.fds = 2;
    message_closes(t, &m, fds, 2);
}
static void no_greeting(hostile *t)
{
    int fd = raw_connect(t->name);
    REQUIRE(raw_send(fd, "GET / HTTP/1.1\r\n", 16, NULL, 0));
    closes(t, fd);
    fd = raw_connect(t->name);
    raw_ask(fd, CULVI_IPC_LIST, "");
    closes(t, fd);
}
/* Names that nobody offers, and those of another kind. */
static void wrong_offers(hostile *t)
{
    static const struct {
        culvi_ipc_type type;
        const char *name;
        uint64_t number;
        culv_reason reason;
    } rows[] = {
        {CULVI_IPC_RECEIVE, "cellars", 0, CULV_REASON_IPC_NAME},
        {CULVI_IPC_CHUNKS, "cellars", 0, CULV_REASON_IPC_NAME},
        {CULVI_IPC_JOIN, "cellars", 0, CULV_REASON_IPC_NAME},
        {CULVI_IPC_CHUNKS, "cells", UINT64_MAX, CULV_REASON_VALUE},
        {CULVI_IPC_JOIN, "cells", 0, CULV_REASON_VALUE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culvi_ipc_message m = raw_named(rows[i].type, rows[i].name);
        m.number = rows[i].number;
        refused(t, &m, NULL, rows[i].reason);
    }
}
static void join_wrongly(hostile *t)
{
    culvi_ipc_message m = raw_named(CULVI_IPC_JOIN, "frames");
    m.join.timelines = 2; /* what only a server says */
    refused(t, &m, NULL, CULV_REASON_VALUE);
    m.join.timelines = 1; /* without its two descriptors: as if they had not been let in */
    refused(t, &m, NULL, CULV_REASON_VALUE);
    m.fds = 2;
    refused(t, &m, t->pipe, CULV_REASON_HANDLE_KIND);
    /* Types that no timeline has here; and one where no handles come. */
    static const uint32_t types[] =
        TEST_ROW(CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_D3D12_FENCE, CULV_HANDLE_DMA_BUF_FD,
                 CULV_HANDLE_FABRIC, UINT32_MAX, CULV_HANDLE_OPAQUE_FD);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        m.join.timelines = types[i] != CULV_HANDLE_OPAQUE_FD;
        m.join.handle_type = types[i];
        m.fds = 2 * m.join.timelines;
        message_closes(t, &m, t->pipe, m.fds);
    }
}
/* Whose GPU a client says that it has: only its own timelines are looked at with it. */
enum { MOST_DRIVER = 1000000 };
static void other_gpu(hostile *t)
{
    const int file = memfd_create("no timeline", MFD_CLOEXEC);
    const int both[] = {file, file};
    const culv_uuid own = lib_caps(t->s.w.device).uuid;
    culvi_ipc_message hello = raw_message(CULVI_IPC_HELLO);
    culvi_ipc_message join = raw_named(CULVI_IPC_JOIN, "frames");
    REQUIRE(file >= 0 && ftruncate(file, 100) == 0);
    join.join.timelines = 1;
    join.fds = 2;
    /* Another GPU; then a second greeting with the server's, after which the driver refuses. */
    const int fd = raw_connect(t->name);
    for (int greeting = 0; greeting < 2; greeting++) {
        memset(&hello.device, 0x77, sizeof hello.device);
        if (greeting == 1) hello.device = own;
        hello.driver = greeting == 0 ? MOST_DRIVER : 1;
        REQUIRE(raw_send_message(fd, &hello, NULL));
        ipc_serve(t->server);
        REQUIRE_EQ(raw_answer(fd).type, CULVI_IPC_HELLO);
        REQUIRE(raw_send_message(fd, &join, both));
        ipc_serve(t->server);
        const culvi_ipc_message a = raw_answer(fd);
        REQUIRE_EQ(a.type, CULVI_IPC_ERROR);
        REQUIRE_EQ(a.reason,
                   greeting == 0 ? CULV_REASON_DEVICE_MISMATCH : CULV_REASON_HANDLE_REFUSED);
        if (greeting == 0) {
            REQUIRE_EQ(a.result, CULV_ERROR_INVALID);
            REQUIRE(strstr(a.text, "77777777-7777") != NULL);
            REQUIRE(strstr(a.text, "without timelines") != NULL);
        }
    }
    close(fd);
    close(file);
}
static void raw_leave(culvi_ipc_consumer_page *page, const int ring[2])
{
    munmap((void *)page, CULVI_IPC_PAGE);
    culvi_ipc_close_fds(ring, 2);
}

static void leave_others(hostile *t)
{
    const int fd = hostile_greeted(t), other = hostile_greeted(t);
    int fds[2];
    culvi_ipc_consumer_page *page = hostile_join(t, fd, 1, CULV_RING_FIFO, fds);
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 0); /* it may have been given up */
    atomic_store(&page->state, (uint32_t)CULVI_IPC_LIVES);
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 1);
    culvi_ipc_message m = raw_message(CULVI_IPC_LEAVE);
    const uint64_t sequences[] = {1, 0, 2, UINT64_MAX, UINT64_C(1) << 32 | 1};
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        m.number = sequences[i];
        REQUIRE(raw_send_message(other, &m, NULL));
        if (i > 0) REQUIRE(raw_send_message(fd, &m, NULL));
        ipc_serve(t->server);
        REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 1);
    }
    m.number = 1;
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 0);
    raw_leave(page, fds);
    close(fd);
    close(other);
}
static void join_too_often(hostile *t)
{
    const int fd = hostile_greeted(t);
    culvi_ipc_message m = raw_named(CULVI_IPC_JOIN, "frames");
    for (int i = 0; i < 9; i++) {
        m.sequence = (uint32_t)i + 1;
        REQUIRE(raw_send_message(fd, &m, NULL));
        ipc_serve(t->server);
        const culvi_ipc_message a = raw_answer(fd);
        REQUIRE_EQ(a.type, i < 8 ? CULVI_IPC_JOIN : CULVI_IPC_ERROR);
    }
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 0); /* they never lived */
    /* One that is taken back makes room. */
    culvi_ipc_message leave = raw_message(CULVI_IPC_LEAVE);
    leave.number = 5;
    REQUIRE(raw_send_message(fd, &leave, NULL));
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE_EQ(raw_answer(fd).type, CULVI_IPC_JOIN);
    close(fd);
}
static culvi_ipc_ring_page *page_of(const culv_ring *ring)
{
    return culvi_ipc_ring_page_of(culvi_ipc_ring_of(ring, "page_of"));
}

typedef struct liar {
    const culvi_ipc_ring_page *ring;
    culvi_ipc_consumer_page *page;
    atomic_bool over;
    pthread_t thread;
} liar;

/* Nothing of its page is true: what a consumer holds and has given back goes back and forth, and
 * jumps beyond what there is, while the producer looks at it. */
static void *lie_on(void *arg)
{
    liar *me = arg;
    for (uint32_t i = 0; !atomic_load(&me->over); i++) {
        const uint32_t slot = i % 3;
        const uint64_t head = atomic_load(&me->ring->head);
        const uint64_t lies[] = {0,
                                 atomic_load(&me->ring->frames[slot]),
                                 head + 1,
                                 head / 2,
                                 head + lib_word(i, 1),
                                 UINT64_MAX - lib_word(i, 2),
                                 UINT64_MAX};
        enum { LIES = sizeof lies / sizeof lies[0] };
        atomic_store(&me->page->next, lies[lib_word(i, 3) % LIES]);
        atomic_store(&me->page->hold, lies[lib_word(i, 4) % LIES]);
        atomic_store(&me->page->last[slot], lies[lib_word(i, 5) % LIES]);
        atomic_store(&me->page->done, lies[lib_word(i, 6) % LIES]);
        atomic_store(&me->page->waits, lib_word(i, 7) % 2);
    }
    return NULL;
}

/* It gives all back in its page, and its GPU is never done. One of the newest frame holds up
 * nobody, also if all of its page is wild. For one of every frame the producer waits, and learns
 * its number. */
static void never_done(hostile *t)
{
    enum { LIES = 3, WILD = 2 * LIES };
    static const uint64_t values[LIES] = {1, UINT64_C(1) << 62, UINT64_MAX};
    CUstream stream = lib_stream(&t->s.w);
    for (size_t lie = 0; lie <= WILD; lie++) {
        const int fd = hostile_greeted(t);
        int fds[2];
        const culv_ring_policy policy = lie < LIES ? CULV_RING_FIFO : CULV_RING_MAILBOX;
        culvi_ipc_consumer_page *page = hostile_join(t, fd, 1, policy, fds);
        culv_ring_frame f;
        culv_ipc_consumer_info info;
        size_t count = 0;
        liar me = {.ring = page_of(t->ring), .page = page};
        atomic_store(&page->state, (uint32_t)CULVI_IPC_LIVES);
        if (lie == WILD) REQUIRE_EQ(pthread_create(&me.thread, NULL, lie_on, &me), 0);
        for (uint32_t i = 0; i < (lie == WILD ? 400 : 12); i++) {
            const culv_result result =
                culv_ring_acquire_on(t->ring, CULV_RING_PRODUCER, stream, 0, &f);
            if (result != CULV_OK) {
                REQUIRE_EQ(policy, CULV_RING_FIFO);
                LIB_SAYS("the GPU of the consumer 0");
                count = culv_ipc_ring_consumers(t->ring, &info, 1);
                REQUIRE(count == 1 && info.number == 0 && info.lag == CULV_IPC_LAG_GPU);
                REQUIRE(info.pid == getpid() && info.policy == policy);
                LIB_OK(culv_ipc_ring_drop(t->ring, info.number));
                REQUIRE_EQ(atomic_load(&page->dropped), 1);
                break;
            }
            LIB_OK(culv_ring_release_on(t->ring, CULV_RING_PRODUCER, stream, &f));
            lib_finish(&t->s.w, stream);
            if (lie == WILD) {
                REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, &info, 1), 1);
                REQUIRE(info.behind <= f.number + 1 && info.lag <= CULV_IPC_LAG_PRODUCER);
                REQUIRE_EQ(atomic_load(&page->dropped), 0);
                continue;
            }
            atomic_store(&page->hold, f.number + 1);
            atomic_store(&page->last[f.slot], values[lie % LIES] + (lie % LIES == 0 ? i : 0));
            atomic_store(&page->hold, 0);
            atomic_store(&page->next, f.number + 1);
            REQUIRE(policy == CULV_RING_MAILBOX || i < 11);
        }
        atomic_store(&me.over, true);
        if (lie == WILD) REQUIRE_EQ(pthread_join(me.thread, NULL), 0);
        raw_leave(page, fds);
        close(fd);
        ipc_serve(t->server);
        REQUIRE_EQ(culv_ipc_ring_consumers(t->ring, NULL, 0), 0);
    }
    hostile_settle(t);
    lib_stream_destroy(&t->s.w, stream);
}
/* It asks and never reads: it is not read from either, and few descriptors are in flight. */
static void deaf(hostile *t)
{
    const int fd = hostile_greeted(t);
    size_t asked = 0, came = 0;
    const culvi_ipc_message m = raw_named(CULVI_IPC_RECEIVE, "cells");
    while (raw_send_message(fd, &m, NULL)) {
        asked++;
        ipc_serve(t->server);
    }
    REQUIRE(asked > CULVI_IPC_FDS); /* the rest lies in its socket */
    REQUIRE_EQ(culv_ipc_server_clients(t->server), 1);
    hostile_be_honest(t);
    /* Once it reads, all of its answers come. */
    for (int round = 0; came < asked; round++) {
        culvi_ipc_message a;
        int fds[CULVI_IPC_FDS];
        const size_t before = came;
        while (raw_receive(fd, true, &a, fds) == CULVI_IPC_DONE) {
            REQUIRE(a.type == CULVI_IPC_RECEIVE && a.fds == 1);
            culvi_ipc_close_fds(fds, a.fds);
            came++;
        }
        REQUIRE(came > before && came - before <= 2 * CULVI_IPC_FDS);
        ipc_serve(t->server);
    }
    REQUIRE_EQ(came, asked);
    close(fd);
}
static void linger_at(hostile *h, const char *name, bool nested, bool empty_first)
{
    int fds[4];
    static const unsigned char bytes[CULVI_IPC_BYTES];
    hostile_lingering(h, nested, fds, 4);
    const int fd = hostile_keep(h, raw_connect(name));
    for (int i = 0; i < 40 && empty_first; i++)
        REQUIRE(raw_send(fd, bytes, 0, NULL, 0));
    const bool in = raw_send(fd, bytes, sizeof bytes, fds, 4);
    REQUIRE_EQ(in, !hostile_has_door());
    hostile_sent(h, in ? 4 : 0);
}
static void in_request(hostile *h, culvi_ipc_type type, size_t announced, size_t count)
{
    int fds[253];
    unsigned char bytes[CULVI_IPC_BYTES];
    hostile_lingering(h, true, fds, count);
    const int fd = hostile_keep(h, hostile_greeted(h));
    culvi_ipc_message m = raw_named(type, type == CULVI_IPC_JOIN ? "frames" : "cells");
    m.join.timelines = type == CULVI_IPC_JOIN;
    m.fds = (uint32_t)announced;
    culvi_ipc_encode(&m, bytes);
    REQUIRE(raw_send(fd, bytes, sizeof bytes, fds, count)); /* the ring takes some */
    hostile_sent(h, count);
}
/* How many files the server's set has. */
static size_t watched(const culv_ipc_server *server)
{
    char path[48], line[256];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", culv_ipc_server_fd(server));
    FILE *file = fopen(path, "re");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        count += strncmp(line, "tfd:", 4) == 0;
    fclose(file);
    return count;
}
/* Behind a message for which the connection is closed: so often that each thread which closes hangs
 * in one, and a connection stays open. */
static void behind_rubbish(hostile *h)
{
    enum { MANY = 17 };
    static const unsigned char bytes[CULVI_IPC_BYTES] = {1};
    raw_linger lingers[MANY];
    for (size_t i = 0; i < MANY; i++) {
        lingers[i] = raw_linger_make();
        raw_linger_wrap(&lingers[i]);
        const int fd = hostile_keep(h, hostile_greeted(h));
        REQUIRE(raw_send(fd, bytes, sizeof bytes, NULL, 0));
        REQUIRE(raw_send(fd, bytes, sizeof bytes, &lingers[i].fd, 1));
        close(lingers[i].fd);
        lingers[i].fd = -1;
        ipc_serve(h->server);
    }
    REQUIRE_EQ(watched(h->server), 1); /* its door: a wait for another one's file could end it */
    hostile_be_honest(h);
    for (size_t i = 0; i < MANY; i++)
        raw_linger_open(&lingers[i]);
}
/* Nobody reads the chunks' descriptors. */
static void be_deaf(hostile *h, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int fd = hostile_keep(h, hostile_greeted(h));
        for (int k = 0; k < 14; k++)
            raw_ask(fd, CULVI_IPC_CHUNKS, "particles");
        ipc_serve(h->server);
    }
    REQUIRE_EQ(culv_ipc_server_clients(h->server), count);
}
static void silent(hostile *h)
{
    for (int i = 0; i < 100; i++) {
        hostile_keep(h, raw_connect(h->name));
        ipc_serve(h->server);
    }
}
/* Their pages make no sense: the producer's stream would wait for ever. They join once more, or the
 * producer looks at them. */
static void consumers_without_sense(hostile *h)
{
    culvi_ipc_message m = raw_named(CULVI_IPC_JOIN, "frames");
    culv_ring_frame f;
    m.sequence = 2;
    for (int i = 0; i < 8; i++) {
        int fds[2];
        const int fd = hostile_keep(h, hostile_greeted(h));
        culvi_ipc_consumer_page *page = hostile_join(h, fd, 1, CULV_RING_FIFO, fds);
        /* The producer's page cannot be written, and neither can be shrunk. */
        REQUIRE(mmap(NULL, CULVI_IPC_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0) ==
                MAP_FAILED);
        REQUIRE(ftruncate(fds[0], 0) != 0 && ftruncate(fds[1], 0) != 0);
        REQUIRE(ftruncate(fds[1], 8192) != 0);
        if (i % 2 == 0) {
            atomic_store(&page->state, 77u);
            REQUIRE(raw_send_message(fd, &m, NULL));
            ipc_serve(h->server);
        } else {
            memset((void *)page, 0xff, CULVI_IPC_PAGE);
            LIB_OK(culv_ring_acquire_on(h->ring, CULV_RING_PRODUCER, NULL, 0, &f));
            LIB_OK(culv_ring_cancel(h->ring, CULV_RING_PRODUCER, &f));
        }
        REQUIRE(raw_closed(fd));
        raw_leave(page, fds);
    }
    for (int i = 0; i < 8; i++) /* and nobody has a place */
        REQUIRE(!culvi_ipc_ring_of(h->ring, "sense")->sides[i].used);
}

/* Attacks that are one call with its own values. */
#define ATTACK_AS(name, call)                                                                      \
    static void name(hostile *h)                                                                   \
    {                                                                                              \
        call;                                                                                      \
    }
ATTACK_AS(refused_user, linger_at(h, h->closed_name, false, false))
ATTACK_AS(refused_user_nested, linger_at(h, h->closed_name, true, false))
ATTACK_AS(refused_user_behind_nothing, linger_at(h, h->closed_name, true, true))
ATTACK_AS(before_greeting, linger_at(h, h->name, true, false))
ATTACK_AS(with_request, in_request(h, CULVI_IPC_RECEIVE, 4, 4))
ATTACK_AS(with_join, in_request(h, CULVI_IPC_JOIN, 2, 2))
ATTACK_AS(with_long_join, in_request(h, CULVI_IPC_JOIN, 2, 253))
ATTACK_AS(deaf_to_chunks, be_deaf(h, 13))
ATTACK_AS(deaf_in_all_places, be_deaf(h, 16))
ATTACK_AS(fifteen, hostile_crowd(h, 15))

#define ATTACK(name) TEST_ROW(#name, name, false)
#define BOTH(name)   TEST_ROW(#name, name, true)
static const struct {
    const char *name;
    void (*run)(hostile *h);
    bool both; /* also where the kernel has no door */
} server_attacks[] = {
    ATTACK(no_messages),
    ATTACK(unasked_fds),
    ATTACK(no_greeting),
    ATTACK(wrong_offers),
    ATTACK(join_wrongly),
    ATTACK(other_gpu),
    ATTACK(leave_others),
    ATTACK(join_too_often),
    ATTACK(never_done),
    ATTACK(deaf),
    BOTH(refused_user),
    BOTH(refused_user_nested),
    BOTH(refused_user_behind_nothing),
    BOTH(before_greeting),
    BOTH(with_request),
    BOTH(with_join),
    BOTH(with_long_join),
    BOTH(behind_rubbish),
    BOTH(deaf_to_chunks),
    BOTH(deaf_in_all_places),
    BOTH(silent),
    BOTH(fifteen),
    BOTH(consumers_without_sense),
};

/* While each attack lasts, and after it, an honest client gets what it asks for; nothing is left of
 * it. The kernel's own door is tried (SO_PASSRIGHTS), and that of kernels which have none. */
static void attack_a_server(bool old_kernel)
{
    /* The first round makes what the process keeps. A mapping of each attack would be 36 more; the
     * stacks of the threads that close are up to 32. */
    enum { ROUNDS = 3, FEW = 33 };
    static hostile h;
    size_t maps = 0;
    (void)mallopt(M_ARENA_MAX, 1); /* one of a thread's is no mapping of an attack's */
    atomic_store(&culvi_ipc_old_kernel, old_kernel);
    hostile_open(&h);
    REQUIRE_EQ(pipe2(h.pipe, O_CLOEXEC), 0);
    hostile_be_honest(&h);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof server_attacks / sizeof server_attacks[0]; i++) {
            if (old_kernel && !server_attacks[i].both) continue;
            hostile_settle(&h);
            const lib_level before = lib_level_now();
            printf("%d %s\n", round, server_attacks[i].name);
            fflush(stdout); /* a crash of the driver's leaves the last line */
            for (size_t k = 0; k < 4; k++)
                h.linger[k] = (raw_linger){-1, -1};
            server_attacks[i].run(&h);
            ipc_serve(h.closed);
            ipc_serve(h.server);
            hostile_be_honest(&h);
            hostile_leave(&h);
            if (round == 0) hostile_be_honest(&h);
            ipc_serve(h.server);
            REQUIRE_EQ(culv_ipc_server_clients(h.server), 0);
            REQUIRE_EQ(culv_ipc_ring_consumers(h.ring, NULL, 0), 0);
            for (size_t k = 0; k < 4; k++)
                if (h.linger[k].gate >= 0) raw_linger_open(&h.linger[k]);
            lib_settle(&h.s.w);
            hostile_settle(&h);
            lib_wait_threads(before.threads);
            test_settle_fds(before.fds, server_attacks[i].name);
            if (round > 0 && lib_threads() > before.threads)
                FAIL("%s leaves threads", server_attacks[i].name);
        }
        if (round == ROUNDS - 1) REQUIRE(lib_map_lines() < maps + FEW);
        maps = lib_map_lines();
    }
    close(h.pipe[0]);
    close(h.pipe[1]);
    hostile_close(&h);
    atomic_store(&culvi_ipc_old_kernel, false);
}

TEST_AS(attack_server, attack_a_server(false), .title = "attacks.server", .own = true,
        .smoke = true, .time_limit = 600)
TEST_AS(attack_server_on_old_kernels, attack_a_server(true),
        .title = "attacks.server_on_old_kernels", .own = true, .time_limit = 600)

/* Attacks on a client -------------------------------------------------------------------------- */

typedef struct impostor impostor;
typedef struct client_attack {
    const char *name;
    /* The impostor's answer to each question after the greeting. */
    void (*answer)(impostor *me, int fd, const culvi_ipc_message *question);
    culv_result result; /* of culv_ipc_client_receive("cells") */
    culv_reason reason;
    culv_result import_result; /* of culv_ipc_import_vmm(), where the first is OK */
    culv_reason import_reason;
} client_attack;

struct impostor {
    int listener;
    const client_attack *attack;
    culv_uuid device;
    uint32_t driver;
    int file;           /* of a block */
    int ring, consumer; /* pages */
    raw_linger linger;
};

static culvi_ipc_message cells(const impostor *me, const culvi_ipc_message *question)
{
    culvi_ipc_message m = raw_message(CULVI_IPC_RECEIVE);
    m.sequence = question->sequence;
    m.answer = true;
    m.info = culv_ipc_info_named("cells");
    m.info.kind = CULV_IPC_VMM;
    m.info.handle_type = CULV_HANDLE_OPAQUE_FD;
    m.info.device = me->device;
    m.info.allocation_size = VMM_BLOCK;
    m.info.size = VMM_BLOCK;
    m.fds = 1;
    return m;
}

#define ANSWER(name) static void answer_##name(impostor *me, int fd, const culvi_ipc_message *q)
#define SEND(m, fds) ((void)raw_send_message(fd, &(m), (fds)))
/* Answers of which all but `change` is right: of the memory, with its file, and of an error. */
#define CELLS_ANSWER(name, change)                                                                 \
    ANSWER(name)                                                                                   \
    {                                                                                              \
        culvi_ipc_message m = cells(me, q);                                                        \
        change;                                                                                    \
        SEND(m, &me->file);                                                                        \
    }
#define ERROR_ANSWER(name, change)                                                                 \
    ANSWER(name)                                                                                   \
    {                                                                                              \
        culvi_ipc_message m = raw_message(CULVI_IPC_ERROR);                                        \
        m.answer = true;                                                                           \
        m.sequence = q->sequence;                                                                  \
        change;                                                                                    \
        SEND(m, NULL);                                                                             \
    }
/* With a descriptor of this kind in the memory's place. */
#define FD_ANSWER(name, strange)                                                                   \
    ANSWER(name)                                                                                   \
    {                                                                                              \
        send_fd(me, fd, q, strange);                                                               \
    }
CELLS_ANSWER(without_fd, m.fds = 0)
CELLS_ANSWER(other_name, strcpy(m.info.name, "cellar"))
CELLS_ANSWER(the_future, m.sequence += 5)
CELLS_ANSWER(wide, (m.info.offset = VMM_BLOCK, m.info.size = UINT64_MAX - VMM_BLOCK + 2))
CELLS_ANSWER(elements_of_nothing, m.info.element_count = 5)
CELLS_ANSWER(small_file, m.info.allocation_size = m.info.size = 64 * VMM_BLOCK)
CELLS_ANSWER(rubbish_file, (void)0)
CELLS_ANSWER(other_device, memset(&m.info.device, 0x77, sizeof m.info.device))
ERROR_ANSWER(other_type, m.type = CULVI_IPC_LIST)
ERROR_ANSWER(error, (m.result = CULV_ERROR_INVALID, m.reason = CULV_REASON_IPC_NAME,
                     strcpy(m.text, "%s%n"))) /* text, not a format */
/* A terminal would obey it: CSI, as one byte and as a character. */
ERROR_ANSWER(control_in_error, (m.result = CULV_ERROR_INVALID, m.reason = CULV_REASON_IPC_NAME,
                                strcpy(m.text, "\x9b"
                                               "31m\xc2\x9b\x1b[2J\nb\xc3\xa9")))
ANSWER(rubbish)
{
    (void)raw_send(fd, "rubbish", 7, NULL, 0);
}
ANSWER(bye)
{
    (void)shutdown(fd, SHUT_RDWR);
}
ANSWER(two_fds)
{
    culvi_ipc_message m = cells(me, q);
    const int two[] = {me->file, me->file};
    m.fds = 2;
    SEND(m, two);
}
/* Late answers of earlier questions, with descriptors, and a wake: they are passed over. */
ANSWER(the_past)
{
    culvi_ipc_message m = cells(me, q);
    m.sequence--;
    for (int i = 0; i < 5; i++)
        SEND(m, &me->file);
    culvi_ipc_message wake = raw_message(CULVI_IPC_WAKE);
    wake.answer = true;
    SEND(wake, NULL);
    m.sequence++;
    SEND(m, &me->file);
}
static void send_fd(impostor *me, int fd, const culvi_ipc_message *q, int strange)
{
    culvi_ipc_message m = cells(me, q);
    if (strange < 0) return;
    SEND(m, &strange);
    close(strange);
}
static int end_of_pipe(void)
{
    int both[2];
    if (pipe2(both, O_CLOEXEC) != 0) return -1;
    close(both[1]);
    return both[0];
}
/* Its close() waits, and it is the client's alone. */
static int take_linger(impostor *me, bool nested)
{
    if (nested) raw_linger_wrap(&me->linger);
    const int fd = me->linger.fd;
    me->linger.fd = -1;
    return fd;
}
FD_ANSWER(pipe_end, end_of_pipe())
FD_ANSWER(place, open("/etc/passwd", O_PATH | O_CLOEXEC))
FD_ANSWER(file, open("/etc/passwd", O_RDONLY | O_CLOEXEC))
FD_ANSWER(directory, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
FD_ANSWER(inet, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
FD_ANSWER(terminal, open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
FD_ANSWER(linger, take_linger(me, false))
FD_ANSWER(nested_linger, take_linger(me, true))
/* The same, of earlier questions and more of them than a message has. */
ANSWER(past_linger)
{
    const int outer = take_linger(me, true);
    culvi_ipc_message m = cells(me, q);
    m.sequence--;
    SEND(m, &outer);
    m.sequence++;
    unsigned char bytes[CULVI_IPC_BYTES];
    int many[CULVI_IPC_FDS + 1];
    for (size_t i = 0; i < CULVI_IPC_FDS + 1; i++)
        many[i] = outer;
    culvi_ipc_encode(&m, bytes);
    (void)raw_send(fd, bytes, sizeof bytes, many, CULVI_IPC_FDS + 1);
    close(outer);
}

#define BREAKS(name)                                                                               \
    TEST_ROW(#name, answer_##name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0)
#define TELLS(name) TEST_ROW(#name, answer_##name, CULV_ERROR_INVALID, CULV_REASON_IPC_NAME, 0, 0)
#define IMPORTS(name, class, why)                                                                  \
    TEST_ROW(#name, answer_##name, CULV_OK, 0, CULV_ERROR_##class, CULV_REASON_##why)
static const client_attack client_attacks[] = {
    BREAKS(rubbish),
    BREAKS(without_fd),
    BREAKS(two_fds),
    BREAKS(other_name),
    BREAKS(other_type),
    BREAKS(the_future),
    BREAKS(wide),
    BREAKS(pipe_end),
    BREAKS(place),
    BREAKS(file),
    BREAKS(directory),
    BREAKS(inet),
    BREAKS(terminal),
    BREAKS(linger),
    BREAKS(nested_linger),
    BREAKS(past_linger),
    BREAKS(elements_of_nothing),
    TEST_ROW("bye", answer_bye, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, 0, 0),
    TELLS(error),
    TELLS(control_in_error),
    IMPORTS(the_past, DRIVER, HANDLE_REFUSED),
    IMPORTS(small_file, INVALID, SIZE),
    IMPORTS(rubbish_file, DRIVER, HANDLE_REFUSED),
    IMPORTS(other_device, INVALID, DEVICE_MISMATCH),
};

static bool next_question(int fd, culvi_ipc_message *out)
{
    int fds[CULVI_IPC_FDS];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, (int)TEST_FAR_MS) <= 0) return false;
    if (raw_receive(fd, false, out, fds) != CULVI_IPC_DONE) return false;
    culvi_ipc_close_fds(fds, out->fds);
    return true;
}

static void *impersonate(void *arg)
{
    impostor *me = arg;
    culvi_ipc_message q;
    char name[CULV_IPC_NAME_SIZE];
    if (me->attack->answer == answer_bye) { /* a server ends as it is greeted, and one begins */
        close(raw_accept(me->listener));
        close(me->listener);
        me->listener = raw_listen(ipc_name(name, "impostor"));
    }
    const int fd = raw_accept(me->listener);
    if (fd < 0) return NULL;
    for (bool greeted = false; next_question(fd, &q); greeted = true) {
        culvi_ipc_message hello = raw_message(CULVI_IPC_HELLO);
        hello.sequence = q.sequence;
        hello.answer = true;
        hello.device = me->device;
        hello.driver = me->driver;
        if (greeted)
            me->attack->answer(me, fd, &q);
        else
            (void)raw_send_message(fd, &hello, NULL);
    }
    close(fd);
    return NULL;
}

static void attack_a_client(bool old_kernel)
{
    vmm_stage s;
    atomic_store(&culvi_ipc_old_kernel, old_kernel);
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage_open(&s);
    ipc_name(name, "impostor");
    impostor me = {.listener = raw_listen(name), .device = lib_caps(s.w.device).uuid};
    me.file = memfd_create("no memory of CUDA's", MFD_CLOEXEC);
    REQUIRE(me.file >= 0 && ftruncate(me.file, (off_t)VMM_BLOCK) == 0);
    for (size_t i = 0; i < sizeof client_attacks / sizeof client_attacks[0]; i++) {
        const client_attack *attack = &client_attacks[i];
        const size_t fds = test_open_fds();
        pthread_t thread;
        printf("%s\n", attack->name);
        fflush(stdout);
        me.attack = attack;
        me.linger = raw_linger_make();
        REQUIRE_EQ(pthread_create(&thread, NULL, impersonate, &me), 0);
        culv_ipc_client *client = ipc_client(s.w.device, name);
        culv_ipc_object *object = POISON(culv_ipc_object);
        if (attack->result != CULV_OK) {
            LIB_FAILS(culv_ipc_client_receive(client, "cells", IPC_FAR, &object), attack->result,
                      attack->reason);
            REQUIRE(object == POISON(culv_ipc_object));
            if (attack->result == CULV_ERROR_ASYNC)
                LIB_ERROR(culv_ipc_client_receive(client, "cells", IPC_FAR, &object), ASYNC,
                          IPC_GONE);
        } else {
            culv_vmm_allocation *memory = POISON(culv_vmm_allocation);
            object = ipc_receive(client, "cells");
            LIB_FAILS(culv_ipc_import_vmm(object, &memory), attack->import_result,
                      attack->import_reason);
            REQUIRE(memory == POISON(culv_vmm_allocation));
            culv_ipc_object_destroy(&object);
        }
        /* No terminal gets what it would obey. */
        for (const unsigned char *c = (const unsigned char *)culv_last_error_message(); *c != 0;
             c++)
            REQUIRE(*c >= 0x20 && *c != 0x7f && (*c < 0x80 || *c >= 0xa0));
        culv_ipc_client_destroy(&client);
        close(me.linger.gate); /* the impostor may be the last one who has it */
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        if (me.linger.fd >= 0) close(me.linger.fd);
        test_settle_fds(fds, attack->name);
    }
    close(me.file);
    close(me.listener);
    vmm_stage_close(&s);
    atomic_store(&culvi_ipc_old_kernel, false);
}

TEST_AS(attack_client, attack_a_client(false), .title = "attacks.client", .own = true)
TEST_AS(attack_client_on_old_kernels, attack_a_client(true),
        .title = "attacks.client_on_old_kernels", .own = true)

/* A server that sends with its greeting what takes long to close, or wakes without end. */
static void *greet_badly(void *arg)
{
    impostor *me = arg;
    culvi_ipc_message q, m = raw_message(CULVI_IPC_HELLO);
    const int fd = raw_accept(me->listener);
    if (fd < 0) return NULL;
    m.answer = true;
    /* Before it is asked anything: nobody has looked who it is. */
    if (me->linger.fd >= 0) {
        const bool in = raw_send(fd, "x", 1, &me->linger.fd, 1);
        if (in) close(me->linger.fd);
        if (in) me->linger.fd = -1;
    }
    if (me->linger.fd < 0 && me->linger.gate < 0 && next_question(fd, &q)) {
        m.sequence = q.sequence;
        (void)raw_send_message(fd, &m, NULL);
        m.type = CULVI_IPC_WAKE;
        while (raw_send_message(fd, &m, NULL)) { /* blocks while it does not read */
        }
    }
    (void)next_question(fd, &q);
    close(fd);
    return NULL;
}

TEST(bad_greeting, .title = "attacks.greeting", .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "impostor");
    impostor me = {.listener = raw_listen(name)};
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    d.name = name;
    for (int old = 0; old < 2; old++) {
        const size_t fds = test_open_fds();
        pthread_t thread;
        culv_ipc_client *client = POISON(culv_ipc_client);
        atomic_store(&culvi_ipc_old_kernel, old != 0);
        me.linger = raw_linger_make();
        REQUIRE_EQ(pthread_create(&thread, NULL, greet_badly, &me), 0);
        /* What comes is no answer; or the connection ends, and is tried again till the time is
         * over. */
        const culv_result result = culv_ipc_client_connect(NULL, &d, UINT64_C(300000000), &client);
        REQUIRE(result == CULV_ERROR_ASYNC || result == CULV_ERROR_TIMEOUT);
        REQUIRE(client == POISON(culv_ipc_client));
        close(me.linger.gate);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        if (me.linger.fd >= 0) close(me.linger.fd);
        test_settle_fds(fds, "the greeting");
    }
    atomic_store(&culvi_ipc_old_kernel, false);
    close(me.listener);
}

/* Wakes that come faster than they are read end neither a question nor a look. */
TEST(endless_wakes, .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "impostor");
    impostor me = {.listener = raw_listen(name), .linger = {-1, -1}};
    culv_ipc_info info = culv_ipc_info_init();
    pthread_t thread;
    REQUIRE_EQ(pthread_create(&thread, NULL, greet_badly, &me), 0);
    culv_ipc_client *client = ipc_client(NULL, name);
    LIB_ERROR(culv_ipc_client_get_offer(client, 0, 1000000, &info, NULL), TIMEOUT, IPC_GONE);
    REQUIRE(culv_ipc_client_connected(client));
    culv_ipc_client_destroy(&client);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    close(me.listener);
}

/* Servers that lie of their GPU ---------------------------------------------------------------- */

typedef struct gpu_lie {
    const char *name;
    int byte; /* 16 of them are the UUID; OWN: the client's GPU */
    uint32_t driver;
    culv_result connect, later; /* later: of a ring and of a vector */
    culv_reason reason;
} gpu_lie;

enum { OWN = -1 };
static const gpu_lie gpu_lies[] = {
    {"own", OWN, 1, CULV_OK, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
    {"none", 0, 0, CULV_OK, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
    {"other", 0x77, 1000000, CULV_OK, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH},
    {"no driver", OWN, 1000001, CULV_ERROR_ASYNC, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL},
};

/* Whatever it is asked for it has, in pages and in a file that is neither timeline nor chunk. */
ANSWER(gpu_lie)
{
    culvi_ipc_message m = raw_message(q->type);
    const int fds[] = {me->ring, me->consumer, me->file, me->file};
    m.sequence = q->sequence;
    m.answer = true;
    if (q->type == CULVI_IPC_JOIN) {
        m.join =
            (culvi_ipc_join){.timelines = 2, .depth = 3, .parts = 1, .page_size = CULVI_IPC_PAGE};
        m.fds = 4;
    }
    if (q->type == CULVI_IPC_CHUNKS) {
        m.total = m.count = m.fds = 1;
        m.size = VMM_BLOCK;
        m.chunks[0] = (culvi_ipc_chunk){.id = 1, .size = VMM_BLOCK};
    }
    if (q->type != CULVI_IPC_LEAVE) SEND(m, q->type == CULVI_IPC_CHUNKS ? &me->file : fds);
}

VMM_CASE(servers_gpu, .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    ipc_name(name, "liar");
    const client_attack attack = {.answer = answer_gpu_lie};
    impostor me = {.listener = raw_listen(name), .attack = &attack};
    me.file = memfd_create("no memory of CUDA's", MFD_CLOEXEC);
    REQUIRE(me.file >= 0 && ftruncate(me.file, (off_t)VMM_BLOCK) == 0);
    for (size_t i = 0; i < sizeof gpu_lies / sizeof gpu_lies[0]; i++) {
        const gpu_lie *lie = &gpu_lies[i];
        pthread_t thread;
        culv_ipc_client_desc d = culv_ipc_client_desc_init();
        culv_ipc_client *client = POISON(culv_ipc_client);
        printf("%s\n", lie->name);
        fflush(stdout);
        REQUIRE(culvi_ipc_pages_make(CULVI_IPC_PAGE, "ring", &me.ring));
        REQUIRE(culvi_ipc_pages_make(CULVI_IPC_PAGE, "consumer", &me.consumer));
        const uint32_t head[] = {CULVI_IPC_PAGE_MAGIC, 3, CULVI_IPC_RUNS};
        REQUIRE_EQ(pwrite(me.ring, head, sizeof head, 0), sizeof head);
        me.driver = lie->driver;
        me.device = lib_caps(s->w.device).uuid;
        if (lie->byte != OWN) memset(&me.device, lie->byte, sizeof me.device);
        REQUIRE_EQ(pthread_create(&thread, NULL, impersonate, &me), 0);
        d.name = name;
        const culv_result result = culv_ipc_client_connect(s->w.device, &d, IPC_FAR, &client);
        REQUIRE_EQ(result, lie->connect);
        if (result != CULV_OK) {
            REQUIRE(client == POISON(culv_ipc_client));
            LIB_SAYS("driver");
        } else {
            culv_ipc_consumer_desc cd = culv_ipc_consumer_desc_init();
            culv_ipc_vector_desc vd = culv_ipc_vector_desc_init();
            culv_ring *side = POISON(culv_ring);
            culv_vector *vector = POISON(culv_vector);
            cd.ring = vd.name = "frames";
            LIB_FAILS(culv_ipc_ring_join(client, &cd, IPC_FAR, &side), lie->later, lie->reason);
            if (lie->byte > 0) LIB_SAYS("77777777-7777");
            LIB_FAILS(culv_ipc_vector_open(client, &vd, IPC_FAR, &vector), lie->later, lie->reason);
            if (lie->byte > 0) LIB_SAYS("77777777-7777");
            REQUIRE(side == POISON(culv_ring) && vector == POISON(culv_vector));
            REQUIRE(culv_ipc_client_connected(client)); /* it says what it likes of its GPU */
            culv_ipc_client_destroy(&client);
        }
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        close(me.ring);
        close(me.consumer);
        lib_settle(&s->w);
    }
    close(me.file);
    close(me.listener);
}

/* Messages, as bytes and back ------------------------------------------------------------------ */

/* A good message of each type and direction. */
static culvi_ipc_message good(culvi_ipc_type type, bool answer)
{
    culvi_ipc_message m = raw_message(type);
    m.answer = answer;
    m.result = CULV_ERROR_BUSY;
    m.info = culv_ipc_info_named("n");
    m.info.kind = CULV_IPC_VECTOR;
    strcpy(m.name, "x");
    m.number = type == CULVI_IPC_JOIN && !answer ? 0 : 3;
    m.total = 19;
    m.count = CULVI_IPC_FDS;
    for (uint32_t i = 0; i < m.count; i++)
        m.chunks[i] = (culvi_ipc_chunk){4 + i, 7 * i, i + 1 < m.count ? 7 : UINT64_C(1) << 55};
    if (answer) m.join = (culvi_ipc_join){.depth = 64, .parts = 16, .page_size = CULVI_IPC_PAGE};
    m.fds = type == CULVI_IPC_JOIN && answer ? 2 : 0;
    return m;
}

/* What the list of fields does not let through is refused, of each field by itself: numbers beyond
 * its bounds; names, and texts, that are none. */
typedef struct bounds {
    unsigned char bytes[CULVI_IPC_BYTES];
    uint32_t fds;
    bool answer;
    unsigned fields;
} bounds;

static void refuse_field(const bounds *b, const culvi_ipc_field *f, const void *value, size_t size)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    culvi_ipc_message out;
    memcpy(bytes, b->bytes, sizeof bytes);
    memcpy(bytes + f->offset, value, size);
    if (culvi_ipc_decode(bytes, sizeof bytes, b->fds, b->answer, &out, &why))
        FAIL("%s may begin with %02x%02x", f->name, bytes[f->offset], bytes[f->offset + 1]);
    REQUIRE(text[0] != 0);
}

static void beyond(void *user, const culvi_ipc_field *f)
{
    static const char *const names[] = {"", ".", "../cells", "a/b", "%n%n%n", "\x80", "a b"};
    /* A terminal obeys the last two: CSI, as one byte and as a character. */
    static const char *const texts[] = {"red \033[31m", "red \23331m", "red \302\23331m"};
    char endless[CULVI_IPC_TEXT];
    bounds *b = user;
    const uint64_t less = f->least - 1, more = f->most + 1;
    const bool text = f->form == CULVI_IPC_TEXTUAL || f->form == CULVI_IPC_CUT;
    memset(endless, 'a', sizeof endless);
    b->fields++;
    if (f->form == CULVI_IPC_NUMBER) {
        if (f->least > 0) refuse_field(b, f, &less, f->size);
        if (f->most < (f->size == 8 ? UINT64_MAX : UINT32_MAX)) refuse_field(b, f, &more, f->size);
    }
    for (size_t i = 0; f->form == CULVI_IPC_NAME && i < sizeof names / sizeof names[0]; i++)
        refuse_field(b, f, names[i], strlen(names[i]) + 1);
    for (size_t i = 0; f->form == CULVI_IPC_TEXTUAL && i < sizeof texts / sizeof texts[0]; i++)
        refuse_field(b, f, texts[i], strlen(texts[i]) + 1);
    if (!text && f->form != CULVI_IPC_NAME) return;
    REQUIRE(f->size <= sizeof endless);
    refuse_field(b, f, endless, f->size);
    endless[f->size / 2] = 0;
    if (text) refuse_field(b, f, endless, f->size); /* it goes on behind its end */
}

TEST(field_bounds, .title = "bounds")
{
    static const culvi_ipc_field last = {.name = "the end", .offset = CULVI_IPC_BYTES - 2};
    for (uint32_t type = CULVI_IPC_HELLO; type < CULVI_IPC_TYPES; type++) {
        for (int answer = type == CULVI_IPC_ERROR; answer < 2; answer++) {
            const culvi_ipc_message m = good((culvi_ipc_type)type, answer != 0);
            bounds b = {.fds = m.fds, .answer = m.answer};
            culvi_ipc_encode(&m, b.bytes);
            culvi_ipc_fields((culvi_ipc_type)type, m.answer, m.info.kind, beyond, &b);
            REQUIRE(b.fields >= 6);
            refuse_field(&b, &last, "\0\1", 2); /* hidden bytes */
        }
    }
}

TEST(round_trip, .title = "messages")
{
    for (uint32_t type = CULVI_IPC_HELLO; type < CULVI_IPC_TYPES; type++) {
        for (int answer = 0; answer < 2; answer++) {
            unsigned char bytes[CULVI_IPC_BYTES], again[CULVI_IPC_BYTES];
            char text[200] = "";
            culvi_text why = {text, sizeof text, 0};
            const culvi_ipc_message m = good((culvi_ipc_type)type, answer != 0);
            culvi_ipc_message back;
            culvi_ipc_encode(&m, bytes);
            if (type == CULVI_IPC_ERROR && !answer) {
                REQUIRE(!culvi_ipc_decode(bytes, sizeof bytes, m.fds, false, &back, &why));
                continue;
            }
            if (!culvi_ipc_decode(bytes, sizeof bytes, m.fds, m.answer, &back, &why))
                FAIL("type %u: %s", type, text);
            culvi_ipc_encode(&back, again);
            REQUIRE_EQ_BYTES(again, bytes, sizeof bytes);
            /* The other direction, another number of descriptors, another size. */
            REQUIRE(!culvi_ipc_decode(bytes, sizeof bytes, m.fds, !m.answer, &back, &why));
            REQUIRE(!culvi_ipc_decode(bytes, sizeof bytes, m.fds + 1, m.answer, &back, &why));
            REQUIRE(!culvi_ipc_decode(bytes, sizeof bytes - 1, m.fds, m.answer, &back, &why));
        }
    }
}

/* A frame that the stream refuses is given back, and a producer that waits is told. */

IPC_ROLE(refuse_frame)
{
    culv_ring_frame f;
    CUgraph graph = NULL;
    ipc_ring_join(e, CULV_RING_MAILBOX);
    ipc_hear(&e->other, 'g');
    CUcontext before = lib_enter(&e->s.w);
    CU_OK(e->s.w.cu->StreamBeginCapture(e->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_ERROR(culv_ring_acquire_on(e->ring, CULV_RING_CONSUMER, e->stream, IPC_FAR, &f), INVALID,
              CAPTURE);
    CU_OK(e->s.w.cu->StreamEndCapture(e->stream, &graph));
    CU_OK(e->s.w.cu->GraphDestroy(graph));
    lib_leave(&e->s.w, before);
    ipc_say(&e->other, 'r');
    ipc_hear(&e->other, 'e');
}

IPC_CASE_(refused_wakes, false, refuse_frame, .title = "refused_wakes", .own = true)
{
    uint32_t answered = 0;
    ipc_ring_offer(e, 3, 1, 0);
    ipc_hear_serving(&e->other, 'j', e->server);
    ipc_serve(e->server);
    ipc_ring_produce(e, 1);
    atomic_store(&page_of(e->ring)->producer_waits, 1u); /* as an acquire does */
    ipc_say(&e->other, 'g');
    ipc_hear(&e->other, 'r');
    LIB_OK(culv_ipc_server_poll(e->server, IPC_FAR, &answered));
    REQUIRE_EQ(answered, 1);
    ipc_say(&e->other, 'e');
}

/* A page of a ring whose head falls, or jumps beyond what there is, shows no frame. */

static culv_ring_policy page_policy;

IPC_ROLE(see_no_frame)
{
    culv_ring_frame f;
    ipc_ring_join(e, page_policy);
    ipc_hear(&e->other, 'g');
    for (uint64_t i = page_policy == CULV_RING_MAILBOX ? 1 : 0; i < 2; i++)
        REQUIRE_EQ(ipc_ring_consume(e), i);
    ipc_say(&e->other, 'r');
    for (int lie = 0; lie < 4; lie++) {
        ipc_hear(&e->other, 'l');
        /* Who reads every frame sees that one was left out. */
        const bool left_out = page_policy == CULV_RING_FIFO && lie >= 2;
        LIB_FAILS(culv_ring_acquire_on(e->ring, CULV_RING_CONSUMER, e->stream, 3000000, &f),
                  left_out ? CULV_ERROR_ASYNC : CULV_ERROR_TIMEOUT,
                  left_out ? CULV_REASON_IPC_PROTOCOL : CULV_REASON_RING_EMPTY);
        ipc_say(&e->other, 'r');
    }
    ipc_hear(&e->other, 'e');
}

static void head_lies(culv_ring_policy policy)
{
    static const uint64_t heads[] = {0, 1, UINT64_MAX, UINT64_MAX / 2};
    ipc_end e;
    page_policy = policy;
    ipc_end_serve(&e, see_no_frame, "head", false);
    ipc_ring_offer(&e, 3, 1, 0);
    ipc_hear_serving(&e.other, 'j', e.server);
    ipc_ring_produce(&e, 2);
    lib_finish(&e.s.w, e.stream);
    ipc_say(&e.other, 'g');
    ipc_hear_serving(&e.other, 'r', e.server);
    for (int i = 0; i < 4; i++) {
        atomic_store(&page_of(e.ring)->head, heads[i]);
        ipc_say(&e.other, 'l');
        ipc_hear_serving(&e.other, 'r', e.server);
    }
    atomic_store(&page_of(e.ring)->head, 2);
    ipc_say(&e.other, 'e');
    ipc_end_close(&e);
}

TEST_AS(head_lies_to_every, head_lies(CULV_RING_FIFO), .title = "head_lies.every", .own = true)
TEST_AS(head_lies_to_newest, head_lies(CULV_RING_MAILBOX), .title = "head_lies.newest", .own = true)
