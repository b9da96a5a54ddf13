/* SPDX-License-Identifier: MIT */
/* The page behind an exported timeline: a sealed memfd, a counter and a futex. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "soft_vk.h"

_Static_assert(sizeof(culv_soft_counted) <= CULV_SOFT_TIMELINE_SIZE, "the page holds either kind");

static VkResult result_of_errno(void)
{
    return errno == EMFILE || errno == ENFILE ? VK_ERROR_TOO_MANY_OBJECTS
                                              : VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* A new open file description of the same memfd: a dup would share its offset and flags. */
static int reopen(int fd)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

static culv_soft_timeline *map_page(int fd)
{
    void *map = mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

static const char *magic_of(bool counted)
{
    return counted ? CULV_SOFT_COUNTED_MAGIC : CULV_SOFT_TIMELINE_MAGIC;
}

static soft_vk_page *new_page(culv_soft_timeline *map, int fd, bool counted, bool maker)
{
    soft_vk_page *page = malloc(sizeof(*page));
    if (!page) return NULL;
    page->map = map;
    page->counted = counted ? (culv_soft_counted *)(void *)map : NULL;
    page->fd = fd;
    page->maker = maker;
    atomic_init(&page->references, 1);
    if (fd >= 0) atomic_fetch_add(&soft_vk_fds, 1);
    return page;
}

VkResult soft_vk_page_make(const uint8_t *uuid, uint64_t value, bool counted, soft_vk_page **out)
{
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    int fd = memfd_create("culvert timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return result_of_errno();
    /* Sealed, so that no importer can shrink the page under the others' mappings. */
    if (ftruncate(fd, CULV_SOFT_TIMELINE_SIZE) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        goto close_fd;
    culv_soft_timeline *map = map_page(fd);
    if (!map) goto close_fd;
    memcpy(map->magic, magic_of(counted), sizeof(map->magic));
    memcpy(map->device_uuid, uuid, sizeof(map->device_uuid));
    atomic_store(&map->value, value);
    *out = new_page(map, fd, counted, true);
    if (*out) return VK_SUCCESS;
    munmap(map, CULV_SOFT_TIMELINE_SIZE);
close_fd:
    close(fd);
    return result;
}

VkResult soft_vk_page_open(int fd, const uint8_t *uuid, bool counted, bool keep, soft_vk_page **out)
{
    VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
        status.st_size != CULV_SOFT_TIMELINE_SIZE)
        return result;
    culv_soft_timeline *map = map_page(fd);
    if (!map) return errno == ENOMEM ? VK_ERROR_OUT_OF_HOST_MEMORY : result;
    if (memcmp(map->magic, magic_of(counted), sizeof(map->magic)) != 0 ||
        memcmp(map->device_uuid, uuid, sizeof(map->device_uuid)) != 0)
        goto unmap;
    int own = keep ? reopen(fd) : -1;
    if (keep && own < 0) {
        result = result_of_errno();
        goto unmap;
    }
    *out = new_page(map, own, counted, false);
    if (*out) return VK_SUCCESS;
    result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (own >= 0) close(own);
unmap:
    munmap(map, CULV_SOFT_TIMELINE_SIZE);
    return result;
}

void soft_vk_page_retain(soft_vk_page *page)
{
    atomic_fetch_add(&page->references, 1);
}

void soft_vk_page_release(soft_vk_page *page)
{
    if (atomic_fetch_sub(&page->references, 1) != 1) return;
    munmap(page->map, CULV_SOFT_TIMELINE_SIZE);
    if (page->fd >= 0) {
        close(page->fd);
        atomic_fetch_sub(&soft_vk_fds, 1);
    }
    free(page);
}

VkResult soft_vk_page_export(const soft_vk_page *page, int *fd)
{
    int own = reopen(page->fd);
    if (own < 0) return result_of_errno();
    *fd = own;
    return VK_SUCCESS;
}

uint64_t soft_vk_page_value(const soft_vk_page *page)
{
    uint64_t value = atomic_load(&page->map->value);
    CULV_SOFT_PAGE_ACQUIRE();
    return value;
}

void soft_vk_page_raise(soft_vk_page *page, uint64_t value)
{
    uint64_t old = atomic_load(&page->map->value);
    CULV_SOFT_PAGE_RELEASE();
    while (old < value && !atomic_compare_exchange_weak(&page->map->value, &old, value)) {
    }
    if (old < value) soft_vk_page_wake(page);
}

/* Not FUTEX_PRIVATE: importers wait on mappings of their own, in other processes too. */
void soft_vk_page_wake(soft_vk_page *page)
{
    atomic_fetch_add(&page->map->seq, 1);
    syscall(SYS_futex, (void *)&page->map->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void soft_vk_page_wait(soft_vk_page *page, uint32_t seq)
{
    syscall(SYS_futex, (void *)&page->map->seq, FUTEX_WAIT, seq, NULL, NULL, 0);
}
