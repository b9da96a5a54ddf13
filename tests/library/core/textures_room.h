/* SPDX-License-Identifier: MIT */
/* What the suite's textures read: images whose texels say where they are, and the sweep's kernel,
 * which reads a texture texel by texel. */
#ifndef CULVERT_TESTS_LIBRARY_TEXTURES_ROOM_H_
#define CULVERT_TESTS_LIBRARY_TEXTURES_ROOM_H_

#include "../formats/sweep_kernels.h" /* formats_texture's kernel reads the textures */
#include "image_stage.h"

enum { MOST_TEXELS = 32 * 16 * 12 };

typedef struct reading {
    stage s;
    CUmodule module;
    CUfunction sample;
    CUdeviceptr values;
    uint32_t found[MOST_TEXELS][4];
} reading;

extern reading room;

void open_room(void);
void close_room(void);

/* A kind of image and its texels: each byte of level l, layer n is 16 * l + n + 1. */
typedef struct kind {
    int dimension;
    VkImageType type;
    VkExtent3D extent;
    uint32_t layers;
    VkImageCreateFlags flags;
    uint32_t levels;
} kind;

uint32_t side(uint32_t whole, uint32_t level);
VkImageCreateInfo kind_info(const kind *k, VkFormat format);
/* NULL: there is no such image here. */
culv_shared_image *make(const VkImageCreateInfo *info, culv_texels texels);
/* In CUDA's turn. With this block everywhere unless NULL. */
void fill(culv_image *image, const kind *k, const unsigned char *block, size_t bytes,
          uint32_t across);
/* Texels of one level of the texture into room.found. */
void read_level(CUtexObject texture, int dimension, int number, int channels, int level, int w,
                int h, int n);
double as_double(uint32_t bits);

#endif
