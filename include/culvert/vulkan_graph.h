/* SPDX-License-Identifier: MIT */
/* Culvert: a CUDA graph, recorded into Vulkan's command buffers.
 *
 * A solver that launches its kernels on a stream, with cuLaunchKernel or <<<>>>, is captured into a
 * CUDA graph (cuStreamBeginCapture) and not launched. culv_vk_record_graph() records what the graph
 * has into a command buffer: kernels, memsets and copies, with a barrier only where the graph has
 * an edge. So the solver runs in Vulkan's queue (culvert/vulkan_kernel.h) as it was written.
 *
 *   cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
 *   solve(stream);                                     your solver, unchanged
 *   cuStreamEndCapture(stream, &graph);
 *   const culv_vk_graph_memory memory[] = {culv_vk_space_graph_memory(space)};
 *   culv_vk_kernels *kernels[] = {queue_kernels};      of culv_vk_kernels_create()
 *   culv_vk_graph_desc desc = culv_vk_graph_desc_init();
 *   desc.kernels = kernels;
 *   desc.num_kernels = 1;
 *   desc.memory = memory;
 *   desc.num_memory = 1;
 *   culv_vk_record_graph(vk, graph, &desc, commands, family);
 *
 * What a pointer is in a command buffer. In a culv_vk_space (culvert/vulkan_space.h) a CUdeviceptr
 * is Vulkan's address too, so every pointer is right as it is, also within structs and in memory.
 * Memory with two addresses works if the kernels get them as arguments of their own:
 * culv_vk_graph_memory says both, and a pointer into that memory is translated. A surface or a
 * texture is another number in Vulkan: culv_vk_graph_param gives it. */
#ifndef CULV_VULKAN_GRAPH_H_
#define CULV_VULKAN_GRAPH_H_

#include "vulkan_kernel.h"
#include "vulkan_space.h"

CULV_EXTERN_C_BEGIN

/** Memory that the graph's nodes use, as CUDA and as Vulkan have it. */
typedef struct culv_vk_graph_memory {
    CUdeviceptr pointer; /**< Required: its first byte in CUDA. */
    uint64_t size;       /**< Required: bytes. */
    /** Required: its first byte in Vulkan. The same number as `pointer` in a culv_vk_space.
     * Otherwise an argument of a kernel that has 8 bytes and points into the memory is translated.
     * Pointers within structs, and in memory, are not. A pointer to the memory's end is refused,
     * unless the list has memory that begins there: a culv_vk_graph_param gives an end. */
    VkDeviceAddress address;
    /** For memsets and copies: a buffer with TRANSFER_DST and TRANSFER_SRC that has the memory.
     * VK_NULL_HANDLE if there are none. */
    VkBuffer buffer;
    VkDeviceSize offset;      /**< Offset of the memory in `buffer`, in bytes. */
    VkBufferUsageFlags usage; /**< What `buffer` was made with. 0: not known, and not checked. */
} culv_vk_graph_memory;

/** Returns the memory of a whole space. All zero for NULL.
 * Threads: any. */
CULV_EXPORT culv_vk_graph_memory culv_vk_space_graph_memory(const culv_vk_space *space);

/** Returns the memory of a buffer of Culvert's. Its address is 0, which culv_vk_record_graph()
 * refuses, if culv_vk_buffer_address() is 0. All zero for NULL.
 * Threads: any. */
CULV_EXPORT culv_vk_graph_memory culv_vk_buffer_graph_memory(const culv_shared_buffer *buffer);

/** Another value for an argument of the graph's kernels: a handle of an image view
 * (culv_vk_get_surface_handle()), or what changes from frame to frame. */
typedef struct culv_vk_graph_param {
    CUgraphNode node;   /**< The launch that has it. NULL: each launch of `kernel`. */
    const char *kernel; /**< Its name, if `node` is NULL. */
    uint32_t index;     /**< Number of the argument: 0 is the first. */
    const void *value;  /**< Required. Read during the call, and not translated. */
    size_t size;        /**< Required: bytes of the value. */
} culv_vk_graph_param;

/** How a graph is recorded. */
typedef struct culv_vk_graph_desc {
    size_t struct_size; /**< Set by culv_vk_graph_desc_init(). */
    /** Where the graph's kernels are looked for: first by their CUfunction, then by their name. So
     * they may be of a module of yours, if the same code was loaded by culv_kernels_load() too, or
     * of the program itself (culv_kernels_load_program()).
     * Default: none. */
    culv_vk_kernels *const *kernels;
    size_t num_kernels;
    const culv_vk_graph_memory *memory; /**< What the nodes use. Default: none. */
    size_t num_memory;
    const culv_vk_graph_param *params; /**< Other arguments. Default: those of the graph. */
    size_t num_params;
    const char *label; /**< Messages show it. Default: none. */
} culv_vk_graph_desc;

CULV_INIT(culv_vk_graph_desc)

/** Records a CUDA graph into your command buffer, primary or secondary, outside of render passes.
 * The whole graph is checked first. The graph is only read: it is not launched, may be destroyed
 * afterwards, and may be changed (cuGraphKernelNodeSetParams) and recorded again.
 *
 * - A kernel becomes a launch, as by culv_vk_kernel_call_record().
 * - A memset becomes a fill (vkCmdFillBuffer): its address and the bytes of its rows are multiples
 *   of 4.
 * - A copy within the memory of the list becomes vkCmdCopyBuffer.
 * - Nodes that no edge orders have no barrier between them. A graph whose longest chain has n nodes
 *   has n - 1 barriers. Before and after it there is none: culv_vk_kernel_get_barrier2() and its
 *   like are yours to record.
 *
 * The attachment must have kernels (culv_vk_device_desc::kernels) even if a graph has only memsets
 * and copies.
 *
 * Everything else is refused: functions of the host, semaphores, events, allocations, conditional
 * nodes, graphs in the graph, cooperative launches, clusters (of the kernel or of the launch),
 * nodes that kernels may change (deviceUpdatable), copies from and to the host or arrays. So is an
 * argument of 8 bytes that CUDA knows as an address of memory that is not in the list, or that is
 * the end of an element.
 *
 * It reads the graph from the driver and allocates: record once and submit often if the arguments
 * stay the same, or record the launches by culv_vk_kernel_call_record().
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
