// SPDX-License-Identifier: MIT
// The rows of nvcc, and kernels on whatever stream 0 is here.
#include "calls.c"

static __global__ void fill_words(uint32_t *words, uint32_t count, uint32_t seed)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] = i * 2654435761u + seed;
}

static __global__ void mix_words(uint32_t *words, uint32_t count, uint32_t seed)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] = words[i] * 3u + seed;
}

static __global__ void write_rgba8(cudaSurfaceObject_t surface, uint32_t width, uint32_t height,
                                   uint32_t seed)
{
    uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 texel =
        make_uchar4((unsigned char)(x + seed), (unsigned char)y, (unsigned char)(x ^ y), 255);
    surf2Dwrite(texel, surface, (int)(x * sizeof texel), (int)y);
}

static cudaError_t fill(uint32_t *words, uint32_t count, uint32_t seed, cudaStream_t stream)
{
    if (stream == 0)
        fill_words<<<(count + 255) / 256, 256>>>(words, count,
                                                 seed); // without a stream, as most programs do
    else
        fill_words<<<(count + 255) / 256, 256, 0, stream>>>(words, count, seed);
    return cudaGetLastError();
}

static cudaError_t mix(uint32_t *words, uint32_t count, uint32_t seed, cudaStream_t stream)
{
    mix_words<<<(count + 255) / 256, 256, 0, stream>>>(words, count, seed);
    return cudaGetLastError();
}

static dim3 tiles(uint32_t width, uint32_t height)
{
    return dim3((width + 15) / 16, (height + 15) / 16);
}

static cudaError_t rgba8(cudaSurfaceObject_t surface, uint32_t width, uint32_t height,
                         uint32_t seed, cudaStream_t stream)
{
    write_rgba8<<<tiles(width, height), dim3(16, 16), 0, stream>>>(surface, width, height, seed);
    return cudaGetLastError();
}

const cudart_launches JOIN(cudart_, launches, CALLS_STREAM_0) = {
    &JOIN(cudart_, CALLS_LANGUAGE, CALLS_STREAM_0),
    fill,
    mix,
    rgba8,
};
