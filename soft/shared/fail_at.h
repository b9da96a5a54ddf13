/* SPDX-License-Identifier: MIT */
/* CULVERT_SOFT_FAIL_AT=API:[CALL:]N[:ERROR], which both halves of the twin read. With CALL only the
 * calls of that name count: their numbers do not move with other threads' calls. */
#ifndef CULV_SOFT_FAIL_AT_H_
#define CULV_SOFT_FAIL_AT_H_

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#endif
