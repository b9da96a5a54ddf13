/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert makes: what they are, and every way to give them up. */
#define TEST_GROUP "made."
#include "image_stage.h"

#include <culvert/gl.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

static VkBufferCreateInfo buffer_info(VkDeviceSize size)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT};
}

static culv_shared_buffer *make_buffer(const lib_world *w, VkDeviceSize size)
{
    const VkBufferCreateInfo info = buffer_info(size);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "made here";
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, w->attachment, &d);
    return buffer;
}

static culv_shared_image *make_image(const lib_world *w)
{
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, 3, 0, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    NEW(culv_shared_image, image, culv_vk_image_create, w->attachment, &d);
    return image;
}

/* The raw helpers' view of it. */
static raw_vk_buffer as_raw(const culv_shared_buffer *buffer)
{
    raw_vk_buffer raw = {.buffer = culv_vk_buffer_handle(buffer),
                         .size = culv_buffer_size(culv_shared_buffer_cuda(buffer)),
                         .flags = RAW_VK_EXPORT};
    raw.memory = culv_vk_buffer_memory(buffer, &raw.allocation_size);
    return raw;
}

/* The types are one family's, so the compiler takes Vulkan's objects for OpenGL's. */
LIB_CASE(not_opengls)
{
    OWN(culv_shared_buffer) *buffer = make_buffer(w, BYTES + 1);
    OWN(culv_shared_image) *image = make_image(w);
    NEW(OWN(culv_shared_semaphore), semaphore, culv_vk_semaphore_create, w->attachment, NULL);
    REQUIRE_EQ(culv_gl_buffer_name(buffer), 0);
    REQUIRE_EQ(culv_gl_image_name(image), 0);
    LIB_INVALID(culv_gl_copy(buffer, NULL, (culv_copy)2), VALUE, "culv_gl_copy: copy is 2");
    LIB_INVALID(culv_gl_copy(buffer, image, CULV_COPY_UPLOAD), VALUE, "a call for each");
    LIB_INVALID(culv_gl_copy(NULL, NULL, CULV_COPY_UPLOAD), NULL_ARGUMENT);
    LIB_INVALID(culv_gl_copy(buffer, NULL, CULV_COPY_UPLOAD), VALUE,
                "takes what was made for OpenGL, and this was made for Vulkan");
    LIB_INVALID(culv_gl_copy(buffer, NULL, CULV_COPY_DOWNLOAD), VALUE);
    LIB_INVALID(culv_gl_copy(NULL, image, CULV_COPY_UPLOAD), VALUE);
    LIB_INVALID(culv_gl_copy(NULL, image, CULV_COPY_DOWNLOAD), VALUE);
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 1, NULL), VALUE);
    LIB_INVALID(culv_gl_semaphore_wait(semaphore, 1, 0, NULL), VALUE);
    CUstream stream = lib_case_stream(w); /* nothing was signaled */
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), stream, 1));
    lib_finish(w, stream);
}

/* From a buffer that CUDA fills into one that only Vulkan has. A wide copy of the third row takes
 * more than one turn of the shader's threads, and so does the narrow one of the fourth. */
LIB_CASE(copied_by_a_shader)
{
    enum { MOST = 9 << 20 };
    static const struct {
        VkDeviceSize from, to, size;
    } rows[] = {{0, 0, 4},       {32, 16, 4096 + 12}, {0, 16, MOST - 16},
                {4, 8, 3 << 20}, {8, 8, 1020},        {0, 0, 0}};
    VkBufferCreateInfo info = buffer_info(MOST);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    uint32_t *words = malloc(MOST);
    REQUIRE(words != NULL);
    info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    d.create_info = &info;
    NEW(OWN(culv_shared_buffer), made, culv_vk_buffer_create, w->attachment, &d);
    raw_vk_buffer mine = lib_case_buffer(w, MOST, RAW_VK_ADDRESS);
    const VkDeviceAddress from = culv_vk_buffer_address(made),
                          to = raw_vk_buffer_address(&w->vk, &mine);
    for (uint32_t i = 0; i < MOST / 4; i++)
        words[i] = lib_word(i, 11);
    CUcontext before = lib_enter(w);
    CU_OK(raw_cuda_upload(w->cu, culv_shared_buffer_pointer(made), words, MOST));
    lib_leave(w, before);
    const raw_vk_buffer raw = as_raw(made);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const uint32_t first = (uint32_t)rows[k].to / 4, end = first + (uint32_t)rows[k].size / 4;
        raw_vk_fill(&w->vk, &mine, 0, MOST, 5, NULL);
        VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
        raw_vk_acquire(&w->vk, commands, 0, &raw);
        LIB_OK(culv_vk_record_copy(w->attachment, commands, from + rows[k].from, to + rows[k].to,
                                   rows[k].size));
        raw_vk_release(&w->vk, commands, 0, &raw);
        raw_vk_submit(&w->vk, commands, NULL);
        raw_vk_read(&w->vk, &mine, 0, words, MOST);
        for (uint32_t i = 0; i < MOST / 4; i++)
            if (words[i] !=
                (i < first || i >= end ? 5 : lib_word(i - first + (uint32_t)rows[k].from / 4, 11)))
                FAIL("row %zu: word %u is %08x", k, i, words[i]);
    }
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, 0, to, 4), VALUE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, from, 0, 4), VALUE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, from + 2, to, 4), VALUE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, from, to + 1, 4), VALUE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, from, to, 6), VALUE,
                "must be multiples of 4");
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, to, to + 4, 8), RANGE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, to + 4, to, 8), RANGE);
    LIB_INVALID(culv_vk_record_copy(w->attachment, commands, from, UINT64_MAX - 7, 16), RANGE);
    raw_vk_submit(&w->vk, commands, NULL);
    free(words);
}

/* What they are -------------------------------------------------------------------------------- */

static uint64_t dedicated_imports(const lib_world *w)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (w->cu->SoftCounts == NULL) return 0;
    w->cu->SoftCounts(&c);
    return c.dedicated_memories;
}

/* Memory for one resource, and CUDA is told so: a buffer's always, an image's where Vulkan requires
 * or prefers it. */
TEST(dedicated_as_vulkan_wants, .title = "dedicated_as_vulkan_wants")
{
    lib_world w;
    lib_open(&w);
    for (int row = 0; row < 3; row++) {
        culv_vk_device_desc vd = lib_vk_desc(&w);
        lib_lying = (lib_lies){.requires_dedicated = row == 1, .prefers_dedicated = row == 2};
        vd.get_instance_proc_addr = lib_lying_loader;
        NEW(culv_vk_device, vk, culv_vk_attach, w.device, &vd);
        lib_world other = w;
        other.attachment = vk;
        lib_saw_dedicated = false;
        culv_shared_buffer *buffer = make_buffer(&other, BYTES);
        REQUIRE(lib_saw_dedicated);
        if (w.cu->software) REQUIRE_EQ(dedicated_imports(&w), 1);
        culv_shared_buffer_destroy(&buffer, NULL);
        lib_saw_dedicated = false;
        culv_shared_image *image = make_image(&other);
        if (row > 0) REQUIRE(lib_saw_dedicated);
        if (w.cu->software) REQUIRE_EQ(dedicated_imports(&w), lib_saw_dedicated);
        culv_shared_image_destroy(&image, NULL);
        culv_vk_detach(&vk);
        lib_settle(&w);
    }
    lib_close(&w);
}

/* The properties asked for, by vkMapMemory where that is possible (R20). */
LIB_CASE(buffer_in_host_visible_memory)
{
    static const VkMemoryPropertyFlags wanted[] = {
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
            VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    const raw_cuda *cu = w->cu;
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        OWN(culv_shared_buffer) *made = NULL;
        VkBufferCreateInfo info = buffer_info(BYTES);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.memory_properties = wanted[k];
        culv_result r = culv_vk_buffer_create(w->attachment, &d, &made);
        culv_error e = culv_error_init();
        culv_last_error(&e);
        MEASURED("library.made_in_host_memory", "properties %#x: %s", (unsigned)wanted[k],
                 r == CULV_OK ? "CULV_OK" : e.message);
        if (r != CULV_OK) { /* no such memory, or none that CUDA takes */
            REQUIRE(!w->cu->software && made == NULL);
            REQUIRE(e.reason == CULV_REASON_MEMORY_TYPE || r == CULV_ERROR_DRIVER);
            continue;
        }
        /* Vulkan's own would be stale for CUDA from the second round on. */
        if (!(wanted[k] & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
            REQUIRE(!culv_vk_host_import_alignment(w->attachment) ==
                    !culv_vk_buffer_host_pointer(made));
        void *mapped = NULL;
        VkDeviceMemory memory = culv_vk_buffer_memory(made, NULL);
        const VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                           .memory = memory,
                                           .size = VK_WHOLE_SIZE};
        VK_OK(vkMapMemory(w->vk.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
        uint32_t *words = mapped, back[64];
        CUcontext before = lib_enter(w);
        CUdeviceptr p = culv_buffer_pointer(culv_shared_buffer_cuda(made));
        REQUIRE(p != 0);
        REQUIRE_EQ(culv_shared_buffer_pointer(made), p);
        for (uint32_t round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < 64; i++)
                words[i] = lib_word(i, 3 + 2 * round);
            VK_OK(vkFlushMappedMemoryRanges(w->vk.device, 1, &range));
            CU_OK(cu->MemcpyDtoH(back, p, sizeof back));
            REQUIRE_WORDS(back, 64, 3 + 2 * round);
        }
        for (uint32_t i = 0; i < 64; i++)
            back[i] = lib_word(i, 4);
        CU_OK(raw_cuda_upload(cu, p, back, sizeof back));
        lib_leave(w, before);
        VK_OK(vkInvalidateMappedMemoryRanges(w->vk.device, 1, &range));
        REQUIRE_WORDS(words, 64, 4);
        vkUnmapMemory(w->vk.device, memory);
    }
}

/* Views and descriptors as of the caller's own; the sharing mode and a chain are the caller's
 * too. */
LIB_CASE(buffer_is_like_the_callers)
{
    uint32_t families[RAW_VK_MAX_QUEUES];
    for (uint32_t i = 0; i < w->vk.queue_count; i++)
        families[i] = i;
    VkBufferCreateInfo info = buffer_info(BYTES);
    info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT; /* which its memory must allow */
    if (w->vk.queue_count > 1) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = w->vk.queue_count;
        info.pQueueFamilyIndices = families;
    }
    const VkBufferCreateInfo before = info;
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    NEW(culv_shared_buffer, made, culv_vk_buffer_create, w->attachment, &d);
    REQUIRE_EQ_BYTES(&info, &before, sizeof info); /* read, not written */
    const VkBufferViewCreateInfo view_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                              .buffer = culv_vk_buffer_handle(made),
                                              .format = VK_FORMAT_R32_SFLOAT,
                                              .range = VK_WHOLE_SIZE};
    VkBufferView view = VK_NULL_HANDLE;
    VK_OK(vkCreateBufferView(w->vk.device, &view_info, NULL, &view));
    vkDestroyBufferView(w->vk.device, view, NULL);
    const VkBufferDeviceAddressInfo address = {.sType =
                                                   VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                               .buffer = culv_vk_buffer_handle(made)};
    REQUIRE(vkGetBufferDeviceAddress(w->vk.device, &address) != 0);
    culv_shared_buffer_destroy(&made, NULL);

    OWN(culv_shared_image) *image = make_image(w);
    VkDeviceSize size = 0;
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(w->vk.device, culv_vk_image_handle(image), &needs);
    REQUIRE(culv_vk_image_memory(image, &size) != VK_NULL_HANDLE);
    REQUIRE(size >= needs.size);
}

LIB_CASE(image_without_surfaces)
{
    CUsurfObject surface = 77;
    CUarray array = NULL;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R32_SFLOAT, 8, 8, 1, 0, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.no_surfaces = VK_TRUE;
    d.label = "without surfaces";
    NEW(OWN(culv_shared_image), image, culv_vk_image_create, w->attachment, &d);
    LIB_INVALID(culv_image_get_surface(culv_shared_image_cuda(image), 0, 0, &surface), USAGE,
                "without surfaces");
    REQUIRE_EQ(surface, 77);
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(image), 0, 0, &array));
}

/* Giving up ------------------------------------------------------------------------------------ */

TEST(nothing_to_give_up, .title = "given_up.nothing")
{
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    VkDeviceSize size = 5;
    culv_shared_buffer_destroy(NULL, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_shared_buffer_destroy(NULL, &(CUstream){NULL});
    culv_shared_buffer_destroy(&buffer, &(CUstream){NULL});
    culv_shared_image_destroy(NULL, NULL);
    culv_shared_image_destroy(&image, NULL);
    culv_shared_image_destroy(NULL, &(CUstream){NULL});
    culv_shared_image_destroy(&image, &(CUstream){NULL});
    REQUIRE_EQ(culv_shared_buffer_pointer(NULL), 0);
    REQUIRE(culv_vk_buffer_handle(NULL) == VK_NULL_HANDLE &&
            culv_vk_image_handle(NULL) == VK_NULL_HANDLE);
    REQUIRE(culv_shared_buffer_cuda(NULL) == NULL && culv_shared_image_cuda(NULL) == NULL);
    REQUIRE(culv_vk_buffer_memory(NULL, &size) == VK_NULL_HANDLE && size == 0);
    size = 5;
    REQUIRE(culv_vk_image_memory(NULL, &size) == VK_NULL_HANDLE && size == 0);
    REQUIRE(culv_vk_buffer_memory(NULL, NULL) == VK_NULL_HANDLE);
    REQUIRE(culv_vk_image_memory(NULL, NULL) == VK_NULL_HANDLE);
}

/* `call` says what was called. */
#define REQUIRE_OWNED(destroy, call)                                                               \
    do {                                                                                           \
        LIB_INVALID(destroy, OWNED);                                                               \
        LIB_SAYS(call);                                                                            \
    } while (0)

#undef TEST_GROUP
#define TEST_GROUP "pitched."
/* culv_vk_image_map_pitched(): LINEAR images by their rows. */

typedef struct linear {
    raw_vk_image image;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info;
    culv_memory *memory;
} linear;

static void linear_open(lib_world *w, const raw_vk_image_desc *wanted, linear *l)
{
    memset(l, 0, sizeof *l);
    if (!raw_vk_image_supported(&w->vk, wanted)) SKIP("no such LINEAR image can be exported here");
    raw_vk_image_create(&w->vk, wanted, &l->image);
    const raw_vk_image_desc *d = &l->image.desc;
    l->info = image_info(d->format, d->width, d->height, d->levels, 0, &l->external);
    l->info.imageType = (VkImageType)(d->dimensions - 1);
    l->info.extent.depth = d->depth;
    l->info.arrayLayers = d->layers;
    l->info.tiling = VK_IMAGE_TILING_LINEAR;
    culv_vk_memory_desc m = culv_vk_memory_desc_init();
    m.memory = l->image.memory;
    m.allocation_size = l->image.allocation_size;
    m.dedicated = (d->flags & RAW_VK_DEDICATED) != 0;
    m.image = l->image.image;
    m.image_offset = l->image.offset;
    LIB_OK(culv_vk_memory_import(w->attachment, &m, &l->memory));
}

static void linear_close(lib_world *w, linear *l)
{
    culv_memory_destroy(&l->memory);
    raw_vk_image_destroy(&w->vk, &l->image);
}

static culv_vk_image_desc desc_of(const linear *l)
{
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = l->image.image;
    d.create_info = &l->info;
    d.offset = l->image.offset;
    return d;
}

/* Row by row, as the layout says, between a buffer without padding and the image. */
static void copy(const lib_world *w, const culv_buffer *buffer, const culv_subresource_layout *p,
                 unsigned char *texels, bool in)
{
    const raw_cuda *cu = w->cu;
    CUcontext before = lib_enter(w);
    size_t row = (size_t)p->width * p->bytes_per_block;
    for (uint32_t layer = 0; layer < p->array_layers; layer++)
        for (uint32_t z = 0; z < p->depth; z++)
            for (uint32_t y = 0; y < p->height; y++, texels += row) {
                CUdeviceptr at = culv_buffer_pointer(buffer) + layer * p->layer_pitch +
                                 z * p->depth_pitch + y * p->row_pitch;
                REQUIRE(at + row <= culv_buffer_pointer(buffer) + culv_buffer_size(buffer));
                if (in)
                    CU_OK(raw_cuda_upload(cu, at, texels, row));
                else
                    CU_OK(cu->MemcpyDtoH(texels, at, row));
            }
    lib_leave(w, before);
}

static void exchange(lib_world *w, const linear *l, uint32_t level, uint32_t bytes)
{
    culv_vk_image_desc d = desc_of(l);
    OWN(culv_buffer) *buffer = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    LIB_OK(culv_vk_image_map_pitched(w->attachment, l->memory, &d, level, 0, &buffer, &p));
    VkSubresourceLayout layout = raw_vk_image_layout(&w->vk, &l->image, level, 0);
    VkExtent3D e = raw_vk_image_extent(&l->image, level);
    REQUIRE_EQ(p.pointer, culv_buffer_pointer(buffer));
    REQUIRE_EQ(p.size, culv_buffer_size(buffer));
    REQUIRE_EQ(p.row_pitch, layout.rowPitch);
    REQUIRE(p.width == e.width && p.height == e.height && p.depth == e.depth);
    REQUIRE_EQ(p.array_layers, l->image.desc.layers);
    REQUIRE_EQ(p.bytes_per_block, bytes);
    size_t size = raw_vk_image_bytes(&l->image, level);
    unsigned char *texels = malloc(size), *back = malloc(size);
    REQUIRE(texels != NULL && back != NULL);
    for (size_t i = 0; i < size; i++)
        texels[i] = (unsigned char)lib_word((uint32_t)i, level + 3);
    raw_vk_image_write(&w->vk, &l->image, level, texels);
    copy(w, buffer, &p, back, false);
    REQUIRE_EQ_BYTES(back, texels, size);
    for (size_t i = 0; i < size; i++)
        texels[i] ^= 0x5a;
    copy(w, buffer, &p, texels, true);
    raw_vk_image_read(&w->vk, &l->image, level, back);
    REQUIRE_EQ_BYTES(back, texels, size);
    free(texels);
    free(back);
}

static void both_ways(const raw_vk_image_desc *wanted, uint32_t bytes)
{
    lib_world w;
    linear l;
    lib_open(&w);
    linear_open(&w, wanted, &l);
    for (uint32_t level = 0; level < l.image.desc.levels; level++)
        exchange(&w, &l, level, bytes);
    linear_close(&w, &l);
    lib_close(&w);
}

TEST_AS(odd_sizes,
        both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                       .width = 253,
                                       .height = 127,
                                       .flags = RAW_VK_EXPORT | RAW_VK_LINEAR | RAW_VK_DEDICATED},
                  4))
TEST_AS(at_offset, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R32_SFLOAT,
                                                  .width = 61,
                                                  .height = 17,
                                                  .min_offset = 70000,
                                                  .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                             4))
TEST_AS(levels_and_layers, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                          .width = 40,
                                                          .height = 24,
                                                          .levels = 3,
                                                          .layers = 3,
                                                          .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                                     4))
TEST_AS(volume, both_ways(&(raw_vk_image_desc){.format = VK_FORMAT_R32_SFLOAT,
                                               .width = 19,
                                               .height = 11,
                                               .depth = 5,
                                               .dimensions = 3,
                                               .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                          4))

LIB_CASE(refused)
{
    linear l;
    culv_buffer *buffer = NULL;
    culv_image *image = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    linear_open(w,
                &(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                     .width = 32,
                                     .height = 32,
                                     .flags = RAW_VK_EXPORT | RAW_VK_LINEAR},
                &l);
    culv_vk_image_desc d = desc_of(&l);
    LIB_REFUSES(image, culv_vk_image_map(w->attachment, l.memory, &d, &image), INVALID, TILING,
                "culv_vk_image_map_pitched");
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 1, 0, &buffer, &p),
                INVALID, LEVEL);
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 1, &buffer, &p),
                INVALID, LEVEL);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, NULL, &p),
                NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, NULL),
                NULL_ARGUMENT);
    p.struct_size = 3;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, STRUCT_SIZE);
    p = culv_subresource_layout_init();
    l.info.tiling = VK_IMAGE_TILING_OPTIMAL;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, TILING);
    l.info.tiling = VK_IMAGE_TILING_LINEAR;
    l.info.pNext = NULL;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, &p),
                INVALID, NOT_EXPORTABLE);
    const culv_subresource_layout untouched = culv_subresource_layout_init();
    REQUIRE_EQ_BYTES(&p, &untouched, sizeof p);
    REQUIRE_EQ(lib_counts(w).buffers, 0);
    linear_close(w, &l);
}
