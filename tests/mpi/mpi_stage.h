/* SPDX-License-Identifier: MIT */
/* Tests of culvert-mpi: a case starts itself as the ranks of an MPI program. Rank 0 has Vulkan. */
#ifndef CULVERT_TESTS_MPI_STAGE_H_
#define CULVERT_TESTS_MPI_STAGE_H_

#include "library.h"
#include "run.h"

#include <culvert/mpi.h>

#define MPI_FAR (UINT64_C(1000000) * TEST_FAR_MS)
enum { MPI_FRAME = 100003 * 4, MPI_MOST_RANGES = 4 }; /* no multiple of anything */

typedef struct mpi_stage {
    int rank, ranks;
    lib_world w; /* without Vulkan at other ranks than 0 */
    CUstream stream;
    culv_mpi *mpi;
    culv_mpi_desc desc;
    culv_mpi_range ranges[MPI_MOST_RANGES];
    raw_vk_buffer slots[CULV_MPI_MAX_SLOTS];
    uint8_t *bytes;
} mpi_stage;

/* Runs a program as so many ranks. */
void mpi_run(run_result *out, int ranks, bool one_dies, const char *const *arguments);
/* In the case's process: runs `ranks` of it, with an environment variable more unless it is NULL,
 * and requires that all ended well. False; true in a rank, which then opens its stage. */
bool mpi_ranks(mpi_stage *s, int ranks, const char *variable, bool one_dies);
/* This rank's ranges: interleaved, of odd sizes and places; rank 3 has none. */
void mpi_ranges(mpi_stage *s);
void mpi_create(mpi_stage *s);
/* Writes the next frame's part, and hands it over; returns what culv_mpi_acquire() said. */
culv_result mpi_write(mpi_stage *s, uint64_t timeout);
/* Vulkan reads the frame that is held, and every byte that is some rank's is right. */
void mpi_check(mpi_stage *s, const culv_mpi_frame *frame);
/* Takes the next frame, requires its number, checks it and gives it back. */
void mpi_draw(mpi_stage *s, uint64_t number);
void mpi_close(mpi_stage *s);

#endif
