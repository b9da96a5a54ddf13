/* SPDX-License-Identifier: MIT */
/* How a benchmark ends early, and what the raw drivers of tests/support are told in place of a
 * test's command line. */
#ifndef CULVERT_BENCH_PROGRAM_H_
#define CULVERT_BENCH_PROGRAM_H_

#include <stdbool.h>
#include <stdint.h>

enum { EXITS_FAILURE = 1, EXITS_USAGE = 2, EXITS_NO_DEVICE = 3 };

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define EXITS_SANITIZED 1
#    endif
#endif
#if !defined(EXITS_SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#    define EXITS_SANITIZED 1
#endif
#ifndef EXITS_SANITIZED
#    define EXITS_SANITIZED 0
#endif

/* `program` precedes every message; `driver` is auto, nvidia or soft. The strings are kept. */
void exits_set_up(const char *program, const char *driver, bool validation);

/* Ends the program with `what` and status 1 unless it is called again within this time: a lost
 * signal would otherwise be waited for without end. Sanitized programs get four times as long. 0
 * seconds: no more of it. */
void exits_watch(unsigned seconds, const char *what);

void exits_require_culv(const char *file, int line, const char *text, int result);

/* Ends the program, with Culvert's own message, unless the call succeeded. */
#define CULV_OK_OR_EXIT(call)                                                                      \
    do {                                                                                           \
        int result_ = (int)(call);                                                                 \
        if (result_ != 0) exits_require_culv(__FILE__, __LINE__, #call, result_);                  \
    } while (0)

/* The arguments that all benchmarks take, and how each reads its own. A wrong one ends the program
 * with EXITS_USAGE. */

/* Where what all of them take goes. */
typedef struct arguments {
    const char *program, *usage;
    const char **driver; /* auto, nvidia or soft */
    const char **json;   /* "" is standard output */
    int *device;
    uint64_t *seed;
    bool *quick;
} arguments;

/* --driver, --device, --json, --seed, --quick; --help and --version end the program. False: it is
 * another argument. */
bool arguments_take(const arguments *all, const char *argument);
_Noreturn void arguments_wrong(const arguments *all, const char *text, const char *argument);
/* Of an argument that nothing has taken. */
_Noreturn void arguments_unknown(const arguments *all, const char *argument);
/* The value of --NAME=VALUE; NULL where the argument is something else. */
const char *arguments_value(const char *argument, const char *name);
/* A number from `text` on; *end is what follows it. */
uint64_t arguments_number_before(const arguments *all, const char *argument, const char *text,
                                 uint64_t least, uint64_t most, char **end);
/* A number, and nothing behind it. */
uint64_t arguments_number(const arguments *all, const char *argument, const char *text,
                          uint64_t least, uint64_t most);
/* Ends the program once what was asked for is printed. */
_Noreturn void arguments_printed(void);

#endif
