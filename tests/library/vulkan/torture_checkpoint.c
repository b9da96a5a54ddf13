/* SPDX-License-Identifier: MIT */
/* Torture of suspended devices: all kinds of what is given up and made again, with an object that
 * is destroyed in between. */
#include "torture.h"

enum { BYTES = 4 << 20 };

static raw_vk_buffer own;
static VkSemaphore timeline;
static uint64_t value;

static void begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, BYTES, RAW_VK_EXPORT, &own);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
}

static void end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &own);
}

static culv_shared_buffer *make_buffer(bool host)
{
    const VkBufferCreateInfo info =
        raw_vk_buffer_info(host ? 65536 : BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.create_info = &info;
    d.host_memory = host;
    LIB_OK(culv_vk_buffer_create(torture.w.attachment, &d, &buffer));
    return buffer;
}

static culv_shared_image *make_image(void)
{
    const VkImageCreateInfo info = {VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R32_SFLOAT,
                                    .extent = {32, 32, 1},
                                    .mipLevels = 2,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *image = NULL;
    d.create_info = &info;
    LIB_OK(culv_vk_image_create(torture.w.attachment, &d, &image));
    return image;
}

static void run(void)
{
    lib_world *w = &torture.w;
    uint32_t word = 0;
    CUsurfObject surface = 0;
    CUstream stream = torture_open();
    culv_device *device = w->device;
    culv_shared_buffer *buffer = make_buffer(false), *host = make_buffer(true),
                       *gone = make_buffer(false);
    culv_shared_image *image = make_image();
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    culv_memory *memory = lib_import(w, &own);
    culv_buffer *range = NULL;
    culv_suspend_desc sd = culv_suspend_desc_init();
    LIB_OK(culv_buffer_map(memory, NULL, &range));
    LIB_OK(culv_image_get_surface(culv_shared_image_cuda(image), 0, &surface));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(range), 0x1234abcd, BYTES / 4, stream));
    LIB_OK(culv_semaphore_signal(semaphore, stream, ++value));
    lib_finish(w, stream);
    sd.imports_live = 1;
    w->device = NULL; /* what another thread makes is refused now */
    TRY_AGAIN(culv_device_suspend(device, &sd), true);
    /* What Culvert takes for a faulted context keeps what is in it. */
    if (torture_device_lost()) goto destroy;
    lib_require_driver_counts(w, 0, 0, 0);
    DO(culv_shared_buffer_destroy(&gone, NULL));
    TRY_AGAIN(culv_device_resume(device, NULL), true);
    w->device = device;
    TRY_AGAIN(culv_image_get_surface(culv_shared_image_cuda(image), 1, &surface), true);
    TRY_AGAIN(culv_semaphore_signal(semaphore, stream, value + 1), true);
    value++;
    lib_finish(w, stream);
    LIB_CU_OK(w, w->cu->MemcpyDtoH(&word, culv_buffer_pointer(range) + BYTES - 4, 4));
    REQUIRE_EQ(word, 0x1234abcd);
    /* Given up for good while nothing is there. */
    w->device = NULL;
    if (!torture_device_lost()) LIB_OK(culv_device_suspend(device, &sd));
destroy:
    DO(culv_shared_buffer_destroy(&gone, NULL));
    DO(culv_buffer_unmap(&range, NULL));
    DO(culv_memory_destroy(&memory));
    DO(culv_semaphore_destroy(&semaphore, NULL));
    DO(culv_shared_image_destroy(&image, NULL));
    DO(culv_shared_buffer_destroy(&host, NULL));
    DO(culv_shared_buffer_destroy(&buffer, NULL));
    if (!torture_device_lost()) TRY_AGAIN(culv_device_resume(device, NULL), true);
    w->device = device;
    torture_close(stream);
}

static const torture_path path = {
    .unvalidated = true, .begin = begin, .run = run, .end = end, .least = {8, 3, 0}};
TORTURE_CASES("checkpoint", path)
