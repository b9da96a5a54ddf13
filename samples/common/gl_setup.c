/* SPDX-License-Identifier: MIT */
/* See gl_setup.h. */
#include "gl_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *severity(GLenum code)
{
    return code == GL_DEBUG_SEVERITY_HIGH     ? "high"
           : code == GL_DEBUG_SEVERITY_MEDIUM ? "medium"
                                              : "low";
}

static void APIENTRY on_message(GLenum source, GLenum type, GLuint id, GLenum level, GLsizei length,
                                const GLchar *text, const void *user)
{
    union { /* the callback's user pointer is const */
        const void *given;
        gl_setup *setup;
    } to = {.given = user};
    (void)source;
    (void)id;
    (void)length;
    /* The rest is advice, and what shaders were compiled again for. */
    if (type != GL_DEBUG_TYPE_ERROR && type != GL_DEBUG_TYPE_UNDEFINED_BEHAVIOR) return;
    to.setup->num_messages++;
    report("OpenGL (%s): %s", severity(level), text);
}

bool gl_setup_current(gl_setup *g, gl_get_proc_address get, bool debug)
{
    GLint major = 0, minor = 0;
    g->get_proc_address = get;
    if (!gl_api_load(get)) return false;
    glGetIntegerv(GL_MAJOR_VERSION, &major);
    glGetIntegerv(GL_MINOR_VERSION, &minor);
    const GLubyte *name = glGetString(GL_RENDERER);
    snprintf(g->renderer, sizeof g->renderer, "%s", name ? (const char *)name : "unknown");
    if (major * 10 + minor < 45) {
        report("%s has OpenGL %d.%d; 4.5 is needed", g->renderer, (int)major, (int)minor);
        return false;
    }
    if (debug) {
        glEnable(GL_DEBUG_OUTPUT);
        glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
        glDebugMessageCallback(on_message, g);
    }
    return true;
}

bool gl_ok(const char *what)
{
    GLenum error = glGetError();
    if (error == GL_NO_ERROR) return true;
    const char *name = error == GL_INVALID_ENUM                    ? "GL_INVALID_ENUM"
                       : error == GL_INVALID_VALUE                 ? "GL_INVALID_VALUE"
                       : error == GL_INVALID_OPERATION             ? "GL_INVALID_OPERATION"
                       : error == GL_OUT_OF_MEMORY                 ? "GL_OUT_OF_MEMORY"
                       : error == GL_INVALID_FRAMEBUFFER_OPERATION ? "GL_INVALID_FRAMEBUFFER_"
                                                                     "OPERATION"
                                                                   : "an error";
    report("%s: %s (0x%04x)", what, name, error);
    return false;
}

GLuint gl_texture(GLenum format, uint32_t width, uint32_t height, uint32_t levels, GLenum filter)
{
    GLuint texture = 0;
    glCreateTextures(GL_TEXTURE_2D, 1, &texture);
    glTextureStorage2D(texture, (GLsizei)levels, format, (GLsizei)width, (GLsizei)height);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_MAG_FILTER, (GLint)filter);
    glTextureParameteri(texture, GL_TEXTURE_MIN_FILTER,
                        (GLint)(levels > 1 ? GL_LINEAR_MIPMAP_NEAREST : filter));
    if (gl_ok("glTextureStorage2D")) return texture;
    glDeleteTextures(1, &texture);
    return 0;
}

GLuint gl_framebuffer(GLuint texture)
{
    GLuint framebuffer = 0;
    glCreateFramebuffers(1, &framebuffer);
    glNamedFramebufferTexture(framebuffer, GL_COLOR_ATTACHMENT0, texture, 0);
    GLenum status = glCheckNamedFramebufferStatus(framebuffer, GL_DRAW_FRAMEBUFFER);
    if (gl_ok("glNamedFramebufferTexture") && status == GL_FRAMEBUFFER_COMPLETE) return framebuffer;
    report("a framebuffer is not complete: 0x%04x", status);
    glDeleteFramebuffers(1, &framebuffer);
    return 0;
}

bool gl_read_rgba(GLuint framebuffer, uint32_t width, uint32_t height, uint8_t *pixels)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
    glReadPixels(0, 0, (GLsizei)width, (GLsizei)height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    return gl_ok("glReadPixels");
}
