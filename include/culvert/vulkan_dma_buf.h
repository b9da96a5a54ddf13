/* SPDX-License-Identifier: MIT */
/* Culvert: shares dma-bufs of compositors, cameras and capture tools with CUDA, in both directions.
 *
 * On desktops, NVIDIA's driver 580 imports dma-bufs into Vulkan, but not into CUDA. A bridge
 * imports one into Vulkan and records the copy to an image (or a buffer) that Vulkan and CUDA
 * share. In the other direction it records the copy of CUDA's image into a dma-buf that others
 * show. If CUDA's driver does take dma-bufs, a bridge with `direct` copies nothing. If your program
 * makes the memory itself, share it directly (vulkan_memory.h).
 *
 *   culv_vk_dma_buf_desc d = culv_vk_dma_buf_desc_init();
 *   d.handle = culv_handle_dma_buf_fd(fd);                what the compositor sent, with it:
 *   d.fourcc = DRM_FORMAT_XRGB8888;  d.modifier = modifier;
 *   d.width = width;  d.height = height;
 *   d.num_planes = 1;  d.plane_offsets[0] = offset;  d.plane_pitches[0] = stride;
 *   d.queue_family = family;
 *   culv_vk_dma_buf_bridge_create(vk, &d, &bridge);
 *
 *   culv_vk_dma_buf_bridge_record(bridge, commands);       once; submit it for each frame
 *   culv_vk_dma_buf_bridge_wait(bridge, timeout);          in each frame: until the writer is done
 *   culv_vk_dma_buf_bridge_next(bridge, &turn);            what to wait for
 *   vkQueueSubmit(...);         waits for turn.wait_value, signals turn.signal_value
 *   culv_semaphore_wait(cuda, stream, turn.cuda_wait_value);
 *   ... kernels read culv_shared_image_cuda(info.image) ...
 *   culv_semaphore_signal(cuda, stream, turn.cuda_signal_value);
 *
 * docs/dma-buf.md has both ways, the formats, and where it ran. */
#ifndef CULV_VULKAN_DMA_BUF_H_
#define CULV_VULKAN_DMA_BUF_H_

#ifndef CULV_EXPERIMENTAL
#    error "vulkan_dma_buf.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "format.h"
#include "handle.h"
#include "vulkan_barrier.h"
#include "vulkan_memory.h"
#include "vulkan_semaphore.h"

CULV_EXTERN_C_BEGIN

/** Maximum number of memory planes of a dma-buf image. */
#define CULV_VK_DMA_BUF_PLANES 4

/** A DRM format (drm_fourcc.h), in Vulkan's and CUDA's terms. */
typedef struct culv_drm_format_info {
    size_t struct_size; /**< Set by culv_drm_format_info_init(). */
    uint32_t fourcc;    /**< DRM_FORMAT_... */
    culv_format format; /**< The same texels in Vulkan's terms: cast it to VkFormat. */
    /** 1: the fourth channel is not alpha and may have any value (XR24 ...). */
    culv_bool ignores_alpha;
    uint32_t planes; /**< Planes of the format: 2 for NV12 and P010, else 1. */
    /** For a format with several planes, the DRM format of each plane. Make one bridge for each.
     * Otherwise 0. */
    uint32_t plane_fourccs[3];
    uint32_t chroma_across; /**< The width of plane 1 is that of plane 0 divided by this. */
    uint32_t chroma_down;   /**< The same for the height. */
} culv_drm_format_info;

CULV_INIT(culv_drm_format_info)

/** Gets a DRM format in Vulkan's and CUDA's terms. docs/dma-buf.md has the list.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not in the list).
 * Ownership: *out is yours. Threads: any.
 * Source: drm_fourcc.h. */
CULV_EXPORT culv_result culv_drm_format_get_info(uint32_t fourcc, culv_drm_format_info *out);

/** Lists the device extensions that a bridge needs besides culv_vk_device_extensions(): enable
 * those that the device has. Writes up to `capacity` names and returns the number of names.
 * out_names may be NULL when capacity is 0.
 * Ownership: the names are static. Threads: any. */
CULV_EXPORT uint32_t culv_vk_dma_buf_extensions(uint32_t api_version, uint32_t capacity,
                                                const char **out_names);

/** The side that writes the dma-buf. */
typedef enum culv_vk_dma_buf_direction {
    CULV_VK_DMA_BUF_IN = 0,  /**< Others write it, CUDA reads: the default. */
    CULV_VK_DMA_BUF_OUT = 1, /**< CUDA writes, others read it. */
    CULV_VK_DMA_BUF_DIRECTION_FORCE32 = 0x7fffffff
} culv_vk_dma_buf_direction;

/** A dma-buf to bridge. */
typedef struct culv_vk_dma_buf_desc {
    size_t struct_size; /**< Set by culv_vk_dma_buf_desc_init(). */
    /** The dma-buf (culv_handle_dma_buf_fd()). Type NONE, only with OUT: Culvert makes one, and
     * culv_vk_dma_buf_bridge_export_dup() returns it. */
    culv_handle handle;
    culv_vk_dma_buf_direction direction; /**< The side that writes. */
    /** Required, or else `format`: DRM_FORMAT_... of one plane. A format of several planes takes a
     * bridge for each plane (culv_drm_format_info::plane_fourccs), with that plane's offset. */
    uint32_t fourcc;
    /** Replaces `fourcc`: the VkFormat, for sRGB or integers. One plane, colors, no blocks. */
    VkFormat format;
    uint32_t width;  /**< Required: texels. */
    uint32_t height; /**< Required: texels. */
    /** With `handle`: the maker's DRM_FORMAT_MOD_... 0 is LINEAR. DRM_FORMAT_MOD_INVALID
     * ("implicit") is refused: only the driver that made it knows its meaning. */
    uint64_t modifier;
    /** With `handle`, required: the number of memory planes. Some modifiers have more than one
     * (compression). All lie in this dma-buf: if the maker sent an fd for each plane, all must be
     * fds of the same dma-buf. */
    uint32_t num_planes;
    uint64_t plane_offsets[CULV_VK_DMA_BUF_PLANES]; /**< With `handle`: bytes into the dma-buf. */
    uint64_t plane_pitches[CULV_VK_DMA_BUF_PLANES]; /**< With `handle`: bytes from row to row. */
    /** Without `handle`, required: the modifiers that the other side takes. Vulkan chooses one that
     * it supports too (culv_vk_dma_buf_get_modifiers()). Read during the call. */
    const uint64_t *modifiers;
    uint32_t num_modifiers; /**< Elements of `modifiers`. */
    /** Required: the family of the queue that the copies are submitted to.
     * culv_vk_dma_buf_desc_init() sets CULV_VK_QUEUE_FAMILY_UNSET, which is refused. */
    uint32_t queue_family;
    /** 1: CUDA's side is a buffer with rows (culv_vk_dma_buf_info::buffer), for formats that no
     * CUDA array has (RG24), and for code that wants pointers. 0: an image. */
    culv_bool to_buffer;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    /** 1, with `to_buffer` and a `handle` of one LINEAR plane: CUDA maps the dma-buf itself if its
     * driver takes it, and nothing is copied; otherwise the bridge copies.
     * culv_vk_dma_buf_info::direct says which of the two it does. Read the rows by
     * culv_vk_dma_buf_info::pointer in both cases. */
    culv_bool direct;
} culv_vk_dma_buf_desc;

/** Returns a default descriptor: others write, no queue family yet. Threads: any. */
CULV_INLINE culv_vk_dma_buf_desc culv_vk_dma_buf_desc_init(void)
{
    culv_vk_dma_buf_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.queue_family = CULV_VK_QUEUE_FAMILY_UNSET;
    return d;
}

/** Lists the modifiers with which this device can bridge a format, so that you can agree on one
 * with the other side. `planes` gets the number of memory planes of each. Writes up to `capacity`
 * of them into each array that is not NULL, and sets *count to the number of modifiers.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an unknown direction), UNSUPPORTED (FORMAT;
 * EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the arrays are yours. Threads: any.
 * Source: VkDrmFormatModifierPropertiesListEXT. */
CULV_EXPORT culv_result culv_vk_dma_buf_get_modifiers(culv_vk_device *vk, uint32_t fourcc,
                                                      culv_vk_dma_buf_direction direction,
                                                      uint64_t *modifiers, uint32_t *planes,
                                                      uint32_t capacity, uint32_t *count);

/** Tells whether such a bridge can be made, without making it and without reading the handle. The
 * error's message says what is missing.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: fourcc and format, direction, queue family,
 * planes, or a field that does not go with `handle`; MODIFIER: the implicit one, or another number
 * of planes than the modifier has; EXTENT: an extent of 0; RANGE: a row is longer than its pitch,
 * or offsets overflow), UNSUPPORTED (FORMAT: unknown, of several planes, or no CUDA array has it;
 * EXTENSION_MISSING: the device or the VkDevice lacks one; MODIFIER: the device lacks it for this
 * format or this use; EXTENT: too large; NOT_EXPORTABLE: it is not imported, or not exported),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Threads: any.
 * Source: VkPhysicalDeviceImageDrmFormatModifierInfoEXT, VkExternalImageFormatProperties. */
CULV_EXPORT culv_result culv_vk_check_dma_buf(culv_vk_device *vk, const culv_vk_dma_buf_desc *desc);

/** Opaque: a dma-buf in Vulkan, CUDA's image or buffer, and the timeline between them. */
typedef struct culv_vk_dma_buf_bridge culv_vk_dma_buf_bridge;

/** Makes a bridge. Nothing is copied by itself: record the copies.
 * Errors: as culv_vk_check_dma_buf(), culv_vk_image_create(), culv_vk_semaphore_create(), except
 * that a `direct` bridge makes no image or semaphore; INVALID (HANDLE_TYPE, HANDLE_BAD,
 * HANDLE_KIND; SIZE: the dma-buf is too small for such an image; RANGE: the driver has no such
 * offsets and pitches with the modifier; OS: no file descriptor is left), DRIVER (HANDLE_REFUSED:
 * not a dma-buf that this device reaches).
 * Ownership: the handle is borrowed: close it when you like. *out is yours, for
 * culv_vk_dma_buf_bridge_destroy(). It keeps the attachment alive, and your VkDevice must outlive
 * it.
 * Threads: any.
 * Source: VK_EXT_external_memory_dma_buf, VkImageDrmFormatModifierExplicitCreateInfoEXT. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_create(culv_vk_device *vk,
                                                      const culv_vk_dma_buf_desc *desc,
                                                      culv_vk_dma_buf_bridge **out);

/** Destroys the bridge, with all that it made, and closes the dma-buf. Vulkan's work with it must
 * be done. CUDA's should be, as for culv_shared_image_destroy().
 * Threads: any, ordered with other calls on this object and with its VkDevice's destruction. */
CULV_EXPORT void culv_vk_dma_buf_bridge_destroy(culv_vk_dma_buf_bridge **bridge);

/** Records the copy of the whole image into your command buffer, outside of render passes, with the
 * barriers: the dma-buf comes from VK_QUEUE_FAMILY_FOREIGN_EXT and goes back to it, CUDA's side
 * from VK_QUEUE_FAMILY_EXTERNAL and back. You may submit the command buffer again for each frame.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the command buffer stays yours. The bridge must live until the GPU has run it.
 * Threads: the command buffer's.
 * Source: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_FOREIGN_EXT. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_record(culv_vk_dma_buf_bridge *bridge,
                                                      VkCommandBuffer commands);

/** Records the barrier that gives CUDA's image to CUDA for the first time (OUT). Submit it once,
 * before everything else, in a submission that signals 1 on the timeline. With IN the call records
 * nothing, because Vulkan comes first.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: as culv_vk_dma_buf_bridge_record(). Threads: the command buffer's. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_record_first(culv_vk_dma_buf_bridge *bridge,
                                                            VkCommandBuffer commands);

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

/** Begins the next frame: gets the values that it waits for and signals. Call it only for a frame
 * that you will submit, because the next frame waits for it. So make calls that may fail or time
 * out first, such as culv_vk_dma_buf_bridge_wait().
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: *out is yours; the semaphore is the bridge's.
 * Threads: any; one frame after the other. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_next(culv_vk_dma_buf_bridge *bridge,
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
    /** Bytes from row to row of CUDA's buffer; 0: CUDA's side is an image. */
    uint64_t buffer_pitch;
    /** 1: CUDA's rows are those of the dma-buf, and the recorded commands copy nothing. */
    culv_bool direct;
    /** CUDA's address of the first row, with `to_buffer`: in `buffer`, or in the dma-buf itself
     * (`direct`). Otherwise 0. */
    CUdeviceptr pointer;
    /** What CUDA sees: culv_shared_image_cuda() of the image; with `to_buffer` image is NULL, and
     * CUDA's side is the buffer, which is NULL if `direct` is 1. The bridge's, which destroys them;
     * their own destroy calls refuse them (OWNED). */
    const culv_shared_image *image;
    const culv_shared_buffer *buffer;
    /** culv_shared_semaphore_cuda() of it is CUDA's. The bridge's, like the image. */
    const culv_shared_semaphore *timeline;
} culv_vk_dma_buf_info;

CULV_INIT(culv_vk_dma_buf_info)

/** Gets the description of the dma-buf, for the other side, and what CUDA uses of the bridge.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: *out is yours. Threads: any. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_get_info(const culv_vk_dma_buf_bridge *bridge,
                                                        culv_vk_dma_buf_info *out);

/** Gets a new file descriptor of the dma-buf, for the other side. It is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT; OS: no file descriptor is left).
 * Ownership: *out is yours, for culv_handle_close(). Threads: any. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_export_dup(const culv_vk_dma_buf_bridge *bridge,
                                                          culv_handle *out);

/* Implicit synchronization ---------------------------------------------------------------------
 * Compositors and cameras leave their fences in the dma-buf. Where the other side tells when it is
 * done (explicit synchronization), none of these calls is needed. */

/** Waits on the CPU until the others are done with the dma-buf: with IN for its writers, with OUT
 * for its readers too. timeout is in nanoseconds (0: only asks) and is rounded up to milliseconds.
 * Errors: INVALID (NULL_ARGUMENT), TIMEOUT (NOT_READY), DRIVER (OS), UNSUPPORTED (NOT_BUILT: on
 * Windows).
 * Threads: any.
 * Source: poll() of a dma-buf (Linux: Documentation/driver-api/dma-buf.rst). */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_wait(culv_vk_dma_buf_bridge *bridge,
                                                    uint64_t timeout);

/** Gives the fences of the dma-buf to your binary semaphore, as a temporary payload, so that a
 * submission that waits for the semaphore waits for the others without the CPU. If this is
 * UNSUPPORTED, use culv_vk_dma_buf_bridge_wait().
 * Errors: INVALID (NULL_ARGUMENT; OS: no file descriptor is left), UNSUPPORTED (OS: the kernel is
 * older than Linux 6.0, or the handle is not a dma-buf; EXTENSION_MISSING: semaphores take no
 * SYNC_FD here; NOT_BUILT: on Windows), DRIVER (OS; HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the semaphore stays yours. Threads: any, ordered with other uses of the semaphore.
 * Source: DMA_BUF_IOCTL_EXPORT_SYNC_FILE, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_import_fence(culv_vk_dma_buf_bridge *bridge,
                                                            VkSemaphore semaphore);

/** Puts the fence of your binary semaphore into the dma-buf, so that the others wait for it. Submit
 * the submission that signals it first. The semaphore must have been created with
 * VkExportSemaphoreCreateInfo{SYNC_FD}, and is unsignaled afterwards.
 * Errors: as culv_vk_dma_buf_bridge_import_fence(); INVALID (NOT_EXPORTABLE).
 * Ownership: the semaphore stays yours. Threads: any, ordered with other uses of the semaphore.
 * Source: DMA_BUF_IOCTL_IMPORT_SYNC_FILE, vkGetSemaphoreFdKHR. */
CULV_EXPORT culv_result culv_vk_dma_buf_bridge_export_fence(culv_vk_dma_buf_bridge *bridge,
                                                            VkSemaphore semaphore);

CULV_EXTERN_C_END

#endif
