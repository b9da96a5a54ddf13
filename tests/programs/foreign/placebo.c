/* SPDX-License-Identifier: MIT */
/* libplacebo, a Vulkan program that knows nothing of Culvert: it makes the VkDevice, owns textures,
 * and hands them out by file descriptor. */
#define TEST_GROUP "placebo."
#include "foreign.h"

#include <libplacebo/vulkan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXELS ((size_t)APP_WIDTH * APP_HEIGHT)
#define MAX    16

/* What changed between Debian 12's libplacebo 4.208 and Debian 13's 7.349. */
#if PL_API_VER < 250
#    define OLD_PLACEBO 1
typedef int family_index;
#else
#    define OLD_PLACEBO 0
typedef uint32_t family_index;
#endif

typedef struct placebo {
    pl_log log;
    pl_vulkan vulkan;
    app a;
} placebo;

static void say(void *user, enum pl_log_level level, const char *message)
{
    (void)user;
    fprintf(stderr, "libplacebo: %s%s\n", level <= PL_LOG_ERR ? "error: " : "", message);
}

/* What Culvert wants of the device, as libplacebo is told such things. */
static void make_device(placebo *p)
{
    app *a = &p->a;
    VkPhysicalDeviceSynchronization2Features synchronization2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &synchronization2,
        .timelineSemaphore = VK_TRUE};
    const VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &timelines};
    const uint32_t version =
        a->api_version < a->candidate.api_version ? a->api_version : a->candidate.api_version;
    struct pl_vulkan_params params = pl_vulkan_default_params;
    const char *needed[MAX], *optional[MAX];

    params.instance = a->instance;
    params.get_proc_addr = vkGetInstanceProcAddr;
    params.device = a->physical_device;
    params.async_transfer = false; /* one queue family, so that images are of one */
    params.async_compute = false;
    params.extensions = needed;
    params.num_extensions = (int)culv_vk_device_extensions(version, MAX, needed);
    params.opt_extensions = optional;
    params.num_opt_extensions = (int)culv_vk_optional_device_extensions(version, MAX, optional);
    params.features = &features;
    p->vulkan = pl_vulkan_create(p->log, &params);
    REQUIRE(p->vulkan);

    a->device = p->vulkan->device;
    a->family = p->vulkan->queue_graphics.index;
    volkLoadDevice(a->device);
    vkGetDeviceQueue(a->device, a->family, 0, &a->queue);
}

static void open_placebo(placebo *p)
{
    const struct pl_log_params log = {.log_cb = say, .log_level = PL_LOG_WARN};

    /* libplacebo enables VK_KHR_swapchain, which needs it. */
    app_open_instance(&p->a, VK_KHR_SURFACE_EXTENSION_NAME);
    p->log = pl_log_create(PL_API_VER, &log);
    REQUIRE(p->log);
    make_device(p);
    app_attach(&p->a);
}

static void close_placebo(placebo *p)
{
    app_detach(&p->a);
    pl_vulkan_destroy(&p->vulkan);
    pl_log_destroy(&p->log);
    app_close_instance(&p->a);
}

/* The texture's image as libplacebo must have made it. It tells the format and the usage. */
static void map_texture(placebo *p, pl_tex texture, VkImage *image, culv_image **out)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .pNext = &external,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .extent = {APP_WIDTH, APP_HEIGHT, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL};
    culv_memory_desc import = culv_memory_desc_init();
    culv_vk_image_desc map = culv_vk_image_desc_init();
    VkMemoryDedicatedRequirements alone = {.sType =
                                               VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                   .pNext = &alone};
    VkImageMemoryRequirementsInfo2 of = {.sType =
                                             VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2};
    culv_memory *memory;

    *image = pl_vulkan_unwrap(p->vulkan->gpu, texture, &info.format, &info.usage);
    REQUIRE(*image);
    of.image = *image;
    vkGetImageMemoryRequirements2(p->a.device, &of, &needs);

    import.handle = culv_handle_opaque_fd(texture->shared_mem.handle.fd);
    import.size = texture->shared_mem.size;
    /* libplacebo follows what the driver prefers. */
    import.dedicated = texture->shared_mem.offset == 0 &&
                       (alone.prefersDedicatedAllocation || alone.requiresDedicatedAllocation);
    CULV(culv_memory_import(p->a.culvert, &import, &memory));
    map.image = *image;
    map.create_info = &info;
    map.offset = texture->shared_mem.offset;
    CULV(culv_vk_image_map(p->a.vk, memory, &map, out));
    culv_memory_destroy(&memory);
}

static void hold(placebo *p, pl_tex texture, VkSemaphore timeline, uint64_t value)
{
#if OLD_PLACEBO
    REQUIRE(pl_vulkan_hold(p->vulkan->gpu, texture, VK_IMAGE_LAYOUT_GENERAL,
                           (pl_vulkan_sem){timeline, value}));
#else
    const struct pl_vulkan_hold_params params = {.tex = texture,
                                                 .layout = VK_IMAGE_LAYOUT_GENERAL,
                                                 .qf = VK_QUEUE_FAMILY_IGNORED,
                                                 .semaphore = {timeline, value}};

    REQUIRE(pl_vulkan_hold_ex(p->vulkan->gpu, &params));
#endif
}

static void release(placebo *p, pl_tex texture, VkSemaphore timeline, uint64_t value)
{
#if OLD_PLACEBO
    pl_vulkan_release(p->vulkan->gpu, texture, VK_IMAGE_LAYOUT_GENERAL,
                      (pl_vulkan_sem){timeline, value});
#else
    const struct pl_vulkan_release_params params = {.tex = texture,
                                                    .layout = VK_IMAGE_LAYOUT_GENERAL,
                                                    .qf = VK_QUEUE_FAMILY_IGNORED,
                                                    .semaphore = {timeline, value}};

    pl_vulkan_release_ex(p->vulkan->gpu, &params);
#endif
}

/* The image goes from libplacebo's queue to CUDA, or comes back. */
static void hand_over(placebo *p, VkImage image, culv_vk_direction direction, const app_sync *sync)
{
    app *a = &p->a;
    VkCommandBuffer commands = app_begin(a);
    VkFence fence;

    app_transfer_image(a, commands, image, direction, CULV_VK_USE_ANY, false);
    p->vulkan->lock_queue(p->vulkan, (family_index)a->family, 0);
    fence = app_submit(a, commands, sync);
    p->vulkan->unlock_queue(p->vulkan, (family_index)a->family, 0);
    app_finish(a, commands, fence);
}

static void use_surface(app *a, const char *kernel, culv_image *image, CUdeviceptr to,
                        uint32_t seed)
{
    int width = (int)APP_WIDTH, height = (int)APP_HEIGHT;
    CUsurfObject surface;

    CULV(culv_image_get_surface(image, 0, 0, &surface));
    if (to != 0) {
        void *arguments[] = {&surface, &to, &width, &height};

        app_launch(a, kernel, APP_WIDTH, APP_HEIGHT, arguments);
    } else {
        void *arguments[] = {&surface, &width, &height, &seed};

        app_launch(a, kernel, APP_WIDTH, APP_HEIGHT, arguments);
    }
}

static pl_tex make_texture(placebo *p)
{
    struct pl_tex_params params = {.w = (int)APP_WIDTH,
                                   .h = (int)APP_HEIGHT,
                                   .sampleable = true,
                                   .host_writable = true,
                                   .host_readable = true,
                                   .export_handle = PL_HANDLE_FD};
    pl_tex texture;

    params.format = pl_find_named_fmt(p->vulkan->gpu, "rgba8");
    REQUIRE(params.format);
    if ((p->vulkan->gpu->export_caps.tex & PL_HANDLE_FD) == 0)
        FAIL("libplacebo exports no textures here");
    texture = pl_tex_create(p->vulkan->gpu, &params);
    REQUIRE(texture);
    return texture;
}

/* libplacebo uploads, CUDA reads and paints, libplacebo downloads. */
TEST(texture, .smoke = true)
{
    unsigned char *bytes = malloc(TEXELS * 4);
    struct pl_tex_transfer_params transfer = {.ptr = bytes};
    culv_shared_semaphore *sync;
    culv_image *shared;
    VkImage image;
    CUdeviceptr copy;
    pl_tex tex;
    placebo p;

    REQUIRE(bytes);
    open_placebo(&p);
    app *a = &p.a;
    tex = make_texture(&p);
    map_texture(&p, tex, &image, &shared);
    CULV(culv_vk_semaphore_create(a->vk, NULL, &sync));
    CU(a->cu->cuMemAlloc(&copy, TEXELS * 4));
    const VkSemaphore timeline = culv_vk_semaphore_handle(sync);
    transfer.tex = tex;

    for (uint32_t n = 0; n < 3; n++) {
        const uint64_t turn = 4 * n;

        app_fill_host(bytes, 0, TEXELS * 4, 50 + n);
        REQUIRE(pl_tex_upload(p.vulkan->gpu, &transfer));
        hold(&p, tex, timeline, turn + 1);
        hand_over(&p, image, CULV_VK_RELEASE, &(app_sync){timeline, turn + 1, timeline, turn + 2});

        CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a->stream, turn + 2));
        use_surface(a, "foreign_fetch", shared, copy, 0);
        CU(a->cu->cuMemcpyDtoHAsync(bytes, copy, TEXELS * 4, a->stream));
        use_surface(a, "foreign_paint", shared, 0, 60 + n);
        CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(sync), a->stream, turn + 3));
        CU(a->cu->cuStreamSynchronize(a->stream));
        app_require_bytes("what CUDA reads of libplacebo's texture", bytes, 0, TEXELS * 4, 50 + n);

        hand_over(&p, image, CULV_VK_ACQUIRE, &(app_sync){timeline, turn + 3, timeline, turn + 4});
        release(&p, tex, timeline, turn + 4);
        memset(bytes, 0, TEXELS * 4);
        REQUIRE(pl_tex_download(p.vulkan->gpu, &transfer));
        app_require_bytes("what libplacebo reads of CUDA's", bytes, 0, TEXELS * 4, 60 + n);
    }

    free(bytes);
    pl_gpu_finish(p.vulkan->gpu);
    CU(a->cu->cuMemFree(copy));
    culv_image_unmap(&shared, NULL);
    pl_tex_destroy(p.vulkan->gpu, &tex);
    culv_shared_semaphore_destroy(&sync, NULL);
    close_placebo(&p);
}
