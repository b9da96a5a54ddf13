/* SPDX-License-Identifier: MIT */
/* VMM allocations under Vulkan's buffers, by data. */
#define TEST_GROUP "vk_vmm."
#include "vulkan_vmm_stage.h"

/* A whole buffer, by every road. What Vulkan has it keeps when CUDA's half is gone. */
VMM_CASE(whole, .smoke = true)
{
    const uint64_t size = 4 * VMM_MIB;
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, size);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(s, size, 0);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    LIB_OK(culv_vk_buffer_bind_vmm(s->w.attachment, buffer, allocation, 0, &memory));
    vmm_stage_require_same(s, buffer, at, size, 40);
    vmm_stage_kernel(s, "library_write", at, size, 41);
    culv_vmm_allocation_destroy(&allocation);
    REQUIRE(allocation == NULL);
    vmm_stage_unmap(&range);
    uint32_t *words = malloc((size_t)size);
    REQUIRE(words != NULL);
    vmm_stage_vulkan_read(s, buffer, size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, size, 0, 41), 0);
    free(words);
    vmm_stage_drop(s, &buffer, &memory);
}

static culv_vk_memory_desc memory_desc(const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = buffer->memory;
    d.allocation_size = buffer->allocation_size;
    d.dedicated = (buffer->flags & RAW_VK_DEDICATED) != 0;
    return d;
}

/* Vulkan's own memory in a range of CUDA's, beside a chunk of CUDA's: one pointer, one kernel. */
VMM_CASE(vulkans_memory_beside_cudas)
{
    static const struct {
        VkDeviceSize size, mapped;
        unsigned flags;
    } rows[] = {{4 * VMM_MIB, 4 * VMM_MIB, 0},
                {2 * VMM_MIB, 2 * VMM_MIB, RAW_VK_DEDICATED},
                {3 * VMM_MIB, 4 * VMM_MIB, RAW_VK_DEDICATED}}; /* rounded up, as the driver wants */
    enum { ROWS = sizeof rows / sizeof rows[0] };
    raw_vk_buffer buffers[ROWS];
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    culv_vmm_allocation *own = vmm_stage_allocate(s, 2 * VMM_MIB), *theirs = NULL;
    uint64_t offset = 2 * VMM_MIB;
    uint32_t *words = malloc((size_t)(4 * VMM_MIB));
    REQUIRE(words != NULL);
    rd.size = 12 * VMM_MIB;
    LIB_OK(culv_vmm_range_create(s->w.device, &rd, &range));
    LIB_OK(culv_vmm_map(range, 0, own, NULL, 0));
    culv_vmm_allocation_destroy(&own);
    for (int i = 0; i < ROWS; i++) {
        raw_vk_buffer_create(&s->w.vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &buffers[i]);
        culv_vk_memory_desc d = memory_desc(&buffers[i]);
        LIB_OK(culv_vk_memory_import_vmm(s->w.attachment, &d, &theirs));
        LIB_OK(culv_vmm_map(range, offset, theirs, NULL, 0));
        culv_vmm_allocation_destroy(&theirs);
        offset += rows[i].mapped;
    }
    const CUdeviceptr at = culv_vmm_range_pointer(range);
    vmm_stage_kernel(s, "library_write", at, rd.size - VMM_MIB, 31);
    offset = 2 * VMM_MIB;
    for (int i = 0; i < ROWS; i++) {
        vmm_stage_vulkan_read(s, buffers[i].buffer, rows[i].size, words);
        REQUIRE_EQ(vmm_stage_wrong(words, rows[i].size, (uint32_t)offset / 4, 31), 0);
        vmm_stage_fill(words, rows[i].size, 0, 32 + (uint32_t)i);
        vmm_stage_vulkan_write(s, buffers[i].buffer, rows[i].size, words);
        raw_vk_buffer_destroy(&s->w.vk, &buffers[i]); /* the mapping keeps the memory */
        vmm_stage_cuda_read(s, at + offset, rows[i].size, words);
        REQUIRE_EQ(vmm_stage_wrong(words, rows[i].size, 0, 32 + (uint32_t)i), 0);
        offset += rows[i].mapped;
    }
    vmm_stage_unmap(&range);
    free(words);
}

VMM_CASE(vulkans_memory_refused)
{
    static const struct {
        VkDeviceSize size;
        unsigned flags;
    } rows[] = {{VMM_MIB, 0}, {VMM_MIB, RAW_VK_DEDICATED}, {3 * VMM_MIB, 0}};
    culv_vmm_allocation *out = NULL;
    raw_vk_buffer buffer;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        raw_vk_buffer_create(&s->w.vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &buffer);
        culv_vk_memory_desc d = memory_desc(&buffer);
        LIB_REFUSES(out, culv_vk_memory_import_vmm(s->w.attachment, &d, &out), INVALID, SIZE,
                    "in multiples of 2097152 bytes");
        raw_vk_buffer_destroy(&s->w.vk, &buffer);
    }
    raw_vk_buffer_create(&s->w.vk, 2 * VMM_MIB, RAW_VK_EXPORT, &buffer);
    culv_vk_memory_desc d = memory_desc(&buffer);
    LIB_REFUSES(out, culv_vk_memory_import_vmm(s->w.attachment, NULL, &out), INVALID,
                NULL_ARGUMENT);
    LIB_INVALID(culv_vk_memory_import_vmm(s->w.attachment, &d, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_memory_import_vmm(NULL, &d, &out), NULL_ARGUMENT);
    d.memory = VK_NULL_HANDLE;
    LIB_REFUSES(out, culv_vk_memory_import_vmm(s->w.attachment, &d, &out), INVALID, NULL_ARGUMENT);
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
}

/* Two buffers in one allocation, and the bytes between them nobody's. */
VMM_CASE(two_at_offsets)
{
    enum { BYTES = 100000 };
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 4 * VMM_MIB);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    vmm_stage_kernel(s, "library_write", at, 4 * VMM_MIB, 9);
    VkBuffer buffers[2];
    VkDeviceMemory memories[2];
    VkMemoryRequirements needs = {0};
    VkDeviceSize offsets[2] = {0};
    for (int i = 0; i < 2; i++) {
        buffers[i] = vmm_stage_buffer(s, BYTES, 0);
        vkGetBufferMemoryRequirements(s->w.vk.device, buffers[i], &needs);
        offsets[i] =
            (i == 0 ? 3 : 3 + (BYTES + needs.alignment - 1) / needs.alignment) * needs.alignment;
        LIB_OK(culv_vk_buffer_bind_vmm(s->w.attachment, buffers[i], allocation, offsets[i],
                                       &memories[i]));
    }
    REQUIRE(offsets[0] > 0 && offsets[1] >= offsets[0] + BYTES);
    vmm_stage_require_same(s, buffers[0], at + offsets[0], BYTES, 50);
    vmm_stage_require_same(s, buffers[1], at + offsets[1], BYTES, 60);
    static uint32_t words[BYTES / 4];
    vmm_stage_cuda_read(s, at + offsets[0], BYTES, words); /* the second one wrote nothing of it */
    REQUIRE(words[0] == 55 && words[BYTES / 4 - 1] == 55);
    vmm_stage_cuda_read(s, at, offsets[0], words);
    REQUIRE_EQ(vmm_stage_wrong(words, offsets[0], 0, 9), 0);
    for (int i = 0; i < 2; i++)
        vmm_stage_drop(s, &buffers[i], &memories[i]);
    /* The last byte that there is. */
    const VkDeviceSize bytes = needs.alignment < 64 ? 64 : needs.alignment;
    VkBuffer last = vmm_stage_buffer(s, bytes, 0);
    vkGetBufferMemoryRequirements(s->w.vk.device, last, &needs);
    const VkDeviceSize end =
        4 * VMM_MIB - (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    LIB_OK(culv_vk_buffer_bind_vmm(s->w.attachment, last, allocation, end, &memories[0]));
    vmm_stage_require_same(s, last, at + (CUdeviceptr)end, bytes, 70);
    vmm_stage_drop(s, &last, &memories[0]);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
}

/* Bytes of any number: what CUDA wrote into all of the allocation Vulkan reads in the buffer, and
 * what Vulkan writes into the buffer CUDA reads there, and nowhere else. */
static unsigned char byte_of(uint64_t i, uint32_t seed)
{
    return (unsigned char)(lib_word((uint32_t)i, seed) >> 13);
}

static void require_bytes(vmm_stage *s, VkBuffer buffer, CUdeviceptr at, uint64_t all,
                          uint64_t offset, uint64_t size, uint32_t seed)
{
    const raw_cuda *cu = s->w.cu;
    const raw_vk_buffer b = {.buffer = buffer, .size = size, .flags = RAW_VK_IMPORT};
    unsigned char *bytes = malloc((size_t)all);
    uint64_t wrong = 0;
    REQUIRE(bytes != NULL);
    for (uint64_t i = 0; i < all; i++)
        bytes[i] = byte_of(i, seed);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->MemcpyHtoDAsync(at, bytes, (size_t)all, s->stream));
    CU_OK(cu->StreamSynchronize(s->stream));
    memset(bytes, 0, (size_t)all);
    raw_vk_read(&s->w.vk, &b, 0, bytes, size);
    for (uint64_t i = 0; i < size; i++)
        wrong += bytes[i] != byte_of(offset + i, seed);
    REQUIRE_EQ(wrong, 0);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = byte_of(i, seed + 1);
    raw_vk_write(&s->w.vk, &b, 0, bytes, size);
    memset(bytes, 0, (size_t)all);
    CU_OK(cu->MemcpyDtoHAsync(bytes, at, (size_t)all, s->stream));
    CU_OK(cu->StreamSynchronize(s->stream));
    lib_leave(&s->w, before);
    for (uint64_t i = 0; i < all; i++)
        wrong += bytes[i] != (i < offset || i - offset >= size ? byte_of(i, seed)
                                                               : byte_of(i - offset, seed + 1));
    REQUIRE_EQ(wrong, 0);
    free(bytes);
}

/* An attachment by which it is seen what is imported as dedicated. */
static culv_vk_device *attach_seeing(const vmm_stage *s)
{
    culv_vk_device *seeing = NULL;
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){0};
    d.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(s->w.device, &d, &seeing));
    return seeing;
}

static const uint64_t odd_sizes[] = {1, 4097, 819200, 2097151, 2097153};
enum { ODD_SIZES = sizeof odd_sizes / sizeof odd_sizes[0] };

/* Buffers of sizes that no allocation has. Dedicated is what has all of the allocation. */
VMM_CASE(of_odd_sizes)
{
    culv_vk_device *seeing = attach_seeing(s);
    for (uint32_t i = 0; i < ODD_SIZES; i++) {
        culv_vmm_allocation *allocation = vmm_stage_allocate(s, odd_sizes[i]);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        culv_vmm_range *range = NULL;
        VkMemoryRequirements needs;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        CUdeviceptr at = vmm_stage_map(s, allocation, &range);
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        VkBuffer buffer = vmm_stage_buffer(s, odd_sizes[i], 0);
        vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
        lib_saw_dedicated = needs.size != info.size;
        LIB_OK(culv_vk_buffer_bind_vmm(seeing, buffer, allocation, 0, &memory));
        printf("%llu bytes, which need %llu of %llu: %s\n", (unsigned long long)odd_sizes[i],
               (unsigned long long)needs.size, (unsigned long long)info.size,
               lib_saw_dedicated ? "dedicated" : "not dedicated");
        REQUIRE_EQ(lib_saw_dedicated, needs.size == info.size);
        require_bytes(s, buffer, at, info.size, 0, odd_sizes[i], 7 * i);
        vmm_stage_drop(s, &buffer, &memory);
        culv_vmm_allocation_destroy(&allocation);
        vmm_stage_unmap(&range);
    }
    culv_vk_detach(&seeing);
}

VMM_CASE(at_odd_offsets)
{
    enum { ALL = 4 * VMM_MIB };
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, ALL);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    for (uint32_t i = 0; i < ODD_SIZES; i++) {
        VkBuffer sample = vmm_stage_buffer(s, odd_sizes[i], 0);
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(s->w.vk.device, sample, &needs);
        vkDestroyBuffer(s->w.vk.device, sample, NULL);
        /* Multiples of the alignment, and of nothing else; the last one that there is. */
        const VkDeviceSize offsets[] = {needs.alignment, 3 * needs.alignment,
                                        VMM_MIB / needs.alignment * needs.alignment +
                                            needs.alignment,
                                        (ALL - needs.size) / needs.alignment * needs.alignment};
        for (uint32_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++) {
            VkBuffer buffer = vmm_stage_buffer(s, odd_sizes[i], 0);
            VkDeviceMemory memory = VK_NULL_HANDLE;
            vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
            LIB_OK(
                culv_vk_buffer_bind_vmm(s->w.attachment, buffer, allocation, offsets[k], &memory));
            require_bytes(s, buffer, at, ALL, offsets[k], odd_sizes[i], 100 + 5 * i + k);
            vmm_stage_drop(s, &buffer, &memory);
        }
    }
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
}

/* Memory for a buffer that is smaller than the allocation: all of it, not dedicated. */
VMM_CASE(memory_of_odd_sizes)
{
    culv_vk_device *vk = s->w.attachment;
    for (uint32_t i = 0; i < ODD_SIZES; i++) {
        culv_vmm_allocation *allocation = vmm_stage_allocate(s, odd_sizes[i]);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        culv_vmm_range *range = NULL;
        VkMemoryRequirements needs;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        CUdeviceptr at = vmm_stage_map(s, allocation, &range);
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        VkBuffer buffer = vmm_stage_buffer(s, odd_sizes[i], 0);
        vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        d.buffer = buffer;
        d.dedicated = VK_TRUE;
        if (needs.size != info.size) {
            const vmm_stage_objects before = vmm_stage_count();
            VMM_REFUSES(memory, culv_vk_memory_from_vmm(vk, allocation, &d, &memory), INVALID,
                        DEDICATED, "leave dedicated 0");
            REQUIRE(vmm_stage_same(&before));
            d.dedicated = VK_FALSE;
        }
        LIB_OK(culv_vk_memory_from_vmm(vk, allocation, &d, &memory));
        const VkDeviceSize offset = (info.size - needs.size) / needs.alignment * needs.alignment;
        VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, offset));
        require_bytes(s, buffer, at, info.size, offset, odd_sizes[i], 200 + i);
        vmm_stage_drop(s, &buffer, &memory);
        culv_vmm_allocation_destroy(&allocation);
        vmm_stage_unmap(&range);
    }
}

/* A handle with the size of the allocation, with more and with less. */
VMM_CASE(handle_sizes)
{
    enum { BYTES = 819200, ALL = 2 * VMM_MIB };
    culv_vk_device *vk = s->w.attachment;
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, ALL);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(s, BYTES, 0);
    VkMemoryRequirements needs;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &d.handle));
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    const vmm_stage_objects before = vmm_stage_count();
    d.buffer = buffer;
    /* Less, and dedicated: the twin refuses it, an H200 does not (contract suite). */
    d.size = needs.size;
    d.dedicated = VK_TRUE;
    if (s->w.cu->software) {
        VMM_REFUSES(memory, culv_vk_memory_from_handle(vk, &d, &memory), OUT_OF_MEMORY,
                    DEVICE_MEMORY, "an allocation of that size");
    }
    d.size = ALL;
    VMM_REFUSES(memory, culv_vk_memory_from_handle(vk, &d, &memory), INVALID, DEDICATED,
                "leave dedicated 0");
    REQUIRE(vmm_stage_same(&before));
    d.dedicated = VK_FALSE;
    const uint64_t sizes[] = {needs.size, 2 * ALL};
    for (int i = 0; i < 2; i++) {
        d.size = sizes[i];
        const culv_result result = culv_vk_memory_from_handle(vk, &d, &memory);
        MEASURED("library.vmm_handle_size", "%llu of %d bytes, not dedicated: %s",
                 (unsigned long long)sizes[i], (int)ALL, culv_result_name(result));
        if (result != CULV_OK) REQUIRE(memory == VK_NULL_HANDLE);
        vkFreeMemory(s->w.vk.device, memory, NULL);
        memory = VK_NULL_HANDLE;
    }
    lib_fd_require_untouched(&fd);
    d.size = ALL;
    LIB_OK(culv_vk_memory_from_handle(vk, &d, &memory));
    VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, needs.alignment));
    require_bytes(s, buffer, at, ALL, needs.alignment, BYTES, 300);
    lib_fd_done(&fd, false);
    culv_handle_close(&d.handle);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
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
VMM_CASE(memory_alone)
{
    const uint64_t size = 2 * VMM_MIB;
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, size);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    for (int i = 0; i < 4; i++) {
        VkBuffer buffer =
            vmm_stage_buffer(s, size, i == 3 ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
        VkMemoryRequirements needs;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        if (i == 1 || i == 3) d.buffer = buffer;
        if (i == 2) d.memory_type_bits = needs.memoryTypeBits;
        if (i == 3) d.allocate_flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, i == 0 ? NULL : &d, &memory));
        if (i == 0 && !(needs.memoryTypeBits & 1u << first_local(s))) {
            vmm_stage_drop(s, &buffer, &memory); /* of a type that no buffer has */
            continue;
        }
        VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, 0));
        if (i == 3)
            REQUIRE(vkGetBufferDeviceAddress(
                        s->w.vk.device, &(VkBufferDeviceAddressInfo){
                                            .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer}) != 0);
        vmm_stage_require_same(s, buffer, at, size, 80 + (uint32_t)i);
        vmm_stage_drop(s, &buffer, &memory);
    }
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
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

VMM_CASE(each_type)
{
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    in_every_type(s, allocation);
    culv_vmm_allocation_destroy(&allocation);
}

TEST(compressible)
{
    vmm_stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_open(&s);
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_allocation *allocation = NULL;
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    LIB_OK(culv_vmm_allocation_create(s.w.device, &d, &allocation));
    LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
    if (!(info.usage & CULV_VMM_USAGE_COMPRESSIBLE)) SKIP("compressible memory was not granted");
    in_every_type(&s, allocation);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_close(&s);
}

/* False: there is no such memory. */
static bool allocate_on_host(vmm_stage *s, culv_vmm_allocation **out)
{
    const raw_cuda *cu = s->w.cu;
    int node = 0;
    CU_OK(cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0));
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.kind = CULV_VMM_LOCATION_HOST_NUMA;
    d.numa_node = node > 0 ? node : 0;
    return culv_vmm_allocation_create(s->w.device, &d, out) == CULV_OK;
}

TEST(host_memory)
{
    vmm_stage s;
    culv_vmm_allocation *allocation = NULL;
    vmm_stage_play(VMM_HOST_NUMA);
    vmm_stage_open(&s);
    if (!allocate_on_host(&s, &allocation))
        SKIP("no host memory by VMM here: %s", culv_last_error_message());
    in_every_type(&s, allocation);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_close(&s);
}
