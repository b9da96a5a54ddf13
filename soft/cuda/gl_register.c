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
    CUresult result = soft_gl_current(&gl);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, context);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin_registration(__func__, pCudaResource, Flags, MAP_FLAGS, &context, &gl);
    if (result != CUDA_SUCCESS) return result;
    result = look_at_buffer(gl, buffer, &size);
    if (result != CUDA_SUCCESS) return soft_end(result);
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
    CUresult result =
        begin_registration(__func__, pCudaResource, Flags, IMAGE_FLAGS, &context, &gl);
    if (result != CUDA_SUCCESS) return result;
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
