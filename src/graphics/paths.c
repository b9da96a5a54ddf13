/* SPDX-License-Identifier: MIT */
/* Fallbacks: which path is taken. */
#include "base/attempt.h"
#include "graphics/pair.h"

#include <stdio.h>

culv_result culvi_check_fallback(const culvi_voice *voice, const char *label, const char *desc,
                                 uint32_t fallback)
{
    if (!(fallback & ~(uint32_t)CULV_FALLBACK_ANY)) return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "%s.fallback is %#x; it is CULV_FALLBACK_PEER (1), CULV_FALLBACK_HOST (2) or both", desc,
        (unsigned)fallback);
}

/* Whether the last error says that a path is impossible here; a call that is wrong stays wrong on
 * every path. What a driver refuses of another GPU need not concern this one. */
static bool impossible(const culvi_graphics *graphics, culv_sharing path, culv_result result)
{
    culv_reason reason = culvi_thread_state()->error.reason;
    return result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_NO_DEVICE ||
           (result == CULV_ERROR_DRIVER && (path == CULV_SHARING_PEER || graphics->across)) ||
           (result == CULV_ERROR_INVALID && reason == CULV_REASON_DEVICE_MISMATCH &&
            graphics->foreign);
}

culv_result culvi_try_paths(const culvi_graphics *graphics, const char *label, uint32_t fallback,
                            const culvi_paths *paths, void *object, void *plan)
{
    const culvi_voice *voice = &graphics->device->voice;
    char why[2][512] = {"", ""};
    culv_sharing path = CULV_SHARING_SHARED;
    culvi_attempt_begin();
    culv_result result = paths->shared(object, plan);
    if (result != CULV_OK && (fallback & CULV_FALLBACK_PEER) &&
        impossible(graphics, path, result)) {
        path = CULV_SHARING_PEER;
        snprintf(why[0], sizeof why[0], "%s", culv_last_error_message());
        result = paths->peer(object, plan);
    }
    if (result != CULV_OK && (fallback & CULV_FALLBACK_HOST) &&
        impossible(graphics, path, result)) {
        snprintf(why[path == CULV_SHARING_PEER], sizeof why[0], "%s", culv_last_error_message());
        path = CULV_SHARING_HOST;
        result = paths->host(object, plan);
    }
    if (result == CULV_OK && path != CULV_SHARING_SHARED)
        culvi_log(voice, CULV_LOG_INFO, "'%s' uses %s sharing: %s%s%s", label != NULL ? label : "",
                  culv_sharing_name(path), why[0], why[1][0] != '\0' ? "; no peer copies: " : "",
                  why[1]);
    return culvi_attempt_end(voice, result);
}
