/* Contract rows: sparse arrays and mipmapped arrays, mapped on tile pools (R22). SPDX-License-Identifier: MIT */
#include "vmm.h"

#include "raw_cuda_image.h"

#include <stdlib.h>
#include <string.h>

#define TILE_BYTES 65536u
#define POOL_SIZE  (4 * VMM_SIZE)

typedef struct sparse_procs {
    PFN_cuMemMapArrayAsync_v11010 map;
    PFN_cuArrayGetSparseProperties_v11010 array_properties;
    PFN_cuMipmappedArrayGetSparseProperties_v11010 mipmap_properties;
} sparse_procs;

static void proc(const raw_cuda *cu, const char *name, void *function)
{
    void *address = NULL;
    CUresult result = cu->GetProcAddress(name, &address, 11010, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    if (result != CUDA_SUCCESS || address == NULL) SKIP("no %s", name);
    memcpy(function, &address, sizeof address);
}

static sparse_procs open_sparse(pair *p)
{
    sparse_procs f;
    int supported = 0;
    vmm_pair_open(p);
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, p->device));
    if (!supported) SKIP("no sparse arrays");
    proc(p->cu, "cuMemMapArrayAsync", &f.map);
    proc(p->cu, "cuArrayGetSparseProperties", &f.array_properties);
    proc(p->cu, "cuMipmappedArrayGetSparseProperties", &f.mipmap_properties);
    return f;
}

static CUmemGenericAllocationHandle make_pool(const pair *p)
{
    CUmemAllocationProp prop = vmm_prop(p, 0);
    CUmemGenericAllocationHandle handle = 0;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CU_OK(p->cu->MemCreate(&handle, POOL_SIZE, &prop, 0));
    return handle;
}

static CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR desc;
    memset(&desc, 0, sizeof desc);
    desc.Width = width;
    desc.Height = height;
    desc.Depth = depth;
    desc.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    desc.NumChannels = 1;
    desc.Flags = CUDA_ARRAY3D_SPARSE | flags;
    return desc;
}

static CUarrayMapInfo base_info(const pair *p, CUmemGenericAllocationHandle pool, uint64_t offset)
{
    CUarrayMapInfo info;
    memset(&info, 0, sizeof info);
    info.memOperationType = pool != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = pool;
    info.offset = offset;
    info.deviceBitMask = 1u << p->device;
    return info;
}

/* pool 0: unmaps. In tiles of 128 x 128 words. */
static CUarrayMapInfo tiles(const pair *p, CUarray array, unsigned x, unsigned y, unsigned count,
                            CUmemGenericAllocationHandle pool, uint64_t offset)
{
    CUarrayMapInfo info = base_info(p, pool, offset);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetX = x * 128;
    info.subresource.sparseLevel.offsetY = y * 128;
    info.subresource.sparseLevel.extentWidth = count * 128;
    info.subresource.sparseLevel.extentHeight = 128;
    info.subresource.sparseLevel.extentDepth = 1;
    return info;
}

/* Words of a rectangle of a level, to or from host memory. */
static void copy_rectangle(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                           unsigned height, uint32_t *words, bool upload)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = upload ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = words;
    copy.srcPitch = copy.dstPitch = (size_t)width * 4;
    copy.srcArray = copy.dstArray = array;
    if (upload) {
        copy.dstXInBytes = (size_t)x * 4;
        copy.dstY = y;
    } else {
        copy.srcXInBytes = (size_t)x * 4;
        copy.srcY = y;
    }
    copy.WidthInBytes = (size_t)width * 4;
    copy.Height = height;
    CU_OK(p->cu->Memcpy2D(&copy));
    CU_OK(p->cu->CtxSynchronize());
}

static void require_rectangle(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                              unsigned height, const uint32_t *expected)
{
    const size_t size = (size_t)width * height * 4;
    uint32_t *found = calloc(1, size);
    REQUIRE(found != NULL);
    copy_rectangle(p, array, x, y, width, height, found, false);
    REQUIRE_EQ_BYTES(found, expected, size);
    free(found);
}

static void report_properties(const char *what, CUresult result, const CUDA_ARRAY_SPARSE_PROPERTIES *found)
{
    MEASURED("sparse_properties", "%s: %s, tile %u x %u x %u, tail from level %u, %llu bytes, flags 0x%x",
             what, raw_cuda_result_name(result), found->tileExtent.width, found->tileExtent.height,
             found->tileExtent.depth, found->miptailFirstLevel, found->miptailSize, found->flags);
}

static void properties(void)
{
    static const struct {
        const char *what;
        size_t width, height, depth;
        unsigned flags, levels; /* levels 0: an array */
    } rows[] = {
        {"array 512 x 384", 512, 384, 0, 0, 0},
        {"array 300 x 200", 300, 200, 0, 0, 0},
        {"array 64 x 64", 64, 64, 0, 0, 0},
        {"layered array 256 x 256, 3 layers", 256, 256, 3, CUDA_ARRAY3D_LAYERED, 0},
        {"array 128 x 128 x 64", 128, 128, 64, 0, 0},
        {"mipmapped array 512 x 512, 10 levels", 512, 512, 0, 0, 10},
        {"layered mipmapped array 512 x 512, 2 layers, 10 levels", 512, 512, 2, CUDA_ARRAY3D_LAYERED, 10}};
    pair p;
    const sparse_procs f = open_sparse(&p);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc =
            sparse_desc(rows[i].width, rows[i].height, rows[i].depth, rows[i].flags);
        CUDA_ARRAY_SPARSE_PROPERTIES found;
        memset(&found, 0, sizeof found);
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUresult made = rows[i].levels == 0 ? p.cu->Array3DCreate(&array, &desc)
                                            : p.cu->MipmappedArrayCreate(&mipmap, &desc, rows[i].levels);
        if (made != CUDA_SUCCESS && !p.cu->software && i > 0) {
            MEASURED("sparse_properties", "%s: not made, %s", rows[i].what, raw_cuda_result_name(made));
            continue;
        }
        CU_OK(made);
        if (array != NULL) {
            report_properties(rows[i].what, f.array_properties(&found, array), &found);
            CU_OK(p.cu->ArrayDestroy(array));
        } else {
            CUDA_ARRAY_SPARSE_PROPERTIES none;
            report_properties(rows[i].what, f.mipmap_properties(&found, mipmap), &found);
            REQUIRE(found.miptailSize % TILE_BYTES == 0);
            CU_OK(p.cu->MipmappedArrayGetLevel(&array, mipmap, 0));
            CU_IS(f.array_properties(&none, array), CUDA_ERROR_INVALID_VALUE); /* cuda.h */
            CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
        }
        if (i == 0) {
            REQUIRE_EQ(found.tileExtent.width, 128); /* Vulkan's standard shape for 32 bits */
            REQUIRE_EQ(found.tileExtent.height, 128);
            REQUIRE_EQ(found.tileExtent.depth, 1);
        }
    }
    CUarray plain;
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(256, 256, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    desc.Flags = 0;
    CU_OK(p.cu->Array3DCreate(&plain, &desc));
    CU_IS(f.array_properties(&found, plain), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->ArrayDestroy(plain));
    pair_close(&p);
}

/* Tiles hold what is put there, and the pool's memory keeps it for the next tile. */
static void array_tiles(void)
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair p;
    CUarray array;
    const sparse_procs f = open_sparse(&p);
    CUmemGenericAllocationHandle pool = make_pool(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CU_OK(p.cu->Array3DCreate(&array, &desc));
    CUarrayMapInfo info[2] = {tiles(&p, array, 1, 0, 2, pool, 0),
                              tiles(&p, array, 0, 2, 1, pool, 8 * TILE_BYTES)};
    CU_OK(f.map(info, 2, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5), *other = pattern_words(128 * 128 * 4, 6);
    copy_rectangle(&p, array, 128, 0, WIDTH, HEIGHT, words, true);
    copy_rectangle(&p, array, 0, 256, 128, 128, other, true);
    require_rectangle(&p, array, 128, 0, WIDTH, HEIGHT, words);
    require_rectangle(&p, array, 0, 256, 128, 128, other);
    /* The first two go, and come back elsewhere. */
    info[0] = tiles(&p, array, 1, 0, 2, 0, 0);
    CU_OK(f.map(info, 1, p.stream));
    info[0] = tiles(&p, array, 2, 1, 2, pool, 0);
    CU_OK(f.map(info, 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    require_rectangle(&p, array, 256, 128, WIDTH, HEIGHT, words);
    require_rectangle(&p, array, 0, 256, 128, 128, other);
    CU_OK(p.cu->MemRelease(pool)); /* its mappings keep it */
    require_rectangle(&p, array, 256, 128, WIDTH, HEIGHT, words);
    info[0] = tiles(&p, array, 2, 1, 2, 0, 0);
    info[1] = tiles(&p, array, 0, 2, 1, 0, 0);
    CU_OK(f.map(info, 2, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(p.cu->ArrayDestroy(array));
    free(words);
    free(other);
    pair_close(&p);
}

static void mip_tail(void)
{
    pair p;
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    const sparse_procs f = open_sparse(&p);
    CUmemGenericAllocationHandle pool = make_pool(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(256, 256, 0, 0);
    CU_OK(p.cu->MipmappedArrayCreate(&mipmap, &desc, 9));
    CU_OK(f.mipmap_properties(&found, mipmap));
    REQUIRE(found.miptailSize > 0 && found.miptailFirstLevel >= 1 && found.miptailFirstLevel < 9);
    CUarrayMapInfo info[2] = {tiles(&p, NULL, 0, 0, 2, pool, 0), base_info(&p, pool, 16 * TILE_BYTES)};
    info[0].resourceType = info[1].resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info[0].resource.mipmap = info[1].resource.mipmap = mipmap;
    info[0].subresource.sparseLevel.extentHeight = 256; /* all of level 0 */
    info[1].subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info[1].subresource.miptail.size = found.miptailSize;
    CU_OK(f.map(info, 2, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    uint32_t *words = pattern_words(256 * 256 * 4, 7);
    CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    copy_rectangle(&p, level, 0, 0, 256, 256, words, true);
    for (unsigned i = found.miptailFirstLevel; i < 9; i++) {
        CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, i));
        copy_rectangle(&p, level, 0, 0, 256u >> i, 256u >> i, words + i, true);
    }
    for (unsigned i = found.miptailFirstLevel; i < 9; i++) {
        CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, i));
        require_rectangle(&p, level, 0, 0, 256u >> i, 256u >> i, words + i);
    }
    CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    require_rectangle(&p, level, 0, 0, 256, 256, words);
    CU_OK(p.cu->MemRelease(pool));
    CU_OK(p.cu->MipmappedArrayDestroy(mipmap)); /* mapped as it is */
    free(words);
    pair_close(&p);
}

static void report(const pair *p, const char *what, CUresult result, CUresult twin)
{
    MEASURED("sparse_answer", "%s: %s", what, raw_cuda_result_name(result));
    if (p->cu->software) CU_IS(result, twin);
}

static void refusals(void)
{
    pair p;
    CUarray array, plain, flat = NULL;
    CUmipmappedArray mipmap;
    CUarray level;
    const sparse_procs f = open_sparse(&p);
    CUmemGenericAllocationHandle pool = make_pool(&p), memory = vmm_create(&p, VMM_SIZE, 0);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CU_OK(p.cu->Array3DCreate(&array, &desc));
    CU_OK(p.cu->MipmappedArrayCreate(&mipmap, &desc, 2));
    CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CUarrayMapInfo info = tiles(&p, array, 0, 0, 1, memory, 0);
    report(&p, "memory that is no tile pool", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 0, 0, 1, pool, 4096);
    report(&p, "an offset within a tile's bytes", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 0, 0, 1, pool, POOL_SIZE);
    report(&p, "past the pool", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 0, 0, 1, pool, 0);
    info.subresource.sparseLevel.offsetX = 64;
    report(&p, "an offset within a tile", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 3, 0, 2, pool, 0);
    report(&p, "past the array", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 0, 0, 1, pool, 0);
    info.deviceBitMask = 0;
    report(&p, "for no device", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, array, 0, 0, 1, pool, 0);
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    report(&p, "unmapping with a pool", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    info = tiles(&p, level, 0, 0, 1, pool, 0);
    report(&p, "a level of a mipmapped array", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    desc.Flags = 0;
    CU_OK(p.cu->Array3DCreate(&plain, &desc));
    info = tiles(&p, plain, 0, 0, 1, pool, 0);
    report(&p, "an array that is not sparse", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr range = vmm_reserve(&p, POOL_SIZE);
    CUresult result = p.cu->MemMap(range, POOL_SIZE, 0, pool, 0);
    report(&p, "a tile pool in cuMemMap", result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemUnmap(range, POOL_SIZE));
    desc = sparse_desc(512, 0, 0, 0);
    result = p.cu->Array3DCreate(&flat, &desc);
    report(&p, "a sparse 1D array", result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->ArrayDestroy(flat));
    /* An edge that is none of a tile. */
    CUarray odd;
    desc = sparse_desc(300, 200, 0, 0);
    CU_OK(p.cu->Array3DCreate(&odd, &desc));
    info = tiles(&p, odd, 2, 1, 1, pool, 0);
    report(&p, "a whole tile over the edge", f.map(&info, 1, p.stream), CUDA_SUCCESS);
    info = tiles(&p, odd, 2, 0, 1, pool, TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300 - 256;
    report(&p, "the part of a tile up to the edge", f.map(&info, 1, p.stream), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(p.cu->ArrayDestroy(odd));
    CU_OK(p.cu->MemAddressFree(range, POOL_SIZE));
    CU_OK(p.cu->ArrayDestroy(plain));
    CU_OK(p.cu->ArrayDestroy(array));
    CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
    CU_OK(p.cu->MemRelease(pool));
    CU_OK(p.cu->MemRelease(memory));
    pair_close(&p);
}

static void where_nothing_is_mapped(void)
{
    pair p;
    CUarray array;
    uint32_t *words = pattern_words(128 * 128 * 4, 9), *found = calloc(128 * 128, 4);
    size_t zeros = 0, same = 0;
    REQUIRE(found != NULL);
    (void)open_sparse(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CU_OK(p.cu->Array3DCreate(&array, &desc));
    copy_rectangle(&p, array, 0, 0, 128, 128, words, true);
    copy_rectangle(&p, array, 0, 0, 128, 128, found, false);
    for (size_t i = 0; i < 128 * 128; i++) {
        zeros += found[i] == 0;
        same += found[i] == words[i];
    }
    MEASURED("sparse_unmapped",
             "of 16384 words written and read where nothing is mapped %zu are 0, %zu as written", zeros,
             same);
    test_pass();
}

const test_case vmm_sparse_cases[] = {
    {.name = "vmm_sparse.properties", .run = properties, .mark = TEST_BOTH},
    {.name = "vmm_sparse.array_tiles", .run = array_tiles, .mark = TEST_BOTH},
    {.name = "vmm_sparse.mip_tail", .run = mip_tail, .mark = TEST_BOTH},
    {.name = "vmm_sparse.refusals",
     .run = refusals,
     .mark = TEST_BOTH,
     .reason = "of NVIDIA's driver reported"},
    {.name = "vmm_sparse.where_nothing_is_mapped", .run = where_nothing_is_mapped},
    {.name = NULL}};
