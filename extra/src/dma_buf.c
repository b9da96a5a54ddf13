/* SPDX-License-Identifier: MIT */
/* The bridge to dma-bufs: what it has, and whose turn it is. */
#include "dma_buf.h"

/* CUDA's side. */
static culv_result make_target(culv_vk_dma_buf_bridge *b)
{
    const bool in = b->d.direction == CULV_VK_DMA_BUF_IN;
    if (b->d.to_buffer) {
        /* Rows that suit every copy and CUDA's textures: multiples of 64 texels. */
        b->info.buffer_pitch = ((uint64_t)b->d.width + 63) / 64 * 64 * b->format.bytes_per_block;
        const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = b->info.buffer_pitch * b->d.height,
                                         .usage = in ? VK_BUFFER_USAGE_TRANSFER_DST_BIT
                                                     : VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.label = b->label;
        culv_result result = culv_vk_buffer_create(b->attachment, &d, &b->buffer);
        if (result == CULV_OK) b->info.pointer = culv_shared_buffer_pointer(b->buffer);
        return result;
    }
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = b->info.format,
                                    .extent = {b->d.width, b->d.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = in ? VK_IMAGE_USAGE_TRANSFER_DST_BIT
                                                : VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.texels = b->d.texels;
    d.no_surfaces = b->d.no_surfaces;
    d.label = b->label;
    return culv_vk_image_create(b->attachment, &d, &b->target);
}

static void describe(culv_vk_dma_buf_bridge *b)
{
    b->info = culv_vk_dma_buf_info_init();
    b->info.fourcc = b->d.fourcc;
    b->info.format = (VkFormat)b->format.vk_format;
    b->info.width = b->d.width;
    b->info.height = b->d.height;
    if (!b->imported) return; /* dma_buf_image.c says the rest */
    b->info.modifier = b->d.modifier;
    b->info.num_planes = b->d.num_planes;
    memcpy(b->info.plane_offsets, b->d.plane_offsets, sizeof b->info.plane_offsets);
    memcpy(b->info.plane_pitches, b->d.plane_pitches, sizeof b->info.plane_pitches);
}

static culv_result make(culv_vk_dma_buf_bridge *b)
{
    culv_vk_semaphore_create_desc timeline = culv_vk_semaphore_create_desc_init();
    timeline.label = b->label;
    describe(b);
    CULVI_X_TRY(culvi_dma_buf_image_make(b));
    CULVI_X_TRY(make_target(b));
    CULVI_X_TRY(culv_vk_semaphore_create(b->attachment, &timeline, &b->timeline));
    b->info.image = b->target;
    b->info.buffer = b->buffer;
    b->info.timeline = b->timeline;
    return CULV_OK;
}

static void drop(culv_vk_dma_buf_bridge *b)
{
    if (b == NULL) return;
    culvi_dma_buf_image_drop(b);
    (void)culv_shared_image_destroy(&b->target, NULL);
    (void)culv_shared_buffer_destroy(&b->buffer, NULL);
    (void)culv_shared_semaphore_destroy(&b->timeline, NULL); /* the device may go with it */
    culvi_x_free(b->modifiers);
    culvi_x_free(b);
}

static culv_result read(culv_vk_dma_buf_bridge *b, const culv_vk_dma_buf_desc *desc)
{
    CULVI_X_TRY(culvi_x_desc_read(b->device, &b->d, sizeof b->d, desc, "culv_vk_dma_buf_desc"));
    if (b->d.vulkan == NULL)
        return culvi_x_fail_null(b->device, "culv_vk_dma_buf_bridge_create", "desc->vulkan");
    CULVI_X_TRY(culvi_x_vk_read(&b->vk, b->device, b->d.vulkan, "culv_vk_dma_buf_desc.vulkan"));
    culvi_x_label_set(b->label, b->d.label);
    return culvi_dma_buf_check(b);
}

culv_result culv_vk_dma_buf_bridge_create(culv_device *device, culv_vk_device *vk,
                                          const culv_vk_dma_buf_desc *desc,
                                          culv_vk_dma_buf_bridge **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, vk, desc);
    CULVI_X_NEW(culv_vk_dma_buf_bridge, b, device, NULL);
    b->device = device;
    b->attachment = vk;
    culv_result result = read(b, desc);
    if (result == CULV_OK && out != NULL) result = make(b);
    if (result == CULV_OK && out != NULL)
        *out = b;
    else
        drop(b);
    return result;
}

void culv_vk_dma_buf_bridge_destroy(culv_vk_dma_buf_bridge **bridge)
{
    drop(culvi_x_take(bridge));
}

/* The sides take turns on one timeline. IN: Vulkan signals the odd values, CUDA the even ones. OUT:
 * Vulkan's first submission signals 1, then CUDA signals the even values, Vulkan the odd ones. */
culv_result culv_vk_dma_buf_bridge_next(culv_vk_dma_buf_bridge *bridge, const uint64_t *timeout,
                                        culv_vk_dma_buf_turn *out)
{
    CULVI_X_REQUIRE(NULL, bridge);
    CULVI_X_TRY(culvi_x_out_check(bridge->device, __func__, out, "culv_vk_dma_buf_turn"));
    if (timeout != NULL) CULVI_X_TRY(culvi_dma_buf_wait(bridge, *timeout));
    const uint64_t before = 2 * atomic_fetch_add(&bridge->turns, 1);
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    turn.semaphore = culv_vk_semaphore_handle(bridge->timeline);
    if (bridge->d.direction == CULV_VK_DMA_BUF_IN) {
        turn.wait_value = before;
        turn.signal_value = turn.cuda_wait_value = before + 1;
        turn.cuda_signal_value = before + 2;
    } else {
        turn.cuda_wait_value = before + 1;
        turn.cuda_signal_value = turn.wait_value = before + 2;
        turn.signal_value = before + 3;
    }
    culvi_x_struct_write(out, &turn, sizeof turn);
    return CULV_OK;
}

culv_result culv_vk_dma_buf_bridge_get_info(const culv_vk_dma_buf_bridge *bridge,
                                            culv_vk_dma_buf_info *out)
{
    CULVI_X_REQUIRE(NULL, bridge);
    culv_result result = culvi_x_out_check(bridge->device, __func__, out, "culv_vk_dma_buf_info");
    if (result == CULV_OK) culvi_x_struct_write(out, &bridge->info, sizeof bridge->info);
    return result;
}
