/* SPDX-License-Identifier: MIT */
/* The few image calls of raw_cuda.h that need a filled-in structure.
 *
 *   desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, width, height);
 *   CU_OK(raw_cuda_map_image(cu, memory, image.offset, &desc, levels, &mipmap));
 *   CU_OK(cu->MipmappedArrayGetLevel(&array, mipmap, level));
 *   CU_OK(raw_cuda_surface(cu, array, &surface));
 *   CU_OK(raw_cuda_write_array(cu, array, texels, width * 4, height)); */
#ifndef CULVERT_TESTS_RAW_CUDA_IMAGE_H_
#define CULVERT_TESTS_RAW_CUDA_IMAGE_H_

#include "raw_cuda.h"

/* 2D, with CUDA_ARRAY3D_SURFACE_LDST. */
CUDA_ARRAY3D_DESCRIPTOR raw_cuda_array_desc(CUarray_format format, unsigned channels, size_t width,
                                            size_t height);
CUresult raw_cuda_map_image(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                            const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels,
                            CUmipmappedArray *out);
CUresult raw_cuda_surface(const raw_cuda *cu, CUarray array, CUsurfObject *out);
/* A texture object of an array; clamped, in texels, point-filtered floats where desc is NULL. */
CUresult raw_cuda_texture(const raw_cuda *cu, CUarray array, const CUDA_TEXTURE_DESC *desc,
                          CUtexObject *out);
/* These four until the case ends (test_settle()). */
CUmipmappedArray raw_cuda_mapped_image(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                                       const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels);
CUtexObject raw_cuda_mip_texture_of(const raw_cuda *cu, CUmipmappedArray mipmap,
                                    const CUDA_TEXTURE_DESC *desc);
CUsurfObject raw_cuda_surface_of(const raw_cuda *cu, CUarray array);
CUtexObject raw_cuda_texture_of(const raw_cuda *cu, CUarray array, const CUDA_TEXTURE_DESC *desc);
/* raw_cuda_texture() of a mipmapped array, where normalized coordinates are a must. */
CUresult raw_cuda_mip_texture(const raw_cuda *cu, CUmipmappedArray mipmap,
                              const CUDA_TEXTURE_DESC *desc, CUtexObject *out);
/* Without levels, one address mode in all directions. */
CUDA_TEXTURE_DESC raw_cuda_sampling(CUaddress_mode mode, CUfilter_mode filter, unsigned flags);

/* As in texture_kernels.cu. */
typedef struct raw_cuda_place {
    float x, y, z;
    int layer;
    float level;
} raw_cuda_place;
/* Runs a kernel of that file over the places; `bytes` each go to `out`. What the stream then
 * says. */
CUresult raw_cuda_read_places(const raw_cuda *cu, CUfunction kernel, CUtexObject texture,
                              const raw_cuda_place *places, int count, void *out, size_t bytes,
                              CUstream stream);

/* All of an array from or to host memory without padding: rows of width_bytes, slices or layers of
 * height rows. */
CUresult raw_cuda_write_box(const raw_cuda *cu, CUarray array, const void *texels,
                            size_t width_bytes, size_t height, size_t slices);
CUresult raw_cuda_read_box(const raw_cuda *cu, CUarray array, void *texels, size_t width_bytes,
                           size_t height, size_t slices);
/* All of a 2D array from or to host memory without padding, by cuMemcpy2D. */
CUresult raw_cuda_write_array(const raw_cuda *cu, CUarray array, const void *texels,
                              size_t width_bytes, size_t height);
CUresult raw_cuda_read_array(const raw_cuda *cu, CUarray array, void *texels, size_t width_bytes,
                             size_t height);

#endif
