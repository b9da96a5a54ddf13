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
