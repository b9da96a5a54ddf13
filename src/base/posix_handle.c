/* SPDX-License-Identifier: MIT */
/* File descriptors. */
#include "base/handle.h"
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const culvi_handle_duplicate_call = "fcntl";

const char *const culvi_handle_memory_source = "the graphics API (in Vulkan vkGetMemoryFdKHR)";
const char *const culvi_handle_semaphore_source =
    "the graphics API (in Vulkan vkGetSemaphoreFdKHR)";
const char *const culvi_handle_left_advice = "close some file descriptors, or raise RLIMIT_NOFILE";

bool culvi_handle_left(int *os_error)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *os_error = errno;
    if (fd >= 0) close(fd);
    return fd >= 0 || (*os_error != EMFILE && *os_error != ENFILE);
}

bool culvi_handle_examine(const culv_handle *handle, const char *source, culvi_handle_facts *facts,
                          culv_reason *problem, char *text, size_t size)
{
    struct stat st;
    int fd = handle->value.fd;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *problem = CULV_REASON_HANDLE_BAD;
        snprintf(
            text, size,
            "file descriptor %d is not open (%s); an earlier import may have taken it, export a new one for each import",
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
        snprintf(text, size, "file descriptor %d is %s; pass the one that %s exported", fd, kind,
                 source);
        return false;
    }
    /* A memfd is Mesa's: its import reads at the shared file offset, which concurrent imports of
     * dup()s race for. A description of its own does not share it. NVIDIA's are character devices
     * and cannot be reopened. */
    facts->reopens = S_ISREG(st.st_mode);
    facts->size_limit = S_ISREG(st.st_mode) && st.st_size >= 0 ? (uint64_t)st.st_size : UINT64_MAX;
    return true;
}

/* A description of its own, where the file can be opened once more; else -1. */
static int reopen(int fd, const culvi_handle_facts *facts)
{
    struct stat st;
    char path[40];
    if (!(facts != NULL ? facts->reopens : fstat(fd, &st) == 0 && S_ISREG(st.st_mode))) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool culvi_handle_duplicate(const culv_handle *handle, const culvi_handle_facts *facts,
                            culv_handle *out, int *os_error)
{
    culv_handle copy = *handle;
    copy.value.fd = reopen(handle->value.fd, facts);
    if (copy.value.fd < 0) copy.value.fd = fcntl(handle->value.fd, F_DUPFD_CLOEXEC, 0);
    *os_error = errno;
    if (copy.value.fd < 0) return false;
    *out = copy;
    return true;
}

/* A driver may close the number that it is lent, and what another thread opens next gets the lowest
 * free one. So the duplicate gets a high number, which open() and dup() give out only when all
 * lower ones are taken, and each duplicate another one: those that are lent at the same time never
 * follow each other. The turn is the process's, as the numbers are; a second copy of this library
 * begins elsewhere, because its turn has another address. */
static int duplicate_high(int fd)
{
    enum { TOP = 8192 }; /* the kernel's table grows to the highest number: 8 bytes each */
    static atomic_uint turn;
    struct rlimit limit;
    unsigned top = TOP;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < TOP)
        top = (unsigned)limit.rlim_cur;
    const unsigned half = top / 2, here = (unsigned)((uintptr_t)&turn >> 4);
    const unsigned next = here + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
    const unsigned least[] = {half + next % (top - half + 1), half, 0};
    int copy = -1;
    for (size_t i = 0; copy < 0 && i < sizeof least / sizeof least[0]; i++)
        copy = fcntl(fd, F_DUPFD_CLOEXEC, (int)least[i]);
    return copy;
}

bool culvi_handle_lend(const culv_handle *handle, const culvi_handle_facts *facts,
                       culvi_duplicate *out, int *os_error)
{
    out->handle = *handle;
    out->witness = reopen(handle->value.fd, facts);
    out->handle.value.fd = duplicate_high(out->witness >= 0 ? out->witness : handle->value.fd);
    if (out->handle.value.fd >= 0) return true;
    *os_error = errno;
    if (out->witness >= 0) close(out->witness);
    return false;
}

/* `witness` is an fd of a description that the lent duplicate alone has besides, so its offset
 * tells. No other witness is sent to this place: its number is another one. */
static bool moves_with(int witness, int copy)
{
    const off_t place = 4099 + (off_t)witness, before = lseek(witness, 0, SEEK_CUR);
    bool moved = lseek(witness, place, SEEK_SET) == place && lseek(copy, 0, SEEK_CUR) == place;
    (void)lseek(witness, before, SEEK_SET); /* a driver may hold the description still */
    return moved;
}

/* The description is the original's: a dup() of another thread's at this very number looks the
 * same, but for its flag. */
static bool like_original(int copy, int original)
{
    struct stat mine;
    struct stat theirs;
    if (fcntl(copy, F_GETFD) != FD_CLOEXEC) return false;
    if (fstat(copy, &mine) != 0 || fstat(original, &theirs) != 0) return false;
    if (mine.st_dev != theirs.st_dev || mine.st_ino != theirs.st_ino) return false;
#ifdef SYS_kcmp
    enum { KCMP_FILE_ = 0 };
    long order = syscall(SYS_kcmp, (long)getpid(), (long)getpid(), (long)KCMP_FILE_, (long)copy,
                         (long)original);
    if (order >= 0) return order == 0;
#endif
    return true; /* barred: device and inode must do */
}

void culvi_handle_lent_done(const culvi_duplicate *duplicate, const culv_handle *original,
                            bool accepted)
{
    const int copy = duplicate->handle.value.fd, witness = duplicate->witness;
    if (!accepted &&
        (witness >= 0 ? moves_with(witness, copy) : like_original(copy, original->value.fd)))
        close(copy);
    if (witness >= 0) close(witness);
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
