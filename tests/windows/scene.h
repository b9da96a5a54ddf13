/* SPDX-License-Identifier: MIT */
/* What the programs of this directory share: the harness, the twin's controls, CUDA's work. Each
 * has a scene of its own with the fields `culvert`, `cu` and `stream`. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE_H_
#define CULVERT_TESTS_WINDOWS_SCENE_H_

#include "harness.h"

#define COBJMACROS
#include <windows.h>
/* after it */
#include "control.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#define OK(call)    scene_ok(__FILE__, __LINE__, #call, (call))
#define HR_OK(call) scene_hr_ok(__FILE__, __LINE__, #call, (call))
#define CU_OK(call) scene_cuda_ok(__FILE__, __LINE__, #call, (call))
/* The call fails with this class and reason; then what its message says. */
#define REFUSES(call, class, why) REFUSES_AS(call, CULV_ERROR_##class, CULV_REASON_##why)
#define REFUSES_AS(call, class, why)                                                               \
    scene_refused(__FILE__, __LINE__, #call, (call), (class), (why))
#define REQUIRE_SAYS(text) REQUIRE(strstr(culv_last_error_message(), (text)) != NULL)
void scene_ok(const char *file, int line, const char *text, culv_result result);
void scene_hr_ok(const char *file, int line, const char *text, HRESULT result);
void scene_cuda_ok(const char *file, int line, const char *text, CUresult result);
void scene_refused(const char *file, int line, const char *text, culv_result result,
                   culv_result class, culv_reason reason);
bool scene_reason_is(culv_reason reason);

enum { SCENE_FAR_MS = TEST_FAR_MS };

/* The twin's own functions, of the driver that Culvert loads. */
typedef struct scene_controls {
    void (*counts)(culv_soft_counts *out);
    void (*fail_at)(uint64_t n, int error);
    void (*play_luid)(int device, const uint8_t luid[8], unsigned node_mask);
} scene_controls;
extern scene_controls soft;
void scene_find_controls(void);
/* The twin's objects, but for contexts and what CUDA has of streams. */
uint64_t scene_driver_objects(void);

/* The device's context is made current, and gets a stream. */
CUstream scene_stream(culv_device *culvert);
/* Requires that nothing is left of Culvert's, and takes the stream. Then the device goes, whose
 * attachments are no more, and nothing of the twin's is left. */
void scene_close_stream(culv_device *culvert, CUstream stream);
void scene_close_device(culv_device **culvert);

/* CUDA writes and reads, and has done so at the return. */
#define scene_synchronize(s)     CU_OK((s)->cu->cuStreamSynchronize((s)->stream))
#define scene_cuda_write(s, ...) cuda_write((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_read(s, ...)  cuda_read((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_has(s, ...)   cuda_has((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_copy(s, ...)  cuda_copy((s)->cu, (s)->stream, __VA_ARGS__)
void cuda_write(const culv_cuda_api *cu, CUstream stream, CUdeviceptr to, const void *data,
                size_t size);
void cuda_read(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, void *data, size_t size);
/* Requires that these bytes are there. */
void cuda_has(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, const void *data,
              size_t size);
/* All layers of an array, by rows without gaps. */
void cuda_copy(const culv_cuda_api *cu, CUstream stream, CUarray array, void *data, size_t row,
               size_t height, size_t layers, bool to_array);

/* Direct3D 11 reads a sub-resource, rows without gaps. */
struct ID3D11Device;
struct ID3D11DeviceContext;
void scene_read11(struct ID3D11Device *device, struct ID3D11DeviceContext *context, void *resource,
                  unsigned index, void *data, size_t row, size_t rows, size_t slices);

/* Work of which each call fails once, the driver's and Direct3D's: the result says so, and nothing
 * is left. */
typedef struct scene_tortured {
    culv_result (*work)(void *user);
    void (*require_none)(void *user);
    void *user;
    void (*fail_at)(unsigned n); /* of Direct3D's calls; NULL: none */
    unsigned (*calls)(void);
    unsigned native; /* how many of them the work makes */
    unsigned least;  /* so many of the driver's calls fail the work */
} scene_tortured;
void scene_torture(const scene_tortured *t);

/* Bytes that no other seed has. */
void scene_pattern(void *out, size_t size, unsigned seed);
/* Whether some handle of the named section is open. */
bool scene_name_lives(const wchar_t *name);
bool scene_handle_is_open(void *handle);
ULONG scene_references(void *object);

#endif
