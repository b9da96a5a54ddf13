/* SPDX-License-Identifier: MIT */
/* Thousands of turns of buffers and images: made, imported, mapped, used, destroyed. The option
 * --turns=N says how many. */
#include "endurance.h"
#include "image_stage.h"

enum { BYTES = 65536, WIDTH = 61, HEIGHT = 33, LEVELS = 3 };

static const raw_vk_image_desc image_desc = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                             .width = WIDTH,
                                             .height = HEIGHT,
                                             .levels = LEVELS,
                                             .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED |
                                                      RAW_VK_UNTOUCHED};

static void fill(const stage *s, CUdeviceptr p)
{
    LIB_CU_OK(&s->w, s->w.cu->MemsetD32Async(p, 5, BYTES / 4, s->stream));
}

/* By the API's calls --------------------------------------------------------------------------- */

static void use_image(culv_image *image)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        CUarray array = NULL;
        CUsurfObject surface = 0;
        LIB_OK(culv_image_get_array(image, level, &array));
        LIB_OK(culv_image_get_surface(image, level, &surface));
    }
}

static void culvert_made(stage *s, bool after)
{
    const VkBufferCreateInfo buffer_info =
        raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    bd.create_info = &buffer_info;
    LIB_OK(culv_vk_buffer_create(s->w.attachment, &bd, &buffer));
    fill(s, culv_buffer_pointer(culv_shared_buffer_cuda(buffer)));
    shared_image i;
    shared_image_open(s, CULVERTS, image_desc.format, WIDTH, HEIGHT, LEVELS, 0, &i);
    use_image(i.cuda);
    cuda_paint(s, &i, 0, 1);
    if (after) {
        culv_shared_buffer_destroy_after(&buffer, s->stream);
        culv_shared_image_destroy_after(&i.made, s->stream);
        lib_finish(&s->w, s->stream);
    } else {
        lib_finish(&s->w, s->stream);
        culv_shared_buffer_destroy(&buffer);
        culv_shared_image_destroy(&i.made);
    }
}

static void culvert_turn(void *user, long n)
{
    stage *s = user;
    culvert_made(s, n % 2 != 0);
    shared_image i;
    shared_image_open(s, CALLERS_DEDICATED, image_desc.format, WIDTH, HEIGHT, LEVELS, 0, &i);
    use_image(i.cuda);
    cuda_paint(s, &i, 0, 1);
    shared_image_close(s, &i);
}

/* By the raw ones ------------------------------------------------------------------------------ */

static void raw_image(stage *s)
{
    const raw_cuda *cu = s->w.cu;
    raw_vk_image image;
    CUexternalMemory memory = NULL;
    CUmipmappedArray mipmap = NULL;
    CUsurfObject surfaces[LEVELS];
    const CUDA_ARRAY3D_DESCRIPTOR d =
        raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, WIDTH, HEIGHT);
    int width = WIDTH, height = HEIGHT;
    uint32_t seed = 1;
    void *params[] = {&surfaces[0], &width, &height, &seed};
    raw_vk_image_create(&s->w.vk, &image_desc, &image);
    CU_OK(raw_cuda_import_memory(cu, raw_vk_image_fd(&s->w.vk, &image), image.allocation_size, true,
                                 &memory));
    CU_OK(raw_cuda_map_image(cu, memory, 0, &d, LEVELS, &mipmap));
    for (unsigned level = 0; level < LEVELS; level++) {
        CUarray array = NULL;
        CU_OK(cu->MipmappedArrayGetLevel(&array, mipmap, level));
        CU_OK(raw_cuda_surface(cu, array, &surfaces[level]));
    }
    CU_OK(cu->LaunchKernel(raw_cuda_function(cu, s->module, "library_paint_uchar4"),
                           (WIDTH + 15) / 16, (HEIGHT + 15) / 16, 1, 16, 16, 1, 0, s->stream,
                           params, NULL));
    CU_OK(cu->StreamSynchronize(s->stream));
    for (unsigned level = 0; level < LEVELS; level++)
        CU_OK(cu->SurfObjectDestroy(surfaces[level]));
    CU_OK(cu->MipmappedArrayDestroy(mipmap));
    CU_OK(cu->DestroyExternalMemory(memory));
    raw_vk_image_destroy(&s->w.vk, &image);
}

static void raw_turn(void *user, long n)
{
    stage *s = user;
    const raw_cuda *cu = s->w.cu;
    raw_vk_buffer buffer;
    CUexternalMemory memory = NULL;
    CUdeviceptr p = 0;
    CUcontext before = lib_enter(&s->w);
    (void)n;
    raw_vk_buffer_create(&s->w.vk, BYTES, RAW_VK_EXPORT, &buffer);
    CU_OK(raw_cuda_import_memory(cu, raw_vk_buffer_fd(&s->w.vk, &buffer), buffer.allocation_size,
                                 false, &memory));
    CU_OK(raw_cuda_map_buffer(cu, memory, 0, buffer.allocation_size, &p));
    fill(s, p);
    CU_OK(cu->StreamSynchronize(s->stream));
    CU_OK(cu->MemFree(p));
    CU_OK(cu->DestroyExternalMemory(memory));
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
    raw_image(s);
    raw_image(s);
    lib_leave(&s->w, before);
}

IMAGE_CASE(resources, .time_limit = 900, .own = true)
{
    endurance_run(&s->w, &(endurance_pair){"resources", "", raw_turn, culvert_turn, s});
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.memories + c.mappings + c.buffers + c.images + c.created, 0);
}
