/* The twin's CUDA driver: kernel launches and host functions.
 * SPDX-License-Identifier: MIT */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

#define PARAM_ALIGNMENT 16u

struct launch {
    struct soft_op op;
    const culv_soft_kernel *kernel;
    culv_soft_dim3 grid, block;
    void **params; /* into `values` */
    unsigned char *values;
};

struct host_call {
    struct soft_op op;
    CUhostFn function;
    void *user_data;
};

static CUresult run_launch(struct soft_op *op)
{
    struct launch *launch = (struct launch *)(void *)op;
    return soft_pool_run(launch->kernel, launch->grid, launch->block, launch->params);
}

static void retire_launch(struct soft_op *op)
{
    struct launch *launch = (struct launch *)(void *)op;
    free(launch->params);
    free(launch->values);
}

static size_t padded(uint32_t size)
{
    return ((size_t)size + PARAM_ALIGNMENT - 1) / PARAM_ALIGNMENT * PARAM_ALIGNMENT;
}

/* The arguments are read during the call, as the driver does. */
static CUresult copy_params(struct launch *launch, void **params)
{
    uint32_t count = launch->kernel->num_params;
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += padded(launch->kernel->param_sizes[i]);
    launch->params = calloc(count + 1, sizeof(*launch->params));
    launch->values = malloc(total + 1);
    if (launch->params == NULL || launch->values == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned char *at = launch->values;
    for (uint32_t i = 0; i < count; i++) {
        if (params[i] == NULL) return CUDA_ERROR_INVALID_VALUE;
        memcpy(at, params[i], launch->kernel->param_sizes[i]);
        launch->params[i] = at;
        at += padded(launch->kernel->param_sizes[i]);
    }
    return CUDA_SUCCESS;
}

static bool dimensions_valid(culv_soft_dim3 grid, culv_soft_dim3 block)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return false;
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u) return false;
    if (block.x > SOFT_MAX_BLOCK || block.y > SOFT_MAX_BLOCK || block.z > 64u) return false;
    return block.x * block.y * block.z <= SOFT_MAX_BLOCK;
}

static CUresult launch_kernel(const char *call, CUfunction f, culv_soft_dim3 grid, culv_soft_dim3 block,
                              unsigned shared_bytes, CUstream handle, void **params, void **extra)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_function *function = soft_object_find(f, SOFT_FUNCTION);
    if (function == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (!dimensions_valid(grid, block) || shared_bytes > SOFT_MAX_SHARED)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (extra != NULL) return soft_end(params != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
    if (params == NULL && function->kernel->num_params > 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    /* R6: a kernel runs in streams of its own context only. */
    if (soft_stream_context(stream) != function->object.context) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    struct launch *launch = soft_op_new(sizeof(*launch), run_launch, retire_launch);
    if (launch == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    launch->kernel = function->kernel;
    launch->grid = grid;
    launch->block = block;
    result = copy_params(launch, params);
    if (result != CUDA_SUCCESS) {
        soft_op_drop(launch);
        return soft_end(result);
    }
    return soft_end(soft_submit(stream, launch));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                void **kernelParams, void **extra)
{
    culv_soft_dim3 grid = {gridDimX, gridDimY, gridDimZ}, block = {blockDimX, blockDimY, blockDimZ};
    return launch_kernel(__func__, f, grid, block, sharedMemBytes, hStream, kernelParams, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    static const CUlaunchConfig nothing;
    const CUlaunchConfig *c = config == NULL ? &nothing : config; /* zero dimensions are refused below */
    culv_soft_dim3 grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                   block = {c->blockDimX, c->blockDimY, c->blockDimZ};
    return launch_kernel(__func__, f, grid, block, c->sharedMemBytes, c->hStream, kernelParams, extra);
}

static CUresult run_host_call(struct soft_op *op)
{
    struct host_call *call = (struct host_call *)(void *)op;
    soft_forbid_calls(true);
    call->function(call->user_data);
    soft_forbid_calls(false);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (fn == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, hStream, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    struct host_call *call = soft_op_new(sizeof(*call), run_host_call, NULL);
    if (call == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    call->function = fn;
    call->user_data = userData;
    return soft_end(soft_submit(stream, call));
}
