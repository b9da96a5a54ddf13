/* Tests of samples: running a program. SPDX-License-Identifier: MIT */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define MAX_ARGUMENTS 32

static char scratch[TEST_PATH_MAX];

static void remove_scratch(void)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", scratch, (char *)NULL);
        _exit(127);
    }
    if (child > 0) (void)waitpid(child, NULL, 0);
}

const char *run_scratch(void)
{
    if (scratch[0]) return scratch;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/culvert-samples-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(scratch)) FAIL("mkdtemp(%s): %s", scratch, strerror(errno));
    REQUIRE(atexit(remove_scratch) == 0);
    return scratch;
}

static void collect(run_result *out, int from)
{
    size_t used = 0;
    char rest[512];
    for (;;) {
        size_t room = sizeof out->text - 1 - used;
        ssize_t got = read(from, room ? out->text + used : rest, room ? room : sizeof rest);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (room) used += (size_t)got;
    }
    out->text[used] = '\0';
}

void run_program(run_result *out, const char *program, const char *where, const char *const *arguments)
{
    char relative[256], path[TEST_PATH_MAX];
    snprintf(relative, sizeof relative, "bin/%s", program);
    (void)test_path(path, relative);
    union { /* execv takes pointers to char that it does not write through */
        const char *given[MAX_ARGUMENTS + 2];
        char *taken[MAX_ARGUMENTS + 2];
    } argv;
    int argc = 0;
    argv.given[argc++] = path;
    for (; *arguments; arguments++) {
        REQUIRE(argc <= MAX_ARGUMENTS);
        argv.given[argc++] = *arguments;
    }
    argv.given[argc] = NULL;

    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (chdir(where) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(ends[1], STDERR_FILENO) >= 0) {
            close(ends[0]);
            close(ends[1]);
            execv(path, argv.taken);
        }
        _exit(127);
    }
    close(ends[1]);
    collect(out, ends[0]);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
