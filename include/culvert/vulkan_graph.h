/* SPDX-License-Identifier: MIT */
/* Culvert: a CUDA graph, recorded into Vulkan's command buffers.
 *
 * Capture a solver that launches its kernels on a stream (cuLaunchKernel or <<<>>>) into a CUDA
 * graph (cuStreamBeginCapture). culv_vk_record_graph() records the graph's kernels, memsets and
 * copies into a command buffer, with a barrier only where the graph has an edge. So the solver runs
 * in Vulkan's queue (culvert/vulkan_kernel.h) without changes.
 *
 *   cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
 *   solve(stream);                                     your solver, unchanged
 *   cuStreamEndCapture(stream, &graph);
 *   const culv_vk_graph_memory memory[] = {
 *       {info.address, info.size, info.address, info.buffer, 0, 0}};   a culv_vk_space's
 *   culv_vk_kernels *kernels[] = {queue_kernels};      of culv_vk_kernels_create()
 *   culv_vk_graph_desc desc = culv_vk_graph_desc_init();
 *   desc.kernels = kernels;
 *   desc.num_kernels = 1;
 *   desc.memory = memory;
 *   desc.num_memory = 1;
 *   culv_vk_record_graph(vk, graph, &desc, commands, family);
 *
 * Pointers. In a culv_vk_space (culvert/vulkan_space.h) a CUdeviceptr is Vulkan's address too, so
 * every pointer is right as it is, even within structs and in memory. Memory with two addresses
 * works if the kernels get its pointers as separate arguments: culv_vk_graph_memory has both
 * addresses, and such arguments are translated. A surface or a texture has another number in
 * Vulkan: set it by culv_vk_graph_param. */
#ifndef CULV_VULKAN_GRAPH_H_
#define CULV_VULKAN_GRAPH_H_

#include "vulkan_kernel.h"
#include "vulkan_space.h"

CULV_EXTERN_C_BEGIN

/** Memory that the graph's nodes use, in CUDA and in Vulkan. */
typedef struct culv_vk_graph_memory {
    CUdeviceptr pointer; /**< Required: its first byte in CUDA. */
    uint64_t size;       /**< Required: bytes. */
    /** Required: its first byte in Vulkan. In a culv_vk_space it is the same number as `pointer`.
     * Otherwise each kernel argument of 8 bytes that points into the memory is translated; pointers
     * within structs and in memory are not. A pointer to the memory's end is refused, unless the
     * list has memory that begins there: pass an end by culv_vk_graph_param. */
    VkDeviceAddress address;
    /** For memsets and copies: a buffer with TRANSFER_DST and TRANSFER_SRC on the memory.
     * VK_NULL_HANDLE if the graph has no memsets and copies. */
    VkBuffer buffer;
    VkDeviceSize offset;      /**< Offset of the memory in `buffer`, in bytes. */
    VkBufferUsageFlags usage; /**< Usage of `buffer`. 0: not known, and not checked. */
} culv_vk_graph_memory;

/** Returns the memory of one of Culvert's buffers. If culv_vk_buffer_address() is 0, so is the
 * address, and culv_vk_record_graph() refuses it. All zero for NULL.
 * Threads: any. */
CULV_EXPORT culv_vk_graph_memory culv_vk_buffer_graph_memory(const culv_shared_buffer *buffer);

/** Another value for an argument of the graph's kernels: a handle of an image view
 * (culv_vk_get_view_handle()), or a value that changes from frame to frame. */
typedef struct culv_vk_graph_param {
    CUgraphNode node;   /**< The launch with the argument. NULL: each launch of `kernel`. */
    const char *kernel; /**< Name of the kernel, if `node` is NULL. */
    uint32_t index;     /**< Number of the argument: 0 is the first. */
    const void *value;  /**< Required. Read during the call, and not translated. */
    size_t size;        /**< Required: bytes of the value. */
} culv_vk_graph_param;

/** Settings of a recording. */
typedef struct culv_vk_graph_desc {
    size_t struct_size; /**< Set by culv_vk_graph_desc_init(). */
    /** The kernels among which the graph's are looked up, first by CUfunction, then by name. So the
     * graph may launch kernels of your own module, if culv_kernels_load() has loaded the same code,
     * or of the program itself (culv_kernels_load_program()). Default: none. */
    culv_vk_kernels *const *kernels;
    size_t num_kernels;
    const culv_vk_graph_memory *memory; /**< Memory that the nodes use. Default: none. */
    size_t num_memory;
    const culv_vk_graph_param *params; /**< Other arguments. Default: those of the graph. */
    size_t num_params;
    const char *label; /**< Name for messages. Default: none. */
} culv_vk_graph_desc;

CULV_INIT(culv_vk_graph_desc)

/** Records a CUDA graph into your command buffer, primary or secondary, outside of render passes.
 * The whole graph is checked first. The call only reads the graph: afterwards you may destroy it,
 * or change it (cuGraphKernelNodeSetParams) and record it again.
 *
 * - A kernel becomes a launch, as by culv_vk_kernel_call_record().
 * - A memset becomes a fill (vkCmdFillBuffer): its address and the bytes of its rows are multiples
 *   of 4.
 * - A copy within the memory of the list becomes vkCmdCopyBuffer.
 * - Nodes without an edge between them have no barrier. A graph whose longest chain has n nodes has
 *   n - 1 barriers. Record the barriers before and after the graph yourself
 *   (culv_vk_kernel_get_barrier2() and others).
 *
 * The attachment must have culv_vk_device_desc::kernels, even if a graph has only memsets and
 * copies.
 *
 * All other nodes are refused: host functions, semaphores, events, allocations, conditional nodes,
 * child graphs, cooperative launches, clusters (of the kernel or of the launch), nodes that kernels
 * may change (deviceUpdatable), copies from and to the host or arrays. An argument of 8 bytes is
 * refused if CUDA knows it as an address of memory that is not in the list, or if it is the end of
 * an element.
 *
 * The call reads the graph from the driver and allocates. If the arguments stay the same, record
 * once and submit often; otherwise consider culv_vk_kernel_call_record().
 * Errors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; DEVICE_MISMATCH: kernels of another attachment;
 * EXTENSION_MISSING; KERNEL: none of `kernels` has a kernel of that name, or one with other
 * parameters; RANGE: memory that is not in the list; USAGE: its buffer cannot do that; VALUE: a
 * memory without address or size, a culv_vk_graph_param that fits no node, a grid or a block beyond
 * the limits; SIZE: a culv_vk_graph_param of another size than the argument; QUEUE; GRAPH: a
 * cycle); UNSUPPORTED (GRAPH: a node of another kind, such a launch, or an edge with data; KERNEL:
 * the driver does not tell the parameters, or the kernel has clusters; EXTENSION_MISSING); DRIVER;
 * ASYNC; OUT_OF_MEMORY. After an error nothing was recorded. Messages name a node by its index in
 * cuGraphGetNodes.
 * Threads: any, one at a time for each graph; Vulkan wants you to order calls on one command buffer
 * and its pool.
 * Source: cuda.h, cuGraphGetNodes, cuGraphKernelNodeGetParams; vulkan_core.h,
 * vkCmdCuLaunchKernelNVX. */
CULV_EXPORT culv_result culv_vk_record_graph(culv_vk_device *vk, CUgraph graph,
                                             const culv_vk_graph_desc *desc,
                                             VkCommandBuffer command_buffer, uint32_t queue_family);

CULV_EXTERN_C_END

#endif
