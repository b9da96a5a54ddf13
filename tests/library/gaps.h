/* SPDX-License-Identifier: MIT */
/* What another thread does in the gaps of a call.
 *
 * A call that looks something up, lets go of its lock and then acts on what it saw is right as long
 * as nobody comes between. Here somebody does. After each unlock of the library's and before each
 * lock of a thread that holds none, before each driver call and before each Vulkan call, in turn,
 * the call is held and another thread makes another one: to its end, or until one of its own gaps,
 * in turn, where the first one goes on to its end before it. Who sleeps because he wants what the
 * other one holds is not waited for. No chance is in it.
 *
 *   static const gaps_path adopts = {
 *       .begin = begin, .act = adopt, .judge = same_number, .least = {2, 1}};
 *   TEST_AS(adopts_in_gaps, gaps_all(&adopts), .own = true) */
#ifndef CULVERT_TESTS_LIBRARY_GAPS_H_
#define CULVERT_TESTS_LIBRARY_GAPS_H_

#include "library.h"

typedef enum gaps_kind { GAPS_LOCK, GAPS_CUDA_CALL, GAPS_VULKAN_CALL, GAPS_KINDS } gaps_kind;
enum { GAPS_FIRST, GAPS_SECOND };

typedef struct gaps_path {
    void (*open)(void);    /* before all rounds; may be NULL */
    void (*begin)(void);   /* before each round */
    void (*act)(int who);  /* the first thread's call, which has the gaps, and the other one's */
    void (*between)(void); /* the second one is through, the first one is held; may be NULL */
    void (*judge)(void);   /* what holds in whatever order the two came; ends what begin() made */
    void (*close)(void);   /* after all rounds; may be NULL */
    unsigned least[GAPS_KINDS]; /* gaps of each kind that the call has at least */
    bool brief;    /* gaps at locks alone, and the second one to its end: a round is dear */
    unsigned most; /* rounds; 0: any */
} gaps_path;

/* On NVIDIA's driver, and under a sanitizer for threads, all paths are brief. */
void gaps_all(const gaps_path *path);

#endif
