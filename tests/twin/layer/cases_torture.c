/* SPDX-License-Identifier: MIT */
/* Every Vulkan call of a small program fails once in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer_test.h"

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
