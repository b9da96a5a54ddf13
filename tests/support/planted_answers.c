/* SPDX-License-Identifier: MIT */
/* Named answers that are right and wrong on purpose: what harness.answers runs, and no suite of its
 * own. --as=twin and --as=nvidia say whose answers they are. */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

static void driver(void)
{
    test_answers_of(strcmp(test_option("as", "nvidia"), "twin") == 0);
}

static void all_right(void)
{
    driver();
    ANSWER("code", "CUDA_SUCCESS");
    ANSWER("bytes wrong", "%d", 0);
}

static void success(void)
{
    driver();
    ANSWER("code", "CUDA_SUCCESS");
}

static void failure(void)
{
    driver();
    ANSWER("code", "CUDA_ERROR_UNKNOWN");
}

static void differs(void)
{
    driver();
    bool twin = strcmp(test_option("as", "nvidia"), "twin") == 0;
    ANSWER("code", "%s", twin ? "CUDA_SUCCESS" : "CUDA_ERROR_UNKNOWN");
    ANSWER("order a", "%s", twin ? "2, 1" : "1, 2");
    if (!twin) ANSWER("only a GPU", "7");
}

static void twice(void)
{
    success();
    success();
}

static void nothing(void)
{
    driver();
}

/* Twice the same process: its answers are taken once. */
static void by_a_child(void)
{
    driver();
    ANSWER("here", "1");
    REQUIRE_EQ(test_run_child("planted.answering_child"), 0);
    REQUIRE_EQ(test_run_child("planted.answering_child"), 0);
}

static void answering_child(void)
{
    if (getenv("CULVERT_TEST_ANSWERS_TO") == NULL) SKIP("only as a child");
    driver();
    ANSWER("there", "%s", "CUDA_ERROR_UNKNOWN");
}

static const test_case cases[] = {{.name = "planted.all_right", .run = all_right},
                                  {.name = "planted.other", .run = failure},
                                  {.name = "planted.missing", .run = success},
                                  {.name = "planted.never_recorded", .run = success},
                                  {.name = "planted.differs", .run = differs},
                                  {.name = "planted.stale", .run = success},
                                  {.name = "planted.stale_line", .run = nothing},
                                  {.name = "planted.unknown_yet", .run = failure},
                                  {.name = "planted.twice", .run = twice},
                                  {.name = "planted.by_a_child", .run = by_a_child},
                                  {.name = "planted.answering_child", .run = answering_child},
                                  {.name = NULL}};
TEST_SUITE(cases);
