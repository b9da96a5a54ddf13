/* SPDX-License-Identifier: MIT */
/* What culvert-extra needs of Windows. */
#include "inside.h"

#include <stdio.h>
#include <windows.h>

void *culvi_x_module_open(const char *name, char *why, size_t why_size)
{
    /* From the system's directory alone, so that nothing can be planted before it. */
    HMODULE module = LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (module == NULL)
        snprintf(why, why_size, "%s: error %lu", name, (unsigned long)GetLastError());
    return (void *)module;
}

bool culvi_x_module_find(void *module, const char *name, void *out)
{
    FARPROC proc = GetProcAddress((HMODULE)module, name);
    memcpy(out, &proc, sizeof proc);
    return proc != NULL;
}

void culvi_x_module_close(void *module)
{
    FreeLibrary((HMODULE)module);
}

/* Threads -------------------------------------------------------------------------------------- */

void culvi_x_condition_wait(culvi_x_condition *condition, culvi_x_mutex *mutex)
{
    (void)SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

const void *culvi_x_thread(void)
{
    return (const void *)(uintptr_t)GetCurrentThreadId();
}

/* Memory --------------------------------------------------------------------------------------- */

uint64_t culvi_x_page_size(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

bool culvi_x_host_readable(uint64_t address)
{
    MEMORY_BASIC_INFORMATION info;
    return VirtualQuery((const void *)(uintptr_t)address, &info, sizeof info) == sizeof info &&
           info.State == MEM_COMMIT && (info.Protect & (PAGE_NOACCESS | PAGE_GUARD)) == 0;
}
