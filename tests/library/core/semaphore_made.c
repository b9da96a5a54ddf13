/* SPDX-License-Identifier: MIT */
/* Timelines that Culvert makes: ownership, values, refusals. Binary ones:
 * binary_vulkan.c. */
#define TEST_GROUP "made."
#include "library.h"

static culv_shared_semaphore *make(const lib_world *w, uint64_t initial)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.initial_value = initial;
    d.label = "frame";
    culv_shared_semaphore *made = NULL;
    LIB_OK(culv_vk_semaphore_create(w->attachment, &d, &made));
    return made;
}

static uint64_t layer_semaphores(void)
{
    lib_layer layer;
    if (!lib_layer_find(&layer)) return 0;
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    layer.counts(&c);
    return c.all_semaphores;
}

/* The host waits for either side's signal, and moves nothing. */
LIB_CASE(host_waits)
{
    culv_shared_semaphore *binary = NULL;
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    culv_shared_semaphore *made = make(w, 3), *gate = make(w, 0);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
    VkSemaphore handle = culv_vk_semaphore_handle(made);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 2, 0));
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 3, 0));
    for (int i = 0; i < 2; i++)
        LIB_ERROR(culv_shared_semaphore_wait_on_host(made, 4, i == 0 ? 0 : 2000000), TIMEOUT,
                  NOT_READY);
    LIB_SAYS("has not reached 4 in 2000000 ns; CUDA has signaled or promised 3");
    LIB_OK(culv_semaphore_signal(cuda, stream, 4));
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 4, UINT64_MAX));
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, handle), 4);
    raw_vk_timeline_signal(&w->vk, handle, 5);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 5, 0));
    LIB_OK(culv_semaphore_wait(cuda, stream, 5));
    LIB_OK(culv_semaphore_signal(cuda, stream, 6));
    lib_finish(w, stream);
    /* CUDA is to signal it, and stands still. */
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), stream, 1));
    LIB_OK(culv_semaphore_signal(cuda, stream, 7));
    for (int i = 0; i < 2; i++)
        LIB_ERROR(culv_shared_semaphore_wait_on_host(made, 7, i == 0 ? 0 : 2000000), TIMEOUT,
                  NOT_READY);
    LIB_SAYS("CUDA has signaled or promised 7");
    raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(gate), 1);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 7, UINT64_MAX));
    lib_finish(w, stream);
    culv_shared_semaphore_destroy(&gate, NULL);
    d.type = CULV_SEMAPHORE_BINARY;
    if (culv_vk_semaphore_create(w->attachment, &d, &binary) == CULV_OK)
        LIB_INVALID(culv_shared_semaphore_wait_on_host(binary, 0, 0), VALUE);
    culv_shared_semaphore_destroy(&binary, NULL);
    culv_shared_semaphore_destroy(&made, NULL);
}

/* CUDA's side is no object of the caller's: giving it up is refused, and nothing happens. */
LIB_CASE(cuda_side_is_not_the_callers)
{
    culv_shared_semaphore *made = make(w, 0);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made), *kept = cuda;
    for (int i = 0; i < 2; i++) {
        LIB_INVALID(culv_semaphore_destroy(&cuda, i == 0 ? NULL : &(CUstream){NULL}), OWNED,
                    "culv_semaphore_destroy",
                    "culv_shared_semaphore_destroy() destroys both"); /* what to do */
        LIB_SAYS("'frame'");
        REQUIRE(cuda == kept);
        REQUIRE(culv_shared_semaphore_cuda(made) == kept);
        REQUIRE_EQ(lib_counts(w).semaphores, 1);
        REQUIRE_EQ(lib_counts(w).deferred, 0);
        lib_require_driver_counts(w, 0, 0, 1);
        LIB_OK(culv_semaphore_signal(cuda, NULL, (uint64_t)i + 1));
    }
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(made), 2, TEST_FAR_MS));
    lib_finish(w, NULL);
    culv_shared_semaphore_destroy(&made, NULL);
}

/* With a stream of last use nothing waits: the VkSemaphore goes at once, CUDA's side when the
 * stream gets there. */
LIB_CASE(destroyed_while_cuda_uses_it)
{
    uint64_t before = layer_semaphores();
    VkSemaphore gate = lib_case_timeline(w, 0);
    culv_semaphore *closed = lib_import_timeline(w, gate);
    CUstream stream = lib_case_stream(w);
    culv_shared_semaphore *made = make(w, 0);
    LIB_OK(culv_semaphore_wait(closed, stream, 1));
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(made), stream, 1));
    culv_shared_semaphore_destroy(&made, &stream);
    REQUIRE(made == NULL);
    REQUIRE_EQ(lib_query(w, stream), CUDA_ERROR_NOT_READY); /* it did not wait */
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.semaphores, 2);
    REQUIRE_EQ(c.deferred, 1);
    REQUIRE_EQ(c.attached_devices, 1);
    lib_require_driver_counts(w, 0, 0, 2);
    if (w->cu->software) REQUIRE_EQ(layer_semaphores(), before + 1); /* the gate */
    raw_vk_timeline_signal(&w->vk, gate, 1);
    lib_finish(w, stream);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).semaphores, 1);
    culv_semaphore_destroy(&closed, NULL);
}

/* The device's counts say what is there, of many. */
LIB_CASE(many)
{
    enum { COUNT = 100 };
    culv_shared_semaphore *made[COUNT];
    for (int i = 0; i < COUNT; i++) {
        made[i] = make(w, (uint64_t)i);
        REQUIRE_EQ(lib_counts(w).created, i + 1);
    }
    lib_require_driver_counts(w, 0, 0, COUNT);
    for (int i = 0; i < COUNT; i++)
        LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(made[i]), NULL, 1000));
    lib_finish(w, NULL);
    for (int i = 0; i < COUNT; i++)
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, culv_vk_semaphore_handle(made[i])), 1000);
    for (int i = 0; i < COUNT; i++)
        culv_shared_semaphore_destroy(&made[(i * 37) % COUNT], NULL);
    REQUIRE_EQ(lib_counts(w).created, 0);
    REQUIRE_EQ(lib_counts(w).semaphores, 0);
}

/* Such devices may be attached, for binary semaphores and memory. */
LIB_CASE(device_without_timelines)
{
    culv_vk_device *vk = NULL;
    culv_shared_semaphore *made = NULL;
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.no_timelines = true};
    LIB_OK(culv_vk_attach(w->device, &d, &vk));
    LIB_REFUSES(made, culv_vk_semaphore_create(vk, NULL, &made), UNSUPPORTED, EXTENSION_MISSING,
                "timelineSemaphore");
    culv_vk_detach(&vk);
    lib_lying = (lib_lies){0};
}
