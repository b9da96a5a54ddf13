/* SPDX-License-Identifier: MIT */
/* The check: facts about the machine and the context, and the text that they give. */
#ifndef CULVI_GL_CHECK_H_
#define CULVI_GL_CHECK_H_

#include "gl/gl_context.h"

/* Says where the facts come from. A test gives its own. */
typedef struct culvi_gl_world {
    const char *(*variable)(const void *user, const char *name); /* NULL: unset or empty */
    bool (*exists)(const void *user, const char *path);
    bool windows;
    const void *user;
} culvi_gl_world;

/* What is known when the text is written. */
typedef struct culvi_gl_facts {
    bool nvidia;       /* NVIDIA's OpenGL */
    const char *lacks; /* culvi_gl_lacks() */
    /* CUDA. */
    uint32_t num_cuda;       /* devices that the drivers show */
    bool twin;               /* the context's partner is the software twin */
    const char *no_cuda;     /* why there is no CUDA device at all; NULL: there is one */
    bool other_device;       /* a culv_device was given, and it is another GPU */
    const char *device_name; /* its name */
    bool registers;          /* the driver has cuGraphicsGLRegisterBuffer */
} culvi_gl_facts;

/* Fills in way, the reasons and the text of a report whose other fields are set. */
void culvi_gl_judge(culv_gl_report *report, const culvi_gl_facts *facts,
                    const culvi_gl_world *world);

#endif
