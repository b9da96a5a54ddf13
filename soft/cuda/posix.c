/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what it asks of the operating system, POSIX half (memory, files, futexes,
 * threads). */
#include "soft.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 256u

bool soft_thread_start(void *(*entry)(void *), void *arg)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    /* The application's signals are for its own threads; faults must reach ours. */
    sigset_t blocked, before;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, &attr, entry, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed == 0;
}

void soft_on_fork(void (*child)(void))
{
    pthread_atfork(NULL, NULL, child);
}

unsigned soft_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1u : (unsigned)count;
}

uint64_t soft_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

size_t soft_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t soft_memory_total(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * soft_page_size();
}

uint64_t soft_memory_free(void)
{
    return (uint64_t)sysconf(_SC_AVPHYS_PAGES) * soft_page_size();
}

void *soft_map_guarded(size_t size, void **map, size_t *map_size)
{
    size_t page = soft_page_size();
    if (size == 0 || size > soft_memory_total()) return NULL;
    size_t room = (size + page - 1) / page * page;
    /* Reserved whole and opened inside, so that both guards are there from the first moment. */
    uint8_t *base =
        mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    if (mprotect(base + page, room, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, room + 2 * page);
        return NULL;
    }
    *map = base;
    *map_size = room + 2 * page;
    /* At the end of its pages: running over is the commoner mistake than running under. */
    size_t aligned = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return base + page + (room - aligned);
}

void *soft_map_guarded_at(size_t size, size_t alignment, void **map, size_t *map_size)
{
    const size_t page = soft_page_size();
    if (size == 0 || size > soft_memory_total()) return NULL;
    const size_t all = size + alignment + 2 * page;
    uint8_t *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    const uintptr_t first = (uintptr_t)base + page;
    uint8_t *start = base + page + (alignment - first % alignment) % alignment;
    if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, all);
        return NULL;
    }
    *map = base;
    *map_size = all;
    return start;
}

void *soft_map_file_guarded(int fd, size_t size, void **map, size_t *map_size)
{
    const size_t page = soft_page_size();
    uint8_t *base =
        mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    if (!soft_map_over(base + page, size, fd)) {
        munmap(base, size + 2 * page);
        return NULL;
    }
    *map = base;
    *map_size = size + 2 * page;
    return base + page;
}

bool soft_map_over(void *start, size_t size, int fd)
{
    return mmap(start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

int soft_open(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC);
}

bool soft_file_inode(int fd, uint64_t *inode)
{
    struct stat s;
    if (fstat(fd, &s) != 0) return false;
    *inode = (uint64_t)s.st_ino;
    return true;
}

void *soft_map_file(int fd, uint64_t offset, size_t size, void **map, size_t *map_size)
{
    size_t page = soft_page_size();
    size_t skip = (size_t)(offset % page);
    if (size > SIZE_MAX - skip || offset > INT64_MAX) return NULL;
    uint8_t *base =
        mmap(NULL, size + skip, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - skip));
    if (base == MAP_FAILED) return NULL;
    *map = base;
    *map_size = size + skip;
    return base + skip;
}

void *soft_map_file_at_unit(int fd, uint64_t offset, size_t size, size_t unit, void **map,
                            size_t *map_size)
{
    if (offset % soft_page_size() != 0 || size < unit || size > SIZE_MAX / 2)
        return soft_map_file(fd, offset, size, map, map_size);
    uint8_t *room =
        mmap(NULL, size + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return NULL;
    const size_t page = soft_page_size(), pages = (size + page - 1) / page * page;
    const size_t before = (unit - (uintptr_t)room % unit) % unit, after = unit - before;
    if (before > 0) munmap(room, before);
    munmap(room + before + pages, after);
    *map = room + before;
    *map_size = size;
    if (mmap(*map, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) !=
        MAP_FAILED)
        return *map;
    munmap(*map, size);
    return NULL;
}

int soft_make_file(const char *name, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    /* Sealed, so that nobody who holds it can shrink it under the others' mappings. */
    if (ftruncate(fd, (off_t)size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

void soft_unmap(void *map, size_t map_size)
{
    munmap(map, map_size);
}

bool soft_pages_usable(const void *start, size_t size, bool read_only)
{
#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#    define MADV_POPULATE_READ  22
#    define MADV_POPULATE_WRITE 23
#endif
    const size_t page = soft_page_size(), skip = (uintptr_t)start % page;
    uint8_t *first = (uint8_t *)(uintptr_t)start - skip;
    const size_t pages = (size + skip + page - 1) / page;
    if (madvise(first, pages * page, read_only ? MADV_POPULATE_READ : MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno != EINVAL) return errno == EAGAIN || errno == EINTR;
    /* It is EINVAL for pages that may not be written too; of no bytes only where it is unknown. */
    if (madvise(first, 0, read_only ? MADV_POPULATE_READ : MADV_POPULATE_WRITE) == 0) return false;
    unsigned char there; /* an older kernel tells only what is mapped */
    for (size_t i = 0; i < pages; i++)
        if (mincore(first + i * page, page, &there) != 0 && errno == ENOMEM) return false;
    return true;
}

void soft_close(int fd)
{
    close(fd);
}

bool soft_file_size(int fd, uint64_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0) return false;
    *size = (uint64_t)status.st_size;
    return true;
}

bool soft_file_stays(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK);
}

bool soft_read_at(int fd, void *data, size_t size, uint64_t offset)
{
    ssize_t got;
    do {
        got = pread(fd, data, size, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got >= 0 && (size_t)got == size;
}

/* Not the PRIVATE operations: the word lives in a page that other processes may map. */
void soft_futex_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds)
{
    struct timespec timeout = {.tv_sec = milliseconds / 1000,
                               .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void soft_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Where the manifest of its Vulkan layer is. */

static pthread_mutex_t layer_lock = PTHREAD_MUTEX_INITIALIZER;
static char layer_directory[4096]; /* empty: not looked for yet, or not found */

/* With the lock held. */
static const char *find_layer(void)
{
    /* A build tree or a bundle has the manifest beside the library. An installation has it in
     * share/, and its lib/ may have a directory for each architecture. */
    static const char *const places[] = {"culvert/explicit_layer.d",
                                         "../share/vulkan/explicit_layer.d",
                                         "../../share/vulkan/explicit_layer.d"};
    if (layer_directory[0] != '\0') return layer_directory;
    Dl_info self;
    char own[4096];
    if (dladdr(&soft, &self) == 0 || self.dli_fname == NULL ||
        realpath(self.dli_fname, own) == NULL)
        return NULL;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char manifest[4096 + 256], place[4096 + 128], clean[4096];
        snprintf(place, sizeof(place), "%s/%s", own, places[i]);
        snprintf(manifest, sizeof(manifest), "%s/VkLayer_culvert_soft.json", place);
        if (access(manifest, R_OK) != 0 || realpath(place, clean) == NULL) continue;
        snprintf(layer_directory, sizeof(layer_directory), "%s", clean);
        return layer_directory;
    }
    return NULL;
}

const char *culvSoftLayerPath(void)
{
    pthread_mutex_lock(&layer_lock);
    const char *found = find_layer();
    pthread_mutex_unlock(&layer_lock);
    return found;
}

static bool is_listed(const char *list, const char *directory)
{
    const size_t length = strlen(directory);
    for (const char *at = list; *at != '\0'; at += *at == ':') {
        const size_t entry = strcspn(at, ":");
        if (entry == length && memcmp(at, directory, length) == 0) return true;
        at += entry;
    }
    return false;
}

const char *culvSoftAddLayerPath(void)
{
    const char *result = NULL;
    pthread_mutex_lock(&layer_lock);
    const char *directory = find_layer();
    if (directory == NULL) goto unlock;
    /* The loader reads VK_ADD_LAYER_PATH only while VK_LAYER_PATH is not set. */
    const char *variable = "VK_LAYER_PATH";
    const char *before = secure_getenv(variable);
    if (before == NULL || before[0] == '\0') {
        variable = "VK_ADD_LAYER_PATH";
        before = secure_getenv(variable);
    }
    if (before == NULL) before = "";
    if (is_listed(before, directory)) {
        result = directory;
        goto unlock;
    }
    const size_t size = strlen(before) + strlen(directory) + 2;
    char *joined = malloc(size);
    if (joined == NULL) goto unlock;
    snprintf(joined, size, "%s%s%s", before, before[0] == '\0' ? "" : ":", directory);
    if (setenv(variable, joined, 1) == 0) result = directory;
    free(joined);
unlock:
    pthread_mutex_unlock(&layer_lock);
    return result;
}
