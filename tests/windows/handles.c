/* SPDX-License-Identifier: MIT */
/* NT handles, names and KMT handles: duplicated, closed, imported by calls of the driver that note
 * what they are given, and exported and imported by a Vulkan that makes them. The objects are the
 * twin's: what is proved is whose handle is closed when, what the drivers are told, and the bytes
 * behind it; not that a real driver takes it. That memory and timelines behind opaque handles serve
 * is ipc.exe's, and behind KMT handles d3d12.exe's. */
#ifndef VK_NO_PROTOTYPES
#    define VK_NO_PROTOTYPES
#endif
#include "scene.h"
/* After windows.h, whose types they want. */
#include <vulkan/vulkan_core.h>
#include <vulkan/vulkan_win32.h>

#include "cuda/device.h"
#include "labels.h"
#include "vulkan/vk.h"
#include "win32_share.h"

#include <culvert/vulkan_vmm.h>
#include <wchar.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of fakes */

static const wchar_t object_name[] = L"Local\\culvert test object";

static void *section_make(const wchar_t *name)
{
    HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, name);
    REQUIRE(section != NULL);
    return section;
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

static culv_device *kept;

static void end_kept(void)
{
    culv_device_close(&kept);
    REQUIRE(scene_driver_objects() == 0);
}

static culv_device *handles_device(void)
{
    static const test_fixture fixture = {.end = end_kept};
    if (kept != NULL) return kept;
    scene_find_controls();
    OK(culv_device_open_by_ordinal(0, NULL, &kept));
    CU_OK(CULV_CUDA(kept)->cuCtxSetCurrent(culv_device_context(kept)));
    test_keep(&fixture);
    return kept;
}

/* What an import told the driver, which refuses it. */
static struct {
    int type;
    unsigned flags;
    uint64_t size;
    void *handle;
    const void *name;
} told;

static CUresult CUDAAPI refuse_memory(CUexternalMemory *out,
                                      const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
    told.type = (int)d->type;
    told.flags = d->flags;
    told.size = d->size;
    told.handle = d->handle.win32.handle;
    told.name = d->handle.win32.name;
    return CUDA_ERROR_UNKNOWN;
}

static CUresult CUDAAPI refuse_semaphore(CUexternalSemaphore *out,
                                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d)
{
    told.type = (int)d->type;
    told.handle = d->handle.win32.handle;
    told.name = d->handle.win32.name;
    return CUDA_ERROR_UNKNOWN;
}

/* The driver sees a duplicate of an NT handle, which is closed, a name and a KMT number as they
 * are. */
TEST(imports)
{
    enum { NT, NAMED, KMT };
    static const struct {
        int form;
        bool dedicated;
        culv_semaphore_type semaphore; /* NONE: memory */
        int type;                      /* CU_EXTERNAL_..._HANDLE_TYPE_... */
    } rows[] = {
        {NT, false, CULV_SEMAPHORE_NONE, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32},
        {NT, true, CULV_SEMAPHORE_NONE, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32},
        {NAMED, false, CULV_SEMAPHORE_NONE, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32},
        {KMT, false, CULV_SEMAPHORE_NONE, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT},
        {NT, false, CULV_SEMAPHORE_BINARY, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32},
        {NAMED, false, CULV_SEMAPHORE_BINARY, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32},
        {KMT, false, CULV_SEMAPHORE_BINARY, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT},
        {NT, false, CULV_SEMAPHORE_TIMELINE,
         CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32},
    };
    culv_device *device = handles_device();
    culvi_cuda *cuda = (culvi_cuda *)(uintptr_t)device->cuda;
    const culvi_cuda twins = *cuda;
    void *const number = (void *)(uintptr_t)0x40000006u;
    HANDLE section = section_make(object_name);
    culv_memory *m = NULL;
    culv_semaphore *s = NULL;
    culv_semaphore_desc sd = culv_semaphore_desc_init();
    cuda->cuImportExternalMemory = refuse_memory;
    cuda->cuImportExternalSemaphore = refuse_semaphore;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_memory_desc md = culv_memory_desc_init();
        const int form = rows[i].form;
        md.handle = sd.handle = form == NT      ? culv_handle_opaque_win32(section)
                                : form == NAMED ? culv_handle_opaque_win32_named(object_name)
                                                : culv_handle_opaque_win32_kmt(number);
        md.size = 65536;
        md.dedicated = rows[i].dedicated;
        sd.type = rows[i].semaphore;
        REFUSES_AS(sd.type == CULV_SEMAPHORE_NONE ? culv_memory_import(device, &md, &m)
                                                  : culv_semaphore_import(device, &sd, &s),
                   CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED, "");
        REQUIRE(told.type == rows[i].type && told.name == (form == NAMED ? object_name : NULL));
        REQUIRE(sd.type != CULV_SEMAPHORE_NONE ||
                (told.size == 65536 && told.flags == rows[i].dedicated));
        if (form != NT) REQUIRE(told.handle == (form == KMT ? number : NULL));
        if (form == NT)
            REQUIRE(told.handle != NULL && told.handle != section &&
                    !scene_handle_is_open(told.handle));
        REQUIRE(m == NULL && s == NULL && scene_handle_is_open(section));
    }
    *cuda = twins;
    CloseHandle(section);
    REQUIRE(!scene_name_lives(object_name));
    sd.handle = culv_handle_opaque_win32_kmt(number);
    sd.type = CULV_SEMAPHORE_TIMELINE;
    REFUSES(culv_semaphore_import(device, &sd, &s), INVALID, HANDLE_TYPE);
    REQUIRE(s == NULL);
    REFUSES(culv_dma_buf_export_dup(device, 4096, 4096, 0, &sd.handle), UNSUPPORTED, HANDLE_TYPE);
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

/* One device, whose VkDeviceMemory and VkSemaphore are sections that the twin imports, exported as
 * NT handles, and as KMT numbers; and the attachment's calls on it. */
static const wchar_t exported_name[] = L"Local\\culvert test export";
static const uint32_t kmt_number = 0x40000002u;
enum { MEMORY = 65536, ODD = 70001 };
static unsigned char put[ODD];

static struct {
    VkResult answer; /* of exports and imports, when not VK_SUCCESS */
    bool no_handle;  /* exports succeed and give none */
    VkFlags import_type;
    HANDLE import_handle;
    LPCWSTR import_name;
    VkDeviceSize import_size;
    bool import_open, import_holds; /* behind the handle is what CUDA has written */
} vulkan;

#define FAKE(result, name, ...) static VKAPI_ATTR result VKAPI_CALL name(__VA_ARGS__)

FAKE(void, external_semaphore, VkPhysicalDevice device,
     const VkPhysicalDeviceExternalSemaphoreInfo *info, VkExternalSemaphoreProperties *out)
{
    out->externalSemaphoreFeatures =
        info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT
            ? VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT
            : 0;
}

static VkResult export(VkFlags type, VkFlags kmt, uint32_t share, HANDLE *out)
{
    REQUIRE(type == kmt || type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
    if (vulkan.answer != VK_SUCCESS || vulkan.no_handle) return vulkan.answer;
    *out = type == kmt ? (HANDLE)(uintptr_t)kmt_number
                       : scene_share(exported_name, share, false, MEMORY);
    return VK_SUCCESS;
}

FAKE(VkResult, get_memory, VkDevice device, const VkMemoryGetWin32HandleInfoKHR *info, HANDLE *out)
{
    return export(info->handleType, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT,
                  CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32, out);
}

FAKE(VkResult, get_semaphore, VkDevice device, const VkSemaphoreGetWin32HandleInfoKHR *info,
     HANDLE *out)
{
    return export(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT,
                  CULV_SOFT_SHARE_SEMAPHORE +
                      CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32,
                  out);
}

FAKE(VkResult, counter, VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    *out = 7;
    return VK_SUCCESS;
}

/* Behind a handle of the twin's VMM memory are the bytes of `put`. */
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

FAKE(VkResult, allocate, VkDevice device, const VkMemoryAllocateInfo *info,
     const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    const VkImportMemoryWin32HandleInfoKHR *import = info->pNext;
    if (import != NULL && import->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR) {
        vulkan.import_type = import->handleType;
        vulkan.import_handle = import->handle;
        vulkan.import_name = import->name;
        vulkan.import_size = info->allocationSize;
        vulkan.import_open = import->handle != NULL && scene_handle_is_open(import->handle);
        vulkan.import_holds = vulkan.import_open && holds(import->handle);
    }
    if (vulkan.answer != VK_SUCCESS) return vulkan.answer;
    *out = (VkDeviceMemory)(uintptr_t)0x71;
    return VK_SUCCESS;
}

/* Its VkPhysicalDevice is the UUID of the GPU that it says to be; other calls do nothing. */
FAKE(VkResult, nothing, void)
{
    return VK_SUCCESS;
}

FAKE(void, properties, VkPhysicalDevice device, VkPhysicalDeviceProperties *out)
{
    *out = (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_1, .deviceName = "fake"};
}

FAKE(void, properties2, VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceIDProperties *id = out->pNext;
    if (id->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
        memcpy(id->deviceUUID, device, VK_UUID_SIZE);
}

FAKE(PFN_vkVoidFunction, find, VkInstance owner, const char *name)
{
#define ROW(call, function)                                                                        \
    if (strcmp(name, #call) == 0) return (PFN_vkVoidFunction)(function)
    ROW(vkGetDeviceProcAddr, find);
    ROW(vkGetPhysicalDeviceProperties, properties);
    ROW(vkGetPhysicalDeviceProperties2, properties2);
    ROW(vkGetPhysicalDeviceExternalSemaphoreProperties, external_semaphore);
    ROW(vkGetMemoryWin32HandleKHR, owner == (void *)&vulkan ? NULL : get_memory);
    ROW(vkGetSemaphoreWin32HandleKHR, get_semaphore);
    ROW(vkGetSemaphoreCounterValue, counter);
    ROW(vkAllocateMemory, allocate);
    return (PFN_vkVoidFunction)nothing;
}

/* A device attached to it, which says to be its GPU. */
typedef struct attached {
    culv_device *device;
    culv_vk_device *vk;
} attached;

static void fake_vulkan_attach(attached *a)
{
    culv_vk_device_desc d = culv_vk_device_desc_init();
    *a = (attached){handles_device(), NULL};
    d.get_instance_proc_addr = find;
    d.physical_device = (VkPhysicalDevice)(void *)&a->device->caps.uuid;
    d.instance = (VkInstance)(void *)a;
    d.device = (VkDevice)(void *)&vulkan; /* without the extension for memory */
    REFUSES(culv_vk_attach(a->device, &d, &a->vk), INVALID, EXTENSION_MISSING);
    d.device = (VkDevice)(void *)a;
    OK(culv_vk_attach(a->device, &d, &a->vk));
    a->vk->memory_types.memoryTypeCount = 1;
}

#define VK_CASE(...)                                                                               \
    TEST_ON(attached, a, fake_vulkan_attach(a), culv_vk_detach(&a->vk), __VA_ARGS__)

/* Memory is 0, a semaphore 1. */
static culv_result export_dup(culv_vk_device *vk, int what, culv_handle_type type, culv_handle *out)
{
    return what == 0 ? culv_vk_memory_export_dup(vk, (VkDeviceMemory)(uintptr_t)0x71, type, out)
                     : culv_vk_semaphore_export_dup(vk, (VkSemaphore)(uintptr_t)0x51, type, out);
}

VK_CASE(exports)
{
    const char *names[4];
    REQUIRE(culv_vk_device_extensions(VK_API_VERSION_1_3, 4, names) == 2);
    REQUIRE(strcmp(names[0], "VK_KHR_external_memory_win32") == 0);
    REQUIRE(strcmp(names[1], "VK_KHR_external_semaphore_win32") == 0);
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
    /* A VkDevice may lack the extensions if it is attached for fallbacks alone. */
    culv_handle out;
    a->vk->table.vkGetMemoryWin32HandleKHR = NULL;
    a->vk->table.vkGetSemaphoreWin32HandleKHR = NULL;
    for (int i = 0; i < 2; i++)
        REFUSES_SO(export_dup(a->vk, i, CULV_HANDLE_OPAQUE_WIN32, &out), UNSUPPORTED,
                   EXTENSION_MISSING, names[i]);
}

/* By the Vulkan road no handle passes through the caller's hands, and none is left. */
static culv_result import_all(void *user)
{
    culv_vk_device *vk = user;
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    md.memory = (VkDeviceMemory)(uintptr_t)0x72;
    md.allocation_size = MEMORY;
    sd.semaphore = (VkSemaphore)(uintptr_t)0x52;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    culv_result result = culv_vk_memory_import(vk, &md, &memory);
    REQUIRE(!scene_name_lives(exported_name)); /* the twin maps it, and has no handle */
    culv_memory_destroy(&memory);
    if (result == CULV_OK) result = culv_vk_semaphore_import(vk, &sd, &semaphore);
    if (result == CULV_OK) REQUIRE(culv_semaphore_last_value(semaphore) == 7);
    culv_semaphore_destroy(&semaphore, NULL);
    return result;
}

static void require_none(void *vk)
{
    (void)culv_device_collect(kept);
    REQUIRE(!scene_name_lives(exported_name) && scene_driver_objects() == 0);
}

VK_CASE(vulkan_imports)
{
    const scene_tortured t = {
        .work = import_all, .require_none = require_none, .user = a->vk, .least = 4};
    scene_torture(&t);
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
    d.handle = culv_handle_dma_buf_fd(3);
    REFUSES(culv_vk_memory_from_handle(vk, &d, &memory), UNSUPPORTED, HANDLE_TYPE);
    CloseHandle(section);
    REQUIRE(!scene_name_lives(exported_name));
}

/* CUDA's VMM memory on its way to Vulkan, as often as wished: what a KMT number leads to is
 * d3d12.exe's. */
VK_CASE(vmm_handles)
{
    const uint32_t nt = 1u << CULV_HANDLE_OPAQUE_WIN32, kmt = 1u << CULV_HANDLE_OPAQUE_WIN32_KMT;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation *made = scene_allocate(a->device, ODD, nt),
                        *only_kmt = scene_allocate(a->device, ODD, kmt);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vk_memory_from_handle_desc desc = culv_vk_memory_from_handle_desc_init();
    culv_vmm_range *range = scene_map_vmm(a->device, made);
    OK(culv_vmm_allocation_get_info(made, &info));
    scene_pattern(put, ODD, 1);
    cuda_write(CULV_CUDA(a->device), NULL, culv_vmm_range_pointer(range), put, ODD);
    scene_unmap_vmm(&range);
    for (unsigned n = 0; n < 3; n++) {
        memset(&vulkan.import_type, 0, sizeof vulkan.import_type);
        OK(culv_vk_memory_from_vmm(a->vk, made, NULL, &memory));
        REQUIRE(vulkan.import_type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
        REQUIRE(vulkan.import_holds && vulkan.import_size == info.size);
        REQUIRE(!scene_handle_is_open(vulkan.import_handle)); /* nobody keeps it */
    }
    culv_vmm_allocation_destroy(&made);
    /* It takes NT handles alone. */
    REFUSES(culv_vk_memory_from_vmm(a->vk, only_kmt, NULL, &memory), INVALID, NOT_EXPORTABLE);
    OK(culv_vmm_export_dup(only_kmt, CULV_HANDLE_OPAQUE_WIN32_KMT, &desc.handle));
    desc.size = info.size;
    desc.exporter = info.device;
    OK(culv_vk_memory_from_handle(a->vk, &desc, &memory));
    REQUIRE(vulkan.import_type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT);
    REQUIRE(vulkan.import_handle == desc.handle.value.win32 && vulkan.import_name == NULL);
    REQUIRE(vulkan.import_size == info.size);
    culv_vmm_allocation_destroy(&only_kmt);
}
