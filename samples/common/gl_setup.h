/* SPDX-License-Identifier: MIT */
/* Samples: OpenGL's functions, as volk has Vulkan's: pointers of the functions' own names, which
 * gl_api_load() fills in. Nothing of GL is linked. */
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

/* A function of GL by its name, for the context that is current. */
typedef void *(*gl_get_proc_address)(const char *name);

/* False, with a message, when one is missing. */
bool gl_api_load(gl_get_proc_address get);

/* Samples: an OpenGL 4.5 context without a screen, by EGL, and what every GL program needs. */

/* What is wanted of a context. */
typedef struct gl_wishes {
    const char *choice; /* auto, nvidia or soft */
    bool debug;         /* a debug context, whose errors are reported and counted */
} gl_wishes;

typedef struct gl_headless gl_headless;

/* The context is current on the thread that made it, until it is destroyed. */
typedef struct gl_setup {
    gl_headless *headless;
    gl_get_proc_address get_proc_address;
    char renderer[128];
    uint32_t num_messages; /* errors that a debug context told of */
} gl_setup;

/* Asks whether the context, which is current, will do. `why_not` is for a sentence. */
typedef bool (*gl_accept)(void *user, const gl_setup *setup, char why_not[512]);

/* Makes a context on each of the GPUs that EGL lists for CUDA (EGL_NV_device_cuda) and on Mesa's
 * renderer without a screen, until `accept` takes one. False, with a message, when it took none;
 * destroy it either way. */
bool gl_setup_headless(gl_setup *g, const gl_wishes *wishes, gl_accept accept, void *user);
void gl_setup_destroy(gl_setup *g);

/* For a context that was made elsewhere and is current: loads GL. False, with a message, when it is
 * none of 4.5. */
bool gl_setup_current(gl_setup *g, gl_get_proc_address get, bool debug);

/* True when GL has no error; otherwise names it. */
bool gl_ok(const char *what);

/* A program of a vertex and a fragment shader in share/culvert. #include "name" takes another file
 * from there. 0, with a message, on failure. */
GLuint gl_program(const char *vertex, const char *fragment);

/* A texture of one or more levels; 0, with a message, on failure. */
GLuint gl_texture(GLenum format, uint32_t width, uint32_t height, uint32_t levels, GLenum filter);
/* A framebuffer of one texture. */
GLuint gl_framebuffer(GLuint texture);

/* Reads what a framebuffer has as RGBA rows, in the order of memory; waits for the drawing. False,
 * with a message, on failure. */
bool gl_read_rgba(GLuint framebuffer, uint32_t width, uint32_t height, uint8_t *pixels);

/* Samples: an OpenGL context with the CUDA device that draws it, and Culvert between them. Each
 * function is false, with a message, on failure. */

typedef struct gl_interop {
    gl_setup gl;
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_gl *attached;
    culv_gl_report report; /* what works here */
} gl_interop;

/* A context without a screen on the first GPU that CUDA has, or on the CPU with the software twin;
 * CUDA's context is current on this thread, too. Close it either way. */
bool gl_interop_open(gl_interop *i, const gl_wishes *wishes);
/* Comes after everything that was made with it. */
void gl_interop_close(gl_interop *i);

#endif
