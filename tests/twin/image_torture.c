/* SPDX-License-Identifier: MIT */
/* Every image call of a small program fails once in turn, and nothing is left. */
#define TEST_GROUP "torture."
#include "twin.h"

#include "raw_cuda_image.h"

#include <unistd.h>

/* What it holds; zero = not made. */
typedef struct held {
    CUexternalMemory external;
    CUmipmappedArray mapped, own;
    CUarray array;
    CUsurfObject surface;
    CUtexObject texture, levels; /* of an array, and of a mipmapped one */
    int memory_fd;               /* -1 = consumed */
} held;

static CUresult run(const raw_cuda *cu, held *h)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 16, 16);
    CUDA_ARRAY3D_DESCRIPTOR planar = raw_cuda_array_desc(CU_AD_FORMAT_NV12, 3, 16, 16), found;
    CUDA_RESOURCE_DESC resource;
    CUarray level;
    float texels[16 * 4 * 16], back[16 * 4 * 16];
    CUresult r;
    planar.Flags |= 0x100; /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */
    for (int i = 0; i < 16 * 4 * 16; i++)
        texels[i] = (float)i;
#define TRY(call)                                                                                  \
    if ((r = (call)) != CUDA_SUCCESS) return r
    TRY(raw_cuda_import_memory(cu, h->memory_fd, 65536, false, &h->external));
    h->memory_fd = -1;
    TRY(raw_cuda_map_image(cu, h->external, 0, &desc, 5, &h->mapped));
    TRY(cu->MipmappedArrayGetLevel(&level, h->mapped, 0));
    TRY(cu->Array3DGetDescriptor(&found, level));
    TRY(raw_cuda_surface(cu, level, &h->surface));
    TRY(cu->SurfObjectGetResourceDesc(&resource, h->surface));
    TRY(raw_cuda_texture(cu, level, NULL, &h->texture));
    TRY(raw_cuda_mip_texture(cu, h->mapped, NULL, &h->levels));
    TRY(raw_cuda_write_array(cu, level, texels, 16 * 16, 16));
    TRY(cu->Array3DCreate(&h->array, &desc));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = level,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = h->array,
                          .WidthInBytes = 256,
                          .Height = 16,
                          .Depth = 1};
    TRY(cu->Memcpy3D(&copy));
    TRY(cu->MipmappedArrayCreate(&h->own, &desc, 1));
    TRY(cu->MipmappedArrayGetLevel(&level, h->own, 0));
    copy.srcArray = h->array;
    copy.dstArray = level;
    TRY(cu->Memcpy3DAsync(&copy, NULL));
    TRY(raw_cuda_read_array(cu, level, back, 256, 16));
    REQUIRE_EQ_BYTES(back, texels, sizeof back);
    CUsurfObject surface = h->surface;
    CUtexObject texture = h->texture, levels = h->levels;
    CUmipmappedArray own = h->own, mapped = h->mapped;
    CUarray array = h->array;
    TRY(cu->SurfObjectDestroy(surface));
    h->surface = 0;
    TRY(cu->TexObjectDestroy(texture));
    h->texture = 0;
    TRY(cu->TexObjectDestroy(levels));
    h->levels = 0;
    TRY(cu->ArrayDestroy(array));
    h->array = NULL;
    TRY(cu->Array3DCreate(&h->array, &planar));
    TRY(cu->ArrayGetPlane(&level, h->array, 1));
    array = h->array;
    TRY(cu->ArrayDestroy(array));
    h->array = NULL;
    TRY(cu->MipmappedArrayDestroy(own));
    h->own = NULL;
    TRY(cu->MipmappedArrayDestroy(mapped));
    h->mapped = NULL;
#undef TRY
    return CUDA_SUCCESS;
}

static void clean(const raw_cuda *cu, held *h)
{
    if (h->surface != 0) CU_OK(cu->SurfObjectDestroy(h->surface));
    if (h->texture != 0) CU_OK(cu->TexObjectDestroy(h->texture));
    if (h->levels != 0) CU_OK(cu->TexObjectDestroy(h->levels));
    if (h->array != NULL) CU_OK(cu->ArrayDestroy(h->array));
    if (h->own != NULL) CU_OK(cu->MipmappedArrayDestroy(h->own));
    if (h->mapped != NULL) CU_OK(cu->MipmappedArrayDestroy(h->mapped));
    if (h->external != NULL) CU_OK(cu->DestroyExternalMemory(h->external));
    if (h->memory_fd >= 0) close(h->memory_fd);
}

TWIN_CASE(every_image_call_fails_once, 0)
{
    size_t fds = 0;
    unsigned n = 1;
    for (;; n++) {
        held h = {0};
        unsigned char *payload;
        h.memory_fd = twin_memory_fd(65536, &payload);
        t->cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        CUresult result = run(t->cu, &h);
        const char *failed = t->cu->SoftFailedCall();
        t->cu->SoftFailAt(0, 0);
        clean(t->cu, &h);
        culv_soft_counts counts = twin_counts(t->cu);
        REQUIRE_EQ(counts.external_memories + counts.external_mappings + counts.arrays, 0);
        REQUIRE_EQ(counts.mipmapped_arrays + counts.surfaces + counts.textures + counts.fds, 0);
        if (n == 1) fds = test_open_fds();
        REQUIRE_EQ(test_open_fds(), fds);
        if (failed == NULL) {
            CU_OK(result);
            break;
        }
        CU_IS(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    REQUIRE_EQ(n - 1, 25); /* the calls of run(), with what raw_cuda_write_array() waits by */
}
