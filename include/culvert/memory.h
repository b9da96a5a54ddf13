/* SPDX-License-Identifier: MIT */
/* Culvert: imports memory of a graphics API into CUDA and maps buffers on it.
 *
 * An exported handle stands for a whole allocation (a VkDeviceMemory). The import states the
 * allocation's size, and each mapping states its resource's offset.
 *
 *   culv_memory_import(device, &memory_desc, &memory);  the whole allocation
 *   culv_buffer_map(memory, &buffer_desc, &buffer);          offset and size of the VkBuffer
 *   kernel<<<...>>>(culv_buffer_pointer(buffer));
 *
 * The driver maps the whole import when you map its first buffer (27 us for 64 KiB, 3,900 us for 1
 * GiB on an H200). Further buffers are ranges of that mapping and cost nothing.
 *
 * If the CPU also maps the Vulkan memory, and the memory is not HOST_COHERENT, call
 * vkInvalidateMappedMemoryRanges before the CPU reads what CUDA wrote, and
 * vkFlushMappedMemoryRanges after the CPU wrote. */
#ifndef CULV_MEMORY_H_
#define CULV_MEMORY_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** The kind of memory that a buffer or an image lies in. The kinds differ most in speed for random
 * access to several GiB: random reads of 4 GiB reached 43 G words/s in the fast kind, and 6.3 in
 * the compressible kind (H200; docs/measured/memory-kinds.md). */
typedef enum culv_memory_kind {
    /** If you pass it, it asks for the fast kind. If a call returns it, the kind is not known, for
     * example for host memory, or for an imported handle whose allocation nobody described. */
    CULV_MEMORY_KIND_UNKNOWN = 0,
    /** Random access is as fast as in memory of cuMemAlloc, for both sides. The memory is dedicated
     * to one buffer, or it is CUDA's own. */
    CULV_MEMORY_KIND_FAST = 1,
    /** The driver may compress it. For both sides, streaming access to compressible contents is up
     * to 1.4 times as fast, and random access to CULV_SLOW_KIND_BYTES or more is up to seven times
     * as slow. The graphics API's exportable memory that is not dedicated (an allocator's block) is
     * of this kind. */
    CULV_MEMORY_KIND_COMPRESSIBLE = 2,
    /** CUDA allocated the memory, and the graphics API's buffer on it is sparse or covers only a
     * part of the allocation. It is fast for CUDA, and as slow as the compressible kind for the
     * graphics API. */
    CULV_MEMORY_KIND_PLAIN = 3,
    CULV_MEMORY_KIND_FORCE32 = 0x7fffffff
} culv_memory_kind;

/** From this size on, in bytes, the kind of memory may matter for random access, and Culvert warns
 * if your own memory is not of the fast kind. On an H200 all kinds were equally fast at 1 GiB, but
 * not at 4 GiB; no size between was measured. */
#define CULV_SLOW_KIND_BYTES (UINT64_C(1) << 30)

/** Opaque: an imported allocation. */
typedef struct culv_memory culv_memory;
/** Opaque: a range of an imported allocation, as a CUdeviceptr. */
typedef struct culv_buffer culv_buffer;

/** An allocation to import. */
typedef struct culv_memory_desc {
    size_t struct_size; /**< Set by culv_memory_desc_init(). */
    /** Required. OPAQUE_FD; DMA_BUF_FD on systems whose CUDA imports dma-bufs (Tegra from Thor on);
     * on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. culv_image_map() refuses an imported dma-buf. */
    culv_handle handle;
    /** Required: size of the WHOLE allocation in bytes (VkMemoryAllocateInfo::allocationSize).
     * NVIDIA's driver does not check it. */
    uint64_t size;
    /** Nonzero if the memory was allocated for one resource (VkMemoryDedicatedAllocateInfo). */
    culv_bool dedicated;
    /** UUID of the device that exported the memory: Culvert refuses the import if that is another
     * device. All zero: you guarantee that it is this device. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_memory_desc;

CULV_INIT(culv_memory_desc)

/** The range of an import to map as a buffer. */
typedef struct culv_buffer_desc {
    size_t struct_size; /**< Set by culv_buffer_desc_init(). */
    /** Offset into the allocation in bytes: the memoryOffset of vkBindBufferMemory. */
    uint64_t offset;
    uint64_t size;     /**< Size in bytes. 0: to the end of the allocation. */
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_buffer_desc;

/** culv_buffer_desc_init(): the whole allocation. */
CULV_INIT(culv_buffer_desc)

/** Imports an allocation and BORROWS its handle.
 * Errors: INVALID (HANDLE_BAD, HANDLE_KIND, SIZE, DEVICE_MISMATCH ...), UNSUPPORTED (HANDLE_TYPE:
 * this system lacks the type, or the driver does not take dma-bufs), DRIVER (HANDLE_REFUSED),
 * ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours, and you may close it at any time (culv_handle_close()). *out
 * is yours, for culv_memory_destroy(). */
CULV_EXPORT culv_result culv_memory_import(culv_device *device, const culv_memory_desc *desc,
                                           culv_memory **out);

/** Destroys the import. Buffers that are mapped on it stay valid: destroy them in any order. */
CULV_EXPORT void culv_memory_destroy(culv_memory **memory);

/** Returns the size of the whole allocation in bytes, as the import stated it, or 0 for NULL. */
CULV_EXPORT uint64_t culv_memory_size(const culv_memory *memory);

/** Maps a range of the import as a buffer. If desc is NULL, it maps the whole import.
 * Errors: INVALID (RANGE), DRIVER (SIZE: the driver finds that the allocation is smaller than the
 * import stated), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_buffer_unmap(). It keeps the import alive. */
CULV_EXPORT culv_result culv_buffer_map(culv_memory *memory, const culv_buffer_desc *desc,
                                        culv_buffer **out);

/** Unmaps the buffer.
 *
 * If last_use is NULL, all work that uses the buffer should have finished, as before vkFreeMemory.
 * When the import's last buffer is unmapped, the driver WAITS for all CUDA work of the context, and
 * other threads cannot submit work meanwhile. If that work waits for a signal that nobody submits,
 * the call never returns.
 *
 * If last_use is not NULL, the call DEFERS the release and never waits. Culvert releases the
 * mapping after the work that is now in *last_use has finished: in the next culv_device_collect(),
 * in the next culv_device_get_counts(), in the next unmap or destroy with NULL, or when the device
 * ends. Those calls may wait in the driver. The stream must belong to the device's context; NULL in
 * *last_use is the legacy default stream. If the stream is being captured, the release waits for
 * all CUDA work.
 * Errors: INVALID (OWNED: Culvert made the buffer itself (culv_shared_buffer_cuda()); nothing
 * happens, and the pointer keeps its value).
 * Source: measured, docs/measured/nvidia-measured.md. */
CULV_EXPORT culv_result culv_buffer_unmap(culv_buffer **buffer, const CUstream *last_use);

/** Returns the device pointer to the buffer's first byte, or 0 for NULL. Kernels and copies may use
 * it until the buffer is unmapped. Never pass it to cuMemFree.
 * Ownership: Culvert owns it. */
CULV_EXPORT CUdeviceptr culv_buffer_pointer(const culv_buffer *buffer);

/** Returns the buffer's size in bytes, or 0 for NULL. */
CULV_EXPORT uint64_t culv_buffer_size(const culv_buffer *buffer);

/** Returns the kind of memory that the buffer lies in, or CULV_MEMORY_KIND_UNKNOWN for NULL. The
 * kind follows from `dedicated` in the import's descriptor, or from how Culvert made the memory. */
CULV_EXPORT culv_memory_kind culv_buffer_memory_kind(const culv_buffer *buffer);

/** Flags of culv_dma_buf_export_dup(): how the dma-buf is made. */
typedef enum culv_dma_buf_flags {
    /** Other devices reach it over PCI Express (BAR1):
     * CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE. */
    CULV_DMA_BUF_PCIE = 1,
    CULV_DMA_BUF_FLAGS_FORCE32 = 0x7fffffff
} culv_dma_buf_flags;

/** Exports memory that CUDA allocated on this device (cuMemAlloc, cuMemMap) as a Linux dma-buf, for
 * culv_vk_memory_from_handle() or any driver that takes dma-bufs.
 *
 * `pointer` and `size` (in bytes) must be multiples of the host's page size. The range must have
 * the same device and properties throughout. `flags` is 0 or CULV_DMA_BUF_PCIE. The dma-buf refers
 * to the pages that are mapped there now, also after a later remap. Imported memory
 * (culv_buffer_pointer()) and managed memory cannot be exported.
 * Errors: INVALID (NULL_ARGUMENT, VALUE, SIZE, RANGE; NOT_EXPORTABLE: managed memory;
 * DEVICE_MISMATCH; OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: this system or device
 * makes no dma-bufs, or none over PCI Express; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: each call makes a new dma-buf, which keeps the memory alive. Close *out with
 * culv_handle_close(). */
CULV_EXPORT culv_result culv_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer,
                                                uint64_t size, uint64_t flags, culv_handle *out);

CULV_EXTERN_C_END

#endif
