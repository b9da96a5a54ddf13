/* SPDX-License-Identifier: MIT */
/* Culvert: memory of a graphics API, imported into CUDA, and buffers mapped on it.
 *
 * An exported handle names a whole allocation (a VkDeviceMemory), not the resource in it. So the
 * import states the allocation's size, and each mapping states the resource's offset in it. One
 * import is mapped at most once at the driver, whole, when its first buffer is asked for; further
 * buffers are ranges of that mapping and cost nothing. (cuda.h, cuExternalMemoryGetMappedBuffer:
 * overlapping mappings alias; one combined range does not. Mapping costs 27 us for 64 KiB and 3,900
 * us for 1 GiB on an H200.)
 *
 * Host-visible Vulkan memory that CUDA writes still needs vkInvalidateMappedMemoryRanges before the
 * CPU reads it, and vkFlushMappedMemoryRanges after the CPU wrote it, unless its type is
 * HOST_COHERENT (cuda.h on external memory). */
#ifndef CULV_MEMORY_H_
#define CULV_MEMORY_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an imported allocation. Creation and destruction of one object are ordered by the
 * caller. */
typedef struct culv_memory culv_memory;
/** Opaque: a range of an imported allocation as a CUdeviceptr. */
typedef struct culv_buffer culv_buffer;

/** What to import. Zero in every field but struct_size means the default. */
typedef struct culv_memory_desc {
    size_t struct_size; /**< Set by culv_memory_desc_init(). */
    /** Required. OPAQUE_FD, DMA_BUF_FD (where CUDA imports dma-bufs: Tegra from Thor on;
     * culv_image_map() refuses such an import), on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. */
    culv_handle handle;
    /** Required: bytes of the WHOLE allocation (VkMemoryAllocateInfo::allocationSize), not of a
     * resource in it. NVIDIA's driver does not check it. */
    uint64_t size;
    /** Nonzero when it was allocated for one resource (VkMemoryDedicatedAllocateInfo). */
    culv_bool dedicated;
    /** UUID of the device that it was exported from; another device's is refused. All zero: you
     * vouch that it is this one's. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_memory_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_memory_desc culv_memory_desc_init(void)
{
    culv_memory_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Which range of an import to map as a buffer. */
typedef struct culv_buffer_desc {
    size_t struct_size; /**< Set by culv_buffer_desc_init(). */
    uint64_t offset;    /**< Bytes into the allocation: the memoryOffset of vkBindBufferMemory. */
    uint64_t size;      /**< Bytes. 0: to the end of the allocation. */
    const char *label;  /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_buffer_desc;

/** A default descriptor: the whole allocation.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_buffer_desc culv_buffer_desc_init(void)
{
    culv_buffer_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports an allocation and TAKES its handle: Culvert's after CULV_OK, still yours, open, after an
 * error.
 * Errors: INVALID (HANDLE_BAD, HANDLE_KIND, SIZE, DEVICE_MISMATCH ...), UNSUPPORTED (HANDLE_TYPE:
 * not a type of this system, or a dma-buf that the driver does not take), DRIVER (HANDLE_REFUSED),
 * ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle as said; *out is yours, for culv_memory_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuImportExternalMemory; the driver is handed a duplicate, since drivers differ in
 * what they close on failure. */
CULV_EXPORT culv_result culv_memory_import_take(culv_device *device, const culv_memory_desc *desc,
                                                culv_memory **out);

/** Imports an allocation and BORROWS its handle: it stays yours, and you may close it right after
 * the call.
 * Errors: as culv_memory_import_take().
 * Ownership: the handle stays yours; *out is yours, for culv_memory_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_memory_import_borrow(culv_device *device, const culv_memory_desc *desc,
                                                  culv_memory **out);

/** Gives the import up and sets *memory to NULL; NULL, or a pointer to NULL, is a no-op. Buffers
 * mapped on it live on: the driver sees the unmapping first and the import's release after it, in
 * whatever order they are destroyed here.
 * Errors: none.
 * Ownership: *memory is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: CUDA guide 3.2.16: freeing a memory object does not free mappings to it. */
CULV_EXPORT void culv_memory_destroy(culv_memory **memory);

/** Bytes of the whole allocation, as the import stated them; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_memory_size(const culv_memory *memory);

/** Maps a range of the import as a buffer. desc may be NULL for all of it.
 * Errors: INVALID (RANGE), DRIVER (SIZE when the driver finds the allocation smaller than the
 * import stated), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_buffer_unmap(); it keeps the import alive.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuExternalMemoryGetMappedBuffer. */
CULV_EXPORT culv_result culv_buffer_map(culv_memory *memory, const culv_buffer_desc *desc,
                                        culv_buffer **out);

/** Gives the buffer up and sets *buffer to NULL; NULL, or a pointer to NULL, is a no-op. The work
 * that uses it should be done, as before vkFreeMemory. If this was the import's last buffer, the
 * driver WAITS in here for all CUDA work of the context, and keeps other threads from submitting
 * any: for ever, if that work waits for a signal that is yet to be submitted.
 * culv_buffer_unmap_after() does not wait. A buffer that Culvert made (culv_vk_buffer_cuda()) is
 * refused: the last error says so (OWNED), nothing is done and the pointer stays.
 * Errors: none.
 * Ownership: *buffer is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: measured, docs/nvidia-measured.md: cuMemFree of a mapping waits for the context. */
CULV_EXPORT void culv_buffer_unmap(culv_buffer **buffer);

/** As culv_buffer_unmap(), but DEFERS and never waits: the driver's mapping is released once
 * `last_use` has done what was submitted to it so far, at a later culv_device_collect(),
 * culv_buffer_unmap(), culv_semaphore_destroy() or culv_device_get_counts(), or with the device:
 * those may wait at the driver. The stream must be of the device's context. Where it is in capture,
 * nothing can be recorded on it: the release then waits for all CUDA work.
 * Errors: none.
 * Ownership: *buffer is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_buffer_unmap_after(culv_buffer **buffer, CUstream last_use);

/** The buffer's first byte as a device pointer, valid until the buffer is given up; 0 for NULL. It
 * is the driver's pointer: pass it to kernels and copies, never to cuMemFree.
 * Errors: none.
 * Ownership: Culvert's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUdeviceptr culv_buffer_pointer(const culv_buffer *buffer);

/** The buffer's size in bytes; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_buffer_size(const culv_buffer *buffer);

/** How a dma-buf is made: bits of the flags of culv_dma_buf_export_dup(). */
typedef enum culv_dma_buf_flags {
    /** Reached over PCI Express (BAR1): CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE. */
    CULV_DMA_BUF_PCIE = 1,
    CULV_DMA_BUF_FLAGS_FORCE32 = 0x7fffffff
} culv_dma_buf_flags;

/** Exports memory that CUDA allocated on this device (cuMemAlloc, cuMemMap) as a Linux dma-buf, for
 * culv_vk_memory_from_handle() or a driver that takes dma-bufs. `pointer` and `size` (bytes) are
 * multiples of the host's page size, and the range lies in memory of one device and of equal
 * properties; `flags` is 0 or CULV_DMA_BUF_PCIE. It names the pages that are there now: export anew
 * after a range was mapped anew. What was itself imported (culv_buffer_pointer()) and managed
 * memory have no dma-buf.
 * Errors: INVALID (NULL_ARGUMENT, VALUE, SIZE, RANGE, NOT_EXPORTABLE: managed memory;
 * DEVICE_MISMATCH; OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: this system or device
 * makes none, or not over PCI Express; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is a new handle with each call, yours to close by culv_handle_close(); it keeps
 * the memory.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemGetHandleForAddressRange; measured, docs/nvidia-measured.md. */
CULV_EXPORT culv_result culv_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer,
                                                uint64_t size, uint64_t flags, culv_handle *out);

CULV_EXTERN_C_END

#endif
