/* SPDX-License-Identifier: MIT */
/* A loader of OpenGL that lies, for culv_gl_desc::get_proc_address: it hides extensions, spoils the
 * UUID, makes the Nth call fail, and counts what was created and not deleted. */
#ifndef CULVERT_TESTS_LYING_GL_H_
#define CULVERT_TESTS_LYING_GL_H_

#include "raw_gl.h"

typedef struct lying_gl_lies {
    bool uuid_xor;        /* tells the UUID of nobody's GPU */
    bool no_uuid;         /* tells none */
    const char *hides[4]; /* extensions, by their names */
    const char *renderer; /* another GL_RENDERER */
} lying_gl_lies;
extern lying_gl_lies lying_gl;

void *lying_gl_get_proc(const char *name);

/* Makes the n-th call from now fail with GL_OUT_OF_MEMORY and do nothing else; 0: none. Counted are
 * calls that may fail. Returns how many there were. */
uint64_t lying_gl_fail_at(uint64_t n);
/* All calls of functions that the loader wraps, whether they may fail or not. */
uint64_t lying_gl_calls(void);

typedef struct lying_gl_counts {
    int64_t buffers, textures, memories, semaphores;
} lying_gl_counts;
lying_gl_counts lying_gl_count(void);

#endif
