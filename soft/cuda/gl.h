/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: buffers and images of OpenGL that are registered with it.
 *
 * The program's own OpenGL is asked, through whatever library it loaded: the twin links none. Names
 * and numbers are those of the OpenGL registry; GL's headers are not needed. */
#ifndef SOFT_GL_H_
#define SOFT_GL_H_

#include "array.h"

typedef unsigned GLenum_, GLuint_;

enum {
    GL_UNSIGNED_BYTE_ = 0x1401,
    GL_TEXTURE_2D_ = 0x0de1,
    GL_TEXTURE_3D_ = 0x806f,
    GL_TEXTURE_RECTANGLE_ = 0x84f5,
    GL_TEXTURE_CUBE_MAP_ = 0x8513,
    GL_TEXTURE_2D_ARRAY_ = 0x8c1a,
    GL_RENDERBUFFER_ = 0x8d41
};

/* X(name without gl, result, parameters) */
// clang-format off
#define SOFT_GL_PROCS(X) \
    X(GetIntegerv, void, (GLenum_, int *)) \
    X(GetStringi, const unsigned char *, (GLenum_, GLuint_)) \
    X(GetUnsignedBytei_vEXT, void, (GLenum_, GLuint_, unsigned char *)) \
    X(Finish, void, (void)) \
    X(FenceSync, void *, (GLenum_, unsigned)) \
    X(IsSync, unsigned char, (void *)) \
    X(DeleteSync, void, (void *)) \
    X(ObjectPtrLabel, void, (const void *, int, const char *)) \
    X(GetObjectPtrLabel, void, (const void *, int, int *, char *)) \
    X(IsBuffer, unsigned char, (GLuint_)) \
    X(GetNamedBufferParameteriv, void, (GLuint_, GLenum_, int *)) \
    X(GetNamedBufferParameteri64v, void, (GLuint_, GLenum_, int64_t *)) \
    X(GetNamedBufferSubData, void, (GLuint_, intptr_t, intptr_t, void *)) \
    X(CreateBuffers, void, (int, GLuint_ *)) \
    X(NamedBufferData, void, (GLuint_, intptr_t, const void *, GLenum_)) \
    X(CopyNamedBufferSubData, void, (GLuint_, GLuint_, intptr_t, intptr_t, intptr_t)) \
    X(DeleteBuffers, void, (int, const GLuint_ *)) \
    X(GetError, GLenum_, (void)) \
    X(BindTexture, void, (GLenum_, GLuint_)) \
    X(BindBuffer, void, (GLenum_, GLuint_)) \
    X(PixelStorei, void, (GLenum_, int)) \
    X(IsTexture, unsigned char, (GLuint_)) \
    X(GetTextureParameteriv, void, (GLuint_, GLenum_, int *)) \
    X(GetTextureLevelParameteriv, void, (GLuint_, int, GLenum_, int *)) \
    X(GetTextureImage, void, (GLuint_, int, GLenum_, GLenum_, int, void *)) \
    X(TextureSubImage2D, void, (GLuint_, int, int, int, int, int, GLenum_, GLenum_, const void *)) \
    X(TextureSubImage3D, void, (GLuint_, int, int, int, int, int, int, int, GLenum_, GLenum_, const void *)) \
    X(CreateTextures, void, (GLenum_, int, GLuint_ *)) \
    X(TextureStorage2D, void, (GLuint_, int, GLenum_, int, int)) \
    X(DeleteTextures, void, (int, const GLuint_ *)) \
    X(CopyImageSubData, void, (GLuint_, GLenum_, int, int, int, int, GLuint_, GLenum_, int, int, int, int, int, int, int)) \
    X(IsRenderbuffer, unsigned char, (GLuint_)) \
    X(GetNamedRenderbufferParameteriv, void, (GLuint_, GLenum_, int *))
// clang-format on

struct soft_gl {
#define MEMBER(name, result, parameters) result(*name) parameters;
    SOFT_GL_PROCS(MEMBER)
#undef MEMBER
};

/* --- gl.c */
/* The functions of the context that is current on this thread. INVALID_GRAPHICS_CONTEXT: none is;
 * NOT_SUPPORTED: it is no OpenGL 4.5. */
CUresult soft_gl_current(const struct soft_gl **out);
/* Whose context it is. OPERATING_SYSTEM: of no device that the twin has. */
CUresult soft_gl_device(const struct soft_gl *gl, int *device);

/* A share group of contexts, marked by an object that its contexts alone find. */
struct soft_gl_group {
    void *sync;
    uint64_t number; /* no other mark's, ever */
};
CUresult soft_gl_mark(const struct soft_gl *gl, struct soft_gl_group *group);
bool soft_gl_in_group(const struct soft_gl *gl, const struct soft_gl_group *group);

/* --- gl_register.c: formats */
struct soft_gl_format {
    unsigned internal;
    CUarray_format format;
    unsigned channels;
    GLenum_ get, set; /* the format of pixels that are read, and written */
    GLenum_ type;
};
/* NULL: CUDA registers no image of it (cudaGL.h). */
const struct soft_gl_format *soft_gl_format(unsigned internal);

/* --- gl_register.c: copies between GL's storage and the twin's */
struct soft_gl_image {
    GLuint_ name;
    GLenum_ target;
    unsigned levels;
    unsigned internal;
    CUDA_ARRAY3D_DESCRIPTOR desc;
};
/* What the object is now. INVALID_HANDLE: no object; INVALID_VALUE: none that CUDA registers. */
CUresult soft_gl_look(const struct soft_gl *gl, GLuint_ name, GLenum_ target,
                      struct soft_gl_image *out);
void soft_gl_read_buffer(const struct soft_gl *gl, GLuint_ name, size_t size, void *data);
void soft_gl_write_buffer(const struct soft_gl *gl, GLuint_ name, size_t size, const void *data);
void soft_gl_read_image(const struct soft_gl *gl, const struct soft_gl_image *image,
                        const struct soft_mipmap *arrays);
void soft_gl_write_image(const struct soft_gl *gl, const struct soft_gl_image *image,
                         const struct soft_mipmap *arrays);

/* The entry points that cudaGL.h declares. */
#pragma GCC visibility push(default)
CUresult CUDAAPI cuGraphicsGLRegisterBuffer(CUgraphicsResource *pCudaResource, unsigned buffer,
                                            unsigned int Flags);
CUresult CUDAAPI cuGraphicsGLRegisterImage(CUgraphicsResource *pCudaResource, unsigned image,
                                           unsigned target, unsigned int Flags);
CUresult CUDAAPI cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, int deviceList);
#pragma GCC visibility pop

#endif
