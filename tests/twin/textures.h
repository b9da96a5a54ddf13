/* SPDX-License-Identifier: MIT */
/* What the files of texture tests share. */
#ifndef CULVERT_TESTS_TWIN_TEXTURES_H_
#define CULVERT_TESTS_TWIN_TEXTURES_H_

#include "twin.h"

#include "raw_cuda_image.h"
#include "texture_reference.h"

typedef struct texture_room {
    twin t;
    CUmodule module;
} texture_room;

texture_room texture_room_open(void);
void texture_room_close(texture_room *room);
#define ROOM_CASE(...)                                                                             \
    TEST_ON(texture_room, room, *room = texture_room_open(), texture_room_close(room), __VA_ARGS__)

/* Runs a kernel of texture_kernels.cu over the places; `out` has count * bytes. What the stream
 * then says. */
CUresult texture_run(texture_room *room, const char *kernel, CUtexObject texture,
                     const place *places, int count, void *out, size_t bytes);
/* Floats in [-1, 1] by a seed, and places around an extent of `size` (1: normalized). */
void texture_noise(float *out, size_t count, unsigned seed);
void texture_places(place *out, int count, const float size[3], int layers, float level,
                    unsigned seed);
/* Requires what the reference says, within `tolerance`; returns how many places could be told. */
int texture_compare(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                    const place *places, int count, const float (*found)[4], double tolerance);
/* Clamped, of floats. */
CUDA_TEXTURE_DESC texture_desc(CUaddress_mode mode, CUfilter_mode filter, unsigned flags);

#endif
