/* SPDX-License-Identifier: MIT */
/* Culvert: what a library on top of it needs to speak and to live like a part of it. culvert-extra
 * is such a library (docs/extra.md). Programs need nothing of this. */
#ifndef CULV_ADDON_H_
#define CULV_ADDON_H_

#ifndef CULV_EXPERIMENTAL
#    error "addon.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"

CULV_EXTERN_C_BEGIN

/** Makes the device's context current on this thread, and allows CUDA calls while another thread
 * captures a stream, until culv_device_leave(). It also finds out that the context is lost, after
 * which the driver must not see handles of it.
 *
 * With `quietly` nonzero the caller gives something back: a suspended device is entered too, and a
 * failure is neither recorded nor logged.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the device is suspended), UNSUPPORTED (FORKED),
 * DRIVER, ASYNC (DEVICE_LOST, EARLIER_FAILURE).
 * Ownership: *scope is for culv_device_leave() on the same thread. Threads: any. */
CULV_EXPORT culv_result culv_device_enter(culv_device *device, culv_bool quietly, uint64_t *scope);

/** Makes current again what was current before culv_device_enter().
 * Threads: that of culv_device_enter(); scopes end in the opposite order of their begin. */
CULV_EXPORT void culv_device_leave(culv_device *device, uint64_t scope);

/** Makes *error the calling thread's last error, behind the labels of the device and of `object`,
 * and logs it. If native_api is CULV_NATIVE_CUDA and result is CULV_OK, the result and the reason
 * follow from native_code; `reason` is for codes that say nothing of their own, and `message` says
 * what could not be done. `device` may be NULL, and `object`, the label of what is at fault.
 * Errors: returns the error's result. Returns INVALID, and records that, if error is NULL, its
 * struct_size is not set, or its result is not negative.
 * Ownership: Culvert copies all of it. Threads: any; each thread has its own last error. */
CULV_EXPORT culv_result culv_device_fail(culv_device *device, const char *object,
                                         const culv_error *error);

/** Opaque: an object of another library, as the device knows it. */
typedef struct culv_addon_object culv_addon_object;

/** An object of another library. */
typedef struct culv_addon_object_desc {
    size_t struct_size; /**< Set by culv_addon_object_desc_init(). */
    const char *kind;   /**< Required: the kind, such as "sparse array". Copied (up to 63 bytes). */
    const char *label;  /**< Copied (up to 63 bytes). Default: none. */
    uint64_t size;      /**< Bytes of memory, for the log. Default: not told. */
    /** The reason why a checkpoint would break the object, behind its kind: "was exported; destroy
     * it before". culv_device_suspend() is refused with it. Not copied: it must outlive the object.
     * Default: the device can be suspended. */
    const char *not_suspended;
} culv_addon_object_desc;

CULV_INIT(culv_addon_object_desc)

/** Tells a device of an object: it keeps the device alive and is logged like Culvert's own.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_addon_object_destroy(). Threads: any. */
CULV_EXPORT culv_result culv_addon_object_create(culv_device *device,
                                                 const culv_addon_object_desc *desc,
                                                 culv_addon_object **out);

/** Tells the device that the object is gone.
 * Threads: any, after the last call for the object. */
CULV_EXPORT void culv_addon_object_destroy(culv_addon_object **object);

CULV_EXTERN_C_END

#endif
