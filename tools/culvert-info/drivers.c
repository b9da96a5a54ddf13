/* SPDX-License-Identifier: MIT */
/* culvert-info: the CUDA drivers and their devices. The drivers are asked directly why they do not
 * start; what a device can do is Culvert's answer. */
#include "info.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult(CUDAAPI *init_fn)(unsigned int);
typedef CUresult(CUDAAPI *int_fn)(int *);
typedef CUresult(CUDAAPI *access_fn)(int *, CUdevice, CUdevice);
typedef CUresult(CUDAAPI *peer_fn)(int *, CUdevice_P2PAttribute, CUdevice, CUdevice);
typedef CUresult(CUDAAPI *error_fn)(CUresult, const char **);

static void resolve(void *module, const char *name, void *out, size_t size)
{
    void *symbol = library_symbol(module, name);
    memcpy(out, &symbol, size);
}

static void explain_init(const struct system_info *system, struct cuda_driver *driver,
                         CUresult result, error_fn name_of, error_fn text_of)
{
    const char *name = NULL;
    const char *text = NULL;
    if (name_of == NULL || name_of(result, &name) != CUDA_SUCCESS || name == NULL)
        name = "an unknown error";
    if (text_of == NULL || text_of(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "no description";
    driver->reason = CULV_REASON_DRIVER_INIT;
    text_set(driver->why, sizeof driver->why, "cuInit answered %s (%d, %s)", name, (int)result,
             text);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *more = NULL;
    if (driver->kind == CULV_DRIVER_SOFT) {
        if (result == CUDA_ERROR_NO_DEVICE)
            more = "the twin needs a CPU Vulkan device, Mesa's lavapipe, and finds none";
    } else if (result == CUDA_ERROR_NO_DEVICE && visible != NULL) {
        text_add(driver->why, sizeof driver->why, "; CUDA_VISIBLE_DEVICES=%s hides devices",
                 visible);
    } else if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
        text_add(
            driver->why, sizeof driver->why,
            "; "
            "the kernel module is %s, the library %s: after an update, reboot or load the new module",
            system->nvidia_kernel_version[0] != '\0' ? system->nvidia_kernel_version : "another",
            driver->release[0] != '\0' ? driver->release : "another");
    } else if (result == CUDA_ERROR_SYSTEM_NOT_READY) {
        more = "on NVSwitch systems nvidia-fabricmanager must be running";
    } else if (result == CUDA_ERROR_STUB_LIBRARY) {
        more = "this libcuda.so.1 is the toolkit's stub, not a driver; look at LD_LIBRARY_PATH";
    }
    if (more != NULL) text_add(driver->why, sizeof driver->why, "; %s", more);
}

static void read_pair(access_fn access, peer_fn ask, struct cuda_pair *pair)
{
    const struct {
        CUdevice_P2PAttribute attribute;
        int *out;
    } rows[] = {
        {CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, &pair->array_access},
        {CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, &pair->native_atomics},
        {CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, &pair->performance_rank},
    };
    if (access == NULL || access(&pair->access, pair->from, pair->to) != CUDA_SUCCESS)
        pair->access = -1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ask == NULL ||
            ask(rows[i].out, rows[i].attribute, pair->from, pair->to) != CUDA_SUCCESS)
            *rows[i].out = -1;
}

static void read_pairs(struct cuda_driver *driver, void *module)
{
    access_fn access = NULL;
    peer_fn ask = NULL;
    const int most = driver->num_devices < 8 ? driver->num_devices : 8;
    resolve(module, "cuDeviceCanAccessPeer", &access, sizeof access);
    resolve(module, "cuDeviceGetP2PAttribute", &ask, sizeof ask);
    for (int from = 0; from < most; from++)
        for (int to = 0; to < most; to++) {
            if (from == to) continue;
            struct cuda_pair *pair = &driver->pairs[driver->num_pairs++];
            pair->from = from;
            pair->to = to;
            read_pair(access, ask, pair);
        }
}

static void read_driver(const struct system_info *system, struct cuda_driver *driver, void *module)
{
    init_fn init = NULL;
    int_fn version = NULL, count = NULL;
    error_fn name_of = NULL, text_of = NULL;
    resolve(module, "cuInit", &init, sizeof init);
    resolve(module, "cuDriverGetVersion", &version, sizeof version);
    resolve(module, "cuDeviceGetCount", &count, sizeof count);
    resolve(module, "cuGetErrorName", &name_of, sizeof name_of);
    resolve(module, "cuGetErrorString", &text_of, sizeof text_of);
    library_path(module, driver->path, sizeof driver->path);
    if (driver->kind == CULV_DRIVER_NVIDIA)
        library_release(driver->path, driver->release, sizeof driver->release);
    driver->reason = CULV_REASON_DRIVER_TOO_OLD;
    if (init == NULL || version == NULL || count == NULL) {
        text_set(driver->why, sizeof driver->why, "%s is not a CUDA driver: it lacks cuInit",
                 driver->path);
        return;
    }
    if (version(&driver->version) != CUDA_SUCCESS) driver->version = 0;
    if (library_symbol(module, "cuGetProcAddress_v2") == NULL) {
        text_set(driver->why, sizeof driver->why,
                 "%s is older than release 525 (CUDA 12.0); update the driver", driver->path);
        return;
    }
    CUresult result = init(0);
    if (result == CUDA_SUCCESS) result = count(&driver->num_devices);
    if (result != CUDA_SUCCESS) {
        driver->num_devices = 0;
        explain_init(system, driver, result, name_of, text_of);
        return;
    }
    driver->reason = CULV_REASON_NONE;
    driver->usable = true;
    read_pairs(driver, module);
}

void cuda_drivers(struct report *report)
{
    struct cuda_driver *nvidia = &report->drivers[0];
    struct cuda_driver *twin = &report->drivers[1];
    nvidia->kind = CULV_DRIVER_NVIDIA;
    nvidia->asked = true;
    twin->kind = CULV_DRIVER_SOFT;
    void *module = library_open(words.cuda, nvidia->why, sizeof nvidia->why);
    if (module == NULL)
        nvidia->reason = CULV_REASON_DRIVER_MISSING;
    else
        read_driver(&report->system, nvidia, module);
    if (!twin->asked) {
        text_set(twin->why, sizeof twin->why, "not allowed; --soft or CULVERT_SOFT=1 allows it");
        return;
    }
    if (twin->reason != CULV_REASON_NONE) return; /* culv_soft_enable() said why */
    /* culv_soft_enable() has found and loaded it. */
    module = library_loaded(words.soft);
    if (module == NULL) {
        twin->reason = CULV_REASON_SOFT_MISSING;
        text_set(twin->why, sizeof twin->why, "%s is not loaded", words.soft);
        return;
    }
    read_driver(&report->system, twin, module);
}

static int find_graphics(const struct report *report, culv_driver driver, int ordinal)
{
    for (uint32_t i = 0; i < report->num_graphics; i++) {
        const culv_vk_candidate *c = &report->graphics[i].match;
        if (c->driver == driver && c->cuda_ordinal == ordinal) return (int)i;
    }
    return -1;
}

static void say_no_graphics(const struct report *report, struct cuda_device *d)
{
    bool vulkan_has_nvidia = false;
    for (uint32_t i = 0; i < report->num_graphics; i++)
        vulkan_has_nvidia = vulkan_has_nvidia || report->graphics[i].vendor_id == PCI_VENDOR_NVIDIA;
    const char *why;
    if (d->caps.mig_slice)
        why = "it is a MIG slice: graphics needs one of a +gfx profile";
    else if (report->num_graphics == 0)
        why = report->vulkan.why[0] != '\0' ? report->vulkan.why : "Vulkan lists no device";
    else if (d->driver == CULV_DRIVER_SOFT && getenv("CULVERT_SOFT_DEVICES") != NULL)
        why =
            "no Vulkan device has its UUID: CULVERT_SOFT_DEVICES asked for more devices than Vulkan has";
    else if (d->driver == CULV_DRIVER_SOFT)
        why = "no Vulkan device is known to have its UUID";
    else if (vulkan_has_nvidia)
        why = "Vulkan has NVIDIA devices, but none with its UUID";
    else
        why = "no Vulkan device has its UUID: Vulkan shows no NVIDIA device at all";
    text_set(d->why, sizeof d->why, "%s", why);
}

static void open_device(struct report *report, struct cuda_device *d)
{
    culv_device *device = NULL;
    culv_device_desc desc = culv_device_desc_init();
    const struct vulkan_info *vulkan = &report->vulkan;
    desc.driver = d->driver;
    d->caps = culv_device_caps_init();
    d->graphics = find_graphics(report, d->driver, d->ordinal);
    culv_result result =
        d->graphics >= 0
            ? culv_device_open_for_vk(vulkan->get_proc, vulkan->instance,
                                      report->graphics[d->graphics].match.physical_device, &desc,
                                      &device)
            : culv_device_open_by_ordinal(d->ordinal, &desc, &device);
    if (result == CULV_OK) result = culv_device_get_caps(device, &d->caps);
    d->opened = result == CULV_OK;
    pci_read(d->opened && !d->caps.is_software ? d->caps.pci_bus_id : "", &d->pci);
    if (!d->opened) {
        culv_error error = culv_error_init();
        culv_last_error(&error);
        d->reason = error.reason;
        text_set(d->why, sizeof d->why, "%s", error.message);
    } else if (d->graphics < 0) {
        say_no_graphics(report, d);
    }
    features_of_cuda(&report->system, d->opened ? device : NULL, d);
    culv_device_close(&device);
}

void cuda_devices(struct report *report)
{
    int total = report->drivers[0].num_devices + report->drivers[1].num_devices;
    report->cuda = must_alloc((size_t)total, sizeof *report->cuda);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < report->drivers[k].num_devices; i++) {
            struct cuda_device *d = &report->cuda[report->num_cuda++];
            d->driver = report->drivers[k].kind;
            d->ordinal = i;
            open_device(report, d);
        }
    for (uint32_t i = 0; i < report->num_graphics; i++) {
        struct graphics_device *g = &report->graphics[i];
        for (int j = 0; j < report->num_cuda && g->match.cuda_ordinal >= 0; j++)
            if (report->cuda[j].driver == g->match.driver &&
                report->cuda[j].ordinal == g->match.cuda_ordinal)
                g->cuda = j;
        features_shared(report, g);
        reachability(report, g);
    }
}

/* culvert-info: the Vulkan loader, opened at run time, an instance as Culvert's users make it, and
 * its devices. */

#define GET(vulkan, name)                                                                          \
    PFN_##name name = (PFN_##name)(vulkan)->get_proc((vulkan)->instance, #name)

/* The loader says in words why it finds no driver; vkCreateInstance only says that it finds
 * none. */
static VKAPI_ATTR VkBool32 VKAPI_CALL note_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                   void *user)
{
    struct vulkan_info *vulkan = user;
    (void)severity;
    (void)types;
    if (data->pMessage == NULL || vulkan->num_messages == MAX_LOADER_MESSAGES) return VK_FALSE;
    for (int i = 0; i < vulkan->num_messages;
         i++) /* both enumerations of the devices say the same */
        if (strncmp(vulkan->messages[i], data->pMessage, sizeof vulkan->messages[i] - 1) == 0)
            return VK_FALSE;
    char *message = vulkan->messages[vulkan->num_messages++];
    text_set(message, sizeof vulkan->messages[0], "%s", data->pMessage);
    return VK_FALSE;
}

static bool has_debug_utils(const struct vulkan_info *vulkan)
{
    GET(vulkan, vkEnumerateInstanceExtensionProperties);
    uint32_t count = 0;
    bool found = false;
    if (vkEnumerateInstanceExtensionProperties == NULL ||
        vkEnumerateInstanceExtensionProperties(NULL, &count, NULL) != VK_SUCCESS)
        return false;
    VkExtensionProperties *list = must_alloc(count, sizeof *list);
    if (vkEnumerateInstanceExtensionProperties(NULL, &count, list) >= VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(list[i].extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0;
    free(list);
    return found;
}

static void say_no_driver(struct vulkan_info *vulkan, const char *call, VkResult result)
{
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        text_set(vulkan->why, sizeof vulkan->why, "the Vulkan loader finds no driver (%s: %s)",
                 call, "VK_ERROR_INCOMPATIBLE_DRIVER");
    else if (result == VK_ERROR_INITIALIZATION_FAILED)
        text_set(vulkan->why, sizeof vulkan->why, "no Vulkan driver finds a device (%s: %s)", call,
                 "VK_ERROR_INITIALIZATION_FAILED");
    else
        text_set(vulkan->why, sizeof vulkan->why, "%s failed (VkResult %d)", call, (int)result);
    if (vulkan->num_messages > 0)
        text_add(vulkan->why, sizeof vulkan->why, "; the loader says: %s", vulkan->messages[0]);
}

static void create_instance(struct vulkan_info *vulkan)
{
    GET(vulkan, vkCreateInstance);
    if (vkCreateInstance == NULL) {
        text_set(vulkan->why, sizeof vulkan->why, "%s has no vkCreateInstance", vulkan->path);
        return;
    }
    const char *extensions[16];
    const char *layers[16];
    uint32_t num_extensions = 0;
    uint32_t num_layers = culv_vk_instance_layers(vulkan->get_proc, 16, layers);
    if (num_layers > 16) num_layers = 16;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
        .pfnUserCallback = note_message,
        .pUserData = vulkan};
    bool listen = has_debug_utils(vulkan);
    if (listen) extensions[num_extensions++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "culvert-info",
                                     .apiVersion = vulkan->version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = listen ? &messenger : NULL,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = num_layers,
                                 .ppEnabledLayerNames = layers,
                                 .enabledExtensionCount = num_extensions,
                                 .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &vulkan->instance);
    if (result != VK_SUCCESS) {
        vulkan->instance = VK_NULL_HANDLE;
        say_no_driver(vulkan, "vkCreateInstance", result);
        return;
    }
    vulkan->soft_layer = num_layers > 0;
}

void vulkan_open(struct vulkan_info *out)
{
    char why[512];
    void *loader = library_open(words.vulkan, why, sizeof why);
    if (loader == NULL) {
        text_set(out->why, sizeof out->why, "the Vulkan loader could not be loaded (%s)", why);
        return;
    }
    library_path(loader, out->path, sizeof out->path);
    void *symbol = library_symbol(loader, "vkGetInstanceProcAddr");
    memcpy(&out->get_proc, &symbol, sizeof out->get_proc);
    if (out->get_proc == NULL) {
        text_set(out->why, sizeof out->why, "%s has no vkGetInstanceProcAddr", out->path);
        return;
    }
    GET(out, vkEnumerateInstanceVersion);
    out->version = VK_API_VERSION_1_0;
    if (vkEnumerateInstanceVersion != NULL) (void)vkEnumerateInstanceVersion(&out->version);
    if (out->version < VK_API_VERSION_1_1) {
        text_set(out->why, sizeof out->why,
                 "the Vulkan loader %s has Vulkan 1.0; Culvert needs 1.1", out->path);
        return;
    }
    create_instance(out);
}

static int by_index(const VkPhysicalDevice *list, uint32_t count, VkPhysicalDevice device)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == device) return (int)i;
    return -1;
}

/* The candidates in the library's order, with each one's place in the instance's. */
static void read_candidates(struct report *report, const VkPhysicalDevice *devices, uint32_t count)
{
    struct vulkan_info *vulkan = &report->vulkan;
    GET(vulkan, vkGetPhysicalDeviceProperties);
    culv_vk_candidate *candidates = must_alloc(count, sizeof *candidates);
    for (uint32_t i = 0; i < count; i++)
        candidates[i] = culv_vk_candidate_init();
    uint32_t ranked = count;
    if (culv_vk_rank_physical_devices(vulkan->get_proc, vulkan->instance, NULL, candidates, ranked,
                                      &ranked) != CULV_OK) {
        text_set(vulkan->why, sizeof vulkan->why, "%s", culv_last_error_message());
        ranked = 0;
    }
    if (ranked > count) ranked = count; /* a device was plugged in meanwhile */
    report->graphics = must_alloc(ranked, sizeof *report->graphics);
    report->num_graphics = ranked;
    for (uint32_t i = 0; i < ranked; i++) {
        struct graphics_device *d = &report->graphics[i];
        VkPhysicalDeviceProperties properties = {0};
        int index = by_index(devices, count, candidates[i].physical_device);
        d->match = candidates[i];
        d->index = index >= 0 ? (uint32_t)index : i;
        if (vkGetPhysicalDeviceProperties != NULL)
            vkGetPhysicalDeviceProperties(d->match.physical_device, &properties);
        d->vendor_id = properties.vendorID;
        d->cuda = -1;
    }
    free(candidates);
}

void vulkan_devices(struct report *report)
{
    struct vulkan_info *vulkan = &report->vulkan;
    uint32_t count = 0;
    if (vulkan->instance == VK_NULL_HANDLE) return;
    GET(vulkan, vkEnumeratePhysicalDevices);
    if (vkEnumeratePhysicalDevices == NULL) {
        text_set(vulkan->why, sizeof vulkan->why, "the instance has no vkEnumeratePhysicalDevices");
        return;
    }
    VkResult result = vkEnumeratePhysicalDevices(vulkan->instance, &count, NULL);
    if (result != VK_SUCCESS) {
        say_no_driver(vulkan, "vkEnumeratePhysicalDevices", result);
        return;
    }
    if (count == 0) {
        text_set(vulkan->why, sizeof vulkan->why, "Vulkan lists no device");
        return;
    }
    VkPhysicalDevice *devices = must_alloc(count, sizeof(VkPhysicalDevice));
    result = vkEnumeratePhysicalDevices(vulkan->instance, &count, devices);
    if (result < VK_SUCCESS)
        say_no_driver(vulkan, "vkEnumeratePhysicalDevices", result);
    else
        read_candidates(report, devices, count);
    free(devices);
}

void vulkan_close(struct vulkan_info *vulkan)
{
    if (vulkan->instance == VK_NULL_HANDLE) return;
    GET(vulkan, vkDestroyInstance);
    if (vkDestroyInstance != NULL) vkDestroyInstance(vulkan->instance, NULL);
    vulkan->instance = VK_NULL_HANDLE;
}
