/* SPDX-License-Identifier: MIT */
/* Arrays, mipmapped arrays, their copies, and those mapped on imported memory. */
#define TEST_GROUP "arrays."
#include "twin.h"

#include "raw_cuda_image.h"

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

TWIN_CASE(descriptors, 0)
{
    PROC(t->cu, ArrayCreate, 3020);
    PROC(t->cu, ArrayGetDescriptor, 3020);
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_HALF, 4, 100, 60), found;
    const CUDA_ARRAY_DESCRIPTOR flat = {.Width = 9, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    CUDA_ARRAY_DESCRIPTOR found_flat;
    CUmipmappedArray mipmap;
    CUarray level, again, array;
    CU_OK(t->cu->MipmappedArrayCreate(&mipmap, &desc, 100)); /* clamped to 7 */
    for (unsigned i = 0; i < 7; i++) {
        CU_OK(t->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        CU_OK(t->cu->MipmappedArrayGetLevel(&again, mipmap, i));
        REQUIRE(level == again);
        CU_OK(t->cu->Array3DGetDescriptor(&found, level));
        REQUIRE_EQ(found.Width, 100u >> i);
        REQUIRE_EQ(found.Height, 60u >> i > 0 ? 60u >> i : 1);
        REQUIRE(found.Depth == 0 && found.Format == desc.Format && found.NumChannels == 4);
        REQUIRE_EQ(found.Flags, desc.Flags);
    }
    CU_IS(t->cu->MipmappedArrayGetLevel(&level, mipmap, 7), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    culv_soft_counts counts = twin_counts(t->cu);
    REQUIRE(counts.arrays == 0 && counts.mipmapped_arrays == 1 && counts.external_mappings == 0);
    CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
    CU_IS(t->cu->MipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(t->cu->MipmappedArrayGetLevel(&again, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(t->cu->Array3DGetDescriptor(&found, level), CUDA_ERROR_INVALID_HANDLE);

    CU_OK(ArrayCreate(&array, &flat));
    CU_OK(ArrayGetDescriptor(&found_flat, array));
    REQUIRE(found_flat.Width == 9 && found_flat.Height == 0 && found_flat.Format == flat.Format &&
            found_flat.NumChannels == 2);
    REQUIRE_EQ(twin_counts(t->cu).arrays, 1);
    CU_OK(t->cu->ArrayDestroy(array));
    CU_IS(t->cu->ArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

TWIN_CASE(refusals, 0)
{
    static const struct {
        CUarray_format format;
        unsigned channels, flags;
        size_t width, height, depth;
        CUresult result;
    } rows[] = {
        {CU_AD_FORMAT_FLOAT, 5, 0, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {(CUarray_format)0x7777, 1, 0, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_NV12, 3, 0x100, 4, 4, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_NV12, 3, 0x100, 5, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_NV12, 1, 0x100, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, 0x200, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE, 4, 4, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE, 4, 0, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_CUBEMAP, 4, 4, 6,
         CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_NV12, 3, CUDA_ARRAY3D_SPARSE | 0x100, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP, 4, 4, 12, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 4, 4, 12,
         CUDA_SUCCESS},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER, 4, 4, 4, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, 0, 16385, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, 0, 4, 16385, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_FLOAT, 1, 0, 4, 4, 2049, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_UNORM_INT8X4, 1, 0, 4, 4, 0, CUDA_ERROR_INVALID_VALUE},
        {CU_AD_FORMAT_UNORM_INT8X4, 4, 0, 4, 4, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_SNORM_INT16X2, 2, 0, 4, 4, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_BC1_UNORM, 4, 0, 5, 5, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_BC6H_UF16, 3, 0, 5, 5, 0, CUDA_SUCCESS},
        {CU_AD_FORMAT_BC7_UNORM, 4, CUDA_ARRAY3D_SURFACE_LDST, 8, 8, 0, CUDA_ERROR_NOT_SUPPORTED},
        {CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEPTH_TEXTURE, 8, 8, 0, CUDA_SUCCESS},
        {(CUarray_format)0x50, 4, 0, 8, 8, 0, CUDA_SUCCESS}, /* CU_AD_FORMAT_UNORM_INT_101010_2 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc(rows[i].format, rows[i].channels, rows[i].width, rows[i].height);
        desc.Depth = rows[i].depth;
        desc.Flags = rows[i].flags;
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUresult result = t->cu->Array3DCreate(&array, &desc);
        if (result != rows[i].result) FAIL("row %zu: %s", i, raw_cuda_result_name(result));
        CU_IS(t->cu->MipmappedArrayCreate(&mipmap, &desc, 0), rows[i].result);
        if (array != NULL) CU_OK(t->cu->ArrayDestroy(array));
        if (mipmap != NULL) CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
    }
    CU_IS(t->cu->MipmappedArrayDestroy((CUmipmappedArray)(void *)(uintptr_t)rows),
          CUDA_ERROR_INVALID_HANDLE);
}

/* A rectangle goes through host, device, array, device and host memory, each with another pitch. */
TWIN_CASE(copies_2d, CU_STREAM_NON_BLOCKING)
{
    enum { W = 40, H = 30, X = 3, Y = 5, CW = 29, CH = 17 }; /* texels of 4 bytes */
    unsigned char *host = test_memory(W * 4 * H), back[CW * 4 * CH];
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    PROC(t->cu, Memcpy2DUnaligned, 3020);
    fill(host, W * 4 * H, 3);
    CUarray a = raw_cuda_array(t->cu, &desc);
    CUarray b = raw_cuda_array(t->cu, &desc);
    CUdeviceptr pitched = raw_cuda_memory(t->cu, 512 * CH);
    CUdeviceptr tight = raw_cuda_memory(t->cu, CW * 4 * CH);

    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = host,
                       .srcPitch = W * 4,
                       .srcXInBytes = X * 4,
                       .srcY = Y,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = pitched,
                       .dstPitch = 512,
                       .WidthInBytes = CW * 4,
                       .Height = CH};
    CU_OK(t->cu->Memcpy2DAsync(&c, t->stream));
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = pitched,
                        .srcPitch = 512,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a,
                        .dstXInBytes = 11 * 4,
                        .dstY = 13,
                        .WidthInBytes = CW * 4,
                        .Height = CH};
    CU_OK(t->cu->Memcpy2DAsync(&c, t->stream));
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = a;
    c.srcXInBytes = 11 * 4;
    c.srcY = 13;
    c.dstArray = b;
    c.dstXInBytes = 0;
    c.dstY = 1;
    CU_OK(t->cu->Memcpy2DAsync(&c, t->stream));
    c.srcArray = b;
    c.srcXInBytes = 0;
    c.srcY = 1;
    c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.dstDevice = tight;
    c.dstPitch = CW * 4;
    c.dstY = 0;
    CU_OK(t->cu->Memcpy2DAsync(&c, t->stream));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    CU_OK(t->cu->MemcpyDtoH(back, tight, sizeof back));
    for (size_t y = 0; y < CH; y++)
        REQUIRE_EQ_BYTES(back + y * CW * 4, host + ((Y + y) * W + X) * 4, CW * 4);
    /* Straight from the array, by the synchronous forms. */
    memset(back, 0, sizeof back);
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = back;
    CU_OK(Memcpy2DUnaligned(&c));
    for (size_t y = 0; y < CH; y++)
        REQUIRE_EQ_BYTES(back + y * CW * 4, host + ((Y + y) * W + X) * 4, CW * 4);

    /* From within a texel, and not to the end of one. */
    c.srcXInBytes = 2;
    c.WidthInBytes = CW * 4 - 3;
    CU_OK(t->cu->Memcpy2D(&c));
    REQUIRE_EQ_BYTES(back, host + (Y * W + X) * 4 + 2, CW * 4 - 3);
    c.srcXInBytes = 0;
    c.WidthInBytes = CW * 4;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstPitch = CW * 4 + 4;
    CU_IS(t->cu->Memcpy2D(&c), CUDA_ERROR_INVALID_VALUE); /* the last row passes the end */
    c.dstPitch = (size_t)1 << 62;
    CU_IS(Memcpy2DUnaligned(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstPitch = CW * 4;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = (CUarray)(void *)back;
    CU_IS(t->cu->Memcpy2D(&c), CUDA_ERROR_INVALID_HANDLE);
}

TWIN_CASE(copies_3d, CU_STREAM_NON_BLOCKING)
{
    enum { W = 9, H = 7, D = 5, TEXEL = 8, SIZE = W * H * D * TEXEL };
    unsigned char in[SIZE], out[SIZE];
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT16, 4, W, H);
    CUarray array;
    fill(in, sizeof in, 9);
    for (int layered = 0; layered < 2; layered++) {
        desc.Depth = D;
        desc.Flags = layered ? CUDA_ARRAY3D_LAYERED : 0;
        array = raw_cuda_array(t->cu, &desc);
        CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = in,
                           .srcPitch = W * TEXEL,
                           .srcHeight = H,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = array,
                           .WidthInBytes = W * TEXEL,
                           .Height = H,
                           .Depth = D};
        twin_gate *gate = twin_gate_new();
        CU_OK(t->cu->LaunchHostFunc(t->stream, twin_gate_wait, gate));
        CU_OK(t->cu->Memcpy3DAsync(&c, t->stream));
        fill(in, sizeof in, 10); /* pageable memory was read before the call returned */
        twin_gate_open(gate);
        CU_OK(t->cu->StreamSynchronize(t->stream));
        twin_gate_free(gate);
        fill(in, sizeof in, 9);
        /* Back in two boxes: the last slice's last row, and all. */
        c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array,
                            .srcXInBytes = TEXEL,
                            .srcY = H - 1,
                            .srcZ = D - 1,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = out,
                            .WidthInBytes = (W - 1) * TEXEL,
                            .Height = 1,
                            .Depth = 1};
        CU_OK(t->cu->Memcpy3D(&c)); /* one row needs no pitch */
        REQUIRE_EQ_BYTES(out, in + SIZE - (W - 1) * TEXEL, (W - 1) * TEXEL);
        c.srcZ = D;
        CU_IS(t->cu->Memcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
        c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = out,
                            .dstPitch = W * TEXEL,
                            .WidthInBytes = W * TEXEL,
                            .Height = H,
                            .Depth = D};
        CU_IS(t->cu->Memcpy3D(&c), CUDA_ERROR_INVALID_VALUE); /* no height of a slice */
        c.dstHeight = H;
        CU_OK(t->cu->Memcpy3D(&c));
        REQUIRE_EQ_BYTES(out, in, SIZE);
    }
}

TWIN_CASE(mapped, 0)
{
    enum { W = 100, H = 60, SIZE = 38400 }; /* 7 levels of RGBA8, by the formula */
    unsigned char texels[W * H * 4], back[W * H * 4], *payload;
    CUexternalMemory memory;
    CUmipmappedArray mipmap, other;
    CUarray level;
    CUdeviceptr pointer;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CU_OK(raw_cuda_import_memory(t->cu, twin_memory_fd(SIZE + 64, &payload), SIZE + 64, false,
                                 &memory));
    CU_OK(raw_cuda_map_image(t->cu, memory, 64, &desc, 7, &mipmap));
    CU_IS(raw_cuda_map_image(t->cu, memory, 128, &desc, 7, &other), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, memory, SIZE + 64, &desc, 1, &other), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, memory, UINT64_MAX - 63, &desc, 1, &other),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, memory, 8, &desc, 1, &other), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, memory, 0, &desc, 0, &other), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, memory, 0, &desc, 8, &other), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_image(t->cu, (CUexternalMemory)(void *)&desc, 0, &desc, 1, &other),
          CUDA_ERROR_INVALID_HANDLE);
    CU_IS(raw_cuda_map_image(t->cu, memory, 0, &desc, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->ExternalMemoryGetMappedMipmappedArray(&other, memory, NULL),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(raw_cuda_map_buffer(t->cu, memory, 0, SIZE + 64, &pointer));
    REQUIRE_EQ(twin_counts(t->cu).external_mappings, 2);

    fill(texels, sizeof texels, 4);
    CU_OK(t->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CU_OK(raw_cuda_write_array(t->cu, level, texels, W * 4, H));
    for (size_t y = 0; y < H; y++)
        REQUIRE_EQ_BYTES(payload + 64 + y * 448, texels + y * W * 4, W * 4);
    CU_OK(t->cu->MipmappedArrayGetLevel(&level, mipmap, 6));
    CU_OK(raw_cuda_write_array(t->cu, level, texels, 4, 1));
    REQUIRE_EQ_BYTES(payload + SIZE + 64 - 256, texels, 4); /* a tile of four rows of 64 bytes */
    /* The mapping keeps the pages alone. */
    CU_OK(t->cu->DestroyExternalMemory(memory));
    CU_OK(t->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CU_OK(raw_cuda_read_array(t->cu, level, back, W * 4, H));
    REQUIRE_EQ_BYTES(back, texels, sizeof texels);
    CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
    CU_OK(t->cu->MemFree(pointer));
}

/* The context takes with it what is left in it. */
TEST(context_ends, .own = true)
{
    unsigned char *payload;
    twin t = twin_begin(0);
    CUexternalMemory memory;
    CUmipmappedArray mipmap, own;
    CUarray array, level;
    CUsurfObject surface;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 64, 64);
    CU_OK(raw_cuda_import_memory(t.cu, twin_memory_fd(1 << 20, &payload), 1 << 20, false, &memory));
    CU_OK(raw_cuda_map_image(t.cu, memory, 0, &desc, 7, &mipmap));
    CU_OK(t.cu->MipmappedArrayCreate(&own, &desc, 3));
    CU_OK(t.cu->Array3DCreate(&array, &desc));
    CU_OK(t.cu->MipmappedArrayGetLevel(&level, mipmap, 3));
    CU_OK(raw_cuda_surface(t.cu, level, &surface));
    raw_cuda_leave(t.cu, 0);

    t = twin_begin(0);
    CU_IS(t.cu->SurfObjectDestroy(surface), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t.cu->MipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
    twin_finish(&t);
}
