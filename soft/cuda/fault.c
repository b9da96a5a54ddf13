/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: faults in kernels and copies end the work, not the process.
 *
 * The guard of the running thread is a jump target; the handler jumps when there is one, and
 * otherwise hands the signal to whoever was installed before. */
#include "block.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#define HANDLER_STACK 65536u

struct guard {
    sigjmp_buf target;
    volatile sig_atomic_t result; /* a CUresult */
};

/* initial-exec: the handler must not reach an allocator through __tls_get_addr. */
static _Thread_local struct guard *volatile current __attribute__((tls_model("initial-exec")));

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define NUM_SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction previous[NUM_SIGNALS];

static void pass_on(int number, siginfo_t *info, void *ucontext)
{
    const struct sigaction *old = NULL;
    for (size_t i = 0; i < NUM_SIGNALS; i++)
        if (signals[i] == number) old = &previous[i];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, ucontext);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    } else {
        /* Returning runs the faulting instruction again, now with the default action. */
        sigaction(number, old, NULL);
    }
}

static CUresult meaning(int number)
{
    switch (number) {
    case SIGILL: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case SIGFPE: return CUDA_ERROR_LAUNCH_FAILED;
    default: return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
}

_Noreturn void soft_fault_end(CUresult result)
{
    struct guard *guard = current;
    if (guard == NULL) abort();
    current = NULL;
    guard->result = (sig_atomic_t)result;
    siglongjmp(guard->target, 1);
}

static void on_fault(int number, siginfo_t *info, void *ucontext)
{
    if (current == NULL) {
        pass_on(number, info, ucontext);
        return;
    }
    /* The jump needs the stack that it goes to. */
    soft_block_abandon(meaning(number));
    soft_fault_end(meaning(number));
}

static void install(void)
{
    /* SA_NODEFER: the jump leaves the handler without a return, and the mask need not be
     * restored. */
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUM_SIGNALS; i++)
        sigaction(signals[i], &action, &previous[i]);
}

CUresult soft_guarded(void (*work)(void *), void *arg)
{
    /* With the first work, whatever it is: an import's file may be cut off under a copy. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct guard guard = {.result = CUDA_SUCCESS};
    pthread_once(&once, install);
    if (sigsetjmp(guard.target, 0) == 0) {
        current = &guard;
        work(arg);
        current = NULL;
        return CUDA_SUCCESS;
    }
    /* Not blocked by our own handler, but by ThreadSanitizer's around it: the next fault must
     * arrive too. */
    sigset_t faults;
    sigemptyset(&faults);
    for (size_t i = 0; i < NUM_SIGNALS; i++)
        sigaddset(&faults, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    soft_note_fault();
    return (CUresult)guard.result;
}

void *soft_fault_thread_begin(void)
{
    /* A kernel that overruns its own stack leaves none for the handler. A stack that is there
     * already (a sanitizer's) stays. */
    stack_t old;
    if (sigaltstack(NULL, &old) != 0 || !(old.ss_flags & SS_DISABLE)) return NULL;
    stack_t stack = {.ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK};
    if (stack.ss_sp == NULL) return NULL;
    if (sigaltstack(&stack, NULL) != 0) {
        free(stack.ss_sp);
        return NULL;
    }
    return stack.ss_sp;
}

void soft_fault_thread_end(void *token)
{
    if (token == NULL) return;
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    free(token);
}
