/* SPDX-License-Identifier: MIT */
/* A Direct3D 11 device with its context, and the twin's CUDA: what d3d11.c's cases stand on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE11_H_
#define CULVERT_TESTS_WINDOWS_SCENE11_H_

#include "overlay11.h"
/* after windows.h */
#include "check.h"

#include "control.h"

#include <culvert/cuda_api.h>
#include <culvert/d3d11.h>

#define HR_OK(call)                                                                                \
    do {                                                                                           \
        HRESULT hr_ = (call);                                                                      \
        if (FAILED(hr_)) scene11_fail(__FILE__, __LINE__, #call, hr_);                             \
    } while (0)
#define CU_OK(call)                                                                                \
    do {                                                                                           \
        CUresult cu_ = (call);                                                                     \
        if (cu_ != CUDA_SUCCESS) scene11_fail(__FILE__, __LINE__, #call, (HRESULT)cu_);            \
    } while (0)
#define REQUIRE_SAYS(text) REQUIRE(strstr(culv_last_error_message(), (text)) != NULL)

enum { SCENE11_FAR_MS = 60000 }; /* what must come does come in that time */

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
    culv_d3d11_device *d3d11;
    const culv_cuda_api *cu;
    CUstream stream;
} scene11;

/* The twin's own functions. */
typedef struct scene11_controls {
    void (*counts)(culv_soft_counts *out);
    void (*fail_at)(uint64_t n, int error);
    void (*play_luid)(int device, const uint8_t luid[8], unsigned node_mask);
} scene11_controls;
extern scene11_controls soft11;
void scene11_find_controls(void); /* fills it in, of the driver that Culvert loads */

_Noreturn void scene11_fail(const char *file, int line, const char *what, HRESULT hr);

/* A device alone; with Culvert attached. */
void scene11_open_device(scene11 *s);
void scene11_open(scene11 *s);
/* Requires that nothing is left: of Culvert's, of the twin's, of what is shared, and no reference
 * of the device. */
void scene11_close(scene11 *s);
/* The twin's objects, but for contexts and what CUDA has of streams. */
uint64_t scene11_driver_objects(void);

ID3D11Buffer *scene11_buffer(const scene11 *s, UINT size, UINT misc);
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
void scene11_synchronize(const scene11 *s);
/* CUDA does. */
void scene11_cuda_write(const scene11 *s, CUdeviceptr to, const void *data, size_t size);
void scene11_cuda_read(const scene11 *s, CUdeviceptr from, void *data, size_t size);
/* All layers of an array, by rows without gaps. */
void scene11_cuda_copy(const scene11 *s, CUarray array, void *data, size_t row, size_t height,
                       size_t layers, bool to_array);

/* Bytes that no other seed has. */
void scene11_pattern(void *out, size_t size, unsigned seed);
bool scene11_name_lives(const wchar_t *name);

#endif
