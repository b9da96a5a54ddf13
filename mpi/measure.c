/* SPDX-License-Identifier: MIT */
/* culvert-mpi-measure: what a frame takes by each way, beside MPI_Gatherv through pinned memory.
 *
 *   mpirun -n 4 culvert-mpi-measure [--sizes=8,64,256] [--ways=direct,device,host] [--frames=N]
 *                                   [--devices=0,1] [--renderer-writes]
 *
 * Rank 0 is the renderer; without --renderer-writes it has no part, unless it is alone. Rank r uses
 * CUDA device devices[r % count], by default all devices in turn. A rank's part is copied to where
 * its way wants it, from memory of its device, so that "copies alone" (the same copies without a
 * hand-over) is the bound of DIRECT. Every word of the last frame that was timed and of
 * CHECKED more is compared. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "culvert/cuda_api.h"
#include "culvert/mpi.h"

enum { MAX_DEVICES = 16, MAX_SIZES = 8, CHECKED = 3, WARM = 3, PATTERNS = 3 };
#define SECONDS    UINT64_C(1000000000)
#define FRAME_TIME (60 * SECONDS)

typedef struct setup {
    int rank, ranks, devices[MAX_DEVICES], num_devices, num_sizes;
    uint64_t sizes[MAX_SIZES]; /* MiB */
    uint64_t frames;           /* 0: by the size */
    bool ways[4], renderer_writes;
    culv_device *device;
    const culv_cuda_api *cu;
    CUstream stream;
    /* Of the present size. */
    uint64_t frame_words, words, first; /* this rank's */
    CUdeviceptr patterns[PATTERNS];
    uint32_t *host, *whole; /* pinned: the part; at the renderer the frame */
    uint64_t wrong;
} setup;

static void fail(const setup *s, const char *what)
{
    fprintf(stderr, "culvert-mpi-measure: rank %d: %s: %s\n", s->rank, what,
            culv_last_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void must(const setup *s, culv_result r, const char *what)
{
    if (r != CULV_OK) fail(s, what);
}

static void cuda(const setup *s, CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS) return;
    fprintf(stderr, "culvert-mpi-measure: rank %d: %s answered %d\n", s->rank, what, (int)r);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

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
static void share_out(const setup *s, int rank, uint64_t *first, uint64_t *words)
{
    const int skip = s->renderer_writes || s->ranks == 1 ? 0 : 1;
    const uint64_t each = s->frame_words / (uint64_t)(s->ranks - skip);
    *first = *words = 0;
    if (rank < skip) return;
    const uint64_t odd = each > 7 ? (uint64_t)(rank - skip) % 5 : 0;
    *first = each * (uint64_t)(rank - skip) + odd;
    const uint64_t next_odd = each > 7 ? (uint64_t)(rank - skip + 1) % 5 : 0;
    const uint64_t end =
        rank == s->ranks - 1 ? s->frame_words : each * (uint64_t)(rank - skip + 1) + next_odd;
    *words = end - *first;
}

static void begin_size(setup *s, uint64_t mebibytes)
{
    s->frame_words = mebibytes << 18;
    share_out(s, s->rank, &s->first, &s->words);
    const size_t bytes = (size_t)s->words * 4;
    cuda(s, s->cu->cuMemHostAlloc((void **)&s->host, bytes ? bytes : 4, 0), "cuMemHostAlloc");
    if (s->rank == 0)
        cuda(s, s->cu->cuMemHostAlloc((void **)&s->whole, (size_t)s->frame_words * 4, 0),
             "cuMemHostAlloc");
    for (uint64_t p = 0; p < PATTERNS && bytes; p++) {
        for (uint64_t i = 0; i < s->words; i++)
            s->host[i] = word(p, s->first + i);
        cuda(s, s->cu->cuMemAlloc(&s->patterns[p], bytes), "cuMemAlloc");
        cuda(s, s->cu->cuMemcpyHtoD(s->patterns[p], s->host, bytes), "cuMemcpyHtoD");
    }
}

static void end_size(setup *s)
{
    for (int p = 0; p < PATTERNS; p++) {
        if (s->patterns[p]) cuda(s, s->cu->cuMemFree(s->patterns[p]), "cuMemFree");
        s->patterns[p] = 0;
    }
    cuda(s, s->cu->cuMemFreeHost(s->host), "cuMemFreeHost");
    if (s->whole) cuda(s, s->cu->cuMemFreeHost(s->whole), "cuMemFreeHost");
    s->host = s->whole = NULL;
}

static void check(setup *s, uint64_t frame, CUdeviceptr slot)
{
    cuda(s, s->cu->cuMemcpyDtoH(s->whole, slot, (size_t)s->frame_words * 4), "cuMemcpyDtoH");
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
    uint64_t bytes = 0, first, words;
    for (int r = 0; r < s->ranks; r++) {
        share_out(s, r, &first, &words);
        bytes += words * 4;
    }
    const double each = seconds / (double)frames;
    printf("| %5.0f | %-22s | %8.2f | %10.1f | %s |\n", (double)s->frame_words / 262144.0, way,
           (double)bytes / each / 1e9, each * 1e6, s->wrong ? "WRONG" : "right");
    fflush(stdout);
}

static void hand_over(setup *s, culv_mpi *mpi)
{
    culv_mpi_part part = culv_mpi_part_init();
    must(s, culv_mpi_acquire(mpi, FRAME_TIME, &part), "culv_mpi_acquire");
    if (part.num_ranges)
        cuda(s,
             s->cu->cuMemcpyDtoDAsync(culv_mpi_pointer(mpi, 0), s->patterns[part.number % PATTERNS],
                                      (size_t)s->words * 4, s->stream),
             "cuMemcpyDtoDAsync");
    must(s, culv_mpi_release(mpi, s->stream), "culv_mpi_release");
}

static void draw(setup *s, culv_mpi *mpi, bool checked)
{
    culv_mpi_frame frame = culv_mpi_frame_init();
    must(s, culv_mpi_acquire_frame(mpi, FRAME_TIME, &frame), "culv_mpi_acquire_frame");
    if (checked) check(s, frame.number, frame.pointer);
    must(s, culv_mpi_release_frame(mpi, NULL, 0), "culv_mpi_release_frame");
}

/* The bound of DIRECT: all ranks' copies at once, without a hand-over. */
static void copies_alone(setup *s, culv_mpi *mpi, uint64_t frames)
{
    culv_mpi_part part = culv_mpi_part_init();
    must(s, culv_mpi_acquire(mpi, FRAME_TIME, &part), "culv_mpi_acquire");
    double begin = 0;
    for (uint64_t i = 0; i < frames + WARM; i++) {
        if (i == WARM) {
            cuda(s, s->cu->cuStreamSynchronize(s->stream), "cuStreamSynchronize");
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        if (!part.num_ranges) continue;
        cuda(s,
             s->cu->cuMemcpyDtoDAsync(culv_mpi_pointer(mpi, 0), s->patterns[part.number % PATTERNS],
                                      (size_t)s->words * 4, s->stream),
             "cuMemcpyDtoDAsync");
    }
    cuda(s, s->cu->cuStreamSynchronize(s->stream), "cuStreamSynchronize");
    MPI_Barrier(MPI_COMM_WORLD);
    report(s, "copies alone", frames, now() - begin);
    must(s, culv_mpi_release(mpi, s->stream), "culv_mpi_release");
    must(s, culv_mpi_progress(mpi, FRAME_TIME, NULL), "culv_mpi_progress");
    if (s->rank == 0) draw(s, mpi, true);
}

static void by_way(setup *s, culv_mpi_way way, uint64_t frames)
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
    const culv_result made = culv_mpi_create(s->device, MPI_COMM_WORLD, &desc, &mpi);
    if (made != CULV_OK) { /* at all ranks */
        if (s->rank == 0)
            printf("| %5.0f | %-22s | %s |\n", (double)s->frame_words / 262144.0,
                   culv_mpi_way_name(way), culv_last_error_message());
        return;
    }
    if (way == CULV_MPI_WAY_DIRECT) copies_alone(s, mpi, frames);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = 0;
    const uint64_t all = WARM + frames + CHECKED;
    for (uint64_t i = 0; i < all; i++) {
        if (s->words) hand_over(s, mpi);
        if (s->rank != 0) continue;
        if (i == WARM) begin = now();
        draw(s, mpi, i + 1 >= WARM + frames && i + 1 != WARM + frames);
        if (i + 1 == WARM + frames) begin = now() - begin;
    }
    culv_mpi_destroy(&mpi);
    report(s, culv_mpi_way_name(way), frames, begin);
}

/* What one writes by hand. */
static void by_gatherv(setup *s, uint64_t frames)
{
    int *counts = calloc((size_t)s->ranks, sizeof *counts);
    int *places = calloc((size_t)s->ranks, sizeof *places);
    CUdeviceptr slot = 0;
    double begin = 0;
    if (!counts || !places) return;
    for (int r = 0; r < s->ranks; r++) {
        uint64_t first, words;
        share_out(s, r, &first, &words);
        counts[r] = (int)words;
        places[r] = (int)first;
    }
    if (s->rank == 0) cuda(s, s->cu->cuMemAlloc(&slot, (size_t)s->frame_words * 4), "cuMemAlloc");
    for (uint64_t i = 0; i < WARM + frames; i++) {
        if (i == WARM) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        if (s->words)
            cuda(s, s->cu->cuMemcpyDtoH(s->host, s->patterns[i % PATTERNS], (size_t)s->words * 4),
                 "cuMemcpyDtoH");
        MPI_Gatherv(s->host, counts[s->rank], MPI_UINT32_T, s->whole, counts, places, MPI_UINT32_T,
                    0, MPI_COMM_WORLD);
        if (s->rank == 0)
            cuda(s, s->cu->cuMemcpyHtoD(slot, s->whole, (size_t)s->frame_words * 4),
                 "cuMemcpyHtoD");
    }
    begin = now() - begin;
    if (s->rank == 0) {
        check(s, WARM + frames - 1, slot);
        cuda(s, s->cu->cuMemFree(slot), "cuMemFree");
    }
    report(s, "MPI_Gatherv, pinned", frames, begin);
    free(counts);
    free(places);
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
    uint64_t devices[MAX_DEVICES];
    s->num_sizes = numbers("8,64,256", s->sizes, MAX_SIZES);
    s->ways[CULV_MPI_WAY_DIRECT] = s->ways[CULV_MPI_WAY_DEVICE] = s->ways[CULV_MPI_WAY_HOST] = true;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--sizes=", 8) == 0) {
            s->num_sizes = numbers(argv[i] + 8, s->sizes, MAX_SIZES);
        } else if (strncmp(argv[i], "--frames=", 9) == 0) {
            s->frames = strtoull(argv[i] + 9, NULL, 10);
        } else if (strncmp(argv[i], "--devices=", 10) == 0) {
            s->num_devices = numbers(argv[i] + 10, devices, MAX_DEVICES);
            for (int d = 0; d < s->num_devices; d++)
                s->devices[d] = (int)devices[d];
        } else if (strncmp(argv[i], "--ways=", 7) == 0) {
            for (int w = CULV_MPI_WAY_DIRECT; w <= CULV_MPI_WAY_HOST; w++)
                s->ways[w] = strstr(argv[i] + 7, culv_mpi_way_name((culv_mpi_way)w)) != NULL;
        } else if (strcmp(argv[i], "--renderer-writes") == 0) {
            s->renderer_writes = true;
        } else if (strcmp(argv[i], "--measure") != 0) {
            fprintf(stderr, "culvert-mpi-measure: unknown argument %s\n", argv[i]);
            return false;
        }
    }
    return s->num_sizes > 0;
}

static void open_device(setup *s)
{
    culv_device_caps caps = culv_device_caps_init();
    if (!s->num_devices) {
        int count = 0;
        must(s, culv_device_open_by_ordinal(0, NULL, &s->device), "culv_device_open_by_ordinal");
        s->cu = CULV_CUDA(s->device);
        cuda(s, s->cu->cuDeviceGetCount(&count), "cuDeviceGetCount");
        for (; s->num_devices < count && s->num_devices < MAX_DEVICES; s->num_devices++)
            s->devices[s->num_devices] = s->num_devices;
        culv_device_close(&s->device);
    }
    must(s, culv_device_open_by_ordinal(s->devices[s->rank % s->num_devices], NULL, &s->device),
         "culv_device_open_by_ordinal");
    s->cu = CULV_CUDA(s->device);
    cuda(s, s->cu->cuCtxSetCurrent(culv_device_context(s->device)), "cuCtxSetCurrent");
    cuda(s, s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    must(s, culv_device_get_caps(s->device, &caps), "culv_device_get_caps");
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
    open_device(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    if (s.rank == 0)
        printf("| MiB | way | GB/s | us a frame | every word |\n|---|---|---:|---:|---|\n");
    for (int i = 0; i < s.num_sizes; i++) {
        const uint64_t frames = s.frames ? s.frames : s.sizes[i] < 64 ? 100 : 30;
        begin_size(&s, s.sizes[i]);
        for (int w = CULV_MPI_WAY_DIRECT; w <= CULV_MPI_WAY_HOST; w++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (s.ways[w]) by_way(&s, (culv_mpi_way)w, frames);
        }
        by_gatherv(&s, frames);
        end_size(&s);
    }
    cuda(&s, s.cu->cuStreamDestroy(s.stream), "cuStreamDestroy");
    cuda(&s, s.cu->cuCtxSetCurrent(NULL), "cuCtxSetCurrent");
    culv_device_close(&s.device);
    MPI_Finalize();
    return s.wrong ? 1 : 0;
}
