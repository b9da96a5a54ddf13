/* SPDX-License-Identifier: MIT */
/* Cases that go wrong on purpose: what harness.many and harness.answers run, and no suite of its
 * own. */
#define TEST_GROUP "answers."
#include "answers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool dirty;

static bool is_clean(void)
{
    return !dirty;
}

static void planted(void)
{
    static const test_fixture fixture = {.clean = is_clean};
    static bool kept;
    if (!kept) test_keep(&fixture);
    kept = true;
    printf("in process %d\n", (int)getpid());
}

TEST(planted_pass, .title = "planted.first")
{
    planted();
    MEASURED("planted", "%d", (int)getpid());
}

TEST(planted_fail, .title = "planted.fails")
{
    planted();
    FAIL("planted");
}

TEST_FN(planted_pass, .title = "planted.second")

TEST(planted_crash, .title = "planted.crashes")
{
    planted();
    signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
    raise(SIGSEGV);
}

/* A process that it started hangs as well. */
TEST(planted_hang, .title = "planted.hangs", .time_limit = 1)
{
    planted();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "planted-child");
        for (;;)
            pause();
    }
    for (;;)
        pause();
}

TEST(planted_deaf_hang, .title = "planted.is_deaf", .time_limit = 1)
{
    planted();
    signal(SIGALRM, SIG_IGN);
    for (;;)
        pause();
}

TEST(planted_skip, .title = "planted.skips")
{
    planted();
    SKIP("planted, before anything");
}

TEST_FN(planted_pass, .title = "planted.third")

TEST(planted_late_skip, .title = "planted.skips_late")
{
    planted();
    dirty = true;
    SKIP("planted, in the middle");
}

TEST(planted_litter, .title = "planted.litters")
{
    planted();
    dirty = true;
}

TEST(planted_own, .title = "planted.asks_for_it")
{
    planted();
    test_wants_own_process();
    MEASURED("planted_own", "%d", (int)getpid());
}

TEST_FN(planted_pass, .title = "planted.fourth")
TEST_FN(planted_pass, .title = "planted.last")
TEST_FN(planted_pass, .title = "planted.alone", .own = true)

/* Named answers, right and wrong. --as=twin and --as=nvidia say whose they are. */

static void driver(void)
{
    test_answers_of(strcmp(test_option("as", "nvidia"), "twin") == 0);
}

TEST(all_right)
{
    driver();
    ANSWER("code", "CUDA_SUCCESS");
    ANSWER("bytes wrong", "%d", 0);
}

TEST(success, .title = "answers.missing")
{
    driver();
    ANSWER("code", "CUDA_SUCCESS");
}

TEST(failure, .title = "answers.other")
{
    driver();
    ANSWER("code", "CUDA_ERROR_UNKNOWN");
}

TEST(differs)
{
    driver();
    bool twin = strcmp(test_option("as", "nvidia"), "twin") == 0;
    ANSWER("code", "%s", twin ? "CUDA_SUCCESS" : "CUDA_ERROR_UNKNOWN");
    ANSWER("order a", "%s", twin ? "2, 1" : "1, 2");
    if (!twin) ANSWER("only a GPU", "7");
}

TEST(twice)
{
    success();
    success();
}

TEST_AS(nothing, driver(), .title = "answers.stale_line")

TEST(required)
{
    driver();
    test_answer_is("code", true, "CUDA_ERROR_UNKNOWN");
}

/* Twice the same process: its answers are taken once. */
TEST(by_a_child)
{
    driver();
    ANSWER("here", "1");
    REQUIRE_EQ(test_run_child("answers.answering_child"), 0);
    REQUIRE_EQ(test_run_child("answers.answering_child"), 0);
}

TEST(answering_child)
{
    if (getenv("CULVERT_TEST_ANSWERS_TO") == NULL) SKIP("only as a child");
    driver();
    ANSWER("there", "%s", "CUDA_ERROR_UNKNOWN");
}

TEST_FN(success, .title = "answers.never_recorded")
TEST_FN(success, .title = "answers.stale")
TEST_FN(failure, .title = "answers.unknown_yet")
