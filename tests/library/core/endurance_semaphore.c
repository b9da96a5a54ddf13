/* SPDX-License-Identifier: MIT */
/* Thousands of turns of semaphores: made, imported, binary, in batches. The option --turns=N says
 * how many. */
#include "endurance.h"
#include "raw_binary.h"

typedef struct scene {
    lib_world w;
    CUstream stream;
    VkSemaphore lasting;
    uint64_t value; /* that it has reached */
    bool binaries;  /* a partner for binary semaphores can be had */
} scene;

static void culvert_binary(scene *s)
{
    raw_binary other;
    raw_binary_create(&s->w.vk, s->w.cu, &other);
    culv_semaphore *semaphore = NULL;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&s->w.vk, &other));
    LIB_OK(culv_semaphore_import_take(s->w.device, &d, &semaphore));
    LIB_OK(culv_semaphore_signal(semaphore, s->stream, 0));
    REQUIRE(raw_binary_wait(&s->w.vk, s->w.cu, &other, TEST_FAR_MS));
    LIB_OK(culv_semaphore_mark_waited(semaphore));
    raw_binary_signal(&s->w.vk, s->w.cu, &other);
    LIB_OK(culv_semaphore_mark_signaled(semaphore));
    LIB_OK(culv_semaphore_wait(semaphore, s->stream, 0));
    lib_finish(&s->w, s->stream);
    culv_semaphore_destroy(&semaphore);
    raw_vk_idle(&s->w.vk);
    raw_binary_destroy(&s->w.vk, &other);
}

static void culvert_turn(void *user, long i)
{
    scene *s = user;
    culv_shared_semaphore *made = NULL;
    LIB_OK(culv_vk_semaphore_create(s->w.attachment, NULL, &made));
    culv_semaphore *imported = lib_import_timeline(&s->w, s->lasting);
    const culv_semaphore_point points[] = {{culv_shared_semaphore_cuda(made), 1},
                                           {imported, ++s->value}};
    LIB_OK(culv_semaphore_signal_batch(points, 2, s->stream));
    LIB_OK(culv_semaphore_wait_batch(points, 2, s->stream));
    LIB_OK(culv_semaphore_signal(imported, s->stream, ++s->value));
    LIB_OK(culv_semaphore_wait(imported, s->stream, s->value));
    if (i % 2 == 0) { /* one by one */
        lib_finish(&s->w, s->stream);
        culv_shared_semaphore_destroy(&made);
        culv_semaphore_destroy(&imported);
    } else {
        culv_shared_semaphore_destroy_after(&made, s->stream);
        culv_semaphore_destroy_after(&imported, s->stream);
        lib_finish(&s->w, s->stream);
    }
    if (s->binaries) culvert_binary(s);
}

static CUexternalSemaphore raw_import(const scene *s, bool binary, int fd)
{
    const raw_cuda *cu = s->w.cu;
    CUexternalSemaphore external = NULL;
    CU_OK(binary ? raw_cuda_import_binary(cu, fd, &external)
                 : raw_cuda_import_timeline(cu, fd, &external));
    return external;
}

static void raw_turn(void *user, long i)
{
    scene *s = user;
    (void)i;
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    VkSemaphore own = raw_vk_timeline(&s->w.vk, 0, true);
    CUexternalSemaphore made = raw_import(s, false, raw_vk_semaphore_fd(&s->w.vk, own));
    CUexternalSemaphore imported = raw_import(s, false, raw_vk_semaphore_fd(&s->w.vk, s->lasting));
    CU_OK(raw_cuda_signal(cu, made, 1, s->stream));
    CU_OK(raw_cuda_wait(cu, made, 1, s->stream));
    for (int k = 0; k < 2; k++) {
        CU_OK(raw_cuda_signal(cu, imported, ++s->value, s->stream));
        CU_OK(raw_cuda_wait(cu, imported, s->value, s->stream));
    }
    CU_OK(cu->StreamSynchronize(s->stream));
    CU_OK(cu->DestroyExternalSemaphore(made));
    CU_OK(cu->DestroyExternalSemaphore(imported));
    raw_vk_semaphore_destroy(&s->w.vk, own);
    if (s->binaries) {
        raw_binary other;
        raw_binary_create(&s->w.vk, cu, &other);
        CUexternalSemaphore binary = raw_import(s, true, raw_binary_fd(&s->w.vk, &other));
        CU_OK(raw_cuda_signal(cu, binary, 0, s->stream));
        REQUIRE(raw_binary_wait(&s->w.vk, cu, &other, TEST_FAR_MS));
        raw_binary_signal(&s->w.vk, cu, &other);
        CU_OK(raw_cuda_wait(cu, binary, 0, s->stream));
        CU_OK(cu->StreamSynchronize(s->stream));
        CU_OK(cu->DestroyExternalSemaphore(binary));
        raw_vk_idle(&s->w.vk);
        raw_binary_destroy(&s->w.vk, &other);
    }
    lib_leave(&s->w, before);
}

TEST(semaphores, .time_limit = 900, .own = true)
{
    scene s = {.value = 0};
    lib_open(&s.w);
    s.lasting = raw_vk_timeline(&s.w.vk, 0, true);
    s.stream = lib_stream(&s.w);
    s.binaries = s.w.cu->software || (raw_binary_properties(&s.w.vk).externalSemaphoreFeatures &
                                      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT);
    endurance_run(&s.w, &(endurance_pair){"semaphores", s.binaries ? "" : " without binary ones",
                                          raw_turn, culvert_turn, &s});
    REQUIRE_EQ(lib_counts(&s.w).semaphores, 0);
    REQUIRE_EQ(lib_counts(&s.w).created, 0);
    lib_stream_destroy(&s.w, s.stream);
    raw_vk_timeline_destroy(&s.w.vk, s.lasting);
    lib_close(&s.w);
}
