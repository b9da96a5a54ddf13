/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: stacks that one thread switches between.
 *
 * x86-64 has a switch of its own; elsewhere it is swapcontext(), which makes a system call. The
 * sanitizers' runtime is asked for by weak names, so that the same library serves programs with and
 * without it. ThreadSanitizer is not told: to it all fibers of a thread are that thread, which is
 * true of what happens before what. */
#include "block.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if !defined(__x86_64__) && !defined(SOFT_FIBER_UCONTEXT)
#    define SOFT_FIBER_UCONTEXT 1
#endif
#if SOFT_FIBER_UCONTEXT
#    include <ucontext.h>
#endif

/* sanitizer/common_interface_defs.h, sanitizer/asan_interface.h: the names are theirs.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **save, const void *bottom,
                                                          size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *save, const void **bottom_old,
                                                           size_t *size_old);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *start, size_t size);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Pages without access below a stack cost a mapping each, of which a process has 65530. What runs
 * on stacks without one is found out by nobody if it overruns them. */
#define MAX_GUARDS 8192
static atomic_int guards;

struct slab {
    struct soft_fiber fibers[SOFT_FIBERS_AT_ONCE];
    unsigned char *map;
    size_t map_size;
    int guards;
#if SOFT_FIBER_UCONTEXT
    ucontext_t contexts[SOFT_FIBERS_AT_ONCE];
#endif
};

struct soft_fiber *soft_fibers_new(void)
{
    const size_t page = soft_page_size();
    struct slab *slab = calloc(1, sizeof(*slab));
    if (slab == NULL) return NULL;
    slab->map_size = (size_t)SOFT_FIBERS_AT_ONCE * SOFT_FIBER_STACK;
    slab->map = mmap(NULL, slab->map_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (slab->map == MAP_FAILED) {
        free(slab);
        return NULL;
    }
    /* Huge pages would make all of each stack resident. */
    (void)madvise(slab->map, slab->map_size, MADV_NOHUGEPAGE);
    bool guarded =
        atomic_fetch_add(&guards, SOFT_FIBERS_AT_ONCE) + SOFT_FIBERS_AT_ONCE <= MAX_GUARDS;
    if (!guarded) atomic_fetch_sub(&guards, SOFT_FIBERS_AT_ONCE);
    slab->guards = guarded ? SOFT_FIBERS_AT_ONCE : 0;
    for (size_t i = 0; i < SOFT_FIBERS_AT_ONCE; i++) {
        struct soft_fiber *fiber = &slab->fibers[i];
        fiber->stack = slab->map + i * SOFT_FIBER_STACK;
        fiber->stack_size = SOFT_FIBER_STACK;
        if (guarded && mprotect(fiber->stack, page, PROT_NONE) == 0) {
            fiber->stack += page;
            fiber->stack_size -= page;
        }
#if SOFT_FIBER_UCONTEXT
        fiber->context = &slab->contexts[i];
#endif
        fiber->next = i + 1 < SOFT_FIBERS_AT_ONCE ? &slab->fibers[i + 1] : NULL;
    }
    return slab->fibers;
}

void soft_fibers_free(struct soft_fiber *first)
{
    struct slab *slab = (struct slab *)(void *)first;
    munmap(slab->map, slab->map_size);
    atomic_fetch_sub(&guards, slab->guards);
    free(slab);
}

#if SOFT_FIBER_UCONTEXT

void soft_fiber_prepare(struct soft_fiber *fiber, void (*work)(void))
{
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
    ucontext_t *context = fiber->context;
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = fiber->stack_size;
    context->uc_link = NULL;
    makecontext(context, work, 0);
    fiber->position = context;
    fiber->sanitizer = NULL;
}

static __attribute__((noinline)) void swap(void **save, struct soft_fiber *to)
{
    ucontext_t here;
    *save = &here;
    swapcontext(&here, to->position);
}

#else

/* Saves what a function must preserve (System V ABI, AMD64), keeps the stack in *save and goes on
 * where `load` was kept. */
void soft_fiber_swap(void **save, void *load) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden soft_fiber_swap\n"
        ".globl soft_fiber_swap\n"
        ".type soft_fiber_swap, @function\n"
        "soft_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size soft_fiber_swap, . - soft_fiber_swap\n");

void soft_fiber_prepare(struct soft_fiber *fiber, void (*work)(void))
{
    /* What was left on it is poisoned still. */
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
    /* Six registers, where to return to, and no caller of that. work() begins as if it had been
     * called: 8 bytes off a multiple of 16. */
    void *frame[8] = {NULL};
    memcpy(&frame[6], &work, sizeof(work));
    unsigned char *top = fiber->stack + fiber->stack_size - 64;
    fiber->position = top - sizeof(frame);
    memcpy(fiber->position, frame, sizeof(frame));
    fiber->sanitizer = NULL;
}

static __attribute__((noinline)) void swap(void **save, struct soft_fiber *to)
{
    soft_fiber_swap(save, to->position);
}

#endif

void soft_fiber_switch(struct soft_fiber *from, struct soft_fiber *to)
{
    if (__sanitizer_start_switch_fiber != NULL)
        __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->stack_size);
    swap(&from->position, to);
    if (__sanitizer_finish_switch_fiber != NULL)
        __sanitizer_finish_switch_fiber(from->sanitizer, NULL, NULL);
}

void soft_fiber_arrived(struct soft_fiber *from)
{
    if (__sanitizer_finish_switch_fiber == NULL) return;
    const void *bottom = NULL;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    if (from->stack != NULL) return;
    /* The thread's own: the sanitizer knows where it is. Nothing else asks. */
    memcpy(&from->stack, &bottom, sizeof(bottom));
    from->stack_size = size;
}

_Noreturn void soft_fiber_leave(struct soft_fiber *to)
{
    /* No local variable: where AddressSanitizer finds uses after a return, those of this stack are
     * gone with the next call. */
    static _Thread_local void *nowhere __attribute__((tls_model("initial-exec")));
    if (__sanitizer_start_switch_fiber != NULL)
        __sanitizer_start_switch_fiber(NULL, to->stack, to->stack_size);
    swap(&nowhere, to);
    abort(); /* nobody comes back */
}

/* Faults in kernels and copies end the work, not the process.
 *
 * The guard of the running thread is a jump target; the handler jumps when there is one, and
 * otherwise hands the signal to whoever was installed before. */

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
