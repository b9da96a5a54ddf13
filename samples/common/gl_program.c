/* SPDX-License-Identifier: MIT */
/* Samples: programs of shaders in files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "gl_setup.h"

/* #include within #include */
#define DEEPEST 4

typedef struct source {
    char *text; /* for free() */
    size_t length;
} source;

static bool append(source *s, const char *text, size_t length)
{
    char *longer = realloc(s->text, s->length + length + 1);
    if (!longer) {
        report("out of memory for a shader");
        return false;
    }
    memcpy(longer + s->length, text, length);
    s->text = longer;
    s->length += length;
    s->text[s->length] = '\0';
    return true;
}

/* Adds a file, with what it includes in the places of the lines that say so. Those that ask for the
 * extension, which the compiler for Vulkan has, are left out. */
static bool append_file(source *s, const char *name, int depth)
{
    char path[FILES_PATH_MAX], other[128];
    void *data = NULL;
    size_t size = 0;
    if (!files_share_path(path, name) || !files_read(path, &data, &size)) return false;
    bool fine = depth < DEEPEST;
    if (!fine) report("%s: includes too deep", name);
    const char *line = data, *end = line + size;
    while (fine && line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = stop ? (size_t)(stop - line) + 1 : (size_t)(end - line);
        if (length < sizeof other + 16 && strncmp(line, "#include \"", 10) == 0) {
            snprintf(other, sizeof other, "%.*s", (int)strcspn(line + 10, "\"\n"), line + 10);
            fine = append_file(s, other, depth + 1);
        } else if (strncmp(line, "#extension GL_GOOGLE_include", 28) != 0) {
            fine = append(s, line, length);
        }
        line += length;
    }
    free(data);
    return fine;
}

static GLuint compile(GLenum stage, const char *name)
{
    source s = {0};
    if (!append_file(&s, name, 0)) {
        free(s.text);
        return 0;
    }
    GLuint shader = glCreateShader(stage);
    GLint compiled = GL_FALSE, length = (GLint)s.length;
    const GLchar *text = s.text;
    glShaderSource(shader, 1, &text, &length);
    glCompileShader(shader);
    free(s.text);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (compiled) return shader;
    char log[1024] = "";
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    report("%s: %s", name, log);
    glDeleteShader(shader);
    return 0;
}

GLuint gl_program(const char *vertex, const char *fragment)
{
    GLuint stages[2] = {compile(GL_VERTEX_SHADER, vertex), compile(GL_FRAGMENT_SHADER, fragment)};
    GLuint program = 0;
    if (stages[0] && stages[1]) {
        GLint linked = GL_FALSE;
        program = glCreateProgram();
        glAttachShader(program, stages[0]);
        glAttachShader(program, stages[1]);
        glLinkProgram(program);
        glGetProgramiv(program, GL_LINK_STATUS, &linked);
        if (!linked) {
            char log[1024] = "";
            glGetProgramInfoLog(program, sizeof log, NULL, log);
            report("%s with %s: %s", vertex, fragment, log);
            glDeleteProgram(program);
            program = 0;
        }
    }
    for (int i = 0; i < 2; i++)
        if (stages[i]) glDeleteShader(stages[i]);
    return program;
}
