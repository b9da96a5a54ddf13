/* SPDX-License-Identifier: MIT */
/* Worlds and checks of the runtime header's suite. */
#include "world.h"

#include <inttypes.h>
#include <time.h>

const cudart_calls *const all_calls[CALLS_COUNT] = {
    &cudart_c11_legacy,   &cudart_c11_per_thread,   &cudart_cxx11_legacy, &cudart_cxx11_per_thread,
    &cudart_cxx17_legacy, &cudart_cxx17_per_thread, &cudart_nvcc_legacy,  &cudart_nvcc_per_thread,
};

const cudart_launches *const all_launches[2] = {&cudart_launches_legacy,
                                                &cudart_launches_per_thread};

void require_ok(const char *file, int line, const char *text, culv_result result)
{
    if (result != CULV_OK)
        test_fail(file, line, "%s is %s: %s", text, culv_result_name(result),
                  culv_last_error_message());
}

void require_runtime(const char *file, int line, const char *text, cudaError_t answer)
{
    if (answer != cudaSuccess)
        test_fail(file, line, "%s is %s (%d)", text, cudaGetErrorName(answer), (int)answer);
}

void require_error(const char *file, int line, const char *text, culv_result result,
                   culv_result expected, culv_reason reason)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    if (result != expected || e.result != expected || e.reason != reason)
        test_fail(file, line, "%s is %s, not %s; the last error is %s, %s (not %s): %s", text,
                  culv_result_name(result), culv_result_name(expected), culv_result_name(e.result),
                  culv_reason_name(e.reason), culv_reason_name(reason), e.message);
    if ((e.native_api == CULV_NATIVE_NONE) != (e.native_call[0] == '\0'))
        test_fail(file, line, "%s: native_api %d and native_call \"%s\" contradict", text,
                  (int)e.native_api, e.native_call);
    /* For reading in the log: what users get to see, the same words once. */
    static char last[sizeof e.message];
    if (strcmp(last, e.message) != 0) printf("  %s: %s\n", culv_reason_name(e.reason), e.message);
    memcpy(last, e.message, sizeof last);
}

const raw_cuda *use_driver(void)
{
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    /* A stream that waits holds up others on the same of the device's work queues, of which 8 are
     * the default (CUDA guide, "CUDA Environment Variables"); here each stream is to have its
     * own. */
    REQUIRE(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1) == 0);
    const raw_cuda *cu = raw_cuda_open();
    if (test_driver() == TEST_DRIVER_NVIDIA)
        REQUIRE(unsetenv("CULVERT_SOFT") == 0);
    else if (cu->software)
        REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    return cu;
}

culv_vk_device_desc world_vk_desc(const world *w)
{
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = vkGetInstanceProcAddr;
    d.instance = w->vk.instance;
    d.physical_device = w->vk.physical;
    d.device = w->vk.device;
    d.api_version = VK_API_VERSION_1_3;
    return d;
}

void world_open(world *w)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->cu = use_driver();
    const raw_cuda *cu = w->cu;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk,
                &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes, .software = cu->software});
    OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                               &w->device));
    culv_vk_device_desc d = world_vk_desc(w);
    OK(culv_vk_attach(w->device, &d, &w->attachment));
    CU_OK(cu->CtxSetCurrent(culv_device_context(w->device)));
}

void world_open_runtime(world *w)
{
    const raw_cuda *cu = use_driver();
    if (cu->software) SKIP("the CUDA runtime knows devices of NVIDIA's driver only");
    int known = 0;
    cudaError_t answer = cudaRuntimeGetVersion(&known);
    REQUIRE_EQ(answer, cudaSuccess);
    int count = 0;
    answer = cudaGetDeviceCount(&count);
    if (answer == cudaErrorInsufficientDriver)
        SKIP("the CUDA runtime %d of this build needs a newer driver than %d", known,
             cu->driver_version);
    RT(answer);
    world_open(w);
    OK(culv_cudart_device_make_current(w->device));
}

culv_device_counts world_counts(const world *w)
{
    culv_device_counts c = culv_device_counts_init();
    OK(culv_device_get_counts(w->device, &c));
    return c;
}

void world_settle(const world *w)
{
    for (unsigned i = 0; world_counts(w).deferred > 0; i++) {
        if (i == TEST_FAR_MS)
            FAIL("%" PRIu64 " releases are still deferred after a minute",
                 world_counts(w).deferred);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void world_close(world *w)
{
    const raw_cuda *cu = w->cu;
    world_settle(w);
    culv_vk_detach(&w->attachment);
    culv_device_counts c = world_counts(w);
    REQUIRE_EQ(c.memories + c.mappings + c.buffers + c.images + c.semaphores + c.created +
                   c.attached_devices,
               0);
    CU_OK(cu->CtxSetCurrent(NULL));
    culv_device_close(&w->device);
    raw_vk_close(&w->vk);
    raw_cuda_require_empty(cu);
}

timeline timeline_make(world *w)
{
    timeline t = {raw_vk_timeline(&w->vk, 0, true), NULL};
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = t.vk;
    d.type = CULV_SEMAPHORE_TIMELINE;
    OK(culv_vk_semaphore_import(w->attachment, &d, &t.culv));
    return t;
}

culv_semaphore *timeline_import(world *w, culv_device *device, VkSemaphore vk, uint64_t value)
{
    culv_semaphore *semaphore = NULL;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = value;
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&w->vk, vk));
    OK(culv_semaphore_import(device, &d, &semaphore));
    culv_handle_close(&d.handle);
    return semaphore;
}

bool timeline_reaches(world *w, const timeline *t, uint64_t value, unsigned timeout_ms)
{
    return raw_vk_timeline_wait(&w->vk, t->vk, value, timeout_ms);
}

void timeline_destroy(world *w, timeline *t)
{
    culv_semaphore_destroy(&t->culv, NULL);
    raw_vk_timeline_destroy(&w->vk, t->vk);
}

CUstream stream_make(const world *w, bool blocking)
{
    const raw_cuda *cu = w->cu;
    CUstream stream = NULL;
    CU_OK(cu->StreamCreate(&stream, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    return stream;
}

void stream_destroy(const world *w, CUstream stream)
{
    const raw_cuda *cu = w->cu;
    CU_OK(cu->StreamDestroy(stream));
}
