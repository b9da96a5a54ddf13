/* SPDX-License-Identifier: MIT */
/* Culvert: multicast objects: one address that stands for a piece of memory on each GPU of a team
 * (NVLink SHARP).
 *
 * A multicast object is made for a number of devices. Each is added, then each binds memory of its
 * own to it, and the object is mapped like any allocation: culv_vmm_map() with
 * culv_multicast_allocation(). Kernels reach all replicas at once by PTX's multimem instructions;
 * plain addresses of the same memory need `fence.proxy.alias` in between.
 *
 * The driver makes cuMulticastBindMem, cuMulticastBindAddr and cuMemMap wait, without end, until
 * every device was added (cuda.h, cuMulticastAddDevice). Culvert counts the devices, and refuses
 * those calls until then (NOT_READY).
 *
 * Making such an object sets up the machine's NVSwitches, which on a shared machine may disturb
 * other programs: nothing here makes or imports one unless its descriptor has `opt_in` set. */
#ifndef CULV_MULTICAST_H_
#define CULV_MULTICAST_H_

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a multicast object. Creation and destruction of one object are ordered by the caller;
 * other calls may come from any thread. */
typedef struct culv_multicast culv_multicast;

/** A multicast object to make. Zero means the default. */
typedef struct culv_multicast_desc {
    size_t struct_size;   /**< Set by culv_multicast_desc_init(). */
    uint32_t num_devices; /**< Required: GPUs of the team, those of other processes among them. */
    culv_bool opt_in;     /**< Required: nonzero, after the warning above. */
    /** Required: bytes that each device can bind, rounded up to the granularity. */
    uint64_t size;
    /** Bits (1 << culv_handle_type) of what it is to be exported as: OPAQUE_FD, on Windows
     * OPAQUE_WIN32. Only memory that can be exported is bound to such an object. 0: never
     * exported. */
    uint32_t handle_types;
    /** Nonzero: the size is rounded to what the driver recommends for speed. */
    culv_bool recommended_granularity;
    /** Copied (up to 63 bytes); appears in messages. Default: none. */
    const char *label;
} culv_multicast_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_multicast_desc culv_multicast_desc_init(void)
{
    culv_multicast_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A multicast object behind a handle. */
typedef struct culv_multicast_import_desc {
    size_t struct_size; /**< Set by culv_multicast_import_desc_init(). */
    /** Required: of culv_vmm_export_dup() of the exporter's culv_multicast_allocation(). */
    culv_handle handle;
    uint32_t num_devices; /**< Required: as the exporter made it. */
    culv_bool opt_in;     /**< Required: nonzero, after the warning above. */
    uint64_t size;        /**< Required: as culv_multicast_size() of the exporter says. */
    const char *label;    /**< Copied (up to 63 bytes). Default: none. */
} culv_multicast_import_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_multicast_import_desc culv_multicast_import_desc_init(void)
{
    culv_multicast_import_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Whether the device can be of a team: CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, and the driver has
 * the calls. 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_bool culv_multicast_supported(const culv_device *device);

/** The granularities in bytes of an object like desc, whose size and opt_in are not looked at: the
 * least, and the one recommended for speed. Either output may be NULL. This only asks, and makes
 * nothing.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device
 * has no multicast; HANDLE_TYPE; DRIVER_TOO_OLD), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastGetGranularity. */
CULV_EXPORT culv_result culv_multicast_get_granularity(culv_device *device,
                                                       const culv_multicast_desc *desc,
                                                       uint64_t *minimum, uint64_t *recommended);

/** Makes a multicast object, of no device yet: `device` is whose driver makes it, and is added like
 * the others.
 * Errors: INVALID (OPT_IN: desc->opt_in is 0, found before the driver is called; NULL_ARGUMENT,
 * STRUCT_SIZE, VALUE, SIZE, HANDLE_TYPE), UNSUPPORTED (VMM, HANDLE_TYPE, DRIVER_TOO_OLD), DRIVER
 * (NOT_READY: the system software that multicast needs is not running; DRIVER_REFUSED), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_multicast_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastCreate. */
CULV_EXPORT culv_result culv_multicast_create(culv_device *device, const culv_multicast_desc *desc,
                                              culv_multicast **out);

/** Imports another process's multicast object and BORROWS its handle: it stays yours, and you may
 * close it right after the call.
 * Errors: as culv_multicast_create(); INVALID (HANDLE_BAD, HANDLE_KIND), DRIVER (HANDLE_REFUSED).
 * Ownership: the handle stays yours; *out is yours, for culv_multicast_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemImportFromShareableHandle. */
CULV_EXPORT culv_result culv_multicast_import_borrow(culv_device *device,
                                                     const culv_multicast_import_desc *desc,
                                                     culv_multicast **out);

/** Imports another process's multicast object and TAKES its handle: Culvert's after CULV_OK, still
 * yours, open, after an error.
 * Errors: as culv_multicast_import_borrow().
 * Ownership: the handle as said; *out is yours, for culv_multicast_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_multicast_import_take(culv_device *device,
                                                   const culv_multicast_import_desc *desc,
                                                   culv_multicast **out);

/** Gives the object up and sets *multicast to NULL; NULL, or a pointer to NULL, is a no-op. What is
 * bound to it is unbound first. Unmap it before: its allocation goes with it. Does not wait for the
 * GPU.
 * Errors: none.
 * Ownership: *multicast is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_multicast_destroy(culv_multicast **multicast);

/** Bytes that each device can bind: what was asked for, rounded up; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_multicast_size(const culv_multicast *multicast);

/** Devices that are still to be added: 0 once memory can be bound. 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint32_t culv_multicast_missing_devices(const culv_multicast *multicast);

/** The object as an allocation, for culv_vmm_map() and culv_vmm_export_dup(). culv_vmm_map()
 * answers INVALID (NOT_READY) while a device is missing. Never free it.
 * Errors: none; NULL for NULL.
 * Ownership: the object's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_vmm_allocation *culv_multicast_allocation(const culv_multicast *multicast);

/** Adds a device to the team, for as long as the object lives.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is there already, or the team is full; DEVICE_MISMATCH:
 * of another driver), UNSUPPORTED (VMM: this device has no multicast), DRIVER (NOT_READY,
 * DRIVER_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastAddDevice. */
CULV_EXPORT culv_result culv_multicast_add_device(culv_multicast *multicast, culv_device *device);

/** Tells that other processes have added so many devices more, which Culvert cannot see. If they
 * have not, the driver waits in the next call for them.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: more than are missing).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_multicast_mark_devices_added(culv_multicast *multicast,
                                                          uint32_t count);

/** Binds `size` bytes from `memory_offset` of an allocation at `offset` of the object, for the
 * device that the memory lies on. All three are multiples of the least granularity. The memory can
 * be unbound alone; giving its handle up is for after that.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: devices are missing; VALUE: no multiples; RANGE;
 * USAGE: a tile pool, host memory or a multicast object; DEVICE_MISMATCH: on no device that was
 * added here; NOT_EXPORTABLE: the object can be exported, or was imported, and the memory cannot),
 * BUSY (MAPPED: something of that device is bound there), DRIVER (NOT_READY: the system software is
 * not running; DRIVER_REFUSED: also when the system's configuration is in an illegal state), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastBindMem. */
CULV_EXPORT culv_result culv_multicast_bind(culv_multicast *multicast, uint64_t offset,
                                            culv_vmm_allocation *memory, uint64_t memory_offset,
                                            uint64_t size);

/** As culv_multicast_bind(), of `size` bytes at an address of memory that lies on `device`, which
 * cuMemCreate's memory is mapped at or cuMemAllocAsync gave.
 * Errors: as culv_multicast_bind() (DEVICE_MISMATCH: also memory that lies on another device); what
 * else the memory is, the driver decides.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastBindAddr. */
CULV_EXPORT culv_result culv_multicast_bind_address(culv_multicast *multicast, uint64_t offset,
                                                    culv_device *device, CUdeviceptr address,
                                                    uint64_t size);

/** Unbinds what a device has bound at `offset`, with the size that it was bound with: CUDA leaves
 * any other undefined. Does not wait for the GPU.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: that device has bound nothing of that size there),
 * DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMulticastUnbind. */
CULV_EXPORT culv_result culv_multicast_unbind(culv_multicast *multicast, uint64_t offset,
                                              culv_device *device, uint64_t size);

CULV_EXTERN_C_END

#endif
