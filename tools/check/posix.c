/* SPDX-License-Identifier: MIT */
/* What culvert-check sees of the system: symbols that are looked up, and what a program does with
 * descriptors. A driver's own calls pass: they are made within a call that is watched, or by a
 * thread of the driver's, and then the caller is one of its modules. */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef void *(*look_up)(void *, const char *);
static look_up system_look_up;

static void find_system(void)
{
    /* The versions in which glibc has dlsym(): x86-64, since 2.34, AArch64. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&system_look_up, &found, sizeof found);
}

void *check_find_symbol(void *library, const char *name)
{
    if (system_look_up == NULL) find_system();
    return system_look_up(library, name);
}

/* RTLD_NEXT means what comes after the caller, so the call must be a jump: this file is always
 * optimized. */
CHECK_EXPORT void *dlsym(void *restrict library, const char *restrict name)
{
    if (system_look_up == NULL) find_system();
    if (library == RTLD_NEXT || name[0] != 'c' || name[1] != 'u' || check_inside > 0)
        return system_look_up(library, name);
    return check_cuda_found(name, system_look_up(library, name));
}

static bool is_drivers(const void *caller)
{
    static const char *const names[] = {"libcuda",         "libculvert-soft", "libvulkan",
                                        "libnvidia",       "libGLX_nvidia",   "VkLayer_",
                                        "libculvert-check"};
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *module = slash != NULL ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(module, names[i]) != NULL) return true;
    return false;
}

#define SYSTEM(variable, name)                                                                     \
    if ((variable) == NULL) {                                                                      \
        void *found_symbol = check_find_symbol(RTLD_NEXT, name);                                   \
        memcpy(&(variable), &found_symbol, sizeof found_symbol);                                   \
    }

/* The model, where the program itself does something with a descriptor that is known. */
static check_model *concerned(int fd, const void *caller)
{
    if (check_inside > 0 || fd < 0) return NULL;
    check_model *m = check_open();
    if (m == NULL) return NULL;
    const bool known = check_fd_known(m, fd);
    check_close();
    /* Without the lock: dladdr() takes the loader's, which dlopen() has while constructors run. */
    return known && check_is_watched() && !is_drivers(caller) ? check_open() : NULL;
}

CHECK_EXPORT int close(int fd)
{
    static int (*next)(int);
    SYSTEM(next, "close")
    check_model *m = concerned(fd, __builtin_return_address(0));
    if (m != NULL) {
        const check_site site = check_here("close");
        check_fd_closing(m, fd, &site);
        check_close();
    }
    return next(fd);
}

static void duplicated(int fd, int copy, const char *call, const void *caller)
{
    const int error = errno; /* of the call, which may have failed */
    const bool drivers = check_inside > 0 || is_drivers(caller);
    check_model *m = check_inside == 0 && check_is_watched() ? check_open() : NULL;
    if (m == NULL) return;
    if (check_fd_known(m, fd) && !drivers) {
        const check_site site = check_here(call);
        check_fd_duplicated(m, fd, copy, &site);
    } else
        check_fd_forget(m, copy);
    check_close();
    errno = error;
}

CHECK_EXPORT int dup(int fd)
{
    static int (*next)(int);
    SYSTEM(next, "dup")
    const int copy = next(fd);
    duplicated(fd, copy, "dup", __builtin_return_address(0));
    return copy;
}

CHECK_EXPORT int dup2(int fd, int copy)
{
    static int (*next)(int, int);
    SYSTEM(next, "dup2")
    const int result = next(fd, copy);
    if (result != fd) duplicated(fd, result, "dup2", __builtin_return_address(0));
    return result;
}

CHECK_EXPORT int dup3(int fd, int copy, int flags)
{
    static int (*next)(int, int, int);
    SYSTEM(next, "dup3")
    const int result = next(fd, copy, flags);
    duplicated(fd, result, "dup3", __builtin_return_address(0));
    return result;
}

/* Every argument of fcntl() fits in a word. */
static int control(int fd, int command, void *argument, const char *name, const void *caller)
{
    static int (*next)(int, int, ...);
    SYSTEM(next, name)
    const int result = next(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) duplicated(fd, result, "fcntl", caller);
    return result;
}

CHECK_EXPORT int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument, "fcntl", __builtin_return_address(0));
}

CHECK_EXPORT int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument, "fcntl64", __builtin_return_address(0));
}

static bool carries(const struct msghdr *message)
{
    return check_inside == 0 && message != NULL &&
           CMSG_FIRSTHDR((struct msghdr *)(uintptr_t)message) != NULL;
}

CHECK_EXPORT ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    static ssize_t (*next)(int, const struct msghdr *, int);
    SYSTEM(next, "sendmsg")
    const unsigned note = carries(message) ? check_sending(socket, message, "sendmsg") : 0;
    const ssize_t result = next(socket, message, flags);
    check_sent(note, result >= 0);
    return result;
}

/* One by one, where descriptors go with them: so it is known which ones were sent. */
CHECK_EXPORT int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags)
{
    static int (*next)(int, struct mmsghdr *, unsigned, int);
    SYSTEM(next, "sendmmsg")
    unsigned done = 0;
    bool any = false;
    for (unsigned i = 0; i < count && messages != NULL; i++)
        any |= carries(&messages[i].msg_hdr);
    if (!any) return next(socket, messages, count, flags);
    for (; done < count; done++) {
        const unsigned note = carries(&messages[done].msg_hdr)
                                  ? check_sending(socket, &messages[done].msg_hdr, "sendmmsg")
                                  : 0;
        const int result = next(socket, &messages[done], 1, flags);
        check_sent(note, result == 1);
        if (result != 1) return done > 0 ? (int)done : result;
    }
    return (int)done;
}

CHECK_EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    static ssize_t (*next)(int, struct msghdr *, int);
    SYSTEM(next, "recvmsg")
    const ssize_t result = next(socket, message, flags);
    if (result >= 0 && check_inside == 0)
        check_received(socket, message, (size_t)result, flags, "recvmsg");
    return result;
}

CHECK_EXPORT int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags,
                          struct timespec *timeout)
{
    static int (*next)(int, struct mmsghdr *, unsigned, int, struct timespec *);
    SYSTEM(next, "recvmmsg")
    const int result = next(socket, messages, count, flags, timeout);
    for (int i = 0; i < result && check_inside == 0; i++)
        check_received(socket, &messages[i].msg_hdr, messages[i].msg_len, flags, "recvmmsg");
    return result;
}

/* It takes a message without its descriptors: perhaps one that was looked at by recvmsg(). Only
 * recvmsg() says whether there were some. */
CHECK_EXPORT ssize_t recv(int socket, void *bytes, size_t size, int flags)
{
    static ssize_t (*next)(int, void *, size_t, int);
    static ssize_t (*next_message)(int, struct msghdr *, int);
    SYSTEM(next, "recv")
    SYSTEM(next_message, "recvmsg")
    if (check_inside > 0 || !check_any_message()) return next(socket, bytes, size, flags);
    struct iovec data = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    const ssize_t result = next_message(socket, &message, flags);
    if (result >= 0) check_received(socket, &message, (size_t)result, flags, "recv");
    return result;
}

/* Another process's descriptor. A file of its own is known by its inode. */
CHECK_EXPORT int pidfd_getfd(int process, int fd, unsigned flags); /* glibc 2.36 has it */

CHECK_EXPORT int pidfd_getfd(int process, int fd, unsigned flags)
{
    static int (*next)(int, int, unsigned);
    SYSTEM(next, "pidfd_getfd")
    if (next == NULL) { /* glibc before 2.36 */
        errno = ENOSYS;
        return -1;
    }
    const int copy = next(process, fd, flags);
    check_model *m = copy >= 0 && check_inside == 0 && check_is_watched() ? check_open() : NULL;
    if (m == NULL) return copy;
    const check_site site = check_here("pidfd_getfd");
    const check_identity now = check_identify(copy);
    check_payload *p = check_payload_of_file(m, &now);
    check_fd_forget(m, copy);
    if (p != NULL) check_fd_received(m, copy, p, &now, false, &site);
    check_payload_drop(m, p);
    check_close();
    return copy;
}

/* A program that ends so calls no destructors. */
_Noreturn static void leave(int status, const char *name)
{
    static void (*next)(int);
    if (check_is_watched()) check_finish();
    SYSTEM(next, name)
    next(status);
    abort();
}

CHECK_EXPORT _Noreturn void _exit(int status)
{
    leave(status, "_exit");
}

CHECK_EXPORT _Noreturn void _Exit(int status)
{
    leave(status, "_Exit");
}

CHECK_EXPORT _Noreturn void quick_exit(int status)
{
    leave(status, "quick_exit");
}
