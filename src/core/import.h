/* SPDX-License-Identifier: MIT */
/* What imports of memory and imports of semaphores have in common, and what a graphics API calls
 * its objects, for messages: the core itself names none of them. */
#ifndef CULVI_CORE_IMPORT_H_
#define CULVI_CORE_IMPORT_H_

#include "base/handle.h"
#include "cuda/device.h"

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

/* An import of a handle; `what` is "memory" or "semaphore". */
typedef struct culvi_import {
    const char *what;
    const char *call;   /* the driver's function */
    const char *field;  /* where the handle came in */
    const char *source; /* the call that makes such handles */
    culvi_handle_use use;
    const culv_handle *handle;
    culvi_handle_facts facts; /* of the handle, by culvi_import_check() */
    const char *label;
    uint64_t *count; /* a counter of the device's; a success increments it */
    bool exported;   /* by culvi_import_trust() */
    bool lent;       /* the driver does not keep file descriptors of this kind */
    CUresult (*give)(culv_device *device, const culv_handle *duplicate, void *object);
    void (*describe)(const void *object, culvi_text *text); /* what the handle should have been */
    const char *refused; /* of plain bytes: what a refusal means. NULL: it is no such handle */
} culvi_import;

culv_result culvi_import_check(const culv_device *device, culvi_import *import,
                               const culv_uuid *exporter);
/* Takes the place of the check for a handle that Culvert has just exported from this same GPU, only
 * for this import. The handle is not examined where the system could report nothing about it. It is
 * not duplicated where drivers never close it. File descriptors are still duplicated: a driver
 * closes some of those that it refuses and leaves others (docs/measured/nvidia-measured.md), and by
 * then the number does not show whose it is. */
culv_result culvi_import_trust(const culv_device *device, culvi_import *import);
/* What is known about such a handle without asking the system; NULL: ask it. */
const culvi_handle_facts *culvi_import_known_facts(const culv_device *device);
/* On success the device has one more reference, the object's. */
culv_result culvi_import_run(culv_device *device, const culvi_import *import, void *object);
/* The same for an object that has its reference. The caller holds the lock and has entered the
 * context; an exported handle is gone, whatever the result. */
culv_result culvi_import_run_again(culv_device *device, culvi_import *import, void *object);

/* Where an import came from, so that it can be made again (core/suspend.c). It is part of the
 * object, and guarded by the device's lock. */
typedef struct culvi_source {
    /* Exports the native object, for the caller to close. NULL: nobody can. */
    culv_result (*handle)(void *context, uint64_t native, const char *label, culv_handle *out);
    /* Reads a timeline's counter; false: there is no answer. NULL: it has none */
    bool (*counter)(void *context, uint64_t native, uint64_t *out);
    void *context;
    uint64_t native;
    bool callers; /* the native object is the caller's, who may have destroyed it */
} culvi_source;

/* Sets it under the device's lock. `from` is NULL: nowhere any more. */
void culvi_source_set(culv_device *device, culvi_source *source, const culvi_source *from);
/* A new handle of it, for the caller to close. */
culv_result culvi_source_export(const culv_device *device, const culvi_source *source,
                                const char *label, const char *what, culv_handle *out);
/* suspend.c: an attachment is gone; what it exported cannot be exported again. Takes the lock. */
void culvi_sources_forget(culv_device *device, const void *context);

#endif
