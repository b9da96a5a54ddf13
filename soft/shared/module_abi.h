/* SPDX-License-Identifier: MIT */
/* What a kernel module for the software twin exports: a shared object, compiled by the host
 * compiler from the same .cu source as the fatbin, that cuModuleLoad opens by path. */
#ifndef CULV_SOFT_MODULE_ABI_H_
#define CULV_SOFT_MODULE_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CULV_SOFT_MODULE_VERSION 5u
#define CULV_SOFT_MODULE_SYMBOL  "culv_soft_module_table"

typedef struct culv_soft_dim3 {
    uint32_t x, y, z;
} culv_soft_dim3;

/* Runs blocks [first_block, first_block + num_blocks) of the grid, x fastest, on the calling
 * thread. params is the kernelParams array of cuLaunchKernel: one pointer to each argument's
 * value. */
typedef void (*culv_soft_run_fn)(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first_block,
                                 uint64_t num_blocks, void *const *params);

/* Where one thread of a block is, while the block's threads wait for one another. */
typedef struct culv_soft_place {
    int32_t thread[3], block[3], block_dim[3], grid_dim[3];
    int32_t cluster_dim[3]; /* 0: the launch has no clusters */
    uint32_t lane;          /* in its warp */
} culv_soft_place;

/* Runs one thread of one block, to its end or until it waits for others. */
typedef void (*culv_soft_thread_fn)(const culv_soft_place *place, void *const *params);

typedef struct culv_soft_kernel {
    const char *name;
    culv_soft_run_fn run;
    uint32_t num_params;
    const uint32_t *param_sizes; /* bytes of each parameter */
    culv_soft_thread_fn thread;
    /* Not 0, from the loading on: threads of a block wait for one another, or share dynamic memory,
     * so that `thread` is called and not `run`. */
    const unsigned char *meets;
    uint32_t cluster[3]; /* blocks of a cluster, as the source fixes them; 0: it does not */
} culv_soft_kernel;

/* How threads meet: of a block, or of a warp. */
typedef enum culv_soft_meeting {
    CULV_SOFT_SYNC, /* the block's: what each brings is combined */
    CULV_SOFT_SYNC_COUNT,
    CULV_SOFT_SYNC_AND,
    CULV_SOFT_SYNC_OR,
    CULV_SOFT_SYNC_CLUSTER, /* all blocks' of the cluster */
    CULV_SOFT_WARP_SYNC,    /* the warp's, from here on: each sees what the others bring */
    CULV_SOFT_WARP_SHUFFLE,
    CULV_SOFT_WARP_VOTE,
    CULV_SOFT_WARP_MATCH,
    CULV_SOFT_WARP_ACTIVE
} culv_soft_meeting;

/* What a kernel asks of the driver while its threads run one by one. */
typedef struct culv_soft_services {
    const culv_soft_place *(*place)(void);
    void *(*shared)(void);             /* the block's dynamic shared memory */
    void *(*shared_of)(uint32_t rank); /* another one's of the cluster */
    /* Returns once every thread of the block that has not ended is there. */
    uint32_t (*meet_block)(culv_soft_meeting kind, uint32_t value);
    /* Returns once every thread of `mask` that has not ended is there: which are, and in *values
     * what each lane brought. *values is readable until the thread's next meeting. Of
     * CULV_SOFT_WARP_ACTIVE: once nobody of the block can go on, those with the same value. */
    uint32_t (*meet_warp)(culv_soft_meeting kind, uint32_t mask, uint64_t value,
                          const uint64_t **values);
} culv_soft_services;

typedef struct culv_soft_module_table {
    uint32_t version; /* CULV_SOFT_MODULE_VERSION */
    uint32_t num_kernels;
    const culv_soft_kernel *kernels;
    const unsigned char
        *meets; /* as a kernel's, for all of them: a function in the file may wait */
    const culv_soft_services **services; /* set by the driver */
} culv_soft_module_table;

/* What a surface or texture object is to a kernel. The handle that kernels are given is its
 * address, with its turn in the upper bits: an object that was destroyed has another turn, one
 * whose array was destroyed has no dimensions. The address stays readable in any case. */
typedef enum culv_soft_dimensions {
    CULV_SOFT_GONE = 0,
    CULV_SOFT_1D,
    CULV_SOFT_2D,
    CULV_SOFT_3D,
    CULV_SOFT_1D_LAYERED,
    CULV_SOFT_2D_LAYERED,
    CULV_SOFT_CUBE,
    CULV_SOFT_CUBE_LAYERED,
    CULV_SOFT_LINEAR /* textures only: plain memory */
} culv_soft_dimensions;

typedef struct culv_soft_surface {
    uint16_t turn;      /* first, here and below */
    uint8_t dimensions; /* a culv_soft_dimensions */
    unsigned char *start;
    uint64_t pitch; /* bytes from row to row */
    uint64_t slice; /* bytes from layer to layer, or z to z */
    uint32_t width_bytes, height, depth;
} culv_soft_surface;

#define CULV_SOFT_MAX_LEVELS 15u

typedef struct culv_soft_texture_level {
    unsigned char *start;
    uint64_t pitch, slice;
    uint32_t width, height, depth; /* texels; depth: slices, layers, or faces of all layers */
} culv_soft_texture_level;

/* How a texel is stored, and what a read makes of it. */
typedef enum culv_soft_texel {
    CULV_SOFT_UINT8,
    CULV_SOFT_UINT16,
    CULV_SOFT_UINT32,
    CULV_SOFT_SINT8,
    CULV_SOFT_SINT16,
    CULV_SOFT_SINT32,
    CULV_SOFT_UNORM8, /* this one and those below are read as floats */
    CULV_SOFT_UNORM16,
    CULV_SOFT_SNORM8,
    CULV_SOFT_SNORM16,
    CULV_SOFT_HALF,
    CULV_SOFT_FLOAT,
    CULV_SOFT_UNORM_101010_2,
    CULV_SOFT_SRGB8 /* alpha is linear */
} culv_soft_texel;

typedef struct culv_soft_texture {
    uint16_t turn;
    uint8_t dimensions;
    uint8_t texel; /* a culv_soft_texel */
    uint8_t channels, texel_bytes;
    uint8_t address[3]; /* CUaddress_mode */
    uint8_t normalized, linear, mip_linear, seamless;
    uint8_t num_levels;
    float bias, min_level, max_level;
    float border[4];
    culv_soft_texture_level levels[CULV_SOFT_MAX_LEVELS];
} culv_soft_texture;

#define CULV_SOFT_TURN_SHIFT      48
#define CULV_SOFT_ADDRESS(handle) ((uintptr_t)((handle)&0xffffffffffffu))

#ifdef __cplusplus
}
#endif
#endif
