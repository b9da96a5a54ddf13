/* SPDX-License-Identifier: MIT */
/* See raw_cuda_image.h. */
#include "raw_cuda_image.h"

CUDA_ARRAY3D_DESCRIPTOR raw_cuda_array_desc(CUarray_format format, unsigned channels, size_t width,
                                            size_t height)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = width,
                                     .Height = height,
                                     .Format = format,
                                     .NumChannels = channels,
                                     .Flags = CUDA_ARRAY3D_SURFACE_LDST};
}

CUresult raw_cuda_map_image(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                            const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels,
                            CUmipmappedArray *out)
{
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC mapping = {
        .offset = offset, .arrayDesc = *desc, .numLevels = levels};
    return cu->ExternalMemoryGetMappedMipmappedArray(out, memory, &mapping);
}

CUresult raw_cuda_surface(const raw_cuda *cu, CUarray array, CUsurfObject *out)
{
    const CUDA_RESOURCE_DESC desc = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    return cu->SurfObjectCreate(out, &desc);
}

CUDA_TEXTURE_DESC raw_cuda_sampling(CUaddress_mode mode, CUfilter_mode filter, unsigned flags)
{
    return (CUDA_TEXTURE_DESC){
        .addressMode = {mode, mode, mode}, .filterMode = filter, .flags = flags};
}

static CUresult make_texture(const raw_cuda *cu, const CUDA_RESOURCE_DESC *resource,
                             const CUDA_TEXTURE_DESC *desc, CUtexObject *out)
{
    const bool mipmapped = resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    const CUDA_TEXTURE_DESC usual =
        raw_cuda_sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                          mipmapped ? CU_TRSF_NORMALIZED_COORDINATES : 0);
    return cu->TexObjectCreate(out, resource, desc != NULL ? desc : &usual, NULL);
}

CUresult raw_cuda_texture(const raw_cuda *cu, CUarray array, const CUDA_TEXTURE_DESC *desc,
                          CUtexObject *out)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    return make_texture(cu, &resource, desc, out);
}

CUresult raw_cuda_mip_texture(const raw_cuda *cu, CUmipmappedArray mipmap,
                              const CUDA_TEXTURE_DESC *desc, CUtexObject *out)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                         .res.mipmap.hMipmappedArray = mipmap};
    return make_texture(cu, &resource, desc, out);
}

CUresult raw_cuda_read_places(const raw_cuda *cu, CUfunction kernel, CUtexObject texture,
                              const raw_cuda_place *places, int count, void *out, size_t bytes,
                              CUstream stream)
{
    const size_t size = (size_t)count * sizeof *places;
    CUdeviceptr in = raw_cuda_memory(cu, size), found = raw_cuda_memory(cu, (size_t)count * bytes);
    void *params[] = {&texture, &in, &found, &count};
    CU_OK(raw_cuda_upload(cu, in, places, size));
    CU_OK(cu->LaunchKernel(kernel, ((unsigned)count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params,
                           NULL));
    const CUresult result = cu->StreamSynchronize(stream);
    return result != CUDA_SUCCESS ? result : cu->MemcpyDtoH(out, found, (size_t)count * bytes);
}

/* From pageable memory the copy may still be on its way, as with cuMemcpyHtoD (raw_cuda_upload). */
static CUresult arrived(const raw_cuda *cu, CUresult result)
{
    return result == CUDA_SUCCESS ? cu->StreamSynchronize(NULL) : result;
}

CUresult raw_cuda_write_box(const raw_cuda *cu, CUarray array, const void *texels,
                            size_t width_bytes, size_t height, size_t slices)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = width_bytes,
                                .srcHeight = height,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = width_bytes,
                                .Height = height,
                                .Depth = slices};
    return arrived(cu, cu->Memcpy3D(&copy));
}

CUresult raw_cuda_read_box(const raw_cuda *cu, CUarray array, void *texels, size_t width_bytes,
                           size_t height, size_t slices)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = texels,
                                .dstPitch = width_bytes,
                                .dstHeight = height,
                                .WidthInBytes = width_bytes,
                                .Height = height,
                                .Depth = slices};
    return cu->Memcpy3D(&copy);
}

CUresult raw_cuda_write_array(const raw_cuda *cu, CUarray array, const void *texels,
                              size_t width_bytes, size_t height)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = width_bytes,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = width_bytes,
                                .Height = height};
    return arrived(cu, cu->Memcpy2D(&copy));
}

CUresult raw_cuda_read_array(const raw_cuda *cu, CUarray array, void *texels, size_t width_bytes,
                             size_t height)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = texels,
                                .dstPitch = width_bytes,
                                .WidthInBytes = width_bytes,
                                .Height = height};
    return cu->Memcpy2D(&copy);
}

RAW_CUDA_MAKES(CUsurfObject, raw_cuda_surface_of, SurfObjectDestroy,
               raw_cuda_surface(cu, array, &made), const raw_cuda *cu, CUarray array)
RAW_CUDA_MAKES(CUtexObject, raw_cuda_texture_of, TexObjectDestroy,
               raw_cuda_texture(cu, array, desc, &made), const raw_cuda *cu, CUarray array,
               const CUDA_TEXTURE_DESC *desc)
RAW_CUDA_MAKES(CUtexObject, raw_cuda_mip_texture_of, TexObjectDestroy,
               raw_cuda_mip_texture(cu, mipmap, desc, &made), const raw_cuda *cu,
               CUmipmappedArray mipmap, const CUDA_TEXTURE_DESC *desc)
RAW_CUDA_MAKES(CUmipmappedArray, raw_cuda_mapped_image, MipmappedArrayDestroy,
               raw_cuda_map_image(cu, memory, offset, desc, levels, &made), const raw_cuda *cu,
               CUexternalMemory memory, uint64_t offset, const CUDA_ARRAY3D_DESCRIPTOR *desc,
               unsigned levels)
