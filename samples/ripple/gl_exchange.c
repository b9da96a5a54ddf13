/* SPDX-License-Identifier: MIT */
/* See gl_exchange.h. */
#include "gl_exchange.h"

#include <string.h>

static bool shared_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    const gl_exchange *g = e->own;
    return frame == 0 ||
           culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(g->drawn), stream, frame),
                   "culv_semaphore_wait");
}

static bool shared_release(exchange *e, CUstream stream, uint64_t frame)
{
    const gl_exchange *g = e->own;
    return culv_ok(culv_semaphore_signal(culv_shared_semaphore_cuda(g->ready), stream, frame + 1),
                   "culv_semaphore_signal");
}

/* A frame that takes longer than this to come is an error. */
#define LIMIT_NS UINT64_C(60000000000)

static bool ring_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    gl_exchange *g = e->own;
    (void)frame; /* the ring counts them */
    if (!culv_ok(culv_ring_acquire_on(g->ring, CULV_RING_PRODUCER, stream, LIMIT_NS, &g->filling),
                 "culv_ring_acquire_on"))
        return false;
    exchange_buffer *to = &e->buffers[g->filling.slot];
    e->filling = g->filling.slot;
    e->burst_open = !g->filling.burst_ends;
    /* Registered objects have others in each frame. */
    to->cuda_cells = culv_ring_pointer(g->ring, e->filling, 0);
    return culv_ok(
        culv_image_get_surface(culv_ring_image(g->ring, e->filling, 1), 0, 0, &to->cuda_tint),
        "culv_image_get_surface");
}

static bool ring_release(exchange *e, CUstream stream, uint64_t frame)
{
    gl_exchange *g = e->own;
    (void)frame;
    return culv_ok(culv_ring_release_on(g->ring, CULV_RING_PRODUCER, stream, &g->filling),
                   "culv_ring_release_on");
}

static bool ring_end_burst(exchange *e, CUstream stream)
{
    const gl_exchange *g = e->own;
    return culv_ok(culv_ring_flush_on(g->ring, CULV_RING_PRODUCER, stream), "culv_ring_flush_on");
}

static void ring_flow(const exchange *e, exchange_flow *out)
{
    const gl_exchange *g = e->own;
    culv_ring_stats stats = culv_ring_stats_init();
    if (!culv_ok(culv_ring_get_stats(g->ring, &stats), "culv_ring_get_stats")) return;
    out->buffers = stats.depth;
    out->burst = stats.burst;
}

static const exchange_path path_gl_ring = {.name = "ring",
                                           .cuda_acquire = ring_acquire,
                                           .cuda_release = ring_release,
                                           .cuda_end_burst = ring_end_burst,
                                           .flow = ring_flow};
static const exchange_path path_gl_shared = {
    .name = "shared", .cuda_acquire = shared_acquire, .cuda_release = shared_release};

static bool create_shared(gl_exchange *g, exchange *e)
{
    culv_gl *gl = g->interop->attached;
    culv_gl_buffer_create_desc cells = culv_gl_buffer_create_desc_init();
    culv_gl_image_create_desc tint = culv_gl_image_create_desc_init();
    culv_gl_semaphore_create_desc semaphore = culv_gl_semaphore_create_desc_init();
    cells.size = e->cells_size;
    cells.label = "cells";
    tint.internal_format = GL_RGBA8;
    tint.width = e->grid.width;
    tint.height = e->grid.height;
    tint.label = "tint";
    if (!culv_ok(culv_gl_buffer_create(gl, &cells, &g->buffer), "culv_gl_buffer_create") ||
        !culv_ok(culv_gl_image_create(gl, &tint, &g->image), "culv_gl_image_create") ||
        !culv_ok(culv_image_get_surface(culv_shared_image_cuda(g->image), 0, 0,
                                        &e->buffers[0].cuda_tint),
                 "culv_image_get_surface"))
        return false;
    semaphore.label = "ready";
    if (!culv_ok(culv_gl_semaphore_create(gl, &semaphore, &g->ready), "culv_gl_semaphore_create"))
        return false;
    semaphore.label = "drawn";
    if (!culv_ok(culv_gl_semaphore_create(gl, &semaphore, &g->drawn), "culv_gl_semaphore_create"))
        return false;
    e->buffers[0].cuda_cells = culv_shared_buffer_pointer(g->buffer);
    g->cells = culv_gl_buffer_name(g->buffer);
    g->tint = culv_gl_image_name(g->image);
    g->uses = culv_gl_uses_init();
    g->uses.num_buffers = 1;
    g->uses.buffers = &g->cells;
    g->uses.num_textures = 1;
    g->uses.textures = &g->tint;
    return true;
}

/* Every slot has a GL buffer that is a CUdeviceptr as well, and a texture that is a CUDA surface as
 * well. */
static bool create_ring(gl_exchange *g, exchange *e)
{
    culv_gl_buffer_create_desc cells = culv_gl_buffer_create_desc_init();
    culv_gl_image_create_desc tint = culv_gl_image_create_desc_init();
    culv_ring_settings settings = culv_ring_settings_init();
    culv_gl_ring_desc desc = culv_gl_ring_desc_init();
    const culv_gl_ring_resource resources[] = {{.buffer = &cells}, {.image = &tint}};
    cells.size = e->cells_size;
    cells.label = "cells";
    tint.internal_format = GL_RGBA8;
    tint.width = e->grid.width;
    tint.height = e->grid.height;
    tint.label = "tint";
    settings.burst = e->flow.burst;
    settings.max_latency = e->flow.max_latency_ns;
    desc.max_depth = e->num_buffers;
    desc.settings = &settings;
    desc.resources = resources;
    desc.num_resources = 2;
    desc.side = CULV_RING_CONSUMER; /* OpenGL reads */
    desc.label = "ripple";
    return culv_ok(culv_gl_ring_create(g->interop->attached, &desc, &g->ring),
                   "culv_gl_ring_create");
}

/* The shaders' sampler. */
static bool set_sampler(GLuint texture)
{
    glTextureParameteri(texture, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    return gl_ok("glTextureParameteri");
}

bool gl_exchange_create(gl_exchange *g, exchange *e, gl_interop *interop, unsigned path,
                        const exchange_flow *flow, uint32_t width, uint32_t height)
{
    const bool ring = path == OPTIONS_RING;
    memset(g, 0, sizeof *g);
    memset(e, 0, sizeof *e);
    g->interop = interop;
    e->path = ring ? &path_gl_ring : &path_gl_shared;
    e->device = interop->device;
    e->cu = interop->cu;
    e->grid = (VkExtent2D){width, height};
    e->cells_size = (VkDeviceSize)width * height * 4u * sizeof(float);
    e->flow = ring ? *flow : (exchange_flow){.buffers = 1, .burst = 1};
    e->num_buffers = e->flow.buffers;
    e->own = g;
    if (ring) {
        bool fine = create_ring(g, e);
        for (uint32_t slot = 0; fine && slot < e->num_buffers; slot++)
            fine = set_sampler(culv_gl_ring_name(g->ring, slot, 1));
        return fine;
    }
    return create_shared(g, e) && set_sampler(g->tint);
}

void gl_exchange_destroy(gl_exchange *g, exchange *e)
{
    if (!e->cu) return;
    glFinish();
    (void)culv_ring_destroy(&g->ring, NULL);
    (void)culv_shared_semaphore_destroy(&g->drawn, NULL);
    (void)culv_shared_semaphore_destroy(&g->ready, NULL);
    (void)culv_shared_image_destroy(&g->image, NULL);
    (void)culv_shared_buffer_destroy(&g->buffer, NULL);
    memset(g, 0, sizeof *g);
    memset(e, 0, sizeof *e);
}

bool gl_exchange_begin(gl_exchange *g, uint64_t frame)
{
    if (g->ring) {
        if (!culv_ok(culv_ring_acquire(g->ring, CULV_RING_CONSUMER, LIMIT_NS, &g->drawing),
                     "culv_ring_acquire"))
            return false;
        g->cells = culv_gl_ring_name(g->ring, g->drawing.slot, 0);
        g->tint = culv_gl_ring_name(g->ring, g->drawing.slot, 1);
        return true;
    }
    return culv_ok(culv_gl_semaphore_wait(g->ready, frame + 1, CULV_GL_FOREVER, &g->uses),
                   "culv_gl_semaphore_wait");
}

bool gl_exchange_end(gl_exchange *g, uint64_t frame)
{
    if (g->ring)
        return culv_ok(culv_ring_release(g->ring, CULV_RING_CONSUMER, &g->drawing),
                       "culv_ring_release");
    return culv_ok(culv_gl_semaphore_signal(g->drawn, frame + 1, &g->uses),
                   "culv_gl_semaphore_signal");
}
