/* SPDX-License-Identifier: MIT */
/* Opening devices, the runtime's answers as results, and who is refused. */
#define TEST_GROUP "open."
#include "world.h"

#include <dlfcn.h>
#include <pthread.h>

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
            LIB_FAILS(calls->result(rows[r].answer, "cudaSomething"), rows[r].result,
                      rows[r].reason);
            culv_last_error(&e);
            REQUIRE_EQ(e.native_api, CULV_NATIVE_CUDA_RUNTIME);
            REQUIRE_EQ(e.native_code, rows[r].answer);
            REQUIRE_EQ_STR(e.native_call, "cudaSomething");
            REQUIRE(strstr(e.message, cudaGetErrorName(rows[r].answer)) != NULL);
        }
        REQUIRE_EQ(calls->result(cudaSuccess, "cudaSomething"), CULV_OK);
        LIB_ERROR(calls->result(cudaErrorUnknown, NULL), DRIVER, DRIVER_REFUSED);
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
        LIB_ERROR(calls->device_make_current(NULL), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->device_open(NULL, NULL), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->device_open_by_ordinal(0, NULL, NULL), INVALID, NULL_ARGUMENT);
        REQUIRE(calls->buffer_pointer(NULL) == NULL);
        LIB_ERROR(calls->image_array(NULL, 0, 0, &array), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->image_surface(NULL, 0, 0, &surface), INVALID, NULL_ARGUMENT);
        REQUIRE(array == POISON(struct cudaArray) && surface == 0x5a5a);
        LIB_ERROR(calls->semaphore_signal(NULL, 0, 1), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->semaphore_wait(NULL, 0, 1), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->semaphore_signal_batch(&point, 1, 0), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->semaphore_wait_batch(NULL, 1, 0), INVALID, NULL_ARGUMENT);
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
        LIB_ERROR(all_calls[i]->device_open(&d, &device), UNSUPPORTED, RUNTIME);
        LIB_ERROR(all_calls[i]->device_open_by_ordinal(0, &d, &device), UNSUPPORTED, RUNTIME);
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
    LIB_OK(culv_device_open_by_ordinal(0, &d, &device));
    CUcontext before = POISON(struct CUctx_st), after = NULL;
    CU_OK(cu->CtxGetCurrent(&before));
    for (int i = 0; i < CALLS_COUNT; i++)
        LIB_ERROR(all_calls[i]->device_make_current(device), UNSUPPORTED, RUNTIME);
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
        LIB_ERROR(all_calls[i]->device_open(NULL, &device), UNSUPPORTED, DRIVER_MISSING);
        LIB_ERROR(all_calls[i]->device_open_by_ordinal(7, NULL, &device), UNSUPPORTED,
                  DRIVER_MISSING);
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
    LIB_ERROR(culv_cudart_device_open(&d, &device), INVALID, STRUCT_SIZE);
    d = culv_device_desc_init();
    d.driver = (culv_driver)77;
    LIB_ERROR(culv_cudart_device_open(&d, &device), INVALID, VALUE);
    REQUIRE(device == POISON(culv_device));
}

/* The last error that a layer on top of Culvert sets. */
TEST(last_error_set, .title = "last_error_set")
{
    culv_error e = culv_error_init(), got = culv_error_init();
    /* CULV_OK is no error */
    LIB_ERROR(culv_last_error_set(&e), INVALID, VALUE);
    e.struct_size = 0;
    LIB_ERROR(culv_last_error_set(&e), INVALID, STRUCT_SIZE);
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

#undef TEST_GROUP
#define TEST_GROUP "life."
/* The context that Culvert and the runtime share, and what becomes of it. */

static CUcontext current_context(const raw_cuda *cu)
{
    CUcontext context = NULL;
    CU_OK(cu->CtxGetCurrent(&context));
    return context;
}

/* Each device of the runtime opens as itself, in the context that the runtime uses for it. */
TEST(same_device, .own = true)
{
    lib_world w;
    world_open_runtime(&w); /* skips where there is no runtime */
    const raw_cuda *cu = w.cu;
    int count = 0;
    RT(cudaGetDeviceCount(&count));
    REQUIRE_EQ(count, cu->device_count);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        struct cudaDeviceProp properties;
        culv_device_caps caps = culv_device_caps_init();
        culv_device *device = NULL, *by_ordinal = NULL;
        int current = -1;
        RT(cudaSetDevice(ordinal));
        RT(cudaFree(NULL));
        CUcontext of_runtime = current_context(cu);
        RT(cudaGetDeviceProperties(&properties, ordinal));
        LIB_OK(culv_cudart_device_open(NULL, &device));
        LIB_OK(culv_device_get_caps(device, &caps));
        REQUIRE_EQ(caps.ordinal, ordinal);
        REQUIRE_EQ(caps.is_software, 0);
        REQUIRE_EQ_BYTES(caps.uuid.bytes, properties.uuid.bytes, sizeof caps.uuid.bytes);
        REQUIRE(culv_device_context(device) == of_runtime);
        REQUIRE(current_context(cu) == of_runtime); /* the call left it as it was */
        LIB_OK(culv_cudart_device_open_by_ordinal(ordinal, NULL, &by_ordinal));
        REQUIRE(culv_device_context(by_ordinal) == of_runtime);
        culv_device_close(&by_ordinal);
        culv_device_close(&device);
        RT(cudaGetDevice(&current));
        REQUIRE_EQ(current, ordinal);
    }
    culv_device *none = POISON(culv_device);
    LIB_ERROR(culv_cudart_device_open_by_ordinal(count, NULL, &none), NO_DEVICE, DEVICE_UNKNOWN);
    LIB_ERROR(culv_cudart_device_open_by_ordinal(-1, NULL, &none), NO_DEVICE, DEVICE_UNKNOWN);
    REQUIRE(none == POISON(culv_device));
    world_close(&w);
}

/* A thread on which nothing of CUDA is current, as threads begin. */
static void *make_current_here(void *data)
{
    lib_world *w = data;
    const raw_cuda *cu = w->cu;
    int current = -1;
    void *memory = NULL;
    CUcontext of_pointer = NULL;
    REQUIRE(current_context(cu) == NULL);
    LIB_OK(culv_cudart_device_make_current(w->device));
    RT(cudaGetDevice(&current));
    culv_device_caps caps = culv_device_caps_init();
    LIB_OK(culv_device_get_caps(w->device, &caps));
    REQUIRE_EQ(current, caps.ordinal);
    RT(cudaMalloc(&memory, 4096));
    REQUIRE(current_context(cu) == culv_device_context(w->device));
    CU_OK(cu->PointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_CONTEXT,
                                  (CUdeviceptr)(uintptr_t)memory));
    REQUIRE(of_pointer == culv_device_context(w->device));
    RT(cudaFree(memory));
    return NULL;
}

RUNTIME_CASE(make_current, .own = true)
{
    pthread_t thread;
    REQUIRE_EQ(pthread_create(&thread, NULL, make_current_here, w), 0);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

/* A context of the caller's: the runtime follows, its streams are of that context, and Culvert
 * takes them. */
RUNTIME_CASE(borrowed_context, .own = true)
{
    const raw_cuda *cu = w->cu;
    CUcontext context = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->CtxSetCurrent(NULL));
    culv_device_desc d = culv_device_desc_init();
    culv_device *device = NULL;
    d.context = context;
    LIB_OK(culv_cudart_device_open_by_ordinal(0, &d, &device));
    REQUIRE(culv_device_context(device) == context);
    LIB_OK(culv_cudart_device_make_current(device));
    REQUIRE(current_context(cu) == context);

    VkSemaphore vk = raw_vk_timeline(&w->vk, 0, true);
    culv_semaphore *semaphore = timeline_import(w, device, vk, 0);
    cudaStream_t stream = NULL;
    RT(cudaStreamCreate(&stream));
    REQUIRE(current_context(cu) == context);
    LIB_OK(culv_cudart_semaphore_signal(semaphore, stream, 1));
    REQUIRE(raw_vk_timeline_wait(&w->vk, vk, 1, TEST_FAR_MS));
    RT(cudaStreamDestroy(stream));
    culv_semaphore_destroy(&semaphore, NULL);

    /* A stream of the primary context is none of its own. */
    timeline t = timeline_make(w);
    LIB_OK(culv_cudart_device_make_current(w->device));
    RT(cudaStreamCreate(&stream));
    LIB_OK(culv_cudart_semaphore_signal(t.culv, stream, 1));
    semaphore = timeline_import(w, device, vk, 1);
    LIB_ERROR(culv_cudart_semaphore_signal(semaphore, stream, 2), INVALID, STREAM_DEVICE);
    RT(cudaStreamSynchronize(stream));
    RT(cudaStreamDestroy(stream));
    timeline_destroy(w, &t);
    culv_semaphore_destroy(&semaphore, NULL);
    raw_vk_timeline_destroy(&w->vk, vk);
    culv_device_close(&device);
    CU_OK(cu->CtxDestroy(context));
}

/* Streams of another GPU are refused by name. */
RUNTIME_CASE(another_gpu, .own = true)
{
    int count = 0;
    RT(cudaGetDeviceCount(&count));
    if (count < 2) SKIP("one CUDA device only");
    cudaStream_t stream = NULL;
    timeline t = timeline_make(w);
    RT(cudaSetDevice(1));
    RT(cudaStreamCreate(&stream));
    LIB_ERROR(culv_cudart_semaphore_signal(t.culv, stream, 1), INVALID, STREAM_DEVICE);
    LIB_ERROR(culv_cudart_semaphore_wait(t.culv, stream, 1), INVALID, STREAM_DEVICE);
    LIB_OK(culv_cudart_semaphore_signal(t.culv, 0, 1)); /* stream 0 of the semaphore's own device */
    REQUIRE(timeline_reaches(w, &t, 1, TEST_FAR_MS));
    int current = -1;
    RT(cudaGetDevice(&current));
    REQUIRE_EQ(current, 1);
    RT(cudaStreamDestroy(stream));
    LIB_OK(culv_cudart_device_make_current(w->device));
    timeline_destroy(w, &t);
}

/* cudaGetLastError() is the program's own: Culvert's signals, waits and refusals do not touch
 * it. */
RUNTIME_CASE(runtime_last_error, .own = true)
{
    timeline t = timeline_make(w);
    REQUIRE_EQ(cudaSetDevice(9999), cudaErrorInvalidDevice);
    REQUIRE_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    LIB_OK(culv_cudart_semaphore_signal(t.culv, 0, 1));
    LIB_OK(culv_cudart_semaphore_wait(t.culv, 0, 1));
    REQUIRE_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    REQUIRE_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    LIB_ERROR(culv_cudart_semaphore_signal(t.culv, 0, 1), INVALID, TIMELINE_BACKWARDS);
    REQUIRE_EQ(cudaGetLastError(), cudaSuccess);
    timeline_destroy(w, &t);
}

/* The culv_device is closed, and the runtime goes on in the primary context. */
TEST(close_before_runtime, .own = true)
{
    lib_world w;
    void *memory = NULL;
    uint32_t words[64];
    world_open_runtime(&w);
    const raw_cuda *cu = w.cu;
    RT(cudaMalloc(&memory, sizeof words));
    RT(all_launches[0]->fill(memory, 64, 5, 0));
    RT(cudaDeviceSynchronize());
    culv_vk_detach(&w.attachment);
    culv_device_close(&w.device);
    RT(all_launches[0]->mix(memory, 64, 6, 0));
    RT(cudaMemcpy(words, memory, sizeof words, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < 64; i++)
        REQUIRE_EQ(words[i], (i * 2654435761u + 5u) * 3u + 6u);
    RT(cudaFree(memory));
    CU_OK(cu->CtxSetCurrent(NULL));
    raw_vk_close(&w.vk);
}

static unsigned heard;

static void hear(void *user, culv_log_level level, const char *message)
{
    (void)user;
    heard++;
    printf("  log %d: %s\n", (int)level, message);
}

/* What a program has when somebody resets the device, on a culv_device whose log is heard. */
typedef struct victim {
    culv_device *device;
    culv_vk_device *attachment;
    raw_vk_buffer vk;
    culv_memory *memory;
    culv_buffer *buffer, *second;
    culv_shared_semaphore *semaphore;
} victim;

static victim victim_make(lib_world *w)
{
    victim v;
    memset(&v, 0, sizeof v);
    culv_device_desc dd = culv_device_desc_init();
    dd.log.fn = hear;
    LIB_OK(culv_cudart_device_open(&dd, &v.device));
    culv_vk_device_desc vd = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(v.device, &vd, &v.attachment));
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &v.vk);
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = v.vk.memory;
    md.allocation_size = v.vk.allocation_size;
    LIB_OK(culv_vk_memory_import(v.attachment, &md, &v.memory));
    LIB_OK(culv_buffer_map(v.memory, NULL, &v.buffer));
    LIB_OK(culv_buffer_map(v.memory, NULL, &v.second));
    LIB_OK(culv_vk_semaphore_create(v.attachment, NULL, &v.semaphore));
    cudaStream_t stream = NULL;
    RT(cudaStreamCreate(&stream));
    LIB_OK(culv_cudart_semaphore_signal(culv_shared_semaphore_cuda(v.semaphore), stream, 1));
    RT(cudaStreamSynchronize(stream));
    return v;
}

/* R3: after a reset all can still be destroyed, in silence. */
static void victim_destroy(lib_world *w, victim *v)
{
    culv_device_counts counts = culv_device_counts_init();
    heard = 0;
    culv_buffer_unmap(&v->buffer, &(CUstream){culv_cudart_stream(0)});
    culv_buffer_unmap(&v->second, NULL);
    culv_memory_destroy(&v->memory);
    culv_shared_semaphore_destroy(&v->semaphore, &(CUstream){culv_cudart_stream(0)});
    culv_vk_detach(&v->attachment);
    LIB_OK(culv_device_get_counts(v->device, &counts));
    REQUIRE_EQ(counts.memories + counts.mappings + counts.buffers + counts.semaphores +
                   counts.deferred,
               0);
    REQUIRE(counts.late_destroys >= 3); /* mapping, import, semaphore */
    culv_device_close(&v->device);
    REQUIRE_EQ(heard, 0);
    raw_vk_buffer_destroy(&w->vk, &v->vk);
}

/* The runtime starts anew, and so does a culv_device that is opened then. */
static void start_anew(lib_world *w)
{
    void *memory = NULL;
    RT(cudaMalloc(&memory, 4096));
    RT(cudaFree(memory));
    LIB_OK(culv_cudart_device_open(NULL, &w->device));
    timeline t = {raw_vk_timeline(&w->vk, 0, true), NULL};
    t.culv = timeline_import(w, w->device, t.vk, 0);
    LIB_OK(culv_cudart_semaphore_signal(t.culv, 0, 1));
    REQUIRE(timeline_reaches(w, &t, 1, TEST_FAR_MS));
    timeline_destroy(w, &t);
}

/* `again`: the primary context is there again by the time that the old objects go, and it is
 * another one. */
static void reset(lib_world *w, bool again)
{
    void *memory = NULL;
    victim v = victim_make(w);
    culv_vk_detach(&w->attachment);
    culv_device_close(&w->device);
    RT(cudaDeviceReset());
    if (again) {
        RT(cudaMalloc(&memory, 4096));
        RT(all_launches[0]->fill(memory, 1024, 1, 0));
        RT(cudaDeviceSynchronize());
    }
    victim_destroy(w, &v);
    if (again) {
        RT(all_launches[0]->mix(memory, 1024, 1, 0));
        RT(cudaDeviceSynchronize());
        RT(cudaFree(memory));
    }
    start_anew(w);
}

RUNTIME_CASE(device_reset, .own = true)
{
    reset(w, false);
}

RUNTIME_CASE(device_reset_and_used_again, .own = true)
{
    reset(w, true);
}
