/* SPDX-License-Identifier: MIT */
/* Culvert: what a library on top of it needs to speak and to live like a part of it. culvert-extra
 * is such a library (docs/extra.md). Programs need nothing of this. */
#ifndef CULV_ADDON_H_
#define CULV_ADDON_H_

#ifndef CULV_EXPERIMENTAL
#    error "addon.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Makes the device's context current on this thread, and allows CUDA calls while another thread
 * captures a stream, until culv_device_leave(). It also finds out that the context is lost, after
 * which the driver must not see handles of it.
 *
 * With `quietly` nonzero the caller gives something back: a suspended device is entered too, and a
 * failure is neither recorded nor logged.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the device is suspended), UNSUPPORTED (FORKED),
 * DRIVER, ASYNC (DEVICE_LOST, EARLIER_FAILURE).
 * Ownership: *scope is for culv_device_leave() on the same thread. */
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
    const char *kind;   /**< Required: the kind, such as "sparse array". Not copied: a literal. */
    const char *label;  /**< Copied (up to 63 bytes). Default: none. */
    uint64_t size;      /**< Bytes of memory, for the log. Default: not told. */
    /** The reason why a checkpoint would break the object, behind its kind: "was exported; destroy
     * it before". culv_device_suspend() is refused with it. Not copied: it must outlive the object.
     * Default: the device can be suspended. */
    const char *not_suspended;
    /** Gives what the object has back to the driver: returns the CUresult, and sets *call to the
     * name of the driver's function. It runs in the device's context, once more if the driver
     * refused, and not if the context is lost. It makes no call of Culvert's but CULV_CUDA(), which
     * was called on the device before. Default: nothing is given back. */
    int32_t (*release)(void *user, const char **call);
    void (*free)(void *user); /**< Called last of all, after `release`. Default: not called. */
    void *user;               /**< For both. */
} culv_addon_object_desc;

CULV_INIT(culv_addon_object_desc)

/** Tells a device of an object: it keeps the device alive and is logged like Culvert's own.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_addon_object_destroy(). */
CULV_EXPORT culv_result culv_addon_object_create(culv_device *device,
                                                 const culv_addon_object_desc *desc,
                                                 culv_addon_object **out);

/** Tells the device that the object is gone, and releases it. If last_use is not NULL, the call
 * DEFERS the release behind the work of *last_use: see culv_buffer_unmap(). */
CULV_EXPORT void culv_addon_object_destroy(culv_addon_object **object, const CUstream *last_use);

/** Refuses a stream that is not of the device's context. If `uncaptured` is not NULL, it also
 * refuses one that is being captured; `uncaptured` says why: "graphs have no node that maps tiles".
 * Asks the driver each time. Call it between culv_device_enter() and culv_device_leave(). `object`
 * may be NULL and is the label of what is at fault.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE, CAPTURE), UNSUPPORTED (STREAM_DEVICE: the stream
 * is one of a green context), DRIVER, ASYNC. */
CULV_EXPORT culv_result culv_device_check_stream(culv_device *device, const char *object,
                                                 CUstream stream, const char *uncaptured);

/** Makes an allocation of a handle of the driver's, info->native_handle. It has the `requested`,
 * `size`, `granularity` and `handle_types` of *info and is on the device. The label may be NULL and
 * is copied (up to 63 bytes).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: on success *out has the handle. *out is yours, for culv_vmm_allocation_destroy(). */
CULV_EXPORT culv_result culv_vmm_allocation_wrap(culv_device *device,
                                                 const culv_vmm_allocation_info *info,
                                                 const char *label, culv_vmm_allocation **out);

/** Gives an allocation that was wrapped or imported to a multicast object
 * (CULV_VMM_USAGE_MULTICAST). Graphics APIs refuse it, and culv_vmm_map() while missing_devices is
 * not 0. culv_vmm_allocation_destroy() refuses it and names destroy_call, until that is NULL.
 * Ownership: destroy_call is not copied. Threads: any, ordered with other changes. */
CULV_EXPORT void culv_vmm_allocation_own(culv_vmm_allocation *allocation, const char *destroy_call,
                                         uint32_t missing_devices);

CULV_EXTERN_C_END

#endif
