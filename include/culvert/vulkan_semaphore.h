/* SPDX-License-Identifier: MIT */
/* Culvert: Vulkan semaphores in CUDA, made by Culvert or your own.
 *
 *   culv_vk_semaphore_create(vk, NULL, &semaphore);  a timeline at 0
 *   culv_semaphore_wait(culv_shared_semaphore_cuda(semaphore), stream, n);
 *   VkSemaphore to_submit = culv_vk_semaphore_handle(semaphore);
 *
 * culvert/semaphore.h says how CUDA streams signal and wait. */
#ifndef CULV_VULKAN_SEMAPHORE_H_
#define CULV_VULKAN_SEMAPHORE_H_

#include "shared.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Your own VkSemaphore to import. */
typedef struct culv_vk_semaphore_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_desc_init(). */
    VkSemaphore semaphore;    /**< Required. Created with VkExportSemaphoreCreateInfo{OPAQUE_FD}. */
    culv_semaphore_type type; /**< Required: the type that it was created as. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    /** Binary: nonzero if a signal of it was already submitted to Vulkan. */
    culv_bool signal_pending;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_semaphore_desc;

CULV_INIT(culv_vk_semaphore_desc)

/** A semaphore for Culvert to make. */
typedef struct culv_vk_semaphore_create_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_create_desc_init(). */
    culv_semaphore_type type; /**< Default: CULV_SEMAPHORE_TIMELINE. */
    uint64_t initial_value;   /**< Timeline: VkSemaphoreTypeCreateInfo::initialValue. Binary: 0. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    const char *label;        /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/fallback.h). HOST
     * works only for timelines. Default: none. */
    uint32_t fallback;
} culv_vk_semaphore_create_desc;

/** culv_vk_semaphore_create_desc_init(): a timeline at 0. */
CULV_INIT(culv_vk_semaphore_create_desc)

/** Imports your VkSemaphore. Signals must exceed a timeline's present counter.
 * Errors: INVALID (NOT_EXPORTABLE ...), UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; *out is yours, for culv_semaphore_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_semaphore_import(culv_vk_device *vk,
                                                 const culv_vk_semaphore_desc *desc,
                                                 culv_semaphore **out);

/** Makes an exportable semaphore and imports it into CUDA, all or nothing. desc may be NULL: a
 * timeline at 0. If sharing is impossible and `fallback` is set, CUDA signals and waits in another
 * way (culv_semaphore_sharing()).
 * Errors: INVALID (VALUE; DEVICE_MISMATCH: the VkDevice is attached as another GPU, and `fallback`
 * is not set), UNSUPPORTED (NOT_EXPORTABLE: the device exports no such semaphores;
 * EXTENSION_MISSING, PEER), DRIVER (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(). It keeps the attachment alive, and
 * your VkDevice must outlive it.
 * Threads: any. */
CULV_EXPORT culv_result culv_vk_semaphore_create(culv_vk_device *vk,
                                                 const culv_vk_semaphore_create_desc *desc,
                                                 culv_shared_semaphore **out);

/** Returns the VkSemaphore, for submissions. VK_NULL_HANDLE for NULL. Never destroy it.
 * Ownership: Culvert owns it. Threads: any. */
CULV_EXPORT VkSemaphore culv_vk_semaphore_handle(const culv_shared_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
