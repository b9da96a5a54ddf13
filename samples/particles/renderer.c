/* SPDX-License-Identifier: MIT */
/* See renderer.h. */
#include "renderer.h"

#include <math.h>
#include <string.h>

bool renderer_create(renderer *r, uint32_t width, uint32_t height, uint32_t count)
{
    memset(r, 0, sizeof *r);
    r->width = width;
    r->height = height;
    r->count = count;
    r->stars = gl_program("particles_stars.vert", "particles_stars.frag");
    r->around = r->stars ? gl_program("particles_tone.vert", "particles_glow.frag") : 0;
    r->tone = r->around ? gl_program("particles_tone.vert", "particles_tone.frag") : 0;
    if (!r->tone) return false;
    uint32_t levels = 1, shorter = width < height ? width : height;
    while (levels < RENDERER_LEVELS && shorter >> levels)
        levels++;
    r->light = gl_texture(GL_RGBA16F, width, height, levels, GL_LINEAR);
    r->glow = r->light ? gl_texture(GL_RGBA16F, width / 4, height / 4, 1, GL_LINEAR) : 0;
    r->picture = r->glow ? gl_texture(GL_RGBA8, width, height, 1, GL_NEAREST) : 0;
    if (!r->picture) return false;
    r->light_target = gl_framebuffer(r->light);
    r->glow_target = r->light_target ? gl_framebuffer(r->glow) : 0;
    r->picture_target = r->glow_target ? gl_framebuffer(r->picture) : 0;
    if (!r->picture_target) return false;
    glCreateVertexArrays(1, &r->vertices);
    glCreateQueries(GL_TIMESTAMP, 2, r->queries);
    const unsigned quarter_width = width / 4, quarter_height = height / 4;
    glProgramUniform2f(r->around, 0, (float)quarter_width, (float)quarter_height);
    glProgramUniform2f(r->around, 1, (float)width, (float)height);
    glProgramUniform1i(r->around, 2, (GLint)levels);
    glProgramUniform2f(r->tone, 0, (float)width, (float)height);
    return gl_ok("glCreateVertexArrays");
}

void renderer_destroy(renderer *r)
{
    if (r->queries[0]) glDeleteQueries(2, r->queries);
    if (r->vertices) glDeleteVertexArrays(1, &r->vertices);
    if (r->picture_target) glDeleteFramebuffers(1, &r->picture_target);
    if (r->glow_target) glDeleteFramebuffers(1, &r->glow_target);
    if (r->light_target) glDeleteFramebuffers(1, &r->light_target);
    if (r->picture) glDeleteTextures(1, &r->picture);
    if (r->glow) glDeleteTextures(1, &r->glow);
    if (r->light) glDeleteTextures(1, &r->light);
    if (r->tone) glDeleteProgram(r->tone);
    if (r->around) glDeleteProgram(r->around);
    if (r->stars) glDeleteProgram(r->stars);
    memset(r, 0, sizeof *r);
}

/* Column-major; y is down, so that a picture's first row is the top one. */
static void look(float m[16], const renderer_view *view, float aspect)
{
    const float half_fov = 0.36f, near = 0.05f, far = 40.0f;
    float distance = 5.3f * exp2f(-view->closer), turn = 0.5f + view->turn,
          lift = 0.85f + view->lift;
    float cos_turn = cosf(turn), sin_turn = sinf(turn), cos_lift = cosf(lift),
          sin_lift = sinf(lift);
    /* The discs lie near the plane of x and y. */
    float right[3] = {cos_turn, sin_turn, 0.0f};
    float forward[3] = {-sin_turn * cos_lift, cos_turn * cos_lift, -sin_lift};
    float up[3] = {-sin_turn * sin_lift, cos_turn * sin_lift, cos_lift};
    float sx = 1.0f / (half_fov * aspect), sy = -1.0f / half_fov;
    float a = (far + near) / (far - near), b = -2.0f * far * near / (far - near);
    for (int i = 0; i < 3; i++) {
        m[4 * i + 0] = sx * right[i];
        m[4 * i + 1] = sy * up[i];
        m[4 * i + 2] = a * forward[i];
        m[4 * i + 3] = forward[i];
    }
    /* The eye looks at the origin from this far. */
    m[12] = 0.0f;
    m[13] = 0.0f;
    m[14] = a * distance + b;
    m[15] = distance;
}

bool renderer_draw(renderer *r, GLuint stars, const renderer_view *view)
{
    const float dark[4] = {0};
    float matrix[16];
    look(matrix, view, (float)r->width / (float)r->height);
    glQueryCounter(r->queries[0], GL_TIMESTAMP);
    glViewport(0, 0, (GLsizei)r->width, (GLsizei)r->height);
    glBindVertexArray(r->vertices);

    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, r->light_target);
    glClearNamedFramebufferfv(r->light_target, GL_COLOR, 0, dark);
    glEnable(GL_PROGRAM_POINT_SIZE);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE);
    glProgramUniformMatrix4fv(r->stars, 0, 1, GL_FALSE, matrix);
    glProgramUniform1f(r->stars, 1, (float)r->height);
    /* As many as there are, the same light together. */
    glProgramUniform1f(r->stars, 2, 30000.0f / (float)r->count);
    glUseProgram(r->stars);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, stars);
    glDrawArrays(GL_POINTS, 0, (GLsizei)r->count);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, 0);
    glDisable(GL_BLEND);

    glGenerateTextureMipmap(r->light);
    glBindTextureUnit(0, r->light);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, r->glow_target);
    glViewport(0, 0, (GLsizei)(r->width / 4), (GLsizei)(r->height / 4));
    glUseProgram(r->around);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindTextureUnit(1, r->glow);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, r->picture_target);
    glViewport(0, 0, (GLsizei)r->width, (GLsizei)r->height);
    glUseProgram(r->tone);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindTextureUnit(0, 0);
    glBindTextureUnit(1, 0);
    glQueryCounter(r->queries[1], GL_TIMESTAMP);
    return gl_ok("drawing");
}

double renderer_milliseconds(const renderer *r)
{
    GLuint64 from = 0, to = 0;
    glGetQueryObjectui64v(r->queries[0], GL_QUERY_RESULT, &from);
    glGetQueryObjectui64v(r->queries[1], GL_QUERY_RESULT, &to);
    return 1e-6 * (double)(to - from);
}
