/* SPDX-License-Identifier: MIT */
/* Registered objects of OpenGL, inside. */
#ifndef CULVI_GL_REGISTER_H_
#define CULVI_GL_REGISTER_H_

#include "core/registration.h"
#include "culvert/gl_register.h"
#include "gl/gl_core.h"

/* What OpenGL said of an object. */
typedef struct culvi_gl_object_info {
    uint32_t name;
    uint32_t target; /* 0: a buffer */
    uint64_t size;   /* of a buffer */
    int32_t width, height, depth, internal_format, samples;
    uint32_t levels;
    bool immutable; /* neither size nor format can change */
} culvi_gl_object_info;

/* What a culv_registration of OpenGL's lies in. */
typedef struct culvi_gl_registration {
    culvi_gl_object_info object;
    bool asks_object;                   /* whether it is still there, in each map */
    struct culvi_gl_readback *readback; /* it is the buffer of; or NULL */
    culv_registration base; /* begins with what a map reads, and so this struct ends with it */
} culvi_gl_registration;

static inline culvi_gl_registration *culvi_gl_registration_of(const culv_registration *r)
{
    return CULVI_CONTAINER(r, culvi_gl_registration, base);
}

/* readback.c: deletes its objects, unless they are lost, and frees it. */
void culvi_gl_readback_end(struct culvi_gl_readback *readback);

/* register.c: NULL if it is none, or another API's. */
struct culvi_gl_readback *culvi_gl_readback_of(const culv_registration *r);
culv_result culvi_gl_unregister(culv_registration **registration, const char *call);

#endif
