/* What a kernel module for the software twin exports: a shared object, compiled by the host compiler from the
 * same .cu source as the fatbin, that cuModuleLoad opens by path. SPDX-License-Identifier: MIT */
#ifndef CULV_SOFT_MODULE_ABI_H_
#define CULV_SOFT_MODULE_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CULV_SOFT_MODULE_VERSION 2u
#define CULV_SOFT_MODULE_SYMBOL  "culv_soft_module_table"

typedef struct culv_soft_dim3 {
    uint32_t x, y, z;
} culv_soft_dim3;

/* Runs blocks [first_block, first_block + num_blocks) of the grid, x fastest, on the calling thread. params
 * is the kernelParams array of cuLaunchKernel: one pointer to each argument's value. */
typedef void (*culv_soft_run_fn)(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first_block,
                                 uint64_t num_blocks, void *const *params);

typedef struct culv_soft_kernel {
    const char *name;
    culv_soft_run_fn run;
    uint32_t num_params;
    const uint32_t *param_sizes; /* bytes of each parameter */
} culv_soft_kernel;

typedef struct culv_soft_module_table {
    uint32_t version; /* CULV_SOFT_MODULE_VERSION */
    uint32_t num_kernels;
    const culv_soft_kernel *kernels;
} culv_soft_module_table;

/* What a surface object is to a kernel. The handle that kernels are given is its address, with its turn in
 * the upper bits: a surface that was destroyed has another turn, one whose array was destroyed has no extent.
 * The address stays readable in any case. */
typedef struct culv_soft_surface {
    unsigned char *start;
    uint64_t pitch; /* bytes from row to row */
    uint64_t slice; /* bytes from layer to layer, or z to z */
    uint32_t width_bytes, height, depth;
    uint16_t turn;
} culv_soft_surface;

#define CULV_SOFT_SURFACE_TURN_SHIFT      48
#define CULV_SOFT_SURFACE_ADDRESS(handle) ((uintptr_t)((handle)&0xffffffffffffu))

#ifdef __cplusplus
}
#endif
#endif
