/* SPDX-License-Identifier: MIT */
/* Devices of Direct3D 11, 10 and 9 on one adapter, plain ones of Wine's, and the twin's CUDA: what
 * the cases of registration stand on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE_REGISTER_H_
#define CULVERT_TESTS_WINDOWS_SCENE_REGISTER_H_

#include "scene.h"
/* after it */
#include <culvert/d3d.h>
#include <culvert/d3d_register.h>
#include <d3d10.h>
#include <d3d11.h>
#include <d3d9.h>

enum { VERSIONS = 3 };
typedef enum version { V11, V10, V9 } version;

typedef struct scene_register {
    culv_device *culvert;
    const culv_cuda_api *cu;
    CUstream stream;
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D10Device *d10;
    IDirect3DDevice9Ex *d9;
    HWND window;
    ULONG references[VERSIONS]; /* of the devices, when the case began */
} scene_register;

/* The cases share the devices, which take long to open. */
void register_open(scene_register *r);
/* Requires that nothing is left: of Culvert's, of the twin's, and no reference of a device. */
void register_close(const scene_register *r);
#define REGISTER_CASE(...)                                                                         \
    TEST_ON(scene_register, r, register_open(r), register_close(r), __VA_ARGS__)

IUnknown *register_device(const scene_register *r, version v);
/* An IDirect3DDevice9Ex with these flags. */
IDirect3DDevice9Ex *register_device9(const scene_register *r, DWORD behavior);
/* What the twin has registered, and what else; none of both. */
uint64_t register_driver_resources(void);
void register_require_none(const scene_register *r);

culv_registration *register_as(const scene_register *r, void *resource, culv_access access);
/* A buffer for vertices, in Direct3D 9 with a `usage` for indices. Direct3D 9 has no first data. */
enum { REGISTER_BYTES = 40000 };
void *register_buffer(const scene_register *r, version v, UINT usage, const void *data);

#endif
