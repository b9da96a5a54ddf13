/* SPDX-License-Identifier: MIT */
/* ripple by OpenGL: the whole of --api=gl. A ring hands the frames over, by whichever way works:
 * what to copy into a program of your own. Shaders, meshes and camera are those of Vulkan. */
#include "../common/gl_setup.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gl_exchange {
    gl_interop *interop;
    uint32_t cells, tint; /* names of a buffer and a texture */
    culv_ring *ring;
    culv_ring_frame filling, drawing; /* CUDA's, OpenGL's */
} gl_exchange;

typedef struct gl_renderer {
    const scene *scene;
    uint32_t width, height;
    mesh water, stones;
    GLuint rim_program, stone_program, water_program;
    GLuint indices, view; /* buffers */
    GLuint vertices;      /* the index buffer alone: vertices are pulled */
    GLuint color, depth;  /* multisampled renderbuffers */
    GLuint picture;       /* sRGB */
    GLuint target, picture_target;
    GLuint queries[2];
} gl_renderer;

/* The exchange --------------------------------------------------------------------------------- */

/* A frame that takes longer than this to come is an error. */
#define LIMIT_NS UINT64_C(60000000000)

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
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

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    gl_exchange *g = e->own;
    (void)frame;
    return culv_ok(culv_ring_release_on(g->ring, CULV_RING_PRODUCER, stream, &g->filling),
                   "culv_ring_release_on");
}

static bool cuda_end_burst(exchange *e, CUstream stream)
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

static const exchange_path path_gl = {.name = "ring",
                                      .cuda_acquire = cuda_acquire,
                                      .cuda_release = cuda_release,
                                      .cuda_end_burst = cuda_end_burst,
                                      .flow = ring_flow};

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

static bool create_exchange(gl_exchange *g, exchange *e, gl_interop *interop,
                            const exchange_flow *flow, VkExtent2D grid)
{
    g->interop = interop;
    e->path = &path_gl;
    e->device = interop->device;
    e->cu = interop->cu;
    e->grid = grid;
    e->cells_size = (VkDeviceSize)grid.width * grid.height * 4u * sizeof(float);
    e->flow = *flow;
    e->num_buffers = flow->buffers;
    e->own = g;
    bool fine = create_ring(g, e);
    for (uint32_t slot = 0; fine && slot < e->num_buffers; slot++)
        fine = set_sampler(culv_gl_ring_name(g->ring, slot, 1));
    return fine;
}

/* Around the drawing of a frame. */
static bool begin_drawing(gl_exchange *g)
{
    if (!culv_ok(culv_ring_acquire(g->ring, CULV_RING_CONSUMER, LIMIT_NS, &g->drawing),
                 "culv_ring_acquire"))
        return false;
    g->cells = culv_gl_ring_name(g->ring, g->drawing.slot, 0);
    g->tint = culv_gl_ring_name(g->ring, g->drawing.slot, 1);
    return true;
}

static bool end_drawing(gl_exchange *g)
{
    return culv_ok(culv_ring_release(g->ring, CULV_RING_CONSUMER, &g->drawing),
                   "culv_ring_release");
}

/* The renderer --------------------------------------------------------------------------------- */

#define SAMPLES 4

static bool create_meshes(gl_renderer *r)
{
    meshes made;
    if (!mesh_make(&made, r->scene, r->width)) return false;
    r->water = made.water;
    r->stones = made.stones;
    glCreateBuffers(1, &r->indices);
    glNamedBufferStorage(r->indices, (GLsizeiptr)made.size, made.indices, 0);
    free(made.indices);
    glCreateBuffers(1, &r->view);
    glNamedBufferStorage(r->view, sizeof(view_constants), NULL, GL_DYNAMIC_STORAGE_BIT);
    return gl_ok("glNamedBufferStorage");
}

static bool create_targets(gl_renderer *r)
{
    GLsizei width = (GLsizei)r->width, height = (GLsizei)r->height;
    glCreateRenderbuffers(1, &r->color);
    glNamedRenderbufferStorageMultisample(r->color, SAMPLES, GL_SRGB8_ALPHA8, width, height);
    glCreateRenderbuffers(1, &r->depth);
    glNamedRenderbufferStorageMultisample(r->depth, SAMPLES, GL_DEPTH_COMPONENT32F, width, height);
    glCreateFramebuffers(1, &r->target);
    glNamedFramebufferRenderbuffer(r->target, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, r->color);
    glNamedFramebufferRenderbuffer(r->target, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, r->depth);
    GLenum status = glCheckNamedFramebufferStatus(r->target, GL_DRAW_FRAMEBUFFER);
    if (!gl_ok("glNamedRenderbufferStorageMultisample")) return false;
    if (status != GL_FRAMEBUFFER_COMPLETE) {
        report("a framebuffer is not complete: 0x%04x", status);
        return false;
    }
    r->picture = gl_texture(GL_SRGB8_ALPHA8, r->width, r->height);
    r->picture_target = r->picture ? gl_framebuffer(r->picture) : 0;
    return r->picture_target != 0;
}

static bool create_renderer(gl_renderer *r, const scene *basin, uint32_t width, uint32_t height)
{
    r->scene = basin;
    r->width = width;
    r->height = height;
    r->rim_program = gl_program("ripple_rim.vert", "ripple_rim.frag");
    r->stone_program = r->rim_program ? gl_program("ripple_stone.vert", "ripple_stone.frag") : 0;
    r->water_program = r->stone_program ? gl_program("ripple_water.vert", "ripple_water.frag") : 0;
    if (!r->water_program || !create_meshes(r) || !create_targets(r)) return false;
    glCreateVertexArrays(1, &r->vertices);
    glCreateQueries(GL_TIMESTAMP, 2, r->queries);
    /* Vulkan's clip space: the depth is from 0 to 1, and y is down in memory. */
    glClipControl(GL_LOWER_LEFT, GL_ZERO_TO_ONE);
    glEnable(GL_DEPTH_TEST);
    glDepthFunc(GL_LESS);
    glEnable(GL_FRAMEBUFFER_SRGB);
    return gl_ok("glClipControl");
}

static void destroy_renderer(gl_renderer *r)
{
    if (!r->scene) return;
    const GLuint programs[] = {r->rim_program, r->stone_program, r->water_program};
    const GLuint buffers[] = {r->indices, r->view}, framebuffers[] = {r->target, r->picture_target};
    const GLuint renderbuffers[] = {r->color, r->depth};
    if (r->queries[0]) glDeleteQueries(2, r->queries);
    if (r->vertices) glDeleteVertexArrays(1, &r->vertices);
    glDeleteFramebuffers(2, framebuffers); /* 0 is no framebuffer, and ignored */
    glDeleteRenderbuffers(2, renderbuffers);
    glDeleteTextures(1, &r->picture);
    glDeleteBuffers(2, buffers);
    for (int i = 0; i < 3; i++)
        if (programs[i]) glDeleteProgram(programs[i]);
}

static void draw_mesh(const gl_renderer *r, const mesh *m, view_constants *constants)
{
    constants->grid[2] = (int32_t)m->width;
    constants->grid[3] = (int32_t)m->stride;
    glNamedBufferSubData(r->view, 0, sizeof *constants, constants);
    glDrawElements(GL_TRIANGLES, (GLsizei)m->num_indices, GL_UNSIGNED_INT,
                   (const void *)(uintptr_t)(m->first_index * sizeof(uint32_t)));
}

/* Draws a moment of the simulation into the picture, whose first row is the top one. */
static bool render(gl_renderer *r, const gl_exchange *from, uint64_t moment)
{
    const float background[4] = {0.02f, 0.03f, 0.04f, 1.0f}, far = 1.0f;
    view_constants constants;
    camera_look(r->scene, (VkExtent2D){r->width, r->height}, moment, &constants);
    glQueryCounter(r->queries[0], GL_TIMESTAMP);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, r->target);
    glViewport(0, 0, (GLsizei)r->width, (GLsizei)r->height);
    glClearNamedFramebufferfv(r->target, GL_COLOR, 0, background);
    glClearNamedFramebufferfv(r->target, GL_DEPTH, 0, &far);
    glBindVertexArray(r->vertices);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, r->indices);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, from->cells);
    glBindBufferBase(GL_UNIFORM_BUFFER, 0, r->view);
    glBindTextureUnit(1, from->tint);

    glNamedBufferSubData(r->view, 0, sizeof constants, &constants);
    glUseProgram(r->rim_program);
    glDrawArrays(GL_TRIANGLES, 0, PIPELINES_RIM_VERTICES);
    glUseProgram(r->stone_program);
    draw_mesh(r, &r->stones, &constants);
    glUseProgram(r->water_program);
    draw_mesh(r, &r->water, &constants);

    glBindTextureUnit(1, 0);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, 0);
    GLint width = (GLint)r->width, height = (GLint)r->height;
    glBlitNamedFramebuffer(r->target, r->picture_target, 0, 0, width, height, 0, 0, width, height,
                           GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glQueryCounter(r->queries[1], GL_TIMESTAMP);
    return gl_ok("drawing");
}

/* Milliseconds that the last drawing took; waits for it. */
static double drawing_milliseconds(const gl_renderer *r)
{
    GLuint64 begin = 0, end = 0;
    glGetQueryObjectui64v(r->queries[0], GL_QUERY_RESULT, &begin);
    glGetQueryObjectui64v(r->queries[1], GL_QUERY_RESULT, &end);
    return 1e-6 * (double)(end - begin);
}

/* The program ---------------------------------------------------------------------------------- */

typedef struct gl_state {
    program *program; /* its options, scene, exchange, solver and totals */
    gl_interop interop;
    gl_exchange exchange;
    gl_renderer renderer;
    uint8_t *pixels;
    uint64_t frame; /* of the exchange */
} gl_state;

static bool set_up(gl_state *s)
{
    program *p = s->program;
    const options *o = &p->options;
    if (!files_make_parents(o->output)) return false;
    if (!gl_interop_open(&s->interop, o->driver, o->validation)) return false;
    if (!o->quiet) fprintf(stderr, "ripple: %s by OpenGL\n", s->interop.renderer);
    s->pixels = malloc((size_t)o->picture_width * o->picture_height * 4);
    if (!s->pixels) {
        report("out of memory for a picture of %u x %u", o->picture_width, o->picture_height);
        return false;
    }
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    const exchange_flow flow = {.buffers = o->depth,
                                .burst = o->burst,
                                .max_latency_ns = o->max_latency_ms * UINT64_C(1000000)};
    if (!create_exchange(&s->exchange, &p->exchange, &s->interop, &flow,
                         (VkExtent2D){o->grid_width, o->grid_height}) ||
        !create_renderer(&s->renderer, &p->scene, o->picture_width, o->picture_height))
        return false;
    p->solver = solver_create(&p->exchange, &p->scene, o->steps, p->exchange.num_buffers);
    return p->solver != NULL;
}

static void tear_down(gl_state *s)
{
    solver_destroy(s->program->solver);
    if (s->interop.device) {
        destroy_renderer(&s->renderer);
        glFinish();
        (void)culv_ring_destroy(&s->exchange.ring, NULL);
    }
    gl_interop_close(&s->interop);
    free(s->pixels);
}

static bool count_times(gl_state *s)
{
    totals *t = &s->program->totals;
    float simulation = 0.0f;
    double drawing = drawing_milliseconds(&s->renderer); /* waits for it, and so for CUDA's part */
    if (!solver_frame_time(s->program->solver, s->frame - 1, &simulation)) return false;
    t->timed++;
    t->simulated++;
    t->simulation += (double)simulation;
    t->drawing += drawing;
    return true;
}

static bool draw(gl_state *s)
{
    if (!begin_drawing(&s->exchange) ||
        !render(&s->renderer, &s->exchange, s->program->totals.simulated) ||
        !end_drawing(&s->exchange))
        return false;
    s->frame++;
    return count_times(s);
}

static bool write_picture(gl_state *s, const char *path)
{
    const options *o = &s->program->options;
    snprintf(s->program->last_picture, sizeof s->program->last_picture, "%s", path);
    return files_make_parents(path) &&
           gl_read_rgba(s->renderer.picture_target, o->picture_width, o->picture_height,
                        s->pixels) &&
           png_write_rgba(path, o->picture_width, o->picture_height, s->pixels);
}

static bool run_offscreen(gl_state *s)
{
    const options *o = &s->program->options;
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t i = 0; fine && i < o->frames;) {
        uint64_t end = i + solver_burst(s->program->solver, i, o->frames - i);
        for (fine = end > i; fine && i < end; i++) {
            char path[FILES_PATH_MAX];
            fine = draw(s);
            if (fine && arguments_wants_picture(i, o->frames, o->output))
                fine = files_numbered(path, o->output, i) && write_picture(s, path);
            if (!o->quiet) progress_tell(i, i + 1, o->frames);
        }
    }
    s->program->totals.whole = 1e3 * (clock_seconds() - started);
    return fine;
}

bool gl_run(program *p)
{
    gl_state s;
    memset(&s, 0, sizeof s);
    s.program = p;
    bool fine = set_up(&s) && run_offscreen(&s) && program_dump_field(p) &&
                program_print_result(p, s.interop.renderer, p->options.picture_width,
                                     p->options.picture_height);
    uint32_t messages = s.interop.num_messages;
    tear_down(&s);
    if (messages) {
        report("validation: OpenGL said something %u times", messages);
        fine = false;
    } else if (fine && p->options.validation && !p->options.quiet) {
        printf("validation: no messages\n");
    }
    return fine;
}
