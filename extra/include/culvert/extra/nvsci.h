/* SPDX-License-Identifier: MIT */
/* Culvert: NvSciBuf objects as CUDA memory, and NvSciSync objects as semaphores, on NVIDIA's
 * systems for vehicles and robots (DRIVE, Jetson).
 *
 * No header of NvSci is needed here: objects and fences are pointers, and you fill the attribute
 * lists. If CUDA uses a buffer, set NvSciBufGeneralAttrKey_GpuId in its list to
 * culv_device_caps::uuid, which are the same 16 bytes.
 *
 * It has not run with NvSci yet: it was tested with a library that imitates NvSci's calls. Only on
 * Linux. */
#ifndef CULV_EXTRA_NVSCI_H_
#define CULV_EXTRA_NVSCI_H_

#include "extra.h"

#include <culvert/device.h>

CULV_EXTERN_C_BEGIN

/** Opaque: an imported NvSciBufObj. */
typedef struct culv_nvsci_buffer culv_nvsci_buffer;
/** Opaque: an imported NvSciSyncObj. */
typedef struct culv_nvsci_sync culv_nvsci_sync;

/** An NvSciBufObj to import. */
typedef struct culv_nvsci_buffer_desc {
    size_t struct_size; /**< Set by culv_nvsci_buffer_desc_init(). */
    /** Required: the NvSciBufObj (a pointer). It must outlive the import. */
    const void *object;
    /** Required: size in bytes (NvSciBufRawBufferAttrKey_Size, or the image's size). */
    uint64_t size;
    /** Nonzero: CUDA may only read it. Culvert imports a duplicate with less permission
     * (NvSciBufObjDupWithReducePerm() of libnvscibuf, which is loaded for this). */
    culv_bool read_only;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_nvsci_buffer_desc;

CULV_INIT(culv_nvsci_buffer_desc)

/** Imports an NvSciBufObj.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0), UNSUPPORTED (HANDLE_TYPE: the
 * driver takes no NvSciBuf; LIBRARY: read_only is set, and libnvscibuf is missing or too old),
 * DRIVER (HANDLE_REFUSED; DRIVER_REFUSED: NvSci did not duplicate the object), OUT_OF_MEMORY,
 * ASYNC.
 * Ownership: the object stays yours. *out is yours, for culv_nvsci_buffer_destroy().
 * Source: CUDA guide 3.2.16.5.1; cuda.h, cuImportExternalMemory. */
CULV_EXTRA culv_result culv_nvsci_buffer_import(culv_device *device,
                                                const culv_nvsci_buffer_desc *desc,
                                                culv_nvsci_buffer **out);

/** Unmaps and destroys the import. The work that uses it should have finished. */
CULV_EXTRA void culv_nvsci_buffer_destroy(culv_nvsci_buffer **buffer);

/** Gets the address of a raw buffer. The first call maps the whole buffer.
 * Errors: INVALID (NULL_ARGUMENT; USAGE: the import is mapped as an array), DRIVER, OUT_OF_MEMORY,
 * ASYNC.
 * Ownership: the import owns the mapping. Threads: one at a time.
 * Source: cuda.h, cuExternalMemoryGetMappedBuffer. */
CULV_EXTRA culv_result culv_nvsci_buffer_get_pointer(culv_nvsci_buffer *buffer, CUdeviceptr *out);

/** The image in an NvSciBufObj to map as a CUDA array. */
typedef struct culv_nvsci_array_desc {
    size_t struct_size;   /**< Set by culv_nvsci_array_desc_init(). */
    uint64_t offset;      /**< Offset of the image or the plane in the object, in bytes. */
    uint64_t width;       /**< Required: width in elements. */
    uint64_t height;      /**< Height in elements. 0: the array has one dimension. */
    uint64_t depth;       /**< Depth, or number of layers if a flag asks for layers. */
    uint32_t cuda_format; /**< Required: a CUarray_format. */
    uint32_t channels;    /**< Required: 1, 2 or 4. */
    uint32_t flags;       /**< CUDA_ARRAY3D_... */
} culv_nvsci_array_desc;

CULV_INIT(culv_nvsci_array_desc)

/** Gets the array of an image. The first call maps it. The array has one level (cuda.h).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; USAGE: the import is mapped as a buffer; RANGE:
 * offset is outside the object), DRIVER, OUT_OF_MEMORY, ASYNC.
 * Ownership: the import owns the array. Threads: one at a time.
 * Source: cuda.h, cuExternalMemoryGetMappedMipmappedArray. */
CULV_EXTRA culv_result culv_nvsci_buffer_get_array(culv_nvsci_buffer *buffer,
                                                   const culv_nvsci_array_desc *desc, CUarray *out);

/** Bits: the uses of an NvSciSync object by a CUDA device. */
typedef enum culv_nvsci_role {
    CULV_NVSCI_SIGNALS = 1,
    CULV_NVSCI_WAITS = 2,
    CULV_NVSCI_ROLE_FORCE32 = 0x7fffffff
} culv_nvsci_role;

/** Fills an NvSciSyncAttrList with a device's needs: permission, primitive, GPU id. Use one list
 * for each role, and reconcile the lists.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: no role, or an unknown one), UNSUPPORTED (HANDLE_TYPE: the
 * driver knows no NvSciSync), DRIVER.
 * Ownership: the list stays yours.
 * Source: cuda.h, cuDeviceGetNvSciSyncAttributes. */
CULV_EXTRA culv_result culv_nvsci_get_sync_attributes(culv_device *device, void *attribute_list,
                                                      uint32_t roles);

/** Imports an NvSciSyncObj.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (HANDLE_TYPE: the driver takes no NvSciSync), DRIVER
 * (HANDLE_REFUSED), OUT_OF_MEMORY, ASYNC.
 * Ownership: the object stays yours and must outlive the import. *out is yours, for
 * culv_nvsci_sync_destroy().
 * Source: cuda.h, cuImportExternalSemaphore. */
CULV_EXTRA culv_result culv_nvsci_sync_import(culv_device *device, const void *object,
                                              culv_nvsci_sync **out);

/** Destroys the import. All signals and waits must be complete. */
CULV_EXTRA void culv_nvsci_sync_destroy(culv_nvsci_sync **sync);

/** Bits: flags of a signal and of a wait. */
typedef enum culv_nvsci_flags {
    /** The call makes no NvSciBuf memory coherent: the fence orders no such memory, or you make it
     * coherent yourself. This saves a flush or an invalidation of all imported NvSciBuf memory. */
    CULV_NVSCI_SKIP_MEMSYNC = 1,
    CULV_NVSCI_FLAGS_FORCE32 = 0x7fffffff
} culv_nvsci_flags;

/** Signals the object in a stream. The call writes the fence that others wait for.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: unknown flags), DRIVER, ASYNC.
 * Ownership: *fence is your NvSciSyncFence; clear it before the first use.
 * Threads: one at a time for a sync object.
 * Source: cuda.h, cuSignalExternalSemaphoresAsync. */
CULV_EXTRA culv_result culv_nvsci_sync_signal(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                              CUstream stream);

/** Makes a stream wait for a fence of the object.
 * Errors: as culv_nvsci_sync_signal().
 * Ownership: *fence stays yours. Keep it until the wait is done.
 * Threads: one at a time for a sync object.
 * Source: cuda.h, cuWaitExternalSemaphoresAsync. */
CULV_EXTRA culv_result culv_nvsci_sync_wait(culv_nvsci_sync *sync, void *fence, uint32_t flags,
                                            CUstream stream);

CULV_EXTERN_C_END

#endif
