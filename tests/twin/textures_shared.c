/* SPDX-License-Identifier: MIT */
/* See textures.h. */
#include "textures.h"

#include <math.h>

texture_room texture_room_open(void)
{
    texture_room room = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    room.module = raw_cuda_module(room.t.cu, "texture_kernels");
    return room;
}

void texture_room_close(texture_room *room)
{
    twin_finish(&room->t);
}

CUresult texture_run(texture_room *room, const char *kernel, CUtexObject texture,
                     const place *places, int count, void *out, size_t bytes)
{
    const raw_cuda *cu = room->t.cu;
    CUdeviceptr in, found;
    const unsigned blocks = ((unsigned)count + 63) / 64;
    CU_OK(cu->MemAlloc(&in, (size_t)count * sizeof *places));
    CU_OK(cu->MemAlloc(&found, (size_t)count * bytes));
    CU_OK(raw_cuda_upload(cu, in, places, (size_t)count * sizeof *places));
    void *params[] = {&texture, &in, &found, &count};
    CU_OK(cu->LaunchKernel(raw_cuda_function(cu, room->module, kernel), blocks, 1, 1, 64, 1, 1, 0,
                           room->t.stream, params, NULL));
    CUresult result = cu->StreamSynchronize(room->t.stream);
    if (result != CUDA_SUCCESS) return result;
    CU_OK(cu->MemcpyDtoH(out, found, (size_t)count * bytes));
    CU_OK(cu->MemFree(in));
    CU_OK(cu->MemFree(found));
    return CUDA_SUCCESS;
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void texture_noise(float *out, size_t count, unsigned seed)
{
    uint32_t state = seed;
    for (size_t i = 0; i < count; i++)
        out[i] = (float)next(&state) / 8388608.0f - 1.0f;
}

void texture_places(place *out, int count, const float size[3], int layers, float level,
                    unsigned seed)
{
    uint32_t state = seed;
    for (int i = 0; i < count; i++) {
        float unit[3]; /* from -1.5 to 2.5: a good part of it outside */
        for (int d = 0; d < 3; d++)
            unit[d] = (float)next(&state) / 16777216.0f * 4.0f - 1.5f;
        out[i] = (place){.x = unit[0] * size[0],
                         .y = unit[1] * size[1],
                         .z = unit[2] * size[2],
                         .layer = (int)(next(&state) % (unsigned)layers),
                         .level = level};
    }
}

int texture_compare(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                    const place *places, int count, const float (*found)[4], double tolerance)
{
    int told = 0;
    for (int i = 0; i < count; i++) {
        double expected[4];
        if (!reference_read(image, desc, &places[i], expected)) continue;
        told++;
        for (int c = 0; c < 4; c++)
            if (!(fabs((double)found[i][c] - expected[c]) <= tolerance))
                FAIL("place %d (%g, %g, %g, layer %d), channel %d: %g, not %g", i,
                     (double)places[i].x, (double)places[i].y, (double)places[i].z, places[i].layer,
                     c, (double)found[i][c], expected[c]);
    }
    return told;
}

CUDA_TEXTURE_DESC texture_desc(CUaddress_mode mode, CUfilter_mode filter, unsigned flags)
{
    CUDA_TEXTURE_DESC desc;
    memset(&desc, 0, sizeof desc);
    for (int i = 0; i < 3; i++)
        desc.addressMode[i] = mode;
    desc.filterMode = filter;
    desc.flags = flags;
    return desc;
}
