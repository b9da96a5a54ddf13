/* SPDX-License-Identifier: MIT */
/* A server of other processes, and a client that sends it anything: good messages, spoilt ones and
 * rubbish, with any file descriptors, in any order. The server's answers are good, and nothing is
 * left when the client is gone. */
#include "fuzz.h"

#include "ipc/ipc_wire.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_MESSAGES = 12, MOST_FDS = 20, BLOCK = 2 << 20 };

static culv_ipc_server *server;
static culv_device *owner; /* of the server; a later case of the process opens another one */
static culv_ring *ring;
static struct sockaddr_un address;
static socklen_t address_length;

static void require_ok(culv_result result, const char *what)
{
    FUZZ_REQUIRE(result == CULV_OK, "%s: %s", what, culv_last_error_message());
}

void fuzz_target_open(void)
{
    char name[CULV_IPC_NAME_SIZE];
    static culv_vector *vector;
    culv_vmm_allocation *memory = NULL;
    fuzz_open_cuda();
    if (server != NULL) { /* of an earlier case of this process */
        fuzz_set_baseline();
        return;
    }
    snprintf(name, sizeof name, "fuzz-%ld", (long)getpid());
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = name;
    d.max_clients = 4;
    owner = fuzz.device;
    require_ok(culv_ipc_server_create(owner, &d, &server), "server");
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    a.size = BLOCK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    require_ok(culv_vmm_allocation_create(fuzz.device, &a, &memory), "memory");
    culv_ipc_info info = culv_ipc_info_named("a");
    require_ok(culv_ipc_offer(server, &info, culv_ipc_from_vmm(memory)), "offer");
    culv_vmm_allocation_destroy(&memory); /* the offer has its handle */
    culv_vector_desc v = culv_vector_desc_init();
    v.handle_types = a.handle_types;
    v.max_chunk = BLOCK;
    v.size = 3 * BLOCK;
    require_ok(culv_vector_create(fuzz.device, &v, &vector), "vector");
    info = culv_ipc_info_named("b");
    require_ok(culv_ipc_offer(server, &info, culv_ipc_from_vector(vector)), "offer");
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "c";
    r.num_slots = 2;
    require_ok(culv_ipc_ring_create(server, &r, &ring), "ring");
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "culvert/%s", name);
    address_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
    fuzz_set_baseline();
}

static bool send_bytes(int socket, const unsigned char *bytes, size_t size, const int *fds,
                       size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MOST_FDS * sizeof(int))];
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
    return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* A message as the library writes it, with names that are there and some that are not. */
static size_t make_message(fuzz_reader *r, unsigned char bytes[CULVI_IPC_BYTES + 1], size_t *fds)
{
    static const char *const names[] = {"a", "b", "c", "d", "", "..", "c.0.0"};
    culvi_ipc_message m;
    memset(&m, 0, sizeof m);
    memset(bytes, 0, CULVI_IPC_BYTES + 1);
    m.type = (culvi_ipc_type)fuzz_value32(r, 1 + fuzz_pick(r, CULVI_IPC_TYPES - 1));
    m.sequence = fuzz_u8(r);
    snprintf(m.name, sizeof m.name, "%s", names[fuzz_pick(r, sizeof names / sizeof names[0])]);
    m.number = fuzz_value(r, fuzz_pick(r, 4));
    m.known = fuzz_value(r, fuzz_pick(r, 4));
    m.join.policy = fuzz_pick(r, 3);
    m.join.timelines = fuzz_pick(r, 4);
    m.answer = fuzz_rarely(r, 16);
    *fds = m.type == CULVI_IPC_JOIN && m.join.timelines == 1 ? 2 : 0;
    if (fuzz_rarely(r, 8)) *fds = fuzz_pick(r, MOST_FDS + 1);
    m.fds = fuzz_rarely(r, 16) ? fuzz_u32(r) : (uint32_t)*fds;
    culvi_ipc_encode(&m, bytes);
    for (uint32_t spoilt = fuzz_rarely(r, 4) ? 1 + fuzz_pick(r, 8) : 0; spoilt > 0; spoilt--)
        bytes[(fuzz_pick(r, 256) * 2 + fuzz_flag(r)) % CULVI_IPC_BYTES] = fuzz_u8(r);
    if (!fuzz_rarely(r, 16)) return CULVI_IPC_BYTES;
    return fuzz_pick(r, 2) == 0 ? CULVI_IPC_BYTES + 1 : 1 + 2 * (size_t)fuzz_pick(r, 256);
}

/* What the decoder takes is what the encoder writes. */
static void check_decoder(const unsigned char *bytes, size_t size, size_t fds, bool answer)
{
    unsigned char again[CULVI_IPC_BYTES];
    culvi_ipc_message m;
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    if (culvi_ipc_decode(bytes, size, fds, answer, &m, &why)) {
        culvi_ipc_encode(&m, again);
        FUZZ_REQUIRE(size == sizeof again && memcmp(again, bytes, size) == 0, "other bytes");
    } else {
        FUZZ_REQUIRE(text[0] != '\0', "it does not say why");
    }
}

static void read_answers(int socket)
{
    for (;;) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(MOST_FDS * sizeof(int))];
        } with;
        unsigned char bytes[CULVI_IPC_BYTES + 1];
        struct iovec data = {.iov_base = bytes, .iov_len = sizeof bytes};
        struct msghdr header = {.msg_iov = &data,
                                .msg_iovlen = 1,
                                .msg_control = with.bytes,
                                .msg_controllen = sizeof with.bytes};
        culvi_ipc_message m;
        char text[200] = "";
        culvi_text why = {text, sizeof text, 0};
        size_t count = 0;
        const ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == ECONNRESET) continue;
        if (got <= 0) return;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL; c = CMSG_NXTHDR(&header, c)) {
            for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
                int fd;
                memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
                close(fd);
                count++;
            }
        }
        FUZZ_REQUIRE(culvi_ipc_decode(bytes, (size_t)got, count, true, &m, &why), "an answer: %s",
                     text);
    }
}

static void serve(void)
{
    uint32_t some = 1;
    for (int quiet = 0; quiet < 2; quiet = some == 0 ? quiet + 1 : 0)
        require_ok(culv_ipc_server_poll(server, 0, &some), "poll");
}

void fuzz_target_run(fuzz_reader *r)
{
    const int socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int fds[MOST_FDS];
    FUZZ_REQUIRE(socket_ >= 0, "no socket");
    FUZZ_REQUIRE(connect(socket_, (const struct sockaddr *)&address, address_length) == 0,
                 "no server");
    const int file = fuzz_memory_file(4096);
    for (size_t i = 0; i < MOST_FDS; i++)
        fds[i] = file;
    if (!fuzz_rarely(r, 8)) {
        unsigned char hello[CULVI_IPC_BYTES];
        culvi_ipc_message m;
        memset(&m, 0, sizeof m);
        m.type = CULVI_IPC_HELLO;
        culvi_ipc_encode(&m, hello);
        (void)send_bytes(socket_, hello, sizeof hello, NULL, 0);
        serve(); /* a server lets in descriptors of those it has greeted */
    }
    for (uint32_t n = fuzz_pick(r, MOST_MESSAGES + 1); n > 0; n--) {
        unsigned char bytes[CULVI_IPC_BYTES + 1];
        size_t count = 0;
        const size_t size = make_message(r, bytes, &count);
        check_decoder(bytes, size, count, false);
        check_decoder(bytes, size, count, true);
        if (!send_bytes(socket_, bytes, size, fds, count)) break;
        if (fuzz_flag(r)) serve();
        if (fuzz_rarely(r, 4)) read_answers(socket_);
    }
    serve();
    read_answers(socket_);
    close(socket_);
    close(file);
    serve();
    FUZZ_REQUIRE(culv_ipc_server_clients(server) == 0, "a client is left");
    FUZZ_REQUIRE(culv_ipc_ring_consumers(ring, NULL, 0) == 0, "a consumer is left");
    (void)culv_device_collect(owner);
}
