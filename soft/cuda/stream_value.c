/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: words of memory that streams write and wait for (cuStreamWriteValue64 and
 * its like). The word may lie in memory that another process maps, so a wait looks at it again and
 * again. */
#include "soft.h"

#include "../shared/timeline_page.h"

#include <time.h>

struct value_op {
    struct soft_op op;
    uintptr_t address;
    uint64_t value;
    unsigned flags;
    bool wide, writes;
};

static uint64_t load(const struct value_op *op)
{
    return op->wide ? atomic_load((_Atomic uint64_t *)op->address)
                    : atomic_load((_Atomic uint32_t *)op->address);
}

static bool reached(const struct value_op *op)
{
    const uint64_t now = load(op), mask = op->wide ? UINT64_MAX : UINT32_MAX;
    switch (op->flags) {
    case CU_STREAM_WAIT_VALUE_EQ: return now == op->value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & op->value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return (~(now | op->value) & mask) != 0;
    default: /* the difference as a signed number (cuda.h) */
        return op->wide ? (int64_t)(now - op->value) >= 0
                        : (int32_t)(uint32_t)(now - op->value) >= 0;
    }
}

static void store(void *arg)
{
    const struct value_op *op = arg;
    CULV_SOFT_PAGE_RELEASE();
    if (op->wide)
        atomic_store((_Atomic uint64_t *)op->address, op->value);
    else
        atomic_store((_Atomic uint32_t *)op->address, (uint32_t)op->value);
}

struct looking {
    const struct value_op *op;
    bool reached;
};

static void look(void *arg)
{
    struct looking *l = arg;
    l->reached = reached(l->op);
}

static CUresult run(struct soft_op *base)
{
    struct value_op *op = (struct value_op *)(void *)base;
    const struct soft_context *context = soft_stream_context(base->stream);
    if (op->writes) return soft_guarded(store, op);
    for (long pause = 2000;; pause = pause < 200000 ? pause * 2 : pause) {
        struct looking l = {.op = op};
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

static CUresult submit(const char *call, CUstream handle, CUdeviceptr address, uint64_t value,
                       unsigned flags, bool wide, bool writes)
{
    struct soft_context *context;
    struct soft_stream *stream;
    const size_t size = wide ? 8 : 4;
    CUresult result = soft_begin_stream(call, handle, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (!writes && flags & CU_STREAM_WAIT_VALUE_FLUSH) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (address % size != 0 || flags > (writes ? 1u : 3u) ||
        soft_range_holding((uintptr_t)address, size) == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct value_op *op = soft_op_new(sizeof(*op), run, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    op->address = (uintptr_t)address;
    op->value = value;
    op->flags = flags;
    op->wide = wide;
    op->writes = writes;
    return soft_end(soft_submit(stream, op));
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, false, false);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, false, true);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, true, false);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, true, true);
}
