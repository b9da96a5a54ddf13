/* Fallbacks: which path is taken. SPDX-License-Identifier: MIT */
#include "base/attempt.h"
#include "vulkan/vk_fallback.h"

#include <stdio.h>

culv_result culvi_vk_check_fallback(const culvi_voice *voice, const char *label, const char *desc,
                                    uint32_t fallback)
{
    if (!(fallback & ~(uint32_t)CULV_FALLBACK_ANY)) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s.fallback is %#x; it is CULV_FALLBACK_PEER (1), CULV_FALLBACK_HOST (2) or both",
                      desc, (unsigned)fallback);
}

culv_result culvi_vk_check_shares(const culv_vk *vk, const char *label, bool semaphores)
{
    const culvi_voice *voice = &vk->base.device->voice;
    if (vk->base.foreign)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
            "the Vulkan device '%s' is another GPU than the culv_device '%s'; no driver carries memory or "
            "semaphores from one to the other. What Culvert makes can be copied: set `fallback`",
            vk->base.name, vk->base.device->caps.name);
    const char *extension = semaphores && !culvi_vk_exports_semaphores(vk) ? culvi_vk_semaphore_extension
                            : !semaphores && !culvi_vk_exports_memory(vk)  ? culvi_vk_memory_extension
                                                                           : NULL;
    if (extension == NULL) return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without the extension %s, so nothing of it can be shared",
        vk->base.name, extension);
}

/* Whether the last error says that a path is impossible here; a call that is wrong stays wrong on every path. What a
 * driver refuses of another GPU need not concern this one. */
static bool impossible(const culv_vk *vk, culv_path path, culv_result result)
{
    culv_reason reason = culvi_thread_state()->error.reason;
    return result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_NO_DEVICE ||
           (result == CULV_ERROR_DRIVER && path == CULV_PATH_PEER) ||
           (result == CULV_ERROR_INVALID && reason == CULV_REASON_DEVICE_MISMATCH && vk->base.foreign);
}

culv_result culvi_vk_try_paths(const culv_vk *vk, const char *label, uint32_t fallback,
                               const culvi_vk_paths *paths, void *object, const void *desc)
{
    const culvi_voice *voice = &vk->base.device->voice;
    char why[2][512] = {"", ""};
    culv_path path = CULV_PATH_SHARED;
    culvi_attempt_begin();
    culv_result result = paths->shared(object, desc);
    if (result != CULV_OK && (fallback & CULV_FALLBACK_PEER) && impossible(vk, path, result)) {
        path = CULV_PATH_PEER;
        snprintf(why[0], sizeof why[0], "%s", culv_last_error_message());
        result = paths->peer(object, desc);
    }
    if (result != CULV_OK && (fallback & CULV_FALLBACK_HOST) && impossible(vk, path, result)) {
        snprintf(why[path == CULV_PATH_PEER], sizeof why[0], "%s", culv_last_error_message());
        path = CULV_PATH_HOST;
        result = paths->host(object, desc);
    }
    if (result == CULV_OK && path != CULV_PATH_SHARED)
        culvi_log(voice, CULV_LOG_INFO, "'%s' is on the %s path: %s%s%s", label != NULL ? label : "",
                  culv_path_name(path), why[0], why[1][0] != '\0' ? "; no peer copies: " : "", why[1]);
    return culvi_attempt_end(voice, result);
}

culv_result culvi_vk_peer(culv_vk *vk, const char *label, culv_vk **out)
{
    culvi_graphics *there = NULL;
    culv_result result = culvi_graphics_peer(&vk->base, label, &there);
    if (result == CULV_OK) *out = (culv_vk *)there;
    return result;
}
