/* SPDX-License-Identifier: MIT */
/* Samples: the CUDA function table. */
#include "cuda_api.h"

#include <string.h>

#include "report.h"

bool cuda_api_load(cuda_api *api, const culv_device *device)
{
    memset(api, 0, sizeof *api);
    /* memcpy: ISO C has no cast between unrelated function pointers through void *. */
#define CUDA_API_LOAD_(name, version)                                                              \
    {                                                                                              \
        void (*function)(void) = culv_device_cuda_proc(device, "cu" #name, version);               \
        if (!function) {                                                                           \
            report("the CUDA driver has no %s", "cu" #name);                                       \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&api->name, &function, sizeof function);                                            \
    }
    CUDA_API_FUNCTIONS(CUDA_API_LOAD_)
#undef CUDA_API_LOAD_
    return true;
}

bool cuda_ok(const cuda_api *api, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return true;
    const char *name = NULL, *text = NULL;
    if (api->GetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "CUresult";
    if (api->GetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
    report("%s: %s (%d): %s", what, name, (int)result, text);
    return false;
}
