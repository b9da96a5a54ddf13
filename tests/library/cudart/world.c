/* SPDX-License-Identifier: MIT */
/* Worlds and checks of the runtime header's suite. */
#include "world.h"

const cudart_calls *const all_calls[CALLS_COUNT] = {
    &cudart_c11_legacy,   &cudart_c11_per_thread,   &cudart_cxx11_legacy, &cudart_cxx11_per_thread,
    &cudart_cxx17_legacy, &cudart_cxx17_per_thread, &cudart_nvcc_legacy,  &cudart_nvcc_per_thread,
};

const cudart_launches *const all_launches[2] = {&cudart_launches_legacy,
                                                &cudart_launches_per_thread};

void require_runtime(const char *file, int line, const char *text, cudaError_t answer)
{
    if (answer != cudaSuccess)
        test_fail(file, line, "%s is %s (%d)", text, cudaGetErrorName(answer), (int)answer);
}

const raw_cuda *use_driver(void)
{
    /* A stream that waits holds up others on the same of the device's work queues, of which 8 are
     * the default (CUDA guide, "CUDA Environment Variables"); here each stream is to have its
     * own. */
    REQUIRE(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1) == 0);
    return lib_driver();
}

void world_open(lib_world *w)
{
    (void)use_driver();
    lib_open_vulkan(w);
    lib_open_culvert(w);
    CU_OK(w->cu->CtxSetCurrent(w->context));
}

void world_open_runtime(lib_world *w)
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
    LIB_OK(culv_cudart_device_make_current(w->device));
}

void world_close(lib_world *w)
{
    CU_OK(w->cu->CtxSetCurrent(NULL));
    lib_close_culvert(w);
    raw_vk_close(&w->vk);
    raw_cuda_require_empty(w->cu);
}

timeline timeline_make(lib_world *w)
{
    const VkSemaphore vk = raw_vk_timeline(&w->vk, 0, true);
    return (timeline){vk, lib_import_timeline(w, vk)};
}

culv_semaphore *timeline_import(lib_world *w, culv_device *device, VkSemaphore vk, uint64_t value)
{
    culv_semaphore *semaphore = NULL;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = value;
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&w->vk, vk));
    LIB_TAKE(culv_semaphore_import(device, &d, &semaphore), &d.handle);
    return semaphore;
}

bool timeline_reaches(lib_world *w, const timeline *t, uint64_t value, unsigned timeout_ms)
{
    return raw_vk_timeline_wait(&w->vk, t->vk, value, timeout_ms);
}

void timeline_destroy(lib_world *w, timeline *t)
{
    culv_semaphore_destroy(&t->culv, NULL);
    raw_vk_timeline_destroy(&w->vk, t->vk);
}
