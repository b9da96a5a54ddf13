/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: linkers of device code. A linker can be made, and takes nothing: what it
 * is given is for GPUs. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>

struct linker {
    struct soft_object object;
    /* cuda.h: the options' arrays are the program's, and live as long as the linker. */
    unsigned num_options;
    CUjit_option *options;
    void **values;
};

CUresult CUDAAPI cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options,
                                 void **optionValues, CUlinkState *stateOut)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (stateOut == NULL || (numOptions > 0 && (options == NULL || optionValues == NULL)))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct linker *linker = calloc(1, sizeof(*linker));
    if (linker == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    linker->num_options = numOptions;
    linker->options = options;
    linker->values = optionValues;
    soft_object_add(&linker->object, SOFT_LINKER, context);
    *stateOut = (CUlinkState)(void *)linker;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                              CUlinkState *stateOut)
{
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

/* The lock is held on success. */
static CUresult begin(const char *call, CUlinkState state, bool arguments_valid)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (soft_object_find(state, SOFT_LINKER) == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    return arguments_valid ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_VALUE);
}

static bool options_valid(unsigned num_options, const CUjit_option *options, void **values)
{
    return num_options == 0 || (options != NULL && values != NULL);
}

/* The log is that of the call's own options, or the linker's. */
static CUresult refuse(CUlinkState state, const char *code, unsigned num_options,
                       const CUjit_option *options, void **values)
{
    const struct linker *linker = soft_object_find(state, SOFT_LINKER);
    return num_options > 0
               ? soft_code_refuse(code, num_options, options, values)
               : soft_code_refuse(code, linker->num_options, linker->options, linker->values);
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                  const char *name, unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    (void)name;
    CUresult result =
        begin(__func__, state,
              data != NULL && size >= 20 && (int)type >= 0 && type < CU_JIT_NUM_INPUT_TYPES &&
                  options_valid(numOptions, options, optionValues));
    if (result != CUDA_SUCCESS) return result;
    char *copy = malloc(size + 1); /* PTX need not end with a 0 here */
    if (copy == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < size; i++)
        copy[i] = ((const char *)data)[i];
    copy[size] = '\0';
    result = refuse(state, copy, numOptions, options, optionValues);
    free(copy);
    return soft_end(result);
}

CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues)
{
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                  unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    char start[4096];
    CUresult result = begin(__func__, state,
                            path != NULL && (int)type >= 0 && type < CU_JIT_NUM_INPUT_TYPES &&
                                options_valid(numOptions, options, optionValues));
    if (result != CUDA_SUCCESS) return result;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return soft_end(CUDA_ERROR_FILE_NOT_FOUND);
    const size_t read = fread(start, 1, sizeof(start) - 1, file);
    fclose(file);
    for (size_t i = read; i < sizeof(start); i++)
        start[i] = '\0';
    return soft_end(refuse(state, start, numOptions, options, optionValues));
}

CUresult CUDAAPI cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/* There is nothing in it. */
CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    (void)sizeOut;
    CUresult result = begin(__func__, state, cubinOut != NULL);
    return result == CUDA_SUCCESS ? soft_end(CUDA_ERROR_INVALID_VALUE) : result;
}

void soft_linker_free(void *handle)
{
    struct linker *linker = handle;
    soft_object_remove(&linker->object);
    free(linker);
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    CUresult result = begin(__func__, state, true);
    if (result != CUDA_SUCCESS) return result;
    soft_linker_free(soft_object_find(state, SOFT_LINKER));
    return soft_end(CUDA_SUCCESS);
}
