/* SPDX-License-Identifier: MIT */
/* Torture of semaphores: those that Culvert makes; binary ones by fd and by Vulkan; batches of both
 * types. */
#include "raw_binary.h"
#include "torture.h"

#include <unistd.h>

static culv_semaphore *semaphore_poison(void)
{
    return POISON(culv_semaphore);
}

static culv_shared_semaphore *made_poison(void)
{
    return POISON(culv_shared_semaphore);
}

/* Those that Culvert makes --------------------------------------------------------------------- */

static void made_run(void)
{
    lib_world *w = &torture.w;
    culv_shared_semaphore *one = made_poison(), *two = made_poison();
    CUstream stream = torture_open();
    TRY_AGAIN(culv_vk_semaphore_create(w->attachment, NULL, &one), one == made_poison());
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.initial_value = 5;
    d.label = "tortured";
    TRY_AGAIN(culv_vk_semaphore_create(w->attachment, &d, &two), two == made_poison());
    culv_semaphore *out = culv_shared_semaphore_cuda(one), *in = culv_shared_semaphore_cuda(two);
    TRY_AGAIN(culv_semaphore_signal(out, stream, 1), culv_semaphore_last_value(out) == 0);
    REQUIRE_EQ(culv_semaphore_last_value(out), 1);
    TRY_AGAIN(culv_semaphore_wait(in, stream, 5), true);
    TRY_AGAIN(culv_stream_wait_stream(w->device, NULL, stream), true);
    TRY_AGAIN(culv_stream_wait_stream(w->device, stream, NULL), true);
    TRY_AGAIN(culv_shared_semaphore_wait_on_host(two, 5, 0), true);
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(one), 1, TEST_FAR_MS));
    const culv_semaphore_point points[] = {{out, 2}, {in, 6}};
    TRY_AGAIN(culv_semaphore_signal_batch(points, 2, stream),
              culv_semaphore_last_value(out) == 1 && culv_semaphore_last_value(in) == 5);
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(two), 6, TEST_FAR_MS));
    culv_device_counts counts = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &counts), true);
    REQUIRE_EQ(counts.created, 2);
    REQUIRE_EQ(counts.semaphores, 2);
    lib_finish(w, stream);
    DO(culv_shared_semaphore_destroy(&one, &stream));
    DO(culv_shared_semaphore_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

static const torture_path made_path = {.any_driver = true, .run = made_run, .least = {8, 4, 4}};
TORTURE_CASES("made", made_path)

/* Binary ones, and batches --------------------------------------------------------------------- */

static raw_binary other; /* played: its partner's driver calls are not counted */
static VkSemaphore timeline;
static uint64_t value; /* that the timeline has reached */

static void binary_begin(void)
{
    raw_binary_create_played(torture.w.cu, torture.w.vk.id.deviceUUID, &other);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
    close(raw_vk_timeline_fd(&torture.w.vk, timeline));
    value = 0;
}

static void binary_end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_binary_destroy(&torture.w.vk, &other);
}

static bool has_reason(culv_result result, culv_reason reason)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    return result == CULV_ERROR_INVALID && e.reason == reason;
}

static bool unsignaled(culv_semaphore *semaphore)
{
    return has_reason(culv_semaphore_mark_waited(semaphore), CULV_REASON_WAIT_BEFORE_SIGNAL);
}

static bool signaled(culv_semaphore *semaphore)
{
    return has_reason(culv_semaphore_mark_signaled(semaphore), CULV_REASON_DOUBLE_SIGNAL);
}

/* The other side takes CUDA's signal, and gives one of its own. */
static void turn(culv_semaphore *semaphore)
{
    lib_world *w = &torture.w;
    REQUIRE(raw_binary_wait(&w->vk, w->cu, &other, TEST_FAR_MS));
    LIB_OK(culv_semaphore_mark_waited(semaphore));
    raw_binary_signal(&w->vk, w->cu, &other);
    LIB_OK(culv_semaphore_mark_signaled(semaphore));
}

static void binary_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    culv_vk_device *vk = NULL;
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.plays_binaries = true, .binary_fd = other.peer};
    vd.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(w->device, &vd, &vk));
    culv_semaphore *taken = semaphore_poison(), *borrowed = semaphore_poison();
    culv_shared_semaphore *made = made_poison();

    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&w->vk, &other));
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    TRY_AGAIN(culv_semaphore_import(w->device, &d, &borrowed),
              borrowed == semaphore_poison() && (lib_fd_require_untouched(&fd), true));
    lib_fd_require_untouched(&fd);
    TRY_AGAIN(culv_semaphore_import(w->device, &d, &taken),
              taken == semaphore_poison() && (lib_fd_require_untouched(&fd), true));
    lib_fd_done(&fd, true);
    TRY_AGAIN(culv_semaphore_signal(taken, stream, 0), unsignaled(taken));
    turn(taken);
    TRY_AGAIN(culv_semaphore_wait(taken, stream, 0), signaled(taken));
    REQUIRE(unsignaled(taken));
    lib_finish(w, stream);

    culv_vk_semaphore_create_desc cd = culv_vk_semaphore_create_desc_init();
    cd.type = CULV_SEMAPHORE_BINARY;
    TRY_AGAIN(culv_vk_semaphore_create(vk, &cd, &made), made == made_poison());
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made),
                   *timed = lib_import_timeline(w, timeline);
    const culv_semaphore_point signals[] = {{timed, value + 1}, {cuda, 0}};
    TRY_AGAIN(culv_semaphore_signal_batch(signals, 2, stream),
              culv_semaphore_last_value(timed) == value && unsignaled(cuda));
    value++;
    turn(cuda);
    const culv_semaphore_point waits[] = {{cuda, 0}, {timed, value}};
    TRY_AGAIN(culv_semaphore_wait_batch(waits, 2, stream), signaled(cuda));
    lib_finish(w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), value);

    DO(culv_semaphore_destroy(&borrowed, &stream));
    DO(culv_shared_semaphore_destroy(&made, &stream));
    DO(culv_semaphore_destroy(&timed, NULL));
    DO(culv_vk_detach(&vk));
    DO(culv_semaphore_destroy(&taken, NULL));
    REQUIRE(borrowed == NULL && made == NULL && timed == NULL && vk == NULL && taken == NULL);
    torture_close(stream);
}

static const torture_path binary_path = {
    .begin = binary_begin, .run = binary_run, .end = binary_end, .least = {8, 1, 4}};
TORTURE_CASES("binary", binary_path)
