/* SPDX-License-Identifier: MIT */
/* The gate: whether a buffer or an image can be shared with CUDA, and how. One gate: the calls that
 * check, create and map all ask here. Its parts:
 *   check.c         culv_vk_check_buffer(), culv_vk_check_image(): what is asked, and the answer;
 *                   the fields of VkBufferCreateInfo
 *   check_image.c   the fields of VkImageCreateInfo; check_flags.c: its flags and usages
 *   check_ask.c     the questions that Vulkan is asked
 *   check_needs.c   memory requirements, memory types, what was bound where */
#ifndef CULVI_VK_CHECK_H_
#define CULVI_VK_CHECK_H_

#include "core/image.h"
#include "culvert/vulkan.h"

/* The first field of a struct of Vulkan's. */
#define CULVI_STYPE(name) .sType = VK_STRUCTURE_TYPE_##name

typedef enum culvi_vk_origin {
    CULVI_VK_PLANNED,    /* culv_vk_check_...(): its chain may name external memory or not */
    CULVI_VK_MADE_HERE,  /* Culvert makes it and puts the external memory into the chain itself */
    CULVI_VK_THE_CALLERS /* it exists, and was created with external memory in its chain */
} culvi_vk_origin;

typedef struct culvi_vk_ask {
    const char *label;
    culvi_vk_origin origin;
    culv_handle_type handle_type; /* 0: this system's opaque one */
    culv_texels texels;
    bool no_surfaces;
    bool host; /* buffers: in imported host memory; no handle */
    /* Images: mapped as rows of bytes, for a LINEAR one; for PLANNED ones the tiling decides */
    bool pitched;
} culvi_vk_ask;

typedef struct culvi_vk_verdict {
    culv_vk_access access;
    /* VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT, or CUDA finds the format only so */
    bool dedicated_only;
    culv_handle_type handle_type;
    VkExternalMemoryHandleTypeFlagBits vk_handle_type; /* the same in Vulkan's terms */
    const culvi_format *format;                        /* images */
    /* ACCESS_ARRAY: in CUDA's terms (R16: as it was created), offset 0, label NULL */
    culv_image_desc image;
} culvi_vk_verdict;

culv_result culvi_vk_check_buffer(culv_vk_device *vk, const culvi_vk_ask *ask,
                                  const VkBufferCreateInfo *info, culvi_vk_verdict *out);
culv_result culvi_vk_check_image(culv_vk_device *vk, const culvi_vk_ask *ask,
                                 const VkImageCreateInfo *info, culvi_vk_verdict *out);

/* What Vulkan says about a resource's memory. Each plane of a DISJOINT image has its own
 * requirements; `memory` then describes a block of all planes, one after another. */
typedef struct culvi_vk_needs {
    VkMemoryRequirements memory;
    bool requires_dedicated;
    bool prefers_dedicated;
    uint32_t planes; /* 0: it is not DISJOINT */
    VkMemoryRequirements plane[CULVI_PLANES];
    VkDeviceSize offsets[CULVI_PLANES]; /* in that block */
} culvi_vk_needs;

void culvi_vk_buffer_needs(const culv_vk_device *vk, VkBuffer buffer, culvi_vk_needs *out);
static inline VkImageAspectFlagBits culvi_vk_plane_aspect(uint32_t plane)
{
    return (VkImageAspectFlagBits)((uint32_t)VK_IMAGE_ASPECT_PLANE_0_BIT << plane);
}
/* How many planes of such an image are bound separately; 0: it is not DISJOINT. */
uint32_t culvi_vk_disjoint_planes(const VkImageCreateInfo *info);
void culvi_vk_image_needs(const culv_vk_device *vk, VkImage image, uint32_t disjoint_planes,
                          culvi_vk_needs *out);
/* Puts the planes of a DISJOINT image one after another: `memory` and `offsets`. */
void culvi_vk_needs_add_up(culvi_vk_needs *needs);
/* Checks a bound resource ("buffer" or "image") against what the caller says about its memory
 * (R17). */
culv_result culvi_vk_check_binding(const culv_vk_device *vk, const char *label, const char *what,
                                   const char *field, const culvi_vk_needs *needs,
                                   VkDeviceSize offset, VkDeviceSize allocation_size,
                                   bool dedicated);
/* The first memory type of these bits that has the properties (0: DEVICE_LOCAL). */
culv_result culvi_vk_memory_type(const culv_vk_device *vk, const char *label, uint32_t type_bits,
                                 VkMemoryPropertyFlags wanted, uint32_t *out);
/* Whether the heap of a memory type is large enough at all. */
culv_result culvi_vk_check_heap(const culv_vk_device *vk, const char *label, uint32_t type,
                                VkDeviceSize size);

/* Checks an image against the create_info that the caller gives for it. Vulkan does not report what
 * an image was created with, but it reports what memory create_info would need, and images created
 * alike need the same (Vulkan specification, VkMemoryRequirements, with maintenance4). In
 * image.c. */
culv_result culvi_vk_check_same_image(culv_vk_device *vk, const char *label,
                                      const VkImageCreateInfo *info,
                                      const culvi_vk_verdict *verdict, const culvi_vk_needs *needs);

/* Between the parts ---------------------------------------------------------------------------- */

/* What Vulkan says of sharing images. */
typedef struct culvi_vk_answer {
    VkResult result;
    VkExternalMemoryProperties external;
    VkImageFormatProperties most;
    bool exists;       /* such an image can be created but not exported */
    uint32_t culprits; /* usages; without any one of them it could be exported */
} culvi_vk_answer;

/* check_ask.c. Only failed calls are errors. Type 0 for an image: it is not to be shared, and
 * out->result says whether Vulkan has such images. */
culv_result culvi_vk_ask_image_sharing(const culv_vk_device *vk, const char *label,
                                       const VkImageCreateInfo *info,
                                       VkExternalMemoryHandleTypeFlagBits type,
                                       culvi_vk_answer *out);
/* False: this device does not report them before the resource exists. */
bool culvi_vk_ask_buffer_needs(const culv_vk_device *vk, const VkBufferCreateInfo *info,
                               VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out);
bool culvi_vk_ask_image_needs(const culv_vk_device *vk, const VkImageCreateInfo *info,
                              VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out);

/* check.c */
const void *culvi_vk_chain_find(const void *chain, VkStructureType type);
/* Checks the handle type that was asked for: CUDA must import it and map such a resource from it
 * (out->access). */
culv_result culvi_vk_check_handle_type(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                       culvi_vk_verdict *out);
/* Checks the chain of `what` ("Buffer" or "Image") for a struct that is there twice. */
culv_result culvi_vk_check_unique(const culv_vk_device *vk, const char *label, const char *what,
                                  const void *chain);
/* Checks that an external-memory struct is present where required and names the type. `external` is
 * its value, 0: there is none. */
culv_result culvi_vk_check_external(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                    const char *what, bool found,
                                    VkExternalMemoryHandleTypeFlags external,
                                    const culvi_vk_verdict *verdict);
/* Checks that all types in the chain's struct are compatible with the one that was asked for. */
culv_result culvi_vk_check_compatible(const culv_vk_device *vk, const char *label, const char *what,
                                      VkExternalMemoryHandleTypeFlags external,
                                      const culvi_vk_verdict *verdict,
                                      const VkExternalMemoryProperties *properties);
culv_result culvi_vk_check_families(const culv_vk_device *vk, const char *label, const char *what,
                                    VkSharingMode mode, uint32_t count, const uint32_t *families);

/* check_image.c: describes an image in CUDA's terms, with every default explicit; checks it against
 * Vulkan's limits. */
culv_image_desc culvi_vk_describe_image(const VkImageCreateInfo *info, const culvi_vk_ask *ask,
                                        const culvi_format *row);
/* Checks that chroma has whole texels, for formats with chroma at half the size. */
culv_result culvi_vk_check_chroma(const culv_vk_device *vk, const char *label,
                                  const VkImageCreateInfo *info, const culvi_format *row);
culv_result culvi_vk_check_image_size(const culv_vk_device *vk, const char *label,
                                      const VkImageCreateInfo *info, const culvi_format *row,
                                      const VkImageFormatProperties *most);

/* check_flags.c */
culv_result culvi_vk_check_flags(const culv_vk_device *vk, const char *label, bool image,
                                 uint32_t flags);
culv_result culvi_vk_check_image_usage(const culv_vk_device *vk, const char *label,
                                       const VkImageCreateInfo *info);
/* "COLOR_ATTACHMENT and STORAGE"; for messages. */
void culvi_vk_usage_text(VkImageUsageFlags usage, culvi_text *text);

#endif
