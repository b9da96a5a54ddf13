/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: words of memory that streams write and wait for (cuStreamWriteValue64 and
 * its like). The word may lie in memory that another process maps, so a wait looks at it again and
 * again. */
#include "graph.h"

#include "../shared/pages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct value { /* one word of a batch */
    uintptr_t address;
    uint64_t value;
    unsigned flags;
    bool wide, writes;
};

struct values_op {
    struct soft_op op;
    struct soft_context *context;     /* that of the stream, or of the graph's node */
    CUstreamBatchMemOpParams *params; /* as a graph's node tells them; NULL: no node */
    unsigned count, num_params;
    struct value values[];
};

static uint64_t load(const struct value *value)
{
    return value->wide ? atomic_load((_Atomic uint64_t *)value->address)
                       : atomic_load((_Atomic uint32_t *)value->address);
}

static bool reached(const struct value *value)
{
    const uint64_t now = load(value), mask = value->wide ? UINT64_MAX : UINT32_MAX;
    switch (value->flags) {
    case CU_STREAM_WAIT_VALUE_EQ: return now == value->value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value->value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return (~(now | value->value) & mask) != 0;
    default: /* the difference as a signed number (cuda.h) */
        return value->wide ? (int64_t)(now - value->value) >= 0
                           : (int32_t)(uint32_t)(now - value->value) >= 0;
    }
}

static void store(void *arg)
{
    const struct value *value = arg;
    CULV_SOFT_PAGE_RELEASE();
    if (value->wide)
        atomic_store((_Atomic uint64_t *)value->address, value->value);
    else
        atomic_store((_Atomic uint32_t *)value->address, (uint32_t)value->value);
}

struct looking {
    const struct value *value;
    bool reached;
};

static void look(void *arg)
{
    struct looking *l = arg;
    l->reached = reached(l->value);
}

static CUresult wait_for(const struct value *value, const struct soft_context *context)
{
    for (long pause = 2000;; pause = pause < 200000 ? pause * 2 : pause) {
        struct looking l = {.value = value};
        CUresult result = soft_guarded(look, &l);
        if (result != CUDA_SUCCESS) return result;
        if (l.reached) break;
        if (context->dying) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->error != 0) return CUDA_SUCCESS;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    }
    CULV_SOFT_PAGE_ACQUIRE();
    return CUDA_SUCCESS;
}

/* One after the other, which is one of the orders that a batch may have. */
static CUresult run(struct soft_op *base)
{
    struct values_op *op = (struct values_op *)(void *)base;
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < op->count; i++)
        result = op->values[i].writes ? soft_guarded(store, &op->values[i])
                                      : wait_for(&op->values[i], op->context);
    return result;
}

static CUresult check(const struct value *value)
{
    const size_t size = value->wide ? 8 : 4;
    if (!value->writes && value->flags & CU_STREAM_WAIT_VALUE_FLUSH)
        return CUDA_ERROR_NOT_SUPPORTED;
    return value->address % size != 0 || value->flags > (value->writes ? 1u : 3u) ||
                   soft_range_holding(value->address, size) == NULL
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static CUresult read_param(const CUstreamBatchMemOpParams *p, struct value *out, bool *has_value)
{
    *has_value = true;
    switch ((int)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        out->wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        out->address = (uintptr_t)p->waitValue.address;
        out->value = out->wide ? p->waitValue.value64 : p->waitValue.value;
        out->flags = p->waitValue.flags;
        out->writes = false;
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        out->wide = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
        out->address = (uintptr_t)p->writeValue.address;
        out->value = out->wide ? p->writeValue.value64 : p->writeValue.value;
        out->flags = p->writeValue.flags;
        out->writes = true;
        break;
    case CU_STREAM_MEM_OP_BARRIER: /* they have an order in any case */
        *has_value = false;
        return p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED; /* the attribute */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return check(out);
}

/* cuda.h: fewer than 256 operations. */
static CUresult make_batch(struct soft_context *context, const CUstreamBatchMemOpParams *params,
                           unsigned count, unsigned flags, struct values_op **out)
{
    if (count == 0 || count >= 256 || params == NULL || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    struct values_op *op = soft_op_new(sizeof(*op) + count * sizeof(op->values[0]), run, NULL);
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    op->context = context;
    for (unsigned i = 0; i < count; i++) {
        bool has_value;
        CUresult result = read_param(&params[i], &op->values[op->count], &has_value);
        if (result != CUDA_SUCCESS) {
            soft_op_drop(op);
            return result;
        }
        if (has_value) op->count++;
    }
    *out = op;
    return CUDA_SUCCESS;
}

static void retire_node(struct soft_op *base)
{
    free(((struct values_op *)(void *)base)->params);
}

/* A node's wait is given up with the context that it names, and nothing but the streams' context
 * keeps that one alive while a launch runs: they are one here. */
static CUresult admit_node(struct soft_op *base, const struct soft_context *context)
{
    const struct values_op *op = (const struct values_op *)(const void *)base;
    if (soft_object_find(op->context, SOFT_CONTEXT) == NULL) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return op->context == context ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Drops the operation, if there is no memory. */
static CUresult become_node(struct values_op *op, const CUstreamBatchMemOpParams *params,
                            unsigned count)
{
    op->params = calloc(count, sizeof(*op->params));
    if (op->params == NULL) {
        soft_op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(op->params, params, count * sizeof(*op->params));
    op->num_params = count;
    op->op.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    op->op.retire = retire_node;
    op->op.admit = admit_node;
    return CUDA_SUCCESS;
}

static CUresult submit(const char *call, CUstream handle, const CUstreamBatchMemOpParams *params,
                       unsigned count, unsigned flags)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct values_op *op;
    CUresult result = soft_begin_stream(call, handle, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = make_batch(soft_stream_context(stream), params, count, flags, &op);
    if (result == CUDA_SUCCESS && soft_stream_captured(stream))
        result = become_node(op, params, count);
    return soft_end(result == CUDA_SUCCESS ? soft_submit(stream, op) : result);
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return submit(__func__, stream, paramArray, count, flags);
}

/* waitValue and writeValue have one layout. */
static CUresult submit_one(const char *call, CUstream stream, CUstreamBatchMemOpType operation,
                           CUdeviceptr address, uint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams one;
    memset(&one, 0, sizeof one);
    one.operation = operation;
    one.writeValue.address = address;
    one.writeValue.value64 = value;
    one.writeValue.flags = flags;
    return submit(call, stream, &one, 1, 0);
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags)
{
    return submit_one(__func__, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return submit_one(__func__, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return submit_one(__func__, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return submit_one(__func__, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult soft_batch_make(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct soft_op **out)
{
    struct values_op *op;
    struct soft_context *context =
        params->ctx == NULL ? soft_context_current() : soft_context_find(params->ctx);
    if (context == NULL) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = make_batch(context, params->paramArray, params->count, params->flags, &op);
    if (result != CUDA_SUCCESS) return result;
    result = become_node(op, params->paramArray, params->count);
    if (result == CUDA_SUCCESS) *out = &op->op;
    return result;
}

void soft_batch_params(const struct soft_op *work, CUDA_BATCH_MEM_OP_NODE_PARAMS *out)
{
    const struct values_op *op = (const struct values_op *)(const void *)work;
    *out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
        .ctx = (CUcontext)(void *)op->context, .count = op->num_params, .paramArray = op->params};
}
