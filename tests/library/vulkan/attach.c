/* SPDX-License-Identifier: MIT */
/* Ranking and attaching: extensions, layers, versions, device groups. */
#define TEST_GROUP "attach."
#include "library.h"

enum { MAX_CANDIDATES = 16 };

static uint32_t rank(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                     const culv_device_desc *desc, culv_vk_candidate out[MAX_CANDIDATES])
{
    uint32_t count = MAX_CANDIDATES;
    for (int i = 0; i < MAX_CANDIDATES; i++)
        out[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(get, instance, desc, out, count, &count));
    REQUIRE(count >= 1 && count <= MAX_CANDIDATES);
    return count;
}

static const culv_vk_candidate *find(const culv_vk_candidate *list, uint32_t count,
                                     VkPhysicalDevice device)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].physical_device == device) return &list[i];
    FAIL("the device is not in the ranking");
}

LIB_VULKAN_CASE(ranking, .title = "rank.order_and_reasons")
{
    static culv_vk_candidate list[MAX_CANDIDATES];
    uint32_t count = rank(vkGetInstanceProcAddr, w->vk.instance, NULL, list);
    bool reachable = true;
    for (uint32_t i = 0; i < count; i++) {
        /* Reachable ones first, each other one with its reason. */
        REQUIRE(reachable || !list[i].reachable);
        reachable = list[i].reachable != 0;
        REQUIRE_EQ(list[i].reachable, list[i].reason == CULV_REASON_NONE);
        REQUIRE_EQ(list[i].reachable, list[i].reason_text[0] == '\0');
        if (i > 0 && list[i].reachable && list[i - 1].driver == CULV_DRIVER_SOFT)
            REQUIRE(list[i].driver != CULV_DRIVER_NVIDIA);
        printf("  %s, reachable %u %s\n", list[i].name, list[i].reachable, list[i].reason_text);
    }
    const culv_vk_candidate *c = find(list, count, w->vk.physical);
    REQUIRE(c->reachable);
    REQUIRE_EQ(c->driver, w->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA);
    REQUIRE_EQ(c->cuda_ordinal, 0);
    REQUIRE(c->cuda_name[0] != '\0' && c->driver_name[0] != '\0');
    REQUIRE_EQ_STR(c->name, w->vk.properties.deviceName);
    REQUIRE_EQ(c->api_version, w->vk.properties.apiVersion);
    REQUIRE_EQ(c->type, w->vk.properties.deviceType);
    REQUIRE_EQ_BYTES(c->uuid.bytes, w->vk.id.deviceUUID, 16);
    REQUIRE(c->group_size >= 1 && c->has_external_memory && c->has_external_semaphore);
    REQUIRE(c->has_timeline_semaphore && c->buffer_opaque_fd_export &&
            c->timeline_opaque_fd_export);

    /* The driver that is not asked for is out of reach. */
    culv_device_desc d = culv_device_desc_init();
    d.driver = w->cu->software ? CULV_DRIVER_NVIDIA : CULV_DRIVER_SOFT;
    count = rank(vkGetInstanceProcAddr, w->vk.instance, &d, list);
    c = find(list, count, w->vk.physical);
    REQUIRE(!c->reachable && c->driver == CULV_DRIVER_AUTO && c->cuda_ordinal == -1);
    REQUIRE(c->reason == CULV_REASON_DEVICE_UNKNOWN || c->reason == CULV_REASON_DRIVER_MISSING ||
            c->reason == CULV_REASON_DRIVER_INIT || c->reason == CULV_REASON_SOFT_MISSING);
    REQUIRE(strstr(c->reason_text, c->name) != NULL);
    REQUIRE(strstr(c->reason_text, "culv_device_desc.driver excludes") !=
            NULL); /* no other cause */
}

/* A device that CUDA cannot reach comes after the one it can, though the instance lists it first;
 * an error about it names both. */
LIB_VULKAN_CASE(ranking_of_two, .title = "rank.two_devices")
{
    static culv_vk_candidate list[MAX_CANDIDATES];
    OWN(culv_device) *device = NULL;
    uint32_t alone = rank(vkGetInstanceProcAddr, w->vk.instance, NULL, list);
    lib_lying = (lib_lies){.stranger_like = w->vk.physical};
    uint32_t count = rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(count, alone + 1);
    REQUIRE(list[0].reachable && list[0].physical_device != lib_stranger());
    const culv_vk_candidate *stranger = find(list, count, lib_stranger());
    REQUIRE(!stranger->reachable && stranger->cuda_ordinal == -1 &&
            stranger->driver == CULV_DRIVER_AUTO);
    REQUIRE_EQ(stranger->reason, CULV_REASON_DEVICE_UNKNOWN);
    LIB_REFUSES(
        device,
        culv_device_open_for_vk(lib_lying_loader, w->vk.instance, lib_stranger(), NULL, &device),
        NO_DEVICE, DEVICE_UNKNOWN, "with a CUDA match"); /* the other one */
    LIB_OK(culv_device_open_for_vk(lib_lying_loader, w->vk.instance, list[0].physical_device, NULL,
                                   &device));
}

/* The lists name what makes attaching work: no more than these was enabled. */
LIB_CASE(attaching_with_the_lists, .title = "attach.with_the_lists")
{
    const char *names[8];
    uint32_t layers = culv_vk_instance_layers(vkGetInstanceProcAddr, 8, names);
    REQUIRE_EQ(layers, w->cu->software ? 1 : layers);
    if (w->cu->software) REQUIRE_EQ_STR(names[0], "VK_LAYER_CULVERT_soft");
    culv_device_counts counts = lib_counts(w);
    REQUIRE_EQ(counts.attached_devices, 1);
    culv_vk_device_desc d = lib_vk_desc(w);
    NEW(culv_vk_device, second, culv_vk_attach, w->device, &d);
    REQUIRE_EQ(lib_counts(w).attached_devices, 2);
    culv_vk_detach(&second);
    REQUIRE(second == NULL);
    culv_vk_detach(&second);
    REQUIRE_EQ(lib_counts(w).attached_devices, 1);
}

LIB_CASE(null_fields)
{
    culv_vk_device *vk = NULL;
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"get_instance_proc_addr", "instance", "physical_device",
                                            "device"};
        culv_vk_device_desc d = lib_vk_desc(w);
        if (i == 0) d.get_instance_proc_addr = NULL;
        if (i == 1) d.instance = NULL;
        if (i == 2) d.physical_device = NULL;
        if (i == 3) d.device = NULL;
        LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, NULL_ARGUMENT, names[i]);
    }
}

static void open_without(lib_world *w, bool memory, bool semaphore)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->cu = lib_driver();
    REQUIRE_EQ(w->cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .without_memory_fd = memory,
                                          .without_semaphore_fd = semaphore});
    w->fds = test_open_fds();
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                   &w->device));
    if (!w->cu->software) w->fds = test_open_fds();
}

TEST(missing_extension)
{
    lib_world w;
    culv_vk_device *vk = NULL;
    for (int i = 0; i < 3; i++) {
        open_without(&w, i != 1, i != 0);
        culv_vk_device_desc d = lib_vk_desc(&w);
        LIB_REFUSES(vk, culv_vk_attach(w.device, &d, &vk), INVALID, EXTENSION_MISSING,
                    i == 1 ? "VK_KHR_external_semaphore_fd" : "VK_KHR_external_memory_fd",
                    "culv_vk_device_extensions()");
        lib_close(&w);
    }
}

/* Software Vulkan has exportable timelines from the twin's layer alone. */
TEST(missing_layer, .own = true)
{
    lib_world w = {.cu = lib_driver()};
    CUuuid uuid;
    culv_vk_device *vk = NULL;
    static culv_vk_candidate list[MAX_CANDIDATES];
    if (!w.cu->software) SKIP("a GPU needs no layer");
    REQUIRE_EQ(w.cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    unsetenv("VK_INSTANCE_LAYERS");
    unsetenv("VK_ADD_LAYER_PATH");
    unsetenv("VK_LAYER_PATH");
    raw_vk_open(&w.vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                         .without_semaphore_fd = true});
    w.fds = test_open_fds();
    if (raw_vk_has_device_extension(w.vk.physical, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME))
        SKIP("this Vulkan driver has VK_KHR_external_semaphore_fd without the layer");
    char directory[TEST_PATH_MAX], path_to_set[TEST_PATH_MAX + 64];
    test_path(directory, "lib/culvert/explicit_layer.d");
    snprintf(path_to_set, sizeof path_to_set, "set VK_ADD_LAYER_PATH=%s", directory);
    uint32_t count = rank(vkGetInstanceProcAddr, w.vk.instance, NULL, list);
    const culv_vk_candidate *c = find(list, count, w.vk.physical);
    REQUIRE(!c->reachable);
    REQUIRE_EQ(c->reason, CULV_REASON_LAYER_MISSING);
    REQUIRE(strstr(c->reason_text, "VK_LAYER_CULVERT_soft") != NULL);
    REQUIRE(strstr(c->reason_text, path_to_set) != NULL);
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w.vk.instance, w.vk.physical, NULL,
                                   &w.device));
    culv_vk_device_desc d = lib_vk_desc(&w);
    LIB_REFUSES(vk, culv_vk_attach(w.device, &d, &vk), INVALID, LAYER_MISSING,
                "VK_LAYER_CULVERT_soft", "culv_vk_instance_layers()", path_to_set);
    /* A variable that is set already, in vain, is not proposed again. */
    REQUIRE(setenv("VK_ADD_LAYER_PATH", directory, 1) == 0);
    LIB_INVALID(culv_vk_attach(w.device, &d, &vk), LAYER_MISSING);
    snprintf(path_to_set, sizeof path_to_set, "set VK_LAYER_PATH=%s", directory);
    LIB_SAYS(path_to_set);
    REQUIRE(setenv("VK_LAYER_PATH", "/mine", 1) == 0);
    LIB_INVALID(culv_vk_attach(w.device, &d, &vk), LAYER_MISSING);
    snprintf(path_to_set, sizeof path_to_set, "add '%s' to VK_LAYER_PATH", directory);
    LIB_SAYS(path_to_set);
    lib_close(&w);
}

/* CULVERT_SOFT=1 is enough: the list makes the loader find the layer, whatever variable the loader
 * reads. */
TEST(layer_by_the_variable, .own = true)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("a GPU needs no layer");
    REQUIRE_EQ(volkInitialize(), VK_SUCCESS);
    const char *name = NULL;
    for (int i = 0; i < 2; i++) {
        unsetenv("VK_ADD_LAYER_PATH");
        unsetenv("VK_LAYER_PATH");
        if (i == 1) REQUIRE(setenv("VK_LAYER_PATH", "/nonexistent", 1) == 0);
        REQUIRE(setenv("CULVERT_SOFT", "off", 1) == 0);
        REQUIRE_EQ(culv_vk_instance_layers(vkGetInstanceProcAddr, 1, &name), 0);
        REQUIRE(getenv("VK_ADD_LAYER_PATH") == NULL);
        REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
        REQUIRE_EQ(culv_vk_instance_layers(vkGetInstanceProcAddr, 1, &name), 1);
        REQUIRE_EQ_STR(name, "VK_LAYER_CULVERT_soft");
        const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                               .apiVersion = VK_API_VERSION_1_1};
        const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &application,
                                           .enabledLayerCount = 1,
                                           .ppEnabledLayerNames = &name};
        VkInstance instance = VK_NULL_HANDLE;
        REQUIRE_EQ(vkCreateInstance(&info, NULL, &instance), VK_SUCCESS);
        volkLoadInstance(instance);
        vkDestroyInstance(instance, NULL);
    }
}

LIB_CASE(device_groups)
{
    culv_vk_device *vk = NULL;
    static culv_vk_candidate list[MAX_CANDIDATES];
    culv_vk_device_desc d = lib_vk_desc(w);
    d.num_physical_devices = 2; /* said so: refused whatever the machine has */
    LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, DEVICE_GROUP);
    lib_lying = (lib_lies){.group_size = 2};
    d.get_instance_proc_addr = lib_lying_loader;
    d.num_physical_devices = 0; /* not said: linked GPUs are refused */
    LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, DEVICE_GROUP,
                "num_physical_devices");
    d.num_physical_devices = 1;
    LIB_OK(culv_vk_attach(w->device, &d, &vk));
    culv_vk_detach(&vk);
    uint32_t count = rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(find(list, count, w->vk.physical)->group_size, 2);
}

LIB_CASE(old_vulkan)
{
    culv_vk_device *vk = NULL;
    culv_device *device = NULL;
    static culv_vk_candidate list[MAX_CANDIDATES];
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.api_version = VK_API_VERSION_1_0};
    LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), UNSUPPORTED, VULKAN_VERSION);
    LIB_REFUSES(
        device,
        culv_device_open_for_vk(lib_lying_loader, w->vk.instance, w->vk.physical, NULL, &device),
        UNSUPPORTED, VULKAN_VERSION);
    uint32_t count = rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(find(list, count, w->vk.physical)->reason, CULV_REASON_VULKAN_VERSION);

    /* Functions of 1.1, and one of 1.3, that the loader does not know for this instance. */
    static const char *const functions[] = {
        "vkGetPhysicalDeviceProperties2", "vkEnumeratePhysicalDeviceGroups",
        "vkGetPhysicalDeviceExternalBufferProperties", "vkGetBufferMemoryRequirements2",
        "vkCmdPipelineBarrier2"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lib_lying = (lib_lies){.missing = functions[i]};
        LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, VULKAN_VERSION, functions[i]);
    }
    lib_lying = (lib_lies){0};
}

/* As a NULL pApplicationInfo makes one. */
LIB_CASE(instance_of_vulkan_1_0, .title = "attach.instance_1_0")
{
    static culv_vk_candidate list[MAX_CANDIDATES];
    static const culv_uuid zeros;
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    const char *names[8];
    uint32_t room = 8;
    VkInstance instance = VK_NULL_HANDLE;
    culv_device *device = NULL;
    culv_vk_device *vk = NULL;
    VK_OK(vkCreateInstance(&info, NULL, &instance));
    const uint32_t count = rank(get, instance, NULL, list);
    for (uint32_t i = 0; i < count; i++) {
        culv_vk_device_desc d = lib_vk_desc(w);
        if (memcmp(&list[i].uuid, &zeros, sizeof zeros) != 0)
            continue; /* another loader's answer */
        REQUIRE(!list[i].reachable && list[i].reason == CULV_REASON_VULKAN_VERSION);
        d.instance = instance;
        d.physical_device = list[i].physical_device;
        d.api_version = 0;
        LIB_REFUSES(device,
                    culv_device_open_for_vk(get, instance, d.physical_device, NULL, &device),
                    INVALID, VULKAN_VERSION, "VkApplicationInfo::apiVersion 1.1");
        LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, VULKAN_VERSION);
        LIB_INVALID(culv_vk_merge_device_extensions(&d, 0, NULL, &room, names), VULKAN_VERSION);
    }
    ((PFN_vkDestroyInstance)get(instance, "vkDestroyInstance"))(instance, NULL);
}

/* An instance of Vulkan 1.1 on a device of a later version: nothing later may be asked of it
 * (validation listens). */
TEST(instance_of_vulkan_1_1)
{
    const raw_cuda *cu = lib_driver();
    static culv_vk_candidate list[MAX_CANDIDATES];
    CUuuid uuid;
    raw_vk old;
    culv_device *device = NULL;
    REQUIRE_EQ(cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    raw_vk_open_instance(
        &old, &(raw_vk_options){.software = cu->software, .api_version = VK_API_VERSION_1_1});
    REQUIRE(raw_vk_find(&old, (const uint8_t *)uuid.bytes, &old.physical) > 0);
    uint32_t count = rank(vkGetInstanceProcAddr, old.instance, NULL, list);
    REQUIRE(find(list, count, old.physical)->reachable);
    REQUIRE(find(list, count, old.physical)->has_timeline_semaphore);
    LIB_OK(
        culv_device_open_for_vk(vkGetInstanceProcAddr, old.instance, old.physical, NULL, &device));
    culv_device_close(&device);
    raw_vk_close(&old);
}
