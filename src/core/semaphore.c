/* SPDX-License-Identifier: MIT */
/* culv_semaphore: imports, and what is known of their state. Signals and waits: signal.c. */
#include "core/semaphore.h"

#include "core/relay.h"

static culvi_handle_use use_of(culv_semaphore_type type)
{
    return type == CULV_SEMAPHORE_TIMELINE ? CULVI_USE_TIMELINE : CULVI_USE_BINARY;
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_semaphore *semaphore = object;
    const culvi_handle_row *row = culvi_handle_row_of(duplicate->type);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {0};
    d.type = (CUexternalSemaphoreHandleType)row->number[use_of(semaphore->type)];
    if (row->kind == CULVI_KIND_FD) {
        d.handle.fd = duplicate->value.fd;
    } else {
        d.handle.win32.handle = duplicate->value.win32;
        d.handle.win32.name = duplicate->name;
    }
    return CULVI_CU(device, cuImportExternalSemaphore, (&semaphore->external, &d));
}

static void describe(const void *object, culvi_text *text)
{
    const culv_semaphore *semaphore = object;
    culvi_text_add(text, "it must be exported from a %s of type %s of this same GPU",
                   semaphore->words->semaphore,
                   semaphore->type == CULV_SEMAPHORE_TIMELINE ? "TIMELINE" : "BINARY");
}

culv_result culvi_semaphore_check_type(const culvi_voice *voice, const char *label,
                                       const char *desc, culv_semaphore_type type)
{
    if (type == CULV_SEMAPHORE_TIMELINE || type == CULV_SEMAPHORE_BINARY) return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "%s.type is %d; it is CULV_SEMAPHORE_TIMELINE (%d) or CULV_SEMAPHORE_BINARY (%d)", desc,
        (int)type, (int)CULV_SEMAPHORE_TIMELINE, (int)CULV_SEMAPHORE_BINARY);
}

static culv_result check_desc(const culv_device *device, culvi_import *import,
                              const culv_semaphore_desc *desc)
{
    const culvi_voice *voice = &device->voice;
    CULVI_TRY(culvi_semaphore_check_type(voice, desc->label, "culv_semaphore_desc", desc->type));
    CULVI_REFUSE_IF(
        desc->type == CULV_SEMAPHORE_TIMELINE && (desc->untracked || desc->signal_pending), voice,
        desc->label, CULV_REASON_VALUE,
        "culv_semaphore_desc.%s is for binary semaphores; a timeline's values are always checked",
        desc->untracked ? "untracked" : "signal_pending");
    CULVI_REFUSE_IF(
        desc->type == CULV_SEMAPHORE_BINARY && desc->value != 0, voice, desc->label,
        CULV_REASON_VALUE,
        "culv_semaphore_desc.value is for timelines; for a binary semaphore set signal_pending");
    return culvi_import_check(device, import, &desc->exporter);
}

static culvi_import how_to_import(culv_device *device, const culv_semaphore_desc *d)
{
    return (culvi_import){.what = "semaphore",
                          .call = "cuImportExternalSemaphore",
                          .field = "culv_semaphore_desc.handle",
                          .source = culvi_handle_semaphore_source,
                          .use = use_of(d->type),
                          .handle = &d->handle,
                          .label = d->label,
                          .count = &device->counts.semaphores,
                          .give = give,
                          .describe = describe};
}

void culvi_semaphore_made(culv_semaphore *semaphore)
{
    bool timeline = semaphore->type == CULV_SEMAPHORE_TIMELINE;
    semaphore->waits.label = semaphore->label;
    semaphore->waits.timeline = timeline;
    semaphore->waits.noted = &semaphore->noted;
    semaphore->waits.signaled = &semaphore->signaled;
    culvi_wait_note_add(semaphore->device, &semaphore->waits);
    culvi_made(semaphore->device, &semaphore->deferred,
               timeline ? "timeline semaphore" : "binary semaphore", semaphore->label, 0);
}

/* Imports a semaphore by a handle that was checked. */
static culv_result import_checked(culv_device *device, const culvi_words *words, uint64_t exporter,
                                  const culvi_import *import, const culv_semaphore_desc *d,
                                  culv_semaphore **out)
{
    CULVI_UNSUPPORTED_IF(
        d->type == CULV_SEMAPHORE_TIMELINE && !device->caps.timeline_semaphores, &device->voice,
        d->label, CULV_REASON_DRIVER_TOO_OLD,
        "'%s' does not import timeline semaphores (CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0)",
        device->caps.name);
    CULVI_NEW(culv_semaphore, semaphore, &device->voice, d->label);
    semaphore->device = device;
    semaphore->words = words;
    semaphore->exporter = exporter;
    semaphore->type = d->type;
    semaphore->untracked = d->untracked != 0;
    atomic_init(&semaphore->noted, d->value);
    atomic_init(&semaphore->state, d->signal_pending ? CULVI_SIGNALED_BY_PEER : CULVI_UNSIGNALED);
    culvi_label_set(semaphore->label, d->label);
    CULVI_TRY_OR(culvi_import_run(device, import, semaphore), culvi_free(semaphore));
    CULVI_LOCKED(&device->lock, CULVI_LIST_ADD(device->semaphores, semaphore));
    culvi_semaphore_made(semaphore);
    *out = semaphore;
    return CULV_OK;
}

culv_result culvi_semaphore_import_exported(culv_device *device, const culvi_words *words,
                                            uint64_t exporter, const culv_semaphore_desc *d,
                                            culv_semaphore **out)
{
    culvi_import import = how_to_import(device, d);
    culv_result result = culvi_import_trust(device, &import);
    if (result == CULV_OK) result = import_checked(device, words, exporter, &import, d, out);
    culvi_handle_close(&d->handle);
    return result;
}

culv_result culvi_semaphore_arrives(culv_semaphore *semaphore)
{
    culv_device *device = semaphore->device;
    const char *call = NULL;
    CULVI_ANSWER_INSIDE(r, device, semaphore->label, culvi_arrive_prepare(device, &call));
    semaphore->arrives = r == CUDA_SUCCESS;
    /* Without the call, a driver has one GPU. */
    if (r == CUDA_SUCCESS || (r == CUDA_ERROR_NOT_FOUND && !semaphore->across)) return CULV_OK;
    return culvi_fail_cuda(device, semaphore->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "no memory could be had that signals to it need");
}

culv_result culv_semaphore_import(culv_device *device, const culv_semaphore_desc *desc,
                                  culv_semaphore **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_semaphore_desc, d, desc);
    culvi_import import = how_to_import(device, &d);
    CULVI_TRY(check_desc(device, &import, &d));
    return import_checked(device, culvi_words_of_handle(d.handle.type), 0, &import, &d, out);
}

static bool release_semaphore(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_semaphore *semaphore = CULVI_CONTAINER(self, culv_semaphore, deferred);
    if (semaphore->relay != NULL) {
        if (!culvi_relay_release(device, &semaphore->relay, last_try)) return false;
    } else if (!semaphore->away) {
        /* Who looks through the notes must not use a handle that is being destroyed. */
        culvi_wait_note_leave(device, &semaphore->waits, true);
        if (!CULVI_RELEASED(device, last_try, cuDestroyExternalSemaphore, (semaphore->external))) {
            culvi_wait_note_leave(device, &semaphore->waits, false);
            return false;
        }
    }
    if (!semaphore->away) device->counts.semaphores--;
    CULVI_LIST_REMOVE(semaphore);
    culvi_wait_note_remove(device, &semaphore->waits);
    if (semaphore->present.release != NULL) semaphore->present.release(semaphore->present.context);
    culvi_free(semaphore);
    return true;
}

bool culvi_semaphore_suspend(culv_semaphore *semaphore)
{
    culv_device *device = semaphore->device;
    if (semaphore->away) return true;
    culvi_wait_note_leave(device, &semaphore->waits, true);
    if (!CULVI_RELEASED(device, false, cuDestroyExternalSemaphore, (semaphore->external))) {
        culvi_wait_note_leave(device, &semaphore->waits, false);
        return false;
    }
    semaphore->external = NULL;
    semaphore->away = true;
    device->counts.semaphores--;
    return true;
}

culv_result culvi_semaphore_resume(culv_semaphore *semaphore)
{
    const culvi_source *source = &semaphore->source;
    culv_device *device = semaphore->device;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    if (!semaphore->away || semaphore->deferred.release != NULL) return CULV_OK;
    d.type = semaphore->type;
    d.label = semaphore->label;
    CULVI_TRY(culvi_source_export(device, source, semaphore->label, "semaphore", &d.handle));
    culvi_import import = how_to_import(device, &d);
    CULVI_TRY(culvi_import_run_again(device, &import, semaphore));
    semaphore->away = false;
    culvi_wait_note_leave(device, &semaphore->waits, false);
    return CULV_OK;
}

void culvi_semaphore_release_or_defer(culv_semaphore *semaphore, const CUstream *last_use)
{
    culv_device *device = semaphore->device;
    semaphore->deferred.release = release_semaphore;
    CULVI_LOCKED(&device->lock, culvi_release_or_defer(device, &semaphore->deferred, last_use));
    culvi_device_unref(device);
}

void culvi_semaphore_put_off(culv_semaphore *semaphore)
{
    culv_device *device = semaphore->device;
    semaphore->deferred.release = release_semaphore;
    CULVI_LOCKED(&device->lock, culvi_defer(device, &semaphore->deferred));
    culvi_device_unref(device);
}

culv_result culv_semaphore_destroy(culv_semaphore **semaphore, const CUstream *last_use)
{
    if (semaphore == NULL || *semaphore == NULL) return CULV_OK;
    culv_semaphore *mine = *semaphore;
    if (culvi_refuse_owned(mine->device, mine->label, CULVI_CUDA_HALF, mine->owner_destroy_call,
                           __func__))
        return CULV_ERROR_INVALID;
    *semaphore = NULL;
    culvi_semaphore_release_or_defer(mine, last_use);
    return CULV_OK;
}

void culv_semaphore_mark_value(culv_semaphore *semaphore, uint64_t value)
{
    if (semaphore == NULL || semaphore->type != CULV_SEMAPHORE_TIMELINE) return;
    uint64_t noted = atomic_load_explicit(&semaphore->noted, memory_order_relaxed);
    while (noted < value &&
           !atomic_compare_exchange_weak_explicit(&semaphore->noted, &noted, value,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

uint64_t culv_semaphore_last_value(const culv_semaphore *semaphore)
{
    return semaphore != NULL && semaphore->type == CULV_SEMAPHORE_TIMELINE
               ? culvi_semaphore_last(semaphore)
               : 0;
}

/* The semaphore a note is about; NULL with the result set otherwise. */
static bool noted(const culv_semaphore *semaphore, const char *call, culv_result *result)
{
    *result = CULV_OK;
    if (semaphore == NULL)
        *result = culvi_fail_null(NULL, call, "semaphore");
    else if (semaphore->type != CULV_SEMAPHORE_BINARY)
        *result = culvi_fail(
            &semaphore->device->voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "%s: the semaphore is a timeline; use culv_semaphore_mark_value()", call);
    return *result == CULV_OK && !semaphore->untracked;
}

culv_result culv_semaphore_mark_signaled(culv_semaphore *semaphore)
{
    culv_result result;
    if (!noted(semaphore, "culv_semaphore_mark_signaled", &result)) return result;
    uint32_t state = CULVI_UNSIGNALED;
    if (atomic_compare_exchange_strong(&semaphore->state, &state, CULVI_SIGNALED_BY_PEER))
        return CULV_OK;
    return culvi_fail(
        &semaphore->device->voice, semaphore->label, CULV_ERROR_INVALID, CULV_REASON_DOUBLE_SIGNAL,
        "the other API signaled a binary semaphore that %s had signaled already, and no wait for it was reported since; was a culv_semaphore_mark_waited() left out? If not, the semaphore's state is undefined now",
        state == CULVI_SIGNALED_BY_CUDA ? "CUDA" : "it");
}

culv_result culv_semaphore_mark_waited(culv_semaphore *semaphore)
{
    culv_result result;
    if (!noted(semaphore, "culv_semaphore_mark_waited", &result)) return result;
    /* A wait for the other API's own signal is its own affair. */
    if (atomic_exchange(&semaphore->state, CULVI_UNSIGNALED) != CULVI_UNSIGNALED) return CULV_OK;
    return culvi_fail(
        &semaphore->device->voice, semaphore->label, CULV_ERROR_INVALID,
        CULV_REASON_WAIT_BEFORE_SIGNAL,
        "the other API waits for a binary semaphore that nobody has signaled since its last wait; submit the signal first, or that wait may never end");
}
