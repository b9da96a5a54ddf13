/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: stacks that one thread switches between, which are Windows' fibers here:
 * its exceptions are delivered only where it knows the stack. */
#include "block.h"

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

/* Faults in kernels and copies end the work, not the process. On Windows a
 * vectored handler sees each exception first. It lets the thread go on at a function that leaves
 * the work, on the stack where it was: a jump out of the handler itself would skip what the system
 * has still to do. Exceptions of other threads, and of other kinds, go on as they came. */

#define __USE_MINGW_SETJMP_NON_SEH /* the jump unwinds nothing: kernels have nothing to unwind */

#include <setjmp.h>
#include <stdlib.h>
#include <windows.h>

struct guard {
    jmp_buf target;
    CUresult result;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static DWORD slot = TLS_OUT_OF_INDEXES; /* the running thread's guard */
static atomic_bool installed;

static CUresult meaning(DWORD code)
{
    switch (code) {
    case EXCEPTION_ACCESS_VIOLATION:
    case EXCEPTION_DATATYPE_MISALIGNMENT:
    case EXCEPTION_IN_PAGE_ERROR:
    case EXCEPTION_STACK_OVERFLOW: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EXCEPTION_ILLEGAL_INSTRUCTION:
    case EXCEPTION_PRIV_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case EXCEPTION_INT_DIVIDE_BY_ZERO:
    case EXCEPTION_INT_OVERFLOW: return CUDA_ERROR_LAUNCH_FAILED;
    default: return CUDA_SUCCESS; /* none of ours */
    }
}

/* Without TlsGetValue()'s change of the last error. */
static struct guard *current(void)
{
    const DWORD error = GetLastError();
    struct guard *guard = TlsGetValue(slot);
    SetLastError(error);
    return guard;
}

_Noreturn void soft_fault_end(CUresult result)
{
    struct guard *guard = atomic_load(&installed) ? current() : NULL;
    if (guard == NULL) abort();
    TlsSetValue(slot, NULL);
    guard->result = result;
    longjmp(guard->target, 1);
}

/* Where a thread goes on that has faulted. */
_Noreturn static void landed(CUresult result)
{
    soft_block_abandon(result);
    soft_fault_end(result);
}

static LONG CALLBACK on_fault(EXCEPTION_POINTERS *exception)
{
    const CUresult result = meaning(exception->ExceptionRecord->ExceptionCode);
    if (result == CUDA_SUCCESS || current() == NULL) return EXCEPTION_CONTINUE_SEARCH;
    CONTEXT *context = exception->ContextRecord;
    /* As if landed(result) were called: 8 bytes off a multiple of 16, below what the caller keeps
     * for its parameters. */
    context->Rsp = ((context->Rsp - 256) & ~(DWORD64)15) - 8;
    context->Rcx = (DWORD64)result;
    context->Rip = (DWORD64)(uintptr_t)landed;
    context->EFlags &= ~0x400u; /* the direction of string instructions */
    return EXCEPTION_CONTINUE_EXECUTION;
}

static void install(void)
{
    slot = TlsAlloc();
    if (slot == TLS_OUT_OF_INDEXES) return;
    atomic_store(&installed, AddVectoredExceptionHandler(1, on_fault) != NULL);
}

CUresult soft_guarded(void (*work)(void *), void *arg)
{
    struct guard guard = {.result = CUDA_SUCCESS};
    pthread_once(&once, install);
    if (!atomic_load(&installed)) {
        work(arg);
        return CUDA_SUCCESS;
    }
    if (setjmp(guard.target) == 0) {
        TlsSetValue(slot, &guard);
        work(arg);
        TlsSetValue(slot, NULL);
        return CUDA_SUCCESS;
    }
    soft_note_fault();
    return *(volatile CUresult *)&guard.result;
}

/* The system keeps a part of each stack for handlers. */
void *soft_fault_thread_begin(void)
{
    return NULL;
}

void soft_fault_thread_end(void *token)
{
    (void)token;
}
