/* Threads, Windows half. Fiber-local storage rather than _Thread_local, which a late-loaded DLL cannot rely
 * on. SPDX-License-Identifier: MIT */
#include "platform.h"

#include <stdlib.h>
#include <windows.h>

_Static_assert(sizeof(SRWLOCK) == sizeof(void *), "an SRWLOCK is one pointer");

bool culvi_mutex_init(culvi_mutex *mutex)
{
    InitializeSRWLock((PSRWLOCK)&mutex->srw);
    return true;
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

const char *culvi_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}
