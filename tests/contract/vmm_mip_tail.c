/* SPDX-License-Identifier: MIT */
/* Contract rows: mip tails of sparse mipmapped arrays. */
#define TEST_GROUP "vmm_sparse."
#include "vmm_sparse.h"

/* 256 texels of a level by a texture of the mipmapped array: it may see what copies do not. */
static size_t wrong_in_texture(const pair *p, CUfunction read, CUmipmappedArray mipmap,
                               unsigned size, unsigned level, const uint32_t *expected)
{
    struct place {
        float x, y, z;
        int layer;
        float level;
    };
    const unsigned extent = size >> level, step = extent >= 16 ? extent / 16 : 1;
    int count = 0;
    struct place places[256];
    uint32_t wanted[256], found[256];
    CUdeviceptr in = 0, out = 0;
    CUtexObject texture = 0;
    CUDA_TEXTURE_DESC desc;
    for (unsigned y = 0; y < extent; y += step)
        for (unsigned x = 0; x < extent; x += step, count++) {
            places[count] = (struct place){.x = ((float)x + 0.5f) / (float)extent,
                                           .y = ((float)y + 0.5f) / (float)extent,
                                           .level = (float)level};
            wanted[count] = expected[y * extent + x];
        }
    memset(&desc, 0, sizeof desc);
    desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = CU_TR_ADDRESS_MODE_CLAMP;
    desc.flags = CU_TRSF_NORMALIZED_COORDINATES;
    desc.maxMipmapLevelClamp = (float)level;
    CU_OK(raw_cuda_mip_texture(p->cu, mipmap, &desc, &texture));
    CU_OK(p->cu->MemAlloc(&in, sizeof places));
    CU_OK(p->cu->MemAlloc(&out, sizeof found));
    CU_OK(p->cu->MemcpyHtoD(in, places, sizeof places));
    CU_OK(p->cu->CtxSynchronize()); /* from pageable memory, another stream would overtake it */
    void *args[] = {&texture, &in, &out, &count};
    CU_OK(p->cu->LaunchKernel(read, 1, 1, 1, 256, 1, 1, 0, p->stream, args, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->MemcpyDtoH(found, out, sizeof found));
    CU_OK(p->cu->TexObjectDestroy(texture));
    CU_OK(p->cu->MemFree(in));
    CU_OK(p->cu->MemFree(out));
    size_t wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += found[i] != wanted[i];
    return wrong;
}

typedef struct tail_variant {
    const char *what;
    unsigned size; /* of level 0 */
    enum { ONE_LIST, TAIL_FIRST_IN_LIST, LEVEL_THEN_TAIL, TAIL_THEN_LEVEL, TAIL_ONLY } how;
    uint64_t offset; /* of the tail in the pool */
    bool own_pool;   /* the tail's */
} tail_variant;

static size_t map_with_tail(const pair *p, const sparse_procs *f, const tail_variant *v,
                            CUfunction read)
{
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    unsigned levels = 1;
    while (v->size >> levels != 0)
        levels++;
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(v->size, v->size, 0, 0);
    desc.Format = CU_AD_FORMAT_FLOAT;
    CUmemGenericAllocationHandle pool = sparse_pool(p), tails = v->own_pool ? sparse_pool(p) : pool;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, levels));
    CU_OK(f->mipmap_properties(&found, mipmap));
    const unsigned first = found.miptailFirstLevel;
    REQUIRE(found.miptailSize > 0 && first >= 1 && first < levels);
    CUarrayMapInfo whole = sparse_tiles(p, NULL, 0, 0, v->size / 128, pool, 0),
                   tail = sparse_info(p, tails, v->offset);
    whole.resourceType = tail.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    whole.resource.mipmap = tail.resource.mipmap = mipmap;
    whole.subresource.sparseLevel.extentHeight = v->size; /* all of level 0 */
    tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    tail.subresource.miptail.size = found.miptailSize;
    const bool tail_first = v->how == TAIL_FIRST_IN_LIST || v->how == TAIL_THEN_LEVEL;
    CUarrayMapInfo list[2] = {tail_first ? tail : whole, tail_first ? whole : tail};
    if (v->how == ONE_LIST || v->how == TAIL_FIRST_IN_LIST) {
        CU_OK(f->map(list, 2, p->stream));
    } else if (v->how == TAIL_ONLY) {
        CU_OK(f->map(&tail, 1, p->stream));
    } else {
        CU_OK(f->map(&list[0], 1, p->stream));
        CU_OK(f->map(&list[1], 1, p->stream));
    }
    CU_OK(p->cu->StreamSynchronize(p->stream));
    const size_t count = (size_t)v->size * v->size + 16;
    uint32_t *words = pattern_words(count * 4, 7);
    for (size_t i = 0; i < count; i++)
        words[i] = 0x3f800000u | words[i] >> 9; /* floats from 1 to 2 */
    size_t wrong = 0, wrong_first = 0, wrong_tail = 0, wrong_texels = 0;
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        sparse_copy(p, level, 0, 0, v->size >> i, v->size >> i, words + i, true);
    }
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        const size_t bytes =
            sparse_wrong_bytes(p, level, 0, 0, v->size >> i, v->size >> i, words + i);
        *(i == 0 ? &wrong : i == first ? &wrong_first : &wrong_tail) += bytes;
        if (i == first || i == first + 1)
            wrong_texels += wrong_in_texture(p, read, mipmap, v->size, i, words + i);
    }
    ANSWER(v->what,
           "tail from level %u, %llu bytes; "
           "wrong bytes: level 0 %zu, level %u %zu, the smaller ones %zu; "
           "wrong texels of a texture there %zu",
           first, found.miptailSize, wrong, first, wrong_first, wrong_tail, wrong_texels);
    CU_OK(p->cu->MemRelease(pool));
    if (tails != pool) CU_OK(p->cu->MemRelease(tails));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap)); /* mapped as it is */
    return wrong + wrong_first + wrong_tail + wrong_texels;
}

/* The first of these reads zeros from level 2 on. */
TEST(mip_tail, .mark = TEST_BOTH)
{
    static const tail_variant variants[] = {
        {"256 x 256, level 0 and the tail in one list", 256, ONE_LIST, 16 * TILE_BYTES, false},
        {"the tail first in the list", 256, TAIL_FIRST_IN_LIST, 16 * TILE_BYTES, false},
        {"level 0, then the tail", 256, LEVEL_THEN_TAIL, 16 * TILE_BYTES, false},
        {"the tail, then level 0", 256, TAIL_THEN_LEVEL, 16 * TILE_BYTES, false},
        {"the tail only", 256, TAIL_ONLY, 16 * TILE_BYTES, false},
        {"the tail only, at 0", 256, TAIL_ONLY, 0, false},
        {"the tail only, at 2 MiB", 256, TAIL_ONLY, VMM_SIZE, false},
        {"level 0, then the tail on a pool of its own", 256, LEVEL_THEN_TAIL, 0, true},
        {"512 x 512, level 0, then the tail", 512, LEVEL_THEN_TAIL, 32 * TILE_BYTES, false}};
    pair p;
    const sparse_procs f = sparse_open(&p);
    CUmodule module = raw_cuda_module(p.cu, "texture_kernels");
    CUfunction read = raw_cuda_function(p.cu, module, "read_2d_float");
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const size_t wrong = map_with_tail(&p, &f, &variants[i], read);
        /* A tail that comes after tiles in one list is not mapped. */
        REQUIRE((wrong != 0) == (variants[i].how == ONE_LIST));
    }
    pair_close(&p);
}
