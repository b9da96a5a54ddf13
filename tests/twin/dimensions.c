/* SPDX-License-Identifier: MIT */
/* Arrays of every dimension with their levels, made and mapped: by surfaces and by copies of every
 * direction. */
#define TEST_GROUP "dimensions."
#include "twin.h"

#include "raw_cuda_image.h"

/* As in dimension_kernels.cu. */
typedef struct box {
    int width, height, depth, from_x, from_y, from_z, mode;
} box;
enum { MODE_ZERO, MODE_CLAMP, MODE_TRAP };

typedef struct shape {
    const char *name;
    size_t width, height, depth;
    unsigned flags;
} shape;

#define SHAPES (sizeof shapes / sizeof shapes[0])

typedef struct world {
    twin t;
    CUmodule module;
} world;

static CUDA_ARRAY3D_DESCRIPTOR shape_desc(const shape *s)
{
    CUDA_ARRAY3D_DESCRIPTOR desc =
        raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, s->width, s->height);
    desc.Depth = s->depth;
    desc.Flags |= s->flags;
    return desc;
}

static CUresult run(world *w, const char *verb, const char *name, CUsurfObject surface,
                    CUdeviceptr data, box b)
{
    char kernel[64];
    const unsigned blocks = ((unsigned)(b.width * b.height * b.depth) + 63) / 64;
    snprintf(kernel, sizeof kernel, "%s_%s", verb, name);
    void *params[] = {&surface, &data, &b};
    CU_OK(w->t.cu->LaunchKernel(raw_cuda_function(w->t.cu, w->module, kernel), blocks, 1, 1, 64, 1,
                                1, 0, w->t.stream, params, NULL));
    return w->t.cu->StreamSynchronize(w->t.stream);
}

static void fill(uint32_t *words, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)i * 2654435761u + seed;
}

/* Boundary modes in y and z, and functions of another kind than the array. */
TEST(boundaries, .faults = true)
{
    enum { W = 3, H = 2, D = 2 };
    world w = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    const raw_cuda *cu = w.t.cu;
    const shape s = {"3d", W, H, D, 0};
    const CUDA_ARRAY3D_DESCRIPTOR desc = shape_desc(&s);
    const box around = {W + 2, H + 2, D + 2, -1, -1, -1, MODE_CLAMP};
    enum { AROUND = (W + 2) * (H + 2) * (D + 2) };
    uint32_t words[W * H * D], found[AROUND];
    CUarray array;
    CUsurfObject surface;
    CUdeviceptr data;
    w.module = raw_cuda_load(cu, "dimension_kernels");
    fill(words, W * H * D, 9);
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(raw_cuda_write_box(cu, array, words, W * 4, H, D));
    CU_OK(raw_cuda_surface(cu, array, &surface));
    CU_OK(cu->MemAlloc(&data, sizeof found));
    for (int mode = MODE_ZERO; mode <= MODE_CLAMP; mode++) {
        box b = around;
        b.mode = mode;
        CU_OK(run(&w, "read", "3d", surface, data, b));
        CU_OK(cu->MemcpyDtoH(found, data, sizeof found));
        for (int i = 0; i < AROUND; i++) {
            const int at[3] = {i % (W + 2) - 1, i / (W + 2) % (H + 2) - 1,
                               i / ((W + 2) * (H + 2)) - 1};
            const int limit[3] = {W, H, D};
            int index[3];
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                inside = inside && at[d] >= 0 && at[d] < limit[d];
                index[d] = at[d] < 0 ? 0 : at[d] >= limit[d] ? limit[d] - 1 : at[d];
            }
            const uint32_t there = words[(index[2] * H + index[1]) * W + index[0]];
            REQUIRE_EQ(found[i], inside || mode == MODE_CLAMP ? there : 0);
        }
    }
    box beyond = {W, H, 1, 0, 0, D, MODE_ZERO};
    CU_OK(run(&w, "write", "3d", surface, data, beyond)); /* dropped */
    CU_OK(raw_cuda_read_box(cu, array, found, W * 4, H, D));
    REQUIRE_EQ_BYTES(found, words, sizeof words);
    beyond.mode = MODE_TRAP;
    CU_IS(run(&w, "write", "3d", surface, data, beyond), CUDA_ERROR_ILLEGAL_ADDRESS);
    raw_cuda_leave(cu, 0);
}
