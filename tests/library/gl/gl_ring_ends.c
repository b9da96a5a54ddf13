/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and OpenGL that end before their time: stopped while a side waits, or with
 * CUDA's context lost. No call hangs, and nothing is left. */
#define TEST_GROUP "gl.ring_ends."
#include "gl_stage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 1021, BYTES = 4 * WORDS, DEPTH = 3 };

typedef struct ends {
    gl_stage s;
    culv_ring *ring;
} ends;

static const uint64_t FAR = TEST_FAR_MS * UINT64_C(1000000);

static void ends_open(ends *e, culv_gl_way way)
{
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    culv_gl_buffer_create_desc b = culv_gl_buffer_create_desc_init();
    const culv_gl_ring_resource resource = {.buffer = &b};
    gl_stage_open(&e->s, 0);
    b.size = BYTES;
    d.max_depth = DEPTH;
    d.resources = &resource;
    d.num_resources = 1;
    d.way = way;
    d.label = "frames";
    LIB_OK(culv_gl_ring_create(e->s.attachment, &d, &e->ring));
}

/* CUDA's turn, without a wait for the GPU. */
static void produce(const ends *e)
{
    culv_ring_frame f;
    CUcontext before;
    LIB_OK(culv_ring_acquire_on(e->ring, CULV_RING_PRODUCER, e->s.stream, FAR, &f));
    CU_OK(e->s.cu->CtxPushCurrent(e->s.context));
    CU_OK(e->s.cu->MemsetD32Async(culv_ring_pointer(e->ring, f.slot, 0), 7 + (unsigned)f.number,
                                  WORDS, e->s.stream));
    CU_OK(e->s.cu->CtxPopCurrent(&before));
    LIB_OK(culv_ring_release_on(e->ring, CULV_RING_PRODUCER, e->s.stream, &f));
}

/* OpenGL's turn: the frame's words. */
static void consume(const ends *e)
{
    static uint32_t words[WORDS];
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire(e->ring, CULV_RING_CONSUMER, FAR, &f));
    memset(words, 0, sizeof words);
    raw_gl_read_buffer(&e->s.gl, culv_gl_ring_name(e->ring, f.slot, 0), words, BYTES);
    for (uint32_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(words[i], 7 + f.number);
    LIB_OK(culv_ring_release(e->ring, CULV_RING_CONSUMER, &f));
}

/* Stopped -------------------------------------------------------------------------------------- */

typedef enum waiting {
    FOR_A_FRAME, /* OpenGL, for CUDA's host code */
    FOR_A_SLOT,  /* CUDA, for OpenGL's host code */
    FOR_WORK,    /* OpenGL on the CPU, for CUDA's work */
    WAITINGS
} waiting;

static void CUDA_CB held(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

typedef struct stopper {
    culv_ring *ring;
    int waiter; /* its thread */
} stopper;

/* Without a context of OpenGL's or of CUDA's. */
static void *stop(void *argument)
{
    const stopper *s = argument;
    if (s->waiter != 0)
        (void)test_asleep(0, s->waiter, 20);
    else
        lib_sleep_ms(20); /* a driver that waits may not sleep; the answer is the same */
    LIB_OK(culv_ring_stop(s->ring));
    return NULL;
}

TEST(stopped)
{
    for (int way = CULV_GL_WAY_MEMORY; way <= CULV_GL_WAY_STAGED; way++)
        for (int what = FOR_A_FRAME; what < WAITINGS; what++) {
            ends e = {.ring = NULL};
            pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
            pthread_t thread;
            culv_ring_frame f;
            CUcontext before;
            ends_open(&e, (culv_gl_way)way);
            produce(&e);
            consume(&e);
            const bool late = what == FOR_WORK && culv_gl_ring_waits_on_host(e.ring);
            if (late) {
                pthread_mutex_lock(&gate);
                CU_OK(e.s.cu->CtxPushCurrent(e.s.context));
                CU_OK(e.s.cu->LaunchHostFunc(e.s.stream, held, &gate));
                CU_OK(e.s.cu->CtxPopCurrent(&before));
                produce(&e);
            }
            for (int i = 0; what == FOR_A_SLOT && i < DEPTH; i++)
                produce(&e);
            stopper s = {e.ring, late ? 0 : (int)syscall(SYS_gettid)};
            REQUIRE_EQ(pthread_create(&thread, NULL, stop, &s), 0);
            LIB_ERROR(what == FOR_A_SLOT
                          ? culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, e.s.stream,
                                                 CULV_RING_FOREVER, &f)
                          : culv_ring_acquire(e.ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &f),
                      CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
            REQUIRE_EQ(pthread_join(thread, NULL), 0);
            LIB_ERROR(culv_ring_acquire(e.ring, CULV_RING_CONSUMER, 0, &f), CULV_ERROR_ASYNC,
                      CULV_REASON_RING_STOPPED);
            LIB_ERROR(culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, e.s.stream, 0, &f),
                      CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
            if (late) pthread_mutex_unlock(&gate);
            LIB_OK(culv_ring_destroy(&e.ring));
            REQUIRE(e.ring == NULL);
            gl_stage_close(&e.s);
        }
}

/* CUDA's context is lost ----------------------------------------------------------------------- */

typedef enum state {
    IDLE,
    CUDA_HOLDS, /* CUDA has a slot, which is mapped in the way REGISTER */
    GL_HOLDS,
    READY, /* frames that OpenGL has not taken */
    STATES
} state;

TEST(cuda_lost, .own = true)
{
    if (!lib_driver()->software) SKIP("stale handles are undefined on NVIDIA's driver");
    for (int way = CULV_GL_WAY_MEMORY; way <= CULV_GL_WAY_STAGED; way++)
        for (int in = IDLE; in < STATES; in++) {
            ends e = {.ring = NULL};
            culv_ring_frame mine, f;
            ends_open(&e, (culv_gl_way)way);
            produce(&e);
            consume(&e);
            if (in == CUDA_HOLDS)
                LIB_OK(culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, e.s.stream, FAR, &mine));
            if (in == GL_HOLDS || in == READY) produce(&e);
            if (in == GL_HOLDS) LIB_OK(culv_ring_acquire(e.ring, CULV_RING_CONSUMER, FAR, &mine));
            gl_stage_finish(&e.s);
            e.s.gl.Finish();
            CU_OK(e.s.cu->DevicePrimaryCtxReset(lib_caps(e.s.device).ordinal));
            culv_result result = CULV_OK; /* an acquire that waits for nothing asks nobody */
            if (in != CUDA_HOLDS)
                result = culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, e.s.stream,
                                              CULV_RING_FOREVER, &mine);
            if (result == CULV_OK)
                result = culv_ring_release_on(e.ring, CULV_RING_PRODUCER, e.s.stream, &mine);
            REQUIRE_EQ(result, CULV_ERROR_ASYNC);
            LIB_SAYS("was reset or destroyed");
            /* OpenGL's side learns of it, or has its frame; it does not wait for ever. */
            if (in == GL_HOLDS) (void)culv_ring_release(e.ring, CULV_RING_CONSUMER, &mine);
            for (int i = 0; i <= DEPTH; i++)
                if (culv_ring_acquire(e.ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &f) !=
                        CULV_OK ||
                    culv_ring_release(e.ring, CULV_RING_CONSUMER, &f) != CULV_OK)
                    break;
            (void)culv_ring_drain(e.ring, 0, 1);
            LIB_OK(culv_ring_destroy(&e.ring));
            REQUIRE(e.ring == NULL);
            culv_gl_detach(&e.s.attachment);
            culv_device_close(&e.s.device);
            gl_stage_close_context(&e.s);
        }
}

/* OpenGL's context is lost --------------------------------------------------------------------- */

static void lose(gl_stage *s)
{
    raw_gl_current(&s->gl, NULL);
    raw_gl_destroy(&s->gl, s->gl.context);
    s->gl.context = NULL;
    s->gl.context = raw_gl_another(&s->gl, false);
    raw_gl_current(&s->gl, s->gl.context);
    culv_gl_lose_contexts(s->attachment);
    s->before = lying_gl_count(); /* they go with the context */
}

typedef struct sleeper {
    const ends *e;
    culv_result result;
    culv_reason reason;
    atomic_int thread;
} sleeper;

static void *acquire_for_ever(void *argument)
{
    sleeper *s = argument;
    culv_ring_frame f;
    culv_error error = culv_error_init();
    atomic_store(&s->thread, (int)syscall(SYS_gettid));
    s->result =
        culv_ring_acquire_on(s->e->ring, CULV_RING_PRODUCER, s->e->s.stream, CULV_RING_FOREVER, &f);
    culv_last_error(&error);
    s->reason = error.reason;
    return NULL;
}

/* CUDA's thread waits for a slot that OpenGL has; it needs no context of OpenGL's but in the way
 * REGISTER. CUDA's stream waits for a signal that OpenGL never makes. */
TEST(gl_lost, .own = true)
{
    for (int way = CULV_GL_WAY_MEMORY; way <= CULV_GL_WAY_STAGED; way++) {
        ends e = {.ring = NULL};
        culv_ring_frame f;
        pthread_t thread;
        sleeper s = {.e = &e};
        culv_shared_semaphore *alone = NULL;
        ends_open(&e, (culv_gl_way)way);
        LIB_OK(culv_gl_semaphore_create(e.s.attachment, NULL, &alone));
        for (int i = 0; i < DEPTH; i++)
            produce(&e);
        LIB_OK(culv_ring_acquire(e.ring, CULV_RING_CONSUMER, FAR, &f));
        gl_stage_finish(&e.s);
        if (way != CULV_GL_WAY_REGISTER) {
            REQUIRE_EQ(pthread_create(&thread, NULL, acquire_for_ever, &s), 0);
            while (atomic_load(&s.thread) == 0)
                lib_sleep_ms(1);
            (void)test_asleep(0, atomic_load(&s.thread), 20);
        }
        LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(alone), e.s.stream, 3));
        if (way == CULV_GL_WAY_MEMORY)
            LIB_OK(culv_semaphore_wait(culv_ring_semaphore(e.ring, CULV_RING_CONSUMER), e.s.stream,
                                       1));
        lose(&e.s);
        if (way != CULV_GL_WAY_REGISTER) {
            REQUIRE_EQ(pthread_join(thread, NULL), 0);
            REQUIRE_EQ(s.result, CULV_ERROR_ASYNC);
            REQUIRE_EQ(s.reason, CULV_REASON_RING_STOPPED);
        }
        LIB_INVALID(culv_ring_acquire(e.ring, CULV_RING_CONSUMER, 0, &f), CULV_REASON_CONTEXT);
        gl_stage_finish(&e.s);
        LIB_OK(culv_shared_semaphore_destroy(&alone));
        LIB_OK(culv_ring_destroy(&e.ring));
        gl_stage_close(&e.s);
    }
}
