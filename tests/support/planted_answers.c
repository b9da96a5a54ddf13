/* SPDX-License-Identifier: MIT */
/* Named answers that are right and wrong on purpose: what harness.answers runs, and no suite of its
 * own. --as=twin and --as=nvidia say whose answers they are. */
#define TEST_GROUP "planted."
#include "answers.h"

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

TEST(success, .title = "planted.missing")
{
    driver();
    ANSWER("code", "CUDA_SUCCESS");
}

TEST(failure, .title = "planted.other")
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

TEST_AS(nothing, driver(), .title = "planted.stale_line")

/* Twice the same process: its answers are taken once. */
TEST(by_a_child)
{
    driver();
    ANSWER("here", "1");
    REQUIRE_EQ(test_run_child("planted.answering_child"), 0);
    REQUIRE_EQ(test_run_child("planted.answering_child"), 0);
}

TEST(answering_child)
{
    if (getenv("CULVERT_TEST_ANSWERS_TO") == NULL) SKIP("only as a child");
    driver();
    ANSWER("there", "%s", "CUDA_ERROR_UNKNOWN");
}

TEST_FN(success, .title = "planted.never_recorded")
TEST_FN(success, .title = "planted.stale")
TEST_FN(failure, .title = "planted.unknown_yet")
