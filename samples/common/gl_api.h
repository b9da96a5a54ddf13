/* SPDX-License-Identifier: MIT */
/* Samples: OpenGL's functions, as volk has Vulkan's: pointers of the functions' own names, which
 * gl_api_load() fills in. Nothing of GL is linked. */
#ifndef CULVERT_SAMPLES_GL_API_H_
#define CULVERT_SAMPLES_GL_API_H_

#include <stdbool.h>

#include <GL/glcorearb.h>

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

#endif
