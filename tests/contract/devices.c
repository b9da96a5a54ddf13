/* SPDX-License-Identifier: MIT */
/* Contract rows: devices and their identity. */
#define TEST_GROUP "devices."
#include "contract.h"

static int attribute(const raw_cuda *cu, CUdevice_attribute which, CUdevice device)
{
    int value = 0;
    CU_OK(cu->DeviceGetAttribute(&value, which, device));
    return value;
}

TEST(uuid_matches_one_vulkan_device, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    raw_vk_open_instance(&vk, &(raw_vk_options){.software = cu->software});
    int without = 0, alike = 0;
    for (int i = 0; i < cu->device_count; i++) {
        CUdevice device;
        CUuuid uuid;
        char name[256] = "";
        CU_OK(cu->DeviceGet(&device, i));
        CU_OK(cu->DeviceGetName(name, sizeof name, device));
        CU_OK(cu->DeviceGetUuid(&uuid, device));
        REQUIRE(name[0] != '\0');
        unsigned found = raw_vk_find(&vk, (const uint8_t *)uuid.bytes, NULL);
        MEASURED("device", "%d %s, driver %d, %u Vulkan devices with its UUID", i, name,
                 cu->driver_version, found);
        without += found != 1;
        for (int k = 0; k < i; k++) {
            CUuuid other;
            CUdevice other_device;
            CU_OK(cu->DeviceGet(&other_device, k));
            CU_OK(cu->DeviceGetUuid(&other, other_device));
            alike += memcmp(&uuid, &other, sizeof uuid) == 0;
        }
    }
    ANSWER("CUDA devices that not exactly one Vulkan device matches", "%d", without);
    ANSWER("CUDA devices with the same UUID", "%d", alike);
    REQUIRE(without == 0 && alike == 0);
    raw_vk_close(&vk);
}

TEST(uuid_versions_agree, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    int differ = 0;
    for (int i = 0; i < cu->device_count; i++) {
        CUdevice device;
        CUuuid first, second;
        CU_OK(cu->DeviceGet(&device, i));
        CU_OK(cu->DeviceGetUuid_v1(&first, device));
        CU_OK(cu->DeviceGetUuid(&second, device));
        differ += memcmp(&first, &second, sizeof first) != 0;
    }
    /* They may differ on a MIG slice, which has no graphics. */
    answer_number("devices whose two UUIDs differ", differ, 0);
}

PAIR_CASE(no_luid_on_linux, .mark = TEST_BOTH)
{
    char luid[8];
    unsigned mask = 0;
    answer_call("cuDeviceGetLuid", p->cu->DeviceGetLuid(luid, &mask, p->device));
    answer_number("deviceLUIDValid of Vulkan", (int)p->vk.id.deviceLUIDValid, VK_FALSE);
}

TEST(device_groups_of_one, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    raw_vk_open_instance(&vk, &(raw_vk_options){.software = cu->software});
    VkPhysicalDeviceGroupProperties groups[16];
    uint32_t count = 16;
    for (uint32_t i = 0; i < count; i++)
        groups[i] = (VkPhysicalDeviceGroupProperties){
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES};
    VK_OK(vkEnumeratePhysicalDeviceGroups(vk.instance, &count, groups));
    REQUIRE(count > 0);
    uint32_t larger = 0;
    for (uint32_t i = 0; i < count; i++)
        larger += groups[i].physicalDeviceCount != 1;
    answer_number("groups of more than one device", larger, 0);
    raw_vk_close(&vk);
}

PAIR_CASE(queue_families, .mark = TEST_NVIDIA_ONLY,
          .reason = "lavapipe has one family that does everything")
{
    const VkQueueFlags transfer = VK_QUEUE_TRANSFER_BIT, compute = VK_QUEUE_COMPUTE_BIT,
                       graphics = VK_QUEUE_GRAPHICS_BIT, all = graphics | compute | transfer;
    answer_so("family 0 has graphics, compute and transfer", (p->vk.queues[0].flags & all) == all,
              "yes", "no");
    if (p->cu->software) {
        REQUIRE_EQ(p->vk.queue_count, 1);
    } else {
        REQUIRE(p->vk.queue_count >= 3);
        REQUIRE_EQ(p->vk.queues[1].flags & all, transfer);
        REQUIRE_EQ(p->vk.queues[2].flags & (graphics | compute), compute);
    }
}

TEST(timeline_attribute, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    int value = attribute(cu, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0);
    answer_number("TIMELINE_SEMAPHORE_INTEROP_SUPPORTED", value, 1);
}

/* What Culvert asks of a context to know whether it is a CUDA-in-graphics one. */
TEST(cig_limits, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    ANSWER("D3D12_CIG_SUPPORTED", "%d", attribute(cu, CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED, 0));
    ANSWER("VULKAN_CIG_SUPPORTED", "%d",
           attribute(cu, CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 0));
    (void)raw_cuda_context(cu, 0);
    size_t value = 99;
    CUresult result = cu->CtxGetLimit(&value, CU_LIMIT_CIG_ENABLED);
    answer_with("cuCtxGetLimit CIG_ENABLED in the primary context", result, "%zu", value);
    REQUIRE(result != CUDA_SUCCESS || value == 0);
    answer_call("cuCtxSetLimit CIG_ENABLED", cu->CtxSetLimit(CU_LIMIT_CIG_ENABLED, 1));
    answer_call("cuCtxSetLimit CIG_SHMEM_FALLBACK_ENABLED in the primary context",
                cu->CtxSetLimit(CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED, 0));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* GStreamer 1.26 asks for it and sets it again after each library that it loads. */
TEST(stack_limit, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    size_t before = 0, after = 0;
    (void)raw_cuda_context(cu, 0);
    CU_OK(cu->CtxGetLimit(&before, CU_LIMIT_STACK_SIZE));
    ANSWER("cuCtxGetLimit STACK_SIZE", "%zu", before);
    CU_OK(cu->CtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    CU_OK(cu->CtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
    ANSWER("cuCtxGetLimit STACK_SIZE after 2,048 was set", "%zu", after);
    CU_OK(cu->CtxSetLimit(CU_LIMIT_STACK_SIZE, before));
    CU_OK(cu->CtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
    REQUIRE_EQ(after, before);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

TEST(memory_attributes, .mark = TEST_NVIDIA_ONLY,
     .reason = "the twin claims what it has entry points for, no more")
{
    static const struct {
        CUdevice_attribute which;
        const char *name;
        int nvidia; /* -1: it depends on the machine */
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "vmm", 1},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "posix_fd", 1},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, "fabric", -1},
        {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, "multicast", -1},
        {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, "compressible", -1},
        {CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, "dma_buf", -1},
        {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, "sparse_arrays", -1},
        {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, "deferred_mapping", -1},
        {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, "rdma_with_vmm", -1},
    };
    const raw_cuda *cu = raw_cuda_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int value = attribute(cu, rows[i].which, 0);
        if (rows[i].nvidia >= 0)
            ANSWER(rows[i].name, "%d", value);
        else
            MEASURED("attribute", "%s %d", rows[i].name, value);
        if (!cu->software && rows[i].nvidia >= 0) REQUIRE_EQ(value, rows[i].nvidia);
    }
}

TEST(vmm_granularity, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    const CUmemAllocationProp prop = device_prop(0, POSIX_FD);
    size_t minimum = 0, recommended = 0;
    CU_OK(cu->MemGetAllocationGranularity(&minimum, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU_OK(
        cu->MemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    answer_number("minimum", (int64_t)minimum, 2 << 20);
    answer_number("recommended", (int64_t)recommended, 2 << 20);
}

TEST(fabric_needs_imex, .mark = TEST_NVIDIA_ONLY, .reason = "the twin has no fabric handles")
{
    const raw_cuda *cu = raw_cuda_open();
    if (attribute(cu, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0) == 0)
        SKIP("the device says that it has no fabric handles");
    CUcontext context = raw_cuda_context(cu, 0);
    REQUIRE(context != NULL && cu->MemCreate != NULL && cu->MemRelease != NULL);
    const CUmemAllocationProp prop = device_prop(0, CU_MEM_HANDLE_TYPE_FABRIC);
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = cu->MemCreate(&handle, 2u << 20, &prop, 0);
    if (result == CUDA_SUCCESS) {
        CU_OK(cu->MemRelease(handle));
        CU_OK(cu->DevicePrimaryCtxRelease(0));
        SKIP("there is an IMEX channel here");
    }
    /* The attribute is no promise: without an IMEX channel it is refused. */
    answer_call("cuMemCreate without an IMEX channel", result);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* A reset and the next retain leave the handle as it was, and the id tells the two contexts
 * apart. */
TEST(context_id, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    CUcontext context = raw_cuda_context(cu, 0), again = NULL;
    unsigned long long id = 0, other = 0;
    CU_OK(cu->CtxGetId(context, &id));
    REQUIRE_EQ(id, 1); /* the process's first context */
    CU_OK(cu->DevicePrimaryCtxRetain(&again, 0));
    REQUIRE(again == context);
    CU_OK(cu->CtxGetId(again, &other));
    REQUIRE_EQ(other, id);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxReset(0));
    answer_call("cuCtxGetId after a reset", cu->CtxGetId(context, &other));
    REQUIRE_EQ(other, id);
    CU_OK(cu->DevicePrimaryCtxRetain(&again, 0));
    CU_OK(cu->CtxGetId(again, &other));
    ANSWER("the next context's handle", "%s", again == context ? "the same" : "another");
    answer_number("the next context's id", (int64_t)other, 2);
    /* The retain of the context that was reset is given back, and the new one stays. */
    int active = 0;
    unsigned flags = 0;
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxGetState(0, &flags, &active));
    answer_number("it is active once the retain from before the reset is released", active, 1);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}
