/* SPDX-License-Identifier: MIT */
/* Tests of samples: running a program. */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
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
    test_wants_own_process(); /* the directory is emptied by no case */
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/culvert-samples-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(scratch)) FAIL("mkdtemp(%s): %s", scratch, strerror(errno));
    REQUIRE(atexit(remove_scratch) == 0);
    return scratch;
}

const char *run_scratch_path(char *out, const char *name)
{
    int length = snprintf(out, TEST_PATH_MAX, "%s/%s", run_scratch(), name);
    REQUIRE(length > 0 && length < TEST_PATH_MAX);
    return out;
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

/* Runs argv[0], a path or a command, in `where`. */
static void start(run_process *out, const char *const *argv, const char *where)
{
    union { /* execvp takes pointers to char that it does not write through */
        const char *const *given;
        char *const *taken;
    } arguments = {.given = argv};
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (chdir(where) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0 &&
            dup2(ends[1], STDERR_FILENO) >= 0) {
            close(ends[0]);
            close(ends[1]);
            execvp(argv[0], arguments.taken);
        }
        _exit(127);
    }
    close(ends[1]);
    out->pid = child;
    out->from = ends[0];
}

void run_start(run_process *out, const char *program, const char *where,
               const char *const *arguments)
{
    char relative[256], path[TEST_PATH_MAX];
    snprintf(relative, sizeof relative, "bin/%s", program);
    const char *argv[MAX_ARGUMENTS + 2];
    int argc = 0;
    argv[argc++] = test_path(path, relative);
    for (; *arguments; arguments++) {
        REQUIRE(argc <= MAX_ARGUMENTS);
        argv[argc++] = *arguments;
    }
    argv[argc] = NULL;
    start(out, argv, where);
}

void run_command_start(run_process *out, const char *const *argv)
{
    start(out, argv, run_scratch());
}

bool run_ended(const run_process *process)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

void run_finish(run_process *process, run_result *out)
{
    collect(out, process->from);
    close(process->from);
    int status = 0;
    while (waitpid(process->pid, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void run_program(run_result *out, const char *program, const char *where,
                 const char *const *arguments)
{
    run_process process;
    run_start(&process, program, where, arguments);
    run_finish(&process, out);
}

void run_command(run_result *out, const char *const *argv)
{
    run_process process;
    run_command_start(&process, argv);
    run_finish(&process, out);
}

const char *run_device(void)
{
    const test_driver_choice choice = test_driver();
    return choice == TEST_DRIVER_NVIDIA ? "nvidia" : choice == TEST_DRIVER_SOFT ? "soft" : "auto";
}

const char *run_value(const run_result *r, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *result = strstr(r->text, "RESULT {");
    const char *at = result ? strstr(result, quoted) : NULL;
    if (!at) FAIL("no %s in RESULT:\n%s", key, r->text);
    return at + strlen(quoted);
}

unsigned long run_number(const run_result *r, const char *key)
{
    return strtoul(run_value(r, key), NULL, 10);
}

void run_refuses(void (*program)(run_result *out, const char *const *arguments),
                 const run_wrong *rows)
{
    static run_result r;
    for (; rows->says != NULL; rows++) {
        program(&r, rows->list);
        if (r.status != 2 || !strstr(r.text, rows->says))
            FAIL("status %d, wanted 2 and \"%s\":\n%s", r.status, rows->says, r.text);
    }
}

static void run_with(const failing_program *program, const char *call, run_result *r)
{
    char says[64];
    REQUIRE(setenv("CULVERT_SOFT_FAIL_AT", call, 1) == 0);
    program->run(r, program->context);
    REQUIRE(unsetenv("CULVERT_SOFT_FAIL_AT") == 0);
    snprintf(says, sizeof says, "%s: ", program->name);
    if ((r->status != 0 && r->status != 1) || strstr(r->text, "Sanitizer") ||
        strstr(r->text, "runtime error"))
        FAIL("%s: status %d:\n%s", call, r->status, r->text);
    if (r->status == 1 && !strstr(r->text, says))
        FAIL("%s: it ended without a word:\n%s", call, r->text);
}

void failures_need_the_twin(const failing_program *program)
{
    run_result r;
    program->run(&r, program->context);
    if (r.status != 0)
        SKIP("the software twin, which alone fails on demand, has no device: %s", r.text);
}

void failures_must_end(const failing_program *program, const char *const *calls)
{
    run_result r;
    for (; *calls; calls++) {
        run_with(program, *calls, &r);
        if (r.status != 1) FAIL("%s: the run went on:\n%s", *calls, r.text);
    }
}

void failures_sweep(const failing_program *program, const char *kind, unsigned first, unsigned last,
                    unsigned stride, unsigned enough)
{
    /* A start of a sample costs a second, most of it lavapipe's shader compiler. */
    if (test_option("sweep", NULL) == NULL) return;
    unsigned ended = 0, in_a_row = 0;
    for (unsigned n = first; n <= last && (enough == 0 || in_a_row < enough); n += stride) {
        run_result r;
        char call[32];
        snprintf(call, sizeof call, "%s:%u", kind, n);
        run_with(program, call, &r);
        ended += r.status == 1;
        in_a_row = r.status == 0 ? in_a_row + 1 : 0;
    }
    MEASURED("runs_that_ended", "%s: %u", kind, ended);
}
