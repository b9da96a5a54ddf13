/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: executable graphs as they are made and changed. Nodes are sorted into
 * branches, each a run of nodes in order. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

void soft_exec_free(void *handle)
{
    struct soft_exec *exec = handle;
    for (size_t i = 0; i < exec->num_nodes; i++) {
        soft_work_drop(exec->nodes[i].work);
        free(exec->nodes[i].before);
    }
    for (size_t i = 1; i < exec->num_branches; i++)
        if (exec->streams[i] != NULL) soft_stream_release(exec->streams[i]);
    if (exec->last.stream != NULL) soft_stream_unref(exec->last.stream);
    soft_users_drop(exec->users);
    soft_object_remove(&exec->object);
    free(exec->nodes);
    free(exec->streams);
    free(exec);
}

/* Marks each node with its place in an order in which all come after what they depend on; false: a
 * cycle. */
static bool sort(struct soft_graph *graph, struct soft_node **sorted)
{
    size_t placed = 0, before = 0;
    for (size_t i = 0; i < graph->num_nodes; i++)
        graph->nodes[i]->mark = SIZE_MAX;
    do {
        before = placed;
        for (size_t i = 0; i < graph->num_nodes; i++) {
            struct soft_node *node = graph->nodes[i];
            size_t j = 0;
            while (j < node->num_before &&
                   ((struct soft_node *)(void *)node->before[j])->mark != SIZE_MAX)
                j++;
            if (node->mark != SIZE_MAX || j < node->num_before) continue;
            node->mark = placed;
            sorted[placed++] = node;
        }
    } while (placed > before && placed < graph->num_nodes);
    return placed == graph->num_nodes;
}

/* A node goes on with the branch of one that it depends on, or with any whose last node comes
 * before it: there are as many branches as may be under way at once, or a few more. */
static CUresult make_branches(struct soft_exec *exec)
{
    const size_t n = exec->num_nodes;
    size_t *tails = calloc(n + 1, sizeof(*tails));
    bool *earlier = calloc(n + 1, sizeof(*earlier));
    CUresult result = tails == NULL || earlier == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    for (size_t i = 0; result == CUDA_SUCCESS && i < n; i++) {
        struct soft_exec_node *node = &exec->nodes[i];
        size_t branch = exec->num_branches;
        for (size_t j = 0; j < node->num_before && branch == exec->num_branches; j++)
            if (tails[exec->nodes[node->before[j]].branch] == node->before[j])
                branch = exec->nodes[node->before[j]].branch;
        if (branch == exec->num_branches && node->num_before > 0) {
            memset(earlier, 0, n * sizeof(*earlier));
            for (size_t j = 0; j < node->num_before; j++)
                earlier[node->before[j]] = true;
            for (size_t k = i; k-- > 0;)
                for (size_t j = 0; earlier[k] && j < exec->nodes[k].num_before; j++)
                    earlier[exec->nodes[k].before[j]] = true;
            for (branch = 0; branch < exec->num_branches && !earlier[tails[branch]];)
                branch++;
        }
        if (branch == exec->num_branches) exec->num_branches++;
        tails[branch] = i;
        node->branch = branch;
    }
    free(tails);
    free(earlier);
    return result;
}

static bool has_semaphores(const struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->num_nodes; i++)
        if (graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL ||
            graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
            return true;
    return false;
}

/* The body of a conditional node is no graph for itself, and takes no semaphores (measured on an
 * H200). No kernel of the twin sets a condition, so that no body with nodes runs here. */
static CUresult check_bodies(const struct soft_graph *graph, CUgraphInstantiateResult *why)
{
    bool filled = graph->is_body;
    for (size_t i = 0; i < graph->num_nodes; i++)
        for (size_t j = 0; j < graph->nodes[i]->num_bodies; j++) {
            const struct soft_graph *body = soft_graph_find(graph->nodes[i]->bodies[j]);
            if (has_semaphores(body)) {
                *why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
                return CUDA_ERROR_INVALID_VALUE;
            }
            if (body->num_nodes > 0) filled = true;
        }
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    return filled ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult copy_node(const struct soft_node *node, struct soft_exec_node *out)
{
    out->before = calloc(node->num_before + 1, sizeof(*out->before));
    if (out->before == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    out->num_before = node->num_before;
    for (size_t i = 0; i < node->num_before; i++)
        out->before[i] = ((const struct soft_node *)(const void *)node->before[i])->mark;
    out->id = node->id;
    out->type = node->type;
    out->work = soft_work_share(node->work);
    return CUDA_SUCCESS;
}

static CUresult instantiate(struct soft_context *context, struct soft_graph *graph,
                            CUgraphInstantiateResult *why, CUgraphExec *out)
{
    struct soft_node **sorted = calloc(graph->num_nodes + 1, sizeof(struct soft_node *));
    struct soft_exec *exec = calloc(1, sizeof(*exec));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    if (sorted == NULL || exec == NULL) {
        free(exec);
        free(sorted);
        return result;
    }
    result = check_bodies(graph, why);
    if (result != CUDA_SUCCESS) {
        free(exec);
        free(sorted);
        return result;
    }
    result = CUDA_ERROR_OUT_OF_MEMORY;
    soft_object_add(&exec->object, SOFT_EXEC, context);
    if (!sort(graph, sorted)) {
        *why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        result = CUDA_ERROR_INVALID_VALUE;
        goto free_exec;
    }
    exec->nodes = calloc(graph->num_nodes + 1, sizeof(*exec->nodes));
    if (exec->nodes == NULL) goto free_exec;
    for (; exec->num_nodes < graph->num_nodes; exec->num_nodes++) {
        result = copy_node(sorted[exec->num_nodes], &exec->nodes[exec->num_nodes]);
        if (result != CUDA_SUCCESS) goto free_exec;
    }
    result = soft_users_copy(graph->users, &exec->users);
    if (result == CUDA_SUCCESS) result = make_branches(exec);
    if (result != CUDA_SUCCESS) goto free_exec;
    exec->streams = calloc(exec->num_branches + 1, sizeof(struct soft_stream *));
    if (exec->streams == NULL) {
        exec->num_branches = 0;
        result = CUDA_ERROR_OUT_OF_MEMORY;
        goto free_exec;
    }
    for (size_t i = 1; result == CUDA_SUCCESS && i < exec->num_branches; i++)
        result = soft_stream_private(context, &exec->streams[i]);
    if (result != CUDA_SUCCESS) goto free_exec;
    free(sorted);
    *why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    *out = (CUgraphExec)(void *)exec;
    return CUDA_SUCCESS;

free_exec:
    if (exec->streams == NULL) exec->num_branches = 0;
    soft_exec_free(exec);
    free(sorted);
    return result;
}

/* Memory is never a node here, and everything is where it is to be, so that these change nothing.
 * Launches from the device: the twin has none, and an H200 takes no semaphores in them. */
static CUresult check_flags(const struct soft_graph *graph, uint64_t flags, bool with_params)
{
    const uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                           CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY |
                           CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                           (with_params ? CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD : 0u);
    if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    if (!(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)) return CUDA_SUCCESS;
    return has_semaphores(graph) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    struct soft_stream *upload;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_graph *graph = soft_graph_find(hGraph);
    if (phGraphExec == NULL || graph == NULL || graph->capturing || instantiateParams == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    instantiateParams->hErrNode_out = NULL;
    instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    result = check_flags(graph, instantiateParams->flags, true);
    if (result == CUDA_ERROR_INVALID_VALUE &&
        (instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
        instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && (instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD))
        result = soft_stream_get(context, instantiateParams->hUploadStream, &upload);
    if (result == CUDA_SUCCESS)
        result = instantiate(context, graph, &instantiateParams->result_out, phGraphExec);
    return soft_end(result);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                             unsigned long long flags)
{
    CUgraphInstantiateResult why;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_graph *graph = soft_graph_find(hGraph);
    if (phGraphExec == NULL || graph == NULL || graph->capturing)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = check_flags(graph, flags, false);
    if (result == CUDA_SUCCESS) result = instantiate(context, graph, &why, phGraphExec);
    return soft_end(result);
}

/* Locked on success. */
static CUresult begin(const char *call, CUgraphExec handle, struct soft_exec **exec)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *exec = soft_object_find(handle, SOFT_EXEC);
    return *exec == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct soft_exec *exec;
    SOFT_TRY(begin(__func__, hGraphExec, &exec));
    soft_exec_free(exec);
    return soft_end(CUDA_SUCCESS);
}

struct soft_exec_node *soft_exec_node_find(CUgraphExec handle, CUgraphNode node_handle)
{
    struct soft_exec *exec = soft_object_find(handle, SOFT_EXEC);
    const struct soft_node *node = soft_object_find(node_handle, SOFT_NODE);
    for (size_t i = 0; exec != NULL && node != NULL && i < exec->num_nodes; i++)
        if (exec->nodes[i].id == node->id) return &exec->nodes[i];
    return NULL;
}

/* What keeps `exec` from becoming the graph that `sorted` are the nodes of. */
static CUgraphExecUpdateResult difference(const struct soft_exec *exec, struct soft_graph *graph,
                                          struct soft_node **sorted, CUgraphNode *at)
{
    if (graph->num_nodes != exec->num_nodes || !sort(graph, sorted))
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < exec->num_nodes; i++) {
        const struct soft_exec_node *node = &exec->nodes[i];
        *at = (CUgraphNode)(void *)sorted[i];
        if (sorted[i]->type != node->type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (sorted[i]->num_before != node->num_before)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (size_t j = 0; j < node->num_before; j++)
            if (((const struct soft_node *)(const void *)sorted[i]->before[j])->mark !=
                node->before[j])
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals[2];
        CUDA_EXT_SEM_WAIT_NODE_PARAMS waits[2];
        if (node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL) {
            soft_signal_params(node->work, &signals[0]);
            soft_signal_params(sorted[i]->work, &signals[1]);
            if (signals[0].numExtSems != signals[1].numExtSems)
                return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        } else if (node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT) {
            soft_wait_params(node->work, &waits[0]);
            soft_wait_params(sorted[i]->work, &waits[1]);
            if (waits[0].numExtSems != waits[1].numExtSems)
                return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        }
    }
    *at = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo *resultInfo)
{
    struct soft_exec *exec;
    SOFT_TRY(begin(__func__, hGraphExec, &exec));
    struct soft_graph *graph = soft_graph_find(hGraph);
    if (graph == NULL || graph->capturing || resultInfo == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_node **sorted = calloc(graph->num_nodes + 1, sizeof(struct soft_node *));
    if (sorted == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    *resultInfo = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    resultInfo->result = difference(exec, graph, sorted, &resultInfo->errorNode);
    for (size_t i = 0; resultInfo->result == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < exec->num_nodes;
         i++) {
        soft_work_drop(exec->nodes[i].work);
        exec->nodes[i].work = soft_work_share(sorted[i]->work);
    }
    free(sorted);
    return soft_end(resultInfo->result == CU_GRAPH_EXEC_UPDATE_SUCCESS
                        ? CUDA_SUCCESS
                        : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

/* Launches of graphs.
 *
 * A launch puts the first branch into its stream and each other one into a stream of the graph's
 * own, with points where one branch depends on another, so that a branch that waits for a semaphore
 * keeps no other one from running. It shares the work of the nodes as it is then: what is set later
 * is for later launches. */

/* A node in a launch. */
struct node_op {
    struct soft_op op;
    struct soft_op *work;
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
    soft_work_drop(((struct node_op *)(void *)op)->work);
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

static CUresult admit(const struct soft_exec *exec)
{
    for (size_t i = 0; i < exec->num_nodes; i++) {
        struct soft_op *work = exec->nodes[i].work;
        CUresult result = work == NULL ? CUDA_SUCCESS : soft_op_admit(work, exec->object.context);
        if (result == CUDA_SUCCESS) continue;
        while (i-- > 0)
            if (exec->nodes[i].work != NULL) soft_op_recall(exec->nodes[i].work);
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
    struct soft_op *work = node->work;
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
        if (result == CUDA_SUCCESS) result = submit(own, &launch->ops[i]);
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
    SOFT_TRY(soft_begin_stream(__func__, hStream, &context));
    struct soft_exec *exec = soft_object_find(hGraph, SOFT_EXEC);
    if (exec == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_stream_get(context, hStream, &stream));
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
