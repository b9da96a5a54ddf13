/* What the scripts of this folder share to draw with Direct3D 11; each ends with 3 if a call fails.
 * SPDX-License-Identifier: MIT
 */
#define COBJMACROS
#define INITGUID
#include <windows.h>

#include <d3d11.h>
#include <d3dcompiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ID3D11Device *device;
static ID3D11DeviceContext *context;

static inline void need(HRESULT result)
{
    if (FAILED(result)) exit(3);
}

static inline void start(void)
{
    need(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION,
                           &device, NULL, &context));
}

/* A picture of one pixel that can be drawn to. */
static inline ID3D11RenderTargetView *target(DXGI_FORMAT format)
{
    D3D11_TEXTURE2D_DESC desc = {.Width = 1,
                                 .Height = 1,
                                 .MipLevels = 1,
                                 .ArraySize = 1,
                                 .Format = format,
                                 .SampleDesc = {1, 0},
                                 .BindFlags = D3D11_BIND_RENDER_TARGET};
    ID3D11Texture2D *texture;
    ID3D11RenderTargetView *view;
    need(ID3D11Device_CreateTexture2D(device, &desc, NULL, &texture));
    need(ID3D11Device_CreateRenderTargetView(device, (ID3D11Resource *)texture, NULL, &view));
    return view;
}

/* Copies the pixel's first bytes to out. */
static inline void read_pixel(ID3D11RenderTargetView *view, void *out, size_t bytes)
{
    D3D11_TEXTURE2D_DESC desc;
    ID3D11Resource *texture;
    ID3D11Texture2D *copy;
    D3D11_MAPPED_SUBRESOURCE map;
    ID3D11RenderTargetView_GetResource(view, &texture);
    ID3D11Texture2D_GetDesc((ID3D11Texture2D *)texture, &desc);
    desc.Usage = D3D11_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    need(ID3D11Device_CreateTexture2D(device, &desc, NULL, &copy));
    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)copy, texture);
    need(ID3D11DeviceContext_Map(context, (ID3D11Resource *)copy, 0, D3D11_MAP_READ, 0, &map));
    memcpy(out, map.pData, bytes);
    ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)copy, 0);
}

static inline ID3D10Blob *compiled(const char *source, const char *profile)
{
    ID3D10Blob *code;
    need(D3DCompile(source, strlen(source), NULL, NULL, NULL, "main", profile, 0, 0, &code, NULL));
    return code;
}

/* Draws the pixel by a pixel shader (4.0), whose constants are four floats. */
static inline void draw(ID3D11RenderTargetView *view, const char *source, const float *constants)
{
    static const float corners[] = {-1, -1, 0, 1, -1, 3, 0, 1, 3, -1, 0, 1};
    D3D11_INPUT_ELEMENT_DESC element = {
        "POSITION", 0, DXGI_FORMAT_R32G32B32A32_FLOAT, 0, 0, D3D11_INPUT_PER_VERTEX_DATA, 0};
    D3D11_BUFFER_DESC vertices = {
        sizeof corners, D3D11_USAGE_DEFAULT, D3D11_BIND_VERTEX_BUFFER, 0, 0, 0};
    D3D11_BUFFER_DESC uniform = {16, D3D11_USAGE_DEFAULT, D3D11_BIND_CONSTANT_BUFFER, 0, 0, 0};
    D3D11_SUBRESOURCE_DATA corner_data = {corners, 0, 0}, constant_data = {constants, 0, 0};
    D3D11_VIEWPORT viewport = {0, 0, 1, 1, 0, 1};
    UINT stride = 16, offset = 0;
    ID3D10Blob *code =
        compiled("float4 main(float4 p : POSITION) : SV_Position { return p; }", "vs_4_0");
    ID3D11VertexShader *vertex;
    ID3D11PixelShader *pixel;
    ID3D11InputLayout *layout;
    ID3D11Buffer *buffer[2];
    need(ID3D11Device_CreateVertexShader(device, ID3D10Blob_GetBufferPointer(code),
                                         ID3D10Blob_GetBufferSize(code), NULL, &vertex));
    need(ID3D11Device_CreateInputLayout(device, &element, 1, ID3D10Blob_GetBufferPointer(code),
                                        ID3D10Blob_GetBufferSize(code), &layout));
    code = compiled(source, "ps_4_0");
    need(ID3D11Device_CreatePixelShader(device, ID3D10Blob_GetBufferPointer(code),
                                        ID3D10Blob_GetBufferSize(code), NULL, &pixel));
    need(ID3D11Device_CreateBuffer(device, &vertices, &corner_data, &buffer[0]));
    need(ID3D11Device_CreateBuffer(device, &uniform, &constant_data, &buffer[1]));
    ID3D11DeviceContext_IASetInputLayout(context, layout);
    ID3D11DeviceContext_IASetVertexBuffers(context, 0, 1, &buffer[0], &stride, &offset);
    ID3D11DeviceContext_IASetPrimitiveTopology(context, D3D11_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    ID3D11DeviceContext_VSSetShader(context, vertex, NULL, 0);
    ID3D11DeviceContext_PSSetShader(context, pixel, NULL, 0);
    ID3D11DeviceContext_PSSetConstantBuffers(context, 0, 1, &buffer[1]);
    ID3D11DeviceContext_OMSetRenderTargets(context, 1, &view, NULL);
    ID3D11DeviceContext_RSSetViewports(context, 1, &viewport);
    ID3D11DeviceContext_Draw(context, 3, 0);
}
