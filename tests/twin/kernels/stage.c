/* SPDX-License-Identifier: MIT */
/* See stage.h. */
#include "stage.h"

stage stage_open(const char *module)
{
    stage s = {.cu = raw_cuda_open()};
    raw_cuda_context(s.cu, 0);
    CU_OK(s.cu->StreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    s.module = raw_cuda_load(s.cu, module);
    return s;
}

void stage_close(stage *s)
{
    CU_OK(s->cu->ModuleUnload(s->module));
    CU_OK(s->cu->StreamDestroy(s->stream));
    raw_cuda_leave(s->cu, 0);
}

void *stage_alloc(size_t size)
{
    void *memory = malloc(size);
    REQUIRE(memory != NULL);
    return memory;
}

CUdeviceptr stage_buffer(const stage *s, const void *from, size_t size)
{
    CUdeviceptr buffer;
    CU_OK(s->cu->MemAlloc(&buffer, size));
    unsigned char *bytes = stage_alloc(size);
    memset(bytes, 0xee, size);
    if (from != NULL) memcpy(bytes, from, size);
    CU_OK(raw_cuda_upload(s->cu, buffer, bytes, size));
    free(bytes);
    return buffer;
}

void stage_take(const stage *s, CUdeviceptr buffer, void *to, size_t size)
{
    CU_OK(s->cu->MemcpyDtoH(to, buffer, size));
    CU_OK(s->cu->MemFree(buffer));
}

CUresult stage_launch(const stage *s, const char *kernel, stage_shape h, void **params)
{
    for (unsigned i = 0; i < 3; i++) {
        if (h.grid[i] == 0) h.grid[i] = 1;
        if (h.block[i] == 0) h.block[i] = 1;
    }
    CUfunction function = raw_cuda_function(s->cu, s->module, kernel);
    return s->cu->LaunchKernel(function, h.grid[0], h.grid[1], h.grid[2], h.block[0], h.block[1],
                               h.block[2], h.shared, s->stream, params, NULL);
}

void stage_run(const stage *s, const char *kernel, stage_shape shape, void **params)
{
    CU_OK(stage_launch(s, kernel, shape, params));
    CU_OK(s->cu->StreamSynchronize(s->stream));
}

uint32_t stage_random(uint32_t index)
{
    uint32_t h = index * 2654435761u + 12345u;
    h ^= h >> 15;
    h *= 0x7feb352du;
    h ^= h >> 13;
    return h;
}
