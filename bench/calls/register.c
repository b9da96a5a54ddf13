/* SPDX-License-Identifier: MIT */
/* Map and unmap of registered buffers of OpenGL, 1, 8 and 64 in one call; and depth that is read
 * into such a buffer. */
#include "calls.h"

#include "raw_gl.h"

#include <culvert/gl.h>

#include <string.h>

enum { MOST = 64, BYTES = 65536, CALLS = 8, WIDTH = 1920, HEIGHT = 1080 };

typedef struct gl_state {
    bench *b;
    raw_gl gl;
    culv_gl *attached;
    uint32_t count;
    GLuint names[BENCH_SIDES][MOST]; /* each side has its own */
    culv_registration *culvert[MOST];
    CUgraphicsResource raw[MOST];
    CUdeviceptr pointers[MOST];
    /* Depth */
    GLuint framebuffer, depth, pixels;
    culv_gl_readback *readback;
    CUgraphicsResource raw_pixels;
} gl_state;

static void by_culvert(gl_state *s, CUstream stream, bool map)
{
    if (!map) {
        CULV_OK_OR_EXIT(culv_registration_unmap(s->culvert, s->count, stream));
        return;
    }
    CULV_OK_OR_EXIT(culv_registration_map(s->culvert, s->count, stream));
    for (uint32_t i = 0; i < s->count; i++)
        s->pointers[i] = culv_registration_pointer(s->culvert[i]);
}

static void by_hand(gl_state *s, CUstream stream, bool map)
{
    const raw_cuda *cu = s->b->rig.cu;
    if (!map) {
        RIG_CU(cu->GraphicsUnmapResources(s->count, s->raw, stream));
        return;
    }
    RIG_CU(cu->GraphicsMapResources(s->count, s->raw, stream));
    for (uint32_t i = 0; i < s->count; i++) {
        size_t size = 0;
        RIG_CU(cu->GraphicsResourceGetMappedPointer(&s->pointers[i], &size, s->raw[i]));
        REQUIRE(size == BYTES);
    }
}

static void turn(void *state, bench_side side, double ns[])
{
    gl_state *s = state;
    CUstream stream = s->b->rig.stream;
    ns[0] = ns[1] = 0;
    for (int i = 0; i < CALLS; i++) {
        const double start = bench_now();
        (side == BENCH_CULVERT ? by_culvert : by_hand)(s, stream, true);
        const double mapped = bench_now();
        (side == BENCH_CULVERT ? by_culvert : by_hand)(s, stream, false);
        ns[0] += mapped - start;
        ns[1] += bench_now() - mapped;
    }
    s->gl.Finish();
    RIG_CU(s->b->rig.cu->StreamSynchronize(stream));
}

/* What CUDA sets arrives in OpenGL. */
static void check(gl_state *s, bench_side side)
{
    static uint32_t words[BYTES / 4];
    CUstream stream = s->b->rig.stream;
    (side == BENCH_CULVERT ? by_culvert : by_hand)(s, stream, true);
    for (uint32_t i = 0; i < s->count; i++)
        RIG_CU(s->b->rig.cu->MemsetD32Async(s->pointers[i], 77 + i + (uint32_t)side, BYTES / 4,
                                            stream));
    (side == BENCH_CULVERT ? by_culvert : by_hand)(s, stream, false);
    for (uint32_t i = 0; i < s->count; i++) {
        raw_gl_read_buffer(&s->gl, s->names[side][i], words, BYTES);
        for (uint32_t k = 0; k < BYTES / 4; k++)
            REQUIRE(words[k] == 77 + i + (uint32_t)side);
    }
    bench_checked(s->b);
}

static void measure_maps(gl_state *s, uint32_t count, bool unchecked)
{
    bench *b = s->b;
    const raw_cuda *cu = b->rig.cu;
    bench_series series;
    culv_gl_register_desc how = culv_gl_register_desc_init();
    how.unchecked = unchecked;
    s->count = count;
    for (int side = 0; side < BENCH_SIDES; side++) {
        s->gl.CreateBuffers((GLsizei)count, s->names[side]);
        for (uint32_t i = 0; i < count; i++)
            s->gl.NamedBufferData(s->names[side][i], BYTES, NULL, GL_DYNAMIC_DRAW);
    }
    for (uint32_t i = 0; i < count; i++) {
        CULV_OK_OR_EXIT(
            culv_gl_register_buffer(s->attached, s->names[BENCH_CULVERT][i], &how, &s->culvert[i]));
        RIG_CU(cu->GraphicsGLRegisterBuffer(&s->raw[i], s->names[BENCH_RAW][i], 0));
    }
    bench_variant(b, "%u buffers%s", (unsigned)count, unchecked ? ", unchecked" : "");
    check(s, BENCH_CULVERT);
    check(s, BENCH_RAW);
    bench_begin(b, &series,
                (bench_setup){.turn = turn, .state = s, .num_phases = 2, .calls = CALLS});
    bench_row(b, &series,
              (bench_row_desc){.name = "map + unmap", .phases = 3, .goal = GOAL_GL_MAP});
    bench_row(b, &series, (bench_row_desc){.name = "map", .phases = 1});
    bench_row(b, &series, (bench_row_desc){.name = "unmap", .phases = 2});
    bench_end(&series);
    check(s, BENCH_CULVERT);
    check(s, BENCH_RAW);
    for (uint32_t i = 0; i < count; i++) {
        CULV_OK_OR_EXIT(culv_registration_destroy(&s->culvert[i]));
        RIG_CU(cu->GraphicsUnregisterResource(s->raw[i]));
    }
    for (int side = 0; side < BENCH_SIDES; side++)
        s->gl.DeleteBuffers((GLsizei)count, s->names[side]);
}

/* Depth ---------------------------------------------------------------------------------------- */

static CUdeviceptr read_depth(gl_state *s, bench_side side, bool map)
{
    const raw_cuda *cu = s->b->rig.cu;
    CUstream stream = s->b->rig.stream;
    if (side == BENCH_CULVERT) {
        culv_registration *r = culv_gl_readback_registration(s->readback);
        if (!map) {
            CULV_OK_OR_EXIT(culv_registration_unmap(&r, 1, stream));
            return 0;
        }
        CULV_OK_OR_EXIT(culv_gl_readback_read(s->readback, s->framebuffer, 0, 0));
        CULV_OK_OR_EXIT(culv_registration_map(&r, 1, stream));
        return culv_registration_pointer(r);
    }
    if (!map) {
        RIG_CU(cu->GraphicsUnmapResources(1, &s->raw_pixels, stream));
        return 0;
    }
    CUdeviceptr pointer = 0;
    size_t size = 0;
    s->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, s->pixels);
    s->gl.BindFramebuffer(GL_READ_FRAMEBUFFER, s->framebuffer);
    s->gl.ReadPixels(0, 0, WIDTH, HEIGHT, GL_DEPTH_COMPONENT, GL_FLOAT, NULL);
    s->gl.BindFramebuffer(GL_READ_FRAMEBUFFER, 0);
    s->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    RIG_CU(cu->GraphicsMapResources(1, &s->raw_pixels, stream));
    RIG_CU(cu->GraphicsResourceGetMappedPointer(&pointer, &size, s->raw_pixels));
    return pointer;
}

static void depth_turn(void *state, bench_side side, double ns[])
{
    gl_state *s = state;
    const double start = bench_now();
    (void)read_depth(s, side, true);
    (void)read_depth(s, side, false);
    s->gl.Finish();
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    ns[0] = bench_now() - start;
}

static void check_depth(gl_state *s, bench_side side)
{
    static float found[WIDTH * HEIGHT];
    const float value = side == BENCH_CULVERT ? 0.25f : 0.5f;
    s->gl.ClearNamedFramebufferfv(s->framebuffer, GL_DEPTH, 0, &value);
    const CUdeviceptr pointer = read_depth(s, side, true);
    RIG_CU(s->b->rig.cu->MemcpyDtoHAsync(found, pointer, sizeof found, s->b->rig.stream));
    RIG_CU(s->b->rig.cu->StreamSynchronize(s->b->rig.stream));
    (void)read_depth(s, side, false);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++)
        REQUIRE(found[i] == value);
    bench_checked(s->b);
}

static void measure_depth(gl_state *s)
{
    bench_series series;
    culv_gl_readback_desc d = culv_gl_readback_desc_init();
    d.width = WIDTH;
    d.height = HEIGHT;
    CULV_OK_OR_EXIT(culv_gl_readback_create(s->attached, &d, &s->readback));
    s->gl.CreateRenderbuffers(1, &s->depth);
    s->gl.NamedRenderbufferStorage(s->depth, GL_DEPTH_COMPONENT32F, WIDTH, HEIGHT);
    s->gl.CreateFramebuffers(1, &s->framebuffer);
    s->gl.NamedFramebufferRenderbuffer(s->framebuffer, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER,
                                       s->depth);
    s->gl.CreateBuffers(1, &s->pixels);
    s->gl.NamedBufferStorage(s->pixels, WIDTH * HEIGHT * 4, NULL, 0);
    RIG_CU(s->b->rig.cu->GraphicsGLRegisterBuffer(&s->raw_pixels, s->pixels,
                                                  CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY));
    bench_variant(s->b, "depth, 32 bits, %d x %d", WIDTH, HEIGHT);
    check_depth(s, BENCH_CULVERT);
    check_depth(s, BENCH_RAW);
    bench_begin(s->b, &series,
                (bench_setup){.turn = depth_turn, .state = s, .num_phases = 1, .calls = 1});
    bench_row(s->b, &series, (bench_row_desc){.name = "read + map + unmap, done", .phases = 1});
    bench_end(&series);
    check_depth(s, BENCH_CULVERT);
    check_depth(s, BENCH_RAW);
    CULV_OK_OR_EXIT(culv_gl_readback_destroy(&s->readback));
    RIG_CU(s->b->rig.cu->GraphicsUnregisterResource(s->raw_pixels));
    s->gl.DeleteBuffers(1, &s->pixels);
    s->gl.DeleteFramebuffers(1, &s->framebuffer);
    s->gl.DeleteRenderbuffers(1, &s->depth);
}

void measure_gl_register(bench *b)
{
    gl_state s;
    memset(&s, 0, sizeof s);
    s.b = b;
    const char *why = b->rig.cu->GraphicsGLRegisterBuffer == NULL
                          ? "the CUDA driver has no OpenGL"
                          : raw_gl_try(&s.gl, b->rig.cu->software, b->rig.ordinal, RAW_GL_CORE);
    if (why != NULL) {
        bench_left_out(b, why);
        return;
    }
    culv_gl_desc d = culv_gl_desc_init();
    d.get_proc_address = raw_gl_get_proc;
    CULV_OK_OR_EXIT(culv_gl_attach(b->rig.device, &d, &s.attached));
    static const uint32_t counts[] = {1, 8, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        measure_maps(&s, counts[i], false);
        measure_maps(&s, counts[i], true);
    }
    measure_depth(&s);
    culv_gl_detach(&s.attached);
    raw_gl_close(&s.gl);
}
