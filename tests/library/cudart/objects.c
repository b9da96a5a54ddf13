/* SPDX-License-Identifier: MIT */
/* Buffers and images in the runtime's types. */
#define TEST_GROUP "objects."
#include "raw_vulkan_image.h"
#include "world.h"

enum { BYTES = 1 << 16, WIDTH = 64, HEIGHT = 32, LEVELS = 3 };

static culv_shared_buffer *make_buffer(world *w)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.create_info = &info;
    OK(culv_vk_buffer_create(w->attachment, &d, &buffer));
    return buffer;
}

static culv_shared_image *make_image(world *w)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {WIDTH, HEIGHT, 1},
                                    .mipLevels = LEVELS,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *image = NULL;
    d.create_info = &info;
    OK(culv_vk_image_create(w->attachment, &d, &image));
    return image;
}

TEST(same_handles)
{
    world w;
    world_open(&w);
    culv_shared_buffer *buffer = make_buffer(&w);
    culv_shared_image *image = make_image(&w);
    culv_buffer *mapped = culv_shared_buffer_cuda(buffer);
    culv_image *array = culv_shared_image_cuda(image);
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        REQUIRE(calls->buffer_pointer(mapped) != NULL);
        REQUIRE((CUdeviceptr)(uintptr_t)calls->buffer_pointer(mapped) ==
                culv_buffer_pointer(mapped));
        for (uint32_t level = 0; level < LEVELS; level++) {
            CUarray level_array = NULL;
            CUsurfObject level_surface = 0;
            cudaArray_t runtime_array = NULL;
            cudaSurfaceObject_t runtime_surface = 0;
            OK(culv_image_get_array(array, level, 0, &level_array));
            OK(culv_image_get_surface(array, level, 0, &level_surface));
            OK(calls->image_array(array, level, 0, &runtime_array));
            OK(calls->image_surface(array, level, 0, &runtime_surface));
            REQUIRE((void *)runtime_array == (void *)level_array);
            REQUIRE(runtime_surface == level_surface && runtime_surface != 0);
        }
        cudaArray_t no_array = POISON(struct cudaArray);
        cudaSurfaceObject_t no_surface = 0x5a5a;
        REFUSED(calls->image_array(array, LEVELS, 0, &no_array), CULV_ERROR_INVALID,
                CULV_REASON_LEVEL);
        REFUSED(calls->image_surface(array, LEVELS, 0, &no_surface), CULV_ERROR_INVALID,
                CULV_REASON_LEVEL);
        REQUIRE(no_array == POISON(struct cudaArray) && no_surface == 0x5a5a);
        REFUSED(calls->image_array(array, 0, 0, NULL), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->image_surface(array, 0, 0, NULL), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
    }
    culv_shared_image_destroy(&image, NULL);
    culv_shared_buffer_destroy(&buffer, &(CUstream){culv_cudart_stream(0)});
    world_close(&w);
}

/* Mappings of the caller's own, given up after work on stream 0: they last until it is done. */
TEST(unmap_after)
{
    world w;
    world_open(&w);
    const raw_cuda *cu = w.cu;
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        uint32_t value = 0x01020304u + (uint32_t)i;
        uint32_t words[BYTES / 4];
        raw_vk_buffer vk;
        raw_vk_image vk_image;
        raw_vk_buffer_create(&w.vk, BYTES, RAW_VK_EXPORT, &vk);
        raw_vk_image_create(&w.vk,
                            &(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                 .width = WIDTH,
                                                 .height = HEIGHT,
                                                 .levels = LEVELS,
                                                 .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED},
                            &vk_image);
        culv_vk_memory_desc d = culv_vk_memory_desc_init();
        culv_memory *memory = NULL, *image_memory = NULL;
        culv_buffer *buffer = NULL;
        culv_image *image = NULL;
        d.memory = vk.memory;
        d.allocation_size = vk.allocation_size;
        d.buffer = vk.buffer;
        OK(culv_vk_memory_import(w.attachment, &d, &memory));
        d = culv_vk_memory_desc_init();
        d.memory = vk_image.memory;
        d.allocation_size = vk_image.allocation_size;
        d.image = vk_image.image;
        d.dedicated = VK_TRUE;
        OK(culv_vk_memory_import(w.attachment, &d, &image_memory));
        culv_buffer_desc bd = culv_buffer_desc_init();
        bd.size = BYTES;
        OK(culv_buffer_map(memory, &bd, &buffer));
        culv_image_desc id = culv_image_desc_init();
        id.format = CULV_FORMAT_R8G8B8A8_UNORM;
        id.width = WIDTH;
        id.height = HEIGHT;
        id.mip_levels = LEVELS;
        OK(culv_image_map(image_memory, &id, &image));

        timeline gate = timeline_make(&w);
        CUdeviceptr pointer = (CUdeviceptr)(uintptr_t)calls->buffer_pointer(buffer);
        OK(calls->semaphore_wait(gate.culv, 0, 1));
        CU_OK(cu->MemsetD32Async(pointer, value, BYTES / 4, calls->stream(0)));
        const CUstream last_use = calls->stream(0);
        OK(culv_buffer_unmap(&buffer, &last_use));
        OK(culv_image_unmap(&image, &last_use));
        REQUIRE(buffer == NULL && image == NULL);
        culv_memory_destroy(&memory);
        culv_memory_destroy(&image_memory);
        REQUIRE_EQ(world_counts(&w).mappings, 2);
        raw_vk_timeline_signal(&w.vk, gate.vk, 1);
        world_settle(&w);
        REQUIRE_EQ(world_counts(&w).mappings + world_counts(&w).memories, 0);
        raw_vk_read(&w.vk, &vk, 0, words, sizeof words);
        for (size_t k = 0; k < BYTES / 4; k++)
            REQUIRE_EQ(words[k], value);
        timeline_destroy(&w, &gate);
        raw_vk_image_destroy(&w.vk, &vk_image);
        raw_vk_buffer_destroy(&w.vk, &vk);
    }
    world_close(&w);
}
