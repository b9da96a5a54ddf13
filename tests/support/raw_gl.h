/* SPDX-License-Identifier: MIT */
/* OpenGL as the tests call it: a 4.5 context by EGL without any display, and plain gl* entry points
 * opened at run time. On NVIDIA's driver the context is that of an EGL device, elsewhere Mesa's
 * surfaceless one.
 *
 * raw_gl gl;
 * raw_gl_open(&gl, software, ordinal, RAW_GL_CORE);   // current on this thread; may skip the case
 * GL_OK(&gl, gl.CreateBuffers(1, &name));
 * raw_gl_close(&gl); */
#ifndef CULVERT_TESTS_RAW_GL_H_
#define CULVERT_TESTS_RAW_GL_H_

#include "harness.h"

#include <GL/glcorearb.h>

#define RAW_GL_PROCS(X)                                                                            \
    X(GetError, GETERROR)                                                                          \
    X(GetIntegerv, GETINTEGERV)                                                                    \
    X(Finish, FINISH)                                                                              \
    X(FenceSync, FENCESYNC)                                                                        \
    X(ClientWaitSync, CLIENTWAITSYNC)                                                              \
    X(DeleteSync, DELETESYNC)                                                                      \
    X(Flush, FLUSH)                                                                                \
    X(CreateBuffers, CREATEBUFFERS)                                                                \
    X(DeleteBuffers, DELETEBUFFERS)                                                                \
    X(NamedBufferData, NAMEDBUFFERDATA)                                                            \
    X(NamedBufferStorage, NAMEDBUFFERSTORAGE)                                                      \
    X(NamedBufferSubData, NAMEDBUFFERSUBDATA)                                                      \
    X(CopyNamedBufferSubData, COPYNAMEDBUFFERSUBDATA)                                              \
    X(ClearNamedBufferData, CLEARNAMEDBUFFERDATA)                                                  \
    X(MapNamedBufferRange, MAPNAMEDBUFFERRANGE)                                                    \
    X(UnmapNamedBuffer, UNMAPNAMEDBUFFER)                                                          \
    X(BindBuffer, BINDBUFFER)                                                                      \
    X(PixelStorei, PIXELSTOREI)                                                                    \
    X(GenTextures, GENTEXTURES)                                                                    \
    X(CreateTextures, CREATETEXTURES)                                                              \
    X(DeleteTextures, DELETETEXTURES)                                                              \
    X(BindTexture, BINDTEXTURE)                                                                    \
    X(TexImage2D, TEXIMAGE2D)                                                                      \
    X(TextureStorage1D, TEXTURESTORAGE1D)                                                          \
    X(TextureStorage2D, TEXTURESTORAGE2D)                                                          \
    X(TextureStorage3D, TEXTURESTORAGE3D)                                                          \
    X(TextureStorage2DMultisample, TEXTURESTORAGE2DMULTISAMPLE)                                    \
    X(TextureSubImage2D, TEXTURESUBIMAGE2D)                                                        \
    X(TextureSubImage3D, TEXTURESUBIMAGE3D)                                                        \
    X(GetTextureImage, GETTEXTUREIMAGE)                                                            \
    X(GetTextureLevelParameteriv, GETTEXTURELEVELPARAMETERIV)                                      \
    X(ClearTexImage, CLEARTEXIMAGE)                                                                \
    X(CopyImageSubData, COPYIMAGESUBDATA)                                                          \
    X(CreateRenderbuffers, CREATERENDERBUFFERS)                                                    \
    X(DeleteRenderbuffers, DELETERENDERBUFFERS)                                                    \
    X(NamedRenderbufferStorage, NAMEDRENDERBUFFERSTORAGE)                                          \
    X(NamedRenderbufferStorageMultisample, NAMEDRENDERBUFFERSTORAGEMULTISAMPLE)                    \
    X(CreateFramebuffers, CREATEFRAMEBUFFERS)                                                      \
    X(DeleteFramebuffers, DELETEFRAMEBUFFERS)                                                      \
    X(IsFramebuffer, ISFRAMEBUFFER)                                                                \
    X(NamedFramebufferRenderbuffer, NAMEDFRAMEBUFFERRENDERBUFFER)                                  \
    X(ClearNamedFramebufferfv, CLEARNAMEDFRAMEBUFFERFV)                                            \
    X(ClearNamedFramebufferfi, CLEARNAMEDFRAMEBUFFERFI)                                            \
    X(Enable, ENABLE)                                                                              \
    X(Disable, DISABLE)                                                                            \
    X(Scissor, SCISSOR)

enum { RAW_GL_CORE = 1, RAW_GL_COMPATIBILITY = 2, RAW_GL_ES = 4 /* OpenGL ES 3.2 */ };

typedef struct raw_gl {
    void *display, *context;
    bool software;
    int profile;
#define RAW_GL_MEMBER(name, NAME) PFNGL##NAME##PROC name;
    RAW_GL_PROCS(RAW_GL_MEMBER)
#undef RAW_GL_MEMBER
} raw_gl;

/* The context of a CUDA device: of NVIDIA's with this ordinal, or Mesa's software one. */
void raw_gl_open(raw_gl *gl, bool software, int ordinal, int profile);
/* The same; NULL, or why there is none. */
const char *raw_gl_try(raw_gl *gl, bool software, int ordinal, int profile);
/* A second context beside the first, which shares objects with it or does not. Not made current.
 * NULL: there is none of OpenGL ES. */
void *raw_gl_another(const raw_gl *gl, bool shares);
/* Makes a context current on this thread; NULL: none. */
void raw_gl_current(const raw_gl *gl, void *context);
void raw_gl_destroy(const raw_gl *gl, void *context);
/* Requires that no error of OpenGL is left. */
void raw_gl_close(raw_gl *gl);
void *raw_gl_get_proc(const char *name);

/* `call`, which leaves no error of OpenGL. */
#define GL_OK(gl, call)                                                                            \
    do {                                                                                           \
        call;                                                                                      \
        raw_gl_require_ok((gl), #call, __FILE__, __LINE__);                                        \
    } while (0)
void raw_gl_require_ok(const raw_gl *gl, const char *what, const char *file, int line);

/* The bytes of a buffer, by a copy into one that is mapped: never glGetNamedBufferSubData, which
 * NVIDIA's driver answers from an old copy (measured). */
void raw_gl_read_buffer(const raw_gl *gl, GLuint buffer, void *data, size_t size);

/* Writes them by a copy from another buffer: what lies in a memory object takes nothing else. */
void raw_gl_write_buffer(const raw_gl *gl, GLuint buffer, const void *data, size_t size);

/* Images of every kind and format that CUDA registers, with their texels. */

typedef struct raw_gl_format {
    const char *name;
    GLenum internal, pixels, type;
    unsigned bytes; /* of a texel */
    unsigned channels;
    unsigned cuda;      /* CUarray_format */
    bool compatibility; /* luminance and the like */
} raw_gl_format;

/* The list of cudaGL.h; ended by a NULL name. */
extern const raw_gl_format raw_gl_formats[];
const raw_gl_format *raw_gl_format_named(const char *name);

typedef struct raw_gl_kind {
    const char *name;
    GLenum target;
    int width, height;
    int depth; /* or layers, or 6 faces; 1 */
    int levels;
    bool layered; /* depth are layers or faces, which the levels do not halve */
} raw_gl_kind;

/* 2D, RECTANGLE, CUBE_MAP, 3D, 2D_ARRAY, RENDERBUFFER, with odd sizes and levels where there can
 * be; ended by a NULL name. */
extern const raw_gl_kind raw_gl_kinds[];

typedef struct raw_gl_image {
    const raw_gl_kind *kind;
    const raw_gl_format *format;
    GLuint name;
} raw_gl_image;

/* Of zeros. Of a renderbuffer and a format that cannot be drawn to it leaves an error of OpenGL and
 * returns false. */
bool raw_gl_image_make(const raw_gl *gl, const raw_gl_kind *kind, const raw_gl_format *format,
                       raw_gl_image *out);
void raw_gl_image_delete(const raw_gl *gl, raw_gl_image *image);
void raw_gl_level_size(const raw_gl_kind *kind, int level, int *width, int *height, int *depth);
size_t raw_gl_level_bytes(const raw_gl_image *image, int level);
/* Texels of the format that differ from place to place, without infinities and the like. */
void raw_gl_fill(const raw_gl_format *format, void *texels, size_t bytes, unsigned seed);
/* All of a level, without padding. */
void raw_gl_image_write(const raw_gl *gl, const raw_gl_image *image, int level, const void *texels);
void raw_gl_image_read(const raw_gl *gl, const raw_gl_image *image, int level, void *texels);

#endif
