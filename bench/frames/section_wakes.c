/* SPDX-License-Identifier: MIT */
/* How a host learns that the GPU is done, in both directions: how late, and what waiting costs. The
 * end of the work is told by the GPU's clock. Whoever is woken proves that the work is done: after
 * CUDA's the renderer checks the frame, without another wait, and Vulkan's has its timestamps. */
#include "power.h"
#include "sections.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_FRAMES = 128, BATCH = 10, NAP_NS = 50000, SECONDS = 20 };

/* What a submission to Vulkan signals. */
typedef enum signals { NO_SIGNAL, FENCE, OWN_TIMELINE, SHARED_TIMELINE } signals;

typedef struct wakes_state {
    frames_bench *b;
    const workload *w;
    power power;
    CUevent event, blocking_event, solved;
    VkFence fence, file_fence; /* the second one can be exported */
    VkSemaphore own;           /* a timeline that is not exported */
    uint64_t own_value;
    culv_shared_semaphore *by_cuda, *by_vulkan;
    uint64_t by_cuda_value, by_vulkan_value;
    int events, file; /* an eventfd; a sync file, -1: none */
    size_t n;
    double late[MOST_FRAMES];
} wakes_state;

typedef struct wake {
    const char *name;
    bool vulkan; /* whose work is waited for */
    signals signals;
    const char *(*obstacle)(const wakes_state *s); /* NULL: none */
    void (*arm)(wakes_state *s);                   /* NULL: nothing is to be done */
    void (*wait)(wakes_state *s);
} wake;

/* Ways to wait --------------------------------------------------------------------------------- */

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static void CUDA_CB write_event(void *state)
{
    const wakes_state *s = state;
    const uint64_t one = 1;
    if (write(s->events, &one, sizeof one) != (ssize_t)sizeof one) perror("eventfd");
}

static void poll_fd(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int n;
    do {
        n = poll(&one, 1, SECONDS * 1000);
    } while (n < 0 && errno == EINTR);
    REQUIRE_EQ(n, 1);
}

static void arm_event(wakes_state *s)
{
    RIG_CU(s->b->bench.rig.cu->EventRecord(s->event, s->b->bench.rig.stream));
}

static void arm_blocking_event(wakes_state *s)
{
    RIG_CU(s->b->bench.rig.cu->EventRecord(s->blocking_event, s->b->bench.rig.stream));
}

static void arm_callback(wakes_state *s)
{
    RIG_CU(s->b->bench.rig.cu->LaunchHostFunc(s->b->bench.rig.stream, write_event, s));
}

static void arm_callback_of_vulkan(wakes_state *s)
{
    CULV_OK_OR_EXIT(culv_semaphore_wait(culv_shared_semaphore_cuda(s->by_vulkan),
                                        s->b->bench.rig.stream, s->by_vulkan_value));
    arm_callback(s);
}

static void arm_timeline(wakes_state *s)
{
    CULV_OK_OR_EXIT(culv_semaphore_signal(culv_shared_semaphore_cuda(s->by_cuda),
                                          s->b->bench.rig.stream, ++s->by_cuda_value));
}

static void arm_file(wakes_state *s)
{
    const VkFenceGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR,
                                      .fence = s->file_fence,
                                      .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
    VK_OK(vkGetFenceFdKHR(s->b->bench.rig.vk.device, &info, &s->file));
}

static void wait_stream(wakes_state *s)
{
    RIG_CU(s->b->bench.rig.cu->StreamSynchronize(s->b->bench.rig.stream));
}

static void wait_blocking_event(wakes_state *s)
{
    RIG_CU(s->b->bench.rig.cu->EventSynchronize(s->blocking_event));
}

static bool event_is_due(const wakes_state *s)
{
    const CUresult due = s->b->bench.rig.cu->EventQuery(s->event);
    if (due != CUDA_ERROR_NOT_READY) RIG_CU(due);
    return due == CUDA_SUCCESS;
}

static void wait_event_busy(wakes_state *s)
{
    while (!event_is_due(s)) {
    }
}

static void wait_event_naps(wakes_state *s)
{
    while (!event_is_due(s))
        nap();
}

static void wait_events(wakes_state *s)
{
    uint64_t count = 0;
    poll_fd(s->events);
    REQUIRE(read(s->events, &count, sizeof count) == (ssize_t)sizeof count);
    REQUIRE_EQ(count, 1);
}

static void wait_semaphore(const wakes_state *s, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    VK_OK(vkWaitSemaphores(s->b->bench.rig.vk.device, &info, UINT64_MAX));
}

static void wait_by_cuda(wakes_state *s)
{
    wait_semaphore(s, culv_vk_semaphore_handle(s->by_cuda), s->by_cuda_value);
}

static void wait_by_vulkan(wakes_state *s)
{
    wait_semaphore(s, culv_vk_semaphore_handle(s->by_vulkan), s->by_vulkan_value);
}

static void wait_own(wakes_state *s)
{
    wait_semaphore(s, s->own, s->own_value);
}

static void wait_culvert_cuda(wakes_state *s)
{
    CULV_OK_OR_EXIT(
        culv_shared_semaphore_wait_on_host(s->by_cuda, s->by_cuda_value, CULV_RING_FOREVER));
}

static void wait_culvert_vulkan(wakes_state *s)
{
    CULV_OK_OR_EXIT(
        culv_shared_semaphore_wait_on_host(s->by_vulkan, s->by_vulkan_value, CULV_RING_FOREVER));
}

static void wait_fence(wakes_state *s)
{
    VK_OK(vkWaitForFences(s->b->bench.rig.vk.device, 1, &s->fence, VK_TRUE, UINT64_MAX));
}

static bool fence_is_due(const wakes_state *s)
{
    const VkResult due = vkGetFenceStatus(s->b->bench.rig.vk.device, s->fence);
    if (due != VK_NOT_READY) VK_OK(due);
    return due == VK_SUCCESS;
}

static void wait_fence_busy(wakes_state *s)
{
    while (!fence_is_due(s)) {
    }
}

static void wait_fence_naps(wakes_state *s)
{
    while (!fence_is_due(s))
        nap();
}

static void wait_file(wakes_state *s)
{
    if (s->file >= 0) { /* -1: it is over already */
        poll_fd(s->file);
        close(s->file);
    }
    s->file = -1;
}

static const char *no_file(const wakes_state *s)
{
    return s->file_fence == VK_NULL_HANDLE ? "the driver exports no fence as a sync file" : NULL;
}

static const wake ways[] = {
    {"cuStreamSynchronize", false, NO_SIGNAL, NULL, NULL, wait_stream},
    {"cuEventSynchronize, blocking", false, NO_SIGNAL, NULL, arm_blocking_event,
     wait_blocking_event},
    {"cuEventQuery, without a pause", false, NO_SIGNAL, NULL, arm_event, wait_event_busy},
    {"cuEventQuery, naps of 50 us", false, NO_SIGNAL, NULL, arm_event, wait_event_naps},
    {"cuLaunchHostFunc, eventfd, poll", false, NO_SIGNAL, NULL, arm_callback, wait_events},
    {"vkWaitSemaphores", false, NO_SIGNAL, NULL, arm_timeline, wait_by_cuda},
    {"culv_shared_semaphore_wait_on_host", false, NO_SIGNAL, NULL, arm_timeline, wait_culvert_cuda},
    {"vkWaitForFences", true, FENCE, NULL, NULL, wait_fence},
    {"vkWaitSemaphores", true, OWN_TIMELINE, NULL, NULL, wait_own},
    {"vkWaitSemaphores, exported", true, SHARED_TIMELINE, NULL, NULL, wait_by_vulkan},
    {"vkGetFenceStatus, without a pause", true, FENCE, NULL, NULL, wait_fence_busy},
    {"vkGetFenceStatus, naps of 50 us", true, FENCE, NULL, NULL, wait_fence_naps},
    {"vkGetFenceFdKHR (SYNC_FD), poll", true, FENCE, no_file, arm_file, wait_file},
    {"cuLaunchHostFunc, eventfd, poll", true, SHARED_TIMELINE, NULL, arm_callback_of_vulkan,
     wait_events},
    {"culv_shared_semaphore_wait_on_host", true, SHARED_TIMELINE, NULL, NULL, wait_culvert_vulkan}};
enum { NUM_WAYS = sizeof ways / sizeof ways[0] };

/* A frame -------------------------------------------------------------------------------------- */

static double process_cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static VkCommandBuffer draw_of(wakes_state *s, uint32_t frame, uint32_t number, uint32_t iterations)
{
    frames_bench *b = s->b;
    return renderer_record(&b->renderer, &(renderer_job){.frame = frame,
                                                         .slot = 0,
                                                         .buffer = b->buffers[0],
                                                         .number = number,
                                                         .iterations = iterations});
}

static void solve(wakes_state *s, uint32_t number, uint32_t iterations, uint32_t log)
{
    frames_bench *b = s->b;
    solver_launch(&b->solver, b->bench.rig.stream,
                  solver_job_of(&b->solver, b->pointers[0], s->w->bytes, number, iterations, log));
}

static void submit(wakes_state *s, VkCommandBuffer commands, const wake *way)
{
    const raw_vk *vk = &s->b->bench.rig.vk;
    const bool file = way->wait == wait_file;
    const VkSemaphore semaphore =
        way->signals == OWN_TIMELINE ? s->own : culv_vk_semaphore_handle(s->by_vulkan);
    const uint64_t value = way->signals == OWN_TIMELINE      ? ++s->own_value
                           : way->signals == SHARED_TIMELINE ? ++s->by_vulkan_value
                                                             : 0;
    const VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = value != 0 ? &timeline : NULL,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = value != 0 ? 1 : 0,
                               .pSignalSemaphores = &semaphore};
    const VkFence fence = way->signals != FENCE ? VK_NULL_HANDLE : file ? s->file_fence : s->fence;
    if (fence != VK_NULL_HANDLE) VK_OK(vkResetFences(vk->device, 1, &fence));
    VK_OK(vkQueueSubmit(vk->queues[0].queue, 1, &info, fence));
}

static void judge(wakes_state *s, const wake *way)
{
    raw_vk_idle(&s->b->bench.rig.vk);
    const renderer_verdict v = renderer_judge(&s->b->renderer);
    if (v.frames != 1 || v.wrong != 0)
        FAIL("%s: %u frames were drawn, and %u pixels saw another frame than theirs", way->name,
             v.frames, v.wrong);
}

/* Returns when the host went on; adds the CPU time of its wait. */
static double wake_by_cuda(wakes_state *s, const wake *way, uint32_t frame, double *cpu)
{
    const uint32_t number = s->b->next_number++;
    VkCommandBuffer check = draw_of(s, frame, number, 0);
    solve(s, number, s->w->solver_iterations, frame);
    RIG_CU(s->b->bench.rig.cu->EventRecord(s->solved, s->b->bench.rig.stream));
    if (way->arm != NULL) way->arm(s);
    const double begun = process_cpu_us();
    way->wait(s);
    const double woken = bench_now();
    *cpu += process_cpu_us() - begun;
    if (s->b->bench.rig.cu->EventQuery(s->solved) != CUDA_SUCCESS)
        FAIL("%s: the host was woken before CUDA was done", way->name);
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &check};
    VK_OK(vkQueueSubmit(s->b->bench.rig.vk.queues[0].queue, 1, &info, VK_NULL_HANDLE));
    judge(s, way);
    wait_stream(s);
    return woken;
}

static double wake_by_vulkan(wakes_state *s, const wake *way, uint32_t frame, double *cpu)
{
    frames_bench *b = s->b;
    const uint32_t number = b->next_number++;
    uint64_t ticks[2];
    solve(s, number, 0, SOLVER_NO_LOG);
    wait_stream(s);
    submit(s, draw_of(s, frame, number, s->w->renderer_iterations), way);
    if (way->arm != NULL) way->arm(s);
    const double begun = process_cpu_us();
    way->wait(s);
    const double woken = bench_now();
    *cpu += process_cpu_us() - begun;
    /* lavapipe waits when it is asked for times; but it counts where the host sees it at once. */
    if (b->bench.rig.cu->software && b->renderer.judged->frames != 1)
        FAIL("%s: the host was woken before Vulkan was done", way->name);
    if (device_timestamp_bits(&b->bench.rig.vk, 0) != 0)
        VK_OK(vkGetQueryPoolResults(b->bench.rig.vk.device, b->renderer.queries, 2 * frame, 2,
                                    sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT));
    judge(s, way);
    wait_stream(s);
    return woken;
}

/* Measuring ------------------------------------------------------------------------------------ */

/* `woken` of frames 0 to count - 1, against the ends that the GPU's clock tells. */
static void add_late(wakes_state *s, const wake *way, const clock_of_host *clock,
                     const double *woken, uint32_t count)
{
    frames_bench *b = s->b;
    if (way->vulkan)
        REQUIRE(renderer_fetch(&b->renderer, count, 0));
    else
        solver_fetch(&b->solver, b->solver.log, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t ended = way->vulkan ? renderer_time_of(&b->renderer, i).ended
                                           : solver_time_of(&b->solver, i).ended;
        s->late[s->n++] = (woken[i] - clock_host_time(clock, ended)) * 1e-3;
    }
}

static void measure(wakes_state *s, const wake *way, uint32_t frames, wake_result *r)
{
    frames_bench *b = s->b;
    double cpu = 0, warm = 0, woken[BATCH], error = 0;
    char what[96];
    snprintf(what, sizeof what, "%s of %s work", way->name, way->vulkan ? "Vulkan's" : "CUDA's");
    exits_watch(60, what);
    s->n = 0;
    renderer_reset(&b->renderer, BATCH);
    (void)(way->vulkan ? wake_by_vulkan : wake_by_cuda)(s, way, 0, &warm);
    const double energy = power_energy(&s->power), begun = bench_now();
    for (uint32_t first = 0; first < frames; first += BATCH) {
        const uint32_t count = frames - first < BATCH ? frames - first : (uint32_t)BATCH;
        const clock_of_host clock = clocks_of_host(b, way->vulkan);
        if (clock.error > error) error = clock.error;
        renderer_reset(&b->renderer, BATCH);
        for (uint32_t i = 0; i < count; i++)
            woken[i] = (way->vulkan ? wake_by_vulkan : wake_by_cuda)(s, way, i, &cpu);
        add_late(s, way, &clock, woken, count);
    }
    if (s->power.obstacle == NULL)
        r->watts = (power_energy(&s->power) - energy) / ((bench_now() - begun) * 1e-9);
    r->frames = frames;
    r->cpu = cpu / frames;
    r->clock_error = error * 1e-3;
    r->late = statistics_spread(s->late, s->n);
    r->late_p99 = statistics_quantile(s->late, s->n, 0.99);
}

static void print(FILE *out, const wake_result *r)
{
    fprintf(out, "  %-8s %-36s %8.0f us", r->of, r->way, r->load_us);
    if (r->obstacle != NULL) {
        fprintf(out, "  left out: %s\n", r->obstacle);
        return;
    }
    fprintf(out, " %9.1f (%7.1f .. %8.1f) %9.1f %10.1f", r->late.median, r->late.p10, r->late.p90,
            r->late_p99, r->cpu);
    if (r->watts != 0.0) fprintf(out, " %8.1f", r->watts);
    fputc('\n', out);
    fflush(out);
}

static bool can_export_file(const frames_bench *b)
{
    const VkPhysicalDeviceExternalFenceInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO,
        .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
    VkExternalFenceProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES};
    if (!b->device.fence_fd) return false;
    vkGetPhysicalDeviceExternalFenceProperties(b->bench.rig.vk.physical, &info, &answer);
    return (answer.externalFenceFeatures & VK_EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT) != 0;
}

static void open_state(wakes_state *s, frames_bench *b)
{
    rig *r = &b->bench.rig;
    CUuuid uuid;
    *s = (wakes_state){.b = b, .file = -1, .events = eventfd(0, EFD_CLOEXEC)};
    REQUIRE(s->events >= 0);
    RIG_CU(r->cu->DeviceGetUuid(&uuid, r->ordinal));
    power_open(&s->power, (const uint8_t *)uuid.bytes, r->cu->software);
    if (s->power.obstacle != NULL) bench_left_out(&b->bench, s->power.obstacle);
    RIG_CU(r->cu->EventCreate(&s->solved, CU_EVENT_DISABLE_TIMING));
    RIG_CU(r->cu->EventCreate(&s->event, CU_EVENT_DISABLE_TIMING));
    RIG_CU(
        r->cu->EventCreate(&s->blocking_event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK_OK(vkCreateFence(r->vk.device, &fence, NULL, &s->fence));
    const VkExportFenceCreateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
                                              .handleTypes =
                                                  VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
    fence.pNext = &exported;
    if (can_export_file(b)) VK_OK(vkCreateFence(r->vk.device, &fence, NULL, &s->file_fence));
    s->own = raw_vk_timeline(&r->vk, 0, false);
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(r->attached, NULL, &s->by_cuda));
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(r->attached, NULL, &s->by_vulkan));
}

static void close_state(wakes_state *s)
{
    rig *r = &s->b->bench.rig;
    raw_vk_idle(&r->vk);
    culv_shared_semaphore_destroy(&s->by_vulkan);
    culv_shared_semaphore_destroy(&s->by_cuda);
    raw_vk_timeline_destroy(&r->vk, s->own);
    vkDestroyFence(r->vk.device, s->file_fence, NULL);
    vkDestroyFence(r->vk.device, s->fence, NULL);
    RIG_CU(r->cu->EventDestroy(s->blocking_event));
    RIG_CU(r->cu->EventDestroy(s->solved));
    RIG_CU(r->cu->EventDestroy(s->event));
    power_close(&s->power);
    close(s->events);
}

void section_wakes(frames_bench *b, const options *o, results *all)
{
    static const struct {
        double us;
        uint32_t frames;
    } loads[] = {{100, 100}, {1000, 100}, {20000, 30}};
    static wakes_state s;
    const bool few = o->quick || b->bench.rig.caps.is_software;
    if (device_timestamp_bits(&b->bench.rig.vk, 0) == 0) {
        bench_left_out(&b->bench, "the queue has no timestamps");
        return;
    }
    open_state(&s, b);
    if (b->bench.text != NULL)
        fprintf(
            b->bench.text,
            "\nwakes: when the host goes on after the GPU's work is done\n  %-8s %-36s %11s %9s "
            "%21s %9s %10s %8s\n",
            "work of", "", "it takes", "us late", "(10 % .. 90 %)", "p99", "CPU us", "W");
    for (size_t i = 0; i < (few ? 1 : sizeof loads / sizeof loads[0]); i++) {
        workload w = options_workload(o);
        w.solver_us = w.renderer_us = loads[i].us;
        REQUIRE(frames_slots(b, 1, w.bytes));
        frames_calibrate(b, &w, false);
        s.w = &w;
        for (size_t k = 0; k < NUM_WAYS; k++) {
            REQUIRE(all->num_wakes < WAKES_MAX);
            wake_result *r = &all->wakes[all->num_wakes++];
            *r = (wake_result){.of = ways[k].vulkan ? "Vulkan" : "CUDA",
                               .way = ways[k].name,
                               .load_us = loads[i].us,
                               .obstacle = ways[k].obstacle != NULL ? ways[k].obstacle(&s) : NULL};
            if (r->obstacle == NULL) measure(&s, &ways[k], few ? 4 : loads[i].frames, r);
            if (b->bench.text != NULL) print(b->bench.text, r);
        }
    }
    close_state(&s);
}
