/* SPDX-License-Identifier: MIT */
/* What CUDA registers of Direct3D. */
#include "d3d/d3d_candidate.h"

#include "cuda/format.h"

#include <inttypes.h>

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

/* Those that no format of Vulkan is: what their texels are. */
static uint32_t plain_format(uint32_t dxgi)
{
    return dxgi == 65 ? 61 : dxgi == 88 ? 87 : dxgi;
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

static const char *find_fault(const culvi_d3d_candidate *c)
{
    const bool is_9 = c->version == 9;
    if (c->back_buffer)
        return "back buffer of a swap chain (the primary render target); draw into a texture of "
               "your own, register that, and copy it to the back buffer";
    if (c->part)
        return "level or face of a texture; register the texture, and ask for the level and the "
               "face by culv_registration_get_array()";
    if (c->in_memory)
        return is_9 ? "resource outside D3DPOOL_DEFAULT; create it there"
                    : "staging resource, which is the CPU's; register one of USAGE_DEFAULT";
    if (c->shared)
        return "resource that was created as shared; create it without D3D11_RESOURCE_MISC_SHARED "
               "and its kind, or share its memory: culv_d3d_memory_import()";
    if (c->depth)
        return "depth or stencil surface; copy it by a shader into an R32_FLOAT texture, and "
               "register that";
    if (!c->is_buffer && c->texture.samples > 1)
        return is_9 ? "multisampled surface; resolve it by StretchRect() into one of one sample, "
                      "and register that"
                    : "multisampled texture; resolve it by ResolveSubresource() into one of one "
                      "sample, and register that";
    return NULL;
}

static culv_result refuse_format(const culvi_voice *voice, const culvi_d3d_candidate *c,
                                 const char *label)
{
    if (c->version == 9)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "CUDA registers no texture of D3DFORMAT %" PRIu32
                          "; it takes one, two or four channels of 8, 16 or 32 bits, as "
                          "D3DFMT_A8R8G8B8 and D3DFMT_R32F (culvert/d3d_register.h lists them)",
                          c->number);
    return culvi_fail(
        voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "CUDA registers no texture of DXGI_FORMAT %" PRIu32
        "; it takes typed ones of one, two or four channels of 8, 16 or 32 bits, as "
        "R8G8B8A8_UNORM and R32_FLOAT (culvert/d3d_register.h lists them)%s",
        c->texture.format,
        c->version == 11 ? "; others can be shared as memory: culv_d3d_memory_import()" : "");
}

culv_result culvi_d3d_check_candidate(const culvi_voice *voice, const culvi_d3d_candidate *c,
                                      const culv_d3d_register_desc *desc, culv_image_desc *out)
{
    const char *fault = find_fault(c);
    if (fault != NULL)
        return culvi_fail(voice, desc->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "CUDA registers no %s", fault);
    if (c->immutable && desc->access != CULV_ACCESS_READ_ONLY)
        return culvi_fail(voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "the resource is IMMUTABLE, so CUDA can only read it; set "
                          "culv_d3d_register_desc.access to CULV_ACCESS_READ_ONLY");
    if (c->is_buffer) return CULV_OK;
    if (!registers(c->texture.format)) return refuse_format(voice, c, desc->label);
    culvi_d3d_texture texture = c->texture;
    texture.format = plain_format(texture.format);
    const culvi_d3d_view view = {.desc = "culv_d3d_register_desc",
                                 .label = desc->label,
                                 .cube = c->cube,
                                 .no_surfaces = desc->no_surfaces != 0};
    culv_result result = culvi_d3d_describe_image(voice, &texture, &view, out);
    if (result == CULV_OK) out->texture_gather = desc->texture_gather != 0;
    return result;
}
