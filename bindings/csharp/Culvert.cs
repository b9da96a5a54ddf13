// Written by scripts/python-declarations from include/culvert/: do not edit.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Culvert
{
    public enum culv_d3d_access
    {
        CULV_D3D_READ_WRITE = 0,
        CULV_D3D_READ_ONLY = 1,
        CULV_D3D_WRITE_DISCARD = 2,
    }

    public enum culv_d3d_device_list
    {
        CULV_D3D_DEVICES_ALL = 1,
        CULV_D3D_DEVICES_CURRENT_FRAME = 2,
        CULV_D3D_DEVICES_NEXT_FRAME = 3,
    }

    public enum culv_dl_device_type
    {
        CULV_DL_DEVICE_CPU = 1,
        CULV_DL_DEVICE_CUDA = 2,
        CULV_DL_DEVICE_CUDA_HOST = 3,
        CULV_DL_DEVICE_CUDA_MANAGED = 13,
    }

    public enum culv_dl_flags
    {
        CULV_DL_READ_ONLY = 1,
        CULV_DL_IS_COPIED = 2,
    }

    public enum culv_dl_type_code
    {
        CULV_DL_INT = 0,
        CULV_DL_UINT = 1,
        CULV_DL_FLOAT = 2,
        CULV_DL_BFLOAT = 4,
        CULV_DL_COMPLEX = 5,
        CULV_DL_BOOL = 6,
    }

    public enum culv_dlpack_stream
    {
        CULV_DLPACK_STREAM_HOST = -2,
        CULV_DLPACK_STREAM_NONE = -1,
        CULV_DLPACK_STREAM_LEGACY = 1,
        CULV_DLPACK_STREAM_PER_THREAD = 2,
    }

    public enum culv_dma_buf_flags
    {
        CULV_DMA_BUF_PCIE = 1,
    }

    public enum culv_driver
    {
        CULV_DRIVER_AUTO = 0,
        CULV_DRIVER_NVIDIA = 1,
        CULV_DRIVER_SOFT = 2,
    }

    public enum culv_fabric
    {
        CULV_FABRIC_NO = 0,
        CULV_FABRIC_TRY = 1,
        CULV_FABRIC_REQUIRED = 2,
    }

    public enum culv_fallback
    {
        CULV_FALLBACK_PEER = 1,
        CULV_FALLBACK_HOST = 2,
        CULV_FALLBACK_ANY = 3,
    }

    public enum culv_format
    {
        CULV_FORMAT_NONE = 0,
        CULV_FORMAT_R4G4_UNORM_PACK8 = 1,
        CULV_FORMAT_R4G4B4A4_UNORM_PACK16 = 2,
        CULV_FORMAT_B4G4R4A4_UNORM_PACK16 = 3,
        CULV_FORMAT_R5G6B5_UNORM_PACK16 = 4,
        CULV_FORMAT_B5G6R5_UNORM_PACK16 = 5,
        CULV_FORMAT_R5G5B5A1_UNORM_PACK16 = 6,
        CULV_FORMAT_B5G5R5A1_UNORM_PACK16 = 7,
        CULV_FORMAT_A1R5G5B5_UNORM_PACK16 = 8,
        CULV_FORMAT_R8_UNORM = 9,
        CULV_FORMAT_R8_SNORM = 10,
        CULV_FORMAT_R8_USCALED = 11,
        CULV_FORMAT_R8_SSCALED = 12,
        CULV_FORMAT_R8_UINT = 13,
        CULV_FORMAT_R8_SINT = 14,
        CULV_FORMAT_R8_SRGB = 15,
        CULV_FORMAT_R8G8_UNORM = 16,
        CULV_FORMAT_R8G8_SNORM = 17,
        CULV_FORMAT_R8G8_USCALED = 18,
        CULV_FORMAT_R8G8_SSCALED = 19,
        CULV_FORMAT_R8G8_UINT = 20,
        CULV_FORMAT_R8G8_SINT = 21,
        CULV_FORMAT_R8G8_SRGB = 22,
        CULV_FORMAT_R8G8B8_UNORM = 23,
        CULV_FORMAT_R8G8B8_SNORM = 24,
        CULV_FORMAT_R8G8B8_USCALED = 25,
        CULV_FORMAT_R8G8B8_SSCALED = 26,
        CULV_FORMAT_R8G8B8_UINT = 27,
        CULV_FORMAT_R8G8B8_SINT = 28,
        CULV_FORMAT_R8G8B8_SRGB = 29,
        CULV_FORMAT_B8G8R8_UNORM = 30,
        CULV_FORMAT_B8G8R8_SNORM = 31,
        CULV_FORMAT_B8G8R8_USCALED = 32,
        CULV_FORMAT_B8G8R8_SSCALED = 33,
        CULV_FORMAT_B8G8R8_UINT = 34,
        CULV_FORMAT_B8G8R8_SINT = 35,
        CULV_FORMAT_B8G8R8_SRGB = 36,
        CULV_FORMAT_R8G8B8A8_UNORM = 37,
        CULV_FORMAT_R8G8B8A8_SNORM = 38,
        CULV_FORMAT_R8G8B8A8_USCALED = 39,
        CULV_FORMAT_R8G8B8A8_SSCALED = 40,
        CULV_FORMAT_R8G8B8A8_UINT = 41,
        CULV_FORMAT_R8G8B8A8_SINT = 42,
        CULV_FORMAT_R8G8B8A8_SRGB = 43,
        CULV_FORMAT_B8G8R8A8_UNORM = 44,
        CULV_FORMAT_B8G8R8A8_SNORM = 45,
        CULV_FORMAT_B8G8R8A8_USCALED = 46,
        CULV_FORMAT_B8G8R8A8_SSCALED = 47,
        CULV_FORMAT_B8G8R8A8_UINT = 48,
        CULV_FORMAT_B8G8R8A8_SINT = 49,
        CULV_FORMAT_B8G8R8A8_SRGB = 50,
        CULV_FORMAT_A8B8G8R8_UNORM_PACK32 = 51,
        CULV_FORMAT_A8B8G8R8_SNORM_PACK32 = 52,
        CULV_FORMAT_A8B8G8R8_USCALED_PACK32 = 53,
        CULV_FORMAT_A8B8G8R8_SSCALED_PACK32 = 54,
        CULV_FORMAT_A8B8G8R8_UINT_PACK32 = 55,
        CULV_FORMAT_A8B8G8R8_SINT_PACK32 = 56,
        CULV_FORMAT_A8B8G8R8_SRGB_PACK32 = 57,
        CULV_FORMAT_A2R10G10B10_UNORM_PACK32 = 58,
        CULV_FORMAT_A2R10G10B10_SNORM_PACK32 = 59,
        CULV_FORMAT_A2R10G10B10_USCALED_PACK32 = 60,
        CULV_FORMAT_A2R10G10B10_SSCALED_PACK32 = 61,
        CULV_FORMAT_A2R10G10B10_UINT_PACK32 = 62,
        CULV_FORMAT_A2R10G10B10_SINT_PACK32 = 63,
        CULV_FORMAT_A2B10G10R10_UNORM_PACK32 = 64,
        CULV_FORMAT_A2B10G10R10_SNORM_PACK32 = 65,
        CULV_FORMAT_A2B10G10R10_USCALED_PACK32 = 66,
        CULV_FORMAT_A2B10G10R10_SSCALED_PACK32 = 67,
        CULV_FORMAT_A2B10G10R10_UINT_PACK32 = 68,
        CULV_FORMAT_A2B10G10R10_SINT_PACK32 = 69,
        CULV_FORMAT_R16_UNORM = 70,
        CULV_FORMAT_R16_SNORM = 71,
        CULV_FORMAT_R16_USCALED = 72,
        CULV_FORMAT_R16_SSCALED = 73,
        CULV_FORMAT_R16_UINT = 74,
        CULV_FORMAT_R16_SINT = 75,
        CULV_FORMAT_R16_SFLOAT = 76,
        CULV_FORMAT_R16G16_UNORM = 77,
        CULV_FORMAT_R16G16_SNORM = 78,
        CULV_FORMAT_R16G16_USCALED = 79,
        CULV_FORMAT_R16G16_SSCALED = 80,
        CULV_FORMAT_R16G16_UINT = 81,
        CULV_FORMAT_R16G16_SINT = 82,
        CULV_FORMAT_R16G16_SFLOAT = 83,
        CULV_FORMAT_R16G16B16_UNORM = 84,
        CULV_FORMAT_R16G16B16_SNORM = 85,
        CULV_FORMAT_R16G16B16_USCALED = 86,
        CULV_FORMAT_R16G16B16_SSCALED = 87,
        CULV_FORMAT_R16G16B16_UINT = 88,
        CULV_FORMAT_R16G16B16_SINT = 89,
        CULV_FORMAT_R16G16B16_SFLOAT = 90,
        CULV_FORMAT_R16G16B16A16_UNORM = 91,
        CULV_FORMAT_R16G16B16A16_SNORM = 92,
        CULV_FORMAT_R16G16B16A16_USCALED = 93,
        CULV_FORMAT_R16G16B16A16_SSCALED = 94,
        CULV_FORMAT_R16G16B16A16_UINT = 95,
        CULV_FORMAT_R16G16B16A16_SINT = 96,
        CULV_FORMAT_R16G16B16A16_SFLOAT = 97,
        CULV_FORMAT_R32_UINT = 98,
        CULV_FORMAT_R32_SINT = 99,
        CULV_FORMAT_R32_SFLOAT = 100,
        CULV_FORMAT_R32G32_UINT = 101,
        CULV_FORMAT_R32G32_SINT = 102,
        CULV_FORMAT_R32G32_SFLOAT = 103,
        CULV_FORMAT_R32G32B32_UINT = 104,
        CULV_FORMAT_R32G32B32_SINT = 105,
        CULV_FORMAT_R32G32B32_SFLOAT = 106,
        CULV_FORMAT_R32G32B32A32_UINT = 107,
        CULV_FORMAT_R32G32B32A32_SINT = 108,
        CULV_FORMAT_R32G32B32A32_SFLOAT = 109,
        CULV_FORMAT_R64_UINT = 110,
        CULV_FORMAT_R64_SINT = 111,
        CULV_FORMAT_R64_SFLOAT = 112,
        CULV_FORMAT_R64G64_UINT = 113,
        CULV_FORMAT_R64G64_SINT = 114,
        CULV_FORMAT_R64G64_SFLOAT = 115,
        CULV_FORMAT_R64G64B64_UINT = 116,
        CULV_FORMAT_R64G64B64_SINT = 117,
        CULV_FORMAT_R64G64B64_SFLOAT = 118,
        CULV_FORMAT_R64G64B64A64_UINT = 119,
        CULV_FORMAT_R64G64B64A64_SINT = 120,
        CULV_FORMAT_R64G64B64A64_SFLOAT = 121,
        CULV_FORMAT_B10G11R11_UFLOAT_PACK32 = 122,
        CULV_FORMAT_E5B9G9R9_UFLOAT_PACK32 = 123,
        CULV_FORMAT_D16_UNORM = 124,
        CULV_FORMAT_X8_D24_UNORM_PACK32 = 125,
        CULV_FORMAT_D32_SFLOAT = 126,
        CULV_FORMAT_S8_UINT = 127,
        CULV_FORMAT_D16_UNORM_S8_UINT = 128,
        CULV_FORMAT_D24_UNORM_S8_UINT = 129,
        CULV_FORMAT_D32_SFLOAT_S8_UINT = 130,
        CULV_FORMAT_BC1_RGB_UNORM_BLOCK = 131,
        CULV_FORMAT_BC1_RGB_SRGB_BLOCK = 132,
        CULV_FORMAT_BC1_RGBA_UNORM_BLOCK = 133,
        CULV_FORMAT_BC1_RGBA_SRGB_BLOCK = 134,
        CULV_FORMAT_BC2_UNORM_BLOCK = 135,
        CULV_FORMAT_BC2_SRGB_BLOCK = 136,
        CULV_FORMAT_BC3_UNORM_BLOCK = 137,
        CULV_FORMAT_BC3_SRGB_BLOCK = 138,
        CULV_FORMAT_BC4_UNORM_BLOCK = 139,
        CULV_FORMAT_BC4_SNORM_BLOCK = 140,
        CULV_FORMAT_BC5_UNORM_BLOCK = 141,
        CULV_FORMAT_BC5_SNORM_BLOCK = 142,
        CULV_FORMAT_BC6H_UFLOAT_BLOCK = 143,
        CULV_FORMAT_BC6H_SFLOAT_BLOCK = 144,
        CULV_FORMAT_BC7_UNORM_BLOCK = 145,
        CULV_FORMAT_BC7_SRGB_BLOCK = 146,
        CULV_FORMAT_ETC2_R8G8B8_UNORM_BLOCK = 147,
        CULV_FORMAT_ETC2_R8G8B8_SRGB_BLOCK = 148,
        CULV_FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK = 149,
        CULV_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK = 150,
        CULV_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK = 151,
        CULV_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK = 152,
        CULV_FORMAT_EAC_R11_UNORM_BLOCK = 153,
        CULV_FORMAT_EAC_R11_SNORM_BLOCK = 154,
        CULV_FORMAT_EAC_R11G11_UNORM_BLOCK = 155,
        CULV_FORMAT_EAC_R11G11_SNORM_BLOCK = 156,
        CULV_FORMAT_ASTC_4x4_UNORM_BLOCK = 157,
        CULV_FORMAT_ASTC_4x4_SRGB_BLOCK = 158,
        CULV_FORMAT_ASTC_5x4_UNORM_BLOCK = 159,
        CULV_FORMAT_ASTC_5x4_SRGB_BLOCK = 160,
        CULV_FORMAT_ASTC_5x5_UNORM_BLOCK = 161,
        CULV_FORMAT_ASTC_5x5_SRGB_BLOCK = 162,
        CULV_FORMAT_ASTC_6x5_UNORM_BLOCK = 163,
        CULV_FORMAT_ASTC_6x5_SRGB_BLOCK = 164,
        CULV_FORMAT_ASTC_6x6_UNORM_BLOCK = 165,
        CULV_FORMAT_ASTC_6x6_SRGB_BLOCK = 166,
        CULV_FORMAT_ASTC_8x5_UNORM_BLOCK = 167,
        CULV_FORMAT_ASTC_8x5_SRGB_BLOCK = 168,
        CULV_FORMAT_ASTC_8x6_UNORM_BLOCK = 169,
        CULV_FORMAT_ASTC_8x6_SRGB_BLOCK = 170,
        CULV_FORMAT_ASTC_8x8_UNORM_BLOCK = 171,
        CULV_FORMAT_ASTC_8x8_SRGB_BLOCK = 172,
        CULV_FORMAT_ASTC_10x5_UNORM_BLOCK = 173,
        CULV_FORMAT_ASTC_10x5_SRGB_BLOCK = 174,
        CULV_FORMAT_ASTC_10x6_UNORM_BLOCK = 175,
        CULV_FORMAT_ASTC_10x6_SRGB_BLOCK = 176,
        CULV_FORMAT_ASTC_10x8_UNORM_BLOCK = 177,
        CULV_FORMAT_ASTC_10x8_SRGB_BLOCK = 178,
        CULV_FORMAT_ASTC_10x10_UNORM_BLOCK = 179,
        CULV_FORMAT_ASTC_10x10_SRGB_BLOCK = 180,
        CULV_FORMAT_ASTC_12x10_UNORM_BLOCK = 181,
        CULV_FORMAT_ASTC_12x10_SRGB_BLOCK = 182,
        CULV_FORMAT_ASTC_12x12_UNORM_BLOCK = 183,
        CULV_FORMAT_ASTC_12x12_SRGB_BLOCK = 184,
        CULV_FORMAT_ASTC_4x4_SFLOAT_BLOCK = 1000066000,
        CULV_FORMAT_ASTC_5x4_SFLOAT_BLOCK = 1000066001,
        CULV_FORMAT_ASTC_5x5_SFLOAT_BLOCK = 1000066002,
        CULV_FORMAT_ASTC_6x5_SFLOAT_BLOCK = 1000066003,
        CULV_FORMAT_ASTC_6x6_SFLOAT_BLOCK = 1000066004,
        CULV_FORMAT_ASTC_8x5_SFLOAT_BLOCK = 1000066005,
        CULV_FORMAT_ASTC_8x6_SFLOAT_BLOCK = 1000066006,
        CULV_FORMAT_ASTC_8x8_SFLOAT_BLOCK = 1000066007,
        CULV_FORMAT_ASTC_10x5_SFLOAT_BLOCK = 1000066008,
        CULV_FORMAT_ASTC_10x6_SFLOAT_BLOCK = 1000066009,
        CULV_FORMAT_ASTC_10x8_SFLOAT_BLOCK = 1000066010,
        CULV_FORMAT_ASTC_10x10_SFLOAT_BLOCK = 1000066011,
        CULV_FORMAT_ASTC_12x10_SFLOAT_BLOCK = 1000066012,
        CULV_FORMAT_ASTC_12x12_SFLOAT_BLOCK = 1000066013,
        CULV_FORMAT_G8B8G8R8_422_UNORM = 1000156000,
        CULV_FORMAT_B8G8R8G8_422_UNORM = 1000156001,
        CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM = 1000156002,
        CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM = 1000156003,
        CULV_FORMAT_G8_B8_R8_3PLANE_422_UNORM = 1000156004,
        CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM = 1000156005,
        CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM = 1000156006,
        CULV_FORMAT_R10X6_UNORM_PACK16 = 1000156007,
        CULV_FORMAT_R10X6G10X6_UNORM_2PACK16 = 1000156008,
        CULV_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16 = 1000156009,
        CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16 = 1000156010,
        CULV_FORMAT_B10X6G10X6R10X6G10X6_422_UNORM_4PACK16 = 1000156011,
        CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16 = 1000156012,
        CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16 = 1000156013,
        CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16 = 1000156014,
        CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16 = 1000156015,
        CULV_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16 = 1000156016,
        CULV_FORMAT_R12X4_UNORM_PACK16 = 1000156017,
        CULV_FORMAT_R12X4G12X4_UNORM_2PACK16 = 1000156018,
        CULV_FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16 = 1000156019,
        CULV_FORMAT_G12X4B12X4G12X4R12X4_422_UNORM_4PACK16 = 1000156020,
        CULV_FORMAT_B12X4G12X4R12X4G12X4_422_UNORM_4PACK16 = 1000156021,
        CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16 = 1000156022,
        CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16 = 1000156023,
        CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16 = 1000156024,
        CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16 = 1000156025,
        CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16 = 1000156026,
        CULV_FORMAT_G16B16G16R16_422_UNORM = 1000156027,
        CULV_FORMAT_B16G16R16G16_422_UNORM = 1000156028,
        CULV_FORMAT_G16_B16_R16_3PLANE_420_UNORM = 1000156029,
        CULV_FORMAT_G16_B16R16_2PLANE_420_UNORM = 1000156030,
        CULV_FORMAT_G16_B16_R16_3PLANE_422_UNORM = 1000156031,
        CULV_FORMAT_G16_B16R16_2PLANE_422_UNORM = 1000156032,
        CULV_FORMAT_G16_B16_R16_3PLANE_444_UNORM = 1000156033,
        CULV_FORMAT_G8_B8R8_2PLANE_444_UNORM = 1000330000,
        CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16 = 1000330001,
        CULV_FORMAT_G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16 = 1000330002,
        CULV_FORMAT_G16_B16R16_2PLANE_444_UNORM = 1000330003,
        CULV_FORMAT_A4R4G4B4_UNORM_PACK16 = 1000340000,
        CULV_FORMAT_A4B4G4R4_UNORM_PACK16 = 1000340001,
    }

    public enum culv_gl_access
    {
        CULV_GL_READ_WRITE = 0,
        CULV_GL_READ_ONLY = 1,
        CULV_GL_WRITE_DISCARD = 2,
    }

    public enum culv_gl_platform
    {
        CULV_GL_PLATFORM_NONE = 0,
        CULV_GL_PLATFORM_EGL = 1,
        CULV_GL_PLATFORM_GLX = 2,
        CULV_GL_PLATFORM_WGL = 3,
    }

    public enum culv_gl_readback_format
    {
        CULV_GL_READBACK_DEPTH32F = 0,
        CULV_GL_READBACK_DEPTH24_STENCIL8 = 1,
        CULV_GL_READBACK_RGBA8 = 2,
        CULV_GL_READBACK_RGBA16F = 3,
        CULV_GL_READBACK_RGBA32F = 4,
    }

    public enum culv_gl_way
    {
        CULV_GL_WAY_NONE = 0,
        CULV_GL_WAY_MEMORY = 1,
        CULV_GL_WAY_REGISTER = 2,
        CULV_GL_WAY_STAGED = 3,
    }

    public enum culv_handle_type
    {
        CULV_HANDLE_NONE = 0,
        CULV_HANDLE_OPAQUE_FD = 1,
        CULV_HANDLE_OPAQUE_WIN32 = 2,
        CULV_HANDLE_OPAQUE_WIN32_KMT = 3,
        CULV_HANDLE_DMA_BUF_FD = 4,
        CULV_HANDLE_D3D12_HEAP = 5,
        CULV_HANDLE_D3D12_RESOURCE = 6,
        CULV_HANDLE_D3D11_RESOURCE = 7,
        CULV_HANDLE_D3D11_RESOURCE_KMT = 8,
        CULV_HANDLE_D3D12_FENCE = 9,
        CULV_HANDLE_D3D11_FENCE = 10,
        CULV_HANDLE_D3D11_KEYED_MUTEX = 11,
        CULV_HANDLE_D3D11_KEYED_MUTEX_KMT = 12,
        CULV_HANDLE_FABRIC = 13,
    }

    public enum culv_image_type
    {
        CULV_IMAGE_2D = 0,
        CULV_IMAGE_1D = 1,
        CULV_IMAGE_3D = 2,
        CULV_IMAGE_CUBE = 3,
    }

    public enum culv_ipc_alpha
    {
        CULV_IPC_ALPHA_UNKNOWN = 0,
        CULV_IPC_ALPHA_OPAQUE = 1,
        CULV_IPC_ALPHA_STRAIGHT = 2,
        CULV_IPC_ALPHA_PREMULTIPLIED = 3,
    }

    public enum culv_ipc_color
    {
        CULV_IPC_COLOR_UNKNOWN = 0,
        CULV_IPC_COLOR_DATA = 1,
        CULV_IPC_COLOR_SRGB = 2,
        CULV_IPC_COLOR_LINEAR = 3,
        CULV_IPC_COLOR_DISPLAY_P3 = 4,
        CULV_IPC_COLOR_BT709 = 5,
        CULV_IPC_COLOR_BT2020_PQ = 6,
        CULV_IPC_COLOR_BT2020_HLG = 7,
    }

    public enum culv_ipc_kind
    {
        CULV_IPC_NONE = 0,
        CULV_IPC_VMM = 1,
        CULV_IPC_VECTOR = 2,
        CULV_IPC_BUFFER = 3,
        CULV_IPC_IMAGE = 4,
        CULV_IPC_SEMAPHORE = 5,
        CULV_IPC_RING = 6,
        CULV_IPC_CUDA_MEMORY = 7,
        CULV_IPC_EVENT = 8,
        CULV_IPC_POOL = 9,
        CULV_IPC_POOL_MEMORY = 10,
        CULV_IPC_VMM_FABRIC = 11,
        CULV_IPC_POOL_FABRIC = 12,
    }

    public enum culv_ipc_tiling
    {
        CULV_IPC_TILING_OPTIMAL = 0,
        CULV_IPC_TILING_LINEAR = 1,
    }

    public enum culv_log_level
    {
        CULV_LOG_NONE = 0,
        CULV_LOG_ERROR = 1,
        CULV_LOG_WARNING = 2,
        CULV_LOG_INFO = 3,
        CULV_LOG_DEBUG = 4,
    }

    public enum culv_memory_kind
    {
        CULV_MEMORY_KIND_UNKNOWN = 0,
        CULV_MEMORY_KIND_FAST = 1,
        CULV_MEMORY_KIND_COMPRESSIBLE = 2,
        CULV_MEMORY_KIND_PLAIN = 3,
    }

    public enum culv_native_api
    {
        CULV_NATIVE_NONE = 0,
        CULV_NATIVE_CUDA = 1,
        CULV_NATIVE_VULKAN = 2,
        CULV_NATIVE_OS = 3,
        CULV_NATIVE_CUDA_RUNTIME = 4,
        CULV_NATIVE_GL = 5,
        CULV_NATIVE_D3D = 6,
    }

    public enum culv_nvsci_flags
    {
        CULV_NVSCI_SKIP_MEMSYNC = 1,
    }

    public enum culv_nvsci_role
    {
        CULV_NVSCI_SIGNALS = 1,
        CULV_NVSCI_WAITS = 2,
    }

    public enum culv_pointer_kind
    {
        CULV_POINTER_NONE = 0,
        CULV_POINTER_DEVICE = 1,
        CULV_POINTER_VMM = 2,
        CULV_POINTER_POOL = 3,
        CULV_POINTER_MANAGED = 4,
        CULV_POINTER_HOST = 5,
        CULV_POINTER_EXTERNAL = 6,
    }

    public enum culv_rdma_ordering
    {
        CULV_RDMA_ORDERING_NONE = 0,
        CULV_RDMA_ORDERING_OWNER = 100,
        CULV_RDMA_ORDERING_ALL_DEVICES = 200,
    }

    public enum culv_rdma_path
    {
        CULV_RDMA_PATH_NONE = 0,
        CULV_RDMA_PATH_DEVICE = 1,
        CULV_RDMA_PATH_HOST = 2,
    }

    public enum culv_rdma_sync
    {
        CULV_RDMA_SYNC_NONE = 0,
        CULV_RDMA_SYNC_ALLOCATION = 1,
        CULV_RDMA_SYNC_CONTEXT = 2,
    }

    public enum culv_rdma_unpin_why
    {
        CULV_RDMA_UNPIN_EVICTED = 0,
        CULV_RDMA_UNPIN_REPLACED = 1,
        CULV_RDMA_UNPIN_FREED = 2,
    }

    public enum culv_rdma_validity
    {
        CULV_RDMA_VALIDITY_BUFFER_ID = 0,
        CULV_RDMA_VALIDITY_NOTIFICATION = 1,
    }

    public enum culv_reason
    {
        CULV_REASON_NONE = 0,
        CULV_REASON_NULL_ARGUMENT = 1,
        CULV_REASON_STRUCT_SIZE = 2,
        CULV_REASON_VALUE = 3,
        CULV_REASON_SIZE = 4,
        CULV_REASON_RANGE = 5,
        CULV_REASON_HANDLE_TYPE = 6,
        CULV_REASON_HANDLE_BAD = 7,
        CULV_REASON_HANDLE_KIND = 8,
        CULV_REASON_HANDLE_REFUSED = 9,
        CULV_REASON_DEVICE_MISMATCH = 10,
        CULV_REASON_DEVICE_UNKNOWN = 11,
        CULV_REASON_DEVICE_GROUP = 12,
        CULV_REASON_DEVICE_SLICE = 13,
        CULV_REASON_DRIVER_MISSING = 14,
        CULV_REASON_DRIVER_TOO_OLD = 15,
        CULV_REASON_DRIVER_INIT = 16,
        CULV_REASON_DRIVER_REFUSED = 17,
        CULV_REASON_SOFT_MISSING = 18,
        CULV_REASON_EXTENSION_MISSING = 19,
        CULV_REASON_LAYER_MISSING = 20,
        CULV_REASON_VULKAN_VERSION = 21,
        CULV_REASON_DEDICATED = 22,
        CULV_REASON_NOT_EXPORTABLE = 23,
        CULV_REASON_TIMELINE_BACKWARDS = 24,
        CULV_REASON_STREAM_DEVICE = 25,
        CULV_REASON_CONTEXT_DEVICE = 26,
        CULV_REASON_NOT_BUILT = 27,
        CULV_REASON_HOST_MEMORY = 28,
        CULV_REASON_DEVICE_MEMORY = 29,
        CULV_REASON_EARLIER_FAILURE = 30,
        CULV_REASON_DEVICE_LOST = 31,
        CULV_REASON_OS = 32,
        CULV_REASON_FORMAT = 33,
        CULV_REASON_EXTENT = 34,
        CULV_REASON_TILING = 35,
        CULV_REASON_USAGE = 36,
        CULV_REASON_LEVEL = 37,
        CULV_REASON_MEMORY_TYPE = 38,
        CULV_REASON_DOUBLE_SIGNAL = 39,
        CULV_REASON_WAIT_BEFORE_SIGNAL = 40,
        CULV_REASON_SAME_SIDE = 41,
        CULV_REASON_OWNED = 42,
        CULV_REASON_RUNTIME = 43,
        CULV_REASON_PEER = 44,
        CULV_REASON_CAPTURE = 45,
        CULV_REASON_RING_ORDER = 46,
        CULV_REASON_RING_SIDE = 47,
        CULV_REASON_RING_FULL = 48,
        CULV_REASON_RING_EMPTY = 49,
        CULV_REASON_RING_LATE = 50,
        CULV_REASON_RING_STOPPED = 51,
        CULV_REASON_TIMELINE_CHANGED = 52,
        CULV_REASON_NO_FORCE = 53,
        CULV_REASON_VMM = 54,
        CULV_REASON_LOCATION = 55,
        CULV_REASON_ADDRESS = 56,
        CULV_REASON_MAPPED = 57,
        CULV_REASON_NOT_MAPPED = 58,
        CULV_REASON_OPT_IN = 59,
        CULV_REASON_NOT_READY = 60,
        CULV_REASON_MODULE = 61,
        CULV_REASON_KERNEL = 62,
        CULV_REASON_CONTEXT = 63,
        CULV_REASON_QUEUE = 64,
        CULV_REASON_GRAPH = 65,
        CULV_REASON_IPC_NAME = 66,
        CULV_REASON_IPC_GONE = 67,
        CULV_REASON_IPC_REFUSED = 68,
        CULV_REASON_IPC_PROTOCOL = 69,
        CULV_REASON_HOST_POINTER = 70,
        CULV_REASON_MANAGED = 71,
        CULV_REASON_PIN_SPACE = 72,
        CULV_REASON_PIN_REFUSED = 73,
        CULV_REASON_LIBRARY = 74,
        CULV_REASON_MODIFIER = 75,
        CULV_REASON_CIG = 76,
    }

    public enum culv_result
    {
        CULV_OK = 0,
        CULV_ERROR_INVALID = -1,
        CULV_ERROR_BUSY = -2,
        CULV_ERROR_TIMEOUT = -3,
        CULV_ERROR_UNSUPPORTED = -10,
        CULV_ERROR_NO_DEVICE = -11,
        CULV_ERROR_OUT_OF_MEMORY = -12,
        CULV_ERROR_DRIVER = -20,
        CULV_ERROR_ASYNC = -21,
        CULV_ERROR_INTERNAL = -30,
    }

    public enum culv_ring_policy
    {
        CULV_RING_FIFO = 0,
        CULV_RING_MAILBOX = 1,
    }

    public enum culv_ring_side
    {
        CULV_RING_PRODUCER = 0,
        CULV_RING_CONSUMER = 1,
    }

    public enum culv_ring_waits
    {
        CULV_RING_WAITS_DEFAULT = 0,
        CULV_RING_WAITS_QUEUED = 1,
        CULV_RING_WAITS_SIGNAL_FIRST = 2,
    }

    public enum culv_semaphore_type
    {
        CULV_SEMAPHORE_NONE = 0,
        CULV_SEMAPHORE_TIMELINE = 1,
        CULV_SEMAPHORE_BINARY = 2,
    }

    public enum culv_sharing
    {
        CULV_SHARING_SHARED = 0,
        CULV_SHARING_PEER = 1,
        CULV_SHARING_HOST = 2,
    }

    public enum culv_sparse_part
    {
        CULV_SPARSE_TILES = 0,
        CULV_SPARSE_MIP_TAIL = 1,
    }

    public enum culv_texel_kind
    {
        CULV_TEXEL_KIND_NONE = 0,
        CULV_TEXEL_KIND_UINT = 1,
        CULV_TEXEL_KIND_SINT = 2,
        CULV_TEXEL_KIND_FLOAT = 3,
        CULV_TEXEL_KIND_UNORM = 4,
        CULV_TEXEL_KIND_SNORM = 5,
        CULV_TEXEL_KIND_SRGB = 6,
        CULV_TEXEL_KIND_USCALED = 7,
        CULV_TEXEL_KIND_SSCALED = 8,
        CULV_TEXEL_KIND_PADDED = 9,
        CULV_TEXEL_KIND_PACKED = 10,
        CULV_TEXEL_KIND_SPLIT = 11,
        CULV_TEXEL_KIND_DEPTH = 12,
        CULV_TEXEL_KIND_STENCIL = 13,
        CULV_TEXEL_KIND_BLOCKS = 14,
        CULV_TEXEL_KIND_PLANES = 15,
        CULV_TEXEL_KIND_SUBSAMPLED = 16,
    }

    public enum culv_texels
    {
        CULV_TEXELS_STORED = 0,
        CULV_TEXELS_NORMALIZED = 1,
    }

    public enum culv_texture_address
    {
        CULV_TEXTURE_ADDRESS_CLAMP = 0,
        CULV_TEXTURE_ADDRESS_WRAP = 1,
        CULV_TEXTURE_ADDRESS_MIRROR = 2,
        CULV_TEXTURE_ADDRESS_BORDER = 3,
    }

    public enum culv_texture_filter
    {
        CULV_TEXTURE_FILTER_NEAREST = 0,
        CULV_TEXTURE_FILTER_LINEAR = 1,
    }

    public enum culv_texture_read
    {
        CULV_TEXTURE_READ_AS_GRAPHICS = 0,
        CULV_TEXTURE_READ_STORED = 1,
    }

    public enum culv_vk_access
    {
        CULV_VK_ACCESS_NONE = 0,
        CULV_VK_ACCESS_POINTER = 1,
        CULV_VK_ACCESS_ARRAY = 2,
        CULV_VK_ACCESS_PITCHED = 3,
    }

    public enum culv_vk_direction
    {
        CULV_VK_ACQUIRE = 0,
        CULV_VK_RELEASE = 1,
    }

    public enum culv_vk_dmabuf_direction
    {
        CULV_VK_DMABUF_IN = 0,
        CULV_VK_DMABUF_OUT = 1,
    }

    public enum culv_vk_queue_use
    {
        CULV_VK_QUEUE_GRAPHICS = 0,
        CULV_VK_QUEUE_COMPUTE = 1,
        CULV_VK_QUEUE_COPY = 2,
    }

    public enum culv_vk_sampler_difference
    {
        CULV_VK_SAMPLER_MAG_FILTER = 1,
        CULV_VK_SAMPLER_CUBIC_FILTER = 2,
        CULV_VK_SAMPLER_MIRROR_CLAMP = 4,
        CULV_VK_SAMPLER_COMPARE = 8,
        CULV_VK_SAMPLER_BORDER_INTEGER = 16,
        CULV_VK_SAMPLER_BORDER_CUSTOM = 32,
        CULV_VK_SAMPLER_REDUCTION = 64,
        CULV_VK_SAMPLER_YCBCR = 128,
        CULV_VK_SAMPLER_ANISOTROPY = 256,
        CULV_VK_SAMPLER_SUBSAMPLED = 512,
        CULV_VK_SAMPLER_CUBE_SEAMS = 1024,
        CULV_VK_SAMPLER_FLAGS = 2048,
        CULV_VK_SAMPLER_UNNORMALIZED_BORDER = 4096,
    }

    public enum culv_vk_use
    {
        CULV_VK_USE_ANY = 0,
        CULV_VK_USE_VERTEX_BUFFER = 1,
        CULV_VK_USE_INDEX_BUFFER = 2,
        CULV_VK_USE_INDIRECT_BUFFER = 3,
        CULV_VK_USE_UNIFORM = 4,
        CULV_VK_USE_STORAGE_READ = 5,
        CULV_VK_USE_STORAGE = 6,
        CULV_VK_USE_SAMPLED = 7,
        CULV_VK_USE_COLOR_ATTACHMENT = 8,
        CULV_VK_USE_TRANSFER_SRC = 9,
        CULV_VK_USE_TRANSFER_DST = 10,
        CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT = 11,
        CULV_VK_USE_DEPTH_STENCIL_READ = 12,
        CULV_VK_USE_INPUT_ATTACHMENT = 13,
        CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT = 14,
    }

    public enum culv_vmm_access_flags
    {
        CULV_VMM_ACCESS_NONE = 0,
        CULV_VMM_ACCESS_READ = 1,
        CULV_VMM_ACCESS_READ_WRITE = 3,
    }

    public enum culv_vmm_location_kind
    {
        CULV_VMM_LOCATION_DEVICE = 0,
        CULV_VMM_LOCATION_HOST_NUMA = 1,
        CULV_VMM_LOCATION_HOST = 2,
    }

    public enum culv_vmm_usage
    {
        CULV_VMM_USAGE_COMPRESSIBLE = 1,
        CULV_VMM_USAGE_RDMA = 2,
        CULV_VMM_USAGE_TILE_POOL = 4,
        CULV_VMM_USAGE_HW_DECOMPRESS = 8,
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_uuid
    {
        public fixed byte bytes[16];
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_luid
    {
        public fixed byte bytes[8];
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_log
    {
        public IntPtr fn;
        public IntPtr user;
        public culv_log_level level;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_error
    {
        public UIntPtr struct_size;
        public culv_result result;
        public culv_reason reason;
        public culv_native_api native_api;
        public long native_code;
        public fixed byte native_call[64];
        public fixed byte message[2048];

        public static culv_error init()
        {
            var made = new culv_error();
            made.struct_size = (UIntPtr)sizeof(culv_error);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_device_desc
    {
        public UIntPtr struct_size;
        public culv_driver driver;
        public IntPtr context;
        public culv_log log;
        public IntPtr label;

        public static culv_device_desc init()
        {
            var made = new culv_device_desc();
            made.struct_size = (UIntPtr)sizeof(culv_device_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_device_caps
    {
        public UIntPtr struct_size;
        public fixed byte name[256];
        public culv_uuid uuid;
        public int ordinal;
        public uint is_software;
        public uint driver_version;
        public uint compute_major;
        public uint compute_minor;
        public fixed byte pci_bus_id[32];
        public ulong total_memory;
        public uint memory_handle_types;
        public uint semaphore_handle_types;
        public uint timeline_semaphores;
        public uint vmm;
        public uint vmm_posix_fd;
        public uint vmm_win32;
        public uint vmm_fabric;
        public uint dma_buf_export;
        public uint gpudirect_rdma;
        public uint sparse_arrays;
        public uint deferred_mapping_arrays;
        public uint pageable_memory_access;
        public uint multicast;
        public uint mig_slice;
        public uint integrated;
        public uint host_register_supported;
        public uint can_use_host_pointer_for_registered_mem;
        public uint pageable_memory_access_uses_host_page_tables;
        public uint luid_valid;
        public culv_luid luid;
        public uint node_mask;
        public uint cig_context;

        public static culv_device_caps init()
        {
            var made = new culv_device_caps();
            made.struct_size = (UIntPtr)sizeof(culv_device_caps);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_device_counts
    {
        public UIntPtr struct_size;
        public ulong memories;
        public ulong mappings;
        public ulong buffers;
        public ulong images;
        public ulong semaphores;
        public ulong attached_devices;
        public ulong created;
        public ulong deferred;
        public ulong late_destroys;
        public ulong allocations;
        public ulong peers;
        public ulong vmm_allocations;
        public ulong vmm_ranges;
        public ulong vmm_mappings;
        public ulong registrations;

        public static culv_device_counts init()
        {
            var made = new culv_device_counts();
            made.struct_size = (UIntPtr)sizeof(culv_device_counts);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_handle
    {
        public culv_handle_type type;
        public culv_handle_value value;
        public IntPtr name;
    }

    [StructLayout(LayoutKind.Explicit)]
    public unsafe struct culv_handle_value
    {
        [FieldOffset(0)] public int fd;
        [FieldOffset(0)] public IntPtr win32;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_access
    {
        public IntPtr device;
        public culv_vmm_location_kind kind;
        public int numa_node;
        public culv_vmm_access_flags flags;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_allocation_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public culv_vmm_location_kind kind;
        public int numa_node;
        public uint handle_types;
        public uint usage;
        public uint recommended_granularity;
        public IntPtr object_attributes;
        public IntPtr label;
        public culv_fabric fabric;

        public static culv_vmm_allocation_desc init()
        {
            var made = new culv_vmm_allocation_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vmm_allocation_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_allocation_info
    {
        public UIntPtr struct_size;
        public ulong requested;
        public ulong size;
        public ulong granularity;
        public culv_vmm_location_kind kind;
        public int numa_node;
        public uint handle_types;
        public uint usage;
        public uint imported;
        public culv_uuid device;
        public uint mappings;

        public static culv_vmm_allocation_info init()
        {
            var made = new culv_vmm_allocation_info();
            made.struct_size = (UIntPtr)sizeof(culv_vmm_allocation_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_import_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public ulong size;
        public culv_uuid exporter;
        public IntPtr label;

        public static culv_vmm_import_desc init()
        {
            var made = new culv_vmm_import_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vmm_import_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_range_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public ulong alignment;
        public ulong address;
        public uint fixed_address;
        public IntPtr label;

        public static culv_vmm_range_desc init()
        {
            var made = new culv_vmm_range_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vmm_range_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_mapping
    {
        public ulong offset;
        public ulong size;
        public IntPtr allocation;
        public uint unmapping;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vmm_adopted_chunk
    {
        public ulong id;
        public ulong address;
        public ulong size;
        public IntPtr allocation;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_format_info
    {
        public UIntPtr struct_size;
        public culv_format format;
        public fixed byte name[48];
        public uint mapped;
        public culv_reason reason;
        public fixed byte reason_text[256];
        public uint vk_format;
        public uint dxgi_format;
        public uint gl_internal_format;
        public uint cuda_array_format;
        public uint channels;
        public uint normalized_array_format;
        public uint normalized_channels;
        public uint bytes_per_block;
        public uint block_width;
        public uint block_height;
        public uint planes;
        public uint aspects;
        public culv_texel_kind kind;
        public fixed byte channel_order[8];
        public fixed byte kernel_type[16];
        public uint surfaces;
        public uint cuda_version;
        public uint normalized_cuda_version;
        public uint dedicated;

        public static culv_format_info init()
        {
            var made = new culv_format_info();
            made.struct_size = (UIntPtr)sizeof(culv_format_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_memory_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public ulong size;
        public uint dedicated;
        public culv_uuid exporter;
        public IntPtr label;

        public static culv_memory_desc init()
        {
            var made = new culv_memory_desc();
            made.struct_size = (UIntPtr)sizeof(culv_memory_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_buffer_desc
    {
        public UIntPtr struct_size;
        public ulong offset;
        public ulong size;
        public IntPtr label;

        public static culv_buffer_desc init()
        {
            var made = new culv_buffer_desc();
            made.struct_size = (UIntPtr)sizeof(culv_buffer_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_image_desc
    {
        public UIntPtr struct_size;
        public ulong offset;
        public culv_format format;
        public culv_texels texels;
        public culv_image_type type;
        public uint width;
        public uint height;
        public uint depth;
        public uint array_layers;
        public uint mip_levels;
        public uint color_attachment;
        public uint texture_gather;
        public uint video_encode_decode;
        public uint no_surfaces;
        public IntPtr label;
        public fixed ulong plane_offsets[3];

        public static culv_image_desc init()
        {
            var made = new culv_image_desc();
            made.struct_size = (UIntPtr)sizeof(culv_image_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_subresource_layout
    {
        public UIntPtr struct_size;
        public ulong pointer;
        public ulong size;
        public ulong row_pitch;
        public ulong depth_pitch;
        public ulong layer_pitch;
        public uint width;
        public uint height;
        public uint depth;
        public uint array_layers;
        public uint bytes_per_block;
        public uint block_width;
        public uint block_height;

        public static culv_subresource_layout init()
        {
            var made = new culv_subresource_layout();
            made.struct_size = (UIntPtr)sizeof(culv_subresource_layout);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vector_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public ulong reserve;
        public ulong min_chunk;
        public ulong max_chunk;
        public uint growth_percent;
        public uint handle_types;
        public uint usage;
        public ulong commit_ahead;
        public culv_vmm_access* access;
        public UIntPtr access_count;
        public IntPtr moved;
        public IntPtr moved_context;
        public uint no_move;
        public IntPtr label;
        public IntPtr space;

        public static culv_vector_desc init()
        {
            var made = new culv_vector_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vector_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vector_chunk
    {
        public ulong id;
        public ulong offset;
        public ulong size;
        public IntPtr allocation;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vector_stats
    {
        public UIntPtr struct_size;
        public ulong size;
        public ulong committed;
        public ulong peak;
        public ulong reserved;
        public ulong chunks;
        public ulong extensions;
        public ulong moves;
        public ulong retiring;
        public ulong ahead_commits;
        public ulong ahead_misses;

        public static culv_vector_stats init()
        {
            var made = new culv_vector_stats();
            made.struct_size = (UIntPtr)sizeof(culv_vector_stats);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_device
    {
        public int device_type;
        public int device_id;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_type
    {
        public byte code;
        public byte bits;
        public ushort lanes;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_tensor
    {
        public IntPtr data;
        public culv_dl_device device;
        public int ndim;
        public culv_dl_type dtype;
        public IntPtr shape;
        public IntPtr strides;
        public ulong byte_offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_managed_tensor
    {
        public culv_dl_tensor dl_tensor;
        public IntPtr manager_ctx;
        public IntPtr deleter;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_version
    {
        public uint major;
        public uint minor;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dl_managed_tensor_versioned
    {
        public culv_dl_version version;
        public IntPtr manager_ctx;
        public IntPtr deleter;
        public ulong flags;
        public culv_dl_tensor dl_tensor;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_dlpack_desc
    {
        public UIntPtr struct_size;
        public culv_dl_type type;
        public int ndim;
        public IntPtr shape;
        public IntPtr strides;
        public ulong offset;
        public uint read_only;
        public culv_dl_device_type device_type;

        public static culv_dlpack_desc init()
        {
            var made = new culv_dlpack_desc();
            made.struct_size = (UIntPtr)sizeof(culv_dlpack_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_mem_pool_desc
    {
        public UIntPtr struct_size;
        public uint handle_types;
        public ulong max_size;
        public ulong release_threshold;
        public IntPtr security_attributes;
        public IntPtr label;
        public culv_fabric fabric;

        public static culv_mem_pool_desc init()
        {
            var made = new culv_mem_pool_desc();
            made.struct_size = (UIntPtr)sizeof(culv_mem_pool_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_mem_pool_import_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public IntPtr label;

        public static culv_mem_pool_import_desc init()
        {
            var made = new culv_mem_pool_import_desc();
            made.struct_size = (UIntPtr)sizeof(culv_mem_pool_import_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_mem_pool_pointer
    {
        public fixed byte data[64];
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_pointer_info
    {
        public UIntPtr struct_size;
        public culv_pointer_kind kind;
        public uint handle_types;
        public uint graphics;
        public fixed byte reason_text[384];
        public int device;
        public ulong range_start;
        public ulong range_size;
        public ulong mapping_start;
        public ulong mapping_size;
        public ulong memory_id;
        public ulong buffer_id;
        public IntPtr pool;
        public uint ipc;
        public uint rdma;

        public static culv_pointer_info init()
        {
            var made = new culv_pointer_info();
            made.struct_size = (UIntPtr)sizeof(culv_pointer_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_fabric_handle
    {
        public fixed byte bytes[64];
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_semaphore_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public culv_semaphore_type type;
        public ulong value;
        public uint signal_pending;
        public uint untracked;
        public culv_uuid exporter;
        public IntPtr label;

        public static culv_semaphore_desc init()
        {
            var made = new culv_semaphore_desc();
            made.struct_size = (UIntPtr)sizeof(culv_semaphore_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_semaphore_point
    {
        public IntPtr semaphore;
        public ulong value;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_info
    {
        public UIntPtr struct_size;
        public fixed byte name[64];
        public fixed byte text[64];
        public culv_ipc_kind kind;
        public culv_handle_type handle_type;
        public culv_uuid device;
        public ulong allocation_size;
        public ulong offset;
        public ulong size;
        public uint dedicated;
        public uint memory_type_bits;
        public culv_format element_format;
        public uint element_size;
        public ulong element_count;
        public culv_image_type image_type;
        public culv_format format;
        public uint width;
        public uint height;
        public uint depth;
        public uint array_layers;
        public uint mip_levels;
        public culv_ipc_tiling tiling;
        public uint usage;
        public uint create_flags;
        public culv_ipc_color color;
        public culv_ipc_alpha alpha;
        public culv_semaphore_type semaphore_type;
        public uint slots;
        public ulong value;
        public ulong generation;
        public uint parts;
        public uint reserved;

        public static culv_ipc_info init()
        {
            var made = new culv_ipc_info();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_server_desc
    {
        public UIntPtr struct_size;
        public IntPtr name;
        public IntPtr directory;
        public IntPtr users;
        public UIntPtr num_users;
        public uint max_clients;
        public IntPtr label;

        public static culv_ipc_server_desc init()
        {
            var made = new culv_ipc_server_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_server_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_client_desc
    {
        public UIntPtr struct_size;
        public IntPtr name;
        public IntPtr directory;
        public IntPtr users;
        public UIntPtr num_users;
        public IntPtr label;

        public static culv_ipc_client_desc init()
        {
            var made = new culv_ipc_client_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_client_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_vector_desc
    {
        public UIntPtr struct_size;
        public IntPtr name;
        public ulong reserve;
        public uint keep_handles;

        public static culv_ipc_vector_desc init()
        {
            var made = new culv_ipc_vector_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_vector_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_chunk
    {
        public UIntPtr struct_size;
        public ulong id;
        public ulong offset;
        public ulong size;
        public culv_handle handle;

        public static culv_ipc_chunk init()
        {
            var made = new culv_ipc_chunk();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_chunk);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_fetch_desc
    {
        public UIntPtr struct_size;
        public int pid;
        public culv_handle_type type;
        public ulong number;
        public ulong started;
        public IntPtr users;
        public UIntPtr num_users;
        public ulong size;

        public static culv_ipc_fetch_desc init()
        {
            var made = new culv_ipc_fetch_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_fetch_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ring_settings
    {
        public UIntPtr struct_size;
        public culv_ring_policy policy;
        public uint depth;
        public uint burst;
        public uint max_frames_in_flight;
        public ulong max_latency;
        public uint check_counters;

        public static culv_ring_settings init()
        {
            var made = new culv_ring_settings();
            made.struct_size = (UIntPtr)sizeof(culv_ring_settings);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ring_timeline
    {
        public IntPtr semaphore;
        public IntPtr value;
        public IntPtr wait;
        public IntPtr signal;
        public IntPtr context;
        public IntPtr name;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ring_desc
    {
        public UIntPtr struct_size;
        public uint max_depth;
        public culv_ring_settings* settings;
        public culv_ring_timeline ready;
        public culv_ring_timeline done;
        public ulong ready_value;
        public ulong done_value;
        public IntPtr label;

        public static culv_ring_desc init()
        {
            var made = new culv_ring_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ring_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ring_frame
    {
        public ulong number;
        public ulong wait_value;
        public ulong signal_value;
        public ulong skipped;
        public uint slot;
        public uint repeated;
        public uint burst_begins;
        public uint burst_ends;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ring_stats
    {
        public UIntPtr struct_size;
        public ulong produced;
        public ulong consumed;
        public ulong skipped;
        public ulong producer_waits;
        public ulong consumer_waits;
        public ulong ready_signaled;
        public ulong done_signaled;
        public uint depth;
        public uint burst;
        public ulong frame_time;

        public static culv_ring_stats init()
        {
            var made = new culv_ring_stats();
            made.struct_size = (UIntPtr)sizeof(culv_ring_stats);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_timelines
    {
        public UIntPtr struct_size;
        public culv_handle ready;
        public culv_handle done;
        public IntPtr signal;
        public IntPtr context;

        public static culv_ipc_timelines init()
        {
            var made = new culv_ipc_timelines();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_timelines);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_point
    {
        public uint consumer;
        public uint reserved;
        public ulong value;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_frame
    {
        public ulong number;
        public ulong skipped;
        public uint slot;
        public uint repeated;
        public uint num_waits;
        public uint num_signals;
        public culv_ipc_point waits0;
        public culv_ipc_point waits1;
        public culv_ipc_point waits2;
        public culv_ipc_point waits3;
        public culv_ipc_point waits4;
        public culv_ipc_point waits5;
        public culv_ipc_point waits6;
        public culv_ipc_point waits7;
        public culv_ipc_point waits8;
        public culv_ipc_point waits9;
        public culv_ipc_point waits10;
        public culv_ipc_point waits11;
        public culv_ipc_point waits12;
        public culv_ipc_point waits13;
        public culv_ipc_point waits14;
        public culv_ipc_point waits15;
        public culv_ipc_point signals0;
        public culv_ipc_point signals1;
        public culv_ipc_point signals2;
        public culv_ipc_point signals3;
        public culv_ipc_point signals4;
        public culv_ipc_point signals5;
        public culv_ipc_point signals6;
        public culv_ipc_point signals7;
        public culv_ipc_point signals8;
        public culv_ipc_point signals9;
        public culv_ipc_point signals10;
        public culv_ipc_point signals11;
        public culv_ipc_point signals12;
        public culv_ipc_point signals13;
        public culv_ipc_point signals14;
        public culv_ipc_point signals15;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_ring_desc
    {
        public UIntPtr struct_size;
        public IntPtr name;
        public uint slots;
        public uint parts;
        public uint max_consumers;
        public IntPtr make;
        public IntPtr drop;
        public IntPtr context;

        public static culv_ipc_ring_desc init()
        {
            var made = new culv_ipc_ring_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_ring_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_ipc_consumer_desc
    {
        public UIntPtr struct_size;
        public IntPtr ring;
        public culv_ring_policy policy;
        public culv_ipc_timelines* timelines;

        public static culv_ipc_consumer_desc init()
        {
            var made = new culv_ipc_consumer_desc();
            made.struct_size = (UIntPtr)sizeof(culv_ipc_consumer_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_launch_desc
    {
        public UIntPtr struct_size;
        public fixed uint grid[3];
        public fixed uint block[3];
        public uint shared_bytes;
        public IntPtr stream;

        public static culv_launch_desc init()
        {
            var made = new culv_launch_desc();
            made.struct_size = (UIntPtr)sizeof(culv_launch_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_kernel_arg
    {
        public IntPtr value;
        public UIntPtr size;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_kernel_call_arg
    {
        public IntPtr value;
        public IntPtr queue_value;
        public UIntPtr size;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_kernel_call
    {
        public UIntPtr struct_size;
        public IntPtr kernel;
        public fixed uint grid[3];
        public fixed uint block[3];
        public uint shared_bytes;
        public uint reserved;
        public culv_kernel_call_arg* args;
        public UIntPtr num_args;
        public IntPtr @params;
        public IntPtr queue_params;
        public UIntPtr params_size;

        public static culv_kernel_call init()
        {
            var made = new culv_kernel_call();
            made.struct_size = (UIntPtr)sizeof(culv_kernel_call);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_multicast_desc
    {
        public UIntPtr struct_size;
        public uint num_devices;
        public uint opt_in;
        public ulong size;
        public uint handle_types;
        public uint recommended_granularity;
        public IntPtr label;

        public static culv_multicast_desc init()
        {
            var made = new culv_multicast_desc();
            made.struct_size = (UIntPtr)sizeof(culv_multicast_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_multicast_import_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public uint num_devices;
        public uint opt_in;
        public ulong size;
        public IntPtr label;

        public static culv_multicast_import_desc init()
        {
            var made = new culv_multicast_import_desc();
            made.struct_size = (UIntPtr)sizeof(culv_multicast_import_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_nvsci_buffer_desc
    {
        public UIntPtr struct_size;
        public IntPtr @object;
        public ulong size;
        public uint read_only;
        public IntPtr label;

        public static culv_nvsci_buffer_desc init()
        {
            var made = new culv_nvsci_buffer_desc();
            made.struct_size = (UIntPtr)sizeof(culv_nvsci_buffer_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_nvsci_array_desc
    {
        public UIntPtr struct_size;
        public ulong offset;
        public ulong width;
        public ulong height;
        public ulong depth;
        public uint cuda_format;
        public uint channels;
        public uint flags;

        public static culv_nvsci_array_desc init()
        {
            var made = new culv_nvsci_array_desc();
            made.struct_size = (UIntPtr)sizeof(culv_nvsci_array_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_info
    {
        public UIntPtr struct_size;
        public culv_pointer_kind kind;
        public culv_rdma_path path;
        public culv_reason reason;
        public fixed byte reason_text[256];
        public int device;
        public ulong start;
        public ulong size;
        public ulong buffer_id;
        public uint rdma_capable;
        public uint sync_memops;
        public uint host_pages;

        public static culv_rdma_info init()
        {
            var made = new culv_rdma_info();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_tokens
    {
        public UIntPtr struct_size;
        public ulong p2p_token;
        public uint va_space_token;

        public static culv_rdma_tokens init()
        {
            var made = new culv_rdma_tokens();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_tokens);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_dma_buf
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public ulong start;
        public ulong size;
        public ulong offset;
        public uint pcie;

        public static culv_rdma_dma_buf init()
        {
            var made = new culv_rdma_dma_buf();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_dma_buf);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_caps
    {
        public UIntPtr struct_size;
        public uint supported;
        public uint with_vmm;
        public uint dma_buf;
        public uint flush_host;
        public uint flush_memops;
        public culv_rdma_ordering ordering;

        public static culv_rdma_caps init()
        {
            var made = new culv_rdma_caps();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_caps);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_bar1
    {
        public UIntPtr struct_size;
        public ulong total;
        public ulong used;
        public ulong free;
        public ulong usable;

        public static culv_rdma_bar1 init()
        {
            var made = new culv_rdma_bar1();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_bar1);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_cost
    {
        public UIntPtr struct_size;
        public ulong start;
        public ulong size;
        public ulong chunks;

        public static culv_rdma_cost init()
        {
            var made = new culv_rdma_cost();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_cost);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_range
    {
        public UIntPtr struct_size;
        public culv_pointer_kind kind;
        public ulong page_start;
        public ulong page_size;
        public ulong start;
        public ulong size;
        public ulong allocation_start;
        public ulong allocation_size;
        public ulong buffer_id;

        public static culv_rdma_range init()
        {
            var made = new culv_rdma_range();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_range);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_cache_desc
    {
        public UIntPtr struct_size;
        public IntPtr pin;
        public IntPtr unpin;
        public IntPtr user;
        public culv_rdma_validity validity;
        public ulong max_bytes;
        public ulong max_entries;
        public uint whole_percent;
        public uint exact_ranges;
        public uint no_sync_memops;
        public uint allow_context_sync;
        public IntPtr label;

        public static culv_rdma_cache_desc init()
        {
            var made = new culv_rdma_cache_desc();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_cache_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_rdma_cache_stats
    {
        public UIntPtr struct_size;
        public ulong entries;
        public ulong bytes;
        public ulong leaving;
        public ulong misses;
        public ulong pins;
        public ulong unpins;
        public ulong evictions;
        public ulong freed;
        public ulong replaced;
        public ulong pin_retries;
        public ulong index_bytes;

        public static culv_rdma_cache_stats init()
        {
            var made = new culv_rdma_cache_stats();
            made.struct_size = (UIntPtr)sizeof(culv_rdma_cache_stats);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_sparse_array_desc
    {
        public UIntPtr struct_size;
        public culv_format format;
        public culv_texels texels;
        public culv_image_type type;
        public uint width;
        public uint height;
        public uint depth;
        public uint array_layers;
        public uint mip_levels;
        public uint surfaces;
        public uint texture_gather;
        public IntPtr label;

        public static culv_sparse_array_desc init()
        {
            var made = new culv_sparse_array_desc();
            made.struct_size = (UIntPtr)sizeof(culv_sparse_array_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_sparse_array_info
    {
        public UIntPtr struct_size;
        public uint tile_width;
        public uint tile_height;
        public uint tile_depth;
        public uint tile_bytes;
        public uint array_layers;
        public uint mip_levels;
        public uint mip_tail_first_level;
        public uint mip_tail_single;
        public ulong mip_tail_size;
        public ulong full_size;

        public static culv_sparse_array_info init()
        {
            var made = new culv_sparse_array_info();
            made.struct_size = (UIntPtr)sizeof(culv_sparse_array_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_sparse_region
    {
        public uint level;
        public uint layer;
        public uint x;
        public uint y;
        public uint z;
        public uint width;
        public uint height;
        public uint depth;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_sparse_bind
    {
        public IntPtr array;
        public culv_sparse_part part;
        public culv_sparse_region region;
        public ulong tail_offset;
        public ulong tail_size;
        public IntPtr pool;
        public ulong pool_offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_texture_desc
    {
        public UIntPtr struct_size;
        public culv_texture_address address0;
        public culv_texture_address address1;
        public culv_texture_address address2;
        public culv_texture_filter filter;
        public culv_texture_filter mip_filter;
        public culv_texture_read read;
        public float mip_bias;
        public uint clamp_lod;
        public float min_lod;
        public float max_lod;
        public uint max_anisotropy;
        public fixed float border_color[4];
        public uint unnormalized_coordinates;
        public uint no_seamless_cube;
        public uint base_level;
        public uint level_count;
        public uint base_layer;
        public uint layer_count;
        public uint plane;

        public static culv_texture_desc init()
        {
            var made = new culv_texture_desc();
            made.struct_size = (UIntPtr)sizeof(culv_texture_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_keyed_mutex_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public IntPtr label;

        public static culv_keyed_mutex_desc init()
        {
            var made = new culv_keyed_mutex_desc();
            made.struct_size = (UIntPtr)sizeof(culv_keyed_mutex_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_device_desc
    {
        public UIntPtr struct_size;
        public IntPtr device;
        public IntPtr label;

        public static culv_d3d11_device_desc init()
        {
            var made = new culv_d3d11_device_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_device_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_memory_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource;
        public ulong size;
        public IntPtr label;

        public static culv_d3d11_memory_desc init()
        {
            var made = new culv_d3d11_memory_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_memory_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_image_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource;
        public uint cube;
        public uint format;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;

        public static culv_d3d11_image_desc init()
        {
            var made = new culv_d3d11_image_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_image_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_buffer_create_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public uint bind_flags;
        public uint misc_flags;
        public uint stride;
        public uint keyed_mutex;
        public uint kmt;
        public IntPtr label;

        public static culv_d3d11_buffer_create_desc init()
        {
            var made = new culv_d3d11_buffer_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_buffer_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_image_create_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource_desc;
        public uint cube;
        public uint format;
        public culv_texels texels;
        public uint no_surfaces;
        public uint keyed_mutex;
        public uint kmt;
        public IntPtr label;

        public static culv_d3d11_image_create_desc init()
        {
            var made = new culv_d3d11_image_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_image_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d11_semaphore_create_desc
    {
        public UIntPtr struct_size;
        public ulong initial_value;
        public IntPtr label;

        public static culv_d3d11_semaphore_create_desc init()
        {
            var made = new culv_d3d11_semaphore_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d11_semaphore_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_device_desc
    {
        public UIntPtr struct_size;
        public IntPtr device;
        public IntPtr label;

        public static culv_d3d12_device_desc init()
        {
            var made = new culv_d3d12_device_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_device_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_memory_desc
    {
        public UIntPtr struct_size;
        public IntPtr heap;
        public IntPtr resource;
        public IntPtr label;

        public static culv_d3d12_memory_desc init()
        {
            var made = new culv_d3d12_memory_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_memory_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_image_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource;
        public ulong offset;
        public uint cube;
        public uint format;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;

        public static culv_d3d12_image_desc init()
        {
            var made = new culv_d3d12_image_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_image_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_buffer_create_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public uint resource_flags;
        public IntPtr label;

        public static culv_d3d12_buffer_create_desc init()
        {
            var made = new culv_d3d12_buffer_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_buffer_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_image_create_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource_desc;
        public uint cube;
        public uint format;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;

        public static culv_d3d12_image_create_desc init()
        {
            var made = new culv_d3d12_image_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_image_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_shadow_desc
    {
        public UIntPtr struct_size;
        public IntPtr resource;
        public uint cube;
        public uint format;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;

        public static culv_d3d12_shadow_desc init()
        {
            var made = new culv_d3d12_shadow_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_shadow_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_semaphore_create_desc
    {
        public UIntPtr struct_size;
        public ulong initial_value;
        public IntPtr label;
        public uint fallback;

        public static culv_d3d12_semaphore_create_desc init()
        {
            var made = new culv_d3d12_semaphore_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_semaphore_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_ring_resource
    {
        public culv_d3d12_image_create_desc* image;
        public culv_d3d12_buffer_create_desc* buffer;
        public IntPtr images;
        public IntPtr buffers;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_ring_desc
    {
        public UIntPtr struct_size;
        public uint max_depth;
        public culv_ring_settings* settings;
        public culv_d3d12_ring_resource* resources;
        public uint num_resources;
        public culv_ring_side side;
        public culv_ring_waits waits;
        public IntPtr label;

        public static culv_d3d12_ring_desc init()
        {
            var made = new culv_d3d12_ring_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_ring_desc);
            made.side = (culv_ring_side)1;
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_vector_buffer
    {
        public IntPtr resource;
        public ulong offset;
        public ulong size;
        public ulong chunk;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d12_vector_desc
    {
        public UIntPtr struct_size;
        public uint resource_flags;
        public IntPtr label;

        public static culv_d3d12_vector_desc init()
        {
            var made = new culv_d3d12_vector_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d12_vector_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_d3d_register_desc
    {
        public UIntPtr struct_size;
        public culv_d3d_access access;
        public uint no_surfaces;
        public uint texture_gather;
        public IntPtr label;

        public static culv_d3d_register_desc init()
        {
            var made = new culv_d3d_register_desc();
            made.struct_size = (UIntPtr)sizeof(culv_d3d_register_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_desc
    {
        public UIntPtr struct_size;
        public IntPtr get_proc_address;
        public IntPtr vk;
        public IntPtr label;
        public uint fallback;

        public static culv_gl_desc init()
        {
            var made = new culv_gl_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_report
    {
        public UIntPtr struct_size;
        public culv_gl_platform platform;
        public culv_gl_way way;
        public uint is_software;
        public fixed byte vendor[128];
        public fixed byte renderer[256];
        public fixed byte version[128];
        public uint has_uuid;
        public culv_uuid uuid;
        public culv_uuid driver_uuid;
        public uint num_gpus;
        public int cuda_ordinal;
        public fixed byte cuda_name[256];
        public uint devices_all;
        public uint devices_current_frame;
        public uint devices_next_frame;
        public uint has_direct_state_access;
        public uint has_memory_object;
        public uint has_semaphore;
        public uint has_timeline_semaphore;
        public culv_reason memory_reason;
        public culv_reason register_reason;
        public fixed byte text[3072];

        public static culv_gl_report init()
        {
            var made = new culv_gl_report();
            made.struct_size = (UIntPtr)sizeof(culv_gl_report);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_buffer_create_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public IntPtr label;
        public uint fallback;

        public static culv_gl_buffer_create_desc init()
        {
            var made = new culv_gl_buffer_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_buffer_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_image_create_desc
    {
        public UIntPtr struct_size;
        public uint target;
        public uint internal_format;
        public uint width;
        public uint height;
        public uint depth;
        public uint array_layers;
        public uint mip_levels;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;
        public uint fallback;

        public static culv_gl_image_create_desc init()
        {
            var made = new culv_gl_image_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_image_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_memory_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public ulong size;
        public uint dedicated;
        public culv_uuid exporter;
        public IntPtr label;

        public static culv_gl_memory_desc init()
        {
            var made = new culv_gl_memory_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_memory_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_register_desc
    {
        public UIntPtr struct_size;
        public culv_gl_access access;
        public uint no_surfaces;
        public uint texture_gather;
        public uint @unchecked;
        public IntPtr label;

        public static culv_gl_register_desc init()
        {
            var made = new culv_gl_register_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_register_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_readback_desc
    {
        public UIntPtr struct_size;
        public uint width;
        public uint height;
        public culv_gl_readback_format format;
        public uint internal_format;
        public uint flip;
        public IntPtr label;

        public static culv_gl_readback_desc init()
        {
            var made = new culv_gl_readback_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_readback_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_semaphore_create_desc
    {
        public UIntPtr struct_size;
        public culv_semaphore_type type;
        public ulong initial_value;
        public uint untracked;
        public IntPtr label;
        public uint fallback;

        public static culv_gl_semaphore_create_desc init()
        {
            var made = new culv_gl_semaphore_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_semaphore_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_uses
    {
        public UIntPtr struct_size;
        public uint num_buffers;
        public IntPtr buffers;
        public uint num_textures;
        public IntPtr textures;
        public IntPtr layouts;

        public static culv_gl_uses init()
        {
            var made = new culv_gl_uses();
            made.struct_size = (UIntPtr)sizeof(culv_gl_uses);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_ring_resource
    {
        public culv_gl_buffer_create_desc* buffer;
        public culv_gl_image_create_desc* image;
        public IntPtr buffers;
        public IntPtr images;
        public IntPtr registrations;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_ring_desc
    {
        public UIntPtr struct_size;
        public uint max_depth;
        public culv_ring_settings* settings;
        public culv_gl_ring_resource* resources;
        public uint num_resources;
        public culv_ring_side side;
        public culv_gl_way way;
        public IntPtr label;

        public static culv_gl_ring_desc init()
        {
            var made = new culv_gl_ring_desc();
            made.struct_size = (UIntPtr)sizeof(culv_gl_ring_desc);
            made.side = (culv_ring_side)1;
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_gl_vector_buffer
    {
        public uint buffer;
        public uint reserved;
        public ulong offset;
        public ulong size;
        public ulong chunk;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_device_desc
    {
        public UIntPtr struct_size;
        public IntPtr get_instance_proc_addr;
        public IntPtr instance;
        public IntPtr physical_device;
        public IntPtr device;
        public uint api_version;
        public uint num_physical_devices;
        public IntPtr label;
        public uint fallback;
        public uint kernels;

        public static culv_vk_device_desc init()
        {
            var made = new culv_vk_device_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_device_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_candidate
    {
        public UIntPtr struct_size;
        public IntPtr physical_device;
        public fixed byte name[256];
        public fixed byte driver_name[256];
        public fixed byte driver_info[256];
        public uint api_version;
        public int type;
        public uint vendor_id;
        public int driver_id;
        public culv_uuid uuid;
        public uint group_size;
        public uint reachable;
        public culv_driver driver;
        public int cuda_ordinal;
        public fixed byte cuda_name[256];
        public uint has_external_memory;
        public uint has_external_semaphore;
        public uint has_timeline_semaphore;
        public uint buffer_opaque_fd_export;
        public uint buffer_opaque_fd_dedicated_only;
        public uint buffer_dma_buf_export;
        public uint timeline_opaque_fd_export;
        public uint binary_opaque_fd_export;
        public uint buffer_host_import;
        public uint luid_valid;
        public culv_luid luid;
        public uint node_mask;
        public culv_reason reason;
        public fixed byte reason_text[1024];

        public static culv_vk_candidate init()
        {
            var made = new culv_vk_candidate();
            made.struct_size = (UIntPtr)sizeof(culv_vk_candidate);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_memory_from_handle_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public ulong size;
        public culv_uuid exporter;
        public IntPtr buffer;
        public IntPtr image;
        public uint memory_type_bits;
        public uint dedicated;
        public IntPtr label;
        public uint allocate_flags;

        public static culv_vk_memory_from_handle_desc init()
        {
            var made = new culv_vk_memory_from_handle_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_memory_from_handle_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_vector_desc
    {
        public UIntPtr struct_size;
        public uint usage;
        public IntPtr sparse_queue;
        public ulong sparse_size;
        public IntPtr label;

        public static culv_vk_vector_desc init()
        {
            var made = new culv_vk_vector_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_vector_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_vector_buffer
    {
        public IntPtr buffer;
        public ulong offset;
        public ulong size;
        public ulong chunk;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_adopted_desc
    {
        public UIntPtr struct_size;
        public uint usage;
        public IntPtr sparse_queue;
        public IntPtr label;

        public static culv_vk_adopted_desc init()
        {
            var made = new culv_vk_adopted_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_adopted_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_adopted_buffer
    {
        public IntPtr buffer;
        public ulong offset;
        public ulong size;
        public ulong range_offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_buffer_transfer
    {
        public UIntPtr struct_size;
        public IntPtr buffer;
        public ulong offset;
        public ulong size;
        public uint queue_family;
        public culv_vk_use use;
        public ulong stage;
        public ulong access;

        public static culv_vk_buffer_transfer init()
        {
            var made = new culv_vk_buffer_transfer();
            made.struct_size = (UIntPtr)sizeof(culv_vk_buffer_transfer);
            made.queue_family = unchecked((uint)(-4));
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkBufferMemoryBarrier
    {
        public int sType;
        public IntPtr pNext;
        public uint srcAccessMask;
        public uint dstAccessMask;
        public uint srcQueueFamilyIndex;
        public uint dstQueueFamilyIndex;
        public IntPtr buffer;
        public ulong offset;
        public ulong size;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_buffer_barrier
    {
        public uint src_stage;
        public uint dst_stage;
        public VkBufferMemoryBarrier barrier;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_image_transfer
    {
        public UIntPtr struct_size;
        public IntPtr image;
        public uint base_mip_level;
        public uint level_count;
        public uint queue_family;
        public culv_vk_use use;
        public ulong stage;
        public ulong access;
        public int layout;
        public uint discard;
        public uint base_array_layer;
        public uint layer_count;
        public int format;
        public uint aspect;

        public static culv_vk_image_transfer init()
        {
            var made = new culv_vk_image_transfer();
            made.struct_size = (UIntPtr)sizeof(culv_vk_image_transfer);
            made.queue_family = unchecked((uint)(-4));
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkImageSubresourceRange
    {
        public uint aspectMask;
        public uint baseMipLevel;
        public uint levelCount;
        public uint baseArrayLayer;
        public uint layerCount;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkImageMemoryBarrier
    {
        public int sType;
        public IntPtr pNext;
        public uint srcAccessMask;
        public uint dstAccessMask;
        public int oldLayout;
        public int newLayout;
        public uint srcQueueFamilyIndex;
        public uint dstQueueFamilyIndex;
        public IntPtr image;
        public VkImageSubresourceRange subresourceRange;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_image_barrier
    {
        public uint src_stage;
        public uint dst_stage;
        public VkImageMemoryBarrier barrier;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_check_desc
    {
        public UIntPtr struct_size;
        public culv_handle_type handle_type;
        public uint memory_properties;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;
        public uint host_memory;
        public ulong block_size;

        public static culv_vk_check_desc init()
        {
            var made = new culv_vk_check_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_check_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkMemoryRequirements
    {
        public ulong size;
        public ulong alignment;
        public uint memoryTypeBits;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkExtent3D
    {
        public uint width;
        public uint height;
        public uint depth;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_sharing_info
    {
        public UIntPtr struct_size;
        public culv_vk_access access;
        public uint handle_types;
        public culv_handle_type handle_type;
        public uint dedicated_required;
        public uint dedicated_preferred;
        public uint requirements_known;
        public VkMemoryRequirements requirements;
        public VkMemoryRequirements plane_requirements0;
        public VkMemoryRequirements plane_requirements1;
        public VkMemoryRequirements plane_requirements2;
        public uint memory_type_index;
        public VkExtent3D max_extent;
        public uint max_mip_levels;
        public uint max_array_layers;
        public uint sample_counts;
        public ulong max_resource_size;
        public culv_image_desc image;
        public culv_memory_kind memory_kind;
        public uint random_access_slow;

        public static culv_vk_sharing_info init()
        {
            var made = new culv_vk_sharing_info();
            made.struct_size = (UIntPtr)sizeof(culv_vk_sharing_info);
            made.image.struct_size = (UIntPtr)sizeof(culv_image_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_memory_desc
    {
        public UIntPtr struct_size;
        public IntPtr memory;
        public ulong allocation_size;
        public uint dedicated;
        public IntPtr buffer;
        public ulong buffer_offset;
        public IntPtr image;
        public ulong image_offset;
        public IntPtr label;

        public static culv_vk_memory_desc init()
        {
            var made = new culv_vk_memory_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_memory_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_image_desc
    {
        public UIntPtr struct_size;
        public IntPtr image;
        public IntPtr create_info;
        public ulong offset;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;
        public fixed ulong plane_offsets[3];

        public static culv_vk_image_desc init()
        {
            var made = new culv_vk_image_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_image_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_buffer_create_desc
    {
        public UIntPtr struct_size;
        public IntPtr create_info;
        public uint memory_properties;
        public IntPtr label;
        public uint fallback;
        public uint host_memory;
        public IntPtr host_pointer;
        public ulong host_size;
        public culv_memory_kind memory_kind;

        public static culv_vk_buffer_create_desc init()
        {
            var made = new culv_vk_buffer_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_buffer_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_image_create_desc
    {
        public UIntPtr struct_size;
        public IntPtr create_info;
        public uint memory_properties;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;
        public uint fallback;

        public static culv_vk_image_create_desc init()
        {
            var made = new culv_vk_image_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_image_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_semaphore_desc
    {
        public UIntPtr struct_size;
        public IntPtr semaphore;
        public culv_semaphore_type type;
        public uint untracked;
        public uint signal_pending;
        public IntPtr label;

        public static culv_vk_semaphore_desc init()
        {
            var made = new culv_vk_semaphore_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_semaphore_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_semaphore_create_desc
    {
        public UIntPtr struct_size;
        public culv_semaphore_type type;
        public ulong initial_value;
        public uint untracked;
        public IntPtr label;
        public uint fallback;

        public static culv_vk_semaphore_create_desc init()
        {
            var made = new culv_vk_semaphore_create_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_semaphore_create_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_drm_format_info
    {
        public UIntPtr struct_size;
        public uint fourcc;
        public culv_format format;
        public uint ignores_alpha;
        public uint planes;
        public fixed uint plane_fourccs[3];
        public uint chroma_across;
        public uint chroma_down;

        public static culv_drm_format_info init()
        {
            var made = new culv_drm_format_info();
            made.struct_size = (UIntPtr)sizeof(culv_drm_format_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_dmabuf_desc
    {
        public UIntPtr struct_size;
        public culv_handle handle;
        public culv_vk_dmabuf_direction direction;
        public uint fourcc;
        public int format;
        public uint width;
        public uint height;
        public ulong modifier;
        public uint num_planes;
        public fixed ulong plane_offsets[4];
        public fixed ulong plane_pitches[4];
        public IntPtr modifiers;
        public uint num_modifiers;
        public uint queue_family;
        public uint to_buffer;
        public culv_texels texels;
        public uint no_surfaces;
        public IntPtr label;

        public static culv_vk_dmabuf_desc init()
        {
            var made = new culv_vk_dmabuf_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_dmabuf_desc);
            made.queue_family = unchecked((uint)(-4));
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_dmabuf_turn
    {
        public UIntPtr struct_size;
        public IntPtr semaphore;
        public ulong wait_value;
        public ulong signal_value;
        public ulong cuda_wait_value;
        public ulong cuda_signal_value;

        public static culv_vk_dmabuf_turn init()
        {
            var made = new culv_vk_dmabuf_turn();
            made.struct_size = (UIntPtr)sizeof(culv_vk_dmabuf_turn);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_dmabuf_info
    {
        public UIntPtr struct_size;
        public uint fourcc;
        public int format;
        public uint width;
        public uint height;
        public ulong modifier;
        public uint num_planes;
        public fixed ulong plane_offsets[4];
        public fixed ulong plane_pitches[4];
        public ulong buffer_pitch;

        public static culv_vk_dmabuf_info init()
        {
            var made = new culv_vk_dmabuf_info();
            made.struct_size = (UIntPtr)sizeof(culv_vk_dmabuf_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkMemoryBarrier
    {
        public int sType;
        public IntPtr pNext;
        public uint srcAccessMask;
        public uint dstAccessMask;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_memory_barrier
    {
        public uint src_stage;
        public uint dst_stage;
        public VkMemoryBarrier barrier;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_space_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public IntPtr queue;
        public ulong address;
        public IntPtr candidates;
        public UIntPtr num_candidates;
        public uint buffer_usage;
        public uint memory_usage;
        public culv_vmm_access* access;
        public UIntPtr access_count;
        public IntPtr lock_queue;
        public IntPtr unlock_queue;
        public IntPtr queue_context;
        public IntPtr label;

        public static culv_vk_space_desc init()
        {
            var made = new culv_vk_space_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_space_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_space_info
    {
        public UIntPtr struct_size;
        public ulong granularity;
        public ulong max_size;
        public ulong address;
        public ulong size;
        public ulong committed;
        public ulong chunks;
        public ulong decommitting;
        public uint attempts;
        public uint refused_by_cuda;
        public uint refused_by_vulkan;

        public static culv_vk_space_info init()
        {
            var made = new culv_vk_space_info();
            made.struct_size = (UIntPtr)sizeof(culv_vk_space_info);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_space_buffer_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public ulong offset;
        public uint usage;
        public ulong alignment;
        public uint own_handle;
        public IntPtr label;

        public static culv_vk_space_buffer_desc init()
        {
            var made = new culv_vk_space_buffer_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_space_buffer_desc);
            made.offset = (ulong)18446744073709551615;
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_graph_memory
    {
        public ulong pointer;
        public ulong size;
        public ulong address;
        public IntPtr buffer;
        public ulong offset;
        public uint usage;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_graph_param
    {
        public IntPtr node;
        public IntPtr kernel;
        public uint index;
        public IntPtr value;
        public UIntPtr size;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_graph_desc
    {
        public UIntPtr struct_size;
        public IntPtr kernels;
        public UIntPtr num_kernels;
        public culv_vk_graph_memory* memory;
        public UIntPtr num_memory;
        public culv_vk_graph_param* @params;
        public UIntPtr num_params;
        public IntPtr label;

        public static culv_vk_graph_desc init()
        {
            var made = new culv_vk_graph_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_graph_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_rdma_buffer_desc
    {
        public UIntPtr struct_size;
        public ulong size;
        public uint usage;
        public ulong reserve;
        public ulong max_part;
        public uint optional_dma_buf;
        public uint set_context_sync;
        public IntPtr label;

        public static culv_vk_rdma_buffer_desc init()
        {
            var made = new culv_vk_rdma_buffer_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_rdma_buffer_desc);
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_rdma_part
    {
        public ulong id;
        public ulong offset;
        public ulong size;
        public ulong pointer;
        public IntPtr buffer;
        public culv_handle dma_buf;
        public uint pcie;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_ring_resource
    {
        public culv_vk_image_create_desc* image;
        public culv_vk_buffer_create_desc* buffer;
        public IntPtr images;
        public IntPtr buffers;
        public culv_vk_use use;
        public ulong stage;
        public ulong access;
        public int layout;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_ring_desc
    {
        public UIntPtr struct_size;
        public uint max_depth;
        public culv_ring_settings* settings;
        public culv_vk_ring_resource* resources;
        public uint num_resources;
        public culv_ring_side side;
        public uint queue_family;
        public ulong wait_stage;
        public IntPtr label;
        public culv_ring_waits waits;

        public static culv_vk_ring_desc init()
        {
            var made = new culv_vk_ring_desc();
            made.struct_size = (UIntPtr)sizeof(culv_vk_ring_desc);
            made.side = (culv_ring_side)1;
            made.queue_family = unchecked((uint)(-4));
            return made;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkSemaphoreSubmitInfo
    {
        public int sType;
        public IntPtr pNext;
        public IntPtr semaphore;
        public ulong value;
        public ulong stageMask;
        public uint deviceIndex;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkDependencyInfo
    {
        public int sType;
        public IntPtr pNext;
        public uint dependencyFlags;
        public uint memoryBarrierCount;
        public IntPtr pMemoryBarriers;
        public uint bufferMemoryBarrierCount;
        public IntPtr pBufferMemoryBarriers;
        public uint imageMemoryBarrierCount;
        public IntPtr pImageMemoryBarriers;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_ring_frame
    {
        public culv_ring_frame frame;
        public uint num_waits;
        public VkSemaphoreSubmitInfo wait;
        public uint num_signals;
        public VkSemaphoreSubmitInfo signal;
        public VkDependencyInfo acquire;
        public VkDependencyInfo release;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceTimelineSemaphoreFeatures
    {
        public int sType;
        public IntPtr pNext;
        public uint timelineSemaphore;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceSynchronization2Features
    {
        public int sType;
        public IntPtr pNext;
        public uint synchronization2;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceMaintenance4Features
    {
        public int sType;
        public IntPtr pNext;
        public uint maintenance4;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceFeatures
    {
        public uint robustBufferAccess;
        public uint fullDrawIndexUint32;
        public uint imageCubeArray;
        public uint independentBlend;
        public uint geometryShader;
        public uint tessellationShader;
        public uint sampleRateShading;
        public uint dualSrcBlend;
        public uint logicOp;
        public uint multiDrawIndirect;
        public uint drawIndirectFirstInstance;
        public uint depthClamp;
        public uint depthBiasClamp;
        public uint fillModeNonSolid;
        public uint depthBounds;
        public uint wideLines;
        public uint largePoints;
        public uint alphaToOne;
        public uint multiViewport;
        public uint samplerAnisotropy;
        public uint textureCompressionETC2;
        public uint textureCompressionASTC_LDR;
        public uint textureCompressionBC;
        public uint occlusionQueryPrecise;
        public uint pipelineStatisticsQuery;
        public uint vertexPipelineStoresAndAtomics;
        public uint fragmentStoresAndAtomics;
        public uint shaderTessellationAndGeometryPointSize;
        public uint shaderImageGatherExtended;
        public uint shaderStorageImageExtendedFormats;
        public uint shaderStorageImageMultisample;
        public uint shaderStorageImageReadWithoutFormat;
        public uint shaderStorageImageWriteWithoutFormat;
        public uint shaderUniformBufferArrayDynamicIndexing;
        public uint shaderSampledImageArrayDynamicIndexing;
        public uint shaderStorageBufferArrayDynamicIndexing;
        public uint shaderStorageImageArrayDynamicIndexing;
        public uint shaderClipDistance;
        public uint shaderCullDistance;
        public uint shaderFloat64;
        public uint shaderInt64;
        public uint shaderInt16;
        public uint shaderResourceResidency;
        public uint shaderResourceMinLod;
        public uint sparseBinding;
        public uint sparseResidencyBuffer;
        public uint sparseResidencyImage2D;
        public uint sparseResidencyImage3D;
        public uint sparseResidency2Samples;
        public uint sparseResidency4Samples;
        public uint sparseResidency8Samples;
        public uint sparseResidency16Samples;
        public uint sparseResidencyAliased;
        public uint variableMultisampleRate;
        public uint inheritedQueries;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceFeatures2
    {
        public int sType;
        public IntPtr pNext;
        public VkPhysicalDeviceFeatures features;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct VkPhysicalDeviceBufferDeviceAddressFeatures
    {
        public int sType;
        public IntPtr pNext;
        public uint bufferDeviceAddress;
        public uint bufferDeviceAddressCaptureReplay;
        public uint bufferDeviceAddressMultiDevice;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct culv_vk_device_features
    {
        public UIntPtr struct_size;
        public VkPhysicalDeviceTimelineSemaphoreFeatures timeline_semaphore;
        public VkPhysicalDeviceSynchronization2Features synchronization2;
        public VkPhysicalDeviceMaintenance4Features maintenance4;
        public uint one_address;
        public VkPhysicalDeviceFeatures2 features2;
        public VkPhysicalDeviceBufferDeviceAddressFeatures buffer_device_address;

        public static culv_vk_device_features init()
        {
            var made = new culv_vk_device_features();
            made.struct_size = (UIntPtr)sizeof(culv_vk_device_features);
            return made;
        }
    }

    public static unsafe class Native
    {
        public const string Library = "culvert";
        public const int CULV_CUDA_API_ROOM = 4096;
        public const int CULV_D3D12_RING_MAX_RESOURCES = 16;
        public const int CULV_DLPACK_MAX_DIMENSIONS = 32;
        public const int CULV_DLPACK_VERSION_MAJOR = 1;
        public const int CULV_DLPACK_VERSION_MINOR = 1;
        public const int CULV_GL_RING_MAX_RESOURCES = 16;
        public const int CULV_IPC_CUDA_BLOCK = 2097152;
        public const int CULV_IPC_MAX_CLIENTS = 64;
        public const int CULV_IPC_MAX_CONSUMERS = 16;
        public const int CULV_IPC_NAME_SIZE = 64;
        public const int CULV_KERNEL_ARGS_MAX = 64;
        public const ulong CULV_KEYED_MUTEX_INFINITE = 4294967295;
        public const int CULV_RDMA_BAR1_RESERVE = 33554432;
        public const int CULV_RDMA_CHUNK = 65536;
        public const int CULV_RING_MAX_DEPTH = 64;
        public const int CULV_SEMAPHORE_BATCH_MAX = 32;
        public const int CULV_SLOW_KIND_BYTES = 1073741824;
        public const int CULV_SPARSE_TILE_BYTES = 65536;
        public const int CULV_STATIC = 1;
        public const int CULV_VERSION_MAJOR = 0;
        public const int CULV_VERSION_MINOR = 1;
        public const int CULV_VERSION_PATCH = 0;
        public const int CULV_VK_DMABUF_PLANES = 4;
        public const int CULV_VK_RING_MAX_RESOURCES = 16;

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_buffer_download(IntPtr buffer, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_buffer_get_dlpack(IntPtr buffer, culv_dlpack_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_buffer_map(IntPtr memory, culv_buffer_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_memory_kind culv_buffer_memory_kind(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_sharing culv_buffer_sharing(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_buffer_size(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_buffer_unmap(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_buffer_unmap_after(IntPtr* buffer, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_buffer_upload(IntPtr buffer, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_check_fabric(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_cig_context(IntPtr cig);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_cig_destroy(IntPtr* cig);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d10_get_device(IntPtr adapter, IntPtr ordinal);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d10_get_devices(IntPtr device, culv_d3d_device_list list, uint capacity, IntPtr ordinals, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d10_register(IntPtr device, IntPtr resource, culv_d3d_register_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_attach(IntPtr device, culv_d3d11_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_buffer_create(IntPtr d3d11, culv_d3d11_buffer_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_buffer_cuda(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_buffer_destroy_after(IntPtr* buffer, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_d3d11_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_buffer_resource(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_detach(IntPtr* d3d11);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_export_dup(IntPtr d3d11, IntPtr @object, IntPtr name, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_get_device(IntPtr adapter, IntPtr ordinal);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_get_devices(IntPtr device, culv_d3d_device_list list, uint capacity, IntPtr ordinals, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_image_create(IntPtr d3d11, culv_d3d11_image_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_image_cuda(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_image_destroy(IntPtr* image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_image_destroy_after(IntPtr* image, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_image_map(IntPtr d3d11, IntPtr memory, culv_d3d11_image_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_image_resource(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_keyed_mutex_import(IntPtr d3d11, IntPtr resource, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_memory_import(IntPtr d3d11, culv_d3d11_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_memory_import_shared(IntPtr d3d11, culv_d3d11_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_register(IntPtr device, IntPtr resource, culv_d3d_register_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_semaphore_create(IntPtr d3d11, culv_d3d11_semaphore_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_semaphore_cuda(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_semaphore_destroy(IntPtr* semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d11_semaphore_destroy_after(IntPtr* semaphore, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d11_semaphore_fence(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d11_semaphore_import(IntPtr d3d11, IntPtr fence, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_attach(IntPtr device, culv_d3d12_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_buffer_create(IntPtr d3d12, culv_d3d12_buffer_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_buffer_cuda(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_buffer_destroy_after(IntPtr* buffer, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_d3d12_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_buffer_resource(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_cig_create(IntPtr d3d12, IntPtr queue, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_detach(IntPtr* d3d12);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_export_dup(IntPtr d3d12, IntPtr @object, IntPtr name, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_get_allocation_size(IntPtr d3d12, IntPtr resource, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_heap_from_vmm(IntPtr d3d12, IntPtr allocation, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_image_create(IntPtr d3d12, culv_d3d12_image_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_image_cuda(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_image_destroy(IntPtr* image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_image_destroy_after(IntPtr* image, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_image_map(IntPtr d3d12, IntPtr memory, culv_d3d12_image_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_image_resource(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_memory_import(IntPtr d3d12, culv_d3d12_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_memory_import_shared(IntPtr d3d12, culv_d3d12_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_ring_acquire(IntPtr ring, ulong timeout, culv_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_ring_buffer(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_ring_core(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_ring_create(IntPtr d3d12, culv_d3d12_ring_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_ring_destroy(IntPtr* ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_ring_fence(IntPtr ring, culv_ring_side side);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_ring_flush(IntPtr ring, IntPtr queue);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_ring_image(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_ring_release(IntPtr ring, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_ring_submit(IntPtr ring, IntPtr queue, IntPtr list, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_semaphore_create(IntPtr d3d12, culv_d3d12_semaphore_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_semaphore_cuda(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_semaphore_destroy(IntPtr* semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_semaphore_destroy_after(IntPtr* semaphore, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_semaphore_fence(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_semaphore_import(IntPtr d3d12, IntPtr fence, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_d3d12_shadow_copies(IntPtr shadow);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_shadow_create(IntPtr d3d12, culv_d3d12_shadow_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_shadow_destroy(IntPtr* shadow);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d12_shadow_image(IntPtr shadow);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_shadow_record(IntPtr shadow, IntPtr list, uint state, uint from_twin);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_vector_create(IntPtr d3d12, IntPtr vector, culv_d3d12_vector_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_d3d12_vector_destroy(IntPtr* view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_d3d12_vector_generation(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_vector_get_buffers(IntPtr view, culv_d3d12_vector_buffer* parts, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d12_vector_update(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d9_get_device([MarshalAs(UnmanagedType.LPStr)] string adapter_name, IntPtr ordinal);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d9_get_devices(IntPtr device, culv_d3d_device_list list, uint capacity, IntPtr ordinals, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d9_register(IntPtr device, IntPtr resource, culv_d3d_register_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d_map(IntPtr* registrations, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d_registration_buffer(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d_registration_get_array(IntPtr registration, uint layer, uint level, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_d3d_registration_image(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_d3d_registration_is_mapped(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_d3d_registration_pointer(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d_registration_set_access(IntPtr registration, culv_d3d_access access);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d_unmap(IntPtr* registrations, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_d3d_unregister(IntPtr* registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_check_cuda_api(IntPtr device, [MarshalAs(UnmanagedType.LPStr)] string name, int cuda_version);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_device_close(IntPtr* device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_device_collect(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_device_context(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_device_cuda_api(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_device_cuda_api_per_thread(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_device_cuda_proc(IntPtr device, [MarshalAs(UnmanagedType.LPStr)] string name, int version);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_get_caps(IntPtr device, culv_device_caps* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_get_counts(IntPtr device, culv_device_counts* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_by_luid(culv_luid* luid, uint node_mask, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_by_ordinal(int ordinal, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_by_uuid(culv_uuid* uuid, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_d3d10(IntPtr device, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_d3d11(IntPtr device, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_d3d12(IntPtr device, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_d3d9(IntPtr device, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_dxgi(IntPtr adapter, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_gl(culv_gl_desc* desc, culv_device_desc* device_desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_open_for_vulkan(IntPtr get_instance_proc_addr, IntPtr instance, IntPtr physical_device, culv_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_device_supports_format(IntPtr device, culv_format format, culv_texels texels);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_dlpack_describe_image(culv_subresource_layout* layout, uint channels, culv_dlpack_desc* desc, IntPtr shape, IntPtr strides);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_dlpack_get_range(culv_dl_tensor* tensor, IntPtr pointer, IntPtr size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_dlpack_hand_over(IntPtr device, IntPtr producer, long consumer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_dlpack_to_unversioned(IntPtr* tensor, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_dma_buf_export_dup(IntPtr device, ulong pointer, ulong size, ulong flags, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_drm_format_get_info(uint fourcc, culv_drm_format_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_format_from_cuda(uint cuda_array_format, uint channels, IntPtr count, culv_format* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_format culv_format_from_dxgi(uint dxgi_format);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_format culv_format_from_gl(uint internal_format);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_format_get_info(culv_format format, culv_format_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_format_get_plane(culv_format format, uint plane, culv_format* @out, IntPtr width_divisor, IntPtr height_divisor);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_add_context(IntPtr gl);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_attach(IntPtr device, culv_gl_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_buffer_create(IntPtr gl, culv_gl_buffer_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_buffer_cuda(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_buffer_destroy_after(IntPtr* buffer, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_buffer_download(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_buffer_name(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_gl_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_buffer_upload(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_check(culv_gl_desc* desc, IntPtr device, culv_gl_report* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_gl_detach(IntPtr* gl);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_get_offsets_honoured(IntPtr gl, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_image_create(IntPtr gl, culv_gl_image_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_image_cuda(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_image_destroy(IntPtr* image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_image_destroy_after(IntPtr* image, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_image_download(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_image_name(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_image_target(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_image_upload(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_is_current(IntPtr gl);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_gl_lose_contexts(IntPtr gl);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_map(IntPtr* registrations, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_memory_bind_buffer(IntPtr memory, uint buffer, ulong offset, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_memory_bind_texture(IntPtr memory, uint texture, culv_gl_image_create_desc* desc, uint linear, ulong offset);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_memory_destroy(IntPtr* memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_memory_from_vmm(IntPtr gl, IntPtr allocation, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_memory_import(IntPtr gl, culv_gl_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_memory_name(IntPtr memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_readback_create(IntPtr gl, culv_gl_readback_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_readback_destroy(IntPtr* readback);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_readback_read(IntPtr readback, uint framebuffer, int x, int y);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_readback_registration(IntPtr readback);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_register_buffer(IntPtr gl, uint buffer, culv_gl_register_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_register_image(IntPtr gl, uint name, uint target, culv_gl_register_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_registration_buffer(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_registration_get_array(IntPtr registration, uint layer, uint level, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_registration_image(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_registration_is_mapped(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_gl_registration_pointer(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_registration_set_access(IntPtr registration, culv_gl_access access);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_acquire(IntPtr ring, ulong timeout, culv_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_acquire_on(IntPtr ring, IntPtr stream, ulong timeout, culv_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_ring_buffer(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_cancel_on(IntPtr ring, IntPtr stream, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_ring_core(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_create(IntPtr gl, culv_gl_ring_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_destroy(IntPtr* ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_flush(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_flush_on(IntPtr ring, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_ring_image(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_ring_name(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_gl_ring_pointer(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_ring_refusals(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_release(IntPtr ring, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_ring_release_on(IntPtr ring, IntPtr stream, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_ring_waits_on_cpu(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_gl_way culv_gl_ring_way(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_semaphore_create(IntPtr gl, culv_gl_semaphore_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_semaphore_cuda(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_semaphore_destroy(IntPtr* semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_semaphore_destroy_after(IntPtr* semaphore, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_semaphore_name(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_semaphore_signal(IntPtr semaphore, ulong value, culv_gl_uses* uses);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_semaphore_wait(IntPtr semaphore, ulong value, culv_gl_uses* uses);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_gl_semaphore_waits_on_cpu(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_unmap(IntPtr* registrations, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_unregister(IntPtr* registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_vector_create(IntPtr gl, IntPtr vector, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_vector_destroy(IntPtr* view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_gl_vector_generation(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_vector_get_buffers(IntPtr view, culv_gl_vector_buffer* parts, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_gl_vector_update(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_gl_way_name(culv_gl_way way);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_graph_add_signal(IntPtr graph, IntPtr dependencies, UIntPtr num_dependencies, culv_semaphore_point* points, uint count, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_graph_add_wait(IntPtr graph, IntPtr dependencies, UIntPtr num_dependencies, culv_semaphore_point* points, uint count, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_graph_exec_set_signal(IntPtr exec, IntPtr node, culv_semaphore_point* points, uint count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_graph_exec_set_wait(IntPtr exec, IntPtr node, culv_semaphore_point* points, uint count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_graph_get_semaphore_nodes(IntPtr device, IntPtr graph, IntPtr signals, IntPtr num_signals, IntPtr waits, IntPtr num_waits);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_handle_close(culv_handle* handle);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_handle_dup(culv_handle* handle, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_download(IntPtr image, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_format culv_image_format(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_array(IntPtr image, uint level, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_desc(IntPtr image, culv_image_desc* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_extent(IntPtr image, uint level, IntPtr width, IntPtr height, IntPtr depth);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_linear_layout(IntPtr image, uint level, uint plane, culv_subresource_layout* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_plane_array(IntPtr image, uint plane, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_plane_surface(IntPtr image, uint plane, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_surface(IntPtr image, uint level, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_get_texture(IntPtr image, culv_texture_desc* desc, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_map(IntPtr memory, culv_image_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_image_mip_levels(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_image_mipmapped_array(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_sharing culv_image_sharing(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_image_unmap(IntPtr* image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_image_unmap_after(IntPtr* image, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_image_upload(IntPtr image, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_client_connect(IntPtr device, culv_ipc_client_desc* desc, ulong timeout, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_ipc_client_connected(IntPtr client);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_client_destroy(IntPtr* client);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_client_list(IntPtr client, uint index, ulong timeout, culv_ipc_info* @out, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_client_receive(IntPtr client, [MarshalAs(UnmanagedType.LPStr)] string name, ulong timeout, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern int culv_ipc_client_server_pid(IntPtr client);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_acquire(IntPtr consumer, ulong timeout, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_acquire_on(IntPtr consumer, IntPtr stream, ulong timeout, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_ipc_consumer_connected(IntPtr consumer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_consumer_destroy(IntPtr* consumer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_get_timelines(IntPtr consumer, culv_ipc_timelines* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_join(IntPtr client, culv_ipc_consumer_desc* desc, ulong timeout, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_receive(IntPtr consumer, uint slot, uint part, ulong timeout, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_release(IntPtr consumer, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_consumer_release_on(IntPtr consumer, IntPtr stream, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_ipc_consumer_slots(IntPtr consumer, IntPtr parts);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_cuda_memory_close(IntPtr* memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_ipc_cuda_memory_pointer(IntPtr memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_ipc_cuda_memory_size(IntPtr memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_fetch_dup(culv_ipc_fetch_desc* desc, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_find_servers([MarshalAs(UnmanagedType.LPStr)] string directory, IntPtr names, UIntPtr room, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_buffer(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_cuda_memory(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_event(IntPtr @object, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_image(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_pool(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_pool_fabric(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_pool_memory(IntPtr @object, IntPtr pool, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_semaphore(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_vmm(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_import_vmm_fabric(IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_object_destroy(IntPtr* @object);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_object_get_handle(IntPtr @object, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_object_get_info(IntPtr @object, culv_ipc_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer(IntPtr server, culv_ipc_info* info, culv_handle* handle);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_cuda_memory(IntPtr server, ulong pointer, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_event(IntPtr server, IntPtr @event, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_pool(IntPtr server, IntPtr pool, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_pool_fabric(IntPtr server, IntPtr pool, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_pool_memory(IntPtr server, IntPtr pool, ulong pointer, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_vector(IntPtr server, IntPtr vector, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_vmm(IntPtr server, IntPtr allocation, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_offer_vmm_fabric(IntPtr server, IntPtr allocation, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_process_get_start(int pid, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_acquire(IntPtr ring, ulong timeout, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_acquire_on(IntPtr ring, IntPtr stream, ulong timeout, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_ipc_ring_consumers(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_create(IntPtr server, culv_ipc_ring_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_ring_destroy(IntPtr* ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_drop(IntPtr ring, uint consumer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_offer(IntPtr ring, uint slot, uint part, culv_ipc_info* info, culv_handle* handle);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_offer_vmm(IntPtr ring, uint slot, uint part, IntPtr allocation, culv_ipc_info* info);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_release(IntPtr ring, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_ring_release_on(IntPtr ring, IntPtr stream, culv_ipc_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_ipc_server_clients(IntPtr server);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_server_create(IntPtr device, culv_ipc_server_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_server_destroy(IntPtr* server);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern int culv_ipc_server_fd(IntPtr server);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_server_poll(IntPtr server, ulong timeout, IntPtr answered);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ipc_vector_destroy(IntPtr* vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_ipc_vector_generation(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_vector_get_chunk(IntPtr vector, UIntPtr index, culv_ipc_chunk* @out, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_vector_open(IntPtr client, culv_ipc_vector_desc* desc, ulong timeout, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_ipc_vector_pointer(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_ipc_vector_size(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_vector_update(IntPtr vector, IntPtr last_use, ulong timeout);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ipc_withdraw(IntPtr server, [MarshalAs(UnmanagedType.LPStr)] string name);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernel_call_launch(culv_kernel_call* call, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernel_launch(IntPtr kernel, culv_launch_desc* desc, culv_kernel_arg* args, UIntPtr num_args);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_kernel_native_handle(IntPtr kernel);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernels_get(IntPtr kernels, [MarshalAs(UnmanagedType.LPStr)] string name, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernels_load(IntPtr device, [MarshalAs(UnmanagedType.LPStr)] string directory, [MarshalAs(UnmanagedType.LPStr)] string name, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernels_load_data(IntPtr device, IntPtr data, UIntPtr size, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernels_load_file(IntPtr device, [MarshalAs(UnmanagedType.LPStr)] string path, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_kernels_load_program(IntPtr device, [MarshalAs(UnmanagedType.LPStr)] string path, [MarshalAs(UnmanagedType.LPStr)] string kernel, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_kernels_native_handle(IntPtr kernels);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_kernels_unload(IntPtr* kernels);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_keyed_mutex_acquire(IntPtr mutex, IntPtr stream, ulong key, uint timeout_ms);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_keyed_mutex_destroy(IntPtr* mutex);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_keyed_mutex_destroy_after(IntPtr* mutex, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_keyed_mutex_import_borrow(IntPtr device, culv_keyed_mutex_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_keyed_mutex_import_take(IntPtr device, culv_keyed_mutex_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_keyed_mutex_is_held(IntPtr mutex);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_keyed_mutex_release(IntPtr mutex, IntPtr stream, ulong key);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_last_error(culv_error* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_last_error_message();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_last_error_set(culv_error* error);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_alloc(IntPtr pool, ulong size, IntPtr stream, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_create(IntPtr device, culv_mem_pool_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_mem_pool_destroy(IntPtr* pool);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_export_dup(IntPtr pool, culv_handle_type type, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_export_fabric(IntPtr pool, culv_fabric_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_export_pointer(IntPtr pool, ulong pointer, culv_mem_pool_pointer* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_free(IntPtr pool, ulong pointer, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_mem_pool_handle_types(IntPtr pool);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_import_borrow(IntPtr device, culv_mem_pool_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_import_fabric(IntPtr device, culv_fabric_handle* handle, culv_mem_pool_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_import_pointer(IntPtr pool, culv_mem_pool_pointer* pointer, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_mem_pool_import_take(IntPtr device, culv_mem_pool_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_mem_pool_native_handle(IntPtr pool);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_memory_destroy(IntPtr* memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_memory_import_borrow(IntPtr device, culv_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_memory_import_take(IntPtr device, culv_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_memory_size(IntPtr memory);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_add_device(IntPtr multicast, IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_multicast_allocation(IntPtr multicast);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_bind(IntPtr multicast, ulong offset, IntPtr memory, ulong memory_offset, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_bind_address(IntPtr multicast, ulong offset, IntPtr device, ulong address, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_create(IntPtr device, culv_multicast_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_multicast_destroy(IntPtr* multicast);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_get_granularity(IntPtr device, culv_multicast_desc* desc, IntPtr minimum, IntPtr recommended);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_import_borrow(IntPtr device, culv_multicast_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_import_take(IntPtr device, culv_multicast_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_mark_devices_added(IntPtr multicast, uint count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_multicast_missing_devices(IntPtr multicast);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_multicast_size(IntPtr multicast);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_multicast_supported(IntPtr device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_multicast_unbind(IntPtr multicast, ulong offset, IntPtr device, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_nvsci_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_buffer_get_array(IntPtr buffer, culv_nvsci_array_desc* desc, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_buffer_get_pointer(IntPtr buffer, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_buffer_import(IntPtr device, culv_nvsci_buffer_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_get_sync_attributes(IntPtr device, IntPtr attribute_list, uint roles);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_nvsci_sync_destroy(IntPtr* sync);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_sync_import(IntPtr device, IntPtr @object, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_sync_signal(IntPtr sync, IntPtr fence, uint flags, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_nvsci_sync_wait(IntPtr sync, IntPtr fence, uint flags, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_pointer_get_info(IntPtr device, ulong pointer, culv_pointer_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_cache_create(IntPtr device, culv_rdma_cache_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_rdma_cache_destroy(IntPtr* cache);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_cache_get(IntPtr cache, ulong pointer, ulong size, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_cache_get_stats(IntPtr cache, culv_rdma_cache_stats* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_cache_invalidate(IntPtr cache, ulong pointer, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_cache_trim(IntPtr cache, ulong bytes);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_check_range(IntPtr device, ulong pointer, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_dma_buf_export_dup(IntPtr device, ulong pointer, ulong size, ulong flags, culv_rdma_dma_buf* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_flush_writes(IntPtr device, culv_rdma_ordering scope);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_get_bar1(IntPtr device, culv_rdma_bar1* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_get_caps(IntPtr device, culv_rdma_caps* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_get_cost(ulong pointer, ulong size, culv_rdma_cost* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_get_info(IntPtr device, ulong pointer, culv_rdma_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_get_tokens(IntPtr device, ulong pointer, culv_rdma_tokens* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_rdma_registration_cookie(IntPtr registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_registration_get_range(IntPtr registration, culv_rdma_range* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_rdma_registration_put(IntPtr* registration);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_rdma_set_sync_memops(IntPtr device, ulong pointer, uint allow_context, culv_rdma_sync* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_reason_name(culv_reason reason);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_reason_text(culv_reason reason);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_result_name(culv_result result);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_acquire(IntPtr ring, culv_ring_side side, ulong timeout, culv_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_acquire_on(IntPtr ring, culv_ring_side side, IntPtr stream, ulong timeout, culv_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_cancel(IntPtr ring, culv_ring_side side, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_configure(IntPtr ring, culv_ring_settings* settings);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_create(IntPtr device, culv_ring_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_ring_destroy(IntPtr* ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_drain(IntPtr ring, ulong timeout, uint force);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_flush(IntPtr ring, culv_ring_side side, IntPtr signal_value);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_flush_on(IntPtr ring, culv_ring_side side, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_get_stats(IntPtr ring, culv_ring_stats* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_release(IntPtr ring, culv_ring_side side, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_ring_release_on(IntPtr ring, culv_ring_side side, IntPtr stream, culv_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_ring_semaphore(IntPtr ring, culv_ring_side side);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_semaphore_destroy(IntPtr* semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_semaphore_destroy_after(IntPtr* semaphore, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_semaphore_type culv_semaphore_get_type(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_import_borrow(IntPtr device, culv_semaphore_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_import_take(IntPtr device, culv_semaphore_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_semaphore_last_value(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_mark_signaled(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_semaphore_mark_value(IntPtr semaphore, ulong value);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_mark_waited(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_sharing culv_semaphore_sharing(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_signal(IntPtr semaphore, IntPtr stream, ulong value);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_signal_batch(culv_semaphore_point* points, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_wait(IntPtr semaphore, IntPtr stream, ulong value);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_semaphore_wait_batch(culv_semaphore_point* points, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_sharing_name(culv_sharing sharing);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_soft_enable();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_soft_enabled();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_sparse_array_create(IntPtr device, culv_sparse_array_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_sparse_array_destroy(IntPtr* array);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_sparse_array_destroy_after(IntPtr* array, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_sparse_array_get_info(IntPtr array, culv_sparse_array_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_sparse_array_get_level(IntPtr array, uint level, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_sparse_array_get_region_size(IntPtr array, culv_sparse_region* region, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_sparse_array_handle(IntPtr array);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_sparse_array_mipmapped_handle(IntPtr array);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_sparse_bind_batch(culv_sparse_bind* binds, uint count, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vector_committed(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_create(IntPtr device, culv_vector_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vector_destroy(IntPtr* vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vector_destroy_after(IntPtr* vector, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vector_generation(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_get_chunks(IntPtr vector, culv_vector_chunk* chunks, UIntPtr capacity, IntPtr count, IntPtr generation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_get_dlpack(IntPtr vector, culv_dlpack_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_get_stats(IntPtr vector, culv_vector_stats* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_grow(IntPtr vector, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vector_pointer(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_reserve(IntPtr vector, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_retire(IntPtr vector, ulong before, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vector_shrink(IntPtr vector, ulong size, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vector_size(IntPtr vector);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_version();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_version_string();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_adopted_create(IntPtr vk, IntPtr adopted, culv_vk_adopted_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_adopted_destroy(IntPtr* view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_adopted_get_buffers(IntPtr view, culv_vk_adopted_buffer* parts, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_attach(IntPtr device, culv_vk_device_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_buffer_address(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_bind_vmm(IntPtr vk, IntPtr buffer, IntPtr allocation, ulong offset, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_create(IntPtr vk, culv_vk_buffer_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_buffer_cuda(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_buffer_destroy_after(IntPtr* buffer, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_get_barrier(culv_vk_buffer_transfer* transfer, culv_vk_direction direction, culv_vk_buffer_barrier* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_get_barrier2(culv_vk_buffer_transfer* transfer, culv_vk_direction direction, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_get_kernel_barrier(culv_vk_buffer_transfer* transfer, culv_vk_direction direction, culv_vk_buffer_barrier* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_get_kernel_barrier2(culv_vk_buffer_transfer* transfer, culv_vk_direction direction, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_vk_graph_memory culv_vk_buffer_graph_memory(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_buffer_handle(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_buffer_host_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_buffer_memory(IntPtr buffer, IntPtr size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_record_download(IntPtr buffer, IntPtr commands);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_buffer_record_upload(IntPtr buffer, IntPtr commands);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_check_buffer(IntPtr vk, IntPtr create_info, culv_vk_check_desc* desc, culv_vk_sharing_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_check_dmabuf(IntPtr vk, culv_vk_dmabuf_desc* desc);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_check_image(IntPtr vk, IntPtr create_info, culv_vk_check_desc* desc, culv_vk_sharing_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_check_kernels(culv_vk_device_desc* desc);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_check_space(IntPtr vk, culv_vk_space_desc* desc, culv_vk_space_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_choose_physical_device(IntPtr get_instance_proc_addr, IntPtr instance, culv_device_desc* desc, IntPtr out_physical_device, IntPtr* out_device);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_cig_create(IntPtr vk, IntPtr queue, [MarshalAs(UnmanagedType.LPStr)] string label, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_detach(IntPtr* vk);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_device_extensions(uint api_version, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_dmabuf_bridge_buffer(IntPtr bridge);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_create(IntPtr vk, culv_vk_dmabuf_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_dmabuf_bridge_destroy(IntPtr* bridge);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_export_dup(IntPtr bridge, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_export_fence(IntPtr bridge, IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_get_info(IntPtr bridge, culv_vk_dmabuf_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_dmabuf_bridge_image(IntPtr bridge);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_import_fence(IntPtr bridge, IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_next(IntPtr bridge, culv_vk_dmabuf_turn* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_record(IntPtr bridge, IntPtr commands);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_record_first(IntPtr bridge, IntPtr commands);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_dmabuf_bridge_timeline(IntPtr bridge);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_bridge_wait(IntPtr bridge, ulong timeout);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_dmabuf_extensions(uint api_version, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_dmabuf_get_modifiers(IntPtr vk, uint fourcc, culv_vk_dmabuf_direction direction, IntPtr count, IntPtr modifiers, IntPtr planes);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_find_queue_family(IntPtr get_instance_proc_addr, IntPtr instance, IntPtr physical_device, culv_vk_queue_use use, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_get_buffer_address(IntPtr vk, IntPtr buffer, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_get_surface_handle(IntPtr vk, IntPtr view, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_get_texture_handle(IntPtr vk, IntPtr view, IntPtr sampler, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_host_import_alignment(IntPtr vk);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_bind_vmm(IntPtr vk, IntPtr image, IntPtr create_info, IntPtr allocation, ulong offset, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_create(IntPtr vk, culv_vk_image_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_image_cuda(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_image_destroy(IntPtr* image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_image_destroy_after(IntPtr* image, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_get_barrier(culv_vk_image_transfer* transfer, culv_vk_direction direction, culv_vk_image_barrier* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_get_barrier2(culv_vk_image_transfer* transfer, culv_vk_direction direction, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_get_kernel_barrier(culv_vk_image_transfer* transfer, culv_vk_direction direction, culv_vk_image_barrier* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_get_kernel_barrier2(culv_vk_image_transfer* transfer, culv_vk_direction direction, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_image_handle(IntPtr image);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_map(IntPtr vk, IntPtr memory, culv_vk_image_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_map_pitched(IntPtr vk, IntPtr memory, culv_vk_image_desc* desc, uint level, uint plane, IntPtr* @out, culv_subresource_layout* layout);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_image_memory(IntPtr image, IntPtr size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_record_download(IntPtr image, IntPtr commands, int layout);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_image_record_upload(IntPtr image, IntPtr commands, int layout);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_instance_extensions(uint api_version, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_instance_layers(IntPtr get_instance_proc_addr, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_kernel_call_record(IntPtr kernels, culv_kernel_call* call, IntPtr command_buffer, uint queue_family);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_kernel_extensions(uint api_version, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_kernel_get_barrier(culv_vk_memory_barrier* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_kernel_get_barrier2(IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_kernels_create(IntPtr vk, IntPtr kernels, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_kernels_destroy(IntPtr* kernels);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_kernels_prepare(IntPtr kernels, IntPtr kernel);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_memory_export_dup(IntPtr vk, IntPtr memory, culv_handle_type type, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_memory_from_handle(IntPtr vk, culv_vk_memory_from_handle_desc* desc, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_memory_from_vmm(IntPtr vk, IntPtr allocation, culv_vk_memory_from_handle_desc* desc, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_memory_import(IntPtr vk, culv_vk_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_memory_import_shared(IntPtr vk, culv_vk_memory_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_merge_device_extensions(culv_vk_device_desc* desc, uint num_names, IntPtr* names, IntPtr count, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_merge_device_features(culv_vk_device_desc* desc, IntPtr chain, culv_vk_device_features* storage, IntPtr* out_chain);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_merge_instance_extensions(uint api_version, uint num_names, IntPtr* names, IntPtr count, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_merge_instance_layers(IntPtr get_instance_proc_addr, uint num_names, IntPtr* names, IntPtr count, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern uint culv_vk_optional_device_extensions(uint api_version, uint capacity, IntPtr* out_names);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_rank_physical_devices(IntPtr get_instance_proc_addr, IntPtr instance, culv_device_desc* desc, IntPtr count, culv_vk_candidate* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_rdma_buffer_create(IntPtr vk, culv_vk_rdma_buffer_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_rdma_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_rdma_buffer_get_parts(IntPtr buffer, culv_vk_rdma_part* parts, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_rdma_buffer_grow(IntPtr buffer, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_rdma_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_rdma_buffer_size(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_record_graph(IntPtr vk, IntPtr graph, culv_vk_graph_desc* desc, IntPtr command_buffer, uint queue_family);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_acquire(IntPtr ring, ulong timeout, culv_vk_ring_frame* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_ring_buffer(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_ring_core(IntPtr ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_create(IntPtr vk, IntPtr queue, culv_vk_ring_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_ring_destroy(IntPtr* ring);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_flush(IntPtr ring, IntPtr queue, IntPtr fence);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_ring_image(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_ring_pointer(IntPtr ring, uint slot, uint resource);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_record_copy(IntPtr ring, IntPtr commands, uint slot, uint resource, IntPtr to, ulong offset, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_release(IntPtr ring, culv_vk_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_ring_semaphore(IntPtr ring, culv_ring_side side);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_ring_submit(IntPtr ring, IntPtr queue, IntPtr commands, IntPtr fence, culv_vk_ring_frame* frame);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_sampler_difference_text(culv_vk_sampler_difference difference);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_semaphore_create(IntPtr vk, culv_vk_semaphore_create_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_semaphore_cuda(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_semaphore_destroy(IntPtr* semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_semaphore_destroy_after(IntPtr* semaphore, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_semaphore_export_dup(IntPtr vk, IntPtr semaphore, culv_handle_type type, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_semaphore_handle(IntPtr semaphore);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_semaphore_import(IntPtr vk, culv_vk_semaphore_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_space_base(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_buffer_create(IntPtr space, culv_vk_space_buffer_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_space_buffer_destroy(IntPtr* buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_space_buffer_handle(IntPtr buffer, IntPtr offset);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_space_buffer_pointer(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_space_buffer_size(IntPtr buffer);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_collect(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_commit(IntPtr space, ulong offset, ulong size, IntPtr ready);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_commit_allocation(IntPtr space, ulong offset, IntPtr allocation, IntPtr ready);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_create(IntPtr vk, culv_vk_space_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_decommit(IntPtr space, ulong offset, ulong size, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_decommit_after(IntPtr space, ulong offset, ulong size, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_space_destroy(IntPtr* space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_space_get_info(IntPtr space, culv_vk_space_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_vk_graph_memory culv_vk_space_graph_memory(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_space_handle(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_space_pointer(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_space_size(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culv_vk_space_timeline(IntPtr space);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_texture_desc_from_sampler(IntPtr sampler, culv_texture_desc* @out, IntPtr differences);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_vector_create(IntPtr vk, IntPtr vector, culv_vk_vector_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vk_vector_destroy(IntPtr* view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vk_vector_generation(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_vector_get_address(IntPtr view, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_vector_get_buffers(IntPtr view, culv_vk_vector_buffer* parts, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_memory_kind culv_vk_vector_memory_kind(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vk_vector_update(IntPtr view);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_memory_kind culv_vk_vmm_memory_kind(IntPtr vk, IntPtr buffer, IntPtr allocation, ulong offset);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_adopt(IntPtr device, ulong pointer, ulong size, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_adopted_check(IntPtr adopted);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vmm_adopted_destroy(IntPtr* adopted);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_adopted_get_chunks(IntPtr adopted, culv_vmm_adopted_chunk* chunks, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vmm_adopted_offset(IntPtr adopted);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vmm_adopted_size(IntPtr adopted);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_allocation_create(IntPtr device, culv_vmm_allocation_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culv_vmm_allocation_destroy(IntPtr* allocation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_allocation_get_info(IntPtr allocation, culv_vmm_allocation_info* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vmm_allocation_native_handle(IntPtr allocation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_allocation_retain_at(IntPtr device, ulong address, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_export_dup(IntPtr allocation, culv_handle_type type, culv_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_export_fabric(IntPtr allocation, culv_fabric_handle* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_get_access(IntPtr range, ulong offset, culv_vmm_access* access);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_get_granularity(IntPtr device, culv_vmm_allocation_desc* desc, IntPtr @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_get_mappings(IntPtr range, culv_vmm_mapping* mappings, UIntPtr capacity, IntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_import_borrow(IntPtr device, culv_vmm_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_import_fabric(IntPtr device, culv_fabric_handle* handle, culv_vmm_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_import_take(IntPtr device, culv_vmm_import_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_map(IntPtr range, ulong offset, IntPtr allocation, culv_vmm_access* access, UIntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_range_create(IntPtr device, culv_vmm_range_desc* desc, IntPtr* @out);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_range_destroy(IntPtr* range);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vmm_range_pointer(IntPtr range);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern ulong culv_vmm_range_size(IntPtr range);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_set_access(IntPtr range, ulong offset, ulong size, culv_vmm_access* access, UIntPtr count);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_unmap(IntPtr range, ulong offset, ulong size);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern culv_result culv_vmm_unmap_after(IntPtr range, ulong offset, ulong size, IntPtr last_use);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void culvert_free(IntPtr pointer, IntPtr size, int device, IntPtr stream);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr culvert_malloc(IntPtr size, int device, IntPtr stream);
    }
}
