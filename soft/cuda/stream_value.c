/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: words of memory that streams write and wait for (cuStreamWriteValue64 and
 * cuStreamWaitValue64). The word may lie in memory that another process maps, so a wait looks at it
 * again and again. */
#include "graph.h"

#include "../shared/pages.h"

#include <time.h>

struct value_op {
    struct soft_op op;
    struct soft_context *context; /* the stream's */
    _Atomic uint64_t *word;
    uint64_t value;
    unsigned flags;
};

static void store(void *arg)
{
    const struct value_op *op = arg;
    CULV_SOFT_PAGE_RELEASE();
    atomic_store(op->word, op->value);
}

static CUresult run_write(struct soft_op *op)
{
    return soft_guarded(store, op);
}

struct looking {
    const struct value_op *op;
    bool reached;
};

static void look(void *arg)
{
    struct looking *l = arg;
    const struct value_op *op = l->op;
    const uint64_t now = atomic_load(op->word);
    switch (op->flags) {
    case CU_STREAM_WAIT_VALUE_EQ: l->reached = now == op->value; break;
    case CU_STREAM_WAIT_VALUE_AND: l->reached = (now & op->value) != 0; break;
    case CU_STREAM_WAIT_VALUE_NOR: l->reached = ~(now | op->value) != 0; break;
    default: l->reached = (int64_t)(now - op->value) >= 0; break; /* a signed number (cuda.h) */
    }
}

static CUresult run_wait(struct soft_op *base)
{
    const struct value_op *op = (const struct value_op *)(const void *)base;
    struct looking l = {.op = op};
    for (long pause = 2000;; pause = pause < 200000 ? pause * 2 : pause) {
        CUresult result = soft_guarded(look, &l);
        if (result != CUDA_SUCCESS) return result;
        if (l.reached) break;
        if (op->context->dying) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (op->context->error != 0) return CUDA_SUCCESS;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    }
    CULV_SOFT_PAGE_ACQUIRE();
    return CUDA_SUCCESS;
}

/* A wait is given up with the context that it names, and nothing but the streams' context keeps
 * that one alive while a graph's launch runs: they are one here. */
static CUresult admit(struct soft_op *base, const struct soft_context *context)
{
    const struct value_op *op = (const struct value_op *)(const void *)base;
    if (soft_object_find(op->context, SOFT_CONTEXT) == NULL) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return op->context == context ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult submit(const char *call, CUstream handle, CUdeviceptr address, uint64_t value,
                       unsigned flags, bool writes)
{
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_on(call, handle, &stream));
    if (!writes && flags & CU_STREAM_WAIT_VALUE_FLUSH) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (address % sizeof(uint64_t) != 0 || flags > (writes ? 1u : 3u) ||
        soft_range_holding((uintptr_t)address, sizeof(uint64_t)) == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct value_op *op = soft_op_new(sizeof(*op), writes ? run_write : run_wait, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    op->op.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    op->op.admit = admit;
    op->context = soft_stream_context(stream);
    op->word = (_Atomic uint64_t *)(uintptr_t)address;
    op->value = value;
    op->flags = flags;
    return soft_end(soft_submit(stream, op));
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, false);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return submit(__func__, stream, addr, value, flags, true);
}
