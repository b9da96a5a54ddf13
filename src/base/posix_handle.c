/* File descriptors. SPDX-License-Identifier: MIT */
#include "base/handle.h"
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const culvi_handle_duplicate_call = "fcntl";

bool culvi_handle_examine(const culv_handle *handle, culvi_handle_facts *facts, culv_reason *problem,
                          char *text, size_t size)
{
    struct stat st;
    int fd = handle->value.fd;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *problem = CULV_REASON_HANDLE_BAD;
        snprintf(text, size,
                 "file descriptor %d is not open (%s); an earlier import may have taken it, export a new one "
                 "for each import",
                 fd, strerror(fd < 0 ? EBADF : errno));
        return false;
    }
    const char *kind = S_ISFIFO(st.st_mode)   ? "a pipe"
                       : S_ISSOCK(st.st_mode) ? "a socket"
                       : S_ISDIR(st.st_mode)  ? "a directory"
                       : S_ISBLK(st.st_mode)  ? "a block device"
                                              : NULL;
    if (kind != NULL) {
        *problem = CULV_REASON_HANDLE_KIND;
        snprintf(
            text, size,
            "file descriptor %d is %s; pass the one that vkGetMemoryFdKHR or vkGetSemaphoreFdKHR exported",
            fd, kind);
        return false;
    }
    /* A memfd is Mesa's: its import reads at the shared file offset, which concurrent imports of dup()s race
     * for. A description of its own does not share it. NVIDIA's are character devices and cannot be reopened.
     */
    facts->reopens = S_ISREG(st.st_mode);
    facts->size_limit = S_ISREG(st.st_mode) && st.st_size >= 0 ? (uint64_t)st.st_size : UINT64_MAX;
    return true;
}

bool culvi_handle_duplicate(const culv_handle *handle, const culvi_handle_facts *facts, culvi_duplicate *out,
                            int *os_error)
{
    int fd = handle->value.fd;
    struct stat st;
    int copy = -1;
    out->handle = *handle;
    out->reopened = false;
    if (facts != NULL ? facts->reopens : fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char path[40];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        copy = open(path, O_RDWR | O_CLOEXEC);
        out->reopened = copy >= 0;
    }
    if (copy < 0) copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        *os_error = errno;
        return false;
    }
    out->handle.value.fd = copy;
    return true;
}

static bool same_description(int a, int b)
{
#ifdef SYS_kcmp
    enum { KCMP_FILE_ = 0 };
    long order = syscall(SYS_kcmp, (long)getpid(), (long)getpid(), (long)KCMP_FILE_, (long)a, (long)b);
    if (order >= 0) return order == 0;
#else
    (void)a;
    (void)b;
#endif
    return true; /* barred: device and inode, compared before, must do */
}

void culvi_handle_duplicate_done(const culvi_duplicate *duplicate, const culv_handle *original, bool accepted)
{
    int copy = duplicate->handle.value.fd;
    struct stat mine;
    struct stat theirs;
    if (accepted) return;
    if (fstat(copy, &mine) != 0 || fstat(original->value.fd, &theirs) != 0) return;
    if (mine.st_dev != theirs.st_dev || mine.st_ino != theirs.st_ino) return;
    if (!duplicate->reopened && !same_description(copy, original->value.fd)) return;
    close(copy);
}

void culvi_handle_close(const culv_handle *handle)
{
    if (handle->value.fd >= 0) close(handle->value.fd);
}

void culvi_handle_keep_private(const culv_handle *handle)
{
    (void)fcntl(handle->value.fd, F_SETFD, FD_CLOEXEC);
}

uint64_t culvi_page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (uint64_t)size : 4096;
}
