/* What a graphics API calls its things, for messages: the core names none by itself.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_CORE_WORDS_H_
#define CULVI_CORE_WORDS_H_

#include "culvert/result.h"

/* One table an API. No field is NULL. */
typedef struct culvi_words {
    culv_api api;                /* of native error codes */
    const char *name;            /* "Vulkan" */
    const char *physical_device; /* "VkPhysicalDevice" */
    const char *device;          /* "VkDevice" */
    const char *memory;          /* "VkDeviceMemory" */
    const char *semaphore;       /* "VkSemaphore" */
    const char *size;            /* the size of a whole allocation: "VkMemoryAllocateInfo::allocationSize" */
    const char *dedicated;     /* how memory of one resource is asked for: "VkMemoryDedicatedAllocateInfo" */
    const char *buffer_offset; /* where a buffer lies in its memory: "memoryOffset of vkBindBufferMemory" */
    const char *image_offset;
    const char *plane_offset;
    const char *export_memory; /* the native call: "vkGetMemoryFdKHR" */
    const char *export_semaphore;
    const char *signal_call; /* of a timeline, on the host: "vkSignalSemaphore" */
    const char *wait_call;
    /* Culvert's own calls and structs for this API. */
    const char *attach_desc;    /* "culv_vk_desc" */
    const char *open_call;      /* "culv_vk_device_open" */
    const char *memory_desc;    /* "culv_vk_memory_desc" */
    const char *buffer_destroy; /* "culv_vk_buffer_destroy" */
    const char *image_destroy;
    const char *semaphore_destroy;
    const char *map_rows; /* how an image of rows is mapped: "culv_vk_image_map_pitched()" */
} culvi_words;

/* Those of a handle that came from elsewhere, from no attachment. */
extern const culvi_words culvi_plain_words;

#endif
