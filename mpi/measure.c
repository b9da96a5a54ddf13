/* SPDX-License-Identifier: MIT */
/* culvert-mpi-measure: what a frame takes by each way, beside MPI_Gatherv through pinned memory
 * and NCCL's sends and receives (libnccl.so.2, if there is one; each rank needs a GPU of its own).
 *
 *   mpirun -n 4 culvert-mpi-measure [--sizes=8,64,256] [--frames=N] [--renderer-writes]
 *   mpirun -n 65 culvert-mpi-measure --cpu      CPU-time of the renderer's thread (one machine)
 *   mpirun -n 2 culvert-mpi-measure --host [--chunk=KIB]     HOST and MPI_Gatherv, turn by turn
 *
 * Rank 0 is the renderer; without --renderer-writes it has no part, unless it is alone. Rank r
 * uses CUDA device r of as many as there are (CUDA_VISIBLE_DEVICES chooses). A rank's part is
 * copied to where its way wants it, from memory of its device, so that "copies alone" (the same
 * copies without a hand-over) is the bound of DIRECT. Every word of CHECKED frames behind the
 * timed ones is compared. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "culvert/cuda_api.h"
#include "culvert/mpi.h"
#include "measure_nccl.h"

enum { MAX_SIZES = 8, CHECKED = 8, WARM = 3, PATTERNS = 3 };
#define SECONDS    UINT64_C(1000000000)
#define FRAME_TIME (60 * SECONDS)

typedef struct setup {
    int rank, ranks, num_sizes;
    uint64_t sizes[MAX_SIZES]; /* MiB */
    uint64_t frames;           /* 0: by the size */
    uint64_t chunk;            /* bytes of a chunk; 0: the default */
    bool renderer_writes, cpu, beside;
    culv_device *device;
    const culv_cuda_api *cu;
    CUstream stream;
    CUevent event;
    /* Of the present size. */
    uint64_t frame_words, words, first; /* this rank's */
    CUdeviceptr patterns[PATTERNS];
    uint32_t *host, *whole;       /* pinned: the part; at the renderer the frame */
    CUdeviceptr slot;             /* the renderer's, of MPI_Gatherv */
    int *counts, *places;         /* of MPI_Gatherv */
    struct timespec solver, draw; /* what a frame's solver and draw take besides */
    uint64_t wrong;
    void *nccl; /* its communicator */
    char why_no_nccl[MEASURE_NCCL_TEXT];
} setup;

/* Every call must succeed: an error ends all ranks. */
static void must_be(const setup *s, bool fine, int code, const char *call, const char *why)
{
    if (fine) return;
    fprintf(stderr, "culvert-mpi-measure: rank %d: %s: %d %s\n", s->rank, call, code, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}
#define MUST(s, call)                                                                              \
    do {                                                                                           \
        const culv_result r_ = (call);                                                             \
        must_be(s, r_ == CULV_OK, (int)r_, #call, culv_last_error_message());                      \
    } while (0)
#define CUDA(s, name, ...)                                                                         \
    do {                                                                                           \
        const CUresult r_ = (s)->cu->name(__VA_ARGS__);                                            \
        must_be(s, r_ == CUDA_SUCCESS, (int)r_, #name, "");                                        \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Another word at each place, and in each of PATTERNS frames. */
static uint32_t word(uint64_t frame, uint64_t at)
{
    uint64_t x =
        (at + 1) * UINT64_C(0x9e3779b97f4a7c15) + (frame % PATTERNS) * UINT64_C(0x2545f491);
    return (uint32_t)((x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
}

/* Parts of odd sizes: the last rank has the rest. */
static uint64_t part_begin(const setup *s, int part, int parts)
{
    return part == parts ? s->frame_words
                         : s->frame_words / (uint64_t)parts * (uint64_t)part + (uint64_t)part % 5;
}

static uint64_t share_out(const setup *s, int rank, uint64_t *words)
{
    const int skip = s->renderer_writes || s->ranks == 1 ? 0 : 1, parts = s->ranks - skip;
    *words = 0;
    if (rank < skip) return 0;
    const uint64_t first = part_begin(s, rank - skip, parts);
    *words = part_begin(s, rank - skip + 1, parts) - first;
    return first;
}

static void begin_size(setup *s, uint64_t mebibytes)
{
    s->frame_words = mebibytes << 18;
    s->first = share_out(s, s->rank, &s->words);
    const size_t bytes = (size_t)s->words * 4;
    CUDA(s, cuMemHostAlloc, (void **)&s->host, bytes ? bytes : 4, 0);
    if (s->rank == 0) {
        CUDA(s, cuMemHostAlloc, (void **)&s->whole, (size_t)s->frame_words * 4, 0);
        CUDA(s, cuMemAlloc, &s->slot, (size_t)s->frame_words * 4);
    }
    for (int r = 0; r < s->ranks; r++) {
        uint64_t words;
        s->places[r] = (int)share_out(s, r, &words);
        s->counts[r] = (int)words;
    }
    for (uint64_t p = 0; p < PATTERNS && bytes; p++) {
        for (uint64_t i = 0; i < s->words; i++)
            s->host[i] = word(p, s->first + i);
        CUDA(s, cuMemAlloc, &s->patterns[p], bytes);
        CUDA(s, cuMemcpyHtoD, s->patterns[p], s->host, bytes);
    }
}

static void end_size(setup *s)
{
    for (int p = 0; p < PATTERNS; p++) {
        if (s->patterns[p]) CUDA(s, cuMemFree, s->patterns[p]);
        s->patterns[p] = 0;
    }
    CUDA(s, cuMemFreeHost, s->host);
    if (s->whole) CUDA(s, cuMemFreeHost, s->whole);
    if (s->slot) CUDA(s, cuMemFree, s->slot);
    s->slot = 0;
    s->host = s->whole = NULL;
}

/* The frame at `slot`; 0: in pinned memory. */
static void check(setup *s, uint64_t frame, CUdeviceptr slot)
{
    if (slot) CUDA(s, cuMemcpyDtoH, s->whole, slot, (size_t)s->frame_words * 4);
    for (uint64_t i = 0; i < s->frame_words; i++) {
        if (s->whole[i] == word(frame, i)) continue;
        if (s->wrong++ < 3)
            fprintf(stderr, "frame %llu: word %llu is %08x, not %08x\n", (unsigned long long)frame,
                    (unsigned long long)i, s->whole[i], word(frame, i));
    }
}

static void report(const setup *s, const char *way, uint64_t frames, double seconds)
{
    if (s->rank != 0) return;
    const uint64_t bytes = s->frame_words * 4;
    const double each = seconds / (double)frames;
    printf("| %5.0f | %-22s | %8.2f | %10.1f | %s |\n", (double)s->frame_words / 262144.0, way,
           (double)bytes / each / 1e9, each * 1e6, s->wrong ? "WRONG" : "right");
    fflush(stdout);
}

/* Work of a GPU that takes this long, and none of the CPU. */
static void CUDA_CB pass(void *time)
{
    nanosleep(time, NULL);
}

/* A rank's work on a part, in its stream. */
static void solve(setup *s, const culv_mpi *mpi, const culv_mpi_part *part)
{
    if (s->solver.tv_nsec) CUDA(s, cuLaunchHostFunc, s->stream, pass, &s->solver);
    if (part->num_ranges)
        CUDA(s, cuMemcpyDtoDAsync, culv_mpi_pointer(mpi, 0), s->patterns[part->number % PATTERNS],
             (size_t)s->words * 4, s->stream);
}

static void hand_over(setup *s, culv_mpi *mpi)
{
    culv_mpi_part part = culv_mpi_part_init();
    MUST(s, culv_mpi_acquire(mpi, FRAME_TIME, &part));
    solve(s, mpi, &part);
    MUST(s, culv_mpi_release(mpi, s->stream));
}

/* The next frame's parts arrive meanwhile. */
static void draw_for(setup *s, culv_mpi *mpi)
{
    CUresult r = CUDA_ERROR_NOT_READY;
    CUDA(s, cuLaunchHostFunc, s->stream, pass, &s->draw);
    CUDA(s, cuEventRecord, s->event, s->stream);
    for (; r == CUDA_ERROR_NOT_READY; r = s->cu->cuEventQuery(s->event)) {
        if (mpi) MUST(s, culv_mpi_progress(mpi, 0, NULL));
        sched_yield();
    }
    must_be(s, r == CUDA_SUCCESS, (int)r, "cuEventQuery", "");
}

static void draw(setup *s, culv_mpi *mpi, bool checked)
{
    culv_mpi_frame frame = culv_mpi_frame_init();
    MUST(s, culv_mpi_acquire_frame(mpi, FRAME_TIME, &frame));
    if (s->draw.tv_nsec) draw_for(s, mpi);
    if (checked) check(s, frame.number, frame.pointer);
    MUST(s, culv_mpi_release_frame(mpi, NULL, 0));
}

/* Seconds of `frames` of all ranks' work at once, without a hand-over. With DIRECT's copies alone
 * it is the bound of that way. */
static double work_alone(setup *s, culv_mpi *mpi, uint64_t frames)
{
    culv_mpi_part part = culv_mpi_part_init();
    MUST(s, culv_mpi_acquire(mpi, FRAME_TIME, &part));
    double begin = 0;
    for (uint64_t i = 0; i < frames + WARM; i++) {
        if (i == WARM) {
            CUDA(s, cuStreamSynchronize, s->stream);
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        if (s->words) solve(s, mpi, &part);
    }
    CUDA(s, cuStreamSynchronize, s->stream);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now() - begin;
    MUST(s, culv_mpi_release(mpi, s->stream));
    MUST(s, culv_mpi_progress(mpi, FRAME_TIME, NULL));
    if (s->rank == 0) draw(s, mpi, true);
    return begin;
}

/* NULL: the pair lacks the way, and the row of the table says why. */
static culv_mpi *open_way(setup *s, culv_mpi_way way)
{
    culv_mpi *mpi = NULL;
    culv_mpi_desc desc = culv_mpi_desc_init();
    const culv_mpi_range range = {s->first * 4, s->words * 4};
    desc.frame_size = s->frame_words * 4;
    desc.way = s->rank == 0 ? CULV_MPI_WAY_AUTO : way; /* the renderer's own part is in place */
    desc.ranges = &range;
    desc.num_ranges = s->words ? 1 : 0;
    desc.num_slots = 4;
    desc.overlap = 1;
    desc.chunk_size = s->chunk;
    const culv_result made = culv_mpi_create(s->device, MPI_COMM_WORLD, &desc, &mpi);
    if (made != CULV_OK && s->rank == 0)
        printf("| %5.0f | %-22s | %s |\n", (double)s->frame_words / 262144.0,
               culv_mpi_way_name(way), culv_last_error_message());
    return mpi; /* of all ranks, or of none */
}

/* Seconds of `frames`, at the renderer, between WARM frames and those that are checked. */
static double turn(setup *s, culv_mpi *mpi, uint64_t frames, uint64_t checked)
{
    double begin = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = 0; i < WARM + frames + checked; i++) {
        if (s->words) hand_over(s, mpi);
        if (s->rank != 0) continue;
        if (i == WARM) begin = now();
        draw(s, mpi, i >= WARM + frames);
        if (i + 1 == WARM + frames) begin = now() - begin;
    }
    MUST(s, culv_mpi_progress(mpi, FRAME_TIME, NULL));
    return begin;
}

static void by_way(setup *s, culv_mpi_way way, uint64_t frames)
{
    culv_mpi *mpi = open_way(s, way);
    if (!mpi) return;
    if (way == CULV_MPI_WAY_DIRECT) report(s, "copies alone", frames, work_alone(s, mpi, frames));
    const double seconds = turn(s, mpi, frames, CHECKED);
    culv_mpi_destroy(&mpi);
    report(s, culv_mpi_way_name(way), frames, seconds);
}

/* What one writes by hand; without the copies it begins and ends in pinned memory. */
static double gatherv(setup *s, uint64_t frames, bool copies)
{
    double begin = 0;
    for (uint64_t i = 0; i < WARM + frames; i++) {
        if (i == WARM) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        if (s->words && (copies || i == 0))
            CUDA(s, cuMemcpyDtoH, s->host, s->patterns[i % PATTERNS], (size_t)s->words * 4);
        MPI_Gatherv(s->host, s->counts[s->rank], MPI_UINT32_T, s->whole, s->counts, s->places,
                    MPI_UINT32_T, 0, MPI_COMM_WORLD);
        if (s->rank == 0 && copies)
            CUDA(s, cuMemcpyHtoD, s->slot, s->whole, (size_t)s->frame_words * 4);
    }
    begin = now() - begin;
    if (s->rank == 0) check(s, copies ? WARM + frames - 1 : 0, copies ? s->slot : 0);
    return begin;
}

/* NCCL's way: sends and receives of the parts, in the streams. As with the ways above a rank may be
 * some frames ahead, and the renderer has a frame when its GPU does. */
static void by_nccl(setup *s, uint64_t frames)
{
    enum { SLOTS = 4 };
    CUdeviceptr slots[SLOTS] = {0};
    CUevent events[SLOTS];
    double begin = 0;
    if (!s->nccl) {
        if (s->rank == 0)
            printf("| %5.0f | %-22s | %s |\n", (double)s->frame_words / 262144.0, "NCCL",
                   s->why_no_nccl);
        return;
    }
    for (int i = 0; i < SLOTS; i++) {
        CUDA(s, cuEventCreate, &events[i], CU_EVENT_DISABLE_TIMING);
        if (s->rank == 0) CUDA(s, cuMemAlloc, &slots[i], (size_t)s->frame_words * 4);
    }
    for (uint64_t i = 0; i < WARM + frames; i++) {
        if (i == WARM) {
            CUDA(s, cuStreamSynchronize, s->stream);
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        const CUdeviceptr from = s->patterns[i % PATTERNS], to = slots[i % SLOTS];
        if (i >= SLOTS) CUDA(s, cuEventSynchronize, events[i % SLOTS]);
        if (s->rank == 0 && s->words)
            CUDA(s, cuMemcpyDtoDAsync, to + s->first * 4, from, (size_t)s->words * 4, s->stream);
        measure_nccl_begin();
        if (s->rank != 0 && s->words) measure_nccl_send(s->nccl, from, (size_t)s->words, s->stream);
        for (int r = 1; s->rank == 0 && r < s->ranks; r++) {
            uint64_t words;
            const uint64_t first = share_out(s, r, &words);
            if (words) measure_nccl_receive(s->nccl, to + first * 4, (size_t)words, r, s->stream);
        }
        measure_nccl_end();
        CUDA(s, cuEventRecord, events[i % SLOTS], s->stream);
    }
    CUDA(s, cuStreamSynchronize, s->stream);
    begin = now() - begin;
    for (uint64_t i = WARM + frames > SLOTS ? WARM + frames - SLOTS : 0;
         s->rank == 0 && i < WARM + frames; i++)
        check(s, i, slots[i % SLOTS]);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i]) CUDA(s, cuMemFree, slots[i]);
        CUDA(s, cuEventDestroy, events[i]);
    }
    report(s, "NCCL, send and receive", frames, begin);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, uint64_t count)
{
    qsort(of, (size_t)count, sizeof *of, by_value);
    return of[count / 2];
}

/* A solver's and a draw's time, in percent of what MPI_Gatherv takes. */
static const uint64_t loads[][2] = {{50, 50}, {100, 100}, {150, 50}, {50, 150}};
enum {
    TURNS = 9,
    LOADS = sizeof loads / sizeof loads[0],
    GATHERV = 0,
    HOST,
    COPIES,
    SOLVER,
    DRAW = SOLVER + LOADS,
    FRAME = DRAW + LOADS,
    COLUMNS = FRAME + LOADS
};

static struct timespec part_of(double seconds, uint64_t percent)
{
    const uint64_t ns = (uint64_t)(seconds * 1e7 * (double)percent) + 1;
    return (struct timespec){(time_t)(ns / SECONDS), (long)(ns % SECONDS)};
}

static double middle_of(double t[TURNS][COLUMNS], int column)
{
    double values[TURNS];
    for (int i = 0; i < TURNS; i++)
        values[i] = t[i][column];
    return median(values, TURNS);
}

static void one_round(setup *s, culv_mpi *mpi, uint64_t frames, double send, double out[COLUMNS])
{
    out[GATHERV] = gatherv(s, frames, false);
    out[HOST] = turn(s, mpi, frames, 1);
    out[COPIES] = gatherv(s, frames, true);
    for (int l = 0; l < LOADS; l++) {
        s->solver = part_of(send, loads[l][0]);
        out[SOLVER + l] = work_alone(s, mpi, frames);
        s->draw = part_of(send, loads[l][1]);
        const double begin = now();
        for (uint64_t i = 0; i < frames && s->rank == 0; i++)
            draw_for(s, NULL);
        out[DRAW + l] = now() - begin;
        out[FRAME + l] = turn(s, mpi, frames, 1);
        s->solver = s->draw = (struct timespec){0, 0};
    }
}

/* A row: what a frame took, beside what `base` of the turns took. */
static void row(const setup *s, const char *what, double t[TURNS][COLUMNS], int column,
                const double base[TURNS], bool rate, uint64_t frames)
{
    double ratios[TURNS];
    for (int i = 0; i < TURNS; i++)
        ratios[i] = rate ? base[i] / t[i][column] : t[i][column] / base[i];
    const double middle = median(ratios, TURNS); /* and sorts them */
    printf("| %5.0f | %-44s | %10.3f | %.3f (%.2f..%.2f) | %s |\n",
           (double)s->frame_words / 262144.0, what, middle_of(t, column) / (double)frames * 1e3,
           middle, ratios[0], ratios[TURNS - 1], s->wrong ? "WRONG" : "right");
    fflush(stdout);
}

/* The way HOST beside MPI_Gatherv from pinned memory to pinned memory, in turns. */
static void beside_gatherv(setup *s, uint64_t frames)
{
    static double t[TURNS][COLUMNS];
    double base[TURNS];
    culv_mpi *mpi = open_way(s, CULV_MPI_WAY_HOST);
    if (!mpi) return;
    double send = gatherv(s, frames, false);
    for (int i = -1; i < TURNS; i++) { /* the first round is not counted */
        MPI_Bcast(&send, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        one_round(s, mpi, frames, send / (double)frames, t[i < 0 ? 0 : i]);
        if (i < 0) send = t[0][GATHERV];
    }
    culv_mpi_destroy(&mpi);
    if (s->rank != 0) return;
    for (int i = 0; i < TURNS; i++)
        base[i] = t[i][GATHERV];
    row(s, "MPI_Gatherv, pinned to pinned", t, GATHERV, base, true, frames);
    row(s, "host", t, HOST, base, true, frames);
    row(s, "MPI_Gatherv and its two copies", t, COPIES, base, true, frames);
    for (int l = 0; l < LOADS; l++) {
        char what[64];
        const double ms = 1e3 / (double)frames;
        snprintf(what, sizeof what, "solver %.2f, send %.2f, draw %.2f",
                 ms * middle_of(t, SOLVER + l), ms * middle_of(t, GATHERV),
                 ms * middle_of(t, DRAW + l));
        for (int i = 0; i < TURNS; i++) {
            base[i] = t[i][GATHERV];
            if (t[i][SOLVER + l] > base[i]) base[i] = t[i][SOLVER + l];
            if (t[i][DRAW + l] > base[i]) base[i] = t[i][DRAW + l];
        }
        row(s, what, t, FRAME + l, base, false, frames);
    }
}

/* CPU-time of this thread, in microseconds. */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

enum { CPU_NUMBERS = 5 }; /* of a number of ranks */

/* In memory that the ranks share: parts that were handed over, and frames that were drawn. */
typedef struct counters {
    atomic_ullong handed, drawn;
} counters;

static void quiet_until(atomic_ullong *counter, uint64_t value)
{
    while (atomic_load(counter) < value)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* What the ranks do does not cost the renderer's thread anything, but for their messages. So they
 * sleep while it works, and it works when all parts are handed over: more processes than cores
 * would be counted else, by their timers' interrupts. Parts are small enough that no send waits. */
static void cpu_by_way(setup *s, MPI_Comm comm, int writers, culv_mpi_way way, counters *shared,
                       double *out)
{
    /* MPI makes its fast ways between two ranks at their first messages. */
    enum { WORDS = 32, LOOKS = 20, MOST = 1000, SETTLE = 32 };
    static double each[MOST];
    culv_mpi *mpi = NULL;
    culv_mpi_desc desc = culv_mpi_desc_init();
    const culv_mpi_range range = {((uint64_t)s->rank - 1) * WORDS * 4, WORDS * 4};
    const uint64_t frames = s->frames && s->frames < MOST ? s->frames : 100;
    const bool writes = s->rank > 0;
    desc.frame_size = (uint64_t)writers * WORDS * 4;
    desc.way = writes ? way : CULV_MPI_WAY_AUTO;
    desc.ranges = &range;
    desc.num_ranges = writes;
    desc.timeout = 600 * SECONDS;
    s->words = writes ? WORDS : 0;
    MPI_Barrier(comm);
    double begin = cpu_now();
    MUST(s, culv_mpi_create(s->device, comm, &desc, &mpi));
    out[2] = (cpu_now() - begin) / 1e3;
    MUST(s, culv_mpi_progress(mpi, 0, NULL)); /* gives the first slots */
    for (uint64_t i = 0; i < SETTLE + frames; i++) {
        if (writes) {
            hand_over(s, mpi);
            atomic_fetch_add(&shared->handed, 1);
            quiet_until(&shared->drawn, i + 1);
            continue;
        }
        quiet_until(&shared->handed, (i + 1) * (uint64_t)writers);
        begin = cpu_now();
        draw(s, mpi, false);
        if (i >= SETTLE) each[i - SETTLE] = cpu_now() - begin;
        atomic_store(&shared->drawn, i + 1);
    }
    out[0] = median(each, frames);
    for (int i = 0; i < LOOKS * 100 && !writes; i++) {
        if (i % LOOKS == 0) begin = cpu_now();
        MUST(s, culv_mpi_progress(mpi, 0, NULL));
        each[i / LOOKS] = (cpu_now() - begin) / LOOKS;
    }
    out[1] = median(each, 100);
    if (!writes) atomic_store(&shared->drawn, UINT64_MAX);
    quiet_until(&shared->drawn, UINT64_MAX); /* nobody has left while the renderer looks */
    culv_mpi_destroy(&mpi);
}

/* The straight line that fits best, and what lies farthest from it. */
static void fit(double (*rows)[1 + CPU_NUMBERS], int count, int column, double out[3])
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        x += rows[i][0] / count;
        y += rows[i][column] / count;
        xx += rows[i][0] * rows[i][0] / count;
        xy += rows[i][0] * rows[i][column] / count;
    }
    out[0] = count > 1 ? (xy - x * y) / (xx - x * x) : 0;
    out[1] = y - out[0] * x;
    out[2] = 0;
    for (int i = 0; i < count; i++) {
        const double off = rows[i][column] - out[1] - out[0] * rows[i][0];
        if (off * off > out[2] * out[2]) out[2] = off;
    }
}

/* With 1, 2, 4 and so on of the ranks, and with all. The others sleep. */
static void cpu(setup *s)
{
    enum { MOST = 16 };
    static const char *const names[] = {"each rank", "and fixed", "farthest from that"};
    double rows[MOST][1 + CPU_NUMBERS], fits[1 + CPU_NUMBERS][3];
    counters *shared = NULL;
    MPI_Win window;
    MPI_Aint size;
    int unit, count = 0;
    MPI_Win_allocate_shared(s->rank ? 0 : 3 * MOST * sizeof *shared, 1, MPI_INFO_NULL,
                            MPI_COMM_WORLD, &shared, &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &shared);
    if (s->rank == 0) memset(shared, 0, 3 * MOST * sizeof *shared);
    CUDA(s, cuMemAlloc, &s->patterns[0], 4096);
    s->patterns[1] = s->patterns[2] = s->patterns[0];
    if (s->rank == 0)
        printf("| ranks | direct, us | a look | host, us | a look | made by, ms |\n"
               "|---:|---:|---:|---:|---:|---:|\n");
    for (int writers = 1; writers < s->ranks && count < MOST; count++) {
        counters *c = &shared[3 * count];
        double *row = rows[count];
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, s->rank <= writers ? 0 : MPI_UNDEFINED, s->rank, &comm);
        row[0] = writers;
        if (s->rank > writers) {
            quiet_until(&c[2].drawn, 1);
        } else {
            cpu_by_way(s, comm, writers, CULV_MPI_WAY_DIRECT, &c[0], row + 1);
            cpu_by_way(s, comm, writers, CULV_MPI_WAY_HOST, &c[1], row + 3);
            MPI_Comm_free(&comm);
            atomic_store(&c[2].drawn, 1);
        }
        if (s->rank == 0)
            printf("| %d | %.1f | %.2f | %.1f | %.2f | %.1f |\n", writers, row[1], row[2], row[3],
                   row[4], row[5]);
        fflush(stdout);
        writers = writers * 2 < s->ranks || writers == s->ranks - 1 ? writers * 2 : s->ranks - 1;
    }
    for (int k = 1; k <= CPU_NUMBERS && s->rank == 0; k++)
        fit(rows, count, k, fits[k]);
    for (int i = 0; i < 3 && s->rank == 0; i++)
        printf("| %s | %.2f | %.3f | %.2f | %.3f | %.2f |\n", names[i], fits[1][i], fits[2][i],
               fits[3][i], fits[4][i], fits[5][i]);
    CUDA(s, cuMemFree, s->patterns[0]);
    MPI_Win_free(&window);
}

static int numbers(const char *text, uint64_t *out, int most)
{
    int n = 0;
    for (const char *t = text; *t && n < most; t += *t == ',') {
        char *end;
        out[n++] = strtoull(t, &end, 10);
        if (end == t) return 0;
        t = end;
    }
    return n;
}

static bool parse(setup *s, int argc, char **argv)
{
    s->num_sizes = numbers("8,64,256", s->sizes, MAX_SIZES);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--sizes=", 8) == 0) {
            s->num_sizes = numbers(argv[i] + 8, s->sizes, MAX_SIZES);
        } else if (strncmp(argv[i], "--frames=", 9) == 0) {
            s->frames = strtoull(argv[i] + 9, NULL, 10);
        } else if (strcmp(argv[i], "--renderer-writes") == 0) {
            s->renderer_writes = true;
        } else if (strncmp(argv[i], "--chunk=", 8) == 0) {
            s->chunk = strtoull(argv[i] + 8, NULL, 10) << 10;
        } else if (strcmp(argv[i], "--cpu") == 0) {
            s->cpu = true;
        } else if (strcmp(argv[i], "--host") == 0) {
            s->beside = true;
        } else if (strcmp(argv[i], "--measure") != 0) {
            fprintf(stderr, "culvert-mpi-measure: unknown argument %s\n", argv[i]);
            return false;
        }
    }
    return s->num_sizes > 0;
}

/* Whether this rank's GPU is no other rank's. The software twin's GPU is every rank's, and so is
 * the NCCL that is played there. */
static int is_apart(const setup *s)
{
    enum { MOST = 1024 };
    static culv_uuid all[MOST];
    culv_device_caps caps = culv_device_caps_init();
    MUST(s, culv_device_get_caps(s->device, &caps));
    if (s->ranks > MOST) return 0;
    MPI_Allgather(&caps.uuid, sizeof caps.uuid, MPI_BYTE, all, sizeof caps.uuid, MPI_BYTE,
                  MPI_COMM_WORLD);
    if (caps.is_software) return 1;
    int same = 0;
    for (int r = 0; r < s->ranks; r++)
        same += memcmp(&all[r], &caps.uuid, sizeof caps.uuid) == 0;
    return same == 1;
}

static void open_device(setup *s)
{
    culv_device_caps caps = culv_device_caps_init();
    int count = 0;
    MUST(s, culv_device_open_by_ordinal(0, NULL, &s->device));
    s->cu = CULV_CUDA(s->device);
    CUDA(s, cuDeviceGetCount, &count);
    if (s->rank % count) {
        culv_device_close(&s->device);
        MUST(s, culv_device_open_by_ordinal(s->rank % count, NULL, &s->device));
    }
    s->cu = CULV_CUDA(s->device);
    CUDA(s, cuCtxSetCurrent, culv_device_context(s->device));
    CUDA(s, cuStreamCreate, &s->stream, CU_STREAM_NON_BLOCKING);
    CUDA(s, cuEventCreate, &s->event, CU_EVENT_DISABLE_TIMING);
    MUST(s, culv_device_get_caps(s->device, &caps));
    if (s->cpu) return;
    printf("rank %d of %d: CUDA device %d, %s, %s\n", s->rank, s->ranks, caps.ordinal, caps.name,
           caps.pci_bus_id);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static setup s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    if (!parse(&s, argc, argv)) {
        MPI_Finalize();
        return 2;
    }
    s.counts = calloc((size_t)s.ranks * 2, sizeof *s.counts);
    if (!s.counts) MPI_Abort(MPI_COMM_WORLD, 1);
    s.places = s.counts + s.ranks;
    open_device(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    if (s.cpu) {
        cpu(&s);
        s.num_sizes = 0;
    } else {
        s.nccl = measure_nccl_open(s.rank, s.ranks, is_apart(&s), s.why_no_nccl);
    }
    if (s.beside && s.rank == 0)
        printf("| MiB | what (ms) | ms a frame | rate over MPI_Gatherv's, time over the longest | "
               "every word |\n|---:|---|---:|---:|---|\n");
    else if (!s.cpu && s.rank == 0)
        printf("| MiB | way | GB/s | us a frame | every word |\n|---|---|---:|---:|---|\n");
    for (int i = 0; i < s.num_sizes; i++) {
        const uint64_t frames = s.frames ? s.frames : s.sizes[i] < 64 ? 100 : 30;
        begin_size(&s, s.sizes[i]);
        if (s.beside) {
            beside_gatherv(&s, s.frames ? s.frames : 4 + 128 / s.sizes[i]);
            end_size(&s);
            continue;
        }
        for (int w = CULV_MPI_WAY_DIRECT; w <= CULV_MPI_WAY_HOST; w++) {
            MPI_Barrier(MPI_COMM_WORLD);
            by_way(&s, (culv_mpi_way)w, frames);
        }
        report(&s, "MPI_Gatherv, pinned", frames, gatherv(&s, frames, true));
        MPI_Barrier(MPI_COMM_WORLD);
        by_nccl(&s, frames);
        end_size(&s);
    }
    measure_nccl_close(s.nccl);
    CUDA(&s, cuEventDestroy, s.event);
    CUDA(&s, cuStreamDestroy, s.stream);
    CUDA(&s, cuCtxSetCurrent, NULL);
    culv_device_close(&s.device);
    free(s.counts);
    MPI_Finalize();
    return s.wrong ? 1 : 0;
}
