/* SPDX-License-Identifier: MIT */
/* The part of tests/support/harness.h that runs on Windows, where there is no fork(): all cases run
 * in this process, and the first that fails ends it.
 *
 *   d3d12.exe [CASE...] [--NAME=VALUE...]
 *
 * A case "role.NAME" is another process of a test's: it runs if it is named, and says nothing. */
#include "harness.h"
#include "answers.h"
#include "posix/dlfcn.h"
#include <culvert/culvert.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <windows.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static const test_case *running;
static jmp_buf after_skip;
static test_fixture kept;
static char **arguments; /* ended by NULL */

/* Ends without the work that libraries do when a process exits. Under load a program has freed
 * twice after its last case; we take it for Mesa, as Wine's threads of Direct3D still run then. */
_Noreturn static void end_process(int code)
{
    fflush(stdout);
    TerminateProcess(GetCurrentProcess(), (UINT)code);
    abort(); /* not reached */
}

/* Ways out ------------------------------------------------------------------------------------- */

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    printf("%s:%d: FAILED: ", file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("; the last error: %s\n", culv_last_error_message());
    fflush(stdout);
    _exit(1);
}

void test_skip(const char *format, ...)
{
    va_list args;
    printf("SKIP %s.%s: ", SUITE, running->name);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    longjmp(after_skip, 1);
}

void test_require_eq(const char *file, int line, const char *actual_text, const char *expected_text,
                     int64_t actual, int64_t expected)
{
    if (actual != expected)
        test_fail(file, line, "%s is %" PRId64 ", not %s, which is %" PRId64, actual_text, actual,
                  expected_text, expected);
}

void test_require_eq_bytes(const char *file, int line, const char *actual_text, const void *actual,
                           const void *expected, size_t size)
{
    if (memcmp(actual, expected, size) != 0)
        test_fail(file, line, "%s has other bytes", actual_text);
}

void test_pass(void)
{
    longjmp(after_skip, 2);
}

/* What the suite asks -------------------------------------------------------------------------- */

test_driver_choice test_driver(void)
{
    return TEST_DRIVER_NVIDIA; /* that is the name which the twin has here */
}

double test_now_us(void)
{
    LARGE_INTEGER now, second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&second);
    return (double)now.QuadPart * 1e6 / (double)second.QuadPart;
}

const char *test_option(const char *name, const char *fallback)
{
    const size_t length = strlen(name);
    for (char **a = arguments; *a != NULL; a++)
        if (strncmp(*a, "--", 2) == 0 && strncmp(*a + 2, name, length) == 0 &&
            (*a)[2 + length] == '=')
            return *a + 3 + length;
    return fallback;
}

const char *test_path(char out[TEST_PATH_MAX], const char *relative)
{
    char program[TEST_PATH_MAX / 2] = "";
    GetModuleFileNameA(NULL, program, sizeof program);
    char *end = strrchr(program, '\\');
    if (end != NULL) *end = '\0';
    snprintf(out, TEST_PATH_MAX, "%s/../%s", program, relative);
    return out;
}

bool test_shared(void)
{
    return false; /* no context is kept: raw_cuda.c */
}

size_t test_open_fds(void)
{
    return 0; /* Wine 8 counts no handles: names tell what is left (d3d12.exe) */
}

void test_keep(const test_fixture *fixture)
{
    kept = *fixture;
}

void test_wants_own_process(void) {}
void test_answers_of(bool software) {}

/* POSIX ---------------------------------------------------------------------------------------- */

void *dlopen(const char *name, int flags)
{
    if (strcmp(name, "libcuda.so.1") != 0) return (void *)LoadLibraryA(name);
    return (void *)LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
}

void *dlsym(void *library, const char *name)
{
    FARPROC found = GetProcAddress((HMODULE)library, name);
    void *address = NULL;
    memcpy(&address, &found, sizeof address);
    return address;
}

int dlclose(void *library)
{
    return FreeLibrary((HMODULE)library) ? 0 : -1;
}

char *dlerror(void)
{
    static char text[] = "nvcuda.dll is not in the system directory";
    return text;
}

int setenv(const char *name, const char *value, int overwrite)
{
    return _putenv_s(name, value);
}

/* The run -------------------------------------------------------------------------------------- */

static bool is_role(const char *name)
{
    return strncmp(name, "role.", 5) == 0;
}

static bool asked(const char *name)
{
    bool named = false;
    for (char **a = arguments; *a != NULL; a++) {
        if (strcmp(*a, name) == 0) return true;
        named |= strncmp(*a, "--", 2) != 0;
    }
    return !named && !is_role(name);
}

static test_case *first_case, **last_case = &first_case;

void test_add(test_case *c)
{
    if (c->title != NULL) c->name = c->title;
    *last_case = c;
    last_case = &c->next;
}

static bool run(const test_case *c)
{
    const int out = setjmp(after_skip);
    if (out != 0) return out == 2;
    const ULONGLONG begin = GetTickCount64();
    if (!is_role(c->name)) printf("== %s.%s\n", SUITE, c->name);
    c->run();
    if (!is_role(c->name))
        printf("PASS %s.%s (%llu ms)\n", SUITE, c->name, GetTickCount64() - begin);
    return true;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, skipped = 0;
    arguments = argv + 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (const test_case *c = first_case; c != NULL; c = c->next) {
        if (!asked(c->name)) continue;
        running = c;
        ++*(run(c) ? &passed : &skipped);
        if (is_role(c->name)) break;
    }
    if (kept.end != NULL) kept.end();
    if (running != NULL && is_role(running->name)) end_process(0);
    printf("%u passed, %u skipped\n", passed, skipped);
    end_process(passed > 0 ? 0 : 1);
}
