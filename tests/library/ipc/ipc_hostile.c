/* SPDX-License-Identifier: MIT */
/* Peers that want others to suffer: who hold locks, fill queues, use up what a user may have, and
 * what a container forbids. */
#include "ipc_stage.h"

#include "ipc/ipc_ring_side.h"
#include "ipc/ipc_server.h"
#include "ipc/posix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#    define SO_PASSRIGHTS 83
#endif

#define HOSTILE_CASE(...)        HOSTILE_CASE_(hostile_open(h), __VA_ARGS__, .own = true)
#define HOSTILE_CASE_(open, ...) TEST_ON(hostile, h, open, hostile_close(h), __VA_ARGS__)

/* Others have the lock of what they send ------------------------------------------------------- */

/* A thread that is stopped as it writes: it has the file's lock, and reads from a page that comes
 * when `fault` is closed. */
typedef struct holder {
    int fd, fault;
    void *page;
    pthread_t thread;
} holder;

static void *write_for_ever(void *arg)
{
    const holder *l = arg;
    if (send(l->fd, l->page, 64, MSG_MORE) < 0 && errno == ENOTSOCK)
        REQUIRE_EQ(write(l->fd, l->page, 64), 64);
    return NULL;
}

static void hold_lock(holder *l, int fd)
{
    struct uffdio_api api = {.api = UFFD_API};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    l->fd = fd;
    l->fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (l->fault < 0) SKIP("this system has no userfaultfd");
    l->page = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(l->page != MAP_FAILED && ioctl(l->fault, UFFDIO_API, &api) == 0);
    struct uffdio_register it = {.range = {(uintptr_t)l->page, page},
                                 .mode = UFFDIO_REGISTER_MODE_MISSING};
    REQUIRE_EQ(ioctl(l->fault, UFFDIO_REGISTER, &it), 0);
    REQUIRE_EQ(pthread_create(&l->thread, NULL, write_for_ever, l), 0);
    struct pollfd stopped = {.fd = l->fault, .events = POLLIN};
    REQUIRE_EQ(poll(&stopped, 1, (int)TEST_FAR_MS), 1);
}

static void let_go(holder *l)
{
    close(l->fault);
    REQUIRE_EQ(pthread_join(l->thread, NULL), 0);
    munmap(l->page, (size_t)sysconf(_SC_PAGESIZE));
    close(l->fd);
}

/* Datagrams that come back to their socket. */
static int own_socket(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)&a, length) == 0);
    REQUIRE_EQ(getsockname(fd, (struct sockaddr *)&a, &length), 0);
    REQUIRE_EQ(connect(fd, (const struct sockaddr *)&a, length), 0);
    return fd;
}

/* Whatever is sent, the thread that serves asks it nothing that takes its lock. */
HOSTILE_CASE(held_locks)
{
    hostile_be_honest(h);
    for (int i = 0; i < 2; i++) {
        holder l;
        int ends[2];
        REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
        const int socket_fd = own_socket();
        hold_lock(&l, i == 0 ? ends[1] : socket_fd);
        printf("%s\n", i == 0 ? "a pipe" : "a socket");
        const int fd = hostile_keep(h, hostile_greeted(h));
        culvi_ipc_message m = raw_named(CULVI_IPC_JOIN, "frames");
        int fds[2] = {i == 0 ? ends[0] : socket_fd, i == 0 ? ends[0] : socket_fd};
        m.join.timelines = 1;
        m.fds = 2;
        REQUIRE(raw_send_message(fd, &m, fds));
        close(ends[0]); /* what is in the message is the last one */
        ipc_serve(h->server);
        REQUIRE_EQ(raw_answer(fd).reason, CULV_REASON_HANDLE_KIND);
        hostile_be_honest(h);
        let_go(&l);
        close(i == 0 ? socket_fd : ends[1]);
    }
}

/* Whether a client's messages may have handles, as the kernel has it, where it knows of that. */
static bool lets_handles(const hostile *h)
{
    int value = 0;
    socklen_t size = sizeof value;
    ipc_serve(h->server);
    if (hostile_has_door())
        REQUIRE_EQ(
            getsockopt(h->server->links[0].channel, SOL_SOCKET, SO_PASSRIGHTS, &value, &size), 0);
    REQUIRE(!hostile_has_door() || (value != 0) == h->server->takes_handles);
    return h->server->takes_handles;
}

/* A server takes them while a ring of its wants some. */
HOSTILE_CASE(wants_handles)
{
    culv_ring *counters = NULL;
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    (void)hostile_keep(h, hostile_greeted(h));
    REQUIRE(lets_handles(h));
    culv_ring_destroy(&h->ring, NULL);
    REQUIRE(!lets_handles(h));
    r.name = "frames";
    r.num_slots = 3;
    r.counters = 1;
    LIB_OK(culv_ipc_ring_create(h->server, &r, &counters));
    REQUIRE(!lets_handles(h));
    r.name = "others";
    r.counters = 0;
    LIB_OK(culv_ipc_ring_create(h->server, &r, &h->ring));
    REQUIRE(lets_handles(h));
    culv_ring_destroy(&counters, NULL);
    REQUIRE(lets_handles(h));
}

/* Filters (seccomp), as containers have them --------------------------------------------------- */

static const struct {
    const char *name;
    unsigned call, error;
    culv_result result; /* of the client that is not allowed to make it */
    bool told;          /* by the server that is not */
} filters[] = {
    {"statx EPERM", SYS_statx, EPERM, CULV_OK, false},
    {"statx ENOSYS", SYS_statx, ENOSYS, CULV_OK, false},
    {"memfd_create", SYS_memfd_create, ENOSYS, CULV_OK, false},
    {"pidfd_open", SYS_pidfd_open, ENOSYS, CULV_OK, false},
    {"userfaultfd", SYS_userfaultfd, EPERM, CULV_OK, false},
    {"fcntl", SYS_fcntl, EPERM, CULV_ERROR_DRIVER, false},
    {"recvmsg", SYS_recvmsg, EPERM, CULV_ERROR_DRIVER, true},
    {"sendmsg", SYS_sendmsg, EPERM, CULV_ERROR_DRIVER, true},
    {"getsockopt", SYS_getsockopt, EPERM, CULV_ERROR_DRIVER, true},
    {"ppoll", SYS_ppoll, ENOSYS, CULV_ERROR_DRIVER, true},
    {"accept4", SYS_accept4, ENOSYS, CULV_OK, true},
    {"socket", SYS_socket, EPERM, CULV_ERROR_DRIVER, false},
};
static size_t filter;

static void receive_filtered(ipc_child *parent, const char *name)
{
    vmm_stage s;
    culv_ipc_client *client = NULL;
    culv_ipc_object *object = NULL;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    ipc_hear(parent, 'g');
    vmm_stage_open(&s);
    const size_t fds = test_open_fds();
    d.name = name;
    ipc_forbid(filters[filter].call, filters[filter].error);
    culv_result result = culv_ipc_client_connect(s.w.device, &d, IPC_FAR, &client);
    if (result == CULV_OK) result = culv_ipc_client_receive(client, "cells", IPC_FAR, &object);
    printf("%s: %s\n", filters[filter].name, result == CULV_OK ? "OK" : culv_last_error_message());
    fflush(stdout);
    /* NVIDIA's handles are no files of memory, and nothing but statx() tells what they are. */
    const bool unknown = filters[filter].call == SYS_statx && !s.w.cu->software;
    const bool quick = filters[filter].call == SYS_ppoll && result == CULV_OK; /* it never waited */
    if (!quick) REQUIRE_EQ(result, unknown ? CULV_ERROR_DRIVER : filters[filter].result);
    if (result != CULV_OK) {
        const culv_error e = lib_last_error();
        REQUIRE_EQ(e.reason, CULV_REASON_OS);
        LIB_SAYS("seccomp");
    }
    culv_ipc_object_destroy(&object);
    culv_ipc_client_destroy(&client);
    test_settle_fds(fds, filters[filter].name);
    _exit(0); /* the drivers may want the call that is refused */
}

/* What a client may not do is told as that, and nothing hangs; it needs no more than it uses. */
TEST(filtered_clients, .title = "filters", .own = true, .time_limit = 120)
{
    enum { FILTERS = sizeof filters / sizeof filters[0] };
    static hostile h;
    ipc_child children[FILTERS];
    char name[CULV_IPC_NAME_SIZE];
    for (filter = 0; filter < FILTERS; filter++)
        ipc_fork(&children[filter], receive_filtered, ipc_name(name, "hostile"));
    hostile_open(&h);
    hostile_begin(&h);
    for (size_t i = 0; i < FILTERS; i++) {
        ipc_say(&children[i], 'g');
        ipc_join(&children[i]);
    }
    hostile_end(&h);
    hostile_close(&h);
    for (size_t i = 0; i < FILTERS; i++)
        ipc_forget(&children[i]);
}

static void serve_filtered(ipc_child *parent, const char *name)
{
    static hostile h;
    hostile_open(&h);
    strcpy(h.blame, "seccomp");
    raw_ask(raw_connect(h.name), CULVI_IPC_HELLO, "");
    ipc_forbid(filters[filter].call, filters[filter].error);
    culv_result result = CULV_OK;
    for (int i = 0; i < 3 && result == CULV_OK; i++)
        result = culv_ipc_server_poll(h.server, UINT64_C(1000000), NULL);
    const bool told = h.blamed > 0 || result != CULV_OK;
    if (result != CULV_OK) LIB_SAYS("seccomp");
    if (told != filters[filter].told) FAIL("%s: %stold", filters[filter].name, told ? "" : "not ");
    REQUIRE(told || culv_ipc_server_clients(h.server) == 1);
    _exit(0);
}

TEST(filtered_servers, .title = "filters.servers", .own = true, .time_limit = 120)
{
    ipc_child child;
    for (filter = 0; filter < sizeof filters / sizeof filters[0]; filter++) {
        ipc_fork(&child, serve_filtered, "");
        ipc_join(&child);
        ipc_forget(&child);
    }
}

/* A consumer that comes and goes beside a GPU that is busy: no call waits for that. */
HOSTILE_CASE(comes_and_goes)
{
    vmm_gate gate;
    const int fd = hostile_greeted(h);
    culvi_ipc_message leave = raw_message(CULVI_IPC_LEAVE);
    vmm_gate_begin(&h->s, &gate);
    for (uint32_t i = 1; i <= 600; i++) {
        culvi_ipc_consumer_page *page = hostile_join(h, fd, i, CULV_RING_FIFO, NULL);
        REQUIRE(atomic_load(&page->state) == CULVI_IPC_JOINS && atomic_load(&page->first) == 0);
        /* Its work is on its way: the page is nobody else's. */
        if (i == 300) atomic_store(&page->last[1], 1);
        if (i == 300) atomic_store(&page->ready, 99);
        if (i == 301) REQUIRE_EQ(atomic_load(&page->ready), 0);
        atomic_store(&page->state, (uint32_t)CULVI_IPC_LIVES);
        leave.number = i;
        REQUIRE(raw_send_message(fd, &leave, NULL));
        ipc_serve(h->server);
        REQUIRE_EQ(munmap(page, CULVI_IPC_PAGE), 0);
    }
    vmm_gate_open(&h->s, &gate);
    vmm_gate_end(&h->s, &gate);
    close(fd);
    ipc_serve(h->server);
}

/* Of this thread: with each message that it sends, the ring's page has one frame more. */
static _Thread_local culvi_ipc_ring_page *rising;

ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
    if (rising != NULL && atomic_fetch_add(&rising->head, 1) > 10000) FAIL("no look has an end");
    return syscall(SYS_sendmsg, fd, header, flags);
}

/* Each frame has gone when a consumer of the newest one has said that it takes it. */
HOSTILE_CASE(endless_head)
{
    culv_ring_frame f;
    size_t count = 0;
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    CUstream stream = lib_stream(&h->s.w);
    hostile_begin(h);
    culv_ipc_client *client = ipc_client(h->s.w.device, h->name);
    d.ring = "frames";
    d.policy = CULV_RING_MAILBOX;
    NEW(culv_ring, side, culv_ipc_ring_join, client, &d, IPC_FAR);
    hostile_end(h);
    count = culv_ipc_ring_consumers(h->ring, NULL, 0); /* it counts from now on */
    REQUIRE_EQ(count, 1);
    rising = culvi_ipc_ring_page_of(culvi_ipc_ring_of(h->ring, "endless_head"));
    atomic_store(&rising->producer_waits, 1u);
    atomic_store(&rising->head, 1);
    LIB_ERROR(culv_ring_acquire_on(side, CULV_RING_CONSUMER, stream, 0, &f), TIMEOUT, RING_EMPTY);
    REQUIRE(atomic_load(&rising->head) > 2); /* it was asked again */
    atomic_store(&rising->head, 0);
    rising = NULL;
    culv_ring_destroy(&side, NULL);
    culv_ipc_client_destroy(&client);
    lib_stream_destroy(&h->s.w, stream);
}

/* Of this thread: how many packets the library has taken out of queues that it gives up. */
static _Thread_local size_t given_up;

ssize_t recv(int fd, void *out, size_t size, int flags)
{
    given_up++;
    return recvfrom(fd, out, size, flags, NULL, NULL);
}

/* Who is turned away costs a poll as much, however much it has sent. */
HOSTILE_CASE(long_queues)
{
    enum { STRANGERS = 8, EACH = 16 };
    const culvi_ipc_message m = raw_message(CULVI_IPC_LIST);
    size_t queued = 0;
    hostile_crowd(h, 16);
    for (int i = 0; i < STRANGERS; i++) {
        const int fd = hostile_keep(h, raw_connect(h->name));
        while (raw_send_message(fd, &m, NULL))
            queued++;
    }
    REQUIRE(queued > 3 * STRANGERS * EACH);
    given_up = 0;
    LIB_OK(culv_ipc_server_poll(h->server, 0, NULL));
    if (given_up > STRANGERS * EACH)
        FAIL("a poll took %zu packets of strangers, of %zu", given_up, queued);
}

static void *come_in(void *arg)
{
    hostile *h = arg;
    culv_ipc_client *client = ipc_client(NULL, h->name);
    culv_ipc_client_destroy(&client);
    atomic_store(&h->over, false);
    return NULL;
}

/* Who comes to a server that is full of clients which have asked something waits as long as it
 * wants to, and then hears why. Who was silent hears why it lost its place. */
HOSTILE_CASE(full_server)
{
    enum { TURNS = 50 };
    pthread_t thread;
    culv_ipc_client *client = NULL;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    culv_ipc_info info = culv_ipc_info_init();
    culv_result result;
    d.name = h->name;
    hostile_begin(h);
    NEW(culv_ipc_client, quiet, culv_ipc_client_connect, NULL, &d, IPC_FAR);
    hostile_end(h);
    while (h->count < 16) { /* the last one gets the quiet one's place */
        const int fd = hostile_keep(h, raw_connect(h->name));
        raw_ask(fd, CULVI_IPC_HELLO, "");
        ipc_serve(h->server);
        if (raw_answer(fd).type == CULVI_IPC_HELLO) {
            raw_ask(fd, CULVI_IPC_LIST, "");
            LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
        } else
            close(h->fds[--h->count]);
    }
    LIB_ERROR(culv_ipc_client_get_offer(quiet, 0, IPC_FAR, &info, NULL), BUSY, IPC_REFUSED,
              "asked nothing for a second since it connected");
    REQUIRE(!culv_ipc_client_connected(quiet));
    culv_ipc_client_destroy(&quiet);
    hostile_begin(h);
    do /* a server that is late itself is told as that */
        result = culv_ipc_client_connect(NULL, &d, UINT64_C(100000000), &client);
    while (result == CULV_ERROR_TIMEOUT);
    const culv_error e = lib_last_error();
    REQUIRE(result == CULV_ERROR_BUSY && e.reason == CULV_REASON_IPC_REFUSED);
    LIB_SAYS("culv_ipc_server_desc.max_clients");
    hostile_end(h);
    REQUIRE_EQ(pthread_create(&thread, NULL, come_in, h), 0);
    for (int i = 0; i < TURNS; i++) /* it is turned away in some of them */
        LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
    close(h->fds[7]);
    h->fds[7] = dup(0);
    while (atomic_load(&h->over))
        LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

/* A server that ends while strangers wait at its door, and have sent what takes long. */
HOSTILE_CASE_((atomic_store(&culvi_ipc_old_kernel, true), hostile_open(h)), ends_with_strangers,
              .own = true)
{
    int fds[4];
    const size_t threads = lib_threads();
    hostile_lingering(h, true, fds, 4);
    const int fd = raw_connect(h->closed_name);
    REQUIRE(raw_send(fd, "x", 1, fds, 4));
    hostile_sent(h, 4);
    culv_ipc_server_destroy(&h->closed);
    for (size_t k = 0; k < 4; k++)
        raw_linger_open(&h->linger[k]);
    close(fd);
    lib_wait_threads(threads);
}

/* Others use up what may be in flight ---------------------------------------------------------- */

enum { LIMIT = 160 };

static void open_without_rights(hostile *h)
{
    const struct rlimit limit = {LIMIT, LIMIT};
    if (geteuid() == 0 &&
        (setresgid(65533, 65533, 65533) != 0 || setresuid(65533, 65533, 65533) != 0))
        SKIP("this user has rights that cannot be given up");
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    hostile_open(h);
    hostile_be_honest(h);
}

#define IN_FLIGHT_CASE(...) HOSTILE_CASE_(open_without_rights(h), __VA_ARGS__, .own = true)

IN_FLIGHT_CASE(answers_wait, .title = "in_flight.answers_wait")
{
    int pair[2], some[64];
    strcpy(h->blame, "of other programs");
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    for (size_t i = 0; i < 64; i++)
        some[i] = pair[0];
    const int fd = hostile_greeted(h);
    bool sent_some = true;
    for (int i = 0; i < 100 && sent_some; i++)
        sent_some = raw_send(pair[0], "x", 1, some, 64);
    if (sent_some) SKIP("this kernel does not count descriptors in flight");
    REQUIRE_EQ(errno, ETOOMANYREFS);
    raw_ask(fd, CULVI_IPC_RECEIVE, "cells");
    culvi_ipc_message m = raw_message(CULVI_IPC_LIST);
    m.sequence = 2;
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(h->server);
    char byte;
    REQUIRE(recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN);
    REQUIRE_EQ(culv_ipc_server_clients(h->server), 1);
    REQUIRE_EQ(h->blamed, 1);
    close(pair[0]);
    close(pair[1]);
    /* The kernel frees a socket that is in its own queue a little later. */
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && test_now_us() < until)
        LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
    m = raw_answer(fd);
    REQUIRE(m.type == CULVI_IPC_RECEIVE && m.fds == 1);
    ipc_serve(h->server);
    m = raw_answer(fd);
    REQUIRE(m.type == CULVI_IPC_LIST && m.sequence == 2);
    close(fd);
    ipc_serve(h->server);
    hostile_be_honest(h);
}

/* Fifteen clients that do not read leave room for one that does. */
IN_FLIGHT_CASE(deaf_among_few, .title = "in_flight.deaf_among_few")
{
    strcpy(h->blame, "does not read");
    for (int i = 0; i < 15; i++) {
        const int fd = hostile_keep(h, hostile_greeted(h));
        for (int k = 0; k < 14; k++)
            raw_ask(fd, CULVI_IPC_CHUNKS, "particles");
        ipc_serve(h->server);
        hostile_be_honest(h);
    }
    ipc_serve(h->server); /* the honest one has left */
    REQUIRE_EQ(culv_ipc_server_clients(h->server), 15);
    REQUIRE_EQ(h->blamed, 0);
}

/* One user among several ----------------------------------------------------------------------- */

/* Connects as another user: the kernel tells a server who that was. */
static int connect_as(const char *name, uid_t user)
{
    REQUIRE_EQ(seteuid(user), 0);
    const int fd = raw_connect(name);
    REQUIRE_EQ(seteuid(0), 0);
    return fd;
}

/* Takes the answers that are there, and tells how many and with how many handles. */
static size_t take(int fd, size_t *handles)
{
    culvi_ipc_message m;
    int fds[CULVI_IPC_FDS];
    size_t count = 0;
    for (; raw_receive(fd, true, &m, fds) == CULVI_IPC_DONE; count++) {
        *handles += m.fds;
        culvi_ipc_close_fds(fds, m.fds);
    }
    return count;
}

static culv_ipc_server *serve_users(const hostile *h, const char *name, const uint32_t *users,
                                    uint32_t count, uint32_t places)
{
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = name;
    d.users = users;
    d.num_users = count;
    d.max_clients = places;
    NEW(culv_ipc_server, server, culv_ipc_server_create, h->device, &d);
    return server;
}

/* Clients of one user, none of which has more than its share unread, use up that user's part. The
 * clients of another one get all that they ask for. */
HOSTILE_CASE(one_user, .title = "in_flight.one_user")
{
    enum { MANY = 14, EACH = 8, SHARE = 8, QUARTER = 16 * SHARE, BAD = 65533, GOOD = 65532 };
    char name[CULV_IPC_NAME_SIZE];
    const uint32_t users[] = {BAD, GOOD};
    const struct rlimit limit = {4 * QUARTER, 4 * QUARTER};
    int bad[MANY];
    size_t handles = 0, asked = 0, came = 0;
    if (geteuid() != 0) SKIP("only root can be several users");
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    OWN(culv_ipc_server) *server = serve_users(h, ipc_name(name, "users"), users, 2, 16);
    ipc_offer_vmm(server, "cells", h->memory);
    const culv_ipc_info info = culv_ipc_info_named("particles");
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vector(h->vector)));
    for (int i = 0; i < MANY + 1; i++) {
        const int fd = hostile_keep(h, connect_as(name, i < MANY ? BAD : GOOD));
        raw_ask(fd, CULVI_IPC_HELLO, "");
        ipc_serve(server);
        REQUIRE_EQ(raw_answer(fd).type, CULVI_IPC_HELLO);
        if (i < MANY) bad[i] = fd;
    }
    const int good = h->fds[h->count - 1];
    /* The first half leave one handle less unread than their share, and ask for as many again. */
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < EACH; k++)
            if ((i < MANY / 2) == (k < EACH - 1)) raw_ask(bad[i], CULVI_IPC_RECEIVE, "cells");
        raw_ask(bad[i], CULVI_IPC_CHUNKS, "particles");
        asked += i < MANY / 2 ? EACH : 2;
        ipc_serve(server);
    }
    for (int round = 0; round < 20; round++) {
        raw_ask(good, round % 2 == 0 ? CULVI_IPC_RECEIVE : CULVI_IPC_CHUNKS,
                round % 2 == 0 ? "cells" : "particles");
        ipc_serve(server);
        const culvi_ipc_message m = raw_answer(good);
        REQUIRE(m.fds == (round % 2 == 0 ? 1 : SHARE));
    }
    REQUIRE_EQ(culv_ipc_server_clients(server), MANY + 1);
    for (int i = 0; i < MANY; i++)
        came += take(bad[i], &handles);
    if (handles >= QUARTER + SHARE)
        FAIL("one user has %zu handles unread, of %d", handles, QUARTER);
    REQUIRE(handles >= QUARTER && came < asked);
    /* Nothing that it asked for is lost. */
    for (int round = 0; came < asked; round++) {
        REQUIRE(round < 100);
        ipc_serve(server);
        for (int i = 0; i < MANY; i++)
            came += take(bad[i], &handles);
    }
    REQUIRE_EQ(came, asked);
    hostile_leave(h);
    ipc_serve(server);
    REQUIRE_EQ(culv_ipc_server_clients(server), 0);
}

/* Each user that is named keeps a place, whatever the others do. */
HOSTILE_CASE(places_of_users)
{
    enum { BAD = 65533, GOOD = 65532, PLACES = 3 };
    char name[CULV_IPC_NAME_SIZE];
    const uint32_t users[] = {BAD, GOOD, GOOD};
    if (geteuid() != 0) SKIP("only root can be several users");
    OWN(culv_ipc_server) *server = serve_users(h, ipc_name(name, "places"), users, 3, PLACES);
    for (int silent = 0; silent < 2; silent++) {
        for (int i = 0; i < PLACES; i++) {
            raw_ask(hostile_keep(h, connect_as(name, BAD)), CULVI_IPC_HELLO, "");
            raw_ask(h->fds[h->count - 1], CULVI_IPC_LIST, "");
            ipc_serve(server);
            const culvi_ipc_message m = raw_answer(h->fds[h->count - 1]);
            REQUIRE_EQ(m.type, i < PLACES - 1 ? CULVI_IPC_HELLO : CULVI_IPC_ERROR);
            if (i == PLACES - 1) REQUIRE(strstr(m.text, "keeps its last places") != NULL);
        }
        const int good = hostile_keep(h, connect_as(name, GOOD));
        if (silent == 0) raw_ask(good, CULVI_IPC_HELLO, "");
        ipc_serve(server);
        for (int i = 0; i < 2 * PLACES; i++) { /* silent ones, and the good one's place stays */
            hostile_keep(h, connect_as(name, BAD));
            ipc_serve(server);
        }
        if (silent == 1) raw_ask(good, CULVI_IPC_HELLO, "");
        ipc_serve(server);
        REQUIRE_EQ(raw_answer(good).type, CULVI_IPC_HELLO);
        hostile_leave(h);
        ipc_serve(server);
        REQUIRE_EQ(culv_ipc_server_clients(server), 0);
    }
}

/* No descriptor for who comes ------------------------------------------------------------------ */

HOSTILE_CASE(no_descriptor_left)
{
    int fds[4], fill[LIMIT];
    size_t filled = 0;
    uint32_t some = 0;
    const struct rlimit limit = {LIMIT, LIMIT};
    hostile_be_honest(h);
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const int old = hostile_greeted(h);
    strcpy(h->blame, "no handle is left");
    for (size_t i = 0; i < 4; i++) {
        fds[i] = raw_connect(h->name);
        raw_ask(fds[i], CULVI_IPC_HELLO, "");
    }
    while (filled < LIMIT && (fill[filled] = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0)
        filled++;
    for (int i = 0; i < 3; i++)
        LIB_OK(culv_ipc_server_poll(h->server, 0, &some));
    /* It sleeps, however often it is asked, and the others are served. */
    struct pollfd p = {.fd = culv_ipc_server_fd(h->server), .events = POLLIN};
    REQUIRE_EQ(poll(&p, 1, 0), 0);
    for (int i = 0; i < 1000; i++)
        LIB_OK(culv_ipc_server_poll(h->server, 0, &some));
    REQUIRE(h->blamed >= 1 && h->lines <= 1003);
    raw_ask(old, CULVI_IPC_LIST, "");
    ipc_serve(h->server);
    REQUIRE_EQ(raw_answer(old).total, 3);
    /* Those who wait come in as soon as there is room. */
    for (size_t i = 0; i < filled; i++)
        close(fill[i]);
    for (int i = 0; i < 6; i++)
        LIB_OK(culv_ipc_server_poll(h->server, 0, &some));
    for (size_t i = 0; i < 4; i++) {
        REQUIRE_EQ(raw_answer(fds[i]).type, CULVI_IPC_HELLO);
        close(fds[i]);
    }
    close(old);
    ipc_serve(h->server);
}

/* The log -------------------------------------------------------------------------------------- */

HOSTILE_CASE(log_has_a_limit, .title = "log")
{
    enum { ROUNDS = 3000 };
    culv_ring_frame f;
    const int late = hostile_greeted(h);
    culvi_ipc_consumer_page *page = hostile_join(h, late, 1, CULV_RING_FIFO, NULL);
    atomic_store(&page->state, (uint32_t)CULVI_IPC_LIVES);
    /* However often the producer asks, one line tells of one late consumer. */
    strcpy(h->blame, "has no slot");
    for (int i = 0; i < 23; i++)
        if (culv_ring_acquire_on(h->ring, CULV_RING_PRODUCER, NULL, 0, &f) == CULV_OK)
            LIB_OK(culv_ring_release_on(h->ring, CULV_RING_PRODUCER, NULL, &f));
    REQUIRE(h->blamed == 1 && h->lines == 1);
    h->lines = 0;
    munmap(page, CULVI_IPC_PAGE);
    close(late);
    ipc_serve(h->server);
    for (int i = 0; i < ROUNDS; i++) {
        const int fd = raw_connect(h->name);
        REQUIRE(raw_send(fd, "rubbish", 7, NULL, 0));
        ipc_serve(h->server);
        close(fd);
    }
    /* What was left out is told in the end at the latest, and nothing is lost. */
    culv_ring_destroy(&h->ring, NULL);
    culv_ipc_server_destroy(&h->server);
    if (h->lines + h->left_out != ROUNDS) FAIL("%zu lines and %zu left out", h->lines, h->left_out);
    REQUIRE(h->left_out > 0);
}

/* Names in a directory ------------------------------------------------------------------------- */

typedef struct place {
    char directory[64], path[96];
    int fd; /* of who lives there */
} place;

static void live(place *p, int type)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", p->path);
    p->fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    REQUIRE(p->fd >= 0 && bind(p->fd, (const struct sockaddr *)&a, sizeof a) == 0);
    if (type != SOCK_DGRAM) REQUIRE_EQ(listen(p->fd, 1), 0);
}

/* What is there already: at the socket's place, or at its lock's. */
static const struct resident {
    const char *name;
    int type; /* of a socket */
    bool dead;
    mode_t mode;
    const char *link;
    bool lock; /* by a server of this name which is just about to bind its socket, or the link */
    culv_result result;
    culv_reason reason;
} residents[] = {
    TEST_ROW("nothing", .type = 0),
    TEST_ROW("a dead socket", SOCK_SEQPACKET, .dead = true),
    TEST_ROW("a killed server's", SOCK_SEQPACKET, .dead = true, .lock = true),
    TEST_ROW("a live stream", SOCK_STREAM, .result = CULV_ERROR_BUSY),
    TEST_ROW("live datagrams", SOCK_DGRAM, .result = CULV_ERROR_BUSY),
    TEST_ROW("a live server", SOCK_SEQPACKET, .result = CULV_ERROR_BUSY),
    TEST_ROW("a file", .mode = S_IFREG, .result = CULV_ERROR_INVALID),
    TEST_ROW("a directory", .mode = S_IFDIR, .result = CULV_ERROR_INVALID),
    TEST_ROW("a fifo", .mode = S_IFIFO, .result = CULV_ERROR_INVALID),
    TEST_ROW("a link to a file", .link = "/etc/passwd", .result = CULV_ERROR_INVALID),
    TEST_ROW("a link to nothing", .link = "/nowhere/at/all", .result = CULV_ERROR_INVALID),
    TEST_ROW("a lock", .lock = true, .result = CULV_ERROR_BUSY),
    TEST_ROW("a link as the lock", .link = "/etc/passwd", .lock = true, .result = CULV_ERROR_DRIVER,
             .reason = CULV_REASON_OS),
};

static void settle_there(place *p, const struct resident *r)
{
    char lock[112];
    snprintf(lock, sizeof lock, "%s/.it.lock", p->directory);
    if (r->type != 0) live(p, r->type);
    if (r->dead) close(p->fd);
    if (r->mode == S_IFDIR)
        REQUIRE_EQ(mkdir(p->path, 0700), 0);
    else if (r->mode != 0)
        REQUIRE_EQ(mknod(p->path, r->mode | 0600, 0), 0);
    if (r->link != NULL) {
        REQUIRE_EQ(symlink(r->link, r->lock ? lock : p->path), 0);
    } else if (r->lock) {
        p->fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        REQUIRE(p->fd >= 0 && flock(p->fd, LOCK_EX | LOCK_NB) == 0);
        if (r->dead) close(p->fd);
    }
    if (r->dead) p->fd = -1;
}

static void remove_all(const place *p)
{
    char path[112];
    snprintf(path, sizeof path, "%s/.it.lock", p->directory);
    if (unlink(p->path) != 0) (void)rmdir(p->path);
    (void)unlink(path);
    (void)rmdir(p->directory);
}

static void make_directory(place *p)
{
    snprintf(p->directory, sizeof p->directory, "/tmp/culvert-test-XXXXXX");
    REQUIRE(mkdtemp(p->directory) != NULL);
    snprintf(p->path, sizeof p->path, "%s/it", p->directory);
    p->fd = -1;
}

VMM_CASE(names_in_a_directory, .title = "directory.names", .own = true)
{
    for (size_t i = 0; i < sizeof residents / sizeof residents[0]; i++) {
        const struct resident *r = &residents[i];
        place p;
        struct stat before, after;
        culv_ipc_server *server = NULL, *other = POISON(culv_ipc_server);
        culv_ipc_server_desc d = culv_ipc_server_desc_init();
        make_directory(&p);
        printf("%s\n", r->name);
        settle_there(&p, r);
        d.name = "it";
        d.directory = p.directory;
        const bool there = lstat(p.path, &before) == 0;
        if (r->result == CULV_OK) {
            LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
            LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &other), BUSY, IPC_NAME);
            culv_ipc_server_destroy(&server);
            REQUIRE(lstat(p.path, &after) != 0);
            REQUIRE_EQ(rmdir(p.directory), 0); /* no lock is left either */
        } else {
            LIB_FAILS(culv_ipc_server_create(s->w.device, &d, &other), r->result,
                      r->reason != 0 ? r->reason : CULV_REASON_IPC_NAME);
            if (r->reason == CULV_REASON_OS)
                REQUIRE(strstr(culv_last_error_message(), "/.it.lock' is a link") != NULL);
            REQUIRE_EQ(lstat(p.path, &after) == 0, there);
            REQUIRE(!there || (after.st_ino == before.st_ino && after.st_mode == before.st_mode));
            if (p.fd >= 0) close(p.fd);
            remove_all(&p);
        }
        REQUIRE(other == POISON(culv_ipc_server));
    }
}

/* In a user namespace all whom it does not map have one number: that is nobody's own. */
TEST(unmapped_users, .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    const uint32_t all = 65534;
    culv_ipc_server *server = POISON(culv_ipc_server);
    culv_ipc_client *client = POISON(culv_ipc_client);
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    if (unshare(CLONE_NEWUSER) != 0) SKIP("this system gives no user namespace");
    if (geteuid() != all) SKIP("the number of unmapped users is another one here");
    vmm_stage_open(&s);
    c.name = d.name = ipc_name(name, "unmapped");
    LIB_ERROR(culv_ipc_server_create(s.w.device, &d, &server), UNSUPPORTED, IPC_REFUSED);
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, 0, &client), UNSUPPORTED, IPC_REFUSED);
    d.users = &all;
    d.num_users = 1;
    LIB_ERROR(culv_ipc_server_create(s.w.device, &d, &server), INVALID, IPC_REFUSED,
              "user namespace");
    REQUIRE(server == POISON(culv_ipc_server) && client == POISON(culv_ipc_client));
    const culvi_ipc_users users = {(uint32_t[]){all, 7}, 2};
    REQUIRE(!culvi_ipc_user_admitted(&users, all) && culvi_ipc_user_admitted(&users, 7));
    d.users = &(const uint32_t){7};
    place p;
    make_directory(&p);
    d.directory = p.directory; /* of an unmapped user, as this process is */
    LIB_ERROR(culv_ipc_server_create(s.w.device, &d, &server), INVALID, IPC_REFUSED,
              "user namespace");
    remove_all(&p);
    d.directory = NULL;
    LIB_OK(culv_ipc_server_create(s.w.device, &d, &server));
    c.users = d.users; /* a server of somebody whom the namespace does not map */
    c.num_users = 1;
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, IPC_FAR, &client), UNSUPPORTED, IPC_REFUSED,
              "user namespace");
    culv_ipc_server_destroy(&server);
    vmm_stage_close(&s);
}

/* Neither a network namespace nor a mount shows what is outside of it. */
TEST(out_of_sight, .own = true)
{
    static const char *const says[] = {"no room in the directory's", "file system has no room",
                                       "is read-only"};
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    place p;
    culv_ipc_server *other = NULL;
    culv_ipc_client *client = NULL;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        SKIP("this system does not let this user mount");
    vmm_stage_open(&s);
    c.name = d.name = ipc_name(name, "sight");
    NEW(culv_ipc_server, server, culv_ipc_server_create, s.w.device, &d);
    if (unshare(CLONE_NEWNET) != 0) SKIP("this system gives no network namespace");
#define UNSEEN(text)                                                                               \
    LIB_REFUSES(client, culv_ipc_client_connect(NULL, &c, 0, &client), TIMEOUT, IPC_NAME, text)
    UNSEEN("in this network namespace");
    culv_ipc_server_destroy(&server);
    /* A directory that hides the server's, one without room, and one that is not written to. */
    for (int i = 0; i < 4; i++) {
        make_directory(&p);
        c.directory = d.directory = p.directory;
        if (i == 3) LIB_OK(culv_ipc_server_create(s.w.device, &d, &server));
        REQUIRE_EQ(mount("none", p.directory, "tmpfs", 0, "mode=700,nr_inodes=2"), 0);
        if (i == 0) REQUIRE_EQ(mknod(p.path, S_IFREG | 0600, 0), 0);
        if (i == 2) REQUIRE_EQ(mount(NULL, p.directory, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        UNSEEN("If it is in another container, mount it into both");
        if (i < 3) {
            LIB_REFUSES(other, culv_ipc_server_create(s.w.device, &d, &other), DRIVER, OS, says[i]);
        }
        REQUIRE_EQ(umount(p.directory), 0);
        culv_ipc_server_destroy(&server);
        remove_all(&p);
        UNSEEN("no directory '/tmp/");
    }
    vmm_stage_close(&s);
}

/* What was put in the place of its socket is another's. */
VMM_CASE(another_in_its_place, .title = "directory.replaced", .own = true)
{
    place p;
    struct stat st;
    culv_ipc_server *server = NULL;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    for (int socket_there = 0; socket_there < 2; socket_there++) {
        make_directory(&p);
        d.name = "it";
        d.directory = p.directory;
        LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
        char moved[80];
        snprintf(moved, sizeof moved, "%s-moved", p.directory);
        REQUIRE_EQ(rename(p.directory, moved), 0);
        REQUIRE_EQ(mkdir(p.directory, 0700), 0);
        if (socket_there)
            live(&p, SOCK_SEQPACKET);
        else
            REQUIRE_EQ(mknod(p.path, S_IFREG | 0600, 0), 0);
        culv_ipc_server_destroy(&server);
        REQUIRE_EQ(lstat(p.path, &st), 0);
        if (p.fd >= 0) close(p.fd);
        remove_all(&p);
        place old;
        snprintf(old.directory, sizeof old.directory, "%.60s", moved);
        snprintf(old.path, sizeof old.path, "%s/it", old.directory);
        remove_all(&old);
        REQUIRE(lstat(moved, &st) != 0);
    }
}

/* A name with a line end in it, which looks like another socket's line in /proc/net/unix. */
TEST(forged_name)
{
    char forged[CULV_IPC_NAME_SIZE], names[64][CULV_IPC_NAME_SIZE];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t count = 0;
    const int length =
        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "culvert/x\n0: 2 0 10000 5 1 9 @culvert/%s",
                 ipc_name(forged, "forged"));
    const int fd = raw_socket();
    REQUIRE_EQ(bind(fd, (const struct sockaddr *)&a,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)),
               0);
    REQUIRE_EQ(listen(fd, 1), 0);
    LIB_OK(culv_ipc_find_servers(NULL, names, 64, &count));
    for (size_t i = 0; i < count && i < 64; i++)
        REQUIRE(strcmp(names[i], forged) != 0);
    close(fd);
}
