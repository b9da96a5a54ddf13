/* SPDX-License-Identifier: MIT */
/* particles' way by memory objects: both sides have the buffer all the time, and two timelines say
 * whose turn it is. What to copy.
 *
 *   ready reaches f + 1 when CUDA has written frame f     (OpenGL waits for that)
 *   drawn reaches f + 1 when OpenGL has drawn frame f     (CUDA's stream waits for that before
 *                                                          frame f + 1)
 *
 * With GL_EXT_semaphore the host waits for neither. */
#include <stdlib.h>

#include "way.h"

typedef struct memory {
    culv_shared_buffer *buffer;
    culv_shared_semaphore *ready, *drawn;
    uint32_t names[1];
    culv_gl_uses uses; /* what is handed over: the buffer */
} memory;

static bool create(exchange *e)
{
    culv_gl *gl = e->interop->attached;
    memory *m = e->own = calloc(1, sizeof *m);
    culv_gl_buffer_create_desc desc = culv_gl_buffer_create_desc_init();
    culv_gl_semaphore_create_desc semaphore = culv_gl_semaphore_create_desc_init();
    desc.size = e->size;
    desc.label = "stars";
    if (!m || !culv_ok(culv_gl_buffer_create(gl, &desc, &m->buffer), "culv_gl_buffer_create"))
        return false;
    e->buffer = m->names[0] = culv_gl_buffer_name(m->buffer);
    e->pointer = culv_shared_buffer_pointer(m->buffer);
    m->uses = culv_gl_uses_init();
    m->uses.num_buffers = 1;
    m->uses.buffers = m->names;
    semaphore.label = "ready";
    if (!culv_ok(culv_gl_semaphore_create(gl, &semaphore, &m->ready), "culv_gl_semaphore_create"))
        return false;
    semaphore.label = "drawn";
    return culv_ok(culv_gl_semaphore_create(gl, &semaphore, &m->drawn), "culv_gl_semaphore_create");
}

static void destroy(exchange *e)
{
    memory *m = e->own;
    if (!m) return;
    glFinish();
    (void)culv_shared_semaphore_destroy(&m->drawn);
    (void)culv_shared_semaphore_destroy(&m->ready);
    (void)culv_shared_buffer_destroy(&m->buffer);
    free(m);
}

static bool acquire(exchange *e, CUstream stream)
{
    const memory *m = e->own;
    return e->frame == 0 ||
           culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(m->drawn), stream, e->frame),
                   "culv_semaphore_wait");
}

static bool release(exchange *e, CUstream stream)
{
    const memory *m = e->own;
    return culv_ok(
        culv_semaphore_signal(culv_shared_semaphore_cuda(m->ready), stream, e->frame + 1),
        "culv_semaphore_signal");
}

static bool begin_drawing(exchange *e)
{
    const memory *m = e->own;
    return culv_ok(culv_gl_semaphore_wait(m->ready, e->frame + 1, CULV_GL_FOREVER, &m->uses),
                   "culv_gl_semaphore_wait");
}

static bool end_drawing(exchange *e)
{
    const memory *m = e->own;
    return culv_ok(culv_gl_semaphore_signal(m->drawn, e->frame + 1, &m->uses),
                   "culv_gl_semaphore_signal");
}

const way way_memory = {.name = "memory",
                        .create = create,
                        .destroy = destroy,
                        .acquire = acquire,
                        .release = release,
                        .begin_drawing = begin_drawing,
                        .end_drawing = end_drawing};
