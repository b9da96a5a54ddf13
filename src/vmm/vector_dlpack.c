/* SPDX-License-Identifier: MIT */
/* Tensors of a vector. A tensor pins the address that it was made of: the vector grows and moves as
 * before, but what the tensor covers stays where it is. */
#include "base/tree.h"
#include "core/memory.h"
#include "vmm/vector.h"

bool culvi_vector_is_pinned(culv_vector *v, CUdeviceptr base, uint64_t offset)
{
    bool pinned = false;
    culvi_mutex_lock(&v->lock);
    for (const culvi_vector_pin *pin = v->pins; pin != NULL && !pinned; pin = pin->next)
        pinned = (base == 0 || pin->base == base) && pin->end > offset;
    culvi_mutex_unlock(&v->lock);
    return pinned;
}

culv_result culvi_vector_fail_pinned(const culv_vector *v, const char *call)
{
    return culvi_fail(
        &v->device->voice, v->label, CULV_ERROR_BUSY, CULV_REASON_OWNED,
        "%s: a tensor of culv_vector_get_dlpack() still has that memory; let its consumer give it up first",
        call);
}

static void free_orphan(culvi_late *late)
{
    culvi_vector_free_all(CULVI_CONTAINER(late, culv_vector, late), true);
}

bool culvi_vector_leave_to_pins(culv_vector *v)
{
    culvi_mutex_lock(&v->lock);
    bool pinned = v->pins != NULL;
    culvi_mutex_unlock(&v->lock);
    if (!pinned) return false;
    /* The last pin may go on any thread, when the graphics API's device has long gone. */
    for (culvi_vector_segment *s = v->space->top; s != NULL; s = s->below) {
        if (s->home != NULL) s->home->api->part(s->home, s->start);
        s->apart = s->home != NULL;
    }
    culvi_mutex_lock(&v->lock);
    pinned = v->pins != NULL;
    v->orphan = true;
    atomic_store(&v->gone, true);
    culvi_mutex_unlock(&v->lock);
    if (pinned) return true;
    v->late.release = free_orphan; /* they went meanwhile, and a destroy does not wait */
    culvi_late_push(v->device, &v->late);
    return true;
}

static void give_up_pin(void *owner)
{
    culvi_vector_pin *pin = owner;
    culv_vector *v = pin->vector;
    culvi_mutex_lock(&v->lock);
    CULVI_LIST_REMOVE(pin);
    const bool last = v->pins == NULL && v->orphan;
    culvi_mutex_unlock(&v->lock);
    culvi_free(pin);
    if (last) {
        /* Unmapping does not wait, and who used the tensors in which streams is not known. */
        v->late.release = free_orphan;
        culvi_release_late(v->device, &v->late, "vector", v->label, culv_vector_committed(v));
    }
    culvi_vector_unref(v);
}

culv_result culv_vector_get_dlpack(culv_vector *vector, const culv_dlpack_desc *desc,
                                   culv_dl_managed_tensor_versioned **out)
{
    CULVI_REQUIRE(NULL, vector);
    culv_vector *v = vector;
    culv_device *device = v->device;
    CULVI_REQUIRE(&device->voice, out);
    culvi_late_prepare(device);
    CULVI_NEW(culvi_vector_pin, pin, &device->voice, v->label);
    culvi_mutex_lock(&v->lock);
    pin->vector = v;
    pin->end = atomic_load(&v->size);
    pin->base = (CUdeviceptr)atomic_load(&v->base);
    CULVI_LIST_ADD(v->pins, pin);
    culvi_mutex_unlock(&v->lock);
    culvi_vector_ref(v);
    const culvi_dlpack_memory memory = {.device = device,
                                        .label = v->label,
                                        .pointer = pin->base,
                                        .size = pin->end,
                                        .give_up = give_up_pin};
    const culv_result result = culvi_dlpack_create(&memory, desc, pin, out);
    if (result != CULV_OK) give_up_pin(pin);
    return result;
}
