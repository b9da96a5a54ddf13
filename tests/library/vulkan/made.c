/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert makes: what they are, and every way to give them up. */
#define TEST_GROUP "made."
#include "core/log_scene.h"
#include "image_stage.h"

#include <culvert/gl.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };
#define GIB  (UINT64_C(1) << 30)
#define MIB2 (UINT64_C(2) << 20)
#define SLOW "can be six times as slow"

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
    culv_shared_image *image = lib_made_image(w->attachment, &info);
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

/* What they are -------------------------------------------------------------------------------- */

/* What the twin's halves saw; all zero where the driver does not count. */
typedef struct seen {
    bool counted;
    uint64_t vulkan, cuda; /* dedicated: allocations, imports */
} seen;

static seen look(const lib_world *w)
{
    seen s = {.counted = w->cu->SoftCounts != NULL};
    if (!s.counted) return s;
    culv_soft_counts cuda = {.struct_size = sizeof cuda};
    culv_soft_vk_counts vulkan = {.struct_size = sizeof vulkan};
    w->cu->SoftCounts(&cuda);
    lib_layer layer;
    REQUIRE(lib_layer_find(&layer));
    layer.counts(&vulkan);
    s.vulkan = vulkan.dedicated;
    s.cuda = cuda.dedicated_memories;
    return s;
}

/* Memory for one resource, and CUDA is told so: a buffer's always, an image's where Vulkan requires
 * or prefers it. */
TEST(dedicated_as_vulkan_wants, .title = "dedicated_as_vulkan_wants")
{
    lib_world w;
    lib_open(&w);
    for (int row = 0; row < 3; row++) {
        lib_lying = (lib_lies){.requires_dedicated = row == 1, .prefers_dedicated = row == 2};
        culv_vk_device *vk = lib_attach(&w, lib_lying_loader);
        lib_world other = w;
        other.attachment = vk;
        lib_saw_dedicated = false;
        culv_shared_buffer *buffer = make_buffer(&other, BYTES);
        REQUIRE(lib_saw_dedicated);
        if (w.cu->software) REQUIRE_EQ(look(&w).cuda, 1);
        culv_shared_buffer_destroy(&buffer, NULL);
        lib_saw_dedicated = false;
        culv_shared_image *image = make_image(&other);
        if (row > 0) REQUIRE(lib_saw_dedicated);
        if (w.cu->software) REQUIRE_EQ(look(&w).cuda, lib_saw_dedicated);
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
            lib_fill(words, 64, 3 + 2 * round);
            VK_OK(vkFlushMappedMemoryRanges(w->vk.device, 1, &range));
            CU_OK(cu->MemcpyDtoH(back, p, sizeof back));
            REQUIRE_WORDS(back, 64, 3 + 2 * round);
        }
        lib_fill(back, 64, 4);
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
    culv_shared_buffer *made = lib_made_buffer(w->attachment, &info);
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

static void exchange(lib_world *w, const linear *l, uint32_t level)
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
    REQUIRE_EQ(p.bytes_per_block, 4);
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

static void both_ways(lib_world *w, const raw_vk_image_desc rows[2])
{
    for (int i = 0; i < 2; i++) {
        linear l;
        raw_vk_image_desc wanted = rows[i];
        wanted.flags |= RAW_VK_EXPORT | RAW_VK_LINEAR;
        linear_open(w, &wanted, &l);
        for (uint32_t level = 0; level < l.image.desc.levels; level++)
            exchange(w, &l, level);
        linear_close(w, &l);
    }
}

LIB_CASE(odd_sizes)
{
    both_ways(
        w, (const raw_vk_image_desc[]){
               {.format = VK_FORMAT_R8G8B8A8_UNORM,
                .width = 253,
                .height = 127,
                .flags = RAW_VK_DEDICATED},
               {.format = VK_FORMAT_R32_SFLOAT, .width = 61, .height = 17, .min_offset = 70000}});
}

LIB_CASE(levels_and_volume)
{
    both_ways(w, (const raw_vk_image_desc[]){{.format = VK_FORMAT_R8G8B8A8_UNORM,
                                              .width = 40,
                                              .height = 24,
                                              .levels = 3,
                                              .layers = 3},
                                             {.format = VK_FORMAT_R32_SFLOAT,
                                              .width = 19,
                                              .height = 11,
                                              .depth = 5,
                                              .dimensions = 3}});
}

LIB_CASE(refused)
{
    linear l;
    culv_buffer *buffer = NULL;
    culv_image *image = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    const raw_vk_image_desc wanted = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .width = 32,
                                      .height = 32,
                                      .flags = RAW_VK_EXPORT | RAW_VK_LINEAR};
    linear_open(w, &wanted, &l);
    culv_vk_image_desc d = desc_of(&l);
    LIB_REFUSES(image, culv_vk_image_map(w->attachment, l.memory, &d, &image), INVALID, TILING,
                "culv_vk_image_map_pitched");
#define ROW(level, layer, ...)                                                                     \
    LIB_REFUSES(buffer,                                                                            \
                culv_vk_image_map_pitched(w->attachment, l.memory, &d, level, layer, &buffer, &p), \
                INVALID, __VA_ARGS__)
    ROW(1, 0, LEVEL);
    ROW(0, 1, LEVEL);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, NULL, &p),
                NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_map_pitched(w->attachment, l.memory, &d, 0, 0, &buffer, NULL),
                NULL_ARGUMENT);
    SPOILT(p, p.struct_size = 3, ROW(0, 0, STRUCT_SIZE));
    SPOILT(l.info, l.info.tiling = VK_IMAGE_TILING_OPTIMAL, ROW(0, 0, TILING));
    SPOILT(l.info, l.info.pNext = NULL, ROW(0, 0, NOT_EXPORTABLE));
#undef ROW
    const culv_subresource_layout untouched = culv_subresource_layout_init();
    REQUIRE_EQ_BYTES(&p, &untouched, sizeof p);
    REQUIRE_EQ(lib_counts(w).buffers, 0);
    linear_close(w, &l);
}

#undef TEST_GROUP
#define TEST_GROUP "kinds."
/* Which kind of memory buffers get, and that the log tells of the slow kind. What each kind costs
 * is in docs/measured/memory-kinds.md; here the choice is data. */

static void require_dedicated(const lib_world *w, bool dedicated)
{
    const seen s = look(w);
    if (!s.counted) return;
    REQUIRE_EQ(s.vulkan, dedicated);
    REQUIRE_EQ(s.cuda, dedicated);
}

static size_t warnings(log_scene *s)
{
    size_t count = 0, at = 0;
    while ((at = log_find(s, at, CULV_LOG_WARNING, SLOW, NULL)) < s->count) {
        count++;
        at++;
    }
    return count;
}

/* Buffers that Culvert makes ------------------------------------------------------------------- */

static void exchange_end(lib_world *w, const culv_shared_buffer *made)
{
    static uint32_t words[WORDS];
    const raw_vk_buffer raw = as_raw(made);
    const uint64_t at = raw.size - BYTES; /* its end */
    lib_fill(words, WORDS, 3);
    raw_vk_write(&w->vk, &raw, at, words, BYTES);
    memset(words, 0, sizeof words);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemcpyDtoH(words, culv_shared_buffer_pointer(made) + at, BYTES));
    REQUIRE_WORDS(words, WORDS, 3);
    lib_fill(words, WORDS, 4);
    CU_OK(raw_cuda_upload(w->cu, culv_shared_buffer_pointer(made) + at, words, BYTES));
    lib_leave(w, before);
    memset(words, 0, sizeof words);
    raw_vk_read(&w->vk, &raw, at, words, BYTES);
    REQUIRE_WORDS(words, WORDS, 4);
}

LOG_CASE(made, CULV_LOG_WARNING, .smoke = true)
{
    static const struct {
        culv_memory_kind asked, is;
        VkDeviceSize size;
    } rows[] = {{CULV_MEMORY_KIND_UNKNOWN, CULV_MEMORY_KIND_FAST, BYTES},
                {CULV_MEMORY_KIND_FAST, CULV_MEMORY_KIND_FAST, BYTES},
                {CULV_MEMORY_KIND_COMPRESSIBLE, CULV_MEMORY_KIND_COMPRESSIBLE, BYTES},
                {CULV_MEMORY_KIND_UNKNOWN, CULV_MEMORY_KIND_FAST, GIB},
                {CULV_MEMORY_KIND_COMPRESSIBLE, CULV_MEMORY_KIND_COMPRESSIBLE, GIB}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const VkBufferCreateInfo info = buffer_info(rows[i].size);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.memory_kind = rows[i].asked;
        NEW(OWN(culv_shared_buffer), buffer, culv_vk_buffer_create, s->w.attachment, &d);
        REQUIRE_EQ(culv_buffer_memory_kind(culv_shared_buffer_cuda(buffer)), rows[i].is);
        require_dedicated(&s->w, rows[i].is == CULV_MEMORY_KIND_FAST);
        exchange_end(&s->w, buffer);
    }
    REQUIRE_EQ(s->count, 0); /* what was asked for is no news */
    REQUIRE_EQ(culv_buffer_memory_kind(NULL), CULV_MEMORY_KIND_UNKNOWN);
}

LIB_CASE(made_refused)
{
    static const int wrong[] = {CULV_MEMORY_KIND_PLAIN, 4, -1};
    const VkBufferCreateInfo info = buffer_info(BYTES);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.create_info = &info;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        d.memory_kind = (culv_memory_kind)wrong[i];
        LIB_REFUSES(buffer, culv_vk_buffer_create(w->attachment, &d, &buffer), INVALID, VALUE,
                    "culv_vk_buffer_create_desc.memory_kind is ");
    }
    d.memory_kind = CULV_MEMORY_KIND_FAST;
    d.host_memory = 1;
    LIB_REFUSES(buffer, culv_vk_buffer_create(w->attachment, &d, &buffer), INVALID, VALUE,
                "host memory has no kinds");
}

/* The caller's memory -------------------------------------------------------------------------- */

LOG_CASE(imported, CULV_LOG_WARNING)
{
    static const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                       local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    static const struct {
        VkDeviceSize size;
        bool dedicated, image, warns;
        VkMemoryPropertyFlags properties;
    } rows[] = {{GIB, false, false, true, 0},
                {GIB, true, false, false, 0},
                {GIB - MIB2, false, false, false, 0},
                {GIB, false, true, false, 0}, /* for an image alone: not known to be slow */
                {BYTES, false, false, false, 0},
                {BYTES, true, false, false, local | host},
                {BYTES, true, false, false, host}}; /* another warning */
    const VkImageCreateInfo image_info =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkImage image = VK_NULL_HANDLE;
    VK_OK(vkCreateImage(s->w.vk.device, &image_info, NULL, &image));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int shared = 0; shared < 2; shared++) {
            raw_vk_buffer raw;
            raw_vk_buffer_create(&s->w.vk, rows[i].size,
                                 RAW_VK_EXPORT | (rows[i].dedicated ? RAW_VK_DEDICATED : 0), &raw);
            culv_vk_memory_desc d = lib_vk_memory(&raw);
            OWN(culv_memory) *memory = NULL, *again = NULL;
            culv_buffer_desc part = culv_buffer_desc_init();
            d.dedicated = rows[i].dedicated;
            d.image = rows[i].image ? image : VK_NULL_HANDLE;
            d.label = "block";
            d.memory_properties = rows[i].properties;
            if (shared) {
                LIB_OK(culv_vk_memory_import_shared(s->w.attachment, &d, &memory));
                LIB_OK(culv_vk_memory_import_shared(s->w.attachment, &d, &again));
                REQUIRE(again == memory);
            } else {
                LIB_OK(culv_vk_memory_import(s->w.attachment, &d, &memory));
            }
            part.size = BYTES;
            NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, &part);
            REQUIRE_EQ(culv_buffer_memory_kind(buffer),
                       rows[i].dedicated ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_COMPRESSIBLE);
            REQUIRE_EQ(warnings(s), rows[i].warns); /* once */
            REQUIRE_EQ(s->count, rows[i].warns || rows[i].properties == host);
            if (rows[i].properties == host)
                REQUIRE(strstr(s->lines[0].text, "memory 'block': this is HOST_VISIBLE") != NULL);
            if (rows[i].warns) {
                REQUIRE(strstr(s->lines[0].text, "memory 'block'") != NULL);
                REQUIRE(strstr(s->lines[0].text, "VkMemoryDedicatedAllocateInfo") != NULL);
            }
            log_forget(s);
            raw_vk_buffer_destroy(&s->w.vk, &raw);
        }
    }
    vkDestroyImage(s->w.vk.device, image, NULL);
}

/* By its handle: nobody says whose memory it is, but perhaps that it is dedicated. */
LIB_CASE(by_handle)
{
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        raw_vk_buffer raw;
        OWN(culv_memory) *memory = NULL;
        raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0),
                             &raw);
        culv_memory_desc d = lib_memory_desc(w, &raw, raw_vk_buffer_fd(&w->vk, &raw));
        d.dedicated = dedicated != 0;
        LIB_TAKE(culv_memory_import(w->device, &d, &memory), &d.handle);
        NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, NULL);
        REQUIRE_EQ(culv_buffer_memory_kind(buffer),
                   dedicated ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_UNKNOWN);
        raw_vk_buffer_destroy(&w->vk, &raw);
    }
}

/* What the gate answers beforehand. */
LIB_CASE(planned)
{
    static const struct {
        VkDeviceSize block;
        culv_memory_kind kind;
        culv_bool slow;
    } rows[] = {{0, CULV_MEMORY_KIND_FAST, 0},
                {MIB2, CULV_MEMORY_KIND_COMPRESSIBLE, 0},
                {GIB - 1, CULV_MEMORY_KIND_COMPRESSIBLE, 0},
                {GIB, CULV_MEMORY_KIND_COMPRESSIBLE, 1},
                {4 * GIB, CULV_MEMORY_KIND_COMPRESSIBLE, 1}};
    REQUIRE_EQ(CULV_SLOW_KIND_BYTES, GIB);
    const VkBufferCreateInfo info = buffer_info(BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_check_desc d = culv_vk_check_desc_init();
        culv_vk_sharing_info answer = culv_vk_sharing_info_init();
        d.block_size = rows[i].block;
        LIB_OK(culv_vk_check_buffer(w->attachment, &info, &d, &answer));
        REQUIRE_EQ(answer.memory_kind, rows[i].kind);
        REQUIRE_EQ(answer.random_access_slow, rows[i].slow);
        if (w->cu->software) REQUIRE_EQ(answer.dedicated_preferred, 1);
    }
}

/* VMM allocations ------------------------------------------------------------------------------ */

static VkBuffer vulkans(log_scene *s, VkDeviceSize size)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = buffer_info(size);
    VkBuffer buffer = VK_NULL_HANDLE;
    info.pNext = &external;
    VK_OK(vkCreateBuffer(s->w.vk.device, &info, NULL, &buffer));
    return buffer;
}

static culv_vmm_allocation *allocate(log_scene *s, uint64_t size, culv_vmm_usage usage)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = size;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.usage = usage;
    d.label = "cells";
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    return allocation;
}

static void open_vmm(log_scene *s, culv_log_level level)
{
    log_open(s, level);
    if (!lib_caps(s->w.device).vmm) SKIP("no virtual memory management");
    log_forget(s);
}

#define VMM_LOG_CASE(level, ...)                                                                   \
    TEST_ON(log_scene, s, open_vmm(s, level), log_close(s), __VA_ARGS__)

/* Nobody is warned of compressible memory that was asked for. */
static void bind_rows(culv_vmm_usage usage)
{
    static const struct {
        uint64_t allocation, offset, buffer;
        bool dedicated, warns;
    } rows[] = {{2 * MIB2, 0, 2 * MIB2, true, false},
                {2 * MIB2, 0, MIB2, false, false},
                {2 * MIB2, MIB2, MIB2, false, false},
                {GIB, 0, GIB, true, false},
                {GIB + MIB2, 0, GIB, false, true},
                {GIB + MIB2, MIB2, GIB, false, true},
                /* Of the allocation's size alone nothing follows. */
                {GIB + MIB2, GIB, MIB2, false, false}};
    log_scene s;
    const raw_cuda *cu = lib_driver();
    if (usage != 0 && cu->SoftPlayAttribute != NULL)
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1);
    open_vmm(&s, CULV_LOG_WARNING);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OWN(culv_vmm_allocation) *allocation = allocate(&s, rows[i].allocation, usage);
        if ((lib_allocation(allocation).usage & usage) != usage)
            SKIP("compressible memory was not granted");
        VkBuffer buffer = vulkans(&s, rows[i].buffer);
        VkDeviceMemory memory = VK_NULL_HANDLE;
        const uint64_t offset = rows[i].offset;
        LIB_OK(culv_vk_buffer_bind_vmm(s.w.attachment, buffer, allocation, offset, &memory));
        const seen now = look(&s.w);
        if (now.counted) REQUIRE_EQ(now.vulkan, rows[i].dedicated);
        REQUIRE_EQ(warnings(&s), rows[i].warns && usage == 0);
        if (s.count > 0) REQUIRE(strstr(s.lines[0].text, "VMM allocation 'cells'") != NULL);
        log_forget(&s);
        vkDestroyBuffer(s.w.vk.device, buffer, NULL);
        vkFreeMemory(s.w.vk.device, memory, NULL);
    }
    log_close(&s);
}

TEST_AS(vmm_bound, bind_rows(0))
TEST_AS(vmm_compressible, bind_rows(CULV_VMM_USAGE_COMPRESSIBLE), .own = true)

/* Memory that the caller binds: warned of where a buffer is named, told where it may be meant for
 * sparse binding. */
VMM_LOG_CASE(CULV_LOG_INFO, vmm_memory)
{
    static const struct {
        uint64_t allocation, buffer; /* 0: none is named */
        bool dedicated;
        culv_log_level level; /* of the line; NONE: there is none */
    } rows[] = {{GIB, GIB, false, CULV_LOG_WARNING},   {GIB, GIB, true, CULV_LOG_NONE},
                {GIB, MIB2, false, CULV_LOG_NONE},     {GIB, 0, false, CULV_LOG_INFO},
                {GIB - MIB2, 0, false, CULV_LOG_NONE}, {MIB2, MIB2, false, CULV_LOG_NONE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int handle = 0; handle < 2; handle++) {
            OWN(culv_vmm_allocation) *allocation = allocate(s, rows[i].allocation, 0);
            culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
            VkDeviceMemory memory = VK_NULL_HANDLE;
            if (rows[i].buffer != 0) d.buffer = vulkans(s, rows[i].buffer);
            d.dedicated = rows[i].dedicated;
            d.label = "from CUDA";
            if (handle) {
                LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &d.handle));
                d.size = rows[i].allocation;
                LIB_OK(culv_vk_memory_from_handle(s->w.attachment, &d, &memory));
                culv_handle_close(&d.handle);
            } else {
                LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, &d, &memory));
            }
            for (int level = CULV_LOG_WARNING; level <= CULV_LOG_INFO; level++) {
                const bool there =
                    log_find(s, 0, (culv_log_level)level, SLOW, "memory 'from CUDA'") < s->count;
                REQUIRE_EQ(there, rows[i].level == (culv_log_level)level);
            }
            const seen now = look(&s->w);
            if (now.counted) REQUIRE_EQ(now.vulkan, rows[i].dedicated);
            log_forget(s);
            vkDestroyBuffer(s->w.vk.device, d.buffer, NULL);
            vkFreeMemory(s->w.vk.device, memory, NULL);
        }
    }
}

/* Each chunk's buffer has all of the chunk. */
VMM_LOG_CASE(CULV_LOG_WARNING, vector)
{
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    d.size = GIB;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    for (int grown = 0; grown < 2; grown++) {
        size_t parts = 0;
        LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
        REQUIRE(parts > 0);
        const seen now = look(&s->w);
        if (now.counted) REQUIRE_EQ(now.vulkan, parts);
        if (grown) break;
        LIB_OK(culv_vector_grow(vector, GIB + MIB2));
        for (int twice = 0; twice < 2; twice++) /* a forgotten update is told once */
            LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
        REQUIRE_EQ(s->count, 1);
        REQUIRE(strstr(s->lines[0].text, "call culv_vector_view_update()") != NULL);
        log_forget(s);
        LIB_OK(culv_vector_view_update(view));
    }
    REQUIRE_EQ(s->count, 0);
}
