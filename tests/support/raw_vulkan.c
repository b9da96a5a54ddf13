/* SPDX-License-Identifier: MIT */
/* Instance, device, validation messages and timelines of the tests' own Vulkan. See
 * raw_vulkan.h. */
#include "raw_vulkan.h"
#include "control.h"

#include <dlfcn.h>
#include <glob.h>

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"
#define SOFT_LAYER       "VK_LAYER_CULVERT_soft"
#define MAX_DEVICES      16
#define MAX_LAYERS       64
#define MAX_EXTENSIONS   512

void raw_vk_require(const char *file, int line, const char *text, VkResult actual,
                    VkResult expected)
{
    if (actual == expected) return;
    test_fail(file, line, "%s is VkResult %d, not %d", text, (int)actual, (int)expected);
}

/* Devices that cases of one process use one after another, each with its instance; what a case gets
 * is a copy. */
static struct kept_device {
    raw_vk vk;
    raw_vk_options options;
    uint8_t uuid[VK_UUID_SIZE];
    raw_vk *user;
} kept[4];
static unsigned kept_count, not_kept; /* the latter: other ones that are open */
static void watch(void);

/* Validation ----------------------------------------------------------------------------------- */

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    raw_vk *vk = user;
    const char *vuid = data->pMessageIdName != NULL ? data->pMessageIdName : "";
    char path[TEST_PATH_MAX];
    if (test_message_allowed(test_path(path, "share/culvert/allowed_vuids.txt"), vuid,
                             data->pMessage, vk->validation_version))
        return VK_FALSE;
    for (unsigned i = 0; i < kept_count; i++)
        if (vk == &kept[i].vk && kept[i].user != NULL) vk = kept[i].user;
    vk->validation_messages++;
    printf("VALIDATION %s: %s\n", vuid, data->pMessage);
    return VK_FALSE;
}

/* The version of a layer, 0 if there is none. */
static uint32_t layer_version(const char *name)
{
    VkLayerProperties layers[MAX_LAYERS];
    uint32_t count = MAX_LAYERS;
    if (vkEnumerateInstanceLayerProperties(&count, layers) < 0) return 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, name) == 0) return layers[i].specVersion;
    return 0;
}

static bool wants_validation(void)
{
    const char *text = test_option("validation", "auto");
    if (strcmp(text, "off") == 0) return false;
    bool present = layer_version(VALIDATION_LAYER) != 0;
    if (strcmp(text, "on") == 0 && !present)
        FAIL("--validation=on, but there is no " VALIDATION_LAYER);
    return present && (strcmp(text, "on") == 0 || !test_sanitized());
}

/* Newer validation layers tell of ten messages of an id at most, and of shaders' accesses only if
 * they are asked to. Older ones do not know these names. */
static void make_validation_tell_all(void)
{
    REQUIRE(setenv("VK_KHRONOS_VALIDATION_ENABLE_MESSAGE_LIMIT", "false", 0) == 0);
    REQUIRE(setenv("VK_KHRONOS_VALIDATION_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "true", 0) == 0);
}

/* The manifest of the twin's layer lies in the build tree or bundle, not where the loader looks. */
static void add_layer_path(void)
{
    char dir[TEST_PATH_MAX], joined[2 * TEST_PATH_MAX];
    test_path(dir, "lib/culvert/explicit_layer.d");
    const char *before = getenv("VK_ADD_LAYER_PATH");
    if (before != NULL && strstr(before, dir) != NULL) return;
    snprintf(joined, sizeof joined, "%s%s%s", dir, before != NULL ? ":" : "",
             before != NULL ? before : "");
    REQUIRE(setenv("VK_ADD_LAYER_PATH", joined, 1) == 0);
}

/* Instance and device -------------------------------------------------------------------------- */

/* The software driver, the only one that the twin draws with, stays loaded from here on: to find,
 * load and relocate it for each instance is half of what a case costs. */
void raw_vk_preload(void)
{
    glob_t found;
    const test_driver_choice driver = test_driver();
    if (driver != TEST_DRIVER_SOFT && (driver == TEST_DRIVER_NVIDIA || !getenv("CULVERT_SOFT")))
        return;
    (void)setenv("NODEVICE_SELECT", "1", 0); /* Mesa's layer, which asks each driver once more */
    (void)dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NODELETE);
    if (!test_sanitized())
        (void)dlopen("libVkLayer_khronos_validation.so", RTLD_NOW | RTLD_NODELETE);
    if (glob("/usr/share/vulkan/icd.d/lvp_icd*.json", 0, NULL, &found) != 0) return;
    if (found.gl_pathc == 1) /* else one may be another machine's */
        (void)setenv("VK_DRIVER_FILES", found.gl_pathv[0], 0);
    globfree(&found);
}

static void open_instance(raw_vk *vk, const raw_vk_options *options)
{
    memset(vk, 0, sizeof *vk);
    if (options->software) add_layer_path();
    if (volkInitialize() != VK_SUCCESS) SKIP("no libvulkan.so.1");

    const char *layers[2];
    uint32_t layer_count = 0;
    vk->validation = !options->without_validation && wants_validation();
    vk->validation_version = layer_version(VALIDATION_LAYER);
    if (vk->validation) make_validation_tell_all();
    if (vk->validation) layers[layer_count++] = VALIDATION_LAYER;
    if (options->software)
        layers[layer_count++] = SOFT_LAYER; /* below validation, as the list's order says */

    static const VkValidationFeatureEnableEXT enables[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        /* "General" messages are the loader's own, about the machine's files. */
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = vk};
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .pNext = &messenger,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = enables};
    const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "culvert tests",
        .apiVersion = options->api_version != 0 ? options->api_version : VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = vk->validation ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = layer_count,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = vk->validation ? 1 : 0,
                                       .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &vk->instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) SKIP("no Vulkan driver");
    if (result == VK_ERROR_LAYER_NOT_PRESENT)
        FAIL("a layer is missing: %s%s%s", layers[0], layer_count > 1 ? " or " : "",
             layer_count > 1 ? layers[1] : "");
    VK_OK(result);
    volkLoadInstance(
        vk->instance); /* loader functions, so that several devices can be used at once */
    if (vk->validation)
        VK_OK(vkCreateDebugUtilsMessengerEXT(vk->instance, &messenger, NULL, &vk->messenger));
}

unsigned raw_vk_find(const raw_vk *vk, const uint8_t uuid[VK_UUID_SIZE], VkPhysicalDevice *out)
{
    VkPhysicalDevice devices[MAX_DEVICES];
    uint32_t count = MAX_DEVICES;
    unsigned found = 0;
    VK_OK(vkEnumeratePhysicalDevices(vk->instance, &count, devices));
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceIDProperties id = {.sType =
                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
        vkGetPhysicalDeviceProperties2(devices[i], &properties);
        if (uuid != NULL && memcmp(id.deviceUUID, uuid, VK_UUID_SIZE) != 0) continue;
        if (out != NULL && (uuid != NULL || found == 0)) *out = devices[i];
        found++;
    }
    return found;
}

bool raw_vk_has_device_extension(VkPhysicalDevice physical, const char *name)
{
    static VkExtensionProperties extensions[MAX_EXTENSIONS];
    uint32_t count = MAX_EXTENSIONS;
    VK_OK(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions));
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(extensions[i].extensionName, name) == 0) return true;
    return false;
}

static void open_queues(raw_vk *vk)
{
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        vkGetDeviceQueue(vk->device, i, 0, &vk->queues[i].queue);
        const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                              .queueFamilyIndex = i};
        VK_OK(vkCreateCommandPool(vk->device, &info, NULL, &vk->queues[i].pool));
    }
}

void raw_vk_open_instance(raw_vk *vk, const raw_vk_options *options)
{
    watch();
    open_instance(vk, options);
    not_kept++;
}

/* Adds the extension, or both of two, where they are wanted and there. */
static bool enable(const raw_vk *vk, const char **names, uint32_t *count, bool wanted,
                   const char *first, const char *second)
{
    if (!wanted || !raw_vk_has_device_extension(vk->physical, first)) return false;
    if (second != NULL && !raw_vk_has_device_extension(vk->physical, second)) return false;
    names[(*count)++] = first;
    if (second != NULL) names[(*count)++] = second;
    return true;
}

static void open_device(raw_vk *vk, const raw_vk_options *options)
{
    open_instance(vk, options);
    if (raw_vk_find(vk, options->uuid, &vk->physical) == 0)
        SKIP(options->uuid != NULL ? "no Vulkan device has the CUDA device's UUID"
                                   : "no Vulkan device");

    vk->id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &vk->id};
    vkGetPhysicalDeviceProperties2(vk->physical, &properties);
    vk->properties = properties.properties;
    vk->id.pNext = NULL;
    vkGetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    REQUIRE(vk->properties.apiVersion >= VK_API_VERSION_1_3);

    const char *names[12];
    uint32_t count = 0;
    const bool fds = enable(vk, names, &count, !options->without_memory_fd,
                            VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, NULL),
               semaphore_fds = enable(vk, names, &count, !options->without_semaphore_fd,
                                      VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, NULL);
    if (fds == options->without_memory_fd || semaphore_fds == options->without_semaphore_fd)
        FAIL("%s lacks file descriptors of memory or of semaphores", vk->properties.deviceName);
    vk->dma_buf =
        enable(vk, names, &count, fds, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, NULL);
    vk->modifiers =
        enable(vk, names, &count, vk->dma_buf, VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
               VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME);
    (void)enable(vk, names, &count, options->host_memory,
                 VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, NULL);
    vk->kernels = enable(vk, names, &count, options->kernels, VK_NVX_BINARY_IMPORT_EXTENSION_NAME,
                         VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME);
    (void)enable(vk, names, &count, options->external_queues, "VK_NV_external_compute_queue", NULL);

    VkQueueFamilyProperties families[RAW_VK_MAX_QUEUES];
    VkDeviceQueueCreateInfo queues[RAW_VK_MAX_QUEUES];
    static const float priority = 1.0f;
    /* SwiftShader fills as many as one asks for, all alike. */
    vkGetPhysicalDeviceQueueFamilyProperties(vk->physical, &vk->queue_count, NULL);
    if (vk->queue_count > RAW_VK_MAX_QUEUES) vk->queue_count = RAW_VK_MAX_QUEUES;
    vkGetPhysicalDeviceQueueFamilyProperties(vk->physical, &vk->queue_count, families);
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        vk->queues[i].flags = families[i].queueFlags;
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = i,
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
    }
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
        .maintenance4 = VK_TRUE}; /* the form of a compute shader's size in SPIR-V 1.6 */
    VkPhysicalDeviceSamplerYcbcrConversionFeatures ycbcr = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SAMPLER_YCBCR_CONVERSION_FEATURES};
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES, .pNext = &ycbcr};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &address};
    const bool sparse = options->sparse_buffers || options->one_address;
    vkGetPhysicalDeviceFeatures2(vk->physical, &has);
    const VkPhysicalDeviceFeatures features = {
        .textureCompressionBC = options->with_formats && has.features.textureCompressionBC,
        .sparseBinding = sparse && has.features.sparseBinding,
        .sparseResidencyBuffer = sparse && has.features.sparseResidencyBuffer};
    if (options->with_formats) features13.pNext = &ycbcr;
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE,
        .bufferDeviceAddress = VK_TRUE,
        .bufferDeviceAddressCaptureReplay =
            options->one_address && address.bufferDeviceAddressCaptureReplay};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = vk->queue_count,
                                     .pQueueCreateInfos = queues,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = names,
                                     .pEnabledFeatures = &features};
    VK_OK(vkCreateDevice(vk->physical, &info, NULL, &vk->device));
    open_queues(vk);
}

static void require_nothing_left(raw_vk *vk)
{
    raw_vk_idle(vk);
    REQUIRE_EQ(vk->buffers, 0);
    REQUIRE_EQ(vk->images, 0);
    REQUIRE_EQ(vk->memories, 0);
    REQUIRE_EQ(vk->semaphores, 0);
}

static void close_instance(raw_vk *vk)
{
    if (vk->messenger != VK_NULL_HANDLE) { /* volk has what the latest instance has */
        const PFN_vkVoidFunction found =
            vkGetInstanceProcAddr(vk->instance, "vkDestroyDebugUtilsMessengerEXT");
        ((PFN_vkDestroyDebugUtilsMessengerEXT)found)(vk->instance, vk->messenger, NULL);
    }
    if (vk->instance != VK_NULL_HANDLE) vkDestroyInstance(vk->instance, NULL);
    vk->instance = VK_NULL_HANDLE;
}

static void close_device(raw_vk *vk)
{
    if (vk->device != VK_NULL_HANDLE) {
        require_nothing_left(vk);
        for (uint32_t i = 0; i < vk->queue_count; i++)
            vkDestroyCommandPool(vk->device, vk->queues[i].pool, NULL);
        vkDestroyDevice(vk->device, NULL);
        vk->device = VK_NULL_HANDLE;
    }
    close_instance(vk);
    REQUIRE_EQ(vk->validation_messages, 0);
}

/* One device for many cases -------------------------------------------------------------------- */

/* Of what the twin's layer has seen made, of any device; and its failures are called off. */
static bool layer_is_empty(void)
{
    char path[TEST_PATH_MAX];
    void (*read)(culv_soft_vk_counts *) = NULL;
    void (*fail_at)(uint64_t, int) = NULL;
    void *layer = dlopen(test_path(path, "lib/libVkLayer_culvert_soft.so"), RTLD_NOW | RTLD_NOLOAD);
    if (layer == NULL) return true;
    void *symbols[] = {dlsym(layer, "culvSoftVkCounts"), dlsym(layer, "culvSoftVkFailAt")};
    memcpy(&read, &symbols[0], sizeof symbols[0]);
    memcpy(&fail_at, &symbols[1], sizeof symbols[1]);
    fail_at(0, 0);
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    read(&counts);
    dlclose(layer);
    return counts.buffers + counts.images + counts.memories + counts.semaphores +
               counts.all_semaphores ==
           0;
}

static bool clean(void)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].user != NULL) return false;
    return not_kept == 0 && layer_is_empty();
}

static void end(void)
{
    for (unsigned i = 0; i < kept_count; i++)
        close_device(&kept[i].vk); /* validation tells of what is left */
}

static void watch(void)
{
    static const test_fixture fixture = {clean, NULL, end};
    static bool watching;
    if (!watching) test_keep(&fixture);
    watching = true;
}

static bool same_options(const struct kept_device *device, const raw_vk_options *o)
{
    const raw_vk_options *k = &device->options;
    if ((k->uuid == NULL) != (o->uuid == NULL)) return false;
    if (o->uuid != NULL && memcmp(device->uuid, o->uuid, VK_UUID_SIZE) != 0) return false;
    return k->software == o->software && k->without_memory_fd == o->without_memory_fd &&
           k->without_semaphore_fd == o->without_semaphore_fd && k->host_memory == o->host_memory &&
           k->with_formats == o->with_formats && k->sparse_buffers == o->sparse_buffers &&
           k->one_address == o->one_address && k->kernels == o->kernels &&
           k->without_validation == o->without_validation;
}

void raw_vk_open(raw_vk *vk, const raw_vk_options *options)
{
    watch();
    struct kept_device *device = NULL;
    for (unsigned i = 0; i < kept_count && device == NULL; i++)
        if (kept[i].user == NULL && same_options(&kept[i], options)) device = &kept[i];
    if (device == NULL && test_shared() && kept_count < sizeof kept / sizeof kept[0]) {
        device = &kept[kept_count];
        open_device(&device->vk, options);
        kept_count++;
        device->options = *options;
        if (options->uuid != NULL) memcpy(device->uuid, options->uuid, VK_UUID_SIZE);
    }
    if (device == NULL) {
        open_device(vk, options);
        not_kept++;
        return;
    }
    *vk = device->vk;
    device->user = vk;
}

void raw_vk_close(raw_vk *vk)
{
    for (unsigned i = 0; i < kept_count; i++) {
        if (kept[i].user != vk) continue;
        require_nothing_left(vk);
        kept[i].user = NULL;
        vk->device = VK_NULL_HANDLE;
        vk->instance = VK_NULL_HANDLE;
        REQUIRE_EQ(vk->validation_messages, 0);
        return;
    }
    if (vk->instance != VK_NULL_HANDLE) not_kept--;
    close_device(vk);
}

void raw_vk_close_lost(raw_vk *vk)
{
    for (uint32_t i = 0; i < vk->queue_count; i++)
        vkDestroyCommandPool(vk->device, vk->queues[i].pool, NULL);
    vkDestroyDevice(vk->device, NULL);
    close_instance(vk);
    not_kept--;
}

unsigned raw_vk_kept(void)
{
    return kept_count;
}

VkBufferCreateInfo raw_vk_buffer_info(VkDeviceSize size, VkBufferUsageFlags usage)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
}

VkImageCreateInfo raw_vk_image_info(VkFormat format, uint32_t width, uint32_t height,
                                    VkImageUsageFlags usage)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = format,
                               .extent = {width, height, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = usage};
}

/* Semaphores ----------------------------------------------------------------------------------- */

static VkSemaphore make_semaphore(raw_vk *vk, VkSemaphoreType kind, uint64_t initial,
                                  bool exportable)
{
    const VkExportSemaphoreCreateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .pNext = exportable ? &export_info : NULL,
                                            .semaphoreType = kind,
                                            .initialValue = initial};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    VK_OK(vkCreateSemaphore(vk->device, &info, NULL, &semaphore));
    vk->semaphores++;
    return semaphore;
}

VkSemaphore raw_vk_binary(raw_vk *vk, bool exportable)
{
    return make_semaphore(vk, VK_SEMAPHORE_TYPE_BINARY, 0, exportable);
}

VkSemaphore raw_vk_timeline(raw_vk *vk, uint64_t initial, bool exportable)
{
    return make_semaphore(vk, VK_SEMAPHORE_TYPE_TIMELINE, initial, exportable);
}

int raw_vk_semaphore_fd(raw_vk *vk, VkSemaphore semaphore)
{
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VK_OK(vkGetSemaphoreFdKHR(vk->device, &info, &fd));
    REQUIRE(fd >= 0);
    return fd;
}

VkSemaphore raw_vk_timeline_import(raw_vk *vk, int fd)
{
    const VkSemaphore semaphore = make_semaphore(vk, VK_SEMAPHORE_TYPE_TIMELINE, 0, false);
    const VkImportSemaphoreFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = semaphore,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fd};
    VK_OK(vkImportSemaphoreFdKHR(vk->device, &info));
    return semaphore;
}

uint64_t raw_vk_timeline_value(raw_vk *vk, VkSemaphore semaphore)
{
    uint64_t value = 0;
    VK_OK(vkGetSemaphoreCounterValue(vk->device, semaphore, &value));
    return value;
}

void raw_vk_timeline_signal(raw_vk *vk, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    VK_OK(vkSignalSemaphore(vk->device, &info));
}

bool raw_vk_timeline_wait(raw_vk *vk, VkSemaphore semaphore, uint64_t value, unsigned timeout_ms)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    VkResult result = vkWaitSemaphores(vk->device, &info, timeout_ms * UINT64_C(1000000));
    if (result != VK_TIMEOUT) VK_OK(result);
    return result == VK_SUCCESS;
}

void raw_vk_semaphore_destroy(raw_vk *vk, VkSemaphore semaphore)
{
    vkDestroySemaphore(vk->device, semaphore, NULL);
    vk->semaphores--;
}

/* Buffers and work of the tests' own Vulkan. See raw_vulkan.h. */

static const VkExternalMemoryHandleTypeFlagBits opaque_fd =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
static const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

static bool shared(const raw_vk_buffer *buffer)
{
    return (buffer->flags & (RAW_VK_EXPORT | RAW_VK_IMPORT)) != 0;
}

uint32_t raw_vk_memory_type(const raw_vk *vk, uint32_t bits, VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++)
        if ((bits >> i & 1u) != 0 && (vk->memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    FAIL("no memory type with flags 0x%x among bits 0x%x", (unsigned)flags, (unsigned)bits);
}

static void require_exportable(const raw_vk *vk)
{
    const VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = usage,
        .handleType = opaque_fd};
    VkExternalBufferProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(vk->physical, &info, &properties);
    REQUIRE(properties.externalMemoryProperties.externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
}

static void create_buffer(raw_vk *vk, VkDeviceSize size, unsigned flags, raw_vk_buffer *out)
{
    uint32_t families[RAW_VK_MAX_QUEUES];
    for (uint32_t i = 0; i < vk->queue_count; i++)
        families[i] = i;
    bool concurrent = (flags & RAW_VK_HOST) != 0 && vk->queue_count > 1;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = opaque_fd};
    memset(out, 0, sizeof *out);
    out->size = size;
    out->flags = flags;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = shared(out) ? &external : NULL,
        .size = size,
        .usage = usage | (flags & RAW_VK_ADDRESS ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0),
        .sharingMode = concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = concurrent ? vk->queue_count : 0,
        .pQueueFamilyIndices = concurrent ? families : NULL};
    VK_OK(vkCreateBuffer(vk->device, &info, NULL, &out->buffer));
    vk->buffers++;
}

void raw_vk_buffer_create_at(raw_vk *vk, VkDeviceSize size, VkDeviceSize min_offset, unsigned flags,
                             raw_vk_buffer *out)
{
    REQUIRE(min_offset == 0 || (flags & RAW_VK_DEDICATED) == 0);
    if (flags & RAW_VK_EXPORT) require_exportable(vk);
    create_buffer(vk, size, flags, out);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(vk->device, out->buffer, &needs);
    out->offset = (min_offset + needs.alignment - 1) / needs.alignment * needs.alignment;
    out->allocation_size = out->offset + needs.size;
    out->memory_type =
        raw_vk_memory_type(vk, needs.memoryTypeBits,
                           flags & RAW_VK_HOST ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                                               : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = out->buffer};
    const VkMemoryAllocateFlagsInfo address = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = flags & RAW_VK_DEDICATED ? &dedicated : NULL,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const void *chain = flags & RAW_VK_ADDRESS ? &address : address.pNext;
    const VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = chain,
        .handleTypes = opaque_fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = flags & RAW_VK_EXPORT ? &export_info : chain,
                                       .allocationSize = out->allocation_size,
                                       .memoryTypeIndex = out->memory_type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &out->memory));
    vk->memories++;
    VK_OK(vkBindBufferMemory(vk->device, out->buffer, out->memory, out->offset));
    if (flags & RAW_VK_HOST)
        VK_OK(vkMapMemory(vk->device, out->memory, out->offset, size, 0, &out->mapped));
}

void raw_vk_buffer_create(raw_vk *vk, VkDeviceSize size, unsigned flags, raw_vk_buffer *out)
{
    raw_vk_buffer_create_at(vk, size, 0, flags, out);
}

VkDeviceAddress raw_vk_buffer_address(const raw_vk *vk, const raw_vk_buffer *buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer->buffer};
    return vkGetBufferDeviceAddress(vk->device, &info);
}

int raw_vk_memory_fd(raw_vk *vk, VkDeviceMemory memory)
{
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = memory,
                                       .handleType = opaque_fd};
    int fd = -1;
    VK_OK(vkGetMemoryFdKHR(vk->device, &info, &fd));
    REQUIRE(fd >= 0);
    return fd;
}

int raw_vk_buffer_fd(raw_vk *vk, const raw_vk_buffer *buffer)
{
    return raw_vk_memory_fd(vk, buffer->memory);
}

void raw_vk_buffer_import(raw_vk *vk, int fd, const raw_vk_buffer *like, raw_vk_buffer *out)
{
    unsigned flags = (like->flags & RAW_VK_DEDICATED) | RAW_VK_IMPORT;
    create_buffer(vk, like->size, flags, out);
    VkMemoryRequirements needs; /* asked for because validation wants it asked */
    vkGetBufferMemoryRequirements(vk->device, out->buffer, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = out->buffer};
    const VkImportMemoryFdInfoKHR import_info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .pNext = flags & RAW_VK_DEDICATED ? &dedicated : NULL,
        .handleType = opaque_fd,
        .fd = fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &import_info,
                                       .allocationSize = like->allocation_size,
                                       .memoryTypeIndex = like->memory_type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &out->memory));
    vk->memories++;
    out->allocation_size = like->allocation_size;
    out->offset = like->offset;
    out->memory_type = like->memory_type;
    VK_OK(vkBindBufferMemory(vk->device, out->buffer, out->memory, out->offset));
}

void raw_vk_buffer_destroy(raw_vk *vk, raw_vk_buffer *buffer)
{
    vkDestroyBuffer(vk->device, buffer->buffer, NULL);
    vkFreeMemory(vk->device, buffer->memory, NULL);
    vk->buffers--;
    vk->memories--;
    memset(buffer, 0, sizeof *buffer);
}

/* Work ----------------------------------------------------------------------------------------- */

VkCommandBuffer raw_vk_begin(raw_vk *vk, uint32_t queue)
{
    REQUIRE(queue < vk->queue_count);
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = vk->queues[queue].pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VK_OK(vkAllocateCommandBuffers(vk->device, &info, &commands));
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

void raw_vk_submit(raw_vk *vk, VkCommandBuffer commands, const raw_vk_job *job)
{
    static const raw_vk_job plain;
    if (job == NULL) job = &plain;
    VK_OK(vkEndCommandBuffer(commands));
    const VkSemaphoreSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = job->wait,
                                        .value = job->wait_value,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                          .semaphore = job->signal,
                                          .value = job->signal_value,
                                          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                  .waitSemaphoreInfoCount = job->wait != VK_NULL_HANDLE ? 1 : 0,
                                  .pWaitSemaphoreInfos = &wait,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos = &buffer,
                                  .signalSemaphoreInfoCount = job->signal != VK_NULL_HANDLE ? 1 : 0,
                                  .pSignalSemaphoreInfos = &signal};
    REQUIRE(vk->job_count < RAW_VK_MAX_JOBS);
    VK_OK(vkQueueSubmit2(vk->queues[job->queue].queue, 1, &submit, VK_NULL_HANDLE));
    vk->jobs[vk->job_count].queue = job->queue;
    vk->jobs[vk->job_count++].commands = commands;
    if (!job->pending) raw_vk_idle(vk);
}

void raw_vk_idle(raw_vk *vk)
{
    for (uint32_t i = 0; i < vk->queue_count; i++)
        VK_OK(vkQueueWaitIdle(vk->queues[i].queue));
    for (uint32_t i = 0; i < vk->job_count; i++)
        vkFreeCommandBuffers(vk->device, vk->queues[vk->jobs[i].queue].pool, 1,
                             &vk->jobs[i].commands);
    vk->job_count = 0;
}

#define EVERY_ACCESS (VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT)

/* One barrier over a whole buffer. */
static void barrier(VkCommandBuffer commands, const raw_vk_buffer *buffer,
                    VkBufferMemoryBarrier2 what)
{
    what.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2;
    what.buffer = buffer->buffer;
    what.size = VK_WHOLE_SIZE;
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &what};
    vkCmdPipelineBarrier2(commands, &info);
}

void raw_vk_acquire(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer)
{
    barrier(commands, buffer,
            (VkBufferMemoryBarrier2){.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .dstAccessMask = EVERY_ACCESS,
                                     .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                     .dstQueueFamilyIndex = queue});
}

void raw_vk_release(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer)
{
    barrier(commands, buffer,
            (VkBufferMemoryBarrier2){.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .srcAccessMask = EVERY_ACCESS,
                                     .srcQueueFamilyIndex = queue,
                                     .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL});
}

void raw_vk_to_host(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkAccessFlags2 access)
{
    const VkMemoryBarrier2 written = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                      .srcStageMask = stage,
                                      .srcAccessMask = access,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                      .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &written};
    vkCmdPipelineBarrier2(commands, &info);
}

static void before_work(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                        const raw_vk_buffer *buffer)
{
    if (shared(buffer)) raw_vk_acquire(vk, commands, queue, buffer);
}

static void after_work(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                       const raw_vk_buffer *buffer)
{
    if (shared(buffer))
        raw_vk_release(vk, commands, queue, buffer);
    else if (buffer->flags & RAW_VK_HOST)
        barrier(commands, buffer,
                (VkBufferMemoryBarrier2){.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                         .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                         .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                         .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
                                         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED});
}

void raw_vk_fill(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, VkDeviceSize size,
                 uint32_t word, const raw_vk_job *job)
{
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    before_work(vk, commands, queue, buffer);
    vkCmdFillBuffer(commands, buffer->buffer, offset, size, word);
    after_work(vk, commands, queue, buffer);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_copy(raw_vk *vk, const raw_vk_buffer *from, VkDeviceSize from_offset,
                 const raw_vk_buffer *to, VkDeviceSize to_offset, VkDeviceSize size,
                 const raw_vk_job *job)
{
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    const VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    before_work(vk, commands, queue, from);
    before_work(vk, commands, queue, to);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
    if (shared(from)) after_work(vk, commands, queue, from);
    after_work(vk, commands, queue, to);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_write(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, const void *data,
                  VkDeviceSize size)
{
    raw_vk_buffer staging;
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    memcpy(staging.mapped, data, (size_t)size);
    raw_vk_copy(vk, &staging, 0, buffer, offset, size, NULL);
    raw_vk_buffer_destroy(vk, &staging);
}

void raw_vk_read(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, void *data,
                 VkDeviceSize size)
{
    raw_vk_buffer staging;
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    raw_vk_copy(vk, buffer, offset, &staging, 0, size, NULL);
    memcpy(data, staging.mapped, (size_t)size);
    raw_vk_buffer_destroy(vk, &staging);
}
