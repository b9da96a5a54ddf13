/* SPDX-License-Identifier: MIT */
/* An nvcuda.dll for tests of handles: it imports sections as memory and semaphores as cuda.h says
 * of NT handles: the caller keeps the handle, the import holds a reference of its own. KMT handles
 * hold none and are only noted. All else that a culv_device asks at its opening is answered, and
 * the rest not supported. */
#include "fake_cuda.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static fake_cuda state;
static CUcontext current;

/* Handles of the driver's: pointers to these. */
typedef struct object {
    HANDLE section; /* NULL of a KMT handle */
    unsigned *count;
} object;

static CUresult CUDAAPI not_supported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult CUDAAPI init(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI driver_version(int *out)
{
    *out = 13000;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI error_text(CUresult error, const char **out)
{
    *out = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "an error of the fake driver";
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_count(int *out)
{
    *out = 1;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_get(CUdevice *out, int ordinal)
{
    *out = ordinal;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_name(char *out, int size, CUdevice device)
{
    (void)device;
    if (size > 0) strncpy(out, "fake GPU", (size_t)size);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_uuid(CUuuid *out, CUdevice device)
{
    (void)device;
    memset(out, 0x11, sizeof *out);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_attribute(int *out, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *out = which == CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI primary_retain(CUcontext *out, CUdevice device)
{
    (void)device;
    *out = (CUcontext)(void *)&state;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI primary_release(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI primary_state(CUdevice device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI context_id(CUcontext context, unsigned long long *out)
{
    (void)context;
    *out = 1;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI context_current(CUcontext *out)
{
    *out = current;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI context_push(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI context_pop(CUcontext *out)
{
    *out = current;
    current = NULL;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI capture_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

/* The section behind a handle or a name, opened anew; NULL when it is not the test's. */
static HANDLE open_section(HANDLE handle, const wchar_t *name)
{
    HANDLE mine = NULL;
    if (name != NULL)
        mine = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    else if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &mine, 0, FALSE,
                              DUPLICATE_SAME_ACCESS))
        return NULL;
    const uint32_t *word =
        mine != NULL ? MapViewOfFile(mine, FILE_MAP_READ, 0, 0, sizeof *word) : NULL;
    bool right = word != NULL && *word == FAKE_SECTION;
    if (word != NULL) UnmapViewOfFile((LPCVOID)word);
    if (!right && mine != NULL) {
        CloseHandle(mine);
        mine = NULL;
    }
    return mine;
}

static CUresult import(bool kmt, HANDLE handle, const wchar_t *name, unsigned *count, void **out)
{
    state.handle = handle;
    state.name[0] = '\0';
    for (size_t i = 0; name != NULL && i + 1 < sizeof state.name; i++) {
        state.name[i] = (char)name[i];
        state.name[i + 1] = '\0';
        if (name[i] == L'\0') break;
    }
    state.found = false;
    if ((handle == NULL) == (name == NULL) || (kmt && name != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    HANDLE section = kmt ? NULL : open_section(handle, name);
    state.found = section != NULL;
    CUresult answer = !kmt && section == NULL ? CUDA_ERROR_INVALID_HANDLE : (CUresult)state.answer;
    object *made = answer == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) {
        if (section != NULL) CloseHandle(section);
        return answer != CUDA_SUCCESS ? answer : CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->section = section;
    made->count = count;
    ++*count;
    *out = made;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI import_memory(CUexternalMemory *out,
                                      const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
    void *made = NULL;
    state.type = (int)d->type;
    state.flags = d->flags;
    state.size = d->size;
    CUresult r = import(d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                        d->handle.win32.handle, d->handle.win32.name, &state.memories, &made);
    if (r == CUDA_SUCCESS) *out = made;
    return r;
}

static CUresult CUDAAPI import_semaphore(CUexternalSemaphore *out,
                                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d)
{
    void *made = NULL;
    state.type = (int)d->type;
    state.flags = d->flags;
    CUresult r = import(d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                        d->handle.win32.handle, d->handle.win32.name, &state.semaphores, &made);
    if (r == CUDA_SUCCESS) *out = made;
    return r;
}

static CUresult CUDAAPI destroy(void *handle)
{
    object *gone = handle;
    --*gone->count;
    if (gone->section != NULL) CloseHandle(gone->section);
    free(gone);
    return CUDA_SUCCESS;
}

#define ROW(name, function)                                                                        \
    {                                                                                              \
        name, (FARPROC)(void (*)(void))(function)                                                  \
    }

__declspec(dllexport) CUresult CUDAAPI
    cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status);
__declspec(dllexport) fake_cuda *culv_fake_cuda(void);

fake_cuda *culv_fake_cuda(void)
{
    return &state;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status)
{
    static const struct {
        const char *name;
        FARPROC function;
    } rows[] = {ROW("cuInit", init),
                ROW("cuDriverGetVersion", driver_version),
                ROW("cuGetErrorName", error_text),
                ROW("cuGetErrorString", error_text),
                ROW("cuDeviceGetCount", device_count),
                ROW("cuDeviceGet", device_get),
                ROW("cuDeviceGetName", device_name),
                ROW("cuDeviceGetUuid", device_uuid),
                ROW("cuDeviceGetAttribute", device_attribute),
                ROW("cuDevicePrimaryCtxRetain", primary_retain),
                ROW("cuDevicePrimaryCtxRelease", primary_release),
                ROW("cuDevicePrimaryCtxGetState", primary_state),
                ROW("cuCtxGetId", context_id),
                ROW("cuCtxGetCurrent", context_current),
                ROW("cuCtxPushCurrent", context_push),
                ROW("cuCtxPopCurrent", context_pop),
                ROW("cuThreadExchangeStreamCaptureMode", capture_mode),
                ROW("cuImportExternalMemory", import_memory),
                ROW("cuDestroyExternalMemory", destroy),
                ROW("cuImportExternalSemaphore", import_semaphore),
                ROW("cuDestroyExternalSemaphore", destroy)};
    FARPROC function = (FARPROC)(void (*)(void))not_supported;
    (void)version;
    (void)flags;
    (void)status;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) function = rows[i].function;
    memcpy(out, &function, sizeof *out);
    return CUDA_SUCCESS;
}
