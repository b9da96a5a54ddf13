/* SPDX-License-Identifier: MIT */
/* Images that CUDA and Vulkan share: every format and origin, both ways, all levels. */
#define TEST_GROUP "data."
#include "image_stage.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Data both ways ------------------------------------------------------------------------------- */

/* CUDA fills a new image, by copies and by kernels; Vulkan reads it and fills it anew; kernels
 * change that in place; Vulkan and a copy read it. */
static void exchange(stage *s, const shared_image *i, uint32_t queue, bool old_form, uint32_t seed)
{
    raw_vk *vk = &s->w.vk;
    raw_vk_buffer out, in;
    unsigned char *texels = malloc(i->size);
    REQUIRE(texels != NULL);
    raw_vk_buffer_create(vk, i->size, RAW_VK_HOST, &out);
    raw_vk_buffer_create(vk, i->size, RAW_VK_HOST, &in);
    image_fill(i, seed, 0, texels);
    image_fill(i, seed + 100, 0, in.mapped);

    image_first_release(s, i, queue, old_form);
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++) {
        if ((level + seed) % 2 == 0)
            cuda_paint(s, i, level, seed);
        else
            cuda_copy_in(s, i, level, texels);
    }
    stage_cuda_end(s);

    culv_vk_image_transfer read = image_transfer(i, queue, CULV_VK_USE_TRANSFER_SRC);
    culv_vk_image_transfer write = image_transfer(i, queue, CULV_VK_USE_TRANSFER_DST);
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    record_barrier(commands, &read, TO_VULKAN, old_form);
    record_copy_out(commands, i, out.buffer);
    const VkImageMemoryBarrier2 between = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
        .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = i->image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0, 1}};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &between};
    vkCmdPipelineBarrier2(commands, &info);
    record_copy_in(commands, i, in.buffer, 0);
    record_barrier(commands, &write, TO_CUDA, old_form);
    stage_submit(s, commands, queue);
    REQUIRE_IMAGE(i, seed, 0, out.mapped);

    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++)
        cuda_flip(s, i, level);
    stage_cuda_end(s);
    commands = raw_vk_begin(vk, queue);
    record_barrier(commands, &read, TO_VULKAN, old_form);
    record_copy_out(commands, i, out.buffer);
    record_barrier(commands, &read, TO_CUDA, old_form);
    stage_submit(s, commands, queue);
    REQUIRE_IMAGE(i, seed + 100, FLIP, out.mapped);

    stage_cuda_begin(s);
    memset(texels, 0, i->size);
    for (uint32_t level = 0; level < i->levels; level++)
        cuda_copy_out(s, i, level, texels);
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
    REQUIRE_IMAGE(i, seed + 100, FLIP, texels);
    raw_vk_buffer_destroy(vk, &out);
    raw_vk_buffer_destroy(vk, &in);
    free(texels);
}

static void data(culv_format format)
{
    static const struct {
        uint32_t width, height, levels;
    } sizes[] = {{253, 127, 8}, {64, 64, 7}, {1, 1, 1}, {127, 1, 7}, {3, 130, 1}, {640, 361, 2}};
    stage s;
    stage_open(&s);
    uint32_t seed = 1, queue = 0;
    for (int origin = 0; origin < IMAGE_ORIGINS; origin++) {
        if (!image_origin_possible(&s, (image_origin)origin)) continue;
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            shared_image i;
            /* Seconds there, and no other way */
            if (test_sanitized() && sizes[k].width > 256) continue;
            shared_image_open(&s, (image_origin)origin, (VkFormat)format, sizes[k].width,
                              sizes[k].height, sizes[k].levels, 0, &i);
            for (int turn = 0; turn < 2; turn++, seed++) {
                do
                    queue = (queue + 1) % s.w.vk.queue_count;
                while (!stage_copies(&s, queue));
                exchange(&s, &i, queue, turn != 0, seed);
            }
            shared_image_close(&s, &i);
        }
    }
    stage_close(&s);
}

TEST_AS(data_rgba8, data(CULV_FORMAT_R8G8B8A8_UNORM), .title = "data.rgba8")
TEST_AS(data_bgra8, data(CULV_FORMAT_B8G8R8A8_UNORM), .title = "data.bgra8")
TEST_AS(data_rgba16f, data(CULV_FORMAT_R16G16B16A16_SFLOAT), .title = "data.rgba16f")
TEST_AS(data_r32f, data(CULV_FORMAT_R32_SFLOAT), .title = "data.r32f")
TEST_AS(data_rgba32f, data(CULV_FORMAT_R32G32B32A32_SFLOAT), .title = "data.rgba32f")

typedef struct opener {
    stage *s;
    int waiter; /* a thread */
} opener;

static void *open_when_asleep(void *user)
{
    const opener *o = user;
    (void)test_asleep(0, o->waiter, 20);
    raw_vk_timeline_signal(&o->s->w.vk, o->s->turns.to_cuda, 1);
    return NULL;
}

/* A kernel is still to store through a surface when the image is unmapped: the surface outlives
 * it. */
TEST(unmapped_under_work)
{
    stage s;
    shared_image i;
    opener o = {&s, (int)syscall(SYS_gettid)};
    pthread_t thread;
    stage_open(&s);
    if (s.turns.binary) SKIP("no timeline that the host could signal");
    shared_image_open(&s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 253, 127, 1, 0, &i);
    unsigned char *texels = malloc(i.size), *painted = malloc(i.size);
    REQUIRE(texels != NULL && painted != NULL);
    image_fill(&i, 9, 0, painted);
    cuda_paint(&s, &i, 0, 1); /* whatever is made by the first launch is there */
    lib_finish(&s.w, s.stream);
    LIB_OK(culv_semaphore_wait(s.turns.waits, s.stream, 1));
    cuda_paint(&s, &i, 0, 9);
    REQUIRE_EQ(pthread_create(&thread, NULL, open_when_asleep, &o), 0);
    culv_image_unmap(&i.cuda, NULL);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    lib_finish(&s.w, s.stream);
    raw_vk_image_read(&s.w.vk, &i.caller, 0, texels);
    REQUIRE_EQ_BYTES(texels, painted, (size_t)253 * 127 * 4); /* i.size has padding */
    free(painted);
    free(texels);
    raw_vk_image_destroy(&s.w.vk, &i.caller);
    culv_memory_destroy(&i.memory);
    stage_close(&s);
}

/* Accessors ------------------------------------------------------------------------------------ */

IMAGE_CASE(arrays_and_surfaces_are_kept, .title = "levels.arrays_and_surfaces_are_kept")
{
    shared_image i;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 64, 32, 3,
                      VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, &i);
    const raw_cuda *cu = s->w.cu;
    for (uint32_t level = 0; level < 3; level++) {
        CUarray array = NULL, array2 = NULL;
        CUsurfObject surface = 0, surface2 = 0;
        CUDA_ARRAY3D_DESCRIPTOR d;
        if (level != 1) LIB_OK(culv_image_get_array(i.cuda, level, 0, &array));
        LIB_OK(culv_image_get_surface(i.cuda, level, 0, &surface));
        LIB_OK(culv_image_get_surface(i.cuda, level, 0, &surface2));
        LIB_OK(culv_image_get_array(i.cuda, level, 0, &array2));
        REQUIRE(surface != 0 && surface == surface2 && array2 != NULL);
        REQUIRE(level == 1 || array == array2);
        LIB_CU_OK(&s->w, cu->Array3DGetDescriptor(&d, array2));
        REQUIRE_EQ(d.Width, 64 >> level);
        REQUIRE_EQ(d.Height, 32 >> level);
        REQUIRE_EQ(d.Format, i.format.cuda_array_format);
        REQUIRE_EQ(d.NumChannels, i.format.channels);
        if (cu->software) /* which tells the flags that an array was mapped with */
            REQUIRE_EQ(d.Flags, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_COLOR_ATTACHMENT);
    }
    CUcontext current = NULL; /* none of these calls left a context current */
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
    culv_image *none = NULL;
    culv_image_unmap(NULL, NULL);
    culv_image_unmap(&none, NULL);
    culv_image_unmap(NULL, &s->stream);
    culv_image_unmap(&none, &s->stream);
    shared_image_close(s, &i);
}

/* docs/vulkan-memory.md's example. */
static culv_result image_from_fd(culv_device *device, culv_vk_device *vk, int fd,
                                 uint64_t allocation_size, uint64_t offset, VkImage image,
                                 const VkImageCreateInfo *create_info, culv_image **out)
{
    culv_memory_desc allocation = culv_memory_desc_init();
    culv_vk_image_desc bound = culv_vk_image_desc_init();
    culv_memory *memory = NULL;
    allocation.handle = culv_handle_opaque_fd(fd);
    allocation.size = allocation_size;
    bound.image = image;
    bound.create_info = create_info;
    bound.offset = offset;

    culv_result e = culv_memory_import(device, &allocation, &memory);
    if (e == CULV_OK) e = culv_vk_image_map(vk, memory, &bound, out);
    culv_memory_destroy(&memory);
    return e;
}

/* Of another library's image only a file descriptor, the allocation's size and the offset are
 * known. */
IMAGE_CASE(from_a_file_descriptor)
{
    raw_vk *vk = &s->w.vk;
    raw_vk_image theirs;
    const raw_vk_image_desc d = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                 .width = 101,
                                 .height = 53,
                                 .levels = 3,
                                 .min_offset = 70000,
                                 .flags = RAW_VK_EXPORT};
    if (!raw_vk_image_supported(vk, &d)) SKIP("no such image can be exported here");
    raw_vk_image_create(vk, &d, &theirs);
    REQUIRE(theirs.offset >= 70000);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(d.format, d.width, d.height, d.levels, 0, &external);
    shared_image i = {
        .origin = CALLERS_AT_OFFSET, .width = d.width, .height = d.height, .levels = d.levels};
    lib_fd fd = lib_fd_watch(raw_vk_image_fd(vk, &theirs));
    LIB_OK(image_from_fd(s->w.device, s->w.attachment, fd.fd, theirs.allocation_size, theirs.offset,
                         theirs.image, &info, &i.cuda));
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    i.format = culv_format_info_init();
    LIB_OK(culv_format_get_info(CULV_FORMAT_R8G8B8A8_UNORM, &i.format));
    for (uint32_t level = 0; level < i.levels; level++) {
        i.at[level] = i.size;
        i.size += raw_vk_image_bytes(&theirs, level);
        cuda_paint(s, &i, level, 77);
    }
    lib_finish(&s->w, s->stream);
    unsigned char *texels = malloc(i.size);
    REQUIRE(texels != NULL);
    for (uint32_t level = 0; level < i.levels; level++)
        raw_vk_image_read(vk, &theirs, level, texels + i.at[level]);
    REQUIRE_IMAGE(&i, 77, 0, texels);
    free(texels);
    culv_image_unmap(&i.cuda, NULL);
    REQUIRE_EQ(lib_counts(&s->w).memories, 0);
    raw_vk_image_destroy(vk, &theirs);
}
