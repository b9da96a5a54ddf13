/* SPDX-License-Identifier: MIT */
/* particles' way by registration: the buffer is OpenGL's own, and CUDA has it from map to unmap,
 * which order both sides. */
#include <stdlib.h>

#include "way.h"

static bool create(exchange *e)
{
    culv_registration *stars = NULL;
    culv_gl_register_desc desc = culv_gl_register_desc_init();
    desc.access = CULV_ACCESS_WRITE_DISCARD; /* every star is written in every frame */
    desc.label = "stars";
    glCreateBuffers(1, &e->buffer);
    glNamedBufferStorage(e->buffer, (GLsizeiptr)e->size, NULL, 0);
    if (!gl_ok("glNamedBufferStorage") ||
        !culv_ok(culv_gl_register_buffer(e->interop->attached, e->buffer, &desc, &stars),
                 "culv_gl_register_buffer"))
        return false;
    e->own = stars;
    return true;
}

static void destroy(exchange *e)
{
    culv_registration *stars = e->own;
    (void)culv_registration_destroy(&stars);
    glDeleteBuffers(1, &e->buffer);
}

static bool acquire(exchange *e, CUstream stream)
{
    culv_registration *stars = e->own;
    if (!culv_ok(culv_registration_map(&stars, 1, stream), "culv_registration_map")) return false;
    e->pointer = culv_registration_pointer(stars);
    return true;
}

static bool release(exchange *e, CUstream stream)
{
    culv_registration *stars = e->own;
    return culv_ok(culv_registration_unmap(&stars, 1, stream), "culv_registration_unmap");
}

const way way_register = {.name = "register",
                          .create = create,
                          .destroy = destroy,
                          .acquire = acquire,
                          .release = release};
