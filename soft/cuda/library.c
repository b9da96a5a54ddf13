/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: libraries, and the kernels in them, which belong to no context.
 *
 * A library has a module in each context that uses it, made when the context first does: the twin
 * loads lazily. Wherever cuda.h takes a CUkernel for a CUfunction, soft_function_in() finds the
 * function in the context at hand. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
    struct soft_object object;
    struct soft_library *library;
    uint32_t index;                                   /* in the table */
    struct soft_function on_device[SOFT_MAX_DEVICES]; /* what cuKernelSetAttribute set there */
};

struct soft_library {
    struct soft_object object;
    struct soft_image image; /* its table, from which kernels have their names */
    char *path;              /* what modules are opened from; NULL: from `code` */
    void *code;
    struct kernel *kernels;
};

static void free_library(struct soft_library *library)
{
    free(library->kernels);
    free(library->path);
    free(library->code);
    free(library);
}

/* Takes the image; the path and the code are the library's on success only. */
static CUresult make_library(struct soft_image *image, char *path, void *code, CUlibrary *out)
{
    const uint32_t count = image->table->num_kernels;
    struct soft_library *library = calloc(1, sizeof(*library));
    if (library == NULL) goto close_image;
    library->kernels = calloc(count + 1, sizeof(*library->kernels));
    if (library->kernels == NULL) goto free_library;
    library->image = *image;
    library->path = path;
    library->code = code;
    soft_object_add(&library->object, SOFT_LIBRARY, NULL);
    for (uint32_t i = 0; i < count; i++) {
        struct kernel *kernel = &library->kernels[i];
        kernel->library = library;
        kernel->index = i;
        for (unsigned device = 0; device < SOFT_MAX_DEVICES; device++)
            kernel->on_device[device] = soft_function_of_table(image, i);
        soft_object_add(&kernel->object, SOFT_KERNEL, NULL);
    }
    *out = (CUlibrary)(void *)library;
    return CUDA_SUCCESS;

free_library:
    free(library);
close_image:
    soft_image_close(image);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* What CU_LIBRARY_BINARY_IS_PRESERVED promises is not needed: the code is copied. */
static bool options_valid(const CUjit_option *jit, void **jit_values, unsigned num_jit,
                          const CUlibraryOption *options, unsigned num_options)
{
    if (num_jit > 0 && (jit == NULL || jit_values == NULL)) return false;
    if (num_options > 0 && options == NULL) return false;
    for (unsigned i = 0; i < num_options; i++)
        if ((int)options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS) return false;
    return true;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions)
{
    struct soft_image image;
    size_t size = 0;
    (void)libraryOptionValues;
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (library == NULL || code == NULL ||
        !options_valid(jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                       numLibraryOptions))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_code_open(code, numJitOptions, jitOptions, jitOptionsValues, &image, &size));
    void *copy = malloc(size);
    if (copy == NULL) {
        soft_image_close(&image);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    memcpy(copy, code, size);
    result = make_library(&image, NULL, copy, library);
    if (result != CUDA_SUCCESS) free(copy);
    return soft_end(result);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct soft_image image;
    (void)libraryOptionValues;
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (library == NULL || fileName == NULL ||
        !options_valid(jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                       numLibraryOptions))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_code_open_file(fileName, numJitOptions, jitOptions, jitOptionsValues, &image));
    const size_t length = strlen(fileName) + 1;
    char *path = malloc(length);
    if (path == NULL) {
        soft_image_close(&image);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    memcpy(path, fileName, length);
    result = make_library(&image, path, NULL, library);
    if (result != CUDA_SUCCESS) free(path);
    return soft_end(result);
}

struct search {
    const struct soft_library *library;
    const struct soft_context *context; /* NULL: any */
    struct soft_module *found;
};

static void look(void *object, void *arg)
{
    struct soft_module *module = object;
    struct search *search = arg;
    if (module->library == search->library &&
        (search->context == NULL || module->object.context == search->context))
        search->found = module;
}

/* The library's module there, made if there is none yet. */
static CUresult module_in(struct soft_library *library, struct soft_context *context,
                          struct soft_module **out)
{
    struct search search = {.library = library, .context = context};
    struct soft_image image;
    soft_objects_each(SOFT_MODULE, look, &search);
    *out = search.found;
    if (search.found != NULL) return CUDA_SUCCESS;
    CUresult result = library->path != NULL
                          ? soft_code_open_file(library->path, 0, NULL, NULL, &image)
                          : soft_code_open(library->code, 0, NULL, NULL, &image, NULL);
    if (result == CUDA_SUCCESS) result = soft_module_make(context, &image, out);
    if (result != CUDA_SUCCESS) return result;
    (*out)->library = library;
    /* A file that has become another one meanwhile has other kernels. */
    for (uint32_t i = 0; i < image.table->num_kernels && i < library->image.table->num_kernels;
         i++) {
        const struct soft_function *set = &library->kernels[i].on_device[context->device];
        struct soft_function *function = &(*out)->functions[i];
        function->dynamic_shared = set->dynamic_shared;
        function->carveout = set->carveout;
        function->large_clusters = set->large_clusters;
        memcpy(function->cluster, set->cluster, sizeof(function->cluster));
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_library *library = soft_object_find(handle, SOFT_LIBRARY);
    if (library == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (;;) {
        struct search search = {.library = library};
        soft_objects_each(SOFT_MODULE, look, &search);
        if (search.found == NULL) break;
        struct soft_context *context = search.found->object.context;
        /* Its kernels may be queued. The lock is given up meanwhile, and the context stays. */
        (void)soft_context_wait_holding(context);
        if (soft_object_find(handle, SOFT_LIBRARY) != library)
            return soft_end(CUDA_ERROR_INVALID_HANDLE);
        search = (struct search){.library = library, .context = context};
        soft_objects_each(SOFT_MODULE, look, &search);
        if (search.found != NULL) soft_module_free(search.found);
    }
    for (uint32_t i = 0; i < library->image.table->num_kernels; i++)
        soft_object_remove(&library->kernels[i].object);
    soft_object_remove(&library->object);
    soft_image_close(&library->image);
    free_library(library);
    return soft_end(CUDA_SUCCESS);
}

/* The lock is held on success. */
static CUresult begin_library(const char *call, CUlibrary handle, bool arguments_valid,
                              struct soft_library **out)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (!arguments_valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *out = soft_object_find(handle, SOFT_LIBRARY);
    return *out != NULL ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct soft_library *found;
    SOFT_TRY(begin_library(__func__, library, pKernel != NULL && name != NULL, &found));
    for (uint32_t i = 0; i < found->image.table->num_kernels; i++) {
        if (strcmp(found->image.table->kernels[i].name, name) != 0) continue;
        *pKernel = (CUkernel)(void *)&found->kernels[i];
        return soft_end(CUDA_SUCCESS);
    }
    return soft_end(CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                    const char *name)
{
    struct soft_module *module;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_library *found = soft_object_find(library, SOFT_LIBRARY);
    if (found == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    result = module_in(found, context, &module);
    if (result == CUDA_SUCCESS) result = soft_module_variable(module, name, dptr, bytes);
    return soft_end(result);
}

/* --- kernels */

static CUresult begin_kernel(const char *call, CUkernel handle, bool arguments_valid,
                             struct kernel **out)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (!arguments_valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *out = soft_object_find(handle, SOFT_KERNEL);
    return *out != NULL ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_HANDLE);
}

/* `handle` is a kernel. */
static CUresult function_of_kernel(const void *handle, struct soft_context *context,
                                   struct soft_function **out)
{
    const struct kernel *kernel = soft_object_find(handle, SOFT_KERNEL);
    struct soft_module *module;
    if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
    SOFT_TRY(module_in(kernel->library, context, &module));
    if (kernel->index >= module->image.table->num_kernels) return CUDA_ERROR_NOT_FOUND;
    *out = &module->functions[kernel->index];
    return CUDA_SUCCESS;
}

CUresult soft_function_in(const void *handle, struct soft_context *context,
                          struct soft_function **out)
{
    *out = soft_object_find(handle, SOFT_FUNCTION);
    if (*out != NULL) return CUDA_SUCCESS;
    return context == NULL ? CUDA_ERROR_INVALID_HANDLE : function_of_kernel(handle, context, out);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct soft_function *function;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pFunc == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = function_of_kernel(kernel, context, &function);
    if (result == CUDA_SUCCESS) *pFunc = (CUfunction)(void *)function;
    return soft_end(result);
}

/* cuda.h: a NULL kernel is INVALID_VALUE. */
CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct kernel *found;
    SOFT_TRY(begin_kernel(__func__, hfunc, name != NULL && hfunc != NULL, &found));
    *name = found->on_device[0].kernel->name;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                      size_t *paramSize)
{
    struct kernel *found;
    SOFT_TRY(begin_kernel(__func__, kernel, paramOffset != NULL, &found));
    const culv_soft_kernel *row = found->on_device[0].kernel;
    if (paramIndex >= row->num_params) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *paramOffset = soft_param_offset(row, paramIndex);
    if (paramSize != NULL) *paramSize = row->param_sizes[paramIndex];
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev)
{
    struct kernel *found;
    SOFT_TRY(begin_kernel(__func__, kernel, true, &found));
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    return soft_end(soft_function_get(&found->on_device[dev], attrib, pi));
}

struct setting {
    const struct kernel *kernel;
    CUfunction_attribute attribute;
    int value;
    CUdevice device;
};

static void set_there(void *object, void *arg)
{
    const struct soft_module *module = object;
    const struct setting *s = arg;
    const uint32_t index = s->kernel->index;
    if (module->library != s->kernel->library || module->object.context->device != s->device ||
        index >= module->image.table->num_kernels)
        return;
    struct soft_function *function = &module->functions[index];
    if (function->set_here >> s->attribute & 1) return; /* cuda.h: that one counts */
    (void)soft_function_set(function, s->attribute, s->value);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev)
{
    struct kernel *found;
    SOFT_TRY(begin_kernel(__func__, kernel, true, &found));
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    SOFT_STEP(soft_function_set(&found->on_device[dev], attrib, val));
    struct setting setting = {.kernel = found, .attribute = attrib, .value = val, .device = dev};
    soft_objects_each(SOFT_MODULE, set_there, &setting);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct kernel *found;
    SOFT_TRY(begin_kernel(__func__, kernel, true, &found));
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    return soft_end(soft_cache_config_valid(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Linkers of device code. A linker can be made, and takes nothing: what it
 * is given is for GPUs. */

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
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
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
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (soft_object_find(state, SOFT_LINKER) == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    return arguments_valid ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_VALUE);
}

static bool link_options_valid(unsigned num_options, const CUjit_option *options, void **values)
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
    SOFT_TRY(begin(__func__, state,
                   data != NULL && size >= 20 && (int)type >= 0 && type < CU_JIT_NUM_INPUT_TYPES &&
                       link_options_valid(numOptions, options, optionValues)));
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
    SOFT_TRY(begin(__func__, state,
                   path != NULL && (int)type >= 0 && type < CU_JIT_NUM_INPUT_TYPES &&
                       link_options_valid(numOptions, options, optionValues)));
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
    SOFT_TRY(begin(__func__, state, true));
    soft_linker_free(soft_object_find(state, SOFT_LINKER));
    return soft_end(CUDA_SUCCESS);
}
