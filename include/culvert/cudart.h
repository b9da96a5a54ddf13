/* SPDX-License-Identifier: MIT */
/* Culvert: for code that speaks CUDA's runtime API: cudaStream_t, cudaArray_t, cudaSurfaceObject_t,
 * void *. All of it is inline. Culvert links nothing of CUDA: a program that includes this header
 * links the CUDA runtime itself. docs/cuda-runtime.md has an example.
 *
 * Stream 0. Which stream it is, the runtime settles when code is compiled: one for each host thread
 * where nvcc was given --default-stream per-thread, or CUDA_API_PER_THREAD_DEFAULT_STREAM was
 * defined before CUDA's headers; else the legacy stream. The driver API, which Culvert calls,
 * cannot see how its caller was compiled: NULL is the legacy stream there, which waits for every
 * blocking stream of every thread, and they for it. So the functions here replace 0 by
 * cudaStreamPerThread or cudaStreamLegacy, as their caller is compiled. It is a stream of the
 * object's device then, while a kernel goes to the device that is current:
 * culv_cudart_device_make_current() makes that the same one.
 * Source: CUDA guide 3.2.8.5.2, "Default Stream"; driver_types.h.
 *
 * Signals and waits call the driver alone, so cudaGetLastError() does not tell of them. */
#ifndef CULV_CUDART_H_
#define CULV_CUDART_H_

#include "culvert.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

#if defined(__CUDART_API_PER_THREAD_DEFAULT_STREAM)
#    define CULV_CUDART_STREAM_0 cudaStreamPerThread
#elif defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#    error "CUDA_API_PER_THREAD_DEFAULT_STREAM came too late: define it before CUDA's headers"
#else
#    define CULV_CUDART_STREAM_0 cudaStreamLegacy
#endif

CULV_EXTERN_C_BEGIN

/** Records an answer of CUDA as the calling thread's last error; a part of this header. The runtime
 * and the driver share their numbers.
 * Errors: returns the class.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_result culv_cudart_record_(culv_native_api api, int answer, const char *call)
{
    culv_error e = culv_error_init();
    const char *hint = "";
    e.result = CULV_ERROR_DRIVER;
    e.reason = CULV_REASON_DRIVER_REFUSED;
    e.native_api = api;
    e.native_code = answer;
    switch (answer) {
    case cudaErrorMemoryAllocation:
        e.result = CULV_ERROR_OUT_OF_MEMORY;
        e.reason = CULV_REASON_DEVICE_MEMORY;
        break;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
        e.result = CULV_ERROR_NO_DEVICE;
        e.reason = CULV_REASON_DEVICE_UNKNOWN;
        break;
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
        e.result = CULV_ERROR_UNSUPPORTED;
        e.reason = CULV_REASON_DRIVER_TOO_OLD;
        hint =
            ". The NVIDIA driver is missing, or older than the CUDA runtime of this program allows";
        break;
    case cudaErrorCudartUnloading:
    case cudaErrorDeviceUninitialized: /* no context, or one that is gone */
    case cudaErrorContextIsDestroyed: e.reason = CULV_REASON_DEVICE_LOST; break;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case 226: /* cudaErrorContained, CUDA 12.8 */
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case 721: /* cudaErrorTensorMemoryLeak, CUDA 12.9 */
    case cudaErrorMpsClientTerminated:
    case 911: /* cudaErrorExternalDevice, CUDA 12.6 */
        e.result = CULV_ERROR_ASYNC;
        e.reason = CULV_REASON_EARLIER_FAILURE;
        hint = ". An earlier asynchronous failure surfaced here: this call is not its cause";
        break;
    default: break;
    }
    snprintf(e.native_call, sizeof e.native_call, "%s", call);
    snprintf(e.message, sizeof e.message, "%s answered %s (%d, %s)%s", call,
             cudaGetErrorName((cudaError_t)answer), answer, cudaGetErrorString((cudaError_t)answer),
             hint);
    return culv_last_error_set(&e);
}

/** Records an error of this header's own; a part of it.
 * Errors: returns the class.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_result culv_cudart_fail_(culv_result result, culv_reason reason,
                                            const char *message)
{
    culv_error e = culv_error_init();
    e.result = result;
    e.reason = reason;
    snprintf(e.message, sizeof e.message, "%s", message);
    return culv_last_error_set(&e);
}

/** An answer of the runtime as a culv_result. Unless it is cudaSuccess, it becomes the calling
 * thread's last error besides, so that a program has one way to report errors. `call` names the
 * function that answered.
 * Errors: by the answer OUT_OF_MEMORY, NO_DEVICE, UNSUPPORTED (DRIVER_TOO_OLD), ASYNC or DRIVER.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: driver_types.h, cudaError. */
static inline culv_result culv_cudart_result(cudaError_t answer, const char *call)
{
    if (answer == cudaSuccess) return CULV_OK;
    return culv_cudart_record_(CULV_NATIVE_CUDA_RUNTIME, (int)answer,
                               call != NULL ? call : "the CUDA runtime");
}

/** The stream that 0 means where this is compiled: cudaStreamPerThread or cudaStreamLegacy.
 * Errors: none.
 * Ownership: none.
 * Threads: any; the per-thread stream is the calling thread's.
 * Since: 0.1
 * Source: CUDA guide 3.2.8.5.2, "Default Stream". */
static inline CUstream culv_cudart_stream_0(void)
{
    return CULV_CUDART_STREAM_0;
}

/** A stream of the runtime for those functions of Culvert that take a CUstream and have no
 * counterpart here (culv_vk_buffer_destroy_after() and its like): the same handle, but for 0, which
 * becomes culv_cudart_stream_0().
 * Errors: none.
 * Ownership: stream stays yours.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda_runtime_api.h, "Interactions between CUstream and cudaStream_t". */
static inline CUstream culv_cudart_stream(cudaStream_t stream)
{
    return stream != NULL ? stream : culv_cudart_stream_0();
}

/** Opens the device to which the runtime gives this ordinal. desc may be NULL; its driver must not
 * be the twin. Without desc->context, Culvert works in the primary context, as the runtime does.
 * The thread's current device stays what it was.
 * Errors: as culv_device_open_by_ordinal(); UNSUPPORTED besides (RUNTIME: desc->driver is
 * CULV_DRIVER_SOFT; DRIVER_TOO_OLD: for this runtime).
 * Ownership: *out is yours; give it to culv_device_close().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda_runtime_api.h, "Primary Contexts". */
static inline culv_result
culv_cudart_device_open_by_ordinal(int ordinal, const culv_device_desc *desc, culv_device **out)
{
    culv_device_desc d = desc != NULL ? *desc : culv_device_desc_init();
    culv_device *device = NULL;
    int current = 0;
    if (d.driver == CULV_DRIVER_SOFT)
        return culv_cudart_fail_(
            CULV_ERROR_UNSUPPORTED, CULV_REASON_RUNTIME,
            "culv_device_desc.driver is CULV_DRIVER_SOFT, but the CUDA runtime knows devices of NVIDIA's driver only; "
            "for the software twin open the device by culv_device_open_by_ordinal() and call the driver API");
    if (d.driver == CULV_DRIVER_AUTO) d.driver = CULV_DRIVER_NVIDIA;
    culv_result result = culv_device_open_by_ordinal(ordinal, &d, out != NULL ? &device : NULL);
    if (result == CULV_OK) result = culv_cudart_result(cudaGetDevice(&current), "cudaGetDevice");
    if (result != CULV_OK) {
        culv_device_close(&device);
        return result;
    }
    *out = device;
    return CULV_OK;
}

/** Opens the device that the runtime uses on this thread (cudaGetDevice), as
 * culv_cudart_device_open_by_ordinal() does. A program that draws should rather open the device of
 * its graphics API, by culv_device_open_for_vulkan(), and make it the runtime's:
 * culv_cudart_device_make_current().
 * Errors: as culv_cudart_device_open_by_ordinal().
 * Ownership: *out is yours; give it to culv_device_close().
 * Threads: any.
 * Since: 0.1 */
static inline culv_result culv_cudart_device_open(const culv_device_desc *desc, culv_device **out)
{
    int ordinal = 0;
    /* Where there is no driver, opening device 0 tells so better than
     * cudaErrorInsufficientDriver. */
    if (cudaGetDevice(&ordinal) != cudaSuccess) ordinal = 0;
    return culv_cudart_device_open_by_ordinal(ordinal, desc, out);
}

/** Makes the device the runtime's on this thread: cudaSetDevice(), and then the context that
 * Culvert works in becomes current, should culv_device_desc::context have named another one than
 * the primary.
 * Errors: INVALID (NULL_ARGUMENT); UNSUPPORTED (RUNTIME: the software twin serves the device;
 * DRIVER_TOO_OLD: for this runtime); NO_DEVICE; DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: none; the runtime retains the primary context for itself, so the device may be closed.
 * Threads: any, each for itself.
 * Since: 0.1
 * Source: cuda_runtime_api.h, "Initialization and Tear-Down", "Context Interoperability". */
static inline culv_result culv_cudart_device_make_current(const culv_device *device)
{
    CUresult(CUDAAPI * set_current)(CUcontext) = NULL;
    if (device == NULL)
        return culv_cudart_fail_(CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                                 "culv_cudart_device_make_current: device is NULL");
    culv_device_caps caps = culv_device_caps_init();
    culv_result result = culv_device_get_caps(device, &caps);
    if (result != CULV_OK) return result;
    if (caps.is_software)
        return culv_cudart_fail_(
            CULV_ERROR_UNSUPPORTED, CULV_REASON_RUNTIME,
            "culv_cudart_device_make_current: the software twin serves this device, but the CUDA runtime knows devices of NVIDIA's driver only; "
            "the twin's serve the driver API, whose functions culv_device_cuda_proc() gives");
    result = culv_cudart_result(cudaSetDevice(caps.ordinal), "cudaSetDevice");
    if (result != CULV_OK) return result;
    void (*found)(void) = culv_device_cuda_proc(device, "cuCtxSetCurrent", 4000);
    memcpy(&set_current, &found, sizeof found);
    CUresult answer = set_current(culv_device_context(device));
    return answer == CUDA_SUCCESS
               ? CULV_OK
               : culv_cudart_record_(CULV_NATIVE_CUDA, (int)answer, "cuCtxSetCurrent");
}

/** culv_buffer_pointer() as the runtime has it; NULL for NULL. For kernels and copies, never for
 * cudaFree().
 * Errors: none.
 * Ownership: Culvert's, valid until the buffer is given up.
 * Threads: any.
 * Since: 0.1 */
static inline void *culv_cudart_buffer_pointer(const culv_buffer *buffer)
{
    return (void *)(uintptr_t)culv_buffer_pointer(buffer);
}

/** culv_buffer_unmap_after() on a stream of the runtime.
 * Errors: none.
 * Ownership: *buffer is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
static inline void culv_cudart_buffer_unmap_after(culv_buffer **buffer, cudaStream_t last_use)
{
    culv_buffer_unmap_after(buffer, culv_cudart_stream(last_use));
}

/** culv_image_mipmapped_array() as the runtime has it; NULL for NULL. Never
 * cudaFreeMipmappedArray() it.
 * Errors: none.
 * Ownership: Culvert's, valid until the image is given up.
 * Threads: any.
 * Since: 0.1 */
static inline cudaMipmappedArray_t culv_cudart_image_mipmapped_array(const culv_image *image)
{
    return (cudaMipmappedArray_t)culv_image_mipmapped_array(image);
}

/** culv_image_get_array() as the runtime has it, for cudaMemcpy2DToArrayAsync() say. Never
 * cudaFreeArray() it.
 * Errors: as culv_image_get_array().
 * Ownership: Culvert's, valid until the image is given up.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda_runtime_api.h, "Interactions between CUarray and cudaArray_t". */
static inline culv_result culv_cudart_image_get_array(culv_image *image, uint32_t level,
                                                      cudaArray_t *out)
{
    CUarray array = NULL;
    culv_result result = culv_image_get_array(image, level, out != NULL ? &array : NULL);
    if (result == CULV_OK) *out = (cudaArray_t)array;
    return result;
}

/** culv_image_get_surface() as the type that kernels declare. Never cudaDestroySurfaceObject() it.
 * Errors: as culv_image_get_surface().
 * Ownership: Culvert's, valid until the image is given up.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda_runtime_api.h, "Interactions between CUsurfObject and cudaSurfaceObject_t". */
static inline culv_result culv_cudart_image_get_surface(culv_image *image, uint32_t level,
                                                        cudaSurfaceObject_t *out)
{
    CUsurfObject surface = 0;
    culv_result result = culv_image_get_surface(image, level, out != NULL ? &surface : NULL);
    if (result == CULV_OK) *out = (cudaSurfaceObject_t)surface;
    return result;
}

/** culv_image_get_texture() as the type that kernels declare. Never cudaDestroyTextureObject() it.
 * Errors: as culv_image_get_texture().
 * Ownership: Culvert's, valid until the image is given up.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda_runtime_api.h, "Interactions between CUtexObject and cudaTextureObject_t". */
static inline culv_result culv_cudart_image_get_texture(culv_image *image,
                                                        const culv_texture_desc *desc,
                                                        cudaTextureObject_t *out)
{
    CUtexObject texture = 0;
    culv_result result = culv_image_get_texture(image, desc, out != NULL ? &texture : NULL);
    if (result == CULV_OK) *out = (cudaTextureObject_t)texture;
    return result;
}

/** culv_image_unmap_after() on a stream of the runtime.
 * Errors: none.
 * Ownership: *image is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
static inline void culv_cudart_image_unmap_after(culv_image **image, cudaStream_t last_use)
{
    culv_image_unmap_after(image, culv_cudart_stream(last_use));
}

/** culv_semaphore_signal() on a stream of the runtime.
 * Errors: as culv_semaphore_signal().
 * Ownership: none.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
static inline culv_result culv_cudart_semaphore_signal(culv_semaphore *semaphore,
                                                       cudaStream_t stream, uint64_t value)
{
    return culv_semaphore_signal(semaphore, culv_cudart_stream(stream), value);
}

/** culv_semaphore_wait() on a stream of the runtime.
 * Errors: as culv_semaphore_wait().
 * Ownership: none.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
static inline culv_result culv_cudart_semaphore_wait(culv_semaphore *semaphore, cudaStream_t stream,
                                                     uint64_t value)
{
    return culv_semaphore_wait(semaphore, culv_cudart_stream(stream), value);
}

/** culv_semaphore_signal_batch() on a stream of the runtime.
 * Errors: as culv_semaphore_signal_batch().
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
static inline culv_result culv_cudart_semaphore_signal_batch(const culv_semaphore_point *points,
                                                             uint32_t count, cudaStream_t stream)
{
    return culv_semaphore_signal_batch(points, count, culv_cudart_stream(stream));
}

/** culv_semaphore_wait_batch() on a stream of the runtime.
 * Errors: as culv_semaphore_wait_batch().
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for one semaphore.
 * Since: 0.1 */
static inline culv_result culv_cudart_semaphore_wait_batch(const culv_semaphore_point *points,
                                                           uint32_t count, cudaStream_t stream)
{
    return culv_semaphore_wait_batch(points, count, culv_cudart_stream(stream));
}

/** culv_semaphore_destroy_after() on a stream of the runtime.
 * Errors: none.
 * Ownership: *semaphore is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
static inline void culv_cudart_semaphore_destroy_after(culv_semaphore **semaphore,
                                                       cudaStream_t last_use)
{
    culv_semaphore_destroy_after(semaphore, culv_cudart_stream(last_use));
}

CULV_EXTERN_C_END

#endif
