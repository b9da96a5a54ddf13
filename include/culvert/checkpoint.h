/* SPDX-License-Identifier: MIT */
/* Culvert: takes a program through a checkpoint of CUDA, by which a cluster preempts a job
 * (cuCheckpointProcessLock(), ...Checkpoint(), ...Restore(), ...Unlock(), and the tool
 * cuda-checkpoint).
 *
 * The driver does not restore a process that has imported anything of a graphics API: it takes the
 * checkpoint, refuses the restore, and the process's CUDA is lost. Memory that CUDA exported comes
 * back as other memory, without an error. So give up before what is shared, and make it again
 * after:
 *
 *   culv_device_suspend(device, NULL);      before somebody checkpoints the process
 *   ...                                     lock, checkpoint, restore, unlock
 *   culv_device_resume(device, &desc);      the same objects go on
 *
 * docs/checkpoints.md has a program, what is refused, and what was measured. */
#ifndef CULV_CHECKPOINT_H_
#define CULV_CHECKPOINT_H_

#include "device.h"

CULV_EXTERN_C_BEGIN

/** Settings for suspending a device. */
typedef struct culv_suspend_desc {
    size_t struct_size; /**< Set by culv_suspend_desc_init(). */
    /** Nonzero: your own VkDeviceMemory and VkSemaphore objects that you imported
     * (culv_vk_memory_import(), culv_vk_semaphore_import()) are still there, and stay until the
     * device is resumed, which asks Vulkan for their handles again. Default: such imports are
     * refused, because you may have freed them. What culv_vk_memory_import_shared() imported is
     * there by the rule of that call. */
    culv_bool imports_live;
} culv_suspend_desc;

CULV_INIT(culv_suspend_desc)

/** A buffer that has another address than before. */
typedef struct culv_moved_buffer {
    size_t struct_size; /**< Set by Culvert. */
    const char *label;  /**< The buffer's; "" without one. Valid during the call. */
    CUdeviceptr before; /**< Its address before culv_device_suspend(). */
    CUdeviceptr now;    /**< What culv_buffer_pointer() returns from now on. */
    uint64_t size;      /**< Its size in bytes. */
} culv_moved_buffer;

CULV_INIT(culv_moved_buffer)

/** Settings for resuming a device. */
typedef struct culv_resume_desc {
    size_t struct_size; /**< Set by culv_resume_desc_init(). */
    /** Called for each buffer that has another address now, before culv_device_resume() returns. It
     * must not call Culvert. Default: nobody is told. */
    void (*moved)(void *context, const culv_moved_buffer *buffer);
    void *context; /**< The first argument of `moved`. */
} culv_resume_desc;

CULV_INIT(culv_resume_desc)

/** Gives up, at the CUDA driver, everything that the device has imported: memory, buffers, images
 * and semaphores of Vulkan, also those of rings. Your objects stay. Until culv_device_resume() you
 * may destroy them, but every other call on them or on the device is refused (NOT_READY). Vulkan's
 * halves are not touched: Vulkan may go on to use them.
 *
 * The call waits for all CUDA work of the context. It refuses before it gives up anything if CUDA
 * has been told to wait for a value of a timeline that Vulkan has not reached, or if a stream that
 * the legacy stream waits for is being captured.
 *
 * It also refuses, by name, what it could not make again: imports by a handle
 * (culv_memory_import() and its like, other processes' objects); your own Vulkan objects
 * without `imports_live`; what was made for OpenGL or shared with another GPU, and binary
 * semaphores; registered objects; tensors of buffers that somebody still holds; and VMM allocations
 * and memory pools that were exported or imported, also as views of vectors and in spaces. Destroy
 * those first, and make them again after the resume.
 *
 * CUDA graphs that signal or wait for a semaphore, or that use an image, keep handles that are
 * gone. Make them again too. desc may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; NOT_READY: the device is suspended already, or work
 * is not finished; CAPTURE; OPT_IN: see `imports_live`; NOT_EXPORTABLE, DEVICE_MISMATCH, MAPPED,
 * USAGE: as above), UNSUPPORTED (HANDLE_TYPE: on Windows, where CUDA has no checkpoints), DRIVER,
 * ASYNC, OUT_OF_MEMORY. After an error nothing has been given up, unless the message asks for
 * culv_device_resume().
 * Threads: any, while no other call on the device or its objects is made.
 * Source: measured, docs/checkpoints.md. */
CULV_EXPORT culv_result culv_device_suspend(culv_device *device, const culv_suspend_desc *desc);

/** Makes everything again that culv_device_suspend() gave up. Timelines go on with their values. A
 * buffer of 2 MiB or more keeps its address if the driver allows that; `moved` tells of the others.
 * An image's arrays, surfaces and textures are always new ones: ask its getters again. desc may be
 * NULL.
 *
 * After an error the device is still suspended. What was made again stays, and the next call makes
 * the rest.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; NOT_READY: the device is not suspended), DRIVER (the
 * restore may have failed, after which CUDA is lost for the process), ASYNC, OUT_OF_MEMORY.
 * Threads: any, while no other call on the device or its objects is made.
 * Source: measured, docs/checkpoints.md. */
CULV_EXPORT culv_result culv_device_resume(culv_device *device, const culv_resume_desc *desc);

CULV_EXTERN_C_END

#endif
