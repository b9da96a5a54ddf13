/* SPDX-License-Identifier: MIT */
/* A device on both sides of a checkpoint: all that CUDA imported is given up, and made again.
 *
 * Measured on an H200 (docs/checkpoints.md): the driver checkpoints a process that has imports, and
 * does not restore it. Memory that CUDA exported comes back as other memory, without an error, so
 * that is refused here. */
#include "core/memory.h"
#include "core/semaphore.h"

#define DESTROY "destroy it before, and make it again after culv_device_resume()"

/* What is refused ------------------------------------------------------------------------------ */

static culv_result refuse(const culv_device *device, const char *label, culv_reason reason,
                          const char *kind, const char *why)
{
    return culvi_fail(&device->voice, label, CULV_ERROR_INVALID, reason,
                      "culv_device_suspend: the %s %s. Nothing was given up", kind, why);
}

static culv_result check_source(const culv_device *device, const culvi_source *source,
                                const char *label, const char *kind, bool imports_live)
{
    if (source->handle == NULL)
        return refuse(
            device, label, CULV_REASON_NOT_EXPORTABLE, kind,
            "was imported by a handle, or is not Vulkan's, or its attachment is gone, so that Culvert cannot ask for its handle again; " DESTROY);
    if (!source->callers || imports_live) return CULV_OK;
    return refuse(
        device, label, CULV_REASON_OPT_IN, kind,
        "is an import of your own Vulkan object, which may be gone; if it stays until the resume, set culv_suspend_desc.imports_live");
}

static culv_result check_memory(const culv_memory *memory, bool imports_live)
{
    const culv_device *device = memory->device;
    for (const culv_buffer *b = memory->first_buffer; b != NULL; b = b->next)
        if (b->is_tensor && b->deferred.release == NULL)
            return refuse(
                device, b->label, CULV_REASON_MAPPED, "buffer",
                "has a tensor (culv_buffer_get_dlpack()) that somebody holds, and whose address may change; release the tensor before");
    if (memory->holders == 0 || memory->host != NULL) return CULV_OK;
    if (memory->way == CULVI_MEMORY_OPENED)
        return refuse(
            device, memory->label, CULV_REASON_NOT_EXPORTABLE, "memory of another process",
            "is not restored; destroy it before, and import it again after culv_device_resume()");
    if (memory->way != CULVI_MEMORY_IMPORTED)
        return refuse(device, memory->label, CULV_REASON_DEVICE_MISMATCH, "memory",
                      "lies on another GPU; " DESTROY);
    return check_source(device, &memory->source, memory->label, "memory", imports_live);
}

static culv_result check_semaphore(const culv_semaphore *semaphore, bool imports_live)
{
    const culv_device *device = semaphore->device;
    const culvi_source *source = &semaphore->source;
    const uint64_t waited = atomic_load(&semaphore->waits.value);
    uint64_t now = 0;
    if (semaphore->deferred.release != NULL) return CULV_OK; /* it was given up */
    if (semaphore->type != CULV_SEMAPHORE_TIMELINE)
        return refuse(device, semaphore->label, CULV_REASON_USAGE, "semaphore",
                      "is binary; use a timeline, or " DESTROY);
    if (semaphore->across)
        return refuse(device, semaphore->label, CULV_REASON_DEVICE_MISMATCH, "semaphore",
                      "is another GPU's; " DESTROY);
    const culv_result result =
        check_source(device, source, semaphore->label, "semaphore", imports_live);
    if (result != CULV_OK || source->counter == NULL ||
        !source->counter(source->context, source->native, &now) || waited <= now)
        return result;
    return culvi_fail(&device->voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_NOT_READY,
                      "culv_device_suspend: CUDA waits for value %" PRIu64
                      " of the timeline, which is at %" PRIu64
                      "; submit the work that signals it, and wait for it. Nothing was given up",
                      waited, now);
}

static culv_result check_counts(const culv_device *device)
{
    const culvi_tie *tie = device->ties;
    if (tie != NULL) return refuse(device, tie->label, CULV_REASON_MAPPED, tie->kind, tie->what);
    CULVI_REFUSE_IF(
        device->counts.registrations > 0, &device->voice, NULL, CULV_REASON_MAPPED,
        "culv_device_suspend: %" PRIu64
        " objects of a graphics API are registered; unregister them before, and register them again after culv_device_resume(). Nothing was given up",
        device->counts.registrations);
    if (device->peers == NULL) return CULV_OK;
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "culv_device_suspend: objects are copied through another GPU (fallback PEER), which has imports of its own; destroy what is shared with it, and detach it. Nothing was given up");
}

static culv_result check(culv_device *device, bool imports_live)
{
    culvi_mutex_lock(&device->lock);
    culv_result result = check_counts(device);
    for (const culv_memory *m = device->memories; result == CULV_OK && m != NULL; m = m->next)
        result = check_memory(m, imports_live);
    for (const culv_semaphore *s = device->semaphores; result == CULV_OK && s != NULL; s = s->next)
        result = check_semaphore(s, imports_live);
    culvi_mutex_unlock(&device->lock);
    return result;
}

/* The legacy stream tells of captures in all streams but those that do not wait for it. */
static culv_result check_capture(culv_device *device)
{
    culvi_capture capture = CULVI_NOT_CAPTURED;
    CULVI_ANSWER_INSIDE(r, device, NULL, culvi_stream_capture(device, NULL, &capture));
    CULVI_CU_CHECK(device, NULL, r, "cuStreamIsCapturing", CULV_REASON_DRIVER_REFUSED,
                   "culv_device_suspend could not ask for captures");
    if (capture == CULVI_NOT_CAPTURED) return CULV_OK;
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
        "culv_device_suspend: a stream of the context is being captured, and its graph would have handles that are given up; end the capture before. Nothing was given up");
}

/* All work of the context, and what was destroyed and waits for it. */
static culv_result finish_work(culv_device *device)
{
    const char *call = NULL;
    CULVI_ANSWER_INSIDE(r, device, NULL,
                        culvi_wait_in_context(device, "device", device->caps.name, 0, &call));
    CULVI_CU_CHECK(
        device, NULL, r, call, CULV_REASON_DRIVER_REFUSED,
        "culv_device_suspend could not wait for the context's work. Nothing was given up");
    culvi_late_collect(device);
    culvi_wait_and_collect_for(device, NULL, NULL, NULL);
    culvi_mutex_lock(&device->lock);
    const uint64_t deferred = device->counts.deferred;
    culvi_mutex_unlock(&device->lock);
    if (deferred == 0) return CULV_OK;
    return culvi_fail(&device->voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                      "culv_device_suspend: the driver does not release %" PRIu64
                      " objects that were destroyed (culv_device_collect()). Nothing was given up",
                      deferred);
}

/* Both ways ------------------------------------------------------------------------------------ */

/* Twice: an error of earlier work is told once by each call. */
static bool give_up(culv_device *device)
{
    for (culv_memory *m = device->memories; m != NULL; m = m->next)
        if (!culvi_memory_suspend(m) && !culvi_memory_suspend(m)) return false;
    for (culv_semaphore *s = device->semaphores; s != NULL; s = s->next)
        if (!culvi_semaphore_suspend(s) && !culvi_semaphore_suspend(s)) return false;
    return true;
}

/* In the device's context, with the lock held. */
static culv_result make_again(culv_device *device)
{
    culv_result result = CULV_OK;
    for (culv_memory *m = device->memories; result == CULV_OK && m != NULL; m = m->next)
        result = culvi_memory_resume(m);
    for (culv_semaphore *s = device->semaphores; result == CULV_OK && s != NULL; s = s->next)
        result = culvi_semaphore_resume(s);
    return result;
}

static culv_result refuse_half(culv_device *device)
{
    const bool whole = make_again(device) == CULV_OK;
    device->suspended = !whole;
    return culvi_fail(&device->voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                      "culv_device_suspend: the driver did not give up an import. %s",
                      whole ? "All is as it was"
                            : "Not all could be made again: call culv_device_resume()");
}

culv_result culv_device_suspend(culv_device *device, const culv_suspend_desc *desc)
{
    culvi_scope scope;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_READ(voice, culv_suspend_desc, d, desc);
    CULVI_UNSUPPORTED_IF((int)CULVI_SYSTEM != (int)CULVI_SYSTEM_POSIX, voice, NULL,
                         CULV_REASON_HANDLE_TYPE,
                         "culv_device_suspend: CUDA has checkpoints on Linux alone (cuda.h)");
    CULVI_REFUSE_IF(
        device->suspended, voice, NULL, CULV_REASON_NOT_READY,
        "culv_device_suspend: the device is suspended already; call culv_device_resume()");
    CULVI_TRY(check(device, d.imports_live != 0));
    CULVI_TRY(check_capture(device));
    CULVI_TRY(finish_work(device));
    CULVI_TRY(culvi_enter(device, &scope, NULL));
    culv_result result = CULV_OK;
    culvi_mutex_lock(&device->lock);
    if (give_up(device)) {
        culvi_streams_forget(device); /* the frame path asks no more of a stream that it knows */
        device->suspended = true;
    } else {
        result = refuse_half(device);
    }
    culvi_mutex_unlock(&device->lock);
    culvi_leave(device, &scope);
    if (result == CULV_OK) culvi_log(voice, CULV_LOG_INFO, "suspended '%s'", device->caps.name);
    return result;
}

static void tell_moved(culv_memory *memory, const culv_resume_desc *d)
{
    const CUdeviceptr before = memory->before, base = memory->base;
    memory->before = 0;
    if (before == 0 || before == base) return;
    for (const culv_buffer *b = memory->first_buffer; b != NULL; b = b->next) {
        const culv_moved_buffer moved = {sizeof moved, b->label, before + (b->pointer - base),
                                         b->pointer, b->size};
        culvi_log(&memory->device->voice, CULV_LOG_INFO, "%s: its address is %#llx now, not %#llx",
                  culvi_named("buffer", b->label).text, (unsigned long long)moved.now,
                  (unsigned long long)moved.before);
        if (d->moved != NULL) d->moved(d->context, &moved);
    }
}

culv_result culv_device_resume(culv_device *device, const culv_resume_desc *desc)
{
    culvi_scope scope;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_READ(voice, culv_resume_desc, d, desc);
    CULVI_REFUSE_IF(!device->suspended, voice, NULL, CULV_REASON_NOT_READY,
                    "culv_device_resume: the device is not suspended");
    device->suspended = false;
    CULVI_TRY_OR(culvi_enter(device, &scope, NULL), device->suspended = true);
    culvi_mutex_lock(&device->lock);
    culv_result result = make_again(device);
    if (result != CULV_OK) device->suspended = true;
    for (culv_memory *m = device->memories; result == CULV_OK && m != NULL; m = m->next)
        tell_moved(m, &d);
    culvi_mutex_unlock(&device->lock);
    culvi_leave(device, &scope);
    if (result == CULV_OK) culvi_log(voice, CULV_LOG_INFO, "resumed '%s'", device->caps.name);
    return result;
}

void culvi_sources_forget(culv_device *device, const void *context)
{
    culvi_mutex_lock(&device->lock);
    for (culv_memory *m = device->memories; m != NULL; m = m->next)
        if (m->source.context == context) m->source.handle = NULL;
    for (culv_semaphore *s = device->semaphores; s != NULL; s = s->next)
        if (s->source.context == context) s->source.handle = NULL;
    culvi_mutex_unlock(&device->lock);
}
