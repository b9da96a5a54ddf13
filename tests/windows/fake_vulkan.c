/* SPDX-License-Identifier: MIT */
/* A Vulkan for tests of Windows handles: one device, whose VkDeviceMemory and VkSemaphore are
 * sections, exported as NT handles once, as the specification has it, and as KMT numbers; and the
 * attachment's calls on it. */
#include "handles.h"

static const wchar_t exported_name[] = L"Local\\culvert test export";
static const uint32_t kmt_number = 0x40000002u;

static struct {
    const char *missing;  /* a function that the device does not have */
    VkResult answer;      /* of exports and imports, when not VK_SUCCESS */
    bool no_handle;       /* exports succeed and give none */
    unsigned exports;     /* as NT handles */
    VkFlags export_types; /* of VkExportMemoryAllocateInfo or VkExportSemaphoreCreateInfo */
    VkFlags import_type;
    HANDLE import_handle;
    LPCWSTR import_name;
    bool import_open;
    void (*on_import)(const VkImportMemoryWin32HandleInfoKHR *import, VkDeviceSize size);
    uint8_t uuid[VK_UUID_SIZE];
} vulkan;

static const void *in_chain(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *s = chain;
    while (s != NULL && s->sType != type)
        s = s->pNext;
    return s;
}

static VKAPI_ATTR VkResult VKAPI_CALL nothing(void)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL groups(VkInstance instance, uint32_t *count,
                                             VkPhysicalDeviceGroupProperties *out)
{
    (void)instance;
    (void)out;
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device,
                                             VkPhysicalDeviceProperties *out)
{
    (void)device;
    memset(out, 0, sizeof *out);
    out->apiVersion = VK_API_VERSION_1_3;
    out->vendorID = 0x10de;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    strcpy(out->deviceName, "fake GPU");
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device,
                                              VkPhysicalDeviceProperties2 *out)
{
    properties(device, &out->properties);
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
            memcpy(((VkPhysicalDeviceIDProperties *)(void *)s)->deviceUUID, vulkan.uuid,
                   VK_UUID_SIZE);
}

static VKAPI_ATTR void VKAPI_CALL features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    (void)device;
    VkPhysicalDeviceTimelineSemaphoreFeatures *t = out->pNext;
    if (t != NULL && t->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
        t->timelineSemaphore = VK_TRUE;
}

static VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice device,
                                                    VkPhysicalDeviceMemoryProperties *out)
{
    (void)device;
    memset(out, 0, sizeof *out);
    out->memoryTypeCount = out->memoryHeapCount = 1;
    out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    out->memoryHeaps[0].size = UINT64_C(1) << 30;
}

static VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice device, const char *layer,
                                                 uint32_t *count, VkExtensionProperties *out)
{
    static const char *const names[] = {"VK_KHR_external_memory_win32",
                                        "VK_KHR_external_semaphore_win32"};
    (void)device;
    (void)layer;
    for (uint32_t i = 0; out != NULL && i < 2 && i < *count; i++)
        strcpy(out[i].extensionName, names[i]);
    *count = 2;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL external_buffer(VkPhysicalDevice device,
                                                  const VkPhysicalDeviceExternalBufferInfo *info,
                                                  VkExternalBufferProperties *out)
{
    (void)device;
    memset(&out->externalMemoryProperties, 0, sizeof out->externalMemoryProperties);
    if (info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT) return;
    out->externalMemoryProperties.externalMemoryFeatures =
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    out->externalMemoryProperties.compatibleHandleTypes = info->handleType;
}

static VKAPI_ATTR void VKAPI_CALL
external_semaphore(VkPhysicalDevice device, const VkPhysicalDeviceExternalSemaphoreInfo *info,
                   VkExternalSemaphoreProperties *out)
{
    (void)device;
    out->externalSemaphoreFeatures =
        info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT
            ? VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT
            : 0;
}

static VkResult export(VkFlags type, VkFlags kmt, HANDLE *out)
{
    if (vulkan.answer != VK_SUCCESS || vulkan.no_handle) return vulkan.answer;
    if (type == kmt) {
        *out = (HANDLE)(uintptr_t)kmt_number;
    } else {
        *out = section_make(exported_name);
        vulkan.exports++;
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_memory(VkDevice device,
                                                 const VkMemoryGetWin32HandleInfoKHR *info,
                                                 HANDLE *out)
{
    (void)device;
    return export(info->handleType, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_semaphore(VkDevice device,
                                                    const VkSemaphoreGetWin32HandleInfoKHR *info,
                                                    HANDLE *out)
{
    (void)device;
    return export(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL counter(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    (void)device;
    (void)semaphore;
    *out = 7;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device,
                                                       const VkSemaphoreCreateInfo *info,
                                                       const VkAllocationCallbacks *callbacks,
                                                       VkSemaphore *out)
{
    const VkExportSemaphoreCreateInfo *export_info =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    (void)device;
    (void)callbacks;
    vulkan.export_types = export_info != NULL ? export_info->handleTypes : 0;
    *out = (VkSemaphore)(uintptr_t)0x51;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo *external =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    (void)device;
    (void)callbacks;
    REQUIRE(external != NULL &&
            external->handleTypes == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
    *out = (VkBuffer)(uintptr_t)0x61;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL buffer_needs(VkDevice device,
                                               const VkBufferMemoryRequirementsInfo2 *info,
                                               VkMemoryRequirements2 *out)
{
    (void)device;
    (void)info;
    out->memoryRequirements =
        (VkMemoryRequirements){.size = 65536, .alignment = 256, .memoryTypeBits = 1};
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *callbacks,
                                               VkDeviceMemory *out)
{
    const VkExportMemoryAllocateInfo *export_info =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportMemoryWin32HandleInfoKHR *import =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR);
    (void)device;
    (void)callbacks;
    vulkan.export_types = export_info != NULL ? export_info->handleTypes : 0;
    if (import != NULL) {
        vulkan.import_type = import->handleType;
        vulkan.import_handle = import->handle;
        vulkan.import_name = import->name;
        vulkan.import_open = import->handle != NULL && scene_handle_is_open(import->handle);
    }
    if (vulkan.answer != VK_SUCCESS) return vulkan.answer;
    if (import != NULL && vulkan.on_import != NULL) vulkan.on_import(import, info->allocationSize);
    *out = (VkDeviceMemory)(uintptr_t)0x71;
    return VK_SUCCESS;
}

#define ROW(name, function)                                                                        \
    {                                                                                              \
#        name, (PFN_vkVoidFunction)(function)                                                      \
    }

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name);

static PFN_vkVoidFunction find(const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } rows[] = {ROW(vkEnumeratePhysicalDeviceGroups, groups),
                ROW(vkGetPhysicalDeviceProperties, properties),
                ROW(vkGetPhysicalDeviceProperties2, properties2),
                ROW(vkGetPhysicalDeviceFeatures2, features2),
                ROW(vkGetPhysicalDeviceMemoryProperties, memory_properties),
                ROW(vkEnumerateDeviceExtensionProperties, extensions),
                ROW(vkGetPhysicalDeviceExternalBufferProperties, external_buffer),
                ROW(vkGetPhysicalDeviceExternalSemaphoreProperties, external_semaphore),
                ROW(vkGetDeviceProcAddr, device_proc),
                ROW(vkGetMemoryWin32HandleKHR, get_memory),
                ROW(vkGetSemaphoreWin32HandleKHR, get_semaphore),
                ROW(vkGetSemaphoreCounterValue, counter),
                ROW(vkCreateSemaphore, create_semaphore),
                ROW(vkCreateBuffer, create_buffer),
                ROW(vkGetBufferMemoryRequirements2, buffer_needs),
                ROW(vkAllocateMemory, allocate),
                ROW(vkGetDeviceBufferMemoryRequirements, NULL),
                ROW(vkGetDeviceImageMemoryRequirements, NULL)};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].function;
    return (PFN_vkVoidFunction)nothing;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    (void)device;
    return vulkan.missing != NULL && strcmp(name, vulkan.missing) == 0 ? NULL : find(name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL loader(VkInstance instance, const char *name)
{
    (void)instance;
    return find(name);
}

static culv_vk_device_desc fake_vulkan_desc(void)
{
    static int instance, physical, device;
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = loader;
    d.instance = (VkInstance)(void *)&instance;
    d.physical_device = (VkPhysicalDevice)(void *)&physical;
    d.device = (VkDevice)(void *)&device;
    d.api_version = VK_API_VERSION_1_3;
    return d;
}

void fake_vulkan_attach(attached *a, culv_device *device,
                        void (*on_import)(const VkImportMemoryWin32HandleInfoKHR *import,
                                          VkDeviceSize size))
{
    culv_device_caps caps = culv_device_caps_init();
    const culv_vk_device_desc d = fake_vulkan_desc();
    *a = (attached){device, NULL};
    OK(culv_device_get_caps(device, &caps));
    memcpy(vulkan.uuid, caps.uuid.bytes, sizeof vulkan.uuid);
    vulkan.on_import = on_import;
    OK(culv_vk_attach(device, &d, &a->vk));
}

/* The cases ------------------------------------------------------------------------------------ */

#define VK_CASE(...)                                                                               \
    TEST_ON(attached, a, fake_vulkan_attach(a, handles_device(), NULL), culv_vk_detach(&a->vk),    \
            __VA_ARGS__)

/* Memory is 0, a semaphore 1. */
static const char *const export_calls[] = {"vkGetMemoryWin32HandleKHR",
                                           "vkGetSemaphoreWin32HandleKHR"};

static culv_result export_dup(culv_vk_device *vk, int what, culv_handle_type type, culv_handle *out)
{
    return what == 0 ? culv_vk_memory_export_dup(vk, (VkDeviceMemory)(uintptr_t)0x71, type, out)
                     : culv_vk_semaphore_export_dup(vk, (VkSemaphore)(uintptr_t)0x51, type, out);
}

VK_CASE(attaching)
{
    const char *names[4];
    const culv_vk_device_desc d = fake_vulkan_desc();
    culv_vk_device *out = NULL;
    REQUIRE(culv_vk_device_extensions(VK_API_VERSION_1_3, 4, names) == 2);
    REQUIRE(strcmp(names[0], "VK_KHR_external_memory_win32") == 0);
    REQUIRE(strcmp(names[1], "VK_KHR_external_semaphore_win32") == 0);
    REQUIRE(culv_vk_device_extensions(VK_API_VERSION_1_1, 4, names) == 3);
    culv_vk_detach(&a->vk);
    for (int i = 0; i < 2; i++) {
        vulkan.missing = export_calls[i];
        REFUSES(culv_vk_attach(a->device, &d, &out), INVALID, EXTENSION_MISSING);
        REQUIRE_SAYS(names[i]);
    }
    vulkan.missing = NULL;
    REQUIRE(out == NULL);
}

/* Attached for fallbacks, a VkDevice may lack the extensions: then there is no function to call. */
VK_CASE(not_enabled)
{
    culv_vk_detach(&a->vk);
    for (int i = 0; i < 2; i++) {
        culv_vk_device *vk = NULL;
        culv_handle out;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        culv_vk_device_desc d = fake_vulkan_desc();
        vulkan.missing = export_calls[i];
        d.fallback = CULV_FALLBACK_ANY;
        OK(culv_vk_attach(a->device, &d, &vk));
        REFUSES(export_dup(vk, i, CULV_HANDLE_OPAQUE_WIN32, &out), UNSUPPORTED, EXTENSION_MISSING);
        vulkan.missing = NULL;
        culv_vk_memory_from_handle_desc fd = culv_vk_memory_from_handle_desc_init();
        HANDLE section = section_make(exported_name);
        fd.handle = culv_handle_opaque_win32(section);
        fd.size = 65536;
        if (i == 0)
            REFUSES(culv_vk_memory_from_handle(vk, &fd, &memory), UNSUPPORTED, EXTENSION_MISSING);
        REQUIRE(scene_handle_is_open(section));
        CloseHandle(section);
        culv_vk_detach(&vk);
    }
}

VK_CASE(exports)
{
    for (int i = 0; i < 2; i++) {
        culv_handle nt, kmt, out;
        OK(export_dup(a->vk, i, CULV_HANDLE_OPAQUE_WIN32, &nt));
        REQUIRE(nt.type == CULV_HANDLE_OPAQUE_WIN32 && nt.name == NULL &&
                scene_handle_is_open(nt.value.win32));
        OK(export_dup(a->vk, i, CULV_HANDLE_OPAQUE_WIN32_KMT, &kmt));
        REQUIRE(kmt.type == CULV_HANDLE_OPAQUE_WIN32_KMT &&
                kmt.value.win32 == (void *)(uintptr_t)kmt_number);
        culv_handle_close(&kmt);
        culv_handle_close(&nt);
        REQUIRE(!scene_name_lives(exported_name));
        vulkan.no_handle = true;
        REFUSES(export_dup(a->vk, i, CULV_HANDLE_OPAQUE_WIN32, &out), INVALID, NOT_EXPORTABLE);
        vulkan.no_handle = false;
        REFUSES(export_dup(a->vk, i, CULV_HANDLE_OPAQUE_FD, &out), UNSUPPORTED, HANDLE_TYPE);
    }
}

/* By the Vulkan road no handle passes through the caller's hands, and none is left. */
VK_CASE(imports, .title = "vulkan_imports")
{
    culv_vk_device *vk = a->vk;
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_shared_semaphore *made = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = (VkDeviceMemory)(uintptr_t)0x72;
    md.allocation_size = 65536;
    OK(culv_vk_memory_import(vk, &md, &memory));
    REQUIRE(scene_name_lives(exported_name)); /* the import's own reference */
    culv_memory_destroy(&memory);
    REQUIRE(!scene_name_lives(exported_name));
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    sd.semaphore = (VkSemaphore)(uintptr_t)0x52;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    OK(culv_vk_semaphore_import(vk, &sd, &semaphore));
    REQUIRE(culv_semaphore_last_value(semaphore) == 7);
    culv_semaphore_destroy(&semaphore, NULL);
    REQUIRE(!scene_name_lives(exported_name));
    OK(culv_vk_semaphore_create(vk, NULL, &made));
    REQUIRE(vulkan.export_types == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT);
    culv_shared_semaphore_destroy(&made, NULL);
    REQUIRE(!scene_name_lives(exported_name));

    /* This CUDA maps nothing: all that was made before goes. */
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 65536,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    bd.create_info = &info;
    REFUSES(culv_vk_buffer_create(vk, &bd, &buffer), DRIVER, DRIVER_REFUSED);
    REQUIRE(vulkan.export_types == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
    REQUIRE(buffer == NULL && !scene_name_lives(exported_name));
}

VK_CASE(from_handles)
{
    culv_vk_device *vk = a->vk;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    HANDLE section = section_make(exported_name);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.size = 65536;
    d.memory_type_bits = 1;
    for (int refused = 0; refused < 2; refused++) {
        vulkan.answer = refused ? VK_ERROR_INVALID_EXTERNAL_HANDLE : VK_SUCCESS;
        d.handle = culv_handle_opaque_win32(section);
        REQUIRE(culv_vk_memory_from_handle(vk, &d, &memory) ==
                (refused ? CULV_ERROR_DRIVER : CULV_OK));
        REQUIRE(vulkan.import_type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT &&
                vulkan.import_open);
        REQUIRE(vulkan.import_handle != section && vulkan.import_name == NULL);
        /* Vulkan keeps none */
        REQUIRE(!scene_handle_is_open(vulkan.import_handle) && scene_handle_is_open(section));
    }
    vulkan.answer = VK_SUCCESS;
    d.handle = culv_handle_opaque_win32_named(exported_name);
    OK(culv_vk_memory_from_handle(vk, &d, &memory));
    REQUIRE(vulkan.import_handle == NULL && vulkan.import_name == exported_name);
    d.handle = culv_handle_opaque_win32_kmt((void *)(uintptr_t)kmt_number);
    OK(culv_vk_memory_from_handle(vk, &d, &memory));
    REQUIRE(vulkan.import_type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT);
    REQUIRE(vulkan.import_handle == (void *)(uintptr_t)kmt_number && vulkan.import_name == NULL);
    d.handle = culv_handle_dma_buf_fd(3);
    REFUSES(culv_vk_memory_from_handle(vk, &d, &memory), UNSUPPORTED, HANDLE_TYPE);
    CloseHandle(section);
    REQUIRE(!scene_name_lives(exported_name));
}
