/* SPDX-License-Identifier: MIT */
/* Rings between processes whose consumer or producer is OpenGL: the slots are memory objects, and
 * CUDA of the same process waits and signals for it. */
#define TEST_GROUP "ring."
#include "gl_stage.h"
#include "ipc_stage.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { SLOTS = 3, WORDS = 12347, BYTES = 4 * WORDS };

typedef struct viewer {
    gl_stage s;
    culv_ipc_client *client;
    culv_ring *side;
    culv_gl_memory *memory[SLOTS];
    GLuint slots[SLOTS];
} viewer;

static void viewer_join(viewer *v, const char *name)
{
    v->client = ipc_client(v->s.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    LIB_OK(culv_ipc_ring_join(v->client, &d, IPC_FAR, &v->side));
}

static void viewer_receive(viewer *v)
{
    GL_OK(&v->s.gl, v->s.gl.CreateBuffers(SLOTS, v->slots));
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_gl_memory_desc m = culv_gl_memory_desc_init();
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, v->side, i, 0, IPC_FAR);
        LIB_OK(culv_ipc_object_get_handle(object, &m.handle));
        m.size = ipc_info_of(object).allocation_size;
        m.exporter = ipc_info_of(object).device;
        m.label = "slot";
        LIB_OK(culv_gl_memory_import(v->s.attachment, &m, &v->memory[i]));
        LIB_OK(culv_gl_memory_bind(v->memory[i], v->slots[i], 0, BYTES, NULL));
    }
}

/* Whatever of it is there. */
static void viewer_leave(viewer *v)
{
    gl_stage_finish(&v->s);
    culv_ring_destroy(&v->side, NULL);
    culv_ipc_client_destroy(&v->client);
    v->s.gl.DeleteBuffers(SLOTS, v->slots);
    memset(v->slots, 0, sizeof v->slots);
    for (uint32_t i = 0; i < SLOTS; i++)
        LIB_OK(culv_gl_memory_destroy(&v->memory[i]));
}

/* OpenGL as the producer: its buffers lie in the VMM memory of the slots. CUDA of its process waits
 * and signals for it. */
TEST(from_gl, .own = true, .smoke = true)
{
    static uint32_t words[WORDS];
    ipc_child child;
    char name[CULV_IPC_NAME_SIZE];
    gl_stage s;
    culv_gl_memory *memory[SLOTS];
    GLuint buffers[SLOTS];
    ipc_fork(&child, ipc_read_every, ipc_name(name, "from-gl"));
    gl_stage_open(&s, 0);
    ipc_end e = {.s.w = {.cu = s.cu, .device = s.device, .context = s.context}};
    e.server = ipc_server(s.device, name);
    ipc_ring_offer(&e, SLOTS, WORDS, 0);
    GL_OK(&s.gl, s.gl.CreateBuffers(SLOTS, buffers));
    for (uint32_t i = 0; i < SLOTS; i++) {
        LIB_OK(culv_gl_memory_from_vmm(s.attachment, e.memory[i], "slot", &memory[i]));
        LIB_OK(culv_gl_memory_bind(memory[i], buffers[i], 0, BYTES, NULL));
    }
    ipc_hear_serving(&child, 'j', e.server);
    for (uint32_t n = 0; n < IPC_FRAMES; n++) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, s.stream, IPC_FAR, &f));
        gl_stage_finish(&s); /* the reader is done */
        lib_fill(words, WORDS, n);
        raw_gl_write_buffer(&s.gl, buffers[f.slot], words, BYTES);
        s.gl.Finish();
        LIB_OK(culv_ring_release_on(e.ring, CULV_RING_PRODUCER, s.stream, &f));
    }
    ipc_hear_serving(&child, 'd', e.server);
    ipc_join_serving(&child, e.server);
    gl_stage_finish(&s);
    s.gl.DeleteBuffers(SLOTS, buffers);
    for (uint32_t i = 0; i < SLOTS; i++)
        LIB_OK(culv_gl_memory_destroy(&memory[i]));
    ipc_ring_close(&e);
    gl_stage_close(&s);
}

/* A solver that ends at some moment ----------------------------------------------------------- */

typedef enum ending {
    HOLDING, /* with a frame that it holds */
    READY,   /* with a frame that the viewer has */
    PENDING, /* the same, and the solver's GPU still works on it */
    JOINED,  /* when the viewer has joined and received nothing */
    NEVER,   /* it stays */
    ENDINGS
} ending;

static pthread_mutex_t stuck = PTHREAD_MUTEX_INITIALIZER;

static void CUDA_CB get_stuck(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

enum { BEFORE = 3 };

static ending how_it_ends; /* of the solver that is forked next */

static void solve(ipc_child *parent, const char *name)
{
    const ending how = how_it_ends;
    ipc_end e;
    ipc_hear(parent, 'g');
    ipc_end_serve(&e, NULL, name, false);
    ipc_ring_offer(&e, SLOTS, WORDS, 0);
    ipc_say(parent, 's');
    ipc_hear_serving(parent, 'j', e.server);
    if (how == JOINED) (void)raise(SIGKILL);
    ipc_hear_serving(parent, 'r', e.server);
    ipc_ring_produce(&e, BEFORE);
    if (how == HOLDING) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire_on(e.ring, CULV_RING_PRODUCER, e.stream, IPC_FAR, &f));
    }
    if (how == PENDING) {
        pthread_mutex_lock(&stuck);
        LIB_CU_OK(&e.s.w, e.s.w.cu->LaunchHostFunc(e.stream, get_stuck, &stuck));
    }
    if (how == PENDING || how == READY) ipc_ring_produce(&e, 1);
    ipc_say(parent, 'p');
    ipc_hear_serving(parent, 'e', e.server);
    if (how != NEVER) (void)raise(SIGKILL);
    ipc_end_close(&e);
}

/* OpenGL's wait, and its own work behind that: both end now and then to ask for the solver. */
static bool show(const viewer *v, culv_shared_semaphore *written, uint64_t turn, uint32_t slot,
                 uint32_t seed)
{
    static const uint64_t step = 1000000;
    static uint32_t words[WORDS];
    culv_result result;
    culv_gl_uses uses = culv_gl_uses_init();
    uses.num_buffers = 1;
    uses.buffers = &v->slots[slot];
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(written), v->s.stream, turn));
    while ((result = culv_gl_semaphore_wait(written, turn, step, &uses)) == CULV_ERROR_TIMEOUT)
        (void)culv_ipc_ring_connected(v->side);
    LIB_OK(result);
    GLsync fence = v->s.gl.FenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    while (v->s.gl.ClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, step) == GL_TIMEOUT_EXPIRED)
        (void)culv_ipc_ring_connected(v->side);
    v->s.gl.DeleteSync(fence);
    memset(words, 0, sizeof words);
    raw_gl_read_buffer(&v->s.gl, v->slots[slot], words, BYTES);
    if (!culv_ipc_ring_connected(v->side)) return false; /* what was moved on is not right */
    REQUIRE_WORDS(words, WORDS, seed);
    return true;
}

static void reap(const ipc_child *killed)
{
    int status = 0;
    while (waitpid(killed->pid, &status, 0) < 0)
        REQUIRE_EQ(errno, EINTR);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void outlive(viewer *v, const ipc_child *solver, ending how, culv_shared_semaphore *written,
                    uint64_t *turn)
{
    culv_ring_frame f;
    ipc_child with = *solver;
    viewer_receive(v);
    ipc_say(&with, 'r');
    for (uint32_t n = 0; n < BEFORE; n++) {
        LIB_OK(culv_ring_acquire_on(v->side, CULV_RING_CONSUMER, v->s.stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, n);
        REQUIRE(show(v, written, ++*turn, f.slot, n));
        LIB_OK(culv_ring_release_on(v->side, CULV_RING_CONSUMER, v->s.stream, &f));
    }
    ipc_hear(&with, 'p');
    const bool has_frame = how == READY || how == PENDING;
    if (has_frame)
        LIB_OK(culv_ring_acquire_on(v->side, CULV_RING_CONSUMER, v->s.stream, IPC_FAR, &f));
    ipc_say(&with, 'e');
    if (how == NEVER) return;
    if (how != PENDING) reap(solver); /* else it dies while OpenGL waits */
    if (has_frame) {
        REQUIRE(!show(v, written, ++*turn, f.slot, BEFORE));
        LIB_OK(culv_ring_release_on(v->side, CULV_RING_CONSUMER, v->s.stream, &f));
    }
    if (how == PENDING) reap(solver);
    LIB_ERROR(culv_ring_acquire_on(v->side, CULV_RING_CONSUMER, v->s.stream, IPC_FAR, &f), ASYNC,
              RING_STOPPED);
}

TEST(solver_dies, .own = true)
{
    ipc_child solver[ENDINGS];
    char name[CULV_IPC_NAME_SIZE];
    viewer v = {.client = NULL};
    uint64_t turn = 0;
    (void)ipc_name(name, "outlived");
    for (how_it_ends = HOLDING; how_it_ends < ENDINGS; how_it_ends++)
        ipc_fork(&solver[how_it_ends], solve, name);
    gl_stage_open(&v.s, 0);
    NEW(culv_shared_semaphore, written, culv_gl_semaphore_create, v.s.attachment, NULL);
    for (int how = 0; how < ENDINGS; how++) {
        culv_ipc_object *object = NULL;
        ipc_say(&solver[how], 'g');
        ipc_hear(&solver[how], 's');
        viewer_join(&v, name);
        ipc_say(&solver[how], 'j');
        if (how == JOINED) {
            reap(&solver[how]);
            LIB_ERROR(culv_ipc_ring_receive(v.side, 0, 0, IPC_FAR, &object), ASYNC, IPC_GONE);
        } else {
            outlive(&v, &solver[how], (ending)how, written, &turn);
        }
        viewer_leave(&v);
        if (how == NEVER) ipc_join(&solver[how]);
        ipc_forget(&solver[how]);
    }
    LIB_OK(culv_shared_semaphore_destroy(&written, NULL));
    gl_stage_close(&v.s);
}
