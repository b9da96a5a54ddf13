/* SPDX-License-Identifier: MIT */
/* observer's solver: it makes a step into a free slot, over and over. Each slot is a vector that
 * grows. Viewers come and go, and no step waits for one. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../common/cuda_side.h"
#include "observer.h"
#include "particle.h"

enum { BLOCK = 256 };

typedef struct solver {
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_kernels *kernels;
    CUfunction step;
    CUstream stream;
    culv_ipc_server *server;
    culv_ring *ring;
    culv_vector *slots[OBSERVER_SLOTS];
    uint64_t steps, late;
    uint32_t most_viewers;
} solver;

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

void observer_vector_name(char out[64], uint32_t slot)
{
    snprintf(out, 64, "particles.%u", slot);
}

static bool open_device(solver *s, const options *o)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = (culv_driver)o->driver;
    return interop_allow_twin(o->driver) &&
           culv_ok(culv_device_open_by_ordinal(0, &desc, &s->device), "culv_device_open") &&
           interop_enter_device(s->device, &s->cu, &s->callers_context) &&
           interop_load_kernels(s->device, "observer", &s->kernels) &&
           interop_kernel(s->kernels, "observer_step", &s->step) &&
           cuda_ok(s->cu, s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING),
                   "cuStreamCreate");
}

static bool offer(solver *s, const options *o)
{
    culv_ipc_server_desc server = culv_ipc_server_desc_init();
    culv_ipc_ring_desc ring = culv_ipc_ring_desc_init();
    server.name = o->name;
    ring.name = OBSERVER_RING;
    ring.num_slots = OBSERVER_SLOTS;
    ring.max_consumers = OBSERVER_VIEWERS;
    if (!culv_ok(culv_ipc_server_create(s->device, &server, &s->server), "the server") ||
        !culv_ok(culv_ipc_ring_create(s->server, &ring, &s->ring), "the ring"))
        return false;
    for (uint32_t i = 0; i < OBSERVER_SLOTS; i++) {
        char name[64];
        culv_vector_desc vector = culv_vector_desc_init();
        vector.reserve = o->particles * sizeof(particle);
        vector.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
        vector.growth_percent = 25;
        vector.no_move = 1;
        observer_vector_name(name, i);
        culv_ipc_info info = culv_ipc_info_named(name);
        info.element_size = sizeof(particle);
        if (!culv_ok(culv_vector_create(s->device, &vector, &s->slots[i]), "a vector") ||
            !culv_ok(culv_ipc_offer(s->server, &info, culv_ipc_from_vector(s->slots[i])),
                     "culv_ipc_offer"))
            return false;
    }
    return true;
}

/* Waits for the stream's work, which waits for no viewer, and answers viewers meanwhile. */
static bool wait_for_stream(solver *s, const options *o)
{
    const double until = clock_seconds() + (double)o->patience;
    do {
        const CUresult result = s->cu->cuStreamQuery(s->stream);
        if (result != CUDA_ERROR_NOT_READY) return cuda_ok(s->cu, result, "cuStreamQuery");
        if (!culv_ok(culv_ipc_server_poll(s->server, 100000, NULL), "culv_ipc_server_poll"))
            return false;
    } while (clock_seconds() < until);
    report("the GPU has not done its work in %llu s", (unsigned long long)o->patience);
    return false;
}

static bool make_step(solver *s, const options *o, uint32_t *last)
{
    culv_ring_frame frame;
    uint64_t old = s->steps * o->births, count = old + o->births;
    if (old > o->particles) old = o->particles;
    if (count > o->particles) count = o->particles;
    /* It answers viewers as well. There is a slot for each of them and one more. */
    culv_result result = culv_ring_acquire_on(s->ring, CULV_RING_PRODUCER, s->stream, 0, &frame);
    if (result == CULV_ERROR_TIMEOUT) {
        s->late++; /* never, as viewers ask for the newest frame */
        return true;
    }
    if (!culv_ok(result, "culv_ring_acquire_on") ||
        !culv_ok(culv_vector_grow(s->slots[frame.slot], count * sizeof(particle)),
                 "culv_vector_grow"))
        return false;
    CUdeviceptr before = culv_vector_pointer(s->slots[*last]),
                after = culv_vector_pointer(s->slots[frame.slot]);
    int numbers[2] = {(int)old, (int)count};
    unsigned step = (unsigned)frame.number;
    float dt = 0.004f;
    void *parameters[] = {&before, &after, &numbers[0], &numbers[1], &step, &dt};
    if (!cuda_ok(s->cu,
                 s->cu->cuLaunchKernel(s->step, ((unsigned)count + BLOCK - 1) / BLOCK, 1, 1, BLOCK,
                                       1, 1, 0, s->stream, parameters, NULL),
                 "cuLaunchKernel") ||
        !culv_ok(culv_ring_release_on(s->ring, CULV_RING_PRODUCER, s->stream, &frame),
                 "culv_ring_release_on"))
        return false;
    *last = frame.slot;
    s->steps++;
    if (culv_ipc_ring_consumers(s->ring, NULL, 0) > s->most_viewers)
        s->most_viewers = culv_ipc_ring_consumers(s->ring, NULL, 0);
    /* A queue of a few steps is enough. Nothing waits then, and what viewers left behind goes. */
    if (s->steps % 4 != 0) return true;
    if (!wait_for_stream(s, o)) return false;
    (void)culv_device_collect(s->device);
    return true;
}

static void rest(const options *o, double began, uint64_t steps)
{
    if (o->rate == 0) return;
    double left = began + (double)steps / (double)o->rate - clock_seconds();
    if (left <= 0.0) return;
    struct timespec t = {.tv_nsec = left < 0.9 ? (long)(1e9 * left) : 900000000};
    nanosleep(&t, NULL);
}

static void tear_down(solver *s, const options *o)
{
    if (s->ring) (void)wait_for_stream(s, o);
    culv_ring_destroy(&s->ring, NULL);
    culv_ipc_server_destroy(&s->server);
    for (uint32_t i = 0; i < OBSERVER_SLOTS; i++)
        culv_vector_destroy(&s->slots[i], NULL);
    if (s->stream) (void)s->cu->cuStreamDestroy(s->stream);
    culv_kernels_unload(&s->kernels);
    interop_close_device(&s->device, s->cu, s->callers_context);
}

bool solver_run(const options *o)
{
    solver s = {.device = NULL};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    bool fine = open_device(&s, o) && offer(&s, o);
    uint32_t last = 0;
    double began = clock_seconds();
    while (fine && !stop) {
        fine = make_step(&s, o, &last);
        rest(o, began, s.steps);
    }
    uint64_t count = s.steps * o->births < o->particles ? s.steps * o->births : o->particles;
    if (fine)
        printf("solver: %llu steps, %llu particles, at most %u viewers at a time, %llu steps "
               "waited for a viewer\n",
               (unsigned long long)s.steps, (unsigned long long)count, s.most_viewers,
               (unsigned long long)s.late);
    tear_down(&s, o);
    return fine;
}
