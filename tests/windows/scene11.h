/* SPDX-License-Identifier: MIT */
/* A Direct3D 11 device with its context, and the twin's CUDA: what d3d11.c's cases stand on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE11_H_
#define CULVERT_TESTS_WINDOWS_SCENE11_H_

#include "overlay11.h"
#include "scene.h"

#include <culvert/d3d.h>

/* The rows NT handle/keyed mutex, as flags of Direct3D's. */
typedef struct scene11_row {
    const char *name;
    UINT misc;
    bool nt, mutex;
} scene11_row;
enum { SCENE11_ROWS = 4 };
extern const scene11_row scene11_rows[SCENE11_ROWS];

typedef struct scene11 {
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D11DeviceContext4 *context4;
    culv_device *culvert;
    culv_d3d_device *d3d11;
    const culv_cuda_api *cu;
    CUstream stream;
} scene11;

/* A device alone; with Culvert attached. */
void scene11_open_device(scene11 *s);
void scene11_open(scene11 *s);
/* Requires that nothing is left: of Culvert's, of the twin's, of what is shared, and no reference
 * of the device. */
void scene11_close(scene11 *s);
#define D11_CASE(...) TEST_ON(scene11, s, scene11_open(s), scene11_close(s), __VA_ARGS__)

ID3D11Buffer *scene11_buffer(const scene11 *s, UINT size, UINT misc);
/* One to draw into and to sample. */
D3D11_TEXTURE2D_DESC scene11_texture_desc(DXGI_FORMAT format, UINT width, UINT height, UINT layers,
                                          UINT levels, UINT misc);
ID3D11Texture2D *scene11_texture(const scene11 *s, DXGI_FORMAT format, UINT width, UINT height,
                                 UINT layers, UINT misc);
static inline ID3D11Resource *scene11_of_buffer(ID3D11Buffer *buffer)
{
    return (ID3D11Resource *)(void *)buffer;
}
static inline ID3D11Resource *scene11_of_texture(ID3D11Texture2D *texture)
{
    return (ID3D11Resource *)(void *)texture;
}
IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource);

/* Direct3D writes and reads: a buffer's bytes, or a layer of a texture by rows without gaps. */
void scene11_write(const scene11 *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row);
void scene11_read(const scene11 *s, ID3D11Resource *resource, UINT layer, void *data);
ID3D11Fence *scene11_fence(const scene11 *s, uint64_t value, bool shared);

#endif
