/* SPDX-License-Identifier: MIT */
/* Every format of cuda.h as an array of the twin's own; planes; and a driver that is older. */
#define TEST_GROUP "planes."
#include "twin.h"

#include "raw_cuda_image.h"

/* By number: older cuda.h files lack the newer names. */
typedef struct format_row {
    int format;
    unsigned channels; /* 0: 1, 2 and 4 */
    unsigned bytes, planes;
    unsigned half_width, half_height;
    int since;
} format_row;

static const format_row rows[] = {
    {0x01, 0, 1, 0, 0, 0, 0},     {0x02, 0, 2, 0, 0, 0, 0},     {0x03, 0, 4, 0, 0, 0, 0},
    {0x08, 0, 1, 0, 0, 0, 0},     {0x09, 0, 2, 0, 0, 0, 0},     {0x0a, 0, 4, 0, 0, 0, 0},
    {0x10, 0, 2, 0, 0, 0, 0},     {0x20, 0, 4, 0, 0, 0, 0},     {0x50, 4, 4, 0, 0, 0, 12080},
    {0xc0, 1, 1, 0, 0, 0, 11050}, {0xc1, 2, 2, 0, 0, 0, 11050}, {0xc2, 4, 4, 0, 0, 0, 11050},
    {0xc3, 1, 2, 0, 0, 0, 11050}, {0xc4, 2, 4, 0, 0, 0, 11050}, {0xc5, 4, 8, 0, 0, 0, 11050},
    {0xc6, 1, 1, 0, 0, 0, 11050}, {0xc7, 2, 2, 0, 0, 0, 11050}, {0xc8, 4, 4, 0, 0, 0, 11050},
    {0xc9, 1, 2, 0, 0, 0, 11050}, {0xca, 2, 4, 0, 0, 0, 11050}, {0xcb, 4, 8, 0, 0, 0, 11050},
    {0xb0, 3, 1, 2, 1, 1, 11020}, {0x9f, 3, 2, 2, 1, 1, 12080}, {0xa1, 3, 2, 2, 1, 1, 12080},
    {0xa2, 3, 1, 2, 1, 0, 12080}, {0xa3, 3, 2, 2, 1, 0, 12080}, {0xa4, 3, 2, 2, 1, 0, 12080},
    {0xb2, 3, 1, 3, 0, 0, 12080}, {0xb3, 3, 2, 3, 0, 0, 12080}, {0xb4, 3, 1, 2, 0, 0, 12080},
    {0xb5, 3, 2, 2, 0, 0, 12080}, {0xa5, 2, 2, 0, 1, 0, 12080}, {0xa6, 2, 4, 0, 1, 0, 12080},
    {0xa7, 2, 4, 0, 1, 0, 12080}, {0xa8, 4, 4, 0, 0, 0, 12080}, {0xa9, 4, 4, 0, 0, 0, 12080},
    {0xb1, 4, 8, 0, 0, 0, 12080},
};
#define ROWS (sizeof rows / sizeof rows[0])
enum { W = 38, H = 22, VIDEO = 0x100 /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */ };

static bool is_video(const format_row *row)
{
    return row->planes > 0 || (row->format >= 0xa5 && row->format <= 0xa9) || row->format == 0xb1;
}

static CUDA_ARRAY3D_DESCRIPTOR row_desc(const format_row *row, unsigned channels)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc((CUarray_format)row->format, channels, W, H);
    if (is_video(row)) desc.Flags |= VIDEO;
    return desc;
}

/* There are no arrays of YUY2 and Y410 (measured on an H200). */
static bool has_arrays(const format_row *row)
{
    return row->format != 0xa5 && row->format != 0xa9;
}

/* All of it written, and read back. */
static void check_copies(const twin *t, CUarray array, size_t row, size_t height, size_t slices,
                         unsigned seed)
{
    unsigned char *in = test_memory(row * height * slices),
                  *out = test_memory(row * height * slices);
    for (size_t i = 0; i < row * height * slices; i++)
        in[i] = (unsigned char)((i * 2654435761u + seed) >> 11);
    CU_OK(raw_cuda_write_box(t->cu, array, in, row, height, slices));
    CU_OK(raw_cuda_read_box(t->cu, array, out, row, height, slices));
    REQUIRE_EQ_BYTES(out, in, row * height * slices);
}

static void check_planes(const twin *t, const format_row *row, CUarray array, size_t slices)
{
    CUarray planes[3], beyond = NULL;
    for (unsigned i = 0; i < row->planes; i++) {
        CUDA_ARRAY3D_DESCRIPTOR desc;
        CUsurfObject surface;
        const unsigned channels = i > 0 && row->planes == 2 ? 2 : 1;
        CU_OK(t->cu->ArrayGetPlane(&planes[i], array, i));
        CU_OK(t->cu->Array3DGetDescriptor(&desc, planes[i]));
        REQUIRE_EQ(desc.Width, i > 0 && row->half_width ? W / 2 : W);
        REQUIRE_EQ(desc.Height, i > 0 && row->half_height ? H / 2 : H);
        REQUIRE_EQ(desc.NumChannels, channels);
        REQUIRE_EQ(desc.Format,
                   row->bytes == 1 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT16);
        check_copies(t, planes[i], desc.Width * channels * row->bytes, desc.Height, slices, i);
        CU_OK(raw_cuda_surface(t->cu, planes[i], &surface));
        CU_OK(t->cu->SurfObjectDestroy(surface));
        CU_IS(t->cu->ArrayDestroy(planes[i]), CUDA_ERROR_INVALID_HANDLE); /* it is the image's */
        CU_IS(t->cu->ArrayGetPlane(&beyond, planes[i], 0), CUDA_ERROR_INVALID_VALUE);
    }
    /* The planes are apart: the first one still holds what was written there. */
    CUDA_ARRAY3D_DESCRIPTOR desc;
    CU_OK(t->cu->Array3DGetDescriptor(&desc, planes[0]));
    unsigned char *out = test_memory(W * row->bytes * H * slices);
    CU_OK(raw_cuda_read_box(t->cu, planes[0], out, W * row->bytes, H, slices));
    for (size_t i = 0; i < W * row->bytes * H * slices; i++)
        REQUIRE_EQ(out[i], (unsigned char)((i * 2654435761u) >> 11));
    CU_IS(t->cu->ArrayGetPlane(&beyond, array, row->planes), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->ArrayGetPlane(NULL, array, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(beyond == NULL);
}

TWIN_CASE(planar_rules, 0, .title = "planes.rules")
{
    for (size_t i = 0; i < ROWS; i++) {
        const format_row *row = &rows[i];
        if ((row->planes == 0 && !row->half_width) || !has_arrays(row)) continue;
        CUDA_ARRAY3D_DESCRIPTOR desc = row_desc(row, row->channels);
        CUarray array;
        CUmipmappedArray mipmap;
        CU_OK(t->cu->Array3DCreate(&array, &desc));
        CU_OK(t->cu->ArrayDestroy(array));
        desc.Width = W - 1;
        CU_IS(t->cu->Array3DCreate(&array, &desc),
              row->half_width ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
        if (!row->half_width) CU_OK(t->cu->ArrayDestroy(array));
        desc.Width = W;
        desc.Height = H - 1;
        CU_IS(t->cu->Array3DCreate(&array, &desc),
              row->half_height ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
        if (!row->half_height) CU_OK(t->cu->ArrayDestroy(array));
        if (row->planes == 0) continue;
        desc.Height = 0;
        CU_IS(t->cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
        desc.Height = H;
        desc.Depth = 2;
        CU_IS(t->cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE); /* no 3D */
        desc.Flags |= CUDA_ARRAY3D_LAYERED;
        CU_OK(t->cu->Array3DCreate(&array, &desc));
        check_planes(t, row, array, 2);
        CU_OK(t->cu->ArrayDestroy(array));
        /* One level */
        CU_IS(t->cu->MipmappedArrayCreate(&mipmap, &desc, 2), CUDA_ERROR_INVALID_VALUE);
        CU_OK(t->cu->MipmappedArrayCreate(&mipmap, &desc, 1));
        CU_OK(t->cu->MipmappedArrayGetLevel(&array, mipmap, 0));
        check_planes(t, row, array, 2);
        CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
        CUarray plane;
        CU_IS(t->cu->ArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_HANDLE);
        /* Mapped: plane after plane, each as an image of its own format. */
        unsigned char *payload;
        CUexternalMemory memory =
            raw_cuda_imported(t->cu, twin_memory_fd(65536, &payload), 65536, false);
        CU_OK(raw_cuda_map_image(t->cu, memory, 0, &desc, 1, &mipmap));
        CU_OK(t->cu->MipmappedArrayGetLevel(&array, mipmap, 0));
        check_planes(t, row, array, 2);
        CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
        /* Without the flag NV12 alone (measured on an H200). */
        desc.Flags ^= VIDEO;
        CUresult result = raw_cuda_map_image(t->cu, memory, 0, &desc, 1, &mipmap);
        CU_IS(result, row->format == 0xb0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        if (result == CUDA_SUCCESS) CU_OK(t->cu->MipmappedArrayDestroy(mipmap));
    }
    CUDA_ARRAY3D_DESCRIPTOR plain = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array;
    plain.Flags = VIDEO;
    CU_IS(t->cu->Array3DCreate(&array, &plain), CUDA_ERROR_INVALID_VALUE); /* not a video format */
}

/* The planes' surfaces end with the image. */
TEST(planes_go_with_the_image, .title = "planes.go_with_the_image", .own = true)
{
    twin t = twin_begin(0);
    const CUDA_ARRAY3D_DESCRIPTOR desc = row_desc(&rows[21], 3);
    CUarray array, plane;
    CUsurfObject surface;
    CUtexObject texture;
    CU_OK(t.cu->Array3DCreate(&array, &desc));
    CU_OK(t.cu->ArrayGetPlane(&plane, array, 1));
    CU_OK(raw_cuda_surface(t.cu, plane, &surface));
    CU_OK(raw_cuda_texture(t.cu, plane, NULL, &texture));
    culv_soft_counts counts = twin_counts(t.cu);
    REQUIRE(counts.arrays == 1 && counts.surfaces == 1 && counts.textures == 1);
    CU_OK(t.cu->ArrayDestroy(array));
    CUDA_ARRAY3D_DESCRIPTOR found;
    CU_IS(t.cu->Array3DGetDescriptor(&found, plane), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t.cu->SurfObjectDestroy(surface));
    CU_OK(t.cu->TexObjectDestroy(texture));
    /* A context takes all of it along. */
    CU_OK(t.cu->Array3DCreate(&array, &desc));
    CU_OK(t.cu->ArrayGetPlane(&plane, array, 0));
    CU_OK(raw_cuda_texture(t.cu, plane, NULL, &texture));
    raw_cuda_leave(t.cu, 0);
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
    const CUDA_ARRAY3D_DESCRIPTOR desc = row_desc(&rows[22], 3);
    CUarray array;
    t->cu->SoftPlayVersion(0);
    CU_OK(t->cu->Array3DCreate(&array, &desc));
    t->cu->SoftPlayVersion(11000);
    check_planes(t, &rows[22], array, 1);
    CU_OK(t->cu->ArrayDestroy(array));
    t->cu->SoftPlayVersion(0);
}
