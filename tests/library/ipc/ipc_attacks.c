/* SPDX-License-Identifier: MIT */
/* Peers that lie: clients that attack a server, and servers that attack a client. After each attack
 * the victim works, and has no file, mapping or thread more than before. */
#include "ipc_stage.h"

#include "ipc/ipc_line.h"
#include "ipc/ipc_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Raw sockets ---------------------------------------------------------------------------------- */

static struct sockaddr_un address_of(const char *name, socklen_t *length)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(a.sun_path + 1, "culvert/");
    strcat(a.sun_path + 1, name);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
    return a;
}

static int raw_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    return fd;
}

static int raw_connect(const char *name)
{
    socklen_t length;
    const struct sockaddr_un a = address_of(name, &length);
    const int fd = raw_socket();
    REQUIRE_EQ(connect(fd, (const struct sockaddr *)&a, length), 0);
    return fd;
}

/* Any bytes with any number of descriptors; false: the other side closed. */
static bool raw_send(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))]; /* SCM_MAX_FD */
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
    return sendmsg(fd, &header, MSG_NOSIGNAL) == (ssize_t)size;
}

static culvi_ipc_message message(culvi_ipc_type type)
{
    culvi_ipc_message m;
    memset(&m, 0, sizeof m);
    m.type = type;
    m.sequence = 1;
    return m;
}

static bool send_message(int fd, const culvi_ipc_message *m, const int *fds)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_encode(m, bytes);
    return raw_send(fd, bytes, sizeof bytes, fds, m->fds);
}

/* A server's answer, which must be there. Its descriptors are closed. */
static culvi_ipc_message answer_of(int fd)
{
    culvi_ipc_message m;
    int fds[CULVI_IPC_FDS];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    const culvi_ipc_io io = culvi_ipc_receive(fd, true, &m, fds, &why);
    if (io != CULVI_IPC_DONE) FAIL("no answer: %d %s", (int)io, text);
    culvi_ipc_close_fds(fds, m.fds);
    return m;
}

/* Whether the server has closed the connection. */
static bool closed(int fd)
{
    char bytes[CULVI_IPC_BYTES];
    ssize_t n;
    do
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (n > 0 || (n < 0 && errno == ECONNRESET));
    return n == 0;
}

/* Attacks on a server -------------------------------------------------------------------------- */

typedef struct target {
    vmm_stage s;
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server;
    culv_ipc_ring *ring;
    culv_vmm_allocation *memory;
    int pipe[2];
} target;

/* What a client must find after each attack. */
static void require_alive(target *t)
{
    const int fd = raw_connect(t->name);
    culvi_ipc_message m = message(CULVI_IPC_HELLO);
    REQUIRE(send_message(fd, &m, NULL));
    m = message(CULVI_IPC_RECEIVE);
    m.sequence = 2;
    strcpy(m.name, "cells");
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    m = answer_of(fd);
    REQUIRE_EQ(m.type, CULVI_IPC_HELLO);
    m = answer_of(fd);
    REQUIRE(m.type == CULVI_IPC_RECEIVE && m.sequence == 2 && m.fds == 1);
    REQUIRE_EQ(m.info.allocation_size, VMM_BLOCK);
    close(fd);
    ipc_serve(t->server);
    REQUIRE_EQ(culv_ipc_server_clients(t->server), 0);
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring), 0);
}

static int greeted(target *t)
{
    const int fd = raw_connect(t->name);
    const culvi_ipc_message m = message(CULVI_IPC_HELLO);
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE_EQ(answer_of(fd).type, CULVI_IPC_HELLO);
    return fd;
}

/* Sends bytes after a greeting: the connection must be closed. */
static void bytes_close(target *t, const void *bytes, size_t size, const int *fds, size_t count)
{
    const int fd = greeted(t);
    REQUIRE(raw_send(fd, bytes, size, fds, count));
    ipc_serve(t->server);
    REQUIRE(closed(fd));
    close(fd);
}

/* A good message with one spoilt byte. */
static void spoilt(target *t, size_t at, unsigned char value)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    strcpy(m.name, "cells");
    culvi_ipc_encode(&m, bytes);
    bytes[at] = value;
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}

/* A message that is refused by an answer; the connection stays. */
static void refused(target *t, const culvi_ipc_message *m, const int *fds, culv_reason reason)
{
    const int fd = greeted(t);
    REQUIRE(send_message(fd, m, fds));
    ipc_serve(t->server);
    const culvi_ipc_message answer = answer_of(fd);
    REQUIRE_EQ(answer.type, CULVI_IPC_ERROR);
    REQUIRE_EQ(answer.reason, reason);
    REQUIRE_EQ(answer.sequence, m->sequence);
    REQUIRE(answer.text[0] != 0);
    close(fd);
}

static void rubbish(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)lib_word(i, 7);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void rubbish_first(target *t)
{
    const int fd = raw_connect(t->name);
    REQUIRE(raw_send(fd, "GET / HTTP/1.1\r\n", 16, NULL, 0));
    ipc_serve(t->server);
    REQUIRE(closed(fd));
    close(fd);
}
static void nothing(target *t)
{
    bytes_close(t, "", 0, NULL, 0);
}
static void nothing_with_fds(target *t)
{
    /* A packet without bytes carries no descriptors, but one of a byte does. */
    bytes_close(t, "x", 1, t->pipe, 2);
}
static void one_short(target *t)
{
    const unsigned char bytes[CULVI_IPC_BYTES - 1] = {0x43};
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void one_long(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES + 1] = {0};
    culvi_ipc_message m = message(CULVI_IPC_LIST);
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void far_too_long(target *t)
{
    static unsigned char bytes[100000];
    culvi_ipc_message m = message(CULVI_IPC_LIST);
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void wrong_magic(target *t)
{
    spoilt(t, 0, 0);
}
static void wrong_version(target *t)
{
    spoilt(t, 4, CULVI_IPC_VERSION + 1);
}
static void wrong_type(target *t)
{
    spoilt(t, 8, 0);
    spoilt(t, 8, CULVI_IPC_TYPES);
    spoilt(t, 11, 0x80);
}
static void wrong_direction(target *t)
{
    spoilt(t, 20, 1);
    spoilt(t, 20, 2);
}
static void missing_fds(target *t)
{
    spoilt(t, 16, 1);
    spoilt(t, 19, 0xff);
}
static void unasked_fds(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, t->pipe, 2);
}
static void announced_fds(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_message m = message(CULVI_IPC_LIST);
    m.fds = 2;
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, t->pipe, 2);
}
static void too_many_fds(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    int fds[253];
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    culvi_ipc_encode(&m, bytes);
    for (size_t i = 0; i < 253; i++)
        fds[i] = t->pipe[i % 2];
    bytes_close(t, bytes, sizeof bytes, fds, 253);
    bytes_close(t, bytes, sizeof bytes, fds, CULVI_IPC_FDS + 1);
}
static void no_greeting(target *t)
{
    const int fd = raw_connect(t->name);
    const culvi_ipc_message m = message(CULVI_IPC_LIST);
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE(closed(fd));
    close(fd);
}
static void endless_name(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    memset(m.name, 'a', sizeof m.name);
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void wrong_names(target *t)
{
    static const char *const names[] = {"", ".", "../cells", "a/b", "%n%n%n", "\x80", "a b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsigned char bytes[CULVI_IPC_BYTES];
        culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
        strcpy(m.name, names[i]);
        culvi_ipc_encode(&m, bytes);
        bytes_close(t, bytes, sizeof bytes, NULL, 0);
    }
}
static void hidden_bytes(target *t)
{
    spoilt(t, CULVI_IPC_BYTES - 1, 1);
    spoilt(t, 24 + CULV_IPC_NAME_SIZE, 1);
}
static void unknown_name(target *t)
{
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    strcpy(m.name, "cellars");
    refused(t, &m, NULL, CULV_REASON_IPC_NAME);
    m.type = CULVI_IPC_CHUNKS;
    refused(t, &m, NULL, CULV_REASON_IPC_NAME);
    m.type = CULVI_IPC_JOIN;
    refused(t, &m, NULL, CULV_REASON_IPC_NAME);
}
static void wrong_kind(target *t)
{
    culvi_ipc_message m = message(CULVI_IPC_CHUNKS);
    strcpy(m.name, "cells");
    m.number = UINT64_MAX;
    refused(t, &m, NULL, CULV_REASON_VALUE);
    m.type = CULVI_IPC_JOIN;
    m.number = 0;
    refused(t, &m, NULL, CULV_REASON_VALUE);
}
static void far_number(target *t)
{
    const int fd = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_LIST);
    m.number = UINT64_MAX;
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE_EQ(answer_of(fd).total, 2);
    close(fd);
}
static void join_with_pipes(target *t)
{
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    m.join.timelines = 1;
    m.fds = 2;
    refused(t, &m, t->pipe, CULV_REASON_HANDLE_KIND);
}
static void join_with_rubbish(target *t)
{
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    const int file = memfd_create("rubbish", MFD_CLOEXEC);
    const int both[] = {file, file};
    REQUIRE(file >= 0 && ftruncate(file, 100) == 0);
    strcpy(m.name, "frames");
    m.join.timelines = 1;
    m.fds = 2;
    refused(t, &m, both, CULV_REASON_HANDLE_REFUSED);
    close(file);
}
static void join_wrongly(target *t)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    m.join.timelines = 2; /* what only a server says */
    refused(t, &m, NULL, CULV_REASON_VALUE);
    m.join.timelines = 1; /* without its two descriptors */
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
    m.join.timelines = 3;
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
    /* Types that no timeline has here; and one where no handles come. */
    static const uint32_t types[] = {CULV_HANDLE_OPAQUE_WIN32,
                                     CULV_HANDLE_D3D12_FENCE,
                                     CULV_HANDLE_DMA_BUF_FD,
                                     CULV_HANDLE_FABRIC,
                                     UINT32_MAX,
                                     CULV_HANDLE_OPAQUE_FD};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        m.join.timelines = types[i] != CULV_HANDLE_OPAQUE_FD;
        m.join.handle_type = types[i];
        m.fds = 2 * m.join.timelines;
        culvi_ipc_encode(&m, bytes);
        bytes_close(t, bytes, sizeof bytes, t->pipe, m.fds);
    }
    m.join.handle_type = m.fds = 0;
    m.join.timelines = 0;
    m.join.policy = 2;
    culvi_ipc_encode(&m, bytes);
    bytes_close(t, bytes, sizeof bytes, NULL, 0);
}
static void leave_others(target *t)
{
    const int fd = greeted(t), other = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    const uint64_t number = answer_of(fd).number;
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring), 1);
    m = message(CULVI_IPC_LEAVE);
    const uint64_t numbers[] = {number, 0, 15, 16, UINT64_MAX, number + (UINT64_C(1) << 32)};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        m.number = numbers[i];
        REQUIRE(send_message(other, &m, NULL));
        ipc_serve(t->server);
        REQUIRE_EQ(culv_ipc_ring_consumers(t->ring), 1);
    }
    close(fd);
    close(other);
}
static void join_too_often(target *t)
{
    const int fd = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    for (int i = 0; i < 9; i++) {
        REQUIRE(send_message(fd, &m, NULL));
        ipc_serve(t->server);
        const culvi_ipc_message a = answer_of(fd);
        REQUIRE_EQ(a.type, i < 8 ? CULVI_IPC_JOIN : CULVI_IPC_ERROR);
    }
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring), 8);
    close(fd);
}
/* The page of a consumer says what cannot be: the producer's stream would wait for ever. */
static void wild_page(target *t)
{
    const int fd = greeted(t);
    CUstream stream = lib_stream(&t->s.w);
    culv_ipc_frame f;
    int fds[CULVI_IPC_FDS];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    culvi_ipc_message m = message(CULVI_IPC_JOIN);
    strcpy(m.name, "frames");
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    REQUIRE_EQ(culvi_ipc_receive(fd, true, &m, fds, &why), CULVI_IPC_DONE);
    REQUIRE_EQ(m.fds, 2);
    /* The producer's page cannot be written, and neither can be shrunk. */
    REQUIRE(mmap(NULL, CULVI_IPC_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0) ==
            MAP_FAILED);
    REQUIRE(ftruncate(fds[0], 0) != 0 && ftruncate(fds[1], 0) != 0 && ftruncate(fds[1], 8192) != 0);
    culvi_ipc_consumer_page *page =
        mmap(NULL, CULVI_IPC_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    REQUIRE(page != MAP_FAILED);
    memset((void *)page, 0xff, CULVI_IPC_PAGE);
    LIB_OK(culv_ipc_ring_acquire_on(t->ring, stream, 0, &f));
    REQUIRE_EQ(culv_ipc_ring_consumers(t->ring), 0);
    LIB_OK(culv_ipc_ring_release_on(t->ring, stream, &f));
    lib_finish(&t->s.w, stream);
    REQUIRE(closed(fd));
    munmap((void *)page, CULVI_IPC_PAGE);
    culvi_ipc_close_fds(fds, 2);
    close(fd);
    lib_settle(&t->s.w);
    lib_stream_destroy(&t->s.w, stream);
}
static void replay(target *t)
{
    const int fd = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    strcpy(m.name, "cells");
    for (int i = 0; i < 3; i++)
        REQUIRE(send_message(fd, &m, NULL));
    m = message(CULVI_IPC_HELLO);
    REQUIRE(send_message(fd, &m, NULL));
    ipc_serve(t->server);
    for (int i = 0; i < 3; i++)
        REQUIRE_EQ(answer_of(fd).fds, 1);
    REQUIRE_EQ(answer_of(fd).type, CULVI_IPC_HELLO);
    REQUIRE_EQ(culv_ipc_server_clients(t->server), 1);
    close(fd);
}
/* It asks and never reads: its connection ends, and no descriptor stays in flight. */
static void deaf(target *t)
{
    const int fd = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    strcpy(m.name, "cells");
    for (int i = 0; i < 100000 && culv_ipc_server_clients(t->server) > 0; i++) {
        (void)send_message(fd, &m, NULL);
        ipc_serve(t->server);
    }
    REQUIRE_EQ(culv_ipc_server_clients(t->server), 0);
    close(fd);
}
static void silent(target *t)
{
    int fds[100];
    for (size_t i = 0; i < 100; i++) {
        fds[i] = raw_connect(t->name);
        ipc_serve(t->server);
    }
    REQUIRE_EQ(culv_ipc_server_clients(t->server), 0);
    const int fd = greeted(t); /* there is room */
    close(fd);
    for (size_t i = 0; i < 100; i++)
        close(fds[i]);
}
static void crowd(target *t)
{
    int fds[16];
    for (size_t i = 0; i < 16; i++)
        fds[i] = greeted(t);
    const int late = raw_connect(t->name);
    ipc_serve(t->server);
    const culvi_ipc_message m = answer_of(late);
    REQUIRE(m.type == CULVI_IPC_ERROR && m.reason == CULV_REASON_IPC_REFUSED);
    REQUIRE(closed(late));
    close(late);
    for (size_t i = 0; i < 16; i++)
        close(fds[i]);
}
static void half_closed(target *t)
{
    const int fd = greeted(t);
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
    strcpy(m.name, "cells");
    REQUIRE(send_message(fd, &m, NULL));
    REQUIRE_EQ(shutdown(fd, SHUT_RDWR), 0);
    ipc_serve(t->server);
    close(fd);
}
static void gone_at_once(target *t)
{
    for (int i = 0; i < 20; i++) {
        const int fd = raw_connect(t->name);
        culvi_ipc_message m = message(CULVI_IPC_HELLO);
        REQUIRE(send_message(fd, &m, NULL));
        m = message(CULVI_IPC_JOIN);
        strcpy(m.name, "frames");
        REQUIRE(send_message(fd, &m, NULL));
        close(fd);
        ipc_serve(t->server);
    }
}
static void stream_socket(target *t)
{
    socklen_t length;
    const struct sockaddr_un a = address_of(t->name, &length);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    REQUIRE(connect(fd, (const struct sockaddr *)&a, length) != 0);
    close(fd);
}

typedef struct server_attack {
    const char *name;
    void (*run)(target *t);
} server_attack;

#define ATTACK(name)                                                                               \
    {                                                                                              \
#        name, name                                                                                \
    }
static const server_attack server_attacks[] = {
    ATTACK(rubbish),          ATTACK(rubbish_first),   ATTACK(nothing),
    ATTACK(nothing_with_fds), ATTACK(one_short),       ATTACK(one_long),
    ATTACK(far_too_long),     ATTACK(wrong_magic),     ATTACK(wrong_version),
    ATTACK(wrong_type),       ATTACK(wrong_direction), ATTACK(missing_fds),
    ATTACK(unasked_fds),      ATTACK(announced_fds),   ATTACK(too_many_fds),
    ATTACK(no_greeting),      ATTACK(endless_name),    ATTACK(wrong_names),
    ATTACK(hidden_bytes),     ATTACK(unknown_name),    ATTACK(wrong_kind),
    ATTACK(far_number),       ATTACK(join_with_pipes), ATTACK(join_with_rubbish),
    ATTACK(join_wrongly),     ATTACK(leave_others),    ATTACK(join_too_often),
    ATTACK(wild_page),        ATTACK(replay),          ATTACK(deaf),
    ATTACK(silent),           ATTACK(crowd),           ATTACK(half_closed),
    ATTACK(gone_at_once),     ATTACK(stream_socket),
};

static void attack_server(void)
{
    target t;
    memset(&t, 0, sizeof t);
    vmm_stage_open(&t.s);
    t.server = ipc_server(t.s.w.device, ipc_name(t.name, "attacked"));
    t.memory = vmm_allocation(&t.s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    ipc_offer_vmm(t.server, "cells", t.memory);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "frames";
    d.slots = 3;
    LIB_OK(culv_ipc_ring_create(t.server, &d, &t.ring));
    REQUIRE_EQ(pipe2(t.pipe, O_CLOEXEC), 0);
    /* The first round makes what the process keeps. A mapping of each attack would be 35 more. */
    enum { ROUNDS = 3, FEW = 12 };
    size_t maps = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof server_attacks / sizeof server_attacks[0]; i++) {
            const lib_level before = lib_level_now();
            printf("%d %s\n", round, server_attacks[i].name);
            fflush(stdout); /* a crash of the driver's leaves the last line */
            server_attacks[i].run(&t);
            ipc_serve(t.server);
            require_alive(&t);
            lib_settle(&t.s.w);
            lib_wait_threads(before.threads);
            const lib_level after = lib_level_now();
            if (after.fds != before.fds) FAIL("%s leaves files", server_attacks[i].name);
            if (round > 0 && after.threads > before.threads)
                FAIL("%s leaves threads", server_attacks[i].name);
        }
        if (round == ROUNDS - 1) REQUIRE(lib_map_lines() < maps + FEW);
        maps = lib_map_lines();
    }
    close(t.pipe[0]);
    close(t.pipe[1]);
    culv_ipc_ring_destroy(&t.ring);
    culv_ipc_server_destroy(&t.server);
    culv_vmm_allocation_destroy(&t.memory);
    vmm_stage_close(&t.s);
}

/* Attacks on a client -------------------------------------------------------------------------- */

typedef struct impostor impostor;
typedef struct client_attack {
    const char *name;
    /* The impostor's answer to the question after the greeting; NULL: `greet` attacks already. */
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
    int file; /* of a block */
};

static culvi_ipc_message cells(const impostor *me, const culvi_ipc_message *question)
{
    culvi_ipc_message m = message(CULVI_IPC_RECEIVE);
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

#define ANSWER(name) static void name(impostor *me, int fd, const culvi_ipc_message *q)
#define SEND(m, fds) ((void)send_message(fd, &(m), (fds)))
ANSWER(answer_rubbish)
{
    (void)me;
    (void)q;
    (void)raw_send(fd, "rubbish", 7, NULL, 0);
}
ANSWER(answer_bye)
{
    (void)me;
    (void)q;
    (void)shutdown(fd, SHUT_RDWR);
}
ANSWER(answer_without_fd)
{
    culvi_ipc_message m = cells(me, q);
    m.fds = 0;
    SEND(m, NULL);
}
ANSWER(answer_two_fds)
{
    culvi_ipc_message m = cells(me, q);
    const int two[] = {me->file, me->file};
    m.fds = 2;
    SEND(m, two);
}
ANSWER(answer_other_name)
{
    culvi_ipc_message m = cells(me, q);
    strcpy(m.info.name, "cellar");
    SEND(m, &me->file);
}
ANSWER(answer_other_type)
{
    culvi_ipc_message m = message(CULVI_IPC_LIST);
    m.answer = true;
    m.sequence = q->sequence;
    SEND(m, NULL);
    (void)me;
}
ANSWER(answer_the_future)
{
    culvi_ipc_message m = cells(me, q);
    m.sequence += 5;
    SEND(m, &me->file);
}
/* Late answers of earlier questions, with descriptors, and a wake: they are passed over. */
ANSWER(answer_the_past)
{
    culvi_ipc_message m = cells(me, q);
    m.sequence--;
    for (int i = 0; i < 5; i++)
        SEND(m, &me->file);
    culvi_ipc_message wake = message(CULVI_IPC_WAKE);
    wake.answer = true;
    SEND(wake, NULL);
    m.sequence++;
    SEND(m, &me->file);
}
ANSWER(answer_error)
{
    culvi_ipc_message m = message(CULVI_IPC_ERROR);
    m.answer = true;
    m.sequence = q->sequence;
    m.result = CULV_ERROR_INVALID;
    m.reason = CULV_REASON_IPC_NAME;
    strcpy(m.text, "%s%n"); /* text, not a format */
    SEND(m, NULL);
    (void)me;
}
ANSWER(answer_no_error)
{
    culvi_ipc_message m = message(CULVI_IPC_ERROR);
    m.answer = true;
    m.sequence = q->sequence;
    SEND(m, NULL);
    (void)me;
}
ANSWER(answer_endless_text)
{
    culvi_ipc_message m = message(CULVI_IPC_ERROR);
    m.answer = true;
    m.sequence = q->sequence;
    m.result = CULV_ERROR_INVALID;
    memset(m.text, 'a', sizeof m.text);
    SEND(m, NULL);
    (void)me;
}
ANSWER(answer_wide)
{
    culvi_ipc_message m = cells(me, q);
    m.info.offset = VMM_BLOCK;
    m.info.size = UINT64_MAX - VMM_BLOCK + 2; /* together 1 */
    SEND(m, &me->file);
}
ANSWER(answer_many_elements)
{
    culvi_ipc_message m = cells(me, q);
    m.info.element_size = 1 << 16;
    m.info.element_count = UINT64_C(1) << 50;
    SEND(m, &me->file);
}
ANSWER(answer_unknown_kind)
{
    culvi_ipc_message m = cells(me, q);
    m.info.kind = (culv_ipc_kind)77;
    SEND(m, &me->file);
}
ANSWER(answer_pipe)
{
    int both[2];
    culvi_ipc_message m = cells(me, q);
    if (pipe2(both, O_CLOEXEC) != 0) return;
    SEND(m, both);
    close(both[0]);
    close(both[1]);
}
ANSWER(answer_small_file)
{
    culvi_ipc_message m = cells(me, q);
    m.info.allocation_size = m.info.size = 64 * VMM_BLOCK;
    SEND(m, &me->file);
}
ANSWER(answer_rubbish_file)
{
    culvi_ipc_message m = cells(me, q);
    SEND(m, &me->file);
}
ANSWER(answer_other_device)
{
    culvi_ipc_message m = cells(me, q);
    memset(&m.info.device, 0x77, sizeof m.info.device);
    SEND(m, &me->file);
}

static const client_attack client_attacks[] = {
    {"rubbish", answer_rubbish, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"bye", answer_bye, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, 0, 0},
    {"without_fd", answer_without_fd, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"two_fds", answer_two_fds, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"other_name", answer_other_name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"other_type", answer_other_type, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"the_future", answer_the_future, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"error", answer_error, CULV_ERROR_INVALID, CULV_REASON_IPC_NAME, 0, 0},
    {"no_error", answer_no_error, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"endless_text", answer_endless_text, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"wide", answer_wide, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"many_elements", answer_many_elements, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"unknown_kind", answer_unknown_kind, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL, 0, 0},
    {"the_past", answer_the_past, CULV_OK, 0, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
    {"pipe", answer_pipe, CULV_OK, 0, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND},
    {"small_file", answer_small_file, CULV_OK, 0, CULV_ERROR_INVALID, CULV_REASON_SIZE},
    {"rubbish_file", answer_rubbish_file, CULV_OK, 0, CULV_ERROR_DRIVER,
     CULV_REASON_HANDLE_REFUSED},
    {"other_device", answer_other_device, CULV_OK, 0, CULV_ERROR_INVALID,
     CULV_REASON_DEVICE_MISMATCH},
};

static bool next_question(int fd, culvi_ipc_message *out)
{
    int fds[CULVI_IPC_FDS];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, (int)TEST_FAR_MS) <= 0) return false;
    if (culvi_ipc_receive(fd, false, out, fds, &why) != CULVI_IPC_DONE) return false;
    culvi_ipc_close_fds(fds, out->fds);
    return true;
}

static void *impersonate(void *arg)
{
    impostor *me = arg;
    culvi_ipc_message q;
    struct pollfd p = {.fd = me->listener, .events = POLLIN};
    if (poll(&p, 1, (int)TEST_FAR_MS) <= 0) return NULL;
    const int fd = accept4(me->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return NULL;
    if (next_question(fd, &q)) {
        culvi_ipc_message hello = message(CULVI_IPC_HELLO);
        hello.sequence = q.sequence;
        hello.answer = true;
        hello.device = me->device;
        (void)send_message(fd, &hello, NULL);
        if (next_question(fd, &q)) me->attack->answer(me, fd, &q);
        (void)next_question(fd, &q); /* till the client closes */
    }
    close(fd);
    return NULL;
}

static void attack_client(void)
{
    vmm_stage s;
    char name[CULV_IPC_NAME_SIZE];
    socklen_t length;
    vmm_stage_open(&s);
    const struct sockaddr_un a = address_of(ipc_name(name, "impostor"), &length);
    impostor me = {.listener = raw_socket(), .device = lib_caps(s.w.device).uuid};
    REQUIRE_EQ(bind(me.listener, (const struct sockaddr *)&a, length), 0);
    REQUIRE_EQ(listen(me.listener, 8), 0);
    me.file = memfd_create("no memory of CUDA's", MFD_CLOEXEC);
    REQUIRE(me.file >= 0 && ftruncate(me.file, (off_t)VMM_BLOCK) == 0);
    for (size_t i = 0; i < sizeof client_attacks / sizeof client_attacks[0]; i++) {
        const client_attack *attack = &client_attacks[i];
        const size_t fds = test_open_fds();
        pthread_t thread;
        printf("%s\n", attack->name);
        fflush(stdout);
        me.attack = attack;
        REQUIRE_EQ(pthread_create(&thread, NULL, impersonate, &me), 0);
        culv_ipc_client *client = ipc_client(s.w.device, name);
        culv_ipc_object *object = POISON(culv_ipc_object);
        if (attack->result != CULV_OK) {
            LIB_ERROR(culv_ipc_client_receive(client, "cells", IPC_FAR, &object), attack->result,
                      attack->reason);
            REQUIRE(object == POISON(culv_ipc_object));
            if (attack->result == CULV_ERROR_ASYNC)
                LIB_ERROR(culv_ipc_client_receive(client, "cells", IPC_FAR, &object),
                          CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE);
        } else {
            culv_vmm_allocation *memory = POISON(culv_vmm_allocation);
            object = ipc_receive(client, "cells");
            LIB_ERROR(culv_ipc_import_vmm(object, &memory), attack->import_result,
                      attack->import_reason);
            REQUIRE(memory == POISON(culv_vmm_allocation));
            culv_ipc_object_destroy(&object);
        }
        culv_ipc_client_destroy(&client);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        if (test_open_fds() != fds) FAIL("%s leaves files", attack->name);
    }
    close(me.file);
    close(me.listener);
    vmm_stage_close(&s);
}

/* Messages, as bytes and back ------------------------------------------------------------------ */

static void round_trip(void)
{
    for (uint32_t type = CULVI_IPC_HELLO; type < CULVI_IPC_TYPES; type++) {
        for (int answer = 0; answer < 2; answer++) {
            unsigned char bytes[CULVI_IPC_BYTES], again[CULVI_IPC_BYTES];
            char text[200] = "";
            culvi_text why = {text, sizeof text, 0};
            culvi_ipc_message m = message((culvi_ipc_type)type), back;
            m.answer = answer != 0;
            m.result = CULV_ERROR_BUSY;
            m.info = culv_ipc_info_named("n");
            m.info.kind = CULV_IPC_VECTOR;
            strcpy(m.name, "x");
            m.number = 3;
            m.total = 5;
            m.count = 2;
            m.chunks[0] = (culvi_ipc_chunk){4, 0, 7};
            m.chunks[1] = (culvi_ipc_chunk){5, 7, UINT64_C(1) << 55};
            m.join.depth = 64;
            m.fds = type == CULVI_IPC_JOIN && answer ? 2 : 0;
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

static const test_case cases[] = {
    {.name = "attacks.server", .run = attack_server, .own = true, .smoke = true, .time_limit = 60},
    {.name = "attacks.client", .run = attack_client, .own = true},
    {.name = "messages", .run = round_trip},
    {.name = NULL},
};
TEST_SUITE(cases);
