/* SPDX-License-Identifier: MIT */
/* The cases of the layer: what it answers, the bridge to pages of memory, ends, resources, failing
 * calls. */
#include "layer_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned listed(const VkExtensionProperties *list, uint32_t count)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += strcmp(list[i].extensionName, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) == 0;
    return found;
}

static VkExtensionProperties *extensions(VkPhysicalDevice physical, uint32_t *count)
{
    CHECK_VK(vkEnumerateDeviceExtensionProperties(physical, NULL, count, NULL));
    VkExtensionProperties *list = calloc(*count + 1u, sizeof(*list));
    CHECK(list);
    CHECK_VK(vkEnumerateDeviceExtensionProperties(physical, NULL, count, list));
    return list;
}

static VkExternalSemaphoreProperties properties(world *w, VkSemaphoreType type,
                                                VkExternalSemaphoreHandleTypeFlagBits handle)
{
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = type};
    VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &kind,
        .handleType = handle};
    VkExternalSemaphoreProperties out = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(w->physical, &info, &out);
    return out;
}

WORLD_CASE(case_extension)
{
    uint32_t count, part;
    VkExtensionProperties *list = extensions(w->physical, &count);
    CHECK_IS(listed(list, count), 1);

    part = count - 1;
    CHECK_IS(vkEnumerateDeviceExtensionProperties(w->physical, NULL, &part, list), VK_INCOMPLETE);
    CHECK_IS(part, count - 1);
    CHECK_VK(vkEnumerateDeviceExtensionProperties(w->physical, LAYER_NAME, &part, NULL));
    CHECK_IS(part, 0);
    free(list);

    VkExternalSemaphoreProperties answer = properties(w, VK_SEMAPHORE_TYPE_TIMELINE, OPAQUE_FD);
    CHECK_IS(answer.externalSemaphoreFeatures, VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT |
                                                   VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
    CHECK_IS(answer.compatibleHandleTypes, OPAQUE_FD);
    CHECK_IS(answer.exportFromImportedHandleTypes, OPAQUE_FD);
    CHECK(w->d.vkGetSemaphoreFdKHR && w->d.vkImportSemaphoreFdKHR);
}

/* Other handle types stay as the driver has them. */
void case_binary(void)
{
    world with, without;
    const world_options plain = {.without_layer = true};
    world_open(&without, &plain);
    world_open(&with, NULL);
    for (int type = VK_SEMAPHORE_TYPE_BINARY; type <= VK_SEMAPHORE_TYPE_TIMELINE; type++) {
        for (int bit = 0; bit < 5; bit++) {
            VkExternalSemaphoreHandleTypeFlagBits handle =
                (VkExternalSemaphoreHandleTypeFlagBits)(1 << bit);
            if (handle == OPAQUE_FD) continue;
            VkExternalSemaphoreProperties a = properties(&with, (VkSemaphoreType)type, handle);
            VkExternalSemaphoreProperties b = properties(&without, (VkSemaphoreType)type, handle);
            CHECK_IS(a.externalSemaphoreFeatures, b.externalSemaphoreFeatures);
            CHECK_IS(a.compatibleHandleTypes, b.compatibleHandleTypes);
            CHECK_IS(a.exportFromImportedHandleTypes, b.exportFromImportedHandleTypes);
        }
    }
    VkSemaphore semaphore;
    CHECK_IS(properties(&with, VK_SEMAPHORE_TYPE_BINARY, OPAQUE_FD).externalSemaphoreFeatures,
             VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT |
                 VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
    CHECK_VK(make_semaphore(&with, VK_SEMAPHORE_TYPE_BINARY, false, 0, &semaphore));
    with.d.vkDestroySemaphore(with.device, semaphore, NULL);
    with.d.vkDestroySemaphore(with.device, VK_NULL_HANDLE, NULL);
    world_close(&with);
    world_close(&without);
}

/* A device that did not enable the extension has no fd functions and no exportable timelines. */
void case_disabled(void)
{
    world w;
    const world_options plain = {.without_extension = true};
    VkSemaphore semaphore;
    world_open(&w, &plain);
    CHECK(!vkGetDeviceProcAddr(w.device, "vkGetSemaphoreFdKHR"));
    CHECK(!vkGetDeviceProcAddr(w.device, "vkImportSemaphoreFdKHR"));
    CHECK(vkGetDeviceProcAddr(w.device, "vkCreateSemaphore"));
    CHECK(!vkGetDeviceProcAddr(w.device, "vkNoSuchFunction"));
    CHECK(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, true, 0, &semaphore) != VK_SUCCESS);
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, false, 7, &semaphore));
    CHECK_IS(counter(&w, semaphore), 7);
    w.d.vkDestroySemaphore(w.device, semaphore, NULL);
    world_close(&w);
}

/* The caller's structs are left alone in both orders; a struct of unknown size before the export is
 * the driver's. */
WORLD_CASE(case_chain)
{
    VkSemaphore semaphore;
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .handleTypes = OPAQUE_FD};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 3};
    VkBaseInStructure unknown = {.sType = VK_STRUCTURE_TYPE_MAX_ENUM};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};

    info.pNext = &export;
    export.pNext = &type;
    type.pNext = &unknown;
    CHECK_VK(w->d.vkCreateSemaphore(w->device, &info, NULL, &semaphore));
    CHECK(info.pNext == &export && export.pNext == &type && type.pNext == &unknown);
    CHECK_IS(counter(w, semaphore), 3);
    CHECK_IS(layer_counts().semaphores, 1);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);

    info.pNext = &type;
    type.pNext = &export;
    export.pNext = &unknown;
    CHECK_VK(w->d.vkCreateSemaphore(w->device, &info, NULL, &semaphore));
    CHECK(info.pNext == &type && type.pNext == &export && export.pNext == &unknown);
    CHECK_IS(counter(w, semaphore), 3);
    int fd = export_fd(w, semaphore);
    culv_soft_timeline *page = page_map(fd);
    CHECK_IS(page->value, 3);
    CHECK(memcmp(page->magic, CULV_SOFT_TIMELINE_MAGIC, sizeof(page->magic)) == 0);
    CHECK(memcmp(page->device_uuid, w->uuid, sizeof(w->uuid)) == 0);
    page_unmap(page);
    CHECK(close(fd) == 0);
    w->d.vkDestroySemaphore(w->device, semaphore, NULL);

    info.pNext = &type;
    type.pNext = &unknown;
    unknown.pNext = (const VkBaseInStructure *)&export;
    export.pNext = NULL;
    CHECK(w->d.vkCreateSemaphore(w->device, &info, NULL, &semaphore) != VK_SUCCESS);
    CHECK(info.pNext == &type && type.pNext == &unknown && unknown.pNext == (const void *)&export);
    CHECK_IS(layer_counts().semaphores, 0);
}

/* A device that is not lavapipe, in an instance with one that is: the layer does not touch it.
 * Mesa's RADV invents such a device, without hardware, when it is asked to. */
void case_other_device(void)
{
    world soft, with, without;
    uint32_t count, plain_count;
    VkBuffer buffer;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 64,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    CHECK(setenv("RADV_FORCE_FAMILY", "navi21", 0) == 0);
    world_open(&without, &(world_options){.other = true, .without_layer = true});
    world_open(&with, &(world_options){.other = true, .without_extension = true});
    world_open(&soft, NULL);
    VkExtensionProperties *list = extensions(with.physical, &count);
    VkExtensionProperties *plain = extensions(without.physical, &plain_count);
    CHECK_IS(count, plain_count);
    CHECK(memcmp(list, plain, count * sizeof(*list)) == 0);
    VkExternalSemaphoreProperties a = properties(&with, VK_SEMAPHORE_TYPE_TIMELINE, OPAQUE_FD);
    VkExternalSemaphoreProperties b = properties(&without, VK_SEMAPHORE_TYPE_TIMELINE, OPAQUE_FD);
    CHECK_IS(a.externalSemaphoreFeatures, b.externalSemaphoreFeatures);
    CHECK_IS(layer_counts().devices, 1);
    static const char *const names[] = {"vkCreateFence", "vkQueueSubmit", "vkWaitSemaphores",
                                        "vkCreateSemaphore", "vkGetSemaphoreFdKHR"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK(vkGetDeviceProcAddr(with.device, names[i]) ==
              vkGetDeviceProcAddr(without.device, names[i]));

    layer_fail_at(1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK_VK(with.d.vkCreateBuffer(with.device, &info, NULL, &buffer));
    with.d.vkDestroyBuffer(with.device, buffer, NULL);
    CHECK_IS(soft.d.vkCreateBuffer(soft.device, &info, NULL, &buffer),
             VK_ERROR_OUT_OF_DEVICE_MEMORY);
    free(list);
    free(plain);
    world_close(&soft);
    world_close(&with);
    world_close(&without);
}

/* Values cross between the driver's semaphore and the page, both ways. */

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

/* Imports that are refused or replaced, destruction, several worlds at once. */

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

static void *answer_200(void *argument)
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
        CHECK(pthread_create(&thread, NULL, answer_200, page) == 0);
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

/* Buffers, images and their memory: counted, and made to fail. */

#define MEMORY_FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT

/* The ways to bind memory: each fails on its own. */
typedef enum binding { BIND, BIND_2, BINDINGS } binding;

typedef struct resource {
    VkBuffer buffer; /* one of the two */
    VkImage image;
    VkDeviceMemory memory;
    int fd;
} resource;

static VkResult allocate(world *w, resource *r, VkDeviceSize size)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = r->buffer,
                                               .image = r->image};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .pNext = &dedicated,
                                         .handleTypes = MEMORY_FD};
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &export, .allocationSize = size};
    return w->d.vkAllocateMemory(w->device, &info, NULL, &r->memory);
}

static VkResult export_memory(world *w, resource *r)
{
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = r->memory,
                                       .handleType = MEMORY_FD};
    return w->d.vkGetMemoryFdKHR(w->device, &info, &r->fd);
}

static VkResult make_bound(world *w, binding how, resource *r)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = MEMORY_FD};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkResult result = w->d.vkCreateBuffer(w->device, &info, NULL, &r->buffer);
    if (result != VK_SUCCESS) return result;
    const VkBufferMemoryRequirementsInfo2 ask = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = r->buffer};
    VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    w->d.vkGetBufferMemoryRequirements2(w->device, &ask, &need);
    result = allocate(w, r, need.memoryRequirements.size);
    if (result != VK_SUCCESS) return result;
    const VkBindBufferMemoryInfo bind = {.sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
                                         .buffer = r->buffer,
                                         .memory = r->memory};
    result = how == BIND ? w->d.vkBindBufferMemory(w->device, r->buffer, r->memory, 0)
                         : w->d.vkBindBufferMemory2(w->device, 1, &bind);
    return result != VK_SUCCESS ? result : export_memory(w, r);
}

static VkResult make_image(world *w, binding how, resource *r)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = MEMORY_FD};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &external,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {64, 32, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkPhysicalDeviceExternalImageFormatInfo external_format = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = MEMORY_FD};
    const VkPhysicalDeviceImageFormatInfo2 format = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external_format,
        .format = info.format,
        .type = info.imageType,
        .tiling = info.tiling,
        .usage = info.usage};
    VkExternalImageFormatProperties external_properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &external_properties};
    VkResult result = vkGetPhysicalDeviceImageFormatProperties2(w->physical, &format, &properties);
    if (result != VK_SUCCESS) return result;
    CHECK(external_properties.externalMemoryProperties.externalMemoryFeatures &
          VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
    VkImageFormatProperties plain;
    result = vkGetPhysicalDeviceImageFormatProperties(w->physical, info.format, info.imageType,
                                                      info.tiling, info.usage, 0, &plain);
    if (result != VK_SUCCESS) return result;

    result = w->d.vkCreateImage(w->device, &info, NULL, &r->image);
    if (result != VK_SUCCESS) return result;
    const VkImageMemoryRequirementsInfo2 ask = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = r->image};
    VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    w->d.vkGetImageMemoryRequirements2(w->device, &ask, &need);
    result = allocate(w, r, need.memoryRequirements.size);
    if (result != VK_SUCCESS) return result;
    const VkBindImageMemoryInfo bind = {
        .sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, .image = r->image, .memory = r->memory};
    result = how == BIND ? w->d.vkBindImageMemory(w->device, r->image, r->memory, 0)
                         : w->d.vkBindImageMemory2(w->device, 1, &bind);
    return result != VK_SUCCESS ? result : export_memory(w, r);
}

static void destroy(world *w, resource *r)
{
    w->d.vkDestroyBuffer(w->device, r->buffer, NULL);
    w->d.vkDestroyImage(w->device, r->image, NULL);
    w->d.vkFreeMemory(w->device, r->memory, NULL);
    if (r->fd >= 0) close(r->fd);
}

static void check_counts(uint64_t buffers, uint64_t images, uint64_t semaphores)
{
    culv_soft_vk_counts counts = layer_counts();
    CHECK_IS(counts.buffers, buffers);
    CHECK_IS(counts.images, images);
    CHECK_IS(counts.memories, buffers + images);
    CHECK_IS(counts.all_semaphores, semaphores);
}

void case_counts(void)
{
    world w, beside;
    resource buffer = {.fd = -1}, other = {.fd = -1}, image = {.fd = -1}, none = {.fd = -1};
    VkSemaphore binary, timeline, exportable;
    world_open(&w, NULL);
    world_open_beside(&beside, &w);
    CHECK_VK(make_bound(&w, BIND_2, &buffer));
    CHECK_VK(make_image(&w, BIND_2, &image));
    CHECK_VK(make_bound(&beside, BIND, &other)); /* of all devices together */
    check_counts(2, 1, 0);
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary));
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, false, 0, &timeline));
    exportable = exportable_timeline(&w, 0);
    check_counts(2, 1, 3);
    CHECK_IS(layer_counts().semaphores, 1);
    destroy(&w, &none); /* null handles */
    w.d.vkDestroySemaphore(w.device, VK_NULL_HANDLE, NULL);
    check_counts(2, 1, 3);
    /* A program of before these fields. */
    culv_soft_vk_counts old;
    memset(&old, 0x5a, sizeof(old));
    old.struct_size = offsetof(culv_soft_vk_counts, all_semaphores);
    layer_counts_into(&old);
    CHECK_IS(old.memories, 3);
    CHECK_IS(old.all_semaphores, 0x5a5a5a5a5a5a5a5a);
    CHECK_IS(old.images, 0x5a5a5a5a5a5a5a5a);

    destroy(&w, &image);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    check_counts(2, 0, 2);
    destroy(&w, &buffer);
    destroy(&beside, &other);
    w.d.vkDestroySemaphore(w.device, timeline, NULL);
    w.d.vkDestroySemaphore(w.device, exportable, NULL);
    check_counts(0, 0, 0);
    world_close(&beside);
    world_close(&w);
}

/* What a program leaves behind stays in the counts when the device goes. */
void case_leaked(void)
{
    world w;
    resource image = {.fd = -1};
    VkSemaphore binary;
    world_open(&w, NULL);
    CHECK_IS(export_memory(&w, &image), VK_ERROR_INITIALIZATION_FAILED); /* has none */
    CHECK_VK(make_image(&w, BIND, &image));
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary));
    w.d.vkFreeMemory(w.device, image.memory, NULL);
    close(image.fd);
    world_close(&w);
    culv_soft_vk_counts counts = layer_counts();
    CHECK_IS(counts.devices, 0);
    CHECK_IS(counts.images, 1);
    CHECK_IS(counts.memories, 0);
    CHECK_IS(counts.all_semaphores, 1);
    _exit(0); /* the leak is meant */
}

/* Every way to make a resource, one after the other. */
static VkResult make_all(void)
{
    world w;
    VkResult result = world_try_open(&w, NULL);
    if (result != VK_SUCCESS) return result;
    for (int how = 0; result == VK_SUCCESS && how < 2 * BINDINGS; how++) {
        resource r = {.fd = -1};
        result = how < BINDINGS ? make_bound(&w, (binding)how, &r)
                                : make_image(&w, (binding)(how - BINDINGS), &r);
        destroy(&w, &r);
    }
    VkSemaphore binary = VK_NULL_HANDLE;
    if (result == VK_SUCCESS)
        result = make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    binary = VK_NULL_HANDLE;
    if (result == VK_SUCCESS)
        result = make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, true, 0, &binary);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    world_close(&w);
    return result;
}

void case_fail_resources(void)
{
    /* Of each resource: create, allocate, bind, export; of each image two queries besides. */
    CHECK(fail_each_call(make_all) >= 2 * BINDINGS * 4 + BINDINGS * 2 + 1);
}

/* Every Vulkan call of a small program fails once in turn. */

#define TRY(expression)                                                                            \
    do {                                                                                           \
        result = (expression);                                                                     \
        if (result != VK_SUCCESS) goto close;                                                      \
    } while (0)

/* Device, exported buffer memory, exported timeline, one copyless submit each way; cleans up at any
 * failure. */
static VkResult small_program(void)
{
    world w;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkSemaphore semaphore = VK_NULL_HANDLE, import = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    int memory_fd = -1, fd = -1;
    void *data;
    uint64_t value;
    VkResult result = world_try_open(&w, NULL);
    if (result != VK_SUCCESS) return result;

    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .pNext = &external,
                                      .size = 4096,
                                      .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    TRY(w.d.vkCreateBuffer(w.device, &buffer_info, NULL, &buffer));
    VkMemoryRequirements need;
    w.d.vkGetBufferMemoryRequirements(w.device, buffer, &need);
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .handleTypes =
                                             VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &export,
                                     .allocationSize = need.size};
    TRY(w.d.vkAllocateMemory(w.device, &allocate, NULL, &memory));
    TRY(w.d.vkBindBufferMemory(w.device, buffer, memory, 0));
    TRY(w.d.vkMapMemory(w.device, memory, 0, VK_WHOLE_SIZE, 0, &data));
    VkMemoryGetFdInfoKHR get_memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    TRY(w.d.vkGetMemoryFdKHR(w.device, &get_memory, &memory_fd));

    TRY(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, true, 0, &semaphore));
    TRY(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, true, 0, &import));
    VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                   .semaphore = semaphore,
                                   .handleType = OPAQUE_FD};
    TRY(w.d.vkGetSemaphoreFdKHR(w.device, &get, &fd));
    TRY(import_fd(&w, import, fd));
    fd = -1;

    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandBufferAllocateInfo commands_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    TRY(w.d.vkCreateFence(w.device, &fence_info, NULL, &fence));
    TRY(w.d.vkCreateCommandPool(w.device, &pool_info, NULL, &pool));
    commands_info.commandPool = pool;
    TRY(w.d.vkAllocateCommandBuffers(w.device, &commands_info, &commands));
    TRY(w.d.vkBeginCommandBuffer(commands, &begin));
    w.d.vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0x01020304);
    TRY(w.d.vkEndCommandBuffer(commands));
    VkSubmitInfo submit_info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &commands};
    TRY(w.d.vkQueueSubmit(w.queue, 1, &submit_info, fence));
    TRY(w.d.vkWaitForFences(w.device, 1, &fence, VK_TRUE, 20 * SECOND));
    TRY(submit(&w, VK_NULL_HANDLE, 0, semaphore, 1));
    TRY(wait_value(&w, import, 1, 20 * SECOND));
    TRY(host_signal(&w, import, 2));
    TRY(wait_value(&w, semaphore, 2, 20 * SECOND));
    TRY(w.d.vkGetSemaphoreCounterValue(w.device, semaphore, &value));
    CHECK_IS(value, 2);
    CHECK_IS(*(const uint32_t *)data, 0x01020304);
    TRY(w.d.vkQueueWaitIdle(w.queue));

close:
    /* A wait that was made to fail waits at the second attempt. */
    if (w.d.vkDeviceWaitIdle(w.device) != VK_SUCCESS) {
        CHECK_VK(w.d.vkDeviceWaitIdle(w.device));
        if (result == VK_SUCCESS) result = VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (fd >= 0) close(fd);
    if (memory_fd >= 0) close(memory_fd);
    w.d.vkDestroyFence(w.device, fence, NULL);
    w.d.vkDestroyCommandPool(w.device, pool, NULL);
    w.d.vkDestroySemaphore(w.device, semaphore, NULL);
    w.d.vkDestroySemaphore(w.device, import, NULL);
    w.d.vkDestroyBuffer(w.device, buffer, NULL);
    w.d.vkFreeMemory(w.device, memory, NULL);
    world_close(&w);
    return result;
}

unsigned fail_each_call(VkResult (*program)(void))
{
    (void)layer_counts(); /* holds the layer */
    CHECK_VK(program());
    CHECK(!layer_failed_call());
    const unsigned fds = open_fds(), threads = live_threads();
    unsigned n = 0;
    const char *name;
    do {
        layer_fail_at(++n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        VkResult result = program();
        name = layer_failed_call();
        printf("%2u %-44s %d\n", n, name ? name : "-", (int)result);
        fflush(stdout);
        check_all_gone();
        CHECK_IS(open_fds(), fds);
        check_threads(threads);
        if (!name) CHECK_VK(result);
    } while (name);
    layer_fail_at(0, 0);
    CHECK_VK(program());
    return n - 1;
}

void case_fail_at(void)
{
    CHECK(fail_each_call(small_program) > 24);
}

void case_fail_environment(void)
{
    world w;
    VkSemaphore semaphore;
    /* Counts from vkCreateInstance on; a call that the loader makes itself is not seen here. */
    CHECK(setenv("CULVERT_SOFT_FAIL_AT", "vulkan:1:-2", 1) == 0);
    CHECK(world_try_open(&w, NULL) != VK_SUCCESS);
    CHECK(strcmp(layer_failed_call(), "vkCreateInstance") == 0);
    world_open(&w, NULL);
    layer_fail_at(2, VK_ERROR_DEVICE_LOST);
    semaphore = exportable_timeline(&w, 0);
    CHECK_IS(host_signal(&w, semaphore, 1), VK_ERROR_DEVICE_LOST);
    CHECK(strcmp(layer_failed_call(), "vkSignalSemaphore") == 0);
    CHECK_IS(counter(&w, semaphore), 0); /* nothing was done */
    CHECK_VK(host_signal(&w, semaphore, 1));
    layer_fail_at(1, 0);
    CHECK_IS(host_signal(&w, semaphore, 2), VK_ERROR_OUT_OF_HOST_MEMORY);
    w.d.vkDestroySemaphore(w.device, semaphore, NULL);
    world_close(&w);
}

/* A failure that was wished for and did not come is told where the process ends. */
static void end_with(const char *fail_at, FILE *said)
{
    world w;
    if (dup2(fileno(said), STDERR_FILENO) < 0 || setenv("CULVERT_SOFT_FAIL_AT", fail_at, 1) != 0)
        _exit(1);
    world_open(&w, NULL);
    world_close(&w);
    exit(0);
}

void case_fail_never(void)
{
    static const struct {
        const char *fail_at, *text;
    } rows[] = {
        {"vulkan:vkSignalSemaphore:3",
         "no call failed: the process ends after 0 calls of vkSignalSemaphore, and call 3 was"},
        {"vulkan:vkCreateDevice:2", "after 1 calls of vkCreateDevice, and call 2 was to fail\n"},
        {"vulkan:1000000:-4", " calls of Vulkan, and call 1000000 was to fail\n"},
        {"cuda:1000000", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096] = "";
        int status = 0;
        FILE *said = tmpfile();
        CHECK(said != NULL);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) end_with(rows[i].fail_at, said);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        rewind(said);
        text[fread(text, 1, sizeof text - 1, said)] = '\0';
        fclose(said);
        const char *line = strstr(text, "no call failed");
        CHECK((line != NULL) == (rows[i].text != NULL));
        CHECK(rows[i].text == NULL || strstr(text, rows[i].text) != NULL);
        CHECK(line == NULL || strstr(line + 1, "no call failed") == NULL);
    }
}

static void note_call(void *user, const char *call)
{
    *(const char **)user = call;
}

/* A call that waits for 30 ms never takes less. */
static void check_delayed(world *w, VkSemaphore semaphore, uint64_t value)
{
    const uint64_t start = now();
    CHECK_VK(host_signal(w, semaphore, value));
    CHECK(now() - start >= SECOND * 30 / 1000);
}

void case_delay(void)
{
    world w;
    const char *noted = NULL;
    CHECK(setenv("CULVERT_SOFT_DELAY", "cuda:cuInit:9,vulkan:vkSignalSemaphore:30", 1) == 0);
    world_open(&w, NULL);
    VkSemaphore semaphore = exportable_timeline(&w, 0);
    check_delayed(&w, semaphore, 1);
    CHECK_IS(layer_delay(NULL, 0), 0);
    CHECK_IS(layer_delay("vkSignalSemaphore", 30), 0);
    check_delayed(&w, semaphore, 2);
    CHECK_IS(layer_delay("vkSignalSemaphore", 0), 0);
    layer_before(2, note_call, &noted);
    CHECK_IS(counter(&w, semaphore), 2);
    CHECK(!noted);
    CHECK_VK(host_signal(&w, semaphore, 3));
    CHECK(noted && strcmp(noted, "vkSignalSemaphore") == 0);
    w.d.vkDestroySemaphore(w.device, semaphore, NULL);
    world_close(&w);
}
