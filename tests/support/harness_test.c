/* The harness tested by itself: each way out of a case, taken in a forked child.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status and first 4 KiB of output of fn() in a forked child, 128 + signal if it was killed. */
static int outcome(void (*fn)(void), char output[4096])
{
    int ends[2], status = 0;
    size_t used = 0;
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn();
        fflush(NULL);
        _Exit(0);
    }
    close(ends[1]);
    while (used < 4095) {
        ssize_t n = read(ends[0], output + used, 4095 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    output[used] = '\0';
    close(ends[0]);
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void does_pass(void)
{
    REQUIRE(1 + 1 == 2);
    REQUIRE_EQ(-1, -1);
    REQUIRE_EQ(UINT64_MAX, UINT64_MAX);
    REQUIRE_EQ_STR("a", "a");
    REQUIRE_EQ_STR(NULL, NULL);
    REQUIRE_EQ_BYTES("abc", "abd", 2);
}

static void does_require(void)
{
    REQUIRE(1 + 1 == 3);
}

static void does_require_eq(void)
{
    REQUIRE_EQ(2 * 8, 0x11);
}

static void does_require_eq_str(void)
{
    REQUIRE_EQ_STR("left", "right");
}

static void does_require_eq_bytes(void)
{
    REQUIRE_EQ_BYTES("abcd", "abxx", 4);
}

static void does_skip(void)
{
    SKIP("no %s here", "device");
}

static void does_pass_early(void)
{
    test_pass();
}

static void does_hang(void)
{
    alarm(1); /* instead of the case's own limit, which a fork does not inherit */
    for (;;)
        pause();
}

static void outcomes(void)
{
    char text[4096];
    REQUIRE_EQ(outcome(does_pass, text), 0);
    REQUIRE_EQ_STR(text, "");
    REQUIRE_EQ(outcome(does_require, text), 1);
    REQUIRE(strstr(text, "harness_test.c:") != NULL && strstr(text, "1 + 1 == 3") != NULL);
    REQUIRE_EQ(outcome(does_require_eq, text), 1);
    REQUIRE(strstr(text, "2 * 8 is 16 (0x10), not 0x11 = 17 (0x11)") != NULL);
    REQUIRE_EQ(outcome(does_require_eq_str, text), 1);
    REQUIRE(strstr(text, "\"left\"") != NULL && strstr(text, "\"right\"") != NULL);
    REQUIRE_EQ(outcome(does_require_eq_bytes, text), 1);
    REQUIRE(strstr(text, "2 of 4 bytes wrong, first at 2: 0x63, not 0x78") != NULL);
    REQUIRE_EQ(outcome(does_skip, text), TEST_SKIPPED);
    REQUIRE_EQ_STR(text, "SKIP: no device here\n");
    REQUIRE_EQ(outcome(does_pass_early, text), 0);
    REQUIRE_EQ(outcome(does_hang, text), 1);
    REQUIRE(strstr(text, "hangs") != NULL && strstr(text, "harness.outcomes") != NULL);
}

static void children(void)
{
    REQUIRE_EQ(test_run_child("harness.paths"), 0);
    REQUIRE_EQ(test_run_child("harness.no_such_case"), 2);
}

static void paths(void)
{
    char path[TEST_PATH_MAX];
    test_path(path, "bin/tests/harness");
    REQUIRE_EQ(access(path, X_OK), 0);
    REQUIRE_EQ_STR(test_option("no-such-option", "fallback"), "fallback");
    size_t before = test_open_fds();
    int fd = dup(STDOUT_FILENO);
    REQUIRE_EQ(test_open_fds(), before + 1);
    close(fd);
    REQUIRE_EQ(test_open_fds(), before);
}

static const test_case cases[] = {{.name = "harness.outcomes", .run = outcomes},
                                  {.name = "harness.children", .run = children},
                                  {.name = "harness.paths", .run = paths},
                                  {.name = NULL}};
TEST_SUITE(cases);
