/* SPDX-License-Identifier: MIT */
/* Contexts: none, another one, one that shares objects, one that is gone. */
#define TEST_GROUP "gl.context."
#include "gl_stage.h"

#include <pthread.h>

static culv_shared_buffer *make_buffer(culv_gl *gl, culv_result expected)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.size = 4096;
    if (expected != CULV_OK)
        LIB_REFUSES_AS(buffer, culv_gl_buffer_create(gl, &d, &buffer), expected,
                       CULV_REASON_CONTEXT);
    else
        LIB_OK(culv_gl_buffer_create(gl, &d, &buffer));
    return buffer;
}

GL_CASE(no_context, 0, .title = "gl.context.none", .smoke = true)
{
    culv_device *device = NULL;
    culv_gl *gl = NULL;
    culv_gl_report report = culv_gl_report_init();
    culv_gl_desc d = gl_stage_desc(0);
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    raw_gl_current(&s->gl, NULL);
    uint64_t calls = lying_gl_calls();
    REQUIRE(!culv_gl_is_current(s->attachment) && !culv_gl_is_current(NULL));
    LIB_REFUSES(device, culv_device_open_for_gl(&d, NULL, &device), INVALID, CONTEXT);
    LIB_REFUSES(gl, culv_gl_attach(s->device, &d, &gl), INVALID, CONTEXT);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_SAYS("no OpenGL context is current");
    LIB_INVALID(culv_gl_add_context(s->attachment), CONTEXT);
    LIB_INVALID(culv_shared_buffer_destroy(&buffer, NULL), CONTEXT);
    REQUIRE(buffer != NULL);
    LIB_OK(culv_gl_check_context(&d, s->device, &report));
    REQUIRE(report.way == CULV_GL_WAY_NONE && report.platform == CULV_GL_PLATFORM_NONE);
    REQUIRE_EQ(lying_gl_calls(), calls); /* nothing was done */
    raw_gl_current(&s->gl, s->gl.context);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
}

GL_CASE(other_context, 0, .title = "gl.context.other")
{
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    void *other = raw_gl_another(&s->gl, false);
    raw_gl_current(&s->gl, other);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_SAYS("culv_gl_add_context");
    LIB_INVALID(culv_shared_buffer_destroy(&buffer, NULL), CONTEXT);
    LIB_INVALID(culv_gl_add_context(s->attachment), CONTEXT, "shares no objects");
    /* A buffer of the marker's name, in the other context, is not the marker. */
    GLuint names[16];
    GL_OK(&s->gl, s->gl.CreateBuffers(16, names));
    for (int i = 0; i < 16; i++)
        GL_OK(&s->gl, s->gl.NamedBufferStorage(names[i], 16, NULL, 0));
    LIB_INVALID(culv_gl_add_context(s->attachment), CONTEXT);
    raw_gl_current(&s->gl, s->gl.context);
    raw_gl_destroy(&s->gl, other);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
}

typedef struct visitor {
    gl_stage *s;
    void *context;
    culv_shared_buffer *made, *taken;
} visitor;

/* The second thread of a program, with CUDA's work and a context that shares objects. */
static void *visit(void *argument)
{
    visitor *v = argument;
    uint32_t words[256];
    raw_gl_current(&v->s->gl, v->context);
    make_buffer(v->s->attachment, CULV_ERROR_INVALID);
    LIB_OK(culv_gl_add_context(v->s->attachment));
    LIB_OK(culv_gl_add_context(v->s->attachment));
    REQUIRE(culv_gl_is_current(v->s->attachment));
    v->made = make_buffer(v->s->attachment, CULV_OK);
    gl_stage_pattern(words, 256, 9);
    gl_stage_upload(v->s, culv_shared_buffer_pointer(v->made), words, sizeof words);
    v->s->gl.Finish();
    LIB_OK(culv_shared_buffer_destroy(&v->taken, NULL));
    raw_gl_current(&v->s->gl, NULL);
    return NULL;
}

GL_CASE(shared_context, 0, .title = "gl.context.shared")
{
    pthread_t thread;
    uint32_t words[256] = {0};
    visitor v = {s, raw_gl_another(&s->gl, true), NULL, make_buffer(s->attachment, CULV_OK)};
    REQUIRE(pthread_create(&thread, NULL, visit, &v) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(v.taken == NULL);
    raw_gl_read_buffer(&s->gl, culv_gl_buffer_name(v.made), words, sizeof words);
    REQUIRE_PATTERN(words, 256, 9);
    LIB_OK(culv_shared_buffer_destroy(&v.made, NULL));
    raw_gl_destroy(&s->gl, v.context);
}

/* Views come and go, each with a context: every second one is taken out, the others are destroyed.
 * Then as many live as an attachment has, and the attached one may go. */
GL_CASE(many_contexts, 0, .title = "gl.context.many")
{
    enum { ROOM = 16, VIEWS = 40 };
    void *first = s->gl.context, *views[ROOM];
    for (int i = 0; i < VIEWS + ROOM; i++) {
        void *view = views[i % ROOM] = raw_gl_another(&s->gl, true);
        raw_gl_current(&s->gl, view);
        if (i == VIEWS + ROOM - 1) {
            LIB_INVALID(culv_gl_add_context(s->attachment), VALUE, "culv_gl_remove_context()");
            raw_gl_current(&s->gl, first);
            LIB_OK(culv_gl_remove_context(s->attachment));
            make_buffer(s->attachment, CULV_ERROR_INVALID);
            LIB_INVALID(culv_gl_remove_context(s->attachment), CONTEXT);
            raw_gl_current(&s->gl, view);
        }
        LIB_OK(culv_gl_add_context(s->attachment));
        if (i >= VIEWS) continue;
        if (i % 2 == 0) LIB_OK(culv_gl_remove_context(s->attachment));
        raw_gl_current(&s->gl, first);
        raw_gl_destroy(&s->gl, view);
    }
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    for (int i = 0; i < ROOM; i++) {
        raw_gl_current(&s->gl, views[i]);
        if (i == ROOM - 1) {
            LIB_INVALID(culv_gl_remove_context(s->attachment), VALUE);
            raw_gl_current(&s->gl, first);
            LIB_OK(culv_gl_add_context(s->attachment));
            raw_gl_current(&s->gl, views[i]);
        }
        LIB_OK(culv_gl_remove_context(s->attachment));
        raw_gl_current(&s->gl, first);
        raw_gl_destroy(&s->gl, views[i]);
    }
}

/* The program destroyed its context, with Culvert's objects in it. */
GL_CASE(gone_context, 0, .title = "gl.context.gone")
{
    culv_shared_semaphore *semaphore = NULL;
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    LIB_OK(culv_gl_semaphore_create(s->attachment, NULL, &semaphore));
    raw_gl_current(&s->gl, NULL);
    raw_gl_destroy(&s->gl, s->gl.context);
    /* Whether the next one gets the same handle or not. */
    s->gl.context = NULL;
    s->gl.context = raw_gl_another(&s->gl, false);
    raw_gl_current(&s->gl, s->gl.context);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_INVALID(culv_shared_buffer_destroy(&buffer, NULL), CONTEXT);
    REQUIRE(buffer != NULL);
    lying_gl_counts counts = lying_gl_count();
    uint64_t calls = lying_gl_calls();
    culv_gl_lose_contexts(s->attachment);
    culv_gl_lose_contexts(NULL);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_SAYS("culv_gl_lose_contexts");
    raw_gl_current(&s->gl, NULL); /* no context is needed any more */
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
    REQUIRE(buffer == NULL && semaphore == NULL);
    culv_gl_detach(&s->attachment);
    REQUIRE_EQ(lying_gl_calls(), calls);
    s->before = counts; /* what went with the context */
    raw_gl_current(&s->gl, s->gl.context);
}

/* An error that the program left is told, and is none of Culvert's. */
GL_CASE(left_error, 0)
{
    s->gl.BindTexture(GL_ARRAY_BUFFER, 0); /* no target */
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    REQUIRE(s->gl.GetError() == 0);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
}

static const char *missing;

static void *without(const char *name)
{
    return missing != NULL && strcmp(name, missing) == 0 ? NULL : lying_gl_get_proc(name);
}

GL_CASE(attach_refused, 0)
{
    culv_gl *gl = NULL;
    culv_gl_desc d = gl_stage_desc(0);
    d.get_proc_address = without;
    static const char *const names[] = {"glGetError", "glFinish", "glCreateBuffers"};
    for (int i = 0; i < 3; i++) {
        missing = names[i];
        LIB_REFUSES_AS(gl, culv_gl_attach(s->device, &d, &gl),
                       i == 0 ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
                       i == 0 ? CULV_REASON_VALUE : CULV_REASON_EXTENSION_MISSING);
    }
    missing = NULL;
    d.fallback = 8;
    LIB_REFUSES(gl, culv_gl_attach(s->device, &d, &gl), INVALID, VALUE);
}

/* Culvert finds the functions by itself. */
GL_CASE(own_loader, 0)
{
    culv_gl *gl = NULL;
    LIB_OK(culv_gl_attach(s->device, NULL, &gl));
    culv_shared_buffer *buffer = make_buffer(gl, CULV_OK);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    culv_gl_detach(&gl);
    REQUIRE(gl == NULL);
    culv_gl_detach(&gl);
}
