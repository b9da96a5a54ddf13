/* SPDX-License-Identifier: MIT */
/* ripple-mpi: ripple over the ranks of an MPI program. Each rank solves a band of rows, rank 0 also
 * draws, and the picture is that of one process.
 *
 *   mpirun -n 4 ripple-mpi [--devices=0,1] [--idle=RANK,...] [options of ripple]
 *
 * Rank r solves on CUDA device devices[r % count], by default on device r of as many as there are;
 * rank 0 on the GPU that it draws on (--device). Ranks of --idle have no part. CULVERT_MPI_WAY asks
 * for a way (docs/mpi.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/interop.h"
#include "../common/report.h"
#include "../ripple/program.h"
#include "path_mpi.h"

enum { MAX_NUMBERS = 64 };

typedef struct numbers {
    int list[MAX_NUMBERS], count;
} numbers;

static numbers parse_numbers(const char *text)
{
    numbers n = {.count = 0};
    while (n.count < MAX_NUMBERS) {
        char *end;
        n.list[n.count++] = (int)strtol(text, &end, 10);
        if (*end != ',') return n;
        text = end + 1;
    }
    return n;
}

static void share_out(const numbers *idle)
{
    ranks *r = &path_mpi_ranks;
    for (int rank = 0; rank < r->count && r->num_solvers < 256; rank++) {
        bool solves = true;
        for (int i = 0; i < idle->count; i++)
            solves = solves && idle->list[i] != rank;
        if (!solves && rank > 0) continue;
        r->solvers[r->num_solvers++] = rank;
    }
    r->band = r->num_solvers;
    for (uint32_t i = 0; i < r->num_solvers; i++) {
        if (r->solvers[i] == r->rank) r->band = i;
    }
}

static bool open_device(exchange *e, const numbers *devices)
{
    int count = 0,
        ordinal = devices->count ? devices->list[path_mpi_ranks.rank % devices->count] : 0;
    if (!culv_ok(culv_device_open_by_ordinal(ordinal, NULL, &e->device),
                 "culv_device_open_by_ordinal"))
        return false;
    if (!devices->count && CULV_CUDA(e->device)->cuDeviceGetCount(&count) == CUDA_SUCCESS &&
        path_mpi_ranks.rank % count != 0) {
        culv_device_close(&e->device);
        if (!culv_ok(culv_device_open_by_ordinal(path_mpi_ranks.rank % count, NULL, &e->device),
                     "culv_device_open_by_ordinal"))
            return false;
    }
    return interop_enter_device(e->device, &e->cu, &e->callers_context);
}

/* A rank that draws nothing: no Vulkan. */
static bool solve(const options *o, const numbers *devices)
{
    static exchange e;
    scene basin;
    solver *s = NULL;
    e.path = &path_mpi;
    e.grid = (VkExtent2D){o->grid_width, o->grid_height};
    e.cells_size = (VkDeviceSize)o->grid_width * o->grid_height * 4u * sizeof(float);
    e.num_buffers = o->depth;
    bool fine = open_device(&e, devices) && path_mpi.create(&e);
    scene_init(&basin, o->grid_width, o->grid_height, o->seed);
    if (fine && e.band.count) {
        s = solver_create(&e, &basin, o->steps, FRAMES_IN_FLIGHT);
        fine = s != NULL;
        for (uint64_t frame = 0; fine && frame < o->frames; frame++)
            fine = solver_frame(s, frame, false);
        fine = fine && solver_finish(s);
    }
    solver_destroy(s);
    path_mpi.destroy(&e);
    interop_close_device(&e.device, e.cu, e.callers_context);
    return fine;
}

int main(int argc, char **argv)
{
    static options o;
    char *arguments[64], path[] = "--path=shared"; /* its number of buffers */
    int count = 0, status = EXIT_FAILURE;
    numbers devices = {.count = 0}, idle = {.count = 0};
    report_set_program("ripple-mpi");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &path_mpi_ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &path_mpi_ranks.count);
    for (int i = 0; i < argc && count < 60; i++) {
        if (strncmp(argv[i], "--devices=", 10) == 0)
            devices = parse_numbers(argv[i] + 10);
        else if (strncmp(argv[i], "--idle=", 7) == 0)
            idle = parse_numbers(argv[i] + 7);
        else
            arguments[count++] = argv[i];
    }
    arguments[count++] = path;
    share_out(&idle);
    arguments_result parsed = options_parse(&o, count, arguments);
    if (parsed == ARGUMENTS_RUN && path_mpi_ranks.num_solvers > o.grid_height)
        report("the grid has %u rows for %u ranks", o.grid_height, path_mpi_ranks.num_solvers);
    else if (parsed == ARGUMENTS_RUN && path_mpi_ranks.rank == 0)
        status = program_main(count, arguments, &path_mpi);
    else if (parsed == ARGUMENTS_RUN)
        status = solve(&o, &devices) ? EXIT_SUCCESS : EXIT_FAILURE;
    else
        status = parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    if (status == EXIT_FAILURE) MPI_Abort(MPI_COMM_WORLD, status); /* neighbours wait for edges */
    MPI_Finalize();
    return status;
}
