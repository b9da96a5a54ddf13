/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: kernel launches and host functions. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#define PARAM_ALIGNMENT 16u

struct launch {
    struct soft_op op;
    struct soft_function *function; /* gone if another one has its address, or none has */
    uint64_t function_id;
    const struct soft_context *context; /* the kernel's */
    struct soft_grid grid;
    struct soft_launch_how how;
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
    const culv_soft_kernel *kernel = launch->grid.kernel;
    for (uint32_t i = 0; i < kernel->num_params; i++)
        if (!soft_peers_reach(launch->context, launch->params[i], kernel->param_sizes[i]))
            return soft_note_fault(), CUDA_ERROR_ILLEGAL_ADDRESS;
    return soft_pool_run(&launch->grid);
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
    uint32_t count = launch->grid.kernel->num_params;
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += padded(launch->grid.kernel->param_sizes[i]);
    launch->params = calloc(count + 1, sizeof(*launch->params));
    launch->values = malloc(total + 1);
    if (launch->params == NULL || launch->values == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned char *at = launch->values;
    for (uint32_t i = 0; i < count; i++) {
        if (params[i] == NULL) return CUDA_ERROR_INVALID_VALUE;
        memcpy(at, params[i], launch->grid.kernel->param_sizes[i]);
        launch->params[i] = at;
        at += padded(launch->grid.kernel->param_sizes[i]);
    }
    launch->grid.params = launch->params;
    return CUDA_SUCCESS;
}

/* A node's kernel may be unloaded when its graph is launched. */
static CUresult admit_launch(struct soft_op *op, const struct soft_context *context)
{
    (void)context; /* a graph's kernels may be several contexts' */
    const struct launch *launch = (const struct launch *)(const void *)op;
    const struct soft_function *function = soft_object_find(launch->function, SOFT_FUNCTION);
    return function != NULL && function->id == launch->function_id ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_HANDLE;
}

bool soft_dimensions_valid(culv_soft_dim3 grid, culv_soft_dim3 block)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return false;
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u) return false;
    if (block.x > SOFT_MAX_BLOCK || block.y > SOFT_MAX_BLOCK || block.z > 64u) return false;
    return block.x * block.y * block.z <= SOFT_MAX_BLOCK;
}

/* The clusters of a launch: the launch's, or the kernel's. */
static CUresult find_cluster(const struct soft_function *function,
                             const struct soft_launch_how *how, const culv_soft_dim3 *grid,
                             uint32_t out[3])
{
    const uint32_t blocks[3] = {grid->x, grid->y, grid->z}, *fixed = function->kernel->cluster,
                   *asked = how->cluster;
    uint64_t size = 1;
    memcpy(out, (asked[0] | asked[1] | asked[2]) != 0 ? asked : function->cluster,
           3 * sizeof(out[0]));
    if ((out[0] | out[1] | out[2]) == 0) return CUDA_SUCCESS;
    for (unsigned i = 0; i < 3; i++) {
        if (out[i] == 0 || (fixed[i] != 0 && fixed[i] != out[i]) || blocks[i] % out[i] != 0)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        size *= out[i]; /* at most the blocks of a grid */
    }
    return size > (function->large_clusters ? 16u : 8u) ? CUDA_ERROR_INVALID_CLUSTER_SIZE
                                                        : CUDA_SUCCESS;
}

CUresult soft_kernel_make(const CUDA_KERNEL_NODE_PARAMS *p, const struct soft_launch_how *how,
                          struct soft_op **out)
{
    uint32_t cluster[3];
    const culv_soft_dim3 grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                         block = {p->blockDimX, p->blockDimY, p->blockDimZ};
    const void *handle = p->func != NULL ? (const void *)p->func : (const void *)p->kern;
    struct soft_context *context =
        p->ctx != NULL ? soft_context_find(p->ctx) : soft_context_current();
    struct soft_function *function;
    CUresult result = soft_function_in(handle, context, &function);
    if (result != CUDA_SUCCESS) return result;
    if (!soft_dimensions_valid(grid, block) || p->sharedMemBytes > function->dynamic_shared)
        return CUDA_ERROR_INVALID_VALUE;
    result = find_cluster(function, how, &grid, cluster);
    if (result != CUDA_SUCCESS) return result;
    if (p->extra != NULL)
        return p->kernelParams != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    if (p->kernelParams == NULL && function->kernel->num_params > 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct launch *launch = soft_op_new(sizeof(*launch), run_launch, retire_launch);
    if (launch == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    launch->op.type = CU_GRAPH_NODE_TYPE_KERNEL;
    launch->op.admit = admit_launch;
    launch->function = function;
    launch->function_id = function->id;
    launch->context = function->object.context;
    launch->grid = (struct soft_grid){.kernel = function->kernel,
                                      .meets = function->meets,
                                      .grid = grid,
                                      .block = block,
                                      .shared_bytes = p->sharedMemBytes,
                                      .static_shared = function->static_shared};
    memcpy(launch->grid.cluster, cluster, sizeof(cluster));
    launch->how = *how;
    result = copy_params(launch, p->kernelParams);
    if (result == CUDA_SUCCESS)
        *out = &launch->op;
    else
        soft_op_drop(launch);
    return result;
}

const struct soft_launch_how *soft_kernel_how(const struct soft_op *work)
{
    return &((const struct launch *)(const void *)work)->how;
}

void soft_kernel_params(const struct soft_op *work, CUDA_KERNEL_NODE_PARAMS *out)
{
    const struct launch *launch = (const struct launch *)(const void *)work;
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(void *)launch->function,
                                     .gridDimX = launch->grid.grid.x,
                                     .gridDimY = launch->grid.grid.y,
                                     .gridDimZ = launch->grid.grid.z,
                                     .blockDimX = launch->grid.block.x,
                                     .blockDimY = launch->grid.block.y,
                                     .blockDimZ = launch->grid.block.z,
                                     .sharedMemBytes = launch->grid.shared_bytes,
                                     .kernelParams = launch->params};
}

/* cuda.h: the blocks of a cooperative launch are all there at once. */
static bool fits_at_once(const struct soft_op *op)
{
    const struct launch *launch = (const struct launch *)(const void *)op;
    const culv_soft_dim3 grid = launch->grid.grid, block = launch->grid.block;
    const int most =
        soft_blocks_at_once(launch->function, launch->function->object.context->device,
                            (int)(block.x * block.y * block.z), launch->grid.shared_bytes);
    return (uint64_t)grid.x * grid.y * grid.z <= (uint64_t)most;
}

static CUresult launch_kernel(const char *call, const CUDA_KERNEL_NODE_PARAMS *params,
                              const struct soft_launch_how *how, CUstream handle)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_op *op;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (params == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS in_context = *params;
    const struct soft_object *own = soft_object_find(handle, SOFT_STREAM);
    /* A library's kernel is launched in the stream's context, whichever is current. */
    in_context.ctx = own == NULL ? NULL : (CUcontext)(void *)own->context;
    result = soft_kernel_make(&in_context, how, &op);
    if (result != CUDA_SUCCESS) return soft_end(result);
    result = soft_stream_get(context, handle, &stream);
    const struct soft_function *function = ((const struct launch *)(const void *)op)->function;
    /* R6: a kernel runs in streams of its own context only. */
    if (result == CUDA_SUCCESS && soft_stream_context(stream) != function->object.context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && how->cooperative != 0 && !fits_at_once(op))
        result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (result == CUDA_SUCCESS) return soft_end(soft_submit(stream, op));
    soft_op_drop(op);
    return soft_end(result);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    const CUDA_KERNEL_NODE_PARAMS params = {.func = f,
                                            .gridDimX = gridDimX,
                                            .gridDimY = gridDimY,
                                            .gridDimZ = gridDimZ,
                                            .blockDimX = blockDimX,
                                            .blockDimY = blockDimY,
                                            .blockDimZ = blockDimZ,
                                            .sharedMemBytes = sharedMemBytes,
                                            .kernelParams = kernelParams,
                                            .extra = extra};
    return launch_kernel(__func__, &params, &(struct soft_launch_how){.cooperative = 0}, hStream);
}

/* The twin's kernels cannot wait for their whole grid: what is left of a cooperative launch is its
 * limit. */
CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams)
{
    const CUDA_KERNEL_NODE_PARAMS params = {.func = f,
                                            .gridDimX = gridDimX,
                                            .gridDimY = gridDimY,
                                            .gridDimZ = gridDimZ,
                                            .blockDimX = blockDimX,
                                            .blockDimY = blockDimY,
                                            .blockDimZ = blockDimZ,
                                            .sharedMemBytes = sharedMemBytes,
                                            .kernelParams = kernelParams};
    return launch_kernel(__func__, &params, &(struct soft_launch_how){.cooperative = 1}, hStream);
}

bool soft_launch_read_attribute(struct soft_launch_how *how, CUlaunchAttributeID id,
                                const CUlaunchAttributeValue *value)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        how->cluster[0] = value->clusterDim.x;
        how->cluster[1] = value->clusterDim.y;
        how->cluster[2] = value->clusterDim.z;
        return true;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: how->cooperative = value->cooperative; return true;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: how->priority = value->priority; return true;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        how->updatable = value->deviceUpdatableKernelNode.deviceUpdatable;
        return true;
    default: return false;
    }
}

/* What the twin does not tell apart is passed over. */
static struct soft_launch_how read_attributes(const CUlaunchConfig *config)
{
    struct soft_launch_how how = {.cooperative = 0};
    for (unsigned i = 0; config->attrs != NULL && i < config->numAttrs; i++)
        (void)soft_launch_read_attribute(&how, config->attrs[i].id, &config->attrs[i].value);
    return how;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    static const CUlaunchConfig nothing;
    const CUlaunchConfig *c = config == NULL ? &nothing : config;
    const CUDA_KERNEL_NODE_PARAMS params = {.func = f,
                                            .gridDimX = c->gridDimX,
                                            .gridDimY = c->gridDimY,
                                            .gridDimZ = c->gridDimZ,
                                            .blockDimX = c->blockDimX,
                                            .blockDimY = c->blockDimY,
                                            .blockDimZ = c->blockDimZ,
                                            .sharedMemBytes = c->sharedMemBytes,
                                            .kernelParams = kernelParams,
                                            .extra = extra};
    const struct soft_launch_how how = read_attributes(c);
    return launch_kernel(__func__, config == NULL ? NULL : &params, &how, c->hStream);
}

static CUresult run_host_call(struct soft_op *op)
{
    struct host_call *call = (struct host_call *)(void *)op;
    soft_forbid_calls(true);
    call->function(call->user_data);
    soft_forbid_calls(false);
    return CUDA_SUCCESS;
}

CUresult soft_host_make(const CUDA_HOST_NODE_PARAMS *params, struct soft_op **out)
{
    if (params->fn == NULL) return CUDA_ERROR_INVALID_VALUE;
    struct host_call *call = soft_op_new(sizeof(*call), run_host_call, NULL);
    if (call == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    call->op.type = CU_GRAPH_NODE_TYPE_HOST;
    call->function = params->fn;
    call->user_data = params->userData;
    *out = &call->op;
    return CUDA_SUCCESS;
}

void soft_host_params(const struct soft_op *work, CUDA_HOST_NODE_PARAMS *out)
{
    const struct host_call *call = (const struct host_call *)(const void *)work;
    *out = (CUDA_HOST_NODE_PARAMS){.fn = call->function, .userData = call->user_data};
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_op *op;
    CUresult result = soft_begin_stream(__func__, hStream, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, hStream, &stream);
    if (result == CUDA_SUCCESS)
        result = soft_host_make(&(CUDA_HOST_NODE_PARAMS){.fn = fn, .userData = userData}, &op);
    return soft_end(result == CUDA_SUCCESS ? soft_submit(stream, op) : result);
}

struct callback_op {
    struct soft_op op;
    CUstream handle; /* as the caller named it */
    CUstreamCallback callback;
    void *user_data;
};

static void CUDA_CB run_callback(void *op)
{
    const struct callback_op *call = op;
    call->callback(call->handle, CUDA_SUCCESS, call->user_data);
}

static CUresult run_callback_op(struct soft_op *op)
{
    struct host_call call = {.function = run_callback, .user_data = op};
    return run_host_call(&call.op);
}

/* It is no node of a graph, as cuda.h says. A callback whose context has failed does not run. */
CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                     unsigned int flags)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_begin_stream(__func__, hStream, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, hStream, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (callback == NULL || flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct callback_op *op = soft_op_new(sizeof(*op), run_callback_op, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    op->handle = hStream;
    op->callback = callback;
    op->user_data = userData;
    return soft_end(soft_submit(stream, op));
}
