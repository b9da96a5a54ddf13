/* SPDX-License-Identifier: MIT */
/* What the suites ask of the twin and of the overlay, where neither is there: shim.h. */
#include "played.h"

#include "overlay.h"
#include "overlay11.h"

#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t compared;

bool selftest_on_twin(void)
{
    const HMODULE module = LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return module != NULL && GetProcAddress(module, "culvSoftCounts") != NULL;
}

/* Ends the case, and this process with it. The program's first part starts the next one. */
_Noreturn static void skip(const char *why)
{
    printf("SKIP: %s\n", why);
    fflush(stdout);
    TerminateProcess(GetCurrentProcess(), SELFTEST_SKIPPED);
    abort(); /* not reached */
}

/* The twin's own functions --------------------------------------------------------------------- */

static void no_counts(culv_soft_counts *out)
{
    const size_t size = out->struct_size;
    memset(out, 0, sizeof *out);
    out->struct_size = size;
}

static void no_fail_at(uint64_t n, int error)
{
    (void)error;
    if (n != 0) skip("only the software twin fails when it is told to");
}

static void no_luid(int device, const uint8_t luid[8], unsigned node_mask)
{
    (void)device, (void)luid, (void)node_mask;
    skip("only the software twin plays other adapters");
}

FARPROC WINAPI selftest_proc(HMODULE module, const char *name);
FARPROC WINAPI selftest_proc(HMODULE module, const char *name)
{
    static void (*const functions[])(void) = {(void (*)(void))no_counts,
                                              (void (*)(void))no_fail_at, (void (*)(void))no_luid};
    static const char *const names[] = {"culvSoftCounts", "culvSoftFailAt", "culvSoftPlayLuid"};
    FARPROC found = GetProcAddress(module, name);
    for (size_t i = 0; found == NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) memcpy(&found, &functions[i], sizeof found);
    return found;
}

/* The overlay ---------------------------------------------------------------------------------- */

void selftest_install12(ID3D12Device *device);
void selftest_install12(ID3D12Device *device)
{
    if (selftest_on_twin()) overlay_install(device);
}

void selftest_tell12(overlay_lie lie);
void selftest_tell12(overlay_lie lie)
{
    if (lie != OVERLAY_HONEST && !selftest_on_twin())
        skip("only the overlay of the tests plays a wrong Direct3D 12");
    overlay_tell(lie);
}

void selftest_fail12_at(unsigned n);
void selftest_fail12_at(unsigned n)
{
    if (n != 0 && !selftest_on_twin()) skip("only the overlay of the tests fails when it is told to");
    overlay_fail_at(n);
}

void selftest_install11(ID3D11Device *device, ID3D11DeviceContext *context);
void selftest_install11(ID3D11Device *device, ID3D11DeviceContext *context)
{
    if (selftest_on_twin()) overlay11_install(device, context);
}

void selftest_tell11(overlay11_lie lie);
void selftest_tell11(overlay11_lie lie)
{
    if (lie != OVERLAY11_HONEST && !selftest_on_twin())
        skip("only the overlay of the tests plays a wrong Direct3D 11");
    overlay11_tell(lie);
}

void selftest_fail11_at(unsigned n);
void selftest_fail11_at(unsigned n)
{
    if (n != 0 && !selftest_on_twin()) skip("only the overlay of the tests fails when it is told to");
    overlay11_fail_at(n);
}

/* Checks --------------------------------------------------------------------------------------- */

bool selftest_passes(const char *condition);
bool selftest_passes(const char *condition)
{
    static const char *const counts[] = {"overlay", "driver_objects", "driver_resources", "c."};
    if (selftest_on_twin()) return false;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strncmp(condition, counts[i], strlen(counts[i])) == 0) return true;
    return false;
}

/* Shared handles of Direct3D's are kernel objects of kinds that only Direct3D opens. A mutex cannot
 * be made by a name that an object of another kind has: ERROR_INVALID_HANDLE. */
HANDLE WINAPI selftest_open_name(DWORD access, BOOL inherit, const wchar_t *name);
HANDLE WINAPI selftest_open_name(DWORD access, BOOL inherit, const wchar_t *name)
{
    (void)access, (void)inherit;
    const HANDLE mutex = CreateMutexW(NULL, FALSE, name);
    if (mutex != NULL) CloseHandle(mutex);
    return mutex == NULL && GetLastError() == ERROR_INVALID_HANDLE
               ? CreateEventW(NULL, FALSE, FALSE, NULL)
               : NULL;
}

int selftest_compare(const void *a, const void *b, size_t size);
int selftest_compare(const void *a, const void *b, size_t size)
{
    compared += size;
    return memcmp(a, b, size);
}

uint64_t selftest_compared(void)
{
    const uint64_t bytes = compared;
    compared = 0;
    return bytes;
}
