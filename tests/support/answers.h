/* SPDX-License-Identifier: MIT */
/* Named answers: what a driver answered in a case, held against what was recorded on a GPU.
 *
 * A suite that is given --answers=DIRECTORY (relative as in test_path()) compares:
 *   nvidia-580.txt    lines `case | value | key | key ...`, from a GPU's run with --record
 *   twin-differs.txt  lines `case | the twin's value | reason | key | key ...`: where the twin
 *                     answers otherwise, and why. A key may end in '*'. The value '-' means that
 *                     the twin gives no such answer, '*' that it may be anything
 * A case fails when an answer is another one, was never recorded, or is missing at its end, and
 * when it has none, not even a required one: it asserts too little. On the twin it also fails
 * when a line of twin-differs.txt says what is no longer so. The recorded value '?' means "not
 * recorded yet" and fits anything. Without --answers, and with --record, answers are printed and
 * nothing else. A case that runs in a process of another one (test_run_child()) gives that one's
 * answers. */
#ifndef CULVERT_TESTS_ANSWERS_H_
#define CULVERT_TESTS_ANSWERS_H_

#include "harness.h"

/* Says what a driver answered: an error's name, bytes that are wrong, whether an fd is open, an
 * order of events; never a time, an address or a handle. Prints "ANSWER case | key | value". The key
 * is unique within its case; neither has " | " or a newline. Any thread may call it. */
#define ANSWER(key, ...) test_answer((key), __VA_ARGS__)
void test_answer(const char *key, const char *format, ...) TEST_PRINTF(2, 3);
/* An answer that every driver has to give: it is required, and so not recorded. If it is not right,
 * the text says what was answered. */
void test_answer_is(const char *key, bool right, const char *format, ...) TEST_PRINTF(3, 4);

/* Which driver answers; whoever opens the driver says it. */
void test_answers_of(bool twin);

/* For the harness: a case begins, and it has ended well but for its answers. */
void test_answers_begin(void);
void test_answers_end(void);

/* For the harness, around a process that a case starts (test_run_child()): what that one answers is
 * an answer of the case. open() returns a descriptor, for to() in the child and for take(), which
 * closes it, when the child has ended. take() passes over keys that were answered before. */
int test_answers_open(void);
void test_answers_to(int fd);
void test_answers_take(int fd);

#endif
