/* SPDX-License-Identifier: MIT */
/* How a benchmark ends early, and what the raw drivers of tests/support are told in place of a
 * test's command line. */
#ifndef CULVERT_BENCH_EXITS_H_
#define CULVERT_BENCH_EXITS_H_

#include <stdbool.h>

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

#endif
