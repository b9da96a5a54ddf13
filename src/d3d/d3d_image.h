/* SPDX-License-Identifier: MIT */
/* How CUDA maps a texture of Direct3D, of any version: told from plain numbers, so that it is built
 * and tested on every system. */
#ifndef CULVI_D3D_D3D_IMAGE_H_
#define CULVI_D3D_D3D_IMAGE_H_

#include "base/message.h"
#include "culvert/image.h"

/* What a texture is: D3D12_RESOURCE_DESC, D3D11_TEXTURE2D_DESC and the like. */
typedef struct culvi_d3d_texture {
    uint32_t sides; /* 1, 2 or 3: its dimension */
    uint64_t width;
    uint32_t height;
    uint32_t depth_or_layers;
    uint32_t levels; /* 0: a whole chain */
    uint32_t samples;
    uint32_t format; /* DXGI_FORMAT */
    bool render_target;
    bool row_major; /* its layout is not the driver's own */
} culvi_d3d_texture;

/* What the caller says of it. */
typedef struct culvi_d3d_view {
    const char *desc; /* the descriptor's name, for messages */
    const char *label;
    uint64_t offset;
    bool cube;
    uint32_t format; /* DXGI_FORMAT; 0: the texture's own */
    culv_texels texels;
    bool no_surfaces;
} culvi_d3d_view;

culv_result culvi_d3d_describe_image(const culvi_voice *voice, const culvi_d3d_texture *texture,
                                     const culvi_d3d_view *view, culv_image_desc *out);

#endif
