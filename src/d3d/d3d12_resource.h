/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 12 as the gate takes them. Included after d3d12_core.h. */
#ifndef CULVI_D3D_D3D12_RESOURCE_H_
#define CULVI_D3D_D3D12_RESOURCE_H_

#include "d3d/d3d12_core.h"
#include "d3d/d3d_image.h"

/* culvi_plan::desc. */
typedef struct culvi_d3d12_shape {
    D3D12_RESOURCE_DESC desc;
    culvi_d3d_view view;
} culvi_d3d12_shape;

/* culv_d3d12_image_create() of a descriptor that was read; `name` is whose fields messages name. */
culv_result culvi_d3d12_image_create(culv_d3d12_device *d3d12,
                                     const culv_d3d12_image_create_desc *d, const char *name,
                                     culv_shared_image **out);

culvi_d3d_texture culvi_d3d12_texture_of(const D3D12_RESOURCE_DESC *desc);

#endif
