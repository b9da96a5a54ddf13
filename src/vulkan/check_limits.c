/* The gate: extents against the limits that CUDA tells of its arrays: the table "Valid extents" of cuda.h,
 * cuMipmappedArrayCreate. SPDX-License-Identifier: MIT */
#include "cuda/context.h"
#include "vulkan/vk.h"

#include <inttypes.h>

typedef enum array_kind {
    ARRAY_1D,
    ARRAY_2D,
    ARRAY_3D,
    ARRAY_1D_LAYERED,
    ARRAY_2D_LAYERED,
    ARRAY_CUBE,
    ARRAY_CUBE_LAYERED
} array_kind;

#define TEXTURE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name
#define SURFACE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE##name

/* In the order of culvi_vk_extent: width, height, depth, layers. 0: no limit of that kind. */
typedef struct kind_row {
    const char *name;
    int texture[4];
    int surface[4];
} kind_row;

static const kind_row kinds[CULVI_VK_ARRAY_KINDS] = {
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

static culv_result ask_attribute(const culv_device *device, const char *label, int attribute,
                                 uint32_t otherwise, uint32_t *out)
{
    int value = 0;
    *out = otherwise;
    if (attribute == 0) return CULV_OK;
    CUresult r =
        CULVI_CU(device, cuDeviceGetAttribute, (&value, (CUdevice_attribute)attribute, device->ordinal));
    /* A driver that does not know the attribute, or says 0, tells no limit. */
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_cuda(device, label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                               "the limits of the device's arrays are unknown");
    if (r == CUDA_SUCCESS && value > 0) *out = (uint32_t)value;
    return CULV_OK;
}

static culv_result ask_extent(const culv_device *device, const char *label, const int attributes[4],
                              uint32_t otherwise, culvi_vk_extent *out)
{
    uint32_t values[4];
    for (int i = 0; i < 4; i++) {
        culv_result result = ask_attribute(device, label, attributes[i], otherwise, &values[i]);
        if (result != CULV_OK) return result;
    }
    *out = (culvi_vk_extent){values[0], values[1], values[2], values[3]};
    return CULV_OK;
}

static culv_result limits_of(culv_vk *vk, const char *label, array_kind kind, bool surfaces,
                             culvi_vk_limits *out)
{
    culvi_vk_known *known = &vk->known;
    culvi_mutex_lock(&known->lock);
    *out = known->limits[kind][surfaces];
    culvi_mutex_unlock(&known->lock);
    if (out->known) return CULV_OK;
    const int *attributes = surfaces ? kinds[kind].surface : kinds[kind].texture;
    culv_result result = ask_extent(vk->base.device, label, attributes, UINT32_MAX, &out->most);
    if (result == CULV_OK && kind == ARRAY_3D && !surfaces)
        result = ask_extent(vk->base.device, label, alternate_3d, 0, &out->other);
    if (result != CULV_OK) return result;
    out->known = true;
    culvi_mutex_lock(&known->lock);
    known->limits[kind][surfaces] = *out;
    culvi_mutex_unlock(&known->lock);
    return CULV_OK;
}

static bool fits(const culvi_vk_extent *most, const culv_image_desc *d)
{
    return d->width <= most->width && d->height <= most->height && d->depth <= most->depth &&
           d->array_layers <= most->layers;
}

static void lower(uint32_t *value, uint32_t to)
{
    if (to < *value) *value = to;
}

static void lower_all(VkImageFormatProperties *most, const culvi_vk_extent *to)
{
    lower(&most->maxExtent.width, to->width);
    lower(&most->maxExtent.height, to->height);
    lower(&most->maxExtent.depth, to->depth);
    lower(&most->maxArrayLayers, to->layers);
}

/* "up to 32768 x 32768 texels and 2048 layers": of a kind only the sides that it has. */
static void describe_most(array_kind kind, const VkImageFormatProperties *most, culvi_text *text)
{
    const VkExtent3D *e = &most->maxExtent;
    culvi_text_add(text, "up to %" PRIu32, e->width);
    if (kind != ARRAY_1D && kind != ARRAY_1D_LAYERED) culvi_text_add(text, " x %" PRIu32, e->height);
    if (kind == ARRAY_3D) culvi_text_add(text, " x %" PRIu32, e->depth);
    culvi_text_add(text, " texels");
    if (kinds[kind].texture[3] != 0) culvi_text_add(text, " and %" PRIu32 " layers", most->maxArrayLayers);
}

static culv_result too_big(const culv_vk *vk, const char *label, const culv_image_desc *d, array_kind kind,
                           bool surfaces, const VkImageFormatProperties *most)
{
    char buffer[96] = "";
    culvi_text text = {buffer, sizeof buffer, 0};
    describe_most(kind, most, &text);
    return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENT,
                      "VkImageCreateInfo::extent is %" PRIu32 " x %" PRIu32 " x %" PRIu32
                      " and arrayLayers %" PRIu32 "; CUDA on '%s' maps %s images of %s%s",
                      d->width, d->height, d->depth, d->array_layers, vk->base.device->caps.name,
                      kinds[kind].name, buffer,
                      surfaces ? " with surfaces; no_surfaces goes without them" : "");
}

culv_result culvi_vk_check_limits(culv_vk *vk, const char *label, const culv_image_desc *d, bool surfaces,
                                  VkImageFormatProperties *most)
{
    array_kind kind = kind_of(d);
    culvi_vk_limits limits;
    /* The limits of textures always hold, those of surfaces besides where there are surfaces. */
    for (int pass = 0; pass <= (int)surfaces; pass++) {
        culv_result result = limits_of(vk, label, kind, pass == 1, &limits);
        if (result != CULV_OK) return result;
        limits.other.layers = limits.most.layers;
        bool first = fits(&limits.most, d);
        lower_all(most, first || !fits(&limits.other, d) ? &limits.most : &limits.other);
        if (!first && !fits(&limits.other, d)) return too_big(vk, label, d, kind, pass == 1, most);
    }
    return CULV_OK;
}
