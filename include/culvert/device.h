/* SPDX-License-Identifier: MIT */
/* Culvert: one CUDA device opened for work with a graphics API.
 *
 * A device is found by what the graphics side knows of it, exactly or not at all: an error that
 * names every candidate takes the place of a silent fallback. Memory and semaphores never cross
 * from one GPU to another; drivers do not check that (an imported timeline of another GPU deadlocks
 * without an error), so every object carries its device. */
#ifndef CULV_DEVICE_H_
#define CULV_DEVICE_H_

#include "log.h"
#include "result.h"

CULV_EXTERN_C_BEGIN

/** Opaque. Every call on it may come from any thread. Objects made from it keep it alive, so it may
 * be closed before them. */
typedef struct culv_device culv_device;

/** Which CUDA driver serves the device. */
typedef enum culv_driver {
    /** NVIDIA's; the software twin besides where culvert/soft.h or CULVERT_SOFT=1 allowed it. A
     * UUID decides between them; ordinals are NVIDIA's. */
    CULV_DRIVER_AUTO = 0,
    CULV_DRIVER_NVIDIA = 1, /**< libcuda.so.1 (nvcuda.dll) only. */
    /** The software twin only: a CUDA driver on the CPU, for machines without a GPU. */
    CULV_DRIVER_SOFT = 2,
    CULV_DRIVER_FORCE32 = 0x7fffffff
} culv_driver;

/** How to open a device. Zero in every field but struct_size means the default. */
typedef struct culv_device_desc {
    size_t struct_size; /**< Set by culv_device_desc_init(). */
    culv_driver driver; /**< Default: CULV_DRIVER_AUTO. */
    /** Borrowed: a context of that device, which must outlive the device and all made from it.
     * Default: the primary context, retained. */
    CUcontext context;
    culv_log log;      /**< Default: silent. */
    const char *label; /**< Copied (up to 63 bytes); prefixes every message. Default: none. */
} culv_device_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_device_desc culv_device_desc_init(void)
{
    culv_device_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** What an opened device is and can do. Flags are 0 or 1. */
typedef struct culv_device_caps {
    size_t struct_size;      /**< Set by culv_device_caps_init(). */
    char name[256];          /**< As the CUDA driver tells it. */
    culv_uuid uuid;          /**< As the CUDA driver tells it. */
    int32_t ordinal;         /**< Among the devices of its driver. */
    culv_bool is_software;   /**< The software twin serves it. */
    uint32_t driver_version; /**< cuDriverGetVersion: 13000 is CUDA 13.0. */
    uint32_t compute_major;  /**< Compute capability. */
    uint32_t compute_minor;
    char pci_bus_id[32];   /**< "0000:1b:00.0". */
    uint64_t total_memory; /**< Bytes. */
    /** Bit (1 << culv_handle_type) for each that culv_memory_import_* takes. Not DMA_BUF_FD:
     * whether the driver takes one is known of an import alone. */
    uint32_t memory_handle_types;
    uint32_t semaphore_handle_types; /**< The same for culv_semaphore_import_*. */
    culv_bool timeline_semaphores;   /**< Vulkan timeline semaphores can be imported. */
    culv_bool vmm;                   /**< CUDA virtual memory management (cuMemCreate, cuMemMap). */
    culv_bool vmm_posix_fd;          /**< VMM allocations can be exported as POSIX fds. */
    culv_bool vmm_win32;             /**< ... as NT handles. */
    culv_bool vmm_fabric;            /**< ... as fabric handles; needs an IMEX channel besides. */
    culv_bool dma_buf_export;        /**< CUDA memory can be exported as a dma-buf. */
    /** Third-party devices can reach its memory over PCI Express. */
    culv_bool gpudirect_rdma;
    culv_bool sparse_arrays;
    culv_bool deferred_mapping_arrays;
    /** Kernels may read pageable host memory (pageableMemoryAccess). */
    culv_bool pageable_memory_access;
    culv_bool multicast;
    culv_bool mig_slice; /**< The device is a MIG slice: no graphics API reaches it. */
    /** Its memory is the host's: buffers in host memory cost it nothing. */
    culv_bool integrated;
    culv_bool host_register_supported; /**< It takes the host's pages (cuMemHostRegister). */
    culv_bool
        can_use_host_pointer_for_registered_mem; /**< ... and uses them by the CPU's address. */
    /** It reads pageable memory by the CPU's page tables, as on Grace. */
    culv_bool pageable_memory_access_uses_host_page_tables;
    culv_bool luid_valid; /**< The driver tells a LUID, as on Windows in WDDM mode. */
    culv_luid luid;      /**< Its adapter's, where luid_valid. */
    /** The bit of its node among linked GPUs, where luid_valid: 1 for a GPU alone. */
    uint32_t node_mask;
} culv_device_caps;

/** An empty culv_device_caps with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_device_caps culv_device_caps_init(void)
{
    culv_device_caps c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c;
    return c;
}

/** What a device has alive, for leak checks. */
typedef struct culv_device_counts {
    size_t struct_size; /**< Set by culv_device_counts_init(). */
    uint64_t memories;  /**< Imports held at the driver. */
    /** Mappings held at the driver: one an import that has buffers, one an image, one a buffer in
     * host memory. */
    uint64_t mappings;
    uint64_t buffers;    /**< culv_buffer alive. */
    uint64_t images;     /**< culv_image alive. */
    uint64_t semaphores; /**< Semaphores held at the driver. */
    /** culv_vk_device alive, those included that only what was made with them keeps. */
    uint64_t attached_devices;
    /** Buffers, images and semaphores made by Culvert alive in a graphics API. */
    uint64_t created;
    /** Destroyed by the caller, waiting for the GPU to be done with them. */
    uint64_t deferred;
    /** Releases that found the context or the driver gone already; harmless. */
    uint64_t late_destroys;
    /** Made for fallbacks (culvert/fallback.h): device memory, arrays and pinned host memory. */
    uint64_t allocations;
    uint64_t peers; /**< Other GPUs held open for fallbacks. */
    /** culv_vmm_allocation whose handle is held at the driver (culvert/vmm.h). */
    uint64_t vmm_allocations;
    uint64_t vmm_ranges; /**< Address ranges reserved at the driver. */
    /** Allocations mapped in them, those included that wait for a stream. */
    uint64_t vmm_mappings;
} culv_device_counts;

/** An empty culv_device_counts with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_device_counts culv_device_counts_init(void)
{
    culv_device_counts c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c;
    return c;
}

/** Opens the CUDA device with this UUID. desc may be NULL. A Vulkan program calls
 * culv_device_open_for_vulkan() instead, whose error texts know the graphics side too.
 * Errors: INVALID; NO_DEVICE with every CUDA device named; UNSUPPORTED without a usable driver;
 * DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close().
 * Threads: any.
 * Since: 0.1
 * Source: CUDA programming guide, "Matching device UUIDs"; cuDeviceGetUuid_v2, which names a MIG
 * slice by its own. */
CULV_EXPORT culv_result culv_device_open_by_uuid(const culv_uuid *uuid,
                                                 const culv_device_desc *desc, culv_device **out);

/** Opens the CUDA device with this LUID and node: what a Direct3D program knows of its GPU.
 * node_mask has one bit, the node's (1 << node index); it is 1 where ID3D12Device::GetNodeCount()
 * is 1, and for Direct3D 11. desc may be NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an all-zero LUID, or node_mask 0; DEVICE_GROUP: several
 * nodes); NO_DEVICE with every CUDA device named and what it has instead (DEVICE_UNKNOWN;
 * DEVICE_GROUP: another node of that adapter); UNSUPPORTED without a usable driver; DRIVER; ASYNC;
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuDeviceGetLuid, which Windows alone has; CUDA programming guide, "Matching
 * device LUIDs". */
CULV_EXPORT culv_result culv_device_open_by_luid(const culv_luid *luid, uint32_t node_mask,
                                                 const culv_device_desc *desc, culv_device **out);

/** Opens the CUDA device with this ordinal: NVIDIA's numbering (CUDA_VISIBLE_DEVICES applies), or
 * the software twin's when desc->driver is CULV_DRIVER_SOFT, or AUTO finds no NVIDIA driver and the
 * twin is allowed. desc may be NULL.
 * Errors: INVALID; NO_DEVICE; UNSUPPORTED; DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_device_open_by_ordinal(int32_t ordinal, const culv_device_desc *desc,
                                                    culv_device **out);

/** Gives the device up and sets *device to NULL; NULL, or a pointer to NULL, is a no-op. Objects
 * made from it live on and keep what they need. The last of them to go waits for GPU work that
 * objects destroyed before were deferred for.
 * Errors: none.
 * Ownership: *device is Culvert's again.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT void culv_device_close(culv_device **device);

/** Fills out with what the device can do, as far as out->struct_size reaches.
 * Errors: INVALID.
 * Ownership: a copy, yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_device_get_caps(const culv_device *device, culv_device_caps *out);

/** Fills out with what the device has alive. Releases what was deferred and is due first, in which
 * the driver waits for other CUDA work of the context.
 * Errors: INVALID.
 * Ownership: a copy, yours.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_device_get_counts(culv_device *device, culv_device_counts *out);

/** Releases what the ..._after() calls have deferred and the GPU is done with, and returns how many
 * objects are deferred still; 0 for NULL. Those calls never release anything themselves, since the
 * driver may wait while it releases: a program that gives up objects by them alone calls this now
 * and then, where a wait does no harm (between scenes, after a resize, once a second), or it holds
 * their memory until the device goes.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: measured, docs/nvidia- measured.md: cuMemFree of a mapping, cuMipmappedArrayDestroy and
 * cuDestroyExternalSemaphore wait for the context. */
CULV_EXPORT uint64_t culv_device_collect(culv_device *device);

/** The CUDA context that Culvert works in. Make it current (cuCtxSetCurrent) before launching
 * kernels on its streams; Culvert's own calls need no current context and leave the caller's as it
 * was. NULL for NULL.
 * Errors: none.
 * Ownership: Culvert's, or whose culv_device_desc::context was.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUcontext culv_device_context(const culv_device *device);

/** A driver function of the SAME driver that serves the device (NVIDIA's or the twin's), by its
 * name without suffix and the CUDA version whose form is wanted, as in cuGetProcAddress:
 * ("cuMemAlloc", 3020). Cast the result to the matching PFN_ type of cudaTypedefs.h. NULL when the
 * driver lacks it.
 * Errors: none, NULL tells.
 * Ownership: a function of the driver, valid while the device is.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT void (*culv_device_cuda_proc(const culv_device *device, const char *name,
                                         int version))(void);

CULV_EXTERN_C_END

#endif
