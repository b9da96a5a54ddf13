/* SPDX-License-Identifier: MIT */
/* ripple's path for the ranks of an MPI program: each solves a band of rows, and rank 0 draws. */
#ifndef RIPPLE_PATH_MPI_H_
#define RIPPLE_PATH_MPI_H_

#include <culvert/mpi.h>

#include "../ripple/exchange.h"

/* Of this process; set before the exchange is made. */
typedef struct ranks {
    int rank, count;
    int solvers[256];           /* ranks, from the first rows on */
    uint32_t num_solvers, band; /* band: this rank's; none if it is higher */
} ranks;
extern ranks path_mpi_ranks;

extern const exchange_path path_mpi;

#endif
