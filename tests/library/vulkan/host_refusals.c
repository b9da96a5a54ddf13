/* SPDX-License-Identifier: MIT */
/* Buffers in host memory: what is refused, what the gate says before, and what a caller can
 * enable. */
#define TEST_GROUP "host.refused."
#include "host_stage.h"

#include <culvert/vulkan_check.h>

#include <inttypes.h>

enum { BYTES = 16384 };

static culv_vk_buffer_create_desc host_desc(const VkBufferCreateInfo *info)
{
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = info;
    d.host_memory = VK_TRUE;
    d.label = "refused";
    return d;
}

static void nothing_is_left(const lib_world *w)
{
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.mappings, 0);
    REQUIRE_EQ(c.deferred, 0);
}

static void refuses(lib_world *w, const culv_vk_buffer_create_desc *d, culv_result class,
                    culv_reason reason, const char *says)
{
    culv_shared_buffer *b;
    LIB_REFUSES_AS(b, culv_vk_buffer_create(w->attachment, d, &b), class, reason, says);
    nothing_is_left(w);
}

/* The alignment, which the message names. */
LIB_CASE(misaligned_memory)
{
    host_require(w);
    VkDeviceSize unit = culv_vk_host_import_alignment(w->attachment);
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &host};
    vkGetPhysicalDeviceProperties2(w->vk.physical, &all);
    REQUIRE_EQ(unit % host.minImportedHostPointerAlignment, 0);
    REQUIRE(unit >= 4096 && (unit & (unit - 1)) == 0);
    char number[32];
    snprintf(number, sizeof number, " %" PRIu64 ", as", (uint64_t)unit);
    host_pages pages = host_pages_alloc(w, 4 * (size_t)unit);
    VkBufferCreateInfo info = host_info(unit);
    culv_vk_buffer_create_desc d = host_desc(&info);
    static const size_t off[] = {1, 4, 64, 2048};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        d.host_pointer = (char *)pages.start + off[i];
        refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_RANGE, number);
        LIB_SAYS("host_pointer");
        d.host_pointer = pages.start;
        d.host_size = unit + off[i];
        refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, number);
        LIB_SAYS("host_size");
        d.host_size = 0;
        info.size = unit - off[i]; /* which is the size of the memory, too */
        refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, number);
        info.size = unit;
    }
    /* A buffer that needs more than there is, and memory that cannot be. */
    info.size = 2 * unit;
    d.host_size = unit;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, "host_size");
    d.host_size = UINT64_MAX - unit + 1;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_RANGE, "address space");
    host_require_unregistered(w, &pages);
    host_pages_free(&pages);
}

LIB_CASE(fields_that_contradict)
{
    host_require(w);
    host_pages pages = host_pages_alloc(w, BYTES);
    VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    d.fallback = CULV_FALLBACK_HOST;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "fallback");
    d.fallback = 0;
    d.host_size = BYTES;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "host_pointer");
    d.host_memory = VK_FALSE;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "host_memory is not set");
    d.host_size = 0;
    d.host_pointer = pages.start;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "host_memory is not set");
    d.host_memory = VK_TRUE;
    /* What the gate refuses of any buffer. */
    info.size = 0;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, "size is 0");
    info.size = BYTES;
    info.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_USAGE, "SPARSE");
    info.flags = 0;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    info.pNext = &external;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "VkExternalMemoryBufferCreateInfo");
    info.pNext = NULL;
    d.memory_properties = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    refuses(w, &d, CULV_ERROR_INVALID, CULV_REASON_MEMORY_TYPE, "memory_properties");
    d.memory_properties = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    culv_shared_buffer *b = NULL;
    LIB_OK(culv_vk_buffer_create(w->attachment, &d, &b));
    culv_shared_buffer_destroy(&b, NULL);
    host_require_unregistered(w, &pages);
    host_pages_free(&pages);
}

/* CUDA pins a page once. */
LIB_CASE(memory_that_cuda_has)
{
    host_require(w);
    const raw_cuda *cu = w->cu;
    host_pages pages = host_pages_alloc(w, BYTES);
    const VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    d.host_pointer = pages.start;
    LIB_CU_OK(w, cu->MemHostRegister(pages.start, pages.size, 0));
    refuses(w, &d, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, "cuMemHostRegister");
    LIB_SAYS("unregister");
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemHostUnregister(pages.start)); /* left as it was */
    lib_leave(w, before);
    culv_shared_buffer *one = host_make(w, BYTES, &pages), *two;
    LIB_REFUSES(two, culv_vk_buffer_create(w->attachment, &d, &two), DRIVER, DRIVER_REFUSED,
                "another buffer");
    REQUIRE_EQ(lib_counts(w).mappings, 1);
    culv_shared_buffer_destroy(&one, NULL);
    host_require_unregistered(w, &pages);
    host_pages_free(&pages);
}

/* Of a VkDevice that was created without the extension. */
TEST(extension_not_enabled)
{
    lib_world w = {.cu = lib_driver()};
    CUuuid uuid;
    REQUIRE_EQ(w.cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    raw_vk_open(&w.vk,
                &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes, .software = w.cu->software});
    w.fds = test_open_fds();
    lib_open_culvert(&w);
    if (!w.cu->software) w.fds = test_open_fds();
    VkDeviceSize unit = culv_vk_host_import_alignment(w.attachment);
    if (unit != 0) {
        REQUIRE(!w.cu->software);
        MEASURED("library.host_extension_not_enabled",
                 "the driver hands its function out all the same");
        lib_close(&w);
        return;
    }
    const VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    refuses(&w, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
            VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    LIB_SAYS("culv_vk_optional_device_extensions()");
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    ask.host_memory = VK_TRUE;
    LIB_ERROR(culv_vk_check_buffer(w.attachment, &info, &ask, &sharing), UNSUPPORTED,
              EXTENSION_MISSING);
    lib_close(&w);
}

/* What a driver could say against it. */
LIB_CASE(driver_that_will_not, .title = "host.refused.by_the_driver")
{
    host_require(w);
    const VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    culv_vk_device *honest = w->attachment;
    static const struct {
        lib_lies lies;
        culv_reason reason;
        const char *says;
    } rows[] = {{{.exports_nothing = true}, CULV_REASON_USAGE, "fewer usages"},
                {{.requires_dedicated = true}, CULV_REASON_DEDICATED, "dedicated"},
                {{.dedicated_only = true}, CULV_REASON_DEDICATED, "dedicated"},
                {{.missing = "vkGetMemoryHostPointerPropertiesEXT"},
                 CULV_REASON_EXTENSION_MISSING,
                 "without"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_device_desc vd = lib_vk_desc(w);
        lib_lying = rows[i].lies;
        vd.get_instance_proc_addr = lib_lying_loader;
        LIB_OK(culv_vk_attach(w->device, &vd, &w->attachment));
        refuses(w, &d, CULV_ERROR_UNSUPPORTED, rows[i].reason, rows[i].says);
        culv_vk_detach(&w->attachment);
    }
    lib_lying = (lib_lies){.missing = NULL};
    w->attachment = honest;
}

/* The gate's answer beforehand. */
LIB_CASE(asked_before, .title = "host.asked_before")
{
    host_require(w);
    VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    ask.host_memory = VK_TRUE;
    for (int turn = 0; turn < 2; turn++) { /* once more from what is kept */
        LIB_OK(culv_vk_check_buffer(w->attachment, &info, &ask, &s));
        REQUIRE_EQ(s.access, CULV_VK_ACCESS_POINTER);
        REQUIRE_EQ(s.handle_types, 0);
        REQUIRE_EQ(s.handle_type, CULV_HANDLE_NONE);
        REQUIRE_EQ(s.dedicated_required, 0);
        REQUIRE_EQ(s.memory_type_index, UINT32_MAX);
        REQUIRE(s.requirements_known && s.requirements.size >= BYTES);
    }
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    info.pNext = &external;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), NOT_EXPORTABLE,
                "HOST_ALLOCATION");
    info.pNext = NULL;
    ask.handle_type = CULV_HANDLE_OPAQUE_FD;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), VALUE);
    ask.handle_type = CULV_HANDLE_NONE;
    ask.memory_properties = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), MEMORY_TYPE);
    ask.memory_properties = 0;
    const VkImageCreateInfo image = image_info(VK_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, 0, NULL);
    LIB_INVALID(culv_vk_check_image(w->attachment, &image, &ask, &s), VALUE, "for buffers");
}

static bool lists(uint32_t api_version, const char *name)
{
    const char *names[8];
    uint32_t count = culv_vk_optional_device_extensions(api_version, 8, names);
    REQUIRE(count <= 8);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

TEST(what_can_be_enabled, .title = "host.what_can_be_enabled")
{
    static const uint32_t versions[] = {VK_API_VERSION_1_1, VK_API_VERSION_1_2, VK_API_VERSION_1_3};
    lib_world w;
    for (size_t i = 0; i < 3; i++) {
        const char *names[8] = {NULL}, *required[8];
        uint32_t count = culv_vk_optional_device_extensions(versions[i], 0, NULL);
        REQUIRE_EQ(culv_vk_optional_device_extensions(versions[i], 1, names), count);
        REQUIRE(names[0] != NULL && names[1] == NULL);
        REQUIRE(lists(versions[i], VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME));
        REQUIRE(lists(versions[i], VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME));
        REQUIRE_EQ(lists(versions[i], VK_KHR_MAINTENANCE_4_EXTENSION_NAME),
                   versions[i] < VK_API_VERSION_1_3);
        REQUIRE_EQ(lists(versions[i], VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME),
                   versions[i] < VK_API_VERSION_1_3);
        /* Nothing twice. */
        uint32_t needed = culv_vk_device_extensions(versions[i], 8, required);
        for (uint32_t k = 0; k < needed; k++)
            REQUIRE(!lists(versions[i], required[k]));
    }
    lib_open(&w);
    uint32_t count = 8;
    static culv_vk_candidate all[8];
    for (uint32_t i = 0; i < count; i++)
        all[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w.vk.instance, NULL, all, count,
                                         &count));
    for (uint32_t i = 0; i < count; i++)
        if (all[i].physical_device == w.vk.physical)
            REQUIRE_EQ(all[i].buffer_host_import,
                       raw_vk_has_device_extension(w.vk.physical,
                                                   VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME));
    lib_close(&w);
}
