/* SPDX-License-Identifier: MIT */
/* Images of OpenGL, written and read. */
#include "raw_gl_image.h"

#define ROWS(suffix, cuda_format, pixels_of, type, bytes, compat)                                  \
    {"GL_R" #suffix, GL_R##suffix, GL_RED##pixels_of, type, bytes, 1, cuda_format, compat},        \
        {"GL_RG" #suffix, GL_RG##suffix, GL_RG##pixels_of, type, 2 * (bytes), 2,                   \
         cuda_format,     compat},                                                                 \
    {                                                                                              \
        "GL_RGBA" #suffix, GL_RGBA##suffix, GL_RGBA##pixels_of, type, 4 * (bytes), 4, cuda_format, \
            compat                                                                                 \
    }

/* Numbers of CUarray_format. */
enum { U8 = 1, U16 = 2, U32 = 3, S8 = 8, S16 = 9, S32 = 10, F16 = 16, F32 = 32 };

const raw_gl_format raw_gl_formats[] = {
    ROWS(8, U8, , GL_UNSIGNED_BYTE, 1, false),
    ROWS(16, U16, , GL_UNSIGNED_SHORT, 2, false),
    ROWS(16F, F16, , GL_HALF_FLOAT, 2, false),
    ROWS(32F, F32, , GL_FLOAT, 4, false),
    ROWS(8UI, U8, _INTEGER, GL_UNSIGNED_BYTE, 1, false),
    ROWS(16UI, U16, _INTEGER, GL_UNSIGNED_SHORT, 2, false),
    ROWS(32UI, U32, _INTEGER, GL_UNSIGNED_INT, 4, false),
    ROWS(8I, S8, _INTEGER, GL_BYTE, 1, false),
    ROWS(16I, S16, _INTEGER, GL_SHORT, 2, false),
    ROWS(32I, S32, _INTEGER, GL_INT, 4, false),
    /* Those of compatibility profiles, by their numbers: the core header has none of them. */
    {"GL_LUMINANCE8", 0x8040, 0x1909, GL_UNSIGNED_BYTE, 1, 1, U8, true},
    {"GL_ALPHA8", 0x803c, 0x1906, GL_UNSIGNED_BYTE, 1, 1, U8, true},
    {"GL_LUMINANCE8_ALPHA8", 0x8045, 0x190a, GL_UNSIGNED_BYTE, 2, 2, U8, true},
    {"GL_INTENSITY8", 0x804b, GL_RED, GL_UNSIGNED_BYTE, 1, 1, U8, true},
    {"GL_LUMINANCE16", 0x8042, 0x1909, GL_UNSIGNED_SHORT, 2, 1, U16, true},
    {"GL_ALPHA16", 0x803e, 0x1906, GL_UNSIGNED_SHORT, 2, 1, U16, true},
    {"GL_LUMINANCE16F_ARB", 0x881e, 0x1909, GL_HALF_FLOAT, 2, 1, F16, true},
    {"GL_ALPHA32F_ARB", 0x8816, 0x1906, GL_FLOAT, 4, 1, F32, true},
    {"GL_INTENSITY32F_ARB", 0x8817, GL_RED, GL_FLOAT, 4, 1, F32, true},
    {.name = NULL}};

const raw_gl_kind raw_gl_kinds[] = {
    {"GL_TEXTURE_2D", GL_TEXTURE_2D, 37, 22, 1, 4, false},
    {"GL_TEXTURE_RECTANGLE", GL_TEXTURE_RECTANGLE, 37, 22, 1, 1, false},
    {"GL_TEXTURE_CUBE_MAP", GL_TEXTURE_CUBE_MAP, 20, 20, 6, 3, true},
    {"GL_TEXTURE_3D", GL_TEXTURE_3D, 19, 14, 9, 3, false},
    {"GL_TEXTURE_2D_ARRAY", GL_TEXTURE_2D_ARRAY, 21, 10, 5, 2, true},
    {"GL_RENDERBUFFER", GL_RENDERBUFFER, 37, 22, 1, 1, false},
    {.name = NULL}};

const raw_gl_format *raw_gl_format_named(const char *name)
{
    const raw_gl_format *format = raw_gl_formats;
    while (format->name != NULL && strcmp(format->name, name) != 0)
        format++;
    if (format->name == NULL) FAIL("there is no %s", name);
    return format;
}

bool raw_gl_image_make(const raw_gl *gl, const raw_gl_kind *kind, const raw_gl_format *format,
                       raw_gl_image *out)
{
    *out = (raw_gl_image){.kind = kind, .format = format};
    if (kind->target == GL_RENDERBUFFER) {
        GLuint framebuffer = 0;
        gl->CreateRenderbuffers(1, &out->name);
        gl->NamedRenderbufferStorage(out->name, format->internal, kind->width, kind->height);
        gl->CreateFramebuffers(1, &framebuffer);
        gl->NamedFramebufferRenderbuffer(framebuffer, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                                         out->name);
        gl->DeleteFramebuffers(1, &framebuffer);
    } else {
        gl->CreateTextures(kind->target, 1, &out->name);
        if (kind->target == GL_TEXTURE_3D || kind->target == GL_TEXTURE_2D_ARRAY)
            gl->TextureStorage3D(out->name, kind->levels, format->internal, kind->width,
                                 kind->height, kind->depth);
        else
            gl->TextureStorage2D(out->name, kind->levels, format->internal, kind->width,
                                 kind->height);
        for (int i = 0; i < kind->levels; i++)
            gl->ClearTexImage(out->name, i, format->pixels, format->type, NULL);
    }
    if (gl->GetError() == GL_NO_ERROR) return true;
    raw_gl_image_delete(gl, out);
    return false;
}

void raw_gl_image_delete(const raw_gl *gl, raw_gl_image *image)
{
    if (image->kind->target == GL_RENDERBUFFER)
        gl->DeleteRenderbuffers(1, &image->name);
    else
        gl->DeleteTextures(1, &image->name);
    image->name = 0;
}

static int halved(int size, int level)
{
    return size >> level > 1 ? size >> level : 1;
}

void raw_gl_level_size(const raw_gl_kind *kind, int level, int *width, int *height, int *depth)
{
    *width = halved(kind->width, level);
    *height = halved(kind->height, level);
    *depth = kind->layered ? kind->depth : halved(kind->depth, level);
}

size_t raw_gl_level_bytes(const raw_gl_image *image, int level)
{
    int width, height, depth;
    raw_gl_level_size(image->kind, level, &width, &height, &depth);
    return (size_t)width * (size_t)height * (size_t)depth * image->format->bytes;
}

void raw_gl_fill(const raw_gl_format *format, void *texels, size_t bytes, unsigned seed)
{
    uint8_t *at = texels;
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < bytes;) {
        state = state * 1664525u + 1013904223u;
        if (format->type == GL_FLOAT) {
            const float value = (float)(state >> 8) / 1024.0f - 100.0f;
            memcpy(at + i, &value, 4);
            i += 4;
        } else if (format->type == GL_HALF_FLOAT) {
            const uint16_t value = (uint16_t)(0x3c00u + (state >> 20 & 0x7ffu)); /* 1 to 4 */
            memcpy(at + i, &value, 2);
            i += 2;
        } else {
            at[i++] = (uint8_t)(state >> 24);
        }
    }
}

/* No call writes or reads a renderbuffer: a texture beside it does. */
static GLuint beside(const raw_gl *gl, const raw_gl_image *image)
{
    GLuint texture = 0;
    gl->CreateTextures(GL_TEXTURE_2D, 1, &texture);
    gl->TextureStorage2D(texture, 1, image->format->internal, image->kind->width,
                         image->kind->height);
    return texture;
}

void raw_gl_image_write(const raw_gl *gl, const raw_gl_image *image, int level, const void *texels)
{
    const raw_gl_kind *kind = image->kind;
    const raw_gl_format *format = image->format;
    const bool renderbuffer = kind->target == GL_RENDERBUFFER;
    const GLuint name = renderbuffer ? beside(gl, image) : image->name;
    int width, height, depth;
    raw_gl_level_size(kind, level, &width, &height, &depth);
    gl->PixelStorei(GL_UNPACK_ALIGNMENT, 1);
    if (kind->depth > 1)
        gl->TextureSubImage3D(name, level, 0, 0, 0, width, height, depth, format->pixels,
                              format->type, texels);
    else
        gl->TextureSubImage2D(name, level, 0, 0, width, height, format->pixels, format->type,
                              texels);
    if (!renderbuffer) return;
    gl->CopyImageSubData(name, GL_TEXTURE_2D, 0, 0, 0, 0, image->name, GL_RENDERBUFFER, 0, 0, 0, 0,
                         width, height, 1);
    gl->DeleteTextures(1, &name);
}

void raw_gl_image_read(const raw_gl *gl, const raw_gl_image *image, int level, void *texels)
{
    const raw_gl_kind *kind = image->kind;
    const bool renderbuffer = kind->target == GL_RENDERBUFFER;
    const GLuint name = renderbuffer ? beside(gl, image) : image->name;
    GLenum pixels = image->format->pixels;
    if (renderbuffer)
        gl->CopyImageSubData(image->name, GL_RENDERBUFFER, 0, 0, 0, 0, name, GL_TEXTURE_2D, 0, 0, 0,
                             0, kind->width, kind->height, 1);
    gl->PixelStorei(GL_PACK_ALIGNMENT, 1);
    if (pixels == 0x1909) pixels = GL_RED; /* of luminance; as such it would be a sum */
    gl->GetTextureImage(name, level, pixels, image->format->type,
                        (GLsizei)raw_gl_level_bytes(image, level), texels);
    if (renderbuffer) gl->DeleteTextures(1, &name);
}
