#!/bin/sh
# MPI rounds the extent of a struct up, although all its displacements were given.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1, mpich and libmpich-dev 4.0.2-3+b1.
# Guess: MPI_Type_create_struct of a float at 0 and an unsigned char at 4, for a packed struct of
#   5 bytes, has the extent 5: the caller said where everything lies, and the extent ends behind
#   the last byte.
# Behaviour: both make it 8, as if the struct were not packed, so an array of them is sent as every
#   8th byte: the second element is not the array's second. Vertices of a float and a color byte,
#   which a GPU reads with a stride of 5, need MPI_Type_create_resized; one struct alone hides it.
# Seen: MPICH: extent 8, true extent 5, two vertices of aaaaAbbbbBccccC: aaaaAbBccc
#       Open MPI: extent 8, true extent 5, two vertices of aaaaAbbbbBccccC: aaaaAbBccc
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 mpich=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/extent.c" <<'C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 4}, low, extent, true_low, true_extent;
    MPI_Datatype parts[] = {MPI_FLOAT, MPI_UNSIGNED_CHAR}, vertex;
    char vertices[16] = "aaaaAbbbbBccccC", sent[16] = "";
    MPI_Init(&argc, &argv);
    MPI_Type_create_struct(2, lengths, at, parts, &vertex);
    MPI_Type_commit(&vertex);
    MPI_Type_get_extent(vertex, &low, &extent);
    MPI_Type_get_true_extent(vertex, &true_low, &true_extent);
    MPI_Sendrecv(vertices, 2, vertex, 0, 0, sent, 10, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    printf("extent %ld, true extent %ld, two vertices of %s: %s\n", (long)extent, (long)true_extent,
           vertices, sent);
    MPI_Finalize();
    return 0;
}
C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpicc.mpich "$work/extent.c" -o "$work/mpich"
mpicc.openmpi "$work/extent.c" -o "$work/openmpi"
same "MPICH: extent 8, true extent 5, two vertices of aaaaAbbbbBccccC: aaaaAbBccc
Open MPI: extent 8, true extent 5, two vertices of aaaaAbbbbBccccC: aaaaAbBccc" "MPICH: $(mpirun.mpich -n 1 "$work/mpich" 2>"$work/log")
Open MPI: $(mpirun.openmpi -n 1 "$work/openmpi" 2>"$work/log")"
