/* SPDX-License-Identifier: MIT */
/* ripple's solver. */
#include "solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_X 32u
#define BLOCK_Y 8u

/* Of the deepest water, in (cells per step)^2; the scheme is stable below 0.75. */
#define SPEED2 0.36f
/* World units that a wave travels until friction has halved it. */
#define HALVING_DISTANCE 2.6f
/* The same of foam. */
#define FOAM_HALVING_DISTANCE 0.35f

/* The marks around a frame's two stretches of work: what lies between them is waiting for the
 * renderer. */
enum { MARK_STEPS_BEGIN, MARK_STEPS_END, MARK_PUBLISH_BEGIN, MARK_PUBLISH_END, NUM_MARKS };

/* One of them solves all rows. Several are a chain, from the first rows on, each on a GPU of its
 * own; the first one is what the program knows. */
struct solver {
    exchange *exchange;
    solver *above, *below; /* whose rows come before and after these */
    uint32_t part;         /* of the exchange */
    culv_device *device;
    uint32_t first, last;   /* rows: those from `first` to before `last` are solved here, */
    uint32_t from, to;      /* and these are stored: one more of each neighbour's */
    culv_vector *shared[2]; /* `heights`, which the neighbours write into: their edges */
    CUevent stepped;        /* the last step is done, and its edges are with the neighbours */
    const culv_cuda_api *cu;
    scene scene;
    uint32_t steps_per_frame, frames_in_flight;
    float keep;       /* how much of its velocity a cell keeps in a step */
    float step_reach; /* world units that a wave travels in a step */
    CUstream stream;
    culv_kernels *loaded;
    culv_kernel *step, *drop, *foam_step, *tint, *publish;
    solver_array heights[2]; /* [newest] is h(t), the other one h(t - 1) */
    solver_array speed2, bottom, foam;
    int newest;
    uint64_t steps_done, drops_done;
    CUevent *marks; /* frames_in_flight * NUM_MARKS */
    /* Where the path has the kernels in a queue of Vulkan's: */
    solver_queue queue;
    VkCommandBuffer commands; /* into which kernels are recorded; NULL: they are launched */
};

static size_t skipped_bytes(const solver *s)
{
    return (size_t)s->from * s->scene.width * sizeof(float);
}

/* Its device's context, which all calls are made in. */
static bool enter(const solver *s)
{
    return s->exchange->num_parts == 0 ||
           cuda_ok(s->cu, s->cu->cuCtxSetCurrent(culv_device_context(s->device)),
                   "cuCtxSetCurrent");
}

static bool upload_scene(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    size_t cells = (size_t)s->scene.width * s->scene.height;
    size_t skipped = skipped_bytes(s);
    size_t bytes = (size_t)(s->to - s->from) * s->scene.width * sizeof(float);
    float *host = malloc(cells * sizeof(float));
    if (!host) {
        report("out of memory for a grid of %u x %u", s->scene.width, s->scene.height);
        return false;
    }
    scene_fill_bottom(&s->scene, host);
    const float *rows = host + skipped / sizeof(float);
    bool done =
        cuda_ok(cu, cu->cuMemcpyHtoD(s->bottom.pointer + skipped, rows, bytes), "cuMemcpyHtoD");
    for (size_t i = 0; i < cells; i++)
        host[i] = SPEED2 * scene_relative_speed2(host[i]);
    done = done &&
           cuda_ok(cu, cu->cuMemcpyHtoD(s->speed2.pointer + skipped, rows, bytes), "cuMemcpyHtoD");
    free(host);
    const CUdeviceptr empty[] = {s->heights[0].pointer, s->heights[1].pointer, s->foam.pointer};
    for (int i = 0; i < 3; i++) {
        done = done && cuda_ok(cu, cu->cuMemsetD8(empty[i] + skipped, 0, bytes), "cuMemsetD8");
    }
    /* These ran on the legacy stream, perhaps still do, and the solver's own stream does not wait
     * for that one. */
    return done && cuda_ok(cu, cu->cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

static bool get_kernel(const solver *s, const char *name, culv_kernel **out)
{
    return culv_ok(culv_kernels_get(s->loaded, name, out), "culv_kernels_get");
}

static bool load_kernels(solver *s)
{
    return interop_load_kernels(s->device, "ripple", &s->loaded) &&
           get_kernel(s, "ripple_step", &s->step) && get_kernel(s, "ripple_drop", &s->drop) &&
           get_kernel(s, "ripple_foam", &s->foam_step) &&
           get_kernel(s,
                      s->exchange->num_parts || s->exchange->band.count ? "ripple_tint_rows"
                                                                        : "ripple_tint",
                      &s->tint) &&
           get_kernel(s, "ripple_publish", &s->publish);
}

static bool in_queue(const solver *s)
{
    return s->exchange->path && s->exchange->path->in_queue;
}

static bool record(void *state, VkCommandBuffer commands, uint64_t frame);

static bool make_queue(solver *s)
{
    if (!in_queue(s)) return true;
    s->exchange->recorder = (exchange_recorder){record, s};
    return solver_queue_create(&s->queue, s->exchange, s->loaded);
}

static bool make_array(solver *s, size_t bytes, solver_array *out)
{
    if (in_queue(s)) return solver_queue_array(&s->queue, bytes, out);
    return cuda_ok(s->cu, s->cu->cuMemAlloc(&out->pointer, bytes), "cuMemAlloc");
}

/* This device's memory, which the neighbours' devices write into. */
static bool make_shared(solver *s, size_t bytes, int which)
{
    const culv_vmm_access access[] = {
        {.device = s->device, .flags = CULV_VMM_ACCESS_READ_WRITE},
        {.device = (s->above ? s->above : s->below)->device, .flags = CULV_VMM_ACCESS_READ_WRITE},
        {.device = (s->below ? s->below : s->above)->device, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    culv_vector_desc desc = culv_vector_desc_init();
    desc.size = bytes;
    desc.access = access;
    desc.access_count = s->above && s->below ? 3 : 2;
    desc.label = "heights";
    if (!culv_ok(culv_vector_create(s->device, &desc, &s->shared[which]), "culv_vector_create"))
        return false;
    s->heights[which].pointer = culv_vector_pointer(s->shared[which]);
    return true;
}

static bool make_state(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    size_t bytes = (size_t)(s->to - s->from) * s->scene.width * sizeof(float);
    solver_array *arrays[] = {&s->heights[0], &s->heights[1], &s->speed2, &s->bottom, &s->foam};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) {
        bool shared = i < 2 && (s->above || s->below);
        if (!(shared ? make_shared(s, bytes, i) : make_array(s, bytes, arrays[i]))) return false;
        arrays[i]->pointer -= skipped_bytes(s); /* a cell has the same index on each device */
    }
    if ((s->above || s->below) &&
        !cuda_ok(cu, cu->cuEventCreate(&s->stepped, CU_EVENT_DISABLE_TIMING), "cuEventCreate"))
        return false;
    if (!cuda_ok(cu, cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
        return false;
    if (in_queue(s)) return true; /* it has times of its own */
    s->marks = calloc((size_t)s->frames_in_flight * NUM_MARKS, sizeof(CUevent));
    if (!s->marks) return false;
    for (uint32_t i = 0; i < s->frames_in_flight * NUM_MARKS; i++) {
        if (!cuda_ok(cu, cu->cuEventCreate(&s->marks[i], CU_EVENT_DEFAULT), "cuEventCreate"))
            return false;
    }
    return true;
}

static solver *new_part(exchange *e, const scene *basin, uint32_t steps_per_frame,
                        uint32_t frames_in_flight, uint32_t part)
{
    const uint32_t height = basin->height;
    uint32_t parts = e->num_parts ? e->num_parts : 1;
    solver *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->exchange = e;
    s->part = part;
    s->device = e->num_parts ? e->parts[part] : e->device;
    s->cu = e->num_parts ? CULV_CUDA(s->device) : e->cu;
    if (e->band.count) {
        part = e->band.index;
        parts = e->band.count;
    }
    s->first = part * height / parts;
    s->last = (part + 1) * height / parts;
    s->from = part > 0 ? s->first - 1 : 0;
    s->to = part + 1 < parts ? s->last + 1 : height;
    s->scene = *basin;
    s->steps_per_frame = steps_per_frame;
    s->frames_in_flight = frames_in_flight;
    s->step_reach = sqrtf(SPEED2) * basin->cell;
    s->keep = 1.0f - 2.0f * 0.6931472f * s->step_reach / HALVING_DISTANCE;
    return s;
}

solver *solver_create(exchange *e, const scene *basin, uint32_t steps_per_frame,
                      uint32_t frames_in_flight)
{
    solver *all = new_part(e, basin, steps_per_frame, frames_in_flight, 0), *last = all;
    bool fine = all != NULL;
    for (uint32_t part = 1; fine && part < e->num_parts; part++) {
        last->below = new_part(e, basin, steps_per_frame, frames_in_flight, part);
        fine = last->below != NULL;
        if (!fine) break;
        last->below->above = last;
        last = last->below;
    }
    for (solver *s = all; fine && s; s = s->below)
        fine = enter(s) && load_kernels(s) && make_queue(s) && make_state(s) && upload_scene(s);
    if (fine) return all;
    solver_destroy(all);
    return NULL;
}

static void destroy_part(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    (void)enter(s);
    for (uint32_t i = 0; s->marks && i < s->frames_in_flight * NUM_MARKS; i++) {
        if (s->marks[i]) (void)cu->cuEventDestroy(s->marks[i]);
    }
    free(s->marks);
    if (s->stepped) (void)cu->cuEventDestroy(s->stepped);
    solver_queue_destroy(&s->queue);
    culv_kernels_unload(&s->loaded);
    if (s->stream) (void)cu->cuStreamDestroy(s->stream);
    const solver_array arrays[] = {s->heights[0], s->heights[1], s->speed2, s->bottom, s->foam};
    for (int i = s->above || s->below ? 2 : 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) {
        if (arrays[i].pointer && !arrays[i].address)
            (void)cu->cuMemFree(arrays[i].pointer + skipped_bytes(s));
    }
    culv_vector_destroy(&s->shared[0], NULL);
    culv_vector_destroy(&s->shared[1], NULL);
    free(s);
}

void solver_destroy(solver *s)
{
    for (solver *p = s; p; p = p->below) { /* a neighbour writes into another one's memory */
        if (p->stream && enter(p)) (void)p->cu->cuStreamSynchronize(p->stream);
    }
    if (s && in_queue(s)) (void)vkDeviceWaitIdle(s->exchange->vulkan->device);
    while (s) {
        solver *next = s->below;
        destroy_part(s);
        s = next;
    }
}

/* One launch, written down once for both ways. */
static bool launch(solver *s, culv_kernel *kernel, uint32_t width, uint32_t height,
                   const culv_kernel_call_arg *args, size_t num_args)
{
    culv_kernel_call call = culv_kernel_call_init(kernel);
    call.grid[0] = (width + BLOCK_X - 1) / BLOCK_X;
    call.grid[1] = (height + BLOCK_Y - 1) / BLOCK_Y;
    call.block[0] = BLOCK_X;
    call.block[1] = BLOCK_Y;
    call.args = args;
    call.num_args = num_args;
    if (s->commands) return solver_queue_launch(&s->queue, s->commands, &call);
    return culv_ok(culv_kernel_call_launch(&call, s->stream), "culv_kernel_call_launch");
}

#define LAUNCH(s, kernel, width, height, args)                                                     \
    launch(s, kernel, width, height, args, sizeof(args) / sizeof((args)[0]))
/* An array's element of culv_kernel_call::args. */
#define ARRAY_ARG(a) CULV_CALL_ARG_OF((a).pointer, (a).address)
/* The kernels' `width` and `height`, and `first` and `last`. */
#define GRID_ARGS(s) CULV_CALL_ARG((s)->scene.width), CULV_CALL_ARG((s)->scene.height)
#define ROWS_ARGS(s) CULV_CALL_ARG((s)->first), CULV_CALL_ARG((s)->last)

static bool launch_drop(solver *s, const scene_drop *drop)
{
    float cells_per_unit = 1.0f / s->scene.cell;
    float x = (drop->x + s->scene.half_x) * cells_per_unit - 0.5f;
    float y = (drop->z + s->scene.half_z) * cells_per_unit - 0.5f;
    /* At least two cells, or a coarse grid would not see it. */
    float radius = fmaxf(drop->radius * cells_per_unit, 2.0f);
    float amplitude = drop->amplitude;
    int x0 = (int)floorf(x - radius), y0 = (int)floorf(y - radius);
    uint32_t side = (uint32_t)ceilf(2.0f * radius) + 2u;
    const solver_array previous = s->heights[1 - s->newest], current = s->heights[s->newest];
    const culv_kernel_call_arg args[] = {
        ARRAY_ARG(previous), ARRAY_ARG(current),    ARRAY_ARG(s->speed2),    GRID_ARGS(s),
        ROWS_ARGS(s),        CULV_CALL_ARG(x0),     CULV_CALL_ARG(y0),       CULV_CALL_ARG(x),
        CULV_CALL_ARG(y),    CULV_CALL_ARG(radius), CULV_CALL_ARG(amplitude)};
    return LAUNCH(s, s->drop, side, side, args);
}

/* The next drop, if it is time for it. */
static bool launch_due_drop(solver *s)
{
    if ((float)s->steps_done * s->step_reach < (float)s->drops_done * SCENE_DROP_DISTANCE)
        return true;
    scene_drop drop = scene_nth_drop(&s->scene, s->drops_done++);
    return launch_drop(s, &drop);
}

static bool launch_step(solver *s)
{
    float paddle = scene_paddle((float)s->steps_done * s->step_reach);
    const solver_array previous = s->heights[1 - s->newest], current = s->heights[s->newest];
    const culv_kernel_call_arg args[] = {
        ARRAY_ARG(previous), ARRAY_ARG(current),     ARRAY_ARG(s->speed2), GRID_ARGS(s),
        ROWS_ARGS(s),        CULV_CALL_ARG(s->keep), CULV_CALL_ARG(paddle)};
    if (!LAUNCH(s, s->step, s->scene.width, s->last - s->first, args)) return false;
    s->newest = 1 - s->newest;
    s->steps_done++;
    return true;
}

static bool launch_foam(solver *s)
{
    float cells_per_unit = 1.0f / s->scene.cell, steps_per_unit = 1.0f / s->step_reach;
    float frame_reach = (float)s->steps_per_frame * s->step_reach;
    float keep = fmaxf(1.0f - 0.6931472f * frame_reach / FOAM_HALVING_DISTANCE, 0.0f);
    const solver_array heights = s->heights[s->newest], previous = s->heights[1 - s->newest];
    const culv_kernel_call_arg args[] = {ARRAY_ARG(s->foam),
                                         ARRAY_ARG(heights),
                                         ARRAY_ARG(previous),
                                         ARRAY_ARG(s->speed2),
                                         ARRAY_ARG(s->bottom),
                                         GRID_ARGS(s),
                                         ROWS_ARGS(s),
                                         CULV_CALL_ARG(cells_per_unit),
                                         CULV_CALL_ARG(steps_per_unit),
                                         CULV_CALL_ARG(keep)};
    return LAUNCH(s, s->foam_step, s->scene.width, s->last - s->first, args);
}

static bool launch_publish(solver *s, exchange_buffer *to)
{
    uint32_t rows = s->last - s->first;
    float cells_per_unit = 1.0f / s->scene.cell;
    const solver_array heights = s->heights[s->newest];
    const culv_kernel_call_arg cells[] = {CULV_CALL_ARG_OF(to->cuda_cells, to->cells_address),
                                          ARRAY_ARG(heights),
                                          ARRAY_ARG(s->speed2),
                                          ARRAY_ARG(s->bottom),
                                          GRID_ARGS(s),
                                          ROWS_ARGS(s),
                                          CULV_CALL_ARG(cells_per_unit)};
    const culv_kernel_call_arg tint[] = {CULV_CALL_ARG_OF(to->cuda_tint, to->tint_handle),
                                         ARRAY_ARG(heights), ARRAY_ARG(s->bottom),
                                         ARRAY_ARG(s->foam), GRID_ARGS(s)};
    const culv_kernel_call_arg tint_rows[] = {CULV_CALL_ARG(to->cuda_tint_rows),
                                              ARRAY_ARG(heights),
                                              ARRAY_ARG(s->bottom),
                                              ARRAY_ARG(s->foam),
                                              CULV_CALL_ARG(s->scene.width),
                                              ROWS_ARGS(s)};
    return LAUNCH(s, s->publish, s->scene.width, rows, cells) &&
           (to->cuda_tint_rows ? LAUNCH(s, s->tint, s->scene.width, rows, tint_rows)
                               : LAUNCH(s, s->tint, s->scene.width, rows, tint));
}

static bool mark(solver *s, uint64_t frame, int which)
{
    CUevent event = s->marks[(frame % s->frames_in_flight) * NUM_MARKS + (uint64_t)which];
    return cuda_ok(s->cu, s->cu->cuEventRecord(event, s->stream), "cuEventRecord");
}

/* The newest heights at a band's edges go to the neighbours, for whom they are a row outside. */
static bool push_edges(solver *s)
{
    const culv_cuda_api *cu = s->cu;
    const size_t row = (size_t)s->scene.width * sizeof(float);
    const size_t top = s->first * row, bottom = (s->last - 1) * row;
    const CUdeviceptr own = s->heights[s->newest].pointer;
    if (s->above && !cuda_ok(cu,
                             cu->cuMemcpyAsync(s->above->heights[s->newest].pointer + top,
                                               own + top, row, s->stream),
                             "cuMemcpyAsync"))
        return false;
    if (s->below && !cuda_ok(cu,
                             cu->cuMemcpyAsync(s->below->heights[s->newest].pointer + bottom,
                                               own + bottom, row, s->stream),
                             "cuMemcpyAsync"))
        return false;
    return !s->stepped || cuda_ok(cu, cu->cuEventRecord(s->stepped, s->stream), "cuEventRecord");
}

/* Each waits for its neighbours' last step: their edges are here, and they have read this one's,
 * which the next step writes over. */
static bool wait_for_neighbours(const solver *all)
{
    for (const solver *s = all, *next; (next = s->below) != NULL; s = next) {
        if (!enter(s) ||
            !cuda_ok(s->cu, s->cu->cuStreamWaitEvent(s->stream, next->stepped, 0),
                     "cuStreamWaitEvent") ||
            !enter(next) ||
            !cuda_ok(s->cu, s->cu->cuStreamWaitEvent(next->stream, s->stepped, 0),
                     "cuStreamWaitEvent"))
            return false;
    }
    return true;
}

static bool launch_steps(solver *all)
{
    for (uint32_t i = 0; i < all->steps_per_frame; i++) {
        if (!wait_for_neighbours(all)) return false;
        for (solver *s = all; s; s = s->below) {
            if (!enter(s) || !launch_due_drop(s) || !launch_step(s) || !push_edges(s)) return false;
        }
        exchange *e = all->exchange;
        if (e->band.count && !e->band.swap_edges(e, all->stream, all->heights[all->newest].pointer,
                                                 all->first, all->last))
            return false;
    }
    if (!wait_for_neighbours(all)) return false;
    for (solver *s = all; s; s = s->below) {
        if (!enter(s) || !launch_foam(s)) return false;
    }
    return true;
}

/* A frame in a command buffer. */
static bool record(void *state, VkCommandBuffer commands, uint64_t frame)
{
    solver *s = state;
    exchange *e = s->exchange;
    s->commands = commands;
    bool fine = solver_queue_begin(&s->queue, commands, frame) && launch_steps(s) &&
                e->path->record_fill(e, commands, frame) &&
                launch_publish(s, &e->buffers[e->filling]);
    s->commands = VK_NULL_HANDLE;
    if (!fine) return false;
    solver_queue_end(&s->queue, commands, frame);
    return e->path->record_filled(e, commands, frame);
}

static bool mark_all(solver *all, uint64_t frame, int which)
{
    for (solver *s = all; s; s = s->below) {
        if (!enter(s) || !mark(s, frame, which)) return false;
    }
    return true;
}

bool solver_frame(solver *s, uint64_t frame)
{
    exchange *e = s->exchange;
    if (in_queue(s)) return exchange_solve(e, frame);
    if (!mark_all(s, frame, MARK_STEPS_BEGIN) || !launch_steps(s) ||
        !mark_all(s, frame, MARK_STEPS_END))
        return false;

    /* Only these last kernels touch what is exchanged, so the steps above ran beside the previous
     * frame's drawing. */
    for (solver *p = s; p; p = p->below) {
        e->part = p->part;
        if (!enter(p) || !exchange_cuda_acquire(e, p->stream, frame) ||
            !mark(p, frame, MARK_PUBLISH_BEGIN) || !launch_publish(p, &e->buffers[e->filling]) ||
            !mark(p, frame, MARK_PUBLISH_END) || !e->path->cuda_release(e, p->stream, frame))
            return false;
    }
    return true;
}

bool solver_end_burst(solver *s)
{
    return in_queue(s) || exchange_cuda_end_burst(s->exchange, s->stream);
}

uint64_t solver_burst(solver *s, uint64_t first, uint64_t most)
{
    uint64_t count = 0;
    do {
        if (!solver_frame(s, first + count)) return 0;
        count++;
    } while (s->exchange->burst_open && count < most);
    return solver_end_burst(s) ? count : 0;
}

static bool part_time(solver *s, uint64_t frame, float *milliseconds)
{
    if (in_queue(s)) {
        double time = solver_queue_milliseconds(&s->queue, frame);
        *milliseconds = time < 0.0 ? 0.0f : (float)time;
        return true;
    }
    const CUevent *marks = &s->marks[(frame % s->frames_in_flight) * NUM_MARKS];
    float steps = 0.0f, publish = 0.0f;
    if (!cuda_ok(s->cu,
                 s->cu->cuEventElapsedTime(&steps, marks[MARK_STEPS_BEGIN], marks[MARK_STEPS_END]),
                 "cuEventElapsedTime") ||
        !cuda_ok(
            s->cu,
            s->cu->cuEventElapsedTime(&publish, marks[MARK_PUBLISH_BEGIN], marks[MARK_PUBLISH_END]),
            "cuEventElapsedTime"))
        return false;
    *milliseconds = steps + publish;
    return true;
}

/* Of the GPU that took longest. */
bool solver_frame_time(solver *s, uint64_t frame, float *milliseconds)
{
    *milliseconds = 0.0f;
    for (; s; s = s->below) {
        float own = 0.0f;
        if (!enter(s) || !part_time(s, frame, &own)) return false;
        if (own > *milliseconds) *milliseconds = own;
    }
    return true;
}

bool solver_finish(solver *s)
{
    if (in_queue(s))
        return vk_ok(vkDeviceWaitIdle(s->exchange->vulkan->device), "vkDeviceWaitIdle") &&
               solver_queue_give_back(&s->queue);
    for (; s; s = s->below) {
        if (!enter(s) ||
            !cuda_ok(s->cu, s->cu->cuStreamSynchronize(s->stream), "cuStreamSynchronize"))
            return false;
    }
    return true;
}

bool solver_read_heights(solver *s, float *heights)
{
    const size_t row = s->scene.width;
    for (; s; s = s->below) {
        const size_t first = s->first * row, cells = (s->last - s->first) * row;
        if (!enter(s) ||
            !cuda_ok(s->cu,
                     s->cu->cuMemcpyDtoH(heights + first,
                                         s->heights[s->newest].pointer + first * sizeof(float),
                                         cells * sizeof(float)),
                     "cuMemcpyDtoH"))
            return false;
    }
    return true;
}
