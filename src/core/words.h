/* SPDX-License-Identifier: MIT */
/* What a graphics API calls its objects, for messages: the core itself names none of them. */
#ifndef CULVI_CORE_WORDS_H_
#define CULVI_CORE_WORDS_H_

#include "culvert/handle.h"
#include "culvert/result.h"

/* One table for each API. No field is NULL. */
typedef struct culvi_words {
    culv_native_api api;         /* of native error codes */
    const char *name;            /* "Vulkan" */
    const char *physical_device; /* "VkPhysicalDevice" */
    const char *memory;          /* "VkDeviceMemory" */
    const char *semaphore;       /* "VkSemaphore" */
    /* Messages put these in brackets after the words that say what is meant. */
    const char *size;          /* of a whole allocation: "VkMemoryAllocateInfo::allocationSize" */
    const char *dedicated;     /* memory for one resource: "VkMemoryDedicatedAllocateInfo" */
    const char *buffer_offset; /* where a buffer is bound: "memoryOffset of vkBindBufferMemory" */
    const char *image_offset;
    const char *plane_offset;
    const char *map_rows; /* a call that maps an image by its rows: "culv_vk_image_map_pitched()" */
    /* Native calls that the host makes on a timeline. */
    const char *read_call; /* "vkGetSemaphoreCounterValue" */
    const char *wait_call;
    const char *signal_call;
    /* Culvert's own calls and structs for this API. */
    const char *attach_desc; /* "culv_vk_device_desc" */
    /* What lets the device be another GPU than the API's, for a list of ways out: "set
     * culv_vk_device_desc.allow_other_gpu to 1 ..., "; "" where the API has no such thing. */
    const char *cross;
    const char *open_call;   /* "culv_device_open_for_vk" */
    const char *memory_desc; /* "culv_vk_memory_desc" */
    const char *memory_size; /* the size in it: "allocation_size" */
} culvi_words;

/* These are for a handle that did not come from an attachment. */
extern const culvi_words culvi_plain_words;
/* The same where the handle's type tells that it is of Windows' own API; otherwise those above. */
const culvi_words *culvi_words_of_handle(culv_handle_type type);

#endif
