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
    SOFT_TRY(soft_function_in(handle, context, &function));
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
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (params == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS in_context = *params;
    const struct soft_object *own = soft_object_find(handle, SOFT_STREAM);
    /* A library's kernel is launched in the stream's context, whichever is current. */
    in_context.ctx = own == NULL ? NULL : (CUcontext)(void *)own->context;
    SOFT_STEP(soft_kernel_make(&in_context, how, &op));
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

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct soft_stream *stream;
    struct soft_op *op;
    SOFT_TRY(soft_begin_on(__func__, hStream, &stream));
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
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_on(__func__, hStream, &stream));
    if (callback == NULL || flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct callback_op *op = soft_op_new(sizeof(*op), run_callback_op, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    op->handle = hStream;
    op->callback = callback;
    op->user_data = userData;
    return soft_end(soft_submit(stream, op));
}

/* How many blocks fit on a multiprocessor. The limits are those that
 * cuDeviceGetAttribute tells, so that a played device has its own; kernels of the twin use no
 * registers that could be counted. */

struct limits {
    int threads, threads_of_block, blocks, warp, multiprocessors;
    size_t shared, shared_of_block, reserved;
};

static struct limits limits_of(CUdevice device)
{
    struct limits limits = {
        .threads = soft_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device),
        .threads_of_block = soft_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device),
        .blocks = soft_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device),
        .warp = soft_attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device),
        .multiprocessors = soft_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        .shared = (size_t)soft_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                                         device),
        .shared_of_block =
            (size_t)soft_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device),
        .reserved =
            (size_t)soft_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, device),
    };
    return limits;
}

/* A block that does not fit at all: 0 of them. */
static int blocks_of(const struct limits *limits, const struct soft_function *function, int size,
                     size_t dynamic_shared)
{
    const int warps = (size + limits->warp - 1) / limits->warp;
    if (size > limits->threads_of_block || dynamic_shared > limits->shared_of_block ||
        function->static_shared > limits->shared_of_block - dynamic_shared)
        return 0;
    const int by_threads = limits->threads / limits->warp / warps;
    const size_t shared = limits->reserved + function->static_shared + dynamic_shared;
    const size_t by_shared = shared == 0 ? SIZE_MAX : limits->shared / shared;
    int blocks = by_threads < limits->blocks ? by_threads : limits->blocks;
    if (by_shared < (size_t)blocks) blocks = (int)by_shared;
    return blocks;
}

int soft_blocks_at_once(const struct soft_function *function, CUdevice device, int block_size,
                        size_t dynamic_shared)
{
    const struct limits limits = limits_of(device);
    return blocks_of(&limits, function, block_size, dynamic_shared) * limits.multiprocessors;
}

/* The lock is held on success. */
static CUresult begin(const char *call, CUfunction handle, bool arguments_valid,
                      struct limits *limits, const struct soft_function **out)
{
    struct soft_context *context;
    struct soft_function *function;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (!arguments_valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_function_in(handle, context, &function));
    *out = function;
    *limits = limits_of(context->device);
    return CUDA_SUCCESS;
}

static CUresult active_blocks(const char *call, int *out, CUfunction func, int block_size,
                              size_t dynamic_shared, unsigned flags)
{
    struct limits limits;
    const struct soft_function *function;
    SOFT_TRY(begin(call, func,
                   out != NULL && block_size > 0 && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE,
                   &limits, &function));
    *out = blocks_of(&limits, function, block_size, dynamic_shared);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                             int blockSize, size_t dynamicSMemSize)
{
    return active_blocks(__func__, numBlocks, func, blockSize, dynamicSMemSize, 0);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    return active_blocks(__func__, numBlocks, func, blockSize, dynamicSMemSize, flags);
}

/* Of the sizes with the most threads at once, the largest: the fewest blocks. The program's
 * function is called without the lock: it may make CUDA calls. */
static CUresult potential_block(const char *call, int *min_grid, int *block_size, CUfunction func,
                                CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
                                unsigned flags)
{
    struct limits limits;
    const struct soft_function *found;
    SOFT_TRY(begin(call, func,
                   min_grid != NULL && block_size != NULL && limit >= 0 &&
                       flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE,
                   &limits, &found));
    const struct soft_function function = *found;
    soft_end(CUDA_SUCCESS);
    int most = limits.threads_of_block, best = 0, best_size = 0, best_blocks = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int rounded = (most + limits.warp - 1) / limits.warp * limits.warp; rounded > 0;
         rounded -= limits.warp) {
        const int size = rounded < most ? rounded : most;
        const int blocks = blocks_of(&limits, &function, size,
                                     shared_of != NULL ? shared_of(size) : dynamic_shared);
        if (blocks * size <= best) continue;
        best = blocks * size;
        best_size = size;
        best_blocks = blocks;
        if (best == limits.threads) break;
    }
    *min_grid = best_blocks * limits.multiprocessors;
    *block_size = best_size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit)
{
    return potential_block(__func__, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                           dynamicSMemSize, blockSizeLimit, 0);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags)
{
    return potential_block(__func__, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                           dynamicSMemSize, blockSizeLimit, flags);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize)
{
    struct limits limits;
    const struct soft_function *function;
    SOFT_TRY(begin(__func__, func, dynamicSmemSize != NULL && numBlocks > 0 && blockSize > 0,
                   &limits, &function));
    if (blocks_of(&limits, function, blockSize, 0) < numBlocks)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    size_t share = limits.shared / (size_t)numBlocks - limits.reserved;
    if (share > limits.shared_of_block) share = limits.shared_of_block;
    *dynamicSmemSize = share - function->static_shared;
    return soft_end(CUDA_SUCCESS);
}

/* Blocks that a launch like this may have at once, and the size of a cluster that it asks for. */
static CUresult begin_clusters(const char *call, CUfunction func, const CUlaunchConfig *config,
                               const void *out, uint64_t *blocks, uint64_t *cluster,
                               const struct soft_function **function)
{
    struct limits limits;
    SOFT_TRY(begin(call, func, out != NULL && config != NULL, &limits, function));
    const uint64_t size = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    if (size == 0 || size > SOFT_MAX_BLOCK) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *blocks = (uint64_t)blocks_of(&limits, *function, (int)size, config->sharedMemBytes) *
              (uint64_t)limits.multiprocessors;
    const uint32_t *fixed = (*function)->cluster;
    *cluster = (uint64_t)fixed[0] * fixed[1] * fixed[2];
    for (unsigned i = 0; config->attrs != NULL && i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        const uint32_t asked[3] = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        for (unsigned j = 0; j < 3; j++)
            if (*cluster != 0 && asked[j] != fixed[j])
                return soft_end(CUDA_ERROR_INVALID_CLUSTER_SIZE);
        *cluster = (uint64_t)asked[0] * asked[1] * asked[2];
    }
    return CUDA_SUCCESS;
}

static uint64_t largest_cluster(const struct soft_function *function)
{
    return function->large_clusters ? 16 : 8;
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                              const CUlaunchConfig *config)
{
    uint64_t blocks, cluster;
    const struct soft_function *function;
    SOFT_TRY(begin_clusters(__func__, func, config, numClusters, &blocks, &cluster, &function));
    if (cluster == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (cluster > largest_cluster(function)) return soft_end(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    *numClusters = (int)(blocks / cluster);
    return soft_end(CUDA_SUCCESS);
}

/* cuda.h: the cluster of the configuration does not count, that of the function does. */
CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                    const CUlaunchConfig *config)
{
    uint64_t blocks, cluster;
    const struct soft_function *function;
    CUlaunchConfig without = {0};
    if (config != NULL) {
        without = *config;
        without.numAttrs = 0;
    }
    SOFT_TRY(begin_clusters(__func__, func, config == NULL ? NULL : &without, clusterSize, &blocks,
                            &cluster, &function));
    *clusterSize = (int)(cluster != 0 ? cluster : largest_cluster(function));
    return soft_end(CUDA_SUCCESS);
}
