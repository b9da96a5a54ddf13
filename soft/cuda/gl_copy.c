/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what OpenGL's objects are, and their bytes to and fro.
 *
 * llvmpipe shares no storage of ordinary objects, so a map copies out and an unmap copies in. Every
 * call here is one that succeeds, so that the program finds no error of the twin's. The state that
 * they need is put back. */
#include "gl.h"

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
