/* SPDX-License-Identifier: MIT */
/* Samples: OpenGL. Its functions are as volk has Vulkan's: pointers of the functions' own names,
 * which gl_interop_open() fills in. Nothing of GL is linked. */
#ifndef CULVERT_SAMPLES_GL_SETUP_H_
#define CULVERT_SAMPLES_GL_SETUP_H_

#include "cuda_side.h"

#include <GL/glcorearb.h>
#include <culvert/gl.h>
#include <stdbool.h>
#include <stdint.h>

/* (type, name without "gl"); all are of OpenGL 4.5. */
#define GL_API_LIST(X)                                                                             \
    X(PFNGLATTACHSHADERPROC, AttachShader)                                                         \
    X(PFNGLBINDBUFFERBASEPROC, BindBufferBase)                                                     \
    X(PFNGLBINDBUFFERPROC, BindBuffer)                                                             \
    X(PFNGLBINDFRAMEBUFFERPROC, BindFramebuffer)                                                   \
    X(PFNGLBINDTEXTUREUNITPROC, BindTextureUnit)                                                   \
    X(PFNGLBINDVERTEXARRAYPROC, BindVertexArray)                                                   \
    X(PFNGLBLITNAMEDFRAMEBUFFERPROC, BlitNamedFramebuffer)                                         \
    X(PFNGLCHECKNAMEDFRAMEBUFFERSTATUSPROC, CheckNamedFramebufferStatus)                           \
    X(PFNGLCLEARNAMEDFRAMEBUFFERFVPROC, ClearNamedFramebufferfv)                                   \
    X(PFNGLCLIPCONTROLPROC, ClipControl)                                                           \
    X(PFNGLCOMPILESHADERPROC, CompileShader)                                                       \
    X(PFNGLCREATEBUFFERSPROC, CreateBuffers)                                                       \
    X(PFNGLCREATEFRAMEBUFFERSPROC, CreateFramebuffers)                                             \
    X(PFNGLCREATEPROGRAMPROC, CreateProgram)                                                       \
    X(PFNGLCREATEQUERIESPROC, CreateQueries)                                                       \
    X(PFNGLCREATERENDERBUFFERSPROC, CreateRenderbuffers)                                           \
    X(PFNGLCREATESHADERPROC, CreateShader)                                                         \
    X(PFNGLCREATETEXTURESPROC, CreateTextures)                                                     \
    X(PFNGLCREATEVERTEXARRAYSPROC, CreateVertexArrays)                                             \
    X(PFNGLDEBUGMESSAGECALLBACKPROC, DebugMessageCallback)                                         \
    X(PFNGLDELETEBUFFERSPROC, DeleteBuffers)                                                       \
    X(PFNGLDELETEFRAMEBUFFERSPROC, DeleteFramebuffers)                                             \
    X(PFNGLDELETEPROGRAMPROC, DeleteProgram)                                                       \
    X(PFNGLDELETEQUERIESPROC, DeleteQueries)                                                       \
    X(PFNGLDELETERENDERBUFFERSPROC, DeleteRenderbuffers)                                           \
    X(PFNGLDELETESHADERPROC, DeleteShader)                                                         \
    X(PFNGLDELETETEXTURESPROC, DeleteTextures)                                                     \
    X(PFNGLDELETEVERTEXARRAYSPROC, DeleteVertexArrays)                                             \
    X(PFNGLDEPTHFUNCPROC, DepthFunc)                                                               \
    X(PFNGLDRAWARRAYSPROC, DrawArrays)                                                             \
    X(PFNGLDRAWELEMENTSPROC, DrawElements)                                                         \
    X(PFNGLENABLEPROC, Enable)                                                                     \
    X(PFNGLFINISHPROC, Finish)                                                                     \
    X(PFNGLGETERRORPROC, GetError)                                                                 \
    X(PFNGLGETINTEGERVPROC, GetIntegerv)                                                           \
    X(PFNGLGETPROGRAMINFOLOGPROC, GetProgramInfoLog)                                               \
    X(PFNGLGETPROGRAMIVPROC, GetProgramiv)                                                         \
    X(PFNGLGETQUERYOBJECTUI64VPROC, GetQueryObjectui64v)                                           \
    X(PFNGLGETSHADERINFOLOGPROC, GetShaderInfoLog)                                                 \
    X(PFNGLGETSHADERIVPROC, GetShaderiv)                                                           \
    X(PFNGLGETSTRINGPROC, GetString)                                                               \
    X(PFNGLLINKPROGRAMPROC, LinkProgram)                                                           \
    X(PFNGLNAMEDBUFFERSTORAGEPROC, NamedBufferStorage)                                             \
    X(PFNGLNAMEDBUFFERSUBDATAPROC, NamedBufferSubData)                                             \
    X(PFNGLNAMEDFRAMEBUFFERRENDERBUFFERPROC, NamedFramebufferRenderbuffer)                         \
    X(PFNGLNAMEDFRAMEBUFFERTEXTUREPROC, NamedFramebufferTexture)                                   \
    X(PFNGLNAMEDRENDERBUFFERSTORAGEMULTISAMPLEPROC, NamedRenderbufferStorageMultisample)           \
    X(PFNGLQUERYCOUNTERPROC, QueryCounter)                                                         \
    X(PFNGLREADPIXELSPROC, ReadPixels)                                                             \
    X(PFNGLSHADERSOURCEPROC, ShaderSource)                                                         \
    X(PFNGLTEXTUREPARAMETERIPROC, TextureParameteri)                                               \
    X(PFNGLTEXTURESTORAGE2DPROC, TextureStorage2D)                                                 \
    X(PFNGLUSEPROGRAMPROC, UseProgram)                                                             \
    X(PFNGLVIEWPORTPROC, Viewport)

#define GL_API_DECLARE_(type, name) extern type gl##name;
GL_API_LIST(GL_API_DECLARE_)
#undef GL_API_DECLARE_

/* An OpenGL 4.5 context without a screen, by EGL, with the CUDA device that draws it, and Culvert
 * between them. Each function is false, with a message, on failure. */
typedef struct gl_interop {
    void *display, *context; /* EGL's */
    char renderer[128];
    uint32_t num_messages; /* errors that a debug context told of */
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_gl *attached;
} gl_interop;

/* A context on the first GPU that EGL lists for CUDA (EGL_NV_device_cuda), or on Mesa's renderer
 * with the software twin, as the culv_driver wants. It is current on this thread, and so is
 * CUDA's. With `debug`, errors are reported and counted. Close it either way. */
bool gl_interop_open(gl_interop *i, unsigned driver, bool debug);
/* Comes after everything that was made with it. */
void gl_interop_close(gl_interop *i);

/* True when GL has no error; otherwise names it. */
bool gl_ok(const char *what);

/* A program of a vertex and a fragment shader in share/culvert. 0, with a message, on failure. */
GLuint gl_program(const char *vertex, const char *fragment);

/* A texture of one level; 0, with a message, on failure. */
GLuint gl_texture(GLenum format, uint32_t width, uint32_t height);
/* A framebuffer of one texture. */
GLuint gl_framebuffer(GLuint texture);

/* Reads what a framebuffer has as RGBA rows, in the order of memory; waits for the drawing. */
bool gl_read_rgba(GLuint framebuffer, uint32_t width, uint32_t height, uint8_t *pixels);

#endif
