/* SPDX-License-Identifier: MIT */
/* Devices of Direct3D 11, 10 and 9 on one adapter, plain ones of Wine's, and the twin's CUDA: what
 * the cases of registration stand on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE_REGISTER_H_
#define CULVERT_TESTS_WINDOWS_SCENE_REGISTER_H_

#include "scene11.h"
/* after it */
#include <culvert/d3d_register.h>
#include <d3d10.h>
#include <d3d9.h>

typedef struct scene_register {
    scene11 s; /* without the overlay, and attached to nothing */
    ID3D10Device *d10;
    IDirect3DDevice9Ex *d9;
    HWND window;
    ULONG references[3]; /* of the devices, when the case began */
} scene_register;

typedef struct case_register {
    const char *name;
    void (*run)(void);
} case_register;
/* Each ended by a case without a name. */
extern const case_register cases_register11[], cases_register10[], cases_register9[],
    cases_register_errors[];

/* Direct3D 11 alone; then the others as they are asked for. The cases share the devices. */
void register_open(scene_register *r);
void register_open10(scene_register *r);
void register_open9(scene_register *r);
/* An IDirect3DDevice9Ex with these flags. */
IDirect3DDevice9Ex *register_device9(const scene_register *r, DWORD behavior);
/* Requires that nothing is left: of Culvert's, of the twin's, and no reference of a device. */
void register_close(const scene_register *r);
void register_end(void); /* after the last case */
/* The references that a COM object has. */
ULONG register_references(void *object);
uint64_t register_driver_resources(void); /* what the twin has registered */

culv_registration *register_11(const scene_register *r, void *resource, culv_access access);

/* A sub-resource's rows without gaps. */
typedef struct register_part {
    size_t row, rows, slices;
} register_part;
size_t register_part_size(const register_part *part);
/* Direct3D 11 writes and reads one. */
void register_write(const scene_register *r, ID3D11Resource *resource, UINT index,
                    const register_part *part, const void *data);
void register_read(const scene_register *r, ID3D11Resource *resource, UINT index,
                   const register_part *part, void *data);
/* CUDA does, in the array of a layer and a level of a mapped texture. */
void register_cuda(const scene_register *r, const culv_registration *registration, uint32_t layer,
                   uint32_t level, const register_part *part, void *data, bool to_array);

#endif
