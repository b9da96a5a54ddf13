/* SPDX-License-Identifier: MIT */
/* Cases that go wrong on purpose: what harness.many runs, and no suite of its own. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
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

static void planted_pass(void)
{
    planted();
    MEASURED("planted", "%d", (int)getpid());
}

static void planted_fail(void)
{
    planted();
    FAIL("planted");
}

static void planted_crash(void)
{
    planted();
    signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
    raise(SIGSEGV);
}

/* A process that it started hangs as well. */
static void planted_hang(void)
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

static void planted_deaf_hang(void)
{
    planted();
    signal(SIGALRM, SIG_IGN);
    for (;;)
        pause();
}

static void planted_skip(void)
{
    planted();
    SKIP("planted, before anything");
}

static void planted_late_skip(void)
{
    planted();
    dirty = true;
    SKIP("planted, in the middle");
}

static void planted_litter(void)
{
    planted();
    dirty = true;
}

static void planted_own(void)
{
    planted();
    test_wants_own_process();
    MEASURED("planted_own", "%d", (int)getpid());
}

static const test_case cases[] = {
    {.name = "planted.first", .run = planted_pass},
    {.name = "planted.fails", .run = planted_fail},
    {.name = "planted.second", .run = planted_pass},
    {.name = "planted.crashes", .run = planted_crash},
    {.name = "planted.hangs", .run = planted_hang, .time_limit = 1},
    {.name = "planted.is_deaf", .run = planted_deaf_hang, .time_limit = 1},
    {.name = "planted.skips", .run = planted_skip},
    {.name = "planted.third", .run = planted_pass},
    {.name = "planted.skips_late", .run = planted_late_skip},
    {.name = "planted.litters", .run = planted_litter},
    {.name = "planted.asks_for_it", .run = planted_own},
    {.name = "planted.fourth", .run = planted_pass},
    {.name = "planted.last", .run = planted_pass},
    {.name = "planted.alone", .run = planted_pass, .own = true},
    {.name = NULL},
};
TEST_SUITE(cases);
