/* SPDX-License-Identifier: MIT */
/* Exportable timelines, and binary semaphores that are exported or imported: the driver's timeline
 * stands for such a one, and signals and waits of it get numbers (shared/pages.h). Swapchains
 * know nothing of that: where one signals it or waits for it, it is another semaphore.
 *
 * Per semaphore with a page two threads bridge it to the driver's semaphore:
 * one follows the driver's counter and raises the page, one follows the page and signals from the
 * host. Mesa's timelines lose the device on a host signal that does not increase them, so
 * everything that signals holds the semaphore's lock, and asks the counter first. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soft_vk.h"

/* A wait that nothing ends returns after this; normally vkDestroySemaphore ends it by a signal at
 * once. */
#define WAIT_SLICE UINT64_C(1000000000)

/* Fences at a time that say what a semaphore has reached. Of more, the newest ones. */
#define MOST_FENCES 16

struct soft_vk_semaphore {
    soft_vk_semaphore *link;
    soft_vk_device *device;
    VkSemaphore handle; /* the application's */
    VkSemaphore driver; /* the driver's timeline; of a timeline the same */
    bool binary;
    bool exportable;
    pthread_mutex_t lock; /* of all below, and around every host signal */
    soft_vk_page *page;   /* NULL until the first export or import */
    uint64_t known;       /* the driver's counter is at least this */
    uint64_t signals;     /* of a binary one without a page: submitted, */
    uint64_t waits;       /* likewise */
    VkQueue queue;        /* that was last told to signal it, */
    uint64_t submitted;   /* and the value */
    struct {
        VkFence fence;
        uint64_t value; /* that is reached once the fence is signaled */
    } fences[MOST_FENCES];
    unsigned num_fences; /* ever */
    bool ending;
    bool running;
    pthread_t driver_follower;
    pthread_t page_follower;
};

static soft_vk_semaphore *find_locked(soft_vk_device *device, VkSemaphore handle)
{
    soft_vk_semaphore *semaphore = device->semaphores;
    while (semaphore && semaphore->handle != handle && semaphore->driver != handle)
        semaphore = semaphore->link;
    return semaphore;
}

/* The record stays valid after the lock: Vulkan forbids destroying a semaphore while another call
 * uses it. */
static soft_vk_semaphore *find(soft_vk_device *device, VkSemaphore handle)
{
    pthread_mutex_lock(&device->lock);
    soft_vk_semaphore *semaphore = find_locked(device, handle);
    pthread_mutex_unlock(&device->lock);
    return semaphore;
}

bool soft_vk_is_timeline(soft_vk_device *device, VkSemaphore handle)
{
    const soft_vk_semaphore *semaphore = find(device, handle);
    return semaphore && !semaphore->binary;
}

static uint64_t step(soft_vk_semaphore *semaphore, bool waits, uint64_t by)
{
    pthread_mutex_lock(&semaphore->lock);
    culv_soft_counted *counted = semaphore->page ? semaphore->page->counted : NULL;
    uint64_t *own = waits ? &semaphore->waits : &semaphore->signals;
    const uint64_t number = counted
                                ? atomic_fetch_add(waits ? &counted->waits : &counted->signals, by)
                                : (*own += by) - by;
    pthread_mutex_unlock(&semaphore->lock);
    return number + by;
}

void soft_vk_number(soft_vk_device *device, bool waits, VkSemaphore *handle, uint64_t *value)
{
    soft_vk_semaphore *semaphore = find(device, *handle);
    if (!semaphore || !semaphore->binary) return;
    *handle = semaphore->driver;
    *value = step(semaphore, waits, 1);
}

void soft_vk_number_back(soft_vk_device *device, bool waits, VkSemaphore driver)
{
    soft_vk_semaphore *semaphore = find(device, driver);
    if (semaphore && semaphore->binary) (void)step(semaphore, waits, UINT64_MAX);
}

static VkResult read_counter(soft_vk_semaphore *semaphore)
{
    uint64_t value;
    const soft_vk_device *device = semaphore->device;
    VkResult result =
        device->next.GetSemaphoreCounterValue(device->handle, semaphore->driver, &value);
    if (result == VK_SUCCESS && value > semaphore->known) semaphore->known = value;
    return result;
}

static VkResult host_signal(soft_vk_semaphore *semaphore, uint64_t value)
{
    const soft_vk_device *device = semaphore->device;
    const VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                        .semaphore = semaphore->driver,
                                        .value = value};
    return device->next.SignalSemaphore(device->handle, &info);
}

static void pull_locked(soft_vk_semaphore *semaphore)
{
    if (!semaphore->page || semaphore->ending) return;
    uint64_t value = soft_vk_page_value(semaphore->page);
    if (value <= semaphore->known) return;
    if (read_counter(semaphore) != VK_SUCCESS || value <= semaphore->known) return;
    if (host_signal(semaphore, value) == VK_SUCCESS) semaphore->known = value;
}

static void push_locked(soft_vk_semaphore *semaphore)
{
    if (!semaphore->page || semaphore->ending) return;
    if (read_counter(semaphore) == VK_SUCCESS)
        soft_vk_page_raise(semaphore->page, semaphore->known);
}

static void *follow_driver(void *argument)
{
    soft_vk_semaphore *semaphore = argument;
    const soft_vk_device *device = semaphore->device;
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&semaphore->lock);
    while (!semaphore->ending && (result == VK_SUCCESS || result == VK_TIMEOUT)) {
        push_locked(semaphore);
        if (semaphore->known == UINT64_MAX) break; /* nothing can follow */
        uint64_t next = semaphore->known + 1;
        pthread_mutex_unlock(&semaphore->lock);
        const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                          .semaphoreCount = 1,
                                          .pSemaphores = &semaphore->driver,
                                          .pValues = &next};
        result = device->next.WaitSemaphores(device->handle, &info, WAIT_SLICE);
        pthread_mutex_lock(&semaphore->lock);
    }
    pthread_mutex_unlock(&semaphore->lock);
    return NULL;
}

static void *follow_page(void *argument)
{
    soft_vk_semaphore *semaphore = argument;
    pthread_mutex_lock(&semaphore->lock);
    while (!semaphore->ending) {
        soft_vk_page *page = semaphore->page;
        soft_vk_page_retain(page); /* an import may replace it while this thread sleeps */
        uint32_t seq = atomic_load(&page->map->seq);
        pull_locked(semaphore);
        pthread_mutex_unlock(&semaphore->lock);
        soft_vk_page_wait(page, seq);
        soft_vk_page_release(page);
        pthread_mutex_lock(&semaphore->lock);
    }
    pthread_mutex_unlock(&semaphore->lock);
    return NULL;
}

/* Called with the lock and a page. The application's signals are not for these threads. */
static VkResult start_locked(soft_vk_semaphore *semaphore)
{
    sigset_t all, before;
    if (semaphore->running) return VK_SUCCESS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&semaphore->driver_follower, NULL, follow_driver, semaphore);
    int second =
        error ? error : pthread_create(&semaphore->page_follower, NULL, follow_page, semaphore);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error && second) {
        /* The first has not passed the lock yet: it sees `ending` before it waits for anything. */
        semaphore->ending = true;
        pthread_mutex_unlock(&semaphore->lock);
        pthread_join(semaphore->driver_follower, NULL);
        pthread_mutex_lock(&semaphore->lock);
        semaphore->ending = false;
    }
    if (error || second) return VK_ERROR_OUT_OF_HOST_MEMORY;
    semaphore->running = true;
    atomic_fetch_add(&soft_vk_threads, 2);
    return VK_SUCCESS;
}

/* Drops the semaphore's hold on a page that it no longer uses. */
static void leave_page(soft_vk_page *page)
{
    if (page->maker) atomic_store(&page->map->closed, 1);
    soft_vk_page_wake(page);
    soft_vk_page_release(page);
}

/* Leaves the last value in the page, then ends both threads. */
static void end(soft_vk_semaphore *semaphore)
{
    pthread_mutex_lock(&semaphore->lock);
    push_locked(semaphore);
    semaphore->ending = true;
    if (semaphore->running) {
        soft_vk_page_wake(semaphore->page);
        /* Nothing waits for the semaphore any more but our thread: one step ends its wait. */
        if (read_counter(semaphore) == VK_SUCCESS && semaphore->known < UINT64_MAX)
            (void)host_signal(semaphore, semaphore->known + 1);
    }
    pthread_mutex_unlock(&semaphore->lock);
    if (semaphore->running) {
        pthread_join(semaphore->driver_follower, NULL);
        pthread_join(semaphore->page_follower, NULL);
        atomic_fetch_sub(&soft_vk_threads, 2);
    }
    if (semaphore->page) {
        leave_page(semaphore->page);
        atomic_fetch_sub(&semaphore->device->bridges, 1);
    }
    if (semaphore->binary) {
        semaphore->device->next.DestroySemaphore(semaphore->device->handle, semaphore->driver,
                                                 NULL);
        atomic_fetch_sub(&semaphore->device->binaries, 1);
    }
    pthread_mutex_destroy(&semaphore->lock);
    free(semaphore);
}

void soft_vk_pull(soft_vk_device *device, VkSemaphore handle)
{
    soft_vk_semaphore *semaphore = find(device, handle);
    if (!semaphore) return;
    pthread_mutex_lock(&semaphore->lock);
    pull_locked(semaphore);
    pthread_mutex_unlock(&semaphore->lock);
}

void soft_vk_push(soft_vk_device *device, VkSemaphore handle)
{
    soft_vk_semaphore *semaphore = find(device, handle);
    if (!semaphore) return;
    pthread_mutex_lock(&semaphore->lock);
    push_locked(semaphore);
    pthread_mutex_unlock(&semaphore->lock);
}

void soft_vk_push_all(soft_vk_device *device)
{
    pthread_mutex_lock(&device->lock);
    for (soft_vk_semaphore *semaphore = device->semaphores; semaphore;
         semaphore = semaphore->link) {
        pthread_mutex_lock(&semaphore->lock);
        push_locked(semaphore);
        pthread_mutex_unlock(&semaphore->lock);
    }
    pthread_mutex_unlock(&device->lock);
}

void soft_vk_submitted(soft_vk_device *device, VkQueue queue, VkSemaphore handle, uint64_t value)
{
    soft_vk_semaphore *semaphore = find(device, handle);
    if (!semaphore) return;
    pthread_mutex_lock(&semaphore->lock);
    semaphore->queue = queue;
    semaphore->submitted = value;
    pthread_mutex_unlock(&semaphore->lock);
}

void soft_vk_fenced(soft_vk_device *device, VkQueue queue, VkFence fence)
{
    if (fence == VK_NULL_HANDLE) return;
    pthread_mutex_lock(&device->lock);
    for (soft_vk_semaphore *semaphore = device->semaphores; semaphore;
         semaphore = semaphore->link) {
        pthread_mutex_lock(&semaphore->lock);
        unsigned at = 0;
        while (at < MOST_FENCES && semaphore->fences[at].fence != fence)
            at++;
        const bool matters = semaphore->queue == queue && semaphore->submitted > semaphore->known;
        if (at == MOST_FENCES) at = matters ? semaphore->num_fences++ % MOST_FENCES : at;
        if (at < MOST_FENCES) {
            semaphore->fences[at].fence = fence;
            semaphore->fences[at].value = matters ? semaphore->submitted : 0;
        }
        pthread_mutex_unlock(&semaphore->lock);
    }
    pthread_mutex_unlock(&device->lock);
}

/* Mesa's emulated timelines reach a value a moment after the fence of the submission is signaled.
 * In Vulkan a fence is signaled after all semaphores of its submission and of those before. */
void soft_vk_fence_reached(soft_vk_device *device, VkFence fence)
{
    pthread_mutex_lock(&device->lock);
    for (soft_vk_semaphore *semaphore = device->semaphores; semaphore;
         semaphore = semaphore->link) {
        uint64_t value = 0;
        pthread_mutex_lock(&semaphore->lock);
        for (unsigned i = 0; i < MOST_FENCES; i++)
            if (semaphore->fences[i].fence == fence) value = semaphore->fences[i].value;
        const bool behind = semaphore->page && !semaphore->ending && semaphore->known < value;
        pthread_mutex_unlock(&semaphore->lock);
        if (!behind) continue;
        const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                          .semaphoreCount = 1,
                                          .pSemaphores = &semaphore->driver,
                                          .pValues = &value};
        (void)device->next.WaitSemaphores(device->handle, &info, WAIT_SLICE);
    }
    pthread_mutex_unlock(&device->lock);
}

/* Writes a copy of `info` without `export` to `out`. Only a VkSemaphoreTypeCreateInfo before it can
 * be copied; a struct of unknown size cannot, and then false leaves the answer to the driver. */
static bool without_export(const VkSemaphoreCreateInfo *info, const VkSemaphoreTypeCreateInfo *type,
                           const VkExportSemaphoreCreateInfo *export, VkSemaphoreCreateInfo *out,
                           VkSemaphoreTypeCreateInfo *type_copy)
{
    *out = *info;
    *type_copy = *type;
    if (info->pNext == export) {
        out->pNext = export->pNext;
        return true;
    }
    if (info->pNext != type || type->pNext != export) return false;
    type_copy->pNext = export->pNext;
    out->pNext = type_copy;
    return true;
}

static void publish(soft_vk_device *device, soft_vk_semaphore *semaphore)
{
    semaphore->device = device;
    pthread_mutex_init(&semaphore->lock, NULL);
    pthread_mutex_lock(&device->lock);
    semaphore->link = device->semaphores;
    device->semaphores = semaphore;
    pthread_mutex_unlock(&device->lock);
    if (semaphore->binary) atomic_fetch_add(&device->binaries, 1);
}

/* The application's binary semaphore gets a timeline of the driver's that stands for it. */
static VkResult stand_in(soft_vk_device *device, VkSemaphore handle, bool exportable,
                         soft_vk_semaphore **out)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    soft_vk_semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (!semaphore) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult result = device->next.CreateSemaphore(device->handle, &info, NULL, &semaphore->driver);
    if (result != VK_SUCCESS) {
        free(semaphore);
        return result;
    }
    semaphore->handle = handle;
    semaphore->binary = true;
    semaphore->exportable = exportable;
    publish(device, semaphore);
    if (exportable) atomic_fetch_add(&soft_vk_semaphores, 1);
    *out = semaphore;
    return VK_SUCCESS;
}

/* Where nothing but the two structs is in the chain, which the driver is not shown. */
static VkResult create_binary(soft_vk_device *device, const VkSemaphoreCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkSemaphore *out)
{
    VkSemaphoreCreateInfo copy = *info;
    soft_vk_semaphore *semaphore;
    copy.pNext = NULL;
    VkResult result = device->next.CreateSemaphore(device->handle, &copy, callbacks, out);
    if (result != VK_SUCCESS) return result;
    result = stand_in(device, *out, true, &semaphore);
    if (result != VK_SUCCESS) {
        device->next.DestroySemaphore(device->handle, *out, callbacks);
        *out = VK_NULL_HANDLE;
    }
    return result;
}

static bool only_these(const VkBaseInStructure *chain, const void *first, const void *second)
{
    while (chain && (chain == first || chain == second))
        chain = chain->pNext;
    return !chain;
}

VkResult soft_vk_CreateSemaphore(soft_vk_device *device, VkDevice handle,
                                 const VkSemaphoreCreateInfo *info,
                                 const VkAllocationCallbacks *callbacks, VkSemaphore *out)
{
    const VkSemaphoreTypeCreateInfo *type =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    const VkExportSemaphoreCreateInfo *export =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    if (!type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE ||
        !device->enabled[SOFT_VK_LENT_FD]) {
        const bool shared =
            device->enabled[SOFT_VK_LENT_FD] && export &&
            export->handleTypes == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT &&
            only_these(info->pNext, type, export);
        VkResult plain = shared ? create_binary(device, info, callbacks, out)
                                : device->next.CreateSemaphore(handle, info, callbacks, out);
        if (plain == VK_SUCCESS) {
            atomic_fetch_add(&soft_vk_all_semaphores, 1);
            atomic_fetch_add(&device->live[SOFT_VK_SEMAPHORES], 1);
        }
        return plain;
    }

    VkSemaphoreCreateInfo copy = *info;
    VkSemaphoreTypeCreateInfo type_copy;
    bool exportable = export &&
                      export->handleTypes == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT &&
                      without_export(info, type, export, &copy, &type_copy);
    soft_vk_semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (!semaphore) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult result =
        device->next.CreateSemaphore(handle, exportable ? &copy : info, callbacks, out);
    if (result != VK_SUCCESS) {
        free(semaphore);
        return result;
    }
    semaphore->handle = semaphore->driver = *out;
    semaphore->exportable = exportable;
    semaphore->known = type->initialValue;
    publish(device, semaphore);
    if (exportable) atomic_fetch_add(&soft_vk_semaphores, 1);
    atomic_fetch_add(&soft_vk_all_semaphores, 1);
    atomic_fetch_add(&device->live[SOFT_VK_SEMAPHORES], 1);
    return VK_SUCCESS;
}

void VKAPI_CALL soft_vk_destroy_semaphore(VkDevice handle, VkSemaphore semaphore,
                                          const VkAllocationCallbacks *callbacks)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    soft_vk_semaphore *found = NULL;
    if (semaphore != VK_NULL_HANDLE) {
        pthread_mutex_lock(&device->lock);
        soft_vk_semaphore **link = &device->semaphores;
        while (*link && (*link)->handle != semaphore)
            link = &(*link)->link;
        found = *link;
        if (found) *link = found->link;
        pthread_mutex_unlock(&device->lock);
    }
    if (found) {
        if (found->exportable) atomic_fetch_sub(&soft_vk_semaphores, 1);
        end(found);
    }
    device->next.DestroySemaphore(handle, semaphore, callbacks);
    if (device->soft && semaphore != VK_NULL_HANDLE) {
        atomic_fetch_sub(&soft_vk_all_semaphores, 1);
        atomic_fetch_sub(&device->live[SOFT_VK_SEMAPHORES], 1);
    }
}

/* They stay in the count: the application leaked them. */
void soft_vk_semaphores_end(soft_vk_device *device)
{
    while (device->semaphores) {
        soft_vk_semaphore *semaphore = device->semaphores;
        device->semaphores = semaphore->link;
        end(semaphore);
    }
}

VkResult soft_vk_GetSemaphoreFdKHR(soft_vk_device *device, VkDevice handle,
                                   const VkSemaphoreGetFdInfoKHR *info, int *fd)
{
    soft_vk_semaphore *semaphore = find(device, info->semaphore);
    if (!semaphore && device->next.GetSemaphoreFdKHR)
        return device->next.GetSemaphoreFdKHR(handle, info, fd);
    if (!semaphore || !semaphore->exportable ||
        info->handleType != VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;

    pthread_mutex_lock(&semaphore->lock);
    VkResult result = VK_SUCCESS;
    if (!semaphore->page) {
        result = read_counter(semaphore);
        if (result == VK_SUCCESS)
            result = soft_vk_page_make(device->uuid, semaphore->known, semaphore->binary,
                                       &semaphore->page);
        if (result == VK_SUCCESS && semaphore->binary) {
            atomic_store(&semaphore->page->counted->signals, semaphore->signals);
            atomic_store(&semaphore->page->counted->waits, semaphore->waits);
        }
        if (result == VK_SUCCESS) result = start_locked(semaphore);
        if (result == VK_SUCCESS) {
            atomic_fetch_add(&device->bridges, 1);
        } else if (semaphore->page) {
            soft_vk_page_release(semaphore->page);
            semaphore->page = NULL;
        }
    }
    if (result == VK_SUCCESS) result = soft_vk_page_export(semaphore->page, fd);
    pthread_mutex_unlock(&semaphore->lock);
    return result;
}

VkResult soft_vk_ImportSemaphoreFdKHR(soft_vk_device *device, VkDevice handle,
                                      const VkImportSemaphoreFdInfoKHR *info)
{
    soft_vk_semaphore *semaphore = find(device, info->semaphore);
    if (info->handleType != VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT && !semaphore &&
        device->next.ImportSemaphoreFdKHR)
        return device->next.ImportSemaphoreFdKHR(handle, info);
    if (info->handleType != VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT ||
        (info->flags & VK_SEMAPHORE_IMPORT_TEMPORARY_BIT)) /* permanent imports only */
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;

    soft_vk_page *page;
    VkResult result = soft_vk_page_open(info->fd, device->uuid, !semaphore || semaphore->binary,
                                        semaphore && semaphore->exportable, &page);
    if (result != VK_SUCCESS) return result;
    /* The layer knows every timeline, so this is a binary one. */
    if (!semaphore) result = stand_in(device, info->semaphore, false, &semaphore);
    if (result != VK_SUCCESS) {
        soft_vk_page_release(page);
        return result;
    }

    pthread_mutex_lock(&semaphore->lock);
    soft_vk_page *old = semaphore->page;
    result = read_counter(semaphore);
    /* The driver's counter cannot go back to the payload's value. */
    if (result == VK_SUCCESS && semaphore->known > soft_vk_page_value(page))
        result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (result == VK_SUCCESS) {
        semaphore->page = page;
        result = start_locked(semaphore);
        if (result != VK_SUCCESS) semaphore->page = old;
    }
    if (result == VK_SUCCESS) pull_locked(semaphore);
    pthread_mutex_unlock(&semaphore->lock);

    if (result != VK_SUCCESS) {
        soft_vk_page_release(page);
        return result;
    }
    if (old)
        leave_page(old);
    else
        atomic_fetch_add(&device->bridges, 1);
    close(info->fd);
    return VK_SUCCESS;
}

VkResult soft_vk_GetSemaphoreCounterValue(soft_vk_device *device, VkDevice handle,
                                          VkSemaphore semaphore, uint64_t *value)
{
    soft_vk_semaphore *found = find(device, semaphore);
    VkResult lost = soft_vk_or_lost(device, VK_SUCCESS);
    if (lost != VK_SUCCESS) return lost;
    if (!found) return device->next.GetSemaphoreCounterValue(handle, semaphore, value);
    pthread_mutex_lock(&found->lock);
    pull_locked(found);
    VkResult result = device->next.GetSemaphoreCounterValue(handle, semaphore, value);
    if (result == VK_SUCCESS && *value > found->known) found->known = *value;
    if (result == VK_SUCCESS && found->page) soft_vk_page_raise(found->page, *value);
    pthread_mutex_unlock(&found->lock);
    return result;
}

VkResult soft_vk_SignalSemaphore(soft_vk_device *device, VkDevice handle,
                                 const VkSemaphoreSignalInfo *info)
{
    soft_vk_semaphore *found = find(device, info->semaphore);
    VkResult lost = soft_vk_or_lost(device, VK_SUCCESS);
    if (lost != VK_SUCCESS) return lost;
    if (!found) return device->next.SignalSemaphore(handle, info);
    pthread_mutex_lock(&found->lock);
    VkResult result = device->next.SignalSemaphore(handle, info);
    if (result == VK_SUCCESS && info->value > found->known) found->known = info->value;
    if (result == VK_SUCCESS && found->page) soft_vk_page_raise(found->page, info->value);
    pthread_mutex_unlock(&found->lock);
    return result;
}
