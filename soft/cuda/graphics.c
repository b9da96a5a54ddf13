/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: registered resources of graphics APIs, mapped and unmapped. */
#include "graphics.h"

#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned soft_graphics_layers(const struct soft_graphics *r)
{
    return r->desc.Depth > 0 && (r->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
               ? (unsigned)r->desc.Depth
               : 1;
}

void soft_graphics_add(struct soft_graphics *r, const struct soft_graphics_api *api,
                       struct soft_context *context, CUgraphicsResource *out)
{
    r->api = api;
    soft_object_add(&r->object, SOFT_GRAPHICS, context);
    *out = (CUgraphicsResource)(void *)r;
}

static unsigned num_kept; /* resources whose arrays outlived their unmap */

/* What the mapping gave goes; the API's object stays as it is. */
static void drop_mapping(struct soft_graphics *r)
{
    if (!r->mapped && !r->kept) return;
    if (r->kept) num_kept--;
    r->kept = false;
    if (r->is_image) {
        for (unsigned i = 0; i < soft_graphics_layers(r) * r->levels; i++)
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
    struct soft_graphics *r = resource;
    drop_mapping(r);
    r->api->end(r);
    soft_object_remove(&r->object);
    free(r);
}

CUresult CUDAAPI cuGraphicsUnregisterResource(CUgraphicsResource resource)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT_TO_FREE, context);
    struct soft_graphics *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (r->object.context != context) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    const CUresult error = (CUresult)context->error; /* told, and freed all the same */
    if (r->mapped && error == CUDA_SUCCESS) return soft_end(CUDA_ERROR_ALREADY_MAPPED);
    SOFT_STEP(r->api->enter(r));
    r->api->unregister(r);
    soft_graphics_free(r);
    return soft_end(error);
}

CUresult CUDAAPI cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_graphics *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE &&
        flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY &&
        flags != CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (r->mapped) return soft_end(CUDA_ERROR_ALREADY_MAPPED);
    r->map_flags = flags;
    return soft_end(CUDA_SUCCESS);
}

static CUresult check_one(struct soft_context *context, CUgraphicsResource handle, bool map)
{
    struct soft_graphics *r = soft_object_find(handle, SOFT_GRAPHICS);
    if (r == NULL) return CUDA_ERROR_INVALID_HANDLE;
    /* cuda.h calls duplicates invalid handles; NVIDIA's driver comes upon one that it just did,
     * and undoes maps alone. */
    if (r->listed && map) return CUDA_ERROR_ALREADY_MAPPED;
    r->listed = true;
    if (r->object.context != context) return CUDA_ERROR_INVALID_CONTEXT;
    if (r->mapped == map) return map ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_NOT_MAPPED;
    CUresult result = r->api->enter(r);
    /* An object that is gone at the unmap has nowhere to take its bytes. */
    return result == CUDA_SUCCESS && map ? r->api->check(r) : result;
}

/* All of a list, before anything is done to one of them. */
static CUresult check_all(struct soft_context *context, unsigned count,
                          CUgraphicsResource *resources, bool map)
{
    CUresult result = count == 0 || resources == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    unsigned seen = 0;
    while (result == CUDA_SUCCESS && seen < count)
        result = check_one(context, resources[seen++], map);
    for (unsigned i = 0; i < seen; i++) {
        struct soft_graphics *r = soft_object_find(resources[i], SOFT_GRAPHICS);
        if (r != NULL) r->listed = false;
    }
    return result;
}

/* Of the first resource of a list, before any is looked at. */
static CUresult check_current(unsigned count, CUgraphicsResource *resources)
{
    const struct soft_graphics *first =
        count > 0 && resources != NULL ? soft_object_find(resources[0], SOFT_GRAPHICS) : NULL;
    return first != NULL ? first->api->current() : CUDA_SUCCESS;
}

/* Locked on success, with the stream that they are mapped in. */
static CUresult begin_mapping(const char *call, unsigned count, CUgraphicsResource *resources,
                              CUstream handle, bool map, struct soft_context **context,
                              struct soft_stream **stream)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, context));
    result = soft_stream_get(*context, handle, stream);
    if (result == CUDA_SUCCESS) result = soft_capture_allows_wait(*stream);
    if (result == CUDA_SUCCESS) result = check_current(count, resources);
    if (result == CUDA_SUCCESS) result = check_all(*context, count, resources, map);
    return result == CUDA_SUCCESS ? result : soft_end(result);
}

static CUresult map_buffer(struct soft_context *context, struct soft_graphics *r)
{
    struct soft_range range = {.size = r->size, .kind = SOFT_RANGE_GRAPHICS, .context = context};
    r->start = soft_map_guarded(r->size, &range.map, &range.map_size);
    if (r->start == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    range.start = (uintptr_t)r->start;
    CUresult result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) soft_unmap(range.map, range.map_size);
    return result;
}

static CUresult map_image(struct soft_context *context, struct soft_graphics *r)
{
    r->parts = calloc((size_t)soft_graphics_layers(r) * r->levels, sizeof(struct soft_array *));
    if (r->parts == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_mipmap_new(context, &r->desc, r->levels, &r->arrays);
    if (result != CUDA_SUCCESS) {
        free(r->parts);
        r->parts = NULL;
        return result;
    }
    r->arrays->of_graphics = true;
    for (unsigned i = 0; i < r->levels; i++)
        r->arrays->levels[i].faces_apart = (r->desc.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    return CUDA_SUCCESS;
}

static uint64_t sum_of(uint64_t sum, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return sum;
}

/* Tells whether CUDA has written into what it said to read. */
static uint64_t sum_mapping(const struct soft_graphics *r)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    if (!r->is_image) return sum_of(sum, r->start, r->size);
    for (unsigned i = 0; i < r->levels; i++)
        sum = sum_of(sum, r->arrays->levels[i].start,
                     r->arrays->levels[i].level.slice * r->arrays->levels[i].level.slices);
    return sum;
}

static void fill_mapping(struct soft_graphics *r)
{
    const bool discard = (r->flags | r->map_flags) & CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD;
    r->writes = !((r->flags | r->map_flags) & CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY);
    if (r->is_image && discard)
        for (unsigned i = 0; i < r->levels; i++)
            memset(r->arrays->levels[i].start, 0xa5,
                   r->arrays->levels[i].level.slice * r->arrays->levels[i].level.slices);
    else if (discard)
        memset(r->start, 0xa5, r->size);
    else
        r->api->read(r);
    if (!r->writes) r->before = sum_mapping(r);
}

CUresult CUDAAPI cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources,
                                        CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    SOFT_TRY(begin_mapping(__func__, count, resources, hStream, true, &context, &stream));
    unsigned done = 0;
    for (; done < count; done++) {
        struct soft_graphics *r = soft_object_find(resources[done], SOFT_GRAPHICS);
        drop_mapping(r); /* what the last one left */
        result = r->is_image ? map_image(context, r) : map_buffer(context, r);
        if (result != CUDA_SUCCESS) break;
        r->mapped = true;
    }
    if (result != CUDA_SUCCESS) { /* all or none */
        while (done-- > 0)
            drop_mapping(soft_object_find(resources[done], SOFT_GRAPHICS));
        return soft_end(result);
    }
    for (unsigned i = 0; i < count; i++) {
        struct soft_graphics *r = soft_object_find(resources[i], SOFT_GRAPHICS);
        if (i == 0) r->api->finish(r);
        fill_mapping(r);
    }
    return soft_end(CUDA_SUCCESS);
}

static void end_mapping(struct soft_graphics *r)
{
    if (!r->is_image || !r->api->keeps_arrays) {
        drop_mapping(r);
        return;
    }
    r->mapped = false;
    r->kept = true;
    r->written_late = false;
    num_kept++;
}

struct search {
    uintptr_t address;
    struct soft_graphics *found;
};

static void look_for(void *object, void *arg)
{
    struct soft_graphics *r = object;
    struct search *search = arg;
    if (r->kept &&
        search->address - (uintptr_t)r->arrays->mapping.map < r->arrays->mapping.map_size)
        search->found = r;
}

void soft_graphics_copied(struct soft_stream *stream, const struct soft_array *array)
{
    static bool told;
    struct search search = {.address = (uintptr_t)array->start};
    if (num_kept == 0) return;
    soft_objects_each(SOFT_GRAPHICS, look_for, &search);
    if (search.found == NULL) return;
    if (!told)
        fprintf(stderr,
                "culvert: a copy into an array of OpenGL's, after cuGraphicsUnmapResources(). "
                "cuda.h leaves that undefined: as with NVIDIA's driver 580 the first such copy "
                "reaches OpenGL, and later ones need not. Map the resource for each frame. "
                "(Told once.)\n");
    told = true;
    if (!search.found->writes || search.found->written_late ||
        soft_stream_place(stream)->capture != NULL || soft_stream_wait(stream) != CUDA_SUCCESS)
        return;
    search.found = NULL; /* another thread may have taken it away meanwhile */
    soft_objects_each(SOFT_GRAPHICS, look_for, &search);
    struct soft_graphics *r = search.found;
    if (r == NULL || r->api->current() != CUDA_SUCCESS || r->api->enter(r) != CUDA_SUCCESS ||
        r->api->check(r) != CUDA_SUCCESS)
        return;
    r->api->write(r);
    r->written_late = true;
}

CUresult CUDAAPI cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources,
                                          CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    SOFT_TRY(begin_mapping(__func__, count, resources, hStream, false, &context, &stream));
    /* Of the other streams nothing is promised. */
    result = soft_stream_wait(stream);
    /* Meanwhile another thread may have unmapped, or ended the context. */
    if (result == CUDA_SUCCESS) result = check_all(context, count, resources, false);
    if (result != CUDA_SUCCESS) return soft_end(result);
    for (unsigned i = 0; i < count; i++) {
        struct soft_graphics *r = soft_object_find(resources[i], SOFT_GRAPHICS);
        if (!r->mapped) { /* a duplicate */
            result = CUDA_ERROR_NOT_MAPPED;
            break;
        }
        const bool lost =
            r->writes ? r->api->check(r) != CUDA_SUCCESS : sum_mapping(r) != r->before;
        if (lost)
            result = CUDA_ERROR_UNMAP_FAILED; /* unmapped, and what CUDA wrote is lost */
        else if (r->writes)
            r->api->write(r);
        end_mapping(r);
    }
    return soft_end(result);
}

CUresult CUDAAPI cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *pDevPtr, size_t *pSize,
                                                       CUgraphicsResource resource)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_graphics *r = soft_object_find(resource, SOFT_GRAPHICS);
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
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_graphics *r = soft_object_find(resource, SOFT_GRAPHICS);
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
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_graphics *r = soft_object_find(resource, SOFT_GRAPHICS);
    if (r == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (pArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!r->is_image) return soft_end(CUDA_ERROR_NOT_MAPPED_AS_ARRAY);
    if (!r->mapped) return soft_end(CUDA_ERROR_NOT_MAPPED);
    const unsigned layers = soft_graphics_layers(r);
    if (arrayIndex >= layers || mipLevel >= r->levels) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_array *level = &r->arrays->levels[mipLevel];
    if (r->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) {
        struct soft_array **part = &r->parts[mipLevel * layers + arrayIndex];
        if (*part == NULL) *part = soft_array_slice(level, arrayIndex);
        if (*part == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        level = *part;
    }
    *pArray = (CUarray)(void *)level;
    return soft_end(CUDA_SUCCESS);
}
