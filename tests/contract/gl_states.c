/* SPDX-License-Identifier: MIT */
/* Contract rows: what registered buffers and images of OpenGL refuse, and when. A row's name is
 * that of the call, and what is wrong. */
#define TEST_GROUP "gl."
#include "gl_rows.h"

#include <pthread.h>

static const char undefined[] = "cuda.h leaves it undefined";

#define NONE     CU_GRAPHICS_REGISTER_FLAGS_NONE
#define READ     CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY
#define DISCARD  CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD
#define SURFACES CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST
/* Images ------------------------------------------------------------------------------------- */

static CUresult register_image(const gl_pair *p, GLuint name, GLenum target)
{
    CUgraphicsResource resource = NULL;
    const CUresult result = p->cu->GraphicsGLRegisterImage(&resource, name, target, NONE);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->GraphicsUnregisterResource(resource));
    return result;
}

GL_PAIR_CASE(refused_images, RAW_GL_CORE, .mark = TEST_BOTH)
{
    static const struct {
        const char *name;
        GLenum target, format;
        int depth;
    } rows[] = {
        {"GL_RGB8", GL_TEXTURE_2D, GL_RGB8, 1},
        {"GL_RGB32F", GL_TEXTURE_2D, GL_RGB32F, 1},
        {"GL_SRGB8_ALPHA8", GL_TEXTURE_2D, GL_SRGB8_ALPHA8, 1},
        {"GL_RGBA8_SNORM", GL_TEXTURE_2D, GL_RGBA8_SNORM, 1},
        {"GL_RGB10_A2", GL_TEXTURE_2D, GL_RGB10_A2, 1},
        {"GL_R11F_G11F_B10F", GL_TEXTURE_2D, GL_R11F_G11F_B10F, 1},
        {"GL_COMPRESSED_RGBA_BPTC_UNORM", GL_TEXTURE_2D, GL_COMPRESSED_RGBA_BPTC_UNORM, 1},
        {"GL_DEPTH_COMPONENT24", GL_TEXTURE_2D, GL_DEPTH_COMPONENT24, 1},
        {"GL_DEPTH_COMPONENT32F", GL_TEXTURE_2D, GL_DEPTH_COMPONENT32F, 1},
        {"GL_DEPTH24_STENCIL8", GL_TEXTURE_2D, GL_DEPTH24_STENCIL8, 1},
        {"GL_TEXTURE_1D", GL_TEXTURE_1D, GL_RGBA8, 0},
        {"GL_TEXTURE_1D_ARRAY", GL_TEXTURE_1D_ARRAY, GL_RGBA8, 1},
        {"GL_TEXTURE_CUBE_MAP_ARRAY", GL_TEXTURE_CUBE_MAP_ARRAY, GL_RGBA8, 12},
        {"GL_TEXTURE_2D_MULTISAMPLE", GL_TEXTURE_2D_MULTISAMPLE, GL_RGBA8, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        GLuint name = 0;
        p->gl.CreateTextures(rows[i].target, 1, &name);
        if (rows[i].target == GL_TEXTURE_2D_MULTISAMPLE)
            p->gl.TextureStorage2DMultisample(name, 4, rows[i].format, 16, 16, GL_TRUE);
        else if (rows[i].depth == 0)
            p->gl.TextureStorage1D(name, 1, rows[i].format, 16);
        else if (rows[i].depth > 1)
            p->gl.TextureStorage3D(name, 1, rows[i].format, 16, 16, rows[i].depth);
        else
            p->gl.TextureStorage2D(name, 1, rows[i].format, 16, 16);
        raw_gl_require_ok(&p->gl, rows[i].name, __FILE__, __LINE__);
        answer_call(rows[i].name, register_image(p, name, rows[i].target));
        p->gl.DeleteTextures(1, &name);
    }
    GLuint name = 0;
    p->gl.CreateRenderbuffers(1, &name);
    GL_OK(&p->gl, p->gl.NamedRenderbufferStorageMultisample(name, 4, GL_RGBA8, 16, 16));
    answer_call("a renderbuffer of 4 samples", register_image(p, name, GL_RENDERBUFFER));
    GL_OK(&p->gl, p->gl.NamedRenderbufferStorage(name, GL_DEPTH_COMPONENT24, 16, 16));
    answer_call("a renderbuffer of depth", register_image(p, name, GL_RENDERBUFFER));
    answer_call("a renderbuffer as GL_TEXTURE_2D", register_image(p, name, GL_TEXTURE_2D));
    p->gl.DeleteRenderbuffers(1, &name);
    answer_call("a deleted renderbuffer", register_image(p, name, GL_RENDERBUFFER));
    p->gl.CreateTextures(GL_TEXTURE_2D, 1, &name);
    answer_call("a texture without storage", register_image(p, name, GL_TEXTURE_2D));
    GL_OK(&p->gl, p->gl.TextureStorage2D(name, 1, GL_RGBA8, 16, 16));
    answer_call("a 2D texture as GL_TEXTURE_3D", register_image(p, name, GL_TEXTURE_3D));
    answer_call("target 0", register_image(p, name, 0));
    p->gl.DeleteTextures(1, &name);
    answer_call("a deleted texture", register_image(p, name, GL_TEXTURE_2D));
    answer_call("texture 0", register_image(p, 0, GL_TEXTURE_2D));
    raw_gl_require_ok(&p->gl, "refusals", __FILE__, __LINE__);
}

/* Bad arguments and states ------------------------------------------------------------------- */

GL_PAIR_CASE(bad_registrations, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    CUgraphicsResource resource = NULL, second = NULL;
    GLuint buffer = gl_pair_buffer(p, 4096, 1), empty = 0;
    p->gl.CreateBuffers(1, &empty);
    answer_call("buffer 0", p->cu->GraphicsGLRegisterBuffer(&resource, 0, NONE));
    answer_call("a name that is no buffer",
                p->cu->GraphicsGLRegisterBuffer(&resource, 12345, NONE));
    const CUresult without = p->cu->GraphicsGLRegisterBuffer(&resource, empty, NONE);
    answer_call("a buffer without storage", without);
    if (without == CUDA_SUCCESS) CU_OK(p->cu->GraphicsUnregisterResource(resource));
    answer_call("flags 0x40", p->cu->GraphicsGLRegisterBuffer(&resource, buffer, 0x40));
    static const unsigned flags[] = {READ | DISCARD, SURFACES};
    static const char *const names[] = {"READ_ONLY and WRITE_DISCARD", "a buffer, SURFACE_LDST"};
    for (size_t i = 0; i < 2; i++) {
        const CUresult result = p->cu->GraphicsGLRegisterBuffer(&resource, buffer, flags[i]);
        answer_call(names[i], result);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->GraphicsUnregisterResource(resource));
    }
    resource = gl_pair_register(p, buffer, NONE);
    const CUresult twice = p->cu->GraphicsGLRegisterBuffer(&second, buffer, NONE);
    answer_call("the same buffer again", twice);
    if (twice == CUDA_SUCCESS) {
        CU_OK(gl_pair_map(p, resource));
        const CUresult both = gl_pair_map(p, second);
        answer_call("both are mapped", both);
        if (both == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, second));
        CU_OK(gl_pair_unmap(p, resource));
        CU_OK(p->cu->GraphicsUnregisterResource(second));
    }
    CU_OK(p->cu->GraphicsUnregisterResource(resource));
    p->gl.DeleteBuffers(1, &buffer);
    p->gl.DeleteBuffers(1, &empty);
    raw_gl_require_ok(&p->gl, "refusals", __FILE__, __LINE__);
}

GL_PAIR_CASE(states, RAW_GL_CORE, .mark = TEST_BOTH)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUgraphicsResource r[2] = {gl_pair_register(p, buffer, NONE), NULL};
    CUdeviceptr pointer = 0;
    size_t size = 0;
    CUarray array = NULL;
    CUmipmappedArray arrays = NULL;
    raw_gl_image image;
    REQUIRE(raw_gl_image_make(&p->gl, &raw_gl_kinds[0], raw_gl_format_named("GL_RGBA8"), &image));
    CU_OK(p->cu->GraphicsGLRegisterImage(&r[1], image.name, GL_TEXTURE_2D, NONE));
    const raw_cuda *cu = p->cu;
    answer_call("the pointer before a map",
                cu->GraphicsResourceGetMappedPointer(&pointer, &size, r[0]));
    answer_call("the array before a map",
                cu->GraphicsSubResourceGetMappedArray(&array, r[1], 0, 0));
    answer_call("the mipmapped array before a map",
                cu->GraphicsResourceGetMappedMipmappedArray(&arrays, r[1]));
    answer_call("an unmap before a map", gl_pair_unmap(p, r[0]));
    answer_call("map flags 8", cu->GraphicsResourceSetMapFlags(r[0], 8));
    answer_call("map flags READ_ONLY", cu->GraphicsResourceSetMapFlags(r[0], 1));
    answer_call("map flags NONE", cu->GraphicsResourceSetMapFlags(r[0], 0));
    answer_call("a map of 0", cu->GraphicsMapResources(0, r, p->stream));
    CUgraphicsResource same[2] = {r[0], r[0]};
    answer_call("a map of one twice", cu->GraphicsMapResources(2, same, p->stream));
    CU_OK(cu->GraphicsMapResources(2, r, p->stream));
    answer_call("a second map", gl_pair_map(p, r[0]));
    answer_call("map flags while it is mapped", cu->GraphicsResourceSetMapFlags(r[0], 0));
    answer_call("the pointer of an image",
                cu->GraphicsResourceGetMappedPointer(&pointer, &size, r[1]));
    answer_call("the array of a buffer", cu->GraphicsSubResourceGetMappedArray(&array, r[0], 0, 0));
    answer_call("the mipmapped array of a buffer",
                cu->GraphicsResourceGetMappedMipmappedArray(&arrays, r[0]));
    answer_call("the array of layer 1 of 1",
                cu->GraphicsSubResourceGetMappedArray(&array, r[1], 1, 0));
    answer_call("the array of level 4 of 4",
                cu->GraphicsSubResourceGetMappedArray(&array, r[1], 0, 4));
    answer_call("a pointer without a size",
                cu->GraphicsResourceGetMappedPointer(&pointer, NULL, r[0]));
    answer_call("an unmap of one twice", cu->GraphicsUnmapResources(2, same, p->stream));
    answer_call("an unmap of that one then", gl_pair_unmap(p, r[0]));
    CU_OK(gl_pair_unmap(p, r[1]));
    answer_call("a second unmap", gl_pair_unmap(p, r[0]));
    raw_gl_require_ok(&p->gl, "states", __FILE__, __LINE__);
    CU_OK(cu->GraphicsUnregisterResource(r[1]));
    CU_OK(cu->GraphicsUnregisterResource(r[0]));
    raw_gl_image_delete(&p->gl, &image);
    p->gl.DeleteBuffers(1, &buffer);
}

/* After these NVIDIA's driver is left as it is. Each has a process, for one may take it along. */
typedef struct misused {
    gl_pair p;
    GLuint buffer;
    CUgraphicsResource r;
} misused;

static void misuse_begin(misused *m)
{
    gl_pair_open(&m->p, RAW_GL_CORE);
    m->buffer = gl_pair_buffer(&m->p, 4096, 1);
    m->r = gl_pair_register(&m->p, m->buffer, NONE);
}

static void misuse_end(const misused *m, bool registered)
{
    if (!m->p.cu->software) test_pass();
    if (registered) CU_OK(m->p.cu->GraphicsUnregisterResource(m->r));
    m->p.gl.DeleteBuffers(1, &m->buffer);
    raw_gl_require_ok(&m->p.gl, "misuse", __FILE__, __LINE__);
    gl_pair_close((gl_pair *)&m->p);
}

static void misuse_map(const misused *m, const char *name)
{
    const CUresult result = gl_pair_map(&m->p, m->r);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) {
        CUdeviceptr pointer = 0;
        size_t size = 0;
        const CUresult asked = m->p.cu->GraphicsResourceGetMappedPointer(&pointer, &size, m->r);
        ANSWER("its mapped size", "%s, %zu", raw_cuda_result_name(asked), size);
        answer_call("its unmap", gl_pair_unmap(&m->p, m->r));
    }
}

TEST(misused_unregistered_early, .title = "gl.unregistered_early", .mark = TEST_BOTH, .own = true)
{
    misused m;
    misuse_begin(&m);
    CU_OK(gl_pair_map(&m.p, m.r));
    const CUresult early = m.p.cu->GraphicsUnregisterResource(m.r);
    answer_call("an unregistration while it is mapped", early);
    if (m.p.cu->software && early != CUDA_SUCCESS) CU_OK(gl_pair_unmap(&m.p, m.r));
    misuse_end(&m, early != CUDA_SUCCESS);
}

TEST(misused_resized, .title = "gl.resized", .mark = TEST_BOTH, .own = true)
{
    misused m;
    misuse_begin(&m);
    m.p.gl.NamedBufferData(m.buffer, 8192, NULL, GL_DYNAMIC_DRAW);
    ANSWER("glNamedBufferData of a registered buffer", "0x%x", m.p.gl.GetError());
    misuse_map(&m, "a map of a resized buffer");
    misuse_end(&m, true);
}

TEST(misused_mapped_by_gl, .title = "gl.mapped_by_gl", .mark = TEST_BOTH, .own = true)
{
    misused m;
    misuse_begin(&m);
    void *mapped = m.p.gl.MapNamedBufferRange(m.buffer, 0, 16, GL_MAP_READ_BIT);
    ANSWER("glMapNamedBufferRange of a registered buffer", "%s", mapped != NULL ? "maps" : "NULL");
    misuse_map(&m, "a map of a buffer that OpenGL has mapped");
    m.p.gl.UnmapNamedBuffer(m.buffer);
    misuse_end(&m, true);
}

TEST(misused_deleted, .title = "gl.deleted", .mark = TEST_BOTH, .own = true)
{
    misused m;
    misuse_begin(&m);
    m.p.gl.DeleteBuffers(1, &m.buffer);
    misuse_map(&m, "a map of a deleted buffer");
    misuse_end(&m, true);
}

TEST(misused_stale, .title = "gl.stale", .mark = TEST_TWIN_STRICTER, .reason = undefined,
     .own = true)
{
    misused m;
    misuse_begin(&m);
    CU_OK(m.p.cu->GraphicsUnregisterResource(m.r));
    if (!m.p.cu->software) SKIP("undefined in cuda.h");
    answer_call("a map", gl_pair_map(&m.p, m.r));
    answer_call("an unregistration", m.p.cu->GraphicsUnregisterResource(m.r));
    misuse_end(&m, false);
}

/* Contexts ----------------------------------------------------------------------------------- */

GL_PAIR_CASE(contexts, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    void *shared = raw_gl_another(&p->gl, true);
    CUgraphicsResource r = NULL, other = NULL;
    unsigned count = 0;
    CUdevice device = -1;

    raw_gl_current(&p->gl, NULL);
    answer_call("a registration without a GL context",
                cu->GraphicsGLRegisterBuffer(&r, buffer, NONE));
    answer_call("cuGLGetDevices without a GL context", cu->GLGetDevices(&count, &device, 1, 1));
    raw_gl_current(&p->gl, p->gl.context);
    CU_OK(cu->CtxSetCurrent(NULL));
    answer_call("a registration without a CUDA context",
                cu->GraphicsGLRegisterBuffer(&r, buffer, NONE));
    answer_call("cuGLGetDevices without a CUDA context", cu->GLGetDevices(&count, &device, 1, 1));
    CU_OK(cu->CtxSetCurrent(p->context));

    r = gl_pair_register(p, buffer, NONE);
    raw_gl_current(&p->gl, shared);
    answer_call("a map in a context that shares", gl_pair_map(p, r));
    answer_call("an unmap in a context that shares", gl_pair_unmap(p, r));
    const GLuint second_buffer = gl_pair_buffer(p, 4096, 2);
    CU_OK(cu->GraphicsGLRegisterBuffer(&other, second_buffer, NONE));
    CU_OK(cu->GraphicsUnregisterResource(other));
    p->gl.DeleteBuffers(1, &second_buffer);
    raw_gl_current(&p->gl, p->gl.context);
    CU_OK(cu->GraphicsUnregisterResource(r));
    raw_gl_destroy(&p->gl, shared);
    p->gl.DeleteBuffers(1, &buffer);
}

/* True: it is gone, and nothing may follow. */
static bool unregistered(const gl_pair *p, const char *name, CUgraphicsResource r)
{
    const CUresult result = p->cu->GraphicsUnregisterResource(r);
    answer_call(name, result);
    return result == CUDA_SUCCESS && !p->cu->software;
}

/* Contexts that have nothing to do with the registration. */
GL_PAIR_CASE(strange_contexts, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    void *stranger = raw_gl_another(&p->gl, false);
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    raw_gl_current(&p->gl, stranger);
    answer_call("a map in a context that does not share", gl_pair_map(p, r));
    if (unregistered(p, "an unregistration in a context that does not share", r)) test_pass();
    raw_gl_current(&p->gl, NULL);
    answer_call("a map without a GL context", gl_pair_map(p, r));
    if (!cu->software) {
        ANSWER("an unregistration without a GL context", "crashes"); /* so it is not called */
        test_pass();
    }
    if (unregistered(p, "an unregistration without a GL context", r)) test_pass();
    raw_gl_current(&p->gl, p->gl.context);
    CU_OK(cu->GraphicsUnregisterResource(r));
    raw_gl_destroy(&p->gl, stranger);
    p->gl.DeleteBuffers(1, &buffer);
}

/* The right context of OpenGL, and a wrong one of CUDA. */
GL_PAIR_CASE(strange_cuda_context, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE), one[] = {r};
    CUcontext second = NULL;
    CU_OK(cu->CtxCreate(&second, 0, p->device));
    answer_call("a map in another CUDA context", cu->GraphicsMapResources(1, one, NULL));
    answer_call("an unregistration in another CUDA context", cu->GraphicsUnregisterResource(r));
    if (!cu->software) test_pass(); /* how it goes on there is not known */
    CU_OK(cu->CtxDestroy(second));
    CU_OK(cu->CtxSetCurrent(p->context));
    CU_OK(cu->GraphicsUnregisterResource(r));
    p->gl.DeleteBuffers(1, &buffer);
}

GL_PAIR_CASE(devices, RAW_GL_CORE, .mark = TEST_BOTH)
{
    static const char *const names[] = {"ALL", "CURRENT_FRAME", "NEXT_FRAME"};
    for (int list = 1; list <= 3; list++) {
        unsigned count = 0;
        CUdevice found[4] = {-1, -1, -1, -1};
        const CUresult result = p->cu->GLGetDevices(&count, found, 4, list);
        ANSWER(names[list - 1], "%s, %u devices, %s", raw_cuda_result_name(result), count,
               found[0] == p->device ? "the context's first" : "another one");
    }
    unsigned count = 7;
    answer_call("list 4", p->cu->GLGetDevices(&count, NULL, 0, 4));
    answer_call("no room", p->cu->GLGetDevices(&count, NULL, 0, 1));
}

/* The CUDA context ends, and takes what is registered and mapped with it. */
GL_PAIR_CASE(end_of_the_context, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUcontext second = NULL;
    CU_OK(p->cu->CtxCreate(&second, 0, p->device));
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    CU_OK(p->cu->GraphicsMapResources(1, &r, NULL));
    CU_OK(p->cu->MemsetD32Async(gl_pair_pointer(p, r, 4096), 5, 1024, NULL));
    CU_OK(p->cu->CtxDestroy(second));
    CU_OK(p->cu->CtxSetCurrent(p->context));
    raw_gl_require_ok(&p->gl, "the end", __FILE__, __LINE__);
    /* It can be registered anew. */
    r = gl_pair_register(p, buffer, NONE);
    const CUresult result = gl_pair_map(p, r);
    answer_call("a map in the next context", result);
    if (result == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, r));
    CU_OK(p->cu->GraphicsUnregisterResource(r));
    p->gl.DeleteBuffers(1, &buffer);
}

/* Order ------------------------------------------------------------------------------------- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static bool gate_open;

static void CUDA_CB wait_at_gate(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&gate_lock);
    while (!gate_open)
        pthread_cond_wait(&gate_opened, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

static void *open_gate(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&gate_lock);
    gate_open = true;
    pthread_cond_broadcast(&gate_opened);
    pthread_mutex_unlock(&gate_lock);
    return NULL;
}

/* The stream is held while the unmap is called: what is behind the gate is there afterwards, and a
 * map before it sees what GL was told to do. */
GL_PAIR_CASE(order, RAW_GL_CORE, .mark = TEST_BOTH)
{
    enum { SIZE = 1 << 20 };
    GLuint buffer = gl_pair_buffer(p, SIZE, 1);
    uint32_t *found = pattern_words(SIZE, 9), value = 77;
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    size_t bad = 0;
    p->gl.ClearNamedBufferData(buffer, GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, &value);
    CU_OK(gl_pair_map(p, r));
    CUdeviceptr pointer = gl_pair_pointer(p, r, SIZE);
    CU_OK(p->cu->MemcpyDtoHAsync(found, pointer, SIZE, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    for (size_t i = 0; i < SIZE / 4; i++)
        bad += found[i] != 77;
    answer_wrong("GL before the map", bad, SIZE / 4);

    pthread_t opener;
    gate_open = false;
    CU_OK(p->cu->LaunchHostFunc(p->stream, wait_at_gate, NULL));
    CU_OK(p->cu->MemsetD32Async(pointer, 78, SIZE / 4, p->stream));
    REQUIRE_EQ(pthread_create(&opener, NULL, open_gate, NULL), 0);
    CU_OK(gl_pair_unmap(p, r));
    raw_gl_read_buffer(&p->gl, buffer, found, SIZE);
    REQUIRE_EQ(pthread_join(opener, NULL), 0);
    bad = 0;
    for (size_t i = 0; i < SIZE / 4; i++)
        bad += found[i] != 78;
    answer_wrong("CUDA before the unmap", bad, SIZE / 4);
    CU_OK(p->cu->GraphicsUnregisterResource(r));
    p->gl.DeleteBuffers(1, &buffer);
}

/* In a stream that is captured. */
GL_PAIR_CASE(captured, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    CUgraph graph = NULL;
    CU_OK(p->cu->StreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    const CUresult result = gl_pair_map(p, r);
    answer_call("a map in a captured stream", result);
    answer_call("the capture then", p->cu->StreamEndCapture(p->stream, &graph));
    if (graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
    if (result == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, r));
    CU_OK(p->cu->GraphicsUnregisterResource(r));
    p->gl.DeleteBuffers(1, &buffer);
}

/* Twin: what CUDA may not do with a mapping ---------------------------------------------------- */

GL_PAIR_CASE(after_the_unmap, RAW_GL_CORE, .mark = TEST_TWIN_STRICTER, .reason = undefined)
{
    if (!p->cu->software) SKIP("undefined in cuda.h");
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUgraphicsResource r[2] = {gl_pair_register(p, buffer, DISCARD), NULL};
    raw_gl_image image;
    REQUIRE(raw_gl_image_make(&p->gl, &raw_gl_kinds[2], raw_gl_format_named("GL_RGBA8"), &image));
    CU_OK(p->cu->GraphicsGLRegisterImage(&r[1], image.name, image.kind->target, SURFACES | READ));
    CU_OK(p->cu->GraphicsMapResources(2, r, p->stream));
    CUdeviceptr pointer = gl_pair_pointer(p, r[0], 4096);
    CUarray array = NULL;
    CUmipmappedArray arrays = NULL;
    CUsurfObject surface = 0;
    uint32_t word = 0;
    CU_OK(p->cu->MemcpyDtoH(&word, pointer, 4));
    REQUIRE_EQ(word, 0xa5a5a5a5u); /* discarded */
    CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, r[1], 3, 1));
    CU_OK(p->cu->GraphicsResourceGetMappedMipmappedArray(&arrays, r[1]));
    CU_OK(raw_cuda_surface(p->cu, array, &surface));
    uint8_t texels[10 * 10 * 4];
    memset(texels, 9, sizeof texels);
    CU_OK(raw_cuda_write_array(p->cu, array, texels, 40, 10));
    CU_OK(p->cu->CtxSynchronize());
    CU_IS(p->cu->MemFree(pointer), CUDA_ERROR_INVALID_VALUE);
    CU_IS(p->cu->ArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(p->cu->MipmappedArrayDestroy(arrays), CUDA_ERROR_INVALID_HANDLE);
    /* The twin tells that what was written into what is READ_ONLY is lost. */
    CU_IS(p->cu->GraphicsUnmapResources(2, r, p->stream),
          p->cu->software ? CUDA_ERROR_UNMAP_FAILED : CUDA_SUCCESS);
    CU_IS(p->cu->MemcpyDtoH(&word, pointer, 4), CUDA_ERROR_INVALID_VALUE);
    CU_OK(raw_cuda_write_array(p->cu, array, texels, 40, 10)); /* of no effect, too */
    CU_OK(p->cu->SurfObjectDestroy(surface));
    /* What was written into what is READ_ONLY is nowhere. */
    uint8_t found[10 * 10 * 6 * 4];
    raw_gl_image_read(&p->gl, &image, 1, found);
    size_t bad = 0;
    for (size_t i = 0; i < sizeof found; i++)
        bad += found[i] != 0;
    answer_wrong("READ_ONLY, after CUDA wrote", bad, sizeof found);
    CU_OK(p->cu->GraphicsUnregisterResource(r[0]));
    CU_OK(p->cu->GraphicsUnregisterResource(r[1]));
    raw_gl_image_delete(&p->gl, &image);
    p->gl.DeleteBuffers(1, &buffer);
}

/* As mpv does it: it maps once, takes the array, unmaps, and copies each frame into the array. */
GL_PAIR_CASE(copies_after_the_unmap, RAW_GL_CORE, .mark = TEST_BOTH)
{
    enum { SIZE = 64 };
    static uint8_t texels[SIZE * SIZE], found[SIZE * SIZE];
    raw_gl_image image;
    CUgraphicsResource r = NULL;
    CUarray array = NULL;
    raw_gl_kind flat = raw_gl_kinds[0];
    flat.width = flat.height = SIZE;
    flat.levels = 1;
    REQUIRE(raw_gl_image_make(&p->gl, &flat, raw_gl_format_named("GL_R8"), &image));
    CU_OK(p->cu->GraphicsGLRegisterImage(&r, image.name, flat.target, DISCARD));
    gl_pair_map_image(p, r);
    CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, r, 0, 0));
    CU_OK(gl_pair_unmap(p, r));
    for (int i = 0; i < 3; i++) {
        memset(texels, 0x10 * (i + 1), sizeof texels);
        const CUresult copied = raw_cuda_write_array(p->cu, array, texels, SIZE, SIZE);
        raw_gl_image_read(&p->gl, &image, 0, found);
        size_t bad = 0;
        for (size_t k = 0; k < sizeof found; k++)
            bad += found[k] != texels[k];
        ANSWER(answer_key("copy %d after the unmap", i), "%s, %zu of %zu texels wrong",
               raw_cuda_result_name(copied), bad, sizeof found);
    }
    CU_OK(p->cu->GraphicsUnregisterResource(r));
    raw_gl_image_delete(&p->gl, &image);
}

/* Turns ---------------------------------------------------------------------------------------- */

GL_PAIR_CASE(turns, RAW_GL_CORE, .mark = TEST_BOTH)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    size_t fds = 0;
    for (unsigned i = 0; i < 2000; i++) {
        CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
        CU_OK(gl_pair_map(p, r));
        CU_OK(gl_pair_unmap(p, r));
        CU_OK(p->cu->GraphicsUnregisterResource(r));
        if (i == 100) fds = test_open_fds();
    }
    ANSWER("more fds than after 100 turns", "%d", (int)(test_open_fds() - fds));
    REQUIRE_EQ(test_open_fds(), fds);
    p->gl.DeleteBuffers(1, &buffer);
}
