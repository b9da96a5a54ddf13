/* Drivers that are missing, too old or another's, and devices that are not each other's: with the twin posing
 * as NVIDIA's libcuda.so.1 (two invented devices), and with libraries that are no driver.
 * SPDX-License-Identifier: MIT */
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const test_case identity_cases[];

/* A file of the build tree, without which the case makes no sense (a bundle may lack it). */
static void need(const char *relative)
{
    char path[TEST_PATH_MAX];
    if (access(test_path(path, relative), R_OK) != 0) SKIP("no %s", path);
}

static void pose(void)
{
    need("lib/pose/libcuda.so.1");
    lib_with_libcuda_of("lib/pose");
    lib_with_environment("CULVERT_SOFT", NULL);
}

static culv_device_caps caps_of(const culv_device *device)
{
    culv_device_caps caps = culv_device_caps_init();
    LIB_OK(culv_device_get_caps(device, &caps));
    return caps;
}

/* The posing driver passes for NVIDIA's: Culvert has only its file's name to go by. */
static void posing_driver(void)
{
    culv_device *first = NULL, *second = NULL;
    pose();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &first));
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &second));
    culv_device_caps one = caps_of(first), two = caps_of(second);
    REQUIRE_EQ(one.is_software, 0);
    REQUIRE(strstr(one.name, "posing") != NULL);
    REQUIRE(memcmp(one.uuid.bytes, two.uuid.bytes, 16) != 0);
    REQUIRE(one.ordinal == 0 && two.ordinal == 1);
    REQUIRE(culv_device_context(first) != culv_device_context(second));
    culv_device_close(&first);
    culv_device_close(&second);
    LIB_REFUSES(culv_device, first, culv_device_open_by_ordinal(2, NULL, &first), CULV_ERROR_NO_DEVICE,
                CULV_REASON_DEVICE_UNKNOWN);
    LIB_SAYS(one.name);
    LIB_SAYS(two.name);
}

/* Memory and semaphores of another GPU: refused before the driver, which would take some of them, is asked.
 */
static void exporter_is_another_device(void)
{
    culv_device *device = NULL, *other = NULL;
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    pose();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &device));
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &other));
    FILE *file = tmpfile();
    REQUIRE(file != NULL && ftruncate(fileno(file), 65536) == 0);
    lib_fd fd = lib_fd_watch(fileno(file));
    culv_memory_desc m = culv_memory_desc_init();
    m.handle = culv_handle_opaque_fd(fd.fd);
    m.size = 4096;
    m.exporter = caps_of(other).uuid;
    LIB_REFUSES(culv_memory, memory, culv_memory_import_take(device, &m, &memory), CULV_ERROR_INVALID,
                CULV_REASON_DEVICE_MISMATCH);
    LIB_SAYS(caps_of(device).name); /* who it was tried on */
    lib_fd_require_untouched(&fd);
    LIB_REFUSES(culv_memory, memory, culv_memory_import_borrow(device, &m, &memory), CULV_ERROR_INVALID,
                CULV_REASON_DEVICE_MISMATCH);
    culv_semaphore_desc s = culv_semaphore_desc_init();
    s.handle = m.handle;
    s.type = CULV_SEMAPHORE_TIMELINE;
    s.exporter = m.exporter;
    LIB_REFUSES(culv_semaphore, semaphore, culv_semaphore_import_take(device, &s, &semaphore),
                CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH);
    LIB_REFUSES(culv_semaphore, semaphore, culv_semaphore_import_borrow(device, &s, &semaphore),
                CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, false);
    fclose(file);
    culv_device_close(&other);
    culv_device_close(&device);
}

static void attach_to_another_device(void)
{
    lib_world w = {0};
    culv_device *device = NULL;
    culv_vk *vk = NULL;
    pose();
    raw_vk_open(&w.vk, &(raw_vk_options){.without_semaphore_fd = true, .without_memory_fd = true});
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &device));
    culv_vk_desc d = lib_vk_desc(&w);
    LIB_REFUSES(culv_vk, vk, culv_vk_attach(device, &d, &vk), CULV_ERROR_INVALID,
                CULV_REASON_DEVICE_MISMATCH);
    LIB_SAYS(w.vk.properties.deviceName);
    LIB_SAYS(caps_of(device).name);
    LIB_SAYS("culv_vk_device_open()");
    culv_device_close(&device);
    /* No posing device is a Vulkan device. */
    LIB_REFUSES(culv_device, device,
                culv_vk_device_open(vkGetInstanceProcAddr, w.vk.instance, w.vk.physical, NULL, &device),
                CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN);
    LIB_SAYS("posing device 0");
    LIB_SAYS("posing device 1");
    raw_vk_close(&w.vk);
}

/* NVIDIA's driver and the twin in one process: a UUID decides, never a fall-back. */
static void two_drivers(void)
{
    need("lib/pose/libcuda.so.1");
    need("lib/libculvert-soft.so.0");
    lib_with_libcuda_of("lib/pose");
    lib_with_environment("CULVERT_SOFT", "1");
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    culv_device *nvidia = NULL, *soft = NULL;
    culv_device_desc d = culv_device_desc_init();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &nvidia)); /* ordinals are NVIDIA's */
    REQUIRE(!culv_device_is_software(nvidia));
    d.driver = CULV_DRIVER_SOFT;
    if (culv_device_open_by_ordinal(0, &d, &soft) != CULV_OK) SKIP("%s", culv_last_error_message());
    REQUIRE(culv_device_is_software(soft));
    culv_uuid uuid = caps_of(soft).uuid, posing = caps_of(nvidia).uuid;
    culv_device_close(&soft);
    LIB_OK(culv_device_open_by_uuid(&uuid, NULL, &soft));
    REQUIRE(culv_device_is_software(soft));
    culv_device_close(&soft);
    d.driver = CULV_DRIVER_NVIDIA;
    LIB_REFUSES(culv_device, soft, culv_device_open_by_uuid(&uuid, &d, &soft), CULV_ERROR_NO_DEVICE,
                CULV_REASON_DEVICE_UNKNOWN);
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(culv_device, soft, culv_device_open_by_uuid(&posing, &d, &soft), CULV_ERROR_NO_DEVICE,
                CULV_REASON_DEVICE_UNKNOWN);
    LIB_REFUSES(culv_device, soft, culv_device_open_by_ordinal(2, NULL, &soft), CULV_ERROR_NO_DEVICE,
                CULV_REASON_DEVICE_UNKNOWN); /* not the twin's in NVIDIA's place */
    culv_device_close(&nvidia);
}

static void context_of_another_device(void)
{
    pose();
    culv_device *device = NULL, *other = NULL;
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &other));
    culv_device_desc d = culv_device_desc_init();
    d.context = culv_device_context(other);
    LIB_REFUSES(culv_device, device, culv_device_open_by_ordinal(0, &d, &device), CULV_ERROR_INVALID,
                CULV_REASON_CONTEXT_DEVICE);
    LIB_SAYS("culv_device_desc.context");
    LIB_OK(culv_device_open_by_ordinal(1, &d, &device));
    REQUIRE(culv_device_context(device) == d.context);
    culv_device_close(&device);
    culv_device_close(&other);
}

/* No driver ------------------------------------------------------------------------------------------------
 */

static void no_nvidia_driver(void)
{
    need("lib/broken/libcuda.so.1"); /* a file of text: found, and no library */
    lib_with_libcuda_of("lib/broken");
    lib_with_environment("CULVERT_SOFT", NULL);
    culv_device *device = NULL;
    culv_uuid uuid = {{1}};
    LIB_REFUSES(culv_device, device, culv_device_open_by_ordinal(0, NULL, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_MISSING);
    LIB_SAYS("libcuda.so.1");
    LIB_SAYS("CULVERT_SOFT=1"); /* what would help */
    LIB_REFUSES(culv_device, device, culv_device_open_by_uuid(&uuid, NULL, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_MISSING);
    LIB_SAYS("CULVERT_SOFT=1");
}

static void driver_is_too_old(void)
{
    need("lib/old/libcuda.so.1");
    lib_with_libcuda_of("lib/old");
    lib_with_environment("CULVERT_SOFT", NULL);
    culv_device *device = NULL;
    LIB_REFUSES(culv_device, device, culv_device_open_by_ordinal(0, NULL, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_TOO_OLD);
    LIB_SAYS("525");
}

/* The twin needs a software Vulkan device for its partner. */
static void twin_without_vulkan(void)
{
    need("lib/libculvert-soft.so.0");
    lib_with_environment("VK_DRIVER_FILES", "/nonexistent");
    lib_with_environment("VK_ICD_FILENAMES", "/nonexistent");
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(culv_device, device, culv_device_open_by_ordinal(0, &d, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_INIT);
    LIB_SAYS("lavapipe");
}

#ifdef CULV_STATIC /* the shared library has the twin beside it */
static void twin_is_missing(void)
{
    lib_with_environment("LD_LIBRARY_PATH", NULL);
    REQUIRE(setenv("CULVERT_SOFT_PATH", "/nonexistent", 1) == 0);
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(culv_device, device, culv_device_open_by_ordinal(0, &d, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_SOFT_MISSING);
    LIB_SAYS("libculvert-soft.so.0");
    LIB_SAYS("CULVERT_SOFT_PATH");
    unsetenv("CULVERT_SOFT");
    LIB_ERROR(culv_soft_enable(), CULV_ERROR_UNSUPPORTED, CULV_REASON_SOFT_MISSING);
    REQUIRE_EQ(culv_soft_enabled(), 0);
}
#endif

/* A software Vulkan device where the twin is not allowed: the message says how to allow it. */
static void twin_is_not_allowed(void)
{
    need("lib/broken/libcuda.so.1");
    lib_with_libcuda_of("lib/broken");
    lib_with_environment("CULVERT_SOFT", NULL);
    lib_world w = {0};
    culv_device *device = NULL;
    static culv_vk_candidate list[16];
    uint32_t count = 16;
    raw_vk_open_instance(&w.vk, &(raw_vk_options){.software = false});
    for (uint32_t i = 0; i < 16; i++)
        list[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w.vk.instance, NULL, &count, list));
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE(!list[i].reachable);
        if (list[i].type != VK_PHYSICAL_DEVICE_TYPE_CPU) continue;
        found = true;
        REQUIRE(strstr(list[i].why, "CULVERT_SOFT=1") != NULL);
        LIB_REFUSES(
            culv_device, device,
            culv_vk_device_open(vkGetInstanceProcAddr, w.vk.instance, list[i].physical_device, NULL, &device),
            CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_MISSING);
        LIB_SAYS("CULVERT_SOFT=1");
        LIB_SAYS("culv_soft_enable()");
    }
    REQUIRE_EQ(culv_vk_instance_layers(vkGetInstanceProcAddr, 0, NULL), 0);
    raw_vk_close(&w.vk);
    if (!found) SKIP("no software Vulkan device");
}

const test_case identity_cases[] = {
    {.name = "identity.posing_driver", .run = posing_driver},
    {.name = "identity.exporter_is_another_device", .run = exporter_is_another_device},
    {.name = "identity.attach_to_another_device", .run = attach_to_another_device},
    {.name = "identity.context_of_another_device", .run = context_of_another_device},
    {.name = "identity.two_drivers", .run = two_drivers},
    {.name = "no_driver.nvidias_is_missing", .run = no_nvidia_driver},
    {.name = "no_driver.too_old", .run = driver_is_too_old},
    {.name = "no_driver.twin_without_vulkan", .run = twin_without_vulkan},
#ifdef CULV_STATIC
    {.name = "no_driver.twin_is_missing", .run = twin_is_missing},
#endif
    {.name = "no_driver.twin_is_not_allowed", .run = twin_is_not_allowed},
    {.name = NULL},
};
