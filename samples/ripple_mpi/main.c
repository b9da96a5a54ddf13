/* SPDX-License-Identifier: MIT */
/* ripple-mpi: ripple over the ranks of an MPI program. Each rank solves a band of rows, rank 0 also
 * draws, and the picture is that of one process.
 *
 *   mpirun -n 4 ripple-mpi [--idle=RANK,...] [options of ripple]
 *
 * Rank r solves on CUDA device r of as many as there are, rank 0 on the GPU that it draws on
 * (--device). Ranks of --idle have no part. CULVERT_MPI_WAY asks for a way (docs/mpi.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ripple/program.h"
#include "path_mpi.h"

/* idle: "1,3". Rank 0 solves in any case. */
static void share_out(const char *idle)
{
    ranks *r = &path_mpi_ranks;
    bool none[256] = {false};
    for (const char *at = idle; *at; at += strcspn(at, ","), at += *at == ',')
        none[strtoul(at, NULL, 10) % 256] = true;
    r->band = UINT32_MAX;
    for (int rank = 0; rank < r->count && rank < 256; rank++) {
        if (none[rank] && rank > 0) continue;
        if (rank == r->rank) r->band = r->num_solvers;
        r->solvers[r->num_solvers++] = rank;
    }
}

static bool open_device(exchange *e)
{
    int count = 0, rank = path_mpi_ranks.rank;
    if (!culv_ok(culv_device_open_by_ordinal(0, NULL, &e->device), "culv_device_open_by_ordinal"))
        return false;
    if (CULV_CUDA(e->device)->cuDeviceGetCount(&count) == CUDA_SUCCESS && rank % count != 0) {
        culv_device_close(&e->device);
        if (!culv_ok(culv_device_open_by_ordinal(rank % count, NULL, &e->device),
                     "culv_device_open_by_ordinal"))
            return false;
    }
    return interop_enter_device(e->device, &e->cu, &e->callers_context);
}

/* A rank that draws nothing: no Vulkan. */
static bool solve(const options *o)
{
    static exchange e;
    scene basin;
    solver *s = NULL;
    e.path = &path_mpi;
    e.grid = (VkExtent2D){o->grid_width, o->grid_height};
    e.cells_size = (VkDeviceSize)o->grid_width * o->grid_height * 4u * sizeof(float);
    e.num_buffers = o->depth;
    bool fine = open_device(&e) && path_mpi.create(&e);
    scene_init(&basin, o->grid_width, o->grid_height, o->seed);
    if (fine && e.band.count) {
        s = solver_create(&e, &basin, o->steps, FRAMES_IN_FLIGHT);
        fine = s != NULL;
        for (uint64_t frame = 0; fine && frame < o->frames; frame++)
            fine = solver_frame(s, frame);
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
    const char *idle = "";
    report_set_program("ripple-mpi");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &path_mpi_ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &path_mpi_ranks.count);
    for (int i = 0; i < argc && count < 60; i++) {
        if (strncmp(argv[i], "--idle=", 7) == 0)
            idle = argv[i] + 7;
        else
            arguments[count++] = argv[i];
    }
    arguments[count++] = path;
    share_out(idle);
    arguments_result parsed = options_parse(&o, count, arguments);
    if (parsed == ARGUMENTS_RUN && path_mpi_ranks.num_solvers > o.grid_height)
        report("the grid has %u rows for %u ranks", o.grid_height, path_mpi_ranks.num_solvers);
    else if (parsed == ARGUMENTS_RUN && path_mpi_ranks.rank == 0)
        status = program_main(count, arguments, &path_mpi);
    else if (parsed == ARGUMENTS_RUN)
        status = solve(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
    else
        status = parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    if (status == EXIT_FAILURE) MPI_Abort(MPI_COMM_WORLD, status); /* neighbours wait for edges */
    MPI_Finalize();
    return status;
}
