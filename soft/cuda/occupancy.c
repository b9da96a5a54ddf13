/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: how many blocks fit on a multiprocessor. The limits are those that
 * cuDeviceGetAttribute tells, so that a played device has its own; kernels of the twin use no
 * registers that could be counted. */
#include "graph.h"

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
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (!arguments_valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_function_in(handle, context, &function);
    if (result != CUDA_SUCCESS) return soft_end(result);
    *out = function;
    *limits = limits_of(context->device);
    return CUDA_SUCCESS;
}

static CUresult active_blocks(const char *call, int *out, CUfunction func, int block_size,
                              size_t dynamic_shared, unsigned flags)
{
    struct limits limits;
    const struct soft_function *function;
    CUresult result = begin(
        call, func, out != NULL && block_size > 0 && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE,
        &limits, &function);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin(call, func,
                            min_grid != NULL && block_size != NULL && limit >= 0 &&
                                flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE,
                            &limits, &found);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result =
        begin(__func__, func, dynamicSmemSize != NULL && numBlocks > 0 && blockSize > 0, &limits,
              &function);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin(call, func, out != NULL && config != NULL, &limits, function);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result =
        begin_clusters(__func__, func, config, numClusters, &blocks, &cluster, &function);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = begin_clusters(__func__, func, config == NULL ? NULL : &without, clusterSize,
                                     &blocks, &cluster, &function);
    if (result != CUDA_SUCCESS) return result;
    *clusterSize = (int)(cluster != 0 ? cluster : largest_cluster(function));
    return soft_end(CUDA_SUCCESS);
}
