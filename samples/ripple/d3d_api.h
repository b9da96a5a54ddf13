/* SPDX-License-Identifier: MIT */
/* ripple by Direct3D: what 12 and 11 have in common. The program, the frames and CUDA's side are
 * d3d_run.c's; d3d12_renderer.c and d3d11_renderer.c share memory with CUDA and draw. */
#ifndef RIPPLE_D3D_API_H_
#define RIPPLE_D3D_API_H_

#define COBJMACROS
#include <windows.h>
/* after it */
#include <dxgi1_4.h>

#include "camera.h"
#include "exchange.h"
#include "mesh.h"
#include "options.h"

/* As targets.c and pipelines.c have them. */
#define D3D_SAMPLES 4u
#define D3D_COLOR   DXGI_FORMAT_R8G8B8A8_UNORM_SRGB
#define D3D_DEPTH   DXGI_FORMAT_D32_FLOAT
extern const FLOAT d3d_background[4];

typedef struct d3d_setup {
    IDXGIAdapter1 *adapter;
    char name[128];
    culv_device *device;
    const culv_cuda_api *cu;
    const options *options;
    const scene *scene;
    const meshes *meshes;
    exchange *exchange; /* the renderer fills in its path, buffers and `own` */
} d3d_setup;

typedef struct d3d_api {
    /* What CUDA writes, and what draws it. NULL, with a message, on failure. */
    void *(*create)(const d3d_setup *setup);
    void (*destroy)(void *renderer);
    /* Waits, on the GPU, for CUDA; draws the frame; lets CUDA go on. Then the host waits for it. */
    bool (*draw)(void *renderer, uint64_t frame, const view_constants *constants);
    /* The last picture's rows, top first. */
    bool (*read)(void *renderer, uint8_t *pixels);
} d3d_api;
extern const d3d_api d3d_api_12, d3d_api_11;

/* The path shared for both: two fences say whose turn it is. `exchange.own` is one of these. */
typedef struct d3d_turns {
    culv_semaphore *ready, *drawn;
} d3d_turns;
extern const exchange_path d3d_path_shared;

bool d3d_ok(HRESULT result, const char *what);
/* A shader's code, for free(). */
bool d3d_shader(const char *name, void **code, size_t *size);
/* The constants with which a mesh is drawn. */
view_constants d3d_constants(const view_constants *frame, const mesh *m);

#endif
