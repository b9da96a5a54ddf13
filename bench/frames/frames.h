/* SPDX-License-Identifier: MIT */
/* culvert-bench: frames flow from a CUDA solver to a Vulkan renderer, by every scheme there is. A
 * scheme runs a number of frames, from their first call to the end of the last one's work; schemes
 * take turns, round after round, so that what the machine does besides happens to all of them. */
#ifndef CULVERT_BENCH_FRAMES_H_
#define CULVERT_BENCH_FRAMES_H_

#include "measure.h"
#include "renderer.h"
#include "solver.h"

#include <culvert/ring.h>
#include <culvert/vulkan_ring.h>

enum {
    FRAMES_MAX = 2048,  /* of one run, whose times are taken and whose command buffers are there */
    FRAMES_ROUNDS = 64, /* at most */
    FRAMES_LEAD = 2,    /* depths that the host may be ahead of the renderer: the ring's default */
};

/* What is carried, and how long either side takes over it. */
typedef struct workload {
    uint64_t bytes;                /* of a frame, a multiple of 16 */
    double solver_us, renderer_us; /* wanted */
    solver_work work;
    uint32_t parts; /* renderer::parts; 0: 1 */
    bool back;      /* from Vulkan to CUDA: the solver reads what the renderer writes */
    uint32_t solver_iterations, renderer_iterations;
} workload;

/* Who waits. All zero: the GPU. */
typedef struct tuning {
    bool renderer_late; /* submitted when the host has seen that the frames are there */
    bool solver_late;   /* launched when the host has seen that the slots are free */
    bool host_waits;    /* for each burst, by the timeline `done` */
    /* The kernel is on a second stream, ordered by events or by culv_stream_wait_stream() */
    enum { ONE_STREAM, BY_EVENTS, BY_CULVERT } streams;
} tuning;

struct run;

typedef struct scheme {
    const char *name;
    /* NULL: yes. Otherwise why this machine cannot have it; NULL when it can. */
    const char *(*obstacle)(const struct run *run);
    void (*prepare)(struct run *run); /* NULL: nothing */
    void (*go)(struct run *run);      /* what is timed: all frames, to the end of their work */
    void (*finish)(struct run *run);  /* NULL: nothing */
    bool no_solver, no_renderer;      /* one side alone */
    bool unchecked;                   /* the renderer has nothing to check */
    bool in_queue;                    /* the solver runs in a queue of Vulkan's */
    /* A run may be longer than FRAMES_MAX; the times are the first ones' */
    bool endless;
} scheme;

typedef struct config {
    const scheme *scheme;
    const char *variant; /* "" for most */
    uint32_t depth, burst;
    uint32_t frames; /* of a run */
    /* The first of them, which are not measured: the ring chooses meanwhile */
    uint32_t settle;
    uint64_t max_latency; /* nanoseconds; the ring chooses depth and burst */
    tuning tuning;
} config;

/* What a ring chose. */
typedef struct ring_choice {
    uint32_t depth, burst;
} ring_choice;

typedef struct samples {
    size_t n, capacity;
    double *values;
} samples;

void samples_add(samples *s, double value);
/* 0 of none. */
double samples_quantile(const samples *s, double q);

/* What the runs of a configuration gave. */
typedef struct outcome {
    config config;
    size_t rounds;
    double us[FRAMES_ROUNDS];    /* a frame: the whole run over its frames */
    double ratio[FRAMES_ROUNDS]; /* of the same round's ideal */
    /* Microseconds of the calling thread a frame, from the first call to the last's return */
    double cpu[FRAMES_ROUNDS];
    /* From the end of one frame's drawing to the end of the next's */
    samples interval;
    /* From the end of the solver to the beginning of the drawing */
    samples hand_over;
    /* From the beginning of the solver to the end of the drawing */
    samples age;
    /* Frames that were checked, pixels that saw another or a torn one */
    uint64_t checked, wrong;
    ring_choice chosen;   /* at the end of the last run */
    const char *obstacle; /* NULL: it ran */
} outcome;

/* How Vulkan's device clock and CUDA's global timer compare. */
typedef struct clocks {
    bool known;
    bool same;     /* one clock, as far as can be told */
    double offset; /* nanoseconds to be subtracted from Vulkan's */
    double error;  /* of it */
} clocks;

/* Loads that were calibrated already. */
typedef struct calibrations {
    size_t num;
    struct {
        double us;
        uint64_t bytes; /* 0: whatever they are */
        int kind, work;
        uint32_t parts; /* of the renderer's */
        uint32_t iterations;
    } known[64];
} calibrations;

typedef struct frames_bench {
    bench bench; /* the rig, options, random numbers, text */
    device_options device;
    solver solver;
    renderer renderer;
    queue_solver queue_solver;
    reader reader;
    clocks clocks;
    calibrations calibrations;
    /* The slots, of one size. */
    uint32_t num_slots;
    uint64_t slot_bytes;
    culv_shared_buffer *slots[RENDERER_SLOTS];
    CUdeviceptr pointers[RENDERER_SLOTS];
    VkBuffer buffers[RENDERER_SLOTS];
    VkDeviceAddress addresses[RENDERER_SLOTS]; /* 0 without kernels in command buffers */
    rig_timeline ready, done;                  /* for the schemes that are written by hand */
    uint32_t next_number;                      /* of the next run's first frame */
    size_t rounds;
    uint32_t frames;
} frames_bench;

/* One run of one configuration. */
typedef struct run {
    frames_bench *b;
    const workload *w;
    const config *c;
    uint32_t base; /* number of the first frame */
    VkCommandBuffer *commands;
    double cpu_us; /* a frame */
    /* Of what is timed: where bursts end, settling may take a few more than it is to */
    uint32_t first;
    double begun, cpu_begun;
    ring_choice chosen;
    void *own; /* the scheme's */
} run;

void frames_open(frames_bench *b, int ordinal);
void frames_close(frames_bench *b);
/* At least `count` slots of this size; false: there is no room for them. */
bool frames_slots(frames_bench *b, uint32_t count, uint64_t bytes);
/* Also chooses the solver's work. */
void frames_calibrate(frames_bench *b, workload *w);

/* Runs each configuration once a round, in an order drawn anew for each, and fills the outcomes in.
 * The first two are solver and renderer alone: what is ideal is their sum. Fails where a frame was
 * lost or torn. */
void frames_measure(frames_bench *b, const workload *w, outcome *outcomes, size_t count,
                    size_t rounds);
void outcome_free(outcome *o);

clocks clocks_compare(frames_bench *b);

/* The schemes ---------------------------------------------------------------------------------- */

extern const scheme scheme_solver_alone, scheme_renderer_alone;
extern const scheme scheme_host_waits, scheme_raw, scheme_ring;
/* The solver in the renderer's command buffer, and on the compute queue. */
extern const scheme scheme_raw_in_queue, scheme_in_queue, scheme_raw_async, scheme_async;
/* From Vulkan to CUDA: of a workload that goes back. */
extern const scheme scheme_back_host_waits, scheme_back_ring, scheme_back_in_queue;

/* The solver's turn of a workload that goes back. */
void run_read(const run *r, CUstream stream, solver_job job);

/* What they are made of, inline as in a loop written by hand. */
static inline void run_launch(const run *r, CUstream stream, uint32_t slot, uint32_t frame)
{
    const frames_bench *b = r->b;
    const solver_job job =
        solver_job_of(&b->solver, b->pointers[slot], r->w->bytes, r->base + frame,
                      r->w->solver_iterations, frame < b->solver.num_times ? frame : SOLVER_NO_LOG);
    if (r->w->back)
        run_read(r, stream, job);
    else
        solver_launch(&b->solver, stream, job);
}

/* The command buffers of a whole run, frame n in slot n modulo depth. */
void run_record(run *r);

/* Call it when a run of very many frames has done n of them and the renderer's queue is idle. It
 * writes a line to stderr every 100,352 frames. The line says what is proved so far, so that a run
 * that is cut off proves something. */
void run_tell(const run *r, uint32_t n);
/* Times from here on: the frames before `first` are done, which settled it. */
void run_begins(run *r, uint32_t first);
/* All is submitted; what comes yet is waiting. */
void run_issued(run *r);

/* What rings have in common, in whichever direction frames go. */

/* run::own of a culv_ring. */
typedef struct ring_run {
    culv_ring *ring;
    CUstream second; /* the kernel's; NULL: it is on the ring's */
    CUevent events[2];
} ring_run;

void ring_finish(run *r);

/* NCCL between two GPUs of this process: libnccl.so.2, opened at run time, if there is one. */

typedef struct nccl {
    void *library;
    void *communicators[2];
    int (*init)(void **out, int count, const int *devices);
    int (*destroy)(void *communicator);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(const void *from, size_t count, int type, int peer, void *communicator,
                CUstream stream);
    int (*receive)(void *to, size_t count, int type, int peer, void *communicator, CUstream stream);
    const char *(*text)(int result);
} nccl;

/* False, and `why`: there is none. The context that is current stays so. */
bool nccl_open(nccl *n, const raw_cuda *cu, int sender, int receiver, char why[96]);
void nccl_close(nccl *n);
/* Words from the sender's memory to the receiver's, each in its own stream. */
void nccl_carry(const nccl *n, CUdeviceptr from, CUstream sender, CUdeviceptr to, CUstream receiver,
                size_t words);

#endif
