#!/bin/sh
# Open MPI says that a window has the alignment that was asked for, and it has not.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1.
# Guess: memory of MPI_Win_allocate_shared begins on a page, at the least with the info key
#   mpi_minimum_memory_alignment = 4096; so a renderer can import a rank's part by
#   VK_EXT_external_memory_host, which wants 4,096 on lavapipe.
# Behaviour: it lies at 264 bytes behind a page, with the key too, although MPI_Win_get_info
#   answers that the key is in use. The next rank's part follows at once, at 1,960 for parts of
#   100,000 bytes. A copy or memory of one's own (MPI_Win_create) remains.
# Seen: key in use 4096, rank 0 at 264, rank 1 at 1960 behind a page
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/window.c" <<'END'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char answer[MPI_MAX_INFO_VAL + 1] = "";
    unsigned behind[2];
    MPI_Info wish, used;
    MPI_Win window;
    void *base;
    int rank, found, unit;
    MPI_Aint size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info_create(&wish);
    MPI_Info_set(wish, "mpi_minimum_memory_alignment", "4096");
    MPI_Win_allocate_shared(100000, 1, wish, MPI_COMM_WORLD, &base, &window);
    for (int i = 0; i < 2; i++) {
        MPI_Win_shared_query(window, i, &size, &unit, &base);
        behind[i] = (unsigned)((uintptr_t)base % 4096);
    }
    MPI_Win_get_info(window, &used);
    MPI_Info_get(used, "mpi_minimum_memory_alignment", MPI_MAX_INFO_VAL, answer, &found);
    if (rank == 0)
        printf("key in use %s, rank 0 at %u, rank 1 at %u behind a page\n", found ? answer : "no",
               behind[0], behind[1]);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
END
mpicc.openmpi "$work/window.c" -o "$work/window"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "key in use 4096, rank 0 at 264, rank 1 at 1960 behind a page" "$(mpirun.openmpi --oversubscribe -n 2 "$work/window")"
