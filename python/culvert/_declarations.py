# Written by scripts/python-declarations from include/culvert/: do not edit.
# SPDX-License-Identifier: MIT
# flake8: noqa
from ctypes import (c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int8, c_int16, c_int32, c_int64, c_long,
                    c_size_t, c_ssize_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_ulong, c_void_p, c_wchar)

from ._struct import Structure, Union
from enum import IntEnum

from ._vulkan import *


class culv_access(IntEnum):
    CULV_ACCESS_READ_WRITE = 0
    CULV_ACCESS_READ_ONLY = 1
    CULV_ACCESS_WRITE_DISCARD = 2


class culv_d3d_device_list(IntEnum):
    CULV_D3D_DEVICES_ALL = 1
    CULV_D3D_DEVICES_CURRENT_FRAME = 2
    CULV_D3D_DEVICES_NEXT_FRAME = 3


class culv_dl_device_type(IntEnum):
    CULV_DL_DEVICE_CPU = 1
    CULV_DL_DEVICE_CUDA = 2
    CULV_DL_DEVICE_CUDA_HOST = 3
    CULV_DL_DEVICE_CUDA_MANAGED = 13


class culv_dl_flags(IntEnum):
    CULV_DL_READ_ONLY = 1
    CULV_DL_IS_COPIED = 2


class culv_dl_type_code(IntEnum):
    CULV_DL_INT = 0
    CULV_DL_UINT = 1
    CULV_DL_FLOAT = 2
    CULV_DL_BFLOAT = 4
    CULV_DL_COMPLEX = 5
    CULV_DL_BOOL = 6


class culv_dlpack_stream(IntEnum):
    CULV_DLPACK_STREAM_HOST = -2
    CULV_DLPACK_STREAM_NONE = -1
    CULV_DLPACK_STREAM_LEGACY = 1
    CULV_DLPACK_STREAM_PER_THREAD = 2


class culv_dma_buf_flags(IntEnum):
    CULV_DMA_BUF_PCIE = 1


class culv_driver(IntEnum):
    CULV_DRIVER_AUTO = 0
    CULV_DRIVER_NVIDIA = 1
    CULV_DRIVER_SOFT = 2


class culv_fabric(IntEnum):
    CULV_FABRIC_NO = 0
    CULV_FABRIC_TRY = 1
    CULV_FABRIC_REQUIRED = 2


class culv_fallback(IntEnum):
    CULV_FALLBACK_PEER = 1
    CULV_FALLBACK_HOST = 2
    CULV_FALLBACK_ANY = 3


class culv_format(IntEnum):
    CULV_FORMAT_NONE = 0
    CULV_FORMAT_R4G4_UNORM_PACK8 = 1
    CULV_FORMAT_R4G4B4A4_UNORM_PACK16 = 2
    CULV_FORMAT_B4G4R4A4_UNORM_PACK16 = 3
    CULV_FORMAT_R5G6B5_UNORM_PACK16 = 4
    CULV_FORMAT_B5G6R5_UNORM_PACK16 = 5
    CULV_FORMAT_R5G5B5A1_UNORM_PACK16 = 6
    CULV_FORMAT_B5G5R5A1_UNORM_PACK16 = 7
    CULV_FORMAT_A1R5G5B5_UNORM_PACK16 = 8
    CULV_FORMAT_R8_UNORM = 9
    CULV_FORMAT_R8_SNORM = 10
    CULV_FORMAT_R8_USCALED = 11
    CULV_FORMAT_R8_SSCALED = 12
    CULV_FORMAT_R8_UINT = 13
    CULV_FORMAT_R8_SINT = 14
    CULV_FORMAT_R8_SRGB = 15
    CULV_FORMAT_R8G8_UNORM = 16
    CULV_FORMAT_R8G8_SNORM = 17
    CULV_FORMAT_R8G8_USCALED = 18
    CULV_FORMAT_R8G8_SSCALED = 19
    CULV_FORMAT_R8G8_UINT = 20
    CULV_FORMAT_R8G8_SINT = 21
    CULV_FORMAT_R8G8_SRGB = 22
    CULV_FORMAT_R8G8B8_UNORM = 23
    CULV_FORMAT_R8G8B8_SNORM = 24
    CULV_FORMAT_R8G8B8_USCALED = 25
    CULV_FORMAT_R8G8B8_SSCALED = 26
    CULV_FORMAT_R8G8B8_UINT = 27
    CULV_FORMAT_R8G8B8_SINT = 28
    CULV_FORMAT_R8G8B8_SRGB = 29
    CULV_FORMAT_B8G8R8_UNORM = 30
    CULV_FORMAT_B8G8R8_SNORM = 31
    CULV_FORMAT_B8G8R8_USCALED = 32
    CULV_FORMAT_B8G8R8_SSCALED = 33
    CULV_FORMAT_B8G8R8_UINT = 34
    CULV_FORMAT_B8G8R8_SINT = 35
    CULV_FORMAT_B8G8R8_SRGB = 36
    CULV_FORMAT_R8G8B8A8_UNORM = 37
    CULV_FORMAT_R8G8B8A8_SNORM = 38
    CULV_FORMAT_R8G8B8A8_USCALED = 39
    CULV_FORMAT_R8G8B8A8_SSCALED = 40
    CULV_FORMAT_R8G8B8A8_UINT = 41
    CULV_FORMAT_R8G8B8A8_SINT = 42
    CULV_FORMAT_R8G8B8A8_SRGB = 43
    CULV_FORMAT_B8G8R8A8_UNORM = 44
    CULV_FORMAT_B8G8R8A8_SNORM = 45
    CULV_FORMAT_B8G8R8A8_USCALED = 46
    CULV_FORMAT_B8G8R8A8_SSCALED = 47
    CULV_FORMAT_B8G8R8A8_UINT = 48
    CULV_FORMAT_B8G8R8A8_SINT = 49
    CULV_FORMAT_B8G8R8A8_SRGB = 50
    CULV_FORMAT_A8B8G8R8_UNORM_PACK32 = 51
    CULV_FORMAT_A8B8G8R8_SNORM_PACK32 = 52
    CULV_FORMAT_A8B8G8R8_USCALED_PACK32 = 53
    CULV_FORMAT_A8B8G8R8_SSCALED_PACK32 = 54
    CULV_FORMAT_A8B8G8R8_UINT_PACK32 = 55
    CULV_FORMAT_A8B8G8R8_SINT_PACK32 = 56
    CULV_FORMAT_A8B8G8R8_SRGB_PACK32 = 57
    CULV_FORMAT_A2R10G10B10_UNORM_PACK32 = 58
    CULV_FORMAT_A2R10G10B10_SNORM_PACK32 = 59
    CULV_FORMAT_A2R10G10B10_USCALED_PACK32 = 60
    CULV_FORMAT_A2R10G10B10_SSCALED_PACK32 = 61
    CULV_FORMAT_A2R10G10B10_UINT_PACK32 = 62
    CULV_FORMAT_A2R10G10B10_SINT_PACK32 = 63
    CULV_FORMAT_A2B10G10R10_UNORM_PACK32 = 64
    CULV_FORMAT_A2B10G10R10_SNORM_PACK32 = 65
    CULV_FORMAT_A2B10G10R10_USCALED_PACK32 = 66
    CULV_FORMAT_A2B10G10R10_SSCALED_PACK32 = 67
    CULV_FORMAT_A2B10G10R10_UINT_PACK32 = 68
    CULV_FORMAT_A2B10G10R10_SINT_PACK32 = 69
    CULV_FORMAT_R16_UNORM = 70
    CULV_FORMAT_R16_SNORM = 71
    CULV_FORMAT_R16_USCALED = 72
    CULV_FORMAT_R16_SSCALED = 73
    CULV_FORMAT_R16_UINT = 74
    CULV_FORMAT_R16_SINT = 75
    CULV_FORMAT_R16_SFLOAT = 76
    CULV_FORMAT_R16G16_UNORM = 77
    CULV_FORMAT_R16G16_SNORM = 78
    CULV_FORMAT_R16G16_USCALED = 79
    CULV_FORMAT_R16G16_SSCALED = 80
    CULV_FORMAT_R16G16_UINT = 81
    CULV_FORMAT_R16G16_SINT = 82
    CULV_FORMAT_R16G16_SFLOAT = 83
    CULV_FORMAT_R16G16B16_UNORM = 84
    CULV_FORMAT_R16G16B16_SNORM = 85
    CULV_FORMAT_R16G16B16_USCALED = 86
    CULV_FORMAT_R16G16B16_SSCALED = 87
    CULV_FORMAT_R16G16B16_UINT = 88
    CULV_FORMAT_R16G16B16_SINT = 89
    CULV_FORMAT_R16G16B16_SFLOAT = 90
    CULV_FORMAT_R16G16B16A16_UNORM = 91
    CULV_FORMAT_R16G16B16A16_SNORM = 92
    CULV_FORMAT_R16G16B16A16_USCALED = 93
    CULV_FORMAT_R16G16B16A16_SSCALED = 94
    CULV_FORMAT_R16G16B16A16_UINT = 95
    CULV_FORMAT_R16G16B16A16_SINT = 96
    CULV_FORMAT_R16G16B16A16_SFLOAT = 97
    CULV_FORMAT_R32_UINT = 98
    CULV_FORMAT_R32_SINT = 99
    CULV_FORMAT_R32_SFLOAT = 100
    CULV_FORMAT_R32G32_UINT = 101
    CULV_FORMAT_R32G32_SINT = 102
    CULV_FORMAT_R32G32_SFLOAT = 103
    CULV_FORMAT_R32G32B32_UINT = 104
    CULV_FORMAT_R32G32B32_SINT = 105
    CULV_FORMAT_R32G32B32_SFLOAT = 106
    CULV_FORMAT_R32G32B32A32_UINT = 107
    CULV_FORMAT_R32G32B32A32_SINT = 108
    CULV_FORMAT_R32G32B32A32_SFLOAT = 109
    CULV_FORMAT_R64_UINT = 110
    CULV_FORMAT_R64_SINT = 111
    CULV_FORMAT_R64_SFLOAT = 112
    CULV_FORMAT_R64G64_UINT = 113
    CULV_FORMAT_R64G64_SINT = 114
    CULV_FORMAT_R64G64_SFLOAT = 115
    CULV_FORMAT_R64G64B64_UINT = 116
    CULV_FORMAT_R64G64B64_SINT = 117
    CULV_FORMAT_R64G64B64_SFLOAT = 118
    CULV_FORMAT_R64G64B64A64_UINT = 119
    CULV_FORMAT_R64G64B64A64_SINT = 120
    CULV_FORMAT_R64G64B64A64_SFLOAT = 121
    CULV_FORMAT_B10G11R11_UFLOAT_PACK32 = 122
    CULV_FORMAT_E5B9G9R9_UFLOAT_PACK32 = 123
    CULV_FORMAT_D16_UNORM = 124
    CULV_FORMAT_X8_D24_UNORM_PACK32 = 125
    CULV_FORMAT_D32_SFLOAT = 126
    CULV_FORMAT_S8_UINT = 127
    CULV_FORMAT_D16_UNORM_S8_UINT = 128
    CULV_FORMAT_D24_UNORM_S8_UINT = 129
    CULV_FORMAT_D32_SFLOAT_S8_UINT = 130
    CULV_FORMAT_BC1_RGB_UNORM_BLOCK = 131
    CULV_FORMAT_BC1_RGB_SRGB_BLOCK = 132
    CULV_FORMAT_BC1_RGBA_UNORM_BLOCK = 133
    CULV_FORMAT_BC1_RGBA_SRGB_BLOCK = 134
    CULV_FORMAT_BC2_UNORM_BLOCK = 135
    CULV_FORMAT_BC2_SRGB_BLOCK = 136
    CULV_FORMAT_BC3_UNORM_BLOCK = 137
    CULV_FORMAT_BC3_SRGB_BLOCK = 138
    CULV_FORMAT_BC4_UNORM_BLOCK = 139
    CULV_FORMAT_BC4_SNORM_BLOCK = 140
    CULV_FORMAT_BC5_UNORM_BLOCK = 141
    CULV_FORMAT_BC5_SNORM_BLOCK = 142
    CULV_FORMAT_BC6H_UFLOAT_BLOCK = 143
    CULV_FORMAT_BC6H_SFLOAT_BLOCK = 144
    CULV_FORMAT_BC7_UNORM_BLOCK = 145
    CULV_FORMAT_BC7_SRGB_BLOCK = 146
    CULV_FORMAT_ETC2_R8G8B8_UNORM_BLOCK = 147
    CULV_FORMAT_ETC2_R8G8B8_SRGB_BLOCK = 148
    CULV_FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK = 149
    CULV_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK = 150
    CULV_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK = 151
    CULV_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK = 152
    CULV_FORMAT_EAC_R11_UNORM_BLOCK = 153
    CULV_FORMAT_EAC_R11_SNORM_BLOCK = 154
    CULV_FORMAT_EAC_R11G11_UNORM_BLOCK = 155
    CULV_FORMAT_EAC_R11G11_SNORM_BLOCK = 156
    CULV_FORMAT_ASTC_4x4_UNORM_BLOCK = 157
    CULV_FORMAT_ASTC_4x4_SRGB_BLOCK = 158
    CULV_FORMAT_ASTC_5x4_UNORM_BLOCK = 159
    CULV_FORMAT_ASTC_5x4_SRGB_BLOCK = 160
    CULV_FORMAT_ASTC_5x5_UNORM_BLOCK = 161
    CULV_FORMAT_ASTC_5x5_SRGB_BLOCK = 162
    CULV_FORMAT_ASTC_6x5_UNORM_BLOCK = 163
    CULV_FORMAT_ASTC_6x5_SRGB_BLOCK = 164
    CULV_FORMAT_ASTC_6x6_UNORM_BLOCK = 165
    CULV_FORMAT_ASTC_6x6_SRGB_BLOCK = 166
    CULV_FORMAT_ASTC_8x5_UNORM_BLOCK = 167
    CULV_FORMAT_ASTC_8x5_SRGB_BLOCK = 168
    CULV_FORMAT_ASTC_8x6_UNORM_BLOCK = 169
    CULV_FORMAT_ASTC_8x6_SRGB_BLOCK = 170
    CULV_FORMAT_ASTC_8x8_UNORM_BLOCK = 171
    CULV_FORMAT_ASTC_8x8_SRGB_BLOCK = 172
    CULV_FORMAT_ASTC_10x5_UNORM_BLOCK = 173
    CULV_FORMAT_ASTC_10x5_SRGB_BLOCK = 174
    CULV_FORMAT_ASTC_10x6_UNORM_BLOCK = 175
    CULV_FORMAT_ASTC_10x6_SRGB_BLOCK = 176
    CULV_FORMAT_ASTC_10x8_UNORM_BLOCK = 177
    CULV_FORMAT_ASTC_10x8_SRGB_BLOCK = 178
    CULV_FORMAT_ASTC_10x10_UNORM_BLOCK = 179
    CULV_FORMAT_ASTC_10x10_SRGB_BLOCK = 180
    CULV_FORMAT_ASTC_12x10_UNORM_BLOCK = 181
    CULV_FORMAT_ASTC_12x10_SRGB_BLOCK = 182
    CULV_FORMAT_ASTC_12x12_UNORM_BLOCK = 183
    CULV_FORMAT_ASTC_12x12_SRGB_BLOCK = 184
    CULV_FORMAT_ASTC_4x4_SFLOAT_BLOCK = 1000066000
    CULV_FORMAT_ASTC_5x4_SFLOAT_BLOCK = 1000066001
    CULV_FORMAT_ASTC_5x5_SFLOAT_BLOCK = 1000066002
    CULV_FORMAT_ASTC_6x5_SFLOAT_BLOCK = 1000066003
    CULV_FORMAT_ASTC_6x6_SFLOAT_BLOCK = 1000066004
    CULV_FORMAT_ASTC_8x5_SFLOAT_BLOCK = 1000066005
    CULV_FORMAT_ASTC_8x6_SFLOAT_BLOCK = 1000066006
    CULV_FORMAT_ASTC_8x8_SFLOAT_BLOCK = 1000066007
    CULV_FORMAT_ASTC_10x5_SFLOAT_BLOCK = 1000066008
    CULV_FORMAT_ASTC_10x6_SFLOAT_BLOCK = 1000066009
    CULV_FORMAT_ASTC_10x8_SFLOAT_BLOCK = 1000066010
    CULV_FORMAT_ASTC_10x10_SFLOAT_BLOCK = 1000066011
    CULV_FORMAT_ASTC_12x10_SFLOAT_BLOCK = 1000066012
    CULV_FORMAT_ASTC_12x12_SFLOAT_BLOCK = 1000066013
    CULV_FORMAT_G8B8G8R8_422_UNORM = 1000156000
    CULV_FORMAT_B8G8R8G8_422_UNORM = 1000156001
    CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM = 1000156002
    CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM = 1000156003
    CULV_FORMAT_G8_B8_R8_3PLANE_422_UNORM = 1000156004
    CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM = 1000156005
    CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM = 1000156006
    CULV_FORMAT_R10X6_UNORM_PACK16 = 1000156007
    CULV_FORMAT_R10X6G10X6_UNORM_2PACK16 = 1000156008
    CULV_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16 = 1000156009
    CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16 = 1000156010
    CULV_FORMAT_B10X6G10X6R10X6G10X6_422_UNORM_4PACK16 = 1000156011
    CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16 = 1000156012
    CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16 = 1000156013
    CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16 = 1000156014
    CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16 = 1000156015
    CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16 = 1000156016
    CULV_FORMAT_R12X4_UNORM_PACK16 = 1000156017
    CULV_FORMAT_R12X4G12X4_UNORM_2PACK16 = 1000156018
    CULV_FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16 = 1000156019
    CULV_FORMAT_G12X4B12X4G12X4R12X4_422_UNORM_4PACK16 = 1000156020
    CULV_FORMAT_B12X4G12X4R12X4G12X4_422_UNORM_4PACK16 = 1000156021
    CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16 = 1000156022
    CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16 = 1000156023
    CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16 = 1000156024
    CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16 = 1000156025
    CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16 = 1000156026
    CULV_FORMAT_G16B16G16R16_422_UNORM = 1000156027
    CULV_FORMAT_B16G16R16G16_422_UNORM = 1000156028
    CULV_FORMAT_G16_B16_R16_3PLANE_420_UNORM = 1000156029
    CULV_FORMAT_G16_B16R16_2PLANE_420_UNORM = 1000156030
    CULV_FORMAT_G16_B16_R16_3PLANE_422_UNORM = 1000156031
    CULV_FORMAT_G16_B16R16_2PLANE_422_UNORM = 1000156032
    CULV_FORMAT_G16_B16_R16_3PLANE_444_UNORM = 1000156033
    CULV_FORMAT_G8_B8R8_2PLANE_444_UNORM = 1000330000
    CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16 = 1000330001
    CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16 = 1000330002
    CULV_FORMAT_G16_B16R16_2PLANE_444_UNORM = 1000330003
    CULV_FORMAT_A4R4G4B4_UNORM_PACK16 = 1000340000
    CULV_FORMAT_A4B4G4R4_UNORM_PACK16 = 1000340001


class culv_gl_platform(IntEnum):
    CULV_GL_PLATFORM_NONE = 0
    CULV_GL_PLATFORM_EGL = 1
    CULV_GL_PLATFORM_GLX = 2
    CULV_GL_PLATFORM_WGL = 3


class culv_gl_readback_format(IntEnum):
    CULV_GL_READBACK_DEPTH32F = 0
    CULV_GL_READBACK_DEPTH24_STENCIL8 = 1
    CULV_GL_READBACK_RGBA8 = 2
    CULV_GL_READBACK_RGBA16F = 3
    CULV_GL_READBACK_RGBA32F = 4


class culv_gl_way(IntEnum):
    CULV_GL_WAY_NONE = 0
    CULV_GL_WAY_MEMORY = 1
    CULV_GL_WAY_REGISTER = 2
    CULV_GL_WAY_STAGED = 3


class culv_handle_type(IntEnum):
    CULV_HANDLE_NONE = 0
    CULV_HANDLE_OPAQUE_FD = 1
    CULV_HANDLE_OPAQUE_WIN32 = 2
    CULV_HANDLE_OPAQUE_WIN32_KMT = 3
    CULV_HANDLE_DMA_BUF_FD = 4
    CULV_HANDLE_D3D12_HEAP = 5
    CULV_HANDLE_D3D12_RESOURCE = 6
    CULV_HANDLE_D3D11_RESOURCE = 7
    CULV_HANDLE_D3D11_RESOURCE_KMT = 8
    CULV_HANDLE_D3D12_FENCE = 9
    CULV_HANDLE_D3D11_FENCE = 10
    CULV_HANDLE_D3D11_KEYED_MUTEX = 11
    CULV_HANDLE_D3D11_KEYED_MUTEX_KMT = 12
    CULV_HANDLE_FABRIC = 13


class culv_image_type(IntEnum):
    CULV_IMAGE_2D = 0
    CULV_IMAGE_1D = 1
    CULV_IMAGE_3D = 2
    CULV_IMAGE_CUBE = 3


class culv_ipc_alpha(IntEnum):
    CULV_IPC_ALPHA_UNKNOWN = 0
    CULV_IPC_ALPHA_OPAQUE = 1
    CULV_IPC_ALPHA_STRAIGHT = 2
    CULV_IPC_ALPHA_PREMULTIPLIED = 3


class culv_ipc_color(IntEnum):
    CULV_IPC_COLOR_UNKNOWN = 0
    CULV_IPC_COLOR_DATA = 1
    CULV_IPC_COLOR_SRGB = 2
    CULV_IPC_COLOR_LINEAR = 3
    CULV_IPC_COLOR_DISPLAY_P3 = 4
    CULV_IPC_COLOR_BT709 = 5
    CULV_IPC_COLOR_BT2020_PQ = 6
    CULV_IPC_COLOR_BT2020_HLG = 7


class culv_ipc_kind(IntEnum):
    CULV_IPC_NONE = 0
    CULV_IPC_VMM = 1
    CULV_IPC_VECTOR = 2
    CULV_IPC_BUFFER = 3
    CULV_IPC_IMAGE = 4
    CULV_IPC_SEMAPHORE = 5
    CULV_IPC_RING = 6
    CULV_IPC_CUDA_MEMORY = 7
    CULV_IPC_EVENT = 8
    CULV_IPC_POOL = 9
    CULV_IPC_POOL_MEMORY = 10
    CULV_IPC_VMM_FABRIC = 11
    CULV_IPC_POOL_FABRIC = 12


class culv_ipc_lag(IntEnum):
    CULV_IPC_LAG_NONE = 0
    CULV_IPC_LAG_HOST = 1
    CULV_IPC_LAG_GPU = 2
    CULV_IPC_LAG_PRODUCER = 3


class culv_ipc_tiling(IntEnum):
    CULV_IPC_TILING_OPTIMAL = 0
    CULV_IPC_TILING_LINEAR = 1


class culv_log_level(IntEnum):
    CULV_LOG_NONE = 0
    CULV_LOG_ERROR = 1
    CULV_LOG_WARNING = 2
    CULV_LOG_INFO = 3
    CULV_LOG_DEBUG = 4


class culv_memory_kind(IntEnum):
    CULV_MEMORY_KIND_UNKNOWN = 0
    CULV_MEMORY_KIND_FAST = 1
    CULV_MEMORY_KIND_COMPRESSIBLE = 2
    CULV_MEMORY_KIND_PLAIN = 3


class culv_native_api(IntEnum):
    CULV_NATIVE_NONE = 0
    CULV_NATIVE_CUDA = 1
    CULV_NATIVE_VULKAN = 2
    CULV_NATIVE_OS = 3
    CULV_NATIVE_CUDA_RUNTIME = 4
    CULV_NATIVE_GL = 5
    CULV_NATIVE_D3D = 6


class culv_nvsci_flags(IntEnum):
    CULV_NVSCI_SKIP_MEMSYNC = 1


class culv_nvsci_role(IntEnum):
    CULV_NVSCI_SIGNALS = 1
    CULV_NVSCI_WAITS = 2


class culv_pointer_kind(IntEnum):
    CULV_POINTER_NONE = 0
    CULV_POINTER_DEVICE = 1
    CULV_POINTER_VMM = 2
    CULV_POINTER_POOL = 3
    CULV_POINTER_MANAGED = 4
    CULV_POINTER_HOST = 5
    CULV_POINTER_EXTERNAL = 6


class culv_rdma_ordering(IntEnum):
    CULV_RDMA_ORDERING_NONE = 0
    CULV_RDMA_ORDERING_OWNER = 100
    CULV_RDMA_ORDERING_ALL_DEVICES = 200


class culv_rdma_path(IntEnum):
    CULV_RDMA_PATH_NONE = 0
    CULV_RDMA_PATH_DEVICE = 1
    CULV_RDMA_PATH_HOST = 2


class culv_rdma_sync(IntEnum):
    CULV_RDMA_SYNC_NONE = 0
    CULV_RDMA_SYNC_ALLOCATION = 1
    CULV_RDMA_SYNC_CONTEXT = 2


class culv_rdma_unpin_why(IntEnum):
    CULV_RDMA_UNPIN_EVICTED = 0
    CULV_RDMA_UNPIN_REPLACED = 1
    CULV_RDMA_UNPIN_FREED = 2


class culv_rdma_validity(IntEnum):
    CULV_RDMA_VALIDITY_BUFFER_ID = 0
    CULV_RDMA_VALIDITY_NOTIFICATION = 1


class culv_reason(IntEnum):
    CULV_REASON_NONE = 0
    CULV_REASON_NULL_ARGUMENT = 1
    CULV_REASON_STRUCT_SIZE = 2
    CULV_REASON_VALUE = 3
    CULV_REASON_SIZE = 4
    CULV_REASON_RANGE = 5
    CULV_REASON_HANDLE_TYPE = 6
    CULV_REASON_HANDLE_BAD = 7
    CULV_REASON_HANDLE_KIND = 8
    CULV_REASON_HANDLE_REFUSED = 9
    CULV_REASON_DEVICE_MISMATCH = 10
    CULV_REASON_DEVICE_UNKNOWN = 11
    CULV_REASON_DEVICE_GROUP = 12
    CULV_REASON_DEVICE_SLICE = 13
    CULV_REASON_DRIVER_MISSING = 14
    CULV_REASON_DRIVER_TOO_OLD = 15
    CULV_REASON_DRIVER_INIT = 16
    CULV_REASON_DRIVER_REFUSED = 17
    CULV_REASON_SOFT_MISSING = 18
    CULV_REASON_EXTENSION_MISSING = 19
    CULV_REASON_LAYER_MISSING = 20
    CULV_REASON_VULKAN_VERSION = 21
    CULV_REASON_DEDICATED = 22
    CULV_REASON_NOT_EXPORTABLE = 23
    CULV_REASON_TIMELINE_BACKWARDS = 24
    CULV_REASON_STREAM_DEVICE = 25
    CULV_REASON_CONTEXT_DEVICE = 26
    CULV_REASON_NOT_BUILT = 27
    CULV_REASON_HOST_MEMORY = 28
    CULV_REASON_DEVICE_MEMORY = 29
    CULV_REASON_EARLIER_FAILURE = 30
    CULV_REASON_DEVICE_LOST = 31
    CULV_REASON_OS = 32
    CULV_REASON_FORMAT = 33
    CULV_REASON_EXTENT = 34
    CULV_REASON_TILING = 35
    CULV_REASON_USAGE = 36
    CULV_REASON_LEVEL = 37
    CULV_REASON_MEMORY_TYPE = 38
    CULV_REASON_DOUBLE_SIGNAL = 39
    CULV_REASON_WAIT_BEFORE_SIGNAL = 40
    CULV_REASON_SAME_SIDE = 41
    CULV_REASON_OWNED = 42
    CULV_REASON_RUNTIME = 43
    CULV_REASON_PEER = 44
    CULV_REASON_CAPTURE = 45
    CULV_REASON_RING_ORDER = 46
    CULV_REASON_RING_SIDE = 47
    CULV_REASON_RING_FULL = 48
    CULV_REASON_RING_EMPTY = 49
    CULV_REASON_RING_LATE = 50
    CULV_REASON_RING_STOPPED = 51
    CULV_REASON_TIMELINE_CHANGED = 52
    CULV_REASON_NO_FORCE = 53
    CULV_REASON_VMM = 54
    CULV_REASON_LOCATION = 55
    CULV_REASON_ADDRESS = 56
    CULV_REASON_MAPPED = 57
    CULV_REASON_NOT_MAPPED = 58
    CULV_REASON_OPT_IN = 59
    CULV_REASON_NOT_READY = 60
    CULV_REASON_MODULE = 61
    CULV_REASON_KERNEL = 62
    CULV_REASON_CONTEXT = 63
    CULV_REASON_QUEUE = 64
    CULV_REASON_GRAPH = 65
    CULV_REASON_IPC_NAME = 66
    CULV_REASON_IPC_GONE = 67
    CULV_REASON_IPC_REFUSED = 68
    CULV_REASON_IPC_PROTOCOL = 69
    CULV_REASON_HOST_POINTER = 70
    CULV_REASON_MANAGED = 71
    CULV_REASON_PIN_SPACE = 72
    CULV_REASON_PIN_REFUSED = 73
    CULV_REASON_LIBRARY = 74
    CULV_REASON_MODIFIER = 75
    CULV_REASON_CIG = 76
    CULV_REASON_IPC_DROPPED = 77
    CULV_REASON_FORKED = 78


class culv_result(IntEnum):
    CULV_OK = 0
    CULV_ERROR_INVALID = -1
    CULV_ERROR_BUSY = -2
    CULV_ERROR_TIMEOUT = -3
    CULV_ERROR_UNSUPPORTED = -10
    CULV_ERROR_NO_DEVICE = -11
    CULV_ERROR_OUT_OF_MEMORY = -12
    CULV_ERROR_DRIVER = -20
    CULV_ERROR_ASYNC = -21
    CULV_ERROR_INTERNAL = -30


class culv_ring_policy(IntEnum):
    CULV_RING_FIFO = 0
    CULV_RING_MAILBOX = 1


class culv_ring_side(IntEnum):
    CULV_RING_PRODUCER = 0
    CULV_RING_CONSUMER = 1


class culv_ring_waits(IntEnum):
    CULV_RING_WAITS_DEFAULT = 0
    CULV_RING_WAITS_QUEUED = 1
    CULV_RING_WAITS_SIGNAL_FIRST = 2


class culv_ring_way(IntEnum):
    CULV_RING_WAY_AS_SET = 0
    CULV_RING_WAY_AUTO = 1


class culv_semaphore_type(IntEnum):
    CULV_SEMAPHORE_NONE = 0
    CULV_SEMAPHORE_TIMELINE = 1
    CULV_SEMAPHORE_BINARY = 2


class culv_sharing(IntEnum):
    CULV_SHARING_SHARED = 0
    CULV_SHARING_PEER = 1
    CULV_SHARING_HOST = 2


class culv_sparse_part(IntEnum):
    CULV_SPARSE_TILES = 0
    CULV_SPARSE_MIP_TAIL = 1


class culv_texel_kind(IntEnum):
    CULV_TEXEL_KIND_NONE = 0
    CULV_TEXEL_KIND_UINT = 1
    CULV_TEXEL_KIND_SINT = 2
    CULV_TEXEL_KIND_FLOAT = 3
    CULV_TEXEL_KIND_UNORM = 4
    CULV_TEXEL_KIND_SNORM = 5
    CULV_TEXEL_KIND_SRGB = 6
    CULV_TEXEL_KIND_USCALED = 7
    CULV_TEXEL_KIND_SSCALED = 8
    CULV_TEXEL_KIND_PADDED = 9
    CULV_TEXEL_KIND_PACKED = 10
    CULV_TEXEL_KIND_SPLIT = 11
    CULV_TEXEL_KIND_DEPTH = 12
    CULV_TEXEL_KIND_STENCIL = 13
    CULV_TEXEL_KIND_BLOCKS = 14
    CULV_TEXEL_KIND_PLANES = 15
    CULV_TEXEL_KIND_SUBSAMPLED = 16


class culv_texels(IntEnum):
    CULV_TEXELS_STORED = 0
    CULV_TEXELS_NORMALIZED = 1


class culv_texture_address(IntEnum):
    CULV_TEXTURE_ADDRESS_CLAMP = 0
    CULV_TEXTURE_ADDRESS_WRAP = 1
    CULV_TEXTURE_ADDRESS_MIRROR = 2
    CULV_TEXTURE_ADDRESS_BORDER = 3


class culv_texture_filter(IntEnum):
    CULV_TEXTURE_FILTER_NEAREST = 0
    CULV_TEXTURE_FILTER_LINEAR = 1


class culv_texture_read(IntEnum):
    CULV_TEXTURE_READ_AS_GRAPHICS = 0
    CULV_TEXTURE_READ_STORED = 1


class culv_vk_access(IntEnum):
    CULV_VK_ACCESS_NONE = 0
    CULV_VK_ACCESS_POINTER = 1
    CULV_VK_ACCESS_ARRAY = 2
    CULV_VK_ACCESS_PITCHED = 3


class culv_vk_direction(IntEnum):
    CULV_VK_ACQUIRE = 0
    CULV_VK_RELEASE = 1


class culv_vk_dma_buf_direction(IntEnum):
    CULV_VK_DMA_BUF_IN = 0
    CULV_VK_DMA_BUF_OUT = 1


class culv_vk_queue_use(IntEnum):
    CULV_VK_QUEUE_GRAPHICS = 0
    CULV_VK_QUEUE_COMPUTE = 1
    CULV_VK_QUEUE_COPY = 2


class culv_vk_sampler_difference(IntEnum):
    CULV_VK_SAMPLER_MAG_FILTER = 1
    CULV_VK_SAMPLER_CUBIC_FILTER = 2
    CULV_VK_SAMPLER_MIRROR_CLAMP = 4
    CULV_VK_SAMPLER_COMPARE = 8
    CULV_VK_SAMPLER_BORDER_INTEGER = 16
    CULV_VK_SAMPLER_BORDER_CUSTOM = 32
    CULV_VK_SAMPLER_REDUCTION = 64
    CULV_VK_SAMPLER_YCBCR = 128
    CULV_VK_SAMPLER_ANISOTROPY = 256
    CULV_VK_SAMPLER_SUBSAMPLED = 512
    CULV_VK_SAMPLER_CUBE_SEAMS = 1024
    CULV_VK_SAMPLER_FLAGS = 2048
    CULV_VK_SAMPLER_UNNORMALIZED_BORDER = 4096


class culv_vk_use(IntEnum):
    CULV_VK_USE_ANY = 0
    CULV_VK_USE_VERTEX_BUFFER = 1
    CULV_VK_USE_INDEX_BUFFER = 2
    CULV_VK_USE_INDIRECT_BUFFER = 3
    CULV_VK_USE_UNIFORM = 4
    CULV_VK_USE_STORAGE_READ = 5
    CULV_VK_USE_STORAGE = 6
    CULV_VK_USE_SAMPLED = 7
    CULV_VK_USE_COLOR_ATTACHMENT = 8
    CULV_VK_USE_TRANSFER_SRC = 9
    CULV_VK_USE_TRANSFER_DST = 10
    CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT = 11
    CULV_VK_USE_DEPTH_STENCIL_READ = 12
    CULV_VK_USE_INPUT_ATTACHMENT = 13
    CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT = 14


class culv_vmm_access_flags(IntEnum):
    CULV_VMM_ACCESS_NONE = 0
    CULV_VMM_ACCESS_READ = 1
    CULV_VMM_ACCESS_READ_WRITE = 3


class culv_vmm_location_kind(IntEnum):
    CULV_VMM_LOCATION_DEVICE = 0
    CULV_VMM_LOCATION_HOST_NUMA = 1
    CULV_VMM_LOCATION_HOST = 2


class culv_vmm_usage(IntEnum):
    CULV_VMM_USAGE_COMPRESSIBLE = 1
    CULV_VMM_USAGE_RDMA = 2
    CULV_VMM_USAGE_TILE_POOL = 4
    CULV_VMM_USAGE_HW_DECOMPRESS = 8


CULV_CUDA_API_ROOM = 4096
CULV_D3D12_RING_MAX_RESOURCES = 16
CULV_DLPACK_MAX_DIMENSIONS = 32
CULV_DLPACK_VERSION_MAJOR = 1
CULV_DLPACK_VERSION_MINOR = 1
CULV_EXPERIMENTAL = 1
CULV_GL_RING_MAX_RESOURCES = 16
CULV_IPC_CUDA_BLOCK = 0x200000
CULV_IPC_MAX_CLIENTS = 64
CULV_IPC_MAX_CONSUMERS = 16
CULV_IPC_NAME_SIZE = 64
CULV_KERNEL_ARGS_MAX = 64
CULV_KEYED_MUTEX_INFINITE = 0xffffffff
CULV_RDMA_BAR1_RESERVE = 0x2000000
CULV_RDMA_CHUNK = 0x10000
CULV_RING_MAX_DEPTH = 64
CULV_SEMAPHORE_BATCH_MAX = 32
CULV_SLOW_KIND_BYTES = 0x40000000
CULV_SPARSE_TILE_BYTES = 0x10000
CULV_STATIC = 1
CULV_VERSION_MAJOR = 0
CULV_VERSION_MINOR = 1
CULV_VERSION_PATCH = 0
CULV_VK_DMA_BUF_PLANES = 4
CULV_VK_RING_MAX_RESOURCES = 16


class culv_uuid(Structure):
    __slots__ = ()
    _fields_ = [
        ("bytes", c_uint8 * 16)]


class culv_luid(Structure):
    __slots__ = ()
    _fields_ = [
        ("bytes", c_uint8 * 8)]


class culv_log(Structure):
    __slots__ = ()
    _fields_ = [
        ("fn", c_void_p),
        ("user", c_void_p),
        ("level", c_int)]


class culv_error(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("result", c_int),
        ("reason", c_int),
        ("native_api", c_int),
        ("native_code", c_int64),
        ("native_call", c_char * 64),
        ("message", c_char * 2048)]


class culv_device_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("driver", c_int),
        ("context", c_void_p),
        ("log", culv_log),
        ("label", c_char_p)]


class culv_device_caps(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 256),
        ("uuid", culv_uuid),
        ("ordinal", c_int32),
        ("is_software", c_uint32),
        ("driver_version", c_uint32),
        ("compute_major", c_uint32),
        ("compute_minor", c_uint32),
        ("pci_bus_id", c_char * 32),
        ("total_memory", c_uint64),
        ("memory_handle_types", c_uint32),
        ("semaphore_handle_types", c_uint32),
        ("timeline_semaphores", c_uint32),
        ("vmm", c_uint32),
        ("vmm_posix_fd", c_uint32),
        ("vmm_win32", c_uint32),
        ("vmm_fabric", c_uint32),
        ("dma_buf_export", c_uint32),
        ("gpudirect_rdma", c_uint32),
        ("sparse_arrays", c_uint32),
        ("deferred_mapping_arrays", c_uint32),
        ("pageable_memory_access", c_uint32),
        ("multicast", c_uint32),
        ("mig_slice", c_uint32),
        ("integrated", c_uint32),
        ("host_register_supported", c_uint32),
        ("can_use_host_pointer_for_registered_mem", c_uint32),
        ("pageable_memory_access_uses_host_page_tables", c_uint32),
        ("luid_valid", c_uint32),
        ("luid", culv_luid),
        ("node_mask", c_uint32),
        ("cig_context", c_uint32),
        ("dma_buf_export_host", c_uint32)]


class culv_device_counts(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("memories", c_uint64),
        ("mappings", c_uint64),
        ("buffers", c_uint64),
        ("images", c_uint64),
        ("semaphores", c_uint64),
        ("attached_devices", c_uint64),
        ("created", c_uint64),
        ("deferred", c_uint64),
        ("late_destroys", c_uint64),
        ("allocations", c_uint64),
        ("peers", c_uint64),
        ("vmm_allocations", c_uint64),
        ("vmm_ranges", c_uint64),
        ("vmm_mappings", c_uint64),
        ("registrations", c_uint64)]


class _culv_handle_value(Union):
    __slots__ = ()
    _fields_ = [("fd", c_int), ("win32", c_void_p)]

class culv_handle(Structure):
    __slots__ = ()
    _fields_ = [
        ("type", c_int),
        ("value", _culv_handle_value),
        ("name", c_void_p)]


class culv_vmm_access(Structure):
    __slots__ = ()
    _fields_ = [
        ("device", c_void_p),
        ("kind", c_int),
        ("numa_node", c_int32),
        ("flags", c_int)]


class culv_vmm_allocation_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("kind", c_int),
        ("numa_node", c_int32),
        ("handle_types", c_uint32),
        ("usage", c_uint32),
        ("recommended_granularity", c_uint32),
        ("object_attributes", c_void_p),
        ("label", c_char_p),
        ("fabric", c_int)]


class culv_vmm_allocation_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("requested", c_uint64),
        ("size", c_uint64),
        ("granularity", c_uint64),
        ("kind", c_int),
        ("numa_node", c_int32),
        ("handle_types", c_uint32),
        ("usage", c_uint32),
        ("imported", c_uint32),
        ("device", culv_uuid),
        ("mappings", c_uint32)]


class culv_vmm_import_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("size", c_uint64),
        ("exporter", culv_uuid),
        ("label", c_char_p)]


class culv_vmm_range_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("alignment", c_uint64),
        ("address", c_uint64),
        ("fixed_address", c_uint32),
        ("label", c_char_p)]


class culv_vmm_mapping(Structure):
    __slots__ = ()
    _fields_ = [
        ("offset", c_uint64),
        ("size", c_uint64),
        ("allocation", c_void_p),
        ("unmapping", c_uint32)]


class culv_vmm_adopted_chunk(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_uint64),
        ("address", c_uint64),
        ("size", c_uint64),
        ("allocation", c_void_p)]


class culv_format_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("format", c_int),
        ("name", c_char * 48),
        ("mapped", c_uint32),
        ("reason", c_int),
        ("reason_text", c_char * 256),
        ("vk_format", c_uint32),
        ("dxgi_format", c_uint32),
        ("gl_internal_format", c_uint32),
        ("cuda_array_format", c_uint32),
        ("channels", c_uint32),
        ("normalized_array_format", c_uint32),
        ("normalized_channels", c_uint32),
        ("bytes_per_block", c_uint32),
        ("block_width", c_uint32),
        ("block_height", c_uint32),
        ("planes", c_uint32),
        ("aspects", c_uint32),
        ("kind", c_int),
        ("channel_order", c_char * 8),
        ("kernel_type", c_char * 16),
        ("surfaces", c_uint32),
        ("cuda_version", c_uint32),
        ("normalized_cuda_version", c_uint32),
        ("dedicated", c_uint32)]


class culv_memory_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("size", c_uint64),
        ("dedicated", c_uint32),
        ("exporter", culv_uuid),
        ("label", c_char_p)]


class culv_buffer_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("label", c_char_p)]


class culv_image_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("offset", c_uint64),
        ("format", c_int),
        ("texels", c_int),
        ("type", c_int),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32),
        ("array_layers", c_uint32),
        ("mip_levels", c_uint32),
        ("color_attachment", c_uint32),
        ("texture_gather", c_uint32),
        ("video_encode_decode", c_uint32),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("plane_offsets", c_uint64 * 3)]


class culv_subresource_layout(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("pointer", c_uint64),
        ("size", c_uint64),
        ("row_pitch", c_uint64),
        ("depth_pitch", c_uint64),
        ("layer_pitch", c_uint64),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32),
        ("array_layers", c_uint32),
        ("bytes_per_block", c_uint32),
        ("block_width", c_uint32),
        ("block_height", c_uint32)]


class culv_vector_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("reserve", c_uint64),
        ("min_chunk", c_uint64),
        ("max_chunk", c_uint64),
        ("growth_percent", c_uint32),
        ("handle_types", c_uint32),
        ("usage", c_uint32),
        ("commit_ahead", c_uint64),
        ("access", c_void_p),
        ("access_count", c_size_t),
        ("moved", c_void_p),
        ("moved_context", c_void_p),
        ("no_move", c_uint32),
        ("label", c_char_p),
        ("space", c_void_p)]


class culv_vector_chunk(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("allocation", c_void_p)]


class culv_vector_stats(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("committed", c_uint64),
        ("peak", c_uint64),
        ("reserved", c_uint64),
        ("chunks", c_uint64),
        ("extensions", c_uint64),
        ("moves", c_uint64),
        ("retiring", c_uint64),
        ("ahead_commits", c_uint64),
        ("ahead_misses", c_uint64)]


class culv_dl_device(Structure):
    __slots__ = ()
    _fields_ = [
        ("device_type", c_int32),
        ("device_id", c_int32)]


class culv_dl_type(Structure):
    __slots__ = ()
    _fields_ = [
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16)]


class culv_dl_tensor(Structure):
    __slots__ = ()
    _fields_ = [
        ("data", c_void_p),
        ("device", culv_dl_device),
        ("ndim", c_int32),
        ("dtype", culv_dl_type),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64)]


class culv_dl_managed_tensor(Structure):
    __slots__ = ()
    _fields_ = [
        ("dl_tensor", culv_dl_tensor),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p)]


class culv_dl_version(Structure):
    __slots__ = ()
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32)]


class culv_dl_managed_tensor_versioned(Structure):
    __slots__ = ()
    _fields_ = [
        ("version", culv_dl_version),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", culv_dl_tensor)]


class culv_dlpack_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("type", culv_dl_type),
        ("ndim", c_int32),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("offset", c_uint64),
        ("read_only", c_uint32),
        ("device_type", c_int)]


class culv_semaphore_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("type", c_int),
        ("value", c_uint64),
        ("signal_pending", c_uint32),
        ("untracked", c_uint32),
        ("exporter", culv_uuid),
        ("label", c_char_p)]


class culv_semaphore_point(Structure):
    __slots__ = ()
    _fields_ = [
        ("semaphore", c_void_p),
        ("value", c_uint64)]


class culv_ipc_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 64),
        ("text", c_char * 64),
        ("kind", c_int),
        ("handle_type", c_int),
        ("device", culv_uuid),
        ("allocation_size", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("dedicated", c_uint32),
        ("memory_type_bits", c_uint32),
        ("element_format", c_int),
        ("element_size", c_uint32),
        ("element_count", c_uint64),
        ("image_type", c_int),
        ("format", c_int),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32),
        ("array_layers", c_uint32),
        ("mip_levels", c_uint32),
        ("tiling", c_int),
        ("usage", c_uint32),
        ("create_flags", c_uint32),
        ("color", c_int),
        ("alpha", c_int),
        ("semaphore_type", c_int),
        ("slots", c_uint32),
        ("value", c_uint64),
        ("generation", c_uint64),
        ("parts", c_uint32),
        ("reserved", c_uint32)]


class culv_ipc_server_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("directory", c_char_p),
        ("users", c_void_p),
        ("num_users", c_size_t),
        ("max_clients", c_uint32),
        ("label", c_char_p)]


class culv_ipc_client_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("directory", c_char_p),
        ("users", c_void_p),
        ("num_users", c_size_t),
        ("label", c_char_p)]


class culv_ipc_vector_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("reserve", c_uint64),
        ("keep_handles", c_uint32)]


class culv_ipc_chunk(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("id", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("handle", culv_handle)]


class culv_mem_pool_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle_types", c_uint32),
        ("max_size", c_uint64),
        ("release_threshold", c_uint64),
        ("security_attributes", c_void_p),
        ("label", c_char_p),
        ("fabric", c_int)]


class culv_mem_pool_import_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("label", c_char_p)]


class culv_mem_pool_pointer(Structure):
    __slots__ = ()
    _fields_ = [
        ("data", c_uint8 * 64)]


class culv_pointer_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int),
        ("handle_types", c_uint32),
        ("graphics", c_uint32),
        ("reason_text", c_char * 384),
        ("device", c_int32),
        ("range_start", c_uint64),
        ("range_size", c_uint64),
        ("mapping_start", c_uint64),
        ("mapping_size", c_uint64),
        ("memory_id", c_uint64),
        ("buffer_id", c_uint64),
        ("pool", c_void_p),
        ("ipc", c_uint32),
        ("rdma", c_uint32)]


class culv_ipc_fetch_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("pid", c_int32),
        ("type", c_int),
        ("number", c_uint64),
        ("started", c_uint64),
        ("users", c_void_p),
        ("num_users", c_size_t),
        ("size", c_uint64)]


class culv_ring_settings(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("policy", c_int),
        ("depth", c_uint32),
        ("burst", c_uint32),
        ("max_frames_in_flight", c_uint32),
        ("max_latency", c_uint64),
        ("check_counters", c_uint32),
        ("cuda_waits", c_int),
        ("way", c_int)]


class culv_ring_timeline(Structure):
    __slots__ = ()
    _fields_ = [
        ("semaphore", c_void_p),
        ("value", c_void_p),
        ("wait", c_void_p),
        ("signal", c_void_p),
        ("context", c_void_p),
        ("name", c_char_p)]


class culv_ring_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_depth", c_uint32),
        ("settings", c_void_p),
        ("ready", culv_ring_timeline),
        ("done", culv_ring_timeline),
        ("ready_value", c_uint64),
        ("done_value", c_uint64),
        ("label", c_char_p)]


class culv_ring_frame(Structure):
    __slots__ = ()
    _fields_ = [
        ("number", c_uint64),
        ("wait_value", c_uint64),
        ("signal_value", c_uint64),
        ("skipped", c_uint64),
        ("slot", c_uint32),
        ("repeated", c_uint32),
        ("burst_begins", c_uint32),
        ("burst_ends", c_uint32)]


class culv_ring_stats(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("produced", c_uint64),
        ("consumed", c_uint64),
        ("skipped", c_uint64),
        ("producer_waits", c_uint64),
        ("consumer_waits", c_uint64),
        ("ready_signaled", c_uint64),
        ("done_signaled", c_uint64),
        ("depth", c_uint32),
        ("burst", c_uint32),
        ("frame_time", c_uint64),
        ("cuda_waits", c_int),
        ("tries", c_uint32)]


class culv_ipc_timelines(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("ready", culv_handle),
        ("done", culv_handle),
        ("signal", c_void_p),
        ("context", c_void_p),
        ("reached", c_void_p)]


class culv_ipc_point(Structure):
    __slots__ = ()
    _fields_ = [
        ("consumer", c_uint32),
        ("reserved", c_uint32),
        ("value", c_uint64)]


class culv_ipc_consumer_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("number", c_uint32),
        ("pid", c_int32),
        ("policy", c_int),
        ("lag", c_int),
        ("behind", c_uint64),
        ("quiet", c_uint64),
        ("late", c_uint64)]


class culv_ipc_frame(Structure):
    __slots__ = ()
    _fields_ = [
        ("number", c_uint64),
        ("skipped", c_uint64),
        ("slot", c_uint32),
        ("repeated", c_uint32),
        ("num_waits", c_uint32),
        ("num_signals", c_uint32),
        ("waits", culv_ipc_point * 16),
        ("signals", culv_ipc_point * 16)]


class culv_ipc_ring_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("slots", c_uint32),
        ("parts", c_uint32),
        ("max_consumers", c_uint32),
        ("make", c_void_p),
        ("drop", c_void_p),
        ("context", c_void_p),
        ("late_limit", c_uint64)]


class culv_ipc_consumer_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("ring", c_char_p),
        ("policy", c_int),
        ("timelines", c_void_p)]


class culv_launch_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared_bytes", c_uint32),
        ("stream", c_void_p)]


class culv_kernel_arg(Structure):
    __slots__ = ()
    _fields_ = [
        ("value", c_void_p),
        ("size", c_size_t)]


class culv_kernel_call_arg(Structure):
    __slots__ = ()
    _fields_ = [
        ("value", c_void_p),
        ("queue_value", c_void_p),
        ("size", c_size_t)]


class culv_kernel_call(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("kernel", c_void_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared_bytes", c_uint32),
        ("reserved", c_uint32),
        ("args", c_void_p),
        ("num_args", c_size_t),
        ("params", c_void_p),
        ("queue_params", c_void_p),
        ("params_size", c_size_t)]


class culv_rdma_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int),
        ("path", c_int),
        ("reason", c_int),
        ("reason_text", c_char * 256),
        ("device", c_int32),
        ("start", c_uint64),
        ("size", c_uint64),
        ("buffer_id", c_uint64),
        ("rdma_capable", c_uint32),
        ("sync_memops", c_uint32),
        ("host_pages", c_uint32)]


class culv_rdma_tokens(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("p2p_token", c_uint64),
        ("va_space_token", c_uint32)]


class culv_rdma_dma_buf(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("start", c_uint64),
        ("size", c_uint64),
        ("offset", c_uint64),
        ("pcie", c_uint32)]


class culv_rdma_caps(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("supported", c_uint32),
        ("with_vmm", c_uint32),
        ("dma_buf", c_uint32),
        ("flush_host", c_uint32),
        ("flush_memops", c_uint32),
        ("ordering", c_int)]


class culv_rdma_bar1(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("total", c_uint64),
        ("used", c_uint64),
        ("free", c_uint64),
        ("usable", c_uint64)]


class culv_rdma_cost(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("start", c_uint64),
        ("size", c_uint64),
        ("chunks", c_uint64)]


class culv_rdma_range(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int),
        ("page_start", c_uint64),
        ("page_size", c_uint64),
        ("start", c_uint64),
        ("size", c_uint64),
        ("allocation_start", c_uint64),
        ("allocation_size", c_uint64),
        ("buffer_id", c_uint64)]


class culv_rdma_cache_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("pin", c_void_p),
        ("unpin", c_void_p),
        ("user", c_void_p),
        ("validity", c_int),
        ("max_bytes", c_uint64),
        ("max_entries", c_uint64),
        ("whole_percent", c_uint32),
        ("exact_ranges", c_uint32),
        ("no_sync_memops", c_uint32),
        ("allow_context_sync", c_uint32),
        ("label", c_char_p)]


class culv_rdma_cache_stats(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("entries", c_uint64),
        ("bytes", c_uint64),
        ("leaving", c_uint64),
        ("misses", c_uint64),
        ("pins", c_uint64),
        ("unpins", c_uint64),
        ("evictions", c_uint64),
        ("freed", c_uint64),
        ("replaced", c_uint64),
        ("pin_retries", c_uint64),
        ("index_bytes", c_uint64)]


class culv_sparse_array_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("format", c_int),
        ("texels", c_int),
        ("type", c_int),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32),
        ("array_layers", c_uint32),
        ("mip_levels", c_uint32),
        ("surfaces", c_uint32),
        ("texture_gather", c_uint32),
        ("label", c_char_p)]


class culv_sparse_array_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("tile_width", c_uint32),
        ("tile_height", c_uint32),
        ("tile_depth", c_uint32),
        ("tile_bytes", c_uint32),
        ("array_layers", c_uint32),
        ("mip_levels", c_uint32),
        ("mip_tail_first_level", c_uint32),
        ("mip_tail_single", c_uint32),
        ("mip_tail_size", c_uint64),
        ("full_size", c_uint64)]


class culv_sparse_region(Structure):
    __slots__ = ()
    _fields_ = [
        ("level", c_uint32),
        ("layer", c_uint32),
        ("x", c_uint32),
        ("y", c_uint32),
        ("z", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32)]


class culv_sparse_bind(Structure):
    __slots__ = ()
    _fields_ = [
        ("array", c_void_p),
        ("part", c_int),
        ("region", culv_sparse_region),
        ("tail_offset", c_uint64),
        ("tail_size", c_uint64),
        ("pool", c_void_p),
        ("pool_offset", c_uint64)]


class culv_texture_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("address", c_int * 3),
        ("filter", c_int),
        ("mip_filter", c_int),
        ("read", c_int),
        ("mip_bias", c_float),
        ("clamp_lod", c_uint32),
        ("min_lod", c_float),
        ("max_lod", c_float),
        ("max_anisotropy", c_uint32),
        ("border_color", c_float * 4),
        ("unnormalized_coordinates", c_uint32),
        ("no_seamless_cube", c_uint32),
        ("base_level", c_uint32),
        ("level_count", c_uint32),
        ("base_layer", c_uint32),
        ("layer_count", c_uint32),
        ("plane", c_uint32)]


class culv_keyed_mutex_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("label", c_char_p)]


class culv_d3d11_device_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_void_p),
        ("label", c_char_p)]


class culv_d3d11_memory_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource", c_void_p),
        ("size", c_uint64),
        ("label", c_char_p)]


class culv_d3d11_image_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource", c_void_p),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p)]


class culv_d3d11_buffer_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("bind_flags", c_uint32),
        ("misc_flags", c_uint32),
        ("stride", c_uint32),
        ("keyed_mutex", c_uint32),
        ("kmt", c_uint32),
        ("label", c_char_p)]


class culv_d3d11_image_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource_desc", c_void_p),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("keyed_mutex", c_uint32),
        ("kmt", c_uint32),
        ("label", c_char_p)]


class culv_d3d11_shadow_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource", c_void_p),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("keyed_mutex", c_uint32),
        ("label", c_char_p)]


class culv_d3d11_semaphore_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("initial_value", c_uint64),
        ("label", c_char_p)]


class culv_d3d12_device_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_void_p),
        ("label", c_char_p)]


class culv_d3d12_memory_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("heap", c_void_p),
        ("resource", c_void_p),
        ("label", c_char_p)]


class culv_d3d12_image_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource", c_void_p),
        ("offset", c_uint64),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p)]


class culv_d3d12_buffer_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("resource_flags", c_uint32),
        ("label", c_char_p)]


class culv_d3d12_image_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource_desc", c_void_p),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p)]


class culv_d3d12_shadow_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource", c_void_p),
        ("cube", c_uint32),
        ("format", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p)]


class culv_d3d12_semaphore_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("initial_value", c_uint64),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_d3d12_ring_resource(Structure):
    __slots__ = ()
    _fields_ = [
        ("image", c_void_p),
        ("buffer", c_void_p),
        ("images", c_void_p),
        ("buffers", c_void_p)]


class culv_d3d12_ring_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_depth", c_uint32),
        ("settings", c_void_p),
        ("resources", c_void_p),
        ("num_resources", c_uint32),
        ("side", c_int),
        ("waits", c_int),
        ("label", c_char_p)]


class culv_d3d12_vector_view_buffer(Structure):
    __slots__ = ()
    _fields_ = [
        ("resource", c_void_p),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("chunk", c_uint64)]


class culv_d3d12_vector_view_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("resource_flags", c_uint32),
        ("label", c_char_p)]


class culv_d3d_register_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("access", c_int),
        ("no_surfaces", c_uint32),
        ("texture_gather", c_uint32),
        ("label", c_char_p)]


class culv_fabric_handle(Structure):
    __slots__ = ()
    _fields_ = [
        ("bytes", c_uint8 * 64)]


class culv_gl_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("get_proc_address", c_void_p),
        ("vk", c_void_p),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_gl_report(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("platform", c_int),
        ("way", c_int),
        ("is_software", c_uint32),
        ("vendor", c_char * 128),
        ("renderer", c_char * 256),
        ("version", c_char * 128),
        ("has_uuid", c_uint32),
        ("uuid", culv_uuid),
        ("driver_uuid", culv_uuid),
        ("num_gpus", c_uint32),
        ("cuda_ordinal", c_int32),
        ("cuda_name", c_char * 256),
        ("devices_all", c_uint32),
        ("devices_current_frame", c_uint32),
        ("devices_next_frame", c_uint32),
        ("has_direct_state_access", c_uint32),
        ("has_memory_object", c_uint32),
        ("has_semaphore", c_uint32),
        ("has_timeline_semaphore", c_uint32),
        ("memory_reason", c_int),
        ("register_reason", c_int),
        ("text", c_char * 3072)]


class culv_gl_buffer_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_gl_image_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_uint32),
        ("internal_format", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("depth", c_uint32),
        ("array_layers", c_uint32),
        ("mip_levels", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_gl_memory_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("size", c_uint64),
        ("dedicated", c_uint32),
        ("exporter", culv_uuid),
        ("label", c_char_p)]


class culv_gl_register_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("access", c_int),
        ("no_surfaces", c_uint32),
        ("texture_gather", c_uint32),
        ("unchecked", c_uint32),
        ("label", c_char_p)]


class culv_gl_readback_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("width", c_uint32),
        ("height", c_uint32),
        ("format", c_int),
        ("internal_format", c_uint32),
        ("flip", c_uint32),
        ("label", c_char_p)]


class culv_gl_semaphore_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("type", c_int),
        ("initial_value", c_uint64),
        ("untracked", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_gl_uses(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("num_buffers", c_uint32),
        ("buffers", c_void_p),
        ("num_textures", c_uint32),
        ("textures", c_void_p),
        ("layouts", c_void_p)]


class culv_gl_ring_resource(Structure):
    __slots__ = ()
    _fields_ = [
        ("buffer", c_void_p),
        ("image", c_void_p),
        ("buffers", c_void_p),
        ("images", c_void_p),
        ("registrations", c_void_p)]


class culv_gl_ring_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_depth", c_uint32),
        ("settings", c_void_p),
        ("resources", c_void_p),
        ("num_resources", c_uint32),
        ("side", c_int),
        ("way", c_int),
        ("label", c_char_p)]


class culv_gl_vector_view_buffer(Structure):
    __slots__ = ()
    _fields_ = [
        ("buffer", c_uint32),
        ("reserved", c_uint32),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("chunk", c_uint64)]


class culv_multicast_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("num_devices", c_uint32),
        ("opt_in", c_uint32),
        ("size", c_uint64),
        ("handle_types", c_uint32),
        ("recommended_granularity", c_uint32),
        ("label", c_char_p)]


class culv_multicast_import_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("num_devices", c_uint32),
        ("opt_in", c_uint32),
        ("size", c_uint64),
        ("label", c_char_p)]


class culv_nvsci_buffer_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("object", c_void_p),
        ("size", c_uint64),
        ("read_only", c_uint32),
        ("label", c_char_p)]


class culv_nvsci_array_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("offset", c_uint64),
        ("width", c_uint64),
        ("height", c_uint64),
        ("depth", c_uint64),
        ("cuda_format", c_uint32),
        ("channels", c_uint32),
        ("flags", c_uint32)]


class culv_vk_device_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("get_instance_proc_addr", c_void_p),
        ("instance", c_void_p),
        ("physical_device", c_void_p),
        ("device", c_void_p),
        ("api_version", c_uint32),
        ("num_physical_devices", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32),
        ("kernels", c_uint32),
        ("allocation_callbacks", c_void_p)]


class culv_vk_candidate(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("physical_device", c_void_p),
        ("name", c_char * 256),
        ("driver_name", c_char * 256),
        ("driver_info", c_char * 256),
        ("api_version", c_uint32),
        ("type", c_int),
        ("vendor_id", c_uint32),
        ("driver_id", c_int),
        ("uuid", culv_uuid),
        ("group_size", c_uint32),
        ("reachable", c_uint32),
        ("driver", c_int),
        ("cuda_ordinal", c_int32),
        ("cuda_name", c_char * 256),
        ("has_external_memory", c_uint32),
        ("has_external_semaphore", c_uint32),
        ("has_timeline_semaphore", c_uint32),
        ("buffer_opaque_fd_export", c_uint32),
        ("buffer_opaque_fd_dedicated_only", c_uint32),
        ("buffer_dma_buf_export", c_uint32),
        ("timeline_opaque_fd_export", c_uint32),
        ("binary_opaque_fd_export", c_uint32),
        ("buffer_host_import", c_uint32),
        ("luid_valid", c_uint32),
        ("luid", culv_luid),
        ("node_mask", c_uint32),
        ("reason", c_int),
        ("reason_text", c_char * 1024)]


class culv_vk_memory_from_handle_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("size", c_uint64),
        ("exporter", culv_uuid),
        ("buffer", c_void_p),
        ("image", c_void_p),
        ("memory_type_bits", c_uint32),
        ("dedicated", c_uint32),
        ("label", c_char_p),
        ("allocate_flags", c_uint32)]


class culv_vk_vector_view_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("usage", c_uint32),
        ("sparse_queue", c_void_p),
        ("sparse_size", c_uint64),
        ("label", c_char_p)]


class culv_vk_vector_view_buffer(Structure):
    __slots__ = ()
    _fields_ = [
        ("buffer", c_void_p),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("chunk", c_uint64)]


class culv_vk_adopted_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("usage", c_uint32),
        ("sparse_queue", c_void_p),
        ("label", c_char_p)]


class culv_vk_adopted_buffer(Structure):
    __slots__ = ()
    _fields_ = [
        ("buffer", c_void_p),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("range_offset", c_uint64)]


class culv_vk_buffer_transfer(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("buffer", c_void_p),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("queue_family", c_uint32),
        ("use", c_int),
        ("stage", c_uint64),
        ("access", c_uint64)]


class culv_vk_buffer_barrier(Structure):
    __slots__ = ()
    _fields_ = [
        ("src_stage", c_uint32),
        ("dst_stage", c_uint32),
        ("barrier", VkBufferMemoryBarrier)]


class culv_vk_image_transfer(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("image", c_void_p),
        ("base_mip_level", c_uint32),
        ("level_count", c_uint32),
        ("queue_family", c_uint32),
        ("use", c_int),
        ("stage", c_uint64),
        ("access", c_uint64),
        ("layout", c_int),
        ("discard", c_uint32),
        ("base_array_layer", c_uint32),
        ("layer_count", c_uint32),
        ("format", c_int),
        ("aspect", c_uint32)]


class culv_vk_image_barrier(Structure):
    __slots__ = ()
    _fields_ = [
        ("src_stage", c_uint32),
        ("dst_stage", c_uint32),
        ("barrier", VkImageMemoryBarrier)]


class culv_vk_check_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle_type", c_int),
        ("memory_properties", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("host_memory", c_uint32),
        ("block_size", c_uint64)]


class culv_vk_sharing_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("access", c_int),
        ("handle_types", c_uint32),
        ("handle_type", c_int),
        ("dedicated_required", c_uint32),
        ("dedicated_preferred", c_uint32),
        ("requirements_known", c_uint32),
        ("requirements", VkMemoryRequirements),
        ("plane_requirements", VkMemoryRequirements * 3),
        ("memory_type_index", c_uint32),
        ("max_extent", VkExtent3D),
        ("max_mip_levels", c_uint32),
        ("max_array_layers", c_uint32),
        ("sample_counts", c_uint32),
        ("max_resource_size", c_uint64),
        ("image", culv_image_desc),
        ("memory_kind", c_int),
        ("random_access_slow", c_uint32)]


class culv_vk_memory_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("memory", c_void_p),
        ("allocation_size", c_uint64),
        ("dedicated", c_uint32),
        ("buffer", c_void_p),
        ("buffer_offset", c_uint64),
        ("image", c_void_p),
        ("image_offset", c_uint64),
        ("label", c_char_p)]


class culv_vk_image_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("image", c_void_p),
        ("create_info", c_void_p),
        ("offset", c_uint64),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("plane_offsets", c_uint64 * 3)]


class culv_vk_buffer_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("create_info", c_void_p),
        ("memory_properties", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32),
        ("host_memory", c_uint32),
        ("host_pointer", c_void_p),
        ("host_size", c_uint64),
        ("memory_kind", c_int)]


class culv_vk_image_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("create_info", c_void_p),
        ("memory_properties", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_vk_memory_barrier(Structure):
    __slots__ = ()
    _fields_ = [
        ("src_stage", c_uint32),
        ("dst_stage", c_uint32),
        ("barrier", VkMemoryBarrier)]


class culv_vk_space_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("queue", c_void_p),
        ("address", c_uint64),
        ("candidates", c_void_p),
        ("num_candidates", c_size_t),
        ("buffer_usage", c_uint32),
        ("memory_usage", c_uint32),
        ("access", c_void_p),
        ("access_count", c_size_t),
        ("lock_queue", c_void_p),
        ("unlock_queue", c_void_p),
        ("queue_context", c_void_p),
        ("label", c_char_p),
        ("vectors_do_not_wait", c_uint32)]


class culv_vk_space_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("granularity", c_uint64),
        ("max_size", c_uint64),
        ("address", c_uint64),
        ("size", c_uint64),
        ("committed", c_uint64),
        ("chunks", c_uint64),
        ("decommitting", c_uint64),
        ("attempts", c_uint32),
        ("refused_by_cuda", c_uint32),
        ("refused_by_vulkan", c_uint32)]


class culv_vk_space_buffer_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("offset", c_uint64),
        ("usage", c_uint32),
        ("alignment", c_uint64),
        ("own_handle", c_uint32),
        ("label", c_char_p)]


class culv_vk_graph_memory(Structure):
    __slots__ = ()
    _fields_ = [
        ("pointer", c_uint64),
        ("size", c_uint64),
        ("address", c_uint64),
        ("buffer", c_void_p),
        ("offset", c_uint64),
        ("usage", c_uint32)]


class culv_vk_graph_param(Structure):
    __slots__ = ()
    _fields_ = [
        ("node", c_void_p),
        ("kernel", c_char_p),
        ("index", c_uint32),
        ("value", c_void_p),
        ("size", c_size_t)]


class culv_vk_graph_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("kernels", c_void_p),
        ("num_kernels", c_size_t),
        ("memory", c_void_p),
        ("num_memory", c_size_t),
        ("params", c_void_p),
        ("num_params", c_size_t),
        ("label", c_char_p)]


class culv_vk_rdma_buffer_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("usage", c_uint32),
        ("reserve", c_uint64),
        ("max_part", c_uint64),
        ("optional_dma_buf", c_uint32),
        ("set_context_sync", c_uint32),
        ("label", c_char_p)]


class culv_vk_rdma_part(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_uint64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("pointer", c_uint64),
        ("buffer", c_void_p),
        ("dma_buf", culv_handle),
        ("pcie", c_uint32)]


class culv_vk_semaphore_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("semaphore", c_void_p),
        ("type", c_int),
        ("untracked", c_uint32),
        ("signal_pending", c_uint32),
        ("label", c_char_p)]


class culv_vk_semaphore_create_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("type", c_int),
        ("initial_value", c_uint64),
        ("untracked", c_uint32),
        ("label", c_char_p),
        ("fallback", c_uint32)]


class culv_vk_own_buffer(Structure):
    __slots__ = ()
    _fields_ = [
        ("buffer", c_void_p),
        ("cuda", c_void_p),
        ("usage", c_uint32)]


class culv_vk_own_image(Structure):
    __slots__ = ()
    _fields_ = [
        ("image", c_void_p),
        ("cuda", c_void_p),
        ("usage", c_uint32)]


class culv_vk_ring_resource(Structure):
    __slots__ = ()
    _fields_ = [
        ("image", c_void_p),
        ("buffer", c_void_p),
        ("images", c_void_p),
        ("buffers", c_void_p),
        ("own_images", c_void_p),
        ("own_buffers", c_void_p),
        ("use", c_int),
        ("stage", c_uint64),
        ("access", c_uint64),
        ("layout", c_int)]


class culv_vk_ring_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_depth", c_uint32),
        ("settings", c_void_p),
        ("resources", c_void_p),
        ("num_resources", c_uint32),
        ("side", c_int),
        ("queue_family", c_uint32),
        ("wait_stage", c_uint64),
        ("label", c_char_p),
        ("waits", c_int)]


class culv_vk_ring_frame(Structure):
    __slots__ = ()
    _fields_ = [
        ("frame", culv_ring_frame),
        ("num_waits", c_uint32),
        ("wait", VkSemaphoreSubmitInfo),
        ("num_signals", c_uint32),
        ("signal", VkSemaphoreSubmitInfo),
        ("acquire", VkDependencyInfo),
        ("release", VkDependencyInfo)]


class culv_vk_device_features(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("timeline_semaphore", VkPhysicalDeviceTimelineSemaphoreFeatures),
        ("synchronization2", VkPhysicalDeviceSynchronization2Features),
        ("maintenance4", VkPhysicalDeviceMaintenance4Features),
        ("one_address", c_uint32),
        ("features2", VkPhysicalDeviceFeatures2),
        ("buffer_device_address", VkPhysicalDeviceBufferDeviceAddressFeatures)]


class culv_drm_format_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("fourcc", c_uint32),
        ("format", c_int),
        ("ignores_alpha", c_uint32),
        ("planes", c_uint32),
        ("plane_fourccs", c_uint32 * 3),
        ("chroma_across", c_uint32),
        ("chroma_down", c_uint32)]


class culv_vk_dma_buf_desc(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("handle", culv_handle),
        ("direction", c_int),
        ("fourcc", c_uint32),
        ("format", c_int),
        ("width", c_uint32),
        ("height", c_uint32),
        ("modifier", c_uint64),
        ("num_planes", c_uint32),
        ("plane_offsets", c_uint64 * 4),
        ("plane_pitches", c_uint64 * 4),
        ("modifiers", c_void_p),
        ("num_modifiers", c_uint32),
        ("queue_family", c_uint32),
        ("to_buffer", c_uint32),
        ("texels", c_int),
        ("no_surfaces", c_uint32),
        ("label", c_char_p),
        ("direct", c_uint32)]


class culv_vk_dma_buf_turn(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("semaphore", c_void_p),
        ("wait_value", c_uint64),
        ("signal_value", c_uint64),
        ("cuda_wait_value", c_uint64),
        ("cuda_signal_value", c_uint64)]


class culv_vk_dma_buf_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("struct_size", c_size_t),
        ("fourcc", c_uint32),
        ("format", c_int),
        ("width", c_uint32),
        ("height", c_uint32),
        ("modifier", c_uint64),
        ("num_planes", c_uint32),
        ("plane_offsets", c_uint64 * 4),
        ("plane_pitches", c_uint64 * 4),
        ("buffer_pitch", c_uint64),
        ("direct", c_uint32)]


# Function: (result, ((parameter, type), ...), what the header says of it)
FUNCTIONS = {
    "culv_buffer_download": (culv_result, (("buffer", c_void_p), ("stream", c_void_p), ),
        "Fetches what the graphics API wrote into the buffer: a copy of the whole buffer, in the stream.\nCall it after the wait for the graphics API's signal and before CUDA's first read. SHARED: does\nnothing. HOST: culv_vk_buffer_record_download() records the graphics API's half, which comes\nfirst.\nErrors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.\nThreads: any, one at a time for a buffer."),
    "culv_buffer_get_dlpack": (culv_result, (("buffer", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a tensor of a buffer. desc may be NULL for the default. The tensor has a mapping of its\nown (which costs nothing, because the import is mapped once): the buffer may be unmapped, and\nwhat owns it destroyed, before the tensor is.\n\nThe deleter does what culv_buffer_unmap() does. When it gives up the last mapping, the driver\nwaits for all CUDA work of the context, as cudaFree() does.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the element, the number of dimensions or the\ndevice; SIZE: a negative extent, or one that overflows; RANGE: an element outside the buffer, or\none that does not begin at a multiple of its lane's size; OWNED: a registered buffer, which no\ntensor can keep over the unmap), OUT_OF_MEMORY, ASYNC.\nOwnership: *out is yours; give it to a consumer, or call its deleter.\nThreads: any.\nSource: DLPack 1.1, dlpack.h; strides must not be NULL since 1.2."),
    "culv_buffer_map": (culv_result, (("memory", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Maps a range of the import as a buffer. desc may be NULL, which maps all of it.\nErrors: INVALID (RANGE), DRIVER (SIZE: the driver finds that the allocation is smaller than the\nimport stated), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_buffer_unmap(). It keeps the import alive.\nThreads: any.\nSource: cuda.h, cuExternalMemoryGetMappedBuffer.'),
    "culv_buffer_memory_kind": (c_int, (("buffer", c_void_p), ),
        'Returns the kind of memory that the buffer lies in. It follows from what is known of the\nallocation: from culv_memory_desc::dedicated or culv_vk_memory_desc::dedicated, or from what\nCulvert made. CULV_MEMORY_KIND_UNKNOWN for NULL.\nThreads: any.\nSource: measured, docs/measured/memory-kinds.md.'),
    "culv_buffer_pointer": (c_uint64, (("buffer", c_void_p), ),
        "Returns the device pointer to the buffer's first byte. It is valid until the buffer is unmapped.\n0 for NULL. The pointer is the driver's: pass it to kernels and copies, never to cuMemFree.\nOwnership: Culvert owns it.\nThreads: any."),
    "culv_buffer_sharing": (c_int, (("buffer", c_void_p), ),
        'How CUDA reaches a buffer; SHARED for NULL.\nThreads: any.'),
    "culv_buffer_size": (c_uint64, (("buffer", c_void_p), ),
        "Returns the buffer's size in bytes. 0 for NULL.\nThreads: any."),
    "culv_buffer_unmap": (culv_result, (("buffer", c_void_p), ),
        "Unmaps the buffer and sets *buffer to NULL. The work that uses it should be done, as before\nvkFreeMemory. NULL, or a pointer to NULL, is a no-op.\n\nIf this is the import's last buffer, the driver WAITS in this call for all CUDA work of the\ncontext, and other threads cannot submit any meanwhile. It waits for ever if that work waits for\na signal that nobody has submitted yet. culv_buffer_unmap_after() does not wait.\nErrors: INVALID (OWNED: Culvert made the buffer itself (culv_shared_buffer_cuda()); nothing\nhappens, and the pointer keeps its value).\nOwnership: *buffer is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: measured, docs/measured/nvidia-measured.md: cuMemFree of a mapping waits for the\ncontext."),
    "culv_buffer_unmap_after": (culv_result, (("buffer", c_void_p), ("last_use", c_void_p), ),
        "Like culv_buffer_unmap(), but DEFERS and never waits. Culvert releases the driver's mapping\nafter `last_use` has done the work that has been submitted to it so far. The release happens in a\nlater culv_device_collect(), culv_buffer_unmap(), culv_semaphore_destroy() or\nculv_device_get_counts(), or when the device goes; those calls may wait in the driver. The stream\nmust belong to the device's context. Culvert can record nothing on a stream in capture, so the\nrelease then waits for all CUDA work.\nErrors: as culv_buffer_unmap().\nOwnership: *buffer is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_buffer_upload": (culv_result, (("buffer", c_void_p), ("stream", c_void_p), ),
        "Sends the buffer's contents from CUDA to the graphics API: a copy of the whole buffer, in the\nstream. Call it after CUDA's last write and before the signal that the graphics API waits for.\nSHARED: does nothing. HOST: culv_vk_buffer_record_upload() records the graphics API's half of the\ncopy.\nErrors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.\nThreads: any, one at a time for a buffer."),
    "culv_check_cuda_api": (culv_result, (("device", c_void_p), ("name", c_char_p), ("cuda_version", c_int), ),
        'Says why a member of culv_cuda_api is NULL. CULV_CUDA_CHECK() calls it. `name` is the function\'s\nname in cuda.h, for instance "cuMemAlloc". `cuda_version` is your CUDA_VERSION: it says which\nform the name means where CUDA 12 and CUDA 13 differ.\nErrors: INVALID (NULL_ARGUMENT; VALUE: culv_cuda_api has no such function); UNSUPPORTED\n(DRIVER_TOO_OLD: the driver lacks it, and the message says which CUDA brought it).\nThreads: any.'),
    "culv_check_fabric": (culv_result, (("device", c_void_p), ),
        'Whether fabric handles work here: makes the smallest allocation, exports it and frees it. Once\nthat has worked, the device remembers it.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM; HANDLE_TYPE: the device has none, or this user\nhas no IMEX channel: the message says what to do), DRIVER, ASYNC, OUT_OF_MEMORY.\nThreads: any.\nSource: CUDA programming guide, "Virtual Memory Management", "Fabric memory".'),
    "culv_check_format": (culv_result, (("device", c_void_p), ("format", c_int), ("texels", c_int), ),
        "Tells whether this device's driver has the CUDA array format that a format is mapped as. Returns\nCULV_OK, or UNSUPPORTED with the reason. Culvert knows which formats every driver has. For the\nothers it asks the driver once, by making and destroying a small array, and keeps the answer.\nCalls that map images ask the same question.\nErrors: INVALID (NULL_ARGUMENT; VALUE: not a culv_texels), UNSUPPORTED (FORMAT: no CUDA array has\nthat format, or this driver lacks it), DRIVER, ASYNC, OUT_OF_MEMORY.\nThreads: any.\nSource: cuda.h, cuArray3DCreate."),
    "culv_check_multicast": (culv_result, (("device", c_void_p), ),
        'Whether the device can be part of a team: it has CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, and\nthe driver has the calls.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM: the device has no multicast; DRIVER_TOO_OLD).\nThreads: any.'),
    "culv_cig_context": (c_void_p, (("cig", c_void_p), ),
        "Returns the context, for culv_device_desc::context and for CUDA's own calls. NULL for NULL.\nOwnership: Culvert owns the context.\nThreads: any."),
    "culv_cig_destroy": (None, (("cig", c_void_p), ),
        "Destroys the context with all that was made in it, and sets *cig to NULL. Close the culv_device\nthat uses it before. Waits for the context's work. NULL, or a pointer to NULL, is a no-op.\nOwnership: *cig is Culvert's again.\nThreads: any, ordered with other uses of the context.\nSource: cuda.h, cuCtxDestroy."),
    "culv_d3d10_register": (culv_result, (("device", c_void_p), ("resource", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'The same for Direct3D 10. `device` comes from culv_device_open_for_d3d10(). The reference does\nnot forbid resources that were created as shared: the driver decides.\nErrors: as culv_d3d11_register().\nOwnership: as culv_d3d11_register().\nThreads: where you call Direct3D.\nSource: CUDA driver API reference, cuGraphicsD3D10RegisterResource.'),
    "culv_d3d11_attach": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Attaches an ID3D11Device to the culv_device of the same adapter.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; DEVICE_MISMATCH: it is another adapter),\nUNSUPPORTED (NOT_BUILT: not Windows), DRIVER, OUT_OF_MEMORY.\nOwnership: Culvert takes a COM reference. *out is yours; give it to culv_d3d11_detach().\nThreads: any.'),
    "culv_d3d11_buffer_create": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a buffer of D3D11_USAGE_DEFAULT, imports it into CUDA and maps it: all or nothing.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,\nNOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d11_buffer_resource": (c_void_p, (("buffer", c_void_p), ),
        "The ID3D11Buffer, as a resource. NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d11_detach": (None, (("d3d11", c_void_p), ),
        "Gives the attachment up and sets *d3d11 to NULL. What was made with it lives on, and keeps it\nand the ID3D11Device. NULL, or a pointer to NULL, is a no-op.\nOwnership: *d3d11 is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_d3d11_device_lost": (culv_result, (("d3d11", c_void_p), ),
        'Tells Culvert that the ID3D11Device is removed, as a call of your own answered. CUDA waits for\nits fences no more, and no destroy of its objects waits for it: culv_vk_device_lost() says more.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT: not Windows).\nOwnership: none; destroy what you made with the attachment, then call culv_d3d11_detach().\nThreads: any.\nSource: ID3D11Device::GetDeviceRemovedReason.'),
    "culv_d3d11_export_dup": (culv_result, (("d3d11", c_void_p), ("object", c_void_p), ("name", c_void_p), ("out", c_void_p), ),
        "A shared handle of a texture, a buffer or a fence, for another process or library. `object` is\nany of its COM interfaces. An NT handle where the object has one, with `name` if that is not\nNULL; otherwise the resource's KMT handle, which has no name and keeps nothing alive.\nErrors: INVALID (NULL_ARGUMENT; VALUE: another object has the name, or `name` is given for a KMT\nhandle; HANDLE_KIND; NOT_EXPORTABLE: the object was created without its flag), UNSUPPORTED\n(NOT_BUILT; NOT_EXPORTABLE: the device makes no shared handles, as a wrapper does), DRIVER, ASYNC\n(the device is removed).\nOwnership: *out is yours, for culv_handle_close(), which does nothing to a KMT handle.\nThreads: any.\nSource: IDXGIResource1::CreateSharedHandle, IDXGIResource::GetSharedHandle,\nID3D11Fence::CreateSharedHandle."),
    "culv_d3d11_image_create": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a texture, imports it into CUDA and maps it: all or nothing.\nErrors: as culv_d3d11_image_map() and culv_d3d11_buffer_create().\nOwnership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d11_image_map": (culv_result, (("d3d11", c_void_p), ("memory", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Maps a texture of the import: extents, layers, levels, format and CUDA\'s flags come from the\nresource.\nErrors: INVALID (NULL_ARGUMENT; FORMAT: a TYPELESS resource without a `format`, or one that is\nnot of its family; EXTENT: no cube; RANGE; DEDICATED), UNSUPPORTED (FORMAT: no CUDA array has it;\nUSAGE: a multisampled texture, a buffer; NOT_BUILT), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_image_unmap(); it keeps the import alive.\nThreads: any.\nSource: CUDA Programming Guide, "Mapping Mipmapped Arrays onto Imported Memory Objects".'),
    "culv_d3d11_image_resource": (c_void_p, (("image", c_void_p), ),
        "The ID3D11Texture2D, as a resource. NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d11_keyed_mutex_import": (culv_result, (("d3d11", c_void_p), ("resource", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        'Imports the keyed mutex of your texture or buffer, which was created with\nD3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX. `label` may be NULL.\n\nOn the Direct3D side compare what IDXGIKeyedMutex::AcquireSync() returns with S_OK: WAIT_TIMEOUT\nand WAIT_ABANDONED pass SUCCEEDED().\nErrors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE: it has no keyed mutex), UNSUPPORTED (NOT_BUILT,\nNOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the resource stays yours. *out is yours, for culv_keyed_mutex_destroy().\nThreads: any.\nSource: CUDA Programming Guide, "Importing Synchronization Objects" (Direct3D 11).'),
    "culv_d3d11_memory_import": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports your texture or buffer into CUDA. Map buffers by culv_buffer_map(), textures by\nculv_d3d11_image_map(). CUDA may use a resource with a keyed mutex while it holds that\n(culv_d3d11_keyed_mutex_import()).\nErrors: INVALID (NULL_ARGUMENT, NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER\n(also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the resource stays yours. *out is yours, for culv_memory_destroy().\nThreads: any.\nSource: cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE and _KMT.'),
    "culv_d3d11_memory_import_shared": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "The same, but one import for all who ask for the same object, counted.\nErrors: as culv_d3d11_memory_import().\nOwnership: each *out is yours, for culv_memory_destroy(). The object must live until you have\ngiven up the import and what you mapped of it: its address may be another one's afterwards.\nTensors (culv_buffer_get_dlpack()) do not count.\nThreads: any."),
    "culv_d3d11_register": (culv_result, (("device", c_void_p), ("resource", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Registers a buffer or a texture of Direct3D 11. desc may be NULL. A resource is registered once\nin a CUDA context. A texture with D3D11_RESOURCE_MISC_TEXTURECUBE is a cube, or an array of them.\n\n`device` is the CUDA device of the same adapter (culv_device_open_for_d3d11() in\nculvert/d3d11.h). No attachment is needed.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: no such access, or CUDA would write an\nIMMUTABLE resource; DEVICE_MISMATCH: another adapter's, WARP's or REF's), UNSUPPORTED (FORMAT;\nUSAGE: a back buffer, depth, multisampled, shared, D3D11_USAGE_STAGING; DRIVER_TOO_OLD: the CUDA\ndriver has no such function; NOT_BUILT: not Windows), DRIVER (the message explains what the\ndriver's codes mean here), ASYNC, OUT_OF_MEMORY.\nOwnership: the resource stays yours, and CUDA holds a COM reference. *out is yours, for\nculv_registration_destroy(); it keeps the culv_device alive.\nThreads: where you call Direct3D.\nSource: CUDA driver API reference, cuGraphicsD3D11RegisterResource; that it refuses multisampled\nand staging resources is Culvert's reading, the reference says nothing of them."),
    "culv_d3d11_semaphore_create": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a shared fence and imports it into CUDA: all or nothing. `desc` may be NULL.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT;\nNOT_EXPORTABLE: also a device without ID3D11Device5, which Windows 10 1703 has), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d11_semaphore_fence": (c_void_p, (("semaphore", c_void_p), ),
        "The fence, for ID3D11DeviceContext4::Signal() and Wait(). Culvert does not see that Signal():\nreport its value by culv_semaphore_mark_value(). Direct3D 11 queues it like a draw: call Flush()\nafter it, before CUDA waits for the value. NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any.\nSource: ID3D11DeviceContext::Flush."),
    "culv_d3d11_semaphore_import": (culv_result, (("d3d11", c_void_p), ("fence", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        'Imports your fence, which was created with D3D11_FENCE_FLAG_SHARED, as a timeline. Its present\nvalue becomes the one that signals must exceed. `label` may be NULL.\n\nThe Guide calls a wait before its signal illegal: submit the signal first where you can.\nErrors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER\n(also HANDLE_REFUSED), ASYNC (the device is removed), OUT_OF_MEMORY.\nOwnership: the fence stays yours; Culvert holds a reference of its own until the semaphore has\ngone. *out is yours, for culv_semaphore_destroy().\nThreads: any.\nSource: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE.'),
    "culv_d3d11_shadow_copies": (c_uint64, (("shadow", c_void_p), ),
        'How many copies were recorded. 0 for NULL.\nThreads: any.'),
    "culv_d3d11_shadow_create": (culv_result, (("d3d11", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a texture like yours that is shared with CUDA. Nothing is copied by itself: call\nculv_d3d11_shadow_record(). The log says that there is a copy (a warning).\nErrors: as culv_d3d11_image_create(); INVALID (USAGE: no 2D texture; DEVICE_MISMATCH: the texture\nis of another device).\nOwnership: Culvert takes a COM reference of yours. *out is yours, for\nculv_d3d11_shadow_destroy().\nThreads: any.'),
    "culv_d3d11_shadow_destroy": (None, (("shadow", c_void_p), ),
        "Destroys the twin, releases Culvert's reference of your texture, and sets *shadow to NULL.\nDirect3D's use of the twin must be over. CUDA's should be, as for culv_shared_image_destroy().\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *shadow is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_d3d11_shadow_image": (c_void_p, (("shadow", c_void_p), ),
        "The twin. NULL for NULL.\nOwnership: the shadow's, which destroys it; culv_shared_image_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_d3d11_shadow_record": (culv_result, (("shadow", c_void_p), ("context", c_void_p), ("from_twin", c_uint32), ),
        "Records a copy of all layers by a context of the texture's device, immediate or deferred: to the\ntwin, for CUDA to read; or, with `from_twin`, back into the first level of your texture. A fence\nthat CUDA waits for is signaled after it, and Flush() is called then.\nErrors: INVALID (NULL_ARGUMENT; DEVICE_MISMATCH: the context is another device's), UNSUPPORTED\n(NOT_BUILT).\nOwnership: the context stays yours. The shadow must live until the GPU has run the copy.\nThreads: the context's.\nSource: ID3D11DeviceContext::CopySubresourceRegion."),
    "culv_d3d12_attach": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Attaches an ID3D12Device to the culv_device of the same adapter.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; DEVICE_MISMATCH: it is another adapter;\nDEVICE_GROUP: linked nodes), UNSUPPORTED (NOT_BUILT: not Windows), OUT_OF_MEMORY.\nOwnership: Culvert takes a COM reference. *out is yours; give it to culv_d3d12_detach().\nThreads: any.'),
    "culv_d3d12_buffer_create": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a committed buffer in a shared DEFAULT heap, in the state COMMON, imports it into CUDA and\nmaps it: all or nothing. Its contents are zeros, as Direct3D makes them.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,\nNOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d12_buffer_resource": (c_void_p, (("buffer", c_void_p), ),
        "The resource of the buffer. NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d12_cig_create": (culv_result, (("d3d12", c_void_p), ("queue", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        "Makes a CIG context beside a queue of Direct3D 12. The label may be NULL; it is copied (up to 63\nbytes). The context is not current on the calling thread afterwards.\nErrors: INVALID (NULL_ARGUMENT; DEVICE_MISMATCH: the queue is another ID3D12Device's),\nUNSUPPORTED (NOT_BUILT: not Windows; DRIVER_TOO_OLD; CIG: the device lacks it), DRIVER (CIG),\nASYNC, OUT_OF_MEMORY.\nOwnership: the queue stays yours and must outlive *out. *out is yours; give it to\nculv_cig_destroy().\nThreads: any.\nSource: cuda.h, cuCtxCreate_v4, CIG_DATA_TYPE_D3D12_COMMAND_QUEUE."),
    "culv_d3d12_detach": (None, (("d3d12", c_void_p), ),
        "Gives the attachment up and sets *d3d12 to NULL. What was made with it lives on, and keeps it\nand the ID3D12Device. NULL, or a pointer to NULL, is a no-op.\nOwnership: *d3d12 is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_d3d12_device_lost": (culv_result, (("d3d12", c_void_p), ),
        'Tells Culvert that the ID3D12Device is removed, as a call of your own answered. The rings of the\nattachment stop, CUDA waits for its fences no more, and no destroy of its objects waits for it:\nculv_vk_device_lost() says more.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT: not Windows).\nOwnership: none; destroy what you made with the attachment, then call culv_d3d12_detach().\nThreads: any.\nSource: ID3D12Device::GetDeviceRemovedReason.'),
    "culv_d3d12_export_dup": (culv_result, (("d3d12", c_void_p), ("object", c_void_p), ("name", c_void_p), ("out", c_void_p), ),
        'A new shared NT handle of a heap, a committed resource or a fence, for another process or\nlibrary. `name` may be NULL.\nErrors: INVALID (NULL_ARGUMENT; VALUE: another object has the name; NOT_EXPORTABLE: the object\nwas created without its SHARED flag, or is a placed resource), UNSUPPORTED (NOT_BUILT;\nNOT_EXPORTABLE: the device makes no shared handles, as a wrapper does), DRIVER\n(ID3D12Device::CreateSharedHandle failed), ASYNC (the device is removed).\nOwnership: *out is yours, for culv_handle_close().\nThreads: any.\nSource: ID3D12Device::CreateSharedHandle.'),
    "culv_d3d12_get_allocation_size": (culv_result, (("d3d12", c_void_p), ("resource", c_void_p), ("out", c_void_p), ),
        "Bytes that CUDA must be told of a committed resource\n(ID3D12Device::GetResourceAllocationInfo, SizeInBytes), for imports by a handle or a name. A\nbuffer's Width is less.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT).\nThreads: any."),
    "culv_d3d12_heap_from_vmm": (culv_result, (("d3d12", c_void_p), ("allocation", c_void_p), ("out", c_void_p), ),
        "Opens a VMM allocation in device or host memory as an ID3D12Heap. The heap is as large as the\nallocation. Place buffers in it at multiples of D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT (64\nKiB). CUDA reads and writes them where the allocation is mapped (culv_vmm_map()). The order of\ntextures is the driver's own, and CUDA cannot map them from this side: for textures use\nculv_d3d12_image_create().\nErrors: INVALID (NULL_ARGUMENT; USAGE: a tile pool or a multicast object; NOT_EXPORTABLE: the\nallocation was not made for export as OPAQUE_WIN32, or is an import; DEVICE_MISMATCH: it lies on\nanother GPU), UNSUPPORTED (NOT_BUILT; HANDLE_REFUSED: this Direct3D does not open such a handle),\nDRIVER (HANDLE_REFUSED; SIZE: the heap that came is smaller), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for Release(). It keeps the memory alive, also when the allocation is\ndestroyed.\nThreads: any.\nSource: cuda.h, cuMemExportToShareableHandle; ID3D12Device::OpenSharedHandle."),
    "culv_d3d12_image_create": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a committed texture in a shared DEFAULT heap, in the state COMMON, imports it into CUDA\nand maps it: all or nothing.\nErrors: as culv_d3d12_image_map() and culv_d3d12_buffer_create().\nOwnership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d12_image_map": (culv_result, (("d3d12", c_void_p), ("memory", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Maps a texture of the import: extents, layers, levels, format and CUDA\'s flags come from the\nresource. CUDA uses it while its state is D3D12_RESOURCE_STATE_COMMON.\nErrors: INVALID (NULL_ARGUMENT; FORMAT: a TYPELESS resource without a `format`, or one that is\nnot of its family; EXTENT: no cube; RANGE: an offset, or the resource is another one than the one\nwhose memory was imported, which memory of a heap or of a handle cannot tell; DEDICATED),\nUNSUPPORTED (FORMAT: no CUDA array has it;\nUSAGE: a multisampled texture, a buffer, a row-major layout; NOT_BUILT), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: *out is yours, for culv_image_unmap(); it keeps the import alive.\nThreads: any.\nSource: CUDA Programming Guide, "Mapping Mipmapped Arrays onto Imported Memory Objects".'),
    "culv_d3d12_image_resource": (c_void_p, (("image", c_void_p), ),
        "The resource of the texture. NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d12_memory_import": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports your heap or committed resource into CUDA. The size and the dedicated flag come from the\nobject. Map buffers by culv_buffer_map(), textures by culv_d3d12_image_map().\nErrors: INVALID (NULL_ARGUMENT; VALUE: both or neither are given; NOT_EXPORTABLE), UNSUPPORTED\n(NOT_BUILT, NOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the object stays yours. *out is yours, for culv_memory_destroy().\nThreads: any.\nSource: cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP and _D3D12_RESOURCE;\nID3D12Device::GetResourceAllocationInfo.'),
    "culv_d3d12_memory_import_shared": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "The same, but one import for all who ask for the same object, counted.\nErrors: as culv_d3d12_memory_import().\nOwnership: each *out is yours, for culv_memory_destroy(). The object must live until you have\ngiven up the import and what you mapped of it: its address may be another one's afterwards.\nTensors (culv_buffer_get_dlpack()) do not count.\nThreads: any."),
    "culv_d3d12_ring_acquire": (culv_result, (("ring", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        "Does what culv_ring_acquire() does, for Direct3D's side, and with SIGNAL_FIRST waits until CUDA\nhas reached out->wait_value.\nErrors: as culv_ring_acquire().\nOwnership: as there.\nThreads: one at a time for the side."),
    "culv_d3d12_ring_buffer": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "A buffer of a slot. NULL when the resource is a texture, and when the slot or resource does not\nexist.\nOwnership: the ring's, which culv_shared_buffer_destroy() refuses (OWNED), or yours when you\npassed it in.\nThreads: any."),
    "culv_d3d12_ring_core": (c_void_p, (("ring", c_void_p), ),
        "The ring, for CUDA's side (culv_ring_acquire_on(), culv_ring_release_on()) and for\nculv_ring_configure(), _drain(), _get_stats(), and culv_ring_cancel() of either side. NULL for\nNULL.\nOwnership: the ring's: culv_ring_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_d3d12_ring_create": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a ring: all or nothing.\nErrors: as culv_ring_create(), culv_d3d12_image_create(), culv_d3d12_buffer_create() and\nculv_d3d12_semaphore_create(); INVALID (VALUE: one texture or buffer for several slots).\nOwnership: *out is yours, for culv_d3d12_ring_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d12_ring_destroy": (None, (("ring", c_void_p), ),
        "Gives up the ring and all that it made, and sets *ring to NULL. NULL, or a pointer to NULL, is a\nno-op. Direct3D's work on it must be over, or its device removed; CUDA's should be over\n(culv_ring_drain()): see culv_shared_image_destroy(). CUDA's work that waits for a signal of\nDirect3D's side which was never queued, for example of a frame that culv_d3d12_ring_release()\ngave back, is freed first: Culvert waits a second for the signal and then makes it. The call then\nwaits for all of CUDA's work.\nOwnership: *ring is Culvert's again.\nThreads: any, after the last call of either side."),
    "culv_d3d12_ring_destroy_after": (None, (("ring", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_d3d12_ring_destroy(), but does not wait for CUDA's work: what the ring\nmade goes as by culv_shared_buffer_destroy_after() with `last_use`.\nOwnership: *ring is Culvert's again.\nThreads: any, after the last call of either side."),
    "culv_d3d12_ring_fence": (c_void_p, (("ring", c_void_p), ("side", c_int), ),
        "The fence of a side, for waits of your own: a queue's Wait(), GetCompletedValue() and\nSetEventOnCompletion(), at any time. Signal it only with the values that\nculv_d3d12_ring_release() hands out, in their order: never the fence of CUDA's side, and never\nbeside culv_d3d12_ring_submit(), which signals.\nErrors: none; NULL for NULL.\nOwnership: the ring's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d12_ring_flush": (culv_result, (("ring", c_void_p), ("queue", c_void_p), ),
        'Submits the frames that culv_d3d12_ring_submit() keeps of a burst that is not full, and signals.\nIt ends a burst of culv_d3d12_ring_release(), too.\nErrors: as culv_d3d12_ring_submit().\nThreads: one at a time for the side.'),
    "culv_d3d12_ring_image": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "A texture of a slot. NULL when the resource is a buffer, and when the slot or resource does not\nexist.\nOwnership: the ring's, which culv_shared_image_destroy() refuses (OWNED), or yours when you\npassed it in.\nThreads: any."),
    "culv_d3d12_ring_release": (culv_result, (("ring", c_void_p), ("frame", c_void_p), ),
        "Does what culv_ring_release() does, for Direct3D's side. Call it right before you submit: the\nqueue's Wait() for frame->wait_value of CUDA's fence, the command lists, the Signal() of\nframe->signal_value of Direct3D's fence. A value of 0 is none.\nErrors: as culv_ring_release().\nOwnership: as there.\nThreads: one at a time for the side."),
    "culv_d3d12_ring_submit": (culv_result, (("ring", c_void_p), ("queue", c_void_p), ("list", c_void_p), ("frame", c_void_p), ),
        "Releases the frame and submits its command list: the queue waits, executes and signals. You must\nhave closed the list, which Direct3D does not tell, and its type must be the queue's.\n\nThe slot's textures must be in the state COMMON when the list begins and when it ends. Buffers\nare: they promote from COMMON at their first use and decay to it after the list.\n\nIn a burst, Culvert keeps the lists and executes them together with the burst's last frame, on\nthe queue of that call. The call sets frame->signal_value: 0 within a burst, where nothing is\nsignaled yet, else what the queue signals. Do not mix kept frames of a burst with\nculv_d3d12_ring_release(), culv_ring_release() and culv_ring_flush() (RING_ORDER). After an error\nof the queue's Wait() nothing is submitted and the side still holds the frame; its Signal() fails\nwhen the device is removed.\nErrors: as culv_d3d12_ring_release(); INVALID (VALUE: a list of another type than the queue's),\nDRIVER, ASYNC (DEVICE_LOST).\nOwnership: the command list stays yours and must live until the GPU has run it.\nThreads: one at a time for the side.\nSource: ID3D12CommandQueue::Wait, ID3D12CommandQueue::ExecuteCommandLists; Direct3D 12, implicit\nstate transitions."),
    "culv_d3d12_semaphore_create": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a shared fence and imports it into CUDA: all or nothing. `desc` may be NULL.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,\nNOT_EXPORTABLE; PEER where no fallback is left), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.\nThreads: any.'),
    "culv_d3d12_semaphore_fence": (c_void_p, (("semaphore", c_void_p), ),
        "The fence, for ID3D12CommandQueue::Signal() and Wait(). Culvert does not see that Signal():\nreport its value by culv_semaphore_mark_value(). NULL for NULL.\nOwnership: Culvert's; AddRef() it to keep it longer.\nThreads: any."),
    "culv_d3d12_semaphore_import": (culv_result, (("d3d12", c_void_p), ("fence", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        "Imports your fence, which was created with D3D12_FENCE_FLAG_SHARED, as a timeline. Its present\nvalue becomes the one that signals must exceed. Culvert sees what a queue signaled later once the\nqueue got there: report it before by culv_semaphore_mark_value(). `label` may be NULL.\n\nA stream may wait for a value before its signal is submitted, as for Vulkan's timelines. The CUDA\nProgramming Guide calls that illegal for all semaphores, so it is tried only on Vulkan: submit\nthe signal first where you can.\nErrors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER\n(also HANDLE_REFUSED), ASYNC (the device is removed), OUT_OF_MEMORY.\nOwnership: the fence stays yours; Culvert holds a reference of its own until the semaphore has\ngone. *out is yours, for culv_semaphore_destroy().\nThreads: any.\nSource: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE."),
    "culv_d3d12_shadow_copies": (c_uint64, (("shadow", c_void_p), ),
        'How many copies were recorded. 0 for NULL.\nThreads: any.'),
    "culv_d3d12_shadow_create": (culv_result, (("d3d12", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a texture like yours that is shared with CUDA. Nothing is copied by itself: record the\ncopies with culv_d3d12_shadow_record(). The log says that there is a copy (a warning).\nErrors: as culv_d3d12_image_create().\nOwnership: Culvert takes a COM reference of yours. *out is yours, for\nculv_d3d12_shadow_destroy().\nThreads: any.'),
    "culv_d3d12_shadow_destroy": (None, (("shadow", c_void_p), ),
        "Destroys the twin, releases Culvert's reference of your texture, and sets *shadow to NULL.\nDirect3D's use of the twin must be over. CUDA's should be, as for culv_shared_image_destroy().\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *shadow is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_d3d12_shadow_image": (c_void_p, (("shadow", c_void_p), ),
        "The twin. NULL for NULL.\nOwnership: the shadow's, which destroys it; culv_shared_image_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_d3d12_shadow_record": (culv_result, (("shadow", c_void_p), ("list", c_void_p), ("state", c_uint32), ("from_twin", c_uint32), ),
        "Records a copy of all of it into a command list of yours that is being recorded: to the twin,\nfor CUDA to read; or, with `from_twin`, back into your texture. `state` is the\nD3D12_RESOURCE_STATES of your texture before and after. The twin is in the state COMMON before\nand after.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT).\nOwnership: the list stays yours. The shadow must live until the GPU has run it.\nThreads: the command list's.\nSource: ID3D12GraphicsCommandList::CopyResource."),
    "culv_d3d12_vector_view_create": (culv_result, (("d3d12", c_void_p), ("vector", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes Direct3D's view of a vector, with a heap and a buffer for each chunk that it has. The\nchunks must be exportable as OPAQUE_WIN32. Draw and dispatch once for each. A vector with\n`min_chunk` or `growth_percent` has few large chunks. `desc` may be NULL.\nErrors: as culv_d3d12_heap_from_vmm(); INVALID (STRUCT_SIZE).\nOwnership: *out is yours; give it to culv_vector_view_destroy(), before or after the vector\ngoes.\nThreads: any, but not during a call that changes the vector."),
    "culv_d3d12_vector_view_get_buffers": (culv_result, (("view", c_void_p), ("parts", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        "Lists the buffers by offset. Writes up to `capacity` of them into parts (NULL when capacity is\n0), and sets *count to the number of buffers.\nErrors: INVALID (NULL_ARGUMENT; VALUE: the view is another API's).\nOwnership: the buffers are Culvert's, valid until an update drops them.\nThreads: one at a time."),
    "culv_d3d9_get_device": (culv_result, (("adapter_name", c_char_p), ("ordinal", c_void_p), ),
        'The same for an adapter by its name: D3DADAPTER_IDENTIFIER9::DeviceName, or what\nEnumDisplayDevices() tells, as "\\\\.\\DISPLAY1".\nErrors: as culv_d3d_get_device().\nThreads: any.\nSource: CUDA driver API reference, cuD3D9GetDevice.'),
    "culv_d3d9_register": (culv_result, (("device", c_void_p), ("resource", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'The same for Direct3D 9: an IDirect3DVertexBuffer9, IDirect3DIndexBuffer9, IDirect3DTexture9,\nIDirect3DCubeTexture9, IDirect3DVolumeTexture9, or an IDirect3DSurface9 that stands alone.\n`device` comes from culv_device_open_for_d3d9().\nErrors: as culv_d3d11_register(), and UNSUPPORTED (USAGE: the device is no IDirect3DDevice9Ex, no\nHAL device, or processes vertices in software; another pool than D3DPOOL_DEFAULT; a level or a\nface of a texture).\nOwnership: as culv_d3d11_register().\nThreads: where you call Direct3D.\nSource: CUDA driver API reference, cuGraphicsD3D9RegisterResource; CUDA Programming Guide,\n"Direct3D Interoperability".'),
    "culv_d3d_get_device": (culv_result, (("adapter", c_void_p), ("ordinal", c_void_p), ),
        "The CUDA device of an adapter, by the driver's own match, as an ordinal for\nculv_device_open_by_ordinal(). culv_device_open_for_dxgi() (culvert/d3d12.h) matches by the LUID.\nErrors: INVALID (NULL_ARGUMENT), NO_DEVICE (DEVICE_UNKNOWN: the adapter is none of CUDA's),\nUNSUPPORTED (DRIVER_TOO_OLD, NOT_BUILT), DRIVER.\nOwnership: the adapter stays yours.\nThreads: any.\nSource: CUDA driver API reference, cuD3D11GetDevice."),
    "culv_d3d_get_devices": (culv_result, (("device", c_void_p), ("list", c_int), ("capacity", c_uint32), ("ordinals", c_void_p), ("count", c_void_p), ),
        'The CUDA devices that a device of Direct3D draws with, as ordinals for\nculv_device_open_by_ordinal(). `device` is an ID3D11Device, ID3D10Device or IDirect3DDevice9. At\nmost `capacity` of them are written to `ordinals`; *count is how many there are. With linked GPUs\nthat draw frames in turns, a resource is registered once for each.\nErrors: INVALID (NULL_ARGUMENT; VALUE: no such list, or no such device), NO_DEVICE\n(DEVICE_UNKNOWN: CUDA does not have one of the GPUs), UNSUPPORTED (DRIVER_TOO_OLD, NOT_BUILT),\nDRIVER.\nOwnership: the device stays yours.\nThreads: any.\nSource: CUDA driver API reference, cuD3D11GetDevices, cuD3D10GetDevices and cuD3D9GetDevices.'),
    "culv_device_close": (None, (("device", c_void_p), ),
        "Gives the device up and sets *device to NULL. NULL, or a pointer to NULL, is a no-op. Objects\nmade from the device live on and keep what they need. The call that destroys the last of them\nwaits for the GPU work of all deferred objects.\nOwnership: *device is Culvert's again.\nThreads: any."),
    "culv_device_collect": (c_uint64, (("device", c_void_p), ),
        'Releases the objects that the ..._after() calls deferred and that the GPU no longer uses.\nReturns how many objects are still deferred; 0 for NULL. The ..._after() calls never release\nanything themselves, because the driver may wait while it releases. A program that destroys\nobjects only by those calls must call this now and then, at a time when a wait does no harm\n(between scenes, after a resize, once a second). Otherwise it holds their memory until the device\nis gone.\nThreads: any.\nSource: measured, docs/measured/nvidia-measured.md: cuMemFree of a mapping,\ncuMipmappedArrayDestroy and cuDestroyExternalSemaphore wait for the context.'),
    "culv_device_context": (c_void_p, (("device", c_void_p), ),
        "The CUDA context that Culvert uses. Make it current (cuCtxSetCurrent) before you launch kernels\non its streams. Culvert's own calls need no current context and leave the caller's context as it\nwas. NULL for NULL.\nOwnership: Culvert's, or the caller's when culv_device_desc::context named it.\nThreads: any."),
    "culv_device_cuda_api": (c_void_p, (("device", c_void_p), ),
        "The driver's functions, with the legacy default stream as stream 0. The first call asks the\ndriver for each of them; later calls only return the table. NULL for NULL.\nOwnership: Culvert's, valid until the device and all objects made from it are gone.\nThreads: any."),
    "culv_device_cuda_api_per_thread": (c_void_p, (("device", c_void_p), ),
        "The same functions, with the calling thread's own default stream as stream 0. cuda.h gives these\nto a program that defines CUDA_API_PER_THREAD_DEFAULT_STREAM. NULL for NULL.\nOwnership: Culvert's, valid until the device and all objects made from it are gone.\nThreads: any.\nSource: cuda.h, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM."),
    "culv_device_cuda_proc": (c_void_p, (("device", c_void_p), ("name", c_char_p), ("version", c_int), ),
        'A function of the SAME driver that serves the device (NVIDIA\'s or the twin\'s). As in\ncuGetProcAddress, `name` has no suffix, and `version` is the CUDA version whose form you want:\n("cuMemAlloc", 3020). Cast the result to the matching PFN_ type of cudaTypedefs.h. NULL when the\ndriver lacks it.\nErrors: none; NULL when the driver lacks it.\nOwnership: a function of the driver, valid while the device is open.\nThreads: any.'),
    "culv_device_get_caps": (culv_result, (("device", c_void_p), ("out", c_void_p), ),
        'Fills *out with what the device can do, up to out->struct_size.\nErrors: INVALID.\nOwnership: a copy, yours.\nThreads: any.'),
    "culv_device_get_counts": (culv_result, (("device", c_void_p), ("out", c_void_p), ),
        'Fills *out with the numbers of live objects. The call first releases the deferred objects that\nare due. The driver then waits for other CUDA work of the context.\nErrors: INVALID.\nOwnership: a copy, yours.\nThreads: any.'),
    "culv_device_open_by_luid": (culv_result, (("luid", c_void_p), ("node_mask", c_uint32), ("desc", c_void_p), ("out", c_void_p), ),
        'Opens the CUDA device with this LUID and node. A Direct3D program knows its GPU by them.\nnode_mask has one bit, that of the node (1 << node index). It is 1 when\nID3D12Device::GetNodeCount() is 1, and for Direct3D 11. desc may be NULL.\nErrors: INVALID (NULL_ARGUMENT; VALUE: an all-zero LUID, or node_mask 0; DEVICE_GROUP: several\nnodes); NO_DEVICE with every CUDA device named and what it has instead (DEVICE_UNKNOWN;\nDEVICE_GROUP: another node of that adapter); UNSUPPORTED without a usable driver; DRIVER; ASYNC;\nOUT_OF_MEMORY.\nOwnership: *out is yours, for culv_device_close().\nThreads: any.\nSource: cuda.h, cuDeviceGetLuid, which only Windows has; CUDA programming guide, "Matching\ndevice LUIDs".'),
    "culv_device_open_by_ordinal": (culv_result, (("ordinal", c_int32), ("desc", c_void_p), ("out", c_void_p), ),
        "Opens the CUDA device with this ordinal. The numbering is NVIDIA's (CUDA_VISIBLE_DEVICES\napplies). It is the software twin's when desc->driver is CULV_DRIVER_SOFT, and when desc->driver\nis AUTO, there is no NVIDIA driver and the twin is allowed. desc may be NULL.\nErrors: INVALID; NO_DEVICE; UNSUPPORTED; DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_device_close().\nThreads: any."),
    "culv_device_open_by_uuid": (culv_result, (("uuid", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Opens the CUDA device with this UUID. desc may be NULL. A Vulkan program calls\nculv_device_open_for_vk() instead, because its error messages know the graphics side too.\nErrors: INVALID; NO_DEVICE, whose message names every CUDA device; UNSUPPORTED without a usable\ndriver; DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_device_close().\nThreads: any.\nSource: CUDA programming guide, "Matching device UUIDs"; cuDeviceGetUuid_v2, which gives a MIG\nslice its own UUID.'),
    "culv_device_open_for_d3d10": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Opens the CUDA device that is the adapter of an ID3D10Device, by the adapter's LUID. `desc` may\nbe NULL. culv_device_open_for_d3d11() (culvert/d3d11.h) does it for an ID3D11Device.\nErrors: INVALID (NULL_ARGUMENT), NO_DEVICE (the message names every CUDA device with its LUID),\nUNSUPPORTED (NOT_BUILT: not Windows), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the ID3D10Device stays yours. *out is yours; give it to culv_device_close().\nThreads: any."),
    "culv_device_open_for_d3d11": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Opens the CUDA device that is the adapter of an ID3D11Device. It finds it by the adapter's LUID.\n`desc` may be NULL. culv_device_open_for_dxgi() (culvert/d3d12.h) takes an adapter.\nErrors: INVALID (NULL_ARGUMENT), NO_DEVICE (the message names every CUDA device with its LUID),\nUNSUPPORTED (NOT_BUILT: not Windows), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the ID3D11Device stays yours. *out is yours; give it to culv_device_close().\nThreads: any.\nSource: IDXGIDevice::GetAdapter, DXGI_ADAPTER_DESC::AdapterLuid; cuda.h, cuDeviceGetLuid."),
    "culv_device_open_for_d3d12": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Opens the CUDA device that is the adapter of an ID3D12Device. It finds it by the adapter's LUID.\n`desc` may be NULL.\nErrors: INVALID (NULL_ARGUMENT; DEVICE_GROUP: the device has several linked nodes), NO_DEVICE\n(the message names every CUDA device with its LUID), UNSUPPORTED (NOT_BUILT: not Windows),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the ID3D12Device stays yours. *out is yours; give it to culv_device_close().\nThreads: any.\nSource: ID3D12Device::GetAdapterLuid; cuda.h, cuDeviceGetLuid."),
    "culv_device_open_for_d3d9": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'The same for an IDirect3DDevice9, which must be an IDirect3DDevice9Ex.\nErrors: as culv_device_open_for_d3d10(), and UNSUPPORTED (USAGE: it is no IDirect3DDevice9Ex).\nOwnership: the device stays yours. *out is yours; give it to culv_device_close().\nThreads: any.\nSource: IDirect3D9Ex::GetAdapterLUID.'),
    "culv_device_open_for_dxgi": (culv_result, (("adapter", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Opens the CUDA device that is a DXGI adapter, before a Direct3D device of it exists. `desc` may\nbe NULL.\nErrors: as culv_device_open_for_d3d12(), but linked nodes are not seen here.\nOwnership: the adapter stays yours. *out is yours; give it to culv_device_close().\nThreads: any.\nSource: DXGI_ADAPTER_DESC::AdapterLuid.'),
    "culv_device_open_for_gl": (culv_result, (("desc", c_void_p), ("device_desc", c_void_p), ("out", c_void_p), ),
        "Opens the CUDA device that draws the current context. It finds it by UUID (GL_DEVICE_UUID_EXT),\nor, where OpenGL tells none, by cuGLGetDevices and EGL_NV_device_cuda. Both descriptors may be\nNULL. Of `desc` only get_proc_address is read.\nErrors: INVALID (CONTEXT: no context is current), NO_DEVICE (the message names every device of\nboth sides and the likely cause, and culv_gl_check_context() says what to do), UNSUPPORTED\n(EXTENSION_MISSING: nothing tells which GPU the context is), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_device_close().\nThreads: the context's."),
    "culv_device_open_for_vk": (culv_result, (("get_instance_proc_addr", c_void_p), ("instance", c_void_p), ("physical_device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Opens the CUDA device that is this physical device. It finds it by UUID. desc may be NULL.\nErrors: INVALID, NO_DEVICE (the message names every device of both sides and the likely cause),\nUNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_device_close().\nThreads: any.'),
    "culv_dlpack_describe_image": (culv_result, (("layout", c_void_p), ("channels", c_uint32), ("desc", c_void_p), ("shape", c_void_p), ("strides", c_void_p), ),
        'Describes a level of a LINEAR image as a tensor of (slices or layers,) rows, columns and\nchannels. `layout` is that of culv_vk_image_map_pitched(). `channels` elements of desc->type are\none texel; with 1 the last dimension is left out. Sets desc->ndim, desc->shape and desc->strides,\nwhich point into `shape` and `strides`.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the elements are not as large as a texel, a\nblock has several texels, the image has both slices and layers, or a pitch is not a multiple of\nthe element).\nOwnership: the arrays are yours, of 4 numbers each.\nThreads: any.'),
    "culv_dlpack_get_range": (culv_result, (("tensor", c_void_p), ("pointer", c_void_p), ("size", c_void_p), ),
        "Gets the bytes that a tensor of anybody's covers: from the first byte of its first element to\nthe last byte of its last one, in memory's order. For culv_vmm_adopt().\nErrors: INVALID (NULL_ARGUMENT; VALUE: no such tensor can be; SIZE: it has no elements, or it\noverflows).\nThreads: any."),
    "culv_dlpack_hand_over": (culv_result, (("device", c_void_p), ("producer", c_void_p), ("consumer", c_int64), ),
        "Makes a consumer's stream wait for what has been submitted to `producer` so far. `consumer` is\na CUstream as a number, or a culv_dlpack_stream. Call it before you hand the tensor out, and once\nmore, the other way round, when the consumer's work goes back to your stream. The software twin's\ntensors are CPU's, so their consumers need CULV_DLPACK_STREAM_HOST.\nErrors: INVALID (NULL_ARGUMENT; VALUE: 0, which the array API forbids for CUDA; STREAM_DEVICE:\n`producer` is another device's; CAPTURE: one of the two is being captured, or is the legacy\nstream and waits for one that is, and they are not of one capture, which goes on), DRIVER\n(DRIVER_REFUSED), ASYNC.\nThreads: any.\nSource: Python array API, __dlpack__."),
    "culv_dlpack_to_unversioned": (culv_result, (("tensor", c_void_p), ("out", c_void_p), ),
        "Makes the form without a version of a tensor of Culvert's, for consumers that take no other. It\nis the same tensor, and *tensor becomes NULL.\nErrors: INVALID (NULL_ARGUMENT; VALUE: a tensor of somebody else's; USAGE: a read-only tensor,\nbecause this form cannot say so). The tensor is then as it was.\nOwnership: *out is yours in place of *tensor.\nThreads: any, ordered with other uses of the tensor."),
    "culv_dma_buf_export_dup": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ("flags", c_uint64), ("out", c_void_p), ),
        "Exports memory that CUDA allocated on this device (cuMemAlloc, cuMemMap) as a Linux dma-buf.\nPass it to culv_vk_memory_from_handle() or to any driver that takes dma-bufs.\n\n`pointer` and `size` (in bytes) must be multiples of the host's page size. The range must lie in\nmemory of one device, with the same properties throughout. `flags` is 0 or CULV_DMA_BUF_PCIE. The\ndma-buf names the pages that are mapped now: after you map the range again, export it anew.\nImported memory (culv_buffer_pointer()) and managed memory cannot be exported.\nErrors: INVALID (NULL_ARGUMENT, VALUE, SIZE, RANGE; NOT_EXPORTABLE: managed memory;\nDEVICE_MISMATCH; OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: this system or device\nmakes no dma-bufs, or none over PCI Express; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE), ASYNC,\nOUT_OF_MEMORY.\nOwnership: each call makes a new *out, which you close with culv_handle_close(). It keeps the\nmemory alive.\nThreads: any.\nSource: cuda.h, cuMemGetHandleForAddressRange; measured, docs/measured/nvidia-measured.md."),
    "culv_drm_format_get_info": (culv_result, (("fourcc", c_uint32), ("out", c_void_p), ),
        'Says what a DRM format is. docs/dma-buf.md has the list.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not in the list).\nOwnership: *out is yours.\nThreads: any.\nSource: drm_fourcc.h.'),
    "culv_format_from_cuda": (culv_result, (("cuda_array_format", c_uint32), ("channels", c_uint32), ("out", c_void_p), ("capacity", c_uint32), ("count", c_void_p), ),
        "Lists the formats that CUDA maps as this CUarray_format with so many channels, in the STORED or\nthe NORMALIZED form. The best come first: formats whose channels are in the order red, green,\nblue, alpha, then formats with as many channels as the array, then by culv_texel_kind, then by\nnumber. CUDA's sRGB block formats (BC1_UNORM_SRGB ...) lead to the sRGB formats, although Culvert\nmaps those without them.\n\nWrites up to `capacity` of them into out (NULL when capacity is 0), and sets *count to the number\nof formats. It is not an error when there is no such format.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the copies are yours.\nThreads: any."),
    "culv_format_from_dxgi": (c_int, (("dxgi_format", c_uint32), ),
        "Returns the format that a DXGI_FORMAT is, mapped or not. Returns CULV_FORMAT_NONE for those that\nVulkan lacks: typeless formats (ask for the view's format), formats of one aspect of two\n(R24_UNORM_X8_TYPELESS ...), R1, A8, B8G8R8X8, XR_BIAS, R8G8_B8G8, G8R8_G8B8, and all video\nformats except NV12, P010, P016, P208, YUY2, Y210 and Y216.\nThreads: any.\nSource: dxgiformat.h."),
    "culv_format_from_gl": (c_int, (("internal_format", c_uint32), ),
        'Returns the format that a sized internal format of OpenGL is, mapped or not. Returns\nCULV_FORMAT_NONE for unsized formats and for those that Vulkan lacks: alpha, luminance and\nintensity, R3_G3_B2, RGB4, RGB5, RGB10, RGB12, RGBA2, RGBA12, DEPTH_COMPONENT32, STENCIL_INDEX1,\n4 and 16.\nThreads: any.\nSource: OpenGL 4.6, "Sized Internal Formats".'),
    "culv_format_get_info": (culv_result, (("format", c_int), ("out", c_void_p), ),
        'Fills *out with what a format is, as far as out->struct_size reaches. A format that CUDA cannot\nmap is not an error: see mapped, reason and reason_text.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (FORMAT: not a format of Vulkan 1.3).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_format_get_plane": (culv_result, (("format", c_int), ("plane", c_uint32), ("out", c_void_p), ("width_divisor", c_void_p), ("height_divisor", c_void_p), ),
        'Gets the format of one plane of a format, and the divisors of its width and height. Plane 1 of\nNV12 (G8_B8R8_2PLANE_420_UNORM) is R8G8_UNORM, at half the width and half the height. Plane 0 of\na format with one plane is the format itself. Each output may be NULL.\nErrors: INVALID (VALUE: the format lacks that plane), UNSUPPORTED (FORMAT: not a format of Vulkan\n1.3).\nThreads: any.\nSource: Vulkan specification, "Compatible Formats of Planes of Multi-Planar Formats".'),
    "culv_gl_add_context": (culv_result, (("gl", c_void_p), ),
        "Adds the context that is current on this thread to the attachment: one that shares its objects\n(the share_context of eglCreateContext, wglShareLists and the like). So a thread of its own for\nCUDA can register, create and destroy. Adding one twice does nothing. There may be 16.\nErrors: INVALID (NULL_ARGUMENT; CONTEXT: none is current, or it does not share objects with the\nattached one; VALUE: too many).\nOwnership: the context stays yours.\nThreads: the added context's. The attached context must have been current since culv_gl_attach()\non some thread: what it made then is looked for here."),
    "culv_gl_attach": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Attaches the context that is current on this thread to the culv_device of the same GPU. `desc`\nmay be NULL.\nErrors: INVALID (CONTEXT: none is current; DEVICE_MISMATCH: it is another GPU's; VALUE),\nUNSUPPORTED (EXTENSION_MISSING: the context has no direct state access, or does not tell which\nGPU it is), DRIVER, OUT_OF_MEMORY.\nOwnership: the context stays yours. *out is yours; give it to culv_gl_detach().\nThreads: the context's."),
    "culv_gl_buffer_create": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a GL buffer with exportable memory of its own, imports the memory into CUDA and maps it:\nall or nothing. With `fallback`, where sharing is impossible, either side has memory of its own,\nwith copies in between (culv_buffer_sharing() tells). The buffer's contents are undefined.\n\nIt is immutable: glNamedBufferData() and glMapNamedBufferRange() fail on it, as\nGL_EXT_memory_object says of such buffers.\nErrors: INVALID (CONTEXT, SIZE, VALUE; DEVICE_MISMATCH: the context is another GPU's, and there\nis no `fallback`), UNSUPPORTED (EXTENSION_MISSING, NOT_EXPORTABLE; PEER where no fallback is\nleft), DRIVER (a call of OpenGL, Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.\nThreads: the context's.\nSource: GL_EXT_memory_object, GL_EXT_memory_object_fd."),
    "culv_gl_buffer_download": (culv_result, (("buffer", c_void_p), ),
        "HOST path: brings the GL buffer to where culv_buffer_download() reads from. It waits until\nOpenGL's earlier work is done. On all other paths it does nothing.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT), DRIVER.\nThreads: the context's."),
    "culv_gl_buffer_name": (c_uint32, (("buffer", c_void_p), ),
        "The name of the GL buffer. Bind it and read it as your own, but never delete it. 0 for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_gl_buffer_upload": (culv_result, (("buffer", c_void_p), ),
        "HOST path (culvert/fallback.h): brings what culv_buffer_upload() sent into the GL buffer. On all\nother paths it does nothing. Call culv_gl_semaphore_wait() for CUDA's upload before; the thread\nwaits here until the context has finished its commands (glFinish).\nErrors: INVALID (NULL_ARGUMENT, CONTEXT), DRIVER.\nThreads: the context's."),
    "culv_gl_check_context": (culv_result, (("desc", c_void_p), ("device", c_void_p), ("out", c_void_p), ),
        "Examines the context that is current on this thread. It makes nothing, registers nothing, opens\nno CUDA context, and creates no VkDevice. `desc` may be NULL; its get_proc_address is used.\n`device` may be NULL: otherwise the report says whether it is the context's.\n\nA machine where nothing works is not an error: *out says why.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), OUT_OF_MEMORY.\nOwnership: the copy is yours.\nThreads: the context's."),
    "culv_gl_detach": (None, (("gl", c_void_p), ),
        "Gives the attachment up and sets *gl to NULL. What was made with it lives on, and keeps it.\nNULL, or a pointer to NULL, is a no-op. It makes no OpenGL call and needs no context.\nOwnership: *gl is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_gl_get_offsets_honored": (culv_result, (("gl", c_void_p), ("out", c_void_p), ),
        "Finds out, with data, whether the driver honours offsets into memory objects (see\nculv_gl_memory_bind_buffer()). The first call of an attachment makes two small buffers; the\nanswer is kept.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT), UNSUPPORTED (EXTENSION_MISSING, NOT_EXPORTABLE),\nDRIVER, OUT_OF_MEMORY.\nThreads: the context's."),
    "culv_gl_image_create": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a GL texture with exportable memory of its own, imports the memory into CUDA and maps it:\nall or nothing. With `fallback`, where sharing is impossible, CUDA has arrays (or linear memory)\nof its own, with copies in between (culv_image_sharing() tells). The texture's contents are\nundefined.\nErrors: INVALID (CONTEXT, VALUE, EXTENT; DEVICE_MISMATCH: the context is another GPU's, and there\nis no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, EXTENSION_MISSING, NOT_EXPORTABLE; USAGE: a\ntarget that cannot be shared; PEER where no fallback is left), DRIVER (a call of OpenGL, Vulkan\nor CUDA failed), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.\nThreads: the context's.\nSource: GL_EXT_memory_object; VkExternalImageFormatProperties."),
    "culv_gl_image_download": (culv_result, (("image", c_void_p), ),
        "Like culv_gl_buffer_download(), for all levels and layers of a texture.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT), DRIVER.\nThreads: the context's."),
    "culv_gl_image_name": (c_uint32, (("image", c_void_p), ),
        "The name of the GL texture. Bind it, view it and attach it to framebuffers as your own, but\nnever delete it. 0 for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_gl_image_target": (c_uint32, (("image", c_void_p), ),
        "The texture's target, a GLenum. 0 for NULL.\nThreads: any."),
    "culv_gl_image_upload": (culv_result, (("image", c_void_p), ),
        "Like culv_gl_buffer_upload(), for all levels and layers of a texture.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT), DRIVER.\nThreads: the context's."),
    "culv_gl_is_current": (c_uint32, (("gl", c_void_p), ),
        'Whether a context of the attachment is current on this thread, so that calls that need one\nwork. 0 for NULL.\nThreads: any.'),
    "culv_gl_lose_contexts": (None, (("gl", c_void_p), ),
        "Tells Culvert that every context of the attachment is destroyed, or lost\n(GL_CONTEXT_LOST). Its objects went with it. From here on what you made with the attachment can\nbe destroyed on any thread, without a context, and Culvert makes no OpenGL call for it. Nothing\nnew can be made. NULL is a no-op.\n\nRings of the attachment stop (RING_STOPPED), as by culv_ring_stop(). CUDA signals the timelines\nthat a stream was told to wait for in OpenGL's place; what such a stream then reads is not valid.\nThreads: any, also while threads of CUDA's wait in a ring; ordered with other calls on the\nattachment."),
    "culv_gl_memory_bind_buffer": (culv_result, (("memory", c_void_p), ("buffer", c_uint32), ("offset", c_uint64), ("size", c_uint64), ),
        "Gives a GL buffer of yours (glCreateBuffers, without storage yet) `size` bytes of the memory\nfrom `offset` on, by glNamedBufferStorageMemEXT(). The buffer becomes immutable.\n\nMesa's software renderer ignores the offset in silence: such a buffer would show the memory's\nbeginning. Culvert tries that once for each attachment, with data, and refuses other offsets than\n0 there. That renderer also needs 48 bytes behind a buffer: allocate 64 more than you use.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT, SIZE, RANGE; VALUE: it is no buffer's name, or has\nstorage), UNSUPPORTED (RANGE: the driver ignores offsets), DRIVER, OUT_OF_MEMORY.\nOwnership: the buffer is yours. Delete it before the memory.\nThreads: the context's."),
    "culv_gl_memory_bind_texture": (culv_result, (("memory", c_void_p), ("texture", c_uint32), ("desc", c_void_p), ("linear", c_uint32), ("offset", c_uint64), ),
        "Gives a GL texture of yours (glCreateTextures, without storage yet) its storage in the memory\nfrom `offset` on, by glTextureStorageMem..EXT(). `desc` says what the texture is, and what the\nVkImage on the same memory was, if there is one. Its texels, no_surfaces, label and fallback are\nnot read. `linear` is GL_LINEAR_TILING_EXT in place of GL_OPTIMAL_TILING_EXT.\nErrors: INVALID (NULL_ARGUMENT, CONTEXT, EXTENT; RANGE: the memory is too small for the texels;\nVALUE: it is no texture's name, or has storage), UNSUPPORTED (RANGE: the driver ignores offsets;\nTILING: it has no linear tiling; FORMAT; USAGE: the target), DRIVER, OUT_OF_MEMORY.\nOwnership: the texture is yours. Delete it before the memory.\nThreads: the context's."),
    "culv_gl_memory_destroy": (culv_result, (("memory", c_void_p), ),
        "Deletes the GL memory object and sets *memory to NULL. Delete what lies in it first: old\nversions of Mesa crash otherwise. NULL, or a pointer to NULL, is a no-op.\nErrors: INVALID (CONTEXT: nothing is done and *memory stays).\nOwnership: *memory is Culvert's again, unless the call failed.\nThreads: the context's, ordered with other calls on this object."),
    "culv_gl_memory_from_vmm": (culv_result, (("gl", c_void_p), ("allocation", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        "Makes a GL memory object of a VMM allocation, which must be exportable and lie on the context's\nGPU. CUDA has the memory wherever the allocation is mapped.\nErrors: as culv_vmm_export_dup() and culv_gl_memory_import(); INVALID (DEVICE_MISMATCH;\nNOT_EXPORTABLE: the allocation was not made for export).\nOwnership: *out is yours, for culv_gl_memory_destroy(). It keeps the memory alive even when the\nallocation is destroyed.\nThreads: the context's.\nSource: cuda.h, cuMemExportToShareableHandle; GL_EXT_memory_object_fd."),
    "culv_gl_memory_import": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a GL memory object of the memory that a handle names. CUDA's half is\nculv_memory_import_borrow() of the same handle (culvert/memory.h).\nErrors: INVALID (NULL_ARGUMENT, CONTEXT, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,\nDEVICE_MISMATCH), UNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER (HANDLE_REFUSED),\nOUT_OF_MEMORY.\nOwnership: the handle is borrowed. *out is yours, for culv_gl_memory_destroy().\nThreads: the context's.\nSource: GL_EXT_memory_object_fd, GL_EXT_memory_object_win32."),
    "culv_gl_memory_name": (c_uint32, (("memory", c_void_p), ),
        "The name of the GL memory object. 0 for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_gl_readback_create": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a pixel buffer object and registers it, READ_ONLY. cuGraphicsGLRegisterImage takes no\ndepth and no multisampled image, but cuGraphicsGLRegisterBuffer takes any buffer.\nErrors: as culv_gl_register_buffer(), and INVALID (EXTENT, VALUE).\nOwnership: *out is yours, for culv_gl_readback_destroy(); it keeps the attachment alive.\nThreads: the context's."),
    "culv_gl_readback_destroy": (culv_result, (("readback", c_void_p), ),
        "Gives the readback up and sets *readback to NULL. NULL, or a pointer to NULL, is a no-op.\nErrors: as culv_registration_destroy().\nOwnership: *readback is Culvert's again, unless the call failed.\nThreads: the context's, ordered with other calls on this object."),
    "culv_gl_readback_read": (culv_result, (("readback", c_void_p), ("framebuffer", c_uint32), ("x", c_int32), ("y", c_int32), ),
        "Reads width x height pixels at (x, y) of a framebuffer of yours into the buffer, on the GPU. The\nbuffer must not be mapped. A multisampled framebuffer is resolved first. `framebuffer` 0 is the\ndefault one. Then map culv_gl_readback_registration(), and CUDA has the pixels: rows without\npadding.\nErrors: INVALID (NULL_ARGUMENT; CONTEXT; MAPPED), DRIVER (OpenGL refused: the framebuffer lacks\nsuch an attachment, or it is multisampled in another format than internal_format).\nThreads: the context's, ordered with other calls on this object."),
    "culv_gl_readback_registration": (c_void_p, (("readback", c_void_p), ),
        "The buffer, for culv_registration_map(). NULL for NULL.\nOwnership: the readback's; culv_registration_destroy() refuses it.\nThreads: any."),
    "culv_gl_register_buffer": (culv_result, (("gl", c_void_p), ("buffer", c_uint32), ("desc", c_void_p), ("out", c_void_p), ),
        "Registers a GL buffer of yours. desc may be NULL. Give it storage first, and register it again\nafter each glBufferData() that changes its size.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE: no such buffer, or an access that\nthere is not; SIZE: it has no storage; DEVICE_MISMATCH: the context is another GPU's),\nUNSUPPORTED (DRIVER_TOO_OLD: the CUDA driver has no OpenGL), DRIVER (the message explains what\nthe driver's 219, 304 and 999 mean here), ASYNC, OUT_OF_MEMORY.\nOwnership: the buffer stays yours; do not delete it before culv_registration_destroy(). *out is\nyours, for culv_registration_destroy(); it keeps the attachment alive.\nThreads: the context's.\nSource: cudaGL.h, cuGraphicsGLRegisterBuffer."),
    "culv_gl_register_image": (culv_result, (("gl", c_void_p), ("name", c_uint32), ("target", c_uint32), ("desc", c_void_p), ("out", c_void_p), ),
        'Registers a texture or a renderbuffer of yours. desc may be NULL. `target` is GL_TEXTURE_2D,\nGL_TEXTURE_RECTANGLE, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY or GL_RENDERBUFFER,\nthat of the object. Allocate its storage first. If the texture is mutable, allocate every level\nthat CUDA will use.\n\nRegister a texture before you ask for its bindless handle (glGetTextureHandleARB,\nglGetImageHandleARB).\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE: no such object, another target than\nthe object\'s; SIZE: it has no storage; DEVICE_MISMATCH), UNSUPPORTED (FORMAT; USAGE: the target,\nmultisampling, a bindless handle that there is already; DRIVER_TOO_OLD), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: as culv_gl_register_buffer().\nThreads: the context\'s.\nSource: cudaGL.h, cuGraphicsGLRegisterImage; CUDA Programming Guide, "OpenGL Interoperability".'),
    "culv_gl_ring_acquire": (culv_result, (("ring", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        "OpenGL's turn: does what culv_ring_acquire() does, and OpenGL's later commands of this context\nwait for CUDA's work. Where the wait is on the CPU, `timeout` is for it as well, and the call\ngives the slot back when it ends (RING_LATE). In the way STAGED a consumer's data are brought\ninto the GL objects. After an error nothing is acquired.\nErrors: as culv_ring_acquire(), culv_gl_semaphore_wait() and culv_gl_buffer_upload().\nOwnership: the slot is yours until culv_gl_ring_release() or culv_ring_cancel().\nThreads: the context's, one at a time for the side."),
    "culv_gl_ring_buffer": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "CUDA's side of a slot's buffer, whichever way it came. NULL when the resource is an image, and\nwhen the slot or resource does not exist.\nOwnership: the ring's, or that of your object.\nThreads: any."),
    "culv_gl_ring_core": (c_void_p, (("ring", c_void_p), ),
        "The ring as every ring is. CUDA's side is culv_ring_acquire_on(), culv_ring_release_on(),\nculv_ring_flush_on() and culv_ring_cancel() of it, in each way:\n\n  MEMORY    the stream waits for OpenGL's use of the slot, and signals.\n  REGISTER  acquire maps the objects of a whole burst, and the release or the cancel that ends\n            it unmaps them. Their thread needs a context of the attachment, and so does\n            culv_ring_drain()'s. They have culv_registration_map()'s errors too.\n  STAGED    a consumer's acquire brings the data to CUDA's memory, and a producer's release\n            brings them to the host. They have the errors of culv_buffer_download() and\n            culv_buffer_upload() too.\n\nculv_ring_acquire(), culv_ring_release() and culv_ring_flush() have no stream, so CUDA's side has\nthem only with MEMORY (RING_SIDE). culv_ring_release() and culv_ring_flush() refuse OpenGL's side\n(RING_SIDE). OpenGL's side calls culv_ring_cancel() itself. Only MEMORY can be forced (NO_FORCE).\nNULL for NULL.\nOwnership: the ring's: culv_ring_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_gl_ring_create": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a ring: all or nothing. The log (level INFO) says which way it took, and why not the ones\nbefore.\nErrors: as culv_ring_create(), culv_gl_buffer_create(), culv_gl_image_create(),\nculv_gl_register_buffer(), culv_gl_register_image() and culv_gl_semaphore_create(). Where several\nways were refused, the result and the reason are the first one's, and the message names them all.\nINVALID (VALUE: objects of yours that do not go together, or not with `way`; MAPPED: a\nregistration is mapped).\nOwnership: *out is yours, for culv_gl_ring_destroy(); it keeps the attachment alive.\nThreads: the context's."),
    "culv_gl_ring_destroy": (culv_result, (("ring", c_void_p), ),
        "Gives up the ring and all that it made, and sets *ring to NULL. NULL, or a pointer to NULL, is a\nno-op. CUDA's work on it should be over (culv_ring_drain()): see culv_shared_buffer_destroy().\nWhat is still mapped is unmapped.\nErrors: INVALID (CONTEXT: no context of the attachment is current on this thread; nothing is done\nand *ring stays), DRIVER (the driver refused; *ring stays, try again).\nOwnership: *ring is Culvert's again, unless the call failed.\nThreads: the context's, after the last call of either side."),
    "culv_gl_ring_flush": (culv_result, (("ring", c_void_p), ),
        'OpenGL ends a burst before it is full: does what culv_ring_flush() does, and signals.\nErrors: as culv_gl_ring_release().\nThreads: as culv_gl_ring_acquire().'),
    "culv_gl_ring_image": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "CUDA's side of a slot's texture, whichever way it came. In the way REGISTER its arrays, surfaces\nand textures last from an acquire to the release: ask again in each frame. NULL when the resource\nis a buffer, and when the slot or resource does not exist.\nOwnership: the ring's, or that of your object.\nThreads: any."),
    "culv_gl_ring_name": (c_uint32, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "OpenGL's name of a slot's buffer, texture or renderbuffer. 0 when the slot or the resource does\nnot exist.\nOwnership: the ring's, or yours when you passed it in: never delete it before the ring.\nThreads: any."),
    "culv_gl_ring_pointer": (c_uint64, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "The first byte of a slot's buffer in CUDA. In the way REGISTER it lasts from an acquire to the\nrelease, and may be another one after the next. 0 while CUDA does not have the slot in that way,\nwhen the resource is an image, and when the slot or resource does not exist.\nOwnership: as culv_gl_ring_buffer().\nThreads: any; with REGISTER those of CUDA's side."),
    "culv_gl_ring_refusals": (c_char_p, (("ring", c_void_p), ),
        'Why the ways before were refused: a line for each, which ends with \'\\n\'. "" where the first one\nworks, and for NULL.\nOwnership: the ring owns the text; it is valid until the ring is destroyed.\nThreads: any.'),
    "culv_gl_ring_release": (culv_result, (("ring", c_void_p), ("frame", c_void_p), ),
        "OpenGL hands the slot over, after its earlier commands of this context. In the way STAGED a\nproducer's data are read back first, which waits for OpenGL. After an error the side still holds\nthe frame.\nErrors: as culv_ring_release(), culv_gl_semaphore_signal() and culv_gl_buffer_download().\nOwnership: the slot is CUDA's.\nThreads: as culv_gl_ring_acquire()."),
    "culv_gl_ring_waits_on_host": (c_uint32, (("ring", c_void_p), ),
        "Whether OpenGL's two calls wait on the CPU for CUDA's work or for OpenGL's own: with\nMEMORY without GL_EXT_semaphore or GL_NV_timeline_semaphore, and with STAGED. 0 for NULL.\nThreads: any."),
    "culv_gl_ring_way": (c_int, (("ring", c_void_p), ),
        "The way that the ring took: MEMORY, REGISTER or STAGED. With CULV_FALLBACK_PEER, MEMORY may be\nanother GPU's (culv_buffer_sharing() tells). NONE for NULL.\nThreads: any."),
    "culv_gl_semaphore_create": (culv_result, (("gl", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes an exportable semaphore and imports it into OpenGL and CUDA: all or nothing. desc may be\nNULL for a timeline at 0. With `fallback`, where sharing is impossible, CUDA signals and waits in\nanother way (culv_semaphore_sharing() tells).\nErrors: INVALID (CONTEXT, VALUE; DEVICE_MISMATCH: the context is another GPU's, and `fallback` is\nnot set), UNSUPPORTED (EXTENSION_MISSING: a binary one without GL_EXT_semaphore; NOT_EXPORTABLE;\nPEER), DRIVER (a call of OpenGL, Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.\nThreads: the context's.\nSource: GL_EXT_semaphore, GL_NV_timeline_semaphore."),
    "culv_gl_semaphore_name": (c_uint32, (("semaphore", c_void_p), ),
        "The name of the GL semaphore, for calls of your own. 0 for NULL, and where OpenGL has no such\nsemaphores.\nOwnership: Culvert's.\nThreads: any."),
    "culv_gl_semaphore_signal": (culv_result, (("semaphore", c_void_p), ("value", c_uint64), ("uses", c_void_p), ),
        "OpenGL signals, after all of its earlier commands of this context, and hands `uses` (may be\nNULL) over. `value`: of a timeline, more than all values before, also those that CUDA was told to\nsignal and has not signaled yet, unless CUDA waits for `value` first; 0 of a binary semaphore.\nThe call flushes. Where it waits on the CPU (see above), it returns when OpenGL has finished.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; TIMELINE_BACKWARDS; DOUBLE_SIGNAL),\nDRIVER.\nThreads: the context's, ordered with other calls on this object by OpenGL's side."),
    "culv_gl_semaphore_wait": (culv_result, (("semaphore", c_void_p), ("value", c_uint64), ("timeout", c_uint64), ("uses", c_void_p), ),
        'OpenGL\'s later commands of this context wait for the value (of a binary semaphore: for the\nsignal, `value` is 0), and get `uses` (may be NULL) from the other side. A binary semaphore\'s\nsignal must have been submitted before.\n\nWhere it waits on the CPU (see above), the call returns when the value is there, or after\n`timeout` nanoseconds with TIMEOUT (0: it only asks; CULV_GL_FOREVER: a value that nobody ever\nsignals blocks it for good). A TIMEOUT leaves everything as it was, and the call can be repeated.\nWhere the GPU waits, the call returns at once whatever the timeout, and a value that nobody\nsignals keeps the GPU from OpenGL\'s later commands: put a fence behind them (glFenceSync) and\nwait for that with a timeout before a call that waits without one (glFinish, glReadPixels).\ndocs/ipc.md, "When a side ends", has both waits of a viewer whose solver may die.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, VALUE; WAIT_BEFORE_SIGNAL), TIMEOUT\n(NOT_READY), DRIVER.\nThreads: the context\'s, ordered with other calls on this object by OpenGL\'s side.'),
    "culv_gl_semaphore_waits_on_host": (c_uint32, (("semaphore", c_void_p), ),
        "Whether OpenGL's signals and waits of it happen on the CPU inside Culvert's calls. 0 for NULL.\nThreads: any."),
    "culv_gl_vector_view_create": (culv_result, (("gl", c_void_p), ("vector", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        "Makes OpenGL's view of a vector and imports the chunks that it has. The chunks must be\nexportable as OPAQUE_FD (on Windows OPAQUE_WIN32). A vector with `min_chunk` or `growth_percent`\nhas few large chunks; draw and dispatch once for each.\nErrors: as culv_gl_memory_from_vmm() and culv_gl_memory_bind_buffer().\nOwnership: *out is yours, for culv_vector_view_destroy(), before or after the vector goes.\nThreads: the context's, but not during a call that changes the vector."),
    "culv_gl_vector_view_get_buffers": (culv_result, (("view", c_void_p), ("parts", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        "Lists the buffers by offset. Writes up to `capacity` of them into parts (NULL when capacity is\n0), and sets *count to the number of buffers.\nErrors: INVALID (NULL_ARGUMENT; VALUE: the view is another API's).\nOwnership: the buffers are Culvert's, valid until an update drops them.\nThreads: one at a time."),
    "culv_gl_way_name": (c_char_p, (("way", c_int), ),
        'The name of a way: "MEMORY".\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_graph_add_signal": (culv_result, (("graph", c_void_p), ("dependencies", c_void_p), ("num_dependencies", c_size_t), ("points", c_void_p), ("count", c_uint32), ("out", c_void_p), ),
        'Adds a node to a graph that signals timelines after its dependencies. The values are those of\nthe first launch. Set the next ones with culv_graph_exec_set_signal() before each launch: a value\nthat is launched twice would move the timeline back or not at all, and the driver does not report\nit. The graph does not keep the semaphores alive: they must outlive the graph and everything made\nfrom it.\nErrors: INVALID (NULL_ARGUMENT; VALUE: count is 0 or more than CULV_SEMAPHORE_BATCH_MAX, or a\nsemaphore is binary: a graph that runs many times would signal it many times for one wait;\nDEVICE_MISMATCH; TIMELINE_BACKWARDS), UNSUPPORTED (CAPTURE: a relayed semaphore of a fallback),\nDRIVER, ASYNC.\nOwnership: the graph owns *out.\nThreads: any, one at a time for each graph.\nSource: cuda.h, cuGraphAddExternalSemaphoresSignalNode.'),
    "culv_graph_add_wait": (culv_result, (("graph", c_void_p), ("dependencies", c_void_p), ("num_dependencies", c_size_t), ("points", c_void_p), ("count", c_uint32), ("out", c_void_p), ),
        'Adds a node to a graph that waits for timelines. A value may be signaled after the launch.\nErrors: as culv_graph_add_signal().\nOwnership: the graph owns *out.\nThreads: any, one at a time for each graph.\nSource: cuda.h, cuGraphAddExternalSemaphoresWaitNode.'),
    "culv_graph_exec_set_signal": (culv_result, (("exec", c_void_p), ("node", c_void_p), ("points", c_void_p), ("count", c_uint32), ),
        "Sets the values of a signal node for the next launches. Launches that were already submitted\nkeep their values. The node keeps its count and its semaphores: only values change. Culvert notes\nthe values as promised (culv_semaphore_last_value()) and refuses one that does not exceed the\nlast. Find the nodes of a capture with culv_graph_get_semaphore_nodes().\nErrors: INVALID (NULL_ARGUMENT; VALUE: the count or the kind differs from the node's;\nTIMELINE_BACKWARDS), DRIVER, ASYNC.\nThreads: any, one at a time for each graph.\nSource: cuda.h, cuGraphExecExternalSemaphoresSignalNodeSetParams."),
    "culv_graph_exec_set_wait": (culv_result, (("exec", c_void_p), ("node", c_void_p), ("points", c_void_p), ("count", c_uint32), ),
        'Sets the values of a wait node for the next launches.\nErrors: as culv_graph_exec_set_signal(), except TIMELINE_BACKWARDS.\nThreads: any, one at a time for each graph.\nSource: cuda.h, cuGraphExecExternalSemaphoresWaitNodeSetParams.'),
    "culv_graph_get_semaphore_nodes": (culv_result, (("device", c_void_p), ("graph", c_void_p), ("signals", c_void_p), ("num_signals", c_void_p), ("waits", c_void_p), ("num_waits", c_void_p), ),
        'Lists the nodes of a graph that signal external semaphores and those that wait for them, in the\norder of cuGraphGetNodes. The graph may be built by hand or by a capture. Each count says how\nmany elements its array has, and is set to the number of nodes.\nErrors: INVALID (NULL_ARGUMENT), DRIVER, OUT_OF_MEMORY.\nOwnership: the graph owns the nodes.\nThreads: any, one at a time for each graph.'),
    "culv_handle_close": (None, (("handle", c_void_p), ),
        'Closes a handle that you own, such as one from a ..._dup() call, and sets *handle to type\nCULV_HANDLE_NONE. File descriptors are closed with close(), and NT handles with CloseHandle().\nNames, KMT handles and handles of another system are only forgotten. NULL, or a handle of type\nCULV_HANDLE_NONE, is a no-op.\nOwnership: the handle is gone.\nThreads: any.'),
    "culv_handle_dup": (culv_result, (("handle", c_void_p), ("out", c_void_p), ),
        'Makes another handle of the same object. Use it when you need several NT handles of one\nVkDeviceMemory or VkSemaphore: a Vulkan driver hands out only one\n(VUID-VkMemoryGetWin32HandleInfoKHR-handleType-00663). Names and KMT handles own nothing, so\ntheir copy is the same name or number. The text of a name stays yours.\nErrors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS), UNSUPPORTED\n(HANDLE_TYPE).\nOwnership: *handle is borrowed; *out is a new handle, yours to close.\nThreads: any.'),
    "culv_image_download": (culv_result, (("image", c_void_p), ("stream", c_void_p), ),
        'Does the same as culv_buffer_download() for an image: all levels, layers and planes.\nErrors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.\nThreads: any, one at a time for an image.'),
    "culv_image_format": (c_int, (("image", c_void_p), ),
        'The format; CULV_FORMAT_NONE for NULL.\nThreads: any.'),
    "culv_image_get_array": (culv_result, (("image", c_void_p), ("level", c_uint32), ("out", c_void_p), ),
        "The CUDA array of a mip level with all its layers (or slices), for copies (cuMemcpy2D,\ncuMemcpy3D: dstZ is the layer). Culvert asks the driver once and keeps the answer.\nErrors: INVALID (LEVEL), UNSUPPORTED (FORMAT: the image has several planes, each with its own\narray: culv_image_get_plane_array(); or no CUDA array has the format: culvert/fallback.h),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: Culvert's, valid until the image is given up; never destroy it.\nThreads: any.\nSource: cuda.h, cuMipmappedArrayGetLevel."),
    "culv_image_get_desc": (culv_result, (("image", c_void_p), ("out", c_void_p), ),
        'Fills *out with the description of the mapped image. No field is left at a default, and label is\nNULL.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: a copy, yours.\nThreads: any.'),
    "culv_image_get_extent": (culv_result, (("image", c_void_p), ("level", c_uint32), ("width", c_void_p), ("height", c_void_p), ("depth", c_void_p), ),
        "The extent of a mip level in texels: max(1, size >> level); a 1D image's height and a 2D image's\ndepth are 1. Outputs may be NULL.\nErrors: INVALID (LEVEL).\nThreads: any."),
    "culv_image_get_linear_layout": (culv_result, (("image", c_void_p), ("level", c_uint32), ("plane", c_uint32), ("out", c_void_p), ),
        'Fills *out with the place of an image\'s texels in device memory, for a format that no CUDA array\nhas (R32G32B32_SFLOAT, D24_UNORM_S8_UINT ...). Only HOST has such images. Their rows have no\npadding, and level follows level. Culvert refuses arrays, surfaces and textures of them\n(UNSUPPORTED, FORMAT). Depth and stencil are planes 0 and 1, as in vkCmdCopyImageToBuffer (D24 as\n32-bit words).\nErrors: INVALID (LEVEL; USAGE: the image has arrays).\nOwnership: the memory is Culvert\'s, valid until the image is destroyed.\nThreads: any.\nSource: Vulkan specification, "Buffer and Image Addressing".'),
    "culv_image_get_plane_array": (culv_result, (("image", c_void_p), ("plane", c_uint32), ("out", c_void_p), ),
        "The CUDA array of one plane of an image of several planes (NV12: 0 is luma, 1 is chroma at half\nthe size), in the format that culv_format_get_plane() names. For other images plane 0 is\nculv_image_get_array() of level 0.\nErrors: INVALID (LEVEL: no such plane), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: Culvert's, valid until the image is given up; never destroy it.\nThreads: any."),
    "culv_image_get_plane_surface": (culv_result, (("image", c_void_p), ("plane", c_uint32), ("out", c_void_p), ),
        "The surface object of one plane: see culv_image_get_plane_array(). The first call makes it, and\nCulvert keeps it.\nErrors: INVALID (LEVEL: no such plane; USAGE: mapped with no_surfaces), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: Culvert's, valid until the image is given up; never destroy it.\nThreads: any."),
    "culv_image_get_surface": (culv_result, (("image", c_void_p), ("level", c_uint32), ("out", c_void_p), ),
        "The surface object of a mip level with all its layers. Kernels read and write it: surf2Dwrite(),\nsurf2DLayeredwrite(), surfCubemapwrite() ... The first call makes it, and Culvert keeps it.\nErrors: INVALID (LEVEL; USAGE: the image was mapped with no_surfaces, or its format has none),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: Culvert's, valid until the image is given up; never destroy it.\nThreads: any.\nSource: cuda.h, cuSurfObjectCreate."),
    "culv_image_get_texture": (culv_result, (("image", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Returns in *out a texture object of the image with these settings. desc may be NULL for the\ndefault.\n\nThe image keeps the objects that it made. A second call with equal settings returns the same\nobject without asking the driver. Each different setting makes one more object, which lives as\nlong as the image, so do not animate settings.\nErrors: INVALID (LEVEL: a range of levels or layers, or a plane, that the image lacks; VALUE:\nsettings that contradict each other or the format), UNSUPPORTED (LEVEL: a range that CUDA cannot\nview, in blocks, cubes, 1D arrays and NORMALIZED images; unnormalized_coordinates in layers of\nseveral levels), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: Culvert owns the object; it is valid until the image is unmapped; never destroy it.\nThreads: any.\nSource: cuda.h, cuTexObjectCreate.'),
    "culv_image_map": (culv_result, (("memory", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Maps an image of the import. The image must have OPTIMAL tiling: CUDA maps a LINEAR image\nwithout an error and reads wrong texels (measured on an H200). An image of several planes must be\nDISJOINT, with all planes in this import. Vulkan does not tell where the planes of other images\nlie.\nErrors: INVALID (RANGE: also planes that overlap; EXTENT, USAGE, DEDICATED: the image of a\ndedicated allocation lies at offset 0 and is not DISJOINT; D16_UNORM and S8_UINT\n(culv_format_info::dedicated) can only be mapped in a dedicated allocation ...), UNSUPPORTED\n(FORMAT: no CUDA array has it, or this driver's arrays lack it; HANDLE_TYPE: a dma-buf cannot\nhave arrays), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_image_unmap(); it keeps the import alive.\nThreads: any.\nSource: cuda.h, cuExternalMemoryGetMappedMipmappedArray."),
    "culv_image_mip_levels": (c_uint32, (("image", c_void_p), ),
        'The number of mip levels; 0 for NULL.\nThreads: any.'),
    "culv_image_mipmapped_array": (c_void_p, (("image", c_void_p), ),
        "The mipmapped array, valid until the image is given up. Never destroy it. NULL for NULL, for an\nimage of several planes, whose planes have no array in common (the last error says so), for 4:2:2\npairs, and for images that are not shared and have no arrays (culvert/fallback.h). The array of\nan image with several layers and levels may have more levels than the image, because NVIDIA's\ndriver spaces the layers for a whole chain.\nOwnership: Culvert's.\nThreads: any."),
    "culv_image_sharing": (c_int, (("image", c_void_p), ),
        'How CUDA reaches an image; SHARED for NULL.\nThreads: any.'),
    "culv_image_unmap": (culv_result, (("image", c_void_p), ),
        "Gives up the image, its level arrays and its surfaces, and sets *image to NULL. NULL, or a\npointer to NULL, is a no-op. The work that uses the image should be done, as before vkFreeMemory.\nThe driver may wait in this call, as culv_buffer_unmap() describes (measured:\ncuMipmappedArrayDestroy waits for the context). culv_image_unmap_after() does not wait.\nErrors: INVALID (OWNED: Culvert made the image itself (culv_shared_image_cuda()); nothing\nhappens, and the pointer keeps its value).\nOwnership: *image is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_image_unmap_after": (culv_result, (("image", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_image_unmap(), but DEFERS the release and never waits: see\nculv_buffer_unmap_after().\nErrors: as culv_image_unmap().\nOwnership: *image is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_image_upload": (culv_result, (("image", c_void_p), ("stream", c_void_p), ),
        'Does the same as culv_buffer_upload() for an image: all levels, layers and planes.\nErrors: INVALID (STREAM_DEVICE ...), DRIVER, ASYNC.\nThreads: any, one at a time for an image.'),
    "culv_ipc_client_connect": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        'Connects to a server. It waits up to `timeout` nanoseconds for the server to appear and to\nanswer. `device` may be NULL: the client then lists and receives, and imports nothing into CUDA.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), TIMEOUT (IPC_NAME: there is no such server;\nIPC_GONE: it does not answer), UNSUPPORTED (NOT_BUILT; IPC_REFUSED: the server does not admit\nthis process, or is full, or is of a user that is not trusted), ASYNC (IPC_GONE; IPC_PROTOCOL: it\nspeaks another version of the protocol, or none), OUT_OF_MEMORY, DRIVER (OS).\nOwnership: *out is yours; give it to culv_ipc_client_destroy(). It keeps the device open.\nThreads: any.'),
    "culv_ipc_client_connected": (c_uint32, (("client", c_void_p), ),
        'Tells whether the server is still there, without waiting and without asking it.\nErrors: none; 0 for NULL.\nThreads: one at a time.'),
    "culv_ipc_client_destroy": (None, (("client", c_void_p), ),
        "Ends the connection and sets *client to NULL. What was received and imported stays usable. A\nvector keeps what it has and gets no more (IPC_GONE); a consumer has left its ring. NULL, or a\npointer to NULL, is a no-op.\nOwnership: *client is Culvert's again.\nThreads: any, after the last call."),
    "culv_ipc_client_get_offer": (culv_result, (("client", c_void_p), ("index", c_uint32), ("timeout", c_uint64), ("out", c_void_p), ("count", c_void_p), ),
        "Gets the description of the server's offer number `index`, from 0 on. `count` (may be NULL) gets\nhow many there are. With an index that is too high only *count is written.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), TIMEOUT (IPC_GONE: no answer), ASYNC (IPC_GONE: the\nserver has ended; IPC_PROTOCOL: what it sends is no answer).\nOwnership: the copy is yours.\nThreads: one at a time."),
    "culv_ipc_client_receive": (culv_result, (("client", c_void_p), ("name", c_char_p), ("timeout", c_uint64), ("out", c_void_p), ),
        'Receives an offered thing: its description and its handle. A vector comes without handles: see\nculv_ipc_vector_open().\nErrors: as culv_ipc_client_get_offer(); INVALID (IPC_NAME: nothing of that name is offered; OS:\nno handle is left).\nOwnership: *out is yours; give it to culv_ipc_object_destroy().\nThreads: one at a time.'),
    "culv_ipc_client_server_pid": (c_int32, (("client", c_void_p), ),
        'Returns the process id of the server, as the kernel tells it. 0 for NULL.\nThreads: any.'),
    "culv_ipc_consumer_acquire": (culv_result, (("consumer", c_void_p), ("timeout", c_uint64), ("frame", c_void_p), ),
        "Gets a frame to read. It waits up to `timeout` nanoseconds for one. frame->waits[0] is the value\nof `ready` to wait for on the GPU. A side of the newest frame has one slot at a time: it gets\nanother frame when its GPU is done with the last one, which it waits for.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_EMPTY; RING_LATE:\nMAILBOX: this side's GPU is not done with the last frame), ASYNC\n(RING_STOPPED: the producer has ended or closed the ring; IPC_DROPPED: the producer has turned\nthis side away, and runs on; IPC_PROTOCOL: its page makes no sense).\nThreads: one at a time."),
    "culv_ipc_consumer_connected": (c_uint32, (("consumer", c_void_p), ),
        "Tells whether the producer is still there, without waiting. When it is not, the call moves on\nwhat this process's GPU waits for.\nErrors: none; 0 for NULL.\nThreads: one at a time."),
    "culv_ipc_consumer_core": (c_void_p, (("consumer", c_void_p), ),
        "CUDA's side of the consumer, which is that of every ring: culv_ring_acquire_on(),\nculv_ring_release_on(), culv_ring_flush_on() and culv_ring_cancel() for CULV_RING_CONSUMER, and\nculv_ring_drain(), culv_ring_stop() and culv_ring_get_stats(). An acquire makes the stream wait\nfor `ready`, and a release makes it signal `done`. After a cancel the frame comes again, or a\nnewer one where the policy is MAILBOX. culv_ring_drain() waits for this side's GPU.\nculv_ring_stop() ends an acquire that waits, within a quarter of a second; the producer does not\nnotice it.\n\nThey have the errors of culv_ipc_consumer_acquire() and culv_ipc_consumer_release() too; INVALID\n(STREAM_DEVICE, CAPTURE; RING_SIDE: a call without a stream, CULV_RING_PRODUCER, or\nculv_ring_configure()). NULL for NULL, and where the client was connected without a device.\nOwnership: the consumer's: culv_ring_destroy() refuses it (OWNED).\nThreads: any. The calls count as the client's, one thread at a time, but for culv_ring_stop()."),
    "culv_ipc_consumer_destroy": (None, (("consumer", c_void_p), ),
        "Leaves the ring and sets *consumer to NULL. The GPU's work with its frames should be done: the\nproducer takes the slots back at once. What of it still waits for the producer is moved on. What\nCUDA holds is released by a later culv_device_collect(), or with the device. NULL, or a pointer\nto NULL, is a no-op.\nOwnership: *consumer is Culvert's again.\nThreads: one at a time."),
    "culv_ipc_consumer_get_timelines": (culv_result, (("consumer", c_void_p), ("out", c_void_p), ),
        "Gets the timelines that the producer made for this consumer (culv_ipc_ring_desc::make), for a\ngraphics API that waits for `ready` and signals `done` in its own queue. out->signal stays NULL:\nCUDA moves `ready` on when the producer dies. A consumer that uses the calls with a stream needs\nnone of this.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the timelines are counters, or were given to\nculv_ipc_consumer_join()).\nOwnership: the handles stay the consumer's and go with it. Give a driver that takes them a\nduplicate (culv_handle_dup()).\nThreads: one at a time."),
    "culv_ipc_consumer_join": (culv_result, (("client", c_void_p), ("desc", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        'Joins a ring. It gets the frames that are released from now on.\nErrors: as culv_ipc_client_receive() and culv_semaphore_import_borrow(); INVALID (VALUE: it is no\nring, the kinds of timelines do not fit, or the client has no device), UNSUPPORTED (IPC_REFUSED:\nthe ring has as many consumers as it admits; DRIVER_TOO_OLD: no stream memory operations).\nOwnership: *out is yours; give it to culv_ipc_consumer_destroy(), before the client.\nThreads: one at a time.'),
    "culv_ipc_consumer_receive": (culv_result, (("consumer", c_void_p), ("slot", c_uint32), ("part", c_uint32), ("timeout", c_uint64), ("out", c_void_p), ),
        'Receives a part of a slot.\nErrors: as culv_ipc_client_receive(); INVALID (RANGE: there is no such slot or part).\nOwnership: as there.\nThreads: one at a time.'),
    "culv_ipc_consumer_release": (culv_result, (("consumer", c_void_p), ("frame", c_void_p), ),
        'Gives the frame back, and fills frame->signals[0] with the value of `done` to signal. Call it\nright before the submission that signals it: the producer does not write the slot before it\nknows, by culv_ipc_timelines::reached or by a CUDA stream of this process, that `done` is there.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), DRIVER, ASYNC (after these the\nframe is still held).\nThreads: one at a time.'),
    "culv_ipc_consumer_slots": (c_uint32, (("consumer", c_void_p), ("parts", c_void_p), ),
        'Returns the number of slots, and through `parts` (may be NULL) the things in each. 0 for NULL.\nThreads: one at a time.'),
    "culv_ipc_cuda_memory_close": (None, (("memory", c_void_p), ),
        "Closes the memory and sets *memory to NULL. The GPU's work with it should be done. NULL, or a\npointer to NULL, is a no-op.\nOwnership: *memory is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: cuda.h, cuIpcCloseMemHandle."),
    "culv_ipc_cuda_memory_pointer": (c_uint64, (("memory", c_void_p), ),
        "Returns the memory's address in this process. 0 for NULL.\nOwnership: the memory's.\nThreads: any."),
    "culv_ipc_cuda_memory_size": (c_uint64, (("memory", c_void_p), ),
        "Returns the memory's size in bytes, as its owner told it. 0 for NULL.\nThreads: any."),
    "culv_ipc_fetch_dup": (culv_result, (("desc", c_void_p), ("out", c_void_p), ),
        'Makes a handle of what another process has by that number. The other process keeps its own and\ntakes no part in it. The handle is not inherited by programs that this process starts.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_KIND; VALUE: the pid, the users;\nHANDLE_BAD: the other process has no such handle; SIZE; OS: no handle is left), ASYNC (IPC_GONE:\nthe process has ended, or is another one than was meant), UNSUPPORTED (HANDLE_TYPE; IPC_REFUSED:\nthe system does not allow it, or the process is of a user who is not trusted; OS: the kernel is\nolder than Linux 5.6), OUT_OF_MEMORY, DRIVER (OS).\nOwnership: *out is yours; give it to a ..._take() call or to culv_handle_close().\nThreads: any.\nSource: pidfd_getfd(2), ptrace(2); Windows: DuplicateHandle.'),
    "culv_ipc_find_servers": (culv_result, (("directory", c_char_p), ("names", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Finds the servers that programs of this network namespace run, or those with sockets in\n`directory` (culv_ipc_server_desc::directory; NULL: abstract ones). On Windows it finds those of\nthis machine, of all users. `names` gets the first `capacity` of them by name, and *count how\nmany there are. Whether you are admitted is for culv_ipc_client_connect() to find out.\nErrors: INVALID (NULL_ARGUMENT), DRIVER (OS: /proc or the directory cannot be read; Wine lists no\npipes), UNSUPPORTED (NOT_BUILT: a directory on Windows).\nOwnership: the copies are yours.\nThreads: any.\nSource: proc(5), /proc/net/unix; FindFirstFile, which lists named pipes.'),
    "culv_ipc_import_buffer": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received buffer into CUDA, on the client's device.\nErrors: as culv_memory_import_borrow() and culv_buffer_map(); INVALID (VALUE: as above).\nOwnership: *out is yours; give it to culv_buffer_unmap(). It keeps the import alive.\nThreads: any."),
    "culv_ipc_import_cuda_memory": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Opens received memory of cuMemAlloc in the context of the client's device. Two opens of one\nmemory have one address.\nErrors: INVALID (NULL_ARGUMENT; VALUE: the thing is of another kind, or the client has no\ndevice), UNSUPPORTED (DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED: CUDA opens no memory of this same\nprocess, nor what has been freed), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_ipc_cuda_memory_close() before its owner frees it.\nThreads: any.\nSource: cuda.h, cuIpcOpenMemHandle."),
    "culv_ipc_import_event": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Opens a received event in the context of the client's device, for cuStreamWaitEvent,\ncuEventRecord and cuEventQuery.\nErrors: as culv_ipc_import_cuda_memory().\nOwnership: *out is yours; give it to cuEventDestroy.\nThreads: any.\nSource: cuda.h, cuIpcOpenEventHandle."),
    "culv_ipc_import_image": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received image into CUDA, on the client's device.\nErrors: as culv_memory_import_borrow() and culv_image_map(); INVALID (VALUE: as above; TILING).\nOwnership: *out is yours; give it to culv_image_unmap(). It keeps the import alive.\nThreads: any."),
    "culv_ipc_import_pool": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received pool on the client's device.\nErrors: as culv_mem_pool_import_borrow(); INVALID (VALUE: the thing is of another kind, or the\nclient has no device).\nOwnership: *out is yours; give it to culv_mem_pool_destroy().\nThreads: any."),
    "culv_ipc_import_pool_fabric": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received pool of culv_ipc_offer_pool_fabric(), on the client's device.\nErrors: as culv_mem_pool_import_fabric(); INVALID (VALUE: the thing is of another kind, or the\nclient has no device).\nOwnership: *out is yours, for culv_mem_pool_destroy().\nThreads: any."),
    "culv_ipc_import_pool_memory": (culv_result, (("object", c_void_p), ("pool", c_void_p), ("out", c_void_p), ),
        'Imports a received allocation of a pool that was imported.\nErrors: as culv_mem_pool_import_pointer(); INVALID (VALUE: the thing is of another kind).\nOwnership: *out is yours; give it to culv_mem_pool_free() before its owner frees it.\nThreads: any.'),
    "culv_ipc_import_semaphore": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received semaphore into CUDA, on the client's device. A timeline's value is what the\nserver said when it offered it: tell later ones by culv_semaphore_mark_value().\nErrors: as culv_semaphore_import_borrow(); INVALID (VALUE: as above).\nOwnership: *out is yours; give it to culv_semaphore_destroy().\nThreads: any."),
    "culv_ipc_import_vmm": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports a received VMM allocation into CUDA, on the client's device. It may lie on another GPU\nthat the device reaches.\nErrors: as culv_vmm_import_borrow(); INVALID (VALUE: the thing is of another kind, or the client\nhas no device).\nOwnership: *out is yours; give it to culv_vmm_allocation_destroy().\nThreads: any."),
    "culv_ipc_import_vmm_fabric": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        "Imports received memory of culv_ipc_offer_vmm_fabric(), on the client's device.\nErrors: as culv_vmm_import_fabric(); INVALID (VALUE: the thing is of another kind, or the client\nhas no device).\nOwnership: *out is yours, for culv_vmm_allocation_destroy().\nThreads: any."),
    "culv_ipc_object_destroy": (None, (("object", c_void_p), ),
        "Destroys a received thing and sets *object to NULL. What was imported from it stays usable.\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *object is Culvert's again, and its handle is closed.\nThreads: any, ordered with other calls on this object."),
    "culv_ipc_object_get_handle": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        'Gets the handle, for imports by a graphics API (culv_vk_memory_from_handle()).\nErrors: INVALID (NULL_ARGUMENT; HANDLE_TYPE: its kind has none).\nOwnership: the object owns it: never close it.\nThreads: any.'),
    "culv_ipc_object_get_info": (culv_result, (("object", c_void_p), ("out", c_void_p), ),
        'Fills *out with the description.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_ipc_offer": (culv_result, (("server", c_void_p), ("info", c_void_p), ("handle", c_void_p), ),
        'Offers a BUFFER, an IMAGE or a SEMAPHORE by its exported handle (culv_vk_memory_export_dup(),\nculv_vk_semaphore_export_dup(); on Windows also ID3D12Device::CreateSharedHandle()). Names and\nKMT handles are refused: they keep nothing alive.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND; VALUE: the\nmessage names the field and its bounds; SIZE: the file behind the handle is smaller), BUSY\n(IPC_NAME), OUT_OF_MEMORY.\nOwnership: the handle is borrowed; close it whenever you like.\nThreads: one at a time.'),
    "culv_ipc_offer_cuda_memory": (culv_result, (("server", c_void_p), ("pointer", c_uint64), ("info", c_void_p), ),
        'Offers a whole allocation of cuMemAlloc, whose address and size must be multiples of\nCULV_IPC_CUDA_BLOCK: CUDA shares whole blocks, so the other process would get what else lies in\nthe block of a smaller one. Of `info` it reads the name, the text, the size and the elements.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE: not memory of cuMemAlloc, or\nnot whole blocks of it: the message says what to do; DEVICE_MISMATCH), UNSUPPORTED\n(DRIVER_TOO_OLD), BUSY (IPC_NAME), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the memory stays yours. Free it when the other processes have closed it.\nThreads: one at a time.\nSource: cuda.h, cuIpcGetMemHandle.'),
    "culv_ipc_offer_event": (culv_result, (("server", c_void_p), ("event", c_void_p), ("info", c_void_p), ),
        "Offers an event of the server's device, made with CU_EVENT_INTERPROCESS and\nCU_EVENT_DISABLE_TIMING. Of `info` it reads the name and the text. A wait in another process is\nfor the record that was submitted last before it.\nErrors: as culv_ipc_offer_cuda_memory(); INVALID (NOT_EXPORTABLE: not made with those flags).\nOwnership: the event stays yours. Destroy it when the other processes are done with it.\nThreads: one at a time.\nSource: cuda.h, cuIpcGetEventHandle."),
    "culv_ipc_offer_pool": (culv_result, (("server", c_void_p), ("pool", c_void_p), ("info", c_void_p), ),
        'Offers a memory pool that was made for OPAQUE_FD. Of `info` it reads the name and the text.\nErrors: as culv_mem_pool_export_dup(); BUSY (IPC_NAME).\nOwnership: the pool stays yours.\nThreads: one at a time.'),
    "culv_ipc_offer_pool_fabric": (culv_result, (("server", c_void_p), ("pool", c_void_p), ("info", c_void_p), ),
        'Offers a memory pool by its fabric handle: the client gets 64 bytes and no file descriptor. Its\nallocations go by culv_ipc_offer_pool_memory(). Of `info` it reads the name and the text. Where\nculv_mem_pool_handle_types() lacks the bit of CULV_HANDLE_FABRIC, offer it by\nculv_ipc_offer_pool().\nErrors: as culv_mem_pool_export_fabric(); INVALID (STRUCT_SIZE, VALUE), BUSY (IPC_NAME).\nOwnership: the pool stays yours. Keep it until the clients have imported it.\nThreads: one at a time.'),
    "culv_ipc_offer_pool_memory": (culv_result, (("server", c_void_p), ("pool", c_void_p), ("pointer", c_uint64), ("info", c_void_p), ),
        'Offers an allocation of a pool that is offered. Of `info` it reads the name, the text, the size\nand the elements. Say in the text which pool it is of, where there are several.\nErrors: as culv_mem_pool_export_pointer(); BUSY (IPC_NAME), INVALID (VALUE).\nOwnership: the memory stays yours. Free it when the other processes have freed theirs.\nThreads: one at a time.'),
    "culv_ipc_offer_vector": (culv_result, (("server", c_void_p), ("vector", c_void_p), ("info", c_void_p), ),
        "Offers a vector, whose chunks must be exportable as OPAQUE_FD (Windows: OPAQUE_WIN32). Clients\nget the chunks that it has when they ask. Of `info` it reads the name, the text, and the\nelements' format and size.\nErrors: as culv_ipc_offer_vmm().\nOwnership: the vector stays yours. Withdraw the offer before you destroy the vector.\nThreads: one at a time. culv_ipc_server_poll() reads the vector: order it with\nculv_vector_shrink()."),
    "culv_ipc_offer_vmm": (culv_result, (("server", c_void_p), ("allocation", c_void_p), ("info", c_void_p), ),
        'Offers a VMM allocation, which must be exportable as OPAQUE_FD (Windows: OPAQUE_WIN32). Of\n`info` it reads the name, the text, the size and the elements.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the message names the field and its bounds;\nNOT_EXPORTABLE), BUSY (IPC_NAME: the name is taken), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the allocation stays yours, and may go before the offer does.\nThreads: one at a time.'),
    "culv_ipc_offer_vmm_fabric": (culv_result, (("server", c_void_p), ("allocation", c_void_p), ("info", c_void_p), ),
        'Offers VMM memory by its fabric handle: the client gets 64 bytes and no file descriptor. Of\n`info` it reads the name, the text, the size and the elements. Where\nculv_vmm_allocation_info::handle_types lacks the bit of CULV_HANDLE_FABRIC, offer it by\nculv_ipc_offer_vmm().\nErrors: as culv_vmm_export_fabric(); INVALID (STRUCT_SIZE, VALUE), BUSY (IPC_NAME), UNSUPPORTED\n(NOT_BUILT: on Windows).\nOwnership: the allocation stays yours. Keep it until the clients have imported it.\nThreads: one at a time.'),
    "culv_ipc_process_get_start": (culv_result, (("pid", c_int32), ("out", c_void_p), ),
        "Gets when a process started, in the system's units; pid 0: this process. The number together\nwith this time names one process for ever.\nErrors: INVALID (NULL_ARGUMENT), ASYNC (IPC_GONE: there is no such process), DRIVER (OS).\nThreads: any.\nSource: proc(5), /proc/PID/stat; Windows: GetProcessTimes."),
    "culv_ipc_ring_acquire": (culv_result, (("ring", c_void_p), ("timeout", c_uint64), ("frame", c_void_p), ),
        'Gets a slot to write, which no GPU reads any more. It answers clients, as\nculv_ipc_server_poll() does. When the GPUs of consumers of every frame are not done with what is\nin the slots, it waits up to `timeout` nanoseconds. Consumers of the newest frame are passed by.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: a frame is held), TIMEOUT (RING_FULL: the message\nnames the consumer that is late, and where; culv_ipc_ring_get_consumers() tells it as data. It is\nlogged once in ten seconds for each), ASYNC (RING_STOPPED: the server was destroyed), DRIVER\n(OS).\nThreads: one at a time.'),
    "culv_ipc_ring_consumers": (c_uint32, (("ring", c_void_p), ),
        'Returns how many consumers there are. One that has not taken the answer to its join is none yet.\n0 for NULL.\nThreads: one at a time.'),
    "culv_ipc_ring_core": (c_void_p, (("ring", c_void_p), ),
        "CUDA's side of the ring, which is that of every ring: culv_ring_acquire_on(),\nculv_ring_release_on(), culv_ring_flush_on() and culv_ring_cancel() for CULV_RING_PRODUCER, and\nculv_ring_drain(), culv_ring_stop() and culv_ring_get_stats(). The stream has nothing to wait for\nat an acquire: a slot is free when the GPUs of its readers are done with it. A release makes the\nstream signal each consumer's `ready`. culv_ring_drain() waits until no GPU has to do with a\nframe that was released; `force` does nothing, because no stream of the producer's waits for\nanother process. culv_ring_stop() ends an acquire that waits.\n\nThey have the errors of culv_ipc_ring_acquire() and culv_ipc_ring_release() too; INVALID (VALUE:\nthe ring has `make`; RING_SIDE: a call without a stream, CULV_RING_CONSUMER, or\nculv_ring_configure()). NULL for NULL.\nOwnership: the ring's: culv_ring_destroy() refuses it (OWNED).\nThreads: any. The calls count as the server's, one thread at a time, but for culv_ring_stop().\nSource: cuda.h, cuStreamWriteValue64, cuSignalExternalSemaphoresAsync."),
    "culv_ipc_ring_create": (culv_result, (("server", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a ring and offers it by its name.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), BUSY (IPC_NAME), DRIVER (OS), OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_ipc_ring_destroy(), before the server or after it.\nThreads: one at a time.'),
    "culv_ipc_ring_destroy": (None, (("ring", c_void_p), ),
        "Destroys the ring, with what it offers, and sets *ring to NULL. Its server may have gone before:\nthe ring had ended then, and all its other calls answer ASYNC (RING_STOPPED). Consumers can still\nread the frames that were released: from CUDA to CUDA also when this process has ended, with a\ngraphics API's timelines as long as the server lives. The GPU's work with the ring should be\ndone. What CUDA holds is released by a later culv_device_collect(), or with the device. NULL, or\na pointer to NULL, is a no-op.\nOwnership: *ring is Culvert's again.\nThreads: one at a time."),
    "culv_ipc_ring_drop": (culv_result, (("ring", c_void_p), ("consumer", c_uint32), ),
        'Turns a consumer away: its connection is closed, and the slots that it had are free. It is told\nso (IPC_DROPPED).\nErrors: INVALID (NULL_ARGUMENT; RANGE: there is no such consumer), ASYNC (RING_STOPPED: the\nserver was destroyed).\nThreads: one at a time.'),
    "culv_ipc_ring_get_consumers": (culv_result, (("ring", c_void_p), ("out", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Lists the consumers: who is late, where and for how long. *count gets how many there are, of\nwhich the first `capacity` are written.\nErrors: INVALID (NULL_ARGUMENT), ASYNC (RING_STOPPED: the server was destroyed).\nOwnership: the copies are yours. `out` has room for `capacity`; it may be NULL where that is 0.\nThreads: one at a time.'),
    "culv_ipc_ring_offer": (culv_result, (("ring", c_void_p), ("slot", c_uint32), ("part", c_uint32), ("info", c_void_p), ("handle", c_void_p), ),
        'Offers a buffer or an image as a part of a slot. It has the name "RING.SLOT.PART".\nErrors: as culv_ipc_offer(); INVALID (RANGE: there is no such slot or part), ASYNC (RING_STOPPED:\nthe server was destroyed).\nOwnership: as there.\nThreads: one at a time.'),
    "culv_ipc_ring_offer_vmm": (culv_result, (("ring", c_void_p), ("slot", c_uint32), ("part", c_uint32), ("allocation", c_void_p), ("info", c_void_p), ),
        'Offers a VMM allocation as a part of a slot. It has the name "RING.SLOT.PART".\nErrors: as culv_ipc_offer_vmm(); INVALID (RANGE: there is no such slot or part), ASYNC\n(RING_STOPPED: the server was destroyed).\nOwnership: as there.\nThreads: one at a time.'),
    "culv_ipc_ring_release": (culv_result, (("ring", c_void_p), ("frame", c_void_p), ),
        'Publishes the frame, and fills frame->signals with the values to signal. Call it right before\nthe submission that signals them.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: no frame is held), ASYNC (RING_STOPPED: the server\nwas destroyed).\nThreads: one at a time.'),
    "culv_ipc_server_clients": (c_uint32, (("server", c_void_p), ),
        'Returns how many clients are connected. 0 for NULL.\nThreads: one at a time.'),
    "culv_ipc_server_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a server, which listens from then on. Starts no thread. Windows lets in one client for\neach culv_ipc_server_poll(), and the others wait.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a name, a count, or a directory that is not\nthere; IPC_REFUSED: the directory is not yours or is open to others), BUSY (IPC_NAME: a server of\nthis name is there), UNSUPPORTED (NOT_BUILT: Windows has no directories and no uids),\nOUT_OF_MEMORY, DRIVER (OS).\nOwnership: *out is yours; give it to culv_ipc_server_destroy(). It keeps the device open.\nThreads: any.\nSource: unix(7), SCM_RIGHTS, SO_PEERCRED; Windows: CreateNamedPipe.'),
    "culv_ipc_server_destroy": (None, (("server", c_void_p), ),
        "Destroys the server and its offers, and sets *server to NULL. Its rings have ended, as if they\nwere destroyed: their consumers are told, and their calls answer RING_STOPPED. Give them to\nculv_ipc_ring_destroy(), before this call or after it. Clients keep what they received. NULL, or\na pointer to NULL, is a no-op.\nOwnership: *server is Culvert's again. What was offered stays yours, and rings do. A ring that is\nleft keeps the device open.\nThreads: any, after the last call."),
    "culv_ipc_server_fd": (c_int, (("server", c_void_p), ),
        "Returns a file descriptor that is readable when culv_ipc_server_poll() has something to do, for\npoll() and its like. -1 for NULL and on Windows: call culv_ipc_server_poll() now and then there.\nOwnership: the server's: never close it.\nThreads: any."),
    "culv_ipc_server_poll": (culv_result, (("server", c_void_p), ("timeout", c_uint64), ("answered", c_void_p), ),
        'Answers what clients have asked so far, admits new ones, and notices which are gone. When there\nis nothing to do, it waits up to `timeout` nanoseconds for something (0: it does not wait). It\nnever waits for a client that is slow. `answered` (may be NULL) gets the number of requests and\ndepartures.\nErrors: INVALID (NULL_ARGUMENT), DRIVER (OS). What clients do wrong is no error: the log has\nit.\nThreads: one at a time.'),
    "culv_ipc_vector_destroy": (None, (("vector", c_void_p), ),
        "Destroys the mapping and sets *vector to NULL. Does NOT wait: the GPU's work with it should be\ndone. NULL, or a pointer to NULL, is a no-op.\nOwnership: *vector is Culvert's again.\nThreads: one at a time."),
    "culv_ipc_vector_generation": (c_uint64, (("vector", c_void_p), ),
        "Returns the server's culv_vector_generation(), as of the last update. 0 for NULL.\nThreads: one at a time."),
    "culv_ipc_vector_get_chunk": (culv_result, (("vector", c_void_p), ("index", c_size_t), ("out", c_void_p), ("count", c_void_p), ),
        "Gets chunk number `index` by offset, from 0 on. `count` (may be NULL) gets how many there are.\nWith an index that is too high only *count is written.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours; its handle is the vector's.\nThreads: one at a time."),
    "culv_ipc_vector_open": (culv_result, (("client", c_void_p), ("desc", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        'Opens a vector that the server offers: imports the chunks that it has now, and maps them one\nbehind the other.\nErrors: as culv_ipc_client_receive(), culv_vmm_import_take() and culv_vmm_map().\nOwnership: *out is yours; give it to culv_ipc_vector_destroy(), before the client.\nThreads: one at a time.'),
    "culv_ipc_vector_pointer": (c_uint64, (("vector", c_void_p), ),
        "Returns the address of the first byte in this process. 0 for NULL and without chunks.\nculv_ipc_vector_update() may change it.\nOwnership: the vector's.\nThreads: one at a time."),
    "culv_ipc_vector_size": (c_uint64, (("vector", c_void_p), ),
        'Returns the bytes in use, as of the last update. 0 for NULL.\nThreads: one at a time.'),
    "culv_ipc_vector_update": (culv_result, (("vector", c_void_p), ("last_use", c_void_p), ("timeout", c_uint64), ),
        "Asks the server for the vector's chunks, imports and maps those that are new, and gives up those\nthat it no longer has. Those, and an address that was outgrown, go after `last_use` has done the\nwork that has been submitted to it so far. After an error the vector is as it was, or has a part\nof what is new; call again.\nErrors: as culv_ipc_vector_open(); INVALID (CAPTURE, STREAM_DEVICE).\nThreads: one at a time."),
    "culv_ipc_withdraw": (culv_result, (("server", c_void_p), ("name", c_char_p), ),
        'Withdraws an offer. Clients keep what they received.\nErrors: INVALID (NULL_ARGUMENT; IPC_NAME: nothing of that name is offered; OWNED: it belongs to a\nring, which withdraws it).\nOwnership: what was offered stays yours.\nThreads: one at a time.'),
    "culv_kernel_call_launch": (culv_result, (("call", c_void_p), ("stream", c_void_p), ),
        "Launches the call on a stream of CUDA's. The values are read during the call. It allocates\nnothing and takes no lock.\nErrors: as culv_kernel_launch(); INVALID (VALUE: both args and params are set; KERNEL:\nparams_size is less than the kernel's parameters take, or so much more that it is no padding at\nthe end of a struct: 16 bytes).\nThreads: any.\nSource: cuda.h, cuLaunchKernel."),
    "culv_kernel_launch": (culv_result, (("kernel", c_void_p), ("desc", c_void_p), ("args", c_void_p), ("num_args", c_size_t), ),
        'Launches a kernel. The values are read during the call. Their number and sizes are compared with\nwhat the kernel takes, where the driver tells it (CUDA 12.4). The call allocates nothing and\ntakes no lock. A stream that is being captured gets a node.\nErrors: INVALID (NULL_ARGUMENT; VALUE: more than CULV_KERNEL_ARGS_MAX arguments; KERNEL: another\nnumber of arguments than the kernel takes, or an argument of another size; STREAM_DEVICE); DRIVER\n(a grid, block or shared_bytes beyond what the device has); ASYNC.\nThreads: any.\nSource: cuda.h, cuLaunchKernel, cuFuncGetParamInfo.'),
    "culv_kernel_native_handle": (c_void_p, (("kernel", c_void_p), ),
        "The driver's handle, for cuLaunchKernel and graphs. NULL for NULL.\nOwnership: the culv_kernels'.\nThreads: any."),
    "culv_kernels_get": (culv_result, (("kernels", c_void_p), ("name", c_char_p), ("out", c_void_p), ),
        'Finds a kernel by its name, and loads its code to the device (CUDA 12.4). A first launch\nthat loads it behind a wait can hold up other streams. A second call gives the same object.\nErrors: INVALID (NULL_ARGUMENT; KERNEL: there is none of that name, and the message has those\nthat there are, where the driver lists them); DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: the culv_kernels owns *out.\nThreads: any.\nSource: cuda.h, cuModuleGetFunction and cuFuncLoad.'),
    "culv_kernels_load": (culv_result, (("device", c_void_p), ("directory", c_char_p), ("name", c_char_p), ("out", c_void_p), ),
        "Loads directory/NAME.soft.so where the software twin serves the device, and\ndirectory/NAME.fatbin where NVIDIA's driver does. The file is read once, during this call: what\nbecomes of it later changes nothing. Its bytes are kept until it is unloaded.\nErrors: INVALID (NULL_ARGUMENT; MODULE: there is no such file, or it is not for this driver);\nUNSUPPORTED (MODULE: the file has no code for this GPU); DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_kernels_unload().\nThreads: any.\nSource: cuda.h, cuModuleLoadData."),
    "culv_kernels_load_data": (culv_result, (("device", c_void_p), ("data", c_void_p), ("size", c_size_t), ("label", c_char_p), ("out", c_void_p), ),
        "Loads kernels from memory: what NVRTC, Triton, CuPy or Numba made, or a file that you read\nyourself. NVIDIA's driver takes a fatbin, a cubin, or PTX as text, with or without its final 0.\nThe twin takes the bytes of a .soft.so. `label` stands in messages where a file's name would\nstand (up to 63 bytes are copied); it may be NULL.\nErrors: as culv_kernels_load(); INVALID (SIZE: size is 0).\nOwnership: the bytes are copied. *out is yours, for culv_kernels_unload().\nThreads: any.\nSource: cuda.h, cuModuleLoadData."),
    "culv_kernels_load_file": (culv_result, (("device", c_void_p), ("path", c_char_p), ("out", c_void_p), ),
        "Loads the file of this path, as culv_kernels_load() does. NVIDIA's driver takes a fatbin, a\ncubin, or PTX as text. The twin takes only a .soft.so.\nErrors: as culv_kernels_load().\nOwnership: *out is yours, for culv_kernels_unload().\nThreads: any."),
    "culv_kernels_load_program": (culv_result, (("device", c_void_p), ("path", c_char_p), ("kernel", c_char_p), ("out", c_void_p), ),
        'Loads the kernels of one .cu file out of a program or shared library that nvcc built. `kernel`\nnames one of them. culv_vk_record_graph() finds a captured <<<>>> in them. `path` is an ELF file;\non Linux "/proc/self/exe" is the program itself.\nIn C++ the name is the mangled one, which cuFuncGetName tells. It is a second copy: __constant__\nand other globals are others than the program\'s. Each fatbinary of the file is loaded until one\nhas the kernel.\nErrors: as culv_kernels_load_data(); INVALID (MODULE: the file cannot be read, or has no section\n.nv_fatbin; KERNEL: it has no such kernel). The twin, which runs no fatbinary: INVALID (MODULE).\nOwnership: *out is yours, for culv_kernels_unload().\nThreads: any.'),
    "culv_kernels_native_handle": (c_void_p, (("kernels", c_void_p), ),
        "The driver's handle, for cuModuleGetGlobal and other calls of the driver. NULL for NULL.\nOwnership: the culv_kernels'. Do not unload it.\nThreads: any."),
    "culv_kernels_unload": (None, (("kernels", c_void_p), ),
        "Unloads the file and sets *kernels to NULL. NULL, or a pointer to NULL, is a no-op. Its\nculv_kernel objects are gone then, unless a culv_vk_kernels keeps them. The driver waits for work\nof the context.\nOwnership: *kernels is Culvert's again.\nThreads: any."),
    "culv_keyed_mutex_acquire": (culv_result, (("mutex", c_void_p), ("stream", c_void_p), ("key", c_uint64), ("timeout_ms", c_uint32), ),
        "Acquires the mutex for what `stream` does next, once somebody has released it with `key`.\n`timeout_ms` is in milliseconds; CULV_KEYED_MUTEX_INFINITE waits for ever. The call may block the\ncalling thread for that time: submit the other side's release first, or make it on another\nthread.\nErrors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA holds it already), TIMEOUT\n(NOT_READY: nobody released it with that key in that time; CUDA does not hold it), DRIVER, ASYNC.\nThreads: any, one at a time for each object.\nSource: cuda.h, cuWaitExternalSemaphoresAsync: timeoutMs, CUDA_ERROR_TIMEOUT."),
    "culv_keyed_mutex_destroy": (None, (("mutex", c_void_p), ),
        "Destroys CUDA's import and sets *mutex to NULL. It releases nothing: release the mutex before,\nor the other side waits in vain. CUDA's use should be over, as for culv_semaphore_destroy(). A\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *mutex is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_keyed_mutex_destroy_after": (None, (("mutex", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_keyed_mutex_destroy(), but never waits. See\nculv_semaphore_destroy_after().\nOwnership: *mutex is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_keyed_mutex_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports a keyed mutex and BORROWS its handle.\nErrors: as culv_keyed_mutex_import_take().\nOwnership: the handle stays yours. *out is yours, for culv_keyed_mutex_destroy().\nThreads: any.'),
    "culv_keyed_mutex_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports a keyed mutex and TAKES its handle. culv_d3d11_keyed_mutex_import() (culvert/d3d11.h)\nneeds no handle.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE, HANDLE_BAD), UNSUPPORTED\n(HANDLE_TYPE: not Windows), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: on success Culvert has closed an NT handle; on failure it is still yours. A KMT handle\nkeeps nothing alive: the resource must live until the call returns. *out is yours, for\nculv_keyed_mutex_destroy().\nThreads: any.\nSource: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX and _KMT.'),
    "culv_keyed_mutex_is_held": (c_uint32, (("mutex", c_void_p), ),
        'Whether CUDA holds the mutex: it was acquired, and no release was submitted since. 0 for NULL.\nThreads: any.'),
    "culv_keyed_mutex_release": (culv_result, (("mutex", c_void_p), ("stream", c_void_p), ("key", c_uint64), ),
        'Releases the mutex with `key` when `stream` gets there.\nErrors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA does not hold it), DRIVER, ASYNC.\nThreads: any, one at a time for each object.'),
    "culv_last_error": (None, (("out", c_void_p), ),
        "Copies the calling thread's last error into *out, as far as out->struct_size reaches. A\nsuccessful call does not clear the last error, so never use it to find out whether a call failed.\nErrors: none. NULL is ignored, and so is a struct_size that no version's culv_error_init() sets.\nOwnership: the copy is yours.\nThreads: any; each thread has its own last error."),
    "culv_last_error_message": (c_char_p, (),
        'Returns the message of the calling thread\'s last error, or "" when there was none.\nOwnership: Culvert owns the text, which stays valid until this thread\'s next Culvert call.\nThreads: any; each thread has its own last error.'),
    "culv_last_error_set": (culv_result, (("error", c_void_p), ),
        "Makes *error the calling thread's last error. It is for layers on top of Culvert, such as\nculvert/cudart.h, whose callers want to report all errors in one way. Culvert does not log the\nerror.\nErrors: returns error->result. Returns INVALID, and records that as the last error, when error is\nNULL, its struct_size is not set, or its result is not negative.\nOwnership: Culvert keeps a copy.\nThreads: any; each thread has its own last error."),
    "culv_mem_pool_alloc": (culv_result, (("pool", c_void_p), ("size", c_uint64), ("stream", c_void_p), ("out", c_void_p), ),
        'Allocates `size` bytes in stream order. You get the address at once. Work that you submit to the\nstream later may use it.\nErrors: INVALID (NULL_ARGUMENT, SIZE; USAGE: an imported pool; STREAM_DEVICE), OUT_OF_MEMORY,\nDRIVER, ASYNC.\nOwnership: *out is yours; give it to culv_mem_pool_free() or cuMemFreeAsync.\nThreads: any.\nSource: cuda.h, cuMemAllocFromPoolAsync.'),
    "culv_mem_pool_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a pool of the device's memory.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; HANDLE_TYPE: no pool is exported as that type; OS:\nno file descriptor is left for an exported pool; VALUE: `fabric`), UNSUPPORTED (VMM: the device\nlacks pools; HANDLE_TYPE: this device or system lacks the type, or fabric handles that were\nrequired; DRIVER_TOO_OLD), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_mem_pool_destroy().\nThreads: any.\nSource: cuda.h, cuMemPoolCreate."),
    "culv_mem_pool_destroy": (None, (("pool", c_void_p), ),
        "Destroys the pool and sets *pool to NULL. Memory that is not freed yet stays, and cuMemFreeAsync\nfrees it later; the pool's own memory goes with the last of it. Does not wait. NULL, or a pointer\nto NULL, is a no-op.\n\nNVIDIA's cuMemPoolDestroy crashes for a pool whose export failed because the process had no file\ndescriptor left (measured on an H200). culv_mem_pool_export_dup() therefore asks the system for a\ndescriptor before it calls the driver. If another thread takes the last one in between, Culvert\nleaves that pool in the driver and logs a warning.\nOwnership: *pool is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: cuda.h, cuMemPoolDestroy."),
    "culv_mem_pool_export_dup": (culv_result, (("pool", c_void_p), ("type", c_int), ("out", c_void_p), ),
        "Exports the pool as a handle of one of the types that it was made for. Another process imports\nit with culv_mem_pool_import_take(). From then on you can export the pool's pointers. A file\ndescriptor is closed on exec.\nErrors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: it was not made for that type, or is\nitself an import; OS: no file descriptor is left), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: each call makes a new *out, which you close with culv_handle_close().\nThreads: any.\nSource: cuda.h, cuMemPoolExportToShareableHandle."),
    "culv_mem_pool_export_fabric": (culv_result, (("pool", c_void_p), ("out", c_void_p), ),
        "Exports a pool that was made with culv_mem_pool_desc::fabric, and whose\nculv_mem_pool_handle_types() has the bit of CULV_HANDLE_FABRIC. From then on you can export the\npool's pointers by culv_mem_pool_export_pointer().\nErrors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is plain bytes. The pool must live until the other side has imported it.\nThreads: any.\nSource: cuda.h, cuMemPoolExportToShareableHandle, CU_MEM_HANDLE_TYPE_FABRIC."),
    "culv_mem_pool_export_pointer": (culv_result, (("pool", c_void_p), ("pointer", c_uint64), ("out", c_void_p), ),
        'Exports an allocation of the pool, for culv_mem_pool_import_pointer() in a process that imported\nthe pool. `pointer` comes from culv_mem_pool_alloc() or cuMemAllocFromPoolAsync.\nErrors: INVALID (NULL_ARGUMENT; NOT_READY: the pool was not exported yet; NOT_EXPORTABLE: the\npool was not made for export, or is an import; VALUE: not memory of this pool), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: the copy is yours; it keeps nothing alive.\nThreads: any.\nSource: cuda.h, cuMemPoolExportPointer.'),
    "culv_mem_pool_free": (culv_result, (("pool", c_void_p), ("pointer", c_uint64), ("stream", c_void_p), ),
        "Frees memory of the pool, its own or imported, in stream order: when the stream gets there. A\npointer of 0 is a no-op.\nErrors: INVALID (NULL_ARGUMENT, STREAM_DEVICE), DRIVER (also for a pointer without memory),\nASYNC.\nOwnership: the memory is the pool's again.\nThreads: any.\nSource: cuda.h, cuMemFreeAsync."),
    "culv_mem_pool_handle_types": (c_uint32, (("pool", c_void_p), ),
        'Returns the types that the pool can be exported as: bits (1 << culv_handle_type) of what it was\nmade for. 0 for an import, and for NULL.\nThreads: any.'),
    "culv_mem_pool_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports a pool and BORROWS its handle.\nErrors: as culv_mem_pool_import_take().\nOwnership: the handle stays yours, and you may close it right after the call. *out is yours; give\nit to culv_mem_pool_destroy().\nThreads: any.'),
    "culv_mem_pool_import_fabric": (culv_result, (("device", c_void_p), ("handle", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports what culv_mem_pool_export_fabric() exported. desc->handle stays empty, and desc may be\nNULL. culv_mem_pool_import_pointer() then imports the pool's allocations.\nErrors: as culv_mem_pool_import_take(); INVALID (HANDLE_TYPE: desc->handle is given), DRIVER\n(HANDLE_REFUSED: no such handle, or no IMEX channel).\nOwnership: *out is yours, for culv_mem_pool_destroy().\nThreads: any.\nSource: cuda.h, cuMemPoolImportFromShareableHandle."),
    "culv_mem_pool_import_pointer": (culv_result, (("pool", c_void_p), ("pointer", c_void_p), ("out", c_void_p), ),
        'Imports an allocation of an imported pool.\nErrors: INVALID (NULL_ARGUMENT; USAGE: the pool is not an import), DRIVER (HANDLE_REFUSED: the\ndata is of another pool, or of memory that was freed), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_mem_pool_free() before its owner frees it.\nThreads: any.\nSource: cuda.h, cuMemPoolImportPointer.'),
    "culv_mem_pool_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports a pool and TAKES its handle. The device can read and write what is in it, whether the\nmemory is its own or that of another GPU that it reaches. Nothing new can be allocated in an\nimported pool.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND), UNSUPPORTED\n(VMM, HANDLE_TYPE, DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED; PEER: it lies on a GPU that the\ndevice does not reach), ASYNC, OUT_OF_MEMORY.\nOwnership: the handle becomes Culvert's after CULV_OK; after an error it is still yours and open.\n*out is yours; give it to culv_mem_pool_destroy().\nThreads: any.\nSource: cuda.h, cuMemPoolImportFromShareableHandle, cuMemPoolSetAccess."),
    "culv_mem_pool_native_handle": (c_void_p, (("pool", c_void_p), ),
        "Returns the driver's pool, for cuMemPoolTrimTo, cuDeviceSetMemPool and others. NULL for NULL.\nNever destroy it.\nOwnership: the pool owns it.\nThreads: any."),
    "culv_memory_destroy": (None, (("memory", c_void_p), ),
        "Destroys the import and sets *memory to NULL. Buffers mapped on it live on. You may destroy the\nimport and its buffers in any order: the driver unmaps first and releases the import afterwards.\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *memory is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: CUDA guide 3.2.16: freeing a memory object does not free mappings to it."),
    "culv_memory_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports an allocation and BORROWS its handle.\nErrors: as culv_memory_import_take().\nOwnership: the handle stays yours, and you may close it right after the call. *out is yours; give\nit to culv_memory_destroy().\nThreads: any.'),
    "culv_memory_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports an allocation and TAKES its handle.\nErrors: INVALID (HANDLE_BAD, HANDLE_KIND, SIZE, DEVICE_MISMATCH ...), UNSUPPORTED (HANDLE_TYPE:\nthis system lacks the type, or the driver does not take dma-bufs), DRIVER (HANDLE_REFUSED),\nASYNC, OUT_OF_MEMORY.\nOwnership: the handle becomes Culvert's after CULV_OK; after an error it is still yours and open.\n*out is yours; give it to culv_memory_destroy().\nThreads: any.\nSource: cuda.h, cuImportExternalMemory. The driver gets a duplicate, because drivers differ in\nwhat they close on failure."),
    "culv_memory_size": (c_uint64, (("memory", c_void_p), ),
        'Returns the size of the whole allocation in bytes, as the import stated it. 0 for NULL.\nThreads: any.'),
    "culv_multicast_add_device": (culv_result, (("multicast", c_void_p), ("device", c_void_p), ),
        'Adds a device to the team. It stays in the team as long as the object lives.\nErrors: INVALID (NULL_ARGUMENT; VALUE: the device is already in the team, or the team is full;\nDEVICE_MISMATCH: the device has another driver), UNSUPPORTED (VMM: this device has no multicast),\nDRIVER (NOT_READY, DRIVER_REFUSED), ASYNC, OUT_OF_MEMORY.\nThreads: any.\nSource: cuda.h, cuMulticastAddDevice.'),
    "culv_multicast_allocation": (c_void_p, (("multicast", c_void_p), ),
        "The object as an allocation, for culv_vmm_map() and culv_vmm_export_dup(). culv_vmm_map()\nanswers INVALID (NOT_READY) while a device is missing. culv_vmm_allocation_destroy() refuses it\n(OWNED).\nErrors: none; NULL for NULL.\nOwnership: the object's.\nThreads: any."),
    "culv_multicast_bind": (culv_result, (("multicast", c_void_p), ("offset", c_uint64), ("memory", c_void_p), ("memory_offset", c_uint64), ("size", c_uint64), ),
        "Binds `size` bytes from `memory_offset` of an allocation at `offset` of the object, for the\ndevice that holds the memory. All three are multiples of the minimum granularity. Unbind the\nmemory before you give its handle up.\nErrors: INVALID (NULL_ARGUMENT; NOT_READY: devices are missing; VALUE: not multiples of the\ngranularity; RANGE; USAGE: a tile pool, host memory or a multicast object; DEVICE_MISMATCH: the\nmemory is on no device of the team; NOT_EXPORTABLE: the object can be exported, or was imported,\nand the memory cannot), BUSY (MAPPED: that device has bound memory there), DRIVER (NOT_READY: the\nsystem software is not running; DRIVER_REFUSED: also when the system's configuration is in an\nillegal state), ASYNC, OUT_OF_MEMORY.\nThreads: any.\nSource: cuda.h, cuMulticastBindMem."),
    "culv_multicast_bind_address": (culv_result, (("multicast", c_void_p), ("offset", c_uint64), ("device", c_void_p), ("address", c_uint64), ("size", c_uint64), ),
        'Does the same as culv_multicast_bind() for `size` bytes at an address of memory on `device`. The\naddress is one where memory of cuMemCreate is mapped, or one that cuMemAllocAsync returned.\nErrors: as culv_multicast_bind() (DEVICE_MISMATCH: also memory on another device). The driver\ndecides about every other kind of memory.\nThreads: any.\nSource: cuda.h, cuMulticastBindAddr.'),
    "culv_multicast_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a multicast object that has no device yet. The driver of `device` makes it. Add `device`\nlike the others.\nErrors: INVALID (OPT_IN: desc->opt_in is 0, which Culvert checks before it calls the driver;\nNULL_ARGUMENT, STRUCT_SIZE, VALUE, SIZE, HANDLE_TYPE), UNSUPPORTED (VMM, HANDLE_TYPE,\nDRIVER_TOO_OLD), DRIVER (NOT_READY: the system software that multicast needs is not running;\nDRIVER_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_multicast_destroy().\nThreads: any.\nSource: cuda.h, cuMulticastCreate.'),
    "culv_multicast_destroy": (None, (("multicast", c_void_p), ),
        "Gives the object up and sets *multicast to NULL. NULL, or a pointer to NULL, is a no-op. Unmap\nthe object before the call, because its allocation goes with it. The call first unbinds all\nmemory that is bound to the object. It does not wait for the GPU.\nOwnership: *multicast is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_multicast_get_granularity": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("minimum", c_void_p), ("recommended", c_void_p), ),
        'The granularities in bytes of an object like desc: the minimum, and the one that the driver\nrecommends for speed. The call ignores the size and opt_in of desc. Either output may be NULL.\nThe call only asks the driver; it makes nothing.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device\nhas no multicast; HANDLE_TYPE; DRIVER_TOO_OLD), DRIVER, ASYNC.\nThreads: any.\nSource: cuda.h, cuMulticastGetGranularity.'),
    "culv_multicast_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports another process's multicast object and BORROWS its handle. The handle stays yours, and\nyou may close it right after the call.\nErrors: as culv_multicast_create(); INVALID (HANDLE_BAD, HANDLE_KIND), DRIVER (HANDLE_REFUSED).\nOwnership: the handle stays yours; *out is yours, for culv_multicast_destroy().\nThreads: any.\nSource: cuda.h, cuMemImportFromShareableHandle."),
    "culv_multicast_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports another process's multicast object and TAKES its handle. After CULV_OK the handle is\nCulvert's. After an error it is still yours and open.\nErrors: as culv_multicast_import_borrow().\nOwnership: the handle as described; *out is yours, for culv_multicast_destroy().\nThreads: any."),
    "culv_multicast_mark_devices_added": (culv_result, (("multicast", c_void_p), ("count", c_uint32), ),
        'Tells Culvert that other processes have added `count` more devices. Culvert cannot see that. If\nthey have not, the next call into the driver waits for them.\nErrors: INVALID (NULL_ARGUMENT; VALUE: fewer devices are missing).\nThreads: any.'),
    "culv_multicast_missing_devices": (c_uint32, (("multicast", c_void_p), ),
        'The number of devices that are still to be added. Memory can be bound when it is 0. 0 for NULL.\nThreads: any.'),
    "culv_multicast_size": (c_uint64, (("multicast", c_void_p), ),
        'Bytes that each device can bind: the requested size, rounded up; 0 for NULL.\nThreads: any.'),
    "culv_multicast_unbind": (culv_result, (("multicast", c_void_p), ("offset", c_uint64), ("device", c_void_p), ("size", c_uint64), ),
        'Unbinds what a device has bound at `offset`. `size` is the size with which it was bound; CUDA\nleaves any other size undefined. The call does not wait for the GPU.\nErrors: INVALID (NULL_ARGUMENT; NOT_MAPPED: that device has bound nothing of that size there),\nDRIVER, ASYNC.\nThreads: any.\nSource: cuda.h, cuMulticastUnbind.'),
    "culv_nvsci_buffer_destroy": (None, (("buffer", c_void_p), ),
        "Unmaps and destroys the import, and sets *buffer to NULL. The work that uses it should be done.\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *buffer is Culvert's again.\nThreads: any, after the last call."),
    "culv_nvsci_buffer_get_array": (culv_result, (("buffer", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Maps an image as an array, the first time, and gets it. It has one level (cuda.h).\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; USAGE: it is mapped as a buffer; RANGE: offset is\nnot in it), DRIVER, OUT_OF_MEMORY, ASYNC.\nOwnership: the import owns the array.\nThreads: one at a time.\nSource: cuda.h, cuExternalMemoryGetMappedMipmappedArray.'),
    "culv_nvsci_buffer_get_pointer": (culv_result, (("buffer", c_void_p), ("out", c_void_p), ),
        'Maps all of a raw buffer, the first time, and gets its address.\nErrors: INVALID (NULL_ARGUMENT; USAGE: it is mapped as an array), DRIVER, OUT_OF_MEMORY, ASYNC.\nOwnership: the import owns the mapping.\nThreads: one at a time.\nSource: cuda.h, cuExternalMemoryGetMappedBuffer.'),
    "culv_nvsci_buffer_import": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports an NvSciBufObj.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0), UNSUPPORTED (HANDLE_TYPE: the\ndriver takes no NvSciBuf; LIBRARY: read_only, and libnvscibuf is not there or is too old), DRIVER\n(HANDLE_REFUSED; DRIVER_REFUSED: NvSci did not duplicate the object), OUT_OF_MEMORY, ASYNC.\nOwnership: the object stays yours. *out is yours; give it to culv_nvsci_buffer_destroy().\nThreads: any.\nSource: CUDA guide 3.2.16.5.1; cuda.h, cuImportExternalMemory.'),
    "culv_nvsci_get_sync_attributes": (culv_result, (("device", c_void_p), ("attribute_list", c_void_p), ("roles", c_uint32), ),
        'Fills an NvSciSyncAttrList with what a device needs of a sync object: permission, primitive, GPU\nid. Use a list for each role, and reconcile them.\nErrors: INVALID (NULL_ARGUMENT; VALUE: no role, or an unknown one), UNSUPPORTED (HANDLE_TYPE:\nthe driver knows no NvSciSync), DRIVER.\nOwnership: the list stays yours.\nThreads: any.\nSource: cuda.h, cuDeviceGetNvSciSyncAttributes.'),
    "culv_nvsci_sync_destroy": (None, (("sync", c_void_p), ),
        "Destroys the import and sets *sync to NULL. All signals and waits must be complete. NULL, or a\npointer to NULL, is a no-op.\nOwnership: *sync is Culvert's again.\nThreads: any, after the last call."),
    "culv_nvsci_sync_import": (culv_result, (("device", c_void_p), ("object", c_void_p), ("out", c_void_p), ),
        'Imports an NvSciSyncObj.\nErrors: INVALID (NULL_ARGUMENT), UNSUPPORTED (HANDLE_TYPE: the driver takes no NvSciSync), DRIVER\n(HANDLE_REFUSED), OUT_OF_MEMORY, ASYNC.\nOwnership: the object stays yours and must outlive the import. *out is yours; give it to\nculv_nvsci_sync_destroy().\nThreads: any.\nSource: cuda.h, cuImportExternalSemaphore.'),
    "culv_nvsci_sync_signal": (culv_result, (("sync", c_void_p), ("fence", c_void_p), ("flags", c_uint32), ("stream", c_void_p), ),
        'Signals in a stream. The call writes the fence, which others wait for.\nErrors: INVALID (NULL_ARGUMENT; VALUE: unknown flags), DRIVER, ASYNC.\nOwnership: *fence is an NvSciSyncFence of yours, cleared before the first use.\nThreads: one at a time for a sync object.\nSource: cuda.h, cuSignalExternalSemaphoresAsync.'),
    "culv_nvsci_sync_wait": (culv_result, (("sync", c_void_p), ("fence", c_void_p), ("flags", c_uint32), ("stream", c_void_p), ),
        'Waits in a stream for a fence of the object.\nErrors: as culv_nvsci_sync_signal().\nOwnership: *fence stays yours. Keep it until the wait is done.\nThreads: one at a time for a sync object.\nSource: cuda.h, cuWaitExternalSemaphoresAsync.'),
    "culv_pointer_get_info": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("out", c_void_p), ),
        "Gets what memory is at an address, what it can be exported as, and which allocation it belongs\nto. An address without memory is not an error: kind is then NONE.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.\nOwnership: the copy is yours.\nThreads: any.\nSource: cuda.h, cuPointerGetAttributes: ALLOWED_HANDLE_TYPES, MEMORY_BLOCK_ID, MEMPOOL_HANDLE\n...; cuMemRetainAllocationHandle, which knows cuMemCreate's memory; measured on an H200,\ndocs/vmm-more.md."),
    "culv_rdma_cache_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a cache for pointers of a device's context.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: an unknown validity, or whole_percent above\n100), OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_rdma_cache_destroy(). It keeps the device open.\nThreads: any."),
    "culv_rdma_cache_destroy": (None, (("cache", c_void_p), ),
        "Unpins everything and sets *cache to NULL. Registrations that are in use are unpinned when they\nare given back. NULL, or a pointer to NULL, is a no-op.\nOwnership: *cache is Culvert's again.\nThreads: any, after the last look-up."),
    "culv_rdma_cache_get": (culv_result, (("cache", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ("out", c_void_p), ),
        'Gets a registration that covers `size` bytes at `pointer`, and pins them if need be. A look-up\nthat finds one takes no lock. A thread that needs what another thread is just pinning waits for\nit.\nErrors: as culv_rdma_check_range(), but imported memory goes to pin(); INVALID (OPT_IN: see\nallow_context_sync; NOT_READY: called from pin() for what it is pinning), UNSUPPORTED (USAGE: the\nmemory has no buffer id, so it needs CULV_RDMA_VALIDITY_NOTIFICATION), OUT_OF_MEMORY\n(HOST_MEMORY; PIN_SPACE: there is no room, and everything that is pinned is in use), DRIVER,\nASYNC; what pin() answers (PIN_REFUSED).\nOwnership: *out is in use until culv_rdma_registration_put().\nThreads: any.'),
    "culv_rdma_cache_get_stats": (culv_result, (("cache", c_void_p), ("out", c_void_p), ),
        'Gets what the cache has and did.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_rdma_cache_invalidate": (culv_result, (("cache", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ),
        "Tells the cache that memory is freed or unmapped. No look-up finds it afterwards. What is not in\nuse is unpinned before the call returns (FREED), the rest with its last put. Where CUDA frees\nmemory in spite of its use by a card, that is the caller's fault: wait for the card first.\nErrors: INVALID (NULL_ARGUMENT, SIZE, RANGE).\nThreads: any."),
    "culv_rdma_cache_trim": (culv_result, (("cache", c_void_p), ("bytes", c_uint64), ),
        'Unpins what is not in use, the least recently used first, until at most `bytes` are pinned. 0:\neverything that is not in use.\nErrors: INVALID (NULL_ARGUMENT).\nThreads: any.'),
    "culv_rdma_check_range": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ),
        "Checks whether `size` bytes at `pointer` are memory of a kind that cards are given. The range\nlies in one allocation, or in one mapping of VMM memory. Each kind of bad input has its own\nreason. It does not ask what the machine can do: see culv_rdma_get_caps().\nErrors: INVALID (NULL_ARGUMENT; SIZE: size is 0; RANGE: the range overflows or leaves its\nallocation; NOT_MAPPED: nothing is there, it was freed or never allocated; HOST_POINTER: the\nhost's own memory that CUDA does not know; MANAGED; NOT_EXPORTABLE: imported from a graphics API;\nDEVICE_MISMATCH: another GPU's memory), UNSUPPORTED (USAGE: a pool's memory that cards cannot\nreach), DRIVER, ASYNC.\nThreads: any."),
    "culv_rdma_dma_buf_export_dup": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ("flags", c_uint64), ("out", c_void_p), ),
        "Makes a dma-buf of the host's pages that a range lies in. The pages may hold bytes of other\nallocations too: the card can reach those.\n\nWith CULV_DMA_BUF_PCIE in `flags` the mapping goes over PCI Express even where the CPU reaches\nthe GPU another way (Grace). Drivers and platforms that have none answer that with\nCUDA_ERROR_INVALID_VALUE or CUDA_ERROR_NOT_SUPPORTED: the call then tries once more without, and\nculv_rdma_dma_buf::pcie says so.\n\nThe range may span several mappings of one VMM range, if their allocations have the same\nproperties. Make a new dma-buf after any of them was mapped again: the old one shows the old\nmemory (cuda.h).\nErrors: as culv_rdma_check_range(), except that a VMM range may span mappings; INVALID\n(HOST_POINTER too for page-locked host memory; VALUE: unknown flags; STRUCT_SIZE), UNSUPPORTED\n(HANDLE_TYPE: the device makes no dma-bufs; DRIVER_TOO_OLD), DRIVER (NOT_EXPORTABLE),\nOUT_OF_MEMORY, ASYNC.\nOwnership: out->handle is yours; close it with culv_handle_close(). The memory lives as long as\nthe dma-buf.\nThreads: any.\nSource: cuda.h, cuMemGetHandleForAddressRange; libfabric's issues 10976 and 10995 on both\nanswers."),
    "culv_rdma_flush_writes": (culv_result, (("device", c_void_p), ("scope", c_int), ),
        "Makes the writes of cards that are complete visible to `scope` before CUDA's next work. Call it\non the CPU after the card has said that its write is complete, and before you launch what reads\nit. Does nothing where the device's ordering has `scope` already. It does not order a kernel that\nruns already.\nErrors: INVALID (NULL_ARGUMENT; VALUE: scope is neither OWNER nor ALL_DEVICES), UNSUPPORTED\n(USAGE: the device has no flush; DRIVER_TOO_OLD), DRIVER, ASYNC.\nThreads: any.\nSource: cuda.h, cuFlushGPUDirectRDMAWrites."),
    "culv_rdma_get_bar1": (culv_result, (("device", c_void_p), ("out", c_void_p), ),
        "Asks NVML (libnvidia-ml.so.1, nvml.dll) for a GPU's BAR1. The library is loaded for the call,\nwhich takes milliseconds.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), UNSUPPORTED (LIBRARY: NVML is not there, is too old\nor does not know the GPU), DRIVER (DRIVER_REFUSED: NVML answered with an error).\nOwnership: the copy is yours.\nThreads: any.\nSource: nvml.h, nvmlDeviceGetBAR1MemoryInfo."),
    "culv_rdma_get_caps": (culv_result, (("device", c_void_p), ("out", c_void_p), ),
        'Gets what a device has for cards. Each GPU is asked for itself.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER.\nOwnership: the copy is yours.\nThreads: any.\nSource: cuda.h, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_...'),
    "culv_rdma_get_cost": (culv_result, (("pointer", c_uint64), ("size", c_uint64), ("out", c_void_p), ),
        'Tells what a range takes before it is pinned. Ranges that overlap share what they have in\ncommon, so unpinning one of them may free nothing. No driver is asked.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0; RANGE: it leaves the address\nspace).\nOwnership: the copy is yours.\nThreads: any.\nSource: GPUDirect RDMA guide 2.2 and 3.1.'),
    "culv_rdma_get_info": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("out", c_void_p), ),
        'Tells what memory is at an address and how a card gets at it, by one call of the driver. An\naddress without memory is not an error here: kind is then NONE. Managed memory has no path: it\nmoves, and a card would write into a copy that is overwritten later.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.\nOwnership: the copy is yours.\nThreads: any.\nSource: cuda.h, cuPointerGetAttributes; GPUDirect RDMA guide 1.4 on managed memory; measured: VMM\nmemory belongs to no context.'),
    "culv_rdma_get_tokens": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("out", c_void_p), ),
        'Gets the tokens of the memory at `pointer`. The call waits for the GPU, and sets SYNC_MEMOPS of\nthe allocation. Another allocation at the same address may have other tokens: ask for each.\nCulvert logs no token.\nErrors: as culv_rdma_check_range() for one byte; UNSUPPORTED or DRIVER (USAGE: the driver has no\ntokens for such memory), INVALID (STRUCT_SIZE), DRIVER, ASYNC.\nOwnership: the copy is yours.\nThreads: any.\nSource: GPUDirect RDMA guide 2.6 and 4.2.'),
    "culv_rdma_registration_cookie": (c_void_p, (("registration", c_void_p), ),
        "Returns what pin() gave. NULL for NULL.\nOwnership: the caller's of pin().\nThreads: any, before the put."),
    "culv_rdma_registration_get_range": (culv_result, (("registration", c_void_p), ("out", c_void_p), ),
        'Gets the range that was pinned.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any, before the put.'),
    "culv_rdma_registration_put": (None, (("registration", c_void_p), ),
        "Gives a registration back and sets *registration to NULL. It stays pinned, unless its memory was\nfreed. NULL, or a pointer to NULL, is a no-op.\nOwnership: *registration is the cache's again.\nThreads: any."),
    "culv_rdma_set_sync_memops": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("allow_context", c_uint32), ("out", c_void_p), ),
        "Makes the synchronous copies and sets of CUDA that touch the allocation end before they return,\nas they must where a card reads or writes it. Call it once for an allocation: the call waits for\nthe GPU, and device-to-device copies of that memory are no longer queued behind the call.\n\nVMM memory cannot carry the attribute. With `allow_context` nonzero the flag of the device's\ncontext is set instead, which slows the copies of everything in that context, other libraries'\ntoo. Without it such memory is an error.\nErrors: as culv_rdma_check_range() for one byte; INVALID (OPT_IN: it takes the context's flag,\nand allow_context is 0), UNSUPPORTED (DRIVER_TOO_OLD: the driver has no such flag, before CUDA\n12.1), DRIVER, ASYNC.\nThreads: any.\nSource: GPUDirect RDMA guide 2.7; cuda.h, cuPointerSetAttribute, cuCtxSetFlags."),
    "culv_reason_name": (c_char_p, (("reason", c_int), ),
        'Returns the name of a reason, such as "TIMELINE_BACKWARDS".\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_reason_text": (c_char_p, (("reason", c_int), ),
        'Returns what a reason means, in one sentence without values.\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_registration_buffer": (c_void_p, (("registration", c_void_p), ),
        "CUDA's side of a registered buffer. Its culv_buffer_pointer() is 0 while it is not mapped, and\nmay be another one after each map. NULL for NULL, and for an image.\nOwnership: Culvert's, valid until the registration is destroyed; culv_buffer_unmap() refuses it.\nThreads: any."),
    "culv_registration_destroy": (culv_result, (("registration", c_void_p), ),
        "Ends a registration and sets *registration to NULL. A mapped object is unmapped first, in the\nstream in which it was mapped. CUDA's use of its surfaces and textures should be over; the call\nwaits for it otherwise. After culv_gl_lose_contexts() the driver's part of it is left to the CUDA\ncontext. NULL, or a pointer to NULL, is a no-op.\nErrors: INVALID (OWNED: it is a part of a culv_gl_readback or of a ring; CONTEXT: it is OpenGL's,\nand no context of its attachment is current on this thread). Nothing is done then, and\n*registration stays. DRIVER (the driver refused; *registration stays, try again).\nOwnership: *registration is Culvert's again, unless the call failed. The object stays yours; the\nCOM reference that CUDA had of Direct3D's is released.\nThreads: the API's thread, ordered with other calls on this object.\nSource: cuda.h, cuGraphicsUnregisterResource."),
    "culv_registration_get_array": (culv_result, (("registration", c_void_p), ("layer", c_uint32), ("level", c_uint32), ("out", c_void_p), ),
        "The array of one layer, or of one face of a cube (+x, -x, +y, -y, +z, -z), of a level of a\nmapped image: Direct3D's sub-resource `level + layer * levels`. culv_image_get_array() gives all\nlayers of a level in one array, of which copies reach all layers of a 2D array but, of OpenGL's,\nonly the first face of a cube (an H200's driver): copy the others by this call.\nErrors: INVALID (NULL_ARGUMENT, LEVEL, NOT_MAPPED; USAGE: it is a buffer), DRIVER, ASYNC.\nOwnership: the driver's, valid until the unmap; never destroy it.\nThreads: any, ordered with maps and unmaps.\nSource: cuda.h, cuGraphicsSubResourceGetMappedArray."),
    "culv_registration_image": (c_void_p, (("registration", c_void_p), ),
        "CUDA's side of a registered image. Its arrays, surfaces and textures are there while it is\nmapped; otherwise the calls that give them answer NOT_MAPPED. NULL for NULL, and for a buffer.\nOwnership: Culvert's, valid until the registration is destroyed; culv_image_unmap() refuses it.\nThreads: any."),
    "culv_registration_is_mapped": (c_uint32, (("registration", c_void_p), ),
        'Whether it is mapped. 0 for NULL.\nThreads: any, ordered with maps and unmaps.'),
    "culv_registration_map": (culv_result, (("registrations", c_void_p), ("count", c_uint32), ("stream", c_void_p), ),
        "Gives `count` objects to CUDA, all or none, in one call of the driver. What the API was told to\ndo before (in OpenGL: in this context) is done before the work that the stream gets next. The API\nmust not use the objects until the unmap. `count` 0 is a no-op. More than 64 take an allocation.\nErrors: INVALID (NULL_ARGUMENT; CONTEXT: as culv_registration_destroy(); MAPPED: one is mapped\nalready; VALUE: one is listed twice, is of another API or another attachment than the first, or\nis OpenGL's and not what was registered any longer: deleted, resized; DEVICE_MISMATCH: one was\nregistered with another culv_device; SIZE; CAPTURE: the stream is being captured; STREAM_DEVICE),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nThreads: the API's thread, ordered with other calls on these objects.\nSource: cuda.h, cuGraphicsMapResources."),
    "culv_registration_pointer": (c_uint64, (("registration", c_void_p), ),
        "The first byte of a mapped buffer in CUDA. 0 for NULL, for an image, and while it is not mapped.\nOwnership: the driver's, valid until the unmap.\nThreads: any, ordered with maps and unmaps."),
    "culv_registration_set_access": (culv_result, (("registration", c_void_p), ("access", c_int), ),
        "Says what CUDA does with the object from the next map on. OpenGL's was registered with an access\ntoo, and keeps that besides.\nErrors: INVALID (NULL_ARGUMENT, VALUE; MAPPED: it is mapped now), DRIVER, ASYNC.\nThreads: any, ordered with other calls on this object.\nSource: cuda.h, cuGraphicsResourceSetMapFlags."),
    "culv_registration_unmap": (culv_result, (("registrations", c_void_p), ("count", c_uint32), ("stream", c_void_p), ),
        "Gives the objects back to the API. What the stream was told to do before is done before the work\nthat the API gets next; work in other streams is not waited for. Pointers, arrays, surfaces and\ntextures of the objects end here: ask again after each map. `count` 0 is a no-op.\nErrors: as culv_registration_map(), and INVALID (NOT_MAPPED). DRIVER with\nCUDA_ERROR_UNMAP_FAILED: they are unmapped, but what CUDA wrote is lost.\nThreads: the API's thread, ordered with other calls on these objects.\nSource: cuda.h, cuGraphicsUnmapResources."),
    "culv_result_name": (c_char_p, (("result", c_int), ),
        'Returns the name of a result, such as "CULV_ERROR_INVALID".\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_ring_acquire": (culv_result, (("ring", c_void_p), ("side", c_int), ("timeout", c_uint64), ("out", c_void_p), ),
        "Takes the side's next slot. The host waits up to `timeout` nanoseconds for the other side to\nsubmit (0: it does not wait). It blocks without polling. Afterwards make your queue wait for\nout->wait_value of the other side's timeline. Allocates nothing.\nErrors: INVALID (NULL_ARGUMENT; VALUE: there is no such side; RING_ORDER: this side holds a\nframe; RING_SIDE: another thread is in a call of this side), TIMEOUT (RING_FULL, RING_EMPTY,\nRING_LATE: the message names the timeline, the value, the side that signaled last and the side\nthat is late), ASYNC (RING_STOPPED, DEVICE_LOST, TIMELINE_CHANGED).\nOwnership: the slot is yours until culv_ring_release() or culv_ring_cancel().\nThreads: one at a time for each side."),
    "culv_ring_acquire_on": (culv_result, (("ring", c_void_p), ("side", c_int), ("stream", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        "culv_ring_acquire() for a CUDA side. It also makes `stream` wait. It is CUDA's call on the core\nof every ring: culv_vk_ring_core(), culv_gl_ring_core(), culv_d3d12_ring_core(),\nculv_ipc_ring_core(), culv_ipc_consumer_core(). OpenGL's may also map or copy. After an error\nnothing is acquired.\nErrors: as culv_ring_acquire() and culv_semaphore_wait(); INVALID (NULL_ARGUMENT: the timelines\nlack a CUDA half; RING_SIDE: the side is the one of the ring's API).\nOwnership: as culv_ring_acquire().\nThreads: one at a time for each side."),
    "culv_ring_cancel": (culv_result, (("ring", c_void_p), ("side", c_int), ("frame", c_void_p), ),
        "Gives the side's slot back as if it had not been acquired. The producer's frame never existed.\nThe consumer gets the frame again; with MAILBOX it may get a newer one. When the frame was the\nfirst of a burst, the burst begins again.\nErrors: as culv_ring_release().\nOwnership: as before the acquire.\nThreads: one at a time for each side."),
    "culv_ring_configure": (culv_result, (("ring", c_void_p), ("settings", c_void_p), ),
        'Changes how frames flow. Each side follows the new settings from its next burst on. A smaller\ndepth takes effect as slots become free. A change between FIFO and MAILBOX loses no frame, except\nthose that MAILBOX skips.\nErrors: as culv_ring_create().\nThreads: any.'),
    "culv_ring_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a ring of `device` on your slots and timelines. Calls no driver.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a depth, a burst, a policy, or a timeline\nthat lacks the functions that the settings need; DEVICE_MISMATCH: a semaphore of another device),\nOUT_OF_MEMORY.\nOwnership: the timelines stay yours and must outlive *out. *out is yours; give it to\nculv_ring_destroy().\nThreads: any.'),
    "culv_ring_destroy": (culv_result, (("ring", c_void_p), ),
        "Destroys the ring and sets *ring to NULL. NULL, or a pointer to NULL, is a no-op.\n\nA side that still waits in culv_ring_acquire() wakes up and gets RING_STOPPED. But a side that\ngets its frame at that very moment would use a ring that is gone, so end both sides first\n(culv_ring_stop()). The call waits for no GPU: free the slots after culv_ring_drain() has\nsucceeded.\nErrors: INVALID (OWNED: it is the core of an API's ring (culv_vk_ring_core()); nothing happens,\nand the pointer keeps its value).\nOwnership: *ring is Culvert's again.\nThreads: any, after the last call of either side."),
    "culv_ring_drain": (culv_result, (("ring", c_void_p), ("timeout", c_uint64), ("force", c_uint32), ),
        "Waits on the host until the GPU has finished everything that was handed over. The GPU then uses\nno slot, and frames that are ready stay ready. It also works when the ring is stopped; frames\nthat a side holds do not matter then.\n\nWith `force`, when this takes longer than `timeout` nanoseconds, the host signals in place of the\nside that is late, and then in place of the other side if that is still late. Whoever waits then\ngoes on, with contents that are not right. When the call had to signal, or when a side held a\nframe or had a burst open, the ring goes on with empty slots and nothing is held any more.\n\nWhen a device is lost, the side whose device lives signals: the host by the graphics API when\nCUDA's context is lost, and CUDA, on a stream of the call's own, when the graphics device is\nlost. CULV_OK then says that nobody waits for the lost side. The ring stays stopped.\nErrors: TIMEOUT (RING_LATE: the message names the timeline, the value, the side that signaled\nlast and the side that is late), UNSUPPORTED (NO_FORCE: neither the host nor CUDA can signal that\ntimeline), BUSY (RING_ORDER: without `force`, a side holds a frame or has a burst open), INVALID\n(NULL_ARGUMENT; VALUE: a timeline lacks `wait`; RING_SIDE: a side is in a call), ASYNC\n(DEVICE_LOST; RING_STOPPED: culv_ring_stop() was called meanwhile).\nThreads: any, while neither side is in a call.\nSource: Vulkan specification, vkSignalSemaphore. A timeline only grows, so what the late side\nwould signal later must be dropped together with its device."),
    "culv_ring_flush": (culv_result, (("ring", c_void_p), ("side", c_int), ("signal_value", c_void_p), ),
        "Ends a burst before it is full and hands over what this side has released. Sets *signal_value to\nthe value to signal on this side's timeline after the last use of those slots. 0: no burst is\nopen. On a CUDA side use culv_ring_flush_on(). On the side of an API that keeps frames of the\nburst use its own call (culv_vk_ring_flush()).\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: this side holds a frame, or the API keeps frames of\nthe burst; RING_SIDE), ASYNC (RING_STOPPED).\nThreads: one at a time for each side."),
    "culv_ring_flush_on": (culv_result, (("ring", c_void_p), ("side", c_int), ("stream", c_void_p), ),
        'culv_ring_flush() for a CUDA side. It also makes `stream` signal.\nErrors: as culv_ring_flush() and culv_semaphore_signal().\nThreads: one at a time for each side.'),
    "culv_ring_get_stats": (culv_result, (("ring", c_void_p), ("out", c_void_p), ),
        'Fills *out with what the ring has done.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_ring_release": (culv_result, (("ring", c_void_p), ("side", c_int), ("frame", c_void_p), ),
        "Hands the side's slot to the other side, and sets frame->signal_value. Then submit a signal of\nthis side's timeline with that value, after the last use of the slot.\n\nCall it right before that submission, with the frame that you acquired. You may also call it\nafter the submission, because the value is foreseeable: burst_ends says whether it is 0.\nAllocates nothing.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: this side did not acquire that frame, or the API\nkeeps frames of its burst (culv_vk_ring_submit()); RING_SIDE), ASYNC (RING_STOPPED).\nOwnership: the slot belongs to the other side.\nThreads: one at a time for each side."),
    "culv_ring_release_on": (culv_result, (("ring", c_void_p), ("side", c_int), ("stream", c_void_p), ("frame", c_void_p), ),
        'culv_ring_release() for a CUDA side. It also makes `stream` signal. After an error the side\nstill holds the frame.\nErrors: as culv_ring_release() and culv_semaphore_signal().\nOwnership: as culv_ring_release().\nThreads: one at a time for each side.'),
    "culv_ring_semaphore": (c_void_p, (("ring", c_void_p), ("side", c_int), ),
        "Returns CUDA's half of a side's timeline, for graphs (culv_graph_add_signal(),\nculv_graph_exec_set_wait()). Use it with the values of culv_ring_acquire() and\nculv_ring_release(). NULL when the timeline lacks a CUDA half, or for NULL.\nOwnership: whoever owns culv_ring_timeline::semaphore owns it.\nThreads: any."),
    "culv_ring_stop": (culv_result, (("ring", c_void_p), ),
        "Stops the ring for both sides, for good. A side that waits in culv_ring_acquire(), with a\ntimeout or without one, wakes up and gets RING_STOPPED; so does culv_ring_drain(). Later calls of\neither side get RING_STOPPED too. It waits for nothing and calls no driver, so it works when a\ndevice is lost. A second call does nothing.\n\nCall it to end threads that sleep in the ring. When they have ended, call culv_ring_drain(),\nwhich a stopped ring still allows, and destroy the ring. It works on the core of an API's ring,\ntoo. It does not free GPU work that waits: culv_ring_drain() with `force` does, and\nculv_vk_device_lost().\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: none; the ring stays yours.\nThreads: any, also while other threads are in calls of the ring."),
    "culv_ring_submit_failed": (culv_result, (("ring", c_void_p), ("side", c_int), ("frame", c_void_p), ),
        "Tells the ring that the submission of a frame failed after culv_ring_release() had handed the\nframe over. The side then holds the frame again. The other side may have the slot by now, and its\nGPU work waits for frame->signal_value. So submit the frame's work once more: call\nculv_ring_release(), which sets the same signal_value, and submit. culv_ring_cancel() is refused.\nA side that cannot submit any more ends the wait by culv_ring_drain() with `force`; when its\ndevice is lost, say so (culv_vk_device_lost()) or stop the ring (culv_ring_stop()).\n\nOnly for the frame that the side released last, before its next acquire. Calls that submit by\nthemselves (culv_ring_release_on(), culv_vk_ring_submit()) release nothing when they fail.\nErrors: INVALID (NULL_ARGUMENT; RING_ORDER: the side released another frame last, or holds one;\nRING_SIDE), ASYNC (RING_STOPPED).\nOwnership: the side must release the frame again.\nThreads: one at a time for each side."),
    "culv_semaphore_destroy": (culv_result, (("semaphore", c_void_p), ),
        "Destroys the semaphore and sets *semaphore to NULL. Its signals and waits should be done. NULL,\nor a pointer to NULL, is a no-op.\n\nThe driver WAITS in this call for all CUDA work of the context, and other threads cannot submit\nany meanwhile. It waits for ever if a stream waits for a value that nobody has submitted yet.\nculv_semaphore_destroy_after() does not wait.\nErrors: INVALID (OWNED: Culvert made the semaphore itself (culv_shared_semaphore_cuda()); nothing\nhappens, and the pointer keeps its value).\nOwnership: *semaphore is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: CUDA guide 3.2.16: all outstanding signals and waits must complete before the\ndestruction; measured, docs/measured/nvidia-measured.md: cuDestroyExternalSemaphore waits for the\ncontext."),
    "culv_semaphore_destroy_after": (culv_result, (("semaphore", c_void_p), ("last_use", c_void_p), ),
        "Like culv_semaphore_destroy(), but DEFERS and never waits. Culvert releases the driver's import\nafter `last_use` has done the work that has been submitted to it so far. The release happens in a\nlater culv_device_collect(), culv_buffer_unmap(), culv_semaphore_destroy() or\nculv_device_get_counts(), or when the device goes; those calls may wait in the driver. The stream\nmust belong to the device's context. Culvert can record nothing on a stream in capture, so the\nrelease then waits for all CUDA work.\nErrors: as culv_semaphore_destroy().\nOwnership: *semaphore is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_semaphore_get_type": (c_int, (("semaphore", c_void_p), ),
        "Returns the semaphore's type. CULV_SEMAPHORE_NONE for NULL.\nThreads: any."),
    "culv_semaphore_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports a semaphore and BORROWS its handle.\nErrors: as culv_semaphore_import_take().\nOwnership: the handle stays yours, and you may close it right after the call. *out is yours; give\nit to culv_semaphore_destroy().\nThreads: any.'),
    "culv_semaphore_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports a semaphore and TAKES its handle.\nErrors: INVALID (HANDLE_BAD, HANDLE_KIND, DEVICE_MISMATCH, VALUE ...), UNSUPPORTED, DRIVER\n(HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the handle becomes Culvert's after CULV_OK; after an error it is still yours and open.\n*out is yours; give it to culv_semaphore_destroy().\nThreads: any.\nSource: cuda.h, cuImportExternalSemaphore."),
    "culv_semaphore_last_value": (c_uint64, (("semaphore", c_void_p), ),
        "Returns the highest value that was signaled through this object, imported with it or reported to\nit. 0 for NULL and for binary semaphores. This is not the timeline's counter: the work that\nsignals the value may not have run yet.\nThreads: any."),
    "culv_semaphore_mark_signaled": (culv_result, (("semaphore", c_void_p), ),
        "Tells Culvert that the other API's SIGNAL of a binary semaphore was submitted (vkQueueSubmit).\nCall it after that submission and before CUDA's wait.\n\nBy itself Culvert sees only CUDA's half of a binary semaphore's life. With this call and\nculv_semaphore_mark_waited() it knows both halves. It then refuses what would hang or leave the\nsemaphore undefined: a second signal before the wait, a second wait, a wait before the signal, a\nCUDA wait for CUDA's own signal. (Culvert does not check the other API's waits for its own\nsignals.) Each object keeps its own account, so import a semaphore only once.\n\nculv_semaphore_desc::untracked turns the account off and makes these two calls no-ops. Use it in\na stream capture, whose graph may run many times, and wherever else the account does not fit. An\nerror changes nothing: call again when the statement is true.\nErrors: INVALID (DOUBLE_SIGNAL; VALUE: the semaphore is a timeline).\nThreads: any.\nSource: Vulkan specification, VUID-vkQueueSubmit-pSignalSemaphores-00067; CUDA guide 3.2.16."),
    "culv_semaphore_mark_value": (None, (("semaphore", c_void_p), ("value", c_uint64), ),
        'Timelines: tells Culvert that others (a vkQueueSubmit, a vkSignalSemaphore) have signaled\n`value` or promised to signal it. A later culv_semaphore_signal() that would step back behind it\nis refused. Values lower than a known one are ignored, and so are binary semaphores and NULL.\nThreads: any.'),
    "culv_semaphore_mark_waited": (culv_result, (("semaphore", c_void_p), ),
        "Tells Culvert that the other API's WAIT for a binary semaphore was submitted. Call it after that\nsubmission and before CUDA's next signal. See culv_semaphore_mark_signaled().\nErrors: INVALID (WAIT_BEFORE_SIGNAL; VALUE: the semaphore is a timeline).\nThreads: any.\nSource: Vulkan specification, VUID-vkQueueSubmit-pWaitSemaphores-00068."),
    "culv_semaphore_sharing": (c_int, (("semaphore", c_void_p), ),
        "How CUDA reaches a semaphore; SHARED for NULL. PEER: signals and waits run on the other GPU, and\nevents tie them to the caller's stream. HOST: host functions in the stream signal and wait. A\npending wait then blocks a thread of the CUDA driver, and with it the host functions of other\nstreams. No such wait may depend on another stream's host function.\nThreads: any."),
    "culv_semaphore_signal": (culv_result, (("semaphore", c_void_p), ("stream", c_void_p), ("value", c_uint64), ),
        "Makes `stream` signal the semaphore when it gets there. It sets a timeline to `value`, or a\nbinary semaphore to signaled (`value` is then 0). Whoever waits for the signal sees what the\nstream did before it. A NULL stream is CUDA's legacy default stream, even in code that was built\nwith per-thread default streams. Allocates nothing and takes no lock.\nErrors: INVALID (TIMELINE_BACKWARDS: the value must exceed every value that was signaled through\nthis object or reported with culv_semaphore_mark_value(), because NVIDIA's driver steps back\nsilently; DOUBLE_SIGNAL; VALUE: a value for a binary semaphore; STREAM_DEVICE), DRIVER, ASYNC.\nThreads: any, one at a time for each semaphore.\nSource: cuda.h, cuSignalExternalSemaphoresAsync."),
    "culv_semaphore_signal_batch": (culv_result, (("points", c_void_p), ("count", c_uint32), ("stream", c_void_p), ),
        'Signals several semaphores of one device with one driver call. See culv_semaphore_signal(). It\nis all or nothing: after an error none is signaled. count may be 0. Allocates nothing and takes\nno lock.\n\nOn the PEER and HOST paths (culvert/fallback.h) each point takes calls of its own. A refusal by\nCulvert still changes nothing, but after DRIVER or ASYNC the first points may be signaled.\nErrors: as culv_semaphore_signal(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX points, or\none semaphore twice; DEVICE_MISMATCH: semaphores of different devices).\nOwnership: none; `points` is read during the call.\nThreads: any, one at a time for each semaphore.'),
    "culv_semaphore_wait": (culv_result, (("semaphore", c_void_p), ("stream", c_void_p), ("value", c_uint64), ),
        "Makes `stream` wait until a timeline has reached `value`, or until a binary semaphore is\nsignaled, which resets it (`value` is then 0). The host does not wait.\n\nA timeline's signal may be submitted after the wait. Vulkan's timelines allow that. The CUDA\nguide does not say so, but it was measured on an H200. A binary semaphore's signal must be\nsubmitted before the wait.\nErrors: INVALID (WAIT_BEFORE_SIGNAL, SAME_SIDE, VALUE, STREAM_DEVICE), DRIVER, ASYNC.\nThreads: any, one at a time for each semaphore.\nSource: cuda.h, cuWaitExternalSemaphoresAsync: for every signal there can only be one wait."),
    "culv_semaphore_wait_batch": (culv_result, (("points", c_void_p), ("count", c_uint32), ("stream", c_void_p), ),
        'Waits for several semaphores of one device with one driver call. See culv_semaphore_wait(). It\nis all or nothing: after an error none is waited for. count may be 0. Allocates nothing and takes\nno lock.\n\nOn the PEER and HOST paths (culvert/fallback.h) each point takes calls of its own. A refusal by\nCulvert still changes nothing, but after DRIVER or ASYNC the first points may be waited for.\nErrors: as culv_semaphore_wait(); INVALID (VALUE: more than CULV_SEMAPHORE_BATCH_MAX points, or\none semaphore twice; DEVICE_MISMATCH: semaphores of different devices).\nOwnership: none; `points` is read during the call.\nThreads: any, one at a time for each semaphore.'),
    "culv_shared_buffer_cuda": (c_void_p, (("buffer", c_void_p), ),
        "CUDA's half of the buffer: its pointer and size. NULL for NULL.\nOwnership: Culvert's, valid until the buffer is destroyed; culv_buffer_unmap() refuses it.\nThreads: any."),
    "culv_shared_buffer_destroy": (culv_result, (("buffer", c_void_p), ),
        "Unmaps the buffer from CUDA, gives the import up, destroys the API's buffer and frees its\nmemory, in this order. Sets *buffer to NULL. NULL, or a pointer to NULL, is a no-op.\n\nThe API's use of the buffer must be over, as for vkDestroyBuffer; OpenGL keeps the memory until\nits own work is done. CUDA's use should be over: the call may wait for it, as\nculv_buffer_unmap() describes. For a buffer in host memory CUDA's use must be over too (no text\nsays that unregistering waits); its pages are freed last.\nErrors: INVALID (OWNED: it is a part of a ring, a bridge or a shadow; CONTEXT: it is OpenGL's,\nand no context of its attachment is current on this thread). Nothing is done then, and *buffer\nstays.\nOwnership: *buffer is Culvert's again, unless the call failed.\nThreads: any, and for OpenGL's the context's; ordered with other calls on this object and with\nthe destruction of its VkDevice."),
    "culv_shared_buffer_destroy_after": (culv_result, (("buffer", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_shared_buffer_destroy(), but never waits for CUDA. The mapping is released\nas culv_buffer_unmap_after() describes, and keeps the pages until then, also your own pages of\nculv_vk_buffer_create_desc::host_pointer. The API's use must be over now. With HOST\n(culvert/fallback.h) the memory of the copies may be the API's: it is freed with the mapping, at\nthe latest when you detach. After that, the call that destroys the last object of the attachment\nwaits.\nErrors: as culv_shared_buffer_destroy().\nOwnership: as there.\nThreads: as there."),
    "culv_shared_buffer_pointer": (c_uint64, (("buffer", c_void_p), ),
        "The first byte of the buffer in CUDA: culv_buffer_pointer() of culv_shared_buffer_cuda(). 0 for\nNULL.\nOwnership: Culvert's, valid until the buffer is destroyed.\nThreads: any."),
    "culv_shared_image_cuda": (c_void_p, (("image", c_void_p), ),
        "CUDA's half of the image: its arrays, surfaces and textures. NULL for NULL.\nOwnership: Culvert's, valid until the image is destroyed; culv_image_unmap() refuses it.\nThreads: any."),
    "culv_shared_image_destroy": (culv_result, (("image", c_void_p), ),
        'Does the same as culv_shared_buffer_destroy() for an image. Destroy your views of it first.\nErrors: as culv_shared_buffer_destroy().\nOwnership: as there.\nThreads: as there.'),
    "culv_shared_image_destroy_after": (culv_result, (("image", c_void_p), ("last_use", c_void_p), ),
        'Does the same as culv_shared_buffer_destroy_after() for an image. Destroy your views of it\nfirst.\nErrors: as culv_shared_buffer_destroy().\nOwnership: as there.\nThreads: as there.'),
    "culv_shared_semaphore_cuda": (c_void_p, (("semaphore", c_void_p), ),
        "CUDA's half of the semaphore, for culv_semaphore_signal() and culv_semaphore_wait(). NULL for\nNULL.\nOwnership: Culvert's, valid until the semaphore is destroyed; culv_semaphore_destroy() refuses\nit.\nThreads: any."),
    "culv_shared_semaphore_destroy": (culv_result, (("semaphore", c_void_p), ),
        "Destroys CUDA's import and the API's semaphore, and sets *semaphore to NULL. The API's use of it\nmust be over, as for vkDestroySemaphore. CUDA's use should be over: the call waits for it, as\nculv_semaphore_destroy() does. NULL, or a pointer to NULL, is a no-op.\nErrors: as culv_shared_buffer_destroy().\nOwnership: *semaphore is Culvert's again, unless the call failed.\nThreads: as culv_shared_buffer_destroy()."),
    "culv_shared_semaphore_destroy_after": (culv_result, (("semaphore", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_shared_semaphore_destroy(), but never waits for CUDA, as\nculv_semaphore_destroy_after() describes. The API's use must be over now. On the HOST path\n(culvert/fallback.h) the API's semaphore goes when no host function is on its way, and at the\nlatest when you detach. After that, this call waits when it destroys the last object of the\nattachment.\nErrors: as culv_shared_buffer_destroy().\nOwnership: as culv_shared_semaphore_destroy().\nThreads: as culv_shared_buffer_destroy()."),
    "culv_shared_semaphore_wait_on_host": (culv_result, (("semaphore", c_void_p), ("value", c_uint64), ("timeout", c_uint64), ),
        "Waits on the host until a timeline has reached `value`, whichever side signals it, and at most\n`timeout` nanoseconds (0: it only asks). Call it before culv_semaphore_wait(), or before a\nsubmission that waits: then the GPU waits for nothing. It does not replace that wait, which also\nmakes the other side's writes visible. docs/waits.md says what it costs, and when to take it.\nErrors: INVALID (NULL_ARGUMENT; VALUE: it is a binary semaphore), TIMEOUT (NOT_READY),\nUNSUPPORTED (EXTENSION_MISSING: the device has no timelines that the host can wait for), DRIVER,\nASYNC (DEVICE_LOST).\nThreads: any, more than one at the same time too.\nSource: Vulkan specification, vkWaitSemaphores; ID3D12Fence::SetEventOnCompletion."),
    "culv_sharing_name": (c_char_p, (("sharing", c_int), ),
        'The name of a way of sharing, "SHARED".\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_soft_enable": (culv_result, (),
        "Allows the twin for this process, as the environment variable CULVERT_SOFT=1 does. It also lets\nthe Vulkan loader find the twin's layer in a build tree, a bundle or an installation in a\ndirectory of its own: the twin's library adds that directory to VK_ADD_LAYER_PATH, or to\nVK_LAYER_PATH where that is set. culv_vk_instance_layers() does the same, so a program that calls\nit needs this call only to allow the twin in code. Call it at the start of main, before\nvkCreateInstance and before the program starts other threads. A second call does nothing.\nErrors: UNSUPPORTED (SOFT_MISSING) when the twin's library is not found. Culvert looks for it\nbeside its own library (a static one is in the program), in CULVERT_SOFT_PATH, and then where the\nsystem's linker looks.\nThreads: one, before all others."),
    "culv_soft_enabled": (c_uint32, (),
        '1 when the process may use the twin: CULVERT_SOFT=1 is set, or culv_soft_enable() succeeded.\nCULVERT_SOFT set to 0, off, no, false or nothing allows nothing.\nThreads: any.'),
    "culv_sparse_array_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a sparse array, without memory. Culvert refuses 1D arrays and cubes, because CUDA has no\nsparse ones (cuda.h, cuMemMapArrayAsync).\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, EXTENT), UNSUPPORTED (VMM: the device has no\nsparse arrays; FORMAT: no CUDA array has it, or this driver's arrays lack it; USAGE: surfaces;\nDRIVER_TOO_OLD), DRIVER (FORMAT: the driver makes no sparse array of this format or size), ASYNC,\nOUT_OF_MEMORY.\nOwnership: *out is yours, for culv_sparse_array_destroy().\nThreads: any.\nSource: cuda.h, cuArray3DCreate, cuMipmappedArrayCreate, CUDA_ARRAY3D_SPARSE."),
    "culv_sparse_array_destroy": (None, (("array", c_void_p), ),
        "Gives the array up and sets *array to NULL. NULL, or a pointer to NULL, is a no-op. All its\ntiles are unmapped with it. The work that uses the array should be done: the driver may wait for\nthe context's work. culv_sparse_array_destroy_after() does not wait.\nOwnership: *array is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: measured, docs/measured/nvidia-measured.md: cuMipmappedArrayDestroy waits for the\ncontext."),
    "culv_sparse_array_destroy_after": (None, (("array", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_sparse_array_destroy(), but DEFERS the release and never waits: see\nculv_buffer_unmap_after().\nOwnership: *array is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_sparse_array_get_info": (culv_result, (("array", c_void_p), ("out", c_void_p), ),
        "Fills *out with the shape of the array's tiles and of its mip tail.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: a copy, yours.\nThreads: any.\nSource: cuda.h, cuArrayGetSparseProperties, cuMipmappedArrayGetSparseProperties."),
    "culv_sparse_array_get_level": (culv_result, (("array", c_void_p), ("level", c_uint32), ("out", c_void_p), ),
        "The CUDA array of a level with all its layers (or slices), for copies. Level 0 of a CUarray is\nthe CUarray itself. Copy only to and from mapped tiles.\nErrors: INVALID (NULL_ARGUMENT, LEVEL), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: Culvert's, valid until the array is given up; never destroy it.\nThreads: any.\nSource: cuda.h, cuMipmappedArrayGetLevel."),
    "culv_sparse_array_get_region_size": (culv_result, (("array", c_void_p), ("region", c_void_p), ("out", c_void_p), ),
        "Bytes of pool that a region takes. Tiles at the level's edges count as whole tiles.\nErrors: INVALID (NULL_ARGUMENT; LEVEL: the level does not exist, or lies in the mip tail; RANGE:\nlayer, offsets or extents).\nThreads: any."),
    "culv_sparse_array_handle": (c_void_p, (("array", c_void_p), ),
        "The driver's array, for copies and texture objects. NULL for NULL and for a mipmapped array.\nNever destroy it.\nOwnership: Culvert's, valid until the array is given up.\nThreads: any."),
    "culv_sparse_array_mipmapped_handle": (c_void_p, (("array", c_void_p), ),
        "The driver's mipmapped array, for texture objects. NULL for NULL and for an array without\nlevels. Never destroy it.\nOwnership: Culvert's, valid until the array is given up.\nThreads: any."),
    "culv_sparse_bind_batch": (culv_result, (("binds", c_void_p), ("count", c_uint32), ("stream", c_void_p), ),
        "Submits mappings and unmappings of one or several arrays of one device, as work in `stream`:\nwork that is submitted to the stream later may use the tiles. A tile that is already mapped is\nmapped again. Culvert checks all binds before it submits any. Tiles that follow each other go to\nthe driver in one call, and each mip tail goes in a call of its own (an H200 leaves a tail\nunmapped in one list with tiles: measured). After an error of the driver, the binds before the\nrefused one are submitted; the message counts them. The stream must belong to that device's\ncontext and must not be in capture, because CUDA's graphs have no node for it. count 0 is no\nerror.\nErrors: INVALID (NULL_ARGUMENT; VALUE: offsets or sizes that are not multiples; LEVEL: the level\ndoes not exist or lies in the mip tail, or there is no tail; RANGE: beyond the level, the layers,\nthe tail or the pool; USAGE: the pool was not made with CULV_VMM_USAGE_TILE_POOL;\nDEVICE_MISMATCH: arrays or a pool of different devices; STREAM_DEVICE, CAPTURE), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nThreads: any.\nSource: cuda.h, cuMemMapArrayAsync."),
    "culv_torch_free": (None, (("pointer", c_void_p), ("size", c_long), ("device", c_int), ("stream", c_void_p), ),
        'Frees what culv_torch_malloc() returned. It waits until `stream` has done what was submitted to\nit, as cudaFree() does for all streams: an allocator gives memory back while the stream may still\nuse it. Work of other streams must be over, or be waited for in `stream` (PyTorch\'s\nrecord_stream). Where `stream` is being captured, the call waits for nothing and leaves the\ncapture as it is: the memory is the graph\'s from then on. It is freed by the first\nculv_torch_malloc() or culv_torch_free() after the graph has gone, what was instantiated from it,\nand what of that was running; that call waits for all work of the context. What the driver\nrefuses to take back is tried again by later calls. What graphics APIs have imported stays\ntheirs. NULL is a no-op.\nErrors: none; culv_last_error() and the log say so when the pointer is not of\nculv_torch_malloc().\nOwnership: the memory is gone.\nThreads: any.\nSource: CUDA programming guide, "CUDA User Objects"; measured, docs/measured/nvidia-measured.md\n(calls_during_capture).'),
    "culv_torch_malloc": (c_void_p, (("size", c_long), ("device", c_int), ("stream", c_void_p), ),
        'Allocates memory of a device that can be exported. The memory is ready at once, in all streams.\nIt lies at a multiple of the granularity (2 MiB). The first call for a device opens it, and it\nstays open until the process ends.\nErrors: NULL; culv_last_error() of this thread has the reason. A size of 0 or less is NULL\nwithout an error, as with cudaMalloc().\nOwnership: the memory is yours, for culv_torch_free().\nThreads: any.\nSource: PyTorch, torch.cuda.memory.CUDAPluggableAllocator: void *(ssize_t, int, cudaStream_t).'),
    "culv_vector_committed": (c_uint64, (("vector", c_void_p), ),
        'Returns the number of bytes of memory behind the vector. 0 for NULL.\nThreads: any.'),
    "culv_vector_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a vector. desc may be NULL for the default.\nErrors: as culv_vmm_range_create(), culv_vmm_allocation_create() and culv_vmm_map(); INVALID\n(VALUE: min_chunk is above max_chunk, or a usage is wrong).\nOwnership: *out is yours; give it to culv_vector_destroy().\nThreads: any.'),
    "culv_vector_destroy": (None, (("vector", c_void_p), ),
        "Destroys the vector, including its old addresses, and sets *vector to NULL. Does NOT wait: the\nGPU's work with the vector should be done. In a space (culvert/vulkan_space.h) Vulkan's half goes\nin a later call for the space. What Vulkan or another process imported stays theirs,\nand with tensors (culvert/dlpack.h) all of it stays until the last one goes. NULL, or a pointer\nto NULL, is a no-op.\nOwnership: *vector is Culvert's again.\nThreads: any, after the last call."),
    "culv_vector_destroy_after": (None, (("vector", c_void_p), ("last_use", c_void_p), ),
        "Like culv_vector_destroy(), but DEFERS. The memory goes after `last_use` has done the work that\nhas been submitted to it so far, as with culv_vmm_unmap_after().\nErrors: none. When the stream is in capture, Culvert cannot see its progress: the memory then\ngoes with the device, and counts as deferred until then.\nOwnership: *vector is Culvert's again.\nThreads: any, after the last call."),
    "culv_vector_generation": (c_uint64, (("vector", c_void_p), ),
        'Returns a number that counts changes of the chunks and of the address, from 1 on. 0 for NULL. A\nside that has already seen this number has nothing to import.\nThreads: any.'),
    "culv_vector_get_chunks": (culv_result, (("vector", c_void_p), ("chunks", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ("generation", c_void_p), ),
        'Lists the chunks by offset. Writes up to `capacity` of them into chunks (NULL when capacity is\n0), and sets *count to the number of chunks. Sets *generation (which may be NULL) to the\ngeneration of this list.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the copies are yours; the vector owns the allocations in them.\nThreads: any.'),
    "culv_vector_get_dlpack": (culv_result, (("vector", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a tensor of a vector's present size at its present address. desc may be NULL for the\ndefault. The vector may grow meanwhile, and the tensor stays as it is. While the tensor lives,\nculv_vector_shrink() does not take its memory away and culv_vector_retire() does not take its\naddress away (BUSY). When the vector is destroyed, its memory stays until its last tensor goes.\n\nThe deleter of the last tensor of a destroyed vector waits for all CUDA work of the context, and\nbreaks no stream capture. If the driver refuses to wait, the memory stays until a later\nculv_device_collect().\nErrors: as culv_buffer_get_dlpack().\nOwnership: *out is yours; give it to a consumer, or call its deleter.\nThreads: any, but not during a call that changes the vector."),
    "culv_vector_get_stats": (culv_result, (("vector", c_void_p), ("out", c_void_p), ),
        'Fills *out with what the vector has and what it did.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_vector_grow": (culv_result, (("vector", c_void_p), ("size", c_uint64), ),
        'Makes the vector at least `size` bytes long. It commits what is missing, or publishes what was\ncommitted ahead. Kernels that use the vector go on. A smaller size does nothing; it does not\nshrink the vector. When there is no memory for a chunk of the size that the descriptor asks for,\na chunk of what is missing is enough. After an error nothing has changed, not even the number of\ncommitted bytes.\nErrors: INVALID (NULL_ARGUMENT; SIZE: it overflows), OUT_OF_MEMORY (DEVICE_MEMORY, HOST_MEMORY;\nADDRESS: no_move is set, or there are no addresses), BUSY (MAPPED: the driver does not take back\nwhat a shrink gave up there), DRIVER, ASYNC.\nThreads: one at a time.'),
    "culv_vector_pointer": (c_uint64, (("vector", c_void_p), ),
        'Returns the address of the first byte. 0 for NULL. Only a move changes it.\nOwnership: the vector owns the memory; never pass it to cuMemFree.\nThreads: any.'),
    "culv_vector_reserve": (culv_result, (("vector", c_void_p), ("size", c_uint64), ),
        'Makes room for at least `size` bytes of addresses, in place or by moving. Commits nothing.\nErrors: as culv_vector_grow().\nThreads: one at a time.'),
    "culv_vector_retire": (culv_result, (("vector", c_void_p), ("before", c_uint64), ("last_use", c_void_p), ),
        'Gives an old address up. It DEFERS: the address goes after `last_use` has done the work that has\nbeen submitted to it so far. `before` is what culv_vector_moved reported. 0: all old addresses.\nErrors: INVALID (NULL_ARGUMENT; VALUE: not an old address of this vector; CAPTURE,\nSTREAM_DEVICE), BUSY (OWNED: a tensor has it), DRIVER, ASYNC. After an error you can retire the\nremaining ones again.\nThreads: one at a time.\nSource: rule: kernels that still use an old address go on until the caller says that none\ndoes.'),
    "culv_vector_shrink": (culv_result, (("vector", c_void_p), ("size", c_uint64), ("last_use", c_void_p), ),
        "Makes the vector `size` bytes long, if it is longer. With the vector's own size it gives back\nwhat was committed beyond it. Never waits for the GPU.\n\nThe call gives back chunks that lie completely beyond `size` and beyond what is kept ahead, at\nold addresses too. It DEFERS, as culv_vmm_unmap_after(): the chunks go after `last_use` has done\nthe work that has been submitted to it so far. Only then can their addresses be committed again.\nA grow that comes earlier waits on the host for that stream, and the log says so.\n\nAfter an error nothing has changed. When the driver refuses only part of the work, that part\nstays committed, or stays at an old address until you retire it, and the log says so.\nErrors: INVALID (NULL_ARGUMENT, CAPTURE, STREAM_DEVICE), BUSY (OWNED: a tensor of\nculv_vector_get_dlpack() has a part of what would go), DRIVER, ASYNC.\nThreads: one at a time."),
    "culv_vector_size": (c_uint64, (("vector", c_void_p), ),
        'Returns the number of bytes in use. 0 for NULL.\nThreads: any.'),
    "culv_vector_view_destroy": (culv_result, (("view", c_void_p), ),
        "Destroys the view with its buffers and sets *view to NULL, before or after the vector goes.\nNULL, or a pointer to NULL, is a no-op.\n\nThe API's work with the buffers must be done; OpenGL keeps the memory until its own work is done.\nErrors: INVALID (CONTEXT: it is OpenGL's, and no context of its attachment is current on this\nthread). Nothing is done then, and *view stays.\nOwnership: *view is Culvert's again, unless the call failed.\nThreads: any, and for OpenGL's the context's; ordered with other calls on this view and with the\ndestruction of its VkDevice."),
    "culv_vector_view_generation": (c_uint64, (("view", c_void_p), ),
        'Returns the generation of the vector that the view shows. 0 for NULL.\nThreads: any.'),
    "culv_vector_view_update": (culv_result, (("view", c_void_p), ),
        "Imports new chunks, and drops the buffers of chunks that are gone. No work of the API may still\nuse those, except OpenGL's. The other buffers stay as they are, with the same handles or names.\n\nThe call does nothing when the view already has the vector's generation, and it imports nothing\nwhen the vector only moved. A sparse view of Vulkan binds in one batch on its queue, unbinds what\nis gone, and waits on the host until that is done. After an error the view has what it had. After\nculv_vector_destroy() the view keeps what it has, and the memory goes with the view.\nErrors: as the call that made the view; INVALID (NULL_ARGUMENT; VALUE: the vector was destroyed;\nCONTEXT, as culv_vector_view_destroy()), OUT_OF_MEMORY, DRIVER, ASYNC.\nThreads: one at a time, and not during a call that changes the vector; for OpenGL's, the\ncontext's; with a sparse queue, ordered with other uses of that queue."),
    "culv_version": (c_uint32, (),
        'The version of the library in use, coded as CULV_MAKE_VERSION does.\nThreads: any.'),
    "culv_version_string": (c_char_p, (),
        'The version of the library in use as text, "0.1.0".\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_vk_adopted_create": (culv_result, (("vk", c_void_p), ("adopted", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes Vulkan's view of an adopted range. A chunk's buffer is made and imported once for each\nusage, and shared by all views of it in this VkDevice: two tensors in one chunk have the same\nVkBuffer.\nErrors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage); UNSUPPORTED (NOT_EXPORTABLE: the\ndevice exports no buffers of such a usage).\nOwnership: *out is yours; give it to culv_vk_adopted_destroy(), before or after the range goes.\nThreads: any; with a sparse queue, ordered with other uses of that queue."),
    "culv_vk_adopted_destroy": (None, (("view", c_void_p), ),
        "Destroys the view and sets *view to NULL. Vulkan's work with its buffers must be done. NULL, or\na pointer to NULL, is a no-op.\nOwnership: Culvert owns the view again, and its buffers are gone unless another view has them.\nThreads: any, ordered with other calls on this object."),
    "culv_vk_adopted_get_buffers": (culv_result, (("view", c_void_p), ("parts", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Lists the parts by address. Writes up to `capacity` of them into parts (NULL when capacity is\n0), and sets *count to their number: 1 for a sparse buffer and for a range in one chunk.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: Culvert owns the buffers.\nThreads: any.'),
    "culv_vk_attach": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Attaches your VkDevice to the culv_device of the same GPU.\nErrors: INVALID (DEVICE_MISMATCH, DEVICE_GROUP, EXTENSION_MISSING, LAYER_MISSING, VULKAN_VERSION\n...), UNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0), DRIVER, OUT_OF_MEMORY.\nOwnership: the Vulkan handles stay yours and must outlive *out. *out is yours; give it to\nculv_vk_detach().\nThreads: any.'),
    "culv_vk_buffer_address": (c_uint64, (("buffer", c_void_p), ),
        "Returns the address of a buffer's first byte in Vulkan, for kernels in command buffers and for\nshaders. CUDA's is culv_shared_buffer_pointer(), and the two differ. 0 when the buffer has none:\nit was made without VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and without\nculv_vk_device_desc::kernels. 0 for NULL. A ring's buffer is culv_vk_ring_buffer().\nOwnership: the buffer's.\nThreads: any.\nSource: VUID-VkBufferDeviceAddressInfo-buffer-02601."),
    "culv_vk_buffer_bind_vmm": (culv_result, (("vk", c_void_p), ("buffer", c_void_p), ("allocation", c_void_p), ("offset", c_uint64), ("out", c_void_p), ),
        "Imports a VMM allocation into Vulkan and binds your buffer to it, `offset` bytes into the\nallocation. It checks the alignment, the size, the memory type, and whether the buffer requires a\ndedicated allocation. You may bind several buffers to one allocation.\n\nA buffer that needs all of the allocation gets it dedicated, and is of the fast kind. Another one\ncannot be: Vulkan takes dedicated memory for a whole allocation only. Where it needs\nCULV_SLOW_KIND_BYTES or more, a warning in the log says so. Make the buffer as large as the\nallocation, and use ranges of it.\n\nNot for buffers with SHADER_DEVICE_ADDRESS: bind those yourself to memory of\nculv_vk_memory_from_vmm() with allocate_flags.\nErrors: as culv_vk_memory_from_vmm(); INVALID (RANGE: offset and the buffer's size leave the\nallocation; VALUE: offset is not a multiple of VkMemoryRequirements::alignment; DEDICATED:\nrequired, but the buffer does not need all of the allocation).\nOwnership: *out is yours; give it to vkFreeMemory() after vkDestroyBuffer(). After an error the\nbuffer is unbound.\nThreads: any, ordered with other uses of the buffer."),
    "culv_vk_buffer_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a buffer with exportable memory of its own, imports the memory into CUDA and maps it: all\nor nothing. With `host_memory` the buffer lies in host memory that Vulkan, CUDA and the CPU use\nin place. With `fallback`, where sharing is impossible, either side has memory of its own, with\ncopies in between (culv_buffer_sharing() tells).\nErrors: INVALID (SIZE, USAGE: sparse or protected; MEMORY_TYPE; VALUE and RANGE: of `host_memory`\nand `fallback`; DEVICE_MISMATCH: the VkDevice is another GPU, and there is no `fallback`),\nUNSUPPORTED (NOT_EXPORTABLE, EXTENSION_MISSING; PEER where no fallback is left; with\n`host_memory` EXTENSION_MISSING, USAGE, DEDICATED), DRIVER (a Vulkan or CUDA call failed; CUDA\nalready has pages of host_pointer), ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive, and\nyour VkDevice must outlive it.\nThreads: any.\nSource: VkExportMemoryAllocateInfo, VkMemoryDedicatedRequirements.'),
    "culv_vk_buffer_get_barrier": (culv_result, (("transfer", c_void_p), ("direction", c_int), ("out", c_void_p), ),
        'Does the same as culv_vk_buffer_get_barrier2(), in the form of Vulkan 1.0.\nErrors: as culv_vk_buffer_get_barrier2(); VALUE also for a stage or access that only\nsynchronization2 has.\nOwnership: *out is yours.\nThreads: any.'),
    "culv_vk_buffer_get_barrier2": (culv_result, (("transfer", c_void_p), ("direction", c_int), ("out", c_void_p), ),
        'Fills *out with the queue-family ownership transfer of a buffer between a Vulkan queue and CUDA.\nRelease: record it after Vulkan\'s last use, in a submission that signals the timeline that CUDA\nwaits for. Acquire: record it before Vulkan\'s first use, in a submission that waits for the\ntimeline that CUDA signaled. A buffer that CUDA writes first needs no release before that, but\nthe acquire. Between a kernel and another use in the same queue (CULV_VK_QUEUE_FAMILY_KERNEL) no\nsemaphore is needed.\nErrors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; VALUE: an unknown direction, a use of images, the\nstage or an access of the host, no queue family or a special one; RANGE: offset and size\noverflow).\nOwnership: *out is yours.\nThreads: any.\nSource: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL.'),
    "culv_vk_buffer_graph_memory": (culv_vk_graph_memory, (("buffer", c_void_p), ),
        "Returns the memory of a buffer of Culvert's. Its address is 0, which culv_vk_record_graph()\nrefuses, where culv_vk_buffer_address() is 0. All zero for NULL.\nThreads: any."),
    "culv_vk_buffer_handle": (c_void_p, (("buffer", c_void_p), ),
        "The VkBuffer. Bind it, view it and describe it as your own, but never destroy it. VK_NULL_HANDLE\nfor NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_vk_buffer_host_pointer": (c_void_p, (("buffer", c_void_p), ),
        'The CPU\'s address of a buffer in host memory (culv_vk_buffer_create_desc::host_memory):\nhost_pointer, or Culvert\'s own pages, which are zero at first. The CPU and the GPUs see each\nother\'s writes when those are ordered: docs/vulkan-memory.md, "Host memory". NULL for other\nbuffers and for NULL.\nOwnership: Culvert\'s, or yours for host_pointer; valid until the buffer is destroyed.\nThreads: any.'),
    "culv_vk_buffer_memory": (c_void_p, (("buffer", c_void_p), ("size", c_void_p), ),
        "The VkDeviceMemory behind the buffer, bound at offset 0, for vkMapMemory. VK_NULL_HANDLE for\nNULL. The call sets *size to its allocationSize in bytes; size may be NULL.\nOwnership: Culvert's: never free it.\nThreads: any."),
    "culv_vk_buffer_record_download": (culv_result, (("buffer", c_void_p), ("commands", c_void_p), ),
        "HOST path: records the copy of the VkBuffer to the place that culv_buffer_download() reads from.\nRecord it outside of render passes, after Vulkan's last use and before the release barrier.\nErrors: INVALID (NULL_ARGUMENT).\nThreads: the thread that records the command buffer."),
    "culv_vk_buffer_record_upload": (culv_result, (("buffer", c_void_p), ("commands", c_void_p), ),
        'HOST path: records the copy of what culv_buffer_upload() sent into the VkBuffer, with the\nbarriers that it needs. Record it outside of render passes, after the acquire barrier and before\nVulkan\'s first use. The copy waits for earlier uses in the same queue, and later uses wait for\nthe copy.\nErrors: INVALID (NULL_ARGUMENT).\nThreads: the thread that records the command buffer.\nSource: Vulkan specification, "Host Write Ordering Guarantees".'),
    "culv_vk_check_buffer": (culv_result, (("vk", c_void_p), ("create_info", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Checks whether a buffer that vkCreateBuffer would make from this struct can be shared, and how.\ndesc may be NULL. A refusal is an error; its message names the field and says what to do.\nculv_vk_buffer_create() refuses the same buffers with the same words. The chain may contain a\nVkExternalMemoryBufferCreateInfo or not. Culvert keeps the driver's answers, so asking again\ntakes a fraction of a microsecond.\nErrors: INVALID (VALUE, SIZE; USAGE: a usage or a flag; MEMORY_TYPE, DEDICATED; NOT_EXPORTABLE,\nHANDLE_TYPE: the chain does not fit; DEVICE_MISMATCH: the VkDevice is attached as another GPU),\nUNSUPPORTED (NOT_EXPORTABLE, HANDLE_TYPE, EXTENSION_MISSING), OUT_OF_MEMORY (DEVICE_MEMORY: no\nheap is that big).\nOwnership: the copy is yours.\nThreads: any.\nSource: Vulkan, vkGetPhysicalDeviceExternalBufferProperties,\nvkGetDeviceBufferMemoryRequirements."),
    "culv_vk_check_dma_buf": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ),
        "Says whether such a bridge can be made, without making it and without looking at the handle: the\nerror's message says what is missing.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: fourcc and format, direction, queue family,\nplanes, what only one of the two kinds has; MODIFIER: the implicit one, or another number of\nplanes than the modifier has; EXTENT: an extent of 0; RANGE: a row is longer than its pitch, or\noffsets overflow), UNSUPPORTED (FORMAT: unknown, of several planes, or no CUDA array has it;\nEXTENSION_MISSING: the device or the VkDevice lacks one; MODIFIER: the device lacks it for this\nformat or this use; EXTENT: too large; NOT_EXPORTABLE: it is not imported, or not exported),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nThreads: any.\nSource: VkPhysicalDeviceImageDrmFormatModifierInfoEXT, VkExternalImageFormatProperties."),
    "culv_vk_check_image": (culv_result, (("vk", c_void_p), ("create_info", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Checks the same for an image that vkCreateImage would make. culv_vk_image_create() and\nculv_vk_image_map() make the same checks. What CUDA cannot map (multisampled, protected or sparse\nimages, formats without a CUDA array ...) is refused with the reason. Images of several planes\nmust be DISJOINT; others are refused as UNSUPPORTED (USAGE). LINEAR images are\nCULV_VK_ACCESS_PITCHED. They may have any format of culvert/format_list.h that Vulkan supports\nfor them, except depth and stencil in one.\nErrors: INVALID (VALUE, TILING; USAGE: a usage, a flag, samples or initialLayout; EXTENT: an\nextent, levels or layers; MEMORY_TYPE, NULL_ARGUMENT, DEDICATED; NOT_EXPORTABLE, HANDLE_TYPE: the\nchain does not fit; DEVICE_MISMATCH), UNSUPPORTED (FORMAT, NOT_EXPORTABLE; EXTENT: more than\nCUDA's arrays have; USAGE: 3D images as depth or stencil attachments; HANDLE_TYPE,\nEXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the copy is yours.\nThreads: any.\nSource: Vulkan, vkGetPhysicalDeviceImageFormatProperties2, VkExternalImageFormatProperties,\nvkGetDeviceImageMemoryRequirements; cuda.h, cuMipmappedArrayCreate."),
    "culv_vk_check_kernels": (culv_result, (("desc", c_void_p), ),
        'Says whether the physical device can run CUDA kernels in command buffers: it offers the\nextensions and the feature. With desc->device it also says whether that VkDevice was created with\nthe extensions. (No call tells whether it was created with the feature.) desc is as in\nculv_vk_merge_device_extensions().\nErrors: UNSUPPORTED (EXTENSION_MISSING: the message names what the device lacks; VULKAN_VERSION);\nINVALID (NULL_ARGUMENT, STRUCT_SIZE, VULKAN_VERSION; EXTENSION_MISSING: the VkDevice was created\nwithout an extension that the physical device has); DRIVER; OUT_OF_MEMORY.\nThreads: any.'),
    "culv_vk_check_space": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Checks whether the device can have such a space, as far as that can be told without making it.\ndesc may be NULL: then only the device is checked. out may be NULL. Only culv_vk_space_create()\ntells whether an address is free. Culvert sees what the device can do, and not which features you\nenabled.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a field of desc; SIZE: more than max_size),\nUNSUPPORTED (VMM: CUDA's device has no virtual memory management; USAGE: Vulkan's lacks a\nfeature, which the message names, or imports no memory for sparse buffers; EXTENSION_MISSING:\nmemory cannot be imported; VULKAN_VERSION: the device or the instance has less than Vulkan 1.2),\nDRIVER, ASYNC.\nOwnership: the copy is yours.\nThreads: any.\nSource: VkPhysicalDeviceSparseProperties, VkPhysicalDeviceBufferDeviceAddressFeatures."),
    "culv_vk_choose_physical_device": (culv_result, (("get_instance_proc_addr", c_void_p), ("instance", c_void_p), ("desc", c_void_p), ("out_physical_device", c_void_p), ("out_device", c_void_p), ),
        "Chooses the physical device that CUDA can reach, and opens the CUDA device that it is. It takes\nthe first one of culv_vk_rank_physical_devices(): NVIDIA's GPUs before the software twin,\ndiscrete ones before others. It never takes one that CUDA cannot reach. A program that draws to a\nwindow, or asks for more of a device, ranks them and chooses for itself.\n\ndesc limits the CUDA driver as in culv_device_open_by_uuid(); it may be NULL. out_device may be\nNULL: then the call opens no context.\nErrors: INVALID; NO_DEVICE, whose message says for every physical device why CUDA cannot reach it\n(the reason is that of the best one; DEVICE_UNKNOWN when Vulkan shows no device); DRIVER, ASYNC,\nUNSUPPORTED, OUT_OF_MEMORY as in culv_device_open_for_vk(). An error writes nothing.\nOwnership: *out_device is yours; give it to culv_device_close().\nThreads: any."),
    "culv_vk_cig_create": (culv_result, (("vk", c_void_p), ("queue", c_void_p), ("label", c_char_p), ("out", c_void_p), ),
        "Makes a CIG context beside a queue of Vulkan. You must have created the VkDevice with the\nextension VK_NV_external_compute_queue and with a VkExternalComputeQueueDeviceCreateInfoNV whose\nreservedExternalQueues is 1 or more. `queue` supports graphics commands; the work is expected to\noverlap with that queue's. The label may be NULL; it is copied (up to 63 bytes). The context is\nnot current on the calling thread afterwards. Culvert makes the VkExternalComputeQueueNV, and\ndestroys it after the context.\nErrors: INVALID (NULL_ARGUMENT; EXTENSION_MISSING: the VkDevice was created without the\nextension; DEVICE_MISMATCH: the attachment is to another GPU's device), UNSUPPORTED\n(DRIVER_TOO_OLD; CIG: the device lacks it, or Vulkan has no external queues), DRIVER (CIG),\nASYNC, OUT_OF_MEMORY.\nOwnership: the VkDevice and its queue stay yours and must outlive *out. *out is yours; give it to\nculv_cig_destroy().\nThreads: any.\nSource: cuda.h, cuCtxCreate_v4, CIG_DATA_TYPE_NV_BLOB; vkGetExternalComputeQueueDataNV."),
    "culv_vk_detach": (None, (("vk", c_void_p), ),
        "Gives the attachment up and sets *vk to NULL. Imports live on. NULL, or a pointer to NULL, is a\nno-op.\n\nAfterwards only objects that Culvert made with the attachment (culv_vk_buffer_create() and\nothers) make Vulkan calls, when you destroy them. When these are gone too, no deferred release\nmakes any. For that, on the HOST path (culvert/fallback.h), the last call waits for what the\n..._after() calls have deferred; it is either this call or a destroy.\nOwnership: *vk is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_vk_device_extensions": (c_uint32, (("api_version", c_uint32), ("capacity", c_uint32), ("out_names", c_void_p), ),
        "Lists the device extensions that Culvert needs. api_version is the device's usable version: the\nlower one of VkApplicationInfo::apiVersion and VkPhysicalDeviceProperties::apiVersion. Writes up\nto `capacity` names and returns the number of names. Enable the timelineSemaphore feature too.\nOwnership: static strings.\nThreads: any."),
    "culv_vk_device_lost": (culv_result, (("vk", c_void_p), ),
        "Tells Culvert that the VkDevice is lost. Call it when a submission of your own answers\nVK_ERROR_DEVICE_LOST. Culvert finds out by itself only in calls that ask Vulkan.\n\nAll rings of the attachment stop, as by culv_ring_stop(). CUDA signals, on a stream of the call's\nown, the attachment's semaphores that a stream was told to wait for, so that no stream waits for\nthe lost device; what these streams then read of it is not valid. A call lets one wait for a\nbinary semaphore go: while a stream with several such waits is not done, call it again. From here\non no destroy of the attachment's objects waits for the lost device. The call waits for nothing.\nA second call signals what streams were told to wait for since.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: none; destroy what you made with the attachment, then call culv_vk_detach().\nThreads: any."),
    "culv_vk_dma_buf_bridge_buffer": (c_void_p, (("bridge", c_void_p), ),
        "The buffer that CUDA sees, with `to_buffer`: culv_shared_buffer_pointer() of it. The rows are\nculv_vk_dma_buf_info::buffer_pitch bytes apart. NULL for NULL, without `to_buffer`, and where\nculv_vk_dma_buf_info::direct is 1.\nOwnership: the bridge's, which destroys it; culv_shared_buffer_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_vk_dma_buf_bridge_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes a bridge. Nothing is copied by itself: record the copies.\nErrors: as culv_vk_check_dma_buf(), culv_vk_image_create(), culv_vk_semaphore_create(), but for\nwhat a bridge that became `direct` needs nothing of; INVALID (HANDLE_TYPE, HANDLE_BAD,\nHANDLE_KIND; SIZE: the dma-buf is too small for such an image; RANGE: the driver has no such\noffsets and pitches with the modifier; OS: no file descriptor is left), DRIVER (HANDLE_REFUSED:\nnot a dma-buf that this device reaches).\nOwnership: the handle is borrowed: close it when you like. *out is yours, for\nculv_vk_dma_buf_bridge_destroy(). It keeps the attachment alive, and your VkDevice must outlive\nit.\nThreads: any.\nSource: VK_EXT_external_memory_dma_buf, VkImageDrmFormatModifierExplicitCreateInfoEXT.'),
    "culv_vk_dma_buf_bridge_destroy": (None, (("bridge", c_void_p), ),
        "Destroys what the bridge made and gives up the dma-buf, and sets *bridge to NULL. NULL, or a\npointer to NULL, is a no-op. Vulkan's use must be over. CUDA's should be, as for\nculv_shared_image_destroy().\nOwnership: *bridge is Culvert's again.\nThreads: any, ordered with other calls on this object and with its VkDevice's destruction."),
    "culv_vk_dma_buf_bridge_export_dup": (culv_result, (("bridge", c_void_p), ("out", c_void_p), ),
        'A new file descriptor of the dma-buf, for the other side. It is closed on exec.\nErrors: INVALID (NULL_ARGUMENT; OS: no file descriptor is left).\nOwnership: *out is yours, for culv_handle_close().\nThreads: any.'),
    "culv_vk_dma_buf_bridge_export_fence": (culv_result, (("bridge", c_void_p), ("semaphore", c_void_p), ),
        'Makes the others wait for a submission: leaves the fence of a binary semaphore of yours in the\ndma-buf. The submission that signals it must have been submitted. The semaphore was created with\nVkExportSemaphoreCreateInfo{SYNC_FD}, and is unsignaled afterwards.\nErrors: as culv_vk_dma_buf_bridge_import_fence(); INVALID (NOT_EXPORTABLE).\nOwnership: the semaphore stays yours.\nThreads: any, ordered with other uses of the semaphore.\nSource: DMA_BUF_IOCTL_IMPORT_SYNC_FILE, vkGetSemaphoreFdKHR.'),
    "culv_vk_dma_buf_bridge_get_info": (culv_result, (("bridge", c_void_p), ("out", c_void_p), ),
        'Describes the dma-buf, for the other side.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: *out is yours.\nThreads: any.'),
    "culv_vk_dma_buf_bridge_image": (c_void_p, (("bridge", c_void_p), ),
        "The image that CUDA sees: culv_shared_image_cuda() of it. NULL for NULL and with `to_buffer`.\nOwnership: the bridge's, which destroys it; culv_shared_image_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_vk_dma_buf_bridge_import_fence": (culv_result, (("bridge", c_void_p), ("semaphore", c_void_p), ),
        'Makes the next submission wait for the others without the CPU: gives the fences of the dma-buf\nto a binary semaphore of yours, as a temporary payload. Let the submission wait for it. Where\nthis is UNSUPPORTED, use culv_vk_dma_buf_bridge_wait().\nErrors: INVALID (NULL_ARGUMENT; OS: no file descriptor is left), UNSUPPORTED (OS: the kernel is\nolder than Linux 6.0, or it is no dma-buf; EXTENSION_MISSING: semaphores take no SYNC_FD here;\nNOT_BUILT: on Windows), DRIVER (OS; HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the semaphore stays yours.\nThreads: any, ordered with other uses of the semaphore.\nSource: DMA_BUF_IOCTL_EXPORT_SYNC_FILE, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT.'),
    "culv_vk_dma_buf_bridge_next": (culv_result, (("bridge", c_void_p), ("out", c_void_p), ),
        "Begins the next frame: gives the values that it waits for and signals. Take a turn only for a\nframe that you will submit, because the next one waits for it. So call what may fail or time out\nfirst, such as culv_vk_dma_buf_bridge_wait().\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: *out is yours; the semaphore is the bridge's.\nThreads: any; one frame after the other."),
    "culv_vk_dma_buf_bridge_pointer": (c_uint64, (("bridge", c_void_p), ),
        "With `to_buffer`: CUDA's address of the first row, in the buffer or in the dma-buf itself\n(culv_vk_dma_buf_info::direct). The rows are culv_vk_dma_buf_info::buffer_pitch bytes apart. 0\nfor NULL and without `to_buffer`.\nOwnership: the memory is the bridge's.\nThreads: any."),
    "culv_vk_dma_buf_bridge_record": (culv_result, (("bridge", c_void_p), ("commands", c_void_p), ),
        'Records the copy of the whole image into a command buffer of yours, outside render passes, with\nthe barriers: the dma-buf comes from VK_QUEUE_FAMILY_FOREIGN_EXT and goes back to it, CUDA\'s side\nfrom VK_QUEUE_FAMILY_EXTERNAL and back. The command buffer may be submitted again for each frame.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the command buffer stays yours. The bridge must live until the GPU has run it.\nThreads: the command buffer\'s.\nSource: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_FOREIGN_EXT.'),
    "culv_vk_dma_buf_bridge_record_first": (culv_result, (("bridge", c_void_p), ("commands", c_void_p), ),
        "OUT: records what gives CUDA's image to CUDA for the first time. Submit it once, before\neverything else, in a submission that signals 1 on the timeline. With IN the call records\nnothing, because Vulkan comes first.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: as culv_vk_dma_buf_bridge_record().\nThreads: the command buffer's."),
    "culv_vk_dma_buf_bridge_timeline": (c_void_p, (("bridge", c_void_p), ),
        "The timeline: culv_shared_semaphore_cuda() of it is CUDA's. NULL for NULL.\nOwnership: the bridge's, which destroys it; culv_shared_semaphore_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_vk_dma_buf_bridge_wait": (culv_result, (("bridge", c_void_p), ("timeout", c_uint64), ),
        'Waits on the CPU until the others are done with the dma-buf: with IN for its writers, with OUT\nfor its readers too. timeout is in nanoseconds; 0 asks. It is rounded up to milliseconds.\nErrors: INVALID (NULL_ARGUMENT), TIMEOUT (NOT_READY), DRIVER (OS), UNSUPPORTED (NOT_BUILT: on\nWindows).\nThreads: any.\nSource: poll() of a dma-buf (Linux: Documentation/driver-api/dma-buf.rst).'),
    "culv_vk_dma_buf_extensions": (c_uint32, (("api_version", c_uint32), ("capacity", c_uint32), ("out_names", c_void_p), ),
        'The device extensions that a bridge needs besides culv_vk_device_extensions(): enable them\nwhere the device has them. Writes up to `capacity` names and returns how many there are.\nout_names may be NULL when capacity is 0.\nOwnership: the names are static.\nThreads: any.'),
    "culv_vk_dma_buf_get_modifiers": (culv_result, (("vk", c_void_p), ("fourcc", c_uint32), ("direction", c_int), ("modifiers", c_void_p), ("planes", c_void_p), ("capacity", c_uint32), ("count", c_void_p), ),
        'Lists the modifiers with which this device can bridge a format, to agree with the other side on\none. `planes` gets how many memory planes each has. Writes up to `capacity` of them into each\narray that is not NULL, and sets *count to the number of modifiers.\nErrors: INVALID (NULL_ARGUMENT; VALUE: an unknown direction),\nUNSUPPORTED (FORMAT; EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the arrays are yours.\nThreads: any.\nSource: VkDrmFormatModifierPropertiesListEXT.'),
    "culv_vk_find_queue_family": (culv_result, (("get_instance_proc_addr", c_void_p), ("instance", c_void_p), ("physical_device", c_void_p), ("use", c_int), ("out", c_void_p), ),
        'The best queue family for a use. Among equals it is the lowest index. It is never a video queue.\nErrors: INVALID (NULL_ARGUMENT, VALUE), UNSUPPORTED (no family supports the use).\nThreads: any.\nSource: Vulkan specification, VkQueueFamilyProperties; docs/measured/performance.md.'),
    "culv_vk_get_buffer_address": (culv_result, (("vk", c_void_p), ("buffer", c_void_p), ("out", c_void_p), ),
        "Writes the address of your own VkBuffer's first byte in Vulkan. It was created with\nVK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, and its memory with\nVK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.\nErrors: INVALID (NULL_ARGUMENT); UNSUPPORTED (EXTENSION_MISSING: the VkDevice has no such call).\nOwnership: the buffer's.\nThreads: any.\nSource: Vulkan specification, vkGetBufferDeviceAddress."),
    "culv_vk_get_surface_handle": (culv_result, (("vk", c_void_p), ("view", c_void_p), ("out", c_void_p), ),
        "Writes the surface object of an image view, which a kernel in a command buffer takes as a\ncudaSurfaceObject_t. The image has the usage STORAGE and the layout GENERAL. On CUDA's streams\nthe object is another one: culv_image_get_surface().\nErrors: INVALID (NULL_ARGUMENT; EXTENSION_MISSING); UNSUPPORTED (EXTENSION_MISSING); DRIVER (the\ndriver gave no handle).\nOwnership: the view's: the number is good while the view is there.\nThreads: any.\nSource: vulkan_core.h, vkGetImageViewHandleNVX."),
    "culv_vk_get_texture_handle": (culv_result, (("vk", c_void_p), ("view", c_void_p), ("sampler", c_void_p), ("out", c_void_p), ),
        "Writes the texture object of an image view with a sampler, which a kernel in a command buffer\ntakes as a cudaTextureObject_t. The image has the usage SAMPLED, and the layout GENERAL or\nSHADER_READ_ONLY_OPTIMAL. Coordinates are normalized, unless the sampler says\nunnormalizedCoordinates. On CUDA's streams the object is another one: culv_image_get_texture().\nErrors: as culv_vk_get_surface_handle().\nOwnership: the view's and the sampler's: the number is good while both are there.\nThreads: any.\nSource: vulkan_core.h, vkGetImageViewHandleNVX."),
    "culv_vk_host_import_alignment": (c_uint64, (("vk", c_void_p), ),
        'Returns the number of bytes that addresses and sizes of host memory must be multiples of before\nVulkan can import it: minImportedHostPointerAlignment, or a page when that is larger. 0 when the\nVkDevice was created without VK_EXT_external_memory_host. 0 for NULL.\nThreads: any.'),
    "culv_vk_image_bind_vmm": (culv_result, (("vk", c_void_p), ("image", c_void_p), ("create_info", c_void_p), ("allocation", c_void_p), ("offset", c_uint64), ("out", c_void_p), ),
        "Imports a VMM allocation into Vulkan and binds your image to it. The image has OPTIMAL tiling.\nCulvert checks create_info against what CUDA could map.\n\nAt offset 0 the memory is dedicated to the image. At another offset, beside other resources, the\nallocation must be compressible, as granted by the device (culv_vmm_allocation_info::usage):\nNVIDIA's Vulkan writes images that share memory compressed, and CUDA would read wrong texels\n(measured).\n\nCUDA sees the bytes in an order that only the driver knows. To get CUDA arrays, import the handle\nof culv_vmm_export_dup() with culv_memory_import_take(), with `dedicated` set at offset 0, and\nmap the image on that with culv_vk_image_map().\nErrors: as culv_vk_buffer_bind_vmm(); as culv_vk_check_image() of create_info (TILING, USAGE,\nFORMAT, EXTENT); INVALID (DEDICATED: an offset in memory that is not compressible).\nOwnership: *out is yours; give it to vkFreeMemory() after vkDestroyImage(). After an error the\nimage is unbound.\nThreads: any, ordered with other uses of the image.\nSource: measured, docs/measured/nvidia-measured.md."),
    "culv_vk_image_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes an image with exportable memory of its own, imports the memory into CUDA and maps it: all\nor nothing. The image's layout is UNDEFINED: before CUDA's first use, record the release barrier\nof culv_vk_image_get_barrier2() with `discard`. With `fallback`, where sharing is impossible,\nCUDA has arrays (or linear memory) of its own, with copies in between (culv_image_sharing()\ntells).\nErrors: INVALID (TILING, USAGE, EXTENT, MEMORY_TYPE; DEVICE_MISMATCH: the VkDevice is another\nGPU, and there is no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE,\nEXTENSION_MISSING; PEER where no fallback is left), DRIVER (a Vulkan or CUDA call failed), ASYNC,\nOUT_OF_MEMORY.\nOwnership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive, and\nyour VkDevice must outlive it.\nThreads: any.\nSource: VkExportMemoryAllocateInfo, VkExternalImageFormatProperties."),
    "culv_vk_image_get_barrier": (culv_result, (("transfer", c_void_p), ("direction", c_int), ("out", c_void_p), ),
        'Does the same as culv_vk_image_get_barrier2(), in the form of Vulkan 1.0.\nErrors: as culv_vk_image_get_barrier2(); VALUE also for a stage, access or layout that only\nsynchronization2 has.\nOwnership: *out is yours.\nThreads: any.'),
    "culv_vk_image_get_barrier2": (culv_result, (("transfer", c_void_p), ("direction", c_int), ("out", c_void_p), ),
        'Fills *out with the queue-family ownership transfer and the layout transition of an image\nbetween a Vulkan queue and CUDA. Release: record it after Vulkan\'s last use, in a submission that\nsignals the semaphore that CUDA waits for. Acquire: record it before Vulkan\'s first use, in a\nsubmission that waits for the semaphore that CUDA signaled.\nErrors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; VALUE: an unknown direction, a use of buffers, a\nuse, layout or aspect that contradicts the format, an acquire into the layout PREINITIALIZED, the\nstage or an access of the host, no queue family or a special one; RANGE: levels or layers\noverflow).\nOwnership: *out is yours.\nThreads: any.\nSource: Vulkan specification, "Queue Family Ownership Transfer", VK_QUEUE_FAMILY_EXTERNAL.'),
    "culv_vk_image_handle": (c_void_p, (("image", c_void_p), ),
        "The VkImage. View it and describe it as your own, but never destroy it. VK_NULL_HANDLE for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_vk_image_map": (culv_result, (("vk", c_void_p), ("memory", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Maps an image of the caller\'s, bound to imported memory, as a CUDA mipmapped array. Format,\nextent and levels are those of the VkImageCreateInfo, never of a view. Culvert first checks\ntiling, samples, flags, dedication and whether the device exports such images, because CUDA\'s\ndriver checks none of it. An image of several planes must be DISJOINT, with every plane in this\nmemory. Culvert refuses the VkImageCreateInfo of another image (EXTENT) where Vulkan can tell, by\nthe memory that such an image needs.\nErrors: INVALID (TILING, USAGE, EXTENT, RANGE, DEDICATED, NOT_EXPORTABLE, DEVICE_MISMATCH ...),\nUNSUPPORTED (FORMAT, EXTENT, NOT_EXPORTABLE, EXTENSION_MISSING; USAGE: several planes that are\nnot DISJOINT, 3D images with a depth attachment usage; HANDLE_TYPE: a dma-buf cannot have\narrays), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the VkImage stays yours; *out is yours, for culv_image_unmap().\nThreads: any.\nSource: CUDA guide 3.2.16, "Mapping mipmapped arrays"; VkExternalImageFormatProperties.'),
    "culv_vk_image_map_pitched": (culv_result, (("vk", c_void_p), ("memory", c_void_p), ("desc", c_void_p), ("level", c_uint32), ("plane", c_uint32), ("out", c_void_p), ("layout", c_void_p), ),
        "Maps one level (and plane) of a LINEAR image of the caller's, with all its layers, as a buffer.\n*layout tells where its rows lie. CUDA also maps such an image as an array without an error, but\nreads wrong texels; this call gives the right ones. It takes every format except those with both\ndepth and stencil, including formats that no CUDA array has. cuMemcpy2D and pitched 2D textures\ntake the pitch.\nErrors: INVALID (TILING: not LINEAR; USAGE, EXTENT, LEVEL, RANGE, DEDICATED, NOT_EXPORTABLE,\nDEVICE_MISMATCH ...), UNSUPPORTED (FORMAT, NOT_EXPORTABLE, EXTENSION_MISSING), DRIVER, ASYNC,\nOUT_OF_MEMORY.\nOwnership: the VkImage stays yours; *out is yours, for culv_buffer_unmap().\nThreads: any.\nSource: vkGetImageSubresourceLayout."),
    "culv_vk_image_memory": (c_void_p, (("image", c_void_p), ("size", c_void_p), ),
        "The VkDeviceMemory behind the image, bound at offset 0. The planes of a DISJOINT image are bound\nat plane_offsets (culv_image_get_desc() of culv_shared_image_cuda()). VK_NULL_HANDLE for NULL.\nThe call sets *size to its allocationSize in bytes; size may be NULL.\nOwnership: Culvert's: never free it.\nThreads: any."),
    "culv_vk_image_record_download": (culv_result, (("image", c_void_p), ("commands", c_void_p), ("layout", c_int), ),
        'Like culv_vk_buffer_record_download(), for all levels, layers and planes of an image. The image\nis in `layout` before and after.\nErrors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).\nThreads: the thread that records the command buffer.'),
    "culv_vk_image_record_upload": (culv_result, (("image", c_void_p), ("commands", c_void_p), ("layout", c_int), ),
        'Like culv_vk_buffer_record_upload(), for all levels, layers and planes of an image. `layout` is\nthe layout that the acquire barrier gave the image, and the image has it again afterwards. The\nold contents are lost. Depth and stencil need a graphics queue, as vkCmdCopyBufferToImage does.\nErrors: INVALID (NULL_ARGUMENT; VALUE: UNDEFINED or PREINITIALIZED as layout).\nThreads: the thread that records the command buffer.'),
    "culv_vk_instance_extensions": (c_uint32, (("api_version", c_uint32), ("capacity", c_uint32), ("out_names", c_void_p), ),
        'Lists the instance extensions that Culvert needs for an instance of this apiVersion. Writes up\nto `capacity` names and returns the number of names. (Vulkan 1.1 has these extensions in core, so\ntoday there are none.)\nOwnership: static strings.\nThreads: any.'),
    "culv_vk_instance_layers": (c_uint32, (("get_instance_proc_addr", c_void_p), ("capacity", c_uint32), ("out_names", c_void_p), ),
        "Lists the instance layers that Culvert needs. Put them AFTER validation layers. The list has the\nsoftware twin's layer when the twin is allowed (culvert/soft.h) and the Vulkan loader finds the\nlayer; otherwise it is empty. The layer passes through all devices that are not the twin's.\nWrites up to `capacity` names and returns the number of names. get_instance_proc_addr is the\nloader's.\n\nWhere the twin is allowed and the loader does not find the layer by itself, this call tells the\nloader where it is, as culv_soft_enable() does: it changes the process's environment. Then no\nother thread may read the environment meanwhile.\nErrors: none; where the list is empty, the messages of culv_vk_rank_physical_devices() and\nculv_vk_attach() say what to set.\nOwnership: static strings.\nThreads: any, and see above."),
    "culv_vk_kernel_call_record": (culv_result, (("kernels", c_void_p), ("call", c_void_p), ("command_buffer", c_void_p), ("queue_family", c_uint32), ),
        "Records a launch into your command buffer, primary or secondary. The values are read during the\ncall. What is wrong is found here, before the GPU sees it. It makes no CUDA call, and after the\nkernel's first call it allocates nothing and takes no lock.\n\nqueue_family is the family of the command buffer's pool. The GPU's limits are checked. Static and\ndynamic shared memory together may have 48 KiB less what the GPU reserves (47 KiB on an H200): a\nlaunch with more loses the VkDevice, and what a stream may ask for has no counterpart in Vulkan.\nRecord it outside of render passes: Culvert cannot see that.\nErrors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; KERNEL: other arguments than the kernel takes, or a\nkernel of another culv_kernels; VALUE: a grid, block or shared_bytes beyond the limits, or args\nand params are both set; QUEUE: the family has neither graphics nor compute); UNSUPPORTED\n(KERNEL), DRIVER, ASYNC, OUT_OF_MEMORY as culv_vk_kernels_prepare(). After an error nothing was\nrecorded. A kernel that faults loses the VkDevice.\nThreads: any; Vulkan wants you to order calls on one command buffer and its pool.\nSource: vulkan_core.h, vkCmdCuLaunchKernelNVX."),
    "culv_vk_kernel_extensions": (c_uint32, (("api_version", c_uint32), ("capacity", c_uint32), ("out_names", c_void_p), ),
        "Lists the device extensions that kernels in command buffers need: VK_NVX_binary_import,\nVK_NVX_image_view_handle, and below Vulkan 1.2 VK_KHR_buffer_device_address. Enable the\nbufferDeviceAddress feature too. api_version is as in culv_vk_device_extensions(). Writes up to\n`capacity` names and returns the number of names. No other list of Culvert's has them, unless\nculv_vk_device_desc::kernels asks for them.\nOwnership: static strings.\nThreads: any."),
    "culv_vk_kernel_get_barrier": (culv_result, (("out", c_void_p), ),
        'Does the same as culv_vk_kernel_get_barrier2(), in the form of Vulkan 1.0.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: *out is yours.\nThreads: any.'),
    "culv_vk_kernel_get_barrier2": (culv_result, (("out", c_void_p), ),
        'Fills *out with the barrier between two kernels, one of which reads or writes what the other one\nwrote.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: *out is yours.\nThreads: any.'),
    "culv_vk_kernels_create": (culv_result, (("vk", c_void_p), ("kernels", c_void_p), ("out", c_void_p), ),
        "Gives the VkDevice the kernels of a loaded file. The same bytes are loaded a second time, also\nwhen the file has changed since. PTX is compiled again, which takes a tenth of a second or more;\ncubins and fatbins with code for the GPU take a third of a millisecond.\n\nDestroy it before the VkDevice is destroyed. It keeps the culv_kernels: what you unload first\nstays loaded, and its culv_kernel objects serve command buffers, until this is destroyed.\nErrors: INVALID (NULL_ARGUMENT; DEVICE_MISMATCH: another culv_device than the attachment's;\nEXTENSION_MISSING: the attachment was made without culv_vk_device_desc::kernels, or the VkDevice\nwithout the extensions); UNSUPPORTED (MODULE: Vulkan's driver did not take the image, and the\nmessage lists what code is in it; EXTENSION_MISSING); DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: *out is yours, for culv_vk_kernels_destroy().\nThreads: any.\nSource: vulkan_core.h, vkCreateCuModuleNVX."),
    "culv_vk_kernels_destroy": (None, (("kernels", c_void_p), ),
        "Destroys it and sets *kernels to NULL. No command buffer that uses it may be pending, and none\nmay be submitted again. NULL, or a pointer to NULL, is a no-op.\nOwnership: *kernels is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_vk_kernels_prepare": (culv_result, (("kernels", c_void_p), ("kernel", c_void_p), ),
        "Makes what the VkDevice needs of one kernel. culv_vk_kernel_call_record() does it at a kernel's\nfirst call; after this call it allocates nothing.\nErrors: INVALID (NULL_ARGUMENT; KERNEL: the kernel is of another culv_kernels); UNSUPPORTED\n(KERNEL: Vulkan's driver does not find it, or it has clusters of blocks (__cluster_dims__),\nwithout which that driver would run it); DRIVER; ASYNC; OUT_OF_MEMORY.\nOwnership: the culv_vk_kernels has it.\nThreads: any.\nSource: vulkan_core.h, vkCreateCuFunctionNVX."),
    "culv_vk_memory_export_dup": (culv_result, (("vk", c_void_p), ("memory", c_void_p), ("type", c_int), ("out", c_void_p), ),
        'Exports your VkDeviceMemory. It works even if the VkDevice is another GPU than the culv_device.\n`type` is one that the memory was allocated for (VkExportMemoryAllocateInfo): OPAQUE_FD or\nDMA_BUF_FD; on Windows OPAQUE_WIN32 (an NT handle) or OPAQUE_WIN32_KMT. A file descriptor is\nclosed on exec.\nErrors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),\nUNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there\nare no dma-bufs here), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the VkDeviceMemory stays yours; each call makes a new *out, which you close with\nculv_handle_close(). Vulkan gives only one NT handle for a memory object and type, and\nculv_vk_memory_import() takes one too: export once, then use culv_handle_dup().\nThreads: any.\nSource: VK_KHR_external_memory_fd, VK_KHR_external_memory_win32.'),
    "culv_vk_memory_from_handle": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a VkDeviceMemory of the memory that a handle names. It picks a device-local memory type if\none is allowed. Create what you bind to it with VkExternalMemoryBufferCreateInfo or\nVkExternalMemoryImageCreateInfo and the handle's type. A dma-buf needs\nVK_EXT_external_memory_dma_buf on the VkDevice, and a machine whose driver has it. Culvert sees\nwhether the device has that extension, but not whether you enabled it.\nErrors: INVALID (NULL_ARGUMENT, VALUE, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,\nDEVICE_MISMATCH; DEDICATED: required, or the size is not the needed one; MEMORY_TYPE),\nUNSUPPORTED (HANDLE_TYPE: this system lacks the type; EXTENSION_MISSING: not enabled, or there\nare no dma-bufs here; MEMORY_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the handle is borrowed. *out is yours; give it to vkFreeMemory().\nThreads: any.\nSource: VkImportMemoryFdInfoKHR, vkGetMemoryFdPropertiesKHR."),
    "culv_vk_memory_from_vmm": (culv_result, (("vk", c_void_p), ("allocation", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a VkDeviceMemory of a VMM allocation in device or host memory. It exports the allocation\nand lets Vulkan import the handle.\n\n`desc` is as for culv_vk_memory_from_handle(), but leave the fields handle, size and exporter\nzero: the allocation determines them. NULL: any memory type, and a device-local one if there is\none. Create what you bind for external memory of the opaque type, and bind it where its\nVkMemoryRequirements allow it.\n\nWith `dedicated`, an image may be smaller than the allocation. A buffer must need all of it,\nbecause NVIDIA's driver refuses less (measured); use memory that is not dedicated for a smaller\nbuffer. An image must be dedicated, or the allocation must be compressible.\nErrors: as culv_vmm_export_dup() and culv_vk_memory_from_handle(); INVALID (VALUE: desc names a\nhandle, a size or an exporter; DEVICE_MISMATCH: the allocation lies on another GPU;\nNOT_EXPORTABLE: the allocation was not made for export, or is an import: then pass a handle from\nits exporter to culv_vk_memory_from_handle(); USAGE: a tile pool; DEDICATED: an image that is not\ndedicated in memory that is not compressible, or a dedicated buffer that does not need all of the\nallocation).\nOwnership: *out is yours; give it to vkFreeMemory(). It keeps the memory alive even when the\nallocation is destroyed.\nThreads: any.\nSource: cuda.h, cuMemExportToShareableHandle; VkImportMemoryFdInfoKHR."),
    "culv_vk_memory_import": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports exportable memory of the caller's. The call exports a new fd and imports it as\nculv_memory_import_take() does. You may free the VkDeviceMemory while the import lives; the\ndriver keeps the pages. Where it is not dedicated, is CULV_SLOW_KIND_BYTES or more and is not\nonly for an image, a warning in the log says so, once for each import.\nErrors: INVALID (SIZE: no size, or one that is too small for the buffer or image at offset 0;\nRANGE: too small for it at its offset, or an offset that Vulkan does not allow; DEDICATED;\nNOT_EXPORTABLE; DEVICE_MISMATCH: the VkDevice is another GPU ...), UNSUPPORTED\n(EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the VkDeviceMemory stays yours; *out is yours, for culv_memory_destroy().\nThreads: any; vkGetMemoryFdKHR needs no external synchronization.\nSource: VK_KHR_external_memory_fd; VkMemoryDedicatedRequirements."),
    "culv_vk_memory_import_shared": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Does the same as culv_vk_memory_import(), and counts references. While anything of such an\nimport is alive (the culv_memory, or a culv_buffer or culv_image of it), a further call with the\nsame VkDeviceMemory and attachment returns the same import and does not ask the driver. It is\nmade for allocators (VulkanMemoryAllocator, the program's own). Call it for each resource of a\nblock, and map the resource at its offset. Give the import up at once or together with the\nresource. Do not free the VkDeviceMemory before all of that is given up, because another memory\nmay then get its handle, and this call cannot tell the two apart. Tensors of\nculv_buffer_get_dlpack() do not count: they keep the pages, and no import is found by them. On\nWindows keep one reference as long as the VkDeviceMemory lives.\nOtherwise a later call exports it again, and Vulkan hands out only one NT handle of it\n(VUID-VkMemoryGetWin32HandleInfoKHR-handleType-00663). Images of formats that\nculv_format_info::dedicated names (D16_UNORM, S8_UINT) cannot be mapped in a block.\nErrors: as culv_vk_memory_import(); INVALID (SIZE, DEDICATED: not as in an earlier call).\nOwnership: the VkDeviceMemory stays yours; each *out is a reference, yours, for\nculv_memory_destroy().\nThreads: any."),
    "culv_vk_merge_device_extensions": (culv_result, (("desc", c_void_p), ("num_names", c_uint32), ("names", c_void_p), ("count", c_void_p), ("out_names", c_void_p), ),
        "Merges your device extensions with culv_vk_device_extensions() and with those of\nculv_vk_optional_device_extensions() that the device has; with culv_vk_device_desc::kernels also\nwith culv_vk_kernel_extensions(), where culv_vk_check_kernels() says OK. desc is the one that\nculv_vk_attach() gets later, of which get_instance_proc_addr, instance, physical_device and\napi_version are read: the version that counts is the lower one of api_version and the device's.\nWhether the device has the extensions that you name is not looked at. A program for devices that\ncannot share (culvert/fallback.h) uses the lists themselves.\nErrors: as culv_vk_merge_instance_extensions(); INVALID (STRUCT_SIZE; VULKAN_VERSION: the\ninstance has Vulkan 1.0); UNSUPPORTED (EXTENSION_MISSING: the device lacks one that Culvert\nneeds; LAYER_MISSING: it is software Vulkan without the twin's layer; VULKAN_VERSION: a device of\nVulkan 1.0); DRIVER, OUT_OF_MEMORY.\nOwnership: as there.\nThreads: any."),
    "culv_vk_merge_device_features": (culv_result, (("desc", c_void_p), ("chain", c_void_p), ("storage", c_void_p), ("out_chain", c_void_p), ),
        'Adds the features that Culvert needs to a pNext chain for VkDeviceCreateInfo:\ntimelineSemaphore; synchronization2, which rings and the ...barrier2 structs need, where the\ndevice has it; below Vulkan 1.3 maintenance4, where the device has it; with\nculv_vk_device_desc::kernels bufferDeviceAddress, where culv_vk_check_kernels() says OK; and with\nculv_vk_device_features::one_address what that says.\n\n`chain` is yours or NULL. A feature whose struct is in it (its own struct, or that of a Vulkan\nversion: VkPhysicalDeviceVulkan12Features and VkPhysicalDeviceVulkan13Features) is set to VK_TRUE\nthere, because Vulkan allows no second struct. For the others, structs of `storage` are put\nbefore the chain. Everything else in the chain is left as it is. *out_chain is the new beginning:\npass &VkDeviceCreateInfo::pNext. desc is as in culv_vk_merge_device_extensions(), whose list the\ndevice needs too.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VULKAN_VERSION: the instance has Vulkan 1.0);\nUNSUPPORTED (VULKAN_VERSION: a device of Vulkan 1.0, or with one_address of less than 1.2;\nEXTENSION_MISSING: the device has no timelineSemaphore; USAGE: it lacks a feature of\none_address); DRIVER, OUT_OF_MEMORY. After an error the chain is as it was.\nOwnership: all structs stay yours.\nThreads: any.\nSource: VUID-VkDeviceCreateInfo-pNext-02830, -06532.'),
    "culv_vk_merge_instance_extensions": (culv_result, (("api_version", c_uint32), ("num_names", c_uint32), ("names", c_void_p), ("count", c_void_p), ("out_names", c_void_p), ),
        'Merges your instance extensions with culv_vk_instance_extensions().\nErrors: INVALID (NULL_ARGUMENT, also for a name that is NULL; VALUE: out_names is too small). The\narray and *count are then as they were.\nOwnership: the array is yours; the names stay whose they are.\nThreads: any.'),
    "culv_vk_merge_instance_layers": (culv_result, (("get_instance_proc_addr", c_void_p), ("num_names", c_uint32), ("names", c_void_p), ("count", c_void_p), ("out_names", c_void_p), ),
        "Merges your instance layers with culv_vk_instance_layers(), which come last, as they must: after\nvalidation layers. get_instance_proc_addr is the loader's.\nErrors: as culv_vk_merge_instance_extensions().\nOwnership: as there.\nThreads: any."),
    "culv_vk_optional_device_extensions": (c_uint32, (("api_version", c_uint32), ("capacity", c_uint32), ("out_names", c_void_p), ),
        'Lists the device extensions that Culvert uses when they are enabled. Enable those that the\ndevice has. Writes up to `capacity` names and returns the number of names.\n\nVK_EXT_external_memory_host: buffers in host memory (culv_vk_buffer_create_desc::host_memory),\nand a fallback copies without a detour. VK_EXT_external_memory_dma_buf: exports as dma-bufs.\nVK_KHR_maintenance4, below Vulkan 1.3 and with its feature: memory requirements are known before\na resource exists (culvert/vulkan_check.h). VK_KHR_synchronization2, below Vulkan 1.3 and with\nits feature: culv_vk_ring_submit(), and the ...barrier2 structs.\nOwnership: static strings.\nThreads: any.'),
    "culv_vk_rank_physical_devices": (culv_result, (("get_instance_proc_addr", c_void_p), ("instance", c_void_p), ("desc", c_void_p), ("out", c_void_p), ("capacity", c_uint32), ("count", c_void_p), ),
        "Ranks the physical devices of an instance. Devices that CUDA can reach come first (NVIDIA's\nbefore the twin's, discrete ones before others). The rest follow, each with the reason. Opens no\ncontext.\n\ndesc limits the CUDA driver as in culv_device_open_by_uuid(); it may be NULL. Writes up to\n`capacity` of them into out (NULL when capacity is 0), and sets *count to the number of devices.\nSet each element's struct_size.\nErrors: INVALID, DRIVER (a Vulkan call failed), OUT_OF_MEMORY. A machine without CUDA is not an\nerror: no device is reachable then.\nOwnership: the copies are yours.\nThreads: any."),
    "culv_vk_rdma_buffer_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes memory that CUDA, Vulkan and cards use.\nErrors: as culv_vector_create(), culv_vk_vector_view_create() and culv_rdma_dma_buf_export_dup();\nINVALID (NULL_ARGUMENT, STRUCT_SIZE; SIZE: size is 0, or more than reserve; VALUE: no usage),\nUNSUPPORTED (USAGE: the device has no VMM memory that cards reach; HANDLE_TYPE: it makes no\ndma-bufs), OUT_OF_MEMORY, DRIVER, ASYNC.\nOwnership: *out is yours; give it to culv_vk_rdma_buffer_destroy().\nThreads: any.'),
    "culv_vk_rdma_buffer_destroy": (None, (("buffer", c_void_p), ),
        "Destroys the buffer and sets *buffer to NULL. Deregister its dma-bufs from the card before, and\nlet the work of both sides be done. The memory lives on as long as somebody has a dma-buf of it.\nNULL, or a pointer to NULL, is a no-op.\nOwnership: *buffer is Culvert's again, and its parts are gone.\nThreads: any, after the last call."),
    "culv_vk_rdma_buffer_get_parts": (culv_result, (("buffer", c_void_p), ("parts", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Lists the parts by offset. Writes up to `capacity` of them into parts (NULL when capacity is 0),\nand sets *count to their number.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the buffer owns what they name, the dma-bufs too: duplicate one that you keep\n(culv_handle_dup()).\nThreads: one at a time.'),
    "culv_vk_rdma_buffer_grow": (culv_result, (("buffer", c_void_p), ("size", c_uint64), ),
        'Makes the buffer at least `size` bytes long, by new parts. The address and the other parts stay\nas they are, registered or not. A smaller size does nothing. After an error it has what it had.\nErrors: as culv_vk_rdma_buffer_create(); OUT_OF_MEMORY (ADDRESS: no addresses are left\nwhere it lies).\nThreads: one at a time.'),
    "culv_vk_rdma_buffer_pointer": (c_uint64, (("buffer", c_void_p), ),
        "Returns CUDA's address of the first byte. 0 for NULL.\nOwnership: the buffer owns the memory.\nThreads: one at a time."),
    "culv_vk_rdma_buffer_size": (c_uint64, (("buffer", c_void_p), ),
        'Returns the number of bytes that were asked for. 0 for NULL.\nThreads: one at a time.'),
    "culv_vk_record_graph": (culv_result, (("vk", c_void_p), ("graph", c_void_p), ("desc", c_void_p), ("command_buffer", c_void_p), ("queue_family", c_uint32), ),
        'Records a CUDA graph into your command buffer, primary or secondary, outside of render passes.\nThe whole graph is checked first. The graph is only read: it is not launched, may be destroyed\nafterwards, and may be changed (cuGraphKernelNodeSetParams) and recorded again.\n\n- A kernel becomes a launch, as by culv_vk_kernel_call_record().\n- A memset becomes a fill (vkCmdFillBuffer): its address and the bytes of its rows are multiples\n  of 4.\n- A copy within the memory of the list becomes vkCmdCopyBuffer.\n- Nodes that no edge orders have no barrier between them. A graph whose longest chain has n nodes\n  has n - 1 barriers. Before and after it there is none: culv_vk_kernel_get_barrier2() and its\n  like are yours to record.\n\nThe attachment must have kernels (culv_vk_device_desc::kernels) also where a graph has only\nmemsets and copies.\n\nEverything else is refused: functions of the host, semaphores, events, allocations, conditional\nnodes, graphs in the graph, cooperative launches, clusters (of the kernel or of the launch),\nnodes that kernels may change (deviceUpdatable), copies from and to the host or arrays. So is an\nargument of 8 bytes that CUDA knows as an address of memory that is not in the list, or that is\nthe end of an element.\n\nIt reads the graph from the driver and allocates: record once and submit often where the\narguments stay the same, or record the launches by culv_vk_kernel_call_record().\nErrors: INVALID (NULL_ARGUMENT; STRUCT_SIZE; DEVICE_MISMATCH: kernels of another attachment;\nEXTENSION_MISSING; KERNEL: none of `kernels` has a kernel of that name, or one with other\nparameters; RANGE: memory that is not in the list; USAGE: its buffer cannot do that; VALUE: a\nmemory without address or size, a culv_vk_graph_param that fits no node, a grid or a block\nbeyond the limits; SIZE: a culv_vk_graph_param of another size than the argument; QUEUE; GRAPH:\na cycle); UNSUPPORTED (GRAPH: a node of another kind, such a launch, or an edge with data;\nKERNEL: the driver does not tell the parameters, or the kernel has clusters; EXTENSION_MISSING);\nDRIVER; ASYNC; OUT_OF_MEMORY. After an error nothing was recorded. Messages name a node by its\nindex in cuGraphGetNodes.\nThreads: any, one at a time for each graph; Vulkan wants you to order calls on one command buffer\nand its pool.\nSource: cuda.h, cuGraphGetNodes, cuGraphKernelNodeGetParams; vulkan_core.h,\nvkCmdCuLaunchKernelNVX.'),
    "culv_vk_ring_acquire": (culv_result, (("ring", c_void_p), ("timeout", c_uint64), ("out", c_void_p), ),
        "Does what culv_ring_acquire() does, for Vulkan's side.\nErrors: as culv_ring_acquire().\nOwnership: as there.\nThreads: one at a time for the side."),
    "culv_vk_ring_buffer": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "A buffer of a slot. NULL when the resource is an image, and when the slot or resource does not\nexist.\nOwnership: the ring's, which culv_shared_buffer_destroy() refuses (OWNED), or yours when you\npassed it in.\nThreads: any."),
    "culv_vk_ring_core": (c_void_p, (("ring", c_void_p), ),
        "The ring, for CUDA's side (culv_ring_acquire_on(), culv_ring_release_on()) and for\nculv_ring_configure(), _drain(), _get_stats(). NULL for NULL.\nOwnership: the ring's: culv_ring_destroy() refuses it (OWNED).\nThreads: any."),
    "culv_vk_ring_create": (culv_result, (("vk", c_void_p), ("queue", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes a ring: all or nothing. The call hands the images to CUDA in one submission to `queue` (of\nqueue_family) and waits until it is done. With a `fallback` in a resource's descriptor the\ntimelines have it too. CUDA's side then uploads or downloads, and Vulkan's command buffers have\nthe other half (culvert/vulkan_fallback.h).\nErrors: as culv_ring_create(), culv_vk_image_create(), culv_vk_buffer_create() and\nculv_vk_semaphore_create(); INVALID (VALUE: one image or buffer for several slots).\nOwnership: *out is yours, for culv_vk_ring_destroy(); it keeps the attachment alive.\nThreads: any; `queue` is externally synchronized, as for vkQueueSubmit."),
    "culv_vk_ring_destroy": (None, (("ring", c_void_p), ),
        "Gives up the ring and all that it made, and sets *ring to NULL. NULL, or a pointer to NULL, is a\nno-op. Vulkan's work on it must be over, or its device lost; CUDA's should be over\n(culv_ring_drain()): see culv_shared_image_destroy(). CUDA's work that waits for a signal of\nVulkan's side which was never submitted, or was lost, is freed first: Culvert waits a second for\nthe signal and then makes it.\nOwnership: *ring is Culvert's again.\nThreads: any, after the last call of either side."),
    "culv_vk_ring_destroy_after": (None, (("ring", c_void_p), ("last_use", c_void_p), ),
        "Does the same as culv_vk_ring_destroy(), but does not wait for CUDA's work: what the ring made\ngoes as by culv_shared_buffer_destroy_after() with `last_use`.\nOwnership: *ring is Culvert's again.\nThreads: any, after the last call of either side."),
    "culv_vk_ring_flush": (culv_result, (("ring", c_void_p), ("queue", c_void_p), ("fence", c_void_p), ),
        'Submits the frames that culv_vk_ring_submit() keeps of a burst that is not full.\nErrors: as culv_vk_ring_submit().\nThreads: one at a time for the side.'),
    "culv_vk_ring_image": (c_void_p, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "An image of a slot. NULL when the resource is a buffer, and when the slot or resource does not\nexist.\nOwnership: the ring's, which culv_shared_image_destroy() refuses (OWNED), or yours when you\npassed it in.\nThreads: any."),
    "culv_vk_ring_pointer": (c_uint64, (("ring", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ),
        "The first byte of a slot's buffer in CUDA: culv_shared_buffer_pointer() of\nculv_vk_ring_buffer(). 0 when the resource is an image, and when the slot or resource does not\nexist.\nOwnership: as culv_vk_ring_buffer().\nThreads: any."),
    "culv_vk_ring_record_copy": (culv_result, (("ring", c_void_p), ("commands", c_void_p), ("slot", c_uint32), ("resource", c_uint32), ("to", c_void_p), ("offset", c_uint64), ("size", c_uint64), ),
        "Records the copy of a slot's resource into the caller's buffer, with the ring's barriers around\nit. It is for a side that passes frames on by copy (video out, read-back). With a fallback, a\nconsumer's upload is recorded with it. A buffer is copied from its start. Level 0 of an image is\ncopied without padding, layer after layer. The host may read the bytes when the submission is\nover. You can record the command buffer once for each slot and submit it many times. Then begin\nit with VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT: the validation layer does not follow\nexported timelines, and otherwise takes the command buffer for pending\n(VUID-vkQueueSubmit2-commandBuffer-03875) until a fence or an idle queue tells it that it is not.\nErrors: INVALID (NULL_ARGUMENT, RANGE: the slot, the resource, a destination that is too small,\nan image's offset that is not a multiple of 4 and of its texel's bytes; USAGE: the resource lacks\nTRANSFER_SRC), UNSUPPORTED (FORMAT: several planes or aspects).\nThreads: any, one for a command buffer."),
    "culv_vk_ring_release": (culv_result, (("ring", c_void_p), ("frame", c_void_p), ),
        "Does what culv_ring_release() does, for Vulkan's side. Call it right before the vkQueueSubmit2\nthat has frame->wait and frame->signal, and never without that submission.\nErrors: as culv_ring_release().\nOwnership: as there.\nThreads: one at a time for the side."),
    "culv_vk_ring_semaphore": (c_void_p, (("ring", c_void_p), ("side", c_int), ),
        "The timeline of a side, for submissions of your own. Never destroy it.\nErrors: none; VK_NULL_HANDLE for NULL.\nOwnership: the ring's.\nThreads: any."),
    "culv_vk_ring_submit": (culv_result, (("ring", c_void_p), ("queue", c_void_p), ("commands", c_void_p), ("fence", c_void_p), ("frame", c_void_p), ),
        "Releases the frame and submits its command buffer. In a burst, Culvert keeps the command buffers\nand submits them together with the burst's last frame, in one vkQueueSubmit2, to one queue. The\nsubmission that has this frame signals `fence` (VK_NULL_HANDLE: none). Pass a fence with the last\nframe of a burst: with an earlier frame it submits the kept frames at once, and the rest of the\nburst goes later. After an error nothing is submitted and the side still holds the frame. Do not\nmix kept frames of a burst with culv_vk_ring_release(), culv_ring_release() and culv_ring_flush()\n(RING_ORDER).\nErrors: as culv_vk_ring_release(); DRIVER, ASYNC (DEVICE_LOST), UNSUPPORTED (EXTENSION_MISSING:\nthe device lacks synchronization2).\nOwnership: the command buffer stays yours and must live until the submission has run.\nThreads: one at a time for the side; `queue` is externally synchronized.\nSource: vkQueueSubmit2."),
    "culv_vk_ring_submit_failed": (culv_result, (("ring", c_void_p), ("frame", c_void_p), ("result", c_int), ),
        'Tells the ring that the vkQueueSubmit2 behind culv_vk_ring_release() failed with `result`. The\nside then holds the frame again, as culv_ring_submit_failed() describes: release and submit it\nonce more. With VK_ERROR_DEVICE_LOST it does what culv_vk_device_lost() does instead.\nculv_vk_ring_submit() needs no such call.\nErrors: as culv_ring_submit_failed(); INVALID (VALUE: result is a success), ASYNC (DEVICE_LOST:\nthat is what `result` said).\nOwnership: as culv_ring_submit_failed().\nThreads: one at a time for the side.'),
    "culv_vk_sampler_difference_text": (c_char_p, (("difference", c_int), ),
        'Returns what one difference means, in one sentence.\nErrors: none; "unknown" for other values.\nOwnership: a static string, never NULL.\nThreads: any.'),
    "culv_vk_semaphore_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Makes an exportable semaphore and imports it into CUDA. It is all or nothing. desc may be NULL\nfor a timeline at 0. With `fallback`, where sharing is impossible, CUDA signals and waits in\nanother way (culv_semaphore_sharing() tells which).\nErrors: INVALID (VALUE; DEVICE_MISMATCH: the VkDevice is attached as another GPU, and `fallback`\nis not set), UNSUPPORTED (NOT_EXPORTABLE: the device does not export such semaphores, for example\nsoftware Vulkan and binary ones; EXTENSION_MISSING, PEER), DRIVER (a Vulkan or CUDA call failed),\nASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_shared_semaphore_destroy(). It keeps the attachment\nalive, and your VkDevice must outlive it.\nThreads: any.\nSource: VkExportSemaphoreCreateInfo.'),
    "culv_vk_semaphore_export_dup": (culv_result, (("vk", c_void_p), ("semaphore", c_void_p), ("type", c_int), ("out", c_void_p), ),
        'Exports your VkSemaphore. `type` is one that it was created for (VkExportSemaphoreCreateInfo):\nOPAQUE_FD; on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. A file descriptor is closed on exec.\nErrors: INVALID (NULL_ARGUMENT, HANDLE_TYPE, NOT_EXPORTABLE; OS: no file descriptor is left),\nUNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the VkSemaphore stays yours; each call makes a new *out, which you close with\nculv_handle_close(). For NT handles see culv_vk_memory_export_dup().\nThreads: any.\nSource: VK_KHR_external_semaphore_fd, VK_KHR_external_semaphore_win32.'),
    "culv_vk_semaphore_handle": (c_void_p, (("semaphore", c_void_p), ),
        'Returns the VkSemaphore, for submissions. VK_NULL_HANDLE for NULL. Never destroy it.\nOwnership: Culvert owns it.\nThreads: any.'),
    "culv_vk_semaphore_import": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports your VkSemaphore. A timeline's present counter becomes the value that signals must\nexceed. A binary semaphore counts as unsignaled, unless desc->signal_pending is set.\nErrors: INVALID (NOT_EXPORTABLE ...), UNSUPPORTED, DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: the VkSemaphore stays yours; *out is yours; give it to culv_semaphore_destroy().\nThreads: any.\nSource: VK_KHR_external_semaphore_fd."),
    "culv_vk_space_base": (c_void_p, (("space", c_void_p), ),
        "Returns what culv_vector_desc::space takes, so that a vector lives in this space. NULL for NULL.\nOwnership: the space's; the vector keeps the space alive.\nThreads: any."),
    "culv_vk_space_buffer_create": (culv_result, (("space", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Takes a part of the space and commits what is not committed there yet. Both sides may use it\nwhen the call returns. No other buffer and no vector gets these bytes.\nErrors: as culv_vk_space_commit(); INVALID (VALUE: an alignment or an offset; USAGE: the space's\nVkBuffer lacks a usage; SIZE: it is 0; RANGE), BUSY (MAPPED: another buffer or a vector has some\nof it), OUT_OF_MEMORY (ADDRESS: no place is free).\nOwnership: *out is yours; give it to culv_vk_space_buffer_destroy(). It keeps the space alive.\nThreads: any, ordered with other uses of the queue.\nSource: VkPhysicalDeviceLimits; Vulkan, vkCmdBuildAccelerationStructuresKHR."),
    "culv_vk_space_buffer_destroy": (None, (("buffer", c_void_p), ),
        "Gives the part back and sets *buffer to NULL. Vulkan's work with a VkBuffer of its own must be\ndone. The memory stays committed: see culv_vk_space_decommit(). NULL, or a pointer to NULL, is a\nno-op.\nOwnership: *buffer is Culvert's again.\nThreads: any, ordered with other calls on this object; the last one of a space that was given up\nis ordered with uses of the queue."),
    "culv_vk_space_buffer_handle": (c_void_p, (("buffer", c_void_p), ("offset", c_void_p), ),
        "Returns the VkBuffer, and sets *offset (which may be NULL) to where the part begins in it: 0 for\na VkBuffer of its own. VK_NULL_HANDLE for NULL.\nOwnership: Culvert's: never destroy it.\nThreads: any."),
    "culv_vk_space_buffer_pointer": (c_uint64, (("buffer", c_void_p), ),
        "Returns the address of its first byte, for CUDA and for Vulkan. 0 for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_vk_space_buffer_size": (c_uint64, (("buffer", c_void_p), ),
        'Returns the number of bytes that were asked for. 0 for NULL.\nThreads: any.'),
    "culv_vk_space_collect": (culv_result, (("space", c_void_p), ),
        'Takes out what deferred decommits, shrinks and destroys gave up, as far as the streams have got\nthere. Does not wait for streams.\nErrors: INVALID (NULL_ARGUMENT), OUT_OF_MEMORY, DRIVER, ASYNC; a later call tries again.\nThreads: any, ordered with other uses of the queue.'),
    "culv_vk_space_commit": (culv_result, (("space", c_void_p), ("offset", c_uint64), ("size", c_uint64), ("ready", c_void_p), ),
        "Puts new memory into `size` bytes from `offset` on, in CUDA and in Vulkan: one chunk. Its\ncontents are undefined.\n\nready NULL: waits until Vulkan has bound it. Otherwise the call does not wait, and *ready is the\nvalue of culv_vk_space_timeline() that Vulkan's work with the memory must wait for. CUDA may use\nit at once in both cases.\n\nA commit gives the bytes to nobody: a later culv_vk_space_buffer_create() at\nCULV_VK_SPACE_ANYWHERE may take them. Where you use committed bytes by yourself, give your\nbuffers an `offset` elsewhere, or take a buffer for those bytes, too.\n\nWhere memory there was given up by a deferred decommit, the call waits for that on the host.\nErrors: INVALID (NULL_ARGUMENT; VALUE: not multiples of the granularity; RANGE: they leave the\nspace), BUSY (MAPPED: there is memory already, or a vector has these addresses), OUT_OF_MEMORY,\nDRIVER, ASYNC. After an error nothing has changed, on either side.\nOwnership: the space owns the memory.\nThreads: any, ordered with other uses of the queue.\nSource: cuda.h, cuMemMap; vkQueueBindSparse."),
    "culv_vk_space_commit_allocation": (culv_result, (("space", c_void_p), ("offset", c_uint64), ("allocation", c_void_p), ("ready", c_void_p), ),
        "Does the same with an allocation of yours, as a whole. It must be exportable by this system's\nopaque handle, and lie on the same GPU.\nErrors: as culv_vk_space_commit(); INVALID (NOT_EXPORTABLE, USAGE, DEVICE_MISMATCH).\nOwnership: the allocation stays yours; the space keeps its memory alive.\nThreads: any, ordered with other uses of the queue."),
    "culv_vk_space_create": (culv_result, (("vk", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Reserves addresses in CUDA and in Vulkan, at the same place. Commits nothing.\n\nIt tries one address after another until both sides have it. The log says which it tried.\nErrors: as culv_vk_check_space(); UNSUPPORTED (USAGE: Vulkan gave no address that it was told, so\nthe VkDevice was created without the features), OUT_OF_MEMORY (ADDRESS: no address was free in\nboth; the message says what each side answered), DRIVER, ASYNC.\nOwnership: *out is yours; give it to culv_vk_space_destroy(). It keeps the attachment alive, and\nyour VkDevice must outlive it.\nThreads: any.\nSource: cuda.h, cuMemAddressReserve; VkBufferOpaqueCaptureAddressCreateInfo; measured,\ndocs/space.md: an H200 gives both the same address from 64 MiB to 256 GiB.'),
    "culv_vk_space_decommit": (culv_result, (("space", c_void_p), ("offset", c_uint64), ("size", c_uint64), ("last_use", c_void_p), ),
        "Takes the memory out of `size` bytes from `offset` on, on both sides. Only whole chunks. Waits\non the host for what has been submitted to `last_use` so far, then until Vulkan has unbound it.\nWhere Vulkan uses the memory, let the stream wait for Vulkan's timeline first.\nErrors: INVALID (NULL_ARGUMENT, RANGE; NOT_MAPPED: an end lies within a chunk, or nothing is\nthere; CAPTURE, STREAM_DEVICE), BUSY (MAPPED: a culv_vk_space_buffer or a vector lies there),\nDRIVER, ASYNC. After an error nothing has changed. Where a driver refuses what was asked of it\nlast, the memory goes in a later call.\nThreads: any, ordered with other uses of the queue.\nSource: cuda.h, cuMemUnmap; vkQueueBindSparse."),
    "culv_vk_space_decommit_after": (culv_result, (("space", c_void_p), ("offset", c_uint64), ("size", c_uint64), ("last_use", c_void_p), ),
        'Does the same, but DEFERS and never waits: the memory goes in a later call for this space, such\nas culv_vk_space_collect(), once `last_use` has done what has been submitted to it so far.\nErrors: as culv_vk_space_decommit().\nThreads: any.'),
    "culv_vk_space_destroy": (None, (("space", c_void_p), ),
        "Gives the space up and sets *space to NULL. It goes, with all of its memory, when its buffers\nand vectors are gone too. Tensors of a vector that was destroyed keep CUDA's half of their memory\nand nothing of Vulkan's, so that the VkDevice may go before them. The GPU's work with it must be\ndone then. NULL, or a pointer to NULL, is a no-op.\nOwnership: *space is Culvert's again.\nThreads: any, ordered with other calls and with uses of the queue."),
    "culv_vk_space_get_info": (culv_result, (("space", c_void_p), ("out", c_void_p), ),
        'Fills *out with what the space is and has.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.'),
    "culv_vk_space_graph_memory": (culv_vk_graph_memory, (("space", c_void_p), ),
        'Returns the memory of a whole space. All zero for NULL.\nThreads: any.'),
    "culv_vk_space_handle": (c_void_p, (("space", c_void_p), ),
        "Returns the VkBuffer that has all of the space, for descriptors and copies: byte n of the space\nis byte n of the buffer. VK_NULL_HANDLE for NULL.\nOwnership: Culvert's: never destroy it.\nThreads: any."),
    "culv_vk_space_pointer": (c_uint64, (("space", c_void_p), ),
        "Returns the address of the first byte, for CUDA and for Vulkan. 0 for NULL.\nOwnership: Culvert's.\nThreads: any."),
    "culv_vk_space_ready_value": (c_uint64, (("space", c_void_p), ),
        "Returns the value of culv_vk_space_timeline() with which everything is bound that commits, and\nvectors that grew, have put into the space so far. With culv_vk_space_desc::vectors_do_not_wait,\nask after the growth, and let Vulkan's submission wait for it. 0: nothing was bound yet, or NULL.\nThreads: any."),
    "culv_vk_space_size": (c_uint64, (("space", c_void_p), ),
        'Returns the number of bytes of addresses. 0 for NULL.\nThreads: any.'),
    "culv_vk_space_timeline": (c_void_p, (("space", c_void_p), ),
        "Returns the timeline whose values the commits give. VK_NULL_HANDLE for NULL. Wait for it in your\nsubmissions, never signal it.\nOwnership: Culvert's: never destroy it.\nThreads: any."),
    "culv_vk_texture_desc_from_sampler": (culv_result, (("sampler", c_void_p), ("out", c_void_p), ("differences", c_void_p), ),
        'Fills *out with the settings of a sampler, as far as CUDA has them. Sets a bit in *differences\n(which may be NULL) for each setting that CUDA lacks. Levels, layers and plane stay as they are\nin *out, because a view chooses them, not a sampler. Set out->struct_size first. A sampler does\nnot know a format: the border color is in the order R, G, B, A, so swap red and blue for a\nB8G8R8A8 image.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: not a VkSamplerCreateInfo, or a value that\nVulkan lacks).\nThreads: any.\nSource: VkSamplerCreateInfo; cuda.h, CUDA_TEXTURE_DESC.'),
    "culv_vk_vector_view_create": (culv_result, (("vk", c_void_p), ("vector", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Makes Vulkan's view of a vector and imports the chunks that it has. The chunks must be\nexportable as OPAQUE_FD (on Windows OPAQUE_WIN32). Every device can have one buffer for each\nchunk; draw and dispatch once for each. A vector with `min_chunk` or `growth_percent` has few\nlarge chunks.\nErrors: as culv_vk_buffer_bind_vmm(); INVALID (VALUE: no usage, or a sparse size that is too\nsmall or too large; NOT_EXPORTABLE), UNSUPPORTED (NOT_EXPORTABLE: the device exports no buffers\nof such a usage; USAGE: the device lacks sparse binding, or takes no external memory for sparse\nbuffers).\nOwnership: *out is yours; give it to culv_vector_view_destroy(), before or after the vector goes.\nThreads: any, but not during a call that changes the vector."),
    "culv_vk_vector_view_get_address": (culv_result, (("view", c_void_p), ("out", c_void_p), ),
        "Writes the address of a vector's first byte in Vulkan. The view has the usage\nVK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and shows the vector as one buffer: it is sparse, or\nthe vector has one chunk.\nErrors: INVALID (NULL_ARGUMENT; USAGE: the view lacks the usage; VALUE: the view is another\nAPI's); UNSUPPORTED (ADDRESS: the view has several buffers, or none yet; EXTENSION_MISSING);\nOUT_OF_MEMORY.\nOwnership: the view's. A view that culv_vector_view_update() changed may have another address.\nThreads: as culv_vk_vector_view_get_buffers()."),
    "culv_vk_vector_view_get_buffers": (culv_result, (("view", c_void_p), ("parts", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        "Lists the buffers by offset. Writes up to `capacity` of them into parts (NULL when capacity is\n0), and sets *count to the number of buffers.\nErrors: INVALID (NULL_ARGUMENT; VALUE: the view is another API's).\nOwnership: Culvert owns the buffers, which are valid until an update drops them.\nThreads: one at a time."),
    "culv_vk_vector_view_memory_kind": (c_int, (("view", c_void_p), ),
        "Returns the kind of memory that all of the view's buffers lie in: CULV_MEMORY_KIND_FAST, or\nCULV_MEMORY_KIND_COMPRESSIBLE where the vector's memory is compressible. CULV_MEMORY_KIND_PLAIN\nfor one sparse buffer, and should Vulkan want more for a chunk's buffer than the chunk has.\nCULV_MEMORY_KIND_UNKNOWN for NULL, another API's view, and a view that has no buffer yet.\nThreads: one at a time."),
    "culv_vk_vmm_memory_kind": (c_int, (("vk", c_void_p), ("buffer", c_void_p), ("allocation", c_void_p), ("offset", c_uint64), ),
        'Returns the kind of memory that culv_vk_buffer_bind_vmm() gives this buffer at this offset:\nCULV_MEMORY_KIND_FAST where the buffer needs all of the allocation; CULV_MEMORY_KIND_PLAIN where\nit lies at an offset or needs less; CULV_MEMORY_KIND_COMPRESSIBLE where the allocation is\ncompressible. Bound or not makes no difference. The answer is not meant for a buffer that you\nmade for sparse binding: that is CULV_MEMORY_KIND_PLAIN. CULV_MEMORY_KIND_UNKNOWN where an\nargument is NULL.\nThreads: any, ordered with the destruction of the buffer and the allocation.\nSource: measured, docs/measured/memory-kinds.md.'),
    "culv_vmm_adopt": (culv_result, (("device", c_void_p), ("pointer", c_uint64), ("size", c_uint64), ("out", c_void_p), ),
        "Finds the chunks behind `size` bytes at `pointer`. The chunks are kept for other ranges in them\nas long as one is adopted. Adopt the same range once, and keep it: that costs a few microseconds\nfor each chunk, and Vulkan's import of a chunk costs a hundred.\nErrors: INVALID (NULL_ARGUMENT; SIZE: 0, or it overflows; NOT_EXPORTABLE: it is not memory of\ncuMemCreate, or was not made for export, and the message says what to do; NOT_MAPPED: a part of\nthe range; USAGE: a tile pool; DEVICE_MISMATCH: memory of another GPU), UNSUPPORTED (VMM),\nDRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_vmm_adopted_destroy().\nThreads: any, but not while the memory is mapped or unmapped.\nSource: cuda.h, cuMemGetAddressRange, cuMemRetainAllocationHandle; measured with PyTorch 2.11:\nits expandable segments are exportable as file descriptors."),
    "culv_vmm_adopted_destroy": (None, (("adopted", c_void_p), ),
        "Gives the chunks back and sets *adopted to NULL. The memory goes when its owner has given it up,\ntoo. Views of a graphics API live on. NULL, or a pointer to NULL, is a no-op.\nOwnership: *adopted is Culvert's again.\nThreads: any, ordered with other calls on this object."),
    "culv_vmm_adopted_get_chunks": (culv_result, (("adopted", c_void_p), ("chunks", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Lists the chunks by address. Writes up to `capacity` of them into chunks (NULL when capacity is\n0), and sets *count to their number.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the range has the allocations.\nThreads: any.'),
    "culv_vmm_adopted_offset": (c_uint64, (("adopted", c_void_p), ),
        "Returns the number of bytes from the first chunk's beginning to the range's. 0 for NULL.\nThreads: any."),
    "culv_vmm_adopted_size": (c_uint64, (("adopted", c_void_p), ),
        'Returns the size of the range in bytes. 0 for NULL.\nThreads: any.'),
    "culv_vmm_allocation_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Allocates physical memory. It has no address until you map it.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, SIZE; HANDLE_TYPE: host memory without a NUMA\nnode cannot be exported), UNSUPPORTED (VMM, HANDLE_TYPE, LOCATION, USAGE), OUT_OF_MEMORY, DRIVER\n(LOCATION: the NUMA node does not exist), ASYNC.\nOwnership: *out is yours; give it to culv_vmm_allocation_destroy().\nThreads: any.\nSource: cuda.h, cuMemCreate.'),
    "culv_vmm_allocation_destroy": (culv_result, (("allocation", c_void_p), ),
        "Destroys the allocation and sets *allocation to NULL. The memory itself lives until the last of\nits mappings, imports and exported handles is gone, in any process. Does not wait for the GPU.\nNULL, or a pointer to NULL, is a no-op.\nErrors: INVALID (OWNED: it is a chunk of a vector or of an adopted range, or a multicast object;\nnothing happens, and the pointer keeps its value).\nOwnership: *allocation is Culvert's again.\nThreads: any, ordered with other calls on this object.\nSource: measured, docs/measured/nvidia-measured.md: cuMemRelease waits for nothing."),
    "culv_vmm_allocation_get_info": (culv_result, (("allocation", c_void_p), ("out", c_void_p), ),
        'Fills *out with what the allocation is.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).\nOwnership: the copy is yours.\nThreads: any.\nSource: cuda.h, cuMemGetAllocationPropertiesFromHandle.'),
    "culv_vmm_allocation_native_handle": (c_uint64, (("allocation", c_void_p), ),
        "Returns the driver's handle (CUmemGenericAllocationHandle), for CUDA calls that Culvert does not\nmake. 0 for NULL. Do not identify memory by it: two handles of the same memory may differ, and an\nequal handle may name other memory later.\nOwnership: the allocation owns it.\nThreads: any."),
    "culv_vmm_allocation_retain_at": (culv_result, (("device", c_void_p), ("address", c_uint64), ("out", c_void_p), ),
        "Makes a new object for the allocation that is mapped at an address, whoever mapped it with\ncuMemMap. The object has a driver's handle of its own.\nErrors: INVALID (NULL_ARGUMENT; NOT_MAPPED: no allocation of cuMemCreate is mapped there;\nDEVICE_MISMATCH), UNSUPPORTED (VMM), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is yours; give it to culv_vmm_allocation_destroy().\nThreads: any.\nSource: cuda.h, cuMemRetainAllocationHandle: each retain needs one release."),
    "culv_vmm_check_adopted": (culv_result, (("adopted", c_void_p), ),
        "Says whether the chunks are still mapped where they were. An allocator may have unmapped one, or\nmapped another in its place (PyTorch does so in empty_cache()). What Vulkan shows is then not\nwhat CUDA has at these addresses: destroy the view and the range, and adopt it again.\nErrors: INVALID (NULL_ARGUMENT; NOT_MAPPED: a chunk has gone, or is another one), DRIVER, ASYNC.\nThreads: any, but not while the memory is mapped or unmapped.\nSource: the driver's handle of what is mapped there, cuMemRetainAllocationHandle. The range holds\nits own, so no other memory can have it."),
    "culv_vmm_export_dup": (culv_result, (("allocation", c_void_p), ("type", c_int), ("out", c_void_p), ),
        'Exports an allocation as a handle of one of the types that it was made for. Another process\nimports it with culv_vmm_import_take(). Vulkan imports it with culv_vk_memory_from_vmm() or\nculv_vk_memory_from_handle(). CUDA imports it as external memory with culv_memory_import_take(),\nfor arrays on it. A file descriptor is closed on exec.\nErrors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: it was not made for that type, or is\nitself an import; OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: a type of another\nsystem), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: each call makes a new *out, which you close with culv_handle_close(). It keeps the\nmemory alive.\nThreads: any.\nSource: cuda.h, cuMemExportToShareableHandle.'),
    "culv_vmm_export_fabric": (culv_result, (("allocation", c_void_p), ("out", c_void_p), ),
        'Exports an allocation that was made with culv_vmm_allocation_desc::fabric, and whose\nculv_vmm_allocation_info::handle_types has the bit of CULV_HANDLE_FABRIC.\nErrors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.\nOwnership: *out is plain bytes. The allocation must live until the other side has imported it.\nThreads: any.\nSource: cuda.h, CU_MEM_HANDLE_TYPE_FABRIC.'),
    "culv_vmm_get_access": (culv_result, (("range", c_void_p), ("offset", c_uint64), ("access", c_void_p), ),
        'Gets what *access names may do at `offset`, and sets access->flags.\nErrors: INVALID (NULL_ARGUMENT, RANGE, VALUE, NOT_MAPPED, DEVICE_MISMATCH), DRIVER, ASYNC.\nThreads: any.\nSource: cuda.h, cuMemGetAccess.'),
    "culv_vmm_get_granularity": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Gets the granularity in bytes of allocations like desc. Sizes are rounded up to it. desc->size\nis ignored.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device\nlacks it; HANDLE_TYPE, LOCATION, USAGE: the device lacks this kind), DRIVER (LOCATION), ASYNC.\nThreads: any.\nSource: cuda.h, cuMemGetAllocationGranularity.'),
    "culv_vmm_get_mappings": (culv_result, (("range", c_void_p), ("mappings", c_void_p), ("capacity", c_size_t), ("count", c_void_p), ),
        'Lists the mappings of a range by offset. Writes up to `capacity` of them into mappings (NULL\nwhen capacity is 0), and sets *count to the number of mappings.\nErrors: INVALID (NULL_ARGUMENT).\nOwnership: the copies are yours; the allocations in them are borrowed.\nThreads: any.'),
    "culv_vmm_import_borrow": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports an allocation and BORROWS its handle.\nErrors: as culv_vmm_import_take().\nOwnership: the handle stays yours, and you may close it right after the call. *out is yours; give\nit to culv_vmm_allocation_destroy().\nThreads: any.'),
    "culv_vmm_import_fabric": (culv_result, (("device", c_void_p), ("handle", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Imports what culv_vmm_export_fabric() exported. desc->handle stays empty; its other fields are\nthose of culv_vmm_import_take(). The bytes do not tell the size, so that the call maps all of it\nonce and refuses more than there is.\nErrors: as culv_vmm_import_take(); INVALID (HANDLE_TYPE: desc->handle is given; SIZE: more than\nthere is), DRIVER (HANDLE_REFUSED: no such handle, or no IMEX channel).\nOwnership: *out is yours, for culv_vmm_allocation_destroy().\nThreads: any.\nSource: cuda.h, cuMemImportFromShareableHandle.'),
    "culv_vmm_import_take": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        "Imports an allocation and TAKES its handle.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND; VALUE: a name;\nSIZE: 0, not a multiple of the granularity, or more than the memory has; where Culvert cannot see\nthat, culv_vmm_map() fails later with DRIVER (SIZE); DEVICE_MISMATCH: the memory lies on another\nGPU than `exporter`, no CUDA device has that UUID, or this device does not reach its memory),\nUNSUPPORTED (VMM, HANDLE_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.\nOwnership: the handle becomes Culvert's after CULV_OK; after an error it is still yours and open.\n*out is yours; give it to culv_vmm_allocation_destroy().\nThreads: any.\nSource: cuda.h, cuMemImportFromShareableHandle."),
    "culv_vmm_map": (culv_result, (("range", c_void_p), ("offset", c_uint64), ("allocation", c_void_p), ("access", c_void_p), ("count", c_size_t), ),
        "Maps all of an allocation at `offset` bytes of a range and grants access. `access` has `count`\nentries. NULL and 0 let the range's device read and write. When the driver refuses access,\nnothing stays mapped. An allocation of another GPU needs an entry for each device that uses it.\nOne range may hold allocations of several GPUs (a striped range).\nErrors: INVALID (NULL_ARGUMENT; VALUE: offset is not a multiple of the granularity, or a flag is\nwrong; RANGE: the mapping leaves the range; USAGE: a tile pool; DEVICE_MISMATCH: a device of\nanother driver; PEER: a device that does not reach the memory, or the host for device memory,\nsince it reaches only host memory), BUSY (MAPPED: something is mapped there), DRIVER (SIZE: an\nimport with a wrong size), ASYNC, OUT_OF_MEMORY.\nOwnership: the mapping keeps the memory alive, not the object: you may destroy the allocation\nwhile it is mapped.\nThreads: any.\nSource: cuda.h, cuMemMap, cuMemSetAccess."),
    "culv_vmm_range_create": (culv_result, (("device", c_void_p), ("desc", c_void_p), ("out", c_void_p), ),
        'Reserves addresses. They cost no memory.\nErrors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; VALUE: an alignment or a hint), UNSUPPORTED\n(VMM), OUT_OF_MEMORY (ADDRESS: no such range is free, or not at the fixed address), DRIVER,\nASYNC.\nOwnership: *out is yours; give it to culv_vmm_range_destroy().\nThreads: any.\nSource: cuda.h, cuMemAddressReserve.'),
    "culv_vmm_range_destroy": (culv_result, (("range", c_void_p), ),
        "Gives the addresses back and sets *range to NULL. A range in which something is still mapped is\nrefused and stays. NULL, or a pointer to NULL, is a no-op.\nErrors: BUSY (MAPPED: the message lists what is mapped where, and which of it only waits for a\nstream), DRIVER, ASYNC.\nOwnership: *range is Culvert's again on success.\nThreads: any, ordered with other calls on this object.\nSource: cuda.h, cuMemAddressFree."),
    "culv_vmm_range_pointer": (c_uint64, (("range", c_void_p), ),
        'Returns the first address. 0 for NULL.\nOwnership: Culvert owns it.\nThreads: any.'),
    "culv_vmm_range_size": (c_uint64, (("range", c_void_p), ),
        'Returns the number of reserved bytes: what you asked for, rounded up. 0 for NULL.\nThreads: any.'),
    "culv_vmm_set_access": (culv_result, (("range", c_void_p), ("offset", c_uint64), ("size", c_uint64), ("access", c_void_p), ("count", c_size_t), ),
        'Changes who may do what with the mappings in `size` bytes from `offset` on. Only whole mappings.\nCUDA adds to the access that was granted before: to take access away from a device, give it an\nentry with CULV_VMM_ACCESS_NONE.\nErrors: as culv_vmm_map() and culv_vmm_unmap(). After an error of the driver, access is as it\nwas; Culvert grants it again where necessary.\nThreads: any.\nSource: cuda.h, cuMemSetAccess.'),
    "culv_vmm_unmap": (culv_result, (("range", c_void_p), ("offset", c_uint64), ("size", c_uint64), ),
        'Unmaps everything in `size` bytes from `offset` on. 0 and culv_vmm_range_size() unmap the whole\nrange. A size of 0 is refused. Only whole mappings can be unmapped, because CUDA cannot unmap\npart of one. Does NOT wait: GPU work that still uses those addresses faults. Use\nculv_vmm_unmap_after() when such work may still run.\nErrors: INVALID (NULL_ARGUMENT, RANGE; NOT_MAPPED: an end lies within a mapping, which the\nmessage names, or nothing is mapped), DRIVER, ASYNC. When the driver refuses one mapping, those\nbefore it are already unmapped.\nThreads: any.\nSource: cuda.h, cuMemUnmap; measured, docs/measured/nvidia-measured.md: it waits for nothing.'),
    "culv_vmm_unmap_after": (culv_result, (("range", c_void_p), ("offset", c_uint64), ("size", c_uint64), ("last_use", c_void_p), ),
        "Like culv_vmm_unmap(), but DEFERS and never waits. The unmapping happens after `last_use` has\ndone the work that has been submitted to it so far: in a later culv_device_collect(),\nculv_device_get_counts() or call for this range, or when the device goes. Until then you can map\nnothing there. The stream must belong to the range's device and must not be in capture. If\nanother device uses the range, let the stream wait for an event of that device's stream. After an\nerror nothing has changed.\nErrors: as culv_vmm_unmap(); INVALID (CAPTURE, STREAM_DEVICE).\nThreads: any."),
}

# What STRUCT_init() sets besides struct_size.
INITIAL = {
    "culv_error": {},
    "culv_device_desc": {},
    "culv_device_caps": {},
    "culv_device_counts": {},
    "culv_vmm_allocation_desc": {},
    "culv_vmm_allocation_info": {},
    "culv_vmm_import_desc": {},
    "culv_vmm_range_desc": {},
    "culv_format_info": {},
    "culv_memory_desc": {},
    "culv_buffer_desc": {},
    "culv_image_desc": {},
    "culv_subresource_layout": {},
    "culv_vector_desc": {},
    "culv_vector_stats": {},
    "culv_dlpack_desc": {},
    "culv_semaphore_desc": {},
    "culv_ipc_info": {},
    "culv_ipc_server_desc": {},
    "culv_ipc_client_desc": {},
    "culv_ipc_vector_desc": {},
    "culv_ipc_chunk": {},
    "culv_mem_pool_desc": {},
    "culv_mem_pool_import_desc": {},
    "culv_pointer_info": {},
    "culv_ipc_fetch_desc": {},
    "culv_ring_settings": {},
    "culv_ring_desc": {},
    "culv_ring_stats": {},
    "culv_ipc_timelines": {},
    "culv_ipc_ring_desc": {},
    "culv_ipc_consumer_desc": {},
    "culv_launch_desc": {},
    "culv_kernel_call": {},
    "culv_rdma_info": {},
    "culv_rdma_tokens": {},
    "culv_rdma_dma_buf": {},
    "culv_rdma_caps": {},
    "culv_rdma_bar1": {},
    "culv_rdma_cost": {},
    "culv_rdma_range": {},
    "culv_rdma_cache_desc": {},
    "culv_rdma_cache_stats": {},
    "culv_sparse_array_desc": {},
    "culv_sparse_array_info": {},
    "culv_texture_desc": {},
    "culv_keyed_mutex_desc": {},
    "culv_d3d11_device_desc": {},
    "culv_d3d11_memory_desc": {},
    "culv_d3d11_image_desc": {},
    "culv_d3d11_buffer_create_desc": {},
    "culv_d3d11_image_create_desc": {},
    "culv_d3d11_shadow_desc": {},
    "culv_d3d11_semaphore_create_desc": {},
    "culv_d3d12_device_desc": {},
    "culv_d3d12_memory_desc": {},
    "culv_d3d12_image_desc": {},
    "culv_d3d12_buffer_create_desc": {},
    "culv_d3d12_image_create_desc": {},
    "culv_d3d12_shadow_desc": {},
    "culv_d3d12_semaphore_create_desc": {},
    "culv_d3d12_ring_resource": {},
    "culv_d3d12_ring_desc": {'side': 1},
    "culv_d3d12_vector_view_desc": {},
    "culv_d3d_register_desc": {},
    "culv_gl_desc": {},
    "culv_gl_report": {},
    "culv_gl_buffer_create_desc": {},
    "culv_gl_image_create_desc": {},
    "culv_gl_memory_desc": {},
    "culv_gl_register_desc": {},
    "culv_gl_readback_desc": {},
    "culv_gl_semaphore_create_desc": {},
    "culv_gl_uses": {},
    "culv_gl_ring_resource": {},
    "culv_gl_ring_desc": {'side': 1},
    "culv_multicast_desc": {},
    "culv_multicast_import_desc": {},
    "culv_nvsci_buffer_desc": {},
    "culv_nvsci_array_desc": {},
    "culv_vk_device_desc": {},
    "culv_vk_candidate": {},
    "culv_vk_memory_from_handle_desc": {},
    "culv_vk_vector_view_desc": {},
    "culv_vk_adopted_desc": {},
    "culv_vk_buffer_transfer": {'queue_family': -4},
    "culv_vk_image_transfer": {'queue_family': -4},
    "culv_vk_check_desc": {},
    "culv_vk_sharing_info": {'image.struct_size': 'sizeof'},
    "culv_vk_memory_desc": {},
    "culv_vk_image_desc": {},
    "culv_vk_buffer_create_desc": {},
    "culv_vk_image_create_desc": {},
    "culv_vk_space_desc": {},
    "culv_vk_space_info": {},
    "culv_vk_space_buffer_desc": {'offset': 18446744073709551615},
    "culv_vk_graph_desc": {},
    "culv_vk_rdma_buffer_desc": {},
    "culv_vk_semaphore_desc": {},
    "culv_vk_semaphore_create_desc": {},
    "culv_vk_ring_resource": {},
    "culv_vk_ring_desc": {'side': 1, 'queue_family': -4},
    "culv_vk_device_features": {},
    "culv_drm_format_info": {},
    "culv_vk_dma_buf_desc": {'queue_family': -4},
    "culv_vk_dma_buf_turn": {},
    "culv_vk_dma_buf_info": {},
}

# The driver's functions: (version for cuGetProcAddress, parameters).
CUDA = {
    "cuGetErrorName": (6000, (c_int, c_void_p, )),
    "cuGetErrorString": (6000, (c_int, c_void_p, )),
    "cuInit": (2000, (c_uint, )),
    "cuDriverGetVersion": (2020, (c_void_p, )),
    "cuGetProcAddress": (12000, (c_char_p, c_void_p, c_int, c_uint64, c_void_p, )),
    "cuDeviceGet": (2000, (c_void_p, c_int, )),
    "cuDeviceGetCount": (2000, (c_void_p, )),
    "cuDeviceGetName": (2000, (c_void_p, c_int, c_int, )),
    "cuDeviceGetUuid": (11040, (c_void_p, c_int, )),
    "cuDeviceGetLuid": (10000, (c_void_p, c_void_p, c_int, )),
    "cuDeviceTotalMem": (3020, (c_void_p, c_int, )),
    "cuDeviceGetAttribute": (2000, (c_void_p, c_int, c_int, )),
    "cuDeviceGetTexture1DLinearMaxWidth": (11010, (c_void_p, c_int, c_uint, c_int, )),
    "cuDeviceGetPCIBusId": (4010, (c_void_p, c_int, c_int, )),
    "cuDeviceGetByPCIBusId": (4010, (c_void_p, c_char_p, )),
    "cuDevicePrimaryCtxRetain": (7000, (c_void_p, c_int, )),
    "cuDevicePrimaryCtxRelease": (11000, (c_int, )),
    "cuDevicePrimaryCtxSetFlags": (11000, (c_int, c_uint, )),
    "cuDevicePrimaryCtxGetState": (7000, (c_int, c_void_p, c_void_p, )),
    "cuDevicePrimaryCtxReset": (11000, (c_int, )),
    "cuCtxCreate": (3020, (c_void_p, c_uint, c_int, )),
    "cuCtxDestroy": (4000, (c_void_p, )),
    "cuCtxPushCurrent": (4000, (c_void_p, )),
    "cuCtxPopCurrent": (4000, (c_void_p, )),
    "cuCtxSetCurrent": (4000, (c_void_p, )),
    "cuCtxGetCurrent": (4000, (c_void_p, )),
    "cuCtxGetDevice": (2000, (c_void_p, )),
    "cuCtxGetFlags": (7000, (c_void_p, )),
    "cuCtxSetFlags": (12010, (c_uint, )),
    "cuCtxGetId": (12000, (c_void_p, c_void_p, )),
    "cuCtxSynchronize": (2000, ()),
    "cuCtxSetLimit": (3010, (c_int, c_size_t, )),
    "cuCtxGetLimit": (3010, (c_void_p, c_int, )),
    "cuCtxGetCacheConfig": (3020, (c_void_p, )),
    "cuCtxSetCacheConfig": (3020, (c_int, )),
    "cuCtxGetApiVersion": (3020, (c_void_p, c_void_p, )),
    "cuCtxGetStreamPriorityRange": (5050, (c_void_p, c_void_p, )),
    "cuCtxResetPersistingL2Cache": (11000, ()),
    "cuCtxRecordEvent": (12050, (c_void_p, c_void_p, )),
    "cuCtxWaitEvent": (12050, (c_void_p, c_void_p, )),
    "cuModuleLoad": (2000, (c_void_p, c_char_p, )),
    "cuModuleLoadData": (2000, (c_void_p, c_void_p, )),
    "cuModuleLoadDataEx": (2010, (c_void_p, c_void_p, c_uint, c_void_p, c_void_p, )),
    "cuModuleLoadFatBinary": (2000, (c_void_p, c_void_p, )),
    "cuModuleUnload": (2000, (c_void_p, )),
    "cuModuleGetFunction": (2000, (c_void_p, c_void_p, c_char_p, )),
    "cuModuleGetGlobal": (3020, (c_void_p, c_void_p, c_void_p, c_char_p, )),
    "cuModuleGetLoadingMode": (11070, (c_void_p, )),
    "cuModuleGetFunctionCount": (12040, (c_void_p, c_void_p, )),
    "cuModuleEnumerateFunctions": (12040, (c_void_p, c_uint, c_void_p, )),
    "cuLinkCreate": (6050, (c_uint, c_void_p, c_void_p, c_void_p, )),
    "cuLinkAddData": (6050, (c_void_p, c_int, c_void_p, c_size_t, c_char_p, c_uint, c_void_p, c_void_p, )),
    "cuLinkAddFile": (6050, (c_void_p, c_int, c_char_p, c_uint, c_void_p, c_void_p, )),
    "cuLinkComplete": (5050, (c_void_p, c_void_p, c_void_p, )),
    "cuLinkDestroy": (5050, (c_void_p, )),
    "cuLibraryLoadData": (12000, (c_void_p, c_void_p, c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_uint, )),
    "cuLibraryLoadFromFile": (12000, (c_void_p, c_char_p, c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_uint, )),
    "cuLibraryUnload": (12000, (c_void_p, )),
    "cuLibraryGetKernel": (12000, (c_void_p, c_void_p, c_char_p, )),
    "cuLibraryGetModule": (12000, (c_void_p, c_void_p, )),
    "cuLibraryGetGlobal": (12000, (c_void_p, c_void_p, c_void_p, c_char_p, )),
    "cuLibraryGetManaged": (12000, (c_void_p, c_void_p, c_void_p, c_char_p, )),
    "cuLibraryGetUnifiedFunction": (12000, (c_void_p, c_void_p, c_char_p, )),
    "cuLibraryGetKernelCount": (12040, (c_void_p, c_void_p, )),
    "cuLibraryEnumerateKernels": (12040, (c_void_p, c_uint, c_void_p, )),
    "cuKernelGetFunction": (12000, (c_void_p, c_void_p, )),
    "cuKernelGetLibrary": (12050, (c_void_p, c_void_p, )),
    "cuKernelGetAttribute": (12000, (c_void_p, c_int, c_void_p, c_int, )),
    "cuKernelSetAttribute": (12000, (c_int, c_int, c_void_p, c_int, )),
    "cuKernelSetCacheConfig": (12000, (c_void_p, c_int, c_int, )),
    "cuKernelGetName": (12030, (c_void_p, c_void_p, )),
    "cuKernelGetParamInfo": (12040, (c_void_p, c_size_t, c_void_p, c_void_p, )),
    "cuFuncGetAttribute": (2020, (c_void_p, c_int, c_void_p, )),
    "cuFuncSetAttribute": (9000, (c_void_p, c_int, c_int, )),
    "cuFuncSetCacheConfig": (3000, (c_void_p, c_int, )),
    "cuFuncGetModule": (11000, (c_void_p, c_void_p, )),
    "cuFuncGetName": (12030, (c_void_p, c_void_p, )),
    "cuFuncGetParamInfo": (12040, (c_void_p, c_size_t, c_void_p, c_void_p, )),
    "cuFuncIsLoaded": (12040, (c_void_p, c_void_p, )),
    "cuFuncLoad": (12040, (c_void_p, )),
    "cuLaunchKernel": (4000, (c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_void_p, c_void_p, c_void_p, )),
    "cuLaunchKernelEx": (11060, (c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuLaunchCooperativeKernel": (9000, (c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_void_p, c_void_p, )),
    "cuLaunchHostFunc": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (6050, (c_void_p, c_void_p, c_int, c_size_t, )),
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (7000, (c_void_p, c_void_p, c_int, c_size_t, c_uint, )),
    "cuOccupancyMaxPotentialBlockSize": (6050, (c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_int, )),
    "cuOccupancyMaxPotentialBlockSizeWithFlags": (7000, (c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_uint, )),
    "cuOccupancyAvailableDynamicSMemPerBlock": (10020, (c_void_p, c_void_p, c_int, c_int, )),
    "cuOccupancyMaxPotentialClusterSize": (11070, (c_void_p, c_void_p, c_void_p, )),
    "cuOccupancyMaxActiveClusters": (11070, (c_void_p, c_void_p, c_void_p, )),
    "cuMemGetInfo": (3020, (c_void_p, c_void_p, )),
    "cuMemAlloc": (3020, (c_void_p, c_size_t, )),
    "cuMemAllocPitch": (3020, (c_void_p, c_void_p, c_size_t, c_size_t, c_uint, )),
    "cuMemFree": (3020, (c_uint64, )),
    "cuMemGetAddressRange": (3020, (c_void_p, c_void_p, c_uint64, )),
    "cuMemAllocManaged": (6000, (c_void_p, c_size_t, c_uint, )),
    "cuMemAdvise": (8000, (c_uint64, c_size_t, c_int, c_int, )),
    "cuMemPrefetchAsync": (8000, (c_uint64, c_size_t, c_int, c_void_p, )),
    "cuMemRangeGetAttribute": (8000, (c_void_p, c_size_t, c_int, c_uint64, c_size_t, )),
    "cuMemRangeGetAttributes": (8000, (c_void_p, c_void_p, c_void_p, c_size_t, c_uint64, c_size_t, )),
    "cuPointerGetAttribute": (4000, (c_void_p, c_int, c_uint64, )),
    "cuPointerGetAttributes": (7000, (c_uint, c_void_p, c_void_p, c_uint64, )),
    "cuPointerSetAttribute": (6000, (c_void_p, c_int, c_uint64, )),
    "cuMemGetHandleForAddressRange": (11070, (c_void_p, c_uint64, c_size_t, c_int, c_uint64, )),
    "cuFlushGPUDirectRDMAWrites": (11030, (c_int, c_int, )),
    "cuMemAllocHost": (3020, (c_void_p, c_size_t, )),
    "cuMemHostAlloc": (2020, (c_void_p, c_size_t, c_uint, )),
    "cuMemFreeHost": (2000, (c_void_p, )),
    "cuMemHostRegister": (6050, (c_void_p, c_size_t, c_uint, )),
    "cuMemHostUnregister": (4000, (c_void_p, )),
    "cuMemHostGetDevicePointer": (3020, (c_void_p, c_void_p, c_uint, )),
    "cuMemHostGetFlags": (2030, (c_void_p, c_void_p, )),
    "cuMemAllocAsync": (11020, (c_void_p, c_size_t, c_void_p, )),
    "cuMemAllocFromPoolAsync": (11020, (c_void_p, c_size_t, c_void_p, c_void_p, )),
    "cuMemFreeAsync": (11020, (c_uint64, c_void_p, )),
    "cuDeviceGetDefaultMemPool": (11020, (c_void_p, c_int, )),
    "cuDeviceGetMemPool": (11020, (c_void_p, c_int, )),
    "cuDeviceSetMemPool": (11020, (c_int, c_void_p, )),
    "cuMemPoolCreate": (11020, (c_void_p, c_void_p, )),
    "cuMemPoolDestroy": (11020, (c_void_p, )),
    "cuMemPoolTrimTo": (11020, (c_void_p, c_size_t, )),
    "cuMemPoolSetAttribute": (11020, (c_void_p, c_int, c_void_p, )),
    "cuMemPoolGetAttribute": (11020, (c_void_p, c_int, c_void_p, )),
    "cuMemPoolSetAccess": (11020, (c_void_p, c_void_p, c_size_t, )),
    "cuMemPoolGetAccess": (11020, (c_void_p, c_void_p, c_void_p, )),
    "cuMemPoolExportToShareableHandle": (11020, (c_void_p, c_void_p, c_int, c_uint64, )),
    "cuMemPoolImportFromShareableHandle": (11020, (c_void_p, c_void_p, c_int, c_uint64, )),
    "cuMemPoolExportPointer": (11020, (c_void_p, c_uint64, )),
    "cuMemPoolImportPointer": (11020, (c_void_p, c_void_p, c_void_p, )),
    "cuMemAddressReserve": (10020, (c_void_p, c_size_t, c_size_t, c_uint64, c_uint64, )),
    "cuMemAddressFree": (10020, (c_uint64, c_size_t, )),
    "cuMemCreate": (10020, (c_void_p, c_size_t, c_void_p, c_uint64, )),
    "cuMemRelease": (10020, (c_uint64, )),
    "cuMemMap": (10020, (c_uint64, c_size_t, c_size_t, c_uint64, c_uint64, )),
    "cuMemUnmap": (10020, (c_uint64, c_size_t, )),
    "cuMemSetAccess": (10020, (c_uint64, c_size_t, c_void_p, c_size_t, )),
    "cuMemGetAccess": (10020, (c_void_p, c_void_p, c_uint64, )),
    "cuMemExportToShareableHandle": (10020, (c_void_p, c_uint64, c_int, c_uint64, )),
    "cuMemImportFromShareableHandle": (10020, (c_void_p, c_void_p, c_int, )),
    "cuMemGetAllocationGranularity": (10020, (c_void_p, c_void_p, c_int, )),
    "cuMemGetAllocationPropertiesFromHandle": (10020, (c_void_p, c_uint64, )),
    "cuMemRetainAllocationHandle": (11000, (c_void_p, c_void_p, )),
    "cuMemMapArrayAsync": (11010, (c_void_p, c_uint, c_void_p, )),
    "cuMulticastCreate": (12010, (c_void_p, c_void_p, )),
    "cuMulticastAddDevice": (12010, (c_uint64, c_int, )),
    "cuMulticastBindMem": (12010, (c_uint64, c_size_t, c_uint64, c_size_t, c_size_t, c_uint64, )),
    "cuMulticastBindAddr": (12010, (c_uint64, c_size_t, c_uint64, c_size_t, c_uint64, )),
    "cuMulticastUnbind": (12010, (c_uint64, c_int, c_size_t, c_size_t, )),
    "cuMulticastGetGranularity": (12010, (c_void_p, c_void_p, c_int, )),
    "cuMemcpy": (4000, (c_uint64, c_uint64, c_size_t, )),
    "cuMemcpyAsync": (4000, (c_uint64, c_uint64, c_size_t, c_void_p, )),
    "cuMemcpyHtoD": (3020, (c_uint64, c_void_p, c_size_t, )),
    "cuMemcpyDtoH": (3020, (c_void_p, c_uint64, c_size_t, )),
    "cuMemcpyDtoD": (3020, (c_uint64, c_uint64, c_size_t, )),
    "cuMemcpyHtoDAsync": (3020, (c_uint64, c_void_p, c_size_t, c_void_p, )),
    "cuMemcpyDtoHAsync": (3020, (c_void_p, c_uint64, c_size_t, c_void_p, )),
    "cuMemcpyDtoDAsync": (3020, (c_uint64, c_uint64, c_size_t, c_void_p, )),
    "cuMemcpyDtoA": (3020, (c_void_p, c_size_t, c_uint64, c_size_t, )),
    "cuMemcpyAtoD": (3020, (c_uint64, c_void_p, c_size_t, c_size_t, )),
    "cuMemcpyHtoA": (3020, (c_void_p, c_size_t, c_void_p, c_size_t, )),
    "cuMemcpyAtoH": (3020, (c_void_p, c_void_p, c_size_t, c_size_t, )),
    "cuMemcpyAtoA": (3020, (c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, )),
    "cuMemcpyHtoAAsync": (3020, (c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, )),
    "cuMemcpyAtoHAsync": (3020, (c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, )),
    "cuMemcpy2D": (3020, (c_void_p, )),
    "cuMemcpy2DUnaligned": (3020, (c_void_p, )),
    "cuMemcpy2DAsync": (3020, (c_void_p, c_void_p, )),
    "cuMemcpy3D": (3020, (c_void_p, )),
    "cuMemcpy3DAsync": (3020, (c_void_p, c_void_p, )),
    "cuMemcpyPeer": (4000, (c_uint64, c_void_p, c_uint64, c_void_p, c_size_t, )),
    "cuMemcpyPeerAsync": (4000, (c_uint64, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p, )),
    "cuMemcpy3DPeer": (4000, (c_void_p, )),
    "cuMemcpy3DPeerAsync": (4000, (c_void_p, c_void_p, )),
    "cuMemsetD8": (3020, (c_uint64, c_uint8, c_size_t, )),
    "cuMemsetD16": (3020, (c_uint64, c_uint16, c_size_t, )),
    "cuMemsetD32": (3020, (c_uint64, c_uint, c_size_t, )),
    "cuMemsetD2D8": (3020, (c_uint64, c_size_t, c_uint8, c_size_t, c_size_t, )),
    "cuMemsetD2D16": (3020, (c_uint64, c_size_t, c_uint16, c_size_t, c_size_t, )),
    "cuMemsetD2D32": (3020, (c_uint64, c_size_t, c_uint, c_size_t, c_size_t, )),
    "cuMemsetD8Async": (3020, (c_uint64, c_uint8, c_size_t, c_void_p, )),
    "cuMemsetD16Async": (3020, (c_uint64, c_uint16, c_size_t, c_void_p, )),
    "cuMemsetD32Async": (3020, (c_uint64, c_uint, c_size_t, c_void_p, )),
    "cuMemsetD2D8Async": (3020, (c_uint64, c_size_t, c_uint8, c_size_t, c_size_t, c_void_p, )),
    "cuMemsetD2D16Async": (3020, (c_uint64, c_size_t, c_uint16, c_size_t, c_size_t, c_void_p, )),
    "cuMemsetD2D32Async": (3020, (c_uint64, c_size_t, c_uint, c_size_t, c_size_t, c_void_p, )),
    "cuArrayCreate": (3020, (c_void_p, c_void_p, )),
    "cuArrayGetDescriptor": (3020, (c_void_p, c_void_p, )),
    "cuArrayGetSparseProperties": (11010, (c_void_p, c_void_p, )),
    "cuArrayGetMemoryRequirements": (11060, (c_void_p, c_void_p, c_int, )),
    "cuArrayGetPlane": (11020, (c_void_p, c_void_p, c_uint, )),
    "cuArrayDestroy": (2000, (c_void_p, )),
    "cuArray3DCreate": (3020, (c_void_p, c_void_p, )),
    "cuArray3DGetDescriptor": (3020, (c_void_p, c_void_p, )),
    "cuMipmappedArrayCreate": (5000, (c_void_p, c_void_p, c_uint, )),
    "cuMipmappedArrayGetLevel": (5000, (c_void_p, c_void_p, c_uint, )),
    "cuMipmappedArrayDestroy": (5000, (c_void_p, )),
    "cuMipmappedArrayGetSparseProperties": (11010, (c_void_p, c_void_p, )),
    "cuMipmappedArrayGetMemoryRequirements": (11060, (c_void_p, c_void_p, c_int, )),
    "cuTexObjectCreate": (5000, (c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuTexObjectDestroy": (5000, (c_uint64, )),
    "cuTexObjectGetResourceDesc": (5000, (c_void_p, c_uint64, )),
    "cuTexObjectGetTextureDesc": (5000, (c_void_p, c_uint64, )),
    "cuTexObjectGetResourceViewDesc": (5000, (c_void_p, c_uint64, )),
    "cuSurfObjectCreate": (5000, (c_void_p, c_void_p, )),
    "cuSurfObjectDestroy": (5000, (c_uint64, )),
    "cuSurfObjectGetResourceDesc": (5000, (c_void_p, c_uint64, )),
    "cuStreamCreate": (2000, (c_void_p, c_uint, )),
    "cuStreamCreateWithPriority": (5050, (c_void_p, c_uint, c_int, )),
    "cuStreamDestroy": (4000, (c_void_p, )),
    "cuStreamQuery": (2000, (c_void_p, )),
    "cuStreamSynchronize": (2000, (c_void_p, )),
    "cuStreamWaitEvent": (3020, (c_void_p, c_void_p, c_uint, )),
    "cuStreamGetCtx": (9020, (c_void_p, c_void_p, )),
    "cuStreamGetDevice": (12080, (c_void_p, c_void_p, )),
    "cuStreamGetFlags": (5050, (c_void_p, c_void_p, )),
    "cuStreamGetId": (12000, (c_void_p, c_void_p, )),
    "cuStreamGetPriority": (5050, (c_void_p, c_void_p, )),
    "cuStreamAddCallback": (5000, (c_void_p, c_void_p, c_void_p, c_uint, )),
    "cuStreamAttachMemAsync": (6000, (c_void_p, c_uint64, c_size_t, c_uint, )),
    "cuStreamCopyAttributes": (11000, (c_void_p, c_void_p, )),
    "cuStreamGetAttribute": (11000, (c_void_p, c_int, c_void_p, )),
    "cuStreamSetAttribute": (11000, (c_void_p, c_int, c_void_p, )),
    "cuStreamBeginCapture": (10010, (c_void_p, c_int, )),
    "cuStreamBeginCaptureToGraph": (12030, (c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_int, )),
    "cuStreamEndCapture": (10000, (c_void_p, c_void_p, )),
    "cuStreamIsCapturing": (10000, (c_void_p, c_void_p, )),
    "cuStreamGetCaptureInfo": (11030, (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuStreamUpdateCaptureDependencies": (11030, (c_void_p, c_void_p, c_size_t, c_uint, )),
    "cuThreadExchangeStreamCaptureMode": (10010, (c_void_p, )),
    "cuStreamWriteValue32": (11070, (c_void_p, c_uint64, c_uint32, c_uint, )),
    "cuStreamWaitValue32": (11070, (c_void_p, c_uint64, c_uint32, c_uint, )),
    "cuStreamWriteValue64": (11070, (c_void_p, c_uint64, c_uint64, c_uint, )),
    "cuStreamWaitValue64": (11070, (c_void_p, c_uint64, c_uint64, c_uint, )),
    "cuStreamBatchMemOp": (11070, (c_void_p, c_uint, c_void_p, c_uint, )),
    "cuEventCreate": (2000, (c_void_p, c_uint, )),
    "cuEventRecord": (2000, (c_void_p, c_void_p, )),
    "cuEventRecordWithFlags": (11010, (c_void_p, c_void_p, c_uint, )),
    "cuEventQuery": (2000, (c_void_p, )),
    "cuEventSynchronize": (2000, (c_void_p, )),
    "cuEventDestroy": (4000, (c_void_p, )),
    "cuEventElapsedTime": (2000, (c_void_p, c_void_p, c_void_p, )),
    "cuImportExternalMemory": (10000, (c_void_p, c_void_p, )),
    "cuExternalMemoryGetMappedBuffer": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuExternalMemoryGetMappedMipmappedArray": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuDestroyExternalMemory": (10000, (c_void_p, )),
    "cuImportExternalSemaphore": (10000, (c_void_p, c_void_p, )),
    "cuSignalExternalSemaphoresAsync": (10000, (c_void_p, c_void_p, c_uint, c_void_p, )),
    "cuWaitExternalSemaphoresAsync": (10000, (c_void_p, c_void_p, c_uint, c_void_p, )),
    "cuDestroyExternalSemaphore": (10000, (c_void_p, )),
    "cuGraphCreate": (10000, (c_void_p, c_uint, )),
    "cuGraphDestroy": (10000, (c_void_p, )),
    "cuGraphClone": (10000, (c_void_p, c_void_p, )),
    "cuGraphNodeFindInClone": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphNodeGetType": (10000, (c_void_p, c_void_p, )),
    "cuGraphGetNodes": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphGetRootNodes": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphGetEdges": (10000, (c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuGraphNodeGetDependencies": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphNodeGetDependentNodes": (10000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddDependencies": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, )),
    "cuGraphRemoveDependencies": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, )),
    "cuGraphDestroyNode": (10000, (c_void_p, )),
    "cuGraphDebugDotPrint": (11030, (c_void_p, c_char_p, c_uint, )),
    "cuGraphAddNode": (12020, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphNodeSetParams": (12020, (c_void_p, c_void_p, )),
    "cuGraphExecNodeSetParams": (12020, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddKernelNode": (12000, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphKernelNodeGetParams": (12000, (c_void_p, c_void_p, )),
    "cuGraphKernelNodeSetParams": (12000, (c_void_p, c_void_p, )),
    "cuGraphExecKernelNodeSetParams": (12000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphKernelNodeCopyAttributes": (11000, (c_void_p, c_void_p, )),
    "cuGraphKernelNodeGetAttribute": (11000, (c_void_p, c_int, c_void_p, )),
    "cuGraphKernelNodeSetAttribute": (11000, (c_void_p, c_int, c_void_p, )),
    "cuGraphAddMemcpyNode": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, )),
    "cuGraphMemcpyNodeGetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphMemcpyNodeSetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphExecMemcpyNodeSetParams": (10020, (c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddMemsetNode": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, )),
    "cuGraphMemsetNodeGetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphMemsetNodeSetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphExecMemsetNodeSetParams": (10020, (c_void_p, c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddHostNode": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphHostNodeGetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphHostNodeSetParams": (10000, (c_void_p, c_void_p, )),
    "cuGraphExecHostNodeSetParams": (10020, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddChildGraphNode": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphChildGraphNodeGetGraph": (10000, (c_void_p, c_void_p, )),
    "cuGraphExecChildGraphNodeSetParams": (11010, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddEmptyNode": (10000, (c_void_p, c_void_p, c_void_p, c_size_t, )),
    "cuGraphAddEventRecordNode": (11010, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphEventRecordNodeGetEvent": (11010, (c_void_p, c_void_p, )),
    "cuGraphEventRecordNodeSetEvent": (11010, (c_void_p, c_void_p, )),
    "cuGraphExecEventRecordNodeSetEvent": (11010, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddEventWaitNode": (11010, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphEventWaitNodeGetEvent": (11010, (c_void_p, c_void_p, )),
    "cuGraphEventWaitNodeSetEvent": (11010, (c_void_p, c_void_p, )),
    "cuGraphExecEventWaitNodeSetEvent": (11010, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddExternalSemaphoresSignalNode": (11020, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphExternalSemaphoresSignalNodeGetParams": (11020, (c_void_p, c_void_p, )),
    "cuGraphExternalSemaphoresSignalNodeSetParams": (11020, (c_void_p, c_void_p, )),
    "cuGraphExecExternalSemaphoresSignalNodeSetParams": (11020, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddExternalSemaphoresWaitNode": (11020, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphExternalSemaphoresWaitNodeGetParams": (11020, (c_void_p, c_void_p, )),
    "cuGraphExternalSemaphoresWaitNodeSetParams": (11020, (c_void_p, c_void_p, )),
    "cuGraphExecExternalSemaphoresWaitNodeSetParams": (11020, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphAddMemAllocNode": (11040, (c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, )),
    "cuGraphMemAllocNodeGetParams": (11040, (c_void_p, c_void_p, )),
    "cuGraphAddMemFreeNode": (11040, (c_void_p, c_void_p, c_void_p, c_size_t, c_uint64, )),
    "cuGraphMemFreeNodeGetParams": (11040, (c_void_p, c_void_p, )),
    "cuDeviceGraphMemTrim": (11040, (c_int, )),
    "cuDeviceGetGraphMemAttribute": (11040, (c_int, c_int, c_void_p, )),
    "cuDeviceSetGraphMemAttribute": (11040, (c_int, c_int, c_void_p, )),
    "cuGraphConditionalHandleCreate": (12030, (c_void_p, c_void_p, c_void_p, c_uint, c_uint, )),
    "cuGraphNodeSetEnabled": (11060, (c_void_p, c_void_p, c_uint, )),
    "cuGraphNodeGetEnabled": (11060, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphInstantiateWithFlags": (11040, (c_void_p, c_void_p, c_uint64, )),
    "cuGraphInstantiateWithParams": (12000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphExecGetFlags": (12000, (c_void_p, c_void_p, )),
    "cuGraphExecUpdate": (12000, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphUpload": (11010, (c_void_p, c_void_p, )),
    "cuGraphLaunch": (10000, (c_void_p, c_void_p, )),
    "cuGraphExecDestroy": (10000, (c_void_p, )),
    "cuUserObjectCreate": (11030, (c_void_p, c_void_p, c_void_p, c_uint, c_uint, )),
    "cuUserObjectRetain": (11030, (c_void_p, c_uint, )),
    "cuUserObjectRelease": (11030, (c_void_p, c_uint, )),
    "cuGraphRetainUserObject": (11030, (c_void_p, c_void_p, c_uint, c_uint, )),
    "cuGraphReleaseUserObject": (11030, (c_void_p, c_void_p, c_uint, )),
    "cuDeviceCanAccessPeer": (4000, (c_void_p, c_int, c_int, )),
    "cuDeviceGetP2PAttribute": (8000, (c_void_p, c_int, c_int, c_int, )),
    "cuCtxEnablePeerAccess": (4000, (c_void_p, c_uint, )),
    "cuCtxDisablePeerAccess": (4000, (c_void_p, )),
    "cuIpcGetEventHandle": (4010, (c_void_p, c_void_p, )),
    "cuIpcGetMemHandle": (4010, (c_void_p, c_uint64, )),
    "cuIpcCloseMemHandle": (4010, (c_uint64, )),
    "cuGraphicsUnregisterResource": (3000, (c_void_p, )),
    "cuGraphicsSubResourceGetMappedArray": (3000, (c_void_p, c_void_p, c_uint, c_uint, )),
    "cuGraphicsResourceGetMappedMipmappedArray": (5000, (c_void_p, c_void_p, )),
    "cuGraphicsResourceGetMappedPointer": (3020, (c_void_p, c_void_p, c_void_p, )),
    "cuGraphicsResourceSetMapFlags": (6050, (c_void_p, c_uint, )),
    "cuGraphicsMapResources": (3000, (c_uint, c_void_p, c_void_p, )),
    "cuGraphicsUnmapResources": (3000, (c_uint, c_void_p, c_void_p, )),
}
