/* SPDX-License-Identifier: MIT */
/* How a culv_kernel_call is read. To record a launch takes half a microsecond: what comes
 * before it is inlined, and refusals are made elsewhere (kernel.c). */
#ifndef CULVI_CORE_KERNEL_CALL_H_
#define CULVI_CORE_KERNEL_CALL_H_

#include "core/kernel.h"

/* A call with its arguments, checked, as one of the two ways takes them. */
typedef struct culvi_kernel_values {
    const culv_kernel_call *call;       /* the caller's, or `storage` */
    culv_kernel_call storage;           /* for an older or newer struct; else not written */
    size_t count;                       /* of params */
    void *params[CULV_KERNEL_ARGS_MAX]; /* only read */
    const void *block; /* in place of params, where the parameters' places are not known */
    size_t block_size;
} culvi_kernel_values;

/* Reads the arguments of a call that is not plain: it may have a block of them, or mistakes. */
culv_result culvi_kernel_call_read_other(const culv_kernel_call *call, const char *function,
                                         bool in_queue, culvi_kernel_values *values);
culv_result culvi_kernel_call_refuse_arg(const culv_kernel_call *call, const char *function,
                                         size_t index);

/* A dimension of 0 in a grid or a block means 1. The caller has just written the dimensions one by
 * one: a wider load would wait for its stores. */
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
    const culv_kernel_call_arg *args = c->args;
    const size_t count = c->num_args;
    for (size_t i = 0; i < count; i++) {
        const culv_kernel_call_arg *arg = &args[i];
        if (arg->value == NULL || (known && arg->size != kernel->sizes[i]))
            return culvi_kernel_call_refuse_arg(c, function, i);
        culvi_kernel_param(out, i,
                           in_queue && arg->queue_value != NULL ? arg->queue_value : arg->value);
    }
    out->block = NULL;
    out->count = count;
    return CULV_OK;
}

/* Whether it is as most are: one value for each parameter that the driver told. */
static inline bool culvi_kernel_call_is_plain(const culv_kernel_call *c)
{
    return c->kernel != NULL && c->args != NULL && ((uintptr_t)c->params | c->params_size) == 0 &&
           c->kernel->params_known && c->num_args == c->kernel->num_params;
}

/* Reads a call of the public function `function`; with `in_queue` it takes the values that are a
 * graphics API's own. */
static inline culv_result culvi_kernel_call_read(const culv_kernel_call *call, const char *function,
                                                 bool in_queue, culvi_kernel_values *out)
{
    if (call->struct_size != sizeof *call) {
        culv_result result =
            culvi_desc_read(NULL, &out->storage, sizeof out->storage, call, "culv_kernel_call");
        if (result != CULV_OK) return result;
        call = &out->storage;
    }
    out->call = call;
    return culvi_kernel_call_is_plain(call)
               ? culvi_kernel_call_read_args(call, function, in_queue, true, out)
               : culvi_kernel_call_read_other(call, function, in_queue, out);
}

#endif
