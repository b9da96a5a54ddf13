/* SPDX-License-Identifier: MIT */
/* Culvert: the format table. It says how CUDA maps each image format of Vulkan, Direct3D and
 * OpenGL. For a format that CUDA cannot map it says why, and what to use instead.
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

/** An image format. The name is CULV_FORMAT_ and VkFormat's name, and the number is VkFormat's, so
 * that you can cast any VkFormat to it. Every format of Vulkan 1.3 is here, even those that CUDA
 * cannot map. */
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
 * them. Textures return them, or normalize them and decode sRGB when their flags ask for it. Every
 * mapped format has this form.
 *
 * NORMALIZED: CUDA's own normalized formats (UNORM_INT8X4, SNORM_INT16X1, UNORM_INT_101010_2), with
 * the channels in the stored order. Most UNORM and SNORM formats also have this form. No other
 * format has it. */
typedef enum culv_texels {
    CULV_TEXELS_STORED = 0, /**< The default. */
    CULV_TEXELS_NORMALIZED = 1,
    CULV_TEXELS_FORCE32 = 0x7fffffff
} culv_texels;

/** The contents of the texels of a mapped format in CUDA, in the STORED form. */
typedef enum culv_texel_kind {
    CULV_TEXEL_KIND_NONE = 0,  /**< The format is not mapped. */
    CULV_TEXEL_KIND_UINT = 1,  /**< Unsigned integers, which are the values themselves. */
    CULV_TEXEL_KIND_SINT = 2,  /**< Signed integers, which are the values themselves. */
    CULV_TEXEL_KIND_FLOAT = 3, /**< Floats of 16 bits (as ushort: the bits of __half) or 32 bits. */
    CULV_TEXEL_KIND_UNORM = 4, /**< Unsigned integers. 0 to the largest one stands for 0 to 1. */
    /** Signed integers. Minus to plus the largest one stands for -1 to 1. */
    CULV_TEXEL_KIND_SNORM = 5,
    /** The stored bytes: sRGB-coded red, green and blue, and linear alpha. */
    CULV_TEXEL_KIND_SRGB = 6,
    /** Unsigned integers. Shaders see them as floats of the same value. */
    CULV_TEXEL_KIND_USCALED = 7,
    /** Signed integers. Shaders see them as floats of the same value. */
    CULV_TEXEL_KIND_SSCALED = 8,
    CULV_TEXEL_KIND_PADDED = 9,  /**< 16-bit words in which only the upper 10 or 12 bits count. */
    CULV_TEXEL_KIND_PACKED = 10, /**< One integer that holds all channels. */
    /** 64-bit channels, each as two 32-bit ones, with the low half first. */
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

/** The properties of a format. The numbers of other APIs are those APIs' own; 0 means that they
 * lack the format. Fields that describe the format itself (blocks, planes, aspects, channel order,
 * other APIs' numbers) are set for unmapped formats too. */
typedef struct culv_format_info {
    size_t struct_size; /**< Set by culv_format_info_init(). */
    culv_format format;
    char name[48];      /**< "R8G8B8A8_UNORM" */
    culv_bool mapped;   /**< 1: CUDA can map it. 0: it cannot; see reason and reason_text. */
    culv_reason reason; /**< FORMAT when the format is not mapped; otherwise NONE. */
    /** Text: why CUDA cannot map it, and what to use instead. "" if it is mapped. */
    char reason_text[256];
    uint32_t vk_format;   /**< The VkFormat. It is the same number. */
    uint32_t dxgi_format; /**< The DXGI_FORMAT with the same meaning and channel order. */
    /** OpenGL's sized internal format with the same meaning, a GLenum. RGB5_A1 is A1R5G5B5. RGBA4
     * is none: NVIDIA's driver keeps it as 8 bits a channel, and Mesa as A4R4G4B4.
     * Source: OpenGL 4.6, "Sized Internal Formats". */
    uint32_t gl_internal_format;
    /** STORED: the CUarray_format of CUDA_ARRAY3D_DESCRIPTOR, or 0 when CUDA cannot map the format.
     * For a format of several planes: the CUDA format of the same layout, or 0. CUDA maps its
     * planes one by one, each in its format of plane_formats. */
    uint32_t cuda_array_format;
    uint32_t channels; /**< STORED: the NumChannels that goes with it. */
    /** NORMALIZED: the CUarray_format, or 0 when the format lacks this form. */
    uint32_t normalized_array_format;
    uint32_t normalized_channels; /**< NORMALIZED: the NumChannels that goes with it. */
    /** Bytes of a block of block_width x block_height texels. A block is one texel for most
     * formats. This is the unit of a surface's x coordinate. 0 for several planes. */
    uint32_t bytes_per_block;
    uint32_t block_width;  /**< Width in texels. 1, except for compressed blocks and 4:2:2 pairs. */
    uint32_t block_height; /**< Height in texels. */
    uint32_t planes;       /**< 1, or the 2 or 3 planes of a Y'CbCr format. */
    uint32_t aspects;      /**< VkImageAspectFlags: 1 color, 2 depth, 4 stencil. */
    culv_texel_kind kind;  /**< Contents of the texels in CUDA. */
    /** Channels in the order of memory, such as "BGRA". For packed integers: from the lowest bit
     * on. '|' separates planes: "G|BR". E is a shared exponent. */
    char channel_order[8];
    /** The type that a kernel's surf2Dwrite() takes for the STORED form, such as "uchar4". "" when
     * the format has no surfaces. */
    char kernel_type[16];
    /** 1: kernels read and write the STORED form through surfaces. 0 for compressed blocks, for
     * 4:2:2 pairs, and for several planes, because each plane has a surface of its own. */
    culv_bool surfaces;
    /** STORED: the CUDA version that introduced cuda_array_format (11050 is 11.5). 0: every driver
     * maps it. */
    uint32_t cuda_version;
    uint32_t normalized_cuda_version; /**< NORMALIZED: the same for normalized_array_format. */
    /** 1: CUDA maps such an image only in a dedicated allocation (VkMemoryDedicatedAllocateInfo).
     * In other memory CUDA would read wrong bytes without an error (measured on an H200). */
    culv_bool dedicated;
    /** The formats of the planes; plane_formats[0] is the format itself if it has one plane. NV12
     * (G8_B8R8_2PLANE_420_UNORM): R8_UNORM and R8G8_UNORM. Beyond them CULV_FORMAT_NONE.
     * Source: Vulkan, "Compatible Formats of Planes of Multi-Planar Formats". */
    culv_format plane_formats[3];
    /** The divisor of the width of the planes behind the first. */
    uint32_t plane_width_divisor;
    uint32_t plane_height_divisor; /**< The divisor of their height. */
} culv_format_info;

CULV_INIT(culv_format_info)

/** Fills *out with what a format is, as far as out->struct_size reaches. A format that CUDA cannot
 * map is not an error: see mapped, reason and reason_text.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not a format of Vulkan
 * 1.3). */
CULV_EXPORT culv_result culv_format_get_info(culv_format format, culv_format_info *out);

/** Tells whether this device's driver has the CUDA array format that a format is mapped as. Returns
 * CULV_OK, or UNSUPPORTED with the reason. Culvert knows which formats every driver has. For the
 * others it asks the driver once, by making and destroying a small array, and keeps the answer.
 * Calls that map images ask the same question.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not a culv_texels), UNSUPPORTED (FORMAT: no CUDA array has
 * that format, or this driver lacks it), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: cuda.h, cuArray3DCreate. */
CULV_EXPORT culv_result culv_check_format(culv_device *device, culv_format format,
                                          culv_texels texels);

CULV_EXTERN_C_END

#endif
