/* SPDX-License-Identifier: MIT */
/* Opening and closing what measurements share. See rig.h. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include <culvert/device.h>

/* Beside NVIDIA's driver the twin is an offer; alone it is what was asked for. */
static void allow_twin(void)
{
    if (test_driver() == TEST_DRIVER_NVIDIA) return;
    culv_result result = culv_soft_enable();
    if (test_driver() == TEST_DRIVER_SOFT) CULV_OK_OR_EXIT(result);
}

static void describe_vulkan_driver(rig *r)
{
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    vkGetPhysicalDeviceProperties2(r->vk.physical, &properties);
    snprintf(r->vulkan_driver, sizeof r->vulkan_driver, "%s %s", driver.driverName,
             driver.driverInfo);
}

int rig_solver_device = -1;
int rig_other_gpu = -1;

static void open_culvert(rig *r)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = r->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    CULV_OK_OR_EXIT(rig_solver_device >= 0
                        ? culv_device_open_by_ordinal(rig_solver_device, &desc, &r->device)
                        : culv_device_open_for_vk(vkGetInstanceProcAddr, r->vk.instance,
                                                  r->vk.physical, &desc, &r->device));
    r->caps = culv_device_caps_init();
    CULV_OK_OR_EXIT(culv_device_get_caps(r->device, &r->caps));
    /* Otherwise two different things would be compared. */
    if (culv_device_context(r->device) != r->context)
        FAIL("Culvert works in another context than the raw calls");
    culv_vk_device_desc vk = culv_vk_device_desc_init();
    vk.get_instance_proc_addr = vkGetInstanceProcAddr;
    vk.instance = r->vk.instance;
    vk.physical_device = r->vk.physical;
    vk.device = r->vk.device;
    vk.api_version = VK_API_VERSION_1_3;
    vk.num_physical_devices = 1;
    vk.kernels = r->vk.kernels;
    vk.allow_other_gpu = rig_solver_device >= 0;
    CULV_OK_OR_EXIT(culv_vk_attach(r->device, &vk, &r->attached));
}

static void open_plain(void *state, raw_vk *vk, const raw_vk_options *options)
{
    (void)state;
    raw_vk_open(vk, options);
}

void rig_open(rig *r, int ordinal)
{
    rig_open_with(r, ordinal, open_plain, NULL);
}

static void find_other_gpu(const rig *r)
{
    for (int i = 0; i < r->cu->device_count && rig_other_gpu < 0; i++) {
        CUdevice other;
        int reaches = 0;
        RIG_CU(r->cu->DeviceGet(&other, i));
        if (other == r->ordinal) continue;
        RIG_CU(r->cu->DeviceCanAccessPeer(&reaches, other, r->ordinal));
        if (reaches) rig_other_gpu = i;
    }
}

void rig_open_with(rig *r, int ordinal, rig_open_vulkan *open_vulkan, void *state)
{
    CUuuid uuid;
    memset(r, 0, sizeof *r);
    allow_twin();
    r->cu = raw_cuda_open();
    if (ordinal >= r->cu->device_count)
        FAIL("--device %d: the driver has %d devices", ordinal, r->cu->device_count);
    if (rig_solver_device >= r->cu->device_count)
        FAIL("--solver-device %d: the driver has %d devices", rig_solver_device,
             r->cu->device_count);
    RIG_CU(r->cu->DeviceGet(&r->ordinal, ordinal));
    RIG_CU(r->cu->DeviceGetUuid(&uuid, r->ordinal)); /* the one that draws */
    find_other_gpu(r);
    if (rig_solver_device >= 0) RIG_CU(r->cu->DeviceGet(&r->ordinal, rig_solver_device));
    r->context = raw_cuda_context(r->cu, r->ordinal);
    RIG_CU(r->cu->StreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
    RIG_CU(r->cu->StreamCreate(&r->other_stream, CU_STREAM_NON_BLOCKING));
    open_vulkan(
        state, &r->vk,
        &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes, .software = r->cu->software});
    if (rig_solver_device >= 0) r->vk.kernels = false; /* they run on the GPU that draws */
    describe_vulkan_driver(r);
    open_culvert(r);
}

void rig_close(rig *r)
{
    culv_device_counts counts = culv_device_counts_init();
    CULV_OK_OR_EXIT(culv_device_get_counts(r->device, &counts));
    REQUIRE_EQ(counts.memories + counts.mappings + counts.buffers + counts.images +
                   counts.semaphores + counts.created + counts.deferred,
               0);
    culv_vk_detach(&r->attached);
    culv_device_close(&r->device);
    RIG_CU(r->cu->StreamDestroy(r->other_stream));
    RIG_CU(r->cu->StreamDestroy(r->stream));
    RIG_CU(r->cu->CtxSetCurrent(NULL));
    RIG_CU(r->cu->DevicePrimaryCtxRelease(r->ordinal));
    raw_cuda_require_empty(r->cu);
    raw_vk_close(&r->vk);
}

void rig_timeline_open(rig *r, rig_timeline *timeline)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->vk = raw_vk_timeline(&r->vk, 0, true);
    culv_vk_semaphore_desc desc = culv_vk_semaphore_desc_init();
    desc.semaphore = timeline->vk;
    desc.type = CULV_SEMAPHORE_TIMELINE;
    CULV_OK_OR_EXIT(culv_vk_semaphore_import(r->attached, &desc, &timeline->culvert));
    for (size_t i = 0; i < 2; i++)
        RIG_CU(raw_cuda_import_timeline(r->cu, raw_vk_timeline_fd(&r->vk, timeline->vk),
                                        &timeline->raw[i]));
}

void rig_timeline_close(rig *r, rig_timeline *timeline)
{
    raw_vk_idle(&r->vk);
    RIG_CU(r->cu->CtxSynchronize());
    culv_semaphore_destroy(&timeline->culvert, NULL);
    for (size_t i = 0; i < 2; i++)
        RIG_CU(r->cu->DestroyExternalSemaphore(timeline->raw[i]));
    raw_vk_timeline_destroy(&r->vk, timeline->vk);
}
