/* SPDX-License-Identifier: MIT */
/* Every Vulkan function that the layer intercepts, one line each.
 * * PASS(name, parameters, arguments): counted and made to fail on demand, else the driver's.
 * OWN(name, work, parameters, arguments): likewise, but soft_vk_<work>() does the work on a
 * lavapipe device. The first parameter is always called `handle`: it leads to the layer's record of
 * the instance or device. */
#ifndef SOFT_VK_CALLS_H_
#define SOFT_VK_CALLS_H_

/* clang-format off */
#define SOFT_VK_DEVICE_CALLS(PASS, OWN)                                                                               \
    OWN(AllocateMemory, AllocateMemory, (VkDevice handle, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *callbacks, VkDeviceMemory *out), (handle, info, callbacks, out)) \
    PASS(BindBufferMemory, (VkDevice handle, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset), (handle, buffer, memory, offset)) \
    PASS(BindBufferMemory2, (VkDevice handle, uint32_t count, const VkBindBufferMemoryInfo *infos), (handle, count, infos)) \
    PASS(BindBufferMemory2KHR, (VkDevice handle, uint32_t count, const VkBindBufferMemoryInfo *infos), (handle, count, infos)) \
    OWN(BindImageMemory, BindImageMemory, (VkDevice handle, VkImage image, VkDeviceMemory memory, VkDeviceSize offset), (handle, image, memory, offset)) \
    OWN(BindImageMemory2, BindImageMemory2, (VkDevice handle, uint32_t count, const VkBindImageMemoryInfo *infos), (handle, count, infos)) \
    OWN(BindImageMemory2KHR, BindImageMemory2, (VkDevice handle, uint32_t count, const VkBindImageMemoryInfo *infos), (handle, count, infos)) \
    OWN(CreateBuffer, CreateBuffer, (VkDevice handle, const VkBufferCreateInfo *info, const VkAllocationCallbacks *callbacks, VkBuffer *out), (handle, info, callbacks, out)) \
    OWN(CreateImage, CreateImage, (VkDevice handle, const VkImageCreateInfo *info, const VkAllocationCallbacks *callbacks, VkImage *out), (handle, info, callbacks, out)) \
    OWN(CreateImageView, CreateImageView, (VkDevice handle, const VkImageViewCreateInfo *info, const VkAllocationCallbacks *callbacks, VkImageView *out), (handle, info, callbacks, out)) \
    OWN(CreateSampler, CreateSampler, (VkDevice handle, const VkSamplerCreateInfo *info, const VkAllocationCallbacks *callbacks, VkSampler *out), (handle, info, callbacks, out)) \
    OWN(CreateCuModuleNVX, CreateCuModuleNVX, (VkDevice handle, const VkCuModuleCreateInfoNVX *info, const VkAllocationCallbacks *callbacks, VkCuModuleNVX *out), (handle, info, callbacks, out)) \
    OWN(CreateCuFunctionNVX, CreateCuFunctionNVX, (VkDevice handle, const VkCuFunctionCreateInfoNVX *info, const VkAllocationCallbacks *callbacks, VkCuFunctionNVX *out), (handle, info, callbacks, out)) \
    OWN(CreateExternalComputeQueueNV, CreateExternalComputeQueueNV, (VkDevice handle, const VkExternalComputeQueueCreateInfoNV *info, const VkAllocationCallbacks *callbacks, VkExternalComputeQueueNV *out), (handle, info, callbacks, out)) \
    OWN(GetImageViewAddressNVX, GetImageViewAddressNVX, (VkDevice handle, VkImageView view, VkImageViewAddressPropertiesNVX *out), (handle, view, out)) \
    PASS(CreateShaderModule, (VkDevice handle, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *callbacks, VkShaderModule *out), (handle, info, callbacks, out)) \
    PASS(CreateDescriptorSetLayout, (VkDevice handle, const VkDescriptorSetLayoutCreateInfo *info, const VkAllocationCallbacks *callbacks, VkDescriptorSetLayout *out), (handle, info, callbacks, out)) \
    PASS(CreateDescriptorPool, (VkDevice handle, const VkDescriptorPoolCreateInfo *info, const VkAllocationCallbacks *callbacks, VkDescriptorPool *out), (handle, info, callbacks, out)) \
    PASS(AllocateDescriptorSets, (VkDevice handle, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *out), (handle, info, out)) \
    PASS(CreatePipelineLayout, (VkDevice handle, const VkPipelineLayoutCreateInfo *info, const VkAllocationCallbacks *callbacks, VkPipelineLayout *out), (handle, info, callbacks, out)) \
    PASS(CreateRenderPass, (VkDevice handle, const VkRenderPassCreateInfo *info, const VkAllocationCallbacks *callbacks, VkRenderPass *out), (handle, info, callbacks, out)) \
    PASS(CreateFramebuffer, (VkDevice handle, const VkFramebufferCreateInfo *info, const VkAllocationCallbacks *callbacks, VkFramebuffer *out), (handle, info, callbacks, out)) \
    PASS(CreateGraphicsPipelines, (VkDevice handle, VkPipelineCache cache, uint32_t count, const VkGraphicsPipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks, VkPipeline *out), (handle, cache, count, infos, callbacks, out)) \
    PASS(CreateComputePipelines, (VkDevice handle, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks, VkPipeline *out), (handle, cache, count, infos, callbacks, out)) \
    OWN(GetImageDrmFormatModifierPropertiesEXT, GetImageDrmFormatModifierPropertiesEXT, (VkDevice handle, VkImage image, VkImageDrmFormatModifierPropertiesEXT *out), (handle, image, out)) \
    OWN(GetMemoryFdKHR, GetMemoryFdKHR, (VkDevice handle, const VkMemoryGetFdInfoKHR *info, int *fd), (handle, info, fd)) \
    OWN(GetMemoryFdPropertiesKHR, GetMemoryFdPropertiesKHR, (VkDevice handle, VkExternalMemoryHandleTypeFlagBits type, int fd, VkMemoryFdPropertiesKHR *out), (handle, type, fd, out)) \
    PASS(GetMemoryHostPointerPropertiesEXT, (VkDevice handle, VkExternalMemoryHandleTypeFlagBits type, const void *pointer, VkMemoryHostPointerPropertiesEXT *out), (handle, type, pointer, out)) \
    OWN(CreateSemaphore, CreateSemaphore, (VkDevice handle, const VkSemaphoreCreateInfo *info, const VkAllocationCallbacks *callbacks, VkSemaphore *out), (handle, info, callbacks, out)) \
    OWN(GetSemaphoreFdKHR, GetSemaphoreFdKHR, (VkDevice handle, const VkSemaphoreGetFdInfoKHR *info, int *fd), (handle, info, fd)) \
    OWN(ImportSemaphoreFdKHR, ImportSemaphoreFdKHR, (VkDevice handle, const VkImportSemaphoreFdInfoKHR *info), (handle, info)) \
    OWN(GetSemaphoreCounterValue, GetSemaphoreCounterValue, (VkDevice handle, VkSemaphore semaphore, uint64_t *value), (handle, semaphore, value)) \
    OWN(GetSemaphoreCounterValueKHR, GetSemaphoreCounterValue, (VkDevice handle, VkSemaphore semaphore, uint64_t *value), (handle, semaphore, value)) \
    OWN(SignalSemaphore, SignalSemaphore, (VkDevice handle, const VkSemaphoreSignalInfo *info), (handle, info)) \
    OWN(SignalSemaphoreKHR, SignalSemaphore, (VkDevice handle, const VkSemaphoreSignalInfo *info), (handle, info)) \
    OWN(WaitSemaphores, WaitSemaphores, (VkDevice handle, const VkSemaphoreWaitInfo *info, uint64_t timeout), (handle, info, timeout)) \
    OWN(WaitSemaphoresKHR, WaitSemaphores, (VkDevice handle, const VkSemaphoreWaitInfo *info, uint64_t timeout), (handle, info, timeout)) \
    OWN(QueueSubmit, QueueSubmit, (VkQueue handle, uint32_t count, const VkSubmitInfo *submits, VkFence fence), (handle, count, submits, fence)) \
    OWN(QueueSubmit2, QueueSubmit2, (VkQueue handle, uint32_t count, const VkSubmitInfo2 *submits, VkFence fence), (handle, count, submits, fence)) \
    OWN(QueueSubmit2KHR, QueueSubmit2, (VkQueue handle, uint32_t count, const VkSubmitInfo2 *submits, VkFence fence), (handle, count, submits, fence)) \
    OWN(QueueBindSparse, QueueBindSparse, (VkQueue handle, uint32_t count, const VkBindSparseInfo *infos, VkFence fence), (handle, count, infos, fence)) \
    OWN(QueueWaitIdle, QueueWaitIdle, (VkQueue handle), (handle)) \
    OWN(DeviceWaitIdle, DeviceWaitIdle, (VkDevice handle), (handle)) \
    OWN(WaitForFences, WaitForFences, (VkDevice handle, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t timeout), (handle, count, fences, all, timeout)) \
    PASS(CreateFence, (VkDevice handle, const VkFenceCreateInfo *info, const VkAllocationCallbacks *callbacks, VkFence *out), (handle, info, callbacks, out)) \
    PASS(ResetFences, (VkDevice handle, uint32_t count, const VkFence *fences), (handle, count, fences)) \
    OWN(GetFenceStatus, GetFenceStatus, (VkDevice handle, VkFence fence), (handle, fence)) \
    PASS(MapMemory, (VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags, void **out), (handle, memory, offset, size, flags, out)) \
    PASS(FlushMappedMemoryRanges, (VkDevice handle, uint32_t count, const VkMappedMemoryRange *ranges), (handle, count, ranges)) \
    PASS(InvalidateMappedMemoryRanges, (VkDevice handle, uint32_t count, const VkMappedMemoryRange *ranges), (handle, count, ranges)) \
    PASS(CreateCommandPool, (VkDevice handle, const VkCommandPoolCreateInfo *info, const VkAllocationCallbacks *callbacks, VkCommandPool *out), (handle, info, callbacks, out)) \
    PASS(ResetCommandPool, (VkDevice handle, VkCommandPool pool, VkCommandPoolResetFlags flags), (handle, pool, flags)) \
    OWN(AllocateCommandBuffers, AllocateCommandBuffers, (VkDevice handle, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out), (handle, info, out)) \
    OWN(BeginCommandBuffer, BeginCommandBuffer, (VkCommandBuffer handle, const VkCommandBufferBeginInfo *info), (handle, info)) \
    OWN(EndCommandBuffer, EndCommandBuffer, (VkCommandBuffer handle), (handle)) \
    PASS(ResetCommandBuffer, (VkCommandBuffer handle, VkCommandBufferResetFlags flags), (handle, flags))

/* handle is the VkInstance: no device is known yet, all calls count. */
#define SOFT_VK_INSTANCE_CALLS(PASS)                                                                                  \
    PASS(EnumeratePhysicalDevices, (VkInstance handle, uint32_t *count, VkPhysicalDevice *out), (handle, count, out)) \
    PASS(EnumeratePhysicalDeviceGroups, (VkInstance handle, uint32_t *count, VkPhysicalDeviceGroupProperties *out), (handle, count, out)) \
    PASS(EnumeratePhysicalDeviceGroupsKHR, (VkInstance handle, uint32_t *count, VkPhysicalDeviceGroupProperties *out), (handle, count, out))

#define SOFT_VK_PHYSICAL_DEVICE_CALLS(PASS, OWN)                                                                      \
    OWN(CreateDevice, CreateDevice, (VkPhysicalDevice handle, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *callbacks, VkDevice *out), (handle, info, callbacks, out)) \
    PASS(GetPhysicalDeviceImageFormatProperties, (VkPhysicalDevice handle, VkFormat format, VkImageType type, VkImageTiling tiling, VkImageUsageFlags usage, VkImageCreateFlags flags, VkImageFormatProperties *out), (handle, format, type, tiling, usage, flags, out)) \
    OWN(GetPhysicalDeviceImageFormatProperties2, GetPhysicalDeviceImageFormatProperties2, (VkPhysicalDevice handle, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out), (handle, info, out)) \
    OWN(GetPhysicalDeviceImageFormatProperties2KHR, GetPhysicalDeviceImageFormatProperties2, (VkPhysicalDevice handle, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out), (handle, info, out))

/* Intercepted by functions of their own, or only called. */
#define SOFT_VK_DEVICE_OTHERS(X) \
    X(DestroyBuffer) X(DestroyDevice) X(DestroyFence) X(DestroyImage) X(DestroySemaphore) X(FreeMemory) X(GetBufferMemoryRequirements) X(GetBufferMemoryRequirements2) X(GetBufferMemoryRequirements2KHR) X(GetBufferOpaqueCaptureAddress) X(GetBufferOpaqueCaptureAddressKHR) \
    X(GetDeviceBufferMemoryRequirements) X(GetDeviceBufferMemoryRequirementsKHR) \
    X(DestroyImageView) X(DestroySampler) \
    X(DestroyExternalComputeQueueNV) X(DestroyCuModuleNVX) X(DestroyCuFunctionNVX) X(CmdCuLaunchKernelNVX) X(GetImageViewHandleNVX) X(CmdExecuteCommands) \
    X(FreeCommandBuffers) X(DestroyCommandPool) X(CreateEvent) X(DestroyEvent) X(SetEvent) X(ResetEvent) X(GetEventStatus) \
    X(CmdSetEvent) X(CmdResetEvent) X(CmdWaitEvents) \
    X(GetImageMemoryRequirements) X(GetImageMemoryRequirements2) X(GetImageMemoryRequirements2KHR) X(GetImageSubresourceLayout) \
    X(CmdCopyBuffer) X(CmdCopyImage) X(CmdCopyImageToBuffer) X(CmdCopyBufferToImage)
#define SOFT_VK_INSTANCE_OTHERS(X)                                                                                     \
    X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(GetPhysicalDeviceExternalSemaphoreProperties) X(GetPhysicalDeviceExternalSemaphorePropertiesKHR) \
    X(GetPhysicalDeviceFormatProperties2) X(GetPhysicalDeviceFormatProperties2KHR) X(GetPhysicalDeviceFeatures) X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceFeatures2KHR) X(GetPhysicalDeviceProperties) X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceProperties2KHR) \
    X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceQueueFamilyProperties2) X(GetPhysicalDeviceQueueFamilyProperties2KHR)
/* clang-format on */

#endif
