/* SPDX-License-Identifier: MIT */
/* The twin's Vulkan layer, asked by Vulkan alone: what it answers, pages as the other side of an
 * fd, ends, counts, calls that fail. What CUDA sees of it is in the contract suite. */
#define TEST_GROUP "layer."
#include "raw_vulkan_image.h"
#include "twin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define LAYER_NAME "VK_LAYER_CULVERT_soft"
#define OPAQUE_FD  VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
#define COUNT(a)   (sizeof(a) / sizeof(a)[0])

/* The layer's controls. They hold it, so that it does not go with the last instance. */
static struct {
    void (*counts)(culv_soft_vk_counts *);
    void (*fail_at)(uint64_t, int);
    const char *(*failed_call)(void);
    void (*before)(uint64_t, void (*)(void *, const char *), void *);
} layer;

static void find_layer(void)
{
    char path[TEST_PATH_MAX];
    void *library = dlopen(test_path(path, "lib/libVkLayer_culvert_soft.so"), RTLD_NOW);
    if (library == NULL) FAIL("%s", dlerror());
    void *found[] = {dlsym(library, "culvSoftVkCounts"), dlsym(library, "culvSoftVkFailAt"),
                     dlsym(library, "culvSoftVkFailedCall"), dlsym(library, "culvSoftVkBefore")};
    memcpy(&layer, found, sizeof layer);
}

static culv_soft_vk_counts counts_now(void)
{
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    layer.counts(&counts);
    return counts;
}

/* `validated`: the validation layer lies above where there is one. It calls Vulkan itself, and
 * takes a value that a page brought for a signal of nobody's (1.3.239: 03259). */
static void layer_open(raw_vk *w, bool validated)
{
    find_layer();
    twin_vulkan_open(w, (raw_vk_options){.without_validation = !validated});
}
#define LAYER_CASE(...)     TEST_ON(raw_vk, w, layer_open(w, false), raw_vk_close(w), __VA_ARGS__)
#define VALIDATED_CASE(...) TEST_ON(raw_vk, w, layer_open(w, true), raw_vk_close(w), __VA_ARGS__)

/* Calls whose results a case looks at ---------------------------------------------------------- */

static VkResult make_semaphore(VkDevice device, VkSemaphoreType type, bool exportable,
                               uint64_t value, VkSemaphore *out)
{
    const VkExportSemaphoreCreateInfo export = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .handleTypes = OPAQUE_FD};
    const VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .pNext = exportable ? &export : NULL,
                                            .semaphoreType = type,
                                            .initialValue = value};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &kind};
    return vkCreateSemaphore(device, &info, NULL, out);
}

static VkResult import_fd(VkDevice device, VkSemaphore semaphore, int fd)
{
    const VkImportSemaphoreFdInfoKHR info = {.sType =
                                                 VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                             .semaphore = semaphore,
                                             .handleType = OPAQUE_FD,
                                             .fd = fd};
    return vkImportSemaphoreFdKHR(device, &info);
}

static VkResult host_signal(VkDevice device, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    return vkSignalSemaphore(device, &info);
}

/* Without work; by the older call. A binary semaphore's value is ignored. */
static VkResult submit(VkQueue queue, VkSemaphore wait, uint64_t value, VkSemaphore signal,
                       uint64_t signal_value, VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = wait != VK_NULL_HANDLE,
        .pWaitSemaphoreValues = &value,
        .signalSemaphoreValueCount = signal != VK_NULL_HANDLE,
        .pSignalSemaphoreValues = &signal_value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait != VK_NULL_HANDLE,
                               .pWaitSemaphores = &wait,
                               .pWaitDstStageMask = &stage,
                               .signalSemaphoreCount = signal != VK_NULL_HANDLE,
                               .pSignalSemaphores = &signal};
    return vkQueueSubmit(queue, 1, &info, fence);
}

static void queue_signals(raw_vk *w, VkSemaphore semaphore, uint64_t value)
{
    VK_OK(submit(w->queues[0].queue, VK_NULL_HANDLE, 0, semaphore, value, VK_NULL_HANDLE));
}

/* The page behind an exported timeline. */
static culv_soft_timeline *page_of(raw_vk *w, VkSemaphore semaphore)
{
    const int fd = raw_vk_semaphore_fd(w, semaphore);
    REQUIRE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    void *map = mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(map != MAP_FAILED);
    close(fd);
    return map;
}

static void page_unmap(culv_soft_timeline *page)
{
    REQUIRE_EQ(munmap(page, CULV_SOFT_TIMELINE_SIZE), 0);
}

/* What it answers ------------------------------------------------------------------------------ */

static VkExternalSemaphoreProperties properties(VkPhysicalDevice physical, VkSemaphoreType type,
                                                int handle)
{
    const VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = type};
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &kind,
        .handleType = (VkExternalSemaphoreHandleTypeFlagBits)handle};
    VkExternalSemaphoreProperties out = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &out);
    return out;
}

enum { MOST_EXTENSIONS = 512 };

static uint32_t extensions(VkPhysicalDevice physical, VkExtensionProperties *out)
{
    uint32_t count = MOST_EXTENSIONS;
    memset(out, 0, MOST_EXTENSIONS * sizeof *out);
    VK_OK(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, out));
    return count;
}

VALIDATED_CASE(extension)
{
    static VkExtensionProperties list[MOST_EXTENSIONS];
    const uint32_t count = extensions(w->physical, list);
    uint32_t listed = 0, part = count - 1;
    for (uint32_t i = 0; i < count; i++)
        listed += strcmp(list[i].extensionName, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) == 0;
    REQUIRE_EQ(listed, 1);
    REQUIRE_EQ(vkEnumerateDeviceExtensionProperties(w->physical, NULL, &part, list), VK_INCOMPLETE);
    REQUIRE_EQ(part, count - 1);
    VK_OK(vkEnumerateDeviceExtensionProperties(w->physical, LAYER_NAME, &part, NULL));
    REQUIRE_EQ(part, 0);
    for (int type = VK_SEMAPHORE_TYPE_BINARY; type <= VK_SEMAPHORE_TYPE_TIMELINE; type++) {
        const VkExternalSemaphoreProperties answer =
            properties(w->physical, (VkSemaphoreType)type, OPAQUE_FD);
        REQUIRE_EQ(answer.externalSemaphoreFeatures,
                   VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT |
                       VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
        REQUIRE_EQ(answer.compatibleHandleTypes, OPAQUE_FD);
        REQUIRE_EQ(answer.exportFromImportedHandleTypes, OPAQUE_FD);
    }
}

static void require_same(VkPhysicalDevice with, VkPhysicalDevice without, VkSemaphoreType type,
                         int handle)
{
    const VkExternalSemaphoreProperties a = properties(with, type, handle);
    const VkExternalSemaphoreProperties b = properties(without, type, handle);
    REQUIRE_EQ(a.externalSemaphoreFeatures, b.externalSemaphoreFeatures);
    REQUIRE_EQ(a.compatibleHandleTypes, b.compatibleHandleTypes);
    REQUIRE_EQ(a.exportFromImportedHandleTypes, b.exportFromImportedHandleTypes);
}

/* Other handle types stay as the driver has them. */
VALIDATED_CASE(other_handle_types)
{
    raw_vk plain;
    VkPhysicalDevice without;
    raw_vk_open_instance(&plain, &(raw_vk_options){.without_validation = true});
    REQUIRE_EQ(raw_vk_find(&plain, w->id.deviceUUID, &without), 1);
    for (int type = VK_SEMAPHORE_TYPE_BINARY; type <= VK_SEMAPHORE_TYPE_TIMELINE; type++)
        for (int handle = 1; handle < 1 << 5; handle *= 2)
            if (handle != OPAQUE_FD)
                require_same(w->physical, without, (VkSemaphoreType)type, handle);
    raw_vk_close(&plain);
}

/* A device that did not enable the extension has no fd functions and no exportable timelines. */
TEST(disabled)
{
    raw_vk w;
    VkSemaphore semaphore;
    twin_vulkan_open(&w, (raw_vk_options){.without_semaphore_fd = true});
    REQUIRE(vkGetDeviceProcAddr(w.device, "vkGetSemaphoreFdKHR") == NULL);
    REQUIRE(vkGetDeviceProcAddr(w.device, "vkImportSemaphoreFdKHR") == NULL);
    REQUIRE(vkGetDeviceProcAddr(w.device, "vkCreateSemaphore") != NULL);
    REQUIRE(vkGetDeviceProcAddr(w.device, "vkNoSuchFunction") == NULL);
    REQUIRE(make_semaphore(w.device, VK_SEMAPHORE_TYPE_TIMELINE, true, 0, &semaphore) !=
            VK_SUCCESS);
    semaphore = raw_vk_timeline(&w, 7, false);
    REQUIRE_EQ(raw_vk_timeline_value(&w, semaphore), 7);
    raw_vk_semaphore_destroy(&w, semaphore);
    raw_vk_close(&w);
}

/* The caller's structs are left alone in any order; a struct of unknown size before the export is
 * the driver's. */
LAYER_CASE(chain)
{
    VkBaseOutStructure unknown = {.sType = VK_STRUCTURE_TYPE_MAX_ENUM};
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .handleTypes = OPAQUE_FD};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 3};
    VkBaseOutStructure *const e = (void *)&export, *const t = (void *)&type, *const u = &unknown;
    VkBaseOutStructure *const orders[][3] = {{e, t, u}, {t, e, u}, {t, u, e}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                            .pNext = orders[i][0]};
        VkSemaphore semaphore;
        for (size_t k = 0; k < 3; k++)
            orders[i][k]->pNext = k < 2 ? orders[i][k + 1] : NULL;
        const VkResult result = vkCreateSemaphore(w->device, &info, NULL, &semaphore);
        for (size_t k = 0; k < 3; k++)
            REQUIRE(orders[i][k]->pNext == (k < 2 ? orders[i][k + 1] : NULL));
        REQUIRE_EQ(counts_now().semaphores, i < 2);
        REQUIRE_EQ(result == VK_SUCCESS, i < 2);
        if (result != VK_SUCCESS) continue;
        culv_soft_timeline *page = page_of(w, semaphore);
        REQUIRE(page->value == 3 && raw_vk_timeline_value(w, semaphore) == 3);
        REQUIRE_EQ_BYTES(page->magic, CULV_SOFT_TIMELINE_MAGIC, sizeof page->magic);
        REQUIRE_EQ_BYTES(page->device_uuid, w->id.deviceUUID, VK_UUID_SIZE);
        page_unmap(page);
        vkDestroySemaphore(w->device, semaphore, NULL);
    }
}

/* A device that is not lavapipe, in an instance with one that is: the layer does not touch it.
 * Mesa's RADV invents such a device, without hardware, when it is asked to. */
TEST(other_device, .own = true)
{
    raw_vk with, without, soft;
    VkPhysicalDevice list[16];
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 told = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = &id};
    static const char *const names[] = {"vkCreateFence", "vkQueueSubmit", "vkWaitSemaphores",
                                        "vkCreateSemaphore", "vkGetSemaphoreFdKHR"};
    static VkExtensionProperties extensions_with[MOST_EXTENSIONS],
        extensions_without[MOST_EXTENSIONS];
    const VkBufferCreateInfo info = raw_vk_buffer_info(64, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    VkBuffer buffer;
    uint32_t count = COUNT(list), at = 0;
    REQUIRE(setenv("RADV_FORCE_FAMILY", "navi21", 0) == 0 && unsetenv("VK_DRIVER_FILES") == 0);
    layer_open(&soft, false);
    VK_OK(vkEnumeratePhysicalDevices(soft.instance, &count, list));
    for (at = 0; at < count; at++) {
        vkGetPhysicalDeviceProperties2(list[at], &told);
        if (told.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) break;
    }
    if (at == count) SKIP("no other Vulkan device");
    raw_vk_options options = {
        .uuid = id.deviceUUID, .without_semaphore_fd = true, .without_validation = true};
    raw_vk_open(&without, &options);
    options.software = true;
    raw_vk_open(&with, &options);
    REQUIRE_EQ(extensions(with.physical, extensions_with),
               extensions(without.physical, extensions_without));
    REQUIRE_EQ_BYTES(extensions_with, extensions_without, sizeof extensions_with);
    require_same(with.physical, without.physical, VK_SEMAPHORE_TYPE_TIMELINE, OPAQUE_FD);
    REQUIRE_EQ(counts_now().devices, 1);
    for (size_t i = 0; i < COUNT(names); i++)
        REQUIRE(vkGetDeviceProcAddr(with.device, names[i]) ==
                vkGetDeviceProcAddr(without.device, names[i]));
    layer.fail_at(1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    VK_OK(vkCreateBuffer(with.device, &info, NULL, &buffer));
    vkDestroyBuffer(with.device, buffer, NULL);
    REQUIRE_EQ(vkCreateBuffer(soft.device, &info, NULL, &buffer), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    raw_vk_close_lost(&with); /* there is no queue to wait for */
    raw_vk_close_lost(&without);
    raw_vk_close(&soft);
}

/* Values cross between the driver's semaphore and the page ------------------------------------- */

static VkResult submit_either(raw_vk *w, bool newer, VkSemaphore wait, VkSemaphore signal,
                              uint64_t value)
{
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
    return newer ? vkQueueSubmit2(w->queues[0].queue, 1, &info, VK_NULL_HANDLE)
                 : submit(w->queues[0].queue, wait, 0, signal, value, VK_NULL_HANDLE);
}

/* A binary semaphore of one device is a plain one of another: each signal releases one wait, also
 * one that is submitted first. */
VALIDATED_CASE(binary_of_two_devices, .own = true)
{
    raw_vk beside;
    layer_open(&beside, true);
    VkSemaphore ours = raw_vk_binary(w, true), theirs = raw_vk_binary(&beside, false),
                timeline = raw_vk_timeline(&beside, 0, false);
    const size_t fds = test_open_fds();
    REQUIRE_EQ(counts_now().semaphores, 1);
    VK_OK(submit_either(w, false, VK_NULL_HANDLE, ours, 0)); /* pending: the import takes it over */
    VK_OK(import_fd(beside.device, theirs, raw_vk_semaphore_fd(w, ours)));
    for (uint64_t i = 1; i <= 20; i++) {
        const bool newer = i % 2 != 0, first = i % 4 > 1;
        if (i > 1 && !first) VK_OK(submit_either(w, newer, VK_NULL_HANDLE, ours, 0));
        VK_OK(submit_either(&beside, newer, theirs, timeline, i));
        if (i > 1 && first) {
            REQUIRE(!raw_vk_timeline_wait(&beside, timeline, i, 10));
            VK_OK(submit_either(w, newer, VK_NULL_HANDLE, ours, 0));
        }
        REQUIRE(raw_vk_timeline_wait(&beside, timeline, i, TEST_FAR_MS));
    }
    raw_vk_idle(w);
    raw_vk_idle(&beside);
    raw_vk_semaphore_destroy(w, ours);
    raw_vk_semaphore_destroy(&beside, theirs);
    raw_vk_semaphore_destroy(&beside, timeline);
    REQUIRE_EQ(test_open_fds(), fds);
    raw_vk_close(&beside);
}

/* A fence is signaled after the semaphores of its submission and of those before it. So who waited
 * for it leaves pages that are up to date, even if the process dies at once. */
VALIDATED_CASE(fence_to_page)
{
    VkSemaphore semaphore = raw_vk_timeline(w, 0, true);
    culv_soft_timeline *page = page_of(w, semaphore);
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fences[2];
    for (uint32_t i = 0; i < 2; i++)
        VK_OK(vkCreateFence(w->device, &info, NULL, &fences[i]));
    for (uint32_t round = 0; round < 500; round++) {
        const uint64_t wait = 4 * round + 1, signal = wait + 1;
        /* The fence of this submission, or of an empty one behind it. */
        const bool behind = round % 2 != 0;
        VK_OK(submit(w->queues[0].queue, semaphore, wait, semaphore, signal,
                     behind ? VK_NULL_HANDLE : fences[0]));
        if (behind) VK_OK(vkQueueSubmit(w->queues[0].queue, 0, NULL, fences[1]));
        twin_timeline_set(page, wait);
        VK_OK(vkWaitForFences(w->device, 1, &fences[behind], VK_TRUE, UINT64_MAX));
        REQUIRE_EQ(atomic_load(&page->value), signal);
        VK_OK(vkResetFences(w->device, 1, &fences[behind]));
    }
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyFence(w->device, fences[i], NULL);
    page_unmap(page);
    raw_vk_semaphore_destroy(w, semaphore);
}

/* Who knows that a value was reached reads it at once: the bridge must not lag behind calls that
 * look. */
LAYER_CASE(up_to_date)
{
    VkSemaphore semaphore = raw_vk_timeline(w, 0, true);
    culv_soft_timeline *page = page_of(w, semaphore);
    for (uint64_t value = 0; value < 6000; value += 6) {
        twin_timeline_set(page, value + 1);
        REQUIRE_EQ(raw_vk_timeline_value(w, semaphore), value + 1);
        twin_timeline_set(page, value + 2);
        REQUIRE(raw_vk_timeline_wait(w, semaphore, value + 2, 0));
        twin_timeline_set(page, value + 3);
        queue_signals(w, semaphore, value + 4);
        raw_vk_idle(w);
        REQUIRE_EQ(page->value, value + 4);
        queue_signals(w, semaphore, value + 5);
        REQUIRE(raw_vk_timeline_wait(w, semaphore, value + 5, TEST_FAR_MS));
        REQUIRE_EQ(page->value, value + 5);
        raw_vk_timeline_signal(w, semaphore, value + 6);
        REQUIRE_EQ(page->value, value + 6);
    }
    page_unmap(page);
    raw_vk_semaphore_destroy(w, semaphore);
}

/* Three VkSemaphores with one payload, of two devices. */
VALIDATED_CASE(shared)
{
    raw_vk b;
    layer_open(&b, true);
    VkSemaphore first = raw_vk_timeline(w, 2, true), third = raw_vk_timeline(w, 0, true);
    const int fd = raw_vk_semaphore_fd(w, first), again = raw_vk_semaphore_fd(w, first);
    REQUIRE(fd != again);
    VkSemaphore second = raw_vk_timeline_import(&b, fd);
    VK_OK(import_fd(w->device, third, again));
    REQUIRE_EQ(raw_vk_timeline_value(&b, second), 2);
    REQUIRE_EQ(raw_vk_timeline_value(w, third), 2);
    close(raw_vk_semaphore_fd(w, third)); /* created exportable: may be handed on */
    for (uint64_t value = 2; value < 1502; value += 3) {
        queue_signals(w, first, value + 1);
        REQUIRE(raw_vk_timeline_wait(&b, second, value + 1, TEST_FAR_MS));
        raw_vk_timeline_signal(&b, second, value + 2);
        REQUIRE(raw_vk_timeline_wait(w, third, value + 2, TEST_FAR_MS));
        VK_OK(submit(w->queues[0].queue, third, value + 2, third, value + 3, VK_NULL_HANDLE));
        REQUIRE(raw_vk_timeline_wait(w, first, value + 3, TEST_FAR_MS));
        REQUIRE(raw_vk_timeline_wait(&b, second, value + 3, TEST_FAR_MS));
    }
    raw_vk_idle(w);
    /* The importers go on alone. */
    raw_vk_semaphore_destroy(w, first);
    raw_vk_timeline_signal(&b, second, 5000);
    REQUIRE(raw_vk_timeline_wait(w, third, 5000, TEST_FAR_MS));
    raw_vk_semaphore_destroy(w, third);
    raw_vk_semaphore_destroy(&b, second);
    raw_vk_close(&b);
}

/* Imports that are refused or replaced, ends --------------------------------------------------- */

LAYER_CASE(reimport)
{
    VkSemaphore semaphore = raw_vk_timeline(w, 1, true), other = raw_vk_timeline(w, 0, true);
    culv_soft_timeline *old = page_of(w, semaphore), *fresh = page_of(w, other);
    const int fd = raw_vk_semaphore_fd(w, other);
    /* Would go back from 1 to 0 */
    REQUIRE_EQ(import_fd(w->device, semaphore, fd), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    raw_vk_timeline_signal(w, other, 6);
    VK_OK(import_fd(w->device, semaphore, fd));
    REQUIRE(old->closed != 0);
    REQUIRE_EQ(raw_vk_timeline_value(w, semaphore), 6);
    twin_timeline_set(old, 100); /* no longer the semaphore's */
    twin_timeline_set(fresh, 7);
    REQUIRE(raw_vk_timeline_wait(w, semaphore, 7, TEST_FAR_MS));
    REQUIRE(raw_vk_timeline_wait(w, other, 7, TEST_FAR_MS));
    REQUIRE_EQ(raw_vk_timeline_value(w, semaphore), 7);
    REQUIRE_EQ(counts_now().threads, 4);
    queue_signals(w, semaphore, 8);
    REQUIRE(twin_timeline_reaches(fresh, 8, TEST_FAR_MS));
    raw_vk_idle(w);
    page_unmap(old);
    page_unmap(fresh);
    raw_vk_semaphore_destroy(w, semaphore);
    raw_vk_semaphore_destroy(w, other);
}

/* A page of the test's own making. */
static int page_fd(const char *magic, const uint8_t *uuid, size_t size, uint64_t value)
{
    const int fd = memfd_create("layer test", MFD_CLOEXEC);
    culv_soft_timeline head = {.value = value};
    memcpy(head.magic, magic, sizeof head.magic);
    memcpy(head.device_uuid, uuid, sizeof head.device_uuid);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    REQUIRE(size < sizeof head || pwrite(fd, &head, sizeof head, 0) == sizeof head);
    return fd;
}

LAYER_CASE(bad_fds)
{
    enum { PAGE = CULV_SOFT_TIMELINE_SIZE };
    int ends[2];
    const size_t fds = test_open_fds();
    const uint8_t *uuid = w->id.deviceUUID;
    VkSemaphore semaphore = raw_vk_timeline(w, 0, true), binary = raw_vk_binary(w, false);
    uint8_t wrong[VK_UUID_SIZE];
    memcpy(wrong, uuid, sizeof wrong);
    wrong[3] ^= 1;
    REQUIRE_EQ(pipe(ends), 0);
    const int bad[] = {ends[0],
                       ends[1],
                       open("/dev/null", O_RDWR | O_CLOEXEC),
                       page_fd("NOTATIME", uuid, PAGE, 0),
                       page_fd(CULV_SOFT_TIMELINE_MAGIC, wrong, PAGE, 0),
                       page_fd(CULV_SOFT_TIMELINE_MAGIC, uuid, 16, 0),
                       page_fd(CULV_SOFT_TIMELINE_MAGIC, uuid, 2 * PAGE, 0),
                       page_fd(CULV_SOFT_TIMELINE_MAGIC, uuid, PAGE, 0)}; /* for the binary one */
    for (size_t i = 0; i < COUNT(bad); i++) {
        REQUIRE_EQ(import_fd(w->device, i + 1 < COUNT(bad) ? semaphore : binary, bad[i]),
                   VK_ERROR_INVALID_EXTERNAL_HANDLE);
        REQUIRE(twin_fd_open(bad[i])); /* still the caller's */
        close(bad[i]);
    }
    REQUIRE_EQ(import_fd(w->device, semaphore, -1), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    REQUIRE_EQ(counts_now().threads, 0);
    REQUIRE_EQ(test_open_fds(), fds);
    const int good = page_fd(CULV_SOFT_TIMELINE_MAGIC, uuid, PAGE, 11);
    VK_OK(import_fd(w->device, semaphore, good));
    REQUIRE(!twin_fd_open(good));
    REQUIRE_EQ(raw_vk_timeline_value(w, semaphore), 11);
    raw_vk_semaphore_destroy(w, semaphore);
    raw_vk_semaphore_destroy(w, binary);
    REQUIRE_EQ(test_open_fds(), fds);
}

static void *wait_for_close(void *page)
{
    REQUIRE(!twin_timeline_reaches(page, 1000, 200));
    return NULL;
}

VALIDATED_CASE(destroyed)
{
    enum { MANY = 200 };
    pthread_t thread;
    VkSemaphore semaphore = raw_vk_timeline(w, 0, true);
    queue_signals(w, semaphore, 1); /* the driver's own threads are there from now on */
    raw_vk_idle(w);
    raw_vk_semaphore_destroy(w, semaphore);
    const size_t fds = test_open_fds(), threads = twin_threads();
    for (int i = 0; i < MANY; i++) {
        semaphore = raw_vk_timeline(w, (uint64_t)i, true);
        close(raw_vk_semaphore_fd(w, semaphore));
        REQUIRE_EQ(counts_now().threads, 2);
        REQUIRE_EQ(counts_now().fds, 1);
        if (i % 2) usleep(1000); /* half of them with the threads asleep */
        raw_vk_semaphore_destroy(w, semaphore);
    }
    REQUIRE_EQ(counts_now().threads + counts_now().fds, 0);

    /* The last value is in the page when the semaphore is gone, and another side may still be
     * waiting. */
    semaphore = raw_vk_timeline(w, 0, true);
    culv_soft_timeline *page = page_of(w, semaphore);
    REQUIRE_EQ(pthread_create(&thread, NULL, wait_for_close, page), 0);
    queue_signals(w, semaphore, 77);
    raw_vk_idle(w);
    raw_vk_semaphore_destroy(w, semaphore);
    REQUIRE_EQ(page->value, 77);
    REQUIRE(page->closed != 0);
    pthread_join(thread, NULL);
    twin_timeline_set(page, 1001);
    page_unmap(page);

    /* Exportable, never exported: no threads to end. */
    semaphore = raw_vk_timeline(w, 0, true);
    REQUIRE_EQ(counts_now().semaphores, 1);
    raw_vk_semaphore_destroy(w, semaphore);
    REQUIRE_EQ(test_open_fds(), fds);
    twin_require_threads(threads);
}

/* What the layer says when the device goes; the test goes on without it. */
static void end_device(raw_vk *w, char *said, size_t size)
{
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    REQUIRE(file != NULL && before >= 0);
    fflush(stderr);
    REQUIRE(dup2(fileno(file), STDERR_FILENO) >= 0);
    raw_vk_close_lost(w);
    fflush(stderr);
    REQUIRE(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    said[fread(said, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* A device destroyed with nothing left says nothing. With something left it says of what; a
 * timeline leaves no thread and no fd, and the counts stay. */
TEST(device_destroyed, .own = true)
{
    raw_vk w;
    char said[512];
    raw_vk_image image;
    VkBuffer left;
    const raw_vk_image_desc desc = {
        .format = VK_FORMAT_R8G8B8A8_UNORM, .width = 64, .height = 32, .flags = RAW_VK_EXPORT};
    const VkBufferCreateInfo info = raw_vk_buffer_info(64, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    const VkMemoryGetFdInfoKHR no_memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                            .handleType =
                                                VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    layer_open(&w, false);
    raw_vk_semaphore_destroy(&w, raw_vk_timeline(&w, 0, true));
    end_device(&w, said, sizeof said);
    REQUIRE_EQ_STR(said, "");

    layer_open(&w, false);
    const size_t fds = test_open_fds();
    culv_soft_timeline *page = page_of(&w, raw_vk_timeline(&w, 0, true));
    (void)raw_vk_binary(&w, false);
    VK_OK(vkCreateBuffer(w.device, &info, NULL, &left));
    raw_vk_image_create(&w, &desc, &image);
    vkFreeMemory(w.device, image.memory, NULL);
    REQUIRE_EQ(vkGetMemoryFdKHR(w.device, &no_memory, &fd), VK_ERROR_INITIALIZATION_FAILED);
    end_device(&w, said, sizeof said);
    if (strstr(said, "vkDestroyDevice: objects of the VkDevice are still there "
                     "(VkBuffer 1, VkImage 1, VkSemaphore 2)") == NULL)
        FAIL("%s", said);
    REQUIRE(page->closed != 0);
    page_unmap(page);
    const culv_soft_vk_counts counts = counts_now();
    REQUIRE(counts.devices == 0 && counts.threads == 0 && counts.fds == 0 && counts.memories == 0);
    REQUIRE(counts.semaphores == 1 && counts.all_semaphores == 2 && counts.images == 1);
    REQUIRE(test_open_fds() <= fds);
    test_pass(); /* the leak is meant */
}

enum { HOPS = 200 };

/* Waits for every even value, answers with the odd one. */
static void *answer(void *page)
{
    for (uint64_t i = 0; i < HOPS; i++) {
        REQUIRE(twin_timeline_reaches(page, 2 * i, TEST_FAR_MS));
        twin_timeline_set(page, 2 * i + 1);
    }
    return NULL;
}

/* One timeline, even values by the queue and odd ones by the page, all submits queued ahead. */
static void *play(void *argument)
{
    raw_vk *w = argument;
    for (int turn = 0; turn < 3; turn++) {
        pthread_t thread;
        VkSemaphore s = raw_vk_timeline(w, 0, true);
        culv_soft_timeline *page = page_of(w, s);
        REQUIRE_EQ(pthread_create(&thread, NULL, answer, page), 0);
        for (uint64_t i = 0; i < HOPS; i++)
            VK_OK(submit(w->queues[0].queue, s, 2 * i + 1, s, 2 * i + 2, VK_NULL_HANDLE));
        REQUIRE(raw_vk_timeline_wait(w, s, 2 * HOPS, TEST_FAR_MS));
        pthread_join(thread, NULL);
        raw_vk_idle(w);
        page_unmap(page);
        raw_vk_semaphore_destroy(w, s);
    }
    return NULL;
}

/* Instances and devices, each of a thread of its own. */
TEST(several, .own = true)
{
    enum { DEVICES = 4 };
    pthread_t threads[DEVICES];
    raw_vk devices[DEVICES];
    for (int i = 0; i < DEVICES; i++)
        layer_open(&devices[i], true);
    for (int i = 0; i < DEVICES; i++)
        REQUIRE_EQ(pthread_create(&threads[i], NULL, play, &devices[i]), 0);
    for (int i = 0; i < DEVICES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < DEVICES; i++)
        raw_vk_close(&devices[i]);
}

typedef struct hammer {
    raw_vk *w;
    VkSemaphore semaphore;
    _Atomic bool stop;
} hammer;

static void *look(void *argument)
{
    hammer *h = argument;
    uint64_t last = 0;
    while (!atomic_load(&h->stop)) {
        uint64_t value = raw_vk_timeline_value(h->w, h->semaphore);
        REQUIRE(value >= last);
        last = value;
        close(raw_vk_semaphore_fd(h->w, h->semaphore));
        (void)raw_vk_timeline_wait(h->w, h->semaphore, last + 2, 0);
    }
    return NULL;
}

/* Readers, exporters and both signallers of one semaphore at once. */
LAYER_CASE(hammered)
{
    pthread_t threads[3];
    hammer h = {.w = w, .semaphore = raw_vk_timeline(w, 0, true)};
    for (int i = 0; i < 3; i++)
        REQUIRE_EQ(pthread_create(&threads[i], NULL, look, &h), 0);
    culv_soft_timeline *page = page_of(w, h.semaphore);
    for (uint64_t value = 0; value < 3000; value += 3) {
        twin_timeline_set(page, value + 1);
        REQUIRE(raw_vk_timeline_wait(w, h.semaphore, value + 1, TEST_FAR_MS));
        raw_vk_timeline_signal(w, h.semaphore, value + 2);
        VK_OK(submit(w->queues[0].queue, h.semaphore, value + 2, h.semaphore, value + 3,
                     VK_NULL_HANDLE));
        REQUIRE(twin_timeline_reaches(page, value + 3, TEST_FAR_MS));
    }
    atomic_store(&h.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    raw_vk_idle(w);
    page_unmap(page);
    raw_vk_semaphore_destroy(w, h.semaphore);
}

/* Counts, and calls that fail ------------------------------------------------------------------ */

static void require_counts(uint64_t buffers, uint64_t images, uint64_t semaphores)
{
    const culv_soft_vk_counts counts = counts_now();
    REQUIRE_EQ(counts.buffers, buffers);
    REQUIRE_EQ(counts.images, images);
    REQUIRE_EQ(counts.memories, buffers + images);
    REQUIRE_EQ(counts.all_semaphores, semaphores);
}

VALIDATED_CASE(counts)
{
    raw_vk beside;
    raw_vk_buffer buffer, other;
    raw_vk_image image;
    const raw_vk_image_desc desc = {
        .format = VK_FORMAT_R8G8B8A8_UNORM, .width = 64, .height = 32, .flags = RAW_VK_EXPORT};
    layer_open(&beside, true);
    raw_vk_buffer_create(w, 4096, RAW_VK_EXPORT | RAW_VK_DEDICATED, &buffer);
    raw_vk_image_create(w, &desc, &image);
    raw_vk_buffer_create(&beside, 4096, RAW_VK_EXPORT, &other); /* of all devices together */
    VkSemaphore semaphores[] = {raw_vk_binary(w, false), raw_vk_timeline(w, 0, false),
                                raw_vk_timeline(w, 0, true)};
    vkDestroyBuffer(w->device, VK_NULL_HANDLE, NULL);
    vkDestroyImage(w->device, VK_NULL_HANDLE, NULL);
    vkFreeMemory(w->device, VK_NULL_HANDLE, NULL);
    vkDestroySemaphore(w->device, VK_NULL_HANDLE, NULL);
    require_counts(2, 1, 3);
    REQUIRE_EQ(counts_now().semaphores, 1);
    /* A program of before these fields. */
    culv_soft_vk_counts old;
    memset(&old, 0x5a, sizeof old);
    old.struct_size = offsetof(culv_soft_vk_counts, all_semaphores);
    layer.counts(&old);
    REQUIRE_EQ(old.memories, 3);
    REQUIRE_EQ(old.all_semaphores, 0x5a5a5a5a5a5a5a5a);
    REQUIRE_EQ(old.images, 0x5a5a5a5a5a5a5a5a);
    raw_vk_image_destroy(w, &image);
    raw_vk_semaphore_destroy(w, semaphores[0]);
    require_counts(2, 0, 2);
    raw_vk_buffer_destroy(w, &buffer);
    raw_vk_buffer_destroy(&beside, &other);
    raw_vk_semaphore_destroy(w, semaphores[1]);
    raw_vk_semaphore_destroy(w, semaphores[2]);
    require_counts(0, 0, 0);
    raw_vk_close(&beside);
}

/* Fails in the child, or is told of what did not fail. */
TEST(environment_child)
{
    raw_vk w;
    if (getenv("CULVERT_SOFT_FAIL_AT") == NULL) SKIP("only as a child");
    layer_open(&w, false);
    raw_vk_close(&w);
}

/* A failure that was wished for and did not come is told where the process ends. */
TEST(never_failed, .own = true)
{
    static const char child[] = "layer.environment_child";
    twin_child_says(child, "vulkan:vkSignalSemaphore:3",
                    "after 0 calls of vkSignalSemaphore, and call 3 was to fail");
    twin_child_says(child, "vulkan:vkCreateDevice:2",
                    "after 1 calls of vkCreateDevice, and call 2 was to fail");
    twin_child_says(child, "vulkan:1000000:-4", " calls of Vulkan, and call 1000000 was to fail");
    twin_child_says(child, "vulkan:1:-2", "call 1, vkCreateInstance, fails");
    twin_child_says(child, "cuda:1000000", " calls of CUDA, and call 1000000 was to fail");
}

LAYER_CASE(fails_on_demand, .own = true)
{
    layer.fail_at(2, VK_ERROR_DEVICE_LOST);
    VkSemaphore semaphore = raw_vk_timeline(w, 0, true);
    REQUIRE_EQ(host_signal(w->device, semaphore, 1), VK_ERROR_DEVICE_LOST);
    REQUIRE_EQ_STR(layer.failed_call(), "vkSignalSemaphore");
    VK_OK(host_signal(w->device, semaphore, 1)); /* nothing was done before */
    layer.fail_at(1, 0);
    REQUIRE_EQ(host_signal(w->device, semaphore, 2), VK_ERROR_OUT_OF_HOST_MEMORY);
    raw_vk_semaphore_destroy(w, semaphore);
}

static void note_call(void *user, const char *call)
{
    *(const char **)user = call;
}

/* A call that waits for 30 ms never takes less. */
static void require_delayed(const raw_vk *w, VkSemaphore semaphore, uint64_t value)
{
    const double start = test_now_us();
    VK_OK(host_signal(w->device, semaphore, value));
    REQUIRE(test_now_us() - start >= 30e3);
}

TEST(delayed, .own = true)
{
    raw_vk w;
    const char *noted = NULL;
    REQUIRE_EQ(setenv("CULVERT_SOFT_DELAY", "cuda:cuInit:9,vulkan:vkSignalSemaphore:30", 1), 0);
    layer_open(&w, false);
    VkSemaphore semaphore = raw_vk_timeline(&w, 0, true);
    require_delayed(&w, semaphore, 1);
    require_delayed(&w, semaphore, 2);
    layer.before(2, note_call, &noted);
    REQUIRE(raw_vk_timeline_value(&w, semaphore) == 2 && noted == NULL);
    VK_OK(host_signal(w.device, semaphore, 3));
    REQUIRE_EQ_STR(noted, "vkSignalSemaphore");
    raw_vk_semaphore_destroy(&w, semaphore);
    raw_vk_close(&w);
}
