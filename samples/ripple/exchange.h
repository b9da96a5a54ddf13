/* SPDX-License-Identifier: MIT */
/* ripple's exchange: how what CUDA computed gets to where Vulkan draws from it. There are
 * these paths, with the same kernels before them and the same drawing behind:
 *
 *   path_ring.c    Culvert's ring: several frames on their way at once, in bursts. What to copy.
 *   path_shared.c  what it is made of: both sides use one memory and wait for each other on the
 *                  GPU.
 *   path_queue.c   the kernels run in Vulkan's own queues: in the drawing's command buffer, where
 *                  one buffer does, or on the compute queue beside it.
 *   path_bands.c   the solver's rows are shared out among several GPUs, each of which writes its
 *                  part of the frame into memory of the GPU that draws.
 *
 * Of all but the ring:
 *   frame f uses buffers[f % num_buffers]
 *   ready reaches f + 1 when Vulkan may draw frame f      (its submission waits for that)
 *   drawn reaches f + 1 when Vulkan has drawn frame f     (its submission signals that) */
#ifndef RIPPLE_EXCHANGE_H_
#define RIPPLE_EXCHANGE_H_

#include "../common/vulkan_setup.h"

#define EXCHANGE_MAX_BUFFERS CULV_RING_MAX_DEPTH
#define EXCHANGE_MAX_PARTS   16u
#define EXCHANGE_TINT_FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define EXCHANGE_READING_STAGES                                                                    \
    (VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT)

typedef struct exchange exchange;

/* How many frames are on their way, and how many of them each side hands over together. */
typedef struct exchange_flow {
    uint32_t buffers, burst; /* burst: of the ring */
    uint64_t max_latency_ns; /* of the ring; nonzero: it chooses both itself */
    uint32_t in_flight;      /* frames whose command buffers are in use at once */
    const int *gpus;         /* CUDA's, that solve; of path_bands */
    uint32_t num_gpus;       /* 0: the one that draws */
} exchange_flow;

/* A frame's drawing. */
typedef struct exchange_submission {
    VkCommandBuffer commands;
    VkFence fence;
} exchange_submission;

/* What a path does. Functions that are NULL have nothing to do. */
typedef struct exchange_path {
    const char *name;
    /* Makes buffers (without tint_view), ready and drawn. False, with a message, on failure;
     * destroy() comes either way. */
    bool (*create)(exchange *e);
    void (*destroy)(exchange *e);
    /* Where the solver's kernels run in a queue of Vulkan's, its side of a frame is recorded:
     * `solve` submits it, unless record_solver() of the drawing's command buffer comes; record_fill
     * and record_filled come before and after the kernels that write what is exchanged. */
    bool in_queue;
    bool (*solve)(exchange *e, uint64_t frame);
    bool (*record_solver)(exchange *e, VkCommandBuffer commands, uint64_t frame);
    bool (*record_fill)(exchange *e, VkCommandBuffer commands, uint64_t frame);
    bool (*record_filled)(exchange *e, VkCommandBuffer commands, uint64_t frame);
    /* CUDA's side of a frame elsewhere, on its stream: wait until the buffer is free, and hand it
     * over. */
    bool (*cuda_acquire)(exchange *e, CUstream stream, uint64_t frame);
    bool (*cuda_release)(exchange *e, CUstream stream, uint64_t frame);
    /* What CUDA's side released of a burst is handed over now. */
    bool (*cuda_end_burst)(exchange *e, CUstream stream);
    /* Vulkan's side: what comes before the drawing, what is recorded around it, and its submission.
     * *fenced: this one has the fence; else a later one of the same burst, which stands for it. */
    bool (*begin_drawing)(exchange *e, uint64_t frame);
    bool (*record_acquire)(exchange *e, VkCommandBuffer commands, uint64_t frame);
    bool (*record_release)(exchange *e, VkCommandBuffer commands, uint64_t frame);
    bool (*draw)(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced);
    /* What is used now, where the path may choose it. */
    void (*flow)(const exchange *e, exchange_flow *out);
    /* After a failure in mid-frame, before frame `end`: lets both sides run to their end, where one
     * would wait forever for the other. */
    void (*unblock)(exchange *e, uint64_t end);
} exchange_path;

extern const exchange_path path_ring, path_shared, path_in_queue, path_async, path_bands;

/* Records the solver's side of a frame. */
typedef struct exchange_recorder {
    bool (*record)(void *solver, VkCommandBuffer commands, uint64_t frame);
    void *solver;
} exchange_recorder;

/* Where this process solves one band of rows, and others solve the rest (samples/ripple_mpi). */
typedef struct exchange_band {
    uint32_t index, count; /* count 0: all rows are solved here */
    /* Sends the edges of rows `first` to before `last` to the neighbours, and receives theirs. */
    bool (*swap_edges)(exchange *e, CUstream stream, CUdeviceptr heights, uint32_t first,
                       uint32_t last);
} exchange_band;

/* What is exchanged, as Vulkan draws from it and as CUDA writes it. */
typedef struct exchange_buffer {
    VkBuffer cells; /* a float4 a cell: height, normal, bottom */
    CUdeviceptr cuda_cells;
    VkDeviceAddress cells_address; /* for kernels in a queue of Vulkan's */
    VkImage tint;                  /* a texel a cell: the water's color, and foam in alpha */
    VkImageView tint_view;
    CUsurfObject cuda_tint;
    CUdeviceptr cuda_tint_rows; /* in place of it, where another GPU solves */
    uint64_t tint_handle;       /* likewise */
} exchange_buffer;

struct exchange {
    const exchange_path *path;
    const vulkan_setup *vulkan;
    culv_device *device; /* CUDA's side of the Vulkan device; either path finds it by Culvert */
    /* Of path_bands: the devices that solve, each its part of a frame; `device` is the first. */
    uint32_t num_parts; /* 0: `device` solves all */
    culv_device *parts[EXCHANGE_MAX_PARTS];
    uint32_t part; /* which one CUDA's calls are for */
    exchange_band band;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    VkExtent2D grid;
    VkDeviceSize cells_size;
    exchange_flow flow;
    uint32_t num_buffers;
    uint32_t filling, drawing; /* which one CUDA, and which one Vulkan has now */
    bool burst_open;           /* CUDA's side has more frames to release before Vulkan gets them */
    exchange_buffer buffers[EXCHANGE_MAX_BUFFERS];
    VkSemaphore ready, drawn;
    /* Where kernels run in a queue of Vulkan's: its family, and the VkDevice for them */
    VkQueue solver_queue;
    uint32_t solver_family;
    culv_vk_device *attached;
    exchange_recorder recorder;
    void *own; /* the path's */
};

/* Opens the CUDA device that is the Vulkan device, makes its context current on this thread, and
 * makes what is exchanged. False, with a message, on failure; destroy it either way. */
bool exchange_create(exchange *e, const exchange_path *path, const vulkan_setup *vulkan,
                     VkExtent2D grid, const exchange_flow *flow);
/* After both sides are done, or exchange_unblock(). */
void exchange_destroy(exchange *e);

exchange_buffer *exchange_buffer_of(exchange *e, uint64_t frame);

bool exchange_cuda_acquire(exchange *e, CUstream stream, uint64_t frame);
bool exchange_cuda_end_burst(exchange *e, CUstream stream);
/* In place of these with path->in_queue. */
bool exchange_solve(exchange *e, uint64_t frame);
bool exchange_begin_drawing(exchange *e, uint64_t frame);
bool exchange_draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced);
/* For paths: submits with these points. */
bool exchange_submit(exchange *e, const exchange_submission *s, uint32_t num_waits,
                     const VkSemaphoreSubmitInfo *wait, uint32_t num_signals,
                     const VkSemaphoreSubmitInfo *signal);
exchange_flow exchange_flow_now(const exchange *e);
void exchange_unblock(exchange *e, uint64_t end);

#endif
