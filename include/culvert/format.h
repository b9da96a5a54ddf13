/* SPDX-License-Identifier: MIT */
/* Culvert: the format table: what each image format of Vulkan, Direct3D and OpenGL is in CUDA's
 * terms, or why it is nothing there and what to use instead. docs/formats.md has it as a table,
 * with what was proved where. */
#ifndef CULV_FORMAT_H_
#define CULV_FORMAT_H_

#include "device.h"
#include "format_list.h"
#include "result.h"

CULV_EXTERN_C_BEGIN

/** A format: CULV_FORMAT_ and VkFormat's name, with VkFormat's number, so that any VkFormat may be
 * cast to it. Every format of Vulkan 1.3 is here, also those that CUDA cannot map. */
typedef enum culv_format {
    CULV_FORMAT_NONE = 0, /**< VK_FORMAT_UNDEFINED */
#define CULV_FORMAT_ENUM_(name, number) CULV_FORMAT_##name = number,
    CULV_FORMATS(CULV_FORMAT_ENUM_)
#undef CULV_FORMAT_ENUM_
        CULV_FORMAT_FORCE32 = 0x7fffffff
} culv_format;

/** As what CUDA maps texels: UNORM and SNORM formats exist twice among CUDA's array formats, and
 * the caller chooses.
 *
 * STORED: the plain integers or floats that are stored (UNSIGNED_INT8 ...). Surfaces read and write
 * these; textures return them, or normalize them and decode sRGB where their flags ask for it.
 * Every mapped format has this form. NORMALIZED: CUDA's own normalized formats (UNORM_INT8X4,
 * SNORM_INT16X1, UNORM_INT_101010_2), in the order of channels that is stored. Most UNORM and SNORM
 * formats have this form besides, others do not. */
typedef enum culv_texels {
    CULV_TEXELS_STORED = 0, /**< The default. */
    CULV_TEXELS_NORMALIZED = 1,
    CULV_TEXELS_FORCE32 = 0x7fffffff
} culv_texels;

/** What CUDA finds in the texels of a mapped format, in the STORED form. */
typedef enum culv_texel_kind {
    CULV_TEXEL_KIND_NONE = 0,  /**< The format is not mapped. */
    CULV_TEXEL_KIND_UINT = 1,  /**< Unsigned integers that mean themselves. */
    CULV_TEXEL_KIND_SINT = 2,  /**< Signed integers that mean themselves. */
    CULV_TEXEL_KIND_FLOAT = 3, /**< 16-bit (as ushort: __half's bits) or 32-bit floats. */
    CULV_TEXEL_KIND_UNORM = 4, /**< Unsigned integers, 0 to the largest for 0 to 1. */
    CULV_TEXEL_KIND_SNORM = 5, /**< Signed integers, minus to plus the largest for -1 to 1. */
    /** Bytes as stored: sRGB-coded red, green, blue; linear alpha. */
    CULV_TEXEL_KIND_SRGB = 6,
    /** Unsigned integers that shaders see as floats of that value. */
    CULV_TEXEL_KIND_USCALED = 7,
    /** Signed integers that shaders see as floats of that value. */
    CULV_TEXEL_KIND_SSCALED = 8,
    /** 16-bit words with 10 or 12 bits that count, the upper ones. */
    CULV_TEXEL_KIND_PADDED = 9,
    CULV_TEXEL_KIND_PACKED = 10, /**< One integer that holds all channels. */
    /** 64-bit channels as two 32-bit ones each, the low half first. */
    CULV_TEXEL_KIND_SPLIT = 11,
    CULV_TEXEL_KIND_DEPTH = 12,   /**< Depth: a 16-bit UNORM integer, or a float. */
    CULV_TEXEL_KIND_STENCIL = 13, /**< Stencil: an unsigned byte. */
    CULV_TEXEL_KIND_BLOCKS = 14,  /**< Compressed blocks, which textures decode. */
    CULV_TEXEL_KIND_PLANES = 15,  /**< Several planes: culv_format_get_plane() says what each is. */
    /** 4:2:2 in one plane: two lumas and two chromas a pair of texels. */
    CULV_TEXEL_KIND_SUBSAMPLED = 16,
    CULV_TEXEL_KIND_FORCE32 = 0x7fffffff
} culv_texel_kind;

/** What a format is. Numbers of other APIs are theirs; 0 means that they have no such format. What
 * describes the format itself (blocks, planes, aspects, order, the other APIs' numbers) is set of
 * those too that are not mapped. */
typedef struct culv_format_info {
    size_t struct_size; /**< Set by culv_format_info_init(). */
    culv_format format;
    char name[48];      /**< "R8G8B8A8_UNORM" */
    culv_bool mapped;   /**< 1: CUDA can map it. 0: reason and why say why not. */
    culv_reason reason; /**< Of a format that is not mapped: FORMAT. Else NONE. */
    /** Why it is not mapped, and what to use instead; "" when it is. */
    char reason_text[256];
    uint32_t vk_format;   /**< VkFormat, the same number. */
    uint32_t dxgi_format; /**< The DXGI_FORMAT of the same meaning and order. */
    /** OpenGL's sized internal format of the same meaning, a GLenum. */
    uint32_t gl_internal_format;
    /** STORED: CUarray_format of CUDA_ARRAY3D_DESCRIPTOR; 0 of a hole. Of several planes the one of
     * the same layout, or 0: what is mapped are the planes, each as culv_format_get_plane()'s
     * format. */
    uint32_t cuda_array_format;
    uint32_t channels; /**< STORED: NumChannels that goes with it. */
    /** NORMALIZED: CUarray_format; 0 where there is no such form. */
    uint32_t normalized_array_format;
    uint32_t normalized_channels; /**< NORMALIZED: NumChannels. */
    /** Bytes of a block of block_width x block_height texels, most often one; the unit of a
     * surface's x. 0 of several planes. */
    uint32_t bytes_per_block;
    uint32_t block_width;  /**< Texels; 1 but for compressed blocks and 4:2:2 pairs. */
    uint32_t block_height; /**< Texels. */
    uint32_t planes;       /**< 1, or the 2 or 3 planes of a Y'CbCr format. */
    uint32_t aspects;      /**< VkImageAspectFlags: 1 color, 2 depth, 4 stencil. */
    culv_texel_kind kind;  /**< What CUDA finds in the texels. */
    /** In the order of memory, of packed integers from the lowest bit: "BGRA". '|' parts planes:
     * "G|BR". E: a shared exponent. */
    char channel_order[8];
    /** What a kernel's surf2Dwrite() takes of the STORED form, "uchar4"; "" where there are no
     * surfaces. */
    char kernel_type[16];
    /** 1: kernels read and write the STORED form through surfaces. 0 of blocks, 4:2:2 pairs and
     * several planes, which have their own. */
    culv_bool surfaces;
    /** STORED: 0 when every driver maps it, else the CUDA version that brought cuda_array_format:
     * 11050 is 11.5. */
    uint32_t cuda_version;
    uint32_t normalized_cuda_version; /**< The same of normalized_array_format. */
    /** 1: such an image is mapped in a dedicated allocation alone (VkMemoryDedicatedAllocateInfo);
     * in other memory CUDA would read other bytes without an error (measured on an H200). */
    culv_bool dedicated;
} culv_format_info;

/** Returns an empty culv_format_info with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_format_info culv_format_info_init(void)
{
    culv_format_info i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i;
    return i;
}

/** Fills out with what a format is, as far as out->struct_size reaches. A format that CUDA cannot
 * map is no error here: mapped, reason and why tell.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE); UNSUPPORTED (FORMAT: no format of Vulkan 1.3).
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_format_get_info(culv_format format, culv_format_info *out);

/** Which format one plane of a format has, and by what its width and height are divided: plane 1 of
 * NV12 (G8_B8R8_2PLANE_420_UNORM) is R8G8_UNORM at half of both. The first plane of a format of one
 * plane is the format itself. The outputs may each be NULL.
 * Errors: INVALID (VALUE: the format has no such plane), UNSUPPORTED (FORMAT: no format of Vulkan
 * 1.3).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: Vulkan specification, "Compatible Formats of Planes of Multi-Planar Formats". */
CULV_EXPORT culv_result culv_format_get_plane(culv_format format, uint32_t plane, culv_format *out,
                                              uint32_t *width_divisor, uint32_t *height_divisor);

/** The formats whose texels CUDA maps as this CUarray_format with so many channels, in the STORED
 * or the NORMALIZED form, best first: those whose channels come as red, green, blue, alpha before
 * others, then those with as many channels as the array, then by culv_texel_kind, then by number.
 * CUDA's sRGB arrays of blocks (BC1_UNORM_SRGB ...) lead to the sRGB formats, though these are
 * mapped without. *count says how many elements `out` has and is set to how many there are; out may
 * be NULL to ask for that alone. None at all is no error.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the copies are yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_format_from_cuda(uint32_t cuda_array_format, uint32_t channels,
                                              uint32_t *count, culv_format *out);

/** The format that a DXGI_FORMAT is, mapped or not. CULV_FORMAT_NONE for those without a
 * counterpart among Vulkan's: typeless ones (ask for the view's), those of one aspect of two
 * (R24_UNORM_X8_TYPELESS ...), R1, A8, B8G8R8X8, XR_BIAS, R8G8_B8G8, G8R8_G8B8, and the video
 * formats but NV12, P010, P016, P208, YUY2, Y210 and Y216.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: dxgiformat.h. */
CULV_EXPORT culv_format culv_format_from_dxgi(uint32_t dxgi_format);

/** The format that a sized internal format of OpenGL is, mapped or not. CULV_FORMAT_NONE for those
 * without a counterpart among Vulkan's: alpha, luminance and intensity, R3_G3_B2, RGB4, RGB5,
 * RGB10, RGB12, RGBA2, RGBA12, DEPTH_COMPONENT32, STENCIL_INDEX1, 4 and 16; and for unsized ones.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: OpenGL 4.6, "Sized Internal Formats". */
CULV_EXPORT culv_format culv_format_from_gl(uint32_t internal_format);

/** Whether this device's driver has the CUDA array format that a format is mapped as: CULV_OK, or
 * UNSUPPORTED with the reason. What every driver has is known; for the rest the driver is asked
 * once (a small array is made and destroyed) and the answer is kept. Calls that map images ask the
 * same.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no such culv_texels), UNSUPPORTED (FORMAT: no CUDA array
 * is like it, or this driver's are not), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuArray3DCreate. */
CULV_EXPORT culv_result culv_device_supports_format(culv_device *device, culv_format format,
                                                    culv_texels texels);

CULV_EXTERN_C_END

#endif
