/* SPDX-License-Identifier: MIT */
/* culv_shared_buffer, culv_shared_image and culv_shared_semaphore: what is the same whichever API
 * has the other half. */
#include "core/semaphore.h"
#include "graphics/graphics_ring.h"

culv_result culvi_check_made_by(const culvi_graphics *maker, const culvi_graphics_api *api,
                                const char *label, const char *call)
{
    if (maker->api == api) return CULV_OK;
    return culvi_fail(&maker->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s() takes what was made for %s, and this was made for %s", call,
                      api->words->name, maker->api->words->name);
}

/* Whether the caller may end the object here: it is no part of another one, and the API can delete
 * its half on this thread. */
static culv_result may_end(culvi_graphics *graphics, const char *label, const char *owner,
                           const char *call)
{
    if (culvi_refuse_owned(graphics->device, label, CULVI_OTHERS_PART, owner, call))
        return CULV_ERROR_INVALID;
    return culvi_graphics_may_unmake(graphics, label, call);
}

static culv_result end_pair(culvi_pair *pair, const CUstream *last_use, const char *call)
{
    CULVI_TRY(may_end(pair->graphics, culvi_pair_label(pair), pair->owner_destroy_call, call));
    culvi_pair_destroy(pair, last_use);
    return CULV_OK;
}

/* Buffers -------------------------------------------------------------------------------------- */

culv_result culv_shared_buffer_destroy(culv_shared_buffer **buffer, const CUstream *last_use)
{
    if (buffer == NULL || *buffer == NULL) return CULV_OK;
    CULVI_TRY(end_pair(&(*buffer)->pair, last_use, __func__));
    *buffer = NULL;
    return CULV_OK;
}

CULVI_GETTER(culv_buffer *, culv_shared_buffer_cuda, culv_shared_buffer, self->pair.buffer, NULL)

CUdeviceptr culv_shared_buffer_pointer(const culv_shared_buffer *buffer)
{
    return culv_buffer_pointer(culv_shared_buffer_cuda(buffer));
}

/* Images --------------------------------------------------------------------------------------- */

culv_result culv_shared_image_destroy(culv_shared_image **image, const CUstream *last_use)
{
    if (image == NULL || *image == NULL) return CULV_OK;
    CULVI_TRY(end_pair(&(*image)->pair, last_use, __func__));
    *image = NULL;
    return CULV_OK;
}

CULVI_GETTER(culv_image *, culv_shared_image_cuda, culv_shared_image, self->pair.image, NULL)

/* Semaphores ----------------------------------------------------------------------------------- */

culv_result culv_shared_semaphore_destroy(culv_shared_semaphore **semaphore,
                                          const CUstream *last_use)
{
    if (semaphore == NULL || *semaphore == NULL) return CULV_OK;
    culvi_semaphore_pair *pair = &(*semaphore)->pair;
    CULVI_TRY(may_end(pair->graphics, pair->cuda->label, pair->owner_destroy_call, __func__));
    *semaphore = NULL;
    culvi_semaphore_pair_destroy(pair, last_use);
    return CULV_OK;
}

culv_result culv_shared_semaphore_submit_failed(culv_shared_semaphore *semaphore)
{
    CULVI_REQUIRE(NULL, semaphore);
    culvi_semaphore_pair *pair = &semaphore->pair;
    CULVI_REFUSE_IF(
        pair->cuda->type != CULV_SEMAPHORE_TIMELINE, &pair->graphics->device->voice,
        pair->cuda->label, CULV_REASON_VALUE,
        "%s: CUDA's wait for a binary semaphore is taken only when its signal was submitted, so that none is left over",
        __func__);
    return culvi_semaphore_pair_give_up(pair);
}

CULVI_GETTER(culv_semaphore *, culv_shared_semaphore_cuda, culv_shared_semaphore, self->pair.cuda,
             NULL)

culv_result culv_shared_semaphore_wait_on_host(const culv_shared_semaphore *semaphore,
                                               uint64_t value, uint64_t timeout)
{
    CULVI_REQUIRE(NULL, semaphore);
    const culvi_semaphore_pair *pair = &semaphore->pair;
    culvi_graphics *graphics = pair->graphics;
    const culvi_voice *voice = &graphics->device->voice;
    const char *label = pair->cuda->label;
    CULVI_REFUSE_IF(
        pair->cuda->type != CULV_SEMAPHORE_TIMELINE, voice, label, CULV_REASON_VALUE,
        "%s: a binary semaphore has no counter that the host can wait for; use a timeline, or a fence of the submission",
        __func__);
    CULVI_TRY(graphics->api->check_timelines(graphics, label, CULVI_HOST_WAITS));
    const char *call = NULL;
    const int cancel = culvi_cancel_disable();
    const int code = culvi_graphics_wait(graphics, pair, value, timeout, &call);
    culvi_cancel_restore(cancel);
    if (code == 0) return CULV_OK;
    if (code > 0)
        return culvi_fail(voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_NOT_READY,
                          "%s: the timeline has not reached %" PRIu64 " in %" PRIu64
                          " ns; CUDA has signaled or promised %" PRIu64,
                          __func__, value, timeout, culvi_semaphore_last(pair->cuda));
    return culvi_graphics_notice(graphics,
                                 graphics->api->fail(graphics, label, code, call,
                                                     "the host could not wait for the timeline"));
}
