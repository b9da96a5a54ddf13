/* SPDX-License-Identifier: MIT */
/* How an engine paces itself beside a ring: the host waits for a timeline of its own, which is not
 * exported, and then uses again what that frame had. The validation layer follows such a timeline,
 * and says nothing; of one that is exported it does not learn what it reached (docs/ring.md). */
#include "vulkan_ring_stage.h"

enum { FRAMES = 200, AHEAD = 2, BYTES = 4099 };

/* What a frame in flight has. */
typedef struct flight {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkDescriptorPool descriptors;
    raw_vk_buffer scratch;
} flight;

static void prepare(ring_stage *s, flight *f, VkDescriptorSetLayout layout)
{
    VkDevice device = s->w.vk.device;
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = f->pool,
        .commandBufferCount = 1};
    const VkDescriptorSetAllocateInfo sets = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = f->descriptors,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &layout};
    VkDescriptorSet set;
    VK_OK(vkAllocateCommandBuffers(device, &commands, &f->commands));
    VK_OK(vkAllocateDescriptorSets(device, &sets, &set));
    raw_vk_buffer_create(&s->w.vk, BYTES, 0, &f->scratch);
}

/* Its submission is over: as engines do, all of it is reset or destroyed. */
static void reuse(ring_stage *s, flight *f)
{
    VkDevice device = s->w.vk.device;
    vkFreeCommandBuffers(device, f->pool, 1, &f->commands);
    VK_OK(vkResetCommandPool(device, f->pool, 0));
    VK_OK(vkResetDescriptorPool(device, f->descriptors, 0));
    raw_vk_buffer_destroy(&s->w.vk, &f->scratch);
}

static void frame(ring_stage *s, const flight *f, VkSemaphore pace, uint64_t number)
{
    culv_ring_frame frame;
    LIB_OK(ring_cuda_turn(s, RING_LIMIT));
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, RING_LIMIT, &frame));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkBeginCommandBuffer(f->commands, &begin));
    vkCmdPipelineBarrier2(f->commands, culv_vk_ring_barriers(s->ring, frame.slot, CULV_VK_ACQUIRE));
    const VkBufferCopy region = {.size = RING_BYTES};
    vkCmdCopyBuffer(f->commands,
                    culv_vk_buffer_handle(culv_ring_shared_buffer(s->ring, frame.slot, 0)),
                    f->scratch.buffer, 1, &region);
    vkCmdPipelineBarrier2(f->commands, culv_vk_ring_barriers(s->ring, frame.slot, CULV_VK_RELEASE));
    VK_OK(vkEndCommandBuffer(f->commands));
    VkSemaphoreSubmitInfo wait, signals[2] = {{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                               .semaphore = pace,
                                               .value = number,
                                               .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT}};
    LIB_OK(culv_ring_release(s->ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(culv_vk_ring_get_points(s->ring, &frame, &wait, &signals[1]));
    const VkCommandBufferSubmitInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = f->commands};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = frame.wait_value != 0,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &commands,
                                .signalSemaphoreInfoCount = 1 + (frame.signal_value != 0),
                                .pSignalSemaphoreInfos = signals};
    VK_OK(vkQueueSubmit2(s->queue, 1, &info, VK_NULL_HANDLE));
}

TEST(paced)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    flight flights[AHEAD];
    ring_world_open(&s);
    ring_open(&s, &o);
    VkDevice device = s.w.vk.device;
    const VkDescriptorSetLayoutBinding binding = {.descriptorType =
                                                      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo descriptors = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1,
        .poolSizeCount = 1,
        .pPoolSizes = &size};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = s.o.family};
    VkDescriptorSetLayout layout;
    VK_OK(vkCreateDescriptorSetLayout(device, &layout_info, NULL, &layout));
    for (int i = 0; i < AHEAD; i++) {
        VK_OK(vkCreateCommandPool(device, &pool, NULL, &flights[i].pool));
        VK_OK(vkCreateDescriptorPool(device, &descriptors, NULL, &flights[i].descriptors));
    }
    VkSemaphore pace = raw_vk_timeline(&s.w.vk, 0, false);
    CUcontext before = lib_enter(&s.w);
    for (uint64_t n = 1; n <= FRAMES + AHEAD; n++) {
        flight *f = &flights[n % AHEAD];
        if (n > AHEAD) {
            REQUIRE(raw_vk_timeline_wait(&s.w.vk, pace, n - AHEAD, TEST_FAR_MS));
            reuse(&s, f);
        }
        if (n > FRAMES) continue;
        prepare(&s, f, layout);
        frame(&s, f, pace, n);
    }
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 0));
    lib_leave(&s.w, before);
    ring_forget(&s);
    raw_vk_idle(&s.w.vk);
    raw_vk_timeline_destroy(&s.w.vk, pace);
    for (int i = 0; i < AHEAD; i++) {
        vkDestroyCommandPool(device, flights[i].pool, NULL);
        vkDestroyDescriptorPool(device, flights[i].descriptors, NULL);
    }
    vkDestroyDescriptorSetLayout(device, layout, NULL);
    ring_close(&s);
    REQUIRE_EQ(s.w.vk.validation_messages, 0);
    ring_world_close(&s);
}
