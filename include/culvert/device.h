/* SPDX-License-Identifier: MIT */
/* Culvert: one CUDA device opened for work with a graphics API.
 *
 * Culvert opens exactly the device that the graphics side names, or it fails with an error that
 * names every candidate. Drivers do not check that memory or a semaphore belongs to the right GPU.
 * So each object knows its device, and Culvert checks it. */
#ifndef CULV_DEVICE_H_
#define CULV_DEVICE_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/** Opaque. Objects made from it keep it alive, so you may close it before them. */
typedef struct culv_device culv_device;

/** The CUDA driver that serves the device. */
typedef enum culv_driver {
    /** NVIDIA's driver, and also the software twin if culv_soft_enable() or CULVERT_SOFT=1 allows
     * it. If you open by UUID, the UUID decides between the two. Ordinals count NVIDIA's devices.
     * If NVIDIA's driver is missing, they count the twin's. */
    CULV_DRIVER_AUTO = 0,
    CULV_DRIVER_NVIDIA = 1, /**< libcuda.so.1 (nvcuda.dll) only. */
    /** The software twin only: a CUDA driver on the CPU. */
    CULV_DRIVER_SOFT = 2,
    CULV_DRIVER_FORCE32 = 0x7fffffff
} culv_driver;

/** Settings for opening a device. */
typedef struct culv_device_desc {
    size_t struct_size; /**< Set by culv_device_desc_init(). */
    culv_driver driver; /**< Default: CULV_DRIVER_AUTO. */
    /** Borrowed: a context of that device. It must outlive the culv_device and all objects made
     * from it. The open fails (INVALID) if it is destroyed already (VALUE) or belongs to another
     * device (CONTEXT_DEVICE). It may be a CIG context (culvert/extra/cig.h). Default: the primary
     * context, which Culvert retains. */
    CUcontext context;
    culv_log log;      /**< Default: silent. */
    const char *label; /**< Copied (up to 63 bytes); prefixes every message. Default: none. */
} culv_device_desc;

CULV_INIT(culv_device_desc)

/** The properties and features of an opened device. */
typedef struct culv_device_caps {
    size_t struct_size; /**< Set by culv_device_caps_init(). */
    char name[256];     /**< The name that the CUDA driver reports. */
    culv_uuid uuid;     /**< The UUID that the CUDA driver reports. */
    /** Number among the devices of its driver. With NVIDIA's driver, pass it to cudaSetDevice(). */
    int32_t ordinal;
    culv_bool is_software;   /**< The software twin serves the device. */
    uint32_t driver_version; /**< cuDriverGetVersion: 13000 is CUDA 13.0. */
    uint32_t compute_major;  /**< Compute capability. */
    uint32_t compute_minor;
    char pci_bus_id[32];   /**< "0000:1b:00.0". */
    uint64_t total_memory; /**< Bytes. */
    /** Bit (1 << culv_handle_type) for each type that culv_memory_import() takes. DMA_BUF_FD has no
     * bit: only an import shows whether the driver takes one. */
    uint32_t memory_handle_types;
    uint32_t semaphore_handle_types; /**< The same for culv_semaphore_import(). */
    culv_bool timeline_semaphores;   /**< Vulkan timeline semaphores can be imported. */
    culv_bool vmm;                   /**< CUDA virtual memory management (cuMemCreate, cuMemMap). */
    culv_bool vmm_posix_fd;          /**< VMM allocations can be exported as POSIX fds. */
    culv_bool vmm_win32;             /**< VMM allocations can be exported as NT handles. */
    /** VMM allocations can be exported as fabric handles, if there is an IMEX channel. */
    culv_bool vmm_fabric;
    culv_bool dma_buf_export; /**< CUDA memory can be exported as a dma-buf. */
    culv_bool gpudirect_rdma; /**< Third-party devices can reach its memory over PCI Express. */
    culv_bool sparse_arrays;
    culv_bool deferred_mapping_arrays;
    /** Kernels may read pageable host memory (pageableMemoryAccess). */
    culv_bool pageable_memory_access;
    culv_bool multicast;
    culv_bool mig_slice; /**< The device is a MIG slice: graphics needs a +gfx profile. */
    /** The GPU has no memory of its own and uses the host's. */
    culv_bool integrated;
    culv_bool host_register_supported; /**< cuMemHostRegister takes the host's pages. */
    /** The GPU reaches registered pages at the address that the CPU uses. */
    culv_bool can_use_host_pointer_for_registered_mem;
    /** The GPU reads pageable memory through the CPU's page tables, as on Grace. */
    culv_bool pageable_memory_access_uses_host_page_tables;
    culv_bool luid_valid; /**< The driver reports a LUID, as on Windows in WDDM mode. */
    culv_luid luid;       /**< The adapter's LUID, if luid_valid. */
    /** Bit of the device's node in a linked adapter, if luid_valid. A GPU that is not linked has
     * 1. */
    uint32_t node_mask;
    /** culv_device_desc::context is a CIG context (culvert/extra/cig.h): no VMM, no memory
     * pools. */
    culv_bool cig_context;
    culv_bool dma_buf_export_host; /**< Page-locked host memory can be exported as a dma-buf. */
} culv_device_caps;

CULV_INIT(culv_device_caps)

/** The live objects of a device, for leak checks. Kernels, rings, IPC servers and clients, and
 * registration caches are not counted. The objects that they hold are counted. */
typedef struct culv_device_counts {
    size_t struct_size; /**< Set by culv_device_counts_init(). */
    uint64_t memories;  /**< Imports that the driver holds. */
    /** Mappings that the driver holds: one for each import with buffers, one for each image, and
     * one for each buffer in host memory. */
    uint64_t mappings;
    uint64_t buffers;    /**< Live culv_buffer objects. */
    uint64_t images;     /**< Live culv_image objects. */
    uint64_t semaphores; /**< Semaphores that the driver holds. */
    /** Live attachments (native devices attached by culv_vk_attach() and similar calls), and the
     * VkDevice that Culvert makes for OpenGL. After a detach, an attachment counts until all
     * objects made with it are gone. */
    uint64_t attached_devices;
    /** Live buffers, images and semaphores that Culvert made in a graphics API. */
    uint64_t created;
    uint64_t deferred; /**< Objects that the caller destroyed and that the GPU may still use. */
    /** Releases that found the context or the driver already gone; harmless. */
    uint64_t late_destroys;
    /** Device memory, arrays and pinned host memory of fallbacks (culvert/shared.h). */
    uint64_t allocations;
    uint64_t peers; /**< Other GPUs that fallbacks hold open. */
    /** culv_vmm_allocation objects whose handle the driver holds (culvert/vmm.h). */
    uint64_t vmm_allocations;
    uint64_t vmm_ranges; /**< Address ranges that the driver has reserved. */
    /** Allocations that are mapped in those ranges, also if their unmap waits for a stream. */
    uint64_t vmm_mappings;
    /** Buffers and images of a graphics API that are registered (culvert/gl_register.h,
     * culvert/d3d_register.h). */
    uint64_t registrations;
} culv_device_counts;

CULV_INIT(culv_device_counts)

/** Opens the CUDA device with this UUID. desc may be NULL. In a Vulkan program, use
 * culv_device_open_for_vk(): its messages name the graphics side too.
 * Errors: INVALID; NO_DEVICE, whose message names every CUDA device; UNSUPPORTED without a usable
 * driver; DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). */
CULV_EXPORT culv_result culv_device_open_by_uuid(const culv_uuid *uuid,
                                                 const culv_device_desc *desc, culv_device **out);

/** Opens the CUDA device with this LUID and node. Direct3D identifies a GPU by them. node_mask is 1
 * shifted left by the GPU's index among the linked GPUs. Pass 1 for Direct3D 11, or if
 * ID3D12Device::GetNodeCount() is 1. desc may be NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an all-zero LUID, or node_mask 0; DEVICE_GROUP: several
 * nodes); NO_DEVICE, whose message names every CUDA device and its LUID (DEVICE_UNKNOWN;
 * DEVICE_GROUP: another node of that adapter); UNSUPPORTED without a usable driver; DRIVER; ASYNC;
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). */
CULV_EXPORT culv_result culv_device_open_by_luid(const culv_luid *luid, uint32_t node_mask,
                                                 const culv_device_desc *desc, culv_device **out);

/** Opens the CUDA device with this ordinal. The ordinal counts NVIDIA's devices
 * (CUDA_VISIBLE_DEVICES applies). It counts the software twin's if desc->driver is SOFT, or if
 * desc->driver is AUTO and the twin is allowed and NVIDIA's driver is not there. desc may be NULL.
 * Errors: INVALID; NO_DEVICE; UNSUPPORTED; DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_device_close(). */
CULV_EXPORT culv_result culv_device_open_by_ordinal(int32_t ordinal, const culv_device_desc *desc,
                                                    culv_device **out);

/** Closes the device. Objects made from it stay valid. The call that destroys the last of them
 * waits for the GPU work of all deferred objects. */
CULV_EXPORT void culv_device_close(culv_device **device);

/** Fills *out with what the device can do, up to out->struct_size.
 * Errors: INVALID. */
CULV_EXPORT culv_result culv_device_get_caps(const culv_device *device, culv_device_caps *out);

/** Fills *out with the numbers of live objects. The call first releases the deferred objects that
 * the GPU no longer uses. While it does so, the driver waits for other CUDA work of the context.
 * Errors: INVALID. */
CULV_EXPORT culv_result culv_device_get_counts(culv_device *device, culv_device_counts *out);

/** Releases the objects whose destroy call got a last_use stream and that the GPU no longer uses.
 * Returns the number of objects that are still deferred, or 0 for NULL. The driver may wait for the
 * context's work meanwhile. If no destroy call of a program gets NULL as last_use, the program must
 * call culv_device_collect() now and then, when a wait does no harm (between scenes, once a
 * second). Otherwise the objects keep their memory until the device is gone. */
CULV_EXPORT uint64_t culv_device_collect(culv_device *device);

/** Returns the CUDA context that Culvert uses. Make it current (cuCtxSetCurrent) before you launch
 * kernels. Culvert's own calls need no current context, and they do not change yours. Returns NULL
 * for NULL.
 * Ownership: Culvert's, or yours if culv_device_desc::context named it. */
CULV_EXPORT CUcontext culv_device_context(const culv_device *device);

/** Returns a function of the SAME driver that serves the device (NVIDIA's or the twin's). Cast it
 * to its PFN_ type of cudaTypedefs.h. As in cuGetProcAddress, `name` has no suffix, and `version`
 * is the CUDA version that introduced the variant that you want: ("cuMemAlloc", 3020).
 * Errors: none; NULL if the driver lacks it.
 * Ownership: a function of the driver, valid while the device is open. */
CULV_EXPORT void (*culv_device_cuda_proc(const culv_device *device, const char *name,
                                         int version))(void);

/** The kind of memory at an address. */
typedef enum culv_pointer_kind {
    /** Not CUDA's memory: the host's own, or reserved addresses without a mapping. */
    CULV_POINTER_NONE = 0,
    CULV_POINTER_DEVICE = 1,  /**< Device memory of cuMemAlloc and similar calls. */
    CULV_POINTER_VMM = 2,     /**< Memory of cuMemCreate that is mapped. */
    CULV_POINTER_POOL = 3,    /**< Memory of a pool: cuMemAllocAsync. */
    CULV_POINTER_MANAGED = 4, /**< cuMemAllocManaged. */
    CULV_POINTER_HOST = 5,    /**< Page-locked host memory: cuMemHostAlloc, cuMemHostRegister. */
    /** Memory imported from a graphics API through this culv_device (culv_buffer_pointer()). If
     * other code imported the memory, the kind may be DEVICE. */
    CULV_POINTER_EXTERNAL = 6,
    CULV_POINTER_KIND_FORCE32 = 0x7fffffff
} culv_pointer_kind;

/** CUDA's knowledge of an address. */
typedef struct culv_pointer_info {
    size_t struct_size; /**< Set by culv_pointer_info_init(). */
    culv_pointer_kind kind;
    /** VMM and pools: bits (1 << culv_handle_type) of the types that the memory, or its pool, can
     * be exported as. If DMA_BUF_FD is set, culv_dma_buf_export_dup() may export the memory. 0: it
     * cannot be exported, or it is itself an import. */
    uint32_t handle_types;
    /** Nonzero: Vulkan on the same GPU can import it by one of those handles. */
    culv_bool graphics;
    /** Text: how to export it, or why that is impossible and what to use instead. */
    char reason_text[384];
    /** CUDA ordinal of the device that the memory lies on or that allocated it. -1: none. */
    int32_t device;
    /** The allocation. For VMM memory: the reserved addresses that it is mapped in. */
    CUdeviceptr range_start;
    uint64_t range_size;
    CUdeviceptr mapping_start; /**< VMM: the mapping at `pointer`. Otherwise the range. */
    uint64_t mapping_size;
    /** Id of the memory in this process. All mappings of the memory share it. 0: unknown. */
    uint64_t memory_id;
    /** Id of the allocation or mapping in this process. If another one comes to the same address
     * later, it has a different id. 0: unknown (external memory). */
    uint64_t buffer_id;
    CUmemoryPool pool; /**< Pools: the driver's handle. */
    /** Nonzero: cuIpcGetMemHandle takes it, and shares the whole block that the memory lies in. */
    culv_bool ipc;
    culv_bool rdma; /**< Nonzero: third-party devices can reach it (GPUDirect RDMA). */
} culv_pointer_info;

CULV_INIT(culv_pointer_info)

/** Gets the kind of memory at an address, its handle types and its allocation. An address without
 * memory is no error: kind is NONE.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.
 * Source: measured on an H200, docs/vmm-more.md. */
CULV_EXPORT culv_result culv_pointer_get_info(culv_device *device, CUdeviceptr pointer,
                                              culv_pointer_info *out);

/* The software twin ---------------------------------------------------------------------------- */

/* The software twin, a CUDA driver on the CPU. Its graphics partner is the machine's CPU Vulkan
 * device (Mesa's lavapipe). The twin lets the same program run where there is no GPU: in CI, on a
 * laptop, under a sanitizer. Culvert uses it only if the program or the environment allows it. */

/** Allows the twin for this process, as the environment variable CULVERT_SOFT=1 does. If the twin's
 * Vulkan layer is not in one of the system's directories, the call adds the layer's directory to
 * VK_ADD_LAYER_PATH, or to VK_LAYER_PATH if that is set, so that the Vulkan loader finds it.
 * culv_vk_instance_layers() adds the directory too. If you call that function and CULVERT_SOFT=1 is
 * set, you do not need this call. Call it at the start of main, before vkCreateInstance and before
 * the program starts other threads. A second call does nothing.
 * Errors: UNSUPPORTED (SOFT_MISSING) if the twin's library is not found. Culvert looks for it
 * beside its own library (or beside the program, if Culvert is linked statically), in
 * CULVERT_SOFT_PATH, and then in the system linker's directories.
 * Threads: one, before all others. */
CULV_EXPORT culv_result culv_soft_enable(void);

/** Tells whether the process may use the twin: CULVERT_SOFT=1 is set, or culv_soft_enable()
 * succeeded. If CULVERT_SOFT is 0, off, no, false or empty, it does not allow the twin. */
CULV_EXPORT culv_bool culv_soft_enabled(void);

/* Checkpoints ---------------------------------------------------------------------------------- */

/* These calls take a program through a checkpoint of CUDA. A cluster makes one if it preempts a job
 * (cuCheckpointProcessLock(), ...Checkpoint(), ...Restore(), ...Unlock(), and the tool
 * cuda-checkpoint).
 *
 * The driver cannot restore a process that has imported anything of a graphics API: such a process
 * loses CUDA. Memory that CUDA exported comes back as different memory, and no call reports that.
 * So call culv_device_suspend() before somebody checkpoints the process, and culv_device_resume()
 * after the restore. docs/checkpoints.md has a program, refusals and measurements. */

/** Settings for suspending a device. */
typedef struct culv_suspend_desc {
    size_t struct_size; /**< Set by culv_suspend_desc_init(). */
    /** Nonzero: your own VkDeviceMemory and VkSemaphore objects that you imported
     * (culv_vk_memory_import(), culv_vk_semaphore_import()) still exist, and you keep them until
     * the device is resumed: culv_device_resume() asks Vulkan for their handles again. Default:
     * such imports are refused, because you may have freed the objects. Imports by
     * culv_vk_memory_import_shared() need no flag: that call already asks you to keep the
     * objects. */
    culv_bool imports_live;
} culv_suspend_desc;

CULV_INIT(culv_suspend_desc)

/** A buffer that has another address than before. */
typedef struct culv_moved_buffer {
    size_t struct_size; /**< Set by Culvert. */
    const char *label;  /**< The buffer's; "" without one. Valid during the call. */
    CUdeviceptr before; /**< Its address before culv_device_suspend(). */
    CUdeviceptr now;    /**< What culv_buffer_pointer() returns from now on. */
    uint64_t size;      /**< Its size in bytes. */
} culv_moved_buffer;

CULV_INIT(culv_moved_buffer)

/** Settings for resuming a device. */
typedef struct culv_resume_desc {
    size_t struct_size; /**< Set by culv_resume_desc_init(). */
    /** Called for each buffer that has another address now, before culv_device_resume() returns. It
     * must not call Culvert. Default: no call. */
    void (*moved)(void *context, const culv_moved_buffer *buffer);
    void *context; /**< The first argument of `moved`. */
} culv_resume_desc;

CULV_INIT(culv_resume_desc)

/** Releases from the CUDA driver everything that the device has imported: memory, buffers, images
 * and semaphores of Vulkan, also if they belong to rings. Your objects stay. Until
 * culv_device_resume() you may destroy them, but every other call on them or on the device that can
 * fail is refused (NOT_READY). Vulkan's side of them is not touched: Vulkan may keep using it.
 *
 * The call waits for all CUDA work of the context. It refuses, and changes nothing, if a CUDA
 * stream waits for a timeline's value that Vulkan has not signaled yet, or if a stream without
 * CU_STREAM_NON_BLOCKING is being captured.
 *
 * It also refuses if the device has an object that the resume could not make again, and its message
 * names the object. Destroy these first, and make them again after the resume:
 * - imports by a handle (culv_memory_import() and similar calls, other processes' objects);
 * - imports of your own Vulkan objects, unless `imports_live` is set;
 * - objects that were made for OpenGL or are shared with another GPU, and registered objects;
 * - binary semaphores, and buffers of which a DLPack tensor (dlpack.h) still exists;
 * - VMM allocations and memory pools that were exported or imported. A vector with a view counts as
 * exported, and so does all memory of a culv_space (culvert/vector.h).
 *
 * CUDA graphs that signal or wait for a semaphore, or that use an image, contain handles that no
 * longer exist. Make the graphs again too. desc may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; NOT_READY: the device is suspended already, or work
 * is not finished; CAPTURE; OPT_IN: see `imports_live`; NOT_EXPORTABLE, DEVICE_MISMATCH, MAPPED,
 * USAGE: as above), UNSUPPORTED (HANDLE_TYPE: on Windows, where CUDA has no checkpoints), DRIVER,
 * ASYNC, OUT_OF_MEMORY. After an error, everything is as before the call, unless the message asks
 * for culv_device_resume().
 * Threads: any, while no other call on the device or its objects is made.
 * Source: measured, docs/checkpoints.md. */
CULV_EXPORT culv_result culv_device_suspend(culv_device *device, const culv_suspend_desc *desc);

/** Makes everything again that culv_device_suspend() gave up. Timelines go on with their values. A
 * buffer of 2 MiB or more keeps its address if the driver allows that; `moved` is called for each
 * of the others. An image's arrays, surfaces and textures are always new ones: ask its getters
 * again. desc may be NULL.
 *
 * After an error the device is still suspended. What was made again stays; the next call makes the
 * rest.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; NOT_READY: the device is not suspended), DRIVER (the
 * restore may have failed: then the process has lost CUDA), ASYNC, OUT_OF_MEMORY.
 * Threads: any, while no other call on the device or its objects is made.
 * Source: measured, docs/checkpoints.md. */
CULV_EXPORT culv_result culv_device_resume(culv_device *device, const culv_resume_desc *desc);

CULV_EXTERN_C_END

#endif
