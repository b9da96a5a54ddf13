/* Culvert: image formats that CUDA arrays and graphics APIs share. SPDX-License-Identifier: MIT */
#ifndef CULV_FORMAT_H_
#define CULV_FORMAT_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/* (name, number): Vulkan's own names and numbers, so that a VkFormat may be cast to a culv_format. */
#define CULV_FORMATS(X)                                                                                      \
    X(R8G8B8A8_UNORM, 37)                                                                                    \
    X(B8G8R8A8_UNORM, 44)                                                                                    \
    X(R16G16B16A16_SFLOAT, 97)                                                                               \
    X(R32_SFLOAT, 100)                                                                                       \
    X(R32G32B32A32_SFLOAT, 109)

/** A format that can be shared: CULV_FORMAT_ and VkFormat's name, with VkFormat's number. */
typedef enum culv_format {
    CULV_FORMAT_NONE = 0,
#define CULV_FORMAT_ENUM_(name, number) CULV_FORMAT_##name = number,
    CULV_FORMATS(CULV_FORMAT_ENUM_)
#undef CULV_FORMAT_ENUM_
        CULV_FORMAT_FORCE32 = 0x7fffffff
} culv_format;

/** What a format is in CUDA's terms. */
typedef struct culv_format_info {
    size_t struct_size; /**< Set by culv_format_info_init(). */
    culv_format format;
    char name[32];              /**< "R8G8B8A8_UNORM" */
    uint32_t bytes_per_texel;   /**< Bytes, also the unit of a surface's x coordinate. */
    uint32_t channels;          /**< CUDA_ARRAY3D_DESCRIPTOR::NumChannels */
    uint32_t cuda_array_format; /**< CUarray_format, CUDA_ARRAY3D_DESCRIPTOR::Format. UNORM formats are the
                                      plain integers of their bytes: surfaces read and write what is stored,
                                      in the order of the name (B8G8R8A8: blue first). */
    char kernel_type[16];       /**< The vector type that a kernel's surf2Dwrite() takes: "uchar4". */
} culv_format_info;

/** An empty culv_format_info with its struct_size set.
 *  Errors: none.  Ownership: none.  Threads: any.  Since: 0.1 */
static inline culv_format_info culv_format_info_init(void)
{
    culv_format_info i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i;
    return i;
}

/** Fills out with what a format is, as far as out->struct_size reaches.
 *  Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE); UNSUPPORTED (FORMAT: not one that can be shared).
 *  Ownership: a copy, yours.  Threads: any.  Since: 0.1 */
CULV_API culv_result culv_format_get_info(culv_format format, culv_format_info *out);

CULV_EXTERN_C_END

#endif
