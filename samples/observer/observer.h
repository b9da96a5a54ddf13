/* SPDX-License-Identifier: MIT */
/* observer: the two kinds of processes, and what both know. */
#ifndef OBSERVER_H_
#define OBSERVER_H_

#include <stdbool.h>
#include <stdint.h>

#define OBSERVER_RING "frames"

enum {
    OBSERVER_VIEWERS = 4, /* at a time */
    OBSERVER_SLOTS = 6    /* each of them holds one, one is new, one written */
};

/* How a viewer ends with frame die_after. */
typedef enum viewer_death {
    DEATH_HOLDING, /* killed, with the frame in its hands */
    DEATH_GIVEN,   /* killed when it has given the frame back, and its GPU has not read it */
    DEATH_STOPPED  /* then, but it lives and does nothing */
} viewer_death;

typedef struct options {
    const char *role;   /* NULL: a solver, and three viewers one after another and at a time */
    const char *name;   /* the server's */
    const char *output; /* NULL: no picture */
    uint64_t particles; /* at most */
    uint64_t births;    /* new ones in a step */
    uint64_t rate;      /* steps a second; 0: as many as there can be */
    uint64_t frames;    /* that a viewer looks at */
    uint64_t die_after; /* frames, and then the viewer kills itself; 0: it does not */
    unsigned driver;    /* culv_driver */
    unsigned death;     /* viewer_death: and how */
    uint64_t patience;  /* seconds in which another process does what it is waited for */
    uint64_t limit;     /* seconds that each process may take before all are killed */
    uint32_t width, height;
    bool validation, quiet;
} options;

static inline uint64_t observer_timeout(const options *o)
{
    return o->patience * UINT64_C(1000000000);
}

/* Runs until SIGTERM or SIGINT. True: nothing failed. */
bool solver_run(const options *o);
/* Looks at frames and ends. True: nothing failed, and each particle was of its frame. */
bool viewer_run(const options *o);

/* The name of a slot's vector. */
void observer_vector_name(char out[64], uint32_t slot);

#endif
