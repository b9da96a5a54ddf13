/* SPDX-License-Identifier: MIT */
/* Cases that go wrong on purpose: what harness.many runs, and no suite of its own. */
#include "harness.h"

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
