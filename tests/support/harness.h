/* SPDX-License-Identifier: MIT */
/* A small test harness with its own main: cases, run alone or many in one process.
 *
 *   prog CASE            runs one case in this process: exit 0 passed, 77 skipped, else failed
 *   prog CASE|GLOB...    runs those cases in children: "own" cases one a process, the others
 *                        together in one. A line for each: PASS CASE (1.234 s), SKIP CASE: why,
 *                        FAIL CASE: how it ended. A process that fails, hangs or crashes ends
 *                        there, and the cases that are left get a new one
 *   prog                 runs all of them, then prints the totals and the marks
 *   --batch              the same for a single CASE
 *   --alone              a process for each case, "own" or not
 *   --quiet              no output of cases that passed, but for what they measured and answered
 *   --smoke              of the cases, those marked "smoke", or the first where none is
 *   --cases=GLOB,..., --but=GLOB,...   the program has these cases alone, or all but these
 *   --part=K/N           of the cases, the K-th of N parts
 *   --reverse, --shuffle=SEED   in another order: a case must not need the one before it
 *   prog --list          the cases, one a line; --list-times adds each one's time limit in seconds, and "own",
 *                        "shared" or "faults"
 *   prog --marks         what each marked case says about driver and twin, and the counts
 *   --results=DIR        leaves "pass", "skip" or "fail" in DIR/CASE
 *   --check-not-all-skipped   reads those: exit 0 when at least one case passed
 *   --driver=auto|nvidia|soft   the CUDA driver under test: auto is NVIDIA's where it has a
 *                        device, else the twin
 *   --answers=DIR, --record   see answers.h
 *   --NAME=VALUE         anything else is kept for test_option() */
#ifndef CULVERT_TESTS_HARNESS_H_
#define CULVERT_TESTS_HARNESS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_SKIPPED    77
#define TEST_PATH_MAX   4096
#define TEST_TIME_LIMIT 120u /* seconds; sanitized builds get four times as long */
/* Milliseconds in which what must come does come, on any machine, however busy. Only a failure
 * takes that long. */
#define TEST_FAR_MS 60000u

/* What a contract row says about the two drivers. */
typedef enum test_mark {
    TEST_UNMARKED,
    TEST_BOTH, /* the same on NVIDIA's driver and on the twin */
    /* True of NVIDIA's driver; the case checks the twin's own answer, or skips there */
    TEST_NVIDIA_ONLY,
    TEST_TWIN_STRICTER, /* the twin refuses what NVIDIA's driver lets through */
} test_mark;

typedef struct test_case {
    const char *name;  /* letters, digits, dots and underscores */
    const char *title; /* in place of the name that TEST() gives it; NULL: none */
    void (*run)(void); /* returns when it passed */
    test_mark mark;
    const char *reason;  /* why the mark is what it is */
    unsigned time_limit; /* seconds, 0 = TEST_TIME_LIMIT */
    /* Wants a process for itself: it faults a kernel, resets a context, changes the environment or
     * a limit, starts processes, counts what its process has, leaves work behind, or measures what
     * a first call costs. */
    bool own;
    bool smoke; /* one of those that --smoke runs */
    /* A kernel or a copy faults in it, a context is reset, or a driver is given rubbish, so that on
     * a GPU later processes may suffer: a bundle's runner takes it last. Has a process for itself.
     * On the twin a case without this in which something faults fails. */
    bool faults;
    struct test_case *next; /* of the program's; the harness sets it */
} test_case;

/* Before main(), in the order of the program's files and of the cases in each. */
void test_add(test_case *c);

/* What the names of a file's cases begin with; a file defines it before its first include. */
#ifndef TEST_GROUP
#    define TEST_GROUP ""
#endif

/* A case, which TEST_GROUP and its function name, and what else is true of it:
 *   TEST(shrinks, .own = true, .time_limit = 300)
 *   {
 *       REQUIRE(shrunk());
 *   } */
#define TEST(...) TEST_(__VA_ARGS__, .next = NULL)
#define TEST_(function, ...)                                                                       \
    TEST_ADD_(function##_adds, function, __VA_ARGS__)                                              \
    static void function(void)
/* The same of a function that is there. */
#define TEST_FN(...)           TEST_FN_(__LINE__, __VA_ARGS__, .next = NULL)
#define TEST_FN_(line, ...)    TEST_FN_AT_(line, __VA_ARGS__)
#define TEST_FN_AT_(line, ...) TEST_ADD_(adds_##line, __VA_ARGS__)
#define TEST_ADD_(add, function, ...)                                                              \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void add(void)                                             \
    {                                                                                              \
        static test_case c = {.name = TEST_GROUP #function, .run = function, __VA_ARGS__};         \
        test_add(&c);                                                                              \
    }
#define TEST_FIRST(...)         TEST_FIRST_(__VA_ARGS__, 0)
#define TEST_FIRST_(first, ...) first
#define TEST_REST(...)          TEST_REST_(__VA_ARGS__, .next = NULL)
#define TEST_REST_(first, ...)  __VA_ARGS__

/* Begins a case that has a stage of its own: `open`, the body that follows, `close`. All three know
 * the stage as the pointer `stage`. A suite gives it a shorter name:
 *   #define VMM_CASE(...) TEST_ON(vmm_stage, s, vmm_stage_open(s), vmm_stage_close(s), __VA_ARGS__)
 *   VMM_CASE(shrinks, .smoke = true)
 *   {
 *       REQUIRE(s->device != NULL);
 *   } */
#define TEST_ON(type, stage, open, close, ...)                                                     \
    TEST_ON_(type, stage, open, close, __VA_ARGS__, .next = NULL)
#define TEST_ON_(type, stage, open, close, name, ...)                                              \
    static void name##_on(type *stage);                                                            \
    TEST_(name, __VA_ARGS__)                                                                       \
    {                                                                                              \
        type stage##_itself, *const stage = &stage##_itself;                                       \
        open;                                                                                      \
        name##_on(stage);                                                                          \
        close;                                                                                     \
    }                                                                                              \
    static void name##_on(type *stage)

/* A case that is one call with its own values, where several share a function:
 *   TEST_AS(two_lanes, lanes(2))
 *   TEST_AS(four_lanes, lanes(4)) */
#define TEST_AS(name, ...) TEST_AS_(name, __VA_ARGS__, .next = NULL)
#define TEST_AS_(name, call, ...)                                                                  \
    TEST_(name, __VA_ARGS__)                                                                       \
    {                                                                                              \
        call;                                                                                      \
    }

typedef enum test_driver_choice {
    TEST_DRIVER_AUTO,
    TEST_DRIVER_NVIDIA,
    TEST_DRIVER_SOFT
} test_driver_choice;

test_driver_choice test_driver(void);
/* The value of the last --name=value on the command line ("" for a bare --name), or fallback. */
const char *test_option(const char *name, const char *fallback);
/* The path of a file of the build tree or bundle: relative to two directories above the program's
 * own. */
const char *test_path(char out[TEST_PATH_MAX], const char *relative);
/* The running case's name. */
const char *test_case_name(void);
/* Whether other cases ran in this process before this one, or may run after it. */
bool test_shared(void);
/* What the case does next would be felt by others, or would show what others did: where
 * test_shared() it is left here, and run again in a process of its own. Best called before the case
 * opens anything; ".own" says it before it begins. */
void test_wants_own_process(void);

/* What the running case has made and does not give back itself: test_settle() calls each `end` with
 * `of` and the thing, of which there is a copy, the last one first. The `close` of a stage calls it
 * before all else. Of a case that ends without, the harness gives the memory back and drops the
 * rest. For one thread. */
typedef void (*test_end)(const void *of, void *thing);
void test_later(test_end end, const void *of, const void *thing, size_t size);
/* The case ends this one itself. */
void test_forget(const void *thing, size_t size);
void test_settle(void);
void test_drop(void);
/* Memory until then, all zeros. */
void *test_memory(size_t size);

/* What is kept open from one case to the next because it is slow to open. Set once; members may be
 * NULL. */
typedef struct test_fixture {
    bool (*clean)(void); /* after each case: whether the case has closed all that it opened */
    bool (*usable)(
        /* After each case: whether another one can go on with it; if not, the process ends */
        void);
    void (*end)(void); /* after the last one; nothing may be left */
} test_fixture;
void test_keep(const test_fixture *fixture);

/* Runs `prog CASE` with the same options in a new process and returns its exit status, 128 + signal
 * if killed. The running case gets a process of its own. */
int test_run_child(const char *case_name);
/* Begins the running case again from the program's start, in the same process, with one option more
 * unless it is NULL. */
_Noreturn void test_start_anew(const char *option);
/* Whether the program has this option, spelled like this. */
bool test_has_option(const char *option);
/* In a process that a case has made without test_run_child(), before it ends: as at a case's end,
 * on the twin nothing may have faulted unless the case is marked. */
void test_require_marked_faults(void);
/* Whether this program was built with AddressSanitizer or ThreadSanitizer. */
bool test_sanitized(void);
/* ... with ThreadSanitizer. */
bool test_thread_sanitized(void);
/* Open file descriptors of this process. */
size_t test_open_fds(void);
/* Waits till as many are open: some are closed by another thread. Fails after TEST_FAR_MS. */
void test_settle_fds(size_t fds, const char *what);
/* Prints them, before a failure that they explain. */
void test_tell_fds(void);
/* Monotonic microseconds. */
double test_now_us(void);
/* Whether a thread of this process has slept for `ms` by now, or has ended. */
bool test_sleeps(int thread, unsigned ms);
/* Waits until all threads of a process sleep at one moment, and have slept for `ms` before it.
 * `process` 0 is this process, without the calling thread. `thread` other than 0 is the only thread
 * that counts. False when TEST_FAR_MS did not bring that. True where the system does not tell.
 * A thread that is ready to run does not sleep, even if the machine is too busy to run it. */
bool test_asleep(int process, int thread, unsigned ms);
/* Writes of a process and of its descendants what each thread does: its name, its state, where in
 * the kernel it waits; and its stack where the machine has eu-stack (elfutils) and permits it. A
 * signal handler may call it. It takes a few seconds at most. */
void test_tell_states(int to, int process);
/* Whether a line of the file (allowed_vuids.txt) has this id of a validation message and holds for
 * the text and for the validation layer's version, as VK_MAKE_API_VERSION() makes it. The id and
 * the text may be NULL. False without the file. */
bool test_message_allowed(const char *file, const char *vuid, const char *text, uint32_t version);

#if defined(__MINGW32__) && !defined(__clang__)
#    define TEST_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#elif defined(__GNUC__)
#    define TEST_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#    define TEST_PRINTF(f, a)
#endif

/* The ways out of a case besides returning; any thread may take them. Nothing is unwound: the
 * process ends, but for a skip before the case has opened anything. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...) TEST_PRINTF(3, 4);
_Noreturn void test_skip(const char *format, ...) TEST_PRINTF(1, 2);
/* Passes at once, without the drivers' exit handlers: for an "own" case that leaves work behind
 * which may never end. */
_Noreturn void test_pass(void);
void test_measured(const char *name, const char *format, ...) TEST_PRINTF(2, 3);

void test_require_eq(const char *file, int line, const char *actual_text, const char *expected_text,
                     int64_t actual, int64_t expected);
void test_require_eq_str(const char *file, int line, const char *actual_text, const char *actual,
                         const char *expected);
void test_require_eq_bytes(const char *file, int line, const char *actual_text, const void *actual,
                           const void *expected, size_t size);

#define FAIL(...)     test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define REQUIRE(cond) ((cond) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #cond))
/* A row of a table, which takes no line for each value. */
#define TEST_ROW(...)                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
/* Integers, enums and booleans of any type; both values are printed. */
#define REQUIRE_EQ(actual, expected)                                                               \
    test_require_eq(__FILE__, __LINE__, #actual, #expected, (int64_t)(actual), (int64_t)(expected))
#define REQUIRE_EQ_STR(actual, expected)                                                           \
    test_require_eq_str(__FILE__, __LINE__, #actual, (actual), (expected))
#define REQUIRE_EQ_BYTES(actual, expected, size)                                                   \
    test_require_eq_bytes(__FILE__, __LINE__, #actual, (actual), (expected), (size))
#define SKIP(...) test_skip(__VA_ARGS__)
/* Prints "MEASURED name: value", for a script to collect. */
#define MEASURED(name, ...) test_measured((name), __VA_ARGS__)

#endif
