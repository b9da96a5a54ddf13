/* SPDX-License-Identifier: MIT */
/* Torture of bridges to dma-bufs: an imported one, one that is made, and rows. */
#include "dmabuf_stage.h"
#include "torture.h"

static const dmabuf_rows rows = {61, 33, 4, 64, 512};
static dmabuf_file file;

/* The validation layer asks for properties itself whenever an image is made. */
static void begin(void)
{
    dmabuf_needs_player();
    lib_with_option("--validation=off");
    file = dmabuf_file_make(&rows, 0);
}

static void end(void)
{
    dmabuf_file_done(&file);
}

static void run(void)
{
    static const uint64_t linear[] = {12345, CULV_SOFT_MODIFIER_LINEAR};
    lib_world *w = &torture.w;
    culv_vk_dma_buf_bridge *in = POISON(culv_vk_dma_buf_bridge), *made = in, *plain = in, *own = in;
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    culv_drm_format_info info = culv_drm_format_info_init();
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &rows);
    CUstream stream = torture_open();
    dmabuf_vulkan = lib_vk_desc(w);
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, NULL), true);
    TRY_AGAIN(culv_drm_format_get_info(&dmabuf_vulkan, DRM_XR24, &info), info.num_modifiers == 0);
    REQUIRE_EQ(info.num_modifiers, 2);
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &in),
              in == POISON(culv_vk_dma_buf_bridge));
    d.to_buffer = 1;
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &plain),
              plain == POISON(culv_vk_dma_buf_bridge));
    d.direct = 1;
    w->cu->SoftPlayDmaBufImport(1);
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &own),
              own == POISON(culv_vk_dma_buf_bridge));
    d.direct = d.to_buffer = 0;
    d.handle = (culv_handle){.type = CULV_HANDLE_NONE};
    d.direction = CULV_VK_DMA_BUF_OUT;
    d.modifiers = linear;
    d.num_modifiers = 2;
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &made),
              made == POISON(culv_vk_dma_buf_bridge));
    TRY_AGAIN(culv_vk_dma_buf_bridge_next(in, &(uint64_t){0}, &turn),
              turn.semaphore == VK_NULL_HANDLE);
    REQUIRE_EQ(turn.signal_value, 1);
    DO(culv_vk_dma_buf_bridge_destroy(&in));
    DO(culv_vk_dma_buf_bridge_destroy(&made));
    DO(culv_vk_dma_buf_bridge_destroy(&plain));
    DO(culv_vk_dma_buf_bridge_destroy(&own));
    REQUIRE(in == NULL && made == NULL && plain == NULL && own == NULL);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .end = end, .least = {8, 25, 10}};
TORTURE_CASES("dmabuf", path)
