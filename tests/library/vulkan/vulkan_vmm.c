/* SPDX-License-Identifier: MIT */
/* VMM allocations under Vulkan's buffers, by data. */
#define TEST_GROUP "vk_vmm."
#include "fallback_scene.h"
#include "image_stage.h"
#include "vulkan_vmm_stage.h"

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
    LIB_BLOCK(uint32_t, words, 4 * VMM_MIB);
    rd.size = 12 * VMM_MIB;
    NEW(culv_vmm_range, range, culv_vmm_range_create, s->w.device, &rd);
    LIB_OK(culv_vmm_map(range, 0, own, NULL, 0));
    culv_vmm_allocation_destroy(&own);
    for (int i = 0; i < ROWS; i++) {
        raw_vk_buffer_create(&s->w.vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &buffers[i]);
        culv_vk_memory_desc d = lib_vk_memory(&buffers[i]);
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
        culv_vk_memory_desc d = lib_vk_memory(&buffer);
        LIB_REFUSES(out, culv_vk_memory_import_vmm(s->w.attachment, &d, &out), INVALID, SIZE,
                    "in multiples of 2097152 bytes");
        d.memory = VK_NULL_HANDLE;
        LIB_REFUSES(out, culv_vk_memory_import_vmm(s->w.attachment, &d, &out), INVALID,
                    NULL_ARGUMENT);
        raw_vk_buffer_destroy(&s->w.vk, &buffer);
    }
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
    LIB_BLOCK(unsigned char, bytes, all);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < all; i++)
        bytes[i] = byte_of(i, seed);
    LIB_CU_OK(&s->w, raw_cuda_upload(cu, at, bytes, (size_t)all));
    memset(bytes, 0, (size_t)all);
    raw_vk_read(&s->w.vk, &b, 0, bytes, size);
    for (uint64_t i = 0; i < size; i++)
        wrong += bytes[i] != byte_of(offset + i, seed);
    REQUIRE_EQ(wrong, 0);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = byte_of(i, seed + 1);
    raw_vk_write(&s->w.vk, &b, 0, bytes, size);
    memset(bytes, 0, (size_t)all);
    LIB_CU_OK(&s->w, cu->MemcpyDtoH(bytes, at, (size_t)all));
    for (uint64_t i = 0; i < all; i++)
        wrong += bytes[i] != (i < offset || i - offset >= size ? byte_of(i, seed)
                                                               : byte_of(i - offset, seed + 1));
    REQUIRE_EQ(wrong, 0);
}

/* An allocation's memory for a buffer, by culv_vk_memory_from_vmm(): dedicated if the buffer needs
 * all of it. */
static VkDeviceMemory memory_of(vmm_stage *s, culv_vmm_allocation *allocation, VkBuffer buffer,
                                bool whole)
{
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory memory = VK_NULL_HANDLE;
    d.buffer = buffer;
    d.dedicated = VK_TRUE;
    if (!whole) {
        const vmm_stage_objects before = vmm_stage_count();
        LIB_REFUSES(memory, culv_vk_memory_from_vmm(s->w.attachment, allocation, &d, &memory),
                    INVALID, DEDICATED, "leave dedicated 0");
        REQUIRE(vmm_stage_same(&before));
        d.dedicated = VK_FALSE;
    }
    LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, &d, &memory));
    return memory;
}

/* Buffers of sizes that no allocation has, several at once in one allocation: at multiples of the
 * alignment and of nothing else, and at the last byte that there is. Dedicated is what has all of
 * the allocation. */
VMM_CASE(of_odd_sizes)
{
    enum { OFFSETS = 5 };
    static const struct {
        uint64_t bytes, all;
    } rows[] = {
        {1, 1},       {4097, 4097},    {819200, 819200}, {2097151, 2097151}, {2097153, 2097153},
        {1, 4 << 20}, {4097, 4 << 20}, {100000, 4 << 20}};
    lib_lying = (lib_lies){0};
    culv_vk_device *seeing = lib_attach(&s->w, lib_lying_loader);
    for (uint32_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const uint64_t bytes = rows[row].bytes;
        culv_vmm_allocation *allocation = vmm_stage_allocate(s, rows[row].all);
        const uint64_t all = lib_allocation(allocation).size;
        culv_vmm_range *range = NULL;
        CUdeviceptr at = vmm_stage_map(s, allocation, &range);
        VkBuffer buffers[OFFSETS + 1];
        VkDeviceMemory memories[OFFSETS + 1];
        VkDeviceSize offsets[OFFSETS + 1];
        VkMemoryRequirements needs;
        uint32_t count = 0;
        buffers[0] = vmm_stage_buffer(s, bytes, 0);
        vkGetBufferMemoryRequirements(s->w.vk.device, buffers[0], &needs);
        const VkDeviceSize step = needs.alignment, room = (all - needs.size) / step * step;
        const VkDeviceSize tried[OFFSETS] = {0, step, 3 * step, VMM_MIB / step * step + step, room};
        for (uint32_t k = 0; k < OFFSETS; k++) {
            if (tried[k] > room) continue;
            if (count > 0) buffers[count] = vmm_stage_buffer(s, bytes, 0);
            vkGetBufferMemoryRequirements(s->w.vk.device, buffers[count], &needs);
            lib_saw_dedicated = needs.size != all;
            offsets[count] = tried[k];
            LIB_OK(culv_vk_buffer_bind_vmm(seeing, buffers[count], allocation, tried[k],
                                           &memories[count]));
            REQUIRE_EQ(lib_saw_dedicated, needs.size == all);
            count++;
        }
        buffers[count] = vmm_stage_buffer(s, bytes, 0);
        vkGetBufferMemoryRequirements(s->w.vk.device, buffers[count], &needs);
        memories[count] = memory_of(s, allocation, buffers[count], needs.size == all);
        offsets[count] = room;
        VK_OK(vkBindBufferMemory(s->w.vk.device, buffers[count], memories[count], room));
        for (uint32_t k = 0; k <= count; k++)
            require_bytes(s, buffers[k], at, all, offsets[k], bytes, 10 * row + k);
        for (uint32_t k = 0; k <= count; k++)
            vmm_stage_drop(s, &buffers[k], &memories[k]);
        culv_vmm_allocation_destroy(&allocation);
        vmm_stage_unmap(&range);
    }
    culv_vk_detach(&seeing);
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

/* Memory in each type that a buffer can have, by default, and with a device address. */
static void in_every_type(culv_vmm_allocation_desc d)
{
    vmm_stage s;
    const raw_cuda *cu = lib_driver();
    if (d.usage != 0) vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    if (d.kind == CULV_VMM_LOCATION_HOST_NUMA) {
        vmm_stage_play(VMM_HOST_NUMA);
        CU_OK(cu->DeviceGetAttribute(&d.numa_node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0));
        if (d.numa_node < 0) d.numa_node = 0;
    }
    vmm_stage_open(&s);
    VkDevice device = s.w.vk.device;
    culv_vmm_allocation *allocation = NULL;
    if (culv_vmm_allocation_create(s.w.device, &d, &allocation) != CULV_OK &&
        d.kind == CULV_VMM_LOCATION_HOST_NUMA)
        SKIP("no host memory by VMM here: %s", culv_last_error_message());
    REQUIRE(allocation != NULL);
    if ((lib_allocation(allocation).usage & d.usage) != d.usage)
        SKIP("compressible memory was not granted");
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(&s, allocation, &range);
    const uint32_t types = s.w.vk.memory.memoryTypeCount;
    for (uint32_t type = 0; type < types + 2; type++) {
        const bool address = type == types + 1;
        VkBuffer buffer =
            vmm_stage_buffer(&s, d.size, address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
        VkDeviceMemory memory = VK_NULL_HANDLE;
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(device, buffer, &needs);
        culv_vk_memory_from_handle_desc hd = culv_vk_memory_from_handle_desc_init();
        hd.memory_type_bits = needs.memoryTypeBits & 1u << (type < types ? type : first_local(&s));
        if (address) {
            hd.memory_type_bits = 0;
            hd.buffer = buffer;
            hd.allocate_flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        }
        if (hd.memory_type_bits != 0 || address) {
            printf("memory type %u of %u\n", (unsigned)type, (unsigned)types);
            LIB_OK(culv_vk_memory_from_vmm(s.w.attachment, allocation, type == types ? NULL : &hd,
                                           &memory));
            VK_OK(vkBindBufferMemory(device, buffer, memory, 0));
            if (address)
                REQUIRE(vkGetBufferDeviceAddress(
                            device, &(VkBufferDeviceAddressInfo){
                                        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = buffer}) != 0);
            vmm_stage_require_same(&s, buffer, at, d.size, 30 + type);
        }
        vmm_stage_drop(&s, &buffer, &memory);
    }
    vmm_stage_unmap(&range);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_close(&s);
}

TEST_AS(each_type, in_every_type(vmm_stage_desc(2 * VMM_MIB)))

static culv_vmm_allocation_desc compressible(uint64_t size)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(size);
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    return d;
}

TEST_AS(compressible_buffer, in_every_type(compressible(2 * VMM_MIB)),
        .title = "vk_vmm.compressible")

static culv_vmm_allocation_desc on_host(void)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.kind = CULV_VMM_LOCATION_HOST_NUMA;
    return d;
}

TEST_AS(host_memory, in_every_type(on_host()))

/* VMM allocations under Vulkan's images: every road of the texels, both ways, by size, levels,
 * usage, offset and how the memory was made. */

typedef struct image_row {
    uint32_t width, height, levels;
    bool at_offset;
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

static culv_vmm_allocation *allocate(const stage *s, uint64_t size, bool compress)
{
    const culv_vmm_allocation_desc d = compress ? compressible(size) : vmm_stage_desc(size);
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    return allocation;
}

/* By an attachment by which it is seen that the memory is dedicated at offset 0, and nowhere else.
 * False: Vulkan has none like it that can be shared. */
static bool open_image(stage *s, culv_vk_device *seeing, const image_row *row,
                       VkImageUsageFlags usage, bool compress, vmm_image *out)
{
    VkDevice device = s->w.vk.device;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, row->width, row->height,
                                              row->levels, usage, &external);
    VkMemoryRequirements needs;
    memset(out, 0, sizeof *out);
    shared_image *i = &out->i;
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    if (culv_vk_check_image(s->w.attachment, &info, NULL, &how) != CULV_OK) {
        REQUIRE(!s->w.cu->software);
        printf("%ux%u, usage 0x%x: not tried: %s\n", row->width, row->height, (unsigned)usage,
               culv_last_error_message());
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
    out->allocation = allocate(s, offset + needs.size, compress);
    lib_saw_dedicated = offset != 0;
    if (row->bound_here) {
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        d.image = i->image;
        d.dedicated = offset == 0;
        LIB_OK(culv_vk_memory_from_vmm(seeing, out->allocation, &d, &out->vk_memory));
        VK_OK(vkBindImageMemory(device, i->image, out->vk_memory, offset));
    } else {
        LIB_OK(culv_vk_image_bind_vmm(seeing, i->image, &info, out->allocation, offset,
                                      &out->vk_memory));
    }
    REQUIRE_EQ(lib_saw_dedicated, offset == 0);
    const culv_vmm_allocation_info ai = lib_allocation(out->allocation);
    culv_memory_desc md = culv_memory_desc_init();
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
    shared_image_lay_out(i);
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

/* The kernels' pattern, or a smooth one, which drivers compress. */
static void fill(const shared_image *i, bool smooth, uint32_t seed, unsigned char flip,
                 unsigned char *texels)
{
    image_fill(i, seed, flip, texels);
    for (uint32_t level = 0; smooth && level < i->levels; level++) {
        const VkExtent3D e = shared_image_extent(i, level);
        for (size_t k = 0; k < (size_t)4 * e.width * e.height; k++)
            texels[i->at[level] + k] = (unsigned char)((k / 16 + seed) ^ flip);
    }
}

static void require(const shared_image *i, bool smooth, uint32_t seed, unsigned char flip,
                    const unsigned char *texels)
{
    LIB_BLOCK(unsigned char, expected, i->size);
    fill(i, smooth, seed, flip, expected);
    REQUIRE_EQ_BYTES(texels, expected, i->size);
}

/* Vulkan's turn with all levels: from or to a buffer, or, without one, cleared. */
static void vulkans_turn(stage *s, const shared_image *i, culv_vk_use use, bool old_form,
                         const raw_vk_buffer *buffer)
{
    static const VkClearColorValue color = {.float32 = {1.0f, 0.0f, 0.2f, 1.0f}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, i->levels, 0, 1};
    const culv_vk_image_transfer t = image_transfer(i, 0, use);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_VULKAN, old_form);
    if (buffer == NULL)
        vkCmdClearColorImage(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
                             &all);
    else if (use == CULV_VK_USE_TRANSFER_SRC)
        record_copy_out(commands, i, buffer->buffer);
    else
        record_copy_in(commands, i, buffer->buffer, 0);
    record_barrier(commands, &t, TO_CUDA, old_form);
    stage_submit(s, commands, 0);
}

/* CUDA fills the image, by copies and by kernels; Vulkan reads it and fills it anew; kernels change
 * that in place; a copy and Vulkan read it. Barriers have either form. */
static void exchange(stage *s, const shared_image *i, bool smooth, const raw_vk_buffer *buffer,
                     unsigned char *texels)
{
    fill(i, smooth, 1, 0, texels);
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++)
        if (smooth || level % 2 != 0)
            cuda_copy_in(s, i, level, texels);
        else
            cuda_paint(s, i, level, 1);
    stage_cuda_end(s);
    vulkans_turn(s, i, CULV_VK_USE_TRANSFER_SRC, !smooth, buffer);
    require(i, smooth, 1, 0, buffer->mapped);
    fill(i, smooth, 2, 0, buffer->mapped);
    vulkans_turn(s, i, CULV_VK_USE_TRANSFER_DST, !smooth, buffer);
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++) {
        cuda_flip(s, i, level);
        cuda_copy_out(s, i, level, texels);
    }
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
    require(i, smooth, 2, FLIP, texels);
    vulkans_turn(s, i, CULV_VK_USE_TRANSFER_SRC, !smooth, buffer);
    require(i, smooth, 2, FLIP, buffer->mapped);
}

static void require_cleared(stage *s, const shared_image *i, unsigned char *texels)
{
    static const unsigned char cleared[4] = {255, 0, 51, 255};
    vulkans_turn(s, i, CULV_VK_USE_TRANSFER_DST, false, NULL);
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++)
        cuda_copy_out(s, i, level, texels);
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
    for (uint32_t level = 0; level < i->levels; level++) {
        const VkExtent3D e = shared_image_extent(i, level);
        for (size_t k = 0; k < (size_t)4 * e.width * e.height; k++)
            REQUIRE_EQ(texels[i->at[level] + k], cleared[k % 4]);
    }
}

static void try_row(stage *s, culv_vk_device *seeing, const image_row *row, VkImageUsageFlags usage,
                    bool compress)
{
    vmm_image m;
    if (!open_image(s, seeing, row, usage, compress, &m)) return;
    printf("%ux%u, %u levels, usage 0x%x%s%s\n", row->width, row->height, row->levels,
           (unsigned)usage, row->at_offset ? ", at an offset" : "",
           row->bound_here ? ", bound here" : "");
    raw_vk_buffer buffer;
    LIB_BLOCK(unsigned char, texels, m.i.size);
    raw_vk_buffer_create(&s->w.vk, m.i.size, RAW_VK_HOST, &buffer);
    memset(buffer.mapped, 0, m.i.size); /* what lies between the levels stays so */
    image_first_release(s, &m.i, 0, true);
    for (int smooth = 1; smooth >= 0; smooth--)
        exchange(s, &m.i, smooth, &buffer, texels);
    if (s->w.vk.queues[0].flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
        require_cleared(s, &m.i, texels);
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
    close_image(s, &m);
}

static void try_rows(const image_row *rows, size_t count, bool compress)
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
    if (compress) vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    stage_open(&s);
    culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    if (compress) {
        OWN(culv_vmm_allocation) *allocation = allocate(&s, 2 * VMM_MIB, true);
        if (!(lib_allocation(allocation).usage & CULV_VMM_USAGE_COMPRESSIBLE))
            SKIP("compressible memory was not granted");
        if (caps.multicast) SKIP("behind NVSwitches it is refused: image_behind_switches");
    }
    lib_lying = (lib_lies){0};
    culv_vk_device *seeing = lib_attach(&s.w, lib_lying_loader);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof usages / sizeof usages[0]; k++)
            try_row(&s, seeing, &rows[i], usages[k], compress);
    culv_vk_detach(&seeing);
    stage_close(&s);
}

/* Some of sizes that are multiples of nothing; 200x1024 has 819,200 bytes of texels. */
TEST(images, .title = "vk_vmm.image_sizes", .smoke = true)
{
    static const image_row rows[] = {
        {256, 128, 1, .at_offset = false},  {256, 128, 5, .at_offset = false},
        {253, 127, 1, .at_offset = false},  {253, 127, 5, .at_offset = false},
        {1, 1, 1, .at_offset = false},      {13, 7, 3, .at_offset = false},
        {200, 1024, 1, .at_offset = false}, {1024, 512, 1, .at_offset = false},
        {253, 127, 5, .bound_here = true}};
    try_rows(rows, sizeof rows / sizeof rows[0], false);
}

/* Beside others, too, which is in compressible memory alone. */
TEST(compressible_images, .title = "vk_vmm.image_compressible")
{
    static const image_row rows[] = {{253, 127, 5, .at_offset = false},
                                     {253, 127, 5, .at_offset = true},
                                     {253, 127, 5, .at_offset = true, .bound_here = true}};
    try_rows(rows, sizeof rows / sizeof rows[0], true);
}

/* Refusals ------------------------------------------------------------------------------------- */

/* An image and an allocation that are never bound; in the end nothing was made of them. */
typedef struct unbound {
    stage s;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info;
    culv_vmm_allocation *allocation;
    VkImage image;
    vmm_stage_objects before;
} unbound;

static void open_unbound(unbound *u, bool compress)
{
    if (compress) {
        vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
        vmm_stage_play(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
    }
    stage_open(&u->s);
    const culv_device_caps caps = lib_caps(u->s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    if (compress && !caps.multicast) SKIP("'%s' has no multicast", caps.name);
    u->info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 256, 128, 1, 0, &u->external);
    u->allocation = allocate(&u->s, 2 * VMM_MIB, compress);
    u->image = create_image(&u->s, &u->info);
    u->before = vmm_stage_count();
}

static void close_unbound(unbound *u)
{
    REQUIRE(vmm_stage_same(&u->before));
    vkDestroyImage(u->s.w.vk.device, u->image, NULL);
    culv_vmm_allocation_destroy(&u->allocation);
    stage_close(&u->s);
}

#define UNBOUND_CASE(compress, ...)                                                                \
    TEST_ON(unbound, u, open_unbound(u, compress), close_unbound(u), __VA_ARGS__)
#define REFUSES(change, offset, ...)                                                               \
    SPOILT(u->info, change,                                                                        \
           LIB_REFUSES(out,                                                                        \
                       culv_vk_image_bind_vmm(u->s.w.attachment, u->image, &u->info,               \
                                              u->allocation, offset, &out),                        \
                       __VA_ARGS__))
#define AS_IT_IS (void)0

UNBOUND_CASE(false, refused, .title = "vk_vmm.image_refused")
{
    VkDevice device = u->s.w.vk.device;
    VkDeviceMemory out;
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(device, u->image, &needs);
    REFUSES(u->info.pNext = NULL, 0, INVALID, NOT_EXPORTABLE, "VkExternalMemoryImageCreateInfo");
    REFUSES(u->info.tiling = VK_IMAGE_TILING_LINEAR, 0, INVALID, TILING, "LINEAR");
    REFUSES(u->info.samples = VK_SAMPLE_COUNT_4_BIT, 0, INVALID, USAGE, "samples");
    REFUSES(u->info.flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT, 0, INVALID, USAGE,
            "SPARSE_BINDING");
    REFUSES(u->info.extent.height *= 16, 0, INVALID, EXTENT, "create_info is not what this image");
    REFUSES(AS_IT_IS, 2 * VMM_MIB, INVALID, RANGE, "the image needs");
    REFUSES(AS_IT_IS, VMM_MIB, INVALID, DEDICATED, "CULV_VMM_USAGE_COMPRESSIBLE");
    if (needs.alignment > 1) REFUSES(AS_IT_IS, needs.alignment / 2, INVALID, VALUE, "alignment");
    vkDestroyImage(device, u->image, NULL);
    u->info.extent.width = u->info.extent.height = 1024;
    u->image = create_image(&u->s, &u->info);
    REFUSES(AS_IT_IS, 0, INVALID, RANGE, "the image needs");
}

/* CUDA's import of compressible memory crashes there (measured on two H200s). */
UNBOUND_CASE(true, refused_behind_switches, .title = "vk_vmm.image_behind_switches")
{
    VkDeviceMemory out;
    REFUSES(AS_IT_IS, 0, UNSUPPORTED, VMM, "NVSwitches");
    REFUSES(AS_IT_IS, 65536, UNSUPPORTED, VMM, "not compressible");
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.image = u->image;
    d.dedicated = 1;
    LIB_REFUSES(out, culv_vk_memory_from_vmm(u->s.w.attachment, u->allocation, &d, &out),
                UNSUPPORTED, VMM);
}
#undef REFUSES

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
    LIB_REFUSES(out, culv_vk_image_bind_vmm(vk, image, NULL, allocation, 0, &out), INVALID,
                NULL_ARGUMENT, "create_info");
#define BIND(buffer, offset, ...)                                                                  \
    LIB_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, offset, &out), INVALID,       \
                __VA_ARGS__)
    LIB_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, NULL, 0, &out), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, NULL), NULL_ARGUMENT);
    BIND(VK_NULL_HANDLE, 0, NULL_ARGUMENT);
    BIND(big, 0, RANGE, "which has 2097152");
    BIND(buffer, size, RANGE);
    BIND(buffer, size - 65536 + 1, RANGE);
    BIND(buffer, UINT64_MAX, RANGE);
    BIND(buffer, 1, VALUE, "alignment");
#undef BIND
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
#define ROW(change, ...)                                                                           \
    SPOILT(                                                                                        \
        d, change,                                                                                 \
        LIB_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, __VA_ARGS__))
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
    REQUIRE(vmm_stage_same(&before));
    /* After all of that it is as new. */
    LIB_OK(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, &out));
    vmm_stage_drop(s, &buffer, &out);
    vkDestroyBuffer(s->w.vk.device, big, NULL);
}

/* Each road refuses it, with the same reason. */
#define VMM_REFUSED(allocation, ...)                                                               \
    do {                                                                                           \
        VkBuffer buffer_ = vmm_stage_buffer(s, 65536, 0);                                          \
        const vmm_stage_objects before_ = vmm_stage_count();                                       \
        VkDeviceMemory out_;                                                                       \
        LIB_REFUSES(out_, culv_vk_memory_from_vmm(s->w.attachment, allocation, NULL, &out_),       \
                    INVALID, __VA_ARGS__);                                                         \
        LIB_REFUSES(out_, culv_vk_buffer_bind_vmm(s->w.attachment, buffer_, allocation, 0, &out_), \
                    INVALID, __VA_ARGS__);                                                         \
        REQUIRE(vmm_stage_same(&before_));                                                         \
        vkDestroyBuffer(s->w.vk.device, buffer_, NULL);                                            \
    } while (0)

VMM_CASE(not_exportable)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    d.handle_types = 0;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    VMM_REFUSED(allocation, NOT_EXPORTABLE, "handle_types");
    culv_vmm_allocation_destroy(&allocation);
    /* An import cannot be handed on; its exporter's handle can, which is the way that the message
     * names. */
    allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    culv_vmm_import_desc id = culv_vmm_import_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &id.handle));
    id.size = 2 * VMM_MIB;
    NEW(culv_vmm_allocation, imported, culv_vmm_import, s->w.device, &id);
    VMM_REFUSED(imported, NOT_EXPORTABLE, "culv_vk_memory_from_handle()");
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
    VMM_REFUSED(allocation, USAGE, "tile pool");
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
    LIB_REFUSES(out, culv_vk_memory_from_vmm(vk, there, NULL, &out), INVALID, DEVICE_MISMATCH,
                w->vk.properties.deviceName);
    LIB_REFUSES(out, culv_vk_memory_from_vmm(w->attachment, there, NULL, &out), INVALID,
                DEVICE_MISMATCH);
    /* The same by their handles, whose exporter nobody tells. */
    culv_vk_memory_from_handle_desc from = culv_vk_memory_from_handle_desc_init();
    from.size = 2 * VMM_MIB;
    LIB_OK(culv_vmm_export_dup(there, CULV_HANDLE_OPAQUE_FD, &from.handle));
    culv_vk_device *const both[] = {vk, w->attachment};
    for (int i = 0; i < 2; i++) {
        LIB_REFUSES(out, culv_vk_memory_from_handle(both[i], &from, &out), INVALID,
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
        LIB_REFUSES(out, culv_vk_memory_from_vmm(vk, host, NULL, &out), INVALID, DEVICE_MISMATCH);
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
 * another one. What Vulkan has it keeps when CUDA's half is gone. */
VMM_CASE(dedicated, .smoke = true)
{
    lib_lying = (lib_lies){.requires_dedicated = true};
    culv_vk_device *lying = lib_attach(&s->w, lib_lying_loader);
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 4 * VMM_MIB);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0);
    VkDeviceMemory memory;
    LIB_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 2 * VMM_MIB, &memory),
                INVALID, DEDICATED, "at offset 0");
    LIB_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 0, &memory), INVALID,
                DEDICATED, "but the VMM allocation has 4194304");
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.buffer = buffer;
    d.dedicated = VK_TRUE;
    LIB_REFUSES(memory, culv_vk_memory_from_vmm(lying, allocation, &d, &memory), INVALID, DEDICATED,
                "which Vulkan requires here");
    vkDestroyBuffer(s->w.vk.device, buffer, NULL);
    buffer = vmm_stage_buffer(s, 4 * VMM_MIB, 0);
    d.buffer = buffer;
    d.dedicated = VK_FALSE;
    LIB_REFUSES(memory, culv_vk_memory_from_vmm(lying, allocation, &d, &memory), INVALID,
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
    vmm_stage_kernel(s, "library_write", at, 4 * VMM_MIB, 41);
    culv_vmm_allocation_destroy(&allocation);
    REQUIRE(allocation == NULL);
    vmm_stage_unmap(&range);
    LIB_BLOCK(uint32_t, words, 4 * VMM_MIB);
    vmm_stage_vulkan_read(s, buffer, 4 * VMM_MIB, words);
    REQUIRE_EQ(vmm_stage_wrong(words, 4 * VMM_MIB, 0, 41), 0);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vk_detach(&lying);
}
