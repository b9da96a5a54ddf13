/* SPDX-License-Identifier: MIT */
/* Culvert: GPU memory that network cards, capture devices and storage read and write (GPUDirect
 * RDMA), seen from the user's side.
 *
 * A card cannot use a CUDA pointer: its driver has to pin the memory first, by
 * nvidia_p2p_get_pages() in the kernel or by a dma-buf.
 *
 *   culv_rdma_get_info(device, pointer, &info);          what is there, and how a card gets at it
 *   culv_rdma_set_sync_memops(device, pointer, 0, NULL); CUDA's copies then end before they return
 *   culv_rdma_dma_buf_export_dup(device, pointer, size, CULV_DMA_BUF_PCIE, &dma_buf);
 *   ibv_reg_dmabuf_mr(pd, dma_buf.offset, size, pointer, dma_buf.handle.value.fd, access);
 *
 * culvert/extra/rdma_cache.h keeps registrations, and culvert/extra/vulkan_rdma.h makes memory that
 * is a VkBuffer too.
 *
 * Only CUDA calls that the CPU makes order a card's writes. A kernel that runs while the card
 * writes may read old data, parts of new data, or data out of order. Wait on the CPU until the card
 * has said that its write is complete, then launch the kernel (GPUDirect RDMA guide 2.7). */
#ifndef CULV_EXTRA_RDMA_H_
#define CULV_EXTRA_RDMA_H_

#include "extra.h"

#include <culvert/memory.h>

CULV_EXTERN_C_BEGIN

/** The unit in bytes in which GPU memory is pinned (BAR1 is mapped in chunks of 64 KiB). */
#define CULV_RDMA_CHUNK UINT64_C(65536)
/** Bytes of BAR1 that the driver keeps for itself (GPUDirect RDMA guide 2.5). */
#define CULV_RDMA_BAR1_RESERVE (UINT64_C(32) << 20)

/** The way in which a card reaches memory. */
typedef enum culv_rdma_path {
    CULV_RDMA_PATH_NONE = 0, /**< It cannot, or must not: culv_rdma_info::reason says why. */
    /** The card reaches it through a dma-buf (culv_rdma_dma_buf_export_dup()), or through
     * nvidia_p2p_get_pages() in the kernel. */
    CULV_RDMA_PATH_DEVICE = 1,
    /** It is page-locked host memory that CUDA knows: pass its pointer to the call that pins host
     * memory (ibv_reg_mr()). Other host memory has NONE, and is registered in the same way. */
    CULV_RDMA_PATH_HOST = 2,
    CULV_RDMA_PATH_FORCE32 = 0x7fffffff
} culv_rdma_path;

/** The memory at a pointer, for a card. */
typedef struct culv_rdma_info {
    size_t struct_size; /**< Set by culv_rdma_info_init(). */
    culv_pointer_kind kind;
    culv_rdma_path path;
    culv_reason reason;    /**< Reason why there is no path. NONE if there is one. */
    char reason_text[256]; /**< Text: why there is no path and what to do. Empty if there is one. */
    int32_t device;        /**< CUDA ordinal of its device. -1: none. */
    /** The allocation, or for VMM memory the mapping: the largest piece that a card can get as
     * one. */
    CUdeviceptr start;
    uint64_t size; /**< Its size in bytes. */
    /** Identifies the allocation or mapping in this process. A later one at the same address has
     * another number. 0: unknown. */
    uint64_t buffer_id;
    /** Nonzero: CUDA says that third-party devices can reach it. VMM memory needs
     * CULV_VMM_USAGE_RDMA for that. */
    culv_bool rdma_capable;
    culv_bool sync_memops; /**< Nonzero: culv_rdma_set_sync_memops() was called for it. */
    /** Nonzero with kind NONE: the host has its own pages there (a stack, a heap, a file). */
    culv_bool host_pages;
} culv_rdma_info;

CULV_INIT(culv_rdma_info)

/** Gets the kind of memory at an address and the way in which a card reaches it, by one call of the
 * driver. An address without memory is not an error here: kind is then NONE. Managed memory has no
 * path: it moves, and a card would write into a copy that is overwritten later.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.
 * Source: cuda.h, cuPointerGetAttributes; GPUDirect RDMA guide 1.4 on managed memory; measured: VMM
 * memory belongs to no context. */
CULV_EXTRA culv_result culv_rdma_get_info(culv_device *device, CUdeviceptr pointer,
                                          culv_rdma_info *out);

/** Checks whether `size` bytes at `pointer` are of a kind of memory that cards can use. The range
 * must lie in one allocation, or in one mapping of VMM memory. Each kind of bad input has its own
 * reason. The call does not ask what the machine can do: see culv_rdma_get_caps().
 * Errors: INVALID (NULL_ARGUMENT; SIZE: size is 0; RANGE: the range overflows or leaves its
 * allocation; NOT_MAPPED: nothing is there, it was freed or never allocated; HOST_POINTER: the
 * host's own memory that CUDA does not know; MANAGED; NOT_EXPORTABLE: imported from a graphics API;
 * DEVICE_MISMATCH: another GPU's memory), UNSUPPORTED (USAGE: a pool's memory that cards cannot
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

/** Makes CUDA's synchronous copies and sets of the allocation finish before they return, as a card
 * that reads or writes it needs. Call it once for an allocation. The call waits for the GPU.
 * Afterwards device-to-device copies of that memory return only when they are done.
 *
 * VMM memory cannot carry the attribute. If `allow_context` is nonzero, the call sets the flag of
 * the device's context instead, which slows all copies in that context, other libraries' too. If it
 * is 0, the call fails for such memory.
 * Errors: as culv_rdma_check_range() for one byte; INVALID (OPT_IN: it takes the context's flag,
 * and allow_context is 0), UNSUPPORTED (DRIVER_TOO_OLD: the driver has no such flag, before CUDA
 * 12.1), DRIVER, ASYNC.
 * Source: GPUDirect RDMA guide 2.7; cuda.h, cuPointerSetAttribute, cuCtxSetFlags. */
CULV_EXTRA culv_result culv_rdma_set_sync_memops(culv_device *device, CUdeviceptr pointer,
                                                 culv_bool allow_context, culv_rdma_sync *out);

/** The tokens that old kernel drivers need beside an address (deprecated since CUDA 6.0). A program
 * that knows them can map the memory: keep them secret. */
typedef struct culv_rdma_tokens {
    size_t struct_size; /**< Set by culv_rdma_tokens_init(). */
    uint64_t p2p_token;
    uint32_t va_space_token;
} culv_rdma_tokens;

CULV_INIT(culv_rdma_tokens)

/** Gets the tokens of the memory at `pointer`. The call waits for the GPU, and sets SYNC_MEMOPS of
 * the allocation. Another allocation at the same address may have other tokens: ask for each.
 * Culvert never logs tokens.
 * Errors: as culv_rdma_check_range() for one byte; UNSUPPORTED or DRIVER (USAGE: the driver has no
 * tokens for such memory), INVALID (STRUCT_SIZE), DRIVER, ASYNC.
 * Source: GPUDirect RDMA guide 2.6 and 4.2. */
CULV_EXTRA culv_result culv_rdma_get_tokens(culv_device *device, CUdeviceptr pointer,
                                            culv_rdma_tokens *out);

/** A dma-buf of a range, for a card. */
typedef struct culv_rdma_dma_buf {
    size_t struct_size; /**< Set by culv_rdma_dma_buf_init(). */
    culv_handle handle; /**< Yours; close it with culv_handle_close(). */
    CUdeviceptr start;  /**< Address of its first byte, at a page of the host. */
    uint64_t size;      /**< Its bytes, a multiple of the host's page. */
    uint64_t offset;    /**< Offset of the pointer that was asked for, in bytes. */
    culv_bool pcie;     /**< Nonzero: it is mapped over PCI Express, as asked for. */
} culv_rdma_dma_buf;

CULV_INIT(culv_rdma_dma_buf)

/** Makes a dma-buf of the host's pages that a range lies in. The pages may hold bytes of other
 * allocations too: the card can reach those.
 *
 * With CULV_DMA_BUF_PCIE in `flags` the mapping goes over PCI Express even if the CPU reaches the
 * GPU another way (Grace). Drivers and platforms without such a mapping answer
 * CUDA_ERROR_INVALID_VALUE or CUDA_ERROR_NOT_SUPPORTED. The call then tries again without the flag,
 * and culv_rdma_dma_buf::pcie is 0.
 *
 * The range may span several mappings of one VMM range, if their allocations have the same
 * properties. Make a new dma-buf after any of them was mapped again: the old one shows the old
 * memory (cuda.h).
 * Errors: as culv_rdma_check_range(), except that a VMM range may span mappings; INVALID
 * (HOST_POINTER too for page-locked host memory; VALUE: unknown flags; STRUCT_SIZE), UNSUPPORTED
 * (HANDLE_TYPE: the device makes no dma-bufs; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE),
 * OUT_OF_MEMORY, ASYNC.
 * Ownership: out->handle is yours; close it with culv_handle_close(). The memory lives as long as
 * the dma-buf.
 * Source: cuda.h, cuMemGetHandleForAddressRange; libfabric's issues 10976 and 10995 on both
 * answers. */
CULV_EXTRA culv_result culv_rdma_dma_buf_export_dup(culv_device *device, CUdeviceptr pointer,
                                                    uint64_t size, uint64_t flags,
                                                    culv_rdma_dma_buf *out);

/** The readers that see a card's writes in order without a flush. The numbers are CUDA's. */
typedef enum culv_rdma_ordering {
    CULV_RDMA_ORDERING_NONE = 0,
    CULV_RDMA_ORDERING_OWNER = 100,       /**< The GPU that the memory lies on. */
    CULV_RDMA_ORDERING_ALL_DEVICES = 200, /**< All GPUs of the machine. */
    CULV_RDMA_ORDERING_FORCE32 = 0x7fffffff
} culv_rdma_ordering;

/** The features of a device for cards. */
typedef struct culv_rdma_caps {
    size_t struct_size;     /**< Set by culv_rdma_caps_init(). */
    culv_bool supported;    /**< GPUDirect RDMA by nvidia_p2p_get_pages(). */
    culv_bool with_vmm;     /**< VMM memory of CULV_VMM_USAGE_RDMA too. */
    culv_bool dma_buf;      /**< Dma-bufs of ranges. */
    culv_bool flush_host;   /**< culv_rdma_flush_writes() works. */
    culv_bool flush_memops; /**< Flushes by CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES in a stream. */
    culv_rdma_ordering ordering;
} culv_rdma_caps;

CULV_INIT(culv_rdma_caps)

/** Gets the features of a device for cards.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER.
 * Source: cuda.h, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_... */
CULV_EXTRA culv_result culv_rdma_get_caps(culv_device *device, culv_rdma_caps *out);

/** Makes complete writes of cards visible to `scope` before CUDA's next work. Call it on the CPU
 * after the card has said that its write is complete, and before you launch the work that reads it.
 * Does nothing if the device's ordering includes `scope`. It does not order a kernel that already
 * runs.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: scope is neither OWNER nor ALL_DEVICES), UNSUPPORTED
 * (USAGE: the device has no flush; DRIVER_TOO_OLD), DRIVER, ASYNC.
 * Source: cuda.h, cuFlushGPUDirectRDMAWrites. */
CULV_EXTRA culv_result culv_rdma_flush_writes(culv_device *device, culv_rdma_ordering scope);

/** The window through which cards reach a GPU's memory, in bytes. */
typedef struct culv_rdma_bar1 {
    size_t struct_size; /**< Set by culv_rdma_bar1_init(). */
    uint64_t total;
    uint64_t used; /**< Bytes that the GPU has in use: the driver's and other processes' too. */
    uint64_t free;
    uint64_t usable; /**< Bytes that you may use: free less CULV_RDMA_BAR1_RESERVE. */
} culv_rdma_bar1;

CULV_INIT(culv_rdma_bar1)

/** Asks NVML (libnvidia-ml.so.1, nvml.dll) for a GPU's BAR1. The library is loaded for the call,
 * which takes milliseconds.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (LIBRARY: NVML is not there, is too old
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

/** Gets the part of BAR1 that a range would take. Ranges that overlap share the chunks in common,
 * so unpinning one of them may free nothing. Calls no driver.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0; RANGE: it leaves the address
 * space).
 * Source: GPUDirect RDMA guide 2.2 and 3.1. */
CULV_EXTRA culv_result culv_rdma_get_cost(CUdeviceptr pointer, uint64_t size, culv_rdma_cost *out);

CULV_EXTERN_C_END

#endif
