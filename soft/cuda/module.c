/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: modules are shared objects built to shared/module_abi.h. */
#include "module.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct soft_function soft_function_of_table(const struct soft_image *image, uint32_t index)
{
    const culv_soft_kernel *kernel = &image->table->kernels[index];
    const unsigned shared = image->shared[index];
    struct soft_function function = {.kernel = kernel,
                                     .meets = *image->table->meets || *kernel->meets,
                                     .static_shared = shared,
                                     .dynamic_shared =
                                         shared < SOFT_MAX_SHARED ? SOFT_MAX_SHARED - shared : 0,
                                     .carveout = -1};
    memcpy(function.cluster, kernel->cluster, sizeof(function.cluster));
    return function;
}

CUresult soft_module_make(struct soft_context *context, struct soft_image *image,
                          struct soft_module **out)
{
    const culv_soft_module_table *table = image->table;
    struct soft_module *made = calloc(1, sizeof(*made));
    if (made == NULL) goto close_image;
    made->functions = calloc(table->num_kernels + 1, sizeof(*made->functions));
    if (made->functions == NULL) goto free_module;
    made->image = *image;
    soft_object_add(&made->object, SOFT_MODULE, context);
    for (uint32_t i = 0; i < table->num_kernels; i++) {
        made->functions[i] = soft_function_of_table(image, i);
        made->functions[i].id = ++soft.next_id;
        made->functions[i].module = (CUmodule)(void *)made;
        soft_object_add(&made->functions[i].object, SOFT_FUNCTION, context);
    }
    *out = made;
    return CUDA_SUCCESS;

free_module:
    free(made);
close_image:
    soft_image_close(image);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Unlocks in any case. */
static CUresult make_and_end(struct soft_context *context, struct soft_image *image, CUmodule *out)
{
    struct soft_module *made;
    CUresult result = soft_module_make(context, image, &made);
    if (result == CUDA_SUCCESS) *out = (CUmodule)(void *)made;
    return soft_end(result);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    struct soft_image image;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (module == NULL || fname == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_code_open_file(fname, 0, NULL, NULL, &image);
    return result == CUDA_SUCCESS ? make_and_end(context, &image, module) : soft_end(result);
}

static CUresult load_data(const char *call, CUmodule *module, const void *data,
                          unsigned num_options, const CUjit_option *options, void **values)
{
    struct soft_context *context;
    struct soft_image image;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (module == NULL || data == NULL || (num_options > 0 && (options == NULL || values == NULL)))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_code_open(data, num_options, options, values, &image, NULL);
    return result == CUDA_SUCCESS ? make_and_end(context, &image, module) : soft_end(result);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *data)
{
    return load_data(__func__, module, data, 0, NULL, NULL);
}

/* The options are those of compiling PTX. Nothing is compiled, but the log of errors says why. */
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    return load_data(__func__, module, image, numOptions, options, optionValues);
}

struct inheritance {
    const struct soft_module *module;
    struct soft_context *heir;
};

/* Two modules of one file have one copy of its variables, which is the last one's. */
static void find_heir(void *other, void *arg)
{
    struct inheritance *i = arg;
    const struct soft_module *same = other;
    if (same != i->module && same->image.library == i->module->image.library)
        i->heir = same->object.context;
}

void soft_module_free(void *handle)
{
    struct soft_module *module = handle;
    struct inheritance inheritance = {.module = module};
    soft_objects_each(SOFT_MODULE, find_heir, &inheritance);
    soft_ranges_of_image_pass(module->image.library, inheritance.heir);
    for (uint32_t i = 0; i < module->image.table->num_kernels; i++)
        soft_object_remove(&module->functions[i].object);
    soft_object_remove(&module->object);
    soft_image_close(&module->image);
    free(module->functions);
    free(module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT_TO_FREE, context);
    struct soft_module *module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (module->library != NULL) return soft_end(CUDA_ERROR_NOT_PERMITTED); /* the library's */
    soft_context_wait(module->object.context); /* its kernels may be queued */
    module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = module->object.context->error; /* told, and freed all the same */
    soft_module_free(module);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (hfunc == NULL || name == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_module *module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (uint32_t i = 0; i < module->image.table->num_kernels; i++) {
        if (strcmp(module->functions[i].kernel->name, name) != 0) continue;
        *hfunc = (CUfunction)(void *)&module->functions[i];
        return soft_end(CUDA_SUCCESS);
    }
    return soft_end(CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (count == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_module *module = soft_object_find(mod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    *count = module->image.table->num_kernels;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (functions == NULL || numFunctions == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_module *module = soft_object_find(mod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (uint32_t i = 0; i < module->image.table->num_kernels && i < numFunctions; i++)
        functions[i] = (CUfunction)(void *)&module->functions[i];
    return soft_end(CUDA_SUCCESS);
}

CUresult soft_module_variable(struct soft_module *module, const char *name, CUdeviceptr *dptr,
                              size_t *bytes)
{
    uintptr_t start;
    size_t size;
    if (name == NULL || (dptr == NULL && bytes == NULL)) return CUDA_ERROR_INVALID_VALUE;
    if (!soft_image_variable(&module->image, name, &start, &size)) return CUDA_ERROR_NOT_FOUND;
    if (soft_range_find(start) == NULL) { /* copies and fills know it from now on */
        const struct soft_range range = {.start = start,
                                         .size = size,
                                         .kind = SOFT_RANGE_VARIABLE,
                                         .context = module->object.context,
                                         .image = module->image.library};
        CUresult result = soft_range_add(&range);
        if (result != CUDA_SUCCESS) return result;
    }
    if (dptr != NULL) *dptr = start;
    if (bytes != NULL) *bytes = size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                      const char *name)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_module *module = soft_object_find(hmod, SOFT_MODULE);
    if (module == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    return soft_end(soft_module_variable(module, name, dptr, bytes));
}

/* The function of a call that is asked about one, the lock held. */
static CUresult begin_function(const char *call, CUfunction handle, struct soft_function **out)
{
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    *out = soft_object_find(handle, SOFT_FUNCTION);
    return *out != NULL ? CUDA_SUCCESS : soft_end(CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (name == NULL || hfunc == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE); /* cuda.h */
    const struct soft_function *function = soft_object_find(hfunc, SOFT_FUNCTION);
    if (function == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
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

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct soft_function *function;
    SOFT_TRY(begin_function(__func__, hfunc, &function));
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
    SOFT_TRY(begin_function(__func__, func, &function));
    if (paramOffset == NULL || paramIndex >= function->kernel->num_params)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *paramOffset = soft_param_offset(function->kernel, paramIndex);
    if (paramSize != NULL) *paramSize = function->kernel->param_sizes[paramIndex];
    return soft_end(CUDA_SUCCESS);
}

CUresult soft_function_get(const struct soft_function *function, CUfunction_attribute attribute,
                           int *out)
{
    if (out == NULL || (int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *out = (int)SOFT_MAX_BLOCK; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *out = 75; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *out = (int)function->static_shared; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *out = (int)function->dynamic_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *out = function->carveout; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *out = (int)function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *out = function->kernel->cluster[0] != 0;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *out = function->large_clusters;
        break;
    default: *out = 0; break; /* constant and local memory, registers: none that could be counted */
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = begin_function(__func__, hfunc, &function);
    return result != CUDA_SUCCESS ? result : soft_end(soft_function_get(function, attrib, pi));
}

CUresult soft_function_set(struct soft_function *function, CUfunction_attribute attribute,
                           int value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || (unsigned)value + function->static_shared > SOFT_MAX_SHARED_OPTIN)
            return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_shared = (unsigned)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: /* cuda.h: what the source fixed is fixed */
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (function->kernel->cluster[0] != 0) return CUDA_ERROR_NOT_PERMITTED;
        if (value < 0) return CUDA_ERROR_INVALID_VALUE;
        function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        function->large_clusters = value != 0;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct soft_function *function;
    SOFT_TRY(begin_function(__func__, hfunc, &function));
    result = soft_function_set(function, attrib, value);
    if (result == CUDA_SUCCESS) function->set_here |= 1u << attrib;
    return soft_end(result);
}

bool soft_cache_config_valid(CUfunc_cache config)
{
    return (int)config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/* A preference, which a device may ignore. */
CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct soft_function *function;
    SOFT_TRY(begin_function(__func__, hfunc, &function));
    return soft_end(soft_cache_config_valid(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    return soft_end(soft_cache_config_valid(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* As of devices whose L1 cache and shared memory have fixed sizes (cuda.h). */
CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pconfig == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pconfig = CU_FUNC_CACHE_PREFER_NONE;
    return soft_end(CUDA_SUCCESS);
}

/* What a program gives as code. Only a .soft.so is code here; for all else
 * that a GPU's driver takes, the answer is one that such a driver has too, and says why. */

enum code { NOTHING, PTX, CUBIN, FATBIN };

/* Of the first line that is no comment; PTX begins with ".version". The text ends with a 0. */
static bool is_ptx(const char *text)
{
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (text[0] != '/') break;
        if (text[1] == '/') {
            while (*text != '\0' && *text != '\n')
                text++;
        } else if (text[1] == '*') {
            for (text += 2; *text != '\0' && !(text[0] == '*' && text[1] == '/');)
                text++;
            if (*text != '\0') text += 2;
        } else {
            return false;
        }
    }
    return strncmp(text, ".version", 8) == 0;
}

/* Reads no byte behind one that differs. */
static bool begins(const unsigned char *bytes, const unsigned char magic[4])
{
    for (unsigned i = 0; i < 4; i++)
        if (bytes[i] != magic[i]) return false;
    return true;
}

static enum code kind_of(const void *code)
{
    static const unsigned char fatbin[4] = {0x50, 0xed, 0x55, 0xba},
                               wrapped[4] = {0xb1, 0x43, 0x62, 0x46},
                               elf[4] = {0x7f, 'E', 'L', 'F'};
    const unsigned char *bytes = code;
    if (begins(bytes, fatbin) || begins(bytes, wrapped)) return FATBIN;
    /* e_machine, and soft_image_size() says whether it is one of the host's. */
    if (begins(bytes, elf)) return bytes[18] == 190 && bytes[19] == 0 ? CUBIN : NOTHING;
    return is_ptx(code) ? PTX : NOTHING;
}

static CUresult refusal(enum code kind, const char **why)
{
    switch (kind) {
    case PTX:
        *why = "this is PTX, and Culvert's software twin has no compiler for it: it runs kernels "
               "that culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case CUBIN:
        *why = "this is a cubin, code for a GPU: Culvert's software twin runs kernels that "
               "culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case FATBIN:
        *why = "this is a fatbin, code for GPUs: Culvert's software twin runs kernels that "
               "culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case NOTHING:
    default: *why = NULL; return CUDA_ERROR_INVALID_IMAGE;
    }
}

/* Into the program's log of errors, and once a process on stderr: the error says less. */
static void tell(const char *why, unsigned num_options, const CUjit_option *options, void **values)
{
    static bool told; /* under the lock */
    char *log = NULL;
    size_t room = 0;
    void **size = NULL;
    for (unsigned i = 0; i < num_options; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = &values[i];
    }
    if (size != NULL) room = (size_t)(uintptr_t)*size;
    if (log != NULL && room > 0) {
        snprintf(log, room, "%s", why);
        *size = (void *)(uintptr_t)(strlen(log) + 1);
    }
    if (!told) fprintf(stderr, "culvert: a module is not loaded: %s\n", why);
    told = true;
}

CUresult soft_code_refuse(const void *code, unsigned num_options, const CUjit_option *options,
                          void **values)
{
    const char *why;
    CUresult result = refusal(kind_of(code), &why);
    if (why != NULL) tell(why, num_options, options, values);
    return result;
}

CUresult soft_code_open(const void *code, unsigned num_options, const CUjit_option *options,
                        void **values, struct soft_image *out, size_t *size)
{
    const size_t found = soft_image_size(code);
    if (size != NULL) *size = found;
    return found == 0 ? soft_code_refuse(code, num_options, options, values)
                      : soft_image_open_memory(code, found, out);
}

CUresult soft_code_open_file(const char *name, unsigned num_options, const CUjit_option *options,
                             void **values, struct soft_image *out)
{
    char start[4096] = "";
    CUresult result = soft_image_open(name, out);
    if (result != CUDA_ERROR_INVALID_IMAGE) return result;
    FILE *file = fopen(name, "rb");
    if (file == NULL) return result;
    const size_t read = fread(start, 1, sizeof(start) - 1, file);
    fclose(file);
    start[read] = '\0';
    return soft_code_refuse(start, num_options, options, values);
}
