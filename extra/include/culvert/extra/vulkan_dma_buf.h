/* SPDX-License-Identifier: MIT */
/* Culvert: shares dma-bufs of compositors, cameras and capture tools with CUDA, in both directions.
 *
 * On desktops, NVIDIA's driver 580 imports dma-bufs into Vulkan, but not into CUDA. A bridge
 * imports a dma-buf into Vulkan and records the copy to an image (or a buffer) that Vulkan and CUDA
 * share. In the other direction it records the copy of CUDA's image into a dma-buf that others
 * show. If your program makes the memory itself, share it directly (vulkan_memory.h).
 *
 *   culv_vk_dma_buf_desc d = culv_vk_dma_buf_desc_init();
 *   d.handle = culv_handle_dma_buf_fd(fd);                what the compositor sent, with it:
 *   d.fourcc = DRM_FORMAT_XRGB8888;  d.modifier = modifier;
 *   d.width = width;  d.height = height;
 *   d.num_planes = 1;  d.plane_offsets[0] = offset;  d.plane_pitches[0] = stride;
 *   d.queue_family = family;
 *   d.vulkan = &vulkan;                                    what culv_vk_attach() read
 *   culv_vk_dma_buf_bridge_create(device, vk, &d, &bridge);
 *
 *   culv_vk_dma_buf_bridge_record(bridge, commands, 0);    once; submit it for each frame
 *   culv_vk_dma_buf_bridge_next(bridge, &timeout, &turn);  in each frame: when the writer is done
 *   vkQueueSubmit(...);         waits for turn.wait_value, signals turn.signal_value
 *   culv_semaphore_wait(cuda, stream, turn.cuda_wait_value);
 *   ... kernels read culv_shared_image_cuda(info.image) ...
 *   culv_semaphore_signal(cuda, stream, turn.cuda_signal_value);
 *
 * Only on Linux. docs/dma-buf.md has both ways, the formats, and where it ran. */
#ifndef CULV_EXTRA_VULKAN_DMA_BUF_H_
#define CULV_EXTRA_VULKAN_DMA_BUF_H_

#include "extra.h"

#include <culvert/format.h>
#include <culvert/handle.h>
#include <culvert/vulkan_barrier.h>
#include <culvert/vulkan_memory.h>

CULV_EXTERN_C_BEGIN

/** The device extensions that a bridge needs in addition to culv_vk_device_extensions(), for the
 * initializer of an array of names: enable the ones that the device has. The last one is part of
 * Vulkan 1.2. */
#define CULV_VK_DMA_BUF_EXTENSIONS                                                                 \
    "VK_EXT_external_memory_dma_buf", "VK_EXT_image_drm_format_modifier",                          \
        "VK_EXT_queue_family_foreign", "VK_KHR_image_format_list"

/** Maximum number of memory planes of a dma-buf image. */
#define CULV_VK_DMA_BUF_PLANES 4

/** Maximum number of modifiers that culv_drm_format_get_info() lists. */
#define CULV_DRM_MODIFIERS 64

/** The side that writes the dma-buf. */
typedef enum culv_vk_dma_buf_direction {
    CULV_VK_DMA_BUF_IN = 0,  /**< Others write it, CUDA reads: the default. */
    CULV_VK_DMA_BUF_OUT = 1, /**< CUDA writes, others read it. */
    CULV_VK_DMA_BUF_DIRECTION_FORCE32 = 0x7fffffff
} culv_vk_dma_buf_direction;

/** A modifier with which a device can bridge a format. */
typedef struct culv_drm_modifier {
    uint64_t modifier;   /**< DRM_FORMAT_MOD_... */
    uint32_t planes;     /**< Number of memory planes. */
    uint32_t directions; /**< Bits 1 << CULV_VK_DMA_BUF_IN and 1 << CULV_VK_DMA_BUF_OUT. */
} culv_drm_modifier;

/** The properties of a DRM format (drm_fourcc.h). */
typedef struct culv_drm_format_info {
    size_t struct_size; /**< Set by culv_drm_format_info_init(). */
    uint32_t fourcc;    /**< DRM_FORMAT_... */
    culv_format format; /**< Format of the same texels in Vulkan: cast it to VkFormat. */
    /** 1: the fourth channel is not alpha and may have any value (XR24 ...). */
    culv_bool ignores_alpha;
    uint32_t planes; /**< Planes of the format: 2 for NV12 and P010, else 1. */
    /** If the format has several planes: DRM format of each plane, each of which needs its own
     * bridge. Otherwise 0. */
    uint32_t plane_fourccs[3];
    uint32_t chroma_across; /**< Width of plane 0 divided by the width of plane 1. */
    uint32_t chroma_down;   /**< The same for the height. */
    uint32_t num_modifiers; /**< Elements of `modifiers`. 0 without a VkDevice. */
    /** Modifiers with which the VkDevice can bridge the format: agree on one with the other
     * side. */
    culv_drm_modifier modifiers[CULV_DRM_MODIFIERS];
} culv_drm_format_info;

CULV_INIT(culv_drm_format_info)

/** Gets the properties of a DRM format. docs/dma-buf.md has the list of formats. `vulkan` may be
 * NULL; if it describes a VkDevice, as for culv_vk_attach(), the call also lists the modifiers.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not in the list;
 * EXTENSION_MISSING: the device or the VkDevice lacks an extension), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: drm_fourcc.h; VkDrmFormatModifierPropertiesListEXT. */
CULV_EXTRA culv_result culv_drm_format_get_info(const culv_vk_device_desc *vulkan, uint32_t fourcc,
                                                culv_drm_format_info *out);

/** A dma-buf to bridge. */
typedef struct culv_vk_dma_buf_desc {
    size_t struct_size; /**< Set by culv_vk_dma_buf_desc_init(). */
    /** Required: description of the VkDevice, as for culv_vk_attach(). Read during the call; its
     * allocator must outlive the bridge. */
    const culv_vk_device_desc *vulkan;
    /** Dma-buf to bridge (culv_handle_dma_buf_fd()). Type NONE, only with OUT: the bridge makes one
     * (culv_vk_dma_buf_info::handle). */
    culv_handle handle;
    culv_vk_dma_buf_direction direction; /**< Side that writes. */
    /** Required, unless `format` is set: DRM_FORMAT_... of one plane. A format of several planes
     * needs a bridge for each (culv_drm_format_info::plane_fourccs), with that plane's offset. */
    uint32_t fourcc;
    /** VkFormat in place of `fourcc`, for sRGB or integers: one plane, colors, no blocks. */
    VkFormat format;
    uint32_t width;  /**< Required: texels. */
    uint32_t height; /**< Required: texels. */
    /** With `handle`: DRM_FORMAT_MOD_... of its maker. 0 is LINEAR. DRM_FORMAT_MOD_INVALID
     * ("implicit") is refused: only the maker's driver knows its meaning. */
    uint64_t modifier;
    /** With `handle`, required: number of memory planes. Some modifiers have more than one
     * (compression). All planes must lie in this dma-buf: if the maker sent an fd for each plane,
     * all must be fds of the same dma-buf. */
    uint32_t num_planes;
    uint64_t plane_offsets[CULV_VK_DMA_BUF_PLANES]; /**< With `handle`: bytes into the dma-buf. */
    uint64_t plane_pitches[CULV_VK_DMA_BUF_PLANES]; /**< With `handle`: bytes from row to row. */
    /** Without `handle`, required: modifiers that the other side takes. Vulkan chooses one that it
     * supports too (culv_drm_format_info::modifiers). Read during the call. */
    const uint64_t *modifiers;
    uint32_t num_modifiers; /**< Elements of `modifiers`. */
    /** Required: family of the queue that the copies are submitted to. culv_vk_dma_buf_desc_init()
     * sets CULV_VK_QUEUE_FAMILY_UNSET, which is refused. */
    uint32_t queue_family;
    /** 1: CUDA's side is a buffer with rows (culv_vk_dma_buf_info::buffer), for formats that no
     * CUDA array has (RG24), and for code that needs pointers. 0: it is an image. */
    culv_bool to_buffer;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_dma_buf_desc;

/** Returns a default descriptor: others write, no queue family yet. */
CULV_INLINE culv_vk_dma_buf_desc culv_vk_dma_buf_desc_init(void)
{
    culv_vk_dma_buf_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.queue_family = CULV_VK_QUEUE_FAMILY_UNSET;
    return d;
}

/** Opaque: a dma-buf in Vulkan, CUDA's image or buffer, and the timeline between them. */
typedef struct culv_vk_dma_buf_bridge culv_vk_dma_buf_bridge;

/** Makes a bridge. It copies nothing yet: record the copies. If `out` is NULL, the call only checks
 * whether such a bridge can be made, and does not read the handle; the message says what is
 * missing. `vk` must be attached to `device`.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: fourcc and format, direction, queue family,
 * planes, or a field that does not go with `handle`; MODIFIER: the implicit one, or another number
 * of planes than the modifier has; EXTENT: an extent of 0; RANGE: a row is longer than its pitch,
 * offsets overflow, or the driver has no such offsets and pitches with the modifier; HANDLE_TYPE,
 * HANDLE_BAD, HANDLE_KIND; SIZE: the dma-buf is too small for such an image; OS: no file descriptor
 * is left), UNSUPPORTED (FORMAT: unknown, of several planes, or no CUDA array has it;
 * EXTENSION_MISSING: the device or the VkDevice lacks an extension; MODIFIER: the device lacks it
 * for this format or this use; EXTENT: too large; NOT_EXPORTABLE: Vulkan cannot import or export
 * it), DRIVER (HANDLE_REFUSED: this device does not reach the dma-buf), ASYNC, OUT_OF_MEMORY; and
 * as culv_vk_image_create() and culv_vk_semaphore_create().
 * Ownership: the handle stays yours: close it at any time. *out is yours, for
 * culv_vk_dma_buf_bridge_destroy(). It keeps the attachment alive, and your VkDevice must outlive
 * it.
 * Source: VK_EXT_external_memory_dma_buf, VkImageDrmFormatModifierExplicitCreateInfoEXT. */
CULV_EXTRA culv_result culv_vk_dma_buf_bridge_create(culv_device *device, culv_vk_device *vk,
                                                     const culv_vk_dma_buf_desc *desc,
                                                     culv_vk_dma_buf_bridge **out);

/** Destroys the bridge, with all that it made, and closes the dma-buf. Vulkan's work with it must
 * be done. CUDA's work should have finished too, as for culv_shared_image_destroy().
 * Threads: any, ordered with other calls on this object and with its VkDevice's destruction. */
CULV_EXTRA void culv_vk_dma_buf_bridge_destroy(culv_vk_dma_buf_bridge **bridge);

/** Records the copy of the whole image into your command buffer, outside of render passes, with the
 * barriers. They transfer the dma-buf from VK_QUEUE_FAMILY_FOREIGN_EXT and back, and CUDA's side
 * from VK_QUEUE_FAMILY_EXTERNAL and back. You may submit the command buffer again for each frame.
 *
 * If `first` is nonzero, the call instead records the barrier that transfers CUDA's image to CUDA
 * for the first time (OUT). Submit it once, before everything else, in a submission that signals 1
 * on the timeline. With IN it records nothing, because Vulkan uses the image first.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the command buffer stays yours. The bridge must live until the GPU has run it.
 * Threads: the thread that records the command buffer.
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_FOREIGN_EXT. */
CULV_EXTRA culv_result culv_vk_dma_buf_bridge_record(culv_vk_dma_buf_bridge *bridge,
                                                     VkCommandBuffer commands, culv_bool first);

/** The values that a frame's submission and stream wait for and signal, all on one timeline. */
typedef struct culv_vk_dma_buf_turn {
    size_t struct_size;         /**< Set by culv_vk_dma_buf_turn_init(). */
    VkSemaphore semaphore;      /**< The timeline. */
    uint64_t wait_value;        /**< Value that the submission waits for, at the stage TRANSFER. */
    uint64_t signal_value;      /**< Value that the submission signals. */
    uint64_t cuda_wait_value;   /**< Value that the stream waits for before CUDA's use. */
    uint64_t cuda_signal_value; /**< Value that the stream signals after CUDA's use. */
} culv_vk_dma_buf_turn;

CULV_INIT(culv_vk_dma_buf_turn)

/** Begins the next frame: gets the values that the frame waits for and signals. Call it only for a
 * frame that you will submit, because the next frame waits for it.
 *
 * If `timeout` is not NULL, the call first waits on the CPU until the others are done with the
 * dma-buf: with IN it waits for writers, with OUT for readers too. *timeout is in nanoseconds (0:
 * at once) and is rounded up to milliseconds. After a TIMEOUT no frame has begun. Pass NULL if the
 * others tell you when they are done, or if you use culv_vk_dma_buf_bridge_move_fence().
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), TIMEOUT (NOT_READY), DRIVER (OS).
 * Ownership: *out is yours; the bridge owns the semaphore.
 * Threads: any; one frame after the other.
 * Source: poll() of a dma-buf (Linux: Documentation/driver-api/dma-buf.rst). */
CULV_EXTRA culv_result culv_vk_dma_buf_bridge_next(culv_vk_dma_buf_bridge *bridge,
                                                   const uint64_t *timeout,
                                                   culv_vk_dma_buf_turn *out);

/** The dma-buf of a bridge, as its maker described it or as Vulkan chose it. */
typedef struct culv_vk_dma_buf_info {
    size_t struct_size; /**< Set by culv_vk_dma_buf_info_init(). */
    uint32_t fourcc;    /**< DRM_FORMAT_...; 0: the bridge was made by `format`. */
    VkFormat format;
    uint32_t width;
    uint32_t height;
    uint64_t modifier; /**< DRM_FORMAT_MOD_... */
    uint32_t num_planes;
    uint64_t plane_offsets[CULV_VK_DMA_BUF_PLANES]; /**< Bytes. */
    uint64_t plane_pitches[CULV_VK_DMA_BUF_PLANES]; /**< Bytes. */
    /** Bytes from row to row in CUDA's buffer. 0: CUDA's side is an image. */
    uint64_t buffer_pitch;
    /** With `to_buffer`: CUDA's address of the first row, in `buffer`. Otherwise 0. */
    CUdeviceptr pointer;
    /** Dma-buf, for the other side. The bridge owns and closes it: copy it by culv_handle_dup(). */
    culv_handle handle;
    /** Image for CUDA (culv_shared_image_cuda()). With `to_buffer` it is NULL, and `buffer` is
     * CUDA's side. The bridge owns and destroys both. */
    const culv_shared_image *image;
    const culv_shared_buffer *buffer;
    /** Timeline of the frames, for CUDA by culv_shared_semaphore_cuda(). The bridge owns it. */
    const culv_shared_semaphore *timeline;
} culv_vk_dma_buf_info;

CULV_INIT(culv_vk_dma_buf_info)

/** Gets the description of the dma-buf, for the other side, and the bridge's objects for CUDA.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: *out is yours; the bridge owns the objects in it. */
CULV_EXTRA culv_result culv_vk_dma_buf_bridge_get_info(const culv_vk_dma_buf_bridge *bridge,
                                                       culv_vk_dma_buf_info *out);

/** Moves fences between the dma-buf and your binary semaphore: compositors and cameras keep their
 * fences in the dma-buf (implicit synchronization). If `to_others` is 0, the semaphore gets these
 * fences as a temporary payload: a submission that waits for it then waits for the others without
 * the CPU. If it is 1, the dma-buf gets the fence of the semaphore, so that the others wait for it:
 * first submit the work that signals the semaphore. The semaphore must then have been created with
 * VkExportSemaphoreCreateInfo{SYNC_FD}, and it is unsignaled afterwards. If this is UNSUPPORTED,
 * wait by culv_vk_dma_buf_bridge_next().
 * Errors: INVALID (NULL_ARGUMENT, NOT_EXPORTABLE; OS: no file descriptor is left), UNSUPPORTED (OS:
 * the kernel is older than Linux 6.0, or the handle is not a dma-buf; EXTENSION_MISSING: semaphores
 * take or give no SYNC_FD here), DRIVER (OS; HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the semaphore stays yours. Threads: any, ordered with other uses of the semaphore.
 * Source: DMA_BUF_IOCTL_EXPORT_SYNC_FILE, DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
 * VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT. */
CULV_EXTRA culv_result culv_vk_dma_buf_bridge_move_fence(culv_vk_dma_buf_bridge *bridge,
                                                         VkSemaphore semaphore,
                                                         culv_bool to_others);

CULV_EXTERN_C_END

#endif
