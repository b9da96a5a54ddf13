/* SPDX-License-Identifier: MIT */
/* culv_registration: the driver's calls, and what is given out between a map and an unmap. */
#include "core/registration.h"

enum { FEW = 64 }; /* resources of one call without an allocation */

static const char destroy_call[] = "culv_registration_destroy";

static const culvi_voice *voice_of(const culv_registration *r)
{
    return &r->device->voice;
}

static const char *label_of(const culv_registration *r)
{
    return r->memory.label;
}

/* What is made on an image between a map and an unmap ------------------------------------------ */

static bool has_views(const culv_image *image)
{
    if (atomic_load_explicit(&image->textures, memory_order_relaxed) != NULL) return true;
    for (uint32_t i = 0; i < image->slots; i++)
        if (atomic_load_explicit(&image->levels[i].surface, memory_order_relaxed) != 0) return true;
    return false;
}

/* Notes after the submitted unmap when surfaces and textures may go. The driver does not wait for
 * kernels when it destroys them (measured). */
static void note_last_use(culv_registration *r, CUstream stream)
{
    culv_device *device = r->device;
    r->used = has_views(r->image);
    if (!r->used) return;
    if (r->last_use == NULL &&
        CULVI_CU(device, cuEventCreate, (&r->last_use, CU_EVENT_DISABLE_TIMING)) != CUDA_SUCCESS)
        r->last_use = NULL;
    if (r->last_use == NULL ||
        CULVI_CU(device, cuEventRecord, (r->last_use, stream)) != CUDA_SUCCESS)
        (void)CULVI_CU(device, cuStreamSynchronize, (stream));
}

/* Drops the views, before the next map and at the end. A refused release is tried once more. */
static void drop_views(culv_registration *r)
{
    if (!r->used) return;
    if (r->last_use != NULL) (void)CULVI_RELEASE(r->device, cuEventSynchronize, (r->last_use));
    if (!culvi_image_release_views(r->device, r->image, false))
        (void)culvi_image_release_views(r->device, r->image, true);
    r->used = false;
}

static void hide(culv_registration *r)
{
    if (r->image == NULL) {
        r->buffer.pointer = 0;
        return;
    }
    r->image->arrays[0] = NULL;
    atomic_store(&r->image->away, true);
    for (uint32_t i = 0; i < r->image->slots; i++)
        atomic_store_explicit(&r->image->levels[i].array, NULL, memory_order_relaxed);
}

/* The mapped pointer or arrays. */
static culv_result show(culv_registration *r)
{
    culv_device *device = r->device;
    if (r->image == NULL) {
        CUdeviceptr pointer = 0;
        size_t size = 0;
        CULVI_CU_TRY(device, label_of(r), cuGraphicsResourceGetMappedPointer,
                     (&pointer, &size, r->resource), CULV_REASON_DRIVER_REFUSED,
                     "the mapped buffer has no pointer");
        CULVI_REFUSE_IF(
            size != r->size, voice_of(r), label_of(r), CULV_REASON_SIZE,
            "the buffer had %" PRIu64
            " bytes when it was registered and has %zu now; culv_registration_destroy() it, and register it again after each change of its size",
            r->size, size);
        r->buffer.pointer = pointer;
        return CULV_OK;
    }
    CUmipmappedArray arrays = NULL;
    CUarray first = NULL;
    const char *call = "cuGraphicsResourceGetMappedMipmappedArray";
    CUresult code =
        CULVI_CU(device, cuGraphicsResourceGetMappedMipmappedArray, (&arrays, r->resource));
    if (code != CUDA_SUCCESS && r->image->desc.mip_levels == 1 &&
        r->image->desc.array_layers == 1) { /* one array is all there is */
        code = CULVI_CU_AS(call, device, cuGraphicsSubResourceGetMappedArray,
                           (&first, r->resource, 0, 0));
    }
    CULVI_CU_CHECK(device, label_of(r), code, call, CULV_REASON_DRIVER_REFUSED,
                   "the mapped %s image has no array", r->image->row->name);
    r->image->arrays[0] = arrays;
    atomic_store_explicit(&r->image->levels[0].array, first, memory_order_relaxed);
    atomic_store(&r->image->away, false);
    return CULV_OK;
}

/* One resource --------------------------------------------------------------------------------- */

static culv_result make_image(culv_registration *r, const culvi_register_plan *plan)
{
    culv_image *image = culvi_image_new(&r->memory, plan->row, plan->image, plan->label);
    if (image == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    image->owner_destroy_call = destroy_call;
    atomic_init(&image->away, true);
    r->image = image;
    return CULV_OK;
}

static void describe(culv_registration *r, const culvi_register_plan *plan)
{
    r->registrar = plan->registrar;
    r->attachment = plan->attachment;
    r->asks_caller = !plan->unchecked;
    r->size = plan->size;
    r->memory.device = r->device;
    r->memory.words = plan->registrar->words;
    r->memory.size = plan->size;
    r->memory.refs = r->memory.holders = 1;
    culvi_label_set(r->memory.label, plan->label);
    r->buffer.memory = &r->memory;
    r->buffer.size = plan->size;
    r->buffer.owner_destroy_call = destroy_call;
    culvi_label_set(r->buffer.label, plan->label);
}

culv_result culvi_registration_make(culv_device *device, const culvi_register_plan *plan,
                                    culv_registration *r)
{
    culvi_scope scope;
    r->device = device;
    describe(r, plan);
    CULVI_TRY(plan->image != NULL ? make_image(r, plan) : CULV_OK);
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_enter(device, &scope, plan->label);
    if (result == CULV_OK) {
        CUresult code = plan->make(device, plan->what, plan->flags, &r->resource);
        culvi_leave(device, &scope);
        const char *more = plan->registrar->explain(code);
        if (code == CUDA_SUCCESS)
            device->counts.registrations++;
        else
            result = culvi_fail_cuda(device, plan->label, code, plan->call,
                                     CULV_REASON_DRIVER_REFUSED, "it could not be registered%s%s",
                                     more != NULL ? "; " : "", more != NULL ? more : "");
    }
    culvi_mutex_unlock(&device->lock);
    CULVI_TRY_OR(result, culvi_free(r->image); r->image = NULL);
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", plan->image != NULL ? "image" : "buffer", plan->label,
                     plan->size);
    return CULV_OK;
}

/* Runs in the device's context; the caller holds the lock. */
static culv_result unregister(culv_registration *r)
{
    CUresult code = CULVI_RELEASE(r->device, cuGraphicsUnregisterResource, (r->resource));
    if (culvi_release_done(r->device, "cuGraphicsUnregisterResource", code, false)) {
        r->resource = NULL;
        return CULV_OK;
    }
    return culvi_fail_cuda(r->device, label_of(r), code, "cuGraphicsUnregisterResource",
                           CULV_REASON_DRIVER_REFUSED, "it could not be unregistered");
}

/* The driver unmaps nothing under a sticky error. The resource is then released as it is. */
static culv_result unmap_to_release(culv_registration *r)
{
    CUresult code =
        CULVI_RELEASE(r->device, cuGraphicsUnmapResources, (1, &r->resource, r->stream));
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_UNMAP_FAILED || culvi_cuda_gone(code))
        return CULV_OK;
    culv_result result = CULV_ERROR_DRIVER;
    if (culvi_cuda_sticky(code)) {
        culvi_attempt_begin();
        result = unregister(r);
        (void)culvi_attempt_end(voice_of(r), CULV_OK);
    }
    if (result == CULV_OK) return CULV_OK;
    return culvi_fail_cuda(r->device, label_of(r), code, "cuGraphicsUnmapResources",
                           CULV_REASON_DRIVER_REFUSED, "it is mapped and could not be unmapped");
}

static culv_result release(culv_registration *r, bool forget)
{
    culv_device *device = r->device;
    if (r->mapped) {
        CULVI_TRY(forget ? CULV_OK : unmap_to_release(r));
        if (r->image != NULL) note_last_use(r, r->stream);
        hide(r);
        r->mapped = false;
    }
    if (r->image != NULL) drop_views(r);
    if (r->last_use != NULL) {
        CUresult code = CULVI_RELEASE(device, cuEventDestroy, (r->last_use));
        if (!culvi_release_done(device, "cuEventDestroy", code, false))
            return culvi_fail_cuda(device, label_of(r), code, "cuEventDestroy",
                                   CULV_REASON_DRIVER_REFUSED, "it could not be given up");
        r->last_use = NULL;
    }
    culv_result result = forget || r->resource == NULL ? CULV_OK : unregister(r);
    if (result == CULV_OK) device->counts.registrations--;
    return result;
}

culv_result culvi_registration_release(culv_registration *r, bool forget)
{
    culv_device *device = r->device;
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    const bool lost = culvi_lost(device);
    culv_result result = lost ? CULV_OK : culvi_enter(device, &scope, label_of(r));
    if (result == CULV_OK) {
        result = release(r, forget);
        if (!lost) culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK) return result;
    culvi_log_object(&device->voice, "destroyed", r->image != NULL ? "image" : "buffer",
                     label_of(r), r->size);
    culvi_free(r->image);
    r->image = NULL;
    culvi_device_unref(device);
    return CULV_OK;
}

culv_result culv_registration_destroy(culv_registration **registration)
{
    if (registration == NULL || *registration == NULL) return CULV_OK;
    culv_registration *mine = *registration;
    if (culvi_refuse_owned(mine->device, label_of(mine), CULVI_OTHERS_PART,
                           mine->owner_destroy_call, __func__))
        return CULV_ERROR_INVALID;
    culv_result result = mine->registrar->destroy(mine, __func__);
    if (result == CULV_OK) *registration = NULL;
    return result;
}

void culvi_registration_own(culv_registration *r, const char *owner)
{
    r->owner_destroy_call = r->buffer.owner_destroy_call = owner;
    if (r->image != NULL) r->image->owner_destroy_call = owner;
}

/* Many ----------------------------------------------------------------------------------------- */

typedef struct batch {
    culv_device *device;
    culv_registration *const *list;
    uint32_t count;
    CUstream stream;
    const char *call;
    bool asks_caller; /* one of them does */
    bool has_image;   /* one of them is one */
    CUgraphicsResource *resources;
} batch;

static culv_result fail_apart(const batch *b, uint32_t i)
{
    const culv_registration *first = b->list[0], *r = b->list[i];
    if (r == NULL) return culvi_fail_null(voice_of(first), b->call, "an entry of the list");
    CULVI_REFUSE_IF(r->registrar != first->registrar, voice_of(first), label_of(r),
                    CULV_REASON_VALUE,
                    "%s(): entry %" PRIu32 " is %s's and entry 0 is %s's; make a call for each API",
                    b->call, i, r->registrar->words->name, first->registrar->words->name);
    CULVI_REFUSE_IF(
        r->attachment != first->attachment, voice_of(first), label_of(r), CULV_REASON_VALUE,
        "%s(): entry %" PRIu32 " was registered by another attachment than entry 0", b->call, i);
    return culvi_fail(voice_of(first), label_of(r), CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                      "%s(): entry %" PRIu32 " belongs to another device than entry 0", b->call, i);
}

/* One call of the driver takes registrations of one API, one attachment and one device. */
static culv_result check_together(batch *b)
{
    if (b->list == NULL || b->list[0] == NULL)
        return culvi_fail_null(NULL, b->call,
                               b->list == NULL ? "registrations" : "registrations[0]");
    const culv_registration *first = b->list[0];
    b->device = first->device;
    b->asks_caller = first->asks_caller;
    b->has_image = first->image != NULL;
    for (uint32_t i = 1; i < b->count; i++) {
        const culv_registration *r = b->list[i];
        if (r == NULL || r->registrar != first->registrar || r->attachment != first->attachment ||
            r->device != b->device)
            return fail_apart(b, i);
        b->asks_caller = b->asks_caller || r->asks_caller;
        b->has_image = b->has_image || r->image != NULL;
    }
    return CULV_OK;
}

static culv_result fail_turn(const batch *b, uint32_t i, bool map)
{
    const culv_registration *r = b->list[i];
    for (uint32_t before = 0; before < i; before++)
        CULVI_REFUSE_IF(b->list[before] == r, voice_of(r), label_of(r), CULV_REASON_VALUE,
                        "%s(): entry %" PRIu32 " is in the list twice", b->call, i);
    return map ? culvi_fail(voice_of(r), label_of(r), CULV_ERROR_INVALID, CULV_REASON_MAPPED,
                            "%s(): entry %" PRIu32 " is mapped already; unmap it first", b->call, i)
               : culvi_fail(voice_of(r), label_of(r), CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
                            "%s(): entry %" PRIu32 " is not mapped", b->call, i);
}

static void say_mapped(const batch *b, uint32_t count, bool mapped)
{
    for (uint32_t i = 0; i < count; i++)
        b->list[i]->mapped = mapped;
}

/* Calls them mapped or not as they are to be: so one that comes twice is found. On failure they are
 * as they were. */
static culv_result begin(const batch *b, bool map)
{
    for (uint32_t i = 0; i < b->count; i++) {
        culv_registration *r = b->list[i];
        if (r->mapped == map) {
            culv_result result = fail_turn(b, i, map);
            say_mapped(b, i, !map);
            return result;
        }
        r->mapped = map;
        b->resources[i] = r->resource;
    }
    return CULV_OK;
}

/* A capture would hold neither what the graphics API does, nor the wait for it. */
static culv_result check_stream(const batch *b)
{
    const culv_registration *first = b->list[0];
    culvi_capture capture = CULVI_NOT_CAPTURED;
    CUresult code = culvi_stream_capture(b->device, b->stream, &capture);
    CULVI_REFUSE_IF(
        code == CUDA_SUCCESS && capture != CULVI_NOT_CAPTURED, voice_of(first), label_of(first),
        CULV_REASON_CAPTURE,
        "%s(): the stream %p %s being captured, and a graph can hold no map; map before the capture",
        b->call, (void *)b->stream, capture == CULVI_CAPTURED ? "is" : "waits for one that is");
    return CULV_OK;
}

static culv_result map_all(const batch *b, bool *done)
{
    culv_device *device = b->device;
    const char *label = label_of(b->list[0]);
    culv_result result = CULV_OK;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->list[i]->image != NULL) drop_views(b->list[i]);
    CUresult code = CULVI_CU(device, cuGraphicsMapResources, (b->count, b->resources, b->stream));
    /* A stream that was known may have been destroyed since: then that is why. */
    if (code != CUDA_SUCCESS) CULVI_TRY(culvi_recheck_stream(device, label, b->stream, code));
    CULVI_CU_CHECK(
        device, label, code, "cuGraphicsMapResources", CULV_REASON_DRIVER_REFUSED,
        "%" PRIu32
        " resources could not be mapped; was one of them deleted or resized since it was registered, does the program have it mapped itself, or is it mapped through another registration?",
        b->count);
    uint32_t shown = 0;
    for (; result == CULV_OK && shown < b->count; shown++) {
        b->list[shown]->stream = b->stream;
        result = show(b->list[shown]);
    }
    *done = result == CULV_OK;
    if (*done) return CULV_OK;
    for (uint32_t i = 0; i < shown; i++)
        hide(b->list[i]);
    /* Refused, it is tried once more: a resource that stays mapped could never be used again. */
    CULVI_CU_TWICE(device, cuGraphicsUnmapResources, (b->count, b->resources, b->stream));
    return result;
}

static culv_result unmap_all(const batch *b, bool *done)
{
    culv_device *device = b->device;
    const char *label = label_of(b->list[0]);
    CUresult code = CULVI_CU(device, cuGraphicsUnmapResources, (b->count, b->resources, b->stream));
    /* UNMAP_FAILED: they are unmapped, and something that CUDA wrote was lost. */
    *done = code == CUDA_SUCCESS || code == CUDA_ERROR_UNMAP_FAILED;
    if (!*done) {
        CULVI_TRY(culvi_recheck_stream(device, label, b->stream, code));
        return culvi_fail_cuda(device, label, code, "cuGraphicsUnmapResources",
                               CULV_REASON_DRIVER_REFUSED,
                               "%" PRIu32 " resources could not be unmapped", b->count);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        culv_registration *r = b->list[i];
        if (r->image != NULL) note_last_use(r, b->stream);
        hide(r);
        r->stream = b->stream;
    }
    return CULVI_CU_RESULT(
        device, label, code, "cuGraphicsUnmapResources", CULV_REASON_DRIVER_REFUSED,
        "the resources are unmapped, but what CUDA wrote is lost: one of them was deleted or resized while it was mapped, or CUDA wrote into one whose access is READ_ONLY");
}

/* Views wait and go in calls that would end captures of other threads. */
static culv_result turn_relaxed(const batch *b, bool map, bool *done)
{
    culvi_scope scope;
    const CUresult code = culvi_relax(b->device, &scope);
    CULVI_CU_CHECK(b->device, label_of(b->list[0]), code, "cuThreadExchangeStreamCaptureMode",
                   CULV_REASON_DRIVER_REFUSED,
                   "%s(): captures of other threads could not be kept whole", b->call);
    culv_result result = map ? map_all(b, done) : unmap_all(b, done);
    culvi_restore(b->device, &scope);
    return result;
}

static culv_result take_turn(const batch *b, bool map)
{
    bool pushed = false, done = false;
    CULVI_TRY(begin(b, map));
    culv_result result = culvi_enter_stream(b->device, label_of(b->list[0]), b->stream, &pushed);
    if (result == CULV_OK) {
        if (b->asks_caller) result = check_stream(b);
        if (result == CULV_OK && b->has_image)
            result = turn_relaxed(b, map, &done);
        else if (result == CULV_OK)
            result = map ? map_all(b, &done) : unmap_all(b, &done);
        culvi_leave_frame(b->device, pushed);
    }
    if (!done) say_mapped(b, b->count, !map);
    return result;
}

/* All or nothing, in one call of the driver. */
static culv_result turn(culv_registration *const *list, uint32_t count, CUstream stream, bool map,
                        const char *call)
{
    CUgraphicsResource few[FEW]; /* nobody clears them */
    batch b = {.list = list, .count = count, .stream = stream, .call = call, .resources = few};
    if (count == 0) return CULV_OK;
    CULVI_TRY(check_together(&b));
    const culvi_registrar *registrar = list[0]->registrar;
    if (registrar->check != NULL)
        CULVI_TRY(registrar->check(list, count, b.asks_caller, map, call));
    if (count <= FEW) return take_turn(&b, map);
    b.resources = culvi_alloc((size_t)count * sizeof *b.resources);
    if (b.resources == NULL) return culvi_fail_host_memory(voice_of(list[0]), label_of(list[0]));
    culv_result result = take_turn(&b, map);
    culvi_free(b.resources);
    return result;
}

culv_result culv_registration_map(culv_registration *const *registrations, uint32_t count,
                                  CUstream stream)
{
    return turn(registrations, count, stream, true, __func__);
}

culv_result culv_registration_unmap(culv_registration *const *registrations, uint32_t count,
                                    CUstream stream)
{
    return turn(registrations, count, stream, false, __func__);
}

/* Getters -------------------------------------------------------------------------------------- */

culv_bool culv_registration_is_mapped(const culv_registration *registration)
{
    return registration != NULL && registration->mapped;
}

culv_buffer *culv_registration_buffer(const culv_registration *registration)
{
    if (registration == NULL || registration->image != NULL) return NULL;
    return (culv_buffer *)(uintptr_t)&registration->buffer;
}

CULVI_GETTER(culv_image *, culv_registration_image, culv_registration, self->image, NULL)
CULVI_GETTER(CUdeviceptr, culv_registration_pointer, culv_registration, self->buffer.pointer, 0)

culv_result culv_registration_get_array(const culv_registration *registration, uint32_t layer,
                                        uint32_t level, CUarray *out)
{
    const culv_registration *r = registration;
    CULVI_REQUIRE(NULL, registration);
    CULVI_REQUIRE(voice_of(r), out);
    culv_device *device = r->device;
    const culv_image *image = r->image;
    CUarray array = NULL;
    CULVI_REFUSE_IF(image == NULL, voice_of(r), label_of(r), CULV_REASON_USAGE,
                    "%s(): it is a buffer, which has a pointer and no arrays", __func__);
    CULVI_TRY(culvi_image_check_call(image, level, image->desc.mip_levels, "level", out, __func__));
    CULVI_TRY(
        culvi_image_check_call(image, layer, image->desc.array_layers, "layer", out, __func__));
    CULVI_TRY(culvi_image_check_arrays(image));
    CULVI_CU_INSIDE(code, device, label_of(r), cuGraphicsSubResourceGetMappedArray,
                    (&array, r->resource, layer, level));
    CULVI_CU_CHECK(device, label_of(r), code, "cuGraphicsSubResourceGetMappedArray",
                   CULV_REASON_DRIVER_REFUSED,
                   "layer %" PRIu32 " of level %" PRIu32 " has no array", layer, level);
    *out = array;
    return CULV_OK;
}

/* Access --------------------------------------------------------------------------------------- */

culv_result culvi_check_access(const culvi_voice *voice, const char *label, const char *what,
                               culv_access access)
{
    if ((uint32_t)access <= CULV_ACCESS_WRITE_DISCARD) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s is %d, which is no culv_access", what, (int)access);
}

culv_result culvi_registration_set_access(culv_registration *r, culv_access access)
{
    /* CUgraphicsMapResourceFlags has the same numbers. */
    CULVI_CU_INSIDE(code, r->device, label_of(r), cuGraphicsResourceSetMapFlags,
                    (r->resource, (unsigned)access));
    return CULVI_CU_RESULT(r->device, label_of(r), code, "cuGraphicsResourceSetMapFlags",
                           CULV_REASON_DRIVER_REFUSED, "its access could not be changed");
}
