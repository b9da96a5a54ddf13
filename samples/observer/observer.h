/* SPDX-License-Identifier: MIT */
/* observer: the two kinds of processes, and what both know. */
#ifndef OBSERVER_H_
#define OBSERVER_H_

#include <stdbool.h>
#include <stdint.h>

#define OBSERVER_RING    "frames"
#define OBSERVER_TIMEOUT UINT64_C(30000000000) /* ns; only what is broken takes so long */

enum {
    OBSERVER_SLOTS = 6
}; /* for four viewers at a time: each holds one, one is new, one written */

typedef struct options {
    const char *role; /* NULL: a solver, and three viewers one after another and at a time */
    const char *name; /* the server's */
    const char *device;
    const char *output; /* NULL: no picture */
    uint64_t particles; /* at most */
    uint64_t births;    /* new ones in a step */
    uint64_t rate;      /* steps a second; 0: as many as there can be */
    uint64_t frames;    /* that a viewer looks at */
    uint64_t die_after; /* frames, and then the viewer kills itself; 0: it does not */
    uint32_t width, height;
    bool validation, quiet;
} options;

/* Runs until SIGTERM or SIGINT. True: nothing failed. */
bool solver_run(const options *o);
/* Looks at frames and ends. True: nothing failed, and each particle was of its frame. */
bool viewer_run(const options *o);

/* The name of a slot's vector. */
void observer_vector_name(char out[64], uint32_t slot);

#endif
