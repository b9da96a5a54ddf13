/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: blocks whose threads wait for one another.
 *
 * All threads of a block run on one thread of the host, in turn. Each runs until it waits or ends;
 * those that wait keep their stacks, those that end pass theirs on. When every thread waits or has
 * ended, whoever has all that it waits for goes on, in the order of the threads, so that a block
 * does the same each time. When nobody has, nobody ever will: the launch fails.
 *
 * The blocks of a cluster take turns on that thread of the host likewise: each has a team of its
 * own, and runs until all of its threads wait for the cluster. */
#include "block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARP         32u
#define MAX_WARPS    (SOFT_MAX_BLOCK / WARP)
#define SHARED_START 0xa5 /* what a block finds in its dynamic shared memory: nothing to rely on */

struct thread {
    struct soft_fiber *fiber; /* NULL: it has not begun, or has ended */
    bool ended, ready;
    culv_soft_meeting kind;
    uint32_t mask;
    uint64_t value;
    uint32_t result;
    int32_t at[3];
};

struct team {                       /* of one thread of the host, for one block at a time */
    struct team *next;              /* for the cluster's next block */
    struct soft_fiber thread, *own; /* the thread's stack: of its first team, for all of them */
    struct soft_fiber *slabs[SOFT_MAX_BLOCK / SOFT_FIBERS_AT_ONCE + 1];
    unsigned num_slabs;
    struct soft_fiber *idle;
    struct soft_fiber *active; /* NULL: the thread's own */
    const struct soft_grid *grid;
    culv_soft_place place;
    culv_soft_dim3 shape; /* that threads[].at is for */
    unsigned count, begun, ended, running;
    CUresult failure; /* of what left its stack for good */
    unsigned char *shared_end;
    void *shared_map;
    size_t shared_map_size;
    struct thread threads[SOFT_MAX_BLOCK];
    uint64_t values[MAX_WARPS][WARP];
};

/* initial-exec: soft_block_abandon() must not reach an allocator. */
static _Thread_local struct team *team __attribute__((tls_model("initial-exec")));
static _Thread_local struct team *first_team; /* of the thread; `team` is the block's that runs */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void free_team(void *pointer)
{
    for (struct team *t = pointer, *next; t != NULL; t = next) {
        next = t->next;
        for (unsigned i = 0; i < t->num_slabs; i++)
            soft_fibers_free(t->slabs[i]);
        soft_unmap(t->shared_map, t->shared_map_size);
        free(t);
    }
    team = first_team = NULL;
}

static void make_key(void)
{
    pthread_key_create(&key, free_team);
}

static struct team *new_team(void)
{
    struct team *t = calloc(1, sizeof(*t));
    if (t == NULL) return NULL;
    unsigned char *shared =
        soft_map_guarded(SOFT_MAX_SHARED_OPTIN, &t->shared_map, &t->shared_map_size);
    if (shared == NULL) {
        free(t);
        return NULL;
    }
    t->shared_end = shared + SOFT_MAX_SHARED_OPTIN;
    t->own = first_team != NULL ? first_team->own : &t->thread;
    return t;
}

/* The thread's teams, at least `count` of them. */
static struct team *get_teams(uint32_t count)
{
    if (first_team == NULL) {
        pthread_once(&once, make_key);
        struct team *t = new_team();
        if (t == NULL) return NULL;
        if (pthread_setspecific(key, t) != 0) {
            free_team(t);
            return NULL;
        }
        first_team = t;
    }
    struct team **link = &first_team;
    for (uint32_t i = 0; i < count; i++, link = &(*link)->next)
        if (*link == NULL && (*link = new_team()) == NULL) return NULL;
    return first_team;
}

/* The stack of the running thread is not gone on with. */
_Noreturn static void leave(struct team *t, CUresult result)
{
    t->failure = result;
    t->active = NULL;
    soft_fiber_leave(t->own);
}

void soft_block_abandon(CUresult result)
{
    struct team *t = team;
    if (t != NULL && t->active != NULL) leave(t, result);
}

/* Runs threads that have not begun, for as long as they end without waiting. */
static void work(void)
{
    struct team *t = team;
    soft_fiber_arrived(t->own);
    for (;;) {
        struct soft_fiber *fiber = t->active;
        while (t->begun < t->count) {
            unsigned index = t->begun++;
            struct thread *thread = &t->threads[index];
            thread->fiber = fiber;
            t->running = index;
            memcpy(t->place.thread, thread->at, sizeof(thread->at));
            t->place.lane = index % WARP;
            t->grid->kernel->thread(&t->place, t->grid->params);
            /* It may have waited meanwhile, while others began. */
            thread->ended = true;
            thread->fiber = NULL;
            t->ended++;
        }
        fiber->next = t->idle;
        t->idle = fiber;
        t->active = NULL;
        soft_fiber_switch(fiber, t->own);
    }
}

/* --- on a thread's stack */

static const culv_soft_place *place(void)
{
    return &team->place;
}

static void *shared_in(const struct team *t)
{
    return t->shared_end - ((size_t)t->grid->shared_bytes + 15) / 16 * 16;
}

static void *shared(void)
{
    return shared_in(team);
}

static void *shared_of(uint32_t rank)
{
    const struct team *t = team;
    if (t->place.cluster_dim[0] != 0)
        for (t = first_team; rank > 0 && t->next != NULL; rank--)
            t = t->next;
    return shared_in(t);
}

static struct thread *let_others(struct team *t)
{
    struct thread *self = &t->threads[t->running];
    struct soft_fiber *fiber = t->active;
    t->active = NULL;
    soft_fiber_switch(fiber, t->own);
    return self;
}

static uint32_t meet_block(culv_soft_meeting kind, uint32_t value)
{
    struct team *t = team;
    t->threads[t->running].kind = kind;
    t->threads[t->running].value = value;
    return let_others(t)->result;
}

static void tell(const struct team *t, CUresult result, const char *what)
{
    const char *name = "";
    (void)cuGetErrorName(result, &name);
    fprintf(
        stderr, "culvert-soft: kernel %s, block (%" PRId32 ", %" PRId32 ", %" PRId32 "): %s; %s\n",
        t->grid->kernel->name, t->place.block[0], t->place.block[1], t->place.block[2], what, name);
}

static uint32_t meet_warp(culv_soft_meeting kind, uint32_t mask, uint64_t value,
                          const uint64_t **values)
{
    struct team *t = team;
    const unsigned index = t->running;
    struct thread *self = &t->threads[index];
    if (!(mask >> index % WARP & 1u)) {
        char text[128];
        snprintf(text, sizeof(text),
                 "lane %u calls a warp function with the mask 0x%08" PRIx32
                 ", which does not name it",
                 index % WARP, mask);
        tell(t, CUDA_ERROR_LAUNCH_FAILED, text);
        leave(t, CUDA_ERROR_LAUNCH_FAILED);
    }
    self->kind = kind;
    self->mask = mask;
    self->value = value;
    *values = t->values[index / WARP];
    return let_others(t)->result;
}

const culv_soft_services soft_block_services = {place, shared, shared_of, meet_block, meet_warp};

/* --- on the host's stack: everybody waits, or has ended */

static bool waits_in_warp(const struct thread *thread)
{
    return !thread->ended && !thread->ready && thread->kind >= CULV_SOFT_WARP_SYNC;
}

/* The lanes that wait for the same as `lane` does. */
static uint32_t companions(const struct thread *lanes, unsigned num_lanes, unsigned lane)
{
    uint32_t together = 0;
    for (unsigned i = 0; i < num_lanes; i++) {
        const struct thread *a = &lanes[i], *b = &lanes[lane];
        if (waits_in_warp(a) && a->kind == b->kind &&
            (a->kind == CULV_SOFT_WARP_ACTIVE ? a->value == b->value : a->mask == b->mask))
            together |= 1u << i;
    }
    return together;
}

static bool release_warp(struct team *t, unsigned warp)
{
    struct thread *lanes = &t->threads[(size_t)warp * WARP];
    unsigned num_lanes = t->count - warp * WARP < WARP ? t->count - warp * WARP : WARP;
    uint32_t alive = 0;
    bool any = false;
    for (unsigned i = 0; i < num_lanes; i++)
        if (!lanes[i].ended) alive |= 1u << i;
    for (unsigned i = 0; i < num_lanes; i++) {
        if (!waits_in_warp(&lanes[i])) continue;
        uint32_t together = companions(lanes, num_lanes, i);
        if (lanes[i].kind != CULV_SOFT_WARP_ACTIVE && (lanes[i].mask & alive & ~together) != 0)
            continue;
        for (unsigned j = 0; j < num_lanes; j++) {
            if (!(together >> j & 1u)) continue;
            lanes[j].ready = true;
            lanes[j].result = together;
            t->values[warp][j] = lanes[j].value;
        }
        any = true;
    }
    return any;
}

static bool release_block(struct team *t)
{
    culv_soft_meeting kind = CULV_SOFT_SYNC;
    uint32_t waiting = 0, sum = 0;
    for (unsigned i = 0; i < t->count; i++) {
        const struct thread *thread = &t->threads[i];
        if (thread->ended) continue;
        if (thread->kind >= CULV_SOFT_SYNC_CLUSTER) return false;
        if (waiting++ == 0) kind = thread->kind;
        if (thread->kind != kind) return false;
        sum += (uint32_t)thread->value;
    }
    for (unsigned i = 0; i < t->count; i++) {
        struct thread *thread = &t->threads[i];
        if (thread->ended) continue;
        thread->ready = true;
        thread->result = kind == CULV_SOFT_SYNC_AND  ? sum == waiting
                         : kind == CULV_SOFT_SYNC_OR ? sum != 0
                                                     : sum;
    }
    return true;
}

static void tell_hang(const struct team *t)
{
    static const char *const names[] = {"__syncthreads()",       "__syncthreads_count()",
                                        "__syncthreads_and()",   "__syncthreads_or()",
                                        "the cluster's barrier", "__syncwarp()",
                                        "a warp's shuffle",      "a warp's vote",
                                        "a warp's match",        "__activemask()"};
    unsigned counts[sizeof(names) / sizeof(names[0])] = {0};
    char text[512] = "its threads wait for one another for ever:";
    for (unsigned i = 0; i < t->count; i++)
        if (!t->threads[i].ended) counts[t->threads[i].kind]++;
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (counts[i] != 0 && length < sizeof(text))
            length += (size_t)snprintf(text + length, sizeof(text) - length, " %u in %s,",
                                       counts[i], names[i]);
    if (length < sizeof(text))
        snprintf(text + length, sizeof(text) - length, " and %u have ended", t->ended);
    tell(t, CUDA_ERROR_LAUNCH_TIMEOUT, text);
}

/* Ends the kernel. Stacks on which something waits are taken back. */
_Noreturn static void fail(struct team *t, CUresult result)
{
    for (t = first_team; t != NULL; t = t->next) {
        t->failure = CUDA_SUCCESS;
        t->idle = NULL;
        for (unsigned i = 0; i < t->num_slabs; i++)
            for (struct soft_fiber *fiber = t->slabs[i], *next; fiber != NULL; fiber = next) {
                /* The first of a slab is where its others are. */
                next = fiber + 1 < t->slabs[i] + SOFT_FIBERS_AT_ONCE ? fiber + 1 : NULL;
                soft_fiber_prepare(fiber, work);
                fiber->next = t->idle;
                t->idle = fiber;
            }
    }
    soft_fault_end(result);
}

static void enter(struct team *t, struct soft_fiber *fiber)
{
    t->active = fiber;
    soft_fiber_switch(t->own, fiber);
    if (t->failure != CUDA_SUCCESS) fail(t, t->failure);
}

static struct soft_fiber *take_fiber(struct team *t)
{
    if (t->idle == NULL) {
        struct soft_fiber *more = soft_fibers_new();
        if (more == NULL) fail(t, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        t->slabs[t->num_slabs++] = more;
        t->idle = more;
        for (struct soft_fiber *fiber = more; fiber != NULL; fiber = fiber->next)
            soft_fiber_prepare(fiber, work);
    }
    struct soft_fiber *fiber = t->idle;
    t->idle = fiber->next;
    return fiber;
}

static void begin_block(struct team *t)
{
    t->begun = t->ended = 0;
    for (unsigned i = 0; i < t->count; i++)
        t->threads[i].ended = t->threads[i].ready = false;
    if (t->grid->shared_bytes != 0) memset(shared_in(t), SHARED_START, t->grid->shared_bytes);
}

/* Whether all that have not ended wait for the cluster. */
static bool waits_for_cluster(const struct team *t)
{
    for (unsigned i = 0; i < t->count; i++)
        if (!t->threads[i].ended && t->threads[i].kind != CULV_SOFT_SYNC_CLUSTER) return false;
    return true;
}

/* The cluster's barrier opens for this block. */
static void release_all(struct team *t)
{
    for (unsigned i = 0; i < t->count; i++)
        t->threads[i].ready = !t->threads[i].ended;
}

static void resume_ready(struct team *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        struct thread *thread = &t->threads[i];
        if (!thread->ready) continue;
        thread->ready = false;
        t->running = i;
        memcpy(t->place.thread, thread->at, sizeof(thread->at));
        t->place.lane = i % WARP;
        enter(t, thread->fiber);
    }
}

/* Runs a block to its end, or until it waits for its cluster: false. */
static bool run_block(struct team *t)
{
    team = t;
    resume_ready(t); /* whom the cluster kept */
    for (;;) {
        while (t->begun < t->count)
            enter(t, take_fiber(t));
        if (t->ended == t->count) return true;
        bool any = false;
        for (unsigned warp = 0; warp * WARP < t->count; warp++)
            any |= release_warp(t, warp);
        if (!any && !release_block(t)) {
            if (waits_for_cluster(t)) return false;
            tell_hang(t);
            fail(t, CUDA_ERROR_LAUNCH_TIMEOUT);
        }
        resume_ready(t);
    }
}

/* Static shared memory is the host's thread's, and so the same for all blocks that take turns. */
static void refuse_static_shared(struct team *t)
{
    tell(t, CUDA_ERROR_LAUNCH_FAILED,
         "blocks of a cluster wait for one another, and have __shared__ variables, of which the "
         "twin has one for all; use CULV_DYNAMIC_SHARED");
    fail(t, CUDA_ERROR_LAUNCH_FAILED);
}

static void run_cluster(struct team *teams, uint32_t count)
{
    bool waits;
    for (uint32_t i = 0; i < count; i++, teams = teams->next)
        begin_block(teams);
    do {
        struct team *t = first_team;
        waits = false;
        for (uint32_t i = 0; i < count; i++, t = t->next)
            if (t->begun < t->count || t->ended < t->count) waits |= !run_block(t);
        if (waits && count > 1 && first_team->grid->static_shared != 0)
            refuse_static_shared(first_team);
        t = first_team;
        for (uint32_t i = 0; waits && i < count; i++, t = t->next)
            release_all(t);
    } while (waits);
}

static void set_shape(struct team *t, culv_soft_dim3 block)
{
    t->count = block.x * block.y * block.z;
    if (t->shape.x == block.x && t->shape.y == block.y && t->shape.z == block.z) return;
    t->shape = block;
    unsigned i = 0;
    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++, i++) {
                t->threads[i].at[0] = (int32_t)x;
                t->threads[i].at[1] = (int32_t)y;
                t->threads[i].at[2] = (int32_t)z;
            }
}

uint32_t soft_cluster_size(const struct soft_grid *grid)
{
    const uint32_t *c = grid->cluster;
    return c[0] == 0 ? 1 : c[0] * c[1] * c[2];
}

static void set_grid(struct team *t, const struct soft_grid *grid)
{
    const culv_soft_dim3 size = grid->grid, block = grid->block;
    t->grid = grid;
    set_shape(t, block);
    const int32_t block_dim[3] = {(int32_t)block.x, (int32_t)block.y, (int32_t)block.z},
                  grid_dim[3] = {(int32_t)size.x, (int32_t)size.y, (int32_t)size.z};
    memcpy(t->place.block_dim, block_dim, sizeof(block_dim));
    memcpy(t->place.grid_dim, grid_dim, sizeof(grid_dim));
    memcpy(t->place.cluster_dim, grid->cluster, sizeof(t->place.cluster_dim));
}

/* Block `rank` of cluster `index`: both count x first. */
static void set_block(struct team *t, uint64_t index, uint32_t rank)
{
    const culv_soft_dim3 size = t->grid->grid;
    const uint32_t *c = t->grid->cluster, one[3] = {1, 1, 1};
    if (c[0] == 0) c = one;
    const uint64_t x = size.x / c[0], y = size.y / c[1];
    t->place.block[0] = (int32_t)(index % x * c[0] + rank % c[0]);
    t->place.block[1] = (int32_t)(index / x % y * c[1] + rank / c[0] % c[1]);
    t->place.block[2] = (int32_t)(index / x / y * c[2] + rank / c[0] / c[1]);
}

void soft_block_run(const struct soft_grid *grid, uint64_t first, uint64_t count)
{
    const uint32_t size = soft_cluster_size(grid);
    struct team *teams = get_teams(size);
    if (teams == NULL) soft_fault_end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    struct team *t = teams;
    for (uint32_t rank = 0; rank < size; rank++, t = t->next)
        set_grid(t, grid);
    for (uint64_t index = first; index < first + count; index++) {
        t = teams;
        for (uint32_t rank = 0; rank < size; rank++, t = t->next)
            set_block(t, index, rank);
        run_cluster(teams, size);
    }
}

/* One pool of threads for the kernels of all streams. The stream's worker
 * takes part in its own kernel; helpers, one fewer than there are processors, take runs of blocks
 * from whatever kernel is under way. */

struct job {
    struct job *next;
    const struct soft_grid *grid;
    uint64_t total, chunk; /* blocks, or clusters */
    uint64_t taken;        /* handed out */
    unsigned helpers;      /* at work on it */
    CUresult result;
};

struct share { /* one thread's run of them */
    const struct job *job;
    uint64_t first, count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static bool started;

static void run_share(void *arg)
{
    const struct share *share = arg;
    const struct soft_grid *grid = share->job->grid;
    if (grid->meets)
        soft_block_run(grid, share->first, share->count);
    else
        grid->kernel->run(grid->grid, grid->block, share->first, share->count, grid->params);
}

/* Locked on entry and return. */
static void help(struct job *job)
{
    while (job->taken < job->total) {
        struct share share = {.job = job, .first = job->taken, .count = job->chunk};
        if (share.count > job->total - share.first) share.count = job->total - share.first;
        job->taken += share.count;
        pthread_mutex_unlock(&lock);
        CUresult result = soft_guarded(run_share, &share);
        pthread_mutex_lock(&lock);
        if (result != CUDA_SUCCESS) {
            job->result = result;
            job->taken = job->total; /* the rest of a faulted kernel does not run */
        }
    }
}

static struct job *next_job(void)
{
    struct job *job = jobs;
    while (job != NULL && job->taken >= job->total)
        job = job->next;
    return job;
}

static void *helper(void *arg)
{
    (void)arg;
    soft_fault_thread_begin(); /* this thread lives as long as the process */
    pthread_mutex_lock(&lock);
    for (;;) {
        struct job *job = next_job();
        if (job == NULL) {
            pthread_cond_wait(&work_came, &lock);
            continue;
        }
        job->helpers++;
        help(job);
        job->helpers--;
        pthread_cond_broadcast(&finished);
    }
    return NULL;
}

/* Blocks of one cluster that may wait for one another are one piece of work_came. */
static uint64_t count_work(const struct soft_grid *grid)
{
    const uint64_t blocks = (uint64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    return grid->meets ? blocks / soft_cluster_size(grid) : blocks;
}

CUresult soft_pool_run(const struct soft_grid *grid)
{
    unsigned processors = soft_processors();
    struct job job = {.grid = grid, .total = count_work(grid), .result = CUDA_SUCCESS};
    /* Several runs for each thread: blocks differ in cost. */
    job.chunk = job.total / ((uint64_t)processors * 8);
    if (job.chunk == 0) job.chunk = 1;

    pthread_mutex_lock(&lock);
    if (!started) {
        started = true;
        for (unsigned i = 1; i < processors; i++)
            soft_thread_start(helper, NULL); /* fewer, if need be */
    }
    job.next = jobs;
    jobs = &job;
    if (job.total > job.chunk) pthread_cond_broadcast(&work_came);
    help(&job);
    while (job.helpers > 0)
        pthread_cond_wait(&finished, &lock);
    struct job **link = &jobs;
    while (*link != &job)
        link = &(*link)->next;
    *link = job.next;
    pthread_mutex_unlock(&lock);
    return job.result;
}
