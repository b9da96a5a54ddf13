/* SPDX-License-Identifier: MIT */
/* Contract rows: one address. A sparse buffer of Vulkan's at an address that CUDA has reserved, and
 * memory of cuMemCreate in both. */
#define TEST_GROUP "one_address."
#include "contract.h"

#define SIZE (32 * VMM_SIZE)

typedef struct stage {
    pair p;
    VkQueue queue;
    CUdeviceptr base;
    VkBuffer buffer;
    uint32_t type;
} stage;

static VkResult make_buffer(stage *a, CUdeviceptr address, bool resident, VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferOpaqueCaptureAddressCreateInfo where =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
                 .pNext = &external, .opaqueCaptureAddress = address);
    VkBufferCreateInfo info = raw_vk_buffer_info(
        SIZE, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                  VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    info.pNext = &where;
    info.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                 VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT |
                 (resident ? VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT : 0);
    return vkCreateBuffer(a->p.vk.device, &info, NULL, out);
}

static CUdeviceptr address_of(const stage *a, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = buffer};
    return vkGetBufferDeviceAddress(a->p.vk.device, &which);
}

/* The pair with what it needs; addresses that both sides give. */
static void open_place(stage *a, bool resident)
{
    static const CUdeviceptr tried[] = {0x400000000, 0x1000000000, 0x10000000000, 0};
    memset(a, 0, sizeof *a);
    pair *p = &a->p;
    pair_open(p);
    raw_vk_close(&p->vk);
    raw_vk_open(&p->vk, &(raw_vk_options){.uuid = (const uint8_t *)p->uuid.bytes,
                                          .software = p->cu->software,
                                          .one_address = true});
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &address};
    vkGetPhysicalDeviceFeatures2(p->vk.physical, &has);
    if (!has.features.sparseBinding || !has.features.sparseResidencyBuffer ||
        !address.bufferDeviceAddressCaptureReplay)
        SKIP("%s has no sparse buffers at chosen addresses", p->vk.properties.deviceName);
    for (uint32_t i = 0; i < p->vk.queue_count && a->queue == NULL; i++)
        if (p->vk.queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT) a->queue = p->vk.queues[i].queue;
    REQUIRE(a->queue != NULL);
    for (unsigned i = 0; i < 4 && a->buffer == VK_NULL_HANDLE; i++) {
        CU_OK(p->cu->MemAddressReserve(&a->base, SIZE, 0, tried[i], 0));
        VkResult r = VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
        if (tried[i] == 0 || a->base == tried[i]) r = make_buffer(a, a->base, resident, &a->buffer);
        if (r == VK_SUCCESS) break;
        REQUIRE_EQ(r, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        CU_OK(p->cu->MemAddressFree(a->base, SIZE));
    }
    ANSWER("a sparse buffer at CUDA's address", "%s",
           a->buffer == VK_NULL_HANDLE           ? "refused"
           : address_of(a, a->buffer) == a->base ? "there"
                                                 : "elsewhere");
    REQUIRE(a->buffer != VK_NULL_HANDLE && address_of(a, a->buffer) == a->base);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(p->vk.device, a->buffer, &needs);
    ANSWER("blocks", "%llu bytes", (unsigned long long)needs.alignment);
    REQUIRE(VMM_SIZE % needs.alignment == 0);
    while (
        !(needs.memoryTypeBits >> a->type & 1) ||
        !(p->vk.memory.memoryTypes[a->type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) {
        a->type++;
        REQUIRE(a->type < p->vk.memory.memoryTypeCount);
    }
}

static void close_place(stage *a)
{
    vkDestroyBuffer(a->p.vk.device, a->buffer, NULL);
    CU_OK(a->p.cu->MemAddressFree(a->base, SIZE));
    pair_close(&a->p);
}

static void bind(const stage *a, VkDeviceSize offset, VkDeviceMemory memory)
{
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSparseMemoryBind part = {.resourceOffset = offset, .size = VMM_SIZE, .memory = memory};
    const VkSparseBufferMemoryBindInfo of = {.buffer = a->buffer, .bindCount = 1, .pBinds = &part};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &of};
    VkFence fence;
    VK_OK(vkCreateFence(a->p.vk.device, &fence_info, NULL, &fence));
    VK_OK(vkQueueBindSparse(a->queue, 1, &info, fence));
    VK_OK(vkWaitForFences(a->p.vk.device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(a->p.vk.device, fence, NULL);
}

/* A plain import: no dedicated info. */
static VkDeviceMemory import(const stage *a, CUmemGenericAllocationHandle handle)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VK_OK(vk_import(&a->p, vmm_export(&a->p, handle), VMM_SIZE, a->type, &flags, &memory));
    return memory;
}

/* Data both ways at both ends, and what one side keeps when the other one lets go. */
static void both_ways(stage *a)
{
    pair *p = &a->p;
    const raw_vk_buffer raw = {.buffer = a->buffer, .size = SIZE};
    for (int end = 0; end < 2; end++) {
        const VkDeviceSize offset = end ? SIZE - VMM_SIZE : 0;
        CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, POSIX_FD);
        vmm_map(p, a->base + offset, VMM_SIZE, handle);
        VkDeviceMemory memory = import(a, handle);
        bind(a, offset, memory);
        answer_same_memory(p, end ? "the last chunk" : "the first chunk", &raw, offset,
                           a->base + offset, VMM_SIZE, 50 + (uint32_t)end);
        raw_vk_fill(&p->vk, &raw, offset, VMM_SIZE, 0x31415926u, NULL);
        CU_OK(p->cu->MemUnmap(a->base + offset, VMM_SIZE));
        const char *chunk = end ? "last" : "first";
        uint32_t word = 0;
        raw_vk_read(&p->vk, &raw, offset + VMM_SIZE - 4, &word, 4);
        answer_word(answer_key("Vulkan's last word when CUDA has unmapped the %s chunk", chunk),
                    word, 0x31415926u);
        vmm_map(p, a->base + offset, VMM_SIZE, handle);
        bind(a, offset, VK_NULL_HANDLE);
        vkFreeMemory(p->vk.device, memory, NULL);
        answer_word(answer_key("CUDA's first word when Vulkan has unbound the %s chunk", chunk),
                    cuda_word(p, a->base + offset), 0x31415926u);
        CU_OK(p->cu->MemUnmap(a->base + offset, VMM_SIZE));
        CU_OK(p->cu->MemRelease(handle));
    }
}

#define PLACE_CASE(name, resident)                                                                 \
    TEST_ON(stage, a, open_place(a, resident), close_place(a), name, .mark = TEST_BOTH)
PLACE_CASE(sparse_binding, false)
{
    both_ways(a);
}

PLACE_CASE(sparse_residency, true)
{
    both_ways(a);
}

/* The same address once more, in the same VkDevice. */
PLACE_CASE(taken, true)
{
    VkBuffer second = VK_NULL_HANDLE;
    const VkResult r = make_buffer(a, a->base, true, &second);
    ANSWER("a second buffer there", "VkResult %d", (int)r);
    if (r == VK_SUCCESS) vkDestroyBuffer(a->p.vk.device, second, NULL);
}

/* Vulkan's buffer first, CUDA's addresses second. */
PLACE_CASE(vulkan_first, true)
{
    CUdeviceptr again = 0;
    CU_OK(a->p.cu->MemAddressFree(a->base, SIZE));
    CU_OK(a->p.cu->MemAddressReserve(&again, SIZE, 0, a->base, 0));
    answer_so("CUDA's addresses after Vulkan's", again == a->base, "the same", "others");
}
