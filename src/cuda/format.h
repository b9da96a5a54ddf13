/* SPDX-License-Identifier: MIT */
/* The table of formats (format_rows.h), and which of them a driver has. */
#ifndef CULVI_CUDA_FORMAT_H_
#define CULVI_CUDA_FORMAT_H_

#include "cuda/device.h"
#include "culvert/image.h"

/* A row of the format table (format_rows.h). The CUDA fields of a format that is not mapped are
 * 0. */
typedef struct culvi_format {
    culv_format format;
    char name[48]; /* no pointer: a row needs no relocation */
    bool mapped;
    bool surfaces;
    bool dedicated; /* CUDA finds it only in dedicated allocations */
    culv_texel_kind kind;
    CUarray_format cuda_format;
    CUarray_format normalized_format; /* 0: there is none */
    /* CUDA's other format for sRGB blocks, besides cuda_format; 0 for other formats */
    CUarray_format srgb_format;
    uint8_t channels;
    uint8_t normalized_channels;
    uint8_t block_bytes; /* of a texel or a block; 0 for several planes */
    uint8_t block_width, block_height;
    uint8_t planes;
    uint8_t aspects; /* VkImageAspectFlags */
    /* Formats of several planes have these: the bits that count in a word of a plane, and the
     * divisors of chroma's size. */
    uint8_t plane_bits, chroma_across, chroma_down;
    uint16_t dxgi, gl;
    char channel_order[6];
    char kernel_type[8]; /* "" without surfaces */
    culv_reason reason;
    uint8_t why;  /* a format is not mapped, */
    uint32_t use; /* and which other one there is */
} culvi_format;

/* Why a format is not mapped; "" of another. */
typedef struct culvi_format_why {
    char text[256];
} culvi_format_why;
culvi_format_why culvi_format_tell_why(const culvi_format *row);

/* NULL: not a number of Vulkan 1.3. */
const culvi_format *culvi_format_find(uint32_t number);

/* The format of one plane, and how often its texels go into the image's. Another format has one
 * plane, itself. */
const culvi_format *culvi_format_plane(const culvi_format *row, uint32_t plane, uint32_t *across,
                                       uint32_t *down);

/* The format of a DXGI_FORMAT (CULV_NATIVE_D3D) or of OpenGL's sized internal format
 * (CULV_NATIVE_GL). CULV_FORMAT_NONE: Vulkan lacks it, or it is of another API. */
culv_format culvi_format_from(culv_native_api api, uint32_t number);
/* Whether chroma has whole texels in an image of this size, that is, width and height are multiples
 * of *across and *down. */
bool culvi_format_whole_chroma(const culvi_format *row, uint32_t width, uint32_t height,
                               uint32_t *across, uint32_t *down);
/* The CUDA version that brought a CUarray_format; 0: every driver has it. */
uint32_t culvi_array_format_version(CUarray_format format);
/* Whether the device's driver has the array format of this form of a row (format_support.c).
 * Records the reason if not. Asks the driver once for each array format that not every driver has,
 * and takes the lock for that. */
culv_result culvi_format_supported(culv_device *device, const culvi_format *row, culv_texels texels,
                                   const char *label);
/* Releases the arrays that served to ask the driver. Takes no lock: the device has no users
 * left. */
void culvi_formats_release(culv_device *device);
/* The limits that CUDA reports for its arrays -------------------------------------------------- */

/* What the caller's API calls them: "VkImageCreateInfo::extent", "arrayLayers". */
typedef struct culvi_extent_words {
    const char *extent, *layers;
} culvi_extent_words;

/* Checks an image, with every default explicit, against the limits of its kind of array. */
culv_result culvi_array_check_limits(culv_device *device, const char *label,
                                     const culvi_extent_words *words, const culv_image_desc *image,
                                     bool surfaces);

#endif
