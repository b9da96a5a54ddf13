/* SPDX-License-Identifier: MIT */
/* Values cross between the driver's semaphore and the page, both ways. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer_test.h"

static VkResult submit_either(world *w, bool newer, VkSemaphore wait, VkSemaphore signal,
                              uint64_t value)
{
    if (!newer) return submit(w, wait, 0, signal, value);
    const VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = wait,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
                                signals = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = signal,
                                           .value = value,
                                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = wait != VK_NULL_HANDLE,
                                .pWaitSemaphoreInfos = &waits,
                                .signalSemaphoreInfoCount = signal != VK_NULL_HANDLE,
                                .pSignalSemaphoreInfos = &signals};
    return w->d.vkQueueSubmit2(w->queue, 1, &info, VK_NULL_HANDLE);
}

/* A binary semaphore of one device is a plain one of another: each signal releases one wait, also
 * one that is submitted first. */
void case_binary_shared(void)
{
    world w, beside;
    const unsigned fds = open_fds();
    VkSemaphore ours, theirs, timeline;
    world_open(&w, NULL);
    world_open_beside(&beside, &w);
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, true, 0, &ours));
    CHECK_VK(make_semaphore(&beside, VK_SEMAPHORE_TYPE_BINARY, false, 0, &theirs));
    CHECK_VK(make_semaphore(&beside, VK_SEMAPHORE_TYPE_TIMELINE, false, 0, &timeline));
    CHECK_IS(layer_counts().semaphores, 1);
    CHECK_VK(submit(&w, VK_NULL_HANDLE, 0, ours, 0)); /* pending: the import takes it over */
    CHECK_VK(import_fd(&beside, theirs, export_fd(&w, ours)));
    for (uint64_t i = 1; i <= 20; i++) {
        const bool newer = i % 2 != 0 && !test_validation, first = i % 4 > 1;
        if (i > 1 && !first) CHECK_VK(submit_either(&w, newer, VK_NULL_HANDLE, ours, 0));
        CHECK_VK(submit_either(&beside, newer, theirs, timeline, i));
        if (i > 1 && first) {
            CHECK_IS(wait_value(&beside, timeline, i, SECOND / 100), VK_TIMEOUT);
            CHECK_VK(submit_either(&w, newer, VK_NULL_HANDLE, ours, 0));
        }
        CHECK_VK(wait_value(&beside, timeline, i, 60 * SECOND));
    }
    CHECK_VK(w.d.vkDeviceWaitIdle(w.device));
    CHECK_VK(beside.d.vkDeviceWaitIdle(beside.device));
    w.d.vkDestroySemaphore(w.device, ours, NULL);
    beside.d.vkDestroySemaphore(beside.device, theirs, NULL);
    beside.d.vkDestroySemaphore(beside.device, timeline, NULL);
    world_close(&beside);
    world_close(&w);
    CHECK_IS(open_fds(), fds);
}

typedef struct side {
    culv_soft_timeline *page;
    uint64_t value;
    unsigned delay; /* ms */
    uint64_t hops;
} side;

static void *raise_later(void *argument)
{
    const side *s = argument;
    nap(s->delay);
    page_raise(s->page, s->value);
    return NULL;
}

/* Waits for every even value, answers with the odd one. */
static void *answer(void *argument)
{
    const side *s = argument;
    for (uint64_t i = 0; i < s->hops; i++) {
        CHECK(page_wait(s->page, 2 * i, 60 * SECOND));
        page_raise(s->page, 2 * i + 1);
    }
    return NULL;
}

static culv_soft_timeline *other_side(world *w, VkSemaphore semaphore)
{
    int fd = export_fd(w, semaphore);
    culv_soft_timeline *page = page_map(fd);
    close(fd);
    return page;
}

WORLD_CASE(case_page_to_host)
{
    pthread_t thread;
    VkSemaphore semaphore = exportable_timeline(w, 4);
    side s = {.page = other_side(w, semaphore), .value = 9, .delay = 30};
    CHECK_IS(wait_value(w, semaphore, 5, 0), VK_TIMEOUT);
    CHECK(pthread_create(&thread, NULL, raise_later, &s) == 0);
    CHECK_VK(wait_value(w, semaphore, 9, 20 * SECOND));
    CHECK_IS(counter(w, semaphore), 9);
    pthread_join(thread, NULL);
    /* Validation 1.3.239 takes the vkWaitSemaphores on a value from outside for a pending signal
     * (03259). */
    if (!test_validation) {
        CHECK_VK(host_signal(w, semaphore, 10));
        CHECK_IS(s.page->value, 10);
    }
    page_unmap(s.page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

WORLD_CASE(case_queue_to_page)
{
    VkSemaphore semaphore = exportable_timeline(w, 0);
    culv_soft_timeline *page = other_side(w, semaphore);
    for (uint64_t value = 1; value <= 200; value++) {
        CHECK_VK(submit(w, VK_NULL_HANDLE, 0, semaphore, 3 * value));
        CHECK(page_wait(page, 3 * value, 20 * SECOND));
        CHECK_IS(page->value, 3 * value);
    }
    CHECK_VK(w->d.vkDeviceWaitIdle(w->device));
    page_unmap(page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

typedef struct host_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint32_t *data;
} host_buffer;

static host_buffer make_buffer(world *w)
{
    host_buffer b = {0};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    CHECK_VK(w->d.vkCreateBuffer(w->device, &info, NULL, &b.buffer));
    VkMemoryRequirements need;
    w->d.vkGetBufferMemoryRequirements(w->device, b.buffer, &need);
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = need.size};
    CHECK_VK(w->d.vkAllocateMemory(w->device, &allocate, NULL, &b.memory));
    CHECK_VK(w->d.vkBindBufferMemory(w->device, b.buffer, b.memory, 0));
    CHECK_VK(w->d.vkMapMemory(w->device, b.memory, 0, VK_WHOLE_SIZE, 0, (void **)&b.data));
    return b;
}

static void destroy_buffer(world *w, host_buffer *b)
{
    w->d.vkDestroyBuffer(w->device, b->buffer, NULL);
    w->d.vkFreeMemory(w->device, b->memory, NULL);
}

/* A copy on the queue waits for the page, and sees what was written before the page was raised. */
WORLD_CASE(case_page_to_queue)
{
    VkSemaphore semaphore = exportable_timeline(w, 0);
    culv_soft_timeline *page = other_side(w, semaphore);
    host_buffer from = make_buffer(w), to = make_buffer(w);
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    CHECK_VK(w->d.vkCreateFence(w->device, &fence_info, NULL, &fence));
    CHECK_VK(w->d.vkCreateCommandPool(w->device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = 1};
    CHECK_VK(w->d.vkAllocateCommandBuffers(w->device, &allocate, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkBufferCopy whole = {.size = 4096};
    CHECK_VK(w->d.vkBeginCommandBuffer(commands, &begin));
    w->d.vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &whole);
    CHECK_VK(w->d.vkEndCommandBuffer(commands));
    for (uint32_t round = 0; round < 50; round++) {
        const uint64_t wait = 2 * round + 1, signal = wait + 1;
        const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        const VkTimelineSemaphoreSubmitInfo values = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = 1,
            .pWaitSemaphoreValues = &wait,
            .signalSemaphoreValueCount = 1,
            .pSignalSemaphoreValues = &signal};
        const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                   .pNext = &values,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &semaphore,
                                   .pWaitDstStageMask = &stage,
                                   .commandBufferCount = 1,
                                   .pCommandBuffers = &commands,
                                   .signalSemaphoreCount = 1,
                                   .pSignalSemaphores = &semaphore};
        CHECK_VK(w->d.vkQueueSubmit(w->queue, 1, &info, fence));
        for (uint32_t i = 0; i < 1024; i++)
            from.data[i] = round * 1024 + i;
        page_raise(page, wait);
        CHECK(page_wait(page, signal, 20 * SECOND));
        for (uint32_t i = 0; i < 1024; i++)
            CHECK_IS(to.data[i], round * 1024 + i);
        /* Validation 1.3.239 does not see a submit end by an exported timeline, only by fences and
         * idle waits. */
        CHECK_VK(w->d.vkWaitForFences(w->device, 1, &fence, VK_TRUE, 20 * SECOND));
        CHECK_VK(w->d.vkResetFences(w->device, 1, &fence));
    }
    w->d.vkDestroyFence(w->device, fence, NULL);
    w->d.vkDestroyCommandPool(w->device, pool, NULL);
    destroy_buffer(w, &from);
    destroy_buffer(w, &to);
    page_unmap(page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

/* A fence is signaled after the semaphores of its submission and of those before it. So who waited
 * for it leaves pages that are up to date, even if the process dies at once. */
WORLD_CASE(case_fence_to_page)
{
    VkSemaphore semaphore = exportable_timeline(w, 0);
    culv_soft_timeline *page = other_side(w, semaphore);
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fences[2];
    for (uint32_t i = 0; i < 2; i++)
        CHECK_VK(w->d.vkCreateFence(w->device, &fence_info, NULL, &fences[i]));
    for (uint32_t round = 0; round < 500; round++) {
        const uint64_t wait = 4 * round + 1, signal = wait + 1;
        const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        const VkTimelineSemaphoreSubmitInfo values = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = 1,
            .pWaitSemaphoreValues = &wait,
            .signalSemaphoreValueCount = 1,
            .pSignalSemaphoreValues = &signal};
        const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                   .pNext = &values,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &semaphore,
                                   .pWaitDstStageMask = &stage,
                                   .signalSemaphoreCount = 1,
                                   .pSignalSemaphores = &semaphore};
        /* The fence of this submission, or of an empty one behind it. */
        const bool behind = round % 2 != 0;
        CHECK_VK(w->d.vkQueueSubmit(w->queue, 1, &info, behind ? VK_NULL_HANDLE : fences[0]));
        if (behind) CHECK_VK(w->d.vkQueueSubmit(w->queue, 0, NULL, fences[1]));
        page_raise(page, wait);
        CHECK_VK(w->d.vkWaitForFences(w->device, 1, &fences[behind], VK_TRUE, 20 * SECOND));
        CHECK_IS(atomic_load(&page->value), signal);
        CHECK_VK(w->d.vkResetFences(w->device, 1, &fences[behind]));
    }
    for (uint32_t i = 0; i < 2; i++)
        w->d.vkDestroyFence(w->device, fences[i], NULL);
    page_unmap(page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

WORLD_CASE(case_wait_before_signal)
{
    pthread_t thread;
    VkSemaphore first = exportable_timeline(w, 0), second = exportable_timeline(w, 0);
    side s = {.page = other_side(w, first), .value = 5, .delay = 50};
    culv_soft_timeline *done = other_side(w, second);
    CHECK_VK(submit(w, first, 5, second, 1));
    CHECK_IS(wait_value(w, second, 1, SECOND / 50), VK_TIMEOUT);
    CHECK(!page_wait(done, 1, 0));
    CHECK(pthread_create(&thread, NULL, raise_later, &s) == 0);
    CHECK(page_wait(done, 1, 20 * SECOND));
    pthread_join(thread, NULL);
    CHECK_VK(w->d.vkQueueWaitIdle(w->queue));
    page_unmap(s.page);
    page_unmap(done);
    w->d.vkDestroySemaphore(w->device, first, NULL);
    w->d.vkDestroySemaphore(w->device, second, NULL);
}

/* Who knows that a value was reached reads it at once: the bridge must not lag behind calls that
 * look. */
WORLD_CASE(case_up_to_date)
{
    VkSemaphore semaphore = exportable_timeline(w, 0);
    culv_soft_timeline *page = other_side(w, semaphore);
    for (uint64_t value = 0; value < 6000; value += 6) {
        page_raise(page, value + 1);
        CHECK_IS(counter(w, semaphore), value + 1);
        page_raise(page, value + 2);
        CHECK_VK(wait_value(w, semaphore, value + 2, 0));
        page_raise(page, value + 3);
        CHECK_VK(submit(w, VK_NULL_HANDLE, 0, semaphore, value + 4));
        CHECK_VK(w->d.vkQueueWaitIdle(w->queue));
        CHECK_IS(page->value, value + 4);
        CHECK_VK(submit(w, VK_NULL_HANDLE, 0, semaphore, value + 5));
        CHECK_VK(wait_value(w, semaphore, value + 5, 20 * SECOND));
        CHECK_IS(page->value, value + 5);
        CHECK_VK(host_signal(w, semaphore, value + 6));
        CHECK_IS(page->value, value + 6);
    }
    page_unmap(page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

/* One timeline, even values by the queue and odd ones by the page, all submits queued ahead. */
WORLD_CASE(case_ping_pong)
{
    enum { HOPS = 3000 };
    pthread_t thread;
    VkSemaphore semaphore = exportable_timeline(w, 0);
    side s = {.page = other_side(w, semaphore), .hops = HOPS};
    uint64_t start = now();
    CHECK(pthread_create(&thread, NULL, answer, &s) == 0);
    for (uint64_t i = 0; i < HOPS; i++)
        CHECK_VK(submit(w, semaphore, 2 * i + 1, semaphore, 2 * i + 2));
    CHECK(page_wait(s.page, 2 * HOPS, 100 * SECOND));
    printf("%.1f us a round\n", (double)(now() - start) / 1000 / HOPS);
    pthread_join(thread, NULL);
    CHECK_VK(wait_value(w, semaphore, 2 * HOPS, 20 * SECOND));
    CHECK_VK(w->d.vkDeviceWaitIdle(w->device));
    page_unmap(s.page);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);
}

/* Three VkSemaphores with one payload, of two devices of one instance. */
void case_shared(void)
{
    world a, b;
    world_open(&a, NULL);
    world_open_beside(&b, &a);
    VkSemaphore first = exportable_timeline(&a, 2), second, third;
    int fd = export_fd(&a, first), again = export_fd(&a, first);
    CHECK(fd != again);
    CHECK_VK(make_semaphore(&b, VK_SEMAPHORE_TYPE_TIMELINE, false, 0, &second));
    CHECK_VK(make_semaphore(&a, VK_SEMAPHORE_TYPE_TIMELINE, true, 0, &third));
    CHECK_VK(import_fd(&b, second, fd));
    CHECK_VK(import_fd(&a, third, again));
    CHECK_IS(counter(&b, second), 2);
    CHECK_IS(counter(&a, third), 2);
    close(export_fd(&a, third)); /* created exportable: may be handed on */
    for (uint64_t value = 2; value < 1502; value += 3) {
        CHECK_VK(submit(&a, VK_NULL_HANDLE, 0, first, value + 1));
        CHECK_VK(wait_value(&b, second, value + 1, 20 * SECOND));
        CHECK_VK(host_signal(&b, second, value + 2));
        CHECK_VK(wait_value(&a, third, value + 2, 20 * SECOND));
        CHECK_VK(submit(&a, third, value + 2, third, value + 3));
        CHECK_VK(wait_value(&a, first, value + 3, 20 * SECOND));
        CHECK_VK(wait_value(&b, second, value + 3, 20 * SECOND));
    }
    CHECK_VK(a.d.vkDeviceWaitIdle(a.device));
    /* The importers go on alone. */
    a.d.vkDestroySemaphore(a.device, first, NULL);
    CHECK_VK(host_signal(&b, second, 5000));
    CHECK_VK(wait_value(&a, third, 5000, 20 * SECOND));
    a.d.vkDestroySemaphore(a.device, third, NULL);
    b.d.vkDestroySemaphore(b.device, second, NULL);
    world_close(&b);
    world_close(&a);
}
