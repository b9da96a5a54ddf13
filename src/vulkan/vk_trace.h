/* SPDX-License-Identifier: MIT */
/* Vulkan calls, logged at DEBUG with their values and their result. */
#ifndef CULVI_VULKAN_VK_TRACE_H_
#define CULVI_VULKAN_VK_TRACE_H_

#include "base/value.h"
#include "vulkan/vk.h"

culvi_value culvi_value_vk_memory(const VkMemoryAllocateInfo *info);
culvi_value culvi_value_vk_buffer(const VkBufferCreateInfo *info);
culvi_value culvi_value_vk_image(const VkImageCreateInfo *info);

#if VK_USE_64_BIT_PTR_DEFINES
#    define CULVI_VK_HANDLE_TYPES_                                                                 \
        CULVI_AS(VkBuffer *, out_handle), CULVI_AS(VkImage *, out_handle),                         \
            CULVI_AS(VkDeviceMemory *, out_handle), CULVI_AS(VkSemaphore *, out_handle),           \
            CULVI_AS(VkFence *, out_handle), CULVI_AS(VkCommandPool *, out_handle),
#else
#    define CULVI_VK_HANDLE_TYPES_ /* they are numbers, and of one type */
#endif

/* One argument of a call. */
#define CULVI_VK_VALUE(argument)                                                                   \
    _Generic((argument), CULVI_VALUE_TYPES,                                                        \
             CULVI_VK_HANDLE_TYPES_ CULVI_AS(VkMemoryAllocateInfo *, vk_memory),                   \
             CULVI_AS(const VkMemoryAllocateInfo *, vk_memory),                                    \
             CULVI_AS(VkBufferCreateInfo *, vk_buffer),                                            \
             CULVI_AS(const VkBufferCreateInfo *, vk_buffer),                                      \
             CULVI_AS(VkImageCreateInfo *, vk_image),                                              \
             CULVI_AS(const VkImageCreateInfo *, vk_image), CULVI_AS(default, pointer))(argument)
#define CULVI_VK_VALUES(...) CULVI_EACH(CULVI_VK_VALUE, __VA_ARGS__)

/* Logs a call that has answered `result`, and returns it. */
VkResult culvi_trace_vk(const culvi_voice *voice, const char *call, VkResult result,
                        const culvi_value *values, size_t count);

/* Calls a function of a table that returns a VkResult. The arguments are evaluated a second time
 * for the log: they must have no effects. */
#define CULVI_VK_OF(voice, table, function, arguments)                                             \
    (culvi_traces(voice)                                                                           \
         ? culvi_trace_vk((voice), #function, (table)->function arguments,                         \
                          (const culvi_value[]){CULVI_VK_VALUES arguments}, CULVI_COUNT arguments) \
         : (table)->function arguments)
/* Calls one that returns nothing. */
#define CULVI_VK_DO_OF(voice, table, function, arguments)                                          \
    ((table)->function arguments,                                                                  \
     culvi_traces(voice)                                                                           \
         ? culvi_trace((voice), #function, NULL, true,                                             \
                       (const culvi_value[]){CULVI_VK_VALUES arguments}, CULVI_COUNT arguments)    \
         : (void)0)

/* CULVI_VK... takes a culv_vk_device, CULVI_VKI... a culvi_vk_instance. */
#define CULVI_VK(vk, function, arguments)                                                          \
    CULVI_VK_OF((vk)->voice, &(vk)->table, function, arguments)
#define CULVI_VK_DO(vk, function, arguments)                                                       \
    CULVI_VK_DO_OF((vk)->voice, &(vk)->table, function, arguments)
#define CULVI_VKI(instance, function, arguments)                                                   \
    CULVI_VK_OF((instance)->voice, (instance), function, arguments)
#define CULVI_VKI_DO(instance, function, arguments)                                                \
    CULVI_VK_DO_OF((instance)->voice, (instance), function, arguments)

#endif
