/* SPDX-License-Identifier: MIT */
/* What the suites ask of the twin and of the rig, where neither is there: shim.h. */
#include "played.h"

#include "overlay.h"
#include "overlay11.h"

#include "control.h"
#include "harness.h"

#include <stdarg.h>

static uint64_t compared;

/* For a test of this program: the rig stays, and all else is as with NVIDIA's driver. */
static bool as_nvidia(void)
{
    return GetEnvironmentVariableA("CULVERT_SELFTEST_AS_NVIDIA", NULL, 0) > 0;
}

bool selftest_on_twin(void)
{
    if (as_nvidia()) return false;
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
    static void (*const functions[])(void) = {(void (*)(void))no_counts, (void (*)(void))no_fail_at,
                                              (void (*)(void))no_luid};
    static const char *const names[] = {"culvSoftCounts", "culvSoftFailAt", "culvSoftPlayLuid"};
    FARPROC found = as_nvidia() ? NULL : GetProcAddress(module, name);
    for (size_t i = 0; found == NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) memcpy(&found, &functions[i], sizeof found);
    return found;
}

/* The rig -------------------------------------------------------------------------------------- */

static const char rig_variable[] = "CULVERT_SELFTEST_RIG";

bool selftest_find_rig(char *directory, size_t size)
{
    const HMODULE module = GetModuleHandleA("culvert-rig.dll");
    directory[0] = '\0';
    if (module != NULL)
        GetModuleFileNameA(module, directory, (DWORD)size);
    else
        GetEnvironmentVariableA(rig_variable, directory, (DWORD)size);
    if (module != NULL) SetEnvironmentVariableA(rig_variable, directory);
    char *last = strrchr(directory, '\\');
    if (last != NULL) *last = '\0';
    return last != NULL;
}

/* A function of culvert-rig.dll, which is not there on Windows. */
static bool rig(const char *name, void *function)
{
    static HMODULE module;
    char directory[MAX_PATH], file[MAX_PATH + 32];
    FARPROC found = NULL;
    if (module == NULL && selftest_find_rig(directory, sizeof directory)) {
        snprintf(file, sizeof file, "%s\\culvert-rig.dll", directory);
        module = LoadLibraryA(file);
    }
    if (module != NULL) found = GetProcAddress(module, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

void selftest_load_rig(void)
{
    void (*clear)(void);
    if (!rig("overlay12_clear", &clear) && selftest_on_twin())
        skip("the twin is here without the rig; scripts/wine-run starts both");
}

#define DOES(name, parameters, arguments)                                                          \
    void name parameters                                                                           \
    {                                                                                              \
        void(*function) parameters;                                                                \
        if (rig(#name, &function)) function arguments;                                             \
    }
#define PLAYS(name, parameters, arguments, plays)                                                  \
    void name parameters                                                                           \
    {                                                                                              \
        void(*function) parameters;                                                                \
        if (!as_nvidia() && rig(#name, &function))                                                 \
            function arguments;                                                                    \
        else if (plays)                                                                            \
            skip("only the rig of the tests plays that: " #name);                                  \
    }
#define COUNTS(type, name)                                                                         \
    type name(void)                                                                                \
    {                                                                                              \
        type (*function)(void);                                                                    \
        return !as_nvidia() && rig(#name, &function) ? function() : 0;                             \
    }
DOES(overlay_install, (ID3D12Device * device), (device))
DOES(overlay11_install, (ID3D11Device * device, ID3D11DeviceContext *context), (device, context))
DOES(overlay12_clear, (void), ())
DOES(overlay11_clear, (void), ())
DOES(overlay11_turn, (ID3D11Device * device), (device))
PLAYS(overlay_tell, (overlay_lie lie), (lie), lie != OVERLAY_HONEST)
PLAYS(overlay11_tell, (overlay11_lie lie), (lie), lie != OVERLAY11_HONEST)
PLAYS(overlay_fail_at, (unsigned n), (n), n != 0)
PLAYS(overlay11_fail_at, (unsigned n), (n), n != 0)
PLAYS(overlay_remove_at, (unsigned n), (n), n != 0)
COUNTS(unsigned, overlay_opened)
COUNTS(unsigned, overlay_calls)
COUNTS(unsigned, overlay11_calls)
COUNTS(unsigned, overlay_counted)
COUNTS(int, overlay_references)
COUNTS(int, overlay11_references)

/* The rig does it, beside itself. */
void overlay_load_host(const char *path)
{
    (void)path;
}

/* Checks --------------------------------------------------------------------------------------- */

/* Whether a check that did not hold counts as one that held. */
bool selftest_passes(const char *condition);
bool selftest_passes(const char *condition)
{
    static const char *const counts[] = {"overlay", "driver_objects", "driver_resources", "c.fds"};
    if (selftest_on_twin()) return false;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strstr(condition, counts[i]) != NULL) return true;
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

/* What the suites print; before "PASS" a line says how much was compared. */
int selftest_printf(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
int selftest_printf(const char *format, ...)
{
    va_list args;
    char fail[128] = "none ", name[128] = "";
    if (strncmp(format, "PASS ", 5) == 0) { /* "PASS suite.case (" */
        /* For a test of this program. */
        va_start(args, format);
        vsnprintf(fail, sizeof fail, format + 5, args);
        va_end(args);
        *strchr(fail, ' ') = '\0';
        GetEnvironmentVariableA("CULVERT_SELFTEST_FAIL", name, sizeof name);
        if (strcmp(name, fail) == 0) FAIL("it was told to fail");
        printf("  bytes compared: %llu\n", (unsigned long long)compared);
        compared = 0;
    }
    va_start(args, format);
    const int result = vprintf(format, args);
    va_end(args);
    return result;
}
