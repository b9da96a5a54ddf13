/* The test harness: command line, one process a case, time limit, results. See harness.h.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#    if __has_feature(thread_sanitizer)
#        define THREAD_SANITIZED true
#    endif
#endif
#if defined(__SANITIZE_THREAD__)
#    define THREAD_SANITIZED true
#endif
#ifndef THREAD_SANITIZED
#    define THREAD_SANITIZED false
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#endif

#ifdef SANITIZED
#    include <dlfcn.h>
/* Leak reports name frames of modules that are gone by then (lavapipe leaves 128 bytes in one), so in
 * sanitized programs nothing is ever unloaded. The programs export this symbol; it comes before libc's. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#endif

static int option_count;
static char **option_list; /* argv entries that begin with -- */
static const test_case *current;
static char timeout_message[256];

const char *test_option(const char *name, const char *fallback)
{
    size_t length = strlen(name);
    for (int i = option_count; i-- > 0;) { /* the last one counts */
        const char *text = option_list[i] + 2;
        if (strncmp(text, name, length) != 0) continue;
        if (text[length] == '=') return text + length + 1;
        if (text[length] == '\0') return "";
    }
    return fallback;
}

test_driver_choice test_driver(void)
{
    const char *text = test_option("driver", "auto");
    if (strcmp(text, "nvidia") == 0) return TEST_DRIVER_NVIDIA;
    if (strcmp(text, "soft") == 0) return TEST_DRIVER_SOFT;
    if (strcmp(text, "auto") == 0) return TEST_DRIVER_AUTO;
    FAIL("--driver=%s: must be auto, nvidia or soft", text);
}

const char *test_case_name(void)
{
    return current != NULL ? current->name : "";
}

const char *test_path(char out[TEST_PATH_MAX], const char *relative)
{
    char program[TEST_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    REQUIRE(length > 0);
    program[length] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(program, '/');
        REQUIRE(slash != NULL);
        *slash = '\0';
    }
    int written = snprintf(out, TEST_PATH_MAX, "%s/%s", program, relative);
    REQUIRE(written > 0 && written < TEST_PATH_MAX);
    return out;
}

bool test_sanitized(void)
{
#ifdef SANITIZED
    return true;
#else
    return false;
#endif
}

bool test_thread_sanitized(void)
{
    return THREAD_SANITIZED;
}

size_t test_open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    size_t count = 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count - 1; /* the directory itself */
}

double test_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Results ----------------------------------------------------------------------------------------------- */

static const char *result_path(char out[TEST_PATH_MAX], const char *case_name)
{
    const char *dir = test_option("results", NULL);
    if (dir == NULL) return NULL;
    int written = snprintf(out, TEST_PATH_MAX, "%s/%s", dir, case_name);
    return written > 0 && written < TEST_PATH_MAX ? out : NULL;
}

static void leave_result(const char *text)
{
    char buffer[TEST_PATH_MAX];
    const char *path = current != NULL ? result_path(buffer, current->name) : NULL;
    if (path == NULL) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return;
    }
    fprintf(file, "%s\n", text);
    fclose(file);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s:%d: FAILED: ", file, line);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(NULL);
    _Exit(1);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("SKIP: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    leave_result("skip");
    fflush(NULL);
    _Exit(TEST_SKIPPED);
}

void test_pass(void)
{
    leave_result("pass");
    fflush(NULL);
    _Exit(0);
}

void test_measured(const char *name, const char *format, ...)
{
    char value[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    printf("MEASURED %s: %s\n", name, value); /* one call, so that threads do not mix lines */
}

void test_require_eq(const char *file, int line, const char *actual_text, const char *expected_text,
                     int64_t actual, int64_t expected)
{
    if (actual == expected) return;
    test_fail(file, line, "%s is %" PRId64 " (0x%" PRIx64 "), not %s = %" PRId64 " (0x%" PRIx64 ")",
              actual_text, actual, (uint64_t)actual, expected_text, expected, (uint64_t)expected);
}

void test_require_eq_str(const char *file, int line, const char *actual_text, const char *actual,
                         const char *expected)
{
    if (actual == expected || (actual != NULL && expected != NULL && strcmp(actual, expected) == 0)) return;
    test_fail(file, line, "%s is \"%s\", not \"%s\"", actual_text, actual != NULL ? actual : "(null)",
              expected != NULL ? expected : "(null)");
}

void test_require_eq_bytes(const char *file, int line, const char *actual_text, const void *actual,
                           const void *expected, size_t size)
{
    const unsigned char *a = actual, *e = expected;
    size_t first = 0, wrong = 0;
    if (memcmp(a, e, size) == 0) return; /* one call of ThreadSanitizer's, not one a byte */
    for (size_t i = size; i-- > 0;) {
        if (a[i] == e[i]) continue;
        first = i;
        wrong++;
    }
    test_fail(file, line, "%s: %zu of %zu bytes wrong, first at %zu: 0x%02x, not 0x%02x", actual_text, wrong,
              size, first, (unsigned)a[first], (unsigned)e[first]);
}

/* Cases ------------------------------------------------------------------------------------------------- */

static const test_case *next_case(const test_case *after)
{
    bool found = after == NULL;
    for (const test_case *const *table = test_suite_tables; *table != NULL; table++) {
        for (const test_case *c = *table; c->name != NULL; c++) {
            if (found) return c;
            found = c == after;
        }
    }
    return NULL;
}

static unsigned time_limit(const test_case *c)
{
    unsigned seconds = c->time_limit != 0 ? c->time_limit : TEST_TIME_LIMIT;
#ifdef SANITIZED
    seconds *= 4;
#endif
    return seconds;
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    ssize_t ignored = write(STDOUT_FILENO, timeout_message, strlen(timeout_message));
    (void)ignored;
    _exit(1);
}

static int run_case(const test_case *c)
{
    current = c;
    leave_result("fail"); /* until it is known better: a crash or a hang leaves this */
    snprintf(timeout_message, sizeof timeout_message, "FAILED: %s hangs: not done after %u s\n", c->name,
             time_limit(c));
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    alarm(time_limit(c));
    c->run();
    leave_result("pass");
    fflush(NULL);
    return 0;
}

int test_run_child(const char *case_name)
{
    char program[] = "/proc/self/exe";
    char *name = strdup(case_name);
    char **args = calloc((size_t)option_count + 3, sizeof *args);
    REQUIRE(name != NULL && args != NULL);
    args[0] = program;
    for (int i = 0; i < option_count; i++)
        args[i + 1] = option_list[i];
    args[option_count + 1] = name;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execv(program, args);
        _exit(127);
    }
    free(args);
    free(name);
    REQUIRE(child > 0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_marks(bool rows)
{
    static const char *const names[] = {"unmarked", "BOTH", "NVIDIA ONLY", "TWIN STRICTER"};
    unsigned counts[4] = {0};
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
        counts[c->mark]++;
        if (rows && c->mark != TEST_UNMARKED)
            printf("%-13s %s%s%s\n", names[c->mark], c->name, c->reason != NULL ? ": " : "",
                   c->reason != NULL ? c->reason : "");
    }
    if (counts[TEST_BOTH] + counts[TEST_NVIDIA_ONLY] + counts[TEST_TWIN_STRICTER] == 0) return;
    printf("marks: BOTH %u, NVIDIA ONLY %u, TWIN STRICTER %u, unmarked %u\n", counts[TEST_BOTH],
           counts[TEST_NVIDIA_ONLY], counts[TEST_TWIN_STRICTER], counts[TEST_UNMARKED]);
}

static int verdict(unsigned passed, unsigned skipped, unsigned failed)
{
    printf("%u passed, %u skipped, %u failed\n", passed, skipped, failed);
    if (failed == 0 && passed > 0) return 0;
    if (failed == 0) printf("FAILED: every case was skipped; that is not a pass\n");
    return 1;
}

static int run_matching(const char *pattern)
{
    unsigned passed = 0, skipped = 0, failed = 0;
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
        if (fnmatch(pattern, c->name, 0) != 0) continue;
        printf("== %s\n", c->name);
        int status = test_run_child(c->name);
        if (status == 0)
            passed++;
        else if (status == TEST_SKIPPED)
            skipped++;
        else {
            failed++;
            printf("FAILED: %s, exit status %d\n", c->name, status);
        }
    }
    if (strcmp(pattern, "*") == 0) print_marks(false);
    if (passed + skipped + failed == 0) {
        fprintf(stderr, "no case matches %s\n", pattern);
        return 2;
    }
    return verdict(passed, skipped, failed);
}

static int check_results(void)
{
    unsigned passed = 0, skipped = 0, missing = 0, total = 0;
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
        char buffer[TEST_PATH_MAX], text[8] = "";
        const char *path = result_path(buffer, c->name);
        FILE *file = path != NULL ? fopen(path, "r") : NULL;
        total++;
        if (file == NULL) {
            missing++;
            continue;
        }
        if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
        fclose(file);
        passed += strcmp(text, "pass\n") == 0;
        skipped += strcmp(text, "skip\n") == 0;
    }
    if (missing > 0) printf("%u of %u cases left no result\n", missing, total);
    return verdict(passed, skipped, total - passed - skipped - missing);
}

int main(int argc, char **argv)
{
    const char *pattern = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    option_list = calloc((size_t)argc + 1, sizeof *option_list);
    if (option_list == NULL) return 2;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0)
            option_list[option_count++] = argv[i];
        else if (pattern == NULL)
            pattern = argv[i];
        else {
            fprintf(stderr, "usage: %s [--OPTION[=VALUE]...] [CASE | 'GLOB']\n", argv[0]);
            return 2;
        }
    }
    bool times = test_option("list-times", NULL) != NULL;
    if (times || test_option("list", NULL) != NULL) {
        for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
            if (times)
                printf("%s %u\n", c->name, time_limit(c));
            else
                printf("%s\n", c->name);
        }
    } else if (test_option("marks", NULL) != NULL) {
        print_marks(true);
    } else if (test_option("check-not-all-skipped", NULL) != NULL) {
        return check_results();
    } else if (pattern == NULL || strpbrk(pattern, "*?[") != NULL) {
        return run_matching(pattern != NULL ? pattern : "*");
    } else {
        const test_case *c = next_case(NULL);
        while (c != NULL && strcmp(c->name, pattern) != 0)
            c = next_case(c);
        if (c == NULL) {
            fprintf(stderr, "no case is called %s; --list shows them\n", pattern);
            return 2;
        }
        return run_case(c);
    }
    return 0;
}
