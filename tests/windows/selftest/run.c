/* SPDX-License-Identifier: MIT */
/* culvert-selftest.exe [--report FILE] [--limit SECONDS] [CASE...]: runs the suites of
 * tests/windows on this machine and writes one report, which scripts/support-table reads.
 * docs/selftest.md is its page.
 *
 * The cases run in processes of their own, one for each suite, in order. A case that fails, hangs
 * or crashes ends its process, and the next process goes on behind it. */
#define COBJMACROS
#include "harness.h"
#include "played.h"

#include <culvert/culvert.h>
#include <dxgi.h>
#include <stdarg.h>

int selftest_run(int argc, char **argv); /* harness.c: ends the process */
const char *selftest_suite;

enum { MOST_CASES = 128, LINE = 4096, NAME = 96, CASE_LIMIT_MS = 30000, LIMIT_S = 110 };

typedef struct suite {
    const char *name;
    test_case *tests[MOST_CASES];
    const char *cases[MOST_CASES];
    bool done[MOST_CASES];
    unsigned count;
} suite;

static suite suites[] = {{.name = "d3d12"}, {.name = "d3d11"}, {.name = "d3d_register"}};
enum { SUITES = sizeof suites / sizeof suites[0] };

static FILE *report;
static unsigned passed, failed, skipped;
static ULONGLONG deadline;

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

/* The suites' cases ---------------------------------------------------------------------------- */

/* Before main(), by the cases of the sources that are compiled for the suite. */
#define ADDS(index, suite)                                                                         \
    void selftest_add_##suite(test_case *c);                                                       \
    void selftest_add_##suite(test_case *c)                                                        \
    {                                                                                              \
        add(&suites[index], c);                                                                    \
    }

static void add(suite *s, test_case *c)
{
    if (s->count == MOST_CASES) abort();
    s->tests[s->count] = c;
    s->cases[s->count++] = c->title != NULL ? c->title : c->name;
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

/* A process of cases --------------------------------------------------------------------------- */

/* --cases SUITE CASE... */
static int run_cases(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    selftest_load_rig();
    for (unsigned i = 0; i < SUITES; i++) {
        if (strcmp(argv[0], suites[i].name) != 0) continue;
        for (unsigned k = 0; k < suites[i].count; k++)
            test_add(suites[i].tests[k]);
        selftest_suite = suites[i].name;
        return selftest_run(argc, argv);
    }
    return 2;
}

typedef struct process {
    HANDLE handle, output;
    char line[LINE];
    size_t length;
} process;

static bool start(process *p, wchar_t *command)
{
    SECURITY_ATTRIBUTES inherit = {sizeof inherit, NULL, TRUE};
    STARTUPINFOW info;
    PROCESS_INFORMATION made;
    HANDLE write_end = NULL;
    memset(p, 0, sizeof *p);
    if (!CreatePipe(&p->output, &write_end, &inherit, 0)) return false;
    SetHandleInformation(p->output, HANDLE_FLAG_INHERIT, 0);
    memset(&info, 0, sizeof info);
    info.cb = sizeof info;
    info.dwFlags = STARTF_USESTDHANDLES;
    info.hStdOutput = info.hStdError = write_end;
    const BOOL started =
        CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &info, &made);
    CloseHandle(write_end);
    if (!started) {
        CloseHandle(p->output);
        return false;
    }
    CloseHandle(made.hThread);
    p->handle = made.hProcess;
    return true;
}

typedef enum got { GOT_LINE, GOT_END, GOT_NOTHING } got;

/* The next line of what it prints, until a time. */
static got next_line(process *p, ULONGLONG until)
{
    p->length = 0;
    for (;;) {
        DWORD there = 0, count = 0;
        char c;
        if (!PeekNamedPipe(p->output, NULL, 0, NULL, &there, NULL)) break;
        if (there == 0) {
            if (GetTickCount64() > until) return GOT_NOTHING;
            Sleep(2);
            continue;
        }
        if (!ReadFile(p->output, &c, 1, &count, NULL) || count == 0) break;
        if (c == '\r') continue;
        if (c == '\n') {
            p->line[p->length] = '\0';
            return GOT_LINE;
        }
        if (p->length < LINE - 1) p->line[p->length++] = c;
    }
    p->line[p->length] = '\0';
    return p->length > 0 ? GOT_LINE : GOT_END;
}

static DWORD stop(process *p, bool kill)
{
    DWORD code = 0;
    if (kill) TerminateProcess(p->handle, 1);
    WaitForSingleObject(p->handle, INFINITE);
    GetExitCodeProcess(p->handle, &code);
    CloseHandle(p->handle);
    CloseHandle(p->output);
    return code;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* What became of the case that was running when its process ended. */
static void judge(const suite *s, const char *name, const char *last, DWORD code, bool hung)
{
    if (code == SELFTEST_SKIPPED && begins(last, "SKIP: ")) {
        say("SKIP windows.%s.%s: %s\n", s->name, name, last + strlen("SKIP: "));
        skipped++;
    } else if (hung) {
        say("FAIL windows.%s.%s: it did not end in %d s\n", s->name, name, CASE_LIMIT_MS / 1000);
        failed++;
    } else {
        say("FAIL windows.%s.%s: its process ended with %#lx; %s\n", s->name, name,
            (unsigned long)code, last);
        failed++;
    }
}

/* The case that a line of a suite's names after `before`; `count` for none. */
static unsigned find_case(const suite *s, const char *line, const char *before, char behind)
{
    unsigned i = 0;
    for (; i < s->count; i++) {
        char begin[NAME];
        const int length = snprintf(begin, sizeof begin, "%s%s.%s", before, s->name, s->cases[i]);
        if (begins(line, begin) && line[length] == behind) break;
    }
    return i;
}

/* Runs the cases that are not done, until one ends the process; what is running then is done. */
static void run_rest(suite *s, unsigned first)
{
    static wchar_t command[32768];
    wchar_t self[MAX_PATH] = L"";
    char last[LINE] = "it printed nothing";
    unsigned running = first;
    process p;
    GetModuleFileNameW(NULL, self, MAX_PATH);
    int used = _snwprintf(command, 32768, L"\"%ls\" --cases %hs", self, s->name);
    for (unsigned i = first; i < s->count; i++)
        if (!s->done[i])
            used += _snwprintf(command + used, 32768 - (size_t)used, L" %hs", s->cases[i]);
    if (!start(&p, command)) {
        snprintf(last, sizeof last, "no process starts: error %lu", GetLastError());
        s->done[first] = true;
        judge(s, s->cases[first], last, 0, false);
        return;
    }
    for (;;) {
        const got g = next_line(&p, GetTickCount64() + CASE_LIMIT_MS);
        if (g != GOT_LINE) {
            const DWORD code = stop(&p, g == GOT_NOTHING);
            if (s->done[running]) return; /* it ended behind its last case */
            s->done[running] = true;
            judge(s, s->cases[running], last, code, g == GOT_NOTHING);
            return;
        }
        const unsigned begun = find_case(s, p.line, "== ", '\0');
        const unsigned ended = find_case(s, p.line, "PASS ", ' ');
        if (begun < s->count) running = begun;
        if (ended < s->count) {
            say("PASS windows.%s\n", p.line + strlen("PASS "));
            s->done[ended] = true;
            passed++;
        } else {
            fprintf(report, "    %s\n", p.line);
            if (p.length > 0) snprintf(last, sizeof last, "%s", p.line);
        }
    }
}

static void skip_case(suite *s, unsigned i, const char *why)
{
    say("SKIP windows.%s.%s: %s\n", s->name, s->cases[i], why);
    s->done[i] = true;
    skipped++;
}

static void run_suite(suite *s)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strstr(s->cases[i], "torture") != NULL && !selftest_on_twin())
            skip_case(s, i, "it makes calls of the software twin fail");
    for (unsigned i = 0; i < s->count; i++) {
        while (!s->done[i] && GetTickCount64() < deadline)
            run_rest(s, i);
        if (!s->done[i]) skip_case(s, i, "the time for all cases was over");
    }
}

/* A program beside this one: a case, or a part of the report. */
static void run_program(const char *file, const char *as)
{
    static wchar_t command[3 * MAX_PATH];
    wchar_t path[MAX_PATH] = L"";
    char rig[MAX_PATH];
    char last[LINE] = "it printed nothing";
    process p;
    GetModuleFileNameW(NULL, path, MAX_PATH - 64);
    wchar_t *end = wcsrchr(path, L'\\');
    if (end == NULL) return;
    _snwprintf(end + 1, 63, L"%hs", file);
    /* Under Wine the rig starts it, as it started this one. */
    const bool by_rig = as != NULL && selftest_find_rig(rig, sizeof rig);
    _snwprintf(command, 3 * MAX_PATH,
               by_rig ? L"\"%hs\\rig\\culvert-rig.exe\" \"%ls\"" : L"%hs\"%ls\"", by_rig ? rig : "",
               path);
    fprintf(report, "== %s\n", file);
    if (!start(&p, command)) {
        if (as != NULL) {
            say("SKIP windows.%s: %s is not beside this program\n", as, file);
            skipped++;
        }
        return;
    }
    got g;
    while ((g = next_line(&p, GetTickCount64() + CASE_LIMIT_MS)) == GOT_LINE) {
        fprintf(report, "    %s\n", p.line);
        if (p.length > 0 && !begins(p.line, "culvert ")) snprintf(last, sizeof last, "%s", p.line);
    }
    const DWORD code = stop(&p, g == GOT_NOTHING);
    if (as == NULL) return;
    if (code == 0 && g == GOT_END) {
        say("PASS windows.%s (%s)\n", as, last);
        passed++;
    } else {
        say("FAIL windows.%s: %s ended with %#lx; %s\n", as, file, (unsigned long)code, last);
        failed++;
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
        selftest_on_twin() ? "the software twin" : "NVIDIA's", culv_version_string());
}

static void say_adapters(void)
{
    static const GUID iid_factory = {
        0x7b7166ec, 0x21c7, 0x44ae, {0xb2, 0x1a, 0xc9, 0xae, 0x32, 0x1a, 0xe3, 0x69}};
    static const GUID iid_device = {
        0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    IDXGIFactory *factory = NULL;
    IDXGIAdapter *adapter = NULL;
    if (FAILED(CreateDXGIFactory(&iid_factory, (void **)&factory))) return;
    for (UINT i = 0; SUCCEEDED(IDXGIFactory_EnumAdapters(factory, i, &adapter)); i++) {
        DXGI_ADAPTER_DESC d;
        LARGE_INTEGER driver = {.QuadPart = 0};
        if (SUCCEEDED(IDXGIAdapter_GetDesc(adapter, &d))) {
            (void)IDXGIAdapter_CheckInterfaceSupport(adapter, &iid_device, &driver);
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
    if (argc >= 3 && strcmp(argv[1], "--cases") == 0) return run_cases(argc - 2, argv + 2);
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
    (void)selftest_find_rig(rig, sizeof rig); /* for the processes of cases */
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
    say("# %u passed, %u failed, %u skipped\n", passed, failed, skipped);
    printf("The report is in %s.\n", file);
    return fclose(report) == 0 && failed == 0 && passed > 0 ? 0 : 1;
}
