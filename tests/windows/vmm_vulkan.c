/* SPDX-License-Identifier: MIT */
/* CUDA's VMM memory on its way to Vulkan, by NT and KMT handles: the twin's allocations, imported
 * by the Vulkan of fake_vulkan.c. What is proved is what Vulkan is given, by the bytes that lie
 * behind it, and that no handle is left; not that a real driver takes it. */
#define TEST_GROUP "vmm_"
#include "handles.h"
/* after windows.h */
#include "labels.h"

#include <culvert/vulkan_vmm.h>
#include <wchar.h>

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

static culv_vmm_allocation *allocate(culv_device *device, uint32_t handle_types)
{
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *made = NULL;
    desc.size = ODD;
    desc.handle_types = handle_types;
    OK(culv_vmm_allocation_create(device, &desc, &made));
    return made;
}

/* CUDA writes into it. */
static void fill(culv_device *device, culv_vmm_allocation *allocation, unsigned seed)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    const culv_cuda_api *cu = CULV_CUDA(device);
    CUcontext context;
    OK(culv_vmm_allocation_get_info(allocation, &info));
    desc.size = info.size;
    for (unsigned i = 0; i < ODD; i++)
        put[i] = (unsigned char)(i * 7 + seed + i / 251);
    OK(culv_vmm_range_create(device, &desc, &range));
    OK(culv_vmm_map(range, 0, allocation, NULL, 0));
    CU_OK(cu->cuCtxPushCurrent(culv_device_context(device)));
    CU_OK(cu->cuMemcpyHtoD(culv_vmm_range_pointer(range), put, ODD));
    CU_OK(cu->cuCtxSynchronize()); /* the copy returns when it has the bytes */
    CU_OK(cu->cuCtxPopCurrent(&context));
    OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    OK(culv_vmm_range_destroy(&range));
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

VMM_CASE(nt_handles)
{
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation *made = allocate(a->device, 1u << CULV_HANDLE_OPAQUE_WIN32);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    OK(culv_vmm_allocation_get_info(made, &info));
    fill(a->device, made, 1);
    for (unsigned n = 1; n <= 3; n++) { /* as often as wished */
        OK(culv_vk_memory_from_vmm(a->vk, made, NULL, &memory));
        REQUIRE(seen.count == n && seen.right && seen.size == info.size);
        REQUIRE(seen.type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT);
        REQUIRE(
            !scene_handle_is_open(seen.handle)); /* Vulkan keeps none, and neither does Culvert */
    }
    culv_vmm_allocation_destroy(&made);
}

VMM_CASE(kmt_handles)
{
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation *made = allocate(a->device, 1u << CULV_HANDLE_OPAQUE_WIN32_KMT);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vk_memory_from_handle_desc desc = culv_vk_memory_from_handle_desc_init();
    const unsigned before = seen.count;
    OK(culv_vmm_allocation_get_info(made, &info));
    fill(a->device, made, 2);
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
