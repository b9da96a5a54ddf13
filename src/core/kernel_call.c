/* SPDX-License-Identifier: MIT */
/* culv_kernel_call: a kernel with its parameters, for a stream or for a graphics API's queue. */
#include "core/kernel.h"

#include "base/desc.h"

#include <inttypes.h>
#include <string.h>

static void only_read(void **to, const void *value)
{
    memcpy(to, &value, sizeof value);
}

static culv_result read_args(const culv_kernel_call *c, const char *function, bool in_queue,
                             culvi_kernel_values *out)
{
    const culvi_voice *voice = &c->kernel->owner->device->voice;
    const culv_kernel *kernel = c->kernel;
    if (c->num_args > 0 && c->args == NULL) return culvi_fail_null(voice, function, "call->args");
    culv_result result = culvi_kernel_check_count(kernel, c->num_args);
    if (result != CULV_OK) return result;
    for (size_t i = 0; i < c->num_args; i++) {
        const culv_kernel_call_arg *arg = &c->args[i];
        const void *value = in_queue && arg->queue_value != NULL ? arg->queue_value : arg->value;
        if (arg->value == NULL) return culvi_kernel_fail_no_value(kernel, function, i);
        if (kernel->params_known && arg->size != kernel->sizes[i])
            return culvi_kernel_check_size(kernel, i, arg->size);
        only_read(&out->params[i], value);
    }
    out->count = c->num_args;
    return CULV_OK;
}

/* A struct may be padded behind its last member. */
static culv_result read_block(const culv_kernel_call *c, bool in_queue, culvi_kernel_values *out)
{
    const culv_kernel *kernel = c->kernel;
    const void *block = in_queue && c->queue_params != NULL ? c->queue_params : c->params;
    if (!kernel->params_known) {
        out->block = block;
        out->block_size = c->params_size;
        return CULV_OK;
    }
    if (c->params_size < kernel->params_size || c->params_size - kernel->params_size >= 16)
        return culvi_fail(&kernel->owner->device->voice, kernel->owner->label, CULV_ERROR_INVALID,
                          CULV_REASON_KERNEL,
                          "the arguments of the kernel '%s' are a block of %" PRIu32
                          " bytes, and culv_kernel_call.params_size is %zu",
                          kernel->name, kernel->params_size, c->params_size);
    for (uint32_t i = 0; i < kernel->num_params; i++)
        only_read(&out->params[i], (const char *)block + kernel->offsets[i]);
    out->count = kernel->num_params;
    return CULV_OK;
}

culv_result culvi_kernel_call_read(const culv_kernel_call *call, const char *function,
                                   bool in_queue, culv_kernel **kernel, culvi_kernel_shape *shape,
                                   culvi_kernel_values *values)
{
    /* A launch costs little more than this call: a struct that this library knows is read where it
     * is. */
    const culv_kernel_call *c = call;
    culv_kernel_call known;
    if (call->struct_size != sizeof known) {
        culv_result result = culvi_desc_read(NULL, &known, sizeof known, call, "culv_kernel_call");
        if (result != CULV_OK) return result;
        c = &known;
    }
    if (c->kernel == NULL) return culvi_fail_null(NULL, function, "call->kernel");
    const culv_kernels *owner = c->kernel->owner;
    if (c->params != NULL && (c->args != NULL || c->num_args > 0))
        return culvi_fail(
            &owner->device->voice, owner->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_kernel_call: args and params are both set; pass the arguments one by one, or all "
            "of them as one block");
    if (c->params == NULL && (c->queue_params != NULL || c->params_size > 0))
        return culvi_fail_null(&owner->device->voice, function, "call->params");
    for (unsigned i = 0; i < 3; i++) {
        shape->grid[i] = c->grid[i] != 0 ? c->grid[i] : 1;
        shape->block[i] = c->block[i] != 0 ? c->block[i] : 1;
    }
    shape->shared_bytes = c->shared_bytes;
    *kernel = c->kernel;
    values->count = 0;
    values->block = NULL;
    return c->params != NULL ? read_block(c, in_queue, values)
                             : read_args(c, function, in_queue, values);
}

culv_result culv_kernel_call_launch(const culv_kernel_call *call, CUstream stream)
{
    culv_kernel *kernel;
    culvi_kernel_shape shape;
    culvi_kernel_values values;
    CULVI_REQUIRE(NULL, call);
    culv_result result = culvi_kernel_call_read(call, __func__, false, &kernel, &shape, &values);
    if (result != CULV_OK) return result;
    culv_launch_desc d = culv_launch_desc_init();
    memcpy(d.grid, shape.grid, sizeof d.grid);
    memcpy(d.block, shape.block, sizeof d.block);
    d.shared_bytes = shape.shared_bytes;
    d.stream = stream;
    if (values.block == NULL) return culvi_kernel_start(kernel, &d, values.params, NULL);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &values.block_size, CU_LAUNCH_PARAM_END};
    only_read(&extra[1], values.block);
    return culvi_kernel_start(kernel, &d, NULL, extra);
}
