#!/bin/sh
# MPI_Allreduce of Open MPI sums a uniform field of three ranks to a field that is not uniform.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1.
# Guess: floats may be added in any order, but all elements of one call in the same one: if each rank sends
#   1,024 equal numbers, 1,024 equal numbers arrive; and as many as of 256, and as MPI_Reduce gives.
# Behaviour: from about 1,000 numbers on the vector goes around in pieces, one for each rank, and
#   each piece is added in another order. Of 1e8, 1 and -1e8 two thirds of the sums are 0 and one third
#   is 1. The ranks agree. So a density that is the same everywhere gets an edge at a third of the field,
#   which moves with the number of ranks; MPI_Reduce and MPICH 4.0.2 give 0 everywhere.
# Seen: 256 numbers: Allreduce 0 x 256, Reduce 0 x 256; 4096 numbers: Allreduce 0 x 2731, 1 x 1365, Reduce 0 x 4096; the ranks agree
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/places.c" <<'C'
#include <mpi.h>
#include <stdio.h>

static void print(const char *name, const float *sums, int count)
{
    printf("%s", name);
    for (int i = 0, first = 0; i < count; first = i) {
        while (i < count && sums[i] == sums[first])
            i++;
        printf("%s %g x %d", first ? "," : "", (double)sums[first], i - first);
    }
}

int main(int argc, char **argv)
{
    static const float values[] = {1e8F, 1, -1e8F};
    static float mine[4096], all[4096], one[4096], least[4096], most[4096];
    int rank, agree = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4096; i++)
        mine[i] = values[rank];
    for (int count = 256; count <= 4096; count += 4096 - 256) {
        MPI_Allreduce(mine, all, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Reduce(mine, one, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(all, least, count, MPI_FLOAT, MPI_MIN, 0, MPI_COMM_WORLD);
        MPI_Reduce(all, most, count, MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            agree &= least[i] == most[i];
        if (rank == 0) {
            printf("%d numbers: ", count);
            print("Allreduce", all, count);
            print(", Reduce", one, count);
            printf("; ");
        }
    }
    if (rank == 0) puts(agree ? "the ranks agree" : "the ranks differ");
    MPI_Finalize();
    return 0;
}
C
mpicc.openmpi "$work/places.c" -o "$work/places" 2>"$work/log" || unknown "mpicc.openmpi does not compile the program"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "256 numbers: Allreduce 0 x 256, Reduce 0 x 256; 4096 numbers: Allreduce 0 x 2731, 1 x 1365, Reduce 0 x 4096; the ranks agree" \
    "$(mpirun.openmpi --oversubscribe -n 3 "$work/places" 2>"$work/log")"
