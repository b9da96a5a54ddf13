/* SPDX-License-Identifier: MIT */
/* Culvert: lets a library on top of Culvert report errors and manage objects as Culvert does.
 * culvert-extra is such a library (docs/extra.md). Programs do not need this header. */
#ifndef CULV_ADDON_H_
#define CULV_ADDON_H_

#ifndef CULV_EXPERIMENTAL
#    error "addon.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Makes the device's context current on this thread until culv_device_leave(). CUDA calls are
 * allowed there even while another thread captures a stream. The call fails if the context is lost:
 * do not pass its handles to the driver then.
 *
 * Set `quietly` to nonzero to release something: the call then enters a suspended device too, and
 * neither records nor logs a failure.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the device is suspended), UNSUPPORTED (FORKED),
 * DRIVER, ASYNC (DEVICE_LOST, EARLIER_FAILURE).
 * Ownership: *scope is for culv_device_leave() on the same thread. */
CULV_EXPORT culv_result culv_device_enter(culv_device *device, culv_bool quietly, uint64_t *scope);

/** Makes the context current that was current before culv_device_enter().
 * Threads: the thread of culv_device_enter(). Leave scopes in the reverse order. */
CULV_EXPORT void culv_device_leave(culv_device *device, uint64_t scope);

/** Makes *error the calling thread's last error and logs it. The labels of the device and of
 * `object` precede the message, which says what could not be done. If native_api is
 * CULV_NATIVE_CUDA, result is CULV_OK and `device` is not NULL, native_code determines the result
 * and the reason; `reason` is for codes that determine none. `object` is the label of the object at
 * fault. `device` and `object` may be NULL.
 * Errors: returns the error's result. Returns INVALID, and records that, if error is NULL, its
 * struct_size is not set, or its result is neither negative nor determined by native_code.
 * Ownership: Culvert copies everything. Threads: any; each thread has its own last error. */
CULV_EXPORT culv_result culv_device_fail(culv_device *device, const char *object,
                                         const culv_error *error);

/** Opaque: an object of another library that is registered with a device. */
typedef struct culv_addon_object culv_addon_object;

/** An object of another library. */
typedef struct culv_addon_object_desc {
    size_t struct_size; /**< Set by culv_addon_object_desc_init(). */
    const char *kind;   /**< Required: kind, such as "sparse array". Not copied: pass a literal. */
    const char *label;  /**< Copied (up to 63 bytes). Default: none. */
    uint64_t size;      /**< Bytes of memory, for the log. Default: not logged. */
    /** Reason why a checkpoint would break the object, for example "was exported; destroy it
     * before". culv_device_suspend() then fails, and its message has this text behind the kind. Not
     * copied: it must outlive the object. Default: the device can be suspended. */
    const char *not_suspended;
    /** Function that releases what the object has in the driver. It returns the CUresult, and sets
     * *call to the name of the driver's function. Culvert calls it in the device's context, calls
     * it again later if the driver refused, and does not call it if the context is lost. It may
     * call nothing of Culvert but CULV_CUDA(), which must have been called on the device before.
     * Default: nothing is released. */
    int32_t (*release)(void *user, const char **call);
    void (*free)(void *user); /**< Function that is called last, after `release`. Default: none. */
    void *user;               /**< Argument of both functions. */
} culv_addon_object_desc;

CULV_INIT(culv_addon_object_desc)

/** Registers an object with a device. The object keeps the device alive and is logged like
 * Culvert's own objects.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_addon_object_destroy(). */
CULV_EXPORT culv_result culv_addon_object_create(culv_device *device,
                                                 const culv_addon_object_desc *desc,
                                                 culv_addon_object **out);

/** Removes the object from the device and releases it. If last_use is not NULL, the call DEFERS the
 * release until the work in *last_use is done: see culv_buffer_unmap(). */
CULV_EXPORT void culv_addon_object_destroy(culv_addon_object **object, const CUstream *last_use);

/** Fails if the stream does not belong to the device's context. If `uncaptured` is not NULL, it
 * also fails if the stream is being captured, or waits for one that is. `uncaptured` is the reason
 * in the message: "graphs have no node that maps tiles". The call asks the driver each time. Make
 * it between culv_device_enter() and culv_device_leave(). `object` is the label of the object at
 * fault, and may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE, CAPTURE), UNSUPPORTED (STREAM_DEVICE: the stream
 * belongs to a green context), DRIVER, ASYNC. */
CULV_EXPORT culv_result culv_device_check_stream(culv_device *device, const char *object,
                                                 CUstream stream, const char *uncaptured);

/** Makes a culv_vmm_allocation from a handle of the driver, info->native_handle. It takes
 * `requested`, `size`, `granularity` and `handle_types` from *info, and lies on the device. The
 * label may be NULL and is copied (up to 63 bytes).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.
 * Ownership: if the call succeeds, *out owns the handle. *out is yours, for
 * culv_vmm_allocation_destroy(). */
CULV_EXPORT culv_result culv_vmm_allocation_wrap(culv_device *device,
                                                 const culv_vmm_allocation_info *info,
                                                 const char *label, culv_vmm_allocation **out);

/** Makes a wrapped or imported allocation part of a multicast object (CULV_VMM_USAGE_MULTICAST).
 * Graphics APIs refuse it then. culv_vmm_map() refuses it while missing_devices is not 0.
 * culv_vmm_allocation_destroy() refuses it while destroy_call is not NULL, and names that call.
 * Ownership: destroy_call is not copied. Threads: any, ordered with other changes. */
CULV_EXPORT void culv_vmm_allocation_own(culv_vmm_allocation *allocation, const char *destroy_call,
                                         uint32_t missing_devices);

CULV_EXTERN_C_END

#endif
