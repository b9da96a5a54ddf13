/* SPDX-License-Identifier: MIT */
/* See image_stage.h. */
#include "image_stage.h"

/* The stage ------------------------------------------------------------------------------------ */

void stage_open(stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    CUcontext before = lib_enter(&s->w);
    s->module = raw_cuda_load(s->w.cu, "library_kernels");
    lib_leave(&s->w, before);
    s->stream = lib_stream(&s->w);
    lib_turns_open(&s->w, &s->turns);
}

void stage_close(stage *s)
{
    lib_finish(&s->w, s->stream);
    raw_vk_idle(&s->w.vk);
    lib_turns_close(&s->w, &s->turns);
    LIB_CU_OK(&s->w, s->w.cu->ModuleUnload(s->module));
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

bool stage_copies(const stage *s, uint32_t queue)
{
    VkQueueFlags flags = s->w.vk.queues[queue].flags;
    const VkQueueFlags common = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT |
                                VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
    return (flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0 ||
           ((flags & VK_QUEUE_TRANSFER_BIT) != 0 && (flags & ~common) == 0);
}

/* Images --------------------------------------------------------------------------------------- */

VkImageCreateInfo image_info(VkFormat format, uint32_t width, uint32_t height, uint32_t levels,
                             VkImageUsageFlags usage, VkExternalMemoryImageCreateInfo *external)
{
    if (external != NULL)
        *external = (VkExternalMemoryImageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
            .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = raw_vk_image_info(format, width, height,
                                               usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                                   VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.pNext = external;
    info.mipLevels = levels;
    return info;
}

static raw_vk_image_desc callers_desc(image_origin origin, VkFormat format, uint32_t width,
                                      uint32_t height, uint32_t levels, VkImageUsageFlags usage)
{
    bool dedicated = origin == CALLERS_DEDICATED;
    return (raw_vk_image_desc){.format = format,
                               .width = width,
                               .height = height,
                               .levels = levels,
                               .usage = usage,
                               .min_offset = dedicated ? 0 : 70000,
                               .flags = RAW_VK_EXPORT | RAW_VK_UNTOUCHED |
                                        (dedicated ? RAW_VK_DEDICATED : 0)};
}

static void open_callers(stage *s, shared_image *i, VkImageUsageFlags usage)
{
    raw_vk *vk = &s->w.vk;
    bool dedicated = i->origin == CALLERS_DEDICATED;
    VkFormat format = (VkFormat)i->format.format;
    const raw_vk_image_desc d =
        callers_desc(i->origin, format, i->width, i->height, i->levels, usage);
    if (!raw_vk_image_supported(vk, &d)) SKIP("no such image can be exported here");
    raw_vk_image_create(vk, &d, &i->caller);
    i->image = i->caller.image;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = i->caller.memory;
    md.allocation_size = i->caller.allocation_size;
    md.dedicated = dedicated;
    md.image = i->caller.image;
    md.image_offset = i->caller.offset;
    LIB_OK(culv_vk_memory_import(s->w.attachment, &md, &i->memory));
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info =
        image_info(format, i->width, i->height, i->levels, usage, &external);
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = i->caller.image;
    id.create_info = &info;
    id.offset = i->caller.offset;
    LIB_OK(culv_vk_image_map(s->w.attachment, i->memory, &id, &i->cuda));
}

static void open_culverts(stage *s, shared_image *i, VkImageUsageFlags usage)
{
    const VkImageCreateInfo info =
        image_info((VkFormat)i->format.format, i->width, i->height, i->levels, usage, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_image_create(s->w.attachment, &d, &i->made));
    i->image = culv_vk_image_handle(i->made);
    i->cuda = culv_shared_image_cuda(i->made);
}

void shared_image_open(stage *s, image_origin origin, VkFormat format, uint32_t width,
                       uint32_t height, uint32_t levels, VkImageUsageFlags usage, shared_image *out)
{
    memset(out, 0, sizeof *out);
    REQUIRE(levels <= MAX_LEVELS);
    out->origin = origin;
    out->format = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)format, &out->format));
    out->width = width;
    out->height = height;
    out->levels = levels;
    if (origin == CULVERTS)
        open_culverts(s, out, usage);
    else
        open_callers(s, out, usage);
    REQUIRE(out->image != VK_NULL_HANDLE);
    shared_image_lay_out(out);
    REQUIRE_EQ(lib_image(out->cuda).format, format);
}

void shared_image_lay_out(shared_image *i)
{
    REQUIRE(i->cuda != NULL && lib_image(i->cuda).mip_levels == i->levels);
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        i->at[level] = i->size;
        i->size += ((size_t)e.width * e.height * i->format.bytes_per_block + 15) / 16 * 16;
    }
}

void shared_image_close(stage *s, shared_image *i)
{
    lib_finish(&s->w, s->stream);
    if (i->origin == CULVERTS) {
        culv_shared_image_destroy(&i->made, NULL);
        REQUIRE(i->made == NULL);
        return;
    }
    culv_image_unmap(&i->cuda, NULL);
    REQUIRE(i->cuda == NULL);
    culv_memory_destroy(&i->memory);
    raw_vk_image_destroy(&s->w.vk, &i->caller);
}

VkExtent3D shared_image_extent(const shared_image *i, uint32_t level)
{
    culv_subresource_layout l = culv_subresource_layout_init();
    LIB_OK(culv_image_get_layout(i->cuda, level, 0, &l));
    REQUIRE(l.depth == 1 && l.pointer == 0 && l.row_pitch == 0);
    const VkExtent3D e = {l.width, l.height, 1};
    REQUIRE_EQ(e.width, i->width >> level != 0 ? i->width >> level : 1);
    REQUIRE_EQ(e.height, i->height >> level != 0 ? i->height >> level : 1);
    return e;
}

/* Patterns ------------------------------------------------------------------------------------- */

/* As library_byte() of library_kernels.cu. */
static unsigned char texel_byte(uint32_t x, uint32_t y, uint32_t b, uint32_t seed)
{
    uint32_t h = x * 73856093u + y * 19349663u + b * 83492791u + seed * 2654435761u;
    return (unsigned char)(0x20u + (h >> 13 & 0x3fu));
}

static void fill_level(const shared_image *i, uint32_t level, uint32_t seed, unsigned char flip,
                       unsigned char *texels)
{
    VkExtent3D e = shared_image_extent(i, level);
    unsigned char *p = texels;
    for (uint32_t y = 0; y < e.height; y++)
        for (uint32_t x = 0; x < e.width; x++)
            for (uint32_t b = 0; b < i->format.bytes_per_block; b++)
                *p++ = texel_byte(x, y, b, seed + level) ^ flip;
}

void image_fill(const shared_image *i, uint32_t seed, unsigned char flip, unsigned char *texels)
{
    memset(texels, 0, i->size);
    for (uint32_t level = 0; level < i->levels; level++)
        fill_level(i, level, seed, flip, texels + i->at[level]);
}

/* CUDA ----------------------------------------------------------------------------------------- */

static void launch(stage *s, const shared_image *i, uint32_t level, const char *kernel,
                   uint32_t argument)
{
    const raw_cuda *cu = s->w.cu;
    char name[64];
    CUsurfObject surface = 0;
    VkExtent3D e = shared_image_extent(i, level);
    int width = (int)e.width, height = (int)e.height;
    void *params[] = {&surface, &width, &height, &argument};
    LIB_OK(culv_image_get_surface(i->cuda, level, 0, &surface));
    snprintf(name, sizeof name, "library_%s_%s", kernel, i->format.kernel_type);
    CUcontext before = lib_enter(&s->w);
    CUfunction function = raw_cuda_function(cu, s->module, name);
    CU_OK(cu->LaunchKernel(function, (e.width + 15) / 16, (e.height + 15) / 16, 1, 16, 16, 1, 0,
                           s->stream, params, NULL));
    lib_leave(&s->w, before);
}

void cuda_paint(stage *s, const shared_image *i, uint32_t level, uint32_t seed)
{
    launch(s, i, level, "paint", seed + level);
}

void cuda_flip(stage *s, const shared_image *i, uint32_t level)
{
    launch(s, i, level, "flip", FLIP);
}

static void copy(stage *s, const shared_image *i, uint32_t level, const unsigned char *from,
                 unsigned char *to)
{
    VkExtent3D e = shared_image_extent(i, level);
    size_t row = (size_t)e.width * i->format.bytes_per_block;
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(i->cuda, level, 0, &array));
    CUDA_MEMCPY2D c = {.srcMemoryType = from != NULL ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY,
                       .srcHost = from,
                       .srcArray = from != NULL ? NULL : array,
                       .srcPitch = from != NULL ? row : 0,
                       .dstMemoryType = from != NULL ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST,
                       .dstHost = to,
                       .dstArray = from != NULL ? array : NULL,
                       .dstPitch = from != NULL ? 0 : row,
                       .WidthInBytes = row,
                       .Height = e.height};
    LIB_CU_OK(&s->w, s->w.cu->Memcpy2DAsync(&c, s->stream));
}

void cuda_copy_in(stage *s, const shared_image *i, uint32_t level, const unsigned char *texels)
{
    copy(s, i, level, texels + i->at[level], NULL);
}

void cuda_copy_out(stage *s, const shared_image *i, uint32_t level, unsigned char *texels)
{
    copy(s, i, level, NULL, texels + i->at[level]);
}

/* Vulkan --------------------------------------------------------------------------------------- */

void record_barrier(VkCommandBuffer commands, const culv_vk_image_transfer *t, hand_over way,
                    bool old_form)
{
    if (old_form) {
        culv_vk_image_barrier b;
        LIB_OK(lib_image_barrier(t, way == TO_CUDA ? CULV_VK_RELEASE : CULV_VK_ACQUIRE, &b));
        vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1,
                             &b.barrier);
        return;
    }
    VkImageMemoryBarrier2 b;
    LIB_OK(culv_vk_image_get_barrier2(t, way == TO_CUDA ? CULV_VK_RELEASE : CULV_VK_ACQUIRE, &b));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &b};
    vkCmdPipelineBarrier2(commands, &info);
}

culv_vk_image_transfer image_transfer(const shared_image *i, uint32_t queue, culv_vk_use use)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.image = i->image;
    t.queue_family = queue;
    t.use = use;
    return t;
}

void image_first_release(stage *s, const shared_image *i, uint32_t queue, bool old_form)
{
    culv_vk_image_transfer t = image_transfer(i, queue, CULV_VK_USE_ANY);
    t.discard = VK_TRUE;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, queue);
    record_barrier(commands, &t, TO_CUDA, old_form);
    stage_submit(s, commands, queue);
}

static uint32_t regions(const shared_image *i, VkDeviceSize offset,
                        VkBufferImageCopy out[MAX_LEVELS])
{
    for (uint32_t level = 0; level < i->levels; level++)
        out[level] =
            (VkBufferImageCopy){.bufferOffset = offset + i->at[level],
                                .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, 0, 1},
                                .imageExtent = shared_image_extent(i, level)};
    return i->levels;
}

void record_copy_out(VkCommandBuffer commands, const shared_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_LEVELS];
    uint32_t count = regions(i, 0, list);
    vkCmdCopyImageToBuffer(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, count,
                           list);
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

void record_copy_in(VkCommandBuffer commands, const shared_image *i, VkBuffer buffer,
                    VkDeviceSize offset)
{
    VkBufferImageCopy list[MAX_LEVELS];
    uint32_t count = regions(i, offset, list);
    vkCmdCopyBufferToImage(commands, buffer, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                           list);
}
