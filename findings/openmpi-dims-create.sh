#!/bin/sh
# MPI_Dims_create of Open MPI makes 12 x 6 of 72 ranks.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1; mpich and libmpich-dev 4.0.2-3+b1 beside it.
# Guess: the dimensions are "as close to each other as possible": 9 x 8 for 72 ranks, so that the
#   edges that neighbors exchange are short; two MPIs give one grid for one number of ranks.
# Behaviour: Open MPI's are not for 102 numbers of two dimensions up to 4,096 and for 40 of three:
#   72 is 12 x 6, 288 is 24 x 12, 576 is 12 x 8 x 6 instead of 9 x 8 x 8. The halo of a square field is
#   6 % longer at 72, and a field that is stored by ranks does not fit the grid of the next run, by
#   MPICH, whose dimensions are the closest for each number.
# Seen: Open MPI: 72 is 12 x 6, 576 is 12 x 8 x 6; not the closest: 102 of two dimensions, 40 of three
#       MPICH: 72 is 9 x 8, 576 is 9 x 8 x 8; not the closest: 0 of two dimensions, 0 of three
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1 libmpich-dev=4.0.2-3+b1 mpich=4.0.2-3+b1
cat >"$work/dims.c" <<'C'
#include <mpi.h>
#include <stdio.h>

/* The smallest difference between the largest and the smallest factor; the factors fall. */
static int closest(int ranks, int dims, int first, int last)
{
    int best = 1 << 30;
    if (dims == 1) return ranks > last ? best : (first ? first : ranks) - ranks;
    for (int d = 1; d <= ranks && d <= last; d++) {
        int rest = ranks % d ? best : closest(ranks / d, dims - 1, first ? first : d, d);
        if (rest < best) best = rest;
    }
    return best;
}

int main(void)
{
    int far[4] = {0}, two[2] = {0}, three[3] = {0};
    MPI_Init(NULL, NULL);
    for (int dims = 2; dims <= 3; dims++)
        for (int ranks = 1; ranks <= 4096; ranks++) {
            int d[3] = {0};
            MPI_Dims_create(ranks, dims, d);
            far[dims] += d[0] - d[dims - 1] != closest(ranks, dims, 0, ranks);
        }
    MPI_Dims_create(72, 2, two);
    MPI_Dims_create(576, 3, three);
    printf("72 is %d x %d, 576 is %d x %d x %d; not the closest: %d of two dimensions, %d of three\n", two[0],
           two[1], three[0], three[1], three[2], far[2], far[3]);
    return MPI_Finalize();
}
C
for mpi in openmpi mpich; do "mpicc.$mpi" -O2 -o "$work/$mpi" "$work/dims.c" >"$work/log" 2>&1 || unknown "mpicc.$mpi does not compile"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "Open MPI: 72 is 12 x 6, 576 is 12 x 8 x 6; not the closest: 102 of two dimensions, 40 of three
MPICH: 72 is 9 x 8, 576 is 9 x 8 x 8; not the closest: 0 of two dimensions, 0 of three" \
    "Open MPI: $("$work/openmpi" 2>"$work/log")
MPICH: $("$work/mpich" 2>>"$work/log")"
