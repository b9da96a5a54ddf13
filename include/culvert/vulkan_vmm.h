/* SPDX-License-Identifier: MIT */
/* Culvert: uses CUDA's memory in Vulkan. It binds Vulkan buffers and images to VMM allocations, and
 * shows a culv_vector as Vulkan buffers.
 *
 *   culv_vmm_allocation_create(device, &desc, &allocation);  with handle_types set
 *   culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, &memory);
 *
 * The allocation must lie on the same GPU as the VkDevice. Vulkan on another GPU would import it
 * without an error and show wrong data (measured), so Culvert refuses that. Create the resource
 * with VkExternalMemoryBufferCreateInfo or VkExternalMemoryImageCreateInfo and the opaque handle
 * type. An image needs its own allocation, or shares a compressible allocation: see
 * culv_vk_image_bind_vmm(). */
#ifndef CULV_VULKAN_VMM_H_
#define CULV_VULKAN_VMM_H_

#include "memory.h"
#include "vector.h"
#include "vmm.h"
#include "vulkan_device.h"
#include "vulkan_memory.h"

CULV_EXTERN_C_BEGIN

/** Makes a VkDeviceMemory from a VMM allocation in device or host memory. It exports the
 * allocation, and Vulkan imports the handle.
 *
 * `desc` is as for culv_vk_memory_from_handle(), but leave the fields handle, size and exporter
 * zero: the allocation determines them. If desc is NULL, any memory type may be chosen, and a
 * device-local type if there is one. Create the resource for external memory of the opaque type,
 * and bind it where its VkMemoryRequirements allow it.
 *
 * If `dedicated` is set, an image may be smaller than the allocation, but a buffer must need all of
 * it, because NVIDIA's driver refuses a smaller buffer (measured). For a smaller buffer use memory
 * that is not dedicated. For an image the memory must be dedicated or compressible.
 * Errors: as culv_vmm_export_dup() and culv_vk_memory_from_handle(); INVALID (VALUE: desc has a
 * handle, a size or an exporter; DEVICE_MISMATCH: the allocation lies on another GPU;
 * NOT_EXPORTABLE: the allocation was not made for export, or it is an import: then pass a handle
 * from its exporter to culv_vk_memory_from_handle(); USAGE: a tile pool; DEDICATED: an image in
 * memory that is neither dedicated nor compressible, or a dedicated buffer that does not need all
 * of the allocation).
 * Ownership: *out is yours, for vkFreeMemory(). It keeps the memory alive even if the allocation is
 * destroyed.
 * Source: cuda.h, cuMemExportToShareableHandle; VkImportMemoryFdInfoKHR. */
CULV_EXPORT culv_result culv_vk_memory_from_vmm(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                                const culv_vk_memory_from_handle_desc *desc,
                                                VkDeviceMemory *out);

/** Imports your exportable VkDeviceMemory as a VMM allocation, for buffers. Map it with
 * culv_vmm_map() in a range beside CUDA's memory and other VkDeviceMemory, so that one pointer
 * reaches all of the range (docs/vmm.md, "Vulkan's memory in a range"). `desc` is as for
 * culv_vk_memory_import(). The allocation can only be mapped as a whole. Its size is
 * allocation_size. If the memory is dedicated, the size is rounded up to the granularity, and
 * nothing may access the added bytes. You may free the VkDeviceMemory while the allocation or its
 * mapping exists.
 * Errors: as culv_vk_memory_import() and culv_vmm_import(); INVALID (SIZE: memory that is not
 * dedicated is no multiple of the granularity, or dedicated memory is smaller than the granularity;
 * USAGE: the memory is for an image), UNSUPPORTED (VMM).
 * Ownership: the VkDeviceMemory stays yours; *out is yours, for culv_vmm_allocation_destroy(). It
 * is an import: it cannot be exported again.
 * Source: cuda.h, cuMemImportFromShareableHandle; measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_vk_memory_import_vmm(culv_vk_device *vk,
                                                  const culv_vk_memory_desc *desc,
                                                  culv_vmm_allocation **out);

/** Imports a VMM allocation into Vulkan and binds your buffer to it, `offset` bytes into the
 * allocation. It checks the alignment, the size, the memory type, and whether the buffer requires a
 * dedicated allocation. You may bind several buffers to one allocation.
 *
 * If the buffer needs all of the allocation, the memory is dedicated to it and of the fast kind.
 * Otherwise it is not, because Vulkan dedicates only whole allocations. If the buffer then needs
 * CULV_SLOW_KIND_BYTES or more, the log has a warning: make the buffer as large as the allocation,
 * and use ranges of it.
 *
 * If a buffer has SHADER_DEVICE_ADDRESS, do not use this call: bind it yourself to memory of
 * culv_vk_memory_from_vmm() with allocate_flags.
 * Errors: as culv_vk_memory_from_vmm(); INVALID (RANGE: offset and the buffer's size leave the
 * allocation; VALUE: offset is not a multiple of VkMemoryRequirements::alignment; DEDICATED: the
 * buffer requires a dedicated allocation, but does not need all of it).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyBuffer(). After an error the buffer
 * is unbound.
 * Threads: any, ordered with other uses of the buffer. */
CULV_EXPORT culv_result culv_vk_buffer_bind_vmm(culv_vk_device *vk, VkBuffer buffer,
                                                culv_vmm_allocation *allocation,
                                                VkDeviceSize offset, VkDeviceMemory *out);

/** Imports a VMM allocation into Vulkan and binds your image to it. The image has OPTIMAL tiling.
 * Culvert checks whether CUDA could map such an image.
 *
 * At offset 0 the memory is dedicated to the image. At another offset, beside other resources, the
 * allocation must be compressible (culv_vmm_allocation_info::usage says whether the device granted
 * that). Otherwise CUDA would read wrong texels, because NVIDIA's Vulkan writes images that share
 * memory compressed (measured).
 *
 * Only the driver knows the order of the bytes. To get CUDA arrays, import the handle of
 * culv_vmm_export_dup() with culv_memory_import() (with `dedicated` set if the offset is 0), and
 * map the image in that import with culv_vk_image_map().
 * Errors: as culv_vk_buffer_bind_vmm(); as culv_vk_check_image() of create_info (TILING, USAGE,
 * FORMAT, EXTENT); INVALID (DEDICATED: an offset in memory that is not compressible).
 * Ownership: *out is yours, for vkFreeMemory() after vkDestroyImage(). After an error the image is
 * unbound.
 * Threads: any, ordered with other uses of the image.
 * Source: measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_vk_image_bind_vmm(culv_vk_device *vk, VkImage image,
                                               const VkImageCreateInfo *create_info,
                                               culv_vmm_allocation *allocation, VkDeviceSize offset,
                                               VkDeviceMemory *out);

/** Vulkan's view of a vector. */
typedef struct culv_vk_vector_view_desc {
    size_t struct_size; /**< Set by culv_vk_vector_view_desc_init(). */
    /** Required: usage of the buffers. With SHADER_DEVICE_ADDRESS the buffers have addresses. */
    VkBufferUsageFlags usage;
    /** Queue with VK_QUEUE_SPARSE_BINDING_BIT: one sparse buffer of `sparse_size` bytes shows all
     * chunks. You must have created the VkDevice with sparseBinding and sparseResidencyBuffer;
     * Culvert cannot check that. VK_NULL_HANDLE: one buffer for each chunk. */
    VkQueue sparse_queue;
    /** With sparse_queue: size of the sparse buffer in bytes, at least the maximum that the vector
     * will ever commit, with `commit_ahead`. It costs no memory. */
    VkDeviceSize sparse_size;
    const char *label; /**< Copied (up to 63 bytes). Default: the vector's label. */
} culv_vk_vector_view_desc;

CULV_INIT(culv_vk_vector_view_desc)

/** Makes Vulkan's view of a vector and imports its present chunks. The chunks must be exportable as
 * OPAQUE_FD (on Windows OPAQUE_WIN32). Without a sparse queue each chunk has a buffer: draw and
 * dispatch once for each chunk. A vector with `min_chunk` or `growth_percent` has few large chunks.
 * Errors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage, or a sparse size that is too
 * small or too large; NOT_EXPORTABLE), UNSUPPORTED (NOT_EXPORTABLE: the device exports no buffers
 * of such a usage; USAGE: the device lacks sparse binding, or takes no external memory for sparse
 * buffers).
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_vk_vector_view_create(culv_vk_device *vk, culv_vector *vector,
                                                   const culv_vk_vector_view_desc *desc,
                                                   culv_vector_view **out);

/* Adopted memory ------------------------------------------------------------------------------- */

/* These calls show adopted memory (culvert/vmm.h) as Vulkan buffers: a shader reads and writes a
 * tensor of an unmodified program in place. */

/** Opaque: Vulkan buffers for the chunks of an adopted range. */
typedef struct culv_vk_adopted culv_vk_adopted;

/** Vulkan's view of adopted memory. */
typedef struct culv_vk_adopted_desc {
    size_t struct_size;       /**< Set by culv_vk_adopted_desc_init(). */
    VkBufferUsageFlags usage; /**< Required: usage of the buffers. */
    /** Queue with VK_QUEUE_SPARSE_BINDING_BIT, of a VkDevice with sparseBinding and
     * sparseResidencyBuffer. If the device takes imported memory for sparse buffers, a range of
     * several chunks is one sparse buffer. Otherwise, or with VK_NULL_HANDLE, each chunk has a
     * buffer. A range in one chunk is always one plain buffer. */
    VkQueue sparse_queue;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_adopted_desc;

CULV_INIT(culv_vk_adopted_desc)

/** Makes Vulkan's view of an adopted range. Culvert makes the buffer of a chunk once for each
 * usage, and all views in this VkDevice share it: two tensors in one chunk have the same VkBuffer.
 * Errors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage); UNSUPPORTED (NOT_EXPORTABLE: the
 * device exports no buffers of such a usage).
 * Ownership: *out is yours, for culv_vk_adopted_destroy(), before or after the range is destroyed.
 * Threads: any; with a sparse queue, ordered with other uses of that queue. */
CULV_EXPORT culv_result culv_vk_adopted_create(culv_vk_device *vk, culv_vmm_adopted *adopted,
                                               const culv_vk_adopted_desc *desc,
                                               culv_vk_adopted **out);

/** Destroys the view. Vulkan's work with its buffers must be done.
 * Ownership: the view's buffers are destroyed unless another view has them. */
CULV_EXPORT void culv_vk_adopted_destroy(culv_vk_adopted **view);

/** Lists the parts by address. `parts` and *count are as in every call that lists (culvert.h). A
 * sparse buffer, or a range in one chunk, has one part.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: Culvert owns the buffers. */
CULV_EXPORT culv_result culv_vk_adopted_get_parts(const culv_vk_adopted *view, culv_part *parts,
                                                  size_t capacity, size_t *count);

/* One address for CUDA and Vulkan -------------------------------------------------------------- */

/* CUDA and Vulkan both reserve a range at the same address, and one call commits memory in both. A
 * CUdeviceptr of the range is the VkDeviceAddress of the same byte, so pointers in the memory are
 * valid on both sides: you can share trees, lists, tensors of tensors and work queues as they are.
 *
 *   culv_vk_space_create(vk, &desc, &space);
 *   culv_vk_space_commit(space, 0, bytes, NULL, NULL);
 *   kernel<<<...>>>(culv_vk_space_pointer(space));      a shader's buffer_reference has this value
 *
 * It needs Vulkan 1.2, a queue with VK_QUEUE_SPARSE_BINDING_BIT, and the features of
 * culv_vk_device_features::one_address. culv_vk_space_create() says what is missing. If the two
 * sides cannot get the same address, it fails. docs/space.md says how it works, and who may use the
 * memory when.
 *
 * Binds and unbinds of one space happen in the order of the calls, and do not wait for work on
 * other parts of the space. As always, use a semaphore between the writer and the reader of data,
 * and a barrier on Vulkan's side. Accesses by address need no ownership transfer to
 * VK_QUEUE_FAMILY_EXTERNAL. Neither side may access addresses without committed memory.
 *
 * The queue is yours. Vulkan lets only one thread use a queue at a time: order the calls below with
 * your own uses of the queue, or set culv_vk_space_desc::lock_queue. If a call does not mention the
 * queue under "Threads", it does not use it: you may make it while the queue is locked, and while
 * another thread's call waits. */

/** Opaque: addresses that CUDA and a VkDevice share. Any thread may call it, ordered with other
 * uses of the queue. */
typedef struct culv_vk_space culv_vk_space;
/** Opaque: a part of a space. */
typedef struct culv_vk_space_buffer culv_vk_space_buffer;

/** A space to make. */
typedef struct culv_vk_space_desc {
    size_t struct_size; /**< Set by culv_vk_space_desc_init(). */
    /** Required: bytes of addresses, rounded up to the granularity (2 MiB). They cost no memory. */
    uint64_t size;
    VkQueue queue; /**< Required: queue of the VkDevice with VK_QUEUE_SPARSE_BINDING_BIT. */
    /** Address, a multiple of the granularity. If it is not free, the call fails (ADDRESS). 0:
     * Culvert tries its own list, then the address that CUDA chooses. */
    CUdeviceptr address;
    /** Usage of the space's VkBuffer in addition to STORAGE_BUFFER, TRANSFER_SRC, TRANSFER_DST and
     * SHADER_DEVICE_ADDRESS, which it always has. */
    VkBufferUsageFlags buffer_usage;
    const culv_vmm_access *access; /**< CUDA devices that use it. Read during the call. */
    size_t access_count; /**< Default: 0, which lets the space's own device read and write. */
    /** Function that Culvert calls before it uses `queue`; it calls unlock_queue afterwards. Set
     * both if another thread uses the queue. With culv_vector_desc::commit_ahead a thread of
     * Culvert uses it: set both if your program uses it too. They must not call Culvert. */
    void (*lock_queue)(void *context);
    void (*unlock_queue)(void *context);
    void *queue_context;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
    /** Nonzero: vectors in the space grow without waiting for Vulkan on the host. Vulkan's work
     * with the new bytes must then wait until culv_vk_space_info::timeline has reached ready_value.
     * Default: 0: a grow returns when Vulkan may use the bytes. */
    culv_bool vectors_do_not_wait;
} culv_vk_space_desc;

CULV_INIT(culv_vk_space_desc)

/** The state of a space. */
typedef struct culv_vk_space_info {
    size_t struct_size;   /**< Set by culv_vk_space_info_init(). */
    uint64_t granularity; /**< Bytes. Offsets and sizes of commits are multiples of it. */
    /** Maximum bytes of a space on this device, by Vulkan's sparseAddressSpaceSize and
     * maxBufferSize. */
    uint64_t max_size;
    /** Address of the first byte, in CUDA and in Vulkan. */
    CUdeviceptr address;
    uint64_t size;      /**< Bytes of addresses. */
    uint64_t committed; /**< Bytes of memory in it. */
    uint64_t chunks;    /**< Number of allocations in it. */
    /** Number of allocations that were decommitted and are still bound or mapped. */
    uint64_t decommitting;
    uint32_t attempts;          /**< Number of addresses that were tried, including `address`. */
    uint32_t refused_by_cuda;   /**< Number of addresses that CUDA did not give. */
    uint32_t refused_by_vulkan; /**< Number of addresses that Vulkan did not give. */
    /** culv_space for culv_vector_desc::space, to put a vector into this space. The culv_vk_space
     * owns it; the vector keeps the space alive. */
    culv_space *base;
    /** VkBuffer for the whole space, for descriptors and copies: byte n of the space is byte n of
     * the buffer. Culvert owns it: never destroy it. */
    VkBuffer buffer;
    /** Timeline for the values that commits return. Wait for it in your submissions, but never
     * signal it. Culvert owns it: never destroy it. */
    VkSemaphore timeline;
    /** Value that `timeline` reaches when all memory of the commits and growths so far is bound.
     * With culv_vk_space_desc::vectors_do_not_wait, get it after the grow, and make Vulkan's
     * submission wait for it. 0: nothing was bound yet. */
    uint64_t ready_value;
} culv_vk_space_info;

CULV_INIT(culv_vk_space_info)

/** Reserves the same addresses in CUDA and in Vulkan, without memory.
 *
 * The call tries one address after another until both sides get it. The log lists the addresses.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a field of desc; SIZE: more than the device
 * has), UNSUPPORTED (VMM: CUDA's device has no virtual memory management; USAGE: Vulkan's device
 * lacks a feature, which the message names, or imports no memory for sparse buffers, or used none
 * of the chosen addresses because the VkDevice was created without the features; EXTENSION_MISSING:
 * memory cannot be imported; VULKAN_VERSION: the device or the instance has less than Vulkan 1.2),
 * OUT_OF_MEMORY (ADDRESS: no address was free in both; the message says what each side answered),
 * DRIVER, ASYNC.
 * Ownership: *out is yours, for culv_vk_space_destroy(). It keeps the attachment alive, and your
 * VkDevice must outlive it.
 * Source: cuda.h, cuMemAddressReserve; VkBufferOpaqueCaptureAddressCreateInfo,
 * VkPhysicalDeviceSparseProperties, VkPhysicalDeviceBufferDeviceAddressFeatures; measured,
 * docs/space.md: an H200 gives both the same address from 64 MiB to 256 GiB. */
CULV_EXPORT culv_result culv_vk_space_create(culv_vk_device *vk, const culv_vk_space_desc *desc,
                                             culv_vk_space **out);

/** Destroys the space. The space and its memory are freed when its buffers and vectors are
 * destroyed too. At that time the GPU's work with them must be done. Tensors of a destroyed vector
 * keep only CUDA's half of their memory, so you may destroy the VkDevice before them.
 * Threads: any, ordered with other calls and with uses of the queue. */
CULV_EXPORT void culv_vk_space_destroy(culv_vk_space **space);

/** Returns the address of the first byte, for CUDA and for Vulkan, or 0 for NULL.
 * Ownership: Culvert owns the memory. */
CULV_EXPORT CUdeviceptr culv_vk_space_pointer(const culv_vk_space *space);

/** Fills *out with the state of the space.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_vk_space_get_info(culv_vk_space *space, culv_vk_space_info *out);

/** Commits one chunk of new memory at `size` bytes from `offset` on, in CUDA and in Vulkan. Its
 * contents are undefined. If `allocation` is not NULL, the call commits that whole allocation
 * instead, and does not read `size`. The allocation must be exportable by this system's opaque
 * handle and lie on the same GPU.
 *
 * If `ready` is NULL, the call waits until Vulkan has bound the memory. Otherwise it does not wait,
 * and *ready is the value of culv_vk_space_info::timeline that Vulkan's work with the memory must
 * wait for. CUDA may use it at once in both cases.
 *
 * A commit does not reserve the bytes: a later culv_vk_space_buffer_create() at
 * CULV_VK_SPACE_ANYWHERE may take them. If you use committed bytes yourself, pass other offsets for
 * your buffers, or make a buffer for those bytes too.
 *
 * If a deferred decommit is pending there, the call waits for it on the host.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not multiples of the granularity; RANGE: the bytes leave
 * the space; NOT_EXPORTABLE, USAGE, DEVICE_MISMATCH: `allocation`), BUSY (MAPPED: memory is there
 * already, or a vector has these addresses), OUT_OF_MEMORY, DRIVER, ASYNC. After an error nothing
 * has changed on either side.
 * Ownership: the space owns the memory; an allocation stays yours, and the space keeps its memory
 * alive.
 * Threads: any, ordered with other uses of the queue.
 * Source: cuda.h, cuMemMap; vkQueueBindSparse. */
CULV_EXPORT culv_result culv_vk_space_commit(culv_vk_space *space, uint64_t offset, uint64_t size,
                                             culv_vmm_allocation *allocation, uint64_t *ready);

/** Decommits the chunks in `size` bytes from `offset` on, on both sides, after the work that is in
 * `last_use` now. If Vulkan uses the memory, make that stream wait for Vulkan's timeline first
 * (culv_semaphore_wait()). If `wait` is nonzero, the call waits on the host for that work, and then
 * until Vulkan has unbound the memory. Otherwise it DEFERS and never waits: a later call for this
 * space frees the memory. If `size` is 0, the call decommits nothing; it frees deferred memory,
 * also of shrinks and destroys, if the streams have reached that point.
 * Errors: INVALID (NULL_ARGUMENT, RANGE; NOT_MAPPED: an end lies within a chunk, or no memory is
 * there; CAPTURE, STREAM_DEVICE), BUSY (MAPPED: a culv_vk_space_buffer or a vector lies there),
 * DRIVER, ASYNC. After an error nothing has changed. If a driver refuses the last step, the memory
 * is freed in a later call.
 * Threads: any; if it waits or `size` is 0, ordered with other uses of the queue.
 * Source: cuda.h, cuMemUnmap; vkQueueBindSparse. */
CULV_EXPORT culv_result culv_vk_space_decommit(culv_vk_space *space, uint64_t offset, uint64_t size,
                                               CUstream last_use, culv_bool wait);

/** As culv_vk_space_buffer_desc::offset: the first aligned place that no buffer and no vector has,
 * even if you have committed memory there. */
#define CULV_VK_SPACE_ANYWHERE UINT64_MAX

/** A part of a space to take. A field that is zero has its default; struct_size, size and offset
 * must be set. */
typedef struct culv_vk_space_buffer_desc {
    size_t struct_size; /**< Set by culv_vk_space_buffer_desc_init(). */
    uint64_t size;      /**< Required: bytes. */
    /** Offset in the space in bytes, or CULV_VK_SPACE_ANYWHERE, which
     * culv_vk_space_buffer_desc_init() sets. */
    uint64_t offset;
    /** Usage in Vulkan. It determines the alignment: the device's limits for storage, uniform and
     * texel buffers, and at least 256 bytes, which is enough for vertices, indices, inputs and
     * storage of acceleration structures, and CUDA. The space's VkBuffer must have these usages
     * (culv_vk_space_desc::buffer_usage). */
    VkBufferUsageFlags usage;
    uint64_t alignment; /**< Alignment in bytes, a power of two, if `usage` gives too little. */
    const char *label;  /**< Copied (up to 63 bytes). Default: the space's label. */
} culv_vk_space_buffer_desc;

/** Returns a default descriptor. */
CULV_INLINE culv_vk_space_buffer_desc culv_vk_space_buffer_desc_init(void)
{
    culv_vk_space_buffer_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    d.offset = CULV_VK_SPACE_ANYWHERE;
    return d;
}

/** Takes a part of the space and commits the bytes that have no memory yet. Both sides may use it
 * as soon as the call returns. No other buffer and no vector gets these bytes.
 * Errors: as culv_vk_space_commit(); INVALID (VALUE: an alignment or an offset; USAGE: the space's
 * VkBuffer lacks a usage; SIZE: it is 0; RANGE), BUSY (MAPPED: another buffer or a vector has some
 * of these bytes), OUT_OF_MEMORY (ADDRESS: no place is free).
 * Ownership: *out is yours, for culv_vk_space_buffer_destroy(). It keeps the space alive.
 * Threads: any, ordered with other uses of the queue.
 * Source: VkPhysicalDeviceLimits; Vulkan, vkCmdBuildAccelerationStructuresKHR. */
CULV_EXPORT culv_result culv_vk_space_buffer_create(culv_vk_space *space,
                                                    const culv_vk_space_buffer_desc *desc,
                                                    culv_vk_space_buffer **out);

/** Gives the part back to the space. Vulkan's work with a separate VkBuffer must be done. The
 * memory stays committed (culv_vk_space_decommit()).
 * Threads: any, ordered with other calls on this object. If the space is destroyed and this is its
 * last buffer or vector, ordered with uses of the queue. */
CULV_EXPORT void culv_vk_space_buffer_destroy(culv_vk_space_buffer **buffer);

/** Returns the address of the part's first byte, for CUDA and for Vulkan, or 0 for NULL.
 * Ownership: Culvert owns the memory. */
CULV_EXPORT CUdeviceptr culv_vk_space_buffer_pointer(const culv_vk_space_buffer *buffer);

CULV_EXTERN_C_END

#endif
