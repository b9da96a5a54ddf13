/* SPDX-License-Identifier: MIT */
/* The solver in this process and the renderer in another one. A renderer waits by itself; who hands
 * frames to another process waits on the host for slots in any case. */
#include "processes.h"
#include "sections.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <culvert/ipc.h>
#include <culvert/ipc_ring.h>
#include <culvert/vmm.h>

enum { MOST_WAYS = 2 + 2 * PROCESSES_SLOTS, FRAMES = 24, QUICK_FRAMES = 6, ROUNDS = 2 };

typedef struct processes {
    frames_bench *b;
    culv_ipc_server *server;
    culv_ipc_ring *ring;
    culv_vmm_range *range;
    culv_vmm_allocation *memory[PROCESSES_SLOTS];
    CUdeviceptr slots[PROCESSES_SLOTS];
    char name[48];
    pid_t pid;
    int in, out; /* from the renderer, and to it */
    uint32_t rings;
} processes;

static const scheme scheme_two = {.name = "culv_ipc_ring"};

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The other process ---------------------------------------------------------------------------- */

static void start(processes *p, const options *o)
{
    int to[2], from[2];
    char child[80], driver[32], device[32];
    snprintf(child, sizeof child, "--renderer-of=%s", p->name);
    snprintf(driver, sizeof driver, "--driver=%s",
             p->b->bench.rig.cu->software ? "soft" : "nvidia");
    snprintf(device, sizeof device, "--device=%d", o->device);
    REQUIRE(pipe(to) == 0 && pipe(from) == 0);
    p->pid = fork();
    REQUIRE(p->pid >= 0);
    if (p->pid == 0) { /* only what may be called between fork() and exec() */
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[0]), (void)close(to[1]), (void)close(from[0]), (void)close(from[1]);
        execl("/proc/self/exe", "culvert-bench", child, driver, device,
              o->quick ? "--quick" : (char *)NULL, (char *)NULL);
        _exit(EXITS_FAILURE);
    }
    close(to[0]);
    close(from[1]);
    p->in = from[0];
    p->out = to[1];
}

/* The renderer's answer; its calls are answered meanwhile. */
static process_answer hear(processes *p)
{
    process_answer answer;
    struct pollfd one = {.fd = p->in, .events = POLLIN};
    while (poll(&one, 1, 0) == 0)
        CULV_OK_OR_EXIT(culv_ipc_server_poll(p->server, 200000, NULL));
    if (!processes_read(p->in, &answer, sizeof answer)) FAIL("the renderer's process has ended");
    return answer;
}

static void tell(const processes *p, const process_job *job)
{
    if (!processes_write(p->out, job, sizeof *job)) FAIL("the renderer's process has ended");
}

/* Memory --------------------------------------------------------------------------------------- */

static void open_slots(processes *p, uint64_t bytes)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_device *device = p->b->bench.rig.device;
    uint64_t at = 0;
    d.size = bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    for (uint32_t i = 0; i < PROCESSES_SLOTS; i++)
        CULV_OK_OR_EXIT(culv_vmm_allocation_create(device, &d, &p->memory[i]));
    CULV_OK_OR_EXIT(culv_vmm_allocation_get_info(p->memory[0], &info));
    r.size = PROCESSES_SLOTS * info.size;
    CULV_OK_OR_EXIT(culv_vmm_range_create(device, &r, &p->range));
    for (uint32_t i = 0; i < PROCESSES_SLOTS; i++, at += info.size) {
        CULV_OK_OR_EXIT(culv_vmm_map(p->range, at, p->memory[i], NULL, 0));
        p->slots[i] = culv_vmm_range_pointer(p->range) + at;
    }
}

static void close_slots(processes *p)
{
    CULV_OK_OR_EXIT(culv_vmm_unmap(p->range, 0, culv_vmm_range_size(p->range)));
    CULV_OK_OR_EXIT(culv_vmm_range_destroy(&p->range));
    for (uint32_t i = 0; i < PROCESSES_SLOTS; i++)
        culv_vmm_allocation_destroy(&p->memory[i]);
}

/* Runs ----------------------------------------------------------------------------------------- */

static double solver_alone(processes *p, const workload *w, uint32_t frames)
{
    frames_bench *b = p->b;
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    const double begun = bench_now();
    for (uint32_t n = 0; n < frames; n++)
        solver_launch(&b->solver, b->bench.rig.stream,
                      solver_job_of(&b->solver, p->slots[0], w->bytes, 1, w->solver_iterations,
                                    SOLVER_NO_LOG));
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    return (bench_now() - begun) * 1e-3 / frames;
}

static void produce(processes *p, const workload *w, const process_job *job)
{
    frames_bench *b = p->b;
    CUstream stream = b->bench.rig.stream;
    culv_ring *core = culv_ipc_ring_core(p->ring);
    for (uint32_t n = 0; n < job->frames; n++) {
        culv_ring_frame frame;
        CULV_OK_OR_EXIT(
            culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, CULV_RING_FOREVER, &frame));
        solver_launch(&b->solver, stream,
                      solver_job_of(&b->solver, p->slots[frame.slot], w->bytes, job->base + n,
                                    w->solver_iterations, n));
        CULV_OK_OR_EXIT(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &frame));
    }
}

static void judge(const outcome *o, const process_answer *answer)
{
    if (answer->checked != answer->frames || answer->wrong != 0)
        FAIL("two processes, %u slots%s%s: %u of %u frames were drawn, and %u pixels saw another "
             "frame than theirs or a torn one",
             o->config.depth, o->config.variant[0] != '\0' ? ", " : "", o->config.variant,
             answer->checked, answer->frames, answer->wrong);
}

static void take_times(processes *p, outcome *o, uint32_t frames)
{
    static uint64_t drawn[FRAMES_MAX];
    solver *s = &p->b->solver;
    if (!processes_read(p->in, drawn, frames * sizeof drawn[0]))
        FAIL("the renderer's process has ended");
    solver_fetch(s, s->log, frames);
    for (uint32_t n = 0; n < frames; n++) {
        if (drawn[n] == 0) continue;
        samples_add(&o->age, (double)(int64_t)(drawn[n] - solver_time_of(s, n).begun) * 1e-3);
        if (n > 0) samples_add(&o->interval, (double)(int64_t)(drawn[n] - drawn[n - 1]) * 1e-3);
    }
}

static void run_once(processes *p, const workload *w, process_job job, outcome *o, double ideal)
{
    frames_bench *b = p->b;
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    const culv_ipc_info info = culv_ipc_info_init();
    exits_watch(120, "two processes");
    snprintf(job.ring, sizeof job.ring, "frames-%u", p->rings++);
    job.task = PROCESS_FRAMES;
    job.slots = o->config.depth;
    job.host_waits = o->config.tuning.renderer_late;
    job.frames = o->config.frames;
    job.base = b->next_number;
    b->next_number += job.frames;
    d.name = job.ring;
    d.num_slots = job.slots;
    CULV_OK_OR_EXIT(culv_ipc_ring_create(p->server, &d, &p->ring));
    for (uint32_t i = 0; i < job.slots; i++)
        CULV_OK_OR_EXIT(culv_ipc_ring_offer_vmm(p->ring, i, 0, p->memory[i], &info));
    tell(p, &job);
    (void)hear(p);
    const double cpu = cpu_us(), begun = bench_now();
    produce(p, w, &job);
    const double issued = cpu_us();
    const process_answer answer = hear(p);
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    o->us[o->rounds] = (answer.ended - begun) * 1e-3 / job.frames;
    o->ratio[o->rounds] = o->us[o->rounds] / ideal;
    o->cpu[o->rounds] = (issued - cpu) / job.frames + answer.cpu;
    o->rounds++;
    judge(o, &answer);
    o->checked += answer.checked;
    o->wrong += answer.wrong;
    take_times(p, o, job.frames);
    culv_ipc_ring_destroy(&p->ring);
    (void)culv_device_collect(b->bench.rig.device);
}

static size_t list_ways(outcome outcomes[MOST_WAYS], uint32_t frames, uint32_t slots)
{
    size_t count = 0;
    memset(outcomes, 0, MOST_WAYS * sizeof outcomes[0]);
    outcomes[count++].config.scheme = &scheme_solver_alone;
    outcomes[count++].config.scheme = &scheme_renderer_alone;
    for (uint32_t depth = 1; depth <= slots; depth++)
        for (int late = 0; late < 2; late++) {
            config *c = &outcomes[count++].config;
            c->scheme = &scheme_two;
            c->variant = late != 0 ? "Vulkan waits on the host" : "";
            c->depth = depth;
            c->tuning.renderer_late = late != 0;
        }
    for (size_t i = 0; i < count; i++) {
        config *c = &outcomes[i].config;
        if (c->variant == NULL) c->variant = "";
        if (c->depth == 0) c->depth = 1;
        c->burst = 1;
        c->frames = frames;
    }
    return count;
}

static void measure(processes *p, const options *o, workload *w, results *all)
{
    static outcome outcomes[MOST_WAYS];
    frames_bench *b = p->b;
    const uint32_t frames = o->quick ? QUICK_FRAMES : FRAMES;
    const size_t count = list_ways(outcomes, frames, o->quick ? 2 : PROCESSES_SLOTS);
    process_job job = {
        .task = PROCESS_ALONE, .renderer_us = w->renderer_us, .bytes = w->bytes, .frames = frames};
    exits_watch(120, "calibrating the loads of two processes");
    REQUIRE(frames_slots(b, 1, w->bytes));
    frames_calibrate(b, w, false);
    for (size_t round = 0; round < (o->quick ? 1u : (size_t)ROUNDS); round++) {
        outcomes[0].us[round] = solver_alone(p, w, frames);
        job.task = PROCESS_ALONE;
        tell(p, &job);
        outcomes[1].us[round] = hear(p).us;
        const double ideal = outcomes[0].us[round] + outcomes[1].us[round];
        for (size_t i = 0; i < 2; i++) {
            outcomes[i].ratio[round] = outcomes[i].us[round] / ideal;
            outcomes[i].rounds++;
        }
        for (size_t i = 2; i < count; i++)
            run_once(p, w, job, &outcomes[i], ideal);
    }
    results_add(all, b, "processes", w, outcomes, count);
    for (size_t i = 0; i < count; i++)
        outcome_free(&outcomes[i]);
}

void section_processes(frames_bench *b, const options *o, results *all)
{
    static const double loads[][2] = {
        {1000, 1000}, {5000, 5000}, {20000, 20000}, {1000, 20000}, {20000, 1000}};
    const bool few = o->quick || b->bench.rig.caps.is_software;
    processes p = {.b = b};
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    int status = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(p.name, sizeof p.name, "bench-frames-%ld", (long)getpid());
    d.name = p.name;
    CULV_OK_OR_EXIT(culv_ipc_server_create(b->bench.rig.device, &d, &p.server));
    open_slots(&p, options_workload(o).bytes);
    start(&p, o);
    for (size_t i = 0; i < (few ? 1 : sizeof loads / sizeof loads[0]); i++) {
        workload w = options_workload(o);
        w.solver_us = loads[i][0];
        w.renderer_us = loads[i][1];
        measure(&p, o, &w, all);
    }
    close(p.out); /* it ends */
    exits_watch(60, "the end of the renderer's process");
    while (waitpid(p.pid, &status, WNOHANG) == 0)
        CULV_OK_OR_EXIT(culv_ipc_server_poll(p.server, 1000000, NULL));
    close(p.in);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the renderer's process ended with %d", status);
    close_slots(&p);
    culv_ipc_server_destroy(&p.server);
}
