/* SPDX-License-Identifier: MIT */
/* Torture of rings between CUDA and OpenGL: each driver call and each allocation fails once. */
#include "torture.h"

#include "raw_gl.h"

#include <culvert/gl.h>

enum { DEPTH = 2, BYTES = 4096, FRAMES = 2 };

static raw_gl context;

static void begin(void)
{
    raw_gl_open(&context, torture.w.cu->software, 0, RAW_GL_CORE);
}

static void end(void)
{
    raw_gl_close(&context);
}

/* After a failure the ring may be stopped: then all that is left is to destroy it. */
static bool turn(culv_ring *ring, CUstream stream, culv_ring_side side, bool cuda)
{
    culv_ring_frame f;
    if (cuda) {
        TRY(culv_ring_acquire_on(ring, side, stream, 0, &f), false, failed);
        TRY(culv_ring_release_on(ring, side, stream, &f), false, failed);
    } else {
        TRY(culv_ring_acquire(ring, side, TEST_FAR_MS * UINT64_C(1000000), &f), false, failed);
        TRY(culv_ring_release(ring, side, &f), false, failed);
    }
    return true;
failed:
    return false;
}

static void one_way(culv_gl *gl, CUstream stream, culv_gl_way way, culv_ring_side side)
{
    culv_ring *ring = POISON(culv_ring);
    culv_gl_buffer_create_desc buffer = culv_gl_buffer_create_desc_init();
    culv_gl_image_create_desc image = culv_gl_image_create_desc_init();
    const culv_gl_ring_resource resources[] = {{.buffer = &buffer}, {.image = &image}};
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    buffer.size = BYTES;
    image.internal_format = 0x8058; /* GL_RGBA8 */
    image.width = image.height = 16;
    d.max_depth = DEPTH;
    d.resources = resources;
    d.num_resources = 2;
    d.side = side;
    d.way = way;
    d.label = "tortured";
    TRY_AGAIN(culv_gl_ring_create(gl, &d, &ring), ring == POISON(culv_ring));
    bool fine = true;
    for (int i = 0; i < 2 * FRAMES && fine; i++)
        fine = turn(ring, stream, (culv_ring_side)(i % 2), (culv_ring_side)(i % 2) != side);
    context.Finish();
    TRY_AGAIN(culv_ring_destroy(&ring), ring != NULL);
    REQUIRE(ring == NULL);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_gl *gl = NULL;
    culv_gl_desc how = culv_gl_desc_init();
    how.get_proc_address = raw_gl_get_proc;
    lib_open_culvert(w);
    CUstream stream = lib_stream(w);
    TRY_AGAIN(culv_gl_attach(w->device, &how, &gl), gl == NULL);
    /* The VkDevice that memory comes from has a suite of its own (gl.exporter_fails). */
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.size = BYTES;
    LIB_OK(culv_gl_buffer_create(gl, &d, &buffer));
    LIB_OK(culv_shared_buffer_destroy(&buffer));
    one_way(gl, stream, CULV_GL_WAY_MEMORY, CULV_RING_CONSUMER);
    one_way(gl, stream, CULV_GL_WAY_REGISTER, CULV_RING_PRODUCER);
    one_way(gl, stream, CULV_GL_WAY_STAGED, CULV_RING_CONSUMER);
    one_way(gl, stream, CULV_GL_WAY_STAGED, CULV_RING_PRODUCER);
    lib_finish(w, stream);
    DO(culv_gl_detach(&gl));
    torture_close(stream);
}

static const torture_path path = {
    .unvalidated = true, .begin = begin, .run = run, .end = end, .least = {30, 10, 20}};
TORTURE_CASES("gl_ring", path)
