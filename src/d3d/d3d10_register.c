/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 10 that are registered with CUDA, and its devices. */
#include "d3d/d3d_register.h"
/* after it */
#include <d3d10.h>

CULVI_D3D_SHAPES(10, 0)

CULVI_D3D_DRIVERS_CALLS(cuGraphicsD3D10RegisterResource, cuD3D10GetDevices, );

const culvi_d3d_version culvi_d3d10_version = {
    CULVI_D3D_DRIVERS(cuGraphicsD3D10RegisterResource, cuD3D10GetDevices),
    .name = "Direct3D 10",
    .device = "ID3D10Device",
    .removed = "ID3D10Device::GetDeviceRemovedReason",
    .device_iid = {0x9b7e4c0f, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .resource_iid = {0x9b7e4c01, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .read_luid = culvi_d3d_read_adapter,
    .look = look};
