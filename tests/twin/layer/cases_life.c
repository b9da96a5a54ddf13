/* SPDX-License-Identifier: MIT */
/* Imports that are refused or replaced, destruction, several worlds at once. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer_test.h"

WORLD_CASE(case_reimport)
{
    VkSemaphore semaphore = exportable_timeline(w, 1), other = exportable_timeline(w, 0);
    int fd = export_fd(w, semaphore);
    culv_soft_timeline *old = page_map(fd);
    close(fd);
    fd = export_fd(w, other);
    culv_soft_timeline *fresh = page_map(fd);
    /* Would go back from 1 to 0 */
    CHECK_IS(import_fd(w, semaphore, fd), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK_VK(host_signal(w, other, 6));
    CHECK_VK(import_fd(w, semaphore, fd));
    CHECK(old->closed != 0);
    CHECK_IS(counter(w, semaphore), 6);
    page_raise(old, 100); /* no longer the semaphore's */
    page_raise(fresh, 7);
    CHECK_VK(wait_value(w, semaphore, 7, 20 * SECOND));
    CHECK_VK(wait_value(w, other, 7, 20 * SECOND));
    CHECK_IS(counter(w, semaphore), 7);
    CHECK_IS(layer_counts().threads, 4);
    CHECK_VK(submit(w, VK_NULL_HANDLE, 0, semaphore, 8));
    CHECK(page_wait(fresh, 8, 20 * SECOND));
    CHECK_VK(w->d.vkDeviceWaitIdle(w->device));
    page_unmap(old);
    page_unmap(fresh);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    w->d.vkDestroySemaphore(w->device, other, NULL);
}

static void refused(world *w, VkSemaphore semaphore, int fd)
{
    CHECK_IS(import_fd(w, semaphore, fd), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(fcntl(fd, F_GETFD) >= 0); /* still the caller's */
    close(fd);
}

WORLD_CASE(case_bad_fd)
{
    int ends[2];
    const unsigned fds = open_fds();
    VkSemaphore semaphore = exportable_timeline(w, 0), binary;
    uint8_t wrong[VK_UUID_SIZE];
    memcpy(wrong, w->uuid, sizeof(wrong));
    wrong[3] ^= 1;
    CHECK_IS(import_fd(w, semaphore, -1), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(pipe(ends) == 0);
    refused(w, semaphore, ends[0]);
    refused(w, semaphore, ends[1]);
    refused(w, semaphore, open("/dev/null", O_RDWR));
    refused(w, semaphore, page_fd("NOTATIME", w->uuid, CULV_SOFT_TIMELINE_SIZE, 0));
    refused(w, semaphore, page_fd(CULV_SOFT_TIMELINE_MAGIC, wrong, CULV_SOFT_TIMELINE_SIZE, 0));
    refused(w, semaphore, page_fd(CULV_SOFT_TIMELINE_MAGIC, w->uuid, 16, 0));
    refused(w, semaphore,
            page_fd(CULV_SOFT_TIMELINE_MAGIC, w->uuid, 2 * CULV_SOFT_TIMELINE_SIZE, 0));
    CHECK_VK(make_semaphore(w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary));
    refused(w, binary, page_fd(CULV_SOFT_TIMELINE_MAGIC, w->uuid, CULV_SOFT_TIMELINE_SIZE, 0));
    CHECK_IS(layer_counts().threads, 0);
    CHECK_IS(open_fds(), fds);

    int good = page_fd(CULV_SOFT_TIMELINE_MAGIC, w->uuid, CULV_SOFT_TIMELINE_SIZE, 11);
    CHECK_VK(import_fd(w, semaphore, good));
    CHECK(fcntl(good, F_GETFD) < 0);
    CHECK_IS(counter(w, semaphore), 11);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    w->d.vkDestroySemaphore(w->device, binary, NULL);
    CHECK_IS(open_fds(), fds);
}

static void *wait_for_close(void *argument)
{
    culv_soft_timeline *page = argument;
    CHECK(!page_wait(page, 1000, SECOND / 5));
    return NULL;
}

WORLD_CASE(case_destroy)
{
    enum { MANY = 200 };
    pthread_t thread;
    VkSemaphore semaphore = exportable_timeline(w, 0);
    CHECK_VK(
        /* The driver's own threads are there from now on */
        submit(w, VK_NULL_HANDLE, 0, semaphore, 1));
    CHECK_VK(w->d.vkDeviceWaitIdle(w->device));
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    const unsigned fds = open_fds(), threads = live_threads();

    for (int i = 0; i < MANY; i++) {
        semaphore = exportable_timeline(w, (uint64_t)i);
        int fd = export_fd(w, semaphore);
        CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
        CHECK_IS(layer_counts().threads, 2);
        CHECK_IS(layer_counts().fds, 1);
        if (i % 2) nap(1); /* half of them with the threads asleep */
        w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    }
    CHECK_IS(layer_counts().threads, 0);
    CHECK_IS(layer_counts().fds, 0);

    /* The last value is in the page when the semaphore is gone, and another side may still be
     * waiting. */
    semaphore = exportable_timeline(w, 0);
    int fd = export_fd(w, semaphore);
    culv_soft_timeline *page = page_map(fd);
    close(fd);
    CHECK(pthread_create(&thread, NULL, wait_for_close, page) == 0);
    CHECK_VK(submit(w, VK_NULL_HANDLE, 0, semaphore, 77));
    CHECK_VK(w->d.vkQueueWaitIdle(w->queue));
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    CHECK_IS(page->value, 77);
    CHECK(page->closed != 0);
    pthread_join(thread, NULL);
    page_raise(page, 1001);
    page_unmap(page);

    /* Exportable, never exported: no threads to end. */
    semaphore = exportable_timeline(w, 0);
    CHECK_IS(layer_counts().semaphores, 1);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    CHECK_IS(open_fds(), fds);
    check_threads(threads);
}

/* What the layer says to stderr meanwhile. */
static int hide_stderr(FILE **file)
{
    *file = tmpfile();
    CHECK(*file != NULL);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    CHECK(before >= 0);
    CHECK(dup2(fileno(*file), STDERR_FILENO) >= 0);
    return before;
}

static void show_stderr(int before, FILE *file, char *said, size_t size)
{
    fflush(stderr);
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    said[fread(said, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* A device destroyed with nothing left says nothing. */
WORLD_CASE(case_destroy_device_clean)
{
    char said[512];
    FILE *file = NULL;
    VkSemaphore semaphore = exportable_timeline(w, 0);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
    int before = hide_stderr(&file);
    w->d.vkDestroyDevice(w->device, NULL);
    show_stderr(before, file, said, sizeof said);
    w->device = VK_NULL_HANDLE;
    CHECK(said[0] == '\0');
}

/* A device destroyed with a timeline alive leaves no thread and no fd; the semaphore stays counted
 * as leaked. */
void case_destroy_device(void)
{
    world w;
    world_open(&w, NULL);
    const unsigned fds = open_fds();
    VkSemaphore semaphore = exportable_timeline(&w, 0);
    int fd = export_fd(&w, semaphore);
    culv_soft_timeline *page = page_map(fd);
    close(fd);
    char said[512];
    FILE *file = NULL;
    VkBuffer left = VK_NULL_HANDLE;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 64,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    CHECK_VK(w.d.vkCreateBuffer(w.device, &info, NULL, &left));
    int before = hide_stderr(&file);
    w.d.vkDestroyDevice(w.device, NULL);
    show_stderr(before, file, said, sizeof said);
    w.device = VK_NULL_HANDLE;
    CHECK(
        strstr(
            said,
            "vkDestroyDevice: objects of the VkDevice are still there (VkBuffer 1, VkSemaphore 1)") !=
        NULL);
    CHECK(page->closed != 0);
    page_unmap(page);
    CHECK_IS(layer_counts().semaphores, 1);
    CHECK_IS(layer_counts().threads, 0);
    CHECK_IS(layer_counts().fds, 0);
    CHECK(open_fds() <= fds);
    world_close(&w);
    _exit(0); /* the leak is meant */
}

static void *answer(void *argument)
{
    culv_soft_timeline *page = argument;
    for (uint64_t i = 0; i < 200; i++) {
        CHECK(page_wait(page, 2 * i, 60 * SECOND));
        page_raise(page, 2 * i + 1);
    }
    return NULL;
}

/* The loader of 1.3.239 walks its instances without a lock in vkGetDeviceProcAddr (it crashes
 * beside another thread's vkDestroyInstance, without any layer too), so worlds come and go one at a
 * time. */
static pthread_mutex_t setup = PTHREAD_MUTEX_INITIALIZER;

static void *play(void *argument)
{
    world w;
    (void)argument;
    pthread_mutex_lock(&setup);
    world_open(&w, NULL);
    pthread_mutex_unlock(&setup);
    for (int turn = 0; turn < 3; turn++) {
        pthread_t thread;
        VkSemaphore semaphore = exportable_timeline(&w, 0);
        int fd = export_fd(&w, semaphore);
        culv_soft_timeline *page = page_map(fd);
        close(fd);
        CHECK(pthread_create(&thread, NULL, answer, page) == 0);
        for (uint64_t i = 0; i < 200; i++)
            CHECK_VK(submit(&w, semaphore, 2 * i + 1, semaphore, 2 * i + 2));
        CHECK_VK(wait_value(&w, semaphore, 400, 60 * SECOND));
        pthread_join(thread, NULL);
        CHECK_VK(w.d.vkDeviceWaitIdle(w.device));
        page_unmap(page);
        w.d.vkDestroySemaphore(w.device, semaphore, NULL);
    }
    pthread_mutex_lock(&setup);
    world_close(&w);
    pthread_mutex_unlock(&setup);
    return NULL;
}

/* Instances and devices, each of a thread of its own. */
void case_several(void)
{
    enum { WORLDS = 4 };
    pthread_t threads[WORLDS];
    for (int i = 0; i < WORLDS; i++)
        CHECK(pthread_create(&threads[i], NULL, play, NULL) == 0);
    for (int i = 0; i < WORLDS; i++)
        pthread_join(threads[i], NULL);
}

typedef struct hammer {
    world *w;
    VkSemaphore semaphore;
    _Atomic bool stop;
} hammer;

static void *look(void *argument)
{
    hammer *h = argument;
    uint64_t last = 0;
    while (!atomic_load(&h->stop)) {
        uint64_t value = counter(h->w, h->semaphore);
        CHECK(value >= last);
        last = value;
        close(export_fd(h->w, h->semaphore));
        VkResult result = wait_value(h->w, h->semaphore, last + 2, 0);
        CHECK(result == VK_SUCCESS || result == VK_TIMEOUT);
    }
    return NULL;
}

/* Readers, exporters and both signallers of one semaphore at once. */
WORLD_CASE(case_hammer)
{
    pthread_t threads[3];
    hammer h = {.w = w, .semaphore = exportable_timeline(w, 0)};
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, look, &h) == 0);
    int fd = export_fd(w, h.semaphore);
    culv_soft_timeline *page = page_map(fd);
    close(fd);
    for (uint64_t value = 0; value < 3000; value += 3) {
        page_raise(page, value + 1);
        CHECK_VK(wait_value(w, h.semaphore, value + 1, 20 * SECOND));
        CHECK_VK(host_signal(w, h.semaphore, value + 2));
        CHECK_VK(submit(w, h.semaphore, value + 2, h.semaphore, value + 3));
        CHECK(page_wait(page, value + 3, 20 * SECOND));
    }
    atomic_store(&h.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_VK(w->d.vkDeviceWaitIdle(w->device));
    page_unmap(page);
    w->d.vkDestroySemaphore(w->device, h.semaphore, NULL);
}
