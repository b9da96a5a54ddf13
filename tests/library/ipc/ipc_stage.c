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

static void done(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED) SKIP("the other process skips");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the other process ended with status %#x", (unsigned)status);
}

static void take(ipc_child *other, char word)
{
    char got = 0;
    if (read(other->told, &got, 1) != 1) {
        int status = 0;
        if (waitpid(other->pid, &status, 0) == other->pid) done(status);
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
    done(status);
}

void ipc_join_serving(ipc_child *child, culv_ipc_server *server)
{
    int status = 0;
    while (!ended(child, &status))
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(2000000), NULL));
    done(status);
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

void ipc_slots_open(ipc_slots *slots, const vmm_stage *s, const char *name, uint32_t count,
                    uint32_t words)
{
    ipc_slots_open_limited(slots, s, name, count, words, 0);
}

void ipc_slots_open_limited(ipc_slots *slots, const vmm_stage *s, const char *name, uint32_t count,
                            uint32_t words, uint64_t limit)
{
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    culv_ipc_info info = culv_ipc_info_init();
    *slots = (ipc_slots){.count = count, .words = words};
    REQUIRE(count <= sizeof slots->memory / sizeof slots->memory[0]);
    slots->server = ipc_server(s->w.device, name);
    d.name = "frames";
    d.num_slots = count;
    d.late_limit = limit;
    LIB_OK(culv_ipc_ring_create(slots->server, &d, &slots->ring));
    slots->range = vmm_range(s, count);
    info.element_size = 4;
    info.element_count = words;
    for (uint32_t i = 0; i < count; i++) {
        slots->memory[i] = vmm_allocation(s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
        LIB_OK(culv_vmm_map(slots->range, i * VMM_BLOCK, slots->memory[i], NULL, 0));
        LIB_OK(culv_ipc_ring_offer(slots->ring, i, 0, &info, culv_ipc_from_vmm(slots->memory[i])));
    }
}

void ipc_slots_close(ipc_slots *slots, lib_world *w)
{
    culv_ring_destroy(&slots->ring, NULL);
    culv_ipc_server_destroy(&slots->server);
    lib_settle(w);
    LIB_OK(culv_vmm_unmap(slots->range, 0, culv_vmm_range_size(slots->range), NULL));
    LIB_OK(culv_vmm_range_destroy(&slots->range));
    for (uint32_t i = 0; i < slots->count; i++)
        culv_vmm_allocation_destroy(&slots->memory[i]);
}

void ipc_slots_produce(ipc_slots *slots, const lib_world *w, CUstream stream, uint32_t *all,
                       uint32_t frames)
{
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(slots->ring, CULV_RING_PRODUCER, stream, IPC_FAR, &f));
    ipc_slots_write(slots, w, stream, all, frames, &f);
}

void ipc_slots_write(ipc_slots *slots, const lib_world *w, CUstream stream, uint32_t *all,
                     uint32_t frames, culv_ring_frame *f)
{
    uint32_t *data = all + f->number % frames * slots->words;
    for (uint32_t i = 0; i < slots->words; i++)
        data[i] = lib_word(i, (uint32_t)f->number);
    LIB_CU_OK(w, w->cu->MemcpyHtoDAsync(vmm_address(slots->range, f->slot), data, slots->words * 4,
                                        stream));
    LIB_OK(culv_ring_release_on(slots->ring, CULV_RING_PRODUCER, stream, f));
}
