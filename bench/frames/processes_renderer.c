/* SPDX-License-Identifier: MIT */
/* The renderer's process. See processes.h. */
#include "options.h"
#include "processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <culvert/ipc.h>
#include <culvert/ipc_ring.h>
#include <culvert/vulkan_export.h>

#define PATIENCE UINT64_C(60000000000) /* ns */

typedef struct remote {
    VkBuffer buffer;
    VkDeviceMemory memory;
} remote;

typedef struct viewer {
    frames_bench *b;
    culv_ipc_client *client;
    culv_ipc_consumer *consumer;
    culv_shared_semaphore *ready, *done;
    remote slots[PROCESSES_SLOTS];
    uint64_t times[FRAMES_MAX];
} viewer;

bool processes_read(int fd, void *out, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t n = read(fd, (char *)out + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

bool processes_write(int fd, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(fd, (const char *)data + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The solver's slots --------------------------------------------------------------------------- */

static void join(viewer *v, const process_job *job)
{
    culv_ipc_consumer_desc desc = culv_ipc_consumer_desc_init();
    culv_ipc_timelines own = culv_ipc_timelines_init();
    culv_vk_device *vk = v->b->bench.rig.attached;
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(vk, NULL, &v->ready));
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(vk, NULL, &v->done));
    CULV_OK_OR_EXIT(culv_vk_semaphore_export_dup(vk, culv_vk_semaphore_handle(v->ready),
                                                 CULV_HANDLE_OPAQUE_FD, &own.ready));
    CULV_OK_OR_EXIT(culv_vk_semaphore_export_dup(vk, culv_vk_semaphore_handle(v->done),
                                                 CULV_HANDLE_OPAQUE_FD, &own.done));
    desc.ring = job->ring;
    desc.timelines = &own;
    CULV_OK_OR_EXIT(culv_ipc_consumer_join(v->client, &desc, PATIENCE, &v->consumer));
    culv_handle_close(&own.ready);
    culv_handle_close(&own.done);
}

static void import(viewer *v, uint32_t slot, uint64_t bytes)
{
    const rig *r = &v->b->bench.rig;
    remote *s = &v->slots[slot];
    culv_ipc_object *object = NULL;
    culv_vmm_allocation *memory = NULL;
    culv_vmm_allocation_info size = culv_vmm_allocation_info_init();
    culv_vk_memory_from_handle_desc desc = culv_vk_memory_from_handle_desc_init();
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    CULV_OK_OR_EXIT(culv_ipc_consumer_receive(v->consumer, slot, 0, PATIENCE, &object));
    CULV_OK_OR_EXIT(culv_ipc_import_vmm(object, &memory)); /* for its size */
    CULV_OK_OR_EXIT(culv_vmm_allocation_get_info(memory, &size));
    culv_vmm_allocation_destroy(&memory);
    VK_OK(vkCreateBuffer(r->vk.device, &info, NULL, &s->buffer));
    CULV_OK_OR_EXIT(culv_ipc_object_get_handle(object, &desc.handle));
    desc.size = size.size;
    desc.exporter = r->caps.uuid;
    desc.buffer = s->buffer;
    CULV_OK_OR_EXIT(culv_vk_memory_from_handle(r->attached, &desc, &s->memory));
    VK_OK(vkBindBufferMemory(r->vk.device, s->buffer, s->memory, 0));
    culv_ipc_object_destroy(&object);
}

static void leave(viewer *v)
{
    VkDevice device = v->b->bench.rig.vk.device;
    for (uint32_t i = 0; i < PROCESSES_SLOTS; i++) {
        vkDestroyBuffer(device, v->slots[i].buffer, NULL);
        vkFreeMemory(device, v->slots[i].memory, NULL);
        v->slots[i] = (remote){VK_NULL_HANDLE, VK_NULL_HANDLE};
    }
    culv_ipc_consumer_destroy(&v->consumer);
    (void)culv_device_collect(v->b->bench.rig.device);
    culv_shared_semaphore_destroy(&v->ready);
    culv_shared_semaphore_destroy(&v->done);
}

/* Frames --------------------------------------------------------------------------------------- */

static VkSemaphoreSubmitInfo point(const culv_shared_semaphore *semaphore, uint64_t value)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = culv_vk_semaphore_handle(semaphore),
                                   .value = value,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static void draw(viewer *v, const process_job *job, uint32_t n, uint32_t iterations)
{
    frames_bench *b = v->b;
    culv_ipc_frame frame;
    CULV_OK_OR_EXIT(culv_ipc_consumer_acquire(v->consumer, PATIENCE, &frame));
    REQUIRE_EQ(frame.num_waits, 1);
    const VkCommandBufferSubmitInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer =
            renderer_record(&b->renderer, &(renderer_job){.frame = n,
                                                          .slot = frame.slot,
                                                          .buffer = v->slots[frame.slot].buffer,
                                                          .number = job->base + n,
                                                          .iterations = iterations})};
    const VkSemaphoreSubmitInfo wait = point(v->ready, frame.wait_points[0].value);
    if (job->host_waits)
        CULV_OK_OR_EXIT(
            culv_shared_semaphore_wait_on_host(v->ready, frame.wait_points[0].value, PATIENCE));
    CULV_OK_OR_EXIT(culv_ipc_consumer_release(v->consumer, &frame));
    REQUIRE_EQ(frame.num_signals, 1);
    const VkSemaphoreSubmitInfo signal = point(v->done, frame.signal_points[0].value);
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &commands,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signal};
    VK_OK(vkQueueSubmit2(b->bench.rig.vk.queues[0].queue, 1, &info, VK_NULL_HANDLE));
}

static void take_times(viewer *v, uint32_t frames)
{
    frames_bench *b = v->b;
    memset(v->times, 0, sizeof v->times);
    if (!renderer_fetch(&b->renderer, frames, 0)) return;
    b->clocks = clocks_compare(b);
    for (uint32_t n = 0; n < frames && b->clocks.known; n++)
        v->times[n] = renderer_time_of(&b->renderer, n).ended - (uint64_t)(int64_t)b->clocks.offset;
}

static void run_frames(viewer *v, const process_job *job, uint32_t iterations)
{
    frames_bench *b = v->b;
    VkBuffer buffers[PROCESSES_SLOTS];
    process_answer answer = {.frames = 0};
    join(v, job);
    for (uint32_t i = 0; i < job->slots; i++) {
        import(v, i, job->bytes);
        buffers[i] = v->slots[i].buffer;
    }
    renderer_bind(&b->renderer, buffers, job->slots, job->bytes);
    renderer_reset(&b->renderer, job->frames);
    REQUIRE(processes_write(STDOUT_FILENO, &answer, sizeof answer));
    const double begun = cpu_us();
    for (uint32_t n = 0; n < job->frames; n++)
        draw(v, job, n, iterations);
    VK_OK(vkQueueWaitIdle(b->bench.rig.vk.queues[0].queue));
    answer.ended = bench_now();
    answer.cpu = (cpu_us() - begun) / job->frames;
    const renderer_verdict verdict = renderer_judge(&b->renderer);
    answer.frames = job->frames;
    answer.checked = verdict.frames;
    answer.wrong = verdict.wrong;
    take_times(v, job->frames);
    REQUIRE(processes_write(STDOUT_FILENO, &answer, sizeof answer) &&
            processes_write(STDOUT_FILENO, v->times, job->frames * sizeof v->times[0]));
    leave(v);
    renderer_bind(&b->renderer, b->buffers, b->num_slots, b->slot_bytes);
}

static void run_alone(viewer *v, const process_job *job, uint32_t iterations)
{
    frames_bench *b = v->b;
    process_answer answer = {.frames = 0};
    renderer_reset(&b->renderer, job->frames);
    for (uint32_t n = 0; n < job->frames; n++)
        renderer_record(
            &b->renderer,
            &(renderer_job){.frame = n, .buffer = b->buffers[0], .iterations = iterations});
    answer.us = renderer_alone(b->bench.rig.vk.queues[0].queue, b->renderer.families[0].commands,
                               job->frames) /
                job->frames;
    REQUIRE(processes_write(STDOUT_FILENO, &answer, sizeof answer));
}

int processes_renderer(const char *server, const char *driver, int device, bool quick)
{
    culv_ipc_client_desc desc = culv_ipc_client_desc_init();
    process_job job;
    viewer *v = calloc(1, sizeof *v);
    frames_bench *b = calloc(1, sizeof *b);
    REQUIRE(v != NULL && b != NULL);
    exits_set_up(PROGRAM ", the renderer's process", driver, false);
    bench_set_up(&b->bench, quick, 1, ""); /* its standard output is the pipe */
    frames_open(b, device);
    v->b = b;
    desc.name = server;
    CULV_OK_OR_EXIT(culv_ipc_client_connect(b->bench.rig.device, &desc, PATIENCE, &v->client));
    while (processes_read(STDIN_FILENO, &job, sizeof job)) {
        workload w = {.bytes = job.bytes, .solver_us = 1, .renderer_us = job.renderer_us};
        exits_watch(120, "a task of the renderer's process");
        REQUIRE(job.frames <= b->renderer.num_frames && job.slots <= PROCESSES_SLOTS);
        REQUIRE(frames_slots(b, 1, job.bytes));
        frames_calibrate(b, &w, false);
        (job.task == PROCESS_ALONE ? run_alone : run_frames)(v, &job, w.renderer_iterations);
        exits_watch(0, "");
    }
    culv_ipc_client_destroy(&v->client);
    frames_close(b);
    free(b->bench.results);
    free(b);
    free(v);
    return 0;
}
