/* SPDX-License-Identifier: MIT */
/* culv_kernel_call: a kernel with its parameters, for a stream or for a graphics API's queue. */
#include "core/kernel_call.h"

culv_result culvi_kernel_call_refuse_arg(const culv_kernel_call *call, const char *function,
                                         size_t index)
{
    const culv_kernel_call_arg *arg = &call->args[index];
    return arg->value == NULL ? culvi_kernel_fail_no_value(call->kernel, function, index)
                              : culvi_kernel_check_size(call->kernel, index, arg->size);
}

/* A struct may be padded behind its last member. */
static culv_result read_block(const culv_kernel_call *c, bool in_queue, culvi_kernel_values *out)
{
    const culv_kernel *kernel = c->kernel;
    const void *block = in_queue && c->queue_params != NULL ? c->queue_params : c->params;
    out->count = 0;
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
        culvi_kernel_param(out, i, (const char *)block + kernel->offsets[i]);
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
    if (c->params != NULL && (c->args != NULL || c->num_args > 0))
        return culvi_fail(
            voice, owner->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_kernel_call: args and params are both set; pass the arguments one by one, or all "
            "of them as one block");
    if (c->params != NULL) return read_block(c, in_queue, values);
    if (c->queue_params != NULL || c->params_size > 0)
        return culvi_fail_null(voice, function, "call->params");
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
