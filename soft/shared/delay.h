/* SPDX-License-Identifier: MIT */
/* CULVERT_SOFT_FAIL_AT=API:[CALL:]N[:ERROR], which both halves of the twin read. With CALL only the
 * calls of that name count: their numbers do not move with other threads' calls. */
#ifndef CULV_SOFT_DELAY_H_
#define CULV_SOFT_DELAY_H_

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct soft_fail_at {
    char call[64]; /* empty: any */
    uint64_t n;
    const char *error; /* text behind the last colon, NULL without one */
};

/* `text` begins behind the API and its colon. */
static inline bool soft_fail_at_parse(const char *text, struct soft_fail_at *out)
{
    memset(out, 0, sizeof *out);
    if (*text < '0' || *text > '9') {
        const size_t length = strcspn(text, ":");
        if (length == 0 || length >= sizeof out->call || text[length] == '\0') return false;
        memcpy(out->call, text, length);
        text += length + 1;
    }
    if (*text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    out->n = strtoull(text, &end, 10);
    if (errno != 0 || out->n == 0 || (*end != '\0' && *end != ':')) return false;
    out->error = *end == ':' ? end + 1 : NULL;
    return out->error == NULL || *out->error != '\0';
}

/* Where the process ends and the call that was to fail has not come. A driver that nobody called is
 * not the one that the process used: it says nothing. */
static inline void soft_fail_at_tell_none(const char *api, const char *call, uint64_t seen,
                                          uint64_t wanted)
{
    const bool any = call == NULL || *call == '\0';
    fprintf(stderr,
            "culvert: CULVERT_SOFT_FAIL_AT: no call failed: the process ends after %" PRIu64
            " calls of %s, and call %" PRIu64 " was to fail\n",
            seen, any ? api : call, wanted);
}

/* What nobody notices failed all the same. */
static inline void soft_fail_at_tell(const char *call, uint64_t n)
{
    fprintf(stderr, "culvert: CULVERT_SOFT_FAIL_AT: call %" PRIu64 ", %s, fails\n", n, call);
}

/* cuMemAlloc stands for cuMemAlloc_v2 too. */
static inline bool soft_fail_at_counts(const char *wanted, const char *call)
{
    const size_t length = strlen(wanted);
    return strncmp(wanted, call, length) == 0 &&
           (length == 0 || call[length] == '\0' || strncmp(call + length, "_v", 2) == 0);
}

/* CULVERT_SOFT_DELAY=API:CALL:MS[,API:CALL:MS...], which both halves of the twin read, and what
 * tests ask for besides: a function that runs before the N-th call. */

#define SOFT_DELAYS_MAX 16

struct soft_delay {
    char call[64];
    unsigned ms;
};

struct soft_delays {
    pthread_mutex_t lock;
    atomic_bool any; /* whether there is anything below: else a call takes no lock */
    struct soft_delay list[SOFT_DELAYS_MAX];
    size_t count;
    uint64_t left; /* calls until the hook, 0: none */
    void (*hook)(void *user, const char *call);
    void *user;
};

#define SOFT_DELAYS_INIT                                                                           \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

static inline void soft_delays_before(struct soft_delays *d, uint64_t n,
                                      void (*hook)(void *user, const char *call), void *user)
{
    pthread_mutex_lock(&d->lock);
    d->left = hook != NULL ? n : 0;
    d->hook = hook;
    d->user = user;
    atomic_store(&d->any, d->count > 0 || d->left > 0);
    pthread_mutex_unlock(&d->lock);
}

/* `text` is the variable's value or NULL. Entries of the other API are the other half's. */
static inline void soft_delays_read(struct soft_delays *d, const char *api, const char *text)
{
    const size_t prefix = strlen(api);
    for (const char *at = text; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, api, prefix) != 0 || at[prefix] != ':') continue;
        const char *call = at + prefix + 1;
        const size_t length = strcspn(call, ":,");
        char *end = NULL;
        unsigned long ms = 0;
        errno = 0;
        if (call[length] == ':' && call[length + 1] >= '0' && call[length + 1] <= '9')
            ms = strtoul(call + length + 1, &end, 10);
        struct soft_delay *made = &d->list[d->count];
        if (end != NULL && errno == 0 && (*end == '\0' || *end == ',') && ms <= 3600000 &&
            length > 0 && length < sizeof made->call && d->count < SOFT_DELAYS_MAX) {
            memcpy(made->call, call, length); /* it was zeros */
            made->ms = (unsigned)ms;
            d->count++;
            atomic_store(&d->any, true);
        } else {
            fprintf(stderr,
                    "culvert: CULVERT_SOFT_DELAY=%s: %.*s is not %s:CALL:MS (an hour and %d calls "
                    "at most), ignored\n",
                    text, (int)strcspn(at, ","), at, api, SOFT_DELAYS_MAX);
        }
    }
}

/* Before a call does its work, and without a lock of the twin's: waits, or runs the hook. */
static inline void soft_delays_pass(struct soft_delays *d, const char *call)
{
    if (!atomic_load_explicit(&d->any, memory_order_acquire)) return;
    void (*hook)(void *, const char *) = NULL;
    void *user = NULL;
    unsigned ms = 0;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->count; i++)
        if (soft_fail_at_counts(d->list[i].call, call)) ms = d->list[i].ms;
    if (d->left > 0 && --d->left == 0) {
        hook = d->hook;
        user = d->user;
    }
    pthread_mutex_unlock(&d->lock);
    struct timespec rest = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (ms > 0 && nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
    if (hook != NULL) hook(user, call);
}

#endif
