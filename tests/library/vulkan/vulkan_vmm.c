/* SPDX-License-Identifier: MIT */
/* VMM allocations under Vulkan's buffers, by data. */
#define TEST_GROUP "vk_vmm."
#include "fallback_scene.h"
#include "image_stage.h"
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
    culv_vmm_allocation *own = vmm_stage_allocate(s, 2 * VMM_MIB), *theirs = NULL;
    uint64_t offset = 2 * VMM_MIB;
    uint32_t *words = malloc((size_t)(4 * VMM_MIB));
    REQUIRE(words != NULL);
    rd.size = 12 * VMM_MIB;
    NEW(culv_vmm_range, range, culv_vmm_range_create, s->w.device, &rd);
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
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){0};
    d.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, seeing, culv_vk_attach, s->w.device, &d);
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
    OWN(culv_vmm_allocation) *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    in_every_type(s, allocation);
}

TEST(compressible_buffer, .title = "vk_vmm.compressible")
{
    vmm_stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_open(&s);
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s.w.device, &d);
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

/* VMM allocations under Vulkan's images: every road of the texels, both ways, by size, levels,
 * usage, offset and how the memory was made. */

typedef struct image_row {
    uint32_t width, height, levels;
    VkImageUsageFlags usage; /* besides copies */
    bool at_offset;
    bool compressible;
    bool bound_here; /* by the case, to memory of culv_vk_memory_from_vmm() */
} image_row;

/* An image in VMM memory, and CUDA's array on the same. */
typedef struct vmm_image {
    shared_image i; /* as the caller's */
    VkDeviceMemory vk_memory;
    culv_vmm_allocation *allocation;
} vmm_image;

static VkImage create_image(const stage *s, const VkImageCreateInfo *info)
{
    VkImage image = VK_NULL_HANDLE;
    VK_OK(vkCreateImage(s->w.vk.device, info, NULL, &image));
    return image;
}

static culv_vmm_allocation *allocate(const stage *s, uint64_t size, bool compressible)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(size);
    if (compressible) d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    return allocation;
}

static void lay_out(shared_image *i)
{
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        i->at[level] = i->size;
        i->size += ((size_t)e.width * e.height * i->format.bytes_per_block + 15) / 16 * 16;
    }
}

/* False: Vulkan has none like it that can be shared. */
static bool open_image(stage *s, const image_row *row, vmm_image *out)
{
    VkDevice device = s->w.vk.device;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, row->width, row->height,
                                              row->levels, row->usage, &external);
    VkMemoryRequirements needs;
    memset(out, 0, sizeof *out);
    shared_image *i = &out->i;
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    if (culv_vk_check_image(s->w.attachment, &info, NULL, &how) != CULV_OK) {
        REQUIRE(!s->w.cu->software);
        printf("%s\n", culv_last_error_message());
        return false;
    }
    i->origin = CALLERS_AT_OFFSET;
    i->format = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)info.format, &i->format));
    i->width = row->width;
    i->height = row->height;
    i->levels = row->levels;
    i->image = create_image(s, &info);
    vkGetImageMemoryRequirements(device, i->image, &needs);
    const VkDeviceSize offset =
        row->at_offset
            ? (65536 / needs.alignment + (65536 % needs.alignment != 0)) * needs.alignment
            : 0;
    out->allocation = allocate(s, offset + needs.size, row->compressible);
    if (row->bound_here) {
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        d.image = i->image;
        d.dedicated = offset == 0;
        LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, out->allocation, &d, &out->vk_memory));
        VK_OK(vkBindImageMemory(device, i->image, out->vk_memory, offset));
    } else {
        LIB_OK(culv_vk_image_bind_vmm(s->w.attachment, i->image, &info, out->allocation, offset,
                                      &out->vk_memory));
    }
    culv_vmm_allocation_info ai = culv_vmm_allocation_info_init();
    culv_memory_desc md = culv_memory_desc_init();
    LIB_OK(culv_vmm_allocation_get_info(out->allocation, &ai));
    LIB_OK(culv_vmm_export_dup(out->allocation, CULV_HANDLE_OPAQUE_FD, &md.handle));
    md.size = ai.size;
    md.dedicated = offset == 0;
    md.exporter = ai.device;
    LIB_TAKE(culv_memory_import(s->w.device, &md, &i->memory), &md.handle);
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = i->image;
    id.create_info = &info;
    id.offset = offset;
    LIB_OK(culv_vk_image_map(s->w.attachment, i->memory, &id, &i->cuda));
    lay_out(i);
    return true;
}

static void close_image(stage *s, vmm_image *m)
{
    lib_finish(&s->w, s->stream);
    culv_image_unmap(&m->i.cuda, NULL);
    culv_memory_destroy(&m->i.memory);
    vkDestroyImage(s->w.vk.device, m->i.image, NULL);
    vkFreeMemory(s->w.vk.device, m->vk_memory, NULL);
    culv_vmm_allocation_destroy(&m->allocation);
}

/* What an image holds: the kernels' pattern; a smooth one and one color, which drivers compress. */
typedef enum pattern { KERNELS, SMOOTH, CLEARED } pattern;

static const VkClearColorValue color = {.float32 = {1.0f, 0.0f, 0.2f, 1.0f}};
static const unsigned char cleared[4] = {255, 0, 51, 255};

static void fill(const shared_image *i, pattern kind, uint32_t seed, unsigned char flip,
                 unsigned char *texels)
{
    if (kind == KERNELS) {
        image_fill(i, seed, flip, texels);
        return;
    }
    memset(texels, 0, i->size);
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        unsigned char *at = texels + i->at[level];
        for (uint32_t y = 0; y < e.height; y++)
            for (uint32_t x = 0; x < e.width; x++)
                for (uint32_t c = 0; c < 4; c++) {
                    const uint32_t smooth = x * 7 + y * 131 + c * 29 + seed;
                    *at++ = (unsigned char)((kind == SMOOTH ? smooth : cleared[c]) ^ flip);
                }
    }
}

static size_t wrong_bytes(const shared_image *i, pattern kind, uint32_t seed, unsigned char flip,
                          const unsigned char *texels)
{
    unsigned char *expected = malloc(i->size);
    size_t wrong = 0;
    REQUIRE(expected != NULL);
    fill(i, kind, seed, flip, expected);
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        size_t bytes = (size_t)e.width * e.height * i->format.bytes_per_block;
        for (size_t k = i->at[level]; k < i->at[level] + bytes; k++)
            wrong += texels[k] != expected[k];
    }
    free(expected);
    return wrong;
}

typedef enum vulkan_work { COPY_IN, COPY_OUT, CLEAR } vulkan_work;

/* All levels, from or to a buffer. */
static void vulkan_turn(stage *s, const shared_image *i, vulkan_work work,
                        const raw_vk_buffer *buffer)
{
    const culv_vk_use use = work == COPY_OUT ? CULV_VK_USE_TRANSFER_SRC : CULV_VK_USE_TRANSFER_DST;
    const culv_vk_image_transfer t = image_transfer(i, 0, use);
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, i->levels, 0, 1};
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_VULKAN, false);
    if (work == COPY_IN)
        record_copy_in(commands, i, buffer->buffer, 0);
    else if (work == COPY_OUT)
        record_copy_out(commands, i, buffer->buffer);
    else
        vkCmdClearColorImage(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
                             &all);
    record_barrier(commands, &t, TO_CUDA, false);
    stage_submit(s, commands, 0);
}

typedef void per_level(stage *s, const shared_image *i, uint32_t level, void *argument);

static void paint(stage *s, const shared_image *i, uint32_t level, void *seed)
{
    cuda_paint(s, i, level, *(uint32_t *)seed);
}

static void flip(stage *s, const shared_image *i, uint32_t level, void *unused)
{
    (void)unused;
    cuda_flip(s, i, level);
}

static void copy_in(stage *s, const shared_image *i, uint32_t level, void *texels)
{
    cuda_copy_in(s, i, level, texels);
}

static void copy_out(stage *s, const shared_image *i, uint32_t level, void *texels)
{
    cuda_copy_out(s, i, level, texels);
}

static void cuda_turn(stage *s, const shared_image *i, per_level *work, void *argument)
{
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++)
        work(s, i, level, argument);
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
}

/* By its copies, and by a kernel that turns bits over. */
static void cuda_reads(stage *s, const shared_image *i, pattern kind, uint32_t seed,
                       unsigned char *texels, size_t wrong[2])
{
    cuda_turn(s, i, copy_out, texels);
    wrong[0] = wrong_bytes(i, kind, seed, 0, texels);
    cuda_turn(s, i, flip, NULL);
    memset(texels, 0, i->size);
    cuda_turn(s, i, copy_out, texels);
    wrong[1] = wrong_bytes(i, kind, seed, FLIP, texels);
}

enum { STEPS = 9 };

static void try_row(stage *s, const image_row *row)
{
    static const char *const names[STEPS] = {"CUDA's copy to Vulkan",
                                             "CUDA's kernel to Vulkan",
                                             "Vulkan's copy to CUDA's copy",
                                             "Vulkan's copy to CUDA's kernel",
                                             "and that kernel's to Vulkan",
                                             "Vulkan's smooth copy to CUDA's copy",
                                             "Vulkan's smooth copy to CUDA's kernel",
                                             "Vulkan's clear to CUDA's copy",
                                             "Vulkan's clear to CUDA's kernel"};
    vmm_image m;
    size_t wrong[STEPS];
    char what[160];
    snprintf(what, sizeof what, "%ux%u, %u levels, usage 0x%x%s%s", row->width, row->height,
             row->levels, (unsigned)row->usage, row->at_offset ? ", at an offset" : "",
             row->compressible ? ", compressible" : "");
    if (!open_image(s, row, &m)) {
        printf("%s: not tried\n", what);
        return;
    }
    const shared_image *i = &m.i;
    raw_vk_buffer buffer;
    unsigned char *texels = malloc(i->size);
    REQUIRE(texels != NULL);
    raw_vk_buffer_create(&s->w.vk, i->size, RAW_VK_HOST, &buffer);
    image_first_release(s, i, 0, false);
    fill(i, SMOOTH, 1, 0, texels);
    cuda_turn(s, i, copy_in, texels);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[0] = wrong_bytes(i, SMOOTH, 1, 0, buffer.mapped);
    uint32_t seed = 2;
    cuda_turn(s, i, paint, &seed);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[1] = wrong_bytes(i, KERNELS, 2, 0, buffer.mapped);
    fill(i, KERNELS, 3, 0, buffer.mapped);
    vulkan_turn(s, i, COPY_IN, &buffer);
    cuda_reads(s, i, KERNELS, 3, texels, &wrong[2]);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[4] = wrong_bytes(i, KERNELS, 3, FLIP, buffer.mapped);
    fill(i, SMOOTH, 4, 0, buffer.mapped);
    vulkan_turn(s, i, COPY_IN, &buffer);
    cuda_reads(s, i, SMOOTH, 4, texels, &wrong[5]);
    if (s->w.vk.queues[0].flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) {
        vulkan_turn(s, i, CLEAR, NULL);
        cuda_reads(s, i, CLEARED, 0, texels, &wrong[7]);
    } else
        wrong[7] = wrong[8] = 0;
    size_t all = 0;
    for (int k = 0; k < STEPS; k++) {
        if (wrong[k] != 0)
            printf("%s: %s: %zu of %zu bytes wrong\n", what, names[k], wrong[k], i->size);
        all += wrong[k];
    }
    if (all > 0) FAIL("%s: wrong, see above", what);
    printf("%s: right\n", what);
    free(texels);
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
    close_image(s, &m);
}

static void try_rows(image_row row)
{
    static const VkImageUsageFlags usages[] = {
        0,
        VK_IMAGE_USAGE_SAMPLED_BIT,
        VK_IMAGE_USAGE_STORAGE_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
            VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
    };
    static stage s;
    if (row.compressible) vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    stage_open(&s);
    culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    if (row.compressible) {
        culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, true);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        culv_vmm_allocation_destroy(&allocation);
        if (!(info.usage & CULV_VMM_USAGE_COMPRESSIBLE))
            SKIP("compressible memory was not granted");
        if (caps.multicast) SKIP("behind NVSwitches it is refused: image_behind_switches");
    }
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        row.usage = usages[i];
        try_row(&s, &row);
    }
    stage_close(&s);
}

TEST_AS(even, try_rows((image_row){.width = 256, .height = 128, .levels = 1}),
        .title = "vk_vmm.image_256x128")

TEST_AS(even_levels, try_rows((image_row){.width = 256, .height = 128, .levels = 5}),
        .title = "vk_vmm.image_256x128_levels")

TEST_AS(odd, try_rows((image_row){.width = 253, .height = 127, .levels = 1}),
        .title = "vk_vmm.image_253x127", .smoke = true)

/* Of sizes that are multiples of nothing; the last one has 819,200 bytes of texels. */
TEST(small, .title = "vk_vmm.image_small")
{
    try_rows((image_row){.width = 1, .height = 1, .levels = 1});
    try_rows((image_row){.width = 13, .height = 7, .levels = 3});
    try_rows((image_row){.width = 200, .height = 1024, .levels = 1});
}

TEST_AS(odd_levels, try_rows((image_row){.width = 253, .height = 127, .levels = 5}),
        .title = "vk_vmm.image_253x127_levels")

TEST_AS(large, try_rows((image_row){.width = 1024, .height = 512, .levels = 1}),
        .title = "vk_vmm.image_1024x512")

TEST_AS(compressible_images,
        try_rows((image_row){.width = 253, .height = 127, .levels = 5, .compressible = true}),
        .title = "vk_vmm.image_compressible")

/* Beside others: in compressible memory alone. */
TEST_AS(at_an_offset,
        try_rows((image_row){
            .width = 253, .height = 127, .levels = 5, .compressible = true, .at_offset = true}),
        .title = "vk_vmm.image_at_an_offset")

TEST_AS(bound_here,
        try_rows((image_row){.width = 253, .height = 127, .levels = 5, .bound_here = true}),
        .title = "vk_vmm.image_bound_here")

TEST_AS(bound_here_at_an_offset,
        try_rows((image_row){.width = 253,
                             .height = 127,
                             .levels = 5,
                             .compressible = true,
                             .at_offset = true,
                             .bound_here = true}),
        .title = "vk_vmm.image_bound_here_at_an_offset")

/* Refusals ------------------------------------------------------------------------------------- */

static void refuses(stage *s, VkImage image, const VkImageCreateInfo *info,
                    culv_vmm_allocation *allocation, VkDeviceSize offset, culv_result class,
                    culv_reason why, const char *says)
{
    VkDeviceMemory out;
    VMM_REFUSES_AS(out,
                   culv_vk_image_bind_vmm(s->w.attachment, image, info, allocation, offset, &out),
                   class, why, says);
}

TEST(refused, .title = "vk_vmm.image_refused")
{
    static stage s;
    stage_open(&s);
    culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    const culv_result invalid = CULV_ERROR_INVALID;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo right = image_info(VK_FORMAT_R8G8B8A8_UNORM, 256, 128, 1, 0, &external);
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, false);
    VkImage image = create_image(&s, &right);
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(s.w.vk.device, image, &needs);
    const vmm_stage_objects before = vmm_stage_count();
    VkImageCreateInfo info = right;
    info.pNext = NULL;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_NOT_EXPORTABLE,
            "VkExternalMemoryImageCreateInfo");
    info = right;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_TILING, "LINEAR");
    info = right;
    info.samples = VK_SAMPLE_COUNT_4_BIT;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_USAGE, "samples");
    info = right;
    info.flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_USAGE, "SPARSE_BINDING");
    info = right;
    info.extent.height *= 16; /* not what it was created with */
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_EXTENT,
            "create_info is not what this image");
    refuses(&s, image, &right, allocation, 2 * VMM_MIB, invalid, CULV_REASON_RANGE,
            "the image needs");
    refuses(&s, image, &right, allocation, VMM_MIB, invalid, CULV_REASON_DEDICATED,
            "CULV_VMM_USAGE_COMPRESSIBLE");
    if (needs.alignment > 1)
        refuses(&s, image, &right, allocation, needs.alignment / 2, invalid, CULV_REASON_VALUE,
                "alignment");
    REQUIRE(vmm_stage_same(&before));
    vkDestroyImage(s.w.vk.device, image, NULL);
    const VkImageCreateInfo many =
        image_info(VK_FORMAT_R8G8B8A8_UNORM, 1024, 1024, 1, 0, &external);
    image = create_image(&s, &many);
    refuses(&s, image, &many, allocation, 0, invalid, CULV_REASON_RANGE, "the image needs");
    vkDestroyImage(s.w.vk.device, image, NULL);
    culv_vmm_allocation_destroy(&allocation);
    stage_close(&s);
}

/* CUDA's import of compressible memory crashes there (measured on two H200s). */
TEST(refused_behind_switches, .title = "vk_vmm.image_behind_switches")
{
    static stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
    stage_open(&s);
    const culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.multicast) SKIP("'%s' has no multicast", caps.name);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 253, 127, 1, 0, &external);
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, true);
    VkImage image = create_image(&s, &info);
    const vmm_stage_objects before = vmm_stage_count();
    refuses(&s, image, &info, allocation, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM, "NVSwitches");
    refuses(&s, image, &info, allocation, 65536, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "not compressible");
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory out;
    d.image = image;
    d.dedicated = 1;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(s.w.attachment, allocation, &d, &out), UNSUPPORTED,
                VMM);
    REQUIRE(vmm_stage_same(&before));
    vkDestroyImage(s.w.vk.device, image, NULL);
    culv_vmm_allocation_destroy(&allocation);
    stage_close(&s);
}

/* What Vulkan is told: at offset 0 the memory is for the one image or buffer, elsewhere it is
 * not. */
TEST(dedication)
{
    static stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    stage_open(&s);
    VkDevice device = s.w.vk.device;
    culv_vk_device_desc vd = lib_vk_desc(&s.w);
    lib_lying = (lib_lies){0};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, seeing, culv_vk_attach, s.w.device, &vd);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &external);
    const VkExternalMemoryBufferCreateInfo external_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            .pNext = &external_buffer,
                                            .size = 65536,
                                            .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, !lib_caps(s.w.device).multicast);
    culv_vmm_allocation_info ai = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(allocation, &ai));
    for (int i = 0; i < 2; i++) {
        const VkDeviceSize offset = (VkDeviceSize)i * VMM_MIB;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        VkBuffer buffer = VK_NULL_HANDLE;
        lib_saw_dedicated = true;
        VK_OK(vkCreateBuffer(device, &buffer_info, NULL, &buffer));
        LIB_OK(culv_vk_buffer_bind_vmm(seeing, buffer, allocation, offset, &memory));
        REQUIRE(!lib_saw_dedicated); /* it is smaller than the allocation */
        vkDestroyBuffer(device, buffer, NULL);
        vkFreeMemory(device, memory, NULL);
        if (i == 1 && !(ai.usage & CULV_VMM_USAGE_COMPRESSIBLE)) break;
        VkImage image = create_image(&s, &info);
        lib_saw_dedicated = i != 0;
        LIB_OK(culv_vk_image_bind_vmm(seeing, image, &info, allocation, offset, &memory));
        REQUIRE_EQ(lib_saw_dedicated, offset == 0);
        vkDestroyImage(device, image, NULL);
        vkFreeMemory(device, memory, NULL);
    }
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_detach(&seeing);
    stage_close(&s);
}

/* VMM allocations that Vulkan is not given: wrong calls, memory that is not for it, another
 * GPU's. */

VMM_CASE(wrong_calls)
{
    culv_vk_device *vk = s->w.attachment;
    const uint64_t size = 2 * VMM_MIB;
    OWN(culv_vmm_allocation) *allocation = vmm_stage_allocate(s, size);
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0), big = vmm_stage_buffer(s, size + 4, 0);
    VkImage image; /* only told of */
    memcpy(&image, &buffer, sizeof image);
    VkDeviceMemory out;
    const vmm_stage_objects before = vmm_stage_count();
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, VK_NULL_HANDLE, allocation, 0, &out), INVALID,
                NULL_ARGUMENT);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, NULL, 0, &out), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, NULL), NULL_ARGUMENT);
    VMM_REFUSES(out, culv_vk_image_bind_vmm(vk, image, NULL, allocation, 0, &out), INVALID,
                NULL_ARGUMENT, "create_info");

    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
#define ROW(change, ...)                                                                           \
    SPOILT(                                                                                        \
        d, change,                                                                                 \
        VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, __VA_ARGS__))
    ROW(d.struct_size = 3, STRUCT_SIZE);
    ROW(d.handle = culv_handle_opaque_fd(0), VALUE, ".handle");
    ROW(d.size = size, VALUE, ".size");
    ROW(d.exporter.bytes[0] = 1, VALUE, ".exporter");
    ROW(d.allocate_flags = 0x100, VALUE, "allocate_flags");
    ROW(d.memory_type_bits = 1u << 31, MEMORY_TYPE);
    ROW(d.dedicated = VK_TRUE, VALUE);
    ROW((d.dedicated = VK_TRUE, d.buffer = buffer, d.image = image), VALUE);
    ROW(d.image = image, DEDICATED, "CULV_VMM_USAGE_COMPRESSIBLE");
    ROW(d.buffer = big, SIZE, "the VMM allocation is 2097152 bytes", "cells");
    ROW((d.buffer = big, d.dedicated = VK_TRUE), SIZE);
#undef ROW

    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, big, allocation, 0, &out), INVALID, RANGE,
                "which has 2097152");
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, size, &out), INVALID, RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, size - 65536 + 1, &out),
                INVALID, RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, UINT64_MAX, &out), INVALID,
                RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, 1, &out), INVALID, VALUE,
                "alignment");
    REQUIRE(vmm_stage_same(&before));
    /* After all of that it is as new. */
    LIB_OK(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, &out));
    vmm_stage_drop(s, &buffer, &out);
    vkDestroyBuffer(s->w.vk.device, big, NULL);
}

/* Descriptors of programs that are older than some fields, just as long as they say. */
VMM_CASE(older_descriptors)
{
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    size_t size = offsetof(culv_vk_memory_from_handle_desc, allocate_flags);
    culv_vk_memory_from_handle_desc *from = calloc(1, size);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    REQUIRE(from != NULL);
    memcpy(from, &size, sizeof size);
    LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, from, &memory));
    vkFreeMemory(s->w.vk.device, memory, NULL);
    free(from);
    culv_vmm_allocation_destroy(&allocation);
    size = offsetof(culv_vk_vector_view_desc, sparse_queue);
    const culv_vector_desc d = {.struct_size = sizeof d,
                                .handle_types = 1u << CULV_HANDLE_OPAQUE_FD};
    culv_vk_vector_view_desc *shown = calloc(1, size);
    REQUIRE(shown != NULL);
    memcpy(shown, &size, sizeof size);
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    memcpy((char *)shown + offsetof(culv_vk_vector_view_desc, usage), &usage, sizeof usage);
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, shown);
    free(shown);
}

/* Each road refuses it, with the same reason. */
static void vmm_refused(vmm_stage *s, culv_vmm_allocation *allocation, culv_result class,
                        culv_reason why, const char *says)
{
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0);
    const vmm_stage_objects before = vmm_stage_count();
    VkDeviceMemory out;
    VMM_REFUSES_AS(out, culv_vk_memory_from_vmm(s->w.attachment, allocation, NULL, &out), class,
                   why, says);
    VMM_REFUSES_AS(out, culv_vk_buffer_bind_vmm(s->w.attachment, buffer, allocation, 0, &out),
                   class, why, says);
    REQUIRE(vmm_stage_same(&before));
    vkDestroyBuffer(s->w.vk.device, buffer, NULL);
}

VMM_CASE(not_exportable)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.handle_types = 0;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    vmm_refused(s, allocation, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE, "handle_types");
    culv_vmm_allocation_destroy(&allocation);
    /* An import cannot be handed on; its exporter's handle can, which is the way that the message
     * names. */
    allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    culv_vmm_import_desc id = culv_vmm_import_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &id.handle));
    id.size = 2 * VMM_MIB;
    NEW(culv_vmm_allocation, imported, culv_vmm_import, s->w.device, &id);
    vmm_refused(s, imported, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                "culv_vk_memory_from_handle()");
    culv_vk_memory_from_handle_desc hd = culv_vk_memory_from_handle_desc_init();
    VkBuffer buffer = vmm_stage_buffer(s, 2 * VMM_MIB, 0);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    hd.handle = id.handle;
    hd.size = 2 * VMM_MIB;
    hd.buffer = buffer;
    LIB_OK(culv_vk_memory_from_handle(s->w.attachment, &hd, &memory));
    VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, 0));
    culv_handle_close(&id.handle);
    culv_vmm_allocation_destroy(&allocation);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, imported, &range);
    vmm_stage_require_same(s, buffer, at, 2 * VMM_MIB, 90);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vmm_allocation_destroy(&imported);
    vmm_stage_unmap(&range);
}

VMM_CASE(tile_pool)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.usage = CULV_VMM_USAGE_TILE_POOL;
    d.handle_types = 0;
    NEW(OWN(culv_vmm_allocation), allocation, culv_vmm_allocation_create, s->w.device, &d);
    vmm_refused(s, allocation, CULV_ERROR_INVALID, CULV_REASON_USAGE, "tile pool");
}

/* A VkDevice that is another GPU: refused whether the culv_device is the allocation's or the
 * VkDevice's. */
TEST(another_gpu)
{
    static scene s;
    raw_cuda_two_devices(); /* before vmm_stage_play() opens the driver */
    vmm_stage_play(VMM_HOST_NUMA);
    scene_open_bare(&s, SCENE_PEER);
    lib_world *w = &s.w;
    culv_device_caps caps = lib_caps(w->device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    culv_vk_device *vk = NULL;
    NEW(culv_device, same, culv_device_open_for_vk, vkGetInstanceProcAddr, w->vk.instance,
        w->vk.physical, NULL);
    const culv_vk_device_desc vd = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(same, &vd, &vk));
    const culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    NEW(culv_vmm_allocation, there, culv_vmm_allocation_create, w->device, &d);
    NEW(culv_vmm_allocation, here, culv_vmm_allocation_create, same, &d);
    VkDeviceMemory out;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, there, NULL, &out), INVALID, DEVICE_MISMATCH,
                w->vk.properties.deviceName);
    VMM_REFUSES(out, culv_vk_memory_from_vmm(w->attachment, there, NULL, &out), INVALID,
                DEVICE_MISMATCH);
    /* The same by their handles, whose exporter nobody tells. */
    culv_vk_memory_from_handle_desc from = culv_vk_memory_from_handle_desc_init();
    from.size = 2 * VMM_MIB;
    LIB_OK(culv_vmm_export_dup(there, CULV_HANDLE_OPAQUE_FD, &from.handle));
    culv_vk_device *const both[] = {vk, w->attachment};
    for (int i = 0; i < 2; i++) {
        VMM_REFUSES(out, culv_vk_memory_from_handle(both[i], &from, &out), INVALID,
                    DEVICE_MISMATCH);
    }
    culv_handle_close(&from.handle);
    LIB_OK(culv_vmm_export_dup(here, CULV_HANDLE_OPAQUE_FD, &from.handle));
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_vk_memory_from_handle(both[i], &from, &out));
        vkFreeMemory(w->vk.device, out, NULL);
    }
    culv_handle_close(&from.handle);
    culv_vmm_allocation_desc hd = d;
    culv_vmm_allocation *host = NULL;
    hd.kind = CULV_VMM_LOCATION_HOST_NUMA;
    if (culv_vmm_allocation_create(w->device, &hd, &host) == CULV_OK)
        VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, host, NULL, &out), INVALID, DEVICE_MISMATCH);
    culv_vmm_allocation_destroy(&host);
    /* Attached for copies as another GPU, the VkDevice still takes memory of its own. */
    LIB_OK(culv_vk_memory_from_vmm(w->attachment, here, NULL, &out));
    vkFreeMemory(w->vk.device, out, NULL);

    culv_vector_desc vector_desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_vk_vector_view_desc view_desc = culv_vk_vector_view_desc_init();
    vector_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    view_desc.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    for (int i = 0; i < 2; i++) { /* empty and not */
        vector_desc.size = (uint64_t)i * 2 * VMM_MIB;
        LIB_OK(culv_vector_create(w->device, &vector_desc, &vector));
        LIB_REFUSES(view, culv_vk_vector_view_create(vk, vector, &view_desc, &view), INVALID,
                    DEVICE_MISMATCH);
        culv_vector_destroy(&vector, NULL);
    }
    culv_vmm_allocation_destroy(&here);
    culv_vmm_allocation_destroy(&there);
    culv_vk_detach(&vk);
    culv_device_close(&same);
    scene_close(&s);
}

/* What needs an allocation of its own has it at offset 0, of its very size, and is refused in
 * another one. */
VMM_CASE(dedicated)
{
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){.requires_dedicated = true};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, lying, culv_vk_attach, s->w.device, &vd);
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 4 * VMM_MIB);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0);
    VkDeviceMemory memory;
    VMM_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 2 * VMM_MIB, &memory),
                INVALID, DEDICATED, "at offset 0");
    VMM_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 0, &memory), INVALID,
                DEDICATED, "but the VMM allocation has 4194304");
    vkDestroyBuffer(s->w.vk.device, buffer, NULL);
    buffer = vmm_stage_buffer(s, 4 * VMM_MIB, 0);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.buffer = buffer;
    VMM_REFUSES(memory, culv_vk_memory_from_vmm(lying, allocation, &d, &memory), INVALID,
                DEDICATED);
    d.dedicated = VK_TRUE;
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_memory_from_vmm(lying, allocation, &d, &memory));
    REQUIRE(lib_saw_dedicated);
    vkFreeMemory(s->w.vk.device, memory, NULL);
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_buffer_bind_vmm(lying, buffer, allocation, 0, &memory));
    REQUIRE(lib_saw_dedicated);
    vmm_stage_require_same(s, buffer, at, 4 * VMM_MIB, 20);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
    culv_vk_detach(&lying);
}

/* A VkDevice without the extension by which handles come in. */
VMM_CASE(not_enabled)
{
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){.missing = "vkGetMemoryFdKHR"};
    vd.get_instance_proc_addr = lib_lying_loader;
    vd.fallback = CULV_FALLBACK_ANY;
    NEW(culv_vk_device, poor, culv_vk_attach, s->w.device, &vd);
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    VkDeviceMemory out;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(poor, allocation, NULL, &out), UNSUPPORTED,
                EXTENSION_MISSING);
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_detach(&poor);
}
