/* SPDX-License-Identifier: MIT */
/* Wrappers of OpenGL's functions. What is not wrapped is the driver's own. */
#include "lying_gl.h"

#include <GL/glext.h>

#include <stdatomic.h>

lying_gl_lies lying_gl;

/* Contexts of several threads call at once. */
static _Atomic uint64_t calls, failable, countdown;
static _Thread_local GLenum planted; /* the next glGetError() of this thread's context */
static struct {
    _Atomic int64_t buffers, textures, memories, semaphores;
} counts;

/* A call that may fail: true when it is its turn. */
static bool fails(void)
{
    calls++;
    failable++;
    uint64_t left = countdown;
    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
    }
    if (left != 1) return false;
    planted = GL_OUT_OF_MEMORY;
    return true;
}

uint64_t lying_gl_fail_at(uint64_t n)
{
    countdown = n;
    return failable;
}

uint64_t lying_gl_calls(void)
{
    return calls;
}

lying_gl_counts lying_gl_count(void)
{
    return (lying_gl_counts){counts.buffers, counts.textures, counts.memories, counts.semaphores};
}

/* WRAP(name, NAME, (types), (values), effect): `effect` after a call that was made. */
#define WRAPPED(X)                                                                                 \
    X(CreateBuffers, CREATEBUFFERS, (GLsizei n, GLuint * names), (n, names), counts.buffers += n)  \
    X(NamedBufferStorage, NAMEDBUFFERSTORAGE,                                                      \
      (GLuint buffer, GLsizeiptr size, const void *data, GLbitfield flags),                        \
      (buffer, size, data, flags), (void)0)                                                        \
    X(NamedBufferSubData, NAMEDBUFFERSUBDATA,                                                      \
      (GLuint buffer, GLintptr offset, GLsizeiptr size, const void *data),                         \
      (buffer, offset, size, data), (void)0)                                                       \
    X(GetNamedBufferSubData, GETNAMEDBUFFERSUBDATA,                                                \
      (GLuint buffer, GLintptr offset, GLsizeiptr size, void *data), (buffer, offset, size, data), \
      (void)0)                                                                                     \
    X(CopyNamedBufferSubData, COPYNAMEDBUFFERSUBDATA,                                              \
      (GLuint from, GLuint to, GLintptr a, GLintptr b, GLsizeiptr size), (from, to, a, b, size),   \
      (void)0)                                                                                     \
    X(CreateTextures, CREATETEXTURES, (GLenum target, GLsizei n, GLuint * names),                  \
      (target, n, names), counts.textures += n)                                                    \
    X(TextureParameteri, TEXTUREPARAMETERI, (GLuint texture, GLenum name, GLint value),            \
      (texture, name, value), (void)0)                                                             \
    X(TextureStorage1D, TEXTURESTORAGE1D,                                                          \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width),                              \
      (texture, levels, format, width), (void)0)                                                   \
    X(TextureStorage2D, TEXTURESTORAGE2D,                                                          \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width, GLsizei height),              \
      (texture, levels, format, width, height), (void)0)                                           \
    X(TextureStorage3D, TEXTURESTORAGE3D,                                                          \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width, GLsizei height,               \
       GLsizei depth),                                                                             \
      (texture, levels, format, width, height, depth), (void)0)                                    \
    X(CreateMemoryObjectsEXT, CREATEMEMORYOBJECTSEXT, (GLsizei n, GLuint * names), (n, names),     \
      counts.memories += n)                                                                        \
    X(MemoryObjectParameterivEXT, MEMORYOBJECTPARAMETERIVEXT,                                      \
      (GLuint memory, GLenum name, const GLint *value), (memory, name, value), (void)0)            \
    X(ImportMemoryFdEXT, IMPORTMEMORYFDEXT, (GLuint memory, GLuint64 size, GLenum type, GLint fd), \
      (memory, size, type, fd), (void)0)                                                           \
    X(NamedBufferStorageMemEXT, NAMEDBUFFERSTORAGEMEMEXT,                                          \
      (GLuint buffer, GLsizeiptr size, GLuint memory, GLuint64 offset),                            \
      (buffer, size, memory, offset), (void)0)                                                     \
    X(TextureStorageMem1DEXT, TEXTURESTORAGEMEM1DEXT,                                              \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width, GLuint memory,                \
       GLuint64 offset),                                                                           \
      (texture, levels, format, width, memory, offset), (void)0)                                   \
    X(TextureStorageMem2DEXT, TEXTURESTORAGEMEM2DEXT,                                              \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width, GLsizei height,               \
       GLuint memory, GLuint64 offset),                                                            \
      (texture, levels, format, width, height, memory, offset), (void)0)                           \
    X(TextureStorageMem3DEXT, TEXTURESTORAGEMEM3DEXT,                                              \
      (GLuint texture, GLsizei levels, GLenum format, GLsizei width, GLsizei height,               \
       GLsizei depth, GLuint memory, GLuint64 offset),                                             \
      (texture, levels, format, width, height, depth, memory, offset), (void)0)                    \
    X(GenSemaphoresEXT, GENSEMAPHORESEXT, (GLsizei n, GLuint * names), (n, names),                 \
      counts.semaphores += n)                                                                      \
    X(CreateSemaphoresNV, CREATESEMAPHORESNV, (GLsizei n, GLuint * names), (n, names),             \
      counts.semaphores += n)                                                                      \
    X(ImportSemaphoreFdEXT, IMPORTSEMAPHOREFDEXT, (GLuint semaphore, GLenum type, GLint fd),       \
      (semaphore, type, fd), (void)0)                                                              \
    X(SemaphoreParameterui64vEXT, SEMAPHOREPARAMETERUI64VEXT,                                      \
      (GLuint semaphore, GLenum name, const GLuint64 *value), (semaphore, name, value), (void)0)   \
    X(SemaphoreParameterivNV, SEMAPHOREPARAMETERIVNV,                                              \
      (GLuint semaphore, GLenum name, const GLint *value), (semaphore, name, value), (void)0)      \
    X(Finish, FINISH, (void), (), (void)0)

#define WRAP(name, NAME, types, values, effect)                                                    \
    static PFNGL##NAME##PROC real_##name;                                                          \
    static void APIENTRY wrap_##name types                                                         \
    {                                                                                              \
        if (fails()) return;                                                                       \
        real_##name values;                                                                        \
        effect;                                                                                    \
    }
WRAPPED(WRAP)
#undef WRAP

/* Calls that cannot fail, but are counted or changed. */

static PFNGLGETERRORPROC real_GetError;
static PFNGLGETSTRINGPROC real_GetString;
static PFNGLGETSTRINGIPROC real_GetStringi;
static PFNGLGETUNSIGNEDBYTEI_VEXTPROC real_GetUnsignedBytei_vEXT;

static int64_t names_of(GLsizei n, const GLuint *names)
{
    int64_t real = 0;
    for (GLsizei i = 0; i < n; i++)
        real += names[i] != 0;
    return real;
}

#define WRAP_DELETE(name, NAME, count)                                                             \
    static PFNGL##NAME##PROC real_##name;                                                          \
    static void APIENTRY wrap_##name(GLsizei n, const GLuint *names)                               \
    {                                                                                              \
        calls++;                                                                                   \
        counts.count -= names_of(n, names);                                                        \
        real_##name(n, names);                                                                     \
    }
WRAP_DELETE(DeleteBuffers, DELETEBUFFERS, buffers)
WRAP_DELETE(DeleteTextures, DELETETEXTURES, textures)
WRAP_DELETE(DeleteMemoryObjectsEXT, DELETEMEMORYOBJECTSEXT, memories)
WRAP_DELETE(DeleteSemaphoresEXT, DELETESEMAPHORESEXT, semaphores)

static GLenum APIENTRY wrap_GetError(void)
{
    GLenum error = planted;
    planted = GL_NO_ERROR;
    calls++;
    return error != GL_NO_ERROR ? error : real_GetError();
}

static const GLubyte *APIENTRY wrap_GetString(GLenum name)
{
    calls++;
    return name == GL_RENDERER && lying_gl.renderer != NULL ? (const GLubyte *)lying_gl.renderer
                                                            : real_GetString(name);
}

static const GLubyte *APIENTRY wrap_GetStringi(GLenum name, GLuint index)
{
    const GLubyte *text = real_GetStringi(name, index);
    calls++;
    for (size_t i = 0; text != NULL && i < sizeof lying_gl.hides / sizeof lying_gl.hides[0]; i++)
        if (lying_gl.hides[i] != NULL && strcmp((const char *)text, lying_gl.hides[i]) == 0)
            return (const GLubyte *)"GL_CULVERT_nothing";
    return text;
}

static void APIENTRY wrap_GetUnsignedBytei_vEXT(GLenum name, GLuint index, GLubyte *out)
{
    calls++;
    real_GetUnsignedBytei_vEXT(name, index, out);
    if (name == GL_DEVICE_UUID_EXT && lying_gl.uuid_xor) out[0] ^= 0xff;
    if (name == GL_DEVICE_UUID_EXT && lying_gl.no_uuid) memset(out, 0, 16);
}

#define CHANGED(X)                                                                                 \
    X(DeleteBuffers)                                                                               \
    X(DeleteTextures)                                                                              \
    X(DeleteMemoryObjectsEXT)                                                                      \
    X(DeleteSemaphoresEXT)                                                                         \
    X(GetError)                                                                                    \
    X(GetString)                                                                                   \
    X(GetStringi)                                                                                  \
    X(GetUnsignedBytei_vEXT)

void *lying_gl_get_proc(const char *name)
{
    void *real = raw_gl_get_proc(name), *mine = NULL;
    if (real == NULL) return NULL;
#define ROW(function)                                                                              \
    if (strcmp(name, "gl" #function) == 0) {                                                       \
        memcpy(&real_##function, &real, sizeof real);                                              \
        memcpy(&mine, &(void (*)(void)){(void (*)(void))wrap_##function}, sizeof mine);            \
    }
#define ROW_OF(function, NAME, types, values, effect) ROW(function)
    WRAPPED(ROW_OF)
    CHANGED(ROW)
#undef ROW_OF
#undef ROW
    return mine != NULL ? mine : real;
}
