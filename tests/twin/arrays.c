/* SPDX-License-Identifier: MIT */
/* Arrays, mipmapped arrays, their copies, and those mapped on imported memory. */
#define TEST_GROUP "arrays."
#include "raw_cuda_image.h"
#include "twin.h"

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

TWIN_CASE(descriptors, 0)
{
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

    CU_OK(t->cu->ArrayCreate(&array, &flat));
    CU_OK(t->cu->ArrayGetDescriptor(&found_flat, array));
    REQUIRE(found_flat.Width == 9 && found_flat.Height == 0 && found_flat.Format == flat.Format &&
            found_flat.NumChannels == 2);
    REQUIRE_EQ(twin_counts(t->cu).arrays, 1);
    CU_OK(t->cu->ArrayDestroy(array));
    CU_IS(t->cu->ArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

/* A rectangle goes through host, device, array, device and host memory, each with another pitch. */
TWIN_CASE(copies_2d, CU_STREAM_NON_BLOCKING)
{
    enum { W = 40, H = 30, X = 3, Y = 5, CW = 29, CH = 17 }; /* texels of 4 bytes */
    unsigned char *host = test_memory(W * 4 * H), back[CW * 4 * CH];
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
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
    CU_OK(t->cu->Memcpy2DUnaligned(&c));
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
    CU_IS(t->cu->Memcpy2DUnaligned(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstPitch = CW * 4;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = (CUarray)(void *)back;
    CU_IS(t->cu->Memcpy2D(&c), CUDA_ERROR_INVALID_HANDLE);
}

/* The last row of the last slice, or layer, without its first texel. */
TWIN_CASE(copies_3d, 0)
{
    enum { W = 9, H = 7, D = 5, TEXEL = 8, ROW = W * TEXEL, PART = ROW - TEXEL };
    unsigned char in[ROW * H * D], out[ROW];
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT16, 4, W, H);
    fill(in, sizeof in, 9);
    desc.Depth = D;
    for (int layered = 0; layered < 2; layered++) {
        desc.Flags = layered ? CUDA_ARRAY3D_LAYERED : 0;
        CUarray array = raw_cuda_array(t->cu, &desc);
        CU_OK(raw_cuda_write_box(t->cu, array, in, ROW, H, D));
        CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = array,
                           .srcXInBytes = TEXEL,
                           .srcY = H - 1,
                           .srcZ = D - 1,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .WidthInBytes = PART,
                           .Height = 1,
                           .Depth = 1};
        CU_OK(t->cu->Memcpy3D(&c)); /* one row needs no pitch */
        REQUIRE_EQ_BYTES(out, in + sizeof in - PART, PART);
        c.srcZ = D;
        CU_IS(t->cu->Memcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
        c.srcZ = 0;
        c.Depth = D;
        CU_IS(t->cu->Memcpy3D(&c), CUDA_ERROR_INVALID_VALUE); /* no height of a slice */
    }
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

/* Every format of cuda.h that the twin has; and a driver that is older. */
#undef TEST_GROUP
#define TEST_GROUP "formats."

/* By number: older cuda.h files lack the newer names. */
static const struct format_row {
    int format;
    unsigned channels; /* 0: 1, 2 and 4 */
    int since;
    bool video;
} rows[] = {
    {0x01, 0, 0, 0},     {0x02, 0, 0, 0},     {0x03, 0, 0, 0},     {0x08, 0, 0, 0},
    {0x09, 0, 0, 0},     {0x0a, 0, 0, 0},     {0x10, 0, 0, 0},     {0x20, 0, 0, 0},
    {0x50, 4, 12080, 0}, {0xc0, 1, 11050, 0}, {0xc1, 2, 11050, 0}, {0xc2, 4, 11050, 0},
    {0xc3, 1, 11050, 0}, {0xc4, 2, 11050, 0}, {0xc5, 4, 11050, 0}, {0xc6, 1, 11050, 0},
    {0xc7, 2, 11050, 0}, {0xc8, 4, 11050, 0}, {0xc9, 1, 11050, 0}, {0xca, 2, 11050, 0},
    {0xcb, 4, 11050, 0}, {0xa5, 2, 12080, 1}, {0xa6, 2, 12080, 1}, {0xa7, 2, 12080, 1},
    {0xa8, 4, 12080, 1}, {0xa9, 4, 12080, 1}, {0xb1, 4, 12080, 1},
};
#define ROWS (sizeof rows / sizeof rows[0])
enum { W = 38, H = 22, VIDEO = 0x100 /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */ };

static CUDA_ARRAY3D_DESCRIPTOR row_desc(const struct format_row *row, unsigned channels)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc((CUarray_format)row->format, channels, W, H);
    if (row->video) desc.Flags |= VIDEO;
    return desc;
}

/* There are no arrays of YUY2 and Y410 (measured on an H200). */
static bool has_arrays(const struct format_row *row)
{
    return row->format != 0xa5 && row->format != 0xa9;
}

/* A format's pairs of texels, and the flag. */
TWIN_CASE(video, 0)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc((CUarray_format)0xa6, 2, W, H); /* Y210 */
    CUarray array;
    CU_IS(t->cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
    desc.Flags = VIDEO;
    desc.Width = W - 1;
    CU_IS(t->cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
    desc.Width = W;
    desc.Height = H - 1;
    CU_OK(t->cu->Array3DCreate(&array, &desc));
    CU_OK(t->cu->ArrayDestroy(array));
    desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    desc.Flags = VIDEO;
    CU_IS(t->cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE); /* not a video format */
}

TWIN_CASE(older_driver, 0)
{
    static const int versions[] = {11000, 11020, 11040, 11050, 12040, 12080, 13000};
    REQUIRE(t->cu->SoftPlayVersion != NULL);
    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        int said = 0;
        t->cu->SoftPlayVersion(versions[v]);
        CU_OK(t->cu->DriverGetVersion(&said));
        REQUIRE_EQ(said, versions[v]);
        for (size_t i = 0; i < ROWS; i++) {
            const CUDA_ARRAY3D_DESCRIPTOR desc =
                row_desc(&rows[i], rows[i].channels == 0 ? 4 : rows[i].channels);
            CUarray array = NULL;
            CUmipmappedArray mipmap;
            const bool there = rows[i].since <= versions[v] && has_arrays(&rows[i]);
            CU_IS(t->cu->Array3DCreate(&array, &desc),
                  there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
            if (there) CU_OK(t->cu->ArrayDestroy(array));
            CU_IS(t->cu->MipmappedArrayCreate(&mipmap, &desc, 1),
                  there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
            if (there) CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
        }
    }
    /* What was made before stays. */
    unsigned char in[W * 4 * H], out[sizeof in];
    const CUDA_ARRAY3D_DESCRIPTOR desc = row_desc(&rows[24], 4); /* AYUV */
    CUarray array;
    t->cu->SoftPlayVersion(0);
    CU_OK(t->cu->Array3DCreate(&array, &desc));
    t->cu->SoftPlayVersion(11000);
    fill(in, sizeof in, 5);
    CU_OK(raw_cuda_write_box(t->cu, array, in, W * 4, H, 1));
    CU_OK(raw_cuda_read_box(t->cu, array, out, W * 4, H, 1));
    REQUIRE_EQ_BYTES(out, in, sizeof in);
    CU_OK(t->cu->ArrayDestroy(array));
    t->cu->SoftPlayVersion(0);
}

/* Surface objects: what kernels store and load through them, and what they may not. */
#undef TEST_GROUP
#define TEST_GROUP "surfaces."

enum { WIDTH = 37, HEIGHT = 21 };

/* As in twin_kernels.cu. */
typedef struct rectangle {
    int left, top, width, height, mode, shift;
} rectangle;
enum { MODE_ZERO, MODE_CLAMP, MODE_TRAP };

typedef struct canvas {
    twin t;
    CUmodule module;
    CUarray array;
    CUsurfObject surface;
    CUdeviceptr texels;
    size_t texel;
} canvas;

static canvas canvas_open(CUarray_format format, unsigned channels, size_t texel)
{
    canvas c = {.t = twin_begin(CU_STREAM_NON_BLOCKING), .texel = texel};
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(format, channels, WIDTH, HEIGHT);
    c.module = raw_cuda_load(c.t.cu, "twin_kernels");
    CU_OK(c.t.cu->Array3DCreate(&c.array, &desc));
    CU_OK(raw_cuda_surface(c.t.cu, c.array, &c.surface));
    CU_OK(c.t.cu->MemAlloc(&c.texels, WIDTH * HEIGHT * texel));
    return c;
}

static void canvas_close(canvas *c)
{
    if (c->surface != 0) CU_OK(c->t.cu->SurfObjectDestroy(c->surface));
    if (c->array != NULL) CU_OK(c->t.cu->ArrayDestroy(c->array));
    CU_OK(c->t.cu->MemFree(c->texels));
    CU_OK(c->t.cu->ModuleUnload(c->module));
    twin_finish(&c->t);
}

static CUresult run(canvas *c, const char *kernel, rectangle r)
{
    CUfunction function = raw_cuda_function(c->t.cu, c->module, kernel);
    void *params[] = {&c->surface, &c->texels, &r};
    CU_OK(c->t.cu->LaunchKernel(function, 8, 8, 1, 8, 4, 1, 0, c->t.stream, params, NULL));
    return c->t.cu->StreamSynchronize(c->t.stream);
}

/* Each fault in a context of its own; everything can be given up after it. */
static void require_fault(const char *kernel, rectangle r, CUsurfObject other, bool destroy_surface,
                          bool destroy_array)
{
    canvas c = canvas_open(CU_AD_FORMAT_UNSIGNED_INT8, 4, 4);
    CUsurfObject surface = c.surface;
    if (destroy_surface) {
        CU_OK(c.t.cu->SurfObjectDestroy(c.surface));
        CU_IS(c.t.cu->SurfObjectDestroy(c.surface), CUDA_ERROR_INVALID_VALUE);
    }
    if (destroy_array) CU_OK(c.t.cu->ArrayDestroy(c.array));
    if (other != 0) c.surface = other == 1 ? 0 : other;
    CU_IS(run(&c, kernel, r), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(c.t.cu->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (!destroy_surface) CU_IS(c.t.cu->SurfObjectDestroy(surface), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (!destroy_array) CU_IS(c.t.cu->ArrayDestroy(c.array), CUDA_ERROR_ILLEGAL_ADDRESS);
    culv_soft_counts counts = twin_counts(c.t.cu);
    REQUIRE_EQ(counts.surfaces + counts.arrays, 0);
    CU_OK(c.t.cu->DevicePrimaryCtxRelease(0));
    CU_OK(c.t.cu->DevicePrimaryCtxReset(0));
    CU_OK(c.t.cu->CtxSetCurrent(NULL));
    raw_cuda_require_empty(c.t.cu);
}

TEST(faults, .faults = true)
{
    const rectangle whole = {0, 0, WIDTH, HEIGHT, MODE_TRAP, 0};
    rectangle r = whole;
    r.left = 1;
    require_fault("write_uchar4", r, 0, false, false);
    r.left = -1;
    require_fault("read_uchar4", r, 0, false, false);
    r = whole;
    r.top = 1;
    require_fault("write_uchar4", r, 0, false, false);
    r.top = -1;
    require_fault("read_uchar4", r, 0, false, false);
    r = whole;
    r.shift = 2; /* not a multiple of the texel */
    r.width = 8;
    require_fault("write_uchar4", r, 0, false, false);
}

/* A kernel with a surface that is gone, or whose array is, faults in every mode. */
TEST(stale, .faults = true)
{
    rectangle r = {0, 0, WIDTH, HEIGHT, MODE_TRAP, 0};
    for (int mode = MODE_ZERO; mode <= MODE_TRAP; mode++) {
        r.mode = mode;
        require_fault("write_uchar4", r, 0, true, false);
        require_fault("read_uchar4", r, 0, false, true);
        require_fault("read_uchar4", r, 0, true, true);
        require_fault("read_uchar4", r, 1, false, false); /* no surface at all */
    }
}

TEST(handles)
{
    canvas c = canvas_open(CU_AD_FORMAT_UNSIGNED_INT8, 4, 4);
    const raw_cuda *cu = c.t.cu;
    CUsurfObject made[1000], again;
    CUDA_RESOURCE_DESC desc;
    CU_OK(cu->SurfObjectGetResourceDesc(&desc, c.surface));
    REQUIRE(desc.resType == CU_RESOURCE_TYPE_ARRAY && desc.res.array.hArray == c.array &&
            desc.flags == 0);
    for (size_t i = 0; i < 1000; i++)
        CU_OK(raw_cuda_surface(cu, c.array, &made[i]));
    REQUIRE_EQ(twin_counts(cu).surfaces, 1001);
    for (size_t i = 0; i < 1000; i++)
        CU_OK(cu->SurfObjectDestroy(made[i]));
    for (size_t turn = 0; turn < 3000; turn++) { /* a slot comes back under another handle */
        CU_OK(raw_cuda_surface(cu, c.array, &again));
        for (size_t i = 0; i < 1000; i += 97)
            REQUIRE(made[i] != again);
        CU_OK(cu->SurfObjectDestroy(again));
    }
    CU_IS(cu->SurfObjectDestroy(made[5]), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->SurfObjectDestroy(~0ull), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->SurfObjectGetResourceDesc(&desc, made[5]), CUDA_ERROR_INVALID_VALUE);

    memset(&desc, 0, sizeof desc);
    desc.resType = CU_RESOURCE_TYPE_ARRAY;
    desc.res.array.hArray = (CUarray)(void *)&desc; /* none */
    CU_IS(cu->SurfObjectCreate(&again, &desc), CUDA_ERROR_INVALID_HANDLE);
    desc.res.array.hArray = c.array;
    desc.resType = CU_RESOURCE_TYPE_LINEAR;
    CU_IS(cu->SurfObjectCreate(&again, &desc), CUDA_ERROR_INVALID_VALUE);

    /* It outlives its array and can still be given up. */
    CU_OK(cu->ArrayDestroy(c.array));
    c.array = NULL;
    canvas_close(&c);
}

/* Arrays of every dimension with their levels, made and mapped: by surfaces and by copies of every
 * direction. */
#undef TEST_GROUP
#define TEST_GROUP "dimensions."

/* As in dimension_kernels.cu. */
typedef struct box {
    int width, height, depth, from_x, from_y, from_z, mode;
} box;

static CUresult run_box(const twin *t, const char *kernel, CUmodule module, CUsurfObject surface,
                        CUdeviceptr data, box b)
{
    const unsigned blocks = ((unsigned)(b.width * b.height * b.depth) + 63) / 64;
    void *params[] = {&surface, &data, &b};
    CU_OK(t->cu->LaunchKernel(raw_cuda_function(t->cu, module, kernel), blocks, 1, 1, 64, 1, 1, 0,
                              t->stream, params, NULL));
    return t->cu->StreamSynchronize(t->stream);
}

/* Boundary modes in y and z, and functions of another kind than the array. */
TEST(boundaries, .faults = true)
{
    enum { WIDE = 3, HIGH = 2, DEEP = 2 };
    const twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    const raw_cuda *cu = t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, WIDE, HIGH);
    desc.Depth = DEEP;
    const box around = {WIDE + 2, HIGH + 2, DEEP + 2, -1, -1, -1, MODE_CLAMP};
    enum { AROUND = (WIDE + 2) * (HIGH + 2) * (DEEP + 2) };
    uint32_t words[WIDE * HIGH * DEEP], found[AROUND];
    CUarray array;
    CUsurfObject surface;
    CUdeviceptr data;
    CUmodule module = raw_cuda_load(cu, "dimension_kernels");
    fill((unsigned char *)words, sizeof words, 9);
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_box(cu, array, words, WIDE * 4, HIGH, DEEP));
    CU_OK(raw_cuda_surface(cu, array, &surface));
    CU_OK(cu->MemAlloc(&data, sizeof found));
    for (int mode = MODE_ZERO; mode <= MODE_CLAMP; mode++) {
        box b = around;
        b.mode = mode;
        CU_OK(run_box(&t, "read_3d", module, surface, data, b));
        CU_OK(cu->MemcpyDtoH(found, data, sizeof found));
        for (int i = 0; i < AROUND; i++) {
            const int at[3] = {i % (WIDE + 2) - 1, i / (WIDE + 2) % (HIGH + 2) - 1,
                               i / ((WIDE + 2) * (HIGH + 2)) - 1};
            const int limit[3] = {WIDE, HIGH, DEEP};
            int index[3];
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                inside = inside && at[d] >= 0 && at[d] < limit[d];
                index[d] = at[d] < 0 ? 0 : at[d] >= limit[d] ? limit[d] - 1 : at[d];
            }
            const uint32_t there = words[(index[2] * HIGH + index[1]) * WIDE + index[0]];
            REQUIRE_EQ(found[i], inside || mode == MODE_CLAMP ? there : 0);
        }
    }
    box beyond = {WIDE, HIGH, 1, 0, 0, DEEP, MODE_ZERO};
    CU_OK(run_box(&t, "write_3d", module, surface, data, beyond)); /* dropped */
    CU_OK(raw_cuda_read_box(cu, array, found, WIDE * 4, HIGH, DEEP));
    REQUIRE_EQ_BYTES(found, words, sizeof words);
    beyond.mode = MODE_TRAP;
    CU_IS(run_box(&t, "write_3d", module, surface, data, beyond), CUDA_ERROR_ILLEGAL_ADDRESS);
    raw_cuda_leave(cu, 0);
}
