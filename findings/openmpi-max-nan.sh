#!/bin/sh
# The largest of four ranks' numbers is lost if another one's is NaN: MPI_Allreduce of Open MPI with MPI_MAX.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1.
# Guess: the largest of 0, 1, NaN and 3 is NaN, as NumPy's max has it, or 3, as fmaxf and CUDA's have it.
# Behaviour: it is 1 for one number: b is kept unless a > b, so a NaN forgets what came before it. Of 1,000 numbers each is 3,
#   and of 100,000, which go around in pieces, a quarter is 1, a quarter NaN and half is 3: pieces begin at other ranks.
#   The ranks agree. So a largest speed that sets the time step comes out too small, and no NaN tells of it.
# Seen: 1 number: 1 x 1; 1000 numbers: 3 x 1000; 100000 numbers: 1 x 25000 nan x 25000 3 x 50000
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/most.c" <<'C'
#include <math.h>
#include <mpi.h>
#include <stdio.h>

static int same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

int main(int argc, char **argv)
{
    static const float values[] = {0, 1, NAN, 3};
    static float mine[100000], most[100000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100000; i++)
        mine[i] = values[rank];
    for (int count = 1; count <= 100000; count *= count == 1 ? 1000 : 100) {
        MPI_Allreduce(mine, most, count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0) printf("%s%d number%s:", count > 1 ? "; " : "", count, count > 1 ? "s" : "");
        for (int i = 0, first = 0; i < count; first = i) {
            while (i < count && same(most[i], most[first]))
                i++;
            if (rank == 0) printf(" %.0f x %d", (double)most[first], i - first);
        }
    }
    MPI_Finalize();
    return 0;
}
C
mpicc.openmpi "$work/most.c" -o "$work/most" 2>"$work/log" || unknown "mpicc.openmpi does not compile the program"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "1 number: 1 x 1; 1000 numbers: 3 x 1000; 100000 numbers: 1 x 25000 nan x 25000 3 x 50000" "$(mpirun.openmpi --oversubscribe -n 4 "$work/most" 2>"$work/log")"
