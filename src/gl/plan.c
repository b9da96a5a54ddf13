/* SPDX-License-Identifier: MIT */
/* The gate: whether a path has a buffer or a texture, and how CUDA maps it. */
#include "base/attempt.h"
#include "core/image_check.h"
#include "gl/gl_object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* GLenums of client formats and types. */
enum {
    RED = 0x1903,
    RG = 0x8227,
    RGB = 0x1907,
    RGBA = 0x1908,
    BGRA = 0x80E1,
    RED_INTEGER = 0x8D94,
    RG_INTEGER = 0x8228,
    RGB_INTEGER = 0x8D98,
    RGBA_INTEGER = 0x8D99,
    DEPTH_COMPONENT = 0x1902,
    STENCIL_INDEX = 0x1901,
    BYTE = 0x1400,
    UNSIGNED_BYTE = 0x1401,
    SHORT = 0x1402,
    UNSIGNED_SHORT = 0x1403,
    INT = 0x1404,
    UNSIGNED_INT = 0x1405,
    FLOAT = 0x1406,
    HALF_FLOAT = 0x140B
};

static const struct packed {
    uint32_t internal_format, format, type;
} packed_formats[] = {
    {0x8059, RGBA, 0x8368},         /* RGB10_A2: 2_10_10_10_REV */
    {0x906F, RGBA_INTEGER, 0x8368}, /* RGB10_A2UI */
    {0x8C3A, RGB, 0x8C3B},          /* R11F_G11F_B10F: 10F_11F_11F_REV */
    {0x8C3D, RGB, 0x8C3E},          /* RGB9_E5: 5_9_9_9_REV */
    {0x8D62, RGB, 0x8363},          /* RGB565: 5_6_5 */
    {0x8057, BGRA, 0x8366},         /* RGB5_A1: 1_5_5_5_REV */
    /* CUDA maps no formats of three channels, so the format table does not describe them. */
    {0x8051, RGB, UNSIGNED_BYTE},          /* RGB8 */
    {0x8C41, RGB, UNSIGNED_BYTE},          /* SRGB8 */
    {0x8054, RGB, UNSIGNED_SHORT},         /* RGB16 */
    {0x881B, RGB, HALF_FLOAT},             /* RGB16F */
    {0x8815, RGB, FLOAT},                  /* RGB32F */
    {0x8D7D, RGB_INTEGER, UNSIGNED_BYTE},  /* RGB8UI */
    {0x8D77, RGB_INTEGER, UNSIGNED_SHORT}, /* RGB16UI */
    {0x8D71, RGB_INTEGER, UNSIGNED_INT},   /* RGB32UI */
    {0x8D8F, RGB_INTEGER, BYTE},           /* RGB8I */
    {0x8D89, RGB_INTEGER, SHORT},          /* RGB16I */
    {0x8D83, RGB_INTEGER, INT},            /* RGB32I */
};

/* 0: there is none of this size. */
static uint32_t scalar_type(culv_texel_kind kind, uint32_t bytes)
{
    static const uint32_t unsigned_types[] = {0, UNSIGNED_BYTE, UNSIGNED_SHORT, 0, UNSIGNED_INT};
    static const uint32_t signed_types[] = {0, BYTE, SHORT, 0, INT};
    static const uint32_t float_types[] = {0, 0, HALF_FLOAT, 0, FLOAT};
    if (bytes > 4) return 0;
    switch (kind) {
    case CULV_TEXEL_KIND_UINT:
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SRGB: return unsigned_types[bytes];
    case CULV_TEXEL_KIND_SINT:
    case CULV_TEXEL_KIND_SNORM: return signed_types[bytes];
    case CULV_TEXEL_KIND_FLOAT: return float_types[bytes];
    default: return 0;
    }
}

bool culvi_gl_texel_format(const culvi_format *row, uint32_t internal_format, uint32_t *format,
                           uint32_t *type)
{
    static const uint32_t floats[] = {0, RED, RG, RGB, RGBA};
    static const uint32_t integers[] = {0, RED_INTEGER, RG_INTEGER, RGB_INTEGER, RGBA_INTEGER};
    for (size_t i = 0; i < sizeof packed_formats / sizeof packed_formats[0]; i++)
        if (packed_formats[i].internal_format == internal_format) {
            *format = packed_formats[i].format;
            *type = packed_formats[i].type;
            return true;
        }
    if (row->kind == CULV_TEXEL_KIND_BLOCKS) {
        *format = internal_format; /* as glCompressedTextureSubImage2D takes it */
        *type = 0;
        return true;
    }
    if (row->kind == CULV_TEXEL_KIND_DEPTH || row->kind == CULV_TEXEL_KIND_STENCIL) {
        *format = row->kind == CULV_TEXEL_KIND_DEPTH ? DEPTH_COMPONENT : STENCIL_INDEX;
        *type = row->block_bytes == 4   ? FLOAT
                : row->block_bytes == 2 ? UNSIGNED_SHORT
                                        : UNSIGNED_BYTE;
        return row->aspects == 2 || row->aspects == 4;
    }
    if (row->channels == 0 || row->channels > 4) return false;
    bool whole = row->kind == CULV_TEXEL_KIND_UINT || row->kind == CULV_TEXEL_KIND_SINT;
    *format = whole ? integers[row->channels] : floats[row->channels];
    *type = scalar_type(row->kind, row->block_bytes / row->channels);
    return *type != 0;
}

/* How CUDA maps what is not shared. */
static culv_image_desc describe(const culvi_gl_shape *s)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = s->row->format;
    d.texels = s->texels;
    d.type = s->type;
    d.width = s->width;
    d.height = s->height;
    d.depth = s->depth;
    d.array_layers = s->layers;
    d.mip_levels = s->levels;
    d.no_surfaces = s->no_surfaces || !s->row->surfaces;
    return d;
}

static culv_result plan_copied_image(culv_gl *gl, const culvi_gl_shape *s, culvi_plan *plan)
{
    uint32_t format = 0, type = 0;
    if (!culvi_gl_texel_format(s->row, s->internal_format, &format, &type))
        return culvi_fail(
            culvi_gl_voice(gl), s->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "OpenGL copies no texels of %s to and from host memory as they are stored",
            s->row->name);
    bool stored = s->texels == CULV_TEXELS_STORED;
    if (stored) culvi_attempt_begin(); /* else a refusal is the answer */
    culv_result result = culvi_format_supported(gl->base.device, s->row, s->texels, s->label);
    if (stored) (void)culvi_attempt_end(NULL, result);
    if (result != CULV_OK && !(stored && result == CULV_ERROR_UNSUPPORTED)) return result;
    plan->arrays = result == CULV_OK;
    plan->row = s->row;
    plan->image = describe(s);
    return CULV_OK;
}

culv_result culvi_gl_reworded(const culv_gl *gl, culv_result result)
{
    culv_error *error = &culvi_thread_state()->error;
    static const struct {
        const char *vulkan, *gl;
    } words[] = {
        {"VkImageCreateInfo::extent", "culv_gl_image_create_desc.width x height x depth"},
        {"VkImageCreateInfo::mipLevels", "culv_gl_image_create_desc.mip_levels"},
        {"VkImageCreateInfo::arrayLayers", "culv_gl_image_create_desc.array_layers"},
        {"VkImageCreateInfo::format", "culv_gl_image_create_desc.internal_format"},
        {"VkBufferCreateInfo::size",
         "culv_gl_buffer_create_desc.size, with what OpenGL needs behind it,"},
        {", arrayLayers ", ", array_layers "},
        {" and mipLevels ", " and mip_levels "},
        {", or map a LINEAR image as rows of bytes (in Vulkan culv_vk_image_map_pitched())",
         " (GL_RGBA8 for GL_RGB8), or a buffer"},
    };
    for (size_t i = 0; result != CULV_OK && i < sizeof words / sizeof words[0]; i++) {
        char text[sizeof error->message];
        const char *at = strstr(error->message, words[i].vulkan);
        if (at == NULL) continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - error->message), error->message,
                 words[i].gl, at + strlen(words[i].vulkan));
        memcpy(error->message, text, sizeof text);
    }
    return culvi_attempt_end(culvi_gl_voice(gl), result);
}

culv_result culvi_gl_plan(culvi_graphics *graphics, culvi_plan *plan)
{
    culv_gl *gl = culvi_gl_of(graphics);
    const culvi_gl_shape *shape = plan->desc;
    plan->handle_types = 0;
    plan->dedicated = false;
    plan->size = shape->size;
    if (plan->path == CULV_SHARING_SHARED && shape->is_image && !shape->row->mapped) {
        /* says it without Vulkan's words */
        culvi_attempt_begin();
        return culvi_gl_reworded(
            gl, culvi_format_supported(gl->base.device, shape->row, shape->texels, shape->label));
    }
    if (plan->path == CULV_SHARING_SHARED) return culvi_gl_exporter_plan(gl, shape, plan);
    return shape->is_image ? plan_copied_image(gl, shape, plan) : CULV_OK;
}
