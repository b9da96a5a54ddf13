/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: buffers and images of OpenGL that are registered.
 *
 * Each call on them needs a current GL context of the share group in which the object was
 * registered, the unregistration too. */
#include "gl.h"
#include "graphics.h"

#include <stdlib.h>
#include <string.h>

#define GL_BUFFER_SIZE         0x8764
#define GL_BUFFER_MAPPED       0x88bc
#define GL_BUFFER_ACCESS_FLAGS 0x911f
#define GL_MAP_PERSISTENT_BIT  0x0040

#define MAP_FLAGS                                                                                  \
    (unsigned)(CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY | CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD)
#define IMAGE_FLAGS                                                                                \
    (MAP_FLAGS | (unsigned)(CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST |                              \
                            CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER))

struct resource {
    struct soft_graphics base;
    struct soft_gl_group group;
    GLuint_ name;
    struct soft_gl_image image; /* what it was when it was registered */
};

static const struct resource *of(const struct soft_graphics *r)
{
    return (const struct resource *)(const void *)r; /* its first member */
}

/* The functions of the current context. */
static const struct soft_gl *here(void)
{
    const struct soft_gl *gl = NULL;
    return soft_gl_current(&gl) == CUDA_SUCCESS ? gl : NULL;
}

static CUresult look_at_buffer(const struct soft_gl *gl, GLuint_ name, size_t *size)
{
    int64_t bytes = 0;
    if (name == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!gl->IsBuffer(name)) return CUDA_ERROR_INVALID_HANDLE;
    gl->GetNamedBufferParameteri64v(name, GL_BUFFER_SIZE, &bytes);
    if (bytes <= 0) return CUDA_ERROR_OUT_OF_MEMORY; /* it has no storage */
    *size = (size_t)bytes;
    return CUDA_SUCCESS;
}

/* GL's object, as it was when it was registered, and not in GL's use. */
static CUresult check(const struct soft_graphics *base)
{
    const struct resource *r = of(base);
    const struct soft_gl *gl = here();
    if (gl == NULL) return CUDA_ERROR_INVALID_GRAPHICS_CONTEXT;
    if (base->is_image) {
        struct soft_gl_image now;
        if (soft_gl_look(gl, r->name, r->image.target, &now) != CUDA_SUCCESS)
            return CUDA_ERROR_UNKNOWN;
        now.desc.Flags |=
            r->image.desc.Flags & (CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER);
        return now.internal == r->image.internal && now.levels == r->image.levels &&
                       memcmp(&now.desc, &r->image.desc, sizeof(now.desc)) == 0
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_UNKNOWN;
    }
    size_t size = 0;
    int mapped = 0, access = 0;
    if (look_at_buffer(gl, r->name, &size) != CUDA_SUCCESS || size != base->size)
        return CUDA_ERROR_UNKNOWN;
    gl->GetNamedBufferParameteriv(r->name, GL_BUFFER_MAPPED, &mapped);
    gl->GetNamedBufferParameteriv(r->name, GL_BUFFER_ACCESS_FLAGS, &access);
    return mapped && !(access & GL_MAP_PERSISTENT_BIT) ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

static CUresult current(void)
{
    const struct soft_gl *gl;
    return soft_gl_current(&gl);
}

static CUresult enter(const struct soft_graphics *r)
{
    const struct soft_gl *gl;
    SOFT_TRY(soft_gl_current(&gl));
    return soft_gl_in_group(gl, &of(r)->group) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_GRAPHICS_CONTEXT;
}

static void finish(const struct soft_graphics *r)
{
    (void)r;
    here()->Finish();
}

static void read_all(struct soft_graphics *r)
{
    if (r->is_image)
        soft_gl_read_image(here(), &of(r)->image, r->arrays);
    else
        soft_gl_read_buffer(here(), of(r)->name, r->size, r->start);
}

static void write_all(struct soft_graphics *r)
{
    if (r->is_image)
        soft_gl_write_image(here(), &of(r)->image, r->arrays);
    else
        soft_gl_write_buffer(here(), of(r)->name, r->size, r->start);
}

static void unregister(struct soft_graphics *r)
{
    here()->DeleteSync(of(r)->group.sync);
}

static void end(struct soft_graphics *r)
{
    (void)r;
}

static const struct soft_graphics_api api = {.current = current,
                                             .keeps_arrays = true,
                                             .enter = enter,
                                             .check = check,
                                             .finish = finish,
                                             .read = read_all,
                                             .write = write_all,
                                             .unregister = unregister,
                                             .end = end};

/* Takes `r` and unlocks, in any case. */
static CUresult publish_and_end(struct soft_context *context, const struct soft_gl *gl,
                                struct resource *r, CUgraphicsResource *out)
{
    CUresult result = soft_gl_mark(gl, &r->group);
    if (result != CUDA_SUCCESS) {
        free(r);
        return soft_end(result);
    }
    soft_graphics_add(&r->base, &api, context, out);
    return soft_end(CUDA_SUCCESS);
}

/* Locked on success: the current GL context is one of the CUDA context's device. */
static CUresult begin_registration(const char *call, const void *out, unsigned flags,
                                   unsigned known, struct soft_context **context,
                                   const struct soft_gl **gl)
{
    int device;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, context));
    if (out == NULL || (flags & ~known) || (flags & MAP_FLAGS) == MAP_FLAGS)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_gl_current(gl);
    if (result == CUDA_SUCCESS) result = soft_gl_device(*gl, &device);
    if (result == CUDA_SUCCESS && device != (*context)->device) result = CUDA_ERROR_INVALID_DEVICE;
    return result == CUDA_SUCCESS ? result : soft_end(result);
}

CUresult CUDAAPI cuGraphicsGLRegisterBuffer(CUgraphicsResource *pCudaResource, unsigned buffer,
                                            unsigned int Flags)
{
    struct soft_context *context;
    const struct soft_gl *gl;
    size_t size = 0;
    SOFT_TRY(begin_registration(__func__, pCudaResource, Flags, MAP_FLAGS, &context, &gl));
    SOFT_STEP(look_at_buffer(gl, buffer, &size));
    struct resource *r = calloc(1, sizeof(*r));
    if (r == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    r->name = buffer;
    r->base.size = size;
    r->base.flags = Flags;
    return publish_and_end(context, gl, r, pCudaResource);
}

CUresult CUDAAPI cuGraphicsGLRegisterImage(CUgraphicsResource *pCudaResource, unsigned image,
                                           unsigned target, unsigned int Flags)
{
    struct soft_context *context;
    const struct soft_gl *gl;
    struct soft_gl_image found;
    struct soft_layout layout;
    SOFT_TRY(begin_registration(__func__, pCudaResource, Flags, IMAGE_FLAGS, &context, &gl));
    result = soft_gl_look(gl, image, target, &found);
    if (Flags & CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST)
        found.desc.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    if (Flags & CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER)
        found.desc.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    if (result == CUDA_SUCCESS) result = soft_layout_of(&found.desc, found.levels, &layout);
    if (result != CUDA_SUCCESS) return soft_end(result);
    struct resource *r = calloc(1, sizeof(*r));
    if (r == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    r->name = image;
    r->image = found;
    r->base.is_image = true;
    r->base.desc = found.desc;
    r->base.levels = found.levels;
    r->base.flags = Flags;
    return publish_and_end(context, gl, r, pCudaResource);
}

/* What OpenGL's objects are, and their bytes to and fro.
 *
 * llvmpipe shares no storage of ordinary objects, so a map copies out and an unmap copies in. Every
 * call here is one that succeeds, so that the program finds no error of the twin's. The state that
 * they need is put back. */

#define GL_STREAM_COPY                  0x88e2
#define GL_CONTEXT_PROFILE_MASK         0x9126
#define GL_TEXTURE_TARGET               0x1006
#define GL_TEXTURE_MAX_LEVEL            0x813d
#define GL_TEXTURE_WIDTH                0x1000
#define GL_TEXTURE_HEIGHT               0x1001
#define GL_TEXTURE_DEPTH                0x8071
#define GL_TEXTURE_INTERNAL_FORMAT      0x1003
#define GL_RENDERBUFFER_WIDTH           0x8d42
#define GL_RENDERBUFFER_HEIGHT          0x8d43
#define GL_RENDERBUFFER_INTERNAL_FORMAT 0x8d44
#define GL_RENDERBUFFER_SAMPLES         0x8cab

/* Pixels to and from memory: the state that says how they lie there. */
static const GLenum_ pixel_names[2][8] = {
    /* swap bytes, LSB first, row length, skip rows, skip pixels, alignment, skip images, image
       height */
    {0x0d00, 0x0d01, 0x0d02, 0x0d03, 0x0d04, 0x0d05, 0x806b, 0x806c}, /* GL_PACK_... */
    {0x0cf0, 0x0cf1, 0x0cf2, 0x0cf3, 0x0cf4, 0x0cf5, 0x806d, 0x806e}, /* GL_UNPACK_... */
};
static const GLenum_ pixel_buffer[2] = {0x88eb, 0x88ec};
static const GLenum_ pixel_binding[2] = {0x88ed, 0x88ef};

enum { PACK, UNPACK };

struct pixels {
    int values[8], buffer;
};

static void begin_pixels(const struct soft_gl *gl, int which, struct pixels *saved)
{
    for (int i = 0; i < 8; i++) {
        gl->GetIntegerv(pixel_names[which][i], &saved->values[i]);
        gl->PixelStorei(pixel_names[which][i], i == 5 ? 1 : 0);
    }
    gl->GetIntegerv(pixel_binding[which], &saved->buffer);
    gl->BindBuffer(pixel_buffer[which], 0);
}

static void end_pixels(const struct soft_gl *gl, int which, const struct pixels *saved)
{
    for (int i = 0; i < 8; i++)
        gl->PixelStorei(pixel_names[which][i], saved->values[i]);
    gl->BindBuffer(pixel_buffer[which], (GLuint_)saved->buffer);
}

static CUresult look_at_renderbuffer(const struct soft_gl *gl, GLuint_ name,
                                     struct soft_gl_image *out)
{
    int width = 0, height = 0, internal = 0, samples = 0;
    if (!gl->IsRenderbuffer(name)) return CUDA_ERROR_INVALID_HANDLE;
    gl->GetNamedRenderbufferParameteriv(name, GL_RENDERBUFFER_WIDTH, &width);
    gl->GetNamedRenderbufferParameteriv(name, GL_RENDERBUFFER_HEIGHT, &height);
    gl->GetNamedRenderbufferParameteriv(name, GL_RENDERBUFFER_INTERNAL_FORMAT, &internal);
    gl->GetNamedRenderbufferParameteriv(name, GL_RENDERBUFFER_SAMPLES, &samples);
    if (samples > 0) return CUDA_ERROR_INVALID_VALUE;
    out->internal = (unsigned)internal;
    out->desc.Width = (size_t)width;
    out->desc.Height = (size_t)height;
    out->levels = 1;
    return CUDA_SUCCESS;
}

struct level {
    int width, height, depth, internal;
};

static struct level level_of(const struct soft_gl *gl, GLuint_ name, unsigned number)
{
    struct level level = {0};
    const int n = (int)number;
    gl->GetTextureLevelParameteriv(name, n, GL_TEXTURE_WIDTH, &level.width);
    gl->GetTextureLevelParameteriv(name, n, GL_TEXTURE_HEIGHT, &level.height);
    gl->GetTextureLevelParameteriv(name, n, GL_TEXTURE_DEPTH, &level.depth);
    gl->GetTextureLevelParameteriv(name, n, GL_TEXTURE_INTERNAL_FORMAT, &level.internal);
    return level;
}

static int halved(int size, unsigned level)
{
    return size >> level > 1 ? size >> level : 1;
}

/* Mesa tells a texture's target in core profiles only. In others a binding does. */
static bool has_target(const struct soft_gl *gl, GLuint_ name, GLenum_ target)
{
    int profile = 0, is = 0, bound = 0, then = 0;
    gl->GetIntegerv(GL_CONTEXT_PROFILE_MASK, &profile);
    if (profile & 1) { /* GL_CONTEXT_CORE_PROFILE_BIT */
        gl->GetTextureParameteriv(name, GL_TEXTURE_TARGET, &is);
        return (GLenum_)is == target;
    }
    const GLenum_ binding = target == GL_TEXTURE_2D_          ? 0x8069
                            : target == GL_TEXTURE_3D_        ? 0x806a
                            : target == GL_TEXTURE_RECTANGLE_ ? 0x84f6
                            : target == GL_TEXTURE_CUBE_MAP_  ? 0x8514
                                                              : 0x8c1d;
    gl->GetIntegerv(binding, &bound);
    gl->BindTexture(target, name);
    gl->GetIntegerv(binding, &then);
    if ((GLuint_)then == name)
        gl->BindTexture(target, (GLuint_)bound);
    else
        gl->GetError(); /* the binding's */
    return (GLuint_)then == name;
}

static CUresult look_at_texture(const struct soft_gl *gl, GLuint_ name, GLenum_ target,
                                struct soft_gl_image *out)
{
    int max_level = 0;
    if (!gl->IsTexture(name)) return CUDA_ERROR_INVALID_HANDLE;
    if (!has_target(gl, name, target)) return CUDA_ERROR_INVALID_VALUE;
    const struct level first = level_of(gl, name, 0);
    out->internal = (unsigned)first.internal;
    out->desc.Width = (size_t)first.width;
    out->desc.Height = (size_t)first.height;
    const bool solid = target == GL_TEXTURE_3D_, layers = target == GL_TEXTURE_2D_ARRAY_;
    if (solid || layers) out->desc.Depth = (size_t)first.depth;
    if (layers) out->desc.Flags |= CUDA_ARRAY3D_LAYERED;
    if (target == GL_TEXTURE_CUBE_MAP_) {
        out->desc.Depth = 6;
        out->desc.Flags |= CUDA_ARRAY3D_CUBEMAP;
    }
    out->levels = 1;
    if (target == GL_TEXTURE_RECTANGLE_) return CUDA_SUCCESS;
    /* As many levels as there are, one after another, of a chain. */
    gl->GetTextureParameteriv(name, GL_TEXTURE_MAX_LEVEL, &max_level);
    const unsigned chain = soft_full_chain(&out->desc);
    for (; out->levels < chain && (int)out->levels <= max_level; out->levels++) {
        const struct level next = level_of(gl, name, out->levels);
        if (next.internal != first.internal || next.width != halved(first.width, out->levels) ||
            next.height != halved(first.height, out->levels) ||
            next.depth != (solid ? halved(first.depth, out->levels) : first.depth))
            break;
    }
    return CUDA_SUCCESS;
}

CUresult soft_gl_look(const struct soft_gl *gl, GLuint_ name, GLenum_ target,
                      struct soft_gl_image *out)
{
    CUresult result;
    *out = (struct soft_gl_image){.name = name, .target = target};
    if (name == 0) return CUDA_ERROR_INVALID_VALUE;
    switch (target) {
    case GL_RENDERBUFFER_: result = look_at_renderbuffer(gl, name, out); break;
    case GL_TEXTURE_2D_:
    case GL_TEXTURE_RECTANGLE_:
    case GL_TEXTURE_CUBE_MAP_:
    case GL_TEXTURE_3D_:
    case GL_TEXTURE_2D_ARRAY_: result = look_at_texture(gl, name, target, out); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) return result;
    const struct soft_gl_format *format = soft_gl_format(out->internal);
    if (format == NULL || out->desc.Width == 0 || out->desc.Height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    out->desc.Format = format->format;
    out->desc.NumChannels = format->channels;
    return CUDA_SUCCESS;
}

void soft_gl_read_buffer(const struct soft_gl *gl, GLuint_ name, size_t size, void *data)
{
    gl->GetNamedBufferSubData(name, 0, (intptr_t)size, data);
}

/* Through another buffer: immutable ones may be written by copies only. */
void soft_gl_write_buffer(const struct soft_gl *gl, GLuint_ name, size_t size, const void *data)
{
    GLuint_ staging = 0;
    gl->CreateBuffers(1, &staging);
    gl->NamedBufferData(staging, (intptr_t)size, data, GL_STREAM_COPY);
    gl->CopyNamedBufferSubData(staging, name, 0, 0, (intptr_t)size);
    gl->DeleteBuffers(1, &staging);
}

/* A texture that stands in for a renderbuffer, which no call reads or writes; 0: none is needed. */
static GLuint_ stand_in(const struct soft_gl *gl, const struct soft_gl_image *image)
{
    GLuint_ texture = 0;
    if (image->target != GL_RENDERBUFFER_) return 0;
    gl->CreateTextures(GL_TEXTURE_2D_, 1, &texture);
    unsigned internal = image->internal;
    if (internal == 0x1903) internal = 0x8229; /* storage has a size: GL_R8 */
    if (internal == 0x8227) internal = 0x822b;
    if (internal == 0x1908) internal = 0x8058;
    gl->TextureStorage2D(texture, 1, internal, (int)image->desc.Width, (int)image->desc.Height);
    return texture;
}

static void set_rows(const struct soft_gl *gl, int which, const struct soft_array *level)
{
    gl->PixelStorei(pixel_names[which][2], (int)(level->level.pitch / level->element.bytes));
    gl->PixelStorei(pixel_names[which][7], (int)(level->level.slice / level->level.pitch));
}

void soft_gl_read_image(const struct soft_gl *gl, const struct soft_gl_image *image,
                        const struct soft_mipmap *arrays)
{
    const struct soft_gl_format *format = soft_gl_format(image->internal);
    const int width = (int)image->desc.Width, height = (int)image->desc.Height;
    struct pixels saved;
    const GLuint_ other = stand_in(gl, image);
    if (other != 0)
        gl->CopyImageSubData(image->name, GL_RENDERBUFFER_, 0, 0, 0, 0, other, GL_TEXTURE_2D_, 0, 0,
                             0, 0, width, height, 1);
    begin_pixels(gl, PACK, &saved);
    for (unsigned i = 0; i < image->levels; i++) {
        const struct soft_array *level = &arrays->levels[i];
        set_rows(gl, PACK, level);
        gl->GetTextureImage(other != 0 ? other : image->name, (int)i, format->get, format->type,
                            (int)(level->level.slice * level->level.slices), level->start);
    }
    end_pixels(gl, PACK, &saved);
    if (other != 0) gl->DeleteTextures(1, &other);
}

void soft_gl_write_image(const struct soft_gl *gl, const struct soft_gl_image *image,
                         const struct soft_mipmap *arrays)
{
    const struct soft_gl_format *format = soft_gl_format(image->internal);
    const bool flat = image->desc.Depth == 0;
    struct pixels saved;
    const GLuint_ other = stand_in(gl, image);
    const GLuint_ name = other != 0 ? other : image->name;
    begin_pixels(gl, UNPACK, &saved);
    for (unsigned i = 0; i < image->levels; i++) {
        const struct soft_array *level = &arrays->levels[i];
        const int width = (int)level->level.desc.Width, height = (int)level->level.desc.Height;
        set_rows(gl, UNPACK, level);
        if (flat)
            gl->TextureSubImage2D(name, (int)i, 0, 0, width, height, format->set, format->type,
                                  level->start);
        else
            gl->TextureSubImage3D(name, (int)i, 0, 0, 0, width, height, (int)level->level.slices,
                                  format->set, format->type, level->start);
    }
    end_pixels(gl, UNPACK, &saved);
    if (other == 0) return;
    gl->CopyImageSubData(other, GL_TEXTURE_2D_, 0, 0, 0, 0, image->name, GL_RENDERBUFFER_, 0, 0, 0,
                         0, (int)image->desc.Width, (int)image->desc.Height, 1);
    gl->DeleteTextures(1, &other);
}

/* Formats of OpenGL's images that cuGraphicsGLRegisterImage takes, as
 * cudaGL.h lists them, and what CUDA's arrays of them are. */

enum {
    BYTE = 0x1400,
    UBYTE,
    SHORT,
    USHORT,
    INT,
    UINT,
    FLOAT,
    HALF = 0x140b,
    RED = 0x1903,
    ALPHA = 0x1906,
    RGBA = 0x1908,
    LUMINANCE,
    LUMINANCE_ALPHA,
    RG = 0x8227,
    RG_INTEGER = 0x8228,
    RED_INTEGER = 0x8d94,
    ALPHA_INTEGER = 0x8d97,
    RGBA_INTEGER = 0x8d99,
    LUMINANCE_INTEGER = 0x8d9c,
    LUMINANCE_ALPHA_INTEGER = 0x8d9d
};

#define UNORM8(internal, channels, get, set)                                                       \
    {                                                                                              \
        internal, CU_AD_FORMAT_UNSIGNED_INT8, channels, get, set, UBYTE                            \
    }
#define UNORM16(internal, channels, get, set)                                                      \
    {                                                                                              \
        internal, CU_AD_FORMAT_UNSIGNED_INT16, channels, get, set, USHORT                          \
    }
/* A row of each kind for a base format, by its numbers. */
#define FLOATS(half, full, channels, get, set)                                                     \
    {half, CU_AD_FORMAT_HALF, channels, get, set, HALF},                                           \
    {                                                                                              \
        full, CU_AD_FORMAT_FLOAT, channels, get, set, FLOAT                                        \
    }
#define INTEGERS(u8, u16, u32, s8, s16, s32, channels, get, set)                                   \
    {u8, CU_AD_FORMAT_UNSIGNED_INT8, channels, get, set, UBYTE},                                   \
        {u16, CU_AD_FORMAT_UNSIGNED_INT16, channels, get, set, USHORT},                            \
        {u32, CU_AD_FORMAT_UNSIGNED_INT32, channels, get, set, UINT},                              \
        {s8, CU_AD_FORMAT_SIGNED_INT8, channels, get, set, BYTE},                                  \
        {s16, CU_AD_FORMAT_SIGNED_INT16, channels, get, set, SHORT},                               \
    {                                                                                              \
        s32, CU_AD_FORMAT_SIGNED_INT32, channels, get, set, INT                                    \
    }

/* Luminance and intensity are read as red: glGetTextureImage puts them there. */
static const struct soft_gl_format formats[] = {
    UNORM8(0x1903, 1, RED, RED), /* without a size: GL_RED and so on */
    UNORM8(0x8227, 2, RG, RG),
    UNORM8(0x1908, 4, RGBA, RGBA),
    UNORM8(0x1909, 1, RED, RED),
    UNORM8(0x1906, 1, ALPHA, ALPHA),
    UNORM8(0x190a, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM8(0x8049, 1, RED, RED),
    UNORM8(0x8229, 1, RED, RED), /* GL_R8, GL_R16, ... */
    UNORM16(0x822a, 1, RED, RED),
    UNORM8(0x822b, 2, RG, RG),
    UNORM16(0x822c, 2, RG, RG),
    UNORM8(0x8058, 4, RGBA, RGBA),
    UNORM16(0x805b, 4, RGBA, RGBA),
    UNORM8(0x8040, 1, RED, RED), /* GL_LUMINANCE8, ... */
    UNORM16(0x8042, 1, RED, RED),
    UNORM8(0x803c, 1, ALPHA, ALPHA),
    UNORM16(0x803e, 1, ALPHA, ALPHA),
    UNORM8(0x8045, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM16(0x8048, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM8(0x804b, 1, RED, RED),
    UNORM16(0x804d, 1, RED, RED),
    FLOATS(0x822d, 0x822e, 1, RED, RED),
    FLOATS(0x822f, 0x8230, 2, RG, RG),
    FLOATS(0x881a, 0x8814, 4, RGBA, RGBA),
    FLOATS(0x881c, 0x8816, 1, ALPHA, ALPHA),
    FLOATS(0x881d, 0x8817, 1, RED, RED),
    FLOATS(0x881e, 0x8818, 1, RED, RED),
    FLOATS(0x881f, 0x8819, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    INTEGERS(0x8232, 0x8234, 0x8236, 0x8231, 0x8233, 0x8235, 1, RED_INTEGER, RED_INTEGER),
    INTEGERS(0x8238, 0x823a, 0x823c, 0x8237, 0x8239, 0x823b, 2, RG_INTEGER, RG_INTEGER),
    INTEGERS(0x8d7c, 0x8d76, 0x8d70, 0x8d8e, 0x8d88, 0x8d82, 4, RGBA_INTEGER, RGBA_INTEGER),
    INTEGERS(0x8d7e, 0x8d78, 0x8d72, 0x8d90, 0x8d8a, 0x8d84, 1, ALPHA_INTEGER, ALPHA_INTEGER),
    INTEGERS(0x8d7f, 0x8d79, 0x8d73, 0x8d91, 0x8d8b, 0x8d85, 1, RED_INTEGER, RED_INTEGER),
    INTEGERS(0x8d80, 0x8d7a, 0x8d74, 0x8d92, 0x8d8c, 0x8d86, 1, RED_INTEGER, LUMINANCE_INTEGER),
    INTEGERS(0x8d81, 0x8d7b, 0x8d75, 0x8d93, 0x8d8d, 0x8d87, 2, LUMINANCE_ALPHA_INTEGER,
             LUMINANCE_ALPHA_INTEGER),
};

const struct soft_gl_format *soft_gl_format(unsigned internal)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].internal == internal) return &formats[i];
    return NULL;
}
