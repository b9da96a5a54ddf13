/* Fallbacks: semaphores made on the paths that do not share. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "vulkan/vk_fallback.h"

static culv_result semaphore_shared(void *object, const void *desc)
{
    return culvi_vk_semaphore_share(object, desc);
}

static culv_result semaphore_peer(void *object, const void *desc)
{
    culv_vk_semaphore *s = object;
    const culv_vk_semaphore_create_desc *d = desc;
    culv_vk_semaphore far = {.vk = NULL};
    culv_result result = culvi_vk_peer(s->vk, d->label, &far.vk);
    if (result == CULV_OK) result = culvi_vk_semaphore_share(&far, d);
    if (result != CULV_OK) return result;
    result = culvi_relay_semaphore(s->vk->base.device, &culvi_vk_words, d->type, d->initial_value,
                                   d->untracked != 0, d->label, far.cuda, NULL, &s->cuda);
    if (result != CULV_OK) {
        culvi_semaphore_give_up(far.cuda, false, NULL);
        far.vk->table.vkDestroySemaphore(far.vk->vk_device, far.semaphore, NULL);
        return result;
    }
    s->semaphore = far.semaphore;
    s->cuda->owned = true;
    return CULV_OK;
}

/* Inside host functions: Vulkan's calls are allowed there. */

static int signal_by_host(void *context, uint64_t value)
{
    const culv_vk_semaphore *s = context;
    return (int)culvi_vk_timeline_signal(s->vk, s->semaphore, value);
}

static int wait_by_host(void *context, uint64_t value)
{
    const culv_vk_semaphore *s = context;
    return (int)culvi_vk_timeline_wait(s->vk, s->semaphore, value, UINT64_MAX);
}

static bool reached(void *context, uint64_t value)
{
    const culv_vk_semaphore *s = context;
    return culvi_vk_semaphore_reached(s->vk, s->semaphore, value);
}

static void release_by_host(void *context)
{
    culv_vk_semaphore *s = context;
    s->vk->table.vkDestroySemaphore(s->vk->vk_device, s->semaphore, NULL);
    culvi_free(s);
}

static culv_result semaphore_host(void *object, const void *desc)
{
    culv_vk_semaphore *s = object;
    const culv_vk_semaphore_create_desc *d = desc;
    culv_vk *vk = s->vk;
    culvi_host_semaphore host = {.context = s,
                                 .words = &culvi_vk_words,
                                 .signal = signal_by_host,
                                 .wait = wait_by_host,
                                 .reached = reached,
                                 .release = release_by_host,
                                 .holder = vk};
    if (d->type != CULV_SEMAPHORE_TIMELINE)
        return culvi_fail(
            &vk->base.device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
            "the binary semaphore cannot be shared, and the host signals timelines alone; use a timeline");
    culv_result result = culvi_vk_check_host_timelines(vk, d->label);
    if (result == CULV_OK) result = culvi_vk_semaphore_make(vk, d, false, &s->semaphore);
    if (result != CULV_OK) return result;
    result = culvi_relay_semaphore(vk->base.device, &culvi_vk_words, d->type, d->initial_value, false,
                                   d->label, NULL, &host, &s->cuda);
    if (result != CULV_OK) {
        vk->table.vkDestroySemaphore(vk->vk_device, s->semaphore, NULL);
        s->semaphore = VK_NULL_HANDLE;
        return result;
    }
    s->cuda->owned = true;
    return CULV_OK;
}

culv_result culvi_vk_semaphore_fall_back(culv_vk_semaphore *semaphore,
                                         const culv_vk_semaphore_create_desc *desc)
{
    static const culvi_vk_paths paths = {semaphore_shared, semaphore_peer, semaphore_host};
    const culv_vk *vk = semaphore->vk;
    culv_result result = culvi_vk_check_fallback(&vk->base.device->voice, desc->label,
                                                 "culv_vk_semaphore_create_desc", desc->fallback);
    return result == CULV_OK ? culvi_vk_try_paths(vk, desc->label, desc->fallback, &paths, semaphore, desc)
                             : result;
}
