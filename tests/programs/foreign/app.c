/* SPDX-License-Identifier: MIT */
#include "foreign.h"

#include <stdio.h>
#include <string.h>

#define MAX_NAMES 16

static VKAPI_ATTR VkBool32 VKAPI_CALL complain(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                               VkDebugUtilsMessageTypeFlagsEXT types,
                                               const VkDebugUtilsMessengerCallbackDataEXT *data,
                                               void *user)
{
    app *a = user;
    char list[TEST_PATH_MAX];

    (void)severity;
    (void)types;
    if (!test_message_allowed(test_path(list, "share/culvert/allowed_vuids.txt"),
                              data->pMessageIdName, data->pMessage, a->validation)) {
        __atomic_add_fetch(&a->complaints, 1, __ATOMIC_RELAXED);
        fprintf(stderr, "validation: %s\n", data->pMessage);
    }
    return VK_FALSE;
}

/* Its version. 0: it is not there, or not wanted. */
static uint32_t validation_layer(void)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;

    if (strcmp(test_option("validation", "auto"), "off") == 0 || test_sanitized()) return 0;
    if (vkEnumerateInstanceLayerProperties(&count, layers) < 0) return 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0)
            return layers[i].specVersion;
    return 0;
}

static bool offers(const VkExtensionProperties *offered, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(offered[i].extensionName, name) == 0) return true;
    return false;
}

static bool has_instance_extension(const char *name)
{
    static VkExtensionProperties offered[256];
    uint32_t count = 256;

    if (vkEnumerateInstanceExtensionProperties(NULL, &count, offered) < 0) return false;
    return offers(offered, count, name);
}

static void make_instance(app *a, const char *wanted)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "foreign",
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkValidationFeatureEnableEXT synchronization =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &synchronization};
    const VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = complain,
        .pUserData = a};
    a->validation = validation_layer();
    const char *layers[MAX_NAMES], *extensions[MAX_NAMES];
    uint32_t num_layers = 0, num_extensions = 0;

    a->api_version = application.apiVersion;
    if (wanted && has_instance_extension(wanted)) extensions[num_extensions++] = wanted;
    if (a->validation != 0) {
        layers[num_layers++] = "VK_LAYER_KHRONOS_validation";
        extensions[num_extensions++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    }
    /* Culvert's come after the validation layer. */
    num_layers +=
        culv_vk_instance_layers(vkGetInstanceProcAddr, MAX_NAMES - num_layers, layers + num_layers);

    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = a->validation != 0 ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = num_layers,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = num_extensions,
                                       .ppEnabledExtensionNames = extensions};
    VK(vkCreateInstance(&info, NULL, &a->instance));
    volkLoadInstance(a->instance);
    if (a->validation != 0)
        VK(vkCreateDebugUtilsMessengerEXT(a->instance, &messages, NULL, &a->messenger));
}

static culv_device_desc device_desc(void)
{
    culv_device_desc d = culv_device_desc_init();

    if (test_driver() == TEST_DRIVER_NVIDIA) d.driver = CULV_DRIVER_NVIDIA;
    if (test_driver() == TEST_DRIVER_SOFT) d.driver = CULV_DRIVER_SOFT;
    d.label = "foreign";
    return d;
}

static void choose_physical_device(app *a)
{
    const culv_device_desc desc = device_desc();
    culv_vk_candidate candidates[MAX_NAMES];
    uint32_t count = MAX_NAMES;

    for (uint32_t i = 0; i < MAX_NAMES; i++)
        candidates[i] = culv_vk_candidate_init();
    CULV(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, a->instance, &desc, candidates, count,
                                       &count));
    if (count == 0) FAIL("there is no Vulkan device");
    if (!candidates[0].reachable) FAIL("%s: %s", candidates[0].name, candidates[0].reason_text);
    a->candidate = candidates[0];
    a->physical_device = candidates[0].physical_device;
}

void app_open_instance(app *a, const char *wanted)
{
    memset(a, 0, sizeof *a);
    if (test_driver() == TEST_DRIVER_SOFT || culv_soft_enabled())
        CULV(culv_soft_enable()); /* so that the loader finds the twin's layer */
    VK(volkInitialize());
    make_instance(a, wanted);
    choose_physical_device(a);
}

static uint32_t device_extensions(app *a, const char *names[MAX_NAMES])
{
    static VkExtensionProperties offered[512];
    const uint32_t version =
        a->api_version < a->candidate.api_version ? a->api_version : a->candidate.api_version;
    const char *optional[MAX_NAMES];
    uint32_t num_offered = 512;
    uint32_t count = culv_vk_device_extensions(version, MAX_NAMES, names);
    uint32_t more = culv_vk_optional_device_extensions(version, MAX_NAMES, optional);

    VK(vkEnumerateDeviceExtensionProperties(a->physical_device, NULL, &num_offered, offered));
    for (uint32_t i = 0; i < more; i++)
        if (offers(offered, num_offered, optional[i])) names[count++] = optional[i];
    return count;
}

static void make_device(app *a)
{
    const float priority = 1.0f;
    VkPhysicalDeviceSynchronization2Features synchronization2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &synchronization2,
        .timelineSemaphore = VK_TRUE};
    const char *names[MAX_NAMES];

    CULV(culv_vk_find_queue_family(vkGetInstanceProcAddr, a->instance, a->physical_device,
                                   CULV_VK_QUEUE_GRAPHICS, &a->family));
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = a->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &timelines,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = device_extensions(a, names),
                                     .ppEnabledExtensionNames = names};
    VK(vkCreateDevice(a->physical_device, &info, NULL, &a->device));
    volkLoadDevice(a->device);
    vkGetDeviceQueue(a->device, a->family, 0, &a->queue);
}

static void load_cuda(app *a)
{
    char path[TEST_PATH_MAX];

    a->cu = CULV_CUDA(a->culvert);
    CU(a->cu->cuCtxSetCurrent(culv_device_context(a->culvert)));
    CU(a->cu->cuStreamCreate(&a->stream, CU_STREAM_NON_BLOCKING));
    CU(a->cu->cuModuleLoad(&a->module,
                           test_path(path, a->caps.is_software ? "share/culvert/foreign.soft.so"
                                                               : "share/culvert/foreign.fatbin")));
}

void app_attach(app *a)
{
    const culv_device_desc desc = device_desc();
    culv_vk_device_desc mine = culv_vk_device_desc_init();

    mine.get_instance_proc_addr = vkGetInstanceProcAddr;
    mine.instance = a->instance;
    mine.physical_device = a->physical_device;
    mine.device = a->device;
    mine.api_version = a->api_version;
    mine.num_physical_devices = 1;
    CULV(culv_device_open_for_vk(vkGetInstanceProcAddr, a->instance, a->physical_device, &desc,
                                 &a->culvert));
    CULV(culv_vk_attach(a->culvert, &mine, &a->vk));
    a->caps = culv_device_caps_init();
    CULV(culv_device_get_caps(a->culvert, &a->caps));
    load_cuda(a);

    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = a->family};
    VK(vkCreateCommandPool(a->device, &pool, NULL, &a->pool));
}

void app_open(app *a)
{
    app_open_instance(a, NULL);
    make_device(a);
    app_attach(a);
}

void app_detach(app *a)
{
    culv_device_counts counts = culv_device_counts_init();

    CU(a->cu->cuStreamSynchronize(a->stream));
    CU(a->cu->cuStreamDestroy(a->stream));
    CU(a->cu->cuModuleUnload(a->module));
    vkDestroyCommandPool(a->device, a->pool, NULL);
    culv_vk_detach(&a->vk);
    CULV(culv_device_get_counts(a->culvert, &counts));
    REQUIRE_EQ(counts.memories, 0);
    REQUIRE_EQ(counts.mappings, 0);
    REQUIRE_EQ(counts.buffers, 0);
    REQUIRE_EQ(counts.images, 0);
    REQUIRE_EQ(counts.semaphores, 0);
    REQUIRE_EQ(counts.attached_devices, 0);
    REQUIRE_EQ(counts.created, 0);
    REQUIRE_EQ(counts.deferred, 0);
    REQUIRE_EQ(counts.late_destroys, 0);
    REQUIRE_EQ(counts.vmm_allocations, 0);
    REQUIRE_EQ(counts.vmm_ranges, 0);
    REQUIRE_EQ(counts.vmm_mappings, 0);
    culv_device_close(&a->culvert);
    REQUIRE(!a->culvert);
}

void app_close_instance(app *a)
{
    if (a->messenger) vkDestroyDebugUtilsMessengerEXT(a->instance, a->messenger, NULL);
    vkDestroyInstance(a->instance, NULL);
    REQUIRE_EQ(a->complaints, 0);
}

void app_close(app *a)
{
    VK(vkDeviceWaitIdle(a->device));
    app_detach(a);
    vkDestroyDevice(a->device, NULL);
    app_close_instance(a);
}

void app_launch(app *a, const char *kernel, unsigned width, unsigned height, void **arguments)
{
    const unsigned block_height = height > 1 ? 8 : 1, block_width = height > 1 ? 32 : 256;
    CUfunction function;

    CU(a->cu->cuModuleGetFunction(&function, a->module, kernel));
    CU(a->cu->cuLaunchKernel(function, (width + block_width - 1) / block_width,
                             (height + block_height - 1) / block_height, 1, block_width,
                             block_height, 1, 0, a->stream, arguments, NULL));
}
