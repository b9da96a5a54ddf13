/* SPDX-License-Identifier: MIT */
/* Short ways: choosing the physical device, and what instances and devices are created with. */
#define TEST_GROUP "setup."
#include "library.h"

enum { ROOM = 32 };

LIB_VULKAN_CASE(choosing)
{
    VkPhysicalDevice chosen = NULL, alone = NULL;
    culv_vk_candidate best = culv_vk_candidate_init();
    uint32_t count = 1;
    LIB_OK(culv_vk_choose_physical_device(vkGetInstanceProcAddr, w->vk.instance, NULL, &chosen,
                                          &w->device));
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, &best, count,
                                         &count));
    REQUIRE(chosen == best.physical_device && chosen == w->vk.physical);
    REQUIRE_EQ(lib_caps(w->device).is_software, w->cu->software);
    REQUIRE_EQ_BYTES(lib_caps(w->device).uuid.bytes, w->vk.id.deviceUUID, 16);
    culv_device_close(&w->device);

    /* Without a device to open; with a stranger that the instance lists first. */
    LIB_OK(
        culv_vk_choose_physical_device(vkGetInstanceProcAddr, w->vk.instance, NULL, &alone, NULL));
    REQUIRE(alone == chosen);
    lib_lying = (lib_lies){.stranger_like = w->vk.physical};
    LIB_OK(culv_vk_choose_physical_device(lib_lying_loader, w->vk.instance, NULL, &alone, NULL));
    REQUIRE(alone == chosen);
}

LIB_VULKAN_CASE(choosing_in_vain)
{
    culv_device *device = NULL;
    VkPhysicalDevice chosen = lib_stranger();
    culv_device_desc d = culv_device_desc_init();
#define CHOOSE(get, desc)                                                                          \
    culv_vk_choose_physical_device(get, w->vk.instance, desc, &chosen, &device)
    lib_lying = (lib_lies){.no_devices = true};
    LIB_REFUSES(device, CHOOSE(lib_lying_loader, NULL), NO_DEVICE, DEVICE_UNKNOWN,
                "Vulkan shows no device");
    lib_lying = (lib_lies){.hides = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    LIB_REFUSES(device, CHOOSE(lib_lying_loader, NULL), NO_DEVICE, EXTENSION_MISSING,
                w->vk.properties.deviceName, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    /* Every device is named with its reason. */
    lib_lying = (lib_lies){.stranger_like = w->vk.physical, .uuid_xor = 0x55};
    LIB_REFUSES(device, CHOOSE(lib_lying_loader, NULL), NO_DEVICE, DEVICE_UNKNOWN,
                "CUDA can reach none of Vulkan's devices: ");
    const char *text = culv_last_error_message(), *first = strstr(text, "has no CUDA partner");
    REQUIRE(first != NULL && strstr(first + 1, "has no CUDA partner") != NULL);
    lib_lying = (lib_lies){0};
    /* The driver that is not asked for; the reason is the best candidate's. */
    culv_vk_candidate best = culv_vk_candidate_init();
    uint32_t count = 1;
    d.driver = w->cu->software ? CULV_DRIVER_NVIDIA : CULV_DRIVER_SOFT;
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, &d, &best, count,
                                         &count));
    REQUIRE(!best.reachable);
    LIB_REFUSES_AS(device, CHOOSE(vkGetInstanceProcAddr, &d), CULV_ERROR_NO_DEVICE, best.reason,
                   "culv_device_desc.driver excludes");
    d.struct_size = 3;
    LIB_REFUSES(device, CHOOSE(vkGetInstanceProcAddr, &d), INVALID, STRUCT_SIZE);
#undef CHOOSE
    REQUIRE(chosen == lib_stranger());
}

static void require_names(const char *const *have, uint32_t count, const char *const *wanted)
{
    uint32_t i = 0;
    for (; wanted[i] != NULL; i++) {
        REQUIRE(i < count);
        REQUIRE_EQ_STR(have[i], wanted[i]);
    }
    REQUIRE_EQ(i, count);
}

/* Yours first, each once, then Culvert's; an array that is too small changes nothing. */
LIB_CASE(instance_layers)
{
    static const char *const mine[] = {"VK_MINE_b", "VK_MINE_a", "VK_MINE_b"};
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    const char *out[ROOM] = {"untouched"}, *same[ROOM] = {mine[0], mine[1], mine[2]};
    const char *added[ROOM] = {NULL}, *merged[ROOM] = {mine[0], mine[1]};
    const uint32_t more = culv_vk_instance_layers(get, ROOM, added);
    uint32_t count = 77;
    REQUIRE_EQ(more, w->cu->software ? 1 : more);
    for (uint32_t i = 0; i < more; i++)
        merged[2 + i] = added[i];
    LIB_OK(culv_vk_merge_instance_layers(get, 0, NULL, &count, NULL));
    REQUIRE_EQ(count, more);
    LIB_OK(culv_vk_merge_instance_layers(get, 3, mine, &count, NULL));
    REQUIRE_EQ(count, 2 + more);
    count = 1;
    LIB_INVALID(culv_vk_merge_instance_layers(get, 3, mine, &count, out), VALUE,
                "room for 1 names, and there are");
    REQUIRE_EQ(count, 1);
    REQUIRE_EQ_STR(out[0], "untouched");
    count = ROOM;
    LIB_OK(culv_vk_merge_instance_layers(get, 0, NULL, &count, out));
    require_names(out, count, added);
    count = ROOM;
    LIB_OK(culv_vk_merge_instance_layers(get, 3, mine, &count, out));
    require_names(out, count, merged);
    for (int i = 0; i < 2; i++) { /* in place; what is there already is not added again */
        const uint32_t before = i == 0 ? 3 : count;
        count = ROOM;
        LIB_OK(culv_vk_merge_instance_layers(get, before, same, &count, same));
        require_names(same, count, merged);
    }
    same[1] = NULL;
    count = ROOM;
    LIB_INVALID(culv_vk_merge_instance_layers(get, 2, same, &count, out), NULL_ARGUMENT,
                "names[1] is NULL");
    LIB_INVALID(culv_vk_merge_instance_layers(get, 1, NULL, &count, out), NULL_ARGUMENT);
    require_names(out, 2 + more, merged);
    REQUIRE_EQ(count, ROOM);
}

static culv_vk_device_desc desc_of(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                   VkPhysicalDevice physical_device, uint32_t version)
{
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = get;
    d.instance = instance;
    d.physical_device = physical_device;
    d.api_version = version;
    return d;
}

static uint32_t merge(PFN_vkGetInstanceProcAddr get, const lib_world *w, uint32_t version,
                      uint32_t num_names, const char *const *names, const char **out)
{
    const culv_vk_device_desc d = desc_of(get, w->vk.instance, w->vk.physical, version);
    uint32_t count = ROOM, asked = 0;
    LIB_OK(culv_vk_merge_device_extensions(&d, num_names, names, &count, out));
    LIB_OK(culv_vk_merge_device_extensions(&d, num_names, names, &asked, NULL));
    REQUIRE_EQ(asked, count);
    return count;
}

static bool in(const char *const *names, uint32_t count, const char *name)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += strcmp(names[i], name) == 0;
    REQUIRE(found <= 1);
    return found == 1;
}

/* All that is required, what the device has of the rest, and nothing twice. */
LIB_VULKAN_CASE(device_extensions)
{
    static const uint32_t versions[] = {0, VK_API_VERSION_1_1, VK_API_VERSION_1_2,
                                        VK_API_VERSION_1_3};
    static const char *const mine[] = {"VK_MINE_a", VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                       "VK_MINE_a"};
    for (size_t v = 0; v < 4; v++) {
        const uint32_t used = versions[v] != 0 ? versions[v] : VK_API_VERSION_1_1;
        const char *names[ROOM], *required[ROOM], *optional[ROOM];
        uint32_t num_required = culv_vk_device_extensions(used, ROOM, required);
        uint32_t num_optional = culv_vk_optional_device_extensions(used, ROOM, optional);
        uint32_t expected = 1 + num_required;
        uint32_t count = merge(vkGetInstanceProcAddr, w, versions[v], 3, mine, names);
        REQUIRE_EQ_STR(names[0], "VK_MINE_a");
        REQUIRE_EQ_STR(names[1], VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        for (uint32_t i = 0; i < num_required; i++)
            REQUIRE(in(names, count, required[i]));
        for (uint32_t i = 0; i < num_optional; i++) {
            const bool has = raw_vk_has_device_extension(w->vk.physical, optional[i]);
            REQUIRE_EQ(in(names, count, optional[i]), has);
            expected += has;
        }
        REQUIRE_EQ(count, expected);
        REQUIRE_EQ(merge(vkGetInstanceProcAddr, w, versions[v], 0, NULL, names), expected - 1);
    }
    /* A device of a lower version than the instance's. */
    const char *names[ROOM];
    lib_lying = (lib_lies){.api_version = VK_API_VERSION_1_1};
    uint32_t count = merge(lib_lying_loader, w, VK_API_VERSION_1_3, 0, NULL, names);
    REQUIRE(in(names, count, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME));
    lib_lying = (lib_lies){0};
}

static const VkBaseOutStructure *find(const void *chain, int type, uint32_t *length)
{
    const VkBaseOutStructure *found = NULL;
    *length = 0;
    for (const VkBaseOutStructure *s = chain; s != NULL; s = s->pNext) {
        ++*length;
        if ((int)s->sType == type) found = s;
    }
    return found;
}

#define FIND(chain, type, length) find(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, length)

/* Each feature has one struct in the chain: the caller's, where it brings one. */
LIB_VULKAN_CASE(device_features)
{
    culv_vk_device_features storage = culv_vk_device_features_init();
    uint32_t length = 0;
    const void *chain = NULL;
    culv_vk_device_desc d;
#define MERGE(version, mine)                                                                       \
    d = desc_of(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, version);                   \
    LIB_OK(culv_vk_merge_device_features(&d, mine, &storage, &chain))
    MERGE(VK_API_VERSION_1_3, NULL);
    REQUIRE(FIND(chain, TIMELINE_SEMAPHORE_FEATURES, &length) ==
            (const void *)&storage.timeline_semaphore);
    REQUIRE_EQ(storage.timeline_semaphore.timelineSemaphore, VK_TRUE);
    if (w->vk.properties.apiVersion >= VK_API_VERSION_1_3) {
        REQUIRE(FIND(chain, SYNCHRONIZATION_2_FEATURES, &length) ==
                (const void *)&storage.synchronization2);
        REQUIRE_EQ(storage.synchronization2.synchronization2, VK_TRUE);
        REQUIRE_EQ(length, 2);
    }

    /* Structs that nobody knows, before, between and behind. */
    VkBaseOutStructure last = {.sType = (VkStructureType)0x7ffffff0};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .pNext = &last};
    VkBaseOutStructure first = {.sType = (VkStructureType)0x7ffffff1, .pNext = (void *)&timeline};
    MERGE(VK_API_VERSION_1_1, &first);
    REQUIRE(FIND(chain, TIMELINE_SEMAPHORE_FEATURES, &length) == (const void *)&timeline);
    REQUIRE(timeline.timelineSemaphore == VK_TRUE && timeline.pNext == &last);
    REQUIRE(first.pNext == (void *)&timeline && last.pNext == NULL);
    REQUIRE_EQ(
        length,
        3u + raw_vk_has_device_extension(w->vk.physical, VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME) +
            raw_vk_has_device_extension(w->vk.physical, VK_KHR_MAINTENANCE_4_EXTENSION_NAME));

    /* The structs of the versions have the features already; no second one may be added. */
    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .dynamicRendering = VK_TRUE};
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v12};
    if (w->vk.properties.apiVersion >= VK_API_VERSION_1_3) {
        MERGE(VK_API_VERSION_1_3, &features);
        REQUIRE(chain == &features);
        REQUIRE(v12.timelineSemaphore == VK_TRUE && v13.synchronization2 == VK_TRUE);
        REQUIRE(v13.dynamicRendering == VK_TRUE && v13.maintenance4 == VK_FALSE);
        REQUIRE(v12.bufferDeviceAddress == VK_FALSE && !features.features.robustBufferAccess);
        FIND(chain, FEATURES_2, &length);
        REQUIRE_EQ(length, 3);
    }
#undef MERGE
}

/* Of extensions and of features. */
LIB_VULKAN_CASE(device_refused)
{
    const char *names[ROOM] = {"untouched"};
    uint32_t count = ROOM;
    culv_vk_device_features storage = culv_vk_device_features_init();
    VkPhysicalDeviceTimelineSemaphoreFeatures mine = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    const void *chain = w;
    culv_vk_device_desc d = desc_of(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, 0);
#define EXTENSIONS(...)                                                                            \
    LIB_ERROR(culv_vk_merge_device_extensions(&d, 0, NULL, &count, names), __VA_ARGS__)
#define FEATURES(...)                                                                              \
    LIB_ERROR(culv_vk_merge_device_features(&d, &mine, &storage, &chain), __VA_ARGS__)
#define BOTH(change, ...) SPOILT(d, change, EXTENSIONS(__VA_ARGS__); FEATURES(__VA_ARGS__))
    BOTH(d.get_instance_proc_addr = NULL, INVALID, NULL_ARGUMENT);
    BOTH(d.instance = NULL, INVALID, NULL_ARGUMENT);
    BOTH(d.physical_device = NULL, INVALID, NULL_ARGUMENT,
         "culv_vk_device_desc.physical_device is NULL");
    BOTH(d.struct_size = 1, INVALID, STRUCT_SIZE);
    BOTH(d.api_version = VK_API_VERSION_1_0, INVALID, VULKAN_VERSION);
    LIB_INVALID(culv_vk_merge_device_features(&d, &mine, NULL, &chain), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_merge_device_features(&d, &mine, &storage, NULL), NULL_ARGUMENT);
    SPOILT(storage, storage.struct_size = 0, FEATURES(INVALID, STRUCT_SIZE));
    SPOILT(storage, storage.struct_size = sizeof storage - 8, FEATURES(INVALID, STRUCT_SIZE));
    SPOILT(count, count = 1, EXTENSIONS(INVALID, VALUE); REQUIRE_EQ(count, 1));
    d.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.api_version = VK_API_VERSION_1_0};
    BOTH((void)0, UNSUPPORTED, VULKAN_VERSION);
    lib_lying = (lib_lies){.no_timeline_feature = true};
    FEATURES(UNSUPPORTED, EXTENSION_MISSING, "timelineSemaphore");
    lib_lying = (lib_lies){.hides = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
                           .says_type = true,
                           .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU};
    EXTENSIONS(UNSUPPORTED, EXTENSION_MISSING, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
               w->vk.properties.deviceName);
    lib_lying.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
    EXTENSIONS(UNSUPPORTED, LAYER_MISSING, "culv_vk_instance_layers()");
#undef BOTH
#undef FEATURES
#undef EXTENSIONS
    lib_lying = (lib_lies){0};
    REQUIRE_EQ(count, ROOM);
    REQUIRE_EQ_STR(names[0], "untouched");
    REQUIRE(chain == w && mine.timelineSemaphore == VK_FALSE && mine.pNext == NULL);
    REQUIRE_EQ((int)storage.timeline_semaphore.sType, 0);
}

#undef TEST_GROUP
#define TEST_GROUP "attach."
/* Ranking and attaching: extensions, layers, versions, device groups. */

static const culv_vk_candidate *attach_find(const culv_vk_candidate *list, uint32_t count,
                                            VkPhysicalDevice device)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].physical_device == device) return &list[i];
    FAIL("the device is not in the ranking");
}

LIB_VULKAN_CASE(ranking, .title = "rank.order_and_reasons")
{
    static culv_vk_candidate list[LIB_CANDIDATES];
    uint32_t count = lib_rank(vkGetInstanceProcAddr, w->vk.instance, NULL, list);
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
    const culv_vk_candidate *c = attach_find(list, count, w->vk.physical);
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
    count = lib_rank(vkGetInstanceProcAddr, w->vk.instance, &d, list);
    c = attach_find(list, count, w->vk.physical);
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
    static culv_vk_candidate list[LIB_CANDIDATES];
    OWN(culv_device) *device = NULL;
    uint32_t alone = lib_rank(vkGetInstanceProcAddr, w->vk.instance, NULL, list);
    lib_lying = (lib_lies){.stranger_like = w->vk.physical};
    uint32_t count = lib_rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(count, alone + 1);
    REQUIRE(list[0].reachable && list[0].physical_device != lib_stranger());
    const culv_vk_candidate *stranger = attach_find(list, count, lib_stranger());
    REQUIRE(!stranger->reachable && stranger->cuda_ordinal == -1 &&
            stranger->driver == CULV_DRIVER_AUTO);
    REQUIRE_EQ(stranger->reason, CULV_REASON_DEVICE_UNKNOWN);
    LIB_REFUSES(
        device,
        culv_device_open_for_vk(lib_lying_loader, w->vk.instance, lib_stranger(), NULL, &device),
        NO_DEVICE, DEVICE_UNKNOWN, "Vulkan device '", "CUDA has: ");
    LIB_OK(culv_device_open_for_vk(lib_lying_loader, w->vk.instance, list[0].physical_device, NULL,
                                   &device));
}

LIB_CASE(null_fields)
{
    culv_vk_device *vk = NULL;
    culv_vk_device_desc d = lib_vk_desc(w);
#define ROW(field)                                                                                 \
    SPOILT(d, d.field = NULL,                                                                      \
           LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, NULL_ARGUMENT, #field))
    ROW(get_instance_proc_addr);
    ROW(instance);
    ROW(physical_device);
    ROW(device);
#undef ROW
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
    static culv_vk_candidate list[LIB_CANDIDATES];
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
    uint32_t count = lib_rank(vkGetInstanceProcAddr, w.vk.instance, NULL, list);
    const culv_vk_candidate *c = attach_find(list, count, w.vk.physical);
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
    static culv_vk_candidate list[LIB_CANDIDATES];
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
    uint32_t count = lib_rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(attach_find(list, count, w->vk.physical)->group_size, 2);
}

LIB_CASE(old_vulkan)
{
    culv_vk_device *vk = NULL;
    culv_device *device = NULL;
    static culv_vk_candidate list[LIB_CANDIDATES];
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.api_version = VK_API_VERSION_1_0};
    LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), UNSUPPORTED, VULKAN_VERSION);
    LIB_REFUSES(
        device,
        culv_device_open_for_vk(lib_lying_loader, w->vk.instance, w->vk.physical, NULL, &device),
        UNSUPPORTED, VULKAN_VERSION);
    uint32_t count = lib_rank(lib_lying_loader, w->vk.instance, NULL, list);
    REQUIRE_EQ(attach_find(list, count, w->vk.physical)->reason, CULV_REASON_VULKAN_VERSION);

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
    static culv_vk_candidate list[LIB_CANDIDATES];
    static const culv_uuid zeros;
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    const char *names[8];
    uint32_t room = 8;
    VkInstance instance = VK_NULL_HANDLE;
    culv_device *device = NULL;
    culv_vk_device *vk = NULL;
    VK_OK(vkCreateInstance(&info, NULL, &instance));
    const uint32_t count = lib_rank(get, instance, NULL, list);
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
    static culv_vk_candidate list[LIB_CANDIDATES];
    CUuuid uuid;
    raw_vk old;
    culv_device *device = NULL;
    REQUIRE_EQ(cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    raw_vk_open_instance(
        &old, &(raw_vk_options){.software = cu->software, .api_version = VK_API_VERSION_1_1});
    REQUIRE(raw_vk_find(&old, (const uint8_t *)uuid.bytes, &old.physical) > 0);
    uint32_t count = lib_rank(vkGetInstanceProcAddr, old.instance, NULL, list);
    REQUIRE(attach_find(list, count, old.physical)->reachable);
    REQUIRE(attach_find(list, count, old.physical)->has_timeline_semaphore);
    LIB_OK(
        culv_device_open_for_vk(vkGetInstanceProcAddr, old.instance, old.physical, NULL, &device));
    culv_device_close(&device);
    raw_vk_close(&old);
}
