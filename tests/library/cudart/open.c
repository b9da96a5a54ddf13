/* SPDX-License-Identifier: MIT */
/* Opening devices, the runtime's answers as results, and who is refused. */
#define TEST_GROUP "open."
#include "world.h"

#include <dlfcn.h>

TEST(results, .title = "results")
{
    static const struct {
        cudaError_t answer;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {cudaErrorInvalidValue, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED},
        {cudaErrorMemoryAllocation, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY},
        {cudaErrorCudartUnloading, CULV_ERROR_DRIVER, CULV_REASON_DEVICE_LOST},
        {cudaErrorInsufficientDriver, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD},
        {cudaErrorCallRequiresNewerDriver, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD},
        {cudaErrorNoDevice, CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN},
        {cudaErrorInvalidDevice, CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN},
        {cudaErrorDeviceUninitialized, CULV_ERROR_DRIVER, CULV_REASON_DEVICE_LOST},
        {cudaErrorECCUncorrectable, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorContained, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorInvalidResourceHandle, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED},
        {cudaErrorIllegalAddress, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorLaunchTimeout, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorContextIsDestroyed, CULV_ERROR_DRIVER, CULV_REASON_DEVICE_LOST},
        {cudaErrorAssert, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorLaunchFailure, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorMpsClientTerminated, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorExternalDevice, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
        {cudaErrorUnknown, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED},
    };
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            culv_error e = culv_error_init();
            REFUSED(calls->result(rows[r].answer, "cudaSomething"), rows[r].result, rows[r].reason);
            culv_last_error(&e);
            REQUIRE_EQ(e.native_api, CULV_NATIVE_CUDA_RUNTIME);
            REQUIRE_EQ(e.native_code, rows[r].answer);
            REQUIRE_EQ_STR(e.native_call, "cudaSomething");
            REQUIRE(strstr(e.message, cudaGetErrorName(rows[r].answer)) != NULL);
        }
        REQUIRE_EQ(calls->result(cudaSuccess, "cudaSomething"), CULV_OK);
        REFUSED(calls->result(cudaErrorUnknown, NULL), CULV_ERROR_DRIVER,
                CULV_REASON_DRIVER_REFUSED);
    }
}

/* The two APIs share their numbers, or the context's calls would be told wrong. */
TEST(numbers, .title = "numbers")
{
    REQUIRE_EQ(cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_EQ(cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE);
    REQUIRE_EQ(cudaErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
    REQUIRE_EQ(cudaErrorCudartUnloading, CUDA_ERROR_DEINITIALIZED);
    REQUIRE_EQ(cudaErrorDeviceUninitialized, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_EQ(cudaErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE_EQ(cudaErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_EQ(cudaErrorLaunchFailure, CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE_EQ(cudaErrorContained, CUDA_ERROR_CONTAINED);
    REQUIRE_EQ(cudaErrorMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED);
    REQUIRE_EQ(cudaErrorExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE);
}

TEST(nothing, .title = "null")
{
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        cudaArray_t array = POISON(struct cudaArray);
        cudaSurfaceObject_t surface = 0x5a5a;
        const culv_semaphore_point point = {NULL, 1};
        REFUSED(calls->device_make_current(NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->device_open(NULL, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->device_open_by_ordinal(0, NULL, NULL), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REQUIRE(calls->buffer_pointer(NULL) == NULL);
        REFUSED(calls->image_array(NULL, 0, 0, &array), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->image_surface(NULL, 0, 0, &surface), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REQUIRE(array == POISON(struct cudaArray) && surface == 0x5a5a);
        REFUSED(calls->semaphore_signal(NULL, 0, 1), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->semaphore_wait(NULL, 0, 1), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->semaphore_signal_batch(&point, 1, 0), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REFUSED(calls->semaphore_wait_batch(NULL, 1, 0), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
        REQUIRE_EQ(calls->semaphore_signal_batch(NULL, 0, 0), CULV_OK);
    }
}

/* Asking for the twin is refused before anything is opened, whatever drivers there are. */
TEST(twin_asked_for, .own = true)
{
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_SOFT;
    for (int i = 0; i < CALLS_COUNT; i++) {
        culv_device *device = POISON(culv_device);
        REFUSED(all_calls[i]->device_open(&d, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_RUNTIME);
        REFUSED(all_calls[i]->device_open_by_ordinal(0, &d, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_RUNTIME);
        REQUIRE(strstr(culv_last_error_message(), "CULV_DRIVER_SOFT") != NULL);
        REQUIRE(device == POISON(culv_device));
    }
}

/* A device of the twin's, opened as a driver-API program does, does not become the runtime's. */
TEST(twin_is_refused, .own = true)
{
    const raw_cuda *cu = use_driver();
    if (!cu->software) SKIP("the driver under test is NVIDIA's");
    culv_device_desc d = culv_device_desc_init();
    culv_device *device = NULL;
    d.driver = CULV_DRIVER_SOFT;
    OK(culv_device_open_by_ordinal(0, &d, &device));
    CUcontext before = POISON(struct CUctx_st), after = NULL;
    CU_OK(cu->CtxGetCurrent(&before));
    for (int i = 0; i < CALLS_COUNT; i++)
        REFUSED(all_calls[i]->device_make_current(device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_RUNTIME);
    REQUIRE(strstr(culv_last_error_message(), "software twin") != NULL);
    CU_OK(cu->CtxGetCurrent(&after));
    REQUIRE(before == after);
    culv_device_close(&device);
    raw_cuda_require_empty(cu);
}

/* Allowing the twin does not lead the runtime's functions to it: they say that there is no
 * driver. */
TEST(no_driver, .own = true)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) SKIP("this machine has libcuda.so.1");
    (void)use_driver();
    for (int i = 0; i < CALLS_COUNT; i++) {
        culv_device *device = POISON(culv_device);
        REFUSED(all_calls[i]->device_open(NULL, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_MISSING);
        REFUSED(all_calls[i]->device_open_by_ordinal(7, NULL, &device), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DRIVER_MISSING);
        REQUIRE(device == POISON(culv_device));
    }
}

/* A driver that Culvert can work with and the runtime cannot. The twin under the name of NVIDIA's
 * is such. */
TEST(driver_for_culvert_alone, .own = true)
{
    char path[TEST_PATH_MAX];
    const char *searched = getenv("LD_LIBRARY_PATH");
    test_path(path, "lib/pose");
    if (searched == NULL || strncmp(searched, path, strlen(path)) != 0) {
        char joined[2 * TEST_PATH_MAX];
        snprintf(joined, sizeof joined, "%s:%s", path, searched != NULL ? searched : "");
        REQUIRE(setenv("LD_LIBRARY_PATH", joined, 1) == 0);
        int status = test_run_child(test_case_name());
        if (status == TEST_SKIPPED)
            SKIP("the twin that poses as NVIDIA's driver has no device here");
        REQUIRE_EQ(status, 0);
        return;
    }
    culv_device_desc d = culv_device_desc_init();
    culv_device *device = NULL, *none = POISON(culv_device);
    d.driver = CULV_DRIVER_NVIDIA;
    if (culv_device_open_by_ordinal(0, &d, &device) != CULV_OK)
        SKIP("%s", culv_last_error_message());
    for (int i = 0; i < CALLS_COUNT; i++) {
        culv_error e = culv_error_init();
        REQUIRE(all_calls[i]->device_open(NULL, &none) != CULV_OK);
        culv_last_error(&e);
        REQUIRE_EQ(e.native_api, CULV_NATIVE_CUDA_RUNTIME);
        REQUIRE_EQ_STR(e.native_call, "cudaGetDevice");
        REQUIRE(all_calls[i]->device_open_by_ordinal(0, NULL, &none) != CULV_OK);
        REQUIRE(all_calls[i]->device_make_current(device) != CULV_OK);
        culv_last_error(&e);
        REQUIRE_EQ(e.native_api, CULV_NATIVE_CUDA_RUNTIME);
        REQUIRE_EQ_STR(e.native_call, "cudaSetDevice");
        if (i == 0) printf("  %s: %s\n", culv_reason_name(e.reason), e.message);
    }
    REQUIRE(none == POISON(culv_device));
    culv_device_close(&device);
}

TEST(bad_descriptors, .own = true)
{
    culv_device_desc d = culv_device_desc_init();
    culv_device *device = POISON(culv_device);
    d.struct_size = 3;
    REFUSED(culv_cudart_device_open(&d, &device), CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE);
    d = culv_device_desc_init();
    d.driver = (culv_driver)77;
    REFUSED(culv_cudart_device_open(&d, &device), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    REQUIRE(device == POISON(culv_device));
}

/* The last error that a layer on top of Culvert sets. */
TEST(last_error_set, .title = "last_error_set")
{
    culv_error e = culv_error_init(), got = culv_error_init();
    /* CULV_OK is no error */
    REFUSED(culv_last_error_set(&e), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    e.struct_size = 0;
    REFUSED(culv_last_error_set(&e), CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE);
    e = culv_error_init();
    e.result = CULV_ERROR_BUSY;
    e.reason = CULV_REASON_OS;
    e.native_api = CULV_NATIVE_OS;
    e.native_code = -5000000000;
    memset(e.native_call, 'c', sizeof e.native_call);
    memset(e.message, 'm', sizeof e.message);
    REQUIRE_EQ(culv_last_error_set(&e), CULV_ERROR_BUSY);
    culv_last_error(&got);
    REQUIRE_EQ(got.result, CULV_ERROR_BUSY);
    REQUIRE_EQ(got.reason, CULV_REASON_OS);
    REQUIRE_EQ(got.native_api, CULV_NATIVE_OS);
    REQUIRE(got.native_code == -5000000000);
    REQUIRE_EQ(strlen(got.native_call), sizeof got.native_call - 1);
    REQUIRE_EQ(strlen(culv_last_error_message()), sizeof got.message - 1);
}
