/* SPDX-License-Identifier: MIT */
/* Culvert: multicast objects (NVLink SHARP). One address reaches memory on each GPU of a team.
 *
 * A multicast object is made for a number of devices. Add each device, and bind memory of each
 * device to the object. Then map the object like any allocation: culv_vmm_map() with
 * culv_multicast_allocation(). Kernels access all replicas at once by PTX's multimem instructions.
 * Between accesses by multimem and by plain addresses of the same memory, use `fence.proxy.alias`.
 *
 * cuMulticastBindMem, cuMulticastBindAddr and cuMemMap wait without end until every device is added
 * (cuda.h, cuMulticastAddDevice). Culvert counts the devices and refuses those calls until then
 * (NOT_READY).
 *
 * Such an object configures the machine's NVSwitches. On a shared machine that may disturb other
 * programs. Culvert makes or imports an object only if its descriptor has `opt_in` set.
 *
 * Only on Linux. */
#ifndef CULV_EXTRA_MULTICAST_H_
#define CULV_EXTRA_MULTICAST_H_

#include "extra.h"
#include <culvert/vmm.h>

CULV_EXTERN_C_BEGIN

/** Opaque: a multicast object. Order its destruction with other calls on it. Other calls may come
 * from any thread. */
typedef struct culv_multicast culv_multicast;

/** A multicast object to make. */
typedef struct culv_multicast_desc {
    size_t struct_size;   /**< Set by culv_multicast_desc_init(). */
    uint32_t num_devices; /**< Required: GPUs of the team, in all processes. */
    culv_bool opt_in;     /**< Required: 1, once you know the warning above. */
    /** Required: bytes that each device can bind, rounded up to the minimum granularity. For speed,
     * pass a multiple of the one that the driver recommends (culv_multicast_get_granularity()). */
    uint64_t size;
    /** Handle types for export: bits (1 << culv_handle_type) of OPAQUE_FD.
     * Only exportable memory can then be bound to the object. 0: the object is never exported. */
    uint32_t handle_types;
    const char *label; /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_multicast_desc;

CULV_INIT(culv_multicast_desc)

/** A multicast object to import. */
typedef struct culv_multicast_import_desc {
    size_t struct_size; /**< Set by culv_multicast_import_desc_init(). */
    /** Required: handle from the exporter's culv_vmm_export_dup() of its
     * culv_multicast_allocation(). */
    culv_handle handle;
    uint32_t num_devices; /**< Required: num_devices of the exporter. */
    culv_bool opt_in;     /**< Required: 1, once you know the warning above. */
    uint64_t size;        /**< Required: culv_vmm_allocation_info::size of the exporter. */
    const char *label;    /**< Copied (up to 63 bytes). Default: none. */
} culv_multicast_import_desc;

CULV_INIT(culv_multicast_import_desc)

/** Checks whether the device can be part of a team: it must have
 * CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, and the driver must have the calls.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM: the device has no multicast;
 * DRIVER_TOO_OLD). */
CULV_EXTRA culv_result culv_check_multicast(culv_device *device);

/** Gets the granularities in bytes of an object like desc: the minimum, and the granularity that
 * the driver recommends for speed. The call ignores the size and opt_in of desc. Either output may
 * be NULL. The call only asks the driver; it makes nothing.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device
 * has no multicast; HANDLE_TYPE; DRIVER_TOO_OLD), DRIVER, ASYNC.
 * Source: cuda.h, cuMulticastGetGranularity. */
CULV_EXTRA culv_result culv_multicast_get_granularity(culv_device *device,
                                                      const culv_multicast_desc *desc,
                                                      uint64_t *minimum, uint64_t *recommended);

/** Makes a multicast object that has no device yet. The driver of `device` makes it. Add `device`
 * too, like the other devices.
 * Errors: INVALID (OPT_IN: desc->opt_in is 0, which Culvert checks before it calls the driver;
 * NULL_ARGUMENT, STRUCT_SIZE, VALUE, SIZE, HANDLE_TYPE), UNSUPPORTED (VMM, HANDLE_TYPE,
 * DRIVER_TOO_OLD), DRIVER (NOT_READY: the system software that multicast needs is not running;
 * DRIVER_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_multicast_destroy().
 * Source: cuda.h, cuMulticastCreate. */
CULV_EXTRA culv_result culv_multicast_create(culv_device *device, const culv_multicast_desc *desc,
                                             culv_multicast **out);

/** Imports another process's multicast object and BORROWS its handle.
 * Errors: as culv_multicast_create(); INVALID (HANDLE_BAD, HANDLE_KIND), DRIVER (HANDLE_REFUSED).
 * Ownership: the handle stays yours; *out is yours, for culv_multicast_destroy().
 * Source: cuda.h, cuMemImportFromShareableHandle. */
CULV_EXTRA culv_result culv_multicast_import(culv_device *device,
                                             const culv_multicast_import_desc *desc,
                                             culv_multicast **out);

/** Destroys the object. Unmap the object first, because its allocation is destroyed with it. The
 * call unbinds all memory that is bound to the object. It does not wait for the GPU. */
CULV_EXTRA void culv_multicast_destroy(culv_multicast **multicast);

/** Returns the object as an allocation, or NULL for NULL. It is for culv_vmm_map(),
 * culv_vmm_export_dup() and culv_vmm_allocation_get_info(): there `size` is the number of bytes
 * that each device can bind, and `missing_devices` is the number of devices that are still to be
 * added. culv_vmm_map() answers INVALID (NOT_READY) while a device is missing.
 * culv_vmm_allocation_destroy() refuses it (OWNED).
 * Ownership: the object owns it. */
CULV_EXTRA culv_vmm_allocation *culv_multicast_allocation(const culv_multicast *multicast);

/** Adds a device to the team. It stays in the team as long as the object exists.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the device is already in the team, or the team is full;
 * DEVICE_MISMATCH: the device has another driver), UNSUPPORTED (VMM: this device has no multicast),
 * DRIVER (NOT_READY, DRIVER_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Source: cuda.h, cuMulticastAddDevice. */
CULV_EXTRA culv_result culv_multicast_add_device(culv_multicast *multicast, culv_device *device);

/** Tells Culvert that other processes have added `count` more devices, because Culvert cannot see
 * that. If they have not, the next call into the driver waits for them.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: fewer devices are missing). */
CULV_EXTRA culv_result culv_multicast_mark_devices_added(culv_multicast *multicast, uint32_t count);

/** Binds `size` bytes at `memory_offset` of an allocation to `offset` of the object, for the device
 * that has the memory. All three are multiples of the minimum granularity. Unbind the memory before
 * you destroy its allocation.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: devices are missing; VALUE: not multiples of the
 * granularity; RANGE; USAGE: a tile pool, host memory or a multicast object; DEVICE_MISMATCH: the
 * memory is on no device of the team; NOT_EXPORTABLE: the object can be exported, or was imported,
 * and the memory cannot be exported), BUSY (MAPPED: that device has bound memory there), DRIVER
 * (NOT_READY: the system software is not running; DRIVER_REFUSED: also if the system's
 * configuration is in an illegal state), ASYNC, OUT_OF_MEMORY.
 * Source: cuda.h, cuMulticastBindMem. */
CULV_EXTRA culv_result culv_multicast_bind(culv_multicast *multicast, uint64_t offset,
                                           culv_vmm_allocation *memory, uint64_t memory_offset,
                                           uint64_t size);

/** Binds `size` bytes at an address of memory on `device`, as culv_multicast_bind() does. The
 * memory is a mapping of cuMemCreate's memory, or cuMemAllocAsync returned it.
 * Errors: as culv_multicast_bind() (DEVICE_MISMATCH: also memory on another device). For all other
 * kinds of memory the driver decides.
 * Source: cuda.h, cuMulticastBindAddr. */
CULV_EXTRA culv_result culv_multicast_bind_address(culv_multicast *multicast, uint64_t offset,
                                                   culv_device *device, CUdeviceptr address,
                                                   uint64_t size);

/** Unbinds the memory that a device has bound at `offset`. `size` must be the size of the bind;
 * CUDA leaves other sizes undefined. The call does not wait for the GPU.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: that device has bound nothing of that size there),
 * DRIVER, ASYNC.
 * Source: cuda.h, cuMulticastUnbind. */
CULV_EXTRA culv_result culv_multicast_unbind(culv_multicast *multicast, uint64_t offset,
                                             culv_device *device, uint64_t size);

CULV_EXTERN_C_END

#endif
