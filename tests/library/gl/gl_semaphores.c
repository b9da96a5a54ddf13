/* SPDX-License-Identifier: MIT */
/* Semaphores: the two sides in turn, with the data that each hands over; and refusals. */
#define TEST_GROUP "gl.semaphores."
#include "gl_stage.h"

#include <pthread.h>
#include <time.h>

enum { WORDS = 4096, BYTES = 4 * WORDS, FRAMES = 100 };
static uint32_t words[WORDS];

static culv_shared_buffer *make_buffer(const gl_stage *s)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.size = BYTES;
    LIB_OK(culv_gl_buffer_create(s->attachment, &d, &buffer));
    return buffer;
}

/* CUDA writes `a`, signals; OpenGL waits, copies it to `b`, signals; CUDA waits, reads `b`. One
 * semaphore a direction. */
static void turns(culv_semaphore_type type)
{
    gl_stage s;
    CUcontext before;
    culv_shared_semaphore *to_gl = NULL, *to_cuda = NULL;
    culv_gl_semaphore_create_desc d = culv_gl_semaphore_create_desc_init();
    gl_stage_open(&s, 0);
    d.type = type;
    culv_result result = culv_gl_semaphore_create(s.attachment, &d, &to_gl);
    if (type == CULV_SEMAPHORE_BINARY && result == CULV_ERROR_UNSUPPORTED) {
        LIB_SAYS("use a timeline");
        REQUIRE(s.cu->software && to_gl == NULL);
        gl_stage_close(&s);
        SKIP("no GL_EXT_semaphore here");
    }
    LIB_OK(result);
    LIB_OK(culv_gl_semaphore_create(s.attachment, &d, &to_cuda));
    printf("OpenGL waits on the %s\n", culv_gl_semaphore_waits_on_host(to_gl) ? "CPU" : "GPU");
    REQUIRE_EQ(culv_gl_semaphore_waits_on_host(to_gl), s.cu->software);
    culv_shared_buffer *a = make_buffer(&s), *b = make_buffer(&s);
    const uint32_t names[2] = {culv_gl_buffer_name(a), culv_gl_buffer_name(b)};
    culv_gl_uses uses = culv_gl_uses_init();
    uses.num_buffers = 2;
    uses.buffers = names;
    const bool timeline = type == CULV_SEMAPHORE_TIMELINE;
    for (uint32_t frame = 1; frame <= FRAMES; frame++) {
        const uint64_t value = timeline ? frame : 0;
        CU_OK(s.cu->CtxPushCurrent(s.context));
        gl_stage_pattern(words, WORDS, frame);
        CU_OK(s.cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(a), words, BYTES, s.stream));
        LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(to_gl), s.stream, value));
        LIB_OK(culv_gl_semaphore_wait(to_gl, value, CULV_GL_FOREVER, &uses));
        GL_OK(&s.gl, s.gl.CopyNamedBufferSubData(names[0], names[1], 0, 0, BYTES));
        LIB_OK(culv_gl_semaphore_signal(to_cuda, value, &uses));
        LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(to_cuda), s.stream, value));
        CU_OK(s.cu->StreamSynchronize(s.stream)); /* before `words` is used again */
        memset(words, 0, sizeof words);
        CU_OK(s.cu->MemcpyDtoHAsync(words, culv_shared_buffer_pointer(b), BYTES, s.stream));
        CU_OK(s.cu->StreamSynchronize(s.stream));
        CU_OK(s.cu->CtxPopCurrent(&before));
        REQUIRE_PATTERN(words, WORDS, frame);
    }
    LIB_OK(culv_shared_buffer_destroy(&a, NULL));
    LIB_OK(culv_shared_buffer_destroy(&b, NULL));
    s.gl.Finish();
    LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&to_cuda, &s.stream));
    gl_stage_close(&s);
}

TEST_AS(timelines, turns(CULV_SEMAPHORE_TIMELINE), .smoke = true)
TEST_AS(binaries, turns(CULV_SEMAPHORE_BINARY))

static void CUDA_CB held(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

/* A wait on the CPU ends with its time, changes nothing, and can be repeated. A wait on the GPU
 * does not make the host wait. */
GL_CASE(timed, 0)
{
    CUcontext before;
    culv_shared_semaphore *to_gl = NULL;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    LIB_OK(culv_gl_semaphore_create(s->attachment, NULL, &to_gl));
    culv_shared_buffer *buffer = make_buffer(s);
    const uint32_t name = culv_gl_buffer_name(buffer);
    culv_gl_uses uses = culv_gl_uses_init();
    uses.num_buffers = 1;
    uses.buffers = &name;
    for (uint32_t frame = 1; frame <= 3; frame++) {
        gl_stage_pattern(words, WORDS, frame);
        pthread_mutex_lock(&gate);
        CU_OK(s->cu->CtxPushCurrent(s->context));
        CU_OK(s->cu->LaunchHostFunc(s->stream, held, &gate));
        CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(buffer), words, BYTES, s->stream));
        CU_OK(s->cu->CtxPopCurrent(&before));
        LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(to_gl), s->stream, frame));
        if (culv_gl_semaphore_waits_on_host(to_gl)) {
            for (uint64_t timeout = 0; timeout <= 2000000; timeout += 1000000) {
                LIB_ERROR(culv_gl_semaphore_wait(to_gl, frame, timeout, &uses), TIMEOUT, NOT_READY,
                          "CUDA has signaled or promised");
            }
        } else {
            LIB_OK(culv_gl_semaphore_wait(to_gl, frame, 0, &uses));
        }
        pthread_mutex_unlock(&gate);
        LIB_OK(culv_gl_semaphore_wait(to_gl, frame, CULV_GL_FOREVER, &uses));
        gl_stage_finish(s); /* before `words` is used again */
        memset(words, 0, sizeof words);
        raw_gl_read_buffer(&s->gl, name, words, BYTES);
        REQUIRE_PATTERN(words, WORDS, frame);
    }
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
}

/* How much of `buffer` holds `frame`, as CUDA sees it while OpenGL still waits. */
static bool written(const gl_stage *s, culv_shared_buffer *buffer, CUstream stream, uint32_t frame)
{
    CUcontext before;
    memset(words, 0, sizeof words);
    CU_OK(s->cu->CtxPushCurrent(s->context));
    CU_OK(s->cu->MemcpyDtoHAsync(words, culv_shared_buffer_pointer(buffer), 1004, stream));
    CU_OK(s->cu->StreamSynchronize(stream));
    CU_OK(s->cu->CtxPopCurrent(&before));
    static uint32_t expected[251];
    gl_stage_pattern(expected, 251, frame);
    return memcmp(words, expected, sizeof expected) == 0;
}

/* A copy waits with OpenGL's queue; glNamedBufferSubData() of a few bytes does not on NVIDIA's
 * driver, as gl.md says. The value is signaled only after both have been looked at. */
GL_CASE(writes_behind_a_wait, 0)
{
    CUcontext before;
    CUstream beside = NULL;
    culv_shared_semaphore *to_gl = NULL;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    LIB_OK(culv_gl_semaphore_create(s->attachment, NULL, &to_gl));
    if (culv_gl_semaphore_waits_on_host(to_gl)) {
        LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
        SKIP("OpenGL waits on the CPU here");
    }
    culv_shared_buffer *copied = make_buffer(s), *poked = make_buffer(s), *own = make_buffer(s);
    const uint32_t names[3] = {culv_gl_buffer_name(copied), culv_gl_buffer_name(poked),
                               culv_gl_buffer_name(own)};
    gl_stage_pattern(words, WORDS, 2);
    CU_OK(s->cu->CtxPushCurrent(s->context));
    CU_OK(s->cu->StreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(own), words, BYTES, beside));
    CU_OK(s->cu->StreamSynchronize(beside));
    gl_stage_pattern(words, WORDS, 1);
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(copied), words, BYTES, beside));
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(poked), words, BYTES, beside));
    CU_OK(s->cu->StreamSynchronize(beside));
    pthread_mutex_lock(&gate);
    CU_OK(s->cu->LaunchHostFunc(s->stream, held, &gate));
    CU_OK(s->cu->CtxPopCurrent(&before));
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(to_gl), s->stream, 1));
    LIB_OK(culv_gl_semaphore_wait(to_gl, 1, CULV_GL_FOREVER, NULL));
    gl_stage_pattern(words, WORDS, 2);
    GL_OK(&s->gl, s->gl.NamedBufferSubData(names[1], 0, 1004, words));
    GL_OK(&s->gl, s->gl.CopyNamedBufferSubData(names[2], names[0], 0, 0, 1004));
    s->gl.Flush();
    bool early = false;
    for (int look = 0; look < 1000 && !early; look++)
        early = written(s, poked, beside, 2);
    const bool copy_early = !written(s, copied, beside, 1);
    pthread_mutex_unlock(&gate);
    s->gl.Finish();
    printf("glNamedBufferSubData waits: %s\n", early ? "no" : "yes");
    REQUIRE(!copy_early);
    REQUIRE(early || s->cu->software);
    REQUIRE(written(s, copied, beside, 2) && written(s, poked, beside, 2));
    gl_stage_finish(s);
    CU_OK(s->cu->CtxPushCurrent(s->context));
    CU_OK(s->cu->StreamDestroy(beside));
    CU_OK(s->cu->CtxPopCurrent(&before));
    LIB_OK(culv_shared_buffer_destroy(&copied, NULL));
    LIB_OK(culv_shared_buffer_destroy(&poked, NULL));
    LIB_OK(culv_shared_buffer_destroy(&own, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
}

/* What CUDA has signaled, seen by OpenGL or not, or was told to signal. The one exception: CUDA
 * waits for the value itself before it signals more. */
TEST(backwards)
{
    enum { SIGNALED, PENDING, ANSWERS };
    for (int how = SIGNALED; how <= ANSWERS; how++) {
        gl_stage s;
        culv_shared_semaphore *semaphore = NULL, *gate = NULL;
        gl_stage_open(&s, 0);
        LIB_OK(culv_gl_semaphore_create(s.attachment, NULL, &semaphore));
        LIB_OK(culv_gl_semaphore_create(s.attachment, NULL, &gate));
        culv_semaphore *cuda = culv_shared_semaphore_cuda(semaphore);
        if (how == PENDING)
            LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s.stream, 1));
        if (how == ANSWERS) LIB_OK(culv_semaphore_wait(cuda, s.stream, 3));
        LIB_OK(culv_semaphore_signal(cuda, s.stream, 5));
        if (how == SIGNALED) gl_stage_finish(&s);
        if (how != ANSWERS) {
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 3, NULL), TIMELINE_BACKWARDS,
                        "the value 3 does not exceed 5, which was signaled or promised before");
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 5, NULL), TIMELINE_BACKWARDS);
        } else {
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 4, NULL), TIMELINE_BACKWARDS);
            LIB_OK(culv_gl_semaphore_signal(semaphore, 3, NULL));
        }
        LIB_OK(culv_gl_semaphore_signal(gate, 1, NULL));
        gl_stage_finish(&s);
        LIB_OK(culv_gl_semaphore_signal(semaphore, 6, NULL));
        LIB_OK(culv_gl_semaphore_wait(semaphore, 6, CULV_GL_FOREVER, NULL));
        s.gl.Finish();
        LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
        LIB_OK(culv_shared_semaphore_destroy(&gate, NULL));
        gl_stage_close(&s);
    }
}

GL_CASE(refused, 0)
{
    culv_shared_semaphore *semaphore = NULL;
    culv_gl_semaphore_create_desc d = culv_gl_semaphore_create_desc_init();
    culv_gl_uses uses = culv_gl_uses_init();
    d.initial_value = 5;
    LIB_OK(culv_gl_semaphore_create(s->attachment, &d, &semaphore));
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 5, NULL), TIMELINE_BACKWARDS);
    LIB_OK(culv_gl_semaphore_signal(semaphore, 6, NULL));
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 6, NULL), TIMELINE_BACKWARDS);
    LIB_INVALID(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s->stream, 6),
                TIMELINE_BACKWARDS);
    uses.num_buffers = 1;
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 7, &uses), NULL_ARGUMENT);
    LIB_INVALID(culv_gl_semaphore_wait(semaphore, 6, 0, &uses), NULL_ARGUMENT);
    uint32_t many[65] = {0};
    uses = culv_gl_uses_init();
    uses.num_textures = 65;
    uses.textures = many;
    LIB_INVALID(culv_gl_semaphore_wait(semaphore, 6, 0, &uses), VALUE);
    LIB_OK(culv_gl_semaphore_wait(semaphore, 6, 0, NULL));
    culv_semaphore *half = culv_shared_semaphore_cuda(semaphore);
    culv_semaphore_destroy(&half, NULL); /* refused: both halves go together */
    REQUIRE(half != NULL);
    LIB_SAYS("culv_shared_semaphore_destroy");
    raw_gl_current(&s->gl, NULL);
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 8, NULL), CONTEXT);
    LIB_INVALID(culv_shared_semaphore_destroy(&semaphore, NULL), CONTEXT);
    raw_gl_current(&s->gl, s->gl.context);
    s->gl.Finish();
    LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
}
