/* SPDX-License-Identifier: MIT */
/* Culvert: GPU memory that network cards, capture devices and storage ("cards" below) read and
 * write (GPUDirect RDMA), for programs in user space.
 *
 * A card cannot use a CUDA pointer: its driver must first pin the memory, by nvidia_p2p_get_pages()
 * in the kernel or by a dma-buf.
 *
 *   culv_rdma_get_info(device, pointer, &info);          what is there, and how a card reaches it
 *   culv_rdma_set_sync_memops(device, pointer, 0, NULL); CUDA's copies then end before they return
 *   culv_rdma_dma_buf_export_dup(device, pointer, size, CULV_DMA_BUF_PCIE, &dma_buf);
 *   ibv_reg_dmabuf_mr(pd, dma_buf.offset, size, pointer, dma_buf.handle.value.fd, access);
 *
 * culvert/extra/rdma_cache.h caches registrations, and culvert/extra/vulkan_rdma.h makes memory
 * that is also a VkBuffer.
 *
 * Only CUDA calls on the CPU order a card's writes. If a kernel runs while the card writes, it may
 * read old data, parts of new data, or data out of order. Wait on the CPU until the card has
 * reported that its write is complete, and then launch the kernel (GPUDirect RDMA guide 2.7).
 *
 * Only on Linux, as are those two headers. */
#ifndef CULV_EXTRA_RDMA_H_
#define CULV_EXTRA_RDMA_H_

#include "extra.h"

#include <culvert/memory.h>

CULV_EXTERN_C_BEGIN

/** Bytes of a chunk: GPU memory is pinned in such units (BAR1 is mapped in chunks of 64 KiB). */
#define CULV_RDMA_CHUNK UINT64_C(65536)
/** Bytes of BAR1 that the driver keeps for itself (GPUDirect RDMA guide 2.5). */
#define CULV_RDMA_BAR1_RESERVE (UINT64_C(32) << 20)

/** The way in which a card reaches memory. */
typedef enum culv_rdma_path {
    CULV_RDMA_PATH_NONE = 0, /**< The card cannot or must not: culv_rdma_info::reason says why. */
    /** The card reaches it through a dma-buf (culv_rdma_dma_buf_export_dup()), or through
     * nvidia_p2p_get_pages() in the kernel. */
    CULV_RDMA_PATH_DEVICE = 1,
    /** The memory is page-locked host memory that CUDA knows: pass its pointer to the call that
     * pins host memory (ibv_reg_mr()). Other host memory has NONE; pin it in the same way. */
    CULV_RDMA_PATH_HOST = 2,
    CULV_RDMA_PATH_FORCE32 = 0x7fffffff
} culv_rdma_path;

/** The memory at a pointer, for a card. */
typedef struct culv_rdma_info {
    size_t struct_size; /**< Set by culv_rdma_info_init(). */
    culv_pointer_kind kind;
    culv_rdma_path path;
    culv_reason reason;    /**< Reason why there is no path. NONE if there is one. */
    char reason_text[256]; /**< Text: why there is no path and what to do. "": there is one. */
    int32_t device;        /**< CUDA ordinal of the memory's device. -1: none. */
    /** First byte of the allocation, or for VMM memory of the mapping: the most that a card can get
     * at once. */
    CUdeviceptr start;
    uint64_t size; /**< Bytes of the allocation or mapping. */
    /** Number of the allocation or mapping in this process. A later one at the same address has
     * another number. 0: unknown. */
    uint64_t buffer_id;
    /** Nonzero: CUDA says that other vendors' devices can reach it. VMM memory needs
     * CULV_VMM_USAGE_RDMA for that. */
    culv_bool rdma_capable;
    culv_bool sync_memops; /**< Nonzero: culv_rdma_set_sync_memops() was called for it. */
    /** Nonzero with kind NONE: the host has its own pages there (a stack, a heap, a file). */
    culv_bool host_pages;
} culv_rdma_info;

CULV_INIT(culv_rdma_info)

/** Gets the kind of memory at an address and the way in which a card reaches it, by one driver
 * call. If the address has no memory, that is no error, and kind is NONE. Managed memory has no
 * path: it moves, and a card would write into a copy that is overwritten later.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.
 * Source: cuda.h, cuPointerGetAttributes; GPUDirect RDMA guide 1.4 on managed memory; measured: VMM
 * memory belongs to no context. */
CULV_EXTRA culv_result culv_rdma_get_info(culv_device *device, CUdeviceptr pointer,
                                          culv_rdma_info *out);

/** Checks whether cards can use the kind of memory in `size` bytes at `pointer`. The range must lie
 * in one allocation, or in one mapping of VMM memory. Each kind of bad input has its own reason.
 * The call does not ask what the machine can do: see culv_rdma_get_caps().
 * Errors: INVALID (NULL_ARGUMENT; SIZE: size is 0; RANGE: the range overflows or leaves its
 * allocation; NOT_MAPPED: no memory is there, it was freed or never allocated; HOST_POINTER: host
 * memory that CUDA does not know; MANAGED; NOT_EXPORTABLE: imported from a graphics API;
 * DEVICE_MISMATCH: memory of another GPU), UNSUPPORTED (USAGE: memory of a pool that cards cannot
 * reach), DRIVER, ASYNC. */
CULV_EXTRA culv_result culv_rdma_check_range(culv_device *device, CUdeviceptr pointer,
                                             uint64_t size);

/** The means that make CUDA's copies and sets synchronous. */
typedef enum culv_rdma_sync {
    CULV_RDMA_SYNC_NONE = 0,
    CULV_RDMA_SYNC_ALLOCATION = 1, /**< The attribute of the allocation (SYNC_MEMOPS). */
    CULV_RDMA_SYNC_CONTEXT = 2,    /**< The flag of the context (CU_CTX_SYNC_MEMOPS). */
    CULV_RDMA_SYNC_FORCE32 = 0x7fffffff
} culv_rdma_sync;

/** Makes CUDA's synchronous copies and sets of the allocation finish before they return. A card
 * that reads or writes the memory needs that. Call it once for each allocation. The call waits for
 * the GPU. Afterwards device-to-device copies of that memory return only when they are done.
 *
 * VMM memory cannot carry the attribute. If `allow_context` is nonzero, the call sets the flag of
 * the device's context instead, which slows all copies in that context, also in other libraries. If
 * it is 0, the call fails for such memory, unless that flag is set already.
 * Errors: as culv_rdma_check_range() for one byte; INVALID (OPT_IN: the memory needs the context's
 * flag, and allow_context is 0), UNSUPPORTED (DRIVER_TOO_OLD: a driver before CUDA 12.1 has no such
 * flag), DRIVER, ASYNC.
 * Source: GPUDirect RDMA guide 2.7; cuda.h, cuPointerSetAttribute, cuCtxSetFlags. */
CULV_EXTRA culv_result culv_rdma_set_sync_memops(culv_device *device, CUdeviceptr pointer,
                                                 culv_bool allow_context, culv_rdma_sync *out);

/** A dma-buf of a range, for a card. */
typedef struct culv_rdma_dma_buf {
    size_t struct_size; /**< Set by culv_rdma_dma_buf_init(). */
    culv_handle handle; /**< Yours; close it with culv_handle_close(). */
    CUdeviceptr start;  /**< Address of the dma-buf's first byte, at a host page. */
    uint64_t size;      /**< Bytes of the dma-buf, a multiple of the host page. */
    uint64_t offset;    /**< Offset of your pointer in the dma-buf, in bytes. */
    culv_bool pcie;     /**< Nonzero: mapped over PCI Express, as the flag asked. */
} culv_rdma_dma_buf;

CULV_INIT(culv_rdma_dma_buf)

/** Makes a dma-buf of the host pages that contain a range. If the pages contain other allocations
 * too, the card can reach those.
 *
 * With CULV_DMA_BUF_PCIE in `flags`, the mapping uses PCI Express even if the CPU reaches the GPU
 * in another way (Grace). If the driver or platform has no such mapping (CUDA_ERROR_INVALID_VALUE
 * or CUDA_ERROR_NOT_SUPPORTED), the call tries again without it, and culv_rdma_dma_buf::pcie is 0.
 *
 * The range may span several mappings of one VMM range, if their allocations have the same
 * properties. If one of them is mapped again later, make a new dma-buf: the old one keeps the old
 * memory (cuda.h).
 * Errors: as culv_rdma_check_range(), except that a VMM range may span mappings; INVALID
 * (HOST_POINTER: also page-locked host memory; VALUE: unknown flags; STRUCT_SIZE), UNSUPPORTED
 * (HANDLE_TYPE: the device makes no dma-bufs; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE),
 * OUT_OF_MEMORY, ASYNC.
 * Ownership: out->handle is yours; close it with culv_handle_close(). It keeps the memory alive.
 * Source: cuda.h, cuMemGetHandleForAddressRange; libfabric's issues 10976 and 10995 for both
 * errors. */
CULV_EXTRA culv_result culv_rdma_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer,
                                                    uint64_t size, uint64_t flags,
                                                    culv_rdma_dma_buf *out);

/** The readers that see a card's writes in order without a flush. CUDA has the same numbers. */
typedef enum culv_rdma_ordering {
    CULV_RDMA_ORDERING_NONE = 0,
    CULV_RDMA_ORDERING_OWNER = 100,       /**< The GPU that has the memory. */
    CULV_RDMA_ORDERING_ALL_DEVICES = 200, /**< All GPUs of the machine. */
    CULV_RDMA_ORDERING_FORCE32 = 0x7fffffff
} culv_rdma_ordering;

/** The features of a device for cards. */
typedef struct culv_rdma_caps {
    size_t struct_size;     /**< Set by culv_rdma_caps_init(). */
    culv_bool supported;    /**< Nonzero: nvidia_p2p_get_pages() works. */
    culv_bool with_vmm;     /**< Nonzero: also for VMM memory of CULV_VMM_USAGE_RDMA. */
    culv_bool dma_buf;      /**< Nonzero: dma-bufs of ranges work. */
    culv_bool flush_host;   /**< Nonzero: culv_rdma_flush_writes() works. */
    culv_bool flush_memops; /**< Nonzero: CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES works. */
    culv_rdma_ordering ordering;
} culv_rdma_caps;

CULV_INIT(culv_rdma_caps)

/** Gets the features of a device for cards.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER.
 * Source: cuda.h, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_... */
CULV_EXTRA culv_result culv_rdma_get_caps(culv_device *device, culv_rdma_caps *out);

/** Makes complete writes of cards visible to `scope` before CUDA's next work. Call it on the CPU
 * after the card has reported that its write is complete, and before you launch the work that reads
 * the data. If the device's ordering includes `scope`, the call does nothing. It does not order a
 * kernel that already runs.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: scope is neither OWNER nor ALL_DEVICES), UNSUPPORTED
 * (USAGE: the device has no flush; DRIVER_TOO_OLD), DRIVER, ASYNC.
 * Source: cuda.h, cuFlushGPUDirectRDMAWrites. */
CULV_EXTRA culv_result culv_rdma_flush_writes(culv_device *device, culv_rdma_ordering scope);

/** The window through which cards reach a GPU's memory, in bytes. */
typedef struct culv_rdma_bar1 {
    size_t struct_size; /**< Set by culv_rdma_bar1_init(). */
    uint64_t total;
    uint64_t used; /**< Bytes in use, also by the driver and other processes. */
    uint64_t free;
    uint64_t usable; /**< Bytes that you may use: free less CULV_RDMA_BAR1_RESERVE. */
} culv_rdma_bar1;

CULV_INIT(culv_rdma_bar1)

/** Gets a GPU's BAR1 from NVML (libnvidia-ml.so.1). The call loads the library each time, which
 * takes milliseconds.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (LIBRARY: NVML is missing, is too old
 * or does not know the GPU), DRIVER (DRIVER_REFUSED: NVML answered with an error).
 * Source: nvml.h, nvmlDeviceGetBAR1MemoryInfo. */
CULV_EXTRA culv_result culv_rdma_get_bar1(culv_device *device, culv_rdma_bar1 *out);

/** The part of BAR1 that a range takes when it is pinned. */
typedef struct culv_rdma_cost {
    size_t struct_size; /**< Set by culv_rdma_cost_init(). */
    CUdeviceptr start;  /**< The first byte, at a multiple of CULV_RDMA_CHUNK. */
    uint64_t size;      /**< Bytes from there, a multiple of CULV_RDMA_CHUNK. */
    uint64_t chunks;
} culv_rdma_cost;

CULV_INIT(culv_rdma_cost)

/** Gets the part of BAR1 that a range would take. Overlapping ranges share chunks, so unpinning one
 * of them may free nothing. The call asks no driver.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0; RANGE: the range leaves the address
 * space).
 * Source: GPUDirect RDMA guide 2.2 and 3.1. */
CULV_EXTRA culv_result culv_rdma_get_cost(CUdeviceptr pointer, uint64_t size, culv_rdma_cost *out);

CULV_EXTERN_C_END

#endif
