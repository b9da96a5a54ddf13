/* SPDX-License-Identifier: MIT */
/* The harness tested by itself: each way out of a case, taken in a forked child. */
#define TEST_GROUP "harness."
#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

/* Exit status and first 4 KiB of output of fn() in a forked child, 128 + signal if it was
 * killed. */
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

TEST(outcomes, .own = true)
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

TEST(children, .own = true)
{
    REQUIRE_EQ(test_run_child("harness.paths"), 0);
    REQUIRE_EQ(test_run_child("harness.no_such_case"), 2);
}

TEST(paths)
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

/* Many cases ----------------------------------------------------------------------------------- */

static const char *many_output;

static void require_line(const char *line)
{
    const char *at = many_output;
    for (; at != NULL; at = strchr(at, '\n'), at = at != NULL ? at + 1 : NULL)
        if (strncmp(at, line, strlen(line)) == 0) return;
    FAIL("no line begins with \"%s\" in:\n%s", line, many_output);
}

/* The number that the n-th line "MEASURED name:" has. */
static long measured(const char *name, unsigned n)
{
    char text[64];
    snprintf(text, sizeof text, "MEASURED %s: ", name);
    const char *at = many_output;
    while ((at = strstr(at, text)) != NULL) {
        at += strlen(text);
        if (n-- == 0) return strtol(at, NULL, 10);
    }
    FAIL("too few lines \"%s\" in:\n%s", text, many_output);
}

/* What the program beside this one prints and how it ends. */
static int run_planted(const char *arguments)
{
    static char text[65536];
    char command[2 * TEST_PATH_MAX], path[TEST_PATH_MAX];
    size_t used = 0;
    snprintf(command, sizeof command, "exec %s %s 2>&1",
             test_path(path, "bin/tests/harness-planted"), arguments);
    FILE *run = popen(command, "r");
    REQUIRE(run != NULL);
    for (size_t got; used < sizeof text - 1; used += got)
        if ((got = fread(text + used, 1, sizeof text - 1 - used, run)) == 0) break;
    text[used] = '\0';
    int status = pclose(run);
    many_output = text;
    printf("%s", text);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Between two lines stands the text. */
static void require_told(const char *text, const char *after, const char *before)
{
    const char *from = strstr(many_output, after), *to = strstr(many_output, before);
    const char *at = from != NULL ? strstr(from, text) : NULL;
    if (at == NULL || to == NULL || at > to)
        FAIL("no \"%s\" between \"%s\" and \"%s\" in:\n%s", text, after, before, many_output);
}

/* Each case of planted.c is blamed, or praised, for its own doing, and the rest still runs. */
TEST(many, .own = true, .smoke = true)
{
    REQUIRE_EQ(run_planted("--cases=planted.* --quiet"), 1);
    require_line("PASS planted.first (");
    require_line("FAIL planted.fails: exit status 1");
    require_line("PASS planted.second (");
    require_line("FAIL planted.crashes: signal 11");
    require_line("FAILED: planted.hangs hangs: not done after");
    require_told("(planted-child) S, in ", "FAILED: planted.hangs hangs", "FAIL planted.hangs");
    require_line("FAIL planted.hangs: exit status 1");
    require_told(") S, in ", "== planted.is_deaf", "FAIL planted.is_deaf");
    require_line("FAIL planted.is_deaf: it hangs, and was killed");
    require_line("SKIP planted.skips: planted, before anything");
    require_line("PASS planted.third (");
    require_line("SKIP planted.skips_late: planted, in the middle");
    require_line("FAIL planted.litters: exit status 1");
    require_line("PASS planted.alone (");
    require_line("PASS planted.asks_for_it (");
    require_line("PASS planted.last (");
    require_line("7 passed, 2 skipped, 5 failed");
    /* In the order in which they ran: a process ends with what goes wrong in it. */
    REQUIRE(measured("planted", 0) != measured("planted", 1));
    REQUIRE(measured("planted", 1) != measured("planted", 2));
    REQUIRE_EQ(measured("planted", 3), measured("planted", 4));
    REQUIRE(measured("planted_own", 0) != measured("planted", 3));
    REQUIRE(strstr(many_output, "planted.first\n") ==
            NULL); /* the output of what passed is left out */
}

/* A suite may be a part of a program. */
TEST(some, .own = true)
{
    REQUIRE_EQ(run_planted("--cases=*.first,*.second --but=*.se* --quiet"), 0);
    require_line("PASS planted.first (");
    require_line("1 passed, 0 skipped, 0 failed");
}

#define ANSWERS "--cases=answers.* --quiet --answers=share/culvert/planted-answers "

/* An answer that is another one, missing, never recorded, or told as different and not so. */
TEST(answers, .own = true)
{
    REQUIRE_EQ(run_planted(ANSWERS "--as=nvidia"), 1);
    require_line("ANSWER answers.all_right | code | CUDA_SUCCESS");
    require_line("PASS answers.all_right (");
    require_line("OTHER ANSWER answers.other | code: 'CUDA_ERROR_UNKNOWN'; the recorded answer is "
                 "'CUDA_SUCCESS'");
    require_line("FAIL answers.other: exit status 1");
    require_line("OTHER ANSWER answers.missing | fd: no answer");
    require_line("FAIL answers.missing: exit status 1");
    require_line("OTHER ANSWER answers.never_recorded | code: 'CUDA_SUCCESS' was never recorded");
    require_line("FAIL answers.never_recorded: exit status 1");
    require_line("PASS answers.differs (");
    require_line("PASS answers.stale (");
    require_line("PASS answers.unknown_yet (");
    require_line("FAIL answers.twice: exit status 1");
    require_line("OTHER ANSWER answers.by_a_child | there: 'CUDA_ERROR_UNKNOWN'; the recorded "
                 "answer is 'CUDA_SUCCESS'");
    require_line("FAIL answers.by_a_child: exit status 1");
    require_line("OTHER ANSWER answers.stale_line | any: it has no named answer");
    require_line("PASS answers.required (");
    require_line("5 passed, 1 skipped, 6 failed");

    REQUIRE_EQ(run_planted(ANSWERS "--as=twin"), 1);
    require_line("PASS answers.all_right (");
    require_line("FAIL answers.other: exit status 1");
    require_line("PASS answers.differs (");
    require_line("OTHER ANSWER answers.stale | code: 'CUDA_SUCCESS', as on the GPU");
    require_line("FAIL answers.stale: exit status 1");
    require_line("OTHER ANSWER answers.stale_line | gone: twin-differs.txt has a line that fits no "
                 "answer");
    require_line("FAIL answers.stale_line: exit status 1");
    require_line("PASS answers.by_a_child (");
    require_line("5 passed, 1 skipped, 6 failed");

    REQUIRE_EQ(run_planted(ANSWERS "--record --as=nvidia"), 1);
    require_line("PASS answers.other (");
    require_line(
        "10 passed, 1 skipped, 1 failed"); /* two answers of one name are a mistake anyhow */
}

/* Of validation messages. Each condition of a line must hold, and the id be the whole one. */
TEST(allowances)
{
    enum { OLD = 1u << 22 | 4u << 12 | 309, NEW = 1u << 22 | 5u << 12 };
    char path[] = "/tmp/culvert-allowed-XXXXXX";
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    FILE *file = fdopen(fd, "w");
    REQUIRE(file != NULL);
    fputs("# VUID-comment\nVUID-plain\n\n  VUID-text | first | second part \n"
          "VUID-old | before 1.4.310 | first\nVUID-old | before 1.4.310 | third\n",
          file);
    REQUIRE(fclose(file) == 0);
    const bool yes[] = {test_message_allowed(path, "VUID-plain", NULL, NEW),
                        test_message_allowed(path, "VUID-plain", "anything", 0),
                        test_message_allowed(path, "VUID-text", "a second part, first", NEW),
                        test_message_allowed(path, "VUID-old", "the first", OLD),
                        test_message_allowed(path, "VUID-old", "the third", OLD)};
    const bool no[] = {test_message_allowed(path, "VUID-plai", "", OLD),
                       test_message_allowed(path, "VUID-plain-1", "", OLD),
                       test_message_allowed(path, "VUID-comment", "", OLD),
                       test_message_allowed(path, "# VUID-comment", "", OLD),
                       test_message_allowed(path, "", "", OLD),
                       test_message_allowed(path, NULL, NULL, OLD),
                       test_message_allowed(path, "VUID-text", "the first", OLD),
                       test_message_allowed(path, "VUID-text", NULL, OLD),
                       test_message_allowed(path, "VUID-old", "the first", OLD + 1),
                       test_message_allowed(path, "VUID-old", "the first", NEW),
                       test_message_allowed(path, "VUID-old", "another", OLD)};
    REQUIRE(unlink(path) == 0);
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!yes[i]) FAIL("allowed row %zu was refused", i);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (no[i]) FAIL("row %zu was allowed", i);
    REQUIRE(!test_message_allowed(path, "VUID-plain", "", OLD)); /* the file is gone */
}

static char ended[8];

static void end_letter(const void *of, void *thing)
{
    const size_t length = strlen(ended);
    ended[length] = *(char *)thing;
    ended[length + 1] = *(const char *)of;
}

/* The last one first, without those that the case ended itself; then nothing is left to end. */
TEST(settled)
{
    for (const char *letter = "abc"; *letter != '\0'; letter++)
        test_later(end_letter, "-", letter, 1);
    unsigned char *zeros = test_memory(3);
    REQUIRE(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0);
    test_forget("b", 1);
    test_settle();
    REQUIRE_EQ_STR(ended, "c-a-");
    test_later(end_letter, "-", "d", 1);
    test_drop();
    test_settle();
    REQUIRE_EQ_STR(ended, "c-a-");
}
