#!/bin/sh
# MPI_Allreduce of MPICH gives the ranks different maxima if one of them has a NaN.
# Version: mpich and libmpich-dev 4.0.2-3+b1; openmpi-bin and libopenmpi-dev 4.1.4-3+b1 beside it.
# Guess: MPI_MAX of a NaN and a number is one or the other, but all ranks get the same: "all
#   members of the group receive the result", and a loop that ends at a residual relies on it.
# Behaviour: each rank compares its own value with what it receives, and a NaN is neither less nor
#   greater, so with MPICH the two ranks get 2 and NaN, or NaN and 1. Even 0 and -0 stay different.
#   Such a loop goes on at one rank and ends at the other, which hangs at the next collective call.
#   Open MPI's ranks agree.
# Seen: MPICH NaN, 2: 2 nan; 1, NaN: nan 1; 0, -0: -0 0
#       Open MPI NaN, 2: nan nan; 1, NaN: 1 1; 0, -0: 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 mpich=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/maximum.c" <<'C'
#include <math.h>
#include <mpi.h>
#include <stdio.h>

static void maximum(int rank, const char *name, float mine)
{
    float result, all[2];
    MPI_Allreduce(&mine, &result, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gather(&result, 1, MPI_FLOAT, all, 1, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s", name);
        for (int i = 0; i < 2; i++)
            printf(isnan(all[i]) ? " nan" : " %g", (double)all[i]);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    maximum(rank, " NaN, 2:", rank == 0 ? NAN : 2);
    maximum(rank, "; 1, NaN:", rank == 1 ? NAN : 1);
    maximum(rank, "; 0, -0:", rank == 1 ? -0.0F : 0.0F);
    if (rank == 0) puts("");
    MPI_Finalize();
    return 0;
}
C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpicc.mpich "$work/maximum.c" -o "$work/mpich"
mpicc.openmpi "$work/maximum.c" -o "$work/openmpi"
same "MPICH NaN, 2: 2 nan; 1, NaN: nan 1; 0, -0: -0 0
Open MPI NaN, 2: nan nan; 1, NaN: 1 1; 0, -0: 0 0" "MPICH$(mpirun.mpich -n 2 "$work/mpich" 2>"$work/log")
Open MPI$(mpirun.openmpi --oversubscribe -n 2 "$work/openmpi" 2>"$work/log")"
