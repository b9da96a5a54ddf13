/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: the calls that it watches, devices, and what its files share.
 * The types of the functions are those of Vulkan's headers (PFN_vk...), so a wrapper with other
 * parameters does not compile. */
#ifndef CHECK_VULKAN_H_
#define CHECK_VULKAN_H_

#include "shim.h"

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

/* W(name): watched. A(name, core): the name of an extension that became `core`. */
#define CHECK_VK_DEVICE_CALLS(W, A)                                                                \
    W(AllocateMemory)                                                                              \
    W(FreeMemory)                                                                                  \
    W(GetMemoryFdKHR)                                                                              \
    W(CreateBuffer)                                                                                \
    W(DestroyBuffer)                                                                               \
    W(BindBufferMemory)                                                                            \
    W(BindBufferMemory2)                                                                           \
    A(BindBufferMemory2KHR, BindBufferMemory2)                                                     \
    W(CreateImage)                                                                                 \
    W(DestroyImage)                                                                                \
    W(BindImageMemory)                                                                             \
    W(BindImageMemory2)                                                                            \
    A(BindImageMemory2KHR, BindImageMemory2)                                                       \
    W(CreateImageView)                                                                             \
    W(DestroyImageView)                                                                            \
    W(CreateFramebuffer)                                                                           \
    W(DestroyFramebuffer)                                                                          \
    W(CreateSemaphore)                                                                             \
    W(DestroySemaphore)                                                                            \
    W(GetSemaphoreFdKHR)                                                                           \
    W(ImportSemaphoreFdKHR)                                                                        \
    W(SignalSemaphore)                                                                             \
    A(SignalSemaphoreKHR, SignalSemaphore)                                                         \
    W(WaitSemaphores)                                                                              \
    A(WaitSemaphoresKHR, WaitSemaphores)                                                           \
    W(GetSemaphoreCounterValue)                                                                    \
    A(GetSemaphoreCounterValueKHR, GetSemaphoreCounterValue)                                       \
    W(WaitForFences)                                                                               \
    W(GetFenceStatus)                                                                              \
    W(DestroyFence)                                                                                \
    W(QueueSubmit)                                                                                 \
    W(QueueSubmit2)                                                                                \
    A(QueueSubmit2KHR, QueueSubmit2)                                                               \
    W(QueueBindSparse)                                                                             \
    W(QueuePresentKHR)                                                                             \
    W(AcquireNextImageKHR)                                                                         \
    W(AcquireNextImage2KHR)                                                                        \
    W(QueueWaitIdle)                                                                               \
    W(DeviceWaitIdle)                                                                              \
    W(CreateShaderModule)                                                                          \
    W(DestroyShaderModule)                                                                         \
    W(CreateGraphicsPipelines)                                                                     \
    W(CreateComputePipelines)                                                                      \
    W(DestroyPipeline)                                                                             \
    W(CreateDescriptorSetLayout)                                                                   \
    W(DestroyDescriptorSetLayout)                                                                  \
    W(CreateDescriptorUpdateTemplate)                                                              \
    A(CreateDescriptorUpdateTemplateKHR, CreateDescriptorUpdateTemplate)                           \
    W(DestroyDescriptorUpdateTemplate)                                                             \
    A(DestroyDescriptorUpdateTemplateKHR, DestroyDescriptorUpdateTemplate)                         \
    W(UpdateDescriptorSetWithTemplate)                                                             \
    A(UpdateDescriptorSetWithTemplateKHR, UpdateDescriptorSetWithTemplate)                         \
    W(CmdPushDescriptorSetKHR)                                                                     \
    W(CmdPushDescriptorSetWithTemplateKHR)                                                         \
    W(CmdClearDepthStencilImage)                                                                   \
    W(CmdResolveImage)                                                                             \
    W(CmdResolveImage2)                                                                            \
    A(CmdResolveImage2KHR, CmdResolveImage2)                                                       \
    W(CmdCopyQueryPoolResults)                                                                     \
    W(CmdDispatchBase)                                                                             \
    A(CmdDispatchBaseKHR, CmdDispatchBase)                                                         \
    W(CmdDrawIndirectCount)                                                                        \
    A(CmdDrawIndirectCountKHR, CmdDrawIndirectCount)                                               \
    A(CmdDrawIndirectCountAMD, CmdDrawIndirectCount)                                               \
    W(CmdDrawIndexedIndirectCount)                                                                 \
    A(CmdDrawIndexedIndirectCountKHR, CmdDrawIndexedIndirectCount)                                 \
    A(CmdDrawIndexedIndirectCountAMD, CmdDrawIndexedIndirectCount)                                 \
    W(CmdBindVertexBuffers2)                                                                       \
    A(CmdBindVertexBuffers2EXT, CmdBindVertexBuffers2)                                             \
    W(CmdWaitEvents)                                                                               \
    W(CmdWaitEvents2)                                                                              \
    A(CmdWaitEvents2KHR, CmdWaitEvents2)                                                           \
    W(AllocateDescriptorSets)                                                                      \
    W(UpdateDescriptorSets)                                                                        \
    W(BeginCommandBuffer)                                                                          \
    W(FreeCommandBuffers)                                                                          \
    W(CreateRenderPass)                                                                            \
    W(CreateRenderPass2)                                                                           \
    A(CreateRenderPass2KHR, CreateRenderPass2)                                                     \
    W(DestroyRenderPass)                                                                           \
    W(CmdBindPipeline)                                                                             \
    W(CmdExecuteCommands)                                                                          \
    W(CmdBindDescriptorSets)                                                                       \
    W(CmdBindVertexBuffers)                                                                        \
    W(CmdBindIndexBuffer)                                                                          \
    W(CmdDispatch)                                                                                 \
    W(CmdDispatchIndirect)                                                                         \
    W(CmdDraw)                                                                                     \
    W(CmdDrawIndexed)                                                                              \
    W(CmdDrawIndirect)                                                                             \
    W(CmdDrawIndexedIndirect)                                                                      \
    W(CmdCopyBuffer)                                                                               \
    W(CmdCopyImage)                                                                                \
    W(CmdBlitImage)                                                                                \
    W(CmdCopyBufferToImage)                                                                        \
    W(CmdCopyImageToBuffer)                                                                        \
    W(CmdPipelineBarrier)                                                                          \
    W(CmdPipelineBarrier2)                                                                         \
    A(CmdPipelineBarrier2KHR, CmdPipelineBarrier2)                                                 \
    W(CmdFillBuffer)                                                                               \
    W(CmdUpdateBuffer)                                                                             \
    W(CmdClearColorImage)                                                                          \
    W(CmdBeginRenderPass)                                                                          \
    W(CmdBeginRenderPass2)                                                                         \
    A(CmdBeginRenderPass2KHR, CmdBeginRenderPass2)                                                 \
    W(CmdBeginRendering)                                                                           \
    A(CmdBeginRenderingKHR, CmdBeginRendering)                                                     \
    W(CmdCopyBuffer2)                                                                              \
    A(CmdCopyBuffer2KHR, CmdCopyBuffer2)                                                           \
    W(CmdCopyImage2)                                                                               \
    A(CmdCopyImage2KHR, CmdCopyImage2)                                                             \
    W(CmdBlitImage2)                                                                               \
    A(CmdBlitImage2KHR, CmdBlitImage2)                                                             \
    W(CmdCopyBufferToImage2)                                                                       \
    A(CmdCopyBufferToImage2KHR, CmdCopyBufferToImage2)                                             \
    W(CmdCopyImageToBuffer2)                                                                       \
    A(CmdCopyImageToBuffer2KHR, CmdCopyImageToBuffer2)                                             \
    W(CmdCuLaunchKernelNVX)                                                                        \
    W(GetBufferDeviceAddress)                                                                      \
    A(GetBufferDeviceAddressKHR, GetBufferDeviceAddress)                                           \
    A(GetBufferDeviceAddressEXT, GetBufferDeviceAddress)                                           \
    W(SetDebugUtilsObjectNameEXT)

typedef struct check_vk_table {
#define MEMBER(name)      PFN_vk##name name;
#define OTHER(name, core) PFN_vk##name name;
    CHECK_VK_DEVICE_CALLS(MEMBER, OTHER)
#undef MEMBER
#undef OTHER
    PFN_vkDestroyDevice DestroyDevice;
    PFN_vkGetImageMemoryRequirements GetImageMemoryRequirements;
} check_vk_table;

typedef struct check_vk_device {
    struct check_vk_device *link;
    const void *key;
    VkDevice handle;
    PFN_vkGetDeviceProcAddr get_proc;
    check_vk_table next;
    uint64_t queues;                  /* bits of agents; under the model's lock */
    bool timelines, synchronization2; /* enabled features */
    bool has_uuid;
    uint8_t uuid[CHECK_UUID];
} check_vk_device;

void check_vk_queues_end(const check_vk_device *d);
check_vk_device *check_vk_find(const void *handle);
const void *check_vk_in_chain(const void *chain, VkStructureType type);

/* A buffer or an image that may be in shared memory. */
typedef struct check_resource {
    check_payload *payload; /* NULL until it is bound to shared memory */
    uint64_t offset, size;
    bool exclusive; /* VK_SHARING_MODE_EXCLUSIVE */
    /* of an image */
    uint64_t image;
    uint32_t levels, layers;
    bool stored; /* work that nobody sees whole may write in it: shaders, videos */
} check_resource;

/* A command uses bytes of a buffer, or may write them. Under the lock. */
/* What it writes besides is not seen. */
void check_vk_runs_code(VkCommandBuffer handle);
void check_vk_use_buffer(VkCommandBuffer commands, uint64_t buffer, uint64_t offset, uint64_t size,
                         const char *how);

/* The layer's functions, in vulkan_objects.c and vulkan_commands.c. */
#define W(name) VKAPI_ATTR __typeof__(*(PFN_vk##name)0) check_vk##name;
#define A(name, core)
CHECK_VK_DEVICE_CALLS(W, A)
#undef W
#undef A

/* For a handle of a table: Vulkan's are pointers or numbers. */
#define CHECK_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* culvert-check as a Vulkan layer: what its files that look at recorded commands share. */

#define CHECK_SETS    8
#define CHECK_DYNAMIC 16
#define CHECK_PUSHED  UINT64_MAX /* not a set: what the command buffer was given */

typedef struct check_descriptor {
    uint32_t binding, element;
    VkDescriptorType type;
    uint64_t buffer, view; /* keys; one of them is 0 */
    uint64_t offset, range;
    VkImageLayout layout;
} check_descriptor;

/* Bindings whose offsets come with vkCmdBindDescriptorSets. */
typedef struct check_dynamic {
    uint32_t binding, count;
} check_dynamic;

typedef struct check_set {
    check_descriptor *list;
    unsigned count;
    check_dynamic dynamic[CHECK_DYNAMIC];
    unsigned num_dynamic;
} check_set;

/* A command buffer, with what it does to shared memory since it was begun. */
typedef struct check_commands {
    check_access *accesses;
    unsigned count, room;
    uint64_t sets[2][CHECK_SETS]; /* graphics, compute */
    check_set pushed[2];          /* by vkCmdPushDescriptorSetKHR */
    uint64_t pipelines[2];
    uint32_t offsets[2][CHECK_SETS][CHECK_DYNAMIC];
    bool runs_code;
    bool ordered;  /* a barrier was recorded: what comes after it may be after more than it shows */
    uint8_t stage; /* of the command that is looked at */
} check_commands;

check_commands *check_vk_commands(VkCommandBuffer handle);
void check_vk_add(check_commands *c, const check_access *access);

/* vulkan_sets.c: the storage buffers that a pipeline's shaders declare. NULL: not known. */
struct check_shaders;
bool check_vk_may_write(const struct check_shaders *shaders, uint32_t set, uint32_t binding);

/* vulkan.c. The owner is the queue family from which the image comes. */
bool check_vk_is_whole(const check_resource *r, const VkImageSubresourceRange *part);
void check_vk_change(check_commands *c, VkImage image, VkImageLayout from, VkImageLayout to,
                     const VkImageSubresourceRange *part, uint32_t owner, const char *how);
void check_vk_pass_changes(check_commands *c, VkRenderPass pass, unsigned attachment, uint64_t view,
                           const char *how);

/* The model, locked, if the call is the program's own; else NULL. */
static inline check_model *open_if(bool own)
{
    return own ? check_open() : NULL;
}

#endif
