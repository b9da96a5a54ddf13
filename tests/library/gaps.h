/* SPDX-License-Identifier: MIT */
/* What another thread does in the gaps of a call.
 *
 * A call that looks something up, lets go of its lock and then acts on what it saw is right as long
 * as nobody comes between. Here somebody does. After each unlock of the library's, before each
 * driver call and before each Vulkan call, in turn, the call is held and another thread makes
 * another one: to its end, or until one of its own gaps, in turn, where the first one goes on to
 * its end before it. Who sleeps because he wants what the other one holds is not waited for.
 *
 *   static const gaps_path adopts = {begin, adopt_a, adopt_b, same_number, .least = {2, 1}};
 *   static void adopt_beside_adopt(void) { gaps_all(&adopts); } */
#ifndef CULVERT_TESTS_LIBRARY_GAPS_H_
#define CULVERT_TESTS_LIBRARY_GAPS_H_

#include "library.h"

typedef enum gaps_kind { GAPS_UNLOCK, GAPS_CUDA_CALL, GAPS_VULKAN_CALL, GAPS_KINDS } gaps_kind;

typedef struct gaps_path {
    void (*begin)(void); /* before each round */
    void (*call)(void);
    void (*other)(void); /* on another thread; after the call once of each kind */
    void (*judge)(void); /* what holds in whatever order the two came; ends what begin() made */
    unsigned least[GAPS_KINDS]; /* gaps of each kind that the call has at least */
} gaps_path;

/* On the twin; elsewhere the case is skipped. */
void gaps_all(const gaps_path *path);

#endif
