/* SPDX-License-Identifier: MIT */
/* After NVIDIA's vulkanImageCUDA: an image that Vulkan uploads, CUDA filters through a texture and
 * makes mip levels of through surfaces, and Vulkan copies back. */
#define TEST_GROUP "filter."
#include "foreign.h"

#define LEVELS 3u
#define TEXELS ((size_t)APP_WIDTH * APP_HEIGHT)
#define FRAMES 3u

static VkImageCreateInfo image_info(uint32_t levels, VkImageUsageFlags usage, const void *next)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .pNext = next,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {APP_WIDTH, APP_HEIGHT, 1},
                               .mipLevels = levels,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = usage};
}

/* The program's own image, in memory of its own. */
typedef struct source {
    VkImage image;
    VkDeviceMemory memory;
    culv_image *shared;
} source;

static void make_source(app *a, source *s)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo info =
        image_info(1, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, &external);
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    culv_vk_memory_desc import = culv_vk_memory_desc_init();
    culv_vk_image_desc map = culv_vk_image_desc_init();
    VkMemoryRequirements needs;
    culv_memory *memory;

    CULV(culv_vk_check_image(a->vk, &info, NULL, &how));
    REQUIRE_EQ(how.access, CULV_VK_ACCESS_ARRAY);
    VK(vkCreateImage(a->device, &info, NULL, &s->image));
    vkGetImageMemoryRequirements(a->device, s->image, &needs);

    const bool alone = how.dedicated_required || how.dedicated_preferred;
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = s->image};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = alone ? &dedicated : NULL,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &exported,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            app_memory_type(a, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    VK(vkAllocateMemory(a->device, &allocation, NULL, &s->memory));
    VK(vkBindImageMemory(a->device, s->image, s->memory, 0));

    import.memory = s->memory;
    import.allocation_size = needs.size;
    import.dedicated = alone;
    import.image = s->image;
    CULV(culv_vk_memory_import(a->vk, &import, &memory));
    map.image = s->image;
    map.create_info = &info;
    CULV(culv_vk_image_map(a->vk, memory, &map, &s->shared));
    culv_memory_destroy(&memory);
}

static void destroy_source(app *a, source *s)
{
    culv_image_unmap(&s->shared, NULL);
    vkDestroyImage(a->device, s->image, NULL);
    vkFreeMemory(a->device, s->memory, NULL);
}

/* Uploads into the image and gives it to CUDA. A new image's contents are nobody's. */
static void upload(app *a, VkImage image, const app_host *host, bool is_new, const app_sync *sync)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {APP_WIDTH, APP_HEIGHT, 1}};
    const VkImageMemoryBarrier2 first = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .dstStageMask = VK_PIPELINE_STAGE_2_TRANSFER_BIT,
        .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .imageMemoryBarrierCount = 1,
                                         .pImageMemoryBarriers = &first};
    VkCommandBuffer commands = app_begin(a);

    if (is_new)
        vkCmdPipelineBarrier2(commands, &dependency);
    else
        app_transfer_image(a, commands, image, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_DST, false);
    vkCmdCopyBufferToImage(commands, host->buffer, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &all);
    app_transfer_image(a, commands, image, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_DST, false);
    app_run(a, commands, sync);
}

/* The levels one after another, without padding. */
static size_t level_offset(unsigned level)
{
    size_t offset = 0;

    for (unsigned i = 0; i < level; i++)
        offset += (size_t)(APP_WIDTH >> i) * (APP_HEIGHT >> i) * 4;
    return offset;
}

static void download(app *a, VkImage image, unsigned levels, const app_host *host,
                     const app_sync *sync)
{
    const VkMemoryBarrier2 seen = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                   .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                   .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                   .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .memoryBarrierCount = 1,
                                         .pMemoryBarriers = &seen};
    VkCommandBuffer commands = app_begin(a);

    app_transfer_image(a, commands, image, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC, false);
    for (unsigned i = 0; i < levels; i++) {
        const VkBufferImageCopy level = {.bufferOffset = level_offset(i),
                                         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, i, 0, 1},
                                         .imageExtent = {APP_WIDTH >> i, APP_HEIGHT >> i, 1}};

        vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, host->buffer,
                               1, &level);
    }
    vkCmdPipelineBarrier2(commands, &dependency);
    app_transfer_image(a, commands, image, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC, false);
    app_run(a, commands, sync);
}

static unsigned at(const unsigned char *image, unsigned width, int x, int y, unsigned channel)
{
    const unsigned cx = x < 0 ? 0 : x >= (int)APP_WIDTH ? APP_WIDTH - 1 : (unsigned)x;
    const unsigned cy = y < 0 ? 0 : y >= (int)APP_HEIGHT ? APP_HEIGHT - 1 : (unsigned)y;

    return image[4 * ((size_t)cy * width + cx) + channel];
}

static void check_blur(const unsigned char *before, const unsigned char *after)
{
    for (unsigned y = 0; y < APP_HEIGHT; y++)
        for (unsigned x = 0; x < APP_WIDTH; x++)
            for (unsigned c = 0; c < 4; c++) {
                const unsigned is = after[4 * ((size_t)y * APP_WIDTH + x) + c];
                unsigned sum = 0;

                for (int dy = -2; dy <= 2; dy++)
                    for (int dx = -2; dx <= 2; dx++)
                        sum += at(before, APP_WIDTH, (int)x + dx, (int)y + dy, c);
                if (is != sum / 25)
                    FAIL("blurred texel (%u, %u), channel %u: %u, not %u", x, y, c, is, sum / 25);
            }
}

static void check_level(const unsigned char *levels, unsigned level)
{
    const unsigned width = APP_WIDTH >> level, height = APP_HEIGHT >> level;
    const unsigned above = APP_WIDTH >> (level - 1);
    const unsigned char *from = levels + level_offset(level - 1);
    const unsigned char *to = levels + level_offset(level);

    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            for (unsigned c = 0; c < 4; c++) {
                const unsigned is = to[4 * ((size_t)y * width + x) + c];
                unsigned sum = 0;

                for (unsigned i = 0; i < 4; i++)
                    sum += at(from, above, (int)(2 * x + (i & 1)), (int)(2 * y + (i >> 1)), c);
                if (is != sum / 4)
                    FAIL("level %u, texel (%u, %u), channel %u: %u, not %u", level, x, y, c, is,
                         sum / 4);
            }
}

static void launch_image(app *a, const char *kernel, CUtexObject from, CUsurfObject to,
                         unsigned width, unsigned height)
{
    int w = (int)width, h = (int)height;
    void *arguments[] = {&from, &to, &w, &h};

    app_launch(a, kernel, width, height, arguments);
}

static void filter(app *a, const source *s, culv_image *target)
{
    culv_texture_desc stored = culv_texture_desc_init();
    CUsurfObject surfaces[LEVELS];
    CUtexObject texture;

    stored.read = CULV_TEXTURE_READ_STORED;
    stored.unnormalized_coordinates = 1;
    CULV(culv_image_get_texture(s->shared, &stored, &texture));
    for (unsigned i = 0; i < LEVELS; i++)
        CULV(culv_image_get_surface(target, i, 0, &surfaces[i]));
    launch_image(a, "foreign_blur", texture, surfaces[0], APP_WIDTH, APP_HEIGHT);
    for (unsigned i = 1; i < LEVELS; i++)
        launch_image(a, "foreign_halve", surfaces[i - 1], surfaces[i], APP_WIDTH >> i,
                     APP_HEIGHT >> i);
}

TEST(blur, .smoke = true)
{
    const VkImageCreateInfo info =
        image_info(LEVELS, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *target;
    culv_shared_semaphore *sync;
    app_host before, after;
    source s;
    app a;

    app_open(&a);
    make_source(&a, &s);
    d.create_info = &info;
    CULV(culv_vk_image_create(a.vk, &d, &target));
    CULV(culv_vk_semaphore_create(a.vk, NULL, &sync));
    app_host_create(&a, TEXELS * 4, &before);
    app_host_create(&a, level_offset(LEVELS), &after);

    const VkImage image = culv_vk_image_handle(target);
    const VkSemaphore timeline = culv_vk_semaphore_handle(sync);
    VkCommandBuffer commands = app_begin(&a);
    app_transfer_image(&a, commands, image, CULV_VK_RELEASE, CULV_VK_USE_ANY, true);
    app_run(&a, commands, &(app_sync){.signal = timeline, .signal_value = 1});

    for (unsigned n = 0; n < FRAMES; n++) {
        app_fill_host(before.data, 0, TEXELS * 4, n);
        upload(&a, s.image, &before, n == 0, &(app_sync){timeline, 3 * n + 1, timeline, 3 * n + 2});
        CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a.stream, 3 * n + 2));
        filter(&a, &s, culv_shared_image_cuda(target));
        CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(sync), a.stream, 3 * n + 3));
        download(&a, image, LEVELS, &after, &(app_sync){timeline, 3 * n + 3, timeline, 3 * n + 4});
        check_blur(before.data, after.data);
        for (unsigned i = 1; i < LEVELS; i++)
            check_level(after.data, i);
    }

    CU(a.cu->cuStreamSynchronize(a.stream));
    app_host_destroy(&a, &before);
    app_host_destroy(&a, &after);
    culv_shared_semaphore_destroy(&sync, NULL);
    culv_shared_image_destroy(&target, NULL);
    destroy_source(&a, &s);
    app_close(&a);
}
