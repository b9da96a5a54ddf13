/* SPDX-License-Identifier: MIT */
/* Submits and waits of a lavapipe device: they see, and leave behind, pages that are up to date.
 * Without this an application that knows from the other side that a value was reached could read an
 * older one, or signal the next value from a queue while the bridge still has to signal the last
 * one. */
#include "labels.h"
#include "soft_vk.h"

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

static bool bridged(soft_vk_device *device)
{
    return atomic_load(&device->bridges) != 0;
}

static bool numbered(soft_vk_device *device)
{
    return atomic_load(&device->binaries) != 0;
}

static void take_back(soft_vk_device *device, bool waits, const VkSemaphore *of, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        soft_vk_number_back(device, waits, of[k]);
}

static void take_back_2(soft_vk_device *device, bool waits, const VkSemaphoreSubmitInfo *of,
                        uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        soft_vk_number_back(device, waits, of[k].semaphore);
}

/* Takes back what the submission was to run, where it was not made. */
static VkResult submitted(soft_vk_device *device, uint64_t before, VkResult result)
{
    if (result != VK_SUCCESS && device->kernels) soft_vk_expect_no_more_than(device, before);
    return result;
}

/* Copies of submissions in which the driver's timelines stand for binary semaphores. */
typedef struct copies {
    void *submits;
    void *values;      /* VkTimelineSemaphoreSubmitInfo of each; not of QueueSubmit2 */
    void *semaphores;  /* of all: VkSemaphore, or VkSemaphoreSubmitInfo */
    uint64_t *numbers; /* of all; not of QueueSubmit2 */
} copies;

static void free_copies(const copies *c)
{
    free(c->submits);
    free(c->values);
    free(c->semaphores);
    free(c->numbers);
}

/* Replaces `count` semaphores from *at on, and moves *at behind them. */
static const VkSemaphore *replace(soft_vk_device *device, const copies *c, bool waits,
                                  const VkSemaphore *from, uint32_t count, const uint64_t *values,
                                  uint32_t value_count, size_t *at)
{
    VkSemaphore *to = (VkSemaphore *)c->semaphores + *at;
    for (uint32_t k = 0; k < count; k++) {
        to[k] = from[k];
        c->numbers[*at + k] = k < value_count ? values[k] : 0;
        soft_vk_number(device, waits, &to[k], &c->numbers[*at + k]);
    }
    *at += count;
    return to;
}

/* *submits becomes the copies. */
static VkResult number_1(soft_vk_device *device, uint32_t count, const VkSubmitInfo **submits,
                         copies *c)
{
    static const VkTimelineSemaphoreSubmitInfo none = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    size_t total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        total += (size_t)(*submits)[i].waitSemaphoreCount + (*submits)[i].signalSemaphoreCount;
    VkSubmitInfo *copy = c->submits = calloc(count, sizeof(*copy));
    VkTimelineSemaphoreSubmitInfo *all = c->values = calloc(count, sizeof(*all));
    c->semaphores = calloc(total + 1, sizeof(VkSemaphore));
    c->numbers = calloc(total + 1, sizeof(*c->numbers));
    if (!copy || !all || !c->semaphores || !c->numbers) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *theirs =
            soft_vk_in_chain((*submits)[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        if (!theirs) theirs = &none;
        copy[i] = (*submits)[i];
        all[i] = none;
        all[i].pNext = copy[i].pNext; /* with the caller's values, which the driver finds later */
        all[i].waitSemaphoreValueCount = copy[i].waitSemaphoreCount;
        all[i].pWaitSemaphoreValues = c->numbers + at;
        copy[i].pWaitSemaphores =
            replace(device, c, true, copy[i].pWaitSemaphores, copy[i].waitSemaphoreCount,
                    theirs->pWaitSemaphoreValues, theirs->waitSemaphoreValueCount, &at);
        all[i].signalSemaphoreValueCount = copy[i].signalSemaphoreCount;
        all[i].pSignalSemaphoreValues = c->numbers + at;
        copy[i].pSignalSemaphores =
            replace(device, c, false, copy[i].pSignalSemaphores, copy[i].signalSemaphoreCount,
                    theirs->pSignalSemaphoreValues, theirs->signalSemaphoreValueCount, &at);
        copy[i].pNext = &all[i];
    }
    *submits = copy;
    return VK_SUCCESS;
}

static VkResult number_2(soft_vk_device *device, uint32_t count, const VkSubmitInfo2 **submits,
                         copies *c)
{
    size_t total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        total +=
            (size_t)(*submits)[i].waitSemaphoreInfoCount + (*submits)[i].signalSemaphoreInfoCount;
    VkSubmitInfo2 *copy = c->submits = calloc(count, sizeof(*copy));
    VkSemaphoreSubmitInfo *all = c->semaphores = calloc(total + 1, sizeof(*all));
    if (!copy || !all) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (*submits)[i];
        for (int waits = 1; waits >= 0; waits--) {
            const uint32_t n =
                waits ? copy[i].waitSemaphoreInfoCount : copy[i].signalSemaphoreInfoCount;
            const VkSemaphoreSubmitInfo *from =
                waits ? copy[i].pWaitSemaphoreInfos : copy[i].pSignalSemaphoreInfos;
            for (uint32_t k = 0; k < n; k++) {
                all[at + k] = from[k];
                soft_vk_number(device, waits != 0, &all[at + k].semaphore, &all[at + k].value);
            }
            if (waits)
                copy[i].pWaitSemaphoreInfos = &all[at];
            else
                copy[i].pSignalSemaphoreInfos = &all[at];
            at += n;
        }
    }
    *submits = copy;
    return VK_SUCCESS;
}

VkResult soft_vk_QueueSubmit(soft_vk_device *device, VkQueue handle, uint32_t count,
                             const VkSubmitInfo *submits, VkFence fence)
{
    VkResult result = soft_vk_or_lost(device, VK_SUCCESS);
    if (result != VK_SUCCESS) return result;
    for (uint32_t i = 0; bridged(device) && i < count; i++) {
        for (uint32_t k = 0; k < submits[i].signalSemaphoreCount; k++)
            soft_vk_pull(device, submits[i].pSignalSemaphores[k]);
    }
    const uint64_t before = device->kernels ? soft_vk_expected(device) : 0;
    for (uint32_t i = 0; device->kernels && i < count; i++)
        for (uint32_t k = 0; result == VK_SUCCESS && k < submits[i].commandBufferCount; k++)
            result = soft_vk_expect(device, submits[i].pCommandBuffers[k]);
    copies c = {0};
    if (result == VK_SUCCESS && numbered(device)) result = number_1(device, count, &submits, &c);
    if (result == VK_SUCCESS) {
        result = device->next.QueueSubmit(handle, count, submits, fence);
        for (uint32_t i = 0; c.submits && result != VK_SUCCESS && i < count; i++) {
            take_back(device, true, submits[i].pWaitSemaphores, submits[i].waitSemaphoreCount);
            take_back(device, false, submits[i].pSignalSemaphores, submits[i].signalSemaphoreCount);
        }
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *values =
            soft_vk_in_chain(submits[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        for (uint32_t k = 0; values && k < submits[i].signalSemaphoreCount; k++)
            if (k < values->signalSemaphoreValueCount)
                soft_vk_submitted(device, handle, submits[i].pSignalSemaphores[k],
                                  values->pSignalSemaphoreValues[k]);
    }
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    free_copies(&c);
    return submitted(device, before, result);
}

VkResult soft_vk_QueueSubmit2(soft_vk_device *device, VkQueue handle, uint32_t count,
                              const VkSubmitInfo2 *submits, VkFence fence)
{
    VkResult result = soft_vk_or_lost(device, VK_SUCCESS);
    if (result != VK_SUCCESS) return result;
    for (uint32_t i = 0; bridged(device) && i < count; i++) {
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++)
            soft_vk_pull(device, submits[i].pSignalSemaphoreInfos[k].semaphore);
    }
    const uint64_t before = device->kernels ? soft_vk_expected(device) : 0;
    for (uint32_t i = 0; device->kernels && i < count; i++)
        for (uint32_t k = 0; result == VK_SUCCESS && k < submits[i].commandBufferInfoCount; k++)
            result = soft_vk_expect(device, submits[i].pCommandBufferInfos[k].commandBuffer);
    copies c = {0};
    if (result == VK_SUCCESS && numbered(device)) result = number_2(device, count, &submits, &c);
    if (result == VK_SUCCESS) {
        result = device->next.QueueSubmit2(handle, count, submits, fence);
        for (uint32_t i = 0; c.submits && result != VK_SUCCESS && i < count; i++) {
            take_back_2(device, true, submits[i].pWaitSemaphoreInfos,
                        submits[i].waitSemaphoreInfoCount);
            take_back_2(device, false, submits[i].pSignalSemaphoreInfos,
                        submits[i].signalSemaphoreInfoCount);
        }
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++)
            soft_vk_submitted(device, handle, submits[i].pSignalSemaphoreInfos[k].semaphore,
                              submits[i].pSignalSemaphoreInfos[k].value);
    if (result == VK_SUCCESS) soft_vk_fenced(device, handle, fence);
    free_copies(&c);
    return submitted(device, before, result);
}

VkResult soft_vk_QueueWaitIdle(soft_vk_device *device, VkQueue handle)
{
    VkResult result = device->next.QueueWaitIdle(handle);
    if (result == VK_SUCCESS && bridged(device)) soft_vk_push_all(device);
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_DeviceWaitIdle(soft_vk_device *device, VkDevice handle)
{
    VkResult result = device->next.DeviceWaitIdle(handle);
    if (result == VK_SUCCESS && bridged(device)) soft_vk_push_all(device);
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_WaitForFences(soft_vk_device *device, VkDevice handle, uint32_t count,
                               const VkFence *fences, VkBool32 all, uint64_t timeout)
{
    VkResult result = device->next.WaitForFences(handle, count, fences, all, timeout);
    if (result == VK_SUCCESS && bridged(device)) {
        for (uint32_t i = 0; i < count; i++)
            if (all || count == 1 || device->next.GetFenceStatus(handle, fences[i]) == VK_SUCCESS)
                soft_vk_fence_reached(device, fences[i]);
        soft_vk_push_all(device);
    }
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_GetFenceStatus(soft_vk_device *device, VkDevice handle, VkFence fence)
{
    VkResult result = device->next.GetFenceStatus(handle, fence);
    if (result == VK_SUCCESS && bridged(device)) {
        soft_vk_fence_reached(device, fence);
        soft_vk_push_all(device);
    }
    return soft_vk_or_lost(device, result);
}

VkResult soft_vk_WaitSemaphores(soft_vk_device *device, VkDevice handle,
                                const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    bool work = bridged(device);
    for (uint32_t i = 0; work && i < info->semaphoreCount; i++)
        soft_vk_pull(device, info->pSemaphores[i]);
    VkResult result = device->next.WaitSemaphores(handle, info, timeout);
    for (uint32_t i = 0; work && result == VK_SUCCESS && i < info->semaphoreCount; i++)
        soft_vk_push(device, info->pSemaphores[i]);
    return soft_vk_or_lost(device, result);
}

/* The page behind an exported timeline: a sealed memfd, a counter and a futex. */

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

/* VK_NV_external_compute_queue, played: a queue for another API is a name of the device, which
 * cuCtxCreate() of the twin takes. */

enum { MAX_QUEUES = 16 };

struct VkExternalComputeQueueNV_T {
    culv_soft_cig_blob blob;
};

void soft_vk_external_queue_limits(VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceExternalComputeQueuePropertiesNV *limits = (void *)(uintptr_t)soft_vk_in_chain(
        out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV);
    if (!limits) return;
    limits->externalDataSize = sizeof(culv_soft_cig_blob);
    limits->maxExternalQueues = MAX_QUEUES;
}

VkResult soft_vk_CreateExternalComputeQueueNV(soft_vk_device *device, VkDevice handle,
                                              const VkExternalComputeQueueCreateInfoNV *info,
                                              const VkAllocationCallbacks *callbacks,
                                              VkExternalComputeQueueNV *out)
{
    (void)handle, (void)info, (void)callbacks;
    VkExternalComputeQueueNV made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(made->blob.magic, CULV_SOFT_CIG_MAGIC, sizeof(made->blob.magic));
    memcpy(made->blob.device_uuid, device->uuid, sizeof(made->blob.device_uuid));
    *out = made;
    return VK_SUCCESS;
}

void VKAPI_CALL soft_vk_destroy_external_queue(VkDevice handle, VkExternalComputeQueueNV queue,
                                               const VkAllocationCallbacks *callbacks)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (!device->soft)
        device->next.DestroyExternalComputeQueueNV(handle, queue, callbacks);
    else
        free(queue);
}

/* The queue is no dispatchable handle of the loader's here: it is always the layer's own. */
void VKAPI_CALL soft_vk_external_queue_data(VkExternalComputeQueueNV queue,
                                            VkExternalComputeQueueDataParamsNV *params, void *data)
{
    (void)params;
    memcpy(data, &queue->blob, sizeof(queue->blob));
}
