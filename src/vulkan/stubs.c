/* SPDX-License-Identifier: MIT */
/* The Vulkan attachment's symbols in a build without it (CULVERT_VULKAN=OFF): each says so. The
 * compiler holds them against the public headers, whose <vulkan/vulkan_core.h> is empty in such a
 * build: what they need of it is here. */
#include "base/message.h"

#if UINTPTR_MAX == UINT64_MAX
#    define OBJECT(name) typedef struct name##_T *name;
#else
#    define OBJECT(name) typedef uint64_t name;
#endif
#define DISPATCHABLE(name) typedef struct name##_T *name;
#define STRUCT(name)                                                                               \
    typedef struct name {                                                                          \
        int unknown;                                                                               \
    } name;
#define NUMBER(name) typedef uint32_t name;
#define FLAGS2(name) typedef uint64_t name;
DISPATCHABLE(VkInstance)
DISPATCHABLE(VkPhysicalDevice)
DISPATCHABLE(VkDevice)
DISPATCHABLE(VkQueue)
DISPATCHABLE(VkCommandBuffer)
OBJECT(VkBuffer)
OBJECT(VkImage)
OBJECT(VkImageView)
OBJECT(VkSampler)
OBJECT(VkDeviceMemory)
OBJECT(VkSemaphore)
OBJECT(VkFence)
STRUCT(VkBufferCreateInfo)
STRUCT(VkBufferMemoryBarrier)
STRUCT(VkBufferMemoryBarrier2)
STRUCT(VkDependencyInfo)
STRUCT(VkExtent3D)
STRUCT(VkImageCreateInfo)
STRUCT(VkImageMemoryBarrier)
STRUCT(VkImageMemoryBarrier2)
STRUCT(VkMemoryBarrier)
STRUCT(VkMemoryBarrier2)
STRUCT(VkMemoryRequirements)
STRUCT(VkPhysicalDeviceBufferDeviceAddressFeatures)
STRUCT(VkPhysicalDeviceFeatures2)
STRUCT(VkPhysicalDeviceMaintenance4Features)
STRUCT(VkPhysicalDeviceSynchronization2Features)
STRUCT(VkPhysicalDeviceTimelineSemaphoreFeatures)
STRUCT(VkSamplerCreateInfo)
STRUCT(VkSemaphoreSubmitInfo)
NUMBER(VkBool32)
NUMBER(VkBufferUsageFlags)
NUMBER(VkDriverId)
NUMBER(VkFormat)
NUMBER(VkImageAspectFlags)
NUMBER(VkImageLayout)
NUMBER(VkMemoryAllocateFlags)
NUMBER(VkMemoryPropertyFlags)
NUMBER(VkPhysicalDeviceType)
NUMBER(VkPipelineStageFlags)
NUMBER(VkSampleCountFlags)
FLAGS2(VkDeviceAddress)
FLAGS2(VkDeviceSize)
FLAGS2(VkPipelineStageFlags2)
FLAGS2(VkAccessFlags2)
typedef void (*PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance instance, const char *name);

/* After what they need. */
#include "culvert/vulkan_adopt.h"
#include "culvert/vulkan_check.h"
#include "culvert/vulkan_cig.h"
#include "culvert/vulkan_dmabuf.h"
#include "culvert/vulkan_fallback.h"
#include "culvert/vulkan_graph.h"
#include "culvert/vulkan_kernel.h"
#include "culvert/vulkan_rdma.h"
#include "culvert/vulkan_ring.h"
#include "culvert/vulkan_setup.h"
#include "culvert/vulkan_space.h"
#include "culvert/vulkan_texture.h"
#include "culvert/vulkan_vmm.h"

#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* Culvert's result, which is this refusal. */
#define REFUSE(name, ...)                                                                          \
    culv_result name(__VA_ARGS__)                                                                  \
    {                                                                                              \
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,               \
                          "%s: this build of Culvert leaves Vulkan out (CULVERT_VULKAN=OFF)",      \
                          #name);                                                                  \
    }
/* Nothing can have been made, so there is nothing to destroy or to ask. */
#define DESTROY(name, ...)                                                                         \
    void name(__VA_ARGS__) {}
#define NOTHING(type, name, ...)                                                                   \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        return 0;                                                                                  \
    }

/* vulkan_adopt.h */
REFUSE(culv_vk_adopted_create, culv_vk_device *vk, culv_vmm_adopted *adopted,
       const culv_vk_adopted_desc *desc, culv_vk_adopted **out)
DESTROY(culv_vk_adopted_destroy, culv_vk_adopted **view)
REFUSE(culv_vk_adopted_get_buffers, const culv_vk_adopted *view, culv_vk_adopted_buffer *parts,
       size_t capacity, size_t *count)

/* vulkan_barrier.h */
REFUSE(culv_vk_buffer_get_barrier2, const culv_vk_buffer_transfer *transfer,
       culv_vk_direction direction, VkBufferMemoryBarrier2 *out)
REFUSE(culv_vk_buffer_get_barrier, const culv_vk_buffer_transfer *transfer,
       culv_vk_direction direction, culv_vk_buffer_barrier *out)
REFUSE(culv_vk_image_get_barrier2, const culv_vk_image_transfer *transfer,
       culv_vk_direction direction, VkImageMemoryBarrier2 *out)
REFUSE(culv_vk_image_get_barrier, const culv_vk_image_transfer *transfer,
       culv_vk_direction direction, culv_vk_image_barrier *out)

/* vulkan_check.h */
REFUSE(culv_vk_check_buffer, culv_vk_device *vk, const VkBufferCreateInfo *create_info,
       const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
REFUSE(culv_vk_check_image, culv_vk_device *vk, const VkImageCreateInfo *create_info,
       const culv_vk_check_desc *desc, culv_vk_sharing_info *out)

/* vulkan_device.h */
NOTHING(uint32_t, culv_vk_instance_extensions, uint32_t api_version, uint32_t capacity,
        const char **out_names)
NOTHING(uint32_t, culv_vk_instance_layers, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
        uint32_t capacity, const char **out_names)
NOTHING(uint32_t, culv_vk_device_extensions, uint32_t api_version, uint32_t capacity,
        const char **out_names)
NOTHING(uint32_t, culv_vk_optional_device_extensions, uint32_t api_version, uint32_t capacity,
        const char **out_names)
REFUSE(culv_vk_rank_physical_devices, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
       VkInstance instance, const culv_device_desc *desc, uint32_t *count, culv_vk_candidate *out)
REFUSE(culv_device_open_for_vulkan, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
       VkInstance instance, VkPhysicalDevice physical_device, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_vk_attach, culv_device *device, const culv_vk_device_desc *desc, culv_vk_device **out)
NOTHING(VkDeviceSize, culv_vk_host_import_alignment, const culv_vk_device *vk)
DESTROY(culv_vk_detach, culv_vk_device **vk)

/* vulkan_export.h */
REFUSE(culv_vk_memory_export_dup, culv_vk_device *vk, VkDeviceMemory memory, culv_handle_type type,
       culv_handle *out)
REFUSE(culv_vk_semaphore_export_dup, culv_vk_device *vk, VkSemaphore semaphore,
       culv_handle_type type, culv_handle *out)
REFUSE(culv_vk_memory_from_handle, culv_vk_device *vk, const culv_vk_memory_from_handle_desc *desc,
       VkDeviceMemory *out)

/* vulkan_fallback.h */
REFUSE(culv_vk_buffer_record_upload, const culv_vk_buffer *buffer, VkCommandBuffer commands)
REFUSE(culv_vk_buffer_record_download, const culv_vk_buffer *buffer, VkCommandBuffer commands)
REFUSE(culv_vk_image_record_upload, const culv_vk_image *image, VkCommandBuffer commands,
       VkImageLayout layout)
REFUSE(culv_vk_image_record_download, const culv_vk_image *image, VkCommandBuffer commands,
       VkImageLayout layout)

/* vulkan_graph.h */
culv_vk_graph_memory culv_vk_space_graph_memory(const culv_vk_space *space)
{
    const culv_vk_graph_memory none = {0, 0, 0, 0, 0, 0};
    return none;
}
culv_vk_graph_memory culv_vk_buffer_graph_memory(const culv_vk_buffer *buffer)
{
    const culv_vk_graph_memory none = {0, 0, 0, 0, 0, 0};
    return none;
}
REFUSE(culv_vk_record_graph, culv_vk_device *vk, CUgraph graph, const culv_vk_graph_desc *desc,
       VkCommandBuffer command_buffer, uint32_t queue_family)

/* vulkan_kernel.h */
NOTHING(uint32_t, culv_vk_kernel_extensions, uint32_t api_version, uint32_t capacity,
        const char **out_names)
REFUSE(culv_vk_check_kernels, const culv_vk_device_desc *desc)
REFUSE(culv_vk_kernels_create, culv_vk_device *vk, culv_kernels *kernels, culv_vk_kernels **out)
DESTROY(culv_vk_kernels_destroy, culv_vk_kernels **kernels)
REFUSE(culv_vk_kernels_prepare, culv_vk_kernels *kernels, culv_kernel *kernel)
REFUSE(culv_vk_kernel_call_record, culv_vk_kernels *kernels, const culv_kernel_call *call,
       VkCommandBuffer command_buffer, uint32_t queue_family)
NOTHING(VkDeviceAddress, culv_vk_buffer_address, const culv_vk_buffer *buffer)
REFUSE(culv_vk_get_buffer_address, const culv_vk_device *vk, VkBuffer buffer, VkDeviceAddress *out)
REFUSE(culv_vk_vector_get_address, const culv_vk_vector *view, VkDeviceAddress *out)
REFUSE(culv_vk_get_surface_handle, const culv_vk_device *vk, VkImageView view, uint64_t *out)
REFUSE(culv_vk_get_texture_handle, const culv_vk_device *vk, VkImageView view, VkSampler sampler,
       uint64_t *out)
REFUSE(culv_vk_kernel_get_barrier2, VkMemoryBarrier2 *out)
REFUSE(culv_vk_kernel_get_barrier, culv_vk_memory_barrier *out)
REFUSE(culv_vk_buffer_get_kernel_barrier2, const culv_vk_buffer_transfer *transfer,
       culv_vk_direction direction, VkBufferMemoryBarrier2 *out)
REFUSE(culv_vk_buffer_get_kernel_barrier, const culv_vk_buffer_transfer *transfer,
       culv_vk_direction direction, culv_vk_buffer_barrier *out)
REFUSE(culv_vk_image_get_kernel_barrier2, const culv_vk_image_transfer *transfer,
       culv_vk_direction direction, VkImageMemoryBarrier2 *out)
REFUSE(culv_vk_image_get_kernel_barrier, const culv_vk_image_transfer *transfer,
       culv_vk_direction direction, culv_vk_image_barrier *out)

/* vulkan_memory.h */
REFUSE(culv_vk_memory_import, culv_vk_device *vk, const culv_vk_memory_desc *desc,
       culv_memory **out)
REFUSE(culv_vk_memory_import_shared, culv_vk_device *vk, const culv_vk_memory_desc *desc,
       culv_memory **out)
REFUSE(culv_vk_image_map, culv_vk_device *vk, culv_memory *memory, const culv_vk_image_desc *desc,
       culv_image **out)
REFUSE(culv_vk_image_map_pitched, culv_vk_device *vk, culv_memory *memory,
       const culv_vk_image_desc *desc, uint32_t level, uint32_t plane, culv_buffer **out,
       culv_subresource_layout *layout)
REFUSE(culv_vk_buffer_create, culv_vk_device *vk, const culv_vk_buffer_create_desc *desc,
       culv_vk_buffer **out)
DESTROY(culv_vk_buffer_destroy, culv_vk_buffer **buffer)
DESTROY(culv_vk_buffer_destroy_after, culv_vk_buffer **buffer, CUstream last_use)
NOTHING(VkBuffer, culv_vk_buffer_handle, const culv_vk_buffer *buffer)
NOTHING(CUdeviceptr, culv_vk_buffer_pointer, const culv_vk_buffer *buffer)
VkDeviceMemory culv_vk_buffer_memory(const culv_vk_buffer *buffer, VkDeviceSize *size)
{
    if (size != NULL) *size = 0;
    return 0;
}
NOTHING(void *, culv_vk_buffer_host_pointer, const culv_vk_buffer *buffer)
NOTHING(culv_buffer *, culv_vk_buffer_cuda, const culv_vk_buffer *buffer)
REFUSE(culv_vk_image_create, culv_vk_device *vk, const culv_vk_image_create_desc *desc,
       culv_vk_image **out)
DESTROY(culv_vk_image_destroy, culv_vk_image **image)
DESTROY(culv_vk_image_destroy_after, culv_vk_image **image, CUstream last_use)
NOTHING(VkImage, culv_vk_image_handle, const culv_vk_image *image)
VkDeviceMemory culv_vk_image_memory(const culv_vk_image *image, VkDeviceSize *size)
{
    if (size != NULL) *size = 0;
    return 0;
}
NOTHING(culv_image *, culv_vk_image_cuda, const culv_vk_image *image)

/* vulkan_ring.h */
REFUSE(culv_vk_ring_create, culv_vk_device *vk, VkQueue queue, const culv_vk_ring_desc *desc,
       culv_vk_ring **out)
DESTROY(culv_vk_ring_destroy, culv_vk_ring **ring)
NOTHING(culv_ring *, culv_vk_ring_core, const culv_vk_ring *ring)
NOTHING(culv_vk_image *, culv_vk_ring_image, const culv_vk_ring *ring, uint32_t slot,
        uint32_t resource)
NOTHING(culv_vk_buffer *, culv_vk_ring_buffer, const culv_vk_ring *ring, uint32_t slot,
        uint32_t resource)
NOTHING(CUdeviceptr, culv_vk_ring_pointer, const culv_vk_ring *ring, uint32_t slot,
        uint32_t resource)
NOTHING(VkSemaphore, culv_vk_ring_semaphore, const culv_vk_ring *ring, culv_ring_side side)
REFUSE(culv_vk_ring_acquire, culv_vk_ring *ring, uint64_t timeout, culv_vk_ring_frame *out)
REFUSE(culv_vk_ring_release, culv_vk_ring *ring, culv_vk_ring_frame *frame)
REFUSE(culv_vk_ring_submit, culv_vk_ring *ring, VkQueue queue, VkCommandBuffer commands,
       VkFence fence, culv_vk_ring_frame *frame)
REFUSE(culv_vk_ring_flush, culv_vk_ring *ring, VkQueue queue, VkFence fence)
REFUSE(culv_vk_find_queue_family, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
       VkInstance instance, VkPhysicalDevice physical_device, culv_vk_queue_use use, uint32_t *out)
REFUSE(culv_vk_ring_record_copy, const culv_vk_ring *ring, VkCommandBuffer commands, uint32_t slot,
       uint32_t resource, VkBuffer to, VkDeviceSize offset, VkDeviceSize size)

/* vulkan_semaphore.h */
REFUSE(culv_vk_semaphore_import, culv_vk_device *vk, const culv_vk_semaphore_desc *desc,
       culv_semaphore **out)
REFUSE(culv_vk_semaphore_create, culv_vk_device *vk, const culv_vk_semaphore_create_desc *desc,
       culv_vk_semaphore **out)
DESTROY(culv_vk_semaphore_destroy, culv_vk_semaphore **semaphore)
DESTROY(culv_vk_semaphore_destroy_after, culv_vk_semaphore **semaphore, CUstream last_use)
NOTHING(VkSemaphore, culv_vk_semaphore_handle, const culv_vk_semaphore *semaphore)
NOTHING(culv_semaphore *, culv_vk_semaphore_cuda, const culv_vk_semaphore *semaphore)

/* vulkan_setup.h */
REFUSE(culv_vk_choose_physical_device, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
       VkInstance instance, const culv_device_desc *desc, VkPhysicalDevice *out_physical_device,
       culv_device **out_device)
REFUSE(culv_vk_merge_instance_extensions, uint32_t api_version, uint32_t num_names,
       const char *const *names, uint32_t *count, const char **out_names)
REFUSE(culv_vk_merge_instance_layers, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
       uint32_t num_names, const char *const *names, uint32_t *count, const char **out_names)
REFUSE(culv_vk_merge_device_extensions, const culv_vk_device_desc *desc, uint32_t num_names,
       const char *const *names, uint32_t *count, const char **out_names)
REFUSE(culv_vk_merge_device_features, const culv_vk_device_desc *desc, void *chain,
       culv_vk_device_features *storage, const void **out_chain)

/* vulkan_space.h */
REFUSE(culv_vk_check_space, culv_vk_device *vk, const culv_vk_space_desc *desc,
       culv_vk_space_info *out)
REFUSE(culv_vk_space_create, culv_vk_device *vk, const culv_vk_space_desc *desc,
       culv_vk_space **out)
DESTROY(culv_vk_space_destroy, culv_vk_space **space)
NOTHING(CUdeviceptr, culv_vk_space_pointer, const culv_vk_space *space)
NOTHING(uint64_t, culv_vk_space_size, const culv_vk_space *space)
NOTHING(VkBuffer, culv_vk_space_handle, const culv_vk_space *space)
NOTHING(VkSemaphore, culv_vk_space_timeline, const culv_vk_space *space)
NOTHING(culv_space *, culv_vk_space_base, culv_vk_space *space)
REFUSE(culv_vk_space_get_info, culv_vk_space *space, culv_vk_space_info *out)
REFUSE(culv_vk_space_commit, culv_vk_space *space, uint64_t offset, uint64_t size, uint64_t *ready)
REFUSE(culv_vk_space_commit_allocation, culv_vk_space *space, uint64_t offset,
       culv_vmm_allocation *allocation, uint64_t *ready)
REFUSE(culv_vk_space_decommit, culv_vk_space *space, uint64_t offset, uint64_t size,
       CUstream last_use)
REFUSE(culv_vk_space_decommit_after, culv_vk_space *space, uint64_t offset, uint64_t size,
       CUstream last_use)
REFUSE(culv_vk_space_collect, culv_vk_space *space)
REFUSE(culv_vk_space_buffer_create, culv_vk_space *space, const culv_vk_space_buffer_desc *desc,
       culv_vk_space_buffer **out)
DESTROY(culv_vk_space_buffer_destroy, culv_vk_space_buffer **buffer)
NOTHING(CUdeviceptr, culv_vk_space_buffer_pointer, const culv_vk_space_buffer *buffer)
NOTHING(uint64_t, culv_vk_space_buffer_size, const culv_vk_space_buffer *buffer)
VkBuffer culv_vk_space_buffer_handle(const culv_vk_space_buffer *buffer, VkDeviceSize *offset)
{
    if (offset != NULL) *offset = 0;
    return 0;
}

/* vulkan_dmabuf.h */
REFUSE(culv_drm_format_get_info, uint32_t fourcc, culv_drm_format_info *out)
NOTHING(uint32_t, culv_vk_dmabuf_extensions, uint32_t api_version, uint32_t capacity,
        const char **out_names)
REFUSE(culv_vk_dmabuf_get_modifiers, culv_vk_device *vk, uint32_t fourcc,
       culv_vk_dmabuf_direction direction, uint32_t *count, uint64_t *modifiers, uint32_t *planes)
REFUSE(culv_vk_check_dmabuf, culv_vk_device *vk, const culv_vk_dmabuf_desc *desc)
REFUSE(culv_vk_dmabuf_bridge_create, culv_vk_device *vk, const culv_vk_dmabuf_desc *desc,
       culv_vk_dmabuf_bridge **out)
DESTROY(culv_vk_dmabuf_bridge_destroy, culv_vk_dmabuf_bridge **bridge)
REFUSE(culv_vk_dmabuf_bridge_record, culv_vk_dmabuf_bridge *bridge, VkCommandBuffer commands)
REFUSE(culv_vk_dmabuf_bridge_record_first, culv_vk_dmabuf_bridge *bridge, VkCommandBuffer commands)
REFUSE(culv_vk_dmabuf_bridge_next, culv_vk_dmabuf_bridge *bridge, culv_vk_dmabuf_turn *out)
REFUSE(culv_vk_dmabuf_bridge_get_info, const culv_vk_dmabuf_bridge *bridge,
       culv_vk_dmabuf_info *out)
REFUSE(culv_vk_dmabuf_bridge_export_dup, const culv_vk_dmabuf_bridge *bridge, culv_handle *out)
NOTHING(const culv_vk_image *, culv_vk_dmabuf_bridge_image, const culv_vk_dmabuf_bridge *bridge)
NOTHING(const culv_vk_buffer *, culv_vk_dmabuf_bridge_buffer, const culv_vk_dmabuf_bridge *bridge)
NOTHING(const culv_vk_semaphore *, culv_vk_dmabuf_bridge_timeline,
        const culv_vk_dmabuf_bridge *bridge)
REFUSE(culv_vk_dmabuf_bridge_wait, culv_vk_dmabuf_bridge *bridge, uint64_t timeout)
REFUSE(culv_vk_dmabuf_bridge_import_fence, culv_vk_dmabuf_bridge *bridge, VkSemaphore semaphore)
REFUSE(culv_vk_dmabuf_bridge_export_fence, culv_vk_dmabuf_bridge *bridge, VkSemaphore semaphore)

/* vulkan_texture.h */
REFUSE(culv_vk_texture_desc_from_sampler, const VkSamplerCreateInfo *sampler,
       culv_texture_desc *out, uint32_t *differences)
const char *culv_vk_sampler_difference_text(culv_vk_sampler_difference difference)
{
    return "unknown";
}

/* vulkan_vmm.h */
REFUSE(culv_vk_memory_from_vmm, culv_vk_device *vk, culv_vmm_allocation *allocation,
       const culv_vk_memory_from_handle_desc *desc, VkDeviceMemory *out)
REFUSE(culv_vk_buffer_bind_vmm, culv_vk_device *vk, VkBuffer buffer,
       culv_vmm_allocation *allocation, VkDeviceSize offset, VkDeviceMemory *out)
REFUSE(culv_vk_image_bind_vmm, culv_vk_device *vk, VkImage image,
       const VkImageCreateInfo *create_info, culv_vmm_allocation *allocation, VkDeviceSize offset,
       VkDeviceMemory *out)
REFUSE(culv_vk_vector_create, culv_vk_device *vk, culv_vector *vector,
       const culv_vk_vector_desc *desc, culv_vk_vector **out)
DESTROY(culv_vk_vector_destroy, culv_vk_vector **view)
REFUSE(culv_vk_vector_update, culv_vk_vector *view)
REFUSE(culv_vk_vector_get_buffers, const culv_vk_vector *view, culv_vk_vector_buffer *parts,
       size_t capacity, size_t *count)
NOTHING(uint64_t, culv_vk_vector_generation, const culv_vk_vector *view)

/* vulkan_rdma.h */
REFUSE(culv_vk_rdma_buffer_create, culv_vk_device *vk, const culv_vk_rdma_buffer_desc *desc,
       culv_vk_rdma_buffer **out)
DESTROY(culv_vk_rdma_buffer_destroy, culv_vk_rdma_buffer **buffer)
REFUSE(culv_vk_rdma_buffer_grow, culv_vk_rdma_buffer *buffer, uint64_t size)
REFUSE(culv_vk_rdma_buffer_get_parts, const culv_vk_rdma_buffer *buffer, culv_vk_rdma_part *parts,
       size_t capacity, size_t *count)
NOTHING(CUdeviceptr, culv_vk_rdma_buffer_pointer, const culv_vk_rdma_buffer *buffer)
NOTHING(uint64_t, culv_vk_rdma_buffer_size, const culv_vk_rdma_buffer *buffer)

/* vulkan_cig.h */
REFUSE(culv_vk_cig_create, culv_vk_device *vk, VkQueue queue, const char *label, culv_cig **out)
