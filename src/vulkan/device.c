/* SPDX-License-Identifier: MIT */
/* Physical devices and their CUDA match. */
#include "graphics/match.h"
#include "vulkan/vk.h"

#include <stdio.h>
#include <stdlib.h>

/* Declares `list` and `count`: all that a function tells, whose `arguments` end with these two.
 * `prepare` fills in what the elements begin with. */
#define LIST_ALL(type, list, count, prepare, voice, label, instance, function, arguments, ...)     \
    uint32_t count = 0;                                                                            \
    type *list = NULL;                                                                             \
    do {                                                                                           \
        VkResult r_ = CULVI_VKI(instance, function, arguments);                                    \
        if (r_ >= VK_SUCCESS) {                                                                    \
            list = culvi_alloc((count + 1) * sizeof(type));                                        \
            if (list == NULL) return culvi_fail_host_memory((voice), (label));                     \
            prepare;                                                                               \
            r_ = CULVI_VKI(instance, function, arguments);                                         \
        }                                                                                          \
        if (r_ >= VK_SUCCESS) break;                                                               \
        culvi_free(list);                                                                          \
        return culvi_fail_vk((voice), (label), r_, #function, CULV_REASON_DRIVER_REFUSED,          \
                             __VA_ARGS__);                                                         \
    } while (0)

static culv_result list_devices(const culvi_voice *voice, const culvi_vk_instance *vk,
                                uint32_t *count, VkPhysicalDevice **out)
{
    LIST_ALL(VkPhysicalDevice, devices, n, (void)0, voice, NULL, vk, vkEnumeratePhysicalDevices,
             (vk->handle, &n, devices), "the instance's devices could not be listed");
    *count = n;
    *out = devices;
    return CULV_OK;
}

static culv_result get_group_size(const culvi_voice *voice, const culvi_vk_instance *vk,
                                  VkPhysicalDevice device, uint32_t *out)
{
    LIST_ALL(VkPhysicalDeviceGroupProperties, groups, n,
             for (uint32_t i = 0; i < n; i++)
                 groups[i] CULVI_STYPE(PHYSICAL_DEVICE_GROUP_PROPERTIES),
             voice, NULL, vk, vkEnumeratePhysicalDeviceGroups, (vk->handle, &n, groups),
             "the instance's device groups could not be listed");
    *out = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < groups[i].physicalDeviceCount; j++)
            if (groups[i].physicalDevices[j] == device && groups[i].physicalDeviceCount > *out)
                *out = groups[i].physicalDeviceCount;
    culvi_free(groups);
    return CULV_OK;
}

void culvi_vk_identify(const culvi_vk_instance *vk, VkPhysicalDevice device, culv_vk_candidate *out)
{
    VkPhysicalDeviceDriverProperties driver = {CULVI_STYPE(PHYSICAL_DEVICE_DRIVER_PROPERTIES)};
    VkPhysicalDeviceIDProperties id = {CULVI_STYPE(PHYSICAL_DEVICE_ID_PROPERTIES)};
    VkPhysicalDeviceProperties2 properties = {CULVI_STYPE(PHYSICAL_DEVICE_PROPERTIES_2),
                                              .pNext = &id};
    VkPhysicalDeviceProperties basic;
    CULVI_VKI_DO(vk, vkGetPhysicalDeviceProperties, (device, &basic));
    if (basic.apiVersion >= VK_API_VERSION_1_2) id.pNext = &driver;
    if (basic.apiVersion >= VK_API_VERSION_1_1)
        CULVI_VKI_DO(vk, vkGetPhysicalDeviceProperties2, (device, &properties));
    out->physical_device = device;
    out->api_version = basic.apiVersion;
    out->type = basic.deviceType;
    out->vendor_id = basic.vendorID;
    out->driver_id = driver.driverID;
    memcpy(out->uuid.bytes, id.deviceUUID, sizeof out->uuid.bytes);
    out->luid_valid = id.deviceLUIDValid != VK_FALSE;
    if (out->luid_valid) {
        memcpy(out->luid.bytes, id.deviceLUID, sizeof out->luid.bytes);
        out->node_mask = id.deviceNodeMask;
    }
    snprintf(out->name, sizeof out->name, "%s", basic.deviceName);
    snprintf(out->driver_name, sizeof out->driver_name, "%s", driver.driverName);
    snprintf(out->driver_info, sizeof out->driver_info, "%s", driver.driverInfo);
}

/* A loader serves vkGetPhysicalDeviceProperties2 of an instance of Vulkan 1.0 by itself and fills
 * in no UUID, whatever the driver has. No device has a UUID of zeros. */
static bool is_nobody(const culv_vk_candidate *c)
{
    return c->api_version >= VK_API_VERSION_1_1 && !culvi_uuid_given(&c->uuid);
}

#define INSTANCE_OF_1_0                                                                            \
    "the VkInstance is one of Vulkan 1.0, in which '%s' reports no UUID; create it with "          \
    "VkApplicationInfo::apiVersion 1.1 or later (a NULL pApplicationInfo means 1.0; in Qt "        \
    "QVulkanInstance::setApiVersion())"

culv_result culvi_vk_check_versions(const culvi_voice *voice, const char *label,
                                    const culv_vk_candidate *c, uint32_t said)
{
    CULVI_UNSUPPORTED_IF(
        c->api_version < VK_API_VERSION_1_1, voice, label, CULV_REASON_VULKAN_VERSION,
        "'%s' has Vulkan 1.0; Culvert needs 1.1, which reports a device's UUID", c->name);
    CULVI_REFUSE_IF(
        said != 0 && said < VK_API_VERSION_1_1, voice, label, CULV_REASON_VULKAN_VERSION,
        "culv_vk_device_desc.api_version is %u.%u; create the VkInstance with VkApplicationInfo::apiVersion 1.1 or later",
        VK_API_VERSION_MAJOR(said), VK_API_VERSION_MINOR(said));
    if (!is_nobody(c)) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VULKAN_VERSION, INSTANCE_OF_1_0,
                      c->name);
}

culv_result culvi_vk_list_extensions(const culvi_voice *voice, const culvi_vk_instance *vk,
                                     VkPhysicalDevice device, const char *label, const char *name,
                                     uint32_t *count, VkExtensionProperties **out)
{
    LIST_ALL(VkExtensionProperties, list, n, (void)0, voice, label, vk,
             vkEnumerateDeviceExtensionProperties, (device, NULL, &n, list),
             "the extensions of '%s' could not be listed", name);
    *count = n;
    *out = list;
    return CULV_OK;
}

static culv_result examine_extensions(const culvi_voice *voice, const culvi_vk_instance *vk,
                                      VkPhysicalDevice device, culv_vk_candidate *out)
{
    uint32_t n = 0;
    VkExtensionProperties *list = NULL;
    CULVI_TRY(culvi_vk_list_extensions(voice, vk, device, NULL, out->name, &n, &list));
    bool timeline = out->api_version >= VK_API_VERSION_1_2;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = list[i].extensionName;
        if (strcmp(name, culvi_vk_memory_extension) == 0) out->has_external_memory = 1;
        if (strcmp(name, culvi_vk_semaphore_extension) == 0) out->has_external_semaphore = 1;
        if (strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0)
            out->buffer_host_import = 1;
        if (strcmp(name, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME) == 0) timeline = true;
    }
    culvi_free(list);
    if (timeline) {
        VkPhysicalDeviceTimelineSemaphoreFeatures t = {
            CULVI_STYPE(PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)};
        VkPhysicalDeviceFeatures2 features = {CULVI_STYPE(PHYSICAL_DEVICE_FEATURES_2), .pNext = &t};
        CULVI_VKI_DO(vk, vkGetPhysicalDeviceFeatures2, (device, &features));
        out->has_timeline_semaphore = t.timelineSemaphore;
    }
    return CULV_OK;
}

/* The features tell, not a VkResult: Mesa succeeds with none for what it does not know. */
static VkExternalMemoryFeatureFlags buffer_features(const culvi_vk_instance *vk,
                                                    VkPhysicalDevice device,
                                                    VkExternalMemoryHandleTypeFlagBits type)
{
    const VkBufferCreateInfo info = {.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    return culvi_vk_buffer_sharing(vk, device, &info, type).externalMemoryFeatures;
}

bool culvi_vk_semaphore_exportable(const culvi_vk_instance *vk, VkPhysicalDevice device,
                                   VkSemaphoreType type)
{
    VkSemaphoreTypeCreateInfo kind = {CULVI_STYPE(SEMAPHORE_TYPE_CREATE_INFO),
                                      .semaphoreType = type};
    VkPhysicalDeviceExternalSemaphoreInfo info = {
        CULVI_STYPE(PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO),
        .pNext = type == VK_SEMAPHORE_TYPE_TIMELINE ? &kind : NULL,
        .handleType = culvi_vk_semaphore_handle_bit((culv_handle_type)CULVI_HANDLE_OPAQUE)};
    VkExternalSemaphoreProperties out = {CULVI_STYPE(EXTERNAL_SEMAPHORE_PROPERTIES)};
    CULVI_VKI_DO(vk, vkGetPhysicalDeviceExternalSemaphoreProperties, (device, &info, &out));
    return (out.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
}

culv_result culvi_vk_examine(const culvi_voice *voice, const culvi_vk_instance *vk,
                             VkPhysicalDevice device, culv_vk_candidate *out)
{
    *out = culv_vk_candidate_init();
    out->cuda_ordinal = -1;
    out->group_size = 1;
    culvi_vk_identify(vk, device, out);
    if (out->api_version < VK_API_VERSION_1_1 || is_nobody(out)) return CULV_OK;
    CULVI_TRY(examine_extensions(voice, vk, device, out));
    CULVI_TRY(get_group_size(voice, vk, device, &out->group_size));
    VkExternalMemoryFeatureFlags opaque = buffer_features(
        vk, device, culvi_vk_memory_handle_bit((culv_handle_type)CULVI_HANDLE_OPAQUE));
    VkExternalMemoryFeatureFlags dma =
        buffer_features(vk, device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
    out->buffer_opaque_fd_export = (opaque & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
    out->buffer_opaque_fd_dedicated_only =
        (opaque & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    out->buffer_dma_buf_export = (dma & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
    VkExternalMemoryFeatureFlags pages =
        buffer_features(vk, device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT);
    if (!(pages & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT)) out->buffer_host_import = 0;
    if (out->has_timeline_semaphore)
        out->timeline_opaque_fd_export =
            culvi_vk_semaphore_exportable(vk, device, VK_SEMAPHORE_TYPE_TIMELINE);
    out->binary_opaque_fd_export =
        culvi_vk_semaphore_exportable(vk, device, VK_SEMAPHORE_TYPE_BINARY);
    return CULV_OK;
}

enum { VENDOR_NVIDIA = 0x10de };

static culvi_adapter adapter_of(const culv_vk_candidate *c)
{
    culvi_adapter adapter = {.uuid = c->uuid,
                             .luid = c->luid,
                             .node_mask = c->node_mask,
                             .software = c->type == VK_PHYSICAL_DEVICE_TYPE_CPU,
                             .nvidia = c->vendor_id == VENDOR_NVIDIA};
    if (adapter.nvidia && c->driver_id != 0 && c->driver_id != VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        adapter.cause =
            "It is an NVIDIA GPU under a Vulkan driver that is not NVIDIA's, which CUDA cannot share with; install NVIDIA's or select it with VK_DRIVER_FILES";
    if (adapter.software && c->driver_id != 0 && c->driver_id != VK_DRIVER_ID_MESA_LLVMPIPE &&
        c->driver_id != VK_DRIVER_ID_GOOGLE_SWIFTSHADER)
        adapter.cause =
            " that is neither Mesa's lavapipe nor SwiftShader, with which alone Culvert's software twin shares: select one with VK_DRIVER_FILES";
    snprintf(adapter.name, sizeof adapter.name, "%s", c->name);
    return adapter;
}

/* What a device with a CUDA match lacks for sharing with it. */
static culv_reason missing_feature(const culv_vk_candidate *c, culvi_text *why)
{
    const char *extension = !c->has_external_memory      ? culvi_vk_memory_extension
                            : !c->has_external_semaphore ? culvi_vk_semaphore_extension
                                                         : NULL;
    if (extension != NULL && c->has_external_memory && c->driver == CULV_DRIVER_SOFT) {
        culvi_text_add(why, "'%s' lacks %s because the instance was created without the layer %s; ",
                       c->name, extension, culvi_vk_soft_layer);
        culvi_vk_add_layer_hint(why);
        return CULV_REASON_LAYER_MISSING;
    }
    const char *export = !c->buffer_opaque_fd_export     ? "buffers"
                         : !c->has_timeline_semaphore    ? "timeline semaphores, which it lacks,"
                         : !c->timeline_opaque_fd_export ? "timeline semaphores"
                                                         : NULL;
    if (extension != NULL)
        culvi_text_add(why, "'%s' does not offer %s; a newer graphics driver may", c->name,
                       extension);
    else if (export != NULL)
        culvi_text_add(
            why, "'%s' does not export %s by an opaque handle; a newer graphics driver may%s",
            c->name, export,
            /* It shares, but has no timelines to count frames with. */
            c->buffer_opaque_fd_export && c->binary_opaque_fd_export &&
                    !c->timeline_opaque_fd_export
                ? ". Memory and binary semaphores can be shared all the same if it is attached; rings and timelines need `fallback`, with which the CPU waits"
                : "");
    return extension != NULL ? CULV_REASON_EXTENSION_MISSING
           : export != NULL  ? CULV_REASON_NOT_EXPORTABLE
                             : CULV_REASON_NONE;
}

/* Fills the match and, where there is none, the reason. */
static void match(const culvi_probe *probe, culv_vk_candidate *c)
{
    culvi_text why = {c->reason_text, sizeof c->reason_text, 0};
    if (c->api_version < VK_API_VERSION_1_1) {
        c->reason = CULV_REASON_VULKAN_VERSION;
        culvi_text_add(
            &why, "'%s' has Vulkan 1.0; Culvert needs 1.1, which reports a device's UUID", c->name);
        return;
    }
    if (is_nobody(c)) {
        c->reason = CULV_REASON_VULKAN_VERSION;
        culvi_text_add(&why, INSTANCE_OF_1_0, c->name);
        return;
    }
    culvi_adapter adapter = adapter_of(c);
    const culvi_cuda_device *found =
        culvi_match_find(&culvi_vk_words, probe, &adapter, &c->reason, &why);
    if (found == NULL) return;
    c->driver = found->cuda->kind;
    c->cuda_ordinal = found->ordinal;
    snprintf(c->cuda_name, sizeof c->cuda_name, "%s", found->name);
    if (c->reason == CULV_REASON_NONE) c->reason = missing_feature(c, &why);
    c->reachable = c->reason == CULV_REASON_NONE;
}

/* How good a device is to draw on. */
static int rank(const culv_vk_candidate *c)
{
    const int kind = c->type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU     ? 3
                     : c->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 2
                     : c->type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU    ? 1
                                                                         : 0;
    return (c->reachable != 0 ? 100 : 0) + (c->driver == CULV_DRIVER_NVIDIA ? 10 : 0) + kind;
}

culv_result culvi_vk_candidates(const culvi_voice *voice, PFN_vkGetInstanceProcAddr get_proc,
                                VkInstance instance, culv_driver driver, uint32_t *count,
                                culv_vk_candidate **out)
{
    culvi_probe probe;
    culvi_vk_instance vk;
    VkPhysicalDevice *devices = NULL;
    uint32_t n = 0;
    CULVI_TRY(culvi_vk_instance_load(voice, get_proc, instance, &vk));
    CULVI_TRY(culvi_probe_open(voice, driver, &probe));
    CULVI_TRY_OR(list_devices(voice, &vk, &n, &devices), culvi_probe_close(&probe));
    culv_vk_candidate *list = culvi_alloc((n + 1) * sizeof *list);
    culv_result result = list != NULL ? CULV_OK : culvi_fail_host_memory(voice, NULL);
    for (uint32_t i = 0; i < n && result == CULV_OK; i++) {
        result = culvi_vk_examine(voice, &vk, devices[i], &list[i]);
        if (result == CULV_OK) match(&probe, &list[i]);
    }
    culvi_probe_close(&probe);
    culvi_free(devices);
    CULVI_TRY_OR(result, culvi_free(list));
    for (uint32_t i = 1; i < n; i++) { /* stable: equals stay in the instance's order */
        culv_vk_candidate c = list[i];
        uint32_t at = i;
        for (; at > 0 && rank(&list[at - 1]) < rank(&c); at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
    *count = n;
    *out = list;
    return CULV_OK;
}

culv_result culv_vk_rank_physical_devices(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          VkInstance instance, const culv_device_desc *desc,
                                          culv_vk_candidate *out, uint32_t capacity,
                                          uint32_t *count)
{
    culvi_voice voice;
    culv_vk_candidate *list = NULL;
    uint32_t n = 0;
    CULVI_REQUIRE3(NULL, get_instance_proc_addr, instance, count);
    if (capacity != 0) CULVI_REQUIRE(NULL, out);
    CULVI_READ(NULL, culv_device_desc, d, desc);
    culvi_voice_init(&voice, &d.log, d.label);
    CULVI_TRY(culvi_vk_candidates(&voice, get_instance_proc_addr, instance, d.driver, &n, &list));
    culv_result result = CULV_OK;
    for (uint32_t i = 0; i < n && i < capacity; i++) {
        /* Elements of the caller's version of the struct: its size, not ours, is the stride. */
        size_t stride = out->struct_size;
        result = culvi_struct_check(&voice, out, "culv_vk_candidate");
        if (result != CULV_OK) break;
        char *element = (char *)out + i * stride;
        memcpy(element, &stride, sizeof stride);
        culvi_struct_write(element, &list[i], sizeof list[i]);
    }
    culvi_free(list);
    if (result == CULV_OK) *count = n;
    return result;
}

culv_result culv_device_open_for_vk(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                    VkInstance instance, VkPhysicalDevice physical_device,
                                    const culv_device_desc *desc, culv_device **out)
{
    culvi_voice voice;
    culvi_vk_instance vk;
    culv_vk_candidate chosen = culv_vk_candidate_init();
    CULVI_REQUIRE3(NULL, get_instance_proc_addr, instance, out);
    CULVI_REQUIRE(NULL, physical_device);
    CULVI_READ(NULL, culv_device_desc, d, desc);
    culvi_voice_init(&voice, &d.log, d.label);
    CULVI_TRY(culvi_vk_instance_load(&voice, get_instance_proc_addr, instance, &vk));
    culvi_vk_identify(&vk, physical_device, &chosen);
    CULVI_TRY(culvi_vk_check_versions(&voice, NULL, &chosen, 0));
    culvi_adapter adapter = adapter_of(&chosen);
    return culvi_match_open(&culvi_vk_words, &adapter, &d, out);
}
