/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA kernels in Vulkan's command buffers.
 *
 * If a GPU has one engine for graphics and compute, a switch between CUDA's context and Vulkan's
 * takes 160 us (measured on an H200). A kernel in Vulkan's queue needs no switch.
 * culv_vk_kernel_call_record() records such a launch by the extension VK_NVX_binary_import. If the
 * extension is missing, launch the same culv_kernel_call on a CUDA stream.
 *
 * Set culv_vk_device_desc::kernels before vkCreateDevice. docs/kernels.md has the steps and a
 * solver that works both ways, and says which way suits which solver.
 *
 * In a command buffer, Vulkan's rules order a kernel: its reads and writes need barriers, which the
 * calls below fill in. Record it outside of render passes. It runs without a CUDA context: it has a
 * second copy of the module's __constant__ variables and other globals, printf prints nothing, and
 * it cannot use launches from the device, cooperative groups of the whole grid, or clusters of
 * blocks. */
#ifndef CULV_VULKAN_KERNEL_H_
#define CULV_VULKAN_KERNEL_H_

#include "kernel.h"
#include "vulkan_barrier.h"
#include "vulkan_memory.h"
#include "vulkan_vmm.h"

CULV_EXTERN_C_BEGIN

/** Lists the device extensions that kernels in command buffers need: VK_NVX_binary_import,
 * VK_NVX_image_view_handle, and below Vulkan 1.2 VK_KHR_buffer_device_address. Enable the
 * bufferDeviceAddress feature too. api_version is as in culv_vk_device_extensions(). The call
 * writes up to `capacity` names and returns the number of names. Other lists have these extensions
 * only if culv_vk_device_desc::kernels is set.
 * Ownership: static strings. */
CULV_EXPORT uint32_t culv_vk_kernel_extensions(uint32_t api_version, uint32_t capacity,
                                               const char **out_names);

/** Checks whether the physical device can run CUDA kernels in command buffers: it must offer the
 * extensions and the feature. If desc->device is set, the call also checks that the VkDevice was
 * created with the extensions. (Culvert cannot see whether the feature was enabled.) desc is as in
 * culv_vk_merge_device_extensions().
 * Errors: UNSUPPORTED (EXTENSION_MISSING: the message names what the device lacks; VULKAN_VERSION);
 * INVALID (NULL_ARGUMENT, STRUCT_SIZE, VULKAN_VERSION; EXTENSION_MISSING: the VkDevice was created
 * without an extension that the physical device has); DRIVER; OUT_OF_MEMORY. */
CULV_EXPORT culv_result culv_vk_check_kernels(const culv_vk_device_desc *desc);

/** Opaque: the kernels of a culv_kernels in a VkDevice, for command buffers. */
typedef struct culv_vk_kernels culv_vk_kernels;

/** Loads the kernels of a loaded file into the VkDevice. It loads the same bytes a second time,
 * even if the file has changed since. The driver compiles PTX again, which takes a tenth of a
 * second or more. Cubins and fatbins with code for the GPU take a third of a millisecond.
 *
 * Destroy *out before the VkDevice. It keeps the culv_kernels: if you unload the culv_kernels
 * first, it stays loaded until *out is destroyed, and its kernels still work in command buffers.
 * Errors: INVALID (NULL_ARGUMENT; DEVICE_MISMATCH: the kernels belong to another culv_device;
 * EXTENSION_MISSING: the attachment was made without culv_vk_device_desc::kernels, or the VkDevice
 * without the extensions); UNSUPPORTED (MODULE: Vulkan's driver refused the image; the message
 * lists the code in it; EXTENSION_MISSING); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_vk_kernels_destroy().
 * Source: vulkan_core.h, vkCreateCuModuleNVX. */
CULV_EXPORT culv_result culv_vk_kernels_create(culv_vk_device *vk, culv_kernels *kernels,
                                               culv_vk_kernels **out);

/** Destroys the object. If a command buffer uses its kernels, it must not be pending or be
 * submitted again. */
CULV_EXPORT void culv_vk_kernels_destroy(culv_vk_kernels **kernels);

/** Prepares one kernel in the VkDevice. culv_vk_kernel_call_record() does this at a kernel's first
 * call; after this call it allocates nothing.
 * Errors: INVALID (NULL_ARGUMENT; KERNEL: the kernel belongs to another culv_kernels); UNSUPPORTED
 * (KERNEL: Vulkan's driver does not find it, or it has clusters of blocks (__cluster_dims__), which
 * that driver would ignore); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: the culv_vk_kernels keeps the prepared kernel.
 * Source: vulkan_core.h, vkCreateCuFunctionNVX. */
CULV_EXPORT culv_result culv_vk_kernels_prepare(culv_vk_kernels *kernels, culv_kernel *kernel);

/** Records a launch into your command buffer, primary or secondary. The values are read during the
 * call. The call finds errors before the GPU gets the launch. It makes no CUDA call, and after the
 * kernel's first call it allocates nothing and takes no lock.
 *
 * queue_family is the family of the command buffer's pool. The call checks the GPU's limits. Static
 * and dynamic shared memory together may have 48 KiB less the bytes that the GPU reserves (47 KiB
 * on an H200): a launch with more would lose the VkDevice, and Vulkan has no way to allow more.
 * Record the launch outside of render passes, which Culvert cannot check.
 * Errors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; KERNEL: the kernel takes other arguments, or belongs
 * to another culv_kernels; VALUE: a grid, block or shared_bytes beyond the limits, or args and
 * params are both set; QUEUE: the family has neither graphics nor compute); UNSUPPORTED (KERNEL),
 * DRIVER, ASYNC, OUT_OF_MEMORY as culv_vk_kernels_prepare(). After an error nothing is recorded. If
 * a kernel faults, the VkDevice is lost.
 * Threads: any; order the calls on one command buffer and its pool, as in Vulkan.
 * Source: vulkan_core.h, vkCmdCuLaunchKernelNVX. */
CULV_EXPORT culv_result culv_vk_kernel_call_record(culv_vk_kernels *kernels,
                                                   const culv_kernel_call *call,
                                                   VkCommandBuffer command_buffer,
                                                   uint32_t queue_family);

/* Parameters ----------------------------------------------------------------------------------- */

/** Returns the address of a buffer's first byte in Vulkan, for kernels in command buffers and for
 * shaders. It differs from CUDA's address (culv_shared_buffer_pointer()). Returns 0 for NULL, or if
 * the buffer was made without VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and without
 * culv_vk_device_desc::kernels. For a ring's buffer pass culv_ring_shared_buffer().
 * Ownership: the buffer owns the address.
 * Source: VUID-VkBufferDeviceAddressInfo-buffer-02601. */
CULV_EXPORT VkDeviceAddress culv_vk_buffer_address(const culv_shared_buffer *buffer);

/** Gets the address of your own VkBuffer's first byte in Vulkan. You must have created it with
 * VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, and its memory with
 * VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
 * Errors: INVALID (NULL_ARGUMENT); UNSUPPORTED (EXTENSION_MISSING: the VkDevice has no such call).
 * Ownership: the buffer owns the address.
 * Source: Vulkan specification, vkGetBufferDeviceAddress. */
CULV_EXPORT culv_result culv_vk_get_buffer_address(const culv_vk_device *vk, VkBuffer buffer,
                                                   VkDeviceAddress *out);

/** Gets the address of a vector's first byte in Vulkan. The view must have the usage
 * VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. It must show the vector as one buffer: the view is
 * sparse, or the vector has one chunk.
 * Errors: INVALID (NULL_ARGUMENT; USAGE: the view lacks the usage; VALUE: the view belongs to
 * another API); UNSUPPORTED (ADDRESS: the view has several buffers, or none yet;
 * EXTENSION_MISSING); OUT_OF_MEMORY.
 * Ownership: the view owns the address. culv_vector_view_update() may change it.
 * Threads: as culv_vector_view_get_parts(). */
CULV_EXPORT culv_result culv_vk_vector_view_get_address(const culv_vector_view *view,
                                                        VkDeviceAddress *out);

/** Gets the surface or texture object of an image view, which a kernel in a command buffer takes as
 * a cudaSurfaceObject_t or cudaTextureObject_t. If `sampler` is VK_NULL_HANDLE, it is a surface:
 * the image must have the usage STORAGE and the layout GENERAL. Otherwise it is a texture: the
 * image must have the usage SAMPLED, and the layout GENERAL or SHADER_READ_ONLY_OPTIMAL. The
 * coordinates are normalized, unless the sampler has unnormalizedCoordinates. On CUDA's streams
 * kernels need other objects: culv_image_get_surface(), culv_image_get_texture().
 * Errors: INVALID (NULL_ARGUMENT; EXTENSION_MISSING); UNSUPPORTED (EXTENSION_MISSING); DRIVER (the
 * driver gave no handle).
 * Ownership: the view and the sampler own the object; the number is valid while both exist.
 * Source: vulkan_core.h, vkGetImageViewHandleNVX. */
CULV_EXPORT culv_result culv_vk_get_view_handle(const culv_vk_device *vk, VkImageView view,
                                                VkSampler sampler, uint64_t *out);

/* Barriers ------------------------------------------------------------------------------------- */

/* For the barrier between a kernel and another use in the same queue, call
 * culv_vk_buffer_get_barrier2() or culv_vk_image_get_barrier2() with the queue_family
 * CULV_VK_QUEUE_FAMILY_KERNEL. */

/** Fills *out with the barrier between two kernels, if the second kernel reads or writes what the
 * first kernel wrote.
 * Errors: INVALID (NULL_ARGUMENT). */
CULV_EXPORT culv_result culv_vk_kernel_get_barrier2(VkMemoryBarrier2 *out);

/* CUDA graphs ---------------------------------------------------------------------------------- */

/* A CUDA graph, recorded into Vulkan's command buffers.
 *
 * Capture a solver that launches its kernels on a stream (cuLaunchKernel or <<<>>>) into a CUDA
 * graph (cuStreamBeginCapture). culv_vk_record_graph() records the graph's kernels, memsets and
 * copies into a command buffer, with a barrier only where the graph has an edge. So the solver runs
 * in Vulkan's queue without changes (docs/kernels.md, "A captured solver").
 *
 * Pointers. In a culv_vk_space (culvert/vulkan_vmm.h) a CUdeviceptr is Vulkan's address too, so all
 * pointers are right, even within structs and in memory. Other memory has two addresses. It works
 * if the kernels get its pointers as separate arguments: culv_vk_graph_memory has both addresses,
 * and the call translates such arguments. A surface or a texture has another number in Vulkan: set
 * that by culv_vk_graph_param. */

/** Memory that the graph's nodes use, in CUDA and in Vulkan. */
typedef struct culv_vk_graph_memory {
    CUdeviceptr pointer; /**< Required: address of its first byte in CUDA. */
    uint64_t size;       /**< Required: bytes. */
    /** Required: address of its first byte in Vulkan. In a culv_vk_space it is the same number as
     * `pointer`. Otherwise each kernel argument of 8 bytes that points into the memory is
     * translated; pointers within structs and in memory are not translated. A pointer to the
     * memory's end is refused, unless the list has memory that begins there: pass an end by
     * culv_vk_graph_param. */
    VkDeviceAddress address;
    /** Buffer on the memory, with TRANSFER_DST and TRANSFER_SRC, for memsets and copies.
     * VK_NULL_HANDLE if the graph has neither. */
    VkBuffer buffer;
    VkDeviceSize offset;      /**< Offset of the memory in `buffer`, in bytes. */
    VkBufferUsageFlags usage; /**< Usage of `buffer`. 0: unknown, not checked. */
} culv_vk_graph_memory;

/** Returns the memory of one of Culvert's buffers; for NULL all fields are 0. If
 * culv_vk_buffer_address() is 0, `address` is 0, and culv_vk_record_graph() refuses it. */
CULV_EXPORT culv_vk_graph_memory culv_vk_buffer_graph_memory(const culv_shared_buffer *buffer);

/** A replacement for an argument of the graph's kernels: a handle of an image view
 * (culv_vk_get_view_handle()), or a value that changes from frame to frame. */
typedef struct culv_vk_graph_param {
    CUgraphNode node;   /**< Launch with the argument. NULL: each launch of `kernel`. */
    const char *kernel; /**< Name of the kernel, if `node` is NULL. */
    uint32_t index;     /**< Number of the argument: 0 is the first. */
    const void *value;  /**< Required: new value. Read during the call, not translated. */
    size_t size;        /**< Required: bytes of the value. */
} culv_vk_graph_param;

/** Settings of a recording. */
typedef struct culv_vk_graph_desc {
    size_t struct_size; /**< Set by culv_vk_graph_desc_init(). */
    /** Kernels among which the call looks up the graph's kernels, first by CUfunction, then by
     * name. So the graph may launch kernels of your own module, if culv_kernels_load() has loaded
     * the same code, or of the program itself (culv_kernels_load_file()). Default: none. */
    culv_vk_kernels *const *kernels;
    size_t num_kernels;
    const culv_vk_graph_memory *memory; /**< Memory that the nodes use. Default: none. */
    size_t num_memory;
    const culv_vk_graph_param *params; /**< Replaced arguments. Default: none. */
    size_t num_params;
    const char *label; /**< Name for messages. Default: none. */
} culv_vk_graph_desc;

CULV_INIT(culv_vk_graph_desc)

/** Records a CUDA graph into your command buffer, primary or secondary, outside of render passes.
 * The call first checks the whole graph. It only reads the graph: afterwards you may destroy it, or
 * change it (cuGraphKernelNodeSetParams) and record it again.
 *
 * - A kernel becomes a launch, as by culv_vk_kernel_call_record().
 * - A memset becomes a fill (vkCmdFillBuffer): its address and the bytes of its rows are multiples
 *   of 4.
 * - A copy within the memory of the list becomes vkCmdCopyBuffer.
 * - Nodes without an edge between them have no barrier. A graph whose longest chain has n nodes has
 *   n - 1 barriers. Record the barriers before and after the graph yourself
 *   (culv_vk_kernel_get_barrier2() and others).
 *
 * The attachment needs culv_vk_device_desc::kernels, even if a graph has only memsets and copies.
 *
 * All other nodes are refused: host functions, semaphores, events, allocations, conditional nodes,
 * child graphs, cooperative launches, clusters (of the kernel or of the launch), nodes that kernels
 * may change (deviceUpdatable), copies from and to the host or arrays. An argument of 8 bytes is
 * refused if CUDA knows it as an address of memory that is not in the list, or if it is the end of
 * an element of the list.
 *
 * The call reads the graph from the driver and allocates. If the arguments stay the same, record
 * once and submit often; otherwise consider culv_vk_kernel_call_record().
 * Errors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; DEVICE_MISMATCH: kernels of another attachment;
 * EXTENSION_MISSING; KERNEL: none of `kernels` has a kernel of that name, or it has other
 * parameters; RANGE: memory that is not in the list; USAGE: the memory's buffer lacks a usage;
 * VALUE: memory without address or size, a culv_vk_graph_param that fits no node, a grid or a block
 * beyond the limits; SIZE: a culv_vk_graph_param of another size than the argument; QUEUE; GRAPH: a
 * cycle); UNSUPPORTED (GRAPH: a node of another kind, such a launch, or an edge with data; KERNEL:
 * the driver does not tell the parameters, or the kernel has clusters; EXTENSION_MISSING); DRIVER;
 * ASYNC; OUT_OF_MEMORY. After an error nothing is recorded. Messages name a node by its index in
 * cuGraphGetNodes.
 * Threads: any, one at a time for each graph; order the calls on one command buffer and its pool.
 * Source: cuda.h, cuGraphGetNodes, cuGraphKernelNodeGetParams; vulkan_core.h,
 * vkCmdCuLaunchKernelNVX. */
CULV_EXPORT culv_result culv_vk_record_graph(culv_vk_device *vk, CUgraph graph,
                                             const culv_vk_graph_desc *desc,
                                             VkCommandBuffer command_buffer, uint32_t queue_family);

CULV_EXTERN_C_END

#endif
