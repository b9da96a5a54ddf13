/* SPDX-License-Identifier: MIT */
/* See ipc_raw.h. */
#include "ipc_raw.h"

#include "ipc/posix_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#    define SO_PASSRIGHTS 83
#endif

struct sockaddr_un raw_address(const char *name, socklen_t *length)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(a.sun_path + 1, "culvert/");
    strcat(a.sun_path + 1, name);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
    return a;
}

int raw_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    return fd;
}

int raw_connect(const char *name)
{
    socklen_t length;
    const struct sockaddr_un a = raw_address(name, &length);
    const int fd = raw_socket();
    REQUIRE_EQ(connect(fd, (const struct sockaddr *)&a, length), 0);
    return fd;
}

/* Any bytes with any number of descriptors; false: the other side closed. */
bool raw_send(int fd, const void *bytes, size_t size, const int *fds, size_t count)
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

culvi_ipc_message raw_message(culvi_ipc_type type)
{
    culvi_ipc_message m;
    memset(&m, 0, sizeof m);
    m.type = type;
    m.sequence = 1;
    return m;
}

bool raw_send_message(int fd, const culvi_ipc_message *m, const int *fds)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_encode(m, bytes);
    return raw_send(fd, bytes, sizeof bytes, fds, m->fds);
}

/* A server's answer, which must be there. Its descriptors are closed. */
culvi_ipc_message raw_answer(int fd)
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
bool raw_closed(int fd)
{
    char bytes[CULVI_IPC_BYTES];
    ssize_t n;
    do
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (n > 0 || (n < 0 && errno == ECONNRESET));
    return n == 0;
}

raw_linger raw_linger_make(void)
{
    enum { SECONDS = 3600 }; /* the case ends before */
    raw_linger l = {-1, -1};
    static const char rest[65536];
    const struct linger wait = {1, SECONDS};
    const int small = 2048, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    REQUIRE(door >= 0 && setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    REQUIRE_EQ(bind(door, (const struct sockaddr *)&a, length), 0);
    REQUIRE_EQ(listen(door, 1), 0);
    REQUIRE_EQ(getsockname(door, (struct sockaddr *)&a, &length), 0);
    l.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(l.fd >= 0 && connect(l.fd, (const struct sockaddr *)&a, length) == 0);
    l.gate = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(l.gate >= 0);
    close(door);
    while (send(l.fd, rest, sizeof rest, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    REQUIRE_EQ(setsockopt(l.fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    return l;
}

int raw_linger_wrap(const raw_linger *l)
{
    int pair[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    REQUIRE(raw_send(pair[0], "x", 1, &l->fd, 1));
    close(pair[0]);
    return pair[1];
}

void raw_linger_open(raw_linger *l)
{
    close(l->gate);
    close(l->fd);
}

/* A server that is attacked ------------------------------------------------------------------- */

enum { WORDS = 1027, SEED = 41 };

static void take_line(void *user, culv_log_level level, const char *text)
{
    hostile *h = user;
    const char *left_out = strstr(text, " lines about its clients were left out");
    (void)level;
    if (h->blame[0] != 0 && strstr(text, h->blame) != NULL) h->blamed++;
    if (left_out == NULL) {
        h->lines++;
        return;
    }
    while (left_out > text && left_out[-1] != ' ')
        left_out--;
    h->left_out += strtoul(left_out, NULL, 10);
}

void hostile_open(hostile *h)
{
    culv_device_desc d = culv_device_desc_init();
    const uint32_t nobody = 65500;
    memset(h, 0, sizeof *h);
    vmm_stage_open(&h->s);
    d.log = (culv_log){.fn = take_line, .user = h, .level = CULV_LOG_WARNING};
    LIB_OK(culv_device_open_by_ordinal(0, &d, &h->device));
    h->server = ipc_server(h->device, ipc_name(h->name, "hostile"));
    culv_ipc_server_desc closed = culv_ipc_server_desc_init();
    closed.name = ipc_name(h->closed_name, "closed");
    closed.users = &nobody;
    closed.num_users = 1;
    LIB_OK(culv_ipc_server_create(h->device, &closed, &h->closed));
    h->memory = vmm_allocation_on(h->device, 1, 1 << CULV_HANDLE_OPAQUE_FD, "cells");
    ipc_offer_vmm(h->server, "cells", h->memory);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = VMM_BLOCK;
    NEW(culv_vmm_range, range, culv_vmm_range_create, h->device, &rd);
    LIB_OK(culv_vmm_map(range, 0, h->memory, NULL, 0));
    vmm_write(h->device, h->s.w.cu, culv_vmm_range_pointer(range), WORDS, SEED);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vector_desc v = culv_vector_desc_init();
    v.max_chunk = VMM_BLOCK;
    v.reserve = v.size = 20 * VMM_BLOCK;
    v.handle_types = 1 << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vector_create(h->device, &v, &h->vector));
    const culv_ipc_info info = culv_ipc_info_named("particles");
    LIB_OK(culv_ipc_offer(h->server, &info, culv_ipc_from_vector(h->vector)));
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "frames";
    r.num_slots = 3;
    LIB_OK(culv_ipc_ring_create(h->server, &r, &h->ring));
}

void hostile_settle(const hostile *h)
{
    lib_world w = h->s.w;
    w.device = h->device;
    lib_settle(&w);
}

void hostile_close(hostile *h)
{
    culv_ring_destroy(&h->ring, NULL);
    culv_ipc_server_destroy(&h->server);
    culv_ipc_server_destroy(&h->closed);
    culv_vector_destroy(&h->vector, NULL);
    culv_vmm_allocation_destroy(&h->memory);
    culv_device_close(&h->device);
    vmm_stage_close(&h->s);
}

void *hostile_serve(void *arg)
{
    hostile *h = arg;
    while (!atomic_load(&h->over)) {
        LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
        LIB_OK(culv_ipc_server_poll(h->closed, 0, NULL));
    }
    return NULL;
}

void hostile_be_honest(hostile *h)
{
    pthread_t thread;
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 0;
    atomic_store(&h->over, false);
    REQUIRE_EQ(pthread_create(&thread, NULL, hostile_serve, h), 0);
    culv_ipc_client *client = ipc_client(h->s.w.device, h->name);
    LIB_OK(culv_ipc_client_get_offer(client, 0, IPC_FAR, &info, &count));
    REQUIRE_EQ(count, 3);
    culv_ipc_object *object = ipc_receive(client, "cells");
    NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
    culv_ipc_object_destroy(&object);
    culv_vmm_range *range = vmm_mapped(&h->s, memory);
    vmm_require_words(h->s.w.device, h->s.w.cu, vmm_address(range, 0), WORDS, SEED);
    vmm_unmapped(&range, &memory);
    culv_ipc_vector_desc v = culv_ipc_vector_desc_init();
    v.name = "particles";
    v.reserve = 21 * VMM_BLOCK;
    NEW(culv_vector, vector, culv_ipc_vector_open, client, &v, IPC_FAR);
    REQUIRE_EQ(culv_vector_size(vector), 20 * VMM_BLOCK);
    culv_vector_destroy(&vector, NULL);
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    c.ring = "frames";
    NEW(culv_ring, side, culv_ipc_ring_join, client, &c, IPC_FAR);
    culv_ring_destroy(&side, NULL);
    culv_ipc_client_destroy(&client);
    atomic_store(&h->over, true);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

bool hostile_has_door(void)
{
    const int fd = raw_socket();
    int value = 0;
    socklen_t size = sizeof value;
    const bool has = getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, &size) == 0;
    close(fd);
    return has && !atomic_load(&culvi_ipc_old_kernel);
}

int hostile_keep(hostile *h, int fd)
{
    REQUIRE(h->count < RAW_MOST);
    return h->fds[h->count++] = fd;
}

int hostile_greeted(hostile *h)
{
    const int fd = raw_connect(h->name);
    const culvi_ipc_message m = raw_message(CULVI_IPC_HELLO);
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(h->server);
    REQUIRE_EQ(raw_answer(fd).type, CULVI_IPC_HELLO);
    return fd;
}

void hostile_lingering(hostile *h, bool nested, int *fds, size_t count)
{
    for (size_t i = 0; i < 4; i++) {
        h->linger[i] = raw_linger_make();
        if (nested) {
            const int outer = raw_linger_wrap(&h->linger[i]);
            close(h->linger[i].fd); /* the outer one has it */
            h->linger[i].fd = outer;
        }
    }
    for (size_t i = 0; i < count; i++)
        fds[i] = h->linger[i % 4].fd;
}

void hostile_sent(hostile *h, size_t let_in)
{
    for (size_t i = 0; i < 4 && i < let_in; i++) {
        close(h->linger[i].fd);
        h->linger[i].fd = -1;
    }
}

culvi_ipc_consumer_page *hostile_join(hostile *h, int fd, uint32_t sequence,
                                      culv_ring_policy policy, int ring[2])
{
    culvi_ipc_message m = raw_message(CULVI_IPC_JOIN);
    int fds[CULVI_IPC_FDS];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    strcpy(m.name, "frames");
    m.sequence = sequence;
    m.join.policy = (uint32_t)policy;
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(h->server);
    REQUIRE_EQ(culvi_ipc_receive(fd, true, &m, fds, &why), CULVI_IPC_DONE);
    if (m.type != CULVI_IPC_JOIN || m.fds != 2) FAIL("%s", m.text);
    culvi_ipc_consumer_page *page =
        mmap(NULL, CULVI_IPC_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    REQUIRE(page != MAP_FAILED);
    if (ring != NULL)
        memcpy(ring, fds, 2 * sizeof *ring);
    else
        culvi_ipc_close_fds(fds, m.fds);
    return page;
}
