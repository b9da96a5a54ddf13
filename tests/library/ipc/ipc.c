/* SPDX-License-Identifier: MIT */
/* Memory and timelines between two processes, with the data read back in both. */
#include "ipc_stage.h"

#include <culvert/fabric.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };
/* Odd sizes: a word, a page and a word, most of a block, and blocks with a tail. */
static const size_t sizes[] = {1, 1025, 500003, 1234567};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static uint64_t blocks_of(size_t words)
{
    return (words * 4 + VMM_BLOCK - 1) / VMM_BLOCK;
}

/* VMM memory and a timeline: the viewer waits for the solver's work on the GPU, reads all of it,
 * writes it anew, and the solver waits for that. */
IPC_ROLE(view_fields)
{
    culv_ipc_object *object = ipc_receive(e->client, "steps");
    NEW(OWN(culv_semaphore), steps, culv_ipc_import_semaphore, object);
    culv_ipc_object_destroy(&object);
    for (size_t i = 0; i < SIZES; i++) {
        char field[] = {'f', (char)('0' + i), 0};
        object = ipc_receive(e->client, field);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE_EQ(info.kind, CULV_IPC_VMM);
        REQUIRE_EQ(info.element_size, 4);
        REQUIRE_EQ(info.element_count, sizes[i]);
        REQUIRE_EQ(info.allocation_size, blocks_of(sizes[i]) * VMM_BLOCK);
        REQUIRE_EQ_STR(info.text, "cells");
        NEW(OWN(culv_vmm_allocation), memory, culv_ipc_import_vmm, object);
        OWN(culv_vmm_range) *range = vmm_mapped(&e->s, memory);
        LIB_OK(culv_semaphore_wait(steps, e->stream, 2 * i + 1));
        ipc_require(&e->s.w, e->stream, vmm_address(range, 0), sizes[i], (uint32_t)i);
        ipc_write(&e->s.w, e->stream, vmm_address(range, 0), sizes[i], (uint32_t)i + 100);
        LIB_OK(culv_semaphore_signal(steps, e->stream, 2 * i + 2));
        lib_finish(&e->s.w, e->stream);
        culv_ipc_object_destroy(&object);
    }
}

IPC_CASE_(fields, true, view_fields, .own = true, .smoke = true)
{
    const lib_world *w = &e->s.w;
    culv_vmm_allocation *memory[SIZES];
    culv_vmm_range *range[SIZES];
    culv_handle handle;
    NEW(OWN(culv_shared_semaphore), made, culv_vk_semaphore_create, w->attachment, NULL);
    LIB_OK(culv_vk_semaphore_export_dup(w->attachment, culv_vk_semaphore_handle(made),
                                        CULV_HANDLE_OPAQUE_FD, &handle));
    culv_ipc_info info = culv_ipc_info_named("steps");
    info.kind = CULV_IPC_SEMAPHORE;
    info.semaphore_type = CULV_SEMAPHORE_TIMELINE;
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
    for (size_t i = 0; i < SIZES; i++) {
        memory[i] = vmm_allocation(&e->s, blocks_of(sizes[i]), FD_BIT);
        range[i] = vmm_mapped(&e->s, memory[i]);
        info = culv_ipc_info_named((const char[]){'f', (char)('0' + i), 0});
        info.element_format = CULV_FORMAT_R32_UINT;
        info.element_size = 4;
        info.element_count = sizes[i];
        strcpy(info.text, "cells");
        LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_vmm(memory[i])));
        ipc_write(w, e->stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i);
    }
    culv_semaphore *steps = culv_shared_semaphore_cuda(made);
    for (size_t i = 0; i < SIZES; i++) {
        LIB_OK(culv_semaphore_signal(steps, e->stream, 2 * i + 1));
        culv_semaphore_mark_value(steps, 2 * i + 2);
        /* Or the next signal would come before the viewer's. */
        LIB_OK(culv_semaphore_wait(steps, e->stream, 2 * i + 2));
    }
    ipc_end_join(e);
    for (size_t i = 0; i < SIZES; i++)
        ipc_require(w, e->stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i + 100);
    culv_ipc_server_destroy(&e->server);
    for (size_t i = 0; i < SIZES; i++)
        vmm_unmapped(&range[i], &memory[i]);
}

/* A buffer of a graphics API's, whose memory is said to be of that GPU; 0: the server's. */
static void offer_buffer(culv_ipc_server *server, const char *name, culv_vmm_allocation *memory,
                         const culv_uuid *gpu)
{
    culv_handle handle;
    culv_vmm_allocation_info what = culv_vmm_allocation_info_init();
    culv_ipc_info info = culv_ipc_info_named(name);
    LIB_OK(culv_vmm_allocation_get_info(memory, &what));
    info.kind = CULV_IPC_BUFFER;
    info.allocation_size = what.size;
    if (gpu != NULL) info.device = *gpu;
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
}

/* It is told which GPU has it, and what to do. */
static void buffer_is_elsewhere(culv_ipc_client *client, const char *name, const char *says)
{
    culv_buffer *buffer = NULL;
    OWN(culv_ipc_object) *object = ipc_receive(client, name);
    LIB_REFUSES(buffer, culv_ipc_import_buffer(object, &buffer), INVALID, DEVICE_MISMATCH, says);
}

static const culv_uuid nobodys = {{1, 2, 3}};

/* A viewer on a second GPU, which reads and writes the first one's memory as a peer. */
static void view_from_second(ipc_child *parent, const char *name)
{
    ipc_end e;
    ipc_hear(parent, 'g');
    ipc_end_connect(&e, parent, name, 1);
    culv_ipc_client *client = e.client;
    for (size_t i = 0; i < SIZES; i++) {
        OWN(culv_ipc_object) *object = ipc_receive(client, (const char[]){'f', (char)('0' + i), 0});
        const culv_device_caps here = lib_caps(e.s.w.device);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE(memcmp(&info.device, &here.uuid, sizeof here.uuid) != 0);
        NEW(OWN(culv_vmm_allocation), memory, culv_ipc_import_vmm, object);
        OWN(culv_vmm_range) *range = vmm_mapped(&e.s, memory);
        ipc_require(&e.s.w, e.stream, vmm_address(range, 0), sizes[i], (uint32_t)i);
        ipc_write(&e.s.w, e.stream, vmm_address(range, 0), sizes[i], (uint32_t)i + 100);
        lib_finish(&e.s.w, e.stream);
    }
    buffer_is_elsewhere(client, "of-the-server", ", CUDA device 0 here; this device is '");
    buffer_is_elsewhere(client, "of-the-server", "culv_device_open_by_uuid()");
    buffer_is_elsewhere(client, "of-nobody", "CUDA_VISIBLE_DEVICES");
    culv_ipc_object *object = ipc_receive(client, "of-the-viewer");
    const culv_ipc_info info = ipc_info_of(object);
    const culv_device_caps here = lib_caps(e.s.w.device);
    REQUIRE_EQ_BYTES(&info.device, &here.uuid, sizeof here.uuid);
    culv_ipc_object_destroy(&object);
    ipc_end_close(&e);
}

TEST(two_gpus, .own = true)
{
    ipc_end e;
    CUuuid native;
    culv_uuid second;
    culv_vmm_allocation *memory[SIZES];
    culv_vmm_range *range[SIZES];
    raw_cuda_two_devices();
    ipc_end_serve(&e, view_from_second, "two", false);
    const lib_world *w = &e.s.w;
    if (w->cu->device_count < 2) {
        ipc_kill(&e.other);
        ipc_end_close(&e);
        SKIP("one CUDA device only");
    }
    for (size_t i = 0; i < SIZES; i++) {
        memory[i] = vmm_allocation(&e.s, blocks_of(sizes[i]), FD_BIT);
        range[i] = vmm_mapped(&e.s, memory[i]);
        ipc_write(w, e.stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i);
        ipc_offer_vmm(e.server, (const char[]){'f', (char)('0' + i), 0}, memory[i]);
    }
    CU_OK(w->cu->DeviceGetUuid(&native, 1));
    memcpy(second.bytes, native.bytes, sizeof second.bytes);
    offer_buffer(e.server, "of-the-server", memory[0], NULL);
    offer_buffer(e.server, "of-the-viewer", memory[0], &second);
    offer_buffer(e.server, "of-nobody", memory[0], &nobodys);
    ipc_say(&e.other, 'g');
    ipc_end_join(&e);
    culv_ipc_server_destroy(&e.server);
    for (size_t i = 0; i < SIZES; i++) {
        ipc_require(w, e.stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i + 100);
        vmm_unmapped(&range[i], &memory[i]);
    }
    ipc_end_close(&e);
}

/* VMM memory between processes by its fabric handle: bytes, and no file descriptor. */

enum { WORDS = 500003 };

IPC_ROLE(view)
{
    OWN(culv_ipc_object) *object = ipc_receive(e->client, "woven");
    const culv_ipc_info info = ipc_info_of(object);
    culv_buffer *buffer = NULL;
    culv_handle handle;
    REQUIRE_EQ(info.kind, CULV_IPC_VMM_FABRIC);
    REQUIRE_EQ(info.handle_type, CULV_HANDLE_NONE);
    REQUIRE_EQ(info.allocation_size, VMM_BLOCK);
    REQUIRE_EQ(info.element_count, WORDS);
    LIB_OK(culv_ipc_object_get_handle(object, &handle));
    REQUIRE_EQ(handle.type, CULV_HANDLE_FABRIC);
    LIB_ERROR(culv_ipc_import_buffer(object, &buffer), INVALID, VALUE);
    NEW(OWN(culv_vmm_allocation), memory, culv_ipc_import_vmm, object);
    OWN(culv_vmm_range) *range = vmm_mapped(&e->s, memory);
    ipc_require(&e->s.w, e->stream, vmm_address(range, 0), WORDS, 3);
    ipc_write(&e->s.w, e->stream, vmm_address(range, 0), WORDS, 4);
}

IPC_CASE(fabric, view)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    OWN(culv_vmm_allocation) *plain = vmm_allocation(&e->s, 1, 0);
    culv_ipc_info info = culv_ipc_info_named("woven");
    d.size = WORDS * 4;
    d.fabric = CULV_FABRIC_REQUIRED;
    NEW(OWN(culv_vmm_allocation), memory, culv_vmm_allocation_create, e->s.w.device, &d);
    OWN(culv_vmm_range) *range = vmm_mapped(&e->s, memory);
    ipc_write(&e->s.w, e->stream, vmm_address(range, 0), WORDS, 3);
    info.element_size = 4;
    info.element_count = WORDS;
    LIB_ERROR(culv_ipc_offer(e->server, &info, culv_ipc_from_vmm_fabric(plain)), INVALID,
              NOT_EXPORTABLE);
    const size_t fds = test_open_fds();
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_vmm_fabric(memory)));
    REQUIRE_EQ(test_open_fds(), fds);
    ipc_end_join(e);
    ipc_require(&e->s.w, e->stream, vmm_address(range, 0), WORDS, 4);
    culv_ipc_server_destroy(&e->server);
}

#undef TEST_GROUP
#define TEST_GROUP "fetch."
/* File descriptors by the numbers that another process has for them, and what is refused. */

enum { FETCH_WORDS = 12347, NOBODY = 65534 };

/* What a program tells that cannot send a descriptor. */
typedef struct note {
    int fd;
    int32_t pid;
    uint64_t started;
} note;

static void tell(const ipc_child *other, int fd)
{
    note n = {.fd = fd, .pid = (int32_t)getpid()};
    LIB_OK(culv_ipc_process_get_start(0, &n.started));
    REQUIRE(write(other->tell, &n, sizeof n) == (ssize_t)sizeof n);
}

static culv_ipc_fetch_desc told(const ipc_child *other)
{
    note n;
    culv_ipc_fetch_desc d = culv_ipc_fetch_desc_init();
    REQUIRE(read(other->told, &n, sizeof n) == (ssize_t)sizeof n);
    d.pid = n.pid;
    d.number = (uint64_t)n.fd;
    d.started = n.started;
    d.type = CULV_HANDLE_OPAQUE_FD;
    return d;
}

/* A container may forbid the call to everybody. */
static void must_be_allowed(ipc_child *child, const culv_ipc_fetch_desc *d)
{
    culv_handle handle;
    culv_error e = culv_error_init();
    if (culv_ipc_fetch_dup(d, &handle) == CULV_OK) {
        culv_handle_close(&handle);
        return;
    }
    culv_last_error(&e);
    REQUIRE_EQ(e.result, CULV_ERROR_UNSUPPORTED);
    ipc_kill(child);
    SKIP("%s", e.message);
}

/* Memory of another process -------------------------------------------------------------------- */

static void have_memory(ipc_child *parent, const char *name)
{
    culv_handle handle;
    vmm_stage s;
    vmm_stage_open(&s);
    CUstream stream = lib_case_stream(&s.w);
    culv_vmm_allocation *memory = vmm_allocation(&s, 1, FD_BIT);
    culv_vmm_range *range = vmm_mapped(&s, memory);
    ipc_write(&s.w, stream, vmm_address(range, 0), FETCH_WORDS, 1);
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    tell(parent, handle.value.fd);
    ipc_hear(parent, 'f');
    culv_handle_close(&handle);
    ipc_say(parent, 'c');
    ipc_hear(parent, 'w');
    ipc_require(&s.w, stream, vmm_address(range, 0), FETCH_WORDS, 2);
    vmm_unmapped(&range, &memory);
    vmm_stage_close(&s);
}

TEST(memory, .own = true)
{
    ipc_child child;
    vmm_stage s;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_vmm_allocation *theirs = NULL;
    ipc_fork(&child, have_memory, "");
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    culv_ipc_fetch_desc d = told(&child);
    d.size = VMM_BLOCK;
    must_be_allowed(&child, &d);
    LIB_OK(culv_ipc_fetch_dup(&d, &handle));
    REQUIRE(handle.type == CULV_HANDLE_OPAQUE_FD && handle.value.fd >= 0);
    ipc_say(&child, 'f');
    ipc_hear(&child, 'c'); /* the other one has closed its own */
    culv_vmm_import_desc import = culv_vmm_import_desc_init();
    import.handle = handle;
    import.size = VMM_BLOCK;
    LIB_TAKE(culv_vmm_import(s.w.device, &import, &theirs), &import.handle);
    culv_vmm_range *range = vmm_mapped(&s, theirs);
    ipc_require(&s.w, stream, vmm_address(range, 0), FETCH_WORDS, 1);
    ipc_write(&s.w, stream, vmm_address(range, 0), FETCH_WORDS, 2);
    ipc_say(&child, 'w');
    ipc_join(&child);
    vmm_unmapped(&range, &theirs);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s); /* it counts files */
    ipc_forget(&child);
}

/* Refusals ------------------------------------------------------------------------------------- */

enum { BYTES = 8192 };

/* A file of that many bytes, a pipe at the next number, and nothing behind it. */
static void have_file(ipc_child *parent, const char *user)
{
    const int file = memfd_create("fetch", MFD_CLOEXEC), at = 500;
    int pipe_fds[2];
    REQUIRE(file >= 0 && ftruncate(file, BYTES) == 0 && pipe2(pipe_fds, O_CLOEXEC) == 0);
    REQUIRE(dup3(file, at, O_CLOEXEC) == at && dup3(pipe_fds[0], at + 1, O_CLOEXEC) == at + 1);
    if (strcmp(user, "nobody") == 0)
        REQUIRE(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                setresuid(NOBODY, NOBODY, NOBODY) == 0);
    tell(parent, at);
    ipc_hear(parent, 'e');
}

static void refused_fetch(culv_ipc_fetch_desc d, culv_result result, culv_reason reason,
                          const char *says)
{
    culv_handle out = culv_handle_opaque_fd(77);
    const size_t files = test_open_fds();
    LIB_FAILS(culv_ipc_fetch_dup(&d, &out), result, reason, says);
    REQUIRE_EQ(out.value.fd, 77);
    REQUIRE_EQ(test_open_fds(), files);
}

TEST(refusals, .own = true)
{
    ipc_child child;
    culv_handle handle;
    uint64_t start = 0;
    ipc_fork(&child, have_file, "");
    culv_ipc_fetch_desc good = told(&child), d = good;
    must_be_allowed(&child, &good);
    d.struct_size = 3;
    LIB_ERROR(culv_ipc_fetch_dup(&d, &handle), INVALID, STRUCT_SIZE);
    d = good;
    const uint32_t others[] = {(uint32_t)geteuid() + 1, (uint32_t)geteuid() + 2};
#define ROW(change, class, why, says)                                                              \
    SPOILT(d, change, refused_fetch(d, CULV_ERROR_##class, CULV_REASON_##why, says))
    ROW(d.type = CULV_HANDLE_NONE, INVALID, HANDLE_TYPE, "culv_ipc_fetch_desc.type");
    ROW(d.type = CULV_HANDLE_OPAQUE_WIN32, UNSUPPORTED, HANDLE_TYPE, "only Windows has");
    ROW(d.pid = 0, INVALID, VALUE, "culv_ipc_fetch_desc.pid");
    ROW(d.number = UINT64_C(1) << 40, INVALID, HANDLE_BAD, "culv_ipc_fetch_desc.number");
    ROW(d.number += 2, INVALID, HANDLE_BAD, "has no file descriptor 502");
    ROW(d.number += 1, INVALID, HANDLE_KIND, "a pipe");
    ROW(d.size = BYTES + 1, INVALID, SIZE, "8192");
    ROW(d.started++, ASYNC, IPC_GONE, "another one than was meant"); /* its number, in use again */
    ROW((d.users = others, d.num_users = 2), UNSUPPORTED, IPC_REFUSED, "users does not name");
    ROW(d.users = others, INVALID, VALUE, "num_users");
#undef ROW
    d.size = BYTES;
    LIB_OK(culv_ipc_fetch_dup(&d, &handle));
    REQUIRE_EQ(fcntl(handle.value.fd, F_GETFD), FD_CLOEXEC);
    culv_handle_close(&handle);
    LIB_OK(culv_ipc_process_get_start(good.pid, &start));
    REQUIRE_EQ(start, good.started);
    /* Dead, and gone. */
    REQUIRE_EQ(kill(child.pid, SIGKILL), 0);
    siginfo_t info;
    REQUIRE_EQ(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    refused_fetch(good, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, "has ended");
    REQUIRE_EQ(waitpid(child.pid, NULL, 0), child.pid);
    refused_fetch(good, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE,
                  "does not exist, or has ended; a number of another PID namespace");
    LIB_ERROR(culv_ipc_process_get_start(good.pid, &start), ASYNC, IPC_GONE);
    ipc_forget(&child);
}

/* Namespaces ----------------------------------------------------------------------------------- */

enum { NEW_TIME = 0x80 }; /* CLONE_NEWTIME, which older headers lack */

static void have_file_at_another_time(ipc_child *parent, const char *name)
{
    ipc_contain(NEW_TIME, 100000);
    have_file(parent, name);
}

TEST(time_namespace, .own = true)
{
    ipc_child child;
    ipc_need_namespaces(NEW_TIME);
    ipc_fork(&child, have_file_at_another_time, "");
    const culv_ipc_fetch_desc d = told(&child);
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "another time namespace");
    ipc_say(&child, 'e');
    ipc_join(&child);
    ipc_forget(&child);
}

/* Other users ---------------------------------------------------------------------------------- */

/* It asks for a file of its parent's, whom the kernel does not let it touch. */
static void ask_root(ipc_child *parent, const char *name)
{
    const uint32_t root = 0;
    culv_ipc_fetch_desc d = told(parent);
    REQUIRE(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, "users does not name");
    d.users = &root;
    d.num_users = 1;
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED,
                  "PTRACE_MODE_ATTACH_REALCREDS");
    ipc_say(parent, 'r');
}

TEST(users, .own = true)
{
    ipc_child child;
    culv_handle handle;
    const uint32_t nobody = NOBODY;
    if (geteuid() != 0) SKIP("only root can be another user");
    ipc_fork(&child, have_file, "nobody");
    culv_ipc_fetch_desc d = told(&child);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, "of user 65534");
    d.users = &nobody;
    d.num_users = 1;
    must_be_allowed(&child, &d);
    LIB_OK(culv_ipc_fetch_dup(&d, &handle));
    culv_handle_close(&handle);
    ipc_say(&child, 'e');
    ipc_join(&child);
    ipc_forget(&child);

    const int file = memfd_create("fetch", MFD_CLOEXEC);
    REQUIRE(file >= 0);
    ipc_fork(&child, ask_root, "");
    tell(&child, file);
    ipc_hear(&child, 'r');
    ipc_join(&child);
    ipc_forget(&child);
    close(file);
}

/* Kernels that lack it, and filters that forbid it --------------------------------------------- */

TEST(forbidden, .own = true)
{
    ipc_child child;
    ipc_fork(&child, have_file, "");
    const culv_ipc_fetch_desc d = told(&child);
    ipc_forbid(SYS_pidfd_getfd, EPERM);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, "seccomp");
    ipc_forbid(SYS_pidfd_getfd, ENOSYS);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, "Linux 5.6");
    ipc_forbid(SYS_pidfd_open, ENOSYS);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, "Linux 5.3");
    ipc_say(&child, 'e');
    ipc_join(&child);
    ipc_forget(&child);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Processes that come, are killed at each step that a client takes, and come again. The server has
 * no file, mapping or thread more for it, and serves the next one. */

enum { STEPS = 16, MOST = 400, SLOTS = 3 };

/* What a client does, step by step; it is killed after the step that it says, or within what comes
 * behind it. */
static void live(ipc_child *parent, const char *name)
{
    vmm_stage s;
    culv_ring_frame f;
    char step = 'a';
#define STEP() ipc_say(parent, step++)
    ipc_hear(parent, 'g');
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    STEP();
    culv_ipc_client *client = ipc_client(s.w.device, name);
    STEP();
    culv_ipc_info info = culv_ipc_info_init();
    LIB_OK(culv_ipc_client_get_offer(client, 0, IPC_FAR, &info, NULL));
    STEP();
    NEW(culv_ipc_object, object, culv_ipc_client_receive, client, "cells", IPC_FAR);
    STEP();
    NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
    STEP();
    culv_ipc_vector_desc v = culv_ipc_vector_desc_init();
    v.name = "particles";
    NEW(culv_vector, vector, culv_ipc_vector_open, client, &v, IPC_FAR);
    STEP();
    LIB_OK(culv_ipc_vector_update(vector, stream, IPC_FAR));
    STEP();
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    c.ring = "frames";
    NEW(culv_ring, side, culv_ipc_ring_join, client, &c, IPC_FAR);
    STEP();
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_ring_acquire_on(side, CULV_RING_CONSUMER, stream, IPC_FAR, &f));
        STEP();
        LIB_OK(culv_ring_release_on(side, CULV_RING_CONSUMER, stream, &f));
        STEP();
        lib_finish(&s.w, stream);
        STEP();
    }
    culv_ring_destroy(&side, NULL);
    STEP();
    culv_ipc_client_destroy(&client);
    STEP();
    REQUIRE_EQ(step, 'a' + STEPS);
    pause();
}

/* Frames go on while somebody reads them. */
static void turn(culv_ipc_server *server, culv_ring *ring, CUstream stream)
{
    culv_ring_frame f;
    LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
    if (culv_ipc_ring_consumers(ring, NULL, 0) == 0) return;
    if (culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, 0, &f) != CULV_OK)
        return; /* it is full */
    LIB_OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &f));
}

TEST(kills, .own = true, .time_limit = 900)
{
    static ipc_child child[MOST];
    const int count = atoi(test_option("kills", "16"));
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    lib_level settled = {0};
    REQUIRE(count >= STEPS && count <= MOST);
    ipc_name(name, "kills");
    for (int i = 0; i < count; i++)
        ipc_fork(&child[i], live, name);
    vmm_stage_open(&s);
    CUstream stream = lib_case_stream(&s.w);
    culv_ipc_server *server = ipc_server(s.w.device, name);
    culv_vmm_allocation *memory = vmm_allocation(&s, 1, FD_BIT);
    ipc_offer_vmm(server, "cells", memory);
    culv_vector_desc v = culv_vector_desc_init();
    v.handle_types = FD_BIT;
    v.size = 3 * VMM_BLOCK;
    v.max_chunk = VMM_BLOCK;
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &v);
    culv_ipc_info info = culv_ipc_info_named("particles");
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vector(vector)));
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "frames";
    r.num_slots = SLOTS;
    NEW(culv_ring, ring, culv_ipc_ring_create, server, &r);
    for (int i = 0; i < count; i++) {
        const int last = i % STEPS;
        const double until = test_now_us() + TEST_FAR_MS * 1000.0;
        ipc_say(&child[i], 'g');
        for (int step = 0; step <= last;) {
            if (ipc_heard(&child[i], (char)('a' + step)))
                step++;
            else
                turn(server, ring, stream);
            if (test_now_us() > until) FAIL("step %d of process %d did not come", step, i);
        }
        /* Some die at once, some a little way into what comes behind. */
        if (i / STEPS % 2 != 0) turn(server, ring, stream);
        ipc_kill(&child[i]);
        while (culv_ipc_server_clients(server) > 0 || culv_ipc_ring_consumers(ring, NULL, 0) > 0)
            LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
        ipc_serve(server);        /* one that was killed as it connected counts as no client */
        lib_finish(&s.w, stream); /* it hangs where a dead one's timeline was not moved on */
        lib_settle(&s.w);
        const lib_level now = lib_level_now();
        if (i == STEPS / 2 + 2) settled = now; /* the first consumers have been there */
        if (settled.fds == 0) continue;
        REQUIRE_EQ(now.fds, settled.fds);
        REQUIRE(now.threads <= settled.threads);
    }
    REQUIRE(lib_map_lines() < settled.maps + 16);
    culv_ring_destroy(&ring, NULL);
    culv_ipc_server_destroy(&server);
    culv_vector_destroy(&vector, NULL);
    culv_vmm_allocation_destroy(&memory);
    lib_settle(&s.w);
    vmm_stage_close(&s);
}

/* Sockets in a directory: whose it must be, and who is admitted. What may lie there already:
 * directory.names. */
VMM_CASE(directories, .own = true)
{
    char directory[] = "/tmp/culvert-XXXXXX";
    culv_ipc_server *server = POISON(culv_ipc_server);
    culv_ipc_client *client = POISON(culv_ipc_client);
    const uint32_t nobody = 65534;
    REQUIRE(mkdtemp(directory) != NULL);
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    c.name = d.name = "view";
    c.directory = d.directory = directory;
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    /* A server of a user that the client does not trust. */
    c.users = &nobody;
    c.num_users = 1;
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, IPC_FAR, &client), UNSUPPORTED, IPC_REFUSED);
    culv_ipc_server_destroy(&server);
    /* A client that the server does not admit. */
    d.users = &nobody;
    d.num_users = 1;
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    c.users = NULL;
    c.num_users = 0;
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, 1000000, &client), TIMEOUT,
              IPC_GONE); /* nobody polls */
    ipc_serve(server);
    REQUIRE_EQ(culv_ipc_server_clients(server), 0);
    culv_ipc_server_destroy(&server);
    d.users = NULL;
    d.num_users = 0;
    REQUIRE_EQ(chmod(directory, 0755), 0);
    server = POISON(culv_ipc_server);
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, IPC_REFUSED, "0700");
    d.directory = "/proc/version";
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, VALUE);
    d.directory = directory;
    d.name = "a/b";
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, VALUE);
    REQUIRE(server == POISON(culv_ipc_server));
    REQUIRE_EQ(rmdir(directory), 0);
}

/* Each refused description names its field, what it is and what it may be. */
VMM_CASE(descriptions)
{
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    char name[CULV_IPC_NAME_SIZE];
    snprintf(name, sizeof name, "descriptions-%d", (int)getpid());
    d.name = name;
    NEW(OWN(culv_ipc_server), server, culv_ipc_server_create, s->w.device, &d);
    OWN(culv_vmm_allocation) *memory = vmm_allocation(s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    culv_handle handle;
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    static const struct {
        culv_ipc_kind kind;
        uint64_t allocation_size, offset, size, element_count;
        const char *says;
    } rows[] = {
        {CULV_IPC_BUFFER, 0, 0, 0, 0, "allocation_size is 0, and must be at least 1"},
        {CULV_IPC_BUFFER, 4097, 4097, 0, 0, "offset is 4097, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 4098, 0, 0, "offset is 4098, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 1, 4097, 0, "size is 4097, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 1, 0, 1366, "element_count is 1366, and may be at most 1365"},
        {CULV_IPC_BUFFER, 4097, 1, 2, 1, "element_count is 1, and may be at most 0"},
        {CULV_IPC_IMAGE, 4097, 0, 0, 0, "format is 0, and must be at least 1"},
        {CULV_IPC_SEMAPHORE, 0, 0, 0, 0, "semaphore_type is 0, and must be at least 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        culv_ipc_info info = culv_ipc_info_named("thing");
        info.kind = rows[i].kind;
        info.allocation_size = rows[i].allocation_size;
        info.offset = rows[i].offset;
        info.size = rows[i].size;
        info.element_size = 3;
        info.element_count = rows[i].element_count;
        LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), INVALID, VALUE,
                  rows[i].says);
    }
    culv_ipc_info last = culv_ipc_info_named("thing"); /* one byte, and one that is there twice */
    last.kind = CULV_IPC_BUFFER;
    last.allocation_size = 4097;
    last.offset = 4096;
    LIB_OK(culv_ipc_offer(server, &last, culv_ipc_from_handle(&handle)));
    LIB_ERROR(culv_ipc_offer(server, &last, culv_ipc_from_handle(&handle)), BUSY, IPC_NAME,
              "culv_ipc_withdraw() that");
    culv_handle_close(&handle);
    /* What a ring offers cannot be withdrawn, and the message does not ask for it. */
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "field";
    r.num_slots = 1;
    NEW(OWN(culv_ring), ring, culv_ipc_ring_create, server, &r);
    const culv_ipc_info part = culv_ipc_info_init();
    LIB_OK(culv_ipc_ring_offer(ring, 0, 0, &part, culv_ipc_from_vmm(memory)));
    LIB_ERROR(culv_ipc_ring_offer(ring, 0, 0, &part, culv_ipc_from_vmm(memory)), BUSY, IPC_NAME,
              "culv_ring_destroy() withdraws it");
}
