/* SPDX-License-Identifier: MIT */
/* Bridges to dma-bufs that cannot be: each with its own error, and nothing left. */
#define TEST_GROUP "dmabuf_refused."
#include "dmabuf_stage.h"

#include <unistd.h>

static const dmabuf_rows rows = {61, 33, 4, 64, 512};

static dmabuf_file file;
static int pipe_ends[2];
static const uint64_t linear[] = {CULV_SOFT_MODIFIER_LINEAR};
static const uint64_t useless[] = {CULV_SOFT_MODIFIER_SAMPLED, CULV_SOFT_MODIFIER_REFUSED, 12345};
static const uint64_t imported_only[] = {CULV_SOFT_MODIFIER_TWO_PLANES};

/* Makes a descriptor without a handle of `d`. */
static void made(culv_vk_dma_buf_desc *d, const uint64_t *modifiers, uint32_t count)
{
    d->handle = (culv_handle){.type = CULV_HANDLE_NONE};
    d->direction = CULV_VK_DMA_BUF_OUT;
    d->modifiers = modifiers;
    d->num_modifiers = count;
}

static void spoil(unsigned row, culv_vk_dma_buf_desc *d)
{
    switch (row) {
    case 0: d->struct_size = 0; break;
    case 1: d->fourcc = 0; break;
    case 2: d->format = VK_FORMAT_R8G8B8A8_SRGB; break; /* both */
    case 3: d->fourcc = DRM('C', '8', ' ', ' '); break;
    case 4: d->fourcc = DRM_NV12; break;
    case 5: d->fourcc = DRM('P', '0', '1', '0'); break;
    case 6: d->fourcc = 0, d->format = VK_FORMAT_D32_SFLOAT; break;
    case 7: d->fourcc = 0, d->format = VK_FORMAT_BC1_RGB_UNORM_BLOCK; break;
    case 8: d->fourcc = 0, d->format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM; break;
    case 9: d->fourcc = DRM('R', 'G', '2', '4'); break; /* no CUDA array has it */
    case 10: d->direction = (culv_vk_dma_buf_direction)2; break;
    case 11: d->queue_family = CULV_VK_QUEUE_FAMILY_UNSET; break;
    case 12: d->queue_family = VK_QUEUE_FAMILY_FOREIGN_EXT; break;
    case 13: d->width = 0; break;
    case 14: d->height = 0; break;
    case 15: d->num_planes = 0; break;
    case 16: d->num_planes = 5; break;
    case 17: d->num_planes = 2; break; /* LINEAR has one */
    case 18: d->modifier = UINT64_C(0x00ffffffffffffff); break;
    case 19: d->modifier = 12345; break;
    case 20: d->modifier = CULV_SOFT_MODIFIER_REFUSED; break;
    case 21: d->modifier = CULV_SOFT_MODIFIER_SAMPLED; break;
    case 22: d->modifier = CULV_SOFT_MODIFIER_TWO_PLANES; break; /* one is given */
    case 23: d->plane_pitches[0] = 61 * 4 - 1; break;
    case 24: d->plane_offsets[0] = UINT64_MAX - 5; break;
    case 25: d->plane_pitches[0] = UINT64_MAX / 2; break;
    case 26: d->width = 20000, d->plane_pitches[0] = 80000; break;
    case 27: d->handle.type = CULV_HANDLE_NONE; break; /* with IN */
    case 28: made(d, NULL, 0); break;
    case 29: d->modifiers = linear, d->num_modifiers = 1; break; /* with a handle */
    case 30: made(d, useless, 3); break;
    case 31: made(d, imported_only, 1); break;
    case 32: made(d, linear, 1), d->height = 20000; break;
    case 33: d->handle.type = CULV_HANDLE_OPAQUE_FD; break;
    case 34: d->handle.type = (culv_handle_type)99; break;
    case 35: d->direct = 1; break; /* to an array */
    case 36: made(d, linear, 1), d->direct = d->to_buffer = 1; break;
    case 37: d->direct = d->to_buffer = 1, d->num_planes = 2; break;
    case 38:
        d->direct = d->to_buffer = 1, d->num_planes = 1;
        d->modifier = CULV_SOFT_MODIFIER_TWO_PLANES;
        break;
    /* What only the making sees: */
    case 39: d->handle.value.fd = -1; break;
    case 40: d->handle.value.fd = pipe_ends[0]; break;
    case 41: d->plane_offsets[0] += 4; break; /* the last row does not fit */
    case 42: d->height++; break;
    case 43: d->plane_pitches[0] = 513; break; /* no whole texels: the driver refuses */
    default: FAIL("no row %u", row);
    }
}

static const struct {
    culv_result result;
    culv_reason reason;
} errors[] = {
    {CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE}, /* 10 */
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_EXTENT},
    {CULV_ERROR_INVALID, CULV_REASON_EXTENT},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_MODIFIER},
    {CULV_ERROR_INVALID, CULV_REASON_MODIFIER},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER}, /* 20 */
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER},
    {CULV_ERROR_INVALID, CULV_REASON_MODIFIER},
    {CULV_ERROR_INVALID, CULV_REASON_RANGE},
    {CULV_ERROR_INVALID, CULV_REASON_RANGE},
    {CULV_ERROR_INVALID, CULV_REASON_RANGE},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_MODIFIER}, /* 30 */
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE},
    {CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT},
    {CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE},
    {CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_VALUE},
    {CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD},
    {CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND},
    {CULV_ERROR_INVALID, CULV_REASON_SIZE},
    {CULV_ERROR_INVALID, CULV_REASON_SIZE},
    {CULV_ERROR_INVALID, CULV_REASON_RANGE},
};
enum { ROWS = sizeof errors / sizeof errors[0], CHECKED_ROWS = 39 };

DMABUF_CASE(wrong_descriptors, .title = "dmabuf_refused.descriptors", .own = true)
{
    file = dmabuf_file_make(&rows, 0);
    REQUIRE(pipe(pipe_ends) == 0);
    const size_t fds = test_open_fds();
    culv_device *device = s->w.device;
    culv_vk_device *vk = s->w.attachment;
    culv_vk_dma_buf_bridge *out = NULL;
    for (unsigned i = 0; i < ROWS; i++) {
        culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &rows);
        spoil(i, &d);
        printf("row %u\n", i); /* what failed, if something does */
        LIB_REFUSES_AS(out, culv_vk_dma_buf_bridge_create(device, vk, &d, &out), errors[i].result,
                       errors[i].reason);
        if (i < CHECKED_ROWS)
            LIB_FAILS(culv_vk_dma_buf_bridge_create(device, vk, &d, NULL), errors[i].result,
                      errors[i].reason);
        else
            LIB_OK(culv_vk_dma_buf_bridge_create(device, vk, &d, NULL));
        REQUIRE_EQ(test_open_fds(), fds);
    }
    const culv_vk_dma_buf_desc right = dmabuf_describe(file.fd, DRM_XR24, &rows);
    LIB_OK(culv_vk_dma_buf_bridge_create(device, vk, &right, NULL));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    dmabuf_file_done(&file);
}

/* The plain ones are library-core'. */
DMABUF_CASE(null_arguments, .title = "dmabuf_refused.null", .own = true)
{
    file = dmabuf_file_make(&rows, 0);
    culv_device *device = s->w.device;
    culv_vk_device *vk = s->w.attachment;
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &rows);
    culv_vk_dma_buf_bridge *bridge = NULL, *none;
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    culv_vk_dma_buf_info info = culv_vk_dma_buf_info_init();
    culv_drm_format_info drm = culv_drm_format_info_init();
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_OK(culv_vk_dma_buf_bridge_create(device, vk, &d, &bridge));
    d.vulkan = NULL;
    LIB_REFUSES(none, culv_vk_dma_buf_bridge_create(device, vk, &d, &none), INVALID, NULL_ARGUMENT,
                "desc->vulkan is NULL");
#define NO(call) LIB_INVALID(call, NULL_ARGUMENT)
    NO(culv_vk_dma_buf_bridge_record(bridge, NULL, 0));
    NO(culv_vk_dma_buf_bridge_next(bridge, NULL, NULL));
    NO(culv_vk_dma_buf_bridge_get_info(bridge, NULL));
    NO(culv_vk_dma_buf_bridge_move_fence(bridge, VK_NULL_HANDLE, 0));
    NO(culv_drm_format_get_info(NULL, DRM_XR24, NULL));
#undef NO
    turn.struct_size = info.struct_size = drm.struct_size = 0;
    LIB_INVALID(culv_vk_dma_buf_bridge_next(bridge, NULL, &turn), STRUCT_SIZE);
    LIB_INVALID(culv_vk_dma_buf_bridge_get_info(bridge, &info), STRUCT_SIZE);
    LIB_INVALID(culv_drm_format_get_info(NULL, DRM_XR24, &drm), STRUCT_SIZE);
    LIB_OK(culv_vk_dma_buf_bridge_record(bridge, commands, 1)); /* IN: nothing */
    raw_vk_submit(&s->w.vk, commands, NULL);
    culv_vk_dma_buf_bridge_destroy(&bridge);
    dmabuf_file_done(&file);
}

/* Machines that lack something say what. */
static void missing(const char *hidden, const char *function, const char *says)
{
    lib_world w;
    dmabuf_needs_player();
    lib_open_vulkan(&w);
    lib_lying = (lib_lies){.hides = hidden, .missing = function};
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &w.device));
    culv_vk_device_desc a = lib_vk_desc(&w);
    a.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(w.device, &a, &w.attachment));
    w.context = culv_device_context(w.device);
    dmabuf_vulkan = a;
    file = dmabuf_file_make(&rows, 0);
    const culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &rows);
    culv_vk_dma_buf_bridge *out = NULL;
    culv_drm_format_info info = culv_drm_format_info_init();
    LIB_ERROR(culv_vk_dma_buf_bridge_create(w.device, w.attachment, &d, NULL), UNSUPPORTED,
              EXTENSION_MISSING, says);
    LIB_REFUSES(out, culv_vk_dma_buf_bridge_create(w.device, w.attachment, &d, &out), UNSUPPORTED,
                EXTENSION_MISSING);
    LIB_ERROR(culv_drm_format_get_info(&a, DRM_XR24, &info), UNSUPPORTED, EXTENSION_MISSING);
    dmabuf_file_done(&file);
    lib_close(&w);
}

TEST_AS(no_dma_buf,
        missing("VK_EXT_external_memory_dma_buf", NULL, "has no VK_EXT_external_memory_dma_buf"),
        .own = true)
TEST_AS(no_modifiers,
        missing("VK_EXT_image_drm_format_modifier", NULL,
                "has no VK_EXT_image_drm_format_modifier"),
        .own = true)
TEST_AS(no_foreign,
        missing("VK_EXT_queue_family_foreign", NULL, "has no VK_EXT_queue_family_foreign"),
        .own = true)
TEST_AS(not_enabled,
        missing(NULL, "vkGetImageDrmFormatModifierPropertiesEXT",
                "created without VK_EXT_image_drm_format_modifier"),
        .own = true)
