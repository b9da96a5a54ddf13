// SPDX-License-Identifier: MIT
// Kernels whose threads work together. Integers where the order of additions is free, floats where
// it is fixed: both drivers give the same bits.
#include "culvert_kernel.h"

// The sum of a block's elements, by halves. The block has any size up to 1024.
CULV_KERNEL void block_sum(CULV_GRID const float *in, float *sums, int n)
{
    __shared__ float part[1024];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int size = blockDim.x; size > 1;) {
        const int half = (size + 1) / 2;
        if (t + half < size) part[t] += part[t + half];
        size = half;
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// Inclusive sums within each block: by shuffles in a warp, by shared memory between warps.
CULV_KERNEL void block_scan(CULV_GRID const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned warps[32];
    const int t = threadIdx.x, lane = t % warpSize, i = blockIdx.x * blockDim.x + t;
    unsigned sum = i < n ? in[i] : 0;
    for (int by = 1; by < warpSize; by *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, sum, by);
        if (lane >= by) sum += other;
    }
    const bool last = lane == warpSize - 1 || t == (int)blockDim.x - 1;
    if (last) warps[t / warpSize] = sum;
    __syncthreads();
    for (int w = 0; w < t / warpSize; w++)
        sum += warps[w];
    if (i < n) out[i] = sum;
}

struct votes {
    unsigned ballot, any, all, count, block_and, block_or, equal;
    int all_equal;
};

// What the lanes, and the block, think of the bits of `in`.
CULV_KERNEL void block_votes(CULV_GRID const unsigned *in, votes *out)
{
    const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    const int i = blockIdx.x * threads + t;
    const unsigned value = in[i];
    const int left = threads - t / warpSize * warpSize;
    const unsigned mask = left >= warpSize ? 0xffffffffu : (1u << left) - 1u;
    votes v;
    v.ballot = __ballot_sync(mask, value & 1u);
    v.any = __any_sync(mask, (value & 6u) == 6u) != 0;
    v.all = __all_sync(mask, (value & 24u) != 0) != 0;
    v.equal = __match_any_sync(mask, value & 3u);
    const unsigned common = __match_all_sync(mask, value >> 31, &v.all_equal);
    if (v.all_equal) v.all_equal = common == mask ? 1 : -1;
    v.count = __syncthreads_count(value & 1u);
    v.block_and = __syncthreads_and((value & 24u) != 0) != 0;
    v.block_or = __syncthreads_or((value & 0x40000006u) == 0x40000006u) != 0;
    out[i] = v;
}

// Shuffles of each type, in parts of a warp. The reader of a lane that is not there keeps its own.
template <typename T> static __device__ __forceinline__ T element(T scale, int lane)
{
    return (T)(lane * 3 + 1) * scale;
}

CULV_KERNEL void block_shuffles(CULV_GRID int *ints, double *doubles, unsigned long long *longs,
                                float *floats, int width)
{
    const int t = threadIdx.x, lane = t % 32, i = blockIdx.x * blockDim.x + t;
    const unsigned all = 0xffffffffu;
    ints[i] = __shfl_sync(all, element(1, t), lane + 5, width);
    doubles[i] = __shfl_up_sync(all, element(0.1, t), 3, width);
    longs[i] = __shfl_down_sync(all, element(0x100000001ull, t), 2, width);
    floats[i] = __shfl_xor_sync(all, element(0.5f, t), 5, width);
}

// Two halves of a warp that go different ways, and meet again.
CULV_KERNEL void block_halves(CULV_GRID unsigned *out)
{
    __shared__ unsigned seen[1024];
    const unsigned t = threadIdx.x, lane = t % 32;
    unsigned sum = t;
    if (lane < 12) {
        for (int by = 1; by < 4; by++)
            sum += __shfl_sync(0x00000fffu, sum, (lane + by) % 12);
    } else {
        sum *= 3;
        sum += __ballot_sync(0xfffff000u, lane & 1);
        __syncwarp(0xfffff000u);
    }
    seen[t] = sum;
    __syncwarp();
    out[blockIdx.x * blockDim.x + t] = seen[t / 32 * 32 + 31 - lane];
}

// Threads beyond n end before the others wait.
CULV_KERNEL void block_leave(CULV_GRID int *out, int n)
{
    __shared__ int total;
    const int t = threadIdx.x;
    if (t >= n) return;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, t + 1);
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = total;
}

// A block's elements backwards, through memory whose size the launch says.
CULV_KERNEL void block_reverse(CULV_GRID const double *in, double *out)
{
    CULV_DYNAMIC_SHARED(double, all);
    const int t = threadIdx.x, n = blockDim.x, first = blockIdx.x * n;
    all[t] = in[first + t];
    __syncthreads();
    out[first + t] = all[n - 1 - t];
}

// Dynamic memory of another type, behind static memory.
CULV_KERNEL void block_touch(CULV_GRID unsigned char *out, int bytes, unsigned seed)
{
    __shared__ unsigned seeds[4];
    CULV_DYNAMIC_SHARED(unsigned char, all);
    if (threadIdx.x < 4) seeds[threadIdx.x] = seed + threadIdx.x;
    __syncthreads();
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        all[i] = (unsigned char)(i * 7 + seeds[i & 3]);
    __syncthreads();
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        out[(size_t)blockIdx.x * bytes + i] = all[bytes - 1 - i];
}

// Where each thread is, told by its neighbour.
CULV_KERNEL void block_neighbours(CULV_GRID uint4 *out)
{
    __shared__ uint4 places[1024];
    const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    places[t] = make_uint4(threadIdx.x, threadIdx.y, threadIdx.z, block);
    __syncthreads();
    out[block * threads + t] = places[(t + 1) % threads];
}

CULV_KERNEL void block_atomics(CULV_GRID int *ints, unsigned *words, unsigned long long *longs)
{
    __shared__ unsigned local[8];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 8) local[t] = t == 1 || t == 4 ? 0xffffffffu : 0u;
    __syncthreads();
    atomicAdd(&local[0], i);
    atomicMin(&local[1], i * 2654435761u);
    atomicMax(&local[2], i * 2654435761u);
    atomicOr(&local[3], 1u << (i % 31));
    atomicAnd(&local[4], ~(1u << (i % 29)));
    atomicXor(&local[5], i * 40503u);
    atomicInc(&local[6], 1000u);
    for (unsigned old = local[7], seen; (seen = atomicCAS(&local[7], old, old + 3u)) != old;)
        old = seen;
    __syncthreads();
    if (t < 8) words[blockIdx.x * 8 + t] = local[t];
    atomicSub(&ints[0], (int)i);
    atomicMin(&ints[1], (int)(i * 7919u));
    atomicMax(&ints[2], -(int)i);
    atomicAdd(&longs[0], (unsigned long long)i << 20);
    atomicMax(&longs[1], (unsigned long long)i << 33);
    const int bits = __popc(i) + __clz((int)i) * 64 + __ffs((int)i) * 4096;
    atomicAdd(&ints[3], bits);
    atomicXor(&words[gridDim.x * 8], __brev(i));
}

// No thread waits: its threads run in a loop, on the twin too.
CULV_KERNEL void block_none(CULV_GRID float *data, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

// One thread of a block writes where it must not, between two barriers.
CULV_KERNEL void block_fault(CULV_GRID int *address, int thread)
{
    __shared__ int value;
    if (threadIdx.x == 0) value = 5;
    __syncthreads();
    if ((int)threadIdx.x == thread) address[blockIdx.x] = value;
    __syncthreads();
}

CULV_KERNELS(block_sum, block_scan, block_votes, block_shuffles, block_halves, block_leave,
             block_reverse, block_touch, block_neighbours, block_atomics, block_none, block_fault)
