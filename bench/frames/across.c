/* SPDX-License-Identifier: MIT */
/* From one GPU to another: what Culvert's buffers carry, and what they carry and hand over, beside
 * what CUDA and NCCL carry. Each turn ends with a look at every word on the GPU that draws: by
 * Vulkan in Culvert's buffer, by a kernel of that GPU in CUDA's memory. */
#include "sections.h"

#include <culvert/cuda_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2, MOST_CALLS = 32 };

/* How the words come into Culvert's buffer. */
typedef enum how { KERNEL, COPY } how;

typedef struct row {
    const char *name;
    how how;
    uint32_t depth; /* buffers in turn; 0: nothing is handed over */
    bool host_waits;
} row;

static const row rows[] = {
    {"kernel", KERNEL, 0, false},           {"copy", COPY, 0, false},
    {"kernel, 1 buffer", KERNEL, 1, false}, {"copy, 1 buffer", COPY, 1, false},
    {"copy, 2 buffers", COPY, 2, false},    {"copy, the host waits", COPY, 1, true},
};

typedef struct across {
    frames_bench *b;
    const row *row;
    uint64_t bytes;
    uint32_t calls;
    bool every; /* Vulkan looks at every frame, not at the last one of a turn */
    /* The GPU that draws: its own context, stream and kernels. Only `cu`, `ordinal`, `context` and
     * `stream` of the rig are its own. */
    rig draws;
    solver kernels;
    queue_solver no_queue;
    reader reader;
    CUdeviceptr from, to; /* memory of CUDA's: the solver's, and that of the GPU that draws */
    bool has_nccl;
    nccl nccl;
} across;

static void solve(const across *s, CUdeviceptr to, uint32_t number)
{
    const frames_bench *b = s->b;
    solver_launch(&b->solver, b->bench.rig.stream,
                  solver_job_of(&b->solver, to, s->bytes, number, 0, SOLVER_NO_LOG));
}

static void host_waits(const across *s, uint64_t value)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &s->b->done.vk,
                                      .pValues = &value};
    VK_OK(vkWaitSemaphores(s->b->bench.rig.vk.device, &info, UINT64_MAX));
}

static void submit(const across *s, VkCommandBuffer commands, uint64_t ready, uint64_t done)
{
    const VkSemaphoreSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = s->b->ready.vk,
                                        .value = ready,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    VkSemaphoreSubmitInfo signal = wait;
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signal};
    signal.semaphore = s->b->done.vk;
    signal.value = done;
    VK_OK(vkQueueSubmit2(s->b->bench.rig.vk.queues[0].queue, 1, &info, VK_NULL_HANDLE));
}

/* Culvert's buffers: `calls` frames, which are `number` - calls + 1 to `number` if every one is
 * looked at or a kernel writes them, and otherwise all the last one. */
static void carry(across *s, uint32_t number)
{
    frames_bench *b = s->b;
    CUstream stream = b->bench.rig.stream;
    const uint32_t depth = s->row->depth, slots = depth != 0 ? depth : 1;
    const uint64_t done = b->done.value;
    for (uint32_t i = 0; i < s->calls; i++) {
        const CUdeviceptr slot = b->pointers[i % slots];
        const uint32_t own = number - s->calls + 1 + i;
        if (depth != 0 && i >= depth)
            CULV_OK_OR_EXIT(culv_semaphore_wait(b->done.culvert, stream, done + i - depth + 1));
        if (s->row->how == KERNEL) {
            solve(s, slot, own);
        } else {
            if (s->every) solve(s, s->from, own);
            RIG_CU(CULV_CUDA(b->bench.rig.device)->cuMemcpyAsync(slot, s->from, s->bytes, stream));
        }
        if (depth == 0) continue;
        CULV_OK_OR_EXIT(culv_semaphore_signal(b->ready.culvert, stream, ++b->ready.value));
        submit(s, b->renderer.commands[i], b->ready.value, ++b->done.value);
        if (s->row->host_waits) host_waits(s, b->done.value);
    }
    if (depth != 0) host_waits(s, b->done.value);
    RIG_CU(b->bench.rig.cu->StreamSynchronize(stream));
}

/* CUDA's memory: all by NCCL, if there is one and Culvert hands over besides. */
static void carry_raw(const across *s)
{
    const rig *r = &s->b->bench.rig;
    const bool by_nccl = s->has_nccl && s->row->depth != 0;
    for (uint32_t i = 0; i < s->calls; i++) {
        if (by_nccl)
            nccl_carry(&s->nccl, s->from, r->stream, s->to, s->draws.stream, s->bytes / 4);
        else
            RIG_CU(r->cu->MemcpyPeerAsync(s->to, s->draws.context, s->from, r->context, s->bytes,
                                          r->stream));
        if (!s->row->host_waits) continue;
        RIG_CU(r->cu->StreamSynchronize(r->stream));
        if (by_nccl) RIG_CU(r->cu->StreamSynchronize(s->draws.stream));
    }
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    RIG_CU(r->cu->StreamSynchronize(s->draws.stream));
}

/* Words of Culvert's buffer that are not this frame's, as Vulkan sees them. */
static uint32_t wrong(const across *s, uint32_t slot, uint32_t number)
{
    frames_bench *b = s->b;
    const renderer_job job = {
        .buffer = b->buffers[slot], .slot = slot, .number = number, .untimed = true, .whole = true};
    VkCommandBuffer commands = renderer_record(&b->renderer, &job);
    renderer_alone(b->bench.rig.vk.queues[0].queue, &commands, 1);
    const renderer_verdict v = renderer_judge(&b->renderer);
    REQUIRE_EQ(v.frames, 1);
    return v.wrong;
}

/* Of CUDA's memory, as a kernel of the GPU that draws sees them. */
static uint32_t wrong_raw(across *s, uint32_t number)
{
    const raw_cuda *cu = s->draws.cu;
    RIG_CU(cu->CtxSetCurrent(s->draws.context));
    reader_launch(&s->reader, s->draws.stream,
                  solver_job_of(&s->kernels, s->to, s->bytes, number, 0, SOLVER_NO_LOG));
    RIG_CU(cu->StreamSynchronize(s->draws.stream));
    const reader_verdict v = reader_judge(&s->reader);
    RIG_CU(cu->CtxSetCurrent(s->b->bench.rig.context));
    REQUIRE_EQ(v.frames, 1);
    return v.wrong;
}

static void record(const across *s, uint32_t number)
{
    for (uint32_t i = 0; i < s->calls && s->row->depth != 0; i++) {
        const uint32_t slot = i % s->row->depth;
        renderer_record(&s->b->renderer,
                        &(renderer_job){.frame = i,
                                        .slot = slot,
                                        .buffer = s->b->buffers[slot],
                                        .number = s->every ? number - s->calls + 1 + i : 0,
                                        .untimed = true,
                                        .whole = true});
    }
}

static void turn(void *state, bench_side side, double ns[])
{
    across *s = state;
    frames_bench *b = s->b;
    const uint32_t number = b->next_number + s->calls - 1;
    b->next_number += s->calls;
    if (side == BENCH_CULVERT) record(s, number);
    solve(s, s->from, number);
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    const double begun = bench_now();
    if (side == BENCH_CULVERT)
        carry(s, number);
    else
        carry_raw(s);
    ns[0] = bench_now() - begun;
    raw_vk_idle(&b->bench.rig.vk); /* its command buffers may be recorded again */
    if (s->every && s->row->depth != 0) return;
    const uint32_t last = s->row->depth != 0 ? (s->calls - 1) % s->row->depth : 0;
    REQUIRE_EQ(side == BENCH_CULVERT ? wrong(s, last, number) : wrong_raw(s, number), 0);
    bench_checked(&b->bench);
}

/* Vulkan sees every word of every frame that was handed over. */
static void look_at_every(across *s)
{
    double ns[1];
    s->every = true;
    turn(s, BENCH_CULVERT, ns);
    s->every = false;
    if (s->row->depth == 0) return;
    const renderer_verdict v = renderer_judge(&s->b->renderer);
    REQUIRE_EQ(v.frames, s->calls);
    REQUIRE_EQ(v.wrong, 0);
    bench_checked(&s->b->bench);
}

static void print_rates(const across *s)
{
    const bench *b = &s->b->bench;
    const bench_result *r = &b->results[b->num_results - 1];
    if (b->text != NULL)
        fprintf(b->text, "  %-24s %25.1f GB/s %25.1f GB/s\n", "",
                (double)s->bytes * 1e-3 / r->sides[BENCH_CULVERT].median,
                (double)s->bytes * 1e-3 / r->sides[BENCH_RAW].median);
}

static void measure(across *s, const row *which)
{
    char size[RESULTS_BYTES];
    bench *b = &s->b->bench;
    bench_series series;
    const bool against_nccl = s->has_nccl && which->depth != 0;
    s->row = which;
    if (which == rows || (which->depth != 0) != (which[-1].depth != 0))
        bench_variant(b, "%s%s beside %s", results_bytes(size, s->bytes),
                      which->depth != 0 ? " handed over" : "",
                      against_nccl ? "NCCL" : "cuMemcpyPeerAsync");
    look_at_every(s);
    bench_begin(
        b, &series,
        (bench_setup){
            .kind = BENCH_PAIR, .turn = turn, .state = s, .num_phases = 1, .calls = s->calls});
    /* 0.97 of the rate; and not slower than NCCL, which hands nothing over. */
    bench_row(b, &series,
              (bench_row_desc){.name = which->name,
                               .phases = 1,
                               .goal = which->depth == 0 ? 1.0 / 0.97
                                       : against_nccl    ? 1.0
                                                         : 0.0});
    bench_end(&series);
    look_at_every(s);
    print_rates(s);
}

static void measure_size(across *s, uint64_t bytes)
{
    const raw_cuda *cu = s->draws.cu;
    const CUcontext solves = s->b->bench.rig.context;
    if (!frames_slots(s->b, SLOTS, bytes)) {
        bench_left_out(&s->b->bench, "no room for two frames of that size");
        return;
    }
    s->bytes = bytes;
    s->calls = (uint32_t)((UINT64_C(256) << 20) / bytes);
    s->calls = s->b->bench.quick || s->calls < 4 ? 4
               : s->calls < MOST_CALLS           ? s->calls
                                                 : MOST_CALLS;
    RIG_CU(cu->MemAlloc(&s->from, bytes));
    RIG_CU(cu->CtxSetCurrent(s->draws.context));
    RIG_CU(cu->MemAlloc(&s->to, bytes));
    RIG_CU(cu->CtxSetCurrent(solves));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        measure(s, &rows[i]);
    /* What sees nothing wrong sees something that is. */
    REQUIRE_EQ(wrong(s, 0, s->b->next_number), bytes / 4);
    REQUIRE_EQ(wrong_raw(s, s->b->next_number), bytes / 4);
    RIG_CU(cu->MemFree(s->to));
    RIG_CU(cu->MemFree(s->from));
}

static void open_draws(across *s, int ordinal)
{
    rig *d = &s->draws;
    const rig *r = &s->b->bench.rig;
    *d = (rig){.cu = r->cu};
    RIG_CU(d->cu->DeviceGet(&d->ordinal, ordinal));
    d->context = raw_cuda_context(d->cu, d->ordinal);
    RIG_CU(d->cu->StreamCreate(&d->stream, CU_STREAM_NON_BLOCKING));
    solver_open(&s->kernels, d, 1);
    reader_open(&s->reader, d, &s->kernels, &s->no_queue);
    RIG_CU(d->cu->CtxSetCurrent(r->context));
    /* Without it cuMemcpyPeerAsync goes at a tenth of its rate. */
    RIG_CU(d->cu->CtxEnablePeerAccess(d->context, 0));
}

static void close_draws(across *s)
{
    const raw_cuda *cu = s->draws.cu;
    RIG_CU(cu->CtxDisablePeerAccess(s->draws.context));
    RIG_CU(cu->CtxSetCurrent(s->draws.context));
    reader_close(&s->reader);
    solver_close(&s->kernels);
    RIG_CU(cu->StreamDestroy(s->draws.stream));
    RIG_CU(cu->CtxSetCurrent(s->b->bench.rig.context));
    RIG_CU(cu->DevicePrimaryCtxRelease(s->draws.ordinal));
}

void across_run(frames_bench *b, const options *o)
{
    static across s;
    /* The first one is --size. */
    static const uint64_t more[] = {UINT64_C(64) << 20, UINT64_C(256) << 20};
    const bool all = !o->quick && !b->bench.rig.caps.is_software && o->bytes == UINT64_C(8) << 20;
    char why[96];
    if (rig_solver_device < 0 || rig_solver_device == o->device) {
        bench_left_out(&b->bench, "it needs --solver-device, another one than --device");
        return;
    }
    memset(&s, 0, sizeof s);
    s.b = b;
    solver_choose(&b->solver, o->work);
    open_draws(&s, o->device);
    s.has_nccl = nccl_open(&s.nccl, s.draws.cu, rig_solver_device, o->device, why);
    if (!s.has_nccl) bench_left_out(&b->bench, why);
    if (b->bench.text != NULL)
        fprintf(b->bench.text,
                "\nMicroseconds a frame: median (10 %% .. 90 %%), added, ratio (95 %% interval)\n");
    measure_size(&s, o->bytes);
    for (size_t i = 0; i < sizeof more / sizeof more[0] && all; i++)
        measure_size(&s, more[i]);
    nccl_close(&s.nccl);
    close_draws(&s);
}

/* NCCL. The few declarations of nccl.h of NCCL 2 that are needed: a result is an int, 0 is
 * success; ncclUint32 is 3. */

enum { SENDER, RECEIVER, UINT32 = 3 };

static bool load(nccl *n)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"ncclCommInitAll", &n->init},   {"ncclCommDestroy", &n->destroy},
                     {"ncclGroupStart", &n->begin},   {"ncclGroupEnd", &n->end},
                     {"ncclSend", &n->send},          {"ncclRecv", &n->receive},
                     {"ncclGetErrorString", &n->text}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(n->library, functions[i].name);
        if (function == NULL) return false;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return true;
}

bool nccl_open(nccl *n, const raw_cuda *cu, int sender, int receiver, char why[96])
{
    const int devices[] = {[SENDER] = sender, [RECEIVER] = receiver};
    CUcontext current = NULL;
    memset(n, 0, sizeof *n);
    setenv("NCCL_NVLS_ENABLE", "0", 0); /* no multicast: a container may not have it */
    n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL || !load(n)) {
        snprintf(why, 96, "NCCL: libnccl.so.2 was not found (LD_LIBRARY_PATH)");
        nccl_close(n);
        return false;
    }
    exits_watch(300, "ncclCommInitAll");
    RIG_CU(cu->CtxGetCurrent(&current));
    const int status = n->init(n->communicators, 2, devices);
    RIG_CU(cu->CtxSetCurrent(current));
    if (status == 0) return true;
    snprintf(why, 96, "NCCL: ncclCommInitAll: %s", n->text(status));
    memset(n->communicators, 0, sizeof n->communicators);
    nccl_close(n);
    return false;
}

void nccl_close(nccl *n)
{
    for (int i = 0; i < 2; i++)
        if (n->communicators[i] != NULL) n->destroy(n->communicators[i]);
    memset(n, 0, sizeof *n); /* the library stays: its threads may still be on their way out */
}

static void require(const nccl *n, int status, const char *call)
{
    if (status != 0) FAIL("%s: %s", call, n->text(status));
}

void nccl_carry(const nccl *n, CUdeviceptr from, CUstream sender, CUdeviceptr to, CUstream receiver,
                size_t words)
{
    require(n, n->begin(), "ncclGroupStart");
    require(n,
            n->send((const void *)(uintptr_t)from, words, UINT32, RECEIVER,
                    n->communicators[SENDER], sender),
            "ncclSend");
    require(n,
            n->receive((void *)(uintptr_t)to, words, UINT32, SENDER, n->communicators[RECEIVER],
                       receiver),
            "ncclRecv");
    require(n, n->end(), "ncclGroupEnd");
}
