/* SPDX-License-Identifier: MIT */
/* Two threads in one call, in an order that is always the same: the log holds the first one. */
#ifndef CULVERT_TESTS_RACE_H_
#define CULVERT_TESTS_RACE_H_

#include "library.h"

#include <semaphore.h>
#include <stdatomic.h>

typedef struct lib_race {
    const char *at; /* the first thread stops where its log says this for the first time */
    sem_t arrived, go;
    atomic_uint count; /* lines that say it, of all threads */
    void *user;
    void (*second)(void *user);
    void (*first)(void *user);
    atomic_int second_thread;
} lib_race;

/* Opens a world whose device logs to the race. */
void lib_race_open(lib_race *r, lib_world *w);
/* Runs first(user) on a thread. When that one is at `at`, runs second(user): to its end, or, with
 * `waits`, until it sleeps. Then lets the first one go on, and waits for both. */
void lib_race_run(lib_race *r, const char *at, void (*first)(void *user),
                  void (*second)(void *user), void *user, bool waits);

#endif
