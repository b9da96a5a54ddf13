/* SPDX-License-Identifier: MIT */
/* Buffers and textures that Culvert makes: whether a path has them and how CUDA maps them (the
 * gate), memory that Vulkan exports, a memory object and the GL object, and the calls. */
#include "gl/gl_object.h"

#include <stdio.h>

/* Formats -------------------------------------------------------------------------------------- */

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

/* Buffers -------------------------------------------------------------------------------------- */

enum { DYNAMIC_STORAGE = 0x0100 }; /* GL_DYNAMIC_STORAGE_BIT */

culv_result culvi_gl_create_buffer(const culv_gl *gl, const char *label, uint64_t size,
                                   uint32_t memory, uint64_t offset, uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    uint32_t name = 0;
    t->glCreateBuffers(1, &name);
    CULVI_TRY(culvi_gl_check(gl, label, "glCreateBuffers", "no buffer was made"));
    if (memory != 0)
        t->glNamedBufferStorageMemEXT(name, (ptrdiff_t)size, memory, offset);
    else
        t->glNamedBufferStorage(name, (ptrdiff_t)size, NULL, DYNAMIC_STORAGE);
    CULVI_TRY_OR(culvi_gl_check(gl, label,
                                memory != 0 ? "glNamedBufferStorageMemEXT" : "glNamedBufferStorage",
                                "a buffer of %" PRIu64 " bytes could not be made", size),
                 t->glDeleteBuffers(1, &name));
    *out = name;
    return CULV_OK;
}

/* Textures ------------------------------------------------------------------------------------- */

static const char *why_not(uint32_t target)
{
    switch (target) {
    case CULVI_GL_TEXTURE_RECTANGLE:
        return "GL_TEXTURE_RECTANGLE has no memory objects; register it (culvert/gl_register.h), or use GL_TEXTURE_2D, whose texels texelFetch() reads by the same coordinates";
    case CULVI_GL_TEXTURE_BUFFER:
        return "GL_TEXTURE_BUFFER is a view of a buffer: make a culv_shared_buffer and call glTextureBuffer() with its name";
    case CULVI_GL_TEXTURE_2D_MULTISAMPLE:
    case CULVI_GL_TEXTURE_2D_MULTISAMPLE_ARRAY:
        return "CUDA maps no multisampled images; resolve into a GL_TEXTURE_2D by glBlitNamedFramebuffer(), and share that";
    case CULVI_GL_RENDERBUFFER:
        return "a renderbuffer has no memory objects; register it (culvert/gl_register.h), or draw into a GL_TEXTURE_2D, which a framebuffer takes as well";
    default: return NULL;
    }
}

culv_result culvi_gl_read_shape(const culv_gl *gl, const culv_gl_image_create_desc *d,
                                culvi_gl_shape *out)
{
    const uint32_t target = d->target != 0 ? d->target : (uint32_t)CULVI_GL_TEXTURE_2D;
    const bool cube =
        target == CULVI_GL_TEXTURE_CUBE_MAP || target == CULVI_GL_TEXTURE_CUBE_MAP_ARRAY;
    const bool flat = target == CULVI_GL_TEXTURE_1D || target == CULVI_GL_TEXTURE_1D_ARRAY;
    const bool array = target == CULVI_GL_TEXTURE_1D_ARRAY || target == CULVI_GL_TEXTURE_2D_ARRAY ||
                       target == CULVI_GL_TEXTURE_CUBE_MAP_ARRAY;
    const bool solid = target == CULVI_GL_TEXTURE_3D;
    culvi_gl_shape s = {.label = d->label,
                        .is_image = true,
                        .target = target,
                        .internal_format = d->internal_format,
                        .width = d->width,
                        .height = d->height != 0 ? d->height : 1,
                        .depth = d->depth != 0 ? d->depth : 1,
                        .layers = d->array_layers != 0 ? d->array_layers
                                  : cube               ? 6
                                                       : 1,
                        .levels = d->mip_levels != 0 ? d->mip_levels : 1,
                        .texels = d->texels,
                        .no_surfaces = d->no_surfaces != 0,
                        .type = solid  ? CULV_IMAGE_3D
                                : flat ? CULV_IMAGE_1D
                                : cube ? CULV_IMAGE_CUBE
                                       : CULV_IMAGE_2D};
    const char *refused = why_not(target);
    CULVI_UNSUPPORTED_IF(refused != NULL, gl->voice, d->label, CULV_REASON_USAGE,
                         "culv_gl_image_create_desc.target: %s", refused);
    CULVI_REFUSE_IF(
        !flat && !cube && !solid && !array && target != CULVI_GL_TEXTURE_2D, gl->voice, d->label,
        CULV_REASON_VALUE,
        "culv_gl_image_create_desc.target is %#" PRIx32 ", which is no target of textures", target);
    CULVI_REFUSE_IF(
        d->internal_format == 0, gl->voice, d->label, CULV_REASON_FORMAT,
        "culv_gl_image_create_desc.internal_format is 0; say a sized format, as GL_RGBA8");
    s.row = culvi_format_find((uint32_t)culvi_format_from(CULV_NATIVE_GL, d->internal_format));
    CULVI_UNSUPPORTED_IF(
        s.row == NULL, gl->voice, d->label, CULV_REASON_FORMAT,
        "culv_gl_image_create_desc.internal_format is %#" PRIx32 "%s", d->internal_format,
        d->internal_format == CULVI_GL_RGBA4
            ? " (GL_RGBA4): NVIDIA's driver keeps it as 8 bits a channel and Mesa as A4R4G4B4, so CUDA cannot know its texels; use GL_RGBA8 or GL_RGB5_A1"
            : "; it takes sized formats, as GL_RGBA8");
    const char *wrong = NULL;
    if (d->width == 0)
        wrong = "the width is 0";
    else if (flat && s.height != 1)
        wrong = "a 1D texture has a height";
    else if (!solid && s.depth != 1)
        wrong = "only GL_TEXTURE_3D has a depth; the others have array_layers";
    else if (!array && !cube && s.layers != 1)
        wrong = "this target has no layers";
    else if (cube && (s.layers % 6 != 0 || s.width != s.height))
        wrong = "a cube map is square and has 6 layers for each cube";
    else if (target == CULVI_GL_TEXTURE_CUBE_MAP && s.layers != 6)
        wrong = "GL_TEXTURE_CUBE_MAP has 6 layers";
    else if (s.width > INT32_MAX || s.height > INT32_MAX || s.depth > INT32_MAX ||
             s.layers > INT32_MAX || s.levels > 32)
        wrong = "it is too large";
    CULVI_REFUSE_IF(wrong != NULL, gl->voice, d->label, CULV_REASON_EXTENT,
                    "culv_gl_image_create_desc: %s (width %" PRIu32 ", height %" PRIu32
                    ", depth %" PRIu32 ", array_layers %" PRIu32 ", mip_levels %" PRIu32 ")",
                    wrong, d->width, d->height, d->depth, d->array_layers, d->mip_levels);
    s.size = culvi_image_least_size(s.row, s.width, s.height, s.depth, s.layers, s.levels);
    *out = s;
    return CULV_OK;
}

/* The dimensions of glTextureStorage and the size of the last one but the width; a cube map's faces
 * are none. */
static int sides_of(const culvi_gl_shape *s, int32_t *last)
{
    switch (s->target) {
    case CULVI_GL_TEXTURE_1D: *last = 0; return 1;
    case CULVI_GL_TEXTURE_1D_ARRAY: *last = (int32_t)s->layers; return 2;
    case CULVI_GL_TEXTURE_2D:
    case CULVI_GL_TEXTURE_CUBE_MAP: *last = (int32_t)s->height; return 2;
    case CULVI_GL_TEXTURE_3D: *last = (int32_t)s->depth; return 3;
    default: *last = (int32_t)s->layers; return 3;
    }
}

culv_result culvi_gl_texture_storage(const culv_gl *gl, const culvi_gl_shape *s, uint32_t texture,
                                     uint32_t tiling, uint32_t memory, uint64_t offset)
{
    static const char *const calls[][2] = {{"glTextureStorage1D", "glTextureStorageMem1DEXT"},
                                           {"glTextureStorage2D", "glTextureStorageMem2DEXT"},
                                           {"glTextureStorage3D", "glTextureStorageMem3DEXT"}};
    const culvi_gl_table *t = &gl->table;
    const uint32_t format = s->internal_format;
    const int32_t levels = (int32_t)s->levels, width = (int32_t)s->width;
    const int32_t height = (int32_t)s->height;
    int32_t last = 0;
    const int sides = sides_of(s, &last);
    if (memory != 0) {
        t->glTextureParameteri(texture, CULVI_GL_TEXTURE_TILING_EXT, (int32_t)tiling);
        CULVI_TRY(
            culvi_gl_check(gl, s->label, "glTextureParameteri", "the tiling could not be set"));
    }
    if (memory == 0 && sides == 1)
        t->glTextureStorage1D(texture, levels, format, width);
    else if (memory == 0 && sides == 2)
        t->glTextureStorage2D(texture, levels, format, width, last);
    else if (memory == 0)
        t->glTextureStorage3D(texture, levels, format, width, height, last);
    else if (sides == 1)
        t->glTextureStorageMem1DEXT(texture, levels, format, width, memory, offset);
    else if (sides == 2)
        t->glTextureStorageMem2DEXT(texture, levels, format, width, last, memory, offset);
    else
        t->glTextureStorageMem3DEXT(texture, levels, format, width, height, last, memory, offset);
    return culvi_gl_check(gl, s->label, calls[sides - 1][memory != 0],
                          "the %s texture of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                          " texels, %" PRIu32 " layers and %" PRIu32 " levels could not be made",
                          s->row->name, s->width, s->height, s->depth, s->layers, s->levels);
}

culv_result culvi_gl_create_texture(const culv_gl *gl, const culvi_gl_shape *shape, uint32_t memory,
                                    uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    uint32_t name = 0;
    t->glCreateTextures(shape->target, 1, &name);
    CULVI_TRY(culvi_gl_check(gl, shape->label, "glCreateTextures", "no texture was made"));
    CULVI_TRY_OR(culvi_gl_texture_storage(gl, shape, name, CULVI_GL_OPTIMAL_TILING_EXT, memory, 0),
                 t->glDeleteTextures(1, &name));
    *out = name;
    return CULV_OK;
}

/* The gate ------------------------------------------------------------------------------------- */

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
    CULVI_UNSUPPORTED_IF(!culvi_gl_texel_format(s->row, s->internal_format, &format, &type),
                         gl->voice, s->label, CULV_REASON_FORMAT,
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
    return culvi_attempt_end(gl->voice, result);
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
    if (plan->path == CULV_SHARING_SHARED) return culvi_gl_exporter_run(gl, shape, plan, NULL);
    return shape->is_image ? plan_copied_image(gl, shape, plan) : CULV_OK;
}

/* The seam ------------------------------------------------------------------------------------- */

/* Deletes what lies in the memory first: Mesa 22 crashes otherwise (measured). */
static void destroy(const culv_gl *gl, culvi_gl_object *object)
{
    const culvi_gl_table *t = &gl->table;
    if (culvi_gl_is_current(gl)) {
        if (object->name != 0 && object->target != 0) t->glDeleteTextures(1, &object->name);
        if (object->name != 0 && object->target == 0) t->glDeleteBuffers(1, &object->name);
        if (object->memory != 0) t->glDeleteMemoryObjectsEXT(1, &object->memory);
    }
    if (object->vk.object != 0) object->exporter->api->unmake(object->exporter, &object->vk);
    culvi_free(object);
}

static culv_result share(culv_gl *gl, const culvi_gl_shape *shape, culvi_gl_object *object)
{
    culvi_graphics *vk = NULL;
    culv_handle handle;
    CULVI_TRY(culvi_gl_exporter_get(gl, shape->label, &vk));
    CULVI_TRY(culvi_gl_exporter_run(gl, shape, NULL, &object->vk));
    object->exporter = vk;
    CULVI_TRY(vk->api->export_memory(vk, shape->label, object->vk.memory, &handle));
    culv_result result = culvi_gl_import_handle(gl, shape->label, &handle, object->vk.size,
                                                object->vk.dedicated, &object->memory);
    culvi_handle_close(&handle);
    return result;
}

culv_result culvi_gl_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    culv_gl *gl = culvi_gl_of(graphics);
    const culvi_gl_shape *shape = plan->desc;
    CULVI_NEW(culvi_gl_object, object, gl->voice, plan->label);
    object->target = shape->target;
    object->internal_format = shape->internal_format;
    object->row = shape->row;
    if (plan->path == CULV_SHARING_SHARED)
        CULVI_TRY_OR(share(gl, shape, object), destroy(gl, object));
    CULVI_TRY_OR(shape->is_image ? culvi_gl_create_texture(gl, shape, object->memory, &object->name)
                                 : culvi_gl_create_buffer(gl, shape->label, shape->size,
                                                          object->memory, 0, &object->name),
                 destroy(gl, object));
    *out = (culvi_native){.object = (uint64_t)(uintptr_t)object,
                          .memory = object->vk.memory,
                          .size = object->vk.object != 0 ? object->vk.size : shape->size,
                          .is_image = shape->is_image,
                          .dedicated = object->vk.dedicated};
    return CULV_OK;
}

void culvi_gl_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    culvi_gl_object *object = culvi_gl_object_of(native);
    if (object != NULL) destroy(culvi_gl_of(graphics), object);
}

culv_result culvi_gl_export_memory(const culvi_graphics *graphics, const char *label,
                                   uint64_t memory, culv_handle *out)
{
    culvi_graphics *vk = NULL;
    CULVI_TRY(culvi_gl_exporter_get(culvi_gl_of(graphics), label, &vk));
    return vk->api->export_memory(vk, label, memory, out);
}

/* The calls ------------------------------------------------------------------------------------ */

culv_result culvi_gl_check_buffer_size(const culv_gl *gl, const culv_gl_buffer_create_desc *d)
{
    if (d->size != 0 && d->size <= PTRDIFF_MAX) return CULV_OK;
    return culvi_fail(gl->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "culv_gl_buffer_create_desc.size is %" PRIu64, d->size);
}

culv_result culvi_gl_make_buffer(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                 bool only_host, culv_shared_buffer **out)
{
    CULVI_TRY(culvi_gl_check_buffer_size(gl, desc));
    const culvi_gl_shape shape = {.label = desc->label, .size = desc->size};
    culvi_plan plan = {.label = desc->label,
                       .desc = &shape,
                       .desc_name = "culv_gl_buffer_create_desc",
                       .fallback = desc->fallback,
                       .only_host = only_host};
    return culvi_shared_buffer_create(&gl->base, &plan, out);
}

culv_result culv_gl_buffer_create(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                  culv_shared_buffer **out)
{
    CULVI_REQUIRE_WITH2(gl, gl->voice, desc, out);
    CULVI_READ(gl->voice, culv_gl_buffer_create_desc, d, desc);
    CULVI_TRY(culvi_gl_enter(gl, d.label, __func__));
    return culvi_gl_make_buffer(gl, &d, false, out);
}

uint32_t culv_gl_buffer_name(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_gl_api);
    return half != NULL ? culvi_gl_object_of(half)->name : 0;
}

culv_result culvi_gl_make_image(culv_gl *gl, const culv_gl_image_create_desc *desc, bool only_host,
                                culv_shared_image **out)
{
    culvi_gl_shape shape;
    CULVI_TRY(culvi_gl_read_shape(gl, desc, &shape));
    culvi_plan plan = {.label = desc->label,
                       .desc = &shape,
                       .desc_name = "culv_gl_image_create_desc",
                       .fallback = desc->fallback,
                       .only_host = only_host};
    return culvi_shared_image_create(&gl->base, &plan, out);
}

culv_result culv_gl_image_create(culv_gl *gl, const culv_gl_image_create_desc *desc,
                                 culv_shared_image **out)
{
    CULVI_REQUIRE_WITH2(gl, gl->voice, desc, out);
    CULVI_READ(gl->voice, culv_gl_image_create_desc, d, desc);
    CULVI_REFUSE_IF(d.linear, gl->voice, d.label, CULV_REASON_VALUE,
                    "culv_gl_image_create_desc.linear is for culv_gl_memory_bind() alone");
    CULVI_TRY(culvi_gl_enter(gl, d.label, __func__));
    return culvi_gl_make_image(gl, &d, false, out);
}

uint32_t culv_gl_image_name(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_gl_api);
    return half != NULL ? culvi_gl_object_of(half)->name : 0;
}
