/* SPDX-License-Identifier: MIT */
/* OpenGL contexts by EGL, without EGL's headers and without linking anything. */
#include "raw_gl.h"

#include <dlfcn.h>

enum {
    EGL_EXTENSIONS = 0x3055,
    EGL_NONE = 0x3038,
    EGL_OPENGL_ES_API = 0x30a0,
    EGL_OPENGL_API = 0x30a2,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    EGL_CONTEXT_MINOR_VERSION = 0x30fb,
    EGL_CONTEXT_OPENGL_PROFILE_MASK = 0x30fd,
    EGL_PLATFORM_DEVICE_EXT = 0x313f,
    EGL_PLATFORM_SURFACELESS_MESA = 0x31dd,
    EGL_CUDA_DEVICE_NV = 0x323a
};

typedef void (*any_fn)(void);

static struct egl {
    void *library;
    any_fn (*GetProcAddress)(const char *);
    void *(*GetPlatformDisplay)(unsigned, void *, const intptr_t *);
    unsigned (*Initialize)(void *, int *, int *);
    int (*GetError)(void);
    unsigned (*BindAPI)(unsigned);
    void *(*CreateContext)(void *, void *, void *, const int *);
    unsigned (*MakeCurrent)(void *, void *, void *, void *);
    unsigned (*DestroyContext)(void *, void *);
    unsigned (*QueryDevicesEXT)(int, void **, int *);
    unsigned (*QueryDeviceAttribEXT)(void *, int, intptr_t *);
} egl;

void *raw_gl_get_proc(const char *name)
{
    void *found;
    any_fn function = egl.GetProcAddress(name);
    memcpy(&found, &function, sizeof found);
    return found;
}

static bool load(const char *name, void *function, size_t size)
{
    char full[64];
    snprintf(full, sizeof full, "egl%s", name);
    void *symbol = dlsym(egl.library, full);
    if (symbol == NULL && egl.GetProcAddress != NULL) symbol = raw_gl_get_proc(full);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}
#define LOAD(name) load(#name, &egl.name, sizeof egl.name)

static const char *open_egl(void)
{
    if (egl.library != NULL) return NULL;
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (library == NULL) return "no libEGL.so.1";
    egl.library = library;
    if (!LOAD(GetProcAddress) || !LOAD(GetPlatformDisplay) || !LOAD(Initialize) ||
        !LOAD(GetError) || !LOAD(BindAPI) || !LOAD(CreateContext) || !LOAD(MakeCurrent) ||
        !LOAD(DestroyContext))
        FAIL("libEGL.so.1 lacks a function of EGL 1.5");
    LOAD(QueryDevicesEXT);
    LOAD(QueryDeviceAttribEXT);
    return NULL;
}

/* The display of the EGL device that is this CUDA device; NULL: there is none. */
static void *device_display(int ordinal)
{
    void *devices[32];
    int count = 0;
    if (egl.QueryDevicesEXT == NULL || egl.QueryDeviceAttribEXT == NULL ||
        !egl.QueryDevicesEXT(32, devices, &count))
        return NULL;
    for (int i = 0; i < count; i++) {
        intptr_t number = -1;
        if (egl.QueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE_NV, &number) && number == ordinal)
            return egl.GetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
    }
    return NULL;
}

/* Each thread has its own. */
static void bind_api(const raw_gl *gl)
{
    egl.BindAPI(gl->profile == RAW_GL_ES ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
}

static void *make_context(const raw_gl *gl, void *share)
{
    static const int es[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2, EGL_NONE};
    const int wanted[] = {EGL_CONTEXT_MAJOR_VERSION,
                          4,
                          EGL_CONTEXT_MINOR_VERSION,
                          5,
                          EGL_CONTEXT_OPENGL_PROFILE_MASK,
                          gl->profile,
                          EGL_NONE};
    bind_api(gl);
    return egl.CreateContext(gl->display, NULL, share, /* EGL_KHR_no_config_context */
                             gl->profile == RAW_GL_ES ? es : wanted);
}

const char *raw_gl_try(raw_gl *gl, bool software, int ordinal, int profile)
{
    memset(gl, 0, sizeof *gl);
    const char *why = open_egl();
    if (why != NULL) return why;
    gl->software = software;
    gl->profile = profile;
    gl->display = software ? egl.GetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL)
                           : device_display(ordinal);
    if (gl->display == NULL || !egl.Initialize(gl->display, NULL, NULL))
        return "EGL has no display of the CUDA device, or of Mesa's software driver";
    gl->context = make_context(gl, NULL);
    if (gl->context == NULL) return "EGL has no context of OpenGL 4.5, or of OpenGL ES 3.2";
    raw_gl_current(gl, gl->context);
#define RAW_GL_LOAD(name, NAME)                                                                    \
    {                                                                                              \
        void *function = raw_gl_get_proc("gl" #name);                                              \
        if (function == NULL) FAIL("OpenGL has no gl%s", #name);                                   \
        memcpy(&gl->name, &function, sizeof gl->name);                                             \
    }
    RAW_GL_PROCS(RAW_GL_LOAD)
#undef RAW_GL_LOAD
    return NULL;
}

void raw_gl_open(raw_gl *gl, bool software, int ordinal, int profile)
{
    const char *why = raw_gl_try(gl, software, ordinal, profile);
    if (why != NULL) SKIP("%s", why);
}

void *raw_gl_another(const raw_gl *gl, bool shares)
{
    void *context = make_context(gl, shares ? gl->context : NULL);
    if (context == NULL && gl->profile != RAW_GL_ES) FAIL("no second context");
    return context;
}

void raw_gl_current(const raw_gl *gl, void *context)
{
    bind_api(gl);
    if (!egl.MakeCurrent(gl->display, NULL, NULL, context))
        FAIL("eglMakeCurrent of %p: EGL error %#x", context, (unsigned)egl.GetError());
}

void raw_gl_destroy(const raw_gl *gl, void *context)
{
    if (!egl.DestroyContext(gl->display, context)) FAIL("eglDestroyContext");
}

void raw_gl_close(raw_gl *gl)
{
    raw_gl_current(gl, gl->context);
    raw_gl_require_ok(gl, "the case", __FILE__, __LINE__);
    raw_gl_current(gl, NULL);
    raw_gl_destroy(gl, gl->context);
    gl->context = NULL; /* the display stays: it is the process's, and others may use it */
}

void raw_gl_require_ok(const raw_gl *gl, const char *what, const char *file, int line)
{
    const GLenum error = gl->GetError();
    if (error != 0) test_fail(file, line, "%s: OpenGL error 0x%x", what, error);
}

void raw_gl_read_buffer(const raw_gl *gl, GLuint buffer, void *data, size_t size)
{
    GLuint other = 0;
    gl->CreateBuffers(1, &other);
    gl->NamedBufferStorage(other, (GLsizeiptr)size, NULL, GL_MAP_READ_BIT);
    gl->CopyNamedBufferSubData(buffer, other, 0, 0, (GLsizeiptr)size);
    const void *mapped = gl->MapNamedBufferRange(other, 0, (GLsizeiptr)size, GL_MAP_READ_BIT);
    if (mapped == NULL) FAIL("a buffer cannot be read: OpenGL error 0x%x", gl->GetError());
    memcpy(data, mapped, size);
    gl->UnmapNamedBuffer(other);
    gl->DeleteBuffers(1, &other);
}

void raw_gl_write_buffer(const raw_gl *gl, GLuint buffer, const void *data, size_t size)
{
    GLuint other = 0;
    gl->CreateBuffers(1, &other);
    gl->NamedBufferStorage(other, (GLsizeiptr)size, data, 0);
    gl->CopyNamedBufferSubData(other, buffer, 0, 0, (GLsizeiptr)size);
    gl->DeleteBuffers(1, &other);
}

/* Images of OpenGL, written and read. */

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
