/* SPDX-License-Identifier: MIT */
/* Culvert: Vulkan semaphores in CUDA: the caller's own, and those that Culvert makes. */
#ifndef CULV_VULKAN_SEMAPHORE_H_
#define CULV_VULKAN_SEMAPHORE_H_

#include "semaphore.h"
#include "vulkan_device.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an exportable VkSemaphore that Culvert made and imported into CUDA. */
typedef struct culv_vk_semaphore culv_vk_semaphore;

/** A VkSemaphore of the caller's to import. */
typedef struct culv_vk_semaphore_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_desc_init(). */
    VkSemaphore semaphore;    /**< Required: created with VkExportSemaphoreCreateInfo{OPAQUE_FD}. */
    culv_semaphore_type type; /**< Required: what it was created as. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    /** Binary: nonzero when a signal of it was submitted to Vulkan already. */
    culv_bool signal_pending;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vk_semaphore_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_semaphore_desc culv_vk_semaphore_desc_init(void)
{
    culv_vk_semaphore_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A semaphore for Culvert to make. */
typedef struct culv_vk_semaphore_create_desc {
    size_t struct_size;       /**< Set by culv_vk_semaphore_create_desc_init(). */
    culv_semaphore_type type; /**< Default: CULV_SEMAPHORE_TIMELINE. */
    uint64_t initial_value;   /**< Timeline: VkSemaphoreTypeCreateInfo::initialValue. Binary: 0. */
    culv_bool untracked;      /**< Binary: as culv_semaphore_desc::untracked. */
    const char *label;        /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_...: what may take the place of sharing where that is impossible
     * (culvert/fallback.h); HOST is for timelines alone. Default: none. */
    uint32_t fallback;
} culv_vk_semaphore_create_desc;

/** Returns a default descriptor: a timeline at 0.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vk_semaphore_create_desc culv_vk_semaphore_create_desc_init(void)
{
    culv_vk_semaphore_create_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Imports a semaphore of the caller's. A timeline's present counter becomes the value that signals
 * must exceed; a binary one is taken for unsignaled, unless the descriptor's signal_pending says
 * otherwise.
 * Errors: INVALID (NOT_EXPORTABLE ...), UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkSemaphore stays yours; *out is yours; give it to culv_semaphore_destroy().
 * Threads: any.
 * Since: 0.1
 * Source: VK_KHR_external_semaphore_fd. */
CULV_EXPORT culv_result culv_vk_semaphore_import(culv_vk_device *vk,
                                                 const culv_vk_semaphore_desc *desc,
                                                 culv_semaphore **out);

/** Makes an exportable semaphore and imports it into CUDA: all or nothing. desc may be NULL for a
 * timeline at 0. With `fallback`, where sharing is impossible, CUDA's signals and waits take
 * another road (culv_semaphore_sharing() tells).
 * Errors: INVALID (VALUE; DEVICE_MISMATCH: attached as another GPU, and no `fallback`), UNSUPPORTED
 * (NOT_EXPORTABLE: the device exports no such semaphores, as software Vulkan does for binary ones;
 * EXTENSION_MISSING, PEER), DRIVER (a Vulkan or CUDA call failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_vk_semaphore_destroy(); it keeps the attachment alive,
 * and your VkDevice must outlive it.
 * Threads: any.
 * Since: 0.1.
 * Source: VkExportSemaphoreCreateInfo. */
CULV_EXPORT culv_result culv_vk_semaphore_create(culv_vk_device *vk,
                                                 const culv_vk_semaphore_create_desc *desc,
                                                 culv_vk_semaphore **out);

/** Gives CUDA's import up and destroys the VkSemaphore; sets *semaphore to NULL. NULL, or a pointer
 * to NULL, is a no-op. Vulkan's use of it must be over, as for vkDestroySemaphore; CUDA's should
 * be, see culv_semaphore_destroy(), which waits in here.
 * Errors: none.
 * Ownership: *semaphore is Culvert's again.
 * Threads: any, ordered with other calls on this object and on its VkDevice's destruction.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_semaphore_destroy(culv_vk_semaphore **semaphore);

/** As culv_vk_semaphore_destroy(), but never waits for CUDA: see culv_semaphore_destroy_after().
 * Vulkan's use must be over now. On the HOST path (culvert/fallback.h) the VkSemaphore goes once no
 * host function is on its way, at the latest in culv_vk_detach(). After that the last object of the
 * attachment waits in here.
 * Errors: none.
 * Ownership: *semaphore is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_vk_semaphore_destroy_after(culv_vk_semaphore **semaphore, CUstream last_use);

/** The VkSemaphore, for submissions: never destroy it; VK_NULL_HANDLE for NULL.
 * Errors: none.
 * Ownership: Culvert's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT VkSemaphore culv_vk_semaphore_handle(const culv_vk_semaphore *semaphore);

/** CUDA's side of the semaphore, for culv_semaphore_signal() and _wait(). NULL for NULL.
 * Errors: none.
 * Ownership: Culvert's, valid until the semaphore is destroyed; culv_semaphore_destroy() refuses
 * it.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_semaphore *culv_vk_semaphore_cuda(const culv_vk_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
