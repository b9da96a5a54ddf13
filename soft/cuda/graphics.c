/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: graphics resources, which are buffers and images of OpenGL.
 *
 * A map copies GL's bytes into memory of the twin's, an unmap waits for the stream and copies them
 * back. A pointer or array that is used after its unmap therefore reaches nothing, what CUDA writes
 * into a READ_ONLY resource is lost, and one that is to be discarded begins with bytes of 0xa5:
 * cuda.h leaves all three undefined.
 *
 * Each of these calls needs a current GL context of the share group in which the object was
 * registered, the unregistration too. */
#include "capture.h"
#include "gl.h"

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
    struct soft_object object;
    struct soft_gl_group group;
    bool is_image;
    unsigned flags;     /* of the registration */
    unsigned map_flags; /* of the next mapping */
    GLuint_ name;
    size_t size;                /* a buffer's */
    struct soft_gl_image image; /* what it was when it was registered */
    /* While it is mapped: */
    bool mapped, writes; /* writes: what CUDA wrote goes back */
    uint8_t *start;      /* a buffer's */
    struct soft_mipmap *arrays;
    struct soft_array **parts; /* one for each level and layer, made when it is asked for */
    bool listed;               /* in the call that is being looked at */
};

static unsigned layers_of(const struct resource *r)
{
    return r->image.desc.Flags != 0 && r->image.desc.Depth > 0 &&
                   (r->image.desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
               ? (unsigned)r->image.desc.Depth
               : 1;
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

/* Takes `r` and unlocks, in any case. */
static CUresult publish_and_end(struct soft_context *context, const struct soft_gl *gl,
                                struct resource *r, CUgraphicsResource *out)
{
    CUresult result = soft_gl_mark(gl, &r->group);
    if (result != CUDA_SUCCESS) {
        free(r);
        return soft_end(result);
    }
    soft_object_add(&r->object, SOFT_GRAPHICS, context);
    *out = (CUgraphicsResource)(void *)r;
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
    r->size = size;
    r->flags = Flags;
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
    r->is_image = true;
    r->name = image;
    r->image = found;
    r->flags = Flags;
    return publish_and_end(context, gl, r, pCudaResource);
}

/* What the mapping gave goes; GL's object stays as it is. */
static void drop_mapping(struct resource *r)
{
    if (!r->mapped) return;
    if (r->is_image) {
        for (unsigned i = 0; i < layers_of(r) * r->image.levels; i++)
            if (r->parts[i] != NULL) soft_array_slice_free(r->parts[i]);
        free(r->parts);
        r->parts = NULL;
        soft_mipmap_free(r->arrays);
        r->arrays = NULL;
    } else {
        soft_range_remove(soft_range_find((uintptr_t)r->start));
        r->start = NULL;
    }
    r->mapped = false;
}

void soft_graphics_free(void *resource)
{
    struct resource *r = resource;
    drop_mapping(r);
    soft_object_remove(&r->object);
    free(r);
}

CUresult CUDAAPI cuGraphicsUnregisterResource(CUgraphicsResource resource)
{
    struct soft_context *context;
    const struct soft_gl *gl;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT_TO_FREE, &context);
    if (result != CUDA_SUCCESS) return result;
    struct resource *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (r->object.context != context) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    const CUresult error = (CUresult)context->error; /* told, and freed all the same */
    if (r->mapped && error == CUDA_SUCCESS) return soft_end(CUDA_ERROR_ALREADY_MAPPED);
    result = soft_gl_current(&gl);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (!soft_gl_in_group(gl, &r->group)) return soft_end(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
    gl->DeleteSync(r->group.sync);
    soft_graphics_free(r);
    return soft_end(error);
}

CUresult CUDAAPI cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    struct resource *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE &&
        flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY &&
        flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (r->mapped) return soft_end(CUDA_ERROR_ALREADY_MAPPED);
    r->map_flags = flags;
    return soft_end(CUDA_SUCCESS);
}

/* GL's object, as it was when it was registered, and not in GL's use. */
static CUresult check_object(const struct soft_gl *gl, const struct resource *r)
{
    if (r->is_image) {
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
    if (look_at_buffer(gl, r->name, &size) != CUDA_SUCCESS || size != r->size)
        return CUDA_ERROR_UNKNOWN;
    gl->GetNamedBufferParameteriv(r->name, GL_BUFFER_MAPPED, &mapped);
    gl->GetNamedBufferParameteriv(r->name, GL_BUFFER_ACCESS_FLAGS, &access);
    return mapped && !(access & GL_MAP_PERSISTENT_BIT) ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

static CUresult check_one(struct soft_context *context, const struct soft_gl *gl,
                          CUgraphicsResource handle, bool map)
{
    struct resource *r = soft_object_find(handle, SOFT_GRAPHICS);
    if (r == NULL) return CUDA_ERROR_INVALID_HANDLE;
    /* cuda.h calls duplicates invalid handles; NVIDIA's driver comes upon one that it just did,
     * and undoes maps alone. */
    if (r->listed && map) return CUDA_ERROR_ALREADY_MAPPED;
    r->listed = true;
    if (r->object.context != context) return CUDA_ERROR_INVALID_CONTEXT;
    if (r->mapped == map) return map ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_NOT_MAPPED;
    if (!soft_gl_in_group(gl, &r->group)) return CUDA_ERROR_INVALID_GRAPHICS_CONTEXT;
    /* An object that is gone at the unmap has nowhere to take its bytes. */
    return map ? check_object(gl, r) : CUDA_SUCCESS;
}

/* All of a list, before anything is done to one of them. */
static CUresult check_all(struct soft_context *context, const struct soft_gl *gl, unsigned count,
                          CUgraphicsResource *resources, bool map)
{
    CUresult result = count == 0 || resources == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    unsigned seen = 0;
    while (result == CUDA_SUCCESS && seen < count)
        result = check_one(context, gl, resources[seen++], map);
    for (unsigned i = 0; i < seen; i++) {
        struct resource *r = soft_object_find(resources[i], SOFT_GRAPHICS);
        if (r != NULL) r->listed = false;
    }
    return result;
}

/* Locked on success, with the stream and the GL context that they are in. */
static CUresult begin_mapping(const char *call, unsigned count, CUgraphicsResource *resources,
                              CUstream handle, bool map, struct soft_context **context,
                              struct soft_stream **stream, const struct soft_gl **gl)
{
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(*context, handle, stream);
    if (result == CUDA_SUCCESS) result = soft_capture_allows_wait(*stream);
    if (result == CUDA_SUCCESS) result = soft_gl_current(gl);
    if (result == CUDA_SUCCESS) result = check_all(*context, *gl, count, resources, map);
    return result == CUDA_SUCCESS ? result : soft_end(result);
}

static CUresult map_buffer(struct soft_context *context, struct resource *r)
{
    struct soft_range range = {.size = r->size, .kind = SOFT_RANGE_GRAPHICS, .context = context};
    r->start = soft_map_guarded(r->size, &range.map, &range.map_size);
    if (r->start == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    range.start = (uintptr_t)r->start;
    CUresult result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) soft_unmap(range.map, range.map_size);
    return result;
}

static CUresult map_image(struct soft_context *context, struct resource *r)
{
    r->parts = calloc((size_t)layers_of(r) * r->image.levels, sizeof(struct soft_array *));
    if (r->parts == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_mipmap_new(context, &r->image.desc, r->image.levels, &r->arrays);
    if (result != CUDA_SUCCESS) {
        free(r->parts);
        r->parts = NULL;
        return result;
    }
    r->arrays->of_graphics = true;
    return CUDA_SUCCESS;
}

static void fill_mapping(const struct soft_gl *gl, struct resource *r)
{
    const bool discard = (r->flags | r->map_flags) & CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD;
    r->writes = !((r->flags | r->map_flags) & CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY);
    if (r->is_image && discard)
        for (unsigned i = 0; i < r->image.levels; i++)
            memset(r->arrays->levels[i].start, 0xa5,
                   r->arrays->levels[i].level.slice * r->arrays->levels[i].level.slices);
    else if (r->is_image)
        soft_gl_read_image(gl, &r->image, r->arrays);
    else if (discard)
        memset(r->start, 0xa5, r->size);
    else
        soft_gl_read_buffer(gl, r->name, r->size, r->start);
}

CUresult CUDAAPI cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources,
                                        CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    const struct soft_gl *gl;
    CUresult result =
        begin_mapping(__func__, count, resources, hStream, true, &context, &stream, &gl);
    if (result != CUDA_SUCCESS) return result;
    unsigned done = 0;
    for (; done < count; done++) {
        struct resource *r = soft_object_find(resources[done], SOFT_GRAPHICS);
        result = r->is_image ? map_image(context, r) : map_buffer(context, r);
        if (result != CUDA_SUCCESS) break;
        r->mapped = true;
    }
    if (result != CUDA_SUCCESS) { /* all or none */
        while (done-- > 0)
            drop_mapping(soft_object_find(resources[done], SOFT_GRAPHICS));
        return soft_end(result);
    }
    gl->Finish();
    for (unsigned i = 0; i < count; i++)
        fill_mapping(gl, soft_object_find(resources[i], SOFT_GRAPHICS));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources,
                                          CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    const struct soft_gl *gl;
    CUresult result =
        begin_mapping(__func__, count, resources, hStream, false, &context, &stream, &gl);
    if (result != CUDA_SUCCESS) return result;
    /* Of the other streams nothing is promised. */
    result = soft_stream_wait(stream);
    /* Meanwhile another thread may have unmapped, or ended the context. */
    if (result == CUDA_SUCCESS) result = check_all(context, gl, count, resources, false);
    if (result != CUDA_SUCCESS) return soft_end(result);
    for (unsigned i = 0; i < count; i++) {
        struct resource *r = soft_object_find(resources[i], SOFT_GRAPHICS);
        if (!r->mapped) { /* a duplicate */
            result = CUDA_ERROR_NOT_MAPPED;
            break;
        }
        const CUresult there = r->writes ? check_object(gl, r) : CUDA_SUCCESS;
        if (there != CUDA_SUCCESS)
            result = CUDA_ERROR_UNMAP_FAILED; /* unmapped, and what CUDA wrote is lost */
        else if (r->writes && r->is_image)
            soft_gl_write_image(gl, &r->image, r->arrays);
        else if (r->writes)
            soft_gl_write_buffer(gl, r->name, r->size, r->start);
        drop_mapping(r);
    }
    return soft_end(result);
}

CUresult CUDAAPI cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *pDevPtr, size_t *pSize,
                                                       CUgraphicsResource resource)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const struct resource *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (pDevPtr == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (r->is_image) return soft_end(CUDA_ERROR_NOT_MAPPED_AS_POINTER);
    if (!r->mapped) return soft_end(CUDA_ERROR_NOT_MAPPED);
    *pDevPtr = (CUdeviceptr)(uintptr_t)r->start;
    if (pSize != NULL) *pSize = r->size;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *pMipmappedArray,
                                                           CUgraphicsResource resource)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const struct resource *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (pMipmappedArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!r->is_image) return soft_end(CUDA_ERROR_NOT_MAPPED_AS_ARRAY);
    if (!r->mapped) return soft_end(CUDA_ERROR_NOT_MAPPED);
    *pMipmappedArray = (CUmipmappedArray)(void *)r->arrays;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphicsSubResourceGetMappedArray(CUarray *pArray, CUgraphicsResource resource,
                                                     unsigned int arrayIndex, unsigned int mipLevel)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    struct resource *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (pArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!r->is_image) return soft_end(CUDA_ERROR_NOT_MAPPED_AS_ARRAY);
    if (!r->mapped) return soft_end(CUDA_ERROR_NOT_MAPPED);
    const unsigned layers = layers_of(r);
    if (arrayIndex >= layers || mipLevel >= r->image.levels)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_array *level = &r->arrays->levels[mipLevel];
    if (r->image.desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) {
        struct soft_array **part = &r->parts[mipLevel * layers + arrayIndex];
        if (*part == NULL) *part = soft_array_slice(level, arrayIndex);
        if (*part == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        level = *part;
    }
    *pArray = (CUarray)(void *)level;
    return soft_end(CUDA_SUCCESS);
}
