/* SPDX-License-Identifier: MIT */
/* observer's viewer: Vulkan draws the newest frame from the solver's own memory, and checks each
 * particle on the way. It comes, stays for some frames, and leaves or dies. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/vulkan_setup.h"
#include "observer.h"
#include "particle.h"

enum { MOST_CHUNKS = 256, BLOCK = 256 };

/* shaders/observer/splat.comp */
typedef struct constants {
    uint32_t first, count, step, width, height;
    float turn;
} constants;

/* A chunk of a vector, as Vulkan has it. */
typedef struct chunk {
    culv_part part;
    VkDescriptorSet set;
} chunk;

typedef struct slot {
    culv_vector *vector;
    culv_vector_view *view;
    uint32_t count;
    chunk chunks[MOST_CHUNKS];
} slot;

typedef struct viewer {
    vulkan_setup vulkan;
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_vk_device *attached;
    culv_shared_semaphore *ready, *done;
    culv_ipc_client *client;
    culv_ring *consumer;
    slot slots[OBSERVER_SLOTS];
    vulkan_buffer picture; /* the count of wrong particles, and counts by pixel */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline splat;
    VkDescriptorPool pool;
    VkCommandPool commands;
    VkCommandBuffer buffer;
    VkFence fence;
    uint64_t wrong, first_particles, last_particles, particles;
} viewer;

static bool create_pipeline(viewer *v)
{
    VkDevice device = v->vulkan.device;
    VkDescriptorSetLayoutBinding bindings[2] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 2,
                                           .pBindings = bindings};
    if (!VK_MADE(vkCreateDescriptorSetLayout(device, &set, NULL, &v->set_layout),
                 "vkCreateDescriptorSetLayout", &v->set_layout))
        return false;
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &v->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
    return VK_MADE(vkCreatePipelineLayout(device, &layout, NULL, &v->layout),
                   "vkCreatePipelineLayout", &v->layout) &&
           pipeline_create_compute(&v->vulkan, "observer_splat.comp.spv", v->layout, &v->splat);
}

static bool create_commands(viewer *v)
{
    VkDevice device = v->vulkan.device;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                 2 * MOST_CHUNKS * OBSERVER_SLOTS};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = MOST_CHUNKS * OBSERVER_SLOTS,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = v->vulkan.queue_family};
    if (!VK_MADE(vkCreateDescriptorPool(device, &pool, NULL, &v->pool), "vkCreateDescriptorPool",
                 &v->pool) ||
        !VK_MADE(vkCreateCommandPool(device, &commands, NULL, &v->commands), "vkCreateCommandPool",
                 &v->commands))
        return false;
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = v->commands,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    return vk_ok(vkAllocateCommandBuffers(device, &buffer, &v->buffer),
                 "vkAllocateCommandBuffers") &&
           VK_MADE(vkCreateFence(device, &fence, NULL, &v->fence), "vkCreateFence", &v->fence);
}

/* Vulkan makes the timelines, so it brings them along. */
static bool join(viewer *v, const options *o)
{
    culv_ipc_client_desc client = culv_ipc_client_desc_init();
    culv_ipc_consumer_desc desc = culv_ipc_consumer_desc_init();
    culv_ipc_timelines own = culv_ipc_timelines_init();
    client.name = o->name;
    desc.ring = OBSERVER_RING;
    desc.policy = CULV_RING_MAILBOX;
    desc.timelines = &own;
    if (!interop_timeline(v->attached, "ready", &v->ready) ||
        !interop_timeline(v->attached, "done", &v->done) ||
        !culv_ok(culv_ipc_client_connect(v->device, &client, observer_timeout(o), &v->client),
                 "culv_ipc_client_connect") ||
        !culv_ok(culv_vk_semaphore_export_dup(v->attached, culv_vk_semaphore_handle(v->ready),
                                              CULV_HANDLE_OPAQUE_FD, &own.ready),
                 "culv_vk_semaphore_export_dup"))
        return false;
    bool fine = culv_ok(culv_vk_semaphore_export_dup(v->attached, culv_vk_semaphore_handle(v->done),
                                                     CULV_HANDLE_OPAQUE_FD, &own.done),
                        "culv_vk_semaphore_export_dup") &&
                culv_ok(culv_ipc_ring_join(v->client, &desc, observer_timeout(o), &v->consumer),
                        "culv_ipc_ring_join");
    culv_handle_close(&own.ready);
    culv_handle_close(&own.done);
    return fine;
}

static bool describe_chunk(viewer *v, chunk *c)
{
    VkDevice device = v->vulkan.device;
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = v->pool,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &v->set_layout};
    if (!vk_ok(vkAllocateDescriptorSets(device, &set, &c->set), "vkAllocateDescriptorSets"))
        return false;
    VkDescriptorBufferInfo buffers[2] = {{(VkBuffer)c->part.buffer, 0, VK_WHOLE_SIZE},
                                         {v->picture.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet writes[2];
    for (uint32_t i = 0; i < 2; i++)
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = c->set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    vkUpdateDescriptorSets(device, 2, writes, 0, NULL);
    return true;
}

static bool open_slot(viewer *v, const options *o, uint32_t index)
{
    char name[64];
    slot *s = &v->slots[index];
    culv_ipc_vector_desc desc = culv_ipc_vector_desc_init();
    culv_vk_vector_view_desc view = culv_vk_vector_view_desc_init();
    observer_vector_name(name, index);
    desc.name = name;
    desc.keep_handles = 1;
    view.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    return culv_ok(culv_ipc_vector_open(v->client, &desc, observer_timeout(o), &s->vector),
                   "culv_ipc_vector_open") &&
           culv_ok(culv_vk_vector_view_create(v->attached, s->vector, &view, &s->view),
                   "culv_vk_vector_view_create");
}

/* Takes in what the slot's vector has grown by. The solver changes nothing there meanwhile: the
 * frame is held. */
static bool update_slot(viewer *v, const options *o, uint32_t index)
{
    slot *s = &v->slots[index];
    culv_part parts[MOST_CHUNKS];
    size_t count = 0;
    if (s->vector == NULL) {
        if (!open_slot(v, o, index)) return false;
    } else if (!culv_ok(culv_ipc_vector_update(s->vector, NULL, observer_timeout(o)),
                        "culv_ipc_vector_update") ||
               !culv_ok(culv_vector_view_update(s->view), "culv_vector_view_update")) {
        return false;
    }
    if (!culv_ok(culv_vector_view_get_parts(s->view, parts, MOST_CHUNKS, &count),
                 "culv_vector_view_get_parts"))
        return false;
    if (count > MOST_CHUNKS) {
        report("more than %d chunks", (int)MOST_CHUNKS);
        return false;
    }
    /* The solver's vector only grows: what was there stays in its place. */
    for (; s->count < count; s->count++) {
        s->chunks[s->count].part = parts[s->count];
        if (!describe_chunk(v, &s->chunks[s->count])) return false;
    }
    return true;
}

/* From the solver's process to this queue, or back. */
static void pass(const viewer *v, VkBuffer buffer, bool back)
{
    const uint32_t own = v->vulkan.queue_family;
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                      .dstAccessMask =
                                          back ? 0 : VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                      .srcQueueFamilyIndex = back ? own : VK_QUEUE_FAMILY_EXTERNAL,
                                      .dstQueueFamilyIndex = back ? VK_QUEUE_FAMILY_EXTERNAL : own,
                                      .buffer = buffer,
                                      .size = VK_WHOLE_SIZE};
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .bufferMemoryBarrierCount = 1,
                             .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(v->buffer, &info);
}

static bool record(viewer *v, const options *o, const slot *s, uint64_t number)
{
    const VkCommandBuffer c = v->buffer;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    constants values = {.step = (uint32_t)number,
                        .width = o->width,
                        .height = o->height,
                        .turn = 0.004f * (float)(number % 100000)};
    uint64_t left = culv_vector_size(s->vector) / sizeof(particle);
    v->particles = left;
    if (!vk_ok(vkBeginCommandBuffer(c, &begin), "vkBeginCommandBuffer")) return false;
    vkCmdFillBuffer(c, v->picture.buffer, 0, VK_WHOLE_SIZE, 0);
    VkMemoryBarrier2 filled = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                               .srcStageMask = VK_PIPELINE_STAGE_2_CLEAR_BIT,
                               .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                               .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                               .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                                                VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT};
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .memoryBarrierCount = 1,
                             .pMemoryBarriers = &filled};
    vkCmdPipelineBarrier2(c, &info);
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, v->splat);
    for (uint32_t i = 0; i < s->count && left > 0; i++) {
        const uint64_t room = s->chunks[i].part.size / sizeof(particle);
        values.count = (uint32_t)(left < room ? left : room);
        pass(v, (VkBuffer)s->chunks[i].part.buffer, false);
        vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, v->layout, 0, 1,
                                &s->chunks[i].set, 0, NULL);
        vkCmdPushConstants(c, v->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof values, &values);
        vkCmdDispatch(c, (values.count + BLOCK - 1) / BLOCK, 1, 1);
        pass(v, (VkBuffer)s->chunks[i].part.buffer, true);
        values.first += values.count;
        left -= values.count;
    }
    VkMemoryBarrier2 host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                             .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                             .srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                             .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                             .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    info.pMemoryBarriers = &host;
    vkCmdPipelineBarrier2(c, &info);
    return vk_ok(vkEndCommandBuffer(c), "vkEndCommandBuffer");
}

/* Or stops. */
static void die(const options *o, uint64_t number)
{
    printf("viewer: %s frame %llu %s\n", o->death == DEATH_STOPPED ? "stops with" : "dies with",
           (unsigned long long)number,
           o->death == DEATH_HOLDING ? "in its hands" : "given back and not read");
    fflush(stdout);
    /* Who is stopped is deaf to anything else when the program that started it ends. */
    if (o->death == DEATH_STOPPED) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)raise(o->death == DEATH_STOPPED ? SIGSTOP : SIGKILL);
}

/* The frame's work is submitted: waits until the GPU has done it. */
static bool wait_for_frame(viewer *v, const options *o)
{
    const double until = clock_seconds() + (double)o->patience;
    VkResult waited;
    do { /* it asks meanwhile whether the solver is there: else the call moves `ready` on */
        waited = vkWaitForFences(v->vulkan.device, 1, &v->fence, VK_TRUE, 100000000);
    } while (waited == VK_TIMEOUT && (culv_ipc_ring_connected(v->consumer), true) &&
             clock_seconds() < until);
    if (waited == VK_TIMEOUT) {
        /* It lives and does nothing. What the queue waits with cannot be destroyed. */
        report("the solver has not written its frame in %llu s; this viewer ends at once",
               (unsigned long long)o->patience);
        fflush(NULL);
        _exit(EXIT_FAILURE);
    }
    return vk_ok(waited, "vkWaitForFences") &&
           vk_ok(vkResetFences(v->vulkan.device, 1, &v->fence), "vkResetFences");
}

static bool draw(viewer *v, const options *o, culv_ring_frame *frame, bool last)
{
    const vulkan_setup *vk = &v->vulkan;
    const uint32_t index = frame->slot;
    if (!update_slot(v, o, index) || !record(v, o, &v->slots[index], frame->number) ||
        !culv_ok(culv_ring_release(v->consumer, CULV_RING_CONSUMER, frame), "culv_ring_release"))
        return false;
    if (last) die(o, frame->number);
    VkSemaphoreSubmitInfo wait =
        vulkan_submit_point(culv_vk_semaphore_handle(v->ready), frame->wait_value,
                            VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(culv_vk_semaphore_handle(v->done), frame->signal_value,
                            VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    if (!vulkan_submit(vk->queue, v->buffer, &wait, &signal, v->fence) || !wait_for_frame(v, o))
        return false;
    v->wrong += *(const uint32_t *)v->picture.mapped;
    return true;
}

/* Brightness by the logarithm of a pixel's count: few and many are both seen. */
static bool write_picture(const viewer *v, const options *o)
{
    const uint32_t *counts = (const uint32_t *)v->picture.mapped + 1;
    const size_t pixels = (size_t)o->width * o->height;
    uint8_t *rgba = malloc(4 * pixels);
    if (!rgba) return false;
    for (size_t i = 0; i < pixels; i++) {
        float light = 0.0f;
        for (uint32_t c = counts[i]; c > 0; c /= 2)
            light += 0.19f;
        const float color[3] = {light * light * 1.4f, light * 0.8f, 0.05f + light};
        for (int k = 0; k < 3; k++)
            rgba[4 * i + (size_t)k] = color[k] < 1.0f ? (uint8_t)(255.0f * color[k]) : 255;
        rgba[4 * i + 3] = 255;
    }
    bool fine =
        files_make_parents(o->output) && png_write_rgba(o->output, o->width, o->height, rgba);
    free(rgba);
    return fine;
}

static bool look(viewer *v, const options *o)
{
    for (uint64_t i = 0; i < o->frames; i++) {
        culv_ring_frame frame;
        if (!culv_ok(
                culv_ring_acquire(v->consumer, CULV_RING_CONSUMER, observer_timeout(o), &frame),
                "culv_ring_acquire"))
            return false;
        const bool last = i + 1 == o->die_after;
        if (last && o->death == DEATH_HOLDING) die(o, frame.number);
        if (!draw(v, o, &frame, last)) return false;
        if (i == 0) v->first_particles = v->particles;
        v->last_particles = v->particles;
    }
    return true;
}

static void tear_down(viewer *v)
{
    VkDevice device = v->vulkan.device;
    if (device) (void)vkDeviceWaitIdle(device);
    culv_ring_destroy(&v->consumer, NULL);
    for (uint32_t i = 0; i < OBSERVER_SLOTS; i++) {
        culv_vector_view_destroy(&v->slots[i].view);
        culv_vector_destroy(&v->slots[i].vector, NULL);
    }
    culv_ipc_client_destroy(&v->client);
    if (device) {
        vkDestroyFence(device, v->fence, NULL);
        vkDestroyCommandPool(device, v->commands, NULL);
        vkDestroyDescriptorPool(device, v->pool, NULL);
        vkDestroyPipeline(device, v->splat, NULL);
        vkDestroyPipelineLayout(device, v->layout, NULL);
        vkDestroyDescriptorSetLayout(device, v->set_layout, NULL);
        vulkan_buffer_destroy(&v->vulkan, &v->picture);
    }
    culv_shared_semaphore_destroy(&v->ready, NULL);
    culv_shared_semaphore_destroy(&v->done, NULL);
    culv_vk_detach(&v->attached);
    interop_close_device(&v->device, v->cu, v->callers_context);
    vulkan_setup_destroy(&v->vulkan);
}

bool viewer_run(const options *o)
{
    viewer *v = calloc(1, sizeof *v);
    vulkan_wishes wishes = {.name = "observer", .validation = o->validation};
    if (!v) return false;
    const VkDeviceSize bytes = 4 * (1 + (VkDeviceSize)o->width * o->height);
    bool fine =
        vulkan_setup_create(&v->vulkan, o->driver, &wishes) &&
        interop_open_device(&v->vulkan, &v->device, &v->cu, &v->callers_context) &&
        interop_attach(&v->vulkan, v->device, false, &v->attached) &&
        vulkan_buffer_create(&v->vulkan, bytes,
                             VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                             true, &v->picture) &&
        create_pipeline(v) && create_commands(v) && join(v, o) && look(v, o) &&
        (!o->output || write_picture(v, o));
    if (fine)
        printf("viewer: %llu frames on %s, %llu to %llu particles, %llu of them wrong\n",
               (unsigned long long)o->frames, v->vulkan.candidate.name,
               (unsigned long long)v->first_particles, (unsigned long long)v->last_particles,
               (unsigned long long)v->wrong);
    fine = fine && v->wrong == 0;
    tear_down(v);
    if (v->vulkan.num_messages > 0) fine = false;
    free(v);
    return fine;
}
