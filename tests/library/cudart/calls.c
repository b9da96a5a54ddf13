/* SPDX-License-Identifier: MIT */
/* One row of calls.h, named by CALLS_LANGUAGE and CALLS_STREAM_0. calls.cpp and calls.cu include
 * this file. */
#include "calls.h"

#define JOIN_(a, b, c) a##b##_##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
#define TEXT_(a)       #a
#define TEXT(a)        TEXT_(a)

#define IS_legacy     0
#define IS_per_thread 1

const cudart_calls JOIN(cudart_, CALLS_LANGUAGE, CALLS_STREAM_0) = {
    TEXT(CALLS_LANGUAGE) "." TEXT(CALLS_STREAM_0),
    JOIN(I, S, CALLS_STREAM_0),
    culv_cudart_result,
    culv_cudart_stream_0,
    culv_cudart_stream,
    culv_cudart_device_open_by_ordinal,
    culv_cudart_device_open,
    culv_cudart_device_make_current,
    culv_cudart_buffer_pointer,
    culv_cudart_image_get_array,
    culv_cudart_image_get_surface,
    culv_cudart_semaphore_signal,
    culv_cudart_semaphore_wait,
    culv_cudart_semaphore_signal_batch,
    culv_cudart_semaphore_wait_batch,
};
