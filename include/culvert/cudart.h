/* SPDX-License-Identifier: MIT */
/* Culvert: adapts Culvert to the CUDA runtime API: cudaStream_t, cudaArray_t, cudaSurfaceObject_t,
 * void *.
 *
 * Everything here is inline. Culvert links nothing of CUDA, so a program that includes this header
 * links the CUDA runtime itself. docs/cuda-runtime.md has an example.
 *
 *   culv_cudart_device_make_current(device);
 *   culv_cudart_semaphore_wait(semaphore, 0, n);
 *   kernel<<<grid, block>>>(culv_cudart_buffer_pointer(buffer));
 *   culv_cudart_semaphore_signal(semaphore, 0, n + 1);
 *
 * Stream 0. The runtime decides at compile time which stream 0 is. It is a stream of each host
 * thread if nvcc gets --default-stream per-thread, or if CUDA_API_PER_THREAD_DEFAULT_STREAM is
 * defined before CUDA's headers. Otherwise it is the legacy stream. Culvert calls the driver API,
 * which cannot see how its caller was compiled. There NULL is always the legacy stream, which waits
 * for every blocking stream of every thread, and every blocking stream waits for it. So the
 * functions here replace 0 by cudaStreamPerThread or cudaStreamLegacy, whichever their caller is
 * compiled for. That stream belongs to the object's device, but a kernel goes to the current
 * device: culv_cudart_device_make_current() makes them the same.
 *
 * Signals and waits call only the driver, so cudaGetLastError() does not report their errors.
 * Source: CUDA guide 3.2.8.5.2, "Default Stream"; driver_types.h. */
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

/** Records CUDA's error code as the calling thread's last error. Internal to this header. The
 * runtime and the driver use the same error numbers.
 * Errors: returns the recorded result. */
CULV_INLINE culv_result culv_cudart_record_(culv_native_api api, int answer, const char *call)
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
    case cudaErrorDeviceUninitialized: /* no context, or one that is destroyed */
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

/** Records an error of this header itself. Internal to this header.
 * Errors: returns `result`. */
CULV_INLINE culv_result culv_cudart_fail_(culv_result result, culv_reason reason,
                                          const char *message)
{
    culv_error e = culv_error_init();
    e.result = result;
    e.reason = reason;
    snprintf(e.message, sizeof e.message, "%s", message);
    return culv_last_error_set(&e);
}

/** Converts a result of the runtime to a culv_result. If it is an error, it also becomes the
 * calling thread's last error, so that a program can report all errors in one way. `call` names the
 * function that returned it.
 * Errors: the runtime's result determines the error: OUT_OF_MEMORY, NO_DEVICE, UNSUPPORTED
 * (DRIVER_TOO_OLD), ASYNC or DRIVER.
 * Source: driver_types.h, cudaError. */
CULV_INLINE culv_result culv_cudart_result(cudaError_t answer, const char *call)
{
    if (answer == cudaSuccess) return CULV_OK;
    return culv_cudart_record_(CULV_NATIVE_CUDA_RUNTIME, (int)answer,
                               call != NULL ? call : "the CUDA runtime");
}

/** Returns the stream that 0 means in the caller's code: cudaStreamPerThread or cudaStreamLegacy.
 * Threads: any; the per-thread stream belongs to the calling thread.
 * Source: CUDA guide 3.2.8.5.2, "Default Stream". */
CULV_INLINE CUstream culv_cudart_stream_0(void)
{
    return CULV_CUDART_STREAM_0;
}

/** Converts a stream of the runtime to a CUstream. Use it for functions of Culvert that have no
 * counterpart here, for example as a last use:
 *
 *   CUstream last_use = culv_cudart_stream(0);
 *   culv_buffer_unmap(&buffer, &last_use);
 *
 * The handle stays the same; only 0 becomes culv_cudart_stream_0().
 * Ownership: the stream stays yours.
 * Source: cuda_runtime_api.h, "Interactions between CUstream and cudaStream_t". */
CULV_INLINE CUstream culv_cudart_stream(cudaStream_t stream)
{
    return stream != NULL ? stream : culv_cudart_stream_0();
}

/** Opens the device that has this ordinal in the runtime. desc may be NULL; desc->driver must not
 * be the software twin. Culvert works in the primary context, as the runtime does, unless
 * desc->context is set. The thread's current device does not change.
 * Errors: as culv_device_open_by_ordinal(); UNSUPPORTED (RUNTIME: desc->driver is CULV_DRIVER_SOFT;
 * DRIVER_TOO_OLD: the driver is too old for this runtime).
 * Ownership: *out is yours, for culv_device_close().
 * Source: cuda_runtime_api.h, "Primary Contexts". */
CULV_INLINE culv_result culv_cudart_device_open_by_ordinal(int ordinal,
                                                           const culv_device_desc *desc,
                                                           culv_device **out)
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

/** Opens the runtime's current device of this thread (cudaGetDevice) by
 * culv_cudart_device_open_by_ordinal(). If your program draws, open the device of its graphics API
 * instead, for example with culv_device_open_for_vk(), and then call
 * culv_cudart_device_make_current().
 * Errors: as culv_cudart_device_open_by_ordinal().
 * Ownership: *out is yours, for culv_device_close(). */
CULV_INLINE culv_result culv_cudart_device_open(const culv_device_desc *desc, culv_device **out)
{
    int ordinal = 0;
    /* Without a driver, opening device 0 gives a better error than cudaErrorInsufficientDriver. */
    if (cudaGetDevice(&ordinal) != cudaSuccess) ordinal = 0;
    return culv_cudart_device_open_by_ordinal(ordinal, desc, out);
}

/** Makes the device the runtime's current device on this thread. It calls cudaSetDevice() and then
 * makes the context that Culvert works in current, which matters if culv_device_desc::context is
 * not the primary context.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (RUNTIME: the software twin serves the device;
 * DRIVER_TOO_OLD: the driver is too old for this runtime), NO_DEVICE, DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: none; the runtime retains the primary context for itself, so you may close the device.
 * Threads: any; each thread has its own current device.
 * Source: cuda_runtime_api.h, "Initialization and Tear-Down", "Context Interoperability". */
CULV_INLINE culv_result culv_cudart_device_make_current(const culv_device *device)
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
            "the twin's serve the driver API, whose functions culvert/cuda_api.h has");
    result = culv_cudart_result(cudaSetDevice(caps.ordinal), "cudaSetDevice");
    if (result != CULV_OK) return result;
    void (*found)(void) = culv_device_cuda_proc(device, "cuCtxSetCurrent", 4000);
    memcpy(&set_current, &found, sizeof found);
    CUresult answer = set_current(culv_device_context(device));
    return answer == CUDA_SUCCESS
               ? CULV_OK
               : culv_cudart_record_(CULV_NATIVE_CUDA, (int)answer, "cuCtxSetCurrent");
}

/** Returns culv_buffer_pointer() as a void *, for kernels and copies, or NULL for NULL. Never pass
 * it to cudaFree().
 * Ownership: Culvert owns it, until the buffer is unmapped. */
CULV_INLINE void *culv_cudart_buffer_pointer(const culv_buffer *buffer)
{
    return (void *)(uintptr_t)culv_buffer_pointer(buffer);
}

/** Gets culv_image_get_array() as a cudaArray_t, for example for cudaMemcpy2DToArrayAsync(). Never
 * pass it to cudaFreeArray().
 * Errors: as culv_image_get_array().
 * Ownership: Culvert owns it, until the image is unmapped.
 * Source: cuda_runtime_api.h, "Interactions between CUarray and cudaArray_t". */
CULV_INLINE culv_result culv_cudart_image_get_array(culv_image *image, uint32_t level,
                                                    uint32_t plane, cudaArray_t *out)
{
    CUarray array = NULL;
    culv_result result = culv_image_get_array(image, level, plane, out != NULL ? &array : NULL);
    if (result == CULV_OK) *out = (cudaArray_t)array;
    return result;
}

/** Gets culv_image_get_surface() as the type that kernels declare. Never pass it to
 * cudaDestroySurfaceObject().
 * Errors: as culv_image_get_surface().
 * Ownership: Culvert owns it, until the image is unmapped.
 * Source: cuda_runtime_api.h, "Interactions between CUsurfObject and cudaSurfaceObject_t". */
CULV_INLINE culv_result culv_cudart_image_get_surface(culv_image *image, uint32_t level,
                                                      uint32_t plane, cudaSurfaceObject_t *out)
{
    CUsurfObject surface = 0;
    culv_result result = culv_image_get_surface(image, level, plane, out != NULL ? &surface : NULL);
    if (result == CULV_OK) *out = (cudaSurfaceObject_t)surface;
    return result;
}

/** Gets culv_image_get_texture() as the type that kernels declare. Never pass it to
 * cudaDestroyTextureObject().
 * Errors: as culv_image_get_texture().
 * Ownership: Culvert owns it, until the image is unmapped.
 * Source: cuda_runtime_api.h, "Interactions between CUtexObject and cudaTextureObject_t". */
CULV_INLINE culv_result culv_cudart_image_get_texture(culv_image *image,
                                                      const culv_texture_desc *desc,
                                                      cudaTextureObject_t *out)
{
    CUtexObject texture = 0;
    culv_result result = culv_image_get_texture(image, desc, out != NULL ? &texture : NULL);
    if (result == CULV_OK) *out = (cudaTextureObject_t)texture;
    return result;
}

/** Calls culv_semaphore_signal() with a stream of the runtime.
 * Errors: as culv_semaphore_signal(). Threads: any, one at a time for each semaphore. */
CULV_INLINE culv_result culv_cudart_semaphore_signal(culv_semaphore *semaphore, cudaStream_t stream,
                                                     uint64_t value)
{
    return culv_semaphore_signal(semaphore, culv_cudart_stream(stream), value);
}

/** Calls culv_semaphore_wait() with a stream of the runtime.
 * Errors: as culv_semaphore_wait(). Threads: any, one at a time for each semaphore. */
CULV_INLINE culv_result culv_cudart_semaphore_wait(culv_semaphore *semaphore, cudaStream_t stream,
                                                   uint64_t value)
{
    return culv_semaphore_wait(semaphore, culv_cudart_stream(stream), value);
}

/** Calls culv_semaphore_signal_batch() with a stream of the runtime.
 * Errors: as culv_semaphore_signal_batch().
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for each semaphore. */
CULV_INLINE culv_result culv_cudart_semaphore_signal_batch(const culv_semaphore_point *points,
                                                           uint32_t count, cudaStream_t stream)
{
    return culv_semaphore_signal_batch(points, count, culv_cudart_stream(stream));
}

/** Calls culv_semaphore_wait_batch() with a stream of the runtime.
 * Errors: as culv_semaphore_wait_batch().
 * Ownership: none; `points` is read during the call.
 * Threads: any, one at a time for each semaphore. */
CULV_INLINE culv_result culv_cudart_semaphore_wait_batch(const culv_semaphore_point *points,
                                                         uint32_t count, cudaStream_t stream)
{
    return culv_semaphore_wait_batch(points, count, culv_cudart_stream(stream));
}

CULV_EXTERN_C_END

#endif
