/* SPDX-License-Identifier: MIT */
/* Registered resources: the driver's calls, and what is given out between a map and an unmap. */
#include "core/registered.h"

#include "base/alloc.h"
#include "base/attempt.h"
#include "cuda/context.h"
#include "cuda/stream.h"

#include <inttypes.h>

enum { FEW = 64 }; /* resources of one call without an allocation */

static const culvi_voice *voice_of(const culvi_registered *r)
{
    return &r->device->voice;
}

static const char *label_of(const culvi_registered *r)
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

/* After the unmap was submitted: when may surfaces and textures go? The driver does not wait for
 * kernels when it destroys them (measured). */
static void note_last_use(culvi_registered *r, CUstream stream)
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

/* Before the next map, and at the end. A refused release is tried once more. */
static void drop_views(culvi_registered *r)
{
    if (!r->used) return;
    if (r->last_use != NULL) (void)CULVI_RELEASE(r->device, cuEventSynchronize, (r->last_use));
    if (!culvi_image_release_views(r->device, r->image, false))
        (void)culvi_image_release_views(r->device, r->image, true);
    r->used = false;
}

static void hide(culvi_registered *r)
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
static culv_result show(culvi_registered *r)
{
    culv_device *device = r->device;
    CUresult code;
    if (r->image == NULL) {
        CUdeviceptr pointer = 0;
        size_t size = 0;
        code = CULVI_CU(device, cuGraphicsResourceGetMappedPointer, (&pointer, &size, r->resource));
        if (code != CUDA_SUCCESS)
            return culvi_fail_cuda(device, label_of(r), code, "cuGraphicsResourceGetMappedPointer",
                                   CULV_REASON_DRIVER_REFUSED, "the mapped buffer has no pointer");
        if (size != r->size)
            return culvi_fail(voice_of(r), label_of(r), CULV_ERROR_INVALID, CULV_REASON_SIZE,
                              "the buffer had %" PRIu64 " bytes when it was registered and has %zu "
                              "now; unregister it, and register it anew after each change of its "
                              "size",
                              r->size, size);
        r->buffer.pointer = pointer;
        return CULV_OK;
    }
    CUmipmappedArray arrays = NULL;
    CUarray first = NULL;
    const char *call = "cuGraphicsResourceGetMappedMipmappedArray";
    code = CULVI_CU(device, cuGraphicsResourceGetMappedMipmappedArray, (&arrays, r->resource));
    if (code != CUDA_SUCCESS && r->image->desc.mip_levels == 1 &&
        r->image->desc.array_layers == 1) { /* one array is all there is */
        call = "cuGraphicsSubResourceGetMappedArray";
        code = CULVI_CU(device, cuGraphicsSubResourceGetMappedArray, (&first, r->resource, 0, 0));
    }
    if (code != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label_of(r), code, call, CULV_REASON_DRIVER_REFUSED,
                               "the mapped %s image has no array", r->image->row->name);
    r->image->arrays[0] = arrays;
    atomic_store_explicit(&r->image->levels[0].array, first, memory_order_relaxed);
    atomic_store(&r->image->away, false);
    return CULV_OK;
}

/* One resource --------------------------------------------------------------------------------- */

static culv_result make_image(culvi_registered *r, const culvi_register_plan *plan)
{
    const uint32_t slots = plan->image->mip_levels;
    culv_image *image = culvi_alloc(sizeof *image + slots * sizeof image->levels[0]);
    if (image == NULL) return culvi_fail_host_memory(voice_of(r), plan->label);
    image->memory = &r->memory;
    image->row = plan->row;
    image->desc = *plan->image;
    image->surfaces = !plan->image->no_surfaces;
    image->owner_destroy_call = plan->destroy_call;
    image->slots = slots;
    culvi_label_set(image->label, plan->label);
    for (uint32_t i = 0; i < slots; i++) {
        atomic_init(&image->levels[i].array, NULL);
        atomic_init(&image->levels[i].surface, 0);
    }
    atomic_init(&image->away, true);
    r->image = image;
    return CULV_OK;
}

static void describe_memory(culvi_registered *r, const culvi_register_plan *plan)
{
    r->size = plan->size;
    r->flags = plan->flags;
    r->memory.device = r->device;
    r->memory.words = plan->words;
    r->memory.size = plan->size;
    r->memory.refs = r->memory.holders = 1;
    culvi_label_set(r->memory.label, plan->label);
    r->buffer.memory = &r->memory;
    r->buffer.size = plan->size;
    r->buffer.owner_destroy_call = plan->destroy_call;
    culvi_label_set(r->buffer.label, plan->label);
}

culv_result culvi_registered_make(culv_device *device, const culvi_register_plan *plan,
                                  culvi_registered *r)
{
    culvi_scope scope;
    r->device = device;
    describe_memory(r, plan);
    culv_result result = plan->image != NULL ? make_image(r, plan) : CULV_OK;
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&device->lock);
    result = culvi_enter(device, &scope, plan->label);
    if (result == CULV_OK) {
        CUresult code = plan->make(device, plan->what, plan->flags, &r->resource);
        culvi_leave(device, &scope);
        const char *more = plan->explain != NULL ? plan->explain(code) : NULL;
        if (code == CUDA_SUCCESS)
            device->counts.registrations++;
        else
            result = culvi_fail_cuda(device, plan->label, code, plan->call,
                                     CULV_REASON_DRIVER_REFUSED, "it could not be registered%s%s",
                                     more != NULL ? "; " : "", more != NULL ? more : "");
    }
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK) {
        culvi_free(r->image);
        r->image = NULL;
        return result;
    }
    culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", plan->image != NULL ? "image" : "buffer", plan->label,
                     plan->size);
    return CULV_OK;
}

/* In the device's context, with the lock. */
static culv_result unregister(culvi_registered *r)
{
    CUresult code = CULVI_RELEASE(r->device, cuGraphicsUnregisterResource, (r->resource));
    if (culvi_release_done(r->device, "cuGraphicsUnregisterResource", code, false)) {
        r->resource = NULL;
        return CULV_OK;
    }
    return culvi_fail_cuda(r->device, label_of(r), code, "cuGraphicsUnregisterResource",
                           CULV_REASON_DRIVER_REFUSED, "it could not be unregistered");
}

/* Under a sticky error nothing can be unmapped: then it goes as it is. */
static culv_result unmap_to_release(culvi_registered *r)
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

static culv_result release(culvi_registered *r, bool forget)
{
    culv_device *device = r->device;
    if (r->mapped) {
        culv_result result = forget ? CULV_OK : unmap_to_release(r);
        if (result != CULV_OK) return result;
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

culv_result culvi_registered_release(culvi_registered *r, bool forget)
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

/* Many ----------------------------------------------------------------------------------------- */

typedef struct batch {
    culv_device *device;
    uint32_t count;
    CUstream stream;
    const char *call;
    culvi_registered **entries;
    CUgraphicsResource *resources;
} batch;

/* The arrays of a batch, where it is small. Nobody clears them. */
typedef struct few_of_them {
    culvi_registered *entries[FEW];
    CUgraphicsResource resources[FEW];
} few_of_them;

static culv_result check_one(const batch *b, const culvi_registered *r, uint32_t i, bool map)
{
    const culvi_registered *first = b->entries[0];
    if (r == NULL) return culvi_fail_null(voice_of(first), b->call, "an entry of the list");
    if (r->device != b->device)
        return culvi_fail(
            voice_of(first), label_of(r), CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
            "%s(): entry %" PRIu32 " belongs to another device than entry 0", b->call, i);
    if (r->mapped != map) return CULV_OK;
    for (uint32_t before = 0; before < i; before++)
        if (b->entries[before] == r)
            return culvi_fail(voice_of(first), label_of(r), CULV_ERROR_INVALID, CULV_REASON_VALUE,
                              "%s(): entry %" PRIu32 " is in the list twice", b->call, i);
    return map ? culvi_fail(voice_of(first), label_of(r), CULV_ERROR_INVALID, CULV_REASON_MAPPED,
                            "%s(): entry %" PRIu32 " is mapped already; unmap it first", b->call, i)
               : culvi_fail(voice_of(first), label_of(r), CULV_ERROR_INVALID,
                            CULV_REASON_NOT_MAPPED, "%s(): entry %" PRIu32 " is not mapped",
                            b->call, i);
}

static void say_mapped(const batch *b, uint32_t count, bool mapped)
{
    for (uint32_t i = 0; i < count; i++)
        b->entries[i]->mapped = mapped;
}

static void end(const batch *b, few_of_them *few)
{
    if (b->entries != few->entries) culvi_free(b->entries);
}

/* Takes the entries, and calls them mapped or not as they are to be: so one that comes twice is
 * found. On failure they are as they were, and there is nothing to end. */
static culv_result begin(batch *b, few_of_them *few, const culvi_registered_list *l, bool map)
{
    culvi_registered *first = l->of(l->list, 0);
    b->device = first->device;
    b->entries = few->entries;
    b->resources = few->resources;
    if (b->count > FEW) {
        const size_t each = sizeof *b->entries + sizeof *b->resources;
        b->entries = culvi_alloc((size_t)b->count * each);
        if (b->entries == NULL) return culvi_fail_host_memory(voice_of(first), label_of(first));
        b->resources = (CUgraphicsResource *)(void *)(b->entries + b->count);
    }
    b->entries[0] = first;
    for (uint32_t i = 0; i < b->count; i++) {
        culvi_registered *r = l->of(l->list, i);
        culv_result result = check_one(b, r, i, map);
        if (result != CULV_OK) {
            say_mapped(b, i, !map);
            end(b, few);
            return result;
        }
        r->mapped = map;
        b->entries[i] = r;
        b->resources[i] = r->resource;
    }
    return CULV_OK;
}

/* A capture would hold neither what the graphics API does, nor the wait for it. */
static culv_result check_stream(const batch *b)
{
    const culvi_registered *first = b->entries[0];
    culvi_capture capture = CULVI_NOT_CAPTURED;
    CUresult code = culvi_stream_capture(b->device, b->stream, &capture);
    if (code == CUDA_SUCCESS && capture != CULVI_NOT_CAPTURED)
        return culvi_fail(voice_of(first), label_of(first), CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
                          "%s(): the stream %p %s being captured, and a graph can hold no map; map "
                          "before the capture",
                          b->call, (void *)b->stream,
                          capture == CULVI_CAPTURED ? "is" : "waits for one that is");
    return CULV_OK;
}

static culv_result map_all(const batch *b, bool *done)
{
    culv_device *device = b->device;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->entries[i]->image != NULL) drop_views(b->entries[i]);
    CUresult code = CULVI_CU(device, cuGraphicsMapResources, (b->count, b->resources, b->stream));
    if (code != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, label_of(b->entries[0]), code, "cuGraphicsMapResources",
            CULV_REASON_DRIVER_REFUSED,
            "%" PRIu32
            " resources could not be mapped; was one of them deleted or resized since it "
            "was registered, does the program have it mapped itself, or is it mapped through "
            "another registration?",
            b->count);
    culv_result result = CULV_OK;
    uint32_t shown = 0;
    for (; result == CULV_OK && shown < b->count; shown++) {
        b->entries[shown]->stream = b->stream;
        result = show(b->entries[shown]);
    }
    *done = result == CULV_OK;
    if (*done) return CULV_OK;
    for (uint32_t i = 0; i < shown; i++)
        hide(b->entries[i]);
    /* Refused, it is tried once more: a resource that stays mapped could never be used again. */
    if (CULVI_CU(device, cuGraphicsUnmapResources, (b->count, b->resources, b->stream)) !=
        CUDA_SUCCESS)
        (void)CULVI_CU(device, cuGraphicsUnmapResources, (b->count, b->resources, b->stream));
    return result;
}

static culv_result unmap_all(const batch *b, bool *done)
{
    culv_device *device = b->device;
    const char *label = label_of(b->entries[0]);
    CUresult code = CULVI_CU(device, cuGraphicsUnmapResources, (b->count, b->resources, b->stream));
    /* UNMAP_FAILED: they are unmapped, and something that CUDA wrote was lost. */
    *done = code == CUDA_SUCCESS || code == CUDA_ERROR_UNMAP_FAILED;
    if (!*done)
        return culvi_fail_cuda(device, label, code, "cuGraphicsUnmapResources",
                               CULV_REASON_DRIVER_REFUSED,
                               "%" PRIu32 " resources could not be unmapped", b->count);
    for (uint32_t i = 0; i < b->count; i++) {
        culvi_registered *r = b->entries[i];
        if (r->image != NULL) note_last_use(r, b->stream);
        hide(r);
        r->stream = b->stream;
    }
    if (code == CUDA_SUCCESS) return CULV_OK;
    return culvi_fail_cuda(device, label, code, "cuGraphicsUnmapResources",
                           CULV_REASON_DRIVER_REFUSED,
                           "the resources are unmapped, but what CUDA wrote is lost: one of them "
                           "was deleted or resized while it was mapped");
}

static culv_result turn(const culvi_registered_list *list, CUstream stream, const char *call,
                        bool map)
{
    few_of_them few;
    batch b;
    bool pushed = false, done = false;
    b.count = list->count;
    b.stream = stream;
    b.call = call;
    culv_result result = begin(&b, &few, list, map);
    if (result != CULV_OK) return result;
    result = culvi_enter_stream(b.device, label_of(b.entries[0]), stream, &pushed);
    if (result == CULV_OK) {
        if (list->asks_capture) result = check_stream(&b);
        if (result == CULV_OK) result = map ? map_all(&b, &done) : unmap_all(&b, &done);
        culvi_leave_frame(b.device, pushed);
    }
    if (!done) say_mapped(&b, b.count, !map);
    end(&b, &few);
    return result;
}

culv_result culvi_registered_map(const culvi_registered_list *list, CUstream stream,
                                 const char *call)
{
    return turn(list, stream, call, true);
}

culv_result culvi_registered_unmap(const culvi_registered_list *list, CUstream stream,
                                   const char *call)
{
    return turn(list, stream, call, false);
}

culv_result culvi_registered_get_array(const culvi_registered *r, uint32_t layer, uint32_t level,
                                       CUarray *out, const char *call)
{
    culv_device *device = r->device;
    const culv_image *image = r->image;
    culvi_scope scope;
    CUarray array = NULL;
    if (image == NULL)
        return culvi_fail(voice_of(r), label_of(r), CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "%s(): it is a buffer, which has a pointer and no arrays", call);
    culv_result result =
        culvi_image_check_call(image, level, image->desc.mip_levels, "level", out, call);
    if (result == CULV_OK)
        result = culvi_image_check_call(image, layer, image->desc.array_layers, "layer", out, call);
    if (result == CULV_OK) result = culvi_image_check_arrays(image);
    if (result == CULV_OK) result = culvi_enter(device, &scope, label_of(r));
    if (result != CULV_OK) return result;
    CUresult code =
        CULVI_CU(device, cuGraphicsSubResourceGetMappedArray, (&array, r->resource, layer, level));
    culvi_leave(device, &scope);
    if (code != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label_of(r), code, "cuGraphicsSubResourceGetMappedArray",
                               CULV_REASON_DRIVER_REFUSED,
                               "layer %" PRIu32 " of level %" PRIu32 " has no array", layer, level);
    *out = array;
    return CULV_OK;
}

culv_result culvi_registered_set_flags(culvi_registered *r, unsigned map_flags)
{
    culvi_scope scope;
    if (r->mapped)
        return culvi_fail(voice_of(r), label_of(r), CULV_ERROR_INVALID, CULV_REASON_MAPPED,
                          "the %s is mapped; its access can be changed between an unmap and a map",
                          r->image != NULL ? "image" : "buffer");
    culv_result result = culvi_enter(r->device, &scope, label_of(r));
    if (result != CULV_OK) return result;
    CUresult code = CULVI_CU(r->device, cuGraphicsResourceSetMapFlags, (r->resource, map_flags));
    culvi_leave(r->device, &scope);
    if (code == CUDA_SUCCESS) return CULV_OK;
    return culvi_fail_cuda(r->device, label_of(r), code, "cuGraphicsResourceSetMapFlags",
                           CULV_REASON_DRIVER_REFUSED, "its access could not be changed");
}
