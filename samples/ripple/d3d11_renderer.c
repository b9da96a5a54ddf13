/* SPDX-License-Identifier: MIT */
/* ripple by Direct3D 11: memory and fences that CUDA has too, and the same pictures. */
#define INITGUID
#define CULV_EXPERIMENTAL 1
#include "d3d_api.h"
/* after it */
#include <d3d11_4.h>

#include <stdlib.h>
#include <string.h>

#include <culvert/d3d11.h>

enum { RIM, STONE, WATER, NUM_PIPELINES };

typedef struct pipeline11 {
    ID3D11VertexShader *vertex;
    ID3D11PixelShader *fragment;
} pipeline11;

typedef struct renderer11 {
    const d3d_setup *setup;
    uint32_t width, height;
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D11DeviceContext4 *context4; /* which has fences */
    culv_d3d11_device *attached;
    culv_shared_buffer *cells;
    culv_shared_image *tint;
    culv_shared_semaphore *ready, *drawn;
    d3d_turns turns;
    pipeline11 pipelines[NUM_PIPELINES];
    ID3D11ShaderResourceView *cells_view, *tint_view;
    ID3D11SamplerState *sampler;
    ID3D11Buffer *indices, *view;
    ID3D11Texture2D *color, *depth, *resolved, *picture;
    ID3D11RenderTargetView *color_view;
    ID3D11DepthStencilView *depth_view;
    ID3D11RasterizerState *rasterizer;
} renderer11;

static ID3D11Resource *of_texture(ID3D11Texture2D *texture)
{
    return (ID3D11Resource *)(void *)texture;
}

static ID3D11Resource *of_buffer(ID3D11Buffer *buffer)
{
    return (ID3D11Resource *)(void *)buffer;
}

/* What CUDA writes ----------------------------------------------------------------------------- */

static bool create_shared(renderer11 *r)
{
    exchange *e = r->setup->exchange;
    const D3D11_TEXTURE2D_DESC texels = {.Width = e->grid.width,
                                         .Height = e->grid.height,
                                         .MipLevels = 1,
                                         .ArraySize = 1,
                                         .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                         .SampleDesc = {1, 0},
                                         .BindFlags = D3D11_BIND_SHADER_RESOURCE};
    culv_d3d11_buffer_create_desc cells = culv_d3d11_buffer_create_desc_init();
    culv_d3d11_image_create_desc tint = culv_d3d11_image_create_desc_init();
    cells.size = e->cells_size;
    cells.misc_flags = D3D11_RESOURCE_MISC_BUFFER_ALLOW_RAW_VIEWS;
    cells.label = "cells";
    tint.resource_desc = &texels;
    tint.label = "tint";
    if (!culv_ok(culv_d3d11_buffer_create(r->attached, &cells, &r->cells),
                 "culv_d3d11_buffer_create") ||
        !culv_ok(culv_d3d11_image_create(r->attached, &tint, &r->tint),
                 "culv_d3d11_image_create") ||
        !culv_ok(culv_d3d11_semaphore_create(r->attached, NULL, &r->ready),
                 "culv_d3d11_semaphore_create") ||
        !culv_ok(culv_d3d11_semaphore_create(r->attached, NULL, &r->drawn),
                 "culv_d3d11_semaphore_create"))
        return false;
    r->turns.ready = culv_shared_semaphore_cuda(r->ready);
    r->turns.drawn = culv_shared_semaphore_cuda(r->drawn);
    e->path = &d3d_path_shared;
    e->own = &r->turns;
    e->buffers[0].cuda_cells = culv_shared_buffer_pointer(r->cells);
    return culv_ok(
        culv_image_get_surface(culv_shared_image_cuda(r->tint), 0, &e->buffers[0].cuda_tint),
        "culv_image_get_surface");
}

static bool create_shared_views(renderer11 *r)
{
    /* Words of a raw buffer, as the shaders load them. */
    D3D11_SHADER_RESOURCE_VIEW_DESC cells = {.Format = DXGI_FORMAT_R32_TYPELESS,
                                             .ViewDimension = D3D11_SRV_DIMENSION_BUFFEREX};
    cells.BufferEx.NumElements = (UINT)(r->setup->exchange->cells_size / 4);
    cells.BufferEx.Flags = D3D11_BUFFEREX_SRV_FLAG_RAW;
    return d3d_ok(ID3D11Device_CreateShaderResourceView(
                      r->device, culv_d3d11_buffer_resource(r->cells), &cells, &r->cells_view),
                  "CreateShaderResourceView") &&
           d3d_ok(ID3D11Device_CreateShaderResourceView(
                      r->device, culv_d3d11_image_resource(r->tint), NULL, &r->tint_view),
                  "CreateShaderResourceView");
}

/* What draws it -------------------------------------------------------------------------------- */

static bool create_device(renderer11 *r)
{
    const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    culv_d3d11_device_desc desc = culv_d3d11_device_desc_init();
    if (!d3d_ok(D3D11CreateDevice((IDXGIAdapter *)r->setup->adapter, D3D_DRIVER_TYPE_UNKNOWN, NULL,
                                  0, &level, 1, D3D11_SDK_VERSION, &r->device, NULL, &r->context),
                "D3D11CreateDevice") ||
        !d3d_ok(ID3D11DeviceContext_QueryInterface(r->context, &IID_ID3D11DeviceContext4,
                                                   (void **)&r->context4),
                "ID3D11DeviceContext4 (Windows 10 1703)"))
        return false;
    desc.device = r->device;
    return culv_ok(culv_d3d11_attach(r->setup->device, &desc, &r->attached), "culv_d3d11_attach");
}

static bool create_texture(renderer11 *r, DXGI_FORMAT format, UINT samples, UINT bind, bool staging,
                           ID3D11Texture2D **out)
{
    const D3D11_TEXTURE2D_DESC desc = {.Width = r->width,
                                       .Height = r->height,
                                       .MipLevels = 1,
                                       .ArraySize = 1,
                                       .Format = format,
                                       .SampleDesc = {samples, 0},
                                       .Usage = staging ? D3D11_USAGE_STAGING : D3D11_USAGE_DEFAULT,
                                       .BindFlags = bind,
                                       .CPUAccessFlags = staging ? D3D11_CPU_ACCESS_READ : 0};
    return d3d_ok(ID3D11Device_CreateTexture2D(r->device, &desc, NULL, out), "CreateTexture2D");
}

static bool create_targets(renderer11 *r)
{
    return create_texture(r, D3D_COLOR, D3D_SAMPLES, D3D11_BIND_RENDER_TARGET, false, &r->color) &&
           create_texture(r, D3D_DEPTH, D3D_SAMPLES, D3D11_BIND_DEPTH_STENCIL, false, &r->depth) &&
           create_texture(r, D3D_COLOR, 1, D3D11_BIND_RENDER_TARGET, false, &r->resolved) &&
           create_texture(r, D3D_COLOR, 1, 0, true, &r->picture) &&
           d3d_ok(ID3D11Device_CreateRenderTargetView(r->device, of_texture(r->color), NULL,
                                                      &r->color_view),
                  "CreateRenderTargetView") &&
           d3d_ok(ID3D11Device_CreateDepthStencilView(r->device, of_texture(r->depth), NULL,
                                                      &r->depth_view),
                  "CreateDepthStencilView");
}

static bool create_buffers(renderer11 *r)
{
    const meshes *m = r->setup->meshes;
    const D3D11_BUFFER_DESC indices = {.ByteWidth = (UINT)m->size,
                                       .Usage = D3D11_USAGE_IMMUTABLE,
                                       .BindFlags = D3D11_BIND_INDEX_BUFFER},
                            view = {.ByteWidth = sizeof(view_constants),
                                    .BindFlags = D3D11_BIND_CONSTANT_BUFFER};
    const D3D11_SUBRESOURCE_DATA data = {.pSysMem = m->indices};
    return d3d_ok(ID3D11Device_CreateBuffer(r->device, &indices, &data, &r->indices),
                  "CreateBuffer") &&
           d3d_ok(ID3D11Device_CreateBuffer(r->device, &view, NULL, &r->view), "CreateBuffer");
}

static bool create_states(renderer11 *r)
{
    const D3D11_SAMPLER_DESC sampler = {.Filter = D3D11_FILTER_MIN_MAG_MIP_LINEAR,
                                        .AddressU = D3D11_TEXTURE_ADDRESS_CLAMP,
                                        .AddressV = D3D11_TEXTURE_ADDRESS_CLAMP,
                                        .AddressW = D3D11_TEXTURE_ADDRESS_CLAMP,
                                        .ComparisonFunc = D3D11_COMPARISON_NEVER,
                                        .MaxLOD = D3D11_FLOAT32_MAX};
    const D3D11_RASTERIZER_DESC rasterizer = {.FillMode = D3D11_FILL_SOLID,
                                              .CullMode = D3D11_CULL_NONE,
                                              .DepthClipEnable = TRUE,
                                              .MultisampleEnable = TRUE};
    return d3d_ok(ID3D11Device_CreateSamplerState(r->device, &sampler, &r->sampler),
                  "CreateSamplerState") &&
           d3d_ok(ID3D11Device_CreateRasterizerState(r->device, &rasterizer, &r->rasterizer),
                  "CreateRasterizerState");
}

static bool create_pipeline(renderer11 *r, const char *vertex, const char *fragment,
                            pipeline11 *out)
{
    void *vertex_code = NULL, *fragment_code = NULL;
    size_t vertex_size = 0, fragment_size = 0;
    bool made = d3d_shader(vertex, &vertex_code, &vertex_size) &&
                d3d_shader(fragment, &fragment_code, &fragment_size) &&
                d3d_ok(ID3D11Device_CreateVertexShader(r->device, vertex_code, vertex_size, NULL,
                                                       &out->vertex),
                       "CreateVertexShader") &&
                d3d_ok(ID3D11Device_CreatePixelShader(r->device, fragment_code, fragment_size, NULL,
                                                      &out->fragment),
                       "CreatePixelShader");
    free(fragment_code);
    free(vertex_code);
    return made;
}

static bool create_all(renderer11 *r)
{
    return create_device(r) && create_shared(r) && create_shared_views(r) && create_targets(r) &&
           create_buffers(r) && create_states(r) &&
           create_pipeline(r, "ripple_rim.vert.dxbc", "ripple_rim.frag.dxbc", &r->pipelines[RIM]) &&
           create_pipeline(r, "ripple_stone.vert.dxbc", "ripple_stone.frag.dxbc",
                           &r->pipelines[STONE]) &&
           create_pipeline(r, "ripple_water.vert.dxbc", "ripple_water.frag.dxbc",
                           &r->pipelines[WATER]);
}

static void release(void *object)
{
    if (object) IUnknown_Release((IUnknown *)object);
}

static void destroy(void *renderer)
{
    renderer11 *r = renderer;
    void *const objects[] = {r->rasterizer, r->depth_view, r->color_view, r->picture,
                             r->resolved,   r->depth,      r->color,      r->view,
                             r->indices,    r->sampler,    r->tint_view,  r->cells_view};
    if (r->context) ID3D11DeviceContext_ClearState(r->context);
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        release(objects[i]);
    for (size_t i = 0; i < NUM_PIPELINES; i++) {
        release(r->pipelines[i].fragment);
        release(r->pipelines[i].vertex);
    }
    culv_shared_semaphore_destroy(&r->drawn);
    culv_shared_semaphore_destroy(&r->ready);
    culv_shared_image_destroy(&r->tint);
    culv_shared_buffer_destroy(&r->cells);
    culv_d3d11_detach(&r->attached);
    release(r->context4);
    release(r->context);
    release(r->device);
    free(r);
}

static void *create(const d3d_setup *setup)
{
    renderer11 *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->setup = setup;
    r->width = setup->options->picture_width;
    r->height = setup->options->picture_height;
    if (create_all(r)) return r;
    destroy(r);
    return NULL;
}

/* A frame -------------------------------------------------------------------------------------- */

static void use_pipeline(renderer11 *r, const pipeline11 *p, const view_constants *constants)
{
    ID3D11DeviceContext_VSSetShader(r->context, p->vertex, NULL, 0);
    ID3D11DeviceContext_PSSetShader(r->context, p->fragment, NULL, 0);
    ID3D11DeviceContext_UpdateSubresource(r->context, of_buffer(r->view), 0, NULL, constants, 0, 0);
}

static void draw_mesh(renderer11 *r, const pipeline11 *p, const mesh *m,
                      const view_constants *frame)
{
    const view_constants constants = d3d_constants(frame, m);
    use_pipeline(r, p, &constants);
    ID3D11DeviceContext_DrawIndexed(r->context, m->num_indices, m->first_index, 0);
}

static void draw_all(renderer11 *r, const view_constants *constants)
{
    const meshes *m = r->setup->meshes;
    ID3D11DeviceContext *to = r->context;
    const D3D11_VIEWPORT viewport = {0.0f, 0.0f, (FLOAT)r->width, (FLOAT)r->height, 0.0f, 1.0f};
    ID3D11ShaderResourceView *views[] = {r->cells_view, r->tint_view}, *none[] = {NULL, NULL};
    ID3D11DeviceContext_ClearRenderTargetView(to, r->color_view, d3d_background);
    ID3D11DeviceContext_ClearDepthStencilView(to, r->depth_view, D3D11_CLEAR_DEPTH, 1.0f, 0);
    ID3D11DeviceContext_OMSetRenderTargets(to, 1, &r->color_view, r->depth_view);
    ID3D11DeviceContext_RSSetViewports(to, 1, &viewport);
    ID3D11DeviceContext_RSSetState(to, r->rasterizer);
    ID3D11DeviceContext_IASetPrimitiveTopology(to, D3D11_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    ID3D11DeviceContext_IASetIndexBuffer(to, r->indices, DXGI_FORMAT_R32_UINT, 0);
    ID3D11DeviceContext_VSSetConstantBuffers(to, 0, 1, &r->view);
    ID3D11DeviceContext_PSSetConstantBuffers(to, 0, 1, &r->view);
    ID3D11DeviceContext_VSSetShaderResources(to, 0, 1, views);
    ID3D11DeviceContext_PSSetShaderResources(to, 0, 2, views);
    ID3D11DeviceContext_PSSetSamplers(to, 1, 1, &r->sampler);
    use_pipeline(r, &r->pipelines[RIM], constants);
    ID3D11DeviceContext_Draw(to, PIPELINES_RIM_VERTICES, 0);
    draw_mesh(r, &r->pipelines[STONE], &m->stones, constants);
    draw_mesh(r, &r->pipelines[WATER], &m->water, constants);
    ID3D11DeviceContext_VSSetShaderResources(to, 0, 1, none);
    ID3D11DeviceContext_PSSetShaderResources(to, 0, 2, none);
}

static bool draw(void *renderer, uint64_t frame, const view_constants *constants)
{
    renderer11 *r = renderer;
    if (!d3d_ok(
            ID3D11DeviceContext4_Wait(r->context4, culv_d3d11_semaphore_fence(r->ready), frame + 1),
            "ID3D11DeviceContext4::Wait"))
        return false;
    draw_all(r, constants);
    ID3D11DeviceContext_ResolveSubresource(r->context, of_texture(r->resolved), 0,
                                           of_texture(r->color), 0, D3D_COLOR);
    if (!d3d_ok(ID3D11DeviceContext4_Signal(r->context4, culv_d3d11_semaphore_fence(r->drawn),
                                            frame + 1),
                "ID3D11DeviceContext4::Signal"))
        return false;
    ID3D11DeviceContext_Flush(r->context);
    return true;
}

static bool read_picture(void *renderer, uint8_t *pixels)
{
    renderer11 *r = renderer;
    D3D11_MAPPED_SUBRESOURCE mapped;
    ID3D11DeviceContext_CopyResource(r->context, of_texture(r->picture), of_texture(r->resolved));
    if (!d3d_ok(ID3D11DeviceContext_Map(r->context, of_texture(r->picture), 0, D3D11_MAP_READ, 0,
                                        &mapped),
                "Map"))
        return false;
    for (uint32_t y = 0; y < r->height; y++)
        memcpy(pixels + (size_t)y * r->width * 4,
               (const uint8_t *)mapped.pData + (size_t)y * mapped.RowPitch, (size_t)r->width * 4);
    ID3D11DeviceContext_Unmap(r->context, of_texture(r->picture), 0);
    return true;
}

const d3d_api d3d_api_11 = {create, destroy, draw, read_picture};
