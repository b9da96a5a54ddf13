/* SPDX-License-Identifier: MIT */
/* What CUDA registers of Direct3D 9, 10 and 11, told from plain numbers, so that it is built and
 * tested on every system. Source: CUDA driver API reference, "Direct3D Interoperability". */
#ifndef CULVI_D3D_D3D_CANDIDATE_H_
#define CULVI_D3D_D3D_CANDIDATE_H_

#include "culvert/d3d_register.h"
#include "d3d/d3d_image.h"

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
