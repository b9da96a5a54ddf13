/* SPDX-License-Identifier: MIT */
/* Short ways: the physical device, its queues, and what instances and devices are created with. */
#include "culvert/vulkan_kernel.h"
#include "vulkan/vk.h"

enum { MAX_ADDED = 8 }; /* more than any list of Culvert's has */

/* The device that was asked for. */
typedef struct asked {
    culvi_vk_instance vk;
    bool kernels; /* culv_vk_device_desc::kernels */
    VkPhysicalDevice device;
    VkDevice created;      /* or NULL */
    culv_vk_candidate who; /* what culvi_vk_identify() tells */
    uint32_t version;      /* usable: the lower one of the instance's and the device's */
    uint32_t num_offered;
    VkExtensionProperties *offered;
} asked;

static culv_result ask(const char *call, const culv_vk_device_desc *desc, asked *out)
{
    CULVI_REQUIRE_IN(NULL, call, desc);
    CULVI_READ(NULL, culv_vk_device_desc, d, desc);
    CULVI_REQUIRE_FIELD(NULL, culv_vk_device_desc, d, get_instance_proc_addr);
    CULVI_REQUIRE_FIELD(NULL, culv_vk_device_desc, d, instance);
    CULVI_REQUIRE_FIELD(NULL, culv_vk_device_desc, d, physical_device);
    CULVI_TRY(culvi_vk_instance_load(NULL, d.get_instance_proc_addr, d.instance, &out->vk));
    const VkPhysicalDevice device = out->device = d.physical_device;
    const uint32_t api_version = d.api_version;
    out->kernels = d.kernels != 0;
    out->created = d.device;
    culvi_vk_identify(&out->vk, device, &out->who);
    CULVI_TRY(culvi_vk_check_versions(NULL, d.label, &out->who, api_version));
    out->version = api_version != 0 ? api_version : VK_API_VERSION_1_1;
    if (out->version > out->who.api_version) out->version = out->who.api_version;
    return culvi_vk_list_extensions(NULL, &out->vk, device, NULL, out->who.name, &out->num_offered,
                                    &out->offered);
}

static bool offers(const asked *a, const char *name)
{
    for (uint32_t i = 0; i < a->num_offered; i++)
        if (strcmp(a->offered[i].extensionName, name) == 0) return true;
    return false;
}

static bool among(const char *const *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

/* `out` may be `names`: what is written never overtakes what is read. */
static culv_result merge(const char *call, uint32_t num_names, const char *const *names,
                         uint32_t num_added, const char *const *added, uint32_t *count,
                         const char **out)
{
    uint32_t total = 0;
    CULVI_REQUIRE_IN(NULL, call, count);
    if (num_names > 0) CULVI_REQUIRE_IN(NULL, call, names);
    for (uint32_t i = 0; i < num_names; i++) {
        CULVI_REFUSE_IF(names[i] == NULL, NULL, NULL, CULV_REASON_NULL_ARGUMENT,
                        "%s: names[%u] is NULL", call, i);
        total += !among(names, i, names[i]);
    }
    for (uint32_t i = 0; i < num_added; i++)
        total += !among(names, num_names, added[i]);
    CULVI_REFUSE_IF(out != NULL && *count < total, NULL, NULL, CULV_REASON_VALUE,
                    "%s: out_names has room for %u names, and there are %u", call, *count, total);
    *count = total;
    if (out == NULL) return CULV_OK;
    uint32_t n = 0;
    for (uint32_t i = 0; i < num_names; i++)
        if (!among(out, n, names[i])) out[n++] = names[i];
    for (uint32_t i = 0; i < num_added; i++)
        if (!among(out, n, added[i])) out[n++] = added[i];
    return CULV_OK;
}

culv_result culv_vk_merge_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          uint32_t num_names, const char *const *names,
                                          uint32_t *count, const char **out_names)
{
    const char *added[MAX_ADDED];
    CULVI_REQUIRE(NULL, get_instance_proc_addr);
    uint32_t num_added = culv_vk_instance_layers(get_instance_proc_addr, MAX_ADDED, added);
    return merge(__func__, num_names, names, num_added, added, count, out_names);
}

/* What a device lacks of the extensions that it must have. */
static culv_result refuse(const asked *a, const char *extension)
{
    const char *name = a->who.name;
    CULVI_UNSUPPORTED_IF(
        a->who.type == VK_PHYSICAL_DEVICE_TYPE_CPU, NULL, NULL, CULV_REASON_LAYER_MISSING,
        "'%s' does not offer %s. Software Vulkan has it by the layer %s: allow the software twin (CULVERT_SOFT=1 or culv_soft_enable()) and create the instance with what culv_vk_instance_layers() lists",
        name, extension, culvi_vk_soft_layer);
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
                      "'%s' does not offer %s; a newer graphics driver may", name, extension);
}

/* The extension, or else the feature, that kernels in command buffers need and the device lacks;
 * NULL: it has all. */
static const char *lacks_for_kernels(const asked *a)
{
    const char *names[MAX_ADDED];
    const uint32_t count = culv_vk_kernel_extensions(a->version, MAX_ADDED, names);
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        CULVI_STYPE(PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)};
    VkPhysicalDeviceFeatures2 features = {CULVI_STYPE(PHYSICAL_DEVICE_FEATURES_2),
                                          .pNext = &address};
    for (uint32_t i = 0; i < count; i++)
        if (!offers(a, names[i])) return names[i];
    a->vk.vkGetPhysicalDeviceFeatures2(a->device, &features);
    return address.bufferDeviceAddress ? NULL : "the feature bufferDeviceAddress";
}

/* The same of the VkDevice: its calls tell. */
static const char *created_without(const asked *a)
{
    if (a->vk.vkGetDeviceProcAddr(a->created, "vkCmdCuLaunchKernelNVX") == NULL)
        return VK_NVX_BINARY_IMPORT_EXTENSION_NAME;
    if (a->vk.vkGetDeviceProcAddr(a->created, "vkGetImageViewHandleNVX") == NULL)
        return VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME;
    if (a->version < VK_API_VERSION_1_2 &&
        a->vk.vkGetDeviceProcAddr(a->created, "vkGetBufferDeviceAddressKHR") == NULL)
        return VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME;
    return NULL;
}

culv_result culv_vk_check_kernels(const culv_vk_device_desc *desc)
{
    asked a = {0};
    CULVI_TRY(ask(__func__, desc, &a));
    const char *missing = lacks_for_kernels(&a);
    culvi_free(a.offered);
    CULVI_UNSUPPORTED_IF(
        missing != NULL, NULL, NULL, CULV_REASON_EXTENSION_MISSING,
        "'%s' runs no CUDA kernels in command buffers: it lacks %s%s. Launch them on a CUDA stream (culv_kernel_call_launch())",
        a.who.name, missing,
        a.who.type == VK_PHYSICAL_DEVICE_TYPE_CPU
            ? ", which software Vulkan has by the layer VK_LAYER_CULVERT_soft"
            : ", which NVIDIA's driver has on most GPUs");
    missing = a.created != NULL ? created_without(&a) : NULL;
    if (missing == NULL) return CULV_OK;
    return culvi_fail(
        NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without %s, which the device has; enable what culv_vk_kernel_extensions() lists and the feature bufferDeviceAddress, or set culv_vk_device_desc.kernels before culv_vk_merge_device_extensions() and culv_vk_merge_device_features()",
        a.who.name, missing);
}

culv_result culv_vk_merge_device_extensions(const culv_vk_device_desc *desc, uint32_t num_names,
                                            const char *const *names, uint32_t *count,
                                            const char **out_names)
{
    const char *added[3 * MAX_ADDED], *optional[MAX_ADDED];
    asked a = {0};
    CULVI_TRY(ask(__func__, desc, &a));
    culv_result result = CULV_OK;
    uint32_t num_added = culv_vk_device_extensions(a.version, MAX_ADDED, added);
    uint32_t num_optional = culv_vk_optional_device_extensions(a.version, MAX_ADDED, optional);
    for (uint32_t i = 0; i < num_added && result == CULV_OK; i++)
        if (!offers(&a, added[i])) result = refuse(&a, added[i]);
    for (uint32_t i = 0; i < num_optional; i++)
        if (offers(&a, optional[i])) added[num_added++] = optional[i];
    if (a.kernels && lacks_for_kernels(&a) == NULL)
        num_added += culv_vk_kernel_extensions(a.version, MAX_ADDED, added + num_added);
    culvi_free(a.offered);
    if (result != CULV_OK) return result;
    return merge(__func__, num_names, names, num_added, added, count, out_names);
}

/* The features that Culvert wants. Vulkan allows a feature one struct in a chain. */
typedef enum feature {
    TIMELINE,
    SYNCHRONIZATION2,
    MAINTENANCE4,
    ADDRESS, /* for kernels in command buffers, and for one address */
    REPLAY,  /* for one address */
    SPARSE,  /* for one address, and of VkPhysicalDeviceFeatures */
    FEATURES
} feature;

const char *culvi_vk_lacks_for_one_address(const culvi_vk_instance *vk, VkPhysicalDevice device)
{
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        CULVI_STYPE(PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)};
    VkPhysicalDeviceFeatures2 features = {CULVI_STYPE(PHYSICAL_DEVICE_FEATURES_2),
                                          .pNext = &address};
    CULVI_VKI_DO(vk, vkGetPhysicalDeviceFeatures2, (device, &features));
    return !features.features.sparseBinding            ? "sparseBinding"
           : !features.features.sparseResidencyBuffer  ? "sparseResidencyBuffer"
           : !address.bufferDeviceAddress              ? "bufferDeviceAddress"
           : !address.bufferDeviceAddressCaptureReplay ? "bufferDeviceAddressCaptureReplay"
                                                       : NULL;
}

static culv_result want_one_address(const asked *a, bool *want)
{
    CULVI_UNSUPPORTED_IF(
        a->version < VK_API_VERSION_1_2, NULL, NULL, CULV_REASON_VULKAN_VERSION,
        "culv_vk_device_features.one_address needs Vulkan 1.2, and '%s' with culv_vk_device_desc.api_version has %u.%u",
        a->who.name, VK_API_VERSION_MAJOR(a->version), VK_API_VERSION_MINOR(a->version));
    const char *lacks = culvi_vk_lacks_for_one_address(&a->vk, a->device);
    CULVI_UNSUPPORTED_IF(lacks != NULL, NULL, NULL, CULV_REASON_USAGE,
                         "culv_vk_device_features.one_address: '%s' lacks the feature %s",
                         a->who.name, lacks);
    want[SPARSE] = want[ADDRESS] = want[REPLAY] = true;
    return CULV_OK;
}

/* Puts a struct of the storage, all zero but for these, before a chain. */
static void link_to(const void **chain, void *storage, size_t size, VkStructureType type)
{
    const VkBaseOutStructure head = {.sType = type, .pNext = (void *)(uintptr_t)*chain};
    memset(storage, 0, size);
    memcpy(storage, &head, sizeof head);
    *chain = storage;
}
#define LINK_TO(chain, storage, type)                                                              \
    link_to((chain), &(storage), sizeof(storage), VK_STRUCTURE_TYPE_##type)

static void ask_features(const asked *a, bool *want)
{
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {.timelineSemaphore = VK_FALSE};
    VkPhysicalDeviceSynchronization2Features synchronization2 = {.synchronization2 = VK_FALSE};
    VkPhysicalDeviceMaintenance4Features maintenance4 = {.maintenance4 = VK_FALSE};
    VkPhysicalDeviceFeatures2 features = {CULVI_STYPE(PHYSICAL_DEVICE_FEATURES_2)};
    const void *chain = NULL;
    /* A driver need not know the struct of a version or extension that it lacks. */
    if (a->version >= VK_API_VERSION_1_2 || offers(a, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME))
        LINK_TO(&chain, timeline, PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    if (a->version >= VK_API_VERSION_1_3 || offers(a, VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME))
        LINK_TO(&chain, synchronization2, PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES);
    if (a->version < VK_API_VERSION_1_3 && offers(a, VK_KHR_MAINTENANCE_4_EXTENSION_NAME))
        LINK_TO(&chain, maintenance4, PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES);
    features.pNext = (void *)(uintptr_t)chain;
    a->vk.vkGetPhysicalDeviceFeatures2(a->device, &features);
    want[TIMELINE] = timeline.timelineSemaphore != VK_FALSE;
    want[SYNCHRONIZATION2] = synchronization2.synchronization2 != VK_FALSE;
    want[MAINTENANCE4] = maintenance4.maintenance4 != VK_FALSE;
    want[ADDRESS] = a->kernels && lacks_for_kernels(a) == NULL;
}

/* Where the structs have them. */
#define FIELD(type, of, name, feature)                                                             \
    {                                                                                              \
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type##_FEATURES, offsetof(VkPhysicalDevice##of, name), \
            feature                                                                                \
    }
static const struct {
    VkStructureType type;
    size_t offset;
    feature feature;
} fields[] = {
    FIELD(VULKAN_1_2, Vulkan12Features, timelineSemaphore, TIMELINE),
    FIELD(VULKAN_1_2, Vulkan12Features, bufferDeviceAddress, ADDRESS),
    FIELD(VULKAN_1_2, Vulkan12Features, bufferDeviceAddressCaptureReplay, REPLAY),
    FIELD(VULKAN_1_3, Vulkan13Features, synchronization2, SYNCHRONIZATION2),
    FIELD(VULKAN_1_3, Vulkan13Features, maintenance4, MAINTENANCE4),
    FIELD(TIMELINE_SEMAPHORE, TimelineSemaphoreFeatures, timelineSemaphore, TIMELINE),
    FIELD(SYNCHRONIZATION_2, Synchronization2Features, synchronization2, SYNCHRONIZATION2),
    FIELD(MAINTENANCE_4, Maintenance4Features, maintenance4, MAINTENANCE4),
    FIELD(BUFFER_DEVICE_ADDRESS, BufferDeviceAddressFeatures, bufferDeviceAddress, ADDRESS),
    FIELD(BUFFER_DEVICE_ADDRESS, BufferDeviceAddressFeatures, bufferDeviceAddressCaptureReplay,
          REPLAY),
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
     offsetof(VkPhysicalDeviceFeatures2, features.sparseBinding), SPARSE},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
     offsetof(VkPhysicalDeviceFeatures2, features.sparseResidencyBuffer), SPARSE},
};

/* Sets what the caller's chain has a struct for, and no longer wants it. */
static void set_in_chain(void *chain, bool *want)
{
    for (VkBaseOutStructure *s = chain; s != NULL; s = s->pNext) {
        bool set[FEATURES] = {false};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            if (fields[i].type != s->sType || !want[fields[i].feature]) continue;
            const VkBool32 yes = VK_TRUE;
            memcpy((char *)s + fields[i].offset, &yes, sizeof yes);
            set[fields[i].feature] = true;
        }
        for (int i = 0; i < FEATURES; i++)
            want[i] = want[i] && !set[i];
    }
}

culv_result culv_vk_merge_device_features(const culv_vk_device_desc *desc, void *chain,
                                          culv_vk_device_features *storage, const void **out_chain)
{
    asked a = {0};
    bool want[FEATURES] = {false};
    const void *head = chain;
    CULVI_REQUIRE2(NULL, storage, out_chain);
    CULVI_TRY(culvi_struct_check(NULL, storage, "culv_vk_device_features"));
    CULVI_REFUSE_IF(
        storage->struct_size < sizeof *storage, NULL, NULL, CULV_REASON_STRUCT_SIZE,
        "culv_vk_device_features.struct_size is %zu; culv_vk_device_features_init() sets %zu",
        storage->struct_size, sizeof *storage);
    CULVI_TRY(ask(__func__, desc, &a));
    ask_features(&a, want);
    culvi_free(a.offered);
    if (storage->one_address != 0) CULVI_TRY(want_one_address(&a, want));
    CULVI_UNSUPPORTED_IF(
        !want[TIMELINE], NULL, NULL, CULV_REASON_EXTENSION_MISSING,
        "'%s' lacks the feature timelineSemaphore; a newer graphics driver may have it",
        a.who.name);
    set_in_chain(chain, want);
    if (want[TIMELINE])
        LINK_TO(&head, storage->timeline_semaphore, PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    if (want[SYNCHRONIZATION2])
        LINK_TO(&head, storage->synchronization2, PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES);
    if (want[MAINTENANCE4])
        LINK_TO(&head, storage->maintenance4, PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES);
    if (want[ADDRESS])
        LINK_TO(&head, storage->buffer_device_address,
                PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    if (want[SPARSE]) LINK_TO(&head, storage->features2, PHYSICAL_DEVICE_FEATURES_2);
    if (head != chain) set_in_chain((void *)(uintptr_t)head, want);
    *out_chain = head;
    return CULV_OK;
}

/* Why each device is out of reach. */
static culv_result refuse_all(const culvi_voice *voice, const culv_vk_candidate *list,
                              uint32_t count)
{
    CULVI_TEXT(text, 1800);
    if (count == 0)
        return culvi_fail(
            voice, NULL, CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN,
            "Vulkan shows no device: no Vulkan driver is installed, or VK_DRIVER_FILES leaves all of them out");
    for (uint32_t i = 0; i < count; i++)
        culvi_text_add(&text, "%s%s", i == 0 ? "" : "; ", list[i].reason_text);
    return culvi_fail(voice, NULL, CULV_ERROR_NO_DEVICE, list[0].reason,
                      count == 1 ? "CUDA cannot reach Vulkan's only device: %s"
                                 : "CUDA can reach none of Vulkan's devices: %s",
                      text.data);
}

culv_result culv_vk_choose_physical_device(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                           VkInstance instance, const culv_device_desc *desc,
                                           VkPhysicalDevice *out_physical_device,
                                           culv_device **out_device)
{
    culvi_voice voice;
    culv_vk_candidate *list = NULL;
    uint32_t count = 0;
    CULVI_REQUIRE3(NULL, get_instance_proc_addr, instance, out_physical_device);
    CULVI_READ(NULL, culv_device_desc, d, desc);
    culvi_voice_init(&voice, &d.log, d.label);
    CULVI_TRY(
        culvi_vk_candidates(&voice, get_instance_proc_addr, instance, d.driver, &count, &list));
    culv_result result = CULV_OK;
    VkPhysicalDevice chosen = NULL;
    if (count > 0 && list[0].reachable) {
        chosen = list[0].physical_device;
        if (out_device != NULL)
            result =
                culv_device_open_for_vk(get_instance_proc_addr, instance, chosen, desc, out_device);
    } else {
        result = refuse_all(&voice, list, count);
    }
    culvi_free(list);
    if (result == CULV_OK) *out_physical_device = chosen;
    return result;
}

/* Queues --------------------------------------------------------------------------------------- */

/* How well a family serves; 0: not at all. What does more than it must shares its engine with
 * more. */
static int rank_family(const VkQueueFamilyProperties *family, culv_vk_queue_use use)
{
    VkQueueFlags flags = family->queueFlags;
    bool graphics = (flags & VK_QUEUE_GRAPHICS_BIT) != 0,
         compute = (flags & VK_QUEUE_COMPUTE_BIT) != 0;
    bool copies = (flags & VK_QUEUE_TRANSFER_BIT) != 0;
    bool special = (flags & ~(VkQueueFlags)(VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT |
                                            VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT |
                                            VK_QUEUE_PROTECTED_BIT)) != 0;
    if (family->queueCount == 0) return 0;
    switch (use) {
    case CULV_VK_QUEUE_GRAPHICS: return !graphics ? 0 : compute ? 2 : 1;
    case CULV_VK_QUEUE_COMPUTE: return !compute ? 0 : special ? 1 : graphics ? 2 : 3;
    default:
        /* Graphics and compute queues copy without saying so. */
        if (graphics || compute) return special ? 1 : graphics ? 2 : 3;
        return !copies ? 0 : special ? 1 : 4;
    }
}

culv_result culv_vk_find_queue_family(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                      VkInstance instance, VkPhysicalDevice physical_device,
                                      culv_vk_queue_use use, uint32_t *out)
{
    culvi_vk_instance vk;
    uint32_t count = 0, best = 0;
    int best_rank = 0;
    CULVI_REQUIRE3(NULL, get_instance_proc_addr, instance, physical_device);
    CULVI_REQUIRE(NULL, out);
    CULVI_REFUSE_IF((uint32_t)use > CULV_VK_QUEUE_COPY, NULL, NULL, CULV_REASON_VALUE,
                    "culv_vk_find_queue_family: use is %u, which is not a culv_vk_queue_use",
                    (unsigned)use);
    CULVI_TRY(culvi_vk_instance_load(NULL, get_instance_proc_addr, instance, &vk));
    CULVI_VKI_DO(&vk, vkGetPhysicalDeviceQueueFamilyProperties, (physical_device, &count, NULL));
    CULVI_NEW_LIST(VkQueueFamilyProperties, families, count, NULL, NULL);
    CULVI_VKI_DO(&vk, vkGetPhysicalDeviceQueueFamilyProperties,
                 (physical_device, &count, families));
    for (uint32_t i = 0; i < count; i++) {
        int rank = rank_family(&families[i], use);
        if (rank <= best_rank) continue;
        best = i;
        best_rank = rank;
    }
    culvi_free(families);
    CULVI_UNSUPPORTED_IF(
        best_rank == 0, NULL, NULL, CULV_REASON_USAGE,
        "none of the physical device's %" PRIu32 " queue families has queues for %s", count,
        use == CULV_VK_QUEUE_GRAPHICS  ? "graphics"
        : use == CULV_VK_QUEUE_COMPUTE ? "compute"
                                       : "copies");
    *out = best;
    return CULV_OK;
}
