/* SPDX-License-Identifier: MIT */
/* Registered objects of OpenGL, inside. */
#ifndef CULVI_GL_REGISTER_H_
#define CULVI_GL_REGISTER_H_

#include "core/registered.h"
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

struct culv_gl_registration {
    culv_gl *gl;
    bool asks_object; /* whether it is still there, in each map */
    bool asks_caller; /* whether the context is current and the stream not captured, in both */
    bool owned;       /* by a culv_gl_readback or a culv_gl_ring */
    culvi_gl_object_info object;
    culvi_registered base; /* begins with what a map reads, as this struct does */
};

/* register_look.c: fills in what is asked of OpenGL, and refuses what CUDA does not register, each
 * with the way round. */
culv_result culvi_gl_look_at_buffer(const culv_gl *gl, const char *label, uint32_t name,
                                    culvi_gl_object_info *out);
culv_result culvi_gl_look_at_image(const culv_gl *gl, const char *label, uint32_t name,
                                   uint32_t target, culvi_gl_object_info *out);
/* Fills the description of a looked at image. */
culv_result culvi_gl_describe_image(const culv_gl *gl, const char *label,
                                    const culvi_gl_object_info *object, culv_image_desc *out);
/* Whether it is what it was. */
culv_result culvi_gl_look_again(const culv_gl *gl, const char *label, const char *call,
                                const culvi_gl_object_info *object);

/* register.c */
culv_result culvi_gl_register_buffer(culv_gl *gl, uint32_t buffer, const culv_gl_register_desc *d,
                                     culv_gl_registration **out);
culv_result culvi_gl_unregister(culv_gl_registration **registration, const char *call);

/* It is a part of what that call destroys: the calls for its parts name it. */
void culvi_gl_registration_own(culv_gl_registration *registration, const char *destroy_call);

#endif
