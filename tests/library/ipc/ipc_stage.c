/* SPDX-License-Identifier: MIT */
/* A second process, and servers that answer it. */
#include "ipc_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
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
    if (poll(&p, 1, (int)TEST_FAR_MS) <= 0) FAIL("'%c' did not come", word);
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
    for (size_t i = 0; i < words; i++)
        data[i] = lib_word((uint32_t)i, seed);
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
        culv_device_desc d = culv_device_desc_init();
        d.driver = e->s.w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
        d.log = ipc_log;
        culv_device_close(&e->s.w.device);
        LIB_OK(culv_device_open_by_ordinal(0, &d, &e->s.w.device));
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
    for (uint32_t i = 0; i < e->words; i++)
        data[i] = lib_word(i, (uint32_t)f->number);
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
    ipc_say(parent, 'j');
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
