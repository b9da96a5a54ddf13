/* SPDX-License-Identifier: MIT */
/* How a culv_kernel_call is read. To record a launch takes a third of a microsecond: what comes
 * before it is inlined, and refusals are made elsewhere (kernel_call.c). */
#ifndef CULVI_CORE_KERNEL_CALL_H_
#define CULVI_CORE_KERNEL_CALL_H_

#include "core/kernel.h"

#include <string.h>

/* The arguments, checked, as one of the two ways takes them. */
typedef struct culvi_kernel_values {
    size_t count;                       /* of params */
    void *params[CULV_KERNEL_ARGS_MAX]; /* only read */
    const void *block; /* in place of params, where the parameters' places are not known */
    size_t block_size;
} culvi_kernel_values;

/* How much of a kernel is launched: a call's zeros are ones here. */
typedef struct culvi_kernel_shape {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
} culvi_kernel_shape;

/* Reads what is not a list of arguments of a struct that this library knows: an older or newer
 * struct, for which *storage is there, and a block of arguments. */
culv_result culvi_kernel_call_read_other(const culv_kernel_call **call, culv_kernel_call *storage,
                                         const char *function, bool in_queue,
                                         culvi_kernel_values *values);
culv_result culvi_kernel_call_refuse_arg(const culv_kernel_call *call, const char *function,
                                         size_t index);

/* The caller has just written them one by one: a wider load would wait for its stores. */
static inline uint32_t culvi_at_least_one(const volatile uint32_t *number)
{
    const uint32_t n = *number;
    return n + (n == 0);
}

/* The drivers take pointers to what they only read. */
static inline void culvi_kernel_param(culvi_kernel_values *values, size_t index, const void *value)
{
    memcpy(&values->params[index], &value, sizeof value);
}

static inline culv_result culvi_kernel_call_read_args(const culv_kernel_call *c,
                                                      const char *function, bool in_queue,
                                                      bool known, culvi_kernel_values *out)
{
    const culv_kernel *kernel = c->kernel;
    for (size_t i = 0; i < c->num_args; i++) {
        const culv_kernel_call_arg *arg = &c->args[i];
        if (arg->value == NULL || (known && arg->size != kernel->sizes[i]))
            return culvi_kernel_call_refuse_arg(c, function, i);
        culvi_kernel_param(out, i,
                           in_queue && arg->queue_value != NULL ? arg->queue_value : arg->value);
    }
    out->count = c->num_args;
    return CULV_OK;
}

/* Reads the caller's call and checks everything but the limits. The values may point into it. */
static inline culv_result culvi_kernel_call_read(const culv_kernel_call *call, const char *function,
                                                 bool in_queue, culv_kernel **kernel,
                                                 culvi_kernel_shape *shape,
                                                 culvi_kernel_values *values)
{
    culv_kernel_call storage;
    culv_result result;
    values->block = NULL;
    if (call->struct_size == sizeof storage && call->kernel != NULL && call->args != NULL &&
        ((uintptr_t)call->params | (uintptr_t)call->queue_params | call->params_size) == 0 &&
        call->kernel->params_known && call->num_args == call->kernel->num_params)
        result = culvi_kernel_call_read_args(call, function, in_queue, true, values);
    else
        result = culvi_kernel_call_read_other(&call, &storage, function, in_queue, values);
    if (result != CULV_OK) return result;
    *kernel = call->kernel;
    for (unsigned i = 0; i < 3; i++) {
        shape->grid[i] = culvi_at_least_one(&call->grid[i]);
        shape->block[i] = culvi_at_least_one(&call->block[i]);
    }
    shape->shared_bytes = call->shared_bytes;
    return CULV_OK;
}

#endif
