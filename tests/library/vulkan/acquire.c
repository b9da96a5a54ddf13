/* SPDX-License-Identifier: MIT */
/* culv_vk_memory_import_shared(): one import a VkDeviceMemory, however many resources are in it. */
#define TEST_GROUP "acquire."
#include "library.h"
#include "raw_vulkan_image.h"

enum { BYTES = 1 << 20 };

static culv_vk_memory_desc desc_of(const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = buffer->memory;
    d.allocation_size = buffer->allocation_size;
    return d;
}

static culv_memory *acquire(culv_vk_device *vk, const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = desc_of(buffer);
    NEW(culv_memory, memory, culv_vk_memory_import_shared, vk, &d);
    return memory;
}

static culv_buffer *map(culv_memory *memory, uint64_t offset, uint64_t size)
{
    culv_buffer_desc d = culv_buffer_desc_init();
    d.offset = offset;
    d.size = size;
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &d);
    return buffer;
}

/* As an allocator's user does: acquire, map, give the import up at once, for each of a dozen
 * resources. */
LIB_CASE(one_import)
{
    enum { RESOURCES = 12, SIZE = 4096 };
    culv_buffer *buffers[RESOURCES];
    raw_vk_buffer block = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    culv_memory *first = acquire(w->attachment, &block);
    const size_t fds = test_open_fds();
    for (uint64_t i = 0; i < RESOURCES; i++) {
        culv_memory *again = acquire(w->attachment, &block);
        REQUIRE(again == first);
        buffers[i] = map(again, i * 2 * SIZE, SIZE);
        culv_memory_destroy(&again);
        REQUIRE_EQ(culv_buffer_pointer(buffers[i]), culv_buffer_pointer(buffers[0]) + i * 2 * SIZE);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    lib_require_driver_counts(w, 1, 1, 0);
    /* A buffer alone keeps it findable. */
    culv_memory *kept = first;
    culv_memory_destroy(&first);
    for (int i = 1; i < RESOURCES; i++)
        culv_buffer_unmap(&buffers[i], NULL);
    OWN(culv_memory) *again = acquire(w->attachment, &block);
    REQUIRE(again == kept);
    culv_memory_destroy(&again);
    culv_buffer_unmap(&buffers[0], NULL);
    lib_settle(w);
    lib_require_driver_counts(w, 0, 0, 0);
    /* Then it is a new one. */
    again = acquire(w->attachment, &block);
    REQUIRE_EQ(lib_counts(w).memories, 1);
}

/* What was given up and waits for the GPU is not found: its VkDeviceMemory may be another by
 * then. */
LIB_CASE(deferred_is_not_found)
{
    raw_vk_buffer block = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 1)); /* the stream stands still */
    culv_memory *memory = acquire(w->attachment, &block);
    culv_buffer *buffer = map(memory, 0, 4096);
    culv_memory_destroy(&memory);
    culv_buffer_unmap(&buffer, &stream);
    REQUIRE_EQ(lib_counts(w).deferred, 1);
    memory = acquire(w->attachment, &block);
    REQUIRE_EQ(lib_counts(w).memories, 2); /* the old one and the new one */
    culv_memory_destroy(&memory);
    raw_vk_timeline_signal(&w->vk, timeline, 1);
    lib_finish(w, stream);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).memories, 0);
}

/* Imports of culv_vk_memory_import(), and those of another attachment, are apart. */
LIB_CASE(apart)
{
    raw_vk_buffer block = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    culv_vk_device_desc vd = lib_vk_desc(w);
    NEW(culv_vk_device, other, culv_vk_attach, w->device, &vd);
    culv_memory *plain = lib_import(w, &block);
    culv_memory *a = acquire(w->attachment, &block);
    culv_memory *b = acquire(other, &block);
    REQUIRE(plain != a && a != b && plain != b);
    REQUIRE_EQ(lib_counts(w).memories, 3);
    culv_vk_detach(&other);
    /* A third attachment may lie where the second was: its imports are its own all the same. */
    LIB_OK(culv_vk_attach(w->device, &vd, &other));
    culv_memory *c = acquire(other, &block);
    REQUIRE(c != b);
    culv_vk_detach(&other);
    culv_memory_destroy(&a);
    culv_memory_destroy(&b);
    culv_memory_destroy(&c);
    culv_memory_destroy(&plain);
}

LIB_CASE(refused)
{
    culv_memory *memory = NULL;
    raw_vk_buffer block = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    OWN(culv_memory) *first = acquire(w->attachment, &block);
    culv_vk_memory_desc d = desc_of(&block);
    d.allocation_size -= 1;
    LIB_REFUSES(memory, culv_vk_memory_import_shared(w->attachment, &d, &memory), INVALID, SIZE,
                "allocation_size");
    static const VkDeviceSize more[] = {1, 256, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        raw_vk_buffer alone;
        raw_vk_buffer_create(&w->vk, BYTES + 4, RAW_VK_EXPORT | RAW_VK_DEDICATED, &alone);
        d = desc_of(&alone);
        d.dedicated = VK_TRUE;
        d.buffer = alone.buffer;
        d.allocation_size += more[i];
        LIB_REFUSES(memory, culv_vk_memory_import(w->attachment, &d, &memory), INVALID, SIZE,
                    "has exactly");
        raw_vk_buffer_destroy(&w->vk, &alone);
    }
    d = desc_of(&block);
    d.dedicated = VK_TRUE;
    LIB_REFUSES(memory, culv_vk_memory_import_shared(w->attachment, &d, &memory), INVALID,
                DEDICATED);
    d = desc_of(&block);
    d.buffer = block.buffer;
    d.buffer_offset = block.allocation_size;
    LIB_REFUSES(memory, culv_vk_memory_import_shared(w->attachment, &d, &memory), INVALID,
                RANGE); /* found or not, what is said of the resource is checked */
    d.memory = VK_NULL_HANDLE;
    LIB_REFUSES(memory, culv_vk_memory_import_shared(w->attachment, &d, &memory), INVALID,
                NULL_ARGUMENT);
    REQUIRE_EQ(lib_counts(w).memories, 1);
}

static VkImageCreateInfo image_info(const raw_vk_image *image,
                                    const VkExternalMemoryImageCreateInfo *external)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .pNext = external,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = image->desc.format,
                               .extent = {image->desc.width, image->desc.height, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_DST_BIT};
}

static culv_result map_image(lib_world *w, culv_memory *memory, const raw_vk_image *image,
                             culv_image **out)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo info = image_info(image, &external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = image->image;
    d.create_info = &info;
    d.offset = image->offset;
    return culv_vk_image_map(w->attachment, memory, &d, out);
}

/* One depth or stencil format: among other things in a block, and in memory of its own. */
static void try_format(lib_world *w, const raw_vk_buffer *block, VkFormat format, bool alone)
{
    raw_vk_image_desc desc = {
        .format = format, .width = 64, .height = 32, .min_offset = 65536, .flags = RAW_VK_EXPORT};
    raw_vk_image image;
    culv_image *mapped = NULL;
    if (!raw_vk_image_supported(&w->vk, &desc)) SKIP("no such image can be exported here");
    raw_vk_image_create_in(&w->vk, &desc, block, &image);
    culv_memory *memory = acquire(w->attachment, block);
    if (alone) {
        LIB_REFUSES(mapped, map_image(w, memory, &image, &mapped), INVALID, DEDICATED,
                    "VkMemoryDedicatedAllocateInfo");
    } else {
        LIB_OK(map_image(w, memory, &image, &mapped));
        culv_image_unmap(&mapped, NULL);
    }
    culv_memory_destroy(&memory);
    raw_vk_image_destroy(&w->vk, &image);

    desc.min_offset = 0;
    desc.flags |= RAW_VK_DEDICATED;
    raw_vk_image_create(&w->vk, &desc, &image);
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = image.memory;
    md.allocation_size = image.allocation_size;
    md.dedicated = VK_TRUE;
    LIB_OK(culv_vk_memory_import_shared(w->attachment, &md, &memory));
    LIB_OK(map_image(w, memory, &image, &mapped));
    culv_image_unmap(&mapped, NULL);
    culv_memory_destroy(&memory);

    /* The gate says so before, and what Culvert makes is so. */
    const VkImageCreateInfo planned = image_info(&image, NULL);
    raw_vk_image_destroy(&w->vk, &image);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    culv_vk_image_create_desc cd = culv_vk_image_create_desc_init();
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.missing = NULL}; /* which says nothing but the truth */
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, watched, culv_vk_attach, w->device, &vd);
    LIB_OK(culv_vk_check_image(watched, &planned, NULL, &sharing));
    if (alone) REQUIRE_EQ(sharing.dedicated_required, 1);
    cd.create_info = &planned;
    lib_saw_dedicated = false;
    NEW(culv_shared_image, made, culv_vk_image_create, watched, &cd);
    REQUIRE(lib_saw_dedicated || !sharing.dedicated_required);
    culv_shared_image_destroy(&made, NULL);
    culv_vk_detach(&watched);
}

/* What CUDA finds in dedicated allocations alone is refused in a block, whose other resources it
 * finds. */
LIB_CASE(dedicated_formats)
{
    raw_vk_buffer block = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    try_format(w, &block, VK_FORMAT_D16_UNORM, true);
    try_format(w, &block, VK_FORMAT_S8_UINT, true);
    try_format(w, &block, VK_FORMAT_D32_SFLOAT, false);
}
