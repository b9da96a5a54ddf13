/* SPDX-License-Identifier: MIT */
/* What the layer answers, and what it leaves to the driver. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer_test.h"

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
