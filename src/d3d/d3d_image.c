/* SPDX-License-Identifier: MIT */
/* How CUDA maps a texture of Direct3D, and what it registers. Source: CUDA driver API reference,
 * "Direct3D Interoperability". */
#include "d3d/d3d_image.h"

#include "core/image.h"

/* Families of formats that a view may cast a TYPELESS texture to, by dxgiformat.h's numbers:
 * `first` to `last`, and one more that stands elsewhere (0: none). Source: "Format casting rules"
 * of the Direct3D 12 programming guide; the Direct3D 11.3 functional specification, 19.1.2. */
static const struct family {
    const char *name;
    uint8_t typeless, first, last, more;
} families[] = {
    {"R32G32B32A32_TYPELESS", 1, 2, 4, 0},   {"R32G32B32_TYPELESS", 5, 6, 8, 0},
    {"R16G16B16A16_TYPELESS", 9, 10, 14, 0}, {"R32G32_TYPELESS", 15, 16, 18, 0},
    {"R32G8X24_TYPELESS", 19, 20, 22, 0},    {"R10G10B10A2_TYPELESS", 23, 24, 25, 89},
    {"R8G8B8A8_TYPELESS", 27, 28, 32, 0},    {"R16G16_TYPELESS", 33, 34, 38, 0},
    {"R32_TYPELESS", 39, 40, 43, 0},         {"R24G8_TYPELESS", 44, 45, 47, 0},
    {"R8G8_TYPELESS", 48, 49, 52, 0},        {"R16_TYPELESS", 53, 54, 59, 0},
    {"R8_TYPELESS", 60, 61, 64, 65},         {"BC1_TYPELESS", 70, 71, 72, 0},
    {"BC2_TYPELESS", 73, 74, 75, 0},         {"BC3_TYPELESS", 76, 77, 78, 0},
    {"BC4_TYPELESS", 79, 80, 81, 0},         {"BC5_TYPELESS", 82, 83, 84, 0},
    {"B8G8R8A8_TYPELESS", 90, 91, 91, 87},   {"B8G8R8X8_TYPELESS", 92, 93, 93, 88},
    {"BC6H_TYPELESS", 94, 95, 96, 0},        {"BC7_TYPELESS", 97, 98, 99, 0},
};

static const struct family *family_of(uint32_t typeless)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (families[i].typeless == typeless) return &families[i];
    return NULL;
}

static bool has(const struct family *family, uint32_t format)
{
    return (format >= family->first && format <= family->last) ||
           (format != 0 && format == family->more);
}

/* Only those that some CUDA array may have. */
static void list(culvi_text *text, const struct family *family)
{
    const char *before = "";
    for (uint32_t i = 0; i <= UINT8_MAX; i++) {
        const culv_format format =
            has(family, i) ? culvi_format_from(CULV_NATIVE_D3D, i) : CULV_FORMAT_NONE;
        const culvi_format *row =
            format != CULV_FORMAT_NONE ? culvi_format_find((uint32_t)format) : NULL;
        if (row == NULL || !row->mapped) continue;
        culvi_text_add(text, "%sDXGI_FORMAT %" PRIu32 " (%s)", before, i, row->name);
        before = ", ";
    }
    if (before[0] == '\0') culvi_text_add(text, "none that CUDA has");
}

/* The format that CUDA sees: the texture's, or the one of a TYPELESS family that the caller
 * names. */
static culv_result choose_format(const culvi_voice *voice, const char *label, const char *desc,
                                 uint32_t own, uint32_t named, culv_format *out)
{
    CULVI_TEXT(legal, 512);
    const struct family *family = family_of(own);
    if (family != NULL && !has(family, named)) {
        list(&legal, family);
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_FORMAT,
                          "the texture is %s, and %s.format is DXGI_FORMAT %" PRIu32
                          "; name what CUDA shall see in it: %s",
                          family->name, desc, named, legal.data);
    }
    CULVI_REFUSE_IF(family == NULL && named != 0 && named != own, voice, label, CULV_REASON_FORMAT,
                    "%s.format is DXGI_FORMAT %" PRIu32 ", but the texture has DXGI_FORMAT %" PRIu32
                    "; only a TYPELESS one is seen as another",
                    desc, named, own);
    const uint32_t format = family != NULL ? named : own;
    *out = culvi_format_from(CULV_NATIVE_D3D, format);
    if (*out != CULV_FORMAT_NONE) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                      "no CUDA array has DXGI_FORMAT %" PRIu32
                      "; use another format, or share the texels in a buffer",
                      format);
}

static const char *find_fault(const culvi_d3d_texture *t)
{
    if (t->sides < 1 || t->sides > 3) return "it is a buffer; map it by culv_buffer_map()";
    if (t->samples > 1)
        return "it is multisampled, which CUDA does not map; resolve it into a shared texture by ResolveSubresource()";
    if (t->row_major)
        return "its layout is ROW_MAJOR, which CUDA reads wrong as an array; use D3D12_TEXTURE_LAYOUT_UNKNOWN, or a buffer";
    return NULL;
}

culv_result culvi_d3d_describe_image(const culvi_voice *voice, const culvi_d3d_texture *texture,
                                     const culvi_d3d_view *view, culv_image_desc *out)
{
    culv_format format = CULV_FORMAT_NONE;
    const char *fault = find_fault(texture);
    CULVI_UNSUPPORTED_IF(fault != NULL, voice, view->label, CULV_REASON_USAGE,
                         "CUDA cannot map the resource as a texture: %s", fault);
    CULVI_TRY(
        choose_format(voice, view->label, view->desc, texture->format, view->format, &format));
    const uint32_t layers = texture->sides == 3 ? 1 : texture->depth_or_layers;
    CULVI_REFUSE_IF(
        view->cube && (texture->sides != 2 || layers == 0 || layers % 6 != 0 ||
                       texture->width != texture->height),
        voice, view->label, CULV_REASON_EXTENT,
        "%s.cube is set, but a cube is a 2D array of 6 square layers, or of 6 for each cube; this one has %" PRIu32
        " dimensions, %" PRIu64 " x %" PRIu32 " texels and %" PRIu32 " layers",
        view->desc, texture->sides, texture->width, texture->height, layers);
    CULVI_REFUSE_IF(texture->width > UINT32_MAX, voice, view->label, CULV_REASON_EXTENT,
                    "the texture is %" PRIu64 " texels wide", texture->width);
    const culvi_format *row = culvi_format_find((uint32_t)format);
    culv_image_desc d = culv_image_desc_init();
    d.offset = view->offset;
    d.format = format;
    d.texels = view->texels;
    d.type = texture->sides == 1   ? CULV_IMAGE_1D
             : texture->sides == 3 ? CULV_IMAGE_3D
             : view->cube          ? CULV_IMAGE_CUBE
                                   : CULV_IMAGE_2D;
    d.width = (uint32_t)texture->width;
    d.height = texture->sides == 1 ? 1 : texture->height;
    d.depth = texture->sides == 3 ? texture->depth_or_layers : 1;
    d.array_layers = layers;
    d.mip_levels = texture->levels;
    if (d.mip_levels == 0) d.mip_levels = culvi_image_most_levels(d.width, d.height, d.depth);
    d.color_attachment = texture->render_target;
    d.no_surfaces = view->no_surfaces || (row != NULL && !row->surfaces);
    d.label = view->label;
    *out = d;
    return CULV_OK;
}

/* Registration --------------------------------------------------------------------------------- */

/* Formats of the reference's lists. */
static bool registers(uint32_t dxgi)
{
    static const struct {
        uint8_t first, last;
    } ranges[] = {
        {2, 4},   {10, 14}, {16, 18}, {28, 32}, /* R32G32B32A32, R16G16B16A16, R32G32, R8G8B8A8 */
        {34, 38}, {41, 43}, {49, 52},           /* R16G16, R32, R8G8 */
        {54, 54}, {56, 59}, {61, 65},           /* R16 without D16, R8 and A8 */
        {87, 88}                                /* B8G8R8A8, B8G8R8X8 */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (dxgi >= ranges[i].first && dxgi <= ranges[i].last) return true;
    return false;
}

uint32_t culvi_d3d_format_from_d3d9(uint32_t format)
{
    /* The numbers are those of d3d9types.h. */
    static const struct {
        uint8_t d3d9, dxgi;
    } rows[] = {
        {21, 87},  /* A8R8G8B8 */
        {22, 88},  /* X8R8G8B8 */
        {28, 65},  /* A8 */
        {32, 28},  /* A8B8G8R8 */
        {34, 35},  /* G16R16 */
        {36, 11},  /* A16B16G16R16 */
        {50, 61},  /* L8 */
        {51, 49},  /* A8L8 */
        {63, 31},  /* Q8W8V8U8 */
        {64, 37},  /* V16U16 */
        {81, 56},  /* L16 */
        {111, 54}, /* R16F */
        {112, 34}, /* G16R16F */
        {113, 10}, /* A16B16G16R16F */
        {114, 41}, /* R32F */
        {115, 16}, /* G32R32F */
        {116, 2},  /* A32B32G32R32F */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].d3d9 == format) return rows[i].dxgi;
    return 0;
}

static const char *find_refusal(const culvi_d3d_candidate *c)
{
    const bool is_9 = c->version == 9;
    if (c->back_buffer)
        return "back buffer of a swap chain (the primary render target); draw into a texture of your own, register that, and copy it to the back buffer";
    if (c->part)
        return "level or face of a texture; register the texture, and ask for the level and the face by culv_registration_get_array()";
    if (c->in_memory)
        return is_9 ? "resource outside D3DPOOL_DEFAULT; create it there"
                    : "staging resource, which is the CPU's; register one of USAGE_DEFAULT";
    if (c->shared)
        return "resource that was created as shared; create it without D3D11_RESOURCE_MISC_SHARED and its kind, or share its memory: culv_d3d_memory_import()";
    if (c->depth)
        return "depth or stencil surface; copy it by a shader into an R32_FLOAT texture, and register that";
    if (!c->is_buffer && c->texture.samples > 1)
        return is_9
                   ? "multisampled surface; resolve it by StretchRect() into one of one sample, and register that"
                   : "multisampled texture; resolve it by ResolveSubresource() into one of one sample, and register that";
    return NULL;
}

static culv_result refuse_format(const culvi_voice *voice, const culvi_d3d_candidate *c,
                                 const char *label)
{
    CULVI_UNSUPPORTED_IF(
        c->version == 9, voice, label, CULV_REASON_FORMAT,
        "CUDA registers no texture of D3DFORMAT %" PRIu32
        "; it takes one, two or four channels of 8, 16 or 32 bits, as D3DFMT_A8R8G8B8 and D3DFMT_R32F (culvert/d3d_register.h lists them)",
        c->number);
    return culvi_fail(
        voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "CUDA registers no texture of DXGI_FORMAT %" PRIu32
        "; it takes typed ones of one, two or four channels of 8, 16 or 32 bits, as R8G8B8A8_UNORM and R32_FLOAT (culvert/d3d_register.h lists them)%s",
        c->texture.format,
        c->version == 11 ? "; others can be shared as memory: culv_d3d_memory_import()" : "");
}

culv_result culvi_d3d_check_candidate(const culvi_voice *voice, const culvi_d3d_candidate *c,
                                      const culv_d3d_register_desc *desc, culv_image_desc *out)
{
    const char *fault = find_refusal(c);
    CULVI_UNSUPPORTED_IF(fault != NULL, voice, desc->label, CULV_REASON_USAGE,
                         "CUDA registers no %s", fault);
    CULVI_REFUSE_IF(
        c->immutable && desc->access != CULV_ACCESS_READ_ONLY, voice, desc->label,
        CULV_REASON_VALUE,
        "the resource is IMMUTABLE, so CUDA can only read it; set culv_d3d_register_desc.access to CULV_ACCESS_READ_ONLY");
    if (c->is_buffer) return CULV_OK;
    if (!registers(c->texture.format)) return refuse_format(voice, c, desc->label);
    culvi_d3d_texture texture = c->texture;
    /* Two that no format of Vulkan is: A8 and B8G8R8X8, by what their texels are. */
    if (texture.format == 65) texture.format = 61;
    if (texture.format == 88) texture.format = 87;
    const culvi_d3d_view view = {.desc = "culv_d3d_register_desc",
                                 .label = desc->label,
                                 .cube = c->cube,
                                 .no_surfaces = desc->no_surfaces != 0};
    CULVI_TRY(culvi_d3d_describe_image(voice, &texture, &view, out));
    out->texture_gather = desc->texture_gather != 0;
    return CULV_OK;
}
