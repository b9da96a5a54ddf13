/* SPDX-License-Identifier: MIT */
/* Culvert: the format table. It says how CUDA maps each image format of Vulkan, Direct3D and
 * OpenGL. If CUDA cannot map a format, it says why, and what to use instead.
 *
 *   culv_format_info info = culv_format_info_init();
 *   culv_format_get_info((culv_format)VK_FORMAT_R8G8B8A8_UNORM, &info);
 *   if (!info.mapped) puts(info.reason_text);
 *
 * docs/formats.md shows the table and what was proved on which driver. */
#ifndef CULV_FORMAT_H_
#define CULV_FORMAT_H_

#include "device.h"
#include "format_list.h"
#include "result.h"

CULV_EXTERN_C_BEGIN

/** An image format. The names are VkFormat's names with CULV_FORMAT_ in place of VK_FORMAT_. The
 * numbers are the same, so you can cast any VkFormat to it. All formats of Vulkan 1.3 are here,
 * even if CUDA cannot map them. */
typedef enum culv_format {
    CULV_FORMAT_NONE = 0, /**< VK_FORMAT_UNDEFINED */
#define CULV_FORMAT_ENUM_(name, number) CULV_FORMAT_##name = number,
    CULV_FORMATS(CULV_FORMAT_ENUM_)
#undef CULV_FORMAT_ENUM_
        CULV_FORMAT_FORCE32 = 0x7fffffff
} culv_format;

/** The kind of CUDA array that texels are mapped as. CUDA has two array formats for most UNORM and
 * SNORM formats, and you choose.
 *
 * STORED: the plain integers or floats that are stored (UNSIGNED_INT8 ...). Surfaces read and write
 * them. Textures return them, or normalize them and decode sRGB if you ask for that. Every mapped
 * format has this form.
 *
 * NORMALIZED: CUDA's own normalized formats (UNORM_INT8X4, SNORM_INT16X1, UNORM_INT_101010_2), with
 * the channels in the stored order. Only UNORM and SNORM formats have this form, and most of them
 * do. */
typedef enum culv_texels {
    CULV_TEXELS_STORED = 0, /**< The default. */
    CULV_TEXELS_NORMALIZED = 1,
    CULV_TEXELS_FORCE32 = 0x7fffffff
} culv_texels;

/** What the texels of a mapped format contain in CUDA, in the STORED form. */
typedef enum culv_texel_kind {
    CULV_TEXEL_KIND_NONE = 0,  /**< The format is not mapped. */
    CULV_TEXEL_KIND_UINT = 1,  /**< Unsigned integers, which are the values themselves. */
    CULV_TEXEL_KIND_SINT = 2,  /**< Signed integers, which are the values themselves. */
    CULV_TEXEL_KIND_FLOAT = 3, /**< Floats of 16 bits (as ushort: the bits of __half) or 32 bits. */
    CULV_TEXEL_KIND_UNORM = 4, /**< Unsigned integers. 0 to the largest one means 0 to 1. */
    /** Signed integers. If M is the largest one, -M to M means -1 to 1. */
    CULV_TEXEL_KIND_SNORM = 5,
    /** The stored bytes: sRGB-coded red, green and blue, and linear alpha. */
    CULV_TEXEL_KIND_SRGB = 6,
    /** Unsigned integers. Shaders see them as floats of the same value. */
    CULV_TEXEL_KIND_USCALED = 7,
    /** Signed integers. Shaders see them as floats of the same value. */
    CULV_TEXEL_KIND_SSCALED = 8,
    CULV_TEXEL_KIND_PADDED = 9,  /**< 16-bit words in which only the upper 10 or 12 bits count. */
    CULV_TEXEL_KIND_PACKED = 10, /**< One integer that holds all channels. */
    /** 64-bit channels. Each is two 32-bit channels, with the low half first. */
    CULV_TEXEL_KIND_SPLIT = 11,
    CULV_TEXEL_KIND_DEPTH = 12,   /**< Depth: a 16-bit UNORM integer, or a float. */
    CULV_TEXEL_KIND_STENCIL = 13, /**< Stencil: an unsigned byte. */
    CULV_TEXEL_KIND_BLOCKS = 14,  /**< Compressed blocks. Textures decode them. */
    /** Several planes: culv_format_info::plane_formats. */
    CULV_TEXEL_KIND_PLANES = 15,
    /** 4:2:2 in one plane. Each pair of texels has two lumas and two chromas. */
    CULV_TEXEL_KIND_SUBSAMPLED = 16,
    CULV_TEXEL_KIND_FORCE32 = 0x7fffffff
} culv_texel_kind;

/** The properties of a format. The fields for other APIs have the number that the API uses for the
 * format, or 0 if the API lacks it. Fields that describe the format itself (blocks, planes,
 * aspects, channel order, other APIs' numbers) are set for unmapped formats too. */
typedef struct culv_format_info {
    size_t struct_size; /**< Set by culv_format_info_init(). */
    culv_format format;
    char name[48];      /**< "R8G8B8A8_UNORM" */
    culv_bool mapped;   /**< 1: CUDA can map it. 0: it cannot; see reason and reason_text. */
    culv_reason reason; /**< FORMAT if the format is not mapped, otherwise NONE. */
    /** Text that says why CUDA cannot map it, and what to use instead, or "" if it is mapped. */
    char reason_text[256];
    uint32_t vk_format;   /**< The VkFormat, which is the same number. */
    uint32_t dxgi_format; /**< The DXGI_FORMAT with the same meaning and channel order. */
    /** OpenGL's sized internal format with the same meaning, a GLenum. A1R5G5B5 is RGB5_A1. No
     * format is RGBA4: NVIDIA's driver stores that as 8 bits a channel, and Mesa as A4R4G4B4.
     * Source: OpenGL 4.6, "Sized Internal Formats". */
    uint32_t gl_internal_format;
    /** STORED: the CUarray_format of CUDA_ARRAY3D_DESCRIPTOR, or 0 if CUDA cannot map the format.
     * If the format has several planes: the CUDA format with the same layout, or 0. CUDA maps the
     * planes one by one, each in its format of plane_formats. */
    uint32_t cuda_array_format;
    uint32_t channels; /**< STORED: the NumChannels for cuda_array_format. */
    /** NORMALIZED: the CUarray_format, or 0 if the format lacks this form. */
    uint32_t normalized_array_format;
    uint32_t normalized_channels; /**< NORMALIZED: the NumChannels for it. */
    /** Bytes of a block of block_width x block_height texels. A block is one texel for most
     * formats. A surface's x coordinate steps by these bytes. 0 for several planes. */
    uint32_t bytes_per_block;
    uint32_t block_width;  /**< Texels. 1, except for compressed blocks and 4:2:2 pairs. */
    uint32_t block_height; /**< Texels. */
    uint32_t planes;       /**< 1, or the 2 or 3 planes of a Y'CbCr format. */
    uint32_t aspects;      /**< VkImageAspectFlags: 1 color, 2 depth, 4 stencil. */
    culv_texel_kind kind;  /**< What the texels contain in CUDA. */
    /** Channels in their order in memory, such as "BGRA". Packed integers: from the lowest bit on.
     * '|' separates planes: "G|BR". E is a shared exponent. */
    char channel_order[8];
    /** The type that a kernel's surf2Dwrite() takes for the STORED form, such as "uchar4". "" if
     * the format has no surfaces. */
    char kernel_type[16];
    /** 1: kernels read and write the STORED form through surfaces. 0 for compressed blocks, for
     * 4:2:2 pairs, and for several planes, because each plane has its own surface. */
    culv_bool surfaces;
    /** STORED: CUDA version that introduced cuda_array_format (11050: 11.5). 0: every driver has
     * it. */
    uint32_t cuda_version;
    uint32_t normalized_cuda_version; /**< NORMALIZED: the same for normalized_array_format. */
    /** 1: CUDA maps such an image only in a dedicated allocation (VkMemoryDedicatedAllocateInfo).
     * In other memory CUDA reads wrong bytes without an error (measured on an H200). */
    culv_bool dedicated;
    /** Formats of the planes, then CULV_FORMAT_NONE. If the format has one plane, plane_formats[0]
     * is the format itself. Example: NV12 (G8_B8R8_2PLANE_420_UNORM) has R8_UNORM and R8G8_UNORM.
     * Source: Vulkan, "Compatible Formats of Planes of Multi-Planar Formats". */
    culv_format plane_formats[3];
    /** Divisor of the width for all planes but the first. */
    uint32_t plane_width_divisor;
    uint32_t plane_height_divisor; /**< The same for the height. */
} culv_format_info;

CULV_INIT(culv_format_info)

/** Fills *out with the properties of a format, as far as out->struct_size reaches. It is no error
 * if CUDA cannot map the format: see mapped, reason and reason_text.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not a format of Vulkan
 * 1.3). */
CULV_EXPORT culv_result culv_format_get_info(culv_format format, culv_format_info *out);

/** Checks whether this device's driver has the CUDA array format that a format is mapped as.
 * Culvert knows the formats that every driver has. For other formats it asks the driver once, by
 * making and destroying a small array, and keeps the answer. Calls that map images check the same.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not a culv_texels), UNSUPPORTED (FORMAT: no CUDA array has
 * that format, or this driver lacks it), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: cuda.h, cuArray3DCreate. */
CULV_EXPORT culv_result culv_check_format(culv_device *device, culv_format format,
                                          culv_texels texels);

CULV_EXTERN_C_END

#endif
