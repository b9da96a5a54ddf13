/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: modules are shared objects built to shared/module_abi.h. */
#include "soft.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct module {
    struct soft_object object;
    void *library;
    const culv_soft_module_table *table;
    struct soft_function *functions; /* one for each row of the table */
};

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (module == NULL || fname == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    char *path = realpath(fname, NULL); /* dlopen looks elsewhere for a name without a slash */
    if (path == NULL) return soft_end(CUDA_ERROR_FILE_NOT_FOUND);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (library == NULL) return soft_end(CUDA_ERROR_INVALID_IMAGE);
    const culv_soft_module_table *table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    struct module *made = NULL;
    if (table == NULL || table->version != CULV_SOFT_MODULE_VERSION) {
        result = table == NULL ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_NO_BINARY_FOR_GPU;
        goto close_library;
    }
    result = CUDA_ERROR_OUT_OF_MEMORY;
    made = calloc(1, sizeof(*made));
    if (made == NULL) goto close_library;
    made->functions = calloc(table->num_kernels + 1, sizeof(*made->functions));
    if (made->functions == NULL) goto free_module;

    made->library = library;
    made->table = table;
    soft_object_add(&made->object, SOFT_MODULE, context);
    for (uint32_t i = 0; i < table->num_kernels; i++) {
        made->functions[i].kernel = &table->kernels[i];
        made->functions[i].id = ++soft.next_id;
        soft_object_add(&made->functions[i].object, SOFT_FUNCTION, context);
    }
    soft_fault_install();
    *module = (CUmodule)(void *)made;
    return soft_end(CUDA_SUCCESS);

free_module:
    free(made);
close_library:
    dlclose(library);
    return soft_end(result);
}

void soft_module_free(void *handle)
{
    struct module *module = handle;
    for (uint32_t i = 0; i < module->table->num_kernels; i++)
        soft_object_remove(&module->functions[i].object);
    soft_object_remove(&module->object);
    dlclose(module->library);
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
    for (uint32_t i = 0; i < module->table->num_kernels; i++) {
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

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pi == NULL || (int)attrib < 0 || attrib >= CU_FUNC_ATTRIBUTE_MAX)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (soft_object_find(hfunc, SOFT_FUNCTION) == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = (int)SOFT_MAX_BLOCK; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = 75; break;
    default:
        *pi = 0;
        break; /* shared, constant and local memory, registers: none that could be counted */
    }
    return soft_end(CUDA_SUCCESS);
}
