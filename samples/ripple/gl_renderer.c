/* SPDX-License-Identifier: MIT */
/* See gl_renderer.h. */
#include "gl_renderer.h"

#include <stdlib.h>
#include <string.h>

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
    r->picture = gl_texture(GL_SRGB8_ALPHA8, r->width, r->height, 1, GL_NEAREST);
    r->picture_target = r->picture ? gl_framebuffer(r->picture) : 0;
    return r->picture_target != 0;
}

bool gl_renderer_create(gl_renderer *r, const scene *basin, uint32_t width, uint32_t height)
{
    memset(r, 0, sizeof *r);
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

void gl_renderer_destroy(gl_renderer *r)
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
    memset(r, 0, sizeof *r);
}

static void draw_mesh(const gl_renderer *r, const mesh *m, view_constants *constants)
{
    constants->grid[2] = (int32_t)m->width;
    constants->grid[3] = (int32_t)m->stride;
    glNamedBufferSubData(r->view, 0, sizeof *constants, constants);
    glDrawElements(GL_TRIANGLES, (GLsizei)m->num_indices, GL_UNSIGNED_INT,
                   (const void *)(uintptr_t)(m->first_index * sizeof(uint32_t)));
}

bool gl_renderer_draw(gl_renderer *r, const gl_exchange *from, uint64_t moment)
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

double gl_renderer_milliseconds(const gl_renderer *r)
{
    GLuint64 begin = 0, end = 0;
    glGetQueryObjectui64v(r->queries[0], GL_QUERY_RESULT, &begin);
    glGetQueryObjectui64v(r->queries[1], GL_QUERY_RESULT, &end);
    return 1e-6 * (double)(end - begin);
}
