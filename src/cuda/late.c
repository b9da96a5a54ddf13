/* SPDX-License-Identifier: MIT */
/* Waiting for all work of a context, and what waits for that.
 *
 * cuCtxSynchronize would break every capture in the context, in the relaxed mode too; cuMemFree,
 * which waits just so, breaks none there (both measured). So a small allocation is made and
 * freed. */
#include "cuda/retire.h"

#include "cuda/watch.h"

enum { BUSY = 1 }; /* it is being made */

bool culvi_cuda_answers(CUresult code)
{
    return code == CUDA_SUCCESS || culvi_cuda_sticky(code) || culvi_cuda_gone(code);
}

void culvi_late_prepare(culv_device *device)
{
    culvi_scope scope;
    uint64_t none = 0;
    CUdeviceptr made = 0;
    if (!atomic_compare_exchange_strong(&device->waiter, &none, BUSY)) return;
    if (culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        if (CULVI_CU(device, cuMemAlloc, (&made, 1)) != CUDA_SUCCESS) made = 0;
        culvi_leave(device, &scope);
    }
    atomic_store(&device->waiter, made);
}

bool culvi_wait_for_all(culv_device *device, const char *kind, const char *label, uint64_t size)
{
    culvi_scope scope;
    CUdeviceptr mine = 0;
    uint64_t kept = atomic_load(&device->waiter);
    CUresult r = culvi_enter_quietly(device, &scope);
    if (!culvi_cuda_answers(r)) r = culvi_enter_quietly(device, &scope);
    if (r != CUDA_SUCCESS) return culvi_cuda_gone(r);
    if (kept > BUSY && atomic_compare_exchange_strong(&device->waiter, &kept, 0)) {
        mine = (CUdeviceptr)kept;
    } else {
        r = CULVI_CU(device, cuMemAlloc, (&mine, 1));
        if (!culvi_cuda_answers(r)) r = CULVI_CU(device, cuMemAlloc, (&mine, 1));
    }
    if (r == CUDA_SUCCESS) {
        culvi_watch watch;
        culvi_watch_begin(device, &watch, kind, label, size);
        r = CULVI_RELEASE(device, cuMemFree, (mine));
        if (!culvi_cuda_answers(r)) r = CULVI_RELEASE(device, cuMemFree, (mine));
        culvi_watch_done(device, &watch);
        kept = 0;
        if (r != CUDA_SUCCESS) /* a lost context takes it along; else it is there */
            (void)atomic_compare_exchange_strong(&device->waiter, &kept, mine);
    }
    culvi_leave(device, &scope);
    return culvi_cuda_answers(r);
}

void culvi_late_push(culv_device *device, culvi_late *object)
{
    object->next = atomic_load(&device->late);
    while (!atomic_compare_exchange_weak(&device->late, &object->next, object)) {
    }
}

void culvi_release_late(culv_device *device, culvi_late *object, const char *kind,
                        const char *label, uint64_t size)
{
    if (culvi_wait_for_all(device, kind, label, size)) {
        object->release(object);
        return;
    }
    culvi_log(&device->voice, CULV_LOG_WARNING,
              "%s: the driver does not wait for the work that may still use it; it is kept until a "
              "later culv_device_collect()",
              culvi_named(kind, label).text);
    culvi_late_push(device, object);
}

void culvi_late_collect(culv_device *device)
{
    if (atomic_load(&device->late) == NULL) return;
    culvi_late *list = atomic_exchange(&device->late, NULL);
    const bool over = list != NULL && culvi_wait_for_all(device, "memory", NULL, 0);
    while (list != NULL) {
        culvi_late *object = list;
        list = object->next;
        if (over)
            object->release(object);
        else
            culvi_late_push(device, object);
    }
}

void culvi_late_end(culv_device *device)
{
    culvi_scope scope;
    const CUdeviceptr made = (CUdeviceptr)atomic_exchange(&device->waiter, 0);
    if (made <= BUSY || culvi_enter_quietly(device, &scope) != CUDA_SUCCESS) return;
    CUresult r = CULVI_RELEASE(device, cuMemFree, (made));
    if (!culvi_cuda_answers(r)) r = CULVI_RELEASE(device, cuMemFree, (made));
    (void)culvi_release_done(device, "cuMemFree", r, true);
    culvi_leave(device, &scope);
}
