/* SPDX-License-Identifier: MIT */
/* The bridge to dma-bufs: what it has, and whose turn it is. */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_dma_buf.h"
#include "vulkan/vk_resource.h"

#include <inttypes.h>
#include <string.h>

/* Rows that suit every copy and CUDA's textures: whole texels, and multiples of 64 of them. */
static uint64_t buffer_pitch(const culvi_vk_dma_buf_plan *plan)
{
    return ((uint64_t)plan->d.width + 63) / 64 * 64 * plan->row->block_bytes;
}

/* CUDA's side. */
static culv_result make_target(culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *plan)
{
    const bool in = b->direction == CULV_VK_DMA_BUF_IN;
    if (plan->d.to_buffer) {
        b->info.buffer_pitch = buffer_pitch(plan);
        const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = b->info.buffer_pitch * plan->d.height,
                                         .usage = in ? VK_BUFFER_USAGE_TRANSFER_DST_BIT
                                                     : VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.label = b->label;
        return culv_vk_buffer_create(b->vk, &d, &b->buffer);
    }
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = plan->format,
                                    .extent = {plan->d.width, plan->d.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = in ? VK_IMAGE_USAGE_TRANSFER_DST_BIT
                                                : VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.texels = plan->d.texels;
    d.no_surfaces = plan->d.no_surfaces;
    d.label = b->label;
    return culv_vk_image_create(b->vk, &d, &b->target);
}

static void describe(culv_vk_dma_buf_bridge *b, const culvi_vk_dma_buf_plan *plan)
{
    b->info = culv_vk_dma_buf_info_init();
    b->info.fourcc = plan->d.fourcc;
    b->info.format = plan->format;
    b->info.width = plan->d.width;
    b->info.height = plan->d.height;
    if (!plan->imported) return; /* dma_buf_image.c says the rest */
    b->info.modifier = plan->d.modifier;
    b->info.num_planes = plan->d.num_planes;
    memcpy(b->info.plane_offsets, plan->d.plane_offsets, sizeof b->info.plane_offsets);
    memcpy(b->info.plane_pitches, plan->d.plane_pitches, sizeof b->info.plane_pitches);
}

static void drop(culv_vk_dma_buf_bridge *b)
{
    if (b->timeline != NULL) culvi_semaphore_pair_destroy(&b->timeline->pair, NULL);
    if (b->target != NULL) culvi_pair_destroy(&b->target->pair, NULL);
    if (b->buffer != NULL) culvi_pair_destroy(&b->buffer->pair, NULL);
    culvi_vk_dma_buf_direct_drop(b);
    culvi_vk_dma_buf_image_drop(b);
    culvi_graphics_unref(&b->vk->base);
    culvi_free(b);
}

culv_result culv_vk_dma_buf_bridge_create(culv_vk_device *vk, const culv_vk_dma_buf_desc *desc,
                                          culv_vk_dma_buf_bridge **out)
{
    culvi_vk_dma_buf_plan plan;
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_vk_dma_buf_plan_make(vk, desc, true, &plan);
    if (result == CULV_OK)
        result = culvi_graphics_check_shares(&vk->base, plan.d.label, CULVI_SHARE_CUDAS);
    culv_vk_dma_buf_bridge *b = result == CULV_OK ? culvi_alloc(sizeof *b) : NULL;
    if (b == NULL) {
        culvi_free(plan.modifiers);
        culv_memory_destroy(&plan.direct);
        return result != CULV_OK ? result : culvi_fail_host_memory(voice, plan.d.label);
    }
    memset(b, 0, sizeof *b);
    b->vk = vk;
    b->direction = plan.d.direction;
    b->queue_family = plan.d.queue_family;
    atomic_init(&b->turns, 0);
    culvi_label_set(b->label, plan.d.label);
    culvi_graphics_ref(&vk->base);
    describe(b, &plan);
    culv_vk_semaphore_create_desc timeline = culv_vk_semaphore_create_desc_init();
    timeline.label = b->label;
    if (plan.direct != NULL) {
        result = culvi_vk_dma_buf_map_direct(b, &plan);
    } else {
        result = culvi_vk_dma_buf_image_make(b, &plan);
        if (result == CULV_OK) result = make_target(b, &plan);
    }
    if (result == CULV_OK) result = culv_vk_semaphore_create(vk, &timeline, &b->timeline);
    culvi_free(plan.modifiers);
    if (result != CULV_OK) {
        drop(b);
        return result;
    }
    static const char destroy_call[] = "culv_vk_dma_buf_bridge_destroy";
    culvi_semaphore_pair_set_owner(&b->timeline->pair, destroy_call);
    if (b->target != NULL) culvi_pair_set_owner(&b->target->pair, destroy_call);
    if (b->buffer != NULL) culvi_pair_set_owner(&b->buffer->pair, destroy_call);
    culvi_log(voice, CULV_LOG_INFO,
              "%s is bridged (%s, %" PRIu32 " x %" PRIu32 ", modifier %#" PRIx64 "): %s",
              culvi_named("dma-buf", b->label).text, plan.row->name, b->info.width, b->info.height,
              b->info.modifier,
              b->rows != NULL ? "CUDA has it itself, nothing is copied"
                              : "each frame costs a copy on the GPU");
    *out = b;
    return CULV_OK;
}

void culv_vk_dma_buf_bridge_destroy(culv_vk_dma_buf_bridge **bridge)
{
    if (bridge == NULL || *bridge == NULL) return;
    culv_vk_dma_buf_bridge *mine = *bridge;
    *bridge = NULL;
    drop(mine);
}

/* The sides alternate on one timeline. IN: Vulkan signals the odd values, CUDA the even ones. OUT:
 * Vulkan's first submission signals 1, then CUDA signals the even values and Vulkan the odd
 * ones. */
culv_result culv_vk_dma_buf_bridge_next(culv_vk_dma_buf_bridge *bridge, culv_vk_dma_buf_turn *out)
{
    CULVI_REQUIRE(NULL, bridge);
    const culvi_voice *voice = &bridge->vk->base.device->voice;
    CULVI_REQUIRE(voice, out);
    culv_result result = culvi_struct_check(voice, out, "culv_vk_dma_buf_turn");
    if (result != CULV_OK) return result;
    const uint64_t before = 2 * atomic_fetch_add(&bridge->turns, 1);
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    turn.semaphore = culv_vk_semaphore_handle(bridge->timeline);
    if (bridge->direction == CULV_VK_DMA_BUF_IN) {
        turn.wait_value = before;
        turn.signal_value = turn.cuda_wait_value = before + 1;
        turn.cuda_signal_value = before + 2;
    } else {
        turn.cuda_wait_value = before + 1;
        turn.cuda_signal_value = turn.wait_value = before + 2;
        turn.signal_value = before + 3;
    }
    culvi_struct_write(out, &turn, sizeof turn);
    return CULV_OK;
}

culv_result culv_vk_dma_buf_bridge_get_info(const culv_vk_dma_buf_bridge *bridge,
                                            culv_vk_dma_buf_info *out)
{
    CULVI_REQUIRE(NULL, bridge);
    CULVI_REQUIRE(&bridge->vk->base.device->voice, out);
    culv_result result =
        culvi_struct_check(&bridge->vk->base.device->voice, out, "culv_vk_dma_buf_info");
    if (result != CULV_OK) return result;
    culv_vk_dma_buf_info info = bridge->info;
    info.image = bridge->target;
    info.buffer = bridge->buffer;
    info.timeline = bridge->timeline;
    if (bridge->rows != NULL)
        info.pointer = culv_buffer_pointer(bridge->rows) + info.plane_offsets[0];
    else if (bridge->buffer != NULL)
        info.pointer = culv_shared_buffer_pointer(bridge->buffer);
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

culv_result culv_vk_dma_buf_bridge_export_dup(const culv_vk_dma_buf_bridge *bridge,
                                              culv_handle *out)
{
    CULVI_REQUIRE(NULL, bridge);
    CULVI_REQUIRE(&bridge->vk->base.device->voice, out);
    return culv_handle_dup(&bridge->handle, out);
}
