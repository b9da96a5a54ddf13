/* SPDX-License-Identifier: MIT */
/* Making a buffer or a texture: memory that Vulkan exports, a memory object, and the GL object. */
#include "base/alloc.h"
#include "base/handle.h"
#include "core/image_check.h"
#include "gl/gl_object.h"

#include <inttypes.h>

enum { DYNAMIC_STORAGE = 0x0100 }; /* GL_DYNAMIC_STORAGE_BIT */

culv_result culvi_gl_create_buffer(const culv_gl *gl, const char *label, uint64_t size,
                                   uint32_t memory, uint64_t offset, uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    uint32_t name = 0;
    t->glCreateBuffers(1, &name);
    culv_result result = culvi_gl_check_error(gl, label, "glCreateBuffers",
                                              CULV_REASON_DRIVER_REFUSED, "no buffer was made");
    if (result != CULV_OK) return result;
    if (memory != 0)
        t->glNamedBufferStorageMemEXT(name, (ptrdiff_t)size, memory, offset);
    else
        t->glNamedBufferStorage(name, (ptrdiff_t)size, NULL, DYNAMIC_STORAGE);
    result = culvi_gl_check_error(
        gl, label, memory != 0 ? "glNamedBufferStorageMemEXT" : "glNamedBufferStorage",
        CULV_REASON_DRIVER_REFUSED, "a buffer of %" PRIu64 " bytes could not be made", size);
    if (result == CULV_OK)
        *out = name;
    else
        t->glDeleteBuffers(1, &name);
    return result;
}

/* Textures ------------------------------------------------------------------------------------- */

static const char *why_not(uint32_t target)
{
    switch (target) {
    case CULVI_GL_TEXTURE_RECTANGLE:
        return "GL_TEXTURE_RECTANGLE has no memory objects; register it (culvert/gl_register.h), "
               "or use GL_TEXTURE_2D, whose texels texelFetch() reads by the same coordinates";
    case CULVI_GL_TEXTURE_BUFFER:
        return "GL_TEXTURE_BUFFER is a view of a buffer: make a culv_shared_buffer and call "
               "glTextureBuffer() with its name";
    case CULVI_GL_TEXTURE_2D_MULTISAMPLE:
    case CULVI_GL_TEXTURE_2D_MULTISAMPLE_ARRAY:
        return "CUDA maps no multisampled images; resolve into a GL_TEXTURE_2D by "
               "glBlitNamedFramebuffer(), and share that";
    case CULVI_GL_RENDERBUFFER:
        return "a renderbuffer has no memory objects; register it (culvert/gl_register.h), or draw "
               "into a GL_TEXTURE_2D, which a framebuffer takes as well";
    default: return NULL;
    }
}

static culv_result fail_value(const culv_gl *gl, const culv_gl_image_create_desc *d,
                              const char *what)
{
    return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "culv_gl_image_create_desc: %s (width %" PRIu32 ", height %" PRIu32
                      ", depth %" PRIu32 ", array_layers %" PRIu32 ", mip_levels %" PRIu32 ")",
                      what, d->width, d->height, d->depth, d->array_layers, d->mip_levels);
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
    if (refused != NULL)
        return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "culv_gl_image_create_desc.target: %s", refused);
    if (!flat && !cube && !solid && !array && target != CULVI_GL_TEXTURE_2D)
        return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_gl_image_create_desc.target is %#" PRIx32
                          ", which is no target of textures",
                          target);
    if (d->internal_format == 0)
        return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_INVALID, CULV_REASON_FORMAT,
                          "culv_gl_image_create_desc.internal_format is 0; say a sized format, as "
                          "GL_RGBA8");
    s.row = culvi_format_find((uint32_t)culvi_format_from(CULV_NATIVE_GL, d->internal_format));
    if (s.row == NULL)
        return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "culv_gl_image_create_desc.internal_format is %#" PRIx32 "%s",
                          d->internal_format,
                          d->internal_format == CULVI_GL_RGBA4
                              ? " (GL_RGBA4): NVIDIA's driver keeps it as 8 bits a channel and "
                                "Mesa as A4R4G4B4, so CUDA cannot know its texels; use GL_RGBA8 "
                                "or GL_RGB5_A1"
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
    if (wrong != NULL) return fail_value(gl, d, wrong);
    s.size = culvi_image_least_size(s.row, s.width, s.height, s.depth, s.layers, s.levels);
    *out = s;
    return CULV_OK;
}

static const char *storage_1d(const culvi_gl_table *t, const culvi_gl_shape *s, uint32_t texture,
                              uint32_t memory, uint64_t offset)
{
    const int32_t levels = (int32_t)s->levels, width = (int32_t)s->width;
    if (memory == 0) {
        t->glTextureStorage1D(texture, levels, s->internal_format, width);
        return "glTextureStorage1D";
    }
    t->glTextureStorageMem1DEXT(texture, levels, s->internal_format, width, memory, offset);
    return "glTextureStorageMem1DEXT";
}

static const char *storage_2d(const culvi_gl_table *t, const culvi_gl_shape *s, uint32_t height,
                              uint32_t texture, uint32_t memory, uint64_t offset)
{
    const int32_t levels = (int32_t)s->levels, width = (int32_t)s->width;
    if (memory == 0) {
        t->glTextureStorage2D(texture, levels, s->internal_format, width, (int32_t)height);
        return "glTextureStorage2D";
    }
    t->glTextureStorageMem2DEXT(texture, levels, s->internal_format, width, (int32_t)height, memory,
                                offset);
    return "glTextureStorageMem2DEXT";
}

static const char *storage_3d(const culvi_gl_table *t, const culvi_gl_shape *s, uint32_t depth,
                              uint32_t texture, uint32_t memory, uint64_t offset)
{
    const int32_t levels = (int32_t)s->levels, width = (int32_t)s->width;
    const int32_t height = (int32_t)s->height;
    if (memory == 0) {
        t->glTextureStorage3D(texture, levels, s->internal_format, width, height, (int32_t)depth);
        return "glTextureStorage3D";
    }
    t->glTextureStorageMem3DEXT(texture, levels, s->internal_format, width, height, (int32_t)depth,
                                memory, offset);
    return "glTextureStorageMem3DEXT";
}

culv_result culvi_gl_texture_storage(const culv_gl *gl, const culvi_gl_shape *s, uint32_t texture,
                                     uint32_t tiling, uint32_t memory, uint64_t offset)
{
    const culvi_gl_table *t = &gl->table;
    const char *call = NULL;
    culv_result result = CULV_OK;
    if (memory != 0) {
        t->glTextureParameteri(texture, CULVI_GL_TEXTURE_TILING_EXT, (int32_t)tiling);
        result = culvi_gl_check_error(gl, s->label, "glTextureParameteri",
                                      CULV_REASON_DRIVER_REFUSED, "the tiling could not be set");
        if (result != CULV_OK) return result;
    }
    switch (s->target) {
    case CULVI_GL_TEXTURE_1D: call = storage_1d(t, s, texture, memory, offset); break;
    case CULVI_GL_TEXTURE_1D_ARRAY:
        call = storage_2d(t, s, s->layers, texture, memory, offset);
        break;
    case CULVI_GL_TEXTURE_2D:
    case CULVI_GL_TEXTURE_CUBE_MAP:
        call = storage_2d(t, s, s->height, texture, memory, offset);
        break;
    case CULVI_GL_TEXTURE_3D: call = storage_3d(t, s, s->depth, texture, memory, offset); break;
    default: call = storage_3d(t, s, s->layers, texture, memory, offset);
    }
    return culvi_gl_check_error(gl, s->label, call, CULV_REASON_DRIVER_REFUSED,
                                "the %s texture of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                                " texels, %" PRIu32 " layers and %" PRIu32
                                " levels could not be made",
                                s->row->name, s->width, s->height, s->depth, s->layers, s->levels);
}

culv_result culvi_gl_create_texture(const culv_gl *gl, const culvi_gl_shape *shape, uint32_t memory,
                                    uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    uint32_t name = 0;
    t->glCreateTextures(shape->target, 1, &name);
    culv_result result = culvi_gl_check_error(gl, shape->label, "glCreateTextures",
                                              CULV_REASON_DRIVER_REFUSED, "no texture was made");
    if (result != CULV_OK) return result;
    result = culvi_gl_texture_storage(gl, shape, name, CULVI_GL_OPTIMAL_TILING_EXT, memory, 0);
    if (result == CULV_OK)
        *out = name;
    else
        t->glDeleteTextures(1, &name);
    return result;
}

/* The seam ------------------------------------------------------------------------------------- */

static culv_result create(const culv_gl *gl, const culvi_gl_shape *shape, culvi_gl_object *object)
{
    return shape->is_image ? culvi_gl_create_texture(gl, shape, object->memory, &object->name)
                           : culvi_gl_create_buffer(gl, shape->label, shape->size, object->memory,
                                                    0, &object->name);
}

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
    culv_result result = culvi_gl_exporter_get(gl, shape->label, &vk);
    if (result == CULV_OK) result = culvi_gl_exporter_make(gl, shape, &object->vk);
    if (result != CULV_OK) return result;
    object->exporter = vk;
    result = vk->api->export_memory(vk, shape->label, object->vk.memory, &handle);
    if (result != CULV_OK) return result;
    result = culvi_gl_import_handle(gl, shape->label, &handle, object->vk.size,
                                    object->vk.dedicated, &object->memory);
    culvi_handle_close(&handle);
    return result;
}

culv_result culvi_gl_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    culv_gl *gl = culvi_gl_of(graphics);
    const culvi_gl_shape *shape = plan->desc;
    culvi_gl_object *object = culvi_alloc(sizeof *object);
    if (object == NULL) return culvi_fail_host_memory(culvi_gl_voice(gl), plan->label);
    object->target = shape->target;
    object->internal_format = shape->internal_format;
    object->row = shape->row;
    culv_result result = CULV_OK;
    if (plan->path == CULV_SHARING_SHARED) result = share(gl, shape, object);
    if (result == CULV_OK) result = create(gl, shape, object);
    if (result != CULV_OK) {
        destroy(gl, object);
        return result;
    }
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
    culv_result result = culvi_gl_exporter_get(culvi_gl_of(graphics), label, &vk);
    return result == CULV_OK ? vk->api->export_memory(vk, label, memory, out) : result;
}
