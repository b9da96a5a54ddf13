/* SPDX-License-Identifier: MIT */
/* particles' closing check: what OpenGL drew from is what CUDA computed, bit for bit. */
#ifndef PARTICLES_CHECK_H_
#define PARTICLES_CHECK_H_

#include "solver.h"
#include "way.h"

/* Compares the stars of the last frame. *checksum is of OpenGL's bytes. Both sides are done. False,
 * with a message, when something is wrong. */
bool check_stars(exchange *e, solver *s, uint64_t *checksum);

#endif
