/* SPDX-License-Identifier: MIT */
/* culv_kernels: files of kernels, the kernels in them, and their launch. */
#include "core/kernel.h"
#include "core/kernel_call.h"

#include <stdio.h>

static culv_kernels *new_kernels(culv_device *device, const char *object, const char *label)
{
    culv_kernels *made = culvi_alloc_for(&device->voice, object, sizeof *made);
    if (made == NULL) return NULL;
    culvi_mutex_init(&made->lock);
    made->device = device;
    culvi_label_set(made->label, label);
    return made;
}

static void free_kernels(culv_kernels *kernels)
{
    for (culv_kernel *kernel = kernels->kernels, *next; kernel != NULL; kernel = next) {
        next = kernel->next;
        culvi_free(kernel);
    }
    culvi_mutex_destroy(&kernels->lock);
    culvi_free(kernels->image);
    culvi_free(kernels);
}

static bool release(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_kernels *kernels = CULVI_CONTAINER(self, culv_kernels, deferred);
    if (!CULVI_RELEASED(device, last_try, cuModuleUnload, (kernels->module))) return false;
    free_kernels(kernels);
    return true;
}

static const char *last_part(const char *path)
{
    const char *part = path;
    for (const char *at = path; *at != '\0'; at++)
        if (*at == '/' || *at == '\\') part = at + 1;
    return part;
}

/* Takes `made`, which has an image, also when it fails. `name` is the file's path, or what stands
 * in its place. */
static culv_result load(culv_kernels *made, const char *name, culv_kernels **out)
{
    culv_device *device = made->device;
    culvi_scope scope;
    culv_result result = culvi_enter(device, &scope, made->label);
    if (result == CULV_OK) {
        CUresult r = CULVI_CU(device, cuModuleLoadData, (&made->module, made->image));
        if (r != CUDA_SUCCESS)
            result =
                culvi_kernel_file_fail(device, name, made->label, made->image, made->image_size, r);
        culvi_leave(device, &scope);
    }
    CULVI_TRY_OR(result, free_kernels(made));
    made->deferred.release = release;
    atomic_init(&made->refs, 1);
    culvi_device_ref(device);
    culvi_made(device, &made->deferred, "kernels", made->label, 0);
    *out = made;
    return CULV_OK;
}

/* The file is read once. A graphics API gets the same bytes later, whatever has become of the file
 * and of the current directory by then. */
static culv_result load_file(culv_device *device, const char *path, culv_kernels **out)
{
    culv_kernels *made = new_kernels(device, NULL, last_part(path));
    if (made == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    culv_result result =
        culvi_kernel_file_read(device, path, made->label, &made->image, &made->image_size);
    if (result == CULV_OK)
        result =
            culvi_kernel_kind_check(device, culvi_kernel_data_kind(made->image, made->image_size),
                                    path, made->label, NULL, 0);
    CULVI_TRY_OR(result, free_kernels(made));
    return load(made, path, out);
}

culv_result culv_kernels_load_file(culv_device *device, const char *path, const char *kernel,
                                   culv_kernels **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, path, out);
    return kernel == NULL ? load_file(device, path, out)
                          : culvi_kernels_load_program(device, path, kernel, out);
}

culv_result culv_kernels_load_data(culv_device *device, const void *data, size_t size,
                                   const char *label, culv_kernels **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, data, out);
    const culvi_voice *voice = &device->voice;
    const char *name = label != NULL ? label : "data";
    CULVI_REFUSE_IF(size == 0, voice, label, CULV_REASON_SIZE, "culv_kernels_load_data: size is 0");
    const culvi_kernel_file kind = culvi_kernel_data_kind(data, size);
    CULVI_TRY(culvi_kernel_kind_check(device, kind, name, label, data, size));
    if (size == SIZE_MAX) return culvi_fail_host_memory(voice, label);
    culv_kernels *made = new_kernels(device, label, name);
    if (made == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    made->image = culvi_alloc(size + 1); /* zeroed: PTX gets its end */
    if (made->image == NULL) {
        free_kernels(made);
        return culvi_fail_host_memory(voice, label);
    }
    memcpy(made->image, data, size);
    made->image_size = size + (kind == CULVI_FILE_PTX && made->image[size - 1] != 0);
    return load(made, made->label, out);
}

culv_result culv_kernels_load(culv_device *device, const char *directory, const char *name,
                              culv_kernels **out)
{
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE3(&device->voice, directory, name, out);
    const char *suffix = device->caps.is_software ? "soft.so" : "fatbin";
    const size_t a = strlen(directory), b = strlen(name), rest = sizeof "/." + strlen(suffix);
    CULVI_REFUSE_IF(b == 0, &device->voice, NULL, CULV_REASON_VALUE,
                    "culv_kernels_load: name is empty");
    if (a > SIZE_MAX - rest || b > SIZE_MAX - rest - a)
        return culvi_fail_host_memory(&device->voice, NULL);
    char *path = culvi_alloc(a + b + rest);
    if (path == NULL) return culvi_fail_host_memory(&device->voice, NULL);
    const bool bare = a == 0 || directory[a - 1] == '/';
    snprintf(path, a + b + rest, "%s%s%s.%s", directory, bare ? "" : "/", name, suffix);
    culv_result result = load_file(device, path, out);
    culvi_free(path);
    return result;
}

void culv_kernels_unload(culv_kernels **kernels)
{
    CULVI_TAKE(culv_kernels, mine, kernels);
    culvi_kernels_unref(mine);
}

void culvi_kernels_unref(culv_kernels *kernels)
{
    culv_device *device = kernels->device;
    if (atomic_fetch_sub(&kernels->refs, 1) != 1) return;
    CULVI_LOCKED(&device->lock, culvi_release_or_defer(device, &kernels->deferred, NULL));
    culvi_device_unref(device);
}

CULVI_GETTER(CUfunction, culv_kernel_native_handle, culv_kernel, self->function, NULL)

/* "; it has 'a', 'b'", as far as the driver tells. In the device's context. */
static void add_names(culv_kernels *kernels, culvi_text *text)
{
    culv_device *device = kernels->device;
    const culvi_cuda *cuda = device->cuda;
    CUfunction functions[64];
    unsigned count = 0;
    if (cuda->cuModuleGetFunctionCount == NULL || cuda->cuModuleEnumerateFunctions == NULL ||
        cuda->cuFuncGetName == NULL)
        return;
    if (CULVI_CU(device, cuModuleGetFunctionCount, (&count, kernels->module)) != CUDA_SUCCESS)
        return;
    const unsigned all = count;
    if (count > 64) count = 64;
    if (count == 0 || CULVI_CU(device, cuModuleEnumerateFunctions,
                               (functions, count, kernels->module)) != CUDA_SUCCESS)
        return;
    culvi_text_add(text, "; it has");
    for (unsigned i = 0; i < count; i++) {
        const char *name = NULL;
        if (CULVI_CU(device, cuFuncGetName, (&name, functions[i])) == CUDA_SUCCESS && name != NULL)
            culvi_text_add(text, "%s '%s'", i > 0 ? "," : "", name);
    }
    if (all > count) culvi_text_add(text, " and %u others", all - count);
}

static culv_result fail_get(culv_kernels *kernels, const char *name, CUresult r)
{
    culv_device *device = kernels->device;
    if (r != CUDA_ERROR_NOT_FOUND)
        return culvi_fail_cuda(device, kernels->label, r, "cuModuleGetFunction",
                               CULV_REASON_DRIVER_REFUSED, "the kernel '%s' could not be found",
                               name);
    CULVI_TEXT(text, 512);
    add_names(kernels, &text);
    return culvi_fail_native(
        &device->voice, kernels->label, CULV_ERROR_INVALID, CULV_REASON_KERNEL, CULV_NATIVE_CUDA,
        (int64_t)r, "cuModuleGetFunction", "there is no kernel '%s' in the file%s%s", name,
        text.data,
        device->caps.is_software ? " (CULV_KERNELS at the end of the source lists them)" : "");
}

/* Its parameters. A driver without the call leaves them unknown. */
static CUresult read_params(culv_device *device, culv_kernel *kernel)
{
    if (device->cuda->cuFuncGetParamInfo == NULL) return CUDA_SUCCESS;
    for (uint32_t i = 0; i < CULV_KERNEL_ARGS_MAX; i++) {
        size_t offset = 0, size = 0;
        CUresult r = CULVI_CU(device, cuFuncGetParamInfo, (kernel->function, i, &offset, &size));
        if (r == CUDA_ERROR_INVALID_VALUE) /* one behind the last, or a failure that passes */
            r = CULVI_CU(device, cuFuncGetParamInfo, (kernel->function, i, &offset, &size));
        if (r == CUDA_ERROR_INVALID_VALUE) {
            kernel->params_known = true;
            return CUDA_SUCCESS;
        }
        if (r != CUDA_SUCCESS) return r;
        if (size > UINT32_MAX || offset > UINT32_MAX - size) return CUDA_SUCCESS;
        kernel->sizes[i] = (uint32_t)size;
        kernel->offsets[i] = (uint32_t)offset;
        kernel->params_size = (uint32_t)(offset + size);
        kernel->num_params = i + 1;
    }
    return CUDA_SUCCESS;
}

CUresult culvi_kernel_read_clusters(culv_device *device, CUfunction function,
                                    culvi_kernel_clusters *out)
{
    static const CUfunction_attribute which[] = {
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET};
    int values[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        CUresult r = CULVI_CU(device, cuFuncGetAttribute, (&values[i], which[i], function));
        if (r == CUDA_ERROR_INVALID_VALUE) /* before CUDA 11.8, or a failure that passes */
            r = CULVI_CU(device, cuFuncGetAttribute, (&values[i], which[i], function));
        if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE) return r;
        if (r != CUDA_SUCCESS || values[i] < 0) values[i] = 0;
    }
    out->needed = (values[0] | values[1] | values[2] | values[3]) != 0;
    for (unsigned i = 0; i < 3; i++)
        out->size[i] = (uint32_t)values[i];
    return CUDA_SUCCESS;
}

culv_result culvi_kernel_refuse_clusters(const culvi_voice *voice, const char *label,
                                         const char *where, const char *kernel,
                                         const culvi_kernel_clusters *clusters)
{
    char size[64] = "";
    if (clusters->size[0] != 0)
        snprintf(size, sizeof size, " of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " blocks",
                 clusters->size[0], clusters->size[1], clusters->size[2]);
    return culvi_fail(
        voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_KERNEL,
        "%sthe kernel '%s' runs in clusters%s (__cluster_dims__), which a queue of a graphics API does not have; launch it on a stream (culv_kernel_call_launch())",
        where, kernel, size);
}

/* Runs in the device's context; the caller holds the kernels' lock. */
static culv_result make_kernel(culv_kernels *kernels, const char *name, culv_kernel **out)
{
    culv_device *device = kernels->device;
    int most = 0, threads = 0, shared = 0;
    const size_t length = strlen(name) + 1;
    culv_kernel *made =
        length > SIZE_MAX - sizeof *made ? NULL : culvi_alloc(sizeof *made + length);
    if (made == NULL) return culvi_fail_host_memory(&device->voice, kernels->label);
    CUresult r = CULVI_CU(device, cuModuleGetFunction, (&made->function, kernels->module, name));
    if (r != CUDA_SUCCESS) {
        culvi_free(made);
        return fail_get(kernels, name, r);
    }
    const char *call = "cuFuncLoad";
    /* Where the driver loads lazily, a load while a stream is held was seen to hold up others. */
    if (device->cuda->cuFuncLoad != NULL) r = CULVI_CU(device, cuFuncLoad, (made->function));
    if (r == CUDA_SUCCESS)
        r = CULVI_CU_AS(call, device, cuFuncGetAttribute,
                        (&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, made->function));
    if (r == CUDA_SUCCESS)
        r = CULVI_CU(device, cuFuncGetAttribute,
                     (&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, made->function));
    if (r == CUDA_SUCCESS)
        r = CULVI_CU(device, cuFuncGetAttribute,
                     (&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, made->function));
    if (r == CUDA_SUCCESS) r = culvi_kernel_read_clusters(device, made->function, &made->clusters);
    if (r == CUDA_SUCCESS) {
        call = "cuFuncGetParamInfo";
        r = read_params(device, made);
    }
    if (r != CUDA_SUCCESS) {
        culvi_free(made);
        return culvi_fail_cuda(
            device, kernels->label, r, call, CULV_REASON_DRIVER_REFUSED,
            "the driver did not load the kernel '%s', or did not tell what it takes", name);
    }
    atomic_init(&made->dynamic_shared, most > 0 ? (unsigned)most : 0);
    made->max_threads = threads > 0 ? (uint32_t)threads : 0;
    made->static_shared = shared > 0 ? (uint32_t)shared : 0;
    memcpy(made->name, name, length);
    made->owner = kernels;
    made->next = kernels->kernels;
    kernels->kernels = made;
    *out = made;
    return CULV_OK;
}

culv_result culv_kernels_get(culv_kernels *kernels, const char *name, culv_kernel **out)
{
    culvi_scope scope;
    CULVI_REQUIRE_WITH2(kernels, &kernels->device->voice, name, out);
    culv_result result = culvi_enter(kernels->device, &scope, kernels->label);
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&kernels->lock);
    culv_kernel *found = kernels->kernels;
    while (found != NULL && strcmp(found->name, name) != 0)
        found = found->next;
    if (found == NULL) result = make_kernel(kernels, name, &found);
    culvi_mutex_unlock(&kernels->lock);
    culvi_leave(kernels->device, &scope);
    if (result == CULV_OK) *out = found;
    return result;
}

culv_result culvi_kernel_check_count(const culv_kernel *kernel, size_t num_args)
{
    const culvi_voice *voice = &kernel->owner->device->voice;
    CULVI_REFUSE_IF(num_args > CULV_KERNEL_ARGS_MAX, voice, kernel->owner->label, CULV_REASON_VALUE,
                    "%zu arguments for the kernel '%s', and CULV_KERNEL_ARGS_MAX is %d", num_args,
                    kernel->name, CULV_KERNEL_ARGS_MAX);
    CULVI_REFUSE_IF(kernel->params_known && num_args != kernel->num_params, voice,
                    kernel->owner->label, CULV_REASON_KERNEL,
                    "the kernel '%s' takes %" PRIu32 " arguments, and %zu were passed",
                    kernel->name, kernel->num_params, num_args);
    return CULV_OK;
}

culv_result culvi_kernel_check_size(const culv_kernel *kernel, size_t index, size_t size)
{
    if (!kernel->params_known || size == kernel->sizes[index]) return CULV_OK;
    return culvi_fail(&kernel->owner->device->voice, kernel->owner->label, CULV_ERROR_INVALID,
                      CULV_REASON_KERNEL,
                      "argument %zu (0 is the first) of the kernel '%s' has %" PRIu32
                      " bytes, and %zu were passed; the value's type must be the parameter's",
                      index, kernel->name, kernel->sizes[index], size);
}

culv_result culvi_kernel_fail_no_value(const culv_kernel *kernel, const char *call, size_t index)
{
    char name[80];
    snprintf(name, sizeof name, "the value of argument %zu (0 is the first)", index);
    return culvi_fail_null(&kernel->owner->device->voice, call, name);
}

static culv_result check_args(const culv_kernel *kernel, const culv_kernel_arg *args,
                              size_t num_args)
{
    culv_result result = culvi_kernel_check_count(kernel, num_args);
    for (size_t i = 0; i < num_args && result == CULV_OK; i++) {
        if (args[i].value == NULL)
            return culvi_kernel_fail_no_value(kernel, "culv_kernel_launch", i);
        result = culvi_kernel_check_size(kernel, i, args[i].size);
    }
    return result;
}

/* A kernel may use more than 48 KiB only if it says so before. Every thread then asks for the same,
 * the most that the kernel can have: so none lowers what another one has asked for, and there is
 * nothing to order. The size is only a limit; a launch takes what it says. */
static CUresult allow_more_shared(culv_device *device, culv_kernel *kernel, uint32_t bytes,
                                  const char **call)
{
    int most = 0;
    CUresult r = CULVI_CU_AS(
        *call, device, cuDeviceGetAttribute,
        (&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device->ordinal));
    if (r != CUDA_SUCCESS) return r;
    most -= (int)kernel->static_shared;
    if (most < 0 || bytes > (uint32_t)most) return CUDA_SUCCESS; /* the launch is refused */
    r = CULVI_CU_AS(*call, device, cuFuncSetAttribute,
                    (kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
    if (r == CUDA_SUCCESS)
        atomic_store_explicit(&kernel->dynamic_shared, (unsigned)most, memory_order_release);
    return r;
}

static culv_result fail_launch(const culv_kernel *kernel, const culv_launch_desc *d, CUresult r,
                               const char *call)
{
    return culvi_fail_cuda(kernel->owner->device, kernel->owner->label, r, call,
                           r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_VALUE
                                                         : CULV_REASON_DRIVER_REFUSED,
                           "the kernel '%s' could not be launched as %" PRIu32 " x %" PRIu32
                           " x %" PRIu32 " blocks of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                           " threads with %" PRIu32 " bytes of dynamic shared memory",
                           kernel->name, d->grid[0], d->grid[1], d->grid[2], d->block[0],
                           d->block[1], d->block[2], d->shared_bytes);
}

culv_result culvi_kernel_start(culv_kernel *kernel, const culv_launch_desc *desc, void **params,
                               void **extra)
{
    culv_launch_desc d = *desc;
    culv_device *device = kernel->owner->device;
    bool pushed = false;
    for (unsigned i = 0; i < 3; i++) {
        if (d.grid[i] == 0) d.grid[i] = 1;
        if (d.block[i] == 0) d.block[i] = 1;
    }
    CULVI_TRY(culvi_enter_any_stream(device, kernel->owner->label, d.stream, NULL, &pushed));
    const char *call = NULL;
    CUresult r = CUDA_SUCCESS;
    if (d.shared_bytes > atomic_load_explicit(&kernel->dynamic_shared, memory_order_acquire))
        r = allow_more_shared(device, kernel, d.shared_bytes, &call);
    if (r == CUDA_SUCCESS) {
        call = "cuLaunchKernel";
        r = device->cuda->cuLaunchKernel(kernel->function, d.grid[0], d.grid[1], d.grid[2],
                                         d.block[0], d.block[1], d.block[2], d.shared_bytes,
                                         d.stream, params, extra);
    }
    culvi_leave_frame(device, pushed);
    return r == CUDA_SUCCESS ? CULV_OK : fail_launch(kernel, &d, r, call);
}

culv_result culv_kernel_launch(culv_kernel *kernel, const culv_launch_desc *desc,
                               const culv_kernel_arg *args, size_t num_args)
{
    void *params[CULV_KERNEL_ARGS_MAX];
    CULVI_REQUIRE(NULL, kernel);
    culv_device *device = kernel->owner->device;
    if (num_args > 0) CULVI_REQUIRE(&device->voice, args);
    CULVI_READ(&device->voice, culv_launch_desc, d, desc);
    CULVI_TRY(check_args(kernel, args, num_args));
    for (size_t i = 0; i < num_args; i++)
        memcpy(&params[i], &args[i].value, sizeof params[i]); /* only read */
    return culvi_kernel_start(kernel, &d, params, NULL);
}

/* culv_kernel_call: a kernel with its parameters, for a stream or for a graphics API's queue --- */

culv_result culvi_kernel_call_refuse_arg(const culv_kernel_call *call, const char *function,
                                         size_t index)
{
    const culv_kernel_call_arg *arg = &call->args[index];
    return arg->value == NULL ? culvi_kernel_fail_no_value(call->kernel, function, index)
                              : culvi_kernel_check_size(call->kernel, index, arg->size);
}

/* A struct may be padded behind its last member. */
static culv_result read_block(const culv_kernel_call *c, culvi_kernel_values *out)
{
    const culv_kernel *kernel = c->kernel;
    out->count = 0;
    if (!kernel->params_known) {
        out->block = c->params;
        out->block_size = c->params_size;
        return CULV_OK;
    }
    CULVI_REFUSE_IF(c->params_size < kernel->params_size ||
                        c->params_size - kernel->params_size >= 16,
                    &kernel->owner->device->voice, kernel->owner->label, CULV_REASON_KERNEL,
                    "the arguments of the kernel '%s' are a block of %" PRIu32
                    " bytes, and culv_kernel_call.params_size is %zu",
                    kernel->name, kernel->params_size, c->params_size);
    for (uint32_t i = 0; i < kernel->num_params; i++)
        culvi_kernel_param(out, i, (const char *)c->params + kernel->offsets[i]);
    out->count = kernel->num_params;
    return CULV_OK;
}

culv_result culvi_kernel_call_read_other(const culv_kernel_call *c, const char *function,
                                         bool in_queue, culvi_kernel_values *values)
{
    values->block = NULL;
    if (c->kernel == NULL) return culvi_fail_null(NULL, function, "call->kernel");
    const culv_kernels *owner = c->kernel->owner;
    const culvi_voice *voice = &owner->device->voice;
    CULVI_REFUSE_IF(
        c->params != NULL && (c->args != NULL || c->num_args > 0), voice, owner->label,
        CULV_REASON_VALUE,
        "culv_kernel_call: args and params are both set; pass the arguments one by one, or all of them as one block");
    if (c->params != NULL) return read_block(c, values);
    if (c->params_size > 0) return culvi_fail_null(voice, function, "call->params");
    if (c->num_args > 0 && c->args == NULL) return culvi_fail_null(voice, function, "call->args");
    CULVI_TRY(culvi_kernel_check_count(c->kernel, c->num_args));
    return culvi_kernel_call_read_args(c, function, in_queue, c->kernel->params_known, values);
}

culv_result culv_kernel_call_launch(const culv_kernel_call *call, CUstream stream)
{
    culvi_kernel_values values;
    CULVI_REQUIRE(NULL, call);
    CULVI_TRY(culvi_kernel_call_read(call, __func__, false, &values));
    culv_launch_desc d = culv_launch_desc_init();
    call = values.call;
    for (unsigned i = 0; i < 3; i++) {
        d.grid[i] = culvi_at_least_one(&call->grid[i]);
        d.block[i] = culvi_at_least_one(&call->block[i]);
    }
    d.shared_bytes = call->shared_bytes;
    d.stream = stream;
    if (values.block == NULL) return culvi_kernel_start(call->kernel, &d, values.params, NULL);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &values.block_size, CU_LAUNCH_PARAM_END};
    memcpy(&extra[1], &values.block, sizeof extra[1]); /* only read */
    return culvi_kernel_start(call->kernel, &d, NULL, extra);
}
