/* SPDX-License-Identifier: MIT */
/* Threads, Windows half. Fiber-local storage rather than _Thread_local, which a late-loaded DLL
 * cannot rely on. */
#include "base/platform.h"

#include <stdlib.h>
#include <windows.h>

_Static_assert(sizeof(SRWLOCK) == sizeof(void *), "an SRWLOCK is one pointer");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(void *), "a CONDITION_VARIABLE is one pointer");

void culvi_mutex_init(culvi_mutex *mutex)
{
    InitializeSRWLock((PSRWLOCK)&mutex->srw);
}

void culvi_mutex_destroy(culvi_mutex *mutex)
{
    (void)mutex;
}

void culvi_mutex_lock(culvi_mutex *mutex)
{
    AcquireSRWLockExclusive((PSRWLOCK)&mutex->srw);
}

void culvi_mutex_unlock(culvi_mutex *mutex)
{
    ReleaseSRWLockExclusive((PSRWLOCK)&mutex->srw);
}

bool culvi_condition_init(culvi_condition *condition)
{
    InitializeConditionVariable((PCONDITION_VARIABLE)&condition->variable);
    return true;
}

void culvi_condition_destroy(culvi_condition *condition)
{
    (void)condition;
}

void culvi_condition_wake_all(culvi_condition *condition)
{
    WakeAllConditionVariable((PCONDITION_VARIABLE)&condition->variable);
}

void culvi_condition_wait(culvi_condition *condition, culvi_mutex *mutex, uint64_t until)
{
    DWORD ms = INFINITE;
    if (until != UINT64_MAX) {
        uint64_t now = culvi_now();
        uint64_t left = until > now ? (until - now + 999999) / 1000000 : 0;
        ms = left < INFINITE ? (DWORD)left : INFINITE - 1;
    }
    SleepConditionVariableSRW((PCONDITION_VARIABLE)&condition->variable, (PSRWLOCK)&mutex->srw, ms,
                              0);
}

static DWORD WINAPI run_worker(void *user)
{
    culvi_worker *worker = (culvi_worker *)user;
    worker->body(worker->user);
    return 0;
}

bool culvi_worker_start(culvi_worker *worker, void (*body)(void *user), void *user)
{
    worker->body = body;
    worker->user = user;
    worker->handle = CreateThread(NULL, 0, run_worker, worker, 0, NULL);
    return worker->handle != NULL;
}

void culvi_worker_join(culvi_worker *worker)
{
    (void)WaitForSingleObject(worker->handle, INFINITE);
    (void)CloseHandle(worker->handle);
}

bool culvi_worker_exists(const culvi_worker *worker)
{
    return worker->handle != NULL;
}

int culvi_cancel_disable(void)
{
    return 0;
}

void culvi_cancel_restore(int before)
{
    (void)before;
}

uint64_t culvi_now(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    uint64_t whole = (uint64_t)(count.QuadPart / frequency.QuadPart);
    uint64_t rest = (uint64_t)(count.QuadPart % frequency.QuadPart);
    return whole * 1000000000 + rest * 1000000000 / (uint64_t)frequency.QuadPart;
}

void culvi_sleep_ms(unsigned ms)
{
    Sleep(ms);
}

static DWORD slot = FLS_OUT_OF_INDEXES;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

static void WINAPI free_state(void *state)
{
    free(state);
}

static BOOL CALLBACK make_slot(PINIT_ONCE o, void *parameter, void **context)
{
    (void)o;
    (void)parameter;
    (void)context;
    slot = FlsAlloc(free_state);
    return TRUE;
}

culvi_thread *culvi_thread_state(void)
{
    static culvi_thread shared;
    InitOnceExecuteOnce(&once, make_slot, NULL, NULL);
    if (slot == FLS_OUT_OF_INDEXES) return &shared;
    culvi_thread *state = (culvi_thread *)FlsGetValue(slot);
    if (state == NULL) {
        state = (culvi_thread *)calloc(1, sizeof *state);
        if (state == NULL || !FlsSetValue(slot, state)) {
            free(state);
            return &shared;
        }
    }
    return state;
}

bool culvi_privileged(void)
{
    return false;
}
