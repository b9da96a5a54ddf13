/* SPDX-License-Identifier: MIT */
/* A second process, and servers that answer it. */
#include "ipc_stage.h"
#include "ipc/posix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void ipc_fork(ipc_child *child, ipc_role role, const char *name)
{
    int up[2], down[2];
    REQUIRE(pipe2(up, O_CLOEXEC) == 0 && pipe2(down, O_CLOEXEC) == 0);
    fflush(NULL);
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        ipc_child parent = {.pid = getppid(), .told = down[0], .tell = up[1]};
        close(up[0]);
        close(down[1]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that fails leaves none behind */
        role(&parent, name);
        test_require_marked_faults();
        fflush(NULL);
        close(parent.told);
        close(parent.tell);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    *child = (ipc_child){.pid = pid, .told = up[0], .tell = down[1]};
}

void ipc_say(ipc_child *other, char word)
{
    REQUIRE(write(other->tell, &word, 1) == 1);
}

static void done(ipc_child *child, int status)
{
    child->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED) SKIP("the other process skips");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the other process ended with status %#x", (unsigned)status);
}

static void take(ipc_child *other, char word)
{
    char got = 0;
    if (read(other->told, &got, 1) != 1) {
        int status = 0;
        if (waitpid(other->pid, &status, 0) == other->pid) done(other, status);
        FAIL("the other process is gone; '%c' was to come", word);
    }
    if (got != word) FAIL("the other process said '%c', not '%c'", got, word);
}

bool ipc_heard(ipc_child *other, char word)
{
    struct pollfd p = {.fd = other->told, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0) return false;
    take(other, word);
    return true;
}

void ipc_hear(ipc_child *other, char word)
{
    struct pollfd p = {.fd = other->told, .events = POLLIN};
    /* A child may have to wait for others to be served. It ends with its parent at the latest. */
    const int limit = other->pid == getppid() ? -1 : (int)TEST_FAR_MS;
    if (poll(&p, 1, limit) <= 0) FAIL("'%c' did not come", word);
    take(other, word);
}

static bool ended(ipc_child *child, int *status)
{
    const pid_t pid = waitpid(child->pid, status, WNOHANG);
    REQUIRE(pid == 0 || pid == child->pid);
    return pid != 0;
}

void ipc_join(ipc_child *child)
{
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0)
        REQUIRE_EQ(errno, EINTR);
    done(child, status);
}

void ipc_join_serving(ipc_child *child, culv_ipc_server *server)
{
    int status = 0;
    while (!ended(child, &status))
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(2000000), NULL));
    done(child, status);
}

void ipc_hear_serving(ipc_child *child, char word, culv_ipc_server *server)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (!ipc_heard(child, word)) {
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(2000000), NULL));
        if (test_now_us() > until) FAIL("'%c' did not come", word);
    }
}

void ipc_kill(ipc_child *child)
{
    int status = 0;
    REQUIRE(kill(child->pid, SIGKILL) == 0);
    while (waitpid(child->pid, &status, 0) < 0)
        REQUIRE_EQ(errno, EINTR);
    child->pid = 0;
}

void ipc_forget(ipc_child *child)
{
    close(child->told);
    close(child->tell);
}

void ipc_forbid(unsigned call, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    REQUIRE_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("this kernel takes no seccomp filters");
}

void ipc_need_namespaces(int kinds)
{
    int status = 0;
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) _exit(unshare(kinds) != 0);
    REQUIRE_EQ(waitpid(pid, &status, 0), pid);
    if (status != 0) SKIP("this system does not let this user make namespaces (unshare)");
}

void ipc_contain(int kinds, unsigned offset)
{
    int status = 0;
    REQUIRE_EQ(unshare(kinds), 0);
    if (offset > 0) {
        FILE *f = fopen("/proc/self/timens_offsets", "w");
        REQUIRE(f != NULL && fprintf(f, "boottime %u 0\n", offset) > 0 && fclose(f) == 0);
    }
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    REQUIRE_EQ(waitpid(pid, &status, 0), pid);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

const char *ipc_name(char out[CULV_IPC_NAME_SIZE], const char *word)
{
    snprintf(out, CULV_IPC_NAME_SIZE, "test-%ld-%.40s", (long)getpid(), word);
    return out;
}

void ipc_play_fabric(void)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("IMEX channels are played on the twin");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    cu->SoftPlayFabric(1);
}

culv_ipc_server *ipc_server(culv_device *device, const char *name)
{
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = name;
    NEW(culv_ipc_server, server, culv_ipc_server_create, device, &d);
    return server;
}

culv_ipc_client *ipc_client(culv_device *device, const char *name)
{
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    d.name = name;
    NEW(culv_ipc_client, client, culv_ipc_client_connect, device, &d, IPC_FAR);
    return client;
}

culv_ipc_object *ipc_receive(culv_ipc_client *client, const char *name)
{
    NEW(culv_ipc_object, object, culv_ipc_client_receive, client, name, IPC_FAR);
    return object;
}

culv_ipc_info ipc_info_of(const culv_ipc_object *object)
{
    culv_ipc_info info = culv_ipc_info_init();
    LIB_OK(culv_ipc_object_get_info(object, &info));
    return info;
}

void ipc_offer_vmm(culv_ipc_server *server, const char *name, culv_vmm_allocation *memory)
{
    culv_ipc_info info = culv_ipc_info_named(name);
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vmm(memory)));
}

void ipc_serve(culv_ipc_server *server)
{
    uint32_t some = 1;
    for (int quiet = 0; quiet < 2; quiet = some == 0 ? quiet + 1 : 0)
        LIB_OK(culv_ipc_server_poll(server, 0, &some));
}

void ipc_write(const lib_world *w, CUstream stream, CUdeviceptr at, size_t words, uint32_t seed)
{
    uint32_t *data = malloc(words * sizeof *data);
    REQUIRE(data != NULL);
    lib_fill(data, words, seed);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemcpyHtoDAsync(at, data, words * sizeof *data, stream));
    CU_OK(w->cu->StreamSynchronize(stream));
    lib_leave(w, before);
    free(data);
}

void ipc_require(const lib_world *w, CUstream stream, CUdeviceptr at, size_t words, uint32_t seed)
{
    uint32_t *data = calloc(words, sizeof *data);
    REQUIRE(data != NULL);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemcpyDtoHAsync(data, at, words * sizeof *data, stream));
    CU_OK(w->cu->StreamSynchronize(stream));
    lib_leave(w, before);
    REQUIRE_WORDS(data, words, seed);
    free(data);
}

culv_log ipc_log;

void ipc_end_serve(ipc_end *e, ipc_role other, const char *word, bool vulkan)
{
    char name[CULV_IPC_NAME_SIZE];
    *e = (ipc_end){.vulkan = vulkan};
    if (other != NULL) ipc_fork(&e->other, other, ipc_name(name, word));
    if (strstr(word, "fabric") != NULL) ipc_play_fabric();
    if (vulkan)
        lib_open(&e->s.w);
    else
        vmm_stage_open(&e->s);
    if (ipc_log.fn != NULL) {
        culv_device_close(&e->s.w.device);
        e->s.w.device = lib_another_device(0, &ipc_log);
        e->s.w.context = culv_device_context(e->s.w.device);
    }
    e->stream = lib_stream(&e->s.w);
    e->server = ipc_server(e->s.w.device, other != NULL ? name : word);
}

void ipc_end_connect(ipc_end *e, const ipc_child *parent, const char *name, int gpu)
{
    *e = (ipc_end){.other = *parent};
    if (strstr(name, "fabric") != NULL) ipc_play_fabric();
    (gpu == 0 ? vmm_stage_open : vmm_stage_open_second)(&e->s);
    e->stream = lib_stream(&e->s.w);
    e->client = ipc_client(e->s.w.device, name);
}

void ipc_end_join(ipc_end *e)
{
    if (e->other.pid != 0) ipc_join_serving(&e->other, e->server);
}

void ipc_end_close(ipc_end *e)
{
    const bool forked = e->client == NULL && e->other.tell != 0;
    if (e->server != NULL) ipc_end_join(e);
    if (e->stream != NULL) lib_finish(&e->s.w, e->stream);
    ipc_ring_close(e);
    if (e->stream != NULL) lib_stream_destroy(&e->s.w, e->stream);
    lib_settle(&e->s.w);
    if (e->vulkan)
        lib_close(&e->s.w);
    else
        vmm_stage_close(&e->s);
    if (forked) ipc_forget(&e->other);
}

enum { KEPT = 64 };

void ipc_ring_offer(ipc_end *e, uint32_t count, uint32_t words, uint64_t limit)
{
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    culv_ipc_info info = culv_ipc_info_init();
    REQUIRE(count <= IPC_SLOTS);
    d.name = "frames";
    d.num_slots = e->count = count;
    d.late_limit = limit;
    LIB_OK(culv_ipc_ring_create(e->server, &d, &e->ring));
    e->range = vmm_range(&e->s, count);
    e->data = calloc((size_t)KEPT * words, sizeof *e->data);
    REQUIRE(e->data != NULL);
    info.element_size = 4;
    info.element_count = e->words = words;
    for (uint32_t i = 0; i < count; i++) {
        e->memory[i] = vmm_allocation(&e->s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
        LIB_OK(culv_vmm_map(e->range, i * VMM_BLOCK, e->memory[i], NULL, 0));
        LIB_OK(culv_ipc_ring_offer(e->ring, i, 0, &info, culv_ipc_from_vmm(e->memory[i])));
    }
}

void ipc_ring_wait_consumers(ipc_end *e, uint32_t count)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (culv_ipc_ring_consumers(e->ring, NULL, 0) != count) {
        LIB_OK(culv_ipc_server_poll(e->server, UINT64_C(2000000), NULL));
        if (test_now_us() > until)
            FAIL("%u consumers, not %u", culv_ipc_ring_consumers(e->ring, NULL, 0), count);
    }
}

void ipc_ring_produce(ipc_end *e, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire_on(e->ring, CULV_RING_PRODUCER, e->stream, IPC_FAR, &f));
        ipc_ring_write(e, &f);
    }
}

void ipc_ring_write(ipc_end *e, culv_ring_frame *f)
{
    uint32_t *data = e->data + f->number % KEPT * e->words;
    lib_fill(data, e->words, (uint32_t)f->number);
    LIB_CU_OK(&e->s.w, e->s.w.cu->MemcpyHtoDAsync(vmm_address(e->range, f->slot), data,
                                                  e->words * 4, e->stream));
    LIB_OK(culv_ring_release_on(e->ring, CULV_RING_PRODUCER, e->stream, f));
}

void ipc_ring_join(ipc_end *e, culv_ring_policy policy)
{
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    culv_ring_stats stats = culv_ring_stats_init();
    culv_ipc_timelines made = culv_ipc_timelines_init();
    d.ring = "frames";
    d.policy = policy;
    d.made = &made;
    LIB_OK(culv_ipc_ring_join(e->client, &d, IPC_FAR, &e->ring));
    LIB_OK(culv_ring_get_stats(e->ring, &stats));
    REQUIRE(culv_ring_pointer(e->ring, 0, 0) == 0 &&
            culv_ring_semaphore(e->ring, CULV_RING_PRODUCER) == NULL);
    e->count = stats.depth;
    REQUIRE(e->count <= IPC_SLOTS);
    e->range = vmm_range(&e->s, e->count);
    for (uint32_t i = 0; i < e->count; i++) {
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, e->ring, i, 0, IPC_FAR);
        const culv_ipc_info info = ipc_info_of(object);
        if (info.kind == CULV_IPC_BUFFER) {
            e->words = (uint32_t)(info.size / 4);
            LIB_OK(culv_ipc_import_buffer(object, &e->buffers[i]));
        } else { /* CUDA's rings have counters */
            REQUIRE(made.ready.type == CULV_HANDLE_NONE && made.done.type == CULV_HANDLE_NONE);
            e->words = (uint32_t)info.element_count;
            LIB_OK(culv_ipc_import_vmm(object, &e->memory[i]));
            LIB_OK(culv_vmm_map(e->range, i * VMM_BLOCK, e->memory[i], NULL, 0));
        }
    }
    e->data = calloc(e->words, sizeof *e->data);
    REQUIRE(e->data != NULL);
    ipc_say(&e->other, 'j');
}

uint64_t ipc_ring_consume(ipc_end *e)
{
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(e->ring, CULV_RING_CONSUMER, e->stream, IPC_FAR, &f));
    const CUdeviceptr at = e->buffers[f.slot] != NULL ? culv_buffer_pointer(e->buffers[f.slot])
                                                      : vmm_address(e->range, f.slot);
    LIB_CU_OK(&e->s.w, e->s.w.cu->MemcpyDtoHAsync(e->data, at, e->words * 4, e->stream));
    LIB_OK(culv_ring_release_on(e->ring, CULV_RING_CONSUMER, e->stream, &f));
    lib_finish(&e->s.w, e->stream);
    REQUIRE_WORDS(e->data, e->words, (uint32_t)f.number);
    return f.number;
}

void ipc_read_every(ipc_child *parent, const char *name)
{
    ipc_end e;
    ipc_end_connect(&e, parent, name, 0);
    ipc_ring_join(&e, CULV_RING_FIFO);
    for (uint64_t i = 0; i < IPC_FRAMES; i++)
        REQUIRE_EQ(ipc_ring_consume(&e), i);
    ipc_say(parent, 'd');
    ipc_end_close(&e);
}

void ipc_ring_close(ipc_end *e)
{
    culv_ring_destroy(&e->ring, NULL);
    culv_ipc_server_destroy(&e->server);
    culv_ipc_client_destroy(&e->client);
    lib_settle(&e->s.w);
    free(e->data);
    e->data = NULL;
    if (e->range == NULL) return;
    for (uint32_t i = 0; i < e->count; i++)
        culv_buffer_unmap(&e->buffers[i], NULL);
    if (e->memory[0] != NULL)
        LIB_OK(culv_vmm_unmap(e->range, 0, culv_vmm_range_size(e->range), NULL));
    LIB_OK(culv_vmm_range_destroy(&e->range));
    for (uint32_t i = 0; i < e->count; i++)
        culv_vmm_allocation_destroy(&e->memory[i]);
}

/* Peers that are no library's, and a server for them. */

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

int raw_listen(const char *name)
{
    socklen_t length;
    const struct sockaddr_un a = raw_address(name, &length);
    const int fd = raw_socket();
    REQUIRE_EQ(bind(fd, (const struct sockaddr *)&a, length), 0);
    REQUIRE_EQ(listen(fd, 8), 0);
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

culvi_ipc_message raw_named(culvi_ipc_type type, const char *name)
{
    culvi_ipc_message m = raw_message(type);
    strcpy(m.name, name);
    return m;
}

void raw_ask(int fd, culvi_ipc_type type, const char *name)
{
    const culvi_ipc_message m = raw_named(type, name);
    REQUIRE(raw_send_message(fd, &m, NULL));
}

culvi_ipc_io raw_receive(int fd, bool answer, culvi_ipc_message *out, int fds[CULVI_IPC_FDS])
{
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    const culvi_ipc_io io = culvi_ipc_receive(fd, answer, out, fds, &why);
    if (io != CULVI_IPC_DONE && text[0] != 0) printf("%s\n", text);
    return io;
}

int raw_accept(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    return poll(&p, 1, (int)TEST_FAR_MS) <= 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
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
    REQUIRE_EQ(raw_receive(fd, true, &m, fds), CULVI_IPC_DONE);
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

void raw_linger_wrap(raw_linger *l)
{
    int pair[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    REQUIRE(raw_send(pair[0], "x", 1, &l->fd, 1));
    close(pair[0]);
    close(l->fd);
    l->fd = pair[1];
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
    const uint32_t nobody = 65500;
    memset(h, 0, sizeof *h);
    vmm_stage_open(&h->s);
    h->device = lib_another_device(0, &(culv_log){take_line, h, CULV_LOG_WARNING});
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

void hostile_leave(hostile *h)
{
    while (h->count > 0)
        close(h->fds[--h->count]);
    ipc_serve(h->server);
}

void hostile_close(hostile *h)
{
    if (h->server != NULL) hostile_leave(h);
    culv_ring_destroy(&h->ring, NULL);
    culv_ipc_server_destroy(&h->server);
    culv_ipc_server_destroy(&h->closed);
    culv_vector_destroy(&h->vector, NULL);
    culv_vmm_allocation_destroy(&h->memory);
    culv_device_close(&h->device);
    vmm_stage_close(&h->s);
}

static void *hostile_serve(void *arg)
{
    hostile *h = arg;
    while (!atomic_load(&h->over)) {
        LIB_OK(culv_ipc_server_poll(h->server, UINT64_C(1000000), NULL));
        LIB_OK(culv_ipc_server_poll(h->closed, 0, NULL));
    }
    return NULL;
}

void hostile_begin(hostile *h)
{
    atomic_store(&h->over, false);
    REQUIRE_EQ(pthread_create(&h->thread, NULL, hostile_serve, h), 0);
}

void hostile_end(hostile *h)
{
    atomic_store(&h->over, true);
    REQUIRE_EQ(pthread_join(h->thread, NULL), 0);
}

void hostile_be_honest(hostile *h)
{
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 0;
    hostile_begin(h);
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
    hostile_end(h);
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
    raw_ask(fd, CULVI_IPC_HELLO, "");
    ipc_serve(h->server);
    REQUIRE_EQ(raw_answer(fd).type, CULVI_IPC_HELLO);
    return fd;
}

void hostile_crowd(hostile *h, size_t count)
{
    while (count-- > 0)
        hostile_keep(h, hostile_greeted(h));
}

void hostile_lingering(hostile *h, bool nested, int *fds, size_t count)
{
    for (size_t i = 0; i < 4; i++) {
        h->linger[i] = raw_linger_make();
        if (nested) raw_linger_wrap(&h->linger[i]);
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
    culvi_ipc_message m = raw_named(CULVI_IPC_JOIN, "frames");
    int fds[CULVI_IPC_FDS];
    m.sequence = sequence;
    m.join.policy = (uint32_t)policy;
    REQUIRE(raw_send_message(fd, &m, NULL));
    ipc_serve(h->server);
    REQUIRE_EQ(raw_receive(fd, true, &m, fds), CULVI_IPC_DONE);
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
