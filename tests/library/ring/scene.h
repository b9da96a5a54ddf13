/* SPDX-License-Identifier: MIT */
/* A GPU that is simulated, with a clock of the test's, for what a ring chooses: one engine
 * that both sides take turns on, and a host of one thread that wakes late. */
#ifndef CULVERT_TESTS_RING_SCENE_H_
#define CULVERT_TESTS_RING_SCENE_H_

#include "fake_ring.h"
#include "ring/ring.h"

enum { SCENE_FRAMES = 40000, SCENE_DEPTH = 32 };

/* Times in nanoseconds. */
typedef struct scene {
    double work[2], change; /* a frame's on a side; from side to side */
    double host, wake;      /* a call; how late the host wakes, on average */
    double noise;           /* of work, and ten times that of changes */
    uint64_t timeout;       /* of acquires: 0, the host asks again and again */
    bool flushes;           /* each frame is handed over by itself */
    uint32_t ahead;         /* so many frames are produced before the first is consumed */
    /* The counter of `ready` shows what it was at a multiple of this; 0: it is right */
    double stale;
    double signal;  /* from a signal to the start of what waits for it on the GPU */
    double slicing; /* a burst that could begin while the other side ran takes so much longer */
    bool apart;     /* as if another thread drove the consumer's side */
    bool back;      /* CUDA has the consumer's side, Vulkan the producer's */
    bool naps;      /* the host looks for CUDA's signals, as host_wait.c does */
    uint64_t seed;
    double now, engine;
    int last;                   /* on the engine */
    double at[2][SCENE_FRAMES]; /* when a timeline's values are reached */
    uint64_t values[2];         /* submitted */
    double begun[SCENE_FRAMES], ended[SCENE_FRAMES];
    uint32_t first[2], count[2]; /* of each side's burst */
    uint64_t wait[2];
    culv_ring *ring;
    uint32_t changes; /* of depth or burst */
} scene;

typedef struct scene_load {
    double solver, renderer, change; /* microseconds */
} scene_load;

typedef struct scene_line {
    int side;
} scene_line;

typedef struct opened {
    ring_stage rs;
    scene_line lines[2];
} opened;

void set_load(scene *s, const scene_load *l);
void begin_scene(scene *s, const scene_load *l, uint64_t seed);
/* A ring of SCENE_DEPTH slots. The scene's clock runs until another scene is opened. */
void open_scene(opened *o, scene *s, const culv_ring_settings *settings);
void scene_nap(culv_ring *ring, uint64_t ns);
/* Goes on with another scene's clock. */
void scene_enter(scene *s);
/* One thread: a burst of the producer's, a burst of the consumer's. Returns the number of the next
 * frame. */
uint32_t run_scene(scene *s, uint32_t from, uint32_t frames);
double age_p99(const scene *s, uint32_t from, uint32_t to);
double frame_time(const scene *s, uint32_t from, uint32_t to);

#endif
