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

static const shape shapes[] = {
    {"1d", 21, 0, 0, 0},
    {"2d", 21, 13, 0, 0},
    {"3d", 21, 13, 9, 0},
    {"1d_layered", 21, 0, 4, CUDA_ARRAY3D_LAYERED},
    {"2d_layered", 21, 13, 4, CUDA_ARRAY3D_LAYERED},
    {"cube", 13, 13, 6, CUDA_ARRAY3D_CUBEMAP},
    {"cube_layered", 13, 13, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
};
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

static size_t at_least_one(size_t size)
{
    return size == 0 ? 1 : size;
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

/* A level by its surface and by copies from and to host, device, and another array. */
static void check_array(world *w, const shape *s, CUarray array, unsigned seed)
{
    const raw_cuda *cu = w->t.cu;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    CUsurfObject surface;
    CUdeviceptr data;
    CUarray other;
    CU_OK(cu->Array3DGetDescriptor(&desc, array));
    const size_t height = at_least_one(desc.Height), depth = at_least_one(desc.Depth),
                 row = desc.Width * 4, count = desc.Width * height * depth;
    const box all = {(int)desc.Width, (int)height, (int)depth, 0, 0, 0, MODE_TRAP};
    uint32_t *words = test_memory(count * 4), *found = test_memory(count * 4);
    CU_OK(raw_cuda_surface(cu, array, &surface));
    CU_OK(cu->MemAlloc(&data, count * 4));
    /* A kernel writes, a copy reads. */
    fill(words, count, seed);
    CU_OK(raw_cuda_upload(cu, data, words, count * 4));
    CU_OK(run(w, "write", s->name, surface, data, all));
    CU_OK(raw_cuda_read_box(cu, array, found, row, height, depth));
    REQUIRE_EQ_BYTES(found, words, count * 4);
    /* Through device memory and another array into this one; a kernel reads. */
    fill(words, count, seed + 1);
    CU_OK(raw_cuda_upload(cu, data, words, count * 4));
    CU_OK(cu->Array3DCreate(&other, &desc));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = data,
                          .srcPitch = row,
                          .srcHeight = height,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = other,
                          .WidthInBytes = row,
                          .Height = height,
                          .Depth = depth};
    CU_OK(cu->Memcpy3DAsync(&copy, w->t.stream));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = other;
    copy.dstArray = array;
    CU_OK(cu->Memcpy3DAsync(&copy, w->t.stream));
    CU_OK(cu->MemsetD32Async(data, 0, count, w->t.stream));
    CU_OK(run(w, "read", s->name, surface, data, all));
    CU_OK(cu->MemcpyDtoH(found, data, count * 4));
    REQUIRE_EQ_BYTES(found, words, count * 4);
    /* And the array to device memory. */
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = data;
    copy.dstPitch = row;
    copy.dstHeight = height;
    CU_OK(cu->MemsetD32Async(data, 0, count, w->t.stream));
    CU_OK(cu->Memcpy3DAsync(&copy, w->t.stream));
    CU_OK(cu->StreamSynchronize(w->t.stream));
    CU_OK(cu->MemcpyDtoH(found, data, count * 4));
    REQUIRE_EQ_BYTES(found, words, count * 4);
    copy.Depth = depth + 1;
    CU_IS(cu->Memcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    copy.Depth = depth;
    copy.srcZ = 1;
    CU_IS(cu->Memcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->ArrayDestroy(other));
    CU_OK(cu->MemFree(data));
    CU_OK(cu->SurfObjectDestroy(surface));
}

/* Every level of it, then what its neighbours hold: nothing ran over. */
static void check_levels(world *w, const shape *s, CUmipmappedArray mipmap, unsigned levels)
{
    const raw_cuda *cu = w->t.cu;
    CUarray level;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    for (unsigned i = 0; i < levels; i++) {
        CU_OK(cu->MipmappedArrayGetLevel(&level, mipmap, i));
        check_array(w, s, level, 100 * i);
    }
    for (unsigned i = 0; i < levels; i++) {
        CU_OK(cu->MipmappedArrayGetLevel(&level, mipmap, i));
        CU_OK(cu->Array3DGetDescriptor(&desc, level));
        const size_t height = at_least_one(desc.Height), depth = at_least_one(desc.Depth),
                     count = desc.Width * height * depth;
        uint32_t *words = test_memory(count * 4), *found = test_memory(count * 4);
        fill(words, count, 100 * i + 1);
        CU_OK(raw_cuda_read_box(cu, level, found, desc.Width * 4, height, depth));
        REQUIRE_EQ_BYTES(found, words, count * 4);
    }
}

TEST(every_kind)
{
    world w = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    const raw_cuda *cu = w.t.cu;
    w.module = raw_cuda_load(cu, "dimension_kernels");
    for (size_t i = 0; i < SHAPES; i++) {
        const shape *s = &shapes[i];
        const CUDA_ARRAY3D_DESCRIPTOR desc = shape_desc(s);
        const unsigned levels = s->width == 21 ? 5 : 4;
        unsigned char *payload;
        CUarray array = raw_cuda_array(cu, &desc);
        check_array(&w, s, array, 1);
        CUmipmappedArray made = raw_cuda_mipmap(cu, &desc, levels);
        check_levels(&w, s, made, levels);
        CUexternalMemory memory =
            raw_cuda_imported(cu, twin_memory_fd(65536, &payload), 65536, false);
        CUmipmappedArray mapped = raw_cuda_mapped_image(cu, memory, 0, &desc, levels);
        check_levels(&w, s, mapped, levels);
    }
    CU_OK(cu->ModuleUnload(w.module));
    twin_finish(&w.t);
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

TEST(wrong_kinds, .faults = true)
{
    for (size_t made = 0; made < SHAPES; made++)
        for (size_t used = 0; used < SHAPES; used++) {
            if (made == used) continue;
            world w = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
            const raw_cuda *cu = w.t.cu;
            const CUDA_ARRAY3D_DESCRIPTOR desc = shape_desc(&shapes[made]);
            CUarray array;
            CUsurfObject surface;
            CUdeviceptr data;
            w.module = raw_cuda_load(cu, "dimension_kernels");
            CU_OK(cu->Array3DCreate(&array, &desc));
            CU_OK(raw_cuda_surface(cu, array, &surface));
            CU_OK(cu->MemAlloc(&data, 4));
            CUresult result = run(&w, "read", shapes[used].name, surface, data,
                                  (box){1, 1, 1, 0, 0, 0, MODE_ZERO});
            if (result != CUDA_ERROR_ILLEGAL_ADDRESS)
                FAIL("%s of a %s array: %s", shapes[used].name, shapes[made].name,
                     raw_cuda_result_name(result));
            CU_OK(cu->DevicePrimaryCtxRelease(0));
            CU_OK(cu->DevicePrimaryCtxReset(0));
            CU_OK(cu->CtxSetCurrent(NULL));
            raw_cuda_require_empty(cu);
        }
}

/* Sparse and deferred arrays, and extents that are none, mapped as created. */
TWIN_CASE(refused_maps, 0)
{
    static const struct {
        size_t width, height, depth;
        unsigned flags;
        CUresult result;
    } rows[] = {{8, 8, 0, CUDA_ARRAY3D_SPARSE, CUDA_ERROR_INVALID_VALUE},
                {8, 8, 0, CUDA_ARRAY3D_DEFERRED_MAPPING, CUDA_ERROR_INVALID_VALUE},
                {8, 8, 5, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
                {8, 8, 12, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
                {8, 8, 7, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, CUDA_ERROR_INVALID_VALUE},
                {8, 4, 6, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
                {8, 0, 6, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
                {8, 0, 0, CUDA_ARRAY3D_LAYERED, CUDA_ERROR_INVALID_VALUE},
                {8, 0, 3, 0, CUDA_ERROR_INVALID_VALUE},
                {8, 8, 6, CUDA_ARRAY3D_LAYERED, CUDA_SUCCESS}, /* a cube's six layers as layers */
                {8, 8, 0, CUDA_ARRAY3D_COLOR_ATTACHMENT, CUDA_SUCCESS},
                {8, 8, 0, CUDA_ARRAY3D_DEPTH_TEXTURE, CUDA_ERROR_INVALID_VALUE}};
    unsigned char *payload;
    CUexternalMemory memory =
        raw_cuda_imported(t->cu, twin_memory_fd(65536, &payload), 65536, false);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc =
            raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, rows[i].width, rows[i].height);
        CUmipmappedArray mapped = NULL;
        desc.Depth = rows[i].depth;
        desc.Flags = rows[i].flags;
        CUresult result = raw_cuda_map_image(t->cu, memory, 0, &desc, 1, &mapped);
        if (result != rows[i].result) FAIL("row %zu: %s", i, raw_cuda_result_name(result));
        if (mapped != NULL) CU_OK(t->cu->MipmappedArrayDestroy(mapped));
        mapped = NULL;
        CU_IS(t->cu->MipmappedArrayCreate(&mapped, &desc, 1),
              rows[i].flags & CUDA_ARRAY3D_SPARSE ? CUDA_SUCCESS : rows[i].result);
        if (mapped != NULL) CU_OK(t->cu->MipmappedArrayDestroy(mapped));
    }
}
