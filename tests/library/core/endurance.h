/* SPDX-License-Identifier: MIT */
/* Turns of Culvert's beside as many of the raw calls that they come to. NVIDIA's driver grows by
 * itself; what Culvert may not do is make it grow more. */
#ifndef CULVERT_TESTS_LIBRARY_ENDURANCE_H_
#define CULVERT_TESTS_LIBRARY_ENDURANCE_H_

#include "library.h"

typedef struct endurance_pair {
    const char *name; /* MEASURED library.endurance_NAME */
    const char *note; /* "" */
    void (*raw_turn)(void *user, long i);
    void (*culvert_turn)(void *user, long i);
    void *user;
} endurance_pair;

/* As many turns of each as --turns says, by tenths, so that what changes with time changes for
 * both; then requires that file descriptors, threads, mappings and resident memory are level. */
void endurance_run(lib_world *w, const endurance_pair *pair);

#endif
