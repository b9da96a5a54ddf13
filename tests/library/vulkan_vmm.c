/* VMM allocations under Vulkan's buffers, by data. SPDX-License-Identifier: MIT */
#include "vulkan_vmm_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const test_case vk_vmm_cases[], vk_vmm_refused_cases[], vk_vmm_image_cases[];
const test_case *const test_suite_tables[] = {vk_vmm_cases, vk_vmm_refused_cases, vk_vmm_image_cases, NULL};

/* A whole buffer, by every road. What Vulkan has it keeps when CUDA's half is gone. */
static void whole(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const uint64_t size = 4 * VMM_MIB;
    culv_vmm_allocation *allocation = vmm_stage_allocate(&s, size);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(&s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(&s, size, 0);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    LIB_OK(culv_vk_buffer_bind_vmm(s.w.attachment, buffer, allocation, 0, &memory));
    vmm_stage_require_same(&s, buffer, at, size, 40);
    vmm_stage_kernel(&s, "library_write", at, size, 41);
    culv_vmm_free(&allocation);
    REQUIRE(allocation == NULL);
    vmm_stage_unmap(&range);
    uint32_t *words = malloc((size_t)size);
    REQUIRE(words != NULL);
    vmm_stage_vulkan_read(&s, buffer, size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, size, 0, 41), 0);
    free(words);
    vmm_stage_drop(&s, &buffer, &memory);
    vmm_stage_close(&s);
}

/* Two buffers in one allocation, and the bytes between them nobody's. */
static void two_at_offsets(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    enum { BYTES = 100000 };
    culv_vmm_allocation *allocation = vmm_stage_allocate(&s, 4 * VMM_MIB);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(&s, allocation, &range);
    vmm_stage_kernel(&s, "library_write", at, 4 * VMM_MIB, 9);
    VkBuffer buffers[2];
    VkDeviceMemory memories[2];
    VkMemoryRequirements needs = {0};
    VkDeviceSize offsets[2] = {0};
    for (int i = 0; i < 2; i++) {
        buffers[i] = vmm_stage_buffer(&s, BYTES, 0);
        vkGetBufferMemoryRequirements(s.w.vk.device, buffers[i], &needs);
        offsets[i] = (i == 0 ? 3 : 3 + (BYTES + needs.alignment - 1) / needs.alignment) * needs.alignment;
        LIB_OK(culv_vk_buffer_bind_vmm(s.w.attachment, buffers[i], allocation, offsets[i], &memories[i]));
    }
    REQUIRE(offsets[0] > 0 && offsets[1] >= offsets[0] + BYTES);
    vmm_stage_require_same(&s, buffers[0], at + offsets[0], BYTES, 50);
    vmm_stage_require_same(&s, buffers[1], at + offsets[1], BYTES, 60);
    static uint32_t words[BYTES / 4];
    vmm_stage_cuda_read(&s, at + offsets[0], BYTES, words); /* the second one wrote nothing of it */
    REQUIRE(words[0] == 55 && words[BYTES / 4 - 1] == 55);
    vmm_stage_cuda_read(&s, at, offsets[0], words);
    REQUIRE_EQ(vmm_stage_wrong(words, offsets[0], 0, 9), 0);
    for (int i = 0; i < 2; i++)
        vmm_stage_drop(&s, &buffers[i], &memories[i]);
    /* The last byte that there is. */
    const VkDeviceSize bytes = needs.alignment < 64 ? 64 : needs.alignment;
    VkBuffer last = vmm_stage_buffer(&s, bytes, 0);
    vkGetBufferMemoryRequirements(s.w.vk.device, last, &needs);
    const VkDeviceSize end =
        4 * VMM_MIB - (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    LIB_OK(culv_vk_buffer_bind_vmm(s.w.attachment, last, allocation, end, &memories[0]));
    vmm_stage_require_same(&s, last, at + (CUdeviceptr)end, bytes, 70);
    vmm_stage_drop(&s, &last, &memories[0]);
    culv_vmm_free(&allocation);
    vmm_stage_unmap(&range);
    vmm_stage_close(&s);
}

/* The memory type that Culvert takes where nothing is said of what will be bound. */
static uint32_t first_local(const vmm_stage *s)
{
    const VkPhysicalDeviceMemoryProperties *all = &s->w.vk.memory;
    const VkMemoryPropertyFlags not =
        VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    for (uint32_t i = 0; i < all->memoryTypeCount; i++)
        if ((all->memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) &&
            !(all->memoryTypes[i].propertyFlags & not ))
            return i;
    return 0;
}

/* Memory without a binding: by default, for a buffer, by types, with a device address. */
static void memory_alone(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const uint64_t size = 2 * VMM_MIB;
    culv_vmm_allocation *allocation = vmm_stage_allocate(&s, size);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(&s, allocation, &range);
    for (int i = 0; i < 4; i++) {
        VkBuffer buffer = vmm_stage_buffer(&s, size, i == 3 ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
        VkMemoryRequirements needs;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        vkGetBufferMemoryRequirements(s.w.vk.device, buffer, &needs);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        if (i == 1 || i == 3) d.buffer = buffer;
        if (i == 2) d.memory_type_bits = needs.memoryTypeBits;
        if (i == 3) d.allocate_flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        LIB_OK(culv_vk_memory_from_vmm(s.w.attachment, allocation, i == 0 ? NULL : &d, &memory));
        if (i == 0 && !(needs.memoryTypeBits & 1u << first_local(&s))) {
            vmm_stage_drop(&s, &buffer, &memory); /* of a type that no buffer has */
            continue;
        }
        VK_OK(vkBindBufferMemory(s.w.vk.device, buffer, memory, 0));
        if (i == 3)
            REQUIRE(vkGetBufferDeviceAddress(
                        s.w.vk.device,
                        &(VkBufferDeviceAddressInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                     .buffer = buffer}) != 0);
        vmm_stage_require_same(&s, buffer, at, size, 80 + (uint32_t)i);
        vmm_stage_drop(&s, &buffer, &memory);
    }
    culv_vmm_free(&allocation);
    vmm_stage_unmap(&range);
    vmm_stage_close(&s);
}

/* In each memory type that a buffer can have. */
static void in_every_type(vmm_stage *s, culv_vmm_allocation *allocation)
{
    const uint64_t size = 2 * VMM_MIB;
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    for (uint32_t type = 0; type < s->w.vk.memory.memoryTypeCount; type++) {
        VkBuffer buffer = vmm_stage_buffer(s, size, 0);
        VkDeviceMemory memory = VK_NULL_HANDLE;
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        d.memory_type_bits = needs.memoryTypeBits & 1u << type;
        if (d.memory_type_bits != 0) {
            printf("memory type %u\n", (unsigned)type);
            LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, &d, &memory));
            VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, 0));
            vmm_stage_require_same(s, buffer, at, size, 30 + type);
        }
        vmm_stage_drop(s, &buffer, &memory);
    }
    vmm_stage_unmap(&range);
}

static void each_type(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    culv_vmm_allocation *allocation = vmm_stage_allocate(&s, 2 * VMM_MIB);
    in_every_type(&s, allocation);
    culv_vmm_free(&allocation);
    vmm_stage_close(&s);
}

static void compressible(void)
{
    vmm_stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_open(&s);
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_allocation *allocation = NULL;
    d.usage = CULV_VMM_COMPRESSIBLE;
    LIB_OK(culv_vmm_allocate(s.w.device, &d, &allocation));
    LIB_OK(culv_vmm_get_allocation_info(allocation, &info));
    if (!(info.usage & CULV_VMM_COMPRESSIBLE)) SKIP("compressible memory was not granted");
    in_every_type(&s, allocation);
    culv_vmm_free(&allocation);
    vmm_stage_close(&s);
}

/* False: there is no such memory. */
static bool allocate_on_host(vmm_stage *s, culv_vmm_allocation **out)
{
    const raw_cuda *cu = s->w.cu;
    int node = 0;
    CU_OK(cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0));
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.kind = CULV_VMM_HOST_NUMA;
    d.numa_node = node > 0 ? node : 0;
    return culv_vmm_allocate(s->w.device, &d, out) == CULV_OK;
}

static void host_memory(void)
{
    vmm_stage s;
    culv_vmm_allocation *allocation = NULL;
    vmm_stage_play(VMM_HOST_NUMA);
    vmm_stage_open(&s);
    if (!allocate_on_host(&s, &allocation)) SKIP("no host memory by VMM here: %s", culv_last_error_message());
    in_every_type(&s, allocation);
    culv_vmm_free(&allocation);
    vmm_stage_close(&s);
}

const test_case vk_vmm_cases[] = {
    {.name = "vk_vmm.whole", .run = whole},
    {.name = "vk_vmm.two_at_offsets", .run = two_at_offsets},
    {.name = "vk_vmm.memory_alone", .run = memory_alone},
    {.name = "vk_vmm.each_type", .run = each_type},
    {.name = "vk_vmm.compressible", .run = compressible},
    {.name = "vk_vmm.host_memory", .run = host_memory},
    {.name = NULL},
};
