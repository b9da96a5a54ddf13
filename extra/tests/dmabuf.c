/* SPDX-License-Identifier: MIT */
/* Bridges to dma-bufs: the data both ways, by rows at odd places; and those that
 * cannot be, each with its own error, and nothing left. */
#define TEST_GROUP "dmabuf."
#include "dmabuf_stage.h"

#include <sys/mman.h>
#include <unistd.h>

/* 253 x 127 with the rows 60 bytes apart, not at the start. */
static const dmabuf_rows odd = {253, 127, 4, 4100, 253 * 4 + 60};

/* A camera's or compositor's frames, one after the other. */
DMABUF_CASE(in_frames, .title = "dmabuf.in", .own = true)
{
    dmabuf_file file = dmabuf_file_make(&odd, 0);
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &odd);
    culv_vk_dma_buf_bridge *bridge = NULL;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, NULL));
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
    REQUIRE(dmabuf_info(bridge).buffer == NULL);
    for (uint32_t frame = 0; frame < 4; frame++) {
        dmabuf_fill(&file, &odd, frame);
        dmabuf_in(s, bridge, raw_vk_begin(&s->w.vk, 0), &odd, frame);
        dmabuf_require(&file, &odd, frame);
    }
    raw_vk_idle(&s->w.vk);
    culv_vk_dma_buf_bridge_destroy(&bridge);
    REQUIRE(bridge == NULL);
    culv_vk_dma_buf_bridge_destroy(&bridge);
    culv_vk_dma_buf_bridge_destroy(NULL);
    dmabuf_file_done(&file);
}

/* Into a dma-buf of others: what lies between its rows stays. */
DMABUF_CASE(out_frames, .title = "dmabuf.out", .own = true)
{
    dmabuf_file file = dmabuf_file_make(&odd, 100);
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_AR24, &odd);
    culv_vk_dma_buf_bridge *bridge = NULL;
    d.direction = CULV_VK_DMA_BUF_OUT;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
    dmabuf_first(s, bridge);
    for (uint32_t frame = 0; frame < 4; frame++) {
        dmabuf_out(s, bridge, &odd, frame);
        dmabuf_require(&file, &odd, frame);
    }
    culv_vk_dma_buf_bridge_destroy(&bridge);
    dmabuf_file_done(&file);
}

/* Culvert makes the dma-buf, and a consumer maps what was exported. */
DMABUF_CASE(out_made, .title = "dmabuf.made", .own = true)
{
    static const uint64_t modifiers[] = {CULV_SOFT_MODIFIER_SAMPLED, CULV_SOFT_MODIFIER_REFUSED,
                                         CULV_SOFT_MODIFIER_TWO_PLANES, CULV_SOFT_MODIFIER_LINEAR};
    culv_vk_dma_buf_desc d = culv_vk_dma_buf_desc_init();
    culv_vk_dma_buf_bridge *bridge = NULL;
    culv_vk_dma_buf_info info = culv_vk_dma_buf_info_init();
    culv_handle handle;
    d.vulkan = &dmabuf_vulkan;
    d.direction = CULV_VK_DMA_BUF_OUT;
    d.fourcc = DRM_AR24;
    d.width = odd.width;
    d.height = odd.height;
    d.modifiers = modifiers;
    d.num_modifiers = 4;
    d.queue_family = 0;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
    LIB_OK(culv_vk_dma_buf_bridge_get_info(bridge, &info));
    REQUIRE_EQ(info.modifier, CULV_SOFT_MODIFIER_LINEAR);
    REQUIRE_EQ(info.fourcc, DRM_AR24);
    REQUIRE_EQ(info.format, VK_FORMAT_B8G8R8A8_UNORM);
    REQUIRE_EQ(info.num_planes, 1);
    REQUIRE_EQ(info.width, odd.width);
    REQUIRE_EQ(info.height, odd.height);
    REQUIRE(info.plane_pitches[0] > (uint64_t)odd.width * 4); /* the player rounds it up */
    LIB_OK(culv_handle_dup(&info.handle, &handle));
    REQUIRE_EQ(handle.type, CULV_HANDLE_DMA_BUF_FD);
    const dmabuf_rows rows = {odd.width, odd.height, 4, (size_t)info.plane_offsets[0],
                              (size_t)info.plane_pitches[0]};
    dmabuf_file file = {.fd = handle.value.fd,
                        .size = rows.offset + rows.pitch * (rows.height - 1) + rows.width * 4u};
    file.bytes = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    REQUIRE(file.bytes != MAP_FAILED);
    memset(file.bytes, 0xee, file.size);
    dmabuf_first(s, bridge);
    for (uint32_t frame = 0; frame < 3; frame++) {
        dmabuf_out(s, bridge, &rows, frame);
        dmabuf_require(&file, &rows, frame);
    }
    culv_vk_dma_buf_bridge_destroy(&bridge);
    dmabuf_require(&file, &rows, 2); /* the other side keeps it */
    dmabuf_file_done(&file);
}

static const struct {
    uint32_t fourcc;
    uint32_t texel;
    culv_format format;
    bool ignores_alpha;
} formats[] = {
    {DRM_XR24, 4, CULV_FORMAT_B8G8R8A8_UNORM, true},
    {DRM_AR24, 4, CULV_FORMAT_B8G8R8A8_UNORM, false},
    {DRM('X', 'B', '2', '4'), 4, CULV_FORMAT_R8G8B8A8_UNORM, true},
    {DRM('A', 'B', '2', '4'), 4, CULV_FORMAT_R8G8B8A8_UNORM, false},
    {DRM('X', 'R', '3', '0'), 4, CULV_FORMAT_A2R10G10B10_UNORM_PACK32, true},
    {DRM('A', 'R', '3', '0'), 4, CULV_FORMAT_A2R10G10B10_UNORM_PACK32, false},
    {DRM('X', 'B', '3', '0'), 4, CULV_FORMAT_A2B10G10R10_UNORM_PACK32, true},
    {DRM('A', 'B', '3', '0'), 4, CULV_FORMAT_A2B10G10R10_UNORM_PACK32, false},
    {DRM('X', 'B', '4', 'H'), 8, CULV_FORMAT_R16G16B16A16_SFLOAT, true},
    {DRM('A', 'B', '4', 'H'), 8, CULV_FORMAT_R16G16B16A16_SFLOAT, false},
    {DRM('X', 'B', '4', '8'), 8, CULV_FORMAT_R16G16B16A16_UNORM, true},
    {DRM('A', 'B', '4', '8'), 8, CULV_FORMAT_R16G16B16A16_UNORM, false},
    {DRM('R', 'G', '1', '6'), 2, CULV_FORMAT_R5G6B5_UNORM_PACK16, false},
    {DRM('R', 'G', '2', '4'), 3, CULV_FORMAT_B8G8R8_UNORM, false},
    {DRM('B', 'G', '2', '4'), 3, CULV_FORMAT_R8G8B8_UNORM, false},
    {DRM('R', '8', ' ', ' '), 1, CULV_FORMAT_R8_UNORM, false},
    {DRM('G', 'R', '8', '8'), 2, CULV_FORMAT_R8G8_UNORM, false},
    {DRM('R', '1', '6', ' '), 2, CULV_FORMAT_R16_UNORM, false},
    {DRM('G', 'R', '3', '2'), 4, CULV_FORMAT_R16G16_UNORM, false},
};

/* In and out with each format: to a CUDA array where one has it, to rows in any case. */
static void one_format(dmabuf_stage *s, uint32_t fourcc, uint32_t texel, bool to_buffer)
{
    const dmabuf_rows rows = {61, 33, texel, texel * 3u, 61 * texel + texel * 5u};
    dmabuf_file file = dmabuf_file_make(&rows, 0);
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, fourcc, &rows);
    culv_vk_dma_buf_bridge *in = NULL, *out = NULL;
    culv_vk_dma_buf_info info = culv_vk_dma_buf_info_init();
    d.to_buffer = to_buffer;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &in));
    d.direction = CULV_VK_DMA_BUF_OUT;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &out));
    LIB_OK(culv_vk_dma_buf_bridge_get_info(in, &info));
    REQUIRE_EQ(info.buffer_pitch, to_buffer ? 64u * texel : 0u);
    REQUIRE((info.image == NULL) == to_buffer);
    REQUIRE((info.buffer != NULL) == to_buffer);
    dmabuf_fill(&file, &rows, 1);
    dmabuf_in(s, in, raw_vk_begin(&s->w.vk, 0), &rows, 1);
    dmabuf_first(s, out);
    dmabuf_out(s, out, &rows, 2);
    dmabuf_require(&file, &rows, 2);
    raw_vk_idle(&s->w.vk);
    culv_vk_dma_buf_bridge_destroy(&in);
    culv_vk_dma_buf_bridge_destroy(&out);
    dmabuf_file_done(&file);
}

DMABUF_CASE(all_formats, .title = "dmabuf.formats", .own = true)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        culv_drm_format_info drm = culv_drm_format_info_init();
        culv_format_info cuda = culv_format_info_init();
        LIB_OK(culv_drm_format_get_info(NULL, formats[i].fourcc, &drm));
        REQUIRE_EQ(drm.fourcc, formats[i].fourcc);
        REQUIRE_EQ(drm.format, formats[i].format);
        REQUIRE_EQ(drm.ignores_alpha != 0, formats[i].ignores_alpha);
        REQUIRE_EQ(drm.planes, 1);
        LIB_OK(culv_format_get_info(drm.format, &cuda));
        one_format(s, formats[i].fourcc, formats[i].texel, true);
        if (cuda.mapped) one_format(s, formats[i].fourcc, formats[i].texel, false);
    }
}

/* NV12: a bridge for each plane of one dma-buf, whose planes lie one behind the other. */
DMABUF_CASE(two_planes, .own = true)
{
    culv_drm_format_info nv12 = culv_drm_format_info_init();
    LIB_OK(culv_drm_format_get_info(NULL, DRM_NV12, &nv12));
    REQUIRE_EQ(nv12.planes, 2);
    REQUIRE_EQ(nv12.chroma_across, 2);
    REQUIRE_EQ(nv12.chroma_down, 2);
    REQUIRE_EQ(nv12.format, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM);
    const dmabuf_rows luma = {254, 126, 1, 32, 320};
    const dmabuf_rows chroma = {254 / 2, 126 / 2, 2, 32 + 320 * 126 + 64, 320};
    dmabuf_file file = dmabuf_file_make(&chroma, 0);
    culv_vk_dma_buf_bridge *planes[2] = {NULL, NULL};
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, nv12.plane_fourccs[0], &luma);
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &planes[0]));
    d = dmabuf_describe(file.fd, nv12.plane_fourccs[1], &chroma);
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &planes[1]));
    for (uint32_t frame = 0; frame < 2; frame++) {
        dmabuf_fill(&file, &luma, frame);
        dmabuf_fill(&file, &chroma, frame + 10);
        dmabuf_in(s, planes[0], raw_vk_begin(&s->w.vk, 0), &luma, frame);
        dmabuf_in(s, planes[1], raw_vk_begin(&s->w.vk, 0), &chroma, frame + 10);
    }
    raw_vk_idle(&s->w.vk);
    culv_vk_dma_buf_bridge_destroy(&planes[0]);
    culv_vk_dma_buf_bridge_destroy(&planes[1]);
    dmabuf_file_done(&file);
}

/* A modifier with a second memory plane, as compression has. */
DMABUF_CASE(memory_planes, .own = true)
{
    dmabuf_file file = dmabuf_file_make(&odd, 4096);
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &odd);
    culv_vk_dma_buf_bridge *bridge = NULL;
    d.modifier = CULV_SOFT_MODIFIER_TWO_PLANES;
    d.num_planes = 2;
    d.plane_offsets[1] = file.size - 4096;
    d.plane_pitches[1] = 4096;
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
    dmabuf_fill(&file, &odd, 3);
    dmabuf_in(s, bridge, raw_vk_begin(&s->w.vk, 0), &odd, 3);
    raw_vk_idle(&s->w.vk);
    culv_vk_dma_buf_bridge_destroy(&bridge);
    dmabuf_file_done(&file);
}

DMABUF_CASE(modifiers, .own = true)
{
    static const char *const names[] = {CULV_VK_DMA_BUF_EXTENSIONS};
    culv_drm_format_info info = culv_drm_format_info_init();
    const culv_vk_device_desc vulkan = lib_vk_desc(&s->w);
    REQUIRE_EQ(sizeof names / sizeof names[0], 4);
    LIB_OK(culv_drm_format_get_info(&vulkan, DRM_XR24, &info));
    REQUIRE_EQ(info.num_modifiers, 2);
    REQUIRE_EQ(info.modifiers[0].modifier, CULV_SOFT_MODIFIER_LINEAR);
    REQUIRE_EQ(info.modifiers[0].planes, 1);
    REQUIRE_EQ(info.modifiers[1].modifier, CULV_SOFT_MODIFIER_TWO_PLANES);
    REQUIRE_EQ(info.modifiers[1].planes, 2);
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(info.modifiers[i].directions,
                   1u << CULV_VK_DMA_BUF_IN | 1u << CULV_VK_DMA_BUF_OUT);
    info.num_modifiers = 77;
    LIB_ERROR(culv_drm_format_get_info(&vulkan, 1, &info), UNSUPPORTED, FORMAT);
    REQUIRE_EQ(info.num_modifiers, 77);
    LIB_OK(culv_drm_format_get_info(NULL, DRM_XR24, &info));
    REQUIRE_EQ(info.num_modifiers, 0);
}

/* The caller's fd is borrowed, and nothing of the bridge is left. */
DMABUF_CASE(files_counted, .own = true)
{
    dmabuf_file file = dmabuf_file_make(&odd, 0);
    const culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &odd);
    culv_vk_dma_buf_bridge *bridge = NULL;
    culv_handle again;
    lib_fd watched = lib_fd_watch(file.fd);
    for (uint32_t round = 0; round < 5; round++) {
        const size_t before = test_open_fds();
        LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
        const culv_vk_dma_buf_info info = dmabuf_info(bridge);
        LIB_OK(culv_handle_dup(&info.handle, &again));
        lib_fd_require_untouched(&watched);
        culv_vk_dma_buf_bridge_destroy(&bridge);
        culv_handle_close(&again);
        lib_settle(&s->w);
        REQUIRE_EQ(test_open_fds(), before);
    }
    lib_fd_done(&watched, false);
    dmabuf_file_done(&file);
}

/* What is refused ------------------------------------------------------------------------------ */

#undef TEST_GROUP
#define TEST_GROUP "dmabuf_refused."

static const dmabuf_rows plain = {61, 33, 4, 64, 512};

static dmabuf_file file;
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

/* It is refused, by the making and, unless only that sees it, by the check alone. */
static void refuse(const dmabuf_stage *s, const culv_vk_dma_buf_desc *d, culv_result class,
                   culv_reason reason, bool checks)
{
    const size_t fds = test_open_fds();
    culv_vk_dma_buf_bridge *out;
    LIB_REFUSES_AS(out, culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, d, &out), class,
                   reason);
    if (checks)
        LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, d, NULL));
    else
        LIB_FAILS(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, d, NULL), class,
                  reason);
    REQUIRE_EQ(test_open_fds(), fds);
}

DMABUF_CASE(wrong_descriptors, .title = "dmabuf_refused.descriptors", .own = true)
{
    bool checks = false;
    int pipe_ends[2];
    file = dmabuf_file_make(&plain, 0);
    REQUIRE(pipe(pipe_ends) == 0);
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &plain);
#define ROW(change, class, why)                                                                    \
    SPOILT(d, change, refuse(s, &d, CULV_ERROR_##class, CULV_REASON_##why, checks))
    ROW(d.struct_size = 0, INVALID, STRUCT_SIZE);
    ROW(d.fourcc = 0, INVALID, VALUE);
    ROW(d.format = VK_FORMAT_R8G8B8A8_SRGB, INVALID, VALUE); /* both */
    ROW((d.fourcc = DRM('C', '8', ' ', ' ')), UNSUPPORTED, FORMAT);
    ROW(d.fourcc = DRM_NV12, UNSUPPORTED, FORMAT);
    ROW((d.fourcc = DRM('P', '0', '1', '0')), UNSUPPORTED, FORMAT);
    ROW((d.fourcc = 0, d.format = VK_FORMAT_D32_SFLOAT), UNSUPPORTED, FORMAT);
    ROW((d.fourcc = 0, d.format = VK_FORMAT_BC1_RGB_UNORM_BLOCK), UNSUPPORTED, FORMAT);
    ROW((d.fourcc = 0, d.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM), UNSUPPORTED, FORMAT);
    ROW((d.fourcc = DRM('R', 'G', '2', '4')), UNSUPPORTED, FORMAT); /* no CUDA array has it */
    ROW(d.direction = (culv_vk_dma_buf_direction)2, INVALID, VALUE);
    ROW(d.queue_family = CULV_VK_QUEUE_FAMILY_UNSET, INVALID, VALUE);
    ROW(d.queue_family = VK_QUEUE_FAMILY_FOREIGN_EXT, INVALID, VALUE);
    ROW(d.width = 0, INVALID, EXTENT);
    ROW(d.height = 0, INVALID, EXTENT);
    ROW(d.num_planes = 0, INVALID, VALUE);
    ROW(d.num_planes = 5, INVALID, VALUE);
    ROW(d.num_planes = 2, INVALID, MODIFIER); /* LINEAR has one */
    ROW(d.modifier = UINT64_C(0x00ffffffffffffff), INVALID, MODIFIER);
    ROW(d.modifier = 12345, UNSUPPORTED, MODIFIER);
    ROW(d.modifier = CULV_SOFT_MODIFIER_REFUSED, UNSUPPORTED, MODIFIER);
    ROW(d.modifier = CULV_SOFT_MODIFIER_SAMPLED, UNSUPPORTED, MODIFIER);
    ROW(d.modifier = CULV_SOFT_MODIFIER_TWO_PLANES, INVALID, MODIFIER); /* one is given */
    ROW(d.plane_pitches[0] = 61 * 4 - 1, INVALID, RANGE);
    ROW(d.plane_offsets[0] = UINT64_MAX - 5, INVALID, RANGE);
    ROW(d.plane_pitches[0] = UINT64_MAX / 2, INVALID, RANGE);
    ROW((d.width = 20000, d.plane_pitches[0] = 80000), UNSUPPORTED, EXTENT);
    ROW(d.handle.type = CULV_HANDLE_NONE, INVALID, VALUE); /* with IN */
    ROW((made(&d, NULL, 0)), INVALID, VALUE);
    ROW((d.modifiers = linear, d.num_modifiers = 1), INVALID, VALUE); /* with a handle */
    ROW((made(&d, useless, 3)), UNSUPPORTED, MODIFIER);
    ROW((made(&d, imported_only, 1)), UNSUPPORTED, NOT_EXPORTABLE);
    ROW((made(&d, linear, 1), d.height = 20000), UNSUPPORTED, EXTENT);
    ROW(d.handle.type = CULV_HANDLE_OPAQUE_FD, INVALID, HANDLE_TYPE);
    ROW(d.handle.type = (culv_handle_type)99, INVALID, HANDLE_TYPE);
    /* What only the making sees: */
    checks = true;
    ROW(d.handle.value.fd = -1, INVALID, HANDLE_BAD);
    ROW(d.handle.value.fd = pipe_ends[0], INVALID, HANDLE_KIND);
    ROW(d.plane_offsets[0] += 4, INVALID, SIZE); /* the last row does not fit */
    ROW(d.height++, INVALID, SIZE);
    ROW(d.plane_pitches[0] = 513, INVALID, RANGE); /* no whole texels: the driver refuses */
#undef ROW
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, NULL));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    dmabuf_file_done(&file);
}

/* The plain ones are library-core's. */
DMABUF_CASE(null_arguments, .title = "dmabuf_refused.null", .own = true)
{
    file = dmabuf_file_make(&plain, 0);
    culv_device *device = s->w.device;
    culv_vk_device *vk = s->w.attachment;
    culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &plain);
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
    lib_lying = (lib_lies){.hides = hidden, .missing = function};
    dmabuf_open_by(&w, lib_lying_loader);
    file = dmabuf_file_make(&plain, 0);
    const culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &plain);
    culv_vk_dma_buf_bridge *out = NULL;
    culv_drm_format_info info = culv_drm_format_info_init();
    LIB_ERROR(culv_vk_dma_buf_bridge_create(w.device, w.attachment, &d, NULL), UNSUPPORTED,
              EXTENSION_MISSING, says);
    LIB_REFUSES(out, culv_vk_dma_buf_bridge_create(w.device, w.attachment, &d, &out), UNSUPPORTED,
                EXTENSION_MISSING);
    LIB_ERROR(culv_drm_format_get_info(&dmabuf_vulkan, DRM_XR24, &info), UNSUPPORTED,
              EXTENSION_MISSING);
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
