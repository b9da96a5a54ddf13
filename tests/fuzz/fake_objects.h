/* SPDX-License-Identifier: MIT */
/* The functions of fake_vulkan.h that make something. */
#ifndef CULVERT_TESTS_FUZZ_FAKE_OBJECTS_H_
#define CULVERT_TESTS_FUZZ_FAKE_OBJECTS_H_

#include "fake_vulkan.h"

/* Which of them fails: fake_machine::fails. */
typedef enum fake_failure {
    FAKE_NOTHING,
    FAKE_CREATE_BUFFER,
    FAKE_CREATE_IMAGE,
    FAKE_ALLOCATE,
    FAKE_BIND,
    FAKE_GET_FD,
    FAKE_GET_NO_FD, /* succeeds, as Mesa does, with fd -1 */
    FAKE_CREATE_SEMAPHORE,
    FAKE_COUNTER,
    FAKE_FAILURES
} fake_failure;

VKAPI_ATTR VkResult VKAPI_CALL fake_create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                  const VkAllocationCallbacks *callbacks,
                                                  VkBuffer *out);
VKAPI_ATTR VkResult VKAPI_CALL fake_create_image(VkDevice device, const VkImageCreateInfo *info,
                                                 const VkAllocationCallbacks *callbacks,
                                                 VkImage *out);
VKAPI_ATTR void VKAPI_CALL fake_destroy_buffer(VkDevice device, VkBuffer buffer,
                                               const VkAllocationCallbacks *callbacks);
VKAPI_ATTR void VKAPI_CALL fake_destroy_image(VkDevice device, VkImage image,
                                              const VkAllocationCallbacks *callbacks);
VKAPI_ATTR void VKAPI_CALL fake_buffer_needs(VkDevice device,
                                             const VkBufferMemoryRequirementsInfo2 *info,
                                             VkMemoryRequirements2 *out);
VKAPI_ATTR void VKAPI_CALL fake_image_needs(VkDevice device,
                                            const VkImageMemoryRequirementsInfo2 *info,
                                            VkMemoryRequirements2 *out);
VKAPI_ATTR void VKAPI_CALL fake_device_buffer_needs(VkDevice device,
                                                    const VkDeviceBufferMemoryRequirements *info,
                                                    VkMemoryRequirements2 *out);
VKAPI_ATTR void VKAPI_CALL fake_device_image_needs(VkDevice device,
                                                   const VkDeviceImageMemoryRequirements *info,
                                                   VkMemoryRequirements2 *out);
VKAPI_ATTR void VKAPI_CALL fake_subresource_layout(VkDevice device, VkImage image,
                                                   const VkImageSubresource *what,
                                                   VkSubresourceLayout *out);
VKAPI_ATTR VkResult VKAPI_CALL fake_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                             const VkAllocationCallbacks *callbacks,
                                             VkDeviceMemory *out);
VKAPI_ATTR void VKAPI_CALL fake_free_memory(VkDevice device, VkDeviceMemory memory,
                                            const VkAllocationCallbacks *callbacks);
VKAPI_ATTR VkResult VKAPI_CALL fake_bind_buffer(VkDevice device, VkBuffer buffer,
                                                VkDeviceMemory memory, VkDeviceSize offset);
VKAPI_ATTR VkResult VKAPI_CALL fake_bind_images(VkDevice device, uint32_t count,
                                                const VkBindImageMemoryInfo *infos);
VKAPI_ATTR VkResult VKAPI_CALL fake_bind_image(VkDevice device, VkImage image,
                                               VkDeviceMemory memory, VkDeviceSize offset);
VKAPI_ATTR VkResult VKAPI_CALL fake_memory_fd(VkDevice device, const VkMemoryGetFdInfoKHR *info,
                                              int *out);
VKAPI_ATTR VkResult VKAPI_CALL fake_create_semaphore(VkDevice device,
                                                     const VkSemaphoreCreateInfo *info,
                                                     const VkAllocationCallbacks *callbacks,
                                                     VkSemaphore *out);
VKAPI_ATTR void VKAPI_CALL fake_destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                                  const VkAllocationCallbacks *callbacks);
VKAPI_ATTR VkResult VKAPI_CALL fake_semaphore_fd(VkDevice device,
                                                 const VkSemaphoreGetFdInfoKHR *info, int *out);
VKAPI_ATTR VkResult VKAPI_CALL fake_counter(VkDevice device, VkSemaphore semaphore, uint64_t *out);

#endif
