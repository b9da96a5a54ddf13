/* SPDX-License-Identifier: MIT */
/* Small programs of two processes with one mistake each, and the same without it. One process makes
 * things with Vulkan, the other one takes them with CUDA.
 *
 *   check-seeds-procs NAME wrong|right KERNELS            runs one
 *   check-seeds-procs NAME wrong|right KERNELS FD FD      is its other process, after exec()
 *   check-seeds-procs --list */
#include "seeds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_pidfd_open
#    define SYS_pidfd_open 434
#endif

typedef struct pair {
    const char *name;
    const char *finding;
    void (*make)(bool wrong);
    void (*take)(bool wrong);
    enum { FORK, EXEC } how;
} pair;

static int channel = -1;
static int inherited = -1; /* by exec() */
static pid_t other;        /* the child, or the parent */

static void say(const void *data, size_t size)
{
    MUST(send(channel, data, size, 0) == (ssize_t)size);
}

static void hear(void *data, size_t size)
{
    MUST(recv(channel, data, size, MSG_WAITALL) == (ssize_t)size);
}

static void go(void)
{
    say("g", 1);
}

static void await(void)
{
    char letter;
    hear(&letter, 1);
}

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(2 * sizeof(int))];
} control;

/* With one byte, which is the same in each message. The numbers are closed. */
static void give_and_keep(const int *fds, unsigned count)
{
    char letter = 'd';
    control with;
    struct iovec data = {.iov_base = &letter, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = with.bytes};
    memset(&with, 0, sizeof with);
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    with.header.cmsg_level = SOL_SOCKET;
    with.header.cmsg_type = SCM_RIGHTS;
    with.header.cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(&with.header), fds, count * sizeof(int));
    MUST(sendmsg(channel, &message, 0) == 1);
}

static void give(int first, int second)
{
    const int fds[2] = {first, second};
    const unsigned count = second >= 0 ? 2 : 1;
    give_and_keep(fds, count);
    for (unsigned i = 0; i < count; i++)
        (void)close(fds[i]);
}

static void receive(int *fds, unsigned count, int flags)
{
    char letter;
    control with;
    struct iovec data = {.iov_base = &letter, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = with.bytes,
                             .msg_controllen = sizeof with.bytes};
    MUST(recvmsg(channel, &message, MSG_CMSG_CLOEXEC | flags) == 1 && letter == 'd');
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    MUST(c != NULL && c->cmsg_len == CMSG_LEN(count * sizeof(int)));
    memcpy(fds, CMSG_DATA(c), count * sizeof(int));
}

static int receive_one(void)
{
    int fd = -1;
    receive(&fd, 1, 0);
    return fd;
}

/* The size of a memory goes with its descriptor. */
static void give_buffer(bool dedicated)
{
    const shared s = make_buffer(dedicated);
    say(&s.allocated, sizeof s.allocated);
    give(memory_fd(&s), -1);
    await();
}

static unsigned long long receive_size(void)
{
    VkDeviceSize size;
    hear(&size, sizeof size);
    return size;
}

/* ---- (a) ---- */

static void make_one(bool wrong)
{
    (void)wrong;
    give_buffer(false);
}

static void take_closed(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    const int fd = receive_one(), copy = dup(fd);
    CU(import_memory(&import, fd, size, 0));
    (void)close(wrong ? fd : copy);
    if (wrong) (void)close(copy);
    go();
}

static void take_twice(bool wrong)
{
    CUexternalMemory import, again = NULL;
    const unsigned long long size = receive_size();
    const int fd = receive_one(), copy = wrong ? fd : dup(fd);
    CU(import_memory(&import, fd, size, 0));
    (void)import_memory(&again, copy, size, 0);
    go();
}

static void make_two(bool wrong)
{
    const shared s = make_buffer(false);
    (void)wrong;
    say(&s.allocated, sizeof s.allocated);
    give(memory_fd(&s), -1);
    give(memory_fd(&s), -1);
    await();
}

static void take_leaked(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    const int fd = receive_one(), spare = receive_one();
    CU(import_memory(&import, fd, size, 0));
    if (!wrong) (void)close(spare);
    go();
}

/* The sender has its number still. */
static void make_kept(bool wrong)
{
    const shared s = make_buffer(false);
    const int fd = memory_fd(&s);
    say(&s.allocated, sizeof s.allocated);
    give_and_keep(&fd, 1);
    if (!wrong) (void)close(fd);
    await();
}

/* It looks first, and takes the message only then. */
static void take_after_a_look(bool wrong)
{
    CUexternalMemory import;
    int fd = -1;
    const unsigned long long size = receive_size();
    (void)wrong;
    receive(&fd, 1, MSG_PEEK);
    await(); /* the descriptor in the queue goes */
    CU(import_memory(&import, fd, size, 0));
    go();
}

static void take_inherited(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    const int copy = dup(inherited);
    CU(import_memory(&import, inherited, size, 0));
    (void)close(wrong ? inherited : copy);
    if (wrong) (void)close(copy);
    go();
}

/* ---- (b) and (c) ---- */

static void take_size(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    (void)import_memory(&import, receive_one(), wrong ? SIZE : size, 0);
    go();
}

static void make_dedicated(bool wrong)
{
    (void)wrong;
    give_buffer(true);
}

static void take_dedicated(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    (void)import_memory(&import, receive_one(), size, wrong ? 0 : CUDA_EXTERNAL_MEMORY_DEDICATED);
    go();
}

static void take_other_gpu(bool wrong)
{
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    MUST(contexts[1] != NULL);
    if (wrong) CU(cu.cuCtxSetCurrent(contexts[1]));
    (void)import_memory(&import, receive_one(), size, 0);
    go();
}

/* A memory and a timeline in one message: which is which? */
static void make_both(bool wrong)
{
    int fd = -1;
    const shared s = make_buffer(false);
    (void)make_timeline(&fd);
    (void)wrong;
    say(&s.allocated, sizeof s.allocated);
    give(memory_fd(&s), fd);
    await();
}

static void take_other_type(bool wrong)
{
    int fds[2];
    CUexternalSemaphore semaphore;
    CUexternalMemory memory;
    const unsigned long long size = receive_size();
    receive(fds, 2, 0);
    if (import_semaphore(&semaphore, fds[wrong ? 0 : 1], TIMELINE) != CUDA_SUCCESS)
        (void)close(fds[wrong ? 0 : 1]);
    if (wrong)
        (void)close(fds[1]);
    else
        CU(import_memory(&memory, fds[0], size, 0));
    go();
}

/* No message: it takes the descriptor out of the other process. */
static void make_there(bool wrong)
{
    const shared s = make_buffer(false);
    const int fd = memory_fd(&s);
    (void)wrong;
    say(&s.allocated, sizeof s.allocated);
    say(&fd, sizeof fd);
    await();
    (void)close(fd);
}

static void take_from_there(bool wrong)
{
    char path[64];
    int fd;
    CUexternalMemory import;
    const unsigned long long size = receive_size();
    hear(&fd, sizeof fd);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)other, fd);
    (void)import_memory(&import, open(path, O_RDWR | O_CLOEXEC), wrong ? SIZE : size, 0);
    go();
}

/* ---- (d) and (e) ---- */

static shared memory;
static timeline there;

static void make_work(void)
{
    int fd = -1;
    memory = make_buffer(false);
    there = make_timeline(&fd);
    say(&memory.allocated, sizeof memory.allocated);
    give(memory_fd(&memory), fd);
}

static void take_work(void)
{
    int fds[2];
    memory.allocated = receive_size();
    receive(fds, 2, 0);
    CU(import_memory(&memory.import, fds[0], memory.allocated, 0));
    CU(map(&memory.pointer, memory.import, 0, SIZE));
    CU(import_semaphore(&there.cuda, fds[1], TIMELINE));
}

static void make_counts(bool wrong)
{
    (void)wrong;
    make_work();
    vulkan_writes(NULL, &there, 0, 5);
    go();
    await();
    all_done();
}

/* Each process has a counter of its own. */
static void take_counts(bool wrong)
{
    take_work();
    await();
    cuda_waits(&there, 5, 0);
    (void)cuda_signals(&there, wrong ? 1 : 6, 0);
    all_done();
    go();
}

static void make_little(bool wrong)
{
    make_work();
    vulkan_writes(NULL, &there, 0, wrong ? 1 : 2);
    await();
    all_done();
}

static void take_too_much(bool wrong)
{
    take_work();
    cuda_waits(&there, 2, 0);
    go();
    if (!wrong) all_done();
}

/* It is killed, before it signals or after. */
static void make_killed(bool wrong)
{
    make_work();
    if (!wrong) vulkan_writes(NULL, &there, 0, 1);
    if (!wrong) all_done();
    await();
    (void)kill(getpid(), SIGKILL);
}

static void take_of_killed(bool wrong)
{
    char end;
    take_work();
    cuda_waits(&there, 1, 0);
    go();
    MUST(recv(channel, &end, 1, 0) == 0);
    if (!wrong) all_done();
}

/* Each host waits for what the other one signals only then. */
static void make_hanging(bool wrong)
{
    const uint64_t value = 2;
    make_work();
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &there.vulkan,
                                      .pValues = &value};
    await();
    if (!wrong) vulkan_writes(NULL, &there, 0, 1);
    VK(vkWaitSemaphores(device, &info, UINT64_MAX));
    await();
}

static void take_hanging(bool wrong)
{
    (void)wrong;
    take_work();
    cuda_waits(&there, 1, 0);
    go();
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cuda_signals(&there, 2, 0));
    all_done();
    go();
}

static void make_writes(bool wrong)
{
    (void)wrong;
    make_work();
    vulkan_writes(&memory, &there, 0, 1);
    go();
    await();
    all_done();
}

static void take_reads(bool wrong)
{
    take_work();
    await();
    if (!wrong) cuda_waits(&there, 1, 0);
    cuda_reads(&memory);
    all_done();
    go();
}

/* The way back. */
static void make_writes_again(bool wrong)
{
    make_work();
    vulkan_writes(&memory, &there, 0, 1);
    await();
    vulkan_writes(&memory, &there, wrong ? 0 : 2, 3);
    go();
    await();
    all_done();
}

static void take_reads_once(bool wrong)
{
    (void)wrong;
    take_work();
    cuda_waits(&there, 1, 0);
    cuda_reads(&memory);
    CU(cuda_signals(&there, 2, 0));
    go();
    await();
    all_done();
    go();
}

/* The hosts order it, by a message. */
static void make_says(bool wrong)
{
    make_work();
    vulkan_writes(&memory, NULL, 0, 0);
    if (!wrong) VK(vkDeviceWaitIdle(device));
    go();
    await();
    all_done();
}

static void take_hears(bool wrong)
{
    (void)wrong;
    take_work();
    await();
    cuda_reads(&memory);
    all_done();
    go();
}

/* A wait that is submitted before its signal, round after round, and the hosts know by values. */
static void make_rounds(bool wrong)
{
    make_work();
    for (uint64_t i = 0; i < 8; i++) {
        vulkan_writes(&memory, &there, wrong && i == 7 ? 2 * i - 1 : 2 * i, 2 * i + 1);
        if (i % 3 != 2) continue;
        const uint64_t value = 2 * i + 2;
        const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                          .semaphoreCount = 1,
                                          .pSemaphores = &there.vulkan,
                                          .pValues = &value};
        VK(vkWaitSemaphores(device, &info, UINT64_MAX));
    }
    await();
    all_done();
}

static void take_rounds(bool wrong)
{
    (void)wrong;
    take_work();
    for (uint64_t i = 0; i < 8; i++) {
        cuda_waits(&there, 2 * i + 1, 0);
        cuda_writes(&memory);
        CU(cuda_signals(&there, 2 * i + 2, 0));
    }
    all_done();
    go();
}

/* ---- processes that are killed at any instruction; the test of the model has more of them ---- */

enum { KILLED = 4 };

/* It has no Vulkan, and works as fast as it can. */
static void work_until_killed(int ready)
{
    find_calls();
    CU(cu.cuInit(0));
    CU(cu.cuDevicePrimaryCtxRetain(&contexts[0], 0));
    CU(cu.cuCtxSetCurrent(contexts[0]));
    CU(cu.cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    take_work();
    MUST(write(ready, "g", 1) == 1);
    for (uint64_t i = 1;; i++) {
        cuda_writes(&memory);
        CU(cuda_signals(&there, i, 0));
    }
}

/* Kills its children one after another; the last one lives, and is the pair's other one. */
static void kill_often(bool wrong)
{
    char left;
    int ends[2];
    MUST(pipe(ends) == 0);
    for (unsigned i = 0; i < KILLED; i++) {
        const pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            char numbers[2][16];
            (void)snprintf(numbers[0], sizeof numbers[0], "%d", channel);
            (void)snprintf(numbers[1], sizeof numbers[1], "%d", ends[1]);
            (void)execl("/proc/self/exe", "check-seeds-procs", "worker", "right", kernels,
                        numbers[0], numbers[1], (char *)NULL);
            _exit(1);
        }
        MUST(read(ends[0], &left, 1) == 1);
        (void)usleep(i * 137 % 4000);
        (void)kill(child, SIGKILL);
        MUST(waitpid(child, NULL, 0) == child);
        go();
    }
    open_all();
    take_reads(wrong);
}

static void make_for_killed(bool wrong)
{
    for (unsigned i = 0; i < KILLED; i++) {
        make_work();
        await();
        vkDestroySemaphore(device, there.vulkan, NULL);
        vkDestroyBuffer(device, memory.buffer, NULL);
        vkFreeMemory(device, memory.memory, NULL);
    }
    make_writes(wrong);
}

static const pair pairs[] = {
    {"procs_closed", "fd-closed-after-import", make_one, take_closed, FORK},
    {"procs_twice", "fd-imported-twice", make_one, take_twice, EXEC},
    {"procs_leaked", "fd-leaked", make_two, take_leaked, EXEC},
    {"procs_sender_leaks", "fd-leaked", make_kept, take_after_a_look, FORK},
    {"procs_inherited", "fd-closed-after-import", NULL, take_inherited, EXEC},
    {"procs_size", "size", make_one, take_size, EXEC},
    {"procs_dedicated", "dedicated", make_dedicated, take_dedicated, FORK},
    {"procs_other_gpu", "other-gpu", make_one, take_other_gpu, FORK},
    {"procs_other_type", "handle-type", make_both, take_other_type, EXEC},
    {"procs_from_there", "size", make_there, take_from_there, FORK},
    {"procs_counts", "no-rise", make_counts, take_counts, EXEC},
    {"procs_endless", "endless-wait", make_little, take_too_much, FORK},
    {"procs_killed", "endless-wait", make_killed, take_of_killed, FORK},
    {"hangs_procs", "endless-wait", make_hanging, take_hanging, EXEC},
    {"procs_reads_early", "read-after-write", make_writes, take_reads, FORK},
    {"procs_writes_early", "write-after-read|read-after-write", make_writes_again, take_reads_once,
     EXEC},
    {"procs_hosts", "read-after-write", make_says, take_hears, FORK},
    {"procs_rounds", "write-after-write", make_rounds, take_rounds, EXEC},
    {"procs_killed_often", "read-after-write", make_for_killed, kill_often, FORK},
};

/* For a child that takes what its parent made before: NULL is make. */
static void make_before(const shared *s)
{
    say(&s->allocated, sizeof s->allocated);
    await();
}

static int run(const pair *p, char **argv)
{
    int ends[2], status = 0;
    char numbers[2][16];
    shared before = {.buffer = VK_NULL_HANDLE};
    const bool wrong = strcmp(argv[2], "wrong") == 0;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (p->make == NULL) {
        open_all();
        before = make_buffer(false);
        inherited = memory_fd(&before);
    }
    /* Of two, the one that is killed is the child. */
    const bool takes = p->make != make_killed;
    other = getpid();
    const pid_t child = fork();
    MUST(child >= 0);
    channel = ends[child == 0];
    (void)close(ends[child != 0]);
    if (child == 0 && p->how == EXEC) {
        (void)snprintf(numbers[0], sizeof numbers[0], "%d", channel);
        (void)snprintf(numbers[1], sizeof numbers[1], "%d", inherited);
        if (inherited >= 0) MUST(fcntl(inherited, F_SETFD, 0) == 0);
        (void)execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], numbers[0], numbers[1],
                    (char *)NULL);
        _exit(1);
    }
    if (child != 0) other = child;
    if (inherited >= 0) {
        (void)close(inherited);
        make_before(&before);
    } else {
        open_all();
        if ((child == 0) == takes)
            p->take(wrong);
        else
            p->make(wrong);
    }
    if (child == 0) exit(0);
    while (waitpid(child, &status, 0) != child) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof pairs / sizeof *pairs;
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        for (size_t i = 0; i < count; i++)
            printf("%s %s\n", pairs[i].name, pairs[i].finding);
    if (argc == 2) return 0;
    MUST(argc == 4 || argc == 6);
    kernels = argv[3];
    if (argc == 6) channel = atoi(argv[4]);
    if (argc == 6 && strcmp(argv[1], "worker") == 0) work_until_killed(atoi(argv[5]));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pairs[i].name, argv[1]) != 0) continue;
        if (argc == 4) return run(&pairs[i], argv);
        inherited = atoi(argv[5]);
        other = getppid();
        open_all();
        pairs[i].take(strcmp(argv[2], "wrong") == 0);
        return 0;
    }
    fprintf(stderr, "there is no %s\n", argv[1]);
    return 1;
}
