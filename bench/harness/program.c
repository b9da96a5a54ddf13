/* SPDX-License-Identifier: MIT */
/* The raw drivers of tests/support, used by a program: what harness.h promises them, said in a
 * program's way. A failed call ends the program with status 1 and its place; a machine without the
 * devices, with status 3. */
#include "program.h"
#include "harness.h"

#include "culvert/culvert.h"

#include <culvert/result.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program_name = "benchmark";
static const char *driver_choice = "auto";
static bool validation_wanted;

void exits_set_up(const char *program, const char *driver, bool validation)
{
    program_name = program;
    driver_choice = driver;
    validation_wanted = validation;
}

const char *test_option(const char *name, const char *fallback)
{
    if (strcmp(name, "driver") == 0) return driver_choice;
    if (strcmp(name, "validation") == 0) return validation_wanted ? "on" : "off";
    return fallback;
}

test_driver_choice test_driver(void)
{
    if (strcmp(driver_choice, "nvidia") == 0) return TEST_DRIVER_NVIDIA;
    return strcmp(driver_choice, "soft") == 0 ? TEST_DRIVER_SOFT : TEST_DRIVER_AUTO;
}

const char *test_case_name(void)
{
    return program_name;
}

const char *test_path(char out[TEST_PATH_MAX], const char *relative)
{
    char program[TEST_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    REQUIRE(length > 0);
    program[length] = '\0';
    for (int up = 0; up < 2; up++) { /* PREFIX/bin/PROGRAM */
        char *slash = strrchr(program, '/');
        REQUIRE(slash != NULL);
        *slash = '\0';
    }
    int written = snprintf(out, TEST_PATH_MAX, "%s/%s", program, relative);
    REQUIRE(written > 0 && written < TEST_PATH_MAX);
    return out;
}

bool test_shared(void)
{
    return false;
}

void test_wants_own_process(void) {}

void test_keep(const test_fixture *fixture)
{
    (void)fixture;
}

bool test_sanitized(void)
{
    return EXITS_SANITIZED;
}

double test_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* _Exit: the drivers' own exit handlers may wait for work that never ends. */
static _Noreturn void leave(int status)
{
    fflush(NULL);
    _Exit(status);
}

static char hang_message[256];

static void on_alarm(int signal_number)
{
    (void)signal_number;
    ssize_t ignored = write(STDERR_FILENO, hang_message, strlen(hang_message));
    (void)ignored;
    _exit(EXITS_FAILURE);
}

void exits_watch(unsigned seconds, const char *what)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    alarm(0);
    snprintf(hang_message, sizeof hang_message, "%s: %s hangs: not done after %u s\n", program_name,
             what, seconds);
    sigaction(SIGALRM, &action, NULL);
    alarm(EXITS_SANITIZED ? 4 * seconds : seconds);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, " (%s:%d)\n", file, line);
    va_end(args);
    leave(EXITS_FAILURE);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: nothing can be measured here: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    leave(EXITS_NO_DEVICE);
}

void test_pass(void)
{
    leave(EXIT_SUCCESS);
}

void test_measured(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: %s: ", program_name, name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void test_require_eq(const char *file, int line, const char *actual_text, const char *expected_text,
                     int64_t actual, int64_t expected)
{
    if (actual != expected)
        test_fail(file, line, "%s is %" PRId64 ", not %s = %" PRId64, actual_text, actual,
                  expected_text, expected);
}

void test_require_eq_str(const char *file, int line, const char *actual_text, const char *actual,
                         const char *expected)
{
    if (actual == NULL || expected == NULL || strcmp(actual, expected) != 0)
        test_fail(file, line, "%s is \"%s\", not \"%s\"", actual_text,
                  actual != NULL ? actual : "(null)", expected != NULL ? expected : "(null)");
}

void test_require_eq_bytes(const char *file, int line, const char *actual_text, const void *actual,
                           const void *expected, size_t size)
{
    if (memcmp(actual, expected, size) != 0)
        test_fail(file, line, "%s: the %zu bytes are not what the other side wrote", actual_text,
                  size);
}

void exits_require_culv(const char *file, int line, const char *text, int result)
{
    if (result != CULV_OK)
        test_fail(file, line, "%s is %s: %s", text, culv_result_name((culv_result)result),
                  culv_last_error_message());
}

/* The arguments that all benchmarks take. */

void arguments_wrong(const arguments *all, const char *text, const char *argument)
{
    fprintf(stderr, "%s: %s '%s'; see %s --help\n", all->program, text, argument, all->program);
    exit(EXITS_USAGE);
}

void arguments_unknown(const arguments *all, const char *argument)
{
    arguments_wrong(all, argument[0] == '-' ? "unknown option" : "unknown argument", argument);
}

const char *arguments_value(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

uint64_t arguments_number_before(const arguments *all, const char *argument, const char *text,
                                 uint64_t least, uint64_t most, char **end)
{
    errno = 0;
    unsigned long long value = strtoull(text, end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || value < least || value > most)
        arguments_wrong(all, "not a number in range:", argument);
    return value;
}

uint64_t arguments_number(const arguments *all, const char *argument, const char *text,
                          uint64_t least, uint64_t most)
{
    char *end = NULL;
    uint64_t value = arguments_number_before(all, argument, text, least, most, &end);
    if (*end != '\0') arguments_wrong(all, "not a number in range:", argument);
    return value;
}

void arguments_printed(void)
{
    exit(fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_SUCCESS : EXITS_FAILURE);
}

bool arguments_take(const arguments *all, const char *argument)
{
    const char *value;
    if (strcmp(argument, "--quick") == 0) {
        *all->quick = true;
    } else if (strcmp(argument, "--json") == 0) {
        *all->json = "";
    } else if ((value = arguments_value(argument, "--json")) != NULL) {
        if (value[0] == '\0') arguments_wrong(all, "no file in", argument);
        *all->json = value;
    } else if ((value = arguments_value(argument, "--driver")) != NULL) {
        if (strcmp(value, "auto") != 0 && strcmp(value, "nvidia") != 0 &&
            strcmp(value, "soft") != 0)
            arguments_wrong(all, "auto, nvidia or soft, not", argument);
        *all->driver = value;
    } else if ((value = arguments_value(argument, "--device")) != NULL) {
        *all->device = (int)arguments_number(all, argument, value, 0, 1023);
    } else if ((value = arguments_value(argument, "--seed")) != NULL) {
        *all->seed = arguments_number(all, argument, value, 0, INT64_MAX);
    } else if (strcmp(argument, "--help") == 0) {
        fputs(all->usage, stdout);
        arguments_printed();
    } else if (strcmp(argument, "--version") == 0) {
        printf("%s %s\n", all->program, culv_version_string());
        arguments_printed();
    } else {
        return false;
    }
    return true;
}
