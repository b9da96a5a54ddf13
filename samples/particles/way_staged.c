/* SPDX-License-Identifier: MIT */
/* particles' way through the host: two copies of everything, and the host waits for the first. */
#include <stdlib.h>

#include "way.h"

typedef struct staged {
    void *host; /* pinned */
} staged;

static bool create(exchange *e)
{
    const culv_cuda_api *cu = e->cu;
    staged *s = e->own = calloc(1, sizeof *s);
    if (!s || !cuda_ok(cu, cu->cuMemAlloc(&e->pointer, e->size), "cuMemAlloc") ||
        !cuda_ok(cu, cu->cuMemHostAlloc(&s->host, e->size, 0), "cuMemHostAlloc"))
        return false;
    glCreateBuffers(1, &e->buffer);
    glNamedBufferStorage(e->buffer, (GLsizeiptr)e->size, NULL, GL_DYNAMIC_STORAGE_BIT);
    e->copied = 2 * (uint64_t)e->size;
    return gl_ok("glNamedBufferStorage");
}

static void destroy(exchange *e)
{
    staged *s = e->own;
    if (!s) return;
    glDeleteBuffers(1, &e->buffer);
    if (s->host) (void)e->cu->cuMemFreeHost(s->host);
    if (e->pointer) (void)e->cu->cuMemFree(e->pointer);
    free(s);
}

static bool release(exchange *e, CUstream stream)
{
    const staged *s = e->own;
    const culv_cuda_api *cu = e->cu;
    return cuda_ok(cu, cu->cuMemcpyDtoHAsync(s->host, e->pointer, e->size, stream),
                   "cuMemcpyDtoHAsync") &&
           cuda_ok(cu, cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static bool begin_drawing(exchange *e)
{
    const staged *s = e->own;
    glNamedBufferSubData(e->buffer, 0, (GLsizeiptr)e->size, s->host);
    return gl_ok("glNamedBufferSubData");
}

const way way_staged = {.name = "staged",
                        .create = create,
                        .destroy = destroy,
                        .release = release,
                        .begin_drawing = begin_drawing};
