/* SPDX-License-Identifier: MIT */
/* Surface objects: what kernels store and load through them, and what they may not. */
#define TEST_GROUP "surfaces."
#include "twin.h"

#include "raw_cuda_image.h"

enum { WIDTH = 37, HEIGHT = 21 };

/* As in twin_surfaces.cu. */
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
    c.module = raw_cuda_load(c.t.cu, "twin_surfaces");
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

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 11);
}

static void check_type(const char *type, CUarray_format format, unsigned channels, size_t texel)
{
    unsigned char expected[WIDTH * HEIGHT * 16], found[WIDTH * HEIGHT * 16];
    const rectangle whole = {0, 0, WIDTH, HEIGHT, MODE_TRAP, 0};
    const size_t size = WIDTH * HEIGHT * texel;
    char kernel[64];
    canvas c = canvas_open(format, channels, texel);

    fill(expected, size, 1);
    CU_OK(raw_cuda_upload(c.t.cu, c.texels, expected, size));
    snprintf(kernel, sizeof kernel, "write_%s", type);
    CU_OK(run(&c, kernel, whole));
    CU_OK(raw_cuda_read_array(c.t.cu, c.array, found, WIDTH * texel, HEIGHT));
    REQUIRE_EQ_BYTES(found, expected, size);

    fill(expected, size, 2);
    CU_OK(raw_cuda_write_array(c.t.cu, c.array, expected, WIDTH * texel, HEIGHT));
    snprintf(kernel, sizeof kernel, "read_%s", type);
    CU_OK(run(&c, kernel, whole));
    CU_OK(c.t.cu->MemcpyDtoH(found, c.texels, size));
    REQUIRE_EQ_BYTES(found, expected, size);
    canvas_close(&c);
}

TEST(types)
{
    check_type("uchar", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1);
    check_type("uchar4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4);
    check_type("ushort4", CU_AD_FORMAT_HALF, 4, 8);
    check_type("uint", CU_AD_FORMAT_UNSIGNED_INT32, 1, 4);
    check_type("float", CU_AD_FORMAT_FLOAT, 1, 4);
    check_type("float2", CU_AD_FORMAT_FLOAT, 2, 8);
    check_type("float4", CU_AD_FORMAT_FLOAT, 4, 16);
    check_type("uint", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4); /* bytes are bytes */
}

TEST(clamp_and_zero)
{
    enum { W = WIDTH + 4, H = HEIGHT + 2 };
    float expected[HEIGHT][WIDTH], found[H][W];
    canvas c = canvas_open(CU_AD_FORMAT_FLOAT, 1, 4);
    CUdeviceptr texels = c.texels;
    rectangle around = {-2, -1, W, H, MODE_ZERO, 0};
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            expected[y][x] = (float)(y * WIDTH + x + 1);
    CU_OK(raw_cuda_write_array(c.t.cu, c.array, expected, sizeof expected[0], HEIGHT));
    CU_OK(c.t.cu->MemAlloc(&c.texels, sizeof found));
    for (int mode = MODE_ZERO; mode <= MODE_CLAMP; mode++) {
        around.mode = mode;
        CU_OK(run(&c, "read_float", around));
        CU_OK(c.t.cu->MemcpyDtoH(found, c.texels, sizeof found));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int ix = x - 2, iy = y - 1;
                bool inside = ix >= 0 && iy >= 0 && ix < WIDTH && iy < HEIGHT;
                int cx = ix < 0 ? 0 : ix >= WIDTH ? WIDTH - 1 : ix, cy = iy < 0 ? 0 : iy;
                if (cy >= HEIGHT) cy = HEIGHT - 1;
                REQUIRE(found[y][x] == (mode == MODE_CLAMP || inside ? expected[cy][cx] : 0.0f));
            }
    }

    /* What is written outside in zero mode is dropped; clamped, it lands on the border. */
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            found[y][x] = 7.0f;
    CU_OK(raw_cuda_upload(c.t.cu, c.texels, found, sizeof found));
    around = (rectangle){WIDTH, 0, 2, HEIGHT, MODE_ZERO, 0};
    CU_OK(run(&c, "write_float", around));
    CU_OK(raw_cuda_read_array(c.t.cu, c.array, found, sizeof expected[0], HEIGHT));
    REQUIRE_EQ_BYTES(found, expected, sizeof expected);
    around.mode = MODE_CLAMP;
    CU_OK(run(&c, "write_float", around));
    CU_OK(raw_cuda_read_array(c.t.cu, c.array, found, sizeof expected[0], HEIGHT));
    for (int y = 0; y < HEIGHT; y++)
        expected[y][WIDTH - 1] = 7.0f;
    REQUIRE_EQ_BYTES(found, expected, sizeof expected);

    CU_OK(c.t.cu->MemFree(c.texels));
    c.texels = texels;
    canvas_close(&c);
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

/* Reported: the cost of a pixel. */
TWIN_CASE(paint, CU_STREAM_NON_BLOCKING)
{
    enum { W = 1280, H = 720, TURNS = 20 };
    int width = W, height = H;
    float phase = 0.25f;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUmodule module = raw_cuda_module(t->cu, "twin_surfaces");
    CUfunction function = raw_cuda_function(t->cu, module, "paint");
    unsigned char *texels = test_memory((size_t)W * H * 4);
    CUarray array = raw_cuda_array(t->cu, &desc);
    CUsurfObject surface = raw_cuda_surface_of(t->cu, array);
    void *params[] = {&surface, &width, &height, &phase};
    double start = test_now_us();
    for (int i = 0; i < TURNS; i++)
        CU_OK(
            t->cu->LaunchKernel(function, W / 32, H / 8, 1, 32, 8, 1, 0, t->stream, params, NULL));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    MEASURED("paint", "%.2f ms for %d x %d", (test_now_us() - start) / TURNS / 1000.0, W, H);
    CU_OK(raw_cuda_read_array(t->cu, array, texels, (size_t)W * 4, H));
    const unsigned char *last = texels + ((size_t)W * H - 1) * 4;
    REQUIRE(last[0] == 254 && last[1] == 254 && last[2] == 63 && last[3] == 255);
}
