/* SPDX-License-Identifier: MIT */
/* File descriptors by the numbers that another process has for them, and what is refused. */
#define TEST_GROUP "fetch."
#include "ipc_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 12347, NOBODY = 65534, FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };

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
    (void)name;
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    culv_vmm_allocation *memory = vmm_allocation(&s, 1, FD_BIT);
    culv_vmm_range *range = vmm_range(&s, 1);
    LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
    ipc_write(&s.w, stream, vmm_address(range, 0), WORDS, 1);
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    tell(parent, handle.value.fd);
    ipc_hear(parent, 'f');
    culv_handle_close(&handle);
    ipc_say(parent, 'c');
    ipc_hear(parent, 'w');
    ipc_require(&s.w, stream, vmm_address(range, 0), WORDS, 2);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&memory);
    lib_stream_destroy(&s.w, stream);
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
    culv_vmm_range *range = vmm_range(&s, 1);
    LIB_OK(culv_vmm_map(range, 0, theirs, NULL, 0));
    ipc_require(&s.w, stream, vmm_address(range, 0), WORDS, 1);
    ipc_write(&s.w, stream, vmm_address(range, 0), WORDS, 2);
    ipc_say(&child, 'w');
    ipc_join(&child);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&theirs);
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
    d.type = CULV_HANDLE_NONE;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE, "culv_ipc_fetch_desc.type");
    d.type = CULV_HANDLE_OPAQUE_WIN32;
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE, "only Windows has");
    d = good;
    d.pid = 0;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "culv_ipc_fetch_desc.pid");
    d = good;
    d.number = UINT64_C(1) << 40;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD, "culv_ipc_fetch_desc.number");
    d.number = good.number + 2;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD, "has no file descriptor 502");
    d.number = good.number + 1;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND, "a pipe");
    d = good;
    d.size = BYTES + 1;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_SIZE, "8192");
    d.size = BYTES;
    LIB_OK(culv_ipc_fetch_dup(&d, &handle));
    REQUIRE_EQ(fcntl(handle.value.fd, F_GETFD), FD_CLOEXEC);
    culv_handle_close(&handle);
    /* The number of a process that has ended, in use again. */
    LIB_OK(culv_ipc_process_get_start(good.pid, &start));
    REQUIRE_EQ(start, good.started);
    d = good;
    d.started++;
    refused_fetch(d, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, "another one than was meant");
    /* Users. */
    const uint32_t others[] = {(uint32_t)geteuid() + 1, (uint32_t)geteuid() + 2};
    d = good;
    d.users = others;
    d.num_users = 2;
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, "users does not name");
    d.num_users = 0;
    refused_fetch(d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "num_users");
    /* Dead, and gone. */
    REQUIRE_EQ(kill(child.pid, SIGKILL), 0);
    siginfo_t info;
    REQUIRE_EQ(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    refused_fetch(good, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, "has ended");
    REQUIRE_EQ(waitpid(child.pid, NULL, 0), child.pid);
    refused_fetch(good, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, "does not exist, or has ended");
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

/* The number of a process is told into a PID namespace, where it is nobody's. */
static void ask_outside(ipc_child *parent, const char *name)
{
    (void)name;
    const culv_ipc_fetch_desc d = told(parent);
    ipc_contain(CLONE_NEWPID, 0);
    refused_fetch(d, CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE, "PID namespace");
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

TEST(pid_namespace, .own = true)
{
    ipc_child child;
    ipc_need_namespaces(CLONE_NEWPID);
    ipc_fork(&child, ask_outside, "");
    tell(&child, 0);
    ipc_join(&child);
    ipc_forget(&child);
}

/* Other users ---------------------------------------------------------------------------------- */

/* It asks for a file of its parent's, whom the kernel does not let it touch. */
static void ask_root(ipc_child *parent, const char *name)
{
    const uint32_t root = 0;
    (void)name;
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

static void forbid(long call, uint32_t error)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof lines / sizeof lines[0], lines};
    REQUIRE_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        SKIP("this kernel takes no seccomp filters");
}

TEST(forbidden, .own = true)
{
    ipc_child child;
    ipc_fork(&child, have_file, "");
    const culv_ipc_fetch_desc d = told(&child);
    forbid(SYS_pidfd_getfd, EPERM);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_IPC_REFUSED, "seccomp");
    ipc_say(&child, 'e');
    ipc_join(&child);
    ipc_forget(&child);
}

TEST(old_kernels, .own = true)
{
    ipc_child child;
    ipc_fork(&child, have_file, "");
    const culv_ipc_fetch_desc d = told(&child);
    forbid(SYS_pidfd_getfd, ENOSYS);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, "Linux 5.6");
    forbid(SYS_pidfd_open, ENOSYS);
    refused_fetch(d, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, "Linux 5.3");
    ipc_say(&child, 'e');
    ipc_join(&child);
    ipc_forget(&child);
}
