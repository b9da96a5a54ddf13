/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: modules are shared objects built to shared/module_abi.h. */
#include "block.h"
#include "module_shared.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
    struct soft_object object;
    struct soft_image image;
    struct soft_function *functions; /* one for each row of the table */
};

bool soft_shared_is_of(const char *symbol, const char *kernel)
{
    if (strncmp(symbol, "_ZZ", 3) != 0) return false;
    symbol += 3;
    if (*symbol == 'L') symbol++;
    char *end;
    unsigned long length = strtoul(symbol, &end, 10);
    return length == strlen(kernel) && strncmp(end, kernel, length) == 0 && end[length] == 'I' &&
           strstr(end + length, "6stacks") != NULL;
}

/* Takes the image, also when it fails. */
static CUresult make_module(struct soft_context *context, struct soft_image *image, CUmodule *out)
{
    const culv_soft_module_table *table = image->table;
    struct module *made = calloc(1, sizeof(*made));
    if (made == NULL) goto close_image;
    made->functions = calloc(table->num_kernels + 1, sizeof(*made->functions));
    if (made->functions == NULL) goto free_module;
    made->image = *image;
    soft_object_add(&made->object, SOFT_MODULE, context);
    for (uint32_t i = 0; i < table->num_kernels; i++) {
        const unsigned shared = image->shared[i];
        made->functions[i].kernel = &table->kernels[i];
        made->functions[i].id = ++soft.next_id;
        made->functions[i].module = (CUmodule)(void *)made;
        made->functions[i].meets = *table->meets || *table->kernels[i].meets;
        made->functions[i].static_shared = shared;
        made->functions[i].dynamic_shared = shared < SOFT_MAX_SHARED ? SOFT_MAX_SHARED - shared : 0;
        made->functions[i].carveout = -1;
        memcpy(made->functions[i].cluster, table->kernels[i].cluster,
               sizeof(made->functions[i].cluster));
        soft_object_add(&made->functions[i].object, SOFT_FUNCTION, context);
    }
    *out = (CUmodule)(void *)made;
    return CUDA_SUCCESS;

free_module:
    free(made);
close_image:
    soft_image_close(image);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    struct soft_context *context;
    struct soft_image image;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (module == NULL || fname == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_image_open(fname, &image);
    if (result == CUDA_SUCCESS) result = make_module(context, &image, module);
    return soft_end(result);
}

static CUresult load_data(const char *call, CUmodule *module, const void *data)
{
    struct soft_context *context;
    struct soft_image image;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (module == NULL || data == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const size_t size = soft_image_size(data);
    result = size == 0 ? CUDA_ERROR_INVALID_IMAGE : soft_image_open_memory(data, size, &image);
    if (result == CUDA_SUCCESS) result = make_module(context, &image, module);
    return soft_end(result);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *data)
{
    return load_data(__func__, module, data);
}

/* The options are those of compiling PTX, and the logs stay as they were: nothing is compiled. */
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    const bool lacking = numOptions > 0 && (options == NULL || optionValues == NULL);
    return load_data(__func__, module, lacking ? NULL : image);
}

void soft_module_free(void *handle)
{
    struct module *module = handle;
    for (uint32_t i = 0; i < module->image.table->num_kernels; i++)
        soft_object_remove(&module->functions[i].object);
    soft_object_remove(&module->object);
    soft_image_close(&module->image);
    free(module->functions);
    free(module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT_TO_FREE, &context);
    if (result != CUDA_SUCCESS) return result;
    struct module *module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_context_wait(module->object.context); /* its kernels may be queued */
    module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = module->object.context->error; /* told, and freed all the same */
    soft_module_free(module);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (hfunc == NULL || name == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct module *module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (uint32_t i = 0; i < module->image.table->num_kernels; i++) {
        if (strcmp(module->functions[i].kernel->name, name) != 0) continue;
        *hfunc = (CUfunction)(void *)&module->functions[i];
        return soft_end(CUDA_SUCCESS);
    }
    return soft_end(CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (mode == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *mode = CU_MODULE_EAGER_LOADING;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (count == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct module *module = soft_object_find(mod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    *count = module->image.table->num_kernels;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (functions == NULL || numFunctions == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct module *module = soft_object_find(mod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (uint32_t i = 0; i < module->image.table->num_kernels && i < numFunctions; i++)
        functions[i] = (CUfunction)(void *)&module->functions[i];
    return soft_end(CUDA_SUCCESS);
}

/* The function of a call that is asked about one, the lock held. */
static CUresult begin_function(const char *call, CUfunction handle, struct soft_function **out)
{
    struct soft_context *context;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    *out = soft_object_find(handle, SOFT_FUNCTION);
    return *out != NULL ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    if (result != CUDA_SUCCESS) return result;
    if (name == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *name = function->kernel->name;
    return soft_end(CUDA_SUCCESS);
}

/* The code of the twin's kernels is there with their module. */
CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    struct soft_function *found;
    CUresult result = begin_function(__func__, function, &found);
    return result != CUDA_SUCCESS ? result : soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct soft_function *found;
    CUresult result = begin_function(__func__, function, &found);
    if (result != CUDA_SUCCESS) return result;
    if (state == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    if (result != CUDA_SUCCESS) return result;
    if (hmod == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *hmod = function->module;
    return soft_end(CUDA_SUCCESS);
}

/* Parameters lie as in a struct. Their alignment is not in the table: it is what their size allows,
 * up to 16. */
size_t soft_param_offset(const culv_soft_kernel *kernel, size_t index)
{
    size_t offset = 0, size = 0;
    for (size_t i = 0; i <= index; i++) {
        offset += size;
        if (i == kernel->num_params) break; /* the end */
        size = kernel->param_sizes[i];
        size_t alignment = size & (~size + 1);
        if (alignment > 16) alignment = 16;
        offset = (offset + alignment - 1) / alignment * alignment;
    }
    return offset;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, func, &function);
    if (result != CUDA_SUCCESS) return result;
    if (paramOffset == NULL || paramIndex >= function->kernel->num_params)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *paramOffset = soft_param_offset(function->kernel, paramIndex);
    if (paramSize != NULL) *paramSize = function->kernel->param_sizes[paramIndex];
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    if (result != CUDA_SUCCESS) return result;
    if (pi == NULL || (int)attrib < 0 || attrib >= CU_FUNC_ATTRIBUTE_MAX)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = (int)SOFT_MAX_BLOCK; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = 75; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *pi = (int)function->static_shared; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *pi = (int)function->dynamic_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *pi = function->carveout; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *pi = (int)function->cluster[attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *pi = function->kernel->cluster[0] != 0; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *pi = function->large_clusters; break;
    default: *pi = 0; break; /* constant and local memory, registers: none that could be counted */
    }
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    if (result != CUDA_SUCCESS) return result;
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || (unsigned)value + function->static_shared > SOFT_MAX_SHARED_OPTIN)
            return soft_end(CUDA_ERROR_INVALID_VALUE);
        function->dynamic_shared = (unsigned)value;
        return soft_end(CUDA_SUCCESS);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return soft_end(CUDA_ERROR_INVALID_VALUE);
        function->carveout = value;
        return soft_end(CUDA_SUCCESS);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: /* cuda.h: what the source fixed is fixed */
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (function->kernel->cluster[0] != 0) return soft_end(CUDA_ERROR_NOT_PERMITTED);
        if (value < 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
        function->cluster[attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
        return soft_end(CUDA_SUCCESS);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        function->large_clusters = value != 0;
        return soft_end(CUDA_SUCCESS);
    default: return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
}

static bool is_cache_config(CUfunc_cache config)
{
    return (int)config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/* A preference, which a device may ignore. */
CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    if (result != CUDA_SUCCESS) return result;
    return soft_end(is_cache_config(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    return soft_end(is_cache_config(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* As of devices whose L1 cache and shared memory have fixed sizes (cuda.h). */
CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pconfig == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pconfig = CU_FUNC_CACHE_PREFER_NONE;
    return soft_end(CUDA_SUCCESS);
}
