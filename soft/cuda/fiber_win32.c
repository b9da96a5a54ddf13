/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: stacks that one thread switches between, which are Windows' fibers here:
 * its exceptions are delivered only where it knows the stack. */
#include "fiber.h"

#include "soft.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct slab {
    struct soft_fiber fibers[SOFT_FIBERS_AT_ONCE];
};

/* All of a stack is committed: nothing has to grow while a kernel runs. A page is used when it is
 * touched. */
static void *make(struct soft_fiber *fiber, LPFIBER_START_ROUTINE start)
{
    return CreateFiberEx(SOFT_FIBER_STACK, SOFT_FIBER_STACK, FIBER_FLAG_FLOAT_SWITCH, start, fiber);
}

static void CALLBACK begin(void *fiber)
{
    void (*work)(void);
    memcpy(&work, &((struct soft_fiber *)fiber)->context, sizeof(work));
    work();
    abort(); /* it never returns */
}

struct soft_fiber *soft_fibers_new(void)
{
    struct slab *slab = calloc(1, sizeof(*slab));
    if (slab == NULL) return NULL;
    for (size_t i = 0; i < SOFT_FIBERS_AT_ONCE; i++) {
        struct soft_fiber *fiber = &slab->fibers[i];
        fiber->position = make(fiber, begin);
        if (fiber->position == NULL) {
            soft_fibers_free(slab->fibers);
            return NULL;
        }
        fiber->next = i + 1 < SOFT_FIBERS_AT_ONCE ? fiber + 1 : NULL;
    }
    return slab->fibers;
}

void soft_fibers_free(struct soft_fiber *first)
{
    for (size_t i = 0; i < SOFT_FIBERS_AT_ONCE; i++)
        if (first[i].position != NULL) DeleteFiber(first[i].position);
    free(first); /* the slab begins with it */
}

void soft_fiber_prepare(struct soft_fiber *fiber, void (*work)(void))
{
    if (fiber->context != NULL) { /* something may wait on it */
        DeleteFiber(fiber->position);
        fiber->position = make(fiber, begin);
        if (fiber->position == NULL) abort(); /* although as much was freed just now */
    }
    memcpy(&fiber->context, &work, sizeof(work));
}

void soft_fiber_switch(struct soft_fiber *from, struct soft_fiber *to)
{
    /* Kernels run on the twin's own threads, which are no fibers yet. */
    if (from->position == NULL)
        from->position = ConvertThreadToFiberEx(NULL, FIBER_FLAG_FLOAT_SWITCH);
    if (from->position == NULL) soft_fault_end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    SwitchToFiber(to->position);
}

void soft_fiber_arrived(struct soft_fiber *from)
{
    (void)from;
}

_Noreturn void soft_fiber_leave(struct soft_fiber *to)
{
    SwitchToFiber(to->position);
    abort(); /* nobody comes back */
}
