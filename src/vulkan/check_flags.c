/* SPDX-License-Identifier: MIT */
/* The gate: create flags and usages: which of them change where or how the bytes lie, so that CUDA
 * would read something else. Flags, and usages of images, that are not in these lists are refused:
 * what they do to the bytes is not known here. A buffer's bytes lie one after another whatever its
 * usages are. */
#include "vulkan/vk.h"

typedef struct flag {
    uint32_t bit;
    const char *name;
    const char *why; /* and what to do */
} flag;

/* Newer Vulkan headers define these. */
enum {
    BUFFER_VIDEO_PROFILE_INDEPENDENT = 0x40,
    IMAGE_FRAGMENT_DENSITY_MAP_OFFSET = 0x8000,
    IMAGE_DESCRIPTOR_CAPTURE_REPLAY = 0x10000,
    IMAGE_2D_VIEW_COMPATIBLE = 0x20000,
    IMAGE_RENDER_TO_SINGLE_SAMPLED = 0x40000,
    IMAGE_VIDEO_PROFILE_INDEPENDENT = 0x100000,
    USAGE_VIDEO_ENCODE_DST = 0x2000,
    USAGE_VIDEO_ENCODE_SRC = 0x4000,
    USAGE_VIDEO_ENCODE_DPB = 0x8000,
    USAGE_ATTACHMENT_FEEDBACK_LOOP = 0x80000,
    USAGE_HOST_TRANSFER = 0x400000
};

#define SPARSE                                                                                     \
    "it is bound piece by piece, and CUDA maps one allocation; create it without sparse flags"
#define REPLAY "addresses of shared memory are not replayed; create it without"

static const flag buffer_refused[] = {
    {VK_BUFFER_CREATE_SPARSE_BINDING_BIT, "SPARSE_BINDING", SPARSE},
    {VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT, "SPARSE_RESIDENCY", SPARSE},
    {VK_BUFFER_CREATE_SPARSE_ALIASED_BIT, "SPARSE_ALIASED", SPARSE},
    {VK_BUFFER_CREATE_PROTECTED_BIT, "PROTECTED",
     "protected memory is only for Vulkan; create it unprotected"},
    {VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT, "DEVICE_ADDRESS_CAPTURE_REPLAY", REPLAY},
    {VK_BUFFER_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT, "DESCRIPTOR_BUFFER_CAPTURE_REPLAY",
     REPLAY},
    {0, NULL, NULL},
};

static const flag image_refused[] = {
    {VK_IMAGE_CREATE_SPARSE_BINDING_BIT, "SPARSE_BINDING", SPARSE},
    {VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT, "SPARSE_RESIDENCY", SPARSE},
    {VK_IMAGE_CREATE_SPARSE_ALIASED_BIT, "SPARSE_ALIASED", SPARSE},
    {VK_IMAGE_CREATE_PROTECTED_BIT, "PROTECTED",
     "protected memory is only for Vulkan; create it unprotected"},
    {VK_IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT, "SPLIT_INSTANCE_BIND_REGIONS",
     "it would be split over the GPUs of a device group, and CUDA would see one of them; create it without"},
    {VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT, "2D_ARRAY_COMPATIBLE",
     "slices that can be viewed as layers may lie otherwise than those of a plain 3D image, and no CUDA array says so; create it without, or take a 2D image with layers"},
    {IMAGE_2D_VIEW_COMPATIBLE, "2D_VIEW_COMPATIBLE",
     "slices that can be viewed as 2D images may lie otherwise than those of a plain 3D image, and no CUDA array says so; create it without, or take a 2D image with layers"},
    {VK_IMAGE_CREATE_CORNER_SAMPLED_BIT_NV, "CORNER_SAMPLED",
     "its mip levels have other sizes than CUDA's; create it without"},
    {VK_IMAGE_CREATE_SUBSAMPLED_BIT_EXT, "SUBSAMPLED",
     "its texels lie as the fragment density map says; copy it to an image without"},
    {IMAGE_FRAGMENT_DENSITY_MAP_OFFSET, "FRAGMENT_DENSITY_MAP_OFFSET",
     "its texels lie as the fragment density map says; copy it to an image without"},
    {IMAGE_DESCRIPTOR_CAPTURE_REPLAY, "DESCRIPTOR_BUFFER_CAPTURE_REPLAY", REPLAY},
    {IMAGE_RENDER_TO_SINGLE_SAMPLED, "MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED",
     "it may carry samples besides its texels; render to another image and copy"},
    {0, NULL, NULL},
};

/* MUTABLE_FORMAT, BLOCK_TEXEL_VIEW_COMPATIBLE and EXTENDED_USAGE are about views: CUDA maps the
 * image as it was created. ALIAS promises the same layout to all who alias it. CUBE_COMPATIBLE is
 * CUDA_ARRAY3D_CUBEMAP. DISJOINT goes with the format (check_image.c). */
static const uint32_t buffer_known = BUFFER_VIDEO_PROFILE_INDEPENDENT;
static const uint32_t image_known =
    VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT |
    VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT |
    VK_IMAGE_CREATE_EXTENDED_USAGE_BIT | VK_IMAGE_CREATE_DISJOINT_BIT |
    VK_IMAGE_CREATE_SAMPLE_LOCATIONS_COMPATIBLE_DEPTH_BIT_EXT | IMAGE_VIDEO_PROFILE_INDEPENDENT;

static const flag usages_refused[] = {
    {VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT, "TRANSIENT_ATTACHMENT",
     "such an image need not have memory at all; create it without"},
    {USAGE_HOST_TRANSFER, "HOST_TRANSFER",
     "its texels may lie as the processor copies them (VkHostImageCopyDevicePerformanceQueryEXT::identicalMemoryLayout), and no CUDA array says so. NVIDIA's driver (580) has no memory type for such an image that is exported, although its format query allows it; create it without, and copy through a buffer"},
    {0, NULL, NULL},
};

static const flag usages_known[] = {
    {VK_IMAGE_USAGE_TRANSFER_SRC_BIT, "TRANSFER_SRC", NULL},
    {VK_IMAGE_USAGE_TRANSFER_DST_BIT, "TRANSFER_DST", NULL},
    {VK_IMAGE_USAGE_SAMPLED_BIT, "SAMPLED", NULL},
    {VK_IMAGE_USAGE_STORAGE_BIT, "STORAGE", NULL},
    {VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, "COLOR_ATTACHMENT", NULL},
    {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, "DEPTH_STENCIL_ATTACHMENT", NULL},
    {VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT, "INPUT_ATTACHMENT", NULL},
    {VK_IMAGE_USAGE_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR, "FRAGMENT_SHADING_RATE_ATTACHMENT",
     NULL},
    {VK_IMAGE_USAGE_FRAGMENT_DENSITY_MAP_BIT_EXT, "FRAGMENT_DENSITY_MAP", NULL},
    {VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR, "VIDEO_DECODE_DST", NULL},
    {VK_IMAGE_USAGE_VIDEO_DECODE_SRC_BIT_KHR, "VIDEO_DECODE_SRC", NULL},
    {VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR, "VIDEO_DECODE_DPB", NULL},
    {USAGE_VIDEO_ENCODE_DST, "VIDEO_ENCODE_DST", NULL},
    {USAGE_VIDEO_ENCODE_SRC, "VIDEO_ENCODE_SRC", NULL},
    {USAGE_VIDEO_ENCODE_DPB, "VIDEO_ENCODE_DPB", NULL},
    {USAGE_ATTACHMENT_FEEDBACK_LOOP, "ATTACHMENT_FEEDBACK_LOOP", NULL},
    {0, NULL, NULL},
};

/* `field` is whose bits these are. */
static culv_result check_bits(const culv_vk_device *vk, const char *label, const char *field,
                              uint32_t bits, const flag *refused, uint32_t known)
{
    for (const flag *f = refused; f->name != NULL; f++)
        CULVI_REFUSE_IF(bits & f->bit, vk->voice, label, CULV_REASON_USAGE,
                        "%s is %#" PRIx32 ", which has %s: %s", field, bits, f->name, f->why);
    CULVI_REFUSE_IF(bits & ~known, vk->voice, label, CULV_REASON_USAGE,
                    "%s is %#" PRIx32 "; this version does not know %#" PRIx32
                    " in it, nor what that means for the bytes in memory; create it without",
                    field, bits, bits & ~known);
    return CULV_OK;
}

culv_result culvi_vk_check_flags(const culv_vk_device *vk, const char *label, bool image,
                                 uint32_t flags)
{
    return check_bits(vk, label, image ? "VkImageCreateInfo::flags" : "VkBufferCreateInfo::flags",
                      flags, image ? image_refused : buffer_refused,
                      image ? image_known : buffer_known);
}

static culv_result check_usage(const culv_vk_device *vk, const char *label, const char *field,
                               VkImageUsageFlags usage)
{
    CULVI_REFUSE_IF(usage == 0, vk->voice, label, CULV_REASON_USAGE,
                    "%s is 0; say what Vulkan does with the image, TRANSFER_SRC for one", field);
    uint32_t known = 0;
    for (const flag *f = usages_known; f->name != NULL; f++)
        known |= f->bit;
    return check_bits(vk, label, field, usage, usages_refused, known);
}

culv_result culvi_vk_check_image_usage(const culv_vk_device *vk, const char *label,
                                       const VkImageCreateInfo *info)
{
    const VkImageStencilUsageCreateInfo *stencil =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    CULVI_TRY(check_usage(vk, label, "VkImageCreateInfo::usage", info->usage));
    if (stencil == NULL) return CULV_OK;
    return check_usage(vk, label, "VkImageStencilUsageCreateInfo::stencilUsage",
                       stencil->stencilUsage);
}

void culvi_vk_usage_text(VkImageUsageFlags usage, culvi_text *text)
{
    const char *separator = "";
    for (const flag *f = usages_known; f->name != NULL; f++) {
        if (!(usage & f->bit)) continue;
        culvi_text_add(text, "%s%s", separator, f->name);
        separator = " or ";
    }
}
