/* SPDX-License-Identifier: MIT */
/* NT handles, names and KMT handles: duplicated, closed, imported by calls of the driver that note
 * what they are given, and exported and imported by a Vulkan that makes them. Sections stand for
 * the objects, or are the twin's VMM memory: what is proved is whose handle is closed when, what
 * the drivers are told, and the bytes behind it; not that a real driver takes it. */
#ifndef VK_NO_PROTOTYPES
#    define VK_NO_PROTOTYPES
#endif
#include "scene.h"
/* After windows.h, whose types they want. */
#include "cuda/device.h"
#include "labels.h"

#include <culvert/vulkan.h>
#include <culvert/vulkan_vmm.h>
#include <vulkan/vulkan_core.h>
#include <vulkan/vulkan_win32.h>
#include <wchar.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of fakes */

static const wchar_t object_name[] = L"Local\\culvert test object";

/* Sections ------------------------------------------------------------------------------------- */

static const uint32_t mark = 0x43554c56; /* at the begin of those that stand for objects */

static void *section_make(const wchar_t *name)
{
    HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, name);
    REQUIRE(section != NULL);
    uint32_t *word = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof *word);
    REQUIRE(word != NULL);
    *word = mark;
    UnmapViewOfFile(word);
    return section;
}

/* The section behind a handle or a name, opened anew; NULL if it is not the test's. */
static HANDLE open_section(HANDLE handle, const wchar_t *name)
{
    HANDLE opened = NULL;
    if (name != NULL)
        opened = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    else if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &opened, 0, FALSE,
                              DUPLICATE_SAME_ACCESS))
        return NULL;
    const uint32_t *word =
        opened != NULL ? MapViewOfFile(opened, FILE_MAP_READ, 0, 0, sizeof *word) : NULL;
    const bool right = word != NULL && *word == mark;
    if (word != NULL) UnmapViewOfFile((LPCVOID)word);
    if (right || opened == NULL) return opened;
    CloseHandle(opened);
    return NULL;
}

/* The driver's imports, as cuda.h says of NT handles: the caller keeps the handle, the import holds
 * a reference of its own. KMT handles hold none and are only noted. */

static struct {
    CUresult answer;               /* of the next imports */
    unsigned memories, semaphores; /* imported and not destroyed */
    /* Of the last import: the descriptor. */
    int type;
    unsigned flags;
    uint64_t size;
    void *handle;
    const wchar_t *name;
    bool found; /* handle or name led to the section that the test made */
} driver;

/* Handles of the driver's: pointers to these. */
typedef struct object {
    HANDLE section; /* NULL of a KMT handle */
    unsigned *count;
} object;

static CUresult import_object(bool kmt, HANDLE handle, const void *name, unsigned *count,
                              void **out)
{
    driver.handle = handle;
    driver.name = name;
    driver.found = false;
    if ((handle == NULL) == (name == NULL) || (kmt && name != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    const HANDLE section = kmt ? NULL : open_section(handle, name);
    driver.found = section != NULL;
    if (!kmt && section == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (driver.answer != CUDA_SUCCESS) {
        if (section != NULL) CloseHandle(section);
        return driver.answer;
    }
    object *made = calloc(1, sizeof *made);
    REQUIRE(made != NULL);
    *made = (object){section, count};
    ++*count;
    *out = made;
    return CUDA_SUCCESS;
}

#define IMPORT(call, kind, handle_type, count, told)                                               \
    static CUresult CUDAAPI call(handle_type *out, const CUDA_EXTERNAL_##kind##_HANDLE_DESC *d)    \
    {                                                                                              \
        driver.type = (int)d->type;                                                                \
        driver.flags = d->flags;                                                                   \
        driver.size = told;                                                                        \
        return import_object(d->type == CU_EXTERNAL_##kind##_HANDLE_TYPE_OPAQUE_WIN32_KMT,         \
                             d->handle.win32.handle, d->handle.win32.name, &driver.count,          \
                             (void **)out);                                                        \
    }
IMPORT(import_memory, MEMORY, CUexternalMemory, memories, d->size)
IMPORT(import_semaphore, SEMAPHORE, CUexternalSemaphore, semaphores, 0)
#undef IMPORT

static CUresult destroy(object *gone)
{
    --*gone->count;
    if (gone->section != NULL) CloseHandle(gone->section);
    free(gone);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI destroy_memory(CUexternalMemory memory)
{
    return destroy((object *)(void *)memory);
}

static CUresult CUDAAPI destroy_semaphore(CUexternalSemaphore semaphore)
{
    return destroy((object *)(void *)semaphore);
}

static CUresult CUDAAPI map_nothing(CUdeviceptr *out, CUexternalMemory memory,
                                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static culv_device *kept; /* the twin's, with these calls */

static void end_kept(void)
{
    culv_device_close(&kept);
    REQUIRE(driver.memories == 0 && driver.semaphores == 0);
}

static culv_device *handles_device(void)
{
    static const test_fixture fixture = {.end = end_kept};
    if (kept != NULL) return kept;
    OK(culv_device_open_by_ordinal(0, NULL, &kept));
    culvi_cuda *cuda = (culvi_cuda *)(uintptr_t)kept->cuda;
    cuda->cuImportExternalMemory = import_memory;
    cuda->cuDestroyExternalMemory = destroy_memory;
    cuda->cuImportExternalSemaphore = import_semaphore;
    cuda->cuDestroyExternalSemaphore = destroy_semaphore;
    cuda->cuExternalMemoryGetMappedBuffer = map_nothing;
    test_keep(&fixture);
    return kept;
}

/* Handles -------------------------------------------------------------------------------------- */

TEST(duplicates)
{
    culv_handle nt = culv_handle_opaque_win32(section_make(object_name)), copies[2];
    for (int i = 0; i < 2; i++) {
        OK(culv_handle_dup(&nt, &copies[i]));
        REQUIRE(copies[i].type == CULV_HANDLE_OPAQUE_WIN32 &&
                copies[i].value.win32 != nt.value.win32);
        REQUIRE(scene_handle_is_open(copies[i].value.win32));
    }
    REQUIRE(copies[0].value.win32 != copies[1].value.win32);
    void *number = nt.value.win32;
    culv_handle_close(&nt);
    REQUIRE(nt.type == CULV_HANDLE_NONE && !scene_handle_is_open(number));
    culv_handle_close(&nt);
    REQUIRE(scene_name_lives(object_name));
    culv_handle_close(&copies[0]);
    REQUIRE(scene_name_lives(object_name));
    culv_handle_close(&copies[1]);
    REQUIRE(!scene_name_lives(object_name));
    culv_handle_close(NULL);

    culv_handle named = culv_handle_opaque_win32_named(object_name),
                out; /* owns nothing, though nobody has it */
    OK(culv_handle_dup(&named, &out));
    REQUIRE(out.name == object_name && out.value.win32 == NULL);
    culv_handle_close(&out);
    culv_handle kmt = culv_handle_opaque_win32_kmt((void *)(uintptr_t)0x40000006u);
    OK(culv_handle_dup(&kmt, &out));
    REQUIRE(out.value.win32 == kmt.value.win32);
    culv_handle_close(&out);
    REQUIRE(out.type == CULV_HANDLE_NONE);

    /* A KMT number that happens to be an open NT handle's stays open. */
    void *section = section_make(NULL);
    kmt = culv_handle_opaque_win32_kmt(section);
    culv_handle_close(&kmt);
    REQUIRE(scene_handle_is_open(section));
    /* Nor are other systems' bytes a handle. */
    static const culv_handle_type others[] = {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_DMA_BUF_FD,
                                              (culv_handle_type)99};
    for (int i = 0; i < 3; i++) {
        out = culv_handle_opaque_win32(section);
        out.type = others[i];
        culv_handle_close(&out);
        REQUIRE(out.type == CULV_HANDLE_NONE && scene_handle_is_open(section));
    }
    CloseHandle(section);
}

TEST(wrong_handles)
{
    HANDLE pipe, other_end;
    HANDLE section = section_make(NULL), closed = section_make(NULL);
    REQUIRE(CreatePipe(&pipe, &other_end, NULL, 0));
    CloseHandle(closed);
    const struct {
        culv_handle_type type;
        HANDLE handle;
        const wchar_t *name;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {CULV_HANDLE_OPAQUE_WIN32, NULL, NULL, WHY(INVALID, NULL_ARGUMENT)},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, NULL, NULL, WHY(INVALID, NULL_ARGUMENT)},
        {CULV_HANDLE_OPAQUE_WIN32, NULL, L"", WHY(INVALID, VALUE)},
        {CULV_HANDLE_OPAQUE_WIN32, section, object_name, WHY(INVALID, VALUE)},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, section, object_name, WHY(INVALID, VALUE)},
        {CULV_HANDLE_OPAQUE_WIN32, closed, NULL, WHY(INVALID, HANDLE_BAD)},
        {CULV_HANDLE_OPAQUE_WIN32, INVALID_HANDLE_VALUE, NULL, WHY(INVALID, HANDLE_BAD)},
        {CULV_HANDLE_OPAQUE_WIN32, pipe, NULL, WHY(INVALID, HANDLE_KIND)},
        {CULV_HANDLE_OPAQUE_FD, pipe, NULL, WHY(UNSUPPORTED, HANDLE_TYPE)},
        {CULV_HANDLE_DMA_BUF_FD, pipe, NULL, WHY(UNSUPPORTED, HANDLE_TYPE)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_handle out, h = culv_handle_win32(rows[i].type, rows[i].handle);
        h.name = rows[i].name;
        REFUSES_AS(culv_handle_dup(&h, &out), rows[i].result, rows[i].reason, "");
    }
    REQUIRE(CloseHandle(section) && CloseHandle(pipe) && CloseHandle(other_end));
}

/* Imports one object by each of its forms. What the driver saw was a duplicate; who has what after
 * it. */
static void import(culv_device *device, bool memory, culv_semaphore_type kind, int nt_type)
{
    for (int form = 0; form < 4; form++) { /* plain, dedicated, refused, by name */
        void *section = section_make(object_name);
        culv_handle handle = form < 3 ? culv_handle_opaque_win32(section)
                                      : culv_handle_opaque_win32_named(object_name);
        culv_memory *m = NULL;
        culv_semaphore *s = NULL;
        culv_memory_desc md = culv_memory_desc_init();
        culv_semaphore_desc sd = culv_semaphore_desc_init();
        md.handle = sd.handle = handle;
        md.size = 65536;
        md.dedicated = form == 1;
        sd.type = kind;
        driver.answer = form == 2 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
        culv_result r =
            memory ? culv_memory_import(device, &md, &m) : culv_semaphore_import(device, &sd, &s);
        driver.answer = CUDA_SUCCESS;
        REQUIRE(r == (form == 2 ? CULV_ERROR_DRIVER : CULV_OK));
        REQUIRE(driver.type == nt_type && driver.found);
        REQUIRE(driver.flags == (memory && form == 1 ? 1u : 0u) &&
                (!memory || driver.size == 65536));
        if (form < 3) {
            REQUIRE(driver.handle != NULL && driver.handle != section && driver.name == NULL);
            REQUIRE(!scene_handle_is_open(driver.handle)); /* the duplicate is closed */
            REQUIRE(scene_handle_is_open(section));
        } else {
            REQUIRE(driver.handle == NULL && driver.name == object_name);
        }
        CloseHandle(section);
        REQUIRE(scene_name_lives(object_name) ==
                (form != 2)); /* the import has a reference of its own */
        culv_memory_destroy(&m);
        culv_semaphore_destroy(&s, NULL);
        REQUIRE(!scene_name_lives(object_name));
        REQUIRE(driver.memories == 0 && driver.semaphores == 0);
    }
}

TEST(imports)
{
    culv_device *device = handles_device();
    import(device, true, CULV_SEMAPHORE_NONE, 2); /* CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_BINARY,
           2); /* CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_TIMELINE, 10); /* ..._TIMELINE_SEMAPHORE_WIN32 */
}

TEST(kmt_imports)
{
    culv_device *device = handles_device();
    culv_memory *m = NULL;
    culv_semaphore *s = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_semaphore_desc sd = culv_semaphore_desc_init();
    void *number = (void *)(uintptr_t)0x40000006u;
    md.handle = sd.handle = culv_handle_opaque_win32_kmt(number);
    md.size = 65536;
    OK(culv_memory_import(device, &md, &m));
    culv_handle_close(&md.handle);
    REQUIRE(driver.type == 3 && driver.handle == number && driver.name == NULL);
    sd.type = CULV_SEMAPHORE_BINARY;
    OK(culv_semaphore_import(device, &sd, &s));
    REQUIRE(driver.type == 3 && driver.handle == number);
    culv_semaphore_destroy(&s, NULL);
    culv_memory_destroy(&m);
    sd.type = CULV_SEMAPHORE_TIMELINE;
    REFUSES(culv_semaphore_import(device, &sd, &s), INVALID, HANDLE_TYPE);
    REQUIRE(s == NULL && driver.memories == 0 && driver.semaphores == 0);
}

TEST(refused_before_the_driver)
{
    culv_device *device = handles_device();
    culv_memory *m = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_handle out;
    md.size = 65536;
    md.handle = culv_handle_opaque_fd(1);
    REFUSES(culv_memory_import(device, &md, &m), UNSUPPORTED, HANDLE_TYPE);
    md.handle = culv_handle_dma_buf_fd(1);
    REFUSES(culv_memory_import(device, &md, &m), UNSUPPORTED, HANDLE_TYPE);
    REFUSES(culv_dma_buf_export_dup(device, 4096, 4096, 0, &out), UNSUPPORTED, HANDLE_TYPE);
    void *section = section_make(NULL);
    md.handle = culv_handle_opaque_win32(section);
    md.exporter.bytes[0] = 1;
    REFUSES(culv_memory_import(device, &md, &m), INVALID, DEVICE_MISMATCH);
    REQUIRE(scene_handle_is_open(section) && m == NULL);
    CloseHandle(section);
    culv_device_caps caps = culv_device_caps_init();
    OK(culv_device_get_caps(device, &caps));
    const uint32_t opaque = 1u << CULV_HANDLE_OPAQUE_WIN32 | 1u << CULV_HANDLE_OPAQUE_WIN32_KMT;
    REQUIRE(caps.memory_handle_types ==
            (opaque | 1u << CULV_HANDLE_D3D12_HEAP | 1u << CULV_HANDLE_D3D12_RESOURCE |
             1u << CULV_HANDLE_D3D11_RESOURCE | 1u << CULV_HANDLE_D3D11_RESOURCE_KMT));
    REQUIRE(caps.semaphore_handle_types ==
            (opaque | 1u << CULV_HANDLE_D3D12_FENCE | 1u << CULV_HANDLE_D3D11_FENCE));
}

/* A Vulkan ------------------------------------------------------------------------------------- */

/* One device, whose VkDeviceMemory and VkSemaphore are sections, exported as NT handles once, as
 * the specification has it, and as KMT numbers; and the attachment's calls on it. */
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

#define FAKE(result, name, ...) static VKAPI_ATTR result VKAPI_CALL name(__VA_ARGS__)

static const void *in_chain(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *s = chain;
    while (s != NULL && s->sType != type)
        s = s->pNext;
    return s;
}

FAKE(VkResult, nothing, void)
{
    return VK_SUCCESS;
}

FAKE(VkResult, groups, VkInstance instance, uint32_t *count, VkPhysicalDeviceGroupProperties *out)
{
    *count = 0;
    return VK_SUCCESS;
}

FAKE(void, properties, VkPhysicalDevice device, VkPhysicalDeviceProperties *out)
{
    memset(out, 0, sizeof *out);
    out->apiVersion = VK_API_VERSION_1_3;
    out->vendorID = 0x10de;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    strcpy(out->deviceName, "fake GPU");
}

FAKE(void, properties2, VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out)
{
    properties(device, &out->properties);
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
            memcpy(((VkPhysicalDeviceIDProperties *)(void *)s)->deviceUUID, vulkan.uuid,
                   VK_UUID_SIZE);
}

FAKE(void, features2, VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    VkPhysicalDeviceTimelineSemaphoreFeatures *t = out->pNext;
    if (t != NULL && t->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
        t->timelineSemaphore = VK_TRUE;
}

FAKE(void, memory_properties, VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *out)
{
    memset(out, 0, sizeof *out);
    out->memoryTypeCount = out->memoryHeapCount = 1;
    out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    out->memoryHeaps[0].size = UINT64_C(1) << 30;
}

FAKE(VkResult, extensions, VkPhysicalDevice device, const char *layer, uint32_t *count,
     VkExtensionProperties *out)
{
    static const char *const names[] = {"VK_KHR_external_memory_win32",
                                        "VK_KHR_external_semaphore_win32"};
    for (uint32_t i = 0; out != NULL && i < 2 && i < *count; i++)
        strcpy(out[i].extensionName, names[i]);
    *count = 2;
    return VK_SUCCESS;
}

FAKE(void, external_buffer, VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo *info,
     VkExternalBufferProperties *out)
{
    memset(&out->externalMemoryProperties, 0, sizeof out->externalMemoryProperties);
    if (info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT) return;
    out->externalMemoryProperties.externalMemoryFeatures =
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    out->externalMemoryProperties.compatibleHandleTypes = info->handleType;
}

FAKE(void, external_semaphore, VkPhysicalDevice device,
     const VkPhysicalDeviceExternalSemaphoreInfo *info, VkExternalSemaphoreProperties *out)
{
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

FAKE(VkResult, get_memory, VkDevice device, const VkMemoryGetWin32HandleInfoKHR *info, HANDLE *out)
{
    return export(info->handleType, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT, out);
}

FAKE(VkResult, get_semaphore, VkDevice device, const VkSemaphoreGetWin32HandleInfoKHR *info,
     HANDLE *out)
{
    return export(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT, out);
}

FAKE(VkResult, counter, VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    *out = 7;
    return VK_SUCCESS;
}

FAKE(VkResult, create_semaphore, VkDevice device, const VkSemaphoreCreateInfo *info,
     const VkAllocationCallbacks *callbacks, VkSemaphore *out)
{
    const VkExportSemaphoreCreateInfo *export_info =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    vulkan.export_types = export_info != NULL ? export_info->handleTypes : 0;
    *out = (VkSemaphore)(uintptr_t)0x51;
    return VK_SUCCESS;
}

FAKE(VkResult, create_buffer, VkDevice device, const VkBufferCreateInfo *info,
     const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo *external =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    REQUIRE(external != NULL &&
            external->handleTypes == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
    *out = (VkBuffer)(uintptr_t)0x61;
    return VK_SUCCESS;
}

FAKE(void, buffer_needs, VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
     VkMemoryRequirements2 *out)
{
    out->memoryRequirements =
        (VkMemoryRequirements){.size = 65536, .alignment = 256, .memoryTypeBits = 1};
}

FAKE(VkResult, allocate, VkDevice device, const VkMemoryAllocateInfo *info,
     const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    const VkExportMemoryAllocateInfo *export_info =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportMemoryWin32HandleInfoKHR *import =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR);
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

FAKE(PFN_vkVoidFunction, device_proc, VkDevice device, const char *name);

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

FAKE(PFN_vkVoidFunction, device_proc, VkDevice device, const char *name)
{
    return vulkan.missing != NULL && strcmp(name, vulkan.missing) == 0 ? NULL : find(name);
}

FAKE(PFN_vkVoidFunction, loader, VkInstance instance, const char *name)
{
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

/* A device attached to it, which says to be its GPU. `on_import` looks at what vkAllocateMemory
 * imports, before the handle is closed; NULL: nobody does. */
typedef struct attached {
    culv_device *device;
    culv_vk_device *vk;
} attached;

static void fake_vulkan_attach(attached *a, culv_device *device,
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
        REFUSES_SO(culv_vk_attach(a->device, &d, &out), INVALID, EXTENSION_MISSING, names[i]);
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
VK_CASE(vulkan_imports)
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

/* CUDA's VMM memory on its way to Vulkan ------------------------------------------------------- */

enum { ODD = 70001 };
static unsigned char put[ODD];

/* What Vulkan was given last. */
static struct {
    unsigned count;
    VkFlags type;
    VkDeviceSize size;
    HANDLE handle;
    bool right; /* the bytes behind it are those of `put` */
} seen;

static bool holds(HANDLE section)
{
    culv_soft_vmm_label label;
    unsigned char *view = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
    if (view == NULL) return false;
    memcpy(&label, view + CULV_SOFT_VMM_LABEL_AT, sizeof label);
    const bool right = memcmp(label.magic, CULV_SOFT_VMM_LABEL_MAGIC, sizeof label.magic) == 0 &&
                       label.size >= ODD && memcmp(view + label.payload, put, ODD) == 0;
    UnmapViewOfFile(view);
    return right;
}

/* A KMT number leads to its exporter's section. */
static bool holds_kmt(HANDLE number)
{
    wchar_t name[64];
    swprintf(name, sizeof name / sizeof name[0], CULV_SOFT_VMM_KMT_NAME,
             (unsigned long)(uintptr_t)number);
    HANDLE record = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    if (record == NULL) return false;
    const culv_soft_vmm_kmt *kmt = MapViewOfFile(record, FILE_MAP_READ, 0, 0, sizeof *kmt);
    const bool right = kmt != NULL && kmt->process == GetCurrentProcessId() &&
                       memcmp(kmt->magic, CULV_SOFT_VMM_KMT_MAGIC, sizeof kmt->magic) == 0 &&
                       holds((HANDLE)(uintptr_t)kmt->section);
    if (kmt != NULL) UnmapViewOfFile(kmt);
    CloseHandle(record);
    return right;
}

static void look(const VkImportMemoryWin32HandleInfoKHR *import, VkDeviceSize size)
{
    seen.count++;
    seen.type = import->handleType;
    seen.size = size;
    seen.handle = import->handle;
    seen.right = seen.type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT
                     ? holds(import->handle)
                     : holds_kmt(import->handle);
}

/* CUDA writes into it. */
static culv_vmm_allocation_info fill(culv_device *device, culv_vmm_allocation *made, unsigned seed)
{
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_range *range = scene_map_vmm(device, made);
    const CUstream stream = scene_stream(device);
    OK(culv_vmm_allocation_get_info(made, &info));
    scene_pattern(put, ODD, seed);
    cuda_write(CULV_CUDA(device), stream, culv_vmm_range_pointer(range), put, ODD);
    CU_OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    scene_unmap_vmm(&range);
    return info;
}

/* A device whose imports are the twin's own. */
static void attach(attached *a)
{
    culv_device *device = NULL;
    memset(&seen, 0, sizeof seen);
    OK(culv_device_open_by_ordinal(0, NULL, &device));
    fake_vulkan_attach(a, device, look);
}

static void detach(attached *a)
{
    culv_vk_detach(&a->vk);
    culv_device_close(&a->device);
}
#define VMM_CASE(...) TEST_ON(attached, a, attach(a), detach(a), __VA_ARGS__)

VMM_CASE(vmm_nt_handles)
{
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation *made = scene_allocate(a->device, ODD, 1u << CULV_HANDLE_OPAQUE_WIN32);
    const culv_vmm_allocation_info info = fill(a->device, made, 1);
    for (unsigned n = 1; n <= 3; n++) { /* as often as wished */
        OK(culv_vk_memory_from_vmm(a->vk, made, NULL, &memory));
        REQUIRE(seen.count == n && seen.right && seen.size == info.size);
        REQUIRE(seen.type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
        REQUIRE(
            !scene_handle_is_open(seen.handle)); /* Vulkan keeps none, and neither does Culvert */
    }
    culv_vmm_allocation_destroy(&made);
}

VMM_CASE(vmm_kmt_handles)
{
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation *made = scene_allocate(a->device, ODD, 1u << CULV_HANDLE_OPAQUE_WIN32_KMT);
    const culv_vmm_allocation_info info = fill(a->device, made, 2);
    culv_vk_memory_from_handle_desc desc = culv_vk_memory_from_handle_desc_init();
    const unsigned before = seen.count;
    REFUSES(culv_vk_memory_from_vmm(a->vk, made, NULL, &memory), INVALID,
            NOT_EXPORTABLE); /* which takes NT handles alone */
    OK(culv_vmm_export_dup(made, CULV_HANDLE_OPAQUE_WIN32_KMT, &desc.handle));
    desc.size = info.size;
    desc.exporter = info.device;
    OK(culv_vk_memory_from_handle(a->vk, &desc, &memory));
    REQUIRE(seen.count == before + 1 && seen.right && seen.size == info.size);
    REQUIRE(seen.type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT);
    REQUIRE(seen.handle == desc.handle.value.win32);
    culv_vmm_allocation_destroy(&made);
    REQUIRE(!holds_kmt(seen.handle)); /* a KMT handle keeps nothing */
}
