/* SPDX-License-Identifier: MIT */
/* How CUDA maps a texture of Direct3D, of any version, and what CUDA registers: told from plain
 * numbers, so that it is built and tested on every system. */
#ifndef CULVI_D3D_D3D_IMAGE_H_
#define CULVI_D3D_D3D_IMAGE_H_

#include "base/message.h"
#include "culvert/d3d_register.h"
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

/* One of Direct3D 10 or 11 by its description, whose fields have the same names in both. */
#define CULVI_D3D_TEXTURE(dimensions, d, rows, slices, count)                                      \
    (culvi_d3d_texture)                                                                            \
    {                                                                                              \
        .sides = (dimensions), .width = (d).Width, .height = (rows), .depth_or_layers = (slices),  \
        .levels = (d).MipLevels, .samples = (count), .format = (uint32_t)(d).Format,               \
        .render_target = ((d).BindFlags & 0x20) != 0 /* D3D11_BIND_RENDER_TARGET, D3D10's too */   \
    }
#define CULVI_D3D_TEXTURE_1D(d) CULVI_D3D_TEXTURE(1, d, 1, (d).ArraySize, 1)
#define CULVI_D3D_TEXTURE_2D(d)                                                                    \
    CULVI_D3D_TEXTURE(2, d, (d).Height, (d).ArraySize, (d).SampleDesc.Count)
#define CULVI_D3D_TEXTURE_3D(d) CULVI_D3D_TEXTURE(3, d, (d).Height, (d).Depth, 1)

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

/* What a resource is. */
typedef struct culvi_d3d_candidate {
    int version; /* of Direct3D: 9, 10 or 11 */
    bool is_buffer;
    uint64_t size;             /* of a buffer */
    culvi_d3d_texture texture; /* its format is DXGI's; 0, where DXGI has none like it */
    uint32_t number;           /* of Direct3D 9's format, D3DFORMAT */
    bool cube;
    bool back_buffer; /* of a swap chain */
    bool part;        /* a level or a face of a texture */
    bool depth;
    bool shared;    /* created so that it can be shared */
    bool in_memory; /* the CPU's: D3D11_USAGE_STAGING, D3DPOOL_SYSTEMMEM, ... */
    bool immutable;
} culvi_d3d_candidate;

/* Refuses what CUDA does not register, and describes a texture. *out of a buffer stays as it is. */
culv_result culvi_d3d_check_candidate(const culvi_voice *voice, const culvi_d3d_candidate *c,
                                      const culv_d3d_register_desc *desc, culv_image_desc *out);
/* DXGI's number of a D3DFORMAT that CUDA registers; 0: it registers none of it. */
uint32_t culvi_d3d_format_from_d3d9(uint32_t format);

#endif
