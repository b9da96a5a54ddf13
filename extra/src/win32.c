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
