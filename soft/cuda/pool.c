/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: one pool of threads for the kernels of all streams. The stream's worker
 * takes part in its own kernel; helpers, one fewer than there are processors, take runs of blocks
 * from whatever kernel is under way. */
#include "block.h"

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
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
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
            pthread_cond_wait(&work, &lock);
            continue;
        }
        job->helpers++;
        help(job);
        job->helpers--;
        pthread_cond_broadcast(&finished);
    }
    return NULL;
}

/* Blocks of one cluster that may wait for one another are one piece of work. */
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
    if (job.total > job.chunk) pthread_cond_broadcast(&work);
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
