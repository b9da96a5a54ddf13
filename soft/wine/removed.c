/* SPDX-License-Identifier: MIT */
#include "removed.h"

#include "part.h"

#include <stdlib.h>

const GUID removed_key = {
    0x5b0c1d0e, 0x7f0a, 0x4f8b, {0x95, 0x3e, 0x21, 0xd4, 0x66, 0x0b, 0xe7, 0x19}};
static LONG at, counted, some;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

static BOOL CALLBACK read_environment(PINIT_ONCE o, void *argument, void **context)
{
    (void)o, (void)argument, (void)context;
    const char *value = getenv("CULVERT_WINE_REMOVE_AT");
    if (value != NULL) at = (LONG)strtol(value, NULL, 10);
    return TRUE;
}

void overlay_remove_at(unsigned n)
{
    InitOnceExecuteOnce(&once, read_environment, NULL, NULL);
    InterlockedExchange(&counted, 0);
    InterlockedExchange(&at, (LONG)n);
}

unsigned overlay_counted(void)
{
    return (unsigned)counted;
}

bool removed_now(const char *call)
{
    InitOnceExecuteOnce(&once, read_environment, NULL, NULL);
    const LONG n = InterlockedIncrement(&counted);
    if (at == 0 || n != at) return false;
    rig_say("call %ld, %s, finds the device removed (DXGI_ERROR_DEVICE_REMOVED)", (long)n, call);
    InterlockedExchange(&some, 1);
    return true;
}

bool removed_some(void)
{
    return some != 0;
}

static HANDLE events[8]; /* the last ones */
static unsigned next;
static SRWLOCK lock = SRWLOCK_INIT;

void removed_remember(HANDLE event)
{
    const HANDLE self = GetCurrentProcess();
    AcquireSRWLockExclusive(&lock);
    HANDLE *place = &events[next++ % 8];
    if (*place != NULL) CloseHandle(*place);
    if (!DuplicateHandle(self, event, self, place, 0, FALSE, DUPLICATE_SAME_ACCESS)) *place = NULL;
    ReleaseSRWLockExclusive(&lock);
}

void removed_wake(void)
{
    AcquireSRWLockExclusive(&lock);
    for (unsigned i = 0; i < 8; i++)
        if (events[i] != NULL) SetEvent(events[i]);
    ReleaseSRWLockExclusive(&lock);
}
