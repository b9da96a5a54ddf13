/* SPDX-License-Identifier: MIT */
/* What kernels name of CUDA's surface_types.h; see vector_types.h beside this file. */
#ifndef CULVERT_ABI_SURFACE_TYPES_H_
#define CULVERT_ABI_SURFACE_TYPES_H_

enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2
};

typedef unsigned long long cudaSurfaceObject_t;

#endif
