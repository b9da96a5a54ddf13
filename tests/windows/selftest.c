/* SPDX-License-Identifier: MIT */
/* culvert-selftest.exe [--report FILE] [--limit SECONDS] [CASE...]: runs the suites of
 * tests/windows on this machine and writes one report, which scripts/support-table reads.
 * docs/selftest.md is its page.
 *
 * The cases run in processes of their own, one for each suite, in order. A case that fails, hangs
 * or crashes ends its process, and the next process goes on behind it. The first half is what the
 * suites ask of the twin and of the rig, where neither is there: selftest_shim.h. */
#define COBJMACROS
#include "overlay.h"
#include "overlay11.h"

#include "control.h"
#include "harness.h"

#include <culvert/culvert.h>
#include <dxgi.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>

static uint64_t compared;

/* For a test of this program: the rig stays, and all else is as with NVIDIA's driver. */
static bool as_nvidia(void)
{
    return GetEnvironmentVariableA("CULVERT_SELFTEST_AS_NVIDIA", NULL, 0) > 0;
}

/* Whether nvcuda.dll is the twin, under Wine. */
static bool on_twin(void)
{
    if (as_nvidia()) return false;
    const HMODULE module = LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return module != NULL && GetProcAddress(module, "culvSoftCounts") != NULL;
}

/* What the suites print ------------------------------------------------------------------------ */

enum { MOST_CASES = 128, LINE = 4096, NAME = 96, CASE_LIMIT_MS = 30000, LIMIT_S = 110 };

/* A page of the process of cases and of the one that started it. */
typedef struct progress {
    volatile ULONGLONG at; /* the time of the last line */
    volatile unsigned done, passed, skipped;
    char last[LINE];
} progress;
static progress *page;
static FILE *report;       /* in a process of cases it is stderr */
static char running[NAME]; /* d3d12.buffers */

static bool map_page(void)
{
    static const char variable[] = "CULVERT_SELFTEST_PAGE";
    char name[NAME];
    if (GetEnvironmentVariableA(variable, name, NAME) == 0) {
        snprintf(name, NAME, "Local\\culvert-selftest.%lu", GetCurrentProcessId());
        SetEnvironmentVariableA(variable, name);
    }
    const HANDLE section =
        CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof *page, name);
    page = section != NULL ? MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof *page) : NULL;
    return page != NULL;
}

/* To the report, and to the console. */
__attribute__((format(gnu_printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(report, format, args);
    va_end(args);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(report);
    fflush(stdout);
}

/* Ends the case, and this process with it. The program's first part starts the next one. */
_Noreturn static void skip(const char *why)
{
    say("SKIP windows.%s: %s\n", running, why);
    page->skipped++;
    page->done++;
    TerminateProcess(GetCurrentProcess(), TEST_SKIPPED);
    abort(); /* not reached */
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* A verdict goes to the report and to the console, another line to the report. */
static void hear(const char *line)
{
    char fail[NAME] = "";
    page->at = GetTickCount64();
    if (begins(line, "== ")) {
        snprintf(running, sizeof running, "%s", line + strlen("== "));
        if (strstr(running, "torture") != NULL && !on_twin())
            skip("it makes calls of the software twin fail");
    }
    if (!begins(line, "PASS ")) {
        fprintf(report, "    %s\n", line);
        if (line[0] != '\0') snprintf(page->last, LINE, "%s", line);
        return;
    }
    /* For a test of this program. */
    GetEnvironmentVariableA("CULVERT_SELFTEST_FAIL", fail, sizeof fail);
    if (strcmp(running, fail) == 0) FAIL("it was told to fail");
    fprintf(report, "      bytes compared: %llu\n", (unsigned long long)compared);
    compared = 0;
    say("PASS windows.%s\n", line + strlen("PASS "));
    page->passed++;
    page->done++;
}

__attribute__((format(gnu_printf, 1, 0))) int selftest_vprintf(const char *format, va_list args)
{
    static char text[LINE];
    static size_t length;
    const int added = vsnprintf(text + length, LINE - length, format, args);
    char line[LINE], *end;
    while ((end = strchr(text, '\n')) != NULL || strlen(text) == LINE - 1) {
        const size_t size = end != NULL ? (size_t)(end - text) : LINE - 1;
        snprintf(line, LINE, "%.*s", (int)size, text);
        memmove(text, text + size + (end != NULL), LINE - size - (end != NULL));
        length = 0; /* it may print */
        hear(line);
    }
    length = strlen(text);
    return added;
}

__attribute__((format(gnu_printf, 1, 2))) int selftest_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int result = selftest_vprintf(format, args);
    va_end(args);
    return result;
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
    if (n != 0) skip("only the software twin fails when it is told to");
}

static void no_luid(int device, const uint8_t luid[8], unsigned node_mask)
{
    skip("only the software twin plays other adapters");
}

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

/* The directory of culvert-rig.dll and of rig/culvert-rig.exe: this process has the library, or the
 * one that started it. */
static bool find_rig(char *directory, size_t size)
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
static bool of_rig(const char *name, void *function)
{
    static HMODULE module;
    char directory[MAX_PATH], file[MAX_PATH + 32];
    FARPROC found = NULL;
    if (module == NULL && find_rig(directory, sizeof directory)) {
        snprintf(file, sizeof file, "%s\\culvert-rig.dll", directory);
        module = LoadLibraryA(file);
    }
    if (module != NULL) found = GetProcAddress(module, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Under Wine: before there is a device, once in a process that runs cases. */
static void load_rig(void)
{
    void (*clear)(void);
    if (!of_rig("overlay12_clear", &clear) && on_twin())
        skip("the twin is here without the rig; scripts/wine-run starts both");
}

#define DOES(name, parameters, arguments)                                                          \
    void name parameters                                                                           \
    {                                                                                              \
        void(*function) parameters;                                                                \
        if (of_rig(#name, &function)) function arguments;                                          \
    }
#define PLAYS(name, parameters, arguments, plays)                                                  \
    void name parameters                                                                           \
    {                                                                                              \
        void(*function) parameters;                                                                \
        if (!as_nvidia() && of_rig(#name, &function))                                              \
            function arguments;                                                                    \
        else if (plays)                                                                            \
            skip("only the rig of the tests plays that: " #name);                                  \
    }
#define COUNTS(type, name)                                                                         \
    type name(void)                                                                                \
    {                                                                                              \
        type (*function)(void);                                                                    \
        return !as_nvidia() && of_rig(#name, &function) ? function() : 0;                          \
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
void overlay_load_host(const char *path) {}

/* Checks --------------------------------------------------------------------------------------- */

/* Whether a check that did not hold counts as one that held. */
bool selftest_passes(const char *condition)
{
    static const char *const counts[] = {"overlay", "driver_objects", "driver_resources", "c.fds"};
    if (on_twin()) return false;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strstr(condition, counts[i]) != NULL) return true;
    return false;
}

/* Shared handles of Direct3D's are kernel objects of kinds that only Direct3D opens. A mutex cannot
 * be made by a name that an object of another kind has: ERROR_INVALID_HANDLE. */
HANDLE WINAPI selftest_open_name(DWORD access, BOOL inherit, const wchar_t *name)
{
    const HANDLE mutex = CreateMutexW(NULL, FALSE, name);
    if (mutex != NULL) CloseHandle(mutex);
    return mutex == NULL && GetLastError() == ERROR_INVALID_HANDLE
               ? CreateEventW(NULL, FALSE, FALSE, NULL)
               : NULL;
}

int selftest_compare(const void *a, const void *b, size_t size)
{
    compared += size;
    return memcmp(a, b, size);
}

/* The suites' cases ---------------------------------------------------------------------------- */

int selftest_run(int argc, char **argv); /* harness.c: ends the process */
const char *selftest_suite;

typedef struct suite {
    const char *name;
    test_case *tests[MOST_CASES];
    const char *cases[MOST_CASES];
    unsigned count;
} suite;

static suite suites[] = {{.name = "d3d12"}, {.name = "d3d11"}, {.name = "d3d_register"}};
enum { SUITES = sizeof suites / sizeof suites[0] };

static void add(suite *s, test_case *c)
{
    if (s->count == MOST_CASES) abort();
    s->tests[s->count] = c;
    s->cases[s->count++] = c->title != NULL ? c->title : c->name;
}

/* Before main(), by the cases of the sources that are compiled for the suite. */
#define ADDS(index, suite)                                                                         \
    void selftest_add_##suite(test_case *c)                                                        \
    {                                                                                              \
        add(&suites[index], c);                                                                    \
    }

ADDS(0, d3d12)
ADDS(1, d3d11)
ADDS(2, d3d_register)

/* Keeps the cases that are named, "d3d12.buffers"; all when none is. */
static void choose(int count, char **names)
{
    for (unsigned i = 0; count > 0 && i < SUITES; i++) {
        suite *s = &suites[i];
        unsigned kept = 0;
        for (unsigned k = 0; k < s->count; k++) {
            char name[NAME];
            snprintf(name, sizeof name, "%s.%s", s->name, s->cases[k]);
            for (int n = 0; n < count; n++)
                if (strcmp(names[n], name) == 0) {
                    s->cases[kept++] = s->cases[k];
                    break;
                }
        }
        s->count = kept;
    }
}

/* --cases SUITE CASE... */
static int run_cases(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    report = stderr;
    _setmode(_fileno(stderr), _O_BINARY);
    snprintf(running, sizeof running, "%s.%s", argv[0], argv[1]);
    load_rig();
    for (unsigned i = 0; i < SUITES; i++) {
        if (strcmp(argv[0], suites[i].name) != 0) continue;
        for (unsigned k = 0; k < suites[i].count; k++)
            test_add(suites[i].tests[k]);
        selftest_suite = suites[i].name;
        return selftest_run(argc, argv);
    }
    return 2;
}

/* The runner ----------------------------------------------------------------------------------- */

static ULONGLONG deadline;
static unsigned failed;
enum { MOST = 32768 };
static wchar_t command[MOST];

/* Runs the command, whose stderr is the report. False: there is no such program. */
static bool run(HANDLE output, DWORD *code, bool *hung)
{
    const HANDLE to_report = (HANDLE)_get_osfhandle(_fileno(report));
    STARTUPINFOW info = {.cb = sizeof info, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION made;
    fflush(report);
    SetHandleInformation(to_report, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    info.hStdError = to_report;
    info.hStdOutput = output != NULL ? output : to_report;
    *hung = false;
    page->at = GetTickCount64();
    snprintf(page->last, LINE, "it printed nothing");
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &info, &made)) return false;
    while (WaitForSingleObject(made.hProcess, 20) != WAIT_OBJECT_0)
        if (GetTickCount64() > page->at + CASE_LIMIT_MS)
            *hung = TerminateProcess(made.hProcess, 1) != 0;
    GetExitCodeProcess(made.hProcess, code);
    CloseHandle(made.hThread);
    CloseHandle(made.hProcess);
    fseek(report, 0, SEEK_END);
    return true;
}

static void say_failed(const char *name, DWORD code, bool hung)
{
    if (hung)
        say("FAIL windows.%s: it did not end in %d s\n", name, CASE_LIMIT_MS / 1000);
    else
        say("FAIL windows.%s: its process ended with %#lx; %s\n", name, (unsigned long)code,
            page->last);
    failed++;
}

/* Each process runs the cases that are left, until one ends it. */
static void run_suite(const suite *s)
{
    wchar_t self[MAX_PATH] = L"";
    GetModuleFileNameW(NULL, self, MAX_PATH);
    for (page->done = 0; page->done < s->count;) {
        char name[NAME];
        DWORD code = 0;
        bool hung = false;
        int used = _snwprintf(command, MOST, L"\"%ls\" --cases %hs", self, s->name);
        for (unsigned i = page->done; i < s->count; i++)
            used += _snwprintf(command + used, MOST - (size_t)used, L" %hs", s->cases[i]);
        const bool late = GetTickCount64() >= deadline;
        if (!late && !run(GetStdHandle(STD_OUTPUT_HANDLE), &code, &hung))
            snprintf(page->last, LINE, "no process starts: error %lu", GetLastError());
        if (code == TEST_SKIPPED || page->done == s->count) continue;
        snprintf(name, sizeof name, "%s.%s", s->name, s->cases[page->done++]);
        if (!late) {
            say_failed(name, code, hung);
            continue;
        }
        say("SKIP windows.%s: the time for all cases was over\n", name);
        page->skipped++;
    }
}

/* A program beside this one: a case, or a part of the report. */
static void run_program(const char *file, const char *as)
{
    wchar_t path[MAX_PATH] = L"";
    char rig[MAX_PATH];
    DWORD code = 0;
    bool hung;
    GetModuleFileNameW(NULL, path, MAX_PATH - 64);
    wchar_t *end = wcsrchr(path, L'\\');
    if (end == NULL) return;
    _snwprintf(end + 1, 63, L"%hs", file);
    /* Under Wine the rig starts it, as it started this one. */
    const bool by_rig = as != NULL && find_rig(rig, sizeof rig);
    _snwprintf(command, MOST, by_rig ? L"\"%hs\\rig\\culvert-rig.exe\" \"%ls\"" : L"%hs\"%ls\"",
               by_rig ? rig : "", path);
    fprintf(report, "== %s\n", file);
    const bool there = run(NULL, &code, &hung);
    if (as == NULL) return;
    if (!there) {
        say("SKIP windows.%s: %s is not beside this program\n", as, file);
        page->skipped++;
    } else if (code != 0 || hung) {
        say_failed(as, code, hung);
    } else {
        say("PASS windows.%s (its picture)\n", as);
        page->passed++;
    }
}

/* The report's head ---------------------------------------------------------------------------- */

typedef LONG(WINAPI *version_fn)(RTL_OSVERSIONINFOW *);

static void say_system(void)
{
    const FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlGetVersion");
    const bool wine = GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != NULL;
    RTL_OSVERSIONINFOW v = {.dwOSVersionInfoSize = sizeof v};
    version_fn get_version;
    memcpy(&get_version, &found, sizeof found);
    if (get_version != NULL) get_version(&v);
    say("# Windows %lu.%lu.%lu%s; nvcuda.dll is %s; Culvert %s\n", v.dwMajorVersion,
        v.dwMinorVersion, v.dwBuildNumber, wine ? " (Wine)" : "",
        on_twin() ? "the software twin" : "NVIDIA's", culv_version_string());
}

static void say_adapters(void)
{
    IDXGIFactory *factory = NULL;
    IDXGIAdapter *adapter = NULL;
    if (FAILED(CreateDXGIFactory(&IID_IDXGIFactory, (void **)&factory))) return;
    for (UINT i = 0; SUCCEEDED(IDXGIFactory_EnumAdapters(factory, i, &adapter)); i++) {
        DXGI_ADAPTER_DESC d;
        LARGE_INTEGER driver = {.QuadPart = 0};
        if (SUCCEEDED(IDXGIAdapter_GetDesc(adapter, &d))) {
            (void)IDXGIAdapter_CheckInterfaceSupport(adapter, &IID_IDXGIDevice, &driver);
            say("# adapter %u: %ls, vendor %04x, LUID %08lx%08lx, %zu MiB, driver %u.%u.%u.%u\n", i,
                d.Description, d.VendorId, (unsigned long)d.AdapterLuid.HighPart,
                (unsigned long)d.AdapterLuid.LowPart, d.DedicatedVideoMemory >> 20,
                HIWORD(driver.HighPart), LOWORD(driver.HighPart), HIWORD(driver.LowPart),
                LOWORD(driver.LowPart));
        }
        IDXGIAdapter_Release(adapter);
    }
    IDXGIFactory_Release(factory);
}

int main(int argc, char **argv)
{
    const char *file = "culvert-selftest.txt";
    unsigned long limit = LIMIT_S;
    char rig[MAX_PATH];
    int first = 1;
    if (!map_page()) return 2;
    if (argc >= 4 && strcmp(argv[1], "--cases") == 0) return run_cases(argc - 2, argv + 2);
    for (; first + 1 < argc && begins(argv[first], "--"); first += 2)
        if (strcmp(argv[first], "--report") == 0)
            file = argv[first + 1];
        else if (strcmp(argv[first], "--limit") == 0)
            limit = strtoul(argv[first + 1], NULL, 10);
        else
            break;
    if (first < argc && begins(argv[first], "-")) {
        fprintf(stderr, "usage: culvert-selftest [--report FILE] [--limit SECONDS] [CASE...]\n");
        return 2;
    }
    report = fopen(file, "wb");
    if (report == NULL) {
        fprintf(stderr, "culvert-selftest: %s cannot be written\n", file);
        return 2;
    }
    choose(argc - first, argv + first);
    (void)find_rig(rig, sizeof rig); /* for the processes of cases */
    deadline = GetTickCount64() + 1000 * limit;
    SetEnvironmentVariableA("CULVERT_LOG", "info"); /* what is made, with its bytes */
    say("# Culvert's selftest. scripts/support-table record windows DATE %s\n", file);
    say_system();
    say_adapters();
    run_program("culvert-info.exe", NULL);
    for (unsigned i = 0; i < SUITES; i++)
        run_suite(&suites[i]);
    if (first == argc) {
        run_program("hello_d3d12.exe", "d3d12.hello");
        run_program("hello_d3d11.exe", "d3d11.hello");
    }
    say("# %u passed, %u failed, %u skipped\n", page->passed, failed, page->skipped);
    printf("The report is in %s.\n", file);
    return fclose(report) == 0 && failed == 0 && page->passed > 0 ? 0 : 1;
}
