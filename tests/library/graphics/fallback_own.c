/* SPDX-License-Identifier: MIT */
/* Arrays of CUDA's own, which a fallback copies to and from: those of Y'CbCr images, which no
 * software Vulkan makes, so by libculvert's inner calls. */
#define TEST_GROUP "own."
#include "base/message.h"
#include "core/staging.h"
#include "library.h"
#include "raw_cuda_image.h"

enum { WIDTH = 48, HEIGHT = 24, MAX_BYTES = WIDTH * HEIGHT * 8 };

typedef struct plane {
    uint32_t width, height, channels, bytes; /* of a texel, or of a pair of them */
    CUarray_format format;
} plane;

typedef struct row {
    culv_format format;
    uint32_t planes;
    plane plane[3];
} row;

#define FULL  WIDTH, HEIGHT
#define HALF  WIDTH / 2, HEIGHT
#define SMALL WIDTH / 2, HEIGHT / 2
#define U8    CU_AD_FORMAT_UNSIGNED_INT8
#define U16   CU_AD_FORMAT_UNSIGNED_INT16

/* Restated from the formats' definitions, not taken from Culvert's table. */
static const row rows[] = {
    {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, {{FULL, 1, 1, U8}, {SMALL, 2, 2, U8}}},
    {CULV_FORMAT_G8_B8R8_2PLANE_422_UNORM, 2, {{FULL, 1, 1, U8}, {HALF, 2, 2, U8}}},
    {CULV_FORMAT_G8_B8R8_2PLANE_444_UNORM, 2, {{FULL, 1, 1, U8}, {FULL, 2, 2, U8}}},
    {CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM,
     3,
     {{FULL, 1, 1, U8}, {FULL, 1, 1, U8}, {FULL, 1, 1, U8}}},
    {CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16,
     2,
     {{FULL, 1, 2, U16}, {SMALL, 2, 4, U16}}},
    {CULV_FORMAT_G16_B16R16_2PLANE_422_UNORM, 2, {{FULL, 1, 2, U16}, {HALF, 2, 4, U16}}},
};

static culv_image_desc describe(culv_format format)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = format;
    d.width = WIDTH;
    d.height = HEIGHT;
    d.depth = d.array_layers = d.mip_levels = 1;
    d.label = "own";
    return d;
}

static culv_result make(const lib_world *w, const culv_image_desc *d, culv_image **out)
{
    culv_memory *memory = culvi_memory_own(w->device, MAX_BYTES, "own");
    REQUIRE(memory != NULL);
    culv_result result = culv_image_map(memory, d, out);
    culv_memory_destroy(&memory);
    return result;
}

/* With host memory behind it. */
static culvi_staging *stage(const lib_world *w, culv_image *image, const culv_image_desc *d)
{
    uint64_t size = 0;
    culvi_staging *staging = culvi_staging_new(w->device, CULV_SHARING_HOST, "own",
                                               culvi_format_find((uint32_t)d->format), d, &size);
    REQUIRE(staging != NULL && size <= MAX_BYTES);
    staging->block = staging->host = culvi_alloc(MAX_BYTES);
    REQUIRE(staging->block != NULL);
    LIB_OK(culvi_staging_register(w->device, staging, "own"));
    LIB_OK(culvi_image_set_staging(image, staging));
    return staging;
}

static void fill(unsigned char *bytes, size_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(lib_word(i, seed) >> 24);
}

static void check_array(const lib_world *w, CUarray array, const plane *p)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    LIB_CU_OK(w, w->cu->Array3DGetDescriptor(&d, array));
    REQUIRE_EQ(d.Width, p->width);
    REQUIRE_EQ(d.Height, p->height);
    REQUIRE_EQ(d.NumChannels, p->channels);
    REQUIRE_EQ(d.Format, p->format);
}

/* Each plane's surface and texture are of its own array. */
static void check_views(const lib_world *w, culv_image *image, uint32_t index, CUarray array)
{
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    CUDA_RESOURCE_DESC of_surface, of_texture;
    culv_texture_desc t = culv_texture_desc_init();
    t.plane = index;
    LIB_OK(culv_image_get_surface(image, 0, index, &surface));
    LIB_OK(culv_image_get_texture(image, &t, &texture));
    REQUIRE(surface != 0 && texture != 0);
    LIB_CU_OK(w, w->cu->SurfObjectGetResourceDesc(&of_surface, surface));
    LIB_CU_OK(w, w->cu->TexObjectGetResourceDesc(&of_texture, texture));
    REQUIRE(of_surface.res.array.hArray == array);
    REQUIRE_EQ(of_texture.resType, CU_RESOURCE_TYPE_ARRAY);
    REQUIRE(of_texture.res.array.hArray == array);
}

/* Out of the host's memory and back, each plane by itself. */
static void check_row(const lib_world *w, const row *r)
{
    static unsigned char texels[MAX_BYTES], expected[MAX_BYTES];
    const raw_cuda *cu = w->cu;
    culv_image *image = NULL;
    CUarray array = NULL;
    culv_image_desc d = describe(r->format);
    LIB_OK(make(w, &d, &image));
    culvi_staging *staging = stage(w, image, &d);
    REQUIRE_EQ(staging->num_parts, r->planes);
    REQUIRE_EQ(lib_counts(w).allocations, 2);
    CUstream stream = lib_stream(w);
    fill(staging->host, staging->size, 7);
    LIB_OK(culv_image_copy(image, CULV_COPY_DOWNLOAD, stream));
    lib_finish(w, stream);
    for (uint32_t i = 0; i < r->planes; i++) {
        const plane *p = &r->plane[i];
        size_t row_bytes = (size_t)p->width * p->bytes;
        const unsigned char *host = (unsigned char *)staging->host + staging->parts[i].offset;
        LIB_OK(culv_image_get_array(image, 0, i, &array));
        check_array(w, array, p);
        check_views(w, image, i, array);
        CUcontext before = lib_enter(w);
        CU_OK(raw_cuda_read_box(cu, array, texels, row_bytes, p->height, 1));
        REQUIRE(memcmp(texels, host, row_bytes * p->height) == 0);
        fill(texels, row_bytes * p->height, 50 + i);
        CU_OK(raw_cuda_write_box(cu, array, texels, row_bytes, p->height, 1));
        lib_leave(w, before);
    }
    LIB_OK(culv_image_copy(image, CULV_COPY_UPLOAD, stream));
    lib_finish(w, stream);
    for (uint32_t i = 0; i < r->planes; i++) {
        size_t size = (size_t)r->plane[i].width * r->plane[i].bytes * r->plane[i].height;
        fill(expected, size, 50 + i);
        REQUIRE(memcmp(expected, (unsigned char *)staging->host + staging->parts[i].offset, size) ==
                0);
    }
    lib_stream_destroy(w, stream);
    culv_image_unmap(&image, NULL);
    REQUIRE_EQ(lib_counts(w).allocations, 0);
}

/* Each plane is an array of a plain format: drivers refuse mipmapped arrays of video formats
 * (measured). */
LIB_CASE(planes)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(w, &rows[i]);
    /* So the driver needs not have them itself. */
    if (w->cu->SoftPlayVersion != NULL) {
        w->cu->SoftPlayVersion(11000);
        check_row(w, &rows[0]);
        w->cu->SoftPlayVersion(0);
    }
}

enum { VIDEO = 0x100 }; /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */

static bool is_for_video(const lib_world *w, culv_image *image)
{
    CUarray array = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d;
    LIB_OK(culv_image_get_array(image, 0, 0, &array));
    LIB_CU_OK(w, w->cu->Array3DGetDescriptor(&d, array));
    REQUIRE_EQ(d.Width, WIDTH);
    return (d.Flags & VIDEO) != 0;
}

/* Packed texels are one array, for encoding and decoding where that was asked for; and where a
 * driver has them for that alone, as the twin and an H200 do, also where it was not. */
LIB_CASE(packed)
{
    culv_image *image = NULL;
    if (w->cu->SoftFailAt == NULL) {
        lib_close(w);
        SKIP("only the twin fails on demand");
    }
    culv_image_desc d = describe(CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16);
    d.no_surfaces = 1;
    LIB_OK(make(w, &d, &image)); /* the driver was asked for the format then */
    culv_image_unmap(&image, NULL);
    for (uint32_t asked = 0; asked < 2; asked++) {
        unsigned hits = 0, others = 0;
        d.video_encode_decode = asked;
        for (uint64_t n = 1; n == hits + 1; n++) {
            w->cu->SoftFailAt(n, CUDA_ERROR_INVALID_VALUE);
            culv_result result = make(w, &d, &image);
            const char *call = w->cu->SoftFailedCall();
            hits += call != NULL;
            w->cu->SoftFailAt(0, 0);
            if (result != CULV_OK) continue;
            bool other = call != NULL && strncmp(call, "cuArray3DCreate", 15) == 0;
            REQUIRE(is_for_video(w, image));
            culv_image_unmap(&image, NULL);
            others += other;
        }
        REQUIRE_EQ(others, asked ? 0 : 1); /* the plain one is refused in any case */
    }
}
