/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: copies of rectangles and boxes, between memory of any kind and arrays.
 *
 * Positions and sizes along x are in bytes; along y they are rows of elements, so that a compressed
 * format counts in blocks. A pitch of 0, which cuda.h leaves open, is taken for a single row
 * only. */
#include "graph.h"
#include "graphics.h"

#define MAX_PITCH 0x7fffffffu /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

/* One side of CUDA_MEMCPY3D, or of CUDA_MEMCPY2D. */
struct box {
    CUmemorytype type;
    uintptr_t host, device;
    CUarray array;
    size_t x, y, z, lod;
    size_t pitch, height;
    const void *reserved;
    bool between; /* a copy between contexts: `context` says whose the memory is */
    CUcontext context;
};

/* *sum += a * b, unless that overflows. */
static bool add_product(size_t *sum, size_t a, size_t b)
{
    if (b != 0 && a > (SIZE_MAX - *sum) / b) return false;
    *sum += a * b;
    return true;
}

static bool fits(size_t start, size_t size, size_t limit)
{
    return size <= limit && start <= limit - size;
}

/* Of host memory and of arrays the context says nothing: an array knows its own. */
static bool has_context(const struct box *box)
{
    return box->between &&
           (box->type == CU_MEMORYTYPE_DEVICE || box->type == CU_MEMORYTYPE_UNIFIED);
}

static CUresult array_side(const struct box *box, const struct soft_extent *extent,
                           struct soft_side *out)
{
    const struct soft_array *array = soft_array_find(box->array);
    if (box->array == NULL) return CUDA_ERROR_INVALID_VALUE; /* measured */
    if (array == NULL) return CUDA_ERROR_INVALID_HANDLE;
    const struct soft_level *level = &array->level;
    /* A part of a texel may be copied (measured), of a block not. */
    const size_t unit = array->element.width > 1 ? array->element.bytes : 1;
    if (box->x % unit != 0 || extent->width % unit != 0 ||
        !fits(box->x, extent->width, level->width_bytes) ||
        !fits(box->y, extent->height, level->rows) ||
        !fits(box->z, extent->depth, array->faces_apart ? 1 : level->slices))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct soft_side){.start = (uintptr_t)array->start + box->z * (size_t)level->slice +
                                       box->y * level->pitch + box->x,
                              .pitch = level->pitch,
                              .slice = (size_t)level->slice,
                              .on_device = true,
                              .in = {.array = box->array, .x = box->x, .y = box->y, .z = box->z},
                              .sparse = array->sparse,
                              .sparse_level = array->sparse_level};
    return CUDA_SUCCESS;
}

static CUresult memory_side(const struct box *box, const struct soft_extent *extent,
                            size_t max_pitch, struct soft_side *out)
{
    const bool rows = extent->height > 1 || extent->depth > 1 || box->y > 0 || box->z > 0;
    if (box->pitch == 0 ? rows : box->pitch > max_pitch || !fits(box->x, extent->width, box->pitch))
        return CUDA_ERROR_INVALID_VALUE;
    if (box->height == 0 ? extent->depth > 1 || box->z > 0
                         : !fits(box->y, extent->height, box->height))
        return CUDA_ERROR_INVALID_VALUE;
    size_t start = box->type == CU_MEMORYTYPE_HOST ? box->host : box->device, span = 0, slice = 0;
    if (start == 0 || !add_product(&slice, box->pitch, box->height) ||
        !add_product(&start, box->z, slice) || !add_product(&start, box->y, box->pitch) ||
        !add_product(&start, box->x, 1) || !add_product(&span, extent->depth - 1, slice) ||
        !add_product(&span, extent->height - 1, box->pitch) ||
        !add_product(&span, extent->width, 1) || span > SIZE_MAX - start)
        return CUDA_ERROR_INVALID_VALUE;
    enum soft_side_kind kind = box->type == CU_MEMORYTYPE_HOST     ? SOFT_SIDE_HOST
                               : box->type == CU_MEMORYTYPE_DEVICE ? SOFT_SIDE_DEVICE
                                                                   : SOFT_SIDE_ANY;
    *out = (struct soft_side){.pitch = box->pitch, .slice = slice};
    const bool good = has_context(box) ? soft_side_in_context(kind, start, span, box->context, out)
                                       : soft_side_of_memory(kind, start, span, out);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult side_of(const struct box *box, const struct soft_extent *extent, size_t max_pitch,
                        struct soft_side *out)
{
    if (box->lod != 0 || box->reserved != NULL) return CUDA_ERROR_INVALID_VALUE;
    switch (box->type) {
    case CU_MEMORYTYPE_ARRAY: return array_side(box, extent, out);
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: return memory_side(box, extent, max_pitch, out);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Whose work a synchronous copy between contexts waits for. */
static CUcontext owner_of(const struct box *box, struct soft_context *current)
{
    const struct soft_array *array =
        box->type == CU_MEMORYTYPE_ARRAY ? soft_array_find(box->array) : NULL;
    if (has_context(box)) return box->context;
    return (CUcontext)(void *)(array == NULL ? current : array->object.context);
}

static CUresult copy_box(const char *call, CUstream handle, bool synchronous, size_t max_pitch,
                         const struct box *to, const struct box *from,
                         const struct soft_extent *extent)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_side to_side, from_side;
    SOFT_TRY(soft_begin_stream(call, handle, &context));
    if (to == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_stream_get(context, handle, &stream));
    if ((has_context(to) && soft_context_find(to->context) == NULL) ||
        (has_context(from) && soft_context_find(from->context) == NULL))
        return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (extent->width == 0 || extent->height == 0 || extent->depth == 0)
        return soft_end(CUDA_SUCCESS);
    if (synchronous && to->between) {
        result = soft_contexts_wait(owner_of(to, context), owner_of(from, context));
        if (result == CUDA_SUCCESS) result = soft_stream_get(context, handle, &stream);
        if (result != CUDA_SUCCESS) return soft_end(result);
    }
    result = side_of(to, extent, max_pitch, &to_side);
    if (result == CUDA_SUCCESS) result = side_of(from, extent, max_pitch, &from_side);
    if (result != CUDA_SUCCESS) return soft_end(result);
    result = soft_copy(stream, synchronous, &to_side, &from_side, *extent);
    if (result == CUDA_SUCCESS && to->type == CU_MEMORYTYPE_ARRAY)
        soft_graphics_copied(stream, soft_array_find(to->array));
    if (result == CUDA_SUCCESS && synchronous && to->between) result = soft_context_wait(context);
    return soft_end(result);
}

static CUresult copy_2d(const char *call, CUstream stream, bool synchronous, size_t max_pitch,
                        const CUDA_MEMCPY2D *c)
{
    if (c == NULL) return copy_box(call, stream, synchronous, max_pitch, NULL, NULL, NULL);
    const struct box to = {.type = c->dstMemoryType,
                           .host = (uintptr_t)c->dstHost,
                           .device = (uintptr_t)c->dstDevice,
                           .array = c->dstArray,
                           .x = c->dstXInBytes,
                           .y = c->dstY,
                           .pitch = c->dstPitch},
                     from = {.type = c->srcMemoryType,
                             .host = (uintptr_t)c->srcHost,
                             .device = (uintptr_t)c->srcDevice,
                             .array = c->srcArray,
                             .x = c->srcXInBytes,
                             .y = c->srcY,
                             .pitch = c->srcPitch};
    const struct soft_extent extent = {.width = c->WidthInBytes, .height = c->Height, .depth = 1};
    return copy_box(call, stream, synchronous, max_pitch, &to, &from, &extent);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(__func__, NULL, true, MAX_PITCH, pCopy);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(__func__, NULL, true, SIZE_MAX, pCopy);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(__func__, hStream, false, MAX_PITCH, pCopy);
}

static void boxes_of(const CUDA_MEMCPY3D *c, struct box *to, struct box *from,
                     struct soft_extent *extent)
{
    *to = (struct box){.type = c->dstMemoryType,
                       .host = (uintptr_t)c->dstHost,
                       .device = (uintptr_t)c->dstDevice,
                       .array = c->dstArray,
                       .x = c->dstXInBytes,
                       .y = c->dstY,
                       .z = c->dstZ,
                       .lod = c->dstLOD,
                       .pitch = c->dstPitch,
                       .height = c->dstHeight,
                       .reserved = c->reserved1};
    *from = (struct box){.type = c->srcMemoryType,
                         .host = (uintptr_t)c->srcHost,
                         .device = (uintptr_t)c->srcDevice,
                         .array = c->srcArray,
                         .x = c->srcXInBytes,
                         .y = c->srcY,
                         .z = c->srcZ,
                         .lod = c->srcLOD,
                         .pitch = c->srcPitch,
                         .height = c->srcHeight,
                         .reserved = c->reserved0};
    *extent =
        (struct soft_extent){.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
}

static CUresult copy_3d(const char *call, CUstream stream, bool synchronous, const CUDA_MEMCPY3D *c)
{
    struct box to, from;
    struct soft_extent extent;
    if (c == NULL) return copy_box(call, stream, synchronous, MAX_PITCH, NULL, NULL, NULL);
    boxes_of(c, &to, &from, &extent);
    return copy_box(call, stream, synchronous, MAX_PITCH, &to, &from, &extent);
}

CUresult soft_memcpy_make(const CUDA_MEMCPY3D *params, struct soft_op **out)
{
    struct box to, from;
    struct soft_extent extent;
    struct soft_side to_side, from_side;
    boxes_of(params, &to, &from, &extent);
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = side_of(&to, &extent, MAX_PITCH, &to_side);
    if (result == CUDA_SUCCESS) result = side_of(&from, &extent, MAX_PITCH, &from_side);
    return result == CUDA_SUCCESS ? soft_copy_make(&to_side, &from_side, extent, out) : result;
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return copy_3d(__func__, NULL, true, pCopy);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(__func__, hStream, false, pCopy);
}

static CUresult copy_3d_peer(const char *call, CUstream stream, bool synchronous,
                             const CUDA_MEMCPY3D_PEER *c)
{
    if (c == NULL) return copy_box(call, stream, synchronous, MAX_PITCH, NULL, NULL, NULL);
    const struct box to = {.type = c->dstMemoryType,
                           .host = (uintptr_t)c->dstHost,
                           .device = (uintptr_t)c->dstDevice,
                           .array = c->dstArray,
                           .x = c->dstXInBytes,
                           .y = c->dstY,
                           .z = c->dstZ,
                           .lod = c->dstLOD,
                           .pitch = c->dstPitch,
                           .height = c->dstHeight,
                           .between = true,
                           .context = c->dstContext},
                     from = {.type = c->srcMemoryType,
                             .host = (uintptr_t)c->srcHost,
                             .device = (uintptr_t)c->srcDevice,
                             .array = c->srcArray,
                             .x = c->srcXInBytes,
                             .y = c->srcY,
                             .z = c->srcZ,
                             .lod = c->srcLOD,
                             .pitch = c->srcPitch,
                             .height = c->srcHeight,
                             .between = true,
                             .context = c->srcContext};
    const struct soft_extent extent = {
        .width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
    return copy_box(call, stream, synchronous, MAX_PITCH, &to, &from, &extent);
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return copy_3d_peer(__func__, NULL, true, pCopy);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(__func__, hStream, false, pCopy);
}

/* Bytes in the first row of arrays, as cuda.h has it of one-dimensional ones. */
static CUresult copy_row(const char *call, CUstream stream, bool synchronous, const struct box *to,
                         const struct box *from, size_t size)
{
    const struct soft_extent extent = {.width = size, .height = 1, .depth = 1};
    return copy_box(call, stream, synchronous, MAX_PITCH, to, from, &extent);
}

static struct box in_array(CUarray array, size_t offset)
{
    return (struct box){.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}

static struct box in_host(const void *host)
{
    return (struct box){.type = CU_MEMORYTYPE_HOST, .host = (uintptr_t)host};
}

static struct box in_device(CUdeviceptr device)
{
    return (struct box){.type = CU_MEMORYTYPE_DEVICE, .device = (uintptr_t)device};
}

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                 size_t ByteCount)
{
    const struct box to = in_array(dstArray, dstOffset), from = in_host(srcHost);
    return copy_row(__func__, NULL, true, &to, &from, ByteCount);
}

CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    const struct box to = in_host(dstHost), from = in_array(srcArray, srcOffset);
    return copy_row(__func__, NULL, true, &to, &from, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                 size_t ByteCount)
{
    const struct box to = in_array(dstArray, dstOffset), from = in_device(srcDevice);
    return copy_row(__func__, NULL, true, &to, &from, ByteCount);
}

CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    const struct box to = in_device(dstDevice), from = in_array(srcArray, srcOffset);
    return copy_row(__func__, NULL, true, &to, &from, ByteCount);
}

CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                 size_t srcOffset, size_t ByteCount)
{
    const struct box to = in_array(dstArray, dstOffset), from = in_array(srcArray, srcOffset);
    return copy_row(__func__, NULL, true, &to, &from, ByteCount);
}
