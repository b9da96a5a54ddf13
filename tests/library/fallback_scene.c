/* SPDX-License-Identifier: MIT */
/* Scenes in which nothing can be shared. */
#include "fallback_scene.h"

int scene_draws;

void scene_open_bare(scene *s, scene_kind kind)
{
    lib_world *w = &s->w;
    CUuuid uuid;
    bool lies = kind == SCENE_PAGES || kind == SCENE_MAPPED;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->path = lies                 ? CULV_SHARING_HOST
              : kind == SCENE_PEER ? CULV_SHARING_PEER
                                   : CULV_SHARING_SHARED;
    s->order = s->path;
    const bool direct = kind == SCENE_DIRECT || kind == SCENE_PLACED,
               two = direct || kind == SCENE_PEER;
    if (direct) s->path = CULV_SHARING_DIRECT;
    if (two) raw_cuda_two_devices();
    w->cu = lib_driver();
    const raw_cuda *cu = w->cu;
    if (two && cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(cu->DeviceGetUuid(&uuid, two ? scene_draws : 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = cu->software,
                                          .with_formats = true,
                                          .host_memory = kind != SCENE_MAPPED});
    w->fds = test_open_fds();
    /* NVIDIA's driver opens files of its own with each context; library-endurance shows that none
     * is leaked. */
    if (!cu->software) w->fds += 1000;
    w->device = lib_another_device(two && scene_draws == 0, NULL);
    lib_lying = (lib_lies){
        .exports_nothing = lies, .exports_no_semaphores = lies, .takes_pages = kind == SCENE_PAGES};
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    d.fallback = kind == SCENE_SHARED || direct ? 0 : CULV_FALLBACK_ANY;
    d.allow_other_gpu = direct;
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    w->context = culv_device_context(w->device);
}

culv_result scene_semaphore(const scene *s, uint32_t fallback, culv_shared_semaphore **out)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.fallback = fallback;
    d.label = "order";
    return culv_vk_semaphore_create(s->w.attachment, &d, out);
}

void scene_open(scene *s, scene_kind kind)
{
    scene_open_bare(s, kind);
    LIB_OK(scene_semaphore(s, CULV_FALLBACK_ANY, &s->to_vulkan));
    LIB_OK(scene_semaphore(s, CULV_FALLBACK_ANY, &s->to_cuda));
    REQUIRE_EQ(culv_semaphore_sharing(culv_shared_semaphore_cuda(s->to_vulkan)), s->order);
    REQUIRE_EQ(culv_semaphore_sharing(culv_shared_semaphore_cuda(s->to_cuda)), s->order);
    s->stream = lib_stream(&s->w);
}

void scene_open_unheard(scene *s, scene_kind kind)
{
    lib_with_option("--validation=off");
    scene_open(s, kind);
}

void scene_close(scene *s)
{
    if (s->stream != NULL) {
        lib_finish(&s->w, s->stream);
        raw_vk_idle(&s->w.vk);
        lib_stream_destroy(&s->w, s->stream);
    }
    culv_shared_semaphore_destroy(&s->to_vulkan, NULL);
    culv_shared_semaphore_destroy(&s->to_cuda, NULL);
    lib_settle(&s->w);
    culv_vk_detach(&s->w.attachment);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.allocations, 0);
    REQUIRE_EQ(c.peers, 0);
    lib_close(&s->w);
}

culv_result scene_buffer(const scene *s, uint64_t size, uint32_t fallback, culv_shared_buffer **out)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                 VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.fallback = fallback;
    if (s->kind == SCENE_PLACED) d.memory_kind = CULV_MEMORY_KIND_COMPRESSIBLE;
    d.label = "cells";
    return culv_vk_buffer_create(s->w.attachment, &d, out);
}

void scene_signal(scene *s)
{
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(s->to_vulkan), s->stream,
                                 ++s->cuda_value));
    /* On the HOST path the host function may still be returning, which validation layers before
     * 1.3.296 take ill (Vulkan-ValidationLayers pull 8519). */
    if (s->path == CULV_SHARING_HOST && s->w.vk.validation) lib_finish(&s->w, s->stream);
}

void scene_submit(scene *s, VkCommandBuffer commands)
{
    raw_vk_submit(&s->w.vk, commands,
                  &(raw_vk_job){.wait = culv_vk_semaphore_handle(s->to_vulkan),
                                .wait_value = s->cuda_value,
                                .signal = culv_vk_semaphore_handle(s->to_cuda),
                                .signal_value = ++s->vulkan_value,
                                .pending = true});
}

void scene_wait(scene *s)
{
    if (s->path == CULV_SHARING_HOST && s->w.vk.validation) raw_vk_idle(&s->w.vk);
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(s->to_cuda), s->stream, s->vulkan_value));
}

void scene_buffer_barrier(const scene *s, VkCommandBuffer commands, culv_shared_buffer *buffer,
                          bool acquire)
{
    VkBufferMemoryBarrier2 barrier;
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    t.queue_family = 0;
    t.buffer = culv_vk_buffer_handle(buffer);
    t.use = CULV_VK_USE_ANY;
    LIB_OK(culv_vk_buffer_get_barrier2(&t, acquire ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}
