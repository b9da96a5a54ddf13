/* SPDX-License-Identifier: MIT */
/* What benchmarks of several processes share. They link nothing else of this folder: no process of
 * theirs is to count allocations. */
#ifndef CULVERT_BENCH_PROCESS_H_
#define CULVERT_BENCH_PROCESS_H_

#include <culvert/result.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Ends the process, with Culvert's own message, unless the call succeeded. */
#define OK(call) require_ok((int)(call), #call)
static inline void require_ok(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %s: %d\n%s\n", program_invocation_short_name, call, result,
            culv_last_error_message());
    _exit(1);
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static inline double now_us(void)
{
    return 1e-3 * (double)now_ns();
}

/* Less than a second. */
static inline void nap_us(double us)
{
    if (us > 0) nanosleep(&(struct timespec){.tv_nsec = (long)(us * 1000)}, NULL);
}

#endif
