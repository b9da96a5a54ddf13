/* SPDX-License-Identifier: MIT */
/* Whether a device's driver has a CUDA array format: known of the oldest, asked of the driver once
 * for each other. The small array that answers is kept until the device goes: destroying one may
 * wait for all work of the context, and a question must not. */
#include "cuda/context.h"
#include "cuda/format.h"
#include "cuda/retire.h"

/* What is kept in culv_device::array_formats: NULL as long as nobody asked, this, or the array. */
#define LACKS_IT ((CUarray)(uintptr_t)1)

static culv_result refuse(culv_device *device, const char *label, const culvi_format *row,
                          CUarray_format format)
{
    uint32_t since = culvi_array_format_version(format);
    return culvi_fail(
        &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "%s is CUDA's array format %#x, which came with CUDA %u.%u, and the driver of '%s' (CUDA %u.%u) cannot make such arrays: use another format, or a newer driver",
        row->name, (unsigned)format, (unsigned)since / 1000, (unsigned)since % 1000 / 10,
        device->caps.name, (unsigned)device->caps.driver_version / 1000,
        (unsigned)device->caps.driver_version % 1000 / 10);
}

static bool says_no(CUresult r)
{
    return r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED;
}

/* Makes a small array, whose sides are multiples of what blocks and chroma need. Packed 4:2:2 is
 * offered plain, then for encoding and decoding: cuda.h does not say whether a driver has it
 * otherwise. */
static CUresult create(culv_device *device, const culvi_format *row, CUarray_format format,
                       uint32_t channels, CUarray *array)
{
    bool video = row->kind == CULV_TEXEL_KIND_SUBSAMPLED;
    CUDA_ARRAY3D_DESCRIPTOR small = {
        .Width = 16, .Height = 16, .Format = format, .NumChannels = channels};
    CUresult r = CULVI_CU(device, cuArray3DCreate, (array, &small));
    if (!video || !says_no(r)) return r;
    small.Flags = CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    return CULVI_CU(device, cuArray3DCreate, (array, &small));
}

static culv_result ask(culv_device *device, const char *label, const culvi_format *row,
                       CUarray_format format, uint32_t channels, CUarray *answer)
{
    CULVI_ANSWER_INSIDE(r, device, label, create(device, row, format, channels, answer));
    if (r != CUDA_SUCCESS) *answer = LACKS_IT;
    if (r == CUDA_SUCCESS || says_no(r)) return CULV_OK;
    return culvi_fail_cuda(device, label, r, "cuArray3DCreate", CULV_REASON_DRIVER_REFUSED,
                           "the driver could not be asked for the array format of %s", row->name);
}

culv_result culvi_format_supported(culv_device *device, const culvi_format *row, culv_texels texels,
                                   const char *label)
{
    bool normalized = texels == CULV_TEXELS_NORMALIZED;
    CUarray_format format = normalized ? row->normalized_format : row->cuda_format;
    CULVI_UNSUPPORTED_IF(!row->mapped, &device->voice, label, row->reason, "%s is not mapped: %s",
                         row->name, culvi_format_tell_why(row).text);
    if (row->planes > 1 && !normalized) return CULV_OK; /* their formats are the oldest */
    CULVI_UNSUPPORTED_IF(
        format == 0, &device->voice, label, CULV_REASON_FORMAT,
        "CUDA has no normalized array format like %s; map it as CULV_TEXELS_STORED", row->name);
    if (culvi_array_format_version(format) == 0) return CULV_OK;
    _Atomic(CUarray) *kept = &device->array_formats[(unsigned)format % CULVI_ARRAY_FORMATS];
    CUarray answer = atomic_load_explicit(kept, memory_order_acquire);
    if (answer == NULL) {
        culvi_mutex_lock(&device->lock);
        culv_result result = CULV_OK;
        answer = atomic_load_explicit(kept, memory_order_relaxed);
        if (answer == NULL) {
            result = ask(device, label, row, format,
                         normalized ? row->normalized_channels : row->channels, &answer);
            if (result == CULV_OK) atomic_store_explicit(kept, answer, memory_order_release);
        }
        culvi_mutex_unlock(&device->lock);
        if (result != CULV_OK) return result;
    }
    return answer != LACKS_IT ? CULV_OK : refuse(device, label, row, format);
}

void culvi_formats_release(culv_device *device)
{
    culvi_scope scope;
    bool tried = false, entered = false;
    for (size_t i = 0; i < CULVI_ARRAY_FORMATS; i++) {
        CUarray array = atomic_load_explicit(&device->array_formats[i], memory_order_relaxed);
        if (array == NULL || array == LACKS_IT) continue;
        if (!tried) entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        tried = true;
        CULVI_RELEASE_SURELY(device, cuArrayDestroy, (array));
    }
    if (entered) culvi_leave(device, &scope);
}

culv_result culv_check_format(culv_device *device, culv_format format, culv_texels texels)
{
    CULVI_REQUIRE(NULL, device);
    CULVI_REFUSE_IF(texels != CULV_TEXELS_STORED && texels != CULV_TEXELS_NORMALIZED,
                    &device->voice, NULL, CULV_REASON_VALUE,
                    "culv_check_format: texels is %u, which is not a culv_texels",
                    (unsigned)texels);
    const culvi_format *row = culvi_format_find((uint32_t)format);
    CULVI_UNSUPPORTED_IF(
        row == NULL, &device->voice, NULL, CULV_REASON_FORMAT,
        "culv_check_format: format is %u, which is not a format of Vulkan 1.3; culvert/format_list.h lists them",
        (unsigned)format);
    return culvi_format_supported(device, row, texels, NULL);
}

/* Limits --------------------------------------------------------------------------------------- */

/* The limits that CUDA tells of its arrays: the table "Valid extents" of cuda.h,
 * cuMipmappedArrayCreate. */

typedef enum array_kind {
    ARRAY_1D,
    ARRAY_2D,
    ARRAY_3D,
    ARRAY_1D_LAYERED,
    ARRAY_2D_LAYERED,
    ARRAY_CUBE,
    ARRAY_CUBE_LAYERED
} array_kind;

typedef struct array_extent {
    uint32_t width, height, depth, layers;
} array_extent;

#define TEXTURE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name
#define SURFACE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE##name

/* The limits have the order of array_extent: width, height, depth, layers. 0: no limit of
 * that kind. */
typedef struct kind_row {
    const char *name;
    int texture[4];
    int surface[4];
} kind_row;

static const kind_row kinds[] = {
    [ARRAY_1D] = {"1D", {TEXTURE(1D_MIPMAPPED_WIDTH)}, {SURFACE(1D_WIDTH)}},
    [ARRAY_2D] = {"2D",
                  {TEXTURE(2D_MIPMAPPED_WIDTH), TEXTURE(2D_MIPMAPPED_HEIGHT)},
                  {SURFACE(2D_WIDTH), SURFACE(2D_HEIGHT)}},
    [ARRAY_3D] = {"3D",
                  {TEXTURE(3D_WIDTH), TEXTURE(3D_HEIGHT), TEXTURE(3D_DEPTH)},
                  {SURFACE(3D_WIDTH), SURFACE(3D_HEIGHT), SURFACE(3D_DEPTH)}},
    [ARRAY_1D_LAYERED] = {"1D array",
                          {TEXTURE(1D_LAYERED_WIDTH), 0, 0, TEXTURE(1D_LAYERED_LAYERS)},
                          {SURFACE(1D_LAYERED_WIDTH), 0, 0, SURFACE(1D_LAYERED_LAYERS)}},
    [ARRAY_2D_LAYERED] = {"2D array",
                          {TEXTURE(2D_LAYERED_WIDTH), TEXTURE(2D_LAYERED_HEIGHT), 0,
                           TEXTURE(2D_LAYERED_LAYERS)},
                          {SURFACE(2D_LAYERED_WIDTH), SURFACE(2D_LAYERED_HEIGHT), 0,
                           SURFACE(2D_LAYERED_LAYERS)}},
    [ARRAY_CUBE] = {"cube",
                    {TEXTURE(CUBEMAP_WIDTH), TEXTURE(CUBEMAP_WIDTH)},
                    {SURFACE(CUBEMAP_WIDTH), SURFACE(CUBEMAP_WIDTH)}},
    [ARRAY_CUBE_LAYERED] = {"cube array",
                            {TEXTURE(CUBEMAP_LAYERED_WIDTH), TEXTURE(CUBEMAP_LAYERED_WIDTH), 0,
                             TEXTURE(CUBEMAP_LAYERED_LAYERS)},
                            {SURFACE(CUBEMAP_LAYERED_WIDTH), SURFACE(CUBEMAP_LAYERED_WIDTH), 0,
                             SURFACE(CUBEMAP_LAYERED_LAYERS)}},
};
static const int alternate_3d[4] = {TEXTURE(3D_WIDTH_ALTERNATE), TEXTURE(3D_HEIGHT_ALTERNATE),
                                    TEXTURE(3D_DEPTH_ALTERNATE)};

static array_kind kind_of(const culv_image_desc *d)
{
    switch (d->type) {
    case CULV_IMAGE_1D: return d->array_layers > 1 ? ARRAY_1D_LAYERED : ARRAY_1D;
    case CULV_IMAGE_3D: return ARRAY_3D;
    case CULV_IMAGE_CUBE: return d->array_layers > 6 ? ARRAY_CUBE_LAYERED : ARRAY_CUBE;
    default: return d->array_layers > 1 ? ARRAY_2D_LAYERED : ARRAY_2D;
    }
}

enum { SIDES = 4 };

/* What is not told has no limit. `otherwise` stands for that. */
static culv_result ask_extent(culv_device *device, const char *label, const int attributes[SIDES],
                              uint32_t otherwise, array_extent *out)
{
    uint32_t values[SIDES];
    for (int i = 0; i < SIDES; i++) {
        int value = 0;
        CUresult r = attributes[i] == 0
                         ? CUDA_SUCCESS
                         : CULVI_CU(device, cuDeviceGetAttribute,
                                    (&value, (CUdevice_attribute)attributes[i], device->ordinal));
        /* A driver that does not know the attribute, or says 0, tells no limit. */
        if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE)
            return culvi_fail_cuda(device, label, r, "cuDeviceGetAttribute",
                                   CULV_REASON_DRIVER_REFUSED,
                                   "the limits of the device's arrays are unknown");
        values[i] = r == CUDA_SUCCESS && value > 0 ? (uint32_t)value : otherwise;
    }
    *out = (array_extent){values[0], values[1], values[2], values[3]};
    return CULV_OK;
}

/* One of the two holds (3D); `other` is all 0 where there is one alone. */
typedef struct limits {
    array_extent most, other;
} limits;

static culv_result limits_of(culv_device *device, const char *label, array_kind kind, bool surfaces,
                             limits *out)
{
    const int *attributes = surfaces ? kinds[kind].surface : kinds[kind].texture;
    *out = (limits){.other = {0, 0, 0, 0}};
    culv_result result = ask_extent(device, label, attributes, UINT32_MAX, &out->most);
    if (result == CULV_OK && kind == ARRAY_3D && !surfaces)
        result = ask_extent(device, label, alternate_3d, 0, &out->other);
    out->other.layers = out->most.layers;
    return result;
}

static bool fits(const array_extent *most, const culv_image_desc *d)
{
    return d->width <= most->width && d->height <= most->height && d->depth <= most->depth &&
           d->array_layers <= most->layers;
}

/* "up to 32768 x 32768 texels and 2048 layers": of a kind only the sides that it has. */
static void describe_most(array_kind kind, const array_extent *most, culvi_text *text)
{
    culvi_text_add(text, "up to %" PRIu32, most->width);
    if (kind != ARRAY_1D && kind != ARRAY_1D_LAYERED)
        culvi_text_add(text, " x %" PRIu32, most->height);
    if (kind == ARRAY_3D) culvi_text_add(text, " x %" PRIu32, most->depth);
    culvi_text_add(text, " texels");
    if (kinds[kind].texture[3] != 0) culvi_text_add(text, " and %" PRIu32 " layers", most->layers);
}

static culv_result too_big(const culv_device *device, const char *label,
                           const culvi_extent_words *words, const culv_image_desc *d,
                           array_kind kind, bool surfaces, const array_extent *most)
{
    CULVI_TEXT(text, 96);
    describe_most(kind, most, &text);
    return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT,
                      "%s is %" PRIu32 " x %" PRIu32 " x %" PRIu32 " and %s %" PRIu32
                      "; CUDA on '%s' maps %s images of %s%s",
                      words->extent, d->width, d->height, d->depth, words->layers, d->array_layers,
                      device->caps.name, kinds[kind].name, text.data,
                      surfaces ? " with surfaces; no_surfaces goes without them" : "");
}

culv_result culvi_array_check_limits(culv_device *device, const char *label,
                                     const culvi_extent_words *words, const culv_image_desc *d,
                                     bool surfaces)
{
    array_kind kind = kind_of(d);
    limits limit;
    /* The limits of textures always hold, those of surfaces besides where there are surfaces. */
    for (int pass = 0; pass <= (int)surfaces; pass++) {
        CULVI_TRY(limits_of(device, label, kind, pass == 1, &limit));
        if (!fits(&limit.most, d) && !fits(&limit.other, d))
            return too_big(device, label, words, d, kind, pass == 1, &limit.most);
    }
    return CULV_OK;
}
