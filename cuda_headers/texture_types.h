/* SPDX-License-Identifier: MIT */
/* What kernels name of CUDA's texture_types.h; see vector_types.h beside this file. */
#ifndef CULVERT_ABI_TEXTURE_TYPES_H_
#define CULVERT_ABI_TEXTURE_TYPES_H_

typedef unsigned long long cudaTextureObject_t;

#endif
