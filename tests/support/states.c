/* SPDX-License-Identifier: MIT */
/* What a process that hangs does, and the processes that it started. Only what a signal handler may
 * call: no memory is allocated, no lock is taken. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#    define PR_SET_PTRACER 0x59616d61
#endif

enum { MOST = 32, STACKS_S = 6 };

typedef struct text {
    char bytes[512];
    size_t used;
} text;

static void add(text *t, const char *word)
{
    for (; *word != '\0' && t->used < sizeof t->bytes - 1; word++)
        t->bytes[t->used++] = *word;
    t->bytes[t->used] = '\0';
}

static void add_number(text *t, long number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    add(t, digits + at);
}

/* /proc/PROCESS/task/THREAD/NAME; without a thread /proc/PROCESS/NAME. */
static text path_of(pid_t process, long thread, const char *name)
{
    text t = {.used = 0};
    add(&t, "/proc/");
    add_number(&t, process);
    if (thread != 0) {
        add(&t, "/task/");
        add_number(&t, thread);
    }
    add(&t, "/");
    add(&t, name);
    return t;
}

static text contents(pid_t process, long thread, const char *name)
{
    const text path = path_of(process, thread, name);
    text t = {.used = 0};
    const int fd = open(path.bytes, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, t.bytes, sizeof t.bytes - 1) : 0;
    if (fd >= 0) close(fd);
    t.used = got > 0 ? (size_t)got : 0;
    t.bytes[t.used] = '\0';
    return t;
}

static void write_out(int to, const text *t)
{
    ssize_t ignored = write(to, t->bytes, t->used);
    (void)ignored;
}

/* The numbers of the threads of a process. */
static size_t threads_of(pid_t process, long out[MOST])
{
    const text path = path_of(process, 0, "task");
    _Alignas(8) char entries[4096];
    size_t count = 0;
    long got;
    const int fd = open(path.bytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < got;) {
            /* struct linux_dirent64: two of 64 bits, then its length, its type and its name */
            uint16_t length;
            long number = 0;
            memcpy(&length, entries + at + 16, sizeof length);
            for (const char *c = entries + at + 19; *c >= '0' && *c <= '9'; c++)
                number = 10 * number + (*c - '0');
            if (number > 0 && count < MOST) out[count++] = number;
            at += length;
        }
    if (fd >= 0) close(fd);
    return count;
}

/* Adds the process's children to `all`. */
static size_t add_children(pid_t process, pid_t all[MOST], size_t count)
{
    long threads[MOST];
    const size_t num_threads = threads_of(process, threads);
    for (size_t i = 0; i < num_threads; i++) {
        const text children = contents(process, threads[i], "children"); /* "123 456 " */
        long number = 0;
        for (const char *c = children.bytes; *c != '\0'; c++) {
            if (*c >= '0' && *c <= '9') {
                number = 10 * number + (*c - '0');
                continue;
            }
            if (number > 0 && count < MOST) all[count++] = (pid_t)number;
            number = 0;
        }
    }
    return count;
}

/* A line: "  thread 123 (name) S, in futex_do_wait". */
static void tell_thread(int to, pid_t process, long thread)
{
    const text stat = contents(process, thread, "stat"), wait = contents(process, thread, "wchan");
    text line = {.used = 0};
    const char *name = strrchr(stat.bytes, ')'); /* 123 (name) S 1 2 3 */
    const size_t length = name != NULL ? (size_t)(name - stat.bytes) + 3 : 0;
    add(&line, "  thread ");
    for (size_t i = 0; i < length && i < stat.used; i++)
        add(&line, (const char[]){stat.bytes[i], '\0'});
    add(&line, ", in ");
    add(&line, wait.used > 0 ? wait.bytes : "?");
    add(&line, "\n");
    write_out(to, &line);
}

/* Not fork(): it takes locks, and runs what others want to run before it. */
static pid_t start_stack(int to, pid_t process)
{
    text number = {.used = 0};
    add_number(&number, process);
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child != 0) return child;
    char program[] = "/usr/bin/eu-stack", p[] = "-p", n[] = "-n", frames[] = "32";
    char *const arguments[] = {program, p, number.bytes, n, frames, NULL};
    char *const none[] = {NULL};
    syscall(SYS_dup3, to, STDOUT_FILENO, 0);
    syscall(SYS_dup3, to, STDERR_FILENO, 0);
    syscall(SYS_execve, program, arguments, none);
    syscall(SYS_exit_group, 127);
    return -1;
}

static time_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void tell_stacks(int to, pid_t process, time_t until)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    const pid_t child = start_stack(to, process);
    if (child < 0) return;
    while (waitpid(child, NULL, WNOHANG) == 0) {
        if (now() >= until) kill(child, SIGKILL);
        nanosleep(&moment, NULL);
    }
}

void test_tell_states(int to, int process)
{
    pid_t all[MOST] = {process};
    size_t count = 1;
    const int error = errno;
    const time_t until = now() + STACKS_S;
    const bool stacks = access("/usr/bin/eu-stack", X_OK) == 0;
    for (size_t i = 0; i < count; i++)
        count = add_children(all[i], all, count);
    for (size_t i = 0; i < count; i++) {
        long threads[MOST];
        const size_t num_threads = threads_of(all[i], threads);
        text line = {.used = 0}, command = contents(all[i], 0, "cmdline");
        for (size_t k = 0; k + 1 < command.used; k++)
            if (command.bytes[k] == '\0') command.bytes[k] = ' ';
        add(&line, "process ");
        add_number(&line, all[i]);
        add(&line, ": ");
        add(&line, command.bytes);
        line.used = line.used < sizeof line.bytes - 1 ? line.used : sizeof line.bytes - 2;
        add(&line, "\n");
        write_out(to, &line);
        for (size_t k = 0; k < num_threads; k++)
            tell_thread(to, all[i], threads[k]);
    }
    (void)prctl(PR_SET_PTRACER, (unsigned long)-1, 0, 0, 0); /* where Yama wants to be asked */
    for (size_t i = 0; stacks && i < count && now() < until; i++)
        tell_stacks(to, all[i], until);
    errno = error;
}
