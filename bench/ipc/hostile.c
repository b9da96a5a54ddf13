/* SPDX-License-Identifier: MIT */
/* What attackers cost an honest client: how long its calls take, and how far apart the frames of a
 * FIFO consumer are, without and under each attack. Four processes: a server that makes a frame
 * every 5 ms, a client that asks, one that reads frames, and the attacker, which speaks the
 * protocol by hand. */
#include "hostile.h"
#include "process.h"

#include <culvert/culvert.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 512, MOST_CALLS = 1 << 16, CLIENTS = 32, FEW = 20, MANY_FDS = 253 };
enum { HELLO = 1, LIST = 2, RECEIVE = 3, CHUNKS = 4, JOIN = 5, WAKE = 7 };
#define PATIENCE    UINT64_C(20000000000) /* ns */
#define FRAME_EVERY UINT64_C(5000000)

/* Of all processes. */
typedef struct shared {
    _Atomic int attack, begun, over; /* number of the attack; the attacker's answer; all ends */
    _Atomic uint32_t measured;       /* counts phases: who measures begins anew */
    _Atomic uint64_t calls, failed, frames, lost;
    _Atomic uint64_t most_gap;         /* ns */
    _Atomic uint32_t call[MOST_CALLS]; /* us */
} shared;

static shared *all;
static char server_name[48];
static bool soft;

/* The attacker --------------------------------------------------------------------------------- */

static int held[1024];
static size_t num_held;

static int hold(int fd)
{
    if (fd >= 0 && num_held < sizeof held / sizeof held[0]) held[num_held++] = fd;
    return fd;
}

static int reach(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "culvert/%s", server_name);
    const socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, length) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static bool put(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MANY_FDS * sizeof(int))];
    } with;
    struct iovec data = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (count > 0) {
        memset(&with, 0, sizeof with);
        header.msg_control = with.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        with.header.cmsg_level = SOL_SOCKET;
        with.header.cmsg_type = SCM_RIGHTS;
        with.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&with.header), fds, count * sizeof(int));
    }
    return sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* A message of the protocol (docs/ipc.md): six words, then what its type has; `at` is where a name
 * is. */
static bool say(int fd, uint32_t type, size_t at, const char *name, const int *fds, size_t count)
{
    unsigned char bytes[BYTES] = {0};
    const uint32_t head[6] = {UINT32_C(0x43504943), 2, type, 1, (uint32_t)count, 0};
    memcpy(bytes, head, sizeof head);
    if (name != NULL) memcpy(bytes + 24 + at, name, strlen(name));
    if (type == JOIN) bytes[24 + 64 + 8 + 4] = count > 0; /* its own timelines */
    return put(fd, bytes, sizeof bytes, fds, count);
}

static int greeted(void)
{
    const int fd = hold(reach());
    if (fd >= 0) (void)say(fd, HELLO, 0, NULL, NULL, 0);
    return fd;
}

static void drain(int fd)
{
    char bytes[BYTES];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
}

/* A TCP socket with unsent data, whose close() waits for two seconds. */
static int lingering(void)
{
    static const char rest[65536];
    const struct linger wait = {1, 2};
    const int small = 2048, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    (void)setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (bind(door, (const struct sockaddr *)&a, length) != 0 || listen(door, 1) != 0 ||
        getsockname(door, (struct sockaddr *)&a, &length) != 0) {
        close(door);
        return -1;
    }
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&a, length) == 0)
        (void)hold(accept4(door, NULL, NULL, SOCK_CLOEXEC)); /* and nobody reads */
    close(door);
    while (send(fd, rest, sizeof rest, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
    return fd;
}

/* It goes to the server in another socket's queue, so that nobody can clear its option. */
static void send_lingering(int fd, uint32_t type, size_t at, const char *name)
{
    int fds[2];
    for (size_t i = 0; i < 2; i++) {
        int pair[2];
        const int inner = lingering();
        static const struct linger none = {0, 0};
        if (inner < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return;
        if (!put(pair[0], "x", 1, &inner, 1)) return;
        fds[i] = pair[1];
        if (i + 1 == 2 && !say(fd, type, at, name, fds, 2))
            (void)setsockopt(inner, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(pair[0]);
        (void)hold(inner); /* closed when the phase is over, and the server's was long before */
    }
    close(fds[0]);
    close(fds[1]);
}

static void crowd_of_silent(void)
{
    const int fd = hold(reach());
    if (fd < 0 || num_held < 200) return;
    for (size_t i = 0; i < num_held; i++)
        close(held[i]);
    num_held = 0;
}
static void crowd_of_clients(void)
{
    if (num_held < FEW) (void)greeted();
    nap_us(500);
}
static void rubbish(void)
{
    static const char bytes[BYTES] = "GET / HTTP/1.1";
    const int fd = reach();
    if (fd < 0) return;
    (void)put(fd, bytes, sizeof bytes, NULL, 0);
    close(fd);
}
static void flood(uint32_t type, size_t at, const char *name, bool reads)
{
    if (num_held < 4) (void)greeted();
    for (size_t i = 0; i < num_held; i++) {
        for (int k = 0; k < 32; k++)
            if (!say(held[i], type, at, name, NULL, 0)) break;
        if (reads) drain(held[i]);
    }
}
static void questions(void)
{
    flood(LIST, 0, NULL, true);
}
static void wakes(void)
{
    flood(WAKE, 0, NULL, true);
}
static void deaf(void)
{
    if (num_held < FEW) (void)greeted();
    for (size_t i = 0; i < num_held; i++)
        (void)say(held[i], CHUNKS, 16, "particles", NULL, 0);
    nap_us(500);
}
static void joins(void)
{
    const int fd = reach();
    if (fd < 0) return;
    (void)say(fd, HELLO, 0, NULL, NULL, 0);
    (void)say(fd, JOIN, 0, "frames", NULL, 0);
    nap_us(2000);
    close(fd);
}
static void linger_before_greeting(void)
{
    const int fd = hold(reach());
    if (fd >= 0) send_lingering(fd, RECEIVE, 0, "cells");
    nap_us(20000);
}
static void linger_in_join(void)
{
    const int fd = greeted();
    nap_us(5000);
    if (fd >= 0) send_lingering(fd, JOIN, 0, "frames");
    nap_us(20000);
}
static void nothing(void)
{
    nap_us(1000);
}

static const struct {
    const char *name, *words;
    void (*turn)(void);
} attacks[] = {
    {"none", "nobody attacks", nothing},
    {"silent", "connections that say nothing, without end", crowd_of_silent},
    {"crowd", "20 clients that do nothing", crowd_of_clients},
    {"rubbish", "connections that send rubbish, without end", rubbish},
    {"questions", "4 clients that ask without end", questions},
    {"wakes", "4 clients that wake the server without end", wakes},
    {"deaf", "20 clients that ask for handles and do not read", deaf},
    {"joins", "consumers that come and go without end", joins},
    {"linger", "sockets that linger, before a greeting", linger_before_greeting},
    {"linger_join", "sockets that linger, with a join", linger_in_join},
};
enum { ATTACKS = sizeof attacks / sizeof attacks[0] };

static void attack(void)
{
    for (int number = 0; !atomic_load(&all->over);) {
        const int next = atomic_load(&all->attack);
        if (next != number) {
            for (size_t i = 0; i < num_held; i++)
                close(held[i]);
            num_held = 0;
            number = next;
        }
        attacks[number].turn();
        atomic_store(&all->begun, number);
    }
    _exit(0);
}

/* The honest ones ------------------------------------------------------------------------------ */

/* A connection for every eighth call: whoever comes must be let in, too. */
static void ask(void)
{
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    d.name = server_name;
    for (uint64_t i = 0; !atomic_load(&all->over);) {
        culv_ipc_client *client = NULL;
        const uint32_t phase = atomic_load(&all->measured);
        uint64_t began = now_ns();
        bool good = culv_ipc_client_connect(NULL, &d, PATIENCE, &client) == CULV_OK;
        for (int k = 0; k < 8 && good; k++, i++) {
            culv_ipc_object *object = NULL;
            good = culv_ipc_client_receive(client, "cells", PATIENCE, &object) == CULV_OK;
            culv_ipc_object_destroy(&object);
            const uint64_t us = (now_ns() - began) / 1000;
            if (good && phase == atomic_load(&all->measured)) {
                const uint64_t number = atomic_fetch_add(&all->calls, 1);
                if (number < MOST_CALLS) atomic_store(&all->call[number], (uint32_t)us);
            }
            nap_us(500);
            began = now_ns();
        }
        if (!good && !atomic_load(&all->over)) atomic_fetch_add(&all->failed, 1);
        culv_ipc_client_destroy(&client);
    }
    _exit(0);
}

static void read_frames(void)
{
    culv_device *device;
    culv_ipc_client *client;
    culv_ipc_consumer *consumer;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    uint64_t last = 0, number = 0;
    uint32_t phase = 0;
    if (soft) OK(culv_soft_enable());
    OK(culv_device_open_by_ordinal(0, NULL, &device));
    d.name = server_name;
    c.ring = "frames";
    OK(culv_ipc_client_connect(device, &d, PATIENCE, &client));
    OK(culv_ipc_consumer_join(client, &c, PATIENCE, &consumer));
    while (!atomic_load(&all->over)) {
        culv_ring_frame f;
        if (culv_ring_acquire_on(culv_ipc_consumer_core(consumer), CULV_RING_CONSUMER, NULL,
                                 PATIENCE, &f) != CULV_OK)
            break;
        OK(culv_ring_release_on(culv_ipc_consumer_core(consumer), CULV_RING_CONSUMER, NULL, &f));
        const uint64_t t = now_ns();
        if (phase == atomic_load(&all->measured) && last != 0) {
            atomic_fetch_add(&all->frames, 1);
            if (f.number != number + 1) atomic_fetch_add(&all->lost, 1);
            if (t - last > atomic_load(&all->most_gap)) atomic_store(&all->most_gap, t - last);
        }
        phase = atomic_load(&all->measured);
        number = f.number;
        last = t;
    }
    _exit(0);
}

/* The server ----------------------------------------------------------------------------------- */

typedef struct solver {
    culv_device *device;
    culv_ipc_server *server;
    culv_ipc_ring *ring;
    uint64_t due;
} solver;

static void work(solver *s, uint64_t until)
{
    for (uint64_t t = now_ns(); t < until; t = now_ns()) {
        const uint64_t end = s->due < until ? s->due : until;
        OK(culv_ipc_server_poll(s->server, end > t ? end - t : 0, NULL));
        if (now_ns() < s->due) continue;
        s->due = now_ns() + FRAME_EVERY;
        culv_ring_frame f;
        if (culv_ipc_ring_consumers(s->ring) == 0 ||
            culv_ring_acquire_on(culv_ipc_ring_core(s->ring), CULV_RING_PRODUCER, NULL, 0, &f) !=
                CULV_OK)
            continue;
        OK(culv_ring_release_on(culv_ipc_ring_core(s->ring), CULV_RING_PRODUCER, NULL, &f));
    }
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void measure(solver *s, int number, uint64_t length, FILE *json)
{
    static uint32_t us[MOST_CALLS];
    const uint64_t ms = UINT64_C(1000000);
    atomic_store(&all->attack, number);
    for (uint64_t until = now_ns() + PATIENCE;
         atomic_load(&all->begun) != number && now_ns() < until;)
        work(s, now_ns() + ms);
    work(s, now_ns() + 50 * ms);
    atomic_store(&all->calls, 0);
    atomic_store(&all->failed, 0);
    atomic_store(&all->frames, 0);
    atomic_store(&all->lost, 0);
    atomic_store(&all->most_gap, 0);
    atomic_fetch_add(&all->measured, 1);
    work(s, now_ns() + length);
    uint64_t calls = atomic_load(&all->calls);
    if (calls > MOST_CALLS) calls = MOST_CALLS;
    for (uint64_t i = 0; i < calls; i++)
        us[i] = atomic_load(&all->call[i]);
    qsort(us, calls, sizeof us[0], compare);
    const double median = calls > 0 ? us[calls / 2] / 1e3 : 0,
                 most = calls > 0 ? us[calls - 1] / 1e3 : 0,
                 gap = (double)atomic_load(&all->most_gap) / 1e6;
    const unsigned long long failed = atomic_load(&all->failed), frames = atomic_load(&all->frames),
                             lost = atomic_load(&all->lost);
    printf("%9.2f %9.2f %6llu %6llu %10.2f %6llu %5llu  %s\n", median, most,
           (unsigned long long)calls, failed, gap, frames, lost, attacks[number].words);
    fflush(stdout);
    if (json != NULL)
        fprintf(json,
                "%s{\"attack\": \"%s\", \"calls\": %llu, \"failed\": %llu, \"call_ms\": "
                "{\"median\": %.3f, \"most\": %.3f}, \"frames\": %llu, \"lost\": %llu, "
                "\"gap_ms\": %.3f}",
                number > 0 ? ", " : "", attacks[number].name, (unsigned long long)calls, failed,
                median, most, frames, lost, gap);
}

static void serve(uint64_t length, FILE *json)
{
    solver s;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    culv_vector_desc v = culv_vector_desc_init();
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *memory;
    culv_vector *vector;
    memset(&s, 0, sizeof s);
    if (soft) OK(culv_soft_enable());
    OK(culv_device_open_by_ordinal(0, NULL, &s.device));
    d.name = server_name;
    d.max_clients = CLIENTS;
    OK(culv_ipc_server_create(s.device, &d, &s.server));
    a.size = v.max_chunk = 2 << 20;
    a.handle_types = v.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    v.reserve = v.size = 20 * v.max_chunk;
    OK(culv_vmm_allocation_create(s.device, &a, &memory));
    OK(culv_vector_create(s.device, &v, &vector));
    const culv_ipc_info cells = culv_ipc_info_named("cells"),
                        particles = culv_ipc_info_named("particles");
    OK(culv_ipc_offer_vmm(s.server, memory, &cells));
    OK(culv_ipc_offer_vector(s.server, vector, &particles));
    r.name = "frames";
    r.num_slots = 4;
    r.max_consumers = 16;
    OK(culv_ipc_ring_create(s.server, &r, &s.ring));
    while (culv_ipc_ring_consumers(s.ring) == 0)
        OK(culv_ipc_server_poll(s.server, FRAME_EVERY, NULL));
    printf(
        "a call, ms: median and most, calls, failed; frames, ms: most between two, frames, lost\n");
    for (int i = 0; i < ATTACKS; i++)
        measure(&s, i, length, json);
    atomic_store(&all->over, 1);
    work(&s, now_ns() + 20 * FRAME_EVERY);
    culv_ipc_ring_destroy(&s.ring);
    culv_ipc_server_destroy(&s.server);
    culv_vector_destroy(&vector);
    culv_vmm_allocation_destroy(&memory);
    culv_device_close(&s.device);
}

int hostile(uint64_t milliseconds, bool on_the_twin, const char *path)
{
    void (*const roles[])(void) = {attack, ask, read_frames};
    pid_t children[3];
    FILE *json = path != NULL ? fopen(path, "w") : NULL;
    if (path != NULL && json == NULL) {
        fprintf(stderr, "culvert-bench-ipc: %s cannot be written\n", path);
        return 1;
    }
    soft = on_the_twin;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 1;
    snprintf(server_name, sizeof server_name, "bench-hostile-%ld", (long)getpid());
    for (size_t i = 0; i < 3; i++) { /* before CUDA is opened */
        children[i] = fork();
        if (children[i] != 0) continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        roles[i]();
    }
    if (json != NULL)
        fprintf(json,
                "{\"schema\": 1, \"benchmark\": \"ipc-hostile\", \"version\": \"%s\", "
                "\"milliseconds\": %llu, \"rows\": [",
                culv_version_string(), (unsigned long long)milliseconds);
    serve(milliseconds * UINT64_C(1000000), json);
    if (json != NULL) {
        fprintf(json, "]}\n");
        if (fclose(json) != 0) return 1;
    }
    for (size_t i = 0; i < 3; i++) {
        int status = 1;
        if (waitpid(children[i], &status, 0) != children[i] || status != 0) return 1;
    }
    return 0;
}
