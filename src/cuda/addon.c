/* SPDX-License-Identifier: MIT */
/* What libraries on top of this one need of a device. */
#include "culvert/addon.h"

#include "cuda/retire.h"

struct culv_addon_object {
    culv_device *device;
    culv_addon_object_desc desc;
    char label[64];
    culvi_tie tie;
    culvi_deferred deferred;
};

/* A culvi_scope in a number. */
enum { PUSHED = 1, RELAXED = 2, MODE = 2 /* bits below it */ };

culv_result culv_device_enter(culv_device *device, culv_bool quietly, uint64_t *scope)
{
    culvi_scope s;
    CULVI_REQUIRE_WITH(device, &device->voice, scope);
    if (quietly) {
        if (culvi_enter_quietly(device, &s) != CUDA_SUCCESS) return CULV_ERROR_ASYNC;
    } else {
        const culv_result result = culvi_enter(device, &s, NULL);
        if (result != CULV_OK) return result;
    }
    *scope = (s.pushed ? PUSHED : 0) | (s.relaxed ? RELAXED : 0) | (uint64_t)s.mode << MODE;
    return CULV_OK;
}

void culv_device_leave(culv_device *device, uint64_t scope)
{
    culvi_scope s = {.pushed = (scope & PUSHED) != 0,
                     .relaxed = (scope & RELAXED) != 0,
                     .mode = (CUstreamCaptureMode)(scope >> MODE)};
    if (device != NULL) culvi_leave(device, &s);
}

culv_result culv_device_fail(culv_device *device, const char *object, const culv_error *error)
{
    const culvi_voice *voice = device != NULL ? &device->voice : NULL;
    CULVI_REQUIRE(voice, error);
    CULVI_READ(voice, culv_error, e, error);
    e.native_call[sizeof e.native_call - 1] = '\0';
    e.message[sizeof e.message - 1] = '\0';
    if (e.result == CULV_OK && e.native_api == CULV_NATIVE_CUDA && device != NULL)
        return culvi_fail_cuda(device, object, (CUresult)e.native_code, e.native_call, e.reason,
                               "%s", e.message);
    CULVI_REFUSE_IF(e.result >= 0, voice, object, CULV_REASON_VALUE,
                    "%s: result is %d, which is no error", __func__, (int)e.result);
    return culvi_fail_native(voice, object, e.result, e.reason, e.native_api, e.native_code,
                             e.native_call, "%s", e.message);
}

culv_result culv_addon_object_create(culv_device *device, const culv_addon_object_desc *desc,
                                     culv_addon_object **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_addon_object_desc, d, desc);
    CULVI_REFUSE_IF(d.kind == NULL, &device->voice, d.label, CULV_REASON_NULL_ARGUMENT,
                    "culv_addon_object_desc.kind is NULL");
    CULVI_NEW(culv_addon_object, o, &device->voice, d.label);
    o->device = device;
    o->desc = d;
    culvi_label_set(o->label, d.label);
    culvi_device_ref(device);
    if (d.not_suspended != NULL) {
        CULVI_LOCKED(&device->lock,
                     culvi_tie_add(device, &o->tie, o->desc.kind, o->label, d.not_suspended));
    }
    culvi_made(device, &o->deferred, o->desc.kind, o->label, d.size);
    *out = o;
    return CULV_OK;
}

static void destroy(culv_addon_object *o)
{
    if (o->desc.free != NULL) o->desc.free(o->desc.user);
    culvi_free(o);
}

static bool release(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_addon_object *o = CULVI_CONTAINER(self, culv_addon_object, deferred);
    const char *call = NULL;
    const CUresult r = device->lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                    : (CUresult)o->desc.release(o->desc.user, &call);
    if (!culvi_release_done(device, call, r, last_try)) return false;
    destroy(o);
    return true;
}

void culv_addon_object_destroy(culv_addon_object **object, const CUstream *last_use)
{
    if (object == NULL || *object == NULL) return;
    culv_addon_object *mine = *object;
    culv_device *device = mine->device;
    const bool at_driver = mine->desc.release != NULL;
    *object = NULL;
    culvi_mutex_lock(&device->lock);
    culvi_tie_remove(&mine->tie);
    mine->deferred.release = release;
    if (at_driver) culvi_release_or_defer(device, &mine->deferred, last_use);
    culvi_mutex_unlock(&device->lock);
    if (!at_driver) {
        culvi_log_object(&device->voice, "destroyed", mine->desc.kind, mine->label,
                         mine->desc.size);
        destroy(mine);
    }
    culvi_device_unref(device);
}

culv_result culv_device_check_stream(culv_device *device, const char *object, CUstream stream,
                                     const char *uncaptured)
{
    culvi_capture capture;
    char name[40];
    CULVI_REQUIRE(NULL, device);
    CULVI_TRY(culvi_recheck_stream(device, object, stream, CUDA_SUCCESS));
    if (uncaptured == NULL) return CULV_OK;
    CUresult r = culvi_stream_capture(device, stream, &capture);
    CULVI_CU_CHECK(device, object, r, "cuStreamIsCapturing", CULV_REASON_DRIVER_REFUSED,
                   "the driver could not be asked whether the stream is being captured");
    if (capture == CULVI_NOT_CAPTURED) return CULV_OK;
    culvi_stream_name(stream, name);
    return culvi_fail(&device->voice, object, CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
                      "%s %s, and %s; call this before, with a stream that is not being captured",
                      name,
                      capture == CULVI_CAPTURED ? "is being captured"
                                                : "waits for a stream that is being captured",
                      uncaptured);
}
