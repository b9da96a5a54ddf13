/* SPDX-License-Identifier: MIT */
/* Tensors of a vector. A tensor pins the address that it was made of: the vector grows and moves as
 * before, but what the tensor covers stays where it is. */
#include "base/alloc.h"
#include "core/dlpack.h"
#include "cuda/context.h"
#include "cuda/watch.h"
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
    return culvi_fail(&v->device->voice, v->label, CULV_ERROR_BUSY, CULV_REASON_OWNED,
                      "%s: a tensor of culv_vector_get_dlpack() still has that memory; let its "
                      "consumer give it up first",
                      call);
}

bool culvi_vector_leave_to_pins(culv_vector *v)
{
    culvi_mutex_lock(&v->lock);
    const bool left = v->pins != NULL;
    v->orphan = left;
    if (left) atomic_store(&v->gone, true);
    culvi_mutex_unlock(&v->lock);
    return left;
}

/* Unmapping does not wait, and who used the tensor in which streams is not known. */
static void wait_for_all(culv_device *device, const char *label, uint64_t size)
{
    culvi_scope scope;
    culvi_watch watch;
    if (culvi_enter_quietly(device, &scope) != CUDA_SUCCESS) return;
    culvi_watch_begin(device, &watch, "vector", label, size);
    if (!device->lost) {
        const CUresult r = device->cuda->cuCtxSynchronize();
        if (culvi_traces(&device->voice))
            (void)culvi_trace_cuda(&device->voice, device->cuda, "cuCtxSynchronize", r, NULL, 0);
    }
    culvi_watch_done(device, &watch);
    culvi_leave(device, &scope);
}

static void give_up_pin(void *owner)
{
    culvi_vector_pin *pin = owner;
    culv_vector *v = pin->vector;
    culvi_mutex_lock(&v->lock);
    *pin->link = pin->next;
    if (pin->next != NULL) pin->next->link = pin->link;
    const bool last = v->pins == NULL && v->orphan;
    culvi_mutex_unlock(&v->lock);
    culvi_free(pin);
    if (last) {
        wait_for_all(v->device, v->label, culv_vector_committed(v));
        culvi_vector_free_all(v, true);
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
    culvi_vector_pin *pin = culvi_alloc(sizeof *pin);
    if (pin == NULL) return culvi_fail_host_memory(&device->voice, v->label);
    culvi_mutex_lock(&v->lock);
    pin->vector = v;
    pin->end = atomic_load(&v->size);
    pin->base = (CUdeviceptr)atomic_load(&v->base);
    pin->link = &v->pins;
    pin->next = v->pins;
    if (pin->next != NULL) pin->next->link = &pin->next;
    v->pins = pin;
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
