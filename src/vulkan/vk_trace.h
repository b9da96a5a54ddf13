/* SPDX-License-Identifier: MIT */
/* Vulkan calls, logged at DEBUG with their values and their result. */
#ifndef CULVI_VULKAN_VK_TRACE_H_
#define CULVI_VULKAN_VK_TRACE_H_

#include "base/value.h"
#include "culvert/vulkan.h"

enum { CULVI_VALUE_vk_memory = CULVI_VALUE_STRUCTS, CULVI_VALUE_vk_buffer, CULVI_VALUE_vk_image };

#if VK_USE_64_BIT_PTR_DEFINES
#    define CULVI_VK_HANDLE_TYPES_                                                                 \
        CULVI_AS(VkBuffer *, out_handle), CULVI_AS(VkImage *, out_handle),                         \
            CULVI_AS(VkDeviceMemory *, out_handle), CULVI_AS(VkSemaphore *, out_handle),           \
            CULVI_AS(VkFence *, out_handle), CULVI_AS(VkCommandPool *, out_handle),
#else
#    define CULVI_VK_HANDLE_TYPES_ /* they are numbers, and of one type */
#endif

/* The kind of one argument of a call. */
#define CULVI_VK_KIND(argument)                                                                    \
    _Generic((argument), CULVI_VALUE_TYPES,                                                        \
             CULVI_VK_HANDLE_TYPES_ CULVI_AS(VkMemoryAllocateInfo *, vk_memory),                   \
             CULVI_AS(const VkMemoryAllocateInfo *, vk_memory),                                    \
             CULVI_AS(VkBufferCreateInfo *, vk_buffer),                                            \
             CULVI_AS(const VkBufferCreateInfo *, vk_buffer),                                      \
             CULVI_AS(VkImageCreateInfo *, vk_image),                                              \
             CULVI_AS(const VkImageCreateInfo *, vk_image), CULVI_AS(default, pointer))
#define CULVI_VK_KINDS(...) CULVI_KINDS(CULVI_VK_KIND, __VA_ARGS__)

/* Logs a call that has answered `result`, with its arguments, if somebody listens. Returns it. */
VkResult culvi_trace_vk(const culvi_voice *voice, const char *call, VkResult result, uint64_t kinds,
                        ...);
/* The same of one that returns nothing. */
void culvi_trace_vk_done(const culvi_voice *voice, const char *call, uint64_t kinds, ...);

/* Calls a function of a table that returns a VkResult. The arguments are evaluated a second time
 * for the log: they must have no effects. */
#define CULVI_VK_OF(voice, table, function, arguments)                                             \
    culvi_trace_vk((voice), #function, (table)->function arguments, CULVI_VK_KINDS arguments,      \
                   CULVI_LIST arguments)
/* Calls one that returns nothing. */
#define CULVI_VK_DO_OF(voice, table, function, arguments)                                          \
    ((table)->function arguments,                                                                  \
     culvi_trace_vk_done((voice), #function, CULVI_VK_KINDS arguments, CULVI_LIST arguments))

/* CULVI_VK... takes a culv_vk_device, CULVI_VKI... a culvi_vk_instance. */
#define CULVI_VK(vk, function, arguments)                                                          \
    CULVI_VK_OF((vk)->voice, &(vk)->table, function, arguments)
#define CULVI_VK_DO(vk, function, arguments)                                                       \
    CULVI_VK_DO_OF((vk)->voice, &(vk)->table, function, arguments)
#define CULVI_VKI(instance, function, arguments)                                                   \
    CULVI_VK_OF((instance)->voice, (instance), function, arguments)
#define CULVI_VKI_DO(instance, function, arguments)                                                \
    CULVI_VK_DO_OF((instance)->voice, (instance), function, arguments)

/* Calls the next one of several, if those before it answered VK_SUCCESS in `r`. `called` is then
 * its name. */
#define CULVI_VK_NEXT(r, called, vk, function, arguments)                                          \
    do {                                                                                           \
        if ((r) != VK_SUCCESS) break;                                                              \
        (called) = #function;                                                                      \
        (r) = CULVI_VK(vk, function, arguments);                                                   \
    } while (0)
/* The same for a call that makes `handle`, which is undefined if the call fails. */
#define CULVI_VK_MAKE(r, called, vk, function, arguments, handle)                                  \
    do {                                                                                           \
        CULVI_VK_NEXT(r, called, vk, function, arguments);                                         \
        if ((r) != VK_SUCCESS) (handle) = VK_NULL_HANDLE;                                          \
    } while (0)

#endif
