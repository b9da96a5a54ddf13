/* SPDX-License-Identifier: MIT */
/* culvert/cudart.h as one translation unit sees it: all of its functions, compiled in each language
 * and for each meaning of stream 0, and kernels by nvcc. */
#ifndef CULVERT_TESTS_CUDART_CALLS_H_
#define CULVERT_TESTS_CUDART_CALLS_H_

#include <culvert/cudart.h>

CULV_EXTERN_C_BEGIN

typedef struct cudart_calls {
    const char *name;
    int per_thread; /* what the build asked for */
    culv_result (*result)(cudaError_t answer, const char *call);
    CUstream (*stream_0)(void);
    CUstream (*stream)(cudaStream_t stream);
    culv_result (*device_open_by_ordinal)(int ordinal, const culv_device_desc *desc,
                                          culv_device **out);
    culv_result (*device_open)(const culv_device_desc *desc, culv_device **out);
    culv_result (*device_make_current)(const culv_device *device);
    void *(*buffer_pointer)(const culv_buffer *buffer);
    culv_result (*image_array)(culv_image *image, uint32_t level, uint32_t plane, cudaArray_t *out);
    culv_result (*image_surface)(culv_image *image, uint32_t level, uint32_t plane,
                                 cudaSurfaceObject_t *out);
    culv_result (*semaphore_signal)(culv_semaphore *semaphore, cudaStream_t stream, uint64_t value);
    culv_result (*semaphore_wait)(culv_semaphore *semaphore, cudaStream_t stream, uint64_t value);
    culv_result (*semaphore_signal_batch)(const culv_semaphore_point *points, uint32_t count,
                                          cudaStream_t stream);
    culv_result (*semaphore_wait_batch)(const culv_semaphore_point *points, uint32_t count,
                                        cudaStream_t stream);
} cudart_calls;

/* Launches by <<<>>>; `stream` may be 0. */
typedef struct cudart_launches {
    const cudart_calls *calls;
    /* words[i] = i * 2654435761 + seed */
    cudaError_t (*fill)(uint32_t *words, uint32_t count, uint32_t seed, cudaStream_t stream);
    /* words[i] = words[i] * 3 + seed */
    cudaError_t (*mix)(uint32_t *words, uint32_t count, uint32_t seed, cudaStream_t stream);
    /* texel (x, y) = (x + seed, y, x ^ y, 255), modulo 256 */
    cudaError_t (*rgba8)(cudaSurfaceObject_t surface, uint32_t width, uint32_t height,
                         uint32_t seed, cudaStream_t stream);
} cudart_launches;

extern const cudart_calls cudart_c11_legacy, cudart_c11_per_thread;
extern const cudart_calls cudart_cxx11_legacy, cudart_cxx11_per_thread;
extern const cudart_calls cudart_cxx17_legacy, cudart_cxx17_per_thread;
extern const cudart_calls cudart_nvcc_legacy, cudart_nvcc_per_thread;
extern const cudart_launches cudart_launches_legacy, cudart_launches_per_thread;

CULV_EXTERN_C_END

#endif
