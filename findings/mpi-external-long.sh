#!/bin/sh
# A long goes through MPI's portable format as four bytes, and its upper half is lost without an error.
# Version: libopenmpi-dev and openmpi-bin 4.1.4-3+b1, mpich and libmpich-dev 4.0.2-3+b1, gcc 4:12.2.0-3 on amd64.
# Guess: MPI_Pack_external("external32") of an MPI_LONG keeps what a long of 64 bits holds, or fails if it does
#   not fit; the size that was asked for before is the size that is written.
# Behaviour: the standard's table gives a long four bytes there. Both write the lower four with success, so the
#   offset 2^32 + 5 comes back as 5 (and 2^31 as a negative number). Open MPI's
#   MPI_Pack_external_size says 8. MPI_LONG_LONG and MPI_INT64_T have eight bytes and are right.
# Seen: MPICH: size 4, packed 4, 4294967301 is 5, 2147483648 is -2147483648; as MPI_INT64_T: size 8, packed 8, 4294967301 is 4294967301, 2147483648 is 2147483648
#       Open MPI: size 8, packed 4, 4294967301 is 5, 2147483648 is -2147483648; as MPI_INT64_T: size 8, packed 8, 4294967301 is 4294967301, 2147483648 is 2147483648
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 mpich=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libopenmpi-dev=4.1.4-3+b1 openmpi-bin=4.1.4-3+b1
cat >"$work/long.c" <<'C'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static void print(MPI_Datatype type)
{
    const int64_t values[] = {INT64_C(0x100000005), INT64_C(0x80000000)};
    MPI_Aint size, packed = 0;
    MPI_Pack_external_size("external32", 1, type, &size);
    for (int i = 0; i < 2; i++) {
        char room[16] = {0};
        int64_t back = -1;
        MPI_Aint from = 0;
        packed = 0;
        int failed = MPI_Pack_external("external32", &values[i], 1, type, room, sizeof room, &packed);
        failed |= MPI_Unpack_external("external32", room, packed, &from, &back, 1, type);
        if (i == 0) printf("size %d, packed %d", (int)size, (int)packed);
        printf(failed ? ", error" : ", %lld is %lld", (long long)values[i], (long long)back);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    print(MPI_LONG);
    printf("; as MPI_INT64_T: ");
    print(MPI_INT64_T);
    puts("");
    MPI_Finalize();
    return 0;
}
C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpicc.mpich "$work/long.c" -o "$work/mpich" 2>"$work/log" || unknown "mpicc.mpich does not compile the program"
mpicc.openmpi "$work/long.c" -o "$work/openmpi" 2>"$work/log" || unknown "mpicc.openmpi does not compile the program"
same "MPICH: size 4, packed 4, 4294967301 is 5, 2147483648 is -2147483648; as MPI_INT64_T: size 8, packed 8, 4294967301 is 4294967301, 2147483648 is 2147483648
Open MPI: size 8, packed 4, 4294967301 is 5, 2147483648 is -2147483648; as MPI_INT64_T: size 8, packed 8, 4294967301 is 4294967301, 2147483648 is 2147483648" "MPICH: $(mpirun.mpich -n 1 "$work/mpich" 2>"$work/log")
Open MPI: $(mpirun.openmpi -n 1 "$work/openmpi" 2>"$work/log")"
