/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: launches of graphs.
 *
 * A launch puts the first branch into its stream and each other one into a stream of the graph's
 * own, with points where one branch depends on another, so that a branch that waits for a semaphore
 * keeps no other one from running. It shares the work of the nodes as it is then: what is set later
 * is for later launches. */
#include "graph.h"

#include <stdlib.h>

/* A node in a launch. */
struct node_op {
    struct soft_op op;
    struct soft_op *work;
    void *extra; /* of work->place */
};

static CUresult run_node(struct soft_op *op)
{
    struct soft_op *work = ((struct node_op *)(void *)op)->work;
    return work->run == NULL ? CUDA_SUCCESS : work->run(work);
}

static void recall_node(struct soft_op *op)
{
    struct soft_op *work = ((struct node_op *)(void *)op)->work;
    if (work != NULL) soft_op_recall(work);
}

static void retire_node(struct soft_op *op)
{
    struct node_op *node = (struct node_op *)(void *)op;
    if (node->extra != NULL) node->work->complete(node->extra);
    soft_work_drop(node->work);
}

static CUresult place_node(struct soft_op *op, struct soft_stream *stream)
{
    struct node_op *node = (struct node_op *)(void *)op;
    if (node->work == NULL || node->work->place == NULL) return CUDA_SUCCESS;
    return node->work->place(node->work, op, stream, &node->extra);
}

static void settle_node(struct node_op *node)
{
    if (node->extra != NULL) node->work->settle(node->work, node->extra);
}

/* The end of a launch: until then the program's objects are needed. */
struct end_op {
    struct soft_op op;
    struct soft_users *users;
};

static void retire_end(struct soft_op *op)
{
    soft_users_drop(((struct end_op *)(void *)op)->users);
}

static struct soft_op *work_of(const struct soft_exec_node *node)
{
    return node->enabled ? node->work : NULL;
}

static CUresult admit(const struct soft_exec *exec)
{
    for (size_t i = 0; i < exec->num_nodes; i++) {
        struct soft_op *work = work_of(&exec->nodes[i]);
        CUresult result = work == NULL ? CUDA_SUCCESS : soft_op_admit(work, exec->object.context);
        if (result == CUDA_SUCCESS) continue;
        while (i-- > 0)
            if (work_of(&exec->nodes[i]) != NULL) soft_op_recall(work_of(&exec->nodes[i]));
        return result;
    }
    return CUDA_SUCCESS;
}

/* What a launch is made of: an operation for each node, one before them all and one after. */
struct launch {
    struct soft_op *start, *end;
    struct soft_op **ops;
    uint64_t *seqs; /* of the nodes, in their streams */
};

static void free_launch(const struct soft_exec *exec, struct launch *launch)
{
    for (size_t i = 0; launch->ops != NULL && i < exec->num_nodes; i++)
        if (launch->ops[i] != NULL) soft_op_drop(launch->ops[i]);
    if (launch->start != NULL) soft_op_drop(launch->start);
    if (launch->end != NULL) soft_op_drop(launch->end);
    free(launch->ops);
    free(launch->seqs);
}

static struct soft_op *make_node_op(const struct soft_exec_node *node)
{
    struct soft_op *work = work_of(node);
    struct node_op *op = soft_op_new(sizeof(*op), work == NULL ? NULL : run_node, retire_node);
    if (op == NULL) return NULL;
    op->work = soft_work_share(work);
    op->op.recall = recall_node; /* they are admitted together, before the first is submitted */
    return &op->op;
}

static CUresult make_launch(const struct soft_exec *exec, struct launch *out)
{
    struct end_op *end = soft_op_new(sizeof(*end), NULL, retire_end);
    if (end == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    end->users = soft_users_share(exec->users);
    struct launch launch = {.start = soft_op_new(sizeof(*launch.start), NULL, NULL),
                            .end = &end->op,
                            .ops = calloc(exec->num_nodes + 1, sizeof(struct soft_op *)),
                            .seqs = calloc(exec->num_nodes + 1, sizeof(*launch.seqs))};
    bool made = launch.start != NULL && launch.ops != NULL && launch.seqs != NULL;
    for (size_t i = 0; made && i < exec->num_nodes; i++) {
        launch.ops[i] = make_node_op(&exec->nodes[i]);
        made = launch.ops[i] != NULL;
    }
    if (!made) {
        free_launch(exec, &launch);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = launch;
    return CUDA_SUCCESS;
}

/* Submits `*op`, which is the stream's from then on. */
static CUresult submit(struct soft_stream *stream, struct soft_op **op)
{
    struct soft_op *these = *op;
    *op = NULL;
    return soft_submit(stream, these);
}

static CUresult submit_launch(struct soft_exec *exec, struct soft_stream *stream,
                              struct launch *launch)
{
    CUresult result = CUDA_SUCCESS;
    exec->streams[0] = stream;
    if (exec->last.stream != NULL)
        result = soft_op_add_point(launch->start, exec->last.stream, exec->last.seq);
    if (result == CUDA_SUCCESS) result = submit(stream, &launch->start);
    const uint64_t start = soft_stream_submitted(stream);
    for (size_t i = 0; result == CUDA_SUCCESS && i < exec->num_nodes; i++) {
        const struct soft_exec_node *node = &exec->nodes[i];
        struct soft_stream *own = exec->streams[node->branch];
        if (node->branch > 0) result = soft_op_add_point(launch->ops[i], stream, start);
        for (size_t j = 0; result == CUDA_SUCCESS && j < node->num_before; j++) {
            struct soft_stream *other = exec->streams[exec->nodes[node->before[j]].branch];
            if (other != own)
                result = soft_op_add_point(launch->ops[i], other, launch->seqs[node->before[j]]);
        }
        struct node_op *op = (struct node_op *)(void *)launch->ops[i];
        if (result == CUDA_SUCCESS) result = place_node(&op->op, own);
        if (result == CUDA_SUCCESS) result = submit(own, &launch->ops[i]);
        /* Submitted, it cannot end before the lock is given up. */
        if (result == CUDA_SUCCESS) settle_node(op);
        launch->seqs[i] = soft_stream_submitted(own);
    }
    for (size_t i = 1; result == CUDA_SUCCESS && i < exec->num_branches; i++)
        result = soft_op_add_point(launch->end, exec->streams[i],
                                   soft_stream_submitted(exec->streams[i]));
    if (result == CUDA_SUCCESS) result = submit(stream, &launch->end);
    if (exec->last.stream != NULL) soft_stream_unref(exec->last.stream);
    exec->last = (struct soft_point){.stream = soft_stream_ref(stream),
                                     .seq = soft_stream_submitted(stream)};
    exec->streams[0] = NULL;
    return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct launch launch;
    CUresult result = soft_begin_stream(__func__, hStream, &context);
    if (result != CUDA_SUCCESS) return result;
    struct soft_exec *exec = soft_object_find(hGraph, SOFT_EXEC);
    if (exec == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, hStream, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (soft_stream_context(stream) != exec->object.context)
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (soft_stream_place(stream)->capture != NULL) {
        soft_capture_break(soft_stream_place(stream)->capture);
        return soft_end(
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* the twin has no nodes of graphs */
    }
    result = soft_capture_allows_legacy(stream);
    if (result == CUDA_SUCCESS) result = make_launch(exec, &launch);
    if (result != CUDA_SUCCESS) return soft_end(result);
    /* All workers first: once a part of the launch is on its way, only lack of memory can stop the
     * rest. */
    bool started = soft_stream_start(stream);
    for (size_t i = 1; started && i < exec->num_branches; i++)
        started = soft_stream_start(exec->streams[i]);
    result = started ? admit(exec) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        result = submit_launch(exec, stream, &launch);
        for (size_t i = exec->num_nodes; result != CUDA_SUCCESS && i-- > 0;)
            if (launch.ops[i] != NULL)
                soft_op_recall(launch.ops[i]); /* those that did not come to it */
    }
    free_launch(exec, &launch);
    return soft_end(result);
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_begin_stream(__func__, hStream, &context);
    if (result != CUDA_SUCCESS) return result;
    if (soft_object_find(hGraph, SOFT_EXEC) == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    return soft_end(
        soft_stream_get(context, hStream, &stream)); /* there is nothing to carry anywhere */
}
