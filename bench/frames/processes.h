/* SPDX-License-Identifier: MIT */
/* Two processes: the solver, which is the benchmark, and the renderer, which the benchmark starts.
 * They hand frames over by culv_ipc_ring, and tell each other by two pipes what to do and how it
 * went. */
#ifndef CULVERT_BENCH_FRAMES_PROCESSES_H_
#define CULVERT_BENCH_FRAMES_PROCESSES_H_

#include "frames.h"

enum { PROCESSES_SLOTS = 3 };

typedef enum process_task {
    PROCESS_ALONE, /* draws `frames`, for its own time */
    PROCESS_FRAMES /* joins the ring, and draws each frame that comes */
} process_task;

/* To the renderer. The end of the pipe: it ends. */
typedef struct process_job {
    process_task task;
    double renderer_us; /* of a frame */
    uint64_t bytes;
    uint32_t frames, base; /* number of the first one */
    uint32_t slots;
    uint32_t host_waits; /* 1: the host waits for the solver, and then the queue has nothing to */
    char ring[32];
} process_job;

/* From the renderer. Behind it come `frames` times of CUDA's timer, when each was drawn; 0 where
 * they are not known. Of PROCESS_FRAMES a first one, without times, says that it has joined. */
typedef struct process_answer {
    double us;    /* ALONE: a frame */
    double ended; /* bench_now() when all was drawn */
    double cpu;   /* microseconds of the process a frame */
    uint32_t frames, checked, wrong;
} process_answer;

/* The renderer's whole life. `server` is the solver's name in culv_ipc. Returns its status. */
int processes_renderer(const char *server, const char *driver, int device, bool quick);

bool processes_read(int fd, void *out, size_t size);
bool processes_write(int fd, const void *data, size_t size);

#endif
