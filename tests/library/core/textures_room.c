/* SPDX-License-Identifier: MIT */
/* What the suite's textures read: images whose texels say where they are. */
#include "textures_room.h"

reading room;

void open_room(void)
{
    stage_open(&room.s);
    const raw_cuda *cu = room.s.w.cu;
    CUcontext before = lib_enter(&room.s.w);
    room.module = raw_cuda_load(cu, "formats_texture");
    room.sample = raw_cuda_function(cu, room.module, "sweep_sample");
    CU_OK(cu->MemAlloc(&room.values, sizeof room.found));
    lib_leave(&room.s.w, before);
}

void close_room(void)
{
    const raw_cuda *cu = room.s.w.cu;
    LIB_CU_OK(&room.s.w, cu->MemFree(room.values));
    LIB_CU_OK(&room.s.w, cu->ModuleUnload(room.module));
    stage_close(&room.s);
}

uint32_t side(uint32_t whole, uint32_t level)
{
    return whole >> level != 0 ? whole >> level : 1;
}

VkImageCreateInfo kind_info(const kind *k, VkFormat format)
{
    VkImageCreateInfo info = image_info(format, k->extent.width, k->extent.height, k->levels,
                                        VK_IMAGE_USAGE_SAMPLED_BIT, NULL);
    info.flags = k->flags;
    info.imageType = k->type;
    info.extent = k->extent;
    info.arrayLayers = k->layers;
    return info;
}

culv_shared_image *make(const VkImageCreateInfo *info, culv_texels texels)
{
    culv_shared_image *image = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = info;
    d.texels = texels;
    culv_result result = culv_vk_image_create(room.s.w.attachment, &d, &image);
    if (result == CULV_ERROR_UNSUPPORTED) {
        printf("  no such image here: %s\n", culv_last_error_message());
        return NULL;
    }
    LIB_OK(result);
    const shared_image its = {.image = culv_vk_image_handle(image)};
    image_first_release(&room.s, &its, 0, false);
    return image;
}

void fill(culv_image *image, const kind *k, const unsigned char *block, size_t bytes,
          uint32_t across)
{
    stage_cuda_begin(&room.s);
    lib_finish(&room.s.w, room.s.stream);
    CUcontext before = lib_enter(&room.s.w);
    for (uint32_t level = 0; level < k->levels; level++) {
        const size_t w = (side(k->extent.width, level) + across - 1) / across,
                     h = (side(k->extent.height, level) + across - 1) / across,
                     n = k->type == VK_IMAGE_TYPE_3D ? side(k->extent.depth, level) : k->layers;
        unsigned char *texels = malloc(w * h * n * bytes);
        CUarray array = NULL;
        REQUIRE(texels != NULL);
        for (size_t i = 0; i < w * h * n * bytes; i++) {
            const size_t layer = k->type == VK_IMAGE_TYPE_3D ? 0 : i / (w * h * bytes);
            texels[i] = block != NULL ? block[i % bytes] : (unsigned char)(16 * level + layer + 1);
        }
        LIB_OK(culv_image_get_array(image, level, &array));
        CU_OK(raw_cuda_write_box(room.s.w.cu, array, texels, w * bytes, h, n));
        free(texels);
    }
    lib_leave(&room.s.w, before);
    stage_cuda_end(&room.s);
}

void read_level(CUtexObject texture, int dimension, int number, int channels, int level, int w,
                int h, int n)
{
    const raw_cuda *cu = room.s.w.cu;
    void *params[] = {&texture, &dimension, &number, &channels, &level, &w, &h, &n, &room.values};
    const unsigned threads = (unsigned)(w * h * n);
    REQUIRE(threads <= MOST_TEXELS);
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(cu->LaunchKernel(room.sample, (threads + 127) / 128, 1, 1, 128, 1, 1, 0, room.s.stream,
                           params, NULL));
    CU_OK(cu->MemcpyDtoHAsync(room.found, room.values, (size_t)threads * 16, room.s.stream));
    CU_OK(cu->StreamSynchronize(room.s.stream));
    lib_leave(&room.s.w, before);
}

double as_double(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}
